/*
 * Claims of jobs, and handing in rounds.
 *
 * A claim is one call of claim(), at most three that read the rows it names, and one
 * for priors. The claim holds ids of campaigns, solvers and problems, which never change, so each
 * is read once a connection (learn_claimed()). The position behind the last
 * claimed job is kept for each pool, so that the next claim need not scan past
 * bundles that other workers hold.
 *
 * A claim may commit although its answer is lost. Its token, a random number, is
 * kept until the next call has released the jobs (doubt_claim(),
 * release_doubtful_claim()).
 *
 * Rounds are handed in as arrays of rows, all items of one campaign by one
 * statement. If the server refuses the statement because of one item, the items
 * follow one by one, so that each gets its own error (hand_in_or_split()).
 */
#include "schema/store/store_private.h"

#include "schema/store/store_campaigns.h"
#include "schema/store/store_queue.h"
#include "schema/store/store_rows.h"
#include "schema/store/store_winners.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static void final_free(struct final *final)
{
    if (final == NULL)
        return;
    for (int i = 0; i < final->count; i++)
        g_free(final->solvers[i]);
    g_free(final->solvers);
    g_free(final->revisions);
    g_free(final);
}

void job_free(struct job *job)
{
    if (job == NULL)
        return;
    g_free(job->solver);
    g_free(job->target);
    g_free(job->stack);
    g_free(job->strategy);
    g_ptr_array_unref(job->rounds);
    g_array_unref(job->quarantined);
    g_strfreev(job->prior);
    g_strfreev(job->attempts);
    g_clear_pointer(&job->wish, g_array_unref);
    final_free(job->final);
    g_free(job->damage);
    g_free(job);
}

static void free_job(gpointer data)
{
    job_free(data);
}

static void free_round(gpointer data)
{
    round_free(data);
}

/* ---- problems, solvers and campaigns of claimed jobs, by id ---- */

struct claimed_problem {
    struct problem problem;
    char *damage; /* why no solver can work on it, or NULL */
};

static void claimed_problem_free(gpointer data)
{
    struct claimed_problem *problem = data;
    g_free(problem->damage);
    g_free(problem);
}

struct claimed_solver {
    char *name;
    int revision;
};

static void claimed_solver_free(gpointer data)
{
    struct claimed_solver *solver = data;
    g_free(solver->name);
    g_free(solver);
}

static void free_campaign(gpointer data)
{
    campaign_free(data);
}

/* More rows than any claim names. A store that works for months forgets all of them when it has more. */
#define KNOWN_MOST 100000

static GHashTable *ids_new(GDestroyNotify destroy)
{
    return g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, destroy);
}

void store_known_clear(Store *store)
{
    g_clear_pointer(&store->problems, g_hash_table_unref);
    g_clear_pointer(&store->solvers, g_hash_table_unref);
    g_clear_pointer(&store->campaigns, g_hash_table_unref);
}

static void known_ready(Store *store)
{
    if (store->problems != NULL && g_hash_table_size(store->problems) > KNOWN_MOST)
        store_known_clear(store);
    if (store->problems != NULL)
        return;
    store->problems = ids_new(claimed_problem_free);
    store->solvers = ids_new(claimed_solver_free);
    store->campaigns = ids_new(free_campaign);
}

static gpointer read_problem(const json_t *object)
{
    g_autoptr(GError) error = NULL;
    struct claimed_problem *problem = g_new0(struct claimed_problem, 1);
    if (!problem_from_json(object, &problem->problem, &error) ||
        !problem_validate(&problem->problem, &error))
        problem->damage = g_strdup_printf("its problem is invalid: %s", error->message);
    return problem;
}

static gpointer read_solver(const json_t *object)
{
    struct claimed_solver *solver = g_new0(struct claimed_solver, 1);
    solver->name = json_member_text(object, "name");
    solver->revision = (int)json_member_int(object, "revision");
    return solver;
}

