#include "tests/support/kernels/conv_trial.h"

#include <math.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "solvers/problem/epilogue.h"
#include "solvers/problem/problem_key.h"
#include "tests/support/kernels/conv_reference.h"
#include "worker/verify/tolerance.h"

/* Guard zone, in bytes, before and behind each tensor, which no kernel may write. A multiple of
 * every alignment. */
#define GUARD  512
/* Bytes of 0xff: NaN in every floating type, -1 in integers. */
#define POISON 0xff
/* Elements added behind each row, plane and so on. Odd, so that rows are not aligned. */
#define GAP    5

/* ---- strides of tensors ---- */

/* Orders the logical axes from the innermost outwards, by their strides in the packed layout. */
static void order_axes(const int64_t packed[5], int order[5])
{
    for (int i = 0; i < 5; i++)
        order[i] = 4 - i;
    for (int i = 1; i < 5; i++) {
        for (int j = i; j > 0 && packed[order[j]] < packed[order[j - 1]]; j--) {
            int other = order[j];
            order[j] = order[j - 1];
            order[j - 1] = other;
        }
    }
}

int64_t trial_lay_out(const struct problem *p, enum tensor_role role, enum trial_strides strides,
                      int64_t result[5])
{
    int64_t sizes[5], elements = strides == TRIAL_SPREAD ? 2 : 1;
    int order[5];

    problem_strides(p, role, result);
    if (strides == TRIAL_PACKED)
        return problem_tensor_span(p, role);
    problem_packed_strides(p, role, result);
    if (role >= STRIDED_COUNT || problem_layout_block(problem_operand_layout(p, role)) > 1)
        return problem_tensor_elements(p, role);
    conv_plain_sizes(p, role, sizes);
    order_axes(result, order);
    for (int i = 0; i < 5; i++) {
        result[order[i]] = elements;
        elements = elements * sizes[order[i]] + GAP;
    }
    return elements;
}

static void make_buffer(struct conv_trial *trial, enum tensor_role role, enum trial_strides strides)
{
    const struct problem *p = &trial->p;
    struct run_tensor *tensor = &trial->tensors[role];
    int64_t elements = trial_lay_out(p, role, strides, tensor->strides);
    gsize bytes = (gsize)(elements * data_type_bytes(problem_operand_type(p, role)));

    tensor->start = GUARD;
    tensor->bytes = bytes + 2 * (gsize)GUARD;
    tensor->data = g_malloc(tensor->bytes);
    memset(tensor->data, POISON, tensor->bytes);
    if (problem_layout_block(problem_operand_layout(p, role)) > 1 && role != problem_output_role(p))
        memset((char *)tensor->data + GUARD, 0, bytes);
}

static void *tensor_data(const struct run_tensor *tensor)
{
    return (char *)tensor->data + tensor->start;
}

/* ---- data ---- */

static double random_value(enum data_type type, GRand *random)
{
    double sign = g_rand_boolean(random) ? 1 : -1;

    if (conv_type_epsilon(type) == 0)
        return sign * g_rand_int_range(random, 1, 9);
    return sign * g_rand_double_range(random, 0.25, 1);
}

/* The reference computes with the inputs as they are rounded to the tensor's type. */
static void fill_input(struct conv_trial *trial, enum tensor_role role, GRand *random)
{
    const struct problem *p = &trial->p;
    const struct run_tensor *tensor = &trial->tensors[role];
    int64_t sizes[5], count = conv_plain_sizes(p, role, sizes);
    enum data_type type = problem_operand_type(p, role);
    bool sums_int8 = p->kind == OP_CONV && p->type[TENSOR_X] == TYPE_INT8;
    double factor = role == TENSOR_SCALES && sums_int8 ? 0.01 : 1;

    for (int64_t i = 0; i < count; i++)
        conv_store(p, role, tensor->strides, tensor_data(tensor), i,
                   factor * random_value(type, random));
    /* A second tensor may repeat its elements, so that a later value may replace an earlier one. */
    for (int64_t i = 0; i < count; i++)
        trial->plain[role][i] = conv_load(p, role, tensor->strides, tensor_data(tensor), i);
}

