#include "coordinator/network/plan/network_plan.h"

#include "solvers/problem/problem_key.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

G_GNUC_PRINTF(2, 3)
static bool invalid(GError **error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    GError *made = g_error_new_valist(NETWORK_ERROR, NETWORK_ERROR_INVALID, format, arguments);
    va_end(arguments);
    g_propagate_error(error, made);
    return false;
}

static void knob_clear(gpointer data)
{
    struct plan_knob *knob = data;
    g_free(knob->name);
    g_free(knob->value);
}

static void buffer_clear(gpointer data)
{
    struct plan_buffer *buffer = data;
    g_free(buffer->name);
    g_clear_pointer(&buffer->data, g_bytes_unref);
}

static void step_clear(gpointer data)
{
    struct plan_step *step = data;
    g_free(step->name);
    g_strfreev(step->nodes);
}

static GArray *array_of(guint size, GDestroyNotify clear)
{
    GArray *array = g_array_new(FALSE, TRUE, size);
    if (clear != NULL) {
        g_array_set_clear_func(array, clear);
    }
    return array;
}

/* A constant and the buffer that holds it. Constants of equal shape and bytes share a buffer. */
struct weight {
    struct shape shape;
    GBytes *data;
    int buffer;
};

/* Weights that differ nearly always do so within so many bytes. Hashing all bytes of a ResNet-50 takes 0.1 s. */
#define WEIGHT_HASHED_BYTES 1024

static guint weight_hash(gconstpointer key)
{
    const struct weight *weight = key;
    gsize bytes = MIN(g_bytes_get_size(weight->data), WEIGHT_HASHED_BYTES);
    g_autoptr(GBytes) front = g_bytes_new_from_bytes(weight->data, 0, bytes);
    return g_bytes_hash(front);
}

static gboolean weight_equal(gconstpointer a, gconstpointer b)
{
    const struct weight *left = a, *right = b;
    return shape_equal(&left->shape, &right->shape) && g_bytes_equal(left->data, right->data);
}

static void weight_free(gpointer data)
{
    struct weight *weight = data;
    g_bytes_unref(weight->data);
    g_free(weight);
}

struct network_plan *network_plan_new(const char *network, int64_t batch)
{
    struct network_plan *plan = g_new0(struct network_plan, 1);
    plan->network = g_strdup(network);
    plan->batch = batch;
    plan->knobs = array_of(sizeof(struct plan_knob), knob_clear);
    plan->buffers = array_of(sizeof(struct plan_buffer), buffer_clear);
    plan->steps = array_of(sizeof(struct plan_step), step_clear);
    plan->inputs = array_of(sizeof(int), NULL);
    plan->outputs = array_of(sizeof(int), NULL);
    plan->buffer_names = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    plan->step_names = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    plan->weights = g_hash_table_new_full(weight_hash, weight_equal, weight_free, NULL);
    return plan;
}

void network_plan_free(struct network_plan *plan)
{
    if (plan == NULL) {
        return;
    }
    g_free(plan->network);
    g_array_unref(plan->knobs);
    g_array_unref(plan->buffers);
    g_array_unref(plan->steps);
    g_array_unref(plan->inputs);
    g_array_unref(plan->outputs);
    g_hash_table_unref(plan->buffer_names);
    g_hash_table_unref(plan->step_names);
    g_hash_table_unref(plan->weights);
    g_free(plan);
}

struct plan_buffer *plan_buffer_at(const struct network_plan *plan, int index)
{
    g_assert(index >= 0 && (guint)index < plan->buffers->len);
    return &g_array_index(plan->buffers, struct plan_buffer, index);
}

struct plan_step *plan_step_at(const struct network_plan *plan, int index)
{
    g_assert(index >= 0 && (guint)index < plan->steps->len);
    return &g_array_index(plan->steps, struct plan_step, index);
}

const char *plan_buffer_kind_name(enum plan_buffer_kind kind)
{
    static const char *const names[PLAN_BUFFER_KIND_COUNT] = {"input", "output", "weight",
                                                              "activation"};
    return names[kind];
}

void network_plan_set_knob(struct network_plan *plan, const char *name, const char *value)
{
    for (guint i = 0; i < plan->knobs->len; i++) {
        struct plan_knob *knob = &g_array_index(plan->knobs, struct plan_knob, i);
        if (strcmp(knob->name, name) == 0) {
            g_free(knob->value);
            knob->value = g_strdup(value);
            return;
        }
    }
    struct plan_knob knob = {g_strdup(name), g_strdup(value)};
    g_array_append_val(plan->knobs, knob);
}

