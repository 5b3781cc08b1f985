/* Reads what `report --dynamic` computes on. */
#include "coordinator/dynamism/dynamism_report.h"

#include "coordinator/campaigns/lists.h"
#include "coordinator/campaigns/problems_of.h"
#include "coordinator/cli/cli.h"
#include "coordinator/plan/plan.h"
#include "schema/store/store_kernels.h"
#include "solvers/problem/problem_key.h"

#include <string.h>

/* ---- campaigns ---- */

/* Times of another device or of other software do not compare. */
static bool is_of_report(const struct dynamism_report *report, const struct campaign *campaign)
{
    return strcmp(campaign->target, report->target) == 0 &&
           strcmp(campaign->stack, report->stack) == 0;
}

static void set_place(struct dynamism_report *report, const struct campaign *campaign)
{
    report->target = g_strdup(campaign->target);
    report->stack = g_strdup(campaign->stack);
}

static bool is_taken(const struct dynamism_report *report, int64_t id)
{
    for (guint i = 0; i < report->campaigns->len; i++)
        if (g_array_index(report->campaigns, int64_t, i) == id)
            return true;
    return false;
}

/* Adds one by its id; the first one says of which target and stack all are. */
static bool take_campaign(struct dynamism_report *report, Store *store, const char *name,
                          GError **error)
{
    int64_t id = 0;
    if (!cli_parse_id(name, &id, error))
        return false;
    struct campaign *campaign = store_get_campaign(store, id, error);
    if (!campaign)
        return false;
    if (!report->target)
        set_place(report, campaign);
    bool same = is_of_report(report, campaign);
    if (same && !is_taken(report, id))
        g_array_append_val(report->campaigns, id);
    else if (!same)
        g_set_error(error, COORDINATOR_ERROR, COORDINATOR_ERROR_USAGE,
                    "campaign %s is for %s (%s), others for %s (%s): times of different targets or "
                    "software do not compare",
                    name, campaign->target, campaign->stack, report->target, report->stack);
    campaign_free(campaign);
    return same;
}

/* The first of the campaigns that has results, or the first of all where none has. NULL and a set
 * error where the database refuses. */
static const struct campaign *first_measured(Store *store, const GPtrArray *campaigns,
                                             GError **error)
{
    for (guint i = 0; i < campaigns->len; i++) {
        const struct campaign *campaign = g_ptr_array_index(campaigns, i);
        if (campaign->build_only)
            continue;
        struct result_part first = RESULT_PART_BEGIN;
        if (!store_next_results(store, campaign->id, 1, &first, error))
            return NULL;
        if (first.last != INT64_MAX)
            return campaign;
    }
    return g_ptr_array_index(campaigns, 0);
}

static bool take_all_campaigns(struct dynamism_report *report, Store *store, GError **error)
{
    g_autoptr(GPtrArray) campaigns = list_own_campaigns(store, error);
    const struct campaign *measured = campaigns ? first_measured(store, campaigns, error) : NULL;
    if (!measured)
        return false;
    set_place(report, measured);
    for (guint i = campaigns->len; i > 0; i--) {
        const struct campaign *campaign = g_ptr_array_index(campaigns, i - 1);
        if (is_of_report(report, campaign))
            g_array_append_val(report->campaigns, campaign->id);
    }
    return true;
}

static bool take_campaigns(struct dynamism_report *report, Store *store, char *const *names,
                           GError **error)
{
    report->campaigns = g_array_new(FALSE, FALSE, sizeof(int64_t));
    for (int i = 0; names && names[i]; i++)
        if (!take_campaign(report, store, names[i], error))
            return false;
    return names || take_all_campaigns(report, store, error);
}

/* ---- what was measured ---- */

/* Returns true for results of another revision: this program would not compile their kernels. */
static bool is_stale(const char *name, int revision)
{
    const struct solver *solver = solver_find(name);
    return solver && solver->revision != revision;
}

