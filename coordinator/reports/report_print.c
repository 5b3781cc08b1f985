/* How a report looks, for people and as JSON. */
#include "coordinator/campaigns/request.h"
#include "coordinator/cli/when.h"
#include "coordinator/plan/problem_text.h"
#include "coordinator/plan/progress.h"
#include "coordinator/reports/report.h"
#include "schema/results/store_foreign.h"
#include "schema/store/drift.h"
#include "schema/store/store_campaigns.h"
#include "solvers/problem/problem_key.h"

#include <math.h>
#include <string.h>

static const struct table_column columns[] = {
    {"x", "multiplicity", TABLE_INT, 0},
    {"problem", "problem", TABLE_TEXT, 0},
    {NULL, "key", TABLE_TEXT, 0},
    {"winner", "solver", TABLE_TEXT, 0},
    {"ms", "time_ms", TABLE_NUMBER, -4},
    {"+-%", "spread_percent", TABLE_NUMBER, 1},
    {"known%", "precision_percent", TABLE_NUMBER, 1},
    {"default", "default_ms", TABLE_NUMBER, -4},
    {"gain", "speedup", TABLE_NUMBER, 2},
    {NULL, "own_default_ms", TABLE_NUMBER, -4},
    {NULL, "naive_ms", TABLE_NUMBER, -4},
    {"GFLOP/s", "gflops", TABLE_NUMBER, -4},
    {NULL, "low_ms", TABLE_NUMBER, -6},
    {NULL, "high_ms", TABLE_NUMBER, -6},
    {NULL, "pack_ms", TABLE_NUMBER, -4},
    {NULL, "packed_bytes", TABLE_NUMBER, 0},
    {NULL, "drift", TABLE_NUMBER, 3},
    {NULL, "caches", TABLE_TEXT, 0},
    {NULL, "verified_share", TABLE_NUMBER, 3},
    {NULL, "proof_runs", TABLE_INT, 0},
    {NULL, "proof_kinds", TABLE_INT, 0},
    {NULL, "throttled", TABLE_TEXT, 0},
    {NULL, "sm_mhz_min", TABLE_NUMBER, 0},
    {NULL, "sm_mhz_max", TABLE_NUMBER, 0},
    {NULL, "temperature_c", TABLE_NUMBER, 0},
    {NULL, "power_w", TABLE_NUMBER, 0},
    {NULL, "locked_mhz", TABLE_NUMBER, 0},
    {NULL, "gpu_seconds", TABLE_NUMBER, -6},
    {NULL, "evaluation_seconds", TABLE_NUMBER, -6},
    {"config", "config", TABLE_TEXT, 0},
};

/* Adds a number to the table. 0, a number that the device did not report or that the row lacks, is shown as "-". */
static void cell_known(Table *table, double value)
{
    table_number(table, value > 0 ? value : NAN);
}

static void cells_conditions(Table *table, const struct report_row *row)
{
    const struct conditions *seen = &row->conditions;
    g_autofree char *held = conditions_throttle_text(seen->throttle & THROTTLE_MARKED);
    table_text(table, *held ? held : NULL);
    cell_known(table, seen->sm_mhz_min);
    cell_known(table, seen->sm_mhz_max);
    cell_known(table, seen->temperature_c);
    cell_known(table, seen->power_w);
    cell_known(table, seen->locked_mhz);
    cell_known(table, row->use.busy_seconds);
    cell_known(table, row->use.seconds);
}

/* Half the width of the interval of the winner's median, over the median; NAN if it was not measured a second time. */
static double precision(const struct report_row *row)
{
    return row->won && row->second && row->high_ms > 0
               ? (row->high_ms - row->low_ms) / 2 / row->time_ms
               : NAN;
}

static Table *row_table(const struct report *report)
{
    Table *table = table_new(columns, G_N_ELEMENTS(columns));
    for (guint i = 0; i < report->rows->len; i++) {
        const struct report_row *row = &g_array_index(report->rows, struct report_row, i);
        g_autofree char *text = problem_text(&row->problem);
        char key[PROBLEM_KEY_MAX];
        table_int(table, row->multiplicity);
        table_text(table, text);
        table_text(table, problem_key(&row->problem, key));
        table_text(table, row->won ? row->solver : NULL);
        table_number(table, row->time_ms);
        table_number(table, row->spread * 100);
        table_number(table, precision(row) * 100);
        table_number(table, row->default_ms);
        table_number(table, row->default_ms / row->time_ms);
        table_number(table, row->own_default_ms);
        table_number(table, row->naive_ms);
        table_number(table, row->gflops);
        cell_known(table, row->low_ms);
        cell_known(table, row->high_ms);
        cell_known(table, row->pack_ms);
        cell_known(table, (double)row->packed_bytes);
        cell_known(table, row->drift);
        table_text(table, row->caches == CACHES_COLD   ? "cold"
                          : row->caches == CACHES_WARM ? "warm"
                                                       : NULL);
        cell_known(table, row->verified_share);
        table_int(table, row->proof_runs);
        table_int(table, row->proof_kinds);
        cells_conditions(table, row);
        table_text(table, row->won ? row->config : NULL);
    }
    return table;
}

