/* Each reason for which the gate refuses a result, with the test's own solvers and no database. */
#include "schema/results/conditions.h"
#include "tests/support/export/export_scene.h"

#include <math.h>
#include <string.h>

/* A solver whose solution has two launches; main() copies it from the last solver of
 * export_scene_solvers. */
static struct solver two_launches;

static bool solve_in_two(const struct problem *p, const struct context *context,
                         const struct perf_config *config, struct solution *solution,
                         GError **error)
{
    static const int64_t items[3] = {64, 1, 1};
    static const int block[3] = {64, 1, 1};
    if (!export_scene_solvers[4].solve(p, context, config, solution, error))
        return false;
    struct launch *second = solution_add_launch(solution, "conv.cl", "conv");
    launch_option_int(second, "SECOND", 1);
    launch_set_grid(second, items, block);
    return true;
}

/* Replaces the program's table of solvers. */
const struct solver *const solver_table[] = {
    &export_scene_solvers[0],
    &export_scene_solvers[1],
    &export_scene_solvers[2],
    &export_scene_solvers[3],
    &two_launches,
};
const int solver_table_count = EXPORT_SCENE_SOLVERS;

static void spoil_solver(struct result *result)
{
    g_free(result->solver);
    result->solver = g_strdup("ConvGone");
}

static void spoil_revision(struct result *result)
{
    result->revision = 2;
}

static void spoil_config(struct result *result)
{
    g_free(result->kept.config_text);
    result->kept.config_text = g_strdup("3");
}

static void spoil_config_values(struct result *result)
{
    result->kept.config.values[0] = 1;
}

static void spoil_problem(struct result *result)
{
    result->problem.n = 1000;
}

static void spoil_workspace(struct result *result)
{
    result->kept.workspace_bytes += 4096;
}

static void spoil_zero(struct result *result)
{
    result->kept.outcome.median_ms = 0;
}

static void spoil_nan(struct result *result)
{
    result->kept.outcome.median_ms = (double)NAN;
}

static void spoil_tiny(struct result *result)
{
    result->kept.outcome.median_ms = 1e-60;
}

static void spoil_infinite(struct result *result)
{
    result->kept.outcome.median_ms = (double)INFINITY;
}

/* MIOpen keeps times as floats: this time is above the largest float. */
static void spoil_huge(struct result *result)
{
    result->kept.outcome.median_ms = 1e39;
}

static void spoil_drift(struct result *result)
{
    result->drift = 1.2;
}

static void spoil_throttle(struct result *result)
{
    result->throttle = THROTTLE_POWER_CAP | THROTTLE_HEAT;
}

/* An impossibly short time, with no operations stated: the gate computes the operations from the
 * problem. */
static void spoil_impossible(struct result *result)
{
    result->kept.outcome.min_ms = 1e-6;
    result->kept.flops = 0;
}

static void spoil_minimum(struct result *result)
{
    result->kept.outcome.min_ms = 0.5;
}

static void spoil_count(struct result *result)
{
    result->kept.outcome.n = 0;
}

static void spoil_damage(struct result *result)
{
    result->damage = g_strdup("a problem has no such layout");
}

static void spoil_job(struct result *result)
{
    result->problem_id = 0;
}

static void spoil_verified(struct result *result)
{
    result->verified = false;
}

static void spoil_failed(struct result *result)
{
    result->kept.outcome.failure = FAILURE_WRONG_RESULT;
}

static void spoil_kernel(struct result *result)
{
    g_free(result->kept.kernel_keys);
    result->kept.kernel_keys = g_strdup("1:4,0123456789abcdef");
}

static void spoil_other_kernel(struct result *result)
{
    g_free(result->kept.kernel_keys);
    result->kept.kernel_keys = g_strdup("2:");
}

static void spoil_kernels(struct result *result)
{
    result->kept.kernel_keys[0] = '\0';
}

