#include "export/release/code_names.h"

#include "export/formats/kernel_db.h"
#include "schema/store/store_kernels.h"

#include <string.h>

#define CONTEST                                                                                    \
    "UPDATE codes SET contested = 1 WHERE side = ?1 AND (name, args) IN (SELECT name, args"        \
    " FROM codes WHERE side = ?1 GROUP BY name, args HAVING min(sha256) <> max(sha256))"

static const struct sqlite_member members[] = {
    {offsetof(struct code_names, find), "SELECT id FROM codes WHERE side = ? AND key = ?"},
    {offsetof(struct code_names, add),
     "INSERT INTO codes (side, key, name, args, sha256) VALUES (?, ?, ?, ?, ?)"},
    {offsetof(struct code_names, use), "INSERT OR IGNORE INTO uses VALUES (?, ?)"},
    {offsetof(struct code_names, of_owner),
     "SELECT c.id FROM uses u JOIN codes c ON c.id = u.code WHERE u.owner = ? ORDER BY c.key"},
    {offsetof(struct code_names, rival),
     "SELECT c.key, c.name, c.args FROM codes c JOIN codes o ON o.side = c.side"
     " AND o.name = c.name AND o.args = c.args AND o.sha256 <> c.sha256"
     " WHERE c.id = ? AND o.bound LIMIT 1"},
    {offsetof(struct code_names, bind),
     "UPDATE codes SET bound = ?2 WHERE id = ?1 AND bound <> ?2"},
    {offsetof(struct code_names, release), "DELETE FROM uses WHERE owner = ?"},
};

bool code_names_init(struct code_names *names, sqlite3 *db, int side, GError **error)
{
    memset(names, 0, sizeof *names);
    names->db = db;
    names->side = side;
    return sqlite_members_prepare(db, names, members, G_N_ELEMENTS(members), error);
}

void code_names_clear(struct code_names *names)
{
    sqlite_members_finalize(names, members, G_N_ELEMENTS(members));
    memset(names, 0, sizeof *names);
}

/* Finds the row of a code object by its key in the store; *id becomes 0 if no row was added yet. */
static bool find(struct code_names *names, const char *key, int64_t *id, GError **error)
{
    enum read_step step = sqlite_ask(names->find, error, "lt", (int64_t)names->side, key);
    *id = step == READ_ROW ? sqlite3_column_int64(names->find, 0) : 0;
    sqlite3_reset(names->find);
    return step != READ_FAILED;
}

static bool add(struct code_names *names, const struct gate *gate, const char *key, int64_t *id,
                GError **error)
{
    const struct kernel_row *kernel = g_hash_table_lookup(gate->kernels, key);
    g_autofree char *name = kernel_db_name(kernel->file);
    g_autofree char *args = kernel_db_args(kernel->options, gate->target.arch);
    bool added = sqlite_do(names->add, error, "ltttt", (int64_t)names->side, key, name, args,
                           kernel->code_sha256);
    *id = sqlite3_last_insert_rowid(names->db);
    return added;
}

bool code_names_add(struct code_names *names, int64_t owner, const struct gate *gate,
                    char *const *keys, GError **error)
{
    for (char *const *key = keys; *key != NULL; key++) {
        int64_t id = 0;
        if (!find(names, *key, &id, error) || (id == 0 && !add(names, gate, *key, &id, error)) ||
            !sqlite_do(names->use, error, "ll", owner, id)) {
            return false;
        }
    }
    return true;
}

bool code_names_contest(struct code_names *names, GError **error)
{
    sqlite3_stmt *contest = sqlite_statement(names->db, CONTEST, error);
    bool done = contest != NULL && sqlite_do(contest, error, "l", (int64_t)names->side);
    sqlite3_finalize(contest);
    return done;
}

static bool list_codes(struct code_names *names, int64_t owner, GArray *codes, GError **error)
{
    enum read_step step = sqlite_ask(names->of_owner, error, "l", owner);
    while (step == READ_ROW) {
        int64_t id = sqlite3_column_int64(names->of_owner, 0);
        g_array_append_val(codes, id);
        step = sqlite_step(names->of_owner, error);
    }
    sqlite3_reset(names->of_owner);
    return step == READ_END;
}

/* *reason (g_free()) becomes a text if the kernel's name is reserved for another code object; else
 * it is not changed. */
static bool find_rival(struct code_names *names, int64_t code, char **reason, GError **error)
{
    enum read_step step = sqlite_ask(names->rival, error, "l", code);
    if (step == READ_ROW) {
        *reason = g_strdup_printf("another code object has the name of its kernel %.12s (%s, '%s')",
                                  sqlite_text_at(names->rival, 0), sqlite_text_at(names->rival, 1),
                                  sqlite_text_at(names->rival, 2));
    }
    sqlite3_reset(names->rival);
    return step != READ_FAILED;
}

bool code_names_bind(struct code_names *names, int64_t owner, char **reason, GError **error)
{
    g_autoptr(GArray) codes = g_array_new(FALSE, FALSE, sizeof(int64_t));
    g_autoptr(GArray) fresh = g_array_new(FALSE, FALSE, sizeof(int64_t));
    bool done = list_codes(names, owner, codes, error);
    *reason = NULL;
    for (guint i = 0; done && *reason == NULL && i < codes->len; i++) {
        int64_t code = g_array_index(codes, int64_t, i);
        done = find_rival(names, code, reason, error) &&
               (*reason != NULL || sqlite_do(names->bind, error, "ll", code, INT64_C(1)));
        if (done && *reason == NULL && sqlite3_changes(names->db) > 0) {
            g_array_append_val(fresh, code);
        }
    }
    for (guint i = 0; done && *reason != NULL && i < fresh->len; i++) {
        done = sqlite_do(names->bind, error, "ll", g_array_index(fresh, int64_t, i), INT64_C(0));
    }
    return done;
}

bool code_names_release(struct code_names *names, int64_t owner, GError **error)
{
    return sqlite_do(names->release, error, "l", owner);
}
