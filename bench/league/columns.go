package league

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/afex/hystrix-go/hystrix"
	"github.com/cenk/backoff"
	resiliency "github.com/eapache/go-resiliency/breaker"
	"github.com/failsafe-go/failsafe-go/circuitbreaker"
	"github.com/go-kratos/aegis/circuitbreaker/sre"
	rubyist "github.com/rubyist/circuitbreaker"
	"github.com/sony/gobreaker/v2"
	gozero "github.com/zeromicro/go-zero/core/breaker"
	"github.com/zeromicro/go-zero/core/logx"
	"github.com/zeromicro/go-zero/core/stat"

	"github.com/normal-go/breaker"
)

const ourselves = "github.com/normal-go/breaker"

// columns are those of the table, in order.
func columns() []column {
	return []column{
		{name: "no breaker", how: "sends everything", build: nothing},
		{name: "oracle", how: "knows the fate of every call", build: nothing, oracle: true},
		{
			name: "breaker", module: ourselves,
			how:   "`Settings{}`",
			why:   "the defaults",
			build: ours(breaker.Settings{}, false),
		},
		{
			name: "breaker, tuned", module: ourselves,
			how:   "`Recovery: RecoveryOver(0.25)`, and a 429 is `WithVerdict(err, Throttled)`",
			why:   "its docs/design.md, \"The ramp\" and \"Verdicts\"",
			build: ours(breaker.Settings{Recovery: breaker.RecoveryOver(0.25)}, true),
		},
		{
			name: "gobreaker", module: "github.com/sony/gobreaker/v2",
			how:   "`Settings{}`: six failures in a row, open for 60 s",
			why:   "the defaults",
			build: sony(gobreaker.Settings{}),
		},
		{
			name: "gobreaker, tuned", module: "github.com/sony/gobreaker/v2",
			how: "`ReadyToTrip`: at least 3 requests of which 60 % failed; `Interval: 10s`, `BucketPeriod: 1s`; `IsExcluded`: cancelled calls and 429",
			why: "its v2/example has that `ReadyToTrip`, and its doc of `Settings` the other two, without numbers. Without an `Interval` nothing is ever forgotten",
			build: sony(gobreaker.Settings{
				ReadyToTrip: func(c gobreaker.Counts) bool {
					return c.Requests >= 3 && float64(c.TotalFailures)/float64(c.Requests) >= 0.6
				},
				Interval: 10 * time.Second, BucketPeriod: time.Second,
				IsExcluded: blameless,
			}),
		},
		{
			name: "failsafe-go", module: "github.com/failsafe-go/failsafe-go",
			how:   "`NewWithDefaults`: one failure, open for a minute",
			why:   "the defaults",
			build: failsafe(circuitbreaker.NewBuilder[any]),
		},
		{
			name: "failsafe-go, tuned", module: "github.com/failsafe-go/failsafe-go",
			how: "`WithFailureThreshold(5)`, `WithDelay(time.Minute)`, `WithSuccessThreshold(2)`; `HandleIf`: neither cancelled calls nor 429",
			why: "the first example of its page on circuit breakers, failsafe-go.dev/circuit-breaker, which recommends no numbers",
			build: failsafe(func() circuitbreaker.Builder[any] {
				return circuitbreaker.NewBuilder[any]().WithFailureThreshold(5).WithDelay(time.Minute).WithSuccessThreshold(2).
					HandleIf(func(_ any, err error) bool { return err != nil && !blameless(err) })
			}),
		},
		{
			name: "go-zero", module: "github.com/zeromicro/go-zero",
			how:   "`NewBreaker()`, of which nothing can be set",
			why:   "the defaults",
			build: goZero(func(err error) bool { return err == nil }),
		},
		{
			name: "go-zero, tuned", module: "github.com/zeromicro/go-zero",
			how:   "cancelled calls and 429 are acceptable",
			why:   "its rest/handler takes what is below 500 for acceptable, its zrpc a cancelled call; go-zero.dev shows `DoWithAcceptable` for that",
			build: goZero(func(err error) bool { return err == nil || blameless(err) }),
		},
		{
			name: "aegis", module: "github.com/go-kratos/aegis",
			how:   "`sre.NewBreaker()`: 100 calls in 3 s",
			why:   "the defaults",
			build: aegis(func(err error) bool { return err == nil }),
		},
		{
			name: "aegis, tuned", module: "github.com/go-kratos/aegis",
			how:   "`WithSuccess(0.5)`; cancelled calls and 429 are marked as successes",
			why:   "the comment of `WithSuccess` calls 0.5 the default, and the code has 0.6; the circuitbreaker middleware of go-kratos, its home, marks none but internal, unavailable and timed out as failed",
			build: aegis(func(err error) bool { return err == nil || blameless(err) }, sre.WithSuccess(0.5)),
		},
		{
			name: "rubyist", module: "github.com/rubyist/circuitbreaker",
			how: "`NewThresholdBreaker(10)`: ten failures in 10 s",
			why: "the first example of its README; `NewBreaker()` has no trip function, never trips, and would be the first column again",
			build: rubyists(func(options *rubyist.Options) {
				options.ShouldTrip = rubyist.ThresholdTripFunc(10)
			}),
		},
		{
			name: "rubyist, tuned", module: "github.com/rubyist/circuitbreaker",
			how: "`NewRateBreaker(0.95, 100)`: 95 % of at least 100 calls in 10 s; cancelled calls are not told to it",
			why: "the rate in its README, which recommends nothing; `CallContext` ignores cancelled calls in this way",
			build: rubyists(func(options *rubyist.Options) {
				options.ShouldTrip = rubyist.RateTripFunc(0.95, 100)
			}, context.Canceled),
		},
		{
			name: "go-resiliency", module: "github.com/eapache/go-resiliency",
			how:   "`New(3, 1, 5*time.Second)`: three failures without 5 s free of them, open for 5 s",
			why:   "it has no defaults, and this is the only example in its documentation, which recommends nothing",
			build: goResiliency,
		},
		{
			name: "hystrix-go", module: "github.com/afex/hystrix-go",
			how:     "the defaults: ten calls at a time, half of at least 20 failed in 10 s, open for 5 s",
			why:     "the defaults",
			build:   hystrixGo(hystrix.CommandConfig{}),
			endless: true,
		},
		{
			name: "hystrix-go, tuned", module: "github.com/afex/hystrix-go",
			how:     "`Timeout: 1000`, `MaxConcurrentRequests: 100`, `ErrorPercentThreshold: 25`",
			why:     "\"Configure settings\" in its README",
			build:   hystrixGo(hystrix.CommandConfig{Timeout: 1000, MaxConcurrentRequests: 100, ErrorPercentThreshold: 25}),
			endless: true,
		},
	}
}

