package breaker_test

import (
	"encoding/binary"
	"flag"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
)

var sequences = flag.Int("sequences", 3000, "random sequences in which the breaker must agree with its model")

// FuzzModel decodes settings and a sequence of moves, and holds the breaker to the model
// after every one.
func FuzzModel(f *testing.F) {
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > headerBytes+3*400 {
			return
		}
		agree(t, 0, data, map[breaker.State]int{})
	})
}

// Random sequences, always the same. The moves depend on the state, so that they do not
// all end in a closed breaker.
func TestModelAgreesOnRandomSequences(t *testing.T) {
	steps, causes, refused := map[breaker.State]int{}, map[breaker.Cause]int{}, 0
	updated, declined, aside := map[breaker.State]int{}, 0, uint64(0)
	n := *sequences
	if underRace {
		n /= 10 // there is one goroutine
	}
	for i := range n {
		var seed [32]byte
		binary.LittleEndian.PutUint64(seed[:], uint64(i))
		source := rand.NewChaCha8(seed)
		data := make([]byte, headerBytes+3*(60+i%140))
		_, _ = source.Read(data)
		d := agree(t, i, data, steps)
		if d == nil {
			refused++
			continue
		}
		for _, transition := range d.model.transitions {
			causes[transition.Cause]++
		}
		for state, some := range d.updated {
			updated[state] += some
		}
		declined += d.declined
		totals := d.model.totals
		aside += min(totals.WouldRefuseOK, totals.WouldRefuseTransient, totals.WouldRefuseOther)
	}
	total := 0
	for _, some := range steps {
		total += some
	}
	t.Logf("%d sequences, %d with settings that New refuses; %d steps, in %v; transitions by %v; updates in %v, and %d refused",
		n, refused, total, steps, causes, updated, declined)
	require.Less(t, refused, n/10, "settings refused")
	for _, state := range []breaker.State{breaker.HalfOpen, breaker.Recovering} {
		require.GreaterOrEqual(t, steps[state], total/5, "steps in %v", state)
	}
	for cause := breaker.CauseConsecutiveFailures; cause <= breaker.CauseReset; cause++ {
		require.Positive(t, causes[cause], "transitions by %v", cause)
	}
	for state := breaker.Closed; state <= breaker.Isolated; state++ {
		require.Positive(t, updated[state], "updates in %v", state)
	}
	require.Positive(t, declined, "updates refused")
	require.Greater(t, aside, uint64(n/20), "calls aside, of each kind")
}

// agree plays one sequence. It returns nil if New refuses the settings.
func agree(t *testing.T, sequence int, data []byte, steps map[breaker.State]int) *duel {
	t.Helper()
	d := play(data, steps, nil)
	if d == nil || d.first == "" {
		return d
	}
	data = shorten(data, func(d *duel) bool { return d.first != "" })
	var table strings.Builder
	d = play(data, map[breaker.State]int{}, func(format string, a ...any) { fmt.Fprintf(&table, format, a...) })
	t.Fatalf("breaker and model differ in sequence %d; shortened it is\n%s%s\n%s\n\ngo test fuzz v1\n[]byte(%q)",
		sequence, settingsTable(data), table.String(), d.first, data)
	return nil
}

// play returns nil if New refuses the settings.
func play(data []byte, steps map[breaker.State]int, log func(string, ...any)) *duel {
	header := make([]byte, headerBytes)
	moves := data[copy(header, data):]
	s, draws, mood := decodeSettings(header)
	d := newDuel(s, draws, steps)
	if d == nil {
		return nil
	}
	d.log, d.mood, d.header = log, mood, header
	for len(moves) >= 3 && d.first == "" {
		d.move(moves[0], int(moves[1]), int(moves[2]))
		moves = moves[3:]
	}
	return d
}

// shorten leaves out what a duel does not need to stay interesting.
func shorten(data []byte, interesting func(*duel) bool) []byte {
	stays := func(data []byte) bool {
		d := play(data, map[breaker.State]int{}, nil)
		return d != nil && interesting(d)
	}
	for again := true; again; {
		again = false
		for size := (len(data) - headerBytes) / 3; size >= 1; size /= 2 {
			for i := headerBytes; i+3*size <= len(data); {
				shorter := append(append([]byte{}, data[:i]...), data[i+3*size:]...)
				if stays(shorter) {
					data, again = shorter, true
				} else {
					i += 3 * size
				}
			}
		}
		for i := range data {
			if data[i] != 0 {
				simpler := append([]byte{}, data...)
				simpler[i] = 0
				if stays(simpler) {
					data, again = simpler, true
				}
			}
		}
	}
	return data
}

// settingsTable prints the settings that are not at their default.
func settingsTable(data []byte) string {
	s, draws, _ := decodeSettings(append(append([]byte{}, data...), make([]byte, headerBytes)...))
	var table strings.Builder
	fields := reflect.ValueOf(s)
	for i := range fields.NumField() {
		if value := fields.Field(i); !value.IsZero() && value.Kind() != reflect.Func {
			fmt.Fprintf(&table, "%s: %+v\n", fields.Type().Field(i).Name, value)
		}
	}
	fmt.Fprintf(&table, "own Classify: %v\nRandom gives %v\n", s.Classify != nil, draws)
	return table.String()
}
