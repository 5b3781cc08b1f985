/* `report --dynamic`: reads the results, measures cold starts, prints. */
#include "coordinator/dynamism/dynamism_report.h"

#include "coordinator/campaigns/lists.h"
#include "coordinator/campaigns/problems_of.h"
#include "coordinator/cli/cli.h"
#include "coordinator/cli/table.h"
#include "coordinator/plan/plan.h"
#include "coordinator/process/machine.h"
#include "coordinator/process/process.h"
#include "schema/server/database.h"
#include "schema/store/store_kernels.h"
#include "solvers/problem/problem_key.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Times of a network's first start with empty caches, measured by `worker --cold`. */
struct dynamism_cold {
    bool measured;
    int kernels;
    int64_t bytes;
    double compile_seconds, load_seconds;
    double pack_seconds; /* packing filters, once for each layer that wants that */
    /* seconds of the network's first run and of its second run */
    double first_seconds, second_seconds;
};

struct dynamism_report {
    struct dynamism_limits limits;
    char *target, *stack;
    GArray *campaigns; /* int64_t */
    /* GPtrArray *: lists as they were read from the database, which own the results and outcomes */
    GPtrArray *lists;
    /* the results and outcomes to compute on: none of a solver of which this program has another revision, and with
     * carried_only no results of solvers that this program lacks; a config of a problem has one result */
    GPtrArray *results, *outcomes;
    GHashTable *kernels;
    /* number of results left out because this program has another revision of their solver */
    int stale;
    /* true if a cold start was asked for: only solvers of this program can be compiled */
    bool carried_only;
    /* number of results left out because this program lacks their solver */
    int foreign;
    struct dynamism_data data; /* the results, outcomes and kernels to compute on */
    int forms[DYNAMISM_FORMS];
    /* struct dynamism_network *: the networks of the report */
    GPtrArray *networks;
    struct dynamism_cold (*cold)[DYNAMISM_POLICIES]; /* for each network, one for each policy */
    /* cold starts that failed; each is also one of the notes */
    int cold_failures;
    /* true if a signal ended the cold starts; this is also one of the notes */
    bool stopped;
    int kinds;
    GArray *parameters; /* struct dynamism_parameter */
    GPtrArray *notes;   /* char * */
};

/* ---- choosing the campaigns ---- */

/* Returns true if the campaign has the report's target and stack: times of other devices or
 * software cannot be compared with it. */
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

/* Adds the campaign whose id the user named. It must have the same target and stack as the first
 * one. */
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

/* Returns the first of the campaigns that has results, or the first of all if none has. NULL with
 * an error if the database refuses. */
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

/* ---- reading what was measured ---- */

/* Returns true if this program has another revision of the solver: it would not compile the kernels
 * that were measured. */
static bool is_stale(const char *name, int revision)
{
    const struct solver *solver = solver_find(name);
    return solver && solver->revision != revision;
}

/* Adds a result, or improves the time of one that is there. Several campaigns may have measured the
 * same config, or taken it over from each other, so a config of a problem counts once with its best
 * time. places: the config's name -> its index in the results, + 1. */
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

/* Sets the error that says why there is no result. */
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

/* Adds a network's cost under every policy, and its problems to `all`. A network without any
 * measurement is left out unless the user named it. */
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

/* Adds a network "all problems" of all measured problems: for a report that has no other network. */
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

/* ---- notes on what is missing ---- */

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

static void dynamism_report_free(struct dynamism_report *report)
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

/* ---- making the report ---- */

/* Reads the results and computes the report, without cold starts. Sets COORDINATOR_ERROR_EMPTY
 * when nothing was measured, COORDINATOR_ERROR_USAGE for campaigns of different targets or
 * stacks. */
static struct dynamism_report *
dynamism_report_new(Store *store, const struct dynamism_request *request, GError **error)
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

/* Returns the description that `worker --cold` reads: the configs that the policy chose, in the
 * network's order. */