// absent are libraries that belong here and are not.
var absent = []string{
	"github.com/cep21/circuit", "github.com/mercari/go-circuitbreaker", "github.com/exaring/hoglet", "github.com/alibaba/sentinel-golang",
}

func nothing(*rand.Rand) guard {
	return guard{
		admit:  func(*callContext) (func(error), bool) { return func(error) {}, true },
		closed: func() bool { return true },
	}
}

// ours takes a breaker for closed from when it says so until it opens again. State says
// so for a ramp that has run out, and a slow call that ends before the next one begins can
// still stall it.
func ours(s breaker.Settings, marks429 bool) func(*rand.Rand) guard {
	return func(random *rand.Rand) guard {
		open := false
		s := s
		s.Random = random.Float64
		listener := s.OnTransition
		s.OnTransition = func(ctx context.Context, t breaker.Transition) {
			open = open || t.To == breaker.Open
			if listener != nil {
				listener(ctx, t)
			}
		}
		b := breaker.MustNew(s)
		return guard{
			admit: func(ctx *callContext) (func(error), bool) {
				attempt, err := b.TryAdmit(ctx)
				if err != nil {
					return nil, false
				}
				return func(err error) {
					if marks429 && err == errThrottled {
						err = breaker.WithVerdict(err, breaker.Throttled)
					}
					attempt.Done(err)
				}, true
			},
			closed: func() bool {
				if open && b.State() == breaker.Closed {
					open = false
				}
				return !open
			},
		}
	}
}

func sony(s gobreaker.Settings) func(*rand.Rand) guard {
	return func(*rand.Rand) guard {
		b := gobreaker.NewTwoStepCircuitBreaker[any](s)
		return guard{
			admit: func(*callContext) (func(error), bool) {
				done, err := b.Allow()
				return done, err == nil
			},
			closed: func() bool { return b.State() == gobreaker.StateClosed },
		}
	}
}

