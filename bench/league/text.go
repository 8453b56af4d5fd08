package league

import "strings"

// The parts of the page that no run changes. They have no line breaks within a paragraph
// in the page itself, so that what a run changes stands out in a diff.

var pageHead = paragraphs(`
# League

This file is written by a command. docs/league.md in the root says how to read it.

The same incidents for this library, for other circuit breakers for Go, for no breaker at all, and for an oracle that
knows the truth. This command makes it again:

`)

var pageColumns = paragraphs(`

A *tuned* column has what the documentation of its library recommends, and where that recommends nothing, what it shows.
Nothing is tuned to a row. All are driven through their public API: the ones with an admission and an end of its own
through that, go-resiliency and hystrix-go through a function and a goroutine for each call.

* The errors are plain ones, "503 Service Unavailable" and "429 Too Many Requests", and those of the context. So no
  column takes a 429 for anything but a failure, unless it was told.
* This library draws its jitter, and rubyist/circuitbreaker its back-off, from the seed. go-zero and aegis seed
  themselves with the time, which is virtual. So a column comes to the same in every run.
* hystrix-go brings a timeout of its own, of 1 s in both columns, which is the deadline of the callers. What it refuses
  for its limit of calls at a time is a refusal, and no trip. Its goroutines never end, and a bubble ends with its last
  goroutine, so it runs in a process of its own.
* hystrix-go and go-resiliency have goroutines that run at the same virtual instant. Their order is not determined,
  and where it matters these columns may differ by a call from run to run.

`)

var pageRows = paragraphs(`

Calls come at random instants, so many a second on average. A call that is served takes a lognormal latency with a median
of 20 ms and a 99th percentile of 100 ms, unless the row says otherwise; in *cold recovery* and *fleet of 50* 10 ms when
warm. The row is offered as it is: a refused caller does not retry. Every caller waits for 1 s and no longer. The fate of a
call, in rows without a capacity, depends on its number and its instant alone, and so is the same for all columns.

Each row of an incident is run several times. How long the trouble lasts is drawn each time, from half to one and a half
times of what it is on average, and so are the phases of *flapping* and when the trouble begins: with one length for all, a
break of a minute would end with the outage by design. The times below are those of the first run.

The oracle sends exactly those calls that will be served. Where there is a capacity it also keeps from sending what costs
later ones theirs: in *cold recovery* and *fleet of 50* it sends at most twice what there is room for, and in *load times
ten* what it does not send takes no work.

A *trip* is the moment in which a breaker stops being closed, as its library says. go-zero and aegis have no states that
would tell. For them it is a refusal after 10 s without one. What happens between a trip and the next time it is closed,
such as failed probes, is part of one trip.

In the tables the best of the breakers in a row are **bold**, unless all are equal. "No breaker" and the oracle take no
part in that.

`)

// paragraphs joins the lines of each paragraph, which are broken here to be read.
func paragraphs(text string) string {
	text = strings.TrimPrefix(text, "\n")
	var out strings.Builder
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if i > 0 {
			previous := lines[i-1]
			if line != "" && previous != "" && !strings.HasPrefix(line, "*") || strings.HasPrefix(line, "*") && !strings.HasPrefix(line, "* ") && previous != "" {
				out.WriteString(" ")
				line = strings.TrimLeft(line, " ")
			} else {
				out.WriteString("\n")
			}
		}
		out.WriteString(line)
	}
	return out.String()
}
