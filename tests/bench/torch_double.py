"""A double of PyTorch with CUDA, as far as bench_gpu.py uses it. A tensor is a shape and one value that all its elements
have; the device is a clock, which each kernel moves on.

As in PyTorch, a convolution's plan is searched for at the first call in a thread if benchmark is on, among benchmark_limit
plans (0: all), and that thread keeps it. TF32 plans are among them if allow_tf32 is on. As in PyTorch, a depthwise
convolution in NCHW runs on a kernel of PyTorch's own, unless it is asked of cuDNN.
"""
import contextlib
import threading
import types


class Tensor:
    def __init__(self, shape, value=0.5, dtype="float32"):
        self.shape, self.value, self.dtype = tuple(shape), value, dtype

    def like(self, value):
        return Tensor(self.shape, value, self.dtype)

    def to(self, dtype=None, memory_format=None):
        return Tensor(self.shape, self.value, dtype or self.dtype)

    def float(self):
        return self.to("float32")

    def other(self, other):
        return other.value if isinstance(other, Tensor) else other

    def __sub__(self, other):
        return self.like(self.value - self.other(other))

    def __add__(self, other):
        return self.like(self.value + self.other(other))

    def __truediv__(self, other):
        return self.like(self.value / self.other(other))

    def add_(self, other):
        self.value += self.other(other)
        return self

    def abs(self):
        return self.like(abs(self.value))

    def max(self):
        return Tensor((), self.value, self.dtype)

    def item(self):
        return self.value

    def relu(self):
        return self.like(max(0, self.value))

    def relu_(self):
        self.value = max(0, self.value)
        return self

    def reshape(self, *shape):
        return self

    def fill_(self, value):
        self.value = value
        return self

    def zero_(self):
        return self.fill_(0)

    def data_ptr(self):
        return 0x1000


class Event:
    def __init__(self, torch):
        self.torch = torch

    def record(self):
        self.at = self.torch.now

    def synchronize(self):
        pass

    def elapsed_time(self, end):
        return end.at - self.at


class Graph:
    """What runs during its capture; a search would be refused there, as cudaMalloc is."""

    def __init__(self, torch):
        self.torch, self.kernels = torch, []

    def replay(self):
        self.torch.now += sum(ms for _, ms in self.kernels)