/* The element of a list with one value for each channel, or one for all. */
static double listed(const struct conv_trial *trial, enum tensor_role role, int64_t channel,
                     int64_t channels)
{
    int64_t sizes[5], count = conv_plain_sizes(&trial->p, role, sizes);

    if (count == 0)
        return 0;
    return trial->plain[role][role == TENSOR_SCALES && count - 1 < channels ? 0 : channel];
}

struct epilogue_values {
    double bias, residual, scale;
};

/* Returns the operands' values that the epilogue's steps read at an element of the output. */
static struct epilogue_values values_at(const struct conv_trial *trial, int64_t index)
{
    const struct problem *p = &trial->p;
    enum data_type residual_type = problem_operand_type(p, TENSOR_RESIDUAL);
    int64_t sizes[5], scales[5], channel;
    struct epilogue_values values = {0};

    conv_plain_sizes(p, problem_output_role(p), sizes);
    channel = index / (sizes[2] * sizes[3] * sizes[4]) % sizes[1];
    values.bias = listed(trial, TENSOR_BIAS, channel, sizes[1]);
    values.scale = listed(trial, TENSOR_SCALES, channel, sizes[1]);
    if (problem_has_operand(p, TENSOR_RESIDUAL)) {
        values.residual = trial->plain[TENSOR_RESIDUAL][index];
        if (problem_has_operand(p, TENSOR_SCALES) && conv_type_epsilon(residual_type) == 0)
            values.residual *=
                trial->plain[TENSOR_SCALES][conv_plain_sizes(p, TENSOR_SCALES, scales) - 1];
    }
    return values;
}

static double limited(enum data_type type, double value)
{
    switch (type) {
    case TYPE_INT8: return CLAMP(value, INT8_MIN, INT8_MAX);
    case TYPE_INT32: return CLAMP(value, INT32_MIN, INT32_MAX);
    default: return value;
    }
}

double conv_trial_epilogue(const struct conv_trial *trial, const struct epilogue *epilogue,
                           int64_t index)
{
    struct epilogue_values at = values_at(trial, index);
    enum data_type type = trial->p.type[problem_output_role(&trial->p)];

    return limited(type,
                   epilogue_apply(epilogue, trial->sums[index], at.bias, at.residual, at.scale));
}

/* Applies the epilogue to the sums. */
static void finish_reference(struct conv_trial *trial, int64_t count)
{
    enum tensor_role output = problem_output_role(&trial->p);
    struct epilogue epilogue;

    trial->sums = g_memdup2(trial->plain[output], (gsize)count * sizeof(double));
    if (trial->p.epilogue[0] == '\0' && trial->p.kind == OP_CONV) {
        for (int64_t i = 0; i < count; i++)
            trial->plain[output][i] = limited(trial->p.type[output], trial->sums[i]);
        return;
    }
    g_assert_true(epilogue_parse(trial->p.epilogue, &epilogue, NULL));
    for (int64_t i = 0; i < count; i++)
        trial->plain[output][i] = conv_trial_epilogue(trial, &epilogue, i);
}

void conv_trial_init(struct conv_trial *trial, const struct problem *p, enum trial_strides strides,
                     GRand *random)
{
    enum tensor_role output = problem_output_role(p);
    int64_t sizes[5], count = conv_plain_sizes(p, output, sizes);

    memset(trial, 0, sizeof(*trial));
    trial->p = *p;
    for (int t = 0; t < TENSOR_PACKED; t++) {
        enum tensor_role role = (enum tensor_role)t;
        if (!problem_has_operand(p, role))
            continue;
        trial->plain[t] = g_new(double, conv_plain_sizes(p, role, sizes));
        make_buffer(trial, role, strides);
        if (role != output)
            fill_input(trial, role, random);
        trial->before[t] = g_memdup2(trial->tensors[t].data, trial->tensors[t].bytes);
    }
    trial->magnitude = g_new(double, count);
    trial->longest = conv_reference(p, trial->plain, trial->magnitude);
    finish_reference(trial, count);
    for (int64_t i = 0; i < count; i++)
        trial->largest = MAX(trial->largest, trial->magnitude[i]);
}

