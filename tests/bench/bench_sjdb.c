/*
 * .sjdb compared with the formats that ship today, on MIOpen's own files from SKIPJACK_DATA:
 * - bytes, compared with the bzip2 of the find-db and the perf-db;
 * - time and memory to open a file and look up the first problem, compared with parsing the text into a hash table.
 *   Files are in the page cache; memory is what the process gains;
 * - lookups by key in random order, warm, by one and by eight threads, compared with that hash table and with SQLite,
 *   as MIOpen ships it and with the index that its join lacks.
 */
#include "export/formats/find_db.h"
#include "export/formats/perf_db.h"
#include "export/sjdb/reader/skipjackdb.h"
#include "tests/support/temp_folder.h"

#include <glib/gstdio.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define THREADS      8
#define ROUNDS       5 /* the best of so many rounds counts, since others use this machine, too */
#define SEED         5
#define SQLITE_SLOW  300
#define SQLITE_FAST  20000
#define GOAL_FIND    1.0 /* of the bzip2 */
#define GOAL_PERF    0.6
#define GOAL_OPEN_US 1000.0
#define GOAL_OPEN_KB 2048.0
#define GOAL_LOOKUP  400.0 /* ns */

static bool all_met = true;

static double now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

/* Processor time of this thread in ns, on which other users of the machine, or more threads than
 * cores, have little influence. */
static double thread_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static const char *judge(bool met)
{
    all_met = all_met && met;
    return met ? "met" : "missed";
}

static double resident_kb(void)
{
    g_autofree char *text = NULL;
    long size = 0, resident = 0;
    bool read = g_file_get_contents("/proc/self/statm", &text, NULL, NULL) &&
                sscanf(text, "%ld %ld", &size, &resident) == 2;
    g_assert(read);
    return (double)resident * (double)sysconf(_SC_PAGESIZE) / 1024;
}

static double file_bytes(const char *path)
{
    GStatBuf status;
    return g_stat(path, &status) == 0 ? (double)status.st_size : 0;
}

static skipjackdb *open_db(const char *path)
{
    skipjackdb *db = NULL;
    int code = skipjackdb_open(path, &db);
    if (code != SKIPJACKDB_OK) {
        g_error("'%s': %s", path, skipjackdb_error_text(code));
    }
    return db;
}

/* ---- time and memory up to the first answer, each in its own process ---- */

static GHashTable *parse_text(const char *path)
{
    GHashTable *entries = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    struct line line;
    g_autoptr(LineReader) reader = line_reader_open(path, NULL);
    while (line_reader_next(reader, &line, NULL) == READ_ROW) {
        char *equals = strchr(line.text, '=');
        *equals = '\0';
        g_hash_table_insert(entries, g_strdup(line.text), g_strdup(equals + 1));
    }
    return entries;
}

/* Prints microseconds and KiB that one way needs up to its first answer. */
static int first_answer(const char *way, const char *path, const char *key)
{
    double before = resident_kb(), start = now_ns(), time = 0;
    if (strcmp(way, "--open") == 0) {
        struct skipjackdb_entry entry;
        uint64_t number = 0;
        skipjackdb *db = open_db(path);
        if (skipjackdb_find_key(db, key, &number) != SKIPJACKDB_OK ||
            skipjackdb_best(db, number, NULL, &entry, sizeof entry) != SKIPJACKDB_OK) {
            return 1;
        }
        time = now_ns() - start;
    } else {
        GHashTable *entries = parse_text(path);
        if (g_hash_table_lookup(entries, key) == NULL) {
            return 1;
        }
        time = now_ns() - start;
    }
    printf("%.0f %.0f\n", time / 1000, resident_kb() - before);
    return 0;
}

static void run_first(const char *program, const char *way, const char *path, const char *key,
                      double *us, double *kb)
{
    const char *const argv[] = {program, way, path, key, NULL};
    *us = *kb = G_MAXDOUBLE;
    for (int i = 0; i < ROUNDS; i++) {
        g_autofree char *text = NULL;
        double one_us = 0, one_kb = 0;
        bool ran = g_spawn_sync(NULL, (char **)argv, NULL, G_SPAWN_DEFAULT, NULL, NULL, &text, NULL,
                                NULL, NULL);
        if (!ran || sscanf(text, "%lf %lf", &one_us, &one_kb) != 2) {
            g_error("'%s %s' gave no answer", program, way);
        }
        *us = MIN(*us, one_us);
        *kb = MIN(*kb, one_kb);
    }
}

