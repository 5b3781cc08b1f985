#include "export/usage/usage.h"

#include "coordinator/cli/table.h"
#include "export/usage/usage_cases.h"
#include "solvers/problem/problem_key.h"

#include <math.h>
#include <string.h>

/* A problem of at least one network, with the times of its solvers. */
struct timed {
    /* must be the first member: the hash table's key is the struct itself */
    struct problem problem;
    GArray *times; /* struct usage_time, NULL until one is added */
};

struct layer_use {
    struct timed *timed;
    int64_t multiplicity;
};

struct network {
    const char *name;
    double runs;
    int place;          /* the only place that counts, -1 for any */
    GArray *uses;       /* struct layer_use */
    GHashTable *places; /* struct timed * -> index of its use in `uses`, + 1 */
};

struct usage {
    GStringChunk *names;
    GHashTable *problems; /* struct timed *, by problem */
    GPtrArray *networks;  /* struct network * */
    GHashTable *by_name;  /* the networks by name */
    GArray *places;       /* struct usage_place */
    GArray *cases;        /* struct usage_case; NULL when something was added since */
    GPtrArray *origins;   /* struct origin * */
};

struct origin {
    gpointer that;
    GDestroyNotify destroy;
};

static void origin_free(gpointer data)
{
    struct origin *origin = data;
    origin->destroy(origin->that);
    g_free(origin);
}

static guint timed_hash(gconstpointer timed)
{
    return problem_hash(timed);
}

static gboolean timed_equal(gconstpointer a, gconstpointer b)
{
    return problem_equal(a, b);
}

static void timed_free(gpointer data)
{
    struct timed *timed = data;
    g_clear_pointer(&timed->times, g_array_unref);
    g_free(timed);
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
    usage->problems = g_hash_table_new_full(timed_hash, timed_equal, timed_free, NULL);
    usage->networks = g_ptr_array_new_with_free_func(network_free);
    usage->by_name = g_hash_table_new(g_str_hash, g_str_equal);
    usage->places = g_array_new(FALSE, TRUE, sizeof(struct usage_place));
    usage->origins = g_ptr_array_new_with_free_func(origin_free);
    return usage;
}

void usage_free(Usage *usage)
{
    if (usage == NULL) {
        return;
    }
    g_clear_pointer(&usage->cases, g_array_unref);
    g_array_unref(usage->places);
    g_ptr_array_unref(usage->origins);
    g_hash_table_unref(usage->by_name);
    g_ptr_array_unref(usage->networks);
    g_hash_table_unref(usage->problems);
    g_string_chunk_free(usage->names);
    g_free(usage);
}

/* ---- adding ---- */

static struct network *find_network(Usage *usage, const char *name)
{
    struct network *network = g_hash_table_lookup(usage->by_name, name);
    if (network != NULL) {
        return network;
    }
    network = g_new0(struct network, 1);
    network->name = g_string_chunk_insert_const(usage->names, name);
    network->runs = 1;
    network->place = -1;
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
    g_clear_pointer(&usage->cases, g_array_unref);
    if (place > 0) {
        g_array_index(network->uses, struct layer_use, place - 1).multiplicity += multiplicity;
        return;
    }
    const struct layer_use use = {timed, multiplicity};
    g_array_append_val(network->uses, use);
    g_hash_table_insert(network->places, timed, GUINT_TO_POINTER(network->uses->len));
}

void usage_bind_network(Usage *usage, const char *name, int place)
{
    find_network(usage, name)->place = place;
    g_clear_pointer(&usage->cases, g_array_unref);
}

bool usage_set_runs(Usage *usage, const char *name, double runs)
{
    struct network *network = g_hash_table_lookup(usage->by_name, name);
    g_clear_pointer(&usage->cases, g_array_unref);
    if (network != NULL) {
        network->runs = runs;
    }
    return network != NULL;
}

int usage_network_count(const Usage *usage)
{
    return (int)usage->networks->len;
}

const char *usage_network_name(const Usage *usage, int network)
{
    return ((const struct network *)usage->networks->pdata[network])->name;
}

int usage_place(Usage *usage, const char *target, const char *source)
{
    for (guint i = 0; i < usage->places->len; i++) {
        const struct usage_place *place = &g_array_index(usage->places, struct usage_place, i);
        if (strcmp(place->target, target) == 0 && strcmp(place->source, source) == 0) {
            return (int)i;
        }
    }
    const struct usage_place place = {g_string_chunk_insert_const(usage->names, target),
                                      g_string_chunk_insert_const(usage->names, source)};
    g_array_append_val(usage->places, place);
    g_clear_pointer(&usage->cases, g_array_unref);
    return (int)usage->places->len - 1;
}

