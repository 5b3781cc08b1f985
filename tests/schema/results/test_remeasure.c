/* Jobs that have ended measure the configs of a wish again, in rounds of exactly these configs. */
#include "schema/results/store_remeasure.h"

#include "schema/store/store_campaigns.h"
#include "schema/store/store_private.h"
#include "schema/store/store_queue.h"
#include "schema/store/store_workers.h"
#include "tests/support/farm/role_farm.h"

#include <stdlib.h>
#include <string.h>

static void run(const struct farm *farm, const char *sql)
{
    g_autoptr(GError) error = NULL;
    store_do(farm->store, &error, sql, "");
    g_assert_no_error(error);
}

static int ask(const struct farm *farm, const char *sql)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(StoreRows) rows = store_run(farm->store, &error, sql, "");
    g_assert_no_error(error);
    return rows == NULL ? -1 : atoi(PQgetvalue(rows, 0, 0));
}

static struct remeasure_counts remeasure(const struct farm *farm, unsigned what, bool dry_run)
{
    g_autoptr(GError) error = NULL;
    struct remeasure_counts counts = {0};
    const struct remeasure_wish wish = {.what = what, .solvers = farm_carried, .dry_run = dry_run};
    store_remeasure(farm->store, farm->campaign, &wish, &counts, &error);
    g_assert_no_error(error);
    return counts;
}

/* The round that measures the configs of the job's wish. */
static struct round *wished_round(const struct job *job, int number)
{
    g_assert_nonnull(job->wish);
    struct round *round = round_new((int)job->wish->len);
    round->number = number;
    round->stack = g_strdup("clang 15.0.6");
    for (int i = 0; i < round->config_count; i++) {
        round->configs[i] = g_array_index(job->wish, struct perf_config, (guint)i);
        round->kernel_keys[i] = g_strdup_printf("%064d", 70 + i);
    }
    return round;
}

static void build_wish(struct farm *farm, int number)
{
    g_autoptr(GError) error = NULL;
    struct job *job = farm_claim_one(farm, 0, POOL_BUILD);
    g_assert_nonnull(job);
    struct round *round = wished_round(job, number);
    store_built(farm->store, job, round, &error);
    g_assert_no_error(error);
    round_free(round);
    job_free(job);
}

/* Hands in the round of the wish: either all configs failed, or the first one took `ms` and is
 * kept. */
static void hand_in(struct farm *farm, struct job *job, double ms, enum failure failure)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GPtrArray) rounds = g_ptr_array_ref(job->rounds);
    struct round *round = rounds->pdata[rounds->len - 1];
    char text[CONFIG_TEXT_MAX];
    g_assert_true(round->remeasures);
    for (int i = 0; i < round->config_count; i++)
        round->outcomes[i] = (struct outcome){.failure = failure,
                                              .n = failure == FAILURE_NONE ? 9 : 0,
                                              .min_ms = failure == FAILURE_NONE ? ms + i : 0,
                                              .median_ms = failure == FAILURE_NONE ? ms + i : 0};
    struct kept kept = {.config = round->configs[0],
                        .config_text = (char *)perf_config_format(&round->configs[0], text),
                        .kernel_keys = round->kernel_keys[0],
                        .outcome = round->outcomes[0],
                        .flops = 1e9,
                        .is_default = true};
    store_round(farm->store, job, round, &kept, failure == FAILURE_NONE, false, 1, &error);
    g_assert_no_error(error);
    job_free(job);
}

static void evaluate_wish(struct farm *farm, double ms, enum failure failure)
{
    struct job *job = farm_claim_one(farm, 0, POOL_EVAL);
    g_assert_nonnull(job);
    hand_in(farm, job, ms, failure);
}

/* Makes a campaign whose jobs are done: each has one round, whose first config took 2 ms and is kept. */
static void begin(struct farm *farm, const struct order *order)
{
    farm_init(farm, order);
    for (int i = 0; i < order->jobs; i++)
        farm_work(farm, 0, false, 10);
    farm_expect_campaign(farm, farm->campaign, "done");
}

static double best_ms(const struct farm *farm)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GPtrArray) results = store_list_results(farm->store, farm->campaign, &error);
    g_assert_no_error(error);
    return results->len == 0 ? 0 : ((struct result *)results->pdata[0])->kept.outcome.median_ms;
}

