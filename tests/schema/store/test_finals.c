/* When all jobs of a problem have ended, their best configs are measured together, and that result ships. */
#include "schema/results/store_history.h"
#include "schema/results/store_remeasure.h"
#include "schema/results/store_results.h"
#include "schema/store/store_campaigns.h"
#include "schema/store/store_private.h"
#include "schema/store/store_queue.h"
#include "tests/support/farm/queue_farm.h"
#include "tests/support/farm/scratch_db.h"

#include <stdlib.h>
#include <string.h>

/* Two solvers for one problem; Static's configs are faster at first. */
static const char *const carried[] = {"Dynamic:1:h", "Static:1:h", NULL};
static const char *const only_one[] = {"Static:1:h", NULL};

static void run(const struct farm *farm, const char *sql)
{
    g_autoptr(GError) error = NULL;
    store_do(farm->store, &error, sql, "");
    g_assert_no_error(error);
}

static char *ask(const struct farm *farm, const char *sql)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(StoreRows) rows = store_run(farm->store, &error, sql, "");
    g_assert_no_error(error);
    return g_strdup(PQntuples(rows) > 0 ? PQgetvalue(rows, 0, 0) : "");
}

#define EXPECT(farm, sql, text)                                                                    \
    do {                                                                                           \
        g_autofree char *answer_ = ask(farm, sql);                                                 \
        g_assert_cmpstr(answer_, ==, text);                                                        \
    } while (0)

static int64_t create(struct farm *farm, double final_seconds, int *reused)
{
    g_autoptr(GError) error = NULL;
    struct campaign campaign = {.name = (char *)"test",
                                .identity = (char *)"id",
                                .target = (char *)"gfx90a68",
                                .strategy = (char *)"random",
                                .round_configs = 4,
                                .final_seconds = final_seconds};
    struct job_plan plans[2];
    for (int i = 0; i < 2; i++) {
        plans[i] = (struct job_plan){.solver = i == 0 ? "Dynamic" : "Static",
                                     .revision = 1,
                                     .hash = "h",
                                     .provider = "test",
                                     .algorithm = "Direct",
                                     .dynamic = i == 0,
                                     .tunable = true,
                                     .priority = 1.0 / (i + 1),
                                     .multiplicity = 1};
        farm_problem(&plans[i].problem, 8);
    }
    store_create_campaign(farm->store, &campaign, plans, 2, NULL, reused, &error);
    g_assert_no_error(error);
    return campaign.id;
}

static struct job *claim_with(struct farm *farm, int worker, enum pool pool,
                              const char *const *solvers, double lease_seconds)
{
    g_autoptr(GError) error = NULL;
    const struct claim claim = {.worker = farm->workers[worker],
                                .pool = pool,
                                .target = "gfx90a68",
                                .solvers = solvers,
                                .batch = 1,
                                .lease_seconds = lease_seconds};
    g_autoptr(GPtrArray) jobs = store_claim(farm->store, &claim, &error);
    g_assert_no_error(error);
    return jobs->len == 0 ? NULL : g_ptr_array_steal_index(jobs, 0);
}

static struct job *claim(struct farm *farm, int worker, enum pool pool)
{
    return claim_with(farm, worker, pool, carried, 60);
}

/* The outcome of a config that took `ms`, with an interval of 1 % to each side. */
static struct outcome took(double ms)
{
    return (struct outcome){.failure = FAILURE_NONE,
                            .n = 10,
                            .min_ms = ms * 0.9,
                            .median_ms = ms,
                            .low_ms = ms * 0.99,
                            .high_ms = ms * 1.01,
                            .spread = 0.01,
                            .error = 0.3,
                            .eval_seconds = 0.1};
}

static struct round *make_round(const struct job *job, int number)
{
    struct round *round = round_new(2);
    round->number = number;
    round->stack = g_strdup("clang 15.0.6");
    for (int i = 0; i < 2; i++) {
        round->configs[i].count = 1;
        round->configs[i].values[0] = i;
        round->kernel_keys[i] = g_strdup_printf("%064d", (int)job->id * 2 + i);
    }
    return round;
}

