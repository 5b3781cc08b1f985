/*
 * Completeness of a campaign, from its jobs, its kept results and the events of
 * problems that no solver serves.
 */
#include "schema/farm/completeness.h"

#include "schema/store/store_campaigns.h"
#include "schema/store/store_events.h"
#include "schema/store/store_private.h"
#include "solvers/problem/problem_key.h"

#define NAMED_MAX 3 /* most problems that the text names */

/* Jobs of the filtered problems: $1 campaign, $2 network, $3 tag. */
#define OF_PART                                                                                    \
    " j.campaign_id = $1"                                                                          \
    " AND ($2::text IS NULL OR j.problem_id IN (SELECT problems_of_network($1, $2)))"              \
    " AND ($3::text IS NULL OR j.problem_id IN (SELECT t.problem_id FROM problem_tags t"           \
    "                                           WHERE t.tag = $3))"

#define WITH_RESULTS                                                                               \
    "SELECT j.problem_id FROM results r JOIN jobs j ON j.campaign_id = $1 AND j.id = r.job_id"     \
    " WHERE r.campaign_id = $1"
#define WITH_CODE                                                                                  \
    "SELECT j.problem_id FROM job_rows j WHERE j.campaign_id = $1 AND j.state = 'done'"

#define WITHOUT(WINNERS)                                                                           \
    "SELECT jsonb_build_object('all', count(*) OVER (), 'problem', to_jsonb(p)) FROM problems p"   \
    " WHERE p.id IN (SELECT j.problem_id FROM jobs j WHERE" OF_PART " EXCEPT " WINNERS ")"         \
    " ORDER BY p.id LIMIT $4"

static bool count_jobs(Store *store, const struct campaign *campaign, const char *network,
                       const char *tag, struct completeness *completeness, GError **error)
{
    g_autoptr(StoreRows) rows =
        store_read(store, error,
                   "SELECT jsonb_build_object('jobs', count(*), 'ended', count(*)"
                   " FILTER (WHERE j.state IN ('done', 'failed')), 'untried', count(*)"
                   " FILTER (WHERE j.state = 'done' AND j.by_budget AND j.round_no = 0))"
                   " FROM job_rows j WHERE" OF_PART,
                   "lss", campaign->id, network, tag);
    if (rows == NULL)
        return false;
    g_autoptr(StoreJson) object = store_row_json(rows, 0);
    completeness->jobs = (int)json_member_int(object, "jobs");
    completeness->ended = (int)json_member_int(object, "ended");
    completeness->untried = (int)json_member_int(object, "untried");
    return true;
}

static void name_problem(struct completeness *completeness, const struct problem *problem)
{
    char key[PROBLEM_KEY_MAX];
    if (completeness->problems->len < COMPLETENESS_NAMED)
        g_ptr_array_add(completeness->problems, g_strdup(problem_key(problem, key)));
}

static bool list_problems(Store *store, const struct campaign *campaign, const char *network,
                          const char *tag, struct completeness *completeness, GError **error)
{
    g_autoptr(StoreRows) rows =
        store_read(store, error, campaign->build_only ? WITHOUT(WITH_CODE) : WITHOUT(WITH_RESULTS),
                   "lssi", campaign->id, network, tag, COMPLETENESS_NAMED);
    for (int i = 0; rows != NULL && i < PQntuples(rows); i++) {
        struct problem problem;
        g_autoptr(StoreJson) object = store_row_json(rows, i);
        completeness->without_winner = (int)json_member_int(object, "all");
        if (!problem_from_json(json_object_get(object, "problem"), &problem, error))
            return false;
        name_problem(completeness, &problem);
    }
    return rows != NULL;
}

/* The keys of a network's or tag's problems. NULL without an error if there is no filter. */
static GHashTable *keys_of_part(Store *store, const char *network, const char *tag, GError **error)
{
    char key[PROBLEM_KEY_MAX];
    const struct problem_filter filter = {.network = network, .tag = tag};
    g_autoptr(GArray) problems =
        network != NULL || tag != NULL ? store_list_problems(store, &filter, error) : NULL;
    if (problems == NULL)
        return NULL;
    GHashTable *keys = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    for (guint i = 0; i < problems->len; i++) {
        const struct stored_problem *stored = &g_array_index(problems, struct stored_problem, i);
        g_hash_table_add(keys, g_strdup(problem_key(&stored->problem, key)));
    }
    return keys;
}

/* Counts the problems that no solver serves: they have no job, only an event. */
static bool add_unserved(Store *store, const struct campaign *campaign, const char *network,
                         const char *tag, struct completeness *completeness, GError **error)
{
    g_autoptr(GError) failure = NULL;
    g_autoptr(GPtrArray) events = store_list_events_of(store, campaign->id, EVENT_NO_SOLVER, error);
    if (events == NULL || events->len == 0)
        return events != NULL;
    g_autoptr(GHashTable) keys = keys_of_part(store, network, tag, &failure);
    if (failure != NULL) {
        g_propagate_error(error, g_steal_pointer(&failure));
        return false;
    }
    for (guint i = 0; i < events->len; i++) {
        const struct event_row *event = events->pdata[i];
        if (keys != NULL && !g_hash_table_contains(keys, event->detail))
            continue;
        completeness->without_winner++;
        if (completeness->problems->len < COMPLETENESS_NAMED)
            g_ptr_array_add(completeness->problems, g_strdup(event->detail));
    }
    return true;
}

bool store_completeness(Store *store, const struct campaign *campaign, const char *network,
                        const char *tag, struct completeness *completeness, GError **error)
{
    *completeness = (struct completeness){.problems = g_ptr_array_new_with_free_func(g_free)};
    return count_jobs(store, campaign, network, tag, completeness, error) &&
           list_problems(store, campaign, network, tag, completeness, error) &&
           add_unserved(store, campaign, network, tag, completeness, error);
}

void completeness_clear(struct completeness *completeness)
{
    g_clear_pointer(&completeness->problems, g_ptr_array_unref);
}

bool completeness_is_whole(const struct completeness *completeness)
{
    return completeness->ended == completeness->jobs && completeness->without_winner == 0;
}

char *completeness_text(const struct completeness *completeness, int64_t campaign)
{
    GString *text = g_string_new(NULL);
    g_string_printf(text,
                    "campaign %" G_GINT64_FORMAT " is not complete: %d of its %d jobs have ended",
                    (gint64)campaign, completeness->ended, completeness->jobs);
    if (completeness->without_winner > 0)
        g_string_append_printf(text, ", %d problem%s no winner", completeness->without_winner,
                               completeness->without_winner == 1 ? " has" : "s have");
    for (guint i = 0; i < completeness->problems->len && i < NAMED_MAX; i++)
        g_string_append_printf(text, "%s%s", i == 0 ? " (" : ", ",
                               (char *)completeness->problems->pdata[i]);
    if (completeness->problems->len > 0)
        g_string_append(text, completeness->without_winner > NAMED_MAX ? ", ...)" : ")");
    return g_string_free(text, FALSE);
}
