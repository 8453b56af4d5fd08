package calls

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Formats of a log. Auto looks at the first line.
const (
	Auto  = "auto"
	CSV   = "csv"
	JSON  = "jsonl"
	Nginx = "nginx"
)

// Formats returns what [Options.Format] can be.
func Formats() []string { return []string{Auto, CSV, JSON, Nginx} }

// Units returns what [Options.Unit] and [Options.TimeUnit] can be.
func Units() []string { return []string{"s", "ms", "us", "ns"} }

var unitOf = map[string]time.Duration{
	"s": time.Second, "ms": time.Millisecond, "us": time.Microsecond, "ns": time.Nanosecond,
}

// Options say where in a line is what. Fields are named as the header of a CSV file, the
// keys of a JSON object (with dots into nested ones) or the variables of an nginx
// log_format name them.
type Options struct {
	// Format is one of [Formats]. Default Auto.
	Format string

	// LogFormat is the log_format of nginx. Default [CombinedWithTime].
	LogFormat string

	// Start is the field with when a call began, End the one with when it ended. Default
	// Start "start" for CSV and JSON, and for nginx, which knows the end, the most exact of
	// its times that the log_format has.
	Start, End string

	// Duration is the field with how long it took. Default "duration" or, if there is none,
	// that with a unit, such as "duration_ms"; for nginx "request_time".
	Duration string

	// Unit is what durations are in that have none of their own, as "12ms" has. Default: by
	// the end of the field's name, such as _ms; for nginx seconds.
	Unit string

	// TimeUnit is what times are in that are numbers, since 1970. Default: by their size.
	TimeUnit string

	// Status is the field with a status of HTTP, Outcome the one with a word. Default the
	// one of "outcome" and "status" that there is.
	Status, Outcome string

	// Comma separates the fields of CSV. Default a comma.
	Comma rune

	// Reorder is how far a call may begin before one that came earlier in the log. Default
	// 0: not at all.
	Reorder time.Duration

	// MostBad is the share of lines that may be bad, in [0, 1]. Default 0.
	MostBad float64
}

// Validate returns what is wrong with the options, or nil. It speaks of them by the flags
// of the command.
func (o Options) Validate() error {
	switch {
	case o.Format != "" && !slices.Contains(Formats(), o.Format):
		return fmt.Errorf("--format must be one of %s, got %q", strings.Join(Formats(), ", "), o.Format)
	case o.Start != "" && o.End != "":
		return fmt.Errorf("--start and --end must not be set both, got %q and %q", o.Start, o.End)
	case o.Status != "" && o.Outcome != "":
		return fmt.Errorf("--status and --outcome must not be set both, got %q and %q", o.Status, o.Outcome)
	case o.Unit != "" && unitOf[o.Unit] == 0:
		return fmt.Errorf("--unit must be one of %s, got %q", strings.Join(Units(), ", "), o.Unit)
	case o.TimeUnit != "" && unitOf[o.TimeUnit] == 0:
		return fmt.Errorf("--time-unit must be one of %s, got %q", strings.Join(Units(), ", "), o.TimeUnit)
	case o.Comma == '"' || o.Comma == '\n' || o.Comma == '\r' || o.Comma > 0x7F:
		return fmt.Errorf("--delimiter must be an ASCII character other than a quote, got %q", o.Comma)
	case o.Reorder < 0:
		return fmt.Errorf("--reorder must not be negative, got %v", o.Reorder)
	case !(o.MostBad >= 0 && o.MostBad <= 1):
		return fmt.Errorf("--bad must be from 0 %% to 100 %%, got %v %%", 100*o.MostBad)
	}
	return nil
}

// unitFrom returns the unit that a field's name ends in, or 0.
func unitFrom(name string) time.Duration {
	for _, ending := range []struct {
		text string
		unit time.Duration
	}{
		{"_seconds", time.Second}, {"_s", time.Second}, {"_sec", time.Second}, {"_secs", time.Second},
		{"_milliseconds", time.Millisecond}, {"_millis", time.Millisecond}, {"_ms", time.Millisecond},
		{"_microseconds", time.Microsecond}, {"_micros", time.Microsecond}, {"_us", time.Microsecond},
		{"_nanoseconds", time.Nanosecond}, {"_nanos", time.Nanosecond}, {"_ns", time.Nanosecond},
	} {
		if strings.HasSuffix(strings.ToLower(name), ending.text) {
			return ending.unit
		}
	}
	return 0
}
