#include "coordinator/network/passes/kernel_op.h"

#include <math.h>
#include <string.h>

/* ---- rows ---- */

/* The layouts that tensors of kernels are stored in, by the number of axes in space. */
static const enum layout flat_layouts[] = {LAYOUT_NCHW, LAYOUT_NHWC, LAYOUT_CHWN};
static const enum layout deep_layouts[] = {LAYOUT_NCDHW, LAYOUT_NDHWC};

static enum element_type kernel_type(const struct attributes *attributes, enum op_kind kind,
                                     enum element_type x)
{
    enum element_type type = (enum element_type)attributes_int(attributes, "type", ELEMENT_NONE);
    if (type != ELEMENT_NONE) {
        return type;
    }
    return kind == OP_CONV && x == ELEMENT_INT8 ? ELEMENT_INT32 : x;
}

static bool infer_windowed(const struct op_call *call, enum op_kind kind, int64_t channels,
                           struct shape *output, GError **error)
{
    const struct shape *x = call->inputs[KERNEL_X];
    int count;
    const int64_t *out = attributes_ints(call->attributes, "out", &count);
    if (x->rank < 4 || x->rank > 5 || count != AXIS_COUNT) {
        g_set_error(error, NETWORK_ERROR, NETWORK_ERROR_INVALID,
                    "its input has %d axes, it must have 4 or 5", x->rank);
        return false;
    }
    int64_t dims[SHAPE_MAX_RANK] = {x->dim[0], channels};
    for (int i = 2; i < x->rank; i++) {
        dims[i] = out[AXIS_COUNT - x->rank + i];
    }
    return shape_set_packed(output, kernel_type(call->attributes, kind, x->type), x->rank, dims,
                            error);
}

static bool infer_conv(const struct op_call *call, struct shape *outputs, GError **error)
{
    const struct shape *w = call->inputs[KERNEL_W];
    if (w == NULL || w->rank != call->inputs[KERNEL_X]->rank) {
        g_set_error(error, NETWORK_ERROR, NETWORK_ERROR_INVALID,
                    "its filter must have as many axes as its input");
        return false;
    }
    int64_t channels = attributes_int(call->attributes, "transposed", 0) != 0
                           ? w->dim[1] * attributes_int(call->attributes, "groups", 1)
                           : w->dim[0];
    return infer_windowed(call, OP_CONV, channels, &outputs[0], error);
}

static bool infer_pool(const struct op_call *call, struct shape *outputs, GError **error)
{
    const struct shape *x = call->inputs[KERNEL_X];
    return infer_windowed(call, OP_POOL, x->rank > 1 ? x->dim[1] : 1, &outputs[0], error);
}

static bool infer_alike(const struct op_call *call, struct shape *outputs, GError **error)
{
    const struct shape *x = call->inputs[KERNEL_X];
    return shape_set_following(&outputs[0], kernel_type(call->attributes, OP_POINTWISE, x->type),
                               x->rank, x->dim, x, error);
}

static bool has_order_of(const struct shape *stored, const enum layout *layouts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        int order[SHAPE_MAX_RANK] = {0};
        int64_t last = 0;
        bool is_ordered = true;
        if (!layout_order(layouts[i], stored->rank, order)) {
            continue;
        }
        for (int a = stored->rank - 1; a >= 0; a--) {
            int axis = order[a];
            if (stored->dim[axis] > 1 && stored->stride[axis] != 0) {
                is_ordered = is_ordered && stored->stride[axis] >= last;
                last = stored->stride[axis] * stored->dim[axis];
            }
        }
        if (is_ordered) {
            return true;
        }
    }
    return false;
}

/* Returns whether the tensor's axes have the order of some layout. Gaps and repeated elements do
 * not matter. */
static bool is_in_some_layout(const struct shape *stored)
{
    return stored->rank == 5 ? has_order_of(stored, deep_layouts, G_N_ELEMENTS(deep_layouts))
                             : has_order_of(stored, flat_layouts, G_N_ELEMENTS(flat_layouts));
}

