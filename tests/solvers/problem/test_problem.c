#include "solvers/problem/problem.h"

#include "solvers/problem/epilogue.h"
#include "solvers/problem/problem_key.h"
#include "tests/support/random_problem.h"

#include <string.h>

#define RANDOM_PROBLEMS 5000

static void simple(struct problem *p)
{
    problem_init(p);
    p->n = 2;
    p->c = 6;
    p->k = 4;
    p->in[AXIS_H] = p->in[AXIS_W] = 8;
    p->fil[AXIS_H] = p->fil[AXIS_W] = 3;
    problem_set_output(p);
}

static void test_output_sizes(void)
{
    static const struct {
        int64_t in, fil, pad, stride, dilation, out;
    } rows[] = {
        {224, 7, 3, 2, 1, 112}, {56, 3, 1, 1, 1, 56}, {14, 1, 0, 2, 1, 7},
        {7, 3, 0, 2, 1, 3},     {8, 3, 0, 2, 1, 3},   {9, 3, 2, 1, 2, 9},
        {1, 4, 0, 1, 1, 1},     {2, 2, 0, 9, 1, 1},   {1, 1024, 0, 3, 1, 1},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        struct problem p;
        problem_init(&p);
        p.in[AXIS_W] = rows[i].in;
        p.fil[AXIS_W] = rows[i].fil;
        p.pad[AXIS_W] = rows[i].pad;
        p.stride[AXIS_W] = rows[i].stride;
        p.dilation[AXIS_W] = rows[i].dilation;
        problem_set_output(&p);
        g_assert_cmpint(p.out[AXIS_W], ==, rows[i].out);
        g_assert_true(problem_validate(&p, NULL));
    }
}

static void break_batch(struct problem *p)
{
    p->n = 0;
}
static void break_large(struct problem *p)
{
    p->c = INT64_C(1) << 31;
}
static void break_stride(struct problem *p)
{
    p->stride[AXIS_W] = 0;
}
static void break_pad(struct problem *p)
{
    p->pad[AXIS_H] = -1;
}
static void break_groups(struct problem *p)
{
    p->groups = 4;
}
static void break_depth(struct problem *p)
{
    p->in[AXIS_D] = 2;
}
static void break_dims(struct problem *p)
{
    p->spatial_dim = 4;
}
static void break_layout(struct problem *p)
{
    p->layout[TENSOR_W] = LAYOUT_NDHWC;
}
static void break_type(struct problem *p)
{
    p->type[TENSOR_Y] = TYPE_NONE;
}
static void break_output(struct problem *p)
{
    p->out[AXIS_H]++;
}
static void break_bias(struct problem *p)
{
    p->bias = 2;
}
static void break_epilogue(struct problem *p)
{
    strcpy(p->epilogue, "+clip(0,6.0)");
}
static void break_epilogue_end(struct problem *p)
{
    memset(p->epilogue, '+', EPILOGUE_MAX);
}
static void break_product(struct problem *p)
{
    p->n = p->c = p->k = INT32_MAX;
}