/* Takes the next job through its only round: its default config 0 takes `default_ms`, its config 1 takes `ms`. */
static void search(struct farm *farm, double default_ms, double ms)
{
    static char *const texts[] = {(char *)"0", (char *)"1"};
    g_autoptr(GError) error = NULL;
    struct job *job = claim(farm, 0, POOL_BUILD);
    g_assert_nonnull(job);
    struct round *round = make_round(job, job->rounds->len > 0 ? (int)job->rounds->len : 0);
    store_built(farm->store, job, round, &error);
    g_assert_no_error(error);
    job_free(job);
    job = claim(farm, 0, POOL_EVAL);
    g_assert_nonnull(job);
    round->outcomes[0] = took(default_ms);
    round->outcomes[1] = took(ms);
    struct kept kept[2];
    for (int i = 0; i < 2; i++) {
        int of = default_ms < ms ? i : 1 - i;
        kept[i] = (struct kept){.config = round->configs[of],
                                .config_text = texts[of],
                                .kernel_keys = round->kernel_keys[of],
                                .outcome = round->outcomes[of],
                                .workspace_bytes = 64,
                                .flops = 1e3,
                                .is_default = of == 0};
    }
    store_round(farm->store, job, round, kept, 2, false, 1, &error);
    g_assert_no_error(error);
    round_free(round);
    job_free(job);
}

static void begin(struct farm *farm, double final_seconds)
{
    farm_init_at(farm, scratch_store(), NULL);
    farm->campaign = create(farm, final_seconds, NULL);
}

/* Both jobs searched: Dynamic's best takes 2.05 ms, Static's 2 ms; their defaults take 3 ms. */
static void begin_searched(struct farm *farm)
{
    begin(farm, 0.5);
    search(farm, 3, 2.05);
    EXPECT(farm, "SELECT count(*) FROM finals", "0");
    search(farm, 3, 2);
    EXPECT(farm, "SELECT state FROM finals", "asked");
    farm_expect_campaign(farm, farm->campaign, "active");
}

static struct round *open_round(const struct job *job)
{
    g_assert_nonnull(job->final);
    g_assert_cmpuint(job->rounds->len, ==, 1);
    return job->rounds->pdata[0];
}

/* ms: 0 for a config that is wrong, below 0 for one that breaks the device. */
static void hand_in(struct farm *farm, const struct job *job, const double *ms, GError **error)
{
    struct round *round = open_round(job);
    g_free(round->stack);
    round->stack = g_strdup("clang 15.0.6");
    for (int i = 0; i < round->config_count; i++) {
        round->outcomes[i] = took(ms[i]);
        if (ms[i] <= 0)
            round->outcomes[i] = (struct outcome){.failure = ms[i] < 0 ? FAILURE_DEVICE_FAULT
                                                                       : FAILURE_WRONG_RESULT};
    }
    round->drift = 1.02;
    store_final(farm->store, job, round, 0.4, error);
}

static void measure(struct farm *farm, const double *ms)
{
    g_autoptr(GError) error = NULL;
    struct job *job = claim(farm, 0, POOL_EVAL);
    g_assert_nonnull(job);
    hand_in(farm, job, ms, &error);
    g_assert_no_error(error);
    job_free(job);
}

static const char *winner(const struct farm *farm, double *ms)
{
    static char text[64];
    g_autoptr(GError) error = NULL;
    g_autoptr(GPtrArray) results = store_list_results(farm->store, farm->campaign, &error);
    g_assert_no_error(error);
    const struct result *first = results->pdata[0];
    g_assert_true(first->kept.wins);
    *ms = first->kept.outcome.median_ms;
    g_snprintf(text, sizeof text, "%s %s", first->solver, first->kept.config_text);
    return text;
}

/* ---- the tests ---- */

