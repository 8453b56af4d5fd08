package simulation_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker/simulation"
)

func TestIncidentsInWords(t *testing.T) {
	for want, i := range map[string]simulation.Incident{
		"brownout, 10 times as slow, 10s to 20s":                     factor(incident(simulation.Brownout), 10),
		"brownout, 2.5 times as slow, 30 % of the calls, 10s to 20s": shareOf(factor(incident(simulation.Brownout), 2.5), 0.3),
		"latency, 2 times as slow, from 0s on":                       {Kind: simulation.Latency, Factor: 2},
		"outage, 10s to 20s":                                         incident(simulation.Outage),
		"flapping, every 20s, from 1m0s on":                          {Kind: simulation.Flapping, Start: time.Minute},
		"capacity, 300 calls a second, from 0s on":                   {Kind: simulation.Capacity, Rate: 300},
	} {
		require.Equal(t, want, i.String())
	}
}

func TestReportSaysWhatThereIsToSay(t *testing.T) {
	late := incident(simulation.Outage)
	late.Start = time.Hour
	s := steady(incident(simulation.Outage), late)
	r := run(t, s)
	require.Contains(t, r.String(), "simulation: 30s, 1 instance, no breaker, seed 0\n")
	require.Contains(t, r.String(), "1000 attempts met it dead\n  full service 1s after its end\n")
	require.Contains(t, r.String(), "the run was over")
	require.NotContains(t, r.String(), "opens")

	s.NoBreaker, s.Instances, s.Duration = false, 2, 20*time.Second
	r = run(t, s)
	require.Regexp(t, `2 of 2 opened, the first after \S+, the last after \S+\n`, r.String())
	require.Contains(t, r.String(), "no full service before the end of the run")
	require.NotRegexp(t, `(?m) $`, r.String())
	require.Regexp(t, `^outage, 10s to 20s; 2 opened, the first after \S+, the last after \S+; \d+ attempts met it dead$`, r.Incidents[0].String())
	r.Incidents[0].FullService, r.Incidents[0].FullServiceKnown = time.Second, true
	require.Regexp(t, `; full service 1s after its end$`, r.Incidents[0].String())
	require.Equal(t, "outage, 10s to 20s", simulation.Outcome{Incident: incident(simulation.Outage)}.String())

	var text bytes.Buffer
	n, err := r.WriteTo(&text)
	require.NoError(t, err)
	require.EqualValues(t, text.Len(), n)
	require.Equal(t, r.String(), text.String())
}
