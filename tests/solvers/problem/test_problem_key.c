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
        "4-7-7-1x1-4-7-7-2-0x0-1x1-1x1-0-NCHW-FP32-F_g2_ciFP8_sx400x100x0x10x1_sy208x52x0x7x1",
        "4-7-7-1x1-4-7-7-2-0x0-1x1-1x1-0-NCHW-FP32-F_sr0x1x0x0x0+add(FP16,NHWC)",
        "4-7-7-1x1-4-7-7-2-0x0-1x1-1x1-0-NCHW-FP32-B_sw5x1x0x0x0",
        "pool(max)-64-112-112-3x3-64-56-56-1-1x1-2x2-1x1-0-NCHW-FP32-F",
        "pool(average_all)-64-8-7-7-7x7x7-64-1-1-1-2-0x0x0-1x1x1-1x1x1-0-NCDHW-FP16-F+relu",
        ("pointwise-64-56-56-1x1-64-56-56-1-0x0-1x1-1x1-0-NHWC-NHWC-NCHW-INT8INT8FP32-F"
         "+affine(0.5,0)+add(FP16,NCHW)"),
        "softmax-1000-1-1-1x1-1000-1-1-64-0x0-1x1-1x1-0-NCHW-FP32-F",
        "softmax(log)-1000-1-1-1x1-1000-1-1-64-0x0-1x1-1x1-0-NCHW-FP32-F",
        "resize(nearest,asymmetric,floor)-8-13-13-1x1-8-26-26-1-0x0-1x1-1x1-0-NCHW-FP32-F",
        "resize(linear,pytorch_half_pixel)-8-13-13-1x1-8-5-5-1-0x0-1x1-1x1-0-NCHW-FP32-F",
        "lrn(5,0.0001,0.75,1)-64-55-55-1x1-64-55-55-1-0x0-1x1-1x1-0-NCHW-FP32-F",
        "lrn(5,1e-05,1e+20,-1)-64-55-55-1x1-64-55-55-1-0x0-1x1-1x1-0-NCHW-FP32-F",
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
    int seen[OP_KIND_COUNT] = {0}, strided = 0, fused = 0;
    random_limits_wide(&limits);
    for (int i = 0; i < RANDOM_PROBLEMS; i++) {
        struct problem p, back;
        char key[PROBLEM_KEY_MAX], again[PROBLEM_KEY_MAX];
        random_problem(random, &limits, &p);
        problem_key(&p, key);
        g_assert_true(problem_key_parse(key, &back, NULL));
        g_assert_true(problem_equal(&p, &back));
        g_assert_cmpstr(problem_key(&back, again), ==, key);
        g_assert_true(problem_find_key(&p, again) == problem_has_find_key(&p));
        seen[p.kind]++;
        strided += problem_is_strided(&p);
        fused += p.epilogue[0] != '\0';
    }
    for (int kind = 0; kind < OP_KIND_COUNT; kind++) {
        g_assert_cmpint(seen[kind], >, RANDOM_PROBLEMS / OP_KIND_COUNT / 2);
    }
    g_assert_cmpint(strided, >, RANDOM_PROBLEMS / 4);
    g_assert_cmpint(fused, >, RANDOM_PROBLEMS / 4);
}

/* MIOpen's keys can name packed convolutions without epilogue, and nothing else. */
static void test_only_plain_convolutions_have_find_keys(void)
{
    static const struct {
        const char *key;
        bool has;
    } rows[] = {
        {"4-7-7-1x1-4-7-7-1-0x0-1x1-1x1-0-NCHW-FP32-F", true},
        {"4-7-7-1x1-4-7-7-1-0x0-1x1-1x1-1-NHWC-NHWC-NHWC-FP32-W", true},
        {"4-7-7-1x1-4-7-7-1-0x0-1x1-1x1-0-NCHW-FP32-F_cxTF32", true},
        {"4-7-7-1x1-4-7-7-1-0x0-1x1-1x1-0-NCHW-FP32-F+relu", false},
        {"4-7-7-1x1-4-7-7-1-0x0-1x1-1x1-0-NCHW-FP32-F_cxTF32+relu", false},
        {"4-7-7-1x1-4-7-7-2-0x0-1x1-1x1-0-NCHW-FP32-F_sx400x100x0x10x1", false},
        {"pointwise-4-7-7-1x1-4-7-7-1-0x0-1x1-1x1-0-NCHW-FP32-F", false},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        struct problem p;
        char key[PROBLEM_KEY_MAX];
        g_assert_true(problem_key_parse(rows[i].key, &p, NULL));
        g_assert_true(problem_validate(&p, NULL));
        g_assert_true(problem_has_find_key(&p) == rows[i].has);
        g_assert_true(problem_find_key(&p, key) == rows[i].has);
    }
}