static void the_new_time_takes_the_place_of_the_old_one_which_stays_stored(void)
{
    struct farm farm;
    begin(&farm, &(struct order){.jobs = 1});
    g_assert_cmpfloat(best_ms(&farm), ==, 2);
    struct remeasure_counts counts = remeasure(&farm, REMEASURE_ALL, false);
    g_assert_cmpint(counts.jobs, ==, 1);
    g_assert_cmpint(counts.winners, ==, 1);
    g_assert_cmpint(counts.defaults + counts.unstable, ==, 0);
    farm_expect_campaign(&farm, farm.campaign, "active");
    farm_expect_job(&farm, "ready", 0, FAILURE_NONE);

    struct job *job = farm_claim_one(&farm, 0, POOL_BUILD);
    g_assert_cmpuint(job->wish->len, ==, 1);
    const struct perf_config *config = &g_array_index(job->wish, struct perf_config, 0);
    g_assert_cmpint(config->count, ==, 2);
    g_assert_cmpint(config->values[0] + config->values[1], ==, 0);
    g_assert_cmpuint(job->rounds->len, ==, 1);
    store_release_job(farm.store, job, NULL);
    job_free(job);

    build_wish(&farm, 1);
    evaluate_wish(&farm, 5, FAILURE_NONE);
    g_assert_cmpfloat(best_ms(&farm), ==, 5);
    farm_expect_job(&farm, "done", 0, FAILURE_NONE);
    farm_expect_campaign(&farm, farm.campaign, "done");
    g_assert_cmpint(ask(&farm, "SELECT count(*) FROM outcomes WHERE median_ms[1] IN (2, 5)"), ==,
                    2);
    g_assert_cmpint(ask(&farm, "SELECT rounds FROM job_ends"), ==, 2);
    farm_clear(&farm);
}

static void asked_twice_while_under_way_it_is_done_once(void)
{
    struct farm farm;
    begin(&farm, &(struct order){.jobs = 2});
    g_assert_cmpint(remeasure(&farm, REMEASURE_ALL, false).jobs, ==, 2);
    build_wish(&farm, 1);
    evaluate_wish(&farm, 5, FAILURE_NONE);
    struct remeasure_counts counts = remeasure(&farm, REMEASURE_ALL, false);
    g_assert_cmpint(counts.jobs, ==, 0);
    g_assert_cmpint(counts.under_way, ==, 1);
    g_assert_cmpint(ask(&farm, "SELECT count(*) FROM bundles"), ==, 1);
    build_wish(&farm, 1);
    evaluate_wish(&farm, 5, FAILURE_NONE);
    farm_expect_campaign(&farm, farm.campaign, "done");
    g_assert_cmpint(ask(&farm, "SELECT count(*) FROM outcomes"), ==, 4);
    g_assert_cmpint(remeasure(&farm, REMEASURE_ALL, true).jobs, ==, 2);
    farm_clear(&farm);
}

static void a_dry_run_changes_nothing(void)
{
    struct farm farm;
    begin(&farm, &(struct order){.jobs = 2});
    g_assert_cmpint(remeasure(&farm, REMEASURE_DEFAULTS, true).defaults, ==, 2);
    farm_expect_campaign(&farm, farm.campaign, "done");
    g_assert_cmpint(ask(&farm, "SELECT count(*) FROM bundles"), ==, 0);
    g_assert_cmpint(ask(&farm, "SELECT count(*) FROM remeasures"), ==, 0);
    farm_clear(&farm);
}

