package calls_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
	"github.com/normal-go/breaker/cmd/breakersim/internal/calls"
)

// three is 03:00 of the second of March 2026, as all the logs here know it.
var three = time.Date(2026, time.March, 2, 3, 0, 0, 0, time.UTC)

func readAll(t *testing.T, o calls.Options, log string) (got []calls.Call, counts calls.Counts, err error) {
	t.Helper()
	require.NoError(t, o.Validate())
	r := calls.NewReader(strings.NewReader(log), o)
	for {
		c, err := r.Next()
		if err == io.EOF {
			return got, r.Counts(), nil
		}
		if err != nil {
			return got, r.Counts(), err
		}
		got = append(got, c)
	}
}

// told writes a call as seconds after three, how long it took, and how it ended.
func told(c calls.Call) string {
	return fmt.Sprintf("%v %v %v", time.Duration(c.Start-three.UnixNano()), c.Latency, c.Verdict)
}

func TestFormats(t *testing.T) {
	for name, c := range map[string]struct {
		options calls.Options
		log     string
		want    []string
	}{
		"CSV with the default names": {
			log: "start,duration,outcome\n" +
				"2026-03-02T03:00:00.5Z,12ms,ok\n" +
				"2026-03-02T04:00:01.25+01:00,1.5s,Timeout\n" +
				"1772420402.125,1m,throttled\n",
			want: []string{"500ms 12ms ok", "1.25s 1.5s transient", "2.125s 1m0s throttled"},
		},
		"CSV with a unit in a name, quotes, a mark and the line ends of Windows": {
			options: calls.Options{Comma: ';'},
			log: "\uFEFFstart;duration_ms;user;status\r\n" +
				"\"1772420400.5\";1.5;\"a;\"\"b\"\"\";200\r\n" +
				"\r\n" +
				"1772420401.5;20;x; 503 \r\n",
			want: []string{"500ms 1.5ms ok", "1.5s 20ms transient"},
		},
		"CSV with names of one's own": {
			options: calls.Options{End: `when it "finished"`, Duration: "took", Unit: "us", Outcome: "result"},
			log:     "\"when it \"\"finished\"\"\",took,result\n1772420401500,500000,true\n1772420402500.5,250,canceled\n",
			want:    []string{"1s 500ms ok", "2.50025s 250µs canceled"},
		},
		"JSON with the default names": {
			log: `{"start":"2026-03-02T03:00:00.5Z","duration_ms":3,"status":200}` + "\n" +
				`{"start":1772420401.75,"duration":"4ms","outcome":"permanent","status":500}` + "\n",
			want: []string{"500ms 3ms ok", "1.75s 4ms permanent"},
		},
		"JSON of Envoy, nested": {
			options: calls.Options{Start: "start_time", Duration: "http.duration", Unit: "ms", Status: "http.response_code"},
			log: `{"start_time":"2026-03-02T03:00:00.123Z","http":{"duration":7,"response_code":503},"path":"/a"}` + "\n" +
				`{"start_time":"2026-03-02T03:00:00.223Z","http":{"duration":900,"response_code":0}}` + "\n",
			want: []string{"123ms 7ms transient", "223ms 900ms canceled"},
		},
		"JSON of nginx, numbers as text": {
			options: calls.Options{End: "time", Duration: "request_time", Unit: "s", Status: "status"},
			log:     `{"time":"1772420400.900","status":"429","request_time":"0.400","x":"\"y\""}` + "\n",
			want:    []string{"500ms 400ms throttled"},
		},
		"nginx combined with the request time, whole seconds spread": {
			log: `10.0.0.7 - - [02/Mar/2026:03:00:05 +0000] "GET / HTTP/1.1" 200 5 "-" "curl/8.5 [x] (y)" 0.000` + "\n" +
				`10.0.0.7 - bob [02/Mar/2026:03:00:05 +0000] "GET /a b HTTP/1.1" 502 5 "-" "\x22" 0.250` + "\n" +
				`10.0.0.7 - - [02/Mar/2026:05:00:06 +0200] "" 499 0 "-" "-" 0.500` + "\n",
			want: []string{"5.25s 0s ok", "5.5s 250ms transient", "6s 500ms canceled"},
		},
		"nginx with a format of one's own, several servers asked": {
			options: calls.Options{LogFormat: `[$msec] ${upstream_status} t=$upstream_response_time.`, Duration: "$upstream_response_time", Status: "upstream_status"},
			log: "[1772420401.500] 502, 200 t=0.100, 0.150.\n" +
				"[1772420402.500] 200 : 404 t=0.100 : -.\n",
			want: []string{"1.25s 250ms ok", "2.4s 100ms ok"},
		},
		"nginx with several times, of which the most exact counts": {
			options: calls.Options{LogFormat: "$time_local|$time_iso8601|$msec|$request_time|$status"},
			log:     "02/Mar/2026:03:00:05 +0000|2026-03-02T03:00:05+00:00|1772420405.700|0.200|200\n",
			want:    []string{"5.5s 200ms ok"},
		},
		"CSV with spaces in the header": {
			log:  "start, duration_ms, status\n1772420400.5, 20, 200\n",
			want: []string{"500ms 20ms ok"},
		},
		"JSON after a mark and a space": {
			log:  "\uFEFF {\"start\":1772420400.5,\"duration\":\"20ms\",\"status\":200}\n {\"start\":1772420401.5,\"duration\":\"20ms\",\"status\":200}\n",
			want: []string{"500ms 20ms ok", "1.5s 20ms ok"},
		},
		"a mark alone": {
			log:  "\uFEFF\nstart,duration,outcome\n1772420400.5,20ms,ok\n",
			want: []string{"500ms 20ms ok"},
		},
		"more line ends than a line may have": {
			log:  strings.Repeat("\r", 2<<20) + "\nstart,duration,outcome\n1772420400.5,20ms,ok\n",
			want: []string{"500ms 20ms ok"},
		},
		"exponents": {
			options: calls.Options{Unit: "s"},
			log:     `{"start":1772420400.5,"duration":5e-05,"status":200}` + "\n" + `{"start":1772420401.5,"duration":"1.5E+1, 0.5","status":200}` + "\n",
			want:    []string{"500ms 50µs ok", "1.5s 15.5s ok"},
		},
		"every nanosecond": {
			log:  "start,duration_s,outcome\n1772420401.123456789,0.000000001,ok\n",
			want: []string{"1.123456789s 1ns ok"},
		},
		"numbers by their size": {
			log:  "start,duration_ns,outcome\n1772420401,1,ok\n1772420402000,1,ok\n1772420403000000,1,ok\n1772420404000000001,1,ok\n",
			want: []string{"1.5s 1ns ok", "2s 1ns ok", "3s 1ns ok", "4.000000001s 1ns ok"},
		},
		"numbers in a unit": {
			options: calls.Options{TimeUnit: "ms", Start: "t", Unit: "s"},
			log:     "t,duration,outcome\n1772420400750.25,0.5,ok\n",
			want:    []string{"750.25ms 500ms ok"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, counts, err := readAll(t, c.options, c.log)
			require.NoError(t, err)
			require.Empty(t, counts.First)
			var texts []string
			for _, call := range got {
				texts = append(texts, told(call))
			}
			require.Equal(t, c.want, texts)
			require.EqualValues(t, len(c.want), counts.Lines)
		})
	}
}

