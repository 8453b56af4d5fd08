package breaker

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// TestFiguresInDefaults computes the figures of docs/defaults.md anew.
func TestFiguresInDefaults(t *testing.T) {
	text, err := os.ReadFile("docs/defaults.md")
	require.NoError(t, err)
	page := strings.Join(strings.Fields(string(text)), " ") // wherever its lines break
	for name, lines := range map[string][]string{
		"run":    runFigures(),
		"chance": chanceFigures(),
		"slow":   slowFigures(),
		"races":  raceFigures(),
		"breaks": breakFigures(),
		"ramp":   rampFigures(),
		"memory": memoryFigures(),
	} {
		t.Run(name, func(t *testing.T) {
			for _, line := range lines {
				require.True(t, strings.Contains(page, line), "docs/defaults.md should say %q", line)
			}
		})
	}
}

// runFigures are how many calls it takes, on average, until five in a row have failed, and
// how many in a row are more than chance.
func runFigures() (rows []string) {
	between := func(p, k float64) float64 { return (1 - math.Pow(p, k)) / ((1 - p) * math.Pow(p, k)) }
	for _, p := range []float64{0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.8} {
		run := runAgainst(p)
		rows = append(rows, fmt.Sprintf("| %.3g %% | %s | %d | %s |", 100*p, count(between(p, 5)), run, count(between(p, float64(run)))))
	}
	return rows
}

// chanceFigures are how many failures it takes to be more than chance, and what that costs.
func chanceFigures() (rows []string) {
	// At a call a second the baseline reaches back 270 s at least, and the window 30.
	rows = append(rows, fmt.Sprintf("%.2g %%, and no lower", 100*referenceRate(0, 240)),
		fmt.Sprintf("%.1f nats", -math.Log(defaultFalseAlarm)),
		fmt.Sprintf("2,880 × 5e-5 = %.2g", 2880*defaultFalseAlarm))
	for _, p := range []float64{0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5} {
		row := fmt.Sprintf("| %.3g %% | %.3g %% |", 100*p, 100*relativeTripPoint(p))
		for _, n := range []int{20, 30, 100, 300} {
			row += fmt.Sprintf(" %d → %d |", plainFailures(n, p), failuresBeyondChance(n, p, defaultFalseAlarm))
		}
		rows = append(rows, row)
	}
	for _, p := range []float64{0.002, 0.01, 0.02, 0.05, 0.1} {
		row := fmt.Sprintf("| %.3g %% |", 100*p)
		for _, n := range []int{20, 30, 100} {
			row += fmt.Sprintf(" %s → %s |", chanceOf(n, plainFailures(n, p), p), chanceOf(n, failuresBeyondChance(n, p, defaultFalseAlarm), p))
		}
		rows = append(rows, row)
	}
	for _, p := range []float64{0.002, 0.01, 0.02, 0.05, 0.1, 0.3} {
		row := fmt.Sprintf("| %.3g %% |", 100*p)
		for _, q := range []float64{0.2, 0.5, 1} {
			plain := secondsUntil(plainFailures(30, p), defaultConsecutiveFailures, p, q)
			row += fmt.Sprintf(" %s → %s |", plain, secondsUntil(failuresBeyondChance(30, p, defaultFalseAlarm), runAgainst(p), p, q))
		}
		rows = append(rows, row)
	}
	sharper := func(p float64) string {
		return fmt.Sprintf("%d instead of %d", failuresBeyondChance(30, p, 1e-6), failuresBeyondChance(30, p, defaultFalseAlarm))
	}
	return append(rows, "at 1 % "+sharper(0.01)+", at 10 % "+sharper(0.1)+" and at 30 % "+sharper(0.3))
}

func relativeTripPoint(p float64) float64 {
	f := Failures{}.filled()
	return min(headroom(p), max(f.Floor, p*f.Multiple))
}

// plainFailures is how many of n calls have to fail for the ratio alone.
func plainFailures(n int, p float64) int {
	f := Failures{}.filled()
	k := 2
	for quotient(uint64(k), uint64(n)) < min(1, max(f.Floor, p*f.Multiple)) {
		k++
	}
	return k
}

func failuresBeyondChance(n int, p, falseAlarm float64) int {
	for k := 2; ; k++ {
		e := Evidence{Rate: quotient(uint64(k), uint64(n)), TripPoint: relativeTripPoint(p)}
		e.against(p, uint64(n), falseAlarm)
		if e.trips() {
			return k
		}
	}
}

