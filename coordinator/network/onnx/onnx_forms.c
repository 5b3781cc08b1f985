#include "coordinator/network/onnx/onnx_forms.h"

#include "coordinator/network/onnx/infer.h"
#include "coordinator/network/onnx/onnx_ops.h"

#include <inttypes.h>
#include <string.h>

enum element_type onnx_element_type(int64_t type)
{
    static const enum element_type types[ONNX_TYPE_COUNT] = {
        [ONNX_FLOAT] = ELEMENT_FLOAT32,
        [ONNX_UINT8] = ELEMENT_UINT8,
        [ONNX_INT8] = ELEMENT_INT8,
        [ONNX_UINT16] = ELEMENT_UINT16,
        [ONNX_INT16] = ELEMENT_INT16,
        [ONNX_INT32] = ELEMENT_INT32,
        [ONNX_INT64] = ELEMENT_INT64,
        [ONNX_BOOL] = ELEMENT_BOOL,
        [ONNX_FLOAT16] = ELEMENT_FLOAT16,
        [ONNX_DOUBLE] = ELEMENT_FLOAT64,
        [ONNX_UINT32] = ELEMENT_UINT32,
        [ONNX_UINT64] = ELEMENT_UINT64,
        [ONNX_BFLOAT16] = ELEMENT_BFLOAT16,
        [ONNX_FLOAT8E4M3FN] = ELEMENT_FLOAT8_E4M3,
        [ONNX_FLOAT8E5M2] = ELEMENT_FLOAT8_E5M2,
    };
    return type > 0 && type < ONNX_TYPE_COUNT ? types[type] : ELEMENT_NONE;
}

/* ---- attributes ---- */

/* The kinds of attributes whose misreading would change a shape. */
static const struct {
    const char *name;
    enum attribute_kind kind;
} kinds[] = {
    {"kernel_shape", ATTRIBUTE_INTS},
    {"strides", ATTRIBUTE_INTS},
    {"dilations", ATTRIBUTE_INTS},
    {"pads", ATTRIBUTE_INTS},
    {"output_shape", ATTRIBUTE_INTS},
    {"output_padding", ATTRIBUTE_INTS},
    {"axes", ATTRIBUTE_INTS},
    {"perm", ATTRIBUTE_INTS},
    {"split", ATTRIBUTE_INTS},
    {"starts", ATTRIBUTE_INTS},
    {"ends", ATTRIBUTE_INTS},
    {"pooled_shape", ATTRIBUTE_INTS},
    {"auto_pad", ATTRIBUTE_STRING},
    {"mode", ATTRIBUTE_STRING},
    {"equation", ATTRIBUTE_STRING},
    {"group", ATTRIBUTE_INT},
    {"axis", ATTRIBUTE_INT},
    {"keepdims", ATTRIBUTE_INT},
    {"ceil_mode", ATTRIBUTE_INT},
    {"transA", ATTRIBUTE_INT},
    {"transB", ATTRIBUTE_INT},
    {"blocksize", ATTRIBUTE_INT},
    {"to", ATTRIBUTE_INT},
};

static const char *kind_name(enum attribute_kind kind)
{
    switch (kind) {
    case ATTRIBUTE_INT: return "an integer";
    case ATTRIBUTE_INTS: return "a list of integers";
    case ATTRIBUTE_FLOAT: return "a number";
    case ATTRIBUTE_FLOATS: return "a list of numbers";
    case ATTRIBUTE_STRING: return "a text";
    case ATTRIBUTE_STRINGS: return "a list of texts";
    case ATTRIBUTE_TENSOR: return "a tensor";
    }
    g_assert_not_reached();
}

static bool check_kinds(struct onnx_draft *draft, GError **error)
{
    bool own = draft->domain[0] == '\0';
    for (size_t i = 0; own && i < G_N_ELEMENTS(kinds); i++) {
        const struct attribute *found = attributes_find(draft->attributes, kinds[i].name);
        if (found == NULL || found->kind == kinds[i].kind) {
            continue;
        }

        return infer_invalid(error, "its attribute %s is %s, it must be %s", kinds[i].name,
                             kind_name(found->kind), kind_name(kinds[i].kind));
    }
    return true;
}

