#include "tests/support/random_problem.h"

#include "solvers/problem/epilogue.h"

#include <string.h>

void random_limits_small(struct random_limits *limits)
{
    *limits = (struct random_limits){
        .max_batch = 3,
        .max_channels = 6,
        .max_size = 12,
        .max_filter = 4,
        .max_groups = 3,
        .max_pad = 2,
        .max_stride = 3,
        .max_dilation = 2,
        .directions = 7,
        .types = 1u << TYPE_FP32,
        .layouts = 1u << LAYOUT_NCHW,
        .kinds = 1u << OP_CONV,
    };
}

void random_limits_wide(struct random_limits *limits)
{
    *limits = (struct random_limits){
        .max_batch = 1024,
        .max_channels = 4096,
        .max_size = 1024, /* tensors of these largest sizes have less than 2^63 bytes */
        .max_filter = 31,
        .max_groups = 64,
        .max_pad = 16,
        .max_stride = 5,
        .max_dilation = 9,
        .directions = 7,
        .types = ((1u << DATA_TYPE_COUNT) - 1) & ~(1u << TYPE_NONE),
        .layouts = (1u << LAYOUT_COUNT) - 1,
        .mixed_layouts = true,
        .mixed_types = true,
        .casts = true,
        .tf32 = true,
        .bias = true,
        .epilogues = true,
        .strided = true,
        .outside = true,
        .kinds = (1u << OP_KIND_COUNT) - 1,
    };
}

void random_limits_nameable(struct random_limits *limits)
{
    limits->epilogues = false;
    limits->strided = false;
    limits->tf32 = false;
    limits->kinds = 1u << OP_CONV;
}

static int64_t number(GRand *random, int64_t least, int64_t most)
{
    return g_rand_int_range(random, (gint32)least, (gint32)most + 1);
}

static int pick_bit(GRand *random, unsigned mask)
{
    g_assert(mask != 0);
    for (;;) {
        int bit = g_rand_int_range(random, 0, 32);
        if ((mask >> bit & 1u) != 0) {
            return bit;
        }
    }
}

static bool is_3d(int layout)
{
    return layout == LAYOUT_NCDHW || layout == LAYOUT_NDHWC;
}

static void choose_layouts(GRand *random, const struct random_limits *limits, struct problem *p)
{
    int first = pick_bit(random, limits->layouts);
    p->spatial_dim = is_3d(first) ? 3 : 2;
    for (int t = 0; t < TENSOR_COUNT; t++) {
        int layout = first;
        while (limits->mixed_layouts && g_rand_boolean(random)) {
            int other = pick_bit(random, limits->layouts);
            layout = is_3d(other) == is_3d(first) ? other : layout;
        }
        p->layout[t] = (enum layout)layout;
    }
}

static void choose_types(GRand *random, const struct random_limits *limits, struct problem *p)
{
    enum data_type type = (enum data_type)pick_bit(random, limits->types);
    bool mixed = limits->mixed_types && g_rand_boolean(random);
    for (int t = 0; t < TENSOR_COUNT; t++) {
        p->type[t] = mixed ? (enum data_type)pick_bit(random, limits->types) : type;
        if (limits->casts && g_rand_int_range(random, 0, 4) == 0) {
            p->cast[t] = (enum data_type)number(random, TYPE_NONE + 1, DATA_TYPE_COUNT - 1);
        }
    }
    if (!mixed && type == TYPE_INT8) {
        p->type[TENSOR_Y] = TYPE_INT32;
        p->direction = DIRECTION_F;
    }
}

static void choose_axis(GRand *random, const struct random_limits *limits, struct problem *p, int a)
{
    p->in[a] = number(random, 1, limits->max_size);
    p->fil[a] = number(random, 1, limits->max_filter);
    p->pad[a] = number(random, 0, limits->max_pad);
    p->stride[a] = number(random, 1, limits->max_stride);
    p->dilation[a] = number(random, 1, limits->max_dilation);
    int64_t reach = p->dilation[a] * (p->fil[a] - 1) + 1;
    if (!limits->outside && reach > p->in[a] + 2 * p->pad[a]) {
        p->in[a] = reach;
    }
}

static double any_number(GRand *random)
{
    static const double usual[] = {0, 1, 6, -1, 0.01, 0.2, 1e-5, 1e20};
    return g_rand_boolean(random) ? usual[number(random, 0, G_N_ELEMENTS(usual) - 1)]
                                  : g_rand_double_range(random, -100, 100);
}

static enum layout any_layout(GRand *random, int spatial_dim)
{
    for (;;) {
        int layout = (int)number(random, 0, LAYOUT_COUNT - 1);
        if (is_3d(layout) == (spatial_dim == 3)) {
            return (enum layout)layout;
        }
    }
}

