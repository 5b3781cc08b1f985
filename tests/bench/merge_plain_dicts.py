"""Merges find-dbs as MITuna's merge_db does: the strongest simple peer of bench-merge.

usage: merge_plain_dicts.py IN... OUT

Each line becomes a dictionary of its solvers, a later file's solvers replace an earlier file's, and the
result is written with keys in order and solvers by time. Nothing is judged: times of 0, unknown
algorithms and torn entries are copied, contradictions are not noticed, nothing is read back.
"""
import sys


def read(path, keys):
    with open(path, encoding="ascii") as lines:
        for line in lines:
            key, entries = line.rstrip("\n").split("=")
            keys.setdefault(key, {}).update(entry.split(":") for entry in entries.split(";"))


def by_time(entry):
    return float(entry[1].split(",", 1)[0]), entry[0]


def write(path, keys):
    with open(path, "w", encoding="ascii") as out:
        for key, solvers in sorted(keys.items()):
            entries = sorted(solvers.items(), key=by_time)
            out.write(f"{key}={';'.join(':'.join(entry) for entry in entries)}\n")


def main():
    keys = {}
    for path in sys.argv[1:-1]:
        read(path, keys)
    write(sys.argv[-1], keys)


main()
