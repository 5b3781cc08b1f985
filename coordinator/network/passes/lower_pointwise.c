#include "coordinator/network/passes/lowering.h"

#include "coordinator/network/passes/pass.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Binary operators that steps of an epilogue can do: with a number on the right or the left, a list, or a tensor. */
enum binary { BINARY_ADD, BINARY_SUB, BINARY_MUL, BINARY_DIV, BINARY_MAX, BINARY_MIN };

static const enum epilogue_op residual_ops[] = {EPILOGUE_ADD, EPILOGUE_SUB,     EPILOGUE_MUL,
                                                EPILOGUE_DIV, EPILOGUE_GREATER, EPILOGUE_SMALLER};

/* x OP number, or number OP x if `is_left`. Returns false if no step does it. */
static bool number_step(enum binary op, double number, bool is_left, struct epilogue *epilogue)
{
    switch (op) {
    case BINARY_ADD: return epilogue_add(epilogue, EPILOGUE_AFFINE, 1, number, false);
    case BINARY_SUB:
        return epilogue_add(epilogue, EPILOGUE_AFFINE, is_left ? -1 : 1, is_left ? number : -number,
                            false);
    case BINARY_MUL: return epilogue_add(epilogue, EPILOGUE_AFFINE, number, 0, false);
    case BINARY_DIV:
        return !is_left && number != 0 &&
               epilogue_add(epilogue, EPILOGUE_AFFINE, 1 / number, 0, false);
    case BINARY_MAX:
        return number == 0 ? epilogue_add(epilogue, EPILOGUE_RELU, 0, 0, false)
                           : epilogue_add(epilogue, EPILOGUE_CLIP, number, FLT_MAX, false);
    case BINARY_MIN: return epilogue_add(epilogue, EPILOGUE_CLIP, -FLT_MAX, number, false);
    }
    return false;
}

/* x OP list or list OP x by bias or scale. NULL without an error if neither does it. */
static struct value *with_list(struct lowering *l, enum binary op, struct value *x, double *list,
                               int64_t channels, bool is_left)
{
    struct epilogue epilogue = {0};
    bool is_product = op == BINARY_MUL || op == BINARY_DIV;
    if (op == BINARY_MAX || op == BINARY_MIN || (op == BINARY_DIV && is_left)) {
        return NULL;
    }
    for (int64_t i = 0; i < channels; i++) {
        list[i] = op == BINARY_SUB && !is_left ? -list[i]
                  : op == BINARY_DIV           ? 1 / list[i]
                                               : list[i];
    }
    if (op == BINARY_SUB && is_left) {
        epilogue_add(&epilogue, EPILOGUE_AFFINE, -1, 0, false);
    }
    epilogue_add(&epilogue, is_product ? EPILOGUE_SCALE : EPILOGUE_BIAS, 0, 0, is_product);
    struct value *numbers = lower_floats(l, is_product ? "scale" : "bias", list, channels);
    return lower_to_steps(l, NULL, x, &epilogue, is_product ? NULL : numbers, NULL,
                          is_product ? numbers : NULL, ELEMENT_NONE);
}

/* A whole tensor of one number. */
static struct value *full(struct lowering *l, const struct shape *like, double number)
{
    g_autoptr(Tensor) tensor = tensor_full(like->type, like->rank, like->dim, number);
    return graph_add_constant(l->graph, NULL, tensor);
}

/* The value with the dimensions of `wanted`: repeated, and then moved into a tensor of its own: x cannot repeat. */
static struct value *repeated(struct lowering *l, struct value *value, const struct shape *wanted)
{
    struct epilogue epilogue = {0};
    epilogue_add(&epilogue, EPILOGUE_ADD, 0, 0, false);
    return lower_to_steps(l, "repeat", full(l, wanted, 0), &epilogue, NULL,
                          graph_broadcast(value, wanted->rank, wanted->dim), NULL, ELEMENT_NONE);
}

/* The constant's numbers if it has one for each index of the last axis, as biases of matrix products have. */
static double *last_axis_numbers(struct value *value, const struct shape *out, int64_t *count)
{
    const struct shape *shape = &value->shape;
    if (out->rank < 3 || !value_is_constant(value) || shape->rank < 1 ||
        shape->dim[shape->rank - 1] != out->dim[out->rank - 1] ||
        shape_elements(shape) != shape->dim[shape->rank - 1]) {
        return NULL;
    }
    return value_numbers(value, count);
}

