#include "export/golden/golden_spool.h"

#include "solvers/problem/problem_key.h"

#include <string.h>

/* entries: one row for each entry of each side; `found` is its enum golden_finding (99: not judged
 * yet). kept: the campaign's configs that come along when their entry is taken. */
#define SCHEMA                                                                                     \
    "CREATE TABLE entries (id INTEGER PRIMARY KEY, side INTEGER, key TEXT, job INTEGER,"           \
    " problem_id INTEGER, problem TEXT, solver TEXT, rank INTEGER, median_ms REAL, spread REAL,"   \
    " passes INTEGER, why INTEGER, reason TEXT, fits INTEGER, confirmed INTEGER, config TEXT,"     \
    " found INTEGER DEFAULT 99, UNIQUE (side, key));"                                              \
    "CREATE INDEX entries_problems ON entries (side, problem_id);"                                 \
    "CREATE TABLE kept (key TEXT, job INTEGER, rank INTEGER, as_rank INTEGER, median_ms REAL);"    \
    "CREATE TABLE disputes (problem_id INTEGER, solver TEXT, rival TEXT, not_by TEXT,"             \
    " PRIMARY KEY (problem_id, solver));"                                                          \
    "CREATE TABLE rivals (id INTEGER PRIMARY KEY, entry INTEGER);"

static const struct sqlite_member members[] = {
    {offsetof(struct golden_spool, held),
     "SELECT id, rank, median_ms FROM entries WHERE side = ? AND key = ?"},
    {offsetof(struct golden_spool, add),
     "INSERT INTO entries (side, key, fits, job, problem_id, problem, solver, rank, median_ms,"
     " spread, passes, why, confirmed, reason, config)"
     " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"},
    {offsetof(struct golden_spool, replace),
     "UPDATE entries SET job = ?2, problem_id = ?3, problem = ?4, solver = ?5, rank = ?6,"
     " median_ms = ?7, spread = ?8, passes = ?9, why = ?10, confirmed = ?11, reason = ?12,"
     " config = ?13"
     " WHERE id = ?1"},
    {offsetof(struct golden_spool, keep), "INSERT INTO kept VALUES (?, ?, ?, ?, ?)"},
    {offsetof(struct golden_spool, misfit), "UPDATE entries SET fits = 0 WHERE id = ?"},
    {offsetof(struct golden_spool, judge), "UPDATE entries SET found = ?2 WHERE id = ?1"},
    {offsetof(struct golden_spool, refuse),
     "UPDATE entries SET passes = 0, why = ?2, reason = ?3 WHERE id = ?1"},
};

bool golden_spool_open(struct golden_spool *spool, const char *path, GError **error)
{
    memset(spool, 0, sizeof *spool);
    spool->db = sqlite_file_scratch(path, CODE_NAMES_SCHEMA SCHEMA, error);
    bool open = spool->db != NULL;
    for (int side = 0; open && side < GOLDEN_SIDES; side++) {
        open = code_names_init(&spool->names[side], spool->db, side, error);
    }
    return open && sqlite_members_prepare(spool->db, spool, members, G_N_ELEMENTS(members), error);
}

void golden_spool_close(struct golden_spool *spool)
{
    sqlite_members_finalize(spool, members, G_N_ELEMENTS(members));
    for (int side = 0; side < GOLDEN_SIDES; side++) {
        code_names_clear(&spool->names[side]);
    }
    sqlite_file_close(spool->db);
    memset(spool, 0, sizeof *spool);
}

/* ---- adding entries ---- */

/* Returns the rank of a result: after measuring again the chosen config has rank 0, and the other
 * configs follow in their old order. */
static int rank_of(const struct golden_job *job, const struct result *result)
{
    if (!job->confirmed) {
        return result->rank;
    }
    return result == job->best ? 0 : result->rank + (result->rank < job->best->rank);
}

static bool keep_all(struct golden_spool *spool, const struct golden_job *job, GError **error)
{
    for (guint i = 0; i < job->results->len; i++) {
        const struct result *result = job->results->pdata[i];
        if (result->verified && result->damage == NULL &&
            !sqlite_do(spool->keep, error, "tllld", job->key, result->job, (int64_t)result->rank,
                       (int64_t)rank_of(job, result), result->kept.outcome.median_ms)) {
            return false;
        }
    }
    return true;
}

