/* A claimed job and its rounds as the agent interprets them. */
#include "schema/store/store_events.h"
#include "worker/agent/work.h"

#include <string.h>

#define SOLVER "ConvCpuGemm"
#define TARGET "cpu-znver4_2"

static void clear_round(gpointer round)
{
    round_free(round);
}

/* An eval claim whose open round holds one config, the default one, not evaluated yet. */
static struct job *make_job(const struct target *target)
{
    const struct solver *solver = solver_find(SOLVER);
    struct job *job = g_new0(struct job, 1);
    struct round *round = round_new(1);
    struct context context;

    problem_init(&job->problem);
    job->problem.c = job->problem.k = 64;
    context_init(&context, target);
    solver->default_config(&job->problem, &context, &round->configs[0]);
    job->solver = g_strdup(SOLVER);
    job->revision = solver->revision;
    job->target = g_strdup(TARGET);
    job->strategy = g_strdup("random");
    job->rounds = g_ptr_array_new_with_free_func(clear_round);
    job->quarantined = g_array_new(FALSE, TRUE, sizeof(struct perf_config));
    g_ptr_array_add(job->rounds, round);
    return job;
}

struct spoil {
    const char *solver, *target, *hash; /* each NULL: the job's own */
    int older;     /* the result is of a revision this many below the current one */
    int64_t batch; /* the problem's */
    const char *config;
    enum failure expected;
};

static enum failure outcome_beside(const struct spoil *spoil)
{
    const struct solver *solver = solver_find(SOLVER);
    struct target target;
    struct work work;
    enum failure failure;
    char text[CONFIG_TEXT_MAX];
    struct job *job;
    g_autoptr(GPtrArray) quarantine = g_ptr_array_new();
    struct quarantine_row row = {.failure = FAILURE_DEVICE_FAULT};

    g_assert_true(target_parse(TARGET, &target, NULL));
    job = make_job(&target);
    row.problem = job->problem;
    row.problem.n = spoil->batch;
    row.solver = g_strdup(spoil->solver ? spoil->solver : SOLVER);
    row.target = g_strdup(spoil->target ? spoil->target : TARGET);
    row.hash = g_strdup(spoil->hash ? spoil->hash : solver_hash(solver));
    row.revision = solver->revision - spoil->older;
    row.config_text = g_strdup(
        spoil->config
            ? spoil->config
            : perf_config_format(&((struct round *)job->rounds->pdata[0])->configs[0], text));
    row.detail = g_strdup("boom");
    g_ptr_array_add(quarantine, &row);
    work_init(&work, job, &target, POOL_EVAL, quarantine);
    failure = work.round->outcomes[0].failure;
    work_clear(&work);
    g_free(row.solver);
    g_free(row.target);
    g_free(row.hash);
    g_free(row.config_text);
    g_free(row.detail);
    return failure;
}

static void quarantine_concerns_the_same_solver_as_it_was_then(void)
{
    static const struct spoil cases[] = {
        {.batch = 1, .expected = FAILURE_DEVICE_FAULT},
        {.batch = 2, .expected = FAILURE_PENDING},
        {.batch = 1, .solver = "ConvCpuDirect", .expected = FAILURE_PENDING},
        {.batch = 1, .target = "cpu-znver4_4", .expected = FAILURE_PENDING},
        /* A result of an older revision: its text is a valid config of this round today, but was
         * another config then. */
        {.batch = 1, .older = 1, .expected = FAILURE_PENDING},
        {.batch = 1, .hash = "0123", .expected = FAILURE_PENDING},
        /* A config that is not in today's space, and a text that is no config. */
        {.batch = 1, .config = "8,1", .expected = FAILURE_PENDING},
        {.batch = 1, .config = "x", .expected = FAILURE_PENDING},
    };

    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
        g_assert_cmpstr(failure_name(outcome_beside(&cases[i])), ==,
                        failure_name(cases[i].expected));
}

/* ---- the problem's best time ---- */

/* A job whose tries are spent goes on if it is close to its problem's best time. A build claim goes by the time that it
 * says, and if it says none, as one of older functions does, by whoever measured the last round. */
static void a_job_close_to_its_problems_best_goes_on(void)
{
    static const struct {
        double problem_ms;
        bool measured_goes_on, built_goes_on;
    } cases[] = {{0.5, false, false}, {0.95, true, true}, {1, true, true}, {0, true, true}};
    struct target target;
    g_assert_true(target_parse(TARGET, &target, NULL));
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        struct work work;
        enum search_end end;
        struct job *job = make_job(&target);
        g_autoptr(GPtrArray) quarantine = g_ptr_array_new();
        struct round *round = job->rounds->pdata[0];
        round->outcomes[0] =
            (struct outcome){.failure = FAILURE_NONE, .n = 5, .min_ms = 1, .median_ms = 1};
        job->configs_limit = 1;
        job->close_configs = 3;
        job->round_configs = 4;
        job->best_ms = cases[i].problem_ms;
        g_test_message("the problem takes %g ms", cases[i].problem_ms);
        work_init(&work, job, &target, POOL_BUILD, quarantine);
        g_assert_cmpstr(work.refusal, ==, NULL);
        g_assert_true(work_more(&work, cases[i].problem_ms, &end) == cases[i].measured_goes_on);
        g_assert_cmpint(end, ==, cases[i].measured_goes_on ? SEARCH_GOES_ON : SEARCH_TRIES_SPENT);
        g_assert_true(work_propose(&work) == cases[i].built_goes_on);
        if (cases[i].built_goes_on)
            g_assert_cmpint(work.round->config_count, ==,
                            3); /* the default again, and two new ones */
        work_clear(&work);
    }
}

