/*
 * Golden versions, read and changed. Each change is one SQL function, which
 * locks the target's row: changes of a target take turns, and no lock is held
 * while the client works.
 */
#include "schema/results/store_golden.h"

#include "schema/store/store_private.h"

#include <stdlib.h>
#include <string.h>

static void free_version(gpointer data)
{
    struct golden_version *version = data;
    g_free(version->target);
    g_free(version->kind);
    g_free(version->state);
    g_free(version->campaign_name);
    g_free(version->note);
    g_free(version->proposed_by);
    g_free(version->proposed_login);
    g_free(version->approved_by);
    g_free(version->approved_login);
    g_free(version->counts);
    g_free(version);
}

static char *counts_text(const json_t *row)
{
    char *dumped = json_dumps(json_object_get(row, "counts"), JSON_COMPACT | JSON_SORT_KEYS);
    char *text = g_strdup(dumped != NULL ? dumped : "{}");
    free(dumped);
    return text;
}

static gpointer read_version(const json_t *row)
{
    struct golden_version *version = g_new0(struct golden_version, 1);
    version->target = json_member_text(row, "target");
    version->kind = json_member_text(row, "kind");
    version->state = json_member_text(row, "state");
    version->version = (int)json_member_int(row, "version");
    version->base = (int)json_member_int(row, "base");
    version->restores = (int)json_member_int(row, "restores");
    version->campaign = json_member_int(row, "campaign_id");
    version->campaign_name = json_member_text(row, "campaign_name");
    version->note = json_member_text(row, "note");
    version->proposed_by = json_member_text(row, "proposed_by");
    version->proposed_login = json_member_text(row, "proposed_login");
    version->approved_by = json_member_text(row, "approved_by");
    version->approved_login = json_member_text(row, "approved_login");
    version->proposed_unix = json_member_int(row, "proposed");
    version->approved_unix = json_member_int(row, "approved");
    version->counts = counts_text(row);
    return version;
}

GPtrArray *store_list_golden(Store *store, const char *target, GError **error)
{
    g_autoptr(StoreRows) rows = store_read(store, error,
                                           "SELECT to_jsonb(v) FROM golden_version_rows v"
                                           " WHERE $1::text IS NULL OR v.target = $1"
                                           " ORDER BY v.target, v.version",
                                           "s", target);
    return rows == NULL ? NULL : store_list(rows, read_version, free_version);
}

bool store_newest_golden(Store *store, const char *target, int *version, GError **error)
{
    g_autoptr(StoreRows) rows = store_read(store, error, "SELECT newest_golden($1)", "s", target);
    if (rows != NULL)
        *version = atoi(PQgetvalue(rows, 0, 0));
    return rows != NULL;
}

/* ---- content ---- */

static void free_row(gpointer data)
{
    struct golden_row *row = data;
    store_result_clear(&row->result);
    g_free(row);
}

static gpointer read_row(const json_t *object)
{
    struct golden_row *row = g_new0(struct golden_row, 1);
    store_read_judged(object, &row->result);
    row->campaign = json_member_int(object, "campaign");
    row->since = (int)json_member_int(object, "since");
    row->fits = json_member_bool(object, "fits");
    return row;
}

bool store_next_golden_rows(Store *store, const char *target, int rows, struct result_part *part,
                            GError **error)
{
    g_autoptr(StoreRows) found = store_read(store, error, "SELECT golden_part_end($1, $2, $3)",
                                            "sli", target, part->last, rows);
    if (found != NULL)
        store_part_move(part, PQntuples(found) > 0 ? PQgetvalue(found, 0, 0) : "");
    return found != NULL;
}

GPtrArray *store_list_golden_rows(Store *store, const struct golden_query *query, GError **error)
{
    const struct result_part *part = query->part;
    g_autofree char *jobs = store_part_jobs(part);
    g_autoptr(StoreRows) rows =
        store_read(store, error, "SELECT list_golden_part($1, $2, $3, $4, $5, $6, $7, $8)",
                   "sissslls", query->target, query->version, query->stack, query->network,
                   query->tag, PART_AFTER(part), PART_LAST(part), jobs);
    if (rows == NULL)
        return NULL;
    GPtrArray *list = store_list(rows, read_row, free_row);
    g_ptr_array_sort(list, store_compare_results);
    return list;
}

