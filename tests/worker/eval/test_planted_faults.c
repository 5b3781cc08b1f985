/* Real kernels on PoCL, or with SKIPJACK_TEST_DEVICE=gpu on a GPU, each with one fault that a single comparison may miss, go the way of a config: verified, timed,
 * proved. Each is found, by the host's comparison and by the device's, at the step that is meant for it. */
#include <math.h>
#include <string.h>

#include "kernels/toolchains/toolchain.h"
#include "solvers/problem/problem_key.h"
#include "tests/support/kernels/judge_device.h"
#include "tests/support/kernels/pocl_leaks.h"
#include "worker/eval/proof.h"
#include "worker/protocol/protocol.h"

#define SEED       11
#define KEY        "4-9-10-3x3-3-9-10-1-1x1-1x1-1x1-0-NCHW-FP32-F"
#define SOURCE     "tests/worker/eval/planted_faults.cl"
#define DIALECT    "kernels/device/common/dialect.h"
#define INCLUDE    "#include \"dialect.h\"\n"
#define ITEMS      64
#define TIMED_RUNS 20
#define SLICE_RUNS 10
/* Places of the launches' arguments that the test fills in for each launch. */
#define ARG_FAULT  8
#define ARG_OFF    10

/* The numbers are those in planted_faults.cl. */
enum planted {
    PLANTED_NONE,
    PLANTED_RARE_RACE,
    PLANTED_ZEROS_X,
    PLANTED_READS_WORKSPACE,
    PLANTED_TILE,
    PLANTED_EDGE,
    PLANTED_THREE_TOLERANCES,
    PLANTED_RACE_IN_LAST_PLACE,
    PLANTED_WRONG_FOR_ZEROS,
    PLANTED_LAZY,
    PLANTED_SPOILS_W,
    PLANTED_SPOILS_X_LATE,
    PLANTED_ROUNDS_ONCE_MORE,
    PLANTED_OVERFLOWS,
    PLANTED_UNDERFLOWS,
    PLANTED_STRAYS_ONCE,
    PLANTED_RACE_BY_CHANCE,
    PLANTED_STRAYS_IN_A_SLICE,
    PLANTED_WRONG_IN_A_SLICE,
    PLANTED_SPOILS_X_IN_A_SLICE,
};

enum step { STEP_LOOKS, STEP_TIMING, STEP_SLICE, STEP_PROOF, STEP_NONE };

static const struct {
    enum planted fault;
    enum step step;
    enum failure failure;
    const char *detail;
} rows[] = {
    {PLANTED_NONE, STEP_NONE, FAILURE_NONE, ""},
    {PLANTED_RARE_RACE, STEP_PROOF, FAILURE_WRONG_RESULT,
     "results differ from run to run (a race): 1 of 270 elements are wrong, the worst at (0,0,0,1,7)"},
    {PLANTED_ZEROS_X, STEP_LOOKS, FAILURE_OUT_OF_BOUNDS,
     "changed its input x, at byte 0 of its 1440"},
    {PLANTED_READS_WORKSPACE, STEP_LOOKS, FAILURE_WRONG_RESULT, "270 of 270 elements are wrong"},
    {PLANTED_TILE, STEP_LOOKS, FAILURE_WRONG_RESULT, "16 of 270 elements are wrong"},
    {PLANTED_EDGE, STEP_LOOKS, FAILURE_WRONG_RESULT, "elements are wrong"},
    {PLANTED_THREE_TOLERANCES, STEP_LOOKS, FAILURE_WRONG_RESULT, "1 of 270 elements are wrong"},
    {PLANTED_RACE_IN_LAST_PLACE, STEP_PROOF, FAILURE_WRONG_RESULT,
     "results differ from run to run (a race)"},
    {PLANTED_WRONG_FOR_ZEROS, STEP_PROOF, FAILURE_WRONG_RESULT, "with inputs of kind 'zeros': 270"},
    {PLANTED_LAZY, STEP_TIMING, FAILURE_WRONG_RESULT, "nothing written"},
    {PLANTED_SPOILS_W, STEP_LOOKS, FAILURE_OUT_OF_BOUNDS,
     "changed its input w, at byte 13 of its 432"},
    {PLANTED_SPOILS_X_LATE, STEP_TIMING, FAILURE_OUT_OF_BOUNDS, "changed its input x, at byte "},
    {PLANTED_ROUNDS_ONCE_MORE, STEP_PROOF, FAILURE_WRONG_RESULT,
     "with inputs of kind 'whole numbers':"},
    {PLANTED_OVERFLOWS, STEP_PROOF, FAILURE_WRONG_RESULT, "with inputs of kind 'large':"},
    {PLANTED_UNDERFLOWS, STEP_PROOF, FAILURE_WRONG_RESULT, "with inputs of kind 'small':"},
    {PLANTED_STRAYS_ONCE, STEP_TIMING, FAILURE_OUT_OF_BOUNDS,
     "wrote outside of y, at byte 1092 of its 1080"},
    {PLANTED_STRAYS_IN_A_SLICE, STEP_SLICE, FAILURE_OUT_OF_BOUNDS,
     "wrote outside of x, at byte -5 of its 1440"},
    {PLANTED_WRONG_IN_A_SLICE, STEP_SLICE, FAILURE_WRONG_RESULT,
     "results differ from run to run (a race): 1 of 270 elements"},
    {PLANTED_SPOILS_X_IN_A_SLICE, STEP_SLICE, FAILURE_OUT_OF_BOUNDS,
     "changed its input x, at byte 36 of its 1440"},
};

