package main

import "os"

func Example() {
	if err := run(os.Stdout); err != nil {
		panic(err)
	}
	// Output:
	// the backend is well
	// client: SERVING
	// the backend is gone
	// client: Unavailable
	// client: Unavailable
	// client: Unavailable
	// client: Unavailable
	//     breaker: closed -> open, consecutive-failures
	// client: Unavailable
	// client: Unavailable, a dependency is unavailable: call refused, with a time to try again
	// the backend is back, and the client waits as long as it was told
	//     breaker: open -> half-open, break-elapsed
	// client: SERVING
	//     breaker: half-open -> closed, probes-succeeded
	// client: SERVING
	// client: SERVING
}
