#include "coordinator/network/autotune/tuning.h"

#include "coordinator/campaigns/enter.h"
#include "coordinator/campaigns/origins.h"
#include "coordinator/cli/cli.h"
#include "coordinator/plan/plan.h"
#include "coordinator/process/process.h"
#include "schema/results/store_results.h"
#include "schema/server/database.h"

#include <math.h>
#include <string.h>

struct choice *choice_copy(const struct choice *choice)
{
    struct choice *copy = g_memdup2(choice, sizeof *choice);
    copy->solver = g_strdup(choice->solver);
    copy->config = g_strdup(choice->config);
    return copy;
}

void choice_free(struct choice *choice)
{
    if (!choice)
        return;
    g_free(choice->solver);
    g_free(choice->config);
    g_free(choice);
}

bool tuning_open(struct tuning *tuning, const struct request *base, const char *log, GError **error)
{
    *tuning = (struct tuning){.base = base, .log = log};
    tuning->choices = problem_table_new((GDestroyNotify)choice_free);
    if (!machine_probe(&tuning->machine, error) ||
        !machine_check_target(&tuning->machine, base->target, "autotune", error))
        return false;
    tuning->store = database_open(false, error);
    return tuning->store != NULL;
}

void tuning_clear(struct tuning *tuning)
{
    g_clear_pointer(&tuning->choices, g_hash_table_unref);
    machine_clear(&tuning->machine);
    store_close(tuning->store);
    tuning->store = NULL;
}

const struct choice *tuning_choice(const struct tuning *tuning, const struct problem *problem)
{
    return g_hash_table_lookup(tuning->choices, problem);
}

/* ---- results ---- */

static void keep_best(struct tuning *tuning, const struct result *result)
{
    const struct choice *known = tuning_choice(tuning, &result->problem);
    if (known && known->median_ms <= result->kept.outcome.median_ms)
        return;
    struct choice *choice = g_new0(struct choice, 1);
    choice->problem = result->problem;
    choice->solver = g_strdup(result->solver);
    choice->config = g_strdup(result->kept.config_text);
    choice->revision = result->revision;
    choice->workspace_bytes = (int64_t)result->kept.workspace_bytes;
    choice->median_ms = result->kept.outcome.median_ms;
    choice->spread = result->kept.outcome.spread;
    g_hash_table_replace(tuning->choices, &choice->problem, choice);
}

static bool read_results(struct tuning *tuning, int64_t campaign, GError **error)
{
    GPtrArray *results = store_list_results(tuning->store, campaign, error);
    if (!results)
        return false;
    for (guint i = 0; i < results->len; i++) {
        const struct result *result = g_ptr_array_index(results, i);
        if (result->kept.outcome.median_ms > 0 && solver_find(result->solver))
            keep_best(tuning, result);
    }
    g_ptr_array_unref(results);
    return true;
}

/* ---- the campaign ---- */

static GArray *missing_problems(const struct tuning *tuning, const GArray *problems)
{
    GArray *missing = g_array_new(FALSE, TRUE, sizeof(struct plan_problem));
    for (guint i = 0; i < problems->len; i++) {
        const struct plan_problem *problem = &g_array_index(problems, struct plan_problem, i);
        if (!tuning_choice(tuning, &problem->problem))
            plan_add_problem(missing, &problem->problem, problem->multiplicity);
    }
    plan_merge_problems(missing);
    return missing;
}

static enum supervise_end work(struct tuning *tuning, const struct entered *entered, GError **error)
{
    struct watch watch;
    if (strcmp(entered->campaign->state, "paused") == 0 &&
        !store_change_campaign(tuning->store, entered->campaign->id, "resume", error))
        return SUPERVISE_FAILED;
    if (!watch_init(&watch, tuning->store, entered->campaign->id, error))
        return SUPERVISE_FAILED;
    return supervise_worker(&watch, tuning->log, error);
}

enum supervise_end tuning_run(struct tuning *tuning, const char *name, const GArray *problems,
                              GError **error)
{
    struct request request = *tuning->base;
    struct entered entered = {0};
    enum supervise_end end = SUPERVISE_FAILED;
    g_autoptr(GArray) missing = missing_problems(tuning, problems);
    if (missing->len == 0)
        return SUPERVISE_DONE;
    request.name = (char *)(uintptr_t)name;
    GError *why = NULL;
    /* A Ctrl-C that comes once the campaign is entered waits for the supervisor, which says how to go on. */
    process_block_signals();
    bool is_entered =
        enter_campaign(tuning->store, &request, &tuning->machine, missing, &entered, &why);
    if (g_error_matches(why, COORDINATOR_ERROR, COORDINATOR_ERROR_EMPTY)) {
        /* No solver that is asked for serves any of them: they stay without a choice. */
        g_clear_error(&why);
        end = SUPERVISE_DONE;
    } else if (!is_entered) {
        g_propagate_error(error, why);
    } else {
        cli_note("campaign %" G_GINT64_FORMAT " ('%s'): %u problems, %d jobs, %d of them with "
                 "results of earlier campaigns\n",
                 entered.campaign->id, name, missing->len, entered.campaign->jobs, entered.reused);
        entered_say_missing(&entered);
        end = strcmp(entered.campaign->state, "done") == 0 ? SUPERVISE_DONE
                                                           : work(tuning, &entered, error);
        if (end != SUPERVISE_FAILED && !read_results(tuning, entered.campaign->id, error))
            end = SUPERVISE_FAILED;
    }
    if (end != SUPERVISE_INTERRUPTED)
        process_unblock_signals();
    entered_clear(&entered);
    return end;
}
