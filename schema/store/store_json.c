/*
 * Rows as JSON. The database may hold anything that another program wrote, so
 * the readers accept a value only in the range of its field and name the first
 * that is not.
 */
#include "schema/store/store_private.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define REAL_WHOLE_MAX 9.2e18 /* below 2^63: larger reals do not fit an int64_t */

bool store_damaged(GError **error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *words = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    g_set_error(error, STORE_ERROR, STORE_ERROR_DAMAGED, "a row of the database is damaged: %s",
                words);
    return false;
}

bool json_int_within(const json_t *value, int64_t least, int64_t most, int64_t *number)
{
    double real = json_real_value(value);
    bool whole = json_is_integer(value) || (fabs(real) < REAL_WHOLE_MAX && real == trunc(real));
    int64_t read = json_is_real(value) && whole ? (int64_t)real : json_integer_value(value);
    if (!json_is_number(value) || !whole || read < least || read > most)
        return false;
    *number = read;
    return true;
}

int64_t json_member_int(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    double real = json_real_value(value);
    return json_is_real(value) && fabs(real) < REAL_WHOLE_MAX ? (int64_t)real
                                                              : json_integer_value(value);
}

double json_member_double(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    /* Infinities and NaN come as texts. */
    return json_is_string(value) ? NAN : json_number_value(value);
}

bool json_member_bool(const json_t *object, const char *name)
{
    return json_is_true(json_object_get(object, name));
}

char *json_member_text_or_null(const json_t *object, const char *name)
{
    return g_strdup(json_string_value(json_object_get(object, name)));
}

char *json_member_text(const json_t *object, const char *name)
{
    char *text = json_member_text_or_null(object, name);
    return text != NULL ? text : g_strdup("");
}

json_t *json_from_text(const char *text)
{
    if (text == NULL)
        return json_null();
    g_autofree char *valid = g_utf8_make_valid(text, -1);
    return json_string(valid);
}

json_t *json_from_double(double value)
{
    return json_real(isfinite(value) ? value : 0);
}

/* ---- problems ---- */

static const char *const problem_triples[] = {"in_size", "fil",    "out_size",
                                              "pad",     "stride", "dilation"};

static int64_t *triple_at(struct problem *p, gsize index)
{
    int64_t *const triples[] = {p->in, p->fil, p->out, p->pad, p->stride, p->dilation};
    g_assert(index < G_N_ELEMENTS(triples));
    return triples[index];
}

static const char *type_text(enum data_type type)
{
    return type == TYPE_NONE ? "" : data_type_name(type);
}

static bool type_from_text(const char *text, enum data_type *type, GError **error)
{
    *type = TYPE_NONE;
    if (text == NULL || *text == '\0' || data_type_parse(text, type))
        return true;
    return store_damaged(error, "a problem has the unknown data type '%s'", text);
}

static json_t *strides_to_json(const struct problem *p)
{
    json_t *array = json_array();
    for (gsize i = 0; problem_is_strided(p) && i < PROBLEM_STRIDES; i++)
        json_array_append_new(array, json_integer(p->strides[i / 5][i % 5]));
    return array;
}

json_t *problem_to_json(const struct problem *p)
{
    struct problem copy = *p;
    const char direction[] = {direction_letter(p->direction), '\0'};
    json_t *object =
        json_pack("{ss ss si sI sI sI sI si so so so}", "kind", op_kind_name(p->kind), "direction",
                  direction, "spatial_dim", p->spatial_dim, "n", (json_int_t)p->n, "c",
                  (json_int_t)p->c, "k", (json_int_t)p->k, "groups", (json_int_t)p->groups, "bias",
                  p->bias, "epilogue", json_from_text(p->epilogue), "mode", json_from_text(p->mode),
                  "strides", strides_to_json(p));
    g_assert(object != NULL);
    for (gsize i = 0; i < G_N_ELEMENTS(problem_triples); i++) {
        const int64_t *v = triple_at(&copy, i);
        json_object_set_new(
            object, problem_triples[i],
            json_pack("[III]", (json_int_t)v[0], (json_int_t)v[1], (json_int_t)v[2]));
    }
    json_object_set_new(
        object, "types",
        json_pack("[sss]", type_text(p->type[0]), type_text(p->type[1]), type_text(p->type[2])));
    json_object_set_new(
        object, "casts",
        json_pack("[sss]", type_text(p->cast[0]), type_text(p->cast[1]), type_text(p->cast[2])));
    json_object_set_new(object, "layouts",
                        json_pack("[sss]", layout_name(p->layout[0]), layout_name(p->layout[1]),
                                  layout_name(p->layout[2])));
    return object;
}

static const char *text_at(const json_t *object, const char *name, gsize index)
{
    return json_string_value(json_array_get(json_object_get(object, name), index));
}

/* Reads a number of a problem. Whether it makes sense is for problem_validate() to say. */
static bool read_number(const json_t *value, const char *name, int64_t *number, GError **error)
{
    return json_int_within(value, INT32_MIN, INT32_MAX, number) ||
           store_damaged(error, "a problem's %s is not a 32-bit number", name);
}

static bool read_triple(const json_t *object, const char *name, int64_t *triple, GError **error)
{
    const json_t *array = json_object_get(object, name);
    if (json_array_size(array) != AXIS_COUNT)
        return store_damaged(error, "a problem's %s does not have %d numbers", name, AXIS_COUNT);
    for (gsize axis = 0; axis < AXIS_COUNT; axis++)
        if (!read_number(json_array_get(array, axis), name, &triple[axis], error))
            return false;
    return true;
}