static void free_change(gpointer data)
{
    struct golden_change *change = data;
    g_free(change->solver);
    g_free(change->change);
    g_free(change->reason);
    g_free(change->old_config);
    g_free(change->new_config);
    g_free(change);
}

static gpointer read_change(const json_t *object, GError **error)
{
    struct golden_change *change = g_new0(struct golden_change, 1);
    if (!problem_from_json(json_object_get(object, "problem"), &change->problem, error)) {
        g_free(change);
        return NULL;
    }
    change->solver = json_member_text(object, "solver");
    change->change = json_member_text(object, "change");
    change->reason = json_member_text(object, "reason");
    change->old_ms = json_member_double(object, "old_ms");
    change->new_ms = json_member_double(object, "new_ms");
    change->old_drift = json_member_double(object, "old_drift");
    change->new_drift = json_member_double(object, "new_drift");
    change->old_revision = (int)json_member_int(object, "old_revision");
    change->new_revision = (int)json_member_int(object, "new_revision");
    change->old_config = json_member_text(object, "old_config");
    change->new_config = json_member_text(object, "new_config");
    return change;
}

static int compare_changes(gconstpointer a, gconstpointer b)
{
    const struct golden_change *left = *(const struct golden_change *const *)a;
    const struct golden_change *right = *(const struct golden_change *const *)b;
    int order = problem_compare(&left->problem, &right->problem);
    return order != 0 ? order : strcmp(left->solver, right->solver);
}

GPtrArray *store_diff_golden(Store *store, const char *target, int a, int b, GError **error)
{
    g_autoptr(StoreRows) rows =
        store_read(store, error, "SELECT diff_golden($1, $2, $3)", "sii", target, a, b);
    GPtrArray *list =
        rows == NULL ? NULL : store_list_checked(rows, read_change, free_change, error);
    if (list != NULL)
        g_ptr_array_sort(list, compare_changes);
    return list;
}

/* ---- changes ---- */

static json_t *takes_to_json(const struct golden_take *takes, int count)
{
    json_t *jobs = json_array(), *ranks = json_array();
    json_t *medians = json_array(), *reasons = json_array(), *as_ranks = json_array();
    for (int i = 0; i < count; i++) {
        json_array_append_new(jobs, json_integer(takes[i].job));
        json_array_append_new(ranks, json_integer(takes[i].rank));
        json_array_append_new(medians, json_from_double(takes[i].median_ms));
        json_array_append_new(reasons, json_from_text(takes[i].reason));
        json_array_append_new(as_ranks, json_integer(takes[i].as_rank));
    }
    return json_pack("{so so so so so}", "jobs", jobs, "ranks", ranks, "medians", medians,
                     "reasons", reasons, "as_ranks", as_ranks);
}

bool store_ask_golden(Store *store, const struct golden_take *takes, int count, int64_t *asked,
                      GError **error)
{
    g_autoptr(StoreJson) items = takes_to_json(takes, count);
    g_autoptr(StoreRows) rows =
        store_run(store, error, "SELECT ask_golden($1, $2)", "lj", *asked, items);
    if (rows != NULL)
        *asked = strtoll(PQgetvalue(rows, 0, 0), NULL, 10);
    return rows != NULL;
}

bool store_propose_golden(Store *store, const struct golden_proposal *proposal, int *version,
                          bool *is_new, GError **error)
{
    g_autoptr(StoreRows) rows = store_run(
        store, error, "SELECT * FROM propose_asked_golden($1, $2, $3, $4, $5, $6, $7, $8)",
        "silsslls", proposal->target, proposal->base, proposal->campaign, proposal->by,
        proposal->note, proposal->asked, proposal->take_count, proposal->counts);
    if (rows == NULL)
        return false;
    *version = atoi(PQgetvalue(rows, 0, 0));
    *is_new = PQgetvalue(rows, 0, 1)[0] == 't';
    return true;
}

/* ---- measuring again ---- */

static json_t *names_to_json(const char *lines)
{
    json_t *list = json_array();
    g_auto(GStrv) names = g_strsplit(lines, "\n", -1);
    for (char **name = names; *name != NULL; name++)
        json_array_append_new(list, json_from_text(*name));
    return list;
}

