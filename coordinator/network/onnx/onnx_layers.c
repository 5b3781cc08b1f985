#include "coordinator/network/onnx/onnx_layers.h"

#include "coordinator/network/onnx/infer.h"

#include <inttypes.h>
#include <string.h>

static bool is_byte(enum element_type type)
{
    return type == ELEMENT_INT8 || type == ELEMENT_UINT8;
}

/* Sets the types of x, w and y. Sums of integers are INT32. */
static bool set_types(const struct shape *x, const struct shape *w, struct problem *p,
                      GError **error)
{
    enum data_type type;
    if (is_byte(x->type) && is_byte(w->type)) {
        p->type[TENSOR_X] = p->type[TENSOR_W] = TYPE_INT8;
        p->type[TENSOR_Y] = TYPE_INT32;
        return true;
    }
    if (x->type != w->type || !element_type_is_float(x->type) ||
        !element_type_to_data_type(x->type, &type)) {
        return infer_unsupported(error, "no solver computes %s with weights of %s",
                                 element_type_name(x->type), element_type_name(w->type));
    }
    p->type[TENSOR_X] = p->type[TENSOR_W] = p->type[TENSOR_Y] = type;
    return true;
}

/* Copies numbers of the axes in space. One axis is the width. */
static void set_space(int64_t to[AXIS_COUNT], const int64_t *from, int axes)
{
    for (int i = 0; i < axes; i++) {
        to[AXIS_COUNT - axes + i] = from[i];
    }
}

static void set_layout(const struct conv_inputs *at, struct problem *p)
{
    bool deep = p->spatial_dim == 3;
    enum layout first = deep ? LAYOUT_NCDHW : LAYOUT_NCHW, last = deep ? LAYOUT_NDHWC : LAYOUT_NHWC;
    for (int t = 0; t < TENSOR_COUNT; t++) {
        p->layout[t] = at->channels_last ? last : first;
    }
}

/* The node as functions of operators see it, with its x and w. */
static void see(const struct node *node, struct op_call *call)
{
    *call = (struct op_call){
        .op = node->op, .attributes = node->attributes, .output_count = node->output_count};
}

static bool set_padding(const struct window *window, struct problem *p, GError **error)
{
    for (int i = 0; i < window->axes; i++) {
        if (window->before[i] != window->after[i]) {
            return infer_unsupported(
                error, "its padding is %" PRId64 " before and %" PRId64 " behind axis %d of space",
                window->before[i], window->after[i], i);
        }
    }
    set_space(p->pad, window->before, window->axes);
    return true;
}

/* The transposed convolution's own fields become those of the mirrored one. */
static bool mirror(const struct op_call *call, int axes, const struct shape *x,
                   const struct shape *w, struct problem *p, GError **error)
{
    struct window window;
    struct problem mirrored;
    int64_t out[SHAPE_MAX_RANK], padding[SHAPE_MAX_RANK], left[AXIS_COUNT] = {0};
    if (!infer_transposed_window(call, axes, x->dim + 2, w->dim + 2, &window, out, padding,
                                 error)) {
        return false;
    }
    for (int i = 0; i < axes; i++) {
        padding[i] += window.before[i] - window.after[i];
        window.after[i] = window.before[i];
    }
    set_space(p->stride, window.stride, axes);
    set_space(p->dilation, window.dilation, axes);
    set_space(left, padding, axes);
    if (!set_padding(&window, p, error) || !problem_from_transposed(p, left, &mirrored, error)) {
        return false;
    }
    *p = mirrored;
    return true;
}

