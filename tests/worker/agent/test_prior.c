/* Winners of near problems are tried first: whole campaigns through the program, on a real database. */
#include <string.h>

#include "schema/results/store_foreign.h"
#include "schema/store/store_private.h"
#include "schema/store/store_workers.h"
#include "solvers/framework/strategy.h"
#include "solvers/problem/problem_key.h"
#include "tests/support/farm/live_farm.h"
#include "tests/support/farm/scratch_db.h"
#include "worker/agent/work.h"

#define SOLVER "ConvDirectTiled" /* it has dozens of configs on any CPU */
#define NEAR   "16-14-14-1x1-32-14-14-1-0x0-1x1-1x1-0-NCHW-FP32-F"
#define HERE   "16-12-12-1x1-32-12-12-1-0x0-1x1-1x1-0-NCHW-FP32-F"

static const char *const quick[] = {"--sample-seconds", "0.05", NULL};

static const char *program(void)
{
    const char *path = g_getenv("SKIPJACK");
    return path ? path : "build/skipjack";
}

static int64_t create(const char *seed)
{
    const char *const arguments[] = {"--solvers", SOLVER,       "--configs",    "5", "--seed",
                                     seed,        "--strategy", STRATEGY_PRIOR, NULL};
    return live_campaign(program(), HERE "\n", arguments);
}

static struct campaign *get_campaign(Store *store, int64_t id)
{
    g_autoptr(GError) error = NULL;
    struct campaign *campaign = store_get_campaign(store, id, &error);
    g_assert_no_error(error);
    return campaign;
}

/* Two configs of the space that are not the default, and the default. */
static void find_configs(const char *target_id, struct perf_config found[2],
                         struct perf_config *usual)
{
    const struct solver *solver = solver_find(SOLVER);
    struct problem problem;
    struct target target;
    struct context context;
    struct space_walk walk;
    int count = 0;
    g_assert_true(problem_key_parse(HERE, &problem, NULL));
    g_assert_true(target_parse(target_id, &target, NULL));
    context_init(&context, &target);
    solver->default_config(&problem, &context, usual);
    space_walk_init(&walk, solver_space(solver, &problem, &context), &problem, &context);
    while (count < 2 && space_walk_next(&walk, &found[count]))
        count += !perf_config_equal(&found[count], usual);
    g_assert_cmpint(count, ==, 2);
}

/* Stores winners of a campaign for the near problem and for this one. Returns the campaign. */
static int64_t import(Store *store, const char *target, const char *near, const char *here)
{
    static char name[] = "theirs", identity[] = "f";
    const struct campaign theirs = {.name = name, .identity = identity, .target = (char *)target};
    g_autoptr(GError) error = NULL;
    int64_t ids[2], id = 0;
    int added = 0;
    struct problem problems[2];
    g_assert_true(problem_key_parse(NEAR, &problems[0], NULL));
    g_assert_true(problem_key_parse(HERE, &problems[1], NULL));
    g_assert_true(store_begin_foreign(store, &theirs, &id, &error));
    g_assert_true(store_put_problems(store, problems, 2, NULL, ids, &error));
    const struct foreign_params params[] = {{ids[0], SOLVER, near}, {ids[1], SOLVER, here}};
    g_assert_true(store_add_foreign_params(store, id, params, 2, &added, &error));
    g_assert_true(store_end_foreign(store, true, &error));
    g_assert_no_error(error);
    return id;
}

/* This machine's target, read from a campaign that is created and dropped for this. Free with
 * g_free(). */
static char *own_target(Store *store)
{
    int64_t id = create("99");
    struct campaign *campaign = get_campaign(store, id);
    char *target = g_strdup(campaign->target);
    campaign_free(campaign);
    g_assert_true(store_change_campaign(store, id, "drop", NULL));
    return target;
}

/* The configs of the campaign's only job's round, joined by blanks. */
static char *round_configs(Store *store, int64_t campaign, int number)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(StoreRows) rows =
        store_read(store, &error,
                   "SELECT to_jsonb(r) FROM round_rows r WHERE campaign_id = $1 AND number = $2",
                   "li", campaign, number);
    g_assert_no_error(error);
    g_assert_cmpint(PQntuples(rows), ==, 1);
    g_autoptr(StoreJson) object = store_row_json(rows, 0);
    struct round *round = round_from_json(object, &error);
    g_assert_no_error(error);
    g_autoptr(GString) all = g_string_new(NULL);
    for (int i = 0; i < round->config_count; i++) {
        char text[CONFIG_TEXT_MAX];
        g_string_append_printf(all, "%s%s", i ? " " : "",
                               perf_config_format(&round->configs[i], text));
    }
    round_free(round);
    return g_string_free(g_steal_pointer(&all), FALSE);
}

static void expect_shown(int64_t campaign, const char *words)
{
    g_autofree char *line =
        g_strdup_printf("%s campaign show %" G_GINT64_FORMAT, program(), campaign);
    g_autofree char *out = NULL;
    g_assert_true(g_spawn_command_line_sync(line, &out, NULL, NULL, NULL));
    g_assert_nonnull(strstr(out, words));
}

/* The round begins with the default config, the winner of the same problem and that of the near
 * problem; an imported text that is no config is skipped. */
