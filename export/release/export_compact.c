#include "export/release/export_compact.h"

#include "export/formats/kernel_db.h"
#include "export/sjdb/reader/skipjackdb.h"
#include "export/sjdb/sjdb_write.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

struct compact {
    const struct export_files *files;
    SjdbWriter *writer;
    GArray *entries;           /* struct sjdb_find_entry: the entries of the current problem */
    struct solution *solution; /* a large struct, kept off the stack */
    int problems, found, solved, kernels;
    int finals; /* problems whose winner was measured a second time */
};

/* ---- writing problems and solutions ---- */

static bool solve(const struct export_files *files, const struct problem *problem,
                  const struct planned_entry *entry, struct solution *solution, GError **error)
{
    struct perf_config config;
    struct context context;
    solution_init(solution);
    return solver_result_parse(entry->solver, problem, files->target, entry->params,
                               entry->workspace_bytes, &context, &config, error) &&
           solver_solve(entry->solver, problem, &context, &config, solution, error);
}

/* Adds how the entry's solver computes the problem, as measured or as built. */
static bool add_solution(struct compact *compact, const struct problem *problem,
                         const struct planned_entry *entry, GError **error)
{
    struct solution *solution = compact->solution;
    struct sjdb_kernel_name kernels[SOLUTION_LAUNCHES_MAX];
    g_autoptr(GPtrArray) texts = g_ptr_array_new_with_free_func(g_free);
    if (!solve(compact->files, problem, entry, solution, error)) {
        return false;
    }
    for (int i = 0; i < solution->launch_count; i++) {
        const struct launch *launch = &solution->launches[i];
        char *name = kernel_db_name(launch->file);
        char *args = kernel_db_args(launch->options, compact->files->target->arch);
        g_ptr_array_add(texts, name);
        g_ptr_array_add(texts, args);
        kernels[i] = (struct sjdb_kernel_name){name, args};
    }
    compact->solved++;
    return compact->files->built_only
               ? sjdb_writer_add_unmeasured(compact->writer, problem, entry->solver->name,
                                            entry->params, solution, kernels, error)
               : sjdb_writer_add_solution(compact->writer, problem, entry->solver->name,
                                          entry->params, solution, kernels, error);
}

static void add_entry(struct compact *compact, const struct problem *problem,
                      const struct planned_entry *entry)
{
    char algorithm[64];
    solver_algorithm(entry->solver, problem->direction, algorithm);
    const struct sjdb_find_entry found = {
        .solver = entry->solver->name,
        /* interned, since only a few distinct texts exist */
        .algorithm = g_intern_string(algorithm),
        .time_ms = entry->time_ms,
        .workspace_bytes = entry->workspace_bytes,
        .low_ms = entry->low_ms,
        .high_ms = entry->high_ms,
    };
    g_array_append_val(compact->entries, found);
}

static bool add_line(struct compact *compact, const struct planned_line *line, GError **error)
{
    g_array_set_size(compact->entries, 0);
    for (guint i = 0; i < line->entries->len; i++) {
        const struct planned_entry *entry = &g_array_index(line->entries, struct planned_entry, i);
        const struct solver *solver = entry->solver;
        sjdb_writer_set_solver(compact->writer, solver->name, (unsigned)solver->revision,
                               sjdb_solver_flags(solver));
        if (!add_solution(compact, &line->problem, entry, error)) {
            return false;
        }
        if (entry->is_taken && !compact->files->built_only) {
            add_entry(compact, &line->problem, entry);
        }
    }
    compact->problems++;
    if (compact->files->built_only) {
        return true; /* an entry states a time */
    }
    compact->found += (int)compact->entries->len;
    return sjdb_writer_add_find(
        compact->writer, &line->problem,
        (const struct sjdb_find_entry *)(const void *)compact->entries->data, compact->entries->len,
        error);
}

static bool add_lines(struct compact *compact, GError **error)
{
    const struct export_files *files = compact->files;
    const struct planned_line *line = NULL;
    enum read_step step = READ_FAILED;
    g_autoptr(ExportLines) lines =
        export_lines_open(files->spool, SPOOL_OWN, files->wish->top, error);
    while (lines != NULL && (step = export_lines_next(lines, &line, error)) == READ_ROW) {
        if (!add_line(compact, line, error)) {
            return false;
        }
    }
    return step == READ_END;
}

