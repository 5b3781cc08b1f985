#!/bin/sh
# A program that calls for the end of all tests fails alone; one that hangs is ended; a process that one leaves
# behind keeps no test waiting; standard input is empty, and SIGINT is not ignored; the output names a test that failed.
set -u

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
printf '#!/bin/sh\necho "Bail out! there is no disk"\nexit 5\n' >"$folder/1-bails-out"
printf '#!/bin/sh\nsleep 100\n' >"$folder/2-hangs"
printf '#!/bin/sh\necho "ok 1"\necho "1..1"\n' >"$folder/3-passes"
printf '#!/bin/sh\nsleep 600 &\necho "$!" >"%s/left"\necho "ok 1"\necho "1..1"\nexit 7\n' "$folder" >"$folder/4-leaves"
printf '#!/bin/sh\nread word && exit 1\nsed -n "s/^SigIgn:/# ignored/p" /proc/self/status\nexit 9\n' >"$folder/5-reads"
chmod 755 "$folder"/*
ignored=$(sed -n 's/^SigIgn:/# ignored/p' /proc/self/status)
[ "$(echo given | tests/one 60 "$folder/5-reads"; echo $?)" = "$ignored
9" ] && inherited=yes || inherited=no
rm "$folder/5-reads"
prove -e 'tests/one 1' "$folder"/* >"$folder/words" 2>&1
status=$?
sed 's/^/# /' "$folder/words"

echo 1..8
number=0
for pattern in '3-passes .*ok$' '1-bails-out .*(exited 5)' '2-hangs .*(exited 124)' '4-leaves .*(exited 7)'; do
    number=$((number + 1))
    grep -q "$pattern" "$folder/words" && echo "ok $number - $pattern" || echo "not ok $number - $pattern"
done
[ $status -ne 0 ] && echo 'ok 5 - the whole has failed' || echo 'not ok 5 - the whole has failed'
# Killed, it may still wait for its parent to look.
state=$(sed -n 's/^State:[[:space:]]*\(.\).*/\1/p' "/proc/$(cat "$folder/left")/status" 2>/dev/null)
[ "${state:-Z}" = Z ] && echo 'ok 6 - nothing is left behind' || echo 'not ok 6 - nothing is left behind'
[ $inherited = yes ] && echo 'ok 7 - a test has no input, and the signals of its caller' ||
    echo 'not ok 7 - a test has no input, and the signals of its caller'
grep -q '1-bails-out: not ok - Bail out! there is no disk' "$folder/words" && echo 'ok 8 - a failed test is named' ||
    echo 'not ok 8 - a failed test is named'