/* Reads the `wanted` rows into the table. */
static bool learn(Store *store, GHashTable *known, json_t *wanted, const char *sql,
                  store_read_row read, GError **error)
{
    if (json_array_size(wanted) == 0)
        return true;
    g_autoptr(StoreRows) rows = store_read(store, error, sql, "j", wanted);
    if (rows == NULL)
        return false;
    for (int i = 0; i < PQntuples(rows); i++) {
        g_autoptr(StoreJson) object = store_row_json(rows, i);
        int64_t id = json_member_int(object, "id");
        g_hash_table_insert(known, g_memdup2(&id, sizeof id), read(object));
    }
    return true;
}

/* ---- claiming ---- */

enum claim_column {
    CAMPAIGN,
    SOLVER,
    ROUND,
    POSITION,
    STRIKES,
    FENCE,
    JOB,
    PROBLEM,
    BEST_MS,
    QUARANTINED,
    ROUNDS,
    WISH,
    DEADLINE, /* seconds since 1970, empty for none */
    SPENT,
};

static const char claim_sql[] =
    "SELECT * FROM skipjack_work.claim($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)";
/* Finds a campaign whose jobs can be claimed, after a claim failed because of one campaign's jobs. */
static const char claimable_sql[] =
    "SELECT skipjack_work.claimable_campaign($1, $2, $3, $4, $5, $6, $7, $8, $9)";

/* After such a failure each claim asks first, for a minute. */
#define APART_US (60 * G_USEC_PER_SEC)

static int64_t claimed_id(const StoreRows *rows, int row, enum claim_column column)
{
    return strtoll(PQgetvalue(rows, row, (int)column), NULL, 10);
}

/* The ids of a column that the table lacks, each once. */
static json_t *unknown_ids(const StoreRows *rows, enum claim_column column, GHashTable *known)
{
    g_autoptr(GHashTable) seen = ids_new(NULL);
    json_t *ids = json_array();
    for (int i = 0; i < PQntuples(rows); i++) {
        int64_t id = claimed_id(rows, i, column);
        if (g_hash_table_contains(known, &id) || !g_hash_table_add(seen, g_memdup2(&id, sizeof id)))
            continue;
        json_array_append_new(ids, json_integer(id));
    }
    return ids;
}

static bool learn_claimed(Store *store, const StoreRows *rows, GError **error)
{
    known_ready(store);
    g_autoptr(StoreJson) problems = unknown_ids(rows, PROBLEM, store->problems);
    g_autoptr(StoreJson) solvers = unknown_ids(rows, SOLVER, store->solvers);
    g_autoptr(StoreJson) campaigns = unknown_ids(rows, CAMPAIGN, store->campaigns);
    return learn(store, store->problems, problems, "SELECT skipjack_work.problems($1)",
                 read_problem, error) &&
           learn(store, store->solvers, solvers, "SELECT skipjack_work.solvers($1)", read_solver,
                 error) &&
           learn(store, store->campaigns, campaigns, "SELECT skipjack_work.campaigns($1)",
                 store_read_campaign, error);
}

/* Reads a JSON value of the row; *value is NULL for SQL's null. */
static bool read_json(const StoreRows *rows, int row, enum claim_column column, json_t **value,
                      GError **error)
{
    json_error_t words;
    *value = NULL;
    if (PQgetisnull(rows, row, (int)column))
        return true;
    *value = json_loads(PQgetvalue(rows, row, (int)column), 0, &words);
    return *value != NULL || store_damaged(error, "%s", words.text);
}

static bool read_history(const StoreRows *rows, int row, struct job *job, GError **error)
{
    size_t index;
    json_t *value;
    g_autoptr(StoreJson) rounds = NULL;
    g_autoptr(StoreJson) quarantined = NULL;
    if (!read_json(rows, row, ROUNDS, &rounds, error) ||
        !read_json(rows, row, QUARANTINED, &quarantined, error))
        return false;
    json_array_foreach (rounds, index, value) {
        struct round *round = round_from_json(value, error);
        if (round == NULL)
            return false;
        g_ptr_array_add(job->rounds, round);
    }
    json_array_foreach (quarantined, index, value) {
        struct perf_config config;
        if (!config_from_json(value, &config, error))
            return false;
        g_array_append_val(job->quarantined, config);
    }
    return true;
}

