/*
 * A simulated worker of the simulated year: claims jobs from both pools, and hands in times of a model with some
 * noise. It runs until it is killed.
 *
 * usage: year_worker URL NODE STACK-OF-BUILDS STACK-OF-DEVICE MODEL
 *
 * MODEL is a file that is read before each batch, of lines:
 *   night NUMBER           another number gives other noise
 *   solver NAME FACTOR     its times are so many times the usual ones
 *   node NODE FACTOR       so are those of a node
 *   noise NODE PERCENT     the standard deviation of a node's times, 0.5 if not named
 *   clock NODE MHZ         what the node's device reports, 1700 if not named
 */
#include "coordinator/plan/plan.h"
#include "schema/results/conditions.h"
#include "schema/store/store_kernels.h"
#include "schema/store/store_problems.h"
#include "schema/store/store_queue.h"
#include "schema/store/store_workers.h"
#include "solvers/problem/problem_key.h"
#include "tests/year/year_solvers.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define BATCH        64
#define LEASE        60
#define BEAT_US      500000
#define PAUSE_US     20000
#define SAMPLES      40
#define NORMAL_IQR   1.349 /* interquartile range of a normal distribution, in standard deviations */
#define NOISE        0.5   /* percent */
#define CLOCK_MHZ    1700
#define KEPT_MOST    4
#define CONFIGS_MOST 8 /* of a round: the space and the default */

struct worker {
    const char *url, *node, *built_with, *measured_with, *model;
    Store *store;
    int64_t id;
    struct target target;
    struct context context;
    char **pins;
};

static void require(bool done, const GError *error, const char *what)
{
    if (!done)
        g_error("%s: %s", what, error != NULL ? error->message : "failed");
}

static gpointer beat(gpointer data)
{
    const struct worker *worker = data;
    g_autoptr(Store) store = store_open(worker->url, NULL);
    for (;;) {
        if (store != NULL)
            store_heartbeat(store, worker->id, NULL);
        g_usleep(BEAT_US);
    }
    return NULL;
}

/* ---- the model ---- */

/* The number behind the words in the model, or what it is without them. */
static double model_number(const char *model, const char *kind, const char *name, double usual)
{
    g_autofree char *words = *name != '\0' ? g_strconcat("\n", kind, " ", name, " ", NULL)
                                           : g_strconcat("\n", kind, " ", NULL);
    const char *line = strstr(model, words);
    return line != NULL ? g_ascii_strtod(line + strlen(words), NULL) : usual;
}

/* A number of a normal distribution that is the same for the same words: Box and Muller's method. */
static double normal(const char *words)
{
    g_autofree char *sum = g_compute_checksum_for_string(G_CHECKSUM_SHA256, words, -1);
    guint32 bits[2];
    if (sscanf(sum, "%8x%8x", &bits[0], &bits[1]) != 2)
        g_error("no checksum");
    double u = (bits[0] + 1.0) / 4294967297.0, v = bits[1] / 4294967296.0;
    return sqrt(-2 * log(u)) * cos(2 * G_PI * v);
}

/* The true time of a config, in ms: the tile 4 is the best of each solver, and ConvSteady the fastest one. */
static double true_ms(const struct job *job, int tile)
{
    static const double of_tiles[] = {[1] = 1.4, [2] = 1.15, [4] = 1, [8] = 1.1};
    const char *const names[] = {"ConvSteady", "ConvRising", "ConvFalling", "ConvLate"};
    static const double of_solvers[] = {1, 1.05, 1.1, 1.2};
    double ms = 1 + (double)(problem_hash(&job->problem) % 100) / 10;
    if (strcmp(job->solver, PLAN_NAIVE_SOLVER) == 0)
        return 20 * ms;
    for (gsize i = 0; i < G_N_ELEMENTS(names); i++)
        if (strcmp(job->solver, names[i]) == 0)
            ms *= of_solvers[i];
    return ms * of_tiles[tile];
}

static double measured_ms(const struct worker *worker, const char *model, const struct job *job,
                          const struct round *round, const struct perf_config *config)
{
    char key[PROBLEM_KEY_MAX];
    g_autofree char *words =
        g_strdup_printf("%s %s %d %s %g %d %" G_GINT64_FORMAT, problem_key(&job->problem, key),
                        job->solver, config->values[0], worker->node,
                        model_number(model, "night", "", 0), round->number, (gint64)job->campaign);
    double noise = model_number(model, "noise", worker->node, NOISE) / 100;
    return true_ms(job, config->values[0]) * model_number(model, "solver", job->solver, 1) *
           model_number(model, "node", worker->node, 1) * exp(noise * normal(words));
}

/* ---- building ---- */