/* Each config whose newest measurement was unstable, or of a round that drifted or was throttled, is found once. */
static void unstable_configs_and_those_of_doubtful_rounds_are_found(void)
{
    struct farm farm;
    begin(&farm, &(struct order){.jobs = 3});
    g_assert_cmpint(remeasure(&farm, REMEASURE_UNSTABLE, true).jobs, ==, 0);
    run(&farm, "UPDATE outcomes SET drift = 1.5 WHERE job_id = (SELECT min(id) FROM jobs)");
    g_assert_cmpint(remeasure(&farm, REMEASURE_UNSTABLE, true).unstable, ==, 1);
    run(&farm, "UPDATE outcomes SET drift = 1");
    g_assert_cmpint(remeasure(&farm, REMEASURE_UNSTABLE, true).unstable, ==, 0);
    /* A GPU that runs at its power cap (1) is in its normal state; heat (2) throttles it. */
    run(&farm,
        "INSERT INTO round_conditions (campaign_id, job_id, number, device, samples, throttle)"
        " SELECT campaign_id, job_id, number, 'GPU-a', 1, 1 FROM outcomes");
    g_assert_cmpint(remeasure(&farm, REMEASURE_UNSTABLE, true).unstable, ==, 0);
    run(&farm,
        "UPDATE round_conditions SET throttle = 3 WHERE job_id = (SELECT min(id) FROM jobs)");
    g_assert_cmpint(remeasure(&farm, REMEASURE_UNSTABLE, true).unstable, ==, 1);
    run(&farm,
        "UPDATE outcomes SET failures = '{12,12}' WHERE job_id = (SELECT max(id) FROM jobs)");
    g_assert_cmpint(remeasure(&farm, REMEASURE_UNSTABLE, true).unstable, ==, 3);
    run(&farm, "UPDATE job_ends SET state = 'failed', failure = 12"
               " WHERE job_id = (SELECT max(id) FROM jobs)");
    g_assert_cmpint(remeasure(&farm, REMEASURE_UNSTABLE, true).jobs, ==, 2);

    g_assert_cmpint(remeasure(&farm, REMEASURE_UNSTABLE, false).unstable, ==, 3);
    for (int i = 0; i < 2; i++) {
        build_wish(&farm, 1);
        evaluate_wish(&farm, 5, FAILURE_NONE);
    }
    g_assert_cmpint(remeasure(&farm, REMEASURE_UNSTABLE, true).jobs, ==, 0);
    g_assert_cmpint(ask(&farm, "SELECT count(*) FROM job_ends WHERE state = 'done'"), ==, 3);
    farm_clear(&farm);
}

static void many_configs_are_measured_in_rounds_one_after_the_other(void)
{
    struct farm farm;
    begin(&farm, &(struct order){.jobs = 1});
    run(&farm, "UPDATE rounds SET config_counts = array_fill(1, ARRAY[20])::smallint[],"
               " config_values = ARRAY(SELECT generate_series(1, 20)),"
               " kernel_keys = array_fill(''::text, ARRAY[20]),"
               " failures = array_fill(15, ARRAY[20])::smallint[],"
               " details = array_fill(NULL::text, ARRAY[20]),"
               " build_seconds = array_fill(0, ARRAY[20])");
    run(&farm, "UPDATE outcomes SET failures = array_fill(12, ARRAY[20])::smallint[],"
               " details = array_fill(NULL::text, ARRAY[20]), n = array_fill(0, ARRAY[20]),"
               " min_ms = array_fill(0, ARRAY[20]), median_ms = array_fill(0, ARRAY[20]),"
               " spread = array_fill(0, ARRAY[20]), error = array_fill(0, ARRAY[20]),"
               " eval_seconds = array_fill(0, ARRAY[20]), proof_runs = NULL, proof_kinds = NULL");
    struct remeasure_counts counts = remeasure(&farm, REMEASURE_UNSTABLE, false);
    g_assert_cmpint(counts.rounds, ==, 2);
    g_assert_cmpint(counts.unstable, ==, 20);
    build_wish(&farm, 1);
    evaluate_wish(&farm, 5, FAILURE_NONE);
    farm_expect_job(&farm, "ready", 0, FAILURE_NONE);
    build_wish(&farm, 2);
    evaluate_wish(&farm, 4, FAILURE_NONE);
    farm_expect_job(&farm, "done", 0, FAILURE_NONE);
    g_assert_cmpint(ask(&farm, "SELECT cardinality(failures) FROM outcomes WHERE number = 1"), ==,
                    16);
    g_assert_cmpint(ask(&farm, "SELECT cardinality(failures) FROM outcomes WHERE number = 2"), ==,
                    4);
    farm_clear(&farm);
}

