#include "export/sjdb/sjdb_write.h"

#include "export/formats/perf_db.h"
#include "export/sjdb/sjdb_kernels.h"
#include "export/sjdb/sjdb_recipes.h"
#include "export/sjdb/sjdb_set.h"

#include <math.h>
#include <string.h>

/* Enums of the reader and of solvers/ must have equal numbers, since fields are copied
 * unchanged. */
_Static_assert((int)DIRECTION_F == SKIPJACKDB_F && (int)DIRECTION_W == SKIPJACKDB_W, "directions");
_Static_assert((int)TYPE_NONE == SKIPJACKDB_NO_TYPE && (int)TYPE_BF8 == SKIPJACKDB_BF8, "types");
_Static_assert((int)LAYOUT_NCHW == SKIPJACKDB_NCHW && (int)LAYOUT_NDHWC == SKIPJACKDB_NDHWC,
               "layouts");
_Static_assert(EPILOGUE_MAX == SKIPJACKDB_EPILOGUE_MAX && OP_MODE_MAX == SKIPJACKDB_MODE_MAX &&
                   PROBLEM_KEY_MAX <= SKIPJACKDB_KEY_MAX,
               "texts");
_Static_assert(SJDB_UNMEASURED_MAX <= SJDB_LIST_MAX, "what a reader takes");
_Static_assert((int)OP_CONV == SKIPJACKDB_CONV && (int)OP_LRN == SKIPJACKDB_LRN, "kinds");
_Static_assert((int)EPILOGUE_BIAS == SKIPJACKDB_STEP_BIAS &&
                   (int)EPILOGUE_RELU == SKIPJACKDB_STEP_RELU &&
                   (int)EPILOGUE_GELU == SKIPJACKDB_STEP_GELU,
               "steps");
/* The classes of an epilogue's steps are flags of the solvers that do them. */
#define CLASS_FLAG 16
_Static_assert(EPILOGUE_DOES_BIAS *CLASS_FLAG == SKIPJACKDB_DOES_BIAS &&
                   EPILOGUE_DOES_ACTIVATION * CLASS_FLAG == SKIPJACKDB_DOES_ACTIVATION &&
                   EPILOGUE_DOES_RESIDUAL * CLASS_FLAG == SKIPJACKDB_DOES_RESIDUAL &&
                   EPILOGUE_DOES_SCALES * CLASS_FLAG == SKIPJACKDB_DOES_SCALES &&
                   EPILOGUE_DOES_ANY_RESIDUAL * CLASS_FLAG == SKIPJACKDB_DOES_ANY_RESIDUAL,
               "classes of epilogues");

/* Texts or names, each distinct one once, with ids in the order in which they were added. */
struct names {
    GHashTable *ids;
    GPtrArray *names;
};

struct solver_facts {
    uint64_t revision, flags;
};

struct sjdb_writer {
    struct names texts, solvers;
    GArray *facts; /* struct solver_facts (revision, dynamic, tunable), by the solver's id */
    char *path, *meta;
    struct sjdb_set_builder find, perf, solved, other_find, other_solved, unmeasured;
    struct sjdb_kernels kernels;
    struct sjdb_recipes recipes, other_recipes;
    /* The never-measured solutions of the problem whose solutions are being added, and what was added of it:
     * the ids of solver and params, which tell them apart. `items` is empty before the first one. */
    struct problem open;
    GArray *items; /* struct sjdb_set_item */
    GArray *added; /* struct config_id */
};

struct config_id {
    guint32 solver;
    uint64_t params;
};

static void names_init(struct names *names)
{
    names->ids = g_hash_table_new(g_str_hash, g_str_equal);
    names->names = g_ptr_array_new_with_free_func(g_free);
}

static void names_clear(struct names *names)
{
    g_clear_pointer(&names->ids, g_hash_table_unref);
    g_clear_pointer(&names->names, g_ptr_array_unref);
}

static guint32 names_add(struct names *names, const char *name)
{
    gpointer id = NULL;
    if (!g_hash_table_lookup_extended(names->ids, name, NULL, &id)) {
        char *copy = g_strdup(name);
        id = GUINT_TO_POINTER(names->names->len);
        g_ptr_array_add(names->names, copy);
        g_hash_table_insert(names->ids, copy, id);
    }
    return GPOINTER_TO_UINT(id);
}

