package main

func Example() {
	main()
	// Output:
	// no call yet: 200 {"status":"ok","name":"db","breaker":"closed"}
	// after 20 calls of 10 ms: 200 {"status":"ok","name":"db","breaker":"closed","normal_latency":"10.24ms"}
	// after 5 failures: 200 {"status":"degraded","name":"db","breaker":"open","normal_latency":"10.24ms"}
	// when the break is over: 200 {"status":"degraded","name":"db","breaker":"half-open","normal_latency":"10.24ms"}
}