const char *network_plan_knob(const struct network_plan *plan, const char *name)
{
    for (guint i = 0; i < plan->knobs->len; i++) {
        const struct plan_knob *knob = &g_array_index(plan->knobs, struct plan_knob, i);
        if (strcmp(knob->name, name) == 0) {
            return knob->value;
        }
    }
    return NULL;
}

/* Returns the name, or the name with the first free number behind it, which is then taken. `taken` has for each name the
 * number from which on to look, so that many equal names take no longer than others. */
static char *unique_name(GHashTable *taken, const char *name)
{
    char *unique = g_strdup(name);
    int number = MAX(GPOINTER_TO_INT(g_hash_table_lookup(taken, name)), 2);
    bool is_first = true;
    while (g_hash_table_contains(taken, unique)) {
        g_free(unique);
        unique = g_strdup_printf("%s.%d", name, number++);
        is_first = false;
    }
    if (!is_first) {
        g_hash_table_replace(taken, g_strdup(name), GINT_TO_POINTER(number));
    }
    g_hash_table_insert(taken, g_strdup(unique), GINT_TO_POINTER(2));
    return unique;
}

int network_plan_add_buffer(struct network_plan *plan, const char *name, enum plan_buffer_kind kind,
                            const struct shape *shape)
{
    struct plan_buffer buffer = {
        .name = unique_name(plan->buffer_names, name),
        .kind = kind,
        .bytes = shape_span(shape) * element_type_bytes(shape->type),
        .shape = *shape,
        .alias_of = -1,
        .first_step = -1,
        .last_step = -1,
    };
    g_array_append_val(plan->buffers, buffer);
    return (int)plan->buffers->len - 1;
}

int network_plan_add_weight(struct network_plan *plan, const char *name, const struct shape *shape,
                            GBytes *data, bool is_generated)
{
    struct weight wanted = {.shape = *shape, .data = data};
    const struct weight *known = g_hash_table_lookup(plan->weights, &wanted);
    if (known != NULL) {
        return known->buffer;
    }
    int index = network_plan_add_buffer(plan, name, PLAN_WEIGHT, shape);
    struct weight *added = g_new(struct weight, 1);
    *added = (struct weight){*shape, g_bytes_ref(data), index};
    g_hash_table_add(plan->weights, added);
    struct plan_buffer *buffer = plan_buffer_at(plan, index);
    buffer->data = g_bytes_ref(data);
    buffer->is_generated = is_generated;
    return index;
}

void plan_problem_alone(const struct problem *problem, struct problem *alone)
{
    enum tensor_role output = problem_output_role(problem);
    *alone = *problem;
    if (problem->kind == OP_POINTWISE) {
        return;
    }
    memset(alone->strides, 0, sizeof alone->strides);
    alone->epilogue[0] = '\0';
    enum tensor_role input = output == TENSOR_X ? TENSOR_Y : TENSOR_X;
    alone->type[output] = problem->kind == OP_CONV && problem->type[input] == TYPE_INT8
                              ? TYPE_INT32
                              : problem->type[input];
}

int network_plan_add_step(struct network_plan *plan, const char *name, const char *const *nodes,
                          const struct problem *problem)
{
    struct plan_step step = {
        .name = unique_name(plan->step_names, name),
        .nodes = nodes != NULL ? g_strdupv((char **)nodes) : g_new0(char *, 1),
        .problem = *problem,
        .group = -1,
    };
    plan_problem_alone(problem, &step.alone);
    for (int role = 0; role < OPERAND_COUNT; role++) {
        step.operands[role].buffer = -1;
    }
    g_array_append_val(plan->steps, step);
    return (int)plan->steps->len - 1;
}

/* ---- what follows from the rest ---- */

static int root_of(const struct network_plan *plan, int index)
{
    const struct plan_buffer *buffer = plan_buffer_at(plan, index);
    return buffer->alias_of >= 0 ? buffer->alias_of : index;
}

static void touch(struct plan_buffer *buffer, int step)
{
    if (buffer->first_step < 0) {
        buffer->first_step = step;
    }
    buffer->last_step = MAX(buffer->last_step, step);
}

