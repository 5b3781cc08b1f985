/* The reference against loops written straight from the definition of a convolution. */
#include "worker/verify/reference.h"

#include <math.h>
#include <string.h>

#include "solvers/problem/problem_key.h"
#include "worker/protocol/frames.h"
#include "worker/verify/reference_element.h"
#include "worker/verify/tensor.h"

struct shape {
    int64_t n, c, k, groups, in[3], fil[3], pad[3], stride[3], dilation[3];
    int spatial_dim;
};

static const struct shape shapes[] = {
    {1, 1, 1, 1, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}, {1, 1, 1}, {1, 1, 1}, 2},
    {2, 3, 5, 1, {1, 7, 9}, {1, 3, 3}, {0, 1, 1}, {1, 1, 1}, {1, 1, 1}, 2},
    {1, 4, 6, 2, {1, 9, 8}, {1, 3, 2}, {0, 2, 0}, {1, 2, 1}, {1, 1, 3}, 2},
    {3, 8, 8, 8, {1, 10, 10}, {1, 3, 3}, {0, 1, 1}, {1, 2, 2}, {1, 1, 1}, 2},
    {2, 70, 67, 1, {1, 5, 6}, {1, 1, 1}, {0, 0, 0}, {1, 2, 2}, {1, 1, 1}, 2},
    {1, 40, 9, 1, {1, 13, 12}, {1, 3, 3}, {0, 1, 1}, {1, 1, 1}, {1, 2, 2}, 2},
    {2, 4, 6, 2, {5, 6, 7}, {2, 3, 3}, {1, 0, 2}, {1, 2, 3}, {2, 1, 1}, 3},
};

static void make_problem(const struct shape *s, enum direction direction, struct problem *p)
{
    problem_init(p);
    p->direction = direction;
    p->spatial_dim = s->spatial_dim;
    p->n = s->n, p->c = s->c, p->k = s->k, p->groups = s->groups;
    memcpy(p->in, s->in, sizeof(p->in));
    memcpy(p->fil, s->fil, sizeof(p->fil));
    memcpy(p->pad, s->pad, sizeof(p->pad));
    memcpy(p->stride, s->stride, sizeof(p->stride));
    memcpy(p->dilation, s->dilation, sizeof(p->dilation));
    if (s->spatial_dim == 3)
        p->layout[TENSOR_X] = p->layout[TENSOR_W] = p->layout[TENSOR_Y] = LAYOUT_NCDHW;
    problem_set_output(p);
}

static double *random_dense(const struct problem *p, enum tensor_role role, GRand *rand)
{
    struct tensor tensor;
    tensor_init(&tensor, p, role);
    double *dense = g_new(double, tensor_count(&tensor));
    for (int64_t i = 0; i < tensor_count(&tensor); i++)
        dense[i] = g_rand_double_range(rand, -1, 1);
    return dense;
}

/* Calls visit(x index, w index, y index) for every product of the convolution. */
static void each_product(const struct problem *p, void (*visit)(int64_t, int64_t, int64_t, void *),
                         void *data)
{
    int64_t cg = p->c / p->groups, kg = p->k / p->groups;
    int64_t taps = p->fil[0] * p->fil[1] * p->fil[2], pixels = p->out[0] * p->out[1] * p->out[2];
    for (int64_t flat = 0; flat < p->n * p->k * cg * pixels * taps; flat++) {
        int64_t f = flat % taps, o = flat / taps % pixels, c = flat / taps / pixels % cg;
        int64_t k = flat / taps / pixels / cg % p->k, n = flat / taps / pixels / cg / p->k;
        int64_t fil[3] = {f / p->fil[2] / p->fil[1], f / p->fil[2] % p->fil[1], f % p->fil[2]};
        int64_t out[3] = {o / p->out[2] / p->out[1], o / p->out[2] % p->out[1], o % p->out[2]};
        int64_t x = n * p->c + k / kg * cg + c;
        bool inside = true;
        for (int a = 0; a < 3; a++) {
            int64_t at = out[a] * p->stride[a] - p->pad[a] + fil[a] * p->dilation[a];
            inside &= at >= 0 && at < p->in[a];
            x = x * p->in[a] + at;
        }
        if (inside)
            visit(x, (k * cg + c) * taps + f, (n * p->k + k) * pixels + o, data);
    }
}

struct sums {
    enum tensor_role out;
    double **dense;
    double *value, *magnitude;
};

