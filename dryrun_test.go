package breaker_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
)

var (
	ordinary = temper{0.003, lognormal(0.5)}
	tenfold  = temper{0.003, func(random *rand.Rand) time.Duration { return 10 * lognormal(0.5)(random) }}
)

// dryRunWeek is what a dependency is like in the week of docs/dry-run.md, and until when.
var dryRunWeek = []struct {
	name  string
	until time.Duration
	temper
}{
	{"ordinary", 34 * time.Hour, ordinary},
	{"down for 40 min", 34*time.Hour + 40*time.Minute, temper{failing: 1}},
	{"ordinary", 86 * time.Hour, ordinary},
	{"ten times as slow for 15 min", 86*time.Hour + 15*time.Minute, tenfold},
	{"ordinary", 140 * time.Hour, ordinary},
	{"failing 40 % for 20 min", 140*time.Hour + 20*time.Minute, temper{0.4, lognormal(0.5)}},
	{"ordinary", 7 * day, ordinary},
}

// wouldRefuse is what totals say of a dry run.
type wouldRefuse struct{ calls, answered, failed, opens uint64 }

func wouldRefuseOf(s breaker.Snapshot) wouldRefuse {
	t := s.Totals
	w := wouldRefuse{answered: t.WouldRefuseOK, failed: t.WouldRefuseTransient, opens: opens(s)}
	w.calls = t.Admitted + t.WouldRefuseOK + t.WouldRefuseTransient + t.WouldRefuseOther
	return w
}

func (w wouldRefuse) refused() uint64 { return w.answered + w.failed }

func (w wouldRefuse) since(before wouldRefuse) wouldRefuse {
	return wouldRefuse{w.calls - before.calls, w.answered - before.answered, w.failed - before.failed, w.opens - before.opens}
}

// The figures of docs/dry-run.md come from a week of calls through a shadow breaker.
func TestFiguresInDryRun(t *testing.T) {
	if underRace {
		t.Skip("one goroutine, and twenty times as long")
	}
	page := strings.Join(strings.Fields(readPage(t, "docs/dry-run.md")), " ") // wherever its lines break
	says := func(line string, numbers ...uint64) {
		t.Helper()
		for _, n := range numbers {
			line = strings.Replace(line, "#", thousands(n), 1)
		}
		require.True(t, strings.Contains(page, line), "docs/dry-run.md should say %q", line)
	}

	f := newTraffic(breaker.Settings{Shadow: true}, 1, 7)
	var before, calm wouldRefuse // calm: all the ordinary time together
	for _, spell := range dryRunWeek {
		began := f.clock.now
		f.flow(spell.until, spell.temper, nil)
		now := wouldRefuseOf(f.Snapshot())
		w := now.since(before)
		before = now
		if spell.name == "ordinary" {
			calm = wouldRefuse{calm.calls + w.calls, calm.answered + w.answered, calm.failed + w.failed, calm.opens + w.opens}
			continue
		}
		says("| "+spell.name+" | # | # | # | # |", w.calls, w.refused(), w.failed, w.opens)
		if spell.failing < 1 {
			last := f.Snapshot().Last
			require.Equal(t, breaker.Closed, last.To, spell.name)
			require.Less(t, last.At.Sub(began), 5*time.Minute, "normal by then: #", spell.name)
		}
	}
	says("| the rest of the week | # | # | # | # |", calm.calls, calm.refused(), calm.failed, calm.opens)
	says("| together | # | # | # | # |", before.calls, before.refused(), before.failed, before.opens)
	says("would have refused # calls of #, of which # failed anyway", before.refused(), before.calls, before.failed)
	says("The other # were answered", before.answered)
	totals := f.Snapshot().Totals
	require.Zero(t, totals.Refused)
	require.Zero(t, totals.WouldRefuseOther, "the dependency says yes or no")
	says(fmt.Sprintf(`"would_refuse_ok": %d, "would_refuse_transient": %d, "would_refuse_other": 0`, totals.WouldRefuseOK, totals.WouldRefuseTransient))
}

// A dry run cannot tell what becomes of a dependency that is spared.
func TestDryRunOfADependencyThatLoadKeepsDown(t *testing.T) {
	page := strings.Join(strings.Fields(readPage(t, "docs/dry-run.md")), " ")
	ramp := breaker.RecoveryOver(0.25)
	served, dry := serveThroughOutage(t, breaker.Settings{Recovery: ramp, Shadow: true})
	live, totals := serveThroughOutage(t, breaker.Settings{Recovery: ramp})
	for _, line := range []string{
		fmt.Sprintf("would have refused %s calls of %s", thousands(dry.WouldRefuseOK+dry.WouldRefuseTransient),
			thousands(dry.Admitted+dry.WouldRefuseOK+dry.WouldRefuseTransient)),
		fmt.Sprintf("refuses %s, and %s are served instead of %s", thousands(totals.Refused), thousands(uint64(live)), thousands(uint64(served))),
	} {
		require.True(t, strings.Contains(page, line), "docs/dry-run.md should say %q", line)
	}
}

// thousands writes a number as people do.
func thousands(n uint64) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s,%03d", thousands(n/1000), n%1000)
}
