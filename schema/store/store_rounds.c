/* Rounds in memory, and read from their packed row. */
#include "schema/store/store_rounds.h"
#include "schema/store/store_private.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

struct round *round_new(int config_count)
{
    struct round *round = g_new0(struct round, 1);
    gsize count = (gsize)config_count;
    round->config_count = config_count;
    round->configs = g_new0(struct perf_config, count);
    round->kernel_keys = g_new0(char *, count);
    round->outcomes = g_new0(struct outcome, count);
    round->details = g_new0(char *, count);
    for (int i = 0; i < config_count; i++)
        round->outcomes[i].failure = FAILURE_PENDING;
    return round;
}

void round_free(struct round *round)
{
    if (round == NULL)
        return;
    for (int i = 0; i < round->config_count; i++) {
        g_free(round->kernel_keys[i]);
        g_free(round->details[i]);
    }
    g_free(round->configs);
    g_free(round->kernel_keys);
    g_free(round->outcomes);
    g_free(round->details);
    g_free(round->stack);
    g_free(round);
}

/* Columns with one number a config: those stored with the built round, and those stored with the outcomes. */
struct column {
    const char *name;
    size_t offset;
};
static const struct column built_columns[] = {
    {"build_seconds", offsetof(struct outcome, build_seconds)},
};
static const struct column outcome_columns[] = {
    {"min_ms", offsetof(struct outcome, min_ms)},
    {"median_ms", offsetof(struct outcome, median_ms)},
    {"spread", offsetof(struct outcome, spread)},
    {"error", offsetof(struct outcome, error)},
    {"eval_seconds", offsetof(struct outcome, eval_seconds)},
    {"pack_ms", offsetof(struct outcome, pack_ms)},
};

static double *outcome_number(struct outcome *outcome, size_t offset)
{
    return (double *)(void *)((char *)outcome + offset);
}

/* ---- reading ---- */

/* Checks an array with one element a config. It may be absent if the round has no outcomes yet. */
static bool check_length(const json_t *array, const struct round *round, const char *name,
                         bool may_lack, GError **error)
{
    if (may_lack && (array == NULL || json_is_null(array)))
        return true;
    if (json_is_array(array) && json_array_size(array) == (gsize)round->config_count)
        return true;
    return store_damaged(error, "%s of round %d has %zu elements for %d configs", name,
                         round->number, json_array_size(array), round->config_count);
}

static bool read_numbers(const json_t *object, struct round *round, const struct column *columns,
                         gsize count, GError **error)
{
    for (gsize column = 0; column < count; column++) {
        const json_t *array = json_object_get(object, columns[column].name);
        if (!check_length(array, round, columns[column].name, true, error))
            return false;
        for (int i = 0; i < round->config_count; i++) {
            const json_t *value = json_array_get(array, (gsize)i);
            *outcome_number(&round->outcomes[i], columns[column].offset) =
                json_is_string(value) ? NAN : json_number_value(value);
        }
    }
    return true;
}

/* Arrays of whole numbers, one a config. */
static bool read_counts(const json_t *object, struct round *round, GError **error)
{
    static const struct column columns[] = {{"n", offsetof(struct outcome, n)},
                                            {"proof_runs", offsetof(struct outcome, proof_runs)},
                                            {"proof_kinds", offsetof(struct outcome, proof_kinds)}};
    for (gsize column = 0; column < G_N_ELEMENTS(columns); column++) {
        const json_t *array = json_object_get(object, columns[column].name);
        if (!check_length(array, round, columns[column].name, true, error))
            return false;
        for (int i = 0; json_is_array(array) && i < round->config_count; i++) {
            int64_t count;
            if (!json_int_within(json_array_get(array, (gsize)i), 0, INT32_MAX, &count))
                return store_damaged(error, "round %d has a config without a number of runs",
                                     round->number);
            *(int *)((char *)&round->outcomes[i] + columns[column].offset) = (int)count;
        }
    }
    return true;
}

static bool read_outcomes(const json_t *object, struct round *round, GError **error)
{
    const json_t *failures = json_object_get(object, "failures");
    if (!check_length(failures, round, "failures", false, error))
        return false;
    for (int i = 0; i < round->config_count; i++) {
        int64_t failure;
        if (!json_int_within(json_array_get(failures, (gsize)i), 0, FAILURE_COUNT - 1, &failure))
            return store_damaged(error, "round %d has an unknown failure", round->number);
        round->outcomes[i].failure = (enum failure)failure;
    }
    return read_counts(object, round, error) &&
           read_numbers(object, round, built_columns, G_N_ELEMENTS(built_columns), error) &&
           read_numbers(object, round, outcome_columns, G_N_ELEMENTS(outcome_columns), error);
}