static bool read_final(const json_t *object, struct job *job, GError **error)
{
    const json_t *entrants = json_object_get(object, "entrants");
    const struct round *round = job->rounds->len == 1 ? job->rounds->pdata[0] : NULL;
    size_t index;
    json_t *entrant;
    if (round == NULL || round->config_count == 0 ||
        json_array_size(entrants) != (size_t)round->config_count)
        return store_damaged(error, "a second measurement has no solver for each config");
    job->final = g_new0(struct final, 1);
    job->final->seconds = json_member_double(object, "seconds");
    job->final->count = round->config_count;
    job->final->solvers = g_new0(char *, json_array_size(entrants));
    job->final->revisions = g_new0(int, json_array_size(entrants));
    json_array_foreach (entrants, index, entrant) {
        job->final->solvers[index] = json_member_text(entrant, "solver");
        job->final->revisions[index] = (int)json_member_int(entrant, "revision");
    }
    return true;
}

static bool read_wish(const StoreRows *rows, int row, struct job *job, GError **error)
{
    size_t index;
    json_t *value;
    g_autoptr(StoreJson) wish = NULL;
    if (!read_json(rows, row, WISH, &wish, error))
        return false;
    if (wish == NULL)
        return true;
    const json_t *final = json_object_get(wish, "final");
    if (final != NULL)
        return read_final(final, job, error);
    job->wish = g_array_new(FALSE, TRUE, sizeof(struct perf_config));
    job->wish_keeps_all = json_member_bool(wish, "keeps_all");
    json_array_foreach (json_object_get(wish, "configs"), index, value) {
        struct perf_config config;
        if (!config_from_json(value, &config, error))
            return false;
        g_array_append_val(job->wish, config);
    }
    return job->wish->len > 0 || store_damaged(error, "a round's wish has no configs");
}

/* Returns NULL if the campaign was dropped since the claim. */
static struct job *read_job(const Store *store, const StoreRows *rows, int row)
{
    int64_t campaign_id = claimed_id(rows, row, CAMPAIGN);
    int64_t solver_id = claimed_id(rows, row, SOLVER);
    int64_t problem_id = claimed_id(rows, row, PROBLEM);
    const struct campaign *campaign = g_hash_table_lookup(store->campaigns, &campaign_id);
    const struct claimed_solver *solver = g_hash_table_lookup(store->solvers, &solver_id);
    const struct claimed_problem *problem = g_hash_table_lookup(store->problems, &problem_id);
    if (campaign == NULL || solver == NULL || problem == NULL)
        return NULL;
    struct job *job = g_new0(struct job, 1);
    job->id = claimed_id(rows, row, JOB);
    job->campaign = campaign_id;
    job->fence = claimed_id(rows, row, FENCE);
    job->strikes = (int)claimed_id(rows, row, STRIKES);
    job->problem = problem->problem;
    job->solver = g_strdup(solver->name);
    job->revision = solver->revision;
    job->target = g_strdup(campaign->target);
    job->stack = g_strdup(campaign->stack);
    job->strategy = g_strdup(campaign->strategy);
    job->seed = campaign->seed;
    job->deadline_unix = claimed_id(rows, row, DEADLINE);
    job->budget_spent = strcmp(PQgetvalue(rows, row, SPENT), "t") == 0;
    job->configs_limit = campaign->configs_limit;
    job->close_configs = campaign->close_configs;
    job->round_configs = campaign->round_configs;
    job->search_seconds = campaign->search_seconds;
    job->min_gain = campaign->min_gain;
    job->build_only = campaign->build_only;
    job->limits = campaign->limits;
    job->best_ms = g_ascii_strtod(PQgetvalue(rows, row, BEST_MS), NULL);
    job->rounds = g_ptr_array_new_with_free_func(free_round);
    job->quarantined = g_array_new(FALSE, TRUE, sizeof(struct perf_config));
    g_autoptr(GError) damage = NULL;
    if (problem->damage != NULL)
        job->damage = g_strdup(problem->damage);
    else if (!read_history(rows, row, job, &damage) || !read_wish(rows, row, job, &damage))
        job->damage = g_strdup(damage->message);
    return job;
}

/* Every 16th claim scans from the front again, to find bundles that were returned behind the cursor. */
#define CLAIMS_ONWARD 16

