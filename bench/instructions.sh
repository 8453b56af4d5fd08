#!/usr/bin/env bash
#
# Counts the instructions of a call with valgrind, which sees nearly the same number whatever
# else the machine does, and compares them with bench/instructions.txt. A count more than
# 8 % above the recorded one fails; so does one more than 8 % below, which deserves to be
# kept: run it with --update.
#
# The compiler has its share in the number, so it is compared under the same Go version
# and platform alone.
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")"
export GOWORK=off GODEBUG=asyncpreemptoff=1 GOGC=off # valgrind takes no preemption signals

command -v valgrind >/dev/null || { echo "instructions: no valgrind, nothing counted"; exit 0; }

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
go build -o "$tmp/hotpath" ./hotpath
platform="$(go env GOVERSION) $(go env GOOS)/$(go env GOARCH)"

# total instructions of a run.
total() {
	valgrind --tool=callgrind --callgrind-out-file=/dev/null "$tmp/hotpath" "$1" "$2" 2>&1 |
		sed -n 's/.*Collected : //p'
}

# What a call adds: the start of the program and the first calls drop out.
{
	echo "$platform"
	for kind in closed failing refused; do
		echo "$kind $((($(total $kind 300000) - $(total $kind 100000)) / 200000))"
	done
} >"$tmp/counted"

if [ "${1:-}" = --update ]; then
	cp "$tmp/counted" instructions.txt
	cat instructions.txt
	exit 0
fi
if [ "$(head -n 1 instructions.txt)" != "$platform" ]; then
	echo "instructions: recorded under $(head -n 1 instructions.txt), this is $platform: not compared"
	cat "$tmp/counted"
	exit 0
fi
paste -d ' ' instructions.txt "$tmp/counted" | tail -n +2 | awk '
	{
		change = 100 * ($4 / $2 - 1)
		printf "%-8s %4d instructions a call, recorded %4d (%+.1f %%)\n", $1, $4, $2, change
		if (change > 8 || change < -8) bad = 1
	}
	END {
		if (bad) print "more than 8 % from what is recorded: mend it, or bench/instructions.sh --update"
		exit bad
	}'
