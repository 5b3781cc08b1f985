/* Reads how solvers compute problems. A recipe has the launches of a solution, a launch its kernel
 * and argument values, a form what launches of different sizes share. All are records of LEB128
 * numbers. */
#include "export/sjdb/reader/choose.h"
#include "export/sjdb/reader/forms.h"

/* The part of a record that was not read yet. */
struct cursor {
    struct sjdb_look *look;
    const uint8_t *at, *end;
};

/* Returns how many records there are of a kind, given by the section of their offsets. */
static uint64_t count_of(const struct skipjackdb *db, enum sjdb_kind starts_kind)
{
    uint64_t starts = db->single[starts_kind].count;
    return starts > 0 ? starts - 1 : 0;
}

/* Returns the kind of the records with this number: `kind`, or the other one of solutions that 1.1
 * cannot run, whose numbers follow. Makes *number the number among its kind. */
static enum sjdb_kind kind_of(const struct skipjackdb *db, enum sjdb_kind kind, uint64_t *number)
{
    uint64_t count = count_of(db, kind);
    if (*number < count) {
        return kind;
    }
    *number -= count;
    return kind + (SJDB_OTHER_RECIPE_STARTS - SJDB_RECIPE_STARTS);
}

/* Returns the record with this number. starts_kind is the section of the records' offsets; the
 * section of their bytes comes right after it. */
static struct cursor record_at(struct sjdb_look *look, enum sjdb_kind starts_kind, uint64_t number)
{
    const struct sjdb_array *starts = &look->db->single[starts_kind];
    const struct sjdb_array *bytes = starts + 1;
    uint64_t begin = sjdb_get(look, starts, number);
    uint64_t end = sjdb_get(look, starts, number + 1);
    if (look->damaged || bytes->width != 8 || begin > end || end > bytes->count) {
        look->damaged = true;
        begin = end = 0;
    }
    return (struct cursor){look, bytes->bytes + begin, bytes->bytes + end};
}

static uint64_t take(struct cursor *cursor)
{
    uint64_t value = 0;
    for (uint32_t shift = 0; cursor->at < cursor->end && shift < 64; shift += 7) {
        uint8_t byte = *cursor->at++;
        uint64_t part = byte & 0x7f;
        if (part << shift >> shift != part) {
            break; /* refused: the number has more than 64 bits */
        }
        value |= part << shift;
        if (byte < 0x80) {
            return value;
        }
    }
    cursor->look->damaged = true;
    cursor->at = cursor->end;
    return 0;
}

/* Takes a number that must be between `least` and `most`; any other number marks the file as
 * damaged. */
static uint64_t take_within(struct cursor *cursor, uint64_t least, uint64_t most)
{
    uint64_t value = take(cursor);
    if (value < least || value > most) {
        cursor->look->damaged = true;
        return least;
    }
    return value;
}

/* ---- solutions ---- */

uint64_t skipjackdb_solved(const skipjackdb *db, size_t problem_size)
{
    if (db == NULL) {
        return 0;
    }
    bool all = problem_size >= sizeof(struct skipjackdb_problem);
    return sjdb_set_count(&db->solved) + (all ? sjdb_set_count(&db->other_solved) : 0);
}

uint64_t(skipjackdb_solved_count)(const skipjackdb *db)
{
    return skipjackdb_solved(db, SJDB_PROBLEM_1_1);
}

int skipjackdb_solved_at(const skipjackdb *db, uint64_t number, struct skipjackdb_problem *problem)
{
    struct skipjackdb_problem own = {.size = sizeof own};
    if (db == NULL || !sjdb_problem_sized(problem)) {
        return SKIPJACKDB_USAGE;
    }
    const struct sjdb_set *set = sjdb_set_of(&db->solved, &db->other_solved, &number);
    int code = sjdb_set_problem(db, set, number, &own);
    return code == SKIPJACKDB_OK ? sjdb_problem_give(&own, problem) : code;
}

int skipjackdb_solved_find(const skipjackdb *db, const struct skipjackdb_problem *problem,
                           uint64_t *number)
{
    struct skipjackdb_problem own;
    if (db == NULL || !sjdb_problem_sized(problem) || number == NULL ||
        !sjdb_problem_take(problem, &own)) {
        return SKIPJACKDB_USAGE;
    }
    return sjdb_sets_find(db, &db->solved, &db->other_solved, &own, number);
}

