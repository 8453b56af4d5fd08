package simulation

import "time"

// warmth is how warm a dependency is that warms by being used. Steps are counted when
// somebody looks: nothing happens in them by itself.
type warmth struct {
	Warming

	room  float64
	step  time.Duration // the one that calls are counted in, as a number
	calls int           // in it

	coldUntil time.Duration // as far as it has caught up
}

// restart makes it cold.
func (w *warmth) restart(now time.Duration) {
	if w.Full > 0 {
		w.room, w.step, w.calls = 1, now/w.Step, 0
	}
}

func (w *warmth) cold(now time.Duration) bool {
	if w.Full == 0 {
		return false
	}
	w.catchUp(now)
	return w.room < w.Full
}

// take gives a call room, and returns how long it takes of what would take work when warm;
// or false if there is too little room for it.
func (w *warmth) take(now time.Duration, work float64, real bool) (float64, bool) {
	w.catchUp(now)
	load := float64(w.calls + 1)
	if real {
		w.calls++
	}
	cold := work * w.Full / w.room
	switch {
	case load <= w.room:
		return cold, true
	case load <= 3*w.room:
		return cold * load / w.room, true
	}
	return 0, false
}

// catchUp ends the steps that are over.
func (w *warmth) catchUp(now time.Duration) {
	for step := now / w.Step; w.step < step; w.step++ {
		if w.room < w.Full {
			w.coldUntil = (w.step + 1) * w.Step
		}
		switch {
		case w.calls > 2*int(w.room):
			w.room = max(1, w.room-w.Loss)
		case w.calls > 0:
			w.room = min(w.Full, w.room+w.Gain)
		case w.room == w.Full: // and stays
			w.step = step
			return
		default:
			w.room = min(w.Full, w.room+w.IdleGain)
		}
		w.calls = 0
	}
}
