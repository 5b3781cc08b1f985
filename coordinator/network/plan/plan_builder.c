#include "coordinator/network/plan/plan_builder.h"

#include "coordinator/network/passes/kernel_op.h"
#include "coordinator/network/passes/pass.h"
#include "solvers/framework/solver.h"
#include "solvers/problem/problem_key.h"

#include <string.h>

/* Where the elements of a value are. */
struct place {
    int buffer;     /* -1: not yet decided */
    int64_t offset; /* of the first element, in elements of the value's stored type */
    struct shape
        shape; /* of the value as it is stored: its dimensions, and strides in the buffer */
};

struct builder {
    struct graph *graph;
    const struct plan_options *options;
    struct network_plan *plan;
    struct place *places; /* by value id */
    GError **error;
};

/* An operand that a step reads. */
struct source {
    int buffer;
    int64_t offset;     /* elements */
    struct shape shape; /* with the type that is stored */
};

static struct place *place_of(struct builder *b, const struct value *value)
{
    return &b->places[value->id];
}

/* Returns the value in whose memory the elements of `value` are, and sets *view to how `value` shows them. A copy that
 * resolving added has memory of its own. */
static struct value *storage_of(struct value *value, struct view *view)
{
    if (value->producer == NULL || !value->producer->is_automatic) {
        return value_base(value, view);
    }
    view_identity(view, &value->shape);
    return value;
}

static bool serves(struct builder *b, const struct problem *problem)
{
    return b->options->serves == NULL || b->options->serves(problem, b->options->context);
}

/* ---- weights ---- */

/* Adds a packed tensor, stored in the order of axes and in the type that are wanted. */
static struct source add_weight(struct builder *b, const char *name, const struct tensor *tensor,
                                enum element_type type, const int *order)
{
    struct source source = {0};
    const struct shape *from = &tensor->shape;
    struct shape *to = &source.shape;
    bool is_set = order != NULL ? shape_set_ordered(to, type, from->rank, from->dim, order, NULL)
                                : shape_set_packed(to, type, from->rank, from->dim, NULL);
    g_assert(is_set);
    GBytes *data;
    if (type == from->type && shape_is_packed(to)) {
        data = g_bytes_ref(tensor->data);
    } else {
        guint8 *bytes = g_malloc0(MAX(shape_bytes(to), 1));
        int64_t index[SHAPE_MAX_RANK] = {0}, at = 0, count = shape_elements(to);
        for (int64_t i = 0; i < count; i++) {
            element_write(bytes, type, at, element_read(tensor_data(tensor), from->type, i));
            for (int a = to->rank - 1; a >= 0; a--) {
                at += to->stride[a];
                if (++index[a] < to->dim[a]) {
                    break;
                }
                at -= to->stride[a] * to->dim[a];
                index[a] = 0;
            }
        }
        data = g_bytes_new_take(bytes, (gsize)MAX(shape_bytes(to), 1));
    }
    struct shape list;
    int64_t elements = shape_elements(to);
    shape_set_packed(&list, type, 1, &elements, NULL);
    source.buffer =
        network_plan_add_weight(b->plan, name, &list, data, b->options->weights_are_generated);
    g_bytes_unref(data);
    return source;
}

static bool lacks_data(struct builder *b, struct node *node, struct value *value)
{
    return !node_unsupported(node, b->error, "the model has no data for '%s'", value_name(value));
}

/* ---- reading ---- */

/* Finds where a node's input is. *is_direct is false if the elements have no single stride along some axis there, so
 * that they must be moved first; `source` is then the whole storage. */
static bool find_source(struct builder *b, struct node *node, int input, struct source *source,
                        bool *is_direct)
{
    struct view view;
    struct value *value = node->inputs[input];
    struct value *storage = storage_of(value, &view);
    *is_direct = true;
    if (storage->constant != NULL) {
        struct place *place = place_of(b, storage);
        if (!tensor_has_data(storage->constant)) {
            return !lacks_data(b, node, storage);
        }
        if (place->buffer < 0) {
            enum data_type type;
            if (!element_type_to_data_type(storage->constant->shape.type, &type)) {
                return node_unsupported(node, b->error, "no kernel reads %s",
                                        element_type_name(storage->constant->shape.type));
            }
            struct source weight = add_weight(b, value_name(storage), storage->constant,
                                              storage->constant->shape.type, NULL);
            *place = (struct place){weight.buffer, 0, weight.shape};
        }
    }
    const struct place *place = place_of(b, storage);
    if (place->buffer < 0) {
        return node_unsupported(node, b->error, "its input '%s' is computed by no step",
                                value_name(value));
    }
    *source = (struct source){place->buffer, place->offset, place->shape};
    struct shape seen = {0};
    if (!view_shape(&view, &place->shape, &seen)) {
        *is_direct = false;
        return true;
    }
    source->shape = seen;
    source->shape.type = place->shape.type;
    return true;
}

/* ---- steps ---- */

static void set_operand(struct builder *b, struct plan_step *step, enum tensor_role role,
                        const struct source *source)
{
    (void)b;
    step->operands[role] = (struct plan_operand){
        source->buffer, source->offset * element_type_bytes(source->shape.type)};
}

