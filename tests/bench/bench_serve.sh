#!/bin/sh
# Measures the cost of `serve` for a campaign: a worker measures on two cores, and its rate is taken with serve idle (A) and with 200
# requests a second and 1,000 listeners (B), in turns. Prints the rates, wrk's latencies, and the median loss; fails if
# more than 5 % is lost.
#
# BENCH_SECONDS  length of a turn: 20
# BENCH_TURNS    pairs of turns: 4
set -eu

seconds=${BENCH_SECONDS:-20}
turns=${BENCH_TURNS:-4}
program=$(realpath "${SKIPJACK:-build/skipjack}")
here=$(cd "$(dirname "$0")" && pwd)
folder=$(mktemp -d "${TMPDIR:-/tmp}/bench-serve-XXXXXX")
chmod 755 "$folder"
export SKIPJACK_HOME="$folder/home"
unset SKIPJACK_DB
serve='' worker='' load='' listeners=''
finish() {
    for pid in $load $listeners $worker $serve; do kill "$pid" 2>/dev/null || true; done
    wait 2>/dev/null || true
    "$program" db stop >/dev/null 2>&1 || true
    rm -rf "$folder"
}
trap finish EXIT
trap 'exit 1' HUP INT TERM
command -v wrk >/dev/null || { echo 'wrk is missing: deploy/install-deps bench' >&2; exit 1; }
[ "$(nproc)" -le 2 ] || taskset -cp 0,1 $$ >/dev/null

target=$("$program" worker --probe --eval local | sed -n 's/.*"id":"\([^"]*\)".*/\1/p' | head -n 1)
for n in $(seq 1 4000); do
    echo "8-$((n % 60 + 4))-$((n / 60 + 4))-1x1-24-$((n % 60 + 4))-$((n / 60 + 4))-1-0x0-1x1-1x1-0-NCHW-FP32-F"
done >"$folder/problems.txt"
"$program" campaign create --target "$target" --problems "$folder/problems.txt" --configs 4 --solvers ConvCpuGemm \
    >"$folder/create.log" 2>&1
"$program" serve --listen 0 --rate 0 --log text 2>"$folder/serve.log" &
serve=$!
"$program" worker --embedded --eval local --build 1 --campaign 1 --sample-seconds 0.05 --log text 2>"$folder/worker.log" &
worker=$!
until at=$(sed -n 's|.*http://\([0-9.:]*\)$|\1|p' "$folder/serve.log" | head -n 1) && [ -n "$at" ]; do sleep 0.1; done

configs() { "$program" db psql -Atc "SELECT coalesce(sum(evaluated), 0) FROM outcomes WHERE campaign_id = 1" 2>/dev/null; }
now() { date +%s.%N; }
# CPU seconds that serve has used.
cpu() { cut -d ' ' -f 14,15 "/proc/$serve/stat" | awk '{print ($1 + $2) / 100}'; }
# The rate of the campaign over a turn, in configs a second.
rate() {
    before=$(configs) begun=$(now)
    sleep "$seconds"
    after=$(configs) ended=$(now)
    echo "$before $after $begun $ended" | awk '{printf "%.2f", ($2 - $1) / ($4 - $3)}'
}

cat >"$folder/load.lua" <<'END'
local paths = {"/api/v1/farm", "/api/v1/campaigns", "/api/v1/campaigns/1", "/api/v1/nodes", "/api/v1/rates", "/api/v1/log",
    "/api/v1/campaigns/1/jobs", "/api/v1/problems?search=8-10", "/", "/metrics"}
local at = 0
function request() at = at % #paths + 1; return wrk.format("GET", paths[at]) end
-- 8 connections, each a request in 40 ms: 200 a second.
function delay() return 40 end
END

until [ "$(configs)" -gt 20 ]; do sleep 0.5; done
echo "turn  configs/s idle  configs/s loaded    loss  serve of a core"
: >"$folder/losses"
for turn in $(seq 1 "$turns"); do
    idle=$(rate)
    "$here/../support/bench/listeners.pl" "$at" 1000 >"$folder/listeners.log" &
    listeners=$!
    until grep -q listening "$folder/listeners.log"; do sleep 0.1; done
    wrk -t 1 -c 8 -d "$((seconds + 2))s" --latency -s "$folder/load.lua" "http://$at" >"$folder/wrk.log" &
    load=$!
    sleep 1
    cpu_before=$(cpu)
    loaded=$(rate)
    cpu_after=$(cpu)
    wait "$load" && load=''
    kill "$listeners"
    wait "$listeners" || true
    listeners=''
    echo "$turn $idle $loaded $cpu_before $cpu_after $seconds" |
        awk '{printf "%4d  %14.2f  %16.2f  %4.1f %%  %4.1f %%\n", $1, $2, $3, 100 * (1 - $3 / $2), 100 * ($5 - $4) / $6}'
    echo "$idle $loaded" | awk '{print 100 * (1 - $2 / $1)}' >>"$folder/losses"
done
grep -E 'Requests/sec|50%|90%|99%|Non-2xx|Socket errors' "$folder/wrk.log"
tail -n 1 "$folder/listeners.log"
loss=$(sort -n "$folder/losses" | awk '{v[NR] = $1} END {print (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2}')
echo "median loss: $loss %; at most 5 % is allowed"
echo "$loss" | awk '{exit !($1 <= 5)}'
