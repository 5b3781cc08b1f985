/* The queue against a real PostgreSQL, with as many connections as a case has workers. */
#include "schema/store_private.h"
#include "tests/support/scratch_db.h"

#include <locale.h>
#include <string.h>

#define SOLVER "ConvTest:1:h1"

static const char *const carried[] = {SOLVER, NULL};

struct farm {
    Store *store;
    int64_t campaign;
    int64_t workers[2];
};

static void make_problem(struct problem *p, int64_t channels)
{
    problem_init(p);
    p->c = channels;
    p->k = 64;
    p->in[AXIS_H] = p->in[AXIS_W] = 14;
    problem_set_output(p);
}

struct order {
    const char *strategy;
    int64_t seed;
    int jobs, configs_limit;
    double budget_seconds;
    bool build_only;
};

static int64_t create(Store *store, const struct order *order, int *reused)
{
    char name[] = "test", identity[] = "id", target[] = "gfx90a68", strategy[16];
    GError *error = NULL;
    g_strlcpy(strategy, order->strategy ? order->strategy : "random", sizeof strategy);
    struct campaign campaign = {.name = name,
                                .identity = identity,
                                .target = target,
                                .strategy = strategy,
                                .seed = order->seed,
                                .round_configs = 4,
                                .configs_limit = order->configs_limit,
                                .budget_seconds = order->budget_seconds,
                                .build_only = order->build_only};
    struct job_plan *plans = g_new0(struct job_plan, (gsize)order->jobs);
    for (int i = 0; i < order->jobs; i++) {
        plans[i] = (struct job_plan){.solver = "ConvTest",
                                     .revision = 1,
                                     .hash = "h1",
                                     .provider = "test",
                                     .algorithm = "Direct",
                                     .tunable = true,
                                     .priority = 1.0 / (i + 1),
                                     .multiplicity = i + 1};
        make_problem(&plans[i].problem, 8 * (i + 1));
    }
    g_assert_true(store_create_campaign(store, &campaign, plans, order->jobs, reused, &error));
    g_assert_no_error(error);
    g_free(plans);
    return campaign.id;
}

static void farm_init(struct farm *farm, const struct order *order)
{
    GError *error = NULL;
    farm->store = scratch_store();
    farm->campaign = order == NULL ? 0 : create(farm->store, order, NULL);
    for (int i = 0; i < 2; i++) {
        struct worker_info info = {.node = i == 0 ? "one" : "two",
                                   .process = "p",
                                   .target = "gfx90a68",
                                   .stack = "clang 15.0.6; hip 5.2"};
        g_assert_true(store_register_worker(farm->store, &info, &farm->workers[i], &error));
        g_assert_no_error(error);
    }
}

static void farm_clear(struct farm *farm)
{
    store_close(farm->store);
}

static GPtrArray *claim_on(Store *store, int64_t worker, enum pool pool, int batch,
                           double lease_seconds)
{
    GError *error = NULL;
    struct claim claim = {.worker = worker,
                          .pool = pool,
                          .target = "gfx90a68",
                          .solvers = carried,
                          .batch = batch,
                          .lease_seconds = lease_seconds};
    GPtrArray *jobs = store_claim(store, &claim, &error);
    g_assert_no_error(error);
    return jobs;
}

/* One job, or NULL when none is claimable. Free with job_free(). */
static struct job *claim_one(struct farm *farm, int worker, enum pool pool)
{
    g_autoptr(GPtrArray) jobs = claim_on(farm->store, farm->workers[worker], pool, 1, 60);
    return jobs->len == 0 ? NULL : g_ptr_array_steal_index(jobs, 0);
}

static struct round *make_round(int number)
{
    struct round *round = round_new(2);
    round->number = number;
    round->stack = g_strdup("clang 15.0.6");
    for (int i = 0; i < 2; i++) {
        round->configs[i].count = 2;
        round->configs[i].values[0] = number;
        round->configs[i].values[1] = i;
        round->kernel_keys[i] = g_strdup_printf("%064d,%064d", number, i);
    }
    return round;
}

static void evaluate(struct round *round, double ms)
{
    round->outcomes[0] = (struct outcome){.failure = FAILURE_NONE,
                                          .n = 10,
                                          .min_ms = ms * 0.9,
                                          .median_ms = ms,
                                          .spread = 0.01,
                                          .error = 0.3,
                                          .build_seconds = 0.5,
                                          .eval_seconds = 1.5};
    round->outcomes[1].failure = FAILURE_WRONG_RESULT;
    round->details[1] = g_strdup("differs at \"3\"");
}

