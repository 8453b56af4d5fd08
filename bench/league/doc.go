// Package league drives circuit breakers for Go through the same incidents, on virtual
// time, and counts what each of them cost.
//
// A row is an incident, a column a breaker. Each pair runs in a testing/synctest bubble
// of its own, so that any library, whatever clock it reads, lives through a day in
// seconds. The sequence of the arrivals and the fate of each call are functions of the
// seed, the row and the number of the call: every column meets the same ones.
//
// The table is in README.md, and one command makes it again. docs/league.md in the root
// of the repository says what it shows.
package league
