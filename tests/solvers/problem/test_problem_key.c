#include "solvers/problem/problem_key.h"
#include "tests/support/random_problem.h"

#include <string.h>

#define RANDOM_PROBLEMS 20000

static void test_keys_of_shipped_databases(void)
{
    static const char *const keys[] = {
        "1-1-1-3x3-2-3-3-128-0x0-1x1-1x1-0-NCHW-FP32-W",
        "128-56-56-3x3-128-56-56-32-1x1-1x1-1x1-0-NCHW-FP32-B_g32",
        "1000-13-13-1x1-512-13-13-16-0x0-1x1-1x1-0-NHWC-NHWC-NHWC-FP16-F",
        "64-4-28-28-3x3x3-128-8-56-56-16-1x1x1-2x2x2-1x1x1-0-NCDHW-BF16-B",
        "64-8-56-56-3x3x3-128-4-28-28-16-1x1x1-2x2x2-1x1x1-0-NDHWC-NDHWC-NDHWC-FP16-F_g4",
        "256-14-14-3x3-256-14-14-1-1x1-1x1-1x1-0-NCHW-INT8INT8INT32-F",
        "256-14-14-3x3-256-14-14-1-1x1-1x1-1x1-1-NCHWc4-CHWNc4-NCHWc4-INT8INT8INT32-F",
        "4-7-7-1x1-4-7-7-1-0x0-1x1-1x1-0-NCHW-FP32-F_g2_ciFP8_cwBF8_coFP8",
        "4-7-7-1x1-4-7-7-1-0x0-1x1-1x1-0-NCHW-FP32-F_cwBF8+bias+clip(0,6)",
    };
    for (size_t i = 0; i < G_N_ELEMENTS(keys); i++) {
        g_autoptr(GError) error = NULL;
        struct problem p;
        char key[PROBLEM_KEY_MAX];
        g_assert_true(problem_key_parse(keys[i], &p, &error));
        g_assert_no_error(error);
        g_assert_true(problem_validate(&p, &error));
        g_assert_no_error(error);
        g_assert_cmpstr(problem_key(&p, key), ==, keys[i]);
    }
}

static void test_backward_keys_swap_sides(void)
{
    struct problem p;
    char key[PROBLEM_KEY_MAX];
    problem_init(&p);
    p.c = 3;
    p.k = 64;
    p.in[AXIS_H] = p.in[AXIS_W] = 224;
    p.fil[AXIS_H] = p.fil[AXIS_W] = 7;
    p.pad[AXIS_H] = p.pad[AXIS_W] = 3;
    p.stride[AXIS_H] = p.stride[AXIS_W] = 2;
    p.type[TENSOR_X] = TYPE_FP16;
    p.layout[TENSOR_X] = LAYOUT_NHWC;
    p.cast[TENSOR_Y] = TYPE_FP8;
    problem_set_output(&p);
    g_assert_cmpstr(problem_key(&p, key), ==,
                    "3-224-224-7x7-64-112-112-1-3x3-2x2-1x1-0-NHWC-NCHW-NCHW-FP16FP32FP32-F_coFP8");
    p.direction = DIRECTION_B;
    g_assert_cmpstr(problem_key(&p, key), ==,
                    "64-112-112-7x7-3-224-224-1-3x3-2x2-1x1-0-NCHW-NCHW-NHWC-FP32FP32FP16-B_ciFP8");
    p.direction = DIRECTION_W;
    g_assert_cmpstr(problem_key(&p, key), ==,
                    "64-112-112-7x7-3-224-224-1-3x3-2x2-1x1-0-NCHW-NCHW-NHWC-FP32FP32FP16-W_ciFP8");
}

static void test_round_trip(void)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(1);
    struct random_limits limits;
    random_limits_wide(&limits);
    for (int i = 0; i < RANDOM_PROBLEMS; i++) {
        struct problem p, back;
        char key[PROBLEM_KEY_MAX], again[PROBLEM_KEY_MAX];
        random_problem(random, &limits, &p);
        problem_key(&p, key);
        g_assert_true(problem_key_parse(key, &back, NULL));
        g_assert_true(problem_equal(&p, &back));
        g_assert_cmpstr(problem_key(&back, again), ==, key);
        g_assert_true(problem_find_key(&p, again) == (p.epilogue[0] == '\0'));
    }
}

