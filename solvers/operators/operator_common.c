#include "solvers/operators/operator_common.h"

#include <string.h>

#include "solvers/common/conv_common.h"
#include "solvers/common/conv_epilogue.h"

/* Work-items of a workgroup of the naive form. */
#define NAIVE_ITEMS     64
/* Elements of a piece that a GPU's work-item can keep in registers. */
#define GPU_VECTOR_MOST 8
#define GPU_PIECES_MOST 8
#define PIECE_BYTES     16
/* Kernels count positions in int, up to a piece or tile past an axis' end. */
#define LENGTH_MOST     (INT32_MAX - 4096)

/* ---- axes ---- */

/* The logical axes of a layout, outermost first. */
static void layout_order(enum layout layout, int order[OPERATOR_AXES])
{
    static const int channels_last[] = {OPERATOR_N, OPERATOR_D, OPERATOR_H, OPERATOR_W, OPERATOR_C};
    static const int batch_last[] = {OPERATOR_C, OPERATOR_D, OPERATOR_H, OPERATOR_W, OPERATOR_N};
    static const int channels_first[] = {OPERATOR_N, OPERATOR_C, OPERATOR_D, OPERATOR_H,
                                         OPERATOR_W};
    const int *chosen = channels_first;

    if (layout == LAYOUT_NHWC || layout == LAYOUT_NDHWC)
        chosen = channels_last;
    else if (layout == LAYOUT_CHWN || layout == LAYOUT_CHWNC4 || layout == LAYOUT_CHWNC8)
        chosen = batch_last;
    memcpy(order, chosen, sizeof(channels_first));
}

void operator_axes_init(const struct problem *p, struct operator_axes *axes)
{
    static const enum tensor_role roles[] = {TENSOR_X, TENSOR_Y, TENSOR_RESIDUAL};
    int order[OPERATOR_AXES];
    int64_t sizes[OPERATOR_AXES];

    *axes = (struct operator_axes){.count = OPERATOR_AXES};
    layout_order(p->layout[TENSOR_Y], order);
    problem_operand_sizes(p, TENSOR_Y, sizes);
    for (int i = 0; i < OPERATOR_AXES; i++) {
        axes->logical[i] = order[i];
        axes->size[i] = sizes[order[i]];
    }
    for (gsize r = 0; r < G_N_ELEMENTS(roles); r++) {
        int64_t strides[OPERATOR_AXES];
        if (!problem_has_operand(p, roles[r]))
            continue;
        problem_strides(p, roles[r], strides);
        for (int i = 0; i < OPERATOR_AXES; i++)
            axes->stride[roles[r]][i] = strides[order[i]];
    }
    if (p->spatial_dim == 2)
        operator_axes_drop(axes, OPERATOR_D);
}

static void remove_axis(struct operator_axes *axes, int at)
{
    if (axes->count == 1) {
        axes->size[0] = 1;
        return;
    }
    axes->count--;
    for (int i = at; i < axes->count; i++) {
        axes->logical[i] = axes->logical[i + 1];
        axes->size[i] = axes->size[i + 1];
        for (int t = 0; t < STRIDED_COUNT; t++)
            axes->stride[t][i] = axes->stride[t][i + 1];
    }
}

void operator_axes_drop(struct operator_axes *axes, int logical)
{
    for (int i = 0; i < axes->count; i++) {
        if (axes->logical[i] == logical) {
            remove_axis(axes, i);
            return;
        }
    }
}

/* Whether axis i and the next one lie in every tensor as one axis would. */
static bool is_one_axis(const struct operator_axes *axes, int i)
{
    if (axes->size[i] * axes->size[i + 1] > LENGTH_MOST)
        return false;
    for (int t = 0; t < STRIDED_COUNT; t++) {
        if (axes->stride[t][i] != axes->stride[t][i + 1] * axes->size[i + 1])
            return false;
    }
    return true;
}

/* Whether a step of the epilogue reads a value for each channel. */
static bool reads_channels(const struct problem *p)
{
    struct epilogue epilogue;

    if (p->epilogue[0] == '\0' || !epilogue_parse(p->epilogue, &epilogue, NULL))
        return false;
    for (int i = 0; i < epilogue.count; i++) {
        if (epilogue.steps[i].per_channel || epilogue.steps[i].op == EPILOGUE_BIAS)
            return true;
    }
    return false;
}

