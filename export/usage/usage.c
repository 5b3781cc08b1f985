#include "export/usage/usage.h"

#include "solvers/problem/problem_key.h"

#include <jansson.h>
#include <string.h>

/* A problem of at least one network, with its fastest solver so far. */
struct timed {
    /* must be the first member: the hash table's key is the struct itself */
    struct problem problem;
    const char *solver; /* NULL until a time is added */
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
    GHashTable *places; /* struct timed * -> index of its use in `uses`, + 1 */
};

struct usage {
    GStringChunk *names;
    GHashTable *problems; /* struct timed *, by problem */
    GPtrArray *networks;  /* struct network * */
    GHashTable *by_name;  /* the networks by name */
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

/* ---- summing up the networks ---- */

static struct usage_share *find_share(GArray *shares, const char *solver)
{
    for (guint i = 0; i < shares->len; i++) {
        struct usage_share *share = &g_array_index(shares, struct usage_share, i);
        if (share->solver == solver) { /* names are interned, so pointers can be compared */
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

/* ---- printing the summary ---- */

#define NAME_COLUMNS    44 /* width of a table's solver column: MIOpen's longest solver name */
#define NETWORK_COLUMNS 32
/* problems without a winner that are printed as text; JSON has all of them */
#define GAPS_SHOWN      10

/* ---- tables for a terminal ---- */

static void print_networks(const struct usage_summary *summary, FILE *out)
{
    fprintf(out, "%-*s %8s %6s %7s %11s  %s\n", NETWORK_COLUMNS, "network", "problems", "layers",
            "covered", "ms", "most time");
    for (guint i = 0; i < summary->networks->len; i++) {
        const struct usage_network *network = summary->networks->pdata[i];
        fprintf(out,
                "%-*.*s %8" G_GINT64_FORMAT " %6" G_GINT64_FORMAT " %7" G_GINT64_FORMAT " %11.3f",
                NETWORK_COLUMNS, NETWORK_COLUMNS, network->name, network->problems, network->layers,
                network->covered, network->time_ms);
        if (network->solvers->len > 0) {
            const struct usage_share *first =
                &g_array_index(network->solvers, struct usage_share, 0);
            fprintf(out, "  %.45s %.0f %%", first->solver, first->time_share * 100);
        }
        fputc('\n', out);
    }
}

static void print_solvers(const struct usage_summary *summary, FILE *out)
{
    fprintf(out, "%-*s %8s %6s %11s %6s %8s\n", NAME_COLUMNS, "solver", "wins", "layers", "ms",
            "time %", "networks");
    for (guint i = 0; i < summary->all.solvers->len; i++) {
        const struct usage_share *share =
            &g_array_index(summary->all.solvers, struct usage_share, i);
        fprintf(out, "%-*s %8" G_GINT64_FORMAT " %6" G_GINT64_FORMAT " %11.3f %6.1f %8d\n",
                NAME_COLUMNS, share->solver, share->wins, share->layers, share->time_ms,
                share->time_share * 100, share->networks);
    }
}

static void print_gaps(const struct usage_summary *summary, FILE *out)
{
    guint count = summary->gaps->len;
    if (count == 0) {
        return;
    }
    fprintf(out, "\nWithout an entry: %u problems\n", count);
    for (guint i = 0; i < count && i < GAPS_SHOWN; i++) {
        const struct usage_gap *gap = &g_array_index(summary->gaps, struct usage_gap, i);
        char key[PROBLEM_KEY_MAX];
        fprintf(out, "  %.*s x%" G_GINT64_FORMAT " %s%s\n", NETWORK_COLUMNS, gap->network,
                gap->multiplicity, problem_key(&gap->problem, key),
                gap->untimed ? " (no time over 0)" : "");
    }
    if (count > GAPS_SHOWN) {
        fprintf(out, "  and %u more, --json names all\n", count - GAPS_SHOWN);
    }
}

void usage_print(const struct usage_summary *summary, FILE *out)
{
    const struct usage_network *all = &summary->all;
    print_networks(summary, out);
    fprintf(out,
            "\nAll networks: %" G_GINT64_FORMAT " problems in %" G_GINT64_FORMAT
            " layers, %" G_GINT64_FORMAT " of them covered, %.3f ms\n\n",
            all->problems, all->layers, all->covered, all->time_ms);
    print_solvers(summary, out);
    print_gaps(summary, out);
    fputs("\nwins: problems for which the solver is fastest; layers: these with multiplicity;\n"
          "ms: their time, weighted by multiplicity. A time that is not over 0 never wins.\n",
          out);
}

/* ---- JSON ---- */

static json_t *json_text(const char *text)
{
    g_autofree char *valid = g_utf8_make_valid(text, -1);
    return json_string(valid);
}

static json_t *json_solvers(const struct usage_network *network, bool all)
{
    json_t *list = json_array();
    for (guint i = 0; i < network->solvers->len; i++) {
        const struct usage_share *share = &g_array_index(network->solvers, struct usage_share, i);
        json_t *object =
            json_pack("{s:o, s:I, s:I, s:f, s:f}", "solver", json_text(share->solver), "wins",
                      (json_int_t)share->wins, "layers", (json_int_t)share->layers, "time_ms",
                      share->time_ms, "time_share", share->time_share);
        if (all) {
            json_object_set_new(object, "networks", json_integer(share->networks));
        }
        json_array_append_new(list, object);
    }
    return list;
}

static json_t *json_networks(const struct usage_summary *summary)
{
    json_t *list = json_array();
    for (guint i = 0; i < summary->networks->len; i++) {
        const struct usage_network *network = summary->networks->pdata[i];
        json_array_append_new(
            list,
            json_pack("{s:o, s:I, s:I, s:I, s:I, s:f, s:o}", "network", json_text(network->name),
                      "problems", (json_int_t)network->problems, "layers",
                      (json_int_t)network->layers, "covered", (json_int_t)network->covered,
                      "uncovered", (json_int_t)(network->problems - network->covered), "time_ms",
                      network->time_ms, "solvers", json_solvers(network, false)));
    }
    return list;
}

static json_t *json_gaps(const struct usage_summary *summary)
{
    json_t *list = json_array();
    for (guint i = 0; i < summary->gaps->len; i++) {
        const struct usage_gap *gap = &g_array_index(summary->gaps, struct usage_gap, i);
        char key[PROBLEM_KEY_MAX];
        json_array_append_new(list,
                              json_pack("{s:o, s:s, s:I, s:s}", "network", json_text(gap->network),
                                        "problem", problem_key(&gap->problem, key), "multiplicity",
                                        (json_int_t)gap->multiplicity, "reason",
                                        gap->untimed ? "no time over 0" : "no entry"));
    }
    return list;
}

void usage_print_json(const struct usage_summary *summary, FILE *out)
{
    const struct usage_network *all = &summary->all;
    json_t *object =
        json_pack("{s:o, s:o, s:o, s:I, s:I, s:I, s:f}", "networks", json_networks(summary),
                  "solvers", json_solvers(all, true), "uncovered", json_gaps(summary), "problems",
                  (json_int_t)all->problems, "layers", (json_int_t)all->layers, "covered",
                  (json_int_t)all->covered, "time_ms", all->time_ms);
    json_dumpf(object, out, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
    fputc('\n', out);
    json_decref(object);
}
