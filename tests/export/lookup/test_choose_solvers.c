#include "export/lookup/choose_solvers.h"

#include "solvers/framework/solver.h"
#include "solvers/problem/problem_key.h"
#include "tests/support/table_problems.h"

#include <string.h>

#define KEY "64-56-56-3x3-64-56-56-16-1x1-1x1-1x1-0-NCHW-FP32-F"

struct asked {
    struct target target;
    struct problem problem;
    struct skipjackdb_rules rules;
    ChooseSolvers *solvers;
};

static void ask(struct asked *asked, const char *target, const char *key, uint64_t workspace_bytes)
{
    *asked = (struct asked){.rules = {.size = sizeof asked->rules}};
    g_assert_true(target_parse(target, &asked->target, NULL));
    g_assert_true(problem_key_parse(key, &asked->problem, NULL));
    asked->solvers = choose_solvers_new(&asked->target, &asked->problem, workspace_bytes);
    choose_solvers_answer(asked->solvers, &asked->rules);
}

static int judge(const struct asked *asked, const char *solver, const char *params,
                 struct skipjackdb_candidate *candidate)
{
    *candidate = (struct skipjackdb_candidate){.size = sizeof *candidate,
                                               .solver = solver,
                                               .algorithm = "",
                                               .params = params,
                                               .workspace_bytes = SKIPJACKDB_UNKNOWN};
    return asked->rules.applicable(asked->rules.user, NULL, candidate);
}

static void answers_equal_those_of_the_solver_table(void)
{
    struct asked asked;
    ask(&asked, "gfx90a68", KEY, UINT64_MAX);
    g_assert_cmpuint(asked.rules.solver_count, ==, solver_table_count);
    for (int i = 0; i < solver_table_count; i++) {
        const struct solver *solver = solver_table[i];
        struct context context;
        struct skipjackdb_candidate candidate;
        context_init(&context, &asked.target);
        bool applicable = solver_applicable(solver, &asked.problem, &context, NULL);
        int answer = judge(&asked, solver->name, NULL, &candidate);
        double estimate = asked.rules.estimate(asked.rules.user, NULL, solver->name);
        g_assert_cmpint(answer, ==, applicable ? SKIPJACKDB_YES : SKIPJACKDB_NO);
        g_assert_cmpstr(asked.rules.solvers[i], ==, solver->name);
        g_assert_true((estimate > 0) == applicable);
        if (applicable) {
            g_assert_cmpuint(candidate.workspace_bytes, ==,
                             solver_workspace_bytes(solver, &asked.problem, &context));
            g_assert_cmpuint(candidate.flags & SKIPJACKDB_DYNAMIC, ==,
                             solver->dynamic ? SKIPJACKDB_DYNAMIC : 0);
            g_assert_true(g_str_has_suffix(candidate.algorithm, solver->algorithm));
        }
    }
    choose_solvers_free(asked.solvers);
}

static void other_libraries_solvers_are_not_judged(void)
{
    struct asked asked;
    struct skipjackdb_candidate candidate;
    ask(&asked, "gfx90a68", KEY, UINT64_MAX);
    g_assert_cmpint(judge(&asked, "ConvBinWinogradRxSf2x3", "1,2", &candidate), ==,
                    SKIPJACKDB_UNSURE);
    g_assert_cmpstr(candidate.params, ==, "1,2");
    g_assert_cmpfloat(asked.rules.estimate(asked.rules.user, NULL, "ConvBinWinogradRxSf2x3"), ==,
                      0);
    choose_solvers_free(asked.solvers);
}

static void params_that_the_problem_cannot_have_are_refused(void)
{
    struct asked asked;
    struct context context;
    struct perf_config config;
    struct skipjackdb_candidate candidate;
    char text[CONFIG_TEXT_MAX];
    ask(&asked, "gfx90a68", KEY, UINT64_MAX);
    const struct solver *solver = solver_find("ConvDirectTiled");
    g_assert_nonnull(solver);
    context_init(&context, &asked.target);
    solver->default_config(&asked.problem, &context, &config);
    perf_config_format(&config, text);
    g_assert_cmpint(judge(&asked, solver->name, text, &candidate), ==, SKIPJACKDB_YES);
    g_assert_cmpstr(candidate.params, ==, text);
    g_assert_cmpint(judge(&asked, solver->name, "1,2,3,4,5,6,7,8,9,10,11,12", &candidate), ==,
                    SKIPJACKDB_YES);
    g_assert_null(candidate.params);
    choose_solvers_free(asked.solvers);
}