static void test_shape_has_no_direction(void)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(2);
    struct random_limits limits;
    random_limits_wide(&limits);
    for (int i = 0; i < 1000; i++) {
        struct problem p;
        char shape[PROBLEM_KEY_MAX], other[PROBLEM_KEY_MAX];
        random_problem(random, &limits, &p);
        problem_shape_key(&p, shape);
        for (int d = 0; d < DIRECTION_COUNT; d++) {
            p.direction = (enum direction)d;
            g_assert_cmpstr(problem_shape_key(&p, other), ==, shape);
        }
    }
}

static void test_malformed_keys_are_refused(void)
{
    static const struct {
        const char *key, *message;
    } rows[] = {
        {"", "*direction*"},
        {"F", "*in front of the filter*"},
        {"1-1-1-3x3-2-3-3-128-0x0-1x1-1x1-0-NCHW-FP32", "*direction*"},
        {"01-1-1-3x3-2-3-3-128-0x0-1x1-1x1-0-NCHW-FP32-W", "*'01-1*in front of*"},
        {"1-1-1-3-2-3-3-128-0x0-1x1-1x1-0-NCHW-FP32-W", "*filter's size*"},
        {"1-1-1-3x3-2-3-128-0x0-1x1-1x1-0-NCHW-FP32-W", "*batch*"},
        {"1-1-1-3x3-2-3-3-128-0-1x1-1x1-0-NCHW-FP32-W", "*padding*"},
        {"1-1-1-3x3-2-3-3-128-0x0-1x1x1-1x1-0-NCHW-FP32-W", "*strides*"},
        {"1-1-1-3x3-2-3-3-128-0x0-1x1-1-0-NCHW-FP32-W", "*dilations*"},
        {"1-1-1-3x3-2-3-3-128-0x0-1x1-1x1-7-NCHW-FP32-W", "*bias*"},
        {"1-1-1-3x3-2-3-3-128-0x0-1x1-1x1-0-NHWC-FP32-W", "*layouts are one*"},
        {"1-1-1-3x3-2-3-3-128-0x0-1x1-1x1-0-NHWC-NHWC-FP32-W", "*third layout*"},
        {"1-1-1-3x3-2-3-3-128-0x0-1x1-1x1-0-NCHW-NCHW-NCHW-FP32-W", "*layouts are one*"},
        {"1-1-1-3x3-2-3-3-128-0x0-1x1-1x1-0-ABCD-FP32-W", "*layout*"},
        {"1-1-1-3x3-2-3-3-128-0x0-1x1-1x1-0-NCHW-FP33-W", "*data type*"},
        {"1-1-1-3x3-2-3-3-128-0x0-1x1-1x1-0-NCHW-FP32FP32-W", "*third data type*"},
        {"1-1-1-3x3-2-3-3-128-0x0-1x1-1x1-0-NCHW-FP32FP32FP32-W", "*types are one*"},
        {"1-1-1-3x3-2-3-3-128-0x0-1x1-1x1-0-NCHW-FP32-W_g1", "*group count*"},
        {"1-1-1-3x3-2-3-3-128-0x0-1x1-1x1-0-NCHW-FP32-W_ciFP31", "*data type after*"},
        {"1-1-1-3x3-2-3-3-128-0x0-1x1-1x1-0-NCHW-FP32-W_coFP8_ciFP8", "*expected the end*"},
        {"1-1-1-3x3-2-3-3-128-0x0-1x1-1x1-0-NCHW-FP32-W+relu(1)", "*begins with '+'*"},
        {"1-1-1-3x3-2-3-3-128-0x0-1x1-1x1-0-NCHW-FP32-W+clip(0,6.0)", "*canonical*"},
        {"99999999999999999999-1-1-3x3-2-3-3-128-0x0-1x1-1x1-0-NCHW-FP32-W", "*in front*"},
        /* the malformed 3D keys of older files: two pads, depth last */
        {"64-8-8-8-3x3x3-64-8-8-8-1-1x1-1x1x1-1x1x1-0-NCDHW-FP32-F", "*padding*"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(GError) error = NULL;
        struct problem p;
        g_assert_false(problem_key_parse(rows[i].key, &p, &error));
        g_assert_error(error, SOLVERS_ERROR, SOLVERS_ERROR_SYNTAX);
        g_assert_true(g_pattern_match_simple(rows[i].message, error->message));
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/problem_key/keys_of_shipped_databases_round_trip",
                    test_keys_of_shipped_databases);
    g_test_add_func("/problem_key/backward_keys_swap_sides", test_backward_keys_swap_sides);
    g_test_add_func("/problem_key/round_trip_of_random_problems", test_round_trip);
    g_test_add_func("/problem_key/shape_has_no_direction", test_shape_has_no_direction);
    g_test_add_func("/problem_key/malformed_keys_are_refused", test_malformed_keys_are_refused);
    return g_test_run();
}
