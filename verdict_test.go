package breaker_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
)

// statusError carries its verdict in a method, as an error of a client library would.
type statusError breaker.Verdict

func (e statusError) Error() string            { return "status" }
func (e statusError) Verdict() breaker.Verdict { return breaker.Verdict(e) }

// pointerError does so on a pointer, and wraps.
type pointerError struct{ cause error }

func (e *pointerError) Error() string            { return "pointer: " + e.cause.Error() }
func (e *pointerError) Unwrap() error            { return e.cause }
func (e *pointerError) Verdict() breaker.Verdict { return breaker.Permanent }

// jury has a method of the same name and another type: no verdict.
type jury struct{}

func (jury) Error() string   { return "jury" }
func (jury) Verdict() string { return "guilty" }

// asError has its verdict from As alone.
type asError struct{ error }

func (e asError) As(target any) bool {
	carrier, ok := target.(*interface{ Verdict() breaker.Verdict })
	if ok {
		*carrier = statusError(breaker.Throttled)
	}
	return ok
}

func TestClassify(t *testing.T) {
	carried := func(v breaker.Verdict) error { return breaker.WithVerdict(errDown, v) }
	for name, c := range map[string]struct {
		err  error
		want breaker.Verdict
	}{
		"nil":                       {nil, breaker.OK},
		"an error":                  {errDown, breaker.Transient},
		"canceled":                  {context.Canceled, breaker.Canceled},
		"canceled, wrapped":         {fmt.Errorf("query: %w", context.Canceled), breaker.Canceled},
		"canceled, joined":          {errors.Join(errDown, context.Canceled), breaker.Canceled},
		"deadline exceeded":         {context.DeadlineExceeded, breaker.Transient},
		"a timeout":                 {os.ErrDeadlineExceeded, breaker.Transient},
		"the refusal of another":    {&breaker.RejectedError{}, breaker.Transient},
		"a Verdict of another type": {jury{}, breaker.Transient},

		"carried OK":                 {carried(breaker.OK), breaker.OK},
		"carried Transient":          {carried(breaker.Transient), breaker.Transient},
		"carried Throttled":          {carried(breaker.Throttled), breaker.Throttled},
		"carried Permanent":          {carried(breaker.Permanent), breaker.Permanent},
		"carried Canceled":           {carried(breaker.Canceled), breaker.Canceled},
		"carried over cancellation":  {breaker.WithVerdict(context.Canceled, breaker.Transient), breaker.Transient},
		"carried, wrapped":           {fmt.Errorf("query: %w", carried(breaker.Throttled)), breaker.Throttled},
		"carried, wrapped with two":  {fmt.Errorf("%w, then %w", errDown, carried(breaker.Throttled)), breaker.Throttled},
		"carried, joined":            {errors.Join(errDown, carried(breaker.Permanent)), breaker.Permanent},
		"the first of two joined":    {errors.Join(carried(breaker.OK), carried(breaker.Permanent)), breaker.OK},
		"a verdict upon a verdict":   {breaker.WithVerdict(carried(breaker.Permanent), breaker.Throttled), breaker.Throttled},
		"the same, with text":        {breaker.WithVerdict(fmt.Errorf("x: %w", carried(breaker.Permanent)), breaker.OK), breaker.OK},
		"a method":                   {statusError(breaker.Throttled), breaker.Throttled},
		"a method, wrapped":          {fmt.Errorf("query: %w", statusError(breaker.OK)), breaker.OK},
		"a method on a pointer":      {&pointerError{errDown}, breaker.Permanent},
		"a method above a verdict":   {&pointerError{carried(breaker.Throttled)}, breaker.Permanent},
		"a verdict above a method":   {breaker.WithVerdict(&pointerError{errDown}, breaker.Throttled), breaker.Throttled},
		"an As":                      {asError{errDown}, breaker.Throttled},
		"an As, wrapped":             {fmt.Errorf("query: %w", asError{errDown}), breaker.Throttled},
		"a method over cancellation": {&pointerError{context.Canceled}, breaker.Permanent},

		"unknown":               {carried(5), breaker.Permanent},
		"unknown, the largest":  {carried(255), breaker.Permanent},
		"unknown, of a method":  {statusError(77), breaker.Permanent},
		"unknown above a known": {breaker.WithVerdict(carried(breaker.OK), 5), breaker.Permanent},
	} {
		require.Equal(t, c.want.String(), breaker.Classify(c.err).String(), name)
		if c.err != nil {
			r := newRig(t, breaker.Settings{})
			require.Equal(t, c.want.String(), r.ends(func() { _ = r.Do(bg, fails(c.err)) }), "%s, through Do", name)
		}
	}
}

