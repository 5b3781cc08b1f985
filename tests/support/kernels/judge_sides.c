#include "tests/support/kernels/judge_sides.h"

#include <math.h>
#include <string.h>

#include "solvers/problem/problem_key.h"
#include "worker/verify/random.h"
#include "worker/verify/verify.h"

struct device *judge_test_device;
struct device_program *judge_test_program;
uint64_t judge_test_seed = JUDGE_TEST_SEED;

void judge_sides_problem(const char *key, struct problem *p)
{
    g_autoptr(GError) error = NULL;
    if (!problem_key_parse(key, p, &error) || !problem_validate(p, &error))
        g_error("%s: %s", key, error->message);
}

void judge_sides_init(struct judge_sides *s, const struct problem *p)
{
    g_autoptr(GError) error = NULL;
    *s = (struct judge_sides){.problem = *p, .out = problem_output_role(p)};
    for (int t = 0; t < OPERAND_COUNT; t++) {
        tensor_init(&s->tensors[t], p, (enum tensor_role)t);
        if (!tensor_exists(&s->tensors[t]))
            continue;
        guarded_alloc(&s->memory[t], judge_test_device, tensor_bytes(&s->tensors[t]), 1,
                      guarded_poison_of(s->tensors[t].type), &error);
        g_assert_no_error(error);
        s->parts[t] = s->memory[t].parts[0];
        if (t != (int)s->out)
            s->dense[t] = random_dense(p, &s->tensors[t], (enum tensor_role)t, judge_test_seed);
    }
    s->host = reference_compute(p, (const double *const *)s->dense, 2, 0, &error);
    g_assert_no_error(error);
}

bool judge_sides_judge(struct judge_sides *s, GError **error)
{
    s->judge = judge_new(judge_test_device, judge_test_program, &s->problem, s->tensors,
                         judge_test_seed, s->parts, error);
    return s->judge != NULL;
}

void judge_sides_clear(struct judge_sides *s)
{
    judge_free(s->judge);
    reference_unref(s->host);
    for (int t = 0; t < OPERAND_COUNT; t++) {
        guarded_free(&s->memory[t]);
        g_free(s->dense[t]);
    }
}

void *judge_sides_read(const struct judge_sides *s, enum tensor_role role)
{
    g_autoptr(GError) error = NULL;
    void *data = g_malloc((gsize)s->memory[role].bytes);
    judge_test_device->row->read(s->parts[role], 0, data, s->memory[role].bytes, &error);
    g_assert_no_error(error);
    return data;
}

void judge_sides_compare_verdicts(struct judge_sides *s, int wrong_elements, const char *key)
{
    g_autoptr(GError) error = NULL;
    const struct tensor *tensor = &s->tensors[s->out];
    g_autofree double *dense = g_memdup2(s->host->value, (gsize)s->host->count * sizeof(double));
    g_autofree void *data = g_malloc0((gsize)tensor_bytes(tensor));
    struct tolerance tolerance;
    struct verdict verdict;
    struct judged judged;
    bool integers = tensor->type == TYPE_INT32 || tensor->type == TYPE_INT8;
    /* by more than any tolerance */
    double by = integers ? 9 : 9 + s->host->largest;
    for (int i = 0; i < wrong_elements; i++) {
        double *element = &dense[(i * 7 + 3) % s->host->count];
        *element += i % 2 || integers ? (*element > 0 ? -by : by) : NAN;
    }
    tensor_from_dense(tensor, dense, data);
    const struct solution_rounding tiles = {
        .transforms = true, .terms = 100, .growth = 2, .roundings = 24};
    tolerance_init(&tolerance, &s->problem, wrong_elements == 2 ? &tiles : NULL, s->host->length);
    verify_output(tensor, data, s->memory[s->out].poison, s->host, &tolerance, &verdict);
    judge_test_device->row->write(s->parts[s->out], 0, data, s->memory[s->out].bytes, &error);
    judge_compare(s->judge, s->parts[s->out], &tolerance, &judged, &error);
    g_assert_no_error(error);
    if ((judged.wrong != 0) != (verdict.failure != FAILURE_NONE) ||
        judged.wrong != MIN(wrong_elements, s->host->count))
        g_error("%s: the device finds %" G_GINT64_FORMAT " wrong, the host says %s", key,
                judged.wrong, verdict.detail);
    /* In FP64 the two references differ in their last places. */
    if (isfinite(verdict.error))
        g_assert_cmpfloat(fabs(judged.error - verdict.error), <=, 1e-6 * verdict.error + 0.3);
    else
        g_assert_cmpfloat(judged.error, >=, 1e300);
}
