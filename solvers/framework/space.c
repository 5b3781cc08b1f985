#include "solvers/framework/space.h"

#include <string.h>

#include "solvers/problem/byte_count.h"

void context_init(struct context *context, const struct target *target)
{
    memset(context, 0, sizeof(*context));
    context->target = target;
    context->workspace_limit = UINT64_MAX;
}

void context_set_limits(struct context *context, const struct context_limits *limits)
{
    context->workspace_limit = limits->limits_workspace ? limits->workspace_bytes : UINT64_MAX;
    context->dynamic_only = limits->dynamic_only;
    context->deterministic = limits->deterministic;
    context->tunable_only = limits->tunable_only;
}

bool context_limits_equal(const struct context_limits *a, const struct context_limits *b)
{
    return a->limits_workspace == b->limits_workspace &&
           (!a->limits_workspace || a->workspace_bytes == b->workspace_bytes) &&
           a->dynamic_only == b->dynamic_only && a->deterministic == b->deterministic &&
           a->tunable_only == b->tunable_only;
}

char *context_limits_text(const struct context_limits *limits)
{
    g_autofree char *bytes = byte_count_text(limits->workspace_bytes);
    g_autofree char *workspace = limits->workspace_bytes > 0
                                     ? g_strdup_printf("a workspace of at most %s", bytes)
                                     : g_strdup("no workspace");
    const char *parts[5];
    int count = 0;

    if (limits->limits_workspace)
        parts[count++] = workspace;
    if (limits->dynamic_only)
        parts[count++] = "dynamic kernels alone";
    if (limits->deterministic)
        parts[count++] = "equal results from run to run";
    if (limits->tunable_only)
        parts[count++] = "tunable solvers alone";
    parts[count] = NULL;
    return count > 0 ? g_strjoinv(", ", (char **)(uintptr_t)parts) : NULL;
}

bool context_is_cpu(const struct context *context)
{
    return context->target->vendor == VENDOR_CPU;
}

/* The first broken constraint among those that read exactly the first `count` parameters, NULL without one. A
 * constraint on the problem alone (needs 0) counts to the first parameter. */
static const struct space_constraint *broken_at(const struct space *space, const struct problem *p,
                                                const struct context *context,
                                                const int32_t *values, int count)
{
    for (int i = 0; i < space->constraint_count; i++) {
        const struct space_constraint *constraint = &space->constraints[i];
        if (MAX(constraint->needs, 1) == count && !constraint->holds(p, context, values))
            return constraint;
    }
    return NULL;
}

void space_walk_init(struct space_walk *walk, const struct space *space, const struct problem *p,
                     const struct context *context)
{
    g_assert(space->param_count > 0 && space->param_count <= CONFIG_MAX);
    memset(walk, 0, sizeof(*walk));
    walk->space = space;
    walk->problem = p;
    walk->context = context;
}

/* Sets the values of the parameters before number `depth` from the walk's indices. */
static void walk_values(const struct space_walk *walk, int depth, int32_t *values)
{
    for (int i = 0; i < depth; i++)
        values[i] = walk->space->params[i].values[walk->index[i]];
}

/* Walks depth first: where the first parameters' values break a constraint, all configs that begin with these values
 * are skipped. */
bool space_walk_next(struct space_walk *walk, struct perf_config *config)
{
    const struct space *space = walk->space;
    int depth = 0;

    memset(config, 0, sizeof(*config));
    if (walk->ended)
        return false;
    config->count = space->param_count;
    if (walk->started) {
        depth = space->param_count - 1;
        walk_values(walk, depth, config->values);
        walk->index[depth]++;
    }
    walk->started = true;
    while (depth >= 0) {
        if (walk->index[depth] >= space->params[depth].count) {
            if (--depth >= 0)
                walk->index[depth]++;
            continue;
        }
        config->values[depth] = space->params[depth].values[walk->index[depth]];
        if (broken_at(space, walk->problem, walk->context, config->values, depth + 1)) {
            walk->index[depth]++;
            continue;
        }
        if (depth == space->param_count - 1)
            return true;
        walk->index[++depth] = 0;
    }
    walk->ended = true;
    return false;
}

int64_t space_count(const struct space *space, const struct problem *p,
                    const struct context *context)
{
    return space_count_up_to(space, p, context, INT64_MAX);
}

int64_t space_count_up_to(const struct space *space, const struct problem *p,
                          const struct context *context, int64_t most)
{
    struct space_walk walk;
    struct perf_config config;
    int64_t count = 0;

    space_walk_init(&walk, space, p, context);
    while (count < most && space_walk_next(&walk, &config))
        count++;
    return count;
}

/* The next number of the splitmix64 generator. */
static uint64_t next_random(uint64_t *state)
{
    uint64_t value = *state += 0x9e3779b97f4a7c15u;

    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
    value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
    return value ^ (value >> 31);
}

/* A uniform number below `count`. Numbers past the last whole multiple of `count` are drawn again. */
static uint64_t draw_below(uint64_t *state, uint64_t count)
{
    uint64_t most = UINT64_MAX - UINT64_MAX % count, value;

    do
        value = next_random(state);
    while (value >= most);
    return value % count;
}

