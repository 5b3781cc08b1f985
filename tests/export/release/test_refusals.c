/* Refused results: more of them than are kept in memory come back complete and in order. */
#include "export/release/refusals.h"

#include "tests/support/temp_folder.h"

#include <string.h>

#define MANY (2 * REFUSALS_LISTED + 345)

static void add(struct refusals *refusals, int from, int count)
{
    g_autoptr(GError) error = NULL;
    for (int i = from; i < from + count; i++) {
        g_autofree char *problem = g_strdup_printf("problem %d", i);
        g_autofree char *reason = g_strnfill((gsize)(i % 300), 'x');
        char solver[] = "ConvA", none[] = "";
        const struct export_refusal refusal = {.why = (enum refusal)(i % REFUSAL_COUNT),
                                               .job = (int64_t)i << 33,
                                               .problem = problem,
                                               .solver = i % 2 == 0 ? solver : none,
                                               .reason = reason};
        g_assert_true(refusals_add(refusals, &refusal, &error));
        g_assert_no_error(error);
    }
}

/* Compares one refusal with the expected one; *data is its number and is incremented. */
static void expect(void *data, const struct export_refusal *refusal)
{
    int *next = data, i = (*next)++;
    g_autofree char *problem = g_strdup_printf("problem %d", i);
    g_assert_cmpint(refusal->job, ==, (int64_t)i << 33);
    g_assert_cmpint(refusal->why, ==, i % REFUSAL_COUNT);
    g_assert_cmpstr(refusal->problem, ==, problem);
    g_assert_cmpstr(refusal->solver, ==, i % 2 == 0 ? "ConvA" : "");
    g_assert_cmpuint(strlen(refusal->reason), ==, (gsize)(i % 300));
}

static void expect_all(const struct refusals *refusals, int from, int count)
{
    g_autoptr(GError) error = NULL;
    int next = from;
    g_assert_true(refusals_each(refusals, expect, &next, &error));
    g_assert_no_error(error);
    g_assert_cmpint(next, ==, from + count);
    g_assert_cmpint(refusals->count, ==, count);
    g_assert_cmpuint(refusals->listed->len, ==, (guint)MIN(count, REFUSALS_LISTED));
}

static void all_come_back_in_their_order(void)
{
    struct refusals refusals;
    int by = 0;
    g_autoptr(TempFolder) folder = temp_folder_new();
    refusals_init(&refusals, temp_folder_path(folder, "refused"));
    expect_all(&refusals, 0, 0);
    add(&refusals, 0, MANY);
    expect_all(&refusals, 0, MANY);
    for (int why = 0; why < REFUSAL_COUNT; why++) {
        by += refusals.by[why];
    }
    g_assert_cmpint(by, ==, MANY);
    /* Refusals from before refusals_begin_anew() must not appear among later ones. */
    refusals_begin_anew(&refusals);
    add(&refusals, 7, REFUSALS_LISTED + 1);
    expect_all(&refusals, 7, REFUSALS_LISTED + 1);
    refusals_clear(&refusals);
}

/* The error comes when the refusals no longer fit into memory and the file cannot be created. */
static void a_folder_that_is_not_there_is_an_error(void)
{
    struct refusals refusals;
    g_autofree char *text = g_strnfill(1000, 'x');
    const struct export_refusal refusal = {.problem = text, .solver = text, .reason = text};
    g_autoptr(GError) error = NULL;
    refusals_init(&refusals, "/nonexistent/refused");
    add(&refusals, 0, REFUSALS_LISTED);
    bool added = true;
    for (int i = 0; added && i < MANY; i++) {
        added = refusals_add(&refusals, &refusal, &error);
    }
    g_assert_false(added);
    g_assert_error(error, EXPORT_ERROR, EXPORT_ERROR_IO);
    refusals_clear(&refusals);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/refusals/all_come_back_in_their_order", all_come_back_in_their_order);
    g_test_add_func("/refusals/a_folder_that_is_not_there_is_an_error",
                    a_folder_that_is_not_there_is_an_error);
    return g_test_run();
}
