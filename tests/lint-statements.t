#!/bin/sh
# Program code starts no shell, and no value is printed into a statement: parameters carry
# them. The exceptions are listed with their reasons. Include guards are named after their file's path,
# since two headers with one guard would hide each other.
set -u
cd "$(dirname "$0")/.." || exit 1
rooms='solvers kernels schema worker export coordinator'

# named LABEL PATTERN ALLOWED: no line of C matches, except in files that ALLOWED matches.
named() {
    # shellcheck disable=SC2086 # the rooms are words
    found=$(grep -rnE --include='*.[ch]' "$2" $rooms | grep -vE "${3:-^$}")
    if [ -z "$found" ]; then echo "ok - $1"; else
        echo "$found" | sed 's/^/# /'
        echo "not ok - $1"
    fi
}

# Numbers of schema/sql/numbers.h by their bare digits, where they are compared: each of these lines is wrong.
bare='failures?(\[[^]]*\])?\)? *([=<>]+|(NOT )?IN \(|BETWEEN|&& ARRAY\[) *[0-9]'
bare="$bare|(failures?|said)(\[[^]]*\])? (NOT )?IN \([^)]*[0-9]|failures && ARRAY\[[^]]*[0-9]"
bare="$bare|[0-9] *[=<>]+ (ALL|ANY) \(([a-z]\.)?(failures|kinds)"
bare="$bare|coalesce\([a-z]*\.?failure, [0-9]|[ .](reason|kind) *[=<>]+ *[0-9]|failure BETWEEN [^ ]* AND [0-9]"
bare="$bare|fail_job\([^)]*, *[0-9]+(::smallint)?,"

# shared_numbers LABEL FILE...: no code of the files has such a number; comments may.
shared_numbers() {
    label=$1
    shift
    found=$(sed -s 's/--.*//' "$@" | grep -nE "$bare")
    if [ -z "$found" ]; then echo "ok - $label"; else
        echo "$found" | sed 's/^/# /'
        echo "not ok - $label"
    fi
}

# The lines of C that are literals, as statements are.
literals=$(mktemp)
trap 'rm -f "$literals"' EXIT
find schema -name '*.c' -exec grep -hE '^ *"' {} + >"$literals"

echo 1..6
named 'no shell is started' '[^_a-z](system|popen)\(|"(/bin/)?sh"|g_spawn_command_line'
# export/formats/perf_db.c, coordinator/import/import_file.c: the names of columns, which SQLite takes no parameters for.
# schema/store/blockers.c: what status advises; it is never sent.
named 'no value is printed into a statement' \
    'printf\("(SELECT|INSERT|UPDATE|DELETE) ' '^export/formats/perf_db\.c:|^coordinator/import/import_file\.c:|^schema/store/blockers\.c:'
shared_numbers 'SQL names the numbers that it shares with C' schema/sql/tables/*.sql schema/sql/functions/*.sql
shared_numbers 'so do the statements in C' "$literals"
# The pattern finds what it is for.
missed=''
for line in 'e.failure = 13' 'f.failure IN (@FAILURE_NONE, 16)' '0 <= ALL (i.failures)' 'o.failures && ARRAY[0, 16]' \
    'failure BETWEEN 1 AND 14' 'f.reason >= 5' 'w.kind = 3' 'coalesce(worst.failure, 14)' 'o.failures[at] = 0' 'fail_job(campaign, job, held_fence, 7::smallint, words)'; do
    echo "$line" | grep -qE "$bare" || missed="$missed $line"
done
if [ -z "$missed" ]; then echo 'ok - bare numbers are found'; else echo "not ok - bare numbers are found: not$missed"; fi

# kernels/device is left out, whose text is part of the kernels' keys, and so are the reader's public headers.
wrong=''
for header in $(find $rooms tests -name '*.h' ! -path 'kernels/device/*' ! -path '*/examples/*' ! -name skipjackdb.h); do
    guard=$(sed -n 's/^#ifndef \([A-Z0-9_]*_H\)$/\1/p;' "$header" | head -n 1)
    [ "$guard" = "$(echo "$header" | tr 'a-z/.-' 'A-Z___')" ] || wrong="$wrong $header"
done
if [ -z "$wrong" ]; then echo 'ok - include guards are named after their paths'; else
    echo "not ok - include guards are named after their paths: not$wrong"
fi