static void what_is_measured_together_turns_the_winner(void)
{
    struct farm farm;
    double ms;
    begin_searched(&farm);
    struct job *job = claim(&farm, 0, POOL_EVAL);
    g_assert_cmpfloat(job->final->seconds, ==, 0.5);
    /* Static's best, Dynamic's best, and the default configs of the fastest one's solver and of the first one. */
    g_assert_cmpint(job->final->count, ==, 4);
    g_assert_cmpstr(job->final->solvers[0], ==, "Static");
    g_assert_cmpstr(job->final->solvers[1], ==, "Dynamic");
    g_assert_cmpstr(job->final->solvers[2], ==, "Dynamic");
    g_assert_cmpstr(job->final->solvers[3], ==, "Static");
    g_assert_cmpint(open_round(job)->configs[2].values[0], ==, 0);
    store_release_job(farm.store, job, NULL);
    job_free(job);

    measure(&farm, (const double[]){2.5, 2.1, 3.1, 3.2});
    g_assert_cmpstr(winner(&farm, &ms), ==, "Dynamic 1");
    g_assert_cmpfloat(ms, ==, 2.1);
    farm_expect_campaign(&farm, farm.campaign, "done");
    EXPECT(&farm,
           "SELECT string_agg(config_text || ' ' || low_ms, ', ' ORDER BY median_ms) FROM results "
           "WHERE low_ms IS NOT NULL",
           "1 2.079, 1 2.475, 0 3.069, 0 3.168");
    /* Each job has a round of its own that proves its times. */
    EXPECT(&farm, "SELECT string_agg(rounds::text, ' ') FROM job_ends", "2 2");
    EXPECT(&farm, "SELECT count(*) FROM outcomes WHERE number = 1 AND drift = 1.02", "2");
    EXPECT(&farm, "SELECT solver || ' ' || config_text FROM last_winners", "Dynamic 1");
    g_autoptr(GError) error = NULL;
    g_autoptr(GPtrArray) judged =
        store_list_judged_results(farm.store, farm.campaign, NULL, NULL, NULL, &error);
    g_assert_no_error(error);
    for (guint i = 0; i < judged->len; i++) {
        const struct result *result = judged->pdata[i];
        g_assert_true(result->verified);
        /* The gate refuses what drifted, or was throttled, in it. */
        g_assert_cmpfloat(result->drift, ==, 1.02);
    }
    farm_clear(&farm);
}

static void the_history_has_its_winner_and_its_interval(void)
{
    struct farm farm;
    g_autoptr(GError) error = NULL;
    begin_searched(&farm);
    /* A tie, which the dynamic solver wins though Static is faster. */
    measure(&farm, (const double[]){2, 2.02, 3, 3});
    store_gather_history(farm.store, 0, NULL, &error);
    g_assert_no_error(error);
    EXPECT(
        &farm,
        "SELECT string_agg(concat_ws(' ', solver, median_ms, low_ms, wins, chosen, is_second), ', ' ORDER BY solver) "
        "FROM history_points",
        "Dynamic 2.02 1.9998 t t t, Static 2 1.98 f f t");
    farm_clear(&farm);
}

static void a_campaign_without_time_for_it_has_none(void)
{
    struct farm farm;
    begin(&farm, 0);
    search(&farm, 3, 2.05);
    search(&farm, 3, 2);
    EXPECT(&farm, "SELECT count(*) FROM finals", "0");
    farm_expect_campaign(&farm, farm.campaign, "done");
    farm_clear(&farm);
}

static void a_campaign_that_is_done_makes_those_that_are_asked_for_later(void)
{
    struct farm farm;
    g_autoptr(GError) error = NULL;
    struct progress progress;
    double ms;
    const double seconds = 0.5;
    const struct campaign_changes changes = {.final_seconds = &seconds};
    begin(&farm, 0);
    search(&farm, 3, 2.05);
    search(&farm, 3, 2);
    farm_expect_campaign(&farm, farm.campaign, "done");
    store_set_campaign(farm.store, farm.campaign, &changes, &error);
    g_assert_no_error(error);
    farm_expect_campaign(&farm, farm.campaign, "active");
    g_assert_true(store_progress(farm.store, farm.campaign, &progress, NULL));
    g_assert_cmpint(progress.finals_left, ==, 1);
    g_assert_cmpfloat(progress.final_seconds, ==, 0.5);
    measure(&farm, (const double[]){2, 2.2, 3, 3});
    g_assert_cmpstr(winner(&farm, &ms), ==, "Static 1");
    g_assert_true(store_progress(farm.store, farm.campaign, &progress, NULL));
    g_assert_cmpint(progress.finals_left, ==, 0);
    farm_expect_campaign(&farm, farm.campaign, "done");
    farm_clear(&farm);
}

