// Package simulation shows what a breaker's settings do before they are in use: it runs
// the real breaker, through its public API, on a clock of its own against a modelled
// dependency, and reports what the breaker cost and what it saved.
//
//	report, err := simulation.Run(ctx, simulation.Scenario{
//		Name:       "outage",
//		Duration:   5 * time.Minute,
//		Load:       simulation.Load{Rate: 100, Poisson: true},
//		Dependency: simulation.Dependency{Median: 20 * time.Millisecond, P99: 80 * time.Millisecond},
//		Callers:    simulation.Callers{Deadline: time.Second},
//		Incidents:  []simulation.Incident{{Kind: simulation.Outage, Start: 2 * time.Minute, Duration: time.Minute}},
//		Settings:   breaker.Settings{Name: "db"},
//	})
//	fmt.Print(report)
//
// A [Scenario] is plain data, and can be read from JSON. A [Replay] runs the breaker over
// calls that really happened.
//
// # What is real and what is a model
//
// The breaker is the library's own: it is asked with TryAdmit, told with Done and by the
// context of the call, and knows nothing of the simulation but its clock. The 100 ms that
// a refused caller waits in Do pass on that clock too. Dependency, load and callers are
// models, and no simpler than they have to be: see [Dependency], [Incident], [Load] and
// [Callers].
//
// # The same every time
//
// A report is a function of its scenario: the same seed gives the same bytes, on every
// machine. The one thing that machines may disagree on is the last digit of a logarithm,
// which the breaker weighs its evidence with; the report rounds it off, and a decision
// would have to hang on it. What happens to a call is drawn when it is offered, whatever
// the breaker says to it, so two settings, compared on one seed, see the same calls with
// the same luck.
//
// # What would have been
//
// Of a call that is refused, the model is asked what would have become of it, without the
// call being load on the dependency. Where load is what makes calls fail (a capacity, or a
// dependency that warms), that makes the breaker look worse than it is: the calls it kept
// away would have been served one by one, but not all of them together. [Scenario.NoBreaker]
// shows what becomes of them together.
//
// # Concurrency
//
// A run is one goroutine, the caller's. Runs share nothing, so they may run side by side.
//
// docs/simulation.md walks through a run.
package simulation
