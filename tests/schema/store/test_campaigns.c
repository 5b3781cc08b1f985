/* Campaigns against a real PostgreSQL: how they end, what they share, what they leave. */
#include "schema/store/store_campaigns.h"
#include "schema/store/store_events.h"
#include "schema/store/store_kernels.h"
#include "schema/store/store_private.h"
#include "schema/store/store_workers.h"
#include "tests/support/farm/queue_farm.h"

#include <locale.h>
#include <string.h>

static const struct problem_part all_problems = PROBLEM_PART_ALL;

/* ---- ends ---- */

static void test_job_without_a_verified_config_fails_with_the_commonest_failure(void)
{
    struct farm farm;
    g_autoptr(GError) error = NULL;
    farm_init(&farm, &(struct order){.jobs = 1});
    struct job *job = farm_claim_one(&farm, 0, POOL_BUILD);
    farm_built(&farm, job, 0);
    job_free(job);
    job = farm_claim_one(&farm, 0, POOL_EVAL);
    struct round *round = farm_make_round(0);
    round->outcomes[0].failure = round->outcomes[1].failure = FAILURE_OUT_OF_BOUNDS;
    g_assert_true(store_round(farm.store, job, round, NULL, 0, false, 1, &error));
    g_assert_no_error(error);
    round_free(round);
    job_free(job);
    farm_expect_job(&farm, "failed", 0, FAILURE_OUT_OF_BOUNDS);
    farm_expect_campaign(&farm, farm.campaign, "done");
    farm_change(&farm, "retry");
    farm_expect_job(&farm, "ready", 0, FAILURE_NONE);
    farm_expect_campaign(&farm, farm.campaign, "active");
    job = farm_claim_one(&farm, 0, POOL_BUILD);
    g_assert_true(store_fail_job(farm.store, job, FAILURE_COMPILE_ERROR, "no \xfe", &error));
    farm_expect_job(&farm, "failed", 0, FAILURE_COMPILE_ERROR);
    job_free(job);
    farm_clear(&farm);
}

