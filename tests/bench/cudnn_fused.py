"""cuDNN's fused convolutions: y = activation(conv(x, w) + z + bias) in one call, in every way that cuDNN offers it.

  plans   PyTorch's cudnn_convolution_relu and cudnn_convolution_add_relu: graphs of cuDNN's backend API, of whose
          plans PyTorch's benchmark mode takes the fastest
  legacy  cudnnConvolutionBiasActivationForward with each of its algorithms

ways() makes all that work for a problem; the caller times them. A way that cuDNN refuses is no error: ways() says why.
The bias has the type of x, as cuDNN wants it; the sums are FP32. Only NVIDIA's documentation is needed to read the
numbers below: they are the enums of cudnn_graph_v9.h, cudnn_ops_v9.h and cudnn_cnn_v9.h.
"""
import ctypes

FLOAT, HALF, BFLOAT16 = 0, 2, 9  # cudnnDataType_t
NCHW, NHWC = 0, 1  # cudnnTensorFormat_t
CROSS_CORRELATION = 1  # cudnnConvolutionMode_t
RELU, IDENTITY = 1, 5  # cudnnActivationMode_t
DEFAULT_MATH, TENSOR_OP_MATH, FMA_MATH = 0, 1, 3  # cudnnMathType_t; FMA_MATH forbids TF32, DEFAULT_MATH allows it
# cudnnConvolutionFwdAlgo_t; the identity is served by IMPLICIT_PRECOMP_GEMM alone
ALGORITHMS = {
    0: "implicit GEMM", 1: "implicit precomputed GEMM", 2: "GEMM", 3: "direct", 4: "FFT", 5: "tiled FFT",
    6: "Winograd", 7: "Winograd, not fused",
}  # fmt: skip
IDENTITY_ALGORITHMS = (1,)


class Refused(Exception):
    """cuDNN does not compute this, for the reason in the text."""


class Library:
    """libcudnn and a handle on the current device. Raises Refused where there is none."""

    def __init__(self, name="libcudnn.so.9"):
        try:
            self.lib = ctypes.CDLL(name)
        except OSError as error:
            raise Refused(f"no {name}: {error}") from None
        self.lib.cudnnGetErrorString.restype = ctypes.c_char_p
        self.lib.cudnnGetVersion.restype = ctypes.c_size_t
        self.handle = ctypes.c_void_p()
        self.call("cudnnCreate", ctypes.byref(self.handle))

    def call(self, name, *args):
        status = getattr(self.lib, name)(*args)
        if status != 0:
            raise Refused(f"{name}: {self.lib.cudnnGetErrorString(status).decode()}")

    def descriptor(self, kind):
        made = ctypes.c_void_p()
        self.call(f"cudnnCreate{kind}Descriptor", ctypes.byref(made))
        return made

    def close(self):
        self.call("cudnnDestroy", self.handle)


class Shape:
    """A forward convolution's sizes, as cuDNN's descriptors take them. `type` is a cudnnDataType_t."""

    def __init__(self, x, w, y, pad, stride, dilation, groups, type, channels_last, tf32=False):
        self.x, self.w, self.y = x, w, y  # four sizes each: n c h w, k c h w, n k h w
        self.pad, self.stride, self.dilation, self.groups = pad, stride, dilation, groups
        self.type, self.format = type, NHWC if channels_last else NCHW
        self.math = TENSOR_OP_MATH if type != FLOAT else DEFAULT_MATH if tf32 else FMA_MATH


