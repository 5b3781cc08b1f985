/*
 * Views are settled in one walk along the topological order, behind the propagation of all shapes. At each node, in this
 * order: inputs that it cannot read become automatic copies; its shapes are computed again if its inputs' strides
 * changed; and it is decided how it stores its outputs, from what the readers of its outputs, also through views, can
 * read. All nodes in front of the node are final by then, so the walk is linear. Decisions of an earlier call are taken
 * back first: the result depends on the graph alone.
 */
#include "coordinator/network/graph_inside.h"
#include "coordinator/network/order.h"

#include <string.h>

/* ---- what is read ---- */

/* How the value's elements are stored, if it has strides. */
static struct shape stored_shape(const struct value *value, const struct shape *shape,
                                 enum element_type base_type)
{
    struct shape stored = *shape;
    stored.type = value->base ? base_type : shape->type;
    return stored;
}

/* Whether the use reads elements that are stored like this and seen as type `seen` in place. */
static bool reads_stored(const struct use *use, enum element_type seen, const struct shape *stored)
{
    if (shape_is_packed(stored) && stored->type == seen)
        return true;
    if (!use->node)
        return false;
    if (use->node->op == &op_copy)
        return true;
    struct node_call call;
    node_call_init(&call, use->node);
    bool reads = op_reads(&call.call, use->input, stored);
    node_call_clear(&call);
    return reads;
}

static bool is_view_input(const struct use *use)
{
    return use->node && node_is_view(use->node);
}

/* A view whose input has to be packed before it can be seen through. */
static bool needs_packed_input(const struct node *view)
{
    const struct value *input = view->inputs[0], *output = view->outputs[0];
    struct shape refined;
    return output->base == input &&
           (input->base || !view_refined_shape(output->view, &input->shape, &refined));
}

/* Whether the use can do with the value as it is. Other inputs of a view are known contents, which nobody reads. */
static bool is_satisfied(const struct use *use, const struct value *value)
{
    if (is_view_input(use))
        return use->input > 0 || !needs_packed_input(use->node);
    if (value->base && !value->has_strides)
        return use->node && use->node->op == &op_copy;
    struct shape stored =
        stored_shape(value, &value->shape, value->base ? value->base->shape.type : ELEMENT_NONE);
    return reads_stored(use, value->shape.type, &stored);
}

/* ---- how an output is stored ---- */

/* A value that shows an output, or is it, and is used by others than views. */
struct reader {
    struct value *value;
    bool needs_packed; /* by a view that cannot be seen through otherwise */
};

/* Lists all readers of an output; computes the views among them. */
static GArray *list_readers(struct value *output)
{
    GArray *readers = g_array_new(FALSE, FALSE, sizeof(struct reader));
    const struct reader first = {output, false};
    g_array_append_val(readers, first);
    for (guint i = 0; i < readers->len; i++) {
        struct value *value = g_array_index(readers, struct reader, i).value;
        for (int j = 0; j < value->use_count; j++) {
            const struct use *use = &value->uses[j];
            if (!is_view_input(use) || use->input > 0)
                continue;
            if (use->node->pending)
                node_compute(use->node);
            const struct reader next = {use->node->outputs[0], false};
            if (needs_packed_input(use->node))
                g_array_index(readers, struct reader, i).needs_packed = true;
            else
                g_array_append_val(readers, next);
        }
    }
    return readers;
}

/* The value's shape if its base, or itself, were stored as `base`. Returns false if it had no strides. */
static bool shape_over(const struct value *value, const struct shape *base, struct shape *shape)
{
    if (value->base)
        return view_shape(value->view, base, shape);
    *shape = *base;
    return true;
}

/* Whether all users of the reader can read it where the output is stored as `base`. */
static bool reader_is_satisfied(const struct reader *reader, const struct shape *base)
{
    struct shape shape;
    const struct value *value = reader->value;
    bool has_strides = shape_over(value, base, &shape);
    if (reader->needs_packed &&
        (!has_strides || !shape_is_packed(&shape) || base->type != value->shape.type))
        return false;
    struct shape stored = stored_shape(value, &shape, base->type);
    for (int i = 0; i < value->use_count; i++) {
        const struct use *use = &value->uses[i];
        if (!is_view_input(use) && (!has_strides || !reads_stored(use, value->shape.type, &stored)))
            return false;
    }
    return true;
}

static const struct reader *reader_at(const GArray *readers, guint index)
{
    return &g_array_index(readers, struct reader, index);
}

/* Elements that have to be copied where the output is stored as `base`. */
static double copied_elements(const GArray *readers, const struct shape *base)
{
    double elements = 0;
    for (guint i = 0; i < readers->len; i++) {
        if (!reader_is_satisfied(reader_at(readers, i), base))
            elements += (double)shape_elements(&reader_at(readers, i)->value->shape);
    }
    return elements;
}

