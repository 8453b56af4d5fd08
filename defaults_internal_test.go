package breaker

import (
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

// runFigures are how many calls it takes, on average, until k in a row have failed.
func runFigures() (rows []string) {
	between := func(p, k float64) float64 { return (1 - math.Pow(p, k)) / ((1 - p) * math.Pow(p, k)) }
	for _, p := range []float64{0.01, 0.05, 0.1, 0.3, 0.5} {
		rows = append(rows, fmt.Sprintf("| %.3g %% | %s | %s | %s |", 100*p,
			count(between(p, 5)), count(between(p, 10)), count(between(p, 20))))
	}
	return rows
}

// chanceFigures are how likely a window reaches the relative trip point by chance.
func chanceFigures() (rows []string) {
	s := Settings{}
	sizes := []int{20, 100, 200}
	for _, p := range []float64{0.001, 0.005, 0.01, 0.02, 0.05, 0.1} {
		f := s.Failures.filled()
		point := max(f.Floor, p*f.Multiple)
		row := fmt.Sprintf("| %.3g %% | %.3g %% |", 100*p, 100*point)
		for _, n := range sizes {
			chance := 0.0
			for k := 2; k <= n; k++ {
				if quotient(uint64(k), uint64(n)) >= point {
					chance += binomial(n, k, p)
				}
			}
			if chance < 1e-9 {
				row += " under 10^-9 |"
			} else {
				row += fmt.Sprintf(" %.2g |", chance)
			}
		}
		rows = append(rows, row)
	}
	a := binomial(20, 0, 0.01) + binomial(20, 1, 0.01)
	return append(rows, fmt.Sprintf("%.3f × 2,880 = %.0f a day", 1-a, (1-a)*2880))
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
	return []string{
		fmt.Sprintf("%s s to %s s after the first, and %s s to %s s after the longest",
			seconds(7500*time.Millisecond), seconds(15*time.Second), seconds(time.Minute), seconds(2*time.Minute)),
		fmt.Sprintf("%v %% on average", 100*share),
		fmt.Sprintf("%.2f s of traffic after a break of 15 s, and %.2f s at the most",
			(1-share)*r.length(15*time.Second).Seconds(), (1-share)*r.MaximumDuration.Seconds()),
		fmt.Sprintf("%d slow calls in a row", slow),
		fmt.Sprintf("%d fast calls", fast),
	}
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
	return []string{
		"| the breaker itself | " + kb(core) + " |",
		"| trip window | " + kb(trip) + " |",
		"| failure baseline | " + kb(errors) + " |",
		"| latency baseline | " + kb(latency) + " |",
		"| together | " + kb(core+trip+errors+latency) + " |",
		fmt.Sprintf("%d bytes a sample", unsafe.Sizeof(sample{})),
		kb(historyLength*unsafe.Sizeof(Transition{})) + " for the full 64",
	}
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