void conv_trial_clear(struct conv_trial *trial)
{
    g_free(trial->sums);
    for (int t = 0; t < OPERAND_COUNT; t++) {
        g_free(trial->plain[t]);
        g_free(trial->before[t]);
        g_free(trial->tensors[t].data);
    }
    g_free(trial->magnitude);
}

void conv_trial_run(struct conv_trial *trial, struct solution_runner *runner,
                    const struct solution *solution)
{
    struct run_tensor *const tensors = trial->tensors;

    for (int t = 0; t < OPERAND_COUNT; t++) {
        if (tensors[t].data)
            memcpy(tensors[t].data, trial->before[t], tensors[t].bytes);
    }
    solution_run(runner, solution, tensors, 1);
}

/* ---- the error that a result may have ---- */

/* The tolerance of the worker (worker/verify/tolerance.h), of the solution's sums. */
static struct tolerance tolerance_of(const struct conv_trial *trial,
                                     const struct solution_rounding *rounding)
{
    struct tolerance tolerance;

    tolerance_init(&tolerance, &trial->p, rounding, (double)trial->longest);
    return tolerance;
}

/* The most by which a step's result changes where its input changes by up to `error`. The factor is
 * for functions that bend in between. */
static double step_change(const struct epilogue *step, double v, double error,
                          const struct epilogue_values *at)
{
    static const double places[] = {-1, -0.5, 0.5, 1};
    double right = epilogue_apply(step, v, at->bias, at->residual, at->scale), most = 0;

    for (gsize i = 0; i < G_N_ELEMENTS(places); i++) {
        double moved = v + places[i] * error;
        if (step->steps[0].op == EPILOGUE_SQRT)
            moved = MAX(moved, 0);
        moved = epilogue_apply(step, moved, at->bias, at->residual, at->scale);
        most = MAX(most, fabs(moved - right));
    }
    return 1.5 * most;
}

/* The error after the epilogue where the sum has the error `error`: each step is computed in FP32,
 * with up to 4 units in the last place. */
static double error_after_epilogue(const struct conv_trial *trial, int64_t index, double error)
{
    const double unit = ldexp(1, -24);
    struct epilogue_values at = values_at(trial, index);
    double v = trial->sums[index];
    struct epilogue epilogue;

    g_assert_true(epilogue_parse(trial->p.epilogue, &epilogue, NULL));
    error += unit * fabs(v);
    for (int i = 0; i < epilogue.count; i++) {
        struct epilogue step = {.count = 1, .steps = {epilogue.steps[i]}};
        error = step_change(&step, v, error, &at);
        v = epilogue_apply(&step, v, at.bias, at.residual, at.scale);
        error += unit * (8 * fabs(v) + fabs(at.bias) + fabs(at.residual));
    }
    return error;
}

/* Where there is an epilogue, the sum's error goes through it by other code than the worker's (epilogue_bound.h). */
static double allowed_error(const struct conv_trial *trial, const struct tolerance *tolerance,
                            int64_t index)
{
    const struct expected expected = {trial->plain[problem_output_role(&trial->p)][index],
                                      trial->magnitude[index], 1, 0};
    double magnitude = tolerance->tensor_wide ? trial->largest : expected.magnitude;
    double sum_error = tolerance->per_magnitude * magnitude;

    if (trial->p.epilogue[0] == '\0')
        return tolerance_at(tolerance, &expected, trial->largest);
    return error_after_epilogue(trial, index, sum_error) +
           tolerance->per_value * fabs(expected.value) + tolerance->smallest;
}

int64_t conv_trial_wrong(const struct conv_trial *trial, const struct solution_rounding *rounding,
                         int64_t *first)
{
    struct tolerance tolerance = tolerance_of(trial, rounding);
    enum tensor_role role = problem_output_role(&trial->p);
    const struct run_tensor *tensor = &trial->tensors[role];
    int64_t sizes[5], count = conv_plain_sizes(&trial->p, role, sizes), wrong = 0;

    for (int64_t i = count - 1; i >= 0; i--) {
        double value = conv_load(&trial->p, role, tensor->strides, tensor_data(tensor), i);
        /* The comparison is written so that a NaN counts as wrong. */
        if (fabs(value - trial->plain[role][i]) <= allowed_error(trial, &tolerance, i))
            continue;
        wrong++;
        if (first)
            *first = i;
    }
    return wrong;
}

