/*
 * The farm that tests/coordinator/serve/page.t looks at: a scratch database with nights of history, a campaign with
 * refused configs, a night with a finding, and a campaign under way. Prints "URL FINISHED OPEN NIGHT": the
 * database and the ids of both campaigns and the night. Then each line "work" on its standard input takes two more
 * jobs of the open campaign through their rounds, which it confirms by a line. It ends, with the database, at end of
 * file.
 */
#include "coordinator/nights/judge/regressions.h"
#include "coordinator/nights/plan/night_reasons.h"
#include "schema/results/conditions.h"
#include "schema/results/store_history.h"
#include "schema/results/store_nights.h"
#include "schema/store/store_campaigns.h"
#include "schema/store/store_problems.h"
#include "solvers/problem/problem_key.h"
#include "tests/support/export/export_farm.h"
#include "tests/support/farm/scratch_db.h"

#include <stdio.h>
#include <string.h>

#define NIGHTS    8
#define NEW_STACK 5 /* the night from which on the software is another */
#define LIVE_KEYS 4
#define SOLVERS                                                                                    \
    "ConvDirectNaive,ConvDirectTiled,ConvIm2colGemm,ConvGemm1x1,ConvImplicitGemm,ConvWinograd"
#define GPU        "gfx90a68"
#define OLD_DRIVER "clang 15.0.7; driver 535.104"
#define NEW_DRIVER "clang 15.0.7; driver 550.54"

static const char *const live_keys[LIVE_KEYS] = {
    "32-28-28-3x3-32-28-28-2-1x1-1x1-1x1-0-NCHW-FP32-F",
    "64-28-28-1x1-128-28-28-2-0x0-1x1-1x1-0-NCHW-FP32-F",
    "16-56-56-3x3-16-56-56-2-1x1-1x1-1x1-0-NCHW-FP32-F",
    "96-14-14-3x3-96-14-14-2-1x1-1x1-1x1-0-NCHW-FP32-F",
};

static void check(bool done, GError **error)
{
    g_assert_no_error(*error);
    g_assert_true(done);
}

/* A made-up time in ms: one of the solver and problem, times up to 3 by the config, times the night's factor. */
static double measure(void *data, const struct job *job, const struct perf_config *config)
{
    char text[CONFIG_TEXT_MAX];
    const double *factor = data;
    guint config_hash = g_str_hash(perf_config_format(config, text));
    double solver = 0.04 * (1 + g_str_hash(job->solver) % 13);
    return solver * (1 + problem_hash(&job->problem) % 5) * (1 + config_hash % 41 / 20.0) * *factor;
}

static enum failure refuse(void *data, const struct job *job, const struct perf_config *config,
                           const char **detail)
{
    char text[CONFIG_TEXT_MAX];
    (void)data;
    guint hash = g_str_hash(perf_config_format(config, text)) % 7;
    if (strcmp(job->solver, "ConvDirectNaive") == 0 || config->count == 0)
        return FAILURE_NONE;
    if (hash == 0) {
        *detail = "element 77 of y: expected 1.25, got 1.5625, which is 31 times the tolerance";
        return FAILURE_WRONG_RESULT;
    }
    if (hash == 1) {
        *detail = "direct_tiled.cl:41: error: local memory of 98304 bytes exceeds 65536";
        return FAILURE_COMPILE_ERROR;
    }
    return FAILURE_NONE;
}

static void drop(struct export_farm *farm)
{
    g_autoptr(GError) error = NULL;
    check(store_change_campaign(farm->store, farm->campaign, "drop", &error), &error);
}

