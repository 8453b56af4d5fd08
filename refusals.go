package breaker

import (
	"sync"
	"sync/atomic"
)

// refusals counts the calls that were refused, without the lock. It is one counter until
// two calls meet there. From then on each processor adds to a counter that it mostly has
// for itself: a storm of refusals would otherwise wait for one cache line. A counter that
// is picked at random is no better, for then its line is mostly on another processor.
type refusals struct {
	_      [64]byte // a cache line apart from what else a refusal reads
	shared atomic.Uint64
	spread atomic.Pointer[spread] // nil until calls have met
	_      [48]byte
}

func (r *refusals) add() {
	n := r.shared.Load()
	if r.spread.Load() == nil && r.shared.CompareAndSwap(n, n+1) {
		return
	}
	r.apart().add()
}

// apart returns the counters that refusals go to once they have met.
func (r *refusals) apart() *spread {
	s := r.spread.Load()
	if s == nil {
		r.spread.CompareAndSwap(nil, new(spread))
		s = r.spread.Load()
	}
	return s
}

func (r *refusals) total() uint64 {
	n := r.shared.Load()
	if s := r.spread.Load(); s != nil {
		for i := range s.parts {
			n += s.parts[i].n.Load()
		}
	}
	return n
}

type spread struct {
	parts [16]part
	next  atomic.Uint32
	pool  sync.Pool // of *part: it gives a processor the one that it put there last
}

// part fills a cache line.
type part struct {
	n atomic.Uint64
	_ [56]byte
}

func (s *spread) add() {
	p, ok := s.pool.Get().(*part)
	if !ok {
		p = &s.parts[s.next.Add(1)%uint32(len(s.parts))]
	}
	p.n.Add(1)
	s.pool.Put(p)
}