/* The operand that a step reads; TENSOR_X for none. */
static enum tensor_role operand_of(enum epilogue_op op)
{
    const struct epilogue one = {.count = 1, .steps = {{.op = op}}};
    for (int role = TENSOR_RESIDUAL; role < OPERAND_COUNT; role++) {
        if (epilogue_reads(&one, (enum tensor_role)role)) {
            return (enum tensor_role)role;
        }
    }
    return TENSOR_X;
}

static void choose_step(GRand *random, const struct problem *p, struct epilogue_step *step)
{
    step->op = (enum epilogue_op)number(random, EPILOGUE_BIAS, EPILOGUE_GELU);
    double a = any_number(random), b = any_number(random);
    step->a = MIN(a, b);
    step->b = MAX(a, b);
    step->per_channel = g_rand_boolean(random);
    step->type = step->op == EPILOGUE_REQUANT
                     ? p->type[problem_output_role(p)]
                     : (enum data_type)number(random, TYPE_NONE + 1, DATA_TYPE_COUNT - 1);
    step->layout = g_rand_boolean(random) ? p->layout[problem_output_role(p)]
                                          : any_layout(random, p->spatial_dim);
}

static void choose_epilogue(GRand *random, struct problem *p)
{
    struct epilogue epilogue = {0};
    int wanted = p->direction == DIRECTION_W ? 0 : (int)number(random, 0, 4);
    for (int i = 0; i < wanted; i++) {
        struct epilogue_step *step = &epilogue.steps[epilogue.count];
        choose_step(random, p, step);
        enum tensor_role operand = operand_of(step->op);
        if ((operand != TENSOR_X && epilogue_reads(&epilogue, operand)) ||
            (step->op == EPILOGUE_BIAS && p->type[TENSOR_X] == TYPE_INT8 && epilogue.count > 0)) {
            continue;
        }
        epilogue.count++;
        if (!epilogue_print(&epilogue, p->epilogue)) {
            epilogue.count--;
            break;
        }
    }
    g_assert_true(epilogue_print(&epilogue, p->epilogue));
}

void random_gaps(GRand *random, struct problem *p, enum tensor_role role)
{
    struct problem strided = *p;
    int64_t sizes[5], packed[5], strides[5];
    int64_t block = problem_layout_block(problem_operand_layout(p, role));
    int64_t stride = block * number(random, 1, 2);
    bool used[5] = {false};
    problem_operand_sizes(p, role, sizes);
    sizes[1] = (sizes[1] + block - 1) / block;
    problem_packed_strides(p, role, packed);
    for (int i = 0; i < 5; i++) {
        int least = -1;
        for (int axis = 0; axis < 5; axis++) {
            if (!used[axis] && (least < 0 || packed[axis] < packed[least])) {
                least = axis;
            }
        }
        used[least] = true;
        strides[least] = role == TENSOR_RESIDUAL && g_rand_boolean(random) ? 0 : stride;
        stride =
            stride * sizes[least] + (g_rand_boolean(random) ? 0 : block * number(random, 1, 3));
    }
    problem_set_strides(&strided, role, strides);
    if (problem_validate(&strided, NULL)) {
        *p = strided;
    }
}

/* Makes a tensor a slice of the channels of a larger one, which often has a multiple of four more of them. */
static void slice_channels(GRand *random, struct problem *p, enum tensor_role role)
{
    int64_t sizes[5], strides[5];
    int64_t more = g_rand_boolean(random) ? 4 * number(random, 1, 3) : number(random, 1, 7);
    problem_operand_sizes(p, role, sizes);
    problem_packed_strides(p, role, strides);
    int64_t channel = strides[1];
    for (int axis = 0; axis < 5; axis++) {
        if (axis != 1 && strides[axis] >= sizes[1] * channel) {
            strides[axis] = strides[axis] / sizes[1] * (sizes[1] + more);
        }
    }
    problem_set_strides(p, role, strides);
}

void random_conv_strides(GRand *random, struct problem *p)
{
    for (int t = 0; t < TENSOR_COUNT; t++) {
        enum tensor_role role = (enum tensor_role)t;
        bool may_slice = role != TENSOR_W && problem_layout_block(p->layout[t]) == 1;
        int choice = (int)number(random, 0, role == TENSOR_W ? 9 : 3);
        if (choice == 0) {
            random_gaps(random, p, role);
        } else if (choice <= 2 && may_slice) {
            slice_channels(random, p, role);
        }
    }
}

void random_residual_follows(struct problem *p)
{
    if (problem_has_operand(p, TENSOR_RESIDUAL)) {
        memcpy(p->strides[TENSOR_RESIDUAL], p->strides[problem_output_role(p)],
               sizeof p->strides[TENSOR_RESIDUAL]);
    }
}

