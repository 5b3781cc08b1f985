/* If the first rounds would overrun the budget, the advice printed before the work says so, and
 * which options would fit it. */
#include "coordinator/plan/first_rounds.h"

#include <string.h>

static struct problem problems[3];

/* Three problems, the first with the most weight. Solver A serves all of them; B has the higher
 * priority for the first. */
static GArray *make_rounds(void)
{
    static const struct {
        int problem;
        const char *solver;
        int64_t configs;
        double priority;
    } rows[] = {{0, "A", 4, 50}, {0, "B", 4, 100}, {1, "A", 4, 10}, {1, "B", 4, 9},
                {2, "A", 4, 5},  {2, "C", 1, 1},   {0, "C", 1, 20}, {1, "C", 1, 2}};
    GArray *rounds = g_array_new(FALSE, TRUE, sizeof(struct first_round));
    for (size_t i = 0; i < G_N_ELEMENTS(problems); i++) {
        problem_init(&problems[i]);
        problems[i].c = (int64_t)i + 1;
        problem_set_output(&problems[i]);
    }
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        const struct first_round round = {.problem = &problems[rows[i].problem],
                                          .solver = rows[i].solver,
                                          .configs = rows[i].configs,
                                          .priority = rows[i].priority};
        g_array_append_val(rounds, round);
    }
    return rounds;
}

static char *advice(double budget, double spent, int64_t deadline, double config_seconds)
{
    g_autoptr(GArray) rounds = make_rounds();
    const struct campaign campaign = {
        .budget_seconds = budget, .spent_seconds = spent, .deadline_unix = deadline};
    return first_rounds_advice(rounds, &campaign, config_seconds, false);
}

/* The first rounds have 23 configs, which take 10 s each. */
static void a_budget_that_fits_is_not_spoken_of(void)
{
    static const struct {
        double budget, spent;
        bool fits;
    } cases[] = {{0, 0, true},   {230, 0, true},   {229, 0, true},
                 {30, 0, false}, {500, 200, true}, {500, 280, false}};
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *text = advice(cases[i].budget, cases[i].spent, 0, 10);
        g_assert_cmpint(text == NULL, ==, cases[i].fits);
    }
}

static void what_would_fit_is_offered(void)
{
    static const char *const said[] = {
        "the budget is 1 min 40 s, and the first rounds of 8 jobs take about 3 min 50 s",
        "(23 configs of 10.00 s, as measured here before)",
        ("each problem without a winner gets one config of its most promising solver "
         "(3 problems: about 30 s in all), and all other jobs end"),
        "--budget 230 ",
        "--configs 1 ",
        "the default configs alone, about 1 min 20 s",
        "--solvers B,A ",
        "the 1 heaviest of the 3 problems fit",
        "--deadline 100s ",
        "about 43 % of the first rounds",
    };
    g_autofree char *text = advice(100, 0, 0, 10);
    g_assert_nonnull(text);
    for (size_t i = 0; i < G_N_ELEMENTS(said); i++) {
        g_test_message("%s", said[i]);
        g_assert_nonnull(strstr(text, said[i]));
    }
}

static void a_deadline_is_not_offered_if_one_is_set(void)
{
    g_autofree char *text = advice(100, 20, 1, 10);
    g_assert_nonnull(strstr(text, "the budget has left 1 min 20 s"));
    g_assert_nonnull(
        strstr(text, "all other jobs end, or at the deadline if that is sooner. Instead"));
    g_assert_null(strstr(text, "--deadline"));
    /* the total budget needed, with the seconds already spent */
    g_assert_nonnull(strstr(text, "--budget 250 "));
}

static void a_problem_with_a_winner_needs_no_other_config(void)
{
    g_autoptr(GArray) rounds = make_rounds();
    const struct campaign campaign = {.budget_seconds = 100};
    for (guint i = 0; i < rounds->len; i++)
        g_array_index(rounds, struct first_round, i).has_winner = i != 4 && i != 5;
    g_autofree char *one = first_rounds_advice(rounds, &campaign, 10, false);
    g_assert_nonnull(strstr(one, "(1 problem: about 10 s in all)"));
    for (guint i = 0; i < rounds->len; i++)
        g_array_index(rounds, struct first_round, i).has_winner = true;
    g_autofree char *none = first_rounds_advice(rounds, &campaign, 10, false);
    g_assert_nonnull(
        strstr(none, "all jobs that still wait end; each problem has a winner already"));
}

/* Jobs that had a first round or took configs over are not counted: they have no first round to
 * come. */
static void only_first_rounds_to_come_count(void)
{
    static char states[][8] = {"ready", "done", "built", "failed", "ready"};
    static const int rounds[] = {0, 1, 0, 0, 2};
    char solver[] = "NoSuchSolver";
    g_autoptr(GPtrArray) jobs = g_ptr_array_new_with_free_func(g_free);
    for (size_t i = 0; i < G_N_ELEMENTS(rounds); i++) {
        struct job_row *job = g_new0(struct job_row, 1);
        *job = (struct job_row){.solver = solver, .state = states[i], .rounds = rounds[i]};
        g_ptr_array_add(jobs, job);
    }
    const struct campaign campaign = {.round_configs = 4};
    const struct target target = {0};
    int64_t evaluations;
    g_autoptr(GArray) first = first_rounds_list(jobs, &campaign, &target, 0, &evaluations);
    g_assert_cmpuint(first->len, ==, 2);
    g_assert_cmpint(first_rounds_configs(first), ==, 2);
    /* all are of one problem, and the second of them is done */
    g_assert_cmpint(first_rounds_problems(first), ==, 0);
    g_assert_cmpint(evaluations, ==, 5);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/first_rounds/a_budget_that_fits_is_not_spoken_of",
                    a_budget_that_fits_is_not_spoken_of);
    g_test_add_func("/first_rounds/what_would_fit_is_offered", what_would_fit_is_offered);
    g_test_add_func("/first_rounds/a_deadline_is_not_offered_if_one_is_set",
                    a_deadline_is_not_offered_if_one_is_set);
    g_test_add_func("/first_rounds/a_problem_with_a_winner_needs_no_other_config",
                    a_problem_with_a_winner_needs_no_other_config);
    g_test_add_func("/first_rounds/only_first_rounds_to_come_count",
                    only_first_rounds_to_come_count);
    return g_test_run();
}