static void test_failed_jobs_are_counted_by_reason(void)
{
    static const struct {
        enum failure failure;
        const char *detail;
    } failed[] = {{FAILURE_COMPILE_ERROR, "first"},
                  {FAILURE_WRONG_RESULT, NULL},
                  {FAILURE_COMPILE_ERROR, "last"}};
    struct farm farm;
    g_autoptr(GError) error = NULL;
    farm_init(&farm, &(struct order){.jobs = 4});
    for (gsize i = 0; i < G_N_ELEMENTS(failed); i++) {
        struct job *job = farm_claim_one(&farm, 0, POOL_BUILD);
        store_fail_job(farm.store, job, failed[i].failure, failed[i].detail, &error);
        g_assert_no_error(error);
        job_free(job);
    }
    g_autoptr(GPtrArray) rows = store_list_job_failures(farm.store, farm.campaign, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(rows->len, ==, 2);
    const struct job_failures *compile = rows->pdata[0], *wrong = rows->pdata[1];
    g_assert_cmpint(compile->failure, ==, FAILURE_COMPILE_ERROR);
    g_assert_cmpint(compile->jobs, ==, 2);
    g_assert_cmpstr(compile->detail, ==, "last");
    g_assert_cmpint(wrong->failure, ==, FAILURE_WRONG_RESULT);
    g_assert_cmpint(wrong->jobs, ==, 1);
    g_assert_cmpstr(wrong->detail, ==, NULL);
    farm_clear(&farm);
}

static void test_spent_budget_gives_out_first_rounds_only(void)
{
    struct farm farm;
    g_autoptr(GError) error = NULL;
    farm_init(&farm, &(struct order){.jobs = 3, .budget_seconds = 10});
    farm_work(&farm, 0, true, 6);
    farm_work(&farm, 0, true, 6);
    farm_expect_job(&farm, "ready", 0, FAILURE_NONE);
    struct job *job = farm_claim_one(&farm, 0, POOL_BUILD);
    g_assert_cmpint(job->problem.c, ==, 24);
    farm_expect_job(&farm, "done", 0, FAILURE_NONE);
    farm_built(&farm, job, 0);
    job_free(job);
    job = farm_claim_one(&farm, 0, POOL_EVAL);
    farm_round(&farm, job, 0, true, 1);
    job_free(job);
    farm_expect_campaign(&farm, farm.campaign, "done");
    g_assert_null(farm_claim_one(&farm, 0, POOL_BUILD));

    g_assert_true(store_set_campaign(farm.store, farm.campaign,
                                     &(struct campaign_changes){.budget_seconds = &(double){20}},
                                     &error));
    g_assert_no_error(error);
    farm_expect_campaign(&farm, farm.campaign, "active");
    g_autoptr(GPtrArray) jobs = farm_claim(farm.store, farm.workers[0], POOL_BUILD, 9, 60);
    /* all three are open, and no more than two are built ahead of one device */
    g_assert_cmpuint(jobs->len, ==, 2);
    struct campaign *campaign = store_get_campaign(farm.store, farm.campaign, &error);
    g_assert_no_error(error);
    g_assert_cmpint(campaign->jobs_open, ==, 3);
    campaign_free(campaign);
    farm_clear(&farm);
}

static void test_build_only_campaign_is_done_when_built(void)
{
    struct farm farm;
    farm_init(&farm, &(struct order){.jobs = 1, .build_only = true});
    struct job *job = farm_claim_one(&farm, 0, POOL_BUILD);
    g_assert_true(job->build_only);
    farm_built(&farm, job, 0);
    farm_built(&farm, job, 0);
    job_free(job);
    farm_expect_job(&farm, "done", 0, FAILURE_NONE);
    farm_expect_campaign(&farm, farm.campaign, "done");
    farm_clear(&farm);
}

/* Each kernel is listed once, also if several configs use it, and no kernel of another campaign. */
static void test_kernels_of_a_campaign_are_listed(void)
{
    struct farm farm;
    g_autoptr(GError) error = NULL;
    char key[65], text[] = "t", file[] = "b.cl", earlier[] = "a.cl";
    farm_init(&farm, &(struct order){.jobs = 1, .build_only = true});
    struct job *job = farm_claim_one(&farm, 0, POOL_BUILD);
    for (int i = 0; i < 3; i++) {
        struct kernel_row row = {.key = key,
                                 .file = i == 1 ? earlier : file,
                                 .log = text,
                                 .registers = 100 + i,
                                 .code = g_bytes_new("code", 4)};
        g_snprintf(key, sizeof key, "%064d", i);
        g_assert_true(store_put_kernel(farm.store, &row, &error));
        g_bytes_unref(row.code);
    }
    /* the first config needs kernel 0 alone, the second kernels 0 and 1 */
    farm_built(&farm, job, 0);
    g_autoptr(GPtrArray) kernels = store_list_kernels(farm.store, farm.campaign, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(kernels->len, ==, 2);
    const struct kernel_row *first = kernels->pdata[0], *second = kernels->pdata[1];
    g_assert_cmpstr(first->file, ==, "a.cl");
    g_assert_cmpint(first->registers, ==, 101);
    g_assert_cmpint(second->registers, ==, 100);
    g_autoptr(GPtrArray) none = store_list_kernels(farm.store, farm.campaign + 1, &error);
    g_assert_cmpuint(none->len, ==, 0);
    job_free(job);
    farm_clear(&farm);
}

/* More jobs than one call of settling examines. */
static void test_last_job_of_many_ends_the_campaign(void)
{
    struct farm farm;
    g_autoptr(GError) error = NULL;
    struct progress progress;
    farm_init(&farm, &(struct order){.jobs = 70});
    for (int i = 0; i < 70; i++) {
        farm_expect_campaign(&farm, farm.campaign, "active");
        farm_work(&farm, 0, false, 0.5);
    }
    farm_expect_campaign(&farm, farm.campaign, "done");
    g_assert_true(store_add_spent(farm.store, farm.campaign, 1, &error));
    g_assert_true(store_progress(farm.store, farm.campaign, &progress, &error));
    g_assert_no_error(error);
    g_assert_cmpfloat(progress.spent_seconds, ==, 36);
    farm_clear(&farm);
}

/* The state that a race can leave: no job is open, and no call has ended the campaign. The next
 * claim ends it. */
static void test_claim_ends_a_campaign_that_nobody_settled(void)
{
    struct farm farm;
    g_autoptr(GError) error = NULL;
    farm_init(&farm, &(struct order){.jobs = 1});
    farm_work(&farm, 0, false, 1);
    g_assert_true(store_do(farm.store, &error, "UPDATE campaigns SET state = 'active'", ""));
    g_assert_null(farm_claim_one(&farm, 0, POOL_EVAL));
    farm_expect_campaign(&farm, farm.campaign, "done");
    farm_clear(&farm);
}

static void test_paused_campaign_gives_out_nothing(void)
{
    struct farm farm;
    g_autoptr(GError) error = NULL;
    farm_init(&farm, &(struct order){.jobs = 2});
    struct job *job = farm_claim_one(&farm, 0, POOL_BUILD);
    farm_change(&farm, "pause");
    g_assert_null(farm_claim_one(&farm, 1, POOL_BUILD));
    farm_built(&farm, job, 0);
    g_assert_false(store_change_campaign(farm.store, farm.campaign, "pause", &error));
    g_assert_error(error, STORE_ERROR, STORE_ERROR_STATE);
    g_clear_error(&error);
    farm_change(&farm, "resume");
    struct job *other = farm_claim_one(&farm, 1, POOL_BUILD);
    g_assert_nonnull(other);
    farm_change(&farm, "cancel");
    g_assert_false(farm_try_built(&farm, other, 0, &error));
    g_assert_error(error, STORE_ERROR, STORE_ERROR_STATE);
    g_clear_error(&error);
    farm_expect_job(&farm, "cancelled", 0, FAILURE_NONE);
    g_assert_null(store_find_campaign(farm.store, "id", &error));
    g_assert_no_error(error);
    farm_change(&farm, "drop");
    g_assert_false(farm_try_built(&farm, other, 0, &error));
    g_assert_error(error, STORE_ERROR, STORE_ERROR_NOT_FOUND);
    job_free(job);
    job_free(other);
    farm_clear(&farm);
}

static void expect_limits(const struct context_limits *are, const struct context_limits *should)
{
    g_autofree char *text = context_limits_text(are);
    g_test_message("%s", text ? text : "no limits");
    g_assert_true(context_limits_equal(are, should));
}

/* Planning, building and evaluating ask solvers under the same limits. */
static void test_jobs_carry_their_campaigns_limits(void)
{
    static const struct context_limits cases[] = {
        {0},
        {.limits_workspace = true, .workspace_bytes = 0},
        {.limits_workspace = true, .workspace_bytes = INT64_MAX, .dynamic_only = true},
        {.deterministic = true, .tunable_only = true},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        struct farm farm;
        g_autoptr(GError) error = NULL;
        farm_init(&farm, &(struct order){.jobs = 1, .limits = cases[i]});
        struct campaign *campaign = store_get_campaign(farm.store, farm.campaign, &error);
        g_assert_no_error(error);
        expect_limits(&campaign->limits, &cases[i]);
        campaign_free(campaign);
        g_autoptr(GPtrArray) all = store_list_campaigns(farm.store, &error);
        g_assert_no_error(error);
        expect_limits(&((const struct campaign *)all->pdata[0])->limits, &cases[i]);
        struct job *built = farm_claim_one(&farm, 0, POOL_BUILD);
        expect_limits(&built->limits, &cases[i]);
        farm_built(&farm, built, 0);
        struct job *measured = farm_claim_one(&farm, 1, POOL_EVAL);
        expect_limits(&measured->limits, &cases[i]);
        job_free(built);
        job_free(measured);
        farm_clear(&farm);
    }
}

/* ---- why searches ended ---- */

/* Takes the first claimable job through its only round, after which its search ended for that reason. */
static void work_until(struct farm *farm, enum search_end end)
{
    g_autoptr(GError) error = NULL;
    GError *refused = NULL;
    struct job *job = farm_claim_one(farm, 0, POOL_BUILD);
    g_assert_cmpfloat(job->search_seconds, ==, 2.5);
    g_assert_cmpfloat(job->min_gain, ==, 1);
    g_assert_cmpint(job->close_configs, ==, 12);
    farm_built(farm, job, 0);
    job_free(job);
    job = farm_claim_one(farm, 1, POOL_EVAL);
    g_assert_cmpfloat(job->search_seconds, ==, 2.5);
    g_assert_cmpfloat(job->min_gain, ==, 1);
    g_assert_cmpint(job->close_configs, ==, 12);
    struct round *round = farm_make_round(0);
    farm_evaluate(round, 2);
    struct kept kept = farm_make_kept(round);
    const struct handed handed = {.job = job,
                                  .round = round,
                                  .kept = &kept,
                                  .kept_count = 1,
                                  .more = false,
                                  .end = end,
                                  .seconds = 1};
    g_assert_true(store_round_many(farm->store, &handed, 1, &refused, &error));
    g_assert_no_error(error);
    g_assert_no_error(refused);
    round_free(round);
    job_free(job);
}

static void test_why_searches_ended_is_kept(void)
{
    struct farm farm;
    struct progress progress;
    g_autoptr(GError) error = NULL;
    farm_init(&farm, &(struct order){.jobs = 5,
                                     .configs_limit = 2,
                                     .close_configs = 12,
                                     .search_seconds = 2.5,
                                     .min_gain = 1});
    for (int end = SEARCH_GOES_ON + 1; end < SEARCH_END_COUNT; end++)
        work_until(&farm, (enum search_end)end);
    struct job *job = farm_claim_one(&farm, 0, POOL_BUILD);
    g_assert_cmpfloat(job->best_ms, ==, 0);
    farm_built(&farm, job, 0);
    job_free(job);
    job = farm_claim_one(&farm, 0, POOL_EVAL);
    farm_round(&farm, job, 0, true, 1);
    job_free(job);
    /* This job's search turns out to be over when its next round is built: the claim says the problem's best time. */
    job = farm_claim_one(&farm, 0, POOL_BUILD);
    g_assert_cmpfloat(job->best_ms, >, 0);
    g_assert_true(store_finish_job(farm.store, job, SEARCH_GAIN_SMALL, &error));
    g_assert_no_error(error);
    job_free(job);
    g_assert_true(store_progress(farm.store, farm.campaign, &progress, &error));
    for (int end = SEARCH_GOES_ON + 1; end < SEARCH_END_COUNT; end++)
        g_assert_cmpint(progress.search_ends[end], ==, end == SEARCH_GAIN_SMALL ? 2 : 1);
    g_assert_cmpint(progress.ended_by_budget, ==, 0);
    GPtrArray *rows;
    g_assert_cmpint(farm_job_row(&farm, farm.campaign, 1, &rows)->search_end, ==,
                    SEARCH_GOES_ON + 2);
    g_ptr_array_unref(rows);
    farm_clear(&farm);
}

/* Cases: a search that ended for a reason with two configs, and whether its job answers a search with other limits. A
 * search that goes at least as far answers, and one that tried its whole space, if the other allows so many. */
static void test_a_search_that_ended_sooner_answers_none_that_goes_on(void)
{
    static const struct {
        enum search_end end;
        int configs, close_configs; /* close_configs: of the other search; the first has 12 */
        double seconds, gain;
        int reused;
    } cases[] = {
        {SEARCH_GAIN_SMALL, 9, 12, 2.5, 1, 1},  {SEARCH_GAIN_SMALL, 9, 12, 2.5, 0, 0},
        {SEARCH_GAIN_SMALL, 9, 12, 2.5, 2, 1},  {SEARCH_GAIN_SMALL, 9, 12, 2.5, 0.5, 0},
        {SEARCH_GAIN_SMALL, 9, 12, 2, 1, 1},    {SEARCH_SECONDS_SPENT, 9, 12, 3, 1, 0},
        {SEARCH_SECONDS_SPENT, 9, 12, 0, 1, 0}, {SEARCH_SPACE_TRIED, 9, 12, 0, 0, 1},
        {SEARCH_TRIES_SPENT, 9, 12, 2.5, 1, 1}, {SEARCH_TRIES_SPENT, 9, 13, 2.5, 1, 0},
        {SEARCH_SPACE_TRIED, 9, 0, 2.5, 1, 1},  {SEARCH_SPACE_TRIED, 1, 11, 2.5, 1, 1},
        {SEARCH_SPACE_TRIED, 1, 0, 2.5, 1, 0},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        struct farm farm;
        int reused = -1;
        struct progress progress;
        struct order order = {.jobs = 1,
                              .configs_limit = cases[i].configs,
                              .close_configs = 12,
                              .search_seconds = 2.5,
                              .min_gain = 1};
        farm_init(&farm, &order);
        work_until(&farm, cases[i].end);
        order.close_configs = cases[i].close_configs;
        order.search_seconds = cases[i].seconds;
        order.min_gain = cases[i].gain;
        int64_t next = farm_create(farm.store, &order, &reused);
        g_test_message("case %d", (int)i);
        g_assert_cmpint(reused, ==, cases[i].reused);
        g_assert_true(store_progress(farm.store, next, &progress, NULL));
        g_assert_cmpint(progress.search_ends[cases[i].end], ==, cases[i].reused);
        farm_clear(&farm);
    }
}

/* A result that was chosen among other configs may need more workspace than the campaign allows. */
static void test_results_under_another_limit_are_not_reused(void)
{
    static const struct context_limits other = {.limits_workspace = true, .workspace_bytes = 4096},
                                       equal = {.dynamic_only = true};
    struct order order = {.jobs = 1};
    struct farm farm;
    int reused = -1;
    farm_init(&farm, &order);
    farm_work(&farm, 0, false, 1);
    order.limits = other;
    farm_create(farm.store, &order, &reused);
    g_assert_cmpint(reused, ==, 0);
    order.limits = equal;
    farm_create(farm.store, &order, &reused);
    g_assert_cmpint(reused, ==, 1);
    farm_clear(&farm);
}

static void test_campaign_that_names_a_stack_gets_workers_that_have_it(void)
{
    struct farm farm;
    char name[] = "s", target[] = "gfx90a68", strategy[] = "random";
    char good[] = "clang 15; hip 5.2", bad[] = "clang 1";
    g_autoptr(GError) error = NULL;
    struct job_plan plan = {.solver = "ConvTest",
                            .revision = 1,
                            .hash = "h1",
                            .provider = "test",
                            .algorithm = "Direct",
                            .multiplicity = 1};
    farm_problem(&plan.problem, 8);
    farm_init(&farm, NULL);
    struct campaign campaign = {
        .name = name, .identity = name, .target = target, .stack = bad, .strategy = strategy};
    g_assert_true(store_create_campaign(farm.store, &campaign, &plan, 1, NULL, NULL, &error));
    g_assert_null(farm_claim_one(&farm, 0, POOL_BUILD));
    campaign.stack = good;
    g_assert_true(store_create_campaign(farm.store, &campaign, &plan, 1, NULL, NULL, &error));
    g_assert_no_error(error);
    struct job *job = farm_claim_one(&farm, 0, POOL_BUILD);
    g_assert_nonnull(job);
    g_assert_cmpint(job->campaign, ==, campaign.id);
    struct campaign *found = store_find_campaign(farm.store, name, &error);
    g_assert_cmpint(found->id, ==, campaign.id);
    campaign_free(found);
    job_free(job);
    farm_clear(&farm);
}

static void expect_results(struct farm *farm, int64_t campaign)
{
    g_autoptr(GError) error = NULL;
    int64_t counts[FAILURE_COUNT];
    g_autoptr(GPtrArray) results = store_list_results(farm->store, campaign, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(results->len, ==, 2);
    const struct result *result = results->pdata[0];
    g_assert_cmpint(result->problem.c, ==, 8);
    g_assert_cmpfloat(result->kept.outcome.median_ms, ==, 2.0);
    g_assert_cmpint(result->kept.workspace_bytes, ==, 4096);
    g_assert_cmpstr(result->kept.config_text, ==, "0,0");
    g_assert_cmpstr(result->stack, ==, "clang 15.0.6");
    g_assert_cmpstr(result->algorithm, ==, "Direct");
    g_assert_true(result->kept.is_default);
    g_autoptr(GPtrArray) rejections =
        store_list_part_rejections(farm->store, campaign, &all_problems, &error);
    g_assert_cmpuint(rejections->len, ==, 2);
    const struct config_outcome *rejection = rejections->pdata[0];
    g_assert_cmpstr(rejection->config_text, ==, "0,1");
    g_assert_cmpstr(rejection->detail, ==, "differs at \"3\"");
    g_autoptr(GPtrArray) outcomes = store_list_outcomes(farm->store, campaign, &error);
    g_assert_cmpuint(outcomes->len, ==, 4);
    const struct config_outcome *verified = outcomes->pdata[0];
    g_assert_cmpint(verified->failure, ==, FAILURE_NONE);
    g_assert_cmpint(verified->revision, ==, 1);
    g_assert_cmpint(verified->config.count, ==, 2);
    g_assert_cmpfloat(verified->median_ms, ==, 2.0);
    g_assert_cmpfloat(verified->baseline_ms, ==, 2.0);
    const struct config_outcome *wrong = outcomes->pdata[1];
    g_assert_cmpfloat(wrong->median_ms, ==, 0);
    g_assert_cmpfloat(wrong->baseline_ms, ==, 2.0);
    g_assert_true(store_count_outcomes(farm->store, campaign, counts, &error));
    g_assert_cmpint(counts[FAILURE_NONE], ==, 2);
    g_assert_cmpint(counts[FAILURE_WRONG_RESULT], ==, 2);
}

static void test_second_campaign_takes_over_what_the_first_found(void)
{
    struct farm farm;
    int reused = -1;
    farm_init(&farm, &(struct order){.jobs = 2, .seed = 1, .configs_limit = 2});
    farm_work(&farm, 0, false, 1);
    farm_work(&farm, 0, false, 1);
    expect_results(&farm, farm.campaign);
    int64_t other =
        farm_create(farm.store, &(struct order){.jobs = 2, .seed = 2, .configs_limit = 2}, &reused);
    g_assert_cmpint(reused, ==, 0);
    farm_expect_campaign(&farm, other, "active");
    int64_t larger =
        farm_create(farm.store, &(struct order){.jobs = 3, .seed = 1, .configs_limit = 2}, &reused);
    g_assert_cmpint(reused, ==, 2);
    farm_expect_campaign(&farm, larger, "active");
    expect_results(&farm, larger);
    farm_change(&farm, "drop");
    expect_results(&farm, larger);
    g_autoptr(GPtrArray) rows = NULL;
    g_assert_true(farm_job_row(&farm, larger, 0, &rows)->reused);
    farm_clear(&farm);
}

/* Jobs that a worker's login ended without a round, before finish_job() refused that: they are not
 * taken over. */
static void test_what_ended_without_an_outcome_answers_nobody(void)
{
    struct farm farm;
    g_autoptr(GError) error = NULL;
    int reused = -1;
    const struct order order = {.jobs = 2, .seed = 1};
    farm_init(&farm, &order);
    farm_work(&farm, 0, false, 1);
    store_do(farm.store, &error,
             "INSERT INTO job_ends (campaign_id, job_id, state, rounds, failure, fence)"
             " SELECT campaign_id, job_ids[1], 'done', 0, 0, 0 FROM bundles",
             "");
    g_assert_no_error(error);
    farm_create(farm.store, &order, &reused);
    g_assert_cmpint(reused, ==, 1);
    farm_clear(&farm);
}

/* A job whose result lost its code is not taken over: only a new job can build the code again. */
static void test_what_lost_its_code_is_measured_again(void)
{
    struct farm farm;
    g_autoptr(GError) error = NULL;
    const struct order order = {.jobs = 1, .seed = 1, .configs_limit = 2};
    char key[65], file[] = "a.cl";
    struct kernel_row kernel = {.key = key, .file = file, .code = g_bytes_new("code", 4)};
    int reused = -1;
    farm_init(&farm, &order);
    farm_work(&farm, 0, false, 1);
    g_snprintf(key, sizeof key, "%064d", 0);
    g_assert_true(store_put_kernel(farm.store, &kernel, &error));
    g_bytes_unref(kernel.code);
    farm_create(farm.store, &order, &reused);
    g_assert_cmpint(reused, ==, 1);
    g_assert_true(
        store_do(farm.store, &error, "UPDATE kernels SET code = NULL, code_place = NULL", ""));
    g_assert_no_error(error);
    int64_t again = farm_create(farm.store, &order, &reused);
    g_assert_cmpint(reused, ==, 0);
    farm_expect_campaign(&farm, again, "active");
    farm_clear(&farm);
}

static void test_whole_space_answers_for_every_seed(void)
{
    struct farm farm;
    int reused = -1;
    farm_init(&farm, &(struct order){.jobs = 1, .seed = 1, .configs_limit = 5});
    farm_work(&farm, 0, true, 1);
    farm_work(&farm, 1, false, 1); /* three configs: the default was measured in both rounds */
    farm_create(farm.store, &(struct order){.jobs = 1, .seed = 2, .configs_limit = 2}, &reused);
    g_assert_cmpint(reused, ==, 0);
    farm_create(farm.store, &(struct order){.jobs = 1, .seed = 2, .configs_limit = 3}, &reused);
    g_assert_cmpint(reused, ==, 1);
    farm_create(farm.store, &(struct order){.jobs = 1, .seed = 2}, &reused);
    g_assert_cmpint(reused, ==, 1);
    farm_clear(&farm);
}

/* Cases: a search of a solver's own that had ended, and whether its job is taken over by a campaign
 * of another strategy. */
static void test_own_search_answers_for_no_whole_space(void)
{
    static const struct {
        const char *before, *after;
        bool searches;
        int reused;
    } cases[] = {
        {"random", "random", true, 1},      {"random", "exhaustive", true, 0},
        {"exhaustive", "random", true, 1},  {"exhaustive", "exhaustive", true, 1},
        {"random", "exhaustive", false, 1}, {"exhaustive", "random", false, 1},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        struct farm farm;
        struct order order = {.strategy = cases[i].before,
                              .seed = 1,
                              .jobs = 1,
                              .configs_limit = 5,
                              .searches = cases[i].searches};
        int reused = -1;
        farm_init(&farm, &order);
        farm_work(&farm, 0, false, 1);
        order.strategy = cases[i].after;
        order.seed = 2;
        farm_create(farm.store, &order, &reused);
        g_assert_cmpint(reused, ==, cases[i].reused);
        farm_clear(&farm);
    }
}

static void test_quarantined_config_comes_with_the_claim(void)
{
    struct farm farm;
    g_autoptr(GError) error = NULL;
    struct perf_config config = {.count = 2, .values = {4, -1}};
    struct round *round = farm_make_round(0);
    round->configs[1] = config;
    int cleared = 0;
    farm_init(&farm, &(struct order){.jobs = 1});
    struct job *job = farm_claim_one(&farm, 0, POOL_BUILD);
    g_assert_true(store_built(farm.store, job, round, &error));
    round_free(round);
    job_free(job);
    job = farm_claim_one(&farm, 0, POOL_EVAL);
    g_assert_cmpuint(job->quarantined->len, ==, 0);
    g_assert_true(store_quarantine(farm.store, job, &config, FAILURE_DEVICE_FAULT, "boom", &error));
    g_assert_true(store_quarantine(farm.store, job, &config, FAILURE_DEVICE_FAULT, "boom", &error));
    g_assert_true(store_release_job(farm.store, job, &error));
    g_assert_no_error(error);
    job_free(job);
    job = farm_claim_one(&farm, 0, POOL_EVAL);
    g_assert_cmpuint(job->quarantined->len, ==, 1);
    g_assert_true(
        perf_config_equal(&g_array_index(job->quarantined, struct perf_config, 0), &config));
    job_free(job);
    g_autoptr(GPtrArray) list = store_list_quarantine(farm.store, &error);
    g_assert_cmpuint(list->len, ==, 1);
    const struct quarantine_row *row = list->pdata[0];
    g_assert_cmpstr(row->config_text, ==, "4,-1");
    g_assert_cmpstr(row->solver, ==, "ConvTest");
    g_assert_cmpint(row->revision, ==, 1);
    g_assert_cmpstr(row->hash, ==, "h1");
    g_assert_cmpint(row->failure, ==, FAILURE_DEVICE_FAULT);
    g_assert_cmpint(row->campaign, ==, farm.campaign);
    g_assert_cmpint(row->worker, ==, farm.workers[0]);
    g_assert_cmpstr(row->node, ==, "one");
    g_assert_cmpstr(row->login, ==, "skipjack");
    g_assert_true(store_clear_quarantine(farm.store, "gfx90a68", "node1", &cleared, &error));
    g_assert_cmpint(cleared, ==, 0);
    g_assert_true(store_clear_quarantine(farm.store, "gfx90a68", NULL, &cleared, &error));
    g_assert_cmpint(cleared, ==, 1);
    farm_clear(&farm);
}

static void test_kernels_of_open_rounds_and_results_stay(void)
{
    struct farm farm;
    g_autoptr(GError) error = NULL;
    char key[65], loose[65], text[] = "t";
    int dropped = -1;
    farm_init(&farm, &(struct order){.jobs = 1});
    struct job *job = farm_claim_one(&farm, 0, POOL_BUILD);
    g_snprintf(key, sizeof key, "%064d", 1);
    g_snprintf(loose, sizeof loose, "%064d", 77);
    struct kernel_row row = {.key = key, .log = text, .code = g_bytes_new("code", 4)};
    g_assert_true(store_put_kernel(farm.store, &row, &error));
    row.key = loose;
    g_assert_true(store_put_kernel(farm.store, &row, &error));
    g_assert_true(store_collect_kernels(farm.store, &dropped, &error));
    g_assert_cmpint(dropped, ==, 0);
    farm_built(&farm, job, 0);
    g_assert_true(store_collect_kernels(farm.store, &dropped, &error));
    g_assert_cmpint(dropped, ==, 1);
    job_free(job);
    job = farm_claim_one(&farm, 0, POOL_EVAL);
    farm_round(&farm, job, 0, false, 1);
    g_assert_true(store_collect_kernels(farm.store, &dropped, &error));
    g_assert_cmpint(dropped, ==, 1);
    g_assert_no_error(error);
    g_bytes_unref(row.code);
    job_free(job);
    farm_clear(&farm);
}

/* The worker of a job was given up, but its round may still arrive: the kernels that this round
 * needs are kept. */
static void test_kernels_of_a_job_that_was_given_up_stay(void)
{
    struct farm farm;
    g_autoptr(GError) error = NULL;
    char key[65], text[] = "t";
    int dropped = -1;
    farm_init(&farm, &(struct order){.jobs = 1});
    struct job *job = farm_claim_one(&farm, 0, POOL_BUILD);
    g_snprintf(key, sizeof key, "%064d", 1);
    struct kernel_row row = {.key = key, .log = text, .code = g_bytes_new("code", 4)};
    g_assert_true(store_put_kernel(farm.store, &row, &error));
    farm_built(&farm, job, 0);
    job_free(job);
    for (int i = 0; i < 3; i++) {
        job_free(farm_claim_one(&farm, 0, POOL_EVAL));
        g_assert_true(store_worker_lost(farm.store, farm.workers[0], &error));
    }
    farm_expect_job(&farm, "failed", 3, FAILURE_WORKER_LOST);
    g_assert_true(store_collect_kernels(farm.store, &dropped, &error));
    g_assert_cmpint(dropped, ==, 0);
    g_assert_no_error(error);
    g_bytes_unref(row.code);
    farm_clear(&farm);
}

static const struct {
    const char *name;
    void (*run)(void);
} tests[] = {
    {"/campaigns/claim/jobs_carry_their_campaigns_limits", test_jobs_carry_their_campaigns_limits},
    {"/campaigns/why_searches_ended_is_kept", test_why_searches_ended_is_kept},
    {"/campaigns/a_search_that_ended_sooner_answers_none_that_goes_on",
     test_a_search_that_ended_sooner_answers_none_that_goes_on},
    {"/campaigns/results_under_another_limit_are_not_reused",
     test_results_under_another_limit_are_not_reused},
    {"/campaigns/claim/campaign_that_names_a_stack_gets_workers_that_have_it",
     test_campaign_that_names_a_stack_gets_workers_that_have_it},
    {"/campaigns/claim/quarantined_config_comes_with_it",
     test_quarantined_config_comes_with_the_claim},
    {"/campaigns/end/job_without_a_verified_config_fails_with_the_commonest_failure",
     test_job_without_a_verified_config_fails_with_the_commonest_failure},
    {"/campaigns/end/failed_jobs_are_counted_by_reason", test_failed_jobs_are_counted_by_reason},
    {"/campaigns/end/spent_budget_gives_out_first_rounds_only",
     test_spent_budget_gives_out_first_rounds_only},
    {"/campaigns/end/build_only_campaign_is_done_when_built",
     test_build_only_campaign_is_done_when_built},
    {"/campaigns/kernels_are_listed", test_kernels_of_a_campaign_are_listed},
    {"/campaigns/end/last_job_of_many_ends_it", test_last_job_of_many_ends_the_campaign},
    {"/campaigns/end/claim_ends_one_that_nobody_settled",
     test_claim_ends_a_campaign_that_nobody_settled},
    {"/campaigns/paused_one_gives_out_nothing", test_paused_campaign_gives_out_nothing},
    {"/campaigns/second_one_takes_over_what_the_first_found",
     test_second_campaign_takes_over_what_the_first_found},
    {"/campaigns/job_without_an_outcome_answers_no_other",
     test_what_ended_without_an_outcome_answers_nobody},
    {"/campaigns/result_without_code_is_measured_again", test_what_lost_its_code_is_measured_again},
    {"/campaigns/whole_space_answers_for_every_seed", test_whole_space_answers_for_every_seed},
    {"/campaigns/own_search_answers_for_no_whole_space",
     test_own_search_answers_for_no_whole_space},
    {"/campaigns/kernels/kernels_of_a_lost_job_stay", test_kernels_of_a_job_that_was_given_up_stay},
    {"/campaigns/kernels/kernels_of_open_rounds_and_results_stay",
     test_kernels_of_open_rounds_and_results_stay},
};

int main(int argc, char **argv)
{
    setlocale(LC_ALL, "C");
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    for (gsize i = 0; i < G_N_ELEMENTS(tests); i++)
        g_test_add_func(tests[i].name, tests[i].run);
    return g_test_run();
}