static void keep_place(struct claim_place *place, const StoreRows *rows)
{
    int last = PQntuples(rows) - 1;
    place->claims++;
    if (last < 0 || place->claims % CLAIMS_ONWARD == 0) {
        place->campaign = 0;
        return;
    }
    place->campaign = claimed_id(rows, last, CAMPAIGN);
    place->round = (int)claimed_id(rows, last, ROUND);
    place->position = claimed_id(rows, last, POSITION);
}

static GPtrArray *read_claim(Store *store, struct claim_place *place, const StoreRows *rows,
                             GError **error)
{
    if (!learn_claimed(store, rows, error))
        return NULL;
    keep_place(place, rows);
    GPtrArray *jobs = g_ptr_array_new_with_free_func(free_job);
    for (int i = 0; i < PQntuples(rows); i++) {
        struct job *job = read_job(store, rows, i);
        if (job != NULL)
            g_ptr_array_add(jobs, job);
    }
    return jobs;
}

/* Notes a claim whose answer was lost or cannot be read: the next call releases its jobs. */
static void doubt_claim(Store *store, int64_t worker, int64_t token)
{
    if (store->doubtful_token != 0)
        return;
    store->doubtful_worker = worker;
    store->doubtful_token = token;
}

/* Returns 0 if no campaign has jobs for this worker; -1 with an error. */
static int64_t find_claimable(Store *store, const struct claim *claim, json_t *solvers,
                              GError **error)
{
    const struct claim_place *place = &store->places[claim->pool];
    g_autoptr(StoreRows) rows =
        store_run(store, error, claimable_sql, "lblsjilil", claim->worker,
                  claim->pool == POOL_BUILD, claim->campaign, claim->target, solvers, claim->batch,
                  place->campaign, place->round, place->position);
    return rows == NULL ? -1 : strtoll(PQgetvalue(rows, 0, 0), NULL, 10);
}

/* Returns NULL without an error if nothing is claimable. */
static PGresult *ask_claim(Store *store, const struct claim *claim, int64_t token, GError **error)
{
    g_autoptr(StoreJson) solvers = json_array();
    const struct claim_place *place = &store->places[claim->pool];
    bool apart = g_get_monotonic_time() < store->apart_until_us;
    for (const char *const *solver = claim->solvers; *solver != NULL; solver++)
        json_array_append_new(solvers, json_string(*solver));
    int64_t campaign = apart ? find_claimable(store, claim, solvers, error) : claim->campaign;
    if (apart && campaign <= 0)
        return NULL;
    return store_run(store, error, claim_sql, "lblsjidllil", claim->worker,
                     claim->pool == POOL_BUILD, campaign, claim->target, solvers, claim->batch,
                     claim->lease_seconds, token, place->campaign, place->round, place->position);
}

GPtrArray *store_claim(Store *store, const struct claim *claim, GError **error)
{
    GPtrArray *jobs = NULL;
    g_autoptr(GError) failure = NULL;
    int64_t token = ((int64_t)(g_random_int() & G_MAXINT32) << 32) | g_random_int() | 1;
    g_autoptr(StoreRows) rows = ask_claim(store, claim, token, &failure);
    if (g_error_matches(failure, STORE_ERROR, STORE_ERROR_QUERY)) {
        g_clear_error(&failure);
        store->apart_until_us = g_get_monotonic_time() + APART_US;
        rows = ask_claim(store, claim, token, &failure);
    }
    if (rows != NULL)
        jobs = read_claim(store, &store->places[claim->pool], rows, &failure);
    else if (failure == NULL)
        jobs = g_ptr_array_new_with_free_func(free_job);
    if (jobs != NULL && claim->pool == POOL_BUILD &&
        !store_give_priors(store, claim->worker, jobs, &failure))
        g_clear_pointer(&jobs, g_ptr_array_unref);
    if (jobs == NULL &&
        (rows != NULL || g_error_matches(failure, STORE_ERROR, STORE_ERROR_CONNECTION)))
        doubt_claim(store, claim->worker, token);
    if (failure != NULL)
        g_propagate_error(error, g_steal_pointer(&failure));
    return jobs;
}