int skipjackdb_solved_other(const skipjackdb *db, const struct skipjackdb_problem *problem,
                            uint64_t *other)
{
    struct skipjackdb_problem own;
    char form[SJDB_FORM_MAX];
    uint64_t number = 0;
    if (db == NULL || !sjdb_problem_sized(problem) || other == NULL ||
        !sjdb_problem_take(problem, &own) || !sjdb_form_write(&own, form)) {
        return SKIPJACKDB_USAGE;
    }
    if (form[0] != '\0' && form[0] != '+') {
        return SKIPJACKDB_NOT_FOUND; /* all of its solutions are in one set */
    }
    int code = sjdb_set_find(db, &db->solved, &own, form, &number);
    if (code == SKIPJACKDB_OK) {
        code = sjdb_set_find(db, &db->other_solved, &own, form, &number);
        *other = number + sjdb_set_count(&db->solved);
    }
    return code;
}

/* Returns how many launches a recipe's record lists. A number outside 1 to SKIPJACKDB_LAUNCHES_MAX
 * marks the file as damaged. */
static uint32_t count_launches(struct cursor launches)
{
    uint32_t count = 0;
    for (; launches.at < launches.end && count <= SKIPJACKDB_LAUNCHES_MAX; count++) {
        take(&launches);
    }
    if (count == 0 || count > SKIPJACKDB_LAUNCHES_MAX) {
        launches.look->damaged = true;
    }
    return count;
}

/* Reads a recipe up to its launches, which the returned record goes on with. */
static struct cursor take_recipe(struct sjdb_look *look, uint64_t number,
                                 struct skipjackdb_solution *solution)
{
    uint64_t at = number;
    enum sjdb_kind kind = kind_of(look->db, SJDB_RECIPE_STARTS, &at);
    struct cursor cursor = record_at(look, kind, at);
    uint64_t params = take(&cursor);
    solution->number = number;
    solution->params = params == 0 ? "" : sjdb_text(look, params - 1);
    solution->workspace_bytes = take(&cursor);
    solution->packed_bytes = 0;
    solution->pack_count = 0;
    if (kind == SJDB_OTHER_RECIPE_STARTS) {
        solution->pack_count = (uint32_t)take_within(&cursor, 0, SKIPJACKDB_LAUNCHES_MAX - 1);
        solution->packed_bytes = take_within(&cursor, 0, INT64_MAX);
    }
    return cursor;
}

void sjdb_recipe_read(struct sjdb_look *look, uint64_t number, struct skipjackdb_solution *solution)
{
    solution->launch_count = count_launches(take_recipe(look, number, solution));
    /* at least one launch runs after the packing ones */
    if (solution->pack_count >= solution->launch_count ||
        (solution->pack_count > 0) != (solution->packed_bytes > 0)) {
        look->damaged = true;
    }
}

uint64_t sjdb_recipe_of(const struct skipjackdb *db, const struct sjdb_item *item)
{
    uint64_t recipes = item->set != &db->solved ? count_of(db, SJDB_RECIPE_STARTS) : 0;
    return item->value > UINT64_MAX - recipes ? UINT64_MAX : item->value + recipes;
}

bool sjdb_recipe_is_other(const struct skipjackdb *db, uint64_t number)
{
    return number >= count_of(db, SJDB_RECIPE_STARTS);
}

static void fill_solution(struct sjdb_look *look, const struct sjdb_item *item, void *room)
{
    struct skipjackdb_solution *solution = room;
    struct sjdb_choice spare;
    const struct sjdb_choice *choice = sjdb_choice_of(look, item->set, item->choice, &spare);
    memset(solution, 0, sizeof *solution);
    solution->solver = choice->solver;
    solution->revision = choice->revision;
    solution->flags = choice->flags;
    sjdb_recipe_read(look, sjdb_recipe_of(look->db, item), solution);
}

/* The same for a caller whose struct is from before 1.2. */
static void fill_solution_1_1(struct sjdb_look *look, const struct sjdb_item *item, void *room)
{
    struct skipjackdb_solution solution;
    fill_solution(look, item, &solution);
    memcpy(room, &solution, SJDB_SOLUTION_1_1);
}

