package calls

import (
	"encoding/json"
	"fmt"
	"strings"
)

// jsonLines reads an object from each line.
type jsonLines struct {
	options *Options
	object  map[string]json.RawMessage
}

func newJSON(o *Options) *jsonLines {
	return &jsonLines{options: o, object: map[string]json.RawMessage{}}
}

func (j *jsonLines) parse(line []byte, into *raw) error {
	clear(j.object)
	if err := json.Unmarshal(line, &j.object); err != nil {
		return fmt.Errorf("it is no JSON object: %w", err)
	}
	o := *j.options
	o.fillIn(func(name string) bool { _, ok := find(j.object, name); return ok })
	for _, field := range []struct {
		name string
		to   *[]byte
	}{
		{o.Start, &into.start},
		{o.End, &into.end},
		{o.Duration, &into.duration},
		{o.Status, &into.status},
		{o.Outcome, &into.outcome},
	} {
		if field.name == "" {
			continue
		}
		value, ok := find(j.object, field.name)
		if !ok {
			return fmt.Errorf("it has no field %q", field.name)
		}
		text, err := scalar(value)
		if err != nil {
			return fmt.Errorf("field %q %w", field.name, err)
		}
		*field.to = text
	}
	into.byStatus, into.durationName = o.Status != "", o.Duration
	return nil
}

// find looks a name up, as it is or with dots into nested objects.
func find(object map[string]json.RawMessage, name string) (json.RawMessage, bool) {
	if value, ok := object[name]; ok {
		return value, true
	}
	outer, inner, ok := strings.Cut(name, ".")
	if !ok {
		return nil, false
	}
	value, ok := object[outer]
	if !ok {
		return nil, false
	}
	var nested map[string]json.RawMessage
	if json.Unmarshal(value, &nested) != nil {
		return nil, false
	}
	return find(nested, inner)
}

// scalar returns the text of a string, a number, true or false.
func scalar(value json.RawMessage) ([]byte, error) {
	switch value[0] {
	case '"':
		if inner := value[1 : len(value)-1]; !strings.ContainsRune(string(inner), '\\') {
			return inner, nil
		}
		var text string
		if err := json.Unmarshal(value, &text); err != nil {
			return nil, err
		}
		return []byte(text), nil
	case '{', '[':
		return nil, fmt.Errorf("must be a string or a number, got %s", quoted(value))
	}
	if string(value) == "null" {
		return nil, fmt.Errorf("is null")
	}
	return value, nil
}