/* ---- attributes that became inputs ---- */

static void set_input(struct onnx_draft *draft, guint index, struct value *value)
{
    while (draft->inputs->len <= index) {
        g_ptr_array_add(draft->inputs, NULL);
    }
    draft->inputs->pdata[index] = value;
}

static struct value *add_constant(Graph *graph, struct tensor *tensor)
{
    struct value *value = graph_add_constant(graph, NULL, tensor);
    tensor_unref(tensor);
    return value;
}

/* Moves a list of integers, or one integer, into an input. */
static void move_ints(Graph *graph, struct onnx_draft *draft, const char *name, guint index)
{
    int count;
    const int64_t *ints = attributes_ints(draft->attributes, name, &count);
    const struct attribute *found = attributes_find(draft->attributes, name);
    if (ints != NULL) {
        set_input(draft, index, add_constant(graph, tensor_new_int64s(ints, count)));
    } else if (found != NULL && found->kind == ATTRIBUTE_INT) {
        set_input(draft, index, add_constant(graph, tensor_new_int64s(found->ints, 1)));
    }
    attributes_remove(draft->attributes, name);
}

static void move_float(Graph *graph, struct onnx_draft *draft, const char *name, guint index)
{
    const struct attribute *found = attributes_find(draft->attributes, name);
    if (found != NULL && found->kind == ATTRIBUTE_FLOAT) {
        float value = (float)found->floats[0];
        struct shape shape;
        shape_set_packed(&shape, ELEMENT_FLOAT32, 0, NULL, NULL);
        set_input(draft, index,
                  add_constant(graph, tensor_take(&shape, g_memdup2(&value, sizeof value))));
    }
    attributes_remove(draft->attributes, name);
}

static bool modern_clip(Graph *graph, struct onnx_draft *draft, GError **error)
{
    (void)error;
    move_float(graph, draft, "min", 1);
    move_float(graph, draft, "max", 2);
    return true;
}

static bool modern_dropout(Graph *graph, struct onnx_draft *draft, GError **error)
{
    (void)error;
    move_float(graph, draft, "ratio", 1);
    return true;
}

static bool modern_pad(Graph *graph, struct onnx_draft *draft, GError **error)
{
    (void)error;
    move_ints(graph, draft, "pads", 1);
    move_float(graph, draft, "value", 2);
    return true;
}

static bool modern_axes(Graph *graph, struct onnx_draft *draft, GError **error)
{
    (void)error;
    move_ints(graph, draft, "axes", 1);
    return true;
}

static bool modern_split(Graph *graph, struct onnx_draft *draft, GError **error)
{
    (void)error;
    move_ints(graph, draft, "split", 1);
    return true;
}

static bool modern_slice(Graph *graph, struct onnx_draft *draft, GError **error)
{
    (void)error;
    move_ints(graph, draft, "starts", 1);
    move_ints(graph, draft, "ends", 2);
    move_ints(graph, draft, "axes", 3);
    return true;
}

static bool modern_top_k(Graph *graph, struct onnx_draft *draft, GError **error)
{
    (void)error;
    move_ints(graph, draft, "k", 1);
    return true;
}

/* Scales are the second input, or in opset 7 an attribute. */
static bool modern_upsample(Graph *graph, struct onnx_draft *draft, GError **error)
{
    int count;
    const double *scales = attributes_floats(draft->attributes, "scales", &count);
    struct value *input = draft->inputs->len > 1 ? draft->inputs->pdata[1] : NULL;
    if (scales != NULL) {
        g_autofree float *given = g_new(float, (gsize)MAX(count, 1));
        for (int i = 0; i < count; i++) {
            given[i] = (float)scales[i];
        }
        input = add_constant(graph, tensor_new_float32s(given, count));
    }
    if (input == NULL) {
        return infer_invalid(error, "it has no scales");
    }
    g_ptr_array_set_size(draft->inputs, MIN(draft->inputs->len, 1));
    set_input(draft, 2, input);
    attributes_remove(draft->attributes, "scales");
    attributes_set_string(draft->attributes, "coordinate_transformation_mode", "asymmetric");
    attributes_set_string(draft->attributes, "nearest_mode", "floor");
    draft->op = "Resize";
    return true;
}

