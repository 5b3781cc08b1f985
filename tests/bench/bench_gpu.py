#!/usr/bin/env python3
"""Convolutions tuned by Skipjack beside cuDNN as PyTorch's benchmark mode chooses it, on this machine's GPU.

  bench_gpu.py [--skipjack PROGRAM] [--reader LIBRARY] [--out FOLDER] [--budget SECONDS]
               [--sets A,B] [--problems FILE] [--measure-only] [--all] [--json]

Each set is a network of coordinator/networks at a batch size, a type and a layout, in the directions F, B and
W; or a file of problems as `skipjack tune` reads it. `skipjack tune` gives its .sjdb (what was tuned before costs nothing); each solution is then launched
from there as any user of libskipjackdb launches it, in PyTorch's stream and on PyTorch's tensors. The two take
turns; before every run the caches are overwritten. TF32 is off. A speed is cuDNN's time by ours: above 1 we are
faster. Exit status 1 where a result differs from PyTorch's.
"""
import argparse
import csv
import ctypes
import json
import math
import pathlib
import statistics
import subprocess
import sys

try:
    import torch
except ImportError:
    sys.exit("bench_gpu: PyTorch is needed on a GPU host, with CUDA: python3 -m pip install torch")

NETWORKS = pathlib.Path(__file__).resolve().parents[2] / "coordinator/networks"
COMMANDS = {"FP32": "conv", "FP16": "convfp16"}
# By the library's number of the type: PyTorch's, and how far a result may lie from PyTorch's, as a part of the
# largest value.
TYPES = {1: (torch.float32, 1e-4), 2: (torch.float16, 2e-2), 3: (torch.bfloat16, 5e-2)}
# The network's table, the batch size, and what is measured of it.
SETS = {
    f"{name}-{kind.lower()}-{layout.lower()}": (name, batch, kind, layout)
    for name, batch in (
        ("resnet50-v1.5", 64),
        ("mobilenet-v2", 64),
        ("retinanet-heads", 2),
        ("resnext101-32x8d", 32),
    )
    for kind in COMMANDS
    for layout in ("NCHW", "NHWC")
}
DIRECTIONS = "FBW"
TURNS = 11
FLUSH_BYTES = 256 << 20  # more than any cache of theirs
WAIT_CYCLES = 400_000  # the device waits so long before a run: it is enqueued by then


# ---- libskipjackdb and NVIDIA's driver, as far as they are needed


class Problem(ctypes.Structure):
    _fields_ = (
        [("size", ctypes.c_size_t)]
        + [(name, ctypes.c_int64) for name in ("n", "c", "k", "groups")]
        + [(name, ctypes.c_int64 * 3) for name in ("inp", "fil", "out", "pad", "stride", "dilation")]
        + [("spatial_dim", ctypes.c_int32), ("direction", ctypes.c_int32)]
        + [(name, ctypes.c_int32 * 3) for name in ("type", "cast", "layout")]
        + [("bias", ctypes.c_int32), ("epilogue", ctypes.c_char * 96)]
    )


class Entry(ctypes.Structure):
    _fields_ = [("solver", ctypes.c_char_p), ("algorithm", ctypes.c_char_p), ("library", ctypes.c_char_p),
                ("time_ms", ctypes.c_double), ("workspace_bytes", ctypes.c_uint64),
                ("revision", ctypes.c_uint32), ("flags", ctypes.c_uint32)]  # fmt: skip


class Solution(ctypes.Structure):
    _fields_ = [("solver", ctypes.c_char_p), ("params", ctypes.c_char_p), ("workspace_bytes", ctypes.c_uint64),
                ("number", ctypes.c_uint64), ("launch_count", ctypes.c_uint32), ("revision", ctypes.c_uint32),
                ("flags", ctypes.c_uint32)]  # fmt: skip


class Launch(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("number", ctypes.c_uint64), ("kernel", ctypes.c_uint64),
                ("entry", ctypes.c_char_p), ("grid", ctypes.c_int64 * 3), ("block", ctypes.c_int32 * 3),
                ("arg_count", ctypes.c_uint32), ("local_bytes", ctypes.c_uint64)]  # fmt: skip


class Arg(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_int32), ("tensor", ctypes.c_int32), ("axis", ctypes.c_int32),
                ("real", ctypes.c_float), ("value", ctypes.c_int64), ("factor", ctypes.c_int64)]  # fmt: skip


class Kernel(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("text_bytes", ctypes.c_uint64), ("code_bytes", ctypes.c_uint64)]


ARG_TENSOR, ARG_WORKSPACE, ARG_INT32, ARG_INT64, ARG_FLOAT32, ARG_STRIDE = range(6)
LOCAL_BYTES_ATTRIBUTE = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
VALUES = {ARG_INT32: ctypes.c_int32, ARG_INT64: ctypes.c_int64, ARG_STRIDE: ctypes.c_int64}