static void print_totals(const struct report_totals *totals, FILE *out)
{
    fprintf(out, "\nThe whole network (%d problems, %d layers):\n", totals->problems,
            totals->layers);
    if (totals->compared == 0) {
        fputs("  no problem has all the times to compare\n", out);
        return;
    }
    bool has_naive = isfinite(totals->naive_ms);
    g_autofree char *naive = table_significant(totals->naive_ms, 4);
    g_autofree char *untuned = table_significant(totals->default_ms, 4);
    g_autofree char *tuned = table_significant(totals->tuned_ms, 4);
    if (has_naive)
        fprintf(out, "  naive    %9s ms\n", naive);
    fprintf(out, "  default  %9s ms", untuned);
    if (has_naive)
        fprintf(out, "  %7.2fx", totals->naive_ms / totals->default_ms);
    fputs("   the solver estimated best, its default config\n", out);
    fprintf(out, "  tuned    %9s ms", tuned);
    if (has_naive)
        fprintf(out, "  %7.2fx", totals->naive_ms / totals->tuned_ms);
    fprintf(out, "   %.2fx over the default\n", totals->default_ms / totals->tuned_ms);
    if (totals->compared < totals->problems)
        fprintf(out, "  over the problems that have all %s times: %d of %d\n",
                has_naive ? "three" : "two", totals->compared, totals->problems);
}

static void print_missing(const struct report *report, FILE *out)
{
    if (table_rows(report->missing) == 0)
        return;
    fputs("\nTimes that are missing above:\n", out);
    table_print(report->missing, out);
}

static void print_without_winner(const struct report *report, FILE *out)
{
    if (report->totals.without_winner == 0 && report->notes.uncovered->len == 0)
        return;
    fputs("\nWithout a winner:\n", out);
    for (guint i = 0; i < report->rows->len; i++) {
        const struct report_row *row = &g_array_index(report->rows, struct report_row, i);
        char key[PROBLEM_KEY_MAX];
        if (!row->won)
            fprintf(out, "  %s (no config was verified)\n", problem_key(&row->problem, key));
    }
    for (guint i = 0; i < report->notes.uncovered->len; i++)
        fprintf(out, "  %s (no solver serves it)\n",
                (const char *)g_ptr_array_index(report->notes.uncovered, i));
}

static bool is_rejection(int failure)
{
    return failure != FAILURE_NONE && failure != FAILURE_PENDING && failure != FAILURE_SLOW;
}

static void print_outcomes(const struct report *report, FILE *out)
{
    int64_t rejected = 0;
    for (int i = 0; i < FAILURE_COUNT; i++)
        rejected += is_rejection(i) ? report->outcomes[i] : 0;
    fprintf(out,
            "\nConfigs: %" G_GINT64_FORMAT " verified and timed, %" G_GINT64_FORMAT
            " verified and dropped early as slower, %" G_GINT64_FORMAT " rejected\n",
            report->outcomes[FAILURE_NONE], report->outcomes[FAILURE_SLOW], rejected);
    for (int i = 0; i < FAILURE_COUNT; i++) {
        if (is_rejection(i) && report->outcomes[i] > 0)
            fprintf(out, "  %6" G_GINT64_FORMAT " %s\n", report->outcomes[i],
                    failure_name((enum failure)i));
    }
}

#define BUDGET_END_TEXT "the campaign's budget was spent"