/* ---- writing kernels and the JSON text ---- */

static bool add_kernels(struct compact *compact, GError **error)
{
    struct planned_kernel kernel;
    enum read_step step = READ_FAILED;
    g_autoptr(ExportKernels) kernels = export_kernels_open(compact->files->spool, SPOOL_OWN, error);
    while (kernels != NULL && (step = export_kernels_next(kernels, &kernel, error)) == READ_ROW) {
        g_autoptr(GBytes) code = export_get_code(compact->files->store, &kernel, error);
        if (code == NULL ||
            !sjdb_writer_add_kernel(compact->writer, kernel.name, kernel.args, code, error)) {
            return false;
        }
        compact->kernels++;
    }
    return step == READ_END;
}

/* Writes the JSON text from values that stay equal when the same results are exported again. It
 * therefore has no campaign id, which another database would number differently. */
static void set_meta(const struct compact *compact)
{
    const struct export_wish *wish = compact->files->wish;
    json_t *meta = json_pack("{s:s}", "target", compact->files->target->id);
    if (wish->golden_target != NULL) {
        json_object_set_new(meta, "golden_version", json_integer(wish->golden_version));
    } else {
        json_object_set_new(meta, "campaign", json_string(compact->files->name));
    }
    if (compact->files->built_only) {
        json_object_set_new(meta, "build_only", json_true());
    }
    json_object_set_new(meta, "problems", json_integer(compact->problems));
    if (!compact->files->built_only) {
        json_object_set_new(meta, "entries", json_integer(compact->found));
        json_object_set_new(meta, "second_measurements", json_integer(compact->finals));
    }
    json_object_set_new(meta, "solutions", json_integer(compact->solved));
    json_object_set_new(meta, "kernels", json_integer(compact->kernels));
    char *text = json_dumps(meta, JSON_COMPACT);
    sjdb_writer_set_meta(compact->writer, text);
    free(text);
    json_decref(meta);
}

bool export_compact_write(const struct export_files *files, const char *path, GError **error)
{
    g_autoptr(SjdbWriter) writer = sjdb_writer_new(path);
    struct compact compact = {
        .files = files,
        .writer = writer,
        .entries = g_array_new(FALSE, FALSE, sizeof(struct sjdb_find_entry)),
        .solution = g_new(struct solution, 1),
    };
    bool added = add_lines(&compact, error) && add_kernels(&compact, error) &&
                 export_spool_count(files->spool,
                                    "SELECT count(DISTINCT line) FROM candidates"
                                    " WHERE place = 0 AND low_ms IS NOT NULL AND files & ?",
                                    SPOOL_OWN, &compact.finals, error);
    if (added) {
        set_meta(&compact);
    }
    g_array_unref(compact.entries);
    g_free(compact.solution);
    return added && sjdb_writer_finish(writer, error);
}

/* ---- reading the file back ---- */

/* most entries or solutions read for one problem; no problem has this many solvers */
#define ANSWERS_MAX 64
/* kernel names that are cached: neighbouring solutions use the same kernels */
#define TEXTS_MAX   4096

struct reading {
    const struct export_files *files;
    skipjackdb *db;
    struct solution *solution;
    GHashTable *kernels; /* kernel's number -> its name and args, each with its NUL */
    struct skipjackdb_entry entries[ANSWERS_MAX];
    struct skipjackdb_solution solutions[ANSWERS_MAX];
    struct skipjackdb_arg args[LAUNCH_ARGS_MAX];
    uint64_t numbers; /* of problems with solutions, those with two counted twice */
};

/* ---- comparing solutions with the plan ---- */

/* Returns a kernel's name and, behind its NUL, its args; "" if the file cannot be read. Valid until
 * the next call. */
