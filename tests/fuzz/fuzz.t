#!/bin/sh
# Runs every fuzz target briefly, two at a time, over a copy of its corpus tests/fuzz/corpus/NAME/.
# The seed is fixed, so that a failure comes again. FUZZ_SECONDS: how long each (2, in
# the long suite 60).
# An input that fails is kept in build/sanitized/found/.
set -u

seconds=${FUZZ_SECONDS:-${SKIPJACK_TEST_LONG:+60}}
seconds=${seconds:-2}
here=$(cd "$(dirname "$0")" && pwd)
fuzzers=${SKIPJACK_FUZZERS:-$here/../../build/sanitized/tests/fuzz}
scratch=$(mktemp -d)
running= # PID:NAME, a word each
trap 'rm -rf "$scratch"' EXIT
trap 'for one in $running; do kill "${one%%:*}"; done; exit 1' HUP INT TERM

found=$(dirname "$here")/../build/sanitized/found
mkdir -p "$found"

start() { # NAME
    mkdir -p "$scratch/$1"
    cp -r "$here/corpus/${1#fuzz_}/." "$scratch/$1/" 2>/dev/null
    "$fuzzers/$1" -seed=1 -max_total_time="$seconds" -timeout=60 -rss_limit_mb=1024 \
        -close_fd_mask=1 -artifact_prefix="$found/$1-" "$scratch/$1" >"$scratch/$1.log" 2>&1 &
    running="$running $!:$1"
}

finish() {
    for one in $running; do
        name=${one#*:}
        number=$((number + 1))
        if wait "${one%%:*}"; then
            echo "ok $number - $name: $(sed -n 's/^Done \([0-9]* runs\).*/\1/p' "$scratch/$name.log")"
        else
            failures=$((failures + 1))
            tail -60 "$scratch/$name.log" | sed 's/^/# /'
            echo "not ok $number - $name"
        fi
    done
    running=
}

number=0
failures=0
for source in "$here"/fuzz_*.c; do
    [ -e "$source" ] || continue
    start "$(basename "$source" .c)"
    case $running in *:*:*) finish ;; esac
done
finish
echo "1..$number$([ $number -gt 0 ] || echo ' # SKIP no fuzz targets')"
exit $((failures > 0))