static bool modern_softmax(Graph *graph, struct onnx_draft *draft, GError **error)
{
    (void)graph;
    (void)error;
    attributes_set_int(draft->attributes, "axis", attributes_int(draft->attributes, "axis", 1));
    attributes_set_int(draft->attributes, "to_end", 1);
    return true;
}

static bool set_softmax_axis(Graph *graph, struct onnx_draft *draft, GError **error)
{
    (void)graph;
    (void)error;
    attributes_set_int(draft->attributes, "axis", attributes_int(draft->attributes, "axis", -1));
    return true;
}

static bool sum_of_two(Graph *graph, struct onnx_draft *draft, GError **error)
{
    (void)graph;
    (void)error;
    if (draft->inputs->len == 2) {
        draft->op = "Add";
    }
    return true;
}

static bool type_attribute(Graph *graph, struct onnx_draft *draft, GError **error)
{
    (void)graph;
    (void)error;
    const char *name = strcmp(draft->op, "Cast") == 0 ? "to" : "dtype";
    const struct attribute *found = attributes_find(draft->attributes, name);
    if (found != NULL && found->kind == ATTRIBUTE_INT) {
        attributes_set_int(draft->attributes, name, onnx_element_type(found->ints[0]));
    }
    return true;
}

#define ALL (ONNX_OPSET_MAX + 1)

/* The operator's form changed in the opset `since`; older models get the function. */
static const struct form {
    const char *op;
    int since;
    bool (*modernise)(Graph *graph, struct onnx_draft *draft, GError **error);
} forms[] = {
    {"Clip", 11, modern_clip},
    {"Dropout", 12, modern_dropout},
    {"Pad", 11, modern_pad},
    {"ReduceL1", 18, modern_axes},
    {"ReduceL2", 18, modern_axes},
    {"ReduceLogSum", 18, modern_axes},
    {"ReduceLogSumExp", 18, modern_axes},
    {"ReduceMax", 18, modern_axes},
    {"ReduceMean", 18, modern_axes},
    {"ReduceMin", 18, modern_axes},
    {"ReduceProd", 18, modern_axes},
    {"ReduceSum", 13, modern_axes},
    {"ReduceSumSquare", 18, modern_axes},
    {"Slice", 10, modern_slice},
    {"Split", 13, modern_split},
    {"Squeeze", 13, modern_axes},
    {"Unsqueeze", 13, modern_axes},
    {"TopK", 10, modern_top_k},
    {"Upsample", ALL, modern_upsample},
    {"Resize", 11, modern_upsample},
    {"Softmax", 13, modern_softmax},
    {"LogSoftmax", 13, modern_softmax},
    {"Hardmax", 13, modern_softmax},
    {"Softmax", ALL, set_softmax_axis},
    {"LogSoftmax", ALL, set_softmax_axis},
    {"Hardmax", ALL, set_softmax_axis},
    {"Sum", ALL, sum_of_two},
    {"Cast", ALL, type_attribute},
    {"EyeLike", ALL, type_attribute},
    {"RandomNormalLike", ALL, type_attribute},
    {"RandomUniformLike", ALL, type_attribute},
};

bool onnx_draft_modernise(Graph *graph, struct onnx_draft *draft, int opset, GError **error)
{
    if (!check_kinds(draft, error)) {
        return false;
    }
    const char *given = draft->op;
    for (size_t i = 0; draft->domain[0] == '\0' && i < G_N_ELEMENTS(forms); i++) {
        if (opset < forms[i].since && strcmp(given, forms[i].op) == 0 &&
            !forms[i].modernise(graph, draft, error)) {
            return false;
        }
    }
    return true;
}

/* ---- padding ---- */

/* The node as its operator's functions see it. */
struct seen {
    struct op_call call;
    const struct shape *inputs[16];
    const struct tensor *constants[16];
};

