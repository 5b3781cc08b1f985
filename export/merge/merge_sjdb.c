/*
 * Reads and writes .sjdb files for a merge. Entries, params and kernels that are read become lines
 * of a find-db, rows of a perf-db and rows of a kernel-db; writing puts all chosen ones into one
 * file. Solvers keep the revision and flags that the file states, and entries keep their
 * solutions.
 */
#include "export/merge/merge_sjdb.h"
#include "export/merge/merge_find.h"
#include "export/merge/merge_kernel.h"
#include "export/merge/merge_perf.h"

#include "export/sjdb/reader/layout.h"
#include "export/sjdb/reader/skipjackdb.h"
#include "export/sjdb/sjdb_meta.h"
#include "export/sjdb/sjdb_write.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define SOLUTIONS_MAX 1024 /* most solutions that a .sjdb may hold for one problem */

struct solved_input {
    guint input;
    const skipjackdb *db;
    int64_t intervals; /* how many of its entries have an interval */
    /* the merge's kernels by their number in this file; NULL until first needed */
    const struct kernel_item **kernels;
};

struct merge_solver {
    unsigned revision;
    uint32_t flags;
    bool unmeasured; /* true: only solutions that were never measured name the solver */
};

struct merge_solutions {
    GArray *inputs; /* struct solved_input, in the order of reading */
    /* "key\nsolver", and "key\n" for the whole key -> index of the input whose entry or solution is kept, + 1. Only
     * problems for which an input has solutions are in it. */
    GHashTable *decided;
    int64_t count,
        unmeasured; /* solutions of all inputs; `unmeasured` those that were never measured */
};

static void input_clear(void *input)
{
    g_free(((struct solved_input *)input)->kernels);
}

static void solutions_init(struct merge *merge)
{
    struct merge_solutions *solutions = g_new0(struct merge_solutions, 1);
    solutions->inputs = g_array_new(FALSE, TRUE, sizeof(struct solved_input));
    g_array_set_clear_func(solutions->inputs, input_clear);
    solutions->decided = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    merge->solutions = solutions;
}

static void solutions_clear(struct merge *merge)
{
    struct merge_solutions *solutions = merge->solutions;
    g_array_unref(solutions->inputs);
    g_hash_table_unref(solutions->decided);
    g_free(solutions);
}

static int64_t solutions_count(const struct merge *merge)
{
    return merge->solutions->count;
}

const struct merge_part merge_solution_part = {LOSS_SOLUTIONS, solutions_init, solutions_clear,
                                               solutions_count};

static int64_t count_intervals(const skipjackdb *db)
{
    struct skipjackdb_section section = {.size = sizeof section};
    int64_t count = 0;
    for (size_t i = 0; skipjackdb_section_at(db, i, &section) == SKIPJACKDB_OK; i++) {
        count += section.kind == SJDB_INTERVAL_ENTRIES ? (int64_t)section.items : 0;
    }
    return count;
}

static int64_t intervals_count(const struct merge *merge)
{
    const GArray *inputs = merge->solutions->inputs;
    int64_t count = 0;
    for (guint i = 0; i < inputs->len; i++) {
        count += g_array_index(inputs, struct solved_input, i).intervals;
    }
    return count;
}

static void nothing(struct merge *merge)
{
    (void)merge; /* the intervals are found through merge_solution_part */
}

const struct merge_part merge_interval_part = {LOSS_INTERVALS, nothing, nothing, intervals_count};

static int64_t unmeasured_count(const struct merge *merge)
{
    return merge->solutions->unmeasured;
}

const struct merge_part merge_unmeasured_part = {LOSS_UNMEASURED, nothing, nothing,
                                                 unmeasured_count};

static int add_unmeasured(struct merge *merge, guint input, const skipjackdb *db)
{
    int code = SKIPJACKDB_OK;
    uint64_t problems = skipjackdb_unmeasured(db, sizeof(struct skipjackdb_problem));
    for (uint64_t number = 0; code == SKIPJACKDB_OK && number < problems; number++) {
        size_t count = 0;
        code = skipjackdb_unmeasured_solutions(db, number, NULL, sizeof(struct skipjackdb_solution),
                                               0, &count);
        merge->solutions->unmeasured += (int64_t)count;
        merge_input(merge, input)->keys++;
        merge_input(merge, input)->entries += (int64_t)count;
    }
    return code;
}

