#include "worker/verify/tolerance.h"

#include <glib.h>
#include <math.h>

#include "solvers/framework/solver.h"
#include "solvers/problem/problem_key.h"
#include "worker/verify/float8.h"

static void test_tolerance(void)
{
    static const struct {
        enum data_type type;
        struct solution_rounding rounding;
        double length, expected, magnitude, largest, tolerance;
    } rows[] = {
        {TYPE_FP32, {0}, 1, 1, 1, 9, 3 * 0x1p-24 + 0x1p-24},
        {TYPE_FP32, {0}, 1000, 0, 2, 9, 32 * 0x1p-24},
        {TYPE_FP32, {true, 6, 0.5, 24, 0, 0, 0, 0}, 54, 0, 2, 9, 0.5 * (8 + 4 * 2) * 9 * 0x1p-24},
        {TYPE_FP32, {true, 100, 2, 25, 0, 0, 0, 0}, 900, 0, 2, 9, 2 * (16 + 4 * 0.5) * 9 * 0x1p-24},
        {TYPE_FP16, {0}, 1000, 4, 2, 9, 32 * 0x1p-24 + 4 * 0x1p-11},
        {TYPE_FP16,
         {true, 100, 2, 25, 0, 0, 0, 0},
         900,
         0,
         2,
         9,
         2 * (16 + 4 * 0.5) * 9 * 0x1p-24 + 0x1p-24},
        {TYPE_FP64, {0}, 1000, 0, 2, 9, 64 * 0x1p-53},
        {TYPE_FP32, {.depth = 98, .terms = 1e4}, 2e4, 0, 2, 9, 1.6 * 2 * 0x1p-24},
        {TYPE_FP16, {.depth = 98, .terms = 1e4}, 2e4, 4, 2, 9, 1.6 * 2 * 0x1p-24 + 4 * 0x1p-11},
        {TYPE_FP32, {.depth = 98, .terms = 50}, 2e4, 0, 2, 9, 16 * 2 * 0x1p-24},
        {TYPE_FP32, {.depth = 98, .terms = 4}, 4, 0, 2, 9, 6 * 2 * 0x1p-24},
        {TYPE_FP32, {.inputs = 0x1p-11, .terms = 4}, 9, 0, 2, 9, 22 * 0x1p-24 + 0x1.002p-9},
        {TYPE_FP32, {.inputs = 0x1p-11, .terms = 256}, 576, 0, 2, 9, 32 * 0x1p-24 + 0x1p-10},
        {TYPE_FP32,
         {.products = 0x1p-13, .terms = 256, .chain = 4},
         576,
         0,
         2,
         9,
         32 * 0x1p-24 + 0x1p-12},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        struct tolerance tolerance;
        struct problem p;
        problem_init(&p);
        p.type[TENSOR_X] = p.type[TENSOR_W] = p.type[TENSOR_Y] = rows[i].type;
        tolerance_init(&tolerance, &p, &rows[i].rounding, rows[i].length);
        const struct expected expected = {rows[i].expected, rows[i].magnitude, 1, 0};
        double allowed = tolerance_at(&tolerance, &expected, rows[i].largest);
        g_assert_cmpfloat_with_epsilon(allowed / rows[i].tolerance, 1, 1e-3);
    }
}

/* TF32: short sums have the bound of two roundings a product, long ones 24 standard deviations of their sum; sums that
 * do not cancel have the bound at any length. */
static void test_rounded_inputs(void)
{
    static const struct {
        double length, terms, unit, of_inputs;
    } rows[] = {
        {1, 1, 0x1p-11, 2 * 0x1p-11},
        {9, 9, 0x1p-11, 2 * 0x1p-11},
        {5760, 3600, 0x1p-11, 16.0 / 60 * 0x1p-11},
        {5760, 3600, 0x1p-10, 16.0 / 60 * 0x1p-10},
        {9, 0, 0x1p-11, 2 * 0x1p-11}, /* an output without products */
    };
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        const struct solution_rounding rounding = {.terms = rows[i].terms, .inputs = rows[i].unit};
        const struct expected expected = {0, 2, 1, 0};
        struct tolerance plain, rounded;
        struct problem p;
        problem_init(&p);
        tolerance_init(&plain, &p, NULL, rows[i].length);
        tolerance_init(&rounded, &p, &rounding, rows[i].length);
        double more = tolerance_at(&rounded, &expected, 9) - tolerance_at(&plain, &expected, 9);
        g_assert_cmpfloat_with_epsilon(more / (2 * rows[i].of_inputs), 1, 1e-3);
        tolerance_for_real(&plain, rows[i].length);
        tolerance_for_real(&rounded, rows[i].length);
        more = tolerance_at(&rounded, &expected, 9) - tolerance_at(&plain, &expected, 9);
        g_assert_cmpfloat_with_epsilon(more / (4 * rows[i].unit), 1, 1e-3);
        tolerance_for_whole(&rounded);
        g_assert_cmpfloat(rounded.per_magnitude, ==, 0);
    }
}