static bool is_read(const struct reader *reader)
{
    bool is_read = reader->needs_packed;
    for (int i = 0; i < reader->value->use_count && !is_read; i++)
        is_read = !is_view_input(&reader->value->uses[i]);
    return is_read;
}

/* The output is converted as it is stored if all its readers want the same other type, and the conversion saves a
 * copy or bytes. */
static bool choose_type(struct node *node, int output, const GArray *readers)
{
    const struct shape *shape = &node->outputs[output]->shape;
    enum element_type wanted = ELEMENT_NONE;
    bool is_common = node->op->absorbs & OP_WRITES_CAST;
    for (guint i = 0; i < readers->len && is_common; i++) {
        enum element_type type = reader_at(readers, i)->value->shape.type;
        if (!is_read(reader_at(readers, i)))
            continue;
        is_common = wanted == ELEMENT_NONE || wanted == type;
        wanted = type;
    }
    if (!is_common || wanted == ELEMENT_NONE || wanted == shape->type)
        return false;
    struct shape converted = *shape;
    converted.type = wanted;
    if (element_type_bytes(wanted) >= element_type_bytes(shape->type) &&
        copied_elements(readers, shape) <= copied_elements(readers, &converted))
        return false;
    struct storage *store = node_store(node, output);
    g_ptr_array_add(node->graph->automatic, node);
    store->has_automatic_type = true;
    store->type = wanted;
    return true;
}

/* The order of the output's axes that makes the reader packed. */
static bool packing_order(const struct reader *reader, const struct shape *shape,
                          int order[SHAPE_MAX_RANK])
{
    struct view view;
    if (reader->value->base)
        view = *reader->value->view;
    else
        view_identity(&view, shape);
    return view_packing_order(&view, shape, order);
}

/* Many readers ask for few orders: each is weighed once, so that the work grows with the readers, not their square. */
#define TRIED_MAX 64
struct tried_orders {
    int count;
    int orders[TRIED_MAX][SHAPE_MAX_RANK];
};

static bool is_new_order(struct tried_orders *tried, const int order[SHAPE_MAX_RANK])
{
    const gsize bytes = sizeof(tried->orders[0]);
    for (int i = 0; i < tried->count; i++) {
        if (memcmp(tried->orders[i], order, bytes) == 0)
            return false;
    }
    if (tried->count == TRIED_MAX)
        return false;
    memcpy(tried->orders[tried->count++], order, bytes);
    return true;
}

/* The order of axes in memory with which the fewest elements are copied: as it is, or one that makes one of the readers
 * packed; of equal ones the first in the order of numbers. */
static bool choose_order(struct node *node, int output, const GArray *readers)
{
    const struct shape *shape = &node->outputs[output]->shape;
    double least = copied_elements(readers, shape);
    struct storage best = {.rank = shape->rank};
    struct tried_orders tried = {.count = 0};
    for (guint i = 0; i < readers->len && least > 0; i++) {
        int order[SHAPE_MAX_RANK] = {0};
        struct shape ordered;
        if (reader_is_satisfied(reader_at(readers, i), shape) ||
            !packing_order(reader_at(readers, i), shape, order) || !is_new_order(&tried, order) ||
            !shape_set_ordered(&ordered, shape->type, shape->rank, shape->dim, order, NULL))
            continue;
        double elements = copied_elements(readers, &ordered);
        if (elements < least ||
            (elements == least && best.has_order && memcmp(order, best.order, sizeof(order)) < 0)) {
            memcpy(best.order, order, sizeof(order));
            best.has_order = true;
            least = elements;
        }
    }
    if (!best.has_order)
        return false;
    struct storage *store = node_store(node, output);
    g_ptr_array_add(node->graph->automatic, node);
    store->has_order = store->has_automatic_order = true;
    store->rank = best.rank;
    memcpy(store->order, best.order, sizeof(best.order));
    return true;
}

static void choose_store(struct node *node, int output)
{
    struct value *value = node->outputs[output];
    const struct storage *store = node->stores ? &node->stores[output] : NULL;
    bool may_cast = node->op->absorbs & OP_WRITES_CAST && !(store && store->type != ELEMENT_NONE);
    bool may_order = node->op->absorbs & OP_WRITES_ORDER && !(store && store->has_order);
    if (!may_cast && !may_order)
        return;
    g_autoptr(GArray) readers = list_readers(value);
    if (may_cast && choose_type(node, output, readers)) {
        node_compute(node);
        g_array_unref(readers);
        readers = list_readers(value);
    }
    if (may_order && choose_order(node, output, readers))
        node_compute(node);
}

