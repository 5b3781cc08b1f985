/* Computes which form of solver (static, dynamic, partly specialised) serves each problem under
 * each policy, and what kernels and time the policy costs. */
#include "coordinator/dynamism/dynamism.h"

#include "coordinator/plan/plan.h"
#include "schema/store/store_kernels.h"
#include "solvers/problem/problem_key.h"

#include <math.h>
#include <string.h>

const char *dynamism_policy_name(int policy)
{
    static const char *const names[DYNAMISM_POLICIES] = {"static", "dynamic", "partial", "mixed"};
    g_assert(policy >= 0 && policy < DYNAMISM_POLICIES);
    return names[policy];
}

enum dynamism_form dynamism_form(const struct solver *solver, bool stored_dynamic)
{
    if (solver && solver->partial)
        return DYNAMISM_PARTIAL;
    bool dynamic = solver ? solver->dynamic : stored_dynamic;
    return dynamic ? DYNAMISM_DYNAMIC : DYNAMISM_STATIC;
}

static enum dynamism_form result_form(const struct dynamism_data *data, const struct result *result)
{
    return dynamism_form(data->find(result->solver), result->dynamic);
}

void dynamism_count_forms(const struct dynamism_data *data, int counts[DYNAMISM_FORMS])
{
    memset(counts, 0, DYNAMISM_FORMS * sizeof *counts);
    for (guint i = 0; i < data->results->len; i++)
        counts[result_form(data, g_ptr_array_index(data->results, i))]++;
}

/* ---- a problem's candidates ---- */

static double compile_seconds(const struct dynamism_data *data, const struct result *result)
{
    g_auto(GStrv) keys = g_strsplit(result->kept.kernel_keys, ",", -1);
    double seconds = 0;
    for (int i = 0; keys[i]; i++) {
        const struct kernel_cost *cost = g_hash_table_lookup(data->kernels, keys[i]);
        seconds += cost ? cost->seconds : NAN;
    }
    return seconds;
}

/* Returns the fastest result of each form for each problem: DYNAMISM_FORMS candidates for the first
 * problem, then those of the second, and so on. */
static struct dynamism_candidate *find_candidates(const struct dynamism_data *data,
                                                  const GArray *problems)
{
    gsize count = (gsize)problems->len * DYNAMISM_FORMS;
    struct dynamism_candidate *all = g_new0(struct dynamism_candidate, count + 1);
    g_autoptr(GHashTable) places = problem_table_new(NULL);
    for (gsize i = 0; i < count; i++)
        all[i] = (struct dynamism_candidate){.time_ms = INFINITY, .compile_seconds = NAN};
    for (guint i = 0; i < problems->len; i++)
        g_hash_table_insert(places, &g_array_index(problems, struct plan_problem, i).problem,
                            &all[(gsize)i * DYNAMISM_FORMS]);
    for (guint i = 0; i < data->results->len; i++) {
        const struct result *result = g_ptr_array_index(data->results, i);
        struct dynamism_candidate *candidates = g_hash_table_lookup(places, &result->problem);
        if (!candidates)
            continue;
        struct dynamism_candidate *candidate = &candidates[result_form(data, result)];
        if (result->kept.outcome.median_ms >= candidate->time_ms)
            continue;
        candidate->result = result;
        candidate->time_ms = result->kept.outcome.median_ms;
    }
    for (gsize i = 0; i < count; i++)
        if (all[i].result)
            all[i].compile_seconds = compile_seconds(data, all[i].result);
    return all;
}

/* Returns the form with the fastest candidate, or -1 if no form was measured. */
static int fastest_form(const struct dynamism_candidate candidates[DYNAMISM_FORMS])
{
    int fastest = -1;
    for (int f = 0; f < DYNAMISM_FORMS; f++)
        if (candidates[f].result &&
            (fastest < 0 || candidates[f].time_ms < candidates[fastest].time_ms))
            fastest = f;
    return fastest;
}

int dynamism_mix(const struct dynamism_candidate candidates[DYNAMISM_FORMS],
                 const struct dynamism_limits *limits)
{
    int fastest = fastest_form(candidates);
    if (fastest < 0)
        return -1;
    double close_ms = candidates[fastest].time_ms * (1 + limits->within);
    if (candidates[DYNAMISM_DYNAMIC].result && candidates[DYNAMISM_DYNAMIC].time_ms <= close_ms)
        return DYNAMISM_DYNAMIC;
    int choice = fastest;
    double cheap_seconds = candidates[fastest].compile_seconds * limits->compile_share;
    for (int f = 0; f < DYNAMISM_FORMS; f++) {
        /* Compile seconds that are not known are NAN. The comparison is then false, so the form
         * does not count as cheap. */
        if (f == fastest || !candidates[f].result || candidates[f].time_ms > close_ms ||
            !(candidates[f].compile_seconds <= cheap_seconds))
            continue;
        if (choice == fastest || candidates[f].compile_seconds < candidates[choice].compile_seconds)
            choice = f;
    }
    return choice;
}