def sized(struct):
    return struct(size=ctypes.sizeof(struct))


class Database:
    def __init__(self, reader, path):
        self.lib, self.handle = reader, ctypes.c_void_p()
        self.check(reader.skipjackdb_open(str(path).encode(), ctypes.byref(self.handle)), path)
        reader.skipjackdb_solved_count.restype = ctypes.c_uint64

    def check(self, code, what):
        if code != 0:
            self.lib.skipjackdb_error_text.restype = ctypes.c_char_p
            sys.exit(f"bench_gpu: {what}: {self.lib.skipjackdb_error_text(code).decode()}")

    def problems(self):
        for number in range(self.lib.skipjackdb_solved_count(self.handle)):
            problem = sized(Problem)
            self.check(
                self.lib.skipjackdb_solved_at(self.handle, ctypes.c_uint64(number), ctypes.byref(problem)), "a problem"
            )
            yield problem

    def key(self, problem):
        text = ctypes.create_string_buffer(512)
        self.check(self.lib.skipjackdb_problem_key(ctypes.byref(problem), text, ctypes.c_size_t(512)), "a key")
        return text.value.decode()

    def best(self, problem):
        """The fastest entry and how it is run."""
        number, entry, solution = ctypes.c_uint64(), Entry(), Solution()
        self.check(self.lib.skipjackdb_find(self.handle, ctypes.byref(problem), ctypes.byref(number)), "a key")
        size = ctypes.c_size_t(ctypes.sizeof(entry))
        self.check(self.lib.skipjackdb_best(self.handle, number, None, ctypes.byref(entry), size), "an entry")
        size = ctypes.c_size_t(ctypes.sizeof(solution))
        self.check(
            self.lib.skipjackdb_solution(
                self.handle, ctypes.byref(problem), entry.solver, ctypes.byref(solution), size
            ),
            "a solution",
        )
        return entry, solution

    def launches(self, problem, solution):
        for index in range(solution.launch_count):
            launch = sized(Launch)
            self.check(
                self.lib.skipjackdb_launch_at(
                    self.handle, ctypes.byref(solution), ctypes.c_uint32(index), ctypes.byref(launch)
                ),
                "a launch",
            )
            args = (Arg * launch.arg_count)()
            room = [ctypes.c_size_t(ctypes.sizeof(Arg)), ctypes.c_size_t(launch.arg_count)]
            self.check(
                self.lib.skipjackdb_args(self.handle, ctypes.byref(launch), ctypes.byref(problem), args, *room),
                "arguments",
            )
            yield launch, args

    def code(self, number):
        kernel = sized(Kernel)
        self.check(
            self.lib.skipjackdb_kernel_at(self.handle, ctypes.c_uint64(number), ctypes.byref(kernel)), "a kernel"
        )
        code = ctypes.create_string_buffer(kernel.code_bytes)
        room = ctypes.c_size_t(kernel.code_bytes)
        none = ctypes.c_size_t(0)
        self.check(
            self.lib.skipjackdb_kernel_read(self.handle, ctypes.c_uint64(number), None, none, code, room), "a kernel"
        )
        return code


def check_driver(status, doing):
    if status != 0:
        sys.exit(f"bench_gpu: cannot {doing}: CUDA's error {status}")


