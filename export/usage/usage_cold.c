#include "export/usage/usage_cold.h"

#include "export/check/check.h"
#include "export/formats/export_error.h"
#include "export/formats/kernel_db.h"
#include "export/sjdb/reader/skipjackdb.h"
#include "export/usage/usage_cases.h"
#include "export/usage/usage_read.h"
#include "schema/store/store_kernels.h"
#include "solvers/framework/solver.h"
#include "solvers/problem/problem_key.h"

#include <math.h>
#include <string.h>

/* ---- the shipped kernel cache ---- */

GHashTable *usage_cache_new(void)
{
    return g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
}

static bool add_kernel_db(GHashTable *cache, const char *path, GError **error)
{
    g_autoptr(KernelDb) db = kernel_db_open(path, error);
    struct kernel_entry entry;
    enum read_step step = READ_FAILED;
    while (db != NULL && (step = kernel_db_next(db, &entry, error)) == READ_ROW) {
        char sha256[65];
        if (!kernel_entry_digest(&entry, NULL, sha256, error)) {
            g_prefix_error(error, "'%s', row %" G_GINT64_FORMAT ": ", path, entry.id);
            return false;
        }
        g_hash_table_add(cache, g_strdup(sha256));
    }
    return step == READ_END;
}

static bool add_code(GHashTable *cache, const skipjackdb *db, uint64_t number)
{
    struct skipjackdb_kernel kernel = {.size = sizeof kernel};
    if (skipjackdb_kernel_at(db, number, &kernel) != SKIPJACKDB_OK) {
        return false;
    }
    g_autofree guchar *code = g_malloc(kernel.code_bytes + 1);
    if (skipjackdb_kernel_read(db, number, NULL, 0, code, kernel.code_bytes) != SKIPJACKDB_OK) {
        return false;
    }
    g_hash_table_add(cache,
                     g_compute_checksum_for_data(G_CHECKSUM_SHA256, code, kernel.code_bytes));
    return true;
}

static bool add_sjdb(GHashTable *cache, const char *path, GError **error)
{
    skipjackdb *db = NULL;
    int code = skipjackdb_open(path, &db);
    uint64_t count = code == SKIPJACKDB_OK ? skipjackdb_kernel_count(db) : 0;
    bool read = code == SKIPJACKDB_OK;
    for (uint64_t i = 0; i < count && read; i++) {
        read = add_code(cache, db, i);
    }
    skipjackdb_close(db);
    if (!read) {
        g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_IO, "cannot read the kernels of '%s': %s",
                    path, skipjackdb_error_text(code != SKIPJACKDB_OK ? code : SKIPJACKDB_DAMAGED));
    }
    return read;
}

bool usage_cache_add(GHashTable *cache, const char *path, GError **error)
{
    enum file_kind kind;
    if (!check_file_kind(path, &kind, error)) {
        return false;
    }
    if (kind == FILE_SJDB) {
        return add_sjdb(cache, path, error);
    }
    if (kind == FILE_KERNEL_DB) {
        return add_kernel_db(cache, path, error);
    }
    g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_KIND,
                "'%s' is a %s: kernels are shipped in files such as gfx90a68.kdb and gfx90a68.sjdb",
                path, file_kind_name(kind));
    return false;
}

/* ---- choices ---- */

enum choice { CHOICE_STATIC, CHOICE_DYNAMIC, CHOICE_MIXED };
#define CHOICES (CHOICE_MIXED + 1)

static const char *const choice_names[CHOICES] = {"static", "dynamic", "mixed"};

/* The fastest entries of a case, of each form and at all; NULL if it has none. */
struct picks {
    const struct usage_time *fixed, *dynamic, *fastest;
};

/* A solver that this program carries has its own form; for others the entry's source says it. */
static bool is_dynamic(const struct usage_time *time)
{
    const struct solver *solver = solver_find(time->solver);
    return solver != NULL ? solver->dynamic : time->dynamic > 0;
}

static struct picks pick(const struct usage_case *that)
{
    g_assert(that != NULL);
    struct picks picks = {NULL, NULL, that->count > 0 ? that->times : NULL};
    for (int t = that->count - 1; t >= 0; t--) {
        const struct usage_time *time = &that->times[t];
        *(is_dynamic(time) ? &picks.dynamic : &picks.fixed) = time;
    }
    return picks;
}

