package main

func Example() {
	main()
	// Output:
	// a second user 1: true
	// Ada and nobody
	// the volume is gone
	// failed
	// failed
	// failed
	// not asked: open
	// it is back
	// not asked: open
	// Ada and nobody
	// closed
}