static void set_lifetimes(struct network_plan *plan)
{
    for (guint i = 0; i < plan->buffers->len; i++) {
        struct plan_buffer *buffer = plan_buffer_at(plan, (int)i);
        buffer->first_step = buffer->last_step = -1;
    }
    for (guint s = 0; s < plan->steps->len; s++) {
        const struct plan_step *step = plan_step_at(plan, (int)s);
        for (int role = 0; role < OPERAND_COUNT; role++) {
            int index = step->operands[role].buffer;
            if (index >= 0) {
                touch(plan_buffer_at(plan, index), (int)s);
                touch(plan_buffer_at(plan, root_of(plan, index)), (int)s);
            }
        }
    }
    for (guint i = 0; i < plan->buffers->len; i++) {
        struct plan_buffer *buffer = plan_buffer_at(plan, (int)i);
        int last = (int)plan->steps->len - 1;
        if (buffer->kind == PLAN_INPUT && last >= 0) {
            buffer->first_step = 0;
            buffer->last_step = MAX(buffer->last_step, 0);
        } else if (buffer->kind == PLAN_OUTPUT) {
            buffer->last_step = last;
            plan_buffer_at(plan, root_of(plan, (int)i))->last_step = last;
        }
    }
}

static void place_weights(struct network_plan *plan)
{
    int64_t offset = 0;
    for (guint i = 0; i < plan->buffers->len; i++) {
        struct plan_buffer *buffer = plan_buffer_at(plan, (int)i);
        if (buffer->kind != PLAN_WEIGHT) {
            continue;
        }
        g_autofree char *sum = g_compute_checksum_for_bytes(G_CHECKSUM_SHA256, buffer->data);
        g_strlcpy(buffer->sha256, sum, sizeof buffer->sha256);
        buffer->file_offset = offset;
        offset += (buffer->bytes + PLAN_ALIGNMENT - 1) / PLAN_ALIGNMENT * PLAN_ALIGNMENT;
    }
}

void network_plan_finish(struct network_plan *plan)
{
    int group = -1;
    set_lifetimes(plan);
    place_weights(plan);
    for (guint i = 0; i < plan->steps->len; i++) {
        group = MAX(group, plan_step_at(plan, (int)i)->group);
    }
    for (guint i = 0; i < plan->steps->len; i++) {
        struct plan_step *step = plan_step_at(plan, (int)i);
        step->group = step->group < 0 ? ++group : step->group;
    }
}

void network_plan_set_groups(struct network_plan *plan, const struct network_plan *fused)
{
    g_autoptr(GHashTable) group_of = g_hash_table_new(g_str_hash, g_str_equal);
    g_autoptr(GHashTable) number = g_hash_table_new(NULL, NULL);
    for (guint i = 0; i < fused->steps->len; i++) {
        const struct plan_step *step = plan_step_at(fused, (int)i);
        for (int n = 0; step->nodes[n] != NULL; n++) {
            if (!g_hash_table_contains(group_of, step->nodes[n])) {
                g_hash_table_insert(group_of, step->nodes[n], GINT_TO_POINTER((int)i + 1));
            }
        }
    }
    int next = 0;
    for (guint i = 0; i < plan->steps->len; i++) {
        struct plan_step *step = plan_step_at(plan, (int)i);
        gpointer key =
            step->nodes[0] != NULL ? g_hash_table_lookup(group_of, step->nodes[0]) : NULL;
        gpointer known = key != NULL ? g_hash_table_lookup(number, key) : NULL;
        if (known != NULL) {
            step->group = GPOINTER_TO_INT(known) - 1;
            continue;
        }
        step->group = next++;
        if (key != NULL) {
            g_hash_table_insert(number, key, GINT_TO_POINTER(step->group + 1));
        }
    }
}

int64_t network_plan_weight_bytes(const struct network_plan *plan)
{
    int64_t bytes = 0;
    for (guint i = 0; i < plan->buffers->len; i++) {
        const struct plan_buffer *buffer = plan_buffer_at(plan, (int)i);
        bytes += buffer->kind == PLAN_WEIGHT ? buffer->bytes : 0;
    }
    return bytes;
}

/* ---- checking ---- */

/* The members of "operands" by role. */
static const char *const role_names[OPERAND_COUNT] = {
    [TENSOR_X] = "x",           [TENSOR_W] = "w",
    [TENSOR_Y] = "y",           [TENSOR_RESIDUAL] = "residual",
    [TENSOR_BIAS] = "bias",     [TENSOR_SCALES] = "scales",
    [TENSOR_PACKED] = "packed",
};