func TestStatuses(t *testing.T) {
	for status, want := range map[string]breaker.Verdict{
		"101": breaker.OK, "200": breaker.OK, "302": breaker.OK, "400": breaker.OK, "404": breaker.OK,
		"408": breaker.Transient, "429": breaker.Throttled, "499": breaker.Canceled, "0": breaker.Canceled, "000": breaker.Canceled,
		"500": breaker.Transient, "503": breaker.Transient, "599": breaker.Transient, "502, 404": breaker.OK, "200, 504": breaker.Transient,
	} {
		got, _, err := readAll(t, calls.Options{Unit: "s"}, `{"start":"2026-03-02T03:00:00.5Z","duration":1,"status":"`+status+`"}`)
		require.NoError(t, err, status)
		require.Equal(t, want, got[0].Verdict, status)
	}
}

func TestBadLines(t *testing.T) {
	for name, c := range map[string]struct {
		options calls.Options
		header  string
		line    string
		want    string
	}{
		"no time":            {line: ",1,ok", want: "there is no time"},
		"no such time":       {line: "yesterday,1,ok", want: `a time must be RFC 3339, a number, or nginx's $time_local, got "yesterday"`},
		"too early":          {line: "1700-01-01T00:00:00Z,1,ok", want: `a time must lie between the years 1825 and 2114, got "1700-01-01T00:00:00Z"`},
		"too late":           {line: "9123372036854775807,1,ok", want: `a time must lie between the years 1825 and 2114, got "9123372036854775807"`},
		"far too late":       {line: "9999999999999999999999,1,ok", want: `a number is too large, got "9999999999999999999999"`},
		"no duration":        {line: "1772420400.5,,ok", want: "there is no duration"},
		"no such duration":   {line: "1772420400.5,long,ok", want: `a duration must be a number, or as 12.5ms, got "long"`},
		"negative":           {line: "1772420400.5,-1,ok", want: `a duration must not be negative, and at most 744h0m0s, got "-1"`},
		"endless":            {line: "1772420400.5,9000000,ok", want: `a duration must not be negative, and at most 744h0m0s, got "9000000"`},
		"negative exponent":  {line: "1772420400.5,-1e-3,ok", want: `a duration must not be negative, and at most 744h0m0s, got "-1e-3"`},
		"large exponent":     {line: "1772420400.5,1e300,ok", want: `a duration must not be negative, and at most 744h0m0s, got "1e300"`},
		"beyond an exponent": {line: "1772420400.5,1e999,ok", want: `a duration must be a number, or as 12.5ms, got "1e999"`},
		"infinite":           {line: "1772420400.5,inf,ok", want: `a duration must be a number, or as 12.5ms, got "inf"`},
		"not asked":          {line: "1772420400.5,-,ok", want: `a duration must be a number, or as 12.5ms, got "-"`},
		"no outcome":         {line: "1772420400.5,1,", want: `an outcome must be one of ok, transient, throttled, permanent, canceled, success, failed, failure, error, timeout, true and false, got ""`},
		"too few fields":     {line: "1772420400.5", want: "it has 1 fields, too few"},
		"an open quote":      {line: `1772420400.5,1,"ok`, want: "field 3 has no closing quote"},
		"more after a quote": {line: `1772420400.5,"1"s,ok`, want: "field 2 goes on after its closing quote"},
		"no status":          {header: "start,duration,status", line: "1772420400.5,1,", want: `a status must be from 100 to 599, or 0, got ""`},
		"a wrong status":     {header: "start,duration,status", line: "1772420400.5,1,99", want: `a status must be from 100 to 599, or 0, got "99"`},
		"no JSON":            {options: calls.Options{Format: "jsonl"}, line: `{"start":`, want: "it is no JSON object: unexpected end of JSON input"},
		"no object":          {options: calls.Options{Format: "jsonl"}, line: `[1]`, want: "it is no JSON object: json: cannot unmarshal array into Go value of type map[string]json.RawMessage"},
		"no field":           {options: calls.Options{Format: "jsonl"}, line: `{"start":1}`, want: `it has no field "duration"`},
		"no value":           {options: calls.Options{Format: "jsonl"}, line: `{"start":null,"duration":1,"status":200}`, want: `field "start" is null`},
		"no scalar":          {options: calls.Options{Format: "jsonl"}, line: `{"start":[1],"duration":1,"status":200}`, want: `field "start" must be a string or a number, got "[1]"`},
		"another format":     {options: calls.Options{LogFormat: "[$msec] $status $request_time"}, line: "1772420400.5 200 1", want: `it does not begin with "[", as the log format does`},
		"its middle":         {options: calls.Options{LogFormat: "$msec|$status|$request_time"}, line: "1772420400.5|200", want: `it has no "|" after $status, as the log format does`},
		"its end":            {options: calls.Options{LogFormat: "$msec $status $request_time!"}, line: "1772420400.5 200 1", want: `it does not end with "!", as the log format does`},
	} {
		t.Run(name, func(t *testing.T) {
			o, log := c.options, c.line+"\n"
			o.MostBad = 1
			if o.Unit == "" {
				o.Unit = "s"
			}
			if o.Format == "" && o.LogFormat == "" {
				log = "start,duration,outcome\n" + log
				if c.header != "" {
					log = c.header + "\n" + c.line
				}
			}
			got, counts, err := readAll(t, o, log)
			require.NoError(t, err)
			require.Empty(t, got)
			require.EqualValues(t, 1, counts.Lines)
			require.EqualValues(t, 1, counts.Bad)
			require.EqualError(t, counts.First[0].Why, c.want)
			require.EqualValues(t, strings.Count(strings.TrimSpace(log), "\n")+1, counts.First[0].Line)
		})
	}
}