static gint compare_names(gconstpointer a, gconstpointer b, gpointer data)
{
    const GPtrArray *names = data;
    return strcmp(names->pdata[*(const guint32 *)a], names->pdata[*(const guint32 *)b]);
}

/* Returns the ids in the order of the names. */
static GArray *names_order(const struct names *names)
{
    GArray *order = g_array_new(FALSE, FALSE, sizeof(guint32));
    for (guint32 i = 0; i < names->names->len; i++) {
        g_array_append_val(order, i);
    }
    g_array_sort_with_data(order, compare_names, names->names);
    return order;
}

SjdbWriter *sjdb_writer_new(const char *path)
{
    SjdbWriter *writer = g_new0(SjdbWriter, 1);
    names_init(&writer->texts);
    names_init(&writer->solvers);
    writer->facts = g_array_new(FALSE, TRUE, sizeof(struct solver_facts));
    sjdb_set_builder_init(&writer->find, path);
    sjdb_set_builder_init(&writer->perf, path);
    sjdb_set_builder_init(&writer->solved, path);
    sjdb_set_builder_init(&writer->other_find, path);
    sjdb_set_builder_init(&writer->other_solved, path);
    sjdb_set_builder_init(&writer->unmeasured, path);
    writer->items = g_array_new(FALSE, TRUE, sizeof(struct sjdb_set_item));
    writer->added = g_array_new(FALSE, FALSE, sizeof(struct config_id));
    sjdb_kernels_init(&writer->kernels, path);
    sjdb_recipes_init(&writer->recipes, path, false);
    sjdb_recipes_init(&writer->other_recipes, path, true);
    writer->path = g_strdup(path);
    return writer;
}

void sjdb_writer_free(SjdbWriter *writer)
{
    names_clear(&writer->texts);
    names_clear(&writer->solvers);
    g_array_unref(writer->facts);
    g_free(writer->meta);
    sjdb_set_builder_clear(&writer->find);
    sjdb_set_builder_clear(&writer->perf);
    sjdb_set_builder_clear(&writer->solved);
    sjdb_set_builder_clear(&writer->other_find);
    sjdb_set_builder_clear(&writer->other_solved);
    sjdb_set_builder_clear(&writer->unmeasured);
    g_array_unref(writer->items);
    g_array_unref(writer->added);
    sjdb_kernels_clear(&writer->kernels);
    sjdb_recipes_clear(&writer->recipes);
    sjdb_recipes_clear(&writer->other_recipes);
    g_free(writer->path);
    g_free(writer);
}

void sjdb_writer_set_meta(SjdbWriter *writer, const char *json)
{
    g_free(writer->meta);
    writer->meta = g_strdup(json);
}

static guint32 add_solver(SjdbWriter *writer, const char *name)
{
    guint32 id = names_add(&writer->solvers, name);
    names_add(&writer->texts, name);
    g_array_set_size(writer->facts, writer->solvers.names->len);
    return id;
}

uint32_t sjdb_known_flags(bool dynamic, bool tunable)
{
    return SKIPJACKDB_FLAGS_KNOWN | (dynamic ? SKIPJACKDB_DYNAMIC : 0) |
           (tunable ? SKIPJACKDB_TUNABLE : 0);
}

uint32_t sjdb_solver_flags(const struct solver *solver)
{
    return sjdb_known_flags(solver->dynamic, solver->space != NULL) | SKIPJACKDB_FORMS_KNOWN |
           (solver->any_strides ? SKIPJACKDB_ANY_STRIDES : 0) |
           (solver->own_strides ? SKIPJACKDB_OWN_STRIDES : 0) | solver->epilogues * CLASS_FLAG;
}

void sjdb_writer_set_solver(SjdbWriter *writer, const char *name, unsigned revision, uint32_t flags)
{
    guint32 id = add_solver(writer, name);
    g_array_index(writer->facts, struct solver_facts, id) =
        (struct solver_facts){.revision = revision, .flags = flags};
}

/* Adds a text and returns its id + 1; 0 for NULL or "". */
static uint64_t add_text(SjdbWriter *writer, const char *text)
{
    return text == NULL || text[0] == '\0' ? 0 : 1 + (uint64_t)names_add(&writer->texts, text);
}

