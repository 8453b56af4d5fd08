package simulation

import (
	"time"

	"github.com/normal-go/breaker"
)

// Report is what a run comes to. It is a plain value.
//
// Shares are in [0, 1] and rounded to six digits after the point. In JSON, names are in
// snake_case, durations are in seconds, and what is unknown is 0.
type Report struct {
	// Name, Seed, Duration, Instances and NoBreaker are the scenario's, with defaults
	// filled in. Duration is how long calls were offered. Replayed marks the report of a
	// [Replay], which knows nothing of incidents.
	Name      string        `json:"name"`
	Seed      uint64        `json:"seed"`
	Duration  time.Duration `json:"duration"`
	Instances int           `json:"instances"`
	NoBreaker bool          `json:"no_breaker"`
	Replayed  bool          `json:"replayed"`

	// Calls are counted once, by how they ended for their caller.
	Calls Calls `json:"calls"`

	// Attempts are counted each: a call that is retried makes several.
	Attempts Attempts `json:"attempts"`

	// LoadMultiplier is the attempts that reached the dependency for each call offered:
	// above 1 by retries, below 1 by refusals. 0 without calls.
	LoadMultiplier float64 `json:"load_multiplier"`

	// Goodput is Served as a share of what an oracle would have had served: one that knows
	// of each call what would become of it. 0 if that is none. With a capacity or a
	// dependency that warms it is a share of what could not have been served all together,
	// see the package's doc.
	Goodput float64 `json:"goodput"`

	// Incidents has an entry for each of the scenario's, in their order.
	Incidents []Outcome `json:"incidents"`

	// Opens are how often breakers opened, by cause, in the order of the causes; those
	// that did not occur are left out.
	Opens []Opens `json:"opens"`

	// FalseTrips are the opens that no trouble explains: at the time, and for Grace before
	// it, no incident was in force but harmless ones, and the dependency was warm and
	// turned no call away for lack of room. FalseTripsADay is the same for each 24 hours
	// and instance. Both are 0 if Replayed.
	FalseTrips     int     `json:"false_trips"`
	FalseTripsADay float64 `json:"false_trips_a_day"`

	// Probes are how the dependency was probed.
	Probes Probes `json:"probes"`

	// Latency is what callers waited, with all retries and pauses, for the calls that were
	// served; Waited the same for all calls.
	Latency Quantiles `json:"latency"`
	Waited  Quantiles `json:"waited"`

	// Worst is the second in which most calls ended without being served, the first of
	// equals; the zero Second if there is none. What ended after the run has no part in it.
	Worst Second `json:"worst"`

	// Transitions are the first 1,000 that Settings.OnTransition would be told of, of all
	// instances, in the order of time, with rates and evidence rounded to six digits after
	// the point. TransitionsInAll is how many there were.
	Transitions      []breaker.Transition `json:"transitions"`
	TransitionsInAll int                  `json:"transitions_in_all"`

	// Timeline has an entry for each second, also for those in which nothing happened. What
	// ended after the last is counted in it.
	Timeline []Second `json:"timeline"`
}

// Calls are calls by how they ended. Offered is the sum of the five after it.
type Calls struct {
	Offered   int64 `json:"offered"`
	Served    int64 `json:"served"`
	Failed    int64 `json:"failed"`    // the dependency failed, or took too long
	Throttled int64 `json:"throttled"` // it had a 429 for an answer
	Refused   int64 `json:"refused"`   // the breaker said no
	Canceled  int64 `json:"canceled"`  // the caller went away

	// RefusedServable and RefusedAnyway split Refused: into the calls that would have been
	// served by one of their caller's tries if the breaker had let them all through, with
	// the dependency as it was when the call was refused for the last time; and those that
	// would not. See the package's doc for what that means where load matters.
	RefusedServable int64 `json:"refused_servable"`
	RefusedAnyway   int64 `json:"refused_anyway"`
}

// Attempts are tries. Asked is the sum of Refused and Reached, and Reached the sum of the
// four after it.
type Attempts struct {
	Asked     int64 `json:"asked"`
	Refused   int64 `json:"refused"`
	Reached   int64 `json:"reached"` // the dependency
	OK        int64 `json:"ok"`
	Failed    int64 `json:"failed"`
	Throttled int64 `json:"throttled"`
	Canceled  int64 `json:"canceled"`

	// Dead are those that reached it while it could serve none: in an Outage, a Hang or the
	// down half of a Flapping that meets all calls.
	Dead int64 `json:"dead"`
}

