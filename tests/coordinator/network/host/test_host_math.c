#include "coordinator/network/host/host_math.h"

#include <math.h>
#include <string.h>

static double *random_numbers(int64_t count)
{
    double *numbers = g_new(double, count);
    for (int64_t i = 0; i < count; i++) {
        numbers[i] = g_test_rand_double_range(-1, 1);
    }
    return numbers;
}

static struct host_window random_window(void)
{
    struct host_window w = {.n = g_test_rand_int_range(1, 3),
                            .groups = g_test_rand_int_range(1, 3)};
    w.c = w.groups * g_test_rand_int_range(1, 4);
    w.k = w.groups * g_test_rand_int_range(1, 6);
    for (int a = 0; a < 3; a++) {
        w.in[a] = g_test_rand_int_range(3, 7);
        w.fil[a] = g_test_rand_int_range(1, 4);
        w.stride[a] = g_test_rand_int_range(1, 3);
        w.dilation[a] = w.fil[a] < 3 ? g_test_rand_int_range(1, 3) : 1;
        w.before[a] = w.after[a] = g_test_rand_int_range(0, 2);
        w.out[a] =
            (w.in[a] + 2 * w.before[a] - w.dilation[a] * (w.fil[a] - 1) - 1) / w.stride[a] + 1;
    }
    return w;
}

static int64_t volume(const int64_t sizes[3])
{
    return sizes[0] * sizes[1] * sizes[2];
}

/* The place in the input under tap `tap` of output `pixel`; -1 in the padding. */
static int64_t place_of(const struct host_window *w, int64_t pixel, int64_t tap)
{
    int64_t place = 0, o[3], f[3];
    for (int a = 2; a >= 0; a--) {
        o[a] = pixel % w->out[a];
        pixel /= w->out[a];
        f[a] = tap % w->fil[a];
        tap /= w->fil[a];
    }
    for (int a = 0; a < 3; a++) {
        int64_t i = o[a] * w->stride[a] - w->before[a] + f[a] * w->dilation[a];
        if (i < 0 || i >= w->in[a]) {
            return -1;
        }
        place = place * w->in[a] + i;
    }
    return place;
}

/* By the formula, one product at a time: the same bits, whatever vectors the CPU has. */
static void test_convolution(void)
{
    for (int round = 0; round < 50; round++) {
        struct host_window w = random_window();
        int64_t in = volume(w.in), out = volume(w.out), taps = volume(w.fil);
        int64_t c_group = w.c / w.groups, k_group = w.k / w.groups;
        g_autofree double *x = random_numbers(w.n * w.c * in);
        g_autofree double *f = random_numbers(w.k * c_group * taps);
        g_autofree double *y = g_new0(double, w.n *w.k *out);
        host_convolve(&w, x, f, 0.5, y, g_test_rand_int_range(1, 4));
        for (int64_t i = 0; i < w.n * w.k * out; i++) {
            int64_t image = i / (w.k * out), k = i / out % w.k;
            double sum = 0;
            for (int64_t t = 0; t < c_group * taps; t++) {
                int64_t place = place_of(&w, i % out, t % taps);
                int64_t c = k / k_group * c_group + t / taps;
                sum += f[k * c_group * taps + t] *
                       (place < 0 ? 0.5 : x[(image * w.c + c) * in + place]);
            }
            g_assert_cmpfloat(y[i], ==, sum);
        }
    }
}

/* A transposed convolution is the adjoint of the convolution: <conv(x), y> = <x, transposed(y)>. */
static void test_transposed(void)
{
    for (int round = 0; round < 50; round++) {
        struct host_window w = random_window(), t = w;
        int64_t in = w.n * w.c * volume(w.in), out = w.n * w.k * volume(w.out);
        g_autofree double *x = random_numbers(in), *y = random_numbers(out);
        g_autofree double *f = random_numbers(w.k * w.c / w.groups * volume(w.fil));
        g_autofree double *forward = g_new0(double, out), *back = random_numbers(in);
        double left = 0, right = 0;
        t.c = w.k;
        t.k = w.c;
        memcpy(t.in, w.out, sizeof t.in);
        memcpy(t.out, w.in, sizeof t.out);
        host_convolve(&w, x, f, 0, forward, 2);
        host_convolve_transposed(&t, y, f, back, 2);
        for (int64_t i = 0; i < out; i++) {
            left += forward[i] * y[i];
        }
        for (int64_t i = 0; i < in; i++) {
            right += back[i] * x[i];
        }
        g_assert_cmpfloat_with_epsilon(left, right, 1e-9);
    }
}

static void test_product(void)
{
    int64_t m = 5, n = 7, k = 9;
    g_autofree double *a = random_numbers(m * k), *b = random_numbers(n * k);
    double c[35];
    host_multiply(m, n, k, a, b, c, 2);
    for (int64_t i = 0; i < m * n; i++) {
        double sum = 0;
        for (int64_t j = 0; j < k; j++) {
            sum += a[i / n * k + j] * b[i % n * k + j];
        }
        g_assert_cmpfloat_with_epsilon(c[i], sum, 1e-12);
    }
}

/* A row 1 2 3 4 5 under windows of 3 with padding 1 and stride 2; the last window reaches behind the input. */
static void test_pools(void)
{
    static const double x[] = {1, 2, 3, 4, 5};
    static const struct {
        enum host_pool kind;
        bool clips;
        double y[4];
    } rows[] = {
        {HOST_POOL_MAX, false, {2, 4, 5, 0}},
        {HOST_POOL_AVERAGE, false, {1.5, 3, 4.5, 0}},
        {HOST_POOL_AVERAGE_ALL, false, {1, 3, 3, 0}},
    };
    struct host_window w = {.n = 1,
                            .c = 1,
                            .k = 1,
                            .groups = 1,
                            .in = {1, 1, 5},
                            .out = {1, 1, 3},
                            .fil = {1, 1, 3},
                            .before = {0, 0, 1},
                            .after = {0, 0, 1},
                            .stride = {1, 1, 2},
                            .dilation = {1, 1, 1}};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        double y[3];
        host_pool(&w, rows[i].kind, rows[i].clips, x, y, 1);
        for (int j = 0; j < 3; j++) {
            g_assert_cmpfloat_with_epsilon(y[j], rows[i].y[j], 1e-12);
        }
    }
}

