#include "tests/support/table_problems.h"

#include "solvers/problem/problem_key.h"

/* Forward keys; backward and weight-gradient problems are made of each. */
static const char *const common_keys[] = {
    "3-224-224-7x7-64-112-112-1-3x3-2x2-1x1-0-NCHW-FP32-F",
    "64-56-56-1x1-64-56-56-1-0x0-1x1-1x1-0-NCHW-FP32-F",
    "64-56-56-3x3-64-56-56-1-1x1-1x1-1x1-0-NCHW-FP32-F",
    "256-56-56-1x1-512-28-28-1-0x0-2x2-1x1-0-NCHW-FP32-F",
    "256-14-14-3x3-256-14-14-8-1x1-1x1-1x1-0-NCHW-FP32-F",
    "512-7-7-3x3-512-7-7-1-1x1-1x1-1x1-0-NCHW-FP32-F",
    "2048-7-7-1x1-512-7-7-1-0x0-1x1-1x1-0-NCHW-FP32-F",
    "32-20-30-5x3-48-10-10-2-2x1-2x3-1x1-0-NCHW-FP32-F_g4",
    "16-9-9-3x3-16-5-5-1-0x0-1x1-2x2-0-NCHW-FP32-F_g16",
    "1-1-1-1x1-1-1-1-1-0x0-1x1-1x1-0-NCHW-FP32-F",
    "64-28-28-3x3-64-28-28-4-1x1-1x1-1x1-0-NHWC-NHWC-NHWC-FP16-F",
    "64-28-28-3x3-64-28-28-4-1x1-1x1-1x1-0-NCHW-BF16-F",
    "64-28-28-3x3-64-28-28-4-1x1-1x1-1x1-0-NCHW-INT8INT8INT32-F",
    "8-10-10-10-3x3x3-12-10-10-10-2-1x1x1-1x1x1-1x1x1-0-NCDHW-FP32-F",
    "64-28-28-3x3-64-28-28-1-1x1-1x1-1x1-1-NCHW-FP32-F",
    "64-28-28-3x3-64-28-28-1-1x1-1x1-1x1-0-NCHW-FP32-F+bias+relu",
};
static const char *const rare_keys[] = {
    "32-28-28-3x3-32-28-28-8-1x1-1x1-1x1-0-NHWC-NHWC-NHWC-FP16-F_g32",
    "20-15-15-5x5-20-8-8-3-2x2-2x2-1x1-0-NHWC-NHWC-NHWC-FP32-F_g20",
    "3-32-32-7x7-16-16-16-4-3x3-2x2-1x1-0-NHWC-NHWC-NHWC-FP16-F",
    "64-28-28-1x1-64-28-28-4-0x0-1x1-1x1-0-NCHW-FP16-F",
    "960-1-1-1x1-240-1-1-32-0x0-1x1-1x1-0-NHWC-NHWC-NHWC-FP16-F",
    "3-64-64-16x16-64-4-4-4-0x0-16x16-1x1-0-NHWC-NHWC-NHWC-FP16-F",
};
/* Operators other than convolutions, which are forward only. */
static const char *const operator_keys[] = {
    "pool(max)-64-112-112-3x3-64-56-56-32-1x1-2x2-1x1-0-NCHW-FP32-F",
    "pool(max)-64-112-112-3x3-64-56-56-32-1x1-2x2-1x1-0-NHWC-NHWC-NHWC-FP16-F",
    "pool(average)-2048-7-7-7x7-2048-1-1-16-0x0-1x1-1x1-0-NCHW-FP32-F",
    "pool(average)-2048-7-7-7x7-2048-1-1-16-0x0-1x1-1x1-0-NHWC-NHWC-NHWC-INT8-F",
    "pool(average_all)-192-28-28-3x3-192-28-28-1-1x1-1x1-1x1-0-NCHW-BF16-F",
    "pool(max)-8-10-10-10-2x2x2-8-5-5-5-2-0x0x0-2x2x2-1x1x1-0-NCDHW-FP32-F",
    "pool(max)-12-9-9-2x2-12-5-5-3-0x0-2x2-1x1-0-NCHWc4-NCHWc4-NCHWc4-FP32-F",
    "pointwise-256-56-56-1x1-256-56-56-8-0x0-1x1-1x1-0-NCHW-FP32-F+add(FP32,NCHW)+relu",
    "pointwise-64-28-28-1x1-64-28-28-4-0x0-1x1-1x1-0-NCHW-NCHW-NHWC-FP16-F",
    "pointwise-64-28-28-1x1-64-28-28-4-0x0-1x1-1x1-0-NHWC-NHWC-NCHW-FP32FP32FP16-F",
    "pointwise-32-14-14-1x1-32-14-14-4-0x0-1x1-1x1-0-NCHW-INT8INT8FP32-F+scale(channel)",
    "pointwise-96-28-28-1x1-96-28-28-2-0x0-1x1-1x1-0-NHWC-NHWC-NHWC-FP16-F+scale(channel)+bias+silu",
    "softmax-1000-1-1-1x1-1000-1-1-64-0x0-1x1-1x1-0-NCHW-FP32-F",
    "softmax(log)-21-65-65-1x1-21-65-65-2-0x0-1x1-1x1-0-NCHW-FP16-F",
    "softmax-21-65-65-1x1-21-65-65-2-0x0-1x1-1x1-0-NHWC-NHWC-NHWC-FP32-F",
    "resize(nearest,asymmetric,floor)-256-13-13-1x1-256-26-26-1-0x0-1x1-1x1-0-NCHW-FP32-F",
    "resize(linear,half_pixel)-21-33-33-1x1-21-129-129-2-0x0-1x1-1x1-0-NHWC-NHWC-NHWC-FP16-F",
    "lrn(5,0.0001,0.75,1)-64-56-56-1x1-64-56-56-4-0x0-1x1-1x1-0-NCHW-FP32-F",
    "lrn(5,0.0001,0.75,1)-64-56-56-1x1-64-56-56-4-0x0-1x1-1x1-0-NHWC-NHWC-NHWC-FP16-F",
};
static const char *const target_ids[TABLE_TARGETS] = {"cpu-skylake-avx512_2", "cpu-znver3_16",
                                                      "gfx90a68", "sm_90_132_80g"};

