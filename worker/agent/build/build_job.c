#include "worker/agent/build/build_job.h"

#include "worker/agent/build/build_pool.h"
#include "worker/agent/build/build_target.h"
#include "worker/agent/build/compilation.h"
#include "worker/agent/build/own_code.h"
#include "worker/agent/work_check.h"

/* ---- the end of the job's claim ---- */

bool build_job_is_ending(const struct build_job *job)
{
    return job->state >= BUILD_JOB_ENDING;
}

static void build_job_answered(struct agent *agent, void *data, const GError *error)
{
    struct build_job *job = data;
    bool is_refused = agent_ends_job(error) && job->state != BUILD_JOB_RELEASING;
    if (error && !is_refused)
        agent_refused(agent, &job->work, error);
    build_job_move(job, is_refused ? BUILD_JOB_REFUSED : BUILD_JOB_ENDED, error);
}

/* Fails the job with the reason, since its row in the database, or the round that was handed in,
 * is invalid. */
static void call_refuse(struct build_job *job, const char *why)
{
    struct agent *agent = job->builder->agent;
    struct log_about about = work_about(&job->work);
    log_write(LEVEL_ERROR, "job_refused", &about,
              "job %" G_GINT64_FORMAT " of %s: refused by check: %s", (gint64)about.job,
              about.solver, why);
    call_event(agent, "job refused", &job->work, why);
    call_fail_job(agent, &job->work, FAILURE_REFUSED_BY_CHECK, why, build_job_answered, job);
}

static void fail_refused(void *object, const void *detail)
{
    const GError *error = detail;
    call_refuse(object, error->message);
}

static void release_refused(void *object, const void *detail)
{
    struct build_job *job = object;
    (void)detail;
    call_release_job(job->builder->agent, &job->work, build_job_answered, job);
}

static void free_job(void *object, const void *detail)
{
    struct build_job *job = object;
    struct agent *agent = job->builder->agent;
    (void)detail;
    g_ptr_array_remove_fast(job->builder->jobs, job);
    work_clear(&job->work);
    g_free(job);
    agent_changed(agent);
}

void build_job_release(struct build_job *job)
{
    if (build_job_is_ending(job))
        return;
    build_job_move(job, BUILD_JOB_END, NULL);
    call_release_job(job->builder->agent, &job->work, build_job_answered, job);
}

/* Stores the job's round as built, when none of its configs waits for a kernel any more. */
static void build_job_store(struct build_job *job)
{
    struct agent *agent = job->builder->agent;
    struct round *round = job->work.round;
    for (int i = 0; i < round->config_count; i++) {
        if (round->outcomes[i].failure == FAILURE_PENDING)
            continue;
        g_free(round->kernel_keys[i]);
        round->kernel_keys[i] = g_strdup("");
    }
    build_job_move(job, BUILD_JOB_END, NULL);
    call_built(agent, &job->work, job->seconds / (double)job->builder->children->len,
               build_job_answered, job);
}

static void build_job_end_without_round(struct build_job *job)
{
    struct agent *agent = job->builder->agent;
    enum search_end end;
    build_job_move(job, BUILD_JOB_END, NULL);
    if (job->work.job->rounds->len > 0) {
        work_more(&job->work, work_problem_ms(&job->work), &end);
        call_finish_job(agent, &job->work, end, build_job_answered, job);
    } else
        call_fail_job(agent, &job->work, FAILURE_REFUSED_BY_CHECK,
                      "every config of its space is quarantined", build_job_answered, job);
}

/* ---- making a round's kernels ---- */

/* A config's solution and the first launch of each distinct kernel of it, with the kernels'
 * keys. */
struct recipe {
    struct solution solution;
    int count;
    const struct launch *launches[SOLUTION_LAUNCHES_MAX];
    char hashes[SOLUTION_LAUNCHES_MAX][PROGRAM_HASH_LENGTH + 1];
    char keys[SOLUTION_LAUNCHES_MAX][KERNEL_KEY_LENGTH + 1];
};

