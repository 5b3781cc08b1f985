#include "coordinator/fields/fields.h"

#include "coordinator/cli/cli.h"
#include "coordinator/cli/terminal.h"

#include <math.h>
#include <string.h>

/* The texts that FIELD_BYTES takes beside numbers. byte_count_parse() reads all of them: 999999 TiB are 1.1e18 bytes. */
#define BYTES_PATTERN "^([0-9]{1,15} ?[bB]?|[0-9]{1,6}(\\.[0-9]{1,6})? ?[kKmMgGtT]([iI]?[bB])?)$"

struct reader {
    const char *folder;
    GString *path; /* of the field being read: "problems[1].batch" */
    GError **error;
};

/* ---- messages ---- */

static const char *kind_takes(const struct field *field)
{
    static const char *const texts[] = {
        [FIELD_SCHEMA] = "a text",
        [FIELD_TEXT] = "a text",
        [FIELD_PATH] = "the name of a file or folder",
        [FIELD_LIST] = "a text, or a list of texts without repetition",
        [FIELD_BYTES] = "a number of bytes, or a text such as \"64MiB\"",
        [FIELD_YES] = "true or false",
        [FIELD_INTEGER] = "a whole number",
        [FIELD_NUMBER] = "a number",
        [FIELD_WORD] = "a word",
        [FIELD_SET] = "a list of words",
        [FIELD_OBJECT] = "an object",
        [FIELD_OBJECTS] = "a list of objects",
    };
    return field->takes ? field->takes : texts[field->kind];
}

/* "from 0 to 1", "above 0 and up to 100"; "" without a range. */
static char *range_text(const struct field *field)
{
    if (field->kind != FIELD_INTEGER && field->kind != FIELD_NUMBER && !field->numbers)
        return g_strdup("");
    return g_strdup_printf(field->above ? " above %.15g and up to %.15g" : " from %.15g to %.15g",
                           field->least, field->most);
}

static char *words_text(const struct field *field)
{
    if (!field->words)
        return g_strdup("");
    g_autofree char *all = g_strjoinv(", ", (char **)field->words);
    return g_strdup_printf(" of %s", all);
}

/* The value as the user wrote it, cut after 60 characters. */
static char *value_text(const json_t *value)
{
    char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
    if (text && g_utf8_strlen(text, -1) > 60) {
        char *end = g_utf8_offset_to_pointer(text, 57);
        g_autofree char *cut = g_strndup(text, (gsize)(end - text));
        free(text);
        return g_strconcat(cut, "...", NULL);
    }
    char *copy = g_strdup(text ? text : "?");
    free(text);
    return copy;
}

static bool refuse_value(const struct reader *reader, const struct field *field,
                         const json_t *value)
{
    g_autofree char *range = range_text(field);
    g_autofree char *words = words_text(field);
    g_autofree char *shown = value_text(value);
    g_autofree char *zero =
        field->zero_word ? g_strdup_printf(", or \"%s\"", field->zero_word) : g_strdup("");
    g_set_error(reader->error, COORDINATOR_ERROR, COORDINATOR_ERROR_USAGE,
                "%s: takes %s%s%s%s, not %s", reader->path->str, kind_takes(field), range, words,
                zero, shown);
    return false;
}

G_GNUC_PRINTF(2, 3)
static bool refuse(const struct reader *reader, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *words = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    g_set_error(reader->error, COORDINATOR_ERROR, COORDINATOR_ERROR_USAGE, "%s%s%s",
                reader->path->str, reader->path->len > 0 ? ": " : "", words);
    return false;
}

/* ---- values ---- */

static bool text_fits(const struct field *field, const char *text)
{
    glong length = g_utf8_strlen(text, -1);
    if (length < 1 || length > FIELD_TEXT_MAX)
        return false;
    if (field->words && !g_strv_contains((const char *const *)field->words, text))
        return false;
    const char *pattern = field->kind == FIELD_BYTES ? BYTES_PATTERN : field->pattern;
    return !pattern || g_regex_match_simple(pattern, text, G_REGEX_DOLLAR_ENDONLY, 0);
}

static bool number_fits(const struct field *field, double number)
{
    return isfinite(number) && (field->above ? number > field->least : number >= field->least) &&
           number <= field->most;
}