void operator_axes_merge(const struct problem *p, struct operator_axes *axes)
{
    bool keeps_channels = reads_channels(p);

    for (int i = axes->count - 1; i >= 0; i--) {
        if (axes->size[i] == 1)
            remove_axis(axes, i);
    }
    for (int i = axes->count - 2; i >= 0; i--) {
        bool has_channels = axes->logical[i] == OPERATOR_C || axes->logical[i + 1] == OPERATOR_C;
        if ((keeps_channels && has_channels) || !is_one_axis(axes, i))
            continue;
        axes->size[i + 1] *= axes->size[i];
        axes->logical[i + 1] = -1;
        remove_axis(axes, i);
    }
}

void operator_piece_axes(const struct problem *p, struct operator_axes *axes)
{
    operator_axes_init(p, axes);
    if (p->kind == OP_SOFTMAX)
        operator_axes_drop(axes, OPERATOR_C);
    if (p->kind == OP_POINTWISE || p->kind == OP_SOFTMAX)
        operator_axes_merge(p, axes);
}

bool operator_lanes_are_w(const struct operator_axes *axes)
{
    return axes->logical[axes->count - 1] == OPERATOR_W;
}

bool operator_channels_are_near(const struct problem *p)
{
    int64_t x[OPERATOR_AXES], y[OPERATOR_AXES];

    problem_strides(p, TENSOR_X, x);
    problem_strides(p, TENSOR_Y, y);
    return x[OPERATOR_C] == 1 && y[OPERATOR_C] == 1;
}

/* ---- what is served ---- */

static bool type_is_served(enum data_type type)
{
    return type == TYPE_FP32 || type == TYPE_FP16 || type == TYPE_BF16 || type == TYPE_INT8 ||
           type == TYPE_INT32;
}

bool operator_types_are_served(const struct problem *p, const char **reason)
{
    if (!type_is_served(p->type[TENSOR_X]) || !type_is_served(p->type[TENSOR_Y])) {
        *reason = "needs FP32, FP16, BF16, INT8 or INT32 tensors";
        return false;
    }
    return conv_epilogue_is_served(p, false, reason);
}

static double count_outputs(const struct problem *p)
{
    return (double)p->n * (double)p->k * (double)p->out[AXIS_D] * (double)p->out[AXIS_H] *
           (double)p->out[AXIS_W];
}

bool operator_count_is_served(const struct problem *p, const char **reason)
{
    const int64_t sizes[] = {p->n,          p->c,           p->in[AXIS_D],  p->in[AXIS_H],
                             p->in[AXIS_W], p->out[AXIS_D], p->out[AXIS_H], p->out[AXIS_W]};

    for (gsize i = 0; i < G_N_ELEMENTS(sizes); i++) {
        if (sizes[i] > LENGTH_MOST) {
            *reason = "needs sizes a little below 2^31";
            return false;
        }
    }
    *reason = "needs fewer than 2^32 output elements: each may be a work-item";
    return count_outputs(p) < (double)UINT32_MAX - 1024;
}

bool operator_layouts_are_plain(const struct problem *p, const char **reason)
{
    *reason = "needs layouts without blocks of channels";
    return problem_layout_block(p->layout[TENSOR_X]) == 1 &&
           problem_layout_block(p->layout[TENSOR_Y]) == 1 &&
           problem_layout_block(problem_operand_layout(p, TENSOR_RESIDUAL)) == 1;
}

/* ---- the space of pieces ---- */

static int64_t count_pieces(const struct operator_axes *axes, int vector)
{
    int64_t pieces = conv_divide_up(axes->size[axes->count - 1], vector);

    for (int i = 0; i < axes->count - 1; i++)
        pieces *= axes->size[i];
    return pieces;
}

