#include "solvers/framework/space.h"

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
    g_assert_cmpint(space_count_up_to(&space, &p, &context, 3), ==, 3);
    g_assert_cmpint(space_count_up_to(&space, &p, &context, 6), ==, 5);
}

static void walk_leaves_a_broken_prefix_early(void)
{
    struct problem p;

    with_batch(&p, 4);
    last_calls = 0;
    space_count(&space, &p, &context);
    /* B = 8 always fails, so three of the six prefixes (A, B) end before C is tried. */
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

/* ---- draws ---- */

#define DRAWS 5000

/* The sum over all configs of (seen - expected)^2 / expected. */
static double chi_square(const struct space *drawn, const struct problem *p, uint64_t seed)
{
    int64_t count = space_count(drawn, p, &context);
    double expected = (double)DRAWS / (double)count, sum = 0;
    g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    struct space_walk walk;
    struct perf_config config;
    char text[CONFIG_TEXT_MAX];

    for (int i = 0; i < DRAWS; i++) {
        int before;
        g_assert_true(space_draw(drawn, p, &context, &seed, &config));
        perf_config_format(&config, text);
        before = GPOINTER_TO_INT(g_hash_table_lookup(seen, text));
        g_hash_table_insert(seen, g_strdup(text), GINT_TO_POINTER(before + 1));
    }
    space_walk_init(&walk, drawn, p, &context);
    while (space_walk_next(&walk, &config)) {
        perf_config_format(&config, text);
        double off = GPOINTER_TO_INT(g_hash_table_lookup(seen, text)) - expected;
        sum += off * off / expected;
    }
    g_assert_cmpint(g_hash_table_size(seen), <=, count);
    return sum;
}

/* The prefixes hold one, two and two of the five configs, so a draw of one parameter after the
 * other would not be even. An even draw exceeds the bound once in a thousand times; the seeds are
 * fixed. */
static void draw_is_even_over_all_configs(void)
{
    struct problem p;

    with_batch(&p, 4);
    g_assert_cmpfloat(chi_square(&space, &p, 1), <, 18.5); /* the bound for 4 degrees of freedom */
    with_batch(&p, 40);
    g_assert_cmpint(space_count(&space, &p, &context), ==, 9);
    g_assert_cmpfloat(chi_square(&space, &p, 2), <, 26.1); /* 8 */
}

static void equal_states_give_equal_draws(void)
{
    uint64_t a = 42, b = 42, other = 43;
    int differing = 0;
    struct problem p;

    with_batch(&p, 40);
    for (int i = 0; i < 50; i++) {
        struct perf_config first, second, third;
        g_assert_true(space_draw(&space, &p, &context, &a, &first));
        g_assert_true(space_draw(&space, &p, &context, &b, &second));
        g_assert_true(space_draw(&space, &p, &context, &other, &third));
        g_assert_true(perf_config_equal(&first, &second));
        g_assert_cmpuint(a, ==, b);
        differing += !perf_config_equal(&first, &third);
    }
    g_assert_cmpint(differing, >, 30);
    g_assert_cmpuint(a, !=, 42);
}

static void draw_is_always_valid(void)
{
    uint64_t state = 7;

    for (int64_t n = 1; n < 40; n++) {
        struct problem p;
        struct perf_config config;
        with_batch(&p, n);
        for (int i = 0; i < 20; i++) {
            g_assert_true(space_draw(&space, &p, &context, &state, &config));
            g_assert_true(space_contains(&space, &p, &context, &config, NULL));
        }
    }
}

static void nothing_is_drawn_from_an_empty_space(void)
{
    struct problem p;
    struct perf_config config;
    uint64_t state = 7;

    with_batch(&p, 0);
    g_assert_false(space_draw(&space, &p, &context, &state, &config));
}

/* ---- neighbours ---- */

/* Allows all values from 1 to 16 except the problem's n. */
static bool is_not_n(const struct problem *p, const struct context *unused, const int32_t *values)
{
    (void)unused;
    return values[0] != p->n;
}

static const struct space_param line_params[] = {
    {"A", 5, (const int32_t[]){1, 2, 4, 8, 16}},
    {"B", 3, (const int32_t[]){-1, 0, 1}},
};
static const struct space_constraint line_constraints[] = {{"is_not_n", "a test", 1, is_not_n}};
static const struct space line = {2, line_params, 1, line_constraints};

static void neighbours_differ_in_one_parameter(void)
{
    static const struct {
        int64_t forbidden;
        struct perf_config at;
        bool adjacent;
        const char *expected;
    } cases[] = {
        {0, {2, {4, 0}}, false, "1,0 2,0 8,0 16,0 4,-1 4,1 "},
        {0, {2, {4, 0}}, true, "2,0 8,0 4,-1 4,1 "},
        {0, {2, {1, -1}}, true, "2,-1 1,0 "},
        {0, {2, {16, 1}}, true, "8,1 16,0 "},
        {2, {2, {4, 0}}, false, "1,0 8,0 16,0 4,-1 4,1 "},
        /* the neighbour is the next valid value, across the gap */
        {2, {2, {4, 0}}, true, "1,0 8,0 4,-1 4,1 "},
        {8, {2, {4, 1}}, true, "2,1 16,1 4,0 "},
        {16, {2, {8, 1}}, true, "4,1 8,0 "},
    };

    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GArray) found = g_array_new(FALSE, FALSE, sizeof(struct perf_config));
        g_autoptr(GString) text = g_string_new(NULL);
        char buffer[CONFIG_TEXT_MAX];
        struct problem p;
        int count;
        with_batch(&p, cases[i].forbidden);
        count = space_neighbours(&line, &p, &context, &cases[i].at, cases[i].adjacent, found);
        g_assert_cmpint(count, ==, (int)found->len);
        for (guint j = 0; j < found->len; j++)
            g_string_append_printf(
                text, "%s ",
                perf_config_format(&g_array_index(found, struct perf_config, j), buffer));
        g_assert_cmpstr(text->str, ==, cases[i].expected);
    }
}

