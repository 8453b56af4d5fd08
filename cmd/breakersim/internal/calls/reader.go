package calls

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/normal-go/breaker"
)

// Call is a call that happened.
type Call struct {
	Start   int64 // nanoseconds since 1970
	Latency time.Duration
	Line    int64
	Verdict breaker.Verdict
}

// before orders calls by their start, and those of one instant by their line.
func (c *Call) before(d *Call) bool {
	return c.Start < d.Start || c.Start == d.Start && c.Line < d.Line
}

// Bad is a line that could not be used, and why.
type Bad struct {
	Line int64
	Why  error
}

// Counts are what has been read. Empty lines and a header are no lines.
type Counts struct {
	Lines, Bad int64
	First      []Bad // the first few of the bad ones
}

const (
	shownBad   = 5
	toleratedN = 1000 // bad lines, before it is known how many lines there are
	longest    = 1 << 20
)

// TooBadError says that more lines are bad than allowed.
type TooBadError struct {
	Counts  Counts
	MostBad float64
}

// Error returns the counts.
func (e *TooBadError) Error() string {
	return fmt.Sprintf("%d of %d lines are bad, and at most %.4g %% may be (--bad)", e.Counts.Bad, e.Counts.Lines, 100*e.MostBad)
}

// raw is a line cut into the texts that matter.
type raw struct {
	start, end, duration, status, outcome []byte

	byStatus     bool
	durationName string // where it differs from line to line
}

// Reader reads calls in the order in which they began. It is not safe for concurrent use.
type Reader struct {
	options Options
	lines   *bufio.Reader
	spare   []byte
	number  int64
	parse   func([]byte, *raw) error
	text    raw
	clock   clock
	unit    time.Duration

	counts Counts
	second []Call  // whose times are the same whole second
	of     instant // that second
	order  order
	first  int64 // the start of the first call
	began  bool
	ended  bool
}

// NewReader begins to read. The options must be valid.
func NewReader(from io.Reader, o Options) *Reader {
	return &Reader{
		options: o,
		lines:   bufio.NewReaderSize(from, 1<<16),
		clock:   clock{unit: unitOf[o.TimeUnit]},
		unit:    unitOf[o.Unit],
		order:   order{window: o.Reorder, most: mostHeld},
	}
}

// Counts returns what has been read so far.
func (r *Reader) Counts() Counts { return r.counts }

// Reject counts the line of a call as bad that cannot be used after all.
func (r *Reader) Reject(c Call, why error) error { return r.bad(c.Line, why) }

// Next returns the next call, and io.EOF after the last. A [*TooBadError] and the errors
// that no other line could mend end the reading.
func (r *Reader) Next() (Call, error) {
	for {
		if c, ok := r.order.due(); ok {
			return c, nil
		}
		if r.ended {
			if len(r.order.heap) > 0 {
				return r.order.pop(), nil
			}
			return Call{}, r.enough()
		}
		if err := r.readLine(); err != nil {
			return Call{}, err
		}
	}
}

// enough is the end of the file: io.EOF, unless too much of it was bad.
func (r *Reader) enough() error {
	if float64(r.counts.Bad) > r.options.MostBad*float64(r.counts.Lines) {
		return &TooBadError{r.counts, r.options.MostBad}
	}
	return io.EOF
}

func (r *Reader) bad(line int64, why error) error {
	r.counts.Bad++
	if len(r.counts.First) < shownBad {
		r.counts.First = append(r.counts.First, Bad{line, why})
	}
	if r.counts.Bad > toleratedN && float64(r.counts.Bad) > r.options.MostBad*float64(r.counts.Lines) {
		return &TooBadError{r.counts, r.options.MostBad}
	}
	return nil
}

// readLine takes the next line in.
func (r *Reader) readLine() error {
	line, tooLong, err := r.line()
	switch {
	case err == io.EOF:
		r.ended = true
		return r.spread()
	case err != nil:
		return err
	}
	r.number++
	if r.number == 1 {
		line = bytes.TrimPrefix(line, []byte("\xEF\xBB\xBF"))
	}
	line = bytes.TrimRight(line, "\r\n")
	if len(bytes.TrimSpace(line)) == 0 {
		return nil
	}
	if r.parse == nil {
		header, err := r.begin(line)
		if err != nil || header {
			return err
		}
	}
	r.counts.Lines++
	if tooLong {
		return r.bad(r.number, fmt.Errorf("it is longer than %d bytes", longest))
	}
	c, at, err := r.call(line)
	switch {
	case errors.Is(err, errNoUnit):
		return err
	case err != nil:
		return r.bad(r.number, err)
	}
	if len(r.second) > 0 && (at != r.of || len(r.second) == r.order.most) {
		if err := r.spread(); err != nil {
			return err
		}
	}
	if at.whole {
		r.second, r.of = append(r.second, c), at
		return nil
	}
	return r.put(c)
}

