/* The device's judge, on PoCL or (SKIPJACK_TEST_DEVICE=gpu) the first GPU, compared with the host: both have the same
 * inputs, references and verdicts. */
#include "worker/verify/judge.h"

#include <math.h>
#include <string.h>

#include "solvers/problem/problem_key.h"
#include "tests/support/kernels/judge_device.h"
#include "tests/support/kernels/pocl_leaks.h"
#include "tests/support/random_problem.h"
#include "worker/protocol/frames.h"
#include "worker/verify/fingerprint.h"
#include "worker/verify/guarded.h"
#include "worker/verify/random.h"
#include "worker/verify/verify.h"

#define SEED 77

static struct device *device;
static struct device_program *program;

/* ---- a problem in memory of host and device ---- */

struct sides {
    struct problem problem;
    enum tensor_role out;
    struct tensor tensors[OPERAND_COUNT];
    struct guarded memory[OPERAND_COUNT];
    struct device_memory *parts[OPERAND_COUNT];
    double *dense[OPERAND_COUNT];
    struct reference *host;
    struct judge *judge;
};

static uint64_t seed = SEED; /* of the inputs, with their kind */

static void sides_init(struct sides *s, const struct problem *p)
{
    g_autoptr(GError) error = NULL;
    *s = (struct sides){.problem = *p, .out = problem_output_role(p)};
    for (int t = 0; t < OPERAND_COUNT; t++) {
        tensor_init(&s->tensors[t], p, (enum tensor_role)t);
        if (!tensor_exists(&s->tensors[t]))
            continue;
        guarded_alloc(&s->memory[t], device, tensor_bytes(&s->tensors[t]), 1,
                      guarded_poison_of(s->tensors[t].type), &error);
        g_assert_no_error(error);
        s->parts[t] = s->memory[t].parts[0];
        if (t != (int)s->out)
            s->dense[t] = random_dense(p, &s->tensors[t], (enum tensor_role)t, seed);
    }
    s->host = reference_compute(p, (const double *const *)s->dense, 2, 0, &error);
    g_assert_no_error(error);
}

static bool sides_judge(struct sides *s, GError **error)
{
    s->judge = judge_new(device, program, &s->problem, s->tensors, seed, s->parts, error);
    return s->judge != NULL;
}

static void sides_clear(struct sides *s)
{
    judge_free(s->judge);
    reference_unref(s->host);
    for (int t = 0; t < OPERAND_COUNT; t++) {
        guarded_free(&s->memory[t]);
        g_free(s->dense[t]);
    }
}

static void *read_back(const struct sides *s, enum tensor_role role)
{
    g_autoptr(GError) error = NULL;
    void *data = g_malloc((gsize)s->memory[role].bytes);
    device->row->read(s->parts[role], 0, data, s->memory[role].bytes, &error);
    g_assert_no_error(error);
    return data;
}

/* ---- comparisons of host and device ---- */

static void compare_inputs(const struct sides *s, const char *key)
{
    for (int t = 0; t < OPERAND_COUNT; t++) {
        const struct tensor *tensor = &s->tensors[t];
        gsize bytes = (gsize)tensor_bytes(tensor);
        if (t == (int)s->out || !tensor_exists(tensor))
            continue;
        g_autofree void *data = read_back(s, (enum tensor_role)t);
        g_autofree void *image = g_malloc(bytes);
        memset(image, tensor->block > 1 ? 0 : s->memory[t].poison, bytes);
        tensor_from_dense(tensor, s->dense[t], image);
        if (memcmp(data, image, bytes) != 0)
            g_error("%s: input %d is not the host's", key, t);
    }
}

/* The fingerprints that the device computes of all inputs are the host's. */
static void compare_fingerprints(const struct sides *s, const char *key)
{
    g_autoptr(GError) error = NULL;
    for (int t = 0; t < OPERAND_COUNT; t++) {
        uint64_t print = 0;
        if (t == (int)s->out || !tensor_exists(&s->tensors[t]))
            continue;
        const struct guarded *memory = &s->memory[t];
        const struct judge_pieces pieces = {memory->whole, guarded_offset(memory, 0), memory->step,
                                            memory->bytes, 1};
        g_autofree void *data = read_back(s, (enum tensor_role)t);
        judge_fingerprints(s->judge, &pieces, &print, &error);
        g_assert_no_error(error);
        if (print != fingerprint(data, memory->bytes))
            g_error("%s: the fingerprint of input %d is not the host's", key, t);
        /* The zone behind a tensor may begin at any byte. */
        const struct judge_pieces zone = {memory->whole, guarded_tail_offset(memory, 0),
                                          memory->step, guarded_tail_bytes(memory), 1};
        g_autofree uint8_t *poison = g_malloc((gsize)zone.bytes);
        memset(poison, memory->poison, (size_t)zone.bytes);
        judge_fingerprints(s->judge, &zone, &print, &error);
        g_assert_no_error(error);
        if (print != fingerprint(poison, zone.bytes))
            g_error("%s: the fingerprint of the zone behind input %d is not poison's", key, t);
        /* Where there are many pieces, a workgroup takes a piece of more words than it has work-items. */
        uint64_t prints[600];
        const struct judge_pieces many = {memory->whole, zone.offset, 8, zone.bytes - 8 * 599, 600};
        judge_fingerprints(s->judge, &many, prints, &error);
        g_assert_no_error(error);
        for (int i = 0; i < many.count; i++) {
            if (prints[i] != fingerprint(poison, many.bytes))
                g_error("%s: the fingerprint of piece %d of the zone is not poison's", key, i);
        }
    }
}

