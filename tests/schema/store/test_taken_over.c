/* Campaigns take over configs that earlier ones measured, and each job says why it is tuned again. */
#include "schema/store/store_campaigns.h"
#include "schema/store/store_kernels.h"
#include "schema/store/store_private.h"
#include "schema/store/store_queue.h"
#include "tests/support/farm/queue_farm.h"

#include <string.h>

static void execute(struct farm *farm, const char *sql)
{
    g_autoptr(GError) error = NULL;
    g_assert_true(store_do(farm->store, &error, sql, ""));
    g_assert_no_error(error);
}

static int64_t ask(struct farm *farm, const char *sql, int64_t campaign)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(StoreRows) rows = store_read(farm->store, &error, sql, "l", campaign);
    g_assert_no_error(error);
    return g_ascii_strtoll(PQgetvalue(rows, 0, 0), NULL, 10);
}

/* Asserts of the campaign's first job: the reason why it is tuned, the campaign that the reason
 * refers to, and the number of configs taken over. */
static void expect_origin(struct farm *farm, int64_t campaign, enum job_reason reason,
                          int64_t source, int configs)
{
    g_autoptr(GPtrArray) rows = NULL;
    const struct job_row *job = farm_job_row(farm, campaign, 0, &rows);
    g_assert_cmpstr(job_reason_name(job->reason), ==, job_reason_name(reason));
    g_assert_cmpint(job->source, ==, source);
    g_assert_cmpint(job->configs_taken, ==, configs);
}

/* Claims the only claimable job, which must not be of the first campaign, and returns it with its
 * earlier rounds. */
static struct job *claim_of(struct farm *farm, int64_t campaign)
{
    execute(farm, "UPDATE campaigns SET priority = id");
    struct job *job = farm_claim_one(farm, 0, POOL_BUILD);
    g_assert_nonnull(job);
    g_assert_cmpint(job->campaign, ==, campaign);
    return job;
}

/* Works two rounds of two configs, after which the budget ends the job. */
static void cut_by_budget(struct farm *farm)
{
    farm_init(farm,
              &(struct order){.jobs = 1, .seed = 1, .configs_limit = 9, .budget_seconds = 10});
    farm_work(farm, 0, true, 5);
    farm_work(farm, 1, true, 6);
    farm_expect_campaign(farm, farm->campaign, "done");
}

static void what_a_budget_cut_short_goes_on_where_it_was(void)
{
    struct farm farm;
    g_autoptr(GError) error = NULL;
    struct job_origins origins;
    bool known = false;
    int reused = -1;
    cut_by_budget(&farm);
    int64_t next =
        farm_create(farm.store, &(struct order){.jobs = 2, .seed = 1, .configs_limit = 9}, &reused);
    g_assert_cmpint(reused, ==, 0);
    expect_origin(&farm, next, JOB_REASON_BUDGET_CUT, farm.campaign, 4);
    g_assert_true(store_count_origins(farm.store, next, &origins, &known, &error));
    g_assert_true(known);
    g_assert_cmpint(origins.jobs[JOB_REASON_BUDGET_CUT], ==, 1);
    g_assert_cmpint(origins.jobs[JOB_REASON_NEW_PROBLEM], ==, 1);
    g_assert_cmpint(origins.configs, ==, 4);

    /* a job's first round comes before other jobs' later rounds */
    struct job *job = farm_claim_one(&farm, 0, POOL_BUILD);
    g_assert_cmpint(job->problem.c, ==, 16);
    g_assert_cmpuint(job->rounds->len, ==, 0);
    job_free(job);
    job = farm_claim_one(&farm, 0, POOL_BUILD);
    g_assert_cmpint(job->problem.c, ==, 8);
    g_assert_cmpuint(job->rounds->len, ==, 2);
    for (guint i = 0; i < 2; i++) {
        const struct round *round = job->rounds->pdata[i];
        g_assert_cmpint(round->config_count, ==, 2);
        g_assert_cmpint(round->configs[0].values[0], ==, (int)i);
        g_assert_cmpint(round->configs[1].values[1], ==, 1);
        g_assert_cmpint(round->outcomes[0].failure, ==, FAILURE_NONE);
        g_assert_cmpfloat(round->outcomes[0].median_ms, ==, 2.0 + i);
        g_assert_cmpint(round->outcomes[1].failure, ==, FAILURE_WRONG_RESULT);
        g_assert_cmpstr(round->details[1], ==, "differs at \"3\"");
        g_assert_cmpstr(round->stack, ==, "clang 15.0.6");
        g_assert_false(round->beyond_limit);
    }
    farm_built(&farm, job, 2);
    job_free(job);
    job = farm_claim_one(&farm, 0, POOL_EVAL);
    farm_round(&farm, job, 2, false, 1);
    job_free(job);

    struct progress progress;
    g_assert_true(store_progress(farm.store, next, &progress, &error));
    g_assert_cmpint(progress.configs_done, ==, 6);
    g_assert_cmpint(progress.configs_taken, ==, 4);
    farm_change(&farm, "drop");
    g_autoptr(GPtrArray) results = store_list_results(farm.store, next, &error);
    g_assert_cmpuint(results->len, ==, 1);
    farm_clear(&farm);
}

