package bench

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// These tests keep a benchmark from measuring something else than it says, such as a
// breaker that opened unnoticed.

func TestCallsPassAndComeBack(t *testing.T) {
	for _, l := range append([]library{bare}, libraries...) {
		t.Run(l.name, func(t *testing.T) {
			g := l.new()
			for _, call := range []func(*work) error{g.call, g.try} {
				ran := 0
				require.NoError(t, call(workOf(func() error { ran++; return nil })))
				require.Equal(t, 1, ran)
				require.Same(t, errDown, call(&fail))
			}
			v, err := g.value(&succeed)
			require.NoError(t, err)
			require.Equal(t, 7, v)
			_, err = g.value(&fail)
			require.Same(t, errDown, err)
			require.NoError(t, g.call(&microsecond))
		})
	}
}

func TestOpenRefuses(t *testing.T) {
	for _, l := range libraries {
		t.Run(l.name, func(t *testing.T) {
			g := l.new()
			open(t, g)
			ran, refused := 0, 0
			down := workOf(func() error { ran++; return errDown })
			for range 1000 {
				if g.try(down) != errDown {
					refused++
				}
			}
			require.Equal(t, 1000, ran+refused)
			if l.throttles {
				require.Greater(t, refused, 900)
			} else {
				require.Zero(t, ran)
			}
		})
	}
}

// The failures that open a fresh breaker do not open one that has recorded three successes
// for each.
func TestSuccessesAreRecorded(t *testing.T) {
	for _, l := range libraries {
		t.Run(l.name, func(t *testing.T) {
			failures := open(t, l.new())
			require.GreaterOrEqual(t, failures, 5)

			g, refused := l.new(), 0
			try := func(w *work, want error) {
				if g.try(w) != want {
					refused++
				}
			}
			for range min(failures, 30) {
				for range 3 {
					try(&succeed, nil)
				}
				try(&fail, errDown)
			}
			try(&succeed, nil)
			if l.forgets {
				require.NotZero(t, refused)
			} else {
				require.Zero(t, refused)
			}
		})
	}
}

// What fails one call in a hundred stays closed, except where the case is left out.
func TestAFewFailuresDoNotOpen(t *testing.T) {
	for _, l := range libraries {
		t.Run(l.name, func(t *testing.T) {
			g, refused := l.new(), 0
			for i := range 10_000 {
				w, want := hundredth(i)
				if g.call(w) != want {
					refused++
				}
			}
			require.Equal(t, l.forgets, refused > 0)
		})
	}
}

func TestHalfOpenAdmitsProbes(t *testing.T) {
	for _, l := range libraries {
		if l.halfOpen == nil {
			continue
		}
		t.Run(l.name, func(t *testing.T) {
			g := l.halfOpen(3)
			for i := range 3 {
				require.True(t, g.isHalfOpen(), "after %d successes", i)
				require.NoError(t, g.try(&succeed))
			}
			require.False(t, g.isHalfOpen(), "after 3 successes")

			g = l.halfOpen(manySuccesses)
			for range 1000 {
				require.NoError(t, g.try(&succeed))
			}
			require.True(t, g.isHalfOpen())
		})
	}
}

func TestHalfOpenCrowds(t *testing.T) {
	for _, l := range libraries {
		if l.halfOpen == nil {
			continue
		}
		t.Run(l.name, func(t *testing.T) {
			g := l.halfOpen(1)
			leave := crowd(t, g)
			defer leave()
			err := g.try(&succeed)
			require.Equal(t, l.crowds, err != nil, "%v", err)
		})
	}
}

func TestPageNamesEveryLibrary(t *testing.T) {
	page, err := os.ReadFile("README.md")
	require.NoError(t, err)
	_, text, ok := strings.Cut(string(page), "## The libraries")
	require.True(t, ok)
	text, _, ok = strings.Cut(text, "\n## ")
	require.True(t, ok)
	var named []string
	for line := range strings.Lines(text) {
		if cells := strings.Split(line, "|"); len(cells) > 2 {
			named = append(named, strings.TrimSpace(cells[1]))
		}
	}
	require.GreaterOrEqual(t, len(named), 2)
	var names []string
	for _, l := range libraries {
		names = append(names, l.name)
	}
	require.Equal(t, names, named[2:]) // below the heading and its rule
}
