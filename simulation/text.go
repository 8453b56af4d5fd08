package simulation

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
)

// String returns the report as [Report.WriteTo] writes it.
func (r *Report) String() string {
	var text strings.Builder
	_, _ = r.WriteTo(&text)
	return text.String()
}

// WriteTo writes the report as text for a person to read: what became of the calls, what
// the dependency had to bear, and what the breaker did, incident by incident. It has no
// timeline.
func (r *Report) WriteTo(w io.Writer) (int64, error) {
	var text strings.Builder
	r.writeTitle(&text)
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	r.writeCalls(table)
	r.writeBreaker(table)
	_ = table.Flush()
	r.writeIncidents(&text)
	lines := strings.Split(text.String(), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " ") // the table fills its last column
	}
	n, err := io.WriteString(w, strings.Join(lines, "\n"))
	return int64(n), err
}

func (r *Report) writeTitle(w io.Writer) {
	name := r.Name
	if name == "" {
		name = "simulation"
	}
	fmt.Fprintf(w, "%s: %v, %s", name, r.Duration, counted(int64(r.Instances), "instance"))
	if r.NoBreaker {
		fmt.Fprint(w, ", no breaker")
	}
	if r.Replayed {
		fmt.Fprint(w, ", replayed")
	}
	fmt.Fprintf(w, ", seed %d\n\n", r.Seed)
}

func (r *Report) writeCalls(w io.Writer) {
	c, a := &r.Calls, &r.Attempts
	line := func(name string, n, of int64, more string) {
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\n", name, n, percent(n, of), more)
	}
	line("calls", c.Offered, c.Offered, "")
	line("  served", c.Served, c.Offered, fmt.Sprintf("%.2f %% of what an oracle would have had served", 100*r.Goodput))
	line("  failed", c.Failed, c.Offered, "")
	line("  throttled", c.Throttled, c.Offered, "")
	line("  canceled", c.Canceled, c.Offered, "")
	line("  refused", c.Refused, c.Offered, "")
	line("    would have failed", c.RefusedAnyway, c.Offered, "")
	line("    would have been served", c.RefusedServable, c.Offered, "")
	reached := fmt.Sprintf("that reached the dependency; %d failed", a.Failed)
	if !r.Replayed {
		reached += fmt.Sprintf(", %d met it dead", a.Dead)
	}
	line("attempts", a.Reached, c.Offered, reached)
	fmt.Fprintf(w, "latency\t%v\t%v\tp50 and p99 of the served; longest %v\n", shortly(r.Latency.P50), shortly(r.Latency.P99), shortly(r.Latency.Max))
	if s := r.Worst; s != (Second{}) {
		fmt.Fprintf(w, "worst second\t%d\tof %d\twere not served, at %v\n",
			s.Failed+s.Throttled+s.Refused+s.Canceled, s.Served+s.Failed+s.Throttled+s.Refused+s.Canceled, s.Start)
	}
}

func (r *Report) writeBreaker(w io.Writer) {
	if r.NoBreaker {
		return
	}
	opens, causes := 0, []string{}
	for _, o := range r.Opens {
		opens += o.Count
		causes = append(causes, fmt.Sprintf("%v %d", o.Cause, o.Count))
	}
	fmt.Fprintf(w, "opens\t%d\t\t%s\n", opens, strings.Join(causes, ", "))
	if !r.Replayed {
		fmt.Fprintf(w, "false trips\t%d\t\t%s a day and instance\n", r.FalseTrips, number(r.FalseTripsADay))
	}
	p := &r.Probes
	if p.Count == 0 {
		fmt.Fprintf(w, "probes\t0\t\t\n")
		return
	}
	fmt.Fprintf(w, "probes\t%d\t\tat most %d in a second, at %v; shortest rest %v\n",
		p.Count, p.WorstSecond, p.WorstSecondAt, shortly(p.ShortestRest))
}

func (r *Report) writeIncidents(w io.Writer) {
	for _, o := range r.Incidents {
		fmt.Fprintf(w, "\n%s\n", o.Incident)
		if o.Start >= r.Duration {
			fmt.Fprint(w, "  the run was over\n")
			continue
		}
		switch {
		case r.NoBreaker:
		case o.Opened == 0:
			fmt.Fprint(w, "  no breaker opened\n")
		case r.Instances == 1:
			fmt.Fprintf(w, "  opened after %v\n", shortly(o.FirstTrip))
		default:
			fmt.Fprintf(w, "  %d of %d opened, the first after %v, the last after %v\n",
				o.Opened, r.Instances, shortly(o.FirstTrip), shortly(o.LastTrip))
		}
		if o.DeadAttempts > 0 {
			fmt.Fprintf(w, "  %s met it dead\n", counted(o.DeadAttempts, "attempt"))
		}
		switch {
		case o.FullServiceKnown:
			fmt.Fprintf(w, "  full service %v after its end\n", shortly(o.FullService))
		case o.Duration > 0:
			fmt.Fprint(w, "  no full service before the end of the run\n")
		}
	}
}

// String returns the outcome in one line: the incident, and every number that is not 0.
func (o Outcome) String() string {
	text := o.Incident.String()
	if o.Opened > 0 {
		text += fmt.Sprintf("; %d opened, the first after %v, the last after %v", o.Opened, shortly(o.FirstTrip), shortly(o.LastTrip))
	}
	if o.DeadAttempts > 0 {
		text += fmt.Sprintf("; %s met it dead", counted(o.DeadAttempts, "attempt"))
	}
	if o.FullServiceKnown {
		text += fmt.Sprintf("; full service %v after its end", shortly(o.FullService))
	}
	return text
}

// String returns the incident in one line, such as "outage, 50 % of the calls, 2m0s to
// 3m0s".
func (i Incident) String() string {
	i = i.filled()
	var s strings.Builder
	s.WriteString(string(i.Kind))
	switch i.Kind {
	case Brownout, Latency:
		fmt.Fprintf(&s, ", %s times as slow", number(i.Factor))
	case Capacity:
		fmt.Fprintf(&s, ", %s calls a second", number(i.Rate))
	case Flapping:
		fmt.Fprintf(&s, ", every %v", i.Period)
	}
	if i.Share > 0 && i.Share < 1 {
		fmt.Fprintf(&s, ", %s %% of the calls", number(100*i.Share))
	}
	if end, ends := i.end(); ends {
		fmt.Fprintf(&s, ", %v to %v", i.Start, end)
	} else {
		fmt.Fprintf(&s, ", from %v on", i.Start)
	}
	return s.String()
}

func percent(n, of int64) string {
	if of == 0 {
		return ""
	}
	return fmt.Sprintf("%.2f %%", 100*float64(n)/float64(of))
}

func number(x float64) string { return fmt.Sprintf("%.4g", x) }

func counted(n int64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// shortly leaves a duration three digits or so.
func shortly(d time.Duration) time.Duration {
	switch {
	case d < time.Millisecond:
		return d.Round(time.Microsecond)
	case d < time.Second:
		return d.Round(10 * time.Microsecond)
	}
	return d.Round(time.Millisecond)
}