func TestWithVerdictIsTransparent(t *testing.T) {
	cause := &os.PathError{Op: "open", Path: "x", Err: io.ErrUnexpectedEOF}
	for v := range breaker.Verdict(6) {
		err := breaker.WithVerdict(cause, v)
		require.EqualError(t, err, cause.Error())
		require.ErrorIs(t, err, io.ErrUnexpectedEOF)
		var path *os.PathError
		require.ErrorAs(t, err, &path)
		require.Same(t, cause, path)
		require.Same(t, cause, errors.Unwrap(err))
		require.True(t, breaker.WithVerdict(nil, v) == nil)
	}
}

// ends returns how the one attempt that do makes is counted.
func (r *rig) ends(do func()) string {
	r.t.Helper()
	before := r.Snapshot().Totals
	do()
	after := r.Snapshot().Totals
	require.Equal(r.t, before.Admitted+1, after.Admitted, "one attempt")
	switch {
	case after.OK > before.OK:
		return "ok"
	case after.Transient > before.Transient:
		return "transient"
	case after.Throttled > before.Throttled:
		return "throttled"
	case after.Permanent > before.Permanent:
		return "permanent"
	case after.Canceled > before.Canceled:
		return "canceled"
	}
	return "released"
}

// A classifier of the caller's own is asked about errors that carry no verdict, and its
// answer stands.
func TestClassifierOfTheCaller(t *testing.T) {
	const unknown = breaker.Verdict(9)
	for _, v := range []breaker.Verdict{breaker.OK, breaker.Transient, breaker.Throttled, breaker.Permanent, breaker.Canceled, unknown} {
		want := v.String()
		if v == unknown {
			want = "permanent"
		}
		var asked []error
		r := newRig(t, breaker.Settings{ConsecutiveFailures: 100, Classify: func(err error) breaker.Verdict {
			asked = append(asked, err)
			return v
		}})
		for name, way := range ways {
			for _, err := range []error{errDown, context.Canceled, context.DeadlineExceeded} {
				asked = nil
				require.Equal(t, want, r.ends(func() { _ = way(r, bg, fails(err)) }), name)
				require.Equal(t, []error{err}, asked, "%s asks once, for the error as it is", name)
			}

			asked = nil
			require.Equal(t, "ok", r.ends(func() { _ = way(r, bg, succeed) }), "%s without an error", name)
			throttled := fmt.Errorf("x: %w", statusError(breaker.Throttled))
			require.Equal(t, "throttled", r.ends(func() { _ = way(r, bg, fails(throttled)) }), "%s with a verdict carried", name)
			require.Empty(t, asked, "%s: neither is the classifier's", name)
		}
	}
}

// Record knows better than everyone.
func TestRecordClassifiesNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(bg)
	r := newRig(t, breaker.Settings{Classify: func(error) breaker.Verdict { t.Error("Classify called"); return breaker.OK }})
	for v, want := range map[breaker.Verdict]string{
		breaker.OK:        "ok",
		breaker.Transient: "transient",
		breaker.Throttled: "throttled",
		breaker.Permanent: "permanent",
		breaker.Canceled:  "canceled",
		5:                 "permanent",
		255:               "permanent",
	} {
		attempt, err := r.Admit(ctx)
		require.NoError(t, err)
		require.Equal(t, want, r.ends(func() { attempt.Record(v, -time.Second) }))
	}
	attempt, err := r.Admit(ctx)
	require.NoError(t, err)
	cancel()
	require.Equal(t, "transient", r.ends(func() { attempt.Record(breaker.Transient, 0) }), "whatever became of the context")
}