static struct value *binary(struct lowering *l, enum binary op, struct value *a, struct value *b,
                            const struct shape *out)
{
    bool is_left = value_is_constant(a) || !shape_same_dims(&a->shape, out);
    struct value *x = is_left ? b : a, *other = is_left ? a : b;
    struct epilogue epilogue = {0};
    double number;
    int64_t count;
    if (!element_type_is_float(out->type)) {
        return lower_fail(l, "kernels compute with floats, this is %s",
                          element_type_name(out->type));
    }
    if (!shape_same_dims(&x->shape, out)) {
        x = repeated(l, x, out);
    }
    if (value_is_number(other, &number) && number_step(op, number, is_left, &epilogue)) {
        return lower_to_steps(l, NULL, x, &epilogue, NULL, NULL, NULL, ELEMENT_NONE);
    }
    g_autofree double *list = lower_channel_numbers(other, out->rank, out->dim[1]);
    if (list != NULL) {
        struct value *done = with_list(l, op, x, list, out->dim[1], is_left);
        if (done != NULL) {
            return done;
        }
    }
    g_autofree double *last = list == NULL ? last_axis_numbers(other, out, &count) : NULL;
    if (last != NULL) {
        int64_t dims[] = {shape_elements(out) / count, count};
        struct value *done = with_list(l, op, graph_reshape(x, 2, dims), last, count, is_left);
        if (done != NULL) {
            return graph_reshape(done, out->rank, out->dim);
        }
    }
    struct value *residual =
        shape_same_dims(&other->shape, out) ? other : graph_broadcast(other, out->rank, out->dim);
    if (is_left && op == BINARY_DIV) {
        x = repeated(l, other, out);
        residual = b;
        is_left = false;
    }
    if (is_left && op == BINARY_SUB) {
        epilogue_add(&epilogue, EPILOGUE_AFFINE, -1, 0, false);
        op = BINARY_ADD;
    }
    epilogue_add(&epilogue, residual_ops[op], 0, 0, false);
    return lower_to_steps(l, NULL, x, &epilogue, NULL, residual, NULL, ELEMENT_NONE);
}

static struct value *lower_binary(struct lowering *l)
{
    static const char *const names[] = {"Add", "Sub", "Mul", "Div", "Max", "Min"};
    int op = 0;
    while (strcmp(names[op], l->node->op->name) != 0) {
        op++;
    }
    struct value *result = lower_input(l, 0);
    struct shape so_far = result->shape;
    if (l->node->input_count == 1) {
        return result;
    }
    for (int i = 1; i < l->node->input_count; i++) {
        int rank;
        int64_t dims[SHAPE_MAX_RANK];
        const struct shape *next = &lower_input(l, i)->shape;
        shape_broadcast_dims(&so_far, next, &rank, dims, NULL);
        shape_set_packed(&so_far, l->y->type, rank, dims, NULL);
        result = binary(l, (enum binary)op, result, lower_input(l, i), &so_far);
        if (result == NULL) {
            return NULL;
        }
        graph_propagate(l->graph);
    }
    return result;
}

static struct value *lower_sum(struct lowering *l)
{
    struct value *result = lower_input(l, 0);
    bool is_mean = strcmp(l->node->op->name, "Mean") == 0;
    for (int i = 1; i < l->node->input_count; i++) {
        int rank;
        int64_t dims[SHAPE_MAX_RANK];
        struct shape out;
        shape_broadcast_dims(&result->shape, &lower_input(l, i)->shape, &rank, dims, NULL);
        shape_set_packed(&out, l->y->type, rank, dims, NULL);
        result = binary(l, BINARY_ADD, result, lower_input(l, i), &out);
        if (result == NULL) {
            return NULL;
        }
        graph_propagate(l->graph);
    }
    return is_mean
               ? lower_to_step(l, "mean", result, EPILOGUE_AFFINE, 1.0 / l->node->input_count, 0)
               : result;
}