static struct device *device;
static struct device_program *judge_program, *planted;
static const struct device_row *healthy;

/* ---- the kernels ---- */

static enum planted fault;
static int turn;  /* runs of the first kernel with this fault */
static float off; /* by which PLANTED_THREE_TOLERANCES is wrong */

/* Fills in what the fault is and how often the kernel ran. */
static bool launch_planted(struct device *of, const struct device_launch *launch, GError **error)
{
    struct device_arg args[ARG_OFF + 1];
    struct device_launch filled = *launch;
    if (launch->arg_count > ARG_OFF + 1 ||
        (launch->arg_count != ARG_OFF + 1 && launch->arg_count != 5) || launch->block[0] != ITEMS)
        return healthy->launch(of, launch, error);
    memcpy(args, launch->args, (size_t)launch->arg_count * sizeof(args[0]));
    bool is_first = launch->arg_count == ARG_OFF + 1;
    struct device_arg *from = &args[is_first ? ARG_FAULT : 3];
    from[0].value.int32 = (int32_t)fault;
    from[1].value.int32 = turn;
    if (is_first)
        args[ARG_OFF].value.float32 = off;
    else
        turn++;
    filled.args = args;
    return healthy->launch(of, &filled, error);
}

static void make_solution(const struct problem *p, struct solution *solution)
{
    const int block[3] = {ITEMS, 1, 1};
    const int64_t pixels = p->in[AXIS_H] * p->in[AXIS_W];
    solution_init(solution);
    struct launch *launch = solution_add_launch(solution, "planted_faults.cl", "conv_planted");
    for (int t = 0; t < TENSOR_COUNT; t++)
        launch_arg_tensor(launch, (enum tensor_role)t);
    launch_arg_workspace(launch, 0);
    launch_arg_int32(launch, p->c);
    launch_arg_int32(launch, p->k);
    launch_arg_int32(launch, p->in[AXIS_H]);
    launch_arg_int32(launch, p->in[AXIS_W]);
    launch_arg_int32(launch, 0);
    launch_arg_int32(launch, 0);
    launch_arg_float32(launch, 0);
    launch_set_grid(launch, (const int64_t[3]){p->k * pixels, 1, 1}, block);
    launch = solution_add_launch(solution, "planted_faults.cl", "spoil_planted");
    launch_arg_tensor(launch, TENSOR_X);
    launch_arg_tensor(launch, TENSOR_W);
    launch_arg_int32(launch, p->c * pixels);
    launch_arg_int32(launch, 0);
    launch_arg_int32(launch, 0);
    launch_set_grid(launch, (const int64_t[3]){p->c * pixels, 1, 1}, block);
    solution->workspace_bytes = 256;
}

/* The kernels' text with the header that it includes in its place, as the embedded sources have it. */
static char *read_source(void)
{
    g_autofree char *text = NULL, *dialect = NULL;
    g_autoptr(GError) error = NULL;
    g_file_get_contents(SOURCE, &text, NULL, &error);
    g_assert_no_error(error);
    g_file_get_contents(DIALECT, &dialect, NULL, &error);
    g_assert_no_error(error);
    g_auto(GStrv) around = g_strsplit(text, INCLUDE, 2);
    g_assert_cmpuint(g_strv_length(around), ==, 2);
    return g_strconcat(around[0], dialect, around[1], NULL);
}

static void load_planted(void)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *text = read_source();
    struct code_object object = {0};
    const struct target *target = &device->row->info(device)->target;
    const struct toolchain *toolchain = toolchain_for_target(target, NULL, &error);
    g_assert_no_error(error);
    toolchain->compile(text, "", "conv_planted", target, &object, &error);
    g_test_message("%s", object.log ? object.log : "");
    g_assert_no_error(error);
    planted = healthy->load(device, object.code, &error);
    g_assert_no_error(error);
    code_object_clear(&object);
}

