package main

import "log/slog"

func Example() {
	before := slog.Default()
	defer slog.SetDefault(before)
	main()
	// Output:
	// level=WARN msg="breaker opened" breaker.name=prices breaker.seq=1 breaker.from=closed breaker.to=open breaker.cause=consecutive-failures breaker.calls=3 breaker.failures=3 breaker.slow=0 breaker.run=3 breaker.run_needed=3 request=2
	// 4997 requests were refused, without a line
	// level=INFO msg="breaker half-open" breaker.name=prices breaker.seq=2 breaker.from=open breaker.to=half-open breaker.cause=probe-requested request=5000
	// level=INFO msg="breaker closed" breaker.name=prices breaker.seq=3 breaker.from=half-open breaker.to=closed breaker.cause=probes-succeeded breaker.calls=2 breaker.failures=0 breaker.slow=0 request=5001
}
