package breaker

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const oneYear = 365 * 24 * time.Hour

// naiveWindow is a trip window that keeps every sample and answers by plain arithmetic.
type naiveWindow struct {
	length  time.Duration
	calls   int // 0: bounded by time alone
	samples []sample
	moved   time.Duration // back in all; the bucket boundaries count from birth
}

func (w *naiveWindow) add(now time.Duration, failed, slow bool) {
	w.samples = append(w.samples, sample{now, failed, slow})
}

func (w *naiveWindow) at(now time.Duration) (sum counts) {
	for i, s := range w.samples {
		if w.holds(i, now) {
			sum.add(s.failed, s.slow)
		}
	}
	return sum
}

func (w *naiveWindow) holds(i int, now time.Duration) bool {
	at := w.samples[i].at
	if w.calls > 0 {
		return len(w.samples)-i <= w.calls && now-at < w.length
	}
	return w.bucket(now)-w.bucket(at) < 10
}

func (w *naiveWindow) bucket(at time.Duration) time.Duration { return (at + w.moved) / w.width() }
func (w *naiveWindow) width() time.Duration                  { return max(1, w.length/10) }
func (w *naiveWindow) clear()                                { w.samples = nil }

func (w *naiveWindow) moveBack(by time.Duration) {
	w.moved += by
	for i := range w.samples {
		w.samples[i].at -= by
	}
}

// randomBelow returns a random duration in [0, limit).
func randomBelow(random *rand.Rand, limit time.Duration) time.Duration {
	return time.Duration(random.Int64N(int64(limit)))
}

// stride returns a step of time that tends to be an interesting one for buckets of a width
// of which the present one began at start.
func stride(random *rand.Rand, now, start, width time.Duration) time.Duration {
	boundary := start + width
	switch random.IntN(12) {
	case 0:
		return 1
	case 1:
		return boundary - 1 - now
	case 2:
		return boundary - now
	case 3:
		return boundary + 1 - now
	case 4:
		return randomBelow(random, 12*width)
	case 5:
		return 10 * width
	case 6:
		if width < time.Hour && random.IntN(4) == 0 {
			return 1000*10*width + randomBelow(random, width) // many revolutions
		}
	case 7, 8:
		return randomBelow(random, width)
	}
	return 0
}

func TestTripWindowAgainstListOfSamples(t *testing.T) {
	lengths := []time.Duration{1, 9, 10, 11, 25, 1000, 30 * time.Second, oneYear}
	for _, length := range lengths {
		for _, calls := range []int{0, 1, 2, 7, 100} {
			random := rand.New(rand.NewPCG(uint64(length), uint64(calls)))
			window, model := newTripWindow(0, length, calls), &naiveWindow{length: length, calls: calls}
			var now time.Duration
			for i := range 600 {
				start := model.bucket(now)*model.width() - model.moved
				if d := stride(random, now, start, model.width()); now+model.moved < furthest/2-d {
					now += d
				}
				switch random.IntN(30) {
				case 0:
					window.clear()
					model.clear()
				case 1:
					by := randomBelow(random, 10*model.width())
					now -= by
					window.moveBack(by)
					model.moveBack(by)
				default:
					failed, slow := random.IntN(3) == 0, random.IntN(3) == 0
					window.add(now, failed, slow)
					model.add(now, failed, slow)
				}
				ahead := randomBelow(random, 11*model.width())
				for _, at := range []time.Duration{now, now + ahead, now} {
					require.Equal(t, model.at(at), window.at(at),
						"length %v, %d calls, step %d, at %d", length, calls, i, at)
				}
			}
		}
	}
}

func TestBucketsAreTenAndEndExactly(t *testing.T) {
	// One sample each second, in buckets of one: a sample leaves when the tenth bucket
	// after its own begins.
	w := testBuckets(10 * time.Second)
	for i := range 25 {
		w.add(time.Duration(i)*time.Second, false, false)
		require.EqualValues(t, min(i+1, 10), w.at(time.Duration(i)*time.Second).calls, "second %d", i)
	}
	for i := range 12 {
		at := time.Duration(24+i) * time.Second
		require.EqualValues(t, max(10-i, 0), w.at(at).calls, "%d s later", i)
		require.EqualValues(t, max(10-i, 0), w.at(at+time.Second-1).calls, "to the end of second %d", i)
	}
}