static void test_broken_fields_are_named(void)
{
    static const struct {
        void (*damage)(struct problem *p);
        const char *message;
    } rows[] = {
        {break_batch, "*batchsize is 0*at least 1*"},
        {break_large, "*in_channels is 2147483648*at most*"},
        {break_stride, "*conv_stride_w is 0*"},
        {break_pad, "*pad_h is -1*"},
        {break_groups, "*group_count is 4*divide*"},
        {break_depth, "*in_d is 2*2D*"},
        {break_dims, "*spatial_dim is 4*"},
        {break_layout, "*filter's layout is NDHWC*"},
        {break_type, "*output has no data type*"},
        {break_output, "*out_h is 7*make it 6*"},
        {break_bias, "*bias is 2*"},
        {break_epilogue, "*+clip(0,6.0)*canonical*"},
        {break_epilogue_end, "*epilogue has no end*"},
        {break_product, "*2^63*"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(GError) error = NULL;
        struct problem p;
        simple(&p);
        rows[i].damage(&p);
        g_assert_false(problem_validate(&p, &error));
        g_assert_error(error, SOLVERS_ERROR, SOLVERS_ERROR_INVALID);
        g_assert_true(g_pattern_match_simple(rows[i].message, error->message));
    }
}

/* Keys of problems that follow the grammar and break a rule of their kind, strides or epilogue. */
static void test_broken_forms_are_refused(void)
{
    static const struct {
        const char *key, *message;
    } rows[] = {
        {"pool-4-8-8-2x2-4-4-4-1-0x0-2x2-1x1-0-NCHW-FP32-F", "*'' is no mode of pool*"},
        {"pool(least)-4-8-8-2x2-4-4-4-1-0x0-2x2-1x1-0-NCHW-FP32-F", "*'least' is no mode of pool*"},
        {"pointwise(max)-4-8-8-1x1-4-8-8-1-0x0-1x1-1x1-0-NCHW-FP32-F", "*no mode of pointwise*"},
        {"softmax(exp)-4-8-8-1x1-4-8-8-1-0x0-1x1-1x1-0-NCHW-FP32-F", "*no mode of softmax*"},
        {"resize(nearest)-4-8-8-1x1-4-9-9-1-0x0-1x1-1x1-0-NCHW-FP32-F", "*no mode of resize*"},
        {"resize(nearest,asymmetric)-4-8-8-1x1-4-9-9-1-0x0-1x1-1x1-0-NCHW-FP32-F", "*no mode*"},
        {"resize(linear,asymmetric,floor)-4-8-8-1x1-4-9-9-1-0x0-1x1-1x1-0-NCHW-FP32-F",
         "*no mode*"},
        {"resize(cubic,asymmetric)-4-8-8-1x1-4-9-9-1-0x0-1x1-1x1-0-NCHW-FP32-F", "*no mode*"},
        {"lrn(5,0.0001,0.75)-4-8-8-1x1-4-8-8-1-0x0-1x1-1x1-0-NCHW-FP32-F", "*no mode of lrn*"},
        {"lrn(0,0.0001,0.75,1)-4-8-8-1x1-4-8-8-1-0x0-1x1-1x1-0-NCHW-FP32-F", "*no mode of lrn*"},
        {"lrn(5,1e-4,0.75,1)-4-8-8-1x1-4-8-8-1-0x0-1x1-1x1-0-NCHW-FP32-F", "*no mode of lrn*"},
        {"lrn(5,inf,0.75,1)-4-8-8-1x1-4-8-8-1-0x0-1x1-1x1-0-NCHW-FP32-F", "*no mode of lrn*"},
        {"lrn(5,-0,0.75,1)-4-8-8-1x1-4-8-8-1-0x0-1x1-1x1-0-NCHW-FP32-F", "*no mode of lrn*"},
        {"lrn(5000000000,1,1,1)-4-8-8-1x1-4-8-8-1-0x0-1x1-1x1-0-NCHW-FP32-F", "*no mode of lrn*"},
        {"pool(max)-4-8-8-2x2-4-4-4-1-0x0-2x2-1x1-0-NCHW-FP32-B", "*has direction F*"},
        {"pool(max)-4-8-8-2x2-4-4-4-1-0x0-2x2-1x1-0-NCHW-FP32-F_g2", "*one group*"},
        {"pool(max)-4-8-8-2x2-5-4-4-1-0x0-2x2-1x1-0-NCHW-FP32-F", "*as many channels in as out*"},
        {"pool(max)-4-8-8-2x2-4-4-4-1-0x0-2x2-1x1-1-NCHW-FP32-F", "*bias 0*"},
        {"pool(max)-4-8-8-2x2-4-4-4-1-0x0-2x2-1x1-0-NCHW-NHWC-NCHW-FP32-F", "*has no filter*"},
        {"pool(max)-4-8-8-2x2-4-4-4-1-0x0-2x2-1x1-0-NCHW-FP32FP16FP32-F", "*has no filter*"},
        {"pool(max)-4-8-8-2x2-4-4-4-1-0x0-2x2-1x1-0-NCHW-FP32-F_ciFP8", "*has no cast types*"},
        {"softmax-4-8-8-3x3-4-8-8-1-0x0-1x1-1x1-0-NCHW-FP32-F", "*has no window*"},
        {"softmax-4-8-8-1x1-4-8-8-1-1x1-1x1-1x1-0-NCHW-FP32-F", "*has no window*"},
        {"lrn(5,1,1,1)-4-8-8-1x1-4-8-8-1-0x0-2x1-1x1-0-NCHW-FP32-F", "*has no window*"},
        {"resize(linear,asymmetric)-4-8-8-1x1-4-9-9-1-0x0-1x1-2x2-0-NCHW-FP32-F",
         "*has no window*"},
        {"pointwise-4-8-8-1x1-4-8-9-1-0x0-1x1-1x1-0-NCHW-FP32-F", "*out_w is 9*make it 8*"},
        {"pool(max)-4-8-8-2x2-4-5-4-1-0x0-2x2-1x1-0-NCHW-FP32-F",
         "*out_h is 5*begins behind the input*"},
        {"pool(max)-4-8-8-2x2-4-6-4-1-2x0-2x2-1x1-0-NCHW-FP32-F", "*pad_h is 2*padding alone*"},
        {"pool(max)-4-8-1-3x2-4-6-1-1-0x1-1x1-1x2-0-NCHW-FP32-F", "*dilation_w is 2*step over*"},
        {"4-8-8-1x1-4-8-8-1-0x0-1x1-1x1-0-NCHW-FP32-F_sr64x1x0x1x1", "*second tensor*no such*"},
        {"pointwise-4-8-8-1x1-4-8-8-1-0x0-1x1-1x1-0-NCHW-FP32-F_sw4x1x0x1x1",
         "*filter has strides*no such*"},
        {"4-8-8-1x1-4-8-8-1-0x0-1x1-1x1-0-NCHW-FP32-F_sx0x64x0x8x1", "*canonical form*"},
        {"4-8-8-1x1-4-8-8-2-0x0-1x1-1x1-0-NCHW-FP32-F_sx512x64x64x10x1", "*canonical form*"},
        {"4-8-8-1x1-4-8-8-2-0x0-1x1-1x1-0-NCHW-FP32-F_sx512x64x0x0x1", "*has stride 0*"},
        {"4-8-8-1x1-4-8-8-2-0x0-1x1-1x1-0-NCHW-FP32-F_sx9000000000000000000x64x0x8x1",
         "*out of range*"},
        {"4-8-8-1x1-4-8-8-2-0x0-1x1-1x1-0-NCHW-FP32-F_sy512x64x0x4x1", "*two elements at one*"},
        {"4-8-8-1x1-4-8-8-2-0x0-1x1-1x1-0-NCHW-FP32-B_sx512x64x0x4x1", "*two elements at one*"},
        {"4-8-8-1x1-4-8-8-2-0x0-1x1-1x1-0-NCHW-INT8INT8INT32-F+relu+bias", "*first step*"},
        {"4-8-8-1x1-4-8-8-2-0x0-1x1-1x1-0-NCHW-FP32-F+requant(INT8,tensor)",
         "*requant gives INT8*"},
        {"4-8-8-1x1-4-8-8-2-0x0-1x1-1x1-0-NCHW-FP32-F+add(FP32,NDHWC)", "*second tensor*NDHWC*"},
        {"4-8-8-1x1-4-8-8-2-0x0-1x1-1x1-0-NCHW-FP32-W+relu", "*direction W*no epilogue*"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(GError) error = NULL;
        struct problem p;
        g_assert_true(problem_key_parse(rows[i].key, &p, &error));
        g_assert_no_error(error);
        bool refused = !problem_validate(&p, &error);
        if (!refused) {
            g_test_message("%s is valid", rows[i].key);
        }
        g_assert_true(refused);
        g_assert_error(error, SOLVERS_ERROR, SOLVERS_ERROR_INVALID);
        if (refused && !g_pattern_match_simple(rows[i].message, error->message)) {
            g_test_message("%s: %s", rows[i].key, error->message);
            g_test_fail();
        }
    }
}

static void test_a_mode_without_end_is_refused(void)
{
    g_autoptr(GError) error = NULL;
    struct problem p;
    problem_init(&p);
    p.kind = OP_POOL;
    memset(p.mode, 'm', sizeof p.mode);
    g_assert_false(problem_validate(&p, &error));
    g_assert_error(error, SOLVERS_ERROR, SOLVERS_ERROR_INVALID);
}

static void test_kinds_have_their_output_size(void)
{
    static const struct {
        const char *key;
        double macs;
    } rows[] = {
        /* a pool that rounds its output up: 7 = ceil((13 - 2) / 2) + 1 */
        {"pool(max)-4-13-13-2x2-4-7-7-2-0x0-2x2-1x1-0-NCHW-FP32-F", 2.0 * 4 * 4 * 49},
        {"pool(max)-4-13-13-2x2-4-6-6-2-0x0-2x2-1x1-0-NCHW-FP32-F", 2.0 * 4 * 4 * 36},
        {"resize(linear,asymmetric)-4-13-13-1x1-4-3-50-2-0x0-1x1-1x1-0-NCHW-FP32-F", 2.0 * 4 * 150},
        {"softmax-4-13-13-1x1-4-13-13-2-0x0-1x1-1x1-0-NCHW-FP32-F", 2.0 * 4 * 169},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(GError) error = NULL;
        struct problem p;
        g_assert_true(problem_key_parse(rows[i].key, &p, NULL));
        g_assert_true(problem_validate(&p, &error));
        g_assert_no_error(error);
        g_assert_cmpfloat(problem_macs(&p), ==, rows[i].macs);
    }
    struct problem p;
    simple(&p);
    p.kind = OP_SOFTMAX;
    problem_set_output(&p);
    g_assert_cmpint(p.out[AXIS_H], ==, p.in[AXIS_H]);
}

static void test_operands_by_role(void)
{
    struct problem p;
    int64_t sizes[5];
    simple(&p); /* y is 2 x 4 x 6 x 6 */
    strcpy(p.epilogue, "+bias+add(FP16,NHWC)+scale(channel)");
    g_assert_true(problem_validate(&p, NULL));
    g_assert_cmpint(problem_operand_type(&p, TENSOR_BIAS), ==, TYPE_FP32);
    g_assert_cmpint(problem_tensor_elements(&p, TENSOR_BIAS), ==, 4);
    g_assert_cmpint(problem_tensor_elements(&p, TENSOR_SCALES), ==, 4 + 1);
    g_assert_cmpint(problem_tensor_bytes(&p, TENSOR_SCALES), ==, 20);
    g_assert_cmpint(problem_operand_type(&p, TENSOR_RESIDUAL), ==, TYPE_FP16);
    g_assert_cmpint(problem_operand_layout(&p, TENSOR_RESIDUAL), ==, LAYOUT_NHWC);
    g_assert_cmpint(problem_tensor_bytes(&p, TENSOR_RESIDUAL), ==, 2 * 2 * 4 * 36);
    g_assert_false(problem_has_operand(&p, TENSOR_PACKED));
    g_assert_cmpint(problem_tensor_elements(&p, TENSOR_PACKED), ==, 0);
    p.type[TENSOR_X] = TYPE_INT8;
    g_assert_cmpint(problem_operand_type(&p, TENSOR_BIAS), ==, TYPE_INT32);
    p.type[TENSOR_X] = TYPE_FP64;
    g_assert_cmpint(problem_operand_type(&p, TENSOR_BIAS), ==, TYPE_FP64);
    p.direction = DIRECTION_B; /* the written tensor is x, 2 x 6 x 8 x 8 */
    g_assert_cmpint(problem_tensor_elements(&p, TENSOR_BIAS), ==, 6);
    problem_operand_sizes(&p, TENSOR_RESIDUAL, sizes);
    g_assert_cmpint(sizes[1], ==, 6);
    g_assert_cmpint(sizes[4], ==, 8);
    p.epilogue[0] = '\0';
    g_assert_cmpint(problem_tensor_elements(&p, TENSOR_RESIDUAL), ==, 0);
    g_assert_cmpint(problem_operand_type(&p, TENSOR_RESIDUAL), ==, TYPE_NONE);
    p.direction = DIRECTION_F;
    p.kind = OP_POINTWISE;
    g_assert_false(problem_has_operand(&p, TENSOR_W));
    g_assert_cmpint(problem_tensor_elements(&p, TENSOR_W), ==, 0);
}

static void test_strides_are_kept_in_canonical_form(void)
{
    static const int64_t packed[5] = {384, 64, 777, 8, 1}, gaps[5] = {400, 65, 777, 8, 1},
                         none[5] = {0}, canonical[5] = {400, 65, 0, 8, 1};
    struct problem p;
    int64_t strides[5];
    simple(&p); /* x is 2 x 6 x 8 x 8 */
    problem_set_strides(&p, TENSOR_X, packed);
    g_assert_cmpmem(p.strides[TENSOR_X], sizeof packed, none, sizeof none);
    g_assert_false(problem_is_strided(&p));
    g_assert_cmpint(problem_tensor_span(&p, TENSOR_X), ==, 2 * 6 * 64);
    problem_set_strides(&p, TENSOR_X, gaps);
    g_assert_cmpmem(p.strides[TENSOR_X], sizeof packed, canonical, sizeof canonical);
    g_assert_true(problem_is_strided(&p));
    problem_strides(&p, TENSOR_X, strides);
    g_assert_cmpmem(strides, sizeof strides, canonical, sizeof canonical);
    g_assert_cmpint(problem_tensor_span(&p, TENSOR_X), ==, 400 + 5 * 65 + 7 * 8 + 7 + 1);
    g_assert_cmpint(problem_tensor_elements(&p, TENSOR_X), ==, 2 * 6 * 64);
    g_assert_true(problem_validate(&p, NULL));
    problem_strides(&p, TENSOR_W, strides);
    g_assert_cmpint(strides[0], ==, 6 * 9);
}

/* One block of channels is an axis of one step: its stride is 0, though it has 4 channels. */
static void test_strides_of_blocked_layouts(void)
{
    static const int64_t one_block[5] = {300, 0, 0, 36, 4}, two_blocks[5] = {600, 300, 0, 36, 4},
                         narrow[5] = {600, 300, 0, 36, 3};
    g_autoptr(GError) error = NULL;
    struct problem p;
    simple(&p);
    p.layout[TENSOR_X] = p.layout[TENSOR_Y] = LAYOUT_NCHWC4;
    problem_set_strides(&p, TENSOR_Y, one_block); /* y has 4 channels */
    problem_set_strides(&p, TENSOR_X, two_blocks);
    g_assert_true(problem_validate(&p, &error));
    g_assert_no_error(error);
    g_assert_cmpint(problem_tensor_span(&p, TENSOR_Y), ==, 300 + 5 * 36 + 5 * 4 + 4);
    p.k = 8;
    problem_set_strides(&p, TENSOR_Y, narrow); /* steps of 3 elements between blocks of 4 */
    g_assert_false(problem_validate(&p, &error));
}

/* A residual may repeat its elements, and shows in the classes of its epilogue. */
static void test_a_residual_may_repeat(void)
{
    static const int64_t by_channel[5] = {0, 1, 0, 0, 0};
    struct problem p;
    simple(&p);
    strcpy(p.epilogue, "+add(FP32,NCHW)+relu");
    g_assert_cmpuint(problem_epilogue_classes(&p), ==,
                     EPILOGUE_DOES_RESIDUAL | EPILOGUE_DOES_ACTIVATION);
    problem_set_strides(&p, TENSOR_RESIDUAL, by_channel);
    g_assert_true(problem_validate(&p, NULL));
    g_assert_cmpuint(problem_epilogue_classes(&p), ==,
                     EPILOGUE_DOES_RESIDUAL | EPILOGUE_DOES_ANY_RESIDUAL |
                         EPILOGUE_DOES_ACTIVATION);
    g_assert_cmpint(problem_tensor_span(&p, TENSOR_RESIDUAL), ==, 4);
}

/* The output's own strides: a residual that has the same ones follows it. */
static void test_a_residual_follows_a_strided_output(void)
{
    static const int64_t gaps[5] = {400, 100, 0, 10, 1};
    struct problem p;
    simple(&p);
    strcpy(p.epilogue, "+add(FP32,NCHW)");
    problem_set_strides(&p, TENSOR_Y, gaps);
    g_assert_cmpuint(problem_epilogue_classes(&p), ==,
                     EPILOGUE_DOES_RESIDUAL | EPILOGUE_DOES_ANY_RESIDUAL);
    problem_set_strides(&p, TENSOR_RESIDUAL, gaps);
    g_assert_cmpuint(problem_epilogue_classes(&p), ==, EPILOGUE_DOES_RESIDUAL);
}

static void test_strides_of_every_layout(void)
{
    static const struct {
        enum layout layout;
        int64_t strides[5]; /* strides of a tensor of 2 x 6 x 8 x 8 */
    } rows[] = {
        {LAYOUT_NCHW, {384, 64, 64, 8, 1}},      {LAYOUT_NHWC, {384, 1, 384, 48, 6}},
        {LAYOUT_CHWN, {1, 128, 128, 16, 2}},     {LAYOUT_NCHWC4, {512, 256, 256, 32, 4}},
        {LAYOUT_NCHWC8, {512, 512, 512, 64, 8}}, {LAYOUT_CHWNC4, {4, 512, 512, 64, 8}},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        struct problem p;
        int64_t strides[5];
        simple(&p);
        p.layout[TENSOR_X] = rows[i].layout;
        problem_packed_strides(&p, TENSOR_X, strides);
        for (int axis = 0; axis < 5; axis++) {
            if (axis != 2) { /* a 2D tensor's depth is 1, its stride is never used */
                g_assert_cmpint(strides[axis], ==, rows[i].strides[axis]);
            }
        }
    }
}

/* The last element's offset, computed by the strides, is the number of elements less one. */
static void test_strides_fill_the_tensor(void)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(11);
    struct random_limits limits;
    random_limits_wide(&limits);
    limits.max_channels = 64;
    limits.kinds = 1u << OP_CONV;
    for (int i = 0; i < RANDOM_PROBLEMS; i++) {
        struct problem p;
        int64_t strides[5];
        random_problem(random, &limits, &p);
        for (int t = 0; t < TENSOR_COUNT; t++) {
            int64_t block = problem_layout_block(p.layout[t]);
            int64_t channels = t == TENSOR_X ? p.c : t == TENSOR_W ? p.c / p.groups : p.k;
            const int64_t *spatial = t == TENSOR_X ? p.in : t == TENSOR_W ? p.fil : p.out;
            problem_packed_strides(&p, (enum tensor_role)t, strides);
            int64_t last = ((t == TENSOR_W ? p.k : p.n) - 1) * strides[0] +
                           ((channels + block - 1) / block - 1) * strides[1] + block;
            for (int a = 0; a < AXIS_COUNT; a++) {
                last += (spatial[a] - 1) * strides[2 + a];
            }
            g_assert_cmpint(last, ==, problem_tensor_elements(&p, (enum tensor_role)t));
        }
    }
}

static void test_transposed_is_the_mirrored_problem(void)
{
    static const int64_t none[AXIS_COUNT] = {0, 0, 0}, one[AXIS_COUNT] = {0, 1, 1};
    struct problem t, p;
    simple(&t);
    t.stride[AXIS_H] = t.stride[AXIS_W] = 2;
    t.pad[AXIS_H] = t.pad[AXIS_W] = 1;
    t.layout[TENSOR_X] = LAYOUT_NHWC;
    t.type[TENSOR_Y] = TYPE_FP16;
    g_assert_true(problem_from_transposed(&t, none, &p, NULL));
    g_assert_cmpint(p.direction, ==, DIRECTION_B);
    g_assert_cmpint(p.c, ==, t.k);
    g_assert_cmpint(p.k, ==, t.c);
    g_assert_cmpint(p.in[AXIS_H], ==, 2 * (8 - 1) + 2 + 1 - 2);
    g_assert_cmpint(p.out[AXIS_H], ==, t.in[AXIS_H]);
    g_assert_cmpint(p.layout[TENSOR_Y], ==, LAYOUT_NHWC);
    g_assert_cmpint(p.type[TENSOR_X], ==, TYPE_FP16);
    g_assert_true(problem_from_transposed(&t, one, &p, NULL));
    g_assert_cmpint(p.in[AXIS_W], ==, 16);
    t.direction = DIRECTION_B;
    g_assert_true(problem_from_transposed(&t, none, &p, NULL));
    g_assert_cmpint(p.direction, ==, DIRECTION_F);
    t.direction = DIRECTION_W;
    g_assert_true(problem_from_transposed(&t, none, &p, NULL));
    g_assert_cmpint(p.direction, ==, DIRECTION_W);
}

static void test_transposed_without_an_equal_is_refused(void)
{
    static const int64_t none[AXIS_COUNT] = {0, 0, 0}, two[AXIS_COUNT] = {0, 2, 0};
    g_autoptr(GError) error = NULL;
    struct problem t, p;
    simple(&t);
    t.stride[AXIS_H] = 2;
    g_assert_false(problem_from_transposed(&t, two, &p, &error));
    g_assert_error(error, SOLVERS_ERROR, SOLVERS_ERROR_INVALID);
    g_clear_error(&error);
    t.pad[AXIS_H] = 100;
    g_assert_false(problem_from_transposed(&t, none, &p, &error));
    g_assert_error(error, SOLVERS_ERROR, SOLVERS_ERROR_INVALID);
}

static void test_order_equality_and_hash_agree(void)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(5);
    struct random_limits limits;
    random_limits_small(&limits);
    limits.max_size = limits.max_channels = 2;
    limits.epilogues = limits.strided = true;
    limits.kinds = (1u << OP_KIND_COUNT) - 1;
    for (int i = 0; i < RANDOM_PROBLEMS; i++) {
        struct problem a, b;
        random_problem(random, &limits, &a);
        random_problem(random, &limits, &b);
        int order = problem_compare(&a, &b);
        g_assert_true((order < 0) == (problem_compare(&b, &a) > 0));
        g_assert_true((order == 0) == problem_equal(&a, &b));
        g_assert_true(order != 0 || problem_hash(&a) == problem_hash(&b));
    }
}