static int add_solutions(struct merge *merge, guint input, const skipjackdb *db)
{
    const struct solved_input added = {input, db, count_intervals(db), NULL};
    int code = SKIPJACKDB_OK;
    uint64_t problems = skipjackdb_solved_count(db);
    g_array_append_val(merge->solutions->inputs, added);
    for (uint64_t number = 0; code == SKIPJACKDB_OK && number < problems; number++) {
        size_t count = 0;
        code =
            skipjackdb_solutions(db, number, NULL, sizeof(struct skipjackdb_solution), 0, &count);
        merge->solutions->count += (int64_t)count;
        merge_input(merge, input)->keys++;
        merge_input(merge, input)->entries += (int64_t)count;
    }
    return code == SKIPJACKDB_OK ? add_unmeasured(merge, input, db) : code;
}

static struct solved_input *input_of(const struct merge *merge, guint input)
{
    GArray *inputs = merge->solutions->inputs;
    for (guint i = 0; i < inputs->len; i++) {
        if (g_array_index(inputs, struct solved_input, i).input == input) {
            return &g_array_index(inputs, struct solved_input, i);
        }
    }
    return NULL;
}

const skipjackdb *merge_sjdb_of(const struct merge *merge, guint input)
{
    const struct solved_input *of = input_of(merge, input);
    return of != NULL ? of->db : NULL;
}

static bool is_text(struct span span, const char *text)
{
    return span.length == strlen(text) &&
           (span.length == 0 || memcmp(span.at, text, span.length) == 0);
}

static bool is_entry(const struct skipjackdb_entry *entry, const struct find_part *part)
{
    return is_text(part->solver, entry->solver) && is_text(part->algorithm, entry->algorithm) &&
           entry->time_ms == part->time_ms && entry->workspace_bytes == part->workspace_bytes;
}

void merge_interval_of(const struct merge *merge, guint input, struct span key,
                       struct find_choice *choice)
{
    const struct solved_input *from = input_of(merge, input);
    struct skipjackdb_entry entries[SJDB_LIST_MAX];
    uint64_t number = 0;
    size_t count = 0;
    choice->low_ms = choice->high_ms = 0;
    if (from == NULL || from->intervals == 0) {
        return;
    }
    g_autofree char *text = g_strndup(key.at, key.length);
    if (skipjackdb_find_key(from->db, text, &number) != SKIPJACKDB_OK ||
        skipjackdb_entries(from->db, number, entries, sizeof *entries, SJDB_LIST_MAX, &count) !=
            SKIPJACKDB_OK) {
        return;
    }
    for (size_t i = 0; i < MIN(count, SJDB_LIST_MAX); i++) {
        if (is_entry(&entries[i], &choice->part)) {
            choice->low_ms = entries[i].low_ms;
            choice->high_ms = entries[i].high_ms;
            return;
        }
    }
}

static const char *common_meta(const struct merge *merge)
{
    const GArray *inputs = merge->solutions->inputs;
    const char *meta = NULL;
    bool one = inputs->len == merge->report->inputs->len;
    for (guint i = 0; i < inputs->len; i++) {
        const char *at = skipjackdb_meta(g_array_index(inputs, struct solved_input, i).db);
        one = one && (meta == NULL || strcmp(meta, at) == 0);
        meta = at;
    }
    return one && meta != NULL && meta[0] != '\0' ? meta : NULL;
}

/* ---- adding one solution ---- */

/* Fills in `kernels` of each .sjdb file: the merge's kernels by their number in the file. */
static void name_kernels(const struct merge *merge)
{
    GArray *inputs = merge->solutions->inputs;
    g_autoptr(GPtrArray) all = merge_kernels_sorted(merge);
    merge_kernels_settle(merge);
    for (guint i = 0; i < inputs->len; i++) {
        struct solved_input *input = &g_array_index(inputs, struct solved_input, i);
        input->kernels = g_new0(const struct kernel_item *, skipjackdb_kernel_count(input->db) + 1);
    }
    for (guint i = 0; i < all->len; i++) {
        const struct kernel_item *item = all->pdata[i];
        if (item->from_sjdb) {
            g_array_index(inputs, struct solved_input, item->source).kernels[item->id] = item;
        }
    }
}

static void set_arg(const struct skipjackdb_arg *from, struct launch_arg *to)
{
    *to =
        (struct launch_arg){.kind = (enum launch_arg_kind)from->kind,
                            .tensor = (enum tensor_role)from->tensor,
                            .value = from->kind == SKIPJACKDB_ARG_STRIDE ? from->axis : from->value,
                            .factor = from->factor,
                            .real = (double)from->real};
}

