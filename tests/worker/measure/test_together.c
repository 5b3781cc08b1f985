/* Configs measured in turns with a fake device, whose clock follows a script. */
#include "worker/measure/together.h"

#include "tests/support/doubles/fake_device.h"

#define CONFIGS 3

struct farm {
    struct fake_device fake;
    double base_ms[CONFIGS];
    double noise;    /* largest deviation, as a share */
    double drift;    /* each run makes all later runs slower by this share */
    int64_t runs;    /* of all configs */
    int64_t next;    /* number of the next run */
    int order[1000]; /* whose runs they were */
};

struct run {
    struct farm *farm;
    int config;
};

static bool scripted_run(void *data, int64_t run, GError **error)
{
    struct run *r = data;
    struct farm *farm = r->farm;
    double noise = farm->noise * (double)(run * 7 % 11 - 5) / 5;
    (void)error;
    /* Numbers go on through the runs of all configs: each uses the copy of the tensors that waited longest. */
    g_assert_cmpint(run, ==, farm->next++);
    if (farm->runs < (int64_t)G_N_ELEMENTS(farm->order))
        farm->order[farm->runs] = r->config;
    farm->fake.clock_ms +=
        farm->base_ms[r->config] * (1 + noise) * (1 + farm->drift * (double)farm->runs);
    farm->runs++;
    return true;
}

/* Measures configs of these times together; returns the turns. */
static int measure_all(struct farm *farm, Together *together)
{
    g_autoptr(GError) error = NULL;
    int turns = 0;
    fake_device_init(&farm->fake);
    for (int i = 0; i < CONFIGS; i++) {
        struct run run = {farm, i};
        const struct measure_job job = {
            .device = &farm->fake.device, .run = scripted_run, .data = &run};
        g_assert_true(together_warm_up(together, i, &job, &error));
    }
    for (; together_goes_on(together); turns++) {
        for (int k = 0; k < CONFIGS; k++) {
            int i = (turns + k) % CONFIGS;
            struct run run = {farm, i};
            const struct measure_job job = {
                .device = &farm->fake.device, .run = scripted_run, .data = &run};
            if (together_takes_part(together, i))
                g_assert_true(together_slice(together, i, &job, &error));
        }
    }
    g_assert_no_error(error);
    return turns;
}

static void turns_end_when_the_order_is_known(void)
{
    struct farm farm = {.base_ms = {12, 12.6, 30}, .noise = 0.005};
    Together *together = together_new(CONFIGS, 100);
    struct measurement m;
    double low, high;
    g_assert_cmpint(measure_all(&farm, together), <, 20);
    together_sum_up(together, 1, &m, &low, &high);
    g_assert_cmpfloat_with_epsilon(m.median_ms, 12.6, 0.1);
    g_assert_cmpfloat(low, <=, m.median_ms);
    g_assert_cmpfloat(high, >=, m.median_ms);
    g_assert_true(together_may_win(together, 0));
    g_assert_false(together_may_win(together, 1));
    g_assert_cmpfloat_with_epsilon(together_drift(together), 1, 0.01);
    together_free(together);
}

static void equal_configs_may_both_win(void)
{
    struct farm farm = {.base_ms = {12, 12, 30}, .noise = 0.01};
    Together *together = together_new(CONFIGS, 100);
    measure_all(&farm, together);
    g_assert_true(together_may_win(together, 0));
    g_assert_true(together_may_win(together, 1));
    g_assert_false(together_may_win(together, 2));
    together_free(together);
}

static void a_drifting_device_hits_all_of_them(void)
{
    struct farm farm = {.base_ms = {12, 12.6, 13.2}, .noise = 0.04, .drift = 0.005};
    Together *together = together_new(CONFIGS, 5);
    struct measurement m[CONFIGS];
    double low, high;
    measure_all(&farm, together);
    for (int i = 0; i < CONFIGS; i++)
        together_sum_up(together, i, &m[i], &low, &high);
    g_assert_cmpfloat(together_drift(together), >, 1.03);
    g_assert_cmpfloat(m[0].median_ms, <, m[1].median_ms);
    g_assert_cmpfloat(m[1].median_ms, <, m[2].median_ms);
    together_free(together);
}

static void little_time_is_three_turns(void)
{
    struct farm farm = {.base_ms = {12, 12.1, 12.2}, .noise = 0.1};
    Together *together = together_new(CONFIGS, 0.01);
    struct measurement m;
    double low, high;
    g_assert_cmpint(measure_all(&farm, together), ==, 3);
    together_sum_up(together, 2, &m, &low, &high);
    g_assert_cmpint(m.n, ==, 3);
    g_assert_cmpfloat(low, ==, m.min_ms);
    together_free(together);
}

static void a_config_that_failed_takes_no_turn(void)
{
    struct farm farm = {.base_ms = {12, 12.6, 30}, .noise = 0.005};
    Together *together = together_new(CONFIGS, 100);
    struct measurement m;
    double low, high;
    together_drop(together, 0);
    measure_all(&farm, together);
    together_sum_up(together, 0, &m, &low, &high);
    g_assert_cmpfloat(m.median_ms, ==, 0);
    g_assert_true(together_may_win(together, 1));
    together_free(together);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
#define ADD(test) g_test_add_func("/together/" #test, test)
    ADD(turns_end_when_the_order_is_known);
    ADD(equal_configs_may_both_win);
    ADD(a_drifting_device_hits_all_of_them);
    ADD(little_time_is_three_turns);
    ADD(a_config_that_failed_takes_no_turn);
    return g_test_run();
}