/* JSON Schema takes 3.0 for a whole number, so we do, too. */
static bool read_whole(const json_t *value, gint64 *number)
{
    double real = json_number_value(value);
    if (!json_is_number(value) || fabs(real) > FIELD_INTEGER_MAX || real != floor(real))
        return false;
    *number = json_is_integer(value) ? (gint64)json_integer_value(value) : (gint64)real;
    return true;
}

static bool read_item(const struct field *field, const json_t *item, GPtrArray *texts)
{
    gint64 number = 0;
    g_autofree char *text = NULL;
    if (!field->numbers && json_is_string(item) && text_fits(field, json_string_value(item)))
        text = g_strdup(json_string_value(item));
    else if (field->numbers && read_whole(item, &number) && number_fits(field, (double)number))
        text = g_strdup_printf("%" G_GINT64_FORMAT, number);
    if (!text || g_ptr_array_find_with_equal_func(texts, text, g_str_equal, NULL))
        return false;
    g_ptr_array_add(texts, g_steal_pointer(&text));
    return true;
}

static size_t list_most(const struct field *field)
{
    return field->elements_most > 0 ? (size_t)field->elements_most : FIELD_ARRAY_MAX;
}

static bool read_list(const struct field *field, const json_t *value, char **text)
{
    g_autoptr(GPtrArray) texts = g_ptr_array_new_with_free_func(g_free);
    size_t count = json_is_array(value) ? json_array_size(value) : 1;
    if (count < 1 || count > list_most(field))
        return false;
    for (size_t i = 0; i < count; i++)
        if (!read_item(field, json_is_array(value) ? json_array_get(value, i) : value, texts))
            return false;
    g_ptr_array_add(texts, NULL);
    *text = g_strjoinv(",", (char **)texts->pdata);
    return true;
}

static int find_word(const struct field *field, const json_t *value)
{
    for (int i = 0; field->words[i]; i++)
        if (g_strcmp0(json_string_value(value), field->words[i]) == 0)
            return i;
    return -1;
}

static bool read_set(const struct field *field, const json_t *value, int *bits)
{
    *bits = 0;
    for (size_t i = 0; i < json_array_size(value); i++) {
        int word = find_word(field, json_array_get(value, i));
        if (word < 0 || *bits & 1 << word)
            return false;
        *bits |= 1 << word;
    }
    return json_array_size(value) > 0;
}

static bool read_bytes(const struct field *field, const json_t *value, char **text)
{
    gint64 bytes = 0;
    if (json_is_string(value) && text_fits(field, json_string_value(value))) {
        *text = g_strdup(json_string_value(value));
        return true;
    }
    if (!read_whole(value, &bytes) || bytes < 0)
        return false;
    *text = g_strdup_printf("%" G_GINT64_FORMAT, bytes);
    return true;
}

static bool read_integer(const struct field *field, const json_t *value, gint64 *number)
{
    *number = 0;
    if (field->zero_word && g_strcmp0(json_string_value(value), field->zero_word) == 0)
        return true;
    return read_whole(value, number) && number_fits(field, (double)*number);
}

static bool read_simple(const struct reader *reader, const struct field *field, const json_t *value,
                        void *member)
{
    switch (field->kind) {
    case FIELD_SCHEMA: return json_is_string(value) && text_fits(field, json_string_value(value));
    case FIELD_TEXT:
    case FIELD_PATH:
        if (!json_is_string(value) || !text_fits(field, json_string_value(value)))
            return false;
        *(char **)member = field->kind == FIELD_PATH && reader->folder
                               ? g_canonicalize_filename(json_string_value(value), reader->folder)
                               : g_strdup(json_string_value(value));
        return true;
    case FIELD_LIST: return read_list(field, value, member);
    case FIELD_BYTES: return read_bytes(field, value, member);
    case FIELD_YES: *(gboolean *)member = json_is_true(value); return json_is_boolean(value);
    case FIELD_INTEGER: return read_integer(field, value, member);
    case FIELD_NUMBER:
        *(double *)member = json_number_value(value);
        return json_is_number(value) && number_fits(field, *(double *)member);
    case FIELD_WORD: *(int *)member = find_word(field, value); return *(int *)member >= 0;
    case FIELD_SET: return read_set(field, value, member);
    default: g_assert_not_reached();
    }
}

/* ---- objects ---- */

static void *member_of(const struct field *field, void *data)
{
    return (char *)data + field->offset;
}

static const struct field *find_field(const struct field_object *object, const char *name)
{
    for (int i = 0; i < object->count; i++)
        if (strcmp(object->fields[i].name, name) == 0)
            return &object->fields[i];
    return NULL;
}

