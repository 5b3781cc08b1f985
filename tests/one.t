#!/bin/sh
# A program that calls for the end of all tests fails alone; one that hangs is ended.
set -u

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
printf '#!/bin/sh\necho "Bail out! there is no disk"\nexit 5\n' >"$folder/1-bails-out"
printf '#!/bin/sh\nsleep 100\n' >"$folder/2-hangs"
printf '#!/bin/sh\necho "ok 1"\necho "1..1"\n' >"$folder/3-passes"
chmod 755 "$folder"/*
prove -e 'tests/one 1' "$folder"/* >"$folder/words" 2>&1
status=$?
sed 's/^/# /' "$folder/words"

echo 1..4
number=0
for pattern in '3-passes .*ok$' '1-bails-out .*(exited 5)' '2-hangs .*(exited 124)'; do
    number=$((number + 1))
    grep -q "$pattern" "$folder/words" && echo "ok $number - $pattern" || echo "not ok $number - $pattern"
done
[ $status -ne 0 ] && echo 'ok 4 - the whole has failed' || echo 'not ok 4 - the whole has failed'
