// Configfile reads the settings of several breakers from a file, in YAML or in TOML. The
// libraries know nothing of breakers: what they read goes through encoding/json.
//
// Settings in code come first, and the file changes what it names.
package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/pelletier/go-toml/v2"
	"sigs.k8s.io/yaml"

	"github.com/normal-go/breaker"
)

//go:embed breakers.yaml
var inYAML []byte

//go:embed breakers.toml
var inTOML []byte

func fromYAML(document []byte, inCode breaker.Settings) (map[string]breaker.Settings, error) {
	text, err := yaml.YAMLToJSONStrict(document) // strict: no name twice
	if err != nil {
		return nil, err
	}
	return fromJSON(text, inCode)
}

func fromTOML(document []byte, inCode breaker.Settings) (map[string]breaker.Settings, error) {
	var tables map[string]any
	if err := toml.Unmarshal(document, &tables); err != nil {
		return nil, err
	}
	text, err := json.Marshal(tables)
	if err != nil {
		return nil, err
	}
	return fromJSON(text, inCode)
}

// fromJSON returns the settings of each breaker, or all that is wrong with any of them.
// The values stay as they are written until it is known what they go over: encoding/json
// would begin each element of a map from zero, and stop at the first error.
func fromJSON(text []byte, inCode breaker.Settings) (map[string]breaker.Settings, error) {
	var file struct {
		Breakers map[string]json.RawMessage `json:"breakers"`
	}
	whole := json.NewDecoder(bytes.NewReader(text))
	whole.DisallowUnknownFields()
	if err := whole.Decode(&file); err != nil {
		return nil, err
	}
	breakers := map[string]breaker.Settings{}
	var problems []error
	for _, name := range slices.Sorted(maps.Keys(file.Breakers)) {
		settings := inCode
		settings.Name = name
		if err := json.Unmarshal(file.Breakers[name], &settings); err != nil {
			problems = append(problems, fmt.Errorf("breakers.%s: %w", name, err))
		}
		breakers[name] = settings
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	return breakers, nil
}

func main() {
	inCode := breaker.Settings{ProbeTimeout: 2 * time.Second}
	fmt.Println("breakers.yaml")
	show(fromYAML(inYAML, inCode))
	fmt.Println("breakers.toml")
	show(fromTOML(inTOML, inCode))

	fmt.Println("with mistakes")
	show(fromYAML([]byte(`{breakers: {db: {trip_window: 60, failures: {multiple: 0.5}}, search: {tripwindow: 1m}}}`), inCode))
}

func show(breakers map[string]breaker.Settings, err error) {
	if err != nil {
		fmt.Println(err)
	}
	for _, name := range slices.Sorted(maps.Keys(breakers)) {
		text, err := json.Marshal(breakers[name])
		if err != nil {
			panic(err) // what came from a file goes back into one
		}
		fmt.Printf("%s\n", text)
	}
}
