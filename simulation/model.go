package simulation

import "time"

// model is the dependency.
type model struct {
	dependency Dependency
	incidents  []Incident

	own, hump *quantiles // nil where all calls take the same
	humpShare share

	// What the incidents in force come to.
	effect effect
	until  time.Duration // the next instant at which that may change

	busyUntil time.Duration // what queues for capacity is done by then
	warmth    warmth
	trouble   time.Duration // when there was trouble last, if it is not now
}

// effect is what the incidents in force come to together.
type effect struct {
	inForce bool // one that is not harmless, also if it is up at the time
	dead    bool // no call can be served

	hang, outage, shards, throttle share
	fail                           share
	factor                         float64 // of what meets all calls
	slow                           []slowShare
	capacity                       float64
}

type slowShare struct {
	purpose int // of the roll
	share   share
	factor  float64
}

// answer is what the dependency does with an attempt.
type answer struct {
	err     error
	latency time.Duration
}

// never is the latency of what is not answered. It can be added to any time of a run.
const never = furthest / 4

const noTrouble = -furthest / 2

func newModel(s *Scenario) *model {
	d := s.Dependency
	m := &model{dependency: d, incidents: s.Incidents, trouble: noTrouble}
	if d.P99 > d.Median {
		m.own = newQuantiles(d.Median, d.P99)
	}
	if d.Hump.Share > 0 {
		m.humpShare = shareOf(d.Hump.Share)
		if d.Hump.P99 > d.Hump.Median {
			m.hump = newQuantiles(d.Hump.Median, d.Hump.P99)
		}
	}
	m.warmth = warmth{Warming: d.Warming, room: d.Warming.Full, coldUntil: noTrouble}
	m.enter(0)
	return m
}

// enter puts in force what is in force from an instant on.
func (m *model) enter(now time.Duration) {
	wasDown := m.effect.outage == always
	wasInForce := m.effect.inForce
	e := effect{factor: 1, capacity: m.dependency.Capacity, slow: m.effect.slow[:0]}
	m.until = furthest
	passes := passing{hang: 1, outage: 1, throttle: 1, fail: 1 - m.dependency.FailureRate}
	shards := 0.0
	for i, incident := range m.incidents {
		on, change := incident.at(now)
		m.until = min(m.until, change)
		end, ends := incident.end()
		if now >= incident.Start && (!ends || now < end) && !incident.harmless() {
			e.inForce = true
		}
		if !on {
			continue
		}
		e.dead = e.dead || incident.dead()
		switch incident.Kind {
		case Brownout, Latency:
			if incident.Kind == Latency || incident.Share == 1 {
				e.factor *= incident.Factor
			} else {
				e.slow = append(e.slow, slowShare{rollSlow + i, shareOf(incident.Share), incident.Factor})
			}
		case Outage, Flapping:
			passes.outage = float64(passes.outage * (1 - incident.Share))
		case Hang:
			passes.hang = float64(passes.hang * (1 - incident.Share))
		case Throttling:
			passes.throttle = float64(passes.throttle * (1 - incident.Share))
		case Failing:
			passes.fail = float64(passes.fail * (1 - incident.Share))
		case Shards:
			shards = max(shards, incident.Share)
		case Capacity:
			if e.capacity == 0 || incident.Rate < e.capacity {
				e.capacity = incident.Rate
			}
		}
	}
	e.hang, e.outage, e.shards = shareOf(1-passes.hang), shareOf(1-passes.outage), shareOf(shards)
	e.throttle, e.fail = shareOf(1-passes.throttle), shareOf(1-passes.fail)
	m.effect = e
	if wasInForce && !e.inForce {
		m.trouble = now
	}
	if wasDown && e.outage != always {
		m.warmth.restart(now)
	}
}

// passing is the share of the calls that pass all incidents of a kind.
type passing struct{ hang, outage, throttle, fail float64 }

const always share = 1 << 53

// troubleAt returns when there was trouble last, as of now.
func (m *model) troubleAt(now time.Duration) time.Duration {
	if m.effect.inForce || m.warmth.cold(now) {
		return now
	}
	return max(m.trouble, m.warmth.coldUntil)
}

// answer says what the dependency does with a try of a call. Where it is not real, it
// leaves no trace.
func (m *model) answer(now time.Duration, call luck, try int, real bool) answer {
	l, e := call.of(try), &m.effect
	atOnce := m.dependency.FailureLatency
	switch {
	case e.hang > 0 && e.hang.meets(l.roll(rollHang)):
		return answer{nil, never}
	case e.outage > 0 && e.outage.meets(l.roll(rollOutage)):
		return answer{ErrFailed, atOnce}
	case e.shards > 0 && e.shards.meets(call.roll(rollShard)):
		return answer{ErrFailed, atOnce}
	case e.throttle > 0 && e.throttle.meets(l.roll(rollThrottle)):
		return answer{ErrThrottled, atOnce}
	}
	factor := m.factor(l)
	wait, ok := m.queue(now, factor, real)
	if !ok {
		return answer{ErrShed, atOnce}
	}
	work := float64(m.latency(l)) * factor
	if m.warmth.Full > 0 {
		slower, ok := m.warmth.take(now, work, real)
		if !ok {
			if real {
				m.trouble = now
			}
			return answer{ErrShed, atOnce}
		}
		work = slower
	}
	latency := wait + time.Duration(min(work, float64(never/2)))
	if e.fail > 0 && e.fail.meets(l.roll(rollFail)) {
		return answer{ErrFailed, latency}
	}
	return answer{nil, latency}
}

func (m *model) latency(l luck) time.Duration {
	median, values := m.dependency.Median, m.own
	if m.humpShare > 0 && m.humpShare.meets(l.roll(rollHump)) {
		median, values = m.dependency.Hump.Median, m.hump
	}
	if values == nil {
		return median
	}
	return values.draw(l.roll(rollLatency))
}

// factor is how many times as long a call takes.
func (m *model) factor(l luck) float64 {
	factor := m.effect.factor
	for _, slow := range m.effect.slow {
		if slow.share.meets(l.roll(slow.purpose)) {
			factor *= slow.factor
		}
	}
	return factor
}

// queue returns how long a call waits for capacity, or false if it is shed.
func (m *model) queue(now time.Duration, factor float64, real bool) (time.Duration, bool) {
	capacity := m.effect.capacity
	if capacity == 0 {
		return 0, true
	}
	wait := max(m.busyUntil-now, 0)
	if wait > m.dependency.Queue {
		if real {
			m.trouble = now
		}
		return 0, false
	}
	if real {
		m.busyUntil = now + wait + time.Duration(min(1e9*factor/capacity, float64(never/4)))
	}
	return wait, true
}
