"""The straightforward merge of find-dbs that bench-merge has as its peer.

usage: merge_find_dbs.py IN... OUT

It does the same work: every key and entry is taken apart and judged, of a key and solver the fastest
entry stays, what is left out and what contradicts is noted with its line, the newer form is written
(keys in order, entries by time, ties by name) and read back. The bench compares the bytes with ours.
"""
import re
import sys
from dataclasses import dataclass

LAYOUTS = {"NCHW", "NHWC", "CHWN", "NCDHW", "NDHWC", "NCHWc4", "NCHWc8", "CHWNc4", "CHWNc8"}
TYPES = {"FP32", "FP16", "BF16", "INT8", "INT32", "FP64", "FP8", "BF8", "INT8INT8INT32"}
ALGORITHM = re.compile(
    r"miopenConvolution(Fwd|BwdData|BwdWeights)Algo(GEMM|Direct|FFT|Winograd|ImplicitGEMM)"
)
OPTIONS = re.compile(r"([FBW])(?:_g(\d+))?(?:_c[iwo]([A-Z0-9]+))*")


class Invalid(Exception):
    pass


@dataclass
class Entry:
    solver: str
    time: float
    time_text: str
    workspace: int
    algorithm: str
    line: str


def numbers_of(text, separator, count):
    numbers = [int(number) for number in text.split(separator)]
    if len(numbers) != count or text != separator.join(map(str, numbers)):
        raise Invalid(f"{text}: expected {count} numbers")
    return numbers


def parse_key(key):
    parts = key.split("-")
    axes = 3 if parts[4].count("x") == 2 else 2
    at = 1 + axes
    channels_and_size = numbers_of("-".join(parts[:at]), "-", at)
    filter_size = numbers_of(parts[at], "x", axes)
    behind = numbers_of("-".join(parts[at + 1 : 2 * at + 2]), "-", at + 1)
    pads, strides, dilations = (numbers_of(part, "x", axes) for part in parts[2 * at + 2 : 2 * at + 5])
    bias, *layouts, types, ending = parts[2 * at + 5 :]
    options = OPTIONS.fullmatch(ending)
    if bias not in "01" or len(layouts) not in (1, 3) or not LAYOUTS.issuperset(layouts):
        raise Invalid(f"{key}: layouts or bias")
    if types not in TYPES or options is None:
        raise Invalid(f"{key}: types or direction")
    return channels_and_size, filter_size, behind, pads, strides, dilations, layouts, types, options


def parse_entry(text, line):
    name, rest = text.split(":", 1)
    fields = rest.split(",", 4)
    if len(fields) == 3:
        entry = Entry(name, float(fields[0]), fields[0], int(fields[1]), fields[2], line)
    elif len(fields) == 5:
        entry = Entry(fields[0], float(fields[1]), fields[1], int(fields[2]), name, line)
    else:
        raise Invalid(f"{text}: fields")
    if ALGORITHM.fullmatch(entry.algorithm) is None or entry.workspace < 0:
        raise Invalid(f"{text}: algorithm or workspace")
    return entry


def parse_line(text, where):
    if not text.isascii() or not text.isprintable():
        raise Invalid("bytes")
    key, entries = text.split("=", 1)
    parse_key(key)
    return key, [parse_entry(entry, where) for entry in entries.split(";")]


def add(solvers, key, entry, conflicts):
    other = solvers.get(entry.solver)
    if other is not None and (entry.time, entry.workspace) != (other.time, other.workspace):
        conflicts.append((key, entry, other))
    if other is None or entry.time < other.time:
        solvers[entry.solver] = entry


def read(path, keys, conflicts, left_out):
    with open(path, encoding="ascii") as lines:
        for number, line in enumerate(lines, 1):
            where = f"{path} line {number}"
            try:
                key, entries = parse_line(line.rstrip("\n"), where)
            except (Invalid, ValueError, IndexError) as error:
                left_out.append((where, str(error)))
                continue
            for entry in entries:
                if entry.time <= 0:
                    left_out.append((where, f"{entry.solver}: the time is {entry.time}"))
                else:
                    add(keys.setdefault(key, {}), key, entry, conflicts)


def write(path, keys):
    with open(path, "w", encoding="ascii") as out:
        for key in sorted(keys):
            entries = sorted(keys[key].values(), key=lambda entry: (entry.time, entry.solver))
            texts = [f"{e.solver}:{e.time_text},{e.workspace},{e.algorithm}" for e in entries]
            out.write(f"{key}={';'.join(texts)}\n")


def main():
    keys, conflicts, left_out, again = {}, [], [], {}
    for path in sys.argv[1:-1]:
        read(path, keys, conflicts, left_out)
    write(sys.argv[-1], keys)
    read(sys.argv[-1], again, [], left_out)
    print(f"{len(keys)} keys, {len(conflicts)} conflicts, {len(left_out)} left out")
    return 0 if again.keys() == keys.keys() else 1


sys.exit(main())