static const char *kernel_text(struct reading *reading, uint64_t number)
{
    struct skipjackdb_kernel kernel = {.size = sizeof kernel};
    char *text = g_hash_table_lookup(reading->kernels, GSIZE_TO_POINTER(number));
    if (text != NULL) {
        return text;
    }
    if (g_hash_table_size(reading->kernels) >= TEXTS_MAX) {
        g_hash_table_remove_all(reading->kernels);
    }
    int code = skipjackdb_kernel_at(reading->db, number, &kernel);
    text = g_malloc0(code == SKIPJACKDB_OK ? kernel.text_bytes + 2 : 2);
    if (code == SKIPJACKDB_OK) {
        skipjackdb_kernel_read(reading->db, number, text, kernel.text_bytes, NULL, 0);
    }
    g_hash_table_insert(reading->kernels, GSIZE_TO_POINTER(number), text);
    return text;
}

static bool same_name(struct reading *reading, uint64_t number, const struct launch *launch)
{
    g_autofree char *name = kernel_db_name(launch->file);
    g_autofree char *args = kernel_db_args(launch->options, reading->files->target->arch);
    const char *text = kernel_text(reading, number);
    return strcmp(text, name) == 0 && strcmp(text + strlen(text) + 1, args) == 0;
}

static bool same_arg(const struct skipjackdb_arg *read, const struct launch_arg *meant)
{
    switch (meant->kind) {
    case ARG_TENSOR:
        return read->kind == SKIPJACKDB_ARG_TENSOR && read->tensor == (int32_t)meant->tensor;
    case ARG_WORKSPACE:
        return read->kind == SKIPJACKDB_ARG_WORKSPACE && read->value == meant->value;
    case ARG_INT32: return read->kind == SKIPJACKDB_ARG_INT32 && read->value == meant->value;
    case ARG_INT64: return read->kind == SKIPJACKDB_ARG_INT64 && read->value == meant->value;
    case ARG_FLOAT32:
        return read->kind == SKIPJACKDB_ARG_FLOAT32 && read->real == (float)meant->real;
    case ARG_STRIDE:
        return read->kind == SKIPJACKDB_ARG_STRIDE && read->tensor == (int32_t)meant->tensor &&
               read->axis == (int32_t)meant->value && read->factor == meant->factor;
    }
    return false;
}

static bool same_launch(struct reading *reading, const struct skipjackdb_launch *read,
                        const struct launch *meant)
{
    bool same = strcmp(read->entry, meant->entry) == 0 &&
                read->arg_count == (uint32_t)meant->arg_count &&
                read->local_bytes == (uint64_t)meant->local_bytes &&
                memcmp(read->grid, meant->grid, sizeof read->grid) == 0 &&
                memcmp(read->block, meant->block, sizeof read->block) == 0 &&
                same_name(reading, read->kernel, meant) &&
                skipjackdb_args(reading->db, read, NULL, reading->args, sizeof reading->args[0],
                                LAUNCH_ARGS_MAX) == SKIPJACKDB_OK;
    for (int i = 0; same && i < meant->arg_count; i++) {
        same = same_arg(&reading->args[i], &meant->args[i]);
    }
    return same;
}

static bool same_solution(struct reading *reading, const struct skipjackdb_solution *read,
                          const struct problem *problem, const struct planned_entry *entry)
{
    struct skipjackdb_launch launch = {.size = sizeof launch};
    const struct solution *meant = reading->solution;
    if (strcmp(read->params, entry->params) != 0 ||
        !solve(reading->files, problem, entry, reading->solution, NULL) ||
        read->workspace_bytes != meant->workspace_bytes ||
        read->packed_bytes != meant->packed_bytes ||
        read->pack_count != (uint32_t)meant->pack_count ||
        read->launch_count != (uint32_t)meant->launch_count) {
        return false;
    }
    for (int i = 0; i < meant->launch_count; i++) {
        if (skipjackdb_launch_at(reading->db, read, (uint32_t)i, &launch) != SKIPJACKDB_OK ||
            !same_launch(reading, &launch, &meant->launches[i])) {
            return false;
        }
    }
    return true;
}

