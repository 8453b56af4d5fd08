package main

import (
	"time"

	"github.com/schollz/progressbar/v3"
)

// progress is a bar on standard error, if that is a terminal, and nothing otherwise.
type progress struct{ bar *progressbar.ProgressBar }

// newProgress begins a bar of so many steps; -1 if nobody knows how many.
func newProgress(s streams, what string, steps int64, more ...progressbar.Option) progress {
	if !s.terminal() {
		return progress{}
	}
	options := append([]progressbar.Option{
		progressbar.OptionSetWriter(s.err),
		progressbar.OptionSetDescription(what),
		progressbar.OptionThrottle(100 * time.Millisecond),
		progressbar.OptionClearOnFinish(),
		progressbar.OptionSetPredictTime(true),
		progressbar.OptionFullWidth(),
	}, more...)
	return progress{progressbar.NewOptions64(steps, options...)}
}

func (p progress) add(steps int) {
	if p.bar != nil {
		_ = p.bar.Add(steps)
	}
}

func (p progress) done() {
	if p.bar != nil {
		_ = p.bar.Finish()
	}
}
