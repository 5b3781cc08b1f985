#include "export/usage/usage.h"

#include <string.h>

/* A problem of some network, with the fastest that is known for it. */
struct timed {
    struct problem problem; /* first: a timed is its own key */
    const char *solver;     /* NULL: none yet */
    double time_ms;
    bool entries;
};

struct layer_use {
    const struct timed *timed;
    int64_t multiplicity;
};

struct network {
    const char *name;
    GArray *uses;       /* struct layer_use */
    GHashTable *places; /* struct timed * -> its place in uses, from 1 */
};

struct usage {
    GStringChunk *names;
    GHashTable *problems; /* struct timed *, by problem */
    GPtrArray *networks;  /* struct network * */
    GHashTable *by_name;  /* the same by their names */
};

static guint timed_hash(gconstpointer timed)
{
    return problem_hash(timed);
}

static gboolean timed_equal(gconstpointer a, gconstpointer b)
{
    return problem_equal(a, b);
}

static void network_free(gpointer data)
{
    struct network *network = data;
    g_array_unref(network->uses);
    g_hash_table_unref(network->places);
    g_free(network);
}

Usage *usage_new(void)
{
    Usage *usage = g_new0(Usage, 1);
    usage->names = g_string_chunk_new(4096);
    usage->problems = g_hash_table_new_full(timed_hash, timed_equal, g_free, NULL);
    usage->networks = g_ptr_array_new_with_free_func(network_free);
    usage->by_name = g_hash_table_new(g_str_hash, g_str_equal);
    return usage;
}

void usage_free(Usage *usage)
{
    if (usage == NULL) {
        return;
    }
    g_hash_table_unref(usage->by_name);
    g_ptr_array_unref(usage->networks);
    g_hash_table_unref(usage->problems);
    g_string_chunk_free(usage->names);
    g_free(usage);
}

static struct network *find_network(Usage *usage, const char *name)
{
    struct network *network = g_hash_table_lookup(usage->by_name, name);
    if (network != NULL) {
        return network;
    }
    network = g_new0(struct network, 1);
    network->name = g_string_chunk_insert_const(usage->names, name);
    network->uses = g_array_new(FALSE, FALSE, sizeof(struct layer_use));
    network->places = g_hash_table_new(NULL, NULL);
    g_ptr_array_add(usage->networks, network);
    g_hash_table_insert(usage->by_name, (gpointer)network->name, network);
    return network;
}

static struct timed *find_timed(Usage *usage, const struct problem *problem)
{
    struct timed *timed = g_hash_table_lookup(usage->problems, problem);
    if (timed == NULL) {
        timed = g_new0(struct timed, 1);
        timed->problem = *problem;
        g_hash_table_add(usage->problems, timed);
    }
    return timed;
}

void usage_add_problem(Usage *usage, const char *name, const struct problem *problem,
                       int64_t multiplicity)
{
    struct network *network = find_network(usage, name);
    struct timed *timed = find_timed(usage, problem);
    guint place = GPOINTER_TO_UINT(g_hash_table_lookup(network->places, timed));
    if (place > 0) {
        g_array_index(network->uses, struct layer_use, place - 1).multiplicity += multiplicity;
        return;
    }
    const struct layer_use use = {timed, multiplicity};
    g_array_append_val(network->uses, use);
    g_hash_table_insert(network->places, timed, GUINT_TO_POINTER(network->uses->len));
}

void usage_add_time(Usage *usage, const struct problem *problem, const char *solver, double time_ms)
{
    struct timed *timed = g_hash_table_lookup(usage->problems, problem);
    if (timed == NULL) {
        return;
    }
    timed->entries = true;
    if (!(time_ms > 0) || (timed->solver != NULL &&
                           (time_ms > timed->time_ms ||
                            (time_ms == timed->time_ms && strcmp(solver, timed->solver) >= 0)))) {
        return;
    }
    timed->time_ms = time_ms;
    timed->solver = g_string_chunk_insert_const(usage->names, solver);
}

