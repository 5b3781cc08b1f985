/*
 * .sjdb among what is merged: its find entries become lines of a find-db, its
 * params rows of a perf-db, its kernels those of a kernel-db, and what was chosen
 * of all goes into one file. What it knows of solvers beside their names goes with
 * them, and how they run with the entries that are kept.
 */
#include "export/merge/merge_parts.h"

#include "export/sjdb/reader/skipjackdb.h"
#include "export/sjdb/sjdb_meta.h"
#include "export/sjdb/sjdb_write.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define ENTRIES_MAX 1000 /* of a problem, that the format holds */

struct merge_solver {
    unsigned revision;
    bool dynamic, tunable;
};

static bool failed(const char *path, int code, GError **error)
{
    g_set_error(error, EXPORT_ERROR, code == SKIPJACKDB_IO ? EXPORT_ERROR_IO : EXPORT_ERROR_DAMAGED,
                "cannot read '%s': %s", path,
                code == SKIPJACKDB_IO ? g_strerror(errno) : skipjackdb_error_text(code));
    return false;
}

/* ---- reading ---- */

struct sjdb_reading {
    struct merge *merge;
    guint input;
    skipjackdb *db;
    struct skipjackdb_entry entries[ENTRIES_MAX];
    struct skipjackdb_perf_entry configs[ENTRIES_MAX];
    struct skipjackdb_solution solutions[ENTRIES_MAX];
};

/* Of two files' words on a solver those of the newest stay where that is asked for, else the
 * first's. */
static void note_solver(struct merge *merge, const char *name, uint32_t revision, uint32_t flags)
{
    bool known = g_hash_table_contains(merge->solvers, name);
    if ((flags & SKIPJACKDB_FLAGS_KNOWN) == 0 ||
        (known && merge->options->prefer != MERGE_NEWEST)) {
        return;
    }
    const struct merge_solver solver = {revision, (flags & SKIPJACKDB_DYNAMIC) != 0,
                                        (flags & SKIPJACKDB_TUNABLE) != 0};
    g_hash_table_insert(merge->solvers, g_strdup(name), g_memdup2(&solver, sizeof solver));
}

/* The shortest text that is read as the same time. */
static void append_time(GString *text, double time_ms)
{
    char buffer[G_ASCII_DTOSTR_BUF_SIZE];
    for (int digits = 6; digits <= 17; digits++) {
        char format[8];
        g_snprintf(format, sizeof format, "%%.%dg", digits);
        g_ascii_formatd(buffer, sizeof buffer, format, time_ms);
        if (g_ascii_strtod(buffer, NULL) == time_ms) {
            break;
        }
    }
    g_string_append(text, buffer);
}

/* With a library it is the older form's, whose cache key the format does not keep. */
static void append_entry(GString *text, const struct skipjackdb_entry *entry)
{
    bool older = entry->library[0] != '\0';
    g_string_append(text, older ? entry->algorithm : entry->solver);
    g_string_append_c(text, ':');
    if (older) {
        g_string_append(text, entry->solver);
        g_string_append_c(text, ',');
    }
    append_time(text, entry->time_ms);
    g_string_append_printf(text, ",%" G_GUINT64_FORMAT ",%s%s%s", entry->workspace_bytes,
                           older ? entry->library : entry->algorithm, older ? "," : "", "");
}

static int read_problem(struct sjdb_reading *reading, uint64_t number, GString *text)
{
    char key[SKIPJACKDB_KEY_MAX];
    struct skipjackdb_problem problem = {.size = sizeof problem};
    size_t count = 0;
    int code = skipjackdb_problem_at(reading->db, number, &problem);
    if (code == SKIPJACKDB_OK) {
        code = skipjackdb_problem_key(&problem, key, sizeof key);
    }
    if (code == SKIPJACKDB_OK) {
        code = skipjackdb_entries(reading->db, number, reading->entries, sizeof reading->entries[0],
                                  ENTRIES_MAX, &count);
    }
    for (size_t i = 0; code == SKIPJACKDB_OK && i < MIN(count, ENTRIES_MAX); i++) {
        const struct skipjackdb_entry *entry = &reading->entries[i];
        note_solver(reading->merge, entry->solver, entry->revision, entry->flags);
        g_string_append(text, i == 0 ? key : "");
        g_string_append_c(text, i == 0 ? '=' : ';');
        append_entry(text, entry);
    }
    g_string_append_c(text, '\n');
    return code;
}

