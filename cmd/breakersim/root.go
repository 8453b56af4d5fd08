package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/normal-go/breaker"
	"github.com/normal-go/breaker/simulation"
)

// What the command exits with.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

// streams are what the command reads and writes.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// terminal reports whether somebody watches the progress.
func (s streams) terminal() bool {
	f, ok := s.err.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// usageError is a mistake in the command line, and not in what it names.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func misused(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// execute runs the command, and returns what to exit with.
func execute(ctx context.Context, args []string, s streams) int {
	out := bufio.NewWriter(s.out)
	root := newRoot(streams{s.in, out, s.err})
	root.SetArgs(args)
	root.SetIn(s.in)
	root.SetOut(out)
	root.SetErr(s.err)
	err := root.ExecuteContext(ctx)
	if flushed := out.Flush(); err == nil {
		err = flushed
	}
	if err == nil {
		return exitOK
	}
	for _, line := range explain(err) {
		fmt.Fprintln(s.err, "breakersim:", line)
	}
	if errors.As(err, new(usageError)) || isCobraUsage(err) {
		fmt.Fprintln(s.err, `breakersim: "breakersim help" says more`)
		return exitUsage
	}
	return exitFailed
}

// isCobraUsage recognises what cobra says of a command that there is not, which has no
// type of its own.
func isCobraUsage(err error) bool { return strings.HasPrefix(err.Error(), "unknown command") }

// explain returns an error in lines: one for each problem, if it lists several.
func explain(err error) []string {
	var scenario *simulation.ScenarioError
	var settings *breaker.SettingsError
	var problems []string
	switch {
	case errors.As(err, &scenario):
		problems = scenario.Problems
	case errors.As(err, &settings):
		problems = settings.Problems
	case errors.Is(err, context.Canceled):
		return []string{"interrupted"}
	default:
		return []string{err.Error()}
	}
	prefix := ""
	if in := new(inFile); errors.As(err, in) {
		prefix = in.path + ": "
	}
	lines := make([]string, len(problems))
	for i, problem := range problems {
		lines[i] = prefix + problem
	}
	return lines
}

// inFile is an error about what a file says.
type inFile struct {
	path string
	err  error
}

func (e inFile) Error() string { return e.path + ": " + e.err.Error() }
func (e inFile) Unwrap() error { return e.err }

func newRoot(s streams) *cobra.Command {
	root := &cobra.Command{
		Use:   "breakersim",
		Short: "Show what a circuit breaker's settings do before they are in use",
		Long: `Breakersim shows what a circuit breaker's settings do before they are in use.

It runs the breaker of github.com/normal-go/breaker itself: through incidents that a
file describes, on a clock of its own (run, compare, fleet), and over calls that
really happened, from a log (replay).

An incident file is YAML or JSON. examples/incidents in the repository has a dozen,
and docs/breakersim.md explains them.

Exit status: 0 if all went well, 1 if what was asked for could not be done (a file
that cannot be read, a scenario that is invalid, too many bad lines), 2 if the
command line was wrong.`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	root.AddCommand(newRun(s), newCompare(s), newFleet(s), newReplay(s))
	return root
}

// files wants so many arguments, and says of what.
func files(least, most int, what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return misused("%s: name %s", c.Name(), what)
		case len(args) > most:
			return misused("%s: name %s, got %d", c.Name(), what, len(args))
		}
		return nil
	}
}
