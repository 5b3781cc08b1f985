/* Compile-time parameters: how many values they have in a network, and what specialising a kernel
 * on them gains. */
#include "coordinator/dynamism/dynamism.h"

#include "coordinator/plan/plan.h"
#include "solvers/problem/problem_key.h"

#include <math.h>
#include <string.h>

/* ---- parts of a shape ---- */

enum {
    PART_FILTER = 1,
    PART_STRIDE = 2,
    PART_PAD = 4,
    PART_DILATION = 8,
    PART_CHANNELS = 16,
    PART_IMAGE = 32,
    PART_BATCH = 64,
    PART_GROUPS = 128,
};

/* The parts of a shape by name. A solver's parameter FIX_NAME means the part NAME; two names
 * may stand for the same part. */
static const struct part {
    const char *name;
    int fields;
} parts[] = {
    {"filter", PART_FILTER},
    {"stride", PART_STRIDE},
    {"pad", PART_PAD},
    {"dilation", PART_DILATION},
    {"conv", PART_STRIDE | PART_PAD | PART_DILATION},
    {"channels", PART_CHANNELS | PART_GROUPS},
    {"image", PART_IMAGE},
    {"batch", PART_BATCH},
    {"groups", PART_GROUPS},
};

#define FIX_PREFIX "FIX_"

static void add_axes(GString *text, const int64_t axes[AXIS_COUNT])
{
    for (int a = 0; a < AXIS_COUNT; a++)
        g_string_append_printf(text, " %" G_GINT64_FORMAT, axes[a]);
}

/* Appends the named fields as text: texts of two problems are equal exactly if all these fields
 * are. */
static void add_part(GString *text, const struct problem *p, int fields)
{
    const struct {
        int field;
        const int64_t *axes;
    } axes[] = {
        {PART_FILTER, p->fil},        {PART_STRIDE, p->stride}, {PART_PAD, p->pad},
        {PART_DILATION, p->dilation}, {PART_IMAGE, p->in},      {PART_IMAGE, p->out},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(axes); i++)
        if (fields & axes[i].field)
            add_axes(text, axes[i].axes);
    if (fields & PART_CHANNELS)
        g_string_append_printf(text, " c%" G_GINT64_FORMAT " k%" G_GINT64_FORMAT, p->c, p->k);
    if (fields & PART_BATCH)
        g_string_append_printf(text, " n%" G_GINT64_FORMAT, p->n);
    if (fields & PART_GROUPS)
        g_string_append_printf(text, " g%" G_GINT64_FORMAT, p->groups);
}

/* Adds the fields that every kernel is compiled for, also one that takes the shape at run time. */
static void add_kind(GString *text, const struct problem *p)
{
    g_string_append_printf(text, " kind %d %d %d", p->kind, p->direction, p->spatial_dim);
    for (int t = 0; t < TENSOR_COUNT; t++)
        g_string_append_printf(text, " %d/%d/%d", p->type[t], p->cast[t], p->layout[t]);
    g_string_append_printf(text, " %d%s %s", p->bias, p->epilogue, p->mode);
    for (int t = 0; t < STRIDED_COUNT; t++)
        for (int i = 0; i < 5; i++)
            g_string_append_printf(text, " %" G_GINT64_FORMAT, p->strides[t][i]);
}

static int count_distinct(const GArray *problems, int fields, bool with_kind)
{
    g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    for (guint i = 0; i < problems->len; i++) {
        const struct problem *p = &g_array_index(problems, struct plan_problem, i).problem;
        GString *text = g_string_new(NULL);
        add_part(text, p, fields);
        if (with_kind)
            add_kind(text, p);
        g_hash_table_add(seen, g_string_free(text, FALSE));
    }
    return (int)g_hash_table_size(seen);
}

int dynamism_kinds(const GArray *problems)
{
    return count_distinct(problems, 0, true);
}

/* ---- the gain of specialising ---- */

/* The shortest times of a pair of configs, or of all pairs of a problem, in parts of the default
 * config's time: [0] without specialising, [1] with. INFINITY before any time was added. */
struct times {
    double share[2];
};

static struct times *times_of(GHashTable *table, const char *key)
{
    struct times *times = g_hash_table_lookup(table, key);
    if (times)
        return times;
    times = g_new(struct times, 1);
    *times = (struct times){{INFINITY, INFINITY}};
    g_hash_table_insert(table, g_strdup(key), times);
    return times;
}

/* Returns true if the config has a time that can be compared; configs dropped early as slower have
 * one, too. The two configs of a pair may come from different rounds, between which the machine may
 * become faster or slower, so each time is divided by the default config's of its own round. */
static bool is_timed(const struct config_outcome *outcome)
{
    return (outcome->failure == FAILURE_NONE || outcome->failure == FAILURE_SLOW) &&
           outcome->median_ms > 0 && outcome->baseline_ms > 0;
}

/* Returns the index of the solver's FIX_ parameter with this name, or -1. */
static int find_fixed(const struct solver *solver, const char *name)
{
    if (!solver || !solver->partial || !solver->space)
        return -1;
    for (int i = 0; i < solver->space->param_count; i++) {
        const char *of = solver->space->params[i].name;
        if (g_str_has_prefix(of, FIX_PREFIX) &&
            g_ascii_strcasecmp(of + strlen(FIX_PREFIX), name) == 0)
            return i;
    }
    return -1;
}