static bool refuse_name(const struct reader *reader, const struct field_object *object,
                        const char *name)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    for (int i = 0; i < object->count; i++)
        if (object->fields[i].kind != FIELD_SCHEMA)
            g_ptr_array_add(names, (gpointer)object->fields[i].name);
    g_ptr_array_add(names, NULL);
    const char *near = nearest_word(name, (const char *const *)names->pdata);
    g_autofree char *all = g_strjoinv(", ", (char **)names->pdata);
    if (near)
        return refuse(reader, "there is no such field; did you mean '%s'?", near);
    return refuse(reader, "there is no such field; there are %s", all);
}

static bool read_object(struct reader *reader, const struct field_object *object,
                        const json_t *json, void *data);

static void set_standards(const struct field_object *object, void *data)
{
    for (int i = 0; i < object->count; i++) {
        const struct field *field = &object->fields[i];
        if (field->kind == FIELD_OBJECT)
            set_standards(field->object, data);
        if (!field->standard)
            continue;
        json_t *value = json_loads(field->standard, JSON_DECODE_ANY, NULL);
        const struct reader reader = {0};
        bool ok = value && read_simple(&reader, field, value, member_of(field, data));
        g_assert(ok);
        json_decref(value);
    }
}

static bool read_element(struct reader *reader, const struct field_object *object,
                         const json_t *value, void *data)
{
    set_standards(object, data);
    if (!object->short_form || !json_is_string(value))
        return read_object(reader, object, value, data);
    const struct field *field = find_field(object, object->short_form);
    return read_simple(reader, field, value, member_of(field, data)) ||
           refuse_value(reader, field, value);
}

static bool read_objects(struct reader *reader, const struct field *field, const json_t *value,
                         void *data)
{
    size_t count = json_array_size(value), length = reader->path->len;
    if (!json_is_array(value) || count > FIELD_ARRAY_MAX || (field->required && count == 0))
        return refuse_value(reader, field, value);
    char *elements = g_malloc0_n(MAX(count, 1), field->object->size);
    *(char **)member_of(field, data) = elements;
    for (size_t i = 0; i < count; i++) {
        *(int *)(void *)((char *)data + field->count_offset) = (int)i + 1;
        g_string_append_printf(reader->path, "[%zu]", i);
        if (!read_element(reader, field->object, json_array_get(value, i),
                          elements + i * field->object->size))
            return false;
        g_string_truncate(reader->path, length);
    }
    return true;
}

static bool read_field(struct reader *reader, const struct field *field, const json_t *value,
                       void *data)
{
    if (field->kind == FIELD_OBJECTS)
        return read_objects(reader, field, value, data);
    if (field->kind == FIELD_OBJECT)
        return read_object(reader, field->object, value, data);
    void *member = member_of(field, data);
    if (field->standard && (field->kind == FIELD_TEXT || field->kind == FIELD_PATH ||
                            field->kind == FIELD_LIST || field->kind == FIELD_BYTES))
        g_clear_pointer((char **)member, g_free);
    return read_simple(reader, field, value, member) || refuse_value(reader, field, value);
}

/* Returns true if the object has one of the fields, whose names are joined by blanks. */
static bool has_any(const json_t *json, const char *names)
{
    g_auto(GStrv) all = g_strsplit(names ? names : "", " ", -1);
    for (char **name = all; *name; name++)
        if (json_object_get(json, *name))
            return true;
    return false;
}

static bool check_presence(struct reader *reader, const struct field_object *object,
                           const json_t *json)
{
    int fitting = 0;
    for (int i = 0; i < object->count; i++) {
        const struct field *field = &object->fields[i];
        if (field->required && !json_object_get(json, field->name))
            return refuse(reader, "the field '%s' is missing: %s", field->name, field->says);
        if (field->only_with && json_object_get(json, field->name) &&
            !has_any(json, field->only_with)) {
            g_auto(GStrv) names = g_strsplit(field->only_with, " ", -1);
            g_autofree char *all = g_strjoinv("' or '", names);
            return refuse(reader, "'%s' belongs to '%s'", field->name, all);
        }
    }
    g_autoptr(GString) names = g_string_new(NULL);
    for (int i = 0; i < object->choice_count; i++) {
        const struct field_choice *choice = &object->choices[i];
        fitting += json_object_get(json, choice->name) && !has_any(json, choice->without);
        g_string_append_printf(names, "%s'%s'", i > 0 ? ", " : "", choice->name);
    }
    return object->choice_count == 0 || fitting == 1 ||
           refuse(reader, "takes exactly one of %s", names->str);
}

