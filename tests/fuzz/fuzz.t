#!/bin/sh
# Runs every fuzz target briefly, over a copy of its corpus tests/fuzz/corpus/NAME/.
# The seed is fixed, so that a failure comes again. FUZZ_SECONDS: how long each (10, in
# the long suite 60).
# An input that fails is kept in build/fuzz/found/.
set -u

seconds=${FUZZ_SECONDS:-${SKIPJACK_TEST_LONG:+60}}
seconds=${seconds:-10}
here=$(cd "$(dirname "$0")" && pwd)
fuzzers=${SKIPJACK_FUZZERS:-$here/../../build/fuzz/tests/fuzz}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM

found=$(dirname "$here")/../build/fuzz/found
mkdir -p "$found"

number=0
failures=0
for source in "$here"/fuzz_*.c; do
    [ -e "$source" ] || continue
    name=$(basename "$source" .c)
    number=$((number + 1))
    mkdir -p "$scratch/$name"
    cp -r "$here/corpus/${name#fuzz_}/." "$scratch/$name/" 2>/dev/null
    if "$fuzzers/$name" -seed=1 -max_total_time="$seconds" -timeout=5 -rss_limit_mb=1024 \
        -close_fd_mask=1 -artifact_prefix="$found/$name-" "$scratch/$name" >"$scratch/log" 2>&1; then
        echo "ok $number - $name: $(sed -n 's/^Done \([0-9]* runs\).*/\1/p' "$scratch/log")"
    else
        failures=$((failures + 1))
        sed 's/^/# /' "$scratch/log" | tail -60
        echo "not ok $number - $name"
    fi
done
echo "1..$number$([ $number -gt 0 ] || echo ' # SKIP no fuzz targets')"
exit $((failures > 0))