// spread lets the calls of a second go. They are taken to be even over it, in their order:
// all at once would be a burst that never was, and by their starts the slow ones of each
// second would come before the fast.
func (r *Reader) spread() error {
	n := len(r.second)
	for i, c := range r.second {
		c.Start += (2*int64(i) + 1) * int64(time.Second) / (2 * int64(n))
		if err := r.put(c); err != nil {
			return err
		}
	}
	r.second = r.second[:0]
	return nil
}

// put lets a call take its place.
func (r *Reader) put(c Call) error {
	if !r.began {
		r.began, r.first = true, c.Start
	}
	if err := r.order.put(c, r.first); err != nil {
		return r.bad(c.Line, err)
	}
	return nil
}

// line returns the next line, or as much of it as is kept.
func (r *Reader) line() (line []byte, tooLong bool, err error) {
	r.spare = r.spare[:0]
	for {
		part, err := r.lines.ReadSlice('\n')
		if err == nil && len(r.spare) == 0 {
			return part, false, nil
		}
		if len(r.spare)+len(part) <= longest {
			r.spare = append(r.spare, part...)
		} else {
			tooLong = true
		}
		switch {
		case err == bufio.ErrBufferFull:
		case err == io.EOF && (len(r.spare) > 0 || tooLong), err == nil:
			return r.spare, tooLong, nil
		default:
			return nil, false, err
		}
	}
}

// begin looks at the first line, and reports whether it is a header.
func (r *Reader) begin(line []byte) (header bool, err error) {
	o := &r.options
	format := o.Format
	if format == "" || format == Auto {
		format = guess(o, line)
	}
	switch format {
	case JSON:
		r.parse = newJSON(o).parse
	case Nginx:
		n, err := newNginx(o)
		if err != nil {
			return false, err
		}
		r.parse = n.parse
	default:
		c, err := newCSV(o, line)
		if err != nil {
			return false, err
		}
		r.parse, header = c.parse, true
	}
	if r.unit = unitOf[o.Unit]; r.unit == 0 {
		r.unit = unitFrom(o.Duration)
	}
	return header, nil
}

// guess tells the format of a first line.
func guess(o *Options, line []byte) string {
	switch {
	case bytes.TrimSpace(line)[0] == '{':
		return JSON
	case o.LogFormat != "", bytes.Contains(line, []byte(` [`)) && bytes.Contains(line, []byte(`] "`)):
		return Nginx
	}
	return CSV
}

// fillIn takes the names that there are for what has none.
func (o *Options) fillIn(has func(string) bool) {
	choose := func(names ...string) string {
		for _, name := range names {
			if has(name) {
				return name
			}
		}
		return names[0]
	}
	if o.Start == "" && o.End == "" {
		o.Start = choose("start", "start_time")
	}
	if o.Duration == "" {
		o.Duration = choose("duration", "duration_seconds", "duration_s", "duration_ms", "duration_us", "duration_ns")
	}
	if o.Status == "" && o.Outcome == "" {
		if has("outcome") || !has("status") {
			o.Outcome = "outcome"
		} else {
			o.Status = "status"
		}
	}
}

// call makes a call of a line.
func (r *Reader) call(line []byte) (c Call, at instant, err error) {
	r.text = raw{}
	text := &r.text
	if err := r.parse(line, text); err != nil {
		return c, at, err
	}
	c.Line = r.number
	unit := r.unit
	if unit == 0 && text.durationName != "" {
		unit = unitFrom(text.durationName)
	}
	if c.Latency, err = duration(text.duration, unit); err != nil {
		return c, at, err
	}
	when := text.start
	if r.options.End != "" {
		when = text.end
	}
	if at, err = r.clock.read(when); err != nil {
		return c, at, err
	}
	c.Start = at.ns
	if r.options.End != "" {
		c.Start -= int64(c.Latency)
	}
	if text.byStatus {
		c.Verdict, err = status(text.status)
	} else {
		c.Verdict, err = outcome(text.outcome)
	}
	return c, at, err
}