static void neighbours_are_appended(void)
{
    g_autoptr(GArray) found = g_array_new(FALSE, FALSE, sizeof(struct perf_config));
    const struct perf_config at = {2, {4, 0}};
    struct problem p;

    with_batch(&p, 0);
    space_neighbours(&line, &p, &context, &at, true, found);
    g_assert_cmpint(space_neighbours(&line, &p, &context, &at, true, found), ==, 4);
    g_assert_cmpuint(found->len, ==, 8);
}

/* If a is a neighbour of b, then b is a neighbour of a, in both modes. */
static void neighbourhood_is_mutual(void)
{
    struct problem p;
    struct space_walk walk;
    struct perf_config config;

    with_batch(&p, 40);
    space_walk_init(&walk, &space, &p, &context);
    while (space_walk_next(&walk, &config)) {
        for (int adjacent = 0; adjacent < 2; adjacent++) {
            g_autoptr(GArray) mine = g_array_new(FALSE, FALSE, sizeof(struct perf_config));
            space_neighbours(&space, &p, &context, &config, adjacent, mine);
            for (guint i = 0; i < mine->len; i++) {
                g_autoptr(GArray) theirs = g_array_new(FALSE, FALSE, sizeof(struct perf_config));
                const struct perf_config *other = &g_array_index(mine, struct perf_config, i);
                bool found = false;
                g_assert_true(space_contains(&space, &p, &context, other, NULL));
                space_neighbours(&space, &p, &context, other, adjacent, theirs);
                for (guint j = 0; j < theirs->len; j++)
                    found = found || perf_config_equal(
                                         &config, &g_array_index(theirs, struct perf_config, j));
                g_assert_true(found);
            }
        }
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
    g_test_add_func("/space/contains/names_the_broken_constraint", contains_names_what_is_wrong);
    g_test_add_func("/space/draw/is_even_over_all_configs", draw_is_even_over_all_configs);
    g_test_add_func("/space/draw/repeats_itself_from_equal_states", equal_states_give_equal_draws);
    g_test_add_func("/space/draw/is_always_valid", draw_is_always_valid);
    g_test_add_func("/space/draw/finds_nothing_in_an_empty_space",
                    nothing_is_drawn_from_an_empty_space);
    g_test_add_func("/space/neighbours/differ_in_one_parameter",
                    neighbours_differ_in_one_parameter);
    g_test_add_func("/space/neighbours/are_appended", neighbours_are_appended);
    g_test_add_func("/space/neighbours/are_mutual", neighbourhood_is_mutual);
    g_test_add_func("/space/config/text_is_the_inverse_of_itself",
                    config_text_is_the_inverse_of_itself);
    g_test_add_func("/space/config/text_is_parsed_strictly", config_text_is_parsed_strictly);
    return g_test_run();
}