static bool recipe_make(struct build_job *job, int index, struct recipe *recipe)
{
    const struct build_target *build_target = job->build_target;
    int kernel_of[SOLUTION_LAUNCHES_MAX];
    if (!work_solve(&job->work, index, &recipe->solution))
        return false;
    work_launch_kernels(&recipe->solution, kernel_of, &recipe->count);
    for (int i = recipe->solution.launch_count - 1; i >= 0; i--)
        recipe->launches[kernel_of[i]] = &recipe->solution.launches[i];
    for (int i = 0; i < recipe->count; i++) {
        g_autoptr(GError) error = NULL;
        if (!program_hash(recipe->launches[i]->file, &build_target->target, recipe->hashes[i],
                          &error)) {
            work_fail_config(&job->work, index, FAILURE_REFUSED_BY_CHECK, error->message);
            return false;
        }
        kernel_key(recipe->hashes[i], recipe->launches[i], &build_target->target,
                   build_target->toolchain, build_target->version, recipe->keys[i]);
    }
    return true;
}

static char *recipe_keys(const struct recipe *recipe)
{
    GString *joined = g_string_new(NULL);
    for (int i = 0; i < recipe->count; i++)
        g_string_append_printf(joined, "%s%s", i ? "," : "", recipe->keys[i]);
    return g_string_free(joined, FALSE);
}

/* Returns false and fails the config if the database has a kernel with the config's key, but
 * with another source or other options. The stored kernel is not replaced. */
static bool recipe_check(struct build_job *job, int index, const struct recipe *recipe,
                         GHashTable *known)
{
    for (int i = 0; i < recipe->count; i++) {
        g_autoptr(GError) error = NULL;
        const struct kernel_row *row = g_hash_table_lookup(known, recipe->keys[i]);
        if (!row || work_check_kernel(recipe->launches[i], &job->build_target->target, row, &error))
            continue;
        work_fail_config(&job->work, index, FAILURE_REFUSED_BY_CHECK, error->message);
        return false;
    }
    return true;
}

static void config_compile(struct build_job *job, int index, const struct recipe *recipe,
                           GHashTable *known)
{
    struct builder *builder = job->builder;
    for (int i = 0; i < recipe->count; i++) {
        struct waiting_config config = {job, index, recipe->launches[i]->local_bytes};
        const struct kernel_row *row = g_hash_table_lookup(known, recipe->keys[i]);
        struct compilation *compilation =
            g_hash_table_lookup(builder->compilations, recipe->keys[i]);
        job->missing++;
        if (row || (compilation && compilation->over)) {
            waiting_config_receive(&config, row ? row : &compilation->row, 0);
            continue;
        }
        if (!compilation)
            compilation =
                compilation_new(job, recipe->launches[i], recipe->hashes[i], recipe->keys[i]);
        g_array_append_val(compilation->waiting, config);
    }
}

static void compile_missing(void *object, const void *detail)
{
    struct build_job *job = object;
    GHashTable *known = (GHashTable *)(uintptr_t)detail;
    struct recipe recipe;
    /* Starts at 1, and is lowered after the loop: otherwise the round could be stored while the
     * loop still adds kernels. */
    job->missing = 1;
    for (int i = 0; i < job->work.round->config_count; i++)
        if (job->work.round->outcomes[i].failure == FAILURE_PENDING &&
            recipe_make(job, i, &recipe) && recipe_check(job, i, &recipe, known))
            config_compile(job, i, &recipe, known);
    build_job_count_kernel(job);
    agent_schedule(job->builder->agent);
}

void build_job_count_kernel(struct build_job *job)
{
    g_assert(job->missing > 0);
    if (--job->missing == 0 && !build_job_is_ending(job))
        build_job_store(job);
}

static void kernels_looked_up(void *data, GHashTable *known)
{
    build_job_move(data, BUILD_JOB_LOOKED_UP, known);
}

