"""cudnn_fused.py with a double of libcudnn and of PyTorch: which calls it makes, with what. Prints TAP. No cuDNN call
is made."""
import contextlib
import ctypes
import types

import cudnn_fused
import tap

FAULTS = {}  # by function: the statuses that its next calls return
calls = []


class Function:
    def __init__(self, answer):
        self.answer, self.restype = answer, None

    def __call__(self, *args):
        return self.answer(*args)


class Double:
    """Every function notes its arguments and returns its next fault, or 0."""

    def __init__(self, name):
        self.cudnnGetErrorString = Function(lambda *args: b"a fault of the test")

    def __getattr__(self, name):
        def answer(*args):
            calls.append((name, args))
            if name.startswith("cudnnCreate"):
                args[0]._obj.value = len(calls)
            if name == "cudnnGetConvolutionForwardWorkspaceSize":
                args[-1]._obj.value = 1000 + args[5]
            faults = FAULTS.get(name, [])
            return faults.pop(0) if faults else 0

        return Function(answer)


class Tensor:
    def __init__(self, shape, address, dtype="float16"):
        self.shape, self.address, self.dtype = shape, address, dtype

    def data_ptr(self):
        return self.address


class Torch:
    """What ways() uses of PyTorch; `refuses`: its fused operators raise."""

    float32, float16, bfloat16, uint8 = "float32", "float16", "bfloat16", "uint8"
    refuses = False
    cuda = types.SimpleNamespace(
        synchronize=lambda: None, current_stream=lambda: types.SimpleNamespace(cuda_stream=0x77)
    )

    def empty(self, size, dtype, device):
        return Tensor((size,), 0x5000 + size)

    def fused(self, *args):
        calls.append(("fused", args))
        if self.refuses:
            raise RuntimeError("no engine\nmore")

    cudnn_convolution_relu = cudnn_convolution_add_relu = fused


@contextlib.contextmanager
def doubled():
    real, cudnn_fused.ctypes.CDLL = ctypes.CDLL, Double
    try:
        yield
    finally:
        cudnn_fused.ctypes.CDLL = real


AXES = {"stride": [2, 1], "pad": [3, 4], "dilation": [5, 6]}


def ways(torch, relu, residual=True, dtype="float16", tf32=False):
    calls.clear()
    shapes = {0x100: (2, 16, 9, 8), 0x200: (32, 8, 3, 5), 0x300: (2, 32, 4, 6)}
    x, w, y = (Tensor(shape, address, dtype) for address, shape in shapes.items())
    z = Tensor(y.shape, 0x400) if residual else None
    with doubled():
        library = cudnn_fused.Library()
        return cudnn_fused.ways(torch, library, x, w, Tensor((32,), 0x500), z, y, AXES, 2, relu, True, tf32)


def of(name):
    return [args for called, args in calls if called == name]


def numbers(args):
    return [arg for arg in args if isinstance(arg, int)]


def test_descriptors_have_the_shape():
    ways(Torch(), relu=True)
    x, y, bias = (numbers(args) for args in of("cudnnSetTensor4dDescriptor"))
    assert x == [cudnn_fused.NHWC, cudnn_fused.HALF, 2, 16, 9, 8], x
    assert y == [cudnn_fused.NHWC, cudnn_fused.HALF, 2, 32, 4, 6], y
    assert bias == [cudnn_fused.NHWC, cudnn_fused.HALF, 1, 32, 1, 1], bias
    assert numbers(of("cudnnSetFilter4dDescriptor")[0]) == [cudnn_fused.HALF, cudnn_fused.NHWC, 32, 8, 3, 5]
    assert numbers(of("cudnnSetConvolution2dDescriptor")[0]) == [3, 4, 2, 1, 5, 6, 1, cudnn_fused.FLOAT]
    assert numbers(of("cudnnSetConvolutionGroupCount")[0]) == [2]


def test_relu_is_tried_with_every_algorithm():
    found, refusals = ways(Torch(), relu=True)
    assert len(found) == 1 + len(cudnn_fused.ALGORITHMS) and not refusals, (found, refusals)
    run = of("cudnnConvolutionBiasActivationForward")
    assert [args[7] for args in run] == list(cudnn_fused.ALGORITHMS)
    assert [args[9].value for args in run] == [1000 + algorithm for algorithm in cudnn_fused.ALGORITHMS]


def test_pointers_are_in_their_places():
    ways(Torch(), relu=True)
    args = of("cudnnConvolutionBiasActivationForward")[0]
    pointers = [args[i].value for i in (3, 5, 8, 12, 14, 17)]
    assert pointers == [0x100, 0x200, 0x5000 + 1000, 0x400, 0x500, 0x300], pointers
    assert args[1]._obj.value == 1 and args[10]._obj.value == 1


def test_without_a_residual_its_factor_is_0():
    ways(Torch(), relu=True, residual=False)
    args = of("cudnnConvolutionBiasActivationForward")[0]
    assert args[10]._obj.value == 0 and args[12].value == 0x300


def test_a_bias_alone_needs_the_one_algorithm_that_cudnn_has():
    found, _ = ways(Torch(), relu=False)
    assert [name for name, _ in found] == ["legacy, implicit precomputed GEMM"], found
    assert numbers(of("cudnnSetActivationDescriptor")[0])[:1] == [cudnn_fused.IDENTITY]
    assert not of("fused")


def test_tf32_is_allowed_where_it_is_asked_for_alone():
    for dtype, tf32, wanted in (
        ("float32", False, cudnn_fused.FMA_MATH), ("float32", True, cudnn_fused.DEFAULT_MATH),
        ("float16", False, cudnn_fused.TENSOR_OP_MATH), ("float16", True, cudnn_fused.TENSOR_OP_MATH),
    ):  # fmt: skip
        ways(Torch(), relu=True, dtype=dtype, tf32=tf32)
        math = numbers(of("cudnnSetConvolutionMathType")[0])
        assert math == [wanted], (dtype, tf32, math)


def test_refusals_are_said_and_the_others_stay():
    torch = Torch()
    torch.refuses = True
    FAULTS["cudnnConvolutionBiasActivationForward"] = [9, 9]
    found, refusals = ways(torch, relu=True)
    assert len(found) == len(cudnn_fused.ALGORITHMS) - 2, found
    assert refusals[0] == "plan, conv+add+bias+relu: no engine", refusals
    assert refusals[1] == "legacy, implicit GEMM: cudnnConvolutionBiasActivationForward: a fault of the test", refusals


def test_a_missing_library_is_refused_by_name():
    try:
        cudnn_fused.Library("libcudnn-is-not-there.so")
    except cudnn_fused.Refused as refusal:
        assert "libcudnn-is-not-there.so" in str(refusal)
    else:
        raise AssertionError("it was opened")


tap.run(globals(), "cudnn_fused")
