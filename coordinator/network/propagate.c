/*
 * Shapes follow from inputs to outputs. Pending nodes wait in a heap ordered by their place in the topological order:
 * the first one has inputs that are up to date, so each node is computed once.
 */
#include "coordinator/network/graph_inside.h"

#include <string.h>

/* Views of constants up to this many elements are constants: shapes and indices, not weights. */
#define CONSTANT_VIEW_MAX 4096

/* ---- the queue ---- */

static struct node *queued(const GPtrArray *queue, guint index)
{
    return g_ptr_array_index(queue, index);
}

static void exchange(GPtrArray *queue, guint a, guint b)
{
    gpointer held = queue->pdata[a];
    queue->pdata[a] = queue->pdata[b];
    queue->pdata[b] = held;
}

static void sift_up(GPtrArray *queue, guint at)
{
    for (; at > 0 && queued(queue, at)->order < queued(queue, (at - 1) / 2)->order;
         at = (at - 1) / 2)
        exchange(queue, at, (at - 1) / 2);
}

static void sift_down(GPtrArray *queue, guint at)
{
    for (;;) {
        guint least = at;
        for (guint child = 2 * at + 1; child <= 2 * at + 2 && child < queue->len; child++) {
            if (queued(queue, child)->order < queued(queue, least)->order)
                least = child;
        }
        if (least == at)
            return;
        exchange(queue, at, least);
        at = least;
    }
}

void node_mark_pending(struct node *node)
{
    struct graph *graph = node->graph;
    if (node->pending)
        return;
    node->pending = true;
    g_ptr_array_add(graph->queue, node);
    if (!graph->queue_is_loose)
        sift_up(graph->queue, graph->queue->len - 1);
}

/* Makes a heap of the queue again, without removed nodes. */
static void tighten(struct graph *graph)
{
    GPtrArray *queue = graph->queue;
    guint kept = 0;
    for (guint i = 0; graph->queue_is_loose && i < queue->len; i++) {
        if (!queued(queue, i)->removed)
            queue->pdata[kept++] = queue->pdata[i];
    }
    if (graph->queue_is_loose)
        g_ptr_array_set_size(queue, (int)kept);
    for (guint i = graph->queue->len / 2; graph->queue_is_loose && i-- > 0;)
        sift_down(graph->queue, i);
    graph->queue_is_loose = false;
}

static struct node *take_first(GPtrArray *queue)
{
    struct node *first = queued(queue, 0);
    exchange(queue, 0, queue->len - 1);
    g_ptr_array_set_size(queue, (int)queue->len - 1);
    if (queue->len > 0)
        sift_down(queue, 0);
    return first;
}

/* ---- calls ---- */

void node_call_init(struct node_call *call, const struct node *node)
{
    bool fits = node->input_count <= CALL_INPUTS;
    gsize count = (gsize)node->input_count;
    const struct shape **inputs = fits ? call->inputs : g_new(const struct shape *, count);
    const struct tensor **constants = fits ? call->constants : g_new(const struct tensor *, count);
    for (int i = 0; i < node->input_count; i++) {
        inputs[i] = node->inputs[i] ? &node->inputs[i]->shape : NULL;
        constants[i] = node->inputs[i] ? node->inputs[i]->constant : NULL;
    }
    call->call = (struct op_call){
        .op = node->op,
        .name = node->name,
        .attributes = node->attributes,
        .input_count = node->input_count,
        .inputs = inputs,
        .constants = constants,
        .output_count = node->output_count,
    };
}

void node_call_clear(struct node_call *call)
{
    if (call->call.input_count <= CALL_INPUTS)
        return;
    g_free((gpointer)call->call.inputs);
    g_free((gpointer)call->call.constants);
}

/* ---- one node ---- */

bool node_is_view(const struct node *node)
{
    if (!node->op->view)
        return false;
    for (int i = 1; i < node->output_count; i++) {
        if (node->outputs[i]->use_count > 0)
            return false;
    }
    return true;
}

/* The shape, contents and view that propagation finds for one output of a node. */
struct finding {
    struct shape shape;
    struct tensor *constant; /* a reference */
    struct value *base;      /* of a view */
    struct view view;
    bool has_strides;
};

static bool same_view(const struct value *value, const struct finding *found)
{
    return value->base == found->base && value->has_strides == found->has_strides &&
           (!found->base || view_equal(value->view, &found->view));
}

/* Takes over the finding's reference. */
static void set_output(struct value *value, struct finding *found)
{
    bool is_same =
        shape_equal(&value->shape, &found->shape) && tensor_equal(value->constant, found->constant);
    bool is_same_view = same_view(value, found);
    value->shape = found->shape;
    tensor_unref(value->constant);
    value->constant = found->constant;
    value->base = found->base;
    value->has_strides = found->has_strides;
    if (!found->base)
        g_clear_pointer(&value->view, g_free);
    else if (!value->view)
        value->view = g_memdup2(&found->view, sizeof(found->view));
    else
        *value->view = found->view;
    for (int i = 0; i < value->use_count; i++) {
        struct node *user = value->uses[i].node;
        if (user && (!is_same || (!is_same_view && user->op->view)))
            node_mark_pending(user);
    }
}

