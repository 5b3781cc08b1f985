"""Says which solver to run for a problem, measured or not: python3 choose.py FILE KEY [FILE...]

The first file is the target's own, the others those of other targets, nearest first."""
import ctypes
import sys

PROBLEM_BYTES = 1024  # more than the library's struct has
HOW = [
    "nowhere",
    "measured",
    "measured on another target",
    "by the nearest problems",
    "by estimate",
    "measured with packed tensors",
]


class Choice(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_size_t),
        ("how", ctypes.c_int32),
        ("marks", ctypes.c_uint32),
        ("solver", ctypes.c_char_p),
        ("algorithm", ctypes.c_char_p),
        ("library", ctypes.c_char_p),
        ("params", ctypes.c_char_p),
        ("time_ms", ctypes.c_double),
        ("workspace_bytes", ctypes.c_uint64),
        ("revision", ctypes.c_uint32),
        ("flags", ctypes.c_uint32),
        ("db", ctypes.c_uint64),
        ("problem", ctypes.c_uint64),
        ("distance", ctypes.c_double),
    ]


library = ctypes.CDLL("libskipjackdb.so.1")
library.skipjackdb_error_text.restype = ctypes.c_char_p
library.skipjackdb_open.argtypes = [ctypes.c_char_p, ctypes.c_void_p]
library.skipjackdb_close.argtypes = [ctypes.c_void_p]
library.skipjackdb_problem_parse.argtypes = [ctypes.c_char_p, ctypes.c_void_p]
library.skipjackdb_choose.argtypes = [
    ctypes.c_void_p,
    ctypes.c_size_t,
    ctypes.c_void_p,
    ctypes.c_void_p,
    ctypes.c_void_p,
    ctypes.c_void_p,
]


def check(code):
    if code != 0:
        sys.exit("choose.py: " + library.skipjackdb_error_text(code).decode())


def choose(dbs, key):
    problem = (ctypes.c_size_t * (PROBLEM_BYTES // ctypes.sizeof(ctypes.c_size_t)))(PROBLEM_BYTES)
    choice = Choice(size=ctypes.sizeof(Choice))
    check(library.skipjackdb_problem_parse(key.encode(), problem))
    check(library.skipjackdb_choose(dbs, len(dbs), problem, None, ctypes.byref(choice), None))
    return choice


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    paths = [sys.argv[1]] + sys.argv[3:]
    dbs = (ctypes.c_void_p * len(paths))()
    for index, path in enumerate(paths):
        check(library.skipjackdb_open(path.encode(), ctypes.byref(dbs, index * ctypes.sizeof(ctypes.c_void_p))))
    choice = choose(dbs, sys.argv[2])
    print(f"{choice.solver.decode()}, found {HOW[choice.how]} in {paths[choice.db]}, {choice.time_ms:g} ms")
    for db in dbs:
        library.skipjackdb_close(db)


main()
