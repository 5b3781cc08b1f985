#include "coordinator/replay/replay_prior.h"

#include <math.h>
#include <string.h>

#include "solvers/framework/target.h"
#include "solvers/problem/problem_key.h"

/* ---- distances ---- */

/* The length of the architecture's family: "gfx90a" and "gfx942" are of "gfx9", "sm_90" and "sm_91" of "sm_9". */
static size_t family_length(const char *arch)
{
    size_t length = strlen(arch);
    if (g_str_has_prefix(arch, "gfx"))
        return length >= 5 ? length - 2 : length;
    return length > 0 && g_ascii_isdigit(arch[length - 1]) ? length - 1 : length;
}

static double target_distance(const char *a_id, const char *b_id)
{
    struct target a, b;
    if (strcmp(a_id, b_id) == 0 || !target_parse(a_id, &a, NULL) || !target_parse(b_id, &b, NULL))
        return 0;
    size_t length = family_length(a.arch);
    bool same_family = length == family_length(b.arch) && strncmp(a.arch, b.arch, length) == 0;
    return a.vendor != b.vendor ? 8 : strcmp(a.arch, b.arch) == 0 ? 2 : same_family ? 4 : 6;
}

static double apart(int64_t a, int64_t b)
{
    return fabs(log2((double)MAX(a, 1)) - log2((double)MAX(b, 1)));
}

static double problem_distance(const char *a_key, const char *b_key)
{
    struct problem a, b;
    if (!problem_key_parse(a_key, &a, NULL) || !problem_key_parse(b_key, &b, NULL))
        return 0;
    double sum = apart(a.n, b.n) + apart(a.c, b.c) + apart(a.k, b.k) + apart(a.groups, b.groups);
    for (int axis = 0; axis < AXIS_COUNT; axis++)
        sum += apart(a.in[axis], b.in[axis]) + apart(a.fil[axis], b.fil[axis]) +
               apart(a.stride[axis], b.stride[axis]) + apart(a.dilation[axis], b.dilation[axis]) +
               apart(a.pad[axis] + 1, b.pad[axis] + 1);
    return sum;
}

double replay_distance(const struct recorded_space *a, const struct recorded_space *b)
{
    return problem_distance(a->about.problem, b->about.problem) +
           target_distance(a->about.device, b->about.device);
}

/* ---- what is known of another space ---- */

/* A measured config of another space. */
struct known {
    int index;
    double time_ms;
};

static gint compare_known(gconstpointer a, gconstpointer b)
{
    const struct known *left = a, *right = b;
    if (left->time_ms != right->time_ms)
        return left->time_ms < right->time_ms ? -1 : 1;
    return left->index - right->index;
}

/* Notes a measurement at the end. A config's newest time counts. */
static void note(GArray *known, int index, double time_ms)
{
    for (guint i = 0; i < known->len; i++)
        if (g_array_index(known, struct known, i).index == index) {
            g_array_remove_index(known, i);
            break;
        }
    struct known one = {index, time_ms};
    g_array_append_val(known, one);
}

/* Keeps the fastest configs, ascending. */
static void keep_best(GArray *known, int best)
{
    g_array_sort(known, compare_known);
    g_array_set_size(known, MIN(known->len, (guint)best));
}

static GArray *all_configs(const struct recorded_space *space)
{
    GArray *known = g_array_new(FALSE, FALSE, sizeof(struct known));
    for (guint i = 0; i < space->configs->len; i++) {
        struct known one = {(int)i,
                            g_array_index(space->configs, struct recorded_config, i).time_ms};
        if (isfinite(one.time_ms))
            g_array_append_val(known, one);
    }
    return known;
}

static const struct perf_config *config_at(const struct recorded_space *space, int index)
{
    return &g_array_index(space->configs, struct recorded_config, index).config;
}

/* As many attempts as the database keeps, the newest last: the fastest, and the newest of the others. */
static void trim(GArray *attempts)
{
    if (attempts->len <= REPLAY_ATTEMPTS)
        return;
    g_autoptr(GArray) sorted = g_array_copy(attempts);
    g_array_sort(sorted, compare_known);
    double slowest = g_array_index(sorted, struct known, REPLAY_ATTEMPTS / 2 - 1).time_ms;
    for (guint i = 0; i < attempts->len && attempts->len > REPLAY_ATTEMPTS;)
        if (g_array_index(attempts, struct known, i).time_ms > slowest)
            g_array_remove_index(attempts, i);
        else
            i++;
}

