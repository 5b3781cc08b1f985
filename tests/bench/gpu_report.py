"""Statistics, tables and the results file of bench_gpu.py: pure functions over rows, and two that read and write a file.

A row is what was measured of one problem of a set, as JSON holds it:

  set, key, direction     the problem, of which set; the direction is F, B or W
  multiplicity            how often the network runs it
  solver, algorithm, params, revision
                          our solution; the solver is None where our file has none
  missing                 why there is no time of ours
  ours_ms, cudnn_ms       the medians, taking turns; None where there is no solution, or no call of cuDNN's
  cudnn_way               which call of cuDNN's was the fastest; None where cuDNN has none
  tf32_ms, tf32_way       the same with TF32 allowed; problems of FP32 that do not ask for TF32 have them
  graph_ours_ms, graph_cudnn_ms
                          the times of a run in a replayed graph; short problems alone have them
  recorded_ms             the time that our file says
  right                   whether our result agrees with PyTorch's
  failed                  why nothing was measured; the next call tries again
  unsupported             why PyTorch has no such problem

Rows that failed or are unsupported are neither wins nor losses.

A speed is cuDNN's time divided by ours. A problem that we have no result for, and one whose result is wrong, has the
speed 0: it is a loss, and counts in the 10th percentile and the worst. The geometric means are those of the others (a
single 0 would make them 0); the columns `none` and `wrong` say how many they leave out.
"""
import json
import math
import re

VERSION = 1
# Facts that must be equal in all rows of one table: times of two devices, or taken in two ways, are not comparable.
FACTS = ("device", "torch", "cudnn", "way")


# Reasons why a problem was not compared: the report's words, and the row's member that has the
# reason.
EXCUSES = {"not measured": "failed", "not compared": "unsupported"}


class Unusable(Exception):
    """A results file that cannot be read, or does not fit the others, for the reason in the text."""


# ---- statistics


def geometric_mean(values, weights=None):
    """The geometric mean of positive values, each as often as its weight says (once by default); None for no value."""
    weights = [1] * len(values) if weights is None else weights
    total = sum(weights)
    if total <= 0:
        return None
    return math.exp(math.fsum(weight * math.log(value) for value, weight in zip(values, weights)) / total)