static char *put_kernel(const struct worker *worker, const struct launch *launch)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *code = g_strdup_printf("%s %s", launch->file, launch->options);
    char *key = g_compute_checksum_for_string(G_CHECKSUM_SHA256, code, -1);
    struct kernel_row kernel = {.key = key,
                                .file = (char *)launch->file,
                                .entry = (char *)launch->entry,
                                .options = (char *)launch->options,
                                .arch = (char *)worker->target.arch,
                                .built_by = worker->id,
                                .code = g_bytes_new(code, strlen(code))};
    require(store_put_kernel(worker->store, &kernel, &error), error, "kernel");
    g_bytes_unref(kernel.code);
    return key;
}

static char *put_kernels(const struct worker *worker, const struct job *job,
                         const struct perf_config *config, struct solution *solution)
{
    g_autoptr(GError) error = NULL;
    solution_init(solution);
    require(solver_solve(solver_find(job->solver), &job->problem, &worker->context, config,
                         solution, &error),
            error, "solution");
    return put_kernel(worker, &solution->launches[0]);
}

/* The default config, then the wish's or the whole space. */
static int configs_of(const struct worker *worker, const struct job *job,
                      struct perf_config configs[CONFIGS_MOST])
{
    struct space_walk walk;
    struct perf_config config;
    int count = 1;
    const struct solver *solver = solver_find(job->solver);
    solver->default_config(&job->problem, &worker->context, &configs[0]);
    for (guint i = 0; job->wish != NULL && i < job->wish->len && count < CONFIGS_MOST; i++)
        if (!perf_config_equal(&g_array_index(job->wish, struct perf_config, i), &configs[0]))
            configs[count++] = g_array_index(job->wish, struct perf_config, i);
    if (solver->space == NULL)
        return count;
    space_walk_init(&walk, solver->space, &job->problem, &worker->context);
    while (job->wish == NULL && count < CONFIGS_MOST && space_walk_next(&walk, &config))
        if (!perf_config_equal(&config, &configs[0]))
            configs[count++] = config;
    return count;
}

static void build(const struct worker *worker, const char *model, const struct job *job)
{
    (void)model;
    g_autoptr(GError) error = NULL;
    g_autofree struct solution *solution = g_new(struct solution, 1);
    struct perf_config configs[CONFIGS_MOST];
    int count = configs_of(worker, job, configs);
    struct round *round = round_new(count);
    round->number = (int)job->rounds->len;
    round->stack = g_strdup(worker->built_with);
    for (int i = 0; i < count; i++) {
        round->configs[i] = configs[i];
        round->kernel_keys[i] = put_kernels(worker, job, &configs[i], solution);
        round->outcomes[i] = (struct outcome){.failure = FAILURE_PENDING, .build_seconds = 0.5};
    }
    require(store_built(worker->store, job, round, &error), error, "built round");
    round_free(round);
}

/* ---- measuring ---- */

static bool has_config(const GArray *kept, const struct perf_config *config)
{
    for (guint i = 0; i < kept->len; i++)
        if (perf_config_equal(&g_array_index(kept, struct kept, i).config, config))
            return true;
    return false;
}

static gint compare_kept(gconstpointer a, gconstpointer b)
{
    double left = ((const struct kept *)a)->outcome.median_ms;
    double right = ((const struct kept *)b)->outcome.median_ms;
    return (left > right) - (left < right);
}

static void clear_kept(gpointer data)
{
    g_free(((struct kept *)data)->config_text);
}

/* The fastest configs of all rounds, each with its newest time; borrows from the job. */
static GArray *keep(const struct worker *worker, const struct job *job)
{
    g_autofree struct solution *solution = g_new(struct solution, 1);
    GArray *kept = g_array_new(FALSE, FALSE, sizeof(struct kept));
    g_array_set_clear_func(kept, clear_kept);
    for (guint r = job->rounds->len; r-- > 0;) {
        const struct round *round = job->rounds->pdata[r];
        for (int i = 0; i < round->config_count; i++) {
            char text[CONFIG_TEXT_MAX];
            if (round->outcomes[i].failure != FAILURE_NONE || has_config(kept, &round->configs[i]))
                continue;
            solution_init(solution);
            solver_solve(solver_find(job->solver), &job->problem, &worker->context,
                         &round->configs[i], solution, NULL);
            const struct kept one = {.config = round->configs[i],
                                     .config_text =
                                         g_strdup(perf_config_format(&round->configs[i], text)),
                                     .kernel_keys = round->kernel_keys[i],
                                     .outcome = round->outcomes[i],
                                     .workspace_bytes = solution->workspace_bytes,
                                     .flops = solution->flops,
                                     .is_default = i == 0};
            g_array_append_val(kept, one);
        }
    }
    g_array_sort(kept, compare_kept);
    if (kept->len > KEPT_MOST)
        g_array_set_size(kept, KEPT_MOST);
    return kept;
}