static struct source new_activation(struct builder *b, const char *name, const struct shape *shape)
{
    struct source source = {.shape = *shape};
    source.buffer = network_plan_add_buffer(b->plan, name, PLAN_ACTIVATION, shape);
    return source;
}

/* Whether the source repeats one element along every axis: no problem can say that, whose strides of 0 all are those of a
 * packed tensor. */
static bool is_single(const struct source *source)
{
    const struct shape *shape = &source->shape;
    for (int i = 0; i < shape->rank; i++) {
        if (shape->dim[i] > 1 && shape->stride[i] != 0) {
            return false;
        }
    }
    return shape_elements(shape) > 1;
}

/* Repeats the element of a single source along one of its axes in a buffer of its own: a convolution with filters of 1. */
static bool spread_single(struct builder *b, struct node *node, struct source *source)
{
    struct kernel kernel;
    struct problem problem;
    struct shape one, filter, list;
    int axis = source->shape.rank - 1;
    enum element_type type = source->shape.type;
    while (source->shape.dim[axis] == 1) {
        axis--;
    }
    int64_t count = source->shape.dim[axis];
    kernel_init(&kernel, OP_CONV);
    shape_set_packed(&one, type, 4, (const int64_t[]){1, 1, 1, 1}, NULL);
    shape_set_packed(&filter, type, 4, (const int64_t[]){count, 1, 1, 1}, NULL);
    shape_set_packed(&list, type, 4, (const int64_t[]){1, count, 1, 1}, NULL);
    const struct shape *shapes[STRIDED_COUNT] = {
        [TENSOR_X] = &one, [TENSOR_W] = &filter, [TENSOR_Y] = &list};
    if (!element_type_is_float(type) || !kernel_problem(&kernel, shapes, &problem, NULL) ||
        !serves(b, &problem)) {
        return node_unsupported(node, b->error,
                                "it reads one element of %s for all, which no kernel repeats",
                                element_type_name(type));
    }
    const char *nodes[] = {node_name(node), NULL};
    g_autofree char *name = g_strdup_printf("%s.repeat", node_name(node));
    g_autoptr(Tensor) ones = tensor_full(type, 4, filter.dim, 1);
    struct source w = add_weight(b, "ones", ones, type, NULL), y = {.shape = list};
    y.buffer = network_plan_add_buffer(b->plan, name, PLAN_ACTIVATION, &list);
    int index = network_plan_add_step(b->plan, name,
                                      node_is_kernel(node) ? kernel_nodes(node) : nodes, &problem);
    struct plan_step *step = plan_step_at(b->plan, index);
    set_operand(b, step, TENSOR_X, source);
    set_operand(b, step, TENSOR_W, &w);
    set_operand(b, step, TENSOR_Y, &y);
    source->buffer = y.buffer;
    source->offset = 0;
    source->shape.stride[axis] = 1;
    return true;
}

/* Adds a step that moves x to y: both with the same dimensions, perhaps with other types. */
static bool add_move(struct builder *b, struct node *node, const char *name, struct source x,
                     struct source y)
{
    struct kernel kernel;
    struct problem problem;
    struct source zeros = {0};
    if (is_single(&x) && !spread_single(b, node, &x)) {
        return false;
    }
    bool repeats = shape_is_broadcast(&x.shape);
    kernel_init(&kernel, OP_POINTWISE);
    if (repeats) {
        g_autoptr(Tensor) tensor = tensor_full(y.shape.type, y.shape.rank, y.shape.dim, 0);
        zeros = add_weight(b, "zeros", tensor, y.shape.type, NULL);
        epilogue_add(&kernel.epilogue, EPILOGUE_ADD, 0, 0, false);
    }
    /* Axes in the order in which y is stored: y is then packed, as far as it can be. */
    int order[SHAPE_MAX_RANK];
    struct shape *all[] = {&x.shape, &y.shape, &zeros.shape};
    shape_order(&y.shape, order);
    for (int i = 0; i < (repeats ? 3 : 2); i++) {
        struct shape old = *all[i];
        for (int a = 0; a < old.rank; a++) {
            all[i]->dim[a] = old.dim[order[a]];
            all[i]->stride[a] = old.stride[order[a]];
        }
    }
    if (repeats) {
        struct shape turned = zeros.shape;
        shape_set_packed(&zeros.shape, turned.type, turned.rank, turned.dim, NULL);
    }
    const struct shape *shapes[STRIDED_COUNT] = {
        [TENSOR_X] = repeats ? &zeros.shape : &x.shape,
        [TENSOR_Y] = &y.shape,
        [TENSOR_RESIDUAL] = repeats ? &x.shape : NULL,
    };
    if (!kernel_problem(&kernel, shapes, &problem, b->error)) {
        g_prefix_error(b->error, "node '%s' (%s): ", node_name(node), node->op->name);
        return false;
    }
    if (!serves(b, &problem)) {
        return node_unsupported(node, b->error,
                                "its elements must be moved (%s), which no kernel does", name);
    }
    const char *nodes[] = {node_name(node), NULL};
    const char *const *covered = node_is_kernel(node) ? kernel_nodes(node) : nodes;
    const struct attribute *moved = attributes_find(node->attributes, "nodes");
    if (moved != NULL && moved->strings != NULL) {
        covered = (const char *const *)moved->strings;
    }
    int index = network_plan_add_step(b->plan, name, covered, &problem);
    struct plan_step *step = plan_step_at(b->plan, index);
    set_operand(b, step, TENSOR_X, repeats ? &zeros : &x);
    set_operand(b, step, TENSOR_Y, &y);
    if (repeats) {
        set_operand(b, step, TENSOR_RESIDUAL, &x);
    }
    return true;
}

