package breakerhttp

import (
	"encoding/json"
	"math"
	"reflect"
	"strconv"
	"time"

	"github.com/normal-go/breaker"
)

// boardFields is what a tile shows, as it goes to the page: one flat value, so that what
// has changed since the last time can be told field by field. Times are milliseconds of
// the day's clock, lengths are seconds, and 0 is none or not known, but where noted.
type boardFields struct {
	Name   string `json:"name"`
	Shadow bool   `json:"shadow"`
	State  string `json:"state"`
	Since  int64  `json:"since"` // of State
	Until  int64  `json:"until"` // when the break ends
	Data   bool   `json:"data"`  // anything has happened at all

	Break    float64 `json:"break"`
	Opens    int     `json:"opens"` // without a clean close
	Admitted float64 `json:"admitted"`

	Probes       int `json:"probes"` // in flight
	ProbeSlots   int `json:"probe_slots"`
	ProbesNeeded int `json:"probes_needed"`
	ProbesFailed int `json:"probes_failed"` // since the trip, and so on
	ProbesSlow   int `json:"probes_slow"`
	ProbesVoid   int `json:"probes_void"`

	Window    bool    `json:"window"` // the next ones are known
	Calls     int     `json:"calls"`
	Failures  int     `json:"failures"`
	Slow      int     `json:"slow"`
	TripPoint float64 `json:"trip_point"`
	Surprise  float64 `json:"surprise"`
	Required  float64 `json:"required"`

	// Whether the trips are on that follow what is normal.
	Adaptive     bool     `json:"adaptive"`
	AdaptiveSlow bool     `json:"adaptive_slow"`
	NormalRate   *float64 `json:"normal_rate"` // nil: not known

	SlowTripPoint float64 `json:"slow_trip_point"`
	SlowSurprise  float64 `json:"slow_surprise"`
	SlowRequired  float64 `json:"slow_required"`
	SlowThreshold float64 `json:"slow_threshold"`
	NormalLatency float64 `json:"normal_latency"`
	MinimumCalls  int     `json:"minimum_calls"`
	TripWindow    float64 `json:"trip_window"`
	Run           int     `json:"run"`
	RunNeeded     int     `json:"run_needed"`

	OK          uint64 `json:"ok"`
	Transient   uint64 `json:"transient"`
	Throttled   uint64 `json:"throttled"`
	Permanent   uint64 `json:"permanent"`
	Canceled    uint64 `json:"canceled"`
	Released    uint64 `json:"released"`
	Refused     uint64 `json:"refused"`
	Late        uint64 `json:"late"`
	SlowTotal   uint64 `json:"slow_total"`
	WouldRefuse uint64 `json:"would_refuse"`
	Recoveries  uint64 `json:"recoveries"`

	Seq uint64 `json:"seq"` // of the newest transition

	// Trip is the transition that began the trouble, or the newest trouble there was.
	// Last is the newest. Both as the core writes them, "null" if there was none.
	Trip json.RawMessage `json:"trip"`
	Last json.RawMessage `json:"last"`
}

// boardCut is one breaker as it was read.
type boardCut struct {
	breaker   *breaker.Breaker
	snapshot  breaker.Snapshot
	effective breaker.Settings
	history   []breaker.Transition // nil unless it is longer than when last read
}

// cut reads a breaker. b.sampling is held, so nobody else changes what has been shown.
func (b *BoardHandler) cut(one *breaker.Breaker) boardCut {
	c := boardCut{breaker: one, snapshot: one.Snapshot(), effective: one.Effective()}
	b.mu.Lock()
	tile := b.tiles[one]
	b.mu.Unlock()
	if last := c.snapshot.Last; last != nil && (tile == nil || tile.fields.Seq != last.Seq) {
		c.history = one.History()
	}
	return c
}

// boardTile is a breaker on the board.
type boardTile struct {
	breaker *breaker.Breaker
	id      string
	fields  boardFields
	hour    boardHour
}

// update takes a new cut in, and returns what has changed: the text of the fields, and the
// slot of the hour, with a comma before each.
func (t *boardTile) update(c boardCut, now time.Time, gap bool) []byte {
	next := boardFieldsOf(c, &t.fields, now)
	isNew := t.fields.State == ""
	text := appendBoardFields(nil, &t.fields, &next, isNew)
	if t.hour.add(&t.fields, &next, now, gap || isNew) {
		text = append(text, `,"slot":`...)
		text = t.hour.appendSlot(text, t.hour.newest)
	}
	t.fields = next
	return text
}

