package breaker_test

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
)

// randomSettings writes random fields, and keeps what Validate accepts.
func randomSettings(random *rand.Rand) breaker.Settings {
	var s breaker.Settings
	fields := jsonFields(reflect.ValueOf(&s).Elem(), "", "")
	random.Shuffle(len(fields), func(i, j int) { fields[i], fields[j] = fields[j], fields[i] })
	for _, field := range fields {
		switch v := field.value.Addr().Interface().(type) {
		case *string:
			*v = []string{"", "db", "a/b <c>", "é\u2028\n\"", "\ufffd"}[random.IntN(5)]
		case *bool:
			*v = random.IntN(4) == 0
		case *int:
			*v = int(random.Uint64() >> random.IntN(64))
		case *float64:
			*v = []float64{random.Float64(), random.ExpFloat64(), math.Exp(40 * random.NormFloat64()), tiny, 1}[random.IntN(5)]
		case *time.Duration:
			*v = time.Duration(random.Uint64() >> random.IntN(64))
		case *breaker.Jitter:
			*v = breaker.Jitter(random.IntN(3))
		}
		if s.Validate() != nil {
			field.value.SetZero()
		}
	}
	return s
}

func TestSettingsSurviveJSON(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	seen := map[string]int{}
	for range 2000 {
		s := randomSettings(random)
		require.NoError(t, s.Validate())
		for _, field := range jsonFields(reflect.ValueOf(s), "", "") {
			if !field.value.IsZero() {
				seen[field.path]++
			}
		}
		text, err := json.Marshal(s)
		require.NoError(t, err, "%+v", s)
		var back breaker.Settings
		require.NoError(t, json.Unmarshal(text, &back), "%s", text)
		require.Equal(t, s, back, "%s", text)
	}
	for _, field := range jsonFields(reflect.ValueOf(breaker.Settings{}), "", "") {
		require.Greater(t, seen[field.path], 20, "%s was hardly ever written", field.path)
	}
}

func FuzzSettingsJSON(f *testing.F) {
	f.Add([]byte(wholeDocument))
	f.Fuzz(func(t *testing.T, document []byte) {
		for _, over := range []breaker.Settings{{}, wholeSettings} {
			s := over
			if err := json.Unmarshal(document, &s); err != nil {
				require.Equal(t, over, s)
				require.Equal(t, err, s.UnmarshalJSON(document))
				require.Equal(t, over, s)
				continue
			}
			require.NoError(t, s.Validate())
			text, err := json.Marshal(s)
			require.NoError(t, err)
			var back breaker.Settings
			require.NoError(t, json.Unmarshal(text, &back))
			require.Equal(t, s, back)
		}
	})
}