/* Finds the entry that the scratch database already holds for the job's key; *id is 0 if it holds
 * no entry. *better becomes true if its result is better than the job's: that entry then stays. */
static bool find_held(struct golden_spool *spool, enum golden_side side,
                      const struct golden_job *job, int64_t *id, bool *better, GError **error)
{
    const struct result *best = job->best;
    enum read_step step = sqlite_ask(spool->held, error, "lt", (int64_t)side, job->key);
    *id = step == READ_ROW ? sqlite3_column_int64(spool->held, 0) : 0;
    int rank = sqlite3_column_int(spool->held, 1);
    double median_ms = sqlite3_column_double(spool->held, 2);
    int its_rank = rank_of(job, best);
    *better = *id != 0 &&
              (rank < its_rank || (rank == its_rank && median_ms <= best->kept.outcome.median_ms));
    sqlite3_reset(spool->held);
    return step != READ_FAILED;
}

/* Returns those of the result's kernels that the store knows; free with g_strfreev(). */
static char **known_kernels(const struct gate *gate, const struct result *result)
{
    GPtrArray *known = g_ptr_array_new();
    g_auto(GStrv) keys = g_strsplit(result->kept.kernel_keys, ",", -1);
    for (char **key = keys; *key != NULL; key++) {
        if (g_hash_table_contains(gate->kernels, *key)) {
            g_ptr_array_add(known, g_strdup(*key));
        }
    }
    g_ptr_array_add(known, NULL);
    return (char **)g_ptr_array_free(known, FALSE);
}

static bool write_entry(struct golden_spool *spool, enum golden_side side, struct gate *gate,
                        const struct golden_job *job, int64_t id, GError **error)
{
    char key[PROBLEM_KEY_MAX] = "";
    enum refusal why = REFUSAL_DAMAGED;
    g_autofree char *reason = NULL;
    const struct result *best = job->best;
    const struct outcome *outcome = &best->kept.outcome;
    struct candidate *passed = gate_pass(gate, best, &why, &reason);
    g_auto(GStrv) kernels = known_kernels(gate, best);
    bool passes = passed != NULL;
    candidate_free(passed);
    if (best->problem_id != 0) {
        problem_key(&best->problem, key);
    }
    bool done = id == 0
                    ? sqlite_do(spool->add, error, "ltlllttlddllltt", (int64_t)side, job->key,
                                (int64_t)job->fits, best->job, best->problem_id, key, best->solver,
                                (int64_t)rank_of(job, best), outcome->median_ms, outcome->spread,
                                (int64_t)passes, (int64_t)why, (int64_t)job->confirmed, reason,
                                best->kept.config_text)
                    : sqlite_do(spool->replace, error, "lllttlddllltt", id, best->job,
                                best->problem_id, key, best->solver, (int64_t)rank_of(job, best),
                                outcome->median_ms, outcome->spread, (int64_t)passes, (int64_t)why,
                                (int64_t)job->confirmed, reason, best->kept.config_text) &&
                          code_names_release(&spool->names[side], id, error);
    id = id == 0 ? sqlite3_last_insert_rowid(spool->db) : id;
    /* The code objects of the base's entries are noted even if the gate refuses the entry: its
     * names may still conflict with entries that are taken. */
    return done && ((!passes && side == GOLDEN_FRESH) ||
                    code_names_add(&spool->names[side], id, gate, kernels, error));
}

bool golden_spool_add(struct golden_spool *spool, enum golden_side side, struct gate *gate,
                      const struct golden_job *job, GError **error)
{
    int64_t id = 0;
    bool better = false;
    if ((side == GOLDEN_FRESH && !keep_all(spool, job, error)) ||
        !find_held(spool, side, job, &id, &better, error) ||
        (id != 0 && !job->fits && !sqlite_do(spool->misfit, error, "l", id))) {
        return false;
    }
    return better || write_entry(spool, side, gate, job, id, error);
}