/* A search with another seed tries other configs. It uses the first search's outcomes, which do not
 * count against its own limit of configs. */
static void another_search_knows_what_was_measured(void)
{
    static const struct order others[] = {
        {.jobs = 1, .seed = 2, .configs_limit = 9},
        {.jobs = 1, .seed = 1, .configs_limit = 9, .strategy = "local"},
    };
    struct farm farm;
    cut_by_budget(&farm);
    for (size_t i = 0; i < G_N_ELEMENTS(others); i++) {
        int64_t next = farm_create(farm.store, &others[i], NULL);
        struct job *job = claim_of(&farm, next);
        g_assert_cmpuint(job->rounds->len, ==, 2);
        g_assert_true(((const struct round *)job->rounds->pdata[0])->beyond_limit);
        job_free(job);
    }
    farm_clear(&farm);
}

/* A job is done without a round of its own if its search has nothing left to try. */
static void kept_results_are_there_without_a_round(void)
{
    struct farm farm;
    g_autoptr(GError) error = NULL;
    cut_by_budget(&farm);
    int64_t next = farm_create(farm.store, &(struct order){.jobs = 1, .seed = 2}, NULL);
    struct job *job = claim_of(&farm, next);
    g_assert_true(store_finish_job(farm.store, job, SEARCH_SPACE_TRIED, &error));
    g_assert_no_error(error);
    job_free(job);
    farm_expect_campaign(&farm, next, "done");
    g_autoptr(GPtrArray) results = store_list_results(farm.store, next, &error);
    g_assert_cmpuint(results->len, ==, 1);
    const struct result *result = results->pdata[0];
    g_assert_cmpstr(result->kept.config_text, ==, "1,0");
    g_assert_cmpfloat(result->kept.outcome.median_ms, ==, 3);
    farm_clear(&farm);
}

/* Each config is taken over once, from the newest campaign that measured it. */
static void several_campaigns_add_up(void)
{
    struct farm farm;
    cut_by_budget(&farm);
    execute(&farm, "DELETE FROM rounds WHERE number = 1");
    execute(&farm, "UPDATE results SET config = '{0,0}', median_ms = 2");
    int64_t second = farm_create(farm.store, &(struct order){.jobs = 1, .seed = 2}, NULL);
    struct job *job = claim_of(&farm, second);
    farm_built(&farm, job, 1);
    job_free(job);
    job = farm_claim_one(&farm, 0, POOL_EVAL);
    farm_round(&farm, job, 1, true, 1);
    job_free(job);
    execute(
        &farm,
        "UPDATE outcomes SET median_ms = '{9,0}' WHERE number = 0 AND campaign_id = (SELECT min(id) FROM campaigns)");
    int64_t third = farm_create(farm.store, &(struct order){.jobs = 1, .seed = 3}, NULL);
    expect_origin(&farm, third, JOB_REASON_BUDGET_CUT, farm.campaign, 4);
    g_assert_cmpint(ask(&farm, "SELECT count(*) FROM outcomes WHERE campaign_id = $1", third), ==,
                    2);
    g_assert_cmpint(ask(&farm, "SELECT sum(evaluated) FROM outcomes WHERE campaign_id = $1", third),
                    ==, 4);
    g_assert_cmpint(
        ask(&farm, "SELECT count(*) FROM outcomes WHERE campaign_id = $1 AND 9 = ANY (median_ms)",
            third),
        ==, 0);
    farm_clear(&farm);
}

/* Configs that another search took over in between still count for the limit of the search that tried
 * them, also after the campaign that measured them was dropped. */
static void what_was_taken_over_is_taken_over_again(void)
{
    static const struct {
        int64_t seed;
        bool beyond_limit;
    } cases[] = {{2, true}, {1, false}, {2, true}, {3, true}, {1, false}};
    struct farm farm;
    cut_by_budget(&farm);
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        if (i == 3)
            farm_change(&farm, "drop");
        const struct order order = {.jobs = 1, .seed = cases[i].seed, .configs_limit = 9};
        int64_t next = farm_create(farm.store, &order, NULL);
        struct job *job = claim_of(&farm, next);
        g_assert_cmpuint(job->rounds->len, ==, 2);
        for (guint r = 0; r < job->rounds->len; r++)
            g_assert_true(((const struct round *)job->rounds->pdata[r])->beyond_limit ==
                          cases[i].beyond_limit);
        job_free(job);
    }
    farm_clear(&farm);
}

