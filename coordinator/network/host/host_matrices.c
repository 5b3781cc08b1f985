#include "coordinator/network/host/host_rows.h"

#include <math.h>

static struct host_array *turned(const struct host_array *matrix, int threads)
{
    struct shape shape = matrix->shape;
    shape.dim[0] = matrix->shape.dim[1];
    shape.dim[1] = matrix->shape.dim[0];
    struct host_array *result = host_array_new(&shape);
    host_gather(result, matrix->data, 0, (int64_t[]){1, matrix->shape.dim[1]}, threads);
    return result;
}

struct sum {
    double alpha, beta;
    const double *c; /* NULL: nothing is added */
    double *y;
};

static void sum_piece(void *context, int64_t first, int64_t last)
{
    const struct sum *s = context;
    for (int64_t i = first; i < last; i++) {
        s->y[i] = s->alpha * s->y[i] + (s->c != NULL ? s->beta * s->c[i] : 0);
    }
}

static bool run_gemm(const struct host_call *h, GError **error)
{
    struct host_array *y = h->outputs[0];
    bool turn_a = host_int(h, "transA", 0) != 0, turn_b = host_int(h, "transB", 0) != 0;
    g_autoptr(HostArray) a = turn_a ? turned(host_input(h, 0), h->threads)
                                    : host_array_ref((struct host_array *)host_input(h, 0));
    g_autoptr(HostArray) b = turn_b ? host_array_ref((struct host_array *)host_input(h, 1))
                                    : turned(host_input(h, 1), h->threads);
    double alpha = host_float(h, "alpha", 1), beta = host_float(h, "beta", 1);
    (void)error;
    host_multiply(a->shape.dim[0], b->shape.dim[0], a->shape.dim[1], a->data, b->data, y->data,
                  h->threads);
    g_autoptr(HostArray) c =
        host_input(h, 2) != NULL ? host_expanded(host_input(h, 2), &y->shape, h->threads) : NULL;
    struct sum sum = {alpha, beta, c != NULL ? c->data : NULL, y->data};
    host_parallel_pieces(y->count, h->threads, sum_piece, &sum);
    host_activate(h, y);
    return true;
}

/* NumPy's matmul of a and b into y. */
static void matmul(const struct host_call *h, const struct host_array *a,
                   const struct host_array *b, struct host_array *y)
{
    bool row = a->shape.rank == 1, column = b->shape.rank == 1;
    int64_t m = row ? 1 : a->shape.dim[a->shape.rank - 2], k = a->shape.dim[a->shape.rank - 1];
    int64_t n = column ? 1 : b->shape.dim[b->shape.rank - 1];
    int64_t matrices = y->count / MAX(m * n, 1);
    int batch_rank = y->shape.rank - (row ? 0 : 1) - (column ? 0 : 1);
    struct shape batches;
    int64_t a_step[SHAPE_MAX_RANK], b_step[SHAPE_MAX_RANK];
    shape_set_packed(&batches, ELEMENT_FLOAT64, batch_rank, y->shape.dim, NULL);
    struct shape a_batch = a->shape, b_batch = b->shape;
    a_batch.rank = MAX(0, a->shape.rank - 2);
    b_batch.rank = MAX(0, b->shape.rank - 2);
    host_broadcast_strides(&a_batch, &batches, a_step);
    host_broadcast_strides(&b_batch, &batches, b_step);
    g_autofree double *turn = g_new(double, MAX(k * n, 1));
    for (int64_t i = 0; i < matrices; i++) {
        int64_t rest = i, a_at = 0, b_at = 0;
        for (int axis = batch_rank - 1; axis >= 0; axis--) {
            a_at += rest % batches.dim[axis] * a_step[axis];
            b_at += rest % batches.dim[axis] * b_step[axis];
            rest /= batches.dim[axis];
        }
        for (int64_t j = 0; j < k * n; j++) {
            turn[j % n * k + j / n] = b->data[b_at + j];
        }
        host_multiply(m, n, k, a->data + a_at, turn, y->data + i * m * n, h->threads);
    }
}

static bool run_matmul(const struct host_call *h, GError **error)
{
    (void)error;
    matmul(h, host_input(h, 0), host_input(h, 1), h->outputs[0]);
    return true;
}

static bool run_matmul_integer(const struct host_call *h, GError **error)
{
    if (host_input(h, 3) != NULL && host_input(h, 3)->count > 1) {
        return infer_unsupported(error, "the host takes one zero point for the second matrix");
    }
    g_autoptr(HostArray) a = host_less_zero(host_input(h, 0), host_input(h, 2));
    g_autoptr(HostArray) b = host_less_zero(host_input(h, 1), host_input(h, 3));
    matmul(h, a, b, h->outputs[0]);
    return true;
}

static bool run_qlinear_matmul(const struct host_call *h, GError **error)
{
    struct host_array *y = h->outputs[0];
    if (host_input(h, 4)->count > 1) {
        return infer_unsupported(error, "the host takes one scale for the second matrix");
    }
    g_autoptr(HostArray) a = host_less_zero(host_input(h, 0), host_input(h, 2));
    g_autoptr(HostArray) b = host_less_zero(host_input(h, 3), host_input(h, 5));
    matmul(h, a, b, y);
    double scale =
        host_input(h, 1)->data[0] * host_input(h, 4)->data[0] / host_input(h, 6)->data[0];
    for (int64_t i = 0; i < y->count; i++) {
        y->data[i] = rint(y->data[i] * scale) + host_input(h, 7)->data[0];
    }
    return true;
}

const struct host_row host_matrix_rows[] = {
    {"Gemm", run_gemm, NULL},
    {"com.microsoft.FusedGemm", run_gemm, NULL},
    {"MatMul", run_matmul, NULL},
    {"MatMulInteger", run_matmul_integer, NULL},
    {"QLinearMatMul", run_qlinear_matmul, NULL},
    {NULL, NULL, NULL},
};
