/*
 * A search by a model of the times: a Gaussian process over the space, and the config next whose expected improvement
 * is largest (Jones, Schonlau and Welch, Efficient Global Optimization of Expensive Black-Box Functions, 1998).
 *
 *   - The process models the logarithm of the time. Times above the quantile MODEL_CLIP of the successful ones count as
 *     that quantile, and so do failures: how slow a slow config is says nothing about the fast ones.
 *   - Two configs are alike by k = exp(-s d). Each parameter in which they differ adds to d: MODEL_OTHER, and the rest of 1
 *     by how many of its values lie between. s is the likeliest of MODEL_SCALES; MODEL_NOISE is added for each measurement.
 *   - Hints (searcher_hint()) are read like tries, times the median ratio of the configs that have both.
 *   - Candidates are MODEL_DRAWS new configs drawn from the space, and the new neighbours of the fastest ones.
 *   - Each MODEL_NEAR-th choice is among the neighbours of the fastest config.
 *   - A batch: after each choice the model takes its own expectation for the result (Ginsbourger, Le Riche and
 *     Carraro, Kriging is well-suited to parallelize optimization, 2010).
 *
 * Rasmussen and Williams, Gaussian Processes for Machine Learning, 2006, algorithm 2.1, has the equations. The constants
 * are the same for all spaces; worker/README.md says on which ones they were chosen.
 */
#include "solvers/search/strategy_rows.h"

#include <math.h>
#include <string.h>

/* Tries at random before there is something to model. */
#define MODEL_STARTS  8
#define MODEL_CLIP    0.8
#define MODEL_OTHER   0.1
#define MODEL_NOISE   0.01
#define MODEL_DRAWS   1000
/* The fastest configs whose neighbours are candidates. */
#define MODEL_FASTEST 5
/* Every so many choices one of the fastest config's neighbours is taken: the model alone leaves a good place early. */
#define MODEL_NEAR    4
/* Most tries that the model reads: half of them the fastest, the others a draw. Its cost grows with their square. */
#define MODEL_TRIES   160
/* Most configs of a batch that the model chooses; the others are drawn. */
#define MODEL_BATCH   16
#define MODEL_ROWS    (MODEL_TRIES + MODEL_BATCH)

static const double scales[] = {0.5, 1, 2, 4}; /* MODEL_SCALES */

/* A config as the model sees it: the place of each value among its parameter's values, from 0 to 1. */
struct point {
    double at[CONFIG_MAX];
};

struct model {
    const struct search_space *space;
    int count; /* rows in use */
    struct point points[MODEL_ROWS];
    double values[MODEL_ROWS];            /* standardised logarithms of times */
    double lower[MODEL_ROWS][MODEL_ROWS]; /* Cholesky factor of the covariance */
    double half[MODEL_ROWS];              /* `lower` divided into `values` */
    double weights[MODEL_ROWS];           /* the covariance divided into `values` */
    double scale, variance, best;
};

static void point_of(const struct search_space *space, const struct perf_config *config,
                     struct point *point)
{
    for (int i = 0; i < space->param_count; i++) {
        const struct space_param *param = &space->params[i];
        int place = 0;
        while (place < param->count - 1 && param->values[place] < config->values[i])
            place++;
        point->at[i] = param->count > 1 ? (double)place / (param->count - 1) : 0;
    }
}

static double likeness(const struct model *model, double scale, const struct point *a,
                       const struct point *b)
{
    double distance = 0;
    for (int i = 0; i < model->space->param_count; i++) {
        double apart = fabs(a->at[i] - b->at[i]);
        if (apart > 0)
            distance += MODEL_OTHER + (1 - MODEL_OTHER) * apart;
    }
    return exp(-scale * distance);
}

/* Adds row `row` to the factor, and to `half`. The noise keeps the root's argument positive. */
static void factor_row(struct model *model, int row)
{
    double *at = model->lower[row], sum = model->values[row];
    for (int j = 0; j <= row; j++) {
        double rest = likeness(model, model->scale, &model->points[row], &model->points[j]);
        for (int k = 0; k < j; k++)
            rest -= at[k] * model->lower[j][k];
        at[j] = j < row ? rest / model->lower[j][j] : sqrt(fmax(rest + MODEL_NOISE, 1e-12));
    }
    for (int k = 0; k < row; k++)
        sum -= at[k] * model->half[k];
    model->half[row] = sum / at[row];
}

/* The logarithm of the values' likelihood, less a constant, with the likeliest variance. */
static double likelihood(const struct model *model)
{
    double squares = 0, logs = 0;
    for (int i = 0; i < model->count; i++) {
        squares += model->half[i] * model->half[i];
        logs += log(model->lower[i][i]);
    }
    return -0.5 * model->count * log(fmax(squares, 1e-300) / model->count) - logs;
}

static void factor(struct model *model, double scale)
{
    model->scale = scale;
    for (int row = 0; row < model->count; row++)
        factor_row(model, row);
}