/* ---- bytes that a kernel must not change ---- */

/* Copies the elements that a run may write into `expected`, the output's buffer as it was before
 * the run. */
static void allow_output(const struct conv_trial *trial, void *expected)
{
    const struct problem *p = &trial->p;
    enum tensor_role role = problem_output_role(p);
    const struct run_tensor *tensor = &trial->tensors[role];
    void *allowed = (char *)expected + tensor->start;
    int64_t sizes[5], count = conv_plain_sizes(p, role, sizes);

    if (problem_layout_block(p->layout[role]) > 1) {
        memcpy(allowed, tensor_data(tensor), tensor->bytes - 2 * (gsize)GUARD);
        return;
    }
    for (int64_t i = 0; i < count; i++)
        conv_copy(p, role, tensor->strides, tensor_data(tensor), allowed, i);
}

int64_t conv_trial_stray(const struct conv_trial *trial)
{
    int64_t stray = 0;

    for (int t = 0; t < OPERAND_COUNT; t++) {
        const struct run_tensor *tensor = &trial->tensors[t];
        g_autofree guint8 *expected = g_memdup2(trial->before[t], tensor->bytes);
        if ((enum tensor_role)t == problem_output_role(&trial->p))
            allow_output(trial, expected);
        for (gsize i = 0; i < tensor->bytes; i++)
            stray += ((const guint8 *)tensor->data)[i] != expected[i];
    }
    return stray;
}

/* ---- checking a run ---- */

/* The config being run; the signal handler prints it if the kernel crashes the program. */
static char under_way[PROBLEM_KEY_MAX + CONFIG_TEXT_MAX + 128];

static void say_last_words(int number)
{
    if (write(STDOUT_FILENO, under_way, strlen(under_way)) >= 0)
        raise(number);
}

/* SA_RESETHAND removes the handler after its first call, so the signal then ends the program as
 * usual. Sanitizers have their own handlers, which report more. */