/* ---- limits ---- */

/* A worker proposes configs under the campaign's limits: here no workspace is allowed. */
static void proposals_keep_to_the_campaigns_limits(void)
{
    struct target target;
    g_assert_true(target_parse(TARGET, &target, NULL));
    for (int limited = 0; limited < 2; limited++) {
        struct work work;
        uint64_t most = 0;
        struct job *job = make_job(&target);
        g_autoptr(GPtrArray) quarantine = g_ptr_array_new();
        g_ptr_array_set_size(job->rounds, 0);
        g_free(job->solver);
        job->solver = g_strdup("ConvImplicitGemm");
        job->revision = solver_find(job->solver)->revision;
        job->round_configs = 64;
        job->problem.n = 16;
        job->problem.in[AXIS_H] = job->problem.in[AXIS_W] = 56;
        job->problem.direction = DIRECTION_W;
        problem_set_output(&job->problem);
        job->limits.limits_workspace = limited;
        work_init(&work, job, &target, POOL_BUILD, quarantine);
        g_assert_null(work.refusal);
        g_assert_true(work_propose(&work));
        for (int i = 0; i < work.round->config_count; i++) {
            struct solution solution;
            g_assert_true(work_solve(&work, i, &solution));
            most = MAX(most, solution.workspace_bytes);
        }
        g_assert_true((most == 0) == limited);
        work_clear(&work);
    }
}

/* ---- measuring again ---- */

/* A round of one config, given by its number in the space (0: the default), with its time; 0: the
 * config was unstable. */
struct past {
    int number;
    double ms;
    bool remeasures;
};

/* Config `number`: 0 is the default, the others follow in the space's order. */
static struct perf_config config_of(const struct job *job, const struct target *target, int number)
{
    const struct solver *solver = solver_find(SOLVER);
    struct perf_config usual, config;
    struct context context;
    struct space_walk walk;
    context_init(&context, target);
    solver->default_config(&job->problem, &context, &usual);
    config = usual;
    space_walk_init(&walk, solver_space(solver, &job->problem, &context), &job->problem, &context);
    while (number > 0 && space_walk_next(&walk, &config))
        number -= !perf_config_equal(&config, &usual);
    g_assert_cmpint(number, ==, 0);
    return config;
}

static int number_of(const struct job *job, const struct target *target,
                     const struct perf_config *config)
{
    for (int number = 0;; number++) {
        struct perf_config other = config_of(job, target, number);
        if (perf_config_equal(&other, config))
            return number;
    }
}

static struct job *make_past(const struct target *target, const struct past *past, int count)
{
    struct job *job = make_job(target);
    g_ptr_array_set_size(job->rounds, 0);
    for (int i = 0; i < count; i++) {
        struct round *round = round_new(1);
        round->number = i;
        round->remeasures = past[i].remeasures;
        round->configs[0] = config_of(job, target, past[i].number);
        round->kernel_keys[0] = g_strdup("key");
        round->outcomes[0] = (struct outcome){
            .failure = past[i].ms > 0 ? FAILURE_NONE : FAILURE_UNSTABLE,
            .n = 9,
            .min_ms = past[i].ms,
            .median_ms = past[i].ms,
        };
        g_ptr_array_add(job->rounds, round);
    }
    return job;
}

/* The kept results as "NUMBER:TIME" pairs, the best first. */
static char *kept_text(const struct past *past, int count, const int *wish, int wished)
{
    struct target target;
    struct work work;
    g_autoptr(GPtrArray) none = g_ptr_array_new();
    g_assert_true(target_parse(TARGET, &target, NULL));
    struct job *job = make_past(&target, past, count);
    if (wished > 0)
        job->wish = g_array_new(FALSE, TRUE, sizeof(struct perf_config));
    job->wish_keeps_all = wished > 0;
    for (int i = 0; i < wished; i++) {
        struct perf_config config = config_of(job, &target, wish[i]);
        g_array_append_val(job->wish, config);
    }
    work_init(&work, job, &target, POOL_BUILD, none);
    g_autoptr(GArray) kept = work_kept(&work);
    GString *text = g_string_new(NULL);
    for (guint i = 0; i < kept->len; i++) {
        const struct kept *one = &g_array_index(kept, struct kept, i);
        int number = number_of(job, &target, &one->config);
        g_string_append_printf(text, "%s%d:%g", i > 0 ? " " : "", number, one->outcome.median_ms);
        g_assert_cmpint(one->is_default, ==, number == 0);
    }
    work_clear(&work);
    return g_string_free(text, FALSE);
}