static void to_reader(const struct problem *p, struct skipjackdb_problem *q)
{
    skipjackdb_problem_init(q);
    q->n = p->n;
    q->c = p->c;
    q->k = p->k;
    q->groups = p->groups;
    q->spatial_dim = p->spatial_dim;
    q->direction = (int32_t)p->direction;
    q->bias = p->bias;
    for (int i = 0; i < AXIS_COUNT; i++) {
        q->in[i] = p->in[i];
        q->fil[i] = p->fil[i];
        q->out[i] = p->out[i];
        q->pad[i] = p->pad[i];
        q->stride[i] = p->stride[i];
        q->dilation[i] = p->dilation[i];
    }
    for (int t = 0; t < TENSOR_COUNT; t++) {
        q->type[t] = (int32_t)p->type[t];
        q->cast[t] = (int32_t)p->cast[t];
        q->layout[t] = (int32_t)p->layout[t];
    }
    g_strlcpy(q->epilogue, p->epilogue, sizeof q->epilogue);
    q->kind = (int32_t)p->kind;
    g_strlcpy(q->mode, p->mode, sizeof q->mode);
    memcpy(q->strides, p->strides, sizeof q->strides);
}

/* Adds the text of the problem's form and returns its id + 1; 0 for a packed convolution without
 * epilogue. */
static uint64_t add_form(SjdbWriter *writer, const struct skipjackdb_problem *problem)
{
    char form[SJDB_FORM_MAX];
    bool fits = sjdb_form_write(problem, form); /* all valid problems do */
    g_assert(fits);
    return add_text(writer, form);
}

static bool check_interval(const struct sjdb_find_entry *entry, GError **error)
{
    bool none = entry->low_ms == 0 && entry->high_ms == 0;
    if (none || (entry->low_ms > 0 && entry->low_ms <= entry->time_ms &&
                 entry->time_ms <= entry->high_ms && isfinite(entry->high_ms))) {
        return true;
    }
    g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_SYNTAX,
                "the time of '%s', %g ms, is not in its interval, %g to %g ms", entry->solver,
                entry->time_ms, entry->low_ms, entry->high_ms);
    return false;
}

bool sjdb_writer_add_find(SjdbWriter *writer, const struct problem *problem,
                          const struct sjdb_find_entry *entries, gsize count, GError **error)
{
    struct skipjackdb_problem read = {.size = sizeof read};
    if (count == 0 || count > SJDB_LIST_MAX) {
        g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_SYNTAX,
                    "a problem has %" G_GSIZE_FORMAT " entries: a .sjdb holds 1 to %d of one",
                    count, SJDB_LIST_MAX);
        return false;
    }
    for (gsize i = 0; i < count; i++) {
        if (!check_interval(&entries[i], error)) {
            return false;
        }
    }
    to_reader(problem, &read);
    uint64_t form = add_form(writer, &read);
    struct sjdb_set_builder *set = form == 0 ? &writer->find : &writer->other_find;
    g_autofree struct sjdb_set_item *items = g_new0(struct sjdb_set_item, count);
    for (gsize i = 0; i < count; i++) {
        const uint64_t choice[CHOICE_FIELDS] = {
            [CHOICE_SOLVER] = add_solver(writer, entries[i].solver),
            [CHOICE_ALGORITHM] = add_text(writer, entries[i].algorithm),
            [CHOICE_LIBRARY] = add_text(writer, entries[i].library),
            /* Whether the entry needs no workspace is part of its choice. Most need none, and then
             * their payload has no bits for it. */
            [CHOICE_IDLE] = entries[i].workspace_bytes == 0,
        };
        items[i].choice = sjdb_rows_add(&set->choices, choice);
        items[i].time_ms = entries[i].time_ms;
        items[i].value = entries[i].workspace_bytes;
        items[i].low_ms = entries[i].low_ms;
        items[i].high_ms = entries[i].high_ms;
    }
    sjdb_set_add(set, &read, form, items, count);
    return true;
}

/* Makes the problem that represents the row in the file: fields that a row lacks get fixed
 * values. */
