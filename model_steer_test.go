package breaker_test

import (
	"slices"
	"time"

	"github.com/normal-go/breaker"
)

// menus are the moves, by state: what happens often there.
//
//	c call and end it        m many of them           a admit, and keep
//	s settle a kept one      d by its error           l release it
//	t let time pass          b set the clock back     f set it forward
//	D Do                     p admit with a pause     x a context that is done
//	R reset   I isolate   P probe now
var menus = map[breaker.State]string{
	breaker.Closed:     "mmmmmmmmmmcccaasdttttttttbfDmmmmcctttmmmmcsdlxpRIP",
	breaker.Open:       "tttttttttttttttttttPcasdlbfDtttptRIcttxtttttttttttttt",
	breaker.HalfOpen:   "ccccccaaaaaaaaaassssddlltttbDDpaaaxsscaaslcaacccaaassddltRIPaaccsaacaaaaaaaaaacccc",
	breaker.Recovering: "mmmmmccccccccccccaaaaaassssdddltttbfDDDpxsccccmcccccRIPcccc",
	breaker.Isolated:   "RRRRRRRRRcasdlbfDpxIPtRR",
}

// due is the menu of an open breaker whose break is over.
const due = "aaaaaaaaaaccccccccDDpsdltbfRIxP"

// moods are how calls end, by state and by a byte of the settings: mostly well, badly, or
// in a way that decides nothing.
var moods = map[breaker.State][]string{
	breaker.Closed:     {"ooooffffoooooffftpcu", "oooof", "ofofof", "oof"},
	breaker.HalfOpen:   {"oooooooooofttppcccuooooooooo", "tpcutpcutpcutpcuoof", "oooooooo", "ooooootpctcupou"},
	breaker.Recovering: {"ooooooooooooooooooooooooooooooooofotpcuoooooooooooo", "oooooofooooooooo", "ooo", "oooooooooooooot"},
}

func (d *duel) verdict(b int) breaker.Verdict {
	letters := pick(d.mood, moods[breaker.Closed]...)
	if other := moods[d.model.state]; other != nil {
		letters = pick(d.mood, other...)
	}
	return map[byte]breaker.Verdict{
		'o': breaker.OK, 'f': breaker.Transient, 't': breaker.Throttled, 'p': breaker.Permanent, 'c': breaker.Canceled, 'u': 9,
	}[letters[b%len(letters)]]
}

// move takes the move that three bytes stand for.
func (d *duel) move(kind byte, a, b int) {
	state := d.model.state
	menu := menus[state]
	if state == breaker.Open && d.model.instant(d.reading) >= d.model.deadline {
		menu = due
	}
	if kind >= 250 {
		d.update(int(kind)-250, a, b)
		return
	}
	letter := menu[int(kind)%len(menu)]
	if operator := letter == 'R' || letter == 'I'; operator && state != breaker.Isolated && b%4 != 0 {
		letter = 'c'
	}
	switch letter {
	case 'c':
		d.call(d.verdict(a), d.latency(b))
	case 'm':
		latency, every := d.latency(b), 1+a/16%8
		v := d.verdict(a*7 + b)
		n := 2 + a%16
		if len(d.model.past) > 40 {
			n = 1 + a%2 // the breaker knows what is normal: on with it
		}
		for i := range n {
			if i%every == 0 {
				d.call(v, latency)
			} else {
				d.call(breaker.OK, d.latency(b/3))
			}
		}
	case 'a':
		d.keep(a%3, false)
	case 'p':
		d.keep(a%3, true)
	case 's':
		d.settleKept(a, func(call keptCall) {
			v, latency := d.verdict(b), d.latency(a+b)
			d.note("kept call ends, %v after %v", v, latency)
			call.attempt.Record(v, latency)
			d.model.settle(call.tried, d.reading, v, latency)
		})
	case 'd':
		d.settleKept(a, func(call keptCall) { d.done(call, a, b) })
	case 'l':
		d.settleKept(a, func(call keptCall) {
			d.note("kept call is released")
			call.attempt.Release()
			d.model.release(call.tried, d.reading)
		})
	case 't':
		d.pass(a, b)
	case 'b':
		d.note("clock back")
		d.step(func() { d.setTo(d.model.newest - pick(a, back...) + time.Duration(b%3-1)) })
	case 'f':
		d.note("clock forward")
		d.step(func() { d.setTo(d.reading + pick(a, forward...)) })
	case 'D':
		d.do(b%3, d.error(a), pick(b/3, 0, 0, 10*time.Millisecond, d.latency(a), 3*time.Second), b > 240)
	case 'x':
		d.note("call in a context that is done")
		d.step(func() {
			ctx, cancel, _ := newContext(1)
			cancel(errGone)
			_, err := d.breaker.TryAdmit(ctx)
			_, _, want := d.model.admit(ctx, d.reading)
			same(&d.differences, "error of a context that is done", err, want)
		})
	case 'R':
		d.note("reset")
		d.step(func() { d.breaker.Reset(); d.model.reset(d.reading) })
	case 'I':
		d.note("isolate")
		d.step(func() { d.breaker.Isolate(); d.model.isolate(d.reading) })
	case 'P':
		d.note("probe now")
		d.step(func() { d.breaker.ProbeNow(); d.model.probeNow(d.reading) })
	}
}