// Outcome is what became of one incident.
type Outcome struct {
	Incident

	// Opened is how many instances opened during the incident, and FirstTrip and LastTrip
	// how long it took from its start to the first and the last of them; 0 if Opened is 0.
	// An instance that was open when the incident began counts if it opened again.
	Opened    int           `json:"opened"`
	FirstTrip time.Duration `json:"first_trip"`
	LastTrip  time.Duration `json:"last_trip"`

	// FullService is how long it took from its end to full service; 0 unless
	// FullServiceKnown. That is the end of the first whole second after the incident in
	// which calls ended, none was refused, every breaker was closed at its end, and of the
	// calls that were not canceled, at least nine tenths were served of what is when the
	// dependency is well: 1 - FailureRate. It is unknown for an incident that lasts to the
	// end of the run, and if it did not come before the end.
	FullService      time.Duration `json:"full_service"`
	FullServiceKnown bool          `json:"full_service_known"`

	// DeadAttempts is [Attempts.Dead] during the incident.
	DeadAttempts int64 `json:"dead_attempts"`
}

// Opens is how often breakers opened for one cause.
type Opens struct {
	Cause breaker.Cause `json:"cause"`
	Count int           `json:"count"`
}

// Probes are the attempts that breakers let through while half-open; of a shadow breaker,
// which lets everything through, none.
type Probes struct {
	// Count of all probes, and WorstSecond that of the second with most of them, which
	// WorstSecondAt begins; both 0 without probes. WorstSecond leaves out the probes that
	// came after the run.
	Count         int64         `json:"count"`
	WorstSecond   int           `json:"worst_second"`
	WorstSecondAt time.Duration `json:"worst_second_at"`

	// ShortestRest is the shortest time from an open to the next probe of the same
	// breaker: the rest that the dependency had of one instance. 0 unless there was one.
	ShortestRest time.Duration `json:"shortest_rest"`

	// ShortestGap is the shortest time between two probes of any breakers. 0 unless there
	// were two, or two came at the same instant.
	ShortestGap time.Duration `json:"shortest_gap"`
}

// Quantiles of a latency: never below the true value, and at most a 32nd above it from
// 32 µs on and 1 µs below that; Max is exact. All are 0 without calls.
type Quantiles struct {
	P50  time.Duration `json:"p50"`
	P90  time.Duration `json:"p90"`
	P99  time.Duration `json:"p99"`
	P999 time.Duration `json:"p999"`
	Max  time.Duration `json:"max"`
}

// Second is what happened in one second. Calls and attempts are counted in the second of
// what is said of them: offered in that of the offer, served in that of the answer.
type Second struct {
	// Start of the second, from the start of the run.
	Start time.Duration `json:"start"`

	// Offered, Served, Failed, Throttled, Refused and Canceled are calls, as in [Calls].
	Offered   int `json:"offered"`
	Served    int `json:"served"`
	Failed    int `json:"failed"`
	Throttled int `json:"throttled"`
	Refused   int `json:"refused"`
	Canceled  int `json:"canceled"`

	// Asked and Reached are attempts, as in [Attempts], and Probes those of a half-open
	// breaker.
	Asked   int `json:"asked"`
	Reached int `json:"reached"`
	Probes  int `json:"probes"`

	// Opens of breakers.
	Opens int `json:"opens"`

	// State is that of the first instance's breaker at the end of the second, as
	// [breaker.Breaker.State] reports it. Closed, Open, HalfOpen and Recovering are how
	// many instances are in each.
	State      breaker.State `json:"state"`
	Closed     int           `json:"closed"`
	Open       int           `json:"open"`
	HalfOpen   int           `json:"half_open"`
	Recovering int           `json:"recovering"`

	// AdmittedFraction is the share of calls that the first instance's breaker lets through
	// by its state, at the end of the second: 1 closed, 0 open and half-open, and what the
	// ramp admits.
	AdmittedFraction float64 `json:"admitted_fraction"`

	// LatencyP50 and LatencyP99 are of the calls served, as callers see them; 0 if there
	// were none.
	LatencyP50 time.Duration `json:"latency_p50"`
	LatencyP99 time.Duration `json:"latency_p99"`

	// What the first instance's breaker goes by, at the end of the second: the latency from
	// which a call is slow, and what is normal; the share of failures and of slow calls in
	// its trip window, and the share of failures that trips. 0 where there is none.
	SlowThreshold time.Duration `json:"slow_threshold"`
	NormalLatency time.Duration `json:"normal_latency"`
	FailureRate   float64       `json:"failure_rate"`
	SlowRate      float64       `json:"slow_rate"`
	TripRatio     float64       `json:"trip_ratio"`
}
