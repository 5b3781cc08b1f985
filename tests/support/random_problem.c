#include "tests/support/random_problem.h"

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
        .bias = true,
        .epilogues = true,
        .outside = true,
    };
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

static void choose_epilogue(GRand *random, struct problem *p)
{
    static const char *const steps[] = {"",
                                        "+bias",
                                        "+relu",
                                        "+bias+clip(0,6)",
                                        "+leaky(0.01)",
                                        "+add(FP16,NHWC)+tanh",
                                        "+sigmoid",
                                        "+requant(INT8,channel)"};
    g_strlcpy(p->epilogue, steps[number(random, 0, G_N_ELEMENTS(steps) - 1)], sizeof p->epilogue);
}

void random_problem(GRand *random, const struct random_limits *limits, struct problem *p)
{
    g_autoptr(GError) error = NULL;
    problem_init(p);
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
    if (limits->epilogues) {
        choose_epilogue(random, p);
    }
    problem_set_output(p);
    bool valid = problem_validate(p, &error);
    g_assert_no_error(error);
    g_assert_true(valid);
}
