#!/bin/sh
# The import command with --dry-run, so without a database: totals, lists, messages and exit statuses.
skipjack=${SKIPJACK:-build/skipjack}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
number=0
failed=0

# check NAME EXPECTED ACTUAL
check() {
    number=$((number + 1))
    if [ "$2" = "$3" ]; then
        echo "ok $number - $1"
    else
        failed=$((failed + 1))
        echo "not ok $number - $1"
        printf 'expected: %s\n  actual: %s\n' "$2" "$3" | sed 's/^/# /'
    fi
}

run() {
    "$skipjack" import "$@" >"$scratch/out" 2>"$scratch/err"
    status=$?
}

cat >"$scratch/list.txt" <<'END'
# three usable lines, two problems
./bin/MIOpenDriver conv -n 8 -F 1
./bin/MIOpenDriver conv -n 8 -F 1
./bin/MIOpenDriver conv -n 9 -F 2
./bin/MIOpenDriver pool -n 8
conv -n
END

run "$scratch/list.txt" --dry-run --json
check "unusable lines are no failure" 0 $status
check "json holds the totals" "6 3 2 2 2" "$(tr -d ' ,' <"$scratch/out" |
    sed -n 's/^"\(lines\|convolutions\|shapes\|problems\)":\([0-9]*\)$/\2/p' | tr '\n' ' ')$(grep -c '"reason"' "$scratch/out")"
check "they are named on stderr" "$scratch/list.txt:6: flag -n needs a value" "$(tail -1 "$scratch/err")"

run "$scratch/list.txt" --dry-run --strict
check "strict makes them one" 1 $status

run "$scratch/list.txt" --dry-run --list
cp "$scratch/out" "$scratch/keys.txt"
check "list prints multiplicity, tab and key" \
    "2	3-32-32-3x3-32-30-30-8-0x0-1x1-1x1-0-NCHW-FP32-F" "$(head -1 "$scratch/out")"
run "$scratch/keys.txt" --dry-run --list
check "what list prints is read again" "" "$(diff "$scratch/keys.txt" "$scratch/out")"

run "$scratch/missing.txt" "$scratch/list.txt" --dry-run
check "a missing file is a failure" 1 $status
check "the other files are read all the same" "6 lines: 3 convolutions, 2 shapes, 2 problems; 2 cannot be used" \
    "$(cat "$scratch/out")"

echo "conv -n 1 -c 8 -H 2 -W 2 -k 8 -y 5 -x 5 -F 1" >"$scratch/clamped.txt"
run "$scratch/clamped.txt" --dry-run
check "a filter larger than its padded input is named" \
    "$scratch/clamped.txt:1: its filter is 5x5, larger than its padded input, 2x2: mend the sizes, or take such lines with --allow-clamped" \
    "$(cat "$scratch/err")"
run "$scratch/clamped.txt" --dry-run --strict
check "strict makes it a failure" 1 $status
run "$scratch/clamped.txt" --dry-run --strict --allow-clamped --batch 1,4
check "it is read with --allow-clamped, at each batch size" "0 1 lines: 1 convolutions, 2 shapes, 2 problems; 0 cannot be used" \
    "$status $(cat "$scratch/out")"
check "what replaces the line's own words is said" "in 1 lines --batch, --dtype or --layout replaced what the line says itself" \
    "$(cat "$scratch/err")"

cat >"$scratch/layers.csv" <<'END'
in_channels;out_channels;in_size;kernel_size;stride_h;stride_w;padding;groups;count;batch_size;precision
64;128;56x56;3;2;2;1;2;4;32;float16
END
run "$scratch/layers.csv" --dry-run --list --strict
check "the columns of other programs are read" "0 4	64-56-56-3x3-128-28-28-32-1x1-2x2-1x1-0-NCHW-FP16-F_g2" \
    "$status $(cat "$scratch/out")"
run "$scratch/layers.csv" --dry-run --batch 64
check "what a table says itself is not replaced" \
    "1 skipjack import: cannot read problems from '$scratch/layers.csv', line 2: it says the batch size itself (column 'batch_size' is '32'), and --batch says another: leave the option out, or remove the column" \
    "$status $(cat "$scratch/err")"
