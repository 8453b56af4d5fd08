package league

// The parts of the page that are the same for every run.

const pageHead = `# League

This page is written by a command. [docs/league.md](../../docs/league.md) says how to read it.

The same incidents for this library, for other circuit breakers for Go, for no breaker at all, and for an oracle that
knows the truth. This makes it again, in an hour or less:

`

const pageColumns = `
A *tuned* column has what the documentation of its library recommends, and where that recommends nothing, what it
shows. Nothing is tuned to a row.

* Libraries with an admission and an end of their own are driven through these, by one goroutine. This one through
  ` + "`TryAdmit` and `Done`" + `, so its refusals do not pause. go-resiliency and hystrix-go take a function: they get a
  goroutine for each call.
* The errors are plain ones, "503 Service Unavailable" and "429 Too Many Requests", and those of the context. No column
  takes a 429 for anything but a failure, unless it was told.
* This library draws its jitter from the seed, and rubyist/circuitbreaker its back-off. go-zero and aegis seed
  themselves with the time, which is virtual. So a column comes to the same in every run.
* hystrix-go brings a timeout of its own, of 1 s in both columns, which is the deadline of the callers. What it refuses
  for its limit of calls at a time is a refusal, and no trip. It starts goroutines that never end, and a bubble ends
  with its last goroutine. So it runs in a process of its own, which ends while the bubble is still there.
* Goroutines that run at the same virtual instant, as those of hystrix-go and go-resiliency may, run in no determined
  order. Where it matters these columns may differ by a call from run to run.

`

const pageRows = `
Calls come at random instants, so many a second on average. A call that is served takes a lognormal latency with a
median of 20 ms and a 99th percentile of 100 ms, unless the row says otherwise; in *cold recovery* and *fleet of 50* it
takes 10 ms when warm, and more when cold. Every caller waits for 1 s and no longer. A refused caller does not retry.
In rows without a capacity the fate of a call depends on its number and its instant alone.

An incident is run several times, and the counts are added. How long the trouble lasts is drawn each time, from half to
one and a half times of what it is on average, and so are its beginning and the phases of *flapping*: with one length
for all, a break of a minute would end with the outage by design. The lengths above are those of the first time.

The oracle sends exactly the calls that will be served: not those that would fail, come too late, or lose their caller.
Where there is a capacity it also keeps from sending what costs later calls theirs. In *cold recovery* and *fleet of
50* it sends at most twice what there is room for; in *load times ten* what it does not send takes no work.

A *trip* is the moment in which a breaker stops being closed, as its library says. What happens between that and the
next time it is closed, such as failed probes, is part of the same trip. go-zero and aegis have no states that would
tell. For them a trip is a refusal after 10 s without one.

In the tables below the best of the breakers in a row are **bold**, unless all are equal. No breaker and the oracle take
no part in that.

`
