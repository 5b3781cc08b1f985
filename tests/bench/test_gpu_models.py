"""gpu_models.py: the U-Nets against published figures, and networks of torchvision with a double of it. Prints TAP."""
import contextlib
import csv
import math
import pathlib
import sys
import tempfile
import types

import gpu_models
import tap


def weights(layer):
    return layer.c // layer.groups * layer.k * math.prod(layer.fil)


def test_the_3d_unet_has_the_published_parameters():
    """Cicek et al.: 19,069,955 parameters, without a bias in the upwards convolutions; an output of 44x44x28."""
    layers = [layer for _, layer in gpu_models.unet3d_layers()]
    assert sum(weights(layer) + (layer.k if layer.mode == "conv" else 0) for layer in layers) == 19_069_955
    assert layers[-1].out == (28, 44, 44)


def test_the_diffusion_unet_has_the_published_parameters():
    """859,520,964, of which all outside the convolutions belong to the embedding of the time, to normalization, and to the
    attention between an attention's two projections."""
    count = 320 * 1280 + 1280 + 1280 * 1280 + 1280 + 2 * 320
    for name, layer in gpu_models.diffusion_layers():
        c, k = layer.c, layer.k
        count += weights(layer) + k
        if name.endswith("/conv1"):
            count += 2 * c + 2 * k + (1280 + 1) * k
        if name.endswith("/project-in"):
            count += 2 * c + 6 * c + (4 * c * c + c) + (2 * c * c + 2 * 768 * c + c) + (8 * c * c + 8 * c) + (4 * c * c + c)
    assert count == 859_520_964, count


def test_layers_fit_each_other():
    for name, layers in gpu_models.UNETS.items():
        for place, layer in layers():
            assert len(layer.inp) == len(layer.fil) == len(layer.out) and min(layer.inp + layer.out) > 0, (name, place)


def rows_of(path):
    with open(path, encoding="utf-8") as table:
        return list(csv.DictReader(line for line in table if not line.startswith("#")))


def written(network):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "table.csv"
        gpu_models.write_table(network, path)
        return rows_of(path)


def test_a_table_has_equal_layers_once():
    rows = written("unet-diffusion")
    assert sum(int(row["mult"]) for row in rows) == len(gpu_models.diffusion_layers()) > len(rows)
    assert "d" not in rows[0] and written("unet3d")[0]["d"] == "116"


# ---- torchvision


