package breakerhttp

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/normal-go/breaker"
)

// HealthOptions are the options of [HealthHandler]. The zero value, and a nil pointer, mean
// status 200 for everything.
type HealthOptions struct {
	// OK and Degraded are the HTTP statuses of an answer with that status, from 200 to
	// 599; 0 is 200. Think twice before Degraded is a 503: whoever restarts this
	// process, or takes its traffic away, because of what it calls, mends nothing, and
	// the breaker forgets all that it knows.
	OK, Degraded int
}

// HealthHandler reports on the breakers of source, as they are when it is asked:
//
//	{"status":"degraded","breakers":[
//	 {"name":"db","state":"open","since":"2026-03-02T03:04:05Z","cause":"slow-calls",
//	  "opened_at":"2026-03-02T03:04:05Z","retry_after_seconds":7.25,
//	  "normal_latency_seconds":0.038911,"normal_failure_rate":0.01}]}
//
// The status is "ok" if every breaker is closed, and "degraded" otherwise. A shadow breaker,
// which refuses nothing, is reported with "shadow":true and degrades nothing. In each
// breaker:
//
//   - state is what the next call would find.
//   - since is when that began, and cause the [breaker.Cause] of the move; both are absent
//     where there has been no move. The end of a break and of a ramp is reported before a
//     call makes the move: without since for a ramp, and for a break that
//     [breaker.Breaker.ProbeNow] ended.
//   - opened_at is when it opened or was isolated, absent if it is closed.
//   - retry_after_seconds is what is left of its break, absent if it is not open.
//   - normal_latency_seconds and normal_failure_rate are absent where they are not known.
//
// The breakers are in the order of their names, those of one name in the order of what is
// reported of them. One that comes twice from the source is reported once.
//
// To ask contacts nothing, takes no probe slot and changes nothing a breaker would decide
// by, so it may be asked as often as anyone likes. Methods other than GET and HEAD are
// answered with 405. The media type is application/json: the draft behind
// application/health+json knows the statuses pass, warn and fail and ties them to HTTP
// statuses, which this answer does not.
//
// HealthHandler panics if source is nil, and on HTTP statuses that it cannot send.
func HealthHandler(source breaker.Source, options *HealthOptions) http.Handler {
	if source == nil {
		panic("breakerhttp: HealthHandler with a nil source")
	}
	if options == nil {
		options = &HealthOptions{}
	}
	h := &healthHandler{
		source:   source,
		ok:       cmp.Or(options.OK, http.StatusOK),
		degraded: cmp.Or(options.Degraded, http.StatusOK),
	}
	for _, code := range []int{h.ok, h.degraded} {
		if code < 200 || code > 599 {
			panic(fmt.Sprintf("breakerhttp: HealthOptions with status %d, which is not in 200 to 599", code))
		}
	}
	return h
}

type healthHandler struct {
	source       breaker.Source
	ok, degraded int
}

func (h *healthHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		header.Set("Allow", "GET, HEAD")
		http.Error(w, http.StatusText(http.StatusMethodNotAllowed), http.StatusMethodNotAllowed)
		return
	}
	report := healthReport{Status: "ok", Breakers: []*breakerHealth{}}
	code := h.ok
	seen := map[*breaker.Breaker]bool{}
	for b := range h.source.Breakers() {
		if seen[b] {
			continue
		}
		seen[b] = true
		health := newBreakerHealth(b.Snapshot())
		if health.State != breaker.Closed && !health.Shadow {
			report.Status, code = "degraded", h.degraded
		}
		report.Breakers = append(report.Breakers, health)
	}
	slices.SortFunc(report.Breakers, func(a, b *breakerHealth) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), bytes.Compare(a.text, b.text))
	})
	text, err := json.Marshal(report)
	if err != nil { // there is nothing in it that JSON has no word for
		panic(err)
	}
	header.Set("Content-Type", "application/json")
	header.Set("Cache-Control", "no-store")
	header.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(code)
	_, _ = w.Write(append(text, '\n'))
}

type healthReport struct {
	Status   string           `json:"status"`
	Breakers []*breakerHealth `json:"breakers"`
}

// breakerHealth is what is reported of one breaker.
type breakerHealth struct {
	Name              string         `json:"name"`
	Shadow            bool           `json:"shadow,omitzero"`
	State             breaker.State  `json:"state"`
	Since             time.Time      `json:"since,omitzero"`
	Cause             *breaker.Cause `json:"cause,omitempty"`
	OpenedAt          time.Time      `json:"opened_at,omitzero"`
	RetryAfter        *float64       `json:"retry_after_seconds,omitempty"`
	NormalLatency     *float64       `json:"normal_latency_seconds,omitempty"`
	NormalFailureRate *float64       `json:"normal_failure_rate,omitempty"`

	text []byte // all of it, to sort by
}

func (h *breakerHealth) MarshalJSON() ([]byte, error) { return h.text, nil }

func newBreakerHealth(s breaker.Snapshot) *breakerHealth {
	h := &breakerHealth{Name: s.Name, Shadow: s.Shadow, State: s.State}
	var cause breaker.Cause
	if h.Since, cause = lastMove(s); cause != 0 {
		h.Cause = &cause
	}
	if !s.OpenedAt.IsZero() {
		h.OpenedAt = s.OpenedAt.UTC()
	}
	seconds := s.RetryAfter.Seconds()
	if s.RetryAfterKnown && s.State == breaker.Open {
		h.RetryAfter = &seconds
	}
	normal := s.NormalLatency.Seconds()
	if s.NormalLatencyKnown {
		h.NormalLatency = &normal
	}
	if s.NormalFailureRateKnown {
		h.NormalFailureRate = &s.NormalFailureRate
	}
	type plain breakerHealth
	text, err := json.Marshal((*plain)(h))
	if err != nil {
		panic(err)
	}
	h.text = text
	return h
}

// lastMove returns when and why the breaker came into the state that the snapshot reports,
// which may be ahead of the last move that a call has made.
func lastMove(s breaker.Snapshot) (since time.Time, cause breaker.Cause) {
	last := s.Last
	switch {
	case last == nil:
		return since, 0
	case s.State == last.To:
		return last.At.UTC(), last.Cause
	case last.To == breaker.Open:
		if end := last.At.Add(last.Break); !end.After(s.At) {
			return end.UTC(), breaker.CauseBreakElapsed
		}
		return since, breaker.CauseProbeRequested
	}
	return since, breaker.CauseRampCompleted
}