static int read_config(struct sjdb_reading *reading, uint64_t number)
{
    char key[SKIPJACKDB_KEY_MAX];
    struct skipjackdb_problem problem = {.size = sizeof problem};
    struct problem ours;
    struct perf_row row;
    size_t count = 0;
    g_autoptr(GError) error = NULL;
    int code = skipjackdb_perf_at(reading->db, number, &problem);
    if (code == SKIPJACKDB_OK) {
        code = skipjackdb_problem_key(&problem, key, sizeof key);
    }
    if (code == SKIPJACKDB_OK) {
        code = skipjackdb_perf_entries(reading->db, number, reading->configs,
                                       sizeof reading->configs[0], ENTRIES_MAX, &count);
    }
    if (code == SKIPJACKDB_OK && !problem_key_parse(key, &ours, &error)) {
        merge_left_out(reading->merge, reading->input, "row", (int64_t)number, "%s",
                       error->message);
        return code;
    }
    for (size_t i = 0; code == SKIPJACKDB_OK && i < MIN(count, ENTRIES_MAX); i++) {
        const struct skipjackdb_perf_entry *entry = &reading->configs[i];
        struct perf_item item = {.input = reading->input, .noun = "row", .number = (int64_t)number};
        note_solver(reading->merge, entry->solver, entry->revision, entry->flags);
        perf_row_from_problem(&ours, &row);
        merge_perfs_add(reading->merge, &item, &row, entry->solver, entry->params);
    }
    merge_input(reading->merge, reading->input)->keys++;
    return code;
}

static bool perf_db_is_wanted(const struct merge *merge)
{
    return merge->report->kind == FILE_PERF_DB || merge->report->kind == FILE_PERF_TEXT;
}

/* Where a perf-db is written, a problem's own params become those of its row. */
static int read_solved(struct sjdb_reading *reading, uint64_t number)
{
    char key[SKIPJACKDB_KEY_MAX];
    struct skipjackdb_problem problem = {.size = sizeof problem};
    struct problem ours;
    struct perf_row row;
    size_t count = 0;
    g_autoptr(GError) error = NULL;
    int code = skipjackdb_solved_at(reading->db, number, &problem);
    if (code == SKIPJACKDB_OK) {
        code = skipjackdb_problem_key(&problem, key, sizeof key);
    }
    if (code == SKIPJACKDB_OK) {
        code = skipjackdb_solutions(reading->db, number, reading->solutions,
                                    sizeof reading->solutions[0], ENTRIES_MAX, &count);
    }
    /* A row says nothing of an epilogue: it is the plain convolution's. */
    bool has_row = perf_db_is_wanted(reading->merge) && problem.epilogue[0] == '\0' &&
                   problem_key_parse(key, &ours, &error);
    for (size_t i = 0; code == SKIPJACKDB_OK && i < MIN(count, ENTRIES_MAX); i++) {
        const struct skipjackdb_solution *solution = &reading->solutions[i];
        struct perf_item item = {
            .input = reading->input, .noun = "solved problem", .number = (int64_t)number};
        note_solver(reading->merge, solution->solver, solution->revision, solution->flags);
        if (has_row && solution->params[0] != '\0') {
            perf_row_from_problem(&ours, &row);
            merge_perfs_add(reading->merge, &item, &row, solution->solver, solution->params);
        }
    }
    return code;
}

static int read_all(struct sjdb_reading *reading)
{
    GString *text = g_string_new(NULL);
    int code = skipjackdb_verify(reading->db);
    uint64_t problems = skipjackdb_problem_count(reading->db);
    uint64_t rows = skipjackdb_perf_count(reading->db);
    uint64_t solved = skipjackdb_solved_count(reading->db);
    for (uint64_t i = 0; code == SKIPJACKDB_OK && i < problems; i++) {
        code = read_problem(reading, i, text);
    }
    for (uint64_t i = 0; code == SKIPJACKDB_OK && i < rows; i++) {
        code = read_config(reading, i);
    }
    for (uint64_t i = 0; code == SKIPJACKDB_OK && i < solved; i++) {
        code = read_solved(reading, i);
    }
    merge_finds_add(reading->merge, reading->input, text);
    if (code == SKIPJACKDB_OK) {
        code = merge_solutions_add(reading->merge, reading->input, reading->db);
    }
    if (code == SKIPJACKDB_OK) {
        code = merge_kernels_add(reading->merge, reading->input, g_steal_pointer(&reading->db));
    }
    return code;
}

