/* `skipjack report --rejected` reads a large campaign in parts, and lists every rejected config. */
#include "schema/store/store_private.h"
#include "tests/support/farm/queue_farm.h"

#include <jansson.h>
#include <locale.h>

#define JOBS 2100 /* so many that the report is read in more than two parts */

/* Gives the first job a round with a wrong config, and copies that round to a job in the middle and
 * to the last one. */
static void work_on_some(struct farm *farm)
{
    static const char *const tables[] = {"rounds", "outcomes"};
    farm_work(farm, 0, false, 1);
    for (gsize i = 0; i < G_N_ELEMENTS(tables); i++) {
        g_autoptr(GError) error = NULL;
        g_autofree char *sql = g_strdup_printf(
            "INSERT INTO %s SELECT (jsonb_populate_record(t, jsonb_build_object('job_id', j.id))).*"
            " FROM %s t, (SELECT id, row_number() OVER (ORDER BY problem_id) AS place FROM jobs) j"
            " WHERE place IN (%d, %d)",
            tables[i], tables[i], JOBS / 2, JOBS);
        store_do(farm->store, &error, sql, "");
        g_assert_no_error(error);
    }
}

static json_t *report_rejected(const struct farm *farm)
{
    const char *program = g_getenv("SKIPJACK");
    g_autofree char *id = g_strdup_printf("%" G_GINT64_FORMAT, (gint64)farm->campaign);
    const char *const words[] = {program ? program : "build/skipjack",
                                 "report",
                                 "--rejected",
                                 "--campaign",
                                 id,
                                 "--json",
                                 NULL};
    g_autoptr(GError) error = NULL;
    g_autofree char *text = NULL;
    int status = -1;
    g_spawn_sync(NULL, (char **)(gpointer)words, NULL, G_SPAWN_DEFAULT, NULL, NULL, &text, NULL,
                 &status, &error);
    g_assert_no_error(error);
    g_assert_cmpint(status, ==, 0);
    return json_loads(text, 0, NULL);
}

static void test_no_part_is_left_out(void)
{
    struct farm farm;
    g_autoptr(GHashTable) problems = g_hash_table_new(g_str_hash, g_str_equal);
    json_t *row;
    size_t i;
    farm_init(&farm, &(struct order){.jobs = JOBS, .configs_limit = 2});
    work_on_some(&farm);
    json_t *rows = report_rejected(&farm);
    g_assert_cmpuint(json_array_size(rows), ==, 3);
    json_array_foreach (rows, i, row) {
        g_assert_cmpstr(json_string_value(json_object_get(row, "reason")), ==,
                        failure_name(FAILURE_WRONG_RESULT));
        g_assert_cmpstr(json_string_value(json_object_get(row, "detail")), ==, "differs at \"3\"");
        g_hash_table_add(problems, (char *)json_string_value(json_object_get(row, "key")));
    }
    g_assert_cmpuint(g_hash_table_size(problems), ==, 3);
    json_decref(rows);
    farm_clear(&farm);
}

int main(int argc, char **argv)
{
    setlocale(LC_ALL, "");
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/report_rejected/no_part_is_left_out", test_no_part_is_left_out);
    return g_test_run();
}
