#!/usr/bin/env bash
#
# Breaks the library on purpose, in one place at a time, and counts how often the tests
# notice: proof/mutants.sh [file.go ...], from any directory. Without a file it takes the
# whole library, which keeps two cores busy for half an hour. It needs bash, awk and Go.
#
# The tests that read the docs, the README or the examples, those that count allocations and
# the simulations of chance are left out: they are slow, or no test of a rule.
set -euo pipefail
unset CDPATH
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
root=$(dirname -- "$here")
export GOWORK=off GOFLAGS=

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
mkdir "$tmp/bin" "$tmp/breaker"

MUTANTS_GO=$(command -v go)
MUTANTS_SKIP='^Test(Allocations|ScopeAllocations|ScopeUnderAFlood|SteadyLoadDoesNotTrip|IncidentsAreSeen|RampEndsForADependencyThatFailsAtTimes|FirstTwoMinutes|SlowCallsMustBeMoreThanChance)$'
export MUTANTS_GO MUTANTS_SKIP

go -C "$here/mutants" build -o "$tmp/bin/gremlins" github.com/go-gremlins/gremlins/cmd/gremlins
ln -s "$here/mutants/go-test.sh" "$tmp/bin/go"

cp -r "$root"/*.go "$root"/go.mod "$root"/go.sum "$root"/testdata "$tmp/breaker"
cd "$tmp/breaker"
rm -f example*_test.go {bench,configuration,defaults_internal,docs,dryrun,house,integrations,limits,readme,simulation,soak}_test.go

options=()
if [ $# -gt 0 ]; then
	for file in *.go; do
		[[ " $* " == *" $file "* ]] || options+=(-E "^${file//./\\.}$")
	done
fi

# A mutant that hangs counts as killed after half a minute. The timeout of gremlins, a multiple
# of what the tests take at first, is out of the way of that.
PATH=$tmp/bin:$PATH gremlins unleash --workers 2 --timeout-coefficient 30 \
	--invert-logical --invert-loopctrl --invert-assignments --invert-bitwise --invert-bwassign \
	--remove-self-assignments "${options[@]}" ${MUTANTS_OPTIONS:-} . | tee "$tmp/log" >&2
grep -Eq '^(Mutation testing|Dry run) completed' "$tmp/log" || { echo "gremlins stopped early" >&2; exit 1; }

awk '
	/ at [a-z]+\.go:[0-9]+:[0-9]+$/ {
		match($0, /at .*$/)
		split(substr($0, RSTART + 3), where, ":")
		file = where[1]
		if (!(file in seen)) { seen[file] = 1; files[++n] = file }
		if (/NOT COVERED/) status = "not covered"
		else if (/NOT VIABLE/) status = "not viable"
		else if (/LIVED/) status = "lived"
		else status = "killed" # or timed out
		count[file, status]++; total[status]++
	}
	END {
		printf "%-20s %7s %7s %12s\n", "file", "killed", "lived", "not covered"
		for (i = 1; i <= n; i++) {
			f = files[i]
			printf "%-20s %7d %7d %12d\n", f, count[f, "killed"], count[f, "lived"], count[f, "not covered"]
		}
		k = total["killed"]; all = k + total["lived"] + total["not covered"]
		printf "%-20s %7d %7d %12d\n", "all", k, total["lived"], total["not covered"]
		printf "%.1f %% of %d mutants killed; %d more did not compile\n", all ? 100 * k / all : 0, all, total["not viable"]
	}
' "$tmp/log"