static bool read_object(struct reader *reader, const struct field_object *object,
                        const json_t *json, void *data)
{
    size_t length = reader->path->len;
    const char *name = NULL;
    json_t *value = NULL;
    if (!json_is_object(json)) {
        g_autofree char *shown = value_text(json);
        return refuse(reader, "takes an object, not %s", shown);
    }
    json_object_foreach ((json_t *)json, name, value) {
        const struct field *field = find_field(object, name);
        g_string_append_printf(reader->path, "%s%s", length > 0 ? "." : "", name);
        if (!field)
            return refuse_name(reader, object, name);
        if (!read_field(reader, field, value, data))
            return false;
        g_string_truncate(reader->path, length);
    }
    return check_presence(reader, object, json);
}

bool fields_read(const struct field_object *object, const json_t *json, const char *folder,
                 void *data, GError **error)
{
    g_autoptr(GString) path = g_string_new(NULL);
    struct reader reader = {folder, path, error};
    set_standards(object, data);
    return read_object(&reader, object, json, data);
}

void fields_clear(const struct field_object *object, void *data)
{
    for (int i = 0; i < object->count; i++) {
        const struct field *field = &object->fields[i];
        if (field->kind == FIELD_OBJECT)
            fields_clear(field->object, data);
        bool is_owned = field->kind == FIELD_TEXT || field->kind == FIELD_PATH ||
                        field->kind == FIELD_LIST || field->kind == FIELD_BYTES;
        if (is_owned)
            g_clear_pointer((char **)member_of(field, data), g_free);
        if (field->kind != FIELD_OBJECTS)
            continue;
        char *elements = *(char **)member_of(field, data);
        for (int e = 0; e < *(int *)(void *)((char *)data + field->count_offset); e++)
            fields_clear(field->object, elements + (size_t)e * field->object->size);
        g_clear_pointer((char **)member_of(field, data), g_free);
    }
}

/* ---- schema ---- */

/* A number as JSON: whole ones without a point. */
static json_t *number_json(double number)
{
    return number == floor(number) && fabs(number) <= FIELD_INTEGER_MAX
               ? json_integer((json_int_t)number)
               : json_real(number);
}

static json_t *words_json(const struct field *field)
{
    json_t *words = json_array();
    for (int i = 0; field->words[i]; i++)
        json_array_append_new(words, json_string(field->words[i]));
    return words;
}

static json_t *text_json(const struct field *field)
{
    const char *pattern = field->kind == FIELD_BYTES ? BYTES_PATTERN : field->pattern;
    json_t *json = json_pack("{s:s}", "type", "string");
    if (field->words)
        json_object_set_new(json, "enum", words_json(field));
    else {
        json_object_set_new(json, "minLength", json_integer(1));
        json_object_set_new(json, "maxLength", json_integer(FIELD_TEXT_MAX));
    }
    if (pattern)
        json_object_set_new(json, "pattern", json_string(pattern));
    return json;
}

static json_t *range_json(const struct field *field, const char *type)
{
    json_t *json = json_pack("{s:s}", "type", type);
    json_object_set_new(json, field->above ? "exclusiveMinimum" : "minimum",
                        number_json(field->least));
    json_object_set_new(json, "maximum", number_json(field->most));
    return json;
}

static json_t *item_json(const struct field *field)
{
    return field->numbers ? range_json(field, "integer") : text_json(field);
}

static json_t *list_json(const struct field *field)
{
    json_t *array =
        json_pack("{s:s, s:o, s:i, s:i, s:b}", "type", "array", "items", item_json(field),
                  "minItems", 1, "maxItems", (int)list_most(field), "uniqueItems", 1);
    return json_pack("{s:[o, o]}", "anyOf", item_json(field), array);
}

static json_t *object_json(const struct field_object *object, json_t *definitions);

static json_t *reference(const struct field_object *object, json_t *definitions)
{
    g_autofree char *place = g_strdup_printf("#/$defs/%s", object->name);
    if (!json_object_get(definitions, object->name)) {
        json_object_set_new(definitions, object->name, json_null());
        json_object_set_new(definitions, object->name, object_json(object, definitions));
    }
    return json_pack("{s:s}", "$ref", place);
}

