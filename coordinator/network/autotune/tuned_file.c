#include "coordinator/network/autotune/tuned_file.h"

#include "coordinator/cli/cli.h"
#include "coordinator/fields/fields.h"
#include "schema/small_file.h"

#include <stddef.h>
#include <string.h>

#define FILE_BYTES_MAX ((gsize)64 << 20)
#define SCHEMA_NAME    "tuned.schema.json"

static const char *const states[] = {"measured", "pruned", "failed", "wrong", NULL};

#define TEXT(of, name, says)                                                                       \
    {                                                                                              \
#name, FIELD_TEXT, offsetof(struct of, name), says, .takes = "a text", .required = true    \
    }
#define OPTIONAL_TEXT(of, name, says)                                                              \
    {                                                                                              \
#name, FIELD_TEXT, offsetof(struct of, name), says, .takes = "a text"                      \
    }
#define COUNT(of, name, says)                                                                      \
    {                                                                                              \
#name, FIELD_INTEGER, offsetof(struct of, name), says,                                     \
            .takes = "a whole number from 0", .least = 0, .most = FIELD_INTEGER_MAX                \
    }
#define NUMBER(of, name, says)                                                                     \
    {                                                                                              \
#name, FIELD_NUMBER, offsetof(struct of, name), says, .takes = "a number",                 \
                                                              .least = -1e300, .most = 1e300       \
    }
#define YES(of, name, says)                                                                        \
    {                                                                                              \
#name, FIELD_YES, offsetof(struct of, name), says, .takes = "true or false"                \
    }
#define KNOB(knob, knob_name, text)                                                                \
    {                                                                                              \
        knob_name, FIELD_WORD, offsetof(struct tuned_combination, values) + (knob) * sizeof(int),  \
            text, .words = knob_table[knob].values, .required = true                               \
    }

static const struct field step_fields[] = {
    TEXT(tuned_step, name, "The step in the plan: its first node in the model"),
    TEXT(tuned_step, problem, "The key of the problem that the step is"),
    TEXT(tuned_step, solver, "The solver that does it"),
    OPTIONAL_TEXT(tuned_step, config, "The solver's config; absent if the solver has none"),
    COUNT(tuned_step, revision, "The solver's revision"),
    COUNT(tuned_step, workspace_bytes, "Bytes of workspace that the config needs"),
    NUMBER(tuned_step, alone_ms,
           "Median of its time alone in ms, with cold caches; 0 if pinned, estimated or exchanged"),
    NUMBER(tuned_step, spread, "Interquartile range of these times divided by their median"),
    NUMBER(tuned_step, pipeline_ms, "Median of its time in ms in its place in the pipeline"),
    YES(tuned_step, pinned, "The user pinned solver and config"),
    YES(tuned_step, estimated,
        "No config was measured alone: the solver with the best estimate stands in, untuned"),
    YES(tuned_step, exchanged,
        "The config won in another combination, and was quicker in this place; it has no time alone"),
};
static const struct field_object step_object = {
    .name = "step",
    .says = "A step of the pipeline",
    .fields = step_fields,
    .count = G_N_ELEMENTS(step_fields),
    .size = sizeof(struct tuned_step),
};

static const struct field combination_fields[] = {
    KNOB(KNOB_DTYPE, "dtype", "The type that convolutions compute in"),
    KNOB(KNOB_LAYOUT, "layout", "The order of activations in memory"),
    KNOB(KNOB_FUSION, "fusion", "What a kernel does before it stores its output"),
    {"state", FIELD_WORD, offsetof(struct tuned_combination, state),
     "What became of it: pruned ones cannot win, wrong ones gave other outputs than the network",
     .words = states, .required = true},
    OPTIONAL_TEXT(tuned_combination, reason, "Why it was not measured, or does not count"),
    NUMBER(tuned_combination, bound_ms,
           "The least that the pipeline can take in ms, as known then"),
    NUMBER(tuned_combination, sum_ms, "Sum of the steps' times alone in ms"),
    NUMBER(tuned_combination, pipeline_ms, "Median time of the whole pipeline in ms"),
    NUMBER(tuned_combination, pipeline_min_ms, "Its shortest time in ms"),
    NUMBER(tuned_combination, pipeline_spread, "Interquartile range divided by the median"),
    NUMBER(tuned_combination, launches_ms, "Median time in ms, launch by launch"),
    NUMBER(tuned_combination, host_ms, "Time of one run in ms by the host's clock"),
    COUNT(tuned_combination, readings, "Readings of the pipeline's time"),
    NUMBER(
        tuned_combination, final_ms,
        "Median time in ms of the pipeline measured again, in turns with the other quickest ones; 0 "
        "if it was not"),
    NUMBER(tuned_combination, final_ratio,
           "How many times as long it took then as the winner in the same turn: the median"),
    NUMBER(tuned_combination, final_low, "The lower end of that median's 95 % interval"),
    NUMBER(tuned_combination, final_high, "Its upper end"),
    COUNT(tuned_combination, final_turns, "The number of these turns"),
    YES(tuned_combination, graph, "pipeline_ms is of one graph launch"),
    COUNT(tuned_combination, arena_bytes, "Bytes of the arena of all activations"),
    COUNT(tuned_combination, arena_bound_bytes, "The least that any arena can have"),
    COUNT(tuned_combination, weight_bytes, "Bytes of weights"),
    COUNT(tuned_combination, packed_bytes, "Bytes of packed filters"),
    NUMBER(tuned_combination, max_error,
           "Largest difference to FP32, relative to the largest output"),
    NUMBER(tuned_combination, mean_error,
           "Mean difference to FP32, relative to the largest output"),
    NUMBER(tuned_combination, cosine, "Cosine between the outputs and those in FP32"),
    NUMBER(tuned_combination, top1, "Share of images whose top class is that in FP32"),
    {"steps", FIELD_OBJECTS, offsetof(struct tuned_combination, steps), "The steps in order",
     .takes = "an array of steps", .object = &step_object,
     .count_offset = offsetof(struct tuned_combination, step_count)},
};
static const struct field_object combination_object = {
    .name = "combination",
    .says = "A value for each knob, and what came of it",
    .fields = combination_fields,
    .count = G_N_ELEMENTS(combination_fields),
    .size = sizeof(struct tuned_combination),
};