static void test_work_and_bytes(void)
{
    struct problem p;
    simple(&p);
    p.groups = 2;
    g_assert_cmpfloat(problem_macs(&p), ==, 2.0 * 4 * 3 * 9 * 36);
    g_assert_cmpint(problem_tensor_elements(&p, TENSOR_W), ==, 4 * 3 * 9);
    p.layout[TENSOR_W] = LAYOUT_NCHWC4;
    g_assert_cmpint(problem_tensor_elements(&p, TENSOR_W), ==, 4 * 4 * 9);
    p.type[TENSOR_X] = TYPE_BF16;
    g_assert_cmpint(problem_tensor_bytes(&p, TENSOR_X), ==, 2 * 2 * 6 * 64);
    for (int d = 0; d < DIRECTION_COUNT; d++) {
        static const enum tensor_role written[] = {TENSOR_Y, TENSOR_X, TENSOR_W};
        p.direction = (enum direction)d;
        g_assert_cmpint(problem_output_role(&p), ==, written[d]);
    }
}

static void test_names_are_parsed_back(void)
{
    for (int i = TYPE_NONE + 1; i < DATA_TYPE_COUNT; i++) {
        enum data_type type;
        g_assert_true(data_type_parse(data_type_name((enum data_type)i), &type) && (int)type == i);
    }
    for (int i = 0; i < LAYOUT_COUNT; i++) {
        enum layout layout;
        g_assert_true(layout_parse(layout_name((enum layout)i), &layout) && (int)layout == i);
    }
    for (int i = 0; i < DIRECTION_COUNT; i++) {
        enum direction direction;
        g_assert_true(direction_parse(direction_letter((enum direction)i), &direction) &&
                      (int)direction == i);
    }
    for (int i = 0; i < OP_KIND_COUNT; i++) {
        enum op_kind kind;
        g_assert_true(op_kind_parse(op_kind_name((enum op_kind)i), &kind) && (int)kind == i);
    }
    enum data_type type;
    enum layout layout;
    enum op_kind kind;
    g_assert_false(op_kind_parse("", &kind) || op_kind_parse("Conv", &kind));
    g_assert_false(data_type_parse("", &type) || data_type_parse("fp32", &type));
    g_assert_false(layout_parse("NCHWc", &layout) || layout_parse("nchw", &layout));
}