static bool kernel_reads(const struct op_call *call, int input, const struct shape *stored)
{
    bool is_pointwise = call->op == kernel_op(OP_POINTWISE);
    bool is_constant = call->constants != NULL && call->constants[input] != NULL;
    /* The contents of large constants are not shown here. The plan casts and orders a constant filter, and moves any
     * other. */
    if (input == KERNEL_W) {
        return is_constant || (!shape_is_broadcast(stored) && is_in_some_layout(stored));
    }
    if (input == KERNEL_BIAS || input == KERNEL_SCALES) {
        return is_constant || shape_is_packed(stored);
    }
    if (stored->type != call->inputs[input]->type && !is_constant) {
        enum data_type type;
        if (!is_pointwise || !element_type_to_data_type(stored->type, &type)) {
            return false;
        }
    }
    return is_constant ||
           (is_in_some_layout(stored) && (input == KERNEL_RESIDUAL || !shape_is_broadcast(stored)));
}

#define KERNEL_ROW(KIND, NAME, INFER, ABSORBS)                                                     \
    [KIND] = {.name = NAME,                                                                        \
              .min_inputs = (KIND) == OP_CONV ? 2 : 1,                                             \
              .max_inputs = KERNEL_INPUTS,                                                         \
              .min_outputs = 1,                                                                    \
              .max_outputs = 1,                                                                    \
              .absorbs = ABSORBS,                                                                  \
              .infer = INFER,                                                                      \
              .reads = kernel_reads}

static const struct op rows[OP_KIND_COUNT] = {
    KERNEL_ROW(OP_CONV, "conv", infer_conv, OP_WRITES_ORDER),
    KERNEL_ROW(OP_POOL, "pool", infer_pool, OP_WRITES_ORDER),
    KERNEL_ROW(OP_POINTWISE, "pointwise", infer_alike, OP_WRITES_ORDER | OP_WRITES_CAST),
    KERNEL_ROW(OP_SOFTMAX, "softmax", infer_alike, OP_WRITES_ORDER),
    KERNEL_ROW(OP_RESIZE, "resize", infer_pool, OP_WRITES_ORDER),
    KERNEL_ROW(OP_LRN, "lrn", infer_alike, OP_WRITES_ORDER),
};

const struct op *kernel_op(enum op_kind kind)
{
    return &rows[kind];
}

bool node_is_kernel(const struct node *node)
{
    return node != NULL && node->op >= rows && node->op < rows + OP_KIND_COUNT;
}

bool node_is_kernel_of(const struct node *node, enum op_kind kind)
{
    return node != NULL && node->op == &rows[kind];
}

/* ---- movement ---- */

static bool infer_join(const struct op_call *call, struct shape *outputs, GError **error)
{
    const struct shape *first = call->inputs[0];
    int64_t axis = attributes_int(call->attributes, "axis", 0);
    int64_t dims[SHAPE_MAX_RANK];
    memcpy(dims, first->dim, sizeof dims);
    for (int i = 1; i < call->input_count; i++) {
        const struct shape *other = call->inputs[i];
        for (int a = 0; a < first->rank; a++) {
            if (other->rank != first->rank || (a != axis && other->dim[a] != first->dim[a]) ||
                other->type != first->type) {
                g_set_error(error, NETWORK_ERROR, NETWORK_ERROR_INVALID,
                            "the tensors that it joins differ in another axis than %d, or in type",
                            (int)axis);
                return false;
            }
        }
        dims[axis] += other->dim[axis];
    }
    return shape_set_packed(&outputs[0], first->type, first->rank, dims, error);
}

static bool infer_part(const struct op_call *call, struct shape *outputs, GError **error)
{
    int rank;
    const int64_t *dims = attributes_ints(call->attributes, "dims", &rank);
    return shape_set_packed(&outputs[0], call->inputs[0]->type, rank, dims, error);
}

static bool infer_border(const struct op_call *call, struct shape *outputs, GError **error)
{
    int rank;
    const int64_t *before = attributes_ints(call->attributes, "before", &rank);
    const int64_t *after = attributes_ints(call->attributes, "after", &rank);
    const struct shape *x = call->inputs[0];
    int64_t dims[SHAPE_MAX_RANK] = {0};
    if (rank != x->rank) {
        g_set_error(error, NETWORK_ERROR, NETWORK_ERROR_INVALID,
                    "it pads %d axes, its input has %d", rank, x->rank);
        return false;
    }
    for (int i = 0; i < rank; i++) {
        dims[i] = x->dim[i] + before[i] + after[i];
    }
    return shape_set_packed(&outputs[0], x->type, rank, dims, error);
}

