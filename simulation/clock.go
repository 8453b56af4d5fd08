package simulation

import "time"

// clock is the one that the breakers of a run read. Only the run moves it, and the run is
// one goroutine.
type clock struct {
	epoch time.Time
	now   time.Time
}

// epoch is when a scenario begins. Any time would do.
var epoch = time.Date(2000, time.January, 1, 0, 0, 0, 0, time.UTC)

func newClock(epoch time.Time) *clock { return &clock{epoch, epoch} }

func (c *clock) moveTo(at time.Duration) { c.now = c.epoch.Add(at) }

// Now returns the time that the run has come to.
func (c *clock) Now() time.Time { return c.now }

// After returns a channel that is ready. The run itself never waits: it asks with TryAdmit.
// Only a listener of the settings' that calls Do can get here, and nobody would move the
// clock for it.
func (c *clock) After(d time.Duration) <-chan time.Time {
	ready := make(chan time.Time, 1)
	ready <- c.now.Add(d)
	return ready
}