/* The value's view of its base, or the identity. */
static struct value *view_of(struct value *value, struct view *view)
{
    if (value->base)
        *view = *value->view;
    else
        view_identity(view, &value->shape);
    return value->base ? value->base : value;
}

/* A view's base is the value behind its input's view; the input itself where the two do not compose, or have no
 * place in the base's memory. */
static void find_view(const struct node *node, const struct op_call *call, struct finding *found)
{
    struct shape refined;
    struct value *input = node->inputs[0];
    found->base = view_of(input, &found->view);
    bool composes = node->op->view(call, &found->shape, &found->view) &&
                    view_refined_shape(&found->view, &found->base->shape, &refined);
    if (!composes) {
        found->base = input;
        view_identity(&found->view, &input->shape);
        bool is_view = node->op->view(call, &found->shape, &found->view);
        g_assert(is_view);
    }
    struct shape seen;
    found->has_strides =
        view_shape(&found->view, &found->base->shape, &seen) && (composes || !input->base);
    if (found->has_strides)
        found->shape = seen;
    else
        shape_set_packed(&found->shape, seen.type, seen.rank, seen.dim, NULL);
    struct tensor *constant = found->base->constant;
    if (tensor_has_data(constant) && shape_elements(&found->shape) <= CONSTANT_VIEW_MAX &&
        shape_elements(&constant->shape) <= CONSTANT_VIEW_MAX)
        found->constant = tensor_through_view(constant, &found->view);
}

static bool apply_store(const struct storage *store, struct shape *shape, GError **error)
{
    enum element_type type = store->type == ELEMENT_NONE ? shape->type : store->type;
    if (!store->has_order) {
        shape->type = type;
        return true;
    }
    if (store->rank != shape->rank) {
        g_set_error(error, NETWORK_ERROR, NETWORK_ERROR_INVALID,
                    "its output has %d dimensions, but is to be stored in an order of %d",
                    shape->rank, store->rank);
        return false;
    }
    const struct shape inferred = *shape;
    return shape_set_ordered(shape, type, inferred.rank, inferred.dim, store->order, error);
}

static bool infer(const struct node *node, const struct op_call *call, struct shape *shapes,
                  struct tensor **constants, GError **error)
{
    node->graph->shape_computations++;
    if (!node->op->infer(call, shapes, error))
        return false;
    for (int i = 0; i < node->output_count; i++) {
        shape_normalize(&shapes[i]);
        if (node->stores && shape_is_known(&shapes[i]) &&
            !apply_store(&node->stores[i], &shapes[i], error))
            return false;
    }
    return !node->op->fold || node->op->fold(call, shapes, constants, error);
}

static bool has_all_inputs(const struct node *node)
{
    for (int i = 0; i < node->input_count; i++) {
        if (node->inputs[i] ? !shape_is_known(&node->inputs[i]->shape) : i < node->op->min_inputs)
            return false;
    }
    return true;
}

static void set_has_no_shape(struct node *node, bool has_no_shape)
{
    node->graph->no_shape_count += (int)has_no_shape - (int)node->has_no_shape;
    node->has_no_shape = has_no_shape;
}

void node_compute(struct node *node)
{
    gsize count = (gsize)MAX(node->output_count, 1);
    struct shape one_shape = {.type = ELEMENT_NONE};
    struct tensor *one_constant = NULL;
    struct shape *shapes = count == 1 ? &one_shape : g_new0(struct shape, count);
    struct tensor **constants = count == 1 ? &one_constant : g_new0(struct tensor *, count);
    struct node_call call;
    node_call_init(&call, node);
    node->pending = false;
    g_clear_error(&node->error);
    bool ok = has_all_inputs(node) && infer(node, &call.call, shapes, constants, &node->error);
    bool is_whole = ok;
    for (int i = 0; i < node->output_count; i++) {
        struct finding found = {.shape = {.type = ELEMENT_NONE}};
        if (ok) {
            found.shape = shapes[i];
            found.constant = constants[i];
        } else {
            tensor_unref(constants[i]);
        }
        is_whole = is_whole && shape_is_known(&found.shape);
        if (i == 0 && shape_is_known(&found.shape) && node_is_view(node))
            find_view(node, &call.call, &found);
        set_output(node->outputs[i], &found);
    }
    set_has_no_shape(node, !is_whole);
    node_call_clear(&call);
    if (count > 1) {
        g_free(shapes);
        g_free(constants);
    }
}

/* ---- the graph ---- */

/* Computes pending nodes up to one of this order. */
static void propagate_up_to(struct graph *graph, uint64_t order)
{
    tighten(graph);
    while (graph->queue->len > 0 && queued(graph->queue, 0)->order <= order) {
        struct node *node = take_first(graph->queue);
        if (!node->removed && node->pending)
            node_compute(node);
    }
}

int graph_propagate(struct graph *graph)
{
    propagate_up_to(graph, UINT64_MAX);
    return graph->no_shape_count;
}

const struct shape *value_shape(struct value *value)
{
    if (value->producer && !value->removed)
        propagate_up_to(value->graph, value->producer->order);
    return &value->shape;
}

void graph_set_eager(struct graph *graph, bool is_eager)
{
    graph->is_eager = is_eager;
    if (is_eager)
        graph_edited(graph);
}