/* ---- lookups ---- */

struct peer {
    const char *name;
    int lookups; /* lookups of each thread in a round */
    /* begin() makes a thread's own state; look_up() does one lookup and returns a number. The
     * numbers are added up, so that the compiler cannot remove the lookups. */
    void *(*begin)(const void *source);
    double (*look_up)(void *held, int index);
    void (*end)(void *held);
    const void *source;
};

struct thread {
    const struct peer *peer;
    int first;
    double ns, sum;
};

static void *run_thread(void *data)
{
    struct thread *thread = data;
    void *held = thread->peer->begin(thread->peer->source);
    double start = thread_ns();
    for (int i = 0; i < thread->peer->lookups; i++) {
        thread->sum += thread->peer->look_up(held, thread->first + i);
    }
    thread->ns = thread_ns() - start;
    thread->peer->end(held);
    return NULL;
}

/* Processor time in ns of one lookup, with so many threads looking up at once. */
static double measure(const struct peer *peer, int threads)
{
    double best = G_MAXDOUBLE;
    for (int round = 0; round < ROUNDS; round++) {
        struct thread all[THREADS];
        GThread *running[THREADS];
        double ns = 0;
        for (int t = 0; t < threads; t++) {
            all[t] = (struct thread){peer, t * 7919, 0, 0};
            running[t] = g_thread_new("lookups", run_thread, &all[t]);
        }
        for (int t = 0; t < threads; t++) {
            g_thread_join(running[t]);
            ns += all[t].ns / peer->lookups / threads;
        }
        best = MIN(best, ns);
    }
    return best;
}

static double print_peer(const struct peer *peer, double ours)
{
    double one = measure(peer, 1), many = measure(peer, THREADS);
    printf("  %-44s %11.0f ns %11.0f ns", peer->name, one, many);
    if (ours > 0) {
        printf("  %8.1f times ours\n", one / ours);
    } else {
        printf("  goal %.0f ns: %s\n", GOAL_LOOKUP, judge(one <= GOAL_LOOKUP));
    }
    return one;
}

static void *hold(const void *source)
{
    return (void *)source;
}

static void let_go(void *held)
{
    (void)held;
}

static GPtrArray *keys; /* the find-db's keys, in random order */
static GArray *rows;    /* struct perf_row, in random order */

static double find_in_sjdb(void *held, int index)
{
    struct skipjackdb_entry entry = {0};
    uint64_t number = 0;
    skipjackdb_find_key(held, keys->pdata[(guint)index % keys->len], &number);
    skipjackdb_best(held, number, NULL, &entry, sizeof entry);
    return entry.time_ms;
}

static double find_in_hash(void *held, int index)
{
    const char *text = g_hash_table_lookup(held, keys->pdata[(guint)index % keys->len]);
    return text[0];
}

static double find_row_in_sjdb(void *held, int index)
{
    static struct skipjackdb_problem *problems;
    static gsize made;
    if (g_once_init_enter(&made)) {
        problems = g_new0(struct skipjackdb_problem, rows->len);
        for (guint i = 0; i < rows->len; i++) {
            struct problem problem;
            char key[PROBLEM_KEY_MAX];
            problems[i].size = sizeof problems[i];
            if (perf_row_to_problem(&g_array_index(rows, struct perf_row, i), &problem, NULL)) {
                skipjackdb_problem_parse(problem_key(&problem, key), &problems[i]);
            }
        }
        g_once_init_leave(&made, 1);
    }
    struct skipjackdb_perf_entry entries[16];
    uint64_t number = 0;
    size_t count = 0;
    skipjackdb_perf_find(held, &problems[(guint)index % rows->len], &number);
    skipjackdb_perf_entries(held, number, entries, sizeof entries[0], G_N_ELEMENTS(entries),
                            &count);
    return (double)count;
}

struct query {
    sqlite3 *db;
    sqlite3_stmt *statement;
};

