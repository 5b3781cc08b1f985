"""bench_gpu.py from its options to its tables: with doubles of PyTorch, of the driver and of what a database holds, and with
the program of SKIPJACK and its library for lists and keys. Prints TAP."""
import contextlib
import functools
import io
import json
import os
import pathlib
import stat
import tempfile
import types

import bench_gpu
import gpu_database
import tap
import torch_double

PROGRAM = os.path.abspath(os.environ.get("SKIPJACK", "build/skipjack"))
READER = str(sorted(pathlib.Path(PROGRAM).parent.glob("reader/libskipjackdb.so.*"))[-1])
# In the order in which they are measured.
FIRST = "64-56-56-3x3-64-56-56-2-1x1-1x1-1x1-0-NCHW-FP32-F"
SECOND = "64-56-56-1x1-64-56-56-2-0x0-1x1-1x1-0-NCHW-FP32-F"
THIRD = "8-4-9-9-3x3x3-16-4-9-9-2-1x1x1-1x1x1-1x1x1-0-NDHWC-NDHWC-NDHWC-FP16-W"
TF32 = FIRST + "_cxTF32"
FUSED = "64-56-56-1x1-64-56-56-2-0x0-1x1-1x1-0-NCHW-FP32-F+bias+relu"
# A double of the program: lists are the real one's; tune leaves a file, or fails where its words hold $NO_RESULT.
DOUBLE = """#!/bin/sh
case $1 in
tune) echo "$*" >>"$NOTES"; case "$*" in *"$NO_RESULT"*) exit 3 ;; esac; mkdir -p "$4"; : >"$4/made.sjdb" ;;
report) echo '{{"work": {{"jobs": 7, "spent_seconds": 2.5}}}}' ;;
db) ;;
*) exec {program} "$@" ;;
esac
"""


class Entry:
    def __init__(self, ms=0.5, value=1.0, revision=1, solver=b"ConvTma", fault=None):
        self.ms, self.value, self.revision, self.solver, self.fault = ms, value, revision, solver, fault
        self.algorithm, self.time_ms, self.params = b"miopenConvolutionFwdAlgoImplicitGEMM", ms, b"1,2"


