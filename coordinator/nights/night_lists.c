#include "coordinator/nights/night_lists.h"

#include "coordinator/cli/table.h"
#include "coordinator/cli/when.h"
#include "coordinator/nights/plan/night_reasons.h"

#include <stdio.h>

static const struct table_column step_columns[] = {
    {"step", "step", TABLE_TEXT, 0},          {"began", "begun", TABLE_TEXT, 0},
    {NULL, "begun_unix", TABLE_INT, 0},       {NULL, "ended_unix", TABLE_INT, 0},
    {"took s", "took_seconds", TABLE_INT, 0}, {"tries", "tries", TABLE_INT, 0},
    {"failed", "failed", TABLE_YES, 0},       {"what it did", "detail", TABLE_TEXT, 0},
};

static Table *step_table(Store *store, const struct night *night, GError **error)
{
    g_autoptr(GPtrArray) steps = store_list_night_steps(store, night->id, error);
    if (!steps)
        return NULL;
    Table *table = table_new(step_columns, G_N_ELEMENTS(step_columns));
    for (guint i = 0; i < steps->len; i++) {
        const struct night_step *step = steps->pdata[i];
        g_autofree char *begun = when_text(step->begun_unix);
        table_text(table, night_state_name(step->step));
        table_text(table, begun);
        table_int(table, step->begun_unix);
        table_count(table, step->ended_unix ? step->ended_unix : -1);
        table_count(table, step->ended_unix ? step->ended_unix - step->begun_unix : -1);
        table_int(table, step->tries);
        table_yes(table, step->failed);
        table_text(table, step->detail);
    }
    return table;
}

static const struct table_column target_columns[] = {
    {"target", "target", TABLE_TEXT, 0},
    {"jobs", "jobs", TABLE_INT, 0},
    {"golden", "baseline", TABLE_INT, 0},
    {"campaign", "campaign", TABLE_INT, 0},
    {"backfill", "backfill_campaign", TABLE_INT, 0},
    {"reasons", "reasons", TABLE_TEXT, 0},
};

/* "4 new problem, 1 sample, 20 unchanged", from a plan's list of reasons. Free with g_free(). */
static char *reasons_text(const json_t *reasons)
{
    GString *text = g_string_new(NULL);
    size_t i;
    json_t *each;
    json_array_foreach (reasons, i, each) {
        const char *name = json_string_value(json_object_get(each, "reason"));
        g_string_append_printf(text, "%s%d %s", text->len > 0 ? ", " : "",
                               (int)json_integer_value(json_object_get(each, "pairs")),
                               name ? name : "");
    }
    return g_string_free(text, FALSE);
}

static Table *target_table(Store *store, const struct night *night, GError **error)
{
    g_autoptr(GPtrArray) targets = store_list_night_targets(store, night->id, error);
    if (!targets)
        return NULL;
    Table *table = table_new(target_columns, G_N_ELEMENTS(target_columns));
    for (guint i = 0; i < targets->len; i++) {
        const struct night_target *target = targets->pdata[i];
        json_t *reasons = json_object_get(target->plan, "reasons");
        g_autofree char *text = reasons_text(reasons);
        table_text(table, target->target);
        table_int(table, json_integer_value(json_object_get(target->plan, "jobs")));
        table_count(table, target->baseline ? target->baseline : -1);
        table_count(table, target->campaign ? target->campaign : -1);
        table_count(table, target->backfill_campaign ? target->backfill_campaign : -1);
        table_text_as(table, text, reasons ? json_incref(reasons) : json_array());
    }
    return table;
}

json_t *night_details_json(Store *store, const struct night *night, GError **error)
{
    Table *targets = target_table(store, night, error);
    Table *steps = targets ? step_table(store, night, error) : NULL;
    json_t *json = NULL;
    if (steps)
        json = json_pack(
            "{s:I, s:s, s:s, s:s, s:I, s:o, s:o, s:b, s:b, s:s, s:i, s:i, s:i, s:i, "
            "s:i, s:i, s:o, s:o, s:O}",
            "id", (json_int_t)night->id, "name", night->name, "night", night->date, "state",
            night_state_name(night->state), "begun_unix", (json_int_t)night->begun_unix,
            "ended_unix", night->ended_unix ? json_integer(night->ended_unix) : json_null(),
            "deadline_unix",
            night->deadline_unix ? json_integer(night->deadline_unix) : json_null(), "empty",
            night->empty, "is_running", night->is_running, "by", night->begun_by, "findings",
            night->findings, "jobs", night->jobs, "jobs_open", night->jobs_open, "jobs_done",
            night->jobs_done, "jobs_failed", night->jobs_failed, "jobs_unfinished",
            night->jobs_unfinished, "targets", table_json(targets), "steps", table_json(steps),
            "summary", night->summary);
    if (targets)
        table_free(targets);
    if (steps)
        table_free(steps);
    return json;
}

static void print_times(const struct night *night)
{
    g_autofree char *begun = when_text(night->begun_unix);
    g_autofree char *ended = night->ended_unix ? when_text(night->ended_unix) : NULL;
    g_autofree char *deadline = night->deadline_unix ? when_text(night->deadline_unix) : NULL;
    printf("  began %s", begun);
    if (ended)
        printf(", ended %s", ended);
    if (deadline)
        printf(", deadline %s", deadline);
    if (!ended)
        printf("; %s %s", night->is_running ? "run by" : "left by",
               night->begun_by[0] ? night->begun_by : "nobody");
    putchar('\n');
}

/* Prints each target's golden version and export, and the report. */
static void print_outcomes(const json_t *summary)
{
    static const char *const texts[] = {"golden_words", "export_folder", "export_words"};
    static const char *const titles[] = {"golden", "release", "not exported"};
    const char *target, *report = json_string_value(json_object_get(summary, "report"));
    json_t *outcome;
    json_object_foreach (json_object_get(summary, "outcomes"), target, outcome) {
        for (gsize i = 0; i < G_N_ELEMENTS(texts); i++) {
            const char *text = json_string_value(json_object_get(outcome, texts[i]));
            if (text)
                printf("%s, %s: %s\n", target, titles[i], text);
        }
    }
    if (report)
        printf("report: %s\n", report);
}

bool night_details_print(Store *store, const struct night *night, GError **error)
{
    Table *targets = target_table(store, night, error);
    Table *steps = targets ? step_table(store, night, error) : NULL;
    if (steps) {
        printf("night %s of %s (%" G_GINT64_FORMAT "): %s%s, %d findings\n", night->name,
               night->date, (gint64)night->id, night_state_name(night->state),
               night->empty ? ", nothing to do" : "", night->findings);
        print_times(night);
        printf("  %d jobs: %d done, %d failed, %d unfinished, %d open\n", night->jobs,
               night->jobs_done, night->jobs_failed, night->jobs_unfinished, night->jobs_open);
        table_section("Targets", targets);
        table_section("Steps", steps);
        print_outcomes(night->summary);
    }
    if (targets)
        table_free(targets);
    if (steps)
        table_free(steps);
    return steps != NULL;
}
