#!/usr/bin/env python3
"""Convolutions tuned by Skipjack beside cuDNN as PyTorch's benchmark mode chooses it, on this machine's GPU.

  bench_gpu.py [--skipjack PROGRAM] [--reader LIBRARY] [--out FOLDER] [--budget SECONDS]
               [--sets A,B] [--fused] [--problems FILE] [--measure-only] [--all] [--json]
  bench_gpu.py --networks --models FOLDER [--skipjack PROGRAM] [--out FOLDER] [--budget SECONDS]
               [--time-limit SECONDS] [--autotune "WORDS"] [--sets A,B] [--measure-only] [--json]
  bench_gpu.py --twice [--first="WORDS"] [--second="WORDS"] [--skipjack PROGRAM] [--reader LIBRARY] [--out FOLDER] [--budget SECONDS]
               [--sets A,B] [--fused] [--problems FILE] [--measure-only] [--all] [--json]
  bench_gpu.py --list [--sets A,B] [--fused | --networks]

Each set is a network of coordinator/networks at a batch size, a type and a layout, in the directions F, B and
W; or a file of problems as `skipjack tune` reads it. `skipjack tune` gives its .sjdb (what was tuned before costs nothing); each solution is then launched
from there as any user of libskipjackdb launches it, in PyTorch's stream and on PyTorch's tensors. The two take
turns; before every run the caches are overwritten. TF32 is off. A speed is cuDNN's time by ours: above 1 we are
faster. Exit status 1 where a result differs from PyTorch's.

Fused sets (--fused: all of them) are forward layers with bias, residual add and ReLU done by the convolution's own
kernel. Ours takes turns with the fastest of cuDNN's fused calls (cudnn_fused.py), and with PyTorch's kernels in
sequence: convolution, add, ReLU. Layers for which cuDNN has no fused call are counted ("unfused"), and their speed is
against the sequence. --list prints the fused problems and needs neither GPU nor PyTorch.

Networks (--networks: gpu_networks.py) are whole: ResNet-50 and SqueezeNet of the ONNX files in --models, tuned by
`skipjack autotune`, beside PyTorch, eager and compiled. Each set gets an equal share of --time-limit; what did not fit
is said below the table, and the same command with more time goes on. Without PyTorch ours alone is measured. The rows
are in networks.json in --out too.

Twice (--twice: gpu_trust.py): each set is tuned by two campaigns from nothing, each with words of its own for
`skipjack tune`; without --first and --second they differ in their seed. Told are how often both ship the same or an equally fast solution, how far the recorded times
lie from those measured here, and what each campaign cost.
"""
import argparse
import csv
import ctypes
import json
import math
import pathlib
import re
import statistics
import subprocess
import sys

sys.dont_write_bytecode = True  # the tree stays as it is
import cudnn_fused  # noqa: E402
import gpu_networks  # noqa: E402
import gpu_trust  # noqa: E402

try:
    import torch
except ImportError:
    torch = None

NETWORKS = pathlib.Path(__file__).resolve().parents[2] / "coordinator/networks"
COMMANDS = {"FP32": "conv", "FP16": "convfp16"}
# By the library's number of the type: PyTorch's, and how far a result may lie from PyTorch's, as a part of the
# largest value.
TYPES = {1: ("float32", 1e-4), 2: ("float16", 2e-2), 3: ("bfloat16", 5e-2)}
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
FUSED_SETS = {
    f"resnet50-v1.5-fused-{kind.lower()}-{layout.lower()}-b{batch}": ("resnet50-v1.5", batch, kind, layout)
    for batch in (1, 64)
    for kind, layout in (("FP16", "NHWC"), ("FP16", "NCHW"), ("FP32", "NCHW"), ("FP32", "NHWC"))
}
# The steps behind a layer, by the end of its name: a block's last convolution adds the shortcut, which has no ReLU of
# its own.
FUSED_STEPS = {"/expand": "+bias+add({type},{layout})+relu", "/shortcut": "+bias", "": "+bias+relu"}
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
        + [("kind", ctypes.c_int32), ("mode", ctypes.c_char * 48), ("strides", ctypes.c_int64 * 5 * 4)]
    )


class Entry(ctypes.Structure):
    _fields_ = [("solver", ctypes.c_char_p), ("algorithm", ctypes.c_char_p), ("library", ctypes.c_char_p),
                ("time_ms", ctypes.c_double), ("workspace_bytes", ctypes.c_uint64),
                ("revision", ctypes.c_uint32), ("flags", ctypes.c_uint32)]  # fmt: skip