static void what_cannot_be_trusted_is_measured_again(void)
{
    static const struct {
        const char *damage;
        enum job_reason reason;
        int configs, drifted;
    } cases[] = {
        {"UPDATE outcomes SET drift = 1.3", JOB_REASON_BUDGET_CUT, 2, 2},
        {"UPDATE outcomes SET drift = 0.5 WHERE number = 1", JOB_REASON_BUDGET_CUT, 2, 1},
        {"UPDATE outcomes SET drift = 1.1", JOB_REASON_BUDGET_CUT, 4, 0},
        {"UPDATE outcomes SET failures = '{0,12}'", JOB_REASON_BUDGET_CUT, 2, 0}, /* unstable */
        {"UPDATE outcomes SET failures = '{0,7}'", JOB_REASON_BUDGET_CUT, 2, 0},  /* device fault */
        {"UPDATE outcomes SET failures = '{0,2}'", JOB_REASON_BUDGET_CUT, 4, 0}, /* compile error */
        {"UPDATE outcomes SET is_open = true WHERE number = 1", JOB_REASON_BUDGET_CUT, 1, 0},
        {"UPDATE outcomes SET stack = 'clang 14' WHERE number = 0", JOB_REASON_BUDGET_CUT, 2, 0},
        {"DELETE FROM results", JOB_REASON_BUDGET_CUT, 2, 0},
        {"DELETE FROM job_ends", JOB_REASON_UNFINISHED, 4, 0},
        {"UPDATE job_ends SET by_budget = false", JOB_REASON_OTHER_SEARCH, 4, 0},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        struct farm farm;
        cut_by_budget(&farm);
        execute(&farm, cases[i].damage);
        g_test_message("%s", cases[i].damage);
        int64_t next = farm_create(farm.store,
                                   &(struct order){.jobs = 1, .seed = 2, .configs_limit = 2}, NULL);
        expect_origin(&farm, next, cases[i].reason, farm.campaign, cases[i].configs);
        struct job_origins origins;
        bool known;
        g_assert_true(store_count_origins(farm.store, next, &origins, &known, NULL));
        g_assert_cmpint(origins.drifted, ==, cases[i].drifted);
        farm_clear(&farm);
    }
}

/* Kept results have code, unless it was lost; verified configs that were not kept have none. A
 * result without code is not taken over. */
static void what_lost_its_code_is_not_taken_over(void)
{
    struct farm farm;
    g_autoptr(GError) error = NULL;
    char key[65], file[] = "a.cl";
    struct kernel_row kernel = {.key = key, .file = file, .code = g_bytes_new("code", 4)};
    const struct order order = {.jobs = 1, .seed = 1, .configs_limit = 3};
    farm_init(&farm, &order);
    farm_work(&farm, 0, true, 5);
    farm_work(&farm, 1, false, 5);
    for (int i = 0; i < 2; i++) {
        g_snprintf(key, sizeof key, "%064d", i);
        g_assert_true(store_put_kernel(farm.store, &kernel, &error));
    }
    g_bytes_unref(kernel.code);
    execute(&farm, "UPDATE kernels SET code = NULL, code_place = NULL WHERE key LIKE '%1'");
    int64_t next = farm_create(farm.store, &order, NULL);
    /* both wrong configs are taken over; the verified ones lost their code */
    expect_origin(&farm, next, JOB_REASON_LOST_CODE, farm.campaign, 2);
    struct job *job = claim_of(&farm, next);
    g_assert_cmpuint(job->rounds->len, ==, 2);
    g_assert_cmpint(((const struct round *)job->rounds->pdata[0])->config_count, ==, 1);
    g_assert_cmpint(((const struct round *)job->rounds->pdata[0])->configs[0].values[1], ==, 1);
    job_free(job);
    farm_clear(&farm);
}

