/* A solver's claims (types, layouts, directions) are found by asking it about problems: tests with
 * solvers whose claims are known, and the table in solvers/README.md. */
#include "solvers/framework/solver_claims.h"

#include "tests/support/test_effort.h"

#include <string.h>

#define README       "solvers/README.md"
#define MARKER_BEGIN "<!-- solvers-table: `make solvers-table` rewrites it -->\n"
#define MARKER_END   "<!-- end of solvers-table -->\n"

static bool serves_forward_nchw_and_weights_of_fp16(const struct problem *p,
                                                    const struct context *context,
                                                    const char **reason)
{
    (void)context;
    *reason = "needs FP32 NCHW forward, or FP16 backward weights";
    for (int t = 0; t < TENSOR_COUNT; t++) {
        bool forward = p->type[t] == TYPE_FP32 && p->layout[t] == LAYOUT_NCHW;
        bool weights = p->type[t] == TYPE_FP16 && p->layout[t] != LAYOUT_CHWN;
        if (p->direction == DIRECTION_B || !(p->direction == DIRECTION_F ? forward : weights))
            return false;
    }
    return p->fil[AXIS_W] == 3 && p->spatial_dim == 2 && p->dilation[AXIS_W] == 1;
}

static bool serves_depthwise_on_cpus(const struct problem *p, const struct context *context,
                                     const char **reason)
{
    *reason = "needs a CPU and a group a channel";
    return context->target->vendor == VENDOR_CPU && p->groups == p->c && p->groups == p->k;
}

static uint64_t some_workspace(const struct problem *p, const struct context *context)
{
    (void)context;
    return p->stride[AXIS_W] > 1 ? 256 : 0;
}

static void choose_one(const struct problem *p, const struct context *context,
                       struct perf_config *config)
{
    (void)p;
    (void)context;
    *config = (struct perf_config){1, {1}};
}

/* A solution with as many launches as the config's value; it needs a workspace if the problem has a
 * stride. */
static bool solve(const struct problem *p, const struct context *context,
                  const struct perf_config *config, struct solution *solution, GError **error)
{
    (void)error;
    for (int i = 0; i < config->values[0]; i++)
        solution_add_launch(solution, "none.cl", "none");
    solution->workspace_bytes = some_workspace(p, context);
    return true;
}

static const struct space_param params[] = {{"LAUNCHES", 3, (const int32_t[]){1, 2, 3}}};
static const struct space space = {1, params, 0, NULL};

static const struct solver narrow = {
    .name = "Narrow",
    .algorithm = "Direct",
    .partial = true,
    .any_strides = true,
    .is_applicable = serves_forward_nchw_and_weights_of_fp16,
    .workspace_bytes = some_workspace,
    .default_config = choose_one,
    .space = &space,
    .solve = solve,
};

static const struct solver depthwise = {
    .name = "Depthwise",
    .algorithm = "Direct",
    .nondeterministic = true,
    .is_applicable = serves_depthwise_on_cpus,
    .default_config = choose_one,
    .solve = solve,
};

static void served_problems_are_found(void)
{
    struct solver_claims claims;

    solver_claims_find(&narrow, &claims);
    g_assert_cmpuint(claims.directions, ==, 1u << DIRECTION_F | 1u << DIRECTION_W);
    g_assert_cmpuint(claims.served[LAYOUT_NCHW][TYPE_FP32], ==, 1u << DIRECTION_F);
    g_assert_cmpuint(claims.served[LAYOUT_NCHW][TYPE_FP16], ==, 1u << DIRECTION_W);
    g_assert_cmpuint(claims.served[LAYOUT_NHWC][TYPE_FP32], ==, 0);
    g_assert_cmpuint(claims.served[LAYOUT_CHWN][TYPE_FP16], ==, 0);
    g_assert_cmpuint(claims.features[FEATURE_STRIDE], ==, claims.directions);
    g_assert_cmpuint(claims.features[FEATURE_DILATION], ==, 0);
    g_assert_cmpuint(claims.features[FEATURE_MIXED_LAYOUTS], ==, 1u << DIRECTION_W);
    g_assert_cmpuint(claims.features[FEATURE_MIXED_TYPES], ==, 0);
    g_assert_cmpuint(claims.vendors, ==, 7);
    g_assert_cmpint(claims.most_configs, ==, 3);
    g_assert_cmpint(claims.least_launches, ==, 1);
    g_assert_cmpint(claims.most_launches, ==, 2);
    g_assert_true(claims.with_workspace && claims.without_workspace);
}

static void a_depthwise_solver_is_told_apart(void)
{
    struct solver_claims claims;

    solver_claims_find(&depthwise, &claims);
    g_assert_cmpuint(claims.features[FEATURE_PLAIN], ==, 0);
    g_assert_cmpuint(claims.features[FEATURE_GROUPS], ==, 0);
    g_assert_cmpuint(claims.features[FEATURE_DEPTHWISE], ==, claims.directions);
    g_assert_cmpuint(claims.features[FEATURE_STRIDE], ==, claims.directions);
    g_assert_cmpuint(claims.vendors, ==, 1u << VENDOR_CPU);
    g_assert_cmpint(claims.most_configs, ==, 0);
}