static void note_meta(const struct sjdb_reading *reading)
{
    struct sjdb_meta meta;
    struct merge_input *input = merge_input(reading->merge, reading->input);
    sjdb_meta_read(reading->db, &meta);
    input->content = meta.target;
    if (!file_targets_fit(&input->named, &meta.target) && input->others++ == 0) {
        input->other =
            g_strdup_printf("it says that it is of %s, not %s", file_target_text(&meta.target),
                            file_target_text(&input->named));
    }
    sjdb_meta_clear(&meta);
}

bool merge_sjdb_read(struct merge *merge, guint input, GError **error)
{
    const char *path = merge_input(merge, input)->path;
    struct sjdb_reading *reading = g_new0(struct sjdb_reading, 1);
    reading->merge = merge;
    reading->input = input;
    int code = skipjackdb_open(path, &reading->db);
    if (code == SKIPJACKDB_OK) {
        note_meta(reading);
        code = read_all(reading);
    }
    bool done = code == SKIPJACKDB_OK || failed(path, code, error);
    skipjackdb_close(reading->db);
    g_free(reading);
    return done;
}

/* ---- writing ---- */

struct sjdb_writing {
    struct merge *merge;
    SjdbWriter *writer;
    GPtrArray *texts; /* of the key at hand */
    GArray *entries;  /* struct sjdb_find_entry */
    int64_t problems, rows, kernels, solutions;
};

static const char *text_of(struct sjdb_writing *writing, struct span span)
{
    char *text = g_strndup(span.at != NULL ? span.at : "", span.length);
    g_ptr_array_add(writing->texts, text);
    return text;
}

static bool write_find(void *data, const struct merged_find *merged, GError **error)
{
    struct sjdb_writing *writing = data;
    struct merge_report *report = writing->merge->report;
    struct problem problem;
    g_ptr_array_set_size(writing->texts, 0);
    g_array_set_size(writing->entries, 0);
    for (guint i = 0; i < merged->count; i++) {
        const struct find_part *part = &merged->choices[i]->part;
        const struct sjdb_find_entry entry = {
            .solver = text_of(writing, part->solver),
            .algorithm = text_of(writing, part->algorithm),
            .library = text_of(writing, part->library),
            .time_ms = part->time_ms,
            .workspace_bytes = part->workspace_bytes,
        };
        g_array_append_val(writing->entries, entry);
        report->losses[LOSS_CACHE_KEY_ALONE] += part->cache_key.length > 0;
    }
    writing->problems++;
    report->keys++;
    report->entries += merged->count;
    if (!problem_key_parse(text_of(writing, merged->key), &problem, error) ||
        !sjdb_writer_add_find(writing->writer, &problem,
                              (const struct sjdb_find_entry *)(void *)writing->entries->data,
                              writing->entries->len, error)) {
        return false;
    }
    writing->solutions += merge_solutions_keep(writing->merge, writing->writer, merged, &problem);
    return true;
}

/* A row that its problem does not give back has no place: lookups ask by problem. */
static void write_configs(struct sjdb_writing *writing)
{
    struct merge_report *report = writing->merge->report;
    const struct perf_record *last = NULL;
    g_autoptr(GPtrArray) records = merge_perfs_choose(writing->merge);
    for (guint i = 0; i < records->len; i++) {
        const struct perf_record *record = records->pdata[i];
        if (!sjdb_writer_add_perf(writing->writer, &record->row, record->solver, record->params,
                                  NULL)) {
            report->losses[LOSS_ROW]++;
            continue;
        }
        bool next = last == NULL || !perf_row_equal(&last->row, &record->row);
        last = record;
        writing->rows += next;
        report->keys += next;
        report->entries++;
    }
}