static bool movement_reads(const struct op_call *call, int input, const struct shape *stored)
{
    return stored->type == call->inputs[input]->type && !shape_is_broadcast(stored) &&
           (stored->rank > 5 ? shape_is_packed(stored) : is_in_some_layout(stored));
}

#define MOVEMENT_ROW(NAME, MOST, INFER)                                                            \
    {                                                                                              \
        .name = NAME, .min_inputs = 1, .max_inputs = MOST, .min_outputs = 1, .max_outputs = 1,     \
        .absorbs = OP_WRITES_ORDER, .infer = INFER, .reads = movement_reads                        \
    }

const struct op op_join = MOVEMENT_ROW("join", OP_ANY_NUMBER, infer_join);
const struct op op_part = MOVEMENT_ROW("part", 1, infer_part);
const struct op op_border = MOVEMENT_ROW("border", 1, infer_border);

/* ---- attributes ---- */

void kernel_init(struct kernel *kernel, enum op_kind kind)
{
    *kernel = (struct kernel){.kind = kind, .groups = 1, .layout = LAYOUT_NCHW};
    for (int a = 0; a < AXIS_COUNT; a++) {
        kernel->fil[a] = kernel->stride[a] = kernel->dilation[a] = kernel->out[a] = 1;
    }
}

static void read_axes(const struct attributes *attributes, const char *name,
                      int64_t values[AXIS_COUNT])
{
    int count;
    const int64_t *given = attributes_ints(attributes, name, &count);
    if (given != NULL && count == AXIS_COUNT) {
        memcpy(values, given, AXIS_COUNT * sizeof given[0]);
    }
}

void kernel_read(const struct node *node, struct kernel *kernel)
{
    const struct attributes *attributes = node->attributes;
    g_assert(node_is_kernel(node));
    kernel_init(kernel, (enum op_kind)(node->op - rows));
    kernel->is_transposed = attributes_int(attributes, "transposed", 0) != 0;
    kernel->type = (enum element_type)attributes_int(attributes, "type", ELEMENT_NONE);
    kernel->groups = attributes_int(attributes, "groups", 1);
    kernel->layout = (enum layout)attributes_int(attributes, "layout", LAYOUT_NCHW);
    g_strlcpy(kernel->mode, attributes_string(attributes, "mode", ""), sizeof kernel->mode);
    read_axes(attributes, "fil", kernel->fil);
    read_axes(attributes, "pad", kernel->pad);
    read_axes(attributes, "stride", kernel->stride);
    read_axes(attributes, "dilation", kernel->dilation);
    read_axes(attributes, "out", kernel->out);
    bool is_parsed =
        epilogue_parse(attributes_string(attributes, "epilogue", ""), &kernel->epilogue, NULL);
    g_assert(is_parsed);
}

struct attributes *kernel_attributes(const struct kernel *kernel, const char *const *nodes)
{
    struct attributes *attributes = attributes_new();
    struct epilogue epilogue = kernel->epilogue;
    char text[EPILOGUE_MAX];
    for (int i = 0; i < epilogue.count; i++) {
        if (epilogue_residual(&epilogue) == &epilogue.steps[i]) {
            epilogue.steps[i].type = TYPE_FP32;
            epilogue.steps[i].layout = LAYOUT_NCHW;
        }
    }
    bool is_printed = epilogue_print(&epilogue, text);
    g_assert(is_printed);
    if (text[0] != '\0') {
        attributes_set_string(attributes, "epilogue", text);
    }
    if (kernel->type != ELEMENT_NONE) {
        attributes_set_int(attributes, "type", kernel->type);
    }
    if (kernel->mode[0] != '\0') {
        attributes_set_string(attributes, "mode", kernel->mode);
    }
    if (kernel->layout != LAYOUT_NCHW) {
        attributes_set_int(attributes, "layout", kernel->layout);
    }
    if (kernel->kind == OP_CONV || kernel->kind == OP_POOL) {
        attributes_set_ints(attributes, "pad", kernel->pad, AXIS_COUNT);
        attributes_set_ints(attributes, "stride", kernel->stride, AXIS_COUNT);
        attributes_set_ints(attributes, "dilation", kernel->dilation, AXIS_COUNT);
    }
    if (kernel->kind == OP_POOL) {
        attributes_set_ints(attributes, "fil", kernel->fil, AXIS_COUNT);
    }
    if (kernel->kind == OP_CONV) {
        attributes_set_int(attributes, "groups", kernel->groups);
        attributes_set_int(attributes, "transposed", kernel->is_transposed);
    }
    if (kernel->kind == OP_CONV || kernel->kind == OP_POOL || kernel->kind == OP_RESIZE) {
        attributes_set_ints(attributes, "out", kernel->out, AXIS_COUNT);
    }
    attributes_set_strings(attributes, "nodes", nodes, (int)g_strv_length((char **)nodes));
    return attributes;
}