static void result_that_does_not_pass_is_named_with_the_reason(void)
{
    static const struct {
        void (*spoil)(struct result *result);
        enum refusal why;
        const char *reason;
    } cases[] = {
        {spoil_damage, REFUSAL_DAMAGED, "no such layout"},
        {spoil_job, REFUSAL_FOREIGN, "no such job"},
        {spoil_verified, REFUSAL_UNVERIFIED, "no stored round"},
        {spoil_failed, REFUSAL_UNVERIFIED, "wrong result"},
        {spoil_solver, REFUSAL_SOLVER, "no solver of that name"},
        {spoil_revision, REFUSAL_SOLVER, "measured at revision 2, the registry has 3"},
        {spoil_config, REFUSAL_CONFIG, "3"},
        {spoil_config_values, REFUSAL_CONFIG, "does not read back from '4'"},
        {spoil_problem, REFUSAL_CONFIG, "needs a batch below 1000"},
        {spoil_workspace, REFUSAL_CONFIG, "4096 bytes is not the 0 of its solution"},
        {spoil_zero, REFUSAL_TIME, "not a positive number"},
        {spoil_nan, REFUSAL_TIME, "not a positive number"},
        {spoil_tiny, REFUSAL_TIME, "not a positive number"},
        {spoil_infinite, REFUSAL_TIME, "not a positive number"},
        {spoil_huge, REFUSAL_TIME, "not a positive number"},
        {spoil_drift, REFUSAL_DRIFT, "1.20 times as long at the end"},
        {spoil_throttle, REFUSAL_THROTTLE, "was throttled while its round was measured (heat)"},
        {spoil_minimum, REFUSAL_TIME, "is no median"},
        {spoil_count, REFUSAL_TIME, "is no median"},
        {spoil_impossible, REFUSAL_TIME, "is impossible, gfx90a68 needs"},
        {spoil_kernel, REFUSAL_KERNEL, "kernel 0123456789ab is not in the database"},
        {spoil_kernels, REFUSAL_KERNEL, "names no kernel"},
        {spoil_other_kernel, REFUSAL_KERNEL, "is not of its solution"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        struct export_scene scene;
        export_scene_init(&scene);
        cases[i].spoil(export_scene_add(&scene, 1, EXPORT_SCENE_FORWARD, "ConvTuned", "4", 0.25));
        export_scene_add(&scene, 2, EXPORT_SCENE_FORWARD, "ConvA", "", 1);
        export_scene_choose(&scene);
        if (strstr(export_scene_reason(&scene, 0), cases[i].reason) == NULL) {
            g_test_message("%zu: '%s'", i, export_scene_reason(&scene, 0));
            g_test_fail();
        }
        g_assert_cmpint(scene.summary.refused.by[cases[i].why], ==, 1);
        g_assert_cmpint(scene.summary.find_entries, ==, 1);
        g_assert_cmpuint(scene.records->len, ==, 0);
        g_assert_cmpuint(scene.kernels->len, ==, 1);
        export_scene_clear(&scene);
    }
}

static void kernel_of_another_target_is_refused(void)
{
    struct export_scene scene;
    export_scene_init(&scene);
    export_scene_add(&scene, 1, EXPORT_SCENE_FORWARD, "ConvA", "", 1);
    struct kernel_row *kernel = g_hash_table_lookup(scene.gate.kernels, "1:");
    g_free(kernel->arch);
    kernel->arch = g_strdup("gfx1030");
    export_scene_choose(&scene);
    g_assert_nonnull(strstr(export_scene_reason(&scene, 0), "built for gfx1030"));
    export_scene_clear(&scene);
}

static void every_launch_has_its_kernel(void)
{
    struct export_scene scene;
    export_scene_init(&scene);
    struct result *result = export_scene_add(&scene, 1, EXPORT_SCENE_FORWARD, "ConvPair", "", 1);
    export_scene_choose(&scene);
    g_assert_nonnull(
        strstr(export_scene_reason(&scene, 0),
               "does not name the kernel conv.cl of its solution (options '-DSECOND=1')"));
    export_scene_clear(&scene);

    export_scene_init(&scene);
    result = export_scene_add(&scene, 1, EXPORT_SCENE_FORWARD, "ConvPair", "", 1);
    export_scene_add_kernel(&scene, "second", "-DSECOND=1", "second");
    g_free(result->kept.kernel_keys);
    result->kept.kernel_keys = g_strdup("1:,second");
    export_scene_choose(&scene);
    g_assert_cmpstr(export_scene_reason(&scene, 0), ==, "");
    g_assert_cmpuint(scene.kernels->len, ==, 2);
    export_scene_clear(&scene);
}

static void least_time_follows_the_peak_and_the_type(void)
{
    struct target target;
    struct problem problem;
    problem_init(&problem);
    g_assert_true(target_parse("gfx90a68", &target, NULL));
    target.peak_flops = 1e12;
    g_assert_cmpfloat_with_epsilon(target_least_ms(&target, problem.type[TENSOR_X], 1e9), 1, 1e-9);
    problem.type[TENSOR_X] = TYPE_FP16;
    g_assert_cmpfloat_with_epsilon(target_least_ms(&target, problem.type[TENSOR_X], 1e9), 1. / 4,
                                   1e-9);
    target.vendor = VENDOR_CPU;
    g_assert_cmpfloat_with_epsilon(target_least_ms(&target, problem.type[TENSOR_X], 1e9), 1. / 2,
                                   1e-9);
    target.peak_flops = 0;
    g_assert_cmpfloat(target_least_ms(&target, problem.type[TENSOR_X], 1e9), ==, 0);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    two_launches = export_scene_solvers[4];
    two_launches.name = "ConvPair";
    two_launches.solve = solve_in_two;
    g_test_add_func("/export_plan/result_that_does_not_pass_is_named_with_the_reason",
                    result_that_does_not_pass_is_named_with_the_reason);
    g_test_add_func("/export_plan/kernel_of_another_target_is_refused",
                    kernel_of_another_target_is_refused);
    g_test_add_func("/export_plan/every_launch_has_its_kernel", every_launch_has_its_kernel);
    g_test_add_func("/export_plan/least_time_follows_the_peak_and_the_type",
                    least_time_follows_the_peak_and_the_type);
    return g_test_run();
}
