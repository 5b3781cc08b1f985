/* Parts of a campaign's problems, and the problems themselves. */
#include "schema/store/store_private.h"

#include <stdlib.h>

bool store_next_problems(Store *store, int64_t campaign, int jobs, struct problem_part *part,
                         GError **error)
{
    g_autoptr(StoreRows) rows =
        store_read(store, error,
                   "SELECT problem_id FROM jobs WHERE campaign_id = $1 AND problem_id > $2"
                   " ORDER BY problem_id LIMIT 1 OFFSET $3",
                   "lli", campaign, part->last, jobs - 1);
    if (rows == NULL)
        return false;
    part->after = part->last;
    part->last = PQntuples(rows) > 0 ? strtoll(PQgetvalue(rows, 0, 0), NULL, 10) : INT64_MAX;
    return true;
}

GHashTable *store_part_problems(Store *store, int64_t campaign, const struct problem_part *part,
                                GError **error)
{
    g_autoptr(StoreRows) rows = store_read(
        store, error,
        "SELECT to_jsonb(p) FROM problems p WHERE p.id IN (SELECT j.problem_id FROM jobs j"
        " WHERE j.campaign_id = $1 AND j.problem_id > $2 AND j.problem_id <= $3)",
        "lll", campaign, part->after, part->last);
    if (rows == NULL)
        return NULL;
    g_autoptr(GHashTable) problems =
        g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);
    for (int i = 0; i < PQntuples(rows); i++) {
        g_autoptr(StoreJson) object = store_row_json(rows, i);
        int64_t id = json_member_int(object, "id");
        struct problem problem;
        if (!problem_from_json(object, &problem, error))
            return NULL;
        g_hash_table_insert(problems, g_memdup2(&id, sizeof id),
                            g_memdup2(&problem, sizeof problem));
    }
    return g_steal_pointer(&problems);
}

const struct problem *store_problem_of(GHashTable *problems, const json_t *object, GError **error)
{
    int64_t id = json_member_int(object, "problem_id");
    const struct problem *problem = g_hash_table_lookup(problems, &id);
    if (problem == NULL)
        store_damaged(error, "there is no problem %" G_GINT64_FORMAT, (gint64)id);
    return problem;
}

GPtrArray *store_list_part(Store *store, int64_t campaign, const struct problem_part *part,
                           const char *sql, store_read_of_problem read, GDestroyNotify destroy,
                           GError **error)
{
    g_autoptr(GHashTable) problems = store_part_problems(store, campaign, part, error);
    g_autoptr(StoreRows) rows =
        problems == NULL ? NULL
                         : store_read(store, error, sql, "lll", campaign, part->after, part->last);
    if (rows == NULL)
        return NULL;
    g_autoptr(GPtrArray) list = g_ptr_array_new_full((guint)PQntuples(rows), destroy);
    for (int i = 0; i < PQntuples(rows); i++) {
        g_autoptr(StoreJson) object = store_row_json(rows, i);
        const struct problem *problem = store_problem_of(problems, object, error);
        gpointer item = problem == NULL ? NULL : read(object, problem, error);
        if (item == NULL)
            return NULL;
        g_ptr_array_add(list, item);
    }
    return g_steal_pointer(&list);
}