#define KEPT(PAST) kept_text(PAST, G_N_ELEMENTS(PAST), NULL, 0)

/* The campaign then needs one verified config of the problem. */
static void a_first_round_after_the_budget_tries_the_default_config(void)
{
    struct target target;
    struct perf_config usual;
    g_assert_true(target_parse(TARGET, &target, NULL));
    for (int spent = 0; spent <= 1; spent++) {
        struct work work;
        struct job *job = make_job(&target);
        usual = ((struct round *)job->rounds->pdata[0])->configs[0];
        g_ptr_array_set_size(job->rounds, 0);
        job->round_configs = 4;
        job->budget_spent = spent;
        g_autoptr(GPtrArray) quarantine = g_ptr_array_new();
        work_init(&work, job, &target, POOL_BUILD, quarantine);
        g_assert_null(work.refusal);
        g_assert_true(work_propose(&work));
        g_assert_cmpint(work.round->config_count, ==, spent ? 1 : 4);
        g_assert_true(perf_config_equal(&work.round->configs[0], &usual));
        work_clear(&work);
    }
}

static void of_several_measurements_the_newest_counts(void)
{
    static const struct past lucky[] = {{1, 1, false}, {2, 3, false}, {1, 4, true}};
    static const struct past slower[] = {{0, 5, false}, {1, 3, false}, {0, 6, false}};
    static const struct past failed[] = {{1, 1, false}, {2, 3, false}, {1, 0, true}};
    static const struct past restless[] = {{0, 5, false}, {1, 3, false}, {0, 0, false}};
    static const struct past twice[] = {{1, 1, false}, {1, 0, true}, {1, 2, true}};
    g_autofree char *a = KEPT(lucky), *b = KEPT(slower), *c = KEPT(failed), *d = KEPT(restless),
                    *e = KEPT(twice);
    g_assert_cmpstr(a, ==, "2:3 1:4");
    g_assert_cmpstr(b, ==, "1:3 0:6");
    g_assert_cmpstr(c, ==, "2:3");
    /* In a search, an unstable repetition of the default config does not replace its earlier
     * time. */
    g_assert_cmpstr(d, ==, "1:3 0:5");
    g_assert_cmpstr(e, ==, "1:2");
}

static void a_wish_may_keep_more_than_the_best(void)
{
    static const struct past past[] = {{0, 9, true}, {1, 1, true}, {2, 2, true},
                                       {3, 3, true}, {4, 4, true}, {5, 5, true}};
    g_autofree char *best = KEPT(past);
    g_autofree char *wished = kept_text(past, G_N_ELEMENTS(past), (const int[]){5}, 1);
    g_assert_cmpstr(best, ==, "1:1 2:2 3:3 4:4 0:9");
    g_assert_cmpstr(wished, ==, "1:1 2:2 3:3 4:4 5:5 0:9");
}

static void what_is_wished_is_the_next_round_after_the_default(void)
{
    static const struct past past[] = {{0, 5, false}, {1, 3, false}};
    struct target target;
    struct work work;
    g_autoptr(GPtrArray) none = g_ptr_array_new();
    g_assert_true(target_parse(TARGET, &target, NULL));
    for (int with_default = 0; with_default < 2; with_default++) {
        struct job *job = make_past(&target, past, G_N_ELEMENTS(past));
        job->wish = g_array_new(FALSE, TRUE, sizeof(struct perf_config));
        for (int i = 0; i < 1 + with_default; i++) {
            struct perf_config config = config_of(job, &target, i == 0 ? 1 : 0);
            g_array_append_val(job->wish, config);
        }
        work_init(&work, job, &target, POOL_BUILD, none);
        g_assert_true(work_propose(&work));
        g_assert_cmpint(work.round->number, ==, 2);
        g_assert_true(work.round->remeasures);
        g_assert_cmpint(work.round->config_count, ==, 2);
        g_assert_cmpint(work_default_index(&work), ==, with_default);
        g_assert_cmpint(number_of(job, &target, &work.round->configs[1 - with_default]), ==, 1);
        enum search_end end;
        g_assert_false(work_more(&work, 0, &end));
        work_clear(&work);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/work/a_job_close_to_its_problems_best_goes_on",
                    a_job_close_to_its_problems_best_goes_on);
    g_test_add_func("/work/proposals_keep_to_the_campaigns_limits",
                    proposals_keep_to_the_campaigns_limits);
    g_test_add_func("/job_work/quarantine/concerns_the_same_solver_as_it_was_then",
                    quarantine_concerns_the_same_solver_as_it_was_then);
    g_test_add_func("/job_work/a_first_round_after_the_budget_tries_the_default_config",
                    a_first_round_after_the_budget_tries_the_default_config);
    g_test_add_func("/job_work/of_several_measurements_the_newest_counts",
                    of_several_measurements_the_newest_counts);
    g_test_add_func("/job_work/a_wish_may_keep_more_than_the_best",
                    a_wish_may_keep_more_than_the_best);
    g_test_add_func("/job_work/what_is_wished_is_the_next_round_after_the_default",
                    what_is_wished_is_the_next_round_after_the_default);
    return g_test_run();
}
