package bench

import (
	"context"
	"errors"
)

// work is what a call does, in each shape that a library asks for, so that no adapter has
// to wrap it and pay for the wrapping.
type work struct {
	plain        func() error
	context      func(context.Context) error
	value        func() (int, error)
	contextValue func(context.Context) (int, error)
}

var errDown = errors.New("down")

// succeed does nothing, and fail does nothing but fail.
var (
	succeed = work{
		plain:        func() error { return nil },
		context:      func(context.Context) error { return nil },
		value:        func() (int, error) { return 7, nil },
		contextValue: func(context.Context) (int, error) { return 7, nil },
	}
	fail = work{
		plain:        func() error { return errDown },
		context:      func(context.Context) error { return errDown },
		value:        func() (int, error) { return 0, errDown },
		contextValue: func(context.Context) (int, error) { return 0, errDown },
	}
)

// microsecond computes for about a microsecond, touching no memory. How long that is on
// the machine at hand is the time of the bare call.
var microsecond = work{
	plain:        func() error { return spin() },
	context:      func(context.Context) error { return spin() },
	value:        func() (int, error) { return 7, spin() },
	contextValue: func(context.Context) (int, error) { return 7, spin() },
}

//go:noinline
func spin() error {
	x := uint64(1)
	for range 640 {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	if x == 0 { // never, but the compiler cannot know
		return errDown
	}
	return nil
}

// workOf gives every shape to one function, for where the wrapping does not matter.
func workOf(do func() error) *work {
	return &work{
		plain:        do,
		context:      func(context.Context) error { return do() },
		value:        func() (int, error) { return 0, do() },
		contextValue: func(context.Context) (int, error) { return 0, do() },
	}
}