static void packed_in(struct shape *shape, const struct shape *like, enum layout layout)
{
    int order[SHAPE_MAX_RANK];
    if (like->rank < 4 || !layout_order(layout, like->rank, order)) {
        shape_set_packed(shape, like->type, like->rank, like->dim, NULL);
    } else {
        shape_set_ordered(shape, like->type, like->rank, like->dim, order, NULL);
    }
}

/* Moves a source into a packed buffer in this layout and type. */
static bool pack_source(struct builder *b, struct node *node, const char *what,
                        struct source *source, enum layout layout, enum element_type type)
{
    struct shape shape;
    g_autofree char *name = g_strdup_printf("%s.%s", node_name(node), what);
    packed_in(&shape, &source->shape, layout);
    shape.type = type;
    struct source packed = new_activation(b, name, &shape);
    if (!add_move(b, node, name, *source, packed)) {
        return false;
    }
    *source = packed;
    return true;
}

/* A source whose view has no strides where its storage is: the storage is packed first. */
static bool straighten(struct builder *b, struct node *node, int input, struct source *source)
{
    struct view view;
    storage_of(node->inputs[input], &view);
    if (!pack_source(b, node, "straight", source, LAYOUT_NCHW, source->shape.type)) {
        return false;
    }
    struct shape seen = {0};
    enum element_type type = source->shape.type;
    if (!view_shape(&view, &source->shape, &seen)) {
        return node_unsupported(node, b->error, "its input %d cannot be read with strides", input);
    }
    source->shape = seen;
    source->shape.type = type;
    return true;
}

static bool read_input(struct builder *b, struct node *node, int input, struct source *source)
{
    bool is_direct = true;
    return find_source(b, node, input, source, &is_direct) &&
           (is_direct || straighten(b, node, input, source)) &&
           (!is_single(source) || spread_single(b, node, source));
}

/* ---- where results go ---- */

static bool is_output(const struct value *value)
{
    return value_is_graph_output(value);
}

/* The first join that reads the value, directly or through views that show it as it is. */
static struct node *find_join(const struct value *value, const struct value *base, int *input)
{
    for (int i = 0; i < value->use_count; i++) {
        struct node *user = value->uses[i].node, *found = NULL;
        if (user != NULL && user->op == &op_join && shape_equal(&value->shape, &base->shape)) {
            struct view view;
            storage_of((struct value *)value, &view);
            if (view_is_identity(&view, &base->shape)) {
                *input = value->uses[i].input;
                return user;
            }
        }
        if (user != NULL && node_is_view(user)) {
            found = find_join(node_output(user), base, input);
        }
        if (found != NULL) {
            return found;
        }
    }
    return NULL;
}

/* Whether the value, or a view that is it, is an output of the graph. */
static bool is_shown(const struct value *value)
{
    if (is_output(value)) {
        return true;
    }
    for (int i = 0; i < value->use_count; i++) {
        const struct node *user = value->uses[i].node;
        if (user != NULL && node_is_view(user) && is_shown(node_output(user))) {
            return true;
        }
    }
    return false;
}

/* The join that the value may be written into, and which of its inputs it is: it is used there as it is. */
static struct node *join_of(struct builder *b, const struct value *value, int *input)
{
    return b->options->in_place && !is_shown(value) ? find_join(value, value, input) : NULL;
}

/* The place of a join's result; it is made if this is the first of its inputs to be written. */
static const struct place *join_place(struct builder *b, struct node *join);

/* The part of a join's buffer that its input number `input` has. */
static struct place part_of_join(struct builder *b, struct node *join, int input)
{
    int64_t axis = attributes_int(join->attributes, "axis", 0), begin = 0;
    struct place place = *join_place(b, join);
    for (int i = 0; i < input; i++) {
        begin += join->inputs[i]->shape.dim[axis];
    }
    place.offset += begin * place.shape.stride[axis];
    place.shape.dim[axis] = join->inputs[input]->shape.dim[axis];
    shape_normalize(&place.shape);
    return place;
}

static struct place own_place(struct builder *b, struct value *value)
{
    struct place place = {.shape = value->shape};
    place.buffer =
        network_plan_add_buffer(b->plan, value_name(value),
                                is_output(value) ? PLAN_OUTPUT : PLAN_ACTIVATION, &value->shape);
    return place;
}