static void note_under_way(const struct conv_trial *trial, const struct solver *solver,
                           const struct context *context, const struct perf_config *config)
{
    G_GNUC_UNUSED static const int numbers[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    G_GNUC_UNUSED struct sigaction action = {.sa_handler = say_last_words,
                                             .sa_flags = SA_RESETHAND | SA_NODEFER};
    char key[PROBLEM_KEY_MAX], text[CONFIG_TEXT_MAX];

    problem_key(&trial->p, key);
    g_snprintf(under_way, sizeof(under_way), "# brought down by %s '%s' for %s: %s\n", solver->name,
               perf_config_format(config, text), context->target->id, key);
#ifndef __SANITIZE_ADDRESS__
    for (gsize i = 0; i < G_N_ELEMENTS(numbers); i++)
        sigaction(numbers[i], &action, NULL);
#endif
}

static void say(const struct conv_trial *trial, const struct solver *solver,
                const struct context *context, const struct perf_config *config, const char *what)
{
    char key[PROBLEM_KEY_MAX], text[CONFIG_TEXT_MAX];

    problem_key(&trial->p, key);
    g_test_message("%s '%s' for %s: %s: %s", solver->name, perf_config_format(config, text),
                   context->target->id, key, what);
    g_test_fail();
}

static char *describe_wrong(const struct conv_trial *trial,
                            const struct solution_rounding *rounding, int64_t wrong, int64_t first)
{
    struct tolerance tolerance = tolerance_of(trial, rounding);
    enum tensor_role role = problem_output_role(&trial->p);
    const struct run_tensor *tensor = &trial->tensors[role];
    int64_t sizes[5], count = conv_plain_sizes(&trial->p, role, sizes);

    return g_strdup_printf("%" G_GINT64_FORMAT " of %" G_GINT64_FORMAT
                           " elements are wrong, the first (%" G_GINT64_FORMAT
                           ") is %.9g, not %.9g within %.3g",
                           wrong, count, first,
                           conv_load(&trial->p, role, tensor->strides, tensor_data(tensor), first),
                           trial->plain[role][first], allowed_error(trial, &tolerance, first));
}

/* Runs again on the same inputs; returns the number of the output's bytes that differ. */
static int64_t differs_when_repeated(struct conv_trial *trial, struct solution_runner *runner,
                                     const struct solution *solution)
{
    const struct run_tensor *output = &trial->tensors[problem_output_role(&trial->p)];
    g_autofree unsigned char *first = g_memdup2(output->data, output->bytes);
    int64_t differing = 0;

    conv_trial_run(trial, runner, solution);
    for (gsize i = 0; i < output->bytes; i++)
        differing += first[i] != ((const unsigned char *)output->data)[i];
    return differing;
}

bool conv_trial_check(struct conv_trial *trial, struct solution_runner *runner,
                      const struct solver *solver, const struct context *context,
                      const struct perf_config *config)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *detail = NULL;
    const char *reason = NULL;
    struct solution solution;
    int64_t wrong, stray, first = 0;

    solution_init(&solution);
    if (!solver_applicable(solver, &trial->p, context, &reason)) {
        say(trial, solver, context, config, reason);
        return false;
    }
    if (!solver->solve(&trial->p, context, config, &solution, &error)) {
        say(trial, solver, context, config, error->message);
        return false;
    }
    note_under_way(trial, solver, context, config);
    conv_trial_run(trial, runner, &solution);
    wrong = conv_trial_wrong(trial, &solution.rounding, &first);
    stray = conv_trial_stray(trial);
    if (wrong > 0)
        detail = describe_wrong(trial, &solution.rounding, wrong, first);
    else if (stray > 0)
        detail =
            g_strdup_printf("%" G_GINT64_FORMAT " bytes outside of the output were written", stray);
    else if (!solver->nondeterministic &&
             (wrong = differs_when_repeated(trial, runner, &solution)) > 0)
        detail = g_strdup_printf("%" G_GINT64_FORMAT " bytes of the output differ in another run",
                                 wrong);
    if (detail)
        say(trial, solver, context, config, detail);
    return !detail;
}

bool conv_trial_check_one(const struct problem *p, struct solution_runner *runner,
                          const struct solver *solver, const struct context *context,
                          const struct perf_config *config)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(3);
    g_autoptr(GError) error = NULL;
    struct conv_trial trial;
    bool right;

    g_assert_true(problem_validate(p, &error));
    g_assert_no_error(error);
    conv_trial_init(&trial, p, TRIAL_PADDED, random);
    right = conv_trial_check(&trial, runner, solver, context, config);
    conv_trial_clear(&trial);
    return right;
}

bool conv_trial_check_key(const char *key, struct solution_runner *runner,
                          const struct solver *solver, const struct context *context,
                          const char *config_text)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(7);
    g_autoptr(GError) error = NULL;
    struct perf_config config;
    struct conv_trial trial;
    struct problem p;
    bool right;

    g_assert_true(problem_key_parse(key, &p, &error));
    g_assert_no_error(error);
    g_assert_true(solver_config_parse(solver, &p, context, config_text, &config, &error));
    g_assert_no_error(error);
    conv_trial_init(&trial, &p, TRIAL_PACKED, random);
    right = conv_trial_check(&trial, runner, solver, context, &config);
    conv_trial_clear(&trial);
    return right;
}

double conv_trial_largest_error(const struct conv_trial *trial)
{
    enum tensor_role role = problem_output_role(&trial->p);
    const struct run_tensor *tensor = &trial->tensors[role];
    int64_t sizes[5], count = conv_plain_sizes(&trial->p, role, sizes);
    double largest = 0;

    for (int64_t i = 0; i < count; i++) {
        double value =
            conv_load(&trial->p, role, tensor->strides, (char *)tensor->data + tensor->start, i);
        largest = fmax(largest, fabs(value - trial->plain[role][i]));
    }
    return largest / trial->largest * 0x1p24;
}