// Once the caller has cancelled, the error that tells of it is nobody's failure: after a
// verdict that it carries, before the classifier.
func TestCancelledCaller(t *testing.T) {
	errGone := errors.New("client gone")
	for name, c := range map[string]struct {
		cause  error // of the cancellation
		err    func(context.Context) error
		want   string
		asked  string // what it is with a classifier that says Throttled; "" if that is not asked
		cancel bool
	}{
		"its error":                     {cancel: true, err: context.Context.Err, want: "canceled"},
		"its error, wrapped":            {cancel: true, err: func(ctx context.Context) error { return fmt.Errorf("x: %w", ctx.Err()) }, want: "canceled"},
		"its error, joined":             {cancel: true, err: func(ctx context.Context) error { return errors.Join(errDown, ctx.Err()) }, want: "canceled"},
		"its cause":                     {cancel: true, cause: errGone, err: context.Cause, want: "canceled"},
		"its cause, wrapped":            {cancel: true, cause: errGone, err: func(context.Context) error { return fmt.Errorf("x: %w", errGone) }, want: "canceled"},
		"a cause that wraps":            {cancel: true, cause: fmt.Errorf("x: %w", errGone), err: context.Cause, want: "canceled"},
		"only part of its cause":        {cancel: true, cause: fmt.Errorf("x: %w", errGone), err: func(context.Context) error { return errGone }, want: "transient", asked: "throttled"},
		"a deadline as its cause":       {cancel: true, cause: context.DeadlineExceeded, err: context.Cause, want: "canceled"},
		"its error beside a cause":      {cancel: true, cause: errGone, err: context.Context.Err, want: "canceled", asked: "throttled"},
		"an error of its own":           {cancel: true, err: fails(errDown), want: "transient", asked: "throttled"},
		"an error beside a cause":       {cancel: true, cause: errGone, err: fails(errDown), want: "transient", asked: "throttled"},
		"a deadline of the callee's":    {cancel: true, err: func(context.Context) error { return context.DeadlineExceeded }, want: "transient", asked: "throttled"},
		"no error":                      {cancel: true, err: func(context.Context) error { return nil }, want: "ok"},
		"a verdict carried":             {cancel: true, err: func(ctx context.Context) error { return breaker.WithVerdict(ctx.Err(), breaker.Transient) }, want: "transient"},
		"a verdict carried, of a cause": {cancel: true, cause: statusError(breaker.Permanent), err: context.Cause, want: "permanent"},
		"not cancelled at all":          {err: func(context.Context) error { return context.Canceled }, want: "canceled", asked: "throttled"},
	} {
		t.Run(name, func(t *testing.T) {
			withClassifier := c.asked
			if withClassifier == "" {
				withClassifier = c.want
			}
			for _, judged := range []struct {
				classify func(error) breaker.Verdict
				want     string
			}{
				{nil, c.want},
				{func(error) breaker.Verdict {
					require.NotEmpty(t, c.asked, "Classify asked")
					return breaker.Throttled
				}, withClassifier},
			} {
				r := newRig(t, breaker.Settings{Classify: judged.classify})
				for way, call := range ways {
					ctx, cancel := context.WithCancelCause(bg)
					require.Equal(t, judged.want, r.ends(func() {
						_ = call(r, ctx, func(ctx context.Context) error {
							if c.cancel {
								cancel(c.cause)
							}
							return c.err(ctx)
						})
					}), way)
					cancel(nil)
				}
			}
		})
	}
}

// A context that ends by its deadline is judged by the error itself, also where it has a
// cause.
func TestDeadlineWithACause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		errBudget := errors.New("budget spent")
		r := newRig(t, breaker.Settings{SlowCalls: breaker.SlowCalls{Off: true}, ConsecutiveFailures: 100})
		for way, call := range ways {
			for _, err := range []error{errBudget, context.DeadlineExceeded, errDown} {
				ctx, cancel := context.WithTimeoutCause(bg, time.Second, errBudget)
				require.Equal(t, "transient", r.ends(func() {
					_ = call(r, ctx, func(ctx context.Context) error { <-ctx.Done(); return err })
				}), "%s, %v", way, err)
				cancel()
			}
		}
	})
}