static struct kept make_kept(const struct round *round)
{
    static char text[] = "0,0", keys[] = "k";
    return (struct kept){.config = round->configs[0],
                         .config_text = text,
                         .kernel_keys = keys,
                         .outcome = round->outcomes[0],
                         .workspace_bytes = 4096,
                         .flops = 1e9,
                         .is_default = true};
}

static bool try_built(struct farm *farm, const struct job *job, int number, GError **error)
{
    struct round *round = make_round(number);
    bool done = store_built(farm->store, job, round, error);
    round_free(round);
    return done;
}

static bool try_round(struct farm *farm, const struct job *job, int number, bool more,
                      double seconds, GError **error)
{
    struct round *round = make_round(number);
    evaluate(round, 2.0 + number);
    struct kept kept = make_kept(round);
    bool done = store_round(farm->store, job, round, &kept, 1, more, seconds, error);
    round_free(round);
    return done;
}

static void built(struct farm *farm, const struct job *job, int number)
{
    g_autoptr(GError) error = NULL;
    try_built(farm, job, number, &error);
    g_assert_no_error(error);
}

static void round_done(struct farm *farm, const struct job *job, int number, bool more,
                       double seconds)
{
    g_autoptr(GError) error = NULL;
    try_round(farm, job, number, more, seconds, &error);
    g_assert_no_error(error);
}

/* Takes one job through a whole round. */
static void work(struct farm *farm, int number, bool more, double seconds)
{
    struct job *job = claim_one(farm, 0, POOL_BUILD);
    g_assert_nonnull(job);
    built(farm, job, number);
    job_free(job);
    job = claim_one(farm, 0, POOL_EVAL);
    g_assert_nonnull(job);
    round_done(farm, job, number, more, seconds);
    job_free(job);
}

static struct job_row *job_row(struct farm *farm, int64_t campaign, guint index, GPtrArray **rows)
{
    g_autoptr(GError) error = NULL;
    *rows = store_list_jobs(farm->store, campaign, &error);
    g_assert_no_error(error);
    g_assert_cmpuint((*rows)->len, >, index);
    return (*rows)->pdata[index];
}

static void expect_job(struct farm *farm, const char *state, int strikes, enum failure failure)
{
    g_autoptr(GPtrArray) rows = NULL;
    const struct job_row *row = job_row(farm, farm->campaign, 0, &rows);
    g_assert_cmpstr(row->state, ==, state);
    g_assert_cmpint(row->strikes, ==, strikes);
    g_assert_cmpstr(failure_name(row->failure), ==, failure_name(failure));
}

static void expect_campaign(struct farm *farm, int64_t id, const char *state)
{
    g_autoptr(GError) error = NULL;
    struct campaign *campaign = store_get_campaign(farm->store, id, &error);
    g_assert_no_error(error);
    g_assert_cmpstr(campaign->state, ==, state);
    campaign_free(campaign);
}

static void change(struct farm *farm, const char *verb)
{
    g_autoptr(GError) error = NULL;
    store_change_campaign(farm->store, farm->campaign, verb, &error);
    g_assert_no_error(error);
}

/* ---- claiming ---- */

