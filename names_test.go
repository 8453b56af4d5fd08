package breaker_test

import (
	"encoding"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
)

var (
	stateTexts = map[breaker.State]string{
		breaker.Closed:     "closed",
		breaker.Open:       "open",
		breaker.HalfOpen:   "half-open",
		breaker.Recovering: "recovering",
		breaker.Isolated:   "isolated",
	}
	jitterTexts = map[breaker.Jitter]string{
		breaker.JitterEqual: "equal",
		breaker.JitterNone:  "none",
		breaker.JitterFull:  "full",
	}
	causeTexts = map[breaker.Cause]string{
		breaker.CauseConsecutiveFailures: "consecutive-failures",
		breaker.CauseFailureRatio:        "failure-ratio",
		breaker.CauseRelativeFailures:    "relative-failures",
		breaker.CauseSlowCalls:           "slow-calls",
		breaker.CauseProbeFailed:         "probe-failed",
		breaker.CauseSlowProbe:           "slow-probe",
		breaker.CauseProbesInconclusive:  "probes-inconclusive",
		breaker.CauseRampFailed:          "ramp-failed",
		breaker.CauseBreakElapsed:        "break-elapsed",
		breaker.CauseProbeRequested:      "probe-requested",
		breaker.CauseProbesSucceeded:     "probes-succeeded",
		breaker.CauseRampCompleted:       "ramp-completed",
		breaker.CauseIsolated:            "isolated",
		breaker.CauseReset:               "reset",
	}
	verdictTexts = map[breaker.Verdict]string{
		breaker.OK:        "ok",
		breaker.Transient: "transient",
		breaker.Throttled: "throttled",
		breaker.Permanent: "permanent",
		breaker.Canceled:  "canceled",
	}
	reasonTexts = map[breaker.Reason]string{
		breaker.DependencyUnavailable: "dependency unavailable",
		breaker.BudgetExhausted:       "budget exhausted",
	}
)

func TestZeroValuesOfEnumerations(t *testing.T) {
	require.Equal(t, breaker.Closed, breaker.State(0))
	require.Equal(t, breaker.OK, breaker.Verdict(0))
	require.Equal(t, breaker.JitterEqual, breaker.Jitter(0))
	require.Equal(t, breaker.DependencyUnavailable, breaker.Reason(0))
	require.NotContains(t, causeTexts, breaker.Cause(0))
}

func TestNamesOfEnumerations(t *testing.T) {
	testNames(t, "State", stateTexts)
	testNames(t, "Jitter", jitterTexts)
	testNames(t, "Cause", causeTexts)
	testNames(t, "Verdict", verdictTexts)
	testNames(t, "Reason", reasonTexts)
}

// testNames looks at every value that there can be: those in the table have their name,
// and the others say what they are.
func testNames[E interface {
	~uint8
	fmt.Stringer
}](t *testing.T, kind string, names map[E]string) {
	for i := range 256 {
		e := E(i)
		want, ok := names[e]
		if !ok {
			want = fmt.Sprintf("%s(%d)", kind, i)
		}
		require.Equal(t, want, e.String())
	}
}

func TestTextOfEnumerations(t *testing.T) {
	testText[breaker.State](t, "State", stateTexts)
	testText[breaker.Jitter](t, "Jitter", jitterTexts)
	testText[breaker.Cause](t, "Cause", causeTexts)
}

// testText takes every value to text and back, and every text that is none.
func testText[E interface {
	~uint8
	encoding.TextMarshaler
}, P interface {
	*E
	encoding.TextUnmarshaler
}](t *testing.T, kind string, names map[E]string) {
	for i := range 256 {
		e := E(i)
		text, err := e.MarshalText()
		want, ok := names[e]
		if !ok {
			require.EqualError(t, err, fmt.Sprintf("breaker: %s(%d) has no name", kind, i))
			require.Empty(t, text)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, want, string(text))
		back := ^e
		require.NoError(t, P(&back).UnmarshalText(text))
		require.Equal(t, e, back)
	}
	for _, text := range []string{"", " ", "Closed", "OPEN", "half open", "open ", kind + "(0)", "0"} {
		e := E(2)
		require.EqualError(t, P(&e).UnmarshalText([]byte(text)), fmt.Sprintf("breaker: %q is no %s", text, kind))
		require.Equal(t, E(2), e, "an error leaves the value as it was")
	}
}

// Values and map keys alike are words in JSON.
func TestEnumerationsInJSON(t *testing.T) {
	type document struct {
		State   breaker.State
		Jitter  breaker.Jitter
		Cause   breaker.Cause
		ByState map[breaker.State]int
	}
	want := document{
		State:   breaker.HalfOpen,
		Jitter:  breaker.JitterFull,
		Cause:   breaker.CauseSlowProbe,
		ByState: map[breaker.State]int{breaker.Recovering: 3},
	}
	text, err := json.Marshal(want)
	require.NoError(t, err)
	require.JSONEq(t, `{"State":"half-open","Jitter":"full","Cause":"slow-probe","ByState":{"recovering":3}}`, string(text))
	var got document
	require.NoError(t, json.Unmarshal(text, &got))
	require.Equal(t, want, got)
}
