package main

func Example() {
	main()
	// Output:
	// before the first call:
	// breaker_calls_total{breaker="db",verdict="canceled"} 0
	// breaker_calls_total{breaker="db",verdict="ok"} 0
	// breaker_calls_total{breaker="db",verdict="permanent"} 0
	// breaker_calls_total{breaker="db",verdict="released"} 0
	// breaker_calls_total{breaker="db",verdict="throttled"} 0
	// breaker_calls_total{breaker="db",verdict="transient"} 0
	// after some, those that are not 0:
	// breaker_calls_total{breaker="db",verdict="ok"} 40
	// breaker_calls_total{breaker="tenant/acme",verdict="ok"} 7
	// breaker_calls_total{breaker="tenant/initech",verdict="transient"} 5
	// breaker_collector_breakers{state="closed"} 2
	// breaker_collector_breakers{state="open"} 1
	// breaker_state{breaker="db",state="closed"} 1
	// breaker_state{breaker="tenant/acme",state="closed"} 1
	// breaker_state{breaker="tenant/initech",state="open"} 1
	// breaker_transitions_total{breaker="tenant/initech",cause="consecutive-failures",to="open"} 1
}