static bool settle_entry(struct golden_spool *spool, enum golden_side side, int64_t id,
                         GError **error)
{
    g_autofree char *reason = NULL;
    return code_names_bind(&spool->names[side], id, &reason, error) &&
           (reason == NULL ||
            (sqlite_do(spool->refuse, error, "llt", id, (int64_t)REFUSAL_KERNEL, reason) &&
             (side == GOLDEN_BASE || code_names_release(&spool->names[side], id, error))));
}

#define FIND_RIVALS                                                                                                  \
    "INSERT INTO rivals (entry) SELECT e.id FROM entries e WHERE e.side = ? AND e.passes AND " CODE_NAMES_CONTESTED( \
        "e.id") " ORDER BY e.problem, e.median_ms, e.solver, e.job"

static bool find_rivals(struct golden_spool *spool, enum golden_side side, GError **error)
{
    sqlite3_stmt *find = NULL;
    bool found = code_names_contest(&spool->names[side], error) &&
                 sqlite_run(spool->db, "DELETE FROM rivals", error) &&
                 (find = sqlite_statement(spool->db, FIND_RIVALS, error)) != NULL &&
                 sqlite_do(find, error, "l", (int64_t)side);
    sqlite3_finalize(find);
    return found;
}

bool golden_spool_settle(struct golden_spool *spool, enum golden_side side, GError **error)
{
    if (!find_rivals(spool, side, error)) {
        return false;
    }
    sqlite3_stmt *query =
        sqlite_statement(spool->db, "SELECT entry FROM rivals ORDER BY id", error);
    enum read_step step = query != NULL ? sqlite_step(query, error) : READ_FAILED;
    while (step == READ_ROW) {
        step = settle_entry(spool, side, sqlite3_column_int64(query, 0), error)
                   ? sqlite_step(query, error)
                   : READ_FAILED;
    }
    sqlite3_finalize(query);
    return step == READ_END;
}

/* ---- pairs of a campaign's entry and the base's ---- */

#define PAIRS                                                                                      \
    "SELECT f.id, f.passes, f.why, f.fits, f.median_ms, f.spread, f.confirmed,"                    \
    " b.id IS NOT NULL, b.passes, b.why, b.fits, b.median_ms, b.spread, b.confirmed,"              \
    " EXISTS (SELECT 1 FROM entries p WHERE p.side = 0 AND p.problem_id = f.problem_id), f.key"    \
    " FROM entries f LEFT JOIN entries b ON b.side = 0 AND b.key = f.key WHERE f.side = 1"         \
    " ORDER BY f.problem, f.median_ms, f.solver, f.job"

static struct golden_entry entry_at(sqlite3_stmt *query, int column)
{
    return (struct golden_entry){
        .passes = sqlite3_column_int(query, column) != 0,
        .why = (enum refusal)sqlite3_column_int(query, column + 1),
        .fits = sqlite3_column_int(query, column + 2) != 0,
        .median_ms = sqlite3_column_double(query, column + 3),
        .spread = sqlite3_column_double(query, column + 4),
        .confirmed = sqlite3_column_int(query, column + 5) != 0,
    };
}

bool golden_spool_judge(struct golden_spool *spool,
                        enum golden_finding (*judge)(void *data, const struct golden_pair *pair),
                        void *data, GError **error)
{
    sqlite3_stmt *query = sqlite_statement(spool->db, PAIRS, error);
    enum read_step step = query != NULL ? sqlite_step(query, error) : READ_FAILED;
    while (step == READ_ROW) {
        const struct golden_pair pair = {
            .id = sqlite3_column_int64(query, 0),
            .fresh = entry_at(query, 1),
            .has_base = sqlite3_column_int(query, 7) != 0,
            .base = entry_at(query, 8),
            .has_problem = sqlite3_column_int(query, 14) != 0,
            .key = sqlite_text_at(query, 15),
        };
        int64_t found = judge(data, &pair);
        step = sqlite_do(spool->judge, error, "ll", pair.id, found) ? sqlite_step(query, error)
                                                                    : READ_FAILED;
    }
    sqlite3_finalize(query);
    return step == READ_END;
}

