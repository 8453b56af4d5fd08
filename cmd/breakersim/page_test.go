package main

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the picture in docs/images, and the output in docs/breakersim.md, anew")

// ranInPage is a command, and what the page says that it prints.
var ranInPage = regexp.MustCompile("(?ms)^```sh\n(breakersim [^\n]*)\n```\n\n```text\n(.*?)^```$")

// Every command of the page that has its output below prints just that. After a change
// that is meant to change it:
//
//	go test -run '^TestOutputInThePage$' . -update
func TestOutputInThePage(t *testing.T) {
	t.Chdir("../..")
	const path = "docs/breakersim.md"
	page, err := os.ReadFile(path)
	require.NoError(t, err)
	found := ranInPage.FindAllStringSubmatch(string(page), -1)
	require.GreaterOrEqual(t, len(found), 4)
	next := string(page)
	for _, match := range found {
		r := here(t, nil, strings.Fields(match[1])[1:]...)
		require.Zero(t, r.code, r.err)
		require.Empty(t, r.err, match[1])
		if *update {
			next = strings.Replace(next, match[0], "```sh\n"+match[1]+"\n```\n\n```text\n"+r.out+"```", 1)
			continue
		}
		require.Equal(t, match[2], r.out, match[1])
	}
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(next), 0o644))
	}
}

// The picture in the README is what its command draws. After a change that is meant to
// change it, run that command, which docs/breakersim.md has, or:
//
//	go test -run '^TestPictureIsCurrent$' . -update
func TestPictureIsCurrent(t *testing.T) {
	t.Chdir("../..")
	const picture = "docs/images/breakersim.svg"
	const command = "breakersim run examples/incidents/bad-quarter.yaml -o " + picture
	page, err := os.ReadFile("docs/breakersim.md")
	require.NoError(t, err)
	require.Contains(t, string(page), "\n"+command+"\n")
	to := filepath.Join(t.TempDir(), "picture.svg")
	if *update {
		to = picture
	}
	r := here(t, nil, strings.Fields(strings.ReplaceAll(command, picture, to))[1:]...)
	require.Zero(t, r.code, r.err)
	got, err := os.ReadFile(to)
	require.NoError(t, err)
	want, err := os.ReadFile(picture)
	require.NoError(t, err)
	require.Equal(t, string(want), string(got))
}

// The incident file that the page shows is the one that it runs.
func TestFileInThePage(t *testing.T) {
	t.Chdir("../..")
	page, err := os.ReadFile("docs/breakersim.md")
	require.NoError(t, err)
	file, err := os.ReadFile("examples/incidents/brownout.yaml")
	require.NoError(t, err)
	require.Contains(t, string(page), "```yaml\n"+string(file)+"```\n")
}
