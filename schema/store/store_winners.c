/*
 * Winners: gathering them, and giving them to jobs as priors.
 *
 * campaigns_to_gather() lists campaigns in which jobs have ended since they were
 * gathered last. Each is read in steps of STEP_ROWS, and then marked with the
 * number of ended jobs that was seen at the beginning: jobs that ended meanwhile
 * make the campaign appear again.
 */
#include "schema/store/store_winners.h"

#include <stdlib.h>
#include <string.h>

#include "schema/store/store_private.h"
#include "schema/store/store_queue.h"
#include "solvers/framework/solver.h"
#include "solvers/framework/strategy.h"

/* ---- gathering winners ---- */

#define STEP_ROWS 5000 /* about a fifth of a second */

/* Names of those solvers of foreign campaigns that this program has. */
static json_t *tunable_solvers(void)
{
    json_t *names = json_array();
    for (int i = 0; i < solver_table_count; i++)
        if (solver_table[i]->space != NULL)
            json_array_append_new(names, json_string(solver_table[i]->name));
    return names;
}

struct gathering {
    Store *store;
    json_t *names;
    char *names_text;
    const volatile gint *stop;
};

static bool stopped(const struct gathering *gathering)
{
    return gathering->stop != NULL && g_atomic_int_get(gathering->stop) != 0;
}

/* Gathers one step; *last becomes 0 after the campaign's last step. */
static bool gather_step(const struct gathering *gathering, int64_t campaign, bool foreign,
                        int64_t *last, GError **error)
{
    g_autoptr(StoreRows) rows =
        foreign
            ? store_run(gathering->store, error, "SELECT gather_foreign_winners($1, $2, $3, $4)",
                        "llij", campaign, *last, STEP_ROWS, gathering->names)
            : store_run(gathering->store, error, "SELECT gather_winners($1, $2, $3)", "lli",
                        campaign, *last, STEP_ROWS);
    if (rows == NULL)
        return false;
    *last = PQgetisnull(rows, 0, 0) ? 0 : strtoll(PQgetvalue(rows, 0, 0), NULL, 10);
    return true;
}

static bool gather_campaign(const struct gathering *gathering, int64_t campaign, bool foreign,
                            int64_t ends, GError **error)
{
    int64_t last = 0;
    do {
        if (stopped(gathering))
            return true;
        if (!gather_step(gathering, campaign, foreign, &last, error))
            return false;
    } while (last != 0);
    return store_do(gathering->store, error, "SELECT mark_gathered($1, $2, $3)", "lls", campaign,
                    ends, gathering->names_text);
}

static bool gather_campaigns(const struct gathering *gathering, int64_t most, GError **error)
{
    g_autoptr(StoreRows) rows =
        store_read(gathering->store, error,
                   "SELECT campaign_id, is_foreign, ends FROM campaigns_to_gather($1, $2)", "sl",
                   gathering->names_text, most);
    for (int i = 0; rows != NULL && i < PQntuples(rows); i++) {
        int64_t campaign = strtoll(PQgetvalue(rows, i, 0), NULL, 10);
        bool foreign = PQgetvalue(rows, i, 1)[0] == 't';
        int64_t ends = strtoll(PQgetvalue(rows, i, 2), NULL, 10);
        if (!gather_campaign(gathering, campaign, foreign, ends, error))
            return false;
    }
    return rows != NULL;
}

static bool forget_dropped(const struct gathering *gathering, GError **error)
{
    bool more = true;
    while (more && !stopped(gathering)) {
        g_autoptr(StoreRows) rows =
            store_run(gathering->store, error, "SELECT forget_winners($1)", "i", STEP_ROWS);
        if (rows == NULL)
            return false;
        more = PQgetvalue(rows, 0, 0)[0] == 't';
    }
    return true;
}

