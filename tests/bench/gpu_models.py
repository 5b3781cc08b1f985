"""Networks of bench_gpu.py that come with no layer table: torchvision's own definitions, and two U-Nets.

write_table() makes a layer table (coordinator/import/LAYER_TABLES.md) of a network. Networks of torchvision are built on
PyTorch's meta device, which holds no data and computes nothing but shapes, and run once; each convolution that runs is
noted. A network with an operator that the meta device lacks is run on the CPU. The U-Nets' layers follow from their papers and need no PyTorch.
"""
import collections
import csv
import sys


class Unknown(Exception):
    """A network's layers cannot be had here, for the reason in the text."""


# By the set's network: torchvision's name of the model, what an input is, and what its constructor must be told. Nothing
# is downloaded: the weights are None, those of a backbone too.
TORCHVISION = {
    "tv-densenet121": ("densenet121", (3, 224, 224), {}),
    "tv-inception-v3": ("inception_v3", (3, 299, 299), {"init_weights": False}),
    "tv-googlenet": ("googlenet", (3, 224, 224), {"init_weights": False}),
    "tv-efficientnet-b0": ("efficientnet_b0", (3, 224, 224), {}),
    "tv-convnext-tiny": ("convnext_tiny", (3, 224, 224), {}),
    "tv-regnet-y-8gf": ("regnet_y_8gf", (3, 224, 224), {}),
    "tv-regnet-x-8gf": ("regnet_x_8gf", (3, 224, 224), {}),
    "tv-deeplabv3-resnet50": ("deeplabv3_resnet50", (3, 520, 520), {"weights_backbone": None}),
    "tv-vgg16": ("vgg16", (3, 224, 224), {}),
    "tv-r3d-18": ("r3d_18", (3, 16, 112, 112), {}),
    "tv-r2plus1d-18": ("r2plus1d_18", (3, 16, 112, 112), {}),
}
# A layer's columns: mode, c, k and groups have one value as in a layer table, the others a list of two or three sizes.
Layer = collections.namedtuple("Layer", "mode c k groups inp fil pad stride dilation out")
# The table's columns of each of these lists, by depth, height and width.
COLUMNS = {
    "inp": ("d", "h", "w"), "fil": ("z", "y", "x"), "pad": ("pd", "p", "q"), "stride": ("sd", "u", "v"),
    "dilation": ("dilation_d", "l", "j"), "out": ("od", "oh", "ow"),
}  # fmt: skip


# ---- torchvision


def layer_of(module, x, y):
    """The layer of a module that made y of x."""
    if isinstance(module.padding, str):
        raise Unknown(f"a convolution has the padding '{module.padding}'; bench_gpu reads numbers")
    if module.padding_mode != "zeros":
        raise Unknown(f"a convolution pads with '{module.padding_mode}'; there are problems with zeros alone")
    return Layer(
        "trans" if module.transposed else "conv", x.shape[1], y.shape[1], module.groups, tuple(x.shape[2:]),
        tuple(module.kernel_size), tuple(module.padding), tuple(module.stride), tuple(module.dilation), tuple(y.shape[2:]),
    )  # fmt: skip


def torchvision_layers(torch, torchvision, name):
    """The convolutions that run when the network is run: (name, Layer) each."""
    try:
        return layers_on(torch, torchvision, name, "meta")
    except NotImplementedError as error:  # an operator that has no shapes alone; it takes seconds on the CPU
        print(f"bench_gpu: {name} is run on the CPU for its layers: {str(error).splitlines()[0]}", file=sys.stderr)
        return layers_on(torch, torchvision, name, "cpu")


def layers_on(torch, torchvision, name, device):
    model_name, shape, words = TORCHVISION[name]
    layers = []
    nn = torch.nn
    kinds = (nn.Conv2d, nn.Conv3d, nn.ConvTranspose2d, nn.ConvTranspose3d)
    with torch.device(device):
        model = torchvision.models.get_model(model_name, weights=None, **words).eval()
        x = torch.empty(1, *shape)
    for place, module in model.named_modules():
        if isinstance(module, kinds):

            def note(module, inputs, output, place=place):
                layers.append((place, layer_of(module, inputs[0], output)))

            module.register_forward_hook(note)
    with torch.no_grad():
        model(x)
    return layers


# ---- U-Nets


