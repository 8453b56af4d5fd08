// Package calls reads calls that really happened from a log: CSV, JSON lines, or whatever
// nginx writes with a log_format. It goes line by line, in the same memory for a file of
// any length, counts the lines that it cannot read, and puts the calls in the order in
// which they began.
package calls
