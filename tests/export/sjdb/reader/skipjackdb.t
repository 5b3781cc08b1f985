#!/bin/sh
# libskipjackdb as users get it: installed into a folder, found by pkg-config, used from C, C++ and Python, as shared
# and as static library; which symbols it exports and which libraries it needs.
set -u

here=$(cd "$(dirname "$0")" && pwd)
root=$here/../../../..
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
prefix=$scratch/usr
db=$root/tests/fuzz/corpus/sjdb/small
key=64-56-56-3x3-64-56-56-32-1x1-1x1-1x1-0-NCHW-FP32-F
number=0

# is LABEL GOT EXPECTED
is() {
    number=$((number + 1))
    if [ "$2" = "$3" ]; then
        echo "ok $number - $1"
    else
        echo "not ok $number - $1"
        printf 'got: %s\nexpected: %s\n' "$2" "$3" | sed 's/^/# /'
    fi
}

skip() {
    number=$((number + 1))
    echo "ok $number - $1 # SKIP $2"
}

if ! env -u MAKEFLAGS -u MAKELEVEL make -s -C "$root" DEPS=true install-reader PREFIX="$prefix" \
    >"$scratch/make.log" 2>&1; then
    sed 's/^/# /' "$scratch/make.log"
    echo 'Bail out! make install-reader failed'
    exit 1
fi
export PKG_CONFIG_PATH="$prefix/lib/pkgconfig" LD_LIBRARY_PATH="$prefix/lib"

is 'it exports its functions under their versions alone' \
    "$(nm -D --defined-only "$prefix/lib/libskipjackdb.so.1" | awk '$2 == "T" {print $3}' |
        grep -vc '^skipjackdb_[a-z_]*@@SKIPJACKDB_1\.[0-9]*$')" 0
is 'every function of the header is exported' \
    "$(grep -o 'skipjackdb_[a-z_]*(' "$prefix/include/skipjackdb.h" | tr -d '(' | sort -u | grep -v 'close.$')" \
    "$(nm -D --defined-only "$prefix/lib/libskipjackdb.so.1" | awk '$2 == "T" {sub(/@.*/, "", $3); print $3}' | sort)"
is 'every function is in the man page' \
    "$(for name in $(nm -D --defined-only "$prefix/lib/libskipjackdb.so.1" |
        awk '$2 == "T" {sub(/@.*/, "", $3); print $3}'); do
        grep -q "$name(" "$prefix/share/man/man3/skipjackdb.3" || echo "$name"
    done)" ''
is 'it needs libc and libzstd alone' \
    "$(readelf -d "$prefix/lib/libskipjackdb.so.1" | sed -n 's/.*NEEDED.*\[\(.*\)\.so.*/\1/p' | sort | tr '\n' ' ')" \
    'libc libzstd '

# shellcheck disable=SC2046 # flags are meant to be split
if ${CC:-cc} -Wall -Wextra -Werror -o "$scratch/best" "$root/export/sjdb/reader/examples/best.c" \
    $(pkg-config --cflags --libs skipjackdb) 2>"$scratch/cc.log"; then
    is 'C: the best entry' "$("$scratch/best" "$db" $key)" 'ConvC<2> [] 0.333333 ms, 65536 bytes'
    is 'C: an entry that keeps the workspace' "$("$scratch/best" "$db" $key 4096)" \
        'GemmB [] 12.25 ms, 4096 bytes'
    is 'C: none does' "$("$scratch/best" "$db" $key 4095 2>&1)" 'best: the database does not hold it'
    is 'C: no database' "$("$scratch/best" "$0" $key 2>&1)" \
        'best: the file is no .sjdb, or was copied as text: copy it as binary'
else
    is 'C: it compiles' "$(cat "$scratch/cc.log")" ''
fi
mkdir "$scratch/shelf"
cp "$db" "$scratch/shelf/gfx90a68.sjdb"
near=64-56-56-3x3-64-56-56-64-1x1-1x1-1x1-0-NCHW-FP32-F
# shellcheck disable=SC2046
if ${CC:-cc} -Wall -Wextra -Werror -o "$scratch/choose" \
    "$root/export/sjdb/reader/examples/choose.c" $(pkg-config --cflags --libs skipjackdb) 2>"$scratch/cc.log"; then
    is 'C: what to run, what to compile' "$("$scratch/choose" "$scratch/shelf" gfx90a68 $key)" \
        'run ConvA, found by the nearest problems, about 0.1 ms
compile GemmB, found measured, 12.25 ms'
    is 'C: of another target' "$("$scratch/choose" "$scratch/shelf" gfx90a6e $key | tail -1)" \
        'compile GemmB, found measured on another target, 12.25 ms'
    is 'C: no target' "$("$scratch/choose" "$scratch/shelf" mine $key 2>&1)" \
        'choose: the key, or the target, does not follow its grammar'
