package calls

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// CombinedWithTime is nginx's own combined format, and the request time after it.
const CombinedWithTime = `$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent" $request_time`

// nginxLines reads what nginx writes with a log_format: variables, and text between them.
// A value ends where the text after it begins, which is exact as long as that does not
// occur in the value: nginx writes a quote in a value as \x22.
type nginxLines struct {
	first    []byte // text before the first variable
	fields   []nginxField
	byStatus bool
}

type nginxField struct {
	name  string
	until []byte             // text after it
	to    func(*raw) *[]byte // nil if nobody asks for it
}

var nginxVariable = regexp.MustCompile(`\$(?:(\w+)|\{(\w+)\})`)

func newNginx(o *Options) (*nginxLines, error) {
	format := o.LogFormat
	if format == "" {
		format = CombinedWithTime
	}
	found := nginxVariable.FindAllStringSubmatchIndex(format, -1)
	if len(found) == 0 {
		return nil, fmt.Errorf("--log-format must have variables such as $status, got %q", format)
	}
	n := &nginxLines{first: []byte(format[:found[0][0]])}
	var names []string
	for i, at := range found {
		name := nginxVariable.ReplaceAllString(format[at[0]:at[1]], "$1$2")
		end := len(format)
		if i+1 < len(found) {
			end = found[i+1][0]
		}
		until := format[at[1]:end]
		if until == "" && i+1 < len(found) {
			return nil, fmt.Errorf("--log-format must have text between $%s and the variable after it", name)
		}
		names = append(names, name)
		n.fields = append(n.fields, nginxField{name: name, until: []byte(until)})
	}
	has := func(name string) bool { return slices.Contains(names, name) }
	o.fillInNginx(has)
	n.byStatus = o.Status != ""
	for _, wanted := range []struct {
		flag, name string
		to         func(*raw) *[]byte
	}{
		{"--start", o.Start, func(r *raw) *[]byte { return &r.start }},
		{"--end", o.End, func(r *raw) *[]byte { return &r.end }},
		{"--duration", o.Duration, func(r *raw) *[]byte { return &r.duration }},
		{"--status", o.Status, func(r *raw) *[]byte { return &r.status }},
		{"--outcome", o.Outcome, func(r *raw) *[]byte { return &r.outcome }},
	} {
		if wanted.name == "" {
			continue
		}
		i := slices.Index(names, wanted.name)
		if i < 0 {
			return nil, fmt.Errorf("the log format has no $%s, name a variable with %s; there are $%s", wanted.name, wanted.flag, strings.Join(names, ", $"))
		}
		n.fields[i].to = wanted.to
	}
	return n, nil
}

// fillInNginx takes the variables that nginx has for each. Its times are of the end.
func (o *Options) fillInNginx(has func(string) bool) {
	for _, name := range []*string{&o.Start, &o.End, &o.Duration, &o.Status, &o.Outcome} {
		*name = strings.TrimPrefix(*name, "$")
	}
	if o.Start == "" && o.End == "" {
		o.End = "time_local"
		for _, exact := range []string{"time_iso8601", "msec"} {
			if has(exact) {
				o.End = exact
			}
		}
	}
	if o.Duration == "" {
		o.Duration = "request_time"
	}
	if o.Status == "" && o.Outcome == "" {
		o.Status = "status"
	}
	if o.Unit == "" {
		o.Unit = "s"
	}
}

func (n *nginxLines) parse(line []byte, into *raw) error {
	into.byStatus = n.byStatus
	rest, ok := bytes.CutPrefix(line, n.first)
	if !ok {
		return fmt.Errorf("it does not begin with %q, as the log format does", n.first)
	}
	for i := range n.fields {
		f := &n.fields[i]
		value := rest
		if last := i == len(n.fields)-1; last {
			if value, ok = bytes.CutSuffix(rest, f.until); !ok {
				return fmt.Errorf("it does not end with %q, as the log format does", f.until)
			}
		} else {
			at := bytes.Index(rest, f.until)
			if at < 0 {
				return fmt.Errorf("it has no %q after $%s, as the log format does", f.until, f.name)
			}
			value, rest = rest[:at], rest[at+len(f.until):]
		}
		if f.to != nil {
			*f.to(into) = value
		}
	}
	return nil
}
