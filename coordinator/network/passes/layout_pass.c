#include "coordinator/network/passes/layout_pass.h"

#include "coordinator/network/passes/min_cut.h"
#include "coordinator/network/passes/pass.h"

#include <math.h>
#include <string.h>

/* Label 0 is channels in front of space, label 1 channels last. */
static enum layout layout_of(bool last, int rank)
{
    return rank == 5 ? (last ? LAYOUT_NDHWC : LAYOUT_NCDHW) : (last ? LAYOUT_NHWC : LAYOUT_NCHW);
}

static bool is_movement(const struct node *node)
{
    return node->op == &op_join || node->op == &op_part || node->op == &op_border;
}

/* Whether the node has a layout: its output has axes in space. */
static bool has_layout(const struct node *node)
{
    int rank = node_output(node)->shape.rank;
    return (node_is_kernel(node) || is_movement(node)) && (rank == 4 || rank == 5);
}

struct chooser {
    struct graph *graph;
    const struct layout_costs *costs;
    enum layout_wish wish;
    struct min_cut *cut;
    int *number; /* by node id: its node in the cut, -1 for none */
};

/* ---- what layers and copies cost ---- */

static void ordered(struct shape *shape, const struct shape *like, bool last)
{
    int order[SHAPE_MAX_RANK];
    *shape = *like;
    if (like->rank == 4 || like->rank == 5) {
        layout_order(layout_of(last, like->rank), like->rank, order);
        shape_set_ordered(shape, like->type, like->rank, like->dim, order, NULL);
    } else {
        shape_set_packed(shape, like->type, like->rank, like->dim, NULL);
    }
}

static double layer_cost(const struct chooser *c, const struct node *node, bool last)
{
    static const int inputs[STRIDED_COUNT] = {
        [TENSOR_X] = KERNEL_X, [TENSOR_W] = KERNEL_W, [TENSOR_RESIDUAL] = KERNEL_RESIDUAL};
    struct kernel kernel;
    struct problem problem;
    struct shape shapes[STRIDED_COUNT];
    const struct shape *given[STRIDED_COUNT] = {NULL};
    if (c->costs->cost == NULL || !node_is_kernel(node)) {
        return 0;
    }
    kernel_read(node, &kernel);
    kernel.layout = layout_of(last, node_output(node)->shape.rank);
    for (int t = 0; t < STRIDED_COUNT; t++) {
        const struct value *value = t == TENSOR_Y ? node_output(node) : node->inputs[inputs[t]];
        if (value != NULL) {
            ordered(&shapes[t], &value->shape, last);
            given[t] = &shapes[t];
        }
    }
    return kernel_problem(&kernel, given, &problem, NULL)
               ? c->costs->cost(&problem, c->costs->context)
               : INFINITY;
}

static double copy_cost(const struct chooser *c, const struct shape *shape, bool to_last)
{
    struct kernel kernel;
    struct problem problem;
    struct shape x, y;
    const struct shape *given[STRIDED_COUNT] = {[TENSOR_X] = &x, [TENSOR_Y] = &y};
    if (shape->rank < 4 || shape_elements(shape) == shape->dim[0] * shape->dim[1] ||
        shape->dim[1] == 1) {
        return 0; /* both orders are the same memory */
    }
    if (c->costs->cost == NULL) {
        return (double)shape_bytes(shape);
    }
    kernel_init(&kernel, OP_POINTWISE);
    ordered(&x, shape, !to_last);
    ordered(&y, shape, to_last);
    return kernel_problem(&kernel, given, &problem, NULL)
               ? c->costs->cost(&problem, c->costs->context)
               : INFINITY;
}

/* ---- the cut ---- */

/* Whether the node's input is read in the node's own layout. Pointwise kernels and movements read any, but pay as much. */
static bool follows_layout(const struct node *node, int input)
{
    return is_movement(node) || input == KERNEL_X || input == KERNEL_RESIDUAL;
}

/* The readers of a value in the cut, through views that leave it whole. *reads_first: somebody needs the model's order. */
static void find_readers(const struct chooser *c, struct value *value, struct value *base,
                         GArray *readers, bool *reads_first)
{
    for (int i = 0; i < value->use_count; i++) {
        struct node *user = value->uses[i].node;
        if (user == NULL) {
            continue;
        }
        if (node_is_view(user)) {
            struct view view;
            bool is_whole =
                value_base(node_output(user), &view) == base && view.rank == base->shape.rank &&
                memcmp(view.dim, base->shape.dim, sizeof view.dim[0] * (size_t)view.rank) == 0;
            if (is_whole) {
                find_readers(c, node_output(user), base, readers, reads_first);
            } else {
                *reads_first = true;
            }
        } else if (c->number[user->id] >= 0 && follows_layout(user, value->uses[i].input)) {
            g_array_append_val(readers, c->number[user->id]);
        }
    }
}

