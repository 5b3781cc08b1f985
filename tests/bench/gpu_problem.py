"""A problem in PyTorch: its tensors, its convolution as PyTorch calls it and through cuDNN alone, and the right result.

A problem is gpu_database.Problem. Tensors are held by role: x, w, y, and those of the steps behind the convolution. The
functions that make or use tensors take the module torch first.
"""
import re

# By the library's number of the type: PyTorch's, and how far a result may lie from the right one, as a part of the
# largest value.
TYPES = {1: ("float32", 1e-4), 2: ("float16", 2e-2), 3: ("bfloat16", 5e-2)}
TF32_TOLERANCE = 5e-3  # operands of 10 fraction bits, which matrix units take by cutting off the others
FP32 = 1
CHANNELS_LAST = (1, 8)  # the library's numbers of NHWC and NDHWC
PLAIN = (0, 7)  # of NCHW and NCDHW
OUTPUTS = {0: "y", 1: "x", 2: "w"}  # the operand that a direction computes
DIRECTIONS = "FBW"


def axes_of(problem):
    """The spatial axes among the library's three: depth, height, width."""
    return range(3 - problem.spatial_dim, 3)


def is_tf32(problem):
    """Whether it may be computed in TF32."""
    return problem.mode == b"TF32"


def tolerance_of(problem):
    return TF32_TOLERANCE if is_tf32(problem) else TYPES[problem.type[0]][1]


def steps_of(problem):
    """The epilogue's steps: name and what is in parentheses."""
    return re.findall(r"\+([a-z]+)(?:\(([^)]*)\))?", problem.epilogue.decode())


def has_step(problem, wanted):
    return any(name == wanted for name, _ in steps_of(problem))


def is_comparable(problem):
    """Whether cuDNN has a call for the steps: bias, then a residual of the output's type, then ReLU, or some of
    these."""
    names = [name for name, _ in steps_of(problem)]
    order = ("bias", "add", "relu")
    return names == [name for name in order if name in names]


def why_not(problem):
    """Why PyTorch cannot compute it; None where it can."""
    if problem.kind != 0:
        return "it is no convolution"
    if problem.type[0] not in TYPES or len(set(problem.type)) > 1 or any(problem.cast):
        return "PyTorch has no convolution of its types"
    if len(set(problem.layout)) > 1 or problem.layout[0] not in CHANNELS_LAST + PLAIN:
        return "PyTorch has no tensors of its layout"
    return None if is_comparable(problem) else "cuDNN has no call for its steps"


def has_own_kernels(problem):
    """Whether PyTorch may choose kernels of its own before cuDNN's: for depthwise problems, and, with some versions of
    cuDNN, for 3D ones."""
    depthwise = problem.groups > 1 and problem.groups == problem.c and problem.k % problem.c == 0
    return depthwise or problem.spatial_dim == 3


def places_of(problem):
    """stride, pad, dilation: a list of two or three sizes each."""
    return [[getattr(problem, name)[axis] for axis in axes_of(problem)] for name in ("stride", "pad", "dilation")]


def output_pad_of(problem):
    """What the transposed convolution of y must add behind an axis to be as large as x."""
    stride, pad, dilation = places_of(problem)
    return [
        problem.inp[axis] - ((problem.out[axis] - 1) * stride[i] - 2 * pad[i] + dilation[i] * (problem.fil[axis] - 1) + 1)
        for i, axis in enumerate(axes_of(problem))
    ]