class Solution(ctypes.Structure):
    _fields_ = [("solver", ctypes.c_char_p), ("params", ctypes.c_char_p), ("workspace_bytes", ctypes.c_uint64),
                ("number", ctypes.c_uint64), ("launch_count", ctypes.c_uint32), ("revision", ctypes.c_uint32),
                ("flags", ctypes.c_uint32), ("packed_bytes", ctypes.c_uint64),
                ("pack_count", ctypes.c_uint32)]  # fmt: skip


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
# The operands of a problem, in the order of the library's enum.
ROLES = ("x", "w", "y", "residual", "bias", "scales", "packed")
LOCAL_BYTES_ATTRIBUTE = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
VALUES = {ARG_INT32: ctypes.c_int32, ARG_INT64: ctypes.c_int64, ARG_STRIDE: ctypes.c_int64}


def sized(struct):
    return struct(size=ctypes.sizeof(struct))


class Database:
    def __init__(self, reader, path):
        self.lib, self.handle = reader, ctypes.c_void_p()
        self.check(reader.skipjackdb_open(str(path).encode(), ctypes.byref(self.handle)), path)
        reader.skipjackdb_solved.restype = ctypes.c_uint64

    def check(self, code, what):
        if code != 0:
            self.lib.skipjackdb_error_text.restype = ctypes.c_char_p
            sys.exit(f"bench_gpu: {what}: {self.lib.skipjackdb_error_text(code).decode()}")

    def problems(self):
        count = self.lib.skipjackdb_solved(self.handle, ctypes.c_size_t(ctypes.sizeof(Problem)))
        seen = set()  # a problem has two numbers where some of its solutions pack the filter
        for number in range(count):
            problem = sized(Problem)
            self.check(
                self.lib.skipjackdb_solved_at(self.handle, ctypes.c_uint64(number), ctypes.byref(problem)), "a problem"
            )
            if self.key(problem) not in seen:
                seen.add(self.key(problem))
                yield problem

    def key(self, problem):
        text = ctypes.create_string_buffer(1024)
        self.check(self.lib.skipjackdb_problem_key(ctypes.byref(problem), text, ctypes.c_size_t(1024)), "a key")
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
    """A solution, its code objects loaded into PyTorch's context; called with the problem's operands by role. A
    solution that packs its filter does so in bind(), and not in run()."""

    def __init__(self, driver, db, problem, solution):
        self.driver, self.modules, self.steps = driver, [], []
        self.pack_count = solution.pack_count
        self.packed = torch.empty(max(1, solution.packed_bytes), dtype=torch.uint8, device="cuda")
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
        """The launches with their arguments' addresses, ready to be made. tensors: by role."""
        tensors = {**tensors, "packed": self.packed}
        pointers = [ctypes.c_uint64(tensors[role].data_ptr() if role in tensors else 0) for role in ROLES]
        bound = []
        for function, launch, values in self.steps:
            held = [pointers[value] if isinstance(value, int) else value for value in values]
            array = (ctypes.c_void_p * len(held))(*[ctypes.addressof(value) for value in held])
            grid = [ctypes.c_uint(launch.grid[i] // launch.block[i]) for i in range(3)]
            block = [ctypes.c_uint(launch.block[i]) for i in range(3)]
            bound.append((held, [function, *grid, *block, ctypes.c_uint(launch.local_bytes)], array))
        self.run(bound[: self.pack_count])
        return bound[self.pack_count :]

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


def fused_keys(name, batch, kind, layout):
    """The network's forward layers with the steps behind them, as keys; a layer as often as it occurs."""
    keys = []
    with open(NETWORKS / f"{name}.csv", encoding="utf-8") as table:
        for row in csv.DictReader(line for line in table if not line.startswith("#")):
            end = next(end for end in FUSED_STEPS if row["layer"].endswith(end))
            layouts = layout if layout == "NCHW" else "-".join([layout] * 3)
            groups = f"_g{row['g']}" if row["g"] != "1" else ""
            sizes = "{c}-{h}-{w}-{y}x{x}-{k}-{oh}-{ow}-{batch}-{p}x{q}-{u}x{v}-{l}x{j}-0".format(batch=batch, **row)
            steps = FUSED_STEPS[end].format(type=kind, layout=layout)
            keys += [f"{sizes}-{layouts}-{kind}-F{groups}{steps}"] * int(row["mult"])
    return keys


def lines_of(options, name):
    """The file of the set's problems, written into its folder unless the set is a file itself."""
    folder = options.out / name
    folder.mkdir(parents=True, exist_ok=True)
    lines = options.files.get(name, folder / "problems.txt")
    if name in SETS:
        write_lines(*SETS[name], lines)
    elif name in FUSED_SETS:
        lines.write_text("\n".join(fused_keys(*FUSED_SETS[name])) + "\n", encoding="utf-8")
    return lines


def tune(options, name):
    folder, lines = options.out / name, lines_of(options, name)
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
    made = [(torch.rand(shape, **kind) - 0.5).to(dtype).to(memory_format=where) for shape in shapes]
    return dict(zip(ROLES, made))


def steps_of(problem):
    """The epilogue's steps: name and what is in parentheses."""
    return re.findall(r"\+([a-z]+)(?:\(([^)]*)\))?", problem.epilogue.decode())


def is_comparable(problem):
    """Whether cuDNN has a call for the steps: bias, then a residual of the output's type, then ReLU, or some of
    these."""
    names = [name for name, _ in steps_of(problem)]
    order = ("bias", "add", "relu")
    return names == [name for name in order if name in names]


def add_operands(problem, tensors):
    """Adds the operands of the steps. A bias has values of the tensors' type, in which cuDNN takes it."""
    y = tensors["y"]
    names = [name for name, _ in steps_of(problem)]
    if "add" in names:
        tensors["residual"] = torch.rand_like(y) - 0.5
    if "bias" in names:
        tensors["bias"] = (torch.rand(problem.k, device="cuda") - 0.5).to(y.dtype).float()


def sequence_of(problem, convolve, tensors):
    """PyTorch's kernels for the steps, one after the other."""
    bias = tensors.get("bias")
    if bias is not None:
        bias = bias.to(tensors["y"].dtype).reshape(1, -1, 1, 1)
    relu = any(name == "relu" for name, _ in steps_of(problem))

    def run():
        y = convolve()
        if bias is not None:
            y = y.add_(bias)
        if "residual" in tensors:
            y = y.add_(tensors["residual"])
        return y.relu_() if relu else y

    return run


def expected_of(problem, tensors):
    """The right result, computed in FP32 and not rounded."""
    axes = axes_of(problem)
    wide = {role: tensor.float() for role, tensor in tensors.items()}
    y = torch.nn.functional.conv2d(
        wide["x"], wide["w"], wide.get("bias"), axes["stride"], axes["pad"], axes["dilation"], problem.groups
    )
    if "residual" in wide:
        y = y + wide["residual"]
    return y.relu() if any(name == "relu" for name, _ in steps_of(problem)) else y


def axes_of(problem):
    return {name: [getattr(problem, name)[a] for a in (1, 2)] for name in ("stride", "pad", "dilation")}


def theirs_of(problem, x, w, y):
    axes = axes_of(problem)
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


def fused_call(problem, tensors, cudnn, flush):
    """The fastest of cuDNN's fused calls: its name and the call; None and a function of nothing where there is none.
    Also why the others do not work."""
    bias = tensors["bias"] if "bias" in tensors else torch.zeros(problem.k, device="cuda")
    bias = bias.to(tensors["y"].dtype)
    relu = any(name == "relu" for name, _ in steps_of(problem))
    found, refusals = cudnn_fused.ways(
        torch, cudnn, tensors["x"], tensors["w"], bias, tensors.get("residual"), torch.empty_like(tensors["y"]),
        axes_of(problem), problem.groups, relu, problem.layout[0] == 1,
    )  # fmt: skip
    if not found:
        return None, None, refusals
    best = min(found, key=lambda way: statistics.median(timed(way[1], flush) for _ in range(3)))
    return best[0], best[1], refusals


def times_of(runs, flush):
    """The median of each run's times; the runs take turns."""
    times = [[] for _ in runs]
    for turn in range(TURNS + 2):
        for side, run in enumerate(runs):
            ms = timed(run, flush)
            if turn >= 2:
                times[side].append(ms)
    return [statistics.median(side) for side in times]


def difference_of(result, expected):
    return ((result.float() - expected).abs().max() / expected.abs().max()).item()


def measure(db, driver, cudnn, problem, flush):
    """Our time and theirs in ms, and the largest difference as a part of the largest value."""
    entry, solution = db.best(problem)
    dtype, tolerance = TYPES[problem.type[0]]
    tensors = tensors_of(problem, getattr(torch, dtype), problem.layout[0] == 1)
    add_operands(problem, tensors)
    theirs = theirs_of(problem, tensors["x"], tensors["w"], tensors["y"])
    output = {0: "y", 1: "x", 2: "w"}[problem.direction]
    fused, way, refusals = None, None, []
    if problem.epilogue:
        expected = expected_of(problem, tensors)
        theirs = sequence_of(problem, theirs, tensors)
        way, fused, refusals = fused_call(problem, tensors, cudnn, flush)
    else:
        expected = theirs().float()
    tensors[output] = torch.empty_like(tensors[output]).fill_(math.nan)
    ours = Ours(driver, db, problem, solution)
    bound = ours.bind(tensors)
    ours.run(bound)
    difference = difference_of(tensors[output], expected)
    ours_ms, theirs_ms, *fused_ms = times_of([lambda: ours.run(bound), theirs] + [fused] * (way is not None), flush)
    ours.close()
    row = {
        "key": db.key(problem),
        "direction": DIRECTIONS[problem.direction],
        "solver": entry.solver.decode(),
        "params": solution.params.decode(),
        "ours_ms": ours_ms,
        "cudnn_ms": fused_ms[0] if fused_ms else theirs_ms,
        "recorded_ms": entry.time_ms,
        "difference": difference,
        "right": difference <= tolerance,
    }
    if problem.epilogue:
        row["cudnn_way"] = way
        row["sequence_ms"] = theirs_ms
        row["cudnn_difference"] = difference_of(fused(), expected) if way else None
        row["refused"] = refusals
    return row


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
        **summary_of_fused([row for row in rows if "cudnn_way" in row]),
    }


def summary_of_fused(rows):
    """Of fused problems also the speed against PyTorch's kernels in sequence, and how many have no fused call."""
    if not rows:
        return {}
    return {
        "geometric_mean_sequence": statistics.geometric_mean(row["sequence_ms"] / row["ours_ms"] for row in rows),
        "unfused": sum(row["cudnn_way"] is None for row in rows),
    }


def print_table(summaries):
    print(
        f"{'set':<34} {'dir':<3} {'problems':>8} {'geo.mean':>8} {'p10':>6} {'worst':>6} {'wrong':>5} {'sequence':>8}"
        f" {'unfused':>7}  worst of all"
    )
    for line in summaries:
        sequence = line.get("geometric_mean_sequence")
        print(
            f"{line['set']:<34} {line['direction']:<3} {line['problems']:>8} {line['geometric_mean']:>8.3f}"
            f" {line['p10']:>6.3f} {line['worst']:>6.3f} {line['wrong']:>5}"
            f" {'-' if sequence is None else format(sequence, '.3f'):>8} {line.get('unfused', '-'):>7}"
            f"  {line['worst_key']}"
        )


def measure_set(options, reader, driver, cudnn, name, flush):
    db = Database(reader, tune(options, name))
    rows = []
    for problem in db.problems():
        if problem.type[0] not in TYPES:
            print(f"{db.key(problem)}: PyTorch has no convolution of its type: left out", file=sys.stderr)
            continue
        if problem.kind != 0 or not is_comparable(problem):
            print(f"{db.key(problem)}: cuDNN has no call for its steps: left out", file=sys.stderr)
            continue
        rows.append(measure(db, driver, cudnn, problem, flush))
        row = rows[-1]
        if options.all:
            print(
                f"{row['key']:<70} {row['cudnn_ms'] / row['ours_ms']:6.3f} ours {row['ours_ms']:8.4f} ms, cuDNN"
                f" {row['cudnn_ms']:8.4f} ms  {row['solver']} [{row['params']}]"
                + (f"  {row['cudnn_way'] or 'no fused call'}, in sequence {row['sequence_ms']:.4f} ms"
                   if "cudnn_way" in row else "")
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
    known = {**SETS, **FUSED_SETS}
    parser.add_argument("--sets", help="of " + " ".join(known) + "; where neither sets nor files are named all of them;"
                        " with --networks of " + " ".join(gpu_networks.SETS))  # fmt: skip
    parser.add_argument("--networks", action="store_true", help="whole networks")
    parser.add_argument("--models", type=pathlib.Path, help="the folder of the networks' ONNX files")
    parser.add_argument("--autotune", default="", help='more words for autotune, as in "--configs 8"')
    parser.add_argument("--time-limit", type=int, default=3600, help="seconds for all networks together")
    parser.add_argument("--twice", action="store_true", help="two campaigns of each set, each from nothing")
    parser.add_argument("--first", metavar="WORDS", default="--seed=1", help="the first one's words for tune (--seed=1)")
    parser.add_argument("--second", metavar="WORDS", default="--seed=2", help="the second one's (--seed=2)")
    parser.add_argument("--fused", action="store_true", help="the fused sets")
    parser.add_argument("--list", action="store_true", help="print the fused problems, measure nothing")
    parser.add_argument("--problems", action="append", type=pathlib.Path, default=[], help="a file as a set")
    parser.add_argument("--measure-only", action="store_true", help="tune nothing, take the .sjdb files of --out")
    parser.add_argument("--all", action="store_true", help="a line a problem too, on stderr")
    parser.add_argument("--json", action="store_true", help="all rows as JSON")
    options = parser.parse_args()
    if options.networks:
        return read_networks(parser, options)
    options.files = {file.stem: file for file in options.problems}
    names = options.sets.split(",") if options.sets else []
    if options.fused:
        names += [name for name in FUSED_SETS if name not in names]
    if not names and not options.files:
        names = list(FUSED_SETS if options.list else known)
    for name in names:
        if name not in known:
            parser.error(f"{name}: no such set; there are: {' '.join(known)}")
        if options.list and name not in FUSED_SETS:
            parser.error(f"{name}: --list prints fused sets alone")
    options.sets = names + list(options.files)
    return options


def read_networks(parser, options):
    options.sets = options.sets.split(",") if options.sets else list(gpu_networks.SETS)
    for name in options.sets:
        if name not in gpu_networks.SETS:
            parser.error(f"{name}: no such network; there are: {' '.join(gpu_networks.SETS)}")
    if options.fused or options.problems or options.twice:
        parser.error("--networks does not go together with --fused, --problems and --twice")
    if not options.list and not (options.models and options.models.is_dir()):
        parser.error("--networks needs the folder of the ONNX files: --models FOLDER")
    return options


def run_networks(options):
    if options.list:
        print("\n".join(options.sets))
        return
    rows = gpu_networks.measure(options)
    if options.json:
        json.dump({"networks": rows}, sys.stdout)
        print()
    else:
        gpu_networks.print_table(rows)
    sys.exit(any(gpu_networks.is_wrong(row) for row in rows))


def run_twice(options, reader, driver, flush):
    summaries, rows = [], {}
    for name in options.sets:
        line, rows[name] = gpu_trust.measure_set(
            sys.modules[__name__], options, reader, driver, name, lines_of(options, name), flush
        )
        summaries.append(line)
    if options.json:
        facts = {"device": torch.cuda.get_device_name(), "torch": torch.__version__}
        json.dump({**facts, "summaries": summaries, "rows": rows}, sys.stdout)
        print()
    else:
        print(torch.cuda.get_device_name())
        gpu_trust.print_table(summaries)


def open_cudnn():
    """libcudnn for fused calls beside PyTorch's plans; None where it is not found, which every row then says."""
    try:
        return cudnn_fused.Library()
    except cudnn_fused.Refused as refusal:
        print(f"bench_gpu: PyTorch's plans alone are measured: {refusal}", file=sys.stderr)
        return None


def main():
    options = read_options()
    if options.networks:
        run_networks(options)
        return
    if options.list:
        for name in options.sets:
            print("\n".join(fused_keys(*FUSED_SETS[name])))
        return
    if torch is None:
        sys.exit("bench_gpu: PyTorch is needed on a GPU host, with CUDA: python3 -m pip install torch")
    if not torch.cuda.is_available():
        sys.exit("bench_gpu: PyTorch finds no GPU here")
    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False
    torch.zeros(1, device="cuda")  # makes the context that both use
    reader, driver = ctypes.CDLL(options.reader), ctypes.CDLL("libcuda.so.1")
    flush = torch.empty(FLUSH_BYTES, dtype=torch.uint8, device="cuda")
    if options.twice:
        run_twice(options, reader, driver, flush)
        return
    cudnn = open_cudnn()
    summaries, rows = [], {}
    for name in options.sets:
        rows[name] = measure_set(options, reader, driver, cudnn, name, flush)
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


if __name__ == "__main__":
    main()