const char *const *kernel_nodes(const struct node *node)
{
    static const char *const none[] = {NULL};
    const struct attribute *nodes = attributes_find(node->attributes, "nodes");
    return nodes != NULL && nodes->strings != NULL ? (const char *const *)nodes->strings : none;
}

void kernel_write(struct node *node, const struct kernel *kernel, const char *const *more)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    for (const char *const *name = kernel_nodes(node); *name != NULL; name++) {
        g_ptr_array_add(names, (gpointer)*name);
    }
    for (; more != NULL && *more != NULL; more++) {
        if (!g_ptr_array_find_with_equal_func(names, *more, g_str_equal, NULL)) {
            g_ptr_array_add(names, (gpointer)*more);
        }
    }
    g_ptr_array_add(names, NULL);
    g_autoptr(Attributes) attributes = kernel_attributes(kernel, (const char *const *)names->pdata);
    graph_set_attributes(node, attributes);
}

/* Joins neighbouring affine steps, and drops one that changes nothing. */
static void join_affines(struct epilogue *epilogue)
{
    int count = 0;
    for (int i = 0; i < epilogue->count; i++) {
        struct epilogue_step *step = &epilogue->steps[i];
        struct epilogue_step *before = count > 0 ? &epilogue->steps[count - 1] : NULL;
        if (step->op == EPILOGUE_AFFINE && before != NULL && before->op == EPILOGUE_AFFINE) {
            before->a *= step->a;
            before->b = step->a * before->b + step->b;
        } else {
            epilogue->steps[count++] = *step;
        }
        before = &epilogue->steps[count - 1];
        if (before->op == EPILOGUE_AFFINE && fabs(before->a - 1) < 1e-7 && before->b == 0) {
            count--;
        }
    }
    epilogue->count = count;
}

bool epilogue_append(struct epilogue *epilogue, const struct epilogue *more)
{
    struct epilogue both = *epilogue;
    char text[EPILOGUE_MAX], canonical[EPILOGUE_MAX];
    for (int i = 0; i < more->count; i++) {
        if (both.count == EPILOGUE_STEPS_MAX) {
            return false;
        }
        both.steps[both.count++] = more->steps[i];
        join_affines(&both);
    }
    /* The longest names that a residual can have must fit, too. */
    for (int i = 0; i < both.count; i++) {
        if (both.steps[i].type != TYPE_NONE && both.steps[i].op != EPILOGUE_REQUANT) {
            both.steps[i].layout = LAYOUT_NCHWC4;
        }
    }
    if (!epilogue_print(&both, text) || !epilogue_canonical(text, canonical, NULL)) {
        return false;
    }
    for (int i = 0; i < both.count; i++) {
        if (both.steps[i].type != TYPE_NONE && both.steps[i].op != EPILOGUE_REQUANT) {
            both.steps[i].layout = LAYOUT_NCHW;
        }
    }
    *epilogue = both;
    return true;
}

bool epilogue_add(struct epilogue *epilogue, enum epilogue_op op, double a, double b,
                  bool per_channel)
{
    struct epilogue one = {.count = 1,
                           .steps = {{.op = op, .a = a, .b = b, .per_channel = per_channel}}};
    struct epilogue probe = one;
    probe.steps[0].type = TYPE_FP32;
    if (epilogue_residual(&probe) != NULL) {
        one.steps[0].type = TYPE_FP32;
        one.steps[0].layout = LAYOUT_NCHW;
    }
    if (op == EPILOGUE_REQUANT) {
        one.steps[0].type = TYPE_INT8;
    }
    return epilogue_append(epilogue, &one);
}

