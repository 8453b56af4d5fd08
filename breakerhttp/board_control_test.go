package breakerhttp_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
	"github.com/normal-go/breaker/breakerhttp"
)

// guarded is a board that lets those through who have a key, and keeps a log.
func guarded(source breaker.Source) (board *breakerhttp.BoardHandler, log *bytes.Buffer, asked *int) {
	log, asked = new(bytes.Buffer), new(int)
	return breakerhttp.Board(source, &breakerhttp.BoardConfig{
		Authorize: func(r *http.Request, control string, b *breaker.Breaker) (string, bool) {
			*asked++
			return "who has " + r.Header.Get("Key"), r.Header.Get("Key") == control+" "+b.Name()
		},
		Logger: slog.New(slog.NewJSONHandler(log, nil)),
	}), log, asked
}

func TestBoardControls(t *testing.T) {
	twin, db := named("db"), named("db")
	board, log, _ := guarded(breaker.List{twin, db})
	all := snapshotOf(t, board)
	require.True(t, all.Controls)
	url := "/control/" + all.Breakers[1]["id"].(string) + "/"
	for _, move := range []struct {
		before   func()
		control  string
		from, to breaker.State
		cause    breaker.Cause
	}{
		{func() {}, breakerhttp.ControlIsolate, breaker.Closed, breaker.Isolated, breaker.CauseIsolated},
		{func() {}, breakerhttp.ControlReset, breaker.Isolated, breaker.Closed, breaker.CauseReset},
		{func() { call(db, 3, breaker.Transient) }, breakerhttp.ControlProbeNow, breaker.Open, breaker.HalfOpen, breaker.CauseConsecutiveFailures},
	} {
		move.before()
		log.Reset()
		w := ask(board, http.MethodPost, url+move.control, "Key", move.control+" db", "Sec-Fetch-Site", "same-origin")
		require.Equal(t, http.StatusNoContent, w.Code, move.control)
		require.Equal(t, move.to, db.State(), move.control)
		require.Equal(t, breaker.Closed, twin.State(), "the other of that name")
		history := db.History()
		require.Equal(t, move.cause, history[len(history)-1].Cause)
		require.Equal(t, move.to.String(), snapshotOf(t, board).Breakers[1]["state"], "seen at once")

		var line map[string]any
		require.NoError(t, json.Unmarshal(log.Bytes(), &line), log.String())
		for key, want := range map[string]string{
			"level": "INFO", "msg": "breaker control", "control": move.control, "breaker": "db",
			"id": all.Breakers[1]["id"].(string), "by": "who has " + move.control + " db",
			"from": move.from.String(), "to": move.to.String(),
		} {
			require.Equal(t, want, line[key], key)
		}
	}
}

func TestBoardRefusesControls(t *testing.T) {
	db := named("db")
	board, log, asked := guarded(breaker.List{db})
	id := snapshotOf(t, board).Breakers[0]["id"].(string)
	other := snapshotOf(t, breakerhttp.Board(breaker.List{db}, nil)).Breakers[0]["id"].(string)
	url := "/control/" + id + "/isolate"
	key := []string{"Key", "isolate db"}

	const none = ""
	for name, refused := range map[string]struct {
		method, url string
		headers     []string
		code, asked int
		logged      string
	}{
		"without a key":            {http.MethodPost, url, nil, http.StatusForbidden, 1, "not allowed"},
		"with the key of another":  {http.MethodPost, url, []string{"Key", "reset db"}, http.StatusForbidden, 1, "not allowed"},
		"by GET":                   {http.MethodGet, url, key, http.StatusMethodNotAllowed, 0, none},
		"by PUT":                   {http.MethodPut, url, key, http.StatusMethodNotAllowed, 0, none},
		"from another site":        {http.MethodPost, url, append(key, "Sec-Fetch-Site", "cross-site"), http.StatusForbidden, 0, "cross-origin"},
		"from a sibling":           {http.MethodPost, url, append(key, "Sec-Fetch-Site", "same-site"), http.StatusForbidden, 0, "cross-origin"},
		"from another origin":      {http.MethodPost, url, append(key, "Origin", "http://evil.test"), http.StatusForbidden, 0, "cross-origin"},
		"of no such breaker":       {http.MethodPost, "/control/x/isolate", key, http.StatusNotFound, 0, none},
		"of another board's":       {http.MethodPost, "/control/" + other + "/isolate", key, http.StatusNotFound, 0, none},
		"of no breaker":            {http.MethodPost, "/control//isolate", key, http.StatusNotFound, 0, none},
		"of no such control":       {http.MethodPost, "/control/" + id + "/explode", key, http.StatusNotFound, 0, none},
		"of a control and a slash": {http.MethodPost, url + "/", key, http.StatusNotFound, 0, none},
	} {
		log.Reset()
		*asked = 0
		require.Equal(t, refused.code, ask(board, refused.method, refused.url, refused.headers...).Code, name)
		require.Equal(t, refused.asked, *asked, name)
		require.Equal(t, breaker.Closed, db.State(), name)
		if refused.logged == none {
			require.Empty(t, log.String(), name)
			continue
		}
		require.Regexp(t, `"level":"WARN","msg":"breaker control refused: .*`+refused.logged, log.String(), name)
	}
}

// Without a function that authorises, there is nothing to press and nothing behind it.
func TestBoardHasNoControlsByDefault(t *testing.T) {
	db := named("db")
	board := breakerhttp.Board(breaker.List{db}, nil)
	all := snapshotOf(t, board)
	require.False(t, all.Controls)
	for _, control := range []string{"isolate", "reset", "probe-now"} {
		require.Equal(t, http.StatusNotFound, ask(board, http.MethodPost, "/control/"+all.Breakers[0]["id"].(string)+"/"+control).Code)
	}
	require.Equal(t, breaker.Closed, db.State())
}

func TestBoardLogsToTheDefaultLogger(t *testing.T) {
	before := slog.Default()
	defer slog.SetDefault(before)
	db := named("db")
	board := breakerhttp.Board(breaker.List{db}, &breakerhttp.BoardConfig{
		Authorize: func(*http.Request, string, *breaker.Breaker) (string, bool) { return "someone", true },
	})
	var log bytes.Buffer
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	id := snapshotOf(t, board).Breakers[0]["id"].(string)
	require.Equal(t, http.StatusNoContent, ask(board, http.MethodPost, "/control/"+id+"/isolate").Code)
	require.Contains(t, log.String(), "control=isolate breaker=db")
}