/* The largest error of sums of rounded products is seen to lie within the tolerance, and not far below it: a tolerance
 * of ten times its size would hide faults. */
static void test_rounded_sums(void)
{
    static const int lengths[] = {9, 576, 4608};
    g_autoptr(GRand) random = g_rand_new_with_seed(11);
    for (gsize i = 0; i < G_N_ELEMENTS(lengths); i++) {
        const struct solution_rounding rounding = {.terms = lengths[i], .inputs = 0x1p-11};
        struct tolerance tolerance;
        struct problem p;
        double most = 0;
        problem_init(&p);
        tolerance_init(&tolerance, &p, &rounding, lengths[i]);
        for (int sum = 0; sum < 2000; sum++) {
            double error = 0, magnitude = 0;
            for (int term = 0; term < lengths[i]; term++) {
                double x = g_rand_double_range(random, 0.25, 1);
                double w = g_rand_double_range(random, 0.25, 1);
                double unit_x = x < 0.5 ? 0x1p-12 : 0x1p-11, unit_w = w < 0.5 ? 0x1p-12 : 0x1p-11;
                double product = rint(x / unit_x) * unit_x * rint(w / unit_w) * unit_w;
                error += (g_rand_boolean(random) ? 1 : -1) * (product - x * w);
                magnitude += x * w;
            }
            most = fmax(most, fabs(error) / (tolerance.per_magnitude * magnitude));
        }
        g_assert_cmpfloat(most, <, 1);
        g_assert_cmpfloat(most, >, 0.1);
    }
}

/* A product as an instruction takes it that cuts off what is below 2^-13 times `power`. */
static double cut(double product, double power)
{
    double unit = power * 0x1p-13;

    return trunc(product / unit) * unit;
}

static double power_below(double number)
{
    return exp2(floor(log2(fabs(number))));
}

/* `before` and 32 products, each cut off below the largest of them, and their sum below itself. */
static double cut_sum(double before, const double products[32])
{
    double largest = fabs(before), got;
    for (int i = 0; i < 32; i++)
        largest = fmax(largest, fabs(products[i]));
    got = cut(before, power_below(largest));
    for (int i = 0; i < 32; i++)
        got += cut(products[i], power_below(largest));
    return got == 0 ? 0 : cut(got, power_below(got));
}

/* FP8 and BF8 products of random inputs lose nothing where 32 at a time are cut off, apart from sums that are beyond 16, which
 * chains of 4 reach; those of inputs of very different sizes do, and stay within the bound for real data. */
static void test_cut_products(void)
{
    static const enum data_type types[] = {TYPE_FP8, TYPE_BF8};
    static const double chains[] = {1, 4};
    for (gsize c = 0; c < G_N_ELEMENTS(chains); c++) {
        const struct solution_rounding rounding = {
            .products = 0x1p-13, .terms = 640, .chain = chains[c]};
        g_autoptr(GRand) random = g_rand_new_with_seed(11);
        struct tolerance plain, real;
        struct problem p;
        double most = 0, most_random = 0;
        int lossy = 0;
        problem_init(&p);
        tolerance_init(&plain, &p, &rounding, 640);
        tolerance_init(&real, &p, &rounding, 640);
        tolerance_for_real(&real, 640);
        for (int sum = 0; sum < 2000; sum++) {
            bool is_real = sum % 2 == 1;
            double error = 0, magnitude = 0, chained = 0;
            for (int group = 0; group < 640 / 32; group++) {
                double products[32], exact = 0;
                for (int term = 0; term < 32; term++) {
                    double product = 1;
                    for (int factor = 0; factor < 2; factor++) {
                        enum data_type type = types[(sum / 2 >> factor) % 2];
                        double number = g_rand_double_range(random, 0.25, 1) *
                                        (is_real ? exp2(g_rand_int_range(random, -6, 6)) : 1);
                        product *= float8_to_float(type, float8_from_float(type, (float)number));
                    }
                    products[term] = is_real || g_rand_boolean(random) ? product : -product;
                    exact += products[term];
                    magnitude += product;
                }
                double before = group % (int)chains[c] == 0 ? 0 : chained;
                chained = cut_sum(before, products);
                error += chained - before - exact;
            }
            if (is_real)
                most = fmax(most, fabs(error) / (real.per_magnitude * magnitude));
            else
                most_random = fmax(most_random, fabs(error) / (plain.per_magnitude * magnitude));
            lossy += !is_real && error != 0;
        }
        g_test_message("chains of %g: random data used %.3f of its tolerance, %d sums of 1000 lost "
                       "something; real data %.3f",
                       chains[c], most_random, lossy, most);
        g_assert_cmpfloat(most_random, <=, chains[c] > 1 ? 0.5 : 1);
        g_assert_cmpint(lossy > 0, ==, chains[c] > 1);
        g_assert_cmpfloat(most, <, 1);
        g_assert_cmpfloat(most, >, 0.02);
    }
}