static void print_search_ends(const struct progress *progress, FILE *out)
{
    int known = progress->ended_by_budget;
    for (int end = SEARCH_GOES_ON + 1; end < SEARCH_END_COUNT; end++)
        known += progress->search_ends[end];
    if (known == 0)
        return;
    fputs("Why searches of jobs ended:\n", out);
    for (int end = SEARCH_GOES_ON + 1; end < SEARCH_END_COUNT; end++)
        if (progress->search_ends[end] > 0)
            fprintf(out, "  %6d %s\n", progress->search_ends[end],
                    search_end_text((enum search_end)end));
    if (progress->ended_by_budget > 0)
        fprintf(out, "  %6d %s", progress->ended_by_budget, BUDGET_END_TEXT);
    if (progress->untried_by_budget > 0)
        fprintf(out, "; %d of them tried no config", progress->untried_by_budget);
    if (progress->ended_by_budget > 0)
        fputc('\n', out);
}

static void print_work(const struct report *report, FILE *out)
{
    const struct progress *progress = &report->progress;
    g_autofree char *spent = when_duration(progress->spent_seconds);
    g_autofree char *untried = progress->untried_by_budget > 0
                                   ? g_strdup_printf(", %d ended untried: the budget was spent",
                                                     progress->untried_by_budget)
                                   : NULL;
    fprintf(
        out,
        "Work: %d jobs (%d done, %d failed%s), %d with results taken over from earlier campaigns; "
        "%" G_GINT64_FORMAT " kernels compiled, %s\n",
        progress->jobs, progress->done - progress->untried_by_budget, progress->failed,
        untried ? untried : "", report->reused, progress->kernels_built, spent);
    if (report->origins.configs > 0)
        fprintf(out,
                "%" G_GINT64_FORMAT
                " configs of other jobs were measured by earlier campaigns, and taken over\n",
                report->origins.configs);
    g_autofree char *left_out = enter_left_out_text(report->notes.left_out);
    if (report->notes.left_out > 0)
        fprintf(out, "Not planned: %s\n", left_out);
    print_search_ends(progress, out);
}

/* Prints the note below the rows of a foreign campaign, which has neither totals nor work. */
static void print_foreign(const struct report *report, FILE *out)
{
    fprintf(out,
            "\n%d problems that somebody else measured: nothing of them was verified here.\n"
            "ms: the fastest solver's time; config: its perf config, where the files have it.\n",
            report->totals.problems);
}

static void print_built(const struct report *report, FILE *out)
{
    const struct progress *progress = &report->progress;
    g_autofree char *spent = when_duration(progress->spent_seconds);
    g_autofree char *left_out = enter_left_out_text(report->notes.left_out);
    report_built_print(report->built, out);
    fprintf(out, "\nWork: %d jobs (%d done, %d failed), %s\n", progress->jobs, progress->done,
            progress->failed, spent);
    if (report->notes.left_out > 0)
        fprintf(out, "Not planned: %s\n", left_out);
    for (guint i = 0; i < report->notes.uncovered->len; i++)
        fprintf(out, "No solver serves %s\n",
                (const char *)g_ptr_array_index(report->notes.uncovered, i));
}

/* Warns about winners whose round drifted, above the totals, which these times make doubtful. */
static void print_drifted(const struct report *report, FILE *out)
{
    const struct report_totals *totals = &report->totals;

    if (totals->drifted_results == 0)
        return;
    fprintf(out, "\nThe device drifted while %d kept results were measured, ",
            totals->drifted_results);
    if (totals->drifted == 0)
        fprintf(out, "none of them a winner:\n");
    else
        fprintf(out, "%d of the %d winners among them:\n", totals->drifted, totals->problems);
    fprintf(out,
            "their times are unsure, and no export takes them without --allow-drift. To measure "
            "them\nagain: skipjack campaign remeasure %" G_GINT64_FORMAT " --what unstable\n",
            report->campaign->id);
    for (guint i = 0; i < report->rows->len; i++) {
        const struct report_row *row = &g_array_index(report->rows, struct report_row, i);
        char key[PROBLEM_KEY_MAX];
        if (row->won && drift_is_large(row->drift))
            fprintf(out, "  %s, %s: the default config took %.2f times as long at the end\n",
                    problem_key(&row->problem, key), row->solver, row->drift);
    }
}

/* Names winners of which a part was compared: their other elements were written, and are finite. */
static void print_partial(const struct report *report, FILE *out)
{
    const struct report_totals *totals = &report->totals;
    if (totals->verified_in_part == 0)
        return;
    fprintf(
        out,
        "%d of %d winners were verified in part: of each tile, edge and corner some elements were "
        "compared, since a CPU computes the reference.\n",
        totals->verified_in_part, totals->problems);
    for (guint i = 0; i < report->rows->len; i++) {
        const struct report_row *row = &g_array_index(report->rows, struct report_row, i);
        char key[PROBLEM_KEY_MAX];
        if (row->won && report_is_partial(row))
            fprintf(out, "  %s, %s: %.3g %% of the result\n", problem_key(&row->problem, key),
                    row->solver, row->verified_share * 100);
    }
}

