"""gpu_report.py: statistics against figures worked out by hand, losses, and results files. Prints TAP."""
import contextlib
import io
import math
import pathlib
import tempfile

import gpu_report
import tap

FACTS = {"device": "a GPU", "torch": "2.11", "cudnn": 91900, "way": "all plans"}


def near(value, wanted):
    assert math.isclose(value, wanted, rel_tol=1e-12), (value, wanted)


def row(key, ours, cudnn, multiplicity=1, **more):
    return {"set": "net", "key": key, "direction": "F", "multiplicity": multiplicity, "solver": "ConvTma",
            "algorithm": "miopenConvolutionFwdAlgoImplicitGEMM", "params": "1,2", "ours_ms": ours, "cudnn_ms": cudnn,
            "cudnn_way": "PyTorch, find 1", "right": True, **more}  # fmt: skip


def missing(key, **more):
    return row(key, None, 1.0, solver=None, missing="the file has no entry", right=None, **more)


def test_a_geometric_mean_is_the_root_of_the_product():
    near(gpu_report.geometric_mean([1, 4]), 2)
    near(gpu_report.geometric_mean([0.5, 2, 8]), 2)


def test_a_weight_counts_a_value_as_often():
    near(gpu_report.geometric_mean([2, 0.5], [3, 1]), gpu_report.geometric_mean([2, 2, 2, 0.5]))
    near(gpu_report.geometric_mean([2, 0.5], [3, 1]), 2**0.5)


def test_the_mean_of_nothing_is_none():
    assert gpu_report.geometric_mean([]) is None
    assert gpu_report.geometric_mean([3], [0]) is None
    assert gpu_report.percentile([], 10) is None


def test_a_tenth_of_the_values_lies_at_or_below_the_10th_percentile():
    for count, place in ((1, 1), (2, 1), (9, 1), (10, 1), (11, 2), (20, 2), (21, 3), (24, 3), (30, 3), (31, 4), (100, 10)):
        values = list(range(count, 0, -1))
        assert gpu_report.percentile(values, 10) == place, count
        assert sum(value <= place for value in values) >= 0.1 * count > sum(value < place for value in values)
    assert gpu_report.percentile([5, 7], 100) == 7 and gpu_report.percentile([5, 7], 0) == 5


def test_a_speed_is_cudnns_time_by_ours():
    assert gpu_report.speed_of(row("a", 2.0, 3.0)) == 1.5
    assert gpu_report.speed_of(row("a", 2.0, 3.0, tf32_ms=1.0, tf32_way="find 1"), "tf32_ms") == 0.5
    assert gpu_report.speed_of(row("a", 2.0, 3.0), "tf32_ms") is None


def test_missing_and_wrong_results_have_the_speed_0():
    assert gpu_report.speed_of(missing("a")) == 0
    assert gpu_report.speed_of(row("a", 1.0, 9.0, right=False)) == 0


def test_what_was_not_measured_is_no_loss():
    assert gpu_report.speed_of(row("a", None, None, failed="out of memory")) is None
    assert gpu_report.speed_of(row("a", None, None, unsupported="no such type")) is None
    assert gpu_report.speed_of(row("a", 1.0, None, cudnn_way=None)) is None


def test_a_line_counts_losses_and_leaves_them_out_of_the_means():
    rows = [row("a", 1.0, 2.0, 3), row("b", 2.0, 1.0, 1), missing("c", multiplicity=7), row("d", 1.0, 9.0, right=False),
            row("e", None, None, failed="why"), row("f", 1.0, None, cudnn_way=None)]  # fmt: skip
    line = gpu_report.summary("net", "F", rows, 30)
    counts = {"problems": 4, "losses": 3, "none": 1, "wrong": 1, "no_peer": 1, "excused": 1, "worst": 0, "p10": 0,
              "listed": 30, "tf32": None}  # fmt: skip
    assert {name: line[name] for name in counts} == counts, line
    near(line["geometric_mean"], 1)
    near(line["weighted"], 2**0.5)
    assert line["worst_key"] == "c"


