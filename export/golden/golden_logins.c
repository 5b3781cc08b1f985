#include "export/golden/golden_logins.h"

#include "export/golden/golden_verdict.h"
#include "schema/store/drift.h"

#define WINNERS_AT_ONCE 1000

/* ---- judging one winner ---- */

static const struct golden_measurement *time_at(const struct golden_measured *measured, guint i)
{
    return &g_array_index(measured->times, struct golden_measurement, i);
}

/* Returns true if the times of two logins agree: they differ by no more than the noise, or than one
 * device may drift. Two devices of a target differ by as much as a device that drifts. */
static bool agree(const struct golden_wish *wish, const struct golden_measurement *a,
                  const struct golden_measurement *b)
{
    const struct golden_time old = {a->median_ms, a->spread}, fresh = {b->median_ms, b->spread};
    return a->median_ms > 0 && b->median_ms > 0 &&
           (golden_compare(wish, &old, &fresh) == GOLDEN_WITHIN_NOISE ||
            !drift_is_large(b->median_ms / a->median_ms));
}

/* Returns the login that measured a time. NULL if several logins measured parts of the round: then
 * nobody knows whose time it is. */
static const char *login_of(const struct golden_measurement *time)
{
    return g_strv_length(time->logins) == 1 ? time->logins[0] : NULL;
}

static bool is_others(const struct golden_measurement *time, const struct golden_measurement *other)
{
    const char *login = login_of(time);
    return login != NULL && other->logins[0] != NULL &&
           !g_strv_contains((const char *const *)other->logins, login);
}

static bool is_seconded(const struct golden_wish *wish, const struct golden_measured *measured)
{
    if (measured->times->len == 0) {
        return false;
    }
    const struct golden_measurement *first = time_at(measured, 0);
    for (guint i = 1; i < measured->times->len; i++) {
        const struct golden_measurement *other = time_at(measured, i);
        if (is_others(first, other) && agree(wish, first, other)) {
            return true;
        }
    }
    return is_others(first, &measured->golden) && agree(wish, first, &measured->golden);
}

static void add_logins(GHashTable *set, char **logins)
{
    for (char **login = logins; *login != NULL; login++) {
        g_hash_table_add(set, *login);
    }
}

static bool has_others(char **able, GHashTable *logins)
{
    for (char **login = able; *login != NULL; login++) {
        if (!g_hash_table_contains(logins, *login)) {
            return true;
        }
    }
    return false;
}

static char *join(GHashTable *logins)
{
    g_autofree gpointer *names = g_hash_table_get_keys_as_array(logins, NULL);
    return g_strjoinv("\n", (char **)names);
}

enum golden_seconding golden_judge_logins(const struct golden_wish *wish,
                                          const struct golden_measured *measured, char **not_by)
{
    g_autoptr(GHashTable) first = g_hash_table_new(g_str_hash, g_str_equal);
    g_autoptr(GHashTable) all = g_hash_table_new(g_str_hash, g_str_equal);
    bool several = false;
    *not_by = NULL;
    if (is_seconded(wish, measured)) {
        return GOLDEN_SECONDED;
    }
    for (guint i = 0; i < measured->times->len; i++) {
        const struct golden_measurement *time = time_at(measured, i);
        add_logins(all, time->logins);
        several = several || is_others(time_at(measured, 0), time);
    }
    if (measured->times->len > 0 && login_of(time_at(measured, 0)) != NULL) {
        add_logins(first, time_at(measured, 0)->logins);
    }
    /* If nobody knows which login measured the time, two further logins must measure it. */
    guint two = g_hash_table_size(first) == 0 && !has_others(measured->able, all) ? 2 : 1;
    if (!several && (!has_others(measured->able, first) || g_strv_length(measured->able) < two)) {
        return GOLDEN_ALONE;
    }
    *not_by = join(has_others(measured->able, all) ? all : first);
    return several ? GOLDEN_DISAGREED : GOLDEN_UNSECONDED;
}

/* ---- judging all winners ---- */