/* Whole numbers are right or wrong; a result with one floating input is rounded. */
static void test_integers_are_exact(void)
{
    static const struct {
        enum data_type x, w, y;
        bool is_exact;
    } rows[] = {{TYPE_INT8, TYPE_INT8, TYPE_INT32, true},
                {TYPE_INT32, TYPE_INT8, TYPE_INT32, true},
                {TYPE_INT8, TYPE_FP32, TYPE_FP32, false},
                {TYPE_FP32, TYPE_FP32, TYPE_FP32, false}};
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        struct tolerance tolerance;
        struct problem p;
        problem_init(&p);
        p.type[TENSOR_X] = rows[i].x;
        p.type[TENSOR_W] = rows[i].w;
        p.type[TENSOR_Y] = rows[i].y;
        tolerance_init(&tolerance, &p, NULL, 1000);
        g_assert_cmpint(tolerance.exact, ==, rows[i].is_exact);
        const struct expected expected = {100, 100, 1, 0};
        g_assert_true((tolerance_at(&tolerance, &expected, 100) == 0) == rows[i].is_exact);
    }
}

/* Copies, transposes, casts to a wider type, max pools and nearest resizes compute nothing: a result that is off in the
 * last place is wrong. A cast to a narrower type rounds once; all other operators have their sum's errors. */
static void test_selections_are_exact(void)
{
    static const struct {
        const char *key;
        enum data_type y;
        const char *epilogue;
        bool is_exact; /* apart from numbers below the normal ones */
        double factor; /* of the unit roundoff of sums; its own rounding not counted */
    } rows[] = {
        {"pointwise-8-4-5-1x1-8-4-5-2-0x0-1x1-1x1-0-NCHW-FP32-F", TYPE_FP32, "", true, 0},
        {"pointwise-8-4-5-1x1-8-4-5-2-0x0-1x1-1x1-0-NCHW-FP16-F", TYPE_FP16, "", true, 0},
        {"pointwise-8-4-5-1x1-8-4-5-2-0x0-1x1-1x1-0-NCHW-BF16-F", TYPE_BF16, "", true, 0},
        {"pointwise-8-4-5-1x1-8-4-5-2-0x0-1x1-1x1-0-NCHW-FP64-F", TYPE_FP64, "", true, 0},
        {"pointwise-8-4-5-1x1-8-4-5-2-0x0-1x1-1x1-0-NCHW-BF16-F", TYPE_FP32, "", true, 0},
        {"pointwise-8-4-5-1x1-8-4-5-2-0x0-1x1-1x1-0-NCHW-INT8-F", TYPE_FP16, "", true, 0},
        {"pointwise-8-4-5-1x1-8-4-5-2-0x0-1x1-1x1-0-NCHW-FP16-F", TYPE_BF16, "", false, 0},
        {"pointwise-8-4-5-1x1-8-4-5-2-0x0-1x1-1x1-0-NCHW-FP32-F", TYPE_FP16, "", false, 0},
        {"pointwise-8-4-5-1x1-8-4-5-2-0x0-1x1-1x1-0-NCHW-FP32-F", TYPE_FP32, "+relu", false, 0},
        {"pointwise-8-4-5-1x1-8-4-5-2-0x0-1x1-1x1-0-NCHW-INT32-F", TYPE_FP32, "", false, 3},
        {"pool(max)-4-8-8-2x2-4-4-4-1-0x0-2x2-1x1-0-NCHW-FP32-F", TYPE_FP32, "", true, 0},
        {"pool(average)-4-8-8-2x2-4-4-4-1-0x0-2x2-1x1-0-NCHW-FP32-F", TYPE_FP32, "", false, 3},
        {"resize(nearest,asymmetric,floor)-4-8-8-1x1-4-16-16-2-0x0-1x1-1x1-0-NCHW-BF16-F",
         TYPE_BF16, "", true, 0},
        {"resize(linear,asymmetric)-4-8-8-1x1-4-16-16-2-0x0-1x1-1x1-0-NCHW-FP32-F", TYPE_FP32, "",
         false, 3},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(GError) error = NULL;
        struct tolerance tolerance;
        struct problem p;
        problem_key_parse(rows[i].key, &p, &error);
        g_assert_no_error(error);
        p.type[TENSOR_Y] = rows[i].y;
        g_strlcpy(p.epilogue, rows[i].epilogue, sizeof p.epilogue);
        tolerance_init(&tolerance, &p, NULL, 1);
        g_test_message("%s to %s", rows[i].key, data_type_name(rows[i].y));
        g_assert_cmpfloat(tolerance.per_magnitude, ==, rows[i].factor * 0x1p-24);
        g_assert_true((tolerance.per_value == 0) == rows[i].is_exact);
        g_assert_cmpfloat(tolerance.smallest, <=, 0x1p-24);
    }
}

