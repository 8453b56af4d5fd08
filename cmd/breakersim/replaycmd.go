package main

import (
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"

	"github.com/normal-go/breaker/cmd/breakersim/internal/calls"
	"github.com/normal-go/breaker/cmd/breakersim/internal/chart"
)

func newReplay(s streams) *cobra.Command {
	var (
		o         calls.Options
		bad       string
		delimiter string
		output    string
		settings  []string
		most      int
		asJSON    bool
	)
	c := &cobra.Command{
		Use:   "replay FILE",
		Short: "Run a breaker over calls that really happened, from a log",
		Long: `Replay runs a breaker over calls that really happened. It says when the breaker would
have opened and why, what it would have refused, and how much of that had failed
anyway. With --settings it compares: a column for the defaults, and one for each file,
all in one pass. FILE may be "-", for standard input, and compressed by gzip.

What happened has happened: a replay cannot say what callers would have done instead,
nor how the dependency would have fared with less load. run and compare can.

Formats. The first line tells which, unless --format does:

  csv    with a header; by default the columns start, duration or one with its unit, such
         as duration_ms, and outcome or status
  jsonl  an object on each line; by default the same names, and a.b is b inside a
  nginx  by default its combined format with $request_time at the end, otherwise what
         --log-format says, as it stands in nginx.conf

--start, --end, --duration, --status and --outcome name other columns, keys or
variables.

Times are RFC 3339, nginx's $time_local, or numbers since 1970: seconds with at most
11 digits before the point, milliseconds with 14, microseconds with 17, nanoseconds
above; or what --time-unit says. Durations are as 12.5ms, or numbers in --unit; in
nginx they are seconds, and a field whose name ends in _ms, _us, _ns, _s or _seconds
has that unit. Lines whose time is the same whole second are taken to be even over it,
in their order.

A status counts as breakerhttp counts it: 408 and 5xx are failures, 429 is throttling,
all others are answers. 499, and 0 in a log of Envoy, are callers who went away. An
outcome is a word: ok or success, transient, failed, failure, error or timeout,
throttled, permanent, canceled, true or false.

Order. Logs are written when calls end. Calls are put in the order of their starts as
long as none begins more than --reorder before one that came earlier, with up to
1,048,576 calls held back. One that comes too late for that is a bad line.

Bad lines are counted, and the first five shown. With more than --bad of all lines,
replay fails: at the end, or once there are more than 1,000.`,
		Example: `  breakersim replay calls.csv
  breakersim replay access.log.gz --settings strict.yaml --settings ramp.yaml
  breakersim replay access.log --log-format '$msec $status $upstream_response_time' --duration upstream_response_time
  breakersim replay envoy.jsonl --start start_time --duration duration --unit ms --status response_code
  breakersim replay nginx.jsonl --end time --duration request_time --unit s --status status`,
		Args: files(1, 1, "one log file"),
		RunE: func(c *cobra.Command, args []string) error {
			var err error
			if o.MostBad, err = parseShare(bad); err != nil {
				return misused("replay: %w", err)
			}
			if o.Comma, err = parseDelimiter(delimiter); err != nil {
				return misused("replay: %w", err)
			}
			if err := o.Validate(); err != nil {
				return misused("replay: %w", err)
			}
			if most < 0 {
				return misused("replay: --opens must not be negative, got %d", most)
			}
			if output != "" {
				if _, err := plotFormat(output); err != nil {
					return err
				}
			}
			variants, err := variantsOf(s, settings, output != "")
			if err != nil {
				return err
			}
			counts, err := replayFile(c.Context(), s, args[0], o, variants)
			writeBadLines(s.err, args[0], counts)
			if err != nil {
				return err
			}
			if variants[0].replay == nil {
				return fmt.Errorf("%s: there is no call in it", shown(args[0]))
			}
			r := resultOf(args[0], counts, variants)
			if output != "" {
				var series []*chart.Series
				for _, v := range variants {
					series = append(series, v.drawn(args[0], len(variants) > 1))
				}
				if err := writePlot(output, series...); err != nil {
					return err
				}
			}
			if asJSON {
				return writeJSON(s.out, r)
			}
			r.write(s.out, most)
			return nil
		},
	}
	f := c.Flags()
	f.StringVar(&o.Format, "format", calls.Auto, "`FORMAT` of the log: auto, csv, jsonl or nginx")
	f.StringVar(&o.LogFormat, "log-format", "", "nginx's log_format, such as '$msec $status $request_time'")
	f.StringVar(&delimiter, "delimiter", ",", "`CHARACTER` between the fields of CSV; tab for a tab")
	f.StringVar(&o.Start, "start", "", "`FIELD` with when a call began")
	f.StringVar(&o.End, "end", "", "`FIELD` with when it ended, instead")
	f.StringVar(&o.Duration, "duration", "", "`FIELD` with how long it took")
	f.StringVar(&o.Unit, "unit", "", "`UNIT` of durations that are numbers: s, ms, us or ns")
	f.StringVar(&o.TimeUnit, "time-unit", "", "`UNIT` of times that are numbers: s, ms, us or ns (default by their size)")
	f.StringVar(&o.Status, "status", "", "`FIELD` with a status of HTTP")
	f.StringVar(&o.Outcome, "outcome", "", "`FIELD` with an outcome, instead")
	f.DurationVar(&o.Reorder, "reorder", time.Minute, "how far a call may begin before one that came earlier in the log")
	f.StringVar(&bad, "bad", "1%", "`SHARE` of the lines that may be bad")
	f.StringArrayVar(&settings, "settings", nil, "a column for the settings in this YAML or JSON `FILE`; may be repeated, up to 5 times")
	f.IntVar(&most, "opens", 5, "list so many opens of each column")
	f.StringVarP(&output, "output", "o", "", "draw the timeline of each column into this `FILE`, .png or .svg")
	f.BoolVar(&asJSON, "json", false, "write the whole result as JSON")
	return c
}

