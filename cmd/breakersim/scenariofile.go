package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/normal-go/breaker"
	"github.com/normal-go/breaker/simulation"
)

// standardInput is the name of a file that stands for it.
const standardInput = "-"

// readScenario reads an incident file. One without a name takes the file's.
func readScenario(s streams, path string) (simulation.Scenario, error) {
	scenario := simulation.Scenario{Name: nameFrom(path)}
	err := readYAML(s, path, &scenario)
	return scenario, err
}

// readSettings reads a file over the settings that there are.
func readSettings(s streams, path string, over breaker.Settings) (breaker.Settings, error) {
	err := readYAML(s, path, &over)
	return over, err
}

// shown returns a file's name as an error has it.
func shown(path string) string {
	if path == standardInput {
		return "standard input"
	}
	return path
}

func nameFrom(path string) string {
	base := filepath.Base(shown(path))
	return strings.TrimSuffix(base, filepath.Ext(base))
}

// readYAML reads YAML, of which JSON is a part, into what reads JSON.
func readYAML(s streams, path string, into any) error {
	text, err := readAll(s, path)
	if err != nil {
		return err
	}
	asJSON, err := yaml.YAMLToJSONStrict(text) // strict: no name twice
	if err != nil {
		for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(err) {
			err = inner
		}
		words := strings.TrimPrefix(err.Error(), "error converting YAML to JSON: ")
		return inFile{shown(path), errors.New(words)}
	}
	if err := json.Unmarshal(asJSON, into); err != nil {
		return inFile{shown(path), err}
	}
	return nil
}

func readAll(s streams, path string) ([]byte, error) {
	if path == standardInput {
		text, err := io.ReadAll(s.in)
		if err != nil {
			return nil, fmt.Errorf("standard input: %w", err)
		}
		return text, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fileError(err)
	}
	return text, nil
}

// fileError says what is wrong with which file, and not which system call found it.
func fileError(err error) error {
	var p *os.PathError
	if errors.As(err, &p) {
		return fmt.Errorf("%s: %w", p.Path, p.Err)
	}
	return err
}
