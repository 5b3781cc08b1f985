/* The judge's inputs, references and verdicts on PoCL or (SKIPJACK_TEST_DEVICE=gpu) the first GPU: those of the host. */
#include "worker/verify/judge.h"

#include <math.h>
#include <string.h>

#include "solvers/problem/problem_key.h"
#include "tests/support/kernels/judge_device.h"
#include "tests/support/kernels/judge_sides.h"
#include "tests/support/kernels/pocl_leaks.h"
#include "tests/support/random_problem.h"
#include "worker/verify/random.h"

static void compare_inputs(const struct judge_sides *s, const char *key)
{
    for (int t = 0; t < OPERAND_COUNT; t++) {
        const struct tensor *tensor = &s->tensors[t];
        gsize bytes = (gsize)tensor_bytes(tensor);
        if (t == (int)s->out || !tensor_exists(tensor))
            continue;
        g_autofree void *data = judge_sides_read(s, (enum tensor_role)t);
        g_autofree void *image = g_malloc(bytes);
        memset(image, tensor->block > 1 ? 0 : s->memory[t].poison, bytes);
        tensor_from_dense(tensor, s->dense[t], image);
        if (memcmp(data, image, bytes) != 0)
            g_error("%s: input %d is not the host's", key, t);
    }
}

static void compare_references(const struct judge_sides *s, const char *key)
{
    g_autoptr(GError) error = NULL;
    struct reference *r = judge_fetch(s->judge, &error);
    g_assert_no_error(error);
    g_assert_cmpint(r->count, ==, s->host->count);
    g_assert_cmpfloat(r->length, ==, s->host->length);
    g_assert_cmpfloat(fabs(r->largest - s->host->largest), <=, 1e-6 * s->host->largest);
    /* Powers and logarithms are less exact than sums. */
    double share = s->problem.kind == OP_SOFTMAX || s->problem.kind == OP_LRN ? 1e-12 : 1e-13;
    for (int64_t i = 0; i < r->count; i++) {
        double size = (double)s->host->magnitude[i];
        double gain = r->gain ? (double)r->gain[i] : 1, slack = r->slack ? (double)r->slack[i] : 0;
        double off = share * size * gain + slack / 1000;
        if (!(fabs(r->value[i] - s->host->value[i]) <= off) ||
            !(fabs((double)r->magnitude[i] - size) <= 1e-6 * size) ||
            (r->gain && !(fabs(gain - (double)s->host->gain[i]) <= 1e-5 * gain)) ||
            (r->gain && !(fabs(slack - (double)s->host->slack[i]) <= 1e-5 * slack + off)))
            g_error("%s: element %" G_GINT64_FORMAT " is %g of %g, the host has %g of %g", key, i,
                    r->value[i], (double)r->magnitude[i], s->host->value[i], size);
    }
    reference_unref(r);
}

static void compare_sides(const struct problem *p)
{
    g_autoptr(GError) error = NULL;
    char key[PROBLEM_KEY_MAX];
    struct judge_sides s;
    problem_key(p, key);
    judge_sides_init(&s, p);
    if (!judge_sides_judge(&s, &error))
        g_error("%s: %s", key, error->message);
    compare_inputs(&s, key);
    compare_references(&s, key);
    for (int wrong = 0; wrong < 3; wrong++)
        judge_sides_compare_verdicts(&s, wrong, key);
    judge_sides_clear(&s);
}

static const char *const keys[] = {
    "64-9-11-3x3-16-5-6-2-1x1-2x2-1x1-0-NCHW-FP32-F",
    "12-9-11-3x3-16-9-11-2-2x2-1x1-2x2-0-NHWC-NHWC-NHWC-FP32-F_g4",
    "3-40-40-7x7-8-20-20-4-3x3-2x2-1x1-0-NCHW-FP16-F",
    "16-12-12-5x5-16-12-12-2-2x2-1x1-1x1-0-NHWC-NHWC-NHWC-FP16-F_g16",
    "32-6-6-3x3-16-6-6-2-1x1-1x1-1x1-0-NCHW-BF16-F",
    "8-1-50-1x5-8-1-50-2-0x2-1x1-1x1-0-NCHW-FP32-F",
    "24-8-8-3x3-32-8-8-1-1x1-1x1-1x1-0-NCHW-INT8INT8INT32-F",
    "4-5-6-7-3x3x3-6-3-3-4-2-1x1x1-2x2x2-1x1x1-0-NCDHW-FP32-F",
    "4-5-6-7-3x3x3-6-3-3-4-2-1x1x1-2x2x2-1x1x1-0-NDHWC-NDHWC-NDHWC-BF16-F",
    "64-9-11-3x3-16-5-6-2-1x1-2x2-1x1-0-NCHW-FP8-F",
    "12-9-11-3x3-16-9-11-2-2x2-1x1-2x2-0-NHWC-NHWC-NHWC-BF8FP8FP16-F_g4",
    "8-8-8-3x3-8-8-8-1-1x1-1x1-1x1-0-NCHW-FP16-F_ciFP8_cwFP8_coBF8",
    "8-8-8-3x3-8-8-8-1-1x1-1x1-1x1-0-NCHW-FP32FP32BF8-F_ciINT8_cwBF16_coFP16",
};