static void add_key(GPtrArray *problems, const char *key, int directions)
{
    g_autoptr(GError) error = NULL;
    struct problem p;

    if (!problem_key_parse(key, &p, &error) || !problem_validate(&p, &error))
        g_error("%s: %s", key, error->message);
    for (int direction = 0; direction < directions; direction++) {
        p.direction = (enum direction)direction;
        g_ptr_array_add(problems, g_memdup2(&p, sizeof(p)));
    }
}

static GPtrArray *all_problems(const char *const *keys, gsize count, int directions)
{
    GPtrArray *problems = g_ptr_array_new_with_free_func(g_free);

    for (gsize i = 0; i < count; i++)
        add_key(problems, keys[i], directions);
    return problems;
}

GPtrArray *table_problems_common(void)
{
    return all_problems(common_keys, G_N_ELEMENTS(common_keys), DIRECTION_COUNT);
}

GPtrArray *table_problems_rare(void)
{
    return all_problems(rare_keys, G_N_ELEMENTS(rare_keys), DIRECTION_COUNT);
}

GPtrArray *table_problems_operators(void)
{
    return all_problems(operator_keys, G_N_ELEMENTS(operator_keys), 1);
}

void table_targets(struct target targets[TABLE_TARGETS])
{
    for (gsize i = 0; i < TABLE_TARGETS; i++) {
        g_autoptr(GError) error = NULL;
        if (!target_parse(target_ids[i], &targets[i], &error))
            g_error("%s", error->message);
    }
}