static void test_job_goes_round(void)
{
    struct farm farm;
    farm_init(&farm, &(struct order){.jobs = 1, .seed = 7});
    struct job *job = claim_one(&farm, 0, POOL_BUILD);
    g_assert_cmpint(job->fence, ==, 1);
    g_assert_cmpint(job->seed, ==, 7);
    g_assert_cmpstr(job->solver, ==, "ConvTest");
    g_assert_cmpstr(job->target, ==, "gfx90a68");
    g_assert_cmpint(job->problem.c, ==, 8);
    g_assert_cmpuint(job->rounds->len, ==, 0);
    g_assert_null(claim_one(&farm, 1, POOL_EVAL));
    built(&farm, job, 0);
    built(&farm, job, 0);
    job_free(job);
    expect_job(&farm, "built", 0, FAILURE_NONE);

    job = claim_one(&farm, 1, POOL_EVAL);
    g_assert_cmpuint(job->rounds->len, ==, 1);
    const struct round *open = job->rounds->pdata[0];
    g_assert_cmpint(open->config_count, ==, 2);
    g_assert_cmpint(open->configs[1].count, ==, 2);
    g_assert_cmpint(open->configs[1].values[1], ==, 1);
    g_assert_cmpint(open->outcomes[0].failure, ==, FAILURE_PENDING);
    g_assert_cmpuint(strlen(open->kernel_keys[0]), ==, 129);
    round_done(&farm, job, 0, true, 2.5);
    round_done(&farm, job, 0, true, 2.5);
    job_free(job);

    job = claim_one(&farm, 0, POOL_BUILD);
    g_assert_cmpint(job->fence, ==, 3);
    g_assert_cmpfloat(job->best_ms, ==, 2.0);
    g_assert_cmpuint(job->rounds->len, ==, 1);
    const struct round *stored = job->rounds->pdata[0];
    g_assert_cmpstr(stored->stack, ==, "clang 15.0.6");
    g_assert_cmpfloat(stored->outcomes[0].median_ms, ==, 2.0);
    g_assert_cmpstr(stored->details[1], ==, "differs at \"3\"");
    g_autoptr(GError) error = NULL;
    g_assert_true(store_finish_job(farm.store, job, &error));
    job_free(job);
    expect_job(&farm, "done", 0, FAILURE_NONE);
    expect_campaign(&farm, farm.campaign, "done");
    struct campaign *campaign = store_get_campaign(farm.store, farm.campaign, NULL);
    g_assert_cmpfloat(campaign->spent_seconds, ==, 2.5);
    campaign_free(campaign);
    farm_clear(&farm);
}

static void test_lowest_round_then_priority_goes_first(void)
{
    struct farm farm;
    farm_init(&farm, &(struct order){.jobs = 3});
    work(&farm, 0, true, 1);
    g_autoptr(GPtrArray) jobs = claim_on(farm.store, farm.workers[0], POOL_BUILD, 8, 60);
    const int64_t channels[] = {16, 24, 8};
    g_assert_cmpuint(jobs->len, ==, 3);
    for (guint i = 0; i < jobs->len; i++) {
        struct job *job = jobs->pdata[i];
        g_assert_cmpint(job->problem.c, ==, channels[i]);
        job_free(job);
    }
    g_ptr_array_set_free_func(jobs, NULL);
    farm_clear(&farm);
}

static void test_worker_gets_only_what_it_carries(void)
{
    struct farm farm;
    g_autoptr(GError) error = NULL;
    farm_init(&farm, &(struct order){.jobs = 1});
    const char *const other[] = {"ConvTest:2:h2", "ConvOther:1:h1", NULL};
    struct claim claim = {.worker = farm.workers[0],
                          .pool = POOL_BUILD,
                          .solvers = other,
                          .batch = 1,
                          .lease_seconds = 60};
    g_autoptr(GPtrArray) none = store_claim(farm.store, &claim, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(none->len, ==, 0);
    claim.solvers = carried;
    claim.target = "gfx1030_36";
    g_autoptr(GPtrArray) wrong_target = store_claim(farm.store, &claim, &error);
    g_assert_cmpuint(wrong_target->len, ==, 0);
    claim.target = NULL;
    g_autoptr(GPtrArray) one = store_claim(farm.store, &claim, &error);
    g_assert_cmpuint(one->len, ==, 1);
    farm_clear(&farm);
}

struct racer {
    int64_t worker;
    const char *url;
    GArray *ids;
};

static gpointer race(gpointer data)
{
    struct racer *racer = data;
    g_autoptr(Store) store = store_open(racer->url, NULL);
    for (;;) {
        g_autoptr(GPtrArray) jobs = claim_on(store, racer->worker, POOL_BUILD, 3, 60);
        if (jobs == NULL || jobs->len == 0)
            return NULL;
        for (guint i = 0; i < jobs->len; i++)
            g_array_append_val(racer->ids, ((struct job *)jobs->pdata[i])->id);
    }
}

static void test_two_workers_never_get_one_job(void)
{
    enum { RACERS = 4, JOBS = 120 };
    struct farm farm;
    struct racer racers[RACERS];
    GThread *threads[RACERS];
    g_autoptr(GHashTable) seen = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
    farm_init(&farm, &(struct order){.jobs = JOBS});
    for (int i = 0; i < RACERS; i++) {
        racers[i] = (struct racer){.worker = farm.workers[i % 2],
                                   .url = scratch_db_url(),
                                   .ids = g_array_new(FALSE, FALSE, sizeof(int64_t))};
        threads[i] = g_thread_new("racer", race, &racers[i]);
    }
    for (int i = 0; i < RACERS; i++) {
        g_thread_join(threads[i]);
        for (guint n = 0; n < racers[i].ids->len; n++) {
            int64_t id = g_array_index(racers[i].ids, int64_t, n);
            g_assert_true(g_hash_table_add(seen, g_memdup2(&id, sizeof id)));
        }
        g_array_unref(racers[i].ids);
    }
    g_assert_cmpuint(g_hash_table_size(seen), ==, JOBS);
    farm_clear(&farm);
}

/* ---- fences, leases, strikes ---- */

/* Lets worker 0's lease run out and returns it by worker 1's beat. */
static struct job *claim_and_lose(struct farm *farm, enum pool pool)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GPtrArray) jobs = claim_on(farm->store, farm->workers[0], pool, 1, 0.01);
    g_assert_cmpuint(jobs->len, ==, 1);
    g_usleep(15000);
    g_assert_true(store_heartbeat(farm->store, farm->workers[1], &error));
    g_assert_no_error(error);
    return g_ptr_array_steal_index(jobs, 0);
}