static bool read_numbers(const json_t *object, struct problem *p, GError **error)
{
    int64_t spatial_dim = 0, bias = 0;
    const struct {
        const char *name;
        int64_t *number;
    } numbers[] = {{"n", &p->n},           {"c", &p->c},    {"k", &p->k},
                   {"groups", &p->groups}, {"bias", &bias}, {"spatial_dim", &spatial_dim}};
    for (gsize i = 0; i < G_N_ELEMENTS(numbers); i++)
        if (!read_number(json_object_get(object, numbers[i].name), numbers[i].name,
                         numbers[i].number, error))
            return false;
    p->spatial_dim = (int)spatial_dim;
    p->bias = (int)bias;
    for (gsize i = 0; i < G_N_ELEMENTS(problem_triples); i++)
        if (!read_triple(object, problem_triples[i], triple_at(p, i), error))
            return false;
    return true;
}

static bool read_tensor(const json_t *object, struct problem *p, gsize role, GError **error)
{
    const char *layout = text_at(object, "layouts", role);
    if (!type_from_text(text_at(object, "types", role), &p->type[role], error) ||
        !type_from_text(text_at(object, "casts", role), &p->cast[role], error))
        return false;
    return (layout != NULL && layout_parse(layout, &p->layout[role])) ||
           store_damaged(error, "a problem has the unknown layout '%s'",
                         layout != NULL ? layout : "");
}

/* Reads a text of a problem; a missing one is empty. */
static bool read_text(const json_t *object, const char *name, char *text, gsize size,
                      GError **error)
{
    const char *value = json_string_value(json_object_get(object, name));
    if (value != NULL && strlen(value) >= size)
        return store_damaged(error, "a problem's %s has more than %zu bytes", name, size - 1);
    g_strlcpy(text, value != NULL ? value : "", size);
    return true;
}

/* Reads the strides. Without strides all tensors are packed: rows of older programs lack them. */
static bool read_strides(const json_t *object, struct problem *p, GError **error)
{
    const json_t *array = json_object_get(object, "strides");
    if (array == NULL || json_is_null(array) ||
        (json_is_array(array) && json_array_size(array) == 0))
        return true;
    if (json_array_size(array) != PROBLEM_STRIDES)
        return store_damaged(error, "a problem's strides are not %d numbers", PROBLEM_STRIDES);
    for (gsize i = 0; i < PROBLEM_STRIDES; i++)
        if (!json_int_within(json_array_get(array, i), 0, INT64_MAX, &p->strides[i / 5][i % 5]))
            return store_damaged(error, "a problem's strides have a number that is out of range");
    return problem_is_strided(p) ||
           store_damaged(error, "a problem's strides are all 0, which a packed one leaves out");
}

static bool read_texts(const json_t *object, struct problem *p, GError **error)
{
    const char *kind = json_string_value(json_object_get(object, "kind"));
    const char *direction = json_string_value(json_object_get(object, "direction"));
    if (kind == NULL || !op_kind_parse(kind, &p->kind))
        return store_damaged(error, "a problem has the unknown kind '%s'",
                             kind != NULL ? kind : "");
    if (direction == NULL || strlen(direction) != 1 ||
        !direction_parse(direction[0], &p->direction))
        return store_damaged(error, "a problem has the unknown direction '%s'",
                             direction != NULL ? direction : "");
    return read_text(object, "epilogue", p->epilogue, sizeof p->epilogue, error) &&
           read_text(object, "mode", p->mode, sizeof p->mode, error);
}

bool problem_from_json(const json_t *object, struct problem *p, GError **error)
{
    problem_init(p);
    bool read = read_texts(object, p, error) && read_numbers(object, p, error) &&
                read_strides(object, p, error);
    for (gsize role = 0; role < TENSOR_COUNT && read; role++)
        read = read_tensor(object, p, role, error);
    if (!read) {
        problem_init(p);
        g_prefix_error(error, "problem %" G_GINT64_FORMAT ": ",
                       (gint64)json_member_int(object, "id"));
    }
    return read;
}

/* ---- configs ---- */

json_t *config_to_json(const struct perf_config *config)
{
    json_t *array = json_array();
    for (int i = 0; i < config->count; i++)
        json_array_append_new(array, json_integer(config->values[i]));
    return array;
}

bool config_from_json(const json_t *array, struct perf_config *config, GError **error)
{
    gsize count = json_array_size(array);
    memset(config, 0, sizeof *config);
    if (!json_is_array(array) || count > CONFIG_MAX)
        return store_damaged(error, "a perf config has %zu values, at most %d are possible", count,
                             CONFIG_MAX);
    for (gsize i = 0; i < count; i++) {
        int64_t value;
        if (!json_int_within(json_array_get(array, i), INT32_MIN, INT32_MAX, &value)) {
            memset(config, 0, sizeof *config);
            return store_damaged(error, "a perf config has a value that is not a 32-bit number");
        }
        config->values[config->count++] = (int32_t)value;
    }
    return true;
}

char **texts_from_json(const json_t *array)
{
    size_t count = json_array_size(array);
    char **texts = g_new0(char *, count + 1);
    for (size_t i = 0; i < count; i++) {
        const char *value = json_string_value(json_array_get(array, i));
        texts[i] = g_strdup(value != NULL ? value : "");
    }
    return texts;
}

bool failure_from_json(const json_t *object, enum failure *failure, GError **error)
{
    int64_t number;
    if (!json_int_within(json_object_get(object, "failure"), 0, FAILURE_COUNT - 1, &number))
        return store_damaged(error, "a failure has an unknown number");
    *failure = (enum failure)number;
    return true;
}
