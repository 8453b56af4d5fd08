package calls

import (
	"bytes"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/normal-go/breaker"
	"github.com/normal-go/breaker/breakerhttp"
)

// clock reads times. Lines that follow each other often have the same.
type clock struct {
	unit time.Duration // of numbers; 0: by their size
	last []byte
	instant
}

// instant is a time as a log has it.
type instant struct {
	ns    int64 // since 1970
	whole bool  // seconds: it may lie anywhere in this one
}

func (c *clock) read(text []byte) (instant, error) {
	if len(c.last) > 0 && bytes.Equal(text, c.last) {
		return c.instant, nil
	}
	ns, err := c.parse(text)
	if err != nil {
		return instant{}, err
	}
	finer := c.unit != 0 && c.unit != time.Second || isNumber(text) && unitBySize(text) != time.Second
	whole := bytes.IndexByte(text, '.') < 0 && (!isNumber(text) || !finer)
	c.last, c.instant = append(c.last[:0], text...), instant{ns, whole}
	return c.instant, nil
}

// timeLocal is what nginx's $time_local looks like.
const timeLocal = "02/Jan/2006:15:04:05 -0700"

func (c *clock) parse(text []byte) (int64, error) {
	if len(text) == 0 {
		return 0, fmt.Errorf("there is no time")
	}
	if isNumber(text) {
		unit := c.unit
		if unit == 0 {
			unit = unitBySize(text)
		}
		d, err := decimal(text, unit)
		if err == nil && (int64(d) > furthest || int64(d) < -furthest) {
			err = tooFar(text)
		}
		return int64(d), err
	}
	layout := time.RFC3339
	if len(text) > 2 && text[2] == '/' {
		layout = timeLocal
	}
	t, err := time.Parse(layout, string(text))
	if err != nil {
		return 0, fmt.Errorf("a time must be RFC 3339, a number, or nginx's $time_local, got %s", quoted(text))
	}
	if t.Year() < 1825 || t.Year() > 2114 {
		return 0, tooFar(text)
	}
	return t.UnixNano(), nil
}

// furthest is how far from 1970 a time may be, so that no difference of two overflows.
const furthest = 1<<62 - 4*int64(longestLog)

func tooFar(text []byte) error {
	return fmt.Errorf("a time must lie between the years 1825 and 2114, got %s", quoted(text))
}

// unitBySize tells seconds since 1970 from milliseconds and so on: each holds for the years
// from 1973 to 5138, as far as they go.
func unitBySize(text []byte) time.Duration {
	whole, _, _ := bytes.Cut(bytes.TrimPrefix(text, []byte("-")), []byte("."))
	switch n := len(whole); {
	case n <= 11:
		return time.Second
	case n <= 14:
		return time.Millisecond
	case n <= 17:
		return time.Microsecond
	}
	return time.Nanosecond
}

func isNumber(text []byte) bool {
	digits := bytes.TrimPrefix(text, []byte("-"))
	dot, any := false, false
	for _, c := range digits {
		switch {
		case c == '.' && !dot:
			dot = true
		case c >= '0' && c <= '9':
			any = true
		default:
			return false
		}
	}
	return any
}

// decimal reads a number exactly: a float would lose nanoseconds.
func decimal(text []byte, unit time.Duration) (time.Duration, error) {
	digits, negative := bytes.CutPrefix(text, []byte("-"))
	whole, fraction, _ := bytes.Cut(digits, []byte("."))
	var d int64
	for _, c := range whole {
		if d > (math.MaxInt64-9)/10 {
			return 0, tooLarge(text)
		}
		d = 10*d + int64(c-'0')
	}
	if d > math.MaxInt64/int64(unit) {
		return 0, tooLarge(text)
	}
	d *= int64(unit)
	for part := int64(unit) / 10; part > 0 && len(fraction) > 0; part /= 10 {
		more := int64(fraction[0]-'0') * part
		if d > math.MaxInt64-more {
			return 0, tooLarge(text)
		}
		d += more
		fraction = fraction[1:]
	}
	if negative {
		d = -d
	}
	return time.Duration(d), nil
}

func tooLarge(text []byte) error { return fmt.Errorf("a number is too large, got %s", quoted(text)) }