static bool row_problem(const struct perf_row *row, struct problem *problem, GError **error)
{
    struct perf_row again;
    if (!perf_row_to_problem(row, problem, error)) {
        return false;
    }
    perf_row_from_problem(problem, &again);
    if (!perf_row_equal(row, &again)) {
        char key[PROBLEM_KEY_MAX], other[PROBLEM_KEY_MAX];
        g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_SYNTAX,
                    "the row '%s' is that of no problem: its nearest has '%s'",
                    perf_row_key(row, key), perf_row_key(&again, other));
        return false;
    }
    return true;
}

/* Finds where the solver's answer for the problem is added. Returns false if the solver has one
 * already. */
static bool find_place(SjdbWriter *writer, struct sjdb_set_builder *set,
                       const struct problem *problem, guint32 solver, struct sjdb_set_place *place)
{
    struct skipjackdb_problem read = {.size = sizeof read};
    to_reader(problem, &read);
    return sjdb_set_find_place(set, &read, add_form(writer, &read), solver, place);
}

bool sjdb_writer_add_perf(SjdbWriter *writer, const struct perf_row *row, const char *solver,
                          const char *params, GError **error)
{
    struct problem problem;
    struct sjdb_set_place place;
    if (!row_problem(row, &problem, error)) {
        return false;
    }
    guint32 id = add_solver(writer, solver);
    if (!find_place(writer, &writer->perf, &problem, id, &place)) {
        char key[PROBLEM_KEY_MAX];
        g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_SYNTAX,
                    "the row '%s' has params of '%s' already, or too many", perf_row_key(row, key),
                    solver);
        return false;
    }
    sjdb_set_answer(&writer->perf, &place, names_add(&writer->texts, params));
    return true;
}

/* Whether readers of 1.1 cannot express the problem or run the solution. */
static bool is_other(const struct problem *problem, const struct solution *solution)
{
    bool other =
        !problem_has_find_key(problem) || problem_is_tf32(problem) || solution->pack_count > 0;
    for (int i = 0; i < solution->launch_count; i++) {
        for (int a = 0; a < solution->launches[i].arg_count; a++) {
            const struct launch_arg *arg = &solution->launches[i].args[a];
            other = other || (arg->kind == ARG_TENSOR && arg->tensor > TENSOR_Y);
        }
    }
    return other;
}

static guint32 add_recipe(SjdbWriter *writer, struct sjdb_recipes *recipes, const char *params,
                          const struct solution *solution, const struct sjdb_kernel_name *kernels)
{
    uint64_t entries[SOLUTION_LAUNCHES_MAX], names[SOLUTION_LAUNCHES_MAX];
    for (int i = 0; i < solution->launch_count; i++) {
        entries[i] = names_add(&writer->texts, solution->launches[i].entry);
        names[i] = sjdb_kernels_id(&writer->kernels, kernels[i].name, kernels[i].args);
    }
    return sjdb_recipes_add(recipes, solution, add_text(writer, params), entries, names);
}

bool sjdb_writer_add_solution(SjdbWriter *writer, const struct problem *problem, const char *solver,
                              const char *params, const struct solution *solution,
                              const struct sjdb_kernel_name *kernels, GError **error)
{
    struct sjdb_set_place place;
    guint32 id = add_solver(writer, solver);
    if (!sjdb_recipes_check(solution, error)) {
        return false;
    }
    bool other = is_other(problem, solution);
    struct sjdb_set_builder *set = other ? &writer->other_solved : &writer->solved;
    if (!find_place(writer, set, problem, id, &place)) {
        char key[PROBLEM_KEY_MAX];
        g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_SYNTAX,
                    "the problem '%s' has a solution of '%s' already, or too many",
                    problem_key(problem, key), solver);
        return false;
    }
    sjdb_set_answer(set, &place,
                    add_recipe(writer, other ? &writer->other_recipes : &writer->recipes, params,
                               solution, kernels));
    return true;
}

/* Adds the open problem with its never-measured solutions to the set, if there are any. */
static void close_unmeasured(SjdbWriter *writer)
{
    struct skipjackdb_problem read = {.size = sizeof read};
    if (writer->items->len == 0) {
        return;
    }
    to_reader(&writer->open, &read);
    sjdb_set_add(&writer->unmeasured, &read, add_form(writer, &read),
                 (const struct sjdb_set_item *)(const void *)writer->items->data,
                 writer->items->len);
    g_array_set_size(writer->items, 0);
    g_array_set_size(writer->added, 0);
}

