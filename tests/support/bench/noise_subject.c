#include "tests/support/bench/noise_subject.h"

#include "kernels/program.h"
#include "kernels/toolchains/opencl.h"
#include "solvers/problem/problem_key.h"
#include "worker/measure/statistics.h"

#include <stdio.h>
#include <string.h>

#define SEED         1
#define NAIVE_SOLVER "ConvDirectNaive"
/* The device idles so long before each measurement, as it does while a config is loaded and verified. */
#define IDLE_US      5000

static void must(bool done, GError *const *error)
{
    if (!done)
        g_error("%s", (*error)->message);
}

/* ---- the device ---- */

static struct device *open_device(GError **error)
{
    bool is_gpu = g_strcmp0(g_getenv("SKIPJACK_TEST_DEVICE"), "gpu") == 0;
    struct device *device = is_gpu ? device_open(0, error) : device_opencl.open(0, error);

    if (!device || !is_gpu || device->row != &device_opencl)
        return device;
    device_close(device);
    g_set_error(error, DEVICE_ERROR, DEVICE_ERROR_UNAVAILABLE, "there is no GPU here");
    return NULL;
}

bool noise_device_open(struct noise_device *on, const char *cache_dir)
{
    g_autoptr(GError) error = NULL;
    const char *shared_dir = g_getenv("SKIPJACK_TEST_CACHE");

    *on = (struct noise_device){0};
    opencl_environment(shared_dir ? shared_dir : cache_dir, NULL);
    on->device = open_device(&error);
    if (!on->device) {
        fprintf(stderr, "bench_noise: %s\n", error->message);
        return false;
    }
    on->target = &on->device->row->info(on->device)->target;
    on->toolchain = toolchain_for_target(on->target, NULL, &error);
    must(on->toolchain != NULL, &error);
    must(measure_floor(on->device, &on->floor_ms, &error), &error);
    context_init(&on->context, on->target);
    return true;
}

void noise_device_close(struct noise_device *on)
{
    device_close(on->device);
}

/* ---- problems ---- */

void noise_problem_open(struct noise_problem *p, const struct noise_device *on, const char *key)
{
    g_autoptr(GError) error = NULL;

    *p = (struct noise_problem){.on = on};
    must(problem_key_parse(key, &p->problem, &error), &error);
    must(workbench_open(&p->bench, on->device, &p->problem, SEED, NULL, &error), &error);
    for (int t = 0; t < OPERAND_COUNT; t++) {
        if (tensor_exists(&p->bench.tensors[t]))
            p->data_bytes += tensor_bytes(&p->bench.tensors[t]);
    }
}

void noise_problem_close(struct noise_problem *p)
{
    workbench_close(&p->bench);
}

const struct solver *noise_best_solver(const struct noise_problem *p)
{
    const struct solver *best = NULL;
    double most = -1;

    for (int i = 0; i < solver_table_count; i++) {
        const struct solver *solver = solver_table[i];
        if (strcmp(solver->name, NAIVE_SOLVER) == 0 ||
            !solver_applicable(solver, &p->problem, &p->on->context, NULL))
            continue;
        double estimate = solver->estimate(&p->problem, &p->on->context);
        if (estimate > most)
            best = solver;
        most = MAX(most, estimate);
    }
    return best;
}

/* ---- configs ---- */

static bool load_programs(struct noise_subject *s, const struct solution *solution)
{
    const struct noise_device *on = s->of->on;

    for (int i = 0; i < solution->launch_count; i++) {
        const struct launch *launch = &solution->launches[i];
        const struct program program = {launch->file, launch->options, launch->entry, NULL};
        struct code_object object = {0};
        bool built = program_build(on->toolchain, &program, on->target, &object, NULL);
        s->programs[i] = built ? on->device->row->load(on->device, object.code, NULL) : NULL;
        code_object_clear(&object);
        if (!s->programs[i])
            return false;
        s->program_count++;
    }
    return true;
}

static bool is_right(struct noise_subject *s)
{
    struct verdict verdict;
    g_autoptr(GError) error = NULL;

    return workbench_verify(&s->of->bench, &s->invocation, &verdict, &error) &&
           verdict.failure == FAILURE_NONE && workbench_pack_all(&s->run, &error);
}

static bool prepare(struct noise_subject *s, struct solution *solution)
{
    const struct noise_device *on = s->of->on;
    struct workbench *bench = &s->of->bench;
    struct device_memory *workspace;

    return solver_solve(s->solver, &s->of->problem, &on->context, &s->config, solution, NULL) &&
           load_programs(s, solution) &&
           workbench_workspace(bench, solution->workspace_bytes, &workspace, NULL) &&
           workbench_packed(bench, solution->packed_bytes, NULL) &&
           invocation_prepare(&s->invocation, on->device, solution, s->programs, bench->tensors,
                              workspace, NULL);
}

bool noise_subject_open(struct noise_subject *s, struct noise_problem *of,
                        const struct solver *solver, const struct perf_config *config)
{
    struct solution solution;

    *s = (struct noise_subject){.of = of, .solver = solver, .copies = of->bench.copies};
    if (config)
        s->config = *config;
    else
        solver->default_config(&of->problem, &of->on->context, &s->config);
    solution_init(&solution);
    s->run = (struct workbench_run){&of->bench, &s->invocation};
    if (prepare(s, &solution) && is_right(s))
        return true;
    noise_subject_close(s);
    return false;
}

void noise_subject_close(struct noise_subject *s)
{
    const struct device_row *row = s->of->on->device->row;

    invocation_clear(&s->invocation);
    for (int i = 0; i < s->program_count; i++)
        row->program_free(s->programs[i]);
}

bool noise_subject_run(void *data, int64_t run, GError **error)
{
    struct noise_subject *s = data;

    return workbench_run(&s->run, run % s->copies, error);
}

void noise_subject_measure(struct noise_subject *s, double sample_seconds, double best_ms,
                           unsigned without, struct measurement *m)
{
    g_autoptr(GError) error = NULL;
    struct measure_job job = {
        .device = s->of->on->device,
        .run = noise_subject_run,
        .data = s,
        .floor_ms = s->of->on->floor_ms,
        .sample_seconds = sample_seconds,
        .best_ms = best_ms,
        .keep = best_ms <= 0,
        .without = without,
    };

    must(s->of->on->device->row->sync(s->of->on->device, &error), &error);
    g_usleep(IDLE_US);
    must(measure(&job, m, &error), &error);
}

/* ---- statistics ---- */

double noise_median(GArray *values)
{
    double *sorted = (double *)(void *)values->data;

    statistics_sort(sorted, (int)values->len);
    return statistics_median(sorted, (int)values->len);
}

double noise_spread(GArray *values)
{
    double *sorted = (double *)(void *)values->data;

    statistics_sort(sorted, (int)values->len);
    return statistics_spread(sorted, (int)values->len);
}
