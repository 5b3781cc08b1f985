/*
 * Each row of each state machine of the agent, made once with its action: on objects that are set up in the row's
 * state, in a process of its own, without a database. Calls to it wait in their lanes.
 */
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "schema/store/store_workers.h"
#include "tests/support/temp_folder.h"
#include "worker/agent/build/agent_build_child.h"
#include "worker/agent/build/build_job.h"
#include "worker/agent/build/build_pool.h"
#include "worker/agent/build/build_target.h"
#include "worker/agent/build/compilation.h"
#include "worker/agent/build/own_code.h"
#include "worker/agent/build/rebuild.h"
#include "worker/agent/eval/evaluator.h"
#include "worker/protocol/protocol.h"

#define SOLVER  "ConvDirectNaive"
#define TARGET  "cpu-znver4_2"
#define VERSION "1"

static const char *scratch;

/* ---- an agent ---- */

static void signalled(uv_signal_t *handle, int number)
{
    (void)handle;
    (void)number;
}

static void free_evaluator(gpointer evaluator)
{
    evaluator_free(evaluator);
}

static struct agent *make_agent(enum agent_state state)
{
    static struct agent_options options = {
        .build = 1, .lease_seconds = 60, .compile_timeout_seconds = 60, .run_timeout_seconds = 60};
    static const struct lane_spec lane = {.url = "host=/nowhere", .patience_seconds = 60};
    static char *none[] = {NULL};
    struct agent *agent = g_new0(struct agent, 1);
    uv_timer_t *timers[] = {&agent->wake,     &agent->poll,   &agent->beat,
                            &agent->patience, &agent->window, &agent->room};
    agent->options = &options;
    agent->state = state;
    agent->scratch = g_strdup(scratch);
    agent->node = agent->process = g_strdup("test");
    agent->solvers = agent->buildable = none;
    agent->worker = 1;
    uv_loop_init(&agent->loop);
    for (size_t i = 0; i < G_N_ELEMENTS(timers); i++) {
        uv_timer_init(&agent->loop, timers[i]);
        timers[i]->data = agent;
    }
    signal_watch_start(&agent->signals, &agent->loop, signalled, agent);
    agent->data = lane_new(&agent->loop, &lane);
    agent->control = lane_new(&agent->loop, &lane);
    agent->builder = builder_new(agent, 1);
    agent->builder->stack = g_strdup("");
    agent->evaluators = g_ptr_array_new_with_free_func(free_evaluator);
    agent->refusals = g_hash_table_new(g_str_hash, g_str_equal);
    agent->own_codes = own_codes_new();
    agent->best_ms = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    return agent;
}

static bool agent_walks(const struct state_machine_row *row)
{
    struct agent *agent = make_agent((enum agent_state)row->state);
    agent_move(agent, (enum agent_event)row->event);
    return (int)agent->state == row->next;
}

/* ---- claimed jobs ---- */

static void clear_round(gpointer round)
{
    round_free(round);
}

/* The answer to a claim of one job. An eval claim has one open round, of the default config. */
static struct claimed make_claimed(enum pool pool)
{
    const struct solver *solver = solver_find(SOLVER);
    struct claimed claimed = {.jobs = g_ptr_array_new(), .quarantine = g_ptr_array_new()};
    struct target *target = g_new0(struct target, 1);
    struct job *job = g_new0(struct job, 1);
    struct context context;
    g_assert_true(target_parse(TARGET, target, NULL));
    claimed.targets = g_hash_table_new(g_str_hash, g_str_equal);
    problem_init(&job->problem);
    job->campaign = job->id = 1;
    job->solver = g_strdup(SOLVER);
    job->revision = solver->revision;
    job->target = g_strdup(TARGET);
    job->strategy = g_strdup("random");
    job->stack = g_strdup("");
    job->configs_limit = job->round_configs = 1;
    job->rounds = g_ptr_array_new_with_free_func(clear_round);
    job->quarantined = g_array_new(FALSE, TRUE, sizeof(struct perf_config));
    if (pool == POOL_EVAL) {
        struct round *round = round_new(1);
        context_init(&context, target);
        solver->default_config(&job->problem, &context, &round->configs[0]);
        round->kernel_keys[0] = g_strdup("");
        g_ptr_array_add(job->rounds, round);
    }
    g_hash_table_insert(claimed.targets, job->target, target);
    g_ptr_array_add(claimed.jobs, job);
    return claimed;
}

static Evaluator *make_evaluator(struct agent *agent)
{
    Evaluator *evaluator = evaluator_new(agent, "cpu");
    g_assert_true(target_parse(TARGET, &evaluator->target, NULL));
    evaluator->stack = g_strdup("");
    evaluator->known = true;
    g_ptr_array_add(agent->evaluators, evaluator);
    return evaluator;
}

static struct eval_job *make_eval_job(Evaluator *evaluator, enum eval_job_state state)
{
    struct claimed claimed = make_claimed(POOL_EVAL);
    struct eval_job *job = eval_job_new(evaluator, &claimed);
    g_assert_null(job->work.refusal);
    job->state = state;
    return job;
}