static void a_spent_budget_does_not_cut_it_short_and_its_time_counts(void)
{
    struct farm farm;
    begin(&farm, &(struct order){.jobs = 2, .budget_seconds = 5});
    remeasure(&farm, REMEASURE_ALL, false);
    for (int i = 0; i < 2; i++) {
        build_wish(&farm, 1);
        evaluate_wish(&farm, 5, FAILURE_NONE);
    }
    g_assert_cmpint(ask(&farm, "SELECT spent_seconds(id) FROM campaigns"), ==, 22);
    farm_expect_campaign(&farm, farm.campaign, "done");
    farm_clear(&farm);
}

/* A job that the budget ended goes on if the budget is larger when all configs were measured again. */
static void a_job_that_a_budget_cut_short_can_still_go_on(void)
{
    struct farm farm;
    g_autoptr(GError) error = NULL;
    farm_init(&farm, &(struct order){.jobs = 1, .budget_seconds = 5});
    farm_work(&farm, 0, true, 10);
    farm_expect_job(&farm, "done", 0, FAILURE_NONE);
    remeasure(&farm, REMEASURE_ALL, false);
    const struct campaign_changes larger = {.budget_seconds = &(double){100}};
    g_assert_true(store_set_campaign(farm.store, farm.campaign, &larger, &error));
    g_assert_no_error(error);
    g_assert_cmpint(ask(&farm, "SELECT count(*) FROM bundles"), ==, 1);
    build_wish(&farm, 1);
    evaluate_wish(&farm, 5, FAILURE_NONE);
    farm_expect_job(&farm, "ready", 0, FAILURE_NONE);
    struct job *job = farm_claim_one(&farm, 0, POOL_BUILD);
    g_assert_null(job->wish);
    g_assert_cmpuint(job->rounds->len, ==, 2);
    g_assert_true(((struct round *)job->rounds->pdata[1])->remeasures);
    job_free(job);
    farm_clear(&farm);
}

static void a_worker_that_dies_costs_a_strike_and_nothing_else(void)
{
    struct farm farm;
    begin(&farm, &(struct order){.jobs = 1});
    remeasure(&farm, REMEASURE_ALL, false);
    job_free(farm_claim_and_lose(&farm, POOL_BUILD));
    farm_expect_job(&farm, "ready", 1, FAILURE_NONE);
    build_wish(&farm, 1);
    job_free(farm_claim_and_lose(&farm, POOL_EVAL));
    farm_expect_job(&farm, "built", 2, FAILURE_NONE);
    evaluate_wish(&farm, 5, FAILURE_NONE);
    g_assert_cmpfloat(best_ms(&farm), ==, 5);
    farm_clear(&farm);
}

/* Loses the job's worker three times during the round of a wish. */
static void lose_three_times(struct farm *farm)
{
    for (int i = 0; i < 3; i++)
        job_free(farm_claim_and_lose(farm, POOL_BUILD));
}

static void fail_while_evaluating(struct farm *farm)
{
    g_autoptr(GError) error = NULL;
    build_wish(farm, 1);
    struct job *job = farm_claim_one(farm, 0, POOL_EVAL);
    store_fail_job(farm->store, job, FAILURE_DEVICE_FAULT, "gone", &error);
    g_assert_no_error(error);
    job_free(job);
}

static void cancel_when_built(struct farm *farm)
{
    build_wish(farm, 1);
    farm_change(farm, "cancel");
}

static void what_comes_to_nothing_leaves_the_job_as_it_was(void)
{
    static const struct {
        void (*spoil)(struct farm *farm);
        const char *campaign, *event;
    } cases[] = {
        {lose_three_times, "done", "worker lost three times%"},
        {fail_while_evaluating, "done", "gone"},
        {cancel_when_built, "cancelled", NULL},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        struct farm farm;
        begin(&farm, &(struct order){.jobs = 1});
        remeasure(&farm, REMEASURE_ALL, false);
        cases[i].spoil(&farm);
        farm_expect_job(&farm, "done", 0, FAILURE_NONE);
        farm_expect_campaign(&farm, farm.campaign, cases[i].campaign);
        g_assert_cmpfloat(best_ms(&farm), ==, 2);
        g_assert_cmpint(ask(&farm, "SELECT count(*) FROM rounds"), ==, 1);
        g_assert_cmpint(ask(&farm, "SELECT count(*) FROM remeasures"), ==, 0);
        g_assert_cmpint(ask(&farm, "SELECT count(*) FROM events WHERE kind = 'not measured again'"),
                        ==, cases[i].event != NULL);
        if (g_str_equal(cases[i].campaign, "done")) {
            g_assert_cmpint(remeasure(&farm, REMEASURE_ALL, false).jobs, ==, 1);
            build_wish(&farm, 1);
            evaluate_wish(&farm, 5, FAILURE_NONE);
            g_assert_cmpfloat(best_ms(&farm), ==, 5);
        }
        farm_clear(&farm);
    }
}

