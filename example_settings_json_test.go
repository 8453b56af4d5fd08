package breaker_test

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/normal-go/breaker"
)

func ExampleSettings_UnmarshalJSON() {
	settings := breaker.Settings{ // in code
		Name:     "db",
		Recovery: breaker.RecoveryOver(0.25),
	}
	file := `{
		"trip_window": "1m",
		"failures": {"multiple": 4, "window": "10m"},
		"recovery": {"maximum_duration": "1m"}
	}`
	if err := json.Unmarshal([]byte(file), &settings); err != nil {
		fmt.Println(err)
	}
	b := breaker.MustNew(settings)
	fmt.Println(b.Name(), "trips on what happened in", b.Settings().TripWindow)
	fmt.Println("and ramps for", b.Settings().Recovery.Fraction, "of a break, up to", b.Settings().Recovery.MaximumDuration)

	file = `{
		"trip_window": 60,
		"trip_calls": 5.5,
		"failures": {"multiple": 1, "windw": "10m"},
		"break_jitter": "some"
	}`
	var invalid *breaker.SettingsError
	if errors.As(json.Unmarshal([]byte(file), &settings), &invalid) {
		for _, problem := range invalid.Problems {
			fmt.Println(problem)
		}
	}
	fmt.Println("still", settings.TripWindow)
	// Output:
	// db trips on what happened in 1m0s
	// and ramps for 0.25 of a break, up to 1m0s
	// trip_window: must be a duration such as "30s", got 60
	// trip_calls: must be a whole number, got 5.5
	// failures.windw: no such setting, did you mean failures.window?
	// break_jitter: must be one of equal, none, full, got "some"
	// failures.multiple: must be a finite number above 1, got 1
	// still 1m0s
}

func ExampleSettings_MarshalJSON() {
	text, err := json.Marshal(breaker.Settings{
		Name:        "db",
		BreakJitter: breaker.JitterNone,
		SlowCalls:   breaker.SlowCalls{Off: true},
		Recovery:    breaker.RecoveryOver(0.25),
	})
	fmt.Println(string(text), err)
	// Output: {"name":"db","slow_calls":{"off":true},"break_jitter":"none","recovery":{"fraction":0.25,"minimum_duration":"1s","maximum_duration":"30s","initial_fraction":0.05}} <nil>
}