const struct usage_place *usage_place_at(const Usage *usage, int place)
{
    return &g_array_index(usage->places, struct usage_place, place);
}

bool usage_targets_differ(const Usage *usage)
{
    for (guint i = 1; i < usage->places->len; i++) {
        if (strcmp(usage_place_at(usage, (int)i)->target, usage_place_at(usage, 0)->target) != 0) {
            return true;
        }
    }
    return false;
}

bool usage_sources_differ(const Usage *usage)
{
    for (guint i = 1; i < usage->places->len; i++) {
        if (strcmp(usage_place_at(usage, (int)i)->source, usage_place_at(usage, 0)->source) != 0) {
            return true;
        }
    }
    return false;
}

void usage_add_entry(Usage *usage, const struct problem *problem, const struct usage_entry *entry)
{
    struct timed *timed = g_hash_table_lookup(usage->problems, problem);
    if (timed == NULL) {
        return;
    }
    if (timed->times == NULL) {
        timed->times = g_array_new(FALSE, TRUE, sizeof(struct usage_time));
    }
    const struct usage_time time = {.solver =
                                        g_string_chunk_insert_const(usage->names, entry->solver),
                                    .time_ms = entry->time_ms > 0 ? entry->time_ms : INFINITY,
                                    .solver_id = entry->solver_id,
                                    .problem_id = entry->problem_id,
                                    .revision = entry->revision,
                                    .place = entry->place,
                                    .origin = entry->origin,
                                    .dynamic = entry->dynamic};
    g_clear_pointer(&usage->cases, g_array_unref);
    for (guint i = 0; i < timed->times->len; i++) {
        struct usage_time *known = &g_array_index(timed->times, struct usage_time, i);
        if (known->solver == time.solver && known->place == time.place) {
            *known = time.time_ms < known->time_ms ? time : *known;
            return;
        }
    }
    g_array_append_val(timed->times, time);
}

int usage_keep_origin(Usage *usage, gpointer that, GDestroyNotify destroy)
{
    struct origin *origin = g_new0(struct origin, 1);
    *origin = (struct origin){that, destroy};
    g_ptr_array_add(usage->origins, origin);
    return (int)usage->origins->len - 1;
}

gpointer usage_origin_at(const Usage *usage, int origin)
{
    return ((const struct origin *)usage->origins->pdata[origin])->that;
}

void usage_add_time(Usage *usage, const struct problem *problem, const char *solver, double time_ms)
{
    const struct usage_entry entry = {.solver = solver,
                                      .dynamic = -1,
                                      .place = usage_place(usage, "", ""),
                                      .origin = -1,
                                      .time_ms = time_ms};
    usage_add_entry(usage, problem, &entry);
}

/* ---- cases ---- */

static gint by_place_and_time(gconstpointer a, gconstpointer b)
{
    const struct usage_time *one = a, *other = b;
    if (one->place != other->place) {
        return one->place < other->place ? -1 : 1;
    }
    if (one->time_ms != other->time_ms) {
        return one->time_ms < other->time_ms ? -1 : 1;
    }
    return strcmp(one->solver, other->solver);
}

/* Points the case to the times of its place. */
static void set_times(struct usage_case *that, const GArray *times)
{
    for (guint i = 0; times != NULL && i < times->len; i++) {
        const struct usage_time *time = &g_array_index(times, struct usage_time, i);
        if (time->place != that->place) {
            continue;
        }
        that->times = that->times != NULL ? that->times : time;
        that->count += isfinite(time->time_ms) ? 1 : 0;
        that->untimed += isfinite(time->time_ms) ? 0 : 1;
    }
}

static void add_cases(Usage *usage, int index, int place, GHashTable *seen)
{
    const struct network *network = usage->networks->pdata[index];
    for (guint i = 0; i < network->uses->len; i++) {
        const struct layer_use *use = &g_array_index(network->uses, struct layer_use, i);
        struct usage_case that = {.network = index,
                                  .place = place,
                                  .problem = &use->timed->problem,
                                  .multiplicity = use->multiplicity,
                                  .weight = (double)use->multiplicity * network->runs};
        /* `seen` has the cases of this place alone */
        that.is_first = g_hash_table_add(seen, use->timed);
        set_times(&that, use->timed->times);
        g_array_append_val(usage->cases, that);
    }
}

