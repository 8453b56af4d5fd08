package breaker

import (
	"iter"
	"reflect"
	"slices"
	"sync"
)

// Source is any number of breakers, standing or keyed: what a health check, metrics or a
// board reads. A [*Breaker], a [List], a [*Scope] and a [*Registry] are sources.
//
// An implementation must be safe for concurrent use, hold no lock while it yields, and
// yield no nil.
type Source interface {
	// Breakers yields the breakers as they are when the loop runs. It may be called,
	// and what it returns may be run, any number of times.
	Breakers() iter.Seq[*Breaker]
}

// Breakers yields b alone, which makes a breaker a [Source].
func (b *Breaker) Breakers() iter.Seq[*Breaker] {
	b.mustExist()
	return func(yield func(*Breaker) bool) { yield(b) }
}

// List is a [Source] of the breakers in it, in their order. A nil List has none; a nil
// breaker in a List panics when its turn comes. It is safe for concurrent use while
// nobody changes the slice.
type List []*Breaker

// Breakers yields the breakers in the list.
func (l List) Breakers() iter.Seq[*Breaker] {
	return func(yield func(*Breaker) bool) {
		for _, b := range l {
			b.mustExist()
			if !yield(b) {
				return
			}
		}
	}
}

// Registry is a [Source] that a program fills by hand, with all that it wants to be seen
// of its breakers in one place. The zero Registry is empty and ready for use. It is safe
// for concurrent use, and must not be copied.
//
// Names are the program's business: two breakers of one name are both yielded, and so is
// one breaker twice that belongs to two sources.
type Registry struct {
	mu      sync.Mutex
	sources []Source // replaced, never changed
}

// Add adds sources after those that are there. One that is there already stays where it
// is. Sources are the same if they are equal. Those that Go cannot compare, such as a
// [List], are never the same, and Remove does not find them; a pointer to one can be
// compared, and is a source too.
//
// Add panics for a nil source, a nil pointer included, and for a registry added to
// itself, and then adds none. Nor must a registry come to contain itself through others:
// reading it would not end.
func (r *Registry) Add(sources ...Source) {
	r.mustExist()
	for _, source := range sources {
		r.mustBeSource(source)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	added := slices.Clone(r.sources)
	for _, source := range sources {
		if !slices.ContainsFunc(added, sameAs(source)) {
			added = append(added, source)
		}
	}
	r.sources = added
}

// Remove removes a source. One that is not there, nil among them, is no mistake.
func (r *Registry) Remove(source Source) {
	r.mustExist()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sources = slices.DeleteFunc(slices.Clone(r.sources), sameAs(source))
}

// Breakers yields the breakers of all sources, in the order in which the sources were
// added. The sources are those of when the loop begins, and no lock is held while it
// runs.
func (r *Registry) Breakers() iter.Seq[*Breaker] {
	r.mustExist()
	return func(yield func(*Breaker) bool) {
		for _, source := range r.current() {
			for b := range source.Breakers() {
				if !yield(b) {
					return
				}
			}
		}
	}
}

func (r *Registry) current() []Source {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.sources
}

func (r *Registry) mustExist() {
	if r == nil {
		panic("breaker: nil *Registry")
	}
}

func (r *Registry) mustBeSource(source Source) {
	v := reflect.ValueOf(source)
	if source == nil || v.Kind() == reflect.Pointer && v.IsNil() {
		panic("breaker: nil Source")
	}
	if source == Source(r) {
		panic("breaker: a Registry in itself")
	}
}

// sameAs returns a comparison that does not panic, whatever the dynamic types.
func sameAs(source Source) func(Source) bool {
	comparable := source != nil && reflect.ValueOf(source).Comparable()
	return func(other Source) bool { return comparable && source == other }
}