class Host:
    """A host with a GPU: everything that bench_gpu.py finds on one. entries: what the database has, by key. Use it as a
    context; call() is a call of the program and returns its exit status, stdout and stderr."""

    def __init__(self, entries, torch=None):
        self.entries, self.torch = entries, torch or torch_double.Torch(plans=[[1.0]], tf32_plans=[[0.25]])
        self.ours, self.seconds = 0, 0.0  # solutions that were run; a clock, where a test has one
        self.stop = None

    def __enter__(self):
        self.kept = [(module, name, getattr(module, name)) for module, name in (
            (bench_gpu, "open_device"), (bench_gpu, "open_cudnn"), (gpu_database, "Database"), (gpu_database, "Ours"),
            (bench_gpu.ctypes, "CDLL"), (bench_gpu.os, "_exit"),
        )]  # fmt: skip
        real = bench_gpu.ctypes.CDLL
        bench_gpu.open_device, bench_gpu.open_cudnn = self.open_device, lambda: None
        gpu_database.Database, gpu_database.Ours = self.database, self.make_ours
        bench_gpu.ctypes.CDLL = lambda name: types.SimpleNamespace() if "cuda" in name else real(name)
        bench_gpu.os._exit = self.leave
        self.folder = tempfile.TemporaryDirectory()
        self.path = pathlib.Path(self.folder.name)
        program = self.path / "skipjack"
        program.write_text(DOUBLE.format(program=PROGRAM), encoding="utf-8")
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        os.environ.update(NOTES=str(self.path / "notes"), NO_RESULT="no such folder")
        return self

    def __exit__(self, *error):
        for module, name, was in self.kept:
            setattr(module, name, was)
        self.folder.cleanup()

    def open_device(self, options):
        bench_gpu.gpu_peers.prepare(self.torch)
        return self.torch

    def leave(self, status):
        raise SystemExit(status)

    def database(self, reader, path):
        return types.SimpleNamespace(best=self.best, close=lambda: None, key=self.key_of, problems=self.held)

    def held(self):
        return [gpu_database.parse_key(gpu_database.ctypes.CDLL(READER), key) for key in self.entries]

    def key_of(self, problem):
        text = gpu_database.ctypes.create_string_buffer(1024)
        library = gpu_database.ctypes.CDLL(READER)
        assert library.skipjackdb_problem_key(gpu_database.ctypes.byref(problem), text, 1024) == 0
        return text.value.decode()

    def best(self, problem):
        entry = self.entries.get(self.key_of(problem))
        if entry is None:
            raise gpu_database.NoResult("the .sjdb file has no entry for it")
        return entry, entry

    def make_ours(self, torch, driver, db, problem, entry):
        self.ours += 1
        self.seconds += 150.0
        if self.stop == self.ours:
            raise KeyboardInterrupt
        if entry.fault:
            raise RuntimeError(entry.fault)
        output = "yxw"[problem.direction]

        def run(bound):
            bound.value = bound.value if entry.value is None else entry.value
            torch.launch("ours", entry.ms)

        return types.SimpleNamespace(bind=lambda tensors: tensors[output], run=run, close=lambda: None)

    def problems(self, *lines, name="mine"):
        file = self.path / f"{name}.txt"
        file.write_text("".join(f"{count}\t{key}\n" for count, key in lines), encoding="utf-8")
        return ["--problems", str(file)]

    def call(self, *words, out="out"):
        fixed = ["--skipjack", str(self.path / "skipjack"), "--reader", READER, "--out", str(self.path / out)]
        real, bench_gpu.sys.argv = bench_gpu.sys.argv, ["bench_gpu.py", *fixed, *map(str, words)]
        said, status = io.StringIO(), 0
        with open(self.path / "warned", "w+", encoding="utf-8") as warned:  # a file, as processes write into it
            try:
                with contextlib.redirect_stdout(said), contextlib.redirect_stderr(warned):
                    bench_gpu.main()
            except SystemExit as end:
                status = end.code
            finally:
                bench_gpu.sys.argv = real
        return status, said.getvalue(), (self.path / "warned").read_text(encoding="utf-8")

    def rows(self, out="out"):
        return {row["key"]: row for row in json.loads((self.path / out / "results.json").read_text())["rows"]}

    def notes(self):
        file = self.path / "notes"
        return file.read_text().splitlines() if file.exists() else []


def test_a_set_is_tuned_measured_and_reported():
    with Host({FIRST: Entry(0.5), SECOND: Entry(2.0)}) as host:
        status, said, _ = host.call(*host.problems((3, FIRST), (1, SECOND)), "--kernels")
        assert status == 0, (status, said)
        row = host.rows()[FIRST]
        assert (row["multiplicity"], row["ours_ms"], row["cudnn_ms"], row["tf32_ms"], row["right"]) == (3, 0.5, 1, 0.25, True)
        assert row["cudnn_kernels"] == ["winograd_fprop"] and row["cudnn_difference"] == 0
        line = json.loads((host.path / "out/report.json").read_text())["summaries"][0]
        assert (line["problems"], line["losses"], line["worst"]) == (2, 1, 0.5)
        assert abs(line["geometric_mean"] - 1) < 1e-9 and abs(line["weighted"] - 2**0.5) < 1e-9
        assert abs(line["tf32"]["geometric_mean"] - 0.25) < 1e-9
        assert len(host.notes()) == 1 and "--budget 300" in host.notes()[0]
        assert "mine" in said and "ConvTma" in said


def test_a_device_that_failed_ends_the_call():
    with Host({FIRST: Entry(fault="an illegal memory access was encountered"), SECOND: Entry(0.5)}) as host:

        def synchronize():
            if host.ours:
                raise RuntimeError("CUDA error: an illegal memory access was encountered")

        host.torch.cuda.synchronize = synchronize
        status, said, _ = host.call(*host.problems((1, FIRST), (1, SECOND)))
        assert status == 1 and "the device failed" in said and f"mine: {FIRST} (x1): a loss" in said, said
        assert list(host.rows()) == [FIRST]


def test_a_problem_without_a_result_is_a_loss_and_named():
    with Host({FIRST: Entry(0.5)}) as host:
        status, said, _ = host.call(*host.problems((1, FIRST), (2, SECOND)))
        assert status == 0 and f"mine: {SECOND} (x2): a loss" in said, said
        assert host.rows()[SECOND]["cudnn_ms"] == 1 and host.rows()[SECOND]["ours_ms"] is None


