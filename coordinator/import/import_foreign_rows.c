#include "coordinator/import/import_foreign_rows.h"
#include "schema/store/store_foreign.h"
#include "schema/store/store_problems.h"

/* A statement with so many rows takes some 100 ms and a few MB on either side. */
#define ROWS_AT_ONCE 5000

void foreign_rows_init(struct foreign_rows *rows, Store *store, int64_t campaign)
{
    *rows = (struct foreign_rows){.store = store, .campaign = campaign};
    rows->problems = g_array_new(FALSE, FALSE, sizeof(struct problem));
    rows->times = g_array_new(FALSE, FALSE, sizeof(struct foreign_time));
    rows->params = g_array_new(FALSE, FALSE, sizeof(struct foreign_params));
    rows->names = g_string_chunk_new(1 << 16);
}

void foreign_rows_clear(struct foreign_rows *rows)
{
    g_array_unref(rows->problems);
    g_array_unref(rows->times);
    g_array_unref(rows->params);
    g_string_chunk_free(rows->names);
}

int64_t foreign_rows_problem(struct foreign_rows *rows, const struct problem *problem)
{
    g_array_append_val(rows->problems, *problem);
    return rows->problems->len - 1;
}

void foreign_rows_time(struct foreign_rows *rows, const struct foreign_time *time)
{
    struct foreign_time kept = *time;
    kept.solver = g_string_chunk_insert_const(rows->names, time->solver);
    kept.algorithm = g_string_chunk_insert_const(rows->names, time->algorithm);
    g_array_append_val(rows->times, kept);
    rows->file->entries++;
}

void foreign_rows_params(struct foreign_rows *rows, const struct foreign_params *params)
{
    struct foreign_params kept = *params;
    kept.solver = g_string_chunk_insert_const(rows->names, params->solver);
    kept.params = g_string_chunk_insert_const(rows->names, params->params);
    g_array_append_val(rows->params, kept);
    rows->file->entries++;
}

bool foreign_rows_store_problems(struct foreign_rows *rows, GArray *ids, GError **error)
{
    guint count = rows->problems->len, before = ids->len;
    g_array_set_size(ids, before + count); /* without a store they stay 0 */
    if (rows->store != NULL && count > 0 &&
        !store_put_problems(rows->store, (const struct problem *)(const void *)rows->problems->data,
                            (int)count, NULL, &g_array_index(ids, int64_t, before), error)) {
        return false;
    }
    g_array_set_size(rows->problems, 0);
    return true;
}

/* Where no problem gathered beside them, params name rows of problems already. */
static void places_to_ids(struct foreign_rows *rows, const GArray *ids)
{
    for (guint i = 0; i < rows->times->len; i++) {
        struct foreign_time *time = &g_array_index(rows->times, struct foreign_time, i);
        time->problem = g_array_index(ids, int64_t, time->problem);
        time->row_problem = g_array_index(ids, int64_t, time->row_problem);
    }
    for (guint i = 0; i < rows->params->len && ids->len > 0; i++) {
        struct foreign_params *params = &g_array_index(rows->params, struct foreign_params, i);
        params->problem = g_array_index(ids, int64_t, params->problem);
    }
}

static bool store_rows(struct foreign_rows *rows, GError **error)
{
    int times = (int)rows->times->len, params = (int)rows->params->len, added = 0, more = 0;
    const void *time = rows->times->data, *config = rows->params->data;
    if ((times > 0 &&
         !store_add_foreign_times(rows->store, rows->campaign, time, times, &added, error)) ||
        (params > 0 &&
         !store_add_foreign_params(rows->store, rows->campaign, config, params, &more, error))) {
        return false;
    }
    rows->file->repeated += times + params - added - more;
    return true;
}

bool foreign_rows_store(struct foreign_rows *rows, bool all, GError **error)
{
    if (!all && rows->problems->len + rows->times->len + rows->params->len < ROWS_AT_ONCE) {
        return true;
    }
    g_autoptr(GArray) ids = g_array_new(FALSE, TRUE, sizeof(int64_t));
    if (!foreign_rows_store_problems(rows, ids, error)) {
        return false;
    }
    places_to_ids(rows, ids);
    if (rows->store != NULL && !store_rows(rows, error)) {
        return false;
    }
    g_array_set_size(rows->times, 0);
    g_array_set_size(rows->params, 0);
    g_string_chunk_clear(rows->names);
    if (rows->progress != NULL) {
        rows->progress(rows->file->path, rows->file->entries);
    }
    return true;
}
