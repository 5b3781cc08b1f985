/*
 * 1x1 convolutions in AMD assembly, after MIOpen's ConvAsm1x1U: stride 1, no padding, FP32, packed NCHW, 2D,
 * one group; F, and B computed as F with the filter transposed; gfx900, gfx906, gfx908, gfx90a and gfx942. Static:
 * the shape and the config are symbols of conv_asm_1x1.s, which explains them. Tests assemble and interpret it; it
 * has not run on a device.
 */
#include "solvers/common/conv_common.h"
#include "solvers/framework/solver_rows.h"

#include <string.h>

enum { READ_SIZE, CHUNKS, K_MULT, C_MULT, WAVES_C, PARAM_COUNT };

#define WAVE_SIZE     64
/* the most filter elements of a step of the loop; they take twice as many scalar registers */
#define FILTERS_MAX   32
/* vector registers of a lane; this many allow at least two waves on a SIMD */
#define REGISTERS_MAX 128
#define REACH_BYTES   (1 << 20) /* bytes that a scalar load's own offset reaches */
#define GRID_MAX      65535     /* the most workgroups along the grid's second axis */

static const char *const sources[] = {"conv_asm_1x1.s", NULL};

static const int32_t read_sizes[] = {1, 2, 4}, chunks[] = {1, 2, 4}, k_mults[] = {1, 2, 4, 8, 16},
                     c_mults[] = {1, 2, 4, 8}, waves[] = {1, 2, 4};
static const struct space_param params[PARAM_COUNT] = {
    [READ_SIZE] = {"READ_SIZE", G_N_ELEMENTS(read_sizes), read_sizes},
    [CHUNKS] = {"CHUNKS", G_N_ELEMENTS(chunks), chunks},
    [K_MULT] = {"K_MULT", G_N_ELEMENTS(k_mults), k_mults},
    [C_MULT] = {"C_MULT", G_N_ELEMENTS(c_mults), c_mults},
    [WAVES_C] = {"WAVES_C", G_N_ELEMENTS(waves), waves},
};

/* ---- sizes ---- */

/* inputs_of(): channels that are summed over (F: c, B: k). outputs_of(): channels that are computed. */
static int64_t inputs_of(const struct problem *p)
{
    return p->direction == DIRECTION_F ? p->c : p->k;
}

static int64_t outputs_of(const struct problem *p)
{
    return p->direction == DIRECTION_F ? p->k : p->c;
}

static int64_t image_of(const struct problem *p)
{
    return p->in[AXIS_H] * p->in[AXIS_W];
}

/* Vector registers of a lane as the kernel assigns them: indices, two sets of x (one being multiplied, one being
 * loaded), and sums. */
static int64_t registers_of(const int32_t *values)
{
    int64_t items = (int64_t)values[CHUNKS] * values[READ_SIZE];
    int64_t indices = (4 + 2 * (int64_t)values[CHUNKS] + 3) / 4 * 4;
    int64_t loaded = (2 * values[C_MULT] * items + 3) / 4 * 4;

    return indices + loaded + values[K_MULT] * items;
}

static int64_t workgroups_of(const struct problem *p, const int32_t *values)
{
    int64_t positions = (int64_t)WAVE_SIZE * values[READ_SIZE] * values[CHUNKS];

    return conv_divide_up(p->n * image_of(p), positions) * (outputs_of(p) / values[K_MULT]);
}

/* ---- the space ---- */

static bool read_size_divides_image(const struct problem *p, const struct context *context,
                                    const int32_t *values)
{
    (void)context;
    return image_of(p) % values[READ_SIZE] == 0;
}

static bool k_mult_divides_outputs(const struct problem *p, const struct context *context,
                                   const int32_t *values)
{
    (void)context;
    return outputs_of(p) % values[K_MULT] == 0;
}

static bool filter_suits_scalars(const struct problem *p, const struct context *context,
                                 const int32_t *values)
{
    bool forward = p->direction == DIRECTION_F;
    int64_t rows = forward ? values[K_MULT] : values[C_MULT];
    int64_t row_bytes = 4 * (forward ? inputs_of(p) : outputs_of(p));

    (void)context;
    return values[K_MULT] * values[C_MULT] <= FILTERS_MAX && (rows - 1) * row_bytes < REACH_BYTES;
}

