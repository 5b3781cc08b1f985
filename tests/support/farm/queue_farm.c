#include "tests/support/farm/queue_farm.h"

#include "schema/store/store_campaigns.h"
#include "schema/store/store_private.h"
#include "schema/store/store_queue.h"
#include "schema/store/store_workers.h"
#include "tests/support/farm/scratch_db.h"

#include <string.h>

#define SOLVER "ConvTest:1:h1"

const char *const farm_carried[] = {SOLVER, NULL};

void farm_problem(struct problem *p, int64_t channels)
{
    problem_init(p);
    p->c = channels;
    p->k = 64;
    p->in[AXIS_H] = p->in[AXIS_W] = 14;
    problem_set_output(p);
}

int64_t farm_create(Store *store, const struct order *order, int *reused)
{
    char name[] = "test", identity[] = "id", target[] = "gfx90a68", strategy[16];
    GError *error = NULL;
    g_strlcpy(strategy, order->strategy ? order->strategy : "random", sizeof strategy);
    struct campaign campaign = {.name = name,
                                .identity = identity,
                                .target = target,
                                .strategy = strategy,
                                .stack = (char *)order->stack,
                                .seed = order->seed,
                                .round_configs = 4,
                                .configs_limit = order->configs_limit,
                                .close_configs = order->close_configs,
                                .budget_seconds = order->budget_seconds,
                                .search_seconds = order->search_seconds,
                                .min_gain = order->min_gain,
                                .build_only = order->build_only,
                                .limits = order->limits};
    struct job_plan *plans = g_new0(struct job_plan, (gsize)order->jobs);
    for (int i = 0; i < order->jobs; i++) {
        plans[i] = (struct job_plan){.solver = "ConvTest",
                                     .revision = MAX(order->revision, 1),
                                     .hash = "h1",
                                     .provider = "test",
                                     .algorithm = "Direct",
                                     .tunable = true,
                                     .searches = order->searches,
                                     .priority = 1.0 / (i + 1),
                                     .multiplicity = i + 1};
        farm_problem(&plans[i].problem, 8 * (i + 1));
    }
    g_assert_true(
        store_create_campaign(store, &campaign, plans, order->jobs, NULL, reused, &error));
    g_assert_no_error(error);
    g_free(plans);
    return campaign.id;
}

void farm_init(struct farm *farm, const struct order *order)
{
    farm_init_at(farm, scratch_store(), order);
}

void farm_init_at(struct farm *farm, Store *store, const struct order *order)
{
    GError *error = NULL;
    farm->store = store;
    farm->campaign = order == NULL ? 0 : farm_create(farm->store, order, NULL);
    for (int i = 0; i < 2; i++) {
        struct worker_info info = {.node = i == 0 ? "one" : "two",
                                   .process = "p",
                                   .target = "gfx90a68",
                                   .stack = "clang 15.0.6; hip 5.2"};
        g_assert_true(store_register_worker(farm->store, &info, &farm->workers[i], &error));
        g_assert_no_error(error);
    }
}

void farm_clear(struct farm *farm)
{
    store_close(farm->store);
}

GPtrArray *farm_claim(Store *store, int64_t worker, enum pool pool, int batch, double lease_seconds)
{
    GError *error = NULL;
    struct claim claim = {.worker = worker,
                          .pool = pool,
                          .target = "gfx90a68",
                          .solvers = farm_carried,
                          .batch = batch,
                          .lease_seconds = lease_seconds};
    GPtrArray *jobs = store_claim(store, &claim, &error);
    g_assert_no_error(error);
    return jobs;
}

/* One job, or NULL if none is claimable. Free with job_free(). */
struct job *farm_claim_one(struct farm *farm, int worker, enum pool pool)
{
    g_autoptr(GPtrArray) jobs = farm_claim(farm->store, farm->workers[worker], pool, 1, 60);
    return jobs->len == 0 ? NULL : g_ptr_array_steal_index(jobs, 0);
}

struct round *farm_make_round(int number)
{
    struct round *round = round_new(2);
    round->number = number;
    round->stack = g_strdup("clang 15.0.6");
    round->caches = CACHES_WARM;
    round->verified_share = 0.25;
    for (int i = 0; i < 2; i++) {
        round->configs[i].count = 2;
        round->configs[i].values[0] = number;
        round->configs[i].values[1] = i;
        round->kernel_keys[i] = g_strdup_printf("%064d,%064d", number, i);
    }
    return round;
}

