"""gpu_sets.py: names, samples and problems, the latter with the program of SKIPJACK. Prints TAP."""
import argparse
import os
import pathlib
import re
import tempfile

import gpu_sets
import tap

PROGRAM = os.environ.get("SKIPJACK", "build/skipjack")


def options(folder, **more):
    return argparse.Namespace(**{"skipjack": PROGRAM, "out": pathlib.Path(folder), "tables": None, "files": {},
                                 "directions": "FBW", **more})  # fmt: skip


def problems(name, **more):
    with tempfile.TemporaryDirectory() as folder:
        return gpu_sets.problems_of(options(folder, **more), name)


def refusal(function, *args, **words):
    try:
        function(*args, **words)
    except gpu_sets.Unknown as unknown:
        return str(unknown)
    raise AssertionError("it was taken")


def test_a_name_says_network_type_layout_and_batch():
    assert gpu_sets.set_of("tv-vgg16-bf16-nhwc") == ("tv-vgg16", 32, "BF16", "NHWC", False)
    assert gpu_sets.set_of("unet3d-fp16-ndhwc-b4") == ("unet3d", 4, "FP16", "NDHWC", False)
    assert gpu_sets.set_of("resnet50-v1.5-fused-fp32-nchw-b1") == ("resnet50-v1.5", 1, "FP32", "NCHW", True)


def test_other_names_are_refused_with_what_there_is():
    for name in ("vgg", "tv-vgg16-fp8-nhwc", "tv-vgg16-fp16-ndhwc", "unet3d-fp16-nhwc", "tv-vgg16-fp16-nhwc-b0",
                 "resnet50-v1.5-fused-fp32-nchw-b1-b2"):  # fmt: skip
        assert "tv-densenet121" in refusal(gpu_sets.set_of, name), name


def test_groups_and_names_keep_the_users_order():
    names = gpu_sets.chosen("unet3d-fp16-ndhwc,fused,unet3d-fp16-ndhwc,tv-vgg16-fp16-nhwc-b8")
    assert names == ["unet3d-fp16-ndhwc", *gpu_sets.FUSED_SETS, "tv-vgg16-fp16-nhwc-b8"]
    refusal(gpu_sets.chosen, "fused,vgg")


def test_every_set_is_in_a_group():
    assert {name for _, names in gpu_sets.GROUPS.values() for name in names} == set(gpu_sets.SETS)


def test_a_direction_is_read_from_a_key():
    ends = {"-FP16-F": "F", "-FP32-B_g32": "B", "-FP16-W": "W", "-FP16-F_g2+bias+relu": "F", "-FP32-B_sx9x8": "B"}
    for end, direction in ends.items():
        assert gpu_sets.direction_of(f"64-56-56-3x3-64-56-56-16-1x1-1x1-1x1-0-NCHW{end}") == direction, end


def test_a_larger_sample_holds_the_smaller_one():
    every = [(1, f"{size}-NCHW-FP32-{direction}") for size in range(40) for direction in "FBW"]
    small, large = gpu_sets.sample(every, 4), gpu_sets.sample(every, 9)
    assert len(small) == 12 and len(large) == 27 and set(small) < set(large)
    assert gpu_sets.sample(every[::-1], 4) == small
    assert sorted(gpu_sets.sample(every, 0)) == sorted(every) and len(gpu_sets.sample(every, 99)) == len(every)


def test_the_first_problems_are_of_all_directions_and_sizes():
    first = gpu_sets.sample(problems("resnet50-v1.5-fp16-nhwc"), 0)[:20]
    assert {gpu_sets.direction_of(key) for _, key in first} == set("FBW")
    assert len({key.split("-")[1] for _, key in first}) >= 4, first


def test_a_networks_layers_become_keys_with_their_multiplicities():
    found = problems("resnet50-v1.5-fp16-nhwc")
    assert sum(count for count, _ in found) == 3 * 53 and len(found) == 69
    assert all(re.search("-64-[0-9]x[0-9]-.*-NHWC-NHWC-NHWC-FP16-[FBW]$", key) for _, key in found)
    assert max(count for count, _ in found) > 1


def test_directions_are_left_out_when_they_are_not_asked_for():
    assert {gpu_sets.direction_of(key) for _, key in problems("retinanet-heads-fp32-nchw", directions="BW")} == {"B", "W"}


def test_tf32_is_asked_for_in_the_key():
    found = problems("retinanet-heads-tf32-nhwc")
    assert len(found) == 45 and all(key.endswith("_cxTF32") for _, key in found)
    assert {gpu_sets.direction_of(key) for _, key in found} == set("FBW")


def test_3d_networks_become_3d_keys():
    found = problems("unet3d-bf16-ndhwc")
    assert len(found) == 54 and all("-NDHWC-NDHWC-NDHWC-BF16-" in key for _, key in found), found[0]
    # The transposed layers' F is a convolution's B: 2x2x2 with stride 2.
    assert sum("-2x2x2-" in key and "-2x2x2-1x1x1-0-" in key for _, key in found) == 9


def test_a_file_of_problems_is_a_set():
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "mine.txt"
        gpu_sets.write_list([(3, "64-56-56-3x3-64-56-56-16-1x1-1x1-1x1-0-NCHW-FP32-F")], file)
        assert problems("mine", files={"mine": file}) == [(3, "64-56-56-3x3-64-56-56-16-1x1-1x1-1x1-0-NCHW-FP32-F")]


def test_a_table_of_an_earlier_call_is_taken():
    with tempfile.TemporaryDirectory() as folder:
        tables = pathlib.Path(folder)
        (tables / "tv-vgg16.csv").write_text("c,h,w,k,y,x,p,q,mult\n3,224,224,64,3,3,1,1,2\n", encoding="utf-8")
        found = problems("tv-vgg16-fp32-nchw-b4", tables=tables)
    assert (2, "3-224-224-3x3-64-224-224-4-1x1-1x1-1x1-0-NCHW-FP32-F") in found and len(found) == 3


tap.run(globals(), "gpu_sets")
