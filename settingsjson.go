package breaker

import (
	"bytes"
	"encoding/json"
	"errors"
	"iter"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Both directions walk the json tags of the fields: a document can say what the struct
// can, and nothing else. docs/configuration.md lists it.

// MarshalJSON writes the fields that are not zero, as they were given: names in
// snake_case, durations as text ("15s"), the jitter as a word. Clock, Classify,
// OnTransition and Random have no form in JSON and are left out. A value that JSON cannot
// hold, such as NaN, is an error: a [*SettingsError] that names each. Nothing else is
// checked here.
func (s Settings) MarshalJSON() ([]byte, error) { return writeJSON(s) }

// MarshalJSON writes the fields that are not zero, as they stand in a [Settings].
func (f Failures) MarshalJSON() ([]byte, error) { return writeJSON(f) }

// MarshalJSON writes the fields that are not zero, as they stand in a [Settings].
func (c SlowCalls) MarshalJSON() ([]byte, error) { return writeJSON(c) }

// MarshalJSON writes the fields that are not zero, as they stand in a [Settings].
func (r Recovery) MarshalJSON() ([]byte, error) { return writeJSON(r) }

// UnmarshalJSON changes the fields that the document names, and no others; null leaves a
// field as it is. It reads what MarshalJSON writes, and zeros, which stand for the
// default.
//
// It refuses names that are unknown or written twice, values of another type, and what
// [Settings.Validate] finds in the result; s is then as it was before. The error is a
// [*SettingsError] with every problem at once, each under the name that the document has
// for it, such as failures.multiple. A rule about a value that could not be read is not
// looked at. A text that is not JSON is refused with the error of encoding/json.
func (s *Settings) UnmarshalJSON(text []byte) error { return readJSON(text, s, Settings.Validate) }

// UnmarshalJSON reads f as [Settings.UnmarshalJSON] does. Whether the values can work is
// for the Settings to say that they become part of.
func (f *Failures) UnmarshalJSON(text []byte) error { return readJSON(text, f, nil) }

// UnmarshalJSON reads c as [Settings.UnmarshalJSON] does. Whether the values can work is
// for the Settings to say that they become part of.
func (c *SlowCalls) UnmarshalJSON(text []byte) error { return readJSON(text, c, nil) }

// UnmarshalJSON reads r as [Settings.UnmarshalJSON] does. Whether the values can work is
// for the Settings to say that they become part of.
func (r *Recovery) UnmarshalJSON(text []byte) error { return readJSON(text, r, nil) }

// jsonFields yields the fields that a document can name, by their names there.
func jsonFields(of reflect.Value) iter.Seq2[string, reflect.Value] {
	return func(yield func(string, reflect.Value) bool) {
		for i := range of.NumField() {
			name := of.Type().Field(i).Tag.Get("json")
			if name != "-" && !yield(name, of.Field(i)) {
				return
			}
		}
	}
}

func within(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func writeJSON(from any) ([]byte, error) {
	var w jsonWriter
	text := w.object("", reflect.ValueOf(from))
	if err := w.err(); err != nil {
		return nil, err
	}
	return []byte(text), nil
}

type jsonWriter struct{ problems }

func (w *jsonWriter) object(path string, from reflect.Value) string {
	var members []string
	for name, field := range jsonFields(from) {
		if !field.IsZero() {
			members = append(members, strconv.Quote(name)+":"+w.value(within(path, name), field))
		}
	}
	return "{" + strings.Join(members, ",") + "}"
}

func (w *jsonWriter) value(path string, from reflect.Value) string {
	if from.Kind() == reflect.Struct {
		return w.object(path, from)
	}
	value := from.Interface()
	if d, ok := value.(time.Duration); ok {
		value = d.String()
	}
	text, err := json.Marshal(value)
	if err != nil {
		w.add("%s: must be a value that JSON can hold, got %v", path, value)
	}
	if s, ok := value.(string); ok && !utf8.ValidString(s) { // encoding/json would replace what is not
		w.add("%s: must be UTF-8, got %q", path, s)
	}
	return string(text)
}

func readJSON[T any](text []byte, into *T, validate func(T) error) error {
	var document json.RawMessage // without the space around it
	if err := json.Unmarshal(text, &document); err != nil {
		return err
	}
	next := *into
	fields := reflect.ValueOf(&next).Elem()
	var r jsonReader
	switch {
	case !utf8.Valid(document): // encoding/json would replace what is not
		r.add("must be UTF-8")
	case document[0] == '{':
		r.object("", document, fields)
	case !isNull(document):
		r.add("must be an object, got %s", shown(document))
	}
	var invalid *SettingsError
	if validate != nil && errors.As(validate(next), &invalid) {
		r.addInvalid(invalid.Problems, fields)
	}
	if err := r.err(); err != nil {
		return err
	}
	*into = next
	return nil
}

// jsonReader takes a document over into a struct, and reads on after a problem. The text is
// known to be JSON.
type jsonReader struct {
	problems
	unread []string // the paths of values that could not be read
}

func (r *jsonReader) object(path string, text json.RawMessage, into reflect.Value) {
	fields := maps.Collect(jsonFields(into))
	written := map[string]bool{}
	d := json.NewDecoder(bytes.NewReader(text))
	_, _ = d.Token() // the brace
	for d.More() {
		var value json.RawMessage
		token, _ := d.Token()
		_ = d.Decode(&value)
		name := token.(string)
		switch field, known := fields[name]; {
		case !known:
			r.add("%s: no such setting%s", within(path, plain(name)), suggestion(path, name, into))
		case written[name]:
			r.refuse(within(path, name), field, "written twice")
		default:
			r.value(within(path, name), value, field)
		}
		written[name] = true
	}
}

// suggestion names the setting that an unknown name was probably meant for, if there is one.
func suggestion(path, name string, of reflect.Value) string {
	for edits := range 3 {
		for candidate := range jsonFields(of) {
			if most := len(candidate) / 3; edits <= most && near(bare(name), bare(candidate), edits) {
				return ", did you mean " + within(path, candidate) + "?"
			}
		}
	}
	return ""
}

// bare takes off a name what people vary in it.
func bare(name string) string { return strings.ToLower(strings.ReplaceAll(name, "_", "")) }

// near reports that so many letters put in, taken out or replaced make b of a.
func near(a, b string, edits int) bool {
	for a != "" && b != "" && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	if a == "" || b == "" || edits == 0 {
		return max(len(a), len(b)) <= edits
	}
	return near(a[1:], b, edits-1) || near(a, b[1:], edits-1) || near(a[1:], b[1:], edits-1)
}

func (r *jsonReader) value(path string, text json.RawMessage, into reflect.Value) {
	switch {
	case isNull(text):
		return
	case into.Kind() == reflect.Struct && text[0] == '{':
		r.object(path, text, into)
		return
	}
	must, err := readScalar(text, into.Addr().Interface())
	if err == nil {
		return
	}
	if errors.Is(err, strconv.ErrRange) {
		must += " in the range of Go's " + into.Kind().String()
	}
	r.refuse(path, into, "must be "+must+", got "+shown(text))
}

// refuse leaves the default in place of a value that could not be read.
func (r *jsonReader) refuse(path string, field reflect.Value, why string) {
	r.add("%s: %s", path, why)
	r.unread = append(r.unread, path)
	field.SetZero()
}

// readScalar also tells what the text must be.
func readScalar(text json.RawMessage, into any) (must string, err error) {
	switch v := into.(type) {
	case *string:
		return "a string", json.Unmarshal(text, v)
	case *bool:
		return "true or false", json.Unmarshal(text, v)
	case *Jitter:
		return "one of " + strings.Join(jitterNames, ", "), json.Unmarshal(text, v)
	case *int:
		*v, err = strconv.Atoi(string(text))
		return "a whole number", err
	case *float64:
		*v, err = strconv.ParseFloat(string(text), 64)
		return "a number", err
	case *time.Duration:
		must = `a duration such as "30s"`
		var s string
		if err = json.Unmarshal(text, &s); err == nil {
			*v, err = time.ParseDuration(s)
		}
		if strings.HasSuffix(s, "d") {
			must += " (there are no days)"
		}
		return must, err
	case *Recovery:
		return `an object such as {"fraction": 0.25}`, errors.ErrUnsupported
	}
	return `an object such as {"off": true}`, errors.ErrUnsupported
}

func isNull(text json.RawMessage) bool { return string(text) == "null" }

// addInvalid adds problems of the values, which speak of the fields as Go does, in the words
// of the document. It leaves out those about a value that could not be read: what stands in
// its place is nothing that anyone wrote.
func (r *jsonReader) addInvalid(problems []string, fields reflect.Value) {
	inJSON := strings.NewReplacer(goAndJSONNames(fields.Type())...)
	for _, problem := range problems {
		problem = inJSON.Replace(problem)
		paths := strings.FieldsFunc(problem, func(c rune) bool { return c != '_' && c != '.' && !unicode.IsLetter(c) })
		if slices.ContainsFunc(paths, func(path string) bool { return slices.Contains(r.unread, path) }) {
			continue
		}
		if path, rule, ok := strings.Cut(problem, " must "); ok && !strings.Contains(path, " ") {
			problem = path + ": must " + rule
		}
		r.add("%s", problem)
	}
}

// goAndJSONNames returns the names of fields in pairs.
func goAndJSONNames(of reflect.Type) (pairs []string) {
	for i := range of.NumField() {
		field := of.Field(i)
		if name := field.Tag.Get("json"); name != "-" {
			pairs = append(pairs, field.Name, name)
		}
		if field.Type.Kind() == reflect.Struct {
			pairs = append(pairs, goAndJSONNames(field.Type)...)
		}
	}
	return pairs
}

// shown returns a value as a problem shows it. It may be of any size.
func shown(text json.RawMessage) string {
	switch text[0] {
	case '{':
		return "an object"
	case '[':
		return "an array"
	}
	return shortened(string(text))
}

// plain returns a name that nobody expected, which may be any string, as a part of a path.
func plain(name string) string {
	if quoted := strconv.Quote(name); quoted != `"`+name+`"` || name == "" || strings.ContainsAny(name, ". ") {
		name = quoted
	}
	return shortened(name)
}

func shortened(text string) string {
	const most = 60
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "..."
	}
	return text
}
