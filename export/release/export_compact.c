#include "export/release/export_compact.h"

#include "export/formats/kernel_db.h"
#include "export/sjdb/sjdb_write.h"

#include <jansson.h>
#include <stdlib.h>

struct compact {
    const struct export_files *files;
    SjdbWriter *writer;
    GArray *entries;           /* struct sjdb_find_entry, of the line at hand */
    struct solution *solution; /* it is large */
    int problems, found, solved, kernels;
};

/* ---- problems ---- */

bool export_solve(const struct export_files *files, const struct problem *problem,
                  const struct planned_entry *entry, struct solution *solution, GError **error)
{
    struct perf_config config;
    struct context context;
    solution_init(solution);
    return solver_result_parse(entry->solver, problem, files->target, entry->params,
                               entry->workspace_bytes, &context, &config, error) &&
           solver_solve(entry->solver, problem, &context, &config, solution, error);
}

static bool add_solution(struct compact *compact, const struct problem *problem,
                         const struct planned_entry *entry, GError **error)
{
    struct solution *solution = compact->solution;
    struct sjdb_kernel_name kernels[SOLUTION_LAUNCHES_MAX];
    g_autoptr(GPtrArray) texts = g_ptr_array_new_with_free_func(g_free);
    if (!export_solve(compact->files, problem, entry, solution, error)) {
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
    return sjdb_writer_add_solution(compact->writer, problem, entry->solver->name, entry->params,
                                    solution, kernels, error);
}

static void add_entry(struct compact *compact, const struct problem *problem,
                      const struct planned_entry *entry)
{
    char algorithm[64];
    solver_algorithm(entry->solver, problem->direction, algorithm);
    const struct sjdb_find_entry found = {
        .solver = entry->solver->name,
        .algorithm = g_intern_string(algorithm), /* there are few of them */
        .time_ms = entry->time_ms,
        .workspace_bytes = entry->workspace_bytes,
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
                               solver->dynamic, solver->space != NULL);
        if (!add_solution(compact, &line->problem, entry, error)) {
            return false;
        }
        if (entry->is_taken) {
            add_entry(compact, &line->problem, entry);
        }
    }
    compact->problems++;
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

/* ---- the rest ---- */

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

/* Nothing of it changes from one export of the same results to the next: a campaign's number would. */
static void set_meta(const struct compact *compact)
{
    const struct export_wish *wish = compact->files->wish;
    json_t *meta = json_pack("{s:s}", "target", compact->files->target->id);
    if (wish->golden_target != NULL) {
        json_object_set_new(meta, "golden_version", json_integer(wish->golden_version));
    } else {
        json_object_set_new(meta, "campaign", json_string(compact->files->name));
    }
    json_object_set_new(meta, "problems", json_integer(compact->problems));
    json_object_set_new(meta, "entries", json_integer(compact->found));
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
    bool added = add_lines(&compact, error) && add_kernels(&compact, error);
    if (added) {
        set_meta(&compact);
    }
    g_array_unref(compact.entries);
    g_free(compact.solution);
    return added && sjdb_writer_finish(writer, error);
}