/* Reservoir sampling: the n-th config replaces the kept one with probability 1/n. */
bool space_draw(const struct space *space, const struct problem *p, const struct context *context,
                uint64_t *state, struct perf_config *config)
{
    struct space_walk walk;
    struct perf_config next;
    uint64_t seen = 0;

    space_walk_init(&walk, space, p, context);
    while (space_walk_next(&walk, &next)) {
        if (draw_below(state, ++seen) == 0)
            *config = next;
    }
    return seen > 0;
}

/* Appends the valid configs that differ from `config` in parameter i only; with `adjacent` just the nearest valid
 * values below and above its own. */
static int neighbours_along(const struct space *space, const struct problem *p,
                            const struct context *context, const struct perf_config *config, int i,
                            bool adjacent, GArray *neighbours)
{
    const struct space_param *param = &space->params[i];
    guint before = neighbours->len;

    for (int v = 0; v < param->count; v++) {
        struct perf_config other = *config;
        other.values[i] = param->values[v];
        if (other.values[i] == config->values[i] ||
            !space_contains(space, p, context, &other, NULL))
            continue;
        /* Values ascend, so that a later valid value below the config's own is nearer and replaces the earlier one.
         * */
        if (adjacent && other.values[i] < config->values[i])
            g_array_set_size(neighbours, before);
        g_array_append_val(neighbours, other);
        if (adjacent && other.values[i] > config->values[i])
            break;
    }
    return (int)(neighbours->len - before);
}

int space_neighbours(const struct space *space, const struct problem *p,
                     const struct context *context, const struct perf_config *config, bool adjacent,
                     GArray *neighbours)
{
    int count = 0;

    for (int i = 0; i < space->param_count; i++)
        count += neighbours_along(space, p, context, config, i, adjacent, neighbours);
    return count;
}

static bool param_takes(const struct space_param *param, int32_t value)
{
    for (int i = 0; i < param->count; i++) {
        if (param->values[i] == value)
            return true;
    }
    return false;
}

bool space_contains(const struct space *space, const struct problem *p,
                    const struct context *context, const struct perf_config *config,
                    const char **why)
{
    const char *unused;
    const struct space_constraint *broken;

    if (!why)
        why = &unused;
    if (config->count != space->param_count) {
        *why = "number of values";
        return false;
    }
    for (int i = 0; i < space->param_count; i++) {
        if (!param_takes(&space->params[i], config->values[i])) {
            *why = space->params[i].name;
            return false;
        }
        broken = broken_at(space, p, context, config->values, i + 1);
        if (broken) {
            *why = broken->name;
            return false;
        }
    }
    return true;
}

const char *perf_config_format(const struct perf_config *config, char buffer[CONFIG_TEXT_MAX])
{
    char *end = buffer;

    *end = '\0';
    for (int i = 0; i < config->count; i++)
        end += g_snprintf(end, (gulong)(buffer + CONFIG_TEXT_MAX - end), "%s%d", i ? "," : "",
                          config->values[i]);
    return buffer;
}

/* Reads a canonical decimal of 32 bits: no leading zeros, no "-0". */
static bool parse_value(const char **cursor, int32_t *value)
{
    const char *text = *cursor;
    bool negative = *text == '-';
    int64_t sum = 0;

    text += negative;
    if (!g_ascii_isdigit(*text) || (text[0] == '0' && (negative || g_ascii_isdigit(text[1]))))
        return false;
    for (; g_ascii_isdigit(*text); text++) {
        sum = sum * 10 + (*text - '0');
        if (sum > (int64_t)INT32_MAX + negative)
            return false;
    }
    *value = (int32_t)(negative ? -sum : sum);
    *cursor = text;
    return true;
}

bool perf_config_parse(const char *text, int count, struct perf_config *config, GError **error)
{
    const char *cursor = text;
    struct perf_config parsed = {.count = count};

    g_assert(count >= 0 && count <= CONFIG_MAX);
    for (int i = 0; i < count; i++) {
        bool separated = i == 0 || *cursor == ',';
        cursor += i > 0 && separated;
        if (!separated || !parse_value(&cursor, &parsed.values[i])) {
            g_set_error(error, SOLVERS_ERROR, SOLVERS_ERROR_CONFIG,
                        "perf config '%s' is not %d whole numbers joined by commas (value %d)",
                        text, count, i + 1);
            return false;
        }
    }
    if (*cursor) {
        g_set_error(error, SOLVERS_ERROR, SOLVERS_ERROR_CONFIG,
                    "perf config '%s' goes on after its %d values: '%s'", text, count, cursor);
        return false;
    }
    *config = parsed;
    return true;
}

bool perf_config_equal(const struct perf_config *a, const struct perf_config *b)
{
    return a->count == b->count &&
           memcmp(a->values, b->values, (size_t)a->count * sizeof(a->values[0])) == 0;
}

void space_choose_first(const struct space *space, const struct problem *p,
                        const struct context *context, const int32_t *values, gsize count,
                        struct perf_config *config)
{
    config->count = space->param_count;
    for (gsize i = 0; i < count; i++) {
        for (int v = 0; v < config->count; v++)
            config->values[v] = values[i * (gsize)config->count + (gsize)v];
        if (space_contains(space, p, context, config, NULL))
            return;
    }
}
