#include "coordinator/network/passes/fuse.h"

#include "coordinator/network/passes/pass.h"

#include <math.h>
#include <string.h>

static const char *const level_names[FUSION_LEVEL_COUNT] = {"none", "activation", "all"};

const char *fusion_level_name(enum fusion_level level)
{
    return level_names[level];
}

bool fusion_level_parse(const char *name, enum fusion_level *level)
{
    for (int i = 0; i < FUSION_LEVEL_COUNT; i++) {
        if (strcmp(level_names[i], name) == 0) {
            *level = (enum fusion_level)i;
            return true;
        }
    }
    return false;
}

/* ---- looking through views ---- */

/* The kernel whose output the value shows with nothing moved between: an identity, or a view that only splits, merges or
 * drops axes of a tensor. NULL if the value shows no kernel's output so. */
static struct node *producer_behind(struct value *value)
{
    struct view view;
    struct value *base = value_base(value, &view);
    return node_is_kernel(base->producer) && shape_is_known(&base->shape) &&
                   view.type == base->shape.type && base->constant == NULL
               ? base->producer
               : NULL;
}

/* Whether the value shows its base exactly as it is. */
static bool is_whole(struct value *value)
{
    struct view view;
    struct value *base = value_base(value, &view);
    return view_is_identity(&view, &base->shape);
}

/* Number of inputs and graph outputs that read the value, directly or through views. */
static int users_of(const struct value *value)
{
    int count = 0;
    for (int i = 0; i < value->use_count; i++) {
        struct node *user = value->uses[i].node;
        count += user != NULL && node_is_view(user) ? users_of(node_output(user)) : 1;
    }
    return count;
}

/* ---- joining two kernels ---- */

static bool is_commutative(const struct epilogue *epilogue)
{
    enum epilogue_op op = epilogue->count > 0 ? epilogue->steps[0].op : EPILOGUE_NONE;
    return op == EPILOGUE_ADD || op == EPILOGUE_MUL || op == EPILOGUE_GREATER ||
           op == EPILOGUE_SMALLER;
}

static bool reads(const struct kernel *kernel, enum tensor_role role)
{
    return epilogue_reads(&kernel->epilogue, role);
}

/* A bias that is a scale's neighbour is the only list of FP32 before requantisation: INT8 kernels have their steps
 * already. */
static bool is_integer(const struct node *node)
{
    return node->inputs[KERNEL_X]->shape.type == ELEMENT_INT8 && node_is_kernel_of(node, OP_CONV);
}

static bool level_allows(enum fusion_level level, const struct node *into,
                         const struct kernel *pointwise)
{
    if (level == FUSION_NONE) {
        return false;
    }
    return level == FUSION_ALL ||
           (node_is_kernel_of(into, OP_CONV) && !reads(pointwise, TENSOR_RESIDUAL));
}

/* Whether `later` depends on `node`. Looks only at what is between them in the topological order. */
static bool depends_on(const struct value *value, const struct node *node)
{
    const struct node *producer = value != NULL ? value->producer : NULL;
    if (producer == NULL || producer->order < node->order) {
        return false;
    }
    if (producer == node) {
        return true;
    }
    for (int i = 0; i < producer->input_count; i++) {
        if (depends_on(producer->inputs[i], node)) {
            return true;
        }
    }
    return false;
}

/* The value with the dimensions of the anchor's output: the same, or a reshaped view of it. */
static struct value *in_dims(struct value *value, const struct shape *wanted)
{
    return shape_same_dims(&value->shape, wanted) ? value
                                                  : graph_reshape(value, wanted->rank, wanted->dim);
}

/* Whether channels of `pointwise` are those of `anchor`: axis 1 of both has the same size and the same place. */
static bool channels_agree(const struct shape *pointwise, const struct shape *anchor)
{
    return pointwise->rank >= 2 && anchor->rank >= 2 && pointwise->dim[0] == anchor->dim[0] &&
           pointwise->dim[1] == anchor->dim[1];
}

/* Removes the views from this value upwards that nobody uses any more: they would count as users of what they show. */
static void remove_dead_views(struct value *value)
{
    while (value != NULL && value->use_count == 0 && value->producer != NULL &&
           node_is_view(value->producer)) {
        struct node *view = value->producer;
        value = view->inputs[0];
        if (!graph_remove_node(view, NULL)) {
            return;
        }
    }
}