static void test_table(void)
{
    for (gsize i = 0; i < G_N_ELEMENTS(keys) * 3; i++) {
        const char *key = keys[i / 3];
        struct problem p;
        judge_sides_problem(key, &p);
        p.direction = (enum direction)(i % 3);
        compare_sides(&p);
    }
}

/* All kinds of inputs, in types that have them. */
static void test_kinds(void)
{
    static const char *const problems[] = {
        "64-9-11-3x3-16-5-6-2-1x1-2x2-1x1-0-NCHW-FP32-F",
        "3-9-9-3x3-8-9-9-1-1x1-1x1-1x1-0-NHWC-NHWC-NHWC-FP16-F",
        "8-8-8-3x3-8-8-8-1-1x1-1x1-1x1-0-NCHW-BF16-F",
        "24-8-8-3x3-32-8-8-1-1x1-1x1-1x1-0-NCHW-INT8INT8INT32-F",
        "24-8-8-3x3-32-8-8-1-1x1-1x1-1x1-0-NCHW-INT8-F+bias+requant(INT8,channel)",
        "8-3-3-3x3-8-8-8-1-1x1-3x3-1x1-0-NCHW-FP32-B+bias+relu",
        "8-8-8-3x3-8-8-8-2-1x1-1x1-1x1-0-NCHW-FP32-W",
        "64-9-11-3x3-16-5-6-2-1x1-2x2-1x1-0-NCHW-FP8-F",
        "24-8-8-3x3-32-8-8-1-1x1-1x1-1x1-0-NCHW-FP8BF8FP32-F",
        "8-8-8-3x3-8-8-8-1-1x1-1x1-1x1-0-NCHW-FP32-W_ciBF8_cwFP8_coFP8",
    };
    for (gsize i = 0; i < G_N_ELEMENTS(problems); i++) {
        for (int kind = 0; kind < INPUT_KIND_COUNT; kind++) {
            struct problem p;
            judge_sides_problem(problems[i], &p);
            g_test_message("%s with %s inputs", problems[i],
                           input_kind_name((enum input_kind)kind));
            judge_test_seed = random_seed(JUDGE_TEST_SEED, (enum input_kind)kind);
            compare_sides(&p);
        }
    }
    judge_test_seed = JUDGE_TEST_SEED;
}