void farm_evaluate(struct round *round, double ms)
{
    round->outcomes[0] = (struct outcome){.failure = FAILURE_NONE,
                                          .n = 10,
                                          .min_ms = ms * 0.9,
                                          .median_ms = ms,
                                          .spread = 0.01,
                                          .error = 0.3,
                                          .proof_runs = 40,
                                          .proof_kinds = 2,
                                          .build_seconds = 0.5,
                                          .eval_seconds = 1.5};
    round->outcomes[1].failure = FAILURE_WRONG_RESULT;
    round->details[1] = g_strdup("differs at \"3\"");
}

struct kept farm_make_kept(const struct round *round)
{
    static char texts[][4] = {"0,0", "1,0", "2,0", "3,0", "4,0", "5,0", "6,0", "7,0", "8,0"};
    g_assert_cmpuint((unsigned)round->number, <, G_N_ELEMENTS(texts));
    return (struct kept){.config = round->configs[0],
                         .config_text = texts[round->number],
                         .kernel_keys = round->kernel_keys[0],
                         .outcome = round->outcomes[0],
                         .workspace_bytes = 4096,
                         .flops = 1e9,
                         .is_default = true};
}

bool farm_try_built(struct farm *farm, const struct job *job, int number, GError **error)
{
    struct round *round = farm_make_round(number);
    bool done = store_built(farm->store, job, round, error);
    round_free(round);
    return done;
}

bool farm_try_round(struct farm *farm, const struct job *job, int number, bool more, double seconds,
                    GError **error)
{
    struct round *round = farm_make_round(number);
    farm_evaluate(round, 2.0 + number);
    struct kept kept = farm_make_kept(round);
    bool done = store_round(farm->store, job, round, &kept, 1, more, seconds, error);
    round_free(round);
    return done;
}

void farm_built(struct farm *farm, const struct job *job, int number)
{
    g_autoptr(GError) error = NULL;
    farm_try_built(farm, job, number, &error);
    g_assert_no_error(error);
}

void farm_round(struct farm *farm, const struct job *job, int number, bool more, double seconds)
{
    g_autoptr(GError) error = NULL;
    farm_try_round(farm, job, number, more, seconds, &error);
    g_assert_no_error(error);
}

/* Claims a job, and takes it through building and evaluating of one round. */
void farm_work(struct farm *farm, int number, bool more, double seconds)
{
    struct job *job = farm_claim_one(farm, 0, POOL_BUILD);
    g_assert_nonnull(job);
    farm_built(farm, job, number);
    job_free(job);
    job = farm_claim_one(farm, 0, POOL_EVAL);
    g_assert_nonnull(job);
    farm_round(farm, job, number, more, seconds);
    job_free(job);
}

void farm_look_at_leases(struct farm *farm)
{
    g_autoptr(GError) error = NULL;
    store_do(farm->store, &error, "UPDATE lease_watch SET looked_at = '-infinity'", "");
    g_assert_no_error(error);
    store_heartbeat(farm->store, farm->workers[1], &error);
    g_assert_no_error(error);
}

struct job *farm_claim_and_lose(struct farm *farm, enum pool pool)
{
    g_autoptr(GPtrArray) jobs = farm_claim(farm->store, farm->workers[0], pool, 1, 0.01);
    g_assert_cmpuint(jobs->len, ==, 1);
    g_usleep(15000);
    farm_look_at_leases(farm);
    return g_ptr_array_steal_index(jobs, 0);
}

struct job_row *farm_job_row(struct farm *farm, int64_t campaign, guint index, GPtrArray **rows)
{
    g_autoptr(GError) error = NULL;
    *rows = store_list_jobs(farm->store, campaign, &error);
    g_assert_no_error(error);
    g_assert_cmpuint((*rows)->len, >, index);
    return (*rows)->pdata[index];
}

void farm_expect_job(struct farm *farm, const char *state, int strikes, enum failure failure)
{
    g_autoptr(GPtrArray) rows = NULL;
    const struct job_row *row = farm_job_row(farm, farm->campaign, 0, &rows);
    g_assert_cmpstr(row->state, ==, state);
    g_assert_cmpint(row->strikes, ==, strikes);
    g_assert_cmpstr(failure_name(row->failure), ==, failure_name(failure));
}

void farm_expect_campaign(struct farm *farm, int64_t id, const char *state)
{
    g_autoptr(GError) error = NULL;
    struct campaign *campaign = store_get_campaign(farm->store, id, &error);
    g_assert_no_error(error);
    g_assert_cmpstr(campaign->state, ==, state);
    campaign_free(campaign);
}

void farm_change(struct farm *farm, const char *verb)
{
    g_autoptr(GError) error = NULL;
    store_change_campaign(farm->store, farm->campaign, verb, &error);
    g_assert_no_error(error);
}