def test_a_solution_that_cannot_be_run_is_a_loss_too():
    with Host({FIRST: Entry(fault="cannot load a code object: CUDA's error 209")}) as host:
        _, said, _ = host.call(*host.problems((1, FIRST)))
        assert "error 209" in said and "a loss" in said, said
        assert host.rows()[FIRST]["solver"] == "ConvTma"


def test_a_wrong_result_fails_the_call():
    with Host({FIRST: Entry(0.5, value=1.5)}) as host:
        status, said, _ = host.call(*host.problems((1, FIRST)))
        assert status == 1 and "differs by 0.5" in said, said


def test_a_kernel_that_writes_nothing_is_wrong():
    with Host({FIRST: Entry(0.5, value=None)}) as host:
        status, said, _ = host.call(*host.problems((1, FIRST)))
        assert status == 1 and "differs by nan" in said, said


def test_where_tf32_is_asked_for_cudnn_may_take_it():
    with Host({TF32: Entry(0.5, value=1.002)}) as host:
        assert host.call(*host.problems((1, TF32)))[0] == 0
        row = host.rows()[TF32]
        assert row["cudnn_ms"] == 0.25 and "tf32_ms" not in row and row["right"], row
        host.entries[TF32] = Entry(0.5, value=1.02, revision=2)
        assert host.call(*host.problems((1, TF32)), "--again")[0] == 1


def test_3d_problems_and_all_directions_are_measured():
    with Host({THIRD: Entry(0.5)}) as host:
        status, _, _ = host.call(*host.problems((1, THIRD)))
        row = host.rows()[THIRD]
        assert status == 0 and row["direction"] == "W" and row["right"] and "tf32_ms" not in row, row


def test_short_runs_are_timed_in_a_graph_too():
    with Host({FIRST: Entry(0.02), SECOND: Entry(0.5)}) as host:
        host.call(*host.problems((1, FIRST), (1, SECOND)))
        assert abs(host.rows()[FIRST]["graph_ours_ms"] - 0.02) < 1e-9 and "graph_ours_ms" not in host.rows()[SECOND]


def test_a_fused_layer_is_held_against_cudnns_fused_call():
    with Host({FUSED: Entry(0.5, value=1.5)}, torch_double.Torch(plans=[[3.0], [1.0], [2.0]], tf32_plans=[[0.25]])) as host:
        host.call(*host.problems((1, FUSED)), "--kernels")
        row = host.rows()[FUSED]
        assert row["cudnn_kernels"] == ["xmma_fused"] and len(host.torch.searches) == 3 * 3
        assert row["cudnn_way"] == "plan, conv+bias+relu, find 2" and row["right"] and row["cudnn_difference"] == 0, row
        assert (row["cudnn_ms"], row["sequence_ms"], row["tf32_ms"]) == (1, 1, 0.25)


def test_a_layer_without_a_fused_call_is_held_against_the_sequence():
    torch = torch_double.Torch(plans=[[1.0]], refuses=("fused",))
    with Host({FUSED: Entry(0.5, value=1.5)}, torch) as host:
        host.call(*host.problems((1, FUSED)), "--kernels")
        row = host.rows()[FUSED]
        assert row["cudnn_way"] == "sequence" and row["cudnn_ms"] == row["sequence_ms"] == 1, row
        assert any("libcudnn was not loaded" in why for why in row["refused"])
        assert host.rows()[FUSED].get("cudnn_kernels") is None
        assert row["tf32_way"] is None and row["right"]


def test_the_same_command_goes_on():
    with Host({FIRST: Entry(0.5), SECOND: Entry(0.5)}) as host:
        words = host.problems((1, FIRST), (1, SECOND))
        host.stop = 2
        status, said, _ = host.call(*words)
        assert "interrupted; the same command goes on with what is left of mine" in said and list(host.rows()) == [FIRST], said
        host.stop = None
        status, said, _ = host.call(*words)
        assert status == 0 and list(host.rows()) == [FIRST, SECOND] and host.ours == 3, (host.ours, said)
        _, _, warned = host.call(*words)
        assert host.ours == 3 and len(host.notes()) == 2 and "measured before" in warned
        host.call(*words, "--again")
        assert host.ours == 5


