package bench

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/afex/hystrix-go/hystrix"
	"github.com/cenk/backoff"
	resiliency "github.com/eapache/go-resiliency/breaker"
	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/circuitbreaker"
	aegis "github.com/go-kratos/aegis/circuitbreaker"
	"github.com/go-kratos/aegis/circuitbreaker/sre"
	rubyist "github.com/rubyist/circuitbreaker"
	"github.com/sony/gobreaker/v2"
	gozero "github.com/zeromicro/go-zero/core/breaker"
	"github.com/zeromicro/go-zero/core/stat"

	"github.com/normal-go/breaker"
)

// libraries are in the order of the tables, but for hystrix-go: what its goroutines have
// left to do when its turn is over should disturb as few others as possible.
var libraries = []library{
	oursWith("breaker", breaker.Settings{}, do),
	oursWith("breaker-attempt", breaker.Settings{}, attempt).without("Refused", "HalfOpen", "HalfOpenRefused", "Create", "Held"),
	oursWith("breaker-plain", breaker.Settings{
		DisableAdaptive: true, FailureRatio: tripRatio, MinimumCalls: tripCalls, TripWindow: tripWindow,
	}, do),
	gobreakerWith("gobreaker", 0),
	gobreakerWith("gobreaker-rolling", tripWindow/tripBuckets),
	failsafeExecutor(),
	failsafePermit(),
	goZero(),
	aegisSRE(),
	rubyistRate(),
	goResiliency().without("Failing"),
	hystrixGo().without("Create", "Held"),
}

// ctx is what this library is given. A service passes a context that can end, and asking
// that costs more than asking the background.
//
// The other libraries are called without a context, which each of them allows.
var ctx, _ = context.WithCancel(context.Background())

func oursWith(name string, s breaker.Settings, through func(*breaker.Breaker) guard) library {
	s.Name, s.BreakDuration = "bench", breakLength
	l := adapt(name, func() *breaker.Breaker { return breaker.MustNew(s) }, through)
	l.crowds = true
	l.halfOpen = func(successes int) guard {
		s := s
		s.ProbeSuccesses = successes
		// Without a ramp, a probe that the scheduler interrupts is a slow one, and re-opens.
		s.Recovery = breaker.RecoveryOver(0.25)
		b := breaker.MustNew(s)
		for range 5 {
			_ = b.Do(ctx, fail.context)
		}
		b.ProbeNow()
		return l.probing(b, func() bool { return b.State() == breaker.HalfOpen })
	}
	return l
}

// do calls as most callers do. Its refusals pause, so those who do not want that use
// TryAdmit.
func do(b *breaker.Breaker) guard {
	return guard{
		call:  func(w *work) error { return b.Do(ctx, w.context) },
		value: func(w *work) (int, error) { return breaker.Call(ctx, b, w.contextValue) },
		try:   attempt(b).call,
	}
}

func attempt(b *breaker.Breaker) guard {
	return guard{
		call: func(w *work) error {
			attempt, err := b.TryAdmit(ctx)
			if err != nil {
				return err
			}
			err = w.context(ctx)
			attempt.Done(err)
			return err
		},
		value: func(w *work) (int, error) {
			attempt, err := b.TryAdmit(ctx)
			if err != nil {
				return 0, err
			}
			v, err := w.contextValue(ctx)
			attempt.Done(err)
			return v, err
		},
	}
}

func gobreakerWith(name string, bucket time.Duration) library {
	settings := gobreaker.Settings{
		Name:         "bench",
		Interval:     tripWindow,
		BucketPeriod: bucket, // 0: one bucket, cleared at the end of each interval
		Timeout:      breakLength,
		ReadyToTrip: func(c gobreaker.Counts) bool {
			return c.Requests >= tripCalls && float64(c.TotalFailures) >= tripRatio*float64(c.Requests)
		},
	}
	through := func(b *gobreaker.CircuitBreaker[int]) guard {
		return guard{
			call: func(w *work) error {
				_, err := b.Execute(w.value)
				return err
			},
			value: func(w *work) (int, error) { return b.Execute(w.value) },
		}
	}
	create := func() *gobreaker.CircuitBreaker[int] { return gobreaker.NewCircuitBreaker[int](settings) }
	l := adapt(name, create, through)
	l.crowds = true
	l.halfOpen = func(successes int) guard {
		s := settings
		s.MaxRequests, s.Timeout = uint32(successes), time.Nanosecond
		b := gobreaker.NewCircuitBreaker[int](s)
		for range tripCalls {
			_, _ = b.Execute(fail.value)
		}
		return l.probing(b, func() bool { return b.State() == gobreaker.StateHalfOpen })
	}
	return l
}

func newFailsafe() circuitbreaker.Builder[int] {
	return circuitbreaker.NewBuilder[int]().WithFailureRateThreshold(tripRatio, tripCalls, tripWindow).WithDelay(breakLength)
}

func halfOpenFailsafe(successes int) circuitbreaker.CircuitBreaker[int] {
	// It keeps one bit a success.
	b := newFailsafe().WithSuccessThreshold(uint(min(successes, 1<<28))).Build()
	b.HalfOpen()
	return b
}