static void add_product(int64_t x, int64_t w, int64_t y, void *data)
{
    struct sums *s = data;
    int64_t at[TENSOR_COUNT] = {x, w, y};
    double product = 1;
    for (int t = 0; t < TENSOR_COUNT; t++)
        product *= t == (int)s->out ? 1 : s->dense[t][at[t]];
    s->value[at[s->out]] += product;
    s->magnitude[at[s->out]] += fabs(product);
}

static double dense_input(const void *data, enum tensor_role role, int64_t index)
{
    double *const *dense = data;
    return dense[role][index];
}

static void check_shape(const struct shape *shape, enum direction direction, int threads)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GRand) rand = g_rand_new_with_seed(7);
    struct problem p;
    double *dense[OPERAND_COUNT] = {NULL};
    make_problem(shape, direction, &p);
    for (int t = 0; t < TENSOR_COUNT; t++)
        dense[t] = random_dense(&p, (enum tensor_role)t, rand);
    struct reference *r = reference_compute(&p, (const double *const *)dense, threads, 0, &error);
    g_assert_no_error(error);
    struct sums s = {problem_output_role(&p), dense, g_new0(double, r->count),
                     g_new0(double, r->count)};
    each_product(&p, add_product, &s);
    const struct reference_inputs inputs = {dense_input, dense};
    double off = 0, magnitude_off = 0;
    for (int64_t i = 0; i < r->count; i++) {
        double value, magnitude;
        reference_element(&p, &inputs, i, &value, &magnitude);
        off = fmax(off, fmax(fabs(r->value[i] - s.value[i]), fabs(value - s.value[i])));
        magnitude_off = fmax(magnitude_off, fmax(fabs(r->magnitude[i] - s.magnitude[i]),
                                                 fabs(magnitude - s.magnitude[i])));
    }
    g_assert_cmpfloat(reference_length(&p), ==, r->length);
    g_assert_cmpfloat(off, <, 1e-12);
    g_assert_cmpfloat(magnitude_off, <, 1e-4);
    g_free(s.value), g_free(s.magnitude);
    for (int t = 0; t < TENSOR_COUNT; t++)
        g_free(dense[t]);
    reference_unref(r);
}

static void test_definition(gconstpointer data)
{
    for (gsize i = 0; i < G_N_ELEMENTS(shapes); i++)
        check_shape(&shapes[i], (enum direction)GPOINTER_TO_INT(data), 1 + (int)i % 2);
}

static void test_sampling(void)
{
    struct shape shape = {4, 8, 8, 1, {1, 40, 40}, {1, 3, 3}, {0, 1, 1}, {1, 1, 1}, {1, 1, 1}, 2};
    g_autoptr(GRand) rand = g_rand_new_with_seed(7);
    struct problem p;
    double *dense[OPERAND_COUNT] = {NULL};
    make_problem(&shape, DIRECTION_F, &p);
    for (int t = 0; t < TENSOR_COUNT; t++)
        dense[t] = random_dense(&p, (enum tensor_role)t, rand);
    struct reference *all = reference_compute(&p, (const double *const *)dense, 2, 0, NULL);
    struct reference *some =
        reference_compute(&p, (const double *const *)dense, 2, problem_macs(&p) / 4, NULL);
    int64_t computed = 0, different = 0;
    for (int64_t i = 0; i < some->count; i++) {
        computed += !isnan(some->value[i]);
        different += !isnan(some->value[i]) && some->value[i] != all->value[i];
    }
    g_assert_cmpint(different, ==, 0);
    g_assert_cmpint(computed, >, some->count / 10);
    g_assert_cmpint(computed, <, some->count / 2);
    g_assert_false(isnan(some->value[0]));
    g_assert_false(isnan(some->value[some->count - 1]));
    for (int t = 0; t < TENSOR_COUNT; t++)
        g_free(dense[t]);
    reference_unref(all);
    reference_unref(some);
}