static void test_late_result_is_refused(void)
{
    struct farm farm;
    g_autoptr(GError) error = NULL;
    farm_init(&farm, &(struct order){.jobs = 1});
    struct job *late = claim_and_lose(&farm, POOL_BUILD);
    struct job *now = claim_one(&farm, 1, POOL_BUILD);
    g_assert_cmpint(now->id, ==, late->id);
    g_assert_cmpint(now->fence, ==, late->fence + 1);
    g_assert_cmpint(now->strikes, ==, 1);
    g_assert_false(try_built(&farm, late, 0, &error));
    g_assert_error(error, STORE_ERROR, STORE_ERROR_FENCE);
    g_clear_error(&error);
    g_assert_false(store_fail_job(farm.store, late, FAILURE_COMPILE_ERROR, "late", &error));
    g_assert_error(error, STORE_ERROR, STORE_ERROR_FENCE);
    g_clear_error(&error);
    g_assert_false(store_release_job(farm.store, late, &error));
    g_assert_error(error, STORE_ERROR, STORE_ERROR_FENCE);
    built(&farm, now, 0);
    job_free(late);
    job_free(now);
    farm_clear(&farm);
}

static void test_result_after_the_lease_ran_out_is_accepted(void)
{
    struct farm farm;
    farm_init(&farm, &(struct order){.jobs = 1});
    struct job *job = claim_and_lose(&farm, POOL_BUILD);
    expect_job(&farm, "ready", 1, FAILURE_NONE);
    built(&farm, job, 0);
    expect_job(&farm, "built", 1, FAILURE_NONE);
    job_free(job);
    job = claim_and_lose(&farm, POOL_EVAL);
    expect_job(&farm, "built", 2, FAILURE_NONE);
    round_done(&farm, job, 0, true, 1);
    expect_job(&farm, "ready", 0, FAILURE_NONE);
    job_free(job);
    farm_clear(&farm);
}

static void test_third_strike_fails_the_job(void)
{
    struct farm farm;
    farm_init(&farm, &(struct order){.jobs = 1});
    for (int i = 0; i < 2; i++) {
        job_free(claim_and_lose(&farm, POOL_BUILD));
        expect_job(&farm, "ready", i + 1, FAILURE_NONE);
    }
    struct job *job = claim_and_lose(&farm, POOL_BUILD);
    expect_job(&farm, "failed", 3, FAILURE_WORKER_LOST);
    expect_campaign(&farm, farm.campaign, "done");
    built(&farm, job, 0);
    expect_job(&farm, "built", 3, FAILURE_NONE);
    job_free(job);
    farm_clear(&farm);
}