static void add_night(struct export_farm *farm, int night)
{
    g_autoptr(GError) error = NULL;
    static const double noise[] = {1, 1.004, 0.997, 1.002, 0.999};
    double factor = noise[night % 5] * (night < NEW_STACK ? 1 : 0.86);
    bool last = night == NIGHTS - 1;
    const struct export_farm_worker worker = {
        .configs = last ? 14 : 2,
        .spread = 0.012,
        .measure = measure,
        .refuse = last ? refuse : NULL,
        .data = &factor,
        .stack = night < NEW_STACK ? OLD_DRIVER : NEW_DRIVER,
    };
    g_autofree char *name = g_strdup_printf("night %d", night + 1);
    g_autofree char *date = g_strdup_printf("2026-11-%02d", 10 + night);
    export_farm_add(farm, &(struct export_farm_order){.name = name,
                                                      .keys = export_farm_keys,
                                                      .count = EXPORT_FARM_KEYS,
                                                      .solvers = SOLVERS,
                                                      .round_configs = 14});
    check(store_name_night(farm->store, farm->campaign, date, &error), &error);
    export_farm_serve(farm, &worker);
    check(store_gather_history(farm->store, farm->campaign, NULL, &error), &error);
    if (!last)
        drop(farm); /* the next night would take its results over */
}

/* ---- a node with a GPU ---- */

/* The node is at work on a campaign of its own. */
static void add_gpu_node(Store *store)
{
    const struct worker_device devices[] = {
        {"0", "AMD Instinct MI210", GPU, "GPU-aaaa", "0000:41:00.0", "", "driver 6.3.6"},
        {"1", "AMD Instinct MI210", GPU, "GPU-bbbb", "0000:61:00.0", "", "driver 6.3.6"},
    };
    const char *const labels[] = {"night", NULL};
    const struct worker_info info = {.node = "gpu-node-1",
                                     .process = "p2",
                                     .target = GPU,
                                     .stack = NEW_DRIVER,
                                     .labels = labels,
                                     .devices = devices,
                                     .device_count = G_N_ELEMENTS(devices)};
    const struct conditions conditions = {.device = "GPU-aaaa",
                                          .samples = 40,
                                          .sm_mhz_min = 1350,
                                          .sm_mhz_max = 1700,
                                          .temperature_c = 61,
                                          .power_w = 286.5};
    double factor = 0.1;
    const struct export_farm_worker worker = {.configs = 4,
                                              .spread = 0.004,
                                              .measure = measure,
                                              .data = &factor,
                                              .conditions = &conditions,
                                              .stack = NEW_DRIVER,
                                              .jobs = 2};
    struct export_farm farm;
    export_farm_enter(&farm, store, &info);
    export_farm_add(
        &farm, &(struct export_farm_order){
                   .name = "on MI210", .keys = export_farm_keys, .count = 1, .solvers = SOLVERS});
    export_farm_serve(&farm, &worker);
}

/* ---- a night with a finding ---- */

static void put_point(struct regression_point *point, const char *night, double ms, int revision)
{
    *point = (struct regression_point){.night = g_strdup(night),
                                       .campaign = 1,
                                       .solver = g_strdup("ConvDirectTiled"),
                                       .config = g_strdup("16,4"),
                                       .revision = revision,
                                       .hash = g_strdup("cafe"),
                                       .stack = g_strdup(NEW_DRIVER),
                                       .node = g_strdup("n"),
                                       .n = 25,
                                       .spread = 0.01,
                                       .median_ms = ms};
}

static json_t *finding(Store *store)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GPtrArray) problems =
        g_ptr_array_new_with_free_func((GDestroyNotify)regression_problem_free);
    struct regression_limits limits = REGRESSION_LIMITS;
    struct problem p;
    int64_t id = 0;
    g_assert_true(problem_key_parse(export_farm_keys[0], &p, NULL));
    check(store_put_problems(store, &p, 1, NULL, &id, &error), &error);
    struct regression_problem *problem = regression_problem_new(id, export_farm_keys[0]);
    struct regression_entry *entry = regression_problem_add(problem, "ConvDirectTiled");
    for (int i = 0; i < 4; i++) {
        struct regression_point point;
        put_point(&point, "2026-11-16", 0.2 + 0.0002 * i, 1);
        g_array_append_val(entry->earlier, point);
    }
    put_point(&entry->now, "2026-11-17", 0.26, 2);
    entry->has_now = true;
    regression_problem_use(problem, "tiny@1", 3, 1);
    g_ptr_array_add(problems, problem);
    g_autoptr(Regressions) found = regressions_judge(EXPORT_FARM_TARGET, 0, problems, &limits);
    struct regression_point again;
    put_point(&again, "2026-11-17", 0.261, 2);
    regressions_add_again(found, id, "ConvDirectTiled", &again);
    regression_point_clear(&again);
    regressions_judge_again(found);
    g_assert_cmpint(regressions_count(found, REGRESSION_SLOWER, REGRESSION_CONFIRMED), ==, 1);
    return regressions_to_json(found);
}