static const struct field file_fields[] = {
    {"$schema", FIELD_SCHEMA, 0, "The schema, for editors", .takes = "a text"},
    {"skipjack_tuned", FIELD_INTEGER, offsetof(struct tuned_file, version), "Version of this form",
     .takes = "1", .least = TUNED_VERSION, .most = TUNED_VERSION, .required = true},
    TEXT(tuned_file, network, "The network's name"),
    TEXT(tuned_file, model, "The model's file"),
    TEXT(tuned_file, model_sha256, "SHA-256 of the model's bytes"),
    COUNT(tuned_file, batch, "Images in one run"),
    COUNT(tuned_file, seed, "Seed of generated weights, samples and the search"),
    OPTIONAL_TEXT(tuned_file, calibration,
                  "How INT8's scales follow from samples: min_max, channel"),
    OPTIONAL_TEXT(tuned_file, samples,
                  "Files of the samples that INT8 was calibrated with, joined by commas"),
    OPTIONAL_TEXT(tuned_file, inputs,
                  "Files of the inputs, joined by commas; absent: random numbers"),
    OPTIONAL_TEXT(tuned_file, dims,
                  "Sizes of dimensions that the model leaves open, as --dim takes them, "
                  "joined by commas"),
    TEXT(tuned_file, target, "The target that it was measured on"),
    TEXT(tuned_file, device, "The device's own name"),
    TEXT(tuned_file, stack, "The software that built and ran it"),
    TEXT(tuned_file, program, "The version of this program"),
    TEXT(tuned_file, created, "When the file was written"),
    {"combinations", FIELD_OBJECTS, offsetof(struct tuned_file, combinations),
     "All combinations that were asked for", .takes = "an array of combinations",
     .object = &combination_object, .count_offset = offsetof(struct tuned_file, count),
     .required = true},
    {"winner", FIELD_INTEGER, offsetof(struct tuned_file, winner),
     "The place of the quickest combination in combinations, -1 for none", .takes = "a place",
     .least = -1, .most = FIELD_INTEGER_MAX, .required = true},
};
static const struct field_object file_object = {
    .name = "tuned",
    .says = "What skipjack autotune found",
    .fields = file_fields,
    .count = G_N_ELEMENTS(file_fields),
    .size = sizeof(struct tuned_file),
};

json_t *tuned_file_schema(void)
{
    return fields_schema(&file_object, SCHEMA_NAME);
}

/* ---- reading ---- */

static bool check_winner(const struct tuned_file *file, const char *path, GError **error)
{
    if (file->winner < file->count &&
        (file->winner < 0 || file->combinations[file->winner].state == COMBINATION_MEASURED))
        return true;
    g_set_error(error, COORDINATOR_ERROR, COORDINATOR_ERROR_USAGE,
                "'%s': winner is %" G_GINT64_FORMAT ", which is no measured combination", path,
                file->winner);
    return false;
}

/* A solver without configs has the config "". */
static void set_empty_configs(struct tuned_file *file)
{
    for (int i = 0; i < file->count; i++) {
        struct tuned_combination *combination = &file->combinations[i];
        for (int s = 0; s < combination->step_count; s++) {
            struct tuned_step *step = &combination->steps[s];
            if (!step->config)
                step->config = g_strdup("");
        }
    }
}