/* By the formula, for windows over three axes that reach into the padding. */
static void test_random_pools(void)
{
    for (int round = 0; round < 50; round++) {
        struct host_window w = random_window();
        int64_t in = volume(w.in), out = volume(w.out), taps = volume(w.fil);
        g_autofree double *x = random_numbers(w.n * w.c * in);
        g_autofree double *most = g_new0(double, w.n *w.c *out),
                          *mean = g_new0(double, w.n *w.c *out);
        host_pool(&w, HOST_POOL_MAX, false, x, most, 2);
        host_pool(&w, HOST_POOL_AVERAGE, false, x, mean, 2);
        for (int64_t i = 0; i < w.n * w.c * out; i++) {
            double largest = -INFINITY, sum = 0, count = 0;
            for (int64_t t = 0; t < taps; t++) {
                int64_t place = place_of(&w, i % out, t);
                if (place >= 0) {
                    largest = MAX(largest, x[i / out * in + place]);
                    sum += x[i / out * in + place];
                    count++;
                }
            }
            g_assert_cmpfloat(most[i], ==, largest);
            g_assert_cmpfloat(mean[i], ==, count > 0 ? sum / count : 0);
        }
    }
}

/* Examples of ONNX's page of Resize, one axis of each. */
static void test_resize(void)
{
    static const struct {
        int64_t in, out;
        double scale;
        bool linear;
        const char *coordinates, *rounding;
        double y[6];
    } rows[] = {
        {2, 4, 2, true, "half_pixel", "", {1, 1.25, 1.75, 2}},
        {2, 4, 2, true, "align_corners", "", {1, 4.0 / 3, 5.0 / 3, 2}},
        {2, 4, 2, true, "asymmetric", "", {1, 1.5, 2, 2}},
        {2, 6, 3, false, "half_pixel", "round_prefer_floor", {1, 1, 1, 2, 2, 2}},
        {4, 2, 0.5, false, "asymmetric", "floor", {1, 3}},
        {4, 2, 0.5, true, "half_pixel", "", {1.5, 3.5}},
        {4, 1, 0.25, true, "pytorch_half_pixel", "", {1}},
    };
    static const double x[] = {1, 2, 3, 4};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        struct shape in, out;
        double y[6];
        shape_set_packed(&in, ELEMENT_FLOAT32, 1, &rows[i].in, NULL);
        shape_set_packed(&out, ELEMENT_FLOAT32, 1, &rows[i].out, NULL);
        host_resize(&in, &out, &rows[i].scale, rows[i].linear, rows[i].coordinates,
                    rows[i].rounding, x, y);
        for (int64_t j = 0; j < rows[i].out; j++) {
            g_assert_cmpfloat_with_epsilon(y[j], rows[i].y[j], 1e-12);
        }
    }
}

static void test_softmax_and_lrn(void)
{
    static const double x[] = {0, 1, 2, 3};
    double y[4], z[4];
    host_softmax(1, 4, 1, false, x, y, 1);
    host_softmax(1, 4, 1, true, x, z, 1);
    g_assert_cmpfloat_with_epsilon(y[0] + y[1] + y[2] + y[3], 1, 1e-12);
    g_assert_cmpfloat_with_epsilon(y[3] / y[2], exp(1), 1e-12);
    g_assert_cmpfloat_with_epsilon(exp(z[1]), y[1], 1e-12);
    host_lrn(1, 4, 1, 3, 0.3, 0.5, 1, x, y, 1);
    g_assert_cmpfloat_with_epsilon(y[2], 2 / sqrt(1 + 0.1 * (1 + 4 + 9)), 1e-12);
    g_assert_cmpfloat_with_epsilon(y[3], 3 / sqrt(1 + 0.1 * (4 + 9)), 1e-12);
}

/* An INT8 residual is multiplied by the last scale, others are not. */
static void test_epilogue(void)
{
    static const double residual[] = {4, 8}, scales[] = {2, 3, 0.5};
    struct epilogue epilogue;
    epilogue_parse("+scale(channel)+add(INT8,NCHW)+relu", &epilogue, NULL);
    double y[] = {1, -10}, z[] = {1, -10};
    host_epilogue(&epilogue, 1, 2, 1, NULL, residual, true, scales, 3, y, 1);
    g_assert_cmpfloat(y[0], ==, 4);
    g_assert_cmpfloat(y[1], ==, 0);
    host_epilogue(&epilogue, 1, 2, 1, NULL, residual, false, scales, 3, z, 1);
    g_assert_cmpfloat(z[0], ==, 6);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/host_math/convolutions_follow_the_formula", test_convolution);
    g_test_add_func("/host_math/transposed_convolutions_are_adjoint", test_transposed);
    g_test_add_func("/host_math/matrices_are_multiplied", test_product);
    g_test_add_func("/host_math/pools_count_what_they_should", test_pools);
    g_test_add_func("/host_math/pools_follow_the_formula", test_random_pools);
    g_test_add_func("/host_math/resize_follows_onnx", test_resize);
    g_test_add_func("/host_math/softmax_and_lrn", test_softmax_and_lrn);
    g_test_add_func("/host_math/an_int8_residual_has_a_scale", test_epilogue);
    return g_test_run();
}