class Module:
    """A module of the double: conv(x) makes what PyTorch's convolution would, a hook sees it."""

    def __init__(self, c, k, size, stride, pad, groups=1, mode="zeros"):
        self.c, self.k, self.kernel_size, self.stride, self.padding = c, k, size, stride, pad
        self.dilation, self.groups, self.padding_mode, self.hooks = (1,) * len(size), groups, mode, []

    def register_forward_hook(self, hook):
        self.hooks.append(hook)

    def __call__(self, x):
        axes = zip(x.shape[2:], self.kernel_size, self.stride, self.padding)
        y = types.SimpleNamespace(shape=(x.shape[0], self.k, *[(e + 2 * p - f) // s + 1 for e, f, s, p in axes]))
        for hook in self.hooks:
            hook(self, (x,), y)
        return y


class Conv2d(Module):
    transposed = False


class Conv3d(Module):
    transposed = False


class ConvTranspose2d(Module):
    transposed = True

    def __call__(self, x):
        y = types.SimpleNamespace(shape=(x.shape[0], self.k, *[edge * 2 for edge in x.shape[2:]]))
        for hook in self.hooks:
            hook(self, (x,), y)
        return y


class Linear:
    def __call__(self, x):
        return x


class Model:
    """Modules, one after the other; `unused` is there and does not run, as an auxiliary classifier."""

    def __init__(self, torch, modules, unused, refused):
        self.torch, self.modules, self.unused, self.refused, self.in_eval = torch, modules, unused, refused, False

    def eval(self):
        self.in_eval = True
        return self

    def named_modules(self):
        return [("", self), *((f"layer{place}", module) for place, module in enumerate([*self.modules, *self.unused]))]

    def __call__(self, x):
        assert self.in_eval and self.torch.without_grad
        if self.refused:
            raise self.refused
        for module in self.modules:
            x = module(x)
        return {"out": x}


@contextlib.contextmanager
def doubled(modules, unused=(), lacking=()):
    """torch and torchvision for `import`; what torchvision was asked for is in the yielded list. lacking: devices that lack
    an operator."""
    asked, inside = [], []

    @contextlib.contextmanager
    def device(name):
        inside.append(name)
        yield
        inside.pop()

    @contextlib.contextmanager
    def no_grad():
        torch.without_grad = True
        yield
        torch.without_grad = False

    def get_model(name, **words):
        assert len(inside) == 1, "its device is not said"
        asked.append((inside[0], name, words))
        refused = NotImplementedError("'aten::x' with arguments from the 'meta' backend\nmore") if inside[0] in lacking else None
        return Model(torch, modules, unused, refused)

    def empty(*shape):
        assert inside[-1] in ("meta", "cpu")
        return types.SimpleNamespace(shape=shape)

    nn = types.SimpleNamespace(Conv2d=Conv2d, Conv3d=Conv3d, ConvTranspose2d=ConvTranspose2d, ConvTranspose3d=type("N", (), {}))
    torch = types.SimpleNamespace(nn=nn, device=device, empty=empty, no_grad=no_grad, without_grad=False)
    vision = types.SimpleNamespace(__version__="0.26", models=types.SimpleNamespace(get_model=get_model))
    real = {name: sys.modules.get(name) for name in ("torch", "torchvision")}
    sys.modules.update(torch=torch, torchvision=vision)
    try:
        yield asked
    finally:
        for name, module in real.items():
            if module is None:
                del sys.modules[name]
            else:
                sys.modules[name] = module


def test_each_convolution_that_runs_is_noted():
    modules = [Conv2d(3, 8, (7, 7), (2, 2), (3, 3)), Linear(), Conv2d(8, 8, (3, 3), (1, 1), (1, 1), 4),
               Conv2d(8, 8, (3, 3), (1, 1), (1, 1), 4), ConvTranspose2d(8, 4, (2, 2), (2, 2), (0, 0))]  # fmt: skip
    with doubled(modules, unused=[Conv2d(8, 5, (1, 1), (1, 1), (0, 0))]):
        rows = written("tv-vgg16")
    assert [row["layer"] for row in rows] == ["layer0", "layer2", "layer4"], rows
    assert [row["mult"] for row in rows] == ["1", "2", "1"]
    assert [row["mode"] for row in rows] == ["conv", "conv", "trans"]
    wanted = {"c": "8", "k": "8", "g": "4", "h": "112", "y": "3", "x": "3", "p": "1", "u": "1", "l": "1", "oh": "112",
              "nd": "2"}  # fmt: skip
    assert {column: rows[1][column] for column in wanted} == wanted


def test_video_has_a_depth():
    with doubled([Conv3d(3, 8, (3, 7, 7), (1, 2, 2), (1, 3, 3))]):
        (row,) = written("tv-r3d-18")
    wanted = {"nd": "3", "d": "16", "h": "112", "z": "3", "y": "7", "pd": "1", "p": "3", "sd": "1", "u": "2", "od": "16",
              "ow": "56"}  # fmt: skip
    assert {column: row[column] for column in wanted} == wanted


def test_nothing_is_downloaded():
    for network, (model, _, words) in gpu_models.TORCHVISION.items():
        with doubled([Conv2d(3, 8, (1, 1), (1, 1), (0, 0))]) as asked:
            written(network)
        assert asked == [("meta", model, {"weights": None, **words})], asked
    assert gpu_models.TORCHVISION["tv-deeplabv3-resnet50"][2] == {"weights_backbone": None}


def test_what_the_meta_device_lacks_runs_on_the_cpu():
    with doubled([Conv2d(3, 8, (1, 1), (1, 1), (0, 0))], lacking=["meta"]) as asked:
        assert len(written("tv-vgg16")) == 1
    assert [device for device, _, _ in asked] == ["meta", "cpu"]
    with doubled([Conv2d(3, 8, (1, 1), (1, 1), (0, 0))], lacking=["meta", "cpu"]):
        assert "torchvision 0.26 cannot" in refusal("tv-vgg16")


def refusal(network):
    try:
        written(network)
    except gpu_models.Unknown as unknown:
        return str(unknown)
    raise AssertionError("it was written")


def test_other_paddings_are_refused():
    x = types.SimpleNamespace(shape=(1, 3, 8, 8))
    for module, wanted in ((Conv2d(3, 8, (3, 3), (1, 1), "same"), "'same'"),
                           (Conv2d(3, 8, (3, 3), (1, 1), (1, 1), 1, "reflect"), "'reflect'")):  # fmt: skip
        try:
            gpu_models.layer_of(module, x, x)
        except gpu_models.Unknown as unknown:
            assert wanted in str(unknown)
        else:
            raise AssertionError(f"{wanted} was taken")


def test_without_torchvision_the_remedy_is_named():
    held = {name: sys.modules.get(name) for name in ("torch", "torchvision")}
    sys.modules.update(torch=None, torchvision=None)  # import raises for these
    try:
        said = refusal("tv-vgg16")
    finally:
        for name, module in held.items():
            if module is None:
                del sys.modules[name]
            else:
                sys.modules[name] = module
    assert "torchvision" in said and "--tables" in said


tap.run(globals(), "gpu_models")
