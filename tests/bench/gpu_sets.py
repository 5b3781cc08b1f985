"""The sets of bench_gpu.py: a network at a batch size, a type and a layout, or a file of problems.

A set's name is NETWORK-TYPE-LAYOUT, as in tv-vgg16-bf16-nhwc, with -bN behind it for another batch size than the network's
own. A fused set is NETWORK-fused-TYPE-LAYOUT-bN. A network's layers are those of a layer table: one of
coordinator/networks, or one that gpu_models.py makes. `skipjack import` reads the table and gives keys.
"""
import collections
import csv
import hashlib
import json
import pathlib
import re
import subprocess
import sys

import gpu_models

TABLES = pathlib.Path(__file__).resolve().parents[2] / "coordinator/networks"
TYPES = ("FP32", "TF32", "FP16", "BF16")
LAYOUTS = {2: ("NCHW", "NHWC"), 3: ("NCDHW", "NDHWC")}
# The batch size, and how many spatial dimensions. Networks that our solvers were tuned and chosen with, and others.
TUNING = {
    "resnet50-v1.5": (64, 2), "mobilenet-v2": (64, 2), "retinanet-heads": (2, 2), "resnext101-32x8d": (32, 2),
}  # fmt: skip
UNSEEN = {
    "tv-densenet121": (32, 2), "tv-inception-v3": (32, 2), "tv-googlenet": (64, 2), "tv-efficientnet-b0": (64, 2),
    "tv-convnext-tiny": (32, 2), "tv-regnet-x-8gf": (32, 2), "tv-regnet-y-8gf": (32, 2), "tv-deeplabv3-resnet50": (4, 2),
    "tv-vgg16": (32, 2), "unet": (2, 2), "unet-diffusion": (2, 2),
    "tv-r3d-18": (8, 3), "tv-r2plus1d-18": (8, 3), "unet3d": (1, 3),
}  # fmt: skip
NETWORKS = {**TUNING, **UNSEEN}
Set = collections.namedtuple("Set", "network batch type layout fused", defaults=(False,))
FUSED_SETS = {
    f"resnet50-v1.5-fused-{kind.lower()}-{layout.lower()}-b{batch}": Set("resnet50-v1.5", batch, kind, layout, True)
    for batch in (1, 64)
    for kind, layout in (("FP16", "NHWC"), ("FP16", "NCHW"), ("FP32", "NCHW"), ("FP32", "NHWC"))
}
PLAIN_SETS = {
    f"{network}-{kind.lower()}-{layout.lower()}": Set(network, batch, kind, layout)
    for network, (batch, dims) in NETWORKS.items()
    for kind in TYPES
    for layout in LAYOUTS[dims]
}
SETS = {**PLAIN_SETS, **FUSED_SETS}


def names_of(networks, dims):
    return [name for name, made in PLAIN_SETS.items() if made.network in networks and NETWORKS[made.network][1] == dims]


# Names that stand for several sets.
GROUPS = {
    "tuning": ("the networks that our solvers were tuned and chosen with", names_of(TUNING, 2)),
    "unseen": ("2D networks that no other bench of ours names", names_of(UNSEEN, 2)),
    "3d": ("3D networks", names_of(UNSEEN, 3)),
    "fused": ("ResNet-50 with bias, residual add and ReLU", list(FUSED_SETS)),
}
# The steps behind a layer, by the end of its name: a block's last convolution adds the shortcut, which has no ReLU of
# its own.
FUSED_STEPS = {"/expand": "+bias+add({type},{layout})+relu", "/shortcut": "+bias", "": "+bias+relu"}


class Unknown(Exception):
    """There is no such set, or its problems cannot be had, for the reason in the text."""


def set_of(name):
    """The set of a name; Unknown for any other."""
    if name in SETS:
        return SETS[name]
    sized = re.fullmatch(r"(.+)-b([1-9][0-9]*)", name)
    if sized and sized[1] in PLAIN_SETS:
        return PLAIN_SETS[sized[1]]._replace(batch=int(sized[2]))
    raise Unknown(
        f"{name}: no such set; a set is NETWORK-TYPE-LAYOUT or that with -bN behind it, of the networks"
        f" {' '.join(NETWORKS)}, the types {' '.join(TYPES).lower()} and the layouts nchw nhwc (3D: ncdhw ndhwc);"
        f" one of {' '.join(FUSED_SETS)}; or one of the groups {' '.join(GROUPS)}"
    )