int skipjackdb_solutions(const skipjackdb *db, uint64_t number,
                         struct skipjackdb_solution *solutions, size_t solution_size, size_t room,
                         size_t *count)
{
    bool old = solution_size < sizeof *solutions;
    const struct sjdb_entries into = {solutions, old ? SJDB_SOLUTION_1_1 : sizeof *solutions,
                                      solution_size, room, old ? fill_solution_1_1 : fill_solution};
    if (db == NULL) {
        return SKIPJACKDB_USAGE;
    }
    const struct sjdb_set *set = sjdb_set_of(&db->solved, &db->other_solved, &number);
    int code = sjdb_set_entries(db, set, number, &into, count);
    if (code == SKIPJACKDB_OK && old && set == &db->other_solved) {
        *count = 0; /* the caller cannot run them */
    }
    return code;
}

/* Finds the first solution of the set's problem with this number that is of this solver (NULL for any) and config
 * (`params`, NULL for any). */
static int find_solution(const skipjackdb *db, const struct sjdb_set *set, uint64_t number,
                         const char *solver, const char *params, struct skipjackdb_solution *found)
{
    struct sjdb_look look = {db, false};
    struct sjdb_items items;
    struct sjdb_item item;
    sjdb_items_init(&look, set, number, &items);
    while (sjdb_items_next(&look, &items, &item)) {
        fill_solution(&look, &item, found);
        if (!look.damaged && (solver == NULL || strcmp(found->solver, solver) == 0) &&
            (params == NULL || strcmp(found->params, params) == 0)) {
            return SKIPJACKDB_OK;
        }
    }
    return look.damaged ? SKIPJACKDB_DAMAGED : SKIPJACKDB_NOT_FOUND;
}

/* Finds the solver's measured solution of the problem with this number. */
static int solution_of(const skipjackdb *db, uint64_t number, const char *solver,
                       struct skipjackdb_solution *found)
{
    const struct sjdb_set *set = sjdb_set_of(&db->solved, &db->other_solved, &number);
    return find_solution(db, set, number, solver, NULL, found);
}

int skipjackdb_solution(const skipjackdb *db, const struct skipjackdb_problem *problem,
                        const char *solver, struct skipjackdb_solution *solution,
                        size_t solution_size)
{
    struct skipjackdb_solution found;
    uint64_t number = 0;
    if (solver == NULL || solution == NULL || solution_size < SJDB_SOLUTION_1_1) {
        return SKIPJACKDB_USAGE;
    }
    int code = skipjackdb_solved_find(db, problem, &number);
    if (code != SKIPJACKDB_OK) {
        return code;
    }
    code = solution_of(db, number, solver, &found);
    if (code == SKIPJACKDB_NOT_FOUND) {
        code = skipjackdb_solved_other(db, problem, &number);
        code = code == SKIPJACKDB_OK ? solution_of(db, number, solver, &found) : code;
    }
    if (code != SKIPJACKDB_OK) {
        return code;
    }
    if (solution_size < sizeof found) {
        if (sjdb_recipe_is_other(db, found.number)) {
            return SKIPJACKDB_NOT_FOUND; /* the caller cannot run it */
        }
        memcpy(solution, &found, SJDB_SOLUTION_1_1);
        return SKIPJACKDB_OK;
    }
    sjdb_hand_out(&found, sizeof found, solution, solution_size);
    return SKIPJACKDB_OK;
}

/* ---- solutions that were never measured ---- */

uint64_t skipjackdb_unmeasured(const skipjackdb *db, size_t problem_size)
{
    return db != NULL && problem_size >= sizeof(struct skipjackdb_problem)
               ? sjdb_set_count(&db->unmeasured)
               : 0;
}

int skipjackdb_unmeasured_at(const skipjackdb *db, uint64_t number,
                             struct skipjackdb_problem *problem)
{
    struct skipjackdb_problem own = {.size = sizeof own};
    if (db == NULL || !sjdb_problem_sized(problem)) {
        return SKIPJACKDB_USAGE;
    }
    int code = sjdb_set_problem(db, &db->unmeasured, number, &own);
    return code == SKIPJACKDB_OK ? sjdb_problem_give(&own, problem) : code;
}

int skipjackdb_unmeasured_find(const skipjackdb *db, const struct skipjackdb_problem *problem,
                               uint64_t *number)
{
    struct skipjackdb_problem own;
    char form[SJDB_FORM_MAX];
    if (db == NULL || !sjdb_problem_sized(problem) || number == NULL ||
        !sjdb_problem_take(problem, &own)) {
        return SKIPJACKDB_USAGE;
    }
    return sjdb_form_write(&own, form) ? sjdb_set_find(db, &db->unmeasured, &own, form, number)
                                       : SKIPJACKDB_NOT_FOUND;
}

