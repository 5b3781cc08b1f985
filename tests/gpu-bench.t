#!/bin/sh
# What the GPU benchmark does without a GPU: its fused problems are those of ResNet-50, solvers of matrix units serve
# them, and cuDNN's calls get the arguments that they should (a double of libcudnn notes them).
set -u
export PYTHONDONTWRITEBYTECODE=1

skipjack=${SKIPJACK:-build/skipjack}
bench=tests/bench/bench_gpu.py
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

number=0
check() { # NAME COMMAND...
    number=$((number + 1))
    name=$1
    shift
    if "$@" >"$folder/out" 2>&1; then
        echo "ok $number /gpu_bench/$name"
    else
        sed 's/^/# /' "$folder/out"
        echo "not ok $number /gpu_bench/$name"
    fi
}

lists_each_layer_once_a_set() {
    [ "$(wc -l <"$folder/fused")" -eq $((53 * 8)) ] &&
        [ "$(grep -c 'add(FP16,NHWC)+relu$' "$folder/fused")" -eq 32 ] &&
        [ "$(grep -c '[+]bias$' "$folder/fused")" -eq 32 ]
}

every_problem_is_served() {
    "$skipjack" solvers --target sm_90_132_80g --problems "$folder/fused" --json >"$folder/served" &&
        python3 -c '
import json, sys
served = json.load(open(sys.argv[1]))["solvers"]
counts = {solver["solver"]: solver["problems"] for solver in served}
print(counts)
sys.exit(counts["ConvDirectNaive"] != 192 or counts["ConvTma"] < 90 or counts["ConvMatrix"] < 90)' "$folder/served"
}

says_what_is_missing() {
    python3 -c 'import torch' 2>"$folder/torch" && return 0
    ! python3 "$bench" --fused 2>"$folder/said" && grep 'PyTorch is needed' "$folder/said"
}

# The benchmark's structs are those of the library: keys go through them and come back.
structs_are_those_of_the_library() {
    library=$(ls "$(dirname "$skipjack")"/reader/libskipjackdb.so.* | tail -1) &&
        PYTHONPATH=tests/bench python3 -c '
import ctypes, sys
import bench_gpu
lib, text = ctypes.CDLL(sys.argv[1]), ctypes.create_string_buffer(1024)
for line in open(sys.argv[2], encoding="utf-8"):
    problem, key = bench_gpu.sized(bench_gpu.Problem), line.strip()
    code = lib.skipjackdb_problem_parse(key.encode(), ctypes.byref(problem))
    code = code or lib.skipjackdb_problem_key(ctypes.byref(problem), text, ctypes.c_size_t(1024))
    if code or text.value.decode() != key or problem.kind != 0 or not bench_gpu.is_comparable(problem):
        sys.exit(f"{key}: {code}, {text.value.decode()}")
    if problem.epilogue.decode() != key[key.index("-F+") + 2:]:
        sys.exit(f"{key}: {problem.epilogue}")
' "$library" "$folder/fused"
}

refuses_to_list_plain_sets() {
    ! python3 "$bench" --list --sets mobilenet-v2-fp16-nhwc
}

lists_the_networks() {
    python3 "$bench" --networks --list >"$folder/networks" && [ "$(wc -l <"$folder/networks")" -eq 16 ] &&
        ! python3 "$bench" --networks --list --sets vgg 2>"$folder/said" && grep 'no such network' "$folder/said" &&
        ! python3 "$bench" --networks 2>"$folder/said" && grep -e '--models FOLDER' "$folder/said"
}

echo 1..7
python3 "$bench" --list >"$folder/fused"
check lists_each_layer_once_a_set lists_each_layer_once_a_set
check every_problem_is_served every_problem_is_served
check structs_are_those_of_the_library structs_are_those_of_the_library
check says_what_is_missing says_what_is_missing
check refuses_to_list_plain_sets refuses_to_list_plain_sets
check lists_the_networks lists_the_networks
check cudnn_gets_the_right_arguments sh -c 'python3 tests/bench/test_cudnn_fused.py | tee /dev/stderr | grep -q "^ok 7" && ! python3 tests/bench/test_cudnn_fused.py | grep "^not ok"'
