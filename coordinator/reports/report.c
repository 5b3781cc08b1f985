#include "coordinator/reports/report.h"
#include "schema/results/store_foreign.h"
#include "schema/store/drift.h"

#include "coordinator/plan/plan.h"
#include "schema/results/store_results.h"

#include <math.h>
#include <string.h>

static void clear_row(gpointer data)
{
    struct report_row *row = data;
    g_free(row->solver);
    g_free(row->config);
    g_clear_pointer(&row->missing, g_ptr_array_unref);
}

/* ---- rows ---- */

static struct report_row empty_row(const struct problem *problem, int multiplicity)
{
    return (struct report_row){
        .problem = *problem,
        .multiplicity = multiplicity,
        .solver = g_strdup(""),
        .config = g_strdup(""),
        .time_ms = NAN,
        .spread = NAN,
        .own_default_ms = NAN,
        .default_ms = NAN,
        .naive_ms = NAN,
        .gflops = NAN,
    };
}

static GArray *new_rows(void)
{
    GArray *rows = g_array_new(FALSE, TRUE, sizeof(struct report_row));
    g_array_set_clear_func(rows, clear_row);
    return rows;
}

static double gflops(const struct problem *problem, double time_ms)
{
    return 2 * problem_macs(problem) / (time_ms * 1e6);
}

/* The jobs (struct job_row *) and results (struct result *) of one problem. */
struct candidates {
    GPtrArray *jobs, *results;
};

static void candidates_free(gpointer data)
{
    struct candidates *of = data;
    g_ptr_array_unref(of->jobs);
    g_ptr_array_unref(of->results);
    g_free(of);
}

/* Returns struct candidates * by problem. It is made from the jobs, so that a problem whose jobs
 * all failed is included. */
static GHashTable *candidates_by_problem(const GPtrArray *jobs, const GPtrArray *results)
{
    GHashTable *all = problem_table_new(candidates_free);
    for (guint i = 0; i < jobs->len; i++) {
        struct job_row *job = g_ptr_array_index(jobs, i);
        struct candidates *of = g_hash_table_lookup(all, &job->problem);
        if (!of) {
            of = g_new0(struct candidates, 1);
            *of = (struct candidates){g_ptr_array_new(), g_ptr_array_new()};
            g_hash_table_insert(all, &job->problem, of);
        }
        g_ptr_array_add(of->jobs, job);
    }
    for (guint i = 0; i < results->len; i++) {
        struct result *result = g_ptr_array_index(results, i);
        struct candidates *of = g_hash_table_lookup(all, &result->problem);
        g_assert(of); /* every result belongs to a job of its campaign */
        g_ptr_array_add(of->results, result);
    }
    return all;
}

static void take_winner(struct report_row *row, const struct result *result)
{
    const struct outcome *outcome = &result->kept.outcome;
    if (row->won && (row->second || (!result->kept.wins && outcome->median_ms >= row->time_ms)))
        return;
    g_free(row->solver);
    g_free(row->config);
    row->won = true;
    row->solver = g_strdup(result->solver);
    row->config = g_strdup(result->kept.config_text);
    row->time_ms = outcome->median_ms;
    row->spread = outcome->spread;
    row->second = result->kept.wins;
    row->low_ms = outcome->low_ms;
    row->high_ms = outcome->high_ms;
    row->pack_ms = outcome->pack_ms;
    row->packed_bytes = result->kept.packed_bytes;
    row->gflops = gflops(&row->problem, outcome->median_ms);
    row->tuned = !result->kept.is_default;
    row->job = result->job;
    row->drift = result->drift;
    row->caches = result->caches;
    row->verified_share = result->verified_share;
    row->proof_runs = result->proof_runs;
    row->proof_kinds = result->proof_kinds;
}

/* Returns the time of a solver's default config, in ms, among the results of one problem; NAN if it
 * was not measured. */
static double default_time(const GPtrArray *results, const char *solver)
{
    for (guint i = 0; i < results->len; i++) {
        const struct result *result = g_ptr_array_index(results, i);
        if (result->kept.is_default && strcmp(result->solver, solver) == 0)
            return result->kept.outcome.median_ms;
    }
    return NAN;
}

static bool has_job(const GPtrArray *jobs, const char *solver)
{
    for (guint i = 0; i < jobs->len; i++) {
        if (strcmp(((const struct job_row *)g_ptr_array_index(jobs, i))->solver, solver) == 0)
            return true;
    }
    return false;
}