/* One campaign of the other space, tuned afresh: it begins with the best of what is known so far, learns from the
 * attempts, and adds what it found to both. */
static void run_campaign(const struct replay_prior *prior, const struct recorded_space *space,
                         uint64_t seed, int number, GArray *known, GArray *attempts)
{
    g_autoptr(GArray) begin = g_array_new(FALSE, FALSE, sizeof(struct perf_config));
    g_autoptr(GArray) hints = g_array_new(FALSE, FALSE, sizeof(struct tried_config));
    for (guint i = 0; i < known->len; i++)
        g_array_append_vals(begin, config_at(space, g_array_index(known, struct known, i).index),
                            1);
    for (guint i = 0; i < attempts->len; i++) {
        const struct known *attempt = &g_array_index(attempts, struct known, i);
        struct tried_config hint = {*config_at(space, attempt->index), attempt->time_ms};
        g_array_append_val(hints, hint);
    }
    const struct replay_setup setup = {.space = space,
                                       .strategy = SEARCH_PRIOR,
                                       .given = begin,
                                       .hints = hints,
                                       .budget.tries = prior->tries,
                                       .goes_on = true,
                                       .batch = REPLAY_BATCH,
                                       .night = number};
    struct replay_run *run = replay_once(&setup, seed);
    for (guint i = 0; i < run->tries->len; i++) {
        const struct replay_try *tried = &g_array_index(run->tries, struct replay_try, i);
        note(attempts, tried->index, tried->observed_ms);
        if (isfinite(tried->observed_ms))
            note(known, tried->index, tried->observed_ms);
    }
    replay_run_free(run);
    keep_best(known, prior->best);
    trim(attempts);
}

/* The best of what is known of the other space, ascending (struct known). */
static GArray *known_of(const struct replay_prior *prior, const struct recorded_space *space,
                        uint64_t seed)
{
    if (prior->tries == 0) {
        GArray *known = all_configs(space);
        keep_best(known, prior->best);
        return known;
    }
    GArray *known = g_array_new(FALSE, FALSE, sizeof(struct known));
    g_autoptr(GArray) attempts = g_array_new(FALSE, FALSE, sizeof(struct known));
    for (int number = 0; number < MAX(prior->campaigns, 1); number++)
        run_campaign(prior, space, seed, number, known, attempts);
    return known;
}

/* ---- the prior ---- */

struct candidate {
    struct perf_config config;
    double distance;
    int place, other;
};

static gint compare_candidates(gconstpointer a, gconstpointer b)
{
    const struct candidate *left = a, *right = b;
    if (left->distance != right->distance)
        return left->distance < right->distance ? -1 : 1;
    return left->place != right->place ? left->place - right->place : left->other - right->other;
}

static void add_candidates(const struct replay_setup *setup, int other, uint64_t seed,
                           GArray *candidates)
{
    const struct recorded_space *space = g_ptr_array_index(setup->prior->others, other);
    g_autoptr(GArray) known = known_of(setup->prior, space, seed);
    double distance = replay_distance(setup->space, space);
    for (int place = 0; place < (int)known->len; place++) {
        struct candidate candidate = {.distance = distance + place, .place = place, .other = other};
        if (recorded_space_translate(setup->space, space,
                                     g_array_index(known, struct known, place).index,
                                     &candidate.config))
            g_array_append_val(candidates, candidate);
    }
}

static bool has_config(const GArray *configs, const struct perf_config *config)
{
    for (guint i = 0; i < configs->len; i++)
        if (perf_config_equal(&g_array_index(configs, struct perf_config, i), config))
            return true;
    return false;
}

GArray *replay_prior_configs(const struct replay_setup *setup, uint64_t seed)
{
    GArray *configs = g_array_new(FALSE, FALSE, sizeof(struct perf_config));
    g_autoptr(GArray) candidates = g_array_new(FALSE, FALSE, sizeof(struct candidate));
    if (!setup->prior)
        return configs;
    for (int other = 0; other < (int)setup->prior->others->len; other++)
        add_candidates(setup, other, seed, candidates);
    g_array_sort(candidates, compare_candidates);
    for (guint i = 0; i < candidates->len && configs->len < (guint)setup->prior->most; i++) {
        const struct candidate *candidate = &g_array_index(candidates, struct candidate, i);
        if (!has_config(configs, &candidate->config))
            g_array_append_val(configs, candidate->config);
    }
    return configs;
}
