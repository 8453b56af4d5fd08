package breaker

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// An open breaker refuses without the lock up to a second behind its newest reading, which
// an outcome from before the open can be. With the system clock that takes a goroutine that
// was kept from running, so it is the gate that tells.
func TestGateGoesByTheNewestReadingOfTheSystemClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := MustNew(Settings{ConsecutiveFailures: 1})
		early, err := b.TryAdmit(context.Background())
		require.NoError(t, err)
		trips, err := b.TryAdmit(context.Background())
		require.NoError(t, err)
		trips.Record(Transient, 0)
		require.Equal(t, -time.Second, b.gate.Load().from)

		time.Sleep(5 * time.Second)
		early.Record(OK, 0)
		require.Equal(t, 4*time.Second, b.gate.Load().from)
		require.Equal(t, b.breakEnd, b.gate.Load().until)
	})
}
