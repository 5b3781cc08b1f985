/*
 * Solutions of .sjdb files go with the entries that are kept: what was measured is that solution. Those of
 * solvers without an entry are taken from the input that the policy prefers. None goes with a code object of
 * another input's: it would run that with its own arguments.
 */
#include "export/merge/merge_parts.h"

#include <string.h>

#define SOLUTIONS_MAX 1024 /* of a problem, that the format holds */

struct solved_input {
    guint input;
    const skipjackdb *db;
    const struct kernel_item **kernels; /* by number, once they are wanted */
};

struct merge_solutions {
    GArray *inputs;      /* struct solved_input, as .sjdb files were read */
    GHashTable *decided; /* "key\nsolver" and "key\n" to the input and 1 */
    int64_t count;
};

static void input_clear(void *input)
{
    g_free(((struct solved_input *)input)->kernels);
}

struct merge_solutions *merge_solutions_new(void)
{
    struct merge_solutions *solutions = g_new0(struct merge_solutions, 1);
    solutions->inputs = g_array_new(FALSE, TRUE, sizeof(struct solved_input));
    g_array_set_clear_func(solutions->inputs, input_clear);
    solutions->decided = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    return solutions;
}

void merge_solutions_free(struct merge_solutions *solutions)
{
    g_array_unref(solutions->inputs);
    g_hash_table_unref(solutions->decided);
    g_free(solutions);
}

int64_t merge_solutions_count(const struct merge *merge)
{
    return merge->solutions->count;
}

int merge_solutions_add(struct merge *merge, guint input, const skipjackdb *db)
{
    const struct solved_input added = {input, db, NULL};
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
    return code;
}

const char *merge_solutions_meta(const struct merge *merge)
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

/* ---- one solution ---- */

/* Kernels of .sjdb files are numbered by file in the order in which these were read, as inputs here. */
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

/* *kernel: what it launches. */
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

/* *reason, static, where it is not read. */
static bool read_solution(const struct solved_input *input, const struct skipjackdb_solution *read,
                          struct solution *solution, struct sjdb_kernel_name *names,
                          const char **reason)
{
    *reason = "it has more launches than a solver's";
    solution->workspace_bytes = read->workspace_bytes;
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

/* What this program cannot hold, or what would run another code object, is left out, and named. */
static bool add_solution(struct merge *merge, const struct solved_input *input, SjdbWriter *writer,
                         const struct problem *problem, const struct skipjackdb_solution *read)
{
    struct sjdb_kernel_name names[SOLUTION_LAUNCHES_MAX];
    struct solution *solution = g_new0(struct solution, 1);
    g_autoptr(GError) error = NULL;
    const char *reason = NULL;
    bool added = read_solution(input, read, solution, names, &reason) &&
                 sjdb_writer_add_solution(writer, problem, read->solver, read->params, solution,
                                          names, &error);
    if (!added) {
        merge_left_out(merge, input->input, "solution", (int64_t)read->number, "%s",
                       error != NULL ? error->message : reason);
    }
    g_free(solution);
    return added;
}

/* ---- of kept entries ---- */

static bool solved_by_any(const struct merge *merge, const struct skipjackdb_problem *problem)
{
    const GArray *inputs = merge->solutions->inputs;
    uint64_t number = 0;
    for (guint i = 0; i < inputs->len; i++) {
        const skipjackdb *db = g_array_index(inputs, struct solved_input, i).db;
        if (skipjackdb_solved_find(db, problem, &number) == SKIPJACKDB_OK) {
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

/* 0 where nothing was decided, else the input and 1. */
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

int64_t merge_solutions_keep(struct merge *merge, SjdbWriter *writer,
                             const struct merged_find *merged, const struct problem *problem)
{
    struct skipjackdb_problem asked = {.size = sizeof asked};
    g_autofree char *key = g_strndup(merged->key.at, merged->key.length);
    int64_t kept = 0;
    if (merge->solutions->count == 0 || skipjackdb_problem_parse(key, &asked) != SKIPJACKDB_OK ||
        !solved_by_any(merge, &asked)) {
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

/* ---- of solvers without an entry ---- */

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

/* An entry that was not kept took its solution with it. */
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
            kept += add_solution(merge, input, writer, &problem, &solutions[i]);
            decide(merge->solutions, key, solutions[i].solver, input->input);
        }
    }
    return kept;
}

int64_t merge_solutions_keep_rest(struct merge *merge, SjdbWriter *writer)
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
