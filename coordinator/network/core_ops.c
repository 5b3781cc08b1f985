/*
 * The core's own operators: the views, the copy that materialises them, and the operator that nobody knows.
 */
#include "coordinator/network/op.h"

#include <inttypes.h>

bool op_infer_same(const struct op_call *call, struct shape *outputs, GError **error)
{
    const struct shape *input = call->inputs[0];
    return shape_set_following(&outputs[0], input->type, input->rank, input->dim, input, error);
}

bool op_view_identity(const struct op_call *call, const struct shape *output, struct view *view)
{
    (void)call;
    (void)output;
    (void)view;
    return true;
}

bool op_view_reshape(const struct op_call *call, const struct shape *output, struct view *view)
{
    (void)call;
    return view_reshape(view, output->rank, output->dim);
}

bool op_view_broadcast(const struct op_call *call, const struct shape *output, struct view *view)
{
    (void)call;
    return view_broadcast(view, output->rank, output->dim);
}

bool op_view_cast(const struct op_call *call, const struct shape *output, struct view *view)
{
    (void)call;
    return view_cast(view, output->type);
}

/* The permutation that "perm" means for this rank. */
static bool read_permutation(const struct attributes *attributes, int rank,
                             int permutation[SHAPE_MAX_RANK], GError **error)
{
    int count;
    unsigned seen = 0;
    const int64_t *perm = attributes_ints(attributes, "perm", &count);
    if (perm && count != rank) {
        g_set_error(error, NETWORK_ERROR, NETWORK_ERROR_INVALID,
                    "perm has %d entries, but the tensor has %d dimensions", count, rank);
        return false;
    }
    for (int i = 0; i < rank; i++) {
        int64_t axis = perm ? perm[i] : rank - 1 - i;
        if (axis < 0 || axis >= rank || seen & 1U << axis) {
            g_set_error(error, NETWORK_ERROR, NETWORK_ERROR_INVALID,
                        "perm must name each of the axes 0 to %d once", rank - 1);
            return false;
        }
        seen |= 1U << axis;
        permutation[i] = (int)axis;
    }
    return true;
}

bool op_view_transpose(const struct op_call *call, const struct shape *output, struct view *view)
{
    int permutation[SHAPE_MAX_RANK];
    bool is_valid = read_permutation(call->attributes, output->rank, permutation, NULL);
    g_assert(is_valid);
    return view_transpose(view, permutation);
}

bool op_infer_transpose(const struct op_call *call, struct shape *outputs, GError **error)
{
    const struct shape *input = call->inputs[0];
    int permutation[SHAPE_MAX_RANK];
    int64_t dims[SHAPE_MAX_RANK];
    if (!read_permutation(call->attributes, input->rank, permutation, error))
        return false;
    for (int i = 0; i < input->rank; i++)
        dims[i] = input->dim[permutation[i]];
    return shape_set_packed(&outputs[0], input->type, input->rank, dims, error);
}

static bool infer_packed(const struct op_call *call, struct shape *outputs, GError **error)
{
    const struct shape *input = call->inputs[0];
    return shape_set_packed(&outputs[0], input->type, input->rank, input->dim, error);
}

/* Known contents of the input are known of the output, unless the type changes. */
static bool fold_copy(const struct op_call *call, const struct shape *outputs,
                      struct tensor **constants, GError **error)
{
    (void)error;
    if (outputs[0].type == call->inputs[0]->type)
        constants[0] = tensor_ref((struct tensor *)call->constants[0]);
    return true;
}

const struct op op_copy = {
    .name = "copy",
    .min_inputs = 1,
    .max_inputs = 1,
    .min_outputs = 1,
    .max_outputs = 1,
    .absorbs = OP_READS_ALL | OP_WRITES_ALL,
    .infer = infer_packed,
    .fold = fold_copy,
};

const struct op op_transpose = {
    .name = "transpose",
    .min_inputs = 1,
    .max_inputs = 1,
    .min_outputs = 1,
    .max_outputs = 1,
    .absorbs = OP_READS_ALL,
    .infer = op_infer_transpose,
    .view = op_view_transpose,
};

static bool infer_cast(const struct op_call *call, struct shape *outputs, GError **error)
{
    int64_t type = attributes_int(call->attributes, "to", ELEMENT_NONE);
    if (type <= ELEMENT_NONE || type >= ELEMENT_TYPE_COUNT) {
        g_set_error(error, NETWORK_ERROR, NETWORK_ERROR_INVALID,
                    "a cast needs the type that it casts to");
        return false;
    }
    const struct shape *input = call->inputs[0];
    return shape_set_following(&outputs[0], (enum element_type)type, input->rank, input->dim, input,
                               error);
}

