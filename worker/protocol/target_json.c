#include "worker/protocol/target_json.h"

#include "worker/protocol/frames.h"

#include <stddef.h>
#include <string.h>

/* The fields of struct target as a table that writing and reading share, so that neither can
 * miss a field. */
enum field_kind { FIELD_TEXT, FIELD_INT, FIELD_INT64, FIELD_REAL };

#define FIELD(kind, name)                                                                          \
    {                                                                                              \
#name, kind, offsetof(struct target, name), sizeof(((struct target *)0)->name)             \
    }

static const struct field {
    const char *name;
    enum field_kind kind;
    size_t offset, size;
} fields[] = {
    FIELD(FIELD_TEXT, id),           FIELD(FIELD_TEXT, arch),         FIELD(FIELD_TEXT, features),
    FIELD(FIELD_TEXT, partition),    FIELD(FIELD_INT, compute_units), FIELD(FIELD_INT, memory_gib),
    FIELD(FIELD_INT64, local_bytes), FIELD(FIELD_INT, max_workgroup), FIELD(FIELD_INT, wave_size),
    FIELD(FIELD_INT, vector_bytes),  FIELD(FIELD_REAL, peak_flops),   FIELD(FIELD_REAL, peak_bytes),
};

/* By enum vendor. */
static const char *const vendor_names[] = {"amd", "nvidia", "cpu"};

static json_t *field_get(const struct field *field, const char *at)
{
    switch (field->kind) {
    case FIELD_TEXT: return json_string(at);
    case FIELD_INT: return json_integer(*(const int *)(const void *)at);
    case FIELD_INT64: return json_integer(*(const int64_t *)(const void *)at);
    case FIELD_REAL: return json_real(*(const double *)(const void *)at);
    }
    return NULL;
}

json_t *target_to_json(const struct target *target)
{
    json_t *object = json_object();
    json_object_set_new(object, "vendor", json_string(vendor_names[target->vendor]));
    for (size_t i = 0; i < G_N_ELEMENTS(fields); i++)
        json_object_set_new(object, fields[i].name,
                            field_get(&fields[i], (const char *)target + fields[i].offset));
    return object;
}

static bool field_set(const struct field *field, const json_t *value, char *at)
{
    json_int_t number = json_integer_value(value);
    switch (field->kind) {
    case FIELD_TEXT:
        return json_is_string(value) &&
               json_string_length(value) == strlen(json_string_value(value)) &&
               g_strlcpy(at, json_string_value(value), field->size) < field->size;
    case FIELD_INT:
        *(int *)(void *)at = (int)number;
        return json_is_integer(value) && number >= 0 && number <= INT32_MAX;
    case FIELD_INT64: *(int64_t *)(void *)at = number; return json_is_integer(value) && number >= 0;
    case FIELD_REAL:
        *(double *)(void *)at = json_number_value(value);
        return json_is_number(value) && json_number_value(value) >= 0;
    }
    return false;
}

static bool vendor_set(const json_t *value, enum vendor *vendor)
{
    const char *name = json_string_value(value);
    for (size_t i = 0; name && i < G_N_ELEMENTS(vendor_names); i++) {
        *vendor = (enum vendor)i;
        if (strcmp(name, vendor_names[i]) == 0)
            return true;
    }
    return false;
}

static bool fail_field(const char *name, GError **error)
{
    g_set_error(error, WORKER_ERROR, WORKER_ERROR_FRAME,
                "cannot read a request's target: '%s' is missing or has a wrong type or size",
                name);
    return false;
}

bool target_from_json(const json_t *object, struct target *target, GError **error)
{
    *target = (struct target){0};
    if (!vendor_set(json_object_get(object, "vendor"), &target->vendor))
        return fail_field("vendor", error);
    for (size_t i = 0; i < G_N_ELEMENTS(fields); i++) {
        const json_t *value = json_object_get(object, fields[i].name);
        if (!field_set(&fields[i], value, (char *)target + fields[i].offset))
            return fail_field(fields[i].name, error);
    }
    g_autoptr(GError) invalid = NULL;
    if (target_validate(target, &invalid))
        return true;
    g_set_error(error, WORKER_ERROR, WORKER_ERROR_FRAME, "cannot read a target: %s",
                invalid->message);
    return false;
}

/* An unlimited workspace is left out of the object. A limit is a text, since JSON's integers are
 * signed and a limit is not. */
json_t *limits_to_json(const struct context_limits *limits)
{
    json_t *object =
        json_pack("{s:b, s:b, s:b}", "dynamic_only", limits->dynamic_only, "deterministic",
                  limits->deterministic, "tunable_only", limits->tunable_only);
    g_autofree char *bytes = g_strdup_printf("%" G_GUINT64_FORMAT, limits->workspace_bytes);
    if (limits->limits_workspace)
        json_object_set_new(object, "workspace_bytes", json_string(bytes));
    return object;
}

bool limits_from_json(const json_t *object, struct context_limits *limits, GError **error)
{
    int dynamic_only, deterministic, tunable_only;
    const char *bytes = NULL;
    *limits = (struct context_limits){0};
    if (!object)
        return true;
    if (json_unpack((json_t *)(uintptr_t)object, "{s:b, s:b, s:b, s?s}", "dynamic_only",
                    &dynamic_only, "deterministic", &deterministic, "tunable_only", &tunable_only,
                    "workspace_bytes", &bytes) != 0)
        return fail_field("limits", error);
    *limits = (struct context_limits){.limits_workspace = bytes != NULL,
                                      .dynamic_only = dynamic_only,
                                      .deterministic = deterministic,
                                      .tunable_only = tunable_only};
    return !bytes ||
           g_ascii_string_to_unsigned(bytes, 10, 0, UINT64_MAX, &limits->workspace_bytes, NULL) ||
           fail_field("workspace_bytes", error);
}

json_t *identity_to_json(const struct device_identity *identity)
{
    return json_pack("{s:s, s:s, s:s}", "uuid", identity->uuid, "address", identity->address,
                     "partition", identity->partition);
}

void identity_from_json(const json_t *object, struct device_identity *identity)
{
    const struct {
        const char *name;
        char *text;
        size_t size;
    } texts[] = {
        {"uuid", identity->uuid, sizeof(identity->uuid)},
        {"address", identity->address, sizeof(identity->address)},
        {"partition", identity->partition, sizeof(identity->partition)},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
        const char *text = json_string_value(json_object_get(object, texts[i].name));
        if (g_strlcpy(texts[i].text, text ? text : "", texts[i].size) >= texts[i].size)
            texts[i].text[0] = '\0';
    }
}