def test_a_missing_result_is_a_loss_against_tf32_too():
    rows = [row("a", 1.0, 2.0, tf32_ms=0.5, tf32_way="find 1"), missing("b", tf32_ms=0.4, tf32_way="find 2")]
    tf32 = gpu_report.summary("net", "F", rows)["tf32"]
    assert (tf32["problems"], tf32["losses"], tf32["worst"]) == (2, 2, 0), tf32
    near(tf32["geometric_mean"], 0.5)


def test_graphs_have_a_mean_of_their_own():
    rows = [row("a", 1.0, 1.0, graph_ours_ms=1.0, graph_cudnn_ms=4.0), row("b", 1.0, 1.0), row("c", 1.0, 1.0, right=False,
            graph_ours_ms=1.0, graph_cudnn_ms=100.0)]  # fmt: skip
    line = gpu_report.summary("net", "F", rows)
    assert line["graph_problems"] == 1
    near(line["graph_geometric_mean"], 4)


def test_fused_sets_have_the_sequence_too():
    rows = [row("a", 1.0, 2.0, sequence_ms=4.0), row("b", 1.0, 3.0, sequence_ms=9.0, cudnn_way="sequence"),
            missing("c", sequence_ms=5.0)]  # fmt: skip
    line = gpu_report.summary("net", "F", rows)
    near(line["geometric_mean_sequence"], 6)
    assert line["unfused"] == 1
    assert "unfused" not in gpu_report.summary("net", "F", [row("a", 1.0, 2.0)])


def test_lines_follow_the_sets_and_directions():
    rows = [dict(row("a", 1.0, 1.0), direction="W"), dict(row("b", 1.0, 1.0), set="other"), row("c", 1.0, 1.0)]
    lines = gpu_report.summaries(rows, {"net": {"F": 9}})
    assert [(line["set"], line["direction"]) for line in lines] == [("net", "F"), ("net", "W"), ("other", "F")]
    assert [line["listed"] for line in lines] == [9, 1, 1]


def test_an_algorithms_gain_is_told_from_a_kernels():
    winograd = {"solver": "ConvWinograd", "algorithm": "miopenConvolutionFwdAlgoWinograd"}
    rows = [row("a", 1.0, 4.0, **winograd, cudnn_kernels=["sm80_xmma_fprop"]),
            row("b", 1.0, 2.0, **winograd, cudnn_kernels=["winograd_transform", "gemm"]),
            row("c", 2.0, 1.0, cudnn_kernels=["cutlass"]), row("d", 1.0, 1.0), missing("e")]  # fmt: skip
    lines = {line["solver"]: line for line in gpu_report.winners(rows)}
    assert set(lines) == {"ConvWinograd", "ConvTma"}
    near(lines["ConvWinograd"]["other_method"], 4)
    near(lines["ConvWinograd"]["same_method"], 2)
    assert (lines["ConvWinograd"]["problems"], lines["ConvWinograd"]["wins"]) == (2, 2)
    assert (lines["ConvTma"]["problems"], lines["ConvTma"]["wins"], lines["ConvTma"]["worst"]) == (2, 1, 0.5)
    assert lines["ConvTma"]["other_method"] is None


def test_every_problem_outside_the_means_is_named_with_its_reason():
    rows = [row("a", 1.0, 2.0), missing("b", multiplicity=5), row("c", 1.0, 1.0, right=False, difference=0.5),
            row("d", None, None, failed="out of memory"), row("e", 1.0, None, cudnn_way=None, refused=["no engine"]),
            row("f", None, None, unsupported="its type")]  # fmt: skip
    named = {line["key"]: line for line in gpu_report.left_out(rows)}
    assert list(named) == ["b", "c", "d", "e", "f"]
    assert named["b"]["multiplicity"] == 5 and "the file has no entry" in named["b"]["why"]
    assert "0.5" in named["c"]["why"] and "out of memory" in named["d"]["why"] and "no engine" in named["e"]["why"]
    assert "its type" in named["f"]["why"]


