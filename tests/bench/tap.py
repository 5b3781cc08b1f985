"""Runs a file's tests, the functions whose names begin with test_, and prints TAP."""
import sys
import traceback


def run(names, where):
    """names: the file's globals(); where: what its tests' names begin with. Ends the program: with 1 if a test fails."""
    tests = [(name, test) for name, test in list(names.items()) if name.startswith("test_")]
    failed = False
    print(f"1..{len(tests)}")
    for number, (name, test) in enumerate(tests, 1):
        try:
            test()
            print(f"ok {number} /{where}/{name[5:]}")
        except Exception:
            print(f"not ok {number} /{where}/{name[5:]}\n" + traceback.format_exc().replace("\n", "\n# "))
            failed = True
    sys.stdout.flush()
    sys.exit(failed)
