#!/bin/sh
# Program code starts no shell, and no value is printed into a statement: parameters carry
# them. What is there all the same is listed with its reason.
set -u
cd "$(dirname "$0")/.." || exit 1
rooms='solvers kernels schema worker export coordinator'

# named LABEL PATTERN ALLOWED: no line of C matches, but for those of allowed files.
named() {
    # shellcheck disable=SC2086 # the rooms are words
    found=$(grep -rnE --include='*.[ch]' "$2" $rooms | grep -vE "${3:-^$}")
    if [ -z "$found" ]; then echo "ok - $1"; else
        echo "$found" | sed 's/^/# /'
        echo "not ok - $1"
    fi
}

echo 1..2
named 'no shell is started' '[^_a-z](system|popen)\(|"(/bin/)?sh"|g_spawn_command_line'
# export/formats/perf_db.c, import_sqlite.c: the names of columns, which SQLite takes no parameters for.
# schema/store/blockers.c: what status advises; it is never sent.
named 'no value is printed into a statement' \
    'printf\("(SELECT|INSERT|UPDATE|DELETE) ' '^export/formats/(perf_db|import_sqlite)\.c:|^schema/store/blockers\.c:'