/* ---- rounds and kept configs as rows of their tables ---- */

static double outcome_number(const struct round *round, int config, size_t offset)
{
    return *(const double *)(const void *)((const char *)&round->outcomes[config] + offset);
}

static void add_numbers(GByteArray *out, const struct round *round, size_t offset)
{
    guint field = rows_field_array(out, ROW_DOUBLES, ROW_DOUBLE, round->config_count);
    for (int i = 0; i < round->config_count; i++)
        rows_double(out, outcome_number(round, i, offset));
    rows_end(out, field);
}

static double total(const struct round *round, size_t offset)
{
    double seconds = 0;
    for (int i = 0; i < round->config_count; i++)
        seconds += outcome_number(round, i, offset);
    return seconds;
}

static void add_failures(GByteArray *out, const struct round *round)
{
    guint field = rows_field_array(out, ROW_INT2S, ROW_INT2, round->config_count);
    for (int i = 0; i < round->config_count; i++)
        rows_int2(out, (int)round->outcomes[i].failure);
    rows_end(out, field);
}

static void add_texts(GByteArray *out, char *const *texts, int count, const char *absent)
{
    guint field = rows_field_array(out, ROW_TEXTS, ROW_TEXT, count);
    for (int i = 0; i < count; i++)
        rows_text(out, texts[i] != NULL ? texts[i] : absent);
    rows_end(out, field);
}

static void add_values(GByteArray *out, const struct perf_config *configs, int count)
{
    int values = 0;
    for (int i = 0; i < count; i++)
        values += configs[i].count;
    guint field = rows_field_array(out, ROW_INT4S, ROW_INT4, values);
    for (int i = 0; i < count; i++)
        for (int v = 0; v < configs[i].count; v++)
            rows_int4(out, configs[i].values[v]);
    rows_end(out, field);
}

static void add_configs(GByteArray *out, const struct round *round)
{
    guint field = rows_field_array(out, ROW_INT2S, ROW_INT2, round->config_count);
    for (int i = 0; i < round->config_count; i++)
        rows_int2(out, round->configs[i].count);
    rows_end(out, field);
    add_values(out, round->configs, round->config_count);
    add_texts(out, round->kernel_keys, round->config_count, "");
}

/* The number of different kernels of the round's configs. */
static int count_kernels(const struct round *round)
{
    g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    for (int i = 0; i < round->config_count; i++) {
        const char *key = round->kernel_keys[i];
        while (key != NULL && *key != '\0') {
            gsize length = strcspn(key, ",");
            g_hash_table_add(seen, g_strndup(key, length));
            key += length + (key[length] == ',');
        }
    }
    return (int)g_hash_table_size(seen);
}

static int count_pending(const struct round *round)
{
    int pending = 0;
    for (int i = 0; i < round->config_count; i++)
        pending += round->outcomes[i].failure == FAILURE_PENDING;
    return pending;
}

static void add_counts(GByteArray *out, const struct round *round)
{
    int pending = count_pending(round);
    rows_field_int4(out, round->config_count - pending);
    rows_field_int4(out, pending);
}

static const char *stack_of(const struct round *round)
{
    return round->stack != NULL ? round->stack : "";
}

void built_to_row(GByteArray *out, const struct job *job, const struct round *round)
{
    guint row = rows_begin(out, 15);
    rows_field_int8(out, job->campaign);
    rows_field_int8(out, job->id);
    rows_field_int4(out, round->number);
    rows_field_int8(out, job->fence);
    rows_field_text(out, stack_of(round));
    add_configs(out, round);
    add_failures(out, round);
    add_texts(out, round->details, round->config_count, NULL);
    add_numbers(out, round, offsetof(struct outcome, build_seconds));
    rows_field_int4(out, count_kernels(round));
    add_counts(out, round);
    rows_field_double(out, total(round, offsetof(struct outcome, build_seconds)));
    rows_end(out, row);
}

static int count_at(const struct round *round, int config, gsize offset)
{
    return *(const int *)((const char *)&round->outcomes[config] + offset);
}