/* SQL that prepares tables in the scratch database. stays: for each problem the fastest entry of
 * the base that is not replaced. champions_now: likewise, replaced or not. faster: the campaign's
 * entries that would be taken and beat `stays`; rival is the golden entry beside which an entry
 * must be measured again, or the verdict on it would be void. leaders: the fastest of them for each
 * problem. The parameters are numbers of enum golden_finding. */
#define LEADERS                                                                                    \
    "CREATE TABLE stays AS SELECT b.problem_id, b.solver, min(b.median_ms) AS time"                \
    " FROM entries b WHERE b.side = 0 AND b.passes AND b.fits AND NOT EXISTS"                      \
    " (SELECT 1 FROM entries f WHERE f.side = 1 AND f.key = b.key AND f.found < %1$d)"             \
    " GROUP BY b.problem_id;"                                                                      \
    "CREATE TABLE champions_now AS SELECT problem_id, solver, min(median_ms) AS time"              \
    " FROM entries WHERE side = 0 AND passes AND fits GROUP BY problem_id;"                        \
    "CREATE TABLE faster AS SELECT f.id, f.problem_id, f.solver, f.job, f.config, f.median_ms,"    \
    " CASE WHEN f.found IN (%2$d, %3$d, %4$d) THEN f.solver"                                       \
    " WHEN f.found = %5$d THEN c.solver END AS rival"                                              \
    " FROM entries f LEFT JOIN stays s ON s.problem_id = f.problem_id"                             \
    " LEFT JOIN champions_now c ON c.problem_id = f.problem_id"                                    \
    " WHERE f.side = 1 AND f.passes AND f.problem_id <> 0 AND f.found < %1$d"                      \
    " AND (s.time IS NULL OR f.median_ms < s.time);"                                               \
    "CREATE TABLE leaders AS SELECT id, problem_id, solver, job, config, rival,"                   \
    " min(median_ms) AS median_ms, NULL AS not_by FROM faster GROUP BY problem_id;"                \
    "CREATE INDEX leaders_ids ON leaders (id);"
#define HOLD_BACK                                                                                  \
    "INSERT OR IGNORE INTO disputes SELECT problem_id, solver, rival, not_by FROM leaders"         \
    " WHERE not_by IS NOT NULL;"                                                                   \
    "UPDATE entries SET found = %d WHERE id IN (SELECT f.id FROM faster f JOIN leaders l"          \
    " ON l.problem_id = f.problem_id WHERE l.not_by IS NOT NULL);"

struct inquiry {
    Store *store;
    const struct golden_wish *wish;
    struct golden_summary *summary;
    sqlite3_stmt *bar;
};

/* Adds a name to a list joined by ", ", unless the list has it already. */
static void add_name(char **list, const char *name)
{
    g_auto(GStrv) names = g_strsplit(*list != NULL ? *list : "", ", ", -1);
    if (!g_strv_contains((const char *const *)names, name)) {
        char *longer =
            g_strconcat(*list != NULL ? *list : "", *list != NULL ? ", " : "", name, NULL);
        g_free(*list);
        *list = longer;
    }
}

static void note_names(struct golden_logins *logins, const struct golden_measured *measured,
                       const char *not_by)
{
    g_auto(GStrv) barred = g_strsplit(not_by != NULL ? not_by : "", "\n", -1);
    if (measured->times->len > 0) {
        for (char **login = time_at(measured, 0)->logins; *login != NULL; login++) {
            add_name(&logins->measured_by, *login);
        }
    }
    for (char **login = measured->able; not_by != NULL && *login != NULL; login++) {
        if (!g_strv_contains((const char *const *)barred, *login)) {
            add_name(&logins->able, *login);
        }
    }
}