def conv(c, k, inp, size, pad=0, stride=1):
    """A convolution of cubes or squares: inp has its two or three sizes, all others are the same along each axis."""
    dims = len(inp)
    out = tuple((edge + 2 * pad - size) // stride + 1 for edge in inp)
    each = [(number,) * dims for number in (size, pad, stride, 1)]
    return Layer("conv", c, k, 1, tuple(inp), *each, out)


def diffusion_layers():
    """The U-Net of Stable Diffusion 1 for images of 512x512: Rombach et al., "High-Resolution Image Synthesis with Latent
    Diffusion Models", 2022: latents of 4x64x64, channels 320, 640, 1280, 1280, two residual blocks a level, attention in
    all levels but the last, whose projections are 1x1 convolutions."""
    widths, edge = (320, 640, 1280, 1280), 64
    layers, skips, c = [("in", conv(4, 320, (edge, edge), 3, 1))], [320], 320

    def block(name, c, k):
        layers.append((f"{name}/conv1", conv(c, k, (edge, edge), 3, 1)))
        layers.append((f"{name}/conv2", conv(k, k, (edge, edge), 3, 1)))
        if c != k:
            layers.append((f"{name}/shortcut", conv(c, k, (edge, edge), 1)))

    def attention(name, c):
        for end in ("in", "out"):
            layers.append((f"{name}/project-{end}", conv(c, c, (edge, edge), 1)))

    for level, k in enumerate(widths):
        for number in (1, 2):
            block(f"down{level + 1}_{number}", c, k)
            if level < 3:
                attention(f"down{level + 1}_{number}", k)
            c = k
            skips.append(c)
        if level < 3:
            layers.append((f"down{level + 1}/half", conv(c, c, (edge, edge), 3, 1, 2)))
            edge //= 2
            skips.append(c)
    block("middle_1", c, c)
    attention("middle", c)
    block("middle_2", c, c)
    for level, k in reversed(list(enumerate(widths))):
        for number in (1, 2, 3):
            block(f"up{level + 1}_{number}", c + skips.pop(), k)
            if level < 3:
                attention(f"up{level + 1}_{number}", k)
            c = k
        if level > 0:
            edge *= 2
            layers.append((f"up{level + 1}/double", conv(c, c, (edge, edge), 3, 1)))
    layers.append(("out", conv(c, 4, (edge, edge), 3, 1)))
    return layers


def unet3d_layers():
    """The 3D U-Net of Cicek et al., "3D U-Net: Learning Dense Volumetric Segmentation from Sparse Annotation", 2016: figure
    2, with unpadded 3x3x3 convolutions, three input channels and three classes."""
    inp, c, layers, skips = (116, 132, 132), 3, [], []

    def shrink(name, c, k, inp):
        layer = conv(c, k, inp, 3)
        layers.append((name, layer))
        return layer.out

    for level, k in enumerate((32, 64, 128, 256)):
        inp = shrink(f"down{level + 1}/conv1", c, k, inp)
        inp = shrink(f"down{level + 1}/conv2", k, 2 * k, inp)
        c = 2 * k
        if level < 3:
            skips.append(c)
            inp = tuple(edge // 2 for edge in inp)
    for level in (3, 2, 1):
        out = tuple(2 * edge for edge in inp)
        two, none, one = (2, 2, 2), (0, 0, 0), (1, 1, 1)
        layers.append((f"up{level}/double", Layer("trans", c, c, 1, inp, two, none, two, one, out)))
        skip = skips.pop()
        inp = shrink(f"up{level}/conv1", c + skip, skip, out)
        inp = shrink(f"up{level}/conv2", skip, skip, inp)
        c = skip
    layers.append(("classes", conv(c, 3, inp, 1)))
    return layers


UNETS = {"unet-diffusion": diffusion_layers, "unet3d": unet3d_layers}


# ---- the table


def merged(layers):
    """Equal layers once: (name of the first one, Layer, how often)."""
    counts, names = collections.Counter(), {}
    for name, layer in layers:
        counts[layer] += 1
        names.setdefault(layer, name)
    return [(names[layer], layer, count) for layer, count in counts.items()]


def row_of(name, layer, count):
    row = {"layer": name, "mult": count, "nd": len(layer.inp), "mode": layer.mode, "c": layer.c, "k": layer.k,
           "g": layer.groups}  # fmt: skip
    for field, columns in COLUMNS.items():
        sizes = getattr(layer, field)
        row.update(zip(columns[3 - len(sizes) :], sizes))
    return row


def write_table(network, path):
    """Writes the layer table of a network; Unknown where its layers cannot be had."""
    if network in UNETS:
        layers, source = UNETS[network](), "the paper's figure"
    else:
        try:
            import torch
            import torchvision
        except ImportError as error:
            raise Unknown(
                f"{network} is torchvision's, which is not here ({error}); take a table from a host that has it: "
                "--tables FOLDER"
            ) from None
        try:
            layers, source = torchvision_layers(torch, torchvision, network), f"torchvision {torchvision.__version__}"
        except (RuntimeError, ValueError, TypeError) as error:
            version = torchvision.__version__
            raise Unknown(f"{network}: torchvision {version} cannot build or run it: {error}") from None
    dims = {len(layer.inp) for _, layer in layers}
    columns = [column for columns in COLUMNS.values() for column in columns[3 - max(dims) :]]
    with open(path, "w", encoding="utf-8", newline="") as file:
        print(f"# {network}, from {source}", file=file)
        table = csv.DictWriter(file, ["layer", "mult", "nd", "mode", "c", "k", "g", *columns], lineterminator="\n")
        table.writeheader()
        for name, layer, count in merged(layers):
            table.writerow(row_of(name, layer, count))
