#include "worker/pipeline/pipeline_plan.h"

#include <jansson.h>
#include <string.h>

#include "schema/small_file.h"
#include "solvers/problem/problem_key.h"
#include "worker/protocol/frames.h"

#define PLAN_VERSION   1
#define PLAN_BYTES_MAX ((gsize)256 << 20)

/* The bytes that kernels of convolutions load and store at once. */
#define OPERAND_ALIGNMENT 16

/* Where the reader is, for messages. */
struct place {
    const char *path;
    GString *at; /* "steps[12].operands.w" */
};

G_GNUC_PRINTF(3, 4)
static bool refuse(const struct place *place, GError **error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *words = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    g_set_error(error, WORKER_ERROR, WORKER_ERROR_INVALID, "cannot use the plan '%s': %s%s%s",
                place->path, place->at->str, place->at->len > 0 ? ": " : "", words);
    return false;
}

/* Extends the place by a member or an element; returns the length to which leave() cuts it again. */
static gsize enter(struct place *place, const char *name, int index)
{
    gsize before = place->at->len;
    if (name)
        g_string_append_printf(place->at, "%s%s", before > 0 ? "." : "", name);
    if (index >= 0)
        g_string_append_printf(place->at, "[%d]", index);
    return before;
}

static void leave(struct place *place, gsize before)
{
    g_string_truncate(place->at, before);
}

/* ---- members ---- */

/* The names that an object may have, all of which it must have but those from `optional` on. */
static bool only_members(const struct place *place, const json_t *object, const char *const *names,
                         int required, GError **error)
{
    const char *name;
    json_t *value;
    if (!json_is_object(object))
        return refuse(place, error, "expected an object");
    json_object_foreach ((json_t *)(uintptr_t)object, name, value) {
        if (!g_strv_contains(names, name))
            return refuse(place, error, "no member of a plan is called '%s' here", name);
    }
    for (int i = 0; i < required; i++) {
        if (!json_object_get(object, names[i]))
            return refuse(place, error, "the member '%s' is missing", names[i]);
    }
    return true;
}

static bool take_text(struct place *place, const json_t *object, const char *name, char **text,
                      GError **error)
{
    const char *value = json_string_value(json_object_get(object, name));
    if (!value)
        return refuse(place, error, "'%s' must be a text", name);
    *text = g_strdup(value);
    return true;
}

static bool take_number(struct place *place, const json_t *object, const char *name, int64_t least,
                        int64_t most, int64_t *number, GError **error)
{
    const json_t *value = json_object_get(object, name);
    if (!json_is_integer(value) || json_integer_value(value) < least ||
        json_integer_value(value) > most)
        return refuse(place, error,
                      "'%s' must be a whole number from %" G_GINT64_FORMAT " to %" G_GINT64_FORMAT,
                      name, least, most);
    *number = json_integer_value(value);
    return true;
}

static bool take_index(struct place *place, const json_t *object, const char *name, int least,
                       int most, int *index, GError **error)
{
    int64_t number = 0;
    if (!take_number(place, object, name, least, most, &number, error))
        return false;
    *index = (int)number;
    return true;
}

/* ---- buffers ---- */

static bool take_kind(struct place *place, const json_t *object, struct pipeline_buffer *buffer,
                      GError **error)
{
    static const char *const names[] = {
        [BUFFER_INPUT] = "input",
        [BUFFER_OUTPUT] = "output",
        [BUFFER_WEIGHT] = "weight",
        [BUFFER_ACTIVATION] = "activation",
    };
    const char *kind = json_string_value(json_object_get(object, "kind"));
    for (gsize i = 0; kind && i < G_N_ELEMENTS(names); i++) {
        if (strcmp(kind, names[i]) == 0) {
            buffer->kind = (enum pipeline_buffer_kind)i;
            return true;
        }
    }
    return refuse(place, error, "'kind' must be input, output, weight or activation");
}