/* ---- kernels ---- */

struct cold_kernel {
    int64_t bytes;  /* 0 if unknown */
    double seconds; /* NAN if unknown */
    bool shipped;
};

struct cold {
    Usage *usage;
    Store *store;
    GHashTable *cache;
    bool any_cache;      /* the columns about the cache have a meaning */
    GHashTable *kernels; /* name -> struct cold_kernel * */
    GHashTable *entries; /* name of an entry -> char ** of its kernels' names */
};

static char *entry_name(int origin, int64_t problem, int64_t solver)
{
    return g_strdup_printf("%d %" G_GINT64_FORMAT " %" G_GINT64_FORMAT, origin, problem, solver);
}

static char *sjdb_entry_name(int origin, const char *key, const char *solver)
{
    return g_strdup_printf("%d %s %s", origin, key, solver);
}

/* The entries of one origin that are to be looked up. */
struct wanted {
    struct cold *cold;
    int origin;
    GArray *problems, *solvers; /* int64_t, element by element: of the database */
    GPtrArray *times;           /* const struct usage_time * */
    GPtrArray *keys;            /* char *: keys of the problems */
};

static void wanted_free(gpointer data)
{
    struct wanted *wanted = data;
    g_array_unref(wanted->problems);
    g_array_unref(wanted->solvers);
    g_ptr_array_unref(wanted->times);
    g_ptr_array_unref(wanted->keys);
    g_free(wanted);
}

static void want(GPtrArray *origins, struct cold *cold, const struct usage_case *that,
                 const struct usage_time *time)
{
    if (time == NULL || time->origin < 0) {
        return;
    }
    while ((int)origins->len <= time->origin) {
        struct wanted *wanted = g_new0(struct wanted, 1);
        *wanted = (struct wanted){cold,
                                  (int)origins->len,
                                  g_array_new(FALSE, FALSE, sizeof(int64_t)),
                                  g_array_new(FALSE, FALSE, sizeof(int64_t)),
                                  g_ptr_array_new(),
                                  g_ptr_array_new_with_free_func(g_free)};
        g_ptr_array_add(origins, wanted);
    }
    struct wanted *wanted = origins->pdata[time->origin];
    char key[PROBLEM_KEY_MAX];
    g_array_append_val(wanted->problems, time->problem_id);
    g_array_append_val(wanted->solvers, time->solver_id);
    g_ptr_array_add(wanted->times, (gpointer)time);
    g_ptr_array_add(wanted->keys, g_strdup(problem_key(that->problem, key)));
}

static void see_kernels(int64_t problem, int64_t solver, const char *keys, gpointer data)
{
    const struct wanted *wanted = data;
    g_hash_table_insert(wanted->cold->entries, entry_name(wanted->origin, problem, solver),
                        g_strsplit(keys, ",", -1));
}

/* Adds a kernel of a .sjdb, whose names are its file and its number in it. */
static char *sjdb_kernel(struct cold *cold, const char *path, const skipjackdb *db, uint64_t number)
{
    char *name = g_strdup_printf("%s#%" G_GUINT64_FORMAT, path, (guint64)number);
    struct skipjackdb_kernel kernel = {.size = sizeof kernel};
    if (!g_hash_table_contains(cold->kernels, name) &&
        skipjackdb_kernel_at(db, number, &kernel) == SKIPJACKDB_OK) {
        struct cold_kernel *known = g_new0(struct cold_kernel, 1);
        *known = (struct cold_kernel){(int64_t)kernel.code_bytes, NAN, true};
        g_hash_table_insert(cold->kernels, g_strdup(name), known);
    }
    return name;
}

