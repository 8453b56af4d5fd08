package simulation

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/normal-go/breaker"
)

// MarshalJSON writes the fields that are not zero: names in snake_case, durations as text
// ("15s"). OnSecond, and the functions of the settings, have no form in JSON and are left
// out.
func (s Scenario) MarshalJSON() ([]byte, error) { return asText.write(s) }

// UnmarshalJSON changes the fields that the document names, and no others; null leaves a
// field as it is, and a list replaces the one that was there. It reads what MarshalJSON
// writes, and zeros, which stand for the default.
//
// It refuses names that are unknown or written twice, values of another type, and what
// [Scenario.Validate] finds in the result; s is then as it was before. The error is a
// [*ScenarioError] with every problem at once, each under the name that the document has
// for it, such as incidents[0].start. A text that is not JSON is refused with the error of
// encoding/json.
func (s *Scenario) UnmarshalJSON(text []byte) error {
	var document json.RawMessage // without the space around it
	if err := json.Unmarshal(text, &document); err != nil {
		return err
	}
	next := *s
	into := reflect.ValueOf(&next).Elem()
	var p problems
	readJSON("", document, into, &p)
	if len(p) == 0 { // or the rules would speak of values that could not be read
		var invalid *ScenarioError
		if errors.As(next.Validate(), &invalid) {
			names := strings.NewReplacer(goAndJSONNames(into.Type())...)
			for _, problem := range invalid.Problems {
				problem = names.Replace(problem)
				if path, rule, ok := strings.Cut(problem, " must "); ok && !strings.Contains(path, " ") {
					problem = path + ": must " + rule
				}
				p.add("%s", problem)
			}
		}
	}
	if err := p.err(); err != nil {
		return err
	}
	*s = next
	return nil
}

// MarshalJSON writes the report: names in snake_case, durations in seconds under names
// that say so, such as duration_seconds.
func (r Report) MarshalJSON() ([]byte, error) { return inSeconds.write(r) }

// MarshalJSON writes the outcome as it stands in a [Report].
func (o Outcome) MarshalJSON() ([]byte, error) { return inSeconds.write(o) }

// MarshalJSON writes the probes as they stand in a [Report].
func (p Probes) MarshalJSON() ([]byte, error) { return inSeconds.write(p) }

// MarshalJSON writes the quantiles as they stand in a [Report].
func (q Quantiles) MarshalJSON() ([]byte, error) { return inSeconds.write(q) }

// MarshalJSON writes the second as it stands in a [Report].
func (s Second) MarshalJSON() ([]byte, error) { return inSeconds.write(s) }

// jsonStyle is how values stand in JSON: what people write has durations as text and no
// zeros, what programs read has durations in seconds, and everything.
type jsonStyle bool

const (
	asText    jsonStyle = false
	inSeconds jsonStyle = true
)

// ours reports whether a struct is to be walked, and not to be asked for its own JSON.
func ours(of reflect.Type) bool {
	return of.Kind() == reflect.Struct && of.PkgPath() == reflect.TypeFor[Scenario]().PkgPath()
}

var durationType = reflect.TypeFor[time.Duration]()

// jsonFields yields the fields that a document can name, by their names there.
func jsonFields(of reflect.Value) iter.Seq2[string, reflect.Value] {
	return func(yield func(string, reflect.Value) bool) {
		for i := range of.NumField() {
			field := of.Type().Field(i)
			if field.Anonymous {
				for name, value := range jsonFields(of.Field(i)) {
					if !yield(name, value) {
						return
					}
				}
				continue
			}
			name := field.Tag.Get("json")
			if name != "-" && !yield(name, of.Field(i)) {
				return
			}
		}
	}
}

