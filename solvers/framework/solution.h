/*
 * A solution is a solver's recipe for one problem and config: launches in order, each with its program, grid
 * and arguments as data. A solution needs no device. Its arguments name the problem's operands by their role
 * (problem.h). Sizes that depend on a tensor's strides are kinds of arguments, so that one solution serves packed
 * and non-packed tensors.
 *
 * A solution may want the filter in an order of its own. Then its first launches pack it: they read TENSOR_W and
 * write TENSOR_PACKED, and the other launches read TENSOR_PACKED. A program that runs the solution runs the packing
 * launches once for each filter, keeps the packed filter (packed_bytes), and runs the other launches as often as it
 * likes. The packed order is a function of the problem and the config alone.
 */
#ifndef SOLVERS_FRAMEWORK_SOLUTION_H
#define SOLVERS_FRAMEWORK_SOLUTION_H

#include "solvers/framework/target.h"
#include "solvers/problem/problem.h"

/* The kind of a launch's program, which the end of its file name says (kernels/program.h builds each). */
enum program_kind {
    PROGRAM_SOURCE,   /* "NAME.cl": a text in the dialect, compiled with the options */
    PROGRAM_ASSEMBLY, /* "NAME.s": AMD assembly; the options become symbols */
    PROGRAM_OBJECT,   /* "NAME.co": a ready code object; it takes no options */
};
enum program_kind program_kind_of(const char *file);

enum launch_arg_kind {
    ARG_TENSOR,    /* pointer to the operand of role .tensor */
    ARG_WORKSPACE, /* pointer .value bytes into the workspace */
    ARG_INT32,     /* .value as a 32-bit integer */
    ARG_INT64,     /* .value as a 64-bit integer */
    ARG_FLOAT32,   /* .real as a 32-bit float */
    /* stride in elements (64-bit) of logical axis .value (N C D H W) of operand .tensor (one of the STRIDED_COUNT
     * first roles), times .factor */
    ARG_STRIDE,
};

struct launch_arg {
    enum launch_arg_kind kind;
    enum tensor_role tensor;
    int64_t value;
    int64_t factor;
    double real;
};

#define LAUNCH_ARGS_MAX       64
#define LAUNCH_OPTIONS_MAX    1024
#define SOLUTION_LAUNCHES_MAX 6

/* Slices of the workspace begin at multiples of this many bytes: the strictest alignment of a buffer's part
 * among all devices (NVIDIA's OpenCL). */
#define WORKSPACE_ALIGNMENT 512
/* Rounds `bytes` up to a multiple of WORKSPACE_ALIGNMENT. */
uint64_t workspace_align(uint64_t bytes);

struct launch {
    enum program_kind program_kind;
    /* the kernel's source file, a static string: "conv_direct_naive.cl" */
    const char *file;
    const char *entry;                /* the kernel's name in the file, a static string */
    char options[LAUNCH_OPTIONS_MAX]; /* compile options "-DNAME=VALUE ...", sorted */
    /* work-items of the launch along each axis, a multiple of block */
    int64_t grid[3];
    /* work-items of a workgroup along each axis; the source has the same numbers compiled in */
    int block[3];
    int64_t local_bytes; /* bytes of dynamic local memory of a workgroup */
    int arg_count;
    struct launch_arg args[LAUNCH_ARGS_MAX];
};

/*
 * How the rounding errors of a solution compare with those of a plain sum of products, if it transforms tiles (Winograd,
 * FFT), adds up the sums of short pieces, rounds its inputs (TF32), or cuts off products (FP8 on some of NVIDIA's matrix
 * units); worker/verify/tolerance.h has the formulas. All 0 for a plain sum, in any order.
 */
struct solution_rounding {
    bool transforms; /* an element has the errors of its whole tile */
    /* Transforms: the products in the longest sum of transformed values. Pieces, rounded inputs and
     * chains: the products in the shortest sum of an output. */
    double terms;
    /* The root mean square of a tile's products in an output, divided by that of the plain sum's products: how much
     * larger the errors of the transformed sums are than those of a plain sum. */
    double growth;
    double roundings; /* of all transforms that an element's value goes through */
    /* Pieces: the most additions that a product goes through, in its piece and in the sums of pieces above it. 0 for a
     * solution that transforms or does not say. */
    double depth;
    /* The most by which an input changes before it is multiplied, divided by the input: 2^-11 for TF32 by rounding to
     * the nearest, 2^-10 by cutting off. 0 for a solution that takes inputs as they are. Only problems in TF32 allow
     * it, and it goes with a plain sum. */
    double inputs;
    /* The most that a product loses by being cut off where 32 of them are added up, by the largest of the 32; their sum loses
     * so much of itself. All else is a plain sum. 0 for a solution whose products are exact or rounded as FP32. */
    double products;
    /* The instructions of 32 products that are added up with that precision before their sum is added in FP32; 0 as 1. */
    double chain;
};

struct solution {
    int launch_count;
    struct launch launches[SOLUTION_LAUNCHES_MAX];
    /* The first pack_count launches pack the filter into packed_bytes bytes; 0 and 0 for a solution that reads the
     * filter as it is. A packing launch takes no operand but TENSOR_W and TENSOR_PACKED, and writes
     * nothing but TENSOR_PACKED and the workspace, which holds nothing of it later. The other launches do not read
     * TENSOR_W and do not write TENSOR_PACKED. */
    int pack_count;
    uint64_t packed_bytes;
    uint64_t workspace_bytes;
    /* The counts are of one run, without packing. */
    double flops;      /* operations the solution itself does (a multiply-accumulate counts as 2) */
    double read_bytes; /* compulsory: bytes it cannot avoid reading */
    double write_bytes; /* compulsory: bytes it cannot avoid writing */
    struct solution_rounding rounding;
};

void solution_init(struct solution *solution);
/* Whether the solution can be run: each launch has work-items in whole workgroups that the target takes,
 * options of the form -DNAME=VALUE, sizes within range, and arguments within the workspace.
 * SOLVERS_ERROR_INVALID names the fault. */
bool solution_validate(const struct solution *solution, const struct target *target,
                       GError **error);
/* Whether a launch's options are "" or "-DNAME=VALUE ...", with values of letters, digits and "_.+-". */
bool launch_options_valid(const char *options);
/* Appends a launch of kernel `entry` of `file`; the caller sets grid, block, options and arguments.
 */
struct launch *solution_add_launch(struct solution *solution, const char *file, const char *entry);
/* Appends " -DNAME=VALUE". Call launch_sort_options() after the last one. */
void launch_option_int(struct launch *launch, const char *name, int64_t value);
void launch_option_text(struct launch *launch, const char *name, const char *value);
void launch_sort_options(struct launch *launch);
void launch_arg_tensor(struct launch *launch, enum tensor_role role);
void launch_arg_workspace(struct launch *launch, uint64_t offset_bytes);
void launch_arg_int32(struct launch *launch, int64_t value);
void launch_arg_int64(struct launch *launch, int64_t value);
void launch_arg_float32(struct launch *launch, double value);
void launch_arg_stride(struct launch *launch, enum tensor_role role, int logical_axis);
/* Adds a stride times `factor`, the distance of several elements along an axis. */
void launch_arg_scaled_stride(struct launch *launch, enum tensor_role role, int logical_axis,
                              int64_t factor);
/* Sets block, and grid to `items` rounded up to whole workgroups. */
void launch_set_grid(struct launch *launch, const int64_t items[3], const int block[3]);
/* launch_set_grid() for a grid of one axis. */
void launch_set_line(struct launch *launch, int64_t items, int block);

#endif
