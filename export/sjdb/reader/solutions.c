/* Reads how solvers compute problems. A recipe has the launches of a solution, a launch its kernel
 * and argument values, a form what launches of different sizes share. All are records of LEB128
 * numbers. */
#include "export/sjdb/reader/view.h"

/* The part of a record that was not read yet. */
struct cursor {
    struct sjdb_look *look;
    const uint8_t *at, *end;
};

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

uint64_t skipjackdb_solved_count(const skipjackdb *db)
{
    return db == NULL ? 0 : db->solved.part[SJDB_PROBLEM_LISTS].count;
}

int skipjackdb_solved_at(const skipjackdb *db, uint64_t number, struct skipjackdb_problem *problem)
{
    if (db == NULL || !SJDB_SIZED(problem)) {
        return SKIPJACKDB_USAGE;
    }
    return sjdb_set_problem(db, &db->solved, number, problem);
}

int skipjackdb_solved_find(const skipjackdb *db, const struct skipjackdb_problem *problem,
                           uint64_t *number)
{
    if (db == NULL || !SJDB_SIZED(problem) || number == NULL ||
        memchr(problem->epilogue, '\0', sizeof problem->epilogue) == NULL) {
        return SKIPJACKDB_USAGE;
    }
    return sjdb_set_find(db, &db->solved, problem, number);
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

void sjdb_recipe_read(struct sjdb_look *look, uint64_t number, struct skipjackdb_solution *solution)
{
    struct cursor cursor = record_at(look, SJDB_RECIPE_STARTS, number);
    uint64_t params = take(&cursor);
    solution->number = number;
    solution->params = params == 0 ? "" : sjdb_text(look, params - 1);
    solution->workspace_bytes = take(&cursor);
    solution->launch_count = count_launches(cursor);
}

static void fill_solution(struct sjdb_look *look, const struct sjdb_item *item, void *room)
{
    struct skipjackdb_solution *solution = room;
    struct sjdb_choice spare;
    const struct sjdb_choice *choice =
        sjdb_choice_of(look, &look->db->solved, item->choice, &spare);
    memset(solution, 0, sizeof *solution);
    solution->solver = choice->solver;
    solution->revision = choice->revision;
    solution->flags = choice->flags;
    sjdb_recipe_read(look, item->value, solution);
}

int skipjackdb_solutions(const skipjackdb *db, uint64_t number,
                         struct skipjackdb_solution *solutions, size_t solution_size, size_t room,
                         size_t *count)
{
    const struct sjdb_entries into = {solutions, sizeof *solutions, solution_size, room,
                                      fill_solution};
    return db == NULL ? SKIPJACKDB_USAGE : sjdb_set_entries(db, &db->solved, number, &into, count);
}

int skipjackdb_solution(const skipjackdb *db, const struct skipjackdb_problem *problem,
                        const char *solver, struct skipjackdb_solution *solution,
                        size_t solution_size)
{
    struct sjdb_look look = {db, false};
    struct sjdb_items items;
    struct sjdb_item item;
    uint64_t number = 0;
    if (solver == NULL || solution == NULL || solution_size < sizeof *solution) {
        return SKIPJACKDB_USAGE;
    }
    int code = skipjackdb_solved_find(db, problem, &number);
    if (code != SKIPJACKDB_OK) {
        return code;
    }
    sjdb_items_init(&look, &db->solved, number, &items);
    while (sjdb_items_next(&look, &items, &item)) {
        struct skipjackdb_solution found;
        fill_solution(&look, &item, &found);
        if (!look.damaged && strcmp(found.solver, solver) == 0) {
            sjdb_hand_out(&found, sizeof found, solution, solution_size);
            return SKIPJACKDB_OK;
        }
    }
    return look.damaged ? SKIPJACKDB_DAMAGED : SKIPJACKDB_NOT_FOUND;
}

/* ---- launches ---- */

/* Reads the number of a launch's form, and from the form the kernel's entry, the block, the local
 * memory and the number of arguments. Returns the rest of the form's record: the kinds of the
 * arguments. */
static struct cursor take_form(struct cursor *cursor, struct skipjackdb_launch *launch)
{
    struct cursor form = record_at(cursor->look, SJDB_FORM_STARTS, take(cursor));
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
    *values = record_at(look, SJDB_LAUNCH_STARTS, number);
    launch->number = number;
    launch->kernel = take(values);
    *form = take_form(values, launch);
    for (int i = 0; i < 3; i++) {
        uint64_t groups = take_within(values, 1, INT64_MAX);
        if (__builtin_mul_overflow((int64_t)groups, (int64_t)launch->block[i], &launch->grid[i])) {
            look->damaged = true;
            launch->grid[i] = launch->block[i];
        }
    }
    look->damaged = look->damaged || launch->kernel >= skipjackdb_kernel_count(look->db);
}

int skipjackdb_launch_at(const skipjackdb *db, const struct skipjackdb_solution *solution,
                         uint32_t index, struct skipjackdb_launch *launch)
{
    struct sjdb_look look = {db, false};
    struct cursor values, form;
    if (db == NULL || solution == NULL || !SJDB_SIZED(launch)) {
        return SKIPJACKDB_USAGE;
    }
    if (index >= solution->launch_count) {
        return SKIPJACKDB_NOT_FOUND;
    }
    struct cursor cursor = record_at(&look, SJDB_RECIPE_STARTS, solution->number);
    for (uint32_t passed = 0; passed < index + 2; passed++) {
        take(&cursor); /* skips params, workspace, and the launches in front of the wanted one */
    }
    read_launch(&look, take(&cursor), launch, &values, &form);
    return look.damaged ? SKIPJACKDB_DAMAGED : SKIPJACKDB_OK;
}

/* ---- arguments ---- */

/* Multiplies modulo 2^64. The sizes come from the caller and may be any numbers, and a signed
 * product that is too large would be undefined. */
static int64_t times(int64_t one, int64_t other)
{
    return (int64_t)((uint64_t)one * (uint64_t)other);
}

/* For each layout its axes (0 N, 1 C, 2 D, 3 H, 4 W), the outermost first. */
static const uint8_t axis_orders[][5] = {
    [SKIPJACKDB_NCHW] = {0, 1, 2, 3, 4},   [SKIPJACKDB_NHWC] = {0, 2, 3, 4, 1},
    [SKIPJACKDB_CHWN] = {1, 2, 3, 4, 0},   [SKIPJACKDB_NCHWC4] = {0, 1, 2, 3, 4},
    [SKIPJACKDB_NCHWC8] = {0, 1, 2, 3, 4}, [SKIPJACKDB_CHWNC4] = {1, 2, 3, 4, 0},
    [SKIPJACKDB_CHWNC8] = {1, 2, 3, 4, 0}, [SKIPJACKDB_NCDHW] = {0, 1, 2, 3, 4},
    [SKIPJACKDB_NDHWC] = {0, 2, 3, 4, 1},
};
static const uint8_t channel_blocks[] = {
    [SKIPJACKDB_NCHW] = 1,   [SKIPJACKDB_NHWC] = 1,   [SKIPJACKDB_CHWN] = 1,
    [SKIPJACKDB_NCHWC4] = 4, [SKIPJACKDB_NCHWC8] = 8, [SKIPJACKDB_CHWNC4] = 4,
    [SKIPJACKDB_CHWNC8] = 8, [SKIPJACKDB_NCDHW] = 1,  [SKIPJACKDB_NDHWC] = 1,
};

static void tensor_sizes(const struct skipjackdb_problem *p, int32_t tensor, int64_t sizes[5])
{
    const int64_t *const spatial[] = {p->in, p->fil, p->out};
    sizes[0] = tensor == SKIPJACKDB_TENSOR_W ? p->k : p->n;
    sizes[1] = tensor == SKIPJACKDB_TENSOR_Y ? p->k : p->c;
    if (tensor == SKIPJACKDB_TENSOR_W && p->groups > 0) {
        sizes[1] = p->c / p->groups;
    }
    memcpy(sizes + 2, spatial[tensor], 3 * sizeof sizes[0]);
}

int skipjackdb_strides(const struct skipjackdb_problem *problem, int32_t tensor, int64_t strides[5],
                       int64_t *elements)
{
    int64_t sizes[5];
    if (!SJDB_SIZED(problem) || tensor < 0 || tensor > SKIPJACKDB_TENSOR_Y || strides == NULL ||
        problem->layout[tensor] < 0 || problem->layout[tensor] > SKIPJACKDB_NDHWC) {
        return SKIPJACKDB_USAGE;
    }
    int64_t stride = channel_blocks[problem->layout[tensor]];
    tensor_sizes(problem, tensor, sizes);
    sizes[1] = sizes[1] / stride + (sizes[1] % stride > 0);
    for (int i = 4; i >= 0; i--) {
        int axis = axis_orders[problem->layout[tensor]][i];
        strides[axis] = stride;
        stride = times(stride, sizes[axis]);
    }
    if (elements != NULL) {
        *elements = stride;
    }
    return SKIPJACKDB_OK;
}

/* Reads one argument: its kind from the form's record, its value from the launch's. */
static void take_arg(struct cursor *form, struct cursor *values, struct skipjackdb_arg *arg)
{
    uint32_t bits;
    memset(arg, 0, sizeof *arg);
    arg->kind = (int32_t)take_within(form, 0, SKIPJACKDB_ARG_STRIDE);
    switch (arg->kind) {
    case SKIPJACKDB_ARG_TENSOR:
        arg->tensor = (int32_t)take_within(form, 0, SKIPJACKDB_TENSOR_Y);
        return;
    case SKIPJACKDB_ARG_WORKSPACE: arg->value = (int64_t)take_within(values, 0, INT64_MAX); return;
    case SKIPJACKDB_ARG_FLOAT32:
        bits = (uint32_t)take_within(values, 0, UINT32_MAX);
        memcpy(&arg->real, &bits, sizeof arg->real);
        return;
    case SKIPJACKDB_ARG_STRIDE:
        arg->tensor = (int32_t)take_within(form, 0, SKIPJACKDB_TENSOR_Y);
        arg->axis = (int32_t)take_within(form, 0, 4);
        arg->factor = (int64_t)sjdb_unzigzag(take(form));
        return;
    default: arg->value = (int64_t)sjdb_unzigzag(take(values)); return;
    }
}

/* Reads all arguments. Returns false unless both records end with the last one. */
static bool read_args(struct sjdb_look *look, struct cursor *form, struct cursor *values,
                      const int64_t strides[3][5], uint32_t count, struct skipjackdb_arg *args,
                      size_t arg_size)
{
    for (uint32_t i = 0; i < count && !look->damaged; i++) {
        struct skipjackdb_arg arg;
        take_arg(form, values, &arg);
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

int skipjackdb_args(const skipjackdb *db, const struct skipjackdb_launch *launch,
                    const struct skipjackdb_problem *problem, struct skipjackdb_arg *args,
                    size_t arg_size, size_t room)
{
    struct sjdb_look look = {db, false};
    struct skipjackdb_launch again = {.size = sizeof again};
    struct cursor values, form;
    int64_t strides[3][5] = {{0}};
    if (db == NULL || !SJDB_SIZED(launch) || arg_size < sizeof *args || args == NULL) {
        return SKIPJACKDB_USAGE;
    }
    for (int32_t i = 0; problem != NULL && i < 3; i++) {
        if (skipjackdb_strides(problem, i, strides[i], NULL) != SKIPJACKDB_OK) {
            return SKIPJACKDB_USAGE;
        }
    }
    read_launch(&look, launch->number, &again, &values, &form);
    if (look.damaged) {
        return SKIPJACKDB_DAMAGED;
    }
    if (room < again.arg_count) {
        return SKIPJACKDB_SPACE;
    }
    return read_args(&look, &form, &values, strides, again.arg_count, args, arg_size)
               ? SKIPJACKDB_OK
               : SKIPJACKDB_DAMAGED;
}

/* ---- verifying ---- */

/* Checks that a launch can be read and names its kernel, and that each of its pointers into the
 * workspace is below workspace_bytes. */
static bool launch_holds(struct sjdb_look *look, uint64_t number, uint64_t workspace_bytes)
{
    static const int64_t strides[3][5];
    struct skipjackdb_launch launch = {.size = sizeof launch};
    struct skipjackdb_arg args[SKIPJACKDB_ARGS_MAX];
    struct cursor values, form;
    read_launch(look, number, &launch, &values, &form);
    if (look->damaged || launch.entry[0] == '\0' ||
        !read_args(look, &form, &values, strides, launch.arg_count, args, sizeof *args)) {
        return false;
    }
    for (uint32_t i = 0; i < launch.arg_count; i++) {
        if (args[i].kind == SKIPJACKDB_ARG_WORKSPACE &&
            (uint64_t)args[i].value >= workspace_bytes) {
            return false;
        }
    }
    return true;
}

/* Checks all launches, also those that no recipe refers to. */
static bool launches_hold(struct sjdb_look *look)
{
    uint64_t starts = look->db->single[SJDB_LAUNCH_STARTS].count;
    for (uint64_t i = 0; i + 1 < starts; i++) {
        if (!launch_holds(look, i, UINT64_MAX)) {
            return false;
        }
    }
    return true;
}

static bool recipes_hold(struct sjdb_look *look)
{
    uint64_t starts = look->db->single[SJDB_RECIPE_STARTS].count;
    for (uint64_t i = 0; i + 1 < starts; i++) {
        struct cursor cursor = record_at(look, SJDB_RECIPE_STARTS, i);
        struct skipjackdb_solution solution;
        sjdb_recipe_read(look, i, &solution);
        take(&cursor);
        take(&cursor);
        while (cursor.at < cursor.end) {
            if (!launch_holds(look, take(&cursor), solution.workspace_bytes)) {
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
    static const enum sjdb_kind kinds[] = {SJDB_RECIPE_STARTS, SJDB_LAUNCH_STARTS,
                                           SJDB_FORM_STARTS};
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