func failsafe(builder func() circuitbreaker.Builder[any]) func(*rand.Rand) guard {
	return func(*rand.Rand) guard {
		b := builder().Build()
		return guard{
			admit:  func(*callContext) (func(error), bool) { return b.RecordError, b.TryAcquirePermit() },
			closed: b.IsClosed,
		}
	}
}

func goZero(acceptable func(error) bool) func(*rand.Rand) guard {
	logx.Disable() // it would log what it refuses, and the load of the machine
	stat.SetReporter(nil)
	return func(*rand.Rand) guard {
		b := gozero.NewBreaker(gozero.WithName("league"))
		return guard{admit: func(*callContext) (func(error), bool) {
			promise, err := b.Allow()
			if err != nil {
				return nil, false
			}
			return func(err error) {
				if acceptable(err) {
					promise.Accept()
				} else {
					promise.Reject(err.Error())
				}
			}, true
		}}
	}
}

func aegis(succeeds func(error) bool, options ...sre.Option) func(*rand.Rand) guard {
	return func(*rand.Rand) guard {
		b := sre.NewBreaker(options...)
		return guard{admit: func(*callContext) (func(error), bool) {
			if b.Allow() != nil {
				b.MarkFailed() // as it asks for
				return nil, false
			}
			return func(err error) {
				if succeeds(err) {
					b.MarkSuccess()
				} else {
					b.MarkFailed()
				}
			}, true
		}}
	}
}

// rubyists is driven by hand, as its README shows. To those of the given ends it is told
// nothing.
func rubyists(set func(*rubyist.Options), untold ...error) func(*rand.Rand) guard {
	return func(random *rand.Rand) guard {
		options := rubyist.Options{BackOff: newOwnBackOff(random)}
		set(&options)
		b := rubyist.NewBreakerWithOptions(&options)
		return guard{
			admit: func(*callContext) (func(error), bool) {
				return func(err error) {
					switch {
					case err == nil:
						b.Success()
					case len(untold) == 0 || err != untold[0]:
						b.Fail()
					}
				}, b.Ready()
			},
			closed: func() bool { return !b.Tripped() },
		}
	}
}

// ownBackOff is the back-off that rubyist/circuitbreaker makes for itself, with random
// numbers that can be repeated: its own come from a source that nobody can seed.
type ownBackOff struct {
	*backoff.ExponentialBackOff
	random *rand.Rand
}

func newOwnBackOff(random *rand.Rand) ownBackOff {
	b := backoff.NewExponentialBackOff() // at 500 ms
	b.MaxElapsedTime = 0
	b.RandomizationFactor = 0
	b.Reset()
	return ownBackOff{b, random}
}

func (b ownBackOff) NextBackOff() time.Duration {
	around := 1 + backoff.DefaultRandomizationFactor*(2*b.random.Float64()-1)
	return time.Duration(float64(b.ExponentialBackOff.NextBackOff()) * around)
}

func goResiliency(*rand.Rand) guard {
	b := resiliency.New(3, 1, 5*time.Second)
	return guard{
		run: func(send func() reply) error {
			return b.Run(func() error {
				r := send()
				time.Sleep(r.after)
				return r.err
			})
		},
		closed: func() bool { return b.GetState() == resiliency.Closed },
	}
}

// hystrixGo brings the deadline of the caller itself: its timeout is as long. So its
// function is told of the deadline only after that. It keeps its circuits for good, by
// name, so there is one to a process.
func hystrixGo(config hystrix.CommandConfig) func(*rand.Rand) guard {
	return func(random *rand.Rand) guard {
		name := fmt.Sprintf("league %x", random.Uint64())
		hystrix.ConfigureCommand(name, config)
		var mu sync.Mutex
		open := false // as its callers see it: asking it could open it
		return guard{
			run: func(send func() reply) error {
				err := hystrix.Do(name, func() error {
					r := send()
					if r.err == context.DeadlineExceeded {
						r.after += time.Millisecond
					}
					time.Sleep(r.after)
					return r.err
				}, nil)
				mu.Lock()
				defer mu.Unlock()
				if err == nil || err == hystrix.ErrCircuitOpen {
					open = err != nil
				}
				return err
			},
			closed: func() bool {
				mu.Lock()
				defer mu.Unlock()
				return !open
			},
		}
	}
}
