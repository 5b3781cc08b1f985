#include "coordinator/network/passes/lowering.h"

/* x [M, K] times w [N, K]: a convolution of single pixels. */
static struct value *multiply(struct lowering *l, struct value *x, int64_t m, int64_t k,
                              struct value *w, int64_t n)
{
    struct kernel kernel;
    kernel_init(&kernel, OP_CONV);
    return lower_apply(l, NULL, &kernel, graph_reshape(x, 4, (int64_t[]){m, k, 1, 1}),
                       graph_reshape(w, 4, (int64_t[]){n, k, 1, 1}), NULL, NULL, NULL);
}

static struct value *swapped(struct value *value)
{
    return graph_transpose(value, (int[]){1, 0}, 2);
}

/* y + beta * c for a y of [M, N, 1, 1]. */
static struct value *plus_c(struct lowering *l, struct value *y, struct value *c, double beta)
{
    int64_t m = l->y->dim[0], n = l->y->dim[1];
    g_autofree double *list = lower_channel_numbers(c, 2, n);
    if (list != NULL) {
        for (int64_t i = 0; i < n; i++) {
            list[i] *= beta;
        }
        return lower_add_bias(l, y, lower_floats(l, "bias", list, n));
    }
    if (beta != 1) {
        c = lower_to_step(l, "beta", c, EPILOGUE_AFFINE, beta, 0);
    }
    struct epilogue epilogue = {0};
    epilogue_add(&epilogue, EPILOGUE_ADD, 0, 0, false);
    c = graph_broadcast(c, 2, (int64_t[]){m, n});
    return lower_to_steps(l, "add", y, &epilogue, NULL,
                          graph_reshape(c, 4, (int64_t[]){m, n, 1, 1}), NULL, ELEMENT_NONE);
}

static struct value *lower_gemm(struct lowering *l)
{
    double alpha = lower_float(l, "alpha", 1);
    bool a_is_turned = lower_int(l, "transA", 0) != 0, b_is_turned = lower_int(l, "transB", 0) != 0;
    int64_t m = l->y->dim[0], n = l->y->dim[1], k = l->x->dim[a_is_turned ? 0 : 1];
    struct value *a = a_is_turned ? swapped(lower_input(l, 0)) : lower_input(l, 0);
    struct value *b = b_is_turned ? lower_input(l, 1) : swapped(lower_input(l, 1));
    struct value *y = multiply(l, a, m, k, b, n);
    if (alpha != 1) {
        y = lower_to_step(l, "alpha", y, EPILOGUE_AFFINE, alpha, 0);
    }
    if (lower_input(l, 2) != NULL) {
        y = plus_c(l, y, lower_input(l, 2), lower_float(l, "beta", 1));
    }
    return graph_reshape(y, l->y->rank, l->y->dim);
}

static struct value *lower_matmul(struct lowering *l)
{
    const struct shape *b = &lower_input(l, 1)->shape;
    int64_t batches = 1;
    if (l->x->rank < 2 || b->rank < 2) {
        return lower_fail(l, "one of its operands is a vector, kernels multiply matrices");
    }
    for (int i = 0; i < b->rank - 2; i++) {
        batches *= b->dim[i];
    }
    if (batches != 1) {
        return lower_fail(l,
                          "its second operand is a batch of matrices, no kernel multiplies these");
    }
    int64_t k = b->dim[b->rank - 2], n = b->dim[b->rank - 1];
    int64_t m = shape_elements(l->x) / k;
    struct value *w = graph_reshape(lower_input(l, 1), 2, (int64_t[]){k, n});
    struct value *y = multiply(l, lower_input(l, 0), m, k, swapped(w), n);
    return graph_reshape(y, l->y->rank, l->y->dim);
}

const struct lower_row lower_matrix_rows[] = {
    {"Gemm", lower_gemm},
    {"MatMul", lower_matmul},
    {NULL, NULL},
};
