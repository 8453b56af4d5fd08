package breaker

import (
	"cmp"
	"container/list"
	"context"
	"hash/maphash"
	"iter"
	"math/bits"
	"sync"
	"sync/atomic"
	"time"
)

// Scope keeps one breaker for each key: for each tenant, shard, host or whatever else
// fails on its own, so that one that is in trouble does not shut the door on the
// others. A breaker is built when its key is first asked for.
//
// A scope is bounded. Past its maximum each new key makes one breaker go, and with it
// what it knew; a key that comes back gets a new one. Clean breakers go first: those
// that are closed, with no failure in their trip window and none since the last success.
// Among these it is the one that was not asked for the longest, as far as second chance
// can tell. One that is found not clean is held until a later look finds it clean. Held
// ones go when no other is left, the closed ones before the rest. So a flood of new keys
// cannot make a breaker forget that it is open, isolated or one failure from tripping.
// Slow calls alone do not hold a breaker.
//
// Ask for the breaker at each call rather than keeping it: whoever holds on to one that
// has gone works on with it, beside those who got a new one.
//
// Build a Scope with [NewScope]; a nil and a zero one panic saying so. All methods are
// safe for concurrent use, and no function of the user's, those of [Settings] included,
// runs under a lock of the scope's. A known key is found without a lock. A new key costs
// a constant amount of work on average, however many there are, though a single one may
// look at every breaker. A Scope must not be copied. It is a [Source]. See
// docs/design.md, "Scopes".
//
// A key of an interface type whose dynamic type cannot be hashed, such as a slice,
// panics as it would in a map, in every method that takes a key, and before anything is
// touched. A key that is not equal to itself, such as a NaN or a struct with one in it,
// could never be found again and is never stored: each time it gets a new breaker.
type Scope[K comparable] struct {
	maximum  int
	settings func(K) Settings
	seed     maphash.Seed

	// buckets are a hash table of fixed size. Who looks for a key takes no lock; who
	// changes a chain holds mu.
	buckets []atomic.Pointer[entry[K]]

	// mu is for new keys, Delete and Len alone. That of a breaker is taken inside it.
	mu     sync.Mutex
	queues [scopeQueues]queue
	length int
}

const (
	defaultMaximumKeys = 1024

	// A bucket for each key, up to a megabyte of them. With far more keys the breakers
	// take gigabytes, and chains of ten are the least of it.
	mostBuckets = 1 << 17

	// What a new key may cost: so many entries are let off for having been used, and so
	// many of each queue of held ones looked at again.
	secondChances  = 32
	heldLooksAMiss = 2
)

// The queues, in the order in which their entries go. Held are those that were found not
// clean.
const (
	presumedClean = iota
	heldClosed
	heldOther
	scopeQueues = iota
)

// entry is a key with its breaker.
type entry[K comparable] struct {
	key     K
	breaker *Breaker
	used    atomic.Bool // since it was last let off

	// next in the chain of its bucket. An entry that has gone keeps it, so that whoever
	// is at it finds the rest of the chain.
	next atomic.Pointer[entry[K]]

	// Under Scope.mu.
	queue   int
	element *list.Element
}

// queue has entries in the order in which they came, and a hand that goes round.
type queue struct {
	list.List
	hand *list.Element // nil: at the front
}

// NewScope returns an empty scope of at most maximumKeys breakers; 0 stands for 1,024. A
// scope takes 8 to 16 bytes for each from the start, up to a megabyte, and the breakers
// come as they are asked for. The breaker of a key is built from settings(key), when it is first asked for and again
// after it has gone. A settings function that names the breaker after its key, as in
// "orders/"+key, tells them apart in errors, logs and metrics.
//
// The error is a [*SettingsError] for a negative maximumKeys and for a nil function.
// NewScope calls settings for no key, so settings that cannot work are for Get, Do and
// For to refuse, each time they are asked.
//
// The function must be safe for concurrent use, and may be called for the same key by
// several callers at once, of which one gives the breaker that all of them get. What it
// would return later has no effect on a breaker that exists: Delete it to have it built
// anew. If the function panics, that goes up in the caller and leaves the scope as it
// was. It may use the scope, but not for the same key. The breakers of one scope should
// have the same [Settings.Clock]: a new one's reading judges the others.
func NewScope[K comparable](maximumKeys int, settings func(K) Settings) (*Scope[K], error) {
	var p problems
	p.count("maximumKeys", maximumKeys)
	if settings == nil {
		p.add("settings must not be nil")
	}
	if err := p.err(); err != nil {
		return nil, err
	}
	maximum := cmp.Or(maximumKeys, defaultMaximumKeys)
	return &Scope[K]{
		maximum:  maximum,
		settings: settings,
		seed:     maphash.MakeSeed(),
		buckets:  make([]atomic.Pointer[entry[K]], 1<<bits.Len(uint(min(maximum, mostBuckets)-1))),
	}, nil
}

// For returns the breaker of key, and builds it if there is none. It panics with the
// [*SettingsError] if the key's settings cannot work; where they come from outside the
// program, use [Scope.Get]. It allocates nothing for a known key.
func (s *Scope[K]) For(key K) *Breaker {
	b, err := s.Get(key)
	if err != nil {
		panic(err)
	}
	return b
}

// Get is [Scope.For] with an error in place of the panic: a [*SettingsError] if the
// key's settings cannot work, and then there is no breaker.
func (s *Scope[K]) Get(key K) (*Breaker, error) {
	bucket := s.bucketOf(key)
	if e := find(bucket, key); e != nil {
		if !e.used.Load() { // seldom written, so that it is cheap to read
			e.used.Store(true)
		}
		return e.breaker, nil
	}
	b, err := New(s.settings(key))
	if err != nil || key != key { // NaN
		return b, err
	}
	return s.keep(bucket, key, b), nil
}