/* Prepares the SELECT that MIOpen sends, with its join. */
static void *begin_query(const void *source)
{
    struct query *query = g_new0(struct query, 1);
    g_autofree char *list = perf_column_list();
    g_auto(GStrv) columns = g_strsplit(list, ",", -1);
    g_autofree char *where = g_strjoinv(" = ? AND ", columns);
    g_autofree char *sql =
        g_strdup_printf("SELECT solver, params FROM perf_db INNER JOIN config ON perf_db.config = "
                        "config.id WHERE %s = ?",
                        where);
    if (sqlite3_open_v2(source, &query->db, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK ||
        sqlite3_prepare_v2(query->db, sql, -1, &query->statement, NULL) != SQLITE_OK) {
        g_error("'%s': %s", (const char *)source, sqlite3_errmsg(query->db));
    }
    return query;
}

static double run_query(void *held, int index)
{
    struct query *query = held;
    const struct perf_row *row = &g_array_index(rows, struct perf_row, (guint)index % rows->len);
    const char *const texts[PERF_TEXTS] = {row->layout, row->data_type, row->direction};
    int found = 0;
    for (int i = 0; i < PERF_ROW_INTS; i++) {
        sqlite3_bind_int64(query->statement, i + 1, row->values[i]);
    }
    for (int i = 0; i < PERF_TEXTS; i++) {
        sqlite3_bind_text(query->statement, PERF_ROW_INTS + i + 1, texts[i], -1, SQLITE_STATIC);
    }
    while (sqlite3_step(query->statement) == SQLITE_ROW) {
        found++;
    }
    sqlite3_reset(query->statement);
    return found;
}

static void end_query(void *held)
{
    struct query *query = held;
    sqlite3_finalize(query->statement);
    sqlite3_close(query->db);
    g_free(query);
}

/* ---- the files ---- */

static void shuffle(void *items, guint count, gsize size)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(SEED);
    g_autofree char *spare = g_malloc(size);
    for (guint i = count; i > 1; i--) {
        char *one = (char *)items + (gsize)(i - 1) * size;
        char *other = (char *)items + (gsize)g_rand_int_range(random, 0, (gint32)i) * size;
        memcpy(spare, one, size);
        memcpy(one, other, size);
        memcpy(other, spare, size);
    }
}

/* Each key is copied to its own memory, since a real caller has just written the key that it asks
 * for. */
static void read_keys(GHashTable *entries)
{
    GHashTableIter iter;
    gpointer key;
    GStringChunk *texts = g_string_chunk_new(1 << 16);
    keys = g_ptr_array_new();
    g_hash_table_iter_init(&iter, entries);
    while (g_hash_table_iter_next(&iter, &key, NULL)) {
        g_ptr_array_add(keys, key);
    }
    shuffle(keys->pdata, keys->len, sizeof keys->pdata[0]);
    for (guint i = 0; i < keys->len; i++) {
        keys->pdata[i] = g_string_chunk_insert(texts, keys->pdata[i]);
    }
}

static void read_rows(const char *path)
{
    struct perf_row row;
    int64_t id = 0;
    g_autoptr(PerfDb) db = perf_db_open(path, NULL);
    rows = g_array_new(FALSE, FALSE, sizeof row);
    while (perf_db_next_config(db, &id, &row, NULL) == READ_ROW) {
        g_array_append_val(rows, row);
    }
    shuffle(rows->data, rows->len, sizeof row);
}

static void convert(const char *from, const char *to)
{
    const char *program = g_getenv("SKIPJACK");
    const char *const argv[] = {program != NULL ? program : "build/skipjack",
                                "merge",
                                "--zero",
                                "keep",
                                from,
                                "-o",
                                to,
                                NULL};
    g_autoptr(GError) error = NULL;
    if (!g_spawn_sync(NULL, (char **)argv, NULL,
                      G_SPAWN_STDOUT_TO_DEV_NULL | G_SPAWN_STDERR_TO_DEV_NULL, NULL, NULL, NULL,
                      NULL, NULL, &error)) {
        g_error("%s", error->message);
    }
    if (!g_file_test(to, G_FILE_TEST_EXISTS)) {
        g_error("skipjack merge made no '%s' of '%s'", to, from);
    }
}

/* Paths in the folder: the unpacked file, and the .sjdb made of it. */
struct files {
    char *packed;
    const char *plain, *sjdb;
};

static bool unpack(TempFolder *folder, const char *name, struct files *files)
{
    g_autofree char *ending = g_strconcat(name, ".bz2", NULL);
    g_autofree char *sjdb = g_strconcat(name, ".sjdb", NULL);
    const char *data = g_getenv("SKIPJACK_DATA");
    files->packed = g_build_filename(data != NULL ? data : "", "miopen", ending, NULL);
    files->plain = temp_folder_path(folder, name);
    files->sjdb = temp_folder_path(folder, sjdb);
    if (!g_file_test(files->packed, G_FILE_TEST_EXISTS)) {
        return false;
    }
    g_autofree char *command = g_strdup_printf("bzip2 -dc '%s' >'%s'", files->packed, files->plain);
    if (system(command) != 0) { /* NOLINT(bugprone-command-processor): paths of our own */
        g_error("cannot unpack '%s'", files->packed);
    }
    convert(files->plain, files->sjdb);
    return true;
}