class Legacy:
    """cudnnConvolutionBiasActivationForward for one shape: descriptors, and the call with an algorithm."""

    KINDS = ("Tensor", "Filter", "Convolution", "Tensor", "Tensor", "Activation")

    def __init__(self, library, shape, activation):
        self.library, self.made = library, []
        call = library.call
        for kind in self.KINDS:
            self.made.append((kind, library.descriptor(kind)))
        self.x, self.w, self.conv, self.bias, self.y, self.act = (made for _, made in self.made)
        call("cudnnSetTensor4dDescriptor", self.x, shape.format, shape.type, *shape.x)
        call("cudnnSetFilter4dDescriptor", self.w, shape.type, shape.format, *shape.w)
        call("cudnnSetTensor4dDescriptor", self.y, shape.format, shape.type, *shape.y)
        call("cudnnSetTensor4dDescriptor", self.bias, shape.format, shape.type, 1, shape.y[1], 1, 1)
        axes = (*shape.pad, *shape.stride, *shape.dilation)
        call("cudnnSetConvolution2dDescriptor", self.conv, *axes, CROSS_CORRELATION, FLOAT)
        call("cudnnSetConvolutionGroupCount", self.conv, shape.groups)
        call("cudnnSetConvolutionMathType", self.conv, shape.math)
        call("cudnnSetActivationDescriptor", self.act, activation, 0, ctypes.c_double(0))
        self.algorithms = IDENTITY_ALGORITHMS if activation == IDENTITY else tuple(ALGORITHMS)

    def workspace_bytes(self, algorithm):
        size = ctypes.c_size_t()
        self.library.call(
            "cudnnGetConvolutionForwardWorkspaceSize", self.library.handle, self.x, self.w, self.conv, self.y,
            algorithm, ctypes.byref(size),
        )  # fmt: skip
        return size.value

    def run(self, algorithm, stream, workspace, workspace_bytes, x, w, bias, z, y):
        """Pointers are addresses; z is 0 for a convolution without a second tensor."""
        one, zero = ctypes.c_float(1), ctypes.c_float(0)
        address = ctypes.c_void_p
        self.library.call("cudnnSetStream", self.library.handle, address(stream))
        self.library.call(
            "cudnnConvolutionBiasActivationForward", self.library.handle, ctypes.byref(one), self.x, address(x),
            self.w, address(w), self.conv, algorithm, address(workspace), ctypes.c_size_t(workspace_bytes),
            ctypes.byref(one if z else zero), self.y, address(z or y), self.bias, address(bias), self.act, self.y,
            address(y),
        )  # fmt: skip

    def close(self):
        for kind, made in self.made:
            self.library.call(f"cudnnDestroy{kind}Descriptor", made)


def legacy_ways(torch, library, shape, x, w, bias, z, y, activation, refusals):
    """A way for each algorithm that runs: its name, and a function that runs it into y."""
    found = []
    try:
        legacy = Legacy(library, shape, activation)
    except Refused as refusal:
        refusals.append(str(refusal))
        return found
    pointers = [tensor.data_ptr() if tensor is not None else 0 for tensor in (x, w, bias, z, y)]
    for algorithm in legacy.algorithms:
        try:
            size = legacy.workspace_bytes(algorithm)
            space = torch.empty(max(1, size), dtype=torch.uint8, device="cuda")

            # The tensors are held as long as the call: it has their addresses alone.
            def run(algorithm=algorithm, space=space, size=size, held=(x, w, bias, z)):
                stream = torch.cuda.current_stream().cuda_stream
                legacy.run(algorithm, stream, space.data_ptr(), size, *pointers)
                return y

            run()
            torch.cuda.synchronize()
            found.append((f"legacy, {ALGORITHMS[algorithm]}", run))
        except (Refused, RuntimeError) as refusal:
            refusals.append(f"legacy, {ALGORITHMS[algorithm]}: {refusal}")
    return found


def plan_ways(torch, x, w, bias, z, axes, groups, refusals):
    """The graph that PyTorch's benchmark mode chooses a plan for; its first run chooses it."""
    places = (axes["stride"], axes["pad"], axes["dilation"], groups)
    if z is None:
        name, run = "plan, conv+bias+relu", lambda: torch.cudnn_convolution_relu(x, w, bias, *places)
    else:
        name, run = "plan, conv+add+bias+relu", lambda: torch.cudnn_convolution_add_relu(x, w, z, 1, bias, *places)
    try:
        run()
        torch.cuda.synchronize()
    except RuntimeError as refusal:
        refusals.append(f"{name}: {str(refusal).splitlines()[0]}")
        return []
    return [(name, run)]


def ways(torch, library, x, w, bias, z, y, axes, groups, relu, channels_last, tf32=False):
    """All fused ways that work, as (name, function that returns y), and the reasons of those that do not. `library`
    is a Library, or None. axes: lists of two (height, width) by the names stride, pad and dilation. tf32: whether the legacy
    call may compute in TF32; for the plans PyTorch's own setting says it."""
    types = {torch.float32: FLOAT, torch.float16: HALF, torch.bfloat16: BFLOAT16}
    refusals, found = [], []
    if relu:
        found += plan_ways(torch, x, w, bias, z, axes, groups, refusals)
    if library is None:
        refusals.append("legacy: libcudnn was not loaded")
    else:
        shape = Shape(
            tuple(x.shape), tuple(w.shape), tuple(y.shape), axes["pad"], axes["stride"], axes["dilation"], groups,
            types[x.dtype], channels_last, tf32,
        )  # fmt: skip
        activation = RELU if relu else IDENTITY
        found += legacy_ways(torch, library, shape, x, w, bias, z, y, activation, refusals)
    return found, refusals