// A deadline of the caller's own that ran out before the dependency usually answers tells
// of the caller's haste alone. Normal is what the breaker has measured by then.
func TestDeadlineShorterThanNormal(t *testing.T) {
	says := func(v breaker.Verdict) breaker.Settings {
		return breaker.Settings{Classify: func(error) breaker.Verdict { return v }}
	}
	deadline := context.DeadlineExceeded
	for name, c := range map[string]struct {
		settings breaker.Settings
		samples  int           // 20 if zero
		idle     time.Duration // since then
		beyond   time.Duration // how much later than normal the deadline is
		err      error
		want     string
	}{
		"just below":               {beyond: -1, err: deadline, want: "canceled"},
		"at normal":                {beyond: 0, err: deadline, want: "transient"},
		"just above":               {beyond: 1, err: deadline, want: "transient"},
		"any error":                {beyond: -1, err: errDown, want: "canceled"},
		"an error late":            {beyond: 1, err: errDown, want: "transient"},
		"no error":                 {beyond: -1, err: nil, want: "ok"},
		"a cancelled callee, late": {beyond: 1, err: context.Canceled, want: "canceled"},

		"a verdict carried is exempt":    {beyond: -1, err: breaker.WithVerdict(deadline, breaker.Transient), want: "transient"},
		"another verdict carried stands": {beyond: -1, err: breaker.WithVerdict(deadline, breaker.Throttled), want: "throttled"},

		"the classifier says transient":       {settings: says(breaker.Transient), beyond: -1, err: deadline, want: "canceled"},
		"the classifier says transient, late": {settings: says(breaker.Transient), beyond: 0, err: deadline, want: "transient"},
		"the classifier says ok":              {settings: says(breaker.OK), beyond: -1, err: deadline, want: "ok"},
		"the classifier says throttled":       {settings: says(breaker.Throttled), beyond: -1, err: deadline, want: "throttled"},
		"the classifier says permanent":       {settings: says(breaker.Permanent), beyond: -1, err: deadline, want: "permanent"},

		"normal is not known yet":  {samples: 19, beyond: -1, err: deadline, want: "transient"},
		"normal is just forgotten": {idle: 5 * time.Minute, beyond: -1, err: deadline, want: "transient"},
		"normal is still known":    {idle: 3 * time.Minute, beyond: -1, err: deadline, want: "canceled"},
		"slow calls are off":       {settings: breaker.Settings{SlowCalls: breaker.SlowCalls{Off: true}}, beyond: -1, err: deadline, want: "transient"},
		"a constant is no normal":  {settings: breaker.Settings{DisableAdaptive: true, SlowCallThreshold: time.Hour}, beyond: -1, err: deadline, want: "transient"},
	} {
		synctest.Test(t, func(t *testing.T) {
			for way, call := range ways {
				r := newBubbleRig(t, c.settings)
				normal := measure(r, cmp.Or(c.samples, 20))
				time.Sleep(c.idle)
				ctx, cancel := context.WithTimeout(bg, normal+c.beyond)
				require.Equal(t, c.want, r.ends(func() {
					_ = call(r, ctx, func(ctx context.Context) error { <-ctx.Done(); return c.err })
				}), "%s, %s", name, way)
				cancel()
				run := 0
				if c.want == "transient" {
					run = 1
				}
				require.Equal(t, run, r.Snapshot().Run, "%s, %s", name, way)
			}
		})
	}
}

// newBubbleRig is newRig on the clock of the synctest bubble that it is called in.
func newBubbleRig(t *testing.T, s breaker.Settings) *rig {
	return &rig{t: t, Breaker: breaker.MustNew(s)}
}

// measure lets the breaker see so many calls of a tenth of a second, and returns the normal
// latency that twenty of them make: the bound of their bucket.
func measure(r *rig, samples int) time.Duration {
	calls(samples, breaker.OK, 100*time.Millisecond)(r)
	const bound = 106_496 * time.Microsecond
	if normal, ok := r.NormalLatency(); ok {
		require.Equal(r.t, bound, normal)
	}
	return bound
}