#define REFUSED                                                                                    \
    "SELECT job, problem, solver, reason, why FROM entries WHERE side = 1 AND NOT passes"          \
    " ORDER BY problem, median_ms, solver, job"

bool golden_spool_list_refused(struct golden_spool *spool,
                               bool (*refuse)(void *data, const struct export_refusal *refusal,
                                              GError **error),
                               void *data, GError **error)
{
    sqlite3_stmt *query = sqlite_statement(spool->db, REFUSED, error);
    enum read_step step = query != NULL ? sqlite_step(query, error) : READ_FAILED;
    while (step == READ_ROW) {
        const struct export_refusal refusal = {
            .why = (enum refusal)sqlite3_column_int(query, 4),
            .job = sqlite3_column_int64(query, 0),
            /* `refuse` copies this text and the next two */
            .problem = (char *)sqlite_text_at(query, 1),
            .solver = (char *)sqlite_text_at(query, 2),
            .reason = (char *)sqlite_text_at(query, 3),
        };
        step = refuse(data, &refusal, error) ? sqlite_step(query, error) : READ_FAILED;
    }
    sqlite3_finalize(query);
    return step == READ_END;
}

/* ---- entries to be measured again ---- */

/* SQL that finds each problem's winner in the base. An entry that was measured again counts with
 * its new time. */
#define CHAMPIONS                                                                                  \
    "CREATE TABLE champions AS SELECT problem_id, solver, confirmed, spread, min(time) AS time"    \
    " FROM (SELECT b.problem_id, b.solver, coalesce(f.confirmed, 0) AS confirmed,"                 \
    "  iif(f.confirmed, f.spread, b.spread) AS spread,"                                            \
    "  iif(f.confirmed, f.median_ms, b.median_ms) AS time"                                         \
    "  FROM entries b LEFT JOIN entries f ON f.side = 1 AND f.key = b.key AND f.passes"            \
    "  WHERE b.side = 0 AND b.passes AND b.fits) GROUP BY problem_id;"                             \
    "CREATE TABLE challengers (entry INTEGER PRIMARY KEY, problem_id INTEGER, solver TEXT,"        \
    " confirmed INTEGER, has_base INTEGER, champion TEXT, champion_confirmed INTEGER);"

/* SQL that finds the campaign's entries which are faster than their problem's champion beyond the
 * noise. The condition is the same as in golden_compare(). */
#define CHALLENGERS                                                                                \
    "INSERT INTO challengers SELECT f.id, f.problem_id, f.solver, f.confirmed, EXISTS"             \
    " (SELECT 1 FROM entries b WHERE b.side = 0 AND b.key = f.key), c.solver, c.confirmed"         \
    " FROM entries f JOIN champions c ON c.problem_id = f.problem_id AND c.solver <> f.solver"     \
    " WHERE f.side = 1 AND f.passes AND (f.found < ?1 OR f.found = ?2)"                            \
    " AND NOT (f.confirmed AND c.confirmed)"                                                       \
    " AND c.time - f.median_ms > ?3 * (c.spread * c.time + f.spread * f.median_ms) / 2"            \
    " AND c.time - f.median_ms >= ?4 * c.time"

#define OWN                                                                                        \
    "INSERT INTO disputes SELECT problem_id, solver, solver, '' FROM entries"                      \
    " WHERE side = 1 AND found = ?"
#define DOUBT "UPDATE entries SET found = ? WHERE id IN (SELECT entry FROM challengers)"

static bool do_one(sqlite3 *db, GError **error, const char *sql, int64_t value)
{
    sqlite3_stmt *statement = sqlite_statement(db, sql, error);
    bool done = statement != NULL && sqlite_do(statement, error, "l", value);
    sqlite3_finalize(statement);
    return done;
}

