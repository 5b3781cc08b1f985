/*
 * Matrix products.
 */
#include "coordinator/network/onnx/infer.h"

#include <inttypes.h>
#include <string.h>

static bool differ(const struct shape *a, const struct shape *b, GError **error)
{
    g_autofree char *first = shape_text(a), *second = shape_text(b);
    return infer_invalid(error, "its matrices %s and %s do not fit together", first, second);
}

bool infer_gemm(const struct op_call *call, struct shape *outputs, GError **error)
{
    /* com.microsoft.QGemm: a, its scale and zero point, b, ... */
    bool quantised = strcmp(call->op->name, "com.microsoft.QGemm") == 0;
    const struct shape *a = call->inputs[0], *b = call->inputs[quantised ? 3 : 1];
    int across_a = attributes_int(call->attributes, "transA", 0) != 0;
    int across_b = attributes_int(call->attributes, "transB", 0) != 0;
    if (a->rank != 2 || b->rank != 2 || a->dim[1 - across_a] != b->dim[across_b]) {
        return differ(a, b, error);
    }
    int64_t dims[] = {a->dim[across_a], b->dim[1 - across_b]};
    const struct shape *c = quantised ? NULL : infer_input(call, 2);
    struct shape y;
    if (!infer_packed(&y, a->type, 2, dims, error)) {
        return false;
    }
    if (c != NULL) {
        int rank;
        int64_t sum[SHAPE_MAX_RANK];
        if (!shape_broadcast_dims(&y, c, &rank, sum, error) || rank != 2 || sum[0] != dims[0] ||
            sum[1] != dims[1]) {
            g_clear_error(error);
            return differ(&y, c, error);
        }
    }
    const struct shape *zero = quantised ? infer_input(call, 8) : NULL;
    enum element_type type = !quantised ? a->type : zero != NULL ? zero->type : ELEMENT_FLOAT32;
    return infer_packed(&outputs[0], type, 2, dims, error);
}

/* The type of a product, and where its second matrix is. */
static const struct {
    const char *name;
    int b;
    int type_of; /* the input whose type the result has, -1 for `type` */
    enum element_type type;
} products[] = {
    {"MatMulInteger", 1, -1, ELEMENT_INT32},
    {"QLinearMatMul", 3, 7, ELEMENT_NONE},
    {"com.microsoft.MatMulIntegerToFloat", 1, 2, ELEMENT_NONE},
    {"com.microsoft.DynamicQuantizeMatMul", 1, 0, ELEMENT_NONE},
};

bool infer_matmul(const struct op_call *call, struct shape *outputs, GError **error)
{
    int at = 1, type_of = 0;
    enum element_type type = ELEMENT_NONE;
    for (size_t i = 0; i < G_N_ELEMENTS(products); i++) {
        if (strcmp(call->op->name, products[i].name) == 0) {
            at = products[i].b;
            type_of = products[i].type_of;
            type = products[i].type;
        }
    }
    struct shape a = *call->inputs[0], b = *call->inputs[at];
    type = type_of >= 0 ? call->inputs[type_of]->type : type;
    bool column = b.rank == 1, row = a.rank == 1;
    if (a.rank == 0 || b.rank == 0) {
        return differ(&a, &b, error);
    }
    if (attributes_int(call->attributes, "transA", 0) != 0 && !row) {
        int64_t m = a.dim[a.rank - 1];
        a.dim[a.rank - 1] = a.dim[a.rank - 2];
        a.dim[a.rank - 2] = m;
    }
    if (attributes_int(call->attributes, "transB", 0) != 0 && !column) {
        int64_t n = b.dim[b.rank - 1];
        b.dim[b.rank - 1] = b.dim[b.rank - 2];
        b.dim[b.rank - 2] = n;
    }
    int64_t inner = a.dim[a.rank - 1], dims[SHAPE_MAX_RANK + 2];
    if (inner != b.dim[column ? 0 : b.rank - 2]) {
        return differ(call->inputs[0], call->inputs[at], error);
    }
    struct shape batch_a, batch_b;
    int rank = 0;
    if (!shape_set_packed(&batch_a, a.type, MAX(a.rank - 2, 0), a.dim, error) ||
        !shape_set_packed(&batch_b, a.type, MAX(b.rank - 2, 0), b.dim, error) ||
        !shape_broadcast_dims(&batch_a, &batch_b, &rank, dims, error)) {
        return false;
    }
    if (!row) {
        dims[rank++] = a.dim[a.rank - 2];
    }
    if (!column) {
        dims[rank++] = b.dim[b.rank - 1];
    }
    return infer_packed(&outputs[0], type, rank, dims, error);
}

