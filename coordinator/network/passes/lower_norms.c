#include "coordinator/network/passes/lowering.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static struct value *lower_lrn(struct lowering *l)
{
    struct kernel kernel;
    char a[G_ASCII_DTOSTR_BUF_SIZE], b[G_ASCII_DTOSTR_BUF_SIZE], c[G_ASCII_DTOSTR_BUF_SIZE];
    kernel_init(&kernel, OP_LRN);
    g_ascii_formatd(a, sizeof a, "%.9g", lower_float(l, "alpha", 0.0001f));
    g_ascii_formatd(b, sizeof b, "%.9g", lower_float(l, "beta", 0.75));
    g_ascii_formatd(c, sizeof c, "%.9g", lower_float(l, "bias", 1));
    g_snprintf(kernel.mode, sizeof kernel.mode, "%" PRId64 ",%s,%s,%s", lower_int(l, "size", 1), a,
               b, c);
    return lower_to_output(l,
                           lower_apply(l, NULL, &kernel, lower_to_plane(lower_input(l, 0), l->x),
                                       NULL, NULL, NULL, NULL),
                           MAX(l->y->rank, 4));
}

static struct value *lower_softmax(struct lowering *l)
{
    struct kernel kernel;
    int axis = (int)lower_int(l, "axis", -1);
    bool to_end = lower_int(l, "to_end", 0) != 0;
    int64_t before = 1, among = 1, behind = 1;
    axis += axis < 0 ? l->x->rank : 0;
    for (int i = 0; i < l->x->rank; i++) {
        *(i < axis ? &before : i == axis || to_end ? &among : &behind) *= l->x->dim[i];
    }
    kernel_init(&kernel, OP_SOFTMAX);
    if (strcmp(l->node->op->name, "LogSoftmax") == 0) {
        g_strlcpy(kernel.mode, "log", sizeof kernel.mode);
    }
    struct value *x = graph_reshape(lower_input(l, 0), 4, (int64_t[]){before, among, 1, behind});
    return graph_reshape(lower_apply(l, NULL, &kernel, x, NULL, NULL, NULL, NULL), l->y->rank,
                         l->y->dim);
}

const struct lower_row lower_norm_rows[] = {
    {"LRN", lower_lrn},
    {"Softmax", lower_softmax},
    {"LogSoftmax", lower_softmax},
    {NULL, NULL},
};