/* A requantised result is right within half a step of the exact one, and both neighbours are at a tie. */
static void test_requantised(void)
{
    struct tolerance tolerance;
    struct problem p;
    problem_init(&p);
    p.type[TENSOR_X] = p.type[TENSOR_W] = p.type[TENSOR_Y] = TYPE_INT8;
    g_strlcpy(p.epilogue, "+requant(INT8,tensor)", sizeof p.epilogue);
    tolerance_init(&tolerance, &p, NULL, 1000);
    g_assert_false(tolerance.exact);
    const struct expected expected = {10.5, 1e5, 0.01, 1e-5};
    double allowed = tolerance_at(&tolerance, &expected, 1e5);
    g_assert_cmpfloat(allowed, >=, 0.5);
    g_assert_cmpfloat(allowed, <, 0.501);
    g_assert_cmpfloat(tolerance_error(&tolerance, 10.5, 10), <=, allowed);
    g_assert_cmpfloat(tolerance_error(&tolerance, 10.5, 11), <=, allowed);
    g_assert_cmpfloat(tolerance_error(&tolerance, 10.6, 10), >, allowed);
}

/* The effect of an epilogue on the sum's error. */
static void test_gain_and_slack(void)
{
    struct tolerance tolerance;
    struct problem p;
    problem_init(&p);
    g_strlcpy(p.epilogue, "+affine(3,0)", sizeof p.epilogue);
    tolerance_init(&tolerance, &p, NULL, 1000);
    const struct expected plain = {0, 2, 1, 0}, grown = {0, 2, 3, 0.5};
    double once = tolerance_at(&tolerance, &plain, 2), more = tolerance_at(&tolerance, &grown, 2);
    g_assert_cmpfloat_with_epsilon(more, 3 * once + 0.5, 1e-12);
}

/* Infinity is right where the expected value overflows the type, and where it nearly does. */
static void test_overflow(void)
{
    struct tolerance tolerance;
    struct problem p;
    problem_init(&p);
    p.type[TENSOR_Y] = TYPE_FP16;
    tolerance_init(&tolerance, &p, NULL, 10);
    g_assert_cmpfloat(tolerance_error(&tolerance, 1e6, INFINITY), ==, 0);
    g_assert_cmpfloat(tolerance_error(&tolerance, 65519, INFINITY), ==, 1);
    g_assert_cmpfloat(tolerance_error(&tolerance, 1e6, -INFINITY), >, 1e5);
    g_assert_cmpfloat(tolerance_error(&tolerance, 1e6, 7), >, 6e4);
    g_assert_true(isinf(tolerance_error(&tolerance, 1, NAN)));
    g_assert_true(isinf(tolerance_error(&tolerance, NAN, 1)));
    g_assert_cmpfloat(tolerance_error(&tolerance, NAN, NAN), ==, 0);
}

