/* Reads perf configs. Each row of a perf-db is stored as one problem that represents it, the row's
 * normal form. */
#include "export/sjdb/reader/forms.h"

static bool in_range(int64_t value)
{
    return value >= 0 && value <= INT32_MAX;
}

/* Sets the smallest input size that gives the output size on this axis: rows of directions B and W
 * hold the output's size alone. */
static bool least_input(struct skipjackdb_problem *p, int axis)
{
    if (!in_range(p->out[axis]) || !in_range(p->fil[axis]) || !in_range(p->pad[axis]) ||
        !in_range(p->stride[axis]) || !in_range(p->dilation[axis])) {
        return false;
    }
    int64_t size = p->stride[axis] * (p->out[axis] - 1) + p->dilation[axis] * (p->fil[axis] - 1) +
                   1 - 2 * p->pad[axis];
    p->in[axis] = size > 1 ? size : 1;
    return true;
}

/* Changes the problem to the one that represents its perf-db row: fields that the row lacks get the
 * values that skipjackdb_perf_at() returns. Returns false for sizes that no row has. */
static bool make_normal(struct skipjackdb_problem *p)
{
    bool forward = p->direction == SKIPJACKDB_F;
    int32_t layout = p->layout[forward ? 0 : 2];
    if (p->kind != SKIPJACKDB_CONV || p->mode[0] != '\0') {
        return false; /* a row says no operator, and not that a convolution is in TF32 */
    }
    memset(p->strides, 0, sizeof p->strides);
    memset(p->epilogue, 0, sizeof p->epilogue);
    for (int i = 0; i < 3; i++) {
        p->layout[i] = layout;
        p->cast[i] = SKIPJACKDB_NO_TYPE;
        if (forward) {
            p->out[i] = sjdb_formula_output(p, i);
        } else if (!least_input(p, i)) {
            return false;
        }
    }
    return true;
}

uint64_t skipjackdb_perf_count(const skipjackdb *db)
{
    return db == NULL ? 0 : db->perf.part[SJDB_PROBLEM_LISTS].count;
}

int skipjackdb_perf_at(const skipjackdb *db, uint64_t number, struct skipjackdb_problem *problem)
{
    struct skipjackdb_problem own = {.size = sizeof own};
    if (db == NULL || !sjdb_problem_sized(problem)) {
        return SKIPJACKDB_USAGE;
    }
    int code = sjdb_set_problem(db, &db->perf, number, &own);
    return code == SKIPJACKDB_OK ? sjdb_problem_give(&own, problem) : code;
}

int skipjackdb_perf_find(const skipjackdb *db, const struct skipjackdb_problem *problem,
                         uint64_t *number)
{
    struct skipjackdb_problem normal;
    if (db == NULL || !sjdb_problem_sized(problem) || number == NULL ||
        !sjdb_problem_take(problem, &normal)) {
        return SKIPJACKDB_USAGE;
    }
    return make_normal(&normal) ? sjdb_set_find(db, &db->perf, &normal, "", number)
                                : SKIPJACKDB_NOT_FOUND;
}

static void fill_entry(struct sjdb_look *look, const struct sjdb_item *item, void *room)
{
    struct skipjackdb_perf_entry *entry = room;
    struct sjdb_choice spare;
    const struct sjdb_choice *choice = sjdb_choice_of(look, &look->db->perf, item->choice, &spare);
    entry->solver = choice->solver;
    entry->params = sjdb_text(look, item->value);
    entry->revision = choice->revision;
    entry->flags = choice->flags;
}

int skipjackdb_perf_entries(const skipjackdb *db, uint64_t number,
                            struct skipjackdb_perf_entry *entries, size_t entry_size, size_t room,
                            size_t *count)
{
    const struct sjdb_entries into = {entries, sizeof *entries, entry_size, room, fill_entry};
    return db == NULL ? SKIPJACKDB_USAGE : sjdb_set_entries(db, &db->perf, number, &into, count);
}

/* Reads the params that a solver has in the problem's perf-db row. */
static int row_params(const skipjackdb *db, const struct skipjackdb_problem *problem,
                      const char *solver, const char **params)
{
    struct sjdb_look look = {db, false};
    struct sjdb_items items;
    struct sjdb_item item;
    uint64_t number = 0;
    int code = skipjackdb_perf_find(db, problem, &number);
    if (code != SKIPJACKDB_OK) {
        return code;
    }
    sjdb_items_init(&look, &db->perf, number, &items);
    while (sjdb_items_next(&look, &items, &item)) {
        struct skipjackdb_perf_entry entry;
        fill_entry(&look, &item, &entry);
        if (!look.damaged && strcmp(entry.solver, solver) == 0) {
            *params = entry.params;
            return SKIPJACKDB_OK;
        }
    }
    return look.damaged ? SKIPJACKDB_DAMAGED : SKIPJACKDB_NOT_FOUND;
}

int skipjackdb_params(const skipjackdb *db, const struct skipjackdb_problem *problem,
                      const char *solver, const char **params)
{
    struct skipjackdb_solution solution;
    if (solver == NULL || params == NULL) {
        return SKIPJACKDB_USAGE;
    }
    int code = skipjackdb_solution(db, problem, solver, &solution, sizeof solution);
    if (code == SKIPJACKDB_NOT_FOUND) {
        return row_params(db, problem, solver, params);
    }
    if (code == SKIPJACKDB_OK && solution.params[0] == '\0') {
        return SKIPJACKDB_NOT_FOUND;
    }
    if (code == SKIPJACKDB_OK) {
        *params = solution.params;
    }
    return code;
}
