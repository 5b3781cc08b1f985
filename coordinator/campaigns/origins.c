#include "coordinator/campaigns/origins.h"

#include "coordinator/cli/cli.h"
#include "coordinator/plan/problem_text.h"
#include "solvers/problem/problem_key.h"

char *origins_text(const struct job_origins *origins)
{
    GString *text = g_string_new(NULL);
    bool told[JOB_REASON_COUNT] = {[JOB_REASON_ANSWERED] = true};
    for (;;) {
        int most = -1;
        for (int r = 0; r < JOB_REASON_COUNT; r++) {
            if (!told[r] && origins->jobs[r] > 0 &&
                (most < 0 || origins->jobs[r] > origins->jobs[most]))
                most = r;
        }
        if (most < 0)
            break;
        told[most] = true;
        g_string_append_printf(text, "%s%d %s", text->len > 0 ? ", " : "", origins->jobs[most],
                               job_reason_name((enum job_reason)most));
    }
    if (text->len == 0)
        g_string_append(text, "none");
    return g_string_free(text, FALSE);
}

void origins_say(const struct job_origins *origins)
{
    g_autofree char *text = origins_text(origins);
    cli_note("jobs to tune: %s\n", text);
    if (origins->configs > 0)
        cli_note(
            "%" G_GINT64_FORMAT
            " configs that earlier campaigns measured under the same stack are taken over, and "
            "not measured again\n",
            origins->configs);
    if (origins->drifted > 0)
        cli_note("%" G_GINT64_FORMAT
                 " configs are not, since the device drifted while they were measured\n",
                 origins->drifted);
}

json_t *origins_json(const struct job_origins *origins)
{
    json_t *object = json_object();
    for (int r = 0; r < JOB_REASON_COUNT; r++) {
        if (origins->jobs[r] > 0)
            json_object_set_new(object, job_reason_name((enum job_reason)r),
                                json_integer(origins->jobs[r]));
    }
    return object;
}

static const struct table_column job_columns[] = {
    {"job", "id", TABLE_INT, 0},
    {"problem", "problem", TABLE_TEXT, 0},
    {NULL, "key", TABLE_TEXT, 0},
    {"solver", "solver", TABLE_TEXT, 0},
    {"rev", "revision", TABLE_INT, 0},
    {"state", "state", TABLE_TEXT, 0},
    {"rounds", "rounds", TABLE_INT, 0},
    {"why", "reason", TABLE_TEXT, 0},
    {"campaign", "source", TABLE_INT, 0},
    {"taken over", "configs_taken", TABLE_INT, 0},
    {"ended by", "search_end", TABLE_TEXT, 0},
};

Table *origins_list_jobs(Store *store, int64_t campaign, GError **error)
{
    g_autoptr(GPtrArray) jobs = store_list_jobs(store, campaign, error);
    if (!jobs)
        return NULL;
    Table *table = table_new(job_columns, G_N_ELEMENTS(job_columns));
    for (guint i = 0; i < jobs->len; i++) {
        const struct job_row *job = g_ptr_array_index(jobs, i);
        g_autofree char *text = problem_text(&job->problem);
        char key[PROBLEM_KEY_MAX];
        table_int(table, job->id);
        table_text(table, text);
        table_text(table, problem_key(&job->problem, key));
        table_text(table, job->solver);
        table_int(table, job->revision);
        table_text(table, job->state);
        table_int(table, job->rounds);
        table_text(table, job_reason_name(job->reason));
        table_count(table, job->source > 0 ? job->source : -1);
        table_int(table, job->configs_taken);
        table_text(table, job->by_budget                      ? "budget"
                          : job->search_end != SEARCH_GOES_ON ? search_end_name(job->search_end)
                                                              : NULL);
    }
    return table;
}
