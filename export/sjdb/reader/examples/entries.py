"""Lists all entries of a problem: python3 entries.py FILE KEY"""
import ctypes
import sys


class Entry(ctypes.Structure):
    _fields_ = [
        ("solver", ctypes.c_char_p),
        ("algorithm", ctypes.c_char_p),
        ("library", ctypes.c_char_p),
        ("time_ms", ctypes.c_double),
        ("workspace_bytes", ctypes.c_uint64),
        ("revision", ctypes.c_uint32),
        ("flags", ctypes.c_uint32),
        ("low_ms", ctypes.c_double),
        ("high_ms", ctypes.c_double),
    ]


library = ctypes.CDLL("libskipjackdb.so.1")
library.skipjackdb_error_text.restype = ctypes.c_char_p
library.skipjackdb_close.argtypes = [ctypes.c_void_p]
library.skipjackdb_find_key.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
library.skipjackdb_entries.argtypes = [
    ctypes.c_void_p,
    ctypes.c_uint64,
    ctypes.c_void_p,
    ctypes.c_size_t,
    ctypes.c_size_t,
    ctypes.c_void_p,
]


def check(code):
    if code != 0:
        sys.exit("entries.py: " + library.skipjackdb_error_text(code).decode())


def entries(db, key):
    number, count = ctypes.c_uint64(), ctypes.c_size_t()
    check(library.skipjackdb_find_key(db, key.encode(), ctypes.byref(number)))
    check(library.skipjackdb_entries(db, number, None, ctypes.sizeof(Entry), 0, ctypes.byref(count)))
    found = (Entry * count.value)()
    check(library.skipjackdb_entries(db, number, found, ctypes.sizeof(Entry), len(found), ctypes.byref(count)))
    return found


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    db = ctypes.c_void_p()
    check(library.skipjackdb_open(sys.argv[1].encode(), ctypes.byref(db)))
    for entry in entries(db, sys.argv[2]):
        interval = f" ({entry.low_ms:g} to {entry.high_ms:g})" if entry.low_ms > 0 else ""
        print(f"{entry.solver.decode()} {entry.time_ms:g} ms{interval}")
    library.skipjackdb_close(db)


main()
