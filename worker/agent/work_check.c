#include "worker/agent/work_check.h"

#include <math.h>
#include <string.h>

#include "solvers/framework/strategy.h"
#include "worker/protocol/frames.h"

static char *check_solver(const struct job *job)
{
    const struct solver *solver = solver_find(job->solver);
    if (!solver)
        return g_strdup_printf("this program has no solver '%s'", job->solver);
    if (solver->revision != job->revision)
        return g_strdup_printf("this program has revision %d of %s, the job wants %d",
                               solver->revision, job->solver, job->revision);
    return NULL;
}

static char *check_final(const struct job *job)
{
    const struct final *final = job->final;
    for (int i = 0; final && i < final->count; i++) {
        const struct solver *solver = solver_find(final->solvers[i]);
        if (!solver || solver->revision != final->revisions[i])
            return g_strdup_printf("this program has no solver '%s' of revision %d",
                                   final->solvers[i], final->revisions[i]);
    }
    if (final && !(isfinite(final->seconds) && final->seconds > 0))
        return g_strdup_printf("its second measurement has %g s", final->seconds);
    return NULL;
}

static char *check_order(const struct job *job)
{
    if (strategy_find(job->strategy) < 0)
        return g_strdup_printf("its campaign's strategy '%s' is not known", job->strategy);
    if (job->configs_limit < 0 || job->close_configs < 0 || job->round_configs < 0 ||
        job->round_configs > ROUND_CONFIGS_MAX)
        return g_strdup_printf("its campaign wants rounds of %d configs, %d in all, or %d",
                               job->round_configs, job->configs_limit, job->close_configs);
    if (!(isfinite(job->search_seconds) && job->search_seconds >= 0 && job->min_gain >= 0 &&
          job->min_gain <= 100))
        return g_strdup_printf("its search ends after %g s, and at a gain of %g %%",
                               job->search_seconds, job->min_gain);
    if (!isfinite(job->best_ms) || job->best_ms < 0)
        return g_strdup_printf("the best time for its problem is %g ms", job->best_ms);
    return NULL;
}

bool work_check_time(const struct outcome *outcome)
{
    if (outcome->failure != FAILURE_NONE && outcome->failure != FAILURE_SLOW)
        return true;
    return outcome->n > 0 && isfinite(outcome->median_ms) && outcome->min_ms > 0 &&
           outcome->min_ms <= outcome->median_ms;
}

static char *check_rounds(const struct job *job)
{
    for (guint r = 0; r < job->rounds->len; r++) {
        const struct round *round = g_ptr_array_index(job->rounds, r);
        if (!job->final && round->number != (int)r)
            return g_strdup_printf("its round %u has the number %d", r, round->number);
        for (int i = 0; i < round->config_count; i++)
            if (!work_check_time(&round->outcomes[i]))
                return g_strdup_printf("config %d of its round %u has no time, and no failure", i,
                                       r);
    }
    return NULL;
}

char *work_check(const struct job *job, const struct target *target, enum pool pool)
{
    if (job->damage)
        return g_strdup(job->damage);
    if (!target)
        return g_strdup_printf("its target '%s' is not known", job->target);
    char *(*const checks[])(const struct job *) = {check_solver, check_final, check_order,
                                                   check_rounds};
    for (size_t i = 0; i < G_N_ELEMENTS(checks); i++) {
        char *why = checks[i](job);
        if (why)
            return why;
    }
    if (pool == POOL_EVAL && job->rounds->len == 0)
        return g_strdup("it is built, and has no round");
    return NULL;
}

bool work_check_kernel(const struct launch *launch, const struct target *target,
                       const struct kernel_row *row, GError **error)
{
    const struct {
        const char *what, *asked, *stored;
    } fields[] = {
        {"file", launch->file, row->file},
        {"entry", launch->entry, row->entry},
        {"options", launch->options, row->options},
        {"architecture", target->arch, row->arch},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(fields); i++) {
        if (strcmp(fields[i].asked, fields[i].stored) == 0)
            continue;
        g_set_error(error, WORKER_ERROR, WORKER_ERROR_INVALID,
                    "its kernel %.12s has another %s in the database than the solver asks for: "
                    "'%.200s', not '%.200s'",
                    row->key, fields[i].what, fields[i].stored, fields[i].asked);
        return false;
    }
    return true;
}