bool tuned_file_read(struct tuned_file *file, const char *path, GError **error)
{
    json_error_t why;
    gsize length = 0;
    memset(file, 0, sizeof *file);
    g_autofree char *text = small_file_read(path, FILE_BYTES_MAX, &length, error);
    if (!text)
        return false;
    json_t *root = json_loadb(text, length, JSON_REJECT_DUPLICATES, &why);
    if (!root) {
        g_set_error(error, COORDINATOR_ERROR, COORDINATOR_ERROR_USAGE,
                    "cannot read '%s', line %d: %s", path, why.line, why.text);
        return false;
    }
    bool read = fields_read(&file_object, root, NULL, file, error);
    json_decref(root);
    if (!read) {
        g_prefix_error(error, "'%s' is no file of autotune: ", path);
        return false;
    }
    set_empty_configs(file);
    return check_winner(file, path, error);
}

void tuned_file_clear(struct tuned_file *file)
{
    fields_clear(&file_object, file);
    memset(file, 0, sizeof *file);
}

void tuned_combination_clear(struct tuned_combination *combination)
{
    int values[KNOB_COUNT];
    memcpy(values, combination->values, sizeof values);
    fields_clear(&combination_object, combination);
    memset(combination, 0, sizeof *combination);
    memcpy(combination->values, values, sizeof values);
}

void tuned_combination_values(const struct tuned_combination *combination,
                              struct combination *values)
{
    for (int k = 0; k < KNOB_COUNT; k++)
        values->values[k] = knob_table[k].values[combination->values[k]];
}

struct tuned_combination *tuned_file_find(const struct tuned_file *file,
                                          const struct combination *combination)
{
    for (int i = 0; i < file->count; i++) {
        struct combination values;
        tuned_combination_values(&file->combinations[i], &values);
        if (combination_equal(&values, combination))
            return &file->combinations[i];
    }
    return NULL;
}

struct tuned_combination *tuned_file_add(struct tuned_file *file,
                                         const struct combination *combination)
{
    file->combinations = g_renew(struct tuned_combination, file->combinations, file->count + 1);
    struct tuned_combination *added = &file->combinations[file->count++];
    memset(added, 0, sizeof *added);
    for (int k = 0; k < KNOB_COUNT; k++)
        while (strcmp(knob_table[k].values[added->values[k]], combination->values[k]) != 0)
            added->values[k]++;
    return added;
}

/* Whether a precedes b: times of the second measurement can be compared with one another, and count first. */
static bool is_better(const struct tuned_combination *a, const struct tuned_combination *b)
{
    if ((a->final_ms > 0) != (b->final_ms > 0))
        return a->final_ms > 0;
    return a->final_ms > 0 ? a->final_ms < b->final_ms : a->pipeline_ms < b->pipeline_ms;
}

void tuned_file_choose(struct tuned_file *file)
{
    file->winner = -1;
    for (int i = 0; i < file->count; i++) {
        const struct tuned_combination *c = &file->combinations[i];
        if (c->state == COMBINATION_MEASURED &&
            (file->winner < 0 || is_better(c, &file->combinations[file->winner])))
            file->winner = i;
    }
}

/* ---- writing ---- */

static json_t *field_json(const struct field *field, const void *data);

static json_t *object_json(const struct field_object *object, const void *data)
{
    json_t *made = json_object();
    for (int i = 0; i < object->count; i++) {
        json_t *value = field_json(&object->fields[i], data);
        if (value)
            json_object_set_new(made, object->fields[i].name, value);
    }
    return made;
}

static json_t *objects_json(const struct field *field, const char *data)
{
    json_t *list = json_array();
    const char *first = *(char *const *)(const void *)(data + field->offset);
    int count = *(const int *)(const void *)(data + field->count_offset);
    for (int i = 0; i < count; i++)
        json_array_append_new(list,
                              object_json(field->object, first + (size_t)i * field->object->size));
    return list;
}

/* The field's value; NULL for a text that is not there, or empty. */
static json_t *field_json(const struct field *field, const void *data)
{
    const void *at = (const char *)data + field->offset;
    switch (field->kind) {
    case FIELD_SCHEMA: return json_string(SCHEMA_NAME);
    case FIELD_TEXT: {
        const char *text = *(char *const *)at;
        return text && text[0] ? json_string(text) : NULL;
    }
    case FIELD_YES: return json_boolean(*(const gboolean *)at);
    case FIELD_INTEGER: return json_integer(*(const gint64 *)at);
    case FIELD_NUMBER: return json_real(*(const double *)at);
    case FIELD_WORD: return json_string(field->words[*(const int *)at]);
    case FIELD_OBJECTS: return objects_json(field, data);
    case FIELD_PATH:
    case FIELD_LIST:
    case FIELD_BYTES:
    case FIELD_SET:
    case FIELD_OBJECT: break;
    }
    g_assert_not_reached();
}

json_t *tuned_file_json(const struct tuned_file *file)
{
    return object_json(&file_object, file);
}

bool tuned_file_write(const struct tuned_file *file, const char *path, GError **error)
{
    json_t *root = tuned_file_json(file);
    char *text = json_dumps(root, JSON_INDENT(1));
    json_decref(root);
    g_autofree char *whole = g_strconcat(text, "\n", NULL);
    free(text);
    return g_file_set_contents(path, whole, -1, error);
}