static bool take_axes(struct place *place, const json_t *object, struct pipeline_buffer *buffer,
                      GError **error)
{
    const json_t *dims = json_object_get(object, "dims");
    const json_t *strides = json_object_get(object, "strides");
    int64_t last = 0;
    buffer->rank = (int)json_array_size(dims);
    if (!json_is_array(dims) || !json_is_array(strides) || buffer->rank > PIPELINE_RANK_MAX ||
        json_array_size(strides) != (size_t)buffer->rank)
        return refuse(place, error, "'dims' and 'strides' must be equally long lists of at most %d",
                      PIPELINE_RANK_MAX);
    for (int i = 0; i < buffer->rank; i++) {
        int64_t reach;
        buffer->dims[i] = json_integer_value(json_array_get(dims, (size_t)i));
        buffer->strides[i] = json_integer_value(json_array_get(strides, (size_t)i));
        if (buffer->dims[i] < 1 || buffer->strides[i] < 0 ||
            __builtin_mul_overflow(buffer->dims[i] - 1, buffer->strides[i], &reach) ||
            __builtin_add_overflow(last, reach, &last))
            return refuse(place, error, "axis %d is out of range", i);
    }
    if (last >= buffer->bytes / data_type_bytes(buffer->type))
        return refuse(place, error, "its elements reach behind its %" G_GINT64_FORMAT " bytes",
                      buffer->bytes);
    return true;
}

static bool take_alias(struct place *place, const json_t *object, int count,
                       struct pipeline_buffer *buffer, GError **error)
{
    buffer->alias_of = -1;
    if (!json_object_get(object, "alias_of") && !json_object_get(object, "alias_offset"))
        return true;
    return take_index(place, object, "alias_of", 0, count - 1, &buffer->alias_of, error) &&
           take_number(place, object, "alias_offset", 0, INT64_MAX, &buffer->alias_offset, error);
}

static bool take_buffer(struct place *place, const json_t *object, int count, int steps,
                        struct pipeline_buffer *buffer, GError **error)
{
    static const char *const names[] = {
        "name", "kind",     "bytes",        "type",   "dims",   "strides",   "first",
        "last", "alias_of", "alias_offset", "offset", "sha256", "generated", NULL};
    g_autofree char *type = NULL;
    if (!only_members(place, object, names, 8, error) ||
        !take_text(place, object, "name", &buffer->name, error) ||
        !take_kind(place, object, buffer, error) ||
        !take_number(place, object, "bytes", 1, INT64_MAX / 2, &buffer->bytes, error) ||
        !take_text(place, object, "type", &type, error))
        return false;
    if (!data_type_parse(type, &buffer->type))
        return refuse(place, error, "'type' is '%s', which is no data type", type);
    if (!take_axes(place, object, buffer, error) ||
        !take_index(place, object, "first", -1, steps - 1, &buffer->first, error) ||
        !take_index(place, object, "last", -1, steps - 1, &buffer->last, error) ||
        !take_alias(place, object, count, buffer, error))
        return false;
    if (buffer->first > buffer->last)
        return refuse(place, error, "its first step is behind its last");
    return buffer->kind != BUFFER_WEIGHT ||
           take_number(place, object, "offset", 0, INT64_MAX / 2, &buffer->offset, error);
}

static void buffer_clear(gpointer data)
{
    g_free(((struct pipeline_buffer *)data)->name);
}

static bool check_alias(struct place *place, const struct pipeline_plan *plan, int index,
                        GError **error)
{
    const struct pipeline_buffer *buffer = pipeline_buffer_at(plan, index);
    if (buffer->alias_of < 0)
        return true;
    const struct pipeline_buffer *home = pipeline_buffer_at(plan, buffer->alias_of);
    if (buffer->alias_of == index || home->alias_of >= 0)
        return refuse(place, error, "it is an alias of an alias");
    if (buffer->kind == BUFFER_WEIGHT || home->kind == BUFFER_WEIGHT)
        return refuse(place, error, "weights have no aliases");
    if (buffer->alias_offset > home->bytes - buffer->bytes)
        return refuse(place, error, "it reaches behind the buffer '%s' that it is a part of",
                      home->name);
    return true;
}

