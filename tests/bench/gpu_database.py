"""Solutions of an .sjdb file on NVIDIA's GPU: libskipjackdb and NVIDIA's driver, as far as bench_gpu.py needs them."""
import ctypes
import sys


class Problem(ctypes.Structure):
    _fields_ = (
        [("size", ctypes.c_size_t)]
        + [(name, ctypes.c_int64) for name in ("n", "c", "k", "groups")]
        + [(name, ctypes.c_int64 * 3) for name in ("inp", "fil", "out", "pad", "stride", "dilation")]
        + [("spatial_dim", ctypes.c_int32), ("direction", ctypes.c_int32)]
        + [(name, ctypes.c_int32 * 3) for name in ("type", "cast", "layout")]
        + [("bias", ctypes.c_int32), ("epilogue", ctypes.c_char * 96)]
        + [("kind", ctypes.c_int32), ("mode", ctypes.c_char * 48), ("strides", ctypes.c_int64 * 5 * 4)]
    )


class Entry(ctypes.Structure):
    _fields_ = [("solver", ctypes.c_char_p), ("algorithm", ctypes.c_char_p), ("library", ctypes.c_char_p),
                ("time_ms", ctypes.c_double), ("workspace_bytes", ctypes.c_uint64),
                ("revision", ctypes.c_uint32), ("flags", ctypes.c_uint32)]  # fmt: skip


class Solution(ctypes.Structure):
    _fields_ = [("solver", ctypes.c_char_p), ("params", ctypes.c_char_p), ("workspace_bytes", ctypes.c_uint64),
                ("number", ctypes.c_uint64), ("launch_count", ctypes.c_uint32), ("revision", ctypes.c_uint32),
                ("flags", ctypes.c_uint32), ("packed_bytes", ctypes.c_uint64),
                ("pack_count", ctypes.c_uint32)]  # fmt: skip


class Launch(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("number", ctypes.c_uint64), ("kernel", ctypes.c_uint64),
                ("entry", ctypes.c_char_p), ("grid", ctypes.c_int64 * 3), ("block", ctypes.c_int32 * 3),
                ("arg_count", ctypes.c_uint32), ("local_bytes", ctypes.c_uint64)]  # fmt: skip


class Arg(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_int32), ("tensor", ctypes.c_int32), ("axis", ctypes.c_int32),
                ("real", ctypes.c_float), ("value", ctypes.c_int64), ("factor", ctypes.c_int64)]  # fmt: skip


class Kernel(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("text_bytes", ctypes.c_uint64), ("code_bytes", ctypes.c_uint64)]


NOT_FOUND = 1  # of the library's codes
ARG_TENSOR, ARG_WORKSPACE, ARG_INT32, ARG_INT64, ARG_FLOAT32, ARG_STRIDE = range(6)
# The operands of a problem, in the order of the library's enum.
ROLES = ("x", "w", "y", "residual", "bias", "scales", "packed")
LOCAL_BYTES_ATTRIBUTE = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
VALUES = {ARG_INT32: ctypes.c_int32, ARG_INT64: ctypes.c_int64, ARG_STRIDE: ctypes.c_int64}


def sized(struct):
    return struct(size=ctypes.sizeof(struct))


class NoResult(Exception):
    """A database has no solution of a problem, for the reason in the text."""


def parse_key(reader, key):
    """The problem that a key stands for. reader: the library."""
    problem = sized(Problem)
    if reader.skipjackdb_problem_parse(key.encode(), ctypes.byref(problem)) != 0:
        sys.exit(f"bench_gpu: {key}: {reader._name} reads no such key: use the library of the same version as the program")
    return problem