// replayFile feeds every call of a log to every variant.
func replayFile(ctx context.Context, s streams, path string, o calls.Options, variants []*variant) (calls.Counts, error) {
	from, size, stop, err := openLog(s, path)
	if err != nil {
		return calls.Counts{}, err
	}
	defer stop()
	p := newProgress(s, nameFrom(path), size, progressbar.OptionShowBytes(true))
	counting := &counter{from: from, progress: p}
	text, err := unzipped(counting)
	if err != nil {
		return calls.Counts{}, inLog(path, err)
	}
	r := calls.NewReader(text, o)
	err = feed(ctx, r, variants)
	p.done()
	if err != nil && !errors.Is(err, context.Canceled) {
		err = inLog(path, err)
	}
	return r.Counts(), err
}

// unzipped returns what a log says, which is compressed if it begins as gzip does.
func unzipped(log io.Reader) (io.Reader, error) {
	ahead := bufio.NewReader(log)
	if magic, _ := ahead.Peek(2); string(magic) != "\x1f\x8b" {
		return ahead, nil // which has the error again, if there was one
	}
	return gzip.NewReader(ahead)
}

// inLog says in which log something is wrong, once.
func inLog(path string, err error) error {
	var p *os.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	return fmt.Errorf("%s: %w", shown(path), err)
}

func feed(ctx context.Context, r *calls.Reader, variants []*variant) error {
	for n := 0; ; n++ {
		if n%4096 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		call, err := r.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		for _, v := range variants {
			if err := v.add(call); err != nil {
				if err := r.Reject(call, err); err != nil {
					return err
				}
				break // the others would say the same
			}
		}
	}
}

// openLog returns what to read, how long it is, or -1, and how to close it.
func openLog(s streams, path string) (io.Reader, int64, func(), error) {
	if path == standardInput {
		return s.in, -1, func() {}, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, nil, fileError(err)
	}
	size := int64(-1)
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
		size = info.Size()
	}
	return f, size, func() { _ = f.Close() }, nil
}

// counter moves the progress bar as a file is read.
type counter struct {
	from     io.Reader
	progress progress
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.from.Read(p)
	c.progress.add(n)
	return n, err
}

func writeBadLines(w io.Writer, path string, c calls.Counts) {
	for _, bad := range c.First {
		fmt.Fprintf(w, "breakersim: %s:%d: %v\n", shown(path), bad.Line, bad.Why)
	}
	if more := c.Bad - int64(len(c.First)); more > 0 {
		fmt.Fprintf(w, "breakersim: %s: and %s bad lines more\n", shown(path), thousands(more))
	}
}

// parseShare reads 1% and 0.01 alike.
func parseShare(text string) (float64, error) {
	number, percent := strings.CutSuffix(strings.TrimSpace(text), "%")
	v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if err != nil {
		return 0, fmt.Errorf("--bad must be a share such as 1%% or 0.01, got %q", text)
	}
	if percent {
		v /= 100
	}
	return v, nil
}

func parseDelimiter(text string) (rune, error) {
	if text == "tab" || text == `\t` {
		return '\t', nil
	}
	if len(text) != 1 {
		return 0, fmt.Errorf("--delimiter must be one ASCII character, or tab, got %q", text)
	}
	return rune(text[0]), nil
}
