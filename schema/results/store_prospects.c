#include "schema/results/store_prospects.h"

#include <math.h>

#include "schema/store/store_json.h"
#include "schema/store/store_private.h"
#include "schema/store/store_problems.h"

void problem_time_free(struct problem_time *time)
{
    if (!time)
        return;
    g_free(time->next_solver);
    g_free(time);
}

static void free_time(gpointer time)
{
    problem_time_free(time);
}

static double number_or_nan(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

static gpointer read_time(const json_t *object, GError **error)
{
    struct problem_time *time = g_new0(struct problem_time, 1);
    if (!problem_from_json(json_object_get(object, "problem"), &time->problem, error)) {
        g_free(time);
        return NULL;
    }
    time->multiplicity = (int)json_member_int(object, "multiplicity");
    time->jobs = (int)json_member_int(object, "jobs");
    time->tries = json_member_int(object, "tries");
    time->seconds = number_or_nan(object, "seconds");
    time->first_ms = number_or_nan(object, "first_ms");
    time->best_ms = number_or_nan(object, "best_ms");
    time->next_saves_ms = number_or_nan(object, "next_saves_ms");
    time->next_seconds = number_or_nan(object, "next_seconds");
    if (json_is_string(json_object_get(object, "next_solver")))
        time->next_solver = json_member_text(object, "next_solver");
    return time;
}

GPtrArray *store_list_part_times(Store *store, int64_t campaign, const struct problem_part *part,
                                 GError **error)
{
    g_autoptr(StoreRows) rows = store_read(store, error, "SELECT time_of_problems($1, $2, $3)",
                                           "lll", campaign, part->after, part->last);
    return rows == NULL ? NULL : store_list_checked(rows, read_time, free_time, error);
}
