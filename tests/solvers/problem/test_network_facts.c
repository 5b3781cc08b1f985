#include "solvers/problem/network_facts.h"

#include <string.h>

static void test_names(void)
{
    enum network_fact fact = FACT_COUNT;
    g_autofree char *all = network_fact_names();
    for (int i = 0; i < FACT_COUNT; i++) {
        g_assert_true(network_fact_from_name(network_fact_name((enum network_fact)i), &fact));
        g_assert_cmpint(fact, ==, i);
        g_assert_nonnull(strstr(all, network_fact_name((enum network_fact)i)));
    }
    g_assert_true(network_fact_from_name("FrameWork", &fact));
    g_assert_cmpint(fact, ==, FACT_FRAMEWORK);
    g_assert_false(network_fact_from_name("batch", &fact));
}

static void test_values(void)
{
    g_autofree char *longest = g_strnfill(NETWORK_FACT_BYTES_MAX, 'x');
    g_autofree char *too_long = g_strconcat(longest, "x", NULL);
    const struct {
        enum network_fact fact;
        const char *text;
        bool good;
    } rows[] = {
        {FACT_MODEL, "resnet50", true}, {FACT_MODEL, "", false},     {FACT_SOURCE, longest, true},
        {FACT_SOURCE, too_long, false}, {FACT_MODEL, "\xff", false}, {FACT_MODEL, "a\nb", false},
        {FACT_RUNS, "1000", true},      {FACT_RUNS, "0.5", true},    {FACT_RUNS, "1e3", true},
        {FACT_RUNS, "0", false},        {FACT_RUNS, "-1", false},    {FACT_RUNS, "nan", false},
        {FACT_RUNS, "1e999", false},    {FACT_RUNS, "1,5", false},   {FACT_RUNS, "many", false},
        {FACT_VERSION, "many", true},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(GError) error = NULL;
        g_test_message("%.40s", rows[i].text);
        g_assert_true(network_fact_check(rows[i].fact, rows[i].text, &error) == rows[i].good);
        g_assert_true((error == NULL) == rows[i].good);
    }
}

static void test_first_statement_counts(void)
{
    char one[] = "one", two[] = "two", runs[] = "2";
    const struct network_facts first = {.texts = {[FACT_MODEL] = one}};
    const struct network_facts second = {.texts = {[FACT_MODEL] = two, [FACT_RUNS] = runs},
                                         .batch = 8};
    struct network_facts facts = {0};
    g_assert_true(network_facts_empty(&facts));
    g_assert_cmpfloat(network_facts_runs(&facts), ==, 0);
    network_facts_add(&facts, &first);
    network_facts_add(&facts, &second);
    g_assert_cmpstr(facts.texts[FACT_MODEL], ==, "one");
    g_assert_cmpfloat(network_facts_runs(&facts), ==, 2);
    g_assert_cmpint(facts.batch, ==, 8);
    g_assert_false(network_facts_empty(&facts));
    network_facts_clear(&facts);
    g_assert_true(network_facts_empty(&facts));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/network_facts/every_fact_has_a_name", test_names);
    g_test_add_func("/network_facts/values_are_checked", test_values);
    g_test_add_func("/network_facts/first_statement_counts", test_first_statement_counts);
    return g_test_run();
}
