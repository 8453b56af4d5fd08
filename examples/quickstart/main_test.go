package main

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

var (
	escapes  = regexp.MustCompile(`\x1b\[\d+m`)
	opened   = regexp.MustCompile(`(?m)^ *\d+\.\d\ds >>>> closed -> open: [a-z]+-[a-z]+, \d+ .*; break of \d+\.\d s$`)
	recovers = regexp.MustCompile(`(?m)^ *\d+\.\d\ds >>>> half-open -> recovering: probes-succeeded, `)
	total    = regexp.MustCompile(`(?m)^in all +(\d+) +(\d+) +(\d+) +(\d+) +\d+\.\d s +\d+\.\d s +(\d+) +(\d+) +\d+\.\d s$`)
	line     = regexp.MustCompile(`(?m)^ *\d+\.[05]s  (\d+ ms|says 500) +(closed|open|half-open|recovering) +\d`)
)

// The numbers differ from run to run; that there is an outage, a recovery and a sum
// that is right does not.
func TestTheShowTellsItsStory(t *testing.T) {
	var out bytes.Buffer
	if err := run(&out, 8, true); err != nil {
		t.Fatal(err)
	}
	text := escapes.ReplaceAllString(out.String(), "")
	t.Log("\n" + text)

	if text == out.String() {
		t.Error("no colours, though they were asked for")
	}
	if !opened.MatchString(text) {
		t.Error("the breaker never opened, with a cause and its numbers")
	}
	if !recovers.MatchString(text) {
		t.Error("the breaker never came back over a ramp")
	}
	if n := len(line.FindAllString(text, -1)); n != 40 {
		t.Errorf("%d lines of half a second, want 40", n)
	}
	for _, l := range strings.Split(text, "\n") {
		if n := utf8.RuneCountInString(l); n > 100 {
			t.Errorf("%d columns are too many: %s", n, l)
		}
	}
	for _, want := range []string{"What it bought: ", "What it cost: "} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q at the end", want)
		}
	}

	found := total.FindStringSubmatch(text)
	if found == nil {
		t.Fatal("no closing table")
	}
	var n [6]int
	for i := range n {
		n[i], _ = strconv.Atoi(found[i+1])
	}
	offered, served, failed, refused, bareServed, bareFailed := n[0], n[1], n[2], n[3], n[4], n[5]
	if offered != 1000 || served+failed+refused != offered || bareServed+bareFailed != offered {
		t.Errorf("the calls do not add up: %s", found[0])
	}
	if served == 0 || refused == 0 || bareFailed <= failed {
		t.Errorf("this shows nothing: %s", found[0])
	}
}

func TestPlainOutputHasNoEscapes(t *testing.T) {
	var out bytes.Buffer
	r := &report{out: &out}
	r.print("%s%s", r.paint(red, "text"), r.number(3, 9, 0, red))
	if got := out.String(); got != "text  9" {
		t.Errorf("got %q", got)
	}
}
