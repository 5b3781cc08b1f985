#include "solvers/space.h"

#include <string.h>

static bool product_is_small(const struct problem *p, const struct context *context,
                             const int32_t *values)
{
    (void)context;
    return values[0] * values[1] <= p->n;
}

static int last_calls;

static bool sum_is_even(const struct problem *p, const struct context *context,
                        const int32_t *values)
{
    (void)p;
    (void)context;
    last_calls++;
    return (values[0] + values[1] + values[2]) % 2 == 0;
}

static bool batch_is_positive(const struct problem *p, const struct context *context,
                              const int32_t *values)
{
    (void)context;
    (void)values;
    return p->n > 0;
}

static const struct space_param params[] = {
    {"A", 3, (const int32_t[]){1, 2, 4}},
    {"B", 2, (const int32_t[]){1, 8}},
    {"C", 3, (const int32_t[]){-1, 0, 3}},
};
static const struct space_constraint constraints[] = {
    {"batch_is_positive", "sense", 0, batch_is_positive},
    {"product_is_small", "registers", 2, product_is_small},
    {"sum_is_even", "parity", 3, sum_is_even},
};
static const struct space space = {3, params, 3, constraints};
static struct context context;

static void with_batch(struct problem *p, int64_t n)
{
    memset(p, 0, sizeof(*p));
    p->n = n;
}

static void walk_visits_valid_configs_only(void)
{
    static const char *const expected[] = {"1,1,0", "2,1,-1", "2,1,3", "4,1,-1", "4,1,3"};
    struct problem p;
    struct space_walk walk;
    struct perf_config config;
    char text[CONFIG_TEXT_MAX];

    with_batch(&p, 4);
    space_walk_init(&walk, &space, &p, &context);
    for (gsize i = 0; i < G_N_ELEMENTS(expected); i++) {
        g_assert_true(space_walk_next(&walk, &config));
        g_assert_cmpstr(perf_config_format(&config, text), ==, expected[i]);
        g_assert_true(space_contains(&space, &p, &context, &config, NULL));
    }
    g_assert_false(space_walk_next(&walk, &config));
    g_assert_false(space_walk_next(&walk, &config));
    g_assert_cmpint(space_count(&space, &p, &context), ==, 5);
}

static void walk_leaves_a_broken_prefix_early(void)
{
    struct problem p;

    with_batch(&p, 4);
    last_calls = 0;
    space_count(&space, &p, &context);
    /* B = 8 never passes, so three of the six prefixes are left before C is tried. */
    g_assert_cmpint(last_calls, ==, 9);
}

static void walk_of_an_empty_space_ends_at_once(void)
{
    struct problem p;
    struct space_walk walk;
    struct perf_config config;

    with_batch(&p, 0);
    space_walk_init(&walk, &space, &p, &context);
    g_assert_false(space_walk_next(&walk, &config));
    g_assert_cmpint(space_count(&space, &p, &context), ==, 0);
}

static void walk_agrees_with_the_whole_product(void)
{
    for (int64_t n = 0; n < 40; n++) {
        struct problem p;
        int64_t count = 0;
        with_batch(&p, n);
        for (int i = 0; i < 18; i++) {
            struct perf_config config = {3, {0}};
            config.values[0] = params[0].values[i / 6];
            config.values[1] = params[1].values[i / 3 % 2];
            config.values[2] = params[2].values[i % 3];
            count += space_contains(&space, &p, &context, &config, NULL);
        }
        g_assert_cmpint(space_count(&space, &p, &context), ==, count);
    }
}

static void contains_names_what_is_wrong(void)
{
    static const struct {
        struct perf_config config;
        const char *why;
    } cases[] = {
        {{2, {1, 1}}, "number of values"},
        {{3, {3, 1, 0}}, "A"},
        {{3, {1, 1, 1}}, "C"},
        {{3, {4, 8, 0}}, "product_is_small"},
        {{3, {1, 1, -1}}, "sum_is_even"},
    };
    struct problem p;

    with_batch(&p, 4);
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        const char *why = NULL;
        g_assert_false(space_contains(&space, &p, &context, &cases[i].config, &why));
        g_assert_cmpstr(why, ==, cases[i].why);
    }
}

static void config_text_is_the_inverse_of_itself(void)
{
    static const struct perf_config configs[] = {
        {0, {0}}, {1, {0}}, {3, {64, 8, 1}}, {2, {-1, INT32_MIN}}, {1, {INT32_MAX}},
    };

    for (gsize i = 0; i < G_N_ELEMENTS(configs); i++) {
        g_autoptr(GError) error = NULL;
        char text[CONFIG_TEXT_MAX];
        struct perf_config parsed;
        g_assert_true(perf_config_parse(perf_config_format(&configs[i], text), configs[i].count,
                                        &parsed, &error));
        g_assert_no_error(error);
        g_assert_true(perf_config_equal(&configs[i], &parsed));
    }
}

static void config_text_is_parsed_strictly(void)
{
    static const struct {
        const char *text;
        int count;
    } cases[] = {
        {"", 1},
        {"1", 0},
        {"1,2", 1},
        {"1", 2},
        {"1,", 2},
        {",1", 2},
        {"1, 2", 2},
        {" 1", 1},
        {"1 ", 1},
        {"+1", 1},
        {"01", 1},
        {"-0", 1},
        {"2147483648", 1},
        {"-2147483649", 1},
        {"1.0", 1},
        {"0x10", 1},
        {"1;2", 2},
        {"-", 1},
        {"99999999999999999999", 1},
    };

    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GError) error = NULL;
        struct perf_config parsed;
        if (perf_config_parse(cases[i].text, cases[i].count, &parsed, &error)) {
            g_test_message("'%s' was taken", cases[i].text);
            g_test_fail();
        }
        g_assert_error(error, SOLVERS_ERROR, SOLVERS_ERROR_CONFIG);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/space/walk/visits_valid_configs_only", walk_visits_valid_configs_only);
    g_test_add_func("/space/walk/leaves_a_broken_prefix_early", walk_leaves_a_broken_prefix_early);
    g_test_add_func("/space/walk/of_an_empty_space_ends_at_once",
                    walk_of_an_empty_space_ends_at_once);
    g_test_add_func("/space/walk/agrees_with_the_whole_product",
                    walk_agrees_with_the_whole_product);
    g_test_add_func("/space/contains/names_what_is_wrong", contains_names_what_is_wrong);
    g_test_add_func("/space/config/text_is_the_inverse_of_itself",
                    config_text_is_the_inverse_of_itself);
    g_test_add_func("/space/config/text_is_parsed_strictly", config_text_is_parsed_strictly);
    return g_test_run();
}