static void a_winner_that_fails_this_time_is_no_result_any_more(void)
{
    struct farm farm;
    begin(&farm, &(struct order){.jobs = 1});
    remeasure(&farm, REMEASURE_ALL, false);
    build_wish(&farm, 1);
    evaluate_wish(&farm, 0, FAILURE_UNSTABLE);
    g_assert_cmpfloat(best_ms(&farm), ==, 0);
    farm_expect_job(&farm, "failed", 0, FAILURE_UNSTABLE);
    /* The job can be measured again afterwards. */
    g_assert_cmpint(remeasure(&farm, REMEASURE_UNSTABLE, false).unstable, ==, 1);
    build_wish(&farm, 2);
    evaluate_wish(&farm, 3, FAILURE_NONE);
    g_assert_cmpfloat(best_ms(&farm), ==, 3);
    farm_expect_job(&farm, "done", 0, FAILURE_NONE);
    farm_clear(&farm);
}

static void a_round_beyond_the_wish_is_refused(void)
{
    struct farm farm;
    g_autoptr(GError) error = NULL;
    begin(&farm, &(struct order){.jobs = 1});
    remeasure(&farm, REMEASURE_ALL, false);
    struct job *job = farm_claim_one(&farm, 0, POOL_BUILD);
    struct round *round = round_new(7);
    round->number = 1;
    for (int i = 0; i < 7; i++)
        round->kernel_keys[i] = g_strdup("");
    g_assert_false(store_built(farm.store, job, round, &error));
    g_assert_error(error, STORE_ERROR, STORE_ERROR_REFUSED);
    round_free(round);
    job_free(job);
    farm_clear(&farm);
}

static void jobs_at_work_and_other_revisions_are_left_alone(void)
{
    struct farm farm;
    g_autoptr(GError) error = NULL;
    struct remeasure_counts counts;
    farm_init(&farm, &(struct order){.jobs = 3});
    farm_work(&farm, 0, false, 1);
    counts = remeasure(&farm, REMEASURE_ALL, true);
    g_assert_cmpint(counts.jobs, ==, 1);
    g_assert_cmpint(counts.at_work, ==, 2);
    const char *const others[] = {"ConvTest:2:h2", NULL};
    const struct remeasure_wish wish = {.what = REMEASURE_ALL, .solvers = others};
    g_assert_true(store_remeasure(farm.store, farm.campaign, &wish, &counts, &error));
    g_assert_cmpint(counts.jobs, ==, 0);
    g_assert_cmpint(counts.other_revisions, ==, 1);
    farm_clear(&farm);
}

static void what_was_not_measured_here_cannot_be_measured_again(void)
{
    static const struct {
        const char *sql;
        int error;
    } cases[] = {
        {"UPDATE campaigns SET state = 'cancelled'", STORE_ERROR_STATE},
        {"UPDATE campaigns SET build_only = true", STORE_ERROR_STATE},
        {"UPDATE campaigns SET strategy = 'foreign'", STORE_ERROR_STATE},
        {"UPDATE campaigns SET deadline = now() - interval '1 second'", STORE_ERROR_STATE},
        {"DELETE FROM campaigns", STORE_ERROR_NOT_FOUND},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        struct farm farm;
        g_autoptr(GError) error = NULL;
        struct remeasure_counts counts;
        const struct remeasure_wish wish = {.what = REMEASURE_ALL, .solvers = farm_carried};
        begin(&farm, &(struct order){.jobs = 1});
        run(&farm, "ALTER TABLE campaigns DISABLE TRIGGER USER");
        run(&farm, cases[i].sql);
        run(&farm, "ALTER TABLE campaigns ENABLE TRIGGER USER");
        g_assert_false(store_remeasure(farm.store, farm.campaign, &wish, &counts, &error));
        g_assert_error(error, STORE_ERROR, cases[i].error);
        farm_clear(&farm);
    }
}