static const struct place *join_place(struct builder *b, struct node *join)
{
    struct value *value = node_output(join);
    struct place *place = place_of(b, value);
    int input;
    if (place->buffer < 0) {
        struct node *outer = join_of(b, value, &input);
        *place = outer != NULL ? part_of_join(b, outer, input) : own_place(b, value);
    }
    return place;
}

/* ---- kernels ---- */

/* All that a kernel's step needs. */
struct kernel_step {
    struct node *node;
    struct kernel kernel;
    struct source sources[STRIDED_COUNT]; /* x, w, y, residual */
    bool has[STRIDED_COUNT], has_bias, has_scales;
    struct source bias, scales;
    struct problem problem;
};

static bool make_problem(struct builder *b, struct kernel_step *s, GError **error)
{
    const struct shape *shapes[STRIDED_COUNT] = {NULL};
    for (int t = 0; t < STRIDED_COUNT; t++) {
        shapes[t] = s->has[t] ? &s->sources[t].shape : NULL;
    }
    if (!kernel_problem(&s->kernel, shapes, &s->problem, error)) {
        return false;
    }
    if (b->options->tf32) {
        plan_permit_tf32(&s->problem);
    }
    return true;
}

static bool begins_at_multiple(const struct source *source, int64_t bytes)
{
    return source->offset * element_type_bytes(source->shape.type) % bytes == 0;
}

/* Kernels of convolutions load and store up to 16 bytes at once, by strides alone; other kernels look at the address. */
static bool is_aligned(const struct kernel_step *s)
{
    for (int t = 0; s->kernel.kind == OP_CONV && t < STRIDED_COUNT; t++) {
        if (s->has[t] && !begins_at_multiple(&s->sources[t], PLAN_OPERAND_ALIGNMENT)) {
            return false;
        }
    }
    return true;
}

static bool is_servable(struct builder *b, struct kernel_step *s, GError **error)
{
    return is_aligned(s) && make_problem(b, s, error) && serves(b, &s->problem);
}

/* Sets the step's filter. A constant filter is stored in the kernel's layout and in the type of
 * x. */
static bool read_filter(struct builder *b, struct kernel_step *s)
{
    struct value *w = s->node->inputs[KERNEL_W];
    int order[SHAPE_MAX_RANK];
    if (!value_is_constant(w)) {
        enum element_type type = s->sources[TENSOR_X].shape.type;
        return read_input(b, s->node, KERNEL_W, &s->sources[TENSOR_W]) &&
               ((s->sources[TENSOR_W].shape.type == type &&
                 begins_at_multiple(&s->sources[TENSOR_W], PLAN_OPERAND_ALIGNMENT)) ||
                pack_source(b, s->node, "w", &s->sources[TENSOR_W], s->kernel.layout, type));
    }
    g_autoptr(Tensor) tensor = value_contents(w);
    if (tensor == NULL) {
        return !lacks_data(b, s->node, w);
    }
    bool is_ordered = layout_order(s->kernel.layout, tensor->shape.rank, order);
    g_autofree char *name = g_strconcat(node_name(s->node), ".w", NULL);
    s->sources[TENSOR_W] =
        add_weight(b, name, tensor, s->sources[TENSOR_X].shape.type, is_ordered ? order : NULL);
    return true;
}

/* A list of bias or scales. Scales that lack the number for an INT8 residual get a 1 there. */
static bool read_list(struct builder *b, struct kernel_step *s, int input, const char *part,
                      enum element_type type, struct source *source)
{
    struct value *value = s->node->inputs[input];
    int64_t count, length = 0;
    if (value == NULL) {
        return true;
    }
    if (!value_is_constant(value)) {
        return read_input(b, s->node, input, source) &&
               (source->shape.type == type ||
                node_unsupported(s->node, b->error, "its %s is %s, it must be %s", part,
                                 element_type_name(source->shape.type), element_type_name(type)));
    }
    g_autofree double *numbers = value_numbers(value, &length);
    if (numbers == NULL) {
        return !lacks_data(b, s->node, value);
    }
    count = input == KERNEL_SCALES
                ? epilogue_scales(&s->kernel.epilogue, node_output(s->node)->shape.dim[1])
                : length;
    struct shape shape;
    shape_set_packed(&shape, type, 1, &count, NULL);
    void *data = g_malloc(MAX(shape_bytes(&shape), 1));
    element_write(data, type, count - 1, 1);
    count = MIN(count, length);
    for (int64_t i = 0; i < count; i++) {
        element_write(data, type, i, numbers[i]);
    }
    g_autoptr(Tensor) tensor = tensor_take(&shape, data);
    g_autofree char *name = g_strconcat(node_name(s->node), ".", part, NULL);
    *source = add_weight(b, name, tensor, type, NULL);
    return true;
}

