"""Two campaigns of the same problems for bench_gpu.py (--twice), each from nothing: do they ship the same solutions?

Each campaign has words of its own for `skipjack tune`: other seeds, to see whether winners repeat, or another strategy, to
see what it finds and what that costs. Then both campaigns' solutions of a problem are run from their .sjdb files, taking
turns, with the caches overwritten before each run. Counted are

  same      problems whose winners are the same config of the same solver;
  close     problems whose winners are the same or take times that differ by at most 2 %;
  recorded  solutions whose time in the .sjdb lies within 3 % of the one that --runner measures, a program for users of the
            file (export/sjdb/reader/examples/run_convolution.c): runs in a row, each with another copy of the tensors,
            which is what a recorded time is. And those of more than 100 us whose time lies within 1 %;
  alone     the same, of one run by itself, the caches overwritten before: it holds the launch, too, some 3 us on an H100;
  cost      a campaign's tries, compiled kernels and the seconds that its jobs took, as its report says.
"""
import json
import os
import statistics
import subprocess
import sys
import time

import gpu_database
import gpu_problem
import gpu_timing

CLOSE = 0.02
RECORDED_CLOSE, LONG_CLOSE, LONG_MS = 0.03, 0.01, 0.1
SIDES = ("first", "second")
# Members of the report's "work" that say what a campaign cost.
COSTS = ("jobs", "configs_done", "kernels_built", "spent_seconds", "compile_seconds", "eval_seconds")


def tune(options, name, side, words, lines):
    """Tunes the problems in a new home and returns the .sjdb file and what the campaign cost."""
    folder = options.out / "twice" / name / side
    home = folder / "home"
    result = folder / "result"
    folder.mkdir(parents=True, exist_ok=True)
    environment = {**os.environ, "SKIPJACK_HOME": str(home.resolve())}
    cost_file = folder / "cost.json"
    if not options.measure_only:
        begun = time.monotonic()
        command = [options.skipjack, "tune", str(lines), "-o", str(result), "--budget", str(options.budget), *words]
        tuned = subprocess.run(command, check=False, stdout=sys.stderr, env=environment)
        seconds = time.monotonic() - begun
        report = subprocess.run([options.skipjack, "report", "--json"], check=False, stdout=subprocess.PIPE,
                                env=environment, text=True)  # fmt: skip
        subprocess.run([options.skipjack, "db", "stop"], check=False, stdout=sys.stderr, env=environment)
        if tuned.returncode != 0:
            sys.exit(f"bench_gpu: {name}, {side} campaign: {' '.join(command)} ended with status {tuned.returncode}")
        work = json.loads(report.stdout)["work"] if report.returncode == 0 else {}
        cost = {"words": words, "wall_seconds": seconds, **{key: work[key] for key in COSTS if key in work}}
        cost_file.write_text(json.dumps(cost), encoding="utf-8")
    found = sorted(result.glob("*.sjdb"))
    if not found:
        sys.exit(f"bench_gpu: {result}: no .sjdb: tune it first, without --measure-only")
    return found[0], json.loads(cost_file.read_text(encoding="utf-8"))


def words_of(options):
    return [("first", options.first.split()), ("second", options.second.split())]


def winner_of(entry, solution):
    return f"{entry.solver.decode()} [{solution.params.decode()}]"


def in_a_row_ms(options, path, key):
    """What --runner measures of the file's best solution; None without it, or where it cannot run the problem."""
    if not options.runner:
        return None
    command = [options.runner, str(path), key, "--json", "--unchecked"]
    ran = subprocess.run(command, check=False, stdout=subprocess.PIPE, text=True)
    if ran.returncode != 0:
        print(f"bench_gpu: {' '.join(command)} ended with status {ran.returncode}", file=sys.stderr)
        return None
    return json.loads(ran.stdout)["measured_ms"]


def compare(bench, databases, problem, key):
    """Both sides' solutions of a problem, which take turns: a row of times in ms."""
    tensors = gpu_problem.tensors_of(bench.torch, problem)
    row, ways, made = {"key": key}, [], []
    for side, db in zip(SIDES, databases):
        entry, solution = db.best(problem)
        ours = gpu_database.Ours(bench.torch, bench.driver, db, problem, solution)
        bound = ours.bind(tensors)
        made.append(ours)
        ways.append(gpu_timing.Way(side, lambda ours=ours, bound=bound: ours.run(bound)))
        row[side] = {"winner": winner_of(entry, solution), "recorded_ms": entry.time_ms}
    for side, ms in zip(SIDES, gpu_timing.times_of(bench.torch, ways, bench.flush)):
        row[side]["ms"] = ms
    for ours in made:
        ours.close()
    row["same"] = row["first"]["winner"] == row["second"]["winner"]
    row["ratio"] = row["second"]["ms"] / row["first"]["ms"]
    row["close"] = row["same"] or abs(row["ratio"] - 1) <= CLOSE
    return row


