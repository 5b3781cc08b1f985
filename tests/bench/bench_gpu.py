#!/usr/bin/env python3
"""Convolutions tuned by Skipjack beside the fastest that cuDNN has for them in PyTorch, on this machine's GPU.

  bench_gpu.py [--sets A,B] [--fused] [--problems FILE] [--directions FBW] [--sample N] [--finds N] [--kernels]
               [--time-limit SECONDS] [--budget SECONDS] [--measure-only] [--keep-tuned] [--again] [--tables FOLDER]
               [--all] [--json] [--skipjack PROGRAM] [--reader LIBRARY] [--out FOLDER]
  bench_gpu.py --report FILE... [--json]
  bench_gpu.py --list [--sets A,B] [--fused] [--problems FILE] [--directions FBW] [--sample N]
  bench_gpu.py --networks --models FOLDER [--time-limit SECONDS] [--autotune "WORDS"] [--sets A,B] [--measure-only] [--json]
  bench_gpu.py --twice [--first="WORDS"] [--second="WORDS"] [--sets A,B] [--fused] [--problems FILE] [--measure-only]
               [--runner PROGRAM] [--all] [--json]

A set is a network at a batch size, a type and a layout, or a file of problems in any form that `skipjack import` reads
(gpu_sets.py). `skipjack tune` gives its .sjdb (what was tuned before costs nothing); each solution is launched from there
as any user of libskipjackdb launches it, in PyTorch's stream and on PyTorch's tensors. cuDNN gets all its plans, by
several searches; where PyTorch may choose kernels of its own (depthwise problems), both run. The fastest of all is the
peer (gpu_peers.py). The two take turns, and before every run the caches are overwritten. Runs shorter than --short-us are
timed in a replayed graph, too, with warm caches. In sets of type TF32 both may compute in TF32. In all others neither may;
problems of FP32 are also held against cuDNN with TF32, PyTorch's default, in columns of their own.

A speed is cuDNN's time by ours: above 1 we are faster. A problem without a result of ours, or with a wrong one, is a loss,
and named (gpu_report.py says what enters which column). A second table says which solver won what.

Sets are measured in the order of --sets. After each problem, results.json in --out has all that was measured; the same
command goes on with what is not in it, and --again begins anew. With --time-limit each set gets an equal share of the
time, and tuning at most half of that; then sets that need more go on. A set's problems are measured in an order that is
random and always the same, so that its first ones stand for all. At the limit the tables of what was measured are printed.
--report prints the tables of several results files as one and needs neither GPU nor PyTorch. report.json in --out has what
the tables say. Exit status 1 where a result is wrong, a set could not be tuned, or the device failed.

Fused sets are forward layers with bias, residual add and ReLU done by the convolution's own kernel, beside the fastest of
cuDNN's fused calls (cudnn_fused.py), and beside PyTorch's kernels in sequence: convolution, add, ReLU. Where cuDNN has no
fused call, the sequence is the peer.

--list prints the problems of the named sets, a line a problem with its multiplicity; without names, all sets. It needs
neither GPU nor PyTorch, but for networks of torchvision whose tables are not in --tables.

Networks (--networks: gpu_networks.py) are whole: ResNet-50 and SqueezeNet of the ONNX files in --models, tuned by
`skipjack autotune`, beside PyTorch, eager and compiled. Each set gets an equal share of --time-limit; what did not fit
is said below the table, and the same command with more time goes on. Without PyTorch ours alone is measured. The rows
are in networks.json in --out too.

Twice (--twice: gpu_trust.py): each set is tuned by two campaigns from nothing, each with words of its own for
`skipjack tune`; without --first and --second they differ in their seed. The tables say how often both ship the same or an
equally fast solution, how far the recorded times lie from those measured here, and what each campaign cost.
"""
import argparse
import collections
import ctypes
import json
import math
import os
import pathlib
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True  # the tree stays as it is
import cudnn_fused  # noqa: E402
import gpu_database  # noqa: E402
import gpu_networks  # noqa: E402
import gpu_peers  # noqa: E402
import gpu_problem  # noqa: E402
import gpu_report  # noqa: E402
import gpu_sets  # noqa: E402
import gpu_timing  # noqa: E402
import gpu_trust  # noqa: E402

