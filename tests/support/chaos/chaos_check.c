#include "tests/support/chaos/chaos_check.h"

#include "schema/results/store_results.h"
#include "schema/store/store_private.h"
#include "solvers/problem/problem_key.h"
#include "tests/support/chaos/sim_solver.h"

#include <stdlib.h>
#include <string.h>

static void note(struct chaos_check *check, enum finding finding, int64_t job, const char *format,
                 ...) G_GNUC_PRINTF(4, 5);
static void note(struct chaos_check *check, enum finding finding, int64_t job, const char *format,
                 ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *words = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    g_hash_table_add(check->jobs[finding], g_memdup2(&job, sizeof job));
    g_ptr_array_add(check->words,
                    g_strdup_printf("job %" G_GINT64_FORMAT ": %s", (gint64)job, words));
}

static StoreRows *ask(struct chaos *chaos, const char *sql)
{
    g_autoptr(GError) error = NULL;
    StoreRows *rows = store_read(chaos->store, &error, sql, "");
    if (rows == NULL)
        g_error("chaos check: %s", error->message);
    return rows;
}

static int64_t number_at(const StoreRows *rows, int row, int column)
{
    return strtoll(PQgetvalue(rows, row, column), NULL, 10);
}

/* ---- each job is in one bundle or has ended ---- */

static void check_places(struct chaos_check *check, struct chaos *chaos)
{
    g_autoptr(StoreRows) rows =
        ask(chaos, "SELECT j.id, count(p.id), min(p.place) FROM jobs j LEFT JOIN ("
                   " SELECT unnest(job_ids) AS id, state::text AS place FROM bundles"
                   " UNION ALL SELECT job_id, 'ended' FROM job_ends) AS p ON p.id = j.id"
                   " GROUP BY j.id HAVING count(p.id) <> 1 OR min(p.place) <> 'ended'");
    for (int i = 0; i < PQntuples(rows); i++) {
        int64_t places = number_at(rows, i, 1);
        if (places > 1)
            note(check, DUPLICATED, number_at(rows, i, 0), "it is in %d places", (int)places);
        else
            note(check, LOST, number_at(rows, i, 0), "it never ended: %s",
                 places == 0 ? "it is nowhere" : PQgetvalue(rows, i, 2));
    }
    g_autoptr(StoreRows) strangers =
        ask(chaos, "SELECT p.id FROM (SELECT unnest(job_ids) AS id FROM bundles"
                   " UNION ALL SELECT job_id FROM job_ends) AS p"
                   " WHERE NOT EXISTS (SELECT 1 FROM jobs j WHERE j.id = p.id)");
    for (int i = 0; i < PQntuples(strangers); i++)
        note(check, DUPLICATED, number_at(strangers, i, 0), "it was never planned");
}

/* ---- results that were acknowledged to workers ---- */

static char *round_name(int64_t job, int64_t number)
{
    return g_strdup_printf("%" G_GINT64_FORMAT " %" G_GINT64_FORMAT, (gint64)job, (gint64)number);
}

/* Maps "JOB NUMBER" of each closed round to the fence under which it is stored, as text. */
static GHashTable *stored_fences(struct chaos *chaos)
{
    GHashTable *fences = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    g_autoptr(StoreRows) rows =
        ask(chaos, "SELECT job_id, number, fence FROM outcomes WHERE NOT is_open");
    for (int i = 0; i < PQntuples(rows); i++)
        g_hash_table_insert(fences, round_name(number_at(rows, i, 0), number_at(rows, i, 1)),
                            g_strdup(PQgetvalue(rows, i, 2)));
    return fences;
}

static void check_line(struct chaos_check *check, GHashTable *stored, GHashTable *acknowledged,
                       const char *line)
{
    g_auto(GStrv) words = g_strsplit(line, " ", 4);
    if (g_str_has_prefix(line, "error ")) {
        g_ptr_array_add(check->words, g_strdup(line));
        check->errors++;
        return;
    }
    if (g_strv_length(words) != 4)
        return; /* a log's last line is cut off if its worker was killed */
    if (strcmp(words[0], "refused") == 0) {
        check->refused++;
        return;
    }
    int64_t job = strtoll(words[1], NULL, 10);
    char *round = round_name(job, strtoll(words[2], NULL, 10));
    const char *fence = g_hash_table_lookup(stored, round);
    const char *before = g_hash_table_lookup(acknowledged, round);
    check->acknowledged++;
    if (fence == NULL)
        note(check, LOST, job, "round %s was acknowledged under fence %s and is gone", words[2],
             words[3]);
    else if (strcmp(fence, words[3]) != 0)
        note(check, LOST, job, "round %s was acknowledged under fence %s, the stored one has %s",
             words[2], words[3], fence);
    if (before != NULL && strcmp(before, words[3]) != 0)
        note(check, DUPLICATED, job, "round %s was accepted under fences %s and %s", words[2],
             before, words[3]);
    g_hash_table_replace(acknowledged, round, g_strdup(words[3]));
}

static void check_logs(struct chaos_check *check, struct chaos *chaos)
{
    g_autoptr(GHashTable) stored = stored_fences(chaos);
    g_autoptr(GHashTable) acknowledged =
        g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    for (int i = 0; i < CHAOS_ACTORS; i++) {
        g_autofree char *text = NULL;
        if (chaos->actors[i].agent || !g_file_get_contents(chaos->actors[i].log, &text, NULL, NULL))
            continue;
        g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
        for (char **line = lines; *line; line++)
            check_line(check, stored, acknowledged, *line);
    }
}