static bool see(const struct node *node, struct seen *seen)
{
    if (node->input_count > (int)G_N_ELEMENTS(seen->inputs)) {
        return false;
    }
    for (int i = 0; i < node->input_count; i++) {
        const struct value *value = node->inputs[i];
        if (value != NULL && !shape_is_known(&value->shape)) {
            return false;
        }
        seen->inputs[i] = value != NULL ? &value->shape : NULL;
        seen->constants[i] = value != NULL ? value->constant : NULL;
    }
    seen->call = (struct op_call){.op = node->op,
                                  .attributes = node->attributes,
                                  .input_count = node->input_count,
                                  .inputs = seen->inputs,
                                  .constants = seen->constants,
                                  .output_count = node->output_count};
    return true;
}

static void set_pads(Attributes *attributes, const struct window *window)
{
    int64_t pads[2 * SHAPE_MAX_RANK];
    for (int i = 0; i < window->axes; i++) {
        pads[i] = window->before[i];
        pads[i + window->axes] = window->after[i];
    }
    attributes_set_ints(attributes, "pads", pads, 2 * window->axes);
    attributes_remove(attributes, "auto_pad");
}

static bool is_uneven(const struct window *window)
{
    for (int i = 0; i < window->axes; i++) {
        if (window->before[i] != window->after[i]) {
            return true;
        }
    }
    return false;
}

/* Adds a Pad node with the window's padding in front of the convolution, and takes the padding from the window. */
static void pad_input(struct node *node, const struct conv_inputs *at, struct window *window)
{
    Graph *graph = node->graph;
    struct value *x = node->inputs[at->x];
    int rank = x->shape.rank, first = at->channels_last ? 1 : 2;
    int64_t pads[2 * SHAPE_MAX_RANK] = {0};
    for (int i = 0; i < window->axes; i++) {
        pads[first + i] = window->before[i];
        pads[rank + first + i] = window->after[i];
        window->before[i] = window->after[i] = 0;
    }
    /* The new border is zero, or the zero point of a quantised tensor. */
    bool quantised = strcmp(node->op->name, "ConvInteger") == 0 ||
                     g_str_has_suffix(node->op->name, "QLinearConv");
    struct value *zero = quantised && node->input_count > 2 ? node->inputs[2] : NULL;
    struct value *inputs[] = {x, add_constant(graph, tensor_new_int64s(pads, 2 * rank)), zero};
    g_autoptr(Attributes) attributes = attributes_new();
    attributes_set_string(attributes, "mode", "constant");
    g_autofree char *name = g_strconcat(node_name(node), "/pad", NULL);
    struct node_spec spec = {.op = onnx_op_find("", "Pad"),
                             .name = name,
                             .attributes = attributes,
                             .inputs = inputs,
                             .input_count = zero != NULL ? 3 : 2,
                             .before = node};
    struct node *pad = graph_add(graph, &spec, NULL);
    g_assert(pad != NULL);
    bool set = graph_set_input(node, at->x, pad->outputs[0], NULL);
    g_assert(set);
}

/* A transposed convolution's padding takes elements from its output. A problem takes as many from both ends, and may
 * leave up to a stride at the last. Where that is not enough, it computes a larger output and a Slice takes the rest. */
static bool needs_crop(const struct window *window, const int64_t *output_padding)
{
    for (int i = 0; i < window->axes; i++) {
        int64_t left = output_padding[i] + window->before[i] - window->after[i];
        if (left < 0 || left >= window->stride[i]) {
            return true;
        }
    }
    return false;
}

static void crop_output(struct node *node, struct window *window, const int64_t *out)
{
    Graph *graph = node->graph;
    struct value *y = node->outputs[0];
    int64_t starts[SHAPE_MAX_RANK], ends[SHAPE_MAX_RANK], axes[SHAPE_MAX_RANK];
    for (int i = 0; i < window->axes; i++) {
        int64_t both = MIN(window->before[i], window->after[i]);
        axes[i] = 2 + i;
        starts[i] = window->before[i] - both;
        ends[i] = starts[i] + out[i];
        window->before[i] = window->after[i] = both;
    }
    struct value *inputs[] = {y, add_constant(graph, tensor_new_int64s(starts, window->axes)),
                              add_constant(graph, tensor_new_int64s(ends, window->axes)),
                              add_constant(graph, tensor_new_int64s(axes, window->axes))};
    g_autofree char *name = g_strconcat(node_name(node), "/crop", NULL);
    struct node_spec spec = {.op = onnx_op_find("", "Slice"),
                             .name = name,
                             .inputs = inputs,
                             .input_count = G_N_ELEMENTS(inputs)};
    struct node *slice = graph_add(graph, &spec, NULL);
    g_assert(slice != NULL);
    bool replaced = graph_replace_value(y, slice->outputs[0], NULL);
    g_assert(replaced);
    /* The model's name is that of the whole result. */
    g_autofree char *given = g_strdup(y->name), *whole = g_strconcat(value_name(y), "/whole", NULL);
    graph_rename_value(y, whole);
    graph_rename_value(slice->outputs[0], given);
}