/* ---- summing up ---- */

static struct usage_share *find_share(GArray *shares, const char *solver)
{
    for (guint i = 0; i < shares->len; i++) {
        struct usage_share *share = &g_array_index(shares, struct usage_share, i);
        if (share->solver == solver) { /* names are kept once each */
            return share;
        }
    }
    const struct usage_share share = {.solver = solver};
    g_array_append_val(shares, share);
    return &g_array_index(shares, struct usage_share, shares->len - 1);
}

static struct usage_network *summed_new(const char *name)
{
    struct usage_network *result = g_new0(struct usage_network, 1);
    result->name = name;
    result->solvers = g_array_new(FALSE, TRUE, sizeof(struct usage_share));
    return result;
}

static void summed_free(gpointer data)
{
    struct usage_network *result = data;
    g_array_unref(result->solvers);
    g_free(result);
}

static void add_gap(struct usage_summary *summary, const char *network, const struct layer_use *use)
{
    const struct usage_gap gap = {network, use->timed->problem, use->multiplicity,
                                  use->timed->entries};
    g_array_append_val(summary->gaps, gap);
}

static gint by_time(gconstpointer a, gconstpointer b)
{
    const struct usage_share *one = a, *other = b;
    return one->time_ms > other->time_ms   ? -1
           : one->time_ms < other->time_ms ? 1
                                           : strcmp(one->solver, other->solver);
}

static void finish(struct usage_network *result)
{
    for (guint i = 0; i < result->solvers->len; i++) {
        struct usage_share *share = &g_array_index(result->solvers, struct usage_share, i);
        share->time_share = share->time_ms / result->time_ms;
    }
    g_array_sort(result->solvers, by_time);
}

static struct usage_network *sum_network(struct usage_summary *summary,
                                         const struct network *network)
{
    struct usage_network *result = summed_new(network->name);
    result->problems = network->uses->len;
    for (guint i = 0; i < network->uses->len; i++) {
        const struct layer_use *use = &g_array_index(network->uses, struct layer_use, i);
        result->layers += use->multiplicity;
        if (use->timed->solver == NULL) {
            add_gap(summary, network->name, use);
            continue;
        }
        struct usage_share *share = find_share(result->solvers, use->timed->solver);
        double time_ms = use->timed->time_ms * (double)use->multiplicity;
        share->wins++;
        share->layers += use->multiplicity;
        share->time_ms += time_ms;
        share->networks = 1;
        result->covered++;
        result->time_ms += time_ms;
    }
    finish(result);
    return result;
}

static void add_result(struct usage_network *all, const struct usage_network *result)
{
    all->problems += result->problems;
    all->layers += result->layers;
    all->covered += result->covered;
    all->time_ms += result->time_ms;
    for (guint i = 0; i < result->solvers->len; i++) {
        const struct usage_share *from = &g_array_index(result->solvers, struct usage_share, i);
        struct usage_share *to = find_share(all->solvers, from->solver);
        to->wins += from->wins;
        to->layers += from->layers;
        to->time_ms += from->time_ms;
        to->networks++;
    }
}

void usage_sum(const Usage *usage, struct usage_summary *summary)
{
    summary->networks = g_ptr_array_new_with_free_func(summed_free);
    summary->all = (struct usage_network){0};
    summary->all.solvers = g_array_new(FALSE, TRUE, sizeof(struct usage_share));
    summary->gaps = g_array_new(FALSE, TRUE, sizeof(struct usage_gap));
    for (guint i = 0; i < usage->networks->len; i++) {
        struct usage_network *result = sum_network(summary, usage->networks->pdata[i]);
        add_result(&summary->all, result);
        g_ptr_array_add(summary->networks, result);
    }
    finish(&summary->all);
}

void usage_summary_clear(struct usage_summary *summary)
{
    g_clear_pointer(&summary->networks, g_ptr_array_unref);
    g_clear_pointer(&summary->all.solvers, g_array_unref);
    g_clear_pointer(&summary->gaps, g_array_unref);
}
