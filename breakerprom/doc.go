// Package breakerprom shows circuit breakers to Prometheus.
//
// A [Collector] reads the breakers of a [breaker.Source], one snapshot of each, whenever
// Prometheus scrapes:
//
//	prometheus.MustRegister(breakerprom.NewCollector(source, nil))
//
// # Metrics
//
//   - breaker_state{breaker, state}, gauge: 1 for the state that the next call would
//     find, and 0 for the others.
//   - breaker_state_seconds_total{breaker, state}, counter: Time spent in each state,
//     from transition to transition: an open breaker is half-open from the first
//     probe on.
//   - breaker_transitions_total{breaker, to, cause}, counter: Changes of state, by
//     what it became and why.
//   - breaker_last_transition_timestamp_seconds{breaker}, gauge: When the state last
//     changed. Absent before it first did.
//   - breaker_shadow{breaker}, gauge: 1 if the breaker is a dry run, which refuses
//     nothing, and 0 if not.
//   - breaker_calls_total{breaker, verdict}, counter: Admitted calls that have ended,
//     by verdict; released are those that ended without one.
//   - breaker_slow_calls_total{breaker}, counter: Those of the calls with verdict ok
//     that were slow.
//   - breaker_stale_calls_total{breaker}, counter: Those of the calls whose outcome
//     came too late to decide anything.
//   - breaker_refused_calls_total{breaker}, counter: Calls that were refused and did
//     not run.
//   - breaker_would_refuse_calls_total{breaker, verdict}, counter: Calls that a dry
//     run would have refused, by how they ended. They are in no other count.
//   - breaker_probes_total{breaker, outcome}, counter: Probes, by what they decided.
//   - breaker_probes_in_flight{breaker}, gauge: Probe slots taken.
//   - breaker_window_calls{breaker}, gauge: Calls in the trip window. Absent if no
//     rate trip is configured.
//   - breaker_window_failures{breaker}, gauge: Failures in the trip window. Absent if
//     no rate trip is configured.
//   - breaker_window_slow_calls{breaker}, gauge: Slow calls in the trip window.
//     Absent if no rate trip is configured.
//   - breaker_trip_ratio{breaker}, gauge: Share of failures in the trip window that
//     opens the breaker, if it is more than chance. Absent if there is none.
//   - breaker_consecutive_failures{breaker}, gauge: Failures in a row.
//   - breaker_consecutive_failures_needed{breaker}, gauge: Failures in a row that
//     open a closed breaker.
//   - breaker_normal_failure_ratio{breaker}, gauge: Share of calls that normally
//     fail. Absent while it is not known.
//   - breaker_normal_latency_seconds{breaker}, gauge: Normal latency. Absent while it
//     is not known.
//   - breaker_slow_threshold_seconds{breaker}, gauge: Latency from which a call is
//     slow. Absent while there is none.
//   - breaker_consecutive_opens{breaker}, gauge: Opens since the breaker last closed
//     cleanly.
//   - breaker_break_seconds{breaker}, gauge: Length of the break being served or,
//     half-open and recovering, just served. Absent when closed or isolated.
//   - breaker_retry_after_seconds{breaker}, gauge: Time until the next call may be a
//     probe; 0 if the break is over and nobody has called. Absent otherwise.
//   - breaker_admitted_ratio{breaker}, gauge: Share of the calls that a ramp admits.
//     Absent unless recovering.
//   - breaker_collector_breakers{state}, gauge: Breakers in the source by state,
//     those without series of their own too.
//   - breaker_collector_dropped_breakers{reason}, gauge: Breakers in the source
//     without series of their own: past the limit, or of a name that another has.
//
// Every counter is there before the first call. What is not known has no series. Those of
// a breaker that a [breaker.Scope] has let go disappear; if its key comes back, counters
// begin at zero.
//
// The values of the labels, what to alert on, and how to read it all are in
// docs/integrations.md, "Prometheus". Alerting rules, with their tests, and a Grafana
// dashboard are beside this package: rules.yml, rules_test.yml and dashboard.json.
package breakerprom
