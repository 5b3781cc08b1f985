/*
 * Local search. It has no state of its own: where it stands is read from the
 * history. A config that was tried is open while no neighbour of it (one that
 * differs in one parameter alone) is known to be faster and some were not tried.
 * The neighbours of open configs are next, of the fastest ones first; so a climb goes
 * on from round to round, and another start's where the first has ended.
 *
 * The constants were chosen by `make bench-search`.
 */
#include "worker/search/search_private.h"

#include <math.h>

#define LOCAL_STARTS 8   /* configs that are tried before the fastest is climbed from */
#define LOCAL_WITHIN 1.5 /* what takes longer than the fastest by this factor is not climbed from */

struct climb {
    struct proposal *proposal;
    struct history history;
    GArray *order; /* struct tried_config *: what was timed, fastest first */
};

static gint compare_times(gconstpointer a, gconstpointer b)
{
    const struct tried_config *left = *(const struct tried_config *const *)a;
    const struct tried_config *right = *(const struct tried_config *const *)b;
    if (left->time_ms != right->time_ms)
        return left->time_ms > right->time_ms ? 1 : -1;
    return (left > right) - (left < right);
}

static void climb_init(struct climb *climb, struct proposal *proposal)
{
    climb->proposal = proposal;
    history_init(&climb->history, proposal->search);
    climb->order = g_array_new(FALSE, FALSE, sizeof(struct tried_config *));
    for (guint i = 0; i < climb->history.tried->len; i++) {
        const struct tried_config *tried =
            &g_array_index(climb->history.tried, struct tried_config, i);
        if (isfinite(tried->time_ms))
            g_array_append_val(climb->order, tried);
    }
    g_array_sort(climb->order, compare_times);
}

static void climb_clear(struct climb *climb)
{
    g_array_unref(climb->order);
    history_clear(&climb->history);
}

static const struct tried_config *climb_at(const struct climb *climb, guint place)
{
    return g_array_index(climb->order, const struct tried_config *, place);
}

static GArray *neighbours_of(const struct climb *climb, const struct perf_config *config)
{
    const struct proposal *proposal = climb->proposal;
    GArray *neighbours = g_array_new(FALSE, FALSE, sizeof(struct perf_config));
    /* A default may be none of the space. */
    if (config->count == proposal->space->param_count)
        space_neighbours(proposal->space, proposal->search->problem, proposal->search->context,
                         config, false, neighbours);
    return neighbours;
}

/* Adds those that are new, with their ranks. */
static void add_new(const struct climb *climb, const GArray *neighbours, GArray *found)
{
    struct ranked ranked;
    for (guint i = 0; i < neighbours->len; i++) {
        ranked.config = g_array_index(neighbours, struct perf_config, i);
        if (g_hash_table_contains(climb->proposal->seen, &ranked.config))
            continue;
        ranked.rank = config_rank(climb->proposal->seed, &ranked.config);
        g_array_append_val(found, ranked);
    }
}

static void take_ranked(const struct climb *climb, GArray *found, int most)
{
    g_array_sort(found, compare_ranks);
    for (guint i = 0; i < found->len && most > 0; i++)
        most -=
            proposal_take(climb->proposal, &g_array_index(found, struct ranked, i).config) ? 1 : 0;
}

static bool has_faster(const struct climb *climb, const GArray *neighbours, double time_ms)
{
    for (guint i = 0; i < neighbours->len; i++) {
        const struct tried_config *known =
            history_find(&climb->history, &g_array_index(neighbours, struct perf_config, i));
        if (known && known->time_ms < time_ms)
            return true;
    }
    return false;
}

static void take_neighbours(const struct climb *climb, const struct tried_config *tried)
{
    g_autoptr(GArray) neighbours = neighbours_of(climb, &tried->config);
    g_autoptr(GArray) found = g_array_new(FALSE, FALSE, sizeof(struct ranked));
    if (has_faster(climb, neighbours, tried->time_ms))
        return;
    add_new(climb, neighbours, found);
    take_ranked(climb, found, climb->proposal->wanted);
}

/* What differs from the fastest config in two parameters. */
static void take_second_neighbours(const struct climb *climb, int most)
{
    g_autoptr(GArray) neighbours = neighbours_of(climb, &climb_at(climb, 0)->config);
    g_autoptr(GArray) found = g_array_new(FALSE, FALSE, sizeof(struct ranked));
    for (guint i = 0; i < neighbours->len; i++) {
        g_autoptr(GArray) second =
            neighbours_of(climb, &g_array_index(neighbours, struct perf_config, i));
        add_new(climb, second, found);
    }
    take_ranked(climb, found, most);
}

void propose_climb(struct proposal *proposal)
{
    struct climb climb;
    climb_init(&climb, proposal);
    for (guint i = 0; i < climb.order->len && proposal->wanted > 0; i++) {
        if (climb_at(&climb, i)->time_ms > LOCAL_WITHIN * climb_at(&climb, 0)->time_ms)
            break;
        take_neighbours(&climb, climb_at(&climb, i));
    }
    if (proposal->wanted > 0 && climb.order->len > 0)
        take_second_neighbours(&climb, (proposal->wanted + 1) / 2);
    if (proposal->wanted > 0)
        propose_drawn(proposal, proposal->wanted);
    climb_clear(&climb);
}

void propose_locally(struct proposal *proposal)
{
    int known = proposal->distinct + (int)proposal->configs->len;
    if (known < LOCAL_STARTS)
        propose_drawn(proposal, LOCAL_STARTS - known);
    propose_climb(proposal);
}
