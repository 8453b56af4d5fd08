// Package breakerotel shows circuit breakers to OpenTelemetry: what they measure as metrics,
// and what they did to a call as marks on its span.
//
// # Metrics
//
//	registration, err := breakerotel.Register(nil, breakers, nil)
//
// Any [breaker.Source] will do: a breaker, a list, a scope, a registry. At each collection
// each breaker is asked once, for one [breaker.Snapshot], so all numbers of a breaker are of
// one instant. The instruments, each with the attribute breaker.name:
//
//	breaker.status                       1 for the state it is in, else 0, by breaker.state
//	breaker.time                         time spent in each breaker.state
//	breaker.transitions                  changes of state, by breaker.to and breaker.cause
//	breaker.last_transition.timestamp    when the state last changed
//	breaker.shadow                       1 for a dry run, which refuses nothing, else 0
//	breaker.calls                        admitted calls that have ended, by breaker.verdict
//	breaker.slow_calls                   slow calls, among those that are ok
//	breaker.stale_calls                  calls that ended too late to decide anything
//	breaker.refused_calls                calls that did not run
//	breaker.would_refuse_calls           calls that a dry run would have refused, by breaker.verdict
//	breaker.probes                       probes, by breaker.outcome
//	breaker.probes_in_flight             probe slots taken
//	breaker.window.calls                 calls in the trip window
//	breaker.window.failures              those that failed
//	breaker.window.slow_calls            those that were slow
//	breaker.trip_ratio                   the share of failures in the window that opens it
//	breaker.consecutive_failures         failures in a row
//	breaker.consecutive_failures_needed  failures in a row that open it
//	breaker.normal_failure_ratio         the share of its calls that usually fails
//	breaker.normal_latency               what the dependency usually takes
//	breaker.slow_threshold               the latency from which a call is slow
//	breaker.consecutive_opens            opens without a clean close between them
//	breaker.break                        the break being served, or just served
//	breaker.retry_after                  time until the next probe
//	breaker.admitted_ratio               the share of the calls that a ramp admits
//
// and two without it:
//
//	breaker.count                        breakers, by breaker.state
//	breaker.dropped_breakers             breakers that are not shown, by breaker.reason
//
// Kinds, units and values of attributes are in docs/integrations.md. What is not known is not
// observed: there is no zero that nobody measured.
//
// Every breaker has its series from the first collection on, before its first call. They end
// when the source no longer yields it.
//
// # Traces
//
// Three functions mark the span in a context. [Do] and [Call] are those of package breaker with
// two of them built in, and the third is a listener:
//
//	b := breaker.MustNew(breaker.Settings{Name: "db", OnTransition: breakerotel.MarkTransition})
//	err := breakerotel.Do(ctx, b, query)
//
// The marks are:
//
//   - [MarkRefusal]: attribute breaker.refused, event breaker.refusal. The call did not run. A
//     span that failed without it failed because of what was called.
//   - [MarkProbe]: attribute breaker.probe, event breaker.probe. The call tries out whether
//     the dependency is back.
//   - [MarkTransition]: attribute breaker.cause, event breaker.transition. The call changed
//     the state of the breaker.
//
// The attributes are there to search for; the events tell which breaker it was, where a span
// goes through several. No span is started, and no status is set: whether a refusal is an
// error is for whoever owns the span to say, who may have had another answer.
//
// # Semantic conventions
//
// OpenTelemetry has no conventions for circuit breakers: release 1.44 of them does not
// mention any. So the names are this library's own, in a namespace of their own, by the
// conventions' rules: counters in the plural and without "total", units in UCUM, durations in
// seconds, and the state as the rules for state metrics have it, an up-down counter called
// status with one series for each value of the attribute state.
//
// Span events are what the trace API of Go offers today. To have transitions as log records
// instead, or besides, use package breakerslog and a bridge from log/slog to OpenTelemetry.
//
// # Concurrency
//
// All of it is safe for concurrent use. The package starts no goroutine.
package breakerotel
