"""gpu_peers.py, gpu_problem.py and gpu_timing.py with a double of PyTorch: which calls are made, and how their times are
taken. Prints TAP."""
import threading
import time
import types

import gpu_database
import gpu_peers
import gpu_problem
import gpu_timing
import tap
import torch_double


def problem(direction=0, c=32, k=64, groups=1, size=(9, 8), fil=(3, 3), stride=2, pad=1, kind=1, epilogue=b""):
    """Depth, height and width as the library has them; in 2D the depth is 1."""
    dims = len(size)
    made = gpu_database.Problem(n=2, c=c, k=k, groups=groups, spatial_dim=dims, direction=direction, epilogue=epilogue)
    before = 3 - dims
    for axis in range(3):
        real = axis >= before
        made.inp[axis] = size[axis - before] if real else 1
        made.fil[axis] = fil[axis - before] if real else 1
        made.pad[axis], made.stride[axis], made.dilation[axis] = (pad, stride, 1) if real else (0, 1, 1)
        made.out[axis] = (made.inp[axis] + 2 * made.pad[axis] - made.fil[axis]) // made.stride[axis] + 1
    for tensor in range(3):
        made.type[tensor], made.layout[tensor] = kind, 0 if dims == 2 else 7
    return made


def peers(torch, finds=3, seconds=0):
    gpu_peers.prepare(torch)
    return gpu_peers.Peers(torch, None, finds, gpu_timing.Deadline(seconds))


FLUSH = torch_double.Tensor((1,))


def choose(torch, asked, tf32=False, finds=3):
    tensors = gpu_problem.tensors_of(torch, asked)
    return peers(torch, finds).choose(asked, tensors, FLUSH, tf32)


def test_cudnn_tries_all_its_plans():
    torch = torch_double.Torch(plans=[[9.0] * 10 + [1.0]])
    way, refusals = choose(torch, problem(), finds=1)
    assert way.time(torch, FLUSH) == 1.0 and not refusals
    assert torch.backends.cudnn.benchmark and torch.backends.cudnn.benchmark_limit == 0


def test_the_fastest_of_several_searches_is_taken():
    torch = torch_double.Torch(plans=[[3.0], [1.0], [2.0]])
    way, _ = choose(torch, problem())
    assert way.name == "PyTorch, find 2" and way.time(torch, FLUSH) == 1.0, way.name
    assert len(torch.searches) == 3 and len({thread for _, thread in torch.searches}) == 3


def test_tf32_is_on_in_its_ways_alone():
    torch = torch_double.Torch(plans=[[2.0]], tf32_plans=[[0.5]])
    asked = problem()
    made, tensors = peers(torch), gpu_problem.tensors_of(torch, asked)
    plain, _ = made.choose(asked, tensors, FLUSH)
    wide, _ = made.choose(asked, tensors, FLUSH, tf32=True)
    assert not torch.backends.cudnn.allow_tf32
    assert (plain.time(torch, FLUSH), wide.time(torch, FLUSH)) == (2.0, 0.5)
    assert not torch.backends.cudnn.allow_tf32 and not torch.backends.cuda.matmul.allow_tf32


def test_depthwise_problems_are_asked_of_cudnn_too():
    for direction in range(3):
        for size in ((9, 8), (5, 9, 8)):
            fil = (3,) * len(size)
            asked = problem(direction, c=32, k=64, groups=32, size=size, fil=fil)
            way, refusals = choose(torch_double.Torch(plans=[[1.0]], native_ms=4.0), asked)
            assert way.name == "cuDNN asked directly, find 1" and not refusals, (direction, way.name, refusals)
            way, _ = choose(torch_double.Torch(plans=[[5.0]], native_ms=4.0), asked)
            assert way.name == "PyTorch, find 1", (direction, way.name)


def test_grouped_problems_are_no_depthwise_ones():
    own = gpu_problem.has_own_kernels
    assert not own(problem(groups=1)) and not own(problem(groups=16)) and not own(problem(c=32, k=48, groups=32))
    assert own(problem(groups=32)) and own(problem(size=(5, 9, 8), fil=(1, 1, 1)))


def test_a_plan_that_was_found_serves_both_calls():
    """PyTorch keeps a plan by what is computed, whoever asks."""
    torch = torch_double.Torch()
    choose(torch, problem(size=(5, 9, 8), fil=(3, 3, 3)))
    assert len(torch.searches) == 3


def test_the_forced_calls_compute_what_pytorchs_do():
    """The double checks channels, groups and that the transposed convolution's sizes are x's; strides and odd sizes need an
    output padding."""
    for direction in range(3):
        for size, stride in (((9, 8), 2), ((8, 9), 1), ((10, 11), 3), ((5, 9, 8), 2)):
            torch = torch_double.Torch()
            gpu_peers.prepare(torch)
            asked = problem(direction, groups=32, size=size, fil=(3,) * len(size), stride=stride)
            gpu_problem.forced_call(torch, asked, gpu_problem.tensors_of(torch, asked))()
            assert len(torch.searches) == 1 and "depthwise" not in torch.ran[0][0]


def test_3d_problems_have_three_sizes():
    asked = problem(size=(5, 9, 8), fil=(3, 1, 1))
    torch = torch_double.Torch()
    shapes = {role: tensor.shape for role, tensor in gpu_problem.tensors_of(torch, asked).items()}
    assert shapes == {"x": (2, 32, 5, 9, 8), "w": (64, 32, 3, 1, 1), "y": (2, 64, 3, 6, 5)}, shapes
    assert gpu_problem.places_of(asked) == [[2, 2, 2], [1, 1, 1], [1, 1, 1]]
    assert [gpu_problem.places_of(problem())[0], shapes["y"][1]] == [[2, 2], 64]


