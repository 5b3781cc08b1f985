#include "export/check/check_formats.h"

#include "export/formats/find_scan.h"
#include "export/formats/kernel_db.h"
#include "export/sjdb/reader/layout.h"
#include "export/sjdb/sjdb_meta.h"
#include "solvers/problem/problem_key.h"

#include <errno.h>
#include <string.h>

static void cannot_read(struct check_report *report, int code)
{
    const char *reason = code == SKIPJACKDB_IO ? g_strerror(errno) : skipjackdb_error_text(code);
    check_unreadable(report, g_error_new_literal(EXPORT_ERROR, EXPORT_ERROR_DAMAGED, reason),
                     "file");
}

/* A problem, and the least milliseconds that it can take on the target. `known` is false, and
 * least_ms 0, if the target or the problem is unknown. */
struct judged_problem {
    bool known;
    struct problem problem;
    double least_ms;
};

static void judge_by(struct check_report *report, const struct skipjackdb_problem *read,
                     struct judged_problem *judged)
{
    char key[SKIPJACKDB_KEY_MAX];
    judged->known = report->bounds.target != NULL &&
                    skipjackdb_problem_key(read, key, sizeof key) == SKIPJACKDB_OK &&
                    problem_key_parse(key, &judged->problem, NULL);
    judged->least_ms =
        judged->known ? target_least_problem_ms(&report->bounds, &judged->problem) : 0;
}

/* Returns whether an algorithm has a name of MIOpen; other operators than convolutions have that of a
 * family. */
static bool knows_algorithm(const struct skipjackdb_problem *problem, const char *name)
{
    const struct span algorithm = {name, strlen(name)};
    return problem->kind == SKIPJACKDB_CONV ? find_algorithm_known(algorithm)
                                            : find_family_known(algorithm);
}

static void check_entry(struct check_report *report, uint64_t number,
                        const struct skipjackdb_problem *problem,
                        const struct judged_problem *judged, const struct skipjackdb_entry *entries,
                        size_t index)
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
        {!knows_algorithm(problem, entry->algorithm), FINDING_UNKNOWN_ALGORITHM},
        {index > 0 && entries[index - 1].time_ms > entry->time_ms, FINDING_UNSORTED_ENTRIES},
        {entry->time_ms > 0 && entry->time_ms < judged->least_ms &&
             algorithm_does_all(entry->algorithm, algorithm.length),
         FINDING_IMPOSSIBLE_TIME},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(findings); i++) {
        if (findings[i].found) {
            check_found(report, findings[i].finding, "problem %" G_GUINT64_FORMAT, number);
        }
    }
    if (judged->known) {
        check_target_solver(report, &judged->problem, entry->solver, "problem %" G_GUINT64_FORMAT,
                            number);
    }
}