static void a_lost_worker_loses_nothing_and_the_third_strike_leaves_the_search(void)
{
    struct farm farm;
    g_autoptr(GError) error = NULL;
    begin_searched(&farm);
    for (int strike = 0; strike < 2; strike++) {
        struct job *job = claim_with(&farm, 0, POOL_EVAL, carried, 0);
        g_assert_nonnull(job);
        g_assert_cmpint(job->strikes, ==, strike);
        farm_look_at_leases(&farm);
        /* Another worker takes it; then a late result of the first one is refused. */
        struct job *other = claim_with(&farm, 1, POOL_EVAL, carried, 60);
        g_assert_nonnull(other);
        hand_in(&farm, job, (const double[]){2, 2, 3, 3}, &error);
        g_assert_error(error, STORE_ERROR, STORE_ERROR_FENCE);
        g_clear_error(&error);
        store_release_job(farm.store, other, NULL);
        job_free(other);
        job_free(job);
    }
    struct job *job = claim_with(&farm, 0, POOL_EVAL, carried, 0);
    farm_look_at_leases(&farm);
    job_free(job);
    EXPECT(&farm, "SELECT state FROM finals", "given up");
    EXPECT(&farm, "SELECT count(*) FROM results WHERE median_ms = 2 AND NOT wins", "1");
    EXPECT(&farm, "SELECT count(*) FROM job_ends WHERE state = 'done'", "2");
    farm_expect_campaign(&farm, farm.campaign, "done");
    farm_clear(&farm);
}

static void handed_in_twice_it_is_stored_once(void)
{
    struct farm farm;
    g_autoptr(GError) error = NULL;
    begin_searched(&farm);
    struct job *job = claim(&farm, 0, POOL_EVAL);
    for (int i = 0; i < 2; i++) {
        hand_in(&farm, job, (const double[]){2, 2.2, 3, 3}, &error);
        g_assert_no_error(error);
    }
    job_free(job);
    EXPECT(&farm, "SELECT count(*) FROM rounds WHERE number = 1", "2");
    farm_clear(&farm);
}

static void only_a_worker_that_carries_all_its_solvers_gets_it(void)
{
    struct farm farm;
    begin_searched(&farm);
    run(&farm, "UPDATE workers SET carried = '{Static:1:h}'");
    g_assert_null(claim_with(&farm, 0, POOL_EVAL, only_one, 60));
    EXPECT(&farm, "SELECT reason LIKE 'it lacks a solver%Dynamic:1:h%' FROM refusals(0, 0) LIMIT 1",
           "t");
    run(&farm, "UPDATE workers SET carried = '{Static:1:h,Dynamic:1:h}'");
    struct job *job = claim(&farm, 0, POOL_EVAL);
    g_assert_nonnull(job);
    job_free(job);
    farm_clear(&farm);
}

static void a_config_that_is_wrong_this_time_ships_no_more(void)
{
    struct farm farm;
    double ms;
    begin_searched(&farm);
    measure(&farm, (const double[]){0, 2.1, 3, 0});
    g_assert_cmpstr(winner(&farm, &ms), ==, "Dynamic 1");
    EXPECT(
        &farm,
        "SELECT string_agg(e.state::text, ' ' ORDER BY s.name) FROM job_ends e JOIN jobs j ON j.id = e.job_id "
        "JOIN solvers s ON s.id = j.solver_id",
        "done failed");
    farm_clear(&farm);
}

static void a_config_that_breaks_the_device_ships_no_more(void)
{
    struct farm farm;
    double ms;
    begin_searched(&farm);
    measure(&farm, (const double[]){-1, 2.1, 3, 3.1});
    g_assert_cmpstr(winner(&farm, &ms), ==, "Dynamic 1");
    EXPECT(&farm, "SELECT string_agg(DISTINCT state::text, ' ') FROM job_ends", "done");
    /* The search's own measurement stays stored. */
    EXPECT(&farm, "SELECT count(*) FROM outcomes WHERE number = 0 AND 2 = ANY (median_ms)", "1");
    EXPECT(&farm, "SELECT count(*) FROM results WHERE median_ms = 2", "0");
    farm_clear(&farm);
}