static void look_up_sjdb_entry(struct wanted *wanted, const char *path, const skipjackdb *db,
                               guint index)
{
    struct skipjackdb_problem problem = {.size = sizeof problem};
    struct skipjackdb_solution solution;
    const struct usage_time *time = wanted->times->pdata[index];
    const char *key = wanted->keys->pdata[index];
    if (skipjackdb_problem_parse(key, &problem) != SKIPJACKDB_OK ||
        skipjackdb_solution(db, &problem, time->solver, &solution, sizeof solution) !=
            SKIPJACKDB_OK) {
        return;
    }
    GPtrArray *names = g_ptr_array_new();
    struct skipjackdb_launch launch = {.size = sizeof launch};
    for (uint32_t i = 0; skipjackdb_launch_at(db, &solution, i, &launch) == SKIPJACKDB_OK; i++) {
        g_ptr_array_add(names, sjdb_kernel(wanted->cold, path, db, launch.kernel));
    }
    g_ptr_array_add(names, NULL);
    g_hash_table_insert(wanted->cold->entries, sjdb_entry_name(wanted->origin, key, time->solver),
                        g_ptr_array_free(names, FALSE));
}

static bool look_up_sjdb(struct wanted *wanted, const char *path, GError **error)
{
    skipjackdb *db = NULL;
    int code = skipjackdb_open(path, &db);
    for (guint i = 0; code == SKIPJACKDB_OK && i < wanted->times->len; i++) {
        look_up_sjdb_entry(wanted, path, db, i);
    }
    skipjackdb_close(db);
    if (code != SKIPJACKDB_OK) {
        g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_IO, "cannot read '%s': %s", path,
                    skipjackdb_error_text(code));
    }
    wanted->cold->any_cache = true;
    return code == SKIPJACKDB_OK;
}

static bool look_up(struct wanted *wanted, GError **error)
{
    const struct usage_origin *origin = usage_origin_at(wanted->cold->usage, wanted->origin);
    return origin->path != NULL
               ? look_up_sjdb(wanted, origin->path, error)
               : store_each_used_kernels(wanted->cold->store, &origin->source, wanted->problems,
                                         wanted->solvers, see_kernels, wanted, error);
}

/* Adds the costs of the database's kernels. */
static bool add_costs(struct cold *cold, GError **error)
{
    g_autoptr(GPtrArray) keys = g_ptr_array_new();
    g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
    GHashTableIter iter;
    gpointer value;
    g_hash_table_iter_init(&iter, cold->entries);
    while (g_hash_table_iter_next(&iter, NULL, &value)) {
        for (char **key = value; *key != NULL; key++) {
            if (!g_hash_table_contains(cold->kernels, *key) && g_hash_table_add(seen, *key)) {
                g_ptr_array_add(keys, *key);
            }
        }
    }
    if (keys->len == 0) {
        return true;
    }
    g_autoptr(GHashTable) costs =
        store_kernel_costs(cold->store, (const char *const *)keys->pdata, (int)keys->len, error);
    for (guint i = 0; costs != NULL && i < keys->len; i++) {
        const struct kernel_cost *cost = g_hash_table_lookup(costs, keys->pdata[i]);
        struct cold_kernel *kernel = g_new0(struct cold_kernel, 1);
        kernel->seconds = cost != NULL ? cost->seconds : NAN;
        kernel->bytes = cost != NULL ? cost->bytes : 0;
        kernel->shipped =
            cost != NULL && cold->cache != NULL && g_hash_table_contains(cold->cache, cost->sha256);
        g_hash_table_insert(cold->kernels, g_strdup(keys->pdata[i]), kernel);
    }
    return costs != NULL;
}

static bool look_up_all(struct cold *cold, GError **error)
{
    const GArray *cases = usage_cases(cold->usage);
    g_autoptr(GPtrArray) origins = g_ptr_array_new_with_free_func(wanted_free);
    for (guint i = 0; i < cases->len; i++) {
        const struct usage_case *that = &g_array_index(cases, struct usage_case, i);
        const struct picks picks = pick(that);
        if (that->is_first) {
            want(origins, cold, that, picks.fixed);
            want(origins, cold, that, picks.dynamic);
        }
    }
    for (guint i = 0; i < origins->len; i++) {
        if (!look_up(origins->pdata[i], error)) {
            return false;
        }
    }
    if (g_hash_table_size(cold->entries) == 0) {
        g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_EMPTY,
                    "--cold: no kernel of these entries is known: campaigns of this farm, golden "
                    "versions and .sjdb files with code name their kernels, find-dbs do not");
        return false;
    }
    return add_costs(cold, error);
}

