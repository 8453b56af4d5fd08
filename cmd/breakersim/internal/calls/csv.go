package calls

import (
	"bytes"
	"fmt"
	"strings"
)

// csvLines reads lines of CSV, each on its own: a quoted field does not go on in the next
// line, so that a stray quote spoils one line and not the rest of the file.
type csvLines struct {
	comma  byte
	fields [][]byte
	spare  []byte // for fields with doubled quotes

	start, end, duration, status, outcome int // columns; -1: none
}

// newCSV reads the header.
func newCSV(o *Options, header []byte) (*csvLines, error) {
	c := &csvLines{comma: ','}
	if o.Comma != 0 {
		c.comma = byte(o.Comma)
	}
	if err := c.split(header); err != nil {
		return nil, fmt.Errorf("the header: %w", err)
	}
	columns := map[string]int{}
	var names []string
	for i, name := range c.fields {
		name = bytes.TrimSpace(name)
		columns[string(name)] = i
		names = append(names, string(name))
	}
	find := func(name string) int {
		if i, ok := columns[name]; ok && name != "" {
			return i
		}
		return -1
	}
	o.fillIn(func(name string) bool { return find(name) >= 0 })
	c.start, c.end, c.duration = find(o.Start), find(o.End), find(o.Duration)
	c.status, c.outcome = find(o.Status), find(o.Outcome)
	for _, wanted := range []struct {
		flag, name string
		found      bool
	}{
		{"--start", o.Start, c.start >= 0 || o.Start == ""},
		{"--end", o.End, c.end >= 0 || o.End == ""},
		{"--duration", o.Duration, c.duration >= 0},
		{"--status", o.Status, c.status >= 0 || o.Status == ""},
		{"--outcome", o.Outcome, c.outcome >= 0 || o.Outcome == ""},
	} {
		if !wanted.found {
			return nil, fmt.Errorf("the header has no column %q, name it with %s; there are %s", wanted.name, wanted.flag, strings.Join(names, ", "))
		}
	}
	return c, nil
}

func (c *csvLines) parse(line []byte, into *raw) error {
	if err := c.split(line); err != nil {
		return err
	}
	for _, column := range []struct {
		at int
		to *[]byte
	}{
		{c.start, &into.start},
		{c.end, &into.end},
		{c.duration, &into.duration},
		{c.status, &into.status},
		{c.outcome, &into.outcome},
	} {
		switch {
		case column.at < 0:
		case column.at >= len(c.fields):
			return fmt.Errorf("it has %d fields, too few", len(c.fields))
		default:
			*column.to = bytes.TrimSpace(c.fields[column.at])
		}
	}
	into.byStatus = c.status >= 0
	return nil
}

// split cuts a line into fields. They are valid until the next.
func (c *csvLines) split(line []byte) error {
	c.fields, c.spare = c.fields[:0], c.spare[:0]
	for {
		if len(line) == 0 || line[0] != '"' {
			i := bytes.IndexByte(line, c.comma)
			if i < 0 {
				c.fields = append(c.fields, line)
				return nil
			}
			c.fields, line = append(c.fields, line[:i]), line[i+1:]
			continue
		}
		field, rest, err := c.unquote(line[1:])
		if err != nil {
			return err
		}
		c.fields = append(c.fields, field)
		if len(rest) == 0 {
			return nil
		}
		if rest[0] != c.comma {
			return fmt.Errorf("field %d goes on after its closing quote", len(c.fields))
		}
		line = rest[1:]
	}
}

func (c *csvLines) unquote(line []byte) (field, rest []byte, err error) {
	i := bytes.IndexByte(line, '"')
	if i >= 0 && (i+1 == len(line) || line[i+1] != '"') {
		return line[:i], line[i+1:], nil
	}
	from := len(c.spare)
	for {
		i := bytes.IndexByte(line, '"')
		if i < 0 {
			return nil, nil, fmt.Errorf("field %d has no closing quote", len(c.fields)+1)
		}
		c.spare = append(c.spare, line[:i]...)
		if i+1 == len(line) || line[i+1] != '"' {
			return c.spare[from:], line[i+1:], nil
		}
		c.spare = append(c.spare, '"')
		line = line[i+2:]
	}
}