static bool sums_fit_registers(const struct problem *p, const struct context *context,
                               const int32_t *values)
{
    (void)p;
    (void)context;
    return registers_of(values) <= REGISTERS_MAX;
}

static bool waves_divide_inputs(const struct problem *p, const struct context *context,
                                const int32_t *values)
{
    (void)context;
    return inputs_of(p) % ((int64_t)values[C_MULT] * values[WAVES_C]) == 0;
}

static bool sums_fit_local_memory(const struct problem *p, const struct context *context,
                                  const int32_t *values)
{
    int64_t sums = (int64_t)values[K_MULT] * values[CHUNKS] * values[READ_SIZE];

    (void)p;
    return (values[WAVES_C] - 1) * sums * WAVE_SIZE * 4 <= context->target->local_bytes;
}

static const struct space_constraint constraints[] = {
    {"read_size_divides_image", "tensors", READ_SIZE + 1, read_size_divides_image},
    {"k_mult_divides_outputs", "tensors", K_MULT + 1, k_mult_divides_outputs},
    {"filter_suits_scalars", "scalar registers", C_MULT + 1, filter_suits_scalars},
    {"sums_fit_registers", "registers", C_MULT + 1, sums_fit_registers},
    {"waves_divide_inputs", "tensors", WAVES_C + 1, waves_divide_inputs},
    {"sums_fit_local_memory", "local memory", WAVES_C + 1, sums_fit_local_memory},
};

static const struct space space = {PARAM_COUNT, params, G_N_ELEMENTS(constraints), constraints};

static bool holds(const struct problem *p, const struct context *context, const int32_t *values)
{
    for (size_t i = 0; i < G_N_ELEMENTS(constraints); i++) {
        if (!constraints[i].holds(p, context, values))
            return false;
    }
    return true;
}

/* Sets a parameter to its largest value up to `most` that all constraints allow; the value 1 always holds. */
static void raise_value(const struct problem *p, const struct context *context, int param,
                        int32_t most, int32_t *values)
{
    for (values[param] = most; values[param] > 1 && !holds(p, context, values);)
        values[param] /= 2;
}

static void conv_asm_1x1_default_config(const struct problem *p, const struct context *context,
                                        struct perf_config *config)
{
    int32_t *values = config->values;

    config->count = PARAM_COUNT;
    for (int i = 0; i < PARAM_COUNT; i++)
        values[i] = 1;
    raise_value(p, context, READ_SIZE, 4, values);
    raise_value(p, context, K_MULT, 8, values);
    raise_value(p, context, C_MULT, 4, values);
    if (workgroups_of(p, values) < 4 * (int64_t)context->target->compute_units)
        raise_value(p, context, WAVES_C, 4, values);
}

/* ---- what it serves ---- */

static bool serves_target(const struct target *target)
{
    static const char *const served[] = {"gfx900", "gfx906", "gfx908", "gfx90a", "gfx942"};

    for (size_t i = 0; target->vendor == VENDOR_AMD && i < G_N_ELEMENTS(served); i++) {
        if (strcmp(target->arch, served[i]) == 0)
            return true;
    }
    return false;
}

static bool is_fp32_nchw(const struct problem *p)
{
    for (int t = 0; t < TENSOR_COUNT; t++) {
        if (p->type[t] != TYPE_FP32 || p->layout[t] != LAYOUT_NCHW)
            return false;
    }
    return true;
}

static bool is_pointwise(const struct problem *p)
{
    for (int a = AXIS_H; a < AXIS_COUNT; a++) {
        if (p->fil[a] != 1 || p->pad[a] != 0 || p->stride[a] != 1)
            return false;
    }
    return p->spatial_dim == 2 && p->groups == 1;
}