static void the_conditions_hold_for_each_of_its_jobs(void)
{
    struct farm farm;
    begin_searched(&farm);
    struct job *job = claim(&farm, 0, POOL_EVAL);
    g_autofree char *sql = g_strdup_printf(
        "INSERT INTO round_conditions (campaign_id, job_id, number, device, samples, throttle)"
        " VALUES (%" G_GINT64_FORMAT ", %" G_GINT64_FORMAT ", 1, 'GPU-a', 1, 8)",
        farm.campaign, job->id);
    run(&farm, sql);
    g_autoptr(GError) error = NULL;
    hand_in(&farm, job, (const double[]){2, 2.2, 3, 3}, &error);
    g_assert_no_error(error);
    job_free(job);
    EXPECT(&farm, "SELECT count(DISTINCT job_id) FROM round_conditions WHERE throttle = 8", "2");
    farm_clear(&farm);
}

/* This campaign did not try golden's config, but has a job of its solver. */
static void goldens_winner_takes_part_untried(void)
{
    struct farm farm;
    double ms;
    begin(&farm, 0.5);
    search(&farm, 3, 2.05);
    run(&farm,
        "INSERT INTO golden_versions (target, version, kind, base, asked, counts, note, proposed_by)"
        " VALUES ('gfx90a68', 1, 'propose', 0, '', '{}', '', '')");
    run(&farm,
        "INSERT INTO golden_rows (target, problem_id, solver, rank, since, solver_id, multiplicity, from_campaign,"
        " from_job, reason, config, config_text, kernel_keys, stack, n, min_ms, median_ms, spread, error,"
        " build_seconds, eval_seconds, workspace_bytes, flops, is_default)"
        " SELECT 'gfx90a68', j.problem_id, s.name, 0, 1, s.id, 1, 1, 1, '', '{7}', '7', repeat('7', 64), 'clang', 10,"
        " 1.9, 1.95, 0.01, 0.3, 1, 1, 0, 1000, false"
        " FROM jobs j JOIN solvers s ON s.id = j.solver_id WHERE s.name = 'Static'");
    search(&farm, 3, 2);
    struct job *job = claim(&farm, 0, POOL_EVAL);
    g_assert_cmpint(job->final->count, ==, 5);
    g_assert_cmpstr(job->final->solvers[4], ==, "Static");
    g_assert_cmpint(open_round(job)->configs[4].values[0], ==, 7);
    store_release_job(farm.store, job, NULL);
    job_free(job);
    measure(&farm, (const double[]){2, 2.06, 3, 3, 1.94});
    g_assert_cmpstr(winner(&farm, &ms), ==, "Static 7");
    g_assert_cmpfloat(ms, ==, 1.94);
    farm_clear(&farm);
}

static void a_config_that_is_in_front_afterwards_takes_part_in_another(void)
{
    struct farm farm;
    double ms;
    begin(&farm, 0.5);
    search(&farm, 3, 2.2); /* out of the reach of 2 ms */
    search(&farm, 3, 2);
    measure(&farm, (const double[]){2.4, 3, 3});
    EXPECT(&farm, "SELECT attempt FROM finals WHERE state = 'asked'", "1");
    measure(&farm, (const double[]){2.21, 2.41, 3, 3});
    g_assert_cmpstr(winner(&farm, &ms), ==, "Dynamic 1");
    farm_expect_campaign(&farm, farm.campaign, "done");
    farm_clear(&farm);
}

static void a_job_that_changes_meanwhile_has_it_asked_for_again(void)
{
    struct farm farm;
    begin_searched(&farm);
    struct job *job = claim(&farm, 0, POOL_EVAL);
    run(&farm, "UPDATE results SET median_ms = 2.04, min_ms = 2 WHERE median_ms = 2.05");
    g_autoptr(GError) error = NULL;
    hand_in(&farm, job, (const double[]){2, 2.2, 3, 3}, &error);
    g_assert_no_error(error);
    job_free(job);
    EXPECT(&farm, "SELECT state FROM finals", "asked");
    EXPECT(&farm, "SELECT count(*) FROM rounds WHERE number = 1", "0");
    measure(&farm, (const double[]){2, 2.2, 3, 3});
    EXPECT(&farm, "SELECT state FROM finals", "stored");
    farm_clear(&farm);
}