static void test_beat_renews_every_lease(void)
{
    struct farm farm;
    g_autoptr(GError) error = NULL;
    farm_init(&farm, &(struct order){.jobs = 2});
    g_autoptr(GPtrArray) jobs = claim_on(farm.store, farm.workers[0], POOL_BUILD, 2, 0.2);
    for (int i = 0; i < 6; i++) {
        g_usleep(50000);
        g_assert_true(store_heartbeat(farm.store, farm.workers[0], &error));
        g_assert_true(store_heartbeat(farm.store, farm.workers[1], &error));
    }
    expect_job(&farm, "building", 0, FAILURE_NONE);
    g_autoptr(GPtrArray) workers = store_list_workers(farm.store, "one", &error);
    const struct worker_row *row = workers->pdata[0];
    g_assert_cmpint(row->leases, ==, 2);
    g_assert_cmpfloat(row->beat_age_seconds, <, 5);
    g_assert_false(store_heartbeat(farm.store, 99, &error));
    g_assert_error(error, STORE_ERROR, STORE_ERROR_NOT_FOUND);
    farm_clear(&farm);
}

static void test_release_costs_no_strike(void)
{
    struct farm farm;
    g_autoptr(GError) error = NULL;
    farm_init(&farm, &(struct order){.jobs = 1});
    struct job *job = claim_one(&farm, 0, POOL_BUILD);
    g_assert_true(store_release_job(farm.store, job, &error));
    g_assert_true(store_release_job(farm.store, job, &error));
    job_free(job);
    expect_job(&farm, "ready", 0, FAILURE_NONE);
    job_free(claim_one(&farm, 0, POOL_BUILD));
    g_assert_true(store_worker_ended(farm.store, farm.workers[0], &error));
    expect_job(&farm, "ready", 0, FAILURE_NONE);
    job = claim_one(&farm, 0, POOL_BUILD);
    built(&farm, job, 0);
    job_free(job);
    job_free(claim_one(&farm, 0, POOL_EVAL));
    g_assert_true(store_worker_lost(farm.store, farm.workers[0], &error));
    g_assert_no_error(error);
    expect_job(&farm, "built", 1, FAILURE_NONE);
    farm_clear(&farm);
}

static void test_partial_outcomes_survive_a_lost_lease(void)
{
    struct farm farm;
    g_autoptr(GError) error = NULL;
    struct progress progress;
    farm_init(&farm, &(struct order){.jobs = 1});
    struct job *job = claim_one(&farm, 0, POOL_BUILD);
    built(&farm, job, 0);
    job_free(job);
    job = claim_one(&farm, 0, POOL_EVAL);
    struct round *round = make_round(0);
    evaluate(round, 3.0);
    round->outcomes[1].failure = FAILURE_PENDING;
    g_assert_true(store_partial(farm.store, job, round, &error));
    g_assert_no_error(error);
    round_free(round);
    g_assert_true(store_progress(farm.store, farm.campaign, &progress, &error));
    g_assert_cmpint(progress.evaluating, ==, 1);
    g_assert_cmpint(progress.configs_done, ==, 1);
    g_assert_cmpint(progress.configs_open, ==, 1);
    g_assert_cmpint(progress.kernels_built, ==, 2);
    g_assert_cmpfloat(progress.eval_seconds, ==, 1.5);
    job_free(job);
    g_assert_true(store_worker_lost(farm.store, farm.workers[0], &error));
    job = claim_one(&farm, 1, POOL_EVAL);
    const struct round *open = job->rounds->pdata[0];
    g_assert_cmpfloat(open->outcomes[0].median_ms, ==, 3.0);
    g_assert_cmpint(open->outcomes[1].failure, ==, FAILURE_PENDING);
    job_free(job);
    farm_clear(&farm);
}

/* ---- ends ---- */

static void test_job_without_a_verified_config_fails_with_the_commonest_failure(void)
{
    struct farm farm;
    g_autoptr(GError) error = NULL;
    farm_init(&farm, &(struct order){.jobs = 1});
    struct job *job = claim_one(&farm, 0, POOL_BUILD);
    built(&farm, job, 0);
    job_free(job);
    job = claim_one(&farm, 0, POOL_EVAL);
    struct round *round = make_round(0);
    round->outcomes[0].failure = round->outcomes[1].failure = FAILURE_OUT_OF_BOUNDS;
    g_assert_true(store_round(farm.store, job, round, NULL, 0, false, 1, &error));
    g_assert_no_error(error);
    round_free(round);
    job_free(job);
    expect_job(&farm, "failed", 0, FAILURE_OUT_OF_BOUNDS);
    expect_campaign(&farm, farm.campaign, "done");
    change(&farm, "retry");
    expect_job(&farm, "ready", 0, FAILURE_NONE);
    expect_campaign(&farm, farm.campaign, "active");
    job = claim_one(&farm, 0, POOL_BUILD);
    g_assert_cmpint(job->fence, ==, 3);
    g_assert_true(store_fail_job(farm.store, job, FAILURE_COMPILE_ERROR, "no \xfe", &error));
    expect_job(&farm, "failed", 0, FAILURE_COMPILE_ERROR);
    job_free(job);
    farm_clear(&farm);
}