static json_t *request_json(const struct dynamism_network *network, int policy)
{
    json_t *layers = json_array();
    for (guint i = 0; i < network->measured->len; i++) {
        const struct plan_problem *problem =
            &g_array_index(network->measured, struct plan_problem, i);
        const struct result *result = g_ptr_array_index(network->policies[policy].choices, i);
        char key[PROBLEM_KEY_MAX];
        json_array_append_new(layers, json_pack("{s:s, s:s, s:s, s:i, s:I}", "problem",
                                                problem_key(&problem->problem, key), "solver",
                                                result->solver, "config", result->kept.config_text,
                                                "runs", problem->multiplicity, "workspace_bytes",
                                                (json_int_t)result->kept.workspace_bytes));
    }
    return json_pack("{s:o}", "layers", layers);
}

/* Writes the request to an anonymous file in memory and returns its file descriptor, which the
 * child process inherits. Returns -1 with an error on failure. */
static int write_request(json_t *request, GError **error)
{
    int fd = memfd_create("skipjack-cold", 0);
    if (fd >= 0 && json_dumpfd(request, fd, JSON_COMPACT) == 0)
        return fd;
    g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(errno),
                "cannot write what 'skipjack worker --cold' reads: %s", g_strerror(errno));
    if (fd >= 0)
        close(fd);
    return -1;
}

static bool read_answer(const char *text, struct dynamism_cold *cold, GError **error)
{
    json_t *answer = json_loads(text, 0, NULL);
    json_int_t bytes = 0;
    cold->measured =
        answer &&
        json_unpack(answer, "{s:i, s:I, s:F, s:F, s:F, s:F, s:F}", "kernels", &cold->kernels,
                    "bytes", &bytes, "compile_seconds", &cold->compile_seconds, "load_seconds",
                    &cold->load_seconds, "pack_seconds", &cold->pack_seconds, "first_seconds",
                    &cold->first_seconds, "second_seconds", &cold->second_seconds) == 0;
    cold->bytes = bytes;
    json_decref(answer);
    if (!cold->measured)
        g_set_error(error, COORDINATOR_ERROR, COORDINATOR_ERROR_PROCESS,
                    "cannot measure a cold start: 'skipjack worker --cold' printed no times");
    return cold->measured;
}

static bool measure(const struct dynamism_network *network, int policy, struct dynamism_cold *cold,
                    int *caught, GError **error)
{
    g_autofree char *output = NULL;
    json_t *request = request_json(network, policy);
    int fd = write_request(request, error);
    json_decref(request);
    if (fd < 0)
        return false;
    fprintf(stderr, "cold start of %s, %s: %d kernels, about %.1f s to compile\n", network->name,
            dynamism_policy_name(policy), network->policies[policy].kernels,
            network->policies[policy].compile_seconds);
    g_autofree char *path = g_strdup_printf("/proc/self/fd/%d", fd);
    const char *const args[] = {"worker", "--cold", path, NULL};
    bool ran = process_run_stoppable(args, NULL, &output, caught, error);
    close(fd);
    return ran && read_answer(output, cold, error);
}

static void measure_or_note(struct dynamism_report *report, guint index, int policy)
{
    g_autoptr(GError) error = NULL;
    const struct dynamism_network *network = g_ptr_array_index(report->networks, index);
    int caught = 0;
    bool measured = measure(network, policy, &report->cold[index][policy], &caught, &error);
    report->stopped = caught != 0;
    if (report->stopped)
        g_ptr_array_add(report->notes,
                        g_strdup("The cold starts were stopped: those that are shown are whole"));
    else if (!measured)
        g_ptr_array_add(report->notes,
                        g_strdup_printf("%s, %s: no cold start: %s", network->name,
                                        dynamism_policy_name(policy), error->message));
    report->cold_failures += !measured && !report->stopped;
}

static bool check_machine(const struct dynamism_report *report, GError **error)
{
    struct machine machine = {0};
    if (!machine_probe(&machine, error))
        return false;
    bool same = strcmp(machine.target.id, report->target) == 0;
    if (!same)
        g_set_error(error, COORDINATOR_ERROR, COORDINATOR_ERROR_USAGE,
                    "this machine is %s: --cold measures on the target itself, %s",
                    machine.target.id, report->target);
    machine_clear(&machine);
    return same;
}

/* Has the worker compile, load and run every network under every policy, each from empty caches.
 * Stores nothing. A start that fails is counted and noted; SIGINT or SIGTERM ends with the starts
 * measured so far. Both return true. Sets COORDINATOR_ERROR_USAGE when this machine's device is
 * not the report's target. */