class Torch:
    """plans: of each search in turn the plans' times in ms, by the order in which threads ask: [[first search's], ...];
    the last one's hold for all later searches. tf32_plans: likewise with TF32. refuses: names of operators that raise."""

    float32, float16, bfloat16, uint8 = "float32", "float16", "bfloat16", "uint8"
    channels_last, channels_last_3d, contiguous_format = "channels_last", "channels_last_3d", "contiguous"
    __version__ = "2.99"

    def __init__(self, plans=((3.0, 2.0, 1.0),), tf32_plans=((0.5,),), native_ms=4.0, refuses=()):
        self.plans, self.tf32_plans, self.native_ms, self.refuses = list(plans), list(tf32_plans), native_ms, refuses
        self.now, self.kept, self.searches, self.ran, self.graph = 0.0, threading.local(), [], [], None
        self.backends = types.SimpleNamespace(
            cudnn=types.SimpleNamespace(benchmark=False, benchmark_limit=10, allow_tf32=True, version=lambda: 91900),
            cuda=types.SimpleNamespace(matmul=types.SimpleNamespace(allow_tf32=True)),
        )
        self.cuda = types.SimpleNamespace(
            synchronize=lambda: None, _sleep=lambda cycles: None, Event=lambda enable_timing: Event(self),
            get_device_name=lambda: "a double", is_available=lambda: True, Stream=self.stream,
            current_stream=self.stream, stream=lambda stream: contextlib.nullcontext(), CUDAGraph=lambda: Graph(self),
            graph=self.capture,
        )  # fmt: skip
        functional = types.SimpleNamespace(conv2d=self.conv, conv3d=self.conv)
        self.nn = types.SimpleNamespace(functional=functional)
        self.ops = types.SimpleNamespace(aten=types.SimpleNamespace(convolution_backward=self.convolution_backward))
        self.autograd = types.SimpleNamespace(DeviceType=types.SimpleNamespace(CUDA="CUDA", CPU="CPU"))
        self.profiler = types.SimpleNamespace(
            ProfilerActivity=types.SimpleNamespace(CUDA="CUDA"), profile=self.profile
        )

    # tensors

    def rand(self, shape, dtype="float32", device=None):
        return Tensor(shape if isinstance(shape, (tuple, list)) else (shape,), 1.0, dtype)

    def rand_like(self, tensor):
        return tensor.like(1.0)

    def empty_like(self, tensor):
        """Its memory may hold the right result of an earlier call."""
        return tensor.like(1.0)

    def empty(self, *shape, dtype="float32", device=None):
        return Tensor(shape, 0.0, dtype)

    zeros = empty

    # the device

    def stream(self):
        return types.SimpleNamespace(wait_stream=lambda other: None, cuda_stream=0)

    @contextlib.contextmanager
    def capture(self, graph):
        assert self.graph is None
        self.graph = graph
        try:
            yield
        finally:
            self.graph = None

    def launch(self, name, ms):
        """A kernel: of a graph while it is captured, else it runs."""
        if self.graph is not None:
            self.graph.kernels.append((name, ms))
        else:
            self.ran.append((name, ms))
            self.now += ms

    # cuDNN

    def plan(self, key):
        cudnn = self.backends.cudnn
        key = (*key, cudnn.allow_tf32)
        kept = self.kept.__dict__.setdefault("plans", {})
        if not cudnn.benchmark:
            return self.plans[0][0]
        if key not in kept:
            assert self.graph is None, "a search during a capture"
            all_plans = self.tf32_plans if cudnn.allow_tf32 and key[1] == "float32" else self.plans
            number = sum(searched == key for searched, _ in self.searches)
            plans = all_plans[min(number, len(all_plans) - 1)]
            self.searches.append((key, threading.get_ident()))
            kept[key] = min(plans[: cudnn.benchmark_limit] if cudnn.benchmark_limit else plans)
        return kept[key]

    def run(self, name, x, w, depthwise, forced):
        if name in self.refuses:
            raise RuntimeError(f"{name}: no engine\nmore")
        if depthwise and not forced:
            self.launch("conv_depthwise2d", self.native_ms)
        else:
            self.launch("winograd_fprop" if name == "conv" else f"xmma_{name}", self.plan((name, x.dtype)))

    def conv(self, x, w, bias, stride, pad, dilation, groups):
        assert len(stride) == len(pad) == len(dilation) == len(x.shape) - 2
        assert bias is None and x.shape[1] == w.shape[1] * groups
        self.run("conv", x, w, groups > 1 and groups == x.shape[1], False)
        return self.conv_result(x, w, stride, pad, dilation, 1.0)

    def conv_result(self, x, w, stride, pad, dilation, value):
        out = [(edge + 2 * p - d * (f - 1) - 1) // s + 1
               for edge, f, s, p, d in zip(x.shape[2:], w.shape[2:], stride, pad, dilation)]  # fmt: skip
        return Tensor((x.shape[0], w.shape[0], *out), value, x.dtype)

    def convolution_backward(self, grad, inp, w, bias_sizes, stride, pad, dilation, transposed, output_pad, groups, mask):
        """Of a transposed convolution `inp` has w.shape[0] channels and the gradient is as large as its output."""
        assert bias_sizes is None and len(output_pad) == len(stride) == len(inp.shape) - 2
        channels = w.shape[0] if transposed else w.shape[1] * groups
        assert inp.shape[1] == channels, (inp.shape, w.shape)
        assert grad.shape[1] == (w.shape[1] * groups if transposed else w.shape[0])
        if transposed:
            made = [(edge - 1) * s - 2 * p + d * (f - 1) + 1 + more for edge, f, s, p, d, more in
                    zip(inp.shape[2:], w.shape[2:], stride, pad, dilation, output_pad)]  # fmt: skip
            assert made == list(grad.shape[2:]) and all(0 <= more < s for more, s in zip(output_pad, stride)), made
        else:
            assert not any(output_pad)
        name = "wgrad" if mask[1] else "dgrad"
        self.run(name, inp, w, not transposed and groups > 1 and groups == channels, transposed)
        return (Tensor(inp.shape, 1.0, w.dtype) if mask[0] else None, Tensor(w.shape, 1.0, w.dtype) if mask[1] else None,
                None)  # fmt: skip

    def cudnn_convolution(self, x, w, *, padding, stride, dilation, groups, benchmark, deterministic, allow_tf32):
        assert benchmark and not deterministic and allow_tf32 == self.backends.cudnn.allow_tf32
        self.run("conv", x, w, True, True)
        return Tensor((1,), 1.0, x.dtype)

    def cudnn_convolution_transpose(self, y, w, *, padding, output_padding, stride, dilation, groups, benchmark,
                                    deterministic, allow_tf32):  # fmt: skip
        assert benchmark and not deterministic and allow_tf32 == self.backends.cudnn.allow_tf32
        assert y.shape[1] == w.shape[0] and all(0 <= more < s for more, s in zip(output_padding, stride))
        self.run("dgrad", y, w, True, True)
        return Tensor((1,), 1.0, y.dtype)

    def cudnn_convolution_relu(self, x, w, bias, stride, pad, dilation, groups):
        assert bias.dtype == x.dtype and bias.shape == (w.shape[0],)
        self.run("fused", x, w, False, True)
        return self.conv_result(x, w, stride, pad, dilation, 1.0 + bias.value)

    def cudnn_convolution_add_relu(self, x, w, z, alpha, bias, stride, pad, dilation, groups):
        assert alpha == 1 and z.dtype == x.dtype and bias.dtype == x.dtype
        self.run("fused", x, w, False, True)
        return self.conv_result(x, w, stride, pad, dilation, 1.0 + z.value + bias.value)

    # the profiler

    @contextlib.contextmanager
    def profile(self, activities):
        first = len(self.ran)
        found = types.SimpleNamespace(events=list)
        yield found
        events = [types.SimpleNamespace(name=name, device_type="CUDA") for name, _ in self.ran[first:]]
        events += [types.SimpleNamespace(name="Memset (Device)", device_type="CUDA"),
                   types.SimpleNamespace(name="aten::conv2d", device_type="CPU")]  # fmt: skip
        found.events = lambda: events