static bool check_buffer(const struct network_plan *plan, int index, GError **error)
{
    const struct plan_buffer *buffer = plan_buffer_at(plan, index);
    if (buffer->bytes < 1) {
        return invalid(error, "buffer '%s' is empty", buffer->name);
    }
    if ((buffer->kind == PLAN_WEIGHT) != (buffer->data != NULL) ||
        (buffer->data != NULL && g_bytes_get_size(buffer->data) != (gsize)buffer->bytes)) {
        return invalid(error, "buffer '%s' has other bytes than its kind and size say",
                       buffer->name);
    }
    if (buffer->alias_of < 0) {
        return true;
    }
    if (buffer->kind == PLAN_INPUT || buffer->kind == PLAN_WEIGHT ||
        buffer->alias_of >= (int)plan->buffers->len) {
        return invalid(error, "buffer '%s' cannot be a part of another one", buffer->name);
    }
    const struct plan_buffer *root = plan_buffer_at(plan, buffer->alias_of);
    if (root->alias_of >= 0 || buffer->alias_offset < 0 ||
        buffer->alias_offset > root->bytes - buffer->bytes) {
        return invalid(error, "buffer '%s' is not inside buffer '%s'", buffer->name, root->name);
    }
    return true;
}

static bool check_operand(const struct network_plan *plan, const struct plan_step *step, int role,
                          const gboolean *is_written, GError **error)
{
    const struct plan_operand *operand = &step->operands[role];
    bool wanted = role != TENSOR_PACKED && problem_has_operand(&step->problem, role);
    if (wanted != (operand->buffer >= 0)) {
        return invalid(error, "step '%s' %s operand %s", step->name, wanted ? "lacks" : "has no",
                       role_names[role]);
    }
    if (!wanted) {
        return true;
    }
    if ((guint)operand->buffer >= plan->buffers->len) {
        return invalid(error, "step '%s': its operand %s is in no buffer", step->name,
                       role_names[role]);
    }
    const struct plan_buffer *buffer = plan_buffer_at(plan, operand->buffer);
    int64_t bytes = problem_tensor_span(&step->problem, role) *
                    data_type_bytes(problem_operand_type(&step->problem, role));
    if (operand->offset_bytes < 0 || operand->offset_bytes > buffer->bytes - bytes) {
        return invalid(error,
                       "step '%s': its operand %s, %" PRId64 " bytes from %" PRId64
                       ", does not lie in buffer '%s' of %" PRId64 " bytes",
                       step->name, role_names[role], bytes, operand->offset_bytes, buffer->name,
                       buffer->bytes);
    }
    if (step->problem.kind == OP_CONV &&
        (buffer->alias_offset + operand->offset_bytes) % PLAN_OPERAND_ALIGNMENT != 0) {
        return invalid(error,
                       "step '%s': its operand %s does not begin at a multiple of %d bytes in "
                       "buffer '%s'",
                       step->name, role_names[role], PLAN_OPERAND_ALIGNMENT, buffer->name);
    }
    bool is_output = role == (int)problem_output_role(&step->problem);
    if (is_output && (buffer->kind == PLAN_INPUT || buffer->kind == PLAN_WEIGHT)) {
        return invalid(error, "step '%s' writes %s '%s'", step->name,
                       plan_buffer_kind_name(buffer->kind), buffer->name);
    }
    if (!is_output && !is_written[root_of(plan, operand->buffer)]) {
        return invalid(error, "step '%s' reads buffer '%s' before a step has written it",
                       step->name, buffer->name);
    }
    return true;
}

static bool check_step(const struct network_plan *plan, const struct plan_step *step,
                       gboolean *is_written, GError **error)
{
    if (!problem_validate(&step->problem, error) || !problem_validate(&step->alone, error)) {
        g_prefix_error(error, "step '%s': ", step->name);
        return false;
    }
    if (step->problem.direction == DIRECTION_W) {
        return invalid(error, "step '%s' is a gradient of a filter", step->name);
    }
    for (int role = 0; role < OPERAND_COUNT; role++) {
        if (!check_operand(plan, step, role, is_written, error)) {
            return false;
        }
    }
    is_written[root_of(plan, step->operands[problem_output_role(&step->problem)].buffer)] = TRUE;
    return true;
}