/* Sets `weights` and `variance` from the factor. */
static void solve(struct model *model)
{
    double squares = 0;
    for (int i = model->count - 1; i >= 0; i--) {
        double sum = model->half[i];
        for (int k = i + 1; k < model->count; k++)
            sum -= model->lower[k][i] * model->weights[k];
        model->weights[i] = sum / model->lower[i][i];
        squares += model->half[i] * model->half[i];
    }
    model->variance = squares / model->count;
}

static void fit(struct model *model)
{
    double likeliest = -INFINITY, scale = scales[0];
    for (gsize i = 0; i < G_N_ELEMENTS(scales); i++) {
        factor(model, scales[i]);
        double likely = likelihood(model);
        if (likely > likeliest) {
            likeliest = likely;
            scale = scales[i];
        }
    }
    if (model->scale != scale)
        factor(model, scale);
    solve(model);
}

/* By how much the config is expected to be below the best value; *mean is its expected value. */
static double improvement(const struct model *model, const struct point *point, double *mean)
{
    double known[MODEL_ROWS], left = 1;
    *mean = 0;
    for (int i = 0; i < model->count; i++) {
        double rest = likeness(model, model->scale, point, &model->points[i]);
        *mean += rest * model->weights[i];
        for (int k = 0; k < i; k++)
            rest -= model->lower[i][k] * known[k];
        known[i] = rest / model->lower[i][i];
        left -= known[i] * known[i];
    }
    double deviation = sqrt(fmax(left, 1e-9) * fmax(model->variance, 1e-12));
    double below = (model->best - *mean) / deviation;
    return deviation *
           (below * 0.5 * erfc(-below / G_SQRT2) + exp(-0.5 * below * below) / sqrt(2 * G_PI));
}

/* ---- what the model reads ---- */

/* Tries as ranked for a draw. */
struct drawn_try {
    uint64_t rank;
    const struct tried_config *tried;
};

static gint compare_drawn(gconstpointer a, gconstpointer b)
{
    const struct drawn_try *left = a, *right = b;
    return (left->rank > right->rank) - (left->rank < right->rank);
}