static bool items_suit_target(const struct problem *p, const struct context *context,
                              const int32_t *values)
{
    (void)p;
    if (context_is_cpu(context))
        return values[OPERATOR_ITEMS] == 1;
    return values[OPERATOR_ITEMS] > 1 && (context->target->max_workgroup == 0 ||
                                          values[OPERATOR_ITEMS] <= context->target->max_workgroup);
}

/* A piece is in a GPU's registers. */
static bool piece_fits_registers(const struct problem *p, const struct context *context,
                                 const int32_t *values)
{
    (void)p;
    return context_is_cpu(context) || values[OPERATOR_VECTOR] <= GPU_VECTOR_MOST;
}

/* The longest piece that is useful holds a whole line. */
static bool piece_is_filled(const struct problem *p, const struct context *context,
                            const int32_t *values)
{
    struct operator_axes axes;

    (void)context;
    if (values[OPERATOR_VECTOR] == 1)
        return true;
    if (p->kind == OP_SOFTMAX && operator_channels_are_near(p))
        return values[OPERATOR_VECTOR] == 2;
    operator_piece_axes(p, &axes);
    return values[OPERATOR_VECTOR] / 2 < axes.size[axes.count - 1];
}

/* More pieces for each work-item leave fewer work-items. */
static bool pieces_keep_device_busy(const struct problem *p, const struct context *context,
                                    const int32_t *values)
{
    struct operator_axes axes;
    int64_t groups;

    if (values[OPERATOR_PIECES] == 1)
        return true;
    if (!context_is_cpu(context) && values[OPERATOR_PIECES] > GPU_PIECES_MOST)
        return false;
    operator_piece_axes(p, &axes);
    groups = count_pieces(&axes, values[OPERATOR_VECTOR]) /
             ((int64_t)values[OPERATOR_ITEMS] * values[OPERATOR_PIECES]);
    return groups >= context->target->compute_units;
}

static const struct space_param params[OPERATOR_PARAM_COUNT] = {
    [OPERATOR_ITEMS] = {"ITEMS", 5, (const int32_t[]){1, 64, 128, 256, 512}},
    [OPERATOR_VECTOR] = {"VECTOR", 8, (const int32_t[]){1, 2, 4, 8, 16, 64, 256, 1024}},
    [OPERATOR_PIECES] = {"PIECES", 7, (const int32_t[]){1, 2, 4, 8, 16, 64, 256}},
};

static const struct space_constraint constraints[] = {
    {"items_suit_target", "workgroup size", OPERATOR_ITEMS + 1, items_suit_target},
    {"piece_fits_registers", "registers", OPERATOR_VECTOR + 1, piece_fits_registers},
    {"piece_is_filled", "tuning time", OPERATOR_VECTOR + 1, piece_is_filled},
    {"pieces_keep_device_busy", "compute units", OPERATOR_PIECES + 1, pieces_keep_device_busy},
};

const struct space operator_space = {OPERATOR_PARAM_COUNT, params, G_N_ELEMENTS(constraints),
                                     constraints};

/* GPU: pieces of 16 bytes, in workgroups of 256. CPU: long pieces, and eight workgroups for each thread. */
void operator_default_config(const struct problem *p, const struct context *context,
                             struct perf_config *config)
{
    bool is_cpu = context_is_cpu(context);
    int bytes = MIN(data_type_bytes(p->type[TENSOR_X]), data_type_bytes(p->type[TENSOR_Y]));
    const struct space_param *vectors = &params[OPERATOR_VECTOR];
    const struct space_param *pieces = &params[OPERATOR_PIECES];
    int32_t most = is_cpu ? 256 : MIN(PIECE_BYTES / bytes, GPU_VECTOR_MOST);
    int32_t *values = config->values;

    *config = (struct perf_config){OPERATOR_PARAM_COUNT, {is_cpu ? 1 : 256, 1, 1}};
    for (int i = 0; i < vectors->count && vectors->values[i] <= most; i++) {
        int32_t kept = values[OPERATOR_VECTOR];
        values[OPERATOR_VECTOR] = vectors->values[i];
        if (!piece_is_filled(p, context, values))
            values[OPERATOR_VECTOR] = kept;
    }
    for (int i = 1; is_cpu && i < pieces->count; i++) {
        struct operator_axes axes;
        operator_piece_axes(p, &axes);
        if (count_pieces(&axes, values[OPERATOR_VECTOR]) / pieces->values[i] >=
            8 * (int64_t)context->target->compute_units)
            values[OPERATOR_PIECES] = pieces->values[i];
    }
}