func runAgainst(p float64) int {
	return max(defaultConsecutiveFailures, int(math.Ceil(math.Log(runFalseAlarm)/math.Log(p))))
}

// chanceOf is how likely k or more of n calls fail.
func chanceOf(n, k int, p float64) string {
	chance := 0.0
	for ; k <= n; k++ {
		chance += binomial(n, k, p)
	}
	if chance < 1e-9 {
		return "under 10^-9"
	}
	return fmt.Sprintf("%.1g", chance)
}

// secondsUntil is how long it takes on average, at a call a second, until a window of 30
// calls holds so many failures, or all of them in a row, after the rate rises from p to q.
func secondsUntil(failures, run int, p, q float64) string {
	seconds := (float64(failures) - 30*p) / (q - p)
	if q == 1 {
		seconds = min(seconds, float64(run))
	}
	if q <= p || seconds > 30 {
		return "–"
	}
	return fmt.Sprintf("%.0f s", seconds)
}

// slowFigures are how large a share of the calls has to be slow, by how large a share
// normally is.
func slowFigures() (rows []string) {
	const samples = 300
	for _, s := range []float64{0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.45} {
		row := fmt.Sprintf("| %.3g %% | %.3g %% |", 100*s, 100*max(defaultSlowCallRatio, headroom(s)))
		for _, n := range []uint64{20, 30, 100, 300} {
			k := uint64(1)
			for ; ; k++ {
				e := Evidence{Rate: quotient(k, n), TripPoint: max(defaultSlowCallRatio, headroom(s))}
				e.against(referenceRate(uint64(s*samples), uint64(samples)), n, defaultFalseAlarm)
				if e.trips() {
					break
				}
			}
			row += fmt.Sprintf(" %d |", k)
		}
		rows = append(rows, row)
	}
	return rows
}

func raceFigures() (rows []string) {
	for _, minutes := range []float64{0.5, 1, 3, 6, 10, 30, 31} {
		window := time.Duration(minutes * float64(time.Minute))
		s := Settings{TripWindow: window}
		f, c := s.failures(), s.slowCalls()
		rows = append(rows, fmt.Sprintf("| %s | %s | %s |", span(window), spanOrOff(f.Window), spanOrOff(c.Window)))
	}
	s := Settings{}
	f, c := s.failures(), s.slowCalls()
	fills := time.Duration(s.slowCallRatio() * float64(s.tripWindow()))
	lasts := time.Duration(c.Quantile * float64(c.Window))
	point := time.Duration(float64(f.Window) / f.Multiple)
	return append(rows,
		fmt.Sprintf("= %s. It moves the median", span(fills)),
		fmt.Sprintf("= %.0f s. That is a factor of %v", lasts.Seconds(), float64(lasts/fills)),
		fmt.Sprintf("= %.0f s. That is a factor of %v", point.Seconds(), float64(point/s.tripWindow())),
	)
}

func breakFigures() (rows []string) {
	s := Settings{}
	for n := 1; n <= 5; n++ {
		nominal := grownBreak(s.breakDuration(), s.maximumBreakDuration(), n)
		rows = append(rows, fmt.Sprintf("| %d | %.0f s | %v s to %v s |", n, nominal.Seconds(),
			JitterEqual.applied(nominal, 0).Seconds(), JitterEqual.applied(nominal, 1).Seconds()))
	}
	return rows
}

func rampFigures() []string {
	r := RecoveryOver(0.25)
	seconds := func(d time.Duration) string { return fmt.Sprint(r.length(d).Seconds()) }
	share := (1 + r.InitialFraction) / 2

	// After the clock has run out, the evidence alone decides.
	late := newRamp(0, r, time.Minute, 0)
	slow := 0
	for ; late.fraction(time.Hour) > r.InitialFraction; slow++ {
		late.stall(time.Hour)
	}
	fast := 0
	for ; !late.finished(time.Hour); fast++ {
		late.advance(defaultProbeSuccesses)
	}
	var rows []string
	for _, p := range []float64{0.001, 0.005, 0.01, 0.02, 0.05, 0.1, 0.3, 0.5} {
		row := fmt.Sprintf("| %.3g %% |", 100*p)
		for _, n := range []uint64{1, 5, 20, 100} {
			row += " " + failuresInRamp(n, p) + " |"
		}
		rows = append(rows, row)
	}
	return append(rows,
		fmt.Sprintf("%s s to %s s after the first, and %s s to %s s after the longest",
			seconds(7500*time.Millisecond), seconds(15*time.Second), seconds(time.Minute), seconds(2*time.Minute)),
		fmt.Sprintf("%v %% on average", 100*share),
		fmt.Sprintf("%.2f s of traffic after a break of 15 s, and %.2f s at the most",
			(1-share)*r.length(15*time.Second).Seconds(), (1-share)*r.MaximumDuration.Seconds()),
		fmt.Sprintf("%d slow calls in a row", slow),
		fmt.Sprintf("%d fast calls", fast),
	)
}

