#include "worker/agent/work.h"

#include <math.h>
#include <string.h>

#include "schema/store/store_events.h"
#include "solvers/problem/problem_key.h"
#include "worker/agent/work_check.h"

/* Whether the quarantine row is about the work's solver, in the same revision: in another
 * revision the same text may be another config. */
static bool quarantine_concerns(const struct work *work, const struct quarantine_row *row)
{
    return strcmp(row->solver, work->job->solver) == 0 && row->revision == work->solver->revision &&
           strcmp(row->hash, solver_hash(work->solver)) == 0 &&
           strcmp(row->target, work->job->target) == 0 &&
           problem_equal(&row->problem, &work->job->problem);
}

static void fail_quarantined(struct work *work, const struct quarantine_row *row)
{
    struct perf_config config = {0};
    if (!work->round || work->job->final || !quarantine_concerns(work, row) ||
        !solver_config_parse(work->solver, &work->job->problem, &work->context, row->config_text,
                             &config, NULL))
        return;
    for (int i = 0; i < work->round->config_count; i++)
        if (work->round->outcomes[i].failure == FAILURE_PENDING &&
            perf_config_equal(&work->round->configs[i], &config))
            work_fail_config(work, i, row->failure, row->detail);
}

/* The configs of the job's prior. Texts that are no valid config of this job are skipped, since
 * the space of a near problem may differ. */
static GArray *read_prior(const struct work *work)
{
    GArray *prior = g_array_new(FALSE, FALSE, sizeof(struct perf_config));
    int count = 0;
    for (char **text = work->job->prior; text && *text; text++, count++) {
        struct perf_config config;
        if (solver_config_parse(work->solver, &work->job->problem, &work->context, *text, &config,
                                NULL))
            g_array_append_val(prior, config);
    }
    struct log_about about = work_about(work);
    if (count > 0)
        log_write(LEVEL_DEBUG, "prior_given", &about,
                  "%u of %d configs that won nearby are configs of it", prior->len, count);
    return prior;
}

/* Reads how configs did before. Skips texts of another form and configs that this job does not have. */
static GArray *read_attempts(const struct work *work)
{
    GArray *attempts = g_array_new(FALSE, FALSE, sizeof(struct tried_config));
    for (char **text = work->job->attempts; text && *text; text++) {
        struct tried_config tried = {0};
        g_auto(GStrv) parts = g_strsplit(*text, "@", 2);
        char *end;
        if (!parts[0] || !parts[1] ||
            !solver_config_parse(work->solver, &work->job->problem, &work->context, parts[0],
                                 &tried.config, NULL))
            continue;
        tried.time_ms = g_ascii_strtod(parts[1], &end);
        if (end != parts[1] && *end == '\0' && tried.time_ms > 0)
            g_array_append_val(attempts, tried);
    }
    return attempts;
}

void work_init(struct work *work, struct job *job, const struct target *target, enum pool pool,
               const GPtrArray *quarantine)
{
    char key[PROBLEM_KEY_MAX];
    *work = (struct work){.job = job, .solver = solver_find(job->solver), .pool = pool};
    work->refusal = work_check(job, target, pool);
    if (work->refusal)
        return;
    work->target = *target;
    context_init(&work->context, &work->target);
    context_set_limits(&work->context, &job->limits);
    work->key = g_strdup(problem_key(&job->problem, key));
    if (pool == POOL_EVAL)
        work->round = g_ptr_array_index(job->rounds, job->rounds->len - 1);
    for (guint i = 0; i < quarantine->len; i++)
        fail_quarantined(work, g_ptr_array_index(quarantine, i));
    work->prior = read_prior(work);
    work->attempts = read_attempts(work);
}

void work_clear(struct work *work)
{
    g_clear_pointer(&work->key, g_free);
    g_clear_pointer(&work->refusal, g_free);
    g_clear_pointer(&work->prior, g_array_unref);
    g_clear_pointer(&work->attempts, g_array_unref);
    g_clear_pointer(&work->job, job_free);
}

