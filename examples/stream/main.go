// Stream guards a download, which does not fit into one function call and whose length
// depends on the file more than on the server. The attempt is admitted, runs as long as
// the stream does, and is then recorded with the time to the first byte as its latency.
// If it is the reader that gives up, the attempt is released, and says nothing about
// the server.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/normal-go/breaker"
)

// copyStream opens a stream through a breaker and copies it to dst.
func copyStream(ctx context.Context, b *breaker.Breaker, open func(context.Context) (io.ReadCloser, error), dst io.Writer) error {
	attempt, err := b.Admit(ctx)
	if err != nil {
		return err
	}
	defer attempt.Release() // on the ways out that say nothing about the server; a no-op after Done

	began := time.Now()
	src, err := open(ctx)
	if err != nil {
		attempt.Done(err)
		return err
	}
	defer src.Close()
	var firstByte time.Duration
	for chunk := make([]byte, 4096); ; {
		n, err := src.Read(chunk)
		if firstByte == 0 {
			firstByte = time.Since(began)
		}
		if _, err := dst.Write(chunk[:n]); err != nil {
			return err // the reader's trouble: released
		}
		if err == io.EOF {
			attempt.DoneAfter(nil, firstByte)
			return nil
		}
		if err != nil {
			attempt.DoneAfter(err, firstByte) // broken off half-way: a failure
			return err
		}
	}
}

func main() { run(os.Stdout) }

func run(out io.Writer) {
	b := breaker.MustNew(breaker.Settings{
		Name:      "files",
		SlowCalls: breaker.SlowCalls{MinimumSamples: 1}, // to know what is normal from the first stream on
	})
	report := func(what string, err error) {
		t := b.Snapshot().Totals
		fmt.Fprintf(out, "%s: error %v; %d ok, %d transient, %d released\n", what, err, t.OK, t.Transient, t.Released)
	}

	err := copyStream(context.Background(), b, serve(nil), io.Discard)
	report("a whole file", err)
	if normal, known := b.NormalLatency(); known {
		fmt.Fprintf(out, "normal is the time to the first byte, not the length of the stream: about %v\n", normal.Round(10*time.Millisecond))
	}

	err = copyStream(context.Background(), b, serve(errors.New("connection reset")), io.Discard)
	report("a stream that breaks off", err)

	err = copyStream(context.Background(), b, serve(nil), closedPipe{})
	report("a reader that goes away", err)
}

// serve plays a server: 30 ms to the first byte, and a second for the rest.
func serve(end error) func(context.Context) (io.ReadCloser, error) {
	return func(context.Context) (io.ReadCloser, error) {
		chunks := []string{"first", "second", "third"}
		return io.NopCloser(&stream{wait: 30 * time.Millisecond, chunks: chunks, end: end}), nil
	}
}

type stream struct {
	wait   time.Duration
	chunks []string
	end    error
}

func (s *stream) Read(p []byte) (int, error) {
	if len(s.chunks) == 0 {
		if s.end != nil {
			return 0, s.end
		}
		return 0, io.EOF
	}
	time.Sleep(s.wait)
	s.wait = 500 * time.Millisecond
	n, err := strings.NewReader(s.chunks[0]).Read(p)
	s.chunks = s.chunks[1:]
	return n, err
}

type closedPipe struct{}

func (closedPipe) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }
