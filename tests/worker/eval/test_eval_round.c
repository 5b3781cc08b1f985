/* Rounds on a device whose kernel is right and whose clock follows a script. */
#include "worker/eval/eval_round.h"

#include <math.h>
#include <string.h>

#include "tests/support/doubles/fake_device.h"
#include "worker/protocol/frames.h"

#define CONFIGS 3

/* Faults that a config has in slices alone: once or (SLIP_LAZY) from its second slice on. */
enum slip {
    SLIP_BEHIND_Y,
    SLIP_BEFORE_X,
    SLIP_CHANGES_X,
    SLIP_WRONG,  /* a race */
    SLIP_LAZY,   /* writes nothing */
    SLIP_REFUSED /* spoils its input, and the device refuses the next launch */
};

struct farm {
    struct fake_device fake; /* first */
    struct eval_round round;
    struct eval_request request;
    struct eval_end end;
    double run_ms[CONFIGS]
                 /* config's time in ms at its first, second and third measurement; 0 repeats the
                  * one before */
                 [3];
    int begun[CONFIGS], now;
    struct evaluation last[CONFIGS];
    /* the configs' indices (digits) in the order in which they were measured, and at last proved */
    char order[64];
    char reported[64]; /* the same of the outcomes */
    int stop_after;    /* stop after this many configs; 0: never */
    bool wrong;
    /* index of the config that is wrong in one run of 40, -1: none */
    int races;
    int other_order; /* index of the config that is off in the last place, in every run; -1: none */
    /* index of the config that writes behind y in timed runs, but not when verified; -1: none */
    int strays;
    int slips; /* index of the config that does `slip` once in a slice of its turns; -1: none */
    enum slip slip;
    int slips_left; /* runs of its slices until then */
    /* index of the config whose runs alternate between one and four times its time; -1: none */
    int restless;
    int runs; /* runs of the current config so far */
};

/* Whether this is the run that slips. A config's first turn verifies it and warms it up. */
static bool slips_now(struct farm *farm)
{
    return farm->now == farm->slips && farm->begun[farm->now] > 1 && farm->slips_left-- == 0;
}

/* A slice may run on each copy several times, so a single run that does nothing would be hidden by the others. */
static bool is_lazy_now(const struct farm *farm)
{
    return farm->slip == SLIP_LAZY && farm->now == farm->slips && farm->begun[farm->now] > 2;
}

static void slip(struct farm *farm, float *x, float *y, int64_t outputs)
{
    switch (farm->slip) {
    case SLIP_BEHIND_Y: y[outputs] = 1; return;
    case SLIP_BEFORE_X: x[-1] = 1; return;
    case SLIP_CHANGES_X: x[2] += 1; return;
    case SLIP_WRONG: y[2] += 1; return;
    case SLIP_LAZY: return;
    case SLIP_REFUSED: x[2] = 7; farm->fake.refuse_launch = true;
    }
}

/* The 1x1 convolution of the request's problem, packed FP32. */
static void run_kernel(struct fake_device *fake, const struct device_launch *launch,
                       void *const *memory)
{
    struct farm *farm = (struct farm *)fake;
    const struct problem *p = &farm->request.problem;
    float *x = memory[TENSOR_X];
    const float *w = memory[TENSOR_W];
    float *y = memory[TENSOR_Y];
    int64_t pixels = p->out[AXIS_H] * p->out[AXIS_W];
    bool slips = slips_now(farm), is_lazy = is_lazy_now(farm);
    (void)launch;
    for (int64_t i = 0; i < p->k * pixels && !is_lazy; i++) {
        y[i] = farm->wrong ? 1 : 0;
        for (int64_t c = 0; c < p->c; c++)
            y[i] += x[c * pixels + i % pixels] * w[i / pixels * p->c + c];
    }
    farm->runs++;
    if (farm->now == farm->other_order && x[0] != floorf(x[0]))
        y[1] *= 1 + 0x1p-23f;
    if (farm->now == farm->races && farm->runs % 40 == 39)
        y[2] += 1;
    if (farm->now == farm->strays && farm->runs > 1)
        y[p->k * pixels] = 1;
    if (slips)
        slip(farm, x, y, p->k * pixels);
    int visit = CLAMP(farm->begun[farm->now] - 1, 0, 2);
    while (visit > 0 && farm->run_ms[farm->now][visit] <= 0)
        visit--;
    bool is_slow = farm->now == farm->restless && farm->runs * 7919 % 13 < 6;
    fake->clock_ms += farm->run_ms[farm->now][visit] * (is_slow ? 4 : 1);
}

static bool note_begin(void *data, const struct eval_config *config, GError **error)
{
    struct farm *farm = data;
    (void)error;
    farm->now = config->index;
    farm->begun[config->index]++;
    farm->runs = 0;
    if (farm->slips >= 0)
        farm->fake.refuse_launch = false;
    gsize length = strlen(farm->order);
    g_snprintf(farm->order + length, sizeof(farm->order) - length, "%d", config->index);
    return true;
}

static bool note_outcome(void *data, const struct eval_config *config,
                         const struct evaluation *evaluation, GError **error)
{
    struct farm *farm = data;
    (void)error;
    farm->last[config->index] = *evaluation;
    gsize length = strlen(farm->reported);
    g_snprintf(farm->reported + length, sizeof(farm->reported) - length, "%d", config->index);
    return true;
}

static bool ask_stopped(void *data)
{
    struct farm *farm = data;
    return farm->stop_after > 0 && (int)strlen(farm->order) >= farm->stop_after;
}

static void farm_init(struct farm *farm, const double run_ms[CONFIGS])
{
    g_autoptr(GBytes) code = g_bytes_new_static("code", 4);
    memset(farm, 0, sizeof(*farm));
    fake_device_init(&farm->fake);
    farm->strays = farm->restless = farm->races = farm->other_order = farm->slips = -1;
    farm->fake.run = run_kernel;
    g_assert_true(target_parse("gfx90a68", &farm->fake.info.target, NULL));
    farm->request.target = farm->fake.info.target;
    problem_init(&farm->request.problem);
    farm->request.problem.c = farm->request.problem.k = 3;
    farm->request.problem.in[AXIS_H] = farm->request.problem.in[AXIS_W] = 4;
    problem_set_output(&farm->request.problem);
    farm->request.solver = solver_find("ConvDirectNaive");
    farm->request.sample_seconds = 0.05;
    farm->request.configs = g_array_new(FALSE, FALSE, sizeof(struct eval_config));
    for (int i = 0; i < CONFIGS; i++) {
        struct eval_config config = {.index = i, .kernel_count = 1, .kernels = {"key"}};
        g_array_append_val(farm->request.configs, config);
        farm->run_ms[i][0] = run_ms[i];
    }
    farm->round = (struct eval_round){.device = &farm->fake.device,
                                      .kernels = eval_kernels_new(&farm->fake.device),
                                      .request = &farm->request,
                                      .begin = note_begin,
                                      .outcome = note_outcome,
                                      .stopped = ask_stopped,
                                      .data = farm};
    eval_kernels_add(farm->round.kernels, "key", code);
}

static void farm_run(struct farm *farm)
{
    g_autoptr(GError) error = NULL;
    g_assert_true(eval_round_run(&farm->round, &farm->end, &error));
    g_assert_no_error(error);
}

static void farm_clear(struct farm *farm)
{
    eval_kernels_free(farm->round.kernels);
    eval_request_clear(&farm->request);
}

static void test_plain(void)
{
    struct farm farm;
    farm_init(&farm, (const double[CONFIGS]){2, 1, 1.5});
    farm.request.baseline = 1;
    farm_run(&farm);
    g_assert_cmpstr(farm.order, ==, "10211"); /* the default config is first and last, and wins */
    g_assert_cmpfloat_with_epsilon(farm.end.drift, 1, 1e-6);
    g_assert_false(farm.end.repeated || farm.end.stopped);
    g_assert_cmpfloat_with_epsilon(farm.last[0].times.median_ms, 2, 1e-6);
    for (int i = 0; i < CONFIGS; i++)
        g_assert_true(farm.last[i].cold);
    farm_clear(&farm);
    farm_init(&farm, (const double[CONFIGS]){2, 1, 1.5});
    farm.fake.info.cache_bytes = 0; /* the device does not say how large its cache is */
    farm_run(&farm);
    g_assert_false(farm.last[0].cold);
    farm_clear(&farm);
}

static void test_drift(void)
{
    struct farm farm;
    farm_init(&farm, (const double[CONFIGS]){1, 2, 1.5});
    farm.run_ms[0][1] = 1.3; /* the device got slower, and stays so */
    farm.run_ms[1][1] = 2.6;
    farm_run(&farm);
    g_assert_cmpstr(farm.order, ==, "01201200");
    g_assert_true(farm.end.repeated);
    g_assert_cmpfloat_with_epsilon(farm.end.drift, 1, 1e-6);
    g_assert_cmpfloat_with_epsilon(farm.last[1].times.median_ms, 2.6, 1e-6);
    farm_clear(&farm);
}

/* The limit is 15 % either way: a round with less drift counts, one with more is measured again. */
static void test_drift_limit(void)
{
    static const struct {
        double again_ms;
        bool repeats;
    } rows[] = {{1.14, false}, {1.16, true}, {0.88, false}, {0.86, true}};

    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        struct farm farm;
        farm_init(&farm, (const double[CONFIGS]){1, 2, 1.5});
        farm.run_ms[0][1] = rows[i].again_ms;
        farm_run(&farm);
        g_test_message("the default took %g of its time", rows[i].again_ms);
        g_assert_cmpint(farm.end.repeated, ==, rows[i].repeats);
        g_assert_cmpstr(farm.order, ==, rows[i].repeats ? "01201200" : "01200");
        farm_clear(&farm);
    }
}

static void test_drift_goes_on(void)
{
    struct farm farm;
    farm_init(&farm, (const double[CONFIGS]){1, 2, 1.5});
    farm.run_ms[0][1] = 2;
    farm.run_ms[0][2] = 4;
    farm_run(&farm);
    /* the round with drift is measured again once, not twice */
    g_assert_cmpstr(farm.order, ==, "01201202");
    g_assert_cmpfloat_with_epsilon(farm.end.drift, 2, 1e-6);
    farm_clear(&farm);
}

static void test_slow(void)
{
    struct farm farm;
    farm_init(&farm, (const double[CONFIGS]){1, 10, 1.5});
    farm_run(&farm);
    g_assert_cmpint(farm.last[1].failure, ==, FAILURE_SLOW);
    g_assert_cmpfloat_with_epsilon(farm.last[1].times.median_ms, 10, 1e-6);
    g_assert_cmpint(farm.last[2].failure, ==, FAILURE_NONE);
    farm_clear(&farm);
}

/* With "keep" every config gets a time, however slow it is. */
static void test_kept(void)
{
    struct farm farm;
    farm_init(&farm, (const double[CONFIGS]){1, 50, 2});
    farm.request.baseline = 0;
    farm.request.keep = true;
    farm_run(&farm);
    g_assert_cmpint(farm.last[1].failure, ==, FAILURE_NONE);
    g_assert_cmpfloat_with_epsilon(farm.last[1].times.median_ms, 50, 1e-6);
    farm_clear(&farm);
}

static void test_known_best(void)
{
    struct farm farm;
    farm_init(&farm, (const double[CONFIGS]){10, 10, 0.5});
    farm.request.best_ms = 1;
    farm_run(&farm);
    g_assert_cmpint(farm.last[0].failure, ==, FAILURE_NONE); /* the default is always measured */
    g_assert_cmpint(farm.last[1].failure, ==, FAILURE_SLOW);
    g_assert_cmpint(farm.last[2].failure, ==, FAILURE_NONE);
    farm_clear(&farm);
}

static void test_impossible(void)
{
    struct farm farm;
    farm_init(&farm, (const double[CONFIGS]){1, 0, 5e-5}); /* less than any launch takes */
    farm_run(&farm);
    g_assert_cmpint(farm.last[0].failure, ==, FAILURE_NONE);
    g_assert_cmpint(farm.last[1].failure, ==, FAILURE_TIME_IMPOSSIBLE);
    g_assert_cmpint(farm.last[2].failure, ==, FAILURE_TIME_IMPOSSIBLE);
    farm_clear(&farm);
}

static void test_wrong(void)
{
    struct farm farm;
    farm_init(&farm, (const double[CONFIGS]){1, 1, 1});
    farm.wrong = true;
    farm_run(&farm);
    for (int i = 0; i < CONFIGS; i++) {
        g_assert_cmpint(farm.last[i].failure, ==, FAILURE_WRONG_RESULT);
        g_assert_cmpint(farm.last[i].times.n, ==, 0); /* never measured */
    }
    g_assert_cmpstr(farm.order, ==, "012");
    g_assert_cmpfloat_with_epsilon(farm.end.drift, 0, 1e-6);
    farm_clear(&farm);
}

static void test_restless(void)
{
    struct farm farm;
    farm_init(&farm, (const double[CONFIGS]){1, 0.5, 1.5});
    farm.restless = 1;
    farm_run(&farm);
    g_assert_cmpint(farm.last[0].failure, ==, FAILURE_NONE);
    g_assert_cmpint(farm.last[1].failure, ==, FAILURE_UNSTABLE);
    g_assert_cmpint(farm.last[2].failure, ==, FAILURE_NONE);
    farm_clear(&farm);
}

/* A kernel may be right once and then write outside of its output. */
static void test_strays_when_timed(void)
{
    struct farm farm;
    farm_init(&farm, (const double[CONFIGS]){1, 0.5, 1.5});
    farm.strays = 1;
    farm_run(&farm);
    g_assert_cmpint(farm.last[0].failure, ==, FAILURE_NONE);
    g_assert_cmpint(farm.last[1].failure, ==, FAILURE_OUT_OF_BOUNDS);
    g_assert_nonnull(strstr(farm.last[1].detail, "outside of y"));
    g_assert_cmpint(farm.last[2].failure, ==, FAILURE_NONE);
    farm_clear(&farm);
}

/* Configs of a round sum in different orders: what the baseline gives at the end is compared with its own bytes, not
 * with those of the config before. */
static void test_orders(void)
{
    struct farm farm;
    farm_init(&farm, (const double[CONFIGS]){1, 0.5, 1.5});
    farm.other_order = 1;
    farm_run(&farm);
    for (int i = 0; i < CONFIGS; i++)
        g_assert_cmpint(farm.last[i].failure, ==, FAILURE_NONE);
    farm.other_order = 2;
    farm_run(&farm);
    for (int i = 0; i < CONFIGS; i++)
        g_assert_cmpint(farm.last[i].failure, ==, FAILURE_NONE);
    farm_clear(&farm);
}

/* The fastest config of a round is proved by many runs when all are measured, and those that led for a while are not.
 * The outcome of a config that may win is reported only then. */
static void test_proof(void)
{
    struct farm farm;
    farm_init(&farm, (const double[CONFIGS]){1, 0.8, 0.6});
    farm_run(&farm);
    g_assert_cmpstr(farm.order, ==, "01202");
    g_assert_cmpstr(farm.reported, ==, "201");
    g_assert_cmpint(farm.last[2].proof_runs, >=, 100);
    g_assert_nonnull(strstr(farm.last[2].detail, "runs compared: random, whole numbers"));
    g_assert_cmpint(farm.last[0].proof_runs + farm.last[1].proof_runs, ==, 0);
    farm_clear(&farm);
}

/* Configs that cannot win the problem, which has a faster one, are reported at once, and not proved. */
static void test_no_winner(void)
{
    struct farm farm;
    farm_init(&farm, (const double[CONFIGS]){1, 0.8, 0.6});
    farm.request.best_ms = 0.7;
    farm_run(&farm);
    g_assert_cmpstr(farm.order, ==, "01202");
    g_assert_cmpstr(farm.reported, ==, "0102");
    farm_clear(&farm);
    farm_init(&farm, (const double[CONFIGS]){1, 0.8, 0.6});
    farm.request.best_ms = 0.5;
    farm_run(&farm);
    g_assert_cmpstr(farm.order, ==, "0120");
    g_assert_cmpstr(farm.reported, ==, "0120");
    for (int i = 0; i < CONFIGS; i++)
        g_assert_cmpint(farm.last[i].proof_runs, ==, 0);
    farm_clear(&farm);
}

/* A winner that fails its proof is wrong. Configs that were dropped because of its time are measured again, and the
 * next fastest one is proved. */
static void test_wrong_winner(void)
{
    static const struct {
        double run_ms[CONFIGS];
        const char *order;
        int winner;
    } rows[] = {
        {{1, 0.2, 0.7}, "012012" /* dropped as slow */ "2", 2},
        {{1, 0.6, 0.9}, "012012" /* given up as lost */ "2", 2},
        {{1, 0.9, 1.5}, "012012" /* lost, and not the fastest then */ "0", 0},
        {{1, 0.9, 1.05}, "01201" /* measured to the end */ "0", 0},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        struct farm farm;
        farm_init(&farm, rows[i].run_ms);
        farm.races = 1;
        farm.request.sample_seconds = 2;
        farm_run(&farm);
        g_test_message("times of row %d", (int)i);
        g_assert_cmpstr(farm.order, ==, rows[i].order);
        g_assert_cmpint(farm.last[1].failure, ==, FAILURE_WRONG_RESULT);
        g_assert_nonnull(strstr(farm.last[1].detail, "results differ from run to run (a race)"));
        for (int c = 0; c < CONFIGS; c += 2) {
            g_assert_cmpint(farm.last[c].failure, ==, FAILURE_NONE);
            g_assert_false(c == rows[i].winner && farm.last[c].times.lost);
            g_assert_cmpint(farm.last[c].proof_runs, >=, c == rows[i].winner ? 100 : 0);
        }
        farm_clear(&farm);
    }
}

/* A request may want each config proved. */
static void test_all_proved(void)
{
    struct farm farm;
    farm_init(&farm, (const double[CONFIGS]){1, 0.2, 1.5});
    farm.races = 1;
    farm.request.keep = true;
    farm.request.proof_runs = 50;
    farm.request.sample_seconds = 2;
    farm_run(&farm);
    g_assert_cmpstr(farm.order, ==, "0120");
    g_assert_cmpint(farm.last[0].proof_runs, >=, 50);
    g_assert_nonnull(strstr(farm.last[0].detail, "runs compared"));
    g_assert_cmpint(farm.last[1].failure, ==, FAILURE_WRONG_RESULT);
    g_assert_cmpint(farm.last[2].proof_runs, >=, 50);
    farm_clear(&farm);
}

/* A config whose code was timed before is verified in its place: it gets no times, and faults are found. */
static void test_only_verified(void)
{
    struct farm farm;
    farm_init(&farm, (const double[CONFIGS]){1, 0.5, 1.5});
    struct eval_config *configs = (struct eval_config *)(void *)farm.request.configs->data;
    configs[0].only_verify = configs[1].only_verify = true;
    farm.strays = 1;
    farm.request.baseline = -1;
    farm_run(&farm);
    g_assert_cmpint(farm.last[0].failure, ==, FAILURE_NONE);
    g_assert_cmpint(farm.last[0].times.n, ==, 0);
    g_assert_cmpint(farm.last[1].failure, ==, FAILURE_OUT_OF_BOUNDS);
    g_assert_cmpint(farm.last[2].failure, ==, FAILURE_NONE);
    /* the baseline is the first config that has a time */
    g_assert_cmpstr(farm.order, ==, "01222");
    farm_clear(&farm);
}

static void farm_takes_turns(struct farm *farm)
{
    farm_init(farm, (const double[CONFIGS]){1, 0.99, 1.01});
    farm->request.together_seconds = 0.2;
    farm->fake.info.cache_bytes = 1024; /* few copies, so that runs return to them */
    farm->request.keep = true;
}