static bool take_buffers(struct place *place, const json_t *list, int steps,
                         struct pipeline_plan *plan, GError **error)
{
    int count = (int)json_array_size(list);
    g_autoptr(GHashTable) names = g_hash_table_new(g_str_hash, g_str_equal);
    if (count == 0)
        return refuse(place, error, "'buffers' must be a list that is not empty");
    for (int i = 0; i < count; i++) {
        struct pipeline_buffer buffer = {0};
        gsize before = enter(place, "buffers", i);
        bool taken =
            take_buffer(place, json_array_get(list, (size_t)i), count, steps, &buffer, error);
        g_array_append_val(plan->buffers, buffer);
        if (!taken)
            return false;
        if (!g_hash_table_add(names, buffer.name))
            return refuse(place, error, "another buffer is called '%s', too", buffer.name);
        leave(place, before);
    }
    for (int i = 0; i < count; i++) {
        gsize before = enter(place, "buffers", i);
        if (!check_alias(place, plan, i, error))
            return false;
        leave(place, before);
    }
    return true;
}

static bool take_indexes(struct place *place, const json_t *root, const char *name,
                         enum pipeline_buffer_kind kind, const struct pipeline_plan *plan,
                         GArray *indexes, GError **error)
{
    const json_t *list = json_object_get(root, name);
    if (!json_is_array(list))
        return refuse(place, error, "'%s' must be a list", name);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i);
        json_int_t index = json_integer_value(item);
        if (!json_is_integer(item) || index < 0 || index >= (json_int_t)plan->buffers->len ||
            pipeline_buffer_at(plan, (int)index)->kind != kind)
            return refuse(place, error, "'%s' must list buffers of that kind", name);
        int place_of = (int)index;
        g_array_append_val(indexes, place_of);
    }
    return true;
}

/* ---- steps ---- */

static const char *const role_names[OPERAND_COUNT] = {
    [TENSOR_X] = "x",       [TENSOR_W] = "w",
    [TENSOR_Y] = "y",       [TENSOR_RESIDUAL] = "residual",
    [TENSOR_BIAS] = "bias", [TENSOR_SCALES] = "scales",
};

static int64_t operand_bytes(const struct problem *p, enum tensor_role role)
{
    return problem_tensor_span(p, role) * data_type_bytes(problem_operand_type(p, role));
}

static bool take_operand(struct place *place, const json_t *object,
                         const struct pipeline_plan *plan, const struct problem *p,
                         enum tensor_role role, struct pipeline_operand *operand, GError **error)
{
    static const char *const names[] = {"buffer", "offset", NULL};
    if (!only_members(place, object, names, 2, error) ||
        !take_index(place, object, "buffer", 0, (int)plan->buffers->len - 1, &operand->buffer,
                    error) ||
        !take_number(place, object, "offset", 0, INT64_MAX / 2, &operand->offset_bytes, error))
        return false;
    const struct pipeline_buffer *buffer = pipeline_buffer_at(plan, operand->buffer);
    if (operand->offset_bytes > buffer->bytes - operand_bytes(p, role))
        return refuse(place, error,
                      "%" G_GINT64_FORMAT " bytes from byte %" G_GINT64_FORMAT
                      " on reach behind the buffer '%s' of %" G_GINT64_FORMAT " bytes",
                      operand_bytes(p, role), operand->offset_bytes, buffer->name, buffer->bytes);
    int64_t begin = operand->offset_bytes;
    pipeline_buffer_home(plan, operand->buffer, &begin);
    if (begin % data_type_bytes(problem_operand_type(p, role)) != 0)
        return refuse(place, error, "it begins within an element");
    if (p->kind == OP_CONV && begin % OPERAND_ALIGNMENT != 0)
        return refuse(place, error, "an operand of a convolution begins at a multiple of %d bytes",
                      OPERAND_ALIGNMENT);
    return true;
}

