#include "coordinator/replay/recorded_space.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int recorded_space_find(const struct recorded_space *space, const struct perf_config *config)
{
    gpointer place = NULL;
    if (!g_hash_table_lookup_extended(space->places, config, NULL, &place))
        return -1;
    return (int)GPOINTER_TO_UINT(place);
}

/* ---- parameters ---- */

/* The value of a parameter in the config; it belongs to the space. */
static json_t *value_at(const struct recorded_param *param, const struct perf_config *config)
{
    if (param->place < 0)
        return g_ptr_array_index(param->values, 0);
    int32_t value = config->values[param->place];
    if (param->numbered)
        return g_ptr_array_index(param->values, value);
    for (guint i = 0; i < param->values->len; i++)
        if (json_number_value(g_ptr_array_index(param->values, i)) == value)
            return g_ptr_array_index(param->values, i);
    g_assert_not_reached();
}

json_t *recorded_config_json(const struct recorded_space *space, int index)
{
    const struct recorded_config *config =
        &g_array_index(space->configs, struct recorded_config, index);
    json_t *object = json_object();
    for (guint i = 0; i < space->params->len; i++) {
        const struct recorded_param *param =
            &g_array_index(space->params, struct recorded_param, i);
        json_object_set(object, param->name, value_at(param, &config->config));
    }
    return object;
}

static const struct recorded_param *param_named(const struct recorded_space *space,
                                                const char *name)
{
    for (guint i = 0; i < space->params->len; i++) {
        const struct recorded_param *param =
            &g_array_index(space->params, struct recorded_param, i);
        if (strcmp(param->name, name) == 0)
            return param;
    }
    return NULL;
}

static bool has_params_of(const struct recorded_space *space, const struct recorded_space *other,
                          GError **error)
{
    for (guint i = 0; i < other->params->len; i++) {
        const char *name = g_array_index(other->params, struct recorded_param, i).name;
        if (param_named(space, name))
            continue;
        g_set_error(error, REPLAY_ERROR, REPLAY_ERROR_SPACE,
                    "'%s' has no parameter '%s', and '%s' has: a prior is of the same parameters",
                    space->path, name, other->path);
        return false;
    }
    return true;
}

bool recorded_space_same_params(const struct recorded_space *space,
                                const struct recorded_space *other, GError **error)
{
    return has_params_of(other, space, error) && has_params_of(space, other, error);
}

static bool equal_values(const json_t *a, const json_t *b)
{
    if (json_is_number(a) && json_is_number(b))
        return json_number_value(a) == json_number_value(b);
    return json_equal(a, b);
}

bool recorded_space_translate(const struct recorded_space *space,
                              const struct recorded_space *other, int index,
                              struct perf_config *config)
{
    const struct perf_config *from =
        &g_array_index(other->configs, struct recorded_config, index).config;
    *config = (struct perf_config){.count = space->space.param_count};
    for (guint i = 0; i < space->params->len; i++) {
        const struct recorded_param *param =
            &g_array_index(space->params, struct recorded_param, i);
        const json_t *value = value_at(param_named(other, param->name), from);
        guint v = 0;
        while (v < param->values->len && !equal_values(g_ptr_array_index(param->values, v), value))
            v++;
        if (param->place < 0)
            continue;
        if (v == param->values->len)
            return false;
        config->values[param->place] =
            param->numbered ? (int32_t)v : (int32_t)json_number_value(value);
    }
    return true;
}

/* ---- noise ---- */

/* SplitMix64 (Steele, Lea, Flood 2014). */
static uint64_t draw(uint64_t *state)
{
    uint64_t value = *state += 0x9e3779b97f4a7c15u;
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
    value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
    return value ^ (value >> 31);
}

/* Evenly from above 0 up to 1. */
static double draw_part(uint64_t *state)
{
    return (double)((draw(state) >> 11) + 1) / 9007199254740992.0;
}

static int compare_doubles(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

static double median_of(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, compare_doubles);
    return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

/* The median of as many runs drawn from the recorded ones, over the median of all. */
static double drawn_ratio(const double *readings, int count, uint64_t *state)
{
    g_autofree double *values = g_new(double, count);
    memcpy(values, readings, (gsize)count * sizeof *values);
    double median = median_of(values, count);
    for (int i = 0; i < count; i++)
        values[i] = readings[draw(state) % (uint64_t)count];
    return median > 0 ? median_of(values, count) / median : 1;
}

/* A standard normal deviate (Box and Muller, Annals of Mathematical Statistics 29, 1958). */
static double draw_normal(uint64_t *state)
{
    double radius = sqrt(-2 * log(draw_part(state)));
    return radius * cos(2 * G_PI * draw_part(state));
}

double recorded_space_observe(const struct recorded_space *space, int index, uint64_t seed)
{
    const struct recorded_config *config =
        &g_array_index(space->configs, struct recorded_config, index);
    uint64_t state = seed;
    state = draw(&state) ^ (uint64_t)index;
    double ratio = 1;
    if (config->failure)
        return INFINITY;
    if (config->readings > 1)
        ratio = drawn_ratio(&g_array_index(space->readings, double, config->first_reading),
                            config->readings, &state);
    else if (config->runs > 0) {
        /* The interquartile range of a normal distribution is 1.349 times its deviation. */
        double of_median = sqrt(G_PI / 2) * config->spread / 1.349 / sqrt(config->runs);
        ratio = 1 + of_median * draw_normal(&state);
    }
    /* A noise that large leaves no order at all; a time stays above 0. */
    return config->time_ms * fmax(ratio, 0.01);
}
