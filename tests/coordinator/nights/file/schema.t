#!/bin/sh
# The parser of a night's description and nightly.schema.json take and refuse the same documents (schema_cases.py).
top=$(realpath "$(dirname "$0")/../../../..")
parser=$(dirname "$SKIPJACK")/tests/coordinator/nights/file/night_verdicts
cd "$top" || exit 1
for python in python3 /usr/bin/python3; do
    if "$python" -W ignore -c 'import jsonschema; jsonschema.Draft202012Validator' 2>/dev/null; then
        exec "$python" -W ignore tests/coordinator/nights/file/schema_cases.py coordinator/nights/nightly.schema.json \
            coordinator/nights/nightly.example.json "$parser"
    fi
done
echo '1..0 # SKIP no python3-jsonschema'
