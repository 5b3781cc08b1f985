/* Measuring again: the whole decision is made by the SQL function remeasure(). */
#include "schema/results/store_remeasure.h"

#include "schema/store/drift.h"
#include "schema/store/store_private.h"

/* The kinds as the SQL function remeasurable() numbers them. */
static json_t *kinds_to_json(unsigned what)
{
    json_t *kinds = json_array();
    for (int kind = REMEASURE_KIND_WINNERS; kind <= REMEASURE_KIND_UNSTABLE; kind++) {
        if ((what & (1u << kind)) != 0)
            json_array_append_new(kinds, json_integer(kind));
    }
    return kinds;
}

bool store_remeasure(Store *store, int64_t campaign, const struct remeasure_wish *wish,
                     struct remeasure_counts *counts, GError **error)
{
    g_autoptr(StoreJson) kinds = kinds_to_json(wish->what);
    g_autoptr(StoreJson) solvers = json_array();
    for (const char *const *solver = wish->solvers; *solver != NULL; solver++)
        json_array_append_new(solvers, json_string(*solver));
    g_autoptr(StoreRows) rows =
        store_run(store, error, "SELECT remeasure($1, $2, $3, $4, $5)", "ljdjb", campaign, kinds,
                  DRIFT_MAX, solvers, wish->dry_run);
    if (rows == NULL)
        return false;
    g_autoptr(StoreJson) object = store_row_json(rows, 0);
    *counts = (struct remeasure_counts){
        .jobs = json_member_int(object, "jobs"),
        .rounds = json_member_int(object, "rounds"),
        .winners = json_member_int(object, "winners"),
        .defaults = json_member_int(object, "defaults"),
        .unstable = json_member_int(object, "unstable"),
        .under_way = json_member_int(object, "under_way"),
        .at_work = json_member_int(object, "at_work"),
        .other_revisions = json_member_int(object, "other_revisions"),
    };
    return true;
}