static bool read_config(const json_t *values, gsize *at, const json_t *count,
                        struct perf_config *config, GError **error)
{
    int64_t number = 0, value;
    if (!json_int_within(count, 0, CONFIG_MAX, &number))
        return store_damaged(error, "a config of a round does not have 0 to %d values", CONFIG_MAX);
    for (; config->count < number; (*at)++) {
        if (!json_int_within(json_array_get(values, *at), INT32_MIN, INT32_MAX, &value))
            return store_damaged(error, "a config of a round lacks a value");
        config->values[config->count++] = (int32_t)value;
    }
    return true;
}

static bool read_configs(const json_t *object, struct round *round, GError **error)
{
    const json_t *counts = json_object_get(object, "config_counts");
    const json_t *values = json_object_get(object, "config_values");
    const json_t *keys = json_object_get(object, "kernel_keys");
    const json_t *details = json_object_get(object, "details");
    gsize value = 0;
    if (!check_length(keys, round, "kernel_keys", false, error) ||
        !check_length(details, round, "details", false, error))
        return false;
    for (int i = 0; i < round->config_count; i++) {
        gsize at = (gsize)i;
        const char *key = json_string_value(json_array_get(keys, at));
        if (!read_config(values, &value, json_array_get(counts, at), &round->configs[i], error))
            return false;
        round->kernel_keys[i] = g_strdup(key != NULL ? key : "");
        round->details[i] = g_strdup(json_string_value(json_array_get(details, at)));
    }
    if (value != json_array_size(values))
        return store_damaged(error, "round %d has %zu values more than its configs", round->number,
                             json_array_size(values) - value);
    return true;
}

enum caches caches_from_json(const json_t *object, const char *name)
{
    const json_t *cold = json_object_get(object, name);
    return !json_is_boolean(cold) ? CACHES_UNKNOWN : json_is_true(cold) ? CACHES_COLD : CACHES_WARM;
}

struct round *round_from_json(const json_t *object, GError **error)
{
    const json_t *counts = json_object_get(object, "config_counts");
    int64_t number;
    if (!json_int_within(json_object_get(object, "number"), 0, INT32_MAX, &number) ||
        !json_is_array(counts) || json_array_size(counts) > ROUND_CONFIGS_MAX) {
        store_damaged(error, "a round has no number, or does not have 0 to %d configs",
                      ROUND_CONFIGS_MAX);
        return NULL;
    }
    struct round *round = round_new((int)json_array_size(counts));
    round->number = (int)number;
    round->stack = json_member_text(object, "stack");
    round->drift = json_member_double(object, "drift");
    round->caches = caches_from_json(object, "cold");
    round->verified_share = json_member_double(object, "verified_share");
    round->beyond_limit = json_member_bool(object, "beyond_limit");
    round->remeasures = json_member_bool(object, "remeasures");
    if (read_configs(object, round, error) && read_outcomes(object, round, error))
        return round;
    round_free(round);
    return NULL;
}

bool kept_from_json(const json_t *object, struct kept *kept, GError **error)
{
    int64_t workspace_bytes = 0;
    memset(kept, 0, sizeof *kept);
    if (!config_from_json(json_object_get(object, "config"), &kept->config, error))
        return false;
    if (!json_int_within(json_object_get(object, "workspace_bytes"), 0, INT64_MAX,
                         &workspace_bytes))
        return store_damaged(error, "a result's workspace has no size");
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
        .pack_ms = json_member_double(object, "pack_ms"),
        .low_ms = json_member_double(object, "low_ms"),
        .high_ms = json_member_double(object, "high_ms"),
    };
    kept->workspace_bytes = (uint64_t)workspace_bytes;
    kept->packed_bytes = (uint64_t)MAX(json_member_int(object, "packed_bytes"), 0);
    kept->flops = json_member_double(object, "flops");
    kept->is_default = json_member_bool(object, "is_default");
    kept->wins = json_member_bool(object, "wins");
    return true;
}

void kept_clear(struct kept *kept)
{
    g_free(kept->config_text);
    g_free(kept->kernel_keys);
}