/* Epilogues with every step but sqrt, whose results are NaN for half of the sums. */
static const char *const epilogues[] = {
    "64-9-11-3x3-16-5-6-2-1x1-2x2-1x1-0-NCHW-FP32-F+bias+add(FP32,NCHW)+relu",
    "64-9-11-3x3-16-5-6-2-1x1-2x2-1x1-0-NCHW-FP16-F+bias+sub(FP16,NHWC)+clip(0,6)",
    "12-9-11-3x3-16-9-11-2-2x2-1x1-2x2-0-NHWC-NHWC-NHWC-BF16-F_g4+bias+silu+mul(BF16,NHWC)",
    "3-9-9-3x3-8-9-9-1-1x1-1x1-1x1-0-NCHW-FP32-F+scale(channel)+leaky(0.1)+div(FP32,NCHW)",
    "3-9-9-3x3-8-9-9-1-1x1-1x1-1x1-0-NCHW-FP32-F+prelu+affine(2,-1)+elu(0.5)+sigmoid",
    "3-9-9-3x3-8-9-9-1-1x1-1x1-1x1-0-NCHW-FP32-F+scale(tensor)+tanh+exp+abs+erf",
    "3-9-9-3x3-8-9-9-1-1x1-1x1-1x1-0-NCHW-FP32-F+hardswish+softplus+mish+gelu+hardsigmoid(0.2,0.5)",
    "3-9-9-3x3-8-9-9-1-1x1-1x1-1x1-0-NCHW-FP32-F+max(FP32,NCHW)+exp",
    "3-9-9-3x3-8-9-9-1-1x1-1x1-1x1-0-NCHW-FP32-F+min(FP32,NCHW)+gelu",
    "24-8-8-3x3-32-8-8-1-1x1-1x1-1x1-0-NCHW-INT8INT8INT32-F+bias",
    "24-8-8-3x3-32-8-8-1-1x1-1x1-1x1-0-NCHW-INT8-F+bias+requant(INT8,channel)",
    "24-8-8-3x3-32-8-8-1-1x1-1x1-1x1-0-NHWC-NHWC-NHWC-INT8-F+bias+requant(INT8,tensor)+relu",
    "24-8-8-3x3-32-8-8-1-1x1-1x1-1x1-0-NCHW-INT8-F+bias+requant(INT8,channel)+add(INT8,NCHW)+relu",
    "24-8-8-3x3-32-8-8-1-1x1-1x1-1x1-0-NCHW-INT8INT8FP32-F+bias+scale(channel)+relu",
    "8-3-3-3x3-8-8-8-1-1x1-3x3-1x1-0-NCHW-FP32-B+bias+relu",
    "24-8-8-3x3-32-8-8-1-1x1-1x1-1x1-0-NCHW-FP8-F+scale(channel)+bias+add(FP8,NCHW)+relu",
    "24-8-8-3x3-32-8-8-1-1x1-1x1-1x1-0-NHWC-NHWC-NHWC-BF8FP8FP32-F+scale(tensor)+mul(BF8,NHWC)+silu",
    "64-9-11-3x3-16-5-6-2-1x1-2x2-1x1-0-NCHW-FP32-F_sr16x1x0x0x0+add(FP32,NCHW)+relu",
    "64-9-11-3x3-16-5-6-2-1x1-2x2-1x1-0-NCHW-FP32-F_sx25344x198x0x22x2_sy1920x60x0x12x2+bias",
};

static void compare_all(const char *const *problems, gsize count)
{
    for (gsize i = 0; i < count; i++) {
        struct problem p;
        judge_sides_problem(problems[i], &p);
        compare_sides(&p);
    }
}

static void test_epilogues(void)
{
    compare_all(epilogues, G_N_ELEMENTS(epilogues));
}

