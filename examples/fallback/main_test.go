package main

func Example() {
	main()
	// Output:
	// tea: 120
	// tea: the price service is down
	// tea: the price service is down
	// tea: the price service is down
	// tea: 120, as of the last time it was known
	// salt: no price, not even an old one: breaker: "prices" refused the call: open
}