TUNED = "tuned.txt"  # in a set's folder: the problems of the last tuning that ended by itself
STOP_SECONDS = 20  # what `skipjack tune` gets to end once it is interrupted
LEAST_TUNING_SECONDS = 10  # a set with less time than this is not begun


# ---- tuning


def problems_of(options, name):
    return gpu_sets.sample(gpu_sets.problems_of(options, name), options.sample)


def write_lines(options, name, problems):
    """The file of the set's problems, for `skipjack tune`."""
    folder = options.out / name
    folder.mkdir(parents=True, exist_ok=True)
    lines = folder / "problems.txt"
    gpu_sets.write_list(problems, lines)
    return lines


def run_within(command, seconds):
    """Runs a command that ends cleanly when it is interrupted; after `seconds` (None: no limit) it is, and where this
    program is interrupted. Returns the status."""
    process = subprocess.Popen(command, stdout=sys.stderr)
    try:
        return process.wait(seconds)
    except (subprocess.TimeoutExpired, KeyboardInterrupt) as stop:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if isinstance(stop, KeyboardInterrupt):
            raise
        return process.returncode


def is_tuned(folder, problems):
    """Whether an earlier call tuned all these problems."""
    tuned = folder / TUNED
    held = tuned.read_text(encoding="utf-8").split() if tuned.exists() else []
    return {key for _, key in problems} <= set(held) and any(folder.glob("*.sjdb"))