static bool judge_one(const struct inquiry *inquiry, int64_t id,
                      const struct golden_measured *measured, GError **error)
{
    struct golden_logins *logins = &inquiry->summary->logins;
    g_autofree char *not_by = NULL;
    enum golden_seconding seconding = golden_judge_logins(inquiry->wish, measured, &not_by);
    if (seconding == GOLDEN_SECONDED) {
        return true;
    }
    note_names(logins, measured, not_by);
    if (not_by == NULL || inquiry->wish->allow_unconfirmed) {
        logins->alone++;
        return true;
    }
    logins->awaited++;
    logins->disagreed += seconding == GOLDEN_DISAGREED;
    return sqlite_do(inquiry->bar, error, "lt", id, not_by);
}

static bool judge_winners(const struct inquiry *inquiry, const struct golden_winner *winners,
                          const int64_t *ids, int count, GError **error)
{
    g_autoptr(GPtrArray) measured =
        count == 0 ? g_ptr_array_new()
                   : store_list_golden_measurements(inquiry->store, inquiry->summary->target,
                                                    inquiry->wish->campaign, winners, count, error);
    bool done = measured != NULL;
    for (int i = 0; done && i < count; i++) {
        done = judge_one(inquiry, ids[i], measured->pdata[i], error);
    }
    return done;
}

/* Judges the winners behind position *last, at most as many as one query of the store takes, and
 * moves *last to the last of them. */
static bool judge_piece(const struct inquiry *inquiry, sqlite3_stmt *next, int64_t *last,
                        int *count, GError **error)
{
    struct golden_winner winners[WINNERS_AT_ONCE];
    int64_t ids[WINNERS_AT_ONCE];
    g_autoptr(GStringChunk) texts = g_string_chunk_new(4096);
    enum read_step step = sqlite_ask(next, error, "ll", *last, (int64_t)WINNERS_AT_ONCE);
    for (*count = 0; step == READ_ROW; step = sqlite_step(next, error)) {
        const char *solver = (const char *)sqlite3_column_text(next, 2);
        const char *config = (const char *)sqlite3_column_text(next, 4);
        ids[*count] = *last = sqlite3_column_int64(next, 0);
        winners[(*count)++] = (struct golden_winner){
            .problem_id = sqlite3_column_int64(next, 1),
            .solver = g_string_chunk_insert(texts, solver != NULL ? solver : ""),
            .job = sqlite3_column_int64(next, 3),
            .config = g_string_chunk_insert(texts, config != NULL ? config : ""),
            .median_ms = sqlite3_column_double(next, 5),
        };
    }
    sqlite3_reset(next);
    return step == READ_END && judge_winners(inquiry, winners, ids, *count, error);
}

bool golden_doubt_logins(struct golden_spool *spool, Store *store, const struct golden_wish *wish,
                         struct golden_summary *summary, GError **error)
{
    struct inquiry inquiry = {.store = store, .wish = wish, .summary = summary};
    g_autofree char *leaders =
        g_strdup_printf(LEADERS, (int)GOLDEN_TAKEN_COUNT, (int)GOLDEN_BETTER, (int)GOLDEN_CONFIRMED,
                        (int)GOLDEN_BASE_FAILED, (int)GOLDEN_NEW_SOLVER);
    g_autofree char *hold_back = g_strdup_printf(HOLD_BACK, (int)GOLDEN_UNCONFIRMED);
    sqlite3_stmt *next = NULL;
    int64_t last = 0;
    bool done = sqlite_run(spool->db, leaders, error) &&
                (inquiry.bar = sqlite_statement(
                     spool->db, "UPDATE leaders SET not_by = ?2 WHERE id = ?1", error)) != NULL &&
                (next = sqlite_statement(spool->db,
                                         "SELECT id, problem_id, solver, job, config, median_ms"
                                         " FROM leaders WHERE id > ? ORDER BY id LIMIT ?",
                                         error)) != NULL;
    for (int count = WINNERS_AT_ONCE; done && count == WINNERS_AT_ONCE;) {
        done = judge_piece(&inquiry, next, &last, &count, error);
    }
    sqlite3_finalize(next);
    sqlite3_finalize(inquiry.bar);
    return done && sqlite_run(spool->db, hold_back, error);
}