/* Functions of one element: the step, and where its numbers come from. */
static const struct {
    const char *name;
    enum epilogue_op op;
    const char *a; /* attribute, or NULL */
    double a_missing;
    const char *b;
    double b_missing;
} unaries[] = {
    {"Relu", EPILOGUE_RELU, NULL, 0, NULL, 0},
    {"LeakyRelu", EPILOGUE_LEAKY, "alpha", 0.01f, NULL, 0},
    {"Elu", EPILOGUE_ELU, "alpha", 1, NULL, 0},
    {"HardSigmoid", EPILOGUE_HARDSIGMOID, "alpha", 0.2f, "beta", 0.5},
    {"Sigmoid", EPILOGUE_SIGMOID, NULL, 0, NULL, 0},
    {"Tanh", EPILOGUE_TANH, NULL, 0, NULL, 0},
    {"Exp", EPILOGUE_EXP, NULL, 0, NULL, 0},
    {"Sqrt", EPILOGUE_SQRT, NULL, 0, NULL, 0},
    {"Abs", EPILOGUE_ABS, NULL, 0, NULL, 0},
    {"Erf", EPILOGUE_ERF, NULL, 0, NULL, 0},
    {"HardSwish", EPILOGUE_HARDSWISH, NULL, 0, NULL, 0},
    {"Softplus", EPILOGUE_SOFTPLUS, NULL, 0, NULL, 0},
    {"Mish", EPILOGUE_MISH, NULL, 0, NULL, 0},
    {"Neg", EPILOGUE_AFFINE, NULL, -1, NULL, 0},
};

static struct value *lower_unary(struct lowering *l)
{
    size_t i = 0;
    while (strcmp(unaries[i].name, l->node->op->name) != 0) {
        i++;
    }
    double a = unaries[i].a != NULL ? lower_float(l, unaries[i].a, unaries[i].a_missing)
                                    : unaries[i].a_missing;
    double b = unaries[i].b != NULL ? lower_float(l, unaries[i].b, unaries[i].b_missing)
                                    : unaries[i].b_missing;
    return lower_to_step(l, NULL, lower_input(l, 0), unaries[i].op, a, b);
}

static struct value *lower_gelu(struct lowering *l)
{
    if (strcmp(lower_string(l, "approximate", "none"), "none") != 0) {
        return lower_fail(l, "its approximation by tanh is not among the kernels' functions");
    }
    return lower_to_step(l, NULL, lower_input(l, 0), EPILOGUE_GELU, 0, 0);
}

static struct value *lower_selu(struct lowering *l)
{
    struct epilogue epilogue = {0};
    epilogue_add(&epilogue, EPILOGUE_ELU, lower_float(l, "alpha", 1.67326319217681884765625), 0,
                 false);
    epilogue_add(&epilogue, EPILOGUE_AFFINE, lower_float(l, "gamma", 1.05070102214813232421875), 0,
                 false);
    return lower_to_steps(l, NULL, lower_input(l, 0), &epilogue, NULL, NULL, NULL, ELEMENT_NONE);
}

static struct value *lower_clip(struct lowering *l)
{
    double low = -FLT_MAX, high = FLT_MAX;
    for (int i = 1; i <= 2; i++) {
        struct value *bound = lower_input(l, i);
        if (bound != NULL && !value_is_number(bound, i == 1 ? &low : &high)) {
            return lower_fail(l, "its bounds are computed, they must be constants");
        }
    }
    low = MAX(low, -FLT_MAX);
    high = MIN(high, FLT_MAX);
    return low == 0 && high == FLT_MAX
               ? lower_to_step(l, NULL, lower_input(l, 0), EPILOGUE_RELU, 0, 0)
               : lower_to_step(l, NULL, lower_input(l, 0), EPILOGUE_CLIP, low, high);
}

static struct value *lower_prelu(struct lowering *l)
{
    double slope;
    struct epilogue epilogue = {0};
    if (value_is_number(lower_input(l, 1), &slope)) {
        return lower_to_step(l, NULL, lower_input(l, 0), EPILOGUE_LEAKY, slope, 0);
    }
    g_autofree double *slopes =
        l->y->rank >= 2 ? lower_channel_numbers(lower_input(l, 1), l->y->rank, l->y->dim[1]) : NULL;
    if (slopes == NULL) {
        return lower_fail(l, "its slopes must be constants, one for each channel");
    }
    epilogue_add(&epilogue, EPILOGUE_PRELU, 0, 0, true);
    return lower_to_steps(l, NULL, lower_input(l, 0), &epilogue, NULL, NULL,
                          lower_floats(l, "slopes", slopes, l->y->dim[1]), ELEMENT_NONE);
}