/* A config of a problem counts once, with its best time: campaigns take over results of other
 * campaigns, and two campaigns may measure the same config. places: its name -> its place among
 * the results, from 1. */
static void add_result(struct dynamism_report *report, struct result *result, GHashTable *places)
{
    char key[PROBLEM_KEY_MAX];
    char *name = g_strdup_printf("%s %s %s", problem_key(&result->problem, key), result->solver,
                                 result->kept.config_text);
    guint place = GPOINTER_TO_UINT(g_hash_table_lookup(places, name));
    if (place == 0) {
        g_ptr_array_add(report->results, result);
        g_hash_table_insert(places, name, GUINT_TO_POINTER(report->results->len));
        return;
    }
    g_free(name);
    struct result **known = (struct result **)&report->results->pdata[place - 1];
    if (result->kept.outcome.median_ms < (*known)->kept.outcome.median_ms)
        *known = result;
}

static void add_results(struct dynamism_report *report, const GPtrArray *results,
                        GHashTable *places)
{
    for (guint i = 0; i < results->len; i++) {
        struct result *result = g_ptr_array_index(results, i);
        bool stale = is_stale(result->solver, result->revision);
        bool foreign = report->carried_only && !solver_find(result->solver);
        report->stale += stale;
        report->foreign += foreign;
        if (!stale && !foreign)
            add_result(report, result, places);
    }
}

static bool read_campaign(struct dynamism_report *report, Store *store, int64_t id,
                          GHashTable *places, GError **error)
{
    GPtrArray *results = store_list_results(store, id, error);
    if (results)
        g_ptr_array_add(report->lists, results);
    GPtrArray *outcomes = results ? store_list_outcomes(store, id, error) : NULL;
    if (!outcomes)
        return false;
    g_ptr_array_add(report->lists, outcomes);
    add_results(report, results, places);
    for (guint i = 0; i < outcomes->len; i++) {
        struct config_outcome *outcome = g_ptr_array_index(outcomes, i);
        if (!is_stale(outcome->solver, outcome->revision))
            g_ptr_array_add(report->outcomes, outcome);
    }
    return true;
}

/* Why there is no result to report on. */
static void set_empty_error(const struct dynamism_report *report, GError **error)
{
    if (report->stale + report->foreign > 0)
        g_set_error(
            error, COORDINATOR_ERROR, COORDINATOR_ERROR_EMPTY,
            "what was measured on %s is not this program's: %d results are of other "
            "revisions of its solvers, %d of solvers that it does not carry; tune it again: "
            "skipjack tune FILE",
            report->target, report->stale, report->foreign);
    else
        g_set_error(error, COORDINATOR_ERROR, COORDINATOR_ERROR_EMPTY,
                    "nothing was measured yet on %s; skipjack tune FILE does", report->target);
}

static GPtrArray *kernel_keys(const GPtrArray *results)
{
    GPtrArray *keys = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
    for (guint i = 0; i < results->len; i++) {
        const struct result *result = g_ptr_array_index(results, i);
        char **of = g_strsplit(result->kept.kernel_keys, ",", -1);
        for (int k = 0; of[k]; k++) {
            if (g_hash_table_add(seen, of[k]))
                g_ptr_array_add(keys, of[k]);
            else
                g_free(of[k]);
        }
        g_free(of);
    }
    return keys;
}

static bool read_measured(struct dynamism_report *report, Store *store, GError **error)
{
    report->lists = g_ptr_array_new_with_free_func((GDestroyNotify)g_ptr_array_unref);
    report->results = g_ptr_array_new();
    report->outcomes = g_ptr_array_new();
    g_autoptr(GHashTable) places = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    for (guint i = 0; i < report->campaigns->len; i++) {
        int64_t id = g_array_index(report->campaigns, int64_t, i);
        if (!read_campaign(report, store, id, places, error))
            return false;
    }
    if (report->results->len == 0) {
        set_empty_error(report, error);
        return false;
    }
    g_autoptr(GPtrArray) keys = kernel_keys(report->results);
    report->kernels =
        store_kernel_costs(store, (const char *const *)keys->pdata, (int)keys->len, error);
    report->data =
        (struct dynamism_data){report->results, report->outcomes, report->kernels, solver_find};
    return report->kernels != NULL;
}