static bool was_added(const SjdbWriter *writer, const struct config_id *id)
{
    for (guint i = 0; i < writer->added->len; i++) {
        const struct config_id *other = &g_array_index(writer->added, struct config_id, i);
        if (other->solver == id->solver && other->params == id->params) {
            return true;
        }
    }
    return false;
}

bool sjdb_writer_add_unmeasured(SjdbWriter *writer, const struct problem *problem,
                                const char *solver, const char *params,
                                const struct solution *solution,
                                const struct sjdb_kernel_name *kernels, GError **error)
{
    struct sjdb_set_item item = {0};
    if (!sjdb_recipes_check(solution, error)) {
        return false;
    }
    if (!problem_equal(problem, &writer->open)) {
        close_unmeasured(writer);
        writer->open = *problem;
    }
    const struct config_id id = {add_solver(writer, solver), add_text(writer, params)};
    char key[PROBLEM_KEY_MAX];
    if (was_added(writer, &id)) {
        g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_SYNTAX,
                    "the problem '%s' has the config '%s' of '%s' already",
                    problem_key(problem, key), params, solver);
        return false;
    }
    if (writer->items->len >= SJDB_UNMEASURED_MAX) {
        g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_SYNTAX,
                    "the problem '%s' has %d never-measured configs, the most that a file holds; "
                    "'%s' of '%s' is one more",
                    problem_key(problem, key), SJDB_UNMEASURED_MAX, params, solver);
        return false;
    }
    item.choice = sjdb_rows_add(&writer->unmeasured.choices,
                                (const uint64_t[CHOICE_FIELDS]){[CHOICE_SOLVER] = id.solver});
    item.value = add_recipe(writer, &writer->other_recipes, params, solution, kernels);
    g_array_append_val(writer->items, item);
    g_array_append_val(writer->added, id);
    return true;
}

bool sjdb_writer_add_kernel(SjdbWriter *writer, const char *name, const char *args, GBytes *code,
                            GError **error)
{
    return sjdb_kernels_add(&writer->kernels, name, args, code, error);
}

static void write_texts(const SjdbWriter *writer, const GArray *order, SjdbFile *file)
{
    g_autoptr(GArray) starts = g_array_new(FALSE, FALSE, sizeof(uint64_t));
    g_autoptr(GString) bytes = g_string_new(NULL);
    for (guint i = 0; i < order->len; i++) {
        const char *text = writer->texts.names->pdata[g_array_index(order, guint32, i)];
        uint64_t start = bytes->len;
        g_array_append_val(starts, start);
        g_string_append_len(bytes, text, (gssize)strlen(text) + 1);
    }
    sjdb_file_add_bytes(file, SJDB_STRINGS, bytes->str, bytes->len);
    sjdb_file_add_array(file, SJDB_STRING_STARTS, starts);
}

static void write_solvers(SjdbWriter *writer, const GArray *order, const GArray *text_rank,
                          SjdbFile *file)
{
    g_autoptr(GArray) names = g_array_new(FALSE, FALSE, sizeof(uint64_t));
    g_autoptr(GArray) revisions = g_array_new(FALSE, FALSE, sizeof(uint64_t));
    g_autoptr(GArray) flags = g_array_new(FALSE, FALSE, sizeof(uint64_t));
    for (guint i = 0; i < order->len; i++) {
        guint32 id = g_array_index(order, guint32, i);
        guint32 text = names_add(&writer->texts, writer->solvers.names->pdata[id]);
        const struct solver_facts *facts = &g_array_index(writer->facts, struct solver_facts, id);
        uint64_t name = g_array_index(text_rank, guint32, text);
        g_array_append_val(names, name);
        g_array_append_val(revisions, facts->revision);
        g_array_append_val(flags, facts->flags);
    }
    sjdb_file_add_array(file, SJDB_SOLVER_NAMES, names);
    sjdb_file_add_array(file, SJDB_SOLVER_REVISIONS, revisions);
    sjdb_file_add_array(file, SJDB_SOLVER_FLAGS, flags);
}

static void count_time(void *times, const struct sjdb_set_item *item)
{
    sjdb_times_count(times, item->time_ms);
    if (item->low_ms > 0) {
        sjdb_times_count(times, item->low_ms);
        sjdb_times_count(times, item->high_ms);
    }
}