static json_t *disputes_to_json(const struct golden_dispute *disputes, int count)
{
    json_t *items = json_array();
    for (int i = 0; i < count; i++)
        json_array_append_new(items, json_pack("{sI ss ss? so}", "problem_id",
                                               (json_int_t)disputes[i].problem_id, "solver",
                                               disputes[i].solver, "rival", disputes[i].rival,
                                               "not_by", names_to_json(disputes[i].not_by)));
    return items;
}

bool store_remeasure_golden(Store *store, const char *target, int64_t campaign,
                            const struct golden_dispute *disputes, int count,
                            const char *const *solvers, struct golden_remeasure *counts,
                            GError **error)
{
    g_autoptr(StoreJson) items = disputes_to_json(disputes, count);
    g_autoptr(StoreJson) carried = json_array();
    for (const char *const *solver = solvers; *solver != NULL; solver++)
        json_array_append_new(carried, json_string(*solver));
    g_autoptr(StoreRows) rows =
        store_run(store, error, "SELECT remeasure_for_golden($1, $2, $3, $4)", "sljj", target,
                  campaign, items, carried);
    if (rows == NULL)
        return false;
    g_autoptr(StoreJson) object = store_row_json(rows, 0);
    counts->asked += json_member_int(object, "asked");
    counts->under_way += json_member_int(object, "under_way");
    counts->at_work += json_member_int(object, "at_work");
    counts->impossible += json_member_int(object, "impossible");
    return true;
}

static void clear_confirmed(gpointer data)
{
    struct golden_confirmed_config *config = data;
    g_free(config->config);
}

static void free_confirmation(gpointer data)
{
    struct golden_confirmation *confirmation = data;
    g_free(confirmation->solver);
    g_free(confirmation->base_config);
    g_array_unref(confirmation->configs);
    g_free(confirmation);
}

static gpointer read_confirmation(const json_t *object, GError **error)
{
    size_t index;
    json_t *value;
    struct golden_confirmation *confirmation = g_new0(struct golden_confirmation, 1);
    confirmation->problem_id = json_member_int(object, "problem_id");
    confirmation->solver = json_member_text(object, "solver");
    confirmation->base_config = json_member_text_or_null(object, "base_config");
    confirmation->drift = json_member_double(object, "drift");
    confirmation->throttle = (unsigned)json_member_int(object, "throttle");
    confirmation->configs = g_array_new(FALSE, TRUE, sizeof(struct golden_confirmed_config));
    g_array_set_clear_func(confirmation->configs, clear_confirmed);
    json_array_foreach (json_object_get(object, "configs"), index, value) {
        int64_t failure;
        if (!json_int_within(json_object_get(value, "failure"), 0, FAILURE_COUNT - 1, &failure)) {
            store_damaged(error, "a config measured again has an unknown failure");
            free_confirmation(confirmation);
            return NULL;
        }
        struct golden_confirmed_config config = {
            .config = json_member_text(value, "config"),
            .failure = (enum failure)failure,
            .median_ms = json_member_double(value, "median_ms"),
            .spread = json_member_double(value, "spread"),
        };
        g_array_append_val(confirmation->configs, config);
    }
    return confirmation;
}

GPtrArray *store_list_golden_confirmations(Store *store, const char *target, int64_t campaign,
                                           GError **error)
{
    g_autoptr(StoreRows) rows =
        store_read(store, error, "SELECT golden_confirmations($1, $2)", "sl", target, campaign);
    return rows == NULL ? NULL
                        : store_list_checked(rows, read_confirmation, free_confirmation, error);
}

/* ---- who measured an entry, and who may ---- */

static void clear_measurement(gpointer data)
{
    g_strfreev(((struct golden_measurement *)data)->logins);
}

static void free_measured(gpointer data)
{
    struct golden_measured *measured = data;
    g_array_unref(measured->times);
    clear_measurement(&measured->golden);
    g_strfreev(measured->able);
    g_free(measured);
}

