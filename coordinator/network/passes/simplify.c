#include "coordinator/network/host/host_eval.h"
#include "coordinator/network/passes/kernel_op.h"
#include "coordinator/network/passes/pass.h"
#include "coordinator/network/passes/passes.h"

#include <float.h>
#include <string.h>

/* ---- constants ---- */

static bool is_foldable(const struct node *node)
{
    bool shapes_are_known = true;
    for (int i = 0; i < node->output_count; i++) {
        shapes_are_known = shapes_are_known && shape_is_known(&node->outputs[i]->shape);
    }
    if (node_is_view(node) || !shapes_are_known || !host_knows(node)) {
        return false;
    }
    for (int i = 0; i < node->input_count; i++) {
        if (node->inputs[i] != NULL) {
            g_autoptr(Tensor) known = value_contents(node->inputs[i]);
            if (known == NULL) {
                return false;
            }
        }
    }
    return true;
}

static bool fold_node(struct graph *graph, struct node *node)
{
    g_autofree struct tensor **outputs = g_new0(struct tensor *, node->output_count);
    if (!host_evaluate_node(node, outputs, NULL)) {
        return false;
    }
    for (int i = 0; i < node->output_count; i++) {
        if (outputs[i] != NULL) {
            struct value *constant = graph_add_constant(graph, NULL, outputs[i]);
            bool is_replaced = graph_replace_value(node->outputs[i], constant, NULL);
            g_assert(is_replaced);
            tensor_unref(outputs[i]);
        }
    }
    return graph_remove_node(node, NULL);
}

int network_fold_constants(struct graph *graph)
{
    int folded = 0;
    graph_propagate(graph);
    for (struct node *node = graph_first(graph); node != NULL; node = node_next(node)) {
        if (is_foldable(node) && fold_node(graph, node)) {
            graph_propagate(graph);
            folded++;
        }
    }
    graph_remove_dead(graph);
    graph_propagate(graph);
    return folded;
}

/* ---- scales behind convolutions ---- */

/* The linear steps behind a convolution: its result v becomes factor[k] * v + offset[k] in channel
 * k. */
struct affine {
    int64_t channels;
    double *factor, *offset;
};

/* Adds the steps of a pointwise kernel. Returns false, with nothing changed, if one is not linear in v, or its numbers are
 * not known. */
static bool add_steps(struct affine *affine, struct node *node)
{
    struct kernel kernel;
    int64_t bias_count = 0, scale_count = 0;
    kernel_read(node, &kernel);
    if (node->inputs[KERNEL_RESIDUAL] != NULL || kernel.epilogue.count == 0) {
        return false;
    }
    g_autofree double *bias = node->inputs[KERNEL_BIAS] != NULL
                                  ? value_numbers(node->inputs[KERNEL_BIAS], &bias_count)
                                  : NULL;
    g_autofree double *scales = node->inputs[KERNEL_SCALES] != NULL
                                    ? value_numbers(node->inputs[KERNEL_SCALES], &scale_count)
                                    : NULL;
    for (int i = 0; i < kernel.epilogue.count; i++) {
        enum epilogue_op op = kernel.epilogue.steps[i].op;
        bool is_linear = (op == EPILOGUE_BIAS && bias_count == affine->channels) ||
                         (op == EPILOGUE_SCALE && scale_count > 0) || op == EPILOGUE_AFFINE;
        if (!is_linear) {
            return false;
        }
    }
    for (int i = 0; i < kernel.epilogue.count; i++) {
        const struct epilogue_step *step = &kernel.epilogue.steps[i];
        for (int64_t k = 0; k < affine->channels; k++) {
            double factor = step->op == EPILOGUE_AFFINE  ? step->a
                            : step->op == EPILOGUE_SCALE ? scales[step->per_channel ? k : 0]
                                                         : 1;
            double offset = step->op == EPILOGUE_AFFINE ? step->b
                            : step->op == EPILOGUE_BIAS ? bias[k]
                                                        : 0;
            affine->factor[k] *= factor;
            affine->offset[k] = affine->offset[k] * factor + offset;
        }
    }
    return true;
}