// What counts is the latency that is recorded, and the context as it is by then.
func TestDeadlineAndALatencyOfTheCallersOwn(t *testing.T) {
	const early, late = time.Millisecond, time.Second
	for name, c := range map[string]struct {
		expires, ends time.Duration
		end           func(a *breaker.Attempt, normal time.Duration)
		want          string
	}{
		"below normal, after a long wait":   {late, late, func(a *breaker.Attempt, normal time.Duration) { a.DoneAfter(errDown, normal-1) }, "canceled"},
		"at normal, after a short wait":     {early, early, func(a *breaker.Attempt, normal time.Duration) { a.DoneAfter(errDown, normal) }, "transient"},
		"negative":                          {late, late, func(a *breaker.Attempt, _ time.Duration) { a.DoneAfter(errDown, -time.Hour) }, "canceled"},
		"recorded":                          {early, early, func(a *breaker.Attempt, _ time.Duration) { a.Record(breaker.Transient, 0) }, "transient"},
		"before the deadline":               {late, late - 1, func(a *breaker.Attempt, _ time.Duration) { a.DoneAfter(context.DeadlineExceeded, 0) }, "transient"},
		"done late, though expired early":   {early, late, func(a *breaker.Attempt, _ time.Duration) { a.Done(errDown) }, "transient"},
		"done early, at the early deadline": {early, early, func(a *breaker.Attempt, _ time.Duration) { a.Done(errDown) }, "canceled"},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := newBubbleRig(t, breaker.Settings{})
			normal := measure(r, 20)
			ctx, cancel := context.WithTimeout(bg, c.expires)
			defer cancel()
			attempt, err := r.Admit(ctx)
			require.NoError(t, err)
			time.Sleep(c.ends)
			synctest.Wait()
			require.Equal(t, c.want, r.ends(func() { c.end(&attempt, normal) }), name)
		})
	}
}

// A connection that was given the deadline of the context has a timer of its own, and its
// error may be there before the context has ended.
func TestDeadlineThatTheContextDoesNotKnowOfYet(t *testing.T) {
	for name, c := range map[string]struct {
		until time.Duration // from now to the deadline
		end   func(context.Context) error
		want  string
	}{
		"passed":                    {-1, func(context.Context) error { return os.ErrDeadlineExceeded }, "canceled"},
		"passed, another failure":   {-1, func(context.Context) error { return errDown }, "canceled"},
		"passed, a carried verdict": {-1, func(context.Context) error { return breaker.WithVerdict(errDown, breaker.Transient) }, "transient"},
		"ahead":                     {time.Hour, func(context.Context) error { return os.ErrDeadlineExceeded }, "transient"},
	} {
		r := newRig(t, breaker.Settings{})
		measure(r, 20)
		ctx := slowTimer{bg, time.Now().Add(c.until)}
		require.Equal(t, c.want, r.ends(func() { _ = r.Do(ctx, c.end) }), name)
	}
}

// slowTimer is a context whose timer has not fired.
type slowTimer struct {
	context.Context
	deadline time.Time
}

func (c slowTimer) Deadline() (time.Time, bool) { return c.deadline, true }

// A cancellation is no deadline: what else went wrong before normal had passed still counts.
func TestCancellationIsNoDeadline(t *testing.T) {
	r := newRig(t, breaker.Settings{})
	measure(r, 20)
	ctx, cancel := context.WithCancel(bg)
	require.Equal(t, "transient", r.ends(func() {
		_ = r.Do(ctx, func(context.Context) error { cancel(); return errDown })
	}))
}

// The other verdicts touch no window, no baseline and no run of failures.
func TestOnlyOKAndTransientAreEvidence(t *testing.T) {
	for _, v := range []breaker.Verdict{breaker.Throttled, breaker.Permanent, breaker.Canceled} {
		r := newRig(t, breaker.Settings{Failures: breaker.Failures{MinimumSamples: 10}})
		all(ok(200), fail(4))(r)
		before := r.Snapshot()
		require.Equal(t, []int{204, 4, 4}, []int{before.Calls, before.Failures, before.Run})
		require.True(t, before.NormalLatencyKnown && before.NormalFailureRateKnown)
		calls(500, v, time.Hour)(r)
		after := r.Snapshot()
		require.Equal(t, before.Totals.Admitted+500, after.Totals.Admitted)
		before.Totals, after.Totals = breaker.Totals{}, breaker.Totals{}
		require.Equal(t, before, after, "%v", v)
		r.run(step{do: fail(1), want: breaker.Open})
	}
}