def test_refused_calls_are_counted_once_a_problem():
    direct = ["cuDNN asked directly, find 1: no engine", "cuDNN asked directly, find 2: no engine"]
    rows = [row("a", 1.0, 2.0, refused=direct), row("b", 1.0, 2.0, refused=[*direct, "PyTorch, find 1: no memory: 3 GiB"]),
            row("c", 1.0, 2.0, refused=[]), row("d", 1.0, 2.0, sequence_ms=1.0, refused=["plan: none"])]  # fmt: skip
    assert gpu_report.refusals(rows) == [
        {"set": "net", "call": "cuDNN asked directly", "problems": 2, "why": "no engine"},
        {"set": "net", "call": "PyTorch", "problems": 1, "why": "no memory: 3 GiB"},
    ]


def test_the_tables_print_every_line():
    rows = [row("a", 1.0, 2.0, tf32_ms=0.5, tf32_way="find 1", cudnn_kernels=["cutlass"]),
            missing("b", refused=["PyTorch, find 1: why"])]  # fmt: skip
    results = gpu_report.Results(FACTS, rows, {"net": {"F": 40}})
    with contextlib.redirect_stdout(io.StringIO()) as said:
        gpu_report.print_report(results.report())
    for wanted in ("a GPU", "TF32", "2/40", "ConvTma", "net: b (x1): a loss", "PyTorch: refused for 1"):
        assert wanted in said.getvalue(), wanted


def refused(function, *args):
    try:
        function(*args)
    except gpu_report.Unusable as refusal:
        return str(refusal)
    raise AssertionError("it was taken")


def test_results_come_back_as_they_were_written():
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "results.json"
        gpu_report.write_results(path, gpu_report.Results(FACTS, [row("a", 1.0, 2.0)], {"net": {"F": 3}}))
        held = gpu_report.read_results(path)
        assert held.facts == FACTS and held.rows == {("net", "a"): row("a", 1.0, 2.0)} and held.listed == {"net": {"F": 3}}
        assert list(pathlib.Path(folder).iterdir()) == [path]


def test_rows_of_a_former_list_are_dropped():
    rows = [row("a", 1.0, 2.0), row("b", 1.0, 2.0), dict(row("c", 1.0, 2.0), direction="W"), dict(row("d", 1.0, 2.0), set="other")]
    results = gpu_report.Results(FACTS, rows, {"net": {"F": 2, "W": 1}})
    results.begin("net", {"F": 5}, {"b", "e"})
    assert [key for _, key in results.rows] == ["b", "c", "d"] and results.listed == {"net": {"F": 5, "W": 1}}


def test_files_are_merged_and_the_later_one_counts():
    with tempfile.TemporaryDirectory() as folder:
        paths = [pathlib.Path(folder) / name for name in ("first", "second")]
        for path, rows, count in ((paths[0], [row("a", 1.0, 2.0), row("b", 1.0, 2.0)], 2),
                                  (paths[1], [row("b", 1.0, 8.0), row("c", 1.0, 2.0)], 3)):  # fmt: skip
            gpu_report.write_results(path, gpu_report.Results(FACTS, rows, {"net": {"F": count, f"W{count}": 1}}))
        merged = gpu_report.merge(paths)
        assert [key for _, key in merged.rows] == ["a", "b", "c"] and merged.rows["net", "b"]["cudnn_ms"] == 8.0
        assert merged.listed == {"net": {"F": 3, "W2": 1, "W3": 1}}
        other = gpu_report.Results({**FACTS, "device": "another GPU"}, [row("d", 1.0, 2.0)])
        gpu_report.write_results(paths[1], other)
        assert "another GPU" in refused(gpu_report.merge, paths)


def test_other_files_are_refused_by_name():
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "x.json"
        assert "x.json" in refused(gpu_report.read_results, path)
        for text in ("no JSON", "[]", '{"version": 7, "rows": [], "listed": {}}', '{"version": 1, "rows": []}'):
            path.write_text(text, encoding="utf-8")
            assert "x.json" in refused(gpu_report.read_results, path), text


tap.run(globals(), "gpu_report")