static bool take_operands(struct place *place, const json_t *object,
                          const struct pipeline_plan *plan, struct pipeline_step *step,
                          GError **error)
{
    gsize before = enter(place, "operands", -1);
    const char *name;
    json_t *value;
    if (!json_is_object(object))
        return refuse(place, error, "expected an object");
    json_object_foreach ((json_t *)(uintptr_t)object, name, value) {
        bool known = false;
        for (int role = 0; role < OPERAND_COUNT; role++)
            known = known || (role_names[role] && strcmp(role_names[role], name) == 0);
        if (!known)
            return refuse(place, error, "no operand has the role '%s'", name);
    }
    for (int role = 0; role < OPERAND_COUNT; role++) {
        const json_t *given = role_names[role] ? json_object_get(object, role_names[role]) : NULL;
        step->operands[role].buffer = -1;
        if ((given != NULL) != problem_has_operand(&step->problem, (enum tensor_role)role))
            return refuse(place, error, "the problem %s operand '%s'", given ? "has no" : "has an",
                          role_names[role]);
        if (!given)
            continue;
        gsize outer = enter(place, role_names[role], -1);
        if (!take_operand(place, given, plan, &step->problem, (enum tensor_role)role,
                          &step->operands[role], error))
            return false;
        leave(place, outer);
    }
    leave(place, before);
    return true;
}

static bool take_step(struct place *place, const json_t *object, const struct pipeline_plan *plan,
                      struct pipeline_step *step, GError **error)
{
    static const char *const names[] = {"name",  "problem", "operands", "nodes",
                                        "alone", "group",   NULL};
    g_autoptr(GError) why = NULL;
    const char *key;
    if (!only_members(place, object, names, 3, error) ||
        !take_text(place, object, "name", &step->name, error))
        return false;
    key = json_string_value(json_object_get(object, "problem"));
    if (!key || !problem_key_parse(key, &step->problem, &why) ||
        !problem_validate(&step->problem, &why))
        return refuse(place, error, "'problem' is no valid key: %s",
                      why ? why->message : "no text");
    return take_operands(place, json_object_get(object, "operands"), plan, step, error);
}

static void step_clear(gpointer data)
{
    g_free(((struct pipeline_step *)data)->name);
}

/* The bytes of an operand in the buffer that has its memory: runs of `run` bytes, along `rank` axes. */
struct extent {
    int64_t begin, end; /* of the whole */
    int64_t run;
    int rank;
    int64_t size[5], stride[5]; /* strides in bytes */
};

static void set_extent(const struct pipeline_plan *plan, const struct pipeline_step *step,
                       enum tensor_role role, struct extent *extent)
{
    const struct problem *p = &step->problem;
    const struct pipeline_operand *operand = &step->operands[role];
    int64_t sizes[5], strides[5], bytes = data_type_bytes(problem_operand_type(p, role));
    bool is_line = role == TENSOR_BIAS || role == TENSOR_SCALES ||
                   problem_layout_block(problem_operand_layout(p, role)) > 1;
    *extent = (struct extent){.begin = operand->offset_bytes, .run = bytes};
    pipeline_buffer_home(plan, operand->buffer, &extent->begin);
    extent->end = extent->begin + operand_bytes(p, role);
    if (is_line) {
        extent->run = extent->end - extent->begin;
        return;
    }
    problem_operand_sizes(p, role, sizes);
    problem_strides(p, role, strides);
    for (int i = 0; i < 5; i++) {
        if (sizes[i] > 1) {
            extent->size[extent->rank] = sizes[i];
            extent->stride[extent->rank++] = strides[i] * bytes;
        }
    }
    /* Axes that continue the run become part of it. */
    for (int i = 0; i < extent->rank; i++) {
        if (extent->stride[i] == extent->run) {
            extent->run *= extent->size[i];
            extent->rank--;
            extent->size[i] = extent->size[extent->rank];
            extent->stride[i] = extent->stride[extent->rank];
            i = -1;
        }
    }
}

