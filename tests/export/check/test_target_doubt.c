#include "export/check/target_doubt.h"

#include "solvers/problem/problem_key.h"

#include <string.h>

#define FP32 "256-56-56-3x3-256-56-56-32-1x1-1x1-1x1-0-NCHW-FP32-F"
#define FP16 "256-56-56-3x3-256-56-56-32-1x1-1x1-1x1-0-NCHW-FP16-F"
#define TINY "1-1-1-3x3-1-1-1-1-1x1-1x1-1x1-0-NCHW-FP32-F"
#define CAST "256-56-56-3x3-256-56-56-32-1x1-1x1-1x1-0-NCHW-FP32-F_ciFP8_cwFP8"

static void parse(const char *target_id, const char *key, struct target *target,
                  struct target_bounds *bounds, struct problem *problem)
{
    g_assert_true(target_parse(target_id, target, NULL));
    g_assert_true(problem_key_parse(key, problem, NULL));
    target_bounds_init(bounds, target);
}

/* The least possible time counts multiply-adds with real inputs alone. The tiny problem's filter
 * has nine taps, of which eight fall on padding: one multiply-add, two operations, remains. */
static void the_least_time_is_that_of_the_multiply_adds(void)
{
    static const struct {
        const char *target, *key;
        double operations, peak; /* peak: operations a second; 0: unknown */
    } cases[] = {
        {"gfx1030_36", FP32, 2.0 * 32 * 256 * 256 * 166 * 166, 36 * 256 * 2.44e9 * 1.25},
        {"gfx1030_36", FP16, 2.0 * 32 * 256 * 256 * 166 * 166, 36 * 512 * 2.44e9 * 1.25},
        {"gfx942130", FP32, 2.0 * 32 * 256 * 256 * 166 * 166, 304 * 2048 * 2.1e9 * 1.25},
        {"gfx1030_36", TINY, 2, 36 * 256 * 2.44e9 * 1.25},
        {"cpu-znver4_2", FP32, 2.0 * 32 * 256 * 256 * 166 * 166, 2 * 16 * 4 * 8e9},
        {"cpu-unheard-of_2", FP32, 2.0 * 32 * 256 * 256 * 166 * 166, 2 * 16 * 4 * 8e9},
        {"gfx1030_36", CAST, 0, 1},
        {"gfx1999_36", FP32, 0, 1},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        struct target target;
        struct target_bounds bounds;
        struct problem problem;
        parse(cases[i].target, cases[i].key, &target, &bounds, &problem);
        double least = target_least_problem_ms(&bounds, &problem);
        double wanted = cases[i].operations / cases[i].peak * 1e3;
        g_test_message("%s, %s: %g ms, not %g", cases[i].target, cases[i].key, least, wanted);
        g_assert_true(least >= wanted * (1 - 1e-9) && least <= wanted * (1 + 1e-9));
    }
}

static void transforms_are_not_bound_by_the_least_time(void)
{
    static const struct {
        const char *algorithm;
        bool all;
    } cases[] = {
        {"miopenConvolutionFwdAlgoDirect", true},
        {"miopenConvolutionBwdDataAlgoGEMM", true},
        {"miopenConvolutionBwdWeightsAlgoImplicitGEMM", true},
        {"miopenConvolutionFwdAlgoWinograd", false},
        {"miopenConvolutionFwdAlgoFFT", false},
        {"", false},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_assert_true(algorithm_does_all(cases[i].algorithm, strlen(cases[i].algorithm)) ==
                      cases[i].all);
    }
}

static void solvers_of_another_target_are_found(void)
{
    static const struct {
        const char *target, *key, *solver;
        /* a part of the reason why the target cannot run the solver; NULL: it can */
        const char *part;
    } cases[] = {
        {"gfx1030_36", FP16, "ConvHipImplicitGemmFwdXdlops", "matrix units"},
        {"gfx906_60", FP16, "ConvAsmImplicitGemmGTCDynamicFwdXdlopsNHWC", "matrix units"},
        {"gfx90a68", FP16, "ConvHipImplicitGemmFwdXdlops", NULL},
        {"gfx1100_48", FP16, "ConvHipImplicitGemmFwdXdlops", NULL},
        {"gfx1030_36", FP32, "ConvOclDirectFwd", NULL},
        {"cpu-znver4_2", FP32, "ConvOclDirectFwd", "AMD"},
        {"sm_90_132_80g", FP16, "ConvHipImplicitGemmFwdXdlops", "AMD"},
        {"cpu-znver4_2", FP32, "ConvBinWinogradRxSf2x3", "AMD"},
        {"cpu-znver4_2", FP32, "GemmFwdRest", NULL},
        {"gfx90a68", FP32, "ConvCpuGemm", "ConvCpuGemm "},
        {"cpu-znver4_2", FP32, "ConvCpuGemm", NULL},
        {"cpu-unheard-of_2", FP32, "ConvCpuGemm", NULL},
        {"gfx1030_36", FP16, "ConvMfma", "MFMA"},
        {"gfx90a68", FP16, "ConvMfma", NULL},
        /* The solver refuses this problem on every target, which says nothing against the file's
         * target. */
        {"gfx90a68", "64-56-56-3x3-64-56-56-16-1x1-1x1-1x1-0-NCHW-FP64-F", "ConvMfma", NULL},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        struct target target;
        struct target_bounds bounds;
        struct problem problem;
        parse(cases[i].target, cases[i].key, &target, &bounds, &problem);
        g_autofree char *why =
            target_other_solver(&bounds, &problem, cases[i].solver, strlen(cases[i].solver));
        g_test_message("%s, %s: %s", cases[i].target, cases[i].solver, why != NULL ? why : "-");
        g_assert_true((why != NULL) == (cases[i].part != NULL));
        g_assert_true(why == NULL || cases[i].part == NULL || strstr(why, cases[i].part) != NULL);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/target_doubt/the_least_time_is_that_of_the_multiply_adds",
                    the_least_time_is_that_of_the_multiply_adds);
    g_test_add_func("/target_doubt/transforms_are_not_bound_by_the_least_time",
                    transforms_are_not_bound_by_the_least_time);
    g_test_add_func("/target_doubt/solvers_of_another_target_are_found",
                    solvers_of_another_target_are_found);
    return g_test_run();
}