/* Adds the cost of a value that is written in one layout and read in the other. A copy in each direction is paid once,
 * however many kernels read it. */
static void add_value(struct chooser *c, struct value *value, int writer)
{
    g_autoptr(GArray) readers = g_array_new(FALSE, FALSE, sizeof(int));
    bool reads_first = false;
    double to_last = copy_cost(c, &value->shape, true),
           to_first = copy_cost(c, &value->shape, false);
    find_readers(c, value, value, readers, &reads_first);
    if (to_last > 0 && readers->len > 0) {
        int any = min_cut_add_node(c->cut);
        min_cut_edge(c->cut, writer, any, to_last);
        for (guint i = 0; i < readers->len; i++) {
            min_cut_edge(c->cut, any, g_array_index(readers, int, i), MIN_CUT_NEVER);
        }
    }
    if (to_first > 0 && (readers->len > 0 || reads_first)) {
        int any = min_cut_add_node(c->cut);
        min_cut_edge(c->cut, any, writer, to_first);
        for (guint i = 0; i < readers->len; i++) {
            min_cut_edge(c->cut, g_array_index(readers, int, i), any, MIN_CUT_NEVER);
        }
        if (reads_first) {
            min_cut_labels(c->cut, any, 0, MIN_CUT_NEVER);
        }
    }
}

static double bounded(double cost)
{
    return isfinite(cost) ? cost : MIN_CUT_NEVER / 1e6;
}

static void choose(struct chooser *c)
{
    for (struct node *node = graph_first(c->graph); node != NULL; node = node_next(node)) {
        if (!has_layout(node)) {
            continue;
        }
        c->number[node->id] = min_cut_add_node(c->cut);
        if (c->wish == LAYOUT_WISH_CHEAPEST) {
            min_cut_labels(c->cut, c->number[node->id], bounded(layer_cost(c, node, false)),
                           bounded(layer_cost(c, node, true)));
        }
    }
    if (c->wish != LAYOUT_WISH_CHEAPEST) {
        return;
    }
    for (struct node *node = graph_first(c->graph); node != NULL; node = node_next(node)) {
        if (c->number[node->id] >= 0) {
            add_value(c, node_output(node), c->number[node->id]);
        }
    }
    int first = min_cut_add_node(c->cut);
    min_cut_labels(c->cut, first, 0, MIN_CUT_NEVER);
    for (guint i = 0; i < c->graph->inputs->len; i++) {
        add_value(c, c->graph->inputs->pdata[i], first);
    }
    min_cut_solve(c->cut);
}

/* ---- carrying it out ---- */

static bool is_stored_as(const struct value *value, enum layout layout)
{
    struct shape wanted;
    int order[SHAPE_MAX_RANK];
    const struct shape *shape = &value->shape;
    if (!layout_order(layout, shape->rank, order) ||
        !shape_set_ordered(&wanted, shape->type, shape->rank, shape->dim, order, NULL)) {
        return false;
    }
    for (int i = 0; i < shape->rank; i++) {
        if (shape->dim[i] > 1 && shape->stride[i] != wanted.stride[i]) {
            return false;
        }
    }
    return true;
}

/* The value in the layout: a copy that is made once. */
static struct value *copied(struct chooser *c, GHashTable *copies, struct value *value,
                            enum layout layout, struct node *before, int *count)
{
    GHashTable *known = g_hash_table_lookup(copies, value);
    int order[SHAPE_MAX_RANK];
    if (known == NULL) {
        known = g_hash_table_new(NULL, NULL);
        g_hash_table_insert(copies, value, known);
    }
    struct value *copy = g_hash_table_lookup(known, GINT_TO_POINTER(layout + 1));
    if (copy == NULL) {
        struct kernel kernel;
        const char *nodes[] = {NULL};
        g_autofree char *name = g_strdup_printf("%s.%s", value_name(value), layout_name(layout));
        struct value *inputs[KERNEL_INPUTS] = {value};
        kernel_init(&kernel, OP_POINTWISE);
        kernel.layout = layout;
        copy = kernel_add(c->graph, name, &kernel, nodes, inputs, before);
        layout_order(layout, value->shape.rank, order);
        graph_set_store(copy->producer, 0, ELEMENT_NONE, order, value->shape.rank, NULL);
        g_hash_table_insert(known, GINT_TO_POINTER(layout + 1), copy);
        (*count)++;
    }
    return copy;
}