/* ---- copies ---- */

/* The automatic copy of a value: the one that is there, or a new one in front of `before`. */
static struct value *copy_of(struct value *value, struct node *before, GHashTable *copies)
{
    struct value *copy = g_hash_table_lookup(copies, value);
    if (copy)
        return copy;
    const struct node_spec spec = {
        .op = &op_copy, .inputs = &value, .input_count = 1, .before = before};
    GError *error = NULL;
    struct node *node = graph_add(value->graph, &spec, &error);
    g_assert_no_error(error);
    node->is_automatic = true;
    g_ptr_array_add(value->graph->automatic, node);
    node_compute(node);
    g_hash_table_insert(copies, value, node->outputs[0]);
    return node->outputs[0];
}

static void settle_inputs(struct node *node, GHashTable *copies)
{
    bool is_view = node_is_view(node);
    if (is_view && node->pending)
        node_compute(node);
    for (int i = 0; i < node->input_count; i++) {
        struct value *value = node->inputs[i];
        const struct use use = {node, i};
        if (!value || is_satisfied(&use, value))
            continue;
        use_change(node->graph, node, i, copy_of(value, node, copies));
        node_mark_pending(node);
    }
}

static void settle_outputs_of_graph(struct graph *graph, GHashTable *copies)
{
    for (guint i = 0; i < graph->outputs->len; i++) {
        struct value *value = g_ptr_array_index(graph->outputs, i);
        const struct use use = {NULL, (int)i};
        if (is_satisfied(&use, value))
            continue;
        use_change(graph, NULL, (int)i, copy_of(value, NULL, copies));
    }
}

static void settle(struct graph *graph)
{
    g_autoptr(GHashTable) copies = g_hash_table_new(NULL, NULL);
    for (struct node *node = graph_first(graph); node; node = node_next(node)) {
        settle_inputs(node, copies);
        if (node->pending)
            node_compute(node);
        for (int i = 0; i < node->output_count && !node->op->view && !node->is_automatic; i++)
            choose_store(node, i);
    }
    settle_outputs_of_graph(graph, copies);
    g_ptr_array_set_size(graph->queue, 0);
    graph->is_settled = true;
}

/* ---- taking back ---- */

static void take_back_copy(struct node *node)
{
    struct value *copy = node->outputs[0], *value = node->inputs[0];
    for (int i = 0; i < copy->use_count; i++) {
        if (copy->uses[i].node)
            node_mark_pending(copy->uses[i].node);
    }
    uses_move(copy, value);
    node_remove(node);
}

static void take_back_stores(struct node *node)
{
    for (int i = 0; node->stores && i < node->output_count; i++) {
        struct storage *store = &node->stores[i];
        if (store->has_automatic_type)
            store->type = ELEMENT_NONE;
        if (store->has_automatic_order)
            store->has_order = false;
        if (store->has_automatic_type || store->has_automatic_order)
            node_mark_pending(node);
        store->has_automatic_type = store->has_automatic_order = false;
    }
}

void graph_unsettle(struct graph *graph)
{
    if (!graph->is_settled)
        return;
    graph->is_settled = false;
    for (guint i = graph->automatic->len; i-- > 0;) {
        struct node *node = g_ptr_array_index(graph->automatic, i);
        if (node->removed)
            continue;
        if (node->is_automatic)
            take_back_copy(node);
        else
            take_back_stores(node);
    }
    g_ptr_array_set_size(graph->automatic, 0);
}

/* ---- resolving ---- */

static void say_unknown_input(struct node *node, GError **error)
{
    for (int i = 0; i < node->input_count; i++) {
        struct value *value = node->inputs[i];
        if (!value || shape_is_known(&value->shape))
            continue;
        g_set_error(
            error, NETWORK_ERROR, NETWORK_ERROR_INVALID, "node '%s' (%s) needs value '%s', %s",
            node_name(node), node->op->name, value_name(value),
            value->kind == VALUE_DECLARED ? "which no node makes" : "whose shape is not known");
        return;
    }
    g_set_error(error, NETWORK_ERROR, NETWORK_ERROR_INVALID,
                "node '%s' (%s) has no shape: it depends on what is only known at run time",
                node_name(node), node->op->name);
}