/* Whether offsets in bytes fit 32 bits and counts of positions 31 bits. */
static bool sizes_fit(const struct problem *p)
{
    const double most = 2147483647.0;
    double positions = (double)p->n * (double)p->in[AXIS_H] * (double)p->in[AXIS_W];

    return 4 * positions * (double)MAX(p->c, p->k) <= most &&
           4 * (double)p->c * (double)p->k <= most && MAX(p->c, p->k) <= GRID_MAX;
}

static bool conv_asm_1x1_is_applicable(const struct problem *p, const struct context *context,
                                       const char **reason)
{
    if (!serves_target(context->target))
        *reason = "needs gfx900, gfx906, gfx908, gfx90a or gfx942";
    else if (p->direction == DIRECTION_W)
        *reason = "needs direction F or B";
    else if (!is_fp32_nchw(p))
        *reason = "needs FP32 tensors in NCHW";
    else if (!is_pointwise(p))
        *reason = "needs a 2D filter of one position, no padding, stride 1 and one group";
    else if (!sizes_fit(p))
        *reason = "needs tensors of less than 2 GiB and at most 65535 channels";
    else
        return conv_is_plain(p, reason);
    return false;
}

/* An estimate without a measurement: as fast as the tiles of matrix products, with less work around the products. */
static double conv_asm_1x1_estimate(const struct problem *p, const struct context *context)
{
    (void)p;
    (void)context;
    return 30.0;
}

/* ---- the launch ---- */

/* Adds the symbols for dividing by `by`: for a number q below 2^31 the quotient is q * MAGIC / 2^(32 + SHIFT),
 * rounded down. With l = ceil(log2(by)), MAGIC = floor(2^(31 + l) / by) + 1 exceeds the exact factor by less than a
 * 2^-31 part (Granlund and Montgomery, "Division by Invariant Integers using Multiplication", 1994). */
static void add_division(struct launch *launch, int64_t by)
{
    int log = 0;

    while ((INT64_C(1) << log) < by)
        log++;
    launch_option_int(launch, "MAGIC",
                      by > 1 ? (int64_t)((UINT64_C(1) << (31 + log)) / (uint64_t)by) + 1 : 0);
    launch_option_int(launch, "SHIFT", MAX(log - 1, 0));
}

static void add_options(const struct problem *p, const int32_t *values, struct launch *launch)
{
    for (int i = 0; i < PARAM_COUNT; i++)
        launch_option_int(launch, params[i].name, values[i]);
    launch_option_int(launch, "INPUTS", inputs_of(p));
    launch_option_int(launch, "OUTPUTS", outputs_of(p));
    launch_option_int(launch, "IMAGE", image_of(p));
    launch_option_int(launch, "POSITIONS", p->n * image_of(p));
    launch_option_int(launch, "TRANSPOSED", p->direction == DIRECTION_B);
    add_division(launch, image_of(p));
    launch_sort_options(launch);
}

static bool conv_asm_1x1_solve(const struct problem *p, const struct context *context,
                               const struct perf_config *config, struct solution *solution,
                               GError **error)
{
    const int32_t *values = config->values;
    struct launch *launch = solution_add_launch(solution, "conv_asm_1x1.s", "conv_asm_1x1");
    const int64_t outputs = outputs_of(p) / values[K_MULT];
    const int items = WAVE_SIZE * values[WAVES_C];
    const int64_t grid[] = {workgroups_of(p, values) / outputs * items, outputs, 1};

    (void)context;
    (void)error;
    add_options(p, values, launch);
    launch_arg_tensor(launch, conv_first_input(p));
    launch_arg_tensor(launch, TENSOR_W);
    launch_arg_tensor(launch, problem_output_role(p));
    launch_set_grid(launch, grid, (const int[3]){items, 1, 1});
    conv_set_full_work(p, solution);
    return true;
}

const struct solver solver_conv_asm_1x1 = {
    .provider = "skipjack",
    .name = "ConvAsm1x1",
    .revision = 1,
    .algorithm = "Direct",
    .native = true,
    .sources = sources,
    .is_applicable = conv_asm_1x1_is_applicable,
    .estimate = conv_asm_1x1_estimate,
    .default_config = conv_asm_1x1_default_config,
    .space = &space,
    .solve = conv_asm_1x1_solve,
};
