/* A workbench whose device verifies itself, on PoCL or (SKIPJACK_TEST_DEVICE=gpu) the first GPU: when the judge is
 * overruled, and what is freed if memory is short. */
#include "worker/eval/workbench.h"

#include "solvers/framework/solver.h"
#include "solvers/problem/problem_key.h"
#include "tests/support/kernels/judge_device.h"
#include "tests/support/kernels/pocl_leaks.h"
#include "worker/protocol/frames.h"
#include "worker/verify/judge_cache.h"
#include "worker/verify/judge_state.h"

#define SEED 77
#define KEY  "64-9-11-3x3-16-5-6-2-1x1-2x2-1x1-0-NCHW-FP32-F"

static const char *key = KEY; /* the problem of the next trial */
static struct device *device;
static struct device_program *program;
static const struct device_row *healthy;

/* ---- a device that gives wrong answers ---- */

static bool finds_wrong; /* the judge calls right outputs wrong */
/* how often the judge's sample was read, which happens when the reference is computed; a small problem's has all its bytes */
static int samples;

static bool read_watched(struct device_memory *from, int64_t offset, void *to, int64_t bytes,
                         GError **error)
{
    bool done = healthy->read(from, offset, to, bytes, error);
    samples += bytes == JUDGE_SAMPLE_BYTES;
    if (finds_wrong && bytes > 10000 && bytes % 24 == 0)
        ((int64_t *)to)[bytes / 24 * 2] = 1; /* wrong elements of the first workgroup */
    return done;
}

/* A workbench that runs the naive kernel, which is right. */
struct trial {
    struct problem problem;
    struct device_program *naive;
    struct workbench bench;
    struct invocation invocation;
};

static void trial_open(struct trial *t, const struct workbench_means *means)
{
    g_autoptr(GError) error = NULL;
    struct context context;
    struct solution solution;
    const struct perf_config config = {0};
    context_init(&context, &device->row->info(device)->target);
    solution_init(&solution);
    g_assert_true(problem_key_parse(key, &t->problem, NULL));
    solver_solve(solver_find("ConvDirectNaive"), &t->problem, &context, &config, &solution, &error);
    g_assert_no_error(error);
    const struct launch *launch = &solution.launches[0];
    if (!t->naive)
        t->naive = judge_device_load(device, launch->file, launch->options, launch->entry);
    workbench_open(&t->bench, device, &t->problem, SEED, means, &error);
    g_assert_no_error(error);
    invocation_prepare(&t->invocation, device, &solution, &t->naive, t->bench.tensors, NULL,
                       &error);
    g_assert_no_error(error);
}

static void trial_verify(struct trial *t)
{
    g_autoptr(GError) error = NULL;
    struct verdict verdict;
    workbench_verify(&t->bench, &t->invocation, &verdict, &error);
    g_assert_no_error(error);
    g_assert_cmpint(verdict.failure, ==, FAILURE_NONE);
    g_assert_cmpfloat(verdict.error, <=, 1);
}

static void trial_close(struct trial *t)
{
    invocation_clear(&t->invocation);
    workbench_close(&t->bench);
}

/* The judge calls a right output wrong: the host compares, finds it right, and has the device's reference computed
 * again. The next workbench takes the reference from the cache, unless it was unused for too long. */
static void test_overruled(void)
{
    static const struct {
        bool finds_wrong, is_unused, computes;
    } steps[] = {
        {false, false, true}, {true, false, false}, {false, false, false}, {false, true, true}};
    struct device_row row = *healthy;
    struct trial trial = {0};
    const struct workbench_means means = {program, judge_cache_new(device), NULL};
    row.read = read_watched;
    device->row = &row;
    for (gsize i = 0; i < G_N_ELEMENTS(steps); i++) {
        finds_wrong = false;
        samples = 0;
        judge_cache_drop_unused(means.judges, steps[i].is_unused ? 0 : 3600);
        trial_open(&trial, &means);
        g_assert_true(trial.bench.sets[0].judge != NULL);
        g_assert_true((samples > 0) == steps[i].computes);
        finds_wrong = steps[i].finds_wrong;
        samples = 0;
        trial_verify(&trial);
        g_assert_true((samples > 0) == steps[i].finds_wrong);
        g_assert_true((trial.bench.sets[0].reference != NULL) == steps[i].finds_wrong);
        trial_close(&trial);
    }
    judge_cache_free(means.judges);
    device->row = healthy;
    device->row->program_free(trial.naive);
}