/* ---- adding up a policy's cost ---- */

/* Adds the kernels of a result to the policy. Kernels in `seen` were counted for an earlier problem
 * and cost nothing more. */
static void add_kernels(const struct dynamism_data *data, const char *joined, GHashTable *seen,
                        struct dynamism_policy *policy)
{
    g_auto(GStrv) keys = g_strsplit(joined, ",", -1);
    for (int i = 0; keys[i]; i++) {
        if (!g_hash_table_add(seen, g_strdup(keys[i])))
            continue;
        const struct kernel_cost *cost = g_hash_table_lookup(data->kernels, keys[i]);
        policy->kernels++;
        policy->unknown += !cost || cost->bytes == 0;
        policy->bytes += cost ? cost->bytes : 0;
        policy->compile_seconds += cost ? cost->seconds : 0;
    }
}

static void add_choice(const struct dynamism_data *data, const struct plan_problem *problem,
                       const struct dynamism_candidate *candidate, GHashTable *seen,
                       struct dynamism_policy *policy)
{
    g_assert(candidate->result);
    policy->forms[result_form(data, candidate->result)]++;
    policy->run_ms += problem->multiplicity * candidate->time_ms;
    add_kernels(data, candidate->result->kept.kernel_keys, seen, policy);
    g_ptr_array_add(policy->choices, (gpointer)candidate->result);
}

static void add_policy(const struct dynamism_data *data, struct dynamism_network *network,
                       const struct dynamism_candidate *candidates, int number,
                       const struct dynamism_limits *limits)
{
    g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    struct dynamism_policy *policy = &network->policies[number];
    policy->choices = g_ptr_array_new();
    for (guint i = 0; i < network->measured->len; i++) {
        const struct plan_problem *problem =
            &g_array_index(network->measured, struct plan_problem, i);
        const struct dynamism_candidate *of = &candidates[(gsize)i * DYNAMISM_FORMS];
        int form = number == DYNAMISM_MIXED ? dynamism_mix(of, limits) : number;
        g_assert(form >= 0); /* a measured problem has at least one form */
        bool covered = of[form].result != NULL;
        policy->covered += covered;
        add_choice(data, problem, &of[covered ? form : fastest_form(of)], seen, policy);
    }
}

/* Splits the problems into measured ones, which have a candidate, and others. The measured
 * problems and their candidates move to the front of the arrays. */
static void split_measured(struct dynamism_network *network, const GArray *problems,
                           struct dynamism_candidate *candidates)
{
    for (guint i = 0; i < problems->len; i++) {
        const struct plan_problem *problem = &g_array_index(problems, struct plan_problem, i);
        const struct dynamism_candidate *of = &candidates[(gsize)i * DYNAMISM_FORMS];
        char key[PROBLEM_KEY_MAX];
        network->layers += problem->multiplicity;
        if (fastest_form(of) < 0) {
            g_ptr_array_add(network->unmeasured, g_strdup(problem_key(&problem->problem, key)));
            continue;
        }
        memmove(&candidates[(gsize)network->measured->len * DYNAMISM_FORMS], of,
                DYNAMISM_FORMS * sizeof *of);
        g_array_append_val(network->measured, *problem);
    }
}

struct dynamism_network *dynamism_network_new(const struct dynamism_data *data, const char *name,
                                              const GArray *problems,
                                              const struct dynamism_limits *limits)
{
    struct dynamism_network *network = g_new0(struct dynamism_network, 1);
    g_autofree struct dynamism_candidate *candidates = find_candidates(data, problems);
    network->name = g_strdup(name);
    network->problems = (int)problems->len;
    network->unmeasured = g_ptr_array_new_with_free_func(g_free);
    network->measured = g_array_new(FALSE, FALSE, sizeof(struct plan_problem));
    split_measured(network, problems, candidates);
    for (int p = 0; p < DYNAMISM_POLICIES; p++)
        add_policy(data, network, candidates, p, limits);
    return network;
}

void dynamism_network_free(struct dynamism_network *network)
{
    if (!network)
        return;
    for (int p = 0; p < DYNAMISM_POLICIES; p++)
        g_ptr_array_unref(network->policies[p].choices);
    g_ptr_array_unref(network->unmeasured);
    g_array_unref(network->measured);
    g_free(network->name);
    g_free(network);
}