/* Operators other than convolutions: each mode, layouts, types and epilogues. */
static const char *const operators[] = {
    "pool(max)-24-9-11-3x3-24-5-6-2-1x1-2x2-1x1-0-NCHW-FP32-F",
    "pool(max)-8-9-11-3x3-8-5-6-2-1x1-2x2-1x1-0-NHWC-NHWC-NHWC-INT8-F",
    "pool(average)-24-9-11-3x2-24-9-12-2-1x1-1x1-1x1-0-NHWC-NHWC-NHWC-FP16-F",
    "pool(average)-4-9-9-3x3-4-5-5-2-0x0-2x2-1x1-0-NCHW-FP32-F",
    "pool(average_all)-24-9-11-3x3-24-7-9-2-1x1-1x1-2x2-0-NCHW-BF16-F+relu",
    "pool(max)-4-5-6-7-3x3x3-4-3-3-4-2-1x1x1-2x2x2-1x1x1-0-NCDHW-FP32-F",
    "pointwise-24-9-11-1x1-24-9-11-2-0x0-1x1-1x1-0-NCHW-FP32-F+add(FP32,NCHW)+relu",
    "pointwise-24-9-11-1x1-24-9-11-2-0x0-1x1-1x1-0-NCHW-NCHW-NHWC-FP16-F",
    "pointwise-24-9-11-1x1-24-9-11-2-0x0-1x1-1x1-0-NCHW-INT8-F",
    "softmax-1000-1-1-1x1-1000-1-1-3-0x0-1x1-1x1-0-NCHW-FP16-F",
    "softmax-21-5-7-1x1-21-5-7-2-0x0-1x1-1x1-0-NHWC-NHWC-NHWC-FP32-F",
    "softmax(log)-21-5-7-1x1-21-5-7-2-0x0-1x1-1x1-0-NCHW-FP32-F",
    "resize(nearest,asymmetric,floor)-8-7-9-1x1-8-14-18-2-0x0-1x1-1x1-0-NCHW-FP32-F",
    "resize(nearest,half_pixel,round_prefer_floor)-8-12-9-1x1-8-6-14-2-0x0-1x1-1x1-0-NCHW-FP16-F",
    "resize(nearest,half_pixel,round_prefer_ceil)-8-12-9-1x1-8-6-14-2-0x0-1x1-1x1-0-NCHW-FP32-F",
    "resize(nearest,align_corners,ceil)-8-12-9-1x1-8-17-1-2-0x0-1x1-1x1-0-NCHW-FP32-F",
    "resize(linear,half_pixel)-8-7-9-1x1-8-14-5-2-0x0-1x1-1x1-0-NHWC-NHWC-NHWC-FP32-F",
    "resize(linear,pytorch_half_pixel)-8-7-9-1x1-8-1-20-2-0x0-1x1-1x1-0-NCHW-BF16-F",
    "resize(linear,align_corners)-8-7-9-1x1-8-13-13-2-0x0-1x1-1x1-0-NCHW-FP32-F",
    "resize(linear,half_pixel)-4-3-4-5-1x1x1-4-6-8-10-1-0x0x0-1x1x1-1x1x1-0-NCDHW-FP32-F",
    "lrn(5,0.0001,0.75,1)-24-9-11-1x1-24-9-11-2-0x0-1x1-1x1-0-NCHW-FP32-F",
    "lrn(4,0.5,0.5,2)-24-9-11-1x1-24-9-11-2-0x0-1x1-1x1-0-NHWC-NHWC-NHWC-FP16-F",
    "lrn(2147483647,1,1,1)-7-3-3-1x1-7-3-3-1-0x0-1x1-1x1-0-NCHW-FP32-F",
};

static void test_operators(void)
{
    for (int kind = 0; kind < INPUT_KIND_COUNT; kind++) {
        judge_test_seed = random_seed(JUDGE_TEST_SEED, (enum input_kind)kind);
        compare_all(operators, G_N_ELEMENTS(operators));
    }
    judge_test_seed = JUDGE_TEST_SEED;
}

static void test_random(void)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(6);
    struct random_limits limits;
    random_limits_small(&limits);
    limits.types =
        1u << TYPE_FP32 | 1u << TYPE_FP16 | 1u << TYPE_BF16 | 1u << TYPE_FP64 | 1u << TYPE_INT8;
    limits.layouts = (1u << LAYOUT_NCHW) | (1u << LAYOUT_NHWC) | (1u << LAYOUT_NCHWC4) |
                     (1u << LAYOUT_CHWN) | (1u << LAYOUT_NCDHW) | (1u << LAYOUT_NDHWC);
    for (int i = 0; i < 60; i++) {
        struct problem p;
        random_problem(random, &limits, &p);
        compare_sides(&p);
    }
}

/* Operators without functions are judged in FP64, too. */
static void test_double(void)
{
    static const char *const judged[] = {
        "pool(average)-24-9-11-3x3-24-5-6-2-1x1-2x2-1x1-0-NCHW-FP64-F",
        "resize(linear,half_pixel)-8-7-9-1x1-8-14-5-2-0x0-1x1-1x1-0-NCHW-FP64-F",
    };
    compare_all(judged, G_N_ELEMENTS(judged));
}

static void add_tests(struct device *opened, struct device_program *loaded)
{
    judge_test_device = opened;
    judge_test_program = loaded;
    g_test_add_func("/judge_reference/agrees_with_the_host_on_a_table_of_problems", test_table);
    g_test_add_func("/judge_reference/agrees_with_the_host_on_random_problems", test_random);
    g_test_add_func("/judge_reference/device_and_host_agree_for_all_kinds_of_inputs", test_kinds);
    g_test_add_func("/judge_reference/agrees_with_the_host_on_epilogues", test_epilogues);
    g_test_add_func("/judge_reference/agrees_with_the_host_on_operators_that_are_no_convolutions",
                    test_operators);
    g_test_add_func("/judge_reference/agrees_with_the_host_in_double_precision", test_double);
}

int main(int argc, char **argv)
{
    return judge_device_main(argc, argv, "/judge_reference/needs_a_device", add_tests);
}
