/* How usage looks, for people and as JSON. */
#include "export/usage/usage.h"

#include "solvers/problem/problem_key.h"

#include <jansson.h>

#define NAME_COLUMNS    44 /* MIOpen's longest solver names */
#define NETWORK_COLUMNS 32
#define GAPS_SHOWN      10 /* JSON has them all */

/* ---- for people ---- */

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
