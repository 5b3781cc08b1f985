#!/bin/sh
# Runs the tests that once passed only on CPUs with as many lanes as their author's, as on CPUs with 4 and 8 lanes of
# FP32. (make test TEST_CPU=athlon64 runs all tests that way.)
set -u

tests=$(dirname "$SKIPJACK")/tests
number=0

result() {
    number=$((number + 1))
    if [ "$1" = 0 ]; then echo "ok $number - $2"; else echo "not ok $number - $2"; fi
}

# as_on CPU PROGRAM [TEST]: runs a program's tests, or one of them, as on that CPU.
as_on() {
    OCL_ICD_VENDORS=$tests/cpu_mask.so SKIPJACK_TEST_CPU=$1 "$tests/kernels/$2" --tap ${3:+-p "$3"} >"$log" 2>&1
}

[ -x "$tests/kernels/toolchains/test_opencl" ] || { echo '1..0 # SKIP the tests are not built'; exit 0; }
log=$(mktemp)
trap 'rm -f "$log"' EXIT

for cpu in athlon64 haswell; do
    if ! as_on $cpu toolchains/test_opencl /opencl/device_is_the_one_asked_for || grep -q '# SKIP' "$log"; then
        sed 's/^/# /' "$log"
        number=$((number + 1))
        echo "ok $number - $cpu # SKIP PoCL's device does not become a $cpu on this machine"
        continue
    fi
    grep "PoCL's device" "$log"
    as_on $cpu toolchains/test_opencl /opencl/name_says_how_wide_vectors_are
    result $? "$cpu: the target's name says how wide vectors are"
    as_on $cpu device/direct/test_conv_direct_tiled /conv_direct_tiled/what_is_too_large_is_refused
    result $? "$cpu: ConvDirectTiled refuses what every CPU refuses, and no more"
    [ $cpu = athlon64 ] || continue # the rest takes ten seconds
    as_on $cpu toolchains/test_toolchain_opencl /toolchain/opencl/every_default_compiles_without_a_warning
    result $? "$cpu: every default compiles without a warning"
done
echo "1..$number"