static void choose_mode(GRand *random, struct problem *p)
{
    static const struct {
        enum op_kind kind;
        const char *mode;
    } modes[] = {
        {OP_POOL, "max"},
        {OP_POOL, "average"},
        {OP_POOL, "average_all"},
        {OP_SOFTMAX, ""},
        {OP_SOFTMAX, "log"},
        {OP_RESIZE, "nearest,asymmetric,floor"},
        {OP_RESIZE, "nearest,half_pixel,round_prefer_ceil"},
        {OP_RESIZE, "linear,align_corners"},
        {OP_LRN, "5,0.0001,0.75,1"},
        {OP_LRN, "3,1e-05,0.5,-2"},
        {OP_CONV, ""},
        {OP_POINTWISE, ""},
    };
    for (;;) {
        size_t i = (size_t)number(random, 0, G_N_ELEMENTS(modes) - 1);
        if (modes[i].kind == p->kind) {
            g_strlcpy(p->mode, modes[i].mode, sizeof p->mode);
            return;
        }
    }
}

static bool is_plain_fp32(const struct problem *p)
{
    bool plain = true;
    for (int t = 0; t < TENSOR_COUNT; t++) {
        plain = plain && p->type[t] == TYPE_FP32 && p->cast[t] == TYPE_NONE;
    }
    return plain;
}

/* Makes the fields neutral that the problem's kind does not have, and sets the output's size. */
static void fit_kind(GRand *random, const struct random_limits *limits, struct problem *p)
{
    struct problem neutral;
    problem_init(&neutral);
    choose_mode(random, p);
    if (p->kind == OP_CONV) {
        problem_set_output(p);
        if (limits->tf32 && is_plain_fp32(p) && g_rand_boolean(random)) {
            g_strlcpy(p->mode, OP_MODE_TF32, sizeof p->mode);
        }
        return;
    }
    p->direction = DIRECTION_F;
    p->groups = 1;
    p->k = p->c;
    p->bias = 0;
    p->type[TENSOR_W] = p->type[TENSOR_X];
    p->layout[TENSOR_W] = p->layout[TENSOR_X];
    memcpy(p->cast, neutral.cast, sizeof p->cast);
    for (int a = 0; a < AXIS_COUNT; a++) {
        if (p->kind == OP_POOL) {
            p->dilation[a] = p->pad[a] > 0 ? MIN(p->dilation[a], p->in[a]) : p->dilation[a];
            p->pad[a] = MIN(p->pad[a], p->dilation[a] * (p->fil[a] - 1));
        } else {
            p->fil[a] = p->stride[a] = p->dilation[a] = 1;
            p->pad[a] = 0;
        }
    }
    problem_set_output(p);
    for (int a = p->spatial_dim == 3 ? AXIS_D : AXIS_H; a < AXIS_COUNT; a++) {
        if (p->kind == OP_RESIZE) {
            p->out[a] = number(random, 1, limits->max_size);
        } else if (p->kind == OP_POOL && p->out[a] * p->stride[a] - p->pad[a] < p->in[a]) {
            p->out[a] += number(random, 0, 1); /* rounded up */
        }
    }
}

void random_problem(GRand *random, const struct random_limits *limits, struct problem *p)
{
    g_autoptr(GError) error = NULL;
    problem_init(p);
    p->kind = (enum op_kind)pick_bit(random, limits->kinds);
    p->direction = (enum direction)pick_bit(random, limits->directions);
    choose_layouts(random, limits, p);
    choose_types(random, limits, p);
    p->groups = g_rand_boolean(random) ? 1 : number(random, 1, limits->max_groups);
    p->n = number(random, 1, limits->max_batch);
    p->c = p->groups * number(random, 1, limits->max_channels);
    p->k = p->groups * number(random, 1, limits->max_channels);
    for (int a = p->spatial_dim == 3 ? AXIS_D : AXIS_H; a < AXIS_COUNT; a++) {
        choose_axis(random, limits, p, a);
    }
    p->bias = limits->bias ? (int)number(random, 0, 1) : 0;
    fit_kind(random, limits, p);
    if (limits->epilogues) {
        choose_epilogue(random, p);
    }
    for (int t = 0; t < STRIDED_COUNT; t++) {
        if (limits->strided && g_rand_int_range(random, 0, 3) == 0 &&
            problem_has_operand(p, (enum tensor_role)t)) {
            random_gaps(random, p, (enum tensor_role)t);
        }
    }
    bool valid = problem_validate(p, &error);
    g_assert_no_error(error);
    g_assert_true(valid);
}
