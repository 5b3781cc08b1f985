#include "coordinator/plan/problem_text.h"
#include "solvers/problem/problem_key.h"
#include "tests/support/random_problem.h"

#define RANDOM_PROBLEMS 10000

static void usual_fields_are_left_out(void)
{
    static const struct {
        const char *key, *text;
    } rows[] = {
        {"256-14-14-3x3-512-14-14-8-1x1-1x1-1x1-0-NCHW-FP32-F", "F 256x14x14 k512 3x3 p1 n8"},
        {"8-32-32-3x3-8-15-15-4-0x0-2x2-1x1-1-NCHW-FP32-F", "F 8x32x32 k8 3x3 s2 n4 bias"},
        {"8-32-32-3x3-8-30-30-4-0x0-1x1-1x1-0-NCHW-FP32-F_ciFP8_coFP16",
         "F 8x32x32 k8 3x3 n4 cast FP8/-/FP16"},
        {"8-32-32-3x3-8-30-30-4-0x0-1x1-1x1-0-NCHW-FP32-F_sx9000x1024x0x32x1+bias+relu",
         "F 8x32x32 k8 3x3 n4 strides x 9000/1024/0/32/1 +bias+relu"},
        {"8-32-32-3x3-8-30-30-4-0x0-1x1-1x1-0-NCHW-FP32-F_sy8000x1000x0x30x1_sr0x1x0x0x0+add(FP32,NCHW)",
         "F 8x32x32 k8 3x3 n4 strides y 8000/1000/0/30/1, residual 0/1/0/0/0 +add(FP32,NCHW)"},
        {"pool(max)-64-112-112-3x3-64-56-56-1-1x1-2x2-1x1-0-NCHW-FP32-F",
         "pool(max) 64x112x112 3x3 s2 p1 n1"},
        {"pool(average)-64-13-13-2x2-64-7-7-1-0x0-2x2-1x1-0-NHWC-NHWC-NHWC-FP16-F",
         "pool(average) 64x13x13 2x2 s2 to 7x7 n1 FP16 NHWC"},
        {"softmax-1000-1-1-1x1-1000-1-1-64-0x0-1x1-1x1-0-NCHW-FP32-F", "softmax 1000x1x1 n64"},
        {"resize(linear,asymmetric)-8-13-13-1x1-8-26-26-1-0x0-1x1-1x1-0-NCHW-FP32-F",
         "resize(linear,asymmetric) 8x13x13 to 26x26 n1"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        struct problem p;
        g_assert_true(problem_key_parse(rows[i].key, &p, NULL));
        g_autofree char *text = problem_text(&p);
        g_assert_cmpstr(text, ==, rows[i].text);
    }
}

static void different_problems_read_differently(void)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(9);
    g_autoptr(GHashTable) texts = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    struct random_limits limits;
    random_limits_wide(&limits);
    for (int i = 0; i < RANDOM_PROBLEMS; i++) {
        struct problem p;
        char key[PROBLEM_KEY_MAX];
        random_problem(random, &limits, &p);
        p.bias = i % 2 == 0;
        char *text = problem_text(&p);
        const char *known = g_hash_table_lookup(texts, text);
        if (known != NULL) {
            g_assert_cmpstr(known, ==, problem_key(&p, key));
        }
        g_hash_table_replace(texts, text, g_strdup(problem_key(&p, key)));
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/problem_text/usual_fields_are_left_out", usual_fields_are_left_out);
    g_test_add_func("/problem_text/different_problems_read_differently",
                    different_problems_read_differently);
    return g_test_run();
}