/* Reads a launch. *kernel becomes the kernel that it runs. */
static int read_launch(const struct solved_input *input, const struct skipjackdb_solution *solution,
                       uint32_t index, struct launch *launch, const struct kernel_item **kernel)
{
    struct skipjackdb_launch read = {.size = sizeof read};
    struct skipjackdb_arg args[LAUNCH_ARGS_MAX];
    int code = skipjackdb_launch_at(input->db, solution, index, &read);
    if (code == SKIPJACKDB_OK) {
        code = skipjackdb_args(input->db, &read, NULL, args, sizeof *args, G_N_ELEMENTS(args));
    }
    if (code != SKIPJACKDB_OK) {
        return code;
    }
    launch->entry = read.entry;
    launch->local_bytes = (int64_t)read.local_bytes;
    launch->arg_count = (int)read.arg_count;
    for (int i = 0; i < 3; i++) {
        launch->grid[i] = read.grid[i];
        launch->block[i] = read.block[i];
    }
    for (uint32_t i = 0; i < read.arg_count; i++) {
        set_arg(&args[i], &launch->args[i]);
    }
    *kernel = input->kernels[read.kernel];
    return code;
}

/* Reads a solution with its launches. On failure *reason (static) says why. */
static bool read_solution(const struct solved_input *input, const struct skipjackdb_solution *read,
                          struct solution *solution, struct sjdb_kernel_name *names,
                          const char **reason)
{
    *reason = "it has more launches than a solver's";
    solution->workspace_bytes = read->workspace_bytes;
    solution->pack_count = (int)read->pack_count;
    solution->packed_bytes = read->packed_bytes;
    if (read->launch_count > SOLUTION_LAUNCHES_MAX) {
        return false;
    }
    for (uint32_t i = 0; i < read->launch_count; i++) {
        const struct kernel_item *kernel = NULL;
        int code =
            read_launch(input, read, i, &solution->launches[solution->launch_count++], &kernel);
        if (code != SKIPJACKDB_OK || kernel->gives_way) {
            *reason = code != SKIPJACKDB_OK ? skipjackdb_error_text(code)
                                            : "the name of its kernel goes to another code object";
            return false;
        }
        names[i] = (struct sjdb_kernel_name){kernel->name, kernel->args};
    }
    return true;
}

/* Adds a solution to the output as a measured one (sjdb_writer_add_solution) or as one that was never measured. It
 * is left out and reported if this program cannot hold it, or if another input's code object took the name of one
 * of its kernels. */
typedef bool add_to_writer(SjdbWriter *writer, const struct problem *problem, const char *solver,
                           const char *params, const struct solution *solution,
                           const struct sjdb_kernel_name *kernels, GError **error);
static bool add_solution_as(add_to_writer *add, struct merge *merge,
                            const struct solved_input *input, SjdbWriter *writer,
                            const struct problem *problem, const struct skipjackdb_solution *read)
{
    struct sjdb_kernel_name names[SOLUTION_LAUNCHES_MAX];
    struct solution *solution = g_new0(struct solution, 1);
    g_autoptr(GError) error = NULL;
    const char *reason = NULL;
    bool added = read_solution(input, read, solution, names, &reason) &&
                 add(writer, problem, read->solver, read->params, solution, names, &error);
    if (!added) {
        merge_left_out(merge, input->input, "solution", (int64_t)read->number, "%s",
                       error != NULL ? error->message : reason);
    }
    g_free(solution);
    return added;
}

static bool add_solution(struct merge *merge, const struct solved_input *input, SjdbWriter *writer,
                         const struct problem *problem, const struct skipjackdb_solution *read)
{
    return add_solution_as(sjdb_writer_add_solution, merge, input, writer, problem, read);
}

/* ---- solutions of entries that are kept ---- */

/* Returns true if an input has solutions for the problem, measured ones or others. */
static bool solved_by_any(const struct merge *merge, const struct skipjackdb_problem *problem)
{
    const GArray *inputs = merge->solutions->inputs;
    uint64_t number = 0;
    for (guint i = 0; i < inputs->len; i++) {
        const skipjackdb *db = g_array_index(inputs, struct solved_input, i).db;
        if (skipjackdb_solved_find(db, problem, &number) == SKIPJACKDB_OK ||
            skipjackdb_unmeasured_find(db, problem, &number) == SKIPJACKDB_OK) {
            return true;
        }
    }
    return false;
}