static void retry_leaves_what_measures_again_alone(void)
{
    struct farm farm;
    begin(&farm, &(struct order){.jobs = 1});
    remeasure(&farm, REMEASURE_ALL, false);
    build_wish(&farm, 1);
    evaluate_wish(&farm, 0, FAILURE_UNSTABLE);
    remeasure(&farm, REMEASURE_UNSTABLE, false);
    farm_change(&farm, "retry");
    g_assert_cmpint(ask(&farm, "SELECT count(*) FROM bundles"), ==, 1);
    build_wish(&farm, 2);
    evaluate_wish(&farm, 3, FAILURE_NONE);
    farm_expect_job(&farm, "done", 0, FAILURE_NONE);
    farm_clear(&farm);
}

/* Has the farm's only job measured again, once for each place of the list that ends with a job 0. Returns the
 * number of rounds that were asked for. */
static int64_t remeasure_at(struct farm *farm, struct remeasure_job *places)
{
    g_autoptr(GError) error = NULL;
    struct remeasure_counts counts = {0};
    int64_t job = ask(farm, "SELECT id FROM jobs");
    int count = 0;
    for (; places[count].job != 0; count++)
        places[count].job = job;
    store_remeasure_jobs(farm->store, farm->campaign, places, count, REMEASURE_WINNERS,
                         farm_carried, 600, &counts, &error);
    g_assert_no_error(error);
    return counts.rounds;
}

/* The worker, 0 or 1, measures what waits, in `ms`. */
static void evaluate_at(struct farm *farm, int worker, double ms)
{
    struct job *job = farm_claim_one(farm, worker, POOL_EVAL);
    g_assert_nonnull(job);
    hand_in(farm, job, ms, FAILURE_NONE);
}