/* ---- networks ---- */

static void free_network(gpointer network)
{
    dynamism_network_free(network);
}

/* Adds it up, and its problems to those of all networks. One that nothing was measured of is left
 * out unless it was asked for. */
static void add_network(struct dynamism_report *report, const char *name, const GArray *problems,
                        bool wanted, GArray *all)
{
    struct dynamism_network *network =
        dynamism_network_new(&report->data, name, problems, &report->limits);
    if (!wanted && network->measured->len == 0) {
        dynamism_network_free(network);
        return;
    }
    g_ptr_array_add(report->networks, network);
    g_array_append_vals(all, problems->data, problems->len);
}

static bool read_network(struct dynamism_report *report, Store *store, const char *name,
                         bool wanted, GArray *all, GError **error)
{
    g_autoptr(GArray) problems = problems_of_network(store, name, error);
    if (problems)
        add_network(report, name, problems, wanted, all);
    return problems != NULL;
}

static bool read_all_networks(struct dynamism_report *report, Store *store, GArray *all,
                              GError **error)
{
    g_autoptr(GPtrArray) rows = store_list_networks(store, false, error);
    for (guint i = 0; rows && i < rows->len; i++) {
        const struct network_row *row = g_ptr_array_index(rows, i);
        if (row->problems > 0 && !read_network(report, store, row->name, false, all, error))
            return false;
    }
    return rows != NULL;
}

/* Where no network holds the campaigns' problems they stand for one. */
static void add_plain_problems(struct dynamism_report *report, GArray *all)
{
    g_autoptr(GArray) problems = g_array_new(FALSE, FALSE, sizeof(struct plan_problem));
    g_autoptr(GHashTable) seen = problem_table_new(NULL);
    for (guint i = 0; i < report->results->len; i++) {
        struct result *result = g_ptr_array_index(report->results, i);
        if (g_hash_table_add(seen, &result->problem))
            plan_add_problem(problems, &result->problem, result->multiplicity);
    }
    add_network(report, "all problems", problems, true, all);
}

static bool read_networks(struct dynamism_report *report, Store *store, char *const *names,
                          GError **error)
{
    g_autoptr(GArray) all = g_array_new(FALSE, FALSE, sizeof(struct plan_problem));
    report->networks = g_ptr_array_new_with_free_func(free_network);
    for (int i = 0; names && names[i]; i++)
        if (!read_network(report, store, names[i], true, all, error))
            return false;
    if (!names && !read_all_networks(report, store, all, error))
        return false;
    if (report->networks->len == 0)
        add_plain_problems(report, all);
    plan_merge_problems(all);
    report->cold = g_malloc0_n(report->networks->len, sizeof *report->cold);
    report->kinds = dynamism_kinds(all);
    report->parameters = dynamism_parameters(&report->data, all);
    return true;
}

/* ---- what is missing ---- */

static char *solvers_of_form(enum dynamism_form form)
{
    GString *names = g_string_new(NULL);
    for (int i = 0; i < solver_table_count; i++)
        if (dynamism_form(solver_table[i], false) == form)
            g_string_append_printf(names, "%s%s", names->len ? "," : "", solver_table[i]->name);
    return g_string_free(names, FALSE);
}

