#include "coordinator/network/passes/lowering.h"

#include "coordinator/network/passes/pass.h"

struct value *lower_fail(struct lowering *l, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *why = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    node_unsupported(l->node, l->error, "%s", why);
    return NULL;
}

struct value *lower_input(struct lowering *l, int index)
{
    return index < l->node->input_count ? l->node->inputs[index] : NULL;
}

int64_t lower_int(struct lowering *l, const char *name, int64_t missing)
{
    return attributes_int(l->node->attributes, name, missing);
}

double lower_float(struct lowering *l, const char *name, double missing)
{
    return attributes_float(l->node->attributes, name, missing);
}

const char *lower_string(struct lowering *l, const char *name, const char *missing)
{
    return attributes_string(l->node->attributes, name, missing);
}

struct value *lower_apply(struct lowering *l, const char *part, const struct kernel *kernel,
                          struct value *x, struct value *w, struct value *bias,
                          struct value *residual, struct value *scales)
{
    struct value *inputs[KERNEL_INPUTS] = {x, w, bias, residual, scales};
    const char *own = node_name(l->node);
    g_autofree char *name = part != NULL ? g_strconcat(own, ".", part, NULL) : g_strdup(own);
    return kernel_add(l->graph, name, kernel, l->nodes, inputs, l->node);
}

struct value *lower_to_plane(struct value *value, const struct shape *shape)
{
    if (shape->rank != 3) {
        return value;
    }
    return graph_reshape(value, 4, (int64_t[]){shape->dim[0], shape->dim[1], 1, shape->dim[2]});
}

struct value *lower_to_output(struct lowering *l, struct value *value, int rank)
{
    return rank == l->y->rank ? value : graph_reshape(value, l->y->rank, l->y->dim);
}

struct value *lower_to_steps(struct lowering *l, const char *part, struct value *x,
                             const struct epilogue *epilogue, struct value *bias,
                             struct value *residual, struct value *scales, enum element_type type)
{
    struct kernel kernel;
    kernel_init(&kernel, OP_POINTWISE);
    kernel.epilogue = *epilogue;
    kernel.type = type;
    return lower_apply(l, part, &kernel, x, NULL, bias, residual, scales);
}

struct value *lower_to_step(struct lowering *l, const char *part, struct value *x,
                            enum epilogue_op op, double a, double b)
{
    struct epilogue epilogue = {0};
    epilogue_add(&epilogue, op, a, b, false);
    return lower_to_steps(l, part, x, &epilogue, NULL, NULL, NULL, ELEMENT_NONE);
}

double *lower_channel_numbers(struct value *value, int rank, int64_t channels)
{
    int64_t count;
    const struct shape *shape = &value->shape;
    int axis = 1 - (rank - shape->rank); /* of the constant */
    if (rank < 2 || !value_is_constant(value) || shape->rank > rank) {
        return NULL;
    }
    for (int i = 0; i < shape->rank; i++) {
        if (shape->dim[i] != 1 && (i != axis || shape->dim[i] != channels)) {
            return NULL;
        }
    }
    g_autofree double *numbers = value_numbers(value, &count);
    if (numbers == NULL || (count != 1 && count != channels)) {
        return NULL;
    }
    double *list = g_new(double, channels);
    for (int64_t i = 0; i < channels; i++) {
        list[i] = numbers[count == 1 ? 0 : i];
    }
    return list;
}

struct value *lower_floats(struct lowering *l, const char *part, const double *numbers,
                           int64_t count)
{
    g_autofree char *name = g_strconcat(node_name(l->node), ".", part, NULL);
    return add_float32s(l->graph, name, numbers, count);
}

struct value *lower_add_bias(struct lowering *l, struct value *x, struct value *bias)
{
    struct epilogue epilogue = {0};
    epilogue_add(&epilogue, EPILOGUE_BIAS, 0, 0, false);
    return lower_to_steps(l, "bias", x, &epilogue, bias, NULL, NULL, ELEMENT_NONE);
}

void lower_spread_axes(const int64_t *values, int axes, int64_t neutral, int64_t out[AXIS_COUNT])
{
    for (int a = 0; a < AXIS_COUNT; a++) {
        out[a] = a >= AXIS_COUNT - axes ? values[a - (AXIS_COUNT - axes)] : neutral;
    }
}

struct value *lower_add_border(struct lowering *l, struct value *x, int rank, const int64_t *before,
                               const int64_t *after, double number)
{
    g_autoptr(Attributes) attributes = attributes_new();
    g_autofree char *name = g_strconcat(node_name(l->node), ".border", NULL);
    attributes_set_ints(attributes, "before", before, rank);
    attributes_set_ints(attributes, "after", after, rank);
    attributes_set_float(attributes, "value", number);
    attributes_set_strings(attributes, "nodes", l->nodes, 1);
    struct node *node = graph_add(l->graph,
                                  &(struct node_spec){.op = &op_border,
                                                      .name = name,
                                                      .attributes = attributes,
                                                      .inputs = &x,
                                                      .input_count = 1,
                                                      .output_count = 1,
                                                      .before = l->node},
                                  NULL);
    return node_output(node);
}
