/* The API's description, and requests against it. */
#include "coordinator/serve/description.h"

#include "coordinator/serve/page_files.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define SCHEMA_DEPTH 16
#define NUMBER_TEXT  19 /* most characters of a number in a path or query */

struct description {
    json_t *document;
    json_t *resolved;   /* array of the operations' parameters */
    GArray *operations; /* struct operation */
};

/* ---- references ---- */

/* The object that {"$ref": "#/components/schemas/X"} means; other values as they are. */
static const json_t *resolve(const Description *description, const json_t *value)
{
    const char *place = json_string_value(json_object_get(value, "$ref"));
    if (!place)
        return value;
    g_auto(GStrv) names = g_strsplit(place, "/", -1);
    const json_t *found = description->document;
    for (char **name = names + 1; *name; name++)
        found = json_object_get(found, *name);
    g_assert(found);
    return found;
}

/* ---- schemas ---- */

static bool say(char **why, char *words)
{
    if (why && !*why)
        *why = words;
    else
        g_free(words);
    return false;
}

static bool is_of_type(const json_t *value, const char *type)
{
    switch (json_typeof(value)) {
    case JSON_OBJECT: return strcmp(type, "object") == 0;
    case JSON_ARRAY: return strcmp(type, "array") == 0;
    case JSON_STRING: return strcmp(type, "string") == 0;
    case JSON_INTEGER: return strcmp(type, "integer") == 0 || strcmp(type, "number") == 0;
    case JSON_REAL:
        return strcmp(type, "number") == 0 ||
               (strcmp(type, "integer") == 0 &&
                json_real_value(value) == floor(json_real_value(value)));
    case JSON_TRUE:
    case JSON_FALSE: return strcmp(type, "boolean") == 0;
    case JSON_NULL: return strcmp(type, "null") == 0;
    }
    return false;
}

static bool has_type(const json_t *types, const json_t *value)
{
    size_t i;
    const json_t *type;
    if (!types || json_is_string(types))
        return !types || is_of_type(value, json_string_value(types));
    json_array_foreach (types, i, type)
        if (is_of_type(value, json_string_value(type)))
            return true;
    return false;
}

static bool is_in(const json_t *list, const json_t *value)
{
    size_t i;
    const json_t *one;
    json_array_foreach (list, i, one)
        if (json_equal((json_t *)(uintptr_t)one, (json_t *)(uintptr_t)value))
            return true;
    return false;
}

/* The values of an enum, "active, paused, 3". Free with g_free(). */
static char *list_text(const json_t *list)
{
    GString *text = g_string_new(NULL);
    size_t i;
    const json_t *one;
    json_array_foreach (list, i, one) {
        g_autofree char *other = json_is_string(one) ? NULL : json_dumps(one, JSON_ENCODE_ANY);
        g_string_append_printf(text, "%s%s", i > 0 ? ", " : "",
                               other ? other : json_string_value(one));
    }
    return g_string_free(text, FALSE);
}

static bool check(const Description *description, const json_t *schema, const json_t *value,
                  const char *name, int depth, char **why);

static bool check_number(const json_t *schema, const json_t *value, const char *name, char **why)
{
    const json_t *least = json_object_get(schema, "minimum");
    const json_t *most = json_object_get(schema, "maximum");
    const json_t *over = json_object_get(schema, "exclusiveMinimum");
    double number = json_number_value(value);
    if (!json_is_number(value))
        return true;
    if (least && number < json_number_value(least))
        return say(why, g_strdup_printf("%s is at least %.15g", name, json_number_value(least)));
    if (most && number > json_number_value(most))
        return say(why, g_strdup_printf("%s is at most %.15g", name, json_number_value(most)));
    if (over && number <= json_number_value(over))
        return say(why, g_strdup_printf("%s is more than %.15g", name, json_number_value(over)));
    return true;
}

static bool check_text(const json_t *schema, const json_t *value, const char *name, char **why)
{
    const json_t *least = json_object_get(schema, "minLength");
    const json_t *most = json_object_get(schema, "maxLength");
    const char *text = json_string_value(value);
    if (!text)
        return true;
    json_int_t length = (json_int_t)g_utf8_strlen(text, -1);
    if (least && length < json_integer_value(least))
        return say(why, g_strdup_printf("%s is too short", name));
    if (most && length > json_integer_value(most))
        return say(why, g_strdup_printf("%s is longer than %d characters", name,
                                        (int)json_integer_value(most)));
    return true;
}

