package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/normal-go/breaker"
)

// report writes what happens: a line each half second, each transition of the
// breaker with the numbers behind it, and a table at the end.
type report struct {
	out    io.Writer
	colour bool
	clock  *clock

	breaker       *breaker.Breaker
	guarded, bare *client

	seen     uint64 // the newest transition that was written
	lastWith tally  // as of the line before
	lastBare tally
	waiting  int // without a breaker, as of then
}

const row = "%6s  %-8s  %-10s %6s %6s %7s %6s %6s    %-8s %6s %6s %7s\n"

func (r *report) head() {
	r.print("Two clients offer %d calls a second each, to two servers that go through the same bad day.\n", time.Second/callEvery)
	r.print("A line counts the calls that ended in its half second. \"server\" is what a call takes there,\n")
	r.print("\"admits\" what the breaker lets through, and \"normal\" the latency that it found to be normal.\n\n")
	r.print("%s\n", r.paint(bold, fmt.Sprintf("%8s%-58s%s", "", "THROUGH A BREAKER", "WITHOUT ONE")))
	r.print("%s", r.paint(bold, fmt.Sprintf(row, "time", "server", "breaker", "served", "failed", "refused", "admits",
		"normal", "server", "served", "failed", "waiting")))
}

// begin announces a phase of the script.
func (r *report) begin(now time.Duration, part phase) {
	r.transitions()
	r.print("%5.1fs  %s\n", now.Seconds(), r.paint(bold, "---- "+script[part].headed+" ----"))
}

// line writes how the calls of the last half second ended.
func (r *report) line(now time.Duration) {
	r.transitions()
	snapshot := r.breaker.Snapshot()
	tallies, _ := r.guarded.count()
	with := sum(tallies[:]...)
	tallies, waiting := r.bare.count()
	bare := sum(tallies[:]...)
	normal := "?"
	if snapshot.NormalLatencyKnown {
		normal = milliseconds(snapshot.NormalLatency)
	}
	r.print("%5.1fs  %s  %s %6d %s %s %6s %6s    %s %6d %s %s\n",
		now.Seconds(),
		r.server(r.guarded.server),
		r.paint(stateColours[snapshot.State], fmt.Sprintf("%-10v", snapshot.State)),
		with.served-r.lastWith.served,
		r.number(6, with.failed-r.lastWith.failed, 0, red),
		r.number(7, with.refused-r.lastWith.refused, 0, yellow),
		admits(snapshot),
		normal,
		r.server(r.bare.server),
		bare.served-r.lastBare.served,
		r.number(6, bare.failed-r.lastBare.failed, 0, red),
		r.number(7, waiting, 20, red))
	r.lastWith, r.lastBare, r.waiting = with, bare, waiting
}

// admits returns the share of the calls that the breaker lets through.
func admits(s breaker.Snapshot) string {
	switch s.State {
	case breaker.Closed:
		return "100%"
	case breaker.Recovering:
		return fmt.Sprintf("%.0f%%", 100*s.AdmittedFraction)
	case breaker.HalfOpen:
		return "probes"
	}
	return "0%"
}

// transitions writes those that are new. It reads the history rather than wait for
// [breaker.Settings.OnTransition], which is not told of the end of a ramp.
func (r *report) transitions() {
	for _, t := range r.breaker.History() {
		if t.Seq <= r.seen {
			continue
		}
		r.seen = t.Seq
		what := fmt.Sprintf(">>>> %v -> %v: %v, %s", t.From, t.To, t.Cause, because(t))
		r.print("%6.2fs %s\n", t.At.Sub(r.clock.started).Seconds(), r.paint(stateColours[t.To], what))
	}
}

// because puts the numbers behind a transition into words. Transition.String has them
// all in one line, for a log.
func because(t breaker.Transition) string {
	pause := fmt.Sprintf("break of %.1f s", t.Break.Seconds())
	switch t.Cause {
	case breaker.CauseSlowCalls:
		return fmt.Sprintf("%d of %d calls slow, where %s is normal; %s", t.Slow, t.Calls, milliseconds(t.NormalLatency), pause)
	case breaker.CauseConsecutiveFailures:
		return fmt.Sprintf("%d failures in a row; %s", t.Run, pause)
	case breaker.CauseRelativeFailures:
		return fmt.Sprintf("%d of %d failed, normally %.1f%%; %s", t.Failures, t.Calls, 100*t.FailureEvidence.Reference, pause)
	case breaker.CauseSlowProbe:
		return "up, but slow; " + pause
	case breaker.CauseProbeFailed:
		return "not well yet; " + pause
	case breaker.CauseRampFailed:
		return fmt.Sprintf("%d of %d calls in the ramp failed; %s", t.Failures, t.Calls, pause)
	case breaker.CauseBreakElapsed:
		return "the next call is a probe"
	case breaker.CauseProbesSucceeded:
		if t.To == breaker.Closed {
			return "all calls are back"
		}
		return "calls return over a ramp"
	case breaker.CauseRampCompleted:
		return "fast again, for every call"
	}
	return fmt.Sprintf("%d of %d calls failed; %s", t.Failures, t.Calls, pause)
}