struct value *kernel_add(struct graph *graph, const char *name, const struct kernel *kernel,
                         const char *const *nodes, struct value *const inputs[KERNEL_INPUTS],
                         struct node *before)
{
    g_autoptr(Attributes) attributes = kernel_attributes(kernel, nodes);
    g_autoptr(GError) error = NULL;
    struct node *node = graph_add(graph,
                                  &(struct node_spec){.op = kernel_op(kernel->kind),
                                                      .name = name,
                                                      .attributes = attributes,
                                                      .inputs = inputs,
                                                      .input_count = KERNEL_INPUTS,
                                                      .output_count = 1,
                                                      .before = before},
                                  &error);
    if (node == NULL) {
        g_error("a kernel cannot be added: %s", error->message);
    }
    return node_output(node);
}

/* ---- layouts and problems ---- */

bool layout_order(enum layout layout, int rank, int order[SHAPE_MAX_RANK])
{
    bool is_last = layout == LAYOUT_NHWC || layout == LAYOUT_NDHWC;
    bool is_first = layout == LAYOUT_NCHW || layout == LAYOUT_NCDHW;
    if (rank > 5 || (!is_last && !is_first && layout != LAYOUT_CHWN)) {
        return false;
    }
    for (int i = 0; i < rank; i++) {
        order[i] = i;
    }
    if (rank >= 3 && is_last) {
        for (int i = 1; i < rank - 1; i++) {
            order[i] = i + 1;
        }
        order[rank - 1] = 1;
    } else if (layout == LAYOUT_CHWN) {
        for (int i = 0; i < rank - 1; i++) {
            order[i] = i + 1;
        }
        order[MAX(rank - 1, 0)] = 0;
    }
    return true;
}

/* Where each axis of a tensor stands among N C D H W. Tensors of one axis are channels of one image. */
static void place_axes(int rank, int place[SHAPE_MAX_RANK])
{
    static const int places[6][5] = {{0}, {1}, {0, 1}, {0, 1, 4}, {0, 1, 3, 4}, {0, 1, 2, 3, 4}};
    memcpy(place, places[rank], sizeof places[rank]);
}

static void spread(const struct shape *shape, int64_t sizes[5], int64_t strides[5])
{
    int place[SHAPE_MAX_RANK] = {0};
    place_axes(shape->rank, place);
    for (int i = 0; i < 5; i++) {
        sizes[i] = 1;
        strides[i] = 0;
    }
    for (int i = 0; i < shape->rank; i++) {
        sizes[place[i]] = shape->dim[i];
        strides[place[i]] = shape->dim[i] > 1 ? shape->stride[i] : 0;
    }
}

/* Merges neighbouring axes that are one in all shapes until they have at most 5. `keep` is an axis that stays apart, -1
 * for none. */
static bool merge_axes(struct shape *shapes[], int count, bool keep_channels)
{
    for (int axis = shapes[0]->rank - 2; axis >= 0 && shapes[0]->rank > 5; axis--) {
        bool can = !(keep_channels && axis <= 1);
        for (int i = 0; i < count; i++) {
            const struct shape *s = shapes[i];
            can = can && (s->dim[axis] == 1 || s->dim[axis + 1] == 1 ||
                          s->stride[axis] == s->stride[axis + 1] * s->dim[axis + 1]);
        }
        for (int i = 0; i < count && can; i++) {
            struct shape *s = shapes[i];
            s->stride[axis] = s->dim[axis + 1] == 1 ? s->stride[axis] : s->stride[axis + 1];
            s->dim[axis] *= s->dim[axis + 1];
            for (int j = axis + 1; j + 1 < s->rank; j++) {
                s->dim[j] = s->dim[j + 1];
                s->stride[j] = s->stride[j + 1];
            }
            s->rank--;
        }
    }
    return shapes[0]->rank <= 5;
}