else
    is 'C: it compiles' "$(cat "$scratch/cc.log")" ''
fi
# shellcheck disable=SC2046
${CC:-cc} -o "$scratch/static" "$root/export/sjdb/reader/examples/best.c" -I"$prefix/include" \
    "$prefix/lib/libskipjackdb.a" -lzstd 2>"$scratch/static.log"
is 'C: linked statically' "$("$scratch/static" "$db" $key 4096)" 'GemmB [] 12.25 ms, 4096 bytes'

examples=$root/export/sjdb/reader/examples
if [ -e /usr/include/CL/cl.h ]; then
    # shellcheck disable=SC2046
    ${CC:-cc} -Wall -Wextra -Werror -o "$scratch/run" "$examples/run_convolution.c" "$examples/run_check.c" \
        "$examples/run_print.c" "$examples/run_opencl.c" $(pkg-config --cflags --libs skipjackdb) -l:libOpenCL.so.1 -lm 2>"$scratch/cc.log"
    is 'C: what a file does not say how to run is not run' "$("$scratch/run" "$db" $key 2>&1)" \
        'run_convolution: how to run it: the database does not hold it'
else
    skip 'C: what a file does not say how to run is not run' "OpenCL's headers are not here"
fi
# shellcheck disable=SC2046
${CC:-cc} -Wall -Wextra -Werror -c -o "$scratch/cuda.o" "$examples/run_cuda.c" $(pkg-config --cflags skipjackdb) \
    2>"$scratch/cc.log"
is "C: for NVIDIA's driver too, without its headers" "$(cat "$scratch/cc.log")" ''
# shellcheck disable=SC2046
${CC:-cc} -Wall -Wextra -Werror -c -o "$scratch/hip.o" "$examples/run_hip.c" $(pkg-config --cflags skipjackdb) \
    2>"$scratch/cc.log"
is 'C: and for HIP' "$(cat "$scratch/cc.log")" ''
# shellcheck disable=SC2046
${CC:-cc} -Wall -Wextra -Werror -o "$scratch/dry" "$examples/run_convolution.c" "$examples/run_check.c" \
    "$examples/run_print.c" "$examples/run_none.c" $(pkg-config --cflags --libs skipjackdb) -lm 2>"$scratch/cc.log"
built=$root/tests/fuzz/corpus/sjdb/unmeasured
never=5-56-56-3x3-64-56-56-16-1x1-1x1-1x1-0-NCHW-FP32-F
is 'C: what nobody has run is not run unasked' "$("$scratch/dry" "$built" $never 2>&1)" \
    "run_convolution: $never: the file holds it as built and never measured: --unmeasured runs it, --dry-run says what that would launch"
is 'C: what it would launch, without a device' "$("$scratch/dry" "$built" $never --dry-run --solver ConvA --params 8,32)" \
    'ConvA [8,32], 1 launches, 1024 bytes of workspace, 0 bytes of packed filter
built and never measured: its time is not known, nor whether it is right
launch 1: other of conv.cl.o
  code         21 bytes for gfx90a, -DA=2 -mcpu=gfx90a
  grid         256 x 1 x 1 work-items, 4 x 1 x 1 workgroups
  block        64 x 1 x 1 work-items
  local memory 0 bytes beside the kernel'"'"'s own
  argument 0   pointer to y, 12845056 bytes
  argument 1   int32 2'

expected='GemmB 12.25 ms
ConvC<2> 0.333333 ms'
if command -v c++ >/dev/null; then
    # shellcheck disable=SC2046
    c++ -std=c++17 -Wall -Wextra -Werror -o "$scratch/entries" "$root/export/sjdb/reader/examples/entries.cc" \
        $(pkg-config --cflags --libs skipjackdb) 2>"$scratch/cc.log"
    is 'C++: all entries' "$("$scratch/entries" "$db" $key)" "$expected"
else
    skip 'C++: all entries' 'no C++ compiler is here'
fi
if command -v python3 >/dev/null; then
    is 'Python: all entries' "$(python3 "$root/export/sjdb/reader/examples/entries.py" "$db" $key)" "$expected"
    is 'Python: what to run' "$(python3 "$root/export/sjdb/reader/examples/choose.py" "$db" $near "$db")" \
        "ConvC<2>, found by the nearest problems in $db, 0.666667 ms"
else
    skip 'Python: all entries' 'no Python is here'
fi

env -u MAKEFLAGS -u MAKELEVEL make -s -C "$root" DEPS=true uninstall-reader PREFIX="$prefix" \
    >/dev/null 2>&1
is 'nothing is left of it when it is uninstalled' "$(find "$prefix" -type f -o -type l)" ''
echo "1..$number"