int skipjackdb_unmeasured_solutions(const skipjackdb *db, uint64_t number,
                                    struct skipjackdb_solution *solutions, size_t solution_size,
                                    size_t room, size_t *count)
{
    const struct sjdb_entries into = {solutions, sizeof *solutions, solution_size, room,
                                      fill_solution};
    return db != NULL ? sjdb_set_entries(db, &db->unmeasured, number, &into, count)
                      : SKIPJACKDB_USAGE;
}

int skipjackdb_unmeasured_solution(const skipjackdb *db, const struct skipjackdb_problem *problem,
                                   const char *solver, const char *params,
                                   struct skipjackdb_solution *solution, size_t solution_size)
{
    struct skipjackdb_solution found;
    uint64_t number = 0;
    if (solution == NULL || solution_size < sizeof found || (solver == NULL && params != NULL)) {
        return SKIPJACKDB_USAGE;
    }
    int code = skipjackdb_unmeasured_find(db, problem, &number);
    if (code == SKIPJACKDB_OK) {
        code = find_solution(db, &db->unmeasured, number, solver, params, &found);
    }
    if (code == SKIPJACKDB_OK) {
        sjdb_hand_out(&found, sizeof found, solution, solution_size);
    }
    return code;
}

int sjdb_unmeasured_each(const struct skipjackdb *db, uint64_t number,
                         void (*visit)(void *context, const struct skipjackdb_solution *solution),
                         void *context)
{
    struct sjdb_look look = {db, false};
    struct skipjackdb_solution found;
    struct sjdb_items items;
    struct sjdb_item item;
    sjdb_items_init(&look, &db->unmeasured, number, &items);
    while (sjdb_items_next(&look, &items, &item)) {
        fill_solution(&look, &item, &found);
        if (!look.damaged) {
            visit(context, &found);
        }
    }
    return look.damaged ? SKIPJACKDB_DAMAGED : SKIPJACKDB_OK;
}

/* ---- launches ---- */

/* Reads the number of a launch's form, and from the form the kernel's entry, the block, the local
 * memory and the number of arguments. Returns the rest of the form's record: the kinds of the
 * arguments. */
static struct cursor take_form(struct cursor *cursor, bool other, struct skipjackdb_launch *launch)
{
    enum sjdb_kind forms = other ? SJDB_OTHER_FORM_STARTS : SJDB_FORM_STARTS;
    struct cursor form = record_at(cursor->look, forms, take(cursor));
    launch->entry = sjdb_text(cursor->look, take(&form));
    for (int i = 0; i < 3; i++) {
        launch->block[i] = (int32_t)take_within(&form, 1, INT32_MAX);
    }
    launch->local_bytes = take(&form);
    launch->arg_count = (uint32_t)take_within(&form, 0, SKIPJACKDB_ARGS_MAX);
    return form;
}

/* Reads a launch up to its arguments. *form then holds the kinds of the arguments, *values their
 * values. */
static void read_launch(struct sjdb_look *look, uint64_t number, struct skipjackdb_launch *launch,
                        struct cursor *values, struct cursor *form)
{
    uint64_t at = number;
    enum sjdb_kind kind = kind_of(look->db, SJDB_LAUNCH_STARTS, &at);
    *values = record_at(look, kind, at);
    launch->number = number;
    launch->kernel = take(values);
    *form = take_form(values, kind == SJDB_OTHER_LAUNCH_STARTS, launch);
    for (int i = 0; i < 3; i++) {
        uint64_t groups = take_within(values, 1, INT64_MAX);
        if (__builtin_mul_overflow((int64_t)groups, (int64_t)launch->block[i], &launch->grid[i])) {
            look->damaged = true;
            launch->grid[i] = launch->block[i];
        }
    }
    look->damaged = look->damaged || launch->kernel >= skipjackdb_kernel_count(look->db);
}

/* Takes a launch's number from a recipe: records of other solutions count their launches from 0. */
static uint64_t take_launch(struct cursor *recipe, bool other)
{
    uint64_t launches = other ? count_of(recipe->look->db, SJDB_LAUNCH_STARTS) : 0;
    uint64_t number = take(recipe);
    return number > UINT64_MAX - launches ? UINT64_MAX : number + launches;
}