/* TF32 is a part of the problem: its key is MIOpen's, and no other problem equals it. */
static void test_tf32_is_another_problem(void)
{
    static const char plain[] = "4-7-7-1x1-4-7-7-1-0x0-1x1-1x1-0-NCHW-FP32-B_g2";
    static const char tf32[] = "4-7-7-1x1-4-7-7-1-0x0-1x1-1x1-0-NCHW-FP32-B_g2_cxTF32";
    struct problem one, other;
    char key[PROBLEM_KEY_MAX];
    g_assert_true(problem_key_parse(plain, &one, NULL));
    g_assert_true(problem_key_parse(tf32, &other, NULL));
    g_assert_true(problem_validate(&other, NULL));
    g_assert_false(problem_is_tf32(&one));
    g_assert_true(problem_is_tf32(&other));
    g_assert_false(problem_equal(&one, &other));
    g_assert_cmpuint(problem_hash(&one), !=, problem_hash(&other));
    g_assert_cmpstr(problem_key(&other, key), ==, tf32);
    g_assert_cmpint(problem_find_key_lack(&other), ==, LACK_NONE);
    g_assert_cmpint(problem_perf_row_lack(&other), ==, LACK_TF32);
    g_assert_true(problem_has_perf_row(&one));
    other.type[TENSOR_Y] = TYPE_FP16;
    g_assert_false(problem_validate(&other, NULL));
}

static void test_tf32_is_said_in_one_way(void)
{
    static const char *const wrong[] = {
        "4-7-7-1x1-4-7-7-1-0x0-1x1-1x1-0-NCHW-FP32-F_cxFP16",
        "4-7-7-1x1-4-7-7-1-0x0-1x1-1x1-0-NCHW-FP32-F_cxtf32",
        "4-7-7-1x1-4-7-7-1-0x0-1x1-1x1-0-NCHW-FP32-F_cx",
        "4-7-7-1x1-4-7-7-1-0x0-1x1-1x1-0-NCHW-FP32-F_cxTF32_g2",
        "4-7-7-1x1-4-7-7-1-0x0-1x1-1x1-0-NCHW-FP32-F_cxTF32_cxTF32",
        "conv(TF32)-4-7-7-1x1-4-7-7-1-0x0-1x1-1x1-0-NCHW-FP32-F",
        "pointwise-4-7-7-1x1-4-7-7-1-0x0-1x1-1x1-0-NCHW-FP32-F_cxTF32",
        "4-7-7-1x1-4-7-7-1-0x0-1x1-1x1-0-NCHW-TF32-F",
    };
    for (size_t i = 0; i < G_N_ELEMENTS(wrong); i++) {
        struct problem p;
        g_autoptr(GError) error = NULL;
        g_assert_false(problem_key_parse(wrong[i], &p, &error));
        g_assert_error(error, SOLVERS_ERROR, SOLVERS_ERROR_SYNTAX);
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
        {"F", "*no operator has this name*"},
        {"-F", "*in front of the filter*"},
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
        {"1-1-1-3x3-2-3-3-128-0x0-1x1-1x1-0-NCHW-FP32-F_sx1x1x0x1", "*five strides*"},
        {"1-1-1-3x3-2-3-3-128-0x0-1x1-1x1-0-NCHW-FP32-F_sx-1x1x0x1x1", "*five strides*"},
        {"1-1-1-3x3-2-3-3-128-0x0-1x1-1x1-0-NCHW-FP32-F_sx0x0x0x0x0", "*packed*left out*"},
        {"1-1-1-3x3-2-3-3-128-0x0-1x1-1x1-0-NCHW-FP32-F_sy9x3x0x1x1_sx9x3x0x1x1",
         "*expected the end*"},
        {"1-1-1-3x3-2-3-3-128-0x0-1x1-1x1-0-NCHW-FP32-F_sz9x3x0x1x1", "*expected the end*"},
        {"conv-1-1-1-3x3-2-3-3-128-0x0-1x1-1x1-0-NCHW-FP32-F", "*no operator has this name*"},
        {"Pool(max)-1-1-1-3x3-1-3-3-128-0x0-1x1-1x1-0-NCHW-FP32-F", "*no operator*"},
        {"pool(max-1-1-1-3x3-1-3-3-128-0x0-1x1-1x1-0-NCHW-FP32-F", "*mode in parentheses*"},
        {"pool()-1-1-1-3x3-1-3-3-128-0x0-1x1-1x1-0-NCHW-FP32-F", "*mode in parentheses*"},
        {"pool(max)1-1-1-3x3-1-3-3-128-0x0-1x1-1x1-0-NCHW-FP32-F", "*behind the operator*"},
        /* the malformed 3D keys of older files: two pads, depth last */
        {"64-8-8-8-3x3x3-64-8-8-8-1-1x1-1x1x1-1x1x1-0-NCDHW-FP32-F", "*padding*"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(GError) error = NULL;
        struct problem p;
        g_assert_false(problem_key_parse(rows[i].key, &p, &error));
        g_assert_error(error, SOLVERS_ERROR, SOLVERS_ERROR_SYNTAX);
        if (!g_pattern_match_simple(rows[i].message, error->message)) {
            g_test_message("%s: %s", rows[i].key, error->message);
            g_test_fail();
        }
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
    g_test_add_func("/problem_key/only_plain_convolutions_have_find_keys",
                    test_only_plain_convolutions_have_find_keys);
    g_test_add_func("/problem_key/tf32_is_another_problem", test_tf32_is_another_problem);
    g_test_add_func("/problem_key/tf32_is_said_in_one_way", test_tf32_is_said_in_one_way);
    g_test_add_func("/problem_key/shape_has_no_direction", test_shape_has_no_direction);
    g_test_add_func("/problem_key/malformed_keys_are_refused", test_malformed_keys_are_refused);
    return g_test_run();
}