/* The job that carries a final is not opened by a larger budget at once, but when the final is over. */
static void a_budget_that_grows_meanwhile_opens_all_jobs(void)
{
    for (int stored = 0; stored <= 1; stored++) {
        struct farm farm;
        g_autoptr(GError) error = NULL;
        begin_searched(&farm);
        run(&farm, "UPDATE job_ends SET by_budget = true");
        run(&farm, "UPDATE campaigns SET budget_seconds = 1");
        struct job *job = claim(&farm, 0, POOL_EVAL);
        g_assert_true(store_set_campaign(
            farm.store, farm.campaign, &(struct campaign_changes){.budget_seconds = &(double){1e6}},
            &error));
        EXPECT(&farm, "SELECT count(*) FROM job_ends", "1");
        if (stored)
            hand_in(&farm, job, (const double[]){2, 2.2, 3, 3}, &error);
        else
            store_fail_job(farm.store, job, FAILURE_RUN_TIMEOUT, "it hung", &error);
        g_assert_no_error(error);
        job_free(job);
        EXPECT(&farm, "SELECT count(*) FROM job_ends", "0");
        EXPECT(&farm, "SELECT count(*) FROM bundles WHERE NOT remeasures", "2");
        farm_clear(&farm);
    }
}

static void cancelling_ends_it(void)
{
    struct farm farm;
    begin_searched(&farm);
    farm_change(&farm, "cancel");
    EXPECT(&farm, "SELECT state FROM finals", "given up");
    g_assert_null(claim(&farm, 0, POOL_EVAL));
    farm_clear(&farm);
}

static void taken_over_with_its_winner_a_problem_needs_none(void)
{
    struct farm farm;
    int reused = 0;
    begin_searched(&farm);
    measure(&farm, (const double[]){2, 2.2, 3, 3});
    farm.campaign = create(&farm, 0.5, &reused);
    g_assert_cmpint(reused, ==, 2);
    farm_expect_campaign(&farm, farm.campaign, "done");
    double ms;
    g_assert_cmpstr(winner(&farm, &ms), ==, "Static 1");
    farm_clear(&farm);
}

static void two_last_jobs_that_miss_each_other_are_found_at_the_end(void)
{
    struct farm farm;
    begin(&farm, 0.5);
    run(&farm, "ALTER TABLE job_ends DISABLE TRIGGER ask_due_finals");
    search(&farm, 3, 2.05);
    search(&farm, 3, 2);
    run(&farm, "ALTER TABLE job_ends ENABLE TRIGGER ask_due_finals");
    EXPECT(&farm, "SELECT state FROM finals", "asked");
    farm_expect_campaign(&farm, farm.campaign, "active");
    farm_clear(&farm);
}

/* Entrants as "median low high dynamic workspace code former"; the place of the one that wins. */
static const struct tie {
    const char *name;
    const char *entrants[4];
    int winner;
} ties[] = {
    {"parted intervals: the faster one", {"1 .99 1.01 f 0 9 f", "1.03 1.02 1.04 t 0 1 t"}, 0},
    {"a tie: the dynamic solver", {"1 .98 1.02 f 0 1 t", "1.01 .99 1.03 t 9 9 f"}, 1},
    {"both dynamic: the smaller workspace", {"1 .98 1.02 t 9 1 t", "1.01 .99 1.03 t 0 9 f"}, 1},
    {"equal workspace: the smaller code", {"1 .98 1.02 f 4 9 t", "1.01 .99 1.03 f 4 8 f"}, 1},
    {"equal code: yesterday's winner", {"1 .98 1.02 f 4 8 f", "1.01 .99 1.03 f 4 8 t"}, 1},
    {"else the faster one", {"1.01 .99 1.03 f 4 8 f", "1 .98 1.02 f 4 8 f"}, 1},
    {"wide intervals do not reach beyond 5 %", {"1 .8 1.2 f 4 8 f", "1.06 .8 1.3 t 0 1 t"}, 0},
    {"a tie with the fastest only",
     {"1 .99 1.01 f 4 8 f", "1.015 1.005 1.02 f 4 8 f", "1.03 1.018 1.04 t 0 0 t"},
     0},
    {"no time, no win", {"0 0 0 t 0 0 t", "1 .98 1.02 f 4 8 f"}, 1},
};