static bool is_packed_in(enum layout layout, const int64_t sizes[5], const int64_t strides[5])
{
    int order[SHAPE_MAX_RANK] = {0};
    int64_t step = 1;
    layout_order(layout, 5, order);
    for (int i = 4; i >= 0; i--) {
        int axis = order[i];
        if (sizes[axis] > 1 && strides[axis] != step) {
            return false;
        }
        step *= sizes[axis];
    }
    return true;
}

static bool is_ordered_in(enum layout layout, const int64_t sizes[5], const int64_t strides[5])
{
    int order[SHAPE_MAX_RANK] = {0};
    int64_t least = 0;
    layout_order(layout, 5, order);
    for (int i = 4; i >= 0; i--) {
        int axis = order[i];
        if (sizes[axis] > 1 && strides[axis] != 0) {
            if (strides[axis] < least) {
                return false;
            }
            least = strides[axis] * sizes[axis];
        }
    }
    return true;
}

/* The layout of a stored tensor: one in which it is packed, else one whose order its strides keep. The wanted layout is
 * tried first each time, and is the answer if no layout fits. */
static enum layout find_layout(int spatial_dim, enum layout wanted, const int64_t sizes[5],
                               const int64_t strides[5])
{
    const enum layout *layouts = spatial_dim == 3 ? deep_layouts : flat_layouts;
    size_t count = spatial_dim == 3 ? G_N_ELEMENTS(deep_layouts) : G_N_ELEMENTS(flat_layouts);
    if (!layout_in_dims(wanted, spatial_dim, &wanted)) {
        wanted = layouts[0];
    }
    if (is_packed_in(wanted, sizes, strides)) {
        return wanted;
    }
    for (size_t i = 0; i < count; i++) {
        if (is_packed_in(layouts[i], sizes, strides)) {
            return layouts[i];
        }
    }
    if (is_ordered_in(wanted, sizes, strides)) {
        return wanted;
    }
    for (size_t i = 0; i < count; i++) {
        if (is_ordered_in(layouts[i], sizes, strides)) {
            return layouts[i];
        }
    }
    return wanted;
}

static bool unsupported(GError **error, const char *why)
{
    g_set_error_literal(error, NETWORK_ERROR, NETWORK_ERROR_UNSUPPORTED, why);
    return false;
}

/* The fields of the problem that come from the kernel; those of an untransposed one. */
static void set_fields(const struct kernel *kernel, const int64_t x[5], const int64_t y[5],
                       const int64_t *w, struct problem *p)
{
    p->n = x[0];
    p->c = x[1];
    p->k = y[1];
    p->groups = kernel->kind == OP_CONV ? kernel->groups : 1;
    for (int a = 0; a < AXIS_COUNT; a++) {
        bool has_window = kernel->kind == OP_CONV || kernel->kind == OP_POOL;
        p->in[a] = x[2 + a];
        p->out[a] = y[2 + a];
        p->fil[a] = w != NULL ? w[2 + a] : kernel->kind == OP_POOL ? kernel->fil[a] : 1;
        p->pad[a] = has_window ? kernel->pad[a] : 0;
        p->stride[a] = has_window ? kernel->stride[a] : 1;
        p->dilation[a] = has_window ? kernel->dilation[a] : 1;
    }
}

static bool set_transposed(const struct problem *t, struct problem *p, GError **error)
{
    int64_t output_pad[AXIS_COUNT] = {0, 0, 0};
    for (int a = 0; a < AXIS_COUNT; a++) {
        output_pad[a] = t->out[a] - ((t->in[a] - 1) * t->stride[a] - 2 * t->pad[a] +
                                     t->dilation[a] * (t->fil[a] - 1) + 1);
    }
    return problem_from_transposed(t, output_pad, p, error);
}

/* Writes the epilogue's text, with type and layout of the residual as it is stored. */
static bool set_epilogue(const struct kernel *kernel, enum data_type type, enum layout layout,
                         struct problem *p, GError **error)
{
    struct epilogue epilogue = kernel->epilogue;
    const struct epilogue_step *residual = epilogue_residual(&epilogue);
    for (int i = 0; i < epilogue.count; i++) {
        if (&epilogue.steps[i] == residual) {
            epilogue.steps[i].type = type;
            epilogue.steps[i].layout = layout;
        }
    }
    return epilogue_print(&epilogue, p->epilogue) ||
           unsupported(error, "its fused steps are longer than a problem can say");
}