def test_refusals_are_said_and_the_others_stay():
    torch = torch_double.Torch(refuses=("conv",))
    way, refusals = choose(torch, problem())
    assert way is None and refusals[0] == "PyTorch, find 1: conv: no engine" and len(refusals) == 3, refusals
    way, refusals = choose(torch, problem(direction=1))
    assert way and not refusals
    torch = torch_double.Torch()
    torch.cudnn_convolution = None  # an attribute that is no call raises TypeError, as a changed call would
    way, refusals = choose(torch, problem(groups=32))
    assert way.name == "PyTorch, find 1" and len(refusals) == 3 and "asked directly" in refusals[0], refusals


def test_what_pytorch_cannot_compute_is_said():
    assert gpu_problem.why_not(problem()) is None
    assert "types" in gpu_problem.why_not(problem(kind=4))
    mixed = problem()
    mixed.layout[2] = 1
    assert "layout" in gpu_problem.why_not(mixed)
    assert "steps" in gpu_problem.why_not(problem(epilogue=b"+relu+bias"))
    assert gpu_problem.why_not(problem(epilogue=b"+bias+relu")) is None
    cast = problem()
    cast.cast[0] = 7
    assert "types" in gpu_problem.why_not(cast)


def test_the_right_result_is_computed_in_fp32_without_a_search():
    torch = torch_double.Torch(plans=[[7.0, 1.0]])
    gpu_peers.prepare(torch)
    asked = problem(kind=2, epilogue=b"+bias+add(FP16,NCHW)+relu")
    tensors = gpu_problem.tensors_of(torch, asked)
    assert tensors["x"].dtype == "float16" and tensors["bias"].dtype == "float32"
    expected = gpu_problem.expected_of(torch, asked, tensors)
    assert expected.dtype == "float32" and not torch.searches and torch.ran[-1][1] == 7.0
    assert expected.value == 1.0 + tensors["bias"].value + tensors["residual"].value
    assert torch.backends.cudnn.benchmark


def test_ways_take_turns_in_their_own_threads():
    torch, order = torch_double.Torch(), []
    lane = gpu_timing.Lane(gpu_timing.Deadline(0))

    def run(ms):
        order.append((ms, threading.get_ident()))
        torch.now += ms

    ways = [gpu_timing.Way("a", lambda: run(1.0)), gpu_timing.Way("b", lambda: run(3.0), lane)]
    assert gpu_timing.times_of(torch, ways, FLUSH) == [1.0, 3.0]
    assert [ms for ms, _ in order] == [1.0, 3.0] * (gpu_timing.TURNS + gpu_timing.WARM_TURNS)
    assert order[0][1] == threading.get_ident() != order[1][1] and len({thread for _, thread in order}) == 2


def test_a_graphs_time_is_that_of_a_run():
    torch = torch_double.Torch(plans=[[0.02], [0.01]])
    way, _ = choose(torch, problem(), finds=2)
    times = gpu_timing.graph_times(torch, [gpu_timing.Way("ours", lambda: torch.launch("ours", 0.004)), way], 0.004)
    assert [round(ms, 9) for ms in times] == [0.004, 0.01], times


def test_short_runs_fill_a_graph_within_limits():
    for ms, wanted in ((0.5, 10), (0.02, 50), (1e-6, 200)):
        torch, ran = torch_double.Torch(), []
        gpu_timing.graph_times(torch, [gpu_timing.Way("", lambda ran=ran: ran.append(1))], ms)
        assert len(ran) == 1 + wanted, (ms, len(ran))


def test_the_kernels_are_named_without_copies():
    torch = torch_double.Torch()
    made, asked = peers(torch), problem()
    tensors = gpu_problem.tensors_of(torch, asked)
    way, _ = made.choose(asked, tensors, FLUSH)
    searches = len(torch.searches)
    assert made.kernels(asked, tensors, way.name) == ["winograd_fprop"] and len(torch.searches) == searches
    assert made.kernels(asked, tensors, "sequence") is None


def test_a_search_that_outlasts_the_limit_is_left_alone():
    release = threading.Event()
    lane = gpu_timing.Lane(gpu_timing.Deadline(0.05))
    begun = time.monotonic()
    try:
        lane.do(release.wait, 60)
    except gpu_timing.OutOfTime:
        assert time.monotonic() - begun < 50
    else:
        raise AssertionError("it was waited for")
    finally:
        release.set()
    try:
        lane.do(lambda: None)
    except gpu_timing.OutOfTime:
        return
    raise AssertionError("it began after the limit")


def test_a_deadline_counts_what_is_still_needed():
    now = types.SimpleNamespace(seconds=100.0)
    deadline = gpu_timing.Deadline(30, clock=lambda: now.seconds)
    deadline.check(20)
    now.seconds = 115.0
    assert deadline.left() == 15
    try:
        deadline.check(20)
    except gpu_timing.OutOfTime:
        pass
    else:
        raise AssertionError("too little time was enough")
    gpu_timing.Deadline(0).check(1e9)
    assert gpu_timing.Deadline(0).left() is None


tap.run(globals(), "gpu_peers")