/* FP8 and BF8 saturate: beyond their largest number nothing but that is right. Their last place is an eighth and a quarter. */
static void test_float8(void)
{
    static const struct {
        enum data_type type;
        bool fnuz;
        double largest, unit, least;
    } rows[] = {{TYPE_FP8, false, 448, 0x1p-4, 0x1p-9},
                {TYPE_FP8, true, 240, 0x1p-4, 0x1p-10},
                {TYPE_BF8, false, 57344, 0x1p-3, 0x1p-16},
                {TYPE_BF8, true, 57344, 0x1p-3, 0x1p-17}};
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        const struct expected one = {1, 1, 1, 0}, large = {1e9, 1, 1, 0};
        struct tolerance tolerance;
        struct problem p;
        problem_init(&p);
        p.type[TENSOR_Y] = rows[i].type;
        p.fnuz = rows[i].fnuz;
        tolerance_init(&tolerance, &p, NULL, 10);
        g_test_message("row %d", (int)i);
        double allowed = tolerance_at(&tolerance, &one, 1);
        g_assert_cmpfloat(allowed, >=, rows[i].unit);
        g_assert_cmpfloat(allowed, <=, rows[i].unit + rows[i].least + 1e-5);
        g_assert_cmpfloat(tolerance_error(&tolerance, 1e9, rows[i].largest), ==, 0);
        g_assert_cmpfloat(tolerance_error(&tolerance, -1e9, rows[i].largest), >,
                          tolerance_at(&tolerance, &large, 1));
        g_assert_cmpfloat(tolerance_error(&tolerance, 1e9, rows[i].largest / 2), >,
                          tolerance_at(&tolerance, &large, 1));
        g_assert_true(isinf(tolerance_error(&tolerance, 1e9, NAN)));
    }
}

/* The rounding of a solver's default config for an H100. */
static struct solution_rounding rounding_of(const char *solver_name, const struct problem *p)
{
    const struct solver *solver = solver_find(solver_name);
    g_autoptr(GError) error = NULL;
    struct perf_config config;
    struct solution solution;
    struct context context;
    struct target target;
    g_assert_true(target_parse("sm_90_132_80g", &target, NULL));
    context_init(&context, &target);
    solver->default_config(p, &context, &config);
    solver_solve(solver, p, &context, &config, &solution, &error);
    g_assert_no_error(error);
    return solution.rounding;
}

/* Sums of 16-bit products that are transformed in FP32 must be as exact as those of FP32: a fault of a hundredth of
 * the results' spread is found, which is sqrt(L) times the root of the mean square product. */
static void test_transforms(void)
{
    static const struct {
        const char *solver, *key;
    } rows[] = {
        {"ConvWinograd", "64-56-56-3x3-64-56-56-64-1x1-1x1-1x1-0-NCHW-BF16-W"},
        {"ConvWinograd", "64-56-56-3x3-64-56-56-64-1x1-1x1-1x1-0-NCHW-BF16-F"},
        {"ConvWinograd", "1-56-56-3x3-8-56-56-4-1x1-1x1-1x1-0-NCHW-FP16-F"},
        {"ConvFft", "64-28-28-9x9-64-28-28-8-4x4-1x1-1x1-0-NCHW-BF16-F"},
        {"ConvFft", "1-64-64-5x5-8-64-64-8-2x2-1x1-1x1-0-NCHW-FP16-F"},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(GError) error = NULL;
        struct tolerance tolerance;
        struct problem p;
        problem_key_parse(rows[i].key, &p, &error);
        g_assert_no_error(error);
        double length = p.direction == DIRECTION_W ? (double)(p.n * p.out[AXIS_H] * p.out[AXIS_W])
                                                   : (double)(p.c * p.fil[AXIS_H] * p.fil[AXIS_W]);
        struct solution_rounding rounding = rounding_of(rows[i].solver, &p);
        g_assert_true(rounding.transforms);
        tolerance_init(&tolerance, &p, &rounding, length);
        const struct expected expected = {.magnitude = 0.39 * length, .gain = 1};
        double allowed = tolerance_at(&tolerance, &expected, 0.39 * length);
        g_test_message("%s: %.2g of the spread", rows[i].key, allowed / (0.44 * sqrt(length)));
        g_assert_cmpfloat(allowed, <, 0.01 * 0.44 * sqrt(length));
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/tolerance/follows_its_formula", test_tolerance);
    g_test_add_func("/tolerance/transforms_of_16_bits_are_as_exact_as_those_of_32",
                    test_transforms);
    g_test_add_func("/tolerance/rounded_inputs_count_as_they_cancel", test_rounded_inputs);
    g_test_add_func("/tolerance/is_near_the_errors_of_rounded_inputs", test_rounded_sums);
    g_test_add_func("/tolerance/cut_products_are_within_their_bound", test_cut_products);
    g_test_add_func("/tolerance/integers_are_exact", test_integers_are_exact);
    g_test_add_func("/tolerance/selections_are_exact", test_selections_are_exact);
    g_test_add_func("/tolerance/requantised_results_are_off_at_ties_alone", test_requantised);
    g_test_add_func("/tolerance/epilogues_let_it_grow", test_gain_and_slack);
    g_test_add_func("/tolerance/eight_bit_floats_saturate", test_float8);
    g_test_add_func("/tolerance/overflow_to_infinity_is_right", test_overflow);
    return g_test_run();
}