static void test_spent_budget_gives_out_first_rounds_only(void)
{
    struct farm farm;
    g_autoptr(GError) error = NULL;
    farm_init(&farm, &(struct order){.jobs = 3, .budget_seconds = 10});
    work(&farm, 0, true, 6);
    work(&farm, 0, true, 6);
    expect_job(&farm, "ready", 0, FAILURE_NONE);
    struct job *job = claim_one(&farm, 0, POOL_BUILD);
    g_assert_cmpint(job->problem.c, ==, 24);
    expect_job(&farm, "done", 0, FAILURE_NONE);
    built(&farm, job, 0);
    job_free(job);
    job = claim_one(&farm, 0, POOL_EVAL);
    round_done(&farm, job, 0, true, 1);
    job_free(job);
    expect_campaign(&farm, farm.campaign, "done");
    g_assert_null(claim_one(&farm, 0, POOL_BUILD));

    g_assert_true(store_extend_campaign(farm.store, farm.campaign, 20, &error));
    g_assert_no_error(error);
    expect_campaign(&farm, farm.campaign, "active");
    g_autoptr(GPtrArray) jobs = claim_on(farm.store, farm.workers[0], POOL_BUILD, 9, 60);
    g_assert_cmpuint(jobs->len, ==, 3);
    farm_clear(&farm);
}

static void test_build_only_campaign_is_done_when_built(void)
{
    struct farm farm;
    farm_init(&farm, &(struct order){.jobs = 1, .build_only = true});
    struct job *job = claim_one(&farm, 0, POOL_BUILD);
    g_assert_true(job->build_only);
    built(&farm, job, 0);
    built(&farm, job, 0);
    job_free(job);
    expect_job(&farm, "done", 0, FAILURE_NONE);
    expect_campaign(&farm, farm.campaign, "done");
    farm_clear(&farm);
}

static void test_paused_campaign_gives_out_nothing(void)
{
    struct farm farm;
    g_autoptr(GError) error = NULL;
    farm_init(&farm, &(struct order){.jobs = 2});
    struct job *job = claim_one(&farm, 0, POOL_BUILD);
    change(&farm, "pause");
    g_assert_null(claim_one(&farm, 1, POOL_BUILD));
    built(&farm, job, 0);
    g_assert_false(store_change_campaign(farm.store, farm.campaign, "pause", &error));
    g_assert_error(error, STORE_ERROR, STORE_ERROR_STATE);
    g_clear_error(&error);
    change(&farm, "resume");
    struct job *other = claim_one(&farm, 1, POOL_BUILD);
    g_assert_nonnull(other);
    change(&farm, "cancel");
    g_assert_false(try_built(&farm, other, 0, &error));
    g_assert_error(error, STORE_ERROR, STORE_ERROR_STATE);
    g_clear_error(&error);
    expect_job(&farm, "cancelled", 0, FAILURE_NONE);
    g_assert_null(store_find_campaign(farm.store, "id", &error));
    g_assert_no_error(error);
    change(&farm, "drop");
    g_assert_false(try_built(&farm, other, 0, &error));
    g_assert_error(error, STORE_ERROR, STORE_ERROR_NOT_FOUND);
    job_free(job);
    job_free(other);
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
    make_problem(&plan.problem, 8);
    farm_init(&farm, NULL);
    struct campaign campaign = {
        .name = name, .identity = name, .target = target, .stack = bad, .strategy = strategy};
    g_assert_true(store_create_campaign(farm.store, &campaign, &plan, 1, NULL, &error));
    g_assert_null(claim_one(&farm, 0, POOL_BUILD));
    campaign.stack = good;
    g_assert_true(store_create_campaign(farm.store, &campaign, &plan, 1, NULL, &error));
    g_assert_no_error(error);
    struct job *job = claim_one(&farm, 0, POOL_BUILD);
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
    g_autoptr(GPtrArray) rejections = store_list_rejections(farm->store, campaign, &error);
    g_assert_cmpuint(rejections->len, ==, 2);
    const struct rejection *rejection = rejections->pdata[0];
    g_assert_cmpstr(rejection->config_text, ==, "0,1");
    g_assert_cmpstr(rejection->detail, ==, "differs at \"3\"");
    g_assert_true(store_count_outcomes(farm->store, campaign, counts, &error));
    g_assert_cmpint(counts[FAILURE_NONE], ==, 2);
    g_assert_cmpint(counts[FAILURE_WRONG_RESULT], ==, 2);
}