bool golden_spool_doubt_winners(struct golden_spool *spool, double noise, double gain,
                                GError **error)
{
    sqlite3_stmt *find = NULL;
    bool done = do_one(spool->db, error, OWN, GOLDEN_UNCONFIRMED) &&
                sqlite_run(spool->db, CHAMPIONS, error) &&
                (find = sqlite_statement(spool->db, CHALLENGERS, error)) != NULL &&
                sqlite_do(find, error, "lldd", (int64_t)GOLDEN_TAKEN_COUNT,
                          (int64_t)GOLDEN_UNCONFIRMED, noise, gain);
    sqlite3_finalize(find);
    return done && do_one(spool->db, error, DOUBT, GOLDEN_UNCONFIRMED) &&
           sqlite_run(spool->db,
                      "INSERT OR IGNORE INTO disputes SELECT problem_id, solver,"
                      " iif(has_base, solver, champion), '' FROM challengers WHERE NOT confirmed;"
                      "INSERT OR IGNORE INTO disputes SELECT problem_id, champion, champion, ''"
                      " FROM challengers WHERE NOT champion_confirmed;",
                      error);
}

bool golden_spool_list_disputes(struct golden_spool *spool, int piece,
                                bool (*dispute)(void *data, const struct golden_dispute *disputes,
                                                int count, GError **error),
                                void *data, int *count, GError **error)
{
    g_autoptr(GStringChunk) texts = g_string_chunk_new(4096);
    g_autofree struct golden_dispute *disputes = g_new(struct golden_dispute, (gsize)piece);
    int waiting = 0;
    *count = 0;
    sqlite3_stmt *query = sqlite_statement(
        spool->db, "SELECT problem_id, solver, rival, not_by FROM disputes ORDER BY 1, 2", error);
    enum read_step step = query != NULL ? sqlite_step(query, error) : READ_FAILED;
    while (step == READ_ROW) {
        disputes[waiting++] = (struct golden_dispute){
            .problem_id = sqlite3_column_int64(query, 0),
            .solver = g_string_chunk_insert_const(texts, sqlite_text_at(query, 1)),
            .rival = sqlite3_column_type(query, 2) != SQLITE_NULL
                         ? g_string_chunk_insert_const(texts, sqlite_text_at(query, 2))
                         : NULL,
            .not_by = g_string_chunk_insert_const(texts, sqlite_text_at(query, 3)),
        };
        (*count)++;
        bool done = waiting < piece || dispute(data, disputes, waiting, error);
        waiting = waiting < piece ? waiting : 0;
        step = done ? sqlite_step(query, error) : READ_FAILED;
    }
    sqlite3_finalize(query);
    return step == READ_END && (waiting == 0 || dispute(data, disputes, waiting, error));
}

/* ---- conflicts of names, counts, and entries that are taken ---- */

/* SQL that marks the code objects of the base whose name belongs to another code object of an entry
 * that is taken. */
#define LOSE                                                                                       \
    "UPDATE codes SET contested = 1 WHERE side = 0 AND NOT contested AND EXISTS"                   \
    " (SELECT 1 FROM codes f JOIN uses u ON u.code = f.id JOIN entries e ON e.id = u.owner"        \
    "  WHERE f.side = 1 AND f.name = codes.name AND f.args = codes.args"                           \
    "  AND f.sha256 <> codes.sha256 AND e.found < ?)"
#define FOLLOW                                                                                     \
    "UPDATE entries SET found = ?2 WHERE side = 1 AND passes AND found >= ?1 AND found <> ?3"      \
    " AND EXISTS"                                                                                  \
    " (SELECT 1 FROM entries b WHERE b.side = 0 AND b.key = entries.key"                           \
    "  AND " CODE_NAMES_CONTESTED("b.id") ")"

/* Repeats until nothing changes, since each entry that is taken may bring names that conflict with
 * further entries of the base. Unconfirmed entries are never taken this way. */
