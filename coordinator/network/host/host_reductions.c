#include "coordinator/network/host/host_rows.h"

#include <math.h>

/* A reduction of `count` elements: it begins with `first`, takes each element by `step`, and ends with `last`. */
struct reduction {
    double first;
    double (*step)(double sum, double x);
    double (*last)(double sum, double count); /* NULL: the sum itself */
};

static double add(double sum, double x)
{
    return sum + x;
}

static double add_size(double sum, double x)
{
    return sum + fabs(x);
}

static double add_square(double sum, double x)
{
    return sum + x * x;
}

static double add_exp(double sum, double x)
{
    return sum + exp(x);
}

static double multiply(double product, double x)
{
    return product * x;
}

static double smaller(double least, double x)
{
    return MIN(least, x);
}

static double larger(double most, double x)
{
    return MAX(most, x);
}

static double mean(double sum, double count)
{
    return sum / count;
}

static double root(double sum, double count)
{
    (void)count;
    return sqrt(sum);
}

static double logarithm(double sum, double count)
{
    (void)count;
    return log(sum);
}

static bool run_reduce(const struct host_call *h, GError **error)
{
    const struct reduction *reduction = h->row->detail;
    const struct host_array *x = host_input(h, 0);
    struct host_array *y = h->outputs[0];
    bool reduced[SHAPE_MAX_RANK] = {false};
    if (!infer_reduced_axes(h->call, reduced, error)) {
        return false;
    }
    /* Strides of the output along the input's axes: 0 on those that are reduced. */
    int64_t strides[SHAPE_MAX_RANK], step = 1;
    for (int a = x->shape.rank - 1; a >= 0; a--) {
        strides[a] = reduced[a] ? 0 : step;
        step *= reduced[a] ? 1 : x->shape.dim[a];
    }
    for (int64_t i = 0; i < y->count; i++) {
        y->data[i] = reduction->first;
    }
    for (int64_t i = 0; i < x->count; i++) {
        int64_t rest = i, at = 0;
        for (int a = x->shape.rank - 1; a >= 0; a--) {
            at += rest % x->shape.dim[a] * strides[a];
            rest /= x->shape.dim[a];
        }
        y->data[at] = reduction->step(y->data[at], x->data[i]);
    }
    for (int64_t i = 0; reduction->last != NULL && i < y->count; i++) {
        y->data[i] = reduction->last(y->data[i], (double)x->count / (double)y->count);
    }
    return true;
}

static bool run_arg(const struct host_call *h, GError **error)
{
    const struct host_array *x = host_input(h, 0);
    struct host_array *y = h->outputs[0];
    int64_t axis = host_int(h, "axis", 0), inner = 1;
    bool is_max = host_is_named(h, "ArgMax"), takes_last = host_int(h, "select_last_index", 0) != 0;
    (void)error;
    axis += axis < 0 ? x->shape.rank : 0;
    for (int64_t a = axis + 1; a < x->shape.rank; a++) {
        inner *= x->shape.dim[a];
    }
    int64_t size = x->shape.dim[axis];
    for (int64_t i = 0; i < y->count; i++) {
        const double *line = x->data + i / inner * size * inner + i % inner;
        int64_t best = 0;
        for (int64_t j = 1; j < size; j++) {
            double a = line[j * inner], b = line[best * inner];
            best = (is_max ? a > b : a < b) || (takes_last && a == b) ? j : best;
        }
        y->data[i] = (double)best;
    }
    return true;
}

#define REDUCTION(name, first, step, last)                                                         \
    {                                                                                              \
        name, run_reduce, &(const struct reduction)                                                \
        {                                                                                          \
            first, step, last                                                                      \
        }                                                                                          \
    }

const struct host_row host_reduction_rows[] = {
    REDUCTION("ReduceSum", 0, add, NULL),
    REDUCTION("ReduceMean", 0, add, mean),
    REDUCTION("ReduceProd", 1, multiply, NULL),
    REDUCTION("ReduceMin", INFINITY, smaller, NULL),
    REDUCTION("ReduceMax", -INFINITY, larger, NULL),
    REDUCTION("ReduceL1", 0, add_size, NULL),
    REDUCTION("ReduceL2", 0, add_square, root),
    REDUCTION("ReduceLogSum", 0, add, logarithm),
    REDUCTION("ReduceSumSquare", 0, add_square, NULL),
    REDUCTION("ReduceLogSumExp", 0, add_exp, logarithm),
    {"ArgMax", run_arg, NULL},
    {"ArgMin", run_arg, NULL},
    {NULL, NULL, NULL},
};