/* Makes the pointwise kernel that reads the anchor's output by its input `through` (x or residual) a part of the
 * anchor. */
static bool join(struct node *anchor, struct node *node, int through)
{
    struct graph *graph = anchor->graph;
    struct kernel first, second;
    kernel_read(anchor, &first);
    kernel_read(node, &second);
    struct value *y = node_output(anchor), *z = node_output(node);
    struct value *other = node->inputs[through == KERNEL_X ? KERNEL_RESIDUAL : KERNEL_X];
    bool has_lists = reads(&second, TENSOR_BIAS) || reads(&second, TENSOR_SCALES);
    if (!shape_same_dims(&y->shape, &z->shape) &&
        (!shape_is_packed(&y->shape) || (has_lists && !channels_agree(&z->shape, &y->shape)))) {
        return false;
    }
    if (!epilogue_append(&first.epilogue, &second.epilogue) ||
        (is_integer(anchor) && reads(&second, TENSOR_BIAS))) {
        return false;
    }
    if (other != NULL && (users_of(y) != 1 || depends_on(other, anchor))) {
        return false;
    }
    if (other != NULL && !shape_same_dims(&other->shape, &y->shape) &&
        shape_is_broadcast(&other->shape)) {
        return false;
    }
    struct value *inputs[KERNEL_INPUTS];
    memcpy(inputs, anchor->inputs, sizeof inputs);
    for (int i = KERNEL_BIAS; i < KERNEL_INPUTS; i++) {
        struct value *more = i == KERNEL_RESIDUAL ? other : node->inputs[i];
        if (more != NULL) {
            inputs[i] = i == KERNEL_RESIDUAL ? in_dims(more, &y->shape) : more;
        }
    }
    if (!graph_set_inputs(anchor, inputs, KERNEL_INPUTS, NULL)) {
        return false;
    }
    first.type = z->shape.type;
    kernel_write(anchor, &first, kernel_nodes(node));
    struct value *result = in_dims(y, &z->shape), *read[KERNEL_INPUTS];
    memcpy(read, node->inputs, sizeof read);
    bool is_replaced = graph_replace_value(z, result, NULL) && graph_remove_node(node, NULL);
    g_assert(is_replaced);
    for (int i = 0; i < KERNEL_INPUTS; i++) {
        remove_dead_views(read[i]);
    }
    graph_propagate(graph);
    return true;
}

/* Whether the kernel can take the pointwise kernel that reads its output through the value. */
static bool can_take(struct node *anchor, struct value *read, const struct node *node,
                     const struct kernel *pointwise, enum fusion_level level)
{
    if (anchor == NULL || anchor == node || !level_allows(level, anchor, pointwise)) {
        return false;
    }
    struct value *y = node_output(anchor);
    /* Integers were rounded, and their unit is not the one that the pointwise kernel's numbers have. */
    if (!element_type_is_float(y->shape.type)) {
        return false;
    }
    bool is_plain = is_whole(read) || shape_is_packed(&y->shape);
    if (!is_plain || users_of(y) != 1) {
        return false;
    }
    if (!is_whole(read)) {
        /* Reshaped, not transposed or repeated: the same elements in the same order. */
        struct view view;
        value_base(read, &view);
        if (!view_is_reshape(&view, &y->shape)) {
            return false;
        }
    }
    return true;
}

/* Fuses one pointwise kernel into one of those that compute its inputs. */
static bool fuse_node(struct node *node, enum fusion_level level)
{
    static const int both[] = {KERNEL_X, KERNEL_RESIDUAL};
    struct kernel kernel;
    struct node *anchors[2] = {NULL, NULL};
    kernel_read(node, &kernel);
    for (int i = 0; i < 2; i++) {
        struct value *read = node->inputs[both[i]];
        if (read == NULL || (i == 1 && !is_commutative(&kernel.epilogue))) {
            continue;
        }
        struct node *anchor = producer_behind(read);
        anchors[i] = can_take(anchor, read, node, &kernel, level) ? anchor : NULL;
    }
    /* The one that is computed last. A convolution goes before other kernels. */
    int first = 0;
    if (anchors[1] != NULL &&
        (anchors[0] == NULL ||
         (node_is_kernel_of(anchors[1], OP_CONV) && !node_is_kernel_of(anchors[0], OP_CONV)) ||
         (node_is_kernel_of(anchors[1], OP_CONV) == node_is_kernel_of(anchors[0], OP_CONV) &&
          anchors[1]->order > anchors[0]->order))) {
        first = 1;
    }
    for (int i = 0; i < 2; i++) {
        int which = i == 0 ? first : 1 - first;
        if (anchors[which] != NULL && join(anchors[which], node, both[which])) {
            return true;
        }
    }
    return false;
}