def tensors_of(torch, problem):
    """x, w and y with random values, and the operands of the steps. A bias has values of the tensors' type, in which cuDNN
    takes it."""
    kind = {"device": "cuda", "dtype": torch.float32}
    dtype = getattr(torch, TYPES[problem.type[0]][0])
    last = torch.channels_last if problem.spatial_dim == 2 else torch.channels_last_3d
    where = last if problem.layout[0] in CHANNELS_LAST else torch.contiguous_format
    sizes = {name: [getattr(problem, name)[axis] for axis in axes_of(problem)] for name in ("inp", "fil", "out")}
    shapes = {
        "x": (problem.n, problem.c, *sizes["inp"]),
        "w": (problem.k, problem.c // problem.groups, *sizes["fil"]),
        "y": (problem.n, problem.k, *sizes["out"]),
    }
    made = {
        role: (torch.rand(shape, **kind) - 0.5).to(dtype).to(memory_format=where) for role, shape in shapes.items()
    }
    if has_step(problem, "add"):
        made["residual"] = torch.rand_like(made["y"]) - 0.5
    if has_step(problem, "bias"):
        made["bias"] = (torch.rand(problem.k, device="cuda") - 0.5).to(dtype).float()
    return made


def convolution(torch, problem):
    return torch.nn.functional.conv2d if problem.spatial_dim == 2 else torch.nn.functional.conv3d


def plain_call(torch, problem, tensors):
    """The convolution alone, as PyTorch calls it: it may choose kernels of its own."""
    x, w, y = (tensors[role] for role in ("x", "w", "y"))
    stride, pad, dilation = places_of(problem)
    if problem.direction == 0:
        convolve = convolution(torch, problem)
        return lambda: convolve(x, w, None, stride, pad, dilation, problem.groups)
    mask = [problem.direction == 1, problem.direction == 2, False]
    none = [0] * problem.spatial_dim
    return lambda: torch.ops.aten.convolution_backward(
        y, x, w, None, stride, pad, dilation, False, none, problem.groups, mask
    )[problem.direction - 1]


def forced_call(torch, problem, tensors):
    """The same through cuDNN, also where PyTorch would choose kernels of its own. Backwards, the transposed convolution of
    y is computed: its result is x's gradient, and its filter's gradient is w's; PyTorch has no kernels of its own for it."""
    x, w, y = (tensors[role] for role in ("x", "w", "y"))
    stride, pad, dilation = places_of(problem)
    behind = output_pad_of(problem)
    flags = {"benchmark": True, "deterministic": False}
    cudnn = torch.backends.cudnn
    if problem.direction == 0:
        return lambda: torch.cudnn_convolution(
            x, w, padding=pad, stride=stride, dilation=dilation, groups=problem.groups, allow_tf32=cudnn.allow_tf32,
            **flags,
        )  # fmt: skip
    if problem.direction == 1:
        return lambda: torch.cudnn_convolution_transpose(
            y, w, padding=pad, output_padding=behind, stride=stride, dilation=dilation, groups=problem.groups,
            allow_tf32=cudnn.allow_tf32, **flags,
        )  # fmt: skip
    return lambda: torch.ops.aten.convolution_backward(
        x, y, w, None, stride, pad, dilation, True, behind, problem.groups, [False, True, False]
    )[1]


def sequence_call(problem, convolve, tensors):
    """PyTorch's kernels for the steps behind convolve(), one after the other."""
    bias = tensors.get("bias")
    if bias is not None:
        bias = bias.to(tensors["y"].dtype).reshape(1, -1, *[1] * problem.spatial_dim)

    def run():
        y = convolve()
        if bias is not None:
            y = y.add_(bias)
        if "residual" in tensors:
            y = y.add_(tensors["residual"])
        return y.relu_() if has_step(problem, "relu") else y

    return run


def expected_of(torch, problem, tensors):
    """The right result, computed in FP32 by the algorithm that cuDNN takes without a search."""
    wide = {role: tensor.float() for role, tensor in tensors.items()}
    cudnn = torch.backends.cudnn
    searched, cudnn.benchmark = cudnn.benchmark, False
    try:
        result = plain_call(torch, problem, wide)()
    finally:
        cudnn.benchmark = searched
    if "bias" in wide:
        result = result + wide["bias"].reshape(1, -1, *[1] * problem.spatial_dim)
    if "residual" in wide:
        result = result + wide["residual"]
    return result.relu() if has_step(problem, "relu") else result


def difference_of(result, expected):
    """The largest difference as a part of the largest value."""
    return ((result.float() - expected).abs().max() / expected.abs().max()).item()
