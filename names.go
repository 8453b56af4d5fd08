package breaker

import "fmt"

// The enumerations of the package share the text form below: a table of names,
// indexed by value. An empty name belongs to no value.

func nameOf(names []string, kind string, value uint8) string {
	if int(value) < len(names) && names[value] != "" {
		return names[value]
	}
	return fmt.Sprintf("%s(%d)", kind, value)
}

func marshalName(names []string, kind string, value uint8) ([]byte, error) {
	if int(value) < len(names) && names[value] != "" {
		return []byte(names[value]), nil
	}
	return nil, fmt.Errorf("breaker: %s(%d) has no name", kind, value)
}

func unmarshalName(names []string, kind string, value *uint8, text []byte) error {
	for i, name := range names {
		if name != "" && name == string(text) {
			*value = uint8(i)
			return nil
		}
	}
	return fmt.Errorf("breaker: %q is no %s", text, kind)
}
