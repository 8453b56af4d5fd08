package main

func Example() {
	main()
	// Output:
	// all is well: Unset
	// it is down: Error connection refused
	// it is still down: Error connection refused
	//     breaker.cause=consecutive-failures
	// not even tried: Error breaker: "db" refused the call: open
	//     breaker.refused=true
	// a try: Unset
	//     breaker.cause=probe-requested
	//     breaker.probe=true
	// another: Unset
	//     breaker.probe=true
	//     breaker.cause=probes-succeeded
	// all is well again: Unset
	//
	// breaker.transitions{cause=consecutive-failures,name=db,to=open} 1
	// breaker.transitions{cause=probe-requested,name=db,to=half-open} 1
	// breaker.transitions{cause=probes-succeeded,name=db,to=closed} 1
	// breaker.calls{name=db,verdict=ok} 4
	// breaker.calls{name=db,verdict=transient} 2
	// breaker.refused_calls{name=db} 1
	// breaker.probes{name=db,outcome=succeeded} 2
}