static bool others_solve(const struct merge *merge, const struct skipjackdb_problem *problem,
                         const char *solver)
{
    const GArray *inputs = merge->solutions->inputs;
    struct skipjackdb_solution read;
    for (guint i = 0; i < inputs->len; i++) {
        const skipjackdb *db = g_array_index(inputs, struct solved_input, i).db;
        if (skipjackdb_solution(db, problem, solver, &read, sizeof read) == SKIPJACKDB_OK) {
            return true;
        }
    }
    return false;
}

static void decide(struct merge_solutions *solutions, const char *key, const char *solver,
                   guint input)
{
    g_hash_table_insert(solutions->decided, g_strconcat(key, "\n", solver, NULL),
                        GUINT_TO_POINTER(input + 1));
}

/* Returns the index of the input whose entry or solution was kept, + 1; 0 if none was. */
static guint decided(const struct merge_solutions *solutions, const char *key, const char *solver)
{
    g_autofree char *name = g_strconcat(key, "\n", solver, NULL);
    return GPOINTER_TO_UINT(g_hash_table_lookup(solutions->decided, name));
}

static int64_t keep_one(struct merge *merge, SjdbWriter *writer, const struct problem *problem,
                        const struct skipjackdb_problem *asked, const struct find_choice *choice)
{
    const struct solved_input *input = input_of(merge, choice->input);
    struct skipjackdb_solution read;
    g_autofree char *solver = g_strndup(choice->part.solver.at, choice->part.solver.length);
    if (input != NULL &&
        skipjackdb_solution(input->db, asked, solver, &read, sizeof read) == SKIPJACKDB_OK) {
        return add_solution(merge, input, writer, problem, &read);
    }
    merge->report->losses[LOSS_SOLUTION_ALONE] += others_solve(merge, asked, solver);
    return 0;
}

static int64_t keep_solutions(struct merge *merge, SjdbWriter *writer,
                              const struct merged_find *merged, const struct problem *problem)
{
    struct skipjackdb_problem asked = {.size = sizeof asked};
    g_autofree char *key = g_strndup(merged->key.at, merged->key.length);
    int64_t kept = 0;
    if (merge->solutions->count + merge->solutions->unmeasured == 0 ||
        skipjackdb_problem_parse(key, &asked) != SKIPJACKDB_OK || !solved_by_any(merge, &asked)) {
        return 0;
    }
    if (g_array_index(merge->solutions->inputs, struct solved_input, 0).kernels == NULL) {
        name_kernels(merge);
    }
    for (guint i = 0; i < merged->count; i++) {
        const struct find_choice *choice = merged->choices[i];
        g_autofree char *solver = g_strndup(choice->part.solver.at, choice->part.solver.length);
        kept += keep_one(merge, writer, problem, &asked, choice);
        decide(merge->solutions, key, solver, choice->input);
        decide(merge->solutions, key, "", choice->input);
    }
    return kept;
}

/* ---- solutions of solvers that have no entry ---- */

static bool has_entry(const skipjackdb *db, const struct skipjackdb_problem *problem,
                      const char *solver)
{
    struct skipjackdb_entry entries[SOLUTIONS_MAX];
    uint64_t number = 0;
    size_t count = 0;
    if (skipjackdb_find(db, problem, &number) != SKIPJACKDB_OK ||
        skipjackdb_entries(db, number, entries, sizeof *entries, SOLUTIONS_MAX, &count) !=
            SKIPJACKDB_OK) {
        return false;
    }
    for (size_t i = 0; i < MIN(count, SOLUTIONS_MAX); i++) {
        if (strcmp(entries[i].solver, solver) == 0) {
            return true;
        }
    }
    return false;
}

/* Returns true if a solution is kept although no entry of its solver is. Not if its input has an
 * entry for it, since that entry was dropped; nor if another input's entries replace the whole
 * key. */
static bool is_wanted(const struct merge *merge, const struct solved_input *input, const char *key,
                      const struct skipjackdb_problem *problem, const char *solver)
{
    guint whole = decided(merge->solutions, key, "");
    return decided(merge->solutions, key, solver) == 0 &&
           (!merge->options->replace_others || whole == 0 || whole == input->input + 1) &&
           !has_entry(input->db, problem, solver);
}

