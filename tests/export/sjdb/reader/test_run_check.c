/* The example program's own convolution agrees with the reference of the kernel tests, and it
 * rejects wrong outputs. */
#include "export/sjdb/reader/examples/run_check.h"

#include "solvers/problem/epilogue.h"
#include "solvers/problem/problem_key.h"
#include "tests/support/kernels/conv_kinds.h"
#include "tests/support/kernels/conv_reference.h"
#include "tests/support/test_effort.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

void fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *message = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    g_error("%s", message);
}

void *allocate(size_t count, size_t size)
{
    return g_malloc0_n(count > 0 ? count : 1, size);
}

struct trial {
    struct problem problem;
    struct skipjackdb_problem read;
    struct tensor tensors[TENSORS];
};

static void trial_init(struct trial *trial, const struct problem *problem)
{
    char key[PROBLEM_KEY_MAX];
    trial->problem = *problem;
    trial->read.size = sizeof trial->read;
    g_assert_cmpint(skipjackdb_problem_parse(problem_key(problem, key), &trial->read), ==,
                    SKIPJACKDB_OK);
    for (int32_t t = 0; t < TENSORS; t++) {
        tensor_init(&trial->tensors[t], &trial->read, t);
        tensor_fill(&trial->tensors[t], (uint64_t)t + 1, is_divisor(&trial->read, t));
    }
}

static void trial_clear(struct trial *trial)
{
    for (int t = 0; t < TENSORS; t++) {
        tensor_clear(&trial->tensors[t]);
    }
}

static double element(const struct trial *trial, enum tensor_role role, int64_t at)
{
    const struct tensor *tensor = &trial->tensors[role];
    return tensor->type == SKIPJACKDB_INT32 ? ((const int32_t *)tensor->stored)[at]
                                            : (double)((const float *)tensor->stored)[at];
}

/* Does the program's own epilogue to a plain output. The residual of these trials is FP32 and as dense as the plain
 * array, or has an element for each channel. */
static void do_epilogue(const struct trial *trial, double *plain, int64_t count,
                        const int64_t sizes[5])
{
    const struct problem *p = &trial->problem;
    struct epilogue epilogue;
    g_assert_true(epilogue_parse(p->epilogue, &epilogue, NULL));
    bool repeats = p->strides[TENSOR_RESIDUAL][1] == 1;
    for (int64_t i = 0; i < count; i++) {
        int64_t channel = i / (sizes[2] * sizes[3] * sizes[4]) % sizes[1];
        bool has_bias = problem_has_operand(p, TENSOR_BIAS);
        bool has_residual = problem_has_operand(p, TENSOR_RESIDUAL);
        bool has_scales = problem_has_operand(p, TENSOR_SCALES);
        plain[i] = epilogue_apply(
            &epilogue, plain[i], has_bias ? element(trial, TENSOR_BIAS, channel) : 0,
            has_residual ? element(trial, TENSOR_RESIDUAL, repeats ? channel : i) : 0,
            has_scales ? element(trial, TENSOR_SCALES, channel) : 0);
    }
}

/* Fills the output with what the reference of the kernel tests computes from the stored inputs. */
static void store_reference(struct trial *trial)
{
    const struct problem *p = &trial->problem;
    enum tensor_role out = problem_output_role(p);
    double *plain[TENSOR_COUNT], *magnitude = NULL;
    for (int t = 0; t < TENSOR_COUNT; t++) {
        struct tensor *tensor = &trial->tensors[t];
        int64_t sizes[5], count = conv_plain_sizes(p, (enum tensor_role)t, sizes);
        plain[t] = g_new0(double, count);
        for (int64_t i = 0; i < count; i++) {
            plain[t][i] = conv_load(p, (enum tensor_role)t, tensor->strides, tensor->stored, i);
        }
    }
    int64_t sizes[5], count = conv_plain_sizes(p, out, sizes);
    magnitude = g_new0(double, count);
    conv_reference(p, plain, magnitude);
    do_epilogue(trial, plain[out], count, sizes);
    for (int64_t i = 0; i < count; i++) {
        conv_store(p, out, trial->tensors[out].strides, trial->tensors[out].stored, i,
                   plain[out][i]);
    }
    for (int t = 0; t < TENSOR_COUNT; t++) {
        g_free(plain[t]);
    }
    g_free(magnitude);
}