bool store_gather_winners(Store *store, int64_t most, const volatile gint *stop, GError **error)
{
    g_autoptr(StoreJson) names = tunable_solvers();
    g_autofree char *names_text = json_dumps(names, JSON_COMPACT);
    struct gathering gathering = {
        .store = store, .names = names, .names_text = names_text, .stop = stop};
    return forget_dropped(&gathering, error) &&
           store_do(store, error, "SELECT gather_golden_winners()", "") &&
           gather_campaigns(&gathering, most, error);
}

/* ---- giving jobs their priors ---- */

static bool wants_prior(const struct job *job)
{
    return strcmp(job->strategy, STRATEGY_PRIOR) == 0;
}

static struct job *find_job(const GPtrArray *jobs, int64_t id)
{
    for (guint i = 0; i < jobs->len; i++) {
        struct job *job = g_ptr_array_index(jobs, i);
        if (job->id == id)
            return job;
    }
    return NULL;
}

/* Marks the jobs that want a prior as damaged: without it they would try other configs than planned. */
static void spoil(GPtrArray *jobs, const GError *failure)
{
    for (guint i = 0; i < jobs->len; i++) {
        struct job *job = g_ptr_array_index(jobs, i);
        if (wants_prior(job) && job->damage == NULL)
            job->damage = g_strdup_printf("its prior cannot be read: %s", failure->message);
    }
}

/* Returns the texts with '@' or those without it, NULL if no text is of that kind. */
static char **texts_of_kind(char **texts, bool attempts)
{
    GPtrArray *found = g_ptr_array_new();
    for (char **text = texts; *text; text++)
        if ((strchr(*text, '@') != NULL) == attempts)
            g_ptr_array_add(found, g_strdup(*text));
    if (found->len > 0)
        g_ptr_array_add(found, NULL);
    return (char **)g_ptr_array_free(found, found->len == 0);
}

static void give(struct job *job, const json_t *configs)
{
    g_auto(GStrv) texts = texts_from_json(configs);
    if (texts == NULL)
        return;
    job->prior = texts_of_kind(texts, false);
    job->attempts = texts_of_kind(texts, true);
}

bool store_give_priors(Store *store, int64_t worker, GPtrArray *jobs, GError **error)
{
    g_autoptr(StoreJson) ids = json_array();
    int64_t campaign = 0;
    for (guint i = 0; i < jobs->len; i++) {
        const struct job *job = g_ptr_array_index(jobs, i);
        campaign = job->campaign; /* the same for all jobs of a claim */
        if (wants_prior(job))
            json_array_append_new(ids, json_integer(job->id));
    }
    if (json_array_size(ids) == 0)
        return true;
    g_autoptr(GError) failure = NULL;
    g_autoptr(StoreRows) rows =
        store_run(store, &failure, "SELECT job_id, configs FROM skipjack_work.priors($1, $2, $3)",
                  "llj", worker, campaign, ids);
    if (g_error_matches(failure, STORE_ERROR, STORE_ERROR_QUERY)) {
        spoil(jobs, failure);
        return true;
    }
    if (failure != NULL)
        g_propagate_error(error, g_steal_pointer(&failure));
    for (int i = 0; rows != NULL && i < PQntuples(rows); i++) {
        struct job *job = find_job(jobs, strtoll(PQgetvalue(rows, i, 0), NULL, 10));
        g_autoptr(StoreJson) configs = json_loads(PQgetvalue(rows, i, 1), 0, NULL);
        if (job != NULL && job->prior == NULL && job->attempts == NULL)
            give(job, configs);
    }
    return rows != NULL;
}

bool store_count_priors(Store *store, int64_t campaign, int64_t *jobs, GError **error)
{
    g_autoptr(StoreRows) rows = store_read(
        store, error,
        "SELECT count(*) FROM priors p WHERE p.campaign_id = $1"
        " AND EXISTS (SELECT 1 FROM unnest(p.configs) AS u(text) WHERE strpos(u.text, '@') = 0)",
        "l", campaign);
    if (rows != NULL)
        *jobs = strtoll(PQgetvalue(rows, 0, 0), NULL, 10);
    return rows != NULL;
}