// What no other line could mend ends the reading at once.
func TestWhatEndsTheReading(t *testing.T) {
	for name, c := range map[string]struct {
		options calls.Options
		log     string
		want    string
	}{
		"no column":     {log: "a,b\n1,2\n", want: `the header has no column "start", name it with --start; there are a, b`},
		"no outcome":    {log: "start,duration\n", want: `the header has no column "outcome", name it with --outcome; there are start, duration`},
		"a bad header":  {log: "\"start\n", want: "the header: field 1 has no closing quote"},
		"no unit":       {log: "start,duration,outcome\n1,12,ok\n", want: "durations have no unit: name it with --unit s, ms, us or ns"},
		"no unit, 1e-3": {log: "start,duration,outcome\n1,1e-3,ok\n", want: "durations have no unit: name it with --unit s, ms, us or ns"},
		"no unit, JSON": {log: `{"start":1,"duration":12,"status":200}`, want: "durations have no unit: name it with --unit s, ms, us or ns"},
		"no variables":  {options: calls.Options{LogFormat: "status"}, log: "x\n", want: `--log-format must have variables such as $status, got "status"`},
		"side by side":  {options: calls.Options{LogFormat: "$msec$status"}, log: "x\n", want: "--log-format must have text between $msec and the variable after it"},
		"no variable":   {options: calls.Options{LogFormat: "$msec $status"}, log: "x\n", want: "the log format has no $request_time, name a variable with --duration; there are $msec, $status"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := readAll(t, c.options, c.log)
			require.EqualError(t, err, c.want)
		})
	}
}