// duration reads how long a call took.
func duration(text []byte, unit time.Duration) (time.Duration, error) {
	d, err := durationOrList(text, unit)
	if err == nil && (d < 0 || d > longestLog) {
		err = fmt.Errorf("a duration must not be negative, and at most %v, got %s", longestLog, quoted(text))
	}
	return d, err
}

// durationOrList sums a list up, which nginx writes where it asked several servers.
func durationOrList(text []byte, unit time.Duration) (time.Duration, error) {
	if len(text) == 0 {
		return 0, fmt.Errorf("there is no duration")
	}
	if isNumber(text) {
		if unit == 0 {
			return 0, errNoUnit
		}
		return decimal(text, unit)
	}
	if bytes.ContainsAny(text, ",:") {
		var sum time.Duration
		for _, part := range parts(text) {
			d, err := durationOrList(part, unit)
			if err != nil {
				return 0, err
			}
			sum += min(max(d, 0), longestLog+1-sum)
		}
		return sum, nil
	}
	if f, err := strconv.ParseFloat(string(text), 64); err == nil && bytes.ContainsAny(text, "eE") { // 5e-05, as some languages write
		if unit == 0 {
			return 0, errNoUnit
		}
		ns := math.Round(f * float64(unit))
		return time.Duration(max(-1, min(ns, float64(longestLog)+1e9))), nil
	}
	d, err := time.ParseDuration(string(text))
	if err != nil {
		return 0, fmt.Errorf("a duration must be a number, or as 12.5ms, got %s", quoted(text))
	}
	return d, nil
}

// parts returns the values of a list as nginx writes it, "0.1, 0.2 : 0.3", with a dash for
// a server that was not reached.
func parts(text []byte) (values [][]byte) {
	for _, value := range bytes.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ':' }) {
		if value = bytes.TrimSpace(value); len(value) > 0 && string(value) != "-" {
			values = append(values, value)
		}
	}
	if len(values) == 0 {
		return [][]byte{[]byte("-")}
	}
	return values
}

// errNoUnit ends the reading: every line would be bad.
var errNoUnit = fmt.Errorf("durations have no unit: name it with --unit s, ms, us or ns")

// outcomes are the words for how a call ended.
var outcomes = map[string]breaker.Verdict{
	"ok": breaker.OK, "success": breaker.OK, "true": breaker.OK,
	"transient": breaker.Transient, "failed": breaker.Transient, "failure": breaker.Transient,
	"error": breaker.Transient, "timeout": breaker.Transient, "false": breaker.Transient,
	"throttled": breaker.Throttled,
	"permanent": breaker.Permanent,
	"canceled":  breaker.Canceled, "cancelled": breaker.Canceled,
}

func outcome(text []byte) (breaker.Verdict, error) {
	if v, ok := outcomes[strings.ToLower(string(text))]; ok {
		return v, nil
	}
	return 0, fmt.Errorf("an outcome must be one of ok, transient, throttled, permanent, canceled, "+
		"success, failed, failure, error, timeout, true and false, got %s", quoted(text))
}

// statusVerdicts are the verdicts by status: what [breakerhttp.Classify] says, which is not
// told of headers here. Of the two that are no answer, 499 is what nginx writes of a client
// that went away, and 0 what Envoy does.
var statusVerdicts = func() (verdicts [600]breaker.Verdict) {
	for status := 100; status < len(verdicts); status++ {
		verdicts[status] = breakerhttp.Classify(&http.Response{StatusCode: status}, nil)
	}
	verdicts[0], verdicts[499] = breaker.Canceled, breaker.Canceled
	return verdicts
}()

func status(text []byte) (breaker.Verdict, error) {
	if bytes.ContainsAny(text, ",:") { // the servers that nginx asked: the last one counts
		list := parts(text)
		text = list[len(list)-1]
	}
	n, err := strconv.Atoi(string(text))
	if err != nil || n != 0 && n < 100 || n >= len(statusVerdicts) || n < 0 {
		return 0, fmt.Errorf("a status must be from 100 to 599, or 0, got %s", quoted(text))
	}
	return statusVerdicts[n], nil
}

// quoted shows a value, which may be of any size.
func quoted(text []byte) string {
	const most = 60
	if len(text) > most {
		return strconv.Quote(string(text[:most])) + "..."
	}
	return strconv.Quote(string(text))
}