func TestBucketsSpans(t *testing.T) {
	tests := []struct {
		name         string
		length       time.Duration
		written      time.Duration
		last, beyond time.Duration // the last instant that sees the sample, and the next
	}{
		{"first instant", 30 * time.Second, 0, 30*time.Second - 1, 30 * time.Second},
		{"end of a bucket", 30 * time.Second, 3*time.Second - 1, 30*time.Second - 1, 30 * time.Second},
		{"start of a bucket", 30 * time.Second, 3 * time.Second, 33*time.Second - 1, 33 * time.Second},
		{"late first write", 30 * time.Second, 1000 * time.Second, 1029*time.Second - 1, 1029 * time.Second},
		{"ten ns", 10, 5, 14, 15},
		{"nine ns, buckets of one", 9, 5, 14, 15},
		{"one ns, buckets of one", 1, 5, 14, 15},
		{"a year", oneYear, oneYear / 20, oneYear - 1, oneYear},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, write := range []bool{false, true} {
				early, late := testBuckets(tt.length), testBuckets(tt.length)
				early.add(tt.written, true, true)
				late.add(tt.written, true, true)
				own := counts{}
				if write { // which brings a sample of its own
					early.add(tt.last, false, false)
					late.add(tt.beyond, false, false)
					own.calls = 1
				}
				require.Equal(t, counts{own.calls + 1, 1, 1}, early.at(tt.last), "write: %v", write)
				require.Equal(t, own, late.at(tt.beyond), "write: %v", write)
			}
		})
	}
}

func TestBucketsIdleForManyRevolutions(t *testing.T) {
	for _, length := range []time.Duration{1, 10, time.Second, 30 * time.Second, oneYear} {
		for _, idle := range []time.Duration{10, 11, 19, 20, 100, 1001} {
			width := max(1, length/10)
			if idle > furthest/2/width {
				continue
			}
			w := testBuckets(length)
			for i := range 10 {
				w.add(time.Duration(i)*width, true, true)
			}
			now := 9*width + idle*width
			require.Equal(t, counts{}, w.at(now), "length %v, idle for %d buckets", length, idle)
			w.add(now, false, true)
			require.Equal(t, counts{1, 0, 1}, w.at(now), "length %v, idle for %d buckets", length, idle)
			require.Equal(t, counts{1, 0, 1}, w.at(now+9*width), "length %v, idle for %d buckets", length, idle)
			require.Equal(t, counts{}, w.at(now+10*width), "length %v, idle for %d buckets", length, idle)
		}
	}

	w := testBuckets(1) // so narrow that the turns would not fit in 32 bits
	w.add(0, true, true)
	require.Equal(t, counts{}, w.at(furthest-1))
	w.add(furthest-1, false, false)
	require.Equal(t, counts{1, 0, 0}, w.at(furthest-1))
}

func testBuckets(length time.Duration) *buckets { return newTripWindow(0, length, 0).(*buckets) }

func TestWindowReadMovesNothing(t *testing.T) {
	w := testBuckets(10 * time.Second)
	ring := sampleRing{length: 10 * time.Second, ring: make([]sample, 5)}
	for i := range 8 {
		w.add(time.Duration(i)*time.Second, true, false)
		ring.add(time.Duration(i)*time.Second, true, false)
	}
	bucketsBefore, ringBefore := *w, ring
	bucketsBefore.slots = slices.Clone(w.slots)
	bucketsBefore.slot = &bucketsBefore.slots[w.newest]
	ringBefore.ring = slices.Clone(ring.ring)
	for _, at := range []time.Duration{7 * time.Second, 12 * time.Second, time.Hour, furthest} {
		w.at(at)
		ring.at(at)
	}
	require.Equal(t, bucketsBefore, *w)
	require.Equal(t, ringBefore, ring)
}