/* Says how many runs of the winners were compared, and names winners of which fewer were. */
static void print_proofs(const struct report *report, FILE *out)
{
    const struct report_totals *totals = &report->totals;
    int winners = totals->problems - totals->without_winner;
    if (winners == 0)
        return;
    fprintf(out, "%d of %d winners were verified by %d runs or more",
            winners - totals->briefly_proved, winners, RESULT_PROOF_RUNS);
    fputs(totals->briefly_proved > 0
              ? ".\nFewer runs of the others were compared, since a proof is bounded by time:\n"
              : ".\n",
          out);
    for (guint i = 0; i < report->rows->len; i++) {
        const struct report_row *row = &g_array_index(report->rows, struct report_row, i);
        char key[PROBLEM_KEY_MAX];
        if (report_is_briefly_proved(row))
            fprintf(out, "  %s, %s: %d runs on %d kinds of inputs\n",
                    problem_key(&row->problem, key), row->solver, row->proof_runs,
                    row->proof_kinds);
    }
}

static void print_packing(const struct report_totals *totals, FILE *out)
{
    if (totals->packed == 0)
        return;
    g_autofree char *ms = table_significant(totals->pack_ms, 4);
    g_autofree char *size =
        g_format_size_full((guint64)totals->packed_bytes, G_FORMAT_SIZE_IEC_UNITS);
    fprintf(
        out,
        "%d of %d winners read a packed filter. Packing, once for each layer's filter and no part "
        "of ms: %s ms in all; the packed filters: %s.\n",
        totals->packed, totals->problems, ms, size);
}