static int64_t keep_rest_of(struct merge *merge, const struct solved_input *input, uint64_t number,
                            SjdbWriter *writer)
{
    struct skipjackdb_problem read = {.size = sizeof read};
    struct skipjackdb_solution solutions[SOLUTIONS_MAX];
    struct problem problem;
    char key[SKIPJACKDB_KEY_MAX];
    size_t count = 0;
    int64_t kept = 0;
    g_autoptr(GError) error = NULL;
    if (skipjackdb_solved_at(input->db, number, &read) != SKIPJACKDB_OK ||
        skipjackdb_problem_key(&read, key, sizeof key) != SKIPJACKDB_OK ||
        skipjackdb_solutions(input->db, number, solutions, sizeof *solutions, SOLUTIONS_MAX,
                             &count) != SKIPJACKDB_OK) {
        return 0;
    }
    if (!problem_key_parse(key, &problem, &error)) {
        merge_left_out(merge, input->input, "solved problem", (int64_t)number, "%s",
                       error->message);
        return 0;
    }
    for (size_t i = 0; i < MIN(count, SOLUTIONS_MAX); i++) {
        if (is_wanted(merge, input, key, &read, solutions[i].solver)) {
            int64_t added = add_solution(merge, input, writer, &problem, &solutions[i]);
            if (added > 0) {
                decide(merge->solutions, key, solutions[i].solver, input->input);
            }
            kept += added;
        }
    }
    return kept;
}

static int64_t keep_other_solutions(struct merge *merge, SjdbWriter *writer)
{
    GArray *inputs = merge->solutions->inputs;
    int64_t kept = 0;
    if (merge->solutions->count == 0) {
        return 0;
    }
    if (g_array_index(inputs, struct solved_input, 0).kernels == NULL) {
        name_kernels(merge);
    }
    for (guint i = 0; i < inputs->len; i++) {
        guint at = merge->options->prefer == MERGE_NEWEST ? inputs->len - 1 - i : i;
        const struct solved_input *input = &g_array_index(inputs, struct solved_input, at);
        uint64_t problems = skipjackdb_solved_count(input->db);
        for (uint64_t number = 0; number < problems; number++) {
            kept += keep_rest_of(merge, input, number, writer);
        }
    }
    return kept;
}

/* ---- solutions that were never measured ---- */

/* Adds an input's never-measured solutions of a problem behind those that an input before it has added. Those
 * of a solver that has an entry or a solution in the output give way. `taken`: "solver\nparams" of those that were
 * added. */
static int64_t keep_unmeasured_of(struct merge *merge, const struct solved_input *input,
                                  const struct skipjackdb_problem *read, const char *key,
                                  const struct problem *problem, GHashTable *taken,
                                  SjdbWriter *writer)
{
    struct skipjackdb_solution solutions[SOLUTIONS_MAX];
    uint64_t number = 0;
    size_t count = 0;
    int64_t kept = 0;
    if (skipjackdb_unmeasured_find(input->db, read, &number) != SKIPJACKDB_OK ||
        skipjackdb_unmeasured_solutions(input->db, number, solutions, sizeof *solutions,
                                        SOLUTIONS_MAX, &count) != SKIPJACKDB_OK) {
        return 0;
    }
    for (size_t i = 0; i < MIN(count, SOLUTIONS_MAX); i++) {
        const struct skipjackdb_solution *solution = &solutions[i];
        const struct merge_solver *solver = g_hash_table_lookup(merge->solvers, solution->solver);
        g_autofree char *config = g_strconcat(solution->solver, "\n", solution->params, NULL);
        if (decided(merge->solutions, key, solution->solver) != 0) {
            merge->report->gave_way++;
        } else if (solver != NULL && solver->revision != solution->revision) {
            merge_left_out(merge, input->input, "never-measured problem", (int64_t)number,
                           "it is of revision %u of %s, and the others are of %u",
                           solution->revision, solution->solver, solver->revision);
        } else if (!g_hash_table_contains(taken, config)) {
            kept += add_solution_as(sjdb_writer_add_unmeasured, merge, input, writer, problem,
                                    solution);
            g_hash_table_add(taken, g_steal_pointer(&config));
        }
    }
    return kept;
}

/* Returns the input that is asked as the `at`th one: under --prefer newest the last one is asked first. */
static const struct solved_input *input_in_turn(const struct merge *merge, guint at)
{
    const GArray *inputs = merge->solutions->inputs;
    guint index = merge->options->prefer == MERGE_NEWEST ? inputs->len - 1 - at : at;
    return &g_array_index(inputs, struct solved_input, index);
}

/* Adds the never-measured solutions of a problem from all inputs, from the `first` in turn on, which is the first
 * one that has any. --others says nothing of them: they are no entries. */
