#!/bin/sh
# The folder of families has a program for every solver of the table, and no other program: prove runs all that it finds
# there.
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