static json_t *elements_json(const struct field *field, json_t *definitions)
{
    const struct field_object *object = field->object;
    json_t *element = reference(object, definitions);
    if (object->short_form)
        element = json_pack("{s:[o, o]}", "anyOf",
                            text_json(find_field(object, object->short_form)), element);
    return json_pack("{s:s, s:o, s:i, s:i}", "type", "array", "items", element, "minItems",
                     field->required ? 1 : 0, "maxItems", FIELD_ARRAY_MAX);
}

static json_t *value_json(const struct field *field, json_t *definitions)
{
    json_t *number;
    switch (field->kind) {
    case FIELD_SCHEMA:
    case FIELD_TEXT:
    case FIELD_PATH: return text_json(field);
    case FIELD_LIST: return list_json(field);
    case FIELD_BYTES:
        return json_pack("{s:[{s:s, s:i, s:I}, o]}", "anyOf", "type", "integer", "minimum", 0,
                         "maximum", (json_int_t)FIELD_INTEGER_MAX, text_json(field));
    case FIELD_YES: return json_pack("{s:s}", "type", "boolean");
    case FIELD_INTEGER:
        number = range_json(field, "integer");
        return field->zero_word
                   ? json_pack("{s:[{s:s}, o]}", "anyOf", "const", field->zero_word, number)
                   : number;
    case FIELD_NUMBER: return range_json(field, "number");
    case FIELD_WORD: return json_pack("{s:o}", "enum", words_json(field));
    case FIELD_SET:
        return json_pack("{s:s, s:{s:o}, s:i, s:b}", "type", "array", "items", "enum",
                         words_json(field), "minItems", 1, "uniqueItems", 1);
    case FIELD_OBJECT: return reference(field->object, definitions);
    case FIELD_OBJECTS: return elements_json(field, definitions);
    }
    g_assert_not_reached();
}

static json_t *field_json(const struct field *field, json_t *definitions)
{
    json_t *json = value_json(field, definitions);
    json_object_set_new(json, "description", json_string(field->says));
    if (field->standard)
        json_object_set_new(json, "default", json_loads(field->standard, JSON_DECODE_ANY, NULL));
    return json;
}

/* {"anyOf": [{"required": ["file"]}, ...]} of names joined by blanks. */
static json_t *any_present(const char *names)
{
    g_auto(GStrv) all = g_strsplit(names, " ", -1);
    json_t *list = json_array();
    for (char **name = all; *name; name++)
        json_array_append_new(list, json_pack("{s:[s]}", "required", *name));
    return json_pack("{s:o}", "anyOf", list);
}

static void add_presence(const struct field_object *object, json_t *json)
{
    json_t *required = json_array(), *dependent = json_object(), *choices = json_array();
    for (int i = 0; i < object->count; i++) {
        const struct field *field = &object->fields[i];
        if (field->required)
            json_array_append_new(required, json_string(field->name));
        if (field->only_with)
            json_object_set_new(dependent, field->name, any_present(field->only_with));
    }
    for (int i = 0; i < object->choice_count; i++) {
        const struct field_choice *choice = &object->choices[i];
        json_t *one = json_pack("{s:[s]}", "required", choice->name);
        if (choice->without)
            json_object_set_new(one, "not", any_present(choice->without));
        json_array_append_new(choices, one);
    }
    if (json_array_size(required) > 0)
        json_object_set(json, "required", required);
    if (json_object_size(dependent) > 0)
        json_object_set(json, "dependentSchemas", dependent);
    if (json_array_size(choices) > 0)
        json_object_set(json, "oneOf", choices);
    json_decref(required);
    json_decref(dependent);
    json_decref(choices);
}

static json_t *object_json(const struct field_object *object, json_t *definitions)
{
    json_t *properties = json_object();
    for (int i = 0; i < object->count; i++)
        json_object_set_new(properties, object->fields[i].name,
                            field_json(&object->fields[i], definitions));
    json_t *json = json_pack("{s:s, s:s, s:o, s:b}", "type", "object", "description", object->says,
                             "properties", properties, "additionalProperties", 0);
    add_presence(object, json);
    return json;
}

json_t *fields_schema(const struct field_object *object, const char *id)
{
    json_t *definitions = json_object();
    json_t *json =
        json_pack("{s:s, s:s, s:s}", "$schema", "https://json-schema.org/draft/2020-12/schema",
                  "$id", id, "title", object->name);
    json_t *body = object_json(object, definitions);
    json_object_update(json, body);
    json_object_set_new(json, "$defs", definitions);
    json_decref(body);
    return json;
}
