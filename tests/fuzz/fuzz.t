#!/bin/sh
# Runs every fuzz target briefly, two at a time, over its corpus tests/fuzz/corpus/NAME/ and over the inputs that
# earlier runs kept.
#
# FUZZ_SECONDS  how long each runs: 1, in the long suite 60
# FUZZ_SEED     repeats a run; without it each run draws a seed, and prints it
#
# Inputs that reach new code are kept in build/sanitized/fuzz/NAME/, the newest 2,000 of them. An input that fails is
# kept in build/sanitized/found/, and its path is printed: with the repair it goes into the corpus.
set -u

seconds=${FUZZ_SECONDS:-${SKIPJACK_TEST_LONG:+60}}
seconds=${seconds:-1}
here=$(cd "$(dirname "$0")" && pwd)
fuzzers=${SKIPJACK_FUZZERS:-$here/../../build/sanitized/tests/fuzz}
seed=${FUZZ_SEED:-$(($(od -An -N4 -tu4 /dev/urandom) / 2 + 1))}
scratch=$(mktemp -d)
running= # PID:NAME, a word each
trap 'rm -rf "$scratch"' EXIT
trap 'for one in $running; do kill "${one%%:*}"; done; exit 1' HUP INT TERM

top=$(cd "$here/../.." && pwd)
found=$top/build/sanitized/found
kept=$top/build/sanitized/fuzz
mkdir -p "$found"
echo "# FUZZ_SEED=$seed draws the same inputs again" >&2

start() { # NAME
    mkdir -p "$kept/$1"
    (cd "$kept/$1" && ls -t | tail -n +2001 | xargs -r rm -f)
    corpus=$here/corpus/${1#fuzz_}
    [ -d "$corpus" ] || corpus=
    # libFuzzer writes new inputs to the first folder; the corpus is only read.
    "$fuzzers/$1" -seed="$seed" -max_total_time="$seconds" -timeout=60 -rss_limit_mb=1024 -close_fd_mask=1 \
        -artifact_prefix="$found/$1-" "$kept/$1" ${corpus:+"$corpus"} >"$scratch/$1.log" 2>&1 &
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
            sed -n 's/.*Test unit written to \(.*\)/# the input that fails: \1/p' "$scratch/$name.log" >&2
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
