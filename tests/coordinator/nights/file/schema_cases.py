"""Compares the parser of a night's description with nightly.schema.json, field by field: documents that are made from
the schema itself, with each field left out, at the ends of its range, beyond them, and of every wrong type, are given to
a validator of JSON Schema and to the parser. Values of wrong types take turns over three days
(SKIPJACK_TEST_SEED), but in the long suite. usage: schema_cases.py SCHEMA EXAMPLE PARSER"""
import copy
import itertools
import json
import os
import subprocess
import sys

import jsonschema

schema = json.load(open(sys.argv[1]))
example = json.load(open(sys.argv[2]))
validator = jsonschema.Draft202012Validator(schema)
jsonschema.Draft202012Validator.check_schema(schema)

# Values of every type, for every field.
STRANGE = [None, True, False, 0, -1, 1, 2, 1.5, 1e300, -0.5, 9007199254740991, 9007199254740992, "", "x", "-", "a b",
           "latest", "07:00", "24:00", "9h30m", "0h", "64MiB", "64 MiB", "1.5", "1.5B", "FP32", "fp32", "NCHW",
           "gfx90a68", "http://h/x", "https://u@h/x", "https://h", "ftp://h/x", "f" * 64, "g" * 64, "y" * 101,
           "x" * 1001, "direct", "äöü", [], ["x"], ["x", "x"], [1], [1, 1], [1, 1.0], ["find"], ["gain", "always"],
           ["gain", "gain"], ["FP32", "FP16"], [{}], {}, {"x": 1}, [[]], ["local"], [None]]
DAYS = 1 if "SKIPJACK_TEST_LONG" in os.environ else 3
count = itertools.count(int(os.environ.get("SKIPJACK_TEST_SEED", 0)))


def strange():
    """Those of today, others for the next field."""
    return [value for value in STRANGE if next(count) % DAYS == 0]


def resolve(node):
    while "$ref" in node:
        node = schema["$defs"][node["$ref"].rsplit("/", 1)[1]]
    return node


def ends(node):
    """Numbers at and beyond the ends of a field's range."""
    for part in [node] + node.get("anyOf", []):
        part = resolve(part)
        for key in ("minimum", "exclusiveMinimum", "maximum"):
            if key in part:
                yield from (part[key], part[key] - 1, part[key] + 1, part[key] + 0.5)
        yield from part.get("enum", [])


def places(node, document, path=()):
    """Each object of the example with its schema: (path, properties)."""
    node = resolve(node)
    if isinstance(document, dict):
        yield path, node
        for name, value in document.items():
            yield from places(node["properties"][name], value, path + (name,))
    elif isinstance(document, list):
        for i, value in enumerate(document):
            item = node.get("items")
            for part in item.get("anyOf", [item]) if item else []:
                if isinstance(value, dict) and resolve(part).get("type") == "object":
                    yield from places(part, value, path + (i,))


def at(document, path):
    for step in path:
        document = document[step]
    return document


def cases():
    yield "the example", example
    for path, node in places(schema, example):
        where = "/".join(map(str, path))
        for name, field in node["properties"].items():
            for value in strange() + list(ends(resolve(field) | field)):
                changed = copy.deepcopy(example)
                at(changed, path)[name] = value
                yield f"{where}/{name} = {json.dumps(value)[:60]}", changed
            if name in at(example, path):
                changed = copy.deepcopy(example)
                del at(changed, path)[name]
                yield f"{where}/{name} left out", changed
        changed = copy.deepcopy(example)
        at(changed, path)["unknown"] = 1
        yield f"{where}: an unknown field", changed
        if path:
            for value in strange():
                changed = copy.deepcopy(example)
                at(changed, path[:-1])[path[-1]] = value
                yield f"{where} = {json.dumps(value)[:60]}", changed


# Rules that neither the table nor the schema can express: known solvers, a target twice, and what close jobs may try.
BEYOND = ("solvers: there is no solver", "name a target once", "search.close_configs")

every = list(cases())
answers = subprocess.run([sys.argv[3]], input="".join(json.dumps(c) + "\n" for _, c in every), text=True,
                         stdout=subprocess.PIPE, check=True).stdout.splitlines()
assert len(answers) == len(every), f"{len(answers)} answers to {len(every)} documents"
wrong = taken = unnamed = 0
for (what, document), answer in zip(every, answers):
    fits = validator.is_valid(document)
    taken += fits
    if fits != (answer == "ok") and not any(text in answer for text in BEYOND):
        wrong += 1
        print(f"# {what}: the schema {'takes' if fits else 'refuses'} it, the parser says: {answer}")
    if answer != "ok" and not answer.startswith("cannot read the night 'night.json': "):
        unnamed += 1
        print(f"# {what}: {answer}")
print("1..3")
print(("ok" if wrong == 0 else "not ok"), f"1 - parser and schema agree about {len(every)} documents")
print(("ok" if unnamed == 0 else "not ok"), "2 - each message names the description")
print(("ok" if 100 < taken < len(every) * 3 / 4 else "not ok"), f"3 - of them {taken} are taken, all others refused")
sys.exit(wrong + unnamed > 0)
