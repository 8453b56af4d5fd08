package linearizability

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
)

const histories = 10_000

func honest(b *breaker.Breaker) subject { return b }

// A breaker under concurrent use does what one used by one caller at a time could do.
func TestLinearizable(t *testing.T) {
	var overlaps, operations, refusals, late int
	causes := map[breaker.Cause]int{}
	for seed := range uint64(histories) {
		h := record(seed, honest)
		require.True(t, porcupine.CheckOperations(checked((*model).step), h.operations), "no order explains the history of %v", h)
		overlaps += h.overlaps()
		operations += len(h.operations)
		for _, op := range h.operations {
			if out := op.Output.(answer); out.refused {
				refusals++
			} else if out.seen.transitions > 0 {
				causes[out.seen.cause]++
				late += int(out.seen.stale)
			}
		}
	}
	t.Logf("%d histories, %d operations, %d of them overlapping, %d refusals; the causes of transitions as snapshots saw them: %v",
		histories, operations, overlaps, refusals, causes)
	require.Greater(t, overlaps, operations/20, "clients got in each other's way")
	require.Positive(t, refusals)
	require.Positive(t, late)
	for _, cause := range []breaker.Cause{
		breaker.CauseConsecutiveFailures, breaker.CauseProbeFailed, breaker.CauseBreakElapsed, breaker.CauseProbeRequested,
		breaker.CauseProbesSucceeded, breaker.CauseIsolated, breaker.CauseReset,
	} {
		require.Positive(t, causes[cause], cause.String())
	}
}

// requireSeen requires that some history cannot be explained.
func requireSeen(t *testing.T, m porcupine.Model, wrap func(*breaker.Breaker) subject) {
	t.Helper()
	for seed := range uint64(histories) {
		if h := record(seed, wrap); !porcupine.CheckOperations(m, h.operations) {
			t.Logf("seen in the history of %v", h)
			return
		}
	}
	require.Fail(t, "every history was explained")
}

// The check can fail: models that are wrong in one rule do not explain the breaker.
func TestWrongModelsAreSeen(t *testing.T) {
	mistakes := map[string]func(*model, input) answer{
		"outcomes of an earlier generation count": func(m *model, in input) answer {
			if in.kind == end {
				m.attempts[in.attempt].generation = m.generation
			}
			return m.step(in)
		},
		"outcomes of a probe that lost its slot count": func(m *model, in input) answer {
			if in.kind == end {
				m.attempts[in.attempt].lost = false
			}
			return m.step(in)
		},
		"a slot never expires": func(m *model, in input) answer {
			for i := range m.taken[:m.probes] {
				m.taken[i].since = m.now
			}
			return m.step(in)
		},
		"a released probe keeps its slot": func(m *model, in input) answer {
			taken, probes := m.taken, m.probes
			out := m.step(in)
			if in.kind == end && in.verdict == released && m.state == breaker.HalfOpen {
				m.taken, m.probes = taken, probes
			}
			return out
		},
		"a success ends no run of failures": func(m *model, in input) answer {
			run := m.run
			out := m.step(in)
			if in.kind == end && in.verdict == breaker.OK && m.state == breaker.Closed {
				m.run = run
			}
			return out
		},
		"a reset keeps the run of failures": func(m *model, in input) answer {
			run := m.run
			out := m.step(in)
			if in.kind == reset {
				m.run = run
			}
			return out
		},
	}
	for name, mistake := range mistakes {
		t.Run(name, func(t *testing.T) { requireSeen(t, checked(mistake), honest) })
	}
}

// staleGate admits by what the admission before it found, as a breaker would whose callers
// see a change of state one call late.
type staleGate struct {
	*breaker.Breaker
	last atomic.Pointer[error]
}

func (s *staleGate) TryAdmit(ctx context.Context) (attempt breaker.Attempt, err error) {
	if refusal := s.last.Swap(nil); refusal != nil {
		err = *refusal
		return
	}
	if attempt, err = s.Breaker.TryAdmit(ctx); err != nil {
		s.last.Store(&err)
	}
	return
}

// idle puts ProbeNow off until someone looks.
type idle struct {
	*breaker.Breaker
	owed atomic.Bool
}

func (i *idle) ProbeNow() { i.owed.Store(true) }

func (i *idle) Snapshot() breaker.Snapshot {
	if i.owed.Swap(false) {
		i.Breaker.ProbeNow()
	}
	return i.Breaker.Snapshot()
}

// And breakers that are wrong are not explained by the model.
func TestWrongBreakersAreSeen(t *testing.T) {
	wrong := map[string]func(*breaker.Breaker) subject{
		"a gate that is one call late": func(b *breaker.Breaker) subject { return &staleGate{Breaker: b} },
		"a ProbeNow that is put off":   func(b *breaker.Breaker) subject { return &idle{Breaker: b} },
	}
	for name, wrap := range wrong {
		t.Run(name, func(t *testing.T) { requireSeen(t, checked((*model).step), wrap) })
	}
}
