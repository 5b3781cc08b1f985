#include "schema/store_private.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

json_t *store_row_json(const PGresult *rows, int row)
{
    json_error_t words;
    json_t *object = json_loads(PQgetvalue(rows, row, 0), JSON_DECODE_ANY, &words);
    if (object == NULL)
        g_error("a row of the database is no JSON: %s", words.text);
    return object;
}

int64_t json_member_int(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    return json_is_real(value) ? (int64_t)json_real_value(value) : json_integer_value(value);
}

double json_member_double(const json_t *object, const char *name)
{
    return json_number_value(json_object_get(object, name));
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

static enum data_type type_from_text(const char *text)
{
    enum data_type type = TYPE_NONE;
    if (text != NULL && *text != '\0' && !data_type_parse(text, &type))
        g_error("the database names a data type '%s' that this program does not know", text);
    return type;
}

json_t *problem_to_json(const struct problem *p)
{
    struct problem copy = *p;
    const char direction[] = {direction_letter(p->direction), '\0'};
    json_t *object = json_pack(
        "{ss ss si sI sI sI sI si so}", "kind", "conv", "direction", direction, "spatial_dim",
        p->spatial_dim, "n", (json_int_t)p->n, "c", (json_int_t)p->c, "k", (json_int_t)p->k,
        "groups", (json_int_t)p->groups, "bias", p->bias, "epilogue", json_from_text(p->epilogue));
    g_assert(p->kind == OP_CONV && object != NULL);
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

void problem_from_json(const json_t *object, struct problem *p)
{
    problem_init(p);
    p->kind = OP_CONV;
    const char *direction = json_string_value(json_object_get(object, "direction"));
    const char *epilogue = json_string_value(json_object_get(object, "epilogue"));
    if (direction == NULL || !direction_parse(direction[0], &p->direction))
        g_error("the database holds a problem without a direction");
    p->spatial_dim = (int)json_member_int(object, "spatial_dim");
    p->n = json_member_int(object, "n");
    p->c = json_member_int(object, "c");
    p->k = json_member_int(object, "k");
    p->groups = json_member_int(object, "groups");
    p->bias = (int)json_member_int(object, "bias");
    g_strlcpy(p->epilogue, epilogue != NULL ? epilogue : "", sizeof p->epilogue);
    for (gsize i = 0; i < G_N_ELEMENTS(problem_triples); i++) {
        const json_t *array = json_object_get(object, problem_triples[i]);
        for (gsize axis = 0; axis < AXIS_COUNT; axis++)
            triple_at(p, i)[axis] = json_integer_value(json_array_get(array, axis));
    }
    for (gsize role = 0; role < TENSOR_COUNT; role++) {
        const char *layout = text_at(object, "layouts", role);
        p->type[role] = type_from_text(text_at(object, "types", role));
        p->cast[role] = type_from_text(text_at(object, "casts", role));
        if (layout == NULL || !layout_parse(layout, &p->layout[role]))
            g_error("the database names a layout that this program does not know");
    }
}

/* ---- configs ---- */

json_t *config_to_json(const struct perf_config *config)
{
    json_t *array = json_array();
    for (int i = 0; i < config->count; i++)
        json_array_append_new(array, json_integer(config->values[i]));
    return array;
}

void config_from_json(const json_t *array, struct perf_config *config)
{
    memset(config, 0, sizeof *config);
    config->count = (int)MIN(json_array_size(array), CONFIG_MAX);
    for (int i = 0; i < config->count; i++)
        config->values[i] = (int32_t)json_integer_value(json_array_get(array, (gsize)i));
}

json_t *kept_to_json(const struct kept *kept, int rank)
{
    const struct outcome *o = &kept->outcome;
    json_t *object = json_pack(
        "{si so so so si so so so so so so sI so sb}", "rank", rank, "config",
        config_to_json(&kept->config), "config_text", json_from_text(kept->config_text),
        "kernel_keys", json_from_text(kept->kernel_keys ? kept->kernel_keys : ""), "n", o->n,
        "min_ms", json_from_double(o->min_ms), "median_ms", json_from_double(o->median_ms),
        "spread", json_from_double(o->spread), "error", json_from_double(o->error), "build_seconds",
        json_from_double(o->build_seconds), "eval_seconds", json_from_double(o->eval_seconds),
        "workspace_bytes", (json_int_t)kept->workspace_bytes, "flops",
        json_from_double(kept->flops), "is_default", kept->is_default);
    g_assert(object != NULL);
    return object;
}

void kept_from_json(const json_t *object, struct kept *kept)
{
    memset(kept, 0, sizeof *kept);
    config_from_json(json_object_get(object, "config"), &kept->config);
    kept->config_text = json_member_text(object, "config_text");
    kept->kernel_keys = json_member_text(object, "kernel_keys");
    kept->outcome = (struct outcome){
        .failure = FAILURE_NONE,
        .n = (int)json_member_int(object, "n"),
        .min_ms = json_member_double(object, "min_ms"),
        .median_ms = json_member_double(object, "median_ms"),
        .spread = json_member_double(object, "spread"),
        .error = json_member_double(object, "error"),
        .build_seconds = json_member_double(object, "build_seconds"),
        .eval_seconds = json_member_double(object, "eval_seconds"),
    };
    kept->workspace_bytes = (uint64_t)json_member_int(object, "workspace_bytes");
    kept->flops = json_member_double(object, "flops");
    kept->is_default = json_member_bool(object, "is_default");
}

void kept_clear(struct kept *kept)
{
    g_free(kept->config_text);
    g_free(kept->kernel_keys);
}