static void print_size(const struct files *files, double goal)
{
    double bytes = file_bytes(files->sjdb), packed = file_bytes(files->packed);
    g_autofree char *name = g_path_get_basename(files->plain);
    printf("  %-28s %10.0f bytes  %10.0f bytes  %.2f times, goal %.1f: %s\n", name, packed, bytes,
           bytes / packed, goal, judge(bytes <= goal * packed));
}

static void bench_find(const char *program, const struct files *files)
{
    double us = 0, kb = 0;
    skipjackdb *db = open_db(files->sjdb);
    GHashTable *text = parse_text(files->plain);
    read_keys(text);
    printf("\nopen and first lookup, a process each\n");
    run_first(program, "--open", files->sjdb, keys->pdata[0], &us, &kb);
    printf("  %-28s %10.0f us  %10.0f KiB  goals %.0f us, %.0f KiB: %s\n", ".sjdb", us, kb,
           GOAL_OPEN_US, GOAL_OPEN_KB, judge(us <= GOAL_OPEN_US && kb <= GOAL_OPEN_KB));
    run_first(program, "--parse", files->plain, keys->pdata[0], &us, &kb);
    printf("  %-28s %10.0f us  %10.0f KiB\n", "text into a hash table", us, kb);
    const struct peer ours = {
        ".sjdb: key's text to best entry", (int)keys->len, hold, find_in_sjdb, let_go, db};
    const struct peer hash = {"hash table of the text: key to entries' text",
                              (int)keys->len,
                              hold,
                              find_in_hash,
                              let_go,
                              text};
    printf(
        "\nlookups, warm, random order: processor time, one thread, and each of %d on %u cores\n",
        THREADS, g_get_num_processors());
    print_peer(&hash, print_peer(&ours, 0));
    skipjackdb_close(db);
}

static void add_index(const char *path)
{
    sqlite3 *db = NULL;
    if (sqlite3_open(path, &db) != SQLITE_OK ||
        sqlite3_exec(db, "CREATE INDEX by_config ON perf_db(config)", NULL, NULL, NULL) !=
            SQLITE_OK) {
        g_error("'%s': %s", path, sqlite3_errmsg(db));
    }
    sqlite3_close(db);
}

static void bench_perf(TempFolder *folder, const struct files *files)
{
    const char *indexed = temp_folder_path(folder, "indexed.db");
    g_autoptr(GBytes) bytes = temp_folder_read(files->plain);
    temp_folder_write(folder, "indexed.db", g_bytes_get_data(bytes, NULL),
                      (gssize)g_bytes_get_size(bytes));
    add_index(indexed);
    read_rows(files->plain);
    skipjackdb *db = open_db(files->sjdb);
    const struct peer ours = {
        ".sjdb: perf row to params", (int)rows->len, hold, find_row_in_sjdb, let_go, db};
    const struct peer shipped = {"SQLite as shipped", SQLITE_SLOW, begin_query,
                                 run_query,           end_query,   files->plain};
    const struct peer index = {"SQLite with an index on perf_db(config)",
                               SQLITE_FAST,
                               begin_query,
                               run_query,
                               end_query,
                               indexed};
    double own = print_peer(&ours, 0);
    print_peer(&shipped, own);
    print_peer(&index, own);
    skipjackdb_close(db);
}

int main(int argc, char **argv)
{
    if (argc == 4) {
        return first_answer(argv[1], argv[2], argv[3]);
    }
    g_autoptr(TempFolder) folder = temp_folder_new();
    struct files find, perf, small_find, small_perf;
    if (!unpack(folder, "gfx1030_36.HIP.fdb.txt", &find) ||
        !unpack(folder, "gfx942130.HIP.fdb.txt", &small_find) ||
        !unpack(folder, "gfx942130.db", &perf) || !unpack(folder, "gfx1030_36.db", &small_perf)) {
        printf("SKIPJACK_DATA names no folder with MIOpen's files: nothing to measure with\n");
        return 0;
    }
    printf("size beside the bzip2\n");
    print_size(&find, GOAL_FIND);
    print_size(&small_find, GOAL_FIND);
    print_size(&perf, GOAL_PERF);
    print_size(&small_perf, GOAL_PERF);
    bench_find(argv[0], &find);
    bench_perf(folder, &perf);
    return all_met ? 0 : 1;
}