// failuresInRamp is how many of n calls have to fail to re-open the breaker.
func failuresInRamp(n uint64, p float64) string {
	for k := uint64(1); k <= n; k++ {
		r := ramp{reference: p, settled: counts{calls: n, failures: k}}
		if r.fails(0) {
			return fmt.Sprint(k)
		}
	}
	return "–"
}

func memoryFigures() []string {
	if unsafe.Sizeof(uintptr(0)) != 8 {
		return nil // the page speaks of 64-bit platforms
	}
	kb := func(size uintptr) string { return fmt.Sprintf("%.1f KB", float64(size)/1000) }
	core := unsafe.Sizeof(Breaker{}) + unsafe.Sizeof(gate{})
	trip, errors, latency := unsafe.Sizeof(buckets{})+bucketsPerWindow*unsafe.Sizeof(counts{}),
		unsafe.Sizeof(errorBaseline{})+bucketsPerWindow*unsafe.Sizeof(counts{}),
		unsafe.Sizeof(latencyWindow{})+slicesPerWindow*unsafe.Sizeof(latencySlice{})
	together := core + trip + errors + latency
	return []string{
		"| the breaker itself | " + kb(core) + " |",
		"| trip window | " + kb(trip) + " |",
		"| failure baseline | " + kb(errors) + " |",
		"| latency baseline | " + kb(latency) + " |",
		"| together | " + kb(together) + " |",
		"| what trouble takes | " + kb(unsafe.Sizeof(trouble{})) + " |",
		"| together, from the first transition on | " + kb(together+unsafe.Sizeof(trouble{})) + " |",
		fmt.Sprintf("%d bytes a sample", unsafe.Sizeof(sample{})),
		kb(historyLength*unsafe.Sizeof(Transition{})) + " for the full 64",
	}
}

// What trouble takes is allocated at the first transition, and kept.
func TestTroubleIsAllocatedAtTheFirstTransition(t *testing.T) {
	b := MustNew(Settings{})
	fail := func() { _ = b.Do(context.Background(), func(context.Context) error { return errors.New("down") }) }
	for range defaultConsecutiveFailures - 1 {
		fail()
	}
	_, _ = b.Snapshot(), b.History()
	b.ProbeNow()
	b.Reset() // of a closed breaker: no transition
	require.Nil(t, b.trouble)
	for range defaultConsecutiveFailures {
		fail()
	}
	taken := b.trouble
	require.NotNil(t, taken)
	b.Reset()
	require.Same(t, taken, b.trouble)
}

func binomial(n, k int, p float64) float64 {
	a, _ := math.Lgamma(float64(n + 1))
	b, _ := math.Lgamma(float64(k + 1))
	c, _ := math.Lgamma(float64(n - k + 1))
	return math.Exp(a - b - c + float64(k)*math.Log(p) + float64(n-k)*math.Log1p(-p))
}

// count writes a number of calls as people do.
func count(n float64) string {
	if n >= 1e9 {
		return "over 10^9"
	}
	digits := fmt.Sprintf("%.0f", n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// span writes a duration with its units apart.
func span(d time.Duration) string {
	var parts []string
	if m := d / time.Minute; m > 0 {
		parts = append(parts, fmt.Sprintf("%d min", m))
	}
	if s := d % time.Minute; s > 0 {
		parts = append(parts, fmt.Sprintf("%v s", s.Seconds()))
	}
	return strings.Join(parts, " ")
}

func spanOrOff(d time.Duration) string {
	if d == 0 {
		return "off"
	}
	return span(d)
}