/* ---- launches ---- */

static int axis_place(const struct operator_axes *axes, int logical)
{
    for (int i = 0; i < axes->count; i++) {
        if (axes->logical[i] == logical)
            return i;
    }
    return -1;
}

static void add_axes_options(const struct operator_launch *making)
{
    static const char *const names[] = {"N_AXIS", "C_AXIS", "D_AXIS", "H_AXIS", "W_AXIS"};

    launch_option_int(making->launch, "RANK", making->axes.count);
    for (int logical = 0; logical < OPERATOR_AXES; logical++)
        launch_option_int(making->launch, names[logical], axis_place(&making->axes, logical));
}

/* The stride along the last axis where the kernel may know it: 0 or 1. */
static void add_unit_option(const struct operator_launch *making, const char *name,
                            enum tensor_role role)
{
    int64_t stride = making->axes.stride[role][making->axes.count - 1];
    bool is_known = !making->at_run_time && (stride == 0 || stride == 1);

    launch_option_int(making->launch, name, is_known ? stride : -1);
}

static void add_tensor_options(const struct operator_launch *making)
{
    const struct problem *p = making->p;
    struct launch *launch = making->launch;

    launch_option_text(launch, "TYPE_X", data_type_name(p->type[TENSOR_X]));
    launch_option_text(launch, "TYPE_Y", data_type_name(p->type[TENSOR_Y]));
    launch_option_int(launch, "BLOCK_X", problem_layout_block(p->layout[TENSOR_X]));
    launch_option_int(launch, "BLOCK_Y", problem_layout_block(p->layout[TENSOR_Y]));
    launch_option_int(launch, "BLOCK_R",
                      problem_layout_block(problem_operand_layout(p, TENSOR_RESIDUAL)));
    add_unit_option(making, "X_UNIT", TENSOR_X);
    add_unit_option(making, "Y_UNIT", TENSOR_Y);
    add_unit_option(making, "R_UNIT", TENSOR_RESIDUAL);
}

/* Whether results are integers before the epilogue: integers of INT32, too, keep all their digits where nothing is done
 * to them. */
static const char *value_type(const struct problem *p)
{
    struct problem as_int8 = *p;

    as_int8.type[TENSOR_X] = TYPE_INT8;
    if (p->type[TENSOR_X] == TYPE_INT32 && p->epilogue[0] == '\0')
        return problem_value_is_integer(&as_int8) ? "int" : "float";
    return problem_value_is_integer(p) ? "int" : "float";
}

void operator_begin(struct operator_launch *making, struct solution *solution, const char *file,
                    const char *entry, const struct problem *p, const struct operator_axes *axes,
                    const int32_t *values)
{
    struct launch *launch = solution_add_launch(solution, file, entry);
    int64_t pieces;

    *making = (struct operator_launch){.launch = launch,
                                       .p = p,
                                       .axes = *axes,
                                       .items = values ? values[OPERATOR_ITEMS] : NAIVE_ITEMS,
                                       .vector = values ? values[OPERATOR_VECTOR] : 1,
                                       .pieces = values ? values[OPERATOR_PIECES] : 1,
                                       .at_run_time = values == NULL};
    pieces = count_pieces(axes, making->vector);
    launch_option_int(launch, "ITEMS", making->items);
    launch_option_int(launch, "VECTOR", making->vector);
    launch_option_int(launch, "PIECES", making->pieces);
    launch_option_text(launch, "INDEX", values && pieces < INT32_MAX / 2 ? "int" : "i64");
    launch_option_text(launch, "VALUE", value_type(p));
    add_axes_options(making);
    add_tensor_options(making);
    launch_arg_tensor(launch, TENSOR_X);
    launch_arg_tensor(launch, TENSOR_Y);
    if (values && pieces < INT32_MAX / 2)
        launch_arg_int32(launch, pieces);
    else
        launch_arg_int64(launch, pieces);
    for (int i = 0; i < OPERATOR_AXES; i++)
        launch_arg_int32(launch, i < axes->count ? axes->size[i] : 1);
    operator_add_axis_strides(making, TENSOR_Y);
    operator_add_axis_strides(making, TENSOR_RESIDUAL);
}