func (d *duel) keep(context int, pause bool) {
	d.note("call in context %d, kept", context)
	d.step(func() {
		call, admitted := d.admit(context, pause)
		if !admitted {
			d.note(" (refused)")
			return
		}
		if len(d.kept) == 24 {
			d.kept = d.kept[1:]
		}
		d.kept = append(d.kept, call)
	})
}

// settleKept ends a kept call, the newest at 0. Some are kept on, and end twice.
func (d *duel) settleKept(a int, how func(keptCall)) {
	if len(d.kept) == 0 {
		return
	}
	i := len(d.kept) - 1 - (a/8)%len(d.kept)
	call := d.kept[i]
	if a%8 != 7 {
		d.kept = slices.Delete(d.kept, i, i+1)
	}
	d.step(func() { how(call) })
}

// done ends a kept call by its error, in a context that may have ended.
func (d *duel) done(call keptCall, a, b int) {
	m, err := d.model, d.error(b)
	if a%2 == 1 {
		endContext(call)
	}
	if a%3 == 0 {
		latency := d.latency(a / 3)
		if normal := m.latency(m.instant(d.reading)); call.late != nil {
			latency = normal.latency - time.Duration(b%2) // the caller's haste is judged by it
		}
		d.note("kept call is done after %v: %v (context: %v)", latency, err, call.tried.ctx.Err())
		call.attempt.DoneAfter(err, latency)
		m.settle(call.tried, d.reading, m.verdict(call.tried, err, d.reading, latency), latency)
		return
	}
	d.note("kept call is done: %v (context: %v)", err, call.tried.ctx.Err())
	call.attempt.Done(err)
	latency := d.reading - call.tried.reading
	m.settle(call.tried, d.reading, m.verdict(call.tried, err, d.reading, latency), latency)
}

// error is one of the errors that calls end with; often none, where one would end a lot.
func (d *duel) error(b int) error {
	if state := d.model.state; state != breaker.Closed && b/16%4 != 0 {
		return nil
	}
	return pick(b, errorsOfCalls...)
}

// latency is one near whatever a latency is compared with.
func (d *duel) latency(b int) time.Duration {
	f := d.model.figures(d.model.instant(d.reading))
	if d.model.state == breaker.HalfOpen && f.threshold > 0 && b%4 != 0 {
		return f.threshold - 1
	}
	ms := time.Millisecond
	of := []time.Duration{
		10 * ms, 10 * ms, 10 * ms, 11 * ms, f.threshold, f.threshold - 1, f.normal.latency, f.normal.latency - 1,
		40 * ms, 100 * ms, time.Second, 2 * f.threshold, f.normal.latency + 1, 0, -ms, 3 * time.Microsecond,
		8 * time.Microsecond, 8*time.Microsecond - 1, 20 * ms, 20*ms - 1, 250 * time.Second, 400 * time.Second, 5 * ms, 2 * ms,
	}
	return pick(b, of...)
}

var (
	back    = []time.Duration{time.Second, time.Second, time.Second / 2, 1, 2 * time.Second, time.Minute, time.Hour, 24 * time.Hour, 10 * year}
	forward = []time.Duration{time.Millisecond, time.Second / 2, 3 * time.Second, time.Hour}
)

// setTo sets the clock, but not so far that own time could run out.
func (d *duel) setTo(reading time.Duration) {
	if reading > -100*year && reading < 100*year {
		d.set(reading)
	}
	d.note(" to %v", d.reading)
}

// pass lets time pass up to an instant at which something changes, or one off it.
func (d *duel) pass(a, b int) {
	m := d.model
	next := func(window, zero time.Duration, buckets int) time.Duration {
		width := max(1, window/time.Duration(buckets))
		return zero + ((m.own-zero)/width+1)*width
	}
	instants := []time.Duration{
		m.own + 10*time.Millisecond, m.own + 1, m.own + time.Second, next(m.set.TripWindow, m.tripZero, 10), m.own + m.set.TripWindow,
		m.own + m.set.TripWindow/3, next(m.set.TripWindow, m.tripZero, 10), m.own + m.set.TripWindow,
		next(m.set.SlowCalls.Window, m.latencyZero, 4), next(m.set.SlowCalls.Window, m.latencyZero, 4),
		next(m.set.Failures.Window, m.pastZero, 10),
		m.own + m.set.Failures.Window, m.own + m.set.SlowCalls.Window, m.own + m.set.Failures.Window/3,
		m.own + 24*time.Hour,
	}
	if m.set.TripCalls > 0 && len(m.trip) > 0 {
		instants = append(instants, m.trip[max(0, len(m.trip)-m.set.TripCalls)].at+m.set.TripWindow, m.trip[len(m.trip)/2].at+m.set.TripWindow)
	}
	to := pick(a, instants...)
	switch m.state {
	case breaker.Open:
		if a%16 != 0 {
			to = m.deadline
		}
	case breaker.HalfOpen:
		if a%16 > 2 && len(m.probes) > 0 {
			to = pick(a, m.probes...).start + m.probeTimeout()
		}
	case breaker.Recovering:
		if a%16 > 2 {
			to = m.rampStart + m.rampLength*time.Duration(1+a%5)/time.Duration(pick(b/4, 5, 10, 20, 50))
		}
	}
	to += time.Duration(pick(b, 0, 0, 1, -1))
	d.note("time passes")
	d.step(func() { d.setTo(max(d.reading, m.newest+to-m.own)) })
}