static void test_words_of_other_programs(void)
{
    static const struct {
        const char *word;
        enum data_type type; /* TYPE_NONE: the name is not one of our types */
    } types[] = {
        {"FP16", TYPE_FP16},          {"fp16", TYPE_FP16},     {"Half", TYPE_FP16},
        {"torch.float16", TYPE_FP16}, {"float", TYPE_FP32},    {"tf.float32", TYPE_FP32},
        {"bfloat16", TYPE_BF16},      {"bfp16", TYPE_BF16},    {"i8", TYPE_INT8},
        {"np.int8", TYPE_INT8},       {"Double", TYPE_FP64},   {"float8_e4m3fn", TYPE_FP8},
        {"torch.", TYPE_NONE},        {"", TYPE_NONE},         {"uint8", TYPE_NONE},
        {"tf32", TYPE_NONE},          {"float16 ", TYPE_NONE},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(types); i++) {
        enum data_type type = TYPE_NONE;
        g_assert_cmpint(data_type_from_word(types[i].word, &type), ==, types[i].type != TYPE_NONE);
        g_assert_cmpint(type, ==, types[i].type);
    }
    static const struct {
        const char *word;
        int spatial_dim;
        bool known;
        enum layout layout;
    } layouts[] = {
        {"nhwc", 2, true, LAYOUT_NHWC},
        {"NHWC", 3, true, LAYOUT_NDHWC},
        {"NDHWC", 2, true, LAYOUT_NHWC},
        {"channels_last", 2, true, LAYOUT_NHWC},
        {"torch.channels_last_3d", 3, true, LAYOUT_NDHWC},
        {"channels_first", 3, true, LAYOUT_NCDHW},
        {"nwc", 2, true, LAYOUT_NHWC},
        {"nchwc4", 2, true, LAYOUT_NCHWC4},
        {"CHWN", 3, false, LAYOUT_NCHW},
        {"NWHC", 2, false, LAYOUT_NCHW},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(layouts); i++) {
        enum layout layout = LAYOUT_NCHW;
        g_assert_cmpint(layout_from_word(layouts[i].word, layouts[i].spatial_dim, &layout), ==,
                        layouts[i].known);
        if (layouts[i].known) {
            g_assert_cmpint(layout, ==, layouts[i].layout);
        }
    }
}

