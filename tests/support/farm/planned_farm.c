#include "tests/support/farm/planned_farm.h"

#include "schema/store/store_campaigns.h"
#include "schema/store/store_private.h"
#include "tests/support/farm/scratch_db.h"

static const char *const carried[] = {"ConvTest:1:h1", "ConvOther:1:h1", NULL};

void planned_init(struct farm *farm, const struct planned *planned, int count,
                  double budget_seconds)
{
    g_autoptr(GError) error = NULL;
    char name[] = "test", identity[] = "planned", target[] = "gfx90a68", strategy[] = "random";
    struct job_plan plans[PLANNED_MAX] = {0};
    struct campaign campaign = {.name = name,
                                .identity = identity,
                                .target = target,
                                .strategy = strategy,
                                .round_configs = 4,
                                .budget_seconds = budget_seconds};
    g_assert_cmpint(count, <=, G_N_ELEMENTS(plans));
    for (int i = 0; i < count; i++) {
        plans[i] = (struct job_plan){.solver = planned[i].solver,
                                     .revision = 1,
                                     .hash = "h1",
                                     .provider = "test",
                                     .algorithm = "Direct",
                                     .tunable = true,
                                     .priority = 1.0 / (i + 1),
                                     .multiplicity = planned[i].multiplicity};
        farm_problem(&plans[i].problem, planned[i].channels);
    }
    farm_init(farm, NULL);
    g_assert_true(store_create_campaign(farm->store, &campaign, plans, count, NULL, NULL, &error));
    g_assert_no_error(error);
    farm->campaign = campaign.id;
}

struct job *planned_claim_of(struct farm *farm, enum pool pool, const char *const *solvers)
{
    g_autoptr(GError) error = NULL;
    struct claim claim = {.worker = farm->workers[0],
                          .pool = pool,
                          .target = "gfx90a68",
                          .solvers = solvers,
                          .batch = 1,
                          .lease_seconds = 60};
    g_autoptr(GPtrArray) jobs = store_claim(farm->store, &claim, &error);
    g_assert_no_error(error);
    return jobs->len == 0 ? NULL : g_ptr_array_steal_index(jobs, 0);
}

struct job *planned_claim(struct farm *farm, enum pool pool)
{
    return planned_claim_of(farm, pool, carried);
}

struct round *planned_round(const struct tries *measured)
{
    struct round *round = round_new(measured->count);
    round->number = measured->number;
    round->stack = g_strdup("clang 15.0.6");
    for (int i = 0; i < measured->count; i++) {
        round->configs[i].count = 2;
        round->outcomes[i].build_seconds = measured->build_seconds;
        round->configs[i].values[0] = i == 0 ? 0 : measured->number;
        round->configs[i].values[1] = i;
        round->kernel_keys[i] = g_strdup_printf("%064d", measured->number * 16 + i);
    }
    return round;
}

static int fastest(const struct tries *measured)
{
    int best = -1;
    for (int i = 0; i < measured->count; i++)
        if (measured->ms[i] > 0 && (best < 0 || measured->ms[i] < measured->ms[best]))
            best = i;
    return best;
}

static void evaluate(struct round *round, const struct tries *measured)
{
    for (int i = 0; i < round->config_count; i++) {
        double ms = measured->ms[i];
        round->outcomes[i] = (struct outcome){
            .failure = ms > 0 ? FAILURE_NONE : FAILURE_WRONG_RESULT,
            .n = ms > 0 ? 10 : 0,
            .min_ms = ms,
            .median_ms = ms,
            .build_seconds = measured->build_seconds,
            .eval_seconds = measured->seconds,
        };
    }
}

void planned_hand_in(struct farm *farm, const struct job *job, struct round *round,
                     const struct tries *measured)
{
    g_autoptr(GError) error = NULL;
    int best = fastest(measured);
    char text[CONFIG_TEXT_MAX] = "";
    struct kept kept = {0};
    evaluate(round, measured);
    if (best >= 0) {
        g_snprintf(text, sizeof text, "%d,%d", round->configs[best].values[0], best);
        kept = (struct kept){.config = round->configs[best],
                             .config_text = text,
                             .kernel_keys = round->kernel_keys[best],
                             .outcome = round->outcomes[best],
                             .flops = 1};
    }
    store_round(farm->store, job, round, &kept, best >= 0, true,
                measured->seconds * measured->count, &error);
    g_assert_no_error(error);
}

int64_t planned_work(struct farm *farm, const struct tries *measured)
{
    g_autoptr(GError) error = NULL;
    struct job *job = planned_claim(farm, POOL_BUILD);
    g_assert_nonnull(job);
    struct round *round = planned_round(measured);
    store_built(farm->store, job, round, &error);
    g_assert_no_error(error);
    job_free(job);
    job = planned_claim(farm, POOL_EVAL);
    g_assert_nonnull(job);
    planned_hand_in(farm, job, round, measured);
    int64_t channels = job->problem.c;
    round_free(round);
    job_free(job);
    return channels;
}

double planned_number(struct farm *farm, const char *sql)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(StoreRows) rows = store_run(farm->store, &error, sql, "");
    g_assert_no_error(error);
    return g_ascii_strtod(PQgetvalue(rows, 0, 0), NULL);
}
