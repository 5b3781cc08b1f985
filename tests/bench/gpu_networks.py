"""Whole networks for bench_gpu.py: ResNet-50 and SqueezeNet as Skipjack's pipeline and as PyTorch runs them.

A set is a network at a batch size, a type and a layout. `skipjack autotune` tunes it, and PyTorch runs the same
architecture in a process of its own: eager, eager recorded as a CUDA graph, and torch.compile with max-autotune, with
CUDA graphs and without. Then `run-network --apply` times our pipeline again. Both sides run one after the other without
overwriting the caches, and both times are by the device's events.

PyTorch's networks are built here, with random weights: only times are compared. Batch normalization is folded into the
convolutions, as our plan does it. TF32 is off.
"""
import contextlib
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time

# The files that hold a network, as the collections of ONNX name them; the first that is there is taken.
MODELS = {
    "resnet50": ("resnet50.onnx", "light_resnet50.onnx"),
    "squeezenet": ("squeezenet.onnx", "light_squeezenet.onnx"),
}
TYPES = {"FP32": "float32", "FP16": "float16"}
SETS = {
    f"{network}-{dtype.lower()}-{layout.lower()}-b{batch}": (network, batch, dtype, layout)
    for batch in (1, 64)
    for dtype in TYPES
    for layout in ("NHWC", "NCHW")
    for network in MODELS
}
WAYS = ("eager", "eager_graph", "compile", "compile_no_graphs")
# A compiled network may differ from the eager one by so much, as a part of the largest output.
TOLERANCES = {"FP32": 1e-3, "FP16": 5e-2}
SAMPLES = 11
SAMPLE_MS = 20  # a sample has as many runs as take so long
STOP_SECONDS = 20  # what a process gets to end by itself


# ---- the networks in PyTorch; called only where it is at hand


def convolution(torch, c, k, size, stride=1, pad=0, relu=True):
    made = torch.nn.Conv2d(c, k, size, stride, pad)
    torch.nn.init.kaiming_normal_(made.weight, nonlinearity="relu" if relu else "linear")
    return torch.nn.Sequential(made, torch.nn.ReLU(inplace=True)) if relu else made


def make_resnet50(torch):
    """He et al., "Deep Residual Learning for Image Recognition", with the stride in the 3x3 convolutions."""

    class Bottleneck(torch.nn.Module):
        def __init__(self, c, width, stride):
            super().__init__()
            k = 4 * width
            self.body = torch.nn.Sequential(
                convolution(torch, c, width, 1),
                convolution(torch, width, width, 3, stride, 1),
                convolution(torch, width, k, 1, relu=False),
            )
            self.shortcut = torch.nn.Identity() if c == k else convolution(torch, c, k, 1, stride, relu=False)
            with torch.no_grad():  # so that values do not grow from block to block
                self.body[2].weight.mul_(0.25)

        def forward(self, x):
            return torch.nn.functional.relu(self.body(x) + self.shortcut(x))

    layers, c = [convolution(torch, 3, 64, 7, 2, 3), torch.nn.MaxPool2d(3, 2, 1)], 64
    for stage, blocks in enumerate((3, 4, 6, 3)):
        for block in range(blocks):
            layers.append(Bottleneck(c, 64 << stage, 2 if stage > 0 and block == 0 else 1))
            c = 256 << stage
    layers += [torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(c, 1000), torch.nn.Softmax(1)]
    return torch.nn.Sequential(*layers)


def make_squeezenet(torch):
    """Iandola et al., "SqueezeNet", version 1.1."""

    class Fire(torch.nn.Module):
        def __init__(self, c, squeezed, expanded):
            super().__init__()
            self.squeeze = convolution(torch, c, squeezed, 1)
            self.narrow = convolution(torch, squeezed, expanded, 1)
            self.wide = convolution(torch, squeezed, expanded, 3, 1, 1)

        def forward(self, x):
            x = self.squeeze(x)
            return torch.cat([self.narrow(x), self.wide(x)], 1)

    layers, c = [convolution(torch, 3, 64, 3, 2), torch.nn.MaxPool2d(3, 2)], 64
    for place, width in enumerate((16, 16, 32, 32, 48, 48, 64, 64)):
        layers.append(Fire(c, width, 4 * width))
        c = 8 * width
        if place in (1, 3):
            layers.append(torch.nn.MaxPool2d(3, 2))
    layers += [convolution(torch, c, 1000, 1), torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Softmax(1)]
    return torch.nn.Sequential(*layers)


MAKERS = {"resnet50": make_resnet50, "squeezenet": make_squeezenet}