static bool dynamism_report_cold(struct dynamism_report *report, GError **error)
{
    if (!check_machine(report, error))
        return false;
    process_block_signals();
    for (guint i = 0; i < report->networks->len; i++) {
        const struct dynamism_network *network = g_ptr_array_index(report->networks, i);
        for (int p = 0; network->measured->len > 0 && p < DYNAMISM_POLICIES; p++)
            if (!report->stopped)
                measure_or_note(report, i, p);
    }
    if (!report->stopped)
        process_unblock_signals();
    return true;
}

/* ---- policies ---- */

static const struct table_column policy_columns[] = {
    {"network", NULL, TABLE_TEXT, 0},      {"policy", NULL, TABLE_TEXT, 0},
    {"covered", NULL, TABLE_TEXT, 0},      {"static", NULL, TABLE_INT, 0},
    {"dynamic", NULL, TABLE_INT, 0},       {"partial", NULL, TABLE_INT, 0},
    {"kernels", NULL, TABLE_INT, 0},       {"KiB", NULL, TABLE_NUMBER, -4},
    {"compile s", NULL, TABLE_NUMBER, -4}, {"run ms", NULL, TABLE_NUMBER, -4},
    {"over mixed", NULL, TABLE_NUMBER, 2},
};

static void add_policy_row(Table *table, const struct dynamism_network *network, int number)
{
    const struct dynamism_policy *policy = &network->policies[number];
    g_autofree char *covered = g_strdup_printf("%d of %u", policy->covered, network->measured->len);
    table_text(table, network->name);
    table_text(table, dynamism_policy_name(number));
    table_text(table, covered);
    for (int f = 0; f < DYNAMISM_FORMS; f++)
        table_int(table, policy->forms[f]);
    table_int(table, policy->kernels);
    table_number(table, (double)policy->bytes / 1024);
    table_number(table, policy->compile_seconds);
    table_number(table, policy->run_ms);
    table_number(table, policy->run_ms / network->policies[DYNAMISM_MIXED].run_ms);
}

static void print_policies(const struct dynamism_report *report, FILE *out)
{
    Table *table = table_new(policy_columns, G_N_ELEMENTS(policy_columns));
    for (guint i = 0; i < report->networks->len; i++)
        for (int p = 0; p < DYNAMISM_POLICIES; p++)
            add_policy_row(table, g_ptr_array_index(report->networks, i), p);
    table_print(table, out);
    table_free(table);
    fputs("\ncovered: problems with a verified config of the policy's form; the others run the\n"
          "fastest of any form. static, dynamic, partial: problems that such a config serves.\n"
          "compile s: of the distinct kernels, one after the other, as stored. run ms: best times\n"
          "x multiplicity. The naive solver counts as dynamic.\n",
          out);
    fprintf(out,
            "mixed: the dynamic config where its time is within %g %% of the fastest; else the\n"
            "fastest, or one within %g %% of it that compiles in %g of its time.\n",
            report->limits.within * 100, report->limits.within * 100, report->limits.compile_share);
}

/* ---- the cold start ---- */

static const struct table_column cold_columns[] = {
    {"network", NULL, TABLE_TEXT, 0},         {"policy", NULL, TABLE_TEXT, 0},
    {"kernels", NULL, TABLE_INT, 0},          {"KiB", NULL, TABLE_NUMBER, -4},
    {"compile s", NULL, TABLE_NUMBER, -4},    {"load s", NULL, TABLE_NUMBER, -4},
    {"pack s", NULL, TABLE_NUMBER, -4},       {"first run s", NULL, TABLE_NUMBER, -4},
    {"second run s", NULL, TABLE_NUMBER, -4}, {"first iteration s", NULL, TABLE_NUMBER, -4},
};

static double first_iteration(const struct dynamism_cold *cold)
{
    return cold->compile_seconds + cold->load_seconds + cold->pack_seconds + cold->first_seconds;
}