/* Begins a night with a campaign that is under way, and judges it already. Returns its id. */
static int64_t add_running_night(struct export_farm *farm)
{
    g_autoptr(GError) error = NULL;
    static const struct job_cause cause = {.reason = NIGHT_REASON_NEW_PROBLEM,
                                           .detail = "imported since the last night"};
    char target[] = EXPORT_FARM_TARGET, stack[] = NEW_DRIVER;
    json_t *file = json_pack("{s:s}", "name", "fleet");
    struct night_target row = {.target = target, .stack = stack, .plan = json_object()};
    struct night *night =
        store_begin_night(farm->store, "fleet", "2026-11-18", file, 0, NULL, &error);
    bool taken = false;
    int tries = 0;
    g_assert_no_error(error);
    int64_t id = night->id;
    night_free(night);
    check(store_take_night(farm->store, id, "head process 7", &taken, &error), &error);
    check(store_put_night_target(farm->store, id, &row, &error), &error);
    check(store_begin_night_step(farm->store, id, NIGHT_PLANNING, &tries, &error), &error);
    export_farm_add(farm, &(struct export_farm_order){.name = "fleet 2026-11-18",
                                                      .keys = live_keys,
                                                      .count = LIVE_KEYS,
                                                      .solvers = SOLVERS,
                                                      .night = id,
                                                      .cause = &cause});
    check(store_end_night_step(farm->store, id, NIGHT_PLANNING, false, "plan made", &error),
          &error);
    check(store_move_night(farm->store, id, NIGHT_PLANNING, NIGHT_TUNING, &error), &error);
    check(store_begin_night_step(farm->store, id, NIGHT_TUNING, &tries, &error), &error);
    json_t *judged = finding(farm->store);
    check(store_judge_night_target(farm->store, id, EXPORT_FARM_TARGET, judged, &error), &error);
    json_t *summary = json_object();
    check(store_set_night_summary(farm->store, id, summary, 1, false, &error), &error);
    json_decref(summary);
    json_decref(judged);
    json_decref(row.plan);
    json_decref(file);
    return id;
}

static void work(const struct export_farm *farm)
{
    double factor = 1;
    const struct export_farm_worker worker = {.configs = 2,
                                              .spread = 0.012,
                                              .measure = measure,
                                              .data = &factor,
                                              .stack = NEW_DRIVER,
                                              .jobs = 2};
    export_farm_serve(farm, &worker);
}

int main(void)
{
    struct export_farm farm;
    char line[16];
    export_farm_init(&farm);
    drop(&farm);
    for (int night = 0; night < NIGHTS; night++)
        add_night(&farm, night);
    int64_t finished = farm.campaign;
    add_gpu_node(farm.store);
    int64_t night = add_running_night(&farm);
    printf("%s %" G_GINT64_FORMAT " %" G_GINT64_FORMAT " %" G_GINT64_FORMAT "\n", scratch_db_url(),
           (gint64)finished, (gint64)farm.campaign, (gint64)night);
    fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {
        if (strcmp(line, "work\n") == 0)
            work(&farm);
        puts("done");
        fflush(stdout);
    }
    export_farm_clear(&farm);
    return 0;
}
