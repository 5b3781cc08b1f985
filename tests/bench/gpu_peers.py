"""What a solution of ours is held against: the fastest call that cuDNN has for the problem, and which kernels that runs.

cuDNN gets every chance: all its plans are timed (benchmark_limit 0; PyTorch alone would stop at 10), by several
searches of their own, since a search runs each plan once; a problem that PyTorch has kernels of its own for, such as a
depthwise one, runs as PyTorch chooses and through cuDNN. The peer is the fastest of all these calls, by the median of
three runs with cold caches.
"""
import statistics

import cudnn_fused
import gpu_problem
import gpu_timing

CHOICE_RUNS = 3


def prepare(torch):
    """Sets PyTorch up: cuDNN tries all plans that it has; TF32 is off unless a way allows it."""
    cudnn = torch.backends.cudnn
    cudnn.benchmark, cudnn.benchmark_limit = True, 0
    cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False


def way_text(finds):
    """How the times of one call are taken, for the results file: rows of one table have the same."""
    return f"cuDNN: all plans, the fastest of {finds} finds"


class Peers:
    """cudnn: cudnn_fused.Library for fused calls beside PyTorch's, or None."""

    def __init__(self, torch, cudnn, finds, deadline):
        self.torch, self.cudnn = torch, cudnn
        self.lanes = [gpu_timing.Lane(deadline) for _ in range(finds)]

    def candidates(self, problem, tensors, tf32):
        """All calls of a problem without steps, not yet run."""
        calls = [("PyTorch", gpu_problem.plain_call(self.torch, problem, tensors))]
        if gpu_problem.has_own_kernels(problem):
            calls.append(("cuDNN asked directly", gpu_problem.forced_call(self.torch, problem, tensors)))
        return [
            gpu_timing.Way(f"{name}, find {number}", call, lane, tf32)
            for name, call in calls
            for number, lane in enumerate(self.lanes, 1)
        ]

    def working(self, ways):
        """The ways that run, and why the others do not. The first run of a way finds its plan."""
        found, refusals = [], []
        for way in ways:
            try:
                way.do(self.torch, self.run_once, way.run)
                found.append(way)
            except (RuntimeError, TypeError, AttributeError) as refusal:  # the latter where a PyTorch has no such call
                refusals.append(f"{way.name}: {first_line(refusal)}")
        return found, refusals

    def run_once(self, run):
        run()
        self.torch.cuda.synchronize()

    def fused(self, problem, tensors, tf32):
        """The fused calls that run, and why the others do not. PyTorch's plans are found in each lane, and the legacy
        calls, which do not search, are the first lane's."""
        bias = tensors["bias"] if "bias" in tensors else self.torch.zeros(problem.k, device="cuda")
        stride, pad, dilation = gpu_problem.places_of(problem)
        axes = {"stride": stride, "pad": pad, "dilation": dilation}
        found, refusals = [], []
        for number, lane in enumerate(self.lanes, 1):
            asked = gpu_timing.Way("", None, lane, tf32)
            ways, refused = asked.do(
                self.torch, cudnn_fused.ways, self.torch, self.cudnn if number == 1 else None, tensors["x"], tensors["w"],
                bias.to(tensors["y"].dtype), tensors.get("residual"), self.torch.empty_like(tensors["y"]), axes,
                problem.groups, gpu_problem.has_step(problem, "relu"),
                problem.layout[0] in gpu_problem.CHANNELS_LAST, tf32,
            )  # fmt: skip
            found += [gpu_timing.Way(f"{name}, find {number}", run, lane, tf32) for name, run in ways]
            refusals += refused if number == 1 else []
        return found, refusals

    def fastest(self, ways, flush):
        """None where there are none."""
        times = [statistics.median(way.time(self.torch, flush) for _ in range(CHOICE_RUNS)) for way in ways]
        return min(zip(times, range(len(ways))))[1] if ways else None

    def choose(self, problem, tensors, flush, tf32=False):
        """The fastest way that works, or None, and why others do not."""
        if problem.epilogue:
            ways, refusals = self.fused(problem, tensors, tf32)
        else:
            ways, refusals = self.working(self.candidates(problem, tensors, tf32))
        best = self.fastest(ways, flush)
        return None if best is None else ways[best], refusals

    def sequence(self, problem, tensors, flush, tf32=False):
        """PyTorch's kernels for convolution and steps, one after the other, with the fastest convolution; or None."""
        ways, _ = self.working(self.candidates(problem, tensors, tf32))
        best = self.fastest(ways, flush)
        if best is None:
            return None
        call = gpu_problem.sequence_call(problem, ways[best].run, tensors)
        return gpu_timing.Way("sequence", call, ways[best].lane, tf32)

    def kernels(self, problem, tensors, name):
        """The names of the kernels that the way of that name runs, which was chosen before; None where it cannot be named:
        a sequence is no call of cuDNN's alone. The way's plan is found already."""
        tf32 = gpu_problem.is_tf32(problem)
        ways = self.fused(problem, tensors, tf32)[0] if problem.epilogue else self.candidates(problem, tensors, tf32)
        way = next((way for way in ways if way.name == name), None)
        return way and way.do(self.torch, kernel_names, self.torch, way.run)


def kernel_names(torch, run):
    torch.cuda.synchronize()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        run()
        torch.cuda.synchronize()
    names = [event.name for event in profile.events() if event.device_type == torch.autograd.DeviceType.CUDA]
    return [name for name in names if not name.startswith(("Memset", "Memcpy"))]


def first_line(error):
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