class Ours:
    """A solution, its code objects loaded into PyTorch's context; called with the three tensors."""

    def __init__(self, driver, db, problem, solution):
        self.driver, self.modules, self.steps = driver, [], []
        bytes_wanted = max(1, solution.workspace_bytes)
        self.workspace = torch.full((bytes_wanted,), 255, dtype=torch.uint8, device="cuda")
        for launch, args in db.launches(problem, solution):
            self.steps.append((self.function(db, launch), launch, [self.value(arg) for arg in args]))

    def function(self, db, launch):
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        check_driver(self.driver.cuModuleLoadData(ctypes.byref(module), db.code(launch.kernel)), "load a code object")
        self.modules.append(module)
        check_driver(
            self.driver.cuModuleGetFunction(ctypes.byref(function), module, launch.entry), "find a kernel in it"
        )
        if launch.local_bytes > 48 << 10:
            wanted = ctypes.c_int(launch.local_bytes)
            check_driver(self.driver.cuFuncSetAttribute(function, LOCAL_BYTES_ATTRIBUTE, wanted), "get local memory")
        return function

    def value(self, arg):
        if arg.kind == ARG_TENSOR:
            return arg.tensor
        if arg.kind == ARG_WORKSPACE:
            return ctypes.c_uint64(self.workspace.data_ptr() + arg.value)
        if arg.kind == ARG_FLOAT32:
            return ctypes.c_float(arg.real)
        return VALUES[arg.kind](arg.value)

    def bind(self, tensors):
        """The launches with their arguments' addresses, ready to be made."""
        pointers = [ctypes.c_uint64(tensor.data_ptr()) for tensor in tensors]
        bound = []
        for function, launch, values in self.steps:
            held = [pointers[value] if isinstance(value, int) else value for value in values]
            array = (ctypes.c_void_p * len(held))(*[ctypes.addressof(value) for value in held])
            grid = [ctypes.c_uint(launch.grid[i] // launch.block[i]) for i in range(3)]
            block = [ctypes.c_uint(launch.block[i]) for i in range(3)]
            bound.append((held, [function, *grid, *block, ctypes.c_uint(launch.local_bytes)], array))
        return bound

    def run(self, bound):
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        for _, words, array in bound:
            check_driver(self.driver.cuLaunchKernel(*words, stream, array, None), "launch a kernel")

    def close(self):
        torch.cuda.synchronize()
        for module in self.modules:
            self.driver.cuModuleUnload(module)


# ---- the sets


def write_lines(name, batch, kind, layout, path):
    """The network's layers as driver lines, a line a layer and direction."""
    command = COMMANDS[kind]
    with open(NETWORKS / f"{name}.csv", encoding="utf-8") as table, open(path, "w", encoding="utf-8") as lines:
        for row in csv.DictReader(line for line in table if not line.startswith("#")):
            for direction in (1, 2, 4):
                words = " ".join(f"-{letter} {row[column]}" for letter, column in zip("cHWkyxpquvljg", "chwkyxpquvljg"))
                layouts = " ".join(f"--{tensor}_layout {layout}" for tensor in ("in", "fil", "out"))
                for _ in range(int(row["mult"])):
                    print(f"{command} -n {batch} {words} -F {direction} {layouts}", file=lines)


def tune(options, name):
    folder = options.out / name
    folder.mkdir(parents=True, exist_ok=True)
    lines = options.files.get(name, folder / "problems.txt")
    if name in SETS:
        write_lines(*SETS[name], lines)
    if not options.measure_only:
        command = [options.skipjack, "tune", str(lines), "-o", str(folder), "--budget", str(options.budget)]
        subprocess.run(command, check=True, stdout=sys.stderr)
    found = sorted(folder.glob("*.sjdb"))
    if not found:
        sys.exit(f"bench_gpu: {folder}: no .sjdb: tune it first, without --measure-only")
    return found[0]


# ---- one problem


def tensors_of(problem, dtype, channels_last):
    kind = {"device": "cuda", "dtype": torch.float32}
    where = torch.channels_last if channels_last else torch.contiguous_format
    shapes = [
        (problem.n, problem.c, problem.inp[1], problem.inp[2]),
        (problem.k, problem.c // problem.groups, problem.fil[1], problem.fil[2]),
        (problem.n, problem.k, problem.out[1], problem.out[2]),
    ]
    return [(torch.rand(shape, **kind) - 0.5).to(dtype).to(memory_format=where) for shape in shapes]


def theirs_of(problem, x, w, y):
    axes = {name: [getattr(problem, name)[a] for a in (1, 2)] for name in ("stride", "pad", "dilation")}
    if problem.direction == 0:
        return lambda: torch.nn.functional.conv2d(
            x, w, None, axes["stride"], axes["pad"], axes["dilation"], problem.groups
        )
    mask = [problem.direction == 1, problem.direction == 2, False]
    return lambda: torch.ops.aten.convolution_backward(
        y, x, w, None, axes["stride"], axes["pad"], axes["dilation"], False, [0, 0], problem.groups, mask
    )[problem.direction - 1]


def timed(run, flush):
    flush.zero_()
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda._sleep(WAIT_CYCLES)
    begin.record()
    run()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end)


def measure(db, driver, problem, flush):
    """Our time and theirs in ms, and the largest difference as a part of the largest value."""
    entry, solution = db.best(problem)
    dtype, tolerance = TYPES[problem.type[0]]
    tensors = tensors_of(problem, dtype, problem.layout[0] == 1)
    x, w, y = tensors
    theirs = theirs_of(problem, x, w, y)
    expected = theirs().float()
    output = {0: 2, 1: 0, 2: 1}[problem.direction]
    tensors[output] = torch.empty_like(tensors[output]).fill_(math.nan)
    ours = Ours(driver, db, problem, solution)
    bound = ours.bind(tensors)
    ours.run(bound)
    difference = ((tensors[output].float() - expected).abs().max() / expected.abs().max()).item()
    times = [[], []]
    for turn in range(TURNS + 2):
        for side, run in enumerate((lambda: ours.run(bound), theirs)):
            ms = timed(run, flush)
            if turn >= 2:
                times[side].append(ms)
    ours.close()
    return {
        "key": db.key(problem),
        "direction": DIRECTIONS[problem.direction],
        "solver": entry.solver.decode(),
        "params": solution.params.decode(),
        "ours_ms": statistics.median(times[0]),
        "cudnn_ms": statistics.median(times[1]),
        "recorded_ms": entry.time_ms,
        "difference": difference,
        "right": difference <= tolerance,
    }


# ---- the table


def summary(name, direction, rows):
    speeds = sorted((row["cudnn_ms"] / row["ours_ms"], row["key"]) for row in rows)
    return {
        "set": name,
        "direction": direction,
        "problems": len(speeds),
        "geometric_mean": math.exp(statistics.fmean(math.log(speed) for speed, _ in speeds)),
        "p10": speeds[len(speeds) // 10][0],
        "worst": speeds[0][0],
        "worst_key": speeds[0][1],
        "wrong": sum(not row["right"] for row in rows),
    }


def print_table(summaries):
    print(f"{'set':<34} {'dir':<3} {'problems':>8} {'geo.mean':>8} {'p10':>6} {'worst':>6} {'wrong':>5}  worst of all")
    for line in summaries:
        print(
            f"{line['set']:<34} {line['direction']:<3} {line['problems']:>8} {line['geometric_mean']:>8.3f}"
            f" {line['p10']:>6.3f} {line['worst']:>6.3f} {line['wrong']:>5}  {line['worst_key']}"
        )


def measure_set(options, reader, driver, name, flush):
    db = Database(reader, tune(options, name))
    rows = []
    for problem in db.problems():
        if problem.type[0] not in TYPES:
            print(f"{db.key(problem)}: PyTorch has no convolution of its type: left out", file=sys.stderr)
            continue
        rows.append(measure(db, driver, problem, flush))
        row = rows[-1]
        if options.all:
            print(
                f"{row['key']:<70} {row['cudnn_ms'] / row['ours_ms']:6.3f} ours {row['ours_ms']:8.4f} ms, cuDNN"
                f" {row['cudnn_ms']:8.4f} ms  {row['solver']} [{row['params']}]"
                + ("" if row["right"] else f"  WRONG by {row['difference']:.2g}"),
                file=sys.stderr,
            )
    db.lib.skipjackdb_close(db.handle)
    return rows


def read_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--skipjack", default="build/skipjack", help="the program that tunes")
    parser.add_argument("--reader", default="libskipjackdb.so.1", help="the library that reads .sjdb files")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("build/gpu-bench"), help="where results go")
    parser.add_argument("--budget", type=int, default=300, help="seconds of tuning a set")
    parser.add_argument("--sets", help="of " + " ".join(SETS) + "; all where neither these nor files are named")
    parser.add_argument("--problems", action="append", type=pathlib.Path, default=[], help="a file as a set")
    parser.add_argument("--measure-only", action="store_true", help="tune nothing, take the .sjdb files of --out")
    parser.add_argument("--all", action="store_true", help="a line a problem too, on stderr")
    parser.add_argument("--json", action="store_true", help="all rows as JSON")
    options = parser.parse_args()
    options.files = {file.stem: file for file in options.problems}
    names = options.sets.split(",") if options.sets else [] if options.files else list(SETS)
    for name in names:
        if name not in SETS:
            parser.error(f"{name}: no such set; there are: {' '.join(SETS)}")
    options.sets = names + list(options.files)
    return options


def main():
    options = read_options()
    if not torch.cuda.is_available():
        sys.exit("bench_gpu: PyTorch finds no GPU here")
    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False
    torch.zeros(1, device="cuda")  # makes the context that both use
    reader, driver = ctypes.CDLL(options.reader), ctypes.CDLL("libcuda.so.1")
    flush = torch.empty(FLUSH_BYTES, dtype=torch.uint8, device="cuda")
    summaries, rows = [], {}
    for name in options.sets:
        rows[name] = measure_set(options, reader, driver, name, flush)
        for direction in DIRECTIONS:
            part = [row for row in rows[name] if row["direction"] == direction]
            if part:
                summaries.append(summary(name, direction, part))
    if options.json:
        cudnn = torch.backends.cudnn.version()
        facts = {"device": torch.cuda.get_device_name(), "torch": torch.__version__, "cudnn": cudnn}
        json.dump({**facts, "summaries": summaries, "rows": rows}, sys.stdout)
        print()
    else:
        print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, cuDNN {torch.backends.cudnn.version()}")
        print_table(summaries)
    sys.exit(any(line["wrong"] for line in summaries))


main()