static void test_second_campaign_takes_over_what_the_first_found(void)
{
    struct farm farm;
    int reused = -1;
    farm_init(&farm, &(struct order){.jobs = 2, .seed = 1});
    work(&farm, 0, false, 1);
    work(&farm, 0, false, 1);
    expect_results(&farm, farm.campaign);
    int64_t other = create(farm.store, &(struct order){.jobs = 2, .seed = 2}, &reused);
    g_assert_cmpint(reused, ==, 0);
    expect_campaign(&farm, other, "active");
    int64_t larger = create(farm.store, &(struct order){.jobs = 3, .seed = 1}, &reused);
    g_assert_cmpint(reused, ==, 2);
    expect_campaign(&farm, larger, "active");
    expect_results(&farm, larger);
    change(&farm, "drop");
    expect_results(&farm, larger);
    g_autoptr(GPtrArray) rows = NULL;
    g_assert_true(job_row(&farm, larger, 0, &rows)->reused);
    farm_clear(&farm);
}

static void test_quarantined_config_comes_with_the_claim(void)
{
    struct farm farm;
    g_autoptr(GError) error = NULL;
    struct perf_config config = {.count = 2, .values = {4, -1}};
    int cleared = 0;
    farm_init(&farm, &(struct order){.jobs = 1});
    struct job *job = claim_one(&farm, 0, POOL_BUILD);
    g_assert_cmpuint(job->quarantined->len, ==, 0);
    g_assert_true(store_quarantine(farm.store, job, &config, FAILURE_DEVICE_FAULT, "boom", &error));
    g_assert_true(store_quarantine(farm.store, job, &config, FAILURE_DEVICE_FAULT, "boom", &error));
    g_assert_true(store_release_job(farm.store, job, &error));
    g_assert_no_error(error);
    job_free(job);
    job = claim_one(&farm, 0, POOL_BUILD);
    g_assert_cmpuint(job->quarantined->len, ==, 1);
    g_assert_true(
        perf_config_equal(&g_array_index(job->quarantined, struct perf_config, 0), &config));
    job_free(job);
    g_autoptr(GPtrArray) list = store_list_quarantine(farm.store, &error);
    g_assert_cmpuint(list->len, ==, 1);
    const struct quarantine_row *row = list->pdata[0];
    g_assert_cmpstr(row->config_text, ==, "4,-1");
    g_assert_cmpint(row->failure, ==, FAILURE_DEVICE_FAULT);
    g_assert_true(store_clear_quarantine(farm.store, "gfx90a68", &cleared, &error));
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
    struct job *job = claim_one(&farm, 0, POOL_BUILD);
    g_snprintf(key, sizeof key, "%064d", 1);
    g_snprintf(loose, sizeof loose, "%064d", 77);
    struct kernel_row row = {.key = key, .log = text, .code = g_bytes_new("code", 4)};
    g_assert_true(store_put_kernel(farm.store, &row, &error));
    row.key = loose;
    g_assert_true(store_put_kernel(farm.store, &row, &error));
    g_assert_true(store_collect_kernels(farm.store, &dropped, &error));
    g_assert_cmpint(dropped, ==, 0);
    built(&farm, job, 0);
    g_assert_true(store_collect_kernels(farm.store, &dropped, &error));
    g_assert_cmpint(dropped, ==, 1);
    job_free(job);
    job = claim_one(&farm, 0, POOL_EVAL);
    round_done(&farm, job, 0, false, 1);
    g_assert_true(store_collect_kernels(farm.store, &dropped, &error));
    g_assert_cmpint(dropped, ==, 1);
    g_assert_no_error(error);
    g_bytes_unref(row.code);
    job_free(job);
    farm_clear(&farm);
}