static void settle_transposed(struct node *node, const struct conv_inputs *at,
                              const struct seen *seen)
{
    const struct shape *x = seen->inputs[at->x], *w = seen->inputs[at->w];
    struct window window;
    int axes = x->rank - 2;
    int64_t out[SHAPE_MAX_RANK], padding[SHAPE_MAX_RANK];
    if (!infer_transposed_window(&seen->call, axes, x->dim + 2, w->dim + 2, &window, out, padding,
                                 NULL)) {
        return;
    }
    bool crops = needs_crop(&window, padding);
    if (!crops && attributes_find(node->attributes, "auto_pad") == NULL &&
        attributes_find(node->attributes, "output_shape") == NULL) {
        return;
    }
    if (crops) {
        crop_output(node, &window, out);
    }
    g_autoptr(Attributes) attributes = attributes_copy(node->attributes);
    set_pads(attributes, &window);
    attributes_set_ints(attributes, "output_padding", padding, axes);
    attributes_remove(attributes, "output_shape");
    graph_set_attributes(node, attributes);
}

/* Returns true if a Pad node was added. */
static bool settle_conv(struct node *node, const struct conv_inputs *at, const struct seen *seen)
{
    const struct shape *x = seen->inputs[at->x], *w = seen->inputs[at->w];
    struct window window;
    int axes = x->rank - 2, first = at->channels_last ? 1 : 2;
    if (!infer_window(&seen->call, axes, x->dim + first, w->dim + 2, &window, NULL)) {
        return false;
    }
    bool uneven = strcmp(node->op->name, "DeformConv") != 0 && is_uneven(&window);
    if (!uneven && attributes_find(node->attributes, "auto_pad") == NULL) {
        return false;
    }
    if (uneven) {
        pad_input(node, at, &window);
    }
    g_autoptr(Attributes) attributes = attributes_copy(node->attributes);
    set_pads(attributes, &window);
    graph_set_attributes(node, attributes);
    return uneven;
}

static void settle_pool(struct node *node, const struct seen *seen)
{
    const struct shape *x = seen->inputs[0];
    g_assert(x != NULL); /* it has an output's shape */
    bool last = attributes_int(node->attributes, "channels_last", 0) != 0 ||
                strcmp(node->op->name, "com.microsoft.NhwcMaxPool") == 0;
    int count, axes = x->rank - 2;
    const int64_t *size = attributes_ints(node->attributes, "kernel_shape", &count);
    struct window window;
    if (attributes_find(node->attributes, "auto_pad") == NULL || size == NULL || count != axes ||
        !infer_window(&seen->call, axes, x->dim + (last ? 1 : 2), size, &window, NULL)) {
        return;
    }
    g_autoptr(Attributes) attributes = attributes_copy(node->attributes);
    set_pads(attributes, &window);
    graph_set_attributes(node, attributes);
}

int onnx_settle_padding(Graph *graph)
{
    int added = 0;
    for (struct node *node = graph->first, *next; node != NULL; node = next) {
        struct conv_inputs at;
        struct seen seen;
        next = node->next;
        bool conv = infer_conv_inputs(node->op, node->attributes, &at);
        bool pool = node->op->infer == infer_pool;
        /* a node without a shape is wrong, or depends on what is not known */
        if ((!conv && !pool) || node->error != NULL || !shape_is_known(&node->outputs[0]->shape) ||
            !see(node, &seen)) {
            continue;
        }
        if (conv && at.is_transposed) {
            settle_transposed(node, &at, &seen);
        } else if (conv) {
            added += settle_conv(node, &at, &seen);
        } else {
            settle_pool(node, &seen);
        }
    }
    graph_propagate(graph);
    return added;
}