func TestBadLinesWithinTheBound(t *testing.T) {
	log := func(good, bad int) string {
		var s strings.Builder
		s.WriteString("start,duration,outcome\n")
		for i := range good + bad {
			if i < bad {
				s.WriteString("what\n")
				continue
			}
			fmt.Fprintf(&s, "%d.5,1ms,ok\n", three.Unix()+int64(i))
		}
		return s.String()
	}
	for _, c := range []struct {
		good, bad int
		most      float64
		read      int64 // lines
		fails     bool
	}{
		{good: 99, bad: 1, most: 0.01, read: 100},
		{good: 98, bad: 2, most: 0.01, read: 100, fails: true},
		{good: 0, bad: 1, most: 0, read: 1, fails: true},
		{good: 5, bad: 6, most: 1, read: 11},
		{good: 100, bad: 1000, most: 0.5, read: 1100, fails: true},
		{good: 1000, bad: 2000, most: 0.5, read: 1001, fails: true}, // known to be too many before the end
		{good: 2000, bad: 2000, most: 1, read: 4000},
	} {
		got, counts, err := readAll(t, calls.Options{MostBad: c.most}, log(c.good, c.bad))
		name := fmt.Sprint(c)
		require.Equal(t, c.read, counts.Lines, name)
		require.LessOrEqual(t, len(counts.First), 5, name)
		var tooBad *calls.TooBadError
		require.Equal(t, c.fails, errors.As(err, &tooBad), name)
		if !c.fails {
			require.NoError(t, err, name)
			require.Len(t, got, c.good, name)
			require.EqualValues(t, c.bad, counts.Bad, name)
		}
	}
	_, _, err := readAll(t, calls.Options{MostBad: 0.005}, log(1, 2))
	require.EqualError(t, err, "2 of 3 lines are bad, and at most 0.5 % may be (--bad)")
}