static gint compare_numbers(gconstpointer a, gconstpointer b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

/* The precision in the middle of those of all winners that have one. */
static double middle_precision(const struct report *report)
{
    g_autoptr(GArray) shares = g_array_new(FALSE, FALSE, sizeof(double));
    for (guint i = 0; i < report->rows->len; i++) {
        const struct report_row *row = &g_array_index(report->rows, struct report_row, i);
        double share = precision(row);
        if (isfinite(share))
            g_array_append_val(shares, share);
    }
    if (shares->len == 0)
        return NAN;
    g_array_sort(shares, compare_numbers);
    return g_array_index(shares, double, shares->len / 2);
}

static void print_second(const struct report *report, FILE *out)
{
    double middle = middle_precision(report);
    if (report->totals.second == 0)
        return;
    fprintf(
        out,
        "%d of %d winners were measured a second time, in turns with what came near them, and these times ship.\n"
        "known%%: half the interval of such a time; ",
        report->totals.second, report->totals.problems);
    fprintf(out, "half of them are known to %.1f %% or better.\n", middle * 100);
}

static void print_measured(const struct report *report, FILE *out)
{
    print_drifted(report, out);
    print_totals(&report->totals, out);
    print_missing(report, out);
    print_without_winner(report, out);
    print_outcomes(report, out);
    print_work(report, out);
    report_print_use(report, out);
    report_print_conditions(report, out);
    fputs(
        "\nms: median time of the winner; +-%: its interquartile range; default: the solver\n"
        "estimated best, with its default config; gain: default over ms. Every time is of a verified config.\n",
        out);
    print_second(report, out);
    print_packing(&report->totals, out);
    print_partial(report, out);
    print_proofs(report, out);
    if (report->totals.wide > 0)
        fprintf(
            out,
            "%d of %d winners spread by more than %.0f %%: other work ran beside them, so their "
            "times and gains are unsure.\n",
            report->totals.wide, report->totals.problems, REPORT_WIDE_SPREAD * 100);
}

static void print_overdue(const struct report *report, FILE *out)
{
    const struct progress *progress = &report->progress;
    g_autofree char *deadline = when_format(report->campaign->deadline_unix);
    if (strcmp(report->campaign->state, CAMPAIGN_OVERDUE) == 0)
        fprintf(out, "Its deadline, %s, passed when %d of its %d jobs were not done.\n\n", deadline,
                progress->jobs - progress->done - progress->failed, progress->jobs);
}

/* Prints which solvers were tried and under which limits: winners and gains are only those of these
 * solvers. */
static void print_limits(const struct campaign *campaign, FILE *out)
{
    g_autofree char *limits = context_limits_text(&campaign->limits);
    if (campaign->solvers[0])
        fprintf(out, "Solvers that were asked for: %s\n", campaign->solvers);
    if (limits)
        fprintf(out, "Limits: %s\n", limits);
    if (campaign->solvers[0] || limits)
        fputc('\n', out);
}

void report_print(const struct report *report, FILE *out)
{
    const struct campaign *campaign = report->campaign;
    bool foreign = campaign_is_foreign(campaign);
    fprintf(out, "Campaign %" G_GINT64_FORMAT "%s%s on %s, %s%s\n\n", campaign->id,
            campaign->name[0] ? " " : "", campaign->name, campaign->target,
            foreign ? FOREIGN_STRATEGY : campaign->state,
            report->built ? ": built, not measured" : "");
    print_overdue(report, out);
    print_limits(campaign, out);
    if (report->built) {
        print_built(report, out);
        return;
    }
    Table *table = row_table(report);
    table_print(table, out);
    table_free(table);
    (foreign ? print_foreign : print_measured)(report, out);
}

static json_t *totals_json(const struct report_totals *totals)
{
    return json_pack(
        "{s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:o, s:f, s:f, s:i, s:f, s:f}",
        "problems", totals->problems, "layers", totals->layers, "without_winner",
        totals->without_winner, "second_measurements", totals->second, "wide_spread", totals->wide,
        "throttled", totals->throttled, "drifted", totals->drifted, "drifted_results",
        totals->drifted_results, "verified_in_part", totals->verified_in_part, "briefly_proved",
        totals->briefly_proved, "compared", totals->compared, "naive_ms",
        isfinite(totals->naive_ms) ? json_real(totals->naive_ms) : json_null(), "default_ms",
        totals->default_ms, "tuned_ms", totals->tuned_ms, "packed", totals->packed, "pack_ms",
        totals->pack_ms, "packed_bytes", totals->packed_bytes);
}

static json_t *outcomes_json(const struct report *report)
{
    json_t *object = json_object();
    for (int i = 0; i < FAILURE_COUNT; i++) {
        if (report->outcomes[i] > 0)
            json_object_set_new(object, failure_name((enum failure)i),
                                json_integer(report->outcomes[i]));
    }
    return object;
}

/* Jobs by the name of what ended their search. */
static json_t *search_ends_json(const struct progress *progress)
{
    json_t *object = json_object();
    for (int end = SEARCH_GOES_ON + 1; end < SEARCH_END_COUNT; end++)
        json_object_set_new(object, search_end_name((enum search_end)end),
                            json_integer(progress->search_ends[end]));
    json_object_set_new(object, "budget", json_integer(progress->ended_by_budget));
    return object;
}

static json_t *work_json(const struct report *report)
{
    const struct progress *progress = &report->progress;
    return json_pack("{s:i, s:i, s:i, s:i, s:i, s:I, s:I, s:I, s:f, s:f, s:f, s:o}", "jobs",
                     progress->jobs, "done", progress->done, "untried", progress->untried_by_budget,
                     "failed", progress->failed, "reused", report->reused, "configs_taken",
                     (json_int_t)report->origins.configs, "kernels_built",
                     (json_int_t)progress->kernels_built, "configs_done",
                     (json_int_t)progress->configs_done, "spent_seconds", progress->spent_seconds,
                     "compile_seconds", progress->compile_seconds, "eval_seconds",
                     progress->eval_seconds, "search_ends", search_ends_json(progress));
}

json_t *report_json(const struct report *report)
{
    Table *table = row_table(report);
    json_t *uncovered = json_array();
    for (guint i = 0; i < report->notes.uncovered->len; i++)
        json_array_append_new(uncovered,
                              json_string(g_ptr_array_index(report->notes.uncovered, i)));
    json_t *json = json_pack(
        "{s:I, s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:i, s:b, s:o, s:o}", "campaign",
        (json_int_t)report->campaign->id, "name", report->campaign->name, "target",
        report->campaign->target, "state", report->campaign->state, "problems", table_json(table),
        "totals", totals_json(&report->totals), "outcomes", outcomes_json(report), "work",
        work_json(report), "uncovered", uncovered, "missing", table_json(report->missing),
        "left_out", report->notes.left_out, "foreign", campaign_is_foreign(report->campaign),
        "devices", report_conditions_json(report), "gpu", report_use_json(report));
    json_object_update_new(json, request_limits_json(report->campaign));
    if (report->built)
        json_object_set_new(json, "built", report_built_json(report->built));
    table_free(table);
    return json;
}