/* Visits the runs in the bytes from `begin` to `end`, whose marks are in `marks`: sets marks, or returns true at the first
 * run that has one. */
static bool visit_runs(const struct extent *extent, int64_t begin, int64_t end, char *marks,
                       bool sets)
{
    int64_t index[5] = {0}, at = extent->begin;
    for (;;) {
        int64_t from = MAX(at, begin), to = MIN(at + extent->run, end);
        if (from < to && sets)
            memset(marks + (from - begin), 1, (size_t)(to - from));
        else if (from < to && memchr(marks + (from - begin), 1, (size_t)(to - from)))
            return true;
        int axis = 0;
        for (; axis < extent->rank; axis++) {
            at += extent->stride[axis];
            if (++index[axis] < extent->size[axis])
                break;
            at -= extent->stride[axis] * extent->size[axis];
            index[axis] = 0;
        }
        if (axis == extent->rank)
            return false;
    }
}

/* Whether two operands in one buffer have a byte in common. Parts of a joined tensor lie between one another. */
static bool extents_overlap(const struct extent *a, const struct extent *b)
{
    int64_t begin = MAX(a->begin, b->begin), end = MIN(a->end, b->end);
    if (begin >= end)
        return false;
    g_autofree char *marks = g_malloc0((gsize)(end - begin));
    visit_runs(a, begin, end, marks, true);
    return visit_runs(b, begin, end, marks, false);
}

static bool check_overlap(struct place *place, const struct pipeline_plan *plan,
                          const struct pipeline_step *step, enum tensor_role role, GError **error)
{
    enum tensor_role out = problem_output_role(&step->problem);
    struct extent read, written;
    int64_t unused = 0;
    if (pipeline_buffer_home(plan, step->operands[role].buffer, &unused) !=
        pipeline_buffer_home(plan, step->operands[out].buffer, &unused))
        return true;
    set_extent(plan, step, role, &read);
    set_extent(plan, step, out, &written);
    return !extents_overlap(&read, &written) ||
           refuse(place, error, "its operand '%s' overlaps '%s', which it writes", role_names[role],
                  role_names[out]);
}

/* Checks that a step reads what is there and writes where it may. written: for each buffer that has memory, whether
 * something has been written to it. */
static bool check_flow(struct place *place, const struct pipeline_plan *plan,
                       const struct pipeline_step *step, gboolean *written, GError **error)
{
    enum tensor_role out = problem_output_role(&step->problem);
    int64_t unused = 0;
    for (int role = 0; role < OPERAND_COUNT; role++) {
        if (step->operands[role].buffer < 0 || role == (int)out)
            continue;
        int home = pipeline_buffer_home(plan, step->operands[role].buffer, &unused);
        const struct pipeline_buffer *buffer = pipeline_buffer_at(plan, home);
        if ((buffer->kind == BUFFER_ACTIVATION || buffer->kind == BUFFER_OUTPUT) && !written[home])
            return refuse(place, error, "it reads '%s', which no earlier step writes",
                          buffer->name);
        if (!check_overlap(place, plan, step, (enum tensor_role)role, error))
            return false;
    }
    int home = pipeline_buffer_home(plan, step->operands[out].buffer, &unused);
    const struct pipeline_buffer *buffer = pipeline_buffer_at(plan, home);
    if (buffer->kind == BUFFER_INPUT || buffer->kind == BUFFER_WEIGHT)
        return refuse(place, error, "it writes '%s', which is an input or a weight", buffer->name);
    written[home] = true;
    return true;
}