/* Reads all solutions of the problem, also those under its second number, into reading->solutions. */
static bool read_solutions(struct reading *reading, const char *key, size_t *count)
{
    struct skipjackdb_problem problem = {.size = sizeof problem};
    uint64_t number = 0;
    size_t more = 0;
    if (skipjackdb_problem_parse(key, &problem) != SKIPJACKDB_OK ||
        skipjackdb_solved_find(reading->db, &problem, &number) != SKIPJACKDB_OK ||
        skipjackdb_solutions(reading->db, number, reading->solutions, sizeof reading->solutions[0],
                             ANSWERS_MAX, count) != SKIPJACKDB_OK ||
        *count > ANSWERS_MAX) {
        return false;
    }
    reading->numbers++;
    int code = skipjackdb_solved_other(reading->db, &problem, &number);
    if (code == SKIPJACKDB_OK) {
        code = skipjackdb_solutions(reading->db, number, reading->solutions + *count,
                                    sizeof reading->solutions[0], ANSWERS_MAX - *count, &more);
        *count += more;
        reading->numbers++;
    }
    return (code == SKIPJACKDB_OK || code == SKIPJACKDB_NOT_FOUND) && *count <= ANSWERS_MAX;
}

static bool same_solutions(struct reading *reading, const struct planned_line *line)
{
    size_t count = 0;
    if (!read_solutions(reading, line->key->str, &count) || count != line->entries->len) {
        return false;
    }
    for (guint i = 0; i < line->entries->len; i++) {
        const struct planned_entry *entry = &g_array_index(line->entries, struct planned_entry, i);
        size_t at = 0;
        while (at < count && strcmp(reading->solutions[at].solver, entry->solver->name) != 0) {
            at++;
        }
        if (at == count ||
            !same_solution(reading, &reading->solutions[at], &line->problem, entry)) {
            return false;
        }
    }
    return true;
}

/* Compares the problem's never-measured solutions with the plan, which has them in the same order. */
static bool same_unmeasured(struct reading *reading, const struct planned_line *line)
{
    struct skipjackdb_problem problem = {.size = sizeof problem};
    uint64_t number = 0;
    size_t count = 0;
    if (skipjackdb_problem_parse(line->key->str, &problem) != SKIPJACKDB_OK ||
        skipjackdb_unmeasured_find(reading->db, &problem, &number) != SKIPJACKDB_OK) {
        return false;
    }
    g_autofree struct skipjackdb_solution *held =
        g_new(struct skipjackdb_solution, line->entries->len);
    bool same = skipjackdb_unmeasured_solutions(reading->db, number, held, sizeof *held,
                                                line->entries->len, &count) == SKIPJACKDB_OK &&
                count == line->entries->len;
    for (guint i = 0; same && i < line->entries->len; i++) {
        const struct planned_entry *entry = &g_array_index(line->entries, struct planned_entry, i);
        same = strcmp(held[i].solver, entry->solver->name) == 0 &&
               held[i].revision == (uint32_t)entry->solver->revision &&
               same_solution(reading, &held[i], &line->problem, entry);
    }
    return same;
}

/* ---- comparing entries with the plan ---- */

static bool same_entry(const struct skipjackdb_entry *read, const struct planned_entry *meant,
                       enum direction direction)
{
    char algorithm[64];
    solver_algorithm(meant->solver, direction, algorithm);
    return strcmp(read->solver, meant->solver->name) == 0 &&
           strcmp(read->algorithm, algorithm) == 0 && read->time_ms == meant->time_ms &&
           read->low_ms == meant->low_ms && read->high_ms == meant->high_ms &&
           read->workspace_bytes == meant->workspace_bytes &&
           read->revision == (uint32_t)meant->solver->revision;
}

static bool same_entries(struct reading *reading, const struct planned_line *line)
{
    uint64_t number = 0;
    size_t count = 0, at = 0;
    if (skipjackdb_find_key(reading->db, line->key->str, &number) != SKIPJACKDB_OK ||
        skipjackdb_entries(reading->db, number, reading->entries, sizeof reading->entries[0],
                           ANSWERS_MAX, &count) != SKIPJACKDB_OK) {
        return false;
    }
    for (guint i = 0; i < line->entries->len; i++) {
        const struct planned_entry *entry = &g_array_index(line->entries, struct planned_entry, i);
        if (!entry->is_taken) {
            continue;
        }
        if (at >= MIN(count, ANSWERS_MAX) ||
            !same_entry(&reading->entries[at], entry, line->problem.direction)) {
            return false;
        }
        at++;
    }
    return at == count;
}