def recorded(torch, run):
    """The call as one launch of a CUDA graph."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            run()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        output = run()

    def replay():
        graph.replay()
        return output

    return replay


def timed_ms(torch, run, runs):
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    for _ in range(runs):
        run()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) / runs


def measured(torch, run):
    """Median and shortest time of a run in ms; a sample is many runs, one after the other."""
    for _ in range(5):
        run()
    runs = max(1, round(SAMPLE_MS / timed_ms(torch, run, 3)))
    samples = [timed_ms(torch, run, runs) for _ in range(SAMPLES)]
    return {"ms": statistics.median(samples), "min_ms": min(samples), "runs": runs}


def calls(torch, model, x):
    """Each way to run the network, made when it is asked for: what is made compiles at its first run."""
    yield "eager", lambda: lambda: model(x)
    yield "eager_graph", lambda: recorded(torch, lambda: model(x))
    for way, mode in (("compile", "max-autotune"), ("compile_no_graphs", "max-autotune-no-cudagraphs")):

        def compiled(mode=mode):
            torch.compiler.reset()
            network = torch.compile(model, mode=mode)
            return lambda: network(x)

        yield way, compiled


def run_pytorch(name):
    """Prints a line of JSON for each way; what fails says why, and the others go on."""
    import torch

    if not torch.cuda.is_available():
        sys.exit("PyTorch finds no GPU here")
    network, batch, dtype, layout = SETS[name]
    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False
    torch.manual_seed(0)
    where = {"device": "cuda", "dtype": getattr(torch, TYPES[dtype])}
    order = torch.channels_last if layout == "NHWC" else torch.contiguous_format
    model = MAKERS[network](torch).eval().to(**where).to(memory_format=order)
    x = (torch.rand(batch, 3, 224, 224, **where) - 0.5).to(memory_format=order)
    print(json.dumps({"device": torch.cuda.get_device_name(), "torch": torch.__version__,
                      "cudnn": torch.backends.cudnn.version()}), flush=True)  # fmt: skip
    with torch.no_grad():
        expected = model(x).float()
        for way, make in calls(torch, model, x):
            begun = time.monotonic()
            try:
                run = make()
                difference = ((run().float() - expected).abs().max() / expected.abs().max()).item()
                seconds = time.monotonic() - begun
                row = {**measured(torch, run), "difference": difference, "first_run_seconds": seconds}
                if not difference <= TOLERANCES[dtype]:
                    row["refused"] = f"its outputs differ from the eager ones by {difference:.2g}"
            except Exception as error:  # of PyTorch's compilers, which have many
                row = {"refused": f"{type(error).__name__}: {str(error).strip().splitlines()[:1]}"}
            print(json.dumps({"way": way, **row}), flush=True)


# ---- processes that end in time


def output_of(command, seconds):
    """What a command wrote to stdout, and whether it ended by itself within the seconds; else it is ended, with its
    children. A file takes the output: children that outlive their parent would hold a pipe open."""
    with tempfile.TemporaryFile("w+", encoding="utf-8") as written:
        process = subprocess.Popen(command, stdout=written, start_new_session=True)
        ended = wait(process, seconds)
        if not ended:
            process.send_signal(signal.SIGTERM)
            wait(process, STOP_SECONDS)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        written.seek(0)
        return written.read(), ended


def wait(process, seconds):
    try:
        process.wait(max(1, seconds))
    except subprocess.TimeoutExpired:
        return False
    return True


# ---- our side


def tune(options, name, model, seconds):
    """Tunes the set and returns the file; None where the time was too short."""
    _, batch, dtype, layout = SETS[name]
    file = options.out / f"{name}.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    if options.measure_only:
        return file if file.exists() else None
    command = [options.skipjack, "autotune", str(model), "--dtype", dtype, "--layout", layout, "--fusion", "all"]
    command += ["--batch", str(batch), "--budget", str(options.budget), "-o", str(file), "--name", name, "--json"]
    command += options.autotune.split()
    _, ended = output_of(command, seconds)
    if not ended:
        print(f"bench_gpu: {name}: autotune took more than {seconds:.0f} s", file=sys.stderr)
    return file if file.exists() else None


def winner_of(text):
    """The combination that won, of a file or of what run-network prints; None for none."""
    tuned = json.loads(text)
    return tuned["combinations"][tuned["winner"]] if tuned["winner"] >= 0 else None


def reason_of(text):
    reasons = [row.get("reason", row["state"]) for row in json.loads(text)["combinations"]]
    return "; ".join(reasons) or "no combination is done; the same command with more time goes on"


def apply(options, model, file, seconds):
    """Our pipeline with what was tuned, without tuning; None where it was refused, which stderr then says."""
    command = [options.skipjack, "run-network", str(model), "--apply", str(file), "--json"]
    output, ended = output_of(command, seconds)
    return winner_of(output) if ended and output.strip() else None


def our_times(combination):
    kept = ("pipeline_ms", "pipeline_min_ms", "pipeline_spread", "launches_ms", "host_ms", "sum_ms", "graph",
            "max_error", "cosine", "top1", "state", "reason")  # fmt: skip
    return {member: combination[member] for member in kept if member in combination}


# ---- a set, and the table


def pytorch_rows(name, seconds):
    """By way; what the process did not reach is left out and said so. Also what PyTorch and the device are."""
    output, ended = output_of([sys.executable, __file__, name], seconds)
    facts, rows = {}, {way: {"refused": "no time was left"} for way in WAYS}
    if ended:
        rows = {way: {"refused": "PyTorch's process ended before it"} for way in WAYS}
    for line in output.splitlines():
        if re.match(r"\{.*\}$", line):
            row = json.loads(line)
            if "way" in row:
                rows[row.pop("way")] = row
            else:
                facts = row
    return rows, facts


def model_of(options, network):
    found = [options.models / file for file in MODELS[network] if (options.models / file).exists()]
    return found[0] if found else None


def measure_set(options, name, seconds, with_pytorch):
    network, batch, dtype, layout = SETS[name]
    row = {"set": name, "network": network, "batch": batch, "dtype": dtype, "layout": layout, "pytorch": {}}
    model = model_of(options, network)
    if not model:
        row["left_out"] = f"no {' or '.join(MODELS[network])} in {options.models}"
        return row
    end = time.monotonic() + seconds
    file = tune(options, name, model, seconds / 2 if with_pytorch else seconds)
    text = file.read_text(encoding="utf-8") if file else None
    before = winner_of(text) if text else None
    if before:
        row["tuned"] = our_times(before)
    else:
        row["left_out"] = f"not tuned: {reason_of(text) if text else 'no file of autotune, see above'}"
    if with_pytorch:
        row["pytorch"], row["facts"] = pytorch_rows(name, end - time.monotonic())
    applied = apply(options, model, file, max(STOP_SECONDS, end - time.monotonic())) if before else None
    if applied:
        row["applied"] = our_times(applied)
    return row


def ours_ms(row):
    """The median of our pipeline's times, before and after PyTorch's turn."""
    times = [row[turn]["pipeline_ms"] for turn in ("tuned", "applied") if "pipeline_ms" in row.get(turn, {})]
    return statistics.median(times) if times else None


def is_wrong(row):
    return any(row.get(turn, {}).get("state") == "wrong" for turn in ("tuned", "applied"))


def print_table(rows):
    heads = [f"{way:>18}" for way in WAYS]
    print(f"{'set (ms; PyTorch / ours)':<28} {'ours':>9} {'launches':>9} {' '.join(heads)}")
    for row in rows:
        ours = ours_ms(row)
        words = [f"{row['set']:<28}", f"{ours:9.4f}" if ours else f"{'-':>9}"]
        launches = row.get("applied", row.get("tuned", {})).get("launches_ms")
        words.append(f"{launches:9.4f}" if launches else f"{'-':>9}")
        for way in WAYS:
            ms = row["pytorch"].get(way, {}).get("ms")
            ratio = f" {ms / ours:7.2f}x" if ms and ours else " " * 9
            words.append(f"{ms:9.4f}{ratio}" if ms else f"{'-':>9}" + " " * 9)
        print(" ".join(words).rstrip() + ("  WRONG" if is_wrong(row) else ""))
    for row in rows:
        for what, why in [("ours", row.get("left_out"))] + [(w, row["pytorch"].get(w, {}).get("refused")) for w in WAYS]:
            if why:
                print(f"{row['set']}: {what}: {why}")


def has_pytorch():
    """Whether this Python has it; it is not loaded here, for the device belongs to the side whose turn it is."""
    found = subprocess.run([sys.executable, "-c", "import torch; print(torch.cuda.is_available())"],
                           capture_output=True, text=True, check=False)  # fmt: skip
    if found.returncode != 0:
        print("bench_gpu: ours alone is measured; to compare: python3 -m pip install torch", file=sys.stderr)
    elif "True" not in found.stdout:
        print("bench_gpu: ours alone is measured: PyTorch finds no GPU here", file=sys.stderr)
    return found.returncode == 0 and "True" in found.stdout


def measure(options):
    """Measures the sets of options.sets within options.time_limit seconds and returns the rows; the file
    networks.json in options.out has them after each set."""
    begun, with_pytorch, rows = time.monotonic(), has_pytorch(), []
    options.out.mkdir(parents=True, exist_ok=True)
    for place, name in enumerate(options.sets):
        left = options.time_limit - (time.monotonic() - begun)
        share = left / (len(options.sets) - place)
        if share < 5:
            network, batch, dtype, layout = SETS[name]
            rows.append({"set": name, "network": network, "batch": batch, "dtype": dtype, "layout": layout,
                         "pytorch": {}, "left_out": "no time was left"})  # fmt: skip
        else:
            rows.append(measure_set(options, name, share, with_pytorch))
        print(f"bench_gpu: {name}: {time.monotonic() - begun:.0f} s of {options.time_limit} s", file=sys.stderr)
        (options.out / "networks.json").write_text(json.dumps({"networks": rows}, indent=1) + "\n", encoding="utf-8")
    return rows


if __name__ == "__main__":
    run_pytorch(sys.argv[1])