static int64_t keep_unmeasured_problem(struct merge *merge, guint first, uint64_t number,
                                       SjdbWriter *writer)
{
    struct skipjackdb_problem read = {.size = sizeof read};
    struct problem problem;
    char key[SKIPJACKDB_KEY_MAX];
    uint64_t before = 0;
    int64_t kept = 0;
    g_autoptr(GError) error = NULL;
    const struct solved_input *input = input_in_turn(merge, first);
    if (skipjackdb_unmeasured_at(input->db, number, &read) != SKIPJACKDB_OK ||
        skipjackdb_problem_key(&read, key, sizeof key) != SKIPJACKDB_OK) {
        return 0;
    }
    for (guint i = 0; i < first; i++) {
        if (skipjackdb_unmeasured_find(input_in_turn(merge, i)->db, &read, &before) ==
            SKIPJACKDB_OK) {
            return 0; /* added with that input */
        }
    }
    if (!problem_key_parse(key, &problem, &error)) {
        merge_left_out(merge, input->input, "never-measured problem", (int64_t)number, "%s",
                       error->message);
        return 0;
    }
    g_autoptr(GHashTable) taken = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    for (guint i = first; i < merge->solutions->inputs->len; i++) {
        kept +=
            keep_unmeasured_of(merge, input_in_turn(merge, i), &read, key, &problem, taken, writer);
    }
    return kept;
}

static int64_t keep_unmeasured(struct merge *merge, SjdbWriter *writer)
{
    const GArray *inputs = merge->solutions->inputs;
    int64_t kept = 0;
    if (merge->solutions->unmeasured == 0) {
        return 0;
    }
    if (g_array_index(inputs, struct solved_input, 0).kernels == NULL) {
        name_kernels(merge);
    }
    for (guint i = 0; i < inputs->len; i++) {
        uint64_t problems =
            skipjackdb_unmeasured(input_in_turn(merge, i)->db, sizeof(struct skipjackdb_problem));
        for (uint64_t number = 0; number < problems; number++) {
            kept += keep_unmeasured_problem(merge, i, number, writer);
        }
    }
    return kept;
}

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
    struct skipjackdb_entry entries[SJDB_LIST_MAX];
    struct skipjackdb_perf_entry configs[SJDB_LIST_MAX];
    struct skipjackdb_solution solutions[SJDB_LIST_MAX];
};

/* Keeps what a file says about a solver: its revision and flags. If files differ, what a measured entry, row or
 * solution says counts first; then the last file under --prefer newest, otherwise the first file. */
static void note_solver_of(struct merge *merge, const char *name, uint32_t revision, uint32_t flags,
                           bool unmeasured)
{
    const struct merge_solver *known = g_hash_table_lookup(merge->solvers, name);
    bool better = known == NULL || (known->unmeasured && !unmeasured) ||
                  (known->unmeasured == unmeasured && merge->options->prefer == MERGE_NEWEST);
    if ((flags & SKIPJACKDB_FLAGS_KNOWN) == 0 || !better) {
        return;
    }
    const struct merge_solver solver = {revision, flags, unmeasured};
    g_hash_table_insert(merge->solvers, g_strdup(name), g_memdup2(&solver, sizeof solver));
}

static void note_solver(struct merge *merge, const char *name, uint32_t revision, uint32_t flags)
{
    note_solver_of(merge, name, revision, flags, false);
}

/* Appends the shortest text of the time from which the same double is read again. */
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

/* Appends an entry as text of a find-db. An entry with a library came from the older form, and is
 * written in it without a cache key, which a .sjdb does not keep. */
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

typedef int problem_at(const skipjackdb *db, uint64_t number, struct skipjackdb_problem *problem);

/* Reads a problem of the file by its number, and makes its key. */
static int read_key_at(const struct sjdb_reading *reading, problem_at *at, uint64_t number,
                       struct skipjackdb_problem *problem, char key[SKIPJACKDB_KEY_MAX])
{
    int code = at(reading->db, number, problem);
    return code == SKIPJACKDB_OK ? skipjackdb_problem_key(problem, key, SKIPJACKDB_KEY_MAX) : code;
}