// boardFieldsOf makes the fields of a cut. Those before it are kept where nothing newer is
// known.
func boardFieldsOf(c boardCut, before *boardFields, now time.Time) boardFields {
	s, e := &c.snapshot, &c.effective
	f := boardFields{
		Name:   s.Name,
		Shadow: s.Shadow,
		State:  s.State.String(),

		Break:    s.Break.Seconds(),
		Opens:    s.ConsecutiveOpens,
		Admitted: places(s.AdmittedFraction, 3),

		Probes:       s.ProbesInFlight,
		ProbeSlots:   e.HalfOpenProbes,
		ProbesNeeded: e.ProbeSuccesses,

		Window:    s.WindowKnown,
		Calls:     s.Calls,
		Failures:  s.Failures,
		Slow:      s.Slow,
		TripPoint: places(s.TripRatio, 4),
		Surprise:  places(s.FailureEvidence.Surprise, 1),
		Required:  places(s.FailureEvidence.Required, 1),

		Adaptive:     !e.Failures.Off,
		AdaptiveSlow: !e.SlowCalls.Off,

		SlowTripPoint: places(s.SlowEvidence.TripPoint, 4),
		SlowSurprise:  places(s.SlowEvidence.Surprise, 1),
		SlowRequired:  places(s.SlowEvidence.Required, 1),
		SlowThreshold: s.SlowThreshold.Seconds(),
		NormalLatency: s.NormalLatency.Seconds(),
		MinimumCalls:  e.MinimumCalls,
		TripWindow:    e.TripWindow.Seconds(),
		Run:           s.Run,
		RunNeeded:     s.RunNeeded,

		OK:          s.Totals.OK,
		Transient:   s.Totals.Transient,
		Throttled:   s.Totals.Throttled,
		Permanent:   s.Totals.Permanent,
		Canceled:    s.Totals.Canceled,
		Released:    s.Totals.Released,
		Refused:     s.Totals.Refused,
		Late:        s.Totals.Stale,
		SlowTotal:   s.Totals.Slow,
		WouldRefuse: s.Totals.WouldRefuseOK + s.Totals.WouldRefuseTransient + s.Totals.WouldRefuseOther,
		Recoveries:  s.Totals.Recoveries,

		Trip: before.Trip,
		Last: before.Last,

		ProbesFailed: before.ProbesFailed,
		ProbesSlow:   before.ProbesSlow,
		ProbesVoid:   before.ProbesVoid,
	}
	if s.NormalFailureRateKnown {
		rate := places(s.NormalFailureRate, 5)
		f.NormalRate = &rate
	}
	if s.RetryAfterKnown && s.RetryAfter > 0 {
		f.Until = s.At.Add(s.RetryAfter).Round(100 * time.Millisecond).UnixMilli()
	}
	if s.Last != nil {
		f.Seq = s.Last.Seq
	}
	if c.history != nil {
		f.takeHistory(c.history, before.Seq)
	}
	switch {
	case s.Last != nil && s.Last.To == s.State:
		f.Since = s.Last.At.UnixMilli()
	case f.State == before.State:
		f.Since = before.Since
	case s.Last != nil: // the break is over, or the ramp, and no call has come to notice
		f.Since = now.UnixMilli()
	}
	f.Data = s.Totals.Admitted+s.Totals.Refused+f.WouldRefuse > 0 || f.Probes > 0 || f.Seq > 0
	return f
}

// takeHistory takes in the transitions after one that was taken in before: which began the
// trouble, and what the probes came to since then. The history is short, and a trouble can
// outlast it; so what was found once is kept.
func (f *boardFields) takeHistory(history []breaker.Transition, after uint64) {
	for _, t := range history {
		if t.Seq <= after {
			continue
		}
		begins := t.From == breaker.Closed && t.To == breaker.Open || t.To == breaker.Isolated
		if begins || f.Trip == nil && t.To == breaker.Open {
			f.Trip = marshalTransition(t)
			f.ProbesFailed, f.ProbesSlow, f.ProbesVoid = 0, 0, 0
		}
		switch t.Cause {
		case breaker.CauseProbeFailed:
			f.ProbesFailed++
		case breaker.CauseSlowProbe:
			f.ProbesSlow++
		case breaker.CauseProbesInconclusive:
			f.ProbesVoid++
		}
	}
	f.Last = marshalTransition(history[len(history)-1])
}

func marshalTransition(t breaker.Transition) json.RawMessage {
	text, err := json.Marshal(t)
	if err != nil {
		panic(err) // not of a state or a cause that there is
	}
	return text
}

// places rounds, so that what changes too little to be seen is not sent.
func places(v float64, n int) float64 {
	unit := math.Pow10(n)
	return math.Round(v*unit) / unit
}

var boardFieldNames = func() (names []string) {
	of := reflect.TypeFor[boardFields]()
	for i := range of.NumField() {
		names = append(names, `,"`+of.Field(i).Tag.Get("json")+`":`)
	}
	return names
}()

// appendBoardFields writes those fields that are not as before, or all, each after a
// comma.
func appendBoardFields(text []byte, before, next *boardFields, all bool) []byte {
	old, v := reflect.ValueOf(before).Elem(), reflect.ValueOf(next).Elem()
	for i, name := range boardFieldNames {
		if all || !sameField(old.Field(i), v.Field(i)) {
			text = appendField(append(text, name...), v.Field(i))
		}
	}
	return text
}

func sameField(a, b reflect.Value) bool {
	switch a.Kind() {
	case reflect.Slice:
		return string(a.Bytes()) == string(b.Bytes())
	case reflect.Pointer:
		return a.IsNil() == b.IsNil() && (a.IsNil() || a.Elem().Float() == b.Elem().Float())
	}
	return a.Equal(b)
}

func appendField(text []byte, v reflect.Value) []byte {
	switch v.Kind() {
	case reflect.Bool:
		return strconv.AppendBool(text, v.Bool())
	case reflect.Int, reflect.Int64:
		return strconv.AppendInt(text, v.Int(), 10)
	case reflect.Uint64:
		return strconv.AppendUint(text, v.Uint(), 10)
	case reflect.Float64:
		return strconv.AppendFloat(text, v.Float(), 'g', -1, 64)
	case reflect.Pointer:
		if !v.IsNil() {
			return appendField(text, v.Elem())
		}
	case reflect.Slice:
		if v.Len() > 0 {
			return append(text, v.Bytes()...)
		}
	default:
		return appendString(text, v.String())
	}
	return append(text, "null"...)
}

func appendString(text []byte, s string) []byte {
	quoted, err := json.Marshal(s)
	if err != nil {
		panic(err) // never: what is no UTF-8 is replaced
	}
	return append(text, quoted...)
}
