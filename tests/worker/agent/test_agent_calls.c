/* Rounds that wait behind each other in the data lane, on a real database: one statement stores them. */
#include "schema/store/store_private.h"
#include "tests/support/farm/queue_farm.h"
#include "tests/support/farm/scratch_db.h"
#include "tests/support/patience.h"
#include "worker/agent/agent_calls.h"

#define JOBS  4
#define LARGE 6000 /* configs: two such rounds are more than one statement takes */

struct scene {
    struct farm farm;
    GPtrArray *jobs;
    struct agent agent;
    struct work works[JOBS];
    int codes[JOBS]; /* of the calls' errors, -1 before the answer and 0 without an error */
};

static void scene_init(struct scene *scene, enum pool pool)
{
    static const struct order order = {.jobs = JOBS};
    const struct lane_spec lane = {.url = scratch_db_url(), .patience_seconds = PATIENCE_SECONDS};
    *scene = (struct scene){.agent = {.state = AGENT_WORKING}};
    farm_init(&scene->farm, &order);
    for (int i = 0; pool == POOL_EVAL && i < JOBS; i++) {
        struct job *job = farm_claim_one(&scene->farm, 0, POOL_BUILD);
        farm_built(&scene->farm, job, 0);
        job_free(job);
    }
    scene->jobs = farm_claim(scene->farm.store, scene->farm.workers[0], pool, JOBS, 600);
    g_assert_cmpuint(scene->jobs->len, ==, JOBS);
    uv_loop_init(&scene->agent.loop);
    scene->agent.data = lane_new(&scene->agent.loop, &lane);
    for (int i = 0; i < JOBS; i++) {
        scene->works[i] =
            (struct work){.job = scene->jobs->pdata[i], .round = farm_make_round(0), .pool = pool};
        if (pool == POOL_EVAL)
            farm_evaluate(scene->works[i].round, 2);
        scene->codes[i] = -1;
    }
}

static void scene_clear(struct scene *scene)
{
    lane_free(scene->agent.data);
    uv_run(&scene->agent.loop, UV_RUN_DEFAULT);
    g_assert_cmpint(uv_loop_close(&scene->agent.loop), ==, 0);
    for (int i = 0; i < JOBS; i++)
        round_free(scene->works[i].round);
    g_ptr_array_unref(scene->jobs);
    farm_clear(&scene->farm);
}

static void answered(struct agent *agent, void *data, const GError *error)
{
    int *code = data;
    (void)agent;
    g_assert_cmpint(*code, ==, -1);
    g_assert_true(!error || error->domain == STORE_ERROR);
    *code = error ? error->code + 1 : 0;
}

static void nothing(struct agent *agent, void *data, const GError *error)
{
    (void)agent;
    (void)data;
    g_assert_no_error(error);
}

static uint64_t runs(const Lane *lane)
{
    uint64_t sum = 0;
    for (int i = 0; i <= HISTOGRAM_BOUNDS; i++)
        sum += lane_stats(lane)->seconds.counts[i];
    return sum;
}

/* The barrier runs at once; the rounds wait behind it, and then are that many calls. */
static void store_all_by(struct scene *scene, enum pool pool, unsigned calls)
{
    struct agent *agent = &scene->agent;
    call_barrier(agent, nothing, NULL);
    for (int i = 0; i < JOBS; i++) {
        struct work *work = &scene->works[i];
        GArray *kept = g_array_new(FALSE, FALSE, sizeof(struct kept));
        struct kept best = farm_make_kept(work->round);
        g_array_append_val(kept, best);
        if (pool == POOL_EVAL)
            call_round(agent, work, kept, false, SEARCH_TRIES_SPENT, 1, NULL, answered,
                       &scene->codes[i]);
        else
            call_built(agent, work, 0.5, answered, &scene->codes[i]);
        if (pool == POOL_BUILD)
            g_array_unref(kept);
    }
    uv_run(&agent->loop, UV_RUN_DEFAULT);
    g_assert_cmpuint(runs(agent->data), ==, 1 + calls);
}

static void store_all(struct scene *scene, enum pool pool)
{
    store_all_by(scene, pool, 1);
}