def test_tuned_sets_are_kept_where_they_hold_all_problems():
    with Host({FIRST: Entry(0.5), SECOND: Entry(0.5)}) as host:
        host.call(*host.problems((1, FIRST)))
        host.call(*host.problems((1, FIRST)), "--again", "--keep-tuned")
        assert len(host.notes()) == 1 and host.ours == 2
        host.call(*host.problems((1, FIRST), (1, SECOND)), "--again", "--keep-tuned")
        assert len(host.notes()) == 2
        (host.path / "out/mine/made.sjdb").unlink()
        host.call(*host.problems((1, FIRST)), "--again", "--keep-tuned")
        assert len(host.notes()) == 3


def test_another_solution_is_measured_anew():
    with Host({FIRST: Entry(0.5)}) as host:
        words = host.problems((1, FIRST), (1, SECOND))
        host.call(*words)
        host.path.joinpath("out/results.json").write_text(
            json.dumps({**json.loads(host.path.joinpath("out/results.json").read_text()), "rows": [host.rows()[FIRST]]})
        )
        host.entries[FIRST] = Entry(0.25, revision=2)
        host.call(*words)
        assert host.rows()[FIRST]["ours_ms"] == 0.25 and len(host.rows()) == 2


def test_a_time_limit_ends_with_what_was_measured():
    with Host({FIRST: Entry(0.5), SECOND: Entry(0.5)}) as host:
        one, two = host.problems((1, FIRST), name="one"), host.problems((1, SECOND), name="two")
        host.call(*one)
        status, said, warned = host.call(*one, *two, "--time-limit", 15)
        # Too little for tuning the second set; the first one's rows are in the table.
        assert status == 0 and "time limit ended the call" in said and "left of two" in said and "one " in said, said
        status, said, warned = host.call(*one, *two, "--time-limit", 300, "--budget", 1000)
        assert status == 0 and SECOND in host.rows()
        budget, limit = host.notes()[-1].split("--budget ")[1].split()[0::2]
        assert 80 <= int(budget) <= 112 and limit.endswith("s") and 130 <= int(limit[:-1]) <= 150, host.notes()[-1]
        assert "too small for --budget 1000" in warned


def test_each_set_gets_its_share_and_then_goes_on():
    """A problem takes 150 s, so that the first set's share ends after three problems."""
    for limit, wanted in ((620, ["one"] * 3 + ["two"]), (800, ["one"] * 3 + ["two", "one"])):
        with Host({key: Entry(0.5) for key in (FIRST, SECOND, TF32, FUSED, THIRD)}) as host:
            real = bench_gpu.gpu_timing.Deadline
            bench_gpu.gpu_timing.Deadline = functools.partial(real, clock=lambda host=host: host.seconds)
            one = host.problems((1, FIRST), (1, SECOND), (1, TF32), (1, FUSED), name="one")
            try:
                _, said, _ = host.call(*one, *host.problems((1, THIRD), name="two"), "--time-limit", limit)
            finally:
                bench_gpu.gpu_timing.Deadline = real
            sets = [row["set"] for row in json.loads((host.path / "out/results.json").read_text())["rows"]]
            assert sets == wanted, (limit, sets)
            assert ("what is left of one" in said) == (limit == 620) and len(host.notes()) == 2, said


def test_no_problem_is_begun_that_may_not_end_in_time():
    with Host({FIRST: Entry(0.5), SECOND: Entry(0.5)}) as host:
        real, seconds = bench_gpu.time, iter(range(0, 100_000, 500))
        bench_gpu.time = types.SimpleNamespace(monotonic=lambda: next(seconds))  # each problem takes 500 s at least
        try:
            _, said, _ = host.call(*host.problems((1, FIRST), (1, SECOND)), "--time-limit", 300)
        finally:
            bench_gpu.time = real
        assert len(host.rows()) == 1 and "time limit ended the call" in said, said