/* Puts copies in front of kernels that read a tensor in another layout than their own. */
static bool place_copies(struct chooser *c, int *count, GError **error)
{
    static const int inputs[] = {KERNEL_X, KERNEL_RESIDUAL};
    g_autoptr(GHashTable) copies =
        g_hash_table_new_full(NULL, NULL, NULL, (GDestroyNotify)g_hash_table_unref);
    g_autoptr(GPtrArray) nodes = g_ptr_array_new();
    for (struct node *node = graph_first(c->graph); node != NULL; node = node_next(node)) {
        if (node_is_kernel(node) && has_layout(node) && !node_is_kernel_of(node, OP_POINTWISE)) {
            g_ptr_array_add(nodes, node);
        }
    }
    for (guint n = 0; n < nodes->len; n++) {
        struct node *node = nodes->pdata[n];
        struct kernel kernel;
        kernel_read(node, &kernel);
        for (size_t i = 0; i < G_N_ELEMENTS(inputs); i++) {
            struct value *value = node->inputs[inputs[i]];
            /* Resolving drops its own copies when the graph changes. */
            while (value != NULL && value->producer != NULL && value->producer->is_automatic) {
                value = value->producer->inputs[0];
            }
            if (value == NULL || value->shape.rank < 4 || value->constant != NULL ||
                shape_is_broadcast(&value->shape) || is_stored_as(value, kernel.layout)) {
                continue;
            }
            struct value *copy = copied(c, copies, value, kernel.layout, node, count);
            if (!graph_set_input(node, inputs[i], copy, error)) {
                return false;
            }
        }
    }
    return true;
}

static bool apply(struct chooser *c, struct layout_result *result, GError **error)
{
    for (struct node *node = graph_first(c->graph); node != NULL; node = node_next(node)) {
        int rank = node_output(node)->shape.rank, order[SHAPE_MAX_RANK];
        if (c->number[node->id] < 0) {
            continue;
        }
        bool last = c->wish == LAYOUT_WISH_LAST ||
                    (c->wish == LAYOUT_WISH_CHEAPEST && min_cut_label(c->cut, c->number[node->id]));
        result->last += last && node_is_kernel(node);
        result->first += !last && node_is_kernel(node);
        if (node_is_kernel(node)) {
            struct kernel kernel;
            kernel_read(node, &kernel);
            kernel.layout = layout_of(last, rank);
            kernel_write(node, &kernel, NULL);
        }
        layout_order(layout_of(last, rank), rank, order);
        if (!graph_set_store(node, 0, ELEMENT_NONE, order, rank, error)) {
            return false;
        }
    }
    for (guint i = 0; i < c->graph->inputs->len && c->wish == LAYOUT_WISH_LAST; i++) {
        struct value *value = c->graph->inputs->pdata[i];
        struct shape shape;
        if (value->shape.rank == 4 || value->shape.rank == 5) {
            ordered(&shape, &value->shape, true);
            graph_set_input_shape(value, &shape);
        }
    }
    return graph_resolve(c->graph, error) && place_copies(c, &result->copies, error) &&
           graph_resolve(c->graph, error);
}

bool network_set_layout(struct graph *graph, enum layout_wish wish,
                        const struct layout_costs *costs, struct layout_result *result,
                        GError **error)
{
    static const struct layout_costs none = {NULL, NULL};
    struct layout_result counts = {0};
    if (!graph_resolve(graph, error)) {
        return false;
    }
    struct chooser c = {.graph = graph,
                        .costs = costs != NULL ? costs : &none,
                        .wish = wish,
                        .cut = min_cut_new(0),
                        .number = g_new(int, graph->nodes->len + 1)};
    guint count = graph->nodes->len;
    for (guint i = 0; i < count; i++) {
        c.number[i] = -1;
    }
    choose(&c);
    bool done = apply(&c, &counts, error);
    min_cut_free(c.cut);
    g_free(c.number);
    if (result != NULL) {
        *result = counts;
    }
    return done;
}