static void compare_references(const struct sides *s, const char *key)
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

/* Makes some elements of the right output wrong: host and device must count the same number of
 * wrong elements. */
static void compare_verdicts(struct sides *s, int wrong_elements, const char *key)
{
    g_autoptr(GError) error = NULL;
    const struct tensor *tensor = &s->tensors[s->out];
    g_autofree double *dense = g_memdup2(s->host->value, (gsize)s->host->count * sizeof(double));
    g_autofree void *data = g_malloc0((gsize)tensor_bytes(tensor));
    struct tolerance tolerance;
    struct verdict verdict;
    struct judged judged;
    bool integers = tensor->type == TYPE_INT32 || tensor->type == TYPE_INT8;
    /* by more than any tolerance */
    double by = integers ? 9 : 9 + s->host->largest;
    for (int i = 0; i < wrong_elements; i++) {
        double *element = &dense[(i * 7 + 3) % s->host->count];
        *element += i % 2 || integers ? (*element > 0 ? -by : by) : NAN;
    }
    tensor_from_dense(tensor, dense, data);
    const struct solution_rounding tiles = {
        .transforms = true, .terms = 100, .growth = 2, .roundings = 24};
    tolerance_init(&tolerance, &s->problem, wrong_elements == 2 ? &tiles : NULL, s->host->length);
    verify_output(tensor, data, s->memory[s->out].poison, s->host, &tolerance, &verdict);
    device->row->write(s->parts[s->out], 0, data, s->memory[s->out].bytes, &error);
    judge_compare(s->judge, s->parts[s->out], &tolerance, &judged, &error);
    g_assert_no_error(error);
    if ((judged.wrong != 0) != (verdict.failure != FAILURE_NONE) ||
        judged.wrong != MIN(wrong_elements, s->host->count))
        g_error("%s: the device finds %" G_GINT64_FORMAT " wrong, the host says %s", key,
                judged.wrong, verdict.detail);
    /* In FP64 the two references differ in their last places. */
    if (isfinite(verdict.error))
        g_assert_cmpfloat(fabs(judged.error - verdict.error), <=, 1e-6 * verdict.error + 0.3);
    else
        g_assert_cmpfloat(judged.error, >=, 1e300);
}

static void compare_sides(const struct problem *p)
{
    g_autoptr(GError) error = NULL;
    char key[PROBLEM_KEY_MAX];
    struct sides s;
    problem_key(p, key);
    sides_init(&s, p);
    if (!sides_judge(&s, &error))
        g_error("%s: %s", key, error->message);
    compare_inputs(&s, key);
    compare_fingerprints(&s, key);
    compare_references(&s, key);
    for (int wrong = 0; wrong < 3; wrong++)
        compare_verdicts(&s, wrong, key);
    sides_clear(&s);
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
};

static void test_table(void)
{
    for (gsize i = 0; i < G_N_ELEMENTS(keys) * 3; i++) {
        g_autoptr(GError) error = NULL;
        const char *key = keys[i / 3];
        struct problem p;
        if (!problem_key_parse(key, &p, &error) || !problem_validate(&p, &error))
            g_error("%s: %s", key, error->message);
        p.direction = (enum direction)(i % 3);
        if (p.type[TENSOR_X] != TYPE_INT8 || p.direction == DIRECTION_F)
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
    };
    for (gsize i = 0; i < G_N_ELEMENTS(problems); i++) {
        for (int kind = 0; kind < INPUT_KIND_COUNT; kind++) {
            g_autoptr(GError) error = NULL;
            struct problem p;
            if (!problem_key_parse(problems[i], &p, &error) || !problem_validate(&p, &error))
                g_error("%s: %s", problems[i], error->message);
            g_test_message("%s with %s inputs", problems[i],
                           input_kind_name((enum input_kind)kind));
            seed = random_seed(SEED, (enum input_kind)kind);
            compare_sides(&p);
        }
    }
    seed = SEED;
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
    "64-9-11-3x3-16-5-6-2-1x1-2x2-1x1-0-NCHW-FP32-F_sr16x1x0x0x0+add(FP32,NCHW)+relu",
    "64-9-11-3x3-16-5-6-2-1x1-2x2-1x1-0-NCHW-FP32-F_sx25344x198x0x22x2_sy1920x60x0x12x2+bias",
};

