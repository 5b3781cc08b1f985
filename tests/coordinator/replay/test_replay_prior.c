/* Priors of replayed searches: their order, and what campaigns of the other space know. */
#include <string.h>

#include "coordinator/replay/replay_prior.h"

#define KEY  "%d-14-14-1x1-32-14-14-1-0x0-1x1-1x1-0-NCHW-FP32-F"
#define SIDE 40

/* A space of ours whose time grows with the distance of X from best_x. */
static RecordedSpace *line_space(int channels, const char *target, int best_x)
{
    g_autofree char *key = g_strdup_printf(KEY, channels);
    g_autoptr(GString) configs = g_string_new(NULL);
    g_autoptr(GString) times = g_string_new(NULL);
    g_autoptr(GString) zeros = g_string_new(NULL);
    g_autoptr(GString) ones = g_string_new(NULL);
    for (int x = 0; x < SIDE; x++) {
        const char *comma = x ? "," : "";
        g_string_append_printf(configs, "%s[%d]", comma, x);
        g_string_append_printf(times, "%s%d", comma, 10 + ABS(x - best_x));
        g_string_append_printf(zeros, "%s0", comma);
        g_string_append_printf(ones, "%s1", comma);
    }
    g_autofree char *text = g_strdup_printf(
        "{\"format\": \"" RECORDED_FORMAT
        "\", \"version\": 1, \"problem\": \"%s\", \"solver\": \"S\", \"revision\": 1,"
        " \"target\": \"%s\", \"recorded\": \"\", \"space_configs\": %d, \"params\": [\"X\"],"
        " \"default\": null, \"configs\": [%s], \"failed\": {}, \"time_ms\": [%s], \"spread\": [%s],"
        " \"runs\": [%s], \"build_seconds\": [%s], \"eval_seconds\": [%s]}",
        key, target, SIDE, configs->str, times->str, zeros->str, ones->str, zeros->str, ones->str);
    g_autoptr(GError) error = NULL;
    RecordedSpace *space = recorded_space_parse("line", text, strlen(text), &error);
    g_assert_no_error(error);
    return space;
}

static void targets_are_as_far_apart_as_in_the_database(void)
{
    static const struct {
        const char *a, *b;
        double distance;
    } cases[] = {
        {"gfx90a68", "gfx90a68", 0},           {"gfx90a68", "gfx90a6e", 2},
        {"gfx90a68", "gfx942130", 4},          {"gfx90a68", "gfx1030_36", 6},
        {"sm_90_132_80g", "sm_90_114_80g", 2}, {"sm_80_108_80g", "sm_86_48_16g", 4},
        {"sm_90_132_80g", "sm_80_108_80g", 6}, {"gfx90a68", "sm_90_132_80g", 8},
        {"cpu-znver4_2", "cpu-znver3_2", 4},   {"gfx90a68", "an unknown device", 0},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(RecordedSpace) a = line_space(16, cases[i].a, 0);
        g_autoptr(RecordedSpace) b = line_space(64, cases[i].b, 0);
        g_test_message("%s %s", cases[i].a, cases[i].b);
        /* Four times the channels are two powers of two. */
        g_assert_cmpfloat_with_epsilon(replay_distance(a, b), cases[i].distance + 2, 1e-9);
        g_assert_cmpfloat_with_epsilon(replay_distance(b, a), cases[i].distance + 2, 1e-9);
    }
}

static int x_of(const GArray *configs, guint at)
{
    return g_array_index(configs, struct perf_config, at).values[0];
}

/* A nearer space's second and third come before the fastest of one that is three powers of two away. */
static void places_add_to_the_distance(void)
{
    g_autoptr(RecordedSpace) here = line_space(16, "gfx90a68", 0);
    g_autoptr(RecordedSpace) far = line_space(256, "gfx90a68", 30);
    g_autoptr(RecordedSpace) near = line_space(32, "gfx90a68", 0);
    g_autoptr(GPtrArray) others = g_ptr_array_new();
    g_ptr_array_add(others, far);
    g_ptr_array_add(others, near);
    const struct replay_prior prior = {.others = others, .best = 10, .most = 5};
    const struct replay_setup setup = {.space = here, .prior = &prior};
    g_autoptr(GArray) configs = replay_prior_configs(&setup, 0);
    const int expected[] = {0, 1, 2, 30, 3};
    g_assert_cmpuint(configs->len, ==, G_N_ELEMENTS(expected));
    for (guint i = 0; i < configs->len; i++)
        g_assert_cmpint(x_of(configs, i), ==, expected[i]);
}

/* A campaign does not know that it has found the optimum: it tries as many configs as it may. Later campaigns know
 * more. */
static void campaigns_add_what_they_try(void)
{
    g_autoptr(RecordedSpace) here = line_space(16, "gfx90a68", 0);
    g_autoptr(RecordedSpace) other = line_space(16, "gfx90a6e", 20);
    g_autoptr(GPtrArray) others = g_ptr_array_new();
    g_ptr_array_add(others, other);
    struct replay_prior prior = {.others = others, .best = 16, .most = 16, .tries = 12};
    const struct replay_setup setup = {.space = here, .prior = &prior};
    int known[2] = {0};
    for (int more = 0; more < 2; more++)
        for (uint64_t seed = 0; seed < 5; seed++) {
            prior.campaigns = more ? 4 : 1;
            g_autoptr(GArray) configs = replay_prior_configs(&setup, seed);
            known[more] += (int)configs->len;
            g_assert_cmpint(ABS(x_of(configs, 0) - 20), <=, 3);
        }
    g_assert_cmpint(known[0], ==, 5 * 12);
    g_assert_cmpint(known[1], ==, 5 * 16);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/replay_prior/targets_are_as_far_apart_as_in_the_database",
                    targets_are_as_far_apart_as_in_the_database);
    g_test_add_func("/replay_prior/places_add_to_the_distance", places_add_to_the_distance);
    g_test_add_func("/replay_prior/campaigns_add_what_they_try", campaigns_add_what_they_try);
    return g_test_run();
}