def percentile(values, percent):
    """The smallest value that at least so many per cent (a whole number) of the values do not exceed; None for no value."""
    if not values:
        return None
    ordered = sorted(values)
    return ordered[max(0, (percent * len(ordered) + 99) // 100 - 1)]


def is_excused(row):
    return any(row.get(member) for member in EXCUSES.values())


def speed_of(row, peer="cudnn_ms"):
    """The peer's time by ours; 0 for no result or a wrong one; None where the peer or the measurement is missing. peer:
    the member that has its time."""
    if is_excused(row) or not row.get(peer.replace("_ms", "_way")):
        return None
    if not row.get("ours_ms") or not row["right"]:
        return 0.0
    return row[peer] / row["ours_ms"]


def is_missing(row):
    return not is_excused(row) and not row.get("ours_ms")


def figures(pairs):
    """Of (speed, row): the problems, losses, and the means, 10th percentile and worst, which a table has in a line."""
    speeds = [speed for speed, _ in pairs]
    won = [(speed, row["multiplicity"]) for speed, row in pairs if speed > 0]
    worst = min(pairs, key=lambda pair: (pair[0], pair[1]["key"]), default=None)
    return {
        "problems": len(pairs),
        "losses": sum(speed < 1 for speed in speeds),
        "geometric_mean": geometric_mean([speed for speed, _ in won]),
        "weighted": geometric_mean([speed for speed, _ in won], [weight for _, weight in won]),
        "p10": percentile(speeds, 10),
        "worst": worst[0] if worst else None,
        "worst_key": worst[1]["key"] if worst else None,
    }


def pairs_of(rows, peer="cudnn_ms"):
    return [(speed, row) for row in rows if (speed := speed_of(row, peer)) is not None]


def graph_speeds(rows):
    both = [row for row in rows if row.get("right") and row.get("graph_ours_ms") and row.get("graph_cudnn_ms")]
    return [row["graph_cudnn_ms"] / row["graph_ours_ms"] for row in both]


def summary(name, direction, rows, listed=None):
    """The line of a set and direction. rows: of them, also those that failed. listed: how many problems the set has in
    this direction, of which rows may be a part."""
    short, sequence = graph_speeds(rows), [row for row in rows if row.get("sequence_ms") and speed_of(row)]
    line = {
        "set": name,
        "direction": direction,
        **figures(pairs_of(rows)),
        "none": sum(is_missing(row) for row in rows),
        "wrong": sum(row.get("right") is False for row in rows),
        "no_peer": sum(not is_excused(row) and not row.get("cudnn_ms") for row in rows),
        "excused": sum(is_excused(row) for row in rows),
        "graph_problems": len(short),
        "graph_geometric_mean": geometric_mean(short),
        "tf32": figures(pairs_of(rows, "tf32_ms")) if any("tf32_ms" in row for row in rows) else None,
        "listed": listed if listed is not None else len(rows),
    }
    if any("sequence_ms" in row for row in rows):
        line["geometric_mean_sequence"] = geometric_mean([row["sequence_ms"] / row["ours_ms"] for row in sequence])
        line["unfused"] = sum(row.get("cudnn_way") == "sequence" for row in rows)
    return line


def summaries(rows, listed):
    """A line for each set and direction, in the order of the rows' sets. listed: of a set, how many problems it has in
    each direction."""
    lines = []
    for name in dict.fromkeys(row["set"] for row in rows):
        for direction in "FBW":
            part = [row for row in rows if row["set"] == name and row["direction"] == direction]
            if part:
                lines.append(summary(name, direction, part, listed.get(name, {}).get(direction)))
    return lines


def method_of(text):
    """Winograd, FFT or sums (all others: direct, GEMM, implicit GEMM), of an algorithm's or a kernel's name."""
    low = text.lower()
    return "Winograd" if "winograd" in low else "FFT" if "fft" in low else "sums"


def peer_method(row):
    """The same of the kernels that cuDNN ran; None where they were not asked for."""
    methods = {method_of(name) for name in row.get("cudnn_kernels") or ()}
    return None if not methods else "sums" if methods == {"sums"} else min(methods - {"sums"})


def winners(rows):
    """Which solver won what: a line for each set, direction and solver of ours, with its algorithm, how many problems it
    is our choice for, in how many of them it is faster than cuDNN, and its mean speed. `same_method` and `other_method`
    are the mean speeds where cuDNN multiplied in the same way (Winograd, FFT, sums) and where it did not: the second is an
    algorithm's gain, the first a kernel's. They need the kernels' names."""
    groups = {}
    for speed, row in pairs_of(rows):
        if speed > 0:
            groups.setdefault((row["set"], row["direction"], row["solver"]), []).append((speed, row))
    lines = []
    for (name, direction, solver), pairs in groups.items():
        by_method = {True: [], False: []}
        for speed, row in pairs:
            if peer_method(row):
                by_method[peer_method(row) == method_of(row["algorithm"])].append(speed)
        lines.append({
            "set": name, "direction": direction, "solver": solver, "algorithm": pairs[0][1]["algorithm"],
            "problems": len(pairs), "wins": sum(speed >= 1 for speed, _ in pairs),
            "geometric_mean": geometric_mean([speed for speed, _ in pairs]),
            "worst": min(speed for speed, _ in pairs),
            "same_method": geometric_mean(by_method[True]), "other_method": geometric_mean(by_method[False]),
        })  # fmt: skip
    return lines


def left_out(rows):
    """The problems that the means leave out, with the reason of each."""
    lines = []
    for row in rows:
        why = next((f"{what}: {row[member]}" for what, member in EXCUSES.items() if row.get(member)), None)
        why = why or (is_missing(row) and f"a loss, no result of ours: {row['missing']}")
        why = why or (row.get("right") is False and f"a loss, a wrong result: differs by {row['difference']:.2g}")
        why = why or (not row.get("cudnn_ms") and f"cuDNN has no call for it: {'; '.join(row.get('refused', []))}")
        if why:
            lines.append({"set": row["set"], "key": row["key"], "multiplicity": row["multiplicity"], "why": why})
    return lines


def refusals(rows):
    """The calls that cuDNN refused, by set and call: for how many problems, and the reason of the first one. Fused sets try
    many calls that few layers have; theirs are left to the rows."""
    groups = {}
    for row in rows:
        said = {} if row.get("sequence_ms") else dict(text.partition(": ")[::2] for text in row.get("refused") or ())
        calls = {re.sub(", find [0-9]+$", "", call): why for call, why in said.items()}
        for call, why in calls.items():
            group = {"set": row["set"], "call": call, "problems": 0, "why": why}
            groups.setdefault((row["set"], call), group)["problems"] += 1
    return list(groups.values())


# ---- the tables


def figure(value, width=7):
    return f"{'-' if value is None else format(value, '.3f'):>{width}}"


def part_of(line):
    """How many problems were compared, with the number of the set's where that is larger."""
    return f"{line['problems']}" + (f"/{line['listed']}" if line["listed"] > line["problems"] else "")


def print_table(lines):
    print("A speed is cuDNN's time by ours. The columns TF32 hold cuDNN with TF32 against ours in full FP32; sets of type"
          " tf32 have both in TF32.")  # fmt: skip
    print("  none and wrong: no result or a wrong one of ours, with the speed 0 in p10 and worst and outside the means; "
          "graph: runs in a\n  replayed graph, caches warm, short problems alone.")  # fmt: skip
    print(f"{'set':<36} {'dir':<3} {'problems':>8} {'losses':>6} {'none':>5} {'wrong':>5} {'geomean':>7} {'weighted':>8}"
          f" {'p10':>7} {'worst':>7} | {'TF32 geo.':>9} {'weighted':>8} {'p10':>7} {'worst':>7} |"
          f" {'graph':>5} {'geomean':>7}  worst of all")  # fmt: skip
    for line in lines:
        tf32 = line["tf32"] or {}
        print(
            f"{line['set']:<36} {line['direction']:<3} {part_of(line):>8} {line['losses']:>6} {line['none']:>5}"
            f" {line['wrong']:>5} {figure(line['geometric_mean'])} {figure(line['weighted'], 8)} {figure(line['p10'])}"
            f" {figure(line['worst'])} | {figure(tf32.get('geometric_mean'), 9)} {figure(tf32.get('weighted'), 8)}"
            f" {figure(tf32.get('p10'))} {figure(tf32.get('worst'))} | {line['graph_problems'] or '-':>5}"
            f" {figure(line['graph_geometric_mean'])}  {line['worst_key'] or '-'}"
        )
    for line in lines:
        if "unfused" in line:
            print(f"{line['set']}: {line['unfused']} layers have no fused call of cuDNN's; against PyTorch's kernels in"
                  f" sequence {figure(line['geometric_mean_sequence'], 0)}")  # fmt: skip


def print_winners(lines):
    if not lines:
        return
    print("\nOur solvers beside cuDNN. same: where cuDNN's kernels multiply in the same way (Winograd, FFT, sums), a kernel's"
          " gain;\n  other: where they do not, an algorithm's gain; both need --kernels.")  # fmt: skip
    print(f"{'set':<36} {'dir':<3} {'solver':<28} {'method':<8} {'problems':>8} {'wins':>5} {'geomean':>7} {'worst':>7}"
          f" {'same':>7} {'other':>7}")  # fmt: skip
    for line in lines:
        print(
            f"{line['set']:<36} {line['direction']:<3} {line['solver']:<28} {method_of(line['algorithm']):<8}"
            f" {line['problems']:>8} {line['wins']:>5} {figure(line['geometric_mean'])} {figure(line['worst'])}"
            f" {figure(line['same_method'])} {figure(line['other_method'])}"
        )


def print_left_out(lines):
    for place, line in enumerate(lines):
        if place == 0:
            print()
        print(f"{line['set']}: {line['key']} (x{line['multiplicity']}): {line['why']}")


# ---- the results file


class Results:
    """What was measured, and how. facts: by FACTS; rows: see above; listed: of a set, how many problems it has in each
    direction."""

    def __init__(self, facts, rows=(), listed=()):
        self.facts, self.listed = facts, dict(listed)
        self.rows = {(row["set"], row["key"]): row for row in rows}

    def add(self, row):
        self.rows[row["set"], row["key"]] = row

    def begin(self, name, counts, keys):
        """Notes a set's problems: of each direction asked for, how many there are, and their keys. Rows of other problems
        in these directions are of a list that has changed since, and are dropped."""
        self.listed[name] = {**self.listed.get(name, {}), **counts}
        self.rows = {place: row for place, row in self.rows.items()
                     if place[0] != name or row["direction"] not in counts or place[1] in keys}  # fmt: skip

    def report(self):
        """All that the tables say, as JSON has it."""
        rows = list(self.rows.values())
        return {**self.facts, "summaries": summaries(rows, self.listed), "winners": winners(rows),
                "left_out": left_out(rows), "refusals": refusals(rows), "listed": self.listed, "rows": rows}  # fmt: skip


def read_results(path):
    """The results of a file; Unusable for what is none."""
    try:
        held = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise Unusable(f"{path}: not a results file: {error}") from None
    if not isinstance(held, dict) or held.get("version") != VERSION or not {"rows", "listed"} <= set(held):
        raise Unusable(f"{path}: not a results file of version {VERSION}: measure again into another folder")
    return Results({fact: held.get(fact) for fact in FACTS}, held["rows"], held["listed"])


def write_results(path, results):
    """Replaces the file at once: what reads it sees the old rows or the new ones."""
    held = {"version": VERSION, **results.facts, "listed": results.listed, "rows": list(results.rows.values())}
    new = path.with_suffix(".new")
    new.write_text(json.dumps(held, indent=1) + "\n", encoding="utf-8")
    new.replace(path)


def check_facts(path, facts, others):
    """Unusable where the file's facts differ from others, whose times it is to stand beside."""
    for fact in FACTS:
        if facts[fact] != others[fact]:
            raise Unusable(f"{path}: its {fact} is {facts[fact]!r}, not {others[fact]!r}: such times are not compared in one"
                           " table")  # fmt: skip


def merge(paths):
    """The results of several files; of a problem measured twice the later file's row counts."""
    merged = None
    for path in paths:
        results = read_results(path)
        merged = merged or Results(results.facts)
        check_facts(path, results.facts, merged.facts)
        merged.rows.update(results.rows)
        for name, counts in results.listed.items():
            merged.listed[name] = {**merged.listed.get(name, {}), **counts}
    return merged


def print_report(report):
    print(f"{report['device']}, PyTorch {report['torch']}, cuDNN {report['cudnn']}; {report['way']}")
    print_table(report["summaries"])
    print_winners(report["winners"])
    print_left_out(report["left_out"])
    for line in report["refusals"]:
        print(f"{line['set']}: {line['call']}: refused for {line['problems']} problems: {line['why']}")