int skipjackdb_launch_at(const skipjackdb *db, const struct skipjackdb_solution *solution,
                         uint32_t index, struct skipjackdb_launch *launch)
{
    struct sjdb_look look = {db, false};
    struct skipjackdb_solution again;
    struct cursor values, form;
    if (db == NULL || solution == NULL || !SJDB_SIZED(launch)) {
        return SKIPJACKDB_USAGE;
    }
    if (index >= solution->launch_count) {
        return SKIPJACKDB_NOT_FOUND;
    }
    struct cursor cursor = take_recipe(&look, solution->number, &again);
    for (uint32_t passed = 0; passed < index; passed++) {
        take(&cursor);
    }
    bool other = sjdb_recipe_is_other(db, solution->number);
    read_launch(&look, take_launch(&cursor, other), launch, &values, &form);
    return look.damaged ? SKIPJACKDB_DAMAGED : SKIPJACKDB_OK;
}

/* ---- arguments ---- */

/* Multiplies modulo 2^64. The sizes come from the caller and may be any numbers, and a signed
 * product that is too large would be undefined. */
static int64_t times(int64_t one, int64_t other)
{
    return (int64_t)((uint64_t)one * (uint64_t)other);
}

/* The strides of the tensors that may be strided: x, w, y and the residual. */
#define STRIDED 4

/* Reads one argument: its kind from the form's record, its value from the launch's. `other`: the
 * launch is one that 1.1 cannot run, so it may have all operands. */
static void take_arg(struct cursor *form, struct cursor *values, bool other,
                     struct skipjackdb_arg *arg)
{
    uint32_t bits;
    memset(arg, 0, sizeof *arg);
    arg->kind = (int32_t)take_within(form, 0, SKIPJACKDB_ARG_STRIDE);
    switch (arg->kind) {
    case SKIPJACKDB_ARG_TENSOR:
        arg->tensor =
            (int32_t)take_within(form, 0, other ? SKIPJACKDB_TENSOR_PACKED : SKIPJACKDB_TENSOR_Y);
        return;
    case SKIPJACKDB_ARG_WORKSPACE: arg->value = (int64_t)take_within(values, 0, INT64_MAX); return;
    case SKIPJACKDB_ARG_FLOAT32:
        bits = (uint32_t)take_within(values, 0, UINT32_MAX);
        memcpy(&arg->real, &bits, sizeof arg->real);
        return;
    case SKIPJACKDB_ARG_STRIDE:
        arg->tensor =
            (int32_t)take_within(form, 0, other ? SKIPJACKDB_TENSOR_RESIDUAL : SKIPJACKDB_TENSOR_Y);
        arg->axis = (int32_t)take_within(form, 0, 4);
        arg->factor = (int64_t)sjdb_unzigzag(take(form));
        return;
    default: arg->value = (int64_t)sjdb_unzigzag(take(values)); return;
    }
}

/* Reads all arguments. Returns false unless both records end with the last one. */
static bool read_args(struct sjdb_look *look, struct cursor *form, struct cursor *values,
                      const int64_t strides[STRIDED][5], bool other, uint32_t count,
                      struct skipjackdb_arg *args, size_t arg_size)
{
    for (uint32_t i = 0; i < count && !look->damaged; i++) {
        struct skipjackdb_arg arg;
        take_arg(form, values, other, &arg);
        if (arg.kind == SKIPJACKDB_ARG_STRIDE) {
            arg.value = times(strides[arg.tensor][arg.axis], arg.factor);
        }
        if (arg.kind == SKIPJACKDB_ARG_INT32 && arg.value != (int32_t)arg.value) {
            look->damaged = true;
        }
        sjdb_hand_out(&arg, sizeof arg, (char *)args + i * arg_size, arg_size);
    }
    return !look->damaged && form->at == form->end && values->at == values->end;
}

/* Sets the strides of all tensors of the problem; 0 for those that it lacks. */
static bool all_strides(const struct skipjackdb_problem *p, int64_t strides[STRIDED][5])
{
    for (int32_t i = 0; i < STRIDED; i++) {
        struct skipjackdb_operand operand = {.size = sizeof operand};
        int code = skipjackdb_operand_at(p, i, &operand);
        if (code == SKIPJACKDB_OK) {
            memcpy(strides[i], operand.strides, sizeof operand.strides);
        } else if (code == SKIPJACKDB_USAGE) {
            return false;
        }
    }
    return true;
}