static bool check_object(const Description *description, const json_t *schema, const json_t *value,
                         const char *name, int depth, char **why)
{
    size_t i;
    const json_t *required;
    const char *member_name;
    json_t *member;
    const json_t *properties = json_object_get(schema, "properties");
    const json_t *others = json_object_get(schema, "additionalProperties");
    if (!json_is_object(value))
        return true;
    json_array_foreach (json_object_get(schema, "required"), i, required)
        if (!json_object_get(value, json_string_value(required)))
            return say(why,
                       g_strdup_printf("%s has no member %s", name, json_string_value(required)));
    if ((json_int_t)json_object_size(value) <
        json_integer_value(json_object_get(schema, "minProperties")))
        return say(why, g_strdup_printf("%s is empty", name));
    json_object_foreach ((json_t *)(uintptr_t)value, member_name, member) {
        const json_t *own = json_object_get(properties, member_name);
        if (!own && json_is_false(others))
            return say(why, g_strdup_printf("%s has no member '%.40s'", name, member_name));
        if (!own)
            own = others;
        if (json_is_object(own) && !check(description, own, member, member_name, depth + 1, why))
            return false;
    }
    return true;
}

static bool check_any(const Description *description, const json_t *schema, const json_t *value,
                      int depth)
{
    size_t i;
    const json_t *one;
    const json_t *choices = json_object_get(schema, "anyOf");
    json_array_foreach (choices, i, one)
        if (check(description, one, value, "", depth + 1, NULL))
            return true;
    return !choices;
}

static bool check(const Description *description, const json_t *schema, const json_t *value,
                  const char *name, int depth, char **why)
{
    size_t i;
    const json_t *item;
    if (depth > SCHEMA_DEPTH)
        return say(why, g_strdup_printf("%s is nested too deeply", name));
    schema = resolve(description, schema);
    const json_t *choices = json_object_get(schema, "enum");
    if (!has_type(json_object_get(schema, "type"), value))
        return say(why, g_strdup_printf("%s is of another type", name));
    if (choices && !is_in(choices, value)) {
        g_autofree char *all = list_text(choices);
        return say(why, g_strdup_printf("%s is one of %s", name, all));
    }
    if (!check_any(description, schema, value, depth))
        return say(why, g_strdup_printf("%s fits none of its forms", name));
    json_array_foreach (value, i, item)
        if (json_object_get(schema, "items") &&
            !check(description, json_object_get(schema, "items"), item, name, depth + 1, why))
            return false;
    return check_number(schema, value, name, why) && check_text(schema, value, name, why) &&
           check_object(description, schema, value, name, depth, why);
}

/* ---- requests ---- */

static json_t *read_integer(const char *text)
{
    char *end;
    size_t length = strlen(text);
    const char *digits = *text == '-' ? text + 1 : text;
    if (length > NUMBER_TEXT || !g_ascii_isdigit(*digits))
        return NULL;
    errno = 0;
    gint64 number = g_ascii_strtoll(text, &end, 10);
    return errno == 0 && *end == '\0' ? json_integer(number) : NULL;
}

/* A value in its schema's type; NULL if it is not of that type. */
static json_t *read_value(const json_t *schema, const char *text)
{
    const char *type = json_string_value(json_object_get(schema, "type"));
    if (strcmp(type, "integer") == 0)
        return read_integer(text);
    if (strcmp(type, "boolean") == 0)
        return strcmp(text, "true") == 0    ? json_true()
               : strcmp(text, "false") == 0 ? json_false()
                                            : NULL;
    return json_string(text);
}

static bool read_parameter(const Description *description, const json_t *parameter,
                           const char *text, json_t *values, char **why)
{
    const char *name = json_string_value(json_object_get(parameter, "name"));
    const json_t *schema = json_object_get(parameter, "schema");
    json_t *standard = json_object_get(schema, "default");
    if (!text) {
        if (json_is_true(json_object_get(parameter, "required")))
            return say(why, g_strdup_printf("the parameter %s is missing", name));
        if (standard)
            json_object_set(values, name, standard);
        return true;
    }
    json_t *value = read_value(schema, text);
    if (!value)
        return say(why, g_strdup_printf("%s is of another type", name));
    json_object_set_new(values, name, value);
    return check(description, schema, value, name, 0, why);
}

static bool has_parameter(const json_t *parameters, const char *wanted)
{
    size_t i;
    const json_t *parameter;
    json_array_foreach (parameters, i, parameter)
        if (strcmp(json_string_value(json_object_get(parameter, "in")), "query") == 0 &&
            strcmp(json_string_value(json_object_get(parameter, "name")), wanted) == 0)
            return true;
    return false;
}