/* Returns the solver that a library would run without tuning: of the problem's jobs, the one whose
 * solver states the highest estimate. NULL if this program has none of these solvers. */
static const char *default_choice(const GPtrArray *jobs, const struct problem *problem,
                                  const struct context *context)
{
    double best = -1;
    const char *choice = NULL;
    for (int i = 0; i < solver_table_count; i++) {
        const struct solver *solver = solver_table[i];
        const char *reason = NULL;
        if (!has_job(jobs, solver->name) || !solver_applicable(solver, problem, context, &reason) ||
            solver->estimate(problem, context) <= best)
            continue;
        best = solver->estimate(problem, context);
        choice = solver->name;
    }
    return choice;
}

static double row_weight(const struct report_row *row)
{
    return row->won ? row->time_ms * row->multiplicity : HUGE_VAL;
}

bool report_is_partial(const struct report_row *row)
{
    return row->verified_share > 0 && row->verified_share < 1;
}

bool report_is_briefly_proved(const struct report_row *row)
{
    return row->won && row->proof_runs < RESULT_PROOF_RUNS;
}

static int compare_rows(gconstpointer a, gconstpointer b)
{
    const struct report_row *left = a, *right = b;
    double x = row_weight(left), y = row_weight(right);
    return x > y ? -1 : x < y ? 1 : problem_compare(&left->problem, &right->problem);
}

/* Makes the row of one problem. context: NULL if this program does not know the target, so solvers
 * cannot be asked. */
static struct report_row make_row(const struct candidates *of, const struct context *context)
{
    const struct job_row *first = g_ptr_array_index(of->jobs, 0);
    struct report_row row = empty_row(&first->problem, first->multiplicity);
    for (guint i = 0; i < of->results->len; i++) {
        const struct result *result = g_ptr_array_index(of->results, i);
        take_winner(&row, result);
        row.drifted_results += drift_is_large(result->drift);
    }
    row.naive_ms = default_time(of->results, PLAN_NAIVE_SOLVER);
    row.own_default_ms = default_time(of->results, row.solver);
    row.default_solver = context ? default_choice(of->jobs, &row.problem, context) : NULL;
    if (row.default_solver)
        row.default_ms = default_time(of->results, row.default_solver);
    return row;
}

GArray *report_rows(const GPtrArray *jobs, const GPtrArray *results,
                    const struct campaign *campaign)
{
    g_autoptr(GHashTable) problems = candidates_by_problem(jobs, results);
    struct target target = {0};
    struct context context;
    bool known = target_parse(campaign->target, &target, NULL);
    GArray *rows = new_rows();
    GHashTableIter each;
    gpointer of;
    context_init(&context, &target);
    context_set_limits(&context, &campaign->limits);
    g_hash_table_iter_init(&each, problems);
    while (g_hash_table_iter_next(&each, NULL, &of)) {
        struct report_row row = make_row(of, known ? &context : NULL);
        g_array_append_val(rows, row);
    }
    g_array_sort(rows, compare_rows);
    return rows;
}

struct report_totals report_sum(const GArray *rows)
{
    struct report_totals totals = {.problems = (int)rows->len, .naive_ms = NAN};
    for (guint i = 0; i < rows->len; i++) {
        if (isfinite(g_array_index(rows, struct report_row, i).naive_ms))
            totals.naive_ms = 0;
    }
    for (guint i = 0; i < rows->len; i++) {
        const struct report_row *row = &g_array_index(rows, struct report_row, i);
        totals.layers += row->multiplicity;
        totals.without_winner += !row->won;
        totals.second += row->won && row->second;
        totals.wide += row->won && row->spread > REPORT_WIDE_SPREAD;
        totals.packed += row->won && row->packed_bytes > 0;
        totals.pack_ms += row->multiplicity * row->pack_ms;
        totals.packed_bytes += row->multiplicity * (double)row->packed_bytes;
        totals.throttled += row->won && (row->conditions.throttle & THROTTLE_MARKED) != 0;
        totals.drifted += row->won && drift_is_large(row->drift);
        totals.drifted_results += row->drifted_results;
        totals.verified_in_part += row->won && report_is_partial(row);
        totals.briefly_proved += report_is_briefly_proved(row);
        totals.use.seconds += row->use.seconds;
        totals.use.busy_seconds += row->use.busy_seconds;
        totals.used += row->use.seconds > 0;
        if (!row->won || !isfinite(row->default_ms) ||
            isfinite(row->naive_ms) != isfinite(totals.naive_ms))
            continue;
        totals.compared++;
        totals.naive_ms += row->multiplicity * row->naive_ms;
        totals.default_ms += row->multiplicity * row->default_ms;
        totals.tuned_ms += row->multiplicity * row->time_ms;
    }
    return totals;
}