/* ---- adding up ---- */

struct cold_row {
    int problems, covered;
    int kernels;
    int unknown; /* kernels without known seconds, and entries without known kernels */
    int missing; /* kernels that are not shipped */
    int64_t bytes;
    /* before the first run; meanwhile; before the first run with the shipped kernels */
    double compile_seconds, later_seconds, cached_seconds;
    int timed; /* kernels whose seconds are known */
    double first_ms, later_ms;
};

static char **kernels_of(const struct cold *cold, const struct usage_case *that,
                         const struct usage_time *time)
{
    char key[PROBLEM_KEY_MAX];
    if (time->origin < 0) {
        return NULL;
    }
    const struct usage_origin *origin = usage_origin_at(cold->usage, time->origin);
    g_autofree char *name =
        origin->path != NULL
            ? sjdb_entry_name(time->origin, problem_key(that->problem, key), time->solver)
            : entry_name(time->origin, time->problem_id, time->solver_id);
    return g_hash_table_lookup(cold->entries, name);
}

/* Adds the kernels of an entry that are not in `seen`. meanwhile: they are compiled while the network runs. */
static void add_kernels(const struct cold *cold, const struct usage_case *that,
                        const struct usage_time *time, bool meanwhile, GHashTable *seen,
                        struct cold_row *row)
{
    char **names = kernels_of(cold, that, time);
    row->unknown += names == NULL;
    for (; names != NULL && *names != NULL; names++) {
        const struct cold_kernel *kernel = g_hash_table_lookup(cold->kernels, *names);
        if (!g_hash_table_add(seen, *names)) {
            continue;
        }
        bool known = kernel != NULL && isfinite(kernel->seconds);
        double seconds = known ? kernel->seconds : 0;
        bool shipped = kernel != NULL && kernel->shipped;
        row->kernels++;
        row->timed += known;
        row->unknown += !known;
        row->missing += !shipped;
        row->bytes += kernel != NULL ? kernel->bytes : 0;
        *(meanwhile ? &row->later_seconds : &row->compile_seconds) += seconds;
        row->cached_seconds += meanwhile || shipped ? 0 : seconds;
    }
}

static void add_case(const struct cold *cold, const struct usage_case *that, int choice,
                     GHashTable *seen, struct cold_row *row)
{
    const struct picks picks = pick(that);
    if (picks.fastest == NULL) {
        return;
    }
    const struct usage_time *wanted = choice == CHOICE_STATIC ? picks.fixed : picks.dynamic;
    const struct usage_time *first = wanted != NULL ? wanted : picks.fastest;
    row->problems++;
    row->covered += wanted != NULL;
    row->first_ms += first->time_ms * that->weight;
    row->later_ms += (choice == CHOICE_MIXED ? picks.fastest : first)->time_ms * that->weight;
    add_kernels(cold, that, first, false, seen, row);
}

/* The kernels that mixed compiles while it runs: those of problems whose fastest config is not dynamic. */
static void add_meanwhile(const struct cold *cold, const struct usage_case *that, GHashTable *seen,
                          struct cold_row *row)
{
    const struct picks picks = pick(that);
    if (picks.fastest != NULL && picks.fastest == picks.fixed) {
        add_kernels(cold, that, picks.fixed, true, seen, row);
    }
}

static const struct table_column cold_columns[] = {
    {"network", "network", TABLE_TEXT, 0},
    {"target", "target", TABLE_TEXT, 0},
    {"source", "source", TABLE_TEXT, 0},
    {"choice", "choice", TABLE_TEXT, 0},
    {"problems", "problems", TABLE_INT, 0},
    {"covered", "covered", TABLE_INT, 0},
    {"kernels", "kernels", TABLE_INT, 0},
    {"unknown", "unknown", TABLE_INT, 0},
    {NULL, "bytes", TABLE_INT, 0},
    {"KiB", "kib", TABLE_NUMBER, -4},
    {"compile s", "compile_seconds", TABLE_NUMBER, -4},
    {"meanwhile s", "meanwhile_seconds", TABLE_NUMBER, -4},
    {"not shipped", "not_shipped", TABLE_INT, 0},
    {"shipped s", "shipped_compile_seconds", TABLE_NUMBER, -4},
    {"first ms", "first_ms", TABLE_NUMBER, -4},
    {"later ms", "later_ms", TABLE_NUMBER, -4},
};