static bool read_kernel(struct builder *b, struct kernel_step *s)
{
    struct node *node = s->node;
    kernel_read(node, &s->kernel);
    s->has[TENSOR_X] = s->has[TENSOR_Y] = true;
    s->has[TENSOR_W] = s->kernel.kind == OP_CONV;
    s->has[TENSOR_RESIDUAL] = node->inputs[KERNEL_RESIDUAL] != NULL;
    s->has_bias = node->inputs[KERNEL_BIAS] != NULL;
    s->has_scales = node->inputs[KERNEL_SCALES] != NULL;
    if (!read_input(b, node, KERNEL_X, &s->sources[TENSOR_X]) ||
        (s->has[TENSOR_W] && !read_filter(b, s)) ||
        (s->has[TENSOR_RESIDUAL] &&
         !read_input(b, node, KERNEL_RESIDUAL, &s->sources[TENSOR_RESIDUAL]))) {
        return false;
    }
    enum element_type x = s->sources[TENSOR_X].shape.type;
    enum element_type bias = x == ELEMENT_INT8      ? ELEMENT_INT32
                             : x == ELEMENT_FLOAT64 ? ELEMENT_FLOAT64
                                                    : ELEMENT_FLOAT32;
    return read_list(b, s, KERNEL_BIAS, "bias", bias, &s->bias) &&
           read_list(b, s, KERNEL_SCALES, "scales", ELEMENT_FLOAT32, &s->scales);
}

static bool emit_kernel(struct builder *b, struct kernel_step *s)
{
    int index =
        network_plan_add_step(b->plan, node_name(s->node), kernel_nodes(s->node), &s->problem);
    struct plan_step *step = plan_step_at(b->plan, index);
    for (int t = 0; t < STRIDED_COUNT; t++) {
        enum tensor_role role = (enum tensor_role)t;
        if (s->kernel.is_transposed && t != TENSOR_W && t != TENSOR_RESIDUAL) {
            role = t == TENSOR_X ? TENSOR_Y : TENSOR_X;
        }
        if (s->has[t]) {
            set_operand(b, step, role, &s->sources[t]);
        }
    }
    if (s->has_bias) {
        set_operand(b, step, TENSOR_BIAS, &s->bias);
    }
    if (s->has_scales) {
        set_operand(b, step, TENSOR_SCALES, &s->scales);
    }
    return true;
}

/* Changes after which some kernel may serve a problem that no kernel serves as it is: one bit for a copy of each of x,
 * y and the residual, and one for another layout than the node's own. */
enum repair { REPAIR_X = 1, REPAIR_RESIDUAL = 2, REPAIR_Y = 4, REPAIR_LAYOUT = 8, REPAIR_END = 16 };

static enum layout repair_layout(const struct kernel *kernel, int repair)
{
    bool is_last = kernel->layout == LAYOUT_NHWC || kernel->layout == LAYOUT_NDHWC;
    return (repair & REPAIR_LAYOUT) == 0 ? kernel->layout : is_last ? LAYOUT_NCHW : LAYOUT_NHWC;
}

/* The step as it would be after a repair, without steps for it. */
static struct kernel_step repaired(const struct kernel_step *s, int repair)
{
    static const struct {
        int bit, tensor;
    } moved[] = {{REPAIR_X, TENSOR_X}, {REPAIR_RESIDUAL, TENSOR_RESIDUAL}, {REPAIR_Y, TENSOR_Y}};
    struct kernel_step other = *s;
    enum layout layout = repair_layout(&s->kernel, repair);
    enum element_type x = s->sources[TENSOR_X].shape.type;
    for (size_t i = 0; i < G_N_ELEMENTS(moved); i++) {
        struct shape *shape = &other.sources[moved[i].tensor].shape;
        if ((repair & moved[i].bit) != 0 && s->has[moved[i].tensor]) {
            struct shape like = *shape;
            packed_in(shape, &like, layout);
            other.sources[moved[i].tensor].offset = 0;
            if (moved[i].bit == REPAIR_RESIDUAL && element_type_is_float(shape->type)) {
                shape->type = x;
            } else if (moved[i].bit == REPAIR_Y && element_type_is_float(shape->type) &&
                       element_type_is_float(x)) {
                shape->type = x;
            }
        }
    }
    if ((repair & REPAIR_LAYOUT) != 0 && s->has[TENSOR_W]) {
        packed_in(&other.sources[TENSOR_W].shape, &s->sources[TENSOR_W].shape, layout);
        other.kernel.layout = layout;
    }
    return other;
}

/* Does the moves of a repair around the step. */
static bool emit_repaired(struct builder *b, struct kernel_step *s, int repair)
{
    struct kernel_step plan = repaired(s, repair), real = *s;
    enum layout layout = repair_layout(&s->kernel, repair);
    real.kernel = plan.kernel;
    if ((repair & REPAIR_LAYOUT) != 0 && s->has[TENSOR_W] && !read_filter(b, &real)) {
        return false;
    }
    if ((repair & REPAIR_X) != 0 && !pack_source(b, s->node, "x", &real.sources[TENSOR_X], layout,
                                                 plan.sources[TENSOR_X].shape.type)) {
        return false;
    }
    if ((repair & REPAIR_RESIDUAL) != 0 && s->has[TENSOR_RESIDUAL] &&
        !pack_source(b, s->node, "residual", &real.sources[TENSOR_RESIDUAL], layout,
                     plan.sources[TENSOR_RESIDUAL].shape.type)) {
        return false;
    }
    if ((repair & REPAIR_Y) != 0) {
        g_autofree char *name = g_strconcat(node_name(s->node), ".y", NULL);
        real.sources[TENSOR_Y] = new_activation(b, name, &plan.sources[TENSOR_Y].shape);
    }
    if (!make_problem(b, &real, b->error) || !emit_kernel(b, &real)) {
        return false;
    }
    g_autofree char *name = g_strconcat(node_name(s->node), ".move", NULL);
    return (repair & REPAIR_Y) == 0 ||
           add_move(b, s->node, name, real.sources[TENSOR_Y], s->sources[TENSOR_Y]);
}