class Database:
    """An .sjdb file. reader: libskipjackdb."""

    def __init__(self, reader, path):
        self.lib, self.handle = reader, ctypes.c_void_p()
        self.check(reader.skipjackdb_open(str(path).encode(), ctypes.byref(self.handle)), path)
        reader.skipjackdb_solved.restype = ctypes.c_uint64

    def check(self, code, what):
        if code != 0:
            self.lib.skipjackdb_error_text.restype = ctypes.c_char_p
            sys.exit(f"bench_gpu: {what}: {self.lib.skipjackdb_error_text(code).decode()}")

    def problems(self):
        count = self.lib.skipjackdb_solved(self.handle, ctypes.c_size_t(ctypes.sizeof(Problem)))
        seen = set()  # a problem has two numbers where some of its solutions pack the filter
        for number in range(count):
            problem = sized(Problem)
            self.check(
                self.lib.skipjackdb_solved_at(self.handle, ctypes.c_uint64(number), ctypes.byref(problem)), "a problem"
            )
            if self.key(problem) not in seen:
                seen.add(self.key(problem))
                yield problem

    def key(self, problem):
        text = ctypes.create_string_buffer(1024)
        self.check(self.lib.skipjackdb_problem_key(ctypes.byref(problem), text, ctypes.c_size_t(1024)), "a key")
        return text.value.decode()

    def best(self, problem):
        """The fastest entry and how it is run. Raises NoResult where the file has none."""
        number, entry, solution = ctypes.c_uint64(), Entry(), Solution()
        self.find(self.lib.skipjackdb_find(self.handle, ctypes.byref(problem), ctypes.byref(number)), "entry")
        size = ctypes.c_size_t(ctypes.sizeof(entry))
        self.find(self.lib.skipjackdb_best(self.handle, number, None, ctypes.byref(entry), size), "entry")
        size = ctypes.c_size_t(ctypes.sizeof(solution))
        self.find(
            self.lib.skipjackdb_solution(
                self.handle, ctypes.byref(problem), entry.solver, ctypes.byref(solution), size
            ),
            "solution",
        )
        return entry, solution

    def find(self, code, what):
        if code == NOT_FOUND:
            raise NoResult(f"the .sjdb file has no {what} for it")
        self.check(code, what)

    def close(self):
        self.lib.skipjackdb_close(self.handle)

    def launches(self, problem, solution):
        for index in range(solution.launch_count):
            launch = sized(Launch)
            self.check(
                self.lib.skipjackdb_launch_at(
                    self.handle, ctypes.byref(solution), ctypes.c_uint32(index), ctypes.byref(launch)
                ),
                "a launch",
            )
            args = (Arg * launch.arg_count)()
            room = [ctypes.c_size_t(ctypes.sizeof(Arg)), ctypes.c_size_t(launch.arg_count)]
            self.check(
                self.lib.skipjackdb_args(self.handle, ctypes.byref(launch), ctypes.byref(problem), args, *room),
                "arguments",
            )
            yield launch, args

    def code(self, number):
        kernel = sized(Kernel)
        self.check(
            self.lib.skipjackdb_kernel_at(self.handle, ctypes.c_uint64(number), ctypes.byref(kernel)), "a kernel"
        )
        code = ctypes.create_string_buffer(kernel.code_bytes)
        room = ctypes.c_size_t(kernel.code_bytes)
        none = ctypes.c_size_t(0)
        self.check(
            self.lib.skipjackdb_kernel_read(self.handle, ctypes.c_uint64(number), None, none, code, room), "a kernel"
        )
        return code


def check_driver(status, doing):
    if status != 0:
        raise RuntimeError(f"cannot {doing}: CUDA's error {status}")


class Ours:
    """A solution, its code objects loaded into PyTorch's context; called with the problem's operands by role. A
    solution that packs its filter does so in bind(), and not in run()."""

    def __init__(self, torch, driver, db, problem, solution):
        self.torch, self.driver, self.modules, self.steps = torch, driver, [], []
        self.pack_count = solution.pack_count
        self.packed = torch.empty(max(1, solution.packed_bytes), dtype=torch.uint8, device="cuda")
        bytes_wanted = max(1, solution.workspace_bytes)
        self.workspace = torch.full((bytes_wanted,), 255, dtype=torch.uint8, device="cuda")
        for launch, args in db.launches(problem, solution):
            self.steps.append((self.function(db, launch), launch, [self.value(arg) for arg in args]))

    def function(self, db, launch):
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        check_driver(self.driver.cuModuleLoadData(ctypes.byref(module), db.code(launch.kernel)), "load a code object")
        self.modules.append(module)
        check_driver(
            self.driver.cuModuleGetFunction(ctypes.byref(function), module, launch.entry), "find a kernel in it"
        )
        if launch.local_bytes > 48 << 10:
            wanted = ctypes.c_int(launch.local_bytes)
            check_driver(self.driver.cuFuncSetAttribute(function, LOCAL_BYTES_ATTRIBUTE, wanted), "get local memory")
        return function

    def value(self, arg):
        if arg.kind == ARG_TENSOR:
            return arg.tensor
        if arg.kind == ARG_WORKSPACE:
            return ctypes.c_uint64(self.workspace.data_ptr() + arg.value)
        if arg.kind == ARG_FLOAT32:
            return ctypes.c_float(arg.real)
        return VALUES[arg.kind](arg.value)

    def bind(self, tensors):
        """The launches with their arguments' addresses, ready to be made. tensors: by role."""
        tensors = {**tensors, "packed": self.packed}
        pointers = [ctypes.c_uint64(tensors[role].data_ptr() if role in tensors else 0) for role in ROLES]
        bound = []
        for function, launch, values in self.steps:
            held = [pointers[value] if isinstance(value, int) else value for value in values]
            array = (ctypes.c_void_p * len(held))(*[ctypes.addressof(value) for value in held])
            grid = [ctypes.c_uint(launch.grid[i] // launch.block[i]) for i in range(3)]
            block = [ctypes.c_uint(launch.block[i]) for i in range(3)]
            bound.append((held, [function, *grid, *block, ctypes.c_uint(launch.local_bytes)], array))
        self.run(bound[: self.pack_count])
        return bound[self.pack_count :]

    def run(self, bound):
        stream = ctypes.c_void_p(self.torch.cuda.current_stream().cuda_stream)
        for _, words, array in bound:
            check_driver(self.driver.cuLaunchKernel(*words, stream, array, None), "launch a kernel")

    def close(self):
        self.torch.cuda.synchronize()
        for module in self.modules:
            self.driver.cuModuleUnload(module)