/* A library allocates the workspace that the entry states: a solution that states another size is a
 * finding. */
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
    g_autofree struct skipjackdb_entry *entries = g_new(struct skipjackdb_entry, SJDB_LIST_MAX);
    int code = SKIPJACKDB_OK;
    uint64_t problems = skipjackdb_problem_count(db);
    for (uint64_t number = 0; code == SKIPJACKDB_OK && number < problems; number++) {
        struct skipjackdb_problem problem = {.size = sizeof problem};
        struct judged_problem judged = {0};
        size_t count = 0;
        code = skipjackdb_problem_at(db, number, &problem);
        if (code == SKIPJACKDB_OK) {
            judge_by(report, &problem, &judged);
            code = skipjackdb_entries(db, number, entries, sizeof *entries, SJDB_LIST_MAX, &count);
        }
        for (size_t i = 0; code == SKIPJACKDB_OK && i < MIN(count, SJDB_LIST_MAX); i++) {
            check_entry(report, number, &problem, &judged, entries, i);
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
        g_new(struct skipjackdb_perf_entry, SJDB_LIST_MAX);
    int code = SKIPJACKDB_OK;
    uint64_t rows = skipjackdb_perf_count(db);
    for (uint64_t number = 0; code == SKIPJACKDB_OK && number < rows; number++) {
        size_t count = 0;
        code = skipjackdb_perf_entries(db, number, entries, sizeof *entries, SJDB_LIST_MAX, &count);
        for (size_t i = 0; code == SKIPJACKDB_OK && i < MIN(count, SJDB_LIST_MAX); i++) {
            check_params(report, entries[i].solver, entries[i].params, "row %" G_GUINT64_FORMAT,
                         number);
        }
        report->keys += code == SKIPJACKDB_OK;
        report->entries += (int64_t)count;
    }
    return code;
}

static void check_unmeasured_solution(struct check_report *report, uint64_t number,
                                      const struct judged_problem *judged,
                                      const struct skipjackdb_solution *solution)
{
    if (solution->params[0] != '\0') {
        check_params(report, solution->solver, solution->params,
                     "never-measured problem %" G_GUINT64_FORMAT, number);
    }
    if (solver_find(solution->solver) == NULL) {
        check_found(report, FINDING_UNKNOWN_SOLVER, "never-measured problem %" G_GUINT64_FORMAT,
                    number);
    }
    if (judged->known) {
        check_target_solver(report, &judged->problem, solution->solver,
                            "never-measured problem %" G_GUINT64_FORMAT, number);
    }
}

/* Checks all solutions. Their launches and kernels exist: skipjackdb_verify() has checked that
 * before. */
static int check_solutions(struct check_report *report, const skipjackdb *db)
{
    g_autofree struct skipjackdb_solution *solutions =
        g_new(struct skipjackdb_solution, SJDB_LIST_MAX);
    int code = SKIPJACKDB_OK;
    uint64_t problems = skipjackdb_solved_count(db);
    for (uint64_t number = 0; code == SKIPJACKDB_OK && number < problems; number++) {
        size_t count = 0;
        code =
            skipjackdb_solutions(db, number, solutions, sizeof *solutions, SJDB_LIST_MAX, &count);
        for (size_t i = 0; code == SKIPJACKDB_OK && i < MIN(count, SJDB_LIST_MAX); i++) {
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

/* Checks the solutions that were never measured: a library must not take them for others, so only a build-only
 * export may have any, and it has nothing else. */
static int check_unmeasured(struct check_report *report, const skipjackdb *db, bool build_only)
{
    g_autofree struct skipjackdb_solution *solutions =
        g_new(struct skipjackdb_solution, SJDB_LIST_MAX);
    int code = SKIPJACKDB_OK;
    uint64_t problems = skipjackdb_unmeasured(db, sizeof(struct skipjackdb_problem));
    for (uint64_t number = 0; code == SKIPJACKDB_OK && number < problems; number++) {
        struct skipjackdb_problem problem = {.size = sizeof problem};
        struct judged_problem judged = {0};
        size_t count = 0;
        code = skipjackdb_unmeasured_at(db, number, &problem);
        if (code == SKIPJACKDB_OK) {
            judge_by(report, &problem, &judged);
            code = skipjackdb_unmeasured_solutions(db, number, solutions, sizeof *solutions,
                                                   SJDB_LIST_MAX, &count);
        }
        if (!build_only) {
            check_found(report, FINDING_NEVER_MEASURED, "never-measured problem %" G_GUINT64_FORMAT,
                        number);
        }
        for (size_t i = 0; code == SKIPJACKDB_OK && i < MIN(count, SJDB_LIST_MAX); i++) {
            check_unmeasured_solution(report, number, &judged, &solutions[i]);
        }
        report->keys += code == SKIPJACKDB_OK;
        report->entries += (int64_t)count;
    }
    if (build_only && skipjackdb_problem_count(db) + skipjackdb_solved_count(db) > 0) {
        check_found(report, FINDING_MEASURED_BESIDE,
                    "file (%" G_GUINT64_FORMAT " problems with entries, %" G_GUINT64_FORMAT
                    " with measured solutions)",
                    skipjackdb_problem_count(db), skipjackdb_solved_count(db));
    }
    return code;
}

/* Checks one kernel's name and target. Reading its code object has already compared the
 * checksum. */
static int check_kernel(struct check_report *report, const skipjackdb *db, uint64_t number)
{
    struct skipjackdb_kernel kernel = {.size = sizeof kernel};
    int code = skipjackdb_kernel_at(db, number, &kernel);
    if (code != SKIPJACKDB_OK || kernel.code_bytes > (uint64_t)KERNEL_BYTES_MAX) {
        return code != SKIPJACKDB_OK ? code : SKIPJACKDB_DAMAGED;
    }
    g_autofree char *text = g_malloc0(kernel.text_bytes + 2);
    g_autofree char *bytes =
        g_malloc(kernel.code_bytes + 1); /* g_malloc(0) is NULL, which reads as failure */
    code = skipjackdb_kernel_read(db, number, text, kernel.text_bytes, bytes, kernel.code_bytes);
    if (code == SKIPJACKDB_OK) {
        const char *args = text + strlen(text) + 1;
        check_kernel_name(report, text, args, "kernel", (int64_t)number);
        check_kernel_target(report, args, bytes, kernel.code_bytes, "kernel", (int64_t)number);
    }
    return code;
}

static int check_kernels(struct check_report *report, const skipjackdb *db)
{
    int code = SKIPJACKDB_OK;
    uint64_t kernels = skipjackdb_kernel_count(db);
    for (uint64_t number = 0; code == SKIPJACKDB_OK && number < kernels; number++) {
        code = check_kernel(report, db, number);
    }
    report->keys += (int64_t)kernels;
    report->entries += (int64_t)kernels;
    return code;
}

/* Compares the target that the file's JSON text states with the one in its name. Returns whether the text says that
 * the file is a build-only export. */
static bool check_meta(struct check_report *report, const skipjackdb *db)
{
    struct sjdb_meta meta;
    sjdb_meta_read(db, &meta);
    check_content_target(report, &meta.target);
    report->says_ours = meta.campaign != NULL || meta.golden_version > 0;
    bool build_only = meta.build_only;
    sjdb_meta_clear(&meta);
    if (!file_targets_fit(&report->named, &report->content)) {
        check_found(report, FINDING_OTHER_TARGET, "file (it says that it is of %s, not %s)",
                    file_target_text(&report->content), file_target_text(&report->named));
    }
    return build_only;
}

void check_sjdb(const char *path, struct check_report *report)
{
    skipjackdb *db = NULL;
    bool build_only = false;
    int code = skipjackdb_open(path, &db);
    if (code == SKIPJACKDB_OK) {
        code = skipjackdb_verify(db);
    }
    if (code == SKIPJACKDB_OK) {
        build_only = check_meta(report, db);
        code = check_problems(report, db);
    }
    if (code == SKIPJACKDB_OK) {
        code = check_configs(report, db);
    }
    if (code == SKIPJACKDB_OK) {
        code = check_solutions(report, db);
    }
    if (code == SKIPJACKDB_OK) {
        code = check_unmeasured(report, db, build_only);
    }
    if (code == SKIPJACKDB_OK) {
        code = check_kernels(report, db);
    }
    if (code != SKIPJACKDB_OK) {
        cannot_read(report, code);
    }
    skipjackdb_close(db);
}