bool golden_spool_follow_names(struct golden_spool *spool, GError **error)
{
    const int64_t taken = GOLDEN_TAKEN_COUNT;
    bool done = sqlite_run(spool->db,
                           "UPDATE codes SET contested = 0;"
                           "CREATE INDEX uses_codes ON uses (code);",
                           error);
    sqlite3_stmt *lose = done ? sqlite_statement(spool->db, LOSE, error) : NULL;
    sqlite3_stmt *follow = lose != NULL ? sqlite_statement(spool->db, FOLLOW, error) : NULL;
    done = follow != NULL;
    for (bool changed = done; done && changed;) {
        done = sqlite_do(lose, error, "l", taken) &&
               sqlite_do(follow, error, "lll", taken, (int64_t)GOLDEN_SHARED_KERNEL,
                         (int64_t)GOLDEN_UNCONFIRMED);
        changed = sqlite3_changes(spool->db) > 0;
    }
    sqlite3_finalize(lose);
    sqlite3_finalize(follow);
    return done;
}

#define FOUND "SELECT found, count(*) FROM entries WHERE side = 1 GROUP BY found"

static bool count_found(struct golden_spool *spool, int *counts, GError **error)
{
    sqlite3_stmt *query = sqlite_statement(spool->db, FOUND, error);
    enum read_step step = query != NULL ? sqlite_step(query, error) : READ_FAILED;
    for (; step == READ_ROW; step = sqlite_step(query, error)) {
        int finding = sqlite3_column_int(query, 0);
        g_assert(finding >= 0 && finding < GOLDEN_FINDING_COUNT);
        counts[finding] += sqlite3_column_int(query, 1);
    }
    sqlite3_finalize(query);
    return step == READ_END;
}

/* SQL that counts the base's entries which the campaign does not replace: those that no longer
 * hold, and those whose code object's name is taken. */
#define LEFT                                                                                       \
    "SELECT count(*) FILTER (WHERE NOT (b.passes AND b.fits)),"                                    \
    " count(*) FILTER (WHERE " CODE_NAMES_CONTESTED(                                               \
        "b.id") ") FROM entries b WHERE b.side = 0"                                                \
                " AND NOT EXISTS (SELECT 1 FROM entries f WHERE f.side = 1 AND f.key = b.key AND f.found < ?)"

bool golden_spool_count(struct golden_spool *spool, int *counts, GError **error)
{
    if (!count_found(spool, counts, error)) {
        return false;
    }
    sqlite3_stmt *left = sqlite_statement(spool->db, LEFT, error);
    bool counted =
        left != NULL && sqlite_ask(left, error, "l", (int64_t)GOLDEN_TAKEN_COUNT) == READ_ROW;
    if (counted) {
        counts[GOLDEN_STALE_LEFT] = sqlite3_column_int(left, 0);
        counts[GOLDEN_KERNEL_LEFT] = sqlite3_column_int(left, 1);
    }
    sqlite3_finalize(left);
    return counted;
}

#define TAKES                                                                                      \
    "SELECT k.job, k.rank, k.median_ms, e.found, k.as_rank FROM kept k JOIN entries e"             \
    " ON e.side = 1 AND e.key = k.key WHERE e.found < ? ORDER BY k.job, k.rank, k.median_ms"

bool golden_spool_list_takes(struct golden_spool *spool, int piece,
                             bool (*take)(void *data, const struct golden_take *takes, int count,
                                          GError **error),
                             void *data, GError **error)
{
    g_autofree struct golden_take *takes = g_new(struct golden_take, (gsize)piece);
    int count = 0;
    sqlite3_stmt *query = sqlite_statement(spool->db, TAKES, error);
    enum read_step step =
        query != NULL ? sqlite_ask(query, error, "l", (int64_t)GOLDEN_TAKEN_COUNT) : READ_FAILED;
    while (step == READ_ROW) {
        takes[count++] = (struct golden_take){
            .job = sqlite3_column_int64(query, 0),
            .rank = sqlite3_column_int(query, 1),
            .median_ms = sqlite3_column_double(query, 2),
            .reason = golden_finding_name((enum golden_finding)sqlite3_column_int(query, 3)),
            .as_rank = sqlite3_column_int(query, 4),
        };
        bool done = count < piece || take(data, takes, count, error);
        count = count < piece ? count : 0;
        step = done ? sqlite_step(query, error) : READ_FAILED;
    }
    sqlite3_finalize(query);
    return step == READ_END && (count == 0 || take(data, takes, count, error));
}