/* Returns the text that both configs of a pair share: problem, solver, and the config without the
 * value of parameter `without`. In front of the '|' are problem and solver alone. */
static char *pair_key(const struct config_outcome *outcome, int without)
{
    char key[PROBLEM_KEY_MAX];
    GString *text = g_string_new(NULL);
    g_string_printf(text, "%s %s|", problem_key(&outcome->problem, key), outcome->solver);
    for (int i = 0; i < outcome->config.count; i++)
        g_string_append_printf(text, "%d,", i == without ? -1 : outcome->config.values[i]);
    return g_string_free(text, FALSE);
}

/* Returns the times of all pairs of a parameter: pair_key() -> struct times. */
static GHashTable *collect_pairs(const struct dynamism_data *data, const char *name)
{
    GHashTable *pairs = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    for (guint i = 0; i < data->outcomes->len; i++) {
        const struct config_outcome *outcome = g_ptr_array_index(data->outcomes, i);
        const struct solver *solver = data->find(outcome->solver);
        int fixed = find_fixed(solver, name);
        if (fixed < 0 || outcome->config.count != solver->space->param_count || !is_timed(outcome))
            continue;
        g_autofree char *key = pair_key(outcome, fixed);
        double *share = &times_of(pairs, key)->share[outcome->config.values[fixed] != 0];
        *share = fmin(*share, outcome->median_ms / outcome->baseline_ms);
    }
    return pairs;
}

static void add_gain(const struct dynamism_data *data, struct dynamism_parameter *parameter)
{
    g_autoptr(GHashTable) pairs = collect_pairs(data, parameter->name);
    g_autoptr(GHashTable) best = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    GHashTableIter iter;
    gpointer key, value;
    g_hash_table_iter_init(&iter, pairs);
    while (g_hash_table_iter_next(&iter, &key, &value)) {
        const struct times *pair = value;
        if (!isfinite(pair->share[0]) || !isfinite(pair->share[1]))
            continue;
        g_autofree char *of = g_strndup(key, (gsize)(strrchr(key, '|') - (char *)key));
        struct times *times = times_of(best, of);
        parameter->pairs++;
        for (int with = 0; with < 2; with++)
            times->share[with] = fmin(times->share[with], pair->share[with]);
    }
    double logs = 0;
    g_hash_table_iter_init(&iter, best);
    while (g_hash_table_iter_next(&iter, NULL, &value))
        logs += log(((struct times *)value)->share[0] / ((struct times *)value)->share[1]);
    parameter->problems = (int)g_hash_table_size(best);
    parameter->gain = parameter->problems > 0 ? exp(logs / parameter->problems) : NAN;
}

/* ---- the list of parameters ---- */

static void clear_parameter(gpointer data)
{
    g_free(((struct dynamism_parameter *)data)->name);
}

static struct dynamism_parameter *find_parameter(GArray *parameters, const char *name)
{
    for (guint i = 0; i < parameters->len; i++) {
        struct dynamism_parameter *known = &g_array_index(parameters, struct dynamism_parameter, i);
        if (strcmp(known->name, name) == 0)
            return known;
    }
    return NULL;
}

/* Adds the FIX_ parameters of a measured solver. A parameter whose name is of no known part is
 * added at the end. */
static void add_choices(GArray *parameters, const struct solver *solver)
{
    if (!solver || !solver->partial || !solver->space)
        return;
    for (int i = 0; i < solver->space->param_count; i++) {
        const char *param = solver->space->params[i].name;
        if (!g_str_has_prefix(param, FIX_PREFIX))
            continue;
        g_autofree char *name = g_ascii_strdown(param + strlen(FIX_PREFIX), -1);
        struct dynamism_parameter *parameter = find_parameter(parameters, name);
        if (parameter) {
            parameter->choice = true;
            continue;
        }
        struct dynamism_parameter added = {
            .name = g_steal_pointer(&name), .choice = true, .values = -1, .compilations = -1};
        g_array_append_val(parameters, added);
    }
}

GArray *dynamism_parameters(const struct dynamism_data *data, const GArray *problems)
{
    GArray *parameters = g_array_new(FALSE, TRUE, sizeof(struct dynamism_parameter));
    g_array_set_clear_func(parameters, clear_parameter);
    for (gsize i = 0; i < G_N_ELEMENTS(parts); i++) {
        struct dynamism_parameter part = {
            .name = g_strdup(parts[i].name),
            .values = count_distinct(problems, parts[i].fields, false),
            .compilations = count_distinct(problems, parts[i].fields, true),
        };
        g_array_append_val(parameters, part);
    }
    g_autoptr(GHashTable) known = g_hash_table_new(g_direct_hash, g_direct_equal);
    for (guint i = 0; i < data->outcomes->len; i++) {
        const struct config_outcome *outcome = g_ptr_array_index(data->outcomes, i);
        const struct solver *solver = data->find(outcome->solver);
        if (solver && g_hash_table_add(known, (gpointer)solver))
            add_choices(parameters, solver);
    }
    for (guint i = 0; i < parameters->len; i++)
        add_gain(data, &g_array_index(parameters, struct dynamism_parameter, i));
    return parameters;
}