/* The pointwise kernel that alone reads the value as it is, or through a reshape that leaves axes 0 and 1 alone. */
static struct node *only_pointwise(struct value *value, int64_t channels)
{
    struct node *user = value_only_user(value);
    while (user != NULL && node_is_view(user) && node_output(user)->shape.rank >= 2 &&
           node_output(user)->shape.dim[0] == value->shape.dim[0] &&
           node_output(user)->shape.dim[1] == channels &&
           shape_elements(&node_output(user)->shape) == shape_elements(&value->shape) &&
           (user->op == &op_reshape || strcmp(user->op->name, "Reshape") == 0 ||
            strcmp(user->op->name, "Flatten") == 0 || strcmp(user->op->name, "Identity") == 0)) {
        user = value_only_user(node_output(user));
    }
    return user != NULL && node_is_kernel_of(user, OP_POINTWISE) &&
                   user->inputs[KERNEL_RESIDUAL] == NULL
               ? user
               : NULL;
}

/* The filter with each output channel's elements multiplied by its factor. */
static struct tensor *scaled_filter(const struct tensor *w, const struct kernel *kernel,
                                    const double *factor)
{
    const struct shape *shape = &w->shape;
    int64_t count = shape_elements(shape), taps = 1;
    void *data = g_malloc((gsize)MAX(shape_bytes(shape), 1));
    for (int i = 2; i < shape->rank; i++) {
        taps *= shape->dim[i];
    }
    if (shape->type == ELEMENT_FLOAT32 && !kernel->is_transposed) {
        const float *from = tensor_data(w);
        int64_t length = count / shape->dim[0];
        for (int64_t i = 0; i < count; i++) {
            ((float *)data)[i] = (float)(from[i] * factor[i / length]);
        }
        return tensor_take(shape, data);
    }
    for (int64_t i = 0; i < count; i++) {
        int64_t row = i / (count / shape->dim[0]), column = i / taps % shape->dim[1];
        int64_t per_group = shape->dim[0] / kernel->groups;
        int64_t k = kernel->is_transposed ? row / per_group * shape->dim[1] + column : row;
        element_write(data, shape->type, i,
                      element_read(tensor_data(w), shape->type, i) * factor[k]);
    }
    return tensor_take(shape, data);
}

/* Folds what follows one convolution. Returns the number of pointwise kernels that are gone. */
static int fold_behind(struct graph *graph, struct node *conv)
{
    struct kernel kernel;
    struct node *chain[EPILOGUE_STEPS_MAX * 2];
    int length = 0;
    struct value *y = node_output(conv);
    kernel_read(conv, &kernel);
    if (kernel.epilogue.count != 0 || !value_is_constant(conv->inputs[KERNEL_W]) ||
        !element_type_is_float(conv->inputs[KERNEL_W]->shape.type)) {
        return 0;
    }
    int64_t channels = y->shape.dim[1];
    struct affine affine = {channels, g_new(double, channels), g_new0(double, channels)};
    bool has_factor = false, has_offset = false;
    for (int64_t k = 0; k < channels; k++) {
        affine.factor[k] = 1;
    }
    struct value *end = y;
    for (struct node *next = only_pointwise(y, channels);
         next != NULL && length < (int)G_N_ELEMENTS(chain) && add_steps(&affine, next);
         next = only_pointwise(end, channels)) {
        chain[length++] = next;
        end = node_output(next);
    }
    for (int64_t k = 0; k < channels; k++) {
        has_factor |= affine.factor[k] != 1;
        has_offset |= affine.offset[k] != 0;
    }
    int gone = 0;
    g_autoptr(Tensor) w = has_factor ? value_contents(conv->inputs[KERNEL_W]) : NULL;
    if (length > 0 && (has_factor ? w != NULL : length > 1)) {
        struct node *last = chain[length - 1];
        if (has_factor) {
            g_autoptr(Tensor) scaled = scaled_filter(w, &kernel, affine.factor);
            graph_set_input(conv, KERNEL_W, graph_add_constant(graph, NULL, scaled), NULL);
        }
        for (int i = 0; i + (has_offset ? 1 : 0) < length; i++) {
            kernel_write(conv, &kernel, kernel_nodes(chain[i]));
            gone++;
        }
        if (has_offset) {
            struct kernel bias;
            kernel_read(last, &bias);
            bias.epilogue.count = 0;
            epilogue_add(&bias.epilogue, EPILOGUE_BIAS, 0, 0, false);
            g_autofree char *name = g_strconcat(node_name(conv), ".folded_bias", NULL);
            struct value *inputs[KERNEL_INPUTS] = {
                chain[0]->inputs[KERNEL_X], NULL,
                add_float32s(graph, name, affine.offset, channels)};
            bool is_set = graph_set_inputs(last, inputs, KERNEL_INPUTS, NULL);
            g_assert(is_set);
            for (int i = 0; i + 1 < length; i++) {
                kernel_write(last, &bias, kernel_nodes(chain[i]));
            }
            kernel_write(last, &bias, NULL);
        } else {
            struct value *x = chain[0]->inputs[KERNEL_X];
            const struct shape *shape = &end->shape;
            x = shape_same_dims(&x->shape, shape) ? x : graph_reshape(x, shape->rank, shape->dim);
            graph_replace_value(end, x, NULL);
        }
    }
    g_free(affine.factor);
    g_free(affine.offset);
    return gone;
}