bool network_fuse(struct graph *graph, enum fusion_level level, int *fused, GError **error)
{
    int count = 0;
    if (!graph_resolve(graph, error)) {
        return false;
    }
    for (struct node *node = graph_first(graph); node != NULL; node = node_next(node)) {
        if (!node->removed && node_is_kernel_of(node, OP_POINTWISE) && fuse_node(node, level)) {
            count++;
        }
    }
    if (fused != NULL) {
        *fused = count;
    }
    return graph_resolve(graph, error);
}

/* ---- activations in pieces ---- */

/* The pointwise kernel that computes the value, if it has exactly these steps; their numbers in a and b. */
static struct node *pointwise_of(struct value *value, const enum epilogue_op *ops, int count,
                                 struct kernel *kernel)
{
    struct node *node = value != NULL && is_whole(value) ? producer_behind(value) : NULL;
    if (node == NULL || !node_is_kernel_of(node, OP_POINTWISE)) {
        return NULL;
    }
    kernel_read(node, kernel);
    if (kernel->epilogue.count != count || node->inputs[KERNEL_BIAS] != NULL ||
        node->inputs[KERNEL_SCALES] != NULL) {
        return NULL;
    }
    for (int i = 0; i < count; i++) {
        if (kernel->epilogue.steps[i].op != ops[i]) {
            return NULL;
        }
    }
    return node;
}

static bool near(double a, double b)
{
    return fabs(a - b) <= 1e-4 * MAX(1, fabs(b));
}

static struct node *one_step_of(struct value *value, enum epilogue_op op, struct kernel *kernel)
{
    return pointwise_of(value, &op, 1, kernel);
}

/* Each matcher looks at `f`, one of the factors of a product, and returns what the product of f and x is if f is that
 * function of x; EPILOGUE_NONE if it is not. `factor` is a number by which the product must be multiplied then. */
typedef enum epilogue_op (*matcher)(struct value *x, struct value *f, double *factor);

static enum epilogue_op match_sigmoid(struct value *x, struct value *f, double *factor)
{
    struct kernel kernel;
    struct node *node = one_step_of(f, EPILOGUE_SIGMOID, &kernel);
    (void)factor;
    return node != NULL && values_are_same(node->inputs[KERNEL_X], x) ? EPILOGUE_SILU
                                                                      : EPILOGUE_NONE;
}

static enum epilogue_op match_hard_sigmoid(struct value *x, struct value *f, double *factor)
{
    struct kernel kernel;
    struct node *node = one_step_of(f, EPILOGUE_HARDSIGMOID, &kernel);
    if (node != NULL && values_are_same(node->inputs[KERNEL_X], x)) {
        return near(kernel.epilogue.steps[0].a, 1.0 / 6) && near(kernel.epilogue.steps[0].b, 0.5)
                   ? EPILOGUE_HARDSWISH
                   : EPILOGUE_NONE;
    }
    /* clip(x + 3, 0, 6), divided by 6 in it or in the product's other factor */
    struct kernel scale = {.epilogue = {.count = 0}};
    struct node *scaled = one_step_of(f, EPILOGUE_AFFINE, &scale);
    if (scaled != NULL && scale.epilogue.steps[0].b == 0) {
        f = scaled->inputs[KERNEL_X];
    } else {
        scaled = NULL;
    }
    struct node *clip = one_step_of(f, EPILOGUE_CLIP, &kernel);
    if (clip == NULL || kernel.epilogue.steps[0].a != 0 || !near(kernel.epilogue.steps[0].b, 6)) {
        return EPILOGUE_NONE;
    }
    struct node *shift = one_step_of(clip->inputs[KERNEL_X], EPILOGUE_AFFINE, &kernel);
    if (shift == NULL || kernel.epilogue.steps[0].a != 1 || !near(kernel.epilogue.steps[0].b, 3) ||
        !values_are_same(shift->inputs[KERNEL_X], x)) {
        return EPILOGUE_NONE;
    }
    *factor = scaled != NULL ? 6 * scale.epilogue.steps[0].a : 6;
    *factor = near(*factor, 1) ? 1 : *factor;
    return EPILOGUE_HARDSWISH;
}