static void sort_times(gpointer timed, gpointer value, gpointer data)
{
    (void)value;
    (void)data;
    if (((struct timed *)timed)->times != NULL) {
        g_array_sort(((struct timed *)timed)->times, by_place_and_time);
    }
}

const GArray *usage_cases(Usage *usage)
{
    if (usage->cases != NULL) {
        return usage->cases;
    }
    if (usage->places->len == 0) {
        usage_place(usage, "", "");
    }
    usage->cases = g_array_new(FALSE, TRUE, sizeof(struct usage_case));
    g_hash_table_foreach(usage->problems, sort_times, NULL);
    g_autoptr(GPtrArray) seen = g_ptr_array_new_with_free_func((GDestroyNotify)g_hash_table_unref);
    for (guint p = 0; p < usage->places->len; p++) {
        g_ptr_array_add(seen, g_hash_table_new(NULL, NULL));
    }
    for (guint n = 0; n < usage->networks->len; n++) {
        const struct network *network = usage->networks->pdata[n];
        for (int p = 0; p < (int)usage->places->len; p++) {
            if (network->place < 0 || network->place == p) {
                add_cases(usage, (int)n, p, seen->pdata[p]);
            }
        }
    }
    return usage->cases;
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

static void summed_free(gpointer data)
{
    struct usage_network *result = data;
    g_array_unref(result->solvers);
    g_free(result);
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

static struct usage_network *summed_new(const Usage *usage, const struct usage_case *that)
{
    const struct network *network = usage->networks->pdata[that->network];
    const struct usage_place *place = usage_place_at(usage, that->place);
    struct usage_network *result = g_new0(struct usage_network, 1);
    result->name = network->name;
    result->runs = network->runs;
    result->target = place->target;
    result->source = place->source;
    result->solvers = g_array_new(FALSE, TRUE, sizeof(struct usage_share));
    return result;
}

static void add_case(struct usage_summary *summary, struct usage_network *result,
                     const struct usage_case *that)
{
    result->problems++;
    result->layers += that->multiplicity;
    if (that->count == 0) {
        const struct usage_gap gap = {result->name,   result->target,     result->source,
                                      *that->problem, that->multiplicity, that->untimed > 0};
        g_array_append_val(summary->gaps, gap);
        return;
    }
    struct usage_share *share = find_share(result->solvers, that->times[0].solver);
    double time_ms = that->times[0].time_ms * that->weight;
    share->wins++;
    share->layers += that->multiplicity;
    share->time_ms += time_ms;
    share->networks = 1;
    result->covered++;
    result->time_ms += time_ms;
}

/* Adds up a network in `all`. counted: names of solvers and networks that were counted together. */
static void add_result(struct usage_network *all, const struct usage_network *result,
                       GHashTable *counted)
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
        to->networks +=
            g_hash_table_add(counted, g_strconcat(from->solver, "\n", result->name, NULL)) ? 1 : 0;
    }
}

void usage_sum(Usage *usage, struct usage_summary *summary)
{
    const GArray *cases = usage_cases(usage);
    g_autoptr(GHashTable) counted = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    summary->networks = g_ptr_array_new_with_free_func(summed_free);
    summary->all = (struct usage_network){0};
    summary->all.solvers = g_array_new(FALSE, TRUE, sizeof(struct usage_share));
    summary->gaps = g_array_new(FALSE, TRUE, sizeof(struct usage_gap));
    summary->targets = usage_targets_differ(usage);
    summary->sources = usage_sources_differ(usage);
    const struct usage_case *before = NULL;
    struct usage_network *result = NULL;
    for (guint i = 0; i < cases->len; i++) {
        const struct usage_case *that = &g_array_index(cases, struct usage_case, i);
        if (before == NULL || before->network != that->network || before->place != that->place) {
            result = summed_new(usage, that);
            g_ptr_array_add(summary->networks, result);
        }
        add_case(summary, result, that);
        before = that;
    }
    for (guint i = 0; i < summary->networks->len; i++) {
        add_result(&summary->all, summary->networks->pdata[i], counted);
        finish(summary->networks->pdata[i]);
    }
    finish(&summary->all);
}

void usage_summary_clear(struct usage_summary *summary)
{
    g_clear_pointer(&summary->networks, g_ptr_array_unref);
    g_clear_pointer(&summary->all.solvers, g_array_unref);
    g_clear_pointer(&summary->gaps, g_array_unref);
}

/* ---- tables for people ---- */

/* problems without a winner that are printed as text; JSON has all of them */
#define GAPS_SHOWN 10