func TestBucketsCountBeyond32Bits(t *testing.T) {
	w := testBuckets(oneYear)
	w.slots[0] = counts{math.MaxUint32, math.MaxUint32, math.MaxUint32}
	w.add(0, true, true)
	w.slots[1] = counts{1, 1, 1}
	const want = math.MaxUint32 + 2
	require.Equal(t, counts{want, want, want}, w.at(0))
}

func TestSampleRingBounds(t *testing.T) {
	type add struct {
		at     time.Duration
		failed bool
	}
	tests := []struct {
		name string
		adds []add
		at   time.Duration
		want counts
	}{
		{"empty", nil, 0, counts{}},
		{"by number", []add{{0, true}, {0, true}, {0, false}, {0, false}}, 0, counts{3, 1, 0}},
		{"round and round", []add{{0, true}, {1, true}, {2, false}, {3, true}, {4, false}, {5, false}, {6, true}}, 6, counts{3, 1, 0}},
		{"age, just in time", []add{{0, true}, {4, false}}, 9, counts{2, 1, 0}},
		{"age, exactly", []add{{0, true}, {4, false}}, 10, counts{1, 0, 0}},
		{"age, all", []add{{0, true}, {4, false}}, 14, counts{}},
		{"age on write", []add{{0, true}, {4, false}, {10, false}}, 10, counts{2, 0, 0}},
		{"age of all on write", []add{{0, true}, {4, true}, {1000, false}}, 1000, counts{1, 0, 0}},
		{"both", []add{{0, true}, {1, true}, {2, true}, {8, false}}, 11, counts{2, 1, 0}},
		{"both, wrapped around", []add{{0, true}, {1, true}, {2, false}, {3, true}, {4, false}}, 13, counts{1, 0, 0}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ring := sampleRing{length: 10, ring: make([]sample, 3)}
			for _, a := range tt.adds {
				ring.add(a.at, a.failed, false)
			}
			require.Equal(t, tt.want, ring.at(tt.at))
		})
	}
}

func TestWindowsMoveBack(t *testing.T) {
	for _, calls := range []int{0, 5} {
		w := newTripWindow(0, 10*time.Second, calls)
		w.add(20*time.Second, true, false)
		w.moveBack(time.Hour)
		now := 20*time.Second - time.Hour
		require.Equal(t, counts{1, 1, 0}, w.at(now), "%d calls", calls)
		require.Equal(t, counts{1, 1, 0}, w.at(now+10*time.Second-1), "%d calls", calls)
		require.Equal(t, counts{}, w.at(now+10*time.Second), "%d calls", calls)
		w.add(now+time.Second, false, true)
		require.Equal(t, counts{2, 1, 1}, w.at(now+time.Second), "%d calls", calls)
	}
}

func TestQuotientComparesWithRatioAsWritten(t *testing.T) {
	for n := uint64(1); n <= 200; n++ {
		for k := range n + 1 {
			for thousandths := uint64(1); thousandths <= 1000; thousandths++ {
				got := quotient(k, n) >= float64(thousandths)/1000
				if want := 1000*k >= thousandths*n; got != want {
					t.Fatalf("%d of %d reach %d thousandths: %v", k, n, thousandths, got)
				}
			}
		}
	}
	require.GreaterOrEqual(t, quotient(7, 100), 0.07)
	require.Less(t, quotient(496, 1000), 0.5)
	require.Zero(t, quotient(0, 0))
}

func TestTripWindowAllocatesNothingPerCall(t *testing.T) {
	for _, calls := range []int{0, 100} {
		w := newTripWindow(0, time.Second, calls)
		var now time.Duration
		require.Zero(t, testing.AllocsPerRun(1000, func() {
			now += 10 * time.Millisecond
			w.add(now, true, false)
			w.at(now)
		}), "%d calls", calls)
	}
}