static struct golden_measurement read_measurement(const json_t *object)
{
    return (struct golden_measurement){
        .median_ms = json_member_double(object, "median_ms"),
        .spread = json_member_double(object, "spread"),
        .logins = texts_from_json(json_object_get(object, "logins")),
    };
}

static gpointer read_measured(const json_t *object)
{
    size_t index;
    json_t *value;
    struct golden_measured *measured = g_new0(struct golden_measured, 1);
    measured->times = g_array_new(FALSE, TRUE, sizeof(struct golden_measurement));
    g_array_set_clear_func(measured->times, clear_measurement);
    json_array_foreach (json_object_get(object, "times"), index, value) {
        struct golden_measurement measurement = read_measurement(value);
        g_array_append_val(measured->times, measurement);
    }
    measured->golden = read_measurement(json_object_get(object, "golden"));
    measured->able = texts_from_json(json_object_get(object, "able"));
    return measured;
}

static json_t *winners_to_json(const struct golden_winner *winners, int count)
{
    json_t *items = json_array();
    for (int i = 0; i < count; i++)
        json_array_append_new(
            items, json_pack("{sI sI ss so so}", "problem_id", (json_int_t)winners[i].problem_id,
                             "job", (json_int_t)winners[i].job, "solver", winners[i].solver,
                             "config", json_from_text(winners[i].config), "median_ms",
                             json_from_double(winners[i].median_ms)));
    return items;
}

GPtrArray *store_list_golden_measurements(Store *store, const char *target, int64_t campaign,
                                          const struct golden_winner *winners, int count,
                                          GError **error)
{
    g_autoptr(StoreJson) items = winners_to_json(winners, count);
    g_autoptr(StoreRows) rows = store_read(store, error,
                                           "SELECT m FROM golden_measurements($1, $2, $3) AS m"
                                           " ORDER BY (m->>'place')::integer",
                                           "slj", target, campaign, items);
    if (rows != NULL && PQntuples(rows) != count) {
        store_damaged(error, "%d of %d winners were found again", PQntuples(rows), count);
        return NULL;
    }
    return rows == NULL ? NULL : store_list(rows, read_measured, free_measured);
}

/* ---- approving ---- */

bool store_approve_golden(Store *store, const char *target, int version, const char *by,
                          GError **error)
{
    return store_do(store, error, "SELECT approve_golden($1, $2, $3)", "sis", target, version, by);
}

bool store_withdraw_golden(Store *store, const char *target, int version, const char *by,
                           GError **error)
{
    return store_do(store, error, "SELECT withdraw_golden($1, $2, $3)", "sis", target, version, by);
}

bool store_roll_back_golden(Store *store, const struct golden_rollback *rollback, int *version,
                            bool *approved, GError **error)
{
    g_autoptr(StoreRows) rows =
        store_run(store, error, "SELECT * FROM roll_back_golden($1, $2, $3, $4)", "siss",
                  rollback->target, rollback->to, rollback->by, rollback->note);
    if (rows == NULL)
        return false;
    *version = atoi(PQgetvalue(rows, 0, 0));
    *approved = PQgetvalue(rows, 0, 1)[0] == 't';
    return true;
}

bool store_prune_golden(Store *store, const char *target, int before, const char *by,
                        struct golden_pruned *pruned, GError **error)
{
    g_autoptr(StoreRows) rows = store_run(store, error, "SELECT * FROM prune_golden($1, $2, $3)",
                                          "sis", target, before, by);
    if (rows == NULL)
        return false;
    pruned->versions = strtoll(PQgetvalue(rows, 0, 0), NULL, 10);
    pruned->configs = strtoll(PQgetvalue(rows, 0, 1), NULL, 10);
    return true;
}

bool store_golden_policy(Store *store, const char *target, bool *two_persons, GError **error)
{
    g_autoptr(StoreRows) rows =
        store_read(store, error, "SELECT demands_two_persons($1)", "s", target);
    if (rows != NULL)
        *two_persons = PQgetvalue(rows, 0, 0)[0] == 't';
    return rows != NULL;
}

bool store_set_golden_policy(Store *store, const char *target, bool two_persons, const char *by,
                             GError **error)
{
    return store_do(store, error, "SELECT set_golden_policy($1, $2, $3)", "sbs", target,
                    two_persons, by);
}