func TestOrder(t *testing.T) {
	for name, c := range map[string]struct {
		starts  string // seconds, in the order of the log
		reorder time.Duration
		want    string
		bad     string
	}{
		"in order":            {starts: "1.5 2.5 3.5", want: "1.5 2.5 3.5"},
		"equal starts":        {starts: "1.5 1.5 1.5", want: "1.5 1.5 1.5"},
		"equal and held":      {starts: "1.5 1.5 2.5 1.5 1.5 1.5 2.5", reorder: 3 * time.Second, want: "1.5 1.5 1.5 1.5 1.5 2.5 2.5"},
		"well inside":         {starts: "1.5 2.4 5.3 2.35", reorder: 3 * time.Second, want: "1.5 2.35 2.4 5.3"},
		"out of order":        {starts: "2.5 2.5 1.5", want: "2.5 2.5", bad: "it begins 1s before a call that came earlier, and --reorder is 0s"},
		"within the window":   {starts: "3.5 1.5 2.5", reorder: 3 * time.Second, want: "1.5 2.5 3.5"},
		"at its edge":         {starts: "1.5 4.5 1.5", reorder: 3 * time.Second, want: "1.5 1.5 4.5"},
		"just outside":        {starts: "1.5 5.5 5.5 1.4 2.5", reorder: 3 * time.Second, want: "1.5 2.5 5.5 5.5", bad: "it begins 4.1s before a call that came earlier, and --reorder is 3s"},
		"a day ahead":         {starts: "1.5 86401.5 3.5 2.5 4.5", reorder: 3 * time.Second, want: "1.5 2.5 3.5 4.5 86401.5"},
		"a day ahead first":   {starts: "86401.5 1.5 3.5 2.5 4.5", reorder: 3 * time.Second, want: "1.5 2.5 3.5 4.5 86401.5"},
		"two in a row":        {starts: "1.5 86401.5 86401.5 1.4", reorder: 3 * time.Second, want: "1.5 86401.5 86401.5", bad: "it begins 24h0m0.1s before a call that came earlier, and --reorder is 3s"},
		"nothing let go":      {starts: "9.5 1.5 2.5", reorder: 3 * time.Second, want: "1.5 2.5 9.5"},
		"a month and more on": {starts: "1.5 2678401.4 2678401.6 2.5", reorder: 800 * time.Hour, want: "1.5 2.5 2678401.4", bad: "it begins 744h0m0s from the first line, and at most 744h0m0s are replayed"},
		"a broken time":       {starts: "1.5 1e9 2.5", want: "1.5 2.5", bad: "it begins"},
	} {
		t.Run(name, func(t *testing.T) {
			log := "start,duration,outcome\n"
			for _, at := range strings.Fields(c.starts) {
				if at == "1e9" {
					at = "2772420400"
				} else {
					d, err := time.ParseDuration(at + "s")
					require.NoError(t, err)
					at = three.Add(d).Format(time.RFC3339Nano)
				}
				log += at + ",1ms,ok\n"
			}
			got, counts, err := readAll(t, calls.Options{Reorder: c.reorder, MostBad: 0.5}, log)
			require.NoError(t, err)
			var starts []string
			line := map[int64]int64{}
			for _, call := range got {
				starts = append(starts, fmt.Sprint(time.Duration(call.Start-three.UnixNano()).Seconds()))
				require.Greater(t, call.Line, line[call.Start], "calls of one instant keep their order")
				line[call.Start] = call.Line
			}
			require.Equal(t, strings.ReplaceAll(c.want, "2678401.4", "2.6784014e+06"), strings.Join(starts, " "))
			if c.bad == "" {
				require.Zero(t, counts.Bad)
				return
			}
			require.EqualValues(t, 1, counts.Bad)
			require.ErrorContains(t, counts.First[0].Why, c.bad)
		})
	}
}