static void compare_all(const char *const *problems, gsize count)
{
    for (gsize i = 0; i < count; i++) {
        g_autoptr(GError) error = NULL;
        struct problem p;
        if (!problem_key_parse(problems[i], &p, &error) || !problem_validate(&p, &error))
            g_error("%s: %s", problems[i], error->message);
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
        seed = random_seed(SEED, (enum input_kind)kind);
        compare_all(operators, G_N_ELEMENTS(operators));
    }
    seed = SEED;
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

static bool gaps_are_whole(struct sides *s)
{
    g_autoptr(GError) error = NULL;
    bool whole;
    judge_finds_gaps_whole(s->judge, s->parts[s->out], s->memory[s->out].poison, &whole, &error);
    g_assert_no_error(error);
    return whole;
}

static void write_byte(struct sides *s, int64_t at, uint8_t byte)
{
    g_autoptr(GError) error = NULL;
    device->row->write(s->parts[s->out], at, &byte, 1, &error);
    g_assert_no_error(error);
}

/* Writes into gaps are found, whatever the elements hold; each gap is behind every second element. */
static void compare_gaps(struct sides *s)
{
    int64_t bytes = data_type_bytes(s->tensors[s->out].type), end = s->memory[s->out].bytes;
    g_assert_true(gaps_are_whole(s));
    write_byte(s, 2 * bytes, 1);
    write_byte(s, end - bytes, 1);
    g_assert_true(gaps_are_whole(s));
    write_byte(s, 2 * bytes - 1, 1);
    g_assert_false(gaps_are_whole(s));
    write_byte(s, 2 * bytes - 1, s->memory[s->out].poison);
    g_assert_true(gaps_are_whole(s));
    write_byte(s, end - bytes - 1, 1);
    g_assert_false(gaps_are_whole(s));
}

/* There is a gap behind each element of the output. The gaps are not compared, but writes into them are found. */
static void strided_output(const char *key)
{
    g_autoptr(GError) error = NULL;
    struct problem p;
    struct sides s;
    g_assert_true(problem_key_parse(key, &p, NULL));
    sides_init(&s, &p);
    guarded_free(&s.memory[s.out]);
    int64_t stride[TENSOR_AXES];
    for (int i = 0; i < TENSOR_AXES; i++)
        stride[i] = 2 * s.tensors[s.out].stride[i];
    tensor_set_strides(&s.tensors[s.out], stride);
    guarded_alloc(&s.memory[s.out], device, tensor_bytes(&s.tensors[s.out]), 1,
                  guarded_poison_of(s.tensors[s.out].type), &error);
    s.parts[s.out] = s.memory[s.out].parts[0];
    g_assert_true(sides_judge(&s, &error));
    g_assert_no_error(error);
    compare_gaps(&s);
    compare_verdicts(&s, 1, "strided");
    sides_clear(&s);
}

static void test_strided(void)
{
    strided_output(keys[0]);
    strided_output("3-40-40-7x7-8-20-20-4-3x3-2x2-1x1-0-NCHW-FP16-F");
    strided_output("pool(max)-8-9-11-3x3-8-5-6-2-1x1-2x2-1x1-0-NHWC-NHWC-NHWC-INT8-F");
    strided_output("pool(average)-24-9-11-3x3-24-5-6-2-1x1-2x2-1x1-0-NCHW-FP64-F");
}

/* ---- a device that gives wrong answers ---- */

enum lie { LIE_VALUE, LIE_MAGNITUDE, LIE_NOTHING_SEEN, LIE_ALL_RIGHT, LIE_COUNT };
static enum lie lie;
static const struct device_row *healthy;

static bool read_lies(struct device_memory *from, int64_t offset, void *to, int64_t bytes,
                      GError **error)
{
    bool done = healthy->read(from, offset, to, bytes, error);
    if (lie == LIE_VALUE && bytes == 64 && offset > 0)
        ((double *)to)[5] += 1e-9;
    if (lie == LIE_MAGNITUDE && bytes == 32)
        ((float *)to)[2] *= 1.001f;
    if (lie == LIE_NOTHING_SEEN && bytes > 10000)
        memset(to, 0, (gsize)bytes);
    /* the last of three arrays, which counts wrong elements */
    if (lie == LIE_ALL_RIGHT && bytes > 10000)
        memset((char *)to + bytes / 3 * 2, 0, (gsize)bytes / 3);
    return done;
}

static void expect_doubt(const char *key)
{
    struct device_row row = *healthy;
    struct problem p;
    g_assert_true(problem_key_parse(key, &p, NULL));
    row.read = read_lies;
    for (int i = 0; i < LIE_COUNT; i++) {
        g_autoptr(GError) error = NULL;
        struct sides s;
        sides_init(&s, &p);
        lie = (enum lie)i;
        device->row = &row;
        g_assert_false(sides_judge(&s, &error));
        device->row = healthy;
        g_assert_error(error, WORKER_ERROR, WORKER_ERROR_DOUBT);
        sides_clear(&s);
    }
}

static void test_sick(void)
{
    expect_doubt(keys[0]);
    for (gsize i = 0; i < G_N_ELEMENTS(operators); i += 5)
        expect_doubt(operators[i]);
}

/* A device that was healthy when the reference was computed then compares nothing: the host notices
 * that. */
static void test_falls_sick(void)
{
    g_autoptr(GError) error = NULL;
    struct device_row row = *healthy;
    struct tolerance tolerance;
    struct judged judged;
    struct problem p;
    struct sides s;
    g_assert_true(problem_key_parse(keys[0], &p, NULL));
    sides_init(&s, &p);
    g_assert_true(sides_judge(&s, &error));
    tolerance_init(&tolerance, &p, NULL, s.host->length);
    row.read = read_lies;
    lie = LIE_NOTHING_SEEN;
    device->row = &row;
    g_assert_false(judge_compare(s.judge, s.parts[s.out], &tolerance, &judged, &error));
    device->row = healthy;
    g_assert_error(error, WORKER_ERROR, WORKER_ERROR_DOUBT);
    sides_clear(&s);
}

static void test_too_large(void)
{
    g_autoptr(GError) error = NULL;
    struct problem p;
    struct device_memory *const none[OPERAND_COUNT] = {NULL};
    struct tensor tensors[OPERAND_COUNT];
    g_assert_true(problem_key_parse(keys[0], &p, NULL));
    p.n = 1 << 30;
    for (int t = 0; t < OPERAND_COUNT; t++)
        tensor_init(&tensors[t], &p, (enum tensor_role)t);
    g_assert_null(judge_new(device, program, &p, tensors, SEED, none, &error));
    g_assert_error(error, DEVICE_ERROR, DEVICE_ERROR_MEMORY);
}

/* The device's functions are not exact enough for FP64; what needs none is judged in it. */
static void test_double(void)
{
    static const char *const refused[] = {
        "softmax-21-5-7-1x1-21-5-7-2-0x0-1x1-1x1-0-NCHW-FP64-F",
        "lrn(5,0.5,0.75,1)-24-9-11-1x1-24-9-11-2-0x0-1x1-1x1-0-NCHW-FP64-F",
        "3-9-9-3x3-8-9-9-1-1x1-1x1-1x1-0-NCHW-FP64-F+relu",
    };
    static const char *const judged[] = {
        "pool(average)-24-9-11-3x3-24-5-6-2-1x1-2x2-1x1-0-NCHW-FP64-F",
        "resize(linear,half_pixel)-8-7-9-1x1-8-14-5-2-0x0-1x1-1x1-0-NCHW-FP64-F",
    };
    for (gsize i = 0; i < G_N_ELEMENTS(refused); i++) {
        g_autoptr(GError) error = NULL;
        struct problem p;
        struct sides s;
        g_assert_true(problem_key_parse(refused[i], &p, NULL));
        sides_init(&s, &p);
        g_assert_false(sides_judge(&s, &error));
        g_assert_error(error, WORKER_ERROR, WORKER_ERROR_INVALID);
        sides_clear(&s);
    }
    compare_all(judged, G_N_ELEMENTS(judged));
}

static void add_tests(struct device *opened, struct device_program *loaded)
{
    device = opened;
    healthy = opened->row;
    program = loaded;
    g_test_add_func("/judge/agrees_with_the_host_on_a_table_of_problems", test_table);
    g_test_add_func("/judge/agrees_with_the_host_on_random_problems", test_random);
    g_test_add_func("/judge/device_and_host_agree_for_all_kinds_of_inputs", test_kinds);
    g_test_add_func("/judge/agrees_with_the_host_on_epilogues", test_epilogues);
    g_test_add_func("/judge/agrees_with_the_host_on_operators_that_are_no_convolutions",
                    test_operators);
    g_test_add_func("/judge/refuses_functions_in_double_precision", test_double);
    g_test_add_func("/judge/output_with_gaps_is_compared", test_strided);
    g_test_add_func("/judge/wrong_device_is_doubted", test_sick);
    g_test_add_func("/judge/device_that_turns_wrong_is_doubted", test_falls_sick);
    g_test_add_func("/judge/reference_too_large_for_the_device_is_refused", test_too_large);
}

int main(int argc, char **argv)
{
    return judge_device_main(argc, argv, "/judge/needs_a_device", add_tests);
}
