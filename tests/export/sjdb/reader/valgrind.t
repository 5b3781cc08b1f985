#!/bin/sh
# Runs the reader's tests under valgrind, which also finds reads of uninitialized memory.
set -u

tests=$(dirname "$SKIPJACK")/tests/export/sjdb/reader
command -v valgrind >/dev/null || { echo '1..0 # SKIP valgrind is not installed'; exit 0; }
[ -x "$tests/test_choose" ] || { echo '1..0 # SKIP the tests are not built'; exit 0; }
log=$(mktemp)
trap 'rm -f "$log"' EXIT

number=0
for name in test_reader_threads test_choose test_choose_target; do
    number=$((number + 1))
    if valgrind -q --error-exitcode=9 --leak-check=full --show-leak-kinds=definite \
        --errors-for-leak-kinds=definite "$tests/$name" --tap >"$log" 2>&1; then
        echo "ok $number - $name"
    else
        sed 's/^/# /' "$log" >&2
        echo "not ok $number - $name"
    fi
done
echo "1..$number"