sed 's/stride_h/strid_h/; s/groups/grps/' "$scratch/layers.csv" >"$scratch/mistyped.csv"
run "$scratch/mistyped.csv" --dry-run
check "a column that is not understood refuses the table" "1 0 lines: 0 convolutions, 0 shapes, 0 problems; 0 cannot be used" \
    "$status $(cat "$scratch/out")"
check "all of them are named, and what is meant" 1 \
    "$(grep -c "'strid_h' (stride_h?), 'grps' (no column is like it)" "$scratch/err")"
run --help
check "help lists the columns" "1 1" "$(grep -c '^  kernel_size$' "$scratch/out") $(grep -c 'also pads padding' "$scratch/out")"
run --columns
check "so does --columns, as Markdown" "0 1" "$status $(grep -c '^| `stride` | `strides`' "$scratch/out")"

# MIOpen's users add a bias by a separate kernel (PyTorch and Keras do), so MIOpen never looks up a key with a bias:
# import warns of such keys.
for column in "bias True 1" "bias False 0" "use_bias True 0"; do
    set -- $column
    printf 'c,h,w,k,y,x,%s\n8,9,9,8,3,3,%s\n' "$1" "$2" >"$scratch/bias.csv"
    run "$scratch/bias.csv" --dry-run --strict
    check "a bias in keys is said: $1 $2" "0 $3" \
        "$status $(grep -c '^bias is 1 in the keys of 1 problems; MIOpen looks up bias 0' "$scratch/err")"
done

mkdir "$scratch/fp16"
printf 'c,h,w,k,y,x\n8,9,9,8,3,3\n' | tee "$scratch/net.csv" >"$scratch/fp16/net.csv"
run "$scratch/net.csv" --dry-run
check "a network of one file says nothing" "" "$(cat "$scratch/err")"
run "$scratch/net.csv" "$scratch/fp16/net.csv" --dry-run
check "files that become one network are said" "network 'net' has the layers of 2 files" "$(cat "$scratch/err")"

long=$(printf '%0300d' 7)
printf 'network,c,h,w,k,y,x\n%s,8,9,9,8,3,3\n' "$long" >"$scratch/long.csv"
run "$scratch/long.csv" --dry-run
check "a network's name has a limit" "$scratch/long.csv:2: column 'network' has 300 bytes, the name of a network at most 255" \
    "$(cat "$scratch/err")"
run "$scratch/list.txt" --dry-run --network "$long"
check "also as an option" 2 $status
run "$scratch/list.txt" --dry-run --tag "$long"
check "so has a tag" 2 $status

seq 1 30 | sed 's/.*/conv -n/' >"$scratch/torn.txt"
run "$scratch/torn.txt" --dry-run
check "stderr names twenty lines a file and counts the rest" "21 10 more lines" \
    "$(wc -l <"$scratch/err") $(sed -n 's/.*: \(10 more lines\).*/\1/p' "$scratch/err")"

cat >"$scratch/gfx90a68.HIP.fdb.txt" <<'END'
8-14-14-1x1-64-14-14-1-0x0-1x1-1x1-0-NCHW-FP32-F=Gone:0.0,0,miopenConvolutionFwdAlgoGEMM;Here:1,0,miopenConvolutionFwdAlgoGEMM
torn
END
run --foreign "$scratch/gfx90a68.HIP.fdb.txt" --dry-run --json
check "rows of foreign files that are left out are no failure" 0 $status
check "a time of 0 is named, and what is torn" "1 2" "$(sed -n 's/.*txt:\([0-9]*\): left out: .*/\1/p' "$scratch/err" |
    tr '\n' ' ' | sed 's/ $//')"
check "json counts what is used and left out" "1 1 2 2" "$(tr -d ' ,' <"$scratch/out" |
    sed -n 's/^"\(problems\|entries\|left_out\)":\([0-9]*\)$/\2/p' | tr '\n' ' ' | sed 's/ $//')"
run --foreign "$scratch/gfx90a68.HIP.fdb.txt" --dry-run --strict
check "strict makes them one, too" 1 $status
run --foreign "$scratch/list.txt" --target gfx90a68 --dry-run
check "a list is no foreign database" "1 skipjack import: '$scratch/list.txt' is neither a find-db nor a perf-db of MIOpen" \
    "$status $(tail -1 "$scratch/err")"