/* Configs that take turns are verified, take turns until the time is spent, and those that may win are proved. */
static void test_turns(void)
{
    struct farm farm;
    farm_takes_turns(&farm);
    farm_run(&farm);
    g_assert_true(g_str_has_prefix(farm.order, "012012120201"));
    for (int i = 0; i < CONFIGS; i++) {
        g_assert_cmpint(farm.last[i].failure, ==, FAILURE_NONE);
        g_assert_cmpfloat(farm.last[i].low_ms, >, 0);
    }
    g_assert_cmpint(farm.last[1].proof_runs, >=, 100);
    farm_clear(&farm);
}

/* Damage that a config does in its slice is found right after it, and only this config fails, whether its slice is the
 * first of a turn or the last. */
static void test_slips(void)
{
    static const struct {
        enum slip slip;
        enum failure failure;
        const char *detail;
    } rows[] = {
        {SLIP_BEHIND_Y, FAILURE_OUT_OF_BOUNDS, "wrote outside of y, at byte 192 of its 192"},
        {SLIP_BEFORE_X, FAILURE_OUT_OF_BOUNDS, "wrote outside of x, at byte -"},
        {SLIP_CHANGES_X, FAILURE_OUT_OF_BOUNDS, "changed its input x, at byte "},
        {SLIP_WRONG, FAILURE_WRONG_RESULT, "results differ from run to run (a race): 1 of 48"},
        {SLIP_LAZY, FAILURE_WRONG_RESULT, "results differ from run to run (a race): 48 of 48"},
        {SLIP_REFUSED, FAILURE_LAUNCH_ERROR, ""},
    };
    const int runs = 8; /* a config has more in the slices that it gets though the time is spent */
    for (int i = 0; i < (int)G_N_ELEMENTS(rows) * CONFIGS; i++) {
        struct farm farm;
        farm_takes_turns(&farm);
        farm.slip = rows[i / CONFIGS].slip;
        farm.slips = i % CONFIGS;
        farm.slips_left = i % runs;
        farm.request.together_seconds = 1e-6;
        farm_run(&farm);
        for (int c = 0; c < CONFIGS; c++) {
            bool slipped = c == farm.slips;
            g_test_message("slip %d of config %d, config %d: %s", (int)farm.slip, farm.slips, c,
                           farm.last[c].detail);
            g_assert_cmpstr(failure_name(farm.last[c].failure), ==,
                            failure_name(slipped ? rows[i / CONFIGS].failure : FAILURE_NONE));
            g_assert_true(!slipped || strstr(farm.last[c].detail, rows[i / CONFIGS].detail));
        }
        farm_clear(&farm);
    }
}

/* Results of different configs may differ in the last place, in slices, too. */
static void test_orders_in_turns(void)
{
    struct farm farm;
    farm_takes_turns(&farm);
    farm.other_order = 1;
    farm_run(&farm);
    for (int i = 0; i < CONFIGS; i++)
        g_assert_cmpint(farm.last[i].failure, ==, FAILURE_NONE);
    farm_clear(&farm);
}

static void test_stop(void)
{
    struct farm farm;
    farm_init(&farm, (const double[CONFIGS]){1, 1, 1});
    farm.stop_after = 2;
    farm_run(&farm);
    g_assert_true(farm.end.stopped);
    g_assert_cmpstr(farm.order, ==, "010"); /* what was measured is proved */
    g_assert_cmpint(farm.last[0].proof_runs, >, 0);
    g_assert_cmpfloat_with_epsilon(farm.end.drift, 0, 1e-6);
    farm_clear(&farm);
}

static void test_bad_config(void)
{
    struct farm farm;
    farm_init(&farm, (const double[CONFIGS]){1, 1, 1});
    struct eval_config *configs = (struct eval_config *)(void *)farm.request.configs->data;
    configs[0].config.count = 1; /* the solver has no parameters */
    configs[1].kernel_count = 2;
    farm.request.baseline = -1;
    farm_run(&farm);
    g_assert_cmpint(farm.last[0].failure, ==, FAILURE_NOT_APPLICABLE);
    g_assert_cmpint(farm.last[1].failure, ==, FAILURE_LOAD_ERROR);
    g_assert_cmpint(farm.last[2].failure, ==, FAILURE_NONE);
    /* without a default the first config with a time is the baseline */
    g_assert_cmpstr(farm.order, ==, "01222");
    farm_clear(&farm);
}