def share(rows):
    return sum(rows) / len(rows) if rows else None


def recorded_shares(rows, measured):
    """How far recorded times lie from those that the rows have under the name `measured`; None for rows without it."""
    solutions = [row[side] for row in rows for side in SIDES if row[side].get(measured) and row[side]["recorded_ms"] > 0]
    errors = [(one[measured], one["recorded_ms"] / one[measured] - 1) for one in solutions]
    return {
        "solutions": len(errors),
        "within_3_percent": share([abs(error) <= RECORDED_CLOSE for _, error in errors]),
        "long": sum(ms > LONG_MS for ms, _ in errors),
        "long_within_1_percent": share([abs(error) <= LONG_CLOSE for ms, error in errors if ms > LONG_MS]),
        "median_error": statistics.median(error for _, error in errors) if errors else None,
    }


def summary(name, costs, rows, lone):
    """lone: problems that only one campaign has a result of; they count as neither same nor close."""
    missing = [False] * lone
    return {
        "set": name,
        "problems": len(rows) + lone,
        "in_one_only": lone,
        "same": share([row["same"] for row in rows] + missing),
        "close": share([row["close"] for row in rows] + missing),
        "second_over_first": statistics.geometric_mean([row["ratio"] for row in rows]) if rows else None,
        "recorded": recorded_shares(rows, "row_ms"),
        "alone": recorded_shares(rows, "ms"),
        "costs": dict(zip(SIDES, costs)),
    }


def measure_set(bench, name, lines):
    """A summary and the rows of a set. bench: bench_gpu.Bench."""
    options = bench.options
    tuned = [tune(options, name, side, words, lines) for side, words in words_of(options)]
    databases = [gpu_database.Database(bench.reader, path) for path, _ in tuned]
    problems = [{db.key(problem): problem for problem in db.problems()} for db in databases]
    both = [key for key in problems[0] if key in problems[1]]
    measurable = [key for key in both if gpu_problem.why_not(problems[0][key]) is None]
    for key in both:
        if key not in measurable:
            print(f"{key}: PyTorch has no tensors for it: left out", file=sys.stderr)
    rows = [compare(bench, databases, problems[0][key], key) for key in measurable]
    for row in rows:
        for side, (path, _) in zip(SIDES, tuned):
            row[side]["row_ms"] = in_a_row_ms(options, path, row["key"])
    for db in databases:
        db.close()
    if options.all:
        for row in rows:
            print_row(row)
    return summary(name, [cost for _, cost in tuned], rows, len(set(problems[0]) ^ set(problems[1]))), rows


def print_row(row):
    sides = ", ".join(f"{row[side]['ms']:.4f} ms (recorded {row[side]['recorded_ms']:.4f}) {row[side]['winner']}"
                      for side in SIDES)  # fmt: skip
    print(f"{row['key']:<70} {row['ratio']:6.3f} {'same' if row['same'] else 'other'}: {sides}", file=sys.stderr)


def percent(value):
    return "-" if value is None else f"{100 * value:.1f} %"


def print_table(summaries):
    for line in summaries:
        print(f"{line['set']}: {line['problems']} problems, {line['in_one_only']} of them tuned by one campaign only")
        print(f"  same winner {percent(line['same'])}, same or within 2 % {percent(line['close'])}")
        if line["second_over_first"]:
            print(f"  the second campaign's solutions take {line['second_over_first']:.4f} of the first one's time")
        for name, what in (("recorded", "runs in a row"), ("alone", "single runs")):
            shares = line[name]
            if shares["solutions"]:
                print(f"  recorded times against {what}: within 3 % {percent(shares['within_3_percent'])} of"
                      f" {shares['solutions']}; over 100 us within 1 % {percent(shares['long_within_1_percent'])} of"
                      f" {shares['long']}; median error {percent(shares['median_error'])}")  # fmt: skip
        for side in SIDES:
            cost = line["costs"][side]
            figures = ", ".join(f"{key} {cost[key]:.0f}" for key in (*COSTS, "wall_seconds") if key in cost)
            print(f"  {side} campaign ({' '.join(cost['words']) or 'as shipped'}): {figures}")