static void add_ints(GByteArray *out, const struct round *round, gsize offset)
{
    guint field = rows_field_array(out, ROW_INT4S, ROW_INT4, round->config_count);
    for (int i = 0; i < round->config_count; i++)
        rows_int4(out, count_at(round, i, offset));
    rows_end(out, field);
}

/* Adds an array of numbers, or NULL if all are 0. */
static void add_ints_or_null(GByteArray *out, const struct round *round, gsize offset)
{
    bool any = false;
    for (int i = 0; i < round->config_count; i++)
        any = any || count_at(round, i, offset) != 0;
    if (any)
        add_ints(out, round, offset);
    else
        rows_field_null(out, ROW_INT4S);
}

void outcomes_to_row(GByteArray *out, const struct job *job, const struct round *round, bool open)
{
    guint row = rows_begin(out, 23);
    rows_field_int8(out, job->campaign);
    rows_field_int8(out, job->id);
    rows_field_int4(out, round->number);
    rows_field_bool(out, open);
    rows_field_int8(out, job->fence);
    rows_field_text(out, stack_of(round));
    rows_field_double(out, round->drift);
    add_failures(out, round);
    add_texts(out, round->details, round->config_count, NULL);
    add_ints(out, round, offsetof(struct outcome, n));
    add_numbers(out, round, offsetof(struct outcome, min_ms));
    add_numbers(out, round, offsetof(struct outcome, median_ms));
    add_numbers(out, round, offsetof(struct outcome, spread));
    add_numbers(out, round, offsetof(struct outcome, error));
    add_numbers(out, round, offsetof(struct outcome, eval_seconds));
    add_counts(out, round);
    rows_field_double(out, total(round, offsetof(struct outcome, eval_seconds)));
    if (total(round, offsetof(struct outcome, pack_ms)) > 0)
        add_numbers(out, round, offsetof(struct outcome, pack_ms));
    else
        rows_field_null(out, ROW_DOUBLES);
    if (round->caches != CACHES_UNKNOWN)
        rows_field_bool(out, round->caches == CACHES_COLD);
    else
        rows_field_null(out, ROW_BOOL);
    if (round->verified_share > 0)
        rows_field_double(out, round->verified_share);
    else
        rows_field_null(out, ROW_DOUBLE);
    add_ints_or_null(out, round, offsetof(struct outcome, proof_runs));
    add_ints_or_null(out, round, offsetof(struct outcome, proof_kinds));
    rows_end(out, row);
}

static void kept_to_row(GByteArray *out, const struct job *job, const struct round *round,
                        const struct kept *kept, int rank)
{
    const struct outcome *o = &kept->outcome;
    guint row = rows_begin(out, 22);
    rows_field_int8(out, job->campaign);
    rows_field_int8(out, job->id);
    rows_field_int4(out, rank);
    add_values(out, &kept->config, 1);
    rows_field_text(out, kept->config_text != NULL ? kept->config_text : "");
    rows_field_text(out, kept->kernel_keys != NULL ? kept->kernel_keys : "");
    rows_field_text(out, stack_of(round));
    rows_field_int4(out, o->n);
    rows_field_double(out, o->min_ms);
    rows_field_double(out, o->median_ms);
    rows_field_double(out, o->spread);
    rows_field_double(out, o->error);
    rows_field_double(out, o->build_seconds);
    rows_field_double(out, o->eval_seconds);
    rows_field_int8(out, (int64_t)kept->workspace_bytes);
    rows_field_double(out, kept->flops);
    rows_field_bool(out, kept->is_default);
    if (kept->packed_bytes > 0) {
        rows_field_double(out, o->pack_ms);
        rows_field_int8(out, (int64_t)kept->packed_bytes);
    } else {
        rows_field_null(out, ROW_DOUBLE);
        rows_field_null(out, ROW_INT8);
    }
    /* Only a final gives a result its interval, and makes it the winner. */
    rows_field_null(out, ROW_DOUBLE);
    rows_field_null(out, ROW_DOUBLE);
    rows_field_bool(out, false);
    rows_end(out, row);
}

/* ---- storing rounds that workers hand in ---- */

/* Reads the type numbers of the rows that are handed in. They change only with the server (one that was
 * restored), and that means a new connection. */