/* Asks the database which of the round's kernels it has. */
static void look_up_kernels(void *object, const void *detail)
{
    struct build_job *job = object;
    g_autoptr(GHashTable) keys = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    struct recipe recipe;
    struct round *round = job->work.round;
    (void)detail;
    g_free(round->stack);
    round->stack =
        g_strdup_printf("%s %s", job->build_target->toolchain->name, job->build_target->version);
    for (int c = 0; c < round->config_count; c++) {
        if (!recipe_make(job, c, &recipe))
            continue;
        g_free(round->kernel_keys[c]);
        round->kernel_keys[c] = recipe_keys(&recipe);
        for (int i = 0; i < recipe.count; i++)
            g_hash_table_add(keys, g_strdup(recipe.keys[i]));
    }
    GPtrArray *list = g_ptr_array_new_with_free_func(g_free);
    GHashTableIter iter;
    gpointer key;
    g_hash_table_iter_init(&iter, keys);
    while (g_hash_table_iter_next(&iter, &key, NULL)) {
        g_ptr_array_add(list, key);
        g_hash_table_iter_steal(&iter);
    }
    call_known(job->builder->agent, list, kernels_looked_up, job);
}

void build_job_plan(struct build_job *job)
{
    if (work_propose(&job->work))
        build_job_move(job, BUILD_JOB_PLAN, NULL);
    else
        build_job_end_without_round(job);
}

/* ---- the table of the job's state machine ---- */

static const struct state_machine_name states[] = {BUILD_JOB_STATES(MACHINE_NAME)};
static const struct state_machine_name events[] = {BUILD_JOB_EVENTS(MACHINE_NAME)};

#define ROW(state, event, next) MACHINE_ROW(BUILD_JOB_##state, BUILD_JOB_##event, BUILD_JOB_##next)
#define ROW_DOES(state, event, next, action)                                                       \
    MACHINE_ROW_DOES(BUILD_JOB_##state, BUILD_JOB_##event, BUILD_JOB_##next, action)

/* A job that ends while its kernels are looked up still gets that answer first: the data lane
 * keeps the order of calls. */
static const struct state_machine_row rows[] = {
    ROW_DOES(WAITING, PLAN, LOOKING_UP, look_up_kernels),
    ROW(WAITING, END, ENDING),
    ROW_DOES(LOOKING_UP, LOOKED_UP, BUILDING, compile_missing),
    ROW(LOOKING_UP, END, ENDING),
    ROW(BUILDING, END, ENDING),
    ROW(ENDING, LOOKED_UP, ENDING),
    ROW_DOES(ENDING, ENDED, GONE, free_job),
    ROW_DOES(ENDING, REFUSED, FAILING, fail_refused),
    ROW_DOES(FAILING, ENDED, GONE, free_job),
    ROW_DOES(FAILING, REFUSED, RELEASING, release_refused),
    ROW_DOES(RELEASING, ENDED, GONE, free_job),
};

const struct state_machine build_job_machine = MACHINE_INIT("build job", states, events, rows);

void build_job_move(struct build_job *job, enum build_job_event event, const void *detail)
{
    struct log_about about = work_about(&job->work);
    const struct state_machine_row *row =
        state_machine_move(&build_job_machine, NULL, &about, (int)job->state, (int)event);
    job->state = (enum build_job_state)row->next;
    if (row->action)
        row->action(job, detail);
}

void build_job_take(Builder *builder, struct claimed *claimed)
{
    struct build_job *job = g_new0(struct build_job, 1);
    struct job *stored = g_ptr_array_steal_index(claimed->jobs, 0);
    const struct target *target = g_hash_table_lookup(claimed->targets, stored->target);
    job->builder = builder;
    work_init(&job->work, stored, target, POOL_BUILD, claimed->quarantine);
    g_ptr_array_add(builder->jobs, job);
    if (job->work.refusal) {
        build_job_move(job, BUILD_JOB_END, NULL);
        call_refuse(job, job->work.refusal);
        return;
    }
    job->build_target = build_target_get(builder, target, stored->stack);
    if (!stored->build_only)
        own_code_want(builder->agent, target, OWN_JUDGE);
    if (job->build_target->refusal || !agent_is_working(builder->agent))
        build_job_release(job);
    else if (job->build_target->version)
        build_job_plan(job);
}