// A second's lines are even over it, whatever came before, and in their order.
func TestWholeSecondsAreSpread(t *testing.T) {
	got, _, err := readAll(t, calls.Options{End: "end", Reorder: time.Minute}, "end,duration,outcome\n"+
		"1772420400,900ms,ok\n1772420400,0s,ok\n1772420400.25,0s,ok\n1772420402,100ms,ok\n")
	require.NoError(t, err)
	var starts []string
	for _, c := range got {
		starts = append(starts, told(c))
	}
	require.Equal(t, []string{"-650ms 900ms ok", "250ms 0s ok", "750ms 0s ok", "2.4s 100ms ok"}, starts)
}

func TestLongLines(t *testing.T) {
	long := strings.Repeat("x", 2<<20)
	got, counts, err := readAll(t, calls.Options{MostBad: 0.5},
		"start,duration,outcome,more\n1772420400.5,1ms,ok,"+long[:100_000]+"\n"+long+"\n1772420401.5,1ms,ok,")
	require.NoError(t, err)
	require.Len(t, got, 2)
	require.EqualError(t, counts.First[0].Why, "it is longer than 1048576 bytes")
}

func TestReject(t *testing.T) {
	r := calls.NewReader(strings.NewReader("start,duration,outcome\n1772420400.5,1ms,ok\n"), calls.Options{})
	c, err := r.Next()
	require.NoError(t, err)
	require.NoError(t, r.Reject(c, errors.New("no")))
	_, err = r.Next()
	require.EqualError(t, err, "1 of 1 lines are bad, and at most 0 % may be (--bad)")
	require.Equal(t, []calls.Bad{{Line: 2, Why: errors.New("no")}}, r.Counts().First)
}

func TestReadErrorsPassThrough(t *testing.T) {
	broken := errors.New("the disk is on fire")
	r := calls.NewReader(io.MultiReader(strings.NewReader("start,duration,outcome\n"), iotestErr{broken}), calls.Options{})
	_, err := r.Next()
	require.ErrorIs(t, err, broken)
}

type iotestErr struct{ error }

func (e iotestErr) Read([]byte) (int, error) { return 0, e.error }

func TestOptions(t *testing.T) {
	for want, o := range map[string]calls.Options{
		`--format must be one of auto, csv, jsonl, nginx, got "xml"`:         {Format: "xml"},
		`--start and --end must not be set both, got "a" and "b"`:            {Start: "a", End: "b"},
		`--status and --outcome must not be set both, got "a" and "b"`:       {Status: "a", Outcome: "b"},
		`--unit must be one of s, ms, us, ns, got "h"`:                       {Unit: "h"},
		`--time-unit must be one of s, ms, us, ns, got "h"`:                  {TimeUnit: "h"},
		`--delimiter must be an ASCII character other than a quote, got '"'`: {Comma: '"'},
		"--reorder must not be negative, got -1s":                            {Reorder: -time.Second},
		"--bad must be from 0 % to 100 %, got 150 %":                         {MostBad: 1.5},
	} {
		require.EqualError(t, o.Validate(), want)
	}
}