/* Adds the row of a problem of a foreign campaign. The entries are sorted by time. A problem
 * without any time gets no row, since nothing says that a solver was tried. */
static void add_foreign_row(const struct problem *problem, const struct foreign_entry *entries,
                            int count, gpointer data)
{
    GArray *rows = data;
    if (count == 0 || !isfinite(entries->time_ms))
        return;
    struct report_row row = empty_row(problem, 1);
    g_free(row.solver);
    g_free(row.config);
    row.won = true;
    row.solver = g_strdup(entries->solver);
    row.config = g_strdup(entries->params);
    row.time_ms = entries->time_ms;
    row.gflops = gflops(problem, entries->time_ms);
    g_array_append_val(rows, row);
}

/* ---- the whole report ---- */

int report_part_jobs = 10000;

/* Moves rows from `more` to `rows`, with all that they own. */
static void move_rows(GArray *rows, GArray *more)
{
    g_array_append_vals(rows, more->data, more->len);
    g_array_set_clear_func(more, NULL);
}

static bool read_part(Store *store, struct report *report, const struct problem_part *part,
                      GError **error)
{
    int64_t id = report->campaign->id;
    g_autoptr(GPtrArray) jobs = store_list_part_jobs(store, id, part, error);
    g_autoptr(GPtrArray) results = jobs ? store_list_part_results(store, id, part, error) : NULL;
    g_autoptr(GPtrArray) rejections =
        results ? store_list_part_rejections(store, id, part, error) : NULL;
    g_autoptr(GPtrArray) uses =
        rejections ? store_list_part_device_use(store, id, part, error) : NULL;
    g_autoptr(GPtrArray) conditions =
        uses ? store_list_part_conditions(store, id, part, error) : NULL;
    if (!conditions)
        return false;
    for (guint i = 0; i < jobs->len; i++)
        report->reused += ((const struct job_row *)g_ptr_array_index(jobs, i))->reused;
    g_autoptr(GArray) rows = report_rows(jobs, results, report->campaign);
    report_take_conditions(rows, conditions);
    report_take_use(rows, jobs, uses);
    report_explain(rows, jobs, rejections, report->campaign);
    report_add_devices(report->devices, conditions);
    move_rows(report->rows, rows);
    return true;
}

static bool read_rows(Store *store, struct report *report, GError **error)
{
    struct problem_part part = PROBLEM_PART_BEGIN;
    while (part.last != INT64_MAX) {
        if (!store_next_problems(store, report->campaign->id, report_part_jobs, &part, error) ||
            !read_part(store, report, &part, error))
            return false;
    }
    return true;
}

/* Reads a foreign campaign, which has times and params of other people's measurements, and no
 * rounds. */
static bool read_foreign_rows(Store *store, struct report *report, GError **error)
{
    return store_each_foreign(store, report->campaign->id, add_foreign_row, report->rows, error);
}

static void finish_rows(struct report *report)
{
    g_array_sort(report->rows, compare_rows);
    report->totals = report_sum(report->rows);
    report->missing = report_missing(report->rows);
}

struct report *report_new(Store *store, int64_t campaign, GError **error)
{
    struct report *report = g_new0(struct report, 1);
    report->rows = new_rows();
    report->devices = g_array_new(FALSE, TRUE, sizeof(struct job_conditions));
    report->campaign = store_get_campaign(store, campaign, error);
    bool known;
    bool foreign = report->campaign && campaign_is_foreign(report->campaign);
    bool built_only = report->campaign && report->campaign->build_only;
    if (report->campaign && (foreign ? read_foreign_rows : read_rows)(store, report, error) &&
        (!built_only || (report->built = report_built_new(store, campaign, error))) &&
        store_count_outcomes(store, campaign, report->outcomes, error) &&
        store_progress(store, campaign, &report->progress, error) &&
        store_count_origins(store, campaign, &report->origins, &known, error) &&
        enter_read_notes(store, campaign, &report->notes, error)) {
        finish_rows(report);
        return report;
    }
    report_free(report);
    return NULL;
}

void report_free(struct report *report)
{
    if (!report)
        return;
    if (report->campaign)
        campaign_free(report->campaign);
    g_array_unref(report->rows);
    g_array_unref(report->devices);
    enter_notes_clear(&report->notes);
    table_free(report->missing);
    report_built_free(report->built);
    g_free(report);
}