/* ---- the way of a config ---- */

struct trial {
    struct problem problem;
    struct workbench bench;
    struct invocation invocation;
};

static void trial_open(struct trial *t, bool by_device)
{
    g_autoptr(GError) error = NULL;
    const struct workbench_means means = {by_device ? judge_program : NULL, NULL, NULL};
    struct device_program *programs[] = {planted, planted};
    struct device_memory *workspace;
    struct solution solution;
    g_assert_true(problem_key_parse(KEY, &t->problem, NULL));
    make_solution(&t->problem, &solution);
    workbench_open(&t->bench, device, &t->problem, SEED, &means, &error);
    g_assert_no_error(error);
    g_assert_true(workbench_judges(&t->bench) == by_device);
    g_assert_cmpint(t->bench.copies, >, 2);
    workbench_workspace(&t->bench, solution.workspace_bytes, &workspace, &error);
    invocation_prepare(&t->invocation, device, &solution, programs, t->bench.tensors, workspace,
                       &error);
    g_assert_no_error(error);
}

static void trial_close(struct trial *t)
{
    invocation_clear(&t->invocation);
    workbench_close(&t->bench);
}

static void run_timed(struct trial *t, struct verdict *verdict)
{
    g_autoptr(GError) error = NULL;
    struct workbench_run run = {&t->bench, &t->invocation};
    workbench_before_timing(&t->bench, &error);
    for (int i = 0; i < TIMED_RUNS; i++)
        g_assert_true(workbench_run(&run, i, &error));
    workbench_after_timing(&t->bench, &t->invocation, verdict, &error);
    g_assert_no_error(error);
}

/* The runs of a slice begin where those before ended, as in the second measurement. */
static void run_slice(struct trial *t, struct verdict *verdict)
{
    g_autoptr(GError) error = NULL;
    struct workbench_run run = {&t->bench, &t->invocation};
    g_assert_true(workbench_before_slice(&t->bench, &error));
    for (int i = TIMED_RUNS; i < TIMED_RUNS + SLICE_RUNS; i++)
        g_assert_true(workbench_run(&run, i, &error));
    g_assert_true(
        workbench_after_slice(&t->bench, &t->invocation, t->bench.results, verdict, &error));
    g_assert_no_error(error);
}

static void run_proof(struct trial *t, struct verdict *verdict)
{
    g_autoptr(GError) error = NULL;
    const struct proof_limits limits = {PROOF_RUNS, 3600};
    struct proof proof;
    proof_run(&t->bench, &t->invocation, &limits, &proof, verdict, &error);
    g_assert_no_error(error);
    if (verdict->failure != FAILURE_NONE)
        return;
    g_autofree char *text = proof_text(&proof);
    g_assert_cmpstr(text, ==, "240 runs compared: random, whole numbers, large, small, zeros");
}

/* Takes the fault through all steps until one finds it. */
static enum step find(struct trial *t, enum planted planted_fault, struct verdict *verdict)
{
    g_autoptr(GError) error = NULL;
    fault = planted_fault;
    turn = 0;
    g_assert_true(workbench_verify(&t->bench, &t->invocation, verdict, &error));
    g_assert_no_error(error);
    if (verdict->failure != FAILURE_NONE)
        return STEP_LOOKS;
    run_timed(t, verdict);
    if (verdict->failure != FAILURE_NONE)
        return STEP_TIMING;
    run_slice(t, verdict);
    if (verdict->failure != FAILURE_NONE)
        return STEP_SLICE;
    run_proof(t, verdict);
    return verdict->failure != FAILURE_NONE ? STEP_PROOF : STEP_NONE;
}

/* Three times what element 5 of the first set may be off. */
static float three_tolerances(void)
{
    struct tolerance tolerance;
    struct trial t;
    trial_open(&t, false);
    const struct reference *r = t.bench.sets[0].reference;
    const struct expected expected = {r->value[5], (double)r->magnitude[5], 1, 0};
    tolerance_init(&tolerance, &t.problem, NULL, r->length);
    double allowed = tolerance_at(&tolerance, &expected, r->largest);
    trial_close(&t);
    return (float)(3 * allowed);
}

/* The right kernel passes although the fault before it may have damaged memory; a proof of it every time would add
 * nothing. */
static void passes_again(struct trial *t)
{
    g_autoptr(GError) error = NULL;
    struct verdict verdict;
    fault = PLANTED_NONE;
    turn = 0;
    g_assert_true(workbench_verify(&t->bench, &t->invocation, &verdict, &error));
    g_assert_no_error(error);
    if (verdict.failure == FAILURE_NONE)
        run_slice(t, &verdict);
    if (verdict.failure == FAILURE_NONE)
        run_timed(t, &verdict); /* last, since it leaves right results in the outputs */
    g_assert_cmpstr(verdict.detail, ==, "");
    g_assert_cmpstr(failure_name(verdict.failure), ==, failure_name(FAILURE_NONE));
}

