package breakergrpc_test

import (
	"context"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/normal-go/breaker"
	"github.com/normal-go/breaker/breakergrpc"
)

// A caller that leaves a stream unread and cancels its context gives a probe slot back.
func TestAbandonedStreamGivesItsSlotBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := breaker.MustNew(breaker.Settings{})
		openUp(t, b)
		b.ProbeNow()
		ctx, cancel := context.WithCancel(bg)
		inner := &fake{receive: func() error { return nil }}
		stream := open(t, one(b), ctx, duplexes, inner)
		require.NoError(t, stream.RecvMsg(nil))
		require.Equal(t, 1, b.Snapshot().ProbesInFlight)
		_, err := b.TryAdmit(bg)
		require.ErrorIs(t, err, breaker.ErrRejected)

		cancel()
		synctest.Wait()
		require.Equal(t, 0, b.Snapshot().ProbesInFlight)
		require.EqualValues(t, 1, b.Snapshot().Totals.Canceled)
		probe, err := b.TryAdmit(bg)
		require.NoError(t, err)
		probe.Release()
		require.NoError(t, stream.RecvMsg(nil), "the stream itself is not touched")
		require.EqualValues(t, 1, b.Snapshot().Totals.Canceled)
	})
}

// A deadline ends an unread stream as it would end a read one.
func TestAbandonedStreamAndItsDeadline(t *testing.T) {
	for _, test := range []struct {
		deadline time.Duration
		want     outcomes
	}{{time.Second, outcomes{ok: 20, canceled: 1}}, {3 * time.Second, outcomes{ok: 20, transient: 1}}} {
		synctest.Test(t, func(t *testing.T) {
			b := breaker.MustNew(breaker.Settings{})
			learn(t, b, 2*time.Second)
			ctx, cancel := context.WithTimeout(bg, test.deadline)
			defer cancel()
			open(t, one(b), ctx, duplexes, &fake{})
			time.Sleep(test.deadline)
			synctest.Wait()
			require.Equal(t, test.want, outcomesOf(b))
		})
	}
}

// Who is first has the attempt, also while the classifier still thinks about it.
func TestFirstEndDecides(t *testing.T) {
	for name, test := range map[string]struct {
		receives error
		expires  bool // before the stream ends, and not after it
	}{
		"the deadline, before the end":   {io.EOF, true},
		"a failure, before the deadline": {status.Error(codes.Unavailable, "text"), false},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := breaker.MustNew(breaker.Settings{})
			decide := make(chan struct{})
			breakers := breakergrpc.NewClient(&breakergrpc.ClientOptions{Breaker: b, Classify: func(error) breaker.Verdict {
				<-decide
				return breaker.Throttled
			}})
			ctx := newExpiring()
			stream := open(t, breakers, ctx, duplexes, &fake{receive: func() error { return test.receives }})
			if test.expires {
				ctx.expire()
				synctest.Wait()
				require.Equal(t, test.receives, stream.RecvMsg(nil), name)
			} else {
				go func() { _ = stream.RecvMsg(nil) }()
				synctest.Wait()
				ctx.expire()
				synctest.Wait()
			}
			require.Equal(t, outcomes{}, outcomesOf(b), name)
			close(decide)
			synctest.Wait()
			require.Equal(t, oneOf(breaker.Throttled), outcomesOf(b), name)
		})
	}
}

// A context that ends after its stream did is none of the breaker's business.
func TestContextThatEndsLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := breaker.MustNew(breaker.Settings{})
		ctx, cancel := context.WithCancel(bg)
		stream := open(t, one(b), ctx, duplexes, &fake{receive: func() error { return io.EOF }})
		require.Equal(t, io.EOF, stream.RecvMsg(nil))
		cancel()
		synctest.Wait()
		require.Equal(t, oneOf(breaker.OK), outcomesOf(b))
	})
}

// watched counts who waits for its end.
type watched struct {
	context.Context
	done    chan struct{}
	watches int
}

func (w *watched) Done() <-chan struct{} { return w.done }

func (w *watched) AfterFunc(func()) (stop func() bool) {
	w.watches++
	return func() bool { w.watches--; return true }
}

func TestEndedStreamLetsGoOfItsContext(t *testing.T) {
	held := &watched{Context: bg, done: make(chan struct{})}
	breakers := one(newBreaker(t))
	for _, end := range []error{io.EOF, errBroken} {
		stream := open(t, breakers, held, duplexes, &fake{receive: func() error { return end }})
		require.Equal(t, 1, held.watches)
		require.Equal(t, end, stream.RecvMsg(nil))
		require.Zero(t, held.watches)
	}
}

// A panic that leaves a stream, of a codec for instance, gives a probe slot back.
func TestPanicsInAStream(t *testing.T) {
	inner := &fake{
		receive: func() error { panic("codec") },
		send:    func() error { panic("codec") },
		header:  func() (metadata.MD, error) { panic("codec") },
	}
	for name, use := range map[string]func(grpc.ClientStream){
		"receive": func(s grpc.ClientStream) { _ = s.RecvMsg(nil) },
		"send":    func(s grpc.ClientStream) { _ = s.SendMsg(nil) },
		"header":  func(s grpc.ClientStream) { _, _ = s.Header() },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBreaker(t)
			openUp(t, b)
			b.ProbeNow()
			stream := open(t, one(b), bg, duplexes, inner)
			require.PanicsWithValue(t, "codec", func() { use(stream) })
			require.Equal(t, outcomes{transient: 5, permanent: 1}, outcomesOf(b))
			require.Zero(t, b.Snapshot().ProbesInFlight)
		})
	}
}

// What the caller took before its first message is not the dependency's time, also where
// a stream fails.
func TestDeadlineOfACallerWhoBeginsLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := breaker.MustNew(breaker.Settings{})
		learn(t, b, 2*time.Second)
		ctx, cancel := context.WithTimeout(bg, 10*time.Second)
		defer cancel()
		stream := open(t, one(b), ctx, duplexes, &fake{send: func() error { return nil }})
		time.Sleep(9 * time.Second)
		require.NoError(t, stream.SendMsg(nil))
		time.Sleep(time.Second)
		synctest.Wait()
		require.Equal(t, outcomes{ok: 20, canceled: 1}, outcomesOf(b))
	})
}
