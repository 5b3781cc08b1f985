#include "solvers/problem/problem_key.h"
#include "tests/support/random_problem.h"

#include <string.h>

#define RANDOM_PROBLEMS 20000

static void test_known_rows(void)
{
    static const char *const keys[] = {
        "2x128x28x28x1x3x3x1x128x128x1x1x0x1x1x0x1x1x0x0x1xNCHWxFP32xF",
        "2x1000x13x13x1x1x1x1x512x16x0x0x0x1x1x0x1x1x0x0x1xNCHWxFP16xB",
        "2x64x56x56x1x3x3x1x64x16x1x1x0x2x2x0x1x1x0x0x4xNHWCxBF16xW",
        "3x64x14x14x4x3x3x3x128x2x1x1x1x2x2x2x1x1x1x0x1xNCDHWxFP32xF",
        "2x64x56x56x1x3x3x1x64x16x1x1x0x2x2x0x1x1x0x0x1xNCHWc4xINT8INT8INT32xF",
    };
    for (size_t i = 0; i < G_N_ELEMENTS(keys); i++) {
        g_autoptr(GError) error = NULL;
        struct perf_row row, back;
        struct problem p;
        char key[PROBLEM_KEY_MAX];
        g_assert_true(perf_row_key_parse(keys[i], &row, &error));
        g_assert_true(perf_row_to_problem(&row, &p, &error));
        g_assert_no_error(error);
        perf_row_from_problem(&p, &back);
        g_assert_cmpstr(perf_row_key(&back, key), ==, keys[i]);
    }
}

static void test_sides_of_a_backward_row(void)
{
    struct perf_row row;
    struct problem p;
    g_assert_true(perf_row_key_parse("2x64x112x112x1x7x7x1x3x16x3x3x0x2x2x0x1x1x0x0x1xNCHWxFP32xW",
                                     &row, NULL));
    g_assert_true(perf_row_to_problem(&row, &p, NULL));
    g_assert_cmpint(p.k, ==, 64);
    g_assert_cmpint(p.c, ==, 3);
    g_assert_cmpint(p.out[AXIS_H], ==, 112);
    /* the smallest input that gives 112 outputs (224 gives as many) */
    g_assert_cmpint(p.in[AXIS_H], ==, 2 * 111 + 7 - 6);
}

/* A perf row does not hold all of a problem. The problem made of a row has that same row. */
static void test_round_trip(void)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(3);
    struct random_limits limits;
    random_limits_wide(&limits);
    random_limits_nameable(&limits);
    limits.mixed_layouts = limits.casts = false;
    int exact = 0;
    for (int i = 0; i < RANDOM_PROBLEMS; i++) {
        g_autoptr(GError) error = NULL;
        struct problem p, back;
        struct perf_row row, again;
        char key[PROBLEM_KEY_MAX];
        random_problem(random, &limits, &p);
        perf_row_from_problem(&p, &row);
        g_assert_true(perf_row_key_parse(perf_row_key(&row, key), &again, &error));
        g_assert_no_error(error);
        g_assert_cmpmem(&row, sizeof row, &again, sizeof again);
        if (!perf_row_to_problem(&row, &back, &error)) {
            g_assert_error(error, SOLVERS_ERROR, SOLVERS_ERROR_INVALID);
            continue; /* the smallest input may be invalid with the padding */
        }
        perf_row_from_problem(&back, &again);
        g_assert_cmpmem(&row, sizeof row, &again, sizeof again);
        g_assert_true(p.direction != DIRECTION_F || problem_equal(&p, &back));
        exact += problem_equal(&p, &back);
    }
    g_assert_cmpint(exact, >, RANDOM_PROBLEMS / 3);
}

static void test_bad_rows_are_refused(void)
{
    static const struct {
        const char *key;
        int code;
        const char *message;
    } rows[] = {
        {"2x128", SOLVERS_ERROR_SYNTAX, "*in_channels*"},
        {"2x1024x-5x-5x1x7x7x1x256x400x0x0x0x1x1x0x1x1x0x0x1xNCHWxFP32xB", SOLVERS_ERROR_SYNTAX,
         "*in_h*"},
        {"2x8x5x5x1x3x3x1x8x4x0x0x0x1x1x0x1x1x0x0x1xNCHWxFP32", SOLVERS_ERROR_SYNTAX,
         "*layout, data type and direction*"},
        {"2x8x5x5x1x3x3x1x8x4x0x0x0x1x1x0x1x1x0x0x1xNCHWxFP32xBx", SOLVERS_ERROR_SYNTAX, "*"},
        {"2x8x5x5x1x3x3x1x8x4x0x0x0x1x1x0x1x1x0x0x1xNHCWxFP32xB", SOLVERS_ERROR_SYNTAX, "*NHCW*"},
        {"2x8x5x5x1x3x3x1x8x4x0x0x0x1x1x0x1x1x0x0x1xNCHWxFP31xB", SOLVERS_ERROR_SYNTAX, "*FP31*"},
        {"2x8x5x5x1x3x3x1x8x4x0x0x0x1x1x0x1x1x0x0x1xNCHWxFP32xQ", SOLVERS_ERROR_SYNTAX, "*'Q'*"},
        {"2x8x5x5x2x3x3x1x8x4x0x0x0x1x1x0x1x1x0x0x1xNCHWxFP32xF", SOLVERS_ERROR_INVALID, "*2D*"},
        {"2x8x5x5x1x3x3x1x8x4x0x0x0x0x1x0x1x1x0x0x1xNCHWxFP32xF", SOLVERS_ERROR_INVALID,
         "*conv_stride_h*"},
        {"2x8x5x5x1x3x3x1x8x4x0x0x0x1x1x0x1x1x0x0x3xNCHWxFP32xF", SOLVERS_ERROR_INVALID,
         "*group_count*"},
        {"2x99999999999x5x5x1x3x3x1x8x4x0x0x0x1x1x0x1x1x0x0x1xNCHWxFP32xF", SOLVERS_ERROR_INVALID,
         "*in_channels*"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(GError) error = NULL;
        struct perf_row row;
        struct problem p;
        bool ok =
            perf_row_key_parse(rows[i].key, &row, &error) && perf_row_to_problem(&row, &p, &error);
        g_assert_false(ok);
        g_assert_error(error, SOLVERS_ERROR, rows[i].code);
        g_assert_true(g_pattern_match_simple(rows[i].message, error->message));
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/perf_row/known_rows_round_trip", test_known_rows);
    g_test_add_func("/perf_row/sides_of_a_backward_row_are_swapped", test_sides_of_a_backward_row);
    g_test_add_func("/perf_row/round_trip_of_random_problems", test_round_trip);
    g_test_add_func("/perf_row/bad_rows_are_refused", test_bad_rows_are_refused);
    return g_test_run();
}