/* Strides that are all 0 stand for those of a packed tensor. */
static bool is_single(const int64_t sizes[5], const int64_t strides[5])
{
    int64_t elements = 1, sum = 0;
    for (int i = 0; i < 5; i++) {
        elements *= sizes[i];
        sum += sizes[i] > 1 ? strides[i] : 0;
    }
    return elements > 1 && sum == 0;
}

bool kernel_problem(const struct kernel *kernel, const struct shape *const shapes[STRIDED_COUNT],
                    struct problem *problem, GError **error)
{
    struct shape copies[STRIDED_COUNT];
    struct shape *same_rank[STRIDED_COUNT];
    int64_t sizes[STRIDED_COUNT][5] = {{0}}, strides[STRIDED_COUNT][5] = {{0}};
    enum data_type types[STRIDED_COUNT] = {TYPE_NONE};
    enum layout layouts[STRIDED_COUNT] = {LAYOUT_NCHW};
    int count = 0;
    bool keep_channels = epilogue_reads(&kernel->epilogue, TENSOR_BIAS) ||
                         epilogue_reads(&kernel->epilogue, TENSOR_SCALES);
    for (int t = 0; t < STRIDED_COUNT; t++) {
        if (shapes[t] == NULL) {
            continue;
        }
        copies[t] = *shapes[t];
        if (!element_type_to_data_type(copies[t].type, &types[t])) {
            g_set_error(error, NETWORK_ERROR, NETWORK_ERROR_UNSUPPORTED,
                        "no problem has tensors of type %s", element_type_name(copies[t].type));
            return false;
        }
        same_rank[count++] = &copies[t];
    }
    if (!merge_axes(same_rank, count, keep_channels)) {
        return unsupported(error, "its tensors have more than 5 axes that cannot be merged");
    }
    int spatial_dim = copies[TENSOR_X].rank == 5 ? 3 : 2;
    problem_init(problem);
    problem->kind = kernel->kind;
    problem->spatial_dim = spatial_dim;
    for (int t = 0; t < STRIDED_COUNT; t++) {
        if (shapes[t] != NULL) {
            spread(&copies[t], sizes[t], strides[t]);
            layouts[t] = find_layout(spatial_dim, kernel->layout, sizes[t], strides[t]);
        }
    }
    if (shapes[TENSOR_W] == NULL) {
        types[TENSOR_W] = types[TENSOR_X];
        layouts[TENSOR_W] = layouts[TENSOR_X];
    }
    for (int t = 0; t < TENSOR_COUNT; t++) {
        problem->type[t] = types[t];
        problem->layout[t] = layouts[t];
    }
    g_strlcpy(problem->mode, kernel->mode, sizeof problem->mode);
    set_fields(kernel, sizes[TENSOR_X], sizes[TENSOR_Y],
               shapes[TENSOR_W] != NULL ? sizes[TENSOR_W] : NULL, problem);
    int role_of[STRIDED_COUNT] = {TENSOR_X, TENSOR_W, TENSOR_Y, TENSOR_RESIDUAL};
    if (kernel->is_transposed) {
        struct problem transposed = *problem;
        if (!set_transposed(&transposed, problem, error)) {
            return false;
        }
        role_of[TENSOR_X] = TENSOR_Y;
        role_of[TENSOR_Y] = TENSOR_X;
    }
    if (!set_epilogue(kernel, types[TENSOR_RESIDUAL],
                      shapes[TENSOR_RESIDUAL] != NULL ? layouts[TENSOR_RESIDUAL] : LAYOUT_NCHW,
                      problem, error)) {
        return false;
    }
    for (int t = 0; t < STRIDED_COUNT; t++) {
        if (shapes[t] != NULL && is_single(sizes[t], strides[t])) {
            return unsupported(error, "it reads one element for all, which a problem cannot say");
        }
        if (shapes[t] != NULL) {
            problem_set_strides(problem, (enum tensor_role)role_of[t], strides[t]);
        }
    }
    return problem_validate(problem, error);
}
