#!/bin/sh
# Every solver of the table has its program in the family's folder, and no other program is there, since prove runs all of them.
set -u

here=$(dirname "${SKIPJACK:-build/skipjack}")/tests/kernels

echo 1..1
if expected=$("$here/conv_family" --solvers | sort) && [ -n "$expected" ] &&
    [ "$(ls "$here/family" | sort)" = "$expected" ]; then
    echo "ok 1 /conv_family/every_solver_has_its_program"
else
    echo "not ok 1 /conv_family/every_solver_has_its_program"
    printf '%s\n' "$expected" | sed 's/^/# expected: /'
    ls "$here/family" | sed 's/^/# there is: /'
fi