bool network_plan_validate(const struct network_plan *plan, GError **error)
{
    g_autofree gboolean *is_written = g_new0(gboolean, plan->buffers->len + 1);
    for (guint i = 0; i < plan->buffers->len; i++) {
        const struct plan_buffer *buffer = plan_buffer_at(plan, (int)i);
        if (!check_buffer(plan, (int)i, error)) {
            return false;
        }
        is_written[i] = buffer->kind == PLAN_INPUT || buffer->kind == PLAN_WEIGHT;
    }
    for (guint i = 0; i < plan->steps->len; i++) {
        if (!check_step(plan, plan_step_at(plan, (int)i), is_written, error)) {
            return false;
        }
    }
    for (guint i = 0; i < plan->outputs->len; i++) {
        int index = g_array_index(plan->outputs, int, i);
        if (!is_written[root_of(plan, index)]) {
            return invalid(error, "no step writes the output '%s'",
                           plan_buffer_at(plan, index)->name);
        }
    }
    return true;
}

/* ---- the JSON form ---- */

static json_t *integers(const int64_t *values, int count)
{
    json_t *array = json_array();
    for (int i = 0; i < count; i++) {
        json_array_append_new(array, json_integer(values[i]));
    }
    return array;
}

static json_t *indexes(const GArray *values)
{
    json_t *array = json_array();
    for (guint i = 0; i < values->len; i++) {
        json_array_append_new(array, json_integer(g_array_index(values, int, i)));
    }
    return array;
}

static json_t *buffer_json(const struct plan_buffer *buffer)
{
    enum data_type type = TYPE_NONE;
    element_type_to_data_type(buffer->shape.type, &type);
    json_t *object =
        json_pack("{s:s, s:s, s:I, s:s, s:o, s:o, s:i, s:i}", "name", buffer->name, "kind",
                  plan_buffer_kind_name(buffer->kind), "bytes", (json_int_t)buffer->bytes, "type",
                  data_type_name(type), "dims", integers(buffer->shape.dim, buffer->shape.rank),
                  "strides", integers(buffer->shape.stride, buffer->shape.rank), "first",
                  buffer->first_step, "last", buffer->last_step);
    if (buffer->alias_of >= 0) {
        json_object_set_new(object, "alias_of", json_integer(buffer->alias_of));
        json_object_set_new(object, "alias_offset", json_integer(buffer->alias_offset));
    }
    if (buffer->kind == PLAN_WEIGHT) {
        json_object_set_new(object, "offset", json_integer(buffer->file_offset));
        json_object_set_new(object, "sha256", json_string(buffer->sha256));
        json_object_set_new(object, "generated", json_boolean(buffer->is_generated));
    }
    return object;
}

static json_t *step_json(const struct plan_step *step)
{
    char problem[PROBLEM_KEY_MAX], alone[PROBLEM_KEY_MAX];
    json_t *nodes = json_array(), *operands = json_object();
    for (int i = 0; step->nodes[i] != NULL; i++) {
        json_array_append_new(nodes, json_string(step->nodes[i]));
    }
    for (int role = 0; role < OPERAND_COUNT; role++) {
        const struct plan_operand *operand = &step->operands[role];
        if (operand->buffer >= 0) {
            json_object_set_new(operands, role_names[role],
                                json_pack("{s:i, s:I}", "buffer", operand->buffer, "offset",
                                          (json_int_t)operand->offset_bytes));
        }
    }
    return json_pack("{s:s, s:o, s:s, s:s, s:o, s:i}", "name", step->name, "nodes", nodes,
                     "problem", problem_key(&step->problem, problem), "alone",
                     problem_key(&step->alone, alone), "operands", operands, "group", step->group);
}

/* Calls put() with the bytes of the weights' file, piece by piece. */
static bool each_weight(const struct network_plan *plan,
                        bool (*put)(void *context, const void *bytes, gsize length), void *context)
{
    static const guint8 zeros[PLAN_ALIGNMENT];
    int64_t at = 0;
    for (guint i = 0; i < plan->buffers->len; i++) {
        const struct plan_buffer *buffer = plan_buffer_at(plan, (int)i);
        if (buffer->kind != PLAN_WEIGHT) {
            continue;
        }
        gsize length;
        const void *bytes = g_bytes_get_data(buffer->data, &length);
        if (!put(context, zeros, (gsize)(buffer->file_offset - at)) ||
            !put(context, bytes, length)) {
            return false;
        }
        at = buffer->file_offset + buffer->bytes;
    }
    return true;
}