static double error_of(const struct trial *trial, const char *algorithm)
{
    struct reference *reference = reference_new(&trial->read, trial->tensors);
    double error = reference_error(reference, algorithm);
    reference_free(reference);
    return error;
}

/* Whether the example program supports the cell's types. Cells with INT8 output are left out: sums
 * do not fit into INT8. */
static bool is_known(const struct conv_cell *cell)
{
    static const enum tensor_role outputs[] = {TENSOR_Y, TENSOR_X, TENSOR_W};
    bool known = cell->type[outputs[cell->direction]] != TYPE_INT8;
    for (int t = 0; t < TENSOR_COUNT; t++) {
        known = known && cell->type[t] <= TYPE_INT32;
    }
    return known;
}

static void right_results_are_right(void)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(41);
    int tried = 0;
    for (int i = 0; i < test_effort(400); i++) {
        struct conv_cell cell;
        struct problem p;
        struct trial trial;
        char key[PROBLEM_KEY_MAX];
        conv_cell_at(i % conv_cell_count(), &cell);
        if (!is_known(&cell)) {
            continue;
        }
        conv_kind_problem(random, g_rand_int_range(random, 0, conv_kind_count()), SIZES_ODD, &cell,
                          1e6, &p);
        trial_init(&trial, &p);
        store_reference(&trial);
        double error = error_of(&trial, "Direct");
        if (!(error <= 1)) {
            g_test_message("%s: %g", problem_key(&p, key), error);
            g_test_fail();
        }
        trial_clear(&trial);
        tried++;
    }
    g_test_message("%d problems", tried);
    g_assert_cmpint(tried, >, test_effort(200));
}

static void epilogues_and_strides_are_computed(void)
{
    static const char *const keys[] = {
        "5-9-8-3x3-6-9-8-2-1x1-1x1-1x1-0-NCHW-FP32-F+bias+relu",
        "5-9-8-3x3-6-9-8-2-1x1-1x1-1x1-0-NCHW-FP32-F+bias+add(FP32,NCHW)+clip(-3,6)",
        "5-9-8-3x3-6-9-8-2-1x1-1x1-1x1-0-NCHW-FP32-F+div(FP32,NCHW)+gelu",
        "5-9-8-3x3-6-9-8-2-1x1-1x1-1x1-0-NCHW-FP16-F+mul(FP32,NCHW)+silu",
        "5-9-8-3x3-6-9-8-2-1x1-1x1-1x1-0-NCHW-FP32-F+prelu",
        "5-9-8-3x3-6-9-8-2-1x1-1x1-1x1-0-NCHW-FP32-F+scale(channel)+hardswish",
        "5-9-8-3x3-6-9-8-2-1x1-1x1-1x1-0-NCHW-FP32-F+sqrt",
        "8-9-8-3x3-8-9-8-1-1x1-1x1-1x1-0-NCHW-INT8INT8INT32-F+bias+relu",
        "5-9-8-3x3-6-9-8-2-1x1-1x1-1x1-0-NCHW-FP32-F_sr0x1x0x0x0+add(FP32,NCHW)+relu",
        "5-9-8-3x3-6-9-8-2-1x1-1x1-1x1-0-NCHW-FP32-F_sx500x80x0x9x1_sy600x100x0x10x1",
        "6-9-8-3x3-5-9-8-2-1x1-1x1-1x1-0-NCHW-FP32-B_sx600x1x0x60x6+tanh",
    };
    for (gsize k = 0; k < G_N_ELEMENTS(keys); k++) {
        g_autoptr(GError) error = NULL;
        struct problem p;
        struct trial trial;
        g_assert_true(problem_key_parse(keys[k], &p, NULL));
        g_assert_true(problem_validate(&p, &error));
        g_assert_no_error(error);
        trial_init(&trial, &p);
        store_reference(&trial);
        double off = error_of(&trial, "Direct");
        if (!(off <= 1)) {
            g_test_message("%s: %g", keys[k], off);
            g_test_fail();
        }
        enum tensor_role out = problem_output_role(&p);
        struct tensor *output = &trial.tensors[out];
        double value = conv_load(&p, out, output->strides, output->stored, 3);
        conv_store(&p, out, output->strides, output->stored, 3, isnan(value) ? 0 : value + 1);
        g_assert_cmpfloat(error_of(&trial, "Direct"), >, 1);
        trial_clear(&trial);
    }
}