static bool know_row_types(Store *store, GError **error)
{
    if (PQstatus(store->connection) == CONNECTION_OK && store->types_of != 0 &&
        store->types_of == PQbackendPID(store->connection))
        return true;
    g_autoptr(StoreRows) rows = store_read(
        store, error, "SELECT rounds, outcomes, results FROM skipjack_work.row_types()", "");
    if (rows == NULL)
        return false;
    store->rounds_type = (unsigned)strtoul(PQgetvalue(rows, 0, 0), NULL, 10);
    store->outcomes_type = (unsigned)strtoul(PQgetvalue(rows, 0, 1), NULL, 10);
    store->results_type = (unsigned)strtoul(PQgetvalue(rows, 0, 2), NULL, 10);
    store->types_of = PQbackendPID(store->connection);
    return true;
}

/* A function that hands in items of one campaign. */
typedef bool (*hand_in_function)(Store *store, const struct handed *items, int count,
                                 GError **error);

static bool hand_in_built(Store *store, const struct handed *items, int count, GError **error)
{
    if (!know_row_types(store, error))
        return false;
    g_autoptr(GByteArray) rounds = g_byte_array_new();
    rows_array(rounds, store->rounds_type, count);
    for (int i = 0; i < count; i++)
        built_to_row(rounds, items[i].job, items[i].round);
    return store_do(store, error, "SELECT skipjack_work.store_built($1, $2)", "la",
                    items->job->campaign, rounds);
}

static GByteArray *outcomes_of(const Store *store, const struct handed *items, int count, bool open)
{
    GByteArray *outcomes = g_byte_array_new();
    rows_array(outcomes, store->outcomes_type, count);
    for (int i = 0; i < count; i++)
        outcomes_to_row(outcomes, items[i].job, items[i].round, open);
    return outcomes;
}

static GByteArray *results_of(const Store *store, const struct handed *items, int count)
{
    int kept_count = 0;
    GByteArray *results = g_byte_array_new();
    for (int i = 0; i < count; i++)
        kept_count += items[i].kept_count;
    rows_array(results, store->results_type, kept_count);
    for (int i = 0; i < count; i++)
        for (int rank = 0; rank < items[i].kept_count; rank++)
            kept_to_row(results, items[i].job, items[i].round, &items[i].kept[rank], rank);
    return results;
}

static bool hand_in_partial(Store *store, const struct handed *items, int count, GError **error)
{
    if (!know_row_types(store, error))
        return false;
    g_autoptr(GByteArray) outcomes = outcomes_of(store, items, count, true);
    return store_do(store, error, "SELECT skipjack_work.store_partial($1, $2)", "la",
                    items->job->campaign, outcomes);
}

/* NULL for a search that goes on. */
static const char *end_name(enum search_end end)
{
    return end == SEARCH_GOES_ON ? NULL : search_end_name(end);
}

static bool hand_in_rounds(Store *store, const struct handed *items, int count, GError **error)
{
    if (!know_row_types(store, error))
        return false;
    g_autoptr(GByteArray) outcomes = outcomes_of(store, items, count, false);
    g_autoptr(GByteArray) results = results_of(store, items, count);
    g_autoptr(GByteArray) more = g_byte_array_new();
    g_autoptr(GByteArray) seconds = g_byte_array_new();
    g_autoptr(GByteArray) ends = g_byte_array_new();
    rows_array(more, ROW_BOOL, count);
    rows_array(seconds, ROW_DOUBLE, count);
    rows_array(ends, ROW_TEXT, count);
    for (int i = 0; i < count; i++) {
        rows_bool(more, items[i].more);
        rows_double(seconds, items[i].seconds);
        rows_text(ends, items[i].more ? NULL : end_name(items[i].end));
    }
    return store_do(store, error, "SELECT skipjack_work.store_rounds($1, $2, $3, $4, $5, $6)",
                    "laaaaa", items->job->campaign, outcomes, results, more, seconds, ends);
}

static bool is_refusal(const GError *error)
{
    return error->domain == STORE_ERROR &&
           (error->code == STORE_ERROR_FENCE || error->code == STORE_ERROR_STATE ||
            error->code == STORE_ERROR_NOT_FOUND || error->code == STORE_ERROR_REFUSED);
}