static void print_cold(const struct dynamism_report *report, FILE *out)
{
    Table *table = table_new(cold_columns, G_N_ELEMENTS(cold_columns));
    for (guint i = 0; i < report->networks->len; i++) {
        const struct dynamism_network *network = g_ptr_array_index(report->networks, i);
        for (int p = 0; p < DYNAMISM_POLICIES; p++) {
            const struct dynamism_cold *cold = &report->cold[i][p];
            if (!cold->measured)
                continue;
            table_text(table, network->name);
            table_text(table, dynamism_policy_name(p));
            table_int(table, cold->kernels);
            table_number(table, (double)cold->bytes / 1024);
            table_number(table, cold->compile_seconds);
            table_number(table, cold->load_seconds);
            table_number(table, cold->pack_seconds);
            table_number(table, cold->first_seconds);
            table_number(table, cold->second_seconds);
            table_number(table, first_iteration(cold));
        }
    }
    if (table_rows(table) > 0) {
        fputs(
            "\nA cold start, measured now: empty caches, one build process, every kernel compiled,\n"
            "loaded and run:\n\n",
            out);
        table_print(table, out);
    }
    table_free(table);
}

/* ---- parameters ---- */

static const struct table_column parameter_columns[] = {
    {"parameter", "parameter", TABLE_TEXT, 0}, {"FIX_", "choice", TABLE_YES, 0},
    {"values", "values", TABLE_NUMBER, 0},     {"compilations", "compilations", TABLE_NUMBER, 0},
    {"gain", "gain", TABLE_NUMBER, 3},         {"problems", "problems", TABLE_INT, 0},
    {"pairs", "pairs", TABLE_INT, 0},
};

static double count_or_nan(int count)
{
    return count < 0 ? NAN : count;
}

static Table *parameter_table(const struct dynamism_report *report)
{
    Table *table = table_new(parameter_columns, G_N_ELEMENTS(parameter_columns));
    for (guint i = 0; i < report->parameters->len; i++) {
        const struct dynamism_parameter *parameter =
            &g_array_index(report->parameters, struct dynamism_parameter, i);
        table_text(table, parameter->name);
        table_yes(table, parameter->choice);
        table_number(table, count_or_nan(parameter->values));
        table_number(table, count_or_nan(parameter->compilations));
        table_number(table, parameter->gain);
        table_int(table, parameter->problems);
        table_int(table, parameter->pairs);
    }
    return table;
}

static void print_parameters(const struct dynamism_report *report, FILE *out)
{
    Table *table = parameter_table(report);
    fputs("\nWhat may be compiled in, over all problems of these networks:\n\n", out);
    table_print(table, out);
    table_free(table);
    fprintf(
        out,
        "\nvalues: distinct ones. compilations: kernels of one config where this alone is "
        "compiled in\n(%d with nothing compiled in: one a direction, type and layout). gain: "
        "best time without over\nbest time with, a geometric mean over problems, from pairs of "
        "configs of a partly specialised\nsolver that differ in this alone, each timed against "
        "the default config of its round. Pairs\nare few and lie around a job's fastest config: "
        "a gain near 1 is noise.\n",
        report->kinds);
}

/* Prints the report as text, at most table_width() columns wide. */
static void dynamism_report_print(const struct dynamism_report *report, FILE *out)
{
    fprintf(out, "Dynamism on %s%s%s\n", report->target, report->stack[0] ? ", " : "",
            report->stack);
    fprintf(out, "from %d static, %d dynamic and %d partly specialised results of %u %s\n\n",
            report->forms[DYNAMISM_STATIC], report->forms[DYNAMISM_DYNAMIC],
            report->forms[DYNAMISM_PARTIAL], report->campaigns->len,
            report->campaigns->len == 1 ? "campaign" : "campaigns");
    print_policies(report, out);
    print_cold(report, out);
    print_parameters(report, out);
    if (report->notes->len > 0)
        fputs("\nMissing:\n", out);
    for (guint i = 0; i < report->notes->len; i++)
        fprintf(out, "  %s\n", (const char *)g_ptr_array_index(report->notes, i));
}

/* ---- as JSON ---- */

static json_t *choices_json(const struct dynamism_policy *policy)
{
    json_t *choices = json_array();
    for (guint i = 0; i < policy->choices->len; i++) {
        const struct result *result = g_ptr_array_index(policy->choices, i);
        char key[PROBLEM_KEY_MAX];
        json_array_append_new(choices, json_pack("{s:s, s:s, s:s, s:f}", "problem",
                                                 problem_key(&result->problem, key), "solver",
                                                 result->solver, "config", result->kept.config_text,
                                                 "time_ms", result->kept.outcome.median_ms));
    }
    return choices;
}