/* ---- comparing the whole file ---- */

static bool differs(const char *path, const char *what, const char *which, GError **error)
{
    g_autofree char *name = g_path_get_basename(path);
    g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_CHECK,
                "'%s' does not read back as it was written: %s '%s' differs", name, what, which);
    return false;
}

static bool verify_lines(struct reading *reading, const char *path, GError **error)
{
    const struct planned_line *line = NULL;
    enum read_step step = READ_FAILED;
    uint64_t count = 0;
    bool built_only = reading->files->built_only;
    g_autoptr(ExportLines) lines =
        export_lines_open(reading->files->spool, SPOOL_OWN, reading->files->wish->top, error);
    while (lines != NULL && (step = export_lines_next(lines, &line, error)) == READ_ROW) {
        if (built_only ? !same_unmeasured(reading, line)
                       : !same_entries(reading, line) || !same_solutions(reading, line)) {
            return differs(path, "problem", line->key->str, error);
        }
        count++;
    }
    const uint64_t held[] = {skipjackdb_problem_count(reading->db),
                             skipjackdb_solved_count(reading->db),
                             skipjackdb_unmeasured(reading->db, sizeof(struct skipjackdb_problem))};
    const uint64_t meant[] = {built_only ? 0 : count, reading->numbers, built_only ? count : 0};
    return step == READ_END && (memcmp(held, meant, sizeof held) == 0 ||
                                differs(path, "the number of", "problems", error));
}

static bool same_code(const skipjackdb *db, const struct planned_kernel *kernel)
{
    size_t bytes = 0;
    int code = skipjackdb_kernel(db, kernel->name, kernel->args, NULL, 0, &bytes);
    if (code != SKIPJACKDB_OK && code != SKIPJACKDB_SPACE) {
        return false;
    }
    g_autofree guchar *room = g_malloc(bytes + 1);
    if (skipjackdb_kernel(db, kernel->name, kernel->args, room, bytes, &bytes) != SKIPJACKDB_OK) {
        return false;
    }
    g_autofree char *sha256 = g_compute_checksum_for_data(G_CHECKSUM_SHA256, room, bytes);
    return strcmp(sha256, kernel->sha256) == 0;
}

static bool verify_kernels(struct reading *reading, const char *path, GError **error)
{
    struct planned_kernel kernel;
    enum read_step step = READ_FAILED;
    uint64_t count = 0;
    g_autoptr(ExportKernels) kernels = export_kernels_open(reading->files->spool, SPOOL_OWN, error);
    while (kernels != NULL && (step = export_kernels_next(kernels, &kernel, error)) == READ_ROW) {
        if (!same_code(reading->db, &kernel)) {
            return differs(path, "kernel", kernel.name, error);
        }
        count++;
    }
    return step == READ_END && (skipjackdb_kernel_count(reading->db) == count ||
                                differs(path, "the number of", "kernels", error));
}

bool export_compact_verify(const struct export_files *files, const char *path, GError **error)
{
    g_autofree struct reading *reading = g_new0(struct reading, 1);
    reading->files = files;
    int code = skipjackdb_open(path, &reading->db);
    if (code != SKIPJACKDB_OK) {
        g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_CHECK, "'%s' cannot be read back: %s", path,
                    code == SKIPJACKDB_IO ? g_strerror(errno) : skipjackdb_error_text(code));
        return false;
    }
    reading->solution = g_new(struct solution, 1);
    reading->kernels = g_hash_table_new_full(NULL, NULL, NULL, g_free);
    bool same = verify_lines(reading, path, error) && verify_kernels(reading, path, error);
    skipjackdb_close(reading->db);
    g_hash_table_unref(reading->kernels);
    g_free(reading->solution);
    return same;
}