func failsafeExecutor() library {
	through := func(e failsafe.Executor[int]) guard {
		return guard{
			call:  func(w *work) error { return e.Run(w.plain) },
			value: func(w *work) (int, error) { return e.Get(w.value) },
		}
	}
	l := adapt("failsafe-executor", func() failsafe.Executor[int] { return failsafe.With(newFailsafe().Build()) }, through)
	l.crowds = true
	l.halfOpen = func(successes int) guard {
		b := halfOpenFailsafe(successes)
		return l.probing(failsafe.With(b), b.IsHalfOpen)
	}
	return l
}

func failsafePermit() library {
	through := func(b circuitbreaker.CircuitBreaker[int]) guard {
		return guard{
			call: func(w *work) error {
				if !b.TryAcquirePermit() {
					return circuitbreaker.ErrOpen
				}
				err := w.plain()
				b.RecordError(err)
				return err
			},
			value: func(w *work) (int, error) {
				if !b.TryAcquirePermit() {
					return 0, circuitbreaker.ErrOpen
				}
				v, err := w.value()
				b.RecordError(err)
				return v, err
			},
		}
	}
	l := adapt("failsafe-permit", func() circuitbreaker.CircuitBreaker[int] { return newFailsafe().Build() }, through)
	l.crowds = true
	l.halfOpen = func(successes int) guard {
		b := halfOpenFailsafe(successes)
		return l.probing(b, b.IsHalfOpen)
	}
	return l
}

// Its window, 10 s in 40 buckets, and its rule cannot be set.
func goZero() library {
	stat.SetReporter(func(string) {}) // it would log between the results
	create := func() gozero.Breaker { return gozero.NewBreaker(gozero.WithName("bench")) }
	l := adapt("go-zero", create, func(b gozero.Breaker) guard {
		return guard{
			call: func(w *work) error { return b.Do(w.plain) },
			value: func(w *work) (v int, err error) {
				err = b.Do(func() (err error) {
					v, err = w.value()
					return err
				})
				return v, err
			},
		}
	})
	l.throttles = true
	return l
}

func aegisSRE() library {
	create := func() aegis.CircuitBreaker {
		return sre.NewBreaker(sre.WithRequest(tripCalls), sre.WithWindow(tripWindow), sre.WithBucket(tripBuckets))
	}
	l := adapt("aegis-sre", create, func(b aegis.CircuitBreaker) guard {
		mark := func(err error) {
			if err == nil {
				b.MarkSuccess()
			} else {
				b.MarkFailed()
			}
		}
		return guard{
			call: func(w *work) error {
				err := b.Allow()
				if err == nil {
					err = w.plain()
				}
				mark(err) // refusals too, as it asks for
				return err
			},
			value: func(w *work) (v int, err error) {
				err = b.Allow()
				if err == nil {
					v, err = w.value()
				}
				mark(err)
				return v, err
			},
		}
	})
	l.throttles = true
	return l
}

func rubyistRate() library {
	create := func() *rubyist.Breaker {
		return rubyist.NewBreakerWithOptions(&rubyist.Options{
			BackOff:       backoff.NewConstantBackOff(breakLength),
			ShouldTrip:    rubyist.RateTripFunc(tripRatio, tripCalls),
			WindowTime:    tripWindow,
			WindowBuckets: tripBuckets,
		})
	}
	return adapt("rubyist", create, func(b *rubyist.Breaker) guard {
		const noTimeout = 0 // with one, each call starts a goroutine
		return guard{
			call: func(w *work) error { return b.Call(w.plain, noTimeout) },
			value: func(w *work) (v int, err error) {
				err = b.Call(func() (err error) {
					v, err = w.value()
					return err
				}, noTimeout)
				return v, err
			},
		}
	})
}

func goResiliency() library {
	through := func(b *resiliency.Breaker) guard {
		return guard{
			call: func(w *work) error { return b.Run(w.plain) },
			value: func(w *work) (v int, err error) {
				err = b.Run(func() (err error) {
					v, err = w.value()
					return err
				})
				return v, err
			},
		}
	}
	l := adapt("go-resiliency", func() *resiliency.Breaker { return resiliency.New(tripCalls, 1, breakLength) }, through)
	l.forgets = true
	l.halfOpen = func(successes int) guard {
		b := resiliency.New(1, successes, time.Nanosecond)
		isHalfOpen := func() bool { return b.GetState() == resiliency.HalfOpen }
		_ = b.Run(fail.plain)
		for !isHalfOpen() {
			runtime.Gosched()
		}
		return l.probing(b, isHalfOpen)
	}
	return l
}

var circuits atomic.Uint64

func hystrixGo() library {
	create := func() *hystrix.CircuitBreaker {
		name := fmt.Sprint("bench", circuits.Add(1)) // they live in a map, for good
		hystrix.ConfigureCommand(name, hystrix.CommandConfig{
			RequestVolumeThreshold: tripCalls,
			ErrorPercentThreshold:  tripRatio * 100,
			SleepWindow:            int(breakLength.Milliseconds()),
			Timeout:                math.MaxInt32, // ms
			// It answers before it has its ticket back: it lags behind eight callers by thousands.
			MaxConcurrentRequests: 20_000,
		})
		b, _, err := hystrix.GetCircuit(name)
		if err != nil {
			panic(err)
		}
		return b
	}
	l := adapt("hystrix-go", create, func(b *hystrix.CircuitBreaker) guard {
		return guard{
			call: func(w *work) error { return hystrix.Do(b.Name, w.plain, nil) },
			value: func(w *work) (v int, err error) {
				err = hystrix.Do(b.Name, func() (err error) {
					v, err = w.value()
					return err
				}, nil)
				return v, err
			},
		}
	})
	return l
}