static bool write_kernels(struct sjdb_writing *writing, GError **error)
{
    g_autoptr(GPtrArray) kernels = merge_kernels_choose(writing->merge);
    for (guint i = 0; i < kernels->len; i++) {
        const struct kernel_item *item = kernels->pdata[i];
        g_autoptr(GBytes) code = merge_kernel_code(writing->merge, item, error);
        if (code == NULL ||
            !sjdb_writer_add_kernel(writing->writer, item->name, item->args, code, error)) {
            return false;
        }
    }
    writing->kernels = kernels->len;
    writing->merge->report->keys += kernels->len;
    writing->merge->report->entries += kernels->len;
    return true;
}

static void set_solvers(const struct sjdb_writing *writing)
{
    GHashTableIter iter;
    gpointer name, data;
    g_hash_table_iter_init(&iter, writing->merge->solvers);
    while (g_hash_table_iter_next(&iter, &name, &data)) {
        const struct merge_solver *solver = data;
        sjdb_writer_set_solver(writing->writer, name, solver->revision, solver->dynamic,
                               solver->tunable);
    }
}

/* Where the inputs' texts are not one, the target is all that is known. */
static void set_meta(const struct merge *merge, SjdbWriter *writer)
{
    const char *meta = merge_solutions_meta(merge);
    const struct file_target *target = &merge->report->target;
    g_autofree char *made =
        target->known == TARGET_WHOLE ? sjdb_meta_of_target(target->target.id) : NULL;
    if (meta != NULL || made != NULL) {
        sjdb_writer_set_meta(writer, meta != NULL ? meta : made);
    }
}

/* Solutions of all problems. */
static int count_solutions(const skipjackdb *db, int64_t *all)
{
    int code = SKIPJACKDB_OK;
    uint64_t problems = skipjackdb_solved_count(db);
    *all = 0;
    for (uint64_t i = 0; code == SKIPJACKDB_OK && i < problems; i++) {
        size_t count = 0;
        code = skipjackdb_solutions(db, i, NULL, sizeof(struct skipjackdb_solution), 0, &count);
        *all += (int64_t)count;
    }
    return code;
}

static bool read_back(const struct sjdb_writing *writing, const char *path, GError **error)
{
    skipjackdb *db = NULL;
    int64_t solutions = 0;
    int code = skipjackdb_open(path, &db);
    if (code == SKIPJACKDB_OK) {
        code = skipjackdb_verify(db);
    }
    if (code == SKIPJACKDB_OK) {
        code = count_solutions(db, &solutions);
    }
    if (code != SKIPJACKDB_OK) {
        skipjackdb_close(db);
        return failed(path, code, error);
    }
    bool same = skipjackdb_problem_count(db) == (uint64_t)writing->problems &&
                skipjackdb_perf_count(db) == (uint64_t)writing->rows &&
                skipjackdb_kernel_count(db) == (uint64_t)writing->kernels &&
                solutions == writing->solutions;
    writing->merge->report->keys += (int64_t)skipjackdb_solved_count(db);
    writing->merge->report->entries += solutions;
    skipjackdb_close(db);
    if (!same) {
        g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_CHECK,
                    "what was written does not read back: it holds other problems");
    }
    return same;
}

bool merge_sjdb_write(struct merge *merge, const char *path, GError **error)
{
    g_autoptr(SjdbWriter) writer = sjdb_writer_new(path);
    struct sjdb_writing writing = {.merge = merge, .writer = writer};
    writing.texts = g_ptr_array_new_with_free_func(g_free);
    writing.entries = g_array_new(FALSE, FALSE, sizeof(struct sjdb_find_entry));
    bool done = merge_finds_run(merge, write_find, &writing, error);
    g_ptr_array_unref(writing.texts);
    g_array_unref(writing.entries);
    if (!done) {
        return false;
    }
    writing.solutions += merge_solutions_keep_rest(merge, writer);
    write_configs(&writing);
    set_solvers(&writing);
    set_meta(merge, writer);
    return write_kernels(&writing, error) && sjdb_writer_finish(writer, error) &&
           read_back(&writing, path, error);
}