static void add_row(const struct cold *cold, Table *table, const struct usage_case *that,
                    int choice, const struct cold_row *row)
{
    const struct usage_place *place = usage_place_at(cold->usage, that->place);
    bool timed = row->timed > 0 || row->kernels == 0;
    table_text(table, usage_network_name(cold->usage, that->network));
    table_text(table, place->target);
    table_text(table, place->source);
    table_text(table, choice_names[choice]);
    table_int(table, row->problems);
    table_int(table, row->covered);
    table_int(table, row->kernels);
    table_int(table, row->unknown);
    table_int(table, row->bytes);
    table_number(table, (double)row->bytes / 1024);
    table_number(table, timed ? row->compile_seconds : NAN);
    table_number(table, timed ? row->later_seconds : NAN);
    table_count(table, cold->any_cache ? row->missing : -1);
    table_number(table,
                 cold->any_cache && (timed || row->missing == 0) ? row->cached_seconds : NAN);
    table_number(table, row->first_ms);
    table_number(table, row->later_ms);
}

/* Adds the rows of the cases from `begin` to `end`, which are of one network at one place. */
static void add_rows(const struct cold *cold, Table *table, const GArray *cases, guint begin,
                     guint end)
{
    for (int choice = 0; choice < CHOICES; choice++) {
        g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
        struct cold_row row = {0};
        for (guint i = begin; i < end; i++) {
            add_case(cold, &g_array_index(cases, struct usage_case, i), choice, seen, &row);
        }
        for (guint i = begin; i < end && choice == CHOICE_MIXED; i++) {
            add_meanwhile(cold, &g_array_index(cases, struct usage_case, i), seen, &row);
        }
        add_row(cold, table, &g_array_index(cases, struct usage_case, begin), choice, &row);
    }
}

static Table *cold_table(const struct cold *cold, const struct table_column *columns)
{
    const GArray *cases = usage_cases(cold->usage);
    Table *table = table_new(columns, G_N_ELEMENTS(cold_columns));
    guint begin = 0;
    for (guint i = 1; i <= cases->len; i++) {
        const struct usage_case *first = &g_array_index(cases, struct usage_case, begin);
        const struct usage_case *that =
            i < cases->len ? &g_array_index(cases, struct usage_case, i) : NULL;
        if (that == NULL || that->network != first->network || that->place != first->place) {
            add_rows(cold, table, cases, begin, i);
            begin = i;
        }
    }
    return table;
}

bool usage_answer_cold(Usage *usage, Store *store, GHashTable *cache, json_t *json, FILE *out,
                       GError **error)
{
    struct cold cold = {
        usage,
        store,
        cache,
        cache != NULL,
        g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free),
        g_hash_table_new_full(g_str_hash, g_str_equal, g_free, (GDestroyNotify)g_strfreev)};
    struct table_column columns[G_N_ELEMENTS(cold_columns)];
    memcpy(columns, cold_columns, sizeof columns);
    columns[1].title = usage_targets_differ(usage) ? columns[1].title : NULL;
    columns[2].title = usage_sources_differ(usage) ? columns[2].title : NULL;
    bool known = look_up_all(&cold, error);
    if (known) {
        struct usage_answer answer = {
            .key = "cold",
            .title = "The first start of each network",
            .explained =
                "static: the fastest config that is not dynamic; dynamic: the fastest dynamic one; "
                "mixed: dynamic\nuntil the static kernels are compiled. covered: problems that have "
                "such a config, others run their\nfastest. compile s: distinct kernels, one after "
                "the other, before the first run; meanwhile s: while it\nruns. not shipped, shipped "
                "s: kernels that the kernel cache lacks, and what compiling them takes.\nfirst ms, "
                "later ms: the network's time at first and in the end; unknown: kernels without "
                "known seconds.",
            .table = cold_table(&cold, columns)};
        usage_show_answer(&answer, json, out);
    }
    g_hash_table_unref(cold.entries);
    g_hash_table_unref(cold.kernels);
    return known;
}