// Do is [Breaker.Do] with the breaker of key. Its error may also be a [*SettingsError],
// if the key's settings cannot work; fn has not run then. A ctx that is done already
// builds no breaker.
func (s *Scope[K]) Do(ctx context.Context, key K, fn func(context.Context) error) error {
	if fn == nil {
		panic("breaker: Do with a nil function")
	}
	if ctx == nil {
		panic("breaker: nil context")
	}
	s.bucketOf(key) // panics as it should, whatever ctx says
	if err := ctx.Err(); err != nil {
		return err
	}
	b, err := s.Get(key)
	if err != nil {
		return err
	}
	return b.Do(ctx, fn)
}

// Len returns the number of breakers, which is never above the maximum.
func (s *Scope[K]) Len() int {
	s.mustExist()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.length
}

// All yields every key with its breaker, in no particular order. No lock is held
// meanwhile: the loop may use the scope, and take its time. What is there all along is
// yielded once; what comes or goes during the loop may or may not be. To be yielded is
// not to be used: it saves no breaker from going.
func (s *Scope[K]) All() iter.Seq2[K, *Breaker] {
	s.mustExist()
	return func(yield func(K, *Breaker) bool) {
		for i := range s.buckets {
			for e := s.buckets[i].Load(); e != nil; e = e.next.Load() {
				if !yield(e.key, e.breaker) {
					return
				}
			}
		}
	}
}

// Breakers yields what [Scope.All] yields, without the keys.
func (s *Scope[K]) Breakers() iter.Seq[*Breaker] {
	all := s.All()
	return func(yield func(*Breaker) bool) {
		for _, b := range all {
			if !yield(b) {
				return
			}
		}
	}
}

// Delete lets the breaker of key go, whatever its state; without one it does nothing.
// Calls under way on it end as usual. The next call of For builds a new one.
func (s *Scope[K]) Delete(key K) {
	bucket := s.bucketOf(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := find(bucket, key); e != nil {
		s.dropLocked(e)
	}
}

func (s *Scope[K]) mustExist() {
	if s == nil || s.settings == nil {
		panic("breaker: nil or zero Scope; build one with NewScope")
	}
}

// bucketOf panics for a key that cannot be hashed, so it comes before all else.
func (s *Scope[K]) bucketOf(key K) *atomic.Pointer[entry[K]] {
	s.mustExist()
	return &s.buckets[maphash.Comparable(s.seed, key)&uint64(len(s.buckets)-1)]
}

func find[K comparable](bucket *atomic.Pointer[entry[K]], key K) *entry[K] {
	e := bucket.Load()
	for e != nil && e.key != key {
		e = e.next.Load()
	}
	return e
}

// keep stores a breaker, and makes room for it first, so that it cannot be the one that
// goes. It returns the breaker that the key has: another caller may have been faster.
func (s *Scope[K]) keep(bucket *atomic.Pointer[entry[K]], key K, b *Breaker) *Breaker {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := find(bucket, key); e != nil {
		return e.breaker
	}
	now := b.born // read a moment ago, and outside the lock
	s.lookAgainLocked(now)
	if s.length == s.maximum {
		s.makeRoomLocked(now)
	}
	e := &entry[K]{key: key, breaker: b, queue: presumedClean}
	e.element = s.queues[presumedClean].PushBack(e)
	s.length++
	e.next.Store(bucket.Load())
	bucket.Store(e)
	return b
}

// lookAgainLocked looks at a few of the held entries, for they may have come clean. The
// hand goes round the queue, rather than the queue by the hand, which keeps it in order
// of age.
func (s *Scope[K]) lookAgainLocked(now time.Time) {
	for q := heldClosed; q <= heldOther; q++ {
		queue := &s.queues[q]
		for range min(heldLooksAMiss, queue.Len()) {
			element := cmp.Or(queue.hand, queue.Front())
			queue.hand = element.Next()
			e := element.Value.(*entry[K])
			if place := e.place(now); place != q {
				s.moveLocked(e, place)
			}
		}
	}
}

// makeRoomLocked lets one entry go. It looks at each at most once besides those that it
// lets off, and each that it passes over moves to a later queue. Only a look at a held
// entry brings one back, so over many new keys this comes to a few looks for each.
func (s *Scope[K]) makeRoomLocked(now time.Time) {
	chances := secondChances
	for q := range s.queues {
		queue := &s.queues[q]
		for queue.Len() > 0 {
			e := queue.Front().Value.(*entry[K])
			if chances > 0 && e.used.Load() {
				chances--
				e.used.Store(false)
				s.moveLocked(e, q)
				continue
			}
			if place := e.place(now); place > q {
				s.moveLocked(e, place)
				continue
			}
			s.dropLocked(e)
			return
		}
	}
}

// place returns the queue in which an entry belongs.
func (e *entry[K]) place(now time.Time) int {
	clean, closed := e.breaker.standing(now)
	switch {
	case clean:
		return presumedClean
	case closed:
		return heldClosed
	}
	return heldOther
}

// moveLocked puts an entry at the back of a queue, which may be its own.
func (s *Scope[K]) moveLocked(e *entry[K], to int) {
	s.queues[e.queue].remove(e.element)
	e.queue, e.element = to, s.queues[to].PushBack(e)
}

func (s *Scope[K]) dropLocked(e *entry[K]) {
	s.queues[e.queue].remove(e.element)
	s.length--
	link := s.bucketOf(e.key)
	for link.Load() != e {
		link = &link.Load().next
	}
	link.Store(e.next.Load())
}

func (q *queue) remove(element *list.Element) {
	if q.hand == element {
		q.hand = element.Next()
	}
	q.Remove(element)
}
