package breakerhttp

import (
	"bufio"
	"io"
	"net"
	"net/http"
)

// responseWriter notes the status of an answer, and when it began.
type responseWriter struct {
	http.ResponseWriter
	status int    // 0 before the answer began
	began  func() // called once, if there is one
}

// asRich returns a writer that can do what handlers look for with a type assertion, if
// the wrapped one can. The rest is for http.ResponseController, by Unwrap.
func (w *responseWriter) asRich() http.ResponseWriter {
	_, flusher := w.ResponseWriter.(http.Flusher)
	_, hijacker := w.ResponseWriter.(http.Hijacker)
	switch {
	case flusher && hijacker:
		return struct {
			*responseWriter
			flushing
			hijacking
		}{w, flushing{w}, hijacking{w}}
	case flusher:
		return struct {
			*responseWriter
			flushing
		}{w, flushing{w}}
	case hijacker:
		return struct {
			*responseWriter
			hijacking
		}{w, hijacking{w}}
	}
	return w
}

// Unwrap is for http.ResponseController.
func (w *responseWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *responseWriter) begin(status int) {
	if w.status != 0 {
		return
	}
	w.status = status
	if w.began != nil {
		w.began()
	}
}

// WriteHeader passes informational headers without a note, but for 101, which is final.
func (w *responseWriter) WriteHeader(status int) {
	if status/100 != 1 || status == http.StatusSwitchingProtocols {
		w.begin(status)
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *responseWriter) Write(p []byte) (int, error) {
	w.begin(http.StatusOK)
	return w.ResponseWriter.Write(p)
}

// ReadFrom lets io.Copy use what the server has for files.
func (w *responseWriter) ReadFrom(src io.Reader) (int64, error) {
	w.begin(http.StatusOK)
	return io.Copy(w.ResponseWriter, src)
}

// flushing and hijacking are what a writer can do besides. The writer in them is not
// embedded, because its methods must not compete with those of the one beside them.
type flushing struct{ writer *responseWriter }

func (f flushing) Flush() { _ = f.FlushError() }

func (f flushing) FlushError() error {
	f.writer.begin(http.StatusOK)
	return http.NewResponseController(f.writer.ResponseWriter).Flush()
}

type hijacking struct{ writer *responseWriter }

func (h hijacking) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(h.writer.ResponseWriter).Hijack()
	if err == nil {
		h.writer.begin(http.StatusSwitchingProtocols)
	}
	return conn, rw, err
}
