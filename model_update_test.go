package breaker_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
)

// manyChanged are the bytes of the settings that matter most when they change: the first
// turns a dry run on and off.
var manyChanged = []int{0, 1, 4, 5, 10, 11, 12, 27, 15, 17, 21, 23, 26}

// spoil makes settings that New refuses.
var spoil = []func(*breaker.Settings){
	func(s *breaker.Settings) { s.ConsecutiveFailures = -1 },
	func(s *breaker.Settings) { s.FailureRatio = 2 },
	func(s *breaker.Settings) { s.SlowCallRatio = math.NaN() },
	func(s *breaker.Settings) { s.BreakDuration = -time.Second },
	func(s *breaker.Settings) { s.BreakJitter = 9 },
	func(s *breaker.Settings) { s.HalfOpenProbes = 2e6 },
	func(s *breaker.Settings) { s.Recovery.Fraction = -1 },
	func(s *breaker.Settings) { s.TripCalls, s.MinimumCalls = 1, 2 },
}

// update changes the settings: a byte of them, mostly; all of them; or nothing. Some are
// refused.
func (d *duel) update(kind, a, b int) {
	header := append([]byte{}, d.header...)
	adjust := func(*breaker.Settings) {}
	switch kind {
	case 0, 1:
		header[a%headerBytes] = byte(b)
	case 2:
		header[pick(a, manyChanged...)] = byte(b)
	case 3:
		if header[0] == 0x70 {
			header[0] = 0
		} else {
			header[0] = 0x70
		}
	case 4:
		var seed [32]byte
		binary.LittleEndian.PutUint64(seed[:], uint64(a<<8|b))
		_, _ = rand.NewChaCha8(seed).Read(header)
	default:
		switch a % 4 {
		case 0: // nothing changes
		case 1: // nor here: a default is written out
			adjust = func(s *breaker.Settings) { s.TripWindow = filled(*s).TripWindow }
		default:
			header[b%headerBytes] = byte(a)
			adjust = pick(b, spoil...)
		}
	}
	s, draws, _ := decodeSettings(header)
	adjust(&s)
	d.note("update%s", changes(d.model.set, filled(s)))
	d.step(func() {
		d.listener++
		s.Clock = &duelClock{} // stays what it was
		s.Random, s.OnTransition = d.numbers(&d.draws, draws), d.listen(&d.told)
		err, want := d.breaker.Update(s), s.Validate()
		same(&d.differences, "refused settings", fmt.Sprint(err), fmt.Sprint(want))
		if want != nil {
			var problems *breaker.SettingsError
			same(&d.differences, "refused with a *SettingsError", errors.As(err, &problems), true)
			d.declined++
			return
		}
		d.header = header
		d.updated[d.model.state]++
		d.model.update(d.reading, s, d.numbers(&d.modelled, draws), d.listen(&d.expected))
	})
	same(&d.differences, "Name", d.breaker.Name(), d.model.set.Name)
	same(&d.differences, "Settings().Clock", d.breaker.Settings().Clock, breaker.Clock(d.clock))
	same(&d.differences, "Effective", changes(plainlyOff(d.model.set), d.breaker.Effective()), "")
}

// plainlyOff leaves only Off of a trip that is off.
func plainlyOff(s breaker.Settings) breaker.Settings {
	if s.Failures.Off {
		s.Failures = breaker.Failures{Off: true}
	}
	if s.SlowCalls.Off {
		s.SlowCalls = breaker.SlowCalls{Off: true}
	}
	return s
}

// changes lists what differs of two settings.
func changes(from, to breaker.Settings) (list string) {
	was, is := reflect.ValueOf(from), reflect.ValueOf(to)
	for i := range was.NumField() {
		if kind := was.Field(i).Kind(); kind == reflect.Func || kind == reflect.Interface {
			continue
		}
		if a, b := fmt.Sprintf("%+v", was.Field(i)), fmt.Sprintf("%+v", is.Field(i)); a != b {
			list += fmt.Sprintf(" %s: %s -> %s", was.Type().Field(i).Name, a, b)
		}
	}
	return list
}

// The refusals of a state that began before the update are shared, and keep their name.
func TestUpdateOfTheNameInRefusals(t *testing.T) {
	r := newRig(t, breaker.Settings{Name: "db", ConsecutiveFailures: 1})
	fail(1)(r)
	update(func(s *breaker.Settings) { s.Name = "replica" })(r)
	_, err := r.TryAdmit(bg)
	var refusal *breaker.RejectedError
	require.ErrorAs(t, err, &refusal)
	require.Equal(t, "db", refusal.Name)
	r.Reset()
	fail(1)(r)
	_, err = r.TryAdmit(bg)
	require.ErrorAs(t, err, &refusal)
	require.Equal(t, "replica", refusal.Name)
}

func TestUpdateBeforeBirth(t *testing.T) {
	r := newRig(t, breaker.Settings{FailureRatio: 0.5})
	r.at(-time.Hour)
	ok(1)(r)
	update(func(s *breaker.Settings) { s.TripWindow = 20 * time.Second })(r)
	ok(10)(r)
	r.at(-time.Hour + time.Minute)
	require.Zero(t, r.Snapshot().Calls)
}

func TestUpdateOfTheSlots(t *testing.T) {
	r := newRig(t, breaker.Settings{ConsecutiveFailures: 1, HalfOpenProbes: 3})
	r.run(
		step{at: 0, do: fail(1), want: breaker.Open},
		step{at: 15 * time.Second, do: all(start("a"), start("b"), start("c")), want: breaker.HalfOpen},
		step{at: 15 * time.Second, do: update(func(s *breaker.Settings) { s.HalfOpenProbes = 1 }), want: breaker.HalfOpen},
		step{at: 40 * time.Second, do: start("d"), want: breaker.HalfOpen},
	)
	require.Equal(t, 1, r.Snapshot().ProbesInFlight)
}

func TestUpdateOfFalseAlarmInTrouble(t *testing.T) {
	r := newRig(t, breaker.Settings{ConsecutiveFailures: 5, Recovery: breaker.RecoveryOver(1)})
	r.run(
		step{at: 0, do: func(r *rig) {
			for range 100 {
				all(ok(3), fail(1), ok(1))(r)
			}
		}, want: breaker.Closed},
		step{at: 1 * time.Minute, do: fail(5), want: breaker.Open},
		step{at: 1 * time.Minute, do: update(func(s *breaker.Settings) { s.Failures.FalseAlarm = 1 }), want: breaker.Open},
		step{at: 75 * time.Second, do: ok(2), want: breaker.Recovering},
		step{at: 89 * time.Second, do: all(refuse(1), fail(1)), want: breaker.Open},
	)
}

func TestUpdateOfTheListenerByTheListener(t *testing.T) {
	r := newRig(t, breaker.Settings{ConsecutiveFailures: 1, BreakJitter: breaker.JitterNone})
	var old, told []breaker.Cause
	listen := update(func(s *breaker.Settings) {
		s.OnTransition = func(_ context.Context, t breaker.Transition) { told = append(told, t.Cause) }
	})
	update(func(s *breaker.Settings) {
		s.OnTransition = func(_ context.Context, t breaker.Transition) {
			old = append(old, t.Cause)
			if len(old) == 1 {
				listen(r)
				reset(r)
				fail(1)(r)
			}
		}
	})(r)
	fail(1)(r)
	require.Len(t, old, 1)
	require.Len(t, told, 1)
}
