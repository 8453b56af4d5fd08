package main

func Example() {
	main()
	// Output:
	// five times 200: closed
	// five times 404: closed
	// five times 429: closed
	// five times 400: closed
	// five times 500: open
	// ok 10, throttled 5, permanent 5, transient 5
}