static void keep_time(void *times, const struct sjdb_set_item *item)
{
    sjdb_times_keep(times, item->time_ms);
    if (item->low_ms > 0) {
        sjdb_times_keep(times, item->low_ms);
        sjdb_times_keep(times, item->high_ms);
    }
}

static bool make_times(const SjdbWriter *writer, struct sjdb_times *times, GError **error)
{
    if (!sjdb_set_each(&writer->find, count_time, times, error) ||
        !sjdb_set_each(&writer->other_find, count_time, times, error)) {
        return false;
    }
    sjdb_times_choose(times);
    if (!sjdb_set_each(&writer->find, keep_time, times, error) ||
        !sjdb_set_each(&writer->other_find, keep_time, times, error)) {
        return false;
    }
    sjdb_times_end(times);
    return true;
}

static bool write_find(SjdbWriter *writer, const struct sjdb_renaming *renaming, SjdbFile *file,
                       GError **error)
{
    struct sjdb_times times;
    struct sjdb_intervals intervals;
    sjdb_times_init(&times);
    sjdb_intervals_init(&intervals, &times);
    bool written = make_times(writer, &times, error);
    if (written) {
        sjdb_times_write(&times, file);
        written =
            sjdb_set_write(&writer->find, renaming, SJDB_FIND, &intervals, file, error) &&
            sjdb_set_write(&writer->other_find, renaming, SJDB_OTHER_FIND, &intervals, file, error);
    }
    if (written) {
        sjdb_intervals_write(&intervals, file);
    }
    sjdb_intervals_clear(&intervals);
    sjdb_times_clear(&times);
    return written;
}

/* Called once all texts are known, so that their numbers in the file are final. */
static bool write_sets(SjdbWriter *writer, const GArray *text_rank, const GArray *solver_rank,
                       SjdbFile *file, GError **error)
{
    g_autoptr(GArray) kernel_rank = sjdb_kernels_ranks(&writer->kernels, error);
    if (kernel_rank == NULL) {
        return false;
    }
    g_autoptr(GArray) recipe_rank =
        sjdb_recipes_write(&writer->recipes, text_rank, kernel_rank, file, error);
    if (recipe_rank == NULL) {
        return false;
    }
    g_autoptr(GArray) other_rank =
        sjdb_recipes_write(&writer->other_recipes, text_rank, kernel_rank, file, error);
    if (other_rank == NULL) {
        return false;
    }
    const struct sjdb_renaming find = {text_rank, solver_rank, NULL};
    const struct sjdb_renaming perf = {text_rank, solver_rank, text_rank};
    const struct sjdb_renaming solved = {text_rank, solver_rank, recipe_rank};
    const struct sjdb_renaming other = {text_rank, solver_rank, other_rank};
    return write_find(writer, &find, file, error) &&
           sjdb_set_write(&writer->perf, &perf, SJDB_PERF, NULL, file, error) &&
           sjdb_set_write(&writer->solved, &solved, SJDB_SOLVED, NULL, file, error) &&
           sjdb_set_write(&writer->other_solved, &other, SJDB_OTHER_SOLVED, NULL, file, error) &&
           sjdb_set_write(&writer->unmeasured, &other, SJDB_UNMEASURED, NULL, file, error);
}

bool sjdb_writer_finish(SjdbWriter *writer, GError **error)
{
    close_unmeasured(writer);
    g_autoptr(SjdbFile) file = sjdb_file_new(writer->path);
    g_autoptr(GArray) text_order = names_order(&writer->texts);
    g_autoptr(GArray) text_rank = sjdb_rank_of(text_order);
    g_autoptr(GArray) solver_order = names_order(&writer->solvers);
    g_autoptr(GArray) solver_rank = sjdb_rank_of(solver_order);
    if (writer->meta != NULL) {
        sjdb_file_add_bytes(file, SJDB_META, writer->meta, strlen(writer->meta) + 1);
    }
    write_texts(writer, text_order, file);
    write_solvers(writer, solver_order, text_rank, file);
    if (!write_sets(writer, text_rank, solver_rank, file, error) ||
        !sjdb_kernels_write(&writer->kernels, file, error)) {
        g_prefix_error(error, "cannot write '%s': ", writer->path);
        return false;
    }
    return sjdb_file_write(file, error);
}