static void test_clamped_problems(void)
{
    static const struct {
        int64_t in, fil, pad, dilation;
        bool clamped;
    } rows[] = {
        {2, 5, 0, 1, true}, {5, 5, 0, 1, false}, {3, 5, 1, 1, false},
        {3, 3, 0, 2, true}, {5, 3, 0, 2, false}, {1, 1, 0, 9, false},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        for (int a = AXIS_H; a < AXIS_COUNT; a++) {
            struct problem p;
            problem_init(&p);
            p.in[a] = rows[i].in;
            p.fil[a] = rows[i].fil;
            p.pad[a] = rows[i].pad;
            p.dilation[a] = rows[i].dilation;
            g_assert_cmpint(problem_is_clamped(&p), ==, rows[i].clamped);
        }
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/problem/output_sizes_follow_the_formula", test_output_sizes);
    g_test_add_func("/problem/broken_fields_are_named", test_broken_fields_are_named);
    g_test_add_func("/problem/broken_forms_are_refused", test_broken_forms_are_refused);
    g_test_add_func("/problem/a_mode_without_end_is_refused", test_a_mode_without_end_is_refused);
    g_test_add_func("/problem/kinds_have_their_output_size", test_kinds_have_their_output_size);
    g_test_add_func("/problem/operands_are_found_by_role", test_operands_by_role);
    g_test_add_func("/problem/strides_are_kept_in_canonical_form",
                    test_strides_are_kept_in_canonical_form);
    g_test_add_func("/problem/strides_of_blocked_layouts_step_over_blocks",
                    test_strides_of_blocked_layouts);
    g_test_add_func("/problem/a_residual_may_repeat_its_elements", test_a_residual_may_repeat);
    g_test_add_func("/problem/a_residual_follows_a_strided_output",
                    test_a_residual_follows_a_strided_output);
    g_test_add_func("/problem/strides_of_every_layout_are_right", test_strides_of_every_layout);
    g_test_add_func("/problem/strides_fill_the_packed_tensor", test_strides_fill_the_tensor);
    g_test_add_func("/problem/transposed_is_the_mirrored_problem",
                    test_transposed_is_the_mirrored_problem);
    g_test_add_func("/problem/transposed_without_an_equal_is_refused",
                    test_transposed_without_an_equal_is_refused);
    g_test_add_func("/problem/order_equality_and_hash_agree", test_order_equality_and_hash_agree);
    g_test_add_func("/problem/work_and_bytes_are_counted", test_work_and_bytes);
    g_test_add_func("/problem/names_are_parsed_back", test_names_are_parsed_back);
    g_test_add_func("/problem/words_of_other_programs_are_read", test_words_of_other_programs);
    g_test_add_func("/problem/filter_over_the_padded_input_is_clamped", test_clamped_problems);
    return g_test_run();
}