bool work_is_overdue(const struct work *work)
{
    return work->job->deadline_unix != 0 &&
           g_get_real_time() / G_USEC_PER_SEC >= work->job->deadline_unix;
}

struct log_about work_about(const struct work *work)
{
    return (struct log_about){
        .campaign = work->job->campaign,
        .job = work->job->id,
        .attempt = work->job->fence,
        .in_round = work->round != NULL,
        .round = work->round ? work->round->number : 0,
        .problem = work->key,
        .solver = work->job->solver,
    };
}

/* ---- search ---- */

/* Once the campaign's budget is spent, it needs one verified config of the problem, so a first round tries one. */
static int configs_in_round(const struct job *job)
{
    return job->budget_spent && job->rounds->len == 0 ? 1 : job->round_configs;
}

static void work_search(const struct work *work, double problem_ms, struct search *search)
{
    *search = (struct search){
        .solver = work->solver,
        .problem = &work->job->problem,
        .context = &work->context,
        .strategy = work->job->strategy,
        .seed = work->job->seed,
        .configs_limit = work->job->configs_limit,
        .close_configs = work->job->close_configs,
        .rival_ms = problem_ms,
        .search_seconds = work->job->search_seconds,
        .min_gain = work->job->min_gain,
        .round_configs = configs_in_round(work->job),
        .prior = work->prior,
        .attempts = work->attempts,
        .rounds = work->job->rounds,
        .quarantined = work->job->quarantined,
    };
}

double work_problem_ms(const struct work *work)
{
    return work->job->best_ms > 0 ? work->job->best_ms : INFINITY;
}

static void config_pending(struct round *round, int index, const struct perf_config *config)
{
    round->configs[index] = *config;
    round->outcomes[index] = (struct outcome){.failure = FAILURE_PENDING};
    if (!round->kernel_keys[index])
        round->kernel_keys[index] = g_strdup("");
}

static void default_config(const struct work *work, struct perf_config *config)
{
    *config = (struct perf_config){0};
    if (work->solver->default_config)
        work->solver->default_config(&work->job->problem, &work->context, config);
}

static bool has_config(const GArray *configs, const struct perf_config *config)
{
    for (guint i = 0; i < configs->len; i++)
        if (perf_config_equal(&g_array_index(configs, struct perf_config, i), config))
            return true;
    return false;
}

/* The configs that the job's wish lists, after the default config, which shows drift. A
 * quarantined default config is left out. */
static GArray *wished_configs(const struct work *work)
{
    GArray *configs = g_array_new(FALSE, FALSE, sizeof(struct perf_config));
    struct perf_config usual;
    default_config(work, &usual);
    if (!has_config(work->job->wish, &usual) && !has_config(work->job->quarantined, &usual))
        g_array_append_val(configs, usual);
    g_array_append_vals(configs, work->job->wish->data, work->job->wish->len);
    return configs;
}

static GArray *next_configs(const struct work *work)
{
    struct search search;
    int default_index;
    if (work->job->wish)
        return wished_configs(work);
    work_search(work, work_problem_ms(work), &search);
    return search_propose(&search, &default_index);
}

bool work_propose(struct work *work)
{
    g_autoptr(GArray) configs = next_configs(work);
    if (configs->len == 0)
        return false;
    struct round *round = round_new((int)configs->len);
    round->number = (int)work->job->rounds->len;
    round->remeasures = work->job->wish != NULL;
    for (guint i = 0; i < configs->len; i++)
        config_pending(round, (int)i, &g_array_index(configs, struct perf_config, i));
    g_ptr_array_add(work->job->rounds, round);
    work->round = round;
    return true;
}

bool work_more(const struct work *work, double problem_ms, enum search_end *end)
{
    struct search search;
    *end = SEARCH_GOES_ON;
    if (work->job->wish)
        return false;
    work_search(work, problem_ms, &search);
    *end = search_end_now(&search);
    return *end == SEARCH_GOES_ON;
}