static void expect_none_for(struct farm *farm, int worker, const char *why)
{
    g_autoptr(GError) error = NULL;
    g_assert_null(farm_claim_one(farm, worker, POOL_EVAL));
    g_autoptr(GPtrArray) refusals =
        store_list_refusals(farm->store, farm->workers[worker], farm->campaign, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(refusals->len, ==, 1);
    const struct refusal_row *row = refusals->pdata[0];
    g_assert_nonnull(strstr(row->reason, why));
}

static void a_round_waits_for_the_same_node_and_the_next_for_another_one(void)
{
    struct farm farm;
    begin(&farm, &(struct order){.jobs = 1});
    struct remeasure_job places[] = {
        {.job = 1, .only_node = "two"}, {.job = 1, .not_node = "two"}, {0}};
    g_assert_cmpint(remeasure_at(&farm, places), ==, 2);
    build_wish(&farm, 1);
    expect_none_for(&farm, 0, "to be measured on node two");
    evaluate_at(&farm, 1, 5);
    build_wish(&farm, 2);
    expect_none_for(&farm, 1, "on another node than two");
    evaluate_at(&farm, 0, 6);
    farm_expect_job(&farm, "done", 0, FAILURE_NONE);
    farm_expect_campaign(&farm, farm.campaign, "done");
    g_assert_cmpfloat(best_ms(&farm), ==, 6);
    farm_clear(&farm);
}

/* A suspect's config is measured beside the one that it is compared with, and the second times are found by node. */
static void chosen_configs_are_measured_beside_each_other(void)
{
    struct farm farm;
    g_autoptr(GError) error = NULL;
    struct remeasure_counts counts;
    begin(&farm, &(struct order){.jobs = 1});
    const struct perf_config configs[] = {{.count = 2, .values = {0, 0}},
                                          {.count = 2, .values = {7, 3}}};
    const struct remeasure_job job = {.job = ask(&farm, "SELECT id FROM jobs"),
                                      .only_node = "two",
                                      .configs = configs,
                                      .config_count = 2};
    g_assert_true(store_remeasure_jobs(farm.store, farm.campaign, &job, 1, 0, farm_carried, 600,
                                       &counts, &error));
    g_assert_no_error(error);
    g_assert_cmpint(counts.rounds, ==, 1);
    build_wish(&farm, 1);
    evaluate_at(&farm, 1, 5);
    g_autoptr(GPtrArray) times = store_list_remeasured(farm.store, farm.campaign, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(times->len, ==, 2);
    const struct remeasured *time = times->pdata[1];
    g_assert_cmpstr(time->config, ==, "7,3");
    g_assert_cmpfloat(time->median_ms, ==, 6);
    g_assert_cmpstr(time->node, ==, "two");
    g_assert_cmpstr(time->solver, ==, "ConvTest");
    g_assert_true(time->wished);
    farm_clear(&farm);
}

static void a_node_that_does_not_come_is_waited_for_only_so_long(void)
{
    struct farm farm;
    begin(&farm, &(struct order){.jobs = 1});
    struct remeasure_job places[] = {{.job = 1, .only_node = "gone"}, {0}};
    remeasure_at(&farm, places);
    build_wish(&farm, 1);
    expect_none_for(&farm, 0, "node gone");
    expect_none_for(&farm, 1, "node gone");
    run(&farm, "UPDATE remeasures SET places_until = now()");
    evaluate_at(&farm, 0, 5);
    farm_expect_job(&farm, "done", 0, FAILURE_NONE);
    farm_clear(&farm);
}

static void only_chosen_jobs_are_measured_again(void)
{
    struct farm farm;
    g_autoptr(GError) error = NULL;
    struct remeasure_counts counts;
    begin(&farm, &(struct order){.jobs = 3});
    const struct remeasure_job chosen[] = {{.job = ask(&farm, "SELECT max(id) FROM jobs")},
                                           {.job = 999999}};
    g_assert_true(store_remeasure_jobs(farm.store, farm.campaign, chosen, 2, REMEASURE_ALL,
                                       farm_carried, 0, &counts, &error));
    g_assert_no_error(error);
    g_assert_cmpint(counts.jobs, ==, 1);
    g_assert_cmpint(counts.winners, ==, 1);
    g_assert_cmpint(counts.impossible, ==, 1);
    g_assert_true(store_remeasure_jobs(farm.store, farm.campaign, chosen, 1, REMEASURE_ALL,
                                       farm_carried, 0, &counts, &error));
    g_assert_cmpint(counts.jobs, ==, 0);
    g_assert_cmpint(counts.under_way, ==, 1);
    build_wish(&farm, 1);
    evaluate_at(&farm, 1, 5);
    farm_expect_campaign(&farm, farm.campaign, "done");
    g_assert_cmpint(ask(&farm, "SELECT count(*) FROM results WHERE median_ms = 5"), ==, 1);
    g_assert_cmpint(ask(&farm, "SELECT count(*) FROM results WHERE median_ms = 2"), ==, 2);
    farm_clear(&farm);
}

static void nodes_that_can_measure_are_those_with_a_heartbeat(void)
{
    struct farm farm;
    g_autoptr(GError) error = NULL;
    begin(&farm, &(struct order){.jobs = 1});
    g_auto(GStrv) both = store_list_measuring_nodes(farm.store, farm.campaign, &error);
    g_assert_no_error(error);
    g_assert_cmpstr(both[0], ==, "one");
    g_assert_cmpstr(both[1], ==, "two");
    run(&farm, "UPDATE workers SET beat_at = now() - interval '11 minutes' WHERE node = 'one'");
    g_auto(GStrv) rest = store_list_measuring_nodes(farm.store, farm.campaign, &error);
    g_assert_cmpstr(rest[0], ==, "two");
    g_assert_null(rest[1]);
    farm_clear(&farm);
}

/* A coordinator may ask for measuring again; a worker's login can only read the wish. */
static void a_coordinator_asks_and_workers_do_it(void)
{
    struct role_farm roles;
    g_autoptr(GError) error = NULL;
    struct remeasure_counts counts;
    const struct remeasure_wish wish = {.what = REMEASURE_ALL, .solvers = farm_carried};
    role_farm_make_logins();
    role_farm_init(&roles, 1);
    farm_work(&roles.farm, 0, false, 1);
    role_expect_refused(
        store_remeasure(roles.farm.store, roles.farm.campaign, &wish, &counts, &error), &error,
        STORE_ERROR_ACCESS, "role");
    role_expect_refused(store_remeasure(roles.guest, roles.farm.campaign, &wish, &counts, &error),
                        &error, STORE_ERROR_ACCESS, "role");
    g_assert_true(store_remeasure(roles.boss, roles.farm.campaign, &wish, &counts, &error));
    g_assert_no_error(error);
    g_assert_cmpint(counts.jobs, ==, 1);
    build_wish(&roles.farm, 1);
    evaluate_wish(&roles.farm, 5, FAILURE_NONE);
    role_expect_count(roles.guest, "SELECT count(*) FROM results WHERE median_ms = 5", "1");
    role_expect_count(roles.guest, "SELECT count(*) FROM remeasures", "1");
    role_farm_clear(&roles);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/remeasure/the_new_time_takes_the_place_of_the_old_one_which_stays_stored",
                    the_new_time_takes_the_place_of_the_old_one_which_stays_stored);
    g_test_add_func("/remeasure/asked_twice_while_under_way_it_is_done_once",
                    asked_twice_while_under_way_it_is_done_once);
    g_test_add_func("/remeasure/a_dry_run_changes_nothing", a_dry_run_changes_nothing);
    g_test_add_func("/remeasure/unstable_configs_and_those_of_doubtful_rounds_are_found",
                    unstable_configs_and_those_of_doubtful_rounds_are_found);
    g_test_add_func("/remeasure/many_configs_are_measured_in_rounds_one_after_the_other",
                    many_configs_are_measured_in_rounds_one_after_the_other);
    g_test_add_func("/remeasure/a_spent_budget_does_not_cut_it_short_and_its_time_counts",
                    a_spent_budget_does_not_cut_it_short_and_its_time_counts);
    g_test_add_func("/remeasure/a_job_that_a_budget_cut_short_can_still_go_on",
                    a_job_that_a_budget_cut_short_can_still_go_on);
    g_test_add_func("/remeasure/a_worker_that_dies_costs_a_strike_and_nothing_else",
                    a_worker_that_dies_costs_a_strike_and_nothing_else);
    g_test_add_func("/remeasure/failed_round_leaves_the_job_as_it_was",
                    what_comes_to_nothing_leaves_the_job_as_it_was);
    g_test_add_func("/remeasure/a_winner_that_fails_this_time_is_no_result_any_more",
                    a_winner_that_fails_this_time_is_no_result_any_more);
    g_test_add_func("/remeasure/a_round_beyond_the_wish_is_refused",
                    a_round_beyond_the_wish_is_refused);
    g_test_add_func("/remeasure/jobs_at_work_and_other_revisions_are_left_alone",
                    jobs_at_work_and_other_revisions_are_left_alone);
    g_test_add_func("/remeasure/foreign_and_build_only_campaigns_are_refused",
                    what_was_not_measured_here_cannot_be_measured_again);
    g_test_add_func("/remeasure/retry_leaves_what_measures_again_alone",
                    retry_leaves_what_measures_again_alone);
    g_test_add_func("/remeasure/a_round_waits_for_the_same_node_and_the_next_for_another_one",
                    a_round_waits_for_the_same_node_and_the_next_for_another_one);
    g_test_add_func("/remeasure/chosen_configs_are_measured_beside_each_other",
                    chosen_configs_are_measured_beside_each_other);
    g_test_add_func("/remeasure/a_node_that_does_not_come_is_waited_for_only_so_long",
                    a_node_that_does_not_come_is_waited_for_only_so_long);
    g_test_add_func("/remeasure/only_chosen_jobs_are_measured_again",
                    only_chosen_jobs_are_measured_again);
    g_test_add_func("/remeasure/nodes_that_can_measure_are_those_with_a_heartbeat",
                    nodes_that_can_measure_are_those_with_a_heartbeat);
    g_test_add_func("/remeasure/a_coordinator_asks_and_workers_do_it",
                    a_coordinator_asks_and_workers_do_it);
    return g_test_run();
}