const struct op op_cast = {
    .name = "cast",
    .min_inputs = 1,
    .max_inputs = 1,
    .min_outputs = 1,
    .max_outputs = 1,
    .absorbs = OP_READS_ALL,
    .infer = infer_cast,
    .view = op_view_cast,
};

static const int64_t *read_dims(const struct attributes *attributes, int *rank, GError **error)
{
    const int64_t *dims = attributes_ints(attributes, "dims", rank);
    if (!dims || *rank > SHAPE_MAX_RANK) {
        g_set_error(error, NETWORK_ERROR, NETWORK_ERROR_INVALID,
                    "it needs dims: the dimensions to give the tensor, at most %d", SHAPE_MAX_RANK);
        return NULL;
    }
    return dims;
}

static bool infer_broadcast(const struct op_call *call, struct shape *outputs, GError **error)
{
    int rank, common_rank;
    struct shape wanted;
    int64_t common[SHAPE_MAX_RANK];
    const struct shape *input = call->inputs[0];
    const int64_t *dims = read_dims(call->attributes, &rank, error);
    if (!dims || !shape_set_packed(&wanted, input->type, rank, dims, error) ||
        !shape_broadcast_dims(input, &wanted, &common_rank, common, error))
        return false;
    for (int i = 0; i < common_rank; i++) {
        if (common_rank != rank || common[i] != dims[i]) {
            g_autofree char *from = shape_text(input);
            g_autofree char *to = shape_text(&wanted);
            g_set_error(error, NETWORK_ERROR, NETWORK_ERROR_INVALID,
                        "%s cannot be broadcast to %s: it has larger dimensions", from, to);
            return false;
        }
    }
    outputs[0] = wanted;
    return true;
}

const struct op op_broadcast = {
    .name = "broadcast",
    .min_inputs = 1,
    .max_inputs = 1,
    .min_outputs = 1,
    .max_outputs = 1,
    .absorbs = OP_READS_ALL,
    .infer = infer_broadcast,
    .view = op_view_broadcast,
};

static bool infer_reshape(const struct op_call *call, struct shape *outputs, GError **error)
{
    int rank, open = -1;
    int64_t filled[SHAPE_MAX_RANK], known = 1;
    const struct shape *input = call->inputs[0];
    const int64_t *dims = read_dims(call->attributes, &rank, error);
    if (!dims)
        return false;
    for (int i = 0; i < rank; i++) {
        filled[i] = dims[i];
        if (dims[i] != -1) {
            if (__builtin_mul_overflow(known, dims[i], &known))
                known = -1;
        } else if (open >= 0) {
            g_set_error(error, NETWORK_ERROR, NETWORK_ERROR_INVALID,
                        "two of the dimensions to reshape to are -1; one may be");
            return false;
        } else {
            open = i;
        }
    }
    int64_t elements = shape_elements(input);
    if (open >= 0 && known > 0 && elements % known == 0) {
        filled[open] = elements / known;
        known = elements;
    }
    if (known != elements) {
        g_autofree char *from = shape_text(input);
        g_set_error(error, NETWORK_ERROR, NETWORK_ERROR_INVALID,
                    "%s cannot be reshaped: it has %" PRId64
                    " elements, and the new dimensions make %" PRId64,
                    from, elements, known);
        return false;
    }
    return shape_set_packed(&outputs[0], input->type, rank, filled, error);
}

const struct op op_reshape = {
    .name = "reshape",
    .min_inputs = 1,
    .max_inputs = 1,
    .min_outputs = 1,
    .max_outputs = 1,
    .absorbs = OP_READS_ALL,
    .infer = infer_reshape,
    .view = op_view_reshape,
};

static bool infer_unknown(const struct op_call *call, struct shape *outputs, GError **error)
{
    (void)outputs;
    const char *reason = attributes_string(call->attributes, "reason", NULL);
    g_set_error(error, NETWORK_ERROR, NETWORK_ERROR_UNSUPPORTED, "operator %s is not known%s%s",
                attributes_string(call->attributes, "op", "without a name"), reason ? ": " : "",
                reason ? reason : "");
    return false;
}

const struct op op_unknown = {
    .name = "unknown",
    .min_inputs = 0,
    .max_inputs = OP_ANY_NUMBER,
    .min_outputs = 1,
    .max_outputs = OP_ANY_NUMBER,
    .infer = infer_unknown,
};