static void imported_winner_is_tried_after_the_default(void)
{
    g_autoptr(Store) store = scratch_store();
    g_autofree char *target = own_target(store);
    struct perf_config found[2], usual;
    char near[CONFIG_TEXT_MAX], here[CONFIG_TEXT_MAX], text[CONFIG_TEXT_MAX];
    find_configs(target, found, &usual);
    perf_config_format(&found[0], near);
    perf_config_format(&found[1], here);
    const struct {
        const char *near, *here, *expected;
    } cases[] = {
        {near, here, g_strdup_printf("%s %s %s", perf_config_format(&usual, text), here, near)},
        {near, "7,7", g_strdup_printf("%s %s", perf_config_format(&usual, text), near)},
        {"cpu<8>", here, g_strdup_printf("%s %s", perf_config_format(&usual, text), here)},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *seed = g_strdup_printf("%d", (int)i);
        int64_t theirs = import(store, target, cases[i].near, cases[i].here);
        int64_t id = create(seed);
        g_assert_cmpint(live_wait(live_worker(program(), quick)), ==, 0);
        g_autofree char *first = round_configs(store, id, 0);
        g_assert_true(g_str_has_prefix(first, cases[i].expected));
        expect_shown(id, "\n1 jobs began with configs that won nearby\n");
        g_assert_true(store_change_campaign(store, id, "drop", NULL));
        g_assert_true(store_change_campaign(store, theirs, "drop", NULL));
        /* Deletes the winners so that this campaign's winner is not in the next one's prior. */
        g_assert_true(store_do(store, NULL, "DELETE FROM winners", ""));
        g_free((char *)cases[i].expected);
    }
}

/* ---- replaying ---- */

/* Claims the only job to be built, as a worker that carries its solver. */
static struct job *claim(Store *store, int64_t campaign, const char *target)
{
    const struct solver *solver = solver_find(SOLVER);
    g_autofree char *carried =
        g_strdup_printf("%s:%d:%s", SOLVER, solver->revision, solver_hash(solver));
    const char *const solvers[] = {carried, NULL};
    struct campaign *its = get_campaign(store, campaign);
    const struct worker_info info = {
        .node = "here", .process = "p", .target = target, .stack = its->stack};
    struct claim wanted = {.campaign = campaign,
                           .pool = POOL_BUILD,
                           .solvers = solvers,
                           .batch = 1,
                           .lease_seconds = 60};
    g_autoptr(GError) error = NULL;
    g_assert_true(store_register_worker(store, &info, &wanted.worker, &error));
    campaign_free(its);
    g_autoptr(GPtrArray) jobs = store_claim(store, &wanted, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(jobs->len, ==, 1);
    return g_ptr_array_steal_index(jobs, 0);
}

/* Proposes again the round that followed the first `before` rounds of a job. */
static char *propose_again(Store *store, int64_t campaign, const char *target_id, guint before)
{
    struct work work;
    struct target target;
    g_autoptr(GError) error = NULL;
    g_autoptr(GPtrArray) quarantine = g_ptr_array_new();
    struct job *job = claim(store, campaign, target_id);
    g_assert_true(target_parse(target_id, &target, NULL));
    g_ptr_array_set_size(job->rounds, (gint)before);
    g_assert_true(store_release_job(store, job, &error));
    work_init(&work, job, &target, POOL_BUILD, quarantine);
    g_assert_null(work.refusal);
    g_assert_true(work_propose(&work));
    g_autoptr(GString) all = g_string_new(NULL);
    for (int i = 0; i < work.round->config_count; i++) {
        char text[CONFIG_TEXT_MAX];
        g_string_append_printf(all, "%s%s", i ? " " : "",
                               perf_config_format(&work.round->configs[i], text));
    }
    work_clear(&work);
    return g_string_free(g_steal_pointer(&all), FALSE);
}

/* Each round of a job is proposed again from its history and its stored prior, also when the prior's campaign was
 * dropped. */
static void job_replays_when_its_prior_is_gone(void)
{
    g_autoptr(Store) store = scratch_store();
    g_autoptr(GError) error = NULL;
    g_autofree char *target = own_target(store);
    struct perf_config found[2], usual;
    char near[CONFIG_TEXT_MAX], here[CONFIG_TEXT_MAX];
    find_configs(target, found, &usual);
    int64_t theirs = import(store, target, perf_config_format(&found[0], near),
                            perf_config_format(&found[1], here));
    int64_t id = create("0");
    g_assert_cmpint(live_wait(live_worker(program(), quick)), ==, 0);
    g_assert_true(store_change_campaign(store, theirs, "drop", &error));
    g_assert_true(store_do(store, &error, "DELETE FROM winners", ""));
    /* The job goes on as if its limit had been larger, so that it can be claimed again. */
    g_assert_true(store_do(store, &error,
                           "WITH gone AS (DELETE FROM job_ends WHERE campaign_id = $1"
                           " RETURNING job_id, rounds) INSERT INTO bundles (campaign_id, solver_id,"
                           " state, round_no, position, job_ids) SELECT $1, j.solver_id, 'ready',"
                           " g.rounds, 1, ARRAY[j.id] FROM gone g JOIN jobs j ON j.campaign_id = $1"
                           " AND j.id = g.job_id",
                           "l", id));
    g_assert_true(
        store_do(store, &error, "UPDATE campaigns SET state = 'active' WHERE id = $1", "l", id));
    g_assert_no_error(error);
    for (guint number = 0; number < 2; number++) {
        g_autofree char *then = round_configs(store, id, (int)number);
        g_autofree char *now = propose_again(store, id, target, number);
        g_assert_cmpstr(now, ==, then);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/prior/imported_winner_is_tried_after_the_default",
                    imported_winner_is_tried_after_the_default);
    g_test_add_func("/prior/job_replays_when_it_is_gone", job_replays_when_its_prior_is_gone);
    return g_test_run();
}
