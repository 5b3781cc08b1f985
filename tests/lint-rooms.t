#!/bin/sh
# Trees that tests/lint-rooms passes, and trees that it refuses with the reason.
# shellcheck disable=SC2086 # the lines of what was found are joined
set -u

here=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
number=0

empty_tree() {
    rm -rf "$scratch/tree"
    mkdir -p "$scratch/tree/tests"
    for room in solvers kernels schema worker export coordinator; do mkdir "$scratch/tree/$room"; done
}

# finds LABEL FILE INCLUDE EXPECTED: a tree whose FILE includes INCLUDE is refused with
# a message that holds EXPECTED, or passes when EXPECTED is empty.
finds() {
    empty_tree
    mkdir -p "$(dirname "$scratch/tree/$2")"
    echo "$3" | sed 's/^[<"]/#include &/' >"$scratch/tree/$2"
    judge "$1" "$here/lint-rooms" "$4"
}

# judge LABEL LINT EXPECTED: what LINT says of the tree.
judge() {
    found=$("$2" "$scratch/tree" 2>&1; echo "status $?")
    expected=${3:+$3.* status 1}
    number=$((number + 1))
    if echo $found | grep -q "${expected:-^status 0}"; then
        echo "ok $number - $1"
    else
        echo "not ok $number - $1"
        echo "$found" | sed 's/^/# /'
    fi
}

finds 'a room includes itself' solvers/a.c '"solvers/a.h"' ''
finds 'a header beside the file' worker/gpu/a.c '"a.h"' ''
finds 'worker knows kernels' worker/gpu/a.c '"kernels/toolchains/toolchain.h"' ''
finds 'solvers know nobody' solvers/conv/a.c '"kernels/a.h"' 'a.c:1: .*solvers may not know'
finds 'solvers do no I/O' solvers/a.h '<uv.h>' 'solvers may not use'
finds 'libpq is in schema' schema/a.c '<libpq-fe.h>' ''
finds 'libpq is in schema only' coordinator/api/a.c '<libpq-fe.h>' 'coordinator may not use'
finds 'OpenCL is not in coordinator' coordinator/a.c '<CL/cl.h>' 'may not use'
finds 'export does not know worker' export/golden/a.c '"worker/commands.h"' 'golden may not know'
finds 'importers read formats' coordinator/import/a.c '"export/formats/find_db.h"' ''
finds 'the writer of .sjdb knows the reader' export/sjdb/a.c '"export/sjdb/reader/a.h"' ''
finds 'formats do not know .sjdb' export/formats/a.c '"export/sjdb/sjdb_write.h"' 'formats may not know'
finds 'formats know no database' export/formats/a.c '"schema/store/store.h"' 'formats may not know'
finds 'main sees a room through its commands' coordinator/main.c '"worker/commands.h"' ''
finds 'main sees nothing else of it' coordinator/main.c '"worker/agent.h"' 'main.c may not know'
finds 'only main does' coordinator/run.c '"worker/commands.h"' 'coordinator may not know'
finds 'the reader knows itself' export/sjdb/reader/a.c '"export/sjdb/reader/a.h"' ''
finds 'the reader knows nobody' export/sjdb/reader/a.c '"export/sjdb/format.h"' 'reader may not know'
finds 'the reader needs no GLib' export/sjdb/reader/a.c '<glib.h>' 'reader may not use'
finds 'lookups know the reader' export/lookup/a.c '"export/sjdb/reader/a.h"' ''
finds 'merges know no database' export/merge/a.c '"schema/store/store.h"' 'merge may not know'
finds 'worker knows the monitor' worker/a.c '"schema/monitor/log.h"' ''
finds 'the monitor knows nobody' schema/monitor/a.c '"schema/store/store.h"' 'monitor may not know'
finds 'the monitor knows no database' schema/monitor/a.c '<libpq-fe.h>' 'monitor may not use'
finds 'code objects are fetched without libpq' schema/blobs/a.c '<libpq-fe.h>' 'blobs may not use'
finds 'clients of stores know no queries' schema/blobs/a.c '"schema/store/store_private.h"' 'blobs may not know'
finds 'the store knows no results' schema/store/a.c '"schema/results/store_results.h"' 'store may not know'
finds 'libcurl is in blobs only' schema/store/a.c '<curl/curl.h>' 'store may not use'
finds 'no way round by ..' worker/a.c '"../export/a.h"' 'from the top'
finds 'the top level is kept' coordinator.c '<stdio.h>' 'coordinator.c: does not belong'
finds 'no room includes a test' worker/a.c '"tests/support/a.h"' 'worker may not know'
finds 'test scripts can be run' tests/schema/a.t '#!/bin/sh' 'a.t: prove cannot run it'

# row LABEL ROW EXPECTED: tests/rooms with this row is refused with a message that holds EXPECTED.
row() {
    empty_tree
    cp "$here/lint-rooms" "$scratch/tree/tests/"
    echo "$2" >"$scratch/tree/tests/rooms"
    judge "$1" "$scratch/tree/tests/lint-rooms" "$3"
}

row 'a row names folders that exist' 'kernels solvers' ''
row 'a row of a missing folder' 'kernels/gone solvers' 'kernels/gone does not exist'
row 'a row that allows a missing folder' 'kernels solvers/gone' 'solvers/gone does not exist'
row 'a row that allows tests' 'kernels tests' 'kernels must not include tests'
echo "1..$number"