/* Widens lifetimes to what the steps really touch, so that a wrong `first` or `last` costs memory, never results. */
static void widen_lifetimes(const struct pipeline_plan *plan)
{
    for (guint i = 0; i < plan->steps->len; i++) {
        const struct pipeline_step *step = pipeline_step_at(plan, (int)i);
        for (int role = 0; role < OPERAND_COUNT; role++) {
            int64_t unused = 0;
            if (step->operands[role].buffer < 0)
                continue;
            struct pipeline_buffer *home = pipeline_buffer_at(
                plan, pipeline_buffer_home(plan, step->operands[role].buffer, &unused));
            home->first = home->first < 0 ? (int)i : MIN(home->first, (int)i);
            home->last = MAX(home->last, (int)i);
        }
    }
}

static bool take_steps(struct place *place, const json_t *list, struct pipeline_plan *plan,
                       GError **error)
{
    g_autofree gboolean *written = g_new0(gboolean, plan->buffers->len);
    for (size_t i = 0; i < json_array_size(list); i++) {
        struct pipeline_step step = {0};
        gsize before = enter(place, "steps", (int)i);
        bool taken = take_step(place, json_array_get(list, i), plan, &step, error);
        g_array_append_val(plan->steps, step);
        if (!taken || !check_flow(place, plan, &step, written, error))
            return false;
        leave(place, before);
    }
    widen_lifetimes(plan);
    return true;
}

/* ---- weights ---- */

static bool check_weights(struct place *place, const struct pipeline_plan *plan, int64_t bytes,
                          GError **error)
{
    for (guint i = 0; i < plan->buffers->len; i++) {
        const struct pipeline_buffer *buffer = pipeline_buffer_at(plan, (int)i);
        if (buffer->kind != BUFFER_WEIGHT)
            continue;
        if (buffer->offset % PIPELINE_ALIGNMENT != 0 || buffer->offset > bytes - buffer->bytes)
            return refuse(place, error,
                          "the weight '%s' is not within the weights' file, at a multiple of %d",
                          buffer->name, PIPELINE_ALIGNMENT);
    }
    return true;
}

static bool open_weights(struct place *place, const json_t *object, struct pipeline_plan *plan,
                         GError **error)
{
    static const char *const names[] = {"file", "bytes", "sha256", "seed", NULL};
    g_autofree char *file = NULL, *sum = NULL;
    int64_t bytes = 0;
    gsize before = enter(place, "weights", -1);
    if (json_is_null(object)) {
        leave(place, before);
        return check_weights(place, plan, 0, error);
    }
    if (!only_members(place, object, names, 3, error) ||
        !take_text(place, object, "file", &file, error) ||
        !take_text(place, object, "sha256", &sum, error) ||
        !take_number(place, object, "bytes", 0, INT64_MAX / 2, &bytes, error))
        return false;
    if (strchr(file, '/') || file[0] == '\0' || file[0] == '.')
        return refuse(place, error, "'file' must be the name of a file beside the plan");
    g_autofree char *folder = g_path_get_dirname(place->path);
    g_autofree char *path = g_build_filename(folder, file, NULL);
    plan->weights = g_mapped_file_new(path, FALSE, error);
    if (!plan->weights)
        return false;
    const char *data = g_mapped_file_get_contents(plan->weights);
    gsize length = g_mapped_file_get_length(plan->weights);
    if ((int64_t)length != bytes)
        return refuse(place, error, "'%s' has %zu bytes, the plan says %" G_GINT64_FORMAT, path,
                      length, bytes);
    g_autofree char *real =
        g_compute_checksum_for_data(G_CHECKSUM_SHA256, (const guchar *)(data ? data : ""), length);
    if (g_strcmp0(real, sum) != 0)
        return refuse(place, error, "'%s' has another SHA-256 than the plan says", path);
    leave(place, before);
    return check_weights(place, plan, bytes, error);
}