def tune(options, name, problems, deadline, share, tuned):
    """The set's .sjdb file. Raises gpu_sets.Unknown where there is none. deadline: the call's; share: the set's, which
    tuning takes at most half of; tuned: whether this call tuned it before."""
    folder, left = options.out / name, share.left()
    if tuned or (options.keep_tuned and is_tuned(folder, problems)):
        return sorted(folder.glob("*.sjdb"))[0]
    lines = write_lines(options, name, problems)
    if not options.measure_only:
        # The folder may hold what was tuned for a smaller sample, which is another campaign.
        command = [options.skipjack, "tune", str(lines), "-o", str(folder), "--replace", "--budget"]
        if left is None:
            status = run_within([*command, str(options.budget)], None)
        else:
            deadline.check(2 * LEAST_TUNING_SECONDS)
            half = max(LEAST_TUNING_SECONDS, int(left / 2))
            # Behind the budget each problem without a winner gets one config: the rest of the half is for that.
            budget = min(options.budget, half * 3 // 4)
            if budget < options.budget:
                print(f"bench_gpu: {name}: tuned for {budget} s: its share of --time-limit is too small for --budget"
                      f" {options.budget}", file=sys.stderr)  # fmt: skip
            limit = max(1, deadline.left() - STOP_SECONDS)
            status = run_within([*command, str(budget), "--deadline", f"{half}s"], limit)
        if status != 0:
            deadline.check(STOP_SECONDS)  # the time limit ended it
            raise gpu_sets.Unknown(f"skipjack tune ended with status {status}, see above")
        gpu_sets.write_list(problems, folder / TUNED)
    found = sorted(folder.glob("*.sjdb"))
    if not found:
        raise gpu_sets.Unknown(
            f"no .sjdb in {folder}: "
            + ("tune it first, without --measure-only" if options.measure_only else "see above why it was not tuned")
        )
    return found[0]


# ---- measuring


class Bench:
    """What all measurements share."""

    def __init__(self, torch, options, deadline):
        self.torch, self.options, self.deadline = torch, options, deadline
        self.reader, self.driver = ctypes.CDLL(options.reader), ctypes.CDLL("libcuda.so.1")
        self.reader.skipjackdb_error_text.restype = ctypes.c_char_p
        self.flush = torch.empty(gpu_timing.FLUSH_BYTES, dtype=torch.uint8, device="cuda")
        self.peers = gpu_peers.Peers(torch, open_cudnn(), options.finds, deadline)
        self.longest, self.share = 0.0, deadline  # seconds that a problem took; the deadline of a set
        self.tuned = set()  # names of the sets that this call tuned
        self.facts = {
            "device": torch.cuda.get_device_name(), "torch": torch.__version__,
            "cudnn": torch.backends.cudnn.version(), "way": gpu_peers.way_text(options.finds),
        }  # fmt: skip


def open_cudnn():
    """libcudnn for fused calls beside PyTorch's plans; None where it is not found, which every row then says."""
    try:
        return cudnn_fused.Library()
    except cudnn_fused.Refused as refusal:
        print(f"bench_gpu: PyTorch's plans alone are measured: {refusal}", file=sys.stderr)
        return None


def our_facts(db, problem):
    """What the database says of a problem, as a row has it."""
    try:
        entry, solution = db.best(problem)
    except gpu_database.NoResult as none:
        return {"solver": None, "missing": str(none)}, None
    facts = {
        "solver": entry.solver.decode(), "algorithm": entry.algorithm.decode(), "revision": entry.revision,
        "params": solution.params.decode(), "recorded_ms": entry.time_ms,
    }  # fmt: skip
    return facts, solution


def is_current(row, facts):
    """Whether a row of an earlier call is of the solution that the database has now."""
    same = all(row.get(member) == facts.get(member) for member in ("solver", "params", "revision"))
    return same and not row.get("failed")


def choose_peers(bench, problem, tensors):
    """The ways that ours takes turns with, by what their times are called in a row; and what a row says of them."""
    peers, flush = bench.peers, bench.flush
    begun, ways = time.monotonic(), {}
    tf32 = gpu_problem.is_tf32(problem)
    ways["cudnn_ms"], refusals = peers.choose(problem, tensors, flush, tf32)
    facts = {}
    if problem.epilogue:
        ways["sequence_ms"] = peers.sequence(problem, tensors, flush, tf32)
        ways["cudnn_ms"] = ways["cudnn_ms"] or ways["sequence_ms"]
    if problem.type[0] == gpu_problem.FP32 and not tf32:
        ways["tf32_ms"], _ = peers.choose(problem, tensors, flush, tf32=True)
        facts["tf32_way"] = ways["tf32_ms"].name if ways["tf32_ms"] else None
        facts["tf32_ms"] = None
    facts["cudnn_way"] = ways["cudnn_ms"].name if ways["cudnn_ms"] else None
    facts["refused"], facts["find_seconds"] = refusals, time.monotonic() - begun
    return {name: way for name, way in ways.items() if way}, facts


def time_short(bench, ours, peer, row):
    """Adds the times in replayed graphs."""
    try:
        row["graph_ours_ms"], row["graph_cudnn_ms"] = gpu_timing.graph_times(bench.torch, [ours, peer], row["ours_ms"])
    except RuntimeError as refusal:
        row["graph_refused"] = gpu_peers.first_line(refusal)


def start_ours(bench, db, problem, solution, tensors):
    """Our solution, which has run once, and the way that runs it again. Raises RuntimeError where it cannot be run."""
    ours = gpu_database.Ours(bench.torch, bench.driver, db, problem, solution)
    bound = ours.bind(tensors)
    ours.run(bound)
    bench.torch.cuda.synchronize()
    return ours, gpu_timing.Way("ours", lambda: ours.run(bound))


def compare(bench, db, problem, solution, row):
    """Adds to the row what is measured."""
    torch = bench.torch
    tensors = gpu_problem.tensors_of(torch, problem)
    ways, facts = choose_peers(bench, problem, tensors)
    row.update(facts, cudnn_ms=None, ours_ms=None, right=None)
    peer = ways.get("cudnn_ms")
    expected = gpu_problem.expected_of(torch, problem, tensors)
    if peer:
        row["cudnn_difference"] = gpu_problem.difference_of(peer.do(torch, peer.run), expected)
    output = gpu_problem.OUTPUTS[problem.direction]
    # Filled before ours runs: what a kernel leaves out is no number. The peers' calls make results of their own.
    tensors[output] = torch.empty_like(tensors[output]).fill_(math.nan)
    try:
        ours, way = start_ours(bench, db, problem, solution, tensors) if solution else (None, None)
    except RuntimeError as error:
        row["missing"] = f"our solution cannot be run: {gpu_peers.first_line(error)}"
        ours = None
    if ours is None:
        row.update(zip(ways, gpu_timing.times_of(torch, list(ways.values()), bench.flush)))
        return
    try:
        row["difference"] = gpu_problem.difference_of(tensors[output], expected)
        row["right"] = row["difference"] <= gpu_problem.tolerance_of(problem)
        row.update(zip(["ours_ms", *ways], gpu_timing.times_of(torch, [way, *ways.values()], bench.flush)))
        if peer and min(row["ours_ms"], row["cudnn_ms"]) * 1000 < bench.options.short_us:
            time_short(bench, way, peer, row)
    finally:
        ours.close()


def measure(bench, db, name, multiplicity, key, known):
    """The row of a problem. known: that of an earlier call, or None."""
    problem = gpu_database.parse_key(bench.reader, key)
    row = {"set": name, "key": key, "direction": gpu_problem.DIRECTIONS[problem.direction], "multiplicity": multiplicity}
    why = gpu_problem.why_not(problem)
    if why:
        return {**row, "unsupported": why}
    facts, solution = our_facts(db, problem)
    if known and is_current(known, facts):
        return {**known, "multiplicity": multiplicity}
    bench.deadline.check(bench.longest)
    bench.share.check()
    begun = time.monotonic()
    row.update(facts)
    try:
        compare(bench, db, problem, solution, row)
    except RuntimeError as error:  # too little memory, or a device that failed
        if "missing" not in row:
            row["failed"] = gpu_peers.first_line(error)
    bench.longest = max(bench.longest, time.monotonic() - begun)
    return row


def print_row(row):
    speed = gpu_report.speed_of(row)
    words = [f"{row['key']:<70}", "     -" if speed is None else f"{speed:6.3f}"]
    for name in ("ours_ms", "cudnn_ms", "tf32_ms", "sequence_ms", "graph_ours_ms", "graph_cudnn_ms"):
        if row.get(name):
            words.append(f"{name} {row[name]:.4f}")
    words.append(f"{row['solver']} [{row['params']}]" if row.get("solver") else row.get("missing", ""))
    words.append(f"({row['cudnn_way']}, found in {row['find_seconds']:.1f} s)" if row.get("cudnn_way") else "")
    words += [f"{what}: {row[member]}" for what, member in gpu_report.EXCUSES.items() if row.get(member)]
    words.append(f"WRONG by {row['difference']:.2g}" if row.get("right") is False else "")
    print("  ".join(word for word in words if word), file=sys.stderr)


def name_kernels(bench, row):
    """Adds the names of the kernels that the peer runs."""
    problem = gpu_database.parse_key(bench.reader, row["key"])
    try:
        tensors = gpu_problem.tensors_of(bench.torch, problem)
        row["cudnn_kernels"] = bench.peers.kernels(problem, tensors, row["cudnn_way"])
    except gpu_timing.OutOfTime:
        raise
    except Exception as refusal:  # of PyTorch's profiler
        row["kernels_refused"] = gpu_peers.first_line(refusal)


def measure_set(bench, name, results, path):
    """Adds the rows of a set to the results, and writes them after each. Raises gpu_sets.Unknown or OutOfTime."""
    options = bench.options
    every = gpu_sets.problems_of(options, name)
    counts = collections.Counter(gpu_sets.direction_of(key) for _, key in every)
    results.begin(name, {**dict.fromkeys(options.directions, 0), **counts}, {key for _, key in every})
    problems = gpu_sets.sample(every, options.sample)
    if all((name, key) in results.rows and not results.rows[name, key].get("failed") for _, key in problems):
        print(f"bench_gpu: {name}: measured before; --again measures it anew", file=sys.stderr)
        return
    file = tune(options, name, problems, bench.deadline, bench.share, name in bench.tuned)
    bench.tuned.add(name)
    db, measured = gpu_database.Database(bench.reader, file), []
    try:
        for multiplicity, key in problems:
            known = results.rows.get((name, key))
            row = measure(bench, db, name, multiplicity, key, known)
            measured += [row] if row.get("cudnn_way") and row != known else []
            results.add(row)
            gpu_report.write_results(path, results)
            if options.all:
                print_row(row)
            bench.torch.cuda.synchronize()  # raises what a kernel left behind: nothing can be measured after that
        for row in measured if options.kernels else []:  # once all times are taken and written
            name_kernels(bench, row)
            gpu_report.write_results(path, results)
    finally:
        db.close()


# ---- a call


def read_options(words=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    groups = "; ".join(f"{name}: {what}" for name, (what, _) in gpu_sets.GROUPS.items())
    parser.add_argument("--sets", metavar="A,B", help="sets in the order in which they are measured, as --list names them"
                        f" (all), with -bN behind a name for another batch size; or groups of sets: {groups};"
                        " with --networks of " + " ".join(gpu_networks.SETS))  # fmt: skip
    parser.add_argument("--fused", action="store_true", help="the fused sets, as --sets fused")
    parser.add_argument("--problems", action="append", type=pathlib.Path, default=[], metavar="FILE", help="a file as a set")
    parser.add_argument("--directions", default="FBW", help="of each set only these (FBW)")
    parser.add_argument("--sample", type=int, default=0, metavar="N", help="so many problems of each set and direction,"
                        " always the same ones; a larger sample holds the smaller one (0: all)")  # fmt: skip
    parser.add_argument("--finds", type=int, default=3, metavar="N", help="searches among cuDNN's plans for a call (3)")
    parser.add_argument("--short-us", type=float, default=50, metavar="US", help="shorter runs are timed in a graph too (50)")
    parser.add_argument("--kernels", action="store_true", help="ask PyTorch's profiler which kernels cuDNN ran")
    parser.add_argument("--time-limit", type=float, default=None, metavar="SECONDS", help="for the whole call, tuning"
                        " included (no limit; with --networks 3600)")  # fmt: skip
    parser.add_argument("--budget", type=int, default=300, help="seconds of tuning a set (300)")
    parser.add_argument("--measure-only", action="store_true", help="tune nothing, take the .sjdb files of --out")
    parser.add_argument("--keep-tuned", action="store_true", help="do not tune sets again whose problems an earlier call"
                        " tuned, by what is in --out, also where the database of that campaign is lost")  # fmt: skip
    parser.add_argument("--again", action="store_true", help="take no rows of the results file in --out")
    parser.add_argument("--tables", type=pathlib.Path, metavar="FOLDER", help="where the layer tables of torchvision's"
                        " networks are, or go (tables in --out)")  # fmt: skip
    parser.add_argument("--report", nargs="+", type=pathlib.Path, metavar="FILE", help="print the tables of these"
                        " results files (or their folders) as one; of a problem measured twice the later file counts")  # fmt: skip
    parser.add_argument("--list", action="store_true", help="print problems or sets, measure nothing")
    parser.add_argument("--all", action="store_true", help="a line a problem too, on stderr")
    parser.add_argument("--json", action="store_true", help="the report as JSON in place of the tables")
    parser.add_argument("--skipjack", default="build/skipjack", metavar="PROGRAM", help="the program that tunes")
    parser.add_argument("--reader", default="libskipjackdb.so.1", metavar="LIBRARY", help="the library that reads .sjdb files")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("build/gpu-bench"), help="where results go")
    parser.add_argument("--networks", action="store_true", help="whole networks")
    parser.add_argument("--models", type=pathlib.Path, help="the folder of the networks' ONNX files")
    parser.add_argument("--autotune", default="", help='more words for autotune, as in "--configs 8"')
    parser.add_argument("--twice", action="store_true", help="two campaigns of each set, each from nothing")
    parser.add_argument("--first", metavar="WORDS", default="--seed=1", help="the first one's words for tune (--seed=1)")
    parser.add_argument("--second", metavar="WORDS", default="--seed=2", help="the second one's (--seed=2)")
    parser.add_argument("--runner", metavar="PROGRAM", help="--twice: run_convolution, built for CUDA as its source says: it"
                        " measures the recorded times again, as any user of a .sjdb file would")  # fmt: skip
    options = parser.parse_args(words)
    if options.networks:
        return read_networks(parser, options)
    return read_sets(parser, options)


def read_sets(parser, options):
    if not options.directions or set(options.directions) - set("FBW"):
        parser.error(f"--directions {options.directions}: of F, B and W")
    if options.finds < 1 or options.sample < 0 or (options.time_limit is not None and options.time_limit <= 0):
        parser.error("--finds and --time-limit are above 0, --sample is not below")
    if options.twice and options.time_limit:
        parser.error("--twice has no --time-limit: --budget limits each campaign")
    options.files = {file.stem: file for file in options.problems}
    for file in options.problems:
        if not file.is_file():
            parser.error(f"--problems {file}: no such file")
    named = [text for text in (options.sets, "fused" if options.fused else None) if text]
    options.named = bool(named or options.files)
    if not options.named:
        named = [",".join(gpu_sets.SETS)]
    try:
        options.sets = (gpu_sets.chosen(",".join(named)) if named else []) + list(options.files)
    except gpu_sets.Unknown as unknown:
        parser.error(str(unknown))
    return options


def read_networks(parser, options):
    options.sets = options.sets.split(",") if options.sets else list(gpu_networks.SETS)
    options.time_limit = options.time_limit or 3600
    for name in options.sets:
        if name not in gpu_networks.SETS:
            parser.error(f"{name}: no such network; there are: {' '.join(gpu_networks.SETS)}")
    if options.fused or options.problems or options.twice or options.report:
        parser.error("--networks does not go together with --fused, --problems, --twice and --report")
    if not options.list and not (options.models and options.models.is_dir()):
        parser.error("--networks needs the folder of the ONNX files: --models FOLDER")
    return options


def print_list(options):
    """The problems of the named sets, or the names of all sets by group."""
    if options.named:
        for name in options.sets:
            for count, key in problems_of(options, name):
                print(f"{count}\t{key}")
        return
    for group, (what, names) in gpu_sets.GROUPS.items():
        print(f"{group}: {what}")
        print("".join(f"  {name}\n" for name in names), end="")


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


def run_twice(bench):
    options, summaries, rows = bench.options, [], {}
    for name in options.sets:
        lines = write_lines(options, name, problems_of(options, name))
        line, rows[name] = gpu_trust.measure_set(bench, name, lines)
        summaries.append(line)
    if options.json:
        facts = {"device": bench.torch.cuda.get_device_name(), "torch": bench.torch.__version__}
        json.dump({**facts, "summaries": summaries, "rows": rows}, sys.stdout)
        print()
    else:
        print(bench.torch.cuda.get_device_name())
        gpu_trust.print_table(summaries)


def show(options, results):
    """Prints the report and returns it."""
    report = results.report()
    if options.json:
        json.dump(report, sys.stdout)
        print()
    else:
        gpu_report.print_report(report)
    return report


def run_report(options):
    files = [path / "results.json" if path.is_dir() else path for path in options.report]
    sys.exit(any(line["wrong"] for line in show(options, gpu_report.merge(files))["summaries"]))


def open_results(options, path, facts):
    """The rows of earlier calls, where there are any; the first call makes the folder."""
    options.out.mkdir(parents=True, exist_ok=True)
    if options.again or not path.exists():
        return gpu_report.Results(facts)
    results = gpu_report.read_results(path)
    gpu_report.check_facts(path, results.facts, facts)
    return results


def measure_sets(bench, results, path):
    """Measures the sets, each for an equal share of the time that is left; then goes on with those that need more. Returns
    what kept sets from being measured, a line each, and whether that is a failure."""
    notes, failed, names = [], False, list(bench.options.sets)
    for equal in (True, False):
        unfinished = []
        for place, name in enumerate(names):
            left = bench.deadline.left()
            share = left / (len(names) - place) if equal and left is not None else 0
            bench.share = gpu_timing.Deadline(share, over=gpu_timing.OutOfShare) if share > 0 else bench.deadline
            try:
                measure_set(bench, name, results, path)
            except gpu_timing.OutOfShare:
                unfinished.append(name)
            except gpu_sets.Unknown as unknown:
                notes.append(f"{name}: not measured: {unknown}")
                failed = True
            except gpu_timing.OutOfTime:
                return [*notes, stopped("the time limit ended the call", unfinished + names[place:])], failed
            except KeyboardInterrupt:
                return [*notes, stopped("the call was interrupted", unfinished + names[place:])], failed
            except RuntimeError as error:
                why = f"the device failed in {name} ({gpu_peers.first_line(error)})"
                return [*notes, stopped(why, unfinished + names[place:])], True
        names = unfinished
    return notes, failed


def stopped(why, names):
    return f"{why}; the same command goes on with what is left of " + ", ".join(dict.fromkeys(names))


def run_sets(bench):
    """Returns the exit status."""
    options, path = bench.options, bench.options.out / "results.json"
    results = open_results(options, path, bench.facts)
    notes, failed = measure_sets(bench, results, path)
    report = show(options, results)
    (options.out / "report.json").write_text(json.dumps(report) + "\n", encoding="utf-8")
    for note in notes:
        print(f"bench_gpu: {note}", file=sys.stderr if options.json else sys.stdout)
    return int(failed or any(line["wrong"] for line in report["summaries"]))


def open_device(options):
    """PyTorch with its GPU set up; ends the program where there is none."""
    if options.kernels:
        # CUDA's profiler must stay where graphs are replayed after it: torch.profiler sets these for graphs of its own.
        os.environ.setdefault("DISABLE_CUPTI_LAZY_REINIT", "1")
        os.environ.setdefault("TEARDOWN_CUPTI", "0")
    try:
        import torch
    except ImportError:
        sys.exit("bench_gpu: PyTorch is needed on a GPU host, with CUDA: python3 -m pip install torch")
    if not torch.cuda.is_available():
        sys.exit("bench_gpu: PyTorch finds no GPU here")
    gpu_peers.prepare(torch)
    torch.zeros(1, device="cuda")  # makes the context that both use
    return torch


def end_at_signal(number, frame):
    raise KeyboardInterrupt


def main():
    options = read_options()
    try:
        if options.networks:
            run_networks(options)
        elif options.report:
            run_report(options)
        elif options.list:
            print_list(options)
        else:
            signal.signal(signal.SIGTERM, end_at_signal)
            deadline = gpu_timing.Deadline(options.time_limit or 0)  # PyTorch's start counts
            bench = Bench(open_device(options), options, deadline)
            status = run_twice(bench) if options.twice else run_sets(bench)
            sys.stdout.flush()
            sys.stderr.flush()
            # A search that outlasted the limit goes on in its lane, which an ordinary exit would wait for.
            os._exit(status or 0)
    except (gpu_sets.Unknown, gpu_report.Unusable) as error:
        sys.exit(f"bench_gpu: {error}")


if __name__ == "__main__":
    main()