/* If the statement is refused because of one item, all items of the campaign are handed in one by one. */
static bool hand_in_or_split(Store *store, hand_in_function hand_in, const struct handed *items,
                             int count, GError **refused, GError **error)
{
    g_autoptr(GError) failure = NULL;
    if (hand_in(store, items, count, &failure))
        return true;
    if (!is_refusal(failure)) {
        g_propagate_error(error, g_steal_pointer(&failure));
        return false;
    }
    if (count == 1) {
        *refused = g_steal_pointer(&failure);
        return true;
    }
    for (int i = 0; i < count; i++)
        if (!hand_in_or_split(store, hand_in, &items[i], 1, &refused[i], error))
            return false;
    return true;
}

static bool hand_in_all(Store *store, hand_in_function hand_in, const struct handed *items,
                        int count, GError **refused, GError **error)
{
    for (int first = 0, end; first < count; first = end) {
        for (end = first + 1; end < count; end++)
            if (items[end].job->campaign != items[first].job->campaign)
                break;
        if (!hand_in_or_split(store, hand_in, &items[first], end - first, &refused[first], error))
            return false;
    }
    return true;
}

bool store_built_many(Store *store, const struct handed *items, int count, GError **refused,
                      GError **error)
{
    return hand_in_all(store, hand_in_built, items, count, refused, error);
}

bool store_round_many(Store *store, const struct handed *items, int count, GError **refused,
                      GError **error)
{
    return hand_in_all(store, hand_in_rounds, items, count, refused, error);
}

bool store_built(Store *store, const struct job *job, const struct round *round, GError **error)
{
    return hand_in_built(store, &(struct handed){.job = job, .round = round}, 1, error);
}

bool store_partial(Store *store, const struct job *job, const struct round *round, GError **error)
{
    return hand_in_partial(store, &(struct handed){.job = job, .round = round}, 1, error);
}

bool store_round(Store *store, const struct job *job, const struct round *round,
                 const struct kept *kept, int kept_count, bool more, double seconds, GError **error)
{
    struct handed handed = {.job = job,
                            .round = round,
                            .kept = kept,
                            .kept_count = kept_count,
                            .more = more,
                            .seconds = seconds};
    return hand_in_rounds(store, &handed, 1, error);
}

static GByteArray *numbers_of(const struct round *round, size_t offset)
{
    GByteArray *numbers = g_byte_array_new();
    rows_array(numbers, ROW_DOUBLE, round->config_count);
    for (int i = 0; i < round->config_count; i++)
        rows_double(numbers, outcome_number(round, i, offset));
    return numbers;
}

bool store_final(Store *store, const struct job *job, const struct round *round, double seconds,
                 GError **error)
{
    if (!know_row_types(store, error))
        return false;
    const struct handed handed = {.job = job, .round = round};
    g_autoptr(GByteArray) outcomes = outcomes_of(store, &handed, 1, false);
    g_autoptr(GByteArray) lows = numbers_of(round, offsetof(struct outcome, low_ms));
    g_autoptr(GByteArray) highs = numbers_of(round, offsetof(struct outcome, high_ms));
    return store_do(store, error, "SELECT skipjack_work.store_final($1, $2, $3, $4, $5)", "laaad",
                    job->campaign, outcomes, lows, highs, seconds);
}

bool store_fail_job(Store *store, const struct job *job, enum failure failure, const char *detail,
                    GError **error)
{
    g_assert(failure != FAILURE_NONE);
    return store_do(store, error, "SELECT skipjack_work.fail_job($1, $2, $3, $4, $5)", "lllis",
                    job->campaign, job->id, job->fence, (int)failure, detail);
}

bool store_finish_job(Store *store, const struct job *job, enum search_end end, GError **error)
{
    return store_do(store, error, "SELECT skipjack_work.finish_job($1, $2, $3, $4)", "llls",
                    job->campaign, job->id, job->fence, end_name(end));
}

bool store_release_job(Store *store, const struct job *job, GError **error)
{
    return store_do(store, error, "SELECT skipjack_work.release_job($1, $2, $3)", "lll",
                    job->campaign, job->id, job->fence);
}