/* What a lost connection leaves behind: jobs are claimed, and the store knows no more than its token. */
static void test_claim_whose_answer_was_lost_is_released(void)
{
    struct farm farm;
    g_autoptr(GError) error = NULL;
    farm_init(&farm, &(struct order){.jobs = 1});
    job_free(claim_one(&farm, 0, POOL_BUILD));
    g_autoptr(StoreRows) rows =
        store_read(farm.store, &error, "SELECT to_jsonb(j) FROM jobs j WHERE worker_id = $1", "l",
                   farm.workers[0]);
    g_autoptr(StoreJson) object = store_row_json(rows, 0);
    g_assert_null(claim_one(&farm, 0, POOL_BUILD));
    farm.store->doubtful_worker = farm.workers[0];
    farm.store->doubtful_token = json_member_int(object, "claim_token");
    struct job *job = claim_one(&farm, 0, POOL_BUILD);
    g_assert_nonnull(job);
    g_assert_cmpint(job->strikes, ==, 0);
    job_free(job);
    farm_clear(&farm);
}

static void test_claim_works_again_when_the_server_is_back(void)
{
    struct farm farm;
    g_autoptr(GError) error = NULL;
    farm_init(&farm, &(struct order){.jobs = 1});
    g_assert_true(database_stop(&error));
    struct claim claim = {.worker = farm.workers[0],
                          .pool = POOL_BUILD,
                          .solvers = carried,
                          .batch = 1,
                          .lease_seconds = 60};
    g_assert_null(store_claim(farm.store, &claim, &error));
    g_assert_error(error, STORE_ERROR, STORE_ERROR_CONNECTION);
    g_clear_error(&error);
    g_assert_true(database_start(&error));
    struct job *job = claim_one(&farm, 0, POOL_BUILD);
    g_assert_nonnull(job);
    job_free(job);
    farm_clear(&farm);
}

static const struct {
    const char *name;
    void (*run)(void);
} tests[] = {
    {"/queue/job_goes_round", test_job_goes_round},
    {"/queue/claim/lowest_round_then_priority_goes_first",
     test_lowest_round_then_priority_goes_first},
    {"/queue/claim/worker_gets_only_what_it_carries", test_worker_gets_only_what_it_carries},
    {"/queue/claim/two_workers_never_get_one_job", test_two_workers_never_get_one_job},
    {"/queue/claim/late_result_is_refused", test_late_result_is_refused},
    {"/queue/claim/result_after_the_lease_ran_out_is_accepted",
     test_result_after_the_lease_ran_out_is_accepted},
    {"/queue/claim/one_whose_answer_was_lost_is_released",
     test_claim_whose_answer_was_lost_is_released},
    {"/queue/claim/works_again_when_the_server_is_back",
     test_claim_works_again_when_the_server_is_back},
    {"/queue/claim/campaign_that_names_a_stack_gets_workers_that_have_it",
     test_campaign_that_names_a_stack_gets_workers_that_have_it},
    {"/queue/claim/quarantined_config_comes_with_it", test_quarantined_config_comes_with_the_claim},
    {"/queue/lease/third_strike_fails_the_job", test_third_strike_fails_the_job},
    {"/queue/lease/beat_renews_every_lease", test_beat_renews_every_lease},
    {"/queue/lease/release_costs_no_strike", test_release_costs_no_strike},
    {"/queue/lease/partial_outcomes_survive_its_loss", test_partial_outcomes_survive_a_lost_lease},
    {"/queue/end/job_without_a_verified_config_fails_with_the_commonest_failure",
     test_job_without_a_verified_config_fails_with_the_commonest_failure},
    {"/queue/end/spent_budget_gives_out_first_rounds_only",
     test_spent_budget_gives_out_first_rounds_only},
    {"/queue/end/build_only_campaign_is_done_when_built",
     test_build_only_campaign_is_done_when_built},
    {"/queue/campaign/paused_one_gives_out_nothing", test_paused_campaign_gives_out_nothing},
    {"/queue/campaign/second_one_takes_over_what_the_first_found",
     test_second_campaign_takes_over_what_the_first_found},
    {"/queue/kernels/those_of_open_rounds_and_results_stay",
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