func (s jsonStyle) write(from any) ([]byte, error) {
	var out bytes.Buffer
	if err := s.value(&out, reflect.ValueOf(from)); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

func (s jsonStyle) value(out *bytes.Buffer, from reflect.Value) error {
	switch {
	case ours(from.Type()):
		return s.object(out, from)
	case from.Kind() == reflect.Slice:
		separator := byte('[')
		for i := range from.Len() {
			out.WriteByte(separator)
			separator = ','
			if err := s.value(out, from.Index(i)); err != nil {
				return err
			}
		}
		if from.Len() == 0 {
			out.WriteByte('[')
		}
		out.WriteByte(']')
		return nil
	case from.Type() == durationType && s == inSeconds:
		writeSeconds(out, time.Duration(from.Int()))
		return nil
	case from.Type() == durationType:
		out.WriteString(strconv.Quote(time.Duration(from.Int()).String()))
		return nil
	case from.Kind() == reflect.Int || from.Kind() == reflect.Int64:
		out.WriteString(strconv.FormatInt(from.Int(), 10))
		return nil
	}
	text, err := json.Marshal(from.Interface())
	out.Write(text)
	return err
}

// writeSeconds writes all digits that there are, and no more.
func writeSeconds(out *bytes.Buffer, d time.Duration) {
	whole, rest := d/time.Second, d%time.Second
	out.WriteString(strconv.FormatInt(int64(whole), 10))
	if rest > 0 {
		out.WriteString(strings.TrimRight(fmt.Sprintf(".%09d", int64(rest)), "0"))
	}
}

func (s jsonStyle) object(out *bytes.Buffer, from reflect.Value) error {
	separator := byte('{')
	for name, field := range jsonFields(from) {
		if s == asText && empty(field) {
			continue
		}
		out.WriteByte(separator)
		separator = ','
		out.WriteByte('"')
		out.WriteString(name)
		if s == inSeconds && field.Type() == durationType {
			out.WriteString("_seconds")
		}
		out.WriteString(`":`)
		if err := s.value(out, field); err != nil {
			return fmt.Errorf("simulation: %s: %w", name, err)
		}
	}
	if separator == '{' {
		out.WriteByte('{')
	}
	out.WriteByte('}')
	return nil
}

// empty reports that there is nothing to write: a struct may hold functions, or an empty
// list, and nothing else.
func empty(v reflect.Value) bool {
	switch {
	case v.Kind() == reflect.Slice:
		return v.Len() == 0
	case ours(v.Type()):
		for _, field := range jsonFields(v) {
			if !empty(field) {
				return false
			}
		}
		return true
	case v.Type() == reflect.TypeFor[breaker.Settings]():
		text, err := json.Marshal(v.Interface())
		return err == nil && string(text) == "{}"
	}
	return v.IsZero()
}

func within(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// readJSON takes a value over, and reads on after a problem. The text is known to be JSON.
func readJSON(path string, text json.RawMessage, into reflect.Value, p *problems) {
	where := path
	if where == "" {
		where = "the scenario"
	}
	switch {
	case string(text) == "null":
	case ours(into.Type()):
		if text[0] != '{' {
			p.add("%s: must be an object, got %s", where, shown(text))
			return
		}
		readObject(path, text, into, p)
	case into.Kind() == reflect.Slice:
		var items []json.RawMessage
		if text[0] != '[' || json.Unmarshal(text, &items) != nil {
			p.add("%s: must be a list, got %s", where, shown(text))
			return
		}
		list := reflect.MakeSlice(into.Type(), len(items), len(items))
		for i, item := range items {
			readJSON(fmt.Sprintf("%s[%d]", path, i), item, list.Index(i), p)
		}
		into.Set(list)
	case into.Type() == durationType:
		var written string
		err := json.Unmarshal(text, &written)
		if err == nil {
			var d time.Duration
			d, err = time.ParseDuration(written)
			into.SetInt(int64(d))
		}
		if err != nil {
			p.add(`%s: must be a duration such as "30s", got %s`, where, shown(text))
		}
	default:
		readOther(where, text, into, p)
	}
}

func readObject(path string, text json.RawMessage, into reflect.Value, p *problems) {
	written := map[string]bool{}
	d := json.NewDecoder(bytes.NewReader(text))
	_, _ = d.Token() // the brace
	for d.More() {
		var value json.RawMessage
		token, _ := d.Token()
		_ = d.Decode(&value)
		name := token.(string)
		var names []string
		known := false
		for candidate, field := range jsonFields(into) {
			names = append(names, candidate)
			if candidate != name {
				continue
			}
			known = true
			if written[name] {
				p.add("%s: written twice", within(path, name))
				break
			}
			readJSON(within(path, name), value, field, p)
		}
		if !known {
			p.add("%s: no such field, there are %s", within(path, name), strings.Join(names, ", "))
		}
		written[name] = true
	}
}

// readOther reads what encoding/json can, and the settings, which report problems of
// their own.
func readOther(path string, text json.RawMessage, into reflect.Value, p *problems) {
	err := json.Unmarshal(text, into.Addr().Interface())
	var invalid *breaker.SettingsError
	switch {
	case err == nil:
	case errors.As(err, &invalid):
		for _, problem := range invalid.Problems {
			p.add("%s.%s", path, problem)
		}
	default:
		p.add("%s: must be %s, got %s", path, wanted(into.Kind()), shown(text))
	}
}

func wanted(kind reflect.Kind) string {
	switch kind {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Float64:
		return "a number"
	}
	return "a whole number"
}

// shown returns a value as a problem shows it. It may be of any size.
func shown(text json.RawMessage) string {
	const most = 60
	switch {
	case text[0] == '{':
		return "an object"
	case text[0] == '[':
		return "a list"
	case len(text) > most:
		return strings.ToValidUTF8(string(text[:most]), "") + "..."
	}
	return string(text)
}

// goAndJSONNames returns the names of fields in pairs, longer ones before those that they
// begin with.
func goAndJSONNames(of reflect.Type) []string {
	names := map[string]string{}
	var walk func(reflect.Type)
	walk = func(of reflect.Type) {
		if of.Kind() == reflect.Slice {
			of = of.Elem()
		}
		if of.Kind() != reflect.Struct {
			return
		}
		for i := range of.NumField() {
			field := of.Field(i)
			if name := field.Tag.Get("json"); name != "-" && name != "" {
				names[field.Name] = name
				walk(field.Type)
			}
		}
	}
	walk(of)
	var order []string
	for name := range names {
		order = append(order, name)
	}
	slices.SortFunc(order, func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	var pairs []string
	for _, name := range order {
		pairs = append(pairs, name, names[name])
	}
	return pairs
}