const closingRow = "%-11s %7s %7s %7s %8s %8s %8s    %7s %7s %8s\n"

// close writes what it all came to.
func (r *report) close() {
	r.transitions()
	with, _ := r.guarded.count()
	bare, _ := r.bare.count()
	allWith, allBare := sum(with[:]...), sum(bare[:]...)

	r.print("\n%s\n", r.paint(bold, fmt.Sprintf("%-20s%-46s%s", "CALLS BEGUN WHILE", "THROUGH A BREAKER", "WITHOUT ONE")))
	r.print("%s", r.paint(bold, fmt.Sprintf(closingRow, "server was", "offered", "served", "failed", "refused", "waited", "paused", "served", "failed", "waited")))
	for part := range over {
		r.closingLine(script[part].name, with[part], bare[part])
	}
	r.closingLine("in all", allWith, allBare)

	sickWith, sickBare := sum(with[slow:]...), sum(bare[slow:]...)
	tookWith, mostWith := r.guarded.server.load()
	tookBare, mostBare := r.bare.server.load()
	const figure = "%-46s %10v %12v\n"
	r.print("\n%s", r.paint(bold, fmt.Sprintf(figure, "FROM THE FIRST TROUBLE ON", "breaker", "without")))
	r.print(figure, "callers waited for the server", inSeconds(sickWith.waited), inSeconds(sickBare.waited))
	r.print(figure, "callers paused before they were refused", inSeconds(sickWith.paused), inSeconds(sickBare.paused))
	r.print(figure, "calls that the server had to take", tookWith, tookBare)
	r.print(figure, "calls inside it at the worst moment", mostWith, mostBare)
	r.print(figure, "a call takes at the end", milliseconds(r.guarded.server.callTakes()), milliseconds(r.bare.server.callTakes()))

	r.print("\nWhat it bought: %+d calls served, %+d failed, %+.0f s of waiting, pauses included.\n",
		allWith.served-allBare.served, allWith.failed-allBare.failed,
		(sickWith.waited + sickWith.paused - sickBare.waited).Seconds())
	r.print("What it cost: %d calls refused. While the server was only slow, %d of %d got an answer, not %d.\n",
		allWith.refused, with[slow].served, with[slow].offered, bare[slow].served)
	if r.bare.server.callTakes() > 3*warmCall {
		r.print("Without it the server is still cold: %d callers stood in line at the end, and each gives up before\n"+
			"its turn is done. A call that nobody waits for any more warms nothing.\n", r.waiting)
	}
}

func (r *report) closingLine(name string, with, bare tally) {
	r.print("%-11s %7d %7d %s %s %8s %8s    %7d %s %8s\n", name, with.offered,
		with.served, r.number(7, with.failed, 0, red), r.number(8, with.refused, 0, yellow), inSeconds(with.waited), inSeconds(with.paused),
		bare.served, r.number(7, bare.failed, 0, red), inSeconds(bare.waited))
}

// server says what a server does with a call.
func (r *report) server(s *server) string {
	switch takes := s.callTakes(); {
	case takes == 0:
		return r.paint(red, fmt.Sprintf("%-8s", "says 500"))
	case takes > 3*warmCall:
		return r.paint(yellow, fmt.Sprintf("%-8s", milliseconds(takes)))
	default:
		return fmt.Sprintf("%-8s", milliseconds(takes))
	}
}

func milliseconds(d time.Duration) string {
	return fmt.Sprintf("%d ms", d.Round(time.Millisecond).Milliseconds())
}

func inSeconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }

const (
	bold   = "1"
	red    = "31"
	green  = "32"
	yellow = "33"
	cyan   = "36"
)

var stateColours = map[breaker.State]string{
	breaker.Closed:     green,
	breaker.Open:       red,
	breaker.HalfOpen:   yellow,
	breaker.Recovering: cyan,
}

func (r *report) paint(colour, text string) string {
	if !r.colour || colour == "" {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}

// number pads a number, and paints it when it is above a limit.
func (r *report) number(width, n, limit int, colour string) string {
	text := fmt.Sprintf("%*d", width, n)
	if n > limit {
		return r.paint(colour, text)
	}
	return text
}

func (r *report) print(format string, args ...any) { fmt.Fprintf(r.out, format, args...) }

// isTerminal reports whether colours are welcome in f.
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 &&
		os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}