/* 8-bit floats, casts and integers in all directions, compared by the device and by the host. */
static void test_types(void)
{
    static const char *const keys[] = {
        "16-9-11-3x3-16-5-6-2-1x1-2x2-1x1-0-NCHW-FP8-F",
        "16-8-8-3x3-8-8-8-2-1x1-1x1-1x1-0-NHWC-NHWC-NHWC-BF8FP8FP16-B",
        "8-8-8-3x3-8-8-8-1-1x1-1x1-1x1-0-NCHW-FP32-W_ciBF8_cwFP16_coFP8",
        "16-8-8-3x3-8-8-8-1-1x1-1x1-1x1-0-NCHW-FP8-F+scale(channel)+bias+add(FP8,NCHW)+relu",
        "8-8-8-3x3-8-8-8-1-1x1-1x1-1x1-0-NCHW-INT8INT8INT32-B",
        "8-8-8-3x3-8-8-8-1-1x1-1x1-1x1-0-NCHW-INT8FP16INT8-F",
    };
    for (gsize i = 0; i < G_N_ELEMENTS(keys) * 2; i++) {
        const struct workbench_means means = {i % 2 == 0 ? program : NULL, NULL, NULL};
        struct trial trial = {0};
        key = keys[i / 2];
        g_test_message("%s by the %s", key, i % 2 == 0 ? "device" : "host");
        trial_open(&trial, &means);
        trial_verify(&trial);
        trial_close(&trial);
        device->row->program_free(trial.naive);
    }
    key = KEY;
}

static int launches_left; /* launches until one is dropped without an error */

static bool launch_dropping(struct device *of, const struct device_launch *launch, GError **error)
{
    return launches_left-- == 0 || healthy->launch(of, launch, error);
}

/* Launches 0 to 2 write two inputs and run the kernel, three more are of fingerprints. Each of those, and the next one,
 * the comparison, is dropped without an error: the host notices it. */
static void test_dropped(void)
{
    const struct workbench_means means = {program, NULL, NULL};
    struct device_row row = *healthy;
    struct trial trial = {0};
    struct verdict verdict;
    row.launch = launch_dropping;
    launches_left = -1;
    device->row = &row;
    trial_open(&trial, &means);
    for (int dropped = 3; dropped < 7; dropped++) {
        g_autoptr(GError) error = NULL;
        launches_left = -1;
        trial_verify(&trial);
        launches_left = dropped;
        g_assert_false(workbench_verify(&trial.bench, &trial.invocation, &verdict, &error));
        g_assert_error(error, DEVICE_ERROR, DEVICE_ERROR_FAULT);
        g_assert_cmpint(launches_left, ==, -1);
    }
    trial_close(&trial);
    device->row = healthy;
    device->row->program_free(trial.naive);
}

/* A kernel that wrote behind the output may have damaged references in device memory, which have no
 * guard zones: they are dropped. */
static void test_strayed(void)
{
    g_autoptr(GError) error = NULL;
    const struct workbench_means means = {program, judge_cache_new(device), NULL};
    struct device_row row = *healthy;
    struct trial trial = {0}, other = {0};
    struct verdict verdict;
    row.read = read_watched;
    finds_wrong = false;
    device->row = &row;
    trial_open(&trial, &means);
    trial_open(&other, &means);
    trial_close(&other);
    samples = 0;
    struct guarded *output = &trial.bench.memory[trial.bench.out];
    g_assert_true(healthy->write(output->whole, GUARD_BYTES + output->bytes, "", 1, NULL));
    workbench_verify(&trial.bench, &trial.invocation, &verdict, &error);
    g_assert_no_error(error);
    g_assert_cmpint(verdict.failure, ==, FAILURE_OUT_OF_BOUNDS);
    g_assert_cmpint(samples, >, 0); /* this problem's reference is computed again */
    g_assert_false(judge_cache_clear(means.judges)); /* no other problem's reference is left */
    trial_verify(&trial);
    trial_close(&trial);
    judge_cache_free(means.judges);
    device->row = healthy;
    device->row->program_free(trial.naive);
    device->row->program_free(other.naive);
}

static int refusals; /* allocations that are refused from now on */

static struct device_memory *alloc_crowded(struct device *of, int64_t bytes, GError **error)
{
    if (refusals == 0)
        return healthy->alloc(of, bytes, error);
    refusals--;
    g_set_error_literal(error, DEVICE_ERROR, DEVICE_ERROR_MEMORY, "nothing left");
    return NULL;
}

static void test_crowded(void)
{
    struct device_row row = *healthy;
    struct trial trial = {0};
    const struct workbench_means means = {program, judge_cache_new(device), NULL};
    row.alloc = alloc_crowded;
    row.read = read_watched;
    finds_wrong = false;
    device->row = &row;
    for (int round = 0; round < 2; round++) {
        refusals = round;
        samples = 0;
        trial_open(&trial, &means);
        g_assert_cmpint(refusals, ==, 0);
        g_assert_cmpint(samples, >, 0); /* the kept reference was freed, and is computed again */
        trial_verify(&trial);
        trial_close(&trial);
    }
    judge_cache_free(means.judges);
    device->row = healthy;
    device->row->program_free(trial.naive);
}

/* Without memory for a config's workspace the second set is freed, then the judge, and the host verifies from then
 * on. */