static void print_networks(const struct usage_summary *summary, FILE *out)
{
    const struct table_column columns[] = {
        {"network", NULL, TABLE_TEXT, 0},
        {summary->targets ? "target" : NULL, NULL, TABLE_TEXT, 0},
        {summary->sources ? "source" : NULL, NULL, TABLE_TEXT, 0},
        {"problems", NULL, TABLE_INT, 0},
        {"layers", NULL, TABLE_INT, 0},
        {"covered", NULL, TABLE_INT, 0},
        {"ms", NULL, TABLE_NUMBER, -4},
        {"most time", NULL, TABLE_TEXT, 0},
    };
    Table *table = table_new(columns, G_N_ELEMENTS(columns));
    for (guint i = 0; i < summary->networks->len; i++) {
        const struct usage_network *network = summary->networks->pdata[i];
        const struct usage_share *first =
            network->solvers->len > 0 ? &g_array_index(network->solvers, struct usage_share, 0)
                                      : NULL;
        g_autofree char *most =
            first != NULL ? g_strdup_printf("%s %.0f %%", first->solver, first->time_share * 100)
                          : NULL;
        table_text(table, network->name);
        table_text(table, network->target);
        table_text(table, network->source);
        table_int(table, network->problems);
        table_int(table, network->layers);
        table_int(table, network->covered);
        table_number(table, network->time_ms);
        table_text(table, most);
    }
    table_print(table, out);
    table_free(table);
}

static void print_solvers(const struct usage_summary *summary, FILE *out)
{
    static const struct table_column columns[] = {
        {"solver", NULL, TABLE_TEXT, 0},   {"wins", NULL, TABLE_INT, 0},
        {"layers", NULL, TABLE_INT, 0},    {"ms", NULL, TABLE_NUMBER, -4},
        {"time %", NULL, TABLE_NUMBER, 1}, {"networks", NULL, TABLE_INT, 0},
    };
    Table *table = table_new(columns, G_N_ELEMENTS(columns));
    for (guint i = 0; i < summary->all.solvers->len; i++) {
        const struct usage_share *share =
            &g_array_index(summary->all.solvers, struct usage_share, i);
        table_text(table, share->solver);
        table_int(table, share->wins);
        table_int(table, share->layers);
        table_number(table, share->time_ms);
        table_number(table, share->time_share * 100);
        table_int(table, share->networks);
    }
    table_print(table, out);
    table_free(table);
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
        fprintf(out, "  %.32s x%" G_GINT64_FORMAT " %s%s%s%s\n", gap->network, gap->multiplicity,
                problem_key(&gap->problem, key), summary->targets ? " on " : "",
                summary->targets ? gap->target : "", gap->untimed ? " (no time over 0)" : "");
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
          "ms: their time, weighted by multiplicity and runs. A time that is not over 0 never "
          "wins.\n",
          out);
}

/* ---- JSON ---- */

json_t *usage_json_text(const char *text)
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
            json_pack("{s:o, s:I, s:I, s:f, s:f}", "solver", usage_json_text(share->solver), "wins",
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
            json_pack("{s:o, s:o, s:o, s:f, s:I, s:I, s:I, s:I, s:f, s:o}", "network",
                      usage_json_text(network->name), "target", usage_json_text(network->target),
                      "source", usage_json_text(network->source), "runs", network->runs, "problems",
                      (json_int_t)network->problems, "layers", (json_int_t)network->layers,
                      "covered", (json_int_t)network->covered, "uncovered",
                      (json_int_t)(network->problems - network->covered), "time_ms",
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
        json_array_append_new(list, json_pack("{s:o, s:o, s:o, s:s, s:I, s:s}", "network",
                                              usage_json_text(gap->network), "target",
                                              usage_json_text(gap->target), "source",
                                              usage_json_text(gap->source), "problem",
                                              problem_key(&gap->problem, key), "multiplicity",
                                              (json_int_t)gap->multiplicity, "reason",
                                              gap->untimed ? "no time over 0" : "no entry"));
    }
    return list;
}

json_t *usage_json(const struct usage_summary *summary)
{
    const struct usage_network *all = &summary->all;
    return json_pack("{s:o, s:o, s:o, s:I, s:I, s:I, s:f}", "networks", json_networks(summary),
                     "solvers", json_solvers(all, true), "uncovered", json_gaps(summary),
                     "problems", (json_int_t)all->problems, "layers", (json_int_t)all->layers,
                     "covered", (json_int_t)all->covered, "time_ms", all->time_ms);
}