static json_t *cold_json(const struct dynamism_cold *cold)
{
    if (!cold->measured)
        return json_null();
    return json_pack("{s:i, s:I, s:f, s:f, s:f, s:f, s:f}", "kernels", cold->kernels, "bytes",
                     (json_int_t)cold->bytes, "compile_seconds", cold->compile_seconds,
                     "load_seconds", cold->load_seconds, "pack_seconds", cold->pack_seconds,
                     "first_seconds", cold->first_seconds, "second_seconds", cold->second_seconds);
}

static json_t *forms_json(const int forms[DYNAMISM_FORMS])
{
    json_t *object = json_object();
    for (int f = 0; f < DYNAMISM_FORMS; f++)
        json_object_set_new(object, dynamism_policy_name(f), json_integer(forms[f]));
    return object;
}

static json_t *policy_json(const struct dynamism_network *network, int number,
                           const struct dynamism_cold *cold)
{
    const struct dynamism_policy *policy = &network->policies[number];
    return json_pack("{s:i, s:i, s:o, s:i, s:i, s:I, s:f, s:f, s:o, s:o}", "covered",
                     policy->covered, "measured", (int)network->measured->len, "by_form",
                     forms_json(policy->forms), "kernels", policy->kernels, "unknown_kernels",
                     policy->unknown, "bytes", (json_int_t)policy->bytes, "compile_seconds",
                     policy->compile_seconds, "run_ms", policy->run_ms, "choices",
                     choices_json(policy), "cold", cold_json(cold));
}

static json_t *texts_json(const GPtrArray *texts)
{
    json_t *array = json_array();
    for (guint i = 0; i < texts->len; i++)
        json_array_append_new(array, json_string(g_ptr_array_index(texts, i)));
    return array;
}

static json_t *network_json(const struct dynamism_report *report, guint index)
{
    const struct dynamism_network *network = g_ptr_array_index(report->networks, index);
    json_t *policies = json_object();
    for (int p = 0; p < DYNAMISM_POLICIES; p++)
        json_object_set_new(policies, dynamism_policy_name(p),
                            policy_json(network, p, &report->cold[index][p]));
    return json_pack("{s:s, s:i, s:i, s:o, s:o}", "network", network->name, "problems",
                     network->problems, "layers", network->layers, "unmeasured",
                     texts_json(network->unmeasured), "policies", policies);
}

/* Returns the report as JSON, a new reference. */
static json_t *dynamism_report_json(const struct dynamism_report *report)
{
    json_t *campaigns = json_array(), *networks = json_array();
    for (guint i = 0; i < report->campaigns->len; i++)
        json_array_append_new(campaigns,
                              json_integer(g_array_index(report->campaigns, int64_t, i)));
    for (guint i = 0; i < report->networks->len; i++)
        json_array_append_new(networks, network_json(report, i));
    Table *parameters = parameter_table(report);
    json_t *json =
        json_pack("{s:s, s:s, s:o, s:f, s:f, s:o, s:o, s:i, s:o, s:o}", "target", report->target,
                  "stack", report->stack, "campaigns", campaigns, "within", report->limits.within,
                  "compile_share", report->limits.compile_share, "forms", forms_json(report->forms),
                  "networks", networks, "kinds", report->kinds, "parameters",
                  table_json(parameters), "notes", texts_json(report->notes));
    table_free(parameters);
    return json;
}

/* ---- the command ---- */

static int exit_status(const struct dynamism_report *report)
{
    if (report->stopped)
        return CLI_INTERRUPTED;
    return report->cold_failures > 0 ? CLI_FAILED : CLI_DONE;
}

int dynamism_report_run(const struct dynamism_request *request)
{
    GError *error = NULL;
    g_autoptr(Store) store = database_open(request->as_json, &error);
    struct dynamism_report *report = store ? dynamism_report_new(store, request, &error) : NULL;
    if (!report || (request->cold && !dynamism_report_cold(report, &error))) {
        dynamism_report_free(report);
        return cli_fail("report", error);
    }
    if (request->as_json)
        table_show_json(dynamism_report_json(report));
    else
        dynamism_report_print(report, stdout);
    int status = exit_status(report);
    dynamism_report_free(report);
    return status;
}