/* ConvSimt serves problems that permit TF32, in full FP32. */
static void tf32_is_claimed_by_who_computes_in_it(void)
{
    static const struct {
        const char *solver;
        unsigned directions;
    } rows[] = {{"ConvMatrix", 7},
                {"ConvWgmma", 1u << DIRECTION_F | 1u << DIRECTION_B},
                {"ConvTma", 1u << DIRECTION_F | 1u << DIRECTION_B},
                {"ConvMfma", 7},
                {"ConvSimt", 0}};

    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        struct solver_claims claims;
        solver_claims_find(solver_find(rows[i].solver), &claims);
        g_assert_cmpuint(claims.tf32, ==, rows[i].directions);
    }
}

static void the_table_says_what_it_does_not_hold(void)
{
    static const struct solver *const table[] = {&narrow, &depthwise};
    g_autofree char *text = solver_claims_table(table, G_N_ELEMENTS(table));
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);

    g_assert_cmpuint(g_strv_length(lines), ==, 5);
    g_assert_cmpstr(
        lines[2], ==,
        "| Narrow | Direct | F W | NCHW NHWC(W) NCHWc4(W) NCHWc8(W) CHWNc4(W) CHWNc8(W) | "
        "FP32(F) FP16(W) | 3x3 | any | stride mixed-layouts(W) any-strides | partial | 3 | "
        "may be | 1-2 | all |");
    g_assert_nonnull(strstr(lines[3],
                            "| any | depthwise only | stride dilation mixed-layouts "
                            "mixed-types nondeterministic | static | not tunable | may be |"));
    g_assert_true(g_str_has_suffix(lines[3], "| CPU |"));
}

static bool serves_fp16_in_nchw_alone(const struct problem *p, const struct context *context,
                                      const char **reason)
{
    bool is_half = p->type[TENSOR_X] == TYPE_FP16;

    (void)context;
    *reason = "needs FP32, or FP16 in NCHW";
    return p->direction == DIRECTION_F && p->layout[TENSOR_X] <= LAYOUT_NHWC &&
           (p->type[TENSOR_X] == TYPE_FP32 || (is_half && p->layout[TENSOR_X] == LAYOUT_NCHW));
}

static void cells_do_not_promise_together_what_is_not_served(void)
{
    struct solver half = narrow;
    const struct solver *const table[] = {&half};
    half.is_applicable = serves_fp16_in_nchw_alone;
    g_autofree char *text = solver_claims_table(table, 1);

    g_assert_nonnull(strstr(text, "| NCHW NHWC | FP32 FP16, without FP16 in NHWC |"));
}

/* Returns the text between the markers of solvers/README.md, NULL if it lacks them. Free with
 * g_free(). */
static char *table_of_readme(void)
{
    g_autofree char *text = NULL;

    if (!g_file_get_contents(README, &text, NULL, NULL))
        return NULL;
    char *begin = strstr(text, MARKER_BEGIN);
    char *end = begin ? strstr(begin, MARKER_END) : NULL;
    if (!end)
        return NULL;
    begin += strlen(MARKER_BEGIN);
    return g_strndup(begin, (gsize)(end - begin));
}

/* Whether the table has the rows of today's solvers. */
static bool has_some_rows(const char *table)
{
    bool has = table != NULL;

    for (int i = 0; has && i < solver_table_count; i++) {
        if (!test_is_case(i))
            continue;
        g_autofree char *text = solver_claims_table(&solver_table[i], 1);
        const char *row = g_strrstr(g_strchomp(text), "\n");
        has = row && strstr(table, row);
    }
    return has;
}

/* The whole table, under a sanitizer some of its rows. */
static void the_readme_has_the_table(void)
{
    g_autofree char *kept = table_of_readme();
    g_autofree char *now =
        test_is_sanitized() ? NULL : solver_claims_table(solver_table, solver_table_count);

    if (test_is_sanitized() ? !has_some_rows(kept) : g_strcmp0(kept, now) != 0) {
        g_test_message("the table in " README " is not what the solvers say of themselves: "
                       "`make solvers-table` rewrites it");
        g_test_fail();
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/solver_claims/served_problems_are_found", served_problems_are_found);
    g_test_add_func("/solver_claims/tf32_is_claimed_by_who_computes_in_it",
                    tf32_is_claimed_by_who_computes_in_it);
    g_test_add_func("/solver_claims/a_depthwise_solver_is_recognised",
                    a_depthwise_solver_is_told_apart);
    g_test_add_func("/solver_claims/the_table_marks_partial_claims",
                    the_table_says_what_it_does_not_hold);
    g_test_add_func("/solver_claims/exceptions_name_pairs_that_are_not_served",
                    cells_do_not_promise_together_what_is_not_served);
    g_test_add_func("/solver_claims/the_readme_has_the_table", the_readme_has_the_table);
    return g_test_run();
}
