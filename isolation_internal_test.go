package breaker

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

// A call can read that the breaker is half-open, and get the lock when it has been isolated
// since.
func TestIsolatedBetweenTheGateAndTheLock(t *testing.T) {
	ctx := context.Background()
	b := MustNew(Settings{ConsecutiveFailures: 1})
	attempt, err := b.TryAdmit(ctx)
	require.NoError(t, err)
	attempt.Record(Transient, 0)
	b.ProbeNow()
	b.Isolate()

	err = b.admitUnderLock(ctx, b.read(), &attempt)
	var refusal *RejectedError
	require.ErrorAs(t, err, &refusal)
	require.Equal(t, Isolated, refusal.State)
	require.Equal(t, uint64(1), b.Snapshot().Totals.Refused)
}