def test_a_set_that_cannot_be_tuned_does_not_stop_the_others():
    with Host({FIRST: Entry(0.5)}) as host:
        one, two = host.problems((1, FIRST), name="one"), host.problems((1, SECOND), name="two")
        os.environ["NO_RESULT"] = "out/one "
        status, said, _ = host.call(*one, *two)
        assert status == 1 and "one: not measured: skipjack tune ended with status 3" in said, said
        assert list(host.rows()) == [SECOND]
        assert host.call(*one, "--measure-only")[1].count("tune it first") == 1


def test_what_was_tuned_for_another_list_is_replaced():
    with Host({FIRST: Entry(0.5), SECOND: Entry(0.5)}) as host:
        host.call(*host.problems((1, FIRST)))
        os.environ["NO_RESULT"] = "out/mine "
        status, said, _ = host.call(*host.problems((1, FIRST), (1, SECOND)))
        assert status == 1 and "ended with status 3" in said  # the old file is not taken for the new list's
        assert all("--replace" in note for note in host.notes())


def test_results_of_several_calls_become_one_table():
    with Host({FIRST: Entry(0.5), SECOND: Entry(2.0)}) as host:
        host.call(*host.problems((1, FIRST), name="one"), out="a")
        host.call(*host.problems((1, SECOND), name="two"), out="b")
        files = [host.path / "a", host.path / "b/results.json"]
        status, said, _ = host.call("--report", *files, "--json")
        assert status == 0 and [line["set"] for line in json.loads(said)["summaries"]] == ["one", "two"]
        assert "geomean" in host.call("--report", *files)[1]
        host.entries[SECOND] = Entry(2.0, value=9.0, revision=2)
        host.call(*host.problems((1, SECOND), name="two"), "--again", out="b")
        assert host.call("--report", *files)[0] == 1  # a result is wrong
        host.entries[SECOND] = Entry(2.0, revision=3)
        host.call(*host.problems((1, SECOND), name="two"), "--again", out="b")
        host.call(*host.problems((1, SECOND), name="two"), "--finds", 1, out="b")
        status, _, _ = host.call("--report", *files, "--json")
        assert status == 0  # the call of one find was refused, and the file kept
        status, _, _ = host.call(*host.problems((1, SECOND), name="two"), "--finds", 1, "--again", out="b")
        status, _, _ = host.call("--report", *files)
        assert "1 finds" in str(status) and "3 finds" in str(status)


def test_other_results_in_the_folder_are_kept():
    with Host({FIRST: Entry(0.5)}) as host:
        words = host.problems((1, FIRST))
        host.call(*words)
        status, _, _ = host.call(*words, "--finds", 1)
        assert "results.json" in str(status) and host.rows()[FIRST]["ours_ms"] == 0.5


def test_a_sample_says_of_how_many():
    with Host({}) as host:
        status, said, _ = host.call("--sets", "retinanet-heads-fp32-nchw", "--sample", 2, "--directions", "F")
        assert status == 0 and len(host.rows()) == 2 and "2/15" in said, said
        assert len((host.path / "out/retinanet-heads-fp32-nchw/problems.txt").read_text().splitlines()) == 2


def test_two_campaigns_are_measured_in_turns():
    with Host({FIRST: Entry(0.5), THIRD: Entry(0.2)}) as host:
        status, said, _ = host.call("--twice", "--json", *host.problems((1, FIRST), (1, THIRD)))
        line = json.loads(said)["summaries"][0]
        assert status == 0 and (line["problems"], line["same"], line["second_over_first"]) == (2, 1, 1), line
        assert line["alone"]["within_3_percent"] == 1 and line["recorded"]["solutions"] == 0 and len(host.notes()) == 2
        assert "within 2 %" in host.call("--twice", "--measure-only", *host.problems((1, FIRST)))[1]


def test_wrong_options_are_refused_with_the_remedy():
    with Host({}) as host:
        for words, wanted in (
            (["--directions", "X"], "F, B and W"), (["--finds", "0"], "--finds"), (["--sets", "vgg"], "tv-vgg16"),
            (["--problems", "/is/not/there"], "/is/not/there"), (["--twice", "--time-limit", "9"], "--budget"),
            (["--sample", "-1"], "--sample"),
        ):  # fmt: skip
            status, _, warned = host.call(*words)
            assert status == 2 and wanted in warned, (words, status, warned)


tap.run(globals(), "bench_gpu")