static void test_given_up(void)
{
    const struct workbench_means means = {program, judge_cache_new(device), NULL};
    struct device_row row = *healthy;
    struct trial trial = {0};
    row.alloc = alloc_crowded;
    device->row = &row;
    for (int refused = 1; refused < 4; refused++) {
        g_autoptr(GError) error = NULL;
        struct device_memory *workspace;
        refusals = 0;
        trial_open(&trial, &means);
        trial_verify(&trial);
        g_assert_true(trial.bench.sets[0].judge != NULL);
        refusals = 1;
        g_assert_false(workbench_workspace(&trial.bench, INT64_MAX / 2, &workspace, NULL));
        /* the judge is kept: freeing it would not give enough memory */
        g_assert_true(trial.bench.sets[0].judge != NULL);
        refusals = refused;
        bool found = workbench_workspace(&trial.bench, 5000, &workspace, &error);
        g_assert_true(found == (refused < 3));
        g_assert_true(found || g_error_matches(error, DEVICE_ERROR, DEVICE_ERROR_MEMORY));
        g_assert_cmpint(refusals, ==, 0);
        g_assert_cmpint(trial.bench.set_count, ==, 1);
        g_assert_true(workbench_judges(&trial.bench) == (refused == 1));
        g_assert_true(refused == 1 ||
                      g_error_matches(trial.bench.refusal, DEVICE_ERROR, DEVICE_ERROR_MEMORY));
        for (int run = 0; run < 2; run++)
            trial_verify(&trial);
        trial_close(&trial);
    }
    judge_cache_free(means.judges);
    device->row = healthy;
    device->row->program_free(trial.naive);
}

/* One of the judge's launches is dropped without an error: for the inputs, the reference, the
 * joining of its parts, the comparison, or the inputs' fingerprints, of the first set or the second. The host notices
 * each. */
static void test_dropped_at_first(void)
{
    const struct workbench_means means = {program, NULL, NULL};
    struct device_row row = *healthy;
    struct trial trial = {0};
    row.launch = launch_dropping;
    device->row = &row;
    for (int dropped = 0; dropped < 14; dropped++) {
        launches_left = dropped;
        trial_open(&trial, &means);
        g_assert_cmpint(launches_left, <, 0);
        g_assert_null(trial.bench.sets[0].judge);
        g_assert_error(trial.bench.refusal, WORKER_ERROR, WORKER_ERROR_DOUBT);
        trial_verify(&trial);
        trial_close(&trial);
    }
    device->row = healthy;
    device->row->program_free(trial.naive);
}

/* ---- looks after slices ---- */

static const struct device_info *info_of_small_cache(const struct device *of)
{
    static struct device_info info;
    info = *healthy->info(of);
    info.cache_bytes = 1 << 18;
    return &info;
}

/* Slices of any number of runs, from any copy on, leave nothing that a look could blame on the config. */
static void test_slices(void)
{
    g_autoptr(GError) error = NULL;
    const struct workbench_means means = {program, NULL, NULL};
    struct device_row row = *healthy;
    struct trial trial = {0};
    struct verdict verdict;
    int64_t run = 0;
    row.info = info_of_small_cache;
    device->row = &row;
    trial_open(&trial, &means);
    struct workbench_run runs = {&trial.bench, &trial.invocation};
    g_assert_cmpint(trial.bench.copies, >, 2);
    trial_verify(&trial);
    for (int count = 1; count <= 2 * trial.bench.copies + 1; count++) {
        workbench_before_slice(&trial.bench, &error);
        for (int i = 0; i < count; i++)
            workbench_run(&runs, run++, &error);
        workbench_after_slice(&trial.bench, &trial.invocation, trial.bench.results, &verdict,
                              &error);
        g_assert_no_error(error);
        g_assert_cmpstr(verdict.detail, ==, "");
    }
    trial_close(&trial);
    device->row = healthy;
    device->row->program_free(trial.naive);
}

static void add_tests(struct device *opened, struct device_program *loaded)
{
    device = opened;
    healthy = opened->row;
    program = loaded;
    g_test_add_func("/workbench/host_overrules_the_device_and_its_reference_is_kept",
                    test_overruled);
    g_test_add_func("/workbench/eight_bit_floats_casts_and_integers_are_verified", test_types);
    g_test_add_func("/workbench/dropped_comparison_is_a_device_fault", test_dropped);
    g_test_add_func("/workbench/each_dropped_launch_is_noticed", test_dropped_at_first);
    g_test_add_func("/workbench/references_are_computed_again_after_stray_writes", test_strayed);
    g_test_add_func("/workbench/kept_references_are_freed_for_tensors", test_crowded);
    g_test_add_func("/workbench/slices_of_any_length_are_looked_at", test_slices);
    g_test_add_func("/workbench/judge_is_freed_for_a_workspace", test_given_up);
}

int main(int argc, char **argv)
{
    return judge_device_main(argc, argv, "/workbench/needs_a_device", add_tests);
}