static struct value *lower_pow(struct lowering *l)
{
    double power;
    struct epilogue epilogue = {0};
    struct value *x = lower_input(l, 0);
    if (!value_is_number(lower_input(l, 1), &power) || !shape_same_dims(l->x, l->y)) {
        return lower_fail(l, "its exponent must be one constant");
    }
    if (power == 1) {
        return x;
    }
    if (power == 0.5) {
        return lower_to_step(l, NULL, x, EPILOGUE_SQRT, 0, 0);
    }
    if (power != 2) {
        return lower_fail(l, "its exponent is %g, kernels do 0.5, 1 and 2", power);
    }
    epilogue_add(&epilogue, EPILOGUE_MUL, 0, 0, false);
    return lower_to_steps(l, NULL, x, &epilogue, NULL, x, NULL, ELEMENT_NONE);
}

static struct value *lower_reciprocal(struct lowering *l)
{
    struct epilogue epilogue = {0};
    epilogue_add(&epilogue, EPILOGUE_DIV, 0, 0, false);
    return lower_to_steps(l, NULL, full(l, l->y, 1), &epilogue, NULL, lower_input(l, 0), NULL,
                          ELEMENT_NONE);
}

static struct value *lower_batch_norm(struct lowering *l)
{
    int64_t channels = l->x->rank > 1 ? l->x->dim[1] : 1;
    double *lists[4] = {NULL};
    struct epilogue epilogue = {0};
    struct value *result = NULL;
    double epsilon = lower_float(l, "epsilon", 1e-5f);
    bool is_known = lower_int(l, "training_mode", 0) == 0;
    for (int i = 0; i < 4; i++) {
        int64_t count = 0;
        lists[i] = value_numbers(lower_input(l, i + 1), &count);
        is_known = is_known && lists[i] != NULL && count == channels;
    }
    for (int64_t c = 0; c < channels && is_known; c++) {
        double factor = lists[0][c] / sqrt(lists[3][c] + epsilon);
        lists[1][c] -= lists[2][c] * factor;
        lists[0][c] = factor;
    }
    if (is_known) {
        epilogue_add(&epilogue, EPILOGUE_SCALE, 0, 0, true);
        epilogue_add(&epilogue, EPILOGUE_BIAS, 0, 0, false);
        result = lower_to_steps(l, NULL, lower_input(l, 0), &epilogue,
                                lower_floats(l, "bias", lists[1], channels), NULL,
                                lower_floats(l, "scale", lists[0], channels), ELEMENT_NONE);
    } else {
        lower_fail(l, "its scale, bias, mean and variance must be constants");
    }
    for (int i = 0; i < 4; i++) {
        g_free(lists[i]);
    }
    return result;
}

const struct lower_row lower_pointwise_rows[] = {
    {"BatchNormalization", lower_batch_norm},
    {"Add", lower_binary},
    {"Sub", lower_binary},
    {"Mul", lower_binary},
    {"Div", lower_binary},
    {"Max", lower_binary},
    {"Min", lower_binary},
    {"Sum", lower_sum},
    {"Mean", lower_sum},
    {"Relu", lower_unary},
    {"LeakyRelu", lower_unary},
    {"Elu", lower_unary},
    {"HardSigmoid", lower_unary},
    {"Sigmoid", lower_unary},
    {"Tanh", lower_unary},
    {"Exp", lower_unary},
    {"Sqrt", lower_unary},
    {"Abs", lower_unary},
    {"Erf", lower_unary},
    {"HardSwish", lower_unary},
    {"Softplus", lower_unary},
    {"Mish", lower_unary},
    {"Neg", lower_unary},
    {"Gelu", lower_gelu},
    {"com.microsoft.Gelu", lower_gelu},
    {"Selu", lower_selu},
    {"Clip", lower_clip},
    {"PRelu", lower_prelu},
    {"Pow", lower_pow},
    {"Reciprocal", lower_reciprocal},
    {NULL, NULL},
};