/* Finds a solver and problem whose default config under a workspace limit is not in the space
 * without a limit. Returns false where no solver has such a default. *limit: the workspace in bytes
 * that the default needs. */
static bool find_limited_default(const struct target *target, const struct solver **solver,
                                 struct problem *p, uint64_t *limit, char text[CONFIG_TEXT_MAX])
{
    g_autoptr(GPtrArray) problems = table_problems_common();
    struct context unlimited, limited;
    struct solution solution;
    struct perf_config config;
    context_init(&unlimited, target);
    limited = unlimited;
    for (guint i = 0; i < problems->len; i++) {
        *p = *(const struct problem *)problems->pdata[i];
        for (int s = 0; s < solver_table_count; s++) {
            *solver = solver_table[s];
            limited.workspace_limit = solver_applicable(*solver, p, &unlimited, NULL)
                                          ? solver_workspace_bytes(*solver, p, &unlimited)
                                          : 0;
            for (; limited.workspace_limit > 0; limited.workspace_limit /= 2) {
                if (!solver_applicable(*solver, p, &limited, NULL))
                    break;
                (*solver)->default_config(p, &limited, &config);
                if (solver_config_valid(*solver, p, &unlimited, &config, NULL) ||
                    !solver_solve(*solver, p, &limited, &config, &solution, NULL))
                    continue;
                *limit = solution.workspace_bytes;
                perf_config_format(&config, text);
                return true;
            }
        }
    }
    return false;
}

/* Params chosen under a campaign's workspace limit are valid for callers whose limit is as high,
 * and are dropped for callers whose limit is lower. */
static void params_that_a_limit_chose_are_kept(void)
{
    static const char id[] = "sm_90_132_80g";
    const struct solver *solver;
    struct target target;
    struct asked asked;
    struct problem p;
    struct skipjackdb_candidate candidate;
    char text[CONFIG_TEXT_MAX], key[PROBLEM_KEY_MAX];
    uint64_t workspace_bytes = 0;
    g_assert_true(target_parse(id, &target, NULL));
    if (!find_limited_default(&target, &solver, &p, &workspace_bytes, text)) {
        g_test_skip("no solver's default depends so on the workspace");
        return;
    }
    for (int less = 0; less < 2; less++) {
        ask(&asked, id, problem_key(&p, key),
            less ? workspace_bytes - MIN(1, workspace_bytes) : UINT64_MAX);
        candidate = (struct skipjackdb_candidate){.size = sizeof candidate,
                                                  .solver = solver->name,
                                                  .algorithm = "",
                                                  .params = text,
                                                  .workspace_bytes = workspace_bytes};
        int answer = asked.rules.applicable(asked.rules.user, NULL, &candidate);
        if (!less || workspace_bytes == 0) {
            g_assert_cmpint(answer, ==, SKIPJACKDB_YES);
            g_assert_cmpstr(candidate.params, ==, text);
        } else {
            g_assert_true(answer == SKIPJACKDB_NO || candidate.params == NULL);
        }
        choose_solvers_free(asked.solvers);
    }
}

static void solvers_are_asked_under_the_workspace_limit(void)
{
    struct asked asked;
    struct skipjackdb_candidate candidate;
    ask(&asked, "gfx90a68", KEY, 0);
    g_assert_cmpint(judge(&asked, "ConvWinograd", NULL, &candidate), ==, SKIPJACKDB_NO);
    g_assert_cmpint(judge(&asked, "ConvDirectNaive", NULL, &candidate), ==, SKIPJACKDB_YES);
    g_assert_cmpuint(candidate.workspace_bytes, ==, 0);
    choose_solvers_free(asked.solvers);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/choose_solvers/answers_equal_those_of_the_solver_table",
                    answers_equal_those_of_the_solver_table);
    g_test_add_func("/choose_solvers/other_libraries_solvers_are_not_judged",
                    other_libraries_solvers_are_not_judged);
    g_test_add_func("/choose_solvers/params_that_the_problem_cannot_have_are_refused",
                    params_that_the_problem_cannot_have_are_refused);
    g_test_add_func("/choose_solvers/params_that_a_limit_chose_are_kept",
                    params_that_a_limit_chose_are_kept);
    g_test_add_func("/choose_solvers/solvers_are_asked_under_the_workspace_limit",
                    solvers_are_asked_under_the_workspace_limit);
    return g_test_run();
}