static enum epilogue_op match_tanh_softplus(struct value *x, struct value *f, double *factor)
{
    struct kernel kernel;
    struct node *tanh_node = one_step_of(f, EPILOGUE_TANH, &kernel);
    struct node *softplus =
        tanh_node != NULL ? one_step_of(tanh_node->inputs[KERNEL_X], EPILOGUE_SOFTPLUS, &kernel)
                          : NULL;
    (void)factor;
    return softplus != NULL && values_are_same(softplus->inputs[KERNEL_X], x) ? EPILOGUE_MISH
                                                                              : EPILOGUE_NONE;
}

/* f = 1 + erf(x / sqrt 2): x * f is 2 * gelu(x). */
static enum epilogue_op match_erf(struct value *x, struct value *f, double *factor)
{
    struct kernel kernel;
    struct node *plus = one_step_of(f, EPILOGUE_AFFINE, &kernel);
    if (plus == NULL || kernel.epilogue.steps[0].a != 1 || !near(kernel.epilogue.steps[0].b, 1)) {
        return EPILOGUE_NONE;
    }
    struct node *erf_node = one_step_of(plus->inputs[KERNEL_X], EPILOGUE_ERF, &kernel);
    struct node *scale =
        erf_node != NULL ? one_step_of(erf_node->inputs[KERNEL_X], EPILOGUE_AFFINE, &kernel) : NULL;
    if (scale == NULL || !near(kernel.epilogue.steps[0].a, sqrt(0.5)) ||
        kernel.epilogue.steps[0].b != 0 || !values_are_same(scale->inputs[KERNEL_X], x)) {
        return EPILOGUE_NONE;
    }
    *factor = 2;
    return EPILOGUE_GELU;
}

static const matcher matchers[] = {match_sigmoid, match_hard_sigmoid, match_tanh_softplus,
                                   match_erf};

/* Looks for an activation in a product of x and f, where x may carry a number: (x * a) * f. */
static bool match_product(struct node *node, struct value *x, struct value *f)
{
    struct kernel scale;
    for (int scaled = 0; scaled < 2; scaled++) {
        double outer = 1;
        struct value *inner = x;
        if (scaled == 1) {
            struct node *affine = one_step_of(x, EPILOGUE_AFFINE, &scale);
            if (affine == NULL || scale.epilogue.steps[0].b != 0) {
                return false;
            }
            outer = scale.epilogue.steps[0].a;
            inner = affine->inputs[KERNEL_X];
        }
        for (size_t i = 0; i < G_N_ELEMENTS(matchers); i++) {
            double factor = 1;
            enum epilogue_op op = matchers[i](inner, f, &factor);
            if (op == EPILOGUE_NONE) {
                continue;
            }
            struct kernel kernel;
            factor *= outer;
            kernel_read(node, &kernel);
            kernel.epilogue.count = 0;
            epilogue_add(&kernel.epilogue, op, 0, 0, false);
            if (!near(factor, 1)) {
                epilogue_add(&kernel.epilogue, EPILOGUE_AFFINE, factor, 0, false);
            }
            struct value *inputs[KERNEL_INPUTS] = {inner};
            if (graph_set_inputs(node, inputs, KERNEL_INPUTS, NULL)) {
                kernel_write(node, &kernel, NULL);
                return true;
            }
        }
    }
    return false;
}

int network_match_activations(struct graph *graph)
{
    int found = 0;
    graph_propagate(graph);
    for (struct node *node = graph_first(graph); node != NULL; node = node_next(node)) {
        struct kernel kernel;
        if (!node_is_kernel_of(node, OP_POINTWISE) || node->inputs[KERNEL_RESIDUAL] == NULL) {
            continue;
        }
        kernel_read(node, &kernel);
        struct value *x = node->inputs[KERNEL_X], *r = node->inputs[KERNEL_RESIDUAL];
        if (kernel.epilogue.count == 1 && kernel.epilogue.steps[0].op == EPILOGUE_MUL &&
            (match_product(node, x, r) || match_product(node, r, x))) {
            found++;
        }
    }
    graph_remove_dead(graph);
    graph_propagate(graph);
    return found;
}