static void note_form(struct dynamism_report *report, enum dynamism_form form)
{
    static const char *const adjectives[] = {"static", "dynamic", "partly specialised"};
    g_autofree char *solvers = solvers_of_form(form);
    if (report->forms[form] > 0)
        return;
    char *note = solvers[0] ? g_strdup_printf("No config of a %s solver was measured: "
                                              "skipjack tune FILE --solvers %s",
                                              adjectives[form], solvers)
                            : g_strdup_printf("This program has no %s solver.", adjectives[form]);
    g_ptr_array_add(report->notes, note);
}

static void note_network(struct dynamism_report *report, const struct dynamism_network *network)
{
    if (network->unmeasured->len > 0)
        g_ptr_array_add(report->notes,
                        g_strdup_printf("%s: %u of %d problems have no verified config and are "
                                        "left out: skipjack campaign create --network %s",
                                        network->name, network->unmeasured->len, network->problems,
                                        network->name));
    for (int p = 0; p < DYNAMISM_POLICIES; p++)
        if (network->policies[p].unknown > 0)
            g_ptr_array_add(report->notes,
                            g_strdup_printf("%s, %s: the code of %d kernels is not in the database "
                                            "any more; their bytes are not counted",
                                            network->name, dynamism_policy_name(p),
                                            network->policies[p].unknown));
}

static void note_left_out(struct dynamism_report *report)
{
    if (report->stale > 0)
        g_ptr_array_add(report->notes,
                        g_strdup_printf("%d results of other revisions of solvers are left out: "
                                        "what they measured is not what this program compiles",
                                        report->stale));
    if (report->foreign > 0)
        g_ptr_array_add(
            report->notes,
            g_strdup_printf("%d results of solvers that this program does not carry are "
                            "left out: it cannot compile them for a cold start",
                            report->foreign));
}

static void note_gains(struct dynamism_report *report)
{
    bool lacks_pairs = false;
    for (guint i = 0; i < report->parameters->len; i++) {
        const struct dynamism_parameter *parameter =
            &g_array_index(report->parameters, struct dynamism_parameter, i);
        lacks_pairs = lacks_pairs || (parameter->choice && parameter->pairs == 0);
    }
    if (lacks_pairs)
        g_ptr_array_add(report->notes,
                        g_strdup("A gain is unknown where no two configs differ in that parameter "
                                 "alone; tune with more of them: --configs 0"));
}

static void add_notes(struct dynamism_report *report)
{
    report->notes = g_ptr_array_new_with_free_func(g_free);
    for (int f = 0; f < DYNAMISM_FORMS; f++)
        note_form(report, (enum dynamism_form)f);
    for (guint i = 0; i < report->networks->len; i++)
        note_network(report, g_ptr_array_index(report->networks, i));
    note_left_out(report);
    note_gains(report);
}

/* ---- the whole ---- */

struct dynamism_report *dynamism_report_new(Store *store, const struct dynamism_request *request,
                                            GError **error)
{
    struct dynamism_report *report = g_new0(struct dynamism_report, 1);
    report->limits = request->limits;
    report->carried_only = request->cold;
    if (take_campaigns(report, store, request->campaigns, error) &&
        read_measured(report, store, error) &&
        read_networks(report, store, request->networks, error)) {
        dynamism_count_forms(&report->data, report->forms);
        add_notes(report);
        return report;
    }
    dynamism_report_free(report);
    return NULL;
}

void dynamism_report_free(struct dynamism_report *report)
{
    if (!report)
        return;
    g_clear_pointer(&report->networks, g_ptr_array_unref);
    g_clear_pointer(&report->parameters, g_array_unref);
    g_clear_pointer(&report->notes, g_ptr_array_unref);
    g_clear_pointer(&report->campaigns, g_array_unref);
    g_clear_pointer(&report->results, g_ptr_array_unref);
    g_clear_pointer(&report->outcomes, g_ptr_array_unref);
    g_clear_pointer(&report->lists, g_ptr_array_unref);
    g_clear_pointer(&report->kernels, g_hash_table_unref);
    g_free(report->cold);
    g_free(report->target);
    g_free(report->stack);
    g_free(report);
}