static void ties_go_by_the_table(void)
{
    struct farm farm;
    farm_init_at(&farm, scratch_store(), NULL);
    for (gsize i = 0; i < G_N_ELEMENTS(ties); i++) {
        g_autoptr(GString) sql = g_string_new("SELECT choose_final('[");
        g_autofree char *expected = g_strdup_printf("%d", ties[i].winner);
        for (int e = 0; ties[i].entrants[e] != NULL; e++) {
            double n[3];
            char dynamic, former;
            int workspace, code;
            g_assert_cmpint(sscanf(ties[i].entrants[e], "%lf %lf %lf %c %d %d %c", &n[0], &n[1],
                                   &n[2], &dynamic, &workspace, &code, &former),
                            ==, 7);
            g_string_append_printf(
                sql,
                "%s{\"median_ms\":%g,\"low_ms\":%g,\"high_ms\":%g,\"dynamic\":%s,"
                "\"workspace_bytes\":%d,\"code_bytes\":%d,\"former\":%s}",
                e > 0 ? "," : "", n[0], n[1], n[2], dynamic == 't' ? "true" : "false", workspace,
                code, former == 't' ? "true" : "false");
        }
        g_string_append(sql, "]')");
        g_test_message("%s", ties[i].name);
        EXPECT(&farm, sql->str, expected);
    }
    farm_clear(&farm);
}

static void yesterdays_winner_wins_a_tie_again(void)
{
    struct farm farm;
    double ms;
    begin_searched(&farm);
    run(&farm, "UPDATE solvers SET dynamic = false");
    measure(&farm, (const double[]){2.3, 2, 3, 3});
    g_assert_cmpstr(winner(&farm, &ms), ==, "Dynamic 1");
    /* The next night the other one seems 1 % faster. */
    run(&farm, "DELETE FROM campaigns");
    farm.campaign = create(&farm, 0.5, NULL);
    search(&farm, 3, 2.05);
    search(&farm, 3, 2);
    measure(&farm, (const double[]){2, 2.02, 3, 3});
    g_assert_cmpstr(winner(&farm, &ms), ==, "Dynamic 1");
    g_assert_cmpfloat(ms, ==, 2.02);
    farm_clear(&farm);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
#define ADD(test) g_test_add_func("/finals/" #test, test)
    ADD(what_is_measured_together_turns_the_winner);
    ADD(the_history_has_its_winner_and_its_interval);
    ADD(a_campaign_without_time_for_it_has_none);
    ADD(a_campaign_that_is_done_makes_those_that_are_asked_for_later);
    ADD(a_lost_worker_loses_nothing_and_the_third_strike_leaves_the_search);
    ADD(handed_in_twice_it_is_stored_once);
    ADD(only_a_worker_that_carries_all_its_solvers_gets_it);
    ADD(a_config_that_is_wrong_this_time_ships_no_more);
    ADD(a_config_that_breaks_the_device_ships_no_more);
    ADD(the_conditions_hold_for_each_of_its_jobs);
    ADD(goldens_winner_takes_part_untried);
    ADD(a_config_that_is_in_front_afterwards_takes_part_in_another);
    ADD(a_job_that_changes_meanwhile_has_it_asked_for_again);
    ADD(a_budget_that_grows_meanwhile_opens_all_jobs);
    ADD(cancelling_ends_it);
    ADD(taken_over_with_its_winner_a_problem_needs_none);
    ADD(two_last_jobs_that_miss_each_other_are_found_at_the_end);
    ADD(ties_go_by_the_table);
    ADD(yesterdays_winner_wins_a_tie_again);
    return g_test_run();
}