/* A layer of few pixels, whose rows are divided among threads. */
static void test_threads(gconstpointer data)
{
    struct shape shape = {1, 200, 200, 1, {1, 7, 7}, {1, 3, 3}, {0, 1, 1}, {1, 1, 1}, {1, 1, 1}, 2};
    g_autoptr(GRand) rand = g_rand_new_with_seed(7);
    struct problem p;
    double *dense[OPERAND_COUNT] = {NULL};
    make_problem(&shape, (enum direction)GPOINTER_TO_INT(data), &p);
    for (int t = 0; t < TENSOR_COUNT; t++)
        dense[t] = random_dense(&p, (enum tensor_role)t, rand);
    struct reference *one = reference_compute(&p, (const double *const *)dense, 1, 0, NULL);
    for (int threads = 2; threads < 8; threads++) {
        struct reference *all =
            reference_compute(&p, (const double *const *)dense, threads, 0, NULL);
        g_assert_cmpmem(all->value, sizeof(double) * (gsize)all->count, one->value,
                        sizeof(double) * (gsize)one->count);
        g_assert_cmpmem(all->magnitude, sizeof(float) * (gsize)all->count, one->magnitude,
                        sizeof(float) * (gsize)one->count);
        reference_unref(all);
    }
    for (int t = 0; t < TENSOR_COUNT; t++)
        g_free(dense[t]);
    reference_unref(one);
}

/* The reference leaves the bias out, since a separate kernel adds it. */
static void test_bias_is_no_matter(void)
{
    const double x = 2, w = 3;
    const double *const dense[OPERAND_COUNT] = {&x, &w, NULL};
    g_autoptr(GError) error = NULL;
    struct problem p;
    problem_init(&p);
    p.bias = 1;
    struct reference *r = reference_compute(&p, dense, 1, 0, &error);
    g_assert_no_error(error);
    g_assert_cmpfloat(r->value[0], ==, 6);
    reference_unref(r);
}

/* 2 * 3 = 6, then the steps, with what each reads. */
static void test_epilogue_is_done(void)
{
    const double x[] = {2, -2}, w[] = {3}, bias[] = {1}, residual[] = {0.5, 20},
                 scales[] = {0.5, 0};
    const double *const dense[OPERAND_COUNT] = {[TENSOR_X] = x,
                                                [TENSOR_W] = w,
                                                [TENSOR_BIAS] = bias,
                                                [TENSOR_RESIDUAL] = residual,
                                                [TENSOR_SCALES] = scales};
    g_autoptr(GError) error = NULL;
    struct problem p;
    problem_init(&p);
    p.in[AXIS_W] = p.out[AXIS_W] = 2;
    strcpy(p.epilogue, "+bias+scale(tensor)+add(FP32,NCHW)+relu");
    struct reference *r = reference_compute(&p, dense, 1, 0, &error);
    g_assert_no_error(error);
    g_assert_cmpfloat(r->value[0], ==, 4);
    g_assert_cmpfloat(r->value[1], ==, 17.5);
    g_assert_cmpfloat((double)r->magnitude[0], ==, 6);
    g_assert_cmpfloat((double)r->gain[0], ==, 0.5);
    g_assert_cmpfloat((double)r->slack[0], >, 0);
    g_assert_cmpfloat((double)r->slack[0], <, 100 * 0x1p-24);
    reference_unref(r);
}

/* The dense form has no strides: a problem's reference is the same however its tensors lie. */
static void test_strides_are_no_matter(void)
{
    const double x[] = {2, 5}, w[] = {3};
    const double *const dense[OPERAND_COUNT] = {x, w, NULL};
    g_autoptr(GError) error = NULL;
    struct problem p;
    problem_init(&p);
    p.in[AXIS_W] = p.out[AXIS_W] = 2;
    problem_set_strides(&p, TENSOR_X, (const int64_t[5]){0, 0, 0, 0, 7});
    struct reference *r = reference_compute(&p, dense, 1, 0, &error);
    g_assert_no_error(error);
    g_assert_cmpint(r->count, ==, 2);
    g_assert_cmpfloat(r->value[1], ==, 15);
    reference_unref(r);
    p.in[AXIS_H] = p.out[AXIS_H] = 3;
    problem_set_strides(&p, TENSOR_X, (const int64_t[5]){0, 0, 0, 1, 2});
    g_assert_null(reference_compute(&p, dense, 1, 0, &error));
    g_assert_error(error, WORKER_ERROR, WORKER_ERROR_INVALID);
    g_assert_nonnull(strstr(error->message, "overlap"));
}

/* An input that is cast is rounded to that type, in the target's form, before it is multiplied; the cast of the tensor that
 * is written says nothing. */