static bool pending; /* work was enqueued after the last sync */

static bool fill_pending(struct device_memory *memory, int64_t offset, int64_t bytes, uint8_t value,
                         GError **error)
{
    pending = true;
    return fake_device_row.fill(memory, offset, bytes, value, error);
}

static bool sync_pending(struct device *device, GError **error)
{
    pending = false;
    return fake_device_row.sync(device, error);
}

/* Without a wait at the end the GPU's busy seconds would count idle time. */
static void test_waits(void)
{
    struct device_row row = fake_device_row;
    struct farm farm;
    row.fill = fill_pending;
    row.sync = sync_pending;
    farm_init(&farm, (const double[CONFIGS]){1, 1, 1});
    farm.fake.device.row = &row;
    farm.fake.refuse_launch = true;
    farm_run(&farm);
    g_assert_cmpint(farm.last[CONFIGS - 1].failure, ==, FAILURE_LAUNCH_ERROR);
    g_assert_false(pending);
    farm_clear(&farm);
}

static void test_too_large(void)
{
    struct farm farm;
    g_autoptr(GError) error = NULL;
    farm_init(&farm, (const double[CONFIGS]){1, 1, 1});
    farm.fake.info.largest_bytes = 1000;
    g_assert_false(eval_round_run(&farm.round, &farm.end, &error));
    g_assert_error(error, DEVICE_ERROR, DEVICE_ERROR_SIZE);
    g_assert_cmpstr(farm.order, ==, "");
    farm_clear(&farm);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/eval_round/default_is_measured_first_and_last", test_plain);
    g_test_add_func("/eval_round/drift_measures_all_again", test_drift);
    g_test_add_func("/eval_round/drift_counts_beyond_its_limit", test_drift_limit);
    g_test_add_func("/eval_round/lasting_drift_is_reported", test_drift_goes_on);
    g_test_add_func("/eval_round/slow_config_keeps_its_time", test_slow);
    g_test_add_func("/eval_round/kept_configs_are_never_dropped_as_slow", test_kept);
    g_test_add_func("/eval_round/default_is_never_dropped", test_known_best);
    g_test_add_func("/eval_round/impossible_times_are_refused", test_impossible);
    g_test_add_func("/eval_round/wrong_result_is_never_measured", test_wrong);
    g_test_add_func("/eval_round/restless_times_do_not_count", test_restless);
    g_test_add_func("/eval_round/stray_writes_of_timed_runs_are_found", test_strays_when_timed);
    g_test_add_func("/eval_round/the_baseline_is_compared_with_its_own_bytes", test_orders);
    g_test_add_func("/eval_round/the_fastest_is_proved_at_the_end", test_proof);
    g_test_add_func("/eval_round/a_problem_that_has_a_faster_config_needs_no_proof",
                    test_no_winner);
    g_test_add_func("/eval_round/a_wrong_winner_gives_way_to_the_next_fastest", test_wrong_winner);
    g_test_add_func("/eval_round/each_config_is_proved_if_asked_for", test_all_proved);
    g_test_add_func("/eval_round/configs_of_equal_code_are_verified_alone", test_only_verified);
    g_test_add_func("/eval_round/configs_take_turns_until_the_time_is_spent", test_turns);
    g_test_add_func("/eval_round/what_a_slice_spoils_is_blamed_on_its_config", test_slips);
    g_test_add_func("/eval_round/a_slice_is_compared_with_its_own_config's_bytes",
                    test_orders_in_turns);
    g_test_add_func("/eval_round/stop_ends_the_round_between_configs", test_stop);
    g_test_add_func("/eval_round/bad_configs_fail_alone", test_bad_config);
    g_test_add_func("/eval_round/device_is_waited_for_at_the_end", test_waits);
    g_test_add_func("/eval_round/tensors_that_do_not_fit_fail_the_request", test_too_large);
    return g_test_run();
}