struct weights_file {
    FILE *file; /* NULL: only summed */
    GChecksum *sum;
    int64_t bytes;
};

static bool put_weights(void *context, const void *bytes, gsize length)
{
    struct weights_file *weights = context;
    g_checksum_update(weights->sum, bytes, (gssize)length);
    weights->bytes += (int64_t)length;
    return weights->file == NULL || fwrite(bytes, 1, length, weights->file) == length;
}

static json_t *weights_json(const struct network_plan *plan, const char *name)
{
    bool is_generated = false;
    struct weights_file weights = {.sum = g_checksum_new(G_CHECKSUM_SHA256)};
    each_weight(plan, put_weights, &weights);
    for (guint i = 0; i < plan->buffers->len; i++) {
        is_generated |= plan_buffer_at(plan, (int)i)->is_generated;
    }
    json_t *object =
        json_pack("{s:s, s:I, s:s, s:o}", "file", name, "bytes", (json_int_t)weights.bytes,
                  "sha256", g_checksum_get_string(weights.sum), "seed",
                  is_generated ? json_integer((json_int_t)plan->seed) : json_null());
    g_checksum_free(weights.sum);
    return object;
}

json_t *network_plan_json(const struct network_plan *plan, const char *weights_name)
{
    json_t *knobs = json_object(), *buffers = json_array(), *steps = json_array();
    for (guint i = 0; i < plan->knobs->len; i++) {
        const struct plan_knob *knob = &g_array_index(plan->knobs, struct plan_knob, i);
        json_object_set_new(knobs, knob->name, json_string(knob->value));
    }
    for (guint i = 0; i < plan->buffers->len; i++) {
        json_array_append_new(buffers, buffer_json(plan_buffer_at(plan, (int)i)));
    }
    for (guint i = 0; i < plan->steps->len; i++) {
        json_array_append_new(steps, step_json(plan_step_at(plan, (int)i)));
    }
    return json_pack("{s:i, s:s, s:I, s:o, s:o, s:o, s:o, s:o, s:o}", "skipjack_plan",
                     NETWORK_PLAN_VERSION, "network", plan->network, "batch",
                     (json_int_t)plan->batch, "knobs", knobs, "weights",
                     weights_name != NULL ? weights_json(plan, weights_name) : json_null(),
                     "inputs", indexes(plan->inputs), "outputs", indexes(plan->outputs), "buffers",
                     buffers, "steps", steps);
}

static bool file_failed(const char *what, const char *path, int error_number, GError **error)
{
    g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(error_number), "cannot %s '%s': %s",
                what, path, g_strerror(error_number));
    return false;
}

static bool write_weights(const struct network_plan *plan, const char *path, GError **error)
{
    g_autofree char *temporary = g_strconcat(path, ".part", NULL);
    struct weights_file weights = {.file = fopen(temporary, "wb")};
    if (weights.file == NULL) {
        return file_failed("write", temporary, errno, error);
    }
    weights.sum = g_checksum_new(G_CHECKSUM_SHA256);
    errno = 0;
    bool written = each_weight(plan, put_weights, &weights);
    int number = errno;
    g_checksum_free(weights.sum);
    if (fclose(weights.file) != 0 && written) {
        written = false;
        number = errno;
    }
    if (!written) {
        remove(temporary);
        return file_failed("write", temporary, number, error);
    }
    if (rename(temporary, path) != 0) {
        number = errno;
        remove(temporary);
        return file_failed("rename to", path, number, error);
    }
    return true;
}

bool network_plan_write(const struct network_plan *plan, const char *path, GError **error)
{
    g_autofree char *stem = g_strndup(
        path, g_str_has_suffix(path, ".json") ? strlen(path) - strlen(".json") : strlen(path));
    g_autofree char *weights_path = g_strconcat(stem, ".weights", NULL);
    g_autofree char *weights_name = g_path_get_basename(weights_path);
    bool has_weights = network_plan_weight_bytes(plan) > 0;
    if (has_weights && !write_weights(plan, weights_path, error)) {
        return false;
    }
    json_t *json = network_plan_json(plan, has_weights ? weights_name : NULL);
    char *text = json_dumps(json, JSON_INDENT(1));
    json_decref(json);
    bool written = g_file_set_contents(path, text, -1, error);
    free(text);
    return written;
}