/* ---- the jobs' ends ---- */

/* True if the event log has a line for each of the job's three losses. */
static bool was_lost_thrice(struct chaos *chaos, int64_t job)
{
    return chaos_count(chaos,
                       "SELECT count(*) FROM events WHERE kind = 'lease lost' AND job_id = $1",
                       job) >= 3;
}

static void check_worker_lost(struct chaos_check *check, struct chaos *chaos,
                              const struct job_row *job)
{
    if (was_lost_thrice(chaos, job->id))
        check->worker_lost++;
    else
        note(check, FALSELY_FAILED, job->id, "failed as worker lost, and was not lost three times");
}

static GPtrArray *list_jobs(struct chaos *chaos, int64_t campaign)
{
    g_autoptr(GError) error = NULL;
    GPtrArray *jobs = store_list_jobs(chaos->store, campaign, &error);
    if (jobs == NULL)
        g_error("chaos check: %s", error->message);
    return jobs;
}

static void check_simulated(struct chaos_check *check, struct chaos *chaos)
{
    g_autoptr(GHashTable) now = sim_results(chaos->store, chaos->sim_campaign);
    g_autoptr(GPtrArray) jobs = list_jobs(chaos, chaos->sim_campaign);
    for (guint i = 0; i < jobs->len; i++) {
        const struct job_row *job = jobs->pdata[i];
        char key[PROBLEM_KEY_MAX];
        g_autofree char *name =
            g_strdup_printf("%s %s", problem_key(&job->problem, key), job->solver);
        const GString *was = g_hash_table_lookup(chaos->calm, name);
        const GString *is = g_hash_table_lookup(now, name);
        bool done = strcmp(job->state, "done") == 0;
        *(done ? &check->sim_done : &check->sim_failed) += 1;
        if (job->failure == FAILURE_WORKER_LOST)
            check_worker_lost(check, chaos, job);
        else if (was == NULL || is == NULL || strcmp(was->str, is->str) != 0)
            note(check, done ? FALSELY_SUCCESSFUL : FALSELY_FAILED, job->id,
                 "it came to '%s', undisturbed to '%s'", is ? is->str : "", was ? was->str : "");
    }
}

/* Whether kills, stops or a busy machine can cause this failure of a job whose configs are all
 * right. */
static bool is_true_reason(enum failure failure)
{
    return failure == FAILURE_UNSTABLE || failure == FAILURE_DEVICE_FAULT ||
           failure == FAILURE_RUN_TIMEOUT || failure == FAILURE_COMPILER_CRASH ||
           failure == FAILURE_COMPILE_TIMEOUT || failure == FAILURE_TIME_IMPOSSIBLE;
}

/* Ids of jobs of which a config was verified: its result was kept, or it was dropped as slow. */
static GHashTable *verified_jobs(struct chaos *chaos)
{
    GHashTable *ids = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
    g_autoptr(StoreRows) rows = ask(chaos, "SELECT DISTINCT job_id FROM outcomes WHERE NOT is_open"
                                           " AND failures && ARRAY[0, 16]::smallint[]");
    for (int i = 0; i < PQntuples(rows); i++) {
        int64_t id = number_at(rows, i, 0);
        g_hash_table_add(ids, g_memdup2(&id, sizeof id));
    }
    return ids;
}

static void check_real_job(struct chaos_check *check, struct chaos *chaos, GHashTable *verified,
                           const struct job_row *job)
{
    bool done = strcmp(job->state, "done") == 0;
    *(done ? &check->real_done : &check->real_failed) += 1;
    if (done && !g_hash_table_contains(verified, &job->id))
        note(check, FALSELY_SUCCESSFUL, job->id, "done without a verified config");
    else if (job->failure == FAILURE_WORKER_LOST)
        check_worker_lost(check, chaos, job);
    else if (!done && !is_true_reason(job->failure))
        note(check, FALSELY_FAILED, job->id, "a good job %s: %s (%s)", job->state,
             failure_name(job->failure), job->detail ? job->detail : "");
}

static void check_real(struct chaos_check *check, struct chaos *chaos)
{
    g_autoptr(GHashTable) verified = verified_jobs(chaos);
    for (int c = 0; c < 2 && chaos->real_campaigns[c] != 0; c++) {
        g_autoptr(GPtrArray) jobs = list_jobs(chaos, chaos->real_campaigns[c]);
        for (guint i = 0; i < jobs->len; i++)
            check_real_job(check, chaos, verified, jobs->pdata[i]);
    }
}

void chaos_check_init(struct chaos_check *check, struct chaos *chaos)
{
    *check = (struct chaos_check){.words = g_ptr_array_new_with_free_func(g_free)};
    for (int i = 0; i < FINDINGS; i++)
        check->jobs[i] = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
    check_places(check, chaos);
    check_logs(check, chaos);
    check_simulated(check, chaos);
    check_real(check, chaos);
}

void chaos_check_clear(struct chaos_check *check)
{
    for (int i = 0; i < FINDINGS; i++)
        g_hash_table_unref(check->jobs[i]);
    g_ptr_array_unref(check->words);
}