def chosen(text):
    """The names of a list as the user writes it, in its order, each once, groups replaced by their sets."""
    names = []
    for name in text.split(","):
        names += GROUPS[name][1] if name in GROUPS else [name]
    for name in names:
        set_of(name)
    return list(dict.fromkeys(names))


# ---- a set's problems


def fused_keys(made):
    """The network's forward layers with the steps behind them, as keys; a layer as often as it occurs."""
    keys, layout, kind = [], made.layout, made.type
    with open(TABLES / f"{made.network}.csv", encoding="utf-8") as table:
        for row in csv.DictReader(line for line in table if not line.startswith("#")):
            end = next(end for end in FUSED_STEPS if row["layer"].endswith(end))
            layouts = layout if layout == "NCHW" else "-".join([layout] * 3)
            groups = f"_g{row['g']}" if row["g"] != "1" else ""
            sizes = "{c}-{h}-{w}-{y}x{x}-{k}-{oh}-{ow}-{batch}-{p}x{q}-{u}x{v}-{l}x{j}-0".format(batch=made.batch, **row)
            steps = FUSED_STEPS[end].format(type=kind, layout=layout)
            keys += [f"{sizes}-{layouts}-{kind}-F{groups}{steps}"] * int(row["mult"])
    return keys


def table_of(network, folder):
    """The file of a network's layers. folder: where tables that are made here go, and where those of an earlier call
    are taken from."""
    shipped, made = TABLES / f"{network}.csv", folder / f"{network}.csv"
    if shipped.exists():
        return shipped
    if not made.exists():
        folder.mkdir(parents=True, exist_ok=True)
        half = made.with_suffix(".new")
        try:
            gpu_models.write_table(network, half)
        except gpu_models.Unknown as unknown:
            raise Unknown(str(unknown)) from None
        half.replace(made)
    return made


def listed(skipjack, file, words=()):
    """(multiplicity, key) of each problem that `skipjack import` reads from a file."""
    command = [skipjack, "import", str(file), "--dry-run", "--list", "--json", *words]
    read = subprocess.run(command, check=False, stdout=subprocess.PIPE, text=True)
    if read.returncode != 0:
        raise Unknown(f"{file}: {' '.join(command)} ended with status {read.returncode}")
    held = json.loads(read.stdout)
    if held["skipped"]:
        print(f"bench_gpu: {file}: {len(held['skipped'])} lines cannot be used: {held['skipped'][0]['reason']}",
              file=sys.stderr)  # fmt: skip
    return [(entry["multiplicity"], entry["key"]) for entry in held["list"]]


def direction_of(key):
    """F, B or W, of a key; F for operators that have no other."""
    found = re.search(r"-([FBW])(?:[_+]|$)", key)
    return found[1] if found else "F"


def sample(problems, count):
    """count problems of each direction, or all with 0, in the order of their keys' hashes: the first ones are like all, and a
    larger sample holds a smaller one."""
    ordered = sorted(problems, key=lambda problem: hashlib.sha256(problem[1].encode()).hexdigest())
    seen, kept = collections.Counter(), []
    for multiplicity, key in ordered:
        seen[direction_of(key)] += 1
        if not count or seen[direction_of(key)] <= count:
            kept.append((multiplicity, key))
    return kept


def problems_of(options, name):
    """All problems of a set in the directions asked for, before a sample is taken. Unknown where they cannot be had."""
    if name in options.files:
        problems = listed(options.skipjack, options.files[name])
    elif set_of(name).fused:
        counts = collections.Counter(fused_keys(set_of(name)))
        problems = [(count, key) for key, count in counts.items()]
    else:
        made = set_of(name)
        table = table_of(made.network, options.tables or options.out / "tables")
        words = ["--batch", str(made.batch), "--dtype", made.type, "--layout", made.layout, "--direction", "FBW"]
        problems = listed(options.skipjack, table, words)
    return [(count, key) for count, key in problems if direction_of(key) in options.directions]


def write_list(problems, path):
    """As `skipjack tune` reads it: a line a problem, its multiplicity in front of its key."""
    path.write_text("".join(f"{count}\t{key}\n" for count, key in problems), encoding="utf-8")