static void find_all(bool by_device)
{
    struct trial t;
    off = three_tolerances();
    trial_open(&t, by_device);
    for (gsize row = 0; row < G_N_ELEMENTS(rows); row++) {
        struct verdict verdict;
        enum step step = find(&t, rows[row].fault, &verdict);
        g_test_message("fault %d: step %d, %s: %s", (int)rows[row].fault, (int)step,
                       failure_name(verdict.failure), verdict.detail);
        g_assert_cmpint(step, ==, rows[row].step);
        g_assert_cmpstr(failure_name(verdict.failure), ==, failure_name(rows[row].failure));
        if (!strstr(verdict.detail, rows[row].detail))
            g_test_fail_printf("fault %d: '%s' does not say '%s'", (int)rows[row].fault,
                               verdict.detail, rows[row].detail);
        passes_again(&t);
    }
    trial_close(&t);
}

static void with_planted(void (*test)(void))
{
    struct device_row row = *healthy;
    row.launch = launch_planted;
    load_planted();
    device->row = &row;
    test();
    device->row = healthy;
    healthy->program_free(planted);
}

static void find_by_host(void)
{
    find_all(false);
}

static void find_by_device(void)
{
    find_all(true);
}

/* A solver that says that its results vary may differ in the last place, and is still compared in full each time. */
static void judge_varying(void)
{
    struct verdict verdict;
    struct trial t;
    trial_open(&t, false);
    t.bench.varies = true;
    g_assert_cmpint(find(&t, PLANTED_RACE_IN_LAST_PLACE, &verdict), ==, STEP_NONE);
    g_assert_cmpint(find(&t, PLANTED_RARE_RACE, &verdict), ==, STEP_PROOF);
    g_assert_cmpint(verdict.failure, ==, FAILURE_WRONG_RESULT);
    g_assert_null(strstr(verdict.detail, "a race"));
    trial_close(&t);
}

/* A race of one run in 50 that comes by chance is found by 99 of 100 proofs. The chance that two of 20 proofs miss it
 * is about one in a hundred. */
static void prove_chance(void)
{
    int found = 0;
    struct trial t;
    trial_open(&t, false);
    fault = PLANTED_RACE_BY_CHANCE;
    for (int i = 0; i < 20; i++) {
        struct verdict verdict;
        turn = 1000000 * i;
        run_proof(&t, &verdict);
        found += verdict.failure == FAILURE_WRONG_RESULT && strstr(verdict.detail, "(a race)");
    }
    g_test_message("%d of 20 proofs found the race", found);
    g_assert_cmpint(found, >=, 19);
    trial_close(&t);
}

/* Where runs are long a proof ends early, and says how far it came. */
static void prove_in_no_time(void)
{
    g_autoptr(GError) error = NULL;
    const struct proof_limits limits = {PROOF_RUNS, 0};
    struct verdict verdict;
    struct proof proof;
    struct trial t;
    trial_open(&t, false);
    fault = PLANTED_NONE;
    proof_run(&t.bench, &t.invocation, &limits, &proof, &verdict, &error);
    g_assert_no_error(error);
    g_assert_cmpint(verdict.failure, ==, FAILURE_NONE);
    g_autofree char *text = proof_text(&proof);
    g_assert_cmpstr(text, ==, "1 run compared: random");
    trial_close(&t);
}

static void test_host(void)
{
    with_planted(find_by_host);
}

static void test_device(void)
{
    with_planted(find_by_device);
}

static void test_varying(void)
{
    with_planted(judge_varying);
}

static void test_chance(void)
{
    with_planted(prove_chance);
}

static void test_bounded(void)
{
    with_planted(prove_in_no_time);
}

static void add_tests(struct device *opened, struct device_program *loaded)
{
    device = opened;
    healthy = opened->row;
    judge_program = loaded;
    g_test_add_func("/planted_faults/host_finds_each", test_host);
    g_test_add_func("/planted_faults/device_finds_each", test_device);
    g_test_add_func("/planted_faults/varying_results_are_no_race", test_varying);
    g_test_add_func("/planted_faults/races_by_chance_are_found", test_chance);
    g_test_add_func("/planted_faults/proof_is_bounded_by_time", test_bounded);
}

int main(int argc, char **argv)
{
    return judge_device_main(argc, argv, "/planted_faults/needs_a_device", add_tests);
}