int skipjackdb_args(const skipjackdb *db, const struct skipjackdb_launch *launch,
                    const struct skipjackdb_problem *problem, struct skipjackdb_arg *args,
                    size_t arg_size, size_t room)
{
    struct sjdb_look look = {db, false};
    struct skipjackdb_launch again = {.size = sizeof again};
    struct cursor values, form;
    struct skipjackdb_problem own;
    int64_t strides[STRIDED][5] = {{0}};
    if (db == NULL || !SJDB_SIZED(launch) || arg_size < sizeof *args || args == NULL) {
        return SKIPJACKDB_USAGE;
    }
    if (problem != NULL && (!sjdb_problem_sized(problem) || !sjdb_problem_take(problem, &own) ||
                            !all_strides(&own, strides))) {
        return SKIPJACKDB_USAGE;
    }
    read_launch(&look, launch->number, &again, &values, &form);
    if (look.damaged) {
        return SKIPJACKDB_DAMAGED;
    }
    if (room < again.arg_count) {
        return SKIPJACKDB_SPACE;
    }
    bool other = launch->number >= count_of(db, SJDB_LAUNCH_STARTS);
    return read_args(&look, &form, &values, strides, other, again.arg_count, args, arg_size)
               ? SKIPJACKDB_OK
               : SKIPJACKDB_DAMAGED;
}

/* ---- verifying ---- */

/* Checks that a launch can be read and names its kernel, that each of its pointers into the
 * workspace is below workspace_bytes, and that it has a packed filter only if the solution packs
 * one. */
static bool launch_holds(struct sjdb_look *look, uint64_t number, uint64_t workspace_bytes,
                         bool packs)
{
    static const int64_t strides[STRIDED][5];
    bool other = number >= count_of(look->db, SJDB_LAUNCH_STARTS);
    struct skipjackdb_launch launch = {.size = sizeof launch};
    struct skipjackdb_arg args[SKIPJACKDB_ARGS_MAX];
    struct cursor values, form;
    read_launch(look, number, &launch, &values, &form);
    if (look->damaged || launch.entry[0] == '\0' ||
        !read_args(look, &form, &values, strides, other, launch.arg_count, args, sizeof *args)) {
        return false;
    }
    for (uint32_t i = 0; i < launch.arg_count; i++) {
        if (args[i].kind == SKIPJACKDB_ARG_WORKSPACE &&
            (uint64_t)args[i].value >= workspace_bytes) {
            return false;
        }
        if (args[i].kind == SKIPJACKDB_ARG_TENSOR && args[i].tensor == SKIPJACKDB_TENSOR_PACKED &&
            !packs) {
            return false;
        }
    }
    return true;
}

/* Checks all launches, also those that no recipe refers to. */
static bool launches_hold(struct sjdb_look *look)
{
    uint64_t count =
        count_of(look->db, SJDB_LAUNCH_STARTS) + count_of(look->db, SJDB_OTHER_LAUNCH_STARTS);
    for (uint64_t i = 0; i < count; i++) {
        if (!launch_holds(look, i, UINT64_MAX, true)) {
            return false;
        }
    }
    return true;
}

static bool recipes_hold(struct sjdb_look *look)
{
    uint64_t count =
        count_of(look->db, SJDB_RECIPE_STARTS) + count_of(look->db, SJDB_OTHER_RECIPE_STARTS);
    for (uint64_t i = 0; i < count; i++) {
        struct skipjackdb_solution solution;
        bool other = sjdb_recipe_is_other(look->db, i);
        sjdb_recipe_read(look, i, &solution);
        struct cursor cursor = take_recipe(look, i, &solution);
        while (cursor.at < cursor.end) {
            if (!launch_holds(look, take_launch(&cursor, other), solution.workspace_bytes,
                              solution.packed_bytes > 0)) {
                return false;
            }
        }
        if (look->damaged) {
            return false;
        }
    }
    return true;
}

int sjdb_verify_solutions(const struct skipjackdb *db)
{
    static const enum sjdb_kind kinds[] = {SJDB_RECIPE_STARTS,       SJDB_LAUNCH_STARTS,
                                           SJDB_FORM_STARTS,         SJDB_OTHER_RECIPE_STARTS,
                                           SJDB_OTHER_LAUNCH_STARTS, SJDB_OTHER_FORM_STARTS};
    struct sjdb_look look = {db, false};
    bool whole = true;
    for (size_t i = 0; whole && i < sizeof kinds / sizeof kinds[0]; i++) {
        const struct sjdb_array *starts = &db->single[kinds[i]];
        whole =
            starts->count == 0 ? starts[1].count == 0 : sjdb_starts_hold(&look, starts, starts + 1);
    }
    return whole && launches_hold(&look) && recipes_hold(&look) ? SKIPJACKDB_OK
                                                                : SKIPJACKDB_DAMAGED;
}