void operator_add_stride(struct operator_launch *making, enum tensor_role role, int logical)
{
    int64_t strides[OPERATOR_AXES];

    if (!problem_has_operand(making->p, role)) {
        launch_arg_int64(making->launch, 0);
    } else if (making->at_run_time) {
        launch_arg_stride(making->launch, role, logical);
    } else {
        problem_strides(making->p, role, strides);
        launch_arg_int64(making->launch, strides[logical]);
    }
}

void operator_add_axis_strides(struct operator_launch *making, enum tensor_role role)
{
    const struct operator_axes *axes = &making->axes;

    for (int i = 0; i < OPERATOR_AXES; i++) {
        if (i >= axes->count)
            launch_arg_int64(making->launch, 0);
        else if (making->at_run_time)
            operator_add_stride(making, role, axes->logical[i]);
        else
            launch_arg_int64(making->launch, axes->stride[role][i]);
    }
}

void operator_add_logical_strides(struct operator_launch *making, enum tensor_role role)
{
    for (int logical = 0; logical < OPERATOR_AXES; logical++)
        operator_add_stride(making, role, logical);
}

void operator_add_sizes(struct operator_launch *making, const int64_t sizes[AXIS_COUNT])
{
    for (int a = 0; a < AXIS_COUNT; a++)
        launch_arg_int32(making->launch, sizes[a]);
}

void operator_end(struct operator_launch *making)
{
    int64_t pieces = count_pieces(&making->axes, making->vector);

    conv_add_epilogue_options(making->p, making->launch);
    conv_add_epilogue_args(making->p, making->launch);
    launch_sort_options(making->launch);
    launch_set_line(making->launch, conv_divide_up(pieces, making->pieces), making->items);
}

/* ---- work ---- */

/* Bytes of an operand's elements that are apart: a second tensor may repeat its elements along an axis. */
static double distinct_bytes(const struct problem *p, enum tensor_role role)
{
    int64_t sizes[OPERATOR_AXES], strides[OPERATOR_AXES];
    double bytes = data_type_bytes(problem_operand_type(p, role));

    if (!problem_has_operand(p, role))
        return 0;
    problem_operand_sizes(p, role, sizes);
    problem_strides(p, role, strides);
    for (int i = 0; i < OPERATOR_AXES; i++)
        bytes *= role == TENSOR_RESIDUAL && strides[i] == 0 ? 1 : (double)sizes[i];
    return bytes;
}

/* Bytes of x that some output depends on. A resize to fewer positions depends on one for each at least. */
static double input_bytes(const struct problem *p)
{
    struct problem read = *p;

    if (p->kind == OP_POOL)
        return conv_meant_bytes(p, TENSOR_X);
    for (int a = 0; a < AXIS_COUNT; a++)
        read.in[a] = MIN(p->in[a], p->out[a]);
    return distinct_bytes(&read, TENSOR_X);
}

void operator_set_work(const struct problem *p, double operations, struct solution *solution)
{
    struct epilogue epilogue = {0};

    if (p->epilogue[0] != '\0' && !epilogue_parse(p->epilogue, &epilogue, NULL))
        g_assert_not_reached();
    solution->flops = count_outputs(p) * (operations + epilogue.count);
    solution->read_bytes = input_bytes(p) + distinct_bytes(p, TENSOR_RESIDUAL) +
                           distinct_bytes(p, TENSOR_BIAS) + distinct_bytes(p, TENSOR_SCALES);
    solution->write_bytes = distinct_bytes(p, TENSOR_Y);
}

double operator_naive_estimate(const struct problem *p, const struct context *context)
{
    (void)p;
    (void)context;
    return 1.0;
}

void operator_naive_config(const struct problem *p, const struct context *context,
                           struct perf_config *config)
{
    (void)p;
    (void)context;
    *config = (struct perf_config){.count = 0};
}