/* The error of the first node that failed, otherwise of the first one that lacks an input. */
static void say_failure(const struct graph *graph, GError **error)
{
    struct node *failed = NULL;
    for (struct node *node = graph_first(graph); node; node = node_next(node)) {
        if (node->has_no_shape && (!failed || (node->error && !failed->error)))
            failed = node;
        if (failed && failed->error)
            break;
    }
    g_assert(failed);
    if (failed->error)
        g_set_error(error, failed->error->domain, failed->error->code, "node '%s' (%s): %s",
                    node_name(failed), failed->op->name, failed->error->message);
    else
        say_unknown_input(failed, error);
    if (error && *error && graph->no_shape_count > 1) {
        char *message = g_strdup_printf("%s (%d more nodes have no shape)", (*error)->message,
                                        graph->no_shape_count - 1);
        g_free((*error)->message);
        (*error)->message = message;
    }
}

/* An output of the graph that nothing makes. */
static bool check_outputs(const struct graph *graph, GError **error)
{
    for (guint i = 0; i < graph->outputs->len; i++) {
        struct value *value = g_ptr_array_index(graph->outputs, i);
        if (shape_is_known(&value->shape) && !value->removed)
            continue;
        g_set_error(error, NETWORK_ERROR, NETWORK_ERROR_INVALID,
                    "output %u of the graph, value '%s', %s", i, value_name(value),
                    value->kind == VALUE_DECLARED || value->removed ? "is made by no node"
                                                                    : "has no known shape");
        return false;
    }
    return true;
}

bool graph_resolve(struct graph *graph, GError **error)
{
    if (graph->is_settled)
        return true;
    if (graph_propagate(graph) > 0) {
        say_failure(graph, error);
        return false;
    }
    if (!check_outputs(graph, error))
        return false;
    bool is_eager = graph->is_eager;
    graph->is_eager = false;
    settle(graph);
    graph->is_eager = is_eager;
    return true;
}

bool graph_is_resolved(const struct graph *graph)
{
    return graph->is_settled;
}

bool graph_require_resolved(const struct graph *graph, GError **error)
{
    if (graph->is_settled)
        return true;
    struct node *first = NULL;
    for (guint i = 0; i < graph->queue->len; i++) {
        struct node *node = g_ptr_array_index(graph->queue, i);
        if (node->pending && !node->removed && (!first || node->order < first->order))
            first = node;
    }
    for (struct node *node = graph_first(graph); node && !first; node = node_next(node)) {
        if (node->has_no_shape || node_is_view(node))
            first = node;
    }
    if (!first)
        first = graph_first(graph);
    g_set_error(error, NETWORK_ERROR, NETWORK_ERROR_PENDING,
                "the graph %s is not resolved: %s%s%s pending; call graph_resolve() after the last "
                "change",
                graph->name ? graph->name : "", first ? "node '" : "it",
                first ? node_name(first) : "", first ? "' is" : " is");
    return false;
}

/* A type that graph_resolve() chose goes when it is chosen again; the view that asked for it must stay. */
static bool has_chosen_type(const struct value *value)
{
    const struct node *producer = value->producer;
    return producer && producer->stores && producer->stores[value->output].has_automatic_type;
}

int graph_fold_views(struct graph *graph)
{
    int removed = 0;
    g_assert(graph->is_settled);
    for (struct node *node = graph->last, *previous; node; node = previous) {
        previous = node->previous;
        struct value *value = node_is_view(node) ? node->outputs[0] : NULL;
        if (!value)
            continue;
        bool is_identity =
            view_is_identity(value->view, &value->base->shape) && !has_chosen_type(value->base);
        for (int i = value->use_count; is_identity && i-- > 0;) {
            const struct use use = value->uses[i];
            if (use.node)
                use_change(graph, use.node, use.input, value->base);
        }
        if (value->use_count == 0) {
            node_remove(node);
            removed++;
        }
    }
    return removed;
}

/* ---- what a resolved graph reads ---- */

struct value *value_base(struct value *value, struct view *view)
{
    while (value->producer && value->producer->is_automatic)
        value = value->producer->inputs[0];
    struct value *base = value->base ? value->base : value;
    if (view && value->base)
        *view = *value->view;
    else if (view && shape_is_known(&value->shape))
        view_identity(view, &value->shape);
    else if (view)
        memset(view, 0, sizeof(*view));
    return base;
}

void value_operand(struct value *value, struct operand *operand)
{
    g_assert(value->graph->is_settled);
    operand->storage = value->base ? value->base : value;
    operand->type = value->shape.type;
    operand->stored = stored_shape(value, &value->shape, operand->storage->shape.type);
}

void node_operand(const struct node *node, int input, struct operand *operand)
{
    struct value *value = node->inputs[input];
    value_operand(value, operand);
    if (node->op != &op_copy || !value->base || value->has_strides)
        return;
    bool is_whole = view_refined_shape(value->view, &value->base->shape, &operand->stored);
    g_assert(is_whole);
    operand->stored.type = value->base->shape.type;
}
