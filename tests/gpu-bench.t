#!/bin/sh
# Checks of the GPU benchmark that need no GPU: its fused problems are those of ResNet-50, solvers of matrix units serve
# them, and its parts work as their tests say, with doubles of PyTorch, torchvision and libcudnn
# (tests/bench/test_*.py).
set -u
export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=tests/bench

skipjack=${SKIPJACK:-build/skipjack}
export SKIPJACK="$skipjack"
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
    layers() { grep -- "$1" "$folder/fused" | awk '{ count += $1 } END { print count }'; }
    [ "$(layers .)" -eq $((53 * 8)) ] && [ "$(layers 'add(FP16,NHWC)+relu$')" -eq 32 ] && [ "$(layers '[+]bias$')" -eq 32 ]
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
        cut -f 2 "$folder/fused" >"$folder/keys" && python3 -c '
import ctypes, sys
import gpu_database, gpu_problem
lib, text = ctypes.CDLL(sys.argv[1]), ctypes.create_string_buffer(1024)
for line in open(sys.argv[2], encoding="utf-8"):
    problem, key = gpu_database.sized(gpu_database.Problem), line.strip()
    code = lib.skipjackdb_problem_parse(key.encode(), ctypes.byref(problem))
    code = code or lib.skipjackdb_problem_key(ctypes.byref(problem), text, ctypes.c_size_t(1024))
    if code or text.value.decode() != key or problem.kind != 0 or gpu_problem.why_not(problem):
        sys.exit(f"{key}: {code}, {text.value.decode()}")
    if problem.epilogue.decode() != key[key.index("-F+") + 2:]:
        sys.exit(f"{key}: {problem.epilogue}")
' "$library" "$folder/keys"
}

lists_sets_and_their_problems() {
    python3 "$bench" --list >"$folder/sets" && grep -q '^3d: ' "$folder/sets" &&
        [ "$(grep -c '^  ' "$folder/sets")" -ge 100 ] &&
        python3 "$bench" --list --skipjack "$skipjack" --sets mobilenet-v2-fp16-nhwc --directions BW >"$folder/problems" &&
        [ "$(awk '{ count += $1 } END { print count }' "$folder/problems")" -eq $((52 * 2)) ]
}

# The help of every option, and each option's name in the text above it or its own help.
says_how_it_is_used() {
    COLUMNS=200 python3 "$bench" --help >"$folder/help" &&
        for option in sets directions keep-tuned sample finds short-us kernels time-limit again tables report; do
            grep -q -e "^  --$option" "$folder/help" || return 1
        done
}

lists_the_networks() {
    python3 "$bench" --networks --list >"$folder/networks" && [ "$(wc -l <"$folder/networks")" -eq 16 ] &&
        ! python3 "$bench" --networks --list --sets vgg 2>"$folder/said" && grep 'no such network' "$folder/said" &&
        ! python3 "$bench" --networks 2>"$folder/said" && grep -e '--models FOLDER' "$folder/said"
}

# Two campaigns by a double of the program, which notes its words; the summary of rows made by hand.
sums_up_two_campaigns() {
    cat >"$folder/double" <<'END'
#!/bin/sh
echo "$SKIPJACK_HOME $*" >>"$NOTES"
case $1 in
tune) mkdir -p "$4" && : >"$4/made.sjdb" ;;
report) echo '{"work": {"jobs": 7, "spent_seconds": 2.5}}' ;;
file) [ "$*" = "file key --json --unchecked" ] && echo '{"measured_ms": 0.25}' ;;
esac
END
    chmod +x "$folder/double"
    NOTES="$folder/notes" python3 -c '
import argparse, pathlib, sys
import gpu_trust
options = argparse.Namespace(out=pathlib.Path(sys.argv[2]), skipjack=sys.argv[1], budget=9, measure_only=False,
                             first="--seed=1", second="--strategy exhaustive")
tuned = [gpu_trust.tune(options, "set", side, words, "lines") for side, words in gpu_trust.words_of(options)]
homes = {line.split()[0] for line in open(sys.argv[3])}
words = [line.split(" ", 1)[1] for line in open(sys.argv[3]) if " tune " in line]
if len(homes) != 2 or "--seed=1" not in words[0] or "--strategy exhaustive" not in words[1]:
    sys.exit(f"{homes} {words}")
def row(first, second, same, recorded):
    sides = [{"ms": ms, "recorded_ms": recorded * ms, "row_ms": recorded * ms} for ms in (first, second)]
    ratio = second / first
    return {"first": sides[0], "second": sides[1], "same": same, "ratio": ratio,
            "close": same or abs(ratio - 1) <= gpu_trust.CLOSE}
rows = [row(1, 1.1, True, 1.005), row(2, 2.02, False, 1.02), row(0.01, 0.02, False, 1.5)]
rows[0]["first"]["row_ms"] = None  # what the runner could not run
line = gpu_trust.summary("set", [cost for _, cost in tuned], rows, 1)
gpu_trust.print_table([line])
wanted = {"problems": 4, "same": 1 / 4, "close": 2 / 4}
alone = {"solutions": 6, "within_3_percent": 4 / 6, "long": 4, "long_within_1_percent": 2 / 4}
recorded = {"solutions": 5, "within_3_percent": 1, "long": 3, "long_within_1_percent": 1}
for held, part in ((line, wanted), (line["alone"], alone), (line["recorded"], recorded)):
    for member, value in part.items():
        if held[member] != value:
            sys.exit(f"{member}: {held[member]}, not {value}")
options.runner = sys.argv[1]
if gpu_trust.in_a_row_ms(options, "file", "key") != 0.25:
    sys.exit("the runner is not asked")
options.runner = "false"
if gpu_trust.in_a_row_ms(options, "file", "key") is not None:
    sys.exit("a runner that fails has measured nothing")
if line["costs"]["second"]["spent_seconds"] != 2.5:
    sys.exit(line["costs"])
' "$folder/double" "$folder/out2" "$folder/notes"
}

echo 1..14
python3 "$bench" --list --fused >"$folder/fused"
check lists_each_layer_once_a_set lists_each_layer_once_a_set
check every_problem_is_served every_problem_is_served
check structs_are_those_of_the_library structs_are_those_of_the_library
check says_what_is_missing says_what_is_missing
check lists_sets_and_their_problems lists_sets_and_their_problems
check says_how_it_is_used says_how_it_is_used
check lists_the_networks lists_the_networks
check sums_up_two_campaigns sums_up_two_campaigns
check cudnn_gets_the_right_arguments python3 tests/bench/test_cudnn_fused.py
check peers_and_their_times python3 tests/bench/test_gpu_peers.py
check sets_and_samples python3 tests/bench/test_gpu_sets.py
check networks_become_tables python3 tests/bench/test_gpu_models.py
check statistics_and_results python3 tests/bench/test_gpu_report.py
check calls_from_options_to_tables python3 tests/bench/test_bench_gpu.py
