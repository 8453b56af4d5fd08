package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
)

// The program says where the board is, shows five breakers there, and ends when it is told
// to.
func TestTheBoardIsServed(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	said, out := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, out, "localhost:0") }()

	line, err := bufio.NewReader(said).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	_, url, _ := strings.Cut(strings.TrimSpace(line), "the board is at ")
	for path, want := range map[string]string{"": "<h1>Breakers</h1>", "snapshot": `"name":"recovering"`} {
		answer, err := http.Get(url + path)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if err != nil || answer.StatusCode != http.StatusOK || !strings.Contains(string(body), want) {
			t.Fatalf("GET %s%s: %s, %v: %s", url, path, answer.Status, err, body)
		}
		var all struct{ Breakers []json.RawMessage }
		if path == "snapshot" && (json.Unmarshal(body, &all) != nil || len(all.Breakers) != len(tempers)) {
			t.Fatalf("%d breakers, want %d: %s", len(all.Breakers), len(tempers), body)
		}
	}

	// An open page does not keep the program from ending.
	page, err := http.Get(url + "events")
	if err != nil {
		t.Fatal(err)
	}
	defer page.Body.Close()
	stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
}
