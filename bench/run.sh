#!/usr/bin/env bash
#
# Runs all benchmarks and writes their results into README.md: bench/run.sh, from any
# directory. COUNT=6 is how often each is run, and BENCHTIME=100ms for how long. Below six
# runs there is no telling how uncertain a median is.
#
# What it took stays in bench/results.out, for benchstat to compare with another run.
set -euo pipefail
unset CDPATH
cd -- "$(dirname -- "${BASH_SOURCE[0]}")"
export GOWORK=off

count=${COUNT:-6}
benchtime=${BENCHTIME:-100ms}
results=$PWD/results.out

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

go test -c -o "$tmp/bench.test" .
go build -o "$tmp/page" ./page
go build -o "$tmp/benchstat" golang.org/x/perf/cmd/benchstat

# bench runs the cases of a pattern once.
bench() {
	local cases=$1
	shift
	"$tmp/bench.test" -test.run='^$' -test.bench="^Benchmark($cases)\$" "$@" >>"$results"
}

# A case goes through all libraries before the next begins, and all cases through one round
# before the next round, so that what disturbs the machine disturbs them alike.
: >"$results"
for ((round = 1; round <= count; round++)); do
	echo "round $round of $count, ${SECONDS} s"
	bench 'Closed|Work|Failing|Refused' -test.cpu=1,2,8 -test.benchtime="$benchtime"
	bench 'HalfOpen|HalfOpenRefused|Ramp|Value|Create|Parts' -test.cpu=1 -test.benchtime="$benchtime"
	bench 'Held' -test.cpu=1 -test.benchtime=1x
	bench 'Pause' -test.cpu=1 -test.benchtime=2000x
done

"$tmp/benchstat" -format csv "$results" >"$tmp/results.csv" 2>"$tmp/warnings"
"$tmp/page" -runs "$count" -each "$benchtime" "$tmp/results.csv" README.md
echo "README.md is written, ${SECONDS} s"
