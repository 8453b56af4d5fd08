#!/usr/bin/env bash
#
# What mutants.sh puts in the place of go while gremlins runs: it builds and runs the tests
# of a mutant the lean way, and tells a mutant that does not compile, which is none, from
# one that the tests found.
set -u

tests=$(mktemp --suffix=.test) overlay=$(mktemp)
trap 'rm -f "$tests" "$overlay"' EXIT

build_and_run() {
	"$MUTANTS_GO" test -c "$@" -vet=off -ldflags='-s -w' -gcflags='-dwarf=false -N -l' -o "$tests" . || exit 2
	"$tests" -test.failfast -test.timeout=30s -test.skip="$MUTANTS_SKIP" -sequences=400 || exit 1
}

# The model finds most mutants, and builds in a third of the time that all tests take.
model_first() {
	local file separator=
	{
		printf '{"Replace": {'
		for file in *_test.go; do
			case $file in
			model*_test.go | *_internal_test.go | race_*_test.go | rig_test.go) continue ;;
			esac
			printf '%s"%s": ""' "$separator" "$PWD/$file"
			separator=,
		done
		printf '}}'
	} >"$overlay"
	build_and_run -overlay "$overlay"
	build_and_run
}

case "$* " in
*" -coverprofile "*)
	# Gremlins asks first what the tests reach, and tries no mutant elsewhere. What it
	# reads does not count the condition of a case. They reach nearly everything (see
	# docs/testing.md), so it is told that they reach it all.
	model_first
	profile=$(sed 's/.* -coverprofile \([^ ]*\).*/\1/' <<<"$*")
	echo "mode: set" >"$profile"
	for file in *.go; do
		echo "github.com/normal-go/breaker/$file:1.1,100000.1 1 1" >>"$profile"
	done ;;
"test "*)
	model_first ;;
*)
	exec "$MUTANTS_GO" "$@" ;;
esac