/* ---- the whole ---- */

static bool take_plan(struct place *place, const json_t *root, struct pipeline_plan *plan,
                      GError **error)
{
    static const char *const names[] = {"skipjack_plan", "network", "weights", "buffers", "inputs",
                                        "outputs",       "steps",   "batch",   "knobs",   NULL};
    const json_t *steps = json_object_get(root, "steps");
    int64_t version = 0;
    if (!only_members(place, root, names, 7, error) ||
        !take_number(place, root, "skipjack_plan", PLAN_VERSION, PLAN_VERSION, &version, error) ||
        !take_text(place, root, "network", &plan->network, error))
        return false;
    if (!json_is_array(steps) || json_array_size(steps) == 0)
        return refuse(place, error, "'steps' must be a list that is not empty");
    return take_buffers(place, json_object_get(root, "buffers"), (int)json_array_size(steps), plan,
                        error) &&
           take_indexes(place, root, "inputs", BUFFER_INPUT, plan, plan->inputs, error) &&
           take_indexes(place, root, "outputs", BUFFER_OUTPUT, plan, plan->outputs, error) &&
           take_steps(place, steps, plan, error) &&
           open_weights(place, json_object_get(root, "weights"), plan, error);
}

static GArray *list_new(gsize size, GDestroyNotify clear)
{
    GArray *list = g_array_new(FALSE, TRUE, (guint)size);
    if (clear)
        g_array_set_clear_func(list, clear);
    return list;
}

bool pipeline_plan_read(struct pipeline_plan *plan, const char *path, GError **error)
{
    struct place place = {path, g_string_new(NULL)};
    json_error_t why;
    gsize length = 0;
    *plan = (struct pipeline_plan){
        .buffers = list_new(sizeof(struct pipeline_buffer), buffer_clear),
        .steps = list_new(sizeof(struct pipeline_step), step_clear),
        .inputs = list_new(sizeof(int), NULL),
        .outputs = list_new(sizeof(int), NULL),
    };
    g_autofree char *text = small_file_read(path, PLAN_BYTES_MAX, &length, error);
    json_t *root = text ? json_loadb(text, length, JSON_REJECT_DUPLICATES, &why) : NULL;
    bool taken = root && take_plan(&place, root, plan, error);
    if (text && !root)
        refuse(&place, error, "line %d: %s", why.line, why.text);
    json_decref(root);
    g_string_free(place.at, TRUE);
    if (!taken)
        pipeline_plan_clear(plan);
    return taken;
}

void pipeline_plan_clear(struct pipeline_plan *plan)
{
    g_clear_pointer(&plan->buffers, g_array_unref);
    g_clear_pointer(&plan->steps, g_array_unref);
    g_clear_pointer(&plan->inputs, g_array_unref);
    g_clear_pointer(&plan->outputs, g_array_unref);
    g_clear_pointer(&plan->weights, g_mapped_file_unref);
    g_clear_pointer(&plan->network, g_free);
}

struct pipeline_buffer *pipeline_buffer_at(const struct pipeline_plan *plan, int index)
{
    return &g_array_index(plan->buffers, struct pipeline_buffer, index);
}

struct pipeline_step *pipeline_step_at(const struct pipeline_plan *plan, int index)
{
    return &g_array_index(plan->steps, struct pipeline_step, index);
}

int pipeline_buffer_home(const struct pipeline_plan *plan, int index, int64_t *offset)
{
    const struct pipeline_buffer *buffer = pipeline_buffer_at(plan, index);
    if (buffer->alias_of < 0)
        return index;
    *offset += buffer->alias_offset;
    return buffer->alias_of;
}

int64_t pipeline_buffer_elements(const struct pipeline_buffer *buffer)
{
    int64_t elements = 1;
    for (int i = 0; i < buffer->rank; i++)
        elements *= buffer->dims[i];
    return elements;
}