static bool read_body(const Description *description, const struct operation *operation,
                      const char *body, size_t length, json_t *values, char **why)
{
    json_error_t wrong;
    if (!operation->body)
        return length == 0 || say(why, g_strdup("this request takes no body"));
    json_t *value = json_loadb(body, length, JSON_REJECT_DUPLICATES, &wrong);
    if (!value)
        return say(why, g_strdup_printf("the body is no JSON object: %s, line %d", wrong.text,
                                        wrong.line));
    bool fits = check(description, operation->body, value, "the body", 0, why);
    if (fits)
        json_object_update(values, value);
    json_decref(value);
    return fits;
}

json_t *description_read(const Description *description, const struct operation *operation,
                         const struct http_target *target, const char *body, size_t body_length,
                         char **why)
{
    size_t i;
    const json_t *parameter;
    json_t *values = json_object();
    *why = NULL;
    json_array_foreach (operation->parameters, i, parameter) {
        const char *name = json_string_value(json_object_get(parameter, "name"));
        const char *in = json_string_value(json_object_get(parameter, "in"));
        const char *text = strcmp(in, "path") == 0
                               ? http_target_named(target, operation->path, name)
                               : http_target_value(target, name);
        if (!read_parameter(description, parameter, text, values, why))
            goto refused;
    }
    for (int p = 0; p < target->parameter_count; p++) {
        if (!has_parameter(operation->parameters, target->parameters[p].name)) {
            say(why, g_strdup_printf("there is no parameter '%.40s'", target->parameters[p].name));
            goto refused;
        }
    }
    if (read_body(description, operation, body, body_length, values, why))
        return values;
refused:
    json_decref(values);
    return NULL;
}

/* ---- the file ---- */

/* The least role of the alternatives: [{}, {"token": ["reader"]}] needs none. */
static enum token_role read_role(const json_t *security)
{
    enum token_role role = TOKEN_NONE;
    const json_t *first = json_array_get(security, 0);
    const char *name = json_string_value(json_array_get(json_object_get(first, "token"), 0));
    if (name)
        g_assert(token_role_parse(name, &role));
    return role;
}

static void add_operation(Description *description, const char *path, const char *method,
                          const json_t *object)
{
    size_t i;
    const json_t *parameter;
    json_t *parameters = json_array();
    json_array_foreach (json_object_get(object, "parameters"), i, parameter)
        json_array_append(parameters, (json_t *)(uintptr_t)resolve(description, parameter));
    json_array_append_new(description->resolved, parameters);
    const json_t *content = json_object_get(
        json_object_get(json_object_get(object, "requestBody"), "content"), "application/json");
    struct operation operation = {
        .id = json_string_value(json_object_get(object, "operationId")),
        .method = g_ascii_strup(method, -1),
        .path = g_strconcat(API_BASE, path, NULL),
        .role = read_role(json_object_get(object, "security")),
        .parameters = parameters,
        .body = json_object_get(content, "schema"),
    };
    g_assert(operation.id);
    g_array_append_val(description->operations, operation);
}

Description *description_load(void)
{
    const char *path, *method;
    json_t *methods, *object;
    json_error_t wrong;
    const struct page_file *file = page_file_find("/page/openapi.json");
    Description *description = g_new0(struct description, 1);
    description->document = json_loadb(file->text, file->size, JSON_REJECT_DUPLICATES, &wrong);
    if (!description->document)
        g_error("openapi.json, line %d: %s", wrong.line, wrong.text);
    description->resolved = json_array();
    description->operations = g_array_new(FALSE, FALSE, sizeof(struct operation));
    json_object_foreach (json_object_get(description->document, "paths"), path, methods)
        json_object_foreach (methods, method, object)
            add_operation(description, path, method, object);
    return description;
}

void description_free(Description *description)
{
    if (!description)
        return;
    for (guint i = 0; i < description->operations->len; i++) {
        g_free(g_array_index(description->operations, struct operation, i).method);
        g_free(g_array_index(description->operations, struct operation, i).path);
    }
    g_array_free(description->operations, TRUE);
    json_decref(description->resolved);
    json_decref(description->document);
    g_free(description);
}

const struct operation *description_operations(const Description *description, int *count)
{
    *count = (int)description->operations->len;
    return (const struct operation *)(void *)description->operations->data;
}