run
check "no file is wrong usage" 2 $status
run "$scratch/list.txt" --dry-run --direction X
check "an unknown direction is wrong usage" 2 $status
for words in "--batch 0" "--batch 1,1" "--dtype uint8" "--layout NWHC"; do
    run "$scratch/list.txt" --dry-run $words
    check "$words is wrong usage" 2 $status
done
for option in --tag --network --name; do
    run "$scratch/list.txt" --dry-run $option ""
    check "$option without a name is wrong usage" 2 $status
done
echo "8-8-8-3x3-8-8-8-1-1x1-1x1-1x1-0-NCHW-FP64-F+relu" >"$scratch/fp64.txt"
run "$scratch/fp64.txt" "$scratch/list.txt" --dry-run
check "problems that no solver serves are told, with the reason" "no solver serves 1 of the problems" \
    "$(sed -n 's/,.*//; /^no solver/p' "$scratch/err")"
check "and with an example" 1 "$(grep -c '8-8-8-3x3-8-8-8-1-1x1-1x1-1x1-0-NCHW-FP64-F+relu: ConvDirectNaive needs' "$scratch/err")"
run "$scratch/list.txt" --dry-run --json
check "others are not" 1 "$(grep -c '"unserved": \[\]' "$scratch/out")"

run --help
check "help has an example" 1 "$(grep -c '^Example:' "$scratch/out")"

# An ONNX model of one convolution: messages of protobuf are a tag, a length and bytes.
perl -e 'sub f { my ($n, $d) = @_; chr($n << 3 | 2) . chr(length $d) . $d }
    sub dims { join "", map { f(1, "\x08" . chr $_) } @_ }
    my $x = f(1, "x") . f(2, f(1, "\x08\x01" . f(2, dims(1, 3, 8, 8))));
    my $w = "\x08\x04\x08\x03\x08\x03\x08\x03\x10\x01" . f(8, "w");
    my $node = f(1, "x") . f(1, "w") . f(2, "y") . f(4, "Conv");
    my $graph = f(1, $node) . f(2, "tiny") . f(5, $w) . f(11, $x) . f(12, f(1, "y"));
    print "\x08\x08" . f(2, "pytorch") . f(7, $graph) . f(8, "\x10\x0d")' >"$scratch/tiny.onnx"
run "$scratch/tiny.onnx" --dry-run --list --batch 1,64 --dtype FP16 --layout NHWC
check "a model gives its convolutions" "0 1	3-8-8-3x3-4-6-6-1-0x0-1x1-1x1-0-NHWC-NHWC-NHWC-FP16-F 1	3-8-8-3x3-4-6-6-64-0x0-1x1-1x1-0-NHWC-NHWC-NHWC-FP16-F " \
    "$status $(tr '\n' ' ' <"$scratch/out")"
check "and how many are resolved" "$scratch/tiny.onnx: 1 of 1 convolution is resolved" "$(head -1 "$scratch/err")"
run "$scratch/tiny.onnx" --dry-run --json
check "its network has the model's name and framework" '"name": "tiny" "framework": "PyTorch" ' \
    "$(grep -oE '"(name|framework)": "[^"]*"' "$scratch/out" | tr '\n' ' ')"
gzip -c "$scratch/tiny.onnx" | run - --dry-run
check "a packed model comes through a pipe" "1 lines: 1 convolutions, 1 shapes, 1 problems; 0 cannot be used" \
    "$(cat "$scratch/out")"
head -c 60 "$scratch/tiny.onnx" >"$scratch/cut.onnx"
run "$scratch/cut.onnx" --dry-run
check "a model that is cut off is an error" 1 $status
case $(cat "$scratch/err") in
*"cannot read the ONNX model '$scratch/cut.onnx': at byte "*"(is the file cut off?)"*) place=named ;;
*) place=$(cat "$scratch/err") ;;
esac
check "with its place" named "$place"
run "$scratch/tiny.onnx" --dry-run --dim height=3
check "a dimension that is not open is an error" \
    "skipjack import: --dim height: the model '$scratch/tiny.onnx' has no open dimension of this name" \
    "$(head -1 "$scratch/err")"

echo "1..$number"
exit $((failed > 0))