static void evaluate(const struct worker *worker, const char *model, const struct job *job)
{
    g_autoptr(GError) error = NULL;
    struct round *round = job->rounds->pdata[job->rounds->len - 1];
    int mhz = (int)model_number(model, "clock", worker->node, CLOCK_MHZ);
    const struct conditions seen = {
        .device = "GPU-0", .samples = round->config_count, .sm_mhz_min = mhz, .sm_mhz_max = mhz};
    double noise = model_number(model, "noise", worker->node, NOISE) / 100;
    g_free(round->stack);
    round->stack = g_strdup_printf("%s; %s", worker->measured_with, worker->built_with);
    round->drift = 1;
    for (int i = 0; i < round->config_count; i++) {
        double ms = measured_ms(worker, model, job, round, &round->configs[i]);
        round->outcomes[i] = (struct outcome){.failure = FAILURE_NONE,
                                              .n = SAMPLES,
                                              .min_ms = ms * (1 - noise),
                                              .median_ms = ms,
                                              .spread = NORMAL_IQR * noise,
                                              .build_seconds = 0.5,
                                              .eval_seconds = 0.5};
    }
    require(store_conditions(worker->store, job, round->number, &seen, &error), error,
            "conditions");
    g_autoptr(GArray) kept = keep(worker, job);
    require(store_round(worker->store, job, round, (const struct kept *)(void *)kept->data,
                        (int)kept->len, false, 1, &error),
            error, "round");
}

/* ---- the worker ---- */

static bool work(const struct worker *worker, enum pool pool)
{
    static void (*const work_on[])(const struct worker *, const char *, const struct job *) = {
        [POOL_BUILD] = build, [POOL_EVAL] = evaluate};
    g_autoptr(GError) error = NULL;
    g_autofree char *text = NULL;
    struct claim claim = {.worker = worker->id,
                          .pool = pool,
                          .target = YEAR_TARGET,
                          .solvers = (const char *const *)worker->pins,
                          .batch = BATCH,
                          .lease_seconds = LEASE};
    g_autoptr(GPtrArray) jobs = store_claim(worker->store, &claim, &error);
    require(jobs != NULL, error, "claim");
    if (jobs->len == 0)
        return false;
    require(g_file_get_contents(worker->model, &text, NULL, &error), error, "model");
    g_autofree char *model = g_strconcat("\n", text, NULL);
    for (guint i = 0; i < jobs->len; i++)
        work_on[pool](worker, model, jobs->pdata[i]);
    return true;
}

static void enroll(struct worker *worker)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *process = g_strdup_printf("%ld", (long)getpid());
    g_autofree char *stack = g_strdup_printf("%s; %s", worker->measured_with, worker->built_with);
    const struct worker_device device = {.device = "gpu0",
                                         .name = "simulated",
                                         .target = YEAR_TARGET,
                                         .uuid = worker->node,
                                         .address = "",
                                         .partition = "",
                                         .stack = worker->measured_with};
    const struct worker_info info = {.node = worker->node,
                                     .process = process,
                                     .target = YEAR_TARGET,
                                     .stack = stack,
                                     .solvers = (const char *const *)worker->pins,
                                     .devices = &device,
                                     .device_count = 1};
    require(target_parse(YEAR_TARGET, &worker->target, &error), error, "target");
    context_init(&worker->context, &worker->target);
    require(store_put_target(worker->store, &worker->target, &error), error, "target");
    require(store_register_worker(worker->store, &info, &worker->id, &error), error, "worker");
}

int main(int argc, char **argv)
{
    setlocale(LC_NUMERIC, "C");
    if (argc != 6) {
        fputs("usage: year_worker URL NODE STACK-OF-BUILDS STACK-OF-DEVICE MODEL\n", stderr);
        return 2;
    }
    g_autoptr(GError) error = NULL;
    struct worker worker = {.url = argv[1],
                            .node = argv[2],
                            .built_with = argv[3],
                            .measured_with = argv[4],
                            .model = argv[5],
                            .pins = solver_pins()};
    worker.store = store_open(worker.url, &error);
    require(worker.store != NULL, error, "database");
    enroll(&worker);
    g_thread_unref(g_thread_new("beat", beat, &worker));
    printf("worker %" G_GINT64_FORMAT "\n", (gint64)worker.id);
    fflush(stdout);
    for (;;) {
        bool built = work(&worker, POOL_BUILD);
        if (!work(&worker, POOL_EVAL) && !built)
            g_usleep(PAUSE_US);
    }
}