static struct build_job *make_build_job(struct agent *agent, enum build_job_state state)
{
    struct claimed claimed = make_claimed(POOL_BUILD);
    build_job_take(agent->builder, &claimed);
    struct build_job *job = g_ptr_array_index(agent->builder->jobs, 0);
    g_assert_null(job->work.refusal);
    job->build_target->toolchain = toolchain_find("opencl");
    job->build_target->version = g_strdup(VERSION);
    g_assert_true(work_propose(&job->work));
    job->state = state;
    return job;
}

/* ---- jobs ---- */

/* True if the row ends the job: the job has been freed, and is not in its pool. */
static bool build_job_walks(const struct state_machine_row *row)
{
    struct agent *agent = make_agent(AGENT_WORKING);
    struct build_job *job = make_build_job(agent, (enum build_job_state)row->state);
    g_autoptr(GError) error = g_error_new_literal(STORE_ERROR, STORE_ERROR_REFUSED, "refused");
    g_autoptr(GHashTable) kernels = g_hash_table_new(g_str_hash, g_str_equal);
    bool looks_up = row->event == BUILD_JOB_LOOKED_UP;
    build_job_move(job, (enum build_job_event)row->event,
                   looks_up ? (const void *)kernels : (const void *)error);
    if (row->next == BUILD_JOB_GONE)
        return agent->builder->jobs->len == 0;
    return (int)job->state == row->next;
}

static bool eval_job_walks(const struct state_machine_row *row)
{
    struct agent *agent = make_agent(AGENT_WORKING);
    Evaluator *evaluator = make_evaluator(agent);
    struct eval_job *job = make_eval_job(evaluator, (enum eval_job_state)row->state);
    g_autoptr(GError) error = g_error_new_literal(STORE_ERROR, STORE_ERROR_REFUSED, "refused");
    g_autoptr(GHashTable) kernels = g_hash_table_new(g_str_hash, g_str_equal);
    bool fetches = row->event == EVAL_JOB_FETCHED;
    if (row->state >= EVAL_JOB_CHECKING && row->state < EVAL_JOB_ENDING) {
        evaluator->current = job;
        evaluator->state = EVALUATOR_PREPARING;
    }
    evaluator->ending_jobs = eval_job_is_ending(job);
    eval_job_move(job, (enum eval_job_event)row->event,
                  fetches ? (const void *)kernels : (const void *)error);
    if (row->next == EVAL_JOB_GONE)
        return evaluator->ending_jobs == 0;
    if (row->next == EVAL_JOB_ENDING)
        g_assert_true(evaluator->ending_jobs == 1 && evaluator->current == NULL);
    return (int)job->state == row->next;
}

static bool evaluator_walks(const struct state_machine_row *row)
{
    struct agent *agent = make_agent(AGENT_WORKING);
    Evaluator *evaluator = make_evaluator(agent);
    evaluator->state = (enum evaluator_state)row->state;
    if (row->state >= EVALUATOR_PREPARING && row->state <= EVALUATOR_STOPPED &&
        row->event != EVALUATOR_JOB_LEFT)
        evaluator->current = make_eval_job(evaluator, EVAL_JOB_RUNNING);
    evaluator_move(evaluator, (enum evaluator_event)row->event, "the reason");
    if (evaluator_is_out(evaluator))
        g_assert_null(evaluator->current);
    return (int)evaluator->state == row->next;
}

/* ---- build children ---- */

/* The job's only kernel, stored by another login. */
static void give_foreign_code(struct eval_job *job)
{
    struct solution solution;
    char hash[PROGRAM_HASH_LENGTH + 1], key[KERNEL_KEY_LENGTH + 1];
    const struct toolchain *toolchain = toolchain_find("opencl");
    struct kernel_row *row = g_new0(struct kernel_row, 1);
    g_assert_true(work_solve(&job->work, 0, &solution));
    g_assert_true(program_hash(solution.launches[0].file, &job->work.target, hash, NULL));
    kernel_key(hash, &solution.launches[0], &job->work.target, toolchain, VERSION, key);
    kernel_row_plan(row, key, &solution.launches[0], &job->work.target, toolchain, VERSION);
    row->code = g_bytes_new("code", 4);
    row->builder_login = row->builder_node = g_strdup("other");
    job->work.round->kernel_keys[0] = g_strdup(key);
    job->kernels = g_hash_table_new(g_str_hash, g_str_equal);
    g_hash_table_insert(job->kernels, row->key, row);
}

/* One request of each kind waits in its queue. */
static void fill_queues(struct agent *agent)
{
    struct target gpu;
    struct eval_job *job = make_eval_job(make_evaluator(agent), EVAL_JOB_CHECKING);
    struct build_job *built = make_build_job(agent, BUILD_JOB_LOOKING_UP);
    g_autoptr(GHashTable) known = g_hash_table_new(g_str_hash, g_str_equal);
    build_job_move(built, BUILD_JOB_LOOKED_UP, known);
    g_assert_true(target_parse("gfx90a68", &gpu, NULL));
    own_code_want(agent, &gpu, OWN_PROOF);
    give_foreign_code(job);
    rebuilds_begin(job);
    g_assert_cmpint(job->state, ==, EVAL_JOB_REBUILDING);
    g_assert_nonnull(agent->builder->ready.head);
    g_assert_nonnull(agent->builder->unknown_targets.head);
    g_assert_nonnull(agent->builder->own_codes.head);
    g_assert_nonnull(agent->builder->rebuilds.head);
}

