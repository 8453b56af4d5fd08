package simulation

import (
	"io"
	"strings"
)

// String returns the report as [Report.WriteTo] writes it.
func (r *Report) String() string {
	var text strings.Builder
	_, _ = r.WriteTo(&text)
	return text.String()
}

// WriteTo writes the report as text, for a person to read: what it cost, incident by
// incident, and no timeline.
func (r *Report) WriteTo(w io.Writer) (int64, error) { panic("not yet") }