bool onnx_conv_problem(struct node *node, struct problem *p, GError **error)
{
    struct conv_inputs at;
    struct op_call call;
    if (!infer_conv_inputs(node->op, node->attributes, &at) ||
        strcmp(node->op->name, "DeformConv") == 0) {
        return infer_unsupported(error, "it is no convolution that solvers know");
    }
    const struct shape *x = &node->inputs[at.x]->shape, *w = &node->inputs[at.w]->shape;
    const struct shape *y = &node->outputs[0]->shape;
    int axes = x->rank - 2, first = at.channels_last ? 1 : 2;
    see(node, &call);
    problem_init(p);
    p->spatial_dim = axes == 3 ? 3 : 2;
    p->n = x->dim[0];
    p->groups = attributes_int(node->attributes, "group", 1);
    p->c = x->dim[at.channels_last ? x->rank - 1 : 1];
    p->k = y->dim[at.channels_last ? y->rank - 1 : 1];
    set_space(p->in, x->dim + first, axes);
    set_space(p->fil, w->dim + 2, axes);
    set_layout(&at, p);
    if (!set_types(x, w, p, error)) {
        return false;
    }
    if (at.is_transposed) {
        return mirror(&call, axes, x, w, p, error);
    }
    struct window window;
    if (!infer_window(&call, axes, x->dim + first, w->dim + 2, &window, error)) {
        return false;
    }
    set_space(p->stride, window.stride, axes);
    set_space(p->dilation, window.dilation, axes);
    if (!set_padding(&window, p, error)) {
        return false;
    }
    problem_set_output(p);
    return problem_validate(p, error);
}

/* The node behind which shapes end: the first one, against the edges, that failed by itself. */
static struct node *find_blame(struct value *value, struct value **input)
{
    for (;;) {
        struct node *node = value->producer;
        if (node == NULL) {
            *input = value;
            return NULL;
        }
        struct value *before = NULL;
        for (int i = 0; i < node->input_count && before == NULL; i++) {
            struct value *each = node->inputs[i];
            before = each != NULL && !shape_is_known(&each->shape) ? each : NULL;
        }
        if (before == NULL || node->op == &op_unknown) {
            return node;
        }
        value = before;
    }
}

/* Returns the name of a node's operator, also of an operator that has no row. */
static const char *operator_name(const struct node *node)
{
    return node->op == &op_unknown ? attributes_string(node->attributes, "op", "?")
                                   : node->op->name;
}

char *onnx_blame(struct value *value, bool *invalid)
{
    struct value *input = NULL;
    struct node *node = find_blame(value, &input);
    *invalid = false;
    if (node == NULL) {
        return g_strdup_printf("the size of input '%s' is not known", value_name(input));
    }
    *invalid = g_error_matches(node->error, NETWORK_ERROR, NETWORK_ERROR_INVALID);
    return g_strdup_printf("node '%s' (%s): %s", node_name(node), operator_name(node),
                           node->error != NULL ? node->error->message : "its shape is not known");
}

static void layer_clear(gpointer data)
{
    g_free(((struct onnx_layer *)data)->reason);
}

static void read_layer(struct node *node, const struct conv_inputs *at, struct onnx_layer *layer)
{
    g_autoptr(GError) wrong = NULL;
    const struct shape *x = &node->inputs[at->x]->shape, *w = &node->inputs[at->w]->shape;
    layer->name = node_name(node);
    layer->op = node->op->name;
    layer->is_transposed = at->is_transposed;
    if (!shape_is_known(&node->outputs[0]->shape)) {
        layer->reason = onnx_blame(node->outputs[0], &layer->invalid);
        return;
    }
    layer->is_integer = is_byte(x->type) && is_byte(w->type);
    layer->is_unsigned =
        layer->is_integer && (x->type == ELEMENT_UINT8 || w->type == ELEMENT_UINT8);
    if (!onnx_conv_problem(node, &layer->problem, &wrong)) {
        layer->reason =
            g_strdup_printf("node '%s' (%s): %s", layer->name, layer->op, wrong->message);
    }
}

GArray *onnx_layers(Graph *graph)
{
    GArray *layers = g_array_new(FALSE, TRUE, sizeof(struct onnx_layer));
    int position = 0;
    g_array_set_clear_func(layers, layer_clear);
    for (struct node *node = graph->first; node != NULL; node = node_next(node)) {
        struct conv_inputs at;
        position++;
        if (infer_conv_inputs(node->op, node->attributes, &at)) {
            struct onnx_layer layer = {.position = position};
            read_layer(node, &at, &layer);
            g_array_append_val(layers, layer);
        }
    }
    return layers;
}
