#include "coordinator/reports/report_time.h"

#include <math.h>

#include "coordinator/plan/problem_text.h"
#include "schema/results/store_prospects.h"
#include "solvers/problem/problem_key.h"

#define PART_JOBS 1000 /* read at a time */

static const struct table_column columns[] = {
    {"problem", "problem", TABLE_TEXT, 0},
    {"x", "multiplicity", TABLE_INT, 0},
    {"took s", "seconds", TABLE_NUMBER, 1},
    {"% of time", "time_percent", TABLE_NUMBER, 1},
    {"% of net", "network_percent", TABLE_NUMBER, 1},
    {"tries", "tries", TABLE_INT, 0},
    {"first ms", "first_ms", TABLE_NUMBER, -4},
    {"best ms", "best_ms", TABLE_NUMBER, -4},
    {"saved ms", "saved_ms", TABLE_NUMBER, -3},
    {"next saves ms", "next_saves_ms", TABLE_NUMBER, -3},
    {"in s", "next_seconds", TABLE_NUMBER, 1},
    {"next solver", "next_solver", TABLE_TEXT, 0},
    {NULL, "jobs", TABLE_INT, 0},
    {NULL, "key", TABLE_TEXT, 0},
};

static gint compare_seconds(gconstpointer a, gconstpointer b)
{
    const struct problem_time *left = *(const struct problem_time *const *)a;
    const struct problem_time *right = *(const struct problem_time *const *)b;
    return (left->seconds < right->seconds) - (left->seconds > right->seconds);
}

static double network_ms(const struct problem_time *time)
{
    return time->multiplicity * time->best_ms;
}

static void add_row(Table *table, const struct problem_time *time, double all_seconds,
                    double all_ms)
{
    char key[PROBLEM_KEY_MAX];
    g_autofree char *text = problem_text(&time->problem);
    table_text(table, text);
    table_int(table, time->multiplicity);
    table_number(table, time->seconds);
    table_number(table, 100 * time->seconds / all_seconds);
    table_number(table, 100 * network_ms(time) / all_ms);
    table_int(table, time->tries);
    table_number(table, time->first_ms);
    table_number(table, time->best_ms);
    table_number(table, time->multiplicity * (time->first_ms - time->best_ms));
    table_number(table, time->next_saves_ms);
    table_number(table, time->next_seconds);
    table_text(table, time->next_solver);
    table_int(table, time->jobs);
    table_text(table, problem_key(&time->problem, key));
}

Table *report_time_table(GPtrArray *times)
{
    Table *table = table_new(columns, G_N_ELEMENTS(columns));
    double all_seconds = 0, all_ms = 0;
    g_ptr_array_sort(times, compare_seconds);
    for (guint i = 0; i < times->len; i++) {
        const struct problem_time *time = g_ptr_array_index(times, i);
        all_seconds += time->seconds;
        all_ms += isfinite(time->best_ms) ? network_ms(time) : 0;
    }
    for (guint i = 0; i < times->len; i++)
        add_row(table, g_ptr_array_index(times, i), all_seconds, all_ms);
    return table;
}

Table *report_time(Store *store, int64_t campaign, GError **error)
{
    struct problem_part part = PROBLEM_PART_BEGIN;
    g_autoptr(GPtrArray) all = NULL;
    while (part.last != INT64_MAX) {
        if (!store_next_problems(store, campaign, PART_JOBS, &part, error))
            return NULL;
        GPtrArray *times = store_list_part_times(store, campaign, &part, error);
        if (!times)
            return NULL;
        if (all)
            g_ptr_array_extend_and_steal(all, times);
        else
            all = times;
    }
    return report_time_table(all);
}