/* Does the step as it is or after the first repair by which some solver serves it. *done says whether there is one. */
static bool emit_somehow(struct builder *b, struct kernel_step *s, bool *done)
{
    *done = true;
    if (is_servable(b, s, NULL)) {
        return emit_kernel(b, s);
    }
    for (int repair = 1; repair < REPAIR_END; repair++) {
        struct kernel_step other = repaired(s, repair);
        bool makes_sense = ((repair & REPAIR_RESIDUAL) == 0 || s->has[TENSOR_RESIDUAL]) &&
                           repair != REPAIR_LAYOUT &&
                           ((repair & REPAIR_LAYOUT) == 0 || !s->has[TENSOR_W] ||
                            value_is_constant(s->node->inputs[KERNEL_W]));
        if (makes_sense && is_servable(b, &other, NULL)) {
            return emit_repaired(b, s, repair);
        }
    }
    *done = false;
    return true;
}

/* The step without its epilogue into a buffer of its own, and the epilogue as a pointwise step. */
static bool split_and_emit(struct builder *b, struct kernel_step *s, bool *done)
{
    struct kernel_step plain = *s, rest = *s;
    struct source middle = {.shape = s->sources[TENSOR_Y].shape};
    struct shape like = middle.shape;
    like.type = s->sources[TENSOR_X].shape.type;
    if (like.type == ELEMENT_INT8 && s->kernel.kind == OP_CONV) {
        like.type = ELEMENT_INT32;
    }
    packed_in(&middle.shape, &like, s->kernel.layout);
    plain.kernel.epilogue.count = 0;
    plain.has[TENSOR_RESIDUAL] = plain.has_bias = plain.has_scales = false;
    plain.sources[TENSOR_Y] = middle;
    kernel_init(&rest.kernel, OP_POINTWISE);
    rest.kernel.epilogue = s->kernel.epilogue;
    rest.kernel.layout = s->kernel.layout;
    rest.sources[TENSOR_X] = middle;
    rest.has[TENSOR_W] = false;
    *done = false;
    if (s->kernel.kind == OP_POINTWISE || s->kernel.epilogue.count == 0 ||
        !is_servable(b, &rest, NULL) ||
        (like.type == ELEMENT_INT32 && s->has_bias &&
         !read_list(b, &rest, KERNEL_BIAS, "real_bias", ELEMENT_FLOAT32, &rest.bias))) {
        return b->error == NULL || *b->error == NULL;
    }
    g_autofree char *name = g_strconcat(node_name(s->node), ".middle", NULL);
    middle = new_activation(b, name, &middle.shape);
    plain.sources[TENSOR_Y] = rest.sources[TENSOR_X] = middle;
    return emit_somehow(b, &plain, done) &&
           (!*done || (make_problem(b, &rest, b->error) && emit_kernel(b, &rest)));
}

static bool emit_or_fail(struct builder *b, struct kernel_step *s)
{
    char key[PROBLEM_KEY_MAX];
    bool done;
    if (!emit_somehow(b, s, &done) || (!done && !split_and_emit(b, s, &done))) {
        return false;
    }
    return done ||
           node_unsupported(s->node, b->error, "no solver serves its problem on the target: %s",
                            problem_key(&s->problem, key));
}

static bool build_kernel(struct builder *b, struct node *node)
{
    struct kernel_step s = {.node = node};
    struct value *value = node_output(node);
    int input;
    if (!read_kernel(b, &s)) {
        return false;
    }
    struct node *join = join_of(b, value, &input);
    if (join != NULL) {
        struct place part = part_of_join(b, join, input);
        s.sources[TENSOR_Y] = (struct source){part.buffer, part.offset, part.shape};
        if (is_servable(b, &s, NULL)) {
            *place_of(b, value) = part;
            return emit_kernel(b, &s);
        }
    }
    *place_of(b, value) = own_place(b, value);
    const struct place *place = place_of(b, value);
    s.sources[TENSOR_Y] = (struct source){place->buffer, place->offset, place->shape};
    if (!make_problem(b, &s, b->error)) {
        g_prefix_error(b->error, "node '%s' (%s): ", node_name(node), node->op->name);
        return false;
    }
    return emit_or_fail(b, &s);
}

/* ---- movements ---- */