static void wrong_elements_are_wrong(void)
{
    static const char *const keys[] = {
        "5-9-8-3x3-6-9-8-2-1x1-1x1-1x1-0-NCHW-FP32-F",
        "6-9-8-3x3-5-9-8-2-1x1-1x1-1x1-0-NCHW-FP32-B",
        "6-9-8-3x3-5-9-8-2-1x1-1x1-1x1-0-NCHW-FP16-W",
        "5-9-8-3x3-6-9-8-2-1x1-1x1-1x1-0-NCHW-BF16-F",
        "8-9-8-3x3-8-9-8-1-1x1-1x1-1x1-0-NCHW-INT8INT8INT32-F",
    };
    for (gsize k = 0; k < G_N_ELEMENTS(keys); k++) {
        for (int spoilt = 0; spoilt < 2; spoilt++) {
            struct problem p;
            struct trial trial;
            g_assert_true(problem_key_parse(keys[k], &p, NULL));
            trial_init(&trial, &p);
            store_reference(&trial);
            enum tensor_role out = problem_output_role(&p);
            struct tensor *output = &trial.tensors[out];
            g_assert_cmpfloat(error_of(&trial, "Direct"), <=, 1);
            /* First an unwritten element (the example fills the output with 0xff before a run),
             * then a wrong number. */
            if (spoilt == 0) {
                memset(output->stored, 0xff, (gsize)data_type_bytes(p.type[out]));
            } else {
                double value = conv_load(&p, out, output->strides, output->stored, 3);
                conv_store(&p, out, output->strides, output->stored, 3, value > 0 ? -1 : 1);
            }
            g_assert_cmpfloat(error_of(&trial, "Direct"), >, 1);
            trial_clear(&trial);
        }
    }
}

/* Winograd and FFT transforms are allowed a larger error than plain sums. */
static void transforms_have_their_own_tolerance(void)
{
    struct problem p;
    struct trial trial;
    g_assert_true(problem_key_parse("64-9-8-3x3-6-9-8-1-1x1-1x1-1x1-0-NCHW-FP32-F", &p, NULL));
    trial_init(&trial, &p);
    store_reference(&trial);
    float *stored = trial.tensors[SKIPJACKDB_TENSOR_Y].stored;
    stored[40] += 1e-3f;
    g_assert_cmpfloat(error_of(&trial, "Direct"), >, 1);
    g_assert_cmpfloat(error_of(&trial, "miopenConvolutionFwdAlgoWinograd"), <=, 1);
    stored[40] += 1;
    g_assert_cmpfloat(error_of(&trial, "miopenConvolutionFwdAlgoWinograd"), >, 1);
    trial_clear(&trial);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/run_check/right_results_are_right", right_results_are_right);
    g_test_add_func("/run_check/epilogues_and_strides_are_computed",
                    epilogues_and_strides_are_computed);
    g_test_add_func("/run_check/wrong_elements_are_wrong", wrong_elements_are_wrong);
    g_test_add_func("/run_check/transforms_have_their_own_tolerance",
                    transforms_have_their_own_tolerance);
    return g_test_run();
}