static gint compare_doubles(gconstpointer a, gconstpointer b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

/* By how much the logarithms of hints lie below those of results: the median of the configs that have both, 0 where none
 * has. */
static double hint_shift(const struct proposal *proposal)
{
    g_autoptr(GArray) apart = g_array_new(FALSE, FALSE, sizeof(double));
    for (guint i = 0; i < proposal->hints->len; i++) {
        const struct tried_config *hint = &g_array_index(proposal->hints, struct tried_config, i);
        const struct tried_config *tried = proposal_try(proposal, &hint->config);
        if (!tried || !isfinite(tried->time_ms) || !isfinite(hint->time_ms))
            continue;
        double one = log(tried->time_ms / hint->time_ms);
        g_array_append_val(apart, one);
    }
    g_array_sort(apart, compare_doubles);
    return apart->len > 0 ? g_array_index(apart, double, apart->len / 2) : 0;
}

/* Returns the known configs (struct tried_config): the tries, and the hints about other configs as if they were
 * tries. */
static GArray *known_configs(const struct proposal *proposal)
{
    GArray *known = g_array_new(FALSE, FALSE, sizeof(struct tried_config));
    double factor = exp(hint_shift(proposal));
    g_array_append_vals(known, proposal->tries->data, proposal->tries->len);
    for (guint i = 0; i < proposal->hints->len; i++) {
        struct tried_config hint = g_array_index(proposal->hints, struct tried_config, i);
        hint.time_ms *= factor;
        if (!proposal_try(proposal, &hint.config))
            g_array_append_val(known, hint);
    }
    return known;
}

/* Those that the model reads (struct tried_config *), of the known configs that have the space's form. order: of the
 * ones that succeeded, fastest first. */
static GArray *tries_to_read(const struct proposal *proposal, const GArray *known,
                             const GArray *order)
{
    GArray *read = g_array_new(FALSE, FALSE, sizeof(const struct tried_config *));
    g_autoptr(GArray) others = g_array_new(FALSE, FALSE, sizeof(struct drawn_try));
    g_autoptr(GHashTable) fast = g_hash_table_new(NULL, NULL);
    for (guint i = 0; i < MIN(order->len, MODEL_TRIES / 2); i++)
        g_hash_table_add(fast, g_array_index(order, struct tried_config *, i));
    for (guint i = 0; i < known->len; i++) {
        struct tried_config *tried = &g_array_index(known, struct tried_config, i);
        struct drawn_try other = {config_rank(proposal->seed, &tried->config), tried};
        if (tried->config.count != proposal->space->param_count)
            continue;
        if (g_hash_table_contains(fast, tried))
            g_array_append_val(read, other.tried);
        else
            g_array_append_val(others, other);
    }
    if (read->len + others->len > MODEL_TRIES)
        g_array_sort(others, compare_drawn);
    for (guint i = 0; i < others->len && read->len < MODEL_TRIES; i++)
        g_array_append_val(read, g_array_index(others, struct drawn_try, i).tried);
    return read;
}

/* Sets the model's points and values; returns false if nothing can be learned yet. tried_order: the tries that
 * succeeded, fastest first. */
static bool read_tries(struct model *model, const struct proposal *proposal,
                       const GArray *tried_order)
{
    g_autoptr(GArray) known = known_configs(proposal);
    g_autoptr(GArray) order = order_of(known);
    g_autoptr(GArray) read = tries_to_read(proposal, known, order);
    double sum = 0, squares = 0;
    if (tried_order->len == 0 || read->len == 0)
        return false;
    guint at = (guint)((order->len - 1) * MODEL_CLIP);
    double slowest = log(g_array_index(order, const struct tried_config *, at)->time_ms);
    model->space = proposal->space;
    model->count = (int)read->len;
    for (int i = 0; i < model->count; i++) {
        const struct tried_config *tried = g_array_index(read, const struct tried_config *, i);
        point_of(proposal->space, &tried->config, &model->points[i]);
        model->values[i] = isfinite(tried->time_ms) ? fmin(log(tried->time_ms), slowest) : slowest;
        sum += model->values[i];
    }
    double mean = sum / model->count;
    for (int i = 0; i < model->count; i++)
        squares += (model->values[i] - mean) * (model->values[i] - mean);
    double deviation = sqrt(squares / model->count) + 1e-9;
    for (int i = 0; i < model->count; i++)
        model->values[i] = (model->values[i] - mean) / deviation;
    model->best =
        (log(g_array_index(tried_order, const struct tried_config *, 0)->time_ms) - mean) /
        deviation;
    return true;
}

/* ---- choosing ---- */

struct candidate {
    struct perf_config config;
    bool near; /* differs in one parameter from the fastest config */
    struct point point;
};

static void add_candidate(GArray *candidates, GHashTable *seen, const struct proposal *proposal,
                          const struct perf_config *config, bool near)
{
    struct candidate candidate = {.config = *config, .near = near};
    if (proposal_knows(proposal, config) || g_hash_table_contains(seen, config))
        return;
    g_hash_table_add(seen, g_memdup2(config, sizeof *config));
    point_of(proposal->space, config, &candidate.point);
    g_array_append_val(candidates, candidate);
}

/* The new neighbours of the fastest configs, and new configs drawn from the space. */
static GArray *make_candidates(const struct proposal *proposal, const GArray *order)
{
    GArray *candidates = g_array_new(FALSE, FALSE, sizeof(struct candidate));
    g_autoptr(GHashTable) seen = g_hash_table_new_full(config_hash, config_equal, g_free, NULL);
    g_autoptr(GArray) near = g_array_new(FALSE, FALSE, sizeof(struct perf_config));
    guint nearest = 0;
    for (guint i = 0; i < MIN(order->len, MODEL_FASTEST); i++) {
        search_space_neighbours(proposal->space,
                                &g_array_index(order, struct tried_config *, i)->config, near);
        nearest = i == 0 ? near->len : nearest;
    }
    draw_configs(proposal, search_mix(proposal->seed, proposal->tries->len), MODEL_DRAWS, near);
    for (guint i = 0; i < near->len; i++)
        add_candidate(candidates, seen, proposal, &g_array_index(near, struct perf_config, i),
                      i < nearest);
    return candidates;
}

/* Takes the candidate of the largest expected improvement, of the near ones alone with `near`, and adds its expected
 * value to the model. Returns false if no candidate is left. */
static bool take_best(struct proposal *proposal, struct model *model, const GArray *candidates,
                      bool near)
{
    const struct candidate *best = NULL;
    double most = -INFINITY, value = 0, mean;
    for (guint i = 0; i < candidates->len; i++) {
        const struct candidate *candidate = &g_array_index(candidates, struct candidate, i);
        if ((near && !candidate->near) || proposal_knows(proposal, &candidate->config))
            continue;
        double gain = improvement(model, &candidate->point, &mean);
        if (gain > most) {
            most = gain;
            best = candidate;
            value = mean;
        }
    }
    if (!best || !proposal_take(proposal, &best->config))
        return false;
    model->points[model->count] = best->point;
    model->values[model->count] = value;
    factor_row(model, model->count++);
    solve(model);
    return true;
}

void propose_modelled(struct proposal *proposal)
{
    g_autoptr(GArray) order = proposal_order(proposal);
    g_autofree struct model *model = g_new0(struct model, 1);
    if (proposal->wanted > 0 && read_tries(model, proposal, order)) {
        g_autoptr(GArray) candidates = make_candidates(proposal, order);
        fit(model);
        for (int i = 0; i < MODEL_BATCH && proposal->wanted > 0; i++) {
            bool near = ((int)proposal->tries->len + i) % MODEL_NEAR == 0;
            if (!(near && take_best(proposal, model, candidates, true)) &&
                !take_best(proposal, model, candidates, false))
                break;
        }
    }
    propose_drawn(proposal, proposal->wanted);
}

void propose_by_model(struct proposal *proposal)
{
    propose_drawn(proposal, MODEL_STARTS - proposal_count(proposal));
    propose_modelled(proposal);
}