static bool build_copy(struct builder *b, struct node *node)
{
    struct operand operand;
    struct source x = {0};
    struct value *value = node_output(node);
    bool is_direct = true;
    if (!find_source(b, node, 0, &x, &is_direct)) {
        return false;
    }
    int input;
    struct node *join = join_of(b, value, &input);
    *place_of(b, value) = join != NULL ? part_of_join(b, join, input) : own_place(b, value);
    const struct place *place = place_of(b, value);
    struct source y = {place->buffer, place->offset, place->shape};
    if (!is_direct) {
        /* Axes are split until each has one stride; y's are split likewise. */
        struct view view;
        struct value *storage = storage_of(node->inputs[0], &view);
        node_operand(node, 0, &operand);
        struct source whole = {place_of(b, storage)->buffer, place_of(b, storage)->offset,
                               place_of(b, storage)->shape};
        struct shape fine = {0};
        if (!view_refined_shape(&view, &whole.shape, &fine)) {
            return node_unsupported(node, b->error, "its input has no strides");
        }
        x = whole;
        x.shape = fine;
        x.shape.type = whole.shape.type;
        struct view split;
        struct shape packed = {0};
        view_identity(&split, &y.shape);
        if (!view_reshape(&split, fine.rank, fine.dim) || !view_shape(&split, &y.shape, &packed)) {
            return node_unsupported(node, b->error, "its output cannot be split as its input is");
        }
        packed.type = y.shape.type;
        y.shape = packed;
    }
    return add_move(b, node, node_name(node), x, y);
}

static bool build_join(struct builder *b, struct node *join)
{
    for (int i = 0; i < join->input_count; i++) {
        struct place part = part_of_join(b, join, i);
        struct source x = {0}, y = {part.buffer, part.offset, part.shape};
        if (!read_input(b, join, i, &x)) {
            return false;
        }
        bool is_there =
            x.buffer == y.buffer && x.offset == y.offset && shape_equal(&x.shape, &y.shape);
        g_autofree char *name = g_strdup_printf("%s.%d", node_name(join), i);
        if (!is_there && !add_move(b, join, name, x, y)) {
            return false;
        }
    }
    return true;
}

static bool build_part(struct builder *b, struct node *node)
{
    int rank;
    const int64_t *begin = attributes_ints(node->attributes, "begin", &rank);
    const int64_t *step = attributes_ints(node->attributes, "step", &rank);
    struct value *value = node_output(node);
    struct source x = {0};
    if (!read_input(b, node, 0, &x)) {
        return false;
    }
    for (int i = 0; i < value->shape.rank; i++) {
        x.offset += begin[i] * x.shape.stride[i];
        x.shape.stride[i] *= step[i];
        x.shape.dim[i] = value->shape.dim[i];
    }
    shape_normalize(&x.shape);
    int input;
    struct node *join = join_of(b, value, &input);
    if (b->options->in_place && !is_shown(value) && join == NULL) {
        *place_of(b, value) = (struct place){x.buffer, x.offset, x.shape};
        return true;
    }
    *place_of(b, value) = join != NULL ? part_of_join(b, join, input) : own_place(b, value);
    const struct place *place = place_of(b, value);
    return add_move(b, node, node_name(node), x,
                    (struct source){place->buffer, place->offset, place->shape});
}

static bool build_border(struct builder *b, struct node *node)
{
    int rank;
    const int64_t *before = attributes_ints(node->attributes, "before", &rank);
    double number = attributes_float(node->attributes, "value", 0);
    struct value *value = node_output(node);
    struct source x = {0};
    if (!read_input(b, node, 0, &x)) {
        return false;
    }
    *place_of(b, value) = own_place(b, value);
    const struct place *place = place_of(b, value);
    struct source y = {place->buffer, place->offset, place->shape};
    g_autoptr(Tensor) tensor = tensor_full(y.shape.type, y.shape.rank, y.shape.dim, number);
    struct source border = add_weight(b, "border", tensor, y.shape.type, NULL);
    border.shape = y.shape; /* all elements are the same, so any order is right */
    g_autofree char *name = g_strconcat(node_name(node), ".fill", NULL);
    if (!add_move(b, node, name, border, y)) {
        return false;
    }
    for (int i = 0; i < rank; i++) {
        y.offset += before[i] * y.shape.stride[i];
        y.shape.dim[i] = x.shape.dim[i];
    }
    return add_move(b, node, node_name(node), x, y);
}

/* ---- the whole ---- */

static bool build_node(struct builder *b, struct node *node)
{
    if (node_is_view(node)) {
        return true;
    }
    if (node_is_kernel(node)) {
        return build_kernel(b, node);
    }
    if (node->op == &op_copy) {
        return build_copy(b, node);
    }
    if (node->op == &op_join) {
        return build_join(b, node);
    }
    if (node->op == &op_part) {
        return build_part(b, node);
    }
    if (node->op == &op_border) {
        return build_border(b, node);
    }
    return node_unsupported(node, b->error, "no kernel does this operator");
}

