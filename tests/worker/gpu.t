#!/bin/sh
# A worker tunes on this machine's GPU for minutes: campaign after campaign over the same problems, with other configs
# each. One eval child serves all of them, and its memory on the device must not grow. The test needs only sh, timeout,
# awk and the program, so it also runs beside an unpacked bundle:
#
#   SKIPJACK_TEST_DEVICE=gpu SKIPJACK=bundle/bin/skipjack sh gpu.t
#
# GPU_TEST_SECONDS: how long (480). GPU_TEST_MEMORY: a command that prints the MiB in use on the devices, where
# neither nvidia-smi nor rocm-smi does. GPU_TEST_PROBLEMS: a file of other problems.
set -u

program=${SKIPJACK:-build/skipjack}
seconds=${GPU_TEST_SECONDS:-480}
slack=64 # MiB by which a driver's own memory varies

memory() {
    if [ -n "${GPU_TEST_MEMORY:-}" ]; then
        sh -c "$GPU_TEST_MEMORY"
    elif command -v nvidia-smi >/dev/null; then
        nvidia-smi --query-gpu=memory.used --format=csv,noheader,nounits
    else
        rocm-smi --showmeminfo vram --csv | awk -F, 'NR > 1 && NF > 2 { print $3 / 1048576 }'
    fi 2>/dev/null | awk '/^[0-9.]+$/ { sum += $1; n++ } END { if (n) printf "%d\n", sum }'
}

skip() {
    echo "1..0 # SKIP $1"
    exit 0
}

[ "${SKIPJACK_TEST_DEVICE:-}" = gpu ] || skip "SKIPJACK_TEST_DEVICE=gpu asks for minutes on a GPU"
before=$(memory)
[ -n "$before" ] || skip "no GPU here tells how much of its memory is in use"

folder=$(mktemp -d /tmp/skipjack-gpu-XXXXXX) && chmod 755 "$folder" || exit 1
export SKIPJACK_HOME="$folder/home"
unset SKIPJACK_DB
worker= sampler=
clean() {
    [ -z "$worker" ] || kill -KILL "$worker" 2>/dev/null
    [ -z "$sampler" ] || kill "$sampler" 2>/dev/null
    "$program" db stop >/dev/null 2>&1
    rm -rf "$folder"
}
trap clean EXIT
trap 'exit 1' INT TERM

problems=${GPU_TEST_PROBLEMS:-$folder/problems.txt}
[ -n "${GPU_TEST_PROBLEMS:-}" ] || cat >"$problems" <<'END'
64-56-56-3x3-64-56-56-16-1x1-1x1-1x1-0-NCHW-FP32-F
64-56-56-1x1-256-56-56-16-0x0-1x1-1x1-0-NHWC-NHWC-NHWC-FP16-F
128-28-28-3x3-128-28-28-16-1x1-1x1-1x1-0-NCHW-FP32-B
256-14-14-3x3-256-14-14-16-1x1-1x1-1x1-0-NCHW-FP32-W
END

count=0 failed=0
check() { # NAME STATUS
    count=$((count + 1))
    if [ "$2" = 0 ]; then
        echo "ok $count $1"
    else
        echo "not ok $count $1"
        failed=1
    fi
}

# ---- campaigns, and a sample of the memory every five seconds

echo "# $before MiB in use before"
end=$(($(date +%s) + seconds)) lap=0 laps=0
while [ "$(date +%s)" -lt "$end" ]; do
    sleep 5
    memory >>"$folder/samples"
done &
sampler=$!
while [ "$(date +%s)" -lt "$end" ]; do
    lap=$((lap + 1))
    id=$("$program" campaign create --problems "$problems" --target local --strategy random \
        --configs 8 --seed "$lap" --solvers ConvDirectTiled,ConvImplicitGemm,ConvDirectNaive \
        2>"$folder/create.log") || break
    if [ -z "$worker" ]; then
        "$program" worker --embedded --eval 0 --sample-seconds 0.1 --log json 2>"$folder/worker.log" &
        worker=$!
    fi
    while [ "$(date +%s)" -lt "$end" ]; do
        timeout 10 "$program" campaign watch "$id" >/dev/null 2>&1
        status=$?
        [ "$status" -ne 0 ] || laps=$((laps + 1))
        [ "$status" -eq 124 ] || break
    done
    kill -0 "$worker" 2>/dev/null || break
done
kill "$sampler" 2>/dev/null
wait "$sampler" 2>/dev/null
sampler=
memory >>"$folder/samples"
echo "# $laps campaigns; MiB in use every five seconds: $(tr '\n' ' ' <"$folder/samples")"
[ -z "$id" ] && sed 's/^/# /' "$folder/create.log"

kill -TERM "$worker" 2>/dev/null
wait "$worker"
check /gpu/the_worker_ends_in_good_order $?
worker=
sleep 2
after=$(memory)
echo "# $after MiB in use after"

# ---- the results

[ "$laps" -gt 0 ]
check /gpu/campaigns_come_to_their_end $?
! grep -q '"eval_child_died"' "$folder/worker.log"
check /gpu/one_process_measures_it_all $?
# Compares medians, since a sample may include a problem's tensors. The first third is left out: caches are still
# filling.
median() { # FIRST LAST, of the samples
    sed -n "$1,$2p" "$folder/samples" | sort -n | awk '{ s[NR] = $1 } END { print s[int((NR + 1) / 2)] }'
}
n=$(wc -l <"$folder/samples")
first=$(median $((n / 3 + 1)) $((n * 2 / 3))) last=$(median $((n * 2 / 3 + 1)) "$n")
echo "# $first MiB in the second third, $last in the last (medians; $n samples in all)"
[ "$n" -gt 2 ] && [ "$last" -le $((first * 105 / 100 + slack)) ]
check /gpu/device_memory_stays_flat $?
[ "$after" -le $((before + slack)) ]
check /gpu/device_memory_is_given_back $?
echo "1..$count"
[ "$failed" = 0 ] || tail -5 "$folder/worker.log" | sed 's/^/# /'
exit $failed