/* ---- Einsum ---- */

#define LETTERS 52

static int letter_index(char letter)
{
    return g_ascii_isupper(letter)   ? letter - 'A'
           : g_ascii_islower(letter) ? 26 + letter - 'a'
                                     : -1;
}

/* Notes the sizes that one term's letters have. Returns the term's end, NULL with an error. */
static const char *read_term(const char *at, const struct shape *shape, int64_t sizes[LETTERS],
                             int counts[LETTERS], GError **error)
{
    int axis = 0;
    for (; *at != '\0' && *at != ',' && strncmp(at, "->", 2) != 0; at++) {
        int letter = letter_index(*at);
        if (*at == ' ') {
            continue;
        }
        if (letter < 0) {
            return infer_unsupported(error, "its equation has '%c', only letters are read", *at)
                       ? at
                       : NULL;
        }
        if (axis == shape->rank || (sizes[letter] != -1 && sizes[letter] != shape->dim[axis] &&
                                    sizes[letter] != 1 && shape->dim[axis] != 1)) {
            g_autofree char *text = shape_text(shape);
            return infer_invalid(error, "its input %s does not fit its equation", text) ? at : NULL;
        }
        sizes[letter] = MAX(sizes[letter], shape->dim[axis]);
        counts[letter]++;
        axis++;
    }
    if (axis != shape->rank) {
        g_autofree char *text = shape_text(shape);
        return infer_invalid(error, "its input %s has more axes than its equation says", text)
                   ? at
                   : NULL;
    }
    return at;
}

bool infer_einsum(const struct op_call *call, struct shape *outputs, GError **error)
{
    const char *at = attributes_string(call->attributes, "equation", "");
    int64_t sizes[LETTERS], dims[SHAPE_MAX_RANK];
    int counts[LETTERS] = {0}, rank = 0;
    memset(sizes, -1, sizeof sizes);
    for (int i = 0; i < call->input_count; i++) {
        at = read_term(at, call->inputs[i], sizes, counts, error);
        if (at == NULL) {
            return false;
        }
        at += *at == ',';
    }
    bool arrow = strncmp(at, "->", 2) == 0;
    if (*at != '\0' && !arrow) {
        return infer_invalid(error, "its equation has more terms than it has inputs");
    }
    /* without an arrow: the letters that come once, in their order */
    char once[LETTERS + 1] = "";
    for (int pass = 0; pass < 52; pass++) {
        if (counts[pass] == 1) {
            size_t end = strlen(once);
            once[end] = (char)(pass < 26 ? 'A' + pass : 'a' + pass - 26);
            once[end + 1] = '\0';
        }
    }
    for (at = arrow ? at + 2 : once; *at != '\0'; at++) {
        int letter = letter_index(*at);
        if (*at == ' ') {
            continue;
        }
        if (letter < 0 || sizes[letter] < 0 || rank == SHAPE_MAX_RANK) {
            return infer_invalid(error, "its equation's result has '%c'", *at);
        }
        dims[rank++] = sizes[letter];
    }
    return infer_packed(&outputs[0], call->inputs[0]->type, rank, dims, error);
}

/* ---- recurrent networks ---- */

/* Y with an axis for the directions, then the last states. */
bool infer_recurrent(const struct op_call *call, struct shape *outputs, GError **error)
{
    const struct shape *x = call->inputs[0], *r = call->inputs[2];
    if (x->rank != 3 || r->rank != 3) {
        return infer_invalid(error, "its input and its recurrent weights must have 3 axes");
    }
    bool batch_first = attributes_int(call->attributes, "layout", 0) != 0;
    int64_t directions = r->dim[0], hidden = r->dim[2];
    int64_t length = x->dim[batch_first], batch = x->dim[!batch_first];
    int64_t whole[] = {length, directions, batch, hidden};
    int64_t whole_first[] = {batch, length, directions, hidden};
    int64_t last[] = {directions, batch, hidden}, last_first[] = {batch, directions, hidden};
    for (int i = 1; i < call->output_count; i++) {
        if (!infer_packed(&outputs[i], x->type, 3, batch_first ? last_first : last, error)) {
            return false;
        }
    }
    return infer_packed(&outputs[0], x->type, 4, batch_first ? whole_first : whole, error);
}