static void reasons_tell_what_was_there_before(void)
{
    struct farm farm;
    cut_by_budget(&farm);
    int64_t first = farm.campaign;
    int64_t same =
        farm_create(farm.store, &(struct order){.jobs = 1, .seed = 1, .configs_limit = 4}, NULL);
    expect_origin(&farm, same, JOB_REASON_BUDGET_CUT, first, 4);
    int64_t stack = farm_create(
        farm.store, &(struct order){.jobs = 1, .seed = 1, .stack = "clang >= 19"}, NULL);
    expect_origin(&farm, stack, JOB_REASON_OTHER_STACK, same, 0);
    int64_t revision =
        farm_create(farm.store, &(struct order){.jobs = 1, .seed = 1, .revision = 2}, NULL);
    expect_origin(&farm, revision, JOB_REASON_NEW_REVISION, stack, 0);
    execute(&farm, "UPDATE solvers SET name = 'ConvOther'");
    int64_t solver =
        farm_create(farm.store, &(struct order){.jobs = 1, .seed = 5, .revision = 2}, NULL);
    expect_origin(&farm, solver, JOB_REASON_NEW_SOLVER, revision, 0);
    int64_t built = farm_create(
        farm.store, &(struct order){.jobs = 1, .seed = 1, .build_only = true, .revision = 3}, NULL);
    g_autoptr(GPtrArray) rows = NULL;
    g_assert_cmpint(farm_job_row(&farm, built, 0, &rows)->reason, ==, JOB_REASON_UNKNOWN);
    int64_t after =
        farm_create(farm.store, &(struct order){.jobs = 1, .seed = 1, .revision = 3}, NULL);
    expect_origin(&farm, after, JOB_REASON_ONLY_BUILT, built, 0);
    farm_clear(&farm);
}

/* Constraints that are spelled differently but mean the same software are equal. */
static void finished_jobs_answer_where_their_stack_is_admitted(void)
{
    static const struct {
        const char *stack;
        int reused;
    } cases[] = {{"clang >= 15", 1}, {"clang 15.0", 1}, {"clang >= 16", 0}, {"", 1}};
    struct farm farm;
    farm_init(&farm, &(struct order){.jobs = 1, .seed = 1});
    farm_work(&farm, 0, false, 1);
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        int reused = -1;
        int64_t next = farm_create(
            farm.store, &(struct order){.jobs = 1, .seed = 1, .stack = cases[i].stack}, &reused);
        g_assert_cmpint(reused, ==, cases[i].reused);
        if (cases[i].reused)
            expect_origin(&farm, next, JOB_REASON_ANSWERED, next - 1 - (i == 3), 0);
    }
    farm_clear(&farm);
}

/* Results that were kept state their workspace (4096 bytes); that of other configs is unknown. */
static void configs_within_a_smaller_workspace_come(void)
{
    static const struct {
        uint64_t bytes;
        int configs;
    } cases[] = {{1000, 2}, {4096, 3}, {100000, 3}};
    struct farm farm;
    cut_by_budget(&farm);
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        const struct order order = {
            .jobs = 1,
            .seed = 1,
            .limits = {.limits_workspace = true, .workspace_bytes = cases[i].bytes}};
        int64_t next = farm_create(farm.store, &order, NULL);
        g_autoptr(GPtrArray) rows = NULL;
        g_assert_cmpint(farm_job_row(&farm, next, 0, &rows)->configs_taken, ==, cases[i].configs);
    }
    farm_clear(&farm);
}

/* The login that measured a result is taken over with it, since the result is as trustworthy as
 * that login. */
static void who_measured_comes_along(void)
{
    struct farm farm;
    cut_by_budget(&farm);
    int64_t next = farm_create(farm.store, &(struct order){.jobs = 1, .seed = 2}, NULL);
    int64_t before =
        ask(&farm, "SELECT sum(rounds) FROM job_workers WHERE campaign_id = $1", farm.campaign);
    g_assert_cmpint(before, ==, 2);
    g_assert_cmpint(ask(&farm, "SELECT sum(rounds) FROM job_workers WHERE campaign_id = $1", next),
                    ==, before);
    farm_clear(&farm);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } tests[] = {
        {"what_a_budget_cut_short_goes_on_where_it_was",
         what_a_budget_cut_short_goes_on_where_it_was},
        {"another_search_knows_what_was_measured", another_search_knows_what_was_measured},
        {"kept_results_are_there_without_a_round", kept_results_are_there_without_a_round},
        {"several_campaigns_add_up", several_campaigns_add_up},
        {"what_was_taken_over_is_taken_over_again", what_was_taken_over_is_taken_over_again},
        {"what_cannot_be_trusted_is_measured_again", what_cannot_be_trusted_is_measured_again},
        {"what_lost_its_code_is_not_taken_over", what_lost_its_code_is_not_taken_over},
        {"reasons_tell_what_was_there_before", reasons_tell_what_was_there_before},
        {"finished_jobs_answer_where_their_stack_is_admitted",
         finished_jobs_answer_where_their_stack_is_admitted},
        {"configs_within_a_smaller_workspace_come", configs_within_a_smaller_workspace_come},
        {"who_measured_comes_along", who_measured_comes_along},
    };
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    for (size_t i = 0; i < G_N_ELEMENTS(tests); i++) {
        g_autofree char *path = g_strconcat("/taken_over/", tests[i].name, NULL);
        g_test_add_func(path, tests[i].run);
    }
    return g_test_run();
}