/* The scheduler, which would give the child a request, does nothing meanwhile. */
static void bring_up(struct agent *agent, struct build_child *child)
{
    agent->state = AGENT_SIGNING_OFF;
    build_child_move(child, BUILD_CHILD_START, NULL);
    while (child->state == BUILD_CHILD_STARTING)
        uv_run(&agent->loop, UV_RUN_NOWAIT);
    g_assert_cmpint(child->state, ==, BUILD_CHILD_IDLE);
    agent->state = AGENT_WORKING;
}

/* The event that brings an idle child into this state, in which a request waits for its answer; -1
 * for other states. */
static int request_of(int state)
{
    for (int i = 0; i < build_child_machine.row_count; i++) {
        const struct state_machine_row *row = &build_child_machine.rows[i];
        if (row->state == BUILD_CHILD_IDLE && row->next == state &&
            state_machine_find(&build_child_machine, state, BUILD_CHILD_ANSWERED))
            return row->event;
    }
    return -1;
}

static bool build_child_walks(const struct state_machine_row *row)
{
    struct agent *agent = make_agent(AGENT_WORKING);
    struct build_child *child = g_ptr_array_index(agent->builder->children, 0);
    struct child_death death = {.end = CHILD_CRASHED, .text = g_strdup("died"), .words = ""};
    struct frame frame = {.head =
                              json_pack("{s:s, s:s}", "failure", "compile error", "error", "no")};
    fill_queues(agent);
    if (row->state != BUILD_CHILD_DOWN && row->state != BUILD_CHILD_STARTING)
        bring_up(agent, child);
    if (request_of(row->state) >= 0)
        build_child_move(child, (enum build_child_event)request_of(row->state), NULL);
    child->state = (enum build_child_state)row->state;
    build_child_move(child, (enum build_child_event)row->event,
                     row->event == BUILD_CHILD_DIED ? (const void *)&death : (const void *)&frame);
    g_assert_true(request_of((int)child->state) >= 0 ||
                  (!child->compilation && !child->build_target && !child->own && !child->rebuild));
    return (int)child->state == row->next;
}

/* ---- the walk ---- */

static const struct walk {
    const struct state_machine *machine;
    bool (*walks)(const struct state_machine_row *row);
} walks[] = {
    {&agent_machine, agent_walks},
    {&evaluator_machine, evaluator_walks},
    {&eval_job_machine, eval_job_walks},
    {&build_job_machine, build_job_walks},
    {&build_child_machine, build_child_walks},
};

static void test_walk(gconstpointer data)
{
    const struct walk *walk = data;
    for (int i = 0; i < walk->machine->row_count; i++) {
        const struct state_machine_row *row = &walk->machine->rows[i];
        int status;
        pid_t process = fork();
        if (process == 0) {
            dup2(STDERR_FILENO, STDOUT_FILENO);
            _exit(walk->walks(row) ? 0 : 1);
        }
        g_assert_cmpint(waitpid(process, &status, 0), ==, process);
        if (status != 0)
            g_test_message("%s: %s, %s", walk->machine->name,
                           walk->machine->states[row->state].name,
                           walk->machine->events[row->event].name);
        g_assert_cmpint(status, ==, 0);
    }
}

/* The database gave the current job away while it waited for a child: the device does not measure it. */
static void test_a_lost_job_is_not_measured(void)
{
    struct agent *agent = make_agent(AGENT_WORKING);
    Evaluator *evaluator = make_evaluator(agent);
    struct eval_job *job = make_eval_job(evaluator, EVAL_JOB_RUNNING);
    evaluator->state = EVALUATOR_PREPARING;
    evaluator->current = job;
    job->lost = true;
    evaluator_next(evaluator);
    g_assert_cmpint(evaluator->state, ==, EVALUATOR_IDLE);
    g_assert_cmpint(job->state, ==, EVAL_JOB_ENDING);
    g_assert_true(child_is_down(evaluator->child));
}

/* A build child of these tests reads until its agent is gone. */
static int be_child(void)
{
    char bytes[4096];
    while (read(STDIN_FILENO, bytes, sizeof(bytes)) > 0)
        continue;
    return 0;
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], CHILD_COMMAND) == 0)
        return be_child();
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_autoptr(TempFolder) folder = temp_folder_new();
    scratch = temp_folder_path(folder, "scratch");
    for (size_t i = 0; i < G_N_ELEMENTS(walks); i++) {
        g_autofree char *name = g_strdelimit(g_strdup(walks[i].machine->name), " ", '_');
        g_autofree char *path = g_strconcat("/moves/each_row_of_", name, NULL);
        g_test_add_data_func(path, &walks[i], test_walk);
    }
    g_test_add_func("/moves/a_lost_job_is_not_measured", test_a_lost_job_is_not_measured);
    return g_test_run();
}
