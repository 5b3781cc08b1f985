#include "export/check.h"

#include "export/formats/find_scan.h"
#include "export/reader/skipjackdb.h"
#include "solvers/solver.h"

#include <errno.h>
#include <string.h>

#define ENTRIES_MAX 1000 /* of a problem, that the format holds */

static void cannot_read(struct check_report *report, int code)
{
    const char *reason = code == SKIPJACKDB_IO ? g_strerror(errno) : skipjackdb_error_text(code);
    check_unreadable(report, g_error_new_literal(EXPORT_ERROR, EXPORT_ERROR_DAMAGED, reason),
                     "file");
}

static void check_entry(struct check_report *report, uint64_t number,
                        const struct skipjackdb_entry *entries, size_t index)
{
    const struct skipjackdb_entry *entry = &entries[index];
    const struct span algorithm = {entry->algorithm, strlen(entry->algorithm)};
    const struct {
        bool found;
        enum finding finding;
    } findings[] = {
        {entry->time_ms == 0, FINDING_ZERO_TIME},
        {entry->time_ms < 0, FINDING_NEGATIVE_TIME},
        {solver_find(entry->solver) == NULL, FINDING_UNKNOWN_SOLVER},
        {!find_algorithm_known(algorithm), FINDING_UNKNOWN_ALGORITHM},
        {index > 0 && entries[index - 1].time_ms > entry->time_ms, FINDING_UNSORTED_ENTRIES},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(findings); i++) {
        if (findings[i].found) {
            check_found(report, findings[i].finding, "problem %" G_GUINT64_FORMAT, number);
        }
    }
}

/* Who chooses by an entry's workspace gives its solution that much. */
static void check_workspace(struct check_report *report, const skipjackdb *db, uint64_t number,
                            const struct skipjackdb_problem *problem,
                            const struct skipjackdb_entry *entry)
{
    struct skipjackdb_solution solution;
    if (skipjackdb_solution(db, problem, entry->solver, &solution, sizeof solution) ==
            SKIPJACKDB_OK &&
        solution.workspace_bytes != entry->workspace_bytes) {
        check_found(report, FINDING_WORKSPACE_MISMATCH, "problem %" G_GUINT64_FORMAT, number);
    }
}

static int check_problems(struct check_report *report, const skipjackdb *db)
{
    g_autofree struct skipjackdb_entry *entries = g_new(struct skipjackdb_entry, ENTRIES_MAX);
    int code = SKIPJACKDB_OK;
    uint64_t problems = skipjackdb_problem_count(db);
    for (uint64_t number = 0; code == SKIPJACKDB_OK && number < problems; number++) {
        struct skipjackdb_problem problem = {.size = sizeof problem};
        size_t count = 0;
        code = skipjackdb_problem_at(db, number, &problem);
        if (code == SKIPJACKDB_OK) {
            code = skipjackdb_entries(db, number, entries, sizeof *entries, ENTRIES_MAX, &count);
        }
        for (size_t i = 0; code == SKIPJACKDB_OK && i < MIN(count, ENTRIES_MAX); i++) {
            check_entry(report, number, entries, i);
            check_workspace(report, db, number, &problem, &entries[i]);
        }
        report->keys += code == SKIPJACKDB_OK;
        report->entries += (int64_t)count;
    }
    return code;
}

static int check_configs(struct check_report *report, const skipjackdb *db)
{
    g_autofree struct skipjackdb_perf_entry *entries =
        g_new(struct skipjackdb_perf_entry, ENTRIES_MAX);
    int code = SKIPJACKDB_OK;
    uint64_t rows = skipjackdb_perf_count(db);
    for (uint64_t number = 0; code == SKIPJACKDB_OK && number < rows; number++) {
        size_t count = 0;
        code = skipjackdb_perf_entries(db, number, entries, sizeof *entries, ENTRIES_MAX, &count);
        for (size_t i = 0; code == SKIPJACKDB_OK && i < MIN(count, ENTRIES_MAX); i++) {
            check_params(report, entries[i].solver, entries[i].params, "row %" G_GUINT64_FORMAT,
                         number);
        }
        report->keys += code == SKIPJACKDB_OK;
        report->entries += (int64_t)count;
    }
    return code;
}

/* That launches and their kernels are there was verified. */
static int check_solutions(struct check_report *report, const skipjackdb *db)
{
    g_autofree struct skipjackdb_solution *solutions =
        g_new(struct skipjackdb_solution, ENTRIES_MAX);
    int code = SKIPJACKDB_OK;
    uint64_t problems = skipjackdb_solved_count(db);
    for (uint64_t number = 0; code == SKIPJACKDB_OK && number < problems; number++) {
        size_t count = 0;
        code = skipjackdb_solutions(db, number, solutions, sizeof *solutions, ENTRIES_MAX, &count);
        for (size_t i = 0; code == SKIPJACKDB_OK && i < MIN(count, ENTRIES_MAX); i++) {
            if (solutions[i].params[0] != '\0') {
                check_params(report, solutions[i].solver, solutions[i].params,
                             "solved problem %" G_GUINT64_FORMAT, number);
            }
            if (solver_find(solutions[i].solver) == NULL) {
                check_found(report, FINDING_UNKNOWN_SOLVER, "solved problem %" G_GUINT64_FORMAT,
                            number);
            }
        }
        report->keys += code == SKIPJACKDB_OK;
        report->entries += (int64_t)count;
    }
    return code;
}

/* Code objects were compared with their checksums already. */
static int check_kernels(struct check_report *report, const skipjackdb *db)
{
    int code = SKIPJACKDB_OK;
    uint64_t kernels = skipjackdb_kernel_count(db);
    for (uint64_t number = 0; code == SKIPJACKDB_OK && number < kernels; number++) {
        struct skipjackdb_kernel kernel = {.size = sizeof kernel};
        code = skipjackdb_kernel_at(db, number, &kernel);
        g_autofree char *text = code == SKIPJACKDB_OK ? g_malloc0(kernel.text_bytes + 2) : NULL;
        if (text != NULL) {
            code = skipjackdb_kernel_read(db, number, text, kernel.text_bytes, NULL, 0);
            check_kernel_name(report, text, text + strlen(text) + 1, "kernel", (int64_t)number);
        }
    }
    report->keys += (int64_t)kernels;
    report->entries += (int64_t)kernels;
    return code;
}

void check_sjdb(const char *path, struct check_report *report)
{
    skipjackdb *db = NULL;
    int code = skipjackdb_open(path, &db);
    if (code == SKIPJACKDB_OK) {
        code = skipjackdb_verify(db);
    }
    if (code == SKIPJACKDB_OK) {
        code = check_problems(report, db);
    }
    if (code == SKIPJACKDB_OK) {
        code = check_configs(report, db);
    }
    if (code == SKIPJACKDB_OK) {
        code = check_solutions(report, db);
    }
    if (code == SKIPJACKDB_OK) {
        code = check_kernels(report, db);
    }
    if (code != SKIPJACKDB_OK) {
        cannot_read(report, code);
    }
    skipjackdb_close(db);
}