static bool build_inputs(struct builder *b)
{
    for (guint i = 0; i < b->graph->inputs->len; i++) {
        struct value *value = b->graph->inputs->pdata[i];
        enum data_type type;
        if (!element_type_to_data_type(value->shape.type, &type)) {
            g_set_error(b->error, NETWORK_ERROR, NETWORK_ERROR_UNSUPPORTED,
                        "input '%s' is %s, no kernel reads that type", value_name(value),
                        element_type_name(value->shape.type));
            return false;
        }
        int buffer = network_plan_add_buffer(b->plan, value_name(value), PLAN_INPUT, &value->shape);
        *place_of(b, value) = (struct place){buffer, 0, value->shape};
        g_array_append_val(b->plan->inputs, buffer);
    }
    return true;
}

/* An output that a step has written into its own buffer as it is seen, or a copy of it. */
static bool build_output(struct builder *b, struct value *value)
{
    struct view view;
    struct value *storage = storage_of(value, &view);
    struct place place = *place_of(b, storage);
    struct shape seen = {0};
    if (storage->constant != NULL || place.buffer < 0) {
        g_set_error(b->error, NETWORK_ERROR, NETWORK_ERROR_UNSUPPORTED,
                    "output '%s' is computed by no step", value_name(value));
        return false;
    }
    bool is_seen = view_shape(&view, &place.shape, &seen);
    struct plan_buffer *buffer = plan_buffer_at(b->plan, place.buffer);
    bool is_taken = false;
    for (guint i = 0; i < b->plan->outputs->len; i++) {
        is_taken = is_taken || g_array_index(b->plan->outputs, int, i) == place.buffer;
    }
    int index = place.buffer;
    if (is_seen && seen.type == place.shape.type && buffer->kind != PLAN_INPUT && !is_taken &&
        place.offset == 0 && shape_span(&seen) * element_type_bytes(seen.type) == buffer->bytes &&
        !shape_is_broadcast(&seen)) {
        buffer->kind = PLAN_OUTPUT;
        buffer->shape = seen;
    } else {
        struct shape packed = {0};
        struct source x = {place.buffer, place.offset, seen};
        struct node *node = value->producer != NULL ? value->producer : storage->producer;
        if (!is_seen || node == NULL) {
            g_set_error(b->error, NETWORK_ERROR, NETWORK_ERROR_UNSUPPORTED,
                        "output '%s' is only another view of '%s'", value_name(value),
                        value_name(storage));
            return false;
        }
        shape_set_packed(&packed, seen.type, seen.rank, seen.dim, NULL);
        x.shape.type = place.shape.type;
        index = network_plan_add_buffer(b->plan, value_name(value), PLAN_OUTPUT, &packed);
        g_autofree char *name = g_strconcat(value_name(value), ".output", NULL);
        if (!add_move(b, node, name, x, (struct source){index, 0, packed})) {
            return false;
        }
    }
    g_array_append_val(b->plan->outputs, index);
    return true;
}

static bool build(struct builder *b)
{
    if (!build_inputs(b)) {
        return false;
    }
    for (struct node *node = graph_first(b->graph); node != NULL; node = node_next(node)) {
        if (!build_node(b, node)) {
            return false;
        }
    }
    for (guint i = 0; i < b->graph->outputs->len; i++) {
        if (!build_output(b, b->graph->outputs->pdata[i])) {
            return false;
        }
    }
    network_plan_finish(b->plan);
    return network_plan_validate(b->plan, b->error);
}

struct network_plan *plan_build(struct graph *graph, const struct plan_options *options,
                                GError **error)
{
    if (!graph_require_resolved(graph, error)) {
        return NULL;
    }
    const struct value *first = graph->inputs->len > 0 ? graph->inputs->pdata[0] : NULL;
    const char *name = options->network != NULL ? options->network : graph->name;
    g_autoptr(NetworkPlan) plan =
        network_plan_new(name != NULL ? name : "network",
                         first != NULL && first->shape.rank > 0 ? first->shape.dim[0] : 1);
    plan->seed = options->seed;
    g_autofree struct place *places = g_new0(struct place, MAX(graph->values->len, 1));
    for (guint i = 0; i < graph->values->len; i++) {
        places[i] = (struct place){.buffer = -1};
    }
    struct builder b = {
        .graph = graph, .options = options, .plan = plan, .places = places, .error = error};
    return build(&b) ? g_steal_pointer(&plan) : NULL;
}

void plan_permit_tf32(struct problem *problem)
{
    bool is_fp32 = problem->kind == OP_CONV;
    for (int t = 0; t < TENSOR_COUNT; t++) {
        is_fp32 = is_fp32 && problem->type[t] == TYPE_FP32 && problem->cast[t] == TYPE_NONE;
    }
    if (is_fp32) {
        g_strlcpy(problem->mode, OP_MODE_TF32, sizeof problem->mode);
    }
}

bool plan_target_serves(const struct problem *problem, void *target)
{
    struct context context;
    const char *reason;
    context_init(&context, target);
    for (int i = 0; i < solver_table_count; i++) {
        if (solver_applicable(solver_table[i], problem, &context, &reason)) {
            return true;
        }
    }
    return false;
}