static int read_problem(struct sjdb_reading *reading, uint64_t number, GString *text)
{
    char key[SKIPJACKDB_KEY_MAX];
    struct skipjackdb_problem problem = {.size = sizeof problem};
    size_t count = 0;
    int code = read_key_at(reading, skipjackdb_problem_at, number, &problem, key);
    if (code == SKIPJACKDB_OK) {
        code = skipjackdb_entries(reading->db, number, reading->entries, sizeof reading->entries[0],
                                  SJDB_LIST_MAX, &count);
    }
    for (size_t i = 0; code == SKIPJACKDB_OK && i < MIN(count, SJDB_LIST_MAX); i++) {
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
    int code = read_key_at(reading, skipjackdb_perf_at, number, &problem, key);
    if (code == SKIPJACKDB_OK) {
        code = skipjackdb_perf_entries(reading->db, number, reading->configs,
                                       sizeof reading->configs[0], SJDB_LIST_MAX, &count);
    }
    if (code == SKIPJACKDB_OK && !problem_key_parse(key, &ours, &error)) {
        merge_left_out(reading->merge, reading->input, "row", (int64_t)number, "%s",
                       error->message);
        return code;
    }
    for (size_t i = 0; code == SKIPJACKDB_OK && i < MIN(count, SJDB_LIST_MAX); i++) {
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

/* Reads a problem's solutions. If the output is a perf-db, the params of each solution are added to
 * the problem's row. */
static int read_solved(struct sjdb_reading *reading, uint64_t number)
{
    char key[SKIPJACKDB_KEY_MAX];
    struct skipjackdb_problem problem = {.size = sizeof problem};
    struct problem ours;
    struct perf_row row;
    size_t count = 0;
    g_autoptr(GError) error = NULL;
    int code = read_key_at(reading, skipjackdb_solved_at, number, &problem, key);
    if (code == SKIPJACKDB_OK) {
        code = skipjackdb_solutions(reading->db, number, reading->solutions,
                                    sizeof reading->solutions[0], SJDB_LIST_MAX, &count);
    }
    /* Only packed convolutions in full precision have a row in perf-dbs. */
    bool has_row = perf_db_is_wanted(reading->merge) && problem_key_parse(key, &ours, &error) &&
                   problem_has_perf_row(&ours);
    for (size_t i = 0; code == SKIPJACKDB_OK && i < MIN(count, SJDB_LIST_MAX); i++) {
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

/* Sets `launched` of every kernel that the solution launches to true. */
static int note_launched(const skipjackdb *db, const struct skipjackdb_solution *solution,
                         bool *launched)
{
    struct skipjackdb_launch launch = {.size = sizeof launch};
    int code = SKIPJACKDB_OK;
    for (uint32_t i = 0; code == SKIPJACKDB_OK && i < solution->launch_count; i++) {
        code = skipjackdb_launch_at(db, solution, i, &launch);
        if (code == SKIPJACKDB_OK) {
            launched[launch.kernel] = true;
        }
    }
    return code;
}

typedef int solutions_at(const skipjackdb *db, uint64_t number,
                         struct skipjackdb_solution *solutions, size_t solution_size, size_t room,
                         size_t *count);

/* Notes what the solutions of `problems` problems launch, measured ones or others. */
static int note_all_launched(struct sjdb_reading *reading, solutions_at *at, uint64_t problems,
                             bool *launched)
{
    int code = SKIPJACKDB_OK;
    for (uint64_t number = 0; code == SKIPJACKDB_OK && number < problems; number++) {
        size_t count = 0;
        code = at(reading->db, number, reading->solutions, sizeof reading->solutions[0],
                  SJDB_LIST_MAX, &count);
        for (size_t i = 0; code == SKIPJACKDB_OK && i < MIN(count, SJDB_LIST_MAX); i++) {
            const struct skipjackdb_solution *solution = &reading->solutions[i];
            if (at == skipjackdb_unmeasured_solutions) {
                note_solver_of(reading->merge, solution->solver, solution->revision,
                               solution->flags, true);
            }
            code = note_launched(reading->db, solution, launched);
        }
    }
    return code;
}

/* Notes the solvers of never-measured solutions, and sets *alone (g_free()) to one bool for each kernel: true if
 * only such solutions launch it. *alone is NULL for a file without them. */
static int read_unmeasured(struct sjdb_reading *reading, bool **alone)
{
    uint64_t kernels = skipjackdb_kernel_count(reading->db);
    uint64_t problems = skipjackdb_unmeasured(reading->db, sizeof(struct skipjackdb_problem));
    *alone = NULL;
    if (problems == 0) {
        return SKIPJACKDB_OK;
    }
    *alone = g_new0(bool, kernels + 1);
    g_autofree bool *measured = g_new0(bool, kernels + 1);
    int code = note_all_launched(reading, skipjackdb_unmeasured_solutions, problems, *alone);
    if (code == SKIPJACKDB_OK) {
        code = note_all_launched(reading, skipjackdb_solutions,
                                 skipjackdb_solved_count(reading->db), measured);
    }
    for (uint64_t i = 0; i < kernels; i++) {
        (*alone)[i] = (*alone)[i] && !measured[i];
    }
    return code;
}

static int read_all(struct sjdb_reading *reading)
{
    GString *text = g_string_new(NULL);
    g_autofree bool *unmeasured = NULL;
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
        code = read_unmeasured(reading, &unmeasured);
    }
    if (code == SKIPJACKDB_OK) {
        code = add_solutions(reading->merge, reading->input, reading->db);
    }
    if (code == SKIPJACKDB_OK) {
        code = merge_kernels_add(reading->merge, reading->input, g_steal_pointer(&reading->db),
                                 unmeasured);
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

static bool sjdb_read(struct merge *merge, guint input, GError **error)
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
    GPtrArray *texts; /* find-db texts of the current key's entries */
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
            .low_ms = merged->choices[i]->low_ms,
            .high_ms = merged->choices[i]->high_ms,
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
    writing->solutions += keep_solutions(writing->merge, writing->writer, merged, &problem);
    return true;
}

/* Writes the perf rows. A row is left out if the problem made from it gives another row: lookups
 * start from a problem, so they would never find it. */
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
        sjdb_writer_set_solver(writing->writer, name, solver->revision, solver->flags);
    }
}

static bool all_build_only(const struct merge *merge)
{
    const GArray *inputs = merge->solutions->inputs;
    bool all = inputs->len == merge->report->inputs->len;
    for (guint i = 0; i < inputs->len && all; i++) {
        struct sjdb_meta meta;
        sjdb_meta_read(g_array_index(inputs, struct solved_input, i).db, &meta);
        all = meta.build_only;
        sjdb_meta_clear(&meta);
    }
    return all;
}

/* Writes the JSON text of the inputs if all are .sjdb files with the same one; otherwise a text
 * that states only the target, and whether all are build-only exports, or none if no whole target is known. */
static void set_meta(const struct merge *merge, SjdbWriter *writer)
{
    const char *meta = common_meta(merge);
    const struct file_target *target = &merge->report->target;
    g_autofree char *made = target->known == TARGET_WHOLE
                                ? sjdb_meta_of_target(target->target.id, all_build_only(merge))
                                : NULL;
    if (meta != NULL || made != NULL) {
        sjdb_writer_set_meta(writer, meta != NULL ? meta : made);
    }
}

/* Sets *all to the number of solutions of all problems. */
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
    int64_t unmeasured = 0;
    uint64_t never = skipjackdb_unmeasured(db, sizeof(struct skipjackdb_problem));
    for (uint64_t i = 0; i < never; i++) {
        size_t count = 0;
        skipjackdb_unmeasured_solutions(db, i, NULL, sizeof(struct skipjackdb_solution), 0, &count);
        unmeasured += (int64_t)count;
    }
    bool same = unmeasured == writing->merge->report->unmeasured &&
                skipjackdb_problem_count(db) == (uint64_t)writing->problems &&
                skipjackdb_perf_count(db) == (uint64_t)writing->rows &&
                skipjackdb_kernel_count(db) == (uint64_t)writing->kernels &&
                solutions == writing->solutions;
    writing->merge->report->keys += (int64_t)(skipjackdb_solved_count(db) + never);
    writing->merge->report->entries += solutions + unmeasured;
    skipjackdb_close(db);
    if (!same) {
        g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_CHECK,
                    "what was written does not read back: it holds other problems");
    }
    return same;
}

static bool sjdb_write(struct merge *merge, const char *path, GError **error)
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
    writing.solutions += keep_other_solutions(merge, writer);
    merge->report->unmeasured = keep_unmeasured(merge, writer);
    write_configs(&writing);
    set_solvers(&writing);
    set_meta(merge, writer);
    return write_kernels(&writing, error) && sjdb_writer_finish(writer, error) &&
           read_back(&writing, path, error);
}

const struct merge_format merge_sjdb_format = {FILE_SJDB,
                                               1 << LOSS_FIND | 1 << LOSS_INTERVALS |
                                                   1 << LOSS_PERF | 1 << LOSS_KERNELS |
                                                   1 << LOSS_SOLUTIONS | 1 << LOSS_UNMEASURED,
                                               sjdb_read, sjdb_write};