int work_default_index(const struct work *work)
{
    struct perf_config config;
    if (work->job->final)
        return -1;
    default_config(work, &config);
    for (int i = 0; i < work->round->config_count; i++)
        if (perf_config_equal(&work->round->configs[i], &config))
            return i;
    return -1;
}

/* ---- solutions and their kernels ---- */

const struct solver *work_solver(const struct work *work, int index)
{
    return work->job->final ? solver_find(work->job->final->solvers[index]) : work->solver;
}

bool work_solve(struct work *work, int index, struct solution *solution)
{
    g_autoptr(GError) error = NULL;
    if (solver_solve(work_solver(work, index), &work->job->problem, &work->context,
                     &work->round->configs[index], solution, &error))
        return true;
    bool not_applicable = g_error_matches(error, SOLVERS_ERROR, SOLVERS_ERROR_NOT_APPLICABLE);
    work_fail_config(work, index,
                     not_applicable ? FAILURE_NOT_APPLICABLE : FAILURE_REFUSED_BY_CHECK,
                     error->message);
    return false;
}

static bool same_kernel(const struct launch *a, const struct launch *b)
{
    return strcmp(a->file, b->file) == 0 && strcmp(a->entry, b->entry) == 0 &&
           strcmp(a->options, b->options) == 0;
}

void work_launch_kernels(const struct solution *solution, int kernel_of[SOLUTION_LAUNCHES_MAX],
                         int *count)
{
    *count = 0;
    for (int i = 0; i < solution->launch_count; i++) {
        int earlier = 0;
        while (earlier < i && !same_kernel(&solution->launches[earlier], &solution->launches[i]))
            earlier++;
        kernel_of[i] = earlier < i ? kernel_of[earlier] : (*count)++;
    }
}

/* ---- outcomes ---- */

void work_fail_config(struct work *work, int index, enum failure failure, const char *detail)
{
    struct outcome *outcome = &work->round->outcomes[index];
    *outcome = (struct outcome){.failure = failure,
                                .build_seconds = outcome->build_seconds,
                                .eval_seconds = outcome->eval_seconds};
    g_free(work->round->details[index]);
    work->round->details[index] = g_strdup(detail);
}

void work_quarantine(struct work *work, int index)
{
    g_array_append_val(work->job->quarantined, work->round->configs[index]);
}

/* A verified config: its round in the job's history, and its index in that round. */
struct candidate {
    const struct round *round;
    int index;
};

static const struct outcome *candidate_outcome(const struct candidate *candidate)
{
    return &candidate->round->outcomes[candidate->index];
}

static gint compare_candidates(gconstpointer a, gconstpointer b)
{
    double left = candidate_outcome(a)->median_ms, right = candidate_outcome(b)->median_ms;
    return (left > right) - (left < right);
}

/* Whether the outcome of the round's config replaces its older ones. In a search it does if the
 * config was verified: the default config is measured in each round, and keeps its earlier time
 * if it fails once. In a round that measures configs again to confirm them, a failure counts,
 * too. */
static bool is_verdict(const struct round *round, int index)
{
    enum failure failure = round->outcomes[index].failure;
    return failure == FAILURE_NONE || (round->remeasures && failure != FAILURE_PENDING);
}

/* All verified configs, fastest first, each with its newest measurement. The fastest measurement
 * would not do: a lucky one could never be corrected. */
static GArray *candidates(const struct work *work)
{
    GArray *found = g_array_new(FALSE, FALSE, sizeof(struct candidate));
    g_autoptr(GHashTable) judged = g_hash_table_new(config_hash, config_equal);
    for (guint r = work->job->rounds->len; r > 0; r--) {
        const struct round *round = g_ptr_array_index(work->job->rounds, r - 1);
        for (int i = 0; i < round->config_count; i++) {
            struct candidate candidate = {.round = round, .index = i};
            if (!is_verdict(round, i) || !g_hash_table_add(judged, &round->configs[i]))
                continue;
            if (round->outcomes[i].failure == FAILURE_NONE)
                g_array_append_val(found, candidate);
        }
    }
    g_array_sort(found, compare_candidates);
    return found;
}