int network_fold_scales(struct graph *graph)
{
    int gone = 0;
    graph_propagate(graph);
    for (struct node *node = graph_first(graph); node != NULL; node = node_next(node)) {
        if (node_is_kernel_of(node, OP_CONV)) {
            gone += fold_behind(graph, node);
            graph_propagate(graph);
        }
    }
    graph_remove_dead(graph);
    graph_propagate(graph);
    return gone;
}

/* ---- borders ---- */

/* Whether the kernel may count the border's elements as its own padding. */
static bool padding_is(const struct kernel *kernel, double number)
{
    bool has_padding = kernel->pad[0] != 0 || kernel->pad[1] != 0 || kernel->pad[2] != 0;
    if (kernel->kind == OP_CONV) {
        return number == 0 && !kernel->is_transposed;
    }
    if (strcmp(kernel->mode, "max") == 0) {
        return number <= -FLT_MAX;
    }
    return number == 0 && (!has_padding || strcmp(kernel->mode, "average_all") == 0);
}

/* Whether each window of a pool still holds an element of the input, as a problem must have it. */
static bool windows_hold(const struct kernel *kernel, int a, int64_t size, int64_t reach)
{
    return kernel->pad[a] < reach && (kernel->pad[a] == 0 || kernel->dilation[a] <= size) &&
           (kernel->out[a] - 1) * kernel->stride[a] - kernel->pad[a] < size;
}

static bool fold_border(struct node *border)
{
    struct node *user = value_only_user(node_output(border));
    int rank;
    const int64_t *before = attributes_ints(border->attributes, "before", &rank);
    struct kernel kernel;
    if ((!node_is_kernel_of(user, OP_CONV) && !node_is_kernel_of(user, OP_POOL)) ||
        user->inputs[KERNEL_X] != node_output(border) || before[0] != 0 || before[1] != 0) {
        return false;
    }
    kernel_read(user, &kernel);
    if (!padding_is(&kernel, attributes_float(border->attributes, "value", 0))) {
        return false;
    }
    const struct shape *x = &border->inputs[0]->shape, *padded = &node_output(border)->shape;
    if (x->dim[0] != padded->dim[0] || x->dim[1] != padded->dim[1]) {
        return false;
    }
    for (int i = 2; i < rank; i++) {
        int a = AXIS_COUNT - rank + i;
        int64_t fil = kernel.kind == OP_CONV ? user->inputs[KERNEL_W]->shape.dim[i] : kernel.fil[a];
        int64_t reach = kernel.dilation[a] * (fil - 1) + 1;
        kernel.pad[a] += before[i];
        bool counts = kernel.kind == OP_CONV || strcmp(kernel.mode, "max") != 0;
        /* A convolution's size follows from its padding. A pool that counts padding must not count more of it. */
        if (kernel.kind == OP_CONV
                ? (x->dim[i] + 2 * kernel.pad[a] - reach) / kernel.stride[a] + 1 != kernel.out[a]
                : counts && (kernel.out[a] - 1) * kernel.stride[a] + reach >
                                padded->dim[i] + kernel.pad[a] - before[i]) {
            return false;
        }
        if (kernel.kind == OP_POOL && !windows_hold(&kernel, a, x->dim[i], reach)) {
            return false;
        }
    }
    if (kernel.kind == OP_POOL && strcmp(kernel.mode, "average") == 0) {
        g_strlcpy(kernel.mode, "average_all", sizeof kernel.mode);
    }
    kernel_write(user, &kernel, NULL);
    return graph_set_input(user, KERNEL_X, border->inputs[0], NULL);
}

int network_fold_borders(struct graph *graph)
{
    int gone = 0;
    graph_propagate(graph);
    for (struct node *node = graph_first(graph); node != NULL; node = node_next(node)) {
        gone += node->op == &op_border && fold_border(node);
    }
    graph_remove_dead(graph);
    graph_propagate(graph);
    return gone;
}
