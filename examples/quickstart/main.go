// Quickstart shows a circuit breaker at work in twenty seconds.
//
// An HTTP server on the loopback has a bad day: it is healthy, then ten times
// slower, then it answers 500, and then it comes back from a restart, cold. Two
// clients send it the same calls at the same instants. One goes through a breaker,
// the other does not. Each has a server of its own, so that what one sends does not
// disturb the other. Nothing on the screen is made up: every number was measured.
//
//	go run ./examples/quickstart
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/normal-go/breaker"
)

// The incident. Its parts add up to 20 seconds.
type phase int

const (
	healthy phase = iota
	slow
	failing
	restarted
	over
)

var script = [over]struct {
	name   string
	lasts  time.Duration
	headed string // what the terminal says when it begins
}{
	healthy:   {"healthy", 4 * time.Second, "the server is well: a call takes 20 ms"},
	slow:      {"slow", 3 * time.Second, "the server still answers, but takes ten times as long"},
	failing:   {"failing", 3 * time.Second, "the server answers 500"},
	restarted: {"restarted", 10 * time.Second, "the server is back, and cold: every call that it finishes warms it"},
}

// Each client offers a call every 20 ms, and gives up on it after a second.
const (
	callEvery = 20 * time.Millisecond
	timeout   = time.Second
	lineEvery = 500 * time.Millisecond
)

// settings makes the breaker quick enough for an incident of seconds; the defaults
// are made for one of minutes.
func settings(clock *clock) breaker.Settings {
	// The ramp lasts twice the break just served. It starts at 10 % of the calls,
	// five a second: at the default of 5 % the cold server would get half as many,
	// and take twice as long to warm.
	ramp := breaker.RecoveryOver(2)
	ramp.InitialFraction = 0.1

	return breaker.Settings{
		Name: "prices",

		// It takes half a window of slow calls to trip: one second here, fifteen
		// at the default of 30 s.
		TripWindow: 2 * time.Second,

		// The default breaks, from 15 s up to 2 min, would outlast the show.
		BreakDuration:        time.Second,
		MaximumBreakDuration: 2 * time.Second,

		Recovery: ramp,
		Clock:    clock, // the system clock, but for -speed
	}

	// The rest is as it comes. Nobody had to say how fast this server should be, or
	// how often it may fail: the breaker finds out.
}

func main() {
	flags := flag.NewFlagSet("quickstart", flag.ContinueOnError)
	speed := flags.Float64("speed", 1, "run the script this many times faster")
	plain := flags.Bool("plain", false, "no colours; also without a terminal, and with NO_COLOR set")
	flags.Usage = func() {
		fmt.Fprintln(flags.Output(), "Usage: quickstart [-speed n] [-plain]")
		fmt.Fprintln(flags.Output(), "\nShows one server's bad day, with a circuit breaker and without, in 20 seconds.")
		fmt.Fprintln(flags.Output())
		flags.PrintDefaults()
	}
	switch err := flags.Parse(os.Args[1:]); {
	case errors.Is(err, flag.ErrHelp):
		return
	case err != nil:
		os.Exit(2)
	case flags.NArg() > 0 || !(*speed > 0 && *speed <= 100):
		fmt.Fprintln(flags.Output(), "quickstart: no arguments are taken, and -speed must be above 0 and at most 100")
		os.Exit(2)
	}
	if err := run(os.Stdout, *speed, !*plain && isTerminal(os.Stdout)); err != nil {
		fmt.Fprintln(os.Stderr, "quickstart:", err)
		os.Exit(1)
	}
}

// run plays the script and writes what happens to out.
func run(out io.Writer, speed float64, colour bool) error {
	clock := newClock(speed)
	guarded, err := newClient(clock)
	if err != nil {
		return err
	}
	defer guarded.close()
	bare, err := newClient(clock)
	if err != nil {
		return err
	}
	defer bare.close()

	b, err := breaker.New(settings(clock))
	if err != nil {
		return err
	}
	guarded.do = b.Do // and this is all it takes

	report := &report{out: out, colour: colour, clock: clock, breaker: b, guarded: guarded, bare: bare}
	report.head()
	var calls sync.WaitGroup
	now, ends := time.Duration(0), time.Duration(0)
	for part := healthy; part < over; part++ {
		report.begin(now, part)
		guarded.server.enter(part)
		bare.server.enter(part)
		for ends += script[part].lasts; now < ends; {
			calls.Go(func() { guarded.call(part) })
			calls.Go(func() { bare.call(part) })
			now += callEvery
			clock.sleepUntil(now)
			if now%lineEvery == 0 {
				report.line(now)
			}
		}
	}
	calls.Wait()
	report.close()
	return nil
}

// clock is the system clock, run speed times as fast. It does for [breaker.Clock].
type clock struct {
	started time.Time
	speed   float64
}

func newClock(speed float64) *clock {
	return &clock{started: time.Now(), speed: speed}
}

func (c *clock) Now() time.Time { return c.started.Add(c.elapsed()) }

func (c *clock) After(d time.Duration) <-chan time.Time { return time.After(c.real(d)) }

// elapsed returns how far the script has come.
func (c *clock) elapsed() time.Duration {
	return time.Duration(float64(time.Since(c.started)) * c.speed)
}

// real returns how long a duration of the script takes.
func (c *clock) real(d time.Duration) time.Duration {
	return time.Duration(float64(d) / c.speed)
}

func (c *clock) sleepUntil(instant time.Duration) { time.Sleep(c.real(instant - c.elapsed())) }