double work_best_ms(const struct work *work)
{
    g_autoptr(GArray) found = candidates(work);
    return found->len ? candidate_outcome(&g_array_index(found, struct candidate, 0))->median_ms
                      : 0;
}

static void clear_kept(gpointer data)
{
    kept_clear(data);
}

static void kept_add(struct work *work, GArray *all, const struct candidate *candidate,
                     bool is_default)
{
    char text[CONFIG_TEXT_MAX];
    const struct perf_config *config = &candidate->round->configs[candidate->index];
    struct kept kept = {.config = *config, .is_default = is_default};
    struct solution solution;
    /* This program's solver refuses a config that an older one accepted: it is not kept. */
    if (!solver_solve(work->solver, &work->job->problem, &work->context, config, &solution, NULL))
        return;
    kept.config_text = g_strdup(perf_config_format(config, text));
    kept.kernel_keys = g_strdup(candidate->round->kernel_keys[candidate->index]);
    kept.outcome = *candidate_outcome(candidate);
    kept.workspace_bytes = solution.workspace_bytes;
    kept.packed_bytes = solution.packed_bytes;
    kept.flops = solution.flops;
    g_array_append_val(all, kept);
}

GArray *work_kept(struct work *work)
{
    GArray *all = g_array_new(FALSE, TRUE, sizeof(struct kept));
    g_array_set_clear_func(all, clear_kept);
    g_autoptr(GArray) found = candidates(work);
    struct perf_config usual;
    default_config(work, &usual);
    for (guint i = 0; i < found->len; i++) {
        const struct candidate *candidate = &g_array_index(found, struct candidate, i);
        const struct perf_config *config = &candidate->round->configs[candidate->index];
        bool is_default = perf_config_equal(config, &usual);
        bool is_wished = work->job->wish_keeps_all && has_config(work->job->wish, config);
        if (all->len < WORK_KEPT_BEST || is_default || is_wished)
            kept_add(work, all, candidate, is_default);
    }
    return all;
}

struct round *work_copy_round(const struct round *round)
{
    struct round *copy = round_new(round->config_count);
    copy->number = round->number;
    copy->drift = round->drift;
    copy->caches = round->caches;
    copy->verified_share = round->verified_share;
    copy->remeasures = round->remeasures;
    copy->beyond_limit = round->beyond_limit;
    g_free(copy->stack);
    copy->stack = g_strdup(round->stack);
    for (int i = 0; i < round->config_count; i++) {
        copy->configs[i] = round->configs[i];
        copy->outcomes[i] = round->outcomes[i];
        g_free(copy->kernel_keys[i]);
        copy->kernel_keys[i] = g_strdup(round->kernel_keys[i]);
        g_free(copy->details[i]);
        copy->details[i] = g_strdup(round->details[i]);
    }
    return copy;
}

char *work_summary(const struct work *work)
{
    int ok = 0, slow = 0, rejected = 0;
    double best_ms = work_best_ms(work);
    for (int i = 0; i < work->round->config_count; i++) {
        enum failure failure = work->round->outcomes[i].failure;
        ok += failure == FAILURE_NONE;
        slow += failure == FAILURE_SLOW;
        rejected += failure != FAILURE_NONE && failure != FAILURE_SLOW;
    }
    g_autofree char *dropped = slow ? g_strdup_printf(", %d dropped as slow", slow) : g_strdup("");
    if (best_ms <= 0)
        return g_strdup_printf("%d ok%s, %d rejected", ok, dropped, rejected);
    return g_strdup_printf("%d ok%s, %d rejected, best %.4g ms", ok, dropped, rejected, best_ms);
}