static void assert_codes(const struct scene *scene, int which, int code)
{
    for (int i = 0; i < JOBS; i++)
        g_assert_cmpint(scene->codes[i], ==, i == which ? code + 1 : 0);
}

static void test_all_are_stored(void)
{
    for (enum pool pool = POOL_BUILD; pool <= POOL_EVAL; pool++) {
        struct scene scene;
        scene_init(&scene, pool);
        store_all(&scene, pool);
        assert_codes(&scene, -1, 0);
        g_assert_cmpuint(scene.agent.counts.stored[pool], ==, JOBS);
        scene_clear(&scene);
    }
}

/* A job that another worker claimed meanwhile is refused; the others are stored. */
static void test_one_is_refused(void)
{
    for (enum pool pool = POOL_BUILD; pool <= POOL_EVAL; pool++) {
        struct scene scene;
        scene_init(&scene, pool);
        g_assert_true(store_release_job(scene.farm.store, scene.jobs->pdata[1], NULL));
        job_free(farm_claim_one(&scene.farm, 1, pool));
        store_all(&scene, pool);
        g_assert_cmpint(scene.codes[1], >, 0);
        assert_codes(&scene, 1, scene.codes[1] - 1);
        g_assert_cmpuint(scene.agent.counts.stored[pool], ==, JOBS - 1);
        g_assert_cmpuint(scene.agent.counts.refused[pool], ==, 1);
        scene_clear(&scene);
    }
}

/* A round that breaks the statement fails alone; the others are stored one by one. */
static void test_one_cannot_be_stored(void)
{
    g_autoptr(GError) error = NULL;
    struct scene scene;
    scene_init(&scene, POOL_BUILD);
    const struct job *job = scene.jobs->pdata[2];
    g_autofree char *sql = g_strdup_printf(
        "DO $do$ BEGIN CREATE FUNCTION breaks() RETURNS trigger LANGUAGE plpgsql AS"
        " $$ BEGIN PERFORM 1 / 0; END $$;"
        "CREATE TRIGGER breaks BEFORE INSERT ON rounds_%" G_GINT64_FORMAT " FOR EACH ROW"
        " WHEN (NEW.job_id = %" G_GINT64_FORMAT ") EXECUTE FUNCTION breaks(); END $do$",
        (gint64)job->campaign, (gint64)job->id);
    store_do(scene.farm.store, &error, sql, "");
    g_assert_no_error(error);
    store_all(&scene, POOL_BUILD);
    assert_codes(&scene, 2, STORE_ERROR_QUERY);
    store_do(scene.farm.store, &error, "DROP FUNCTION breaks CASCADE", "");
    g_assert_no_error(error);
    scene_clear(&scene);
}

static struct round *make_large_round(void)
{
    struct round *round = round_new(LARGE);
    round->stack = g_strdup("clang 15.0.6");
    for (int i = 0; i < LARGE; i++) {
        round->configs[i].count = 2;
        round->configs[i].values[1] = i;
        round->kernel_keys[i] = g_strdup_printf("%064d", i);
    }
    return round;
}

/* Rounds whose configs would make a statement too long for the server go in several. */
static void test_large_rounds_are_not_joined(void)
{
    g_autoptr(GError) error = NULL;
    struct scene scene;
    scene_init(&scene, POOL_BUILD);
    store_do(scene.farm.store, &error, "UPDATE campaigns SET round_configs = 10000", "");
    g_assert_no_error(error);
    for (int i = 1; i < JOBS; i++) {
        round_free(scene.works[i].round);
        scene.works[i].round = make_large_round();
    }
    store_all_by(&scene, POOL_BUILD, JOBS - 1);
    assert_codes(&scene, -1, 0);
    g_assert_cmpuint(scene.agent.counts.stored[POOL_BUILD], ==, JOBS);
    scene_clear(&scene);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/agent_calls/all_are_stored", test_all_are_stored);
    g_test_add_func("/agent_calls/one_is_refused", test_one_is_refused);
    g_test_add_func("/agent_calls/one_cannot_be_stored", test_one_cannot_be_stored);
    g_test_add_func("/agent_calls/large_rounds_are_not_joined", test_large_rounds_are_not_joined);
    return g_test_run();
}