static void test_casts(void)
{
    static const struct {
        enum data_type x, w, y;
        bool fnuz;
        double expected;
    } rows[] = {
        {TYPE_NONE, TYPE_NONE, TYPE_NONE, false, 300 * 1.3},
        {TYPE_FP8, TYPE_NONE, TYPE_INT8, false, 288 * 1.3},
        {TYPE_FP8, TYPE_NONE, TYPE_INT8, true, 240 * 1.3},
        {TYPE_NONE, TYPE_BF8, TYPE_NONE, false, 300 * 1.25},
        {TYPE_FP8, TYPE_FP8, TYPE_FP8, false, 288 * 1.25},
        {TYPE_INT8, TYPE_INT32, TYPE_NONE, false, 127},
    };
    const double x = 300, w = 1.3;
    const double *const dense[OPERAND_COUNT] = {&x, &w, NULL};
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(GError) error = NULL;
        struct problem p;
        problem_init(&p);
        p.type[TENSOR_X] = p.type[TENSOR_W] = TYPE_FP64;
        p.cast[TENSOR_X] = rows[i].x;
        p.cast[TENSOR_W] = rows[i].w;
        p.cast[TENSOR_Y] = rows[i].y;
        p.fnuz = rows[i].fnuz;
        struct reference *r = reference_compute(&p, dense, 1, 0, &error);
        g_assert_no_error(error);
        g_test_message("row %d", (int)i);
        g_assert_cmpfloat_with_epsilon(r->value[0], rows[i].expected, 1e-9);
        reference_unref(r);
    }
}

static void test_unknown_is_refused(void)
{
    const double *dense[OPERAND_COUNT] = {NULL};
    g_autoptr(GError) error = NULL;
    struct problem p;
    problem_init(&p);
    p.kind = OP_KIND_COUNT;
    g_assert_null(reference_compute(&p, dense, 1, 0, &error));
    g_assert_error(error, WORKER_ERROR, WORKER_ERROR_INVALID);
    g_clear_error(&error);
    problem_init(&p);
    p.type[TENSOR_X] = TYPE_NONE;
    g_assert_null(reference_compute(&p, dense, 1, 0, &error));
    g_assert_error(error, WORKER_ERROR, WORKER_ERROR_INVALID);
}

static void test_cache(void)
{
    double one = 1;
    const double *dense[OPERAND_COUNT] = {&one, &one, &one};
    struct problem p;
    problem_init(&p);
    struct reference *r = reference_compute(&p, dense, 1, 0, NULL);
    struct reference_cache *cache = reference_cache_new(2 * reference_bytes(r));
    for (uint64_t seed = 1; seed <= 2; seed++)
        reference_cache_add(cache, &p, seed, r);
    struct reference *found = reference_cache_find(cache, &p, 1);
    g_assert_true(found == r);
    reference_unref(found);
    reference_cache_add(cache, &p, 3, r);
    g_assert_null(reference_cache_find(cache, &p, 2)); /* the least recently used one */
    found = reference_cache_find(cache, &p, 1);
    g_assert_true(found == r);
    reference_unref(found);
    p.n = 2;
    g_assert_null(reference_cache_find(cache, &p, 1));
    reference_cache_free(cache);
    g_assert_cmpint(r->uses, ==, 1);
    reference_unref(r);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_data_func("/reference/forward_follows_the_definition", GINT_TO_POINTER(DIRECTION_F),
                         test_definition);
    g_test_add_data_func("/reference/backward_data_follows_the_definition",
                         GINT_TO_POINTER(DIRECTION_B), test_definition);
    g_test_add_data_func("/reference/backward_weights_follows_the_definition",
                         GINT_TO_POINTER(DIRECTION_W), test_definition);
    for (int d = DIRECTION_F; d <= DIRECTION_W; d++) {
        g_autofree char *name =
            g_strdup_printf("/reference/threads_do_not_change_it/%c", "FBW"[d - DIRECTION_F]);
        g_test_add_data_func(name, GINT_TO_POINTER(d), test_threads);
    }
    g_test_add_func("/reference/large_problem_is_computed_in_part", test_sampling);
    g_test_add_func("/reference/epilogue_is_done", test_epilogue_is_done);
    g_test_add_func("/reference/strides_are_no_matter", test_strides_are_no_matter);
    g_test_add_func("/reference/bias_of_a_key_is_ignored", test_bias_is_no_matter);
    g_test_add_func("/reference/casts_round_the_inputs", test_casts);
    g_test_add_func("/reference/unknown_problem_is_refused", test_unknown_is_refused);
    g_test_add_func("/reference/cache_drops_the_least_recently_used", test_cache);
    return g_test_run();
}
