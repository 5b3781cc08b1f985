#include "coordinator/network/graph_inside.h"
#include "coordinator/network/order.h"

#include <string.h>

/* ---- values ---- */

static struct value *add_value(struct graph *graph, const char *name, enum value_kind kind)
{
    struct value *value = g_new0(struct value, 1);
    value->graph = graph;
    value->id = (int)graph->values->len;
    value->name = g_strdup(name);
    value->kind = kind;
    g_ptr_array_add(graph->values, value);
    return value;
}

static void free_value(gpointer pointer)
{
    struct value *value = pointer;
    tensor_unref(value->constant);
    g_free(value->name);
    g_free(value->label);
    g_free(value->uses);
    g_free(value->view);
    g_free(value);
}

static void free_node(gpointer pointer)
{
    struct node *node = pointer;
    attributes_unref(node->attributes);
    g_clear_error(&node->error);
    g_free(node->name);
    g_free(node->label);
    g_free(node->inputs);
    g_free(node->input_uses);
    g_free(node->outputs);
    g_free(node->stores);
    g_free(node);
}

struct graph *graph_new(const char *name)
{
    struct graph *graph = g_new0(struct graph, 1);
    graph->name = g_strdup(name);
    graph->nodes = g_ptr_array_new_with_free_func(free_node);
    graph->values = g_ptr_array_new_with_free_func(free_value);
    graph->inputs = g_ptr_array_new();
    graph->outputs = g_ptr_array_new();
    graph->output_names = g_ptr_array_new_with_free_func(g_free);
    graph->output_uses = g_array_new(FALSE, TRUE, sizeof(int));
    graph->queue = g_ptr_array_new();
    graph->automatic = g_ptr_array_new();
    return graph;
}

void graph_free(struct graph *graph)
{
    if (!graph)
        return;
    g_ptr_array_unref(graph->nodes);
    g_ptr_array_unref(graph->values);
    g_ptr_array_unref(graph->inputs);
    g_ptr_array_unref(graph->outputs);
    g_ptr_array_unref(graph->output_names);
    g_array_unref(graph->output_uses);
    g_ptr_array_unref(graph->queue);
    g_ptr_array_unref(graph->automatic);
    g_free(graph->name);
    g_free(graph);
}

struct value *graph_add_input(struct graph *graph, const char *name, const struct shape *shape)
{
    struct value *value = add_value(graph, name, VALUE_INPUT);
    if (shape)
        value->shape = *shape;
    g_ptr_array_add(graph->inputs, value);
    return value;
}

struct value *graph_add_constant(struct graph *graph, const char *name, struct tensor *tensor)
{
    struct value *value = add_value(graph, name, VALUE_CONSTANT);
    value->constant = tensor_ref(tensor);
    value->shape = tensor->shape;
    return value;
}

struct value *graph_declare_value(struct graph *graph, const char *name)
{
    return add_value(graph, name, VALUE_DECLARED);
}

/* ---- uses ---- */

static int *place_of_use(struct graph *graph, const struct use *use)
{
    return use->node ? &use->node->input_uses[use->input]
                     : &g_array_index(graph->output_uses, int, (guint)use->input);
}

/* A view with a second output in use is an instruction, and the other way round. */
static void mark_if_view(const struct value *value)
{
    if (value->output > 0 && value->producer->op->view)
        node_mark_pending(value->producer);
}

static void add_use(struct value *value, struct node *node, int input)
{
    if (value->use_count == value->use_capacity) {
        value->use_capacity = MAX(2 * value->use_capacity, 2);
        value->uses = g_renew(struct use, value->uses, value->use_capacity);
    }
    struct use *use = &value->uses[value->use_count];
    *use = (struct use){node, input};
    *place_of_use(value->graph, use) = value->use_count++;
    if (value->use_count == 1 && value->producer)
        mark_if_view(value);
}

static void remove_use(struct value *value, int index)
{
    struct use *last = &value->uses[--value->use_count];
    value->uses[index] = *last;
    if (index < value->use_count)
        *place_of_use(value->graph, last) = index;
    if (value->use_count == 0 && value->producer)
        mark_if_view(value);
}

struct value *use_value(const struct graph *graph, const struct node *node, int input)
{
    return node ? node->inputs[input] : g_ptr_array_index(graph->outputs, (guint)input);
}

void use_change(struct graph *graph, struct node *node, int input, struct value *value)
{
    gpointer *at = node ? (gpointer *)&node->inputs[input] : &graph->outputs->pdata[input];
    struct value *old = *at;
    const struct use use = {node, input};
    if (old)
        remove_use(old, *place_of_use(graph, &use));
    *at = value;
    if (value)
        add_use(value, node, input);
}

void uses_move(struct value *old, struct value *new_value)
{
    while (old->use_count > 0) {
        const struct use use = old->uses[old->use_count - 1];
        use_change(old->graph, use.node, use.input, new_value);
    }
}

void graph_add_output(struct graph *graph, struct value *value)
{
    graph_unsettle(graph);
    g_assert(value->graph == graph && !value->removed);
    int index = (int)graph->outputs->len;
    g_ptr_array_add(graph->outputs, NULL);
    g_ptr_array_add(graph->output_names, g_strdup(value_name(value)));
    g_array_set_size(graph->output_uses, graph->outputs->len);
    use_change(graph, NULL, index, value);
    graph_edited(graph);
}

void graph_set_output(struct graph *graph, int index, struct value *value)
{
    graph_unsettle(graph);
    g_assert(value->graph == graph && !value->removed && index >= 0 &&
             index < (int)graph->outputs->len);
    use_change(graph, NULL, index, value);
    graph_edited(graph);
}

/* ---- nodes ---- */

static bool check_count(const struct op *op, const char *what, int count, int min, int max,
                        GError **error)
{
    if (count >= min && count <= max)
        return true;
    if (min == max)
        g_set_error(error, NETWORK_ERROR, NETWORK_ERROR_INVALID, "operator %s has %d %s, not %d",
                    op->name, min, what, count);
    else if (count < min)
        g_set_error(error, NETWORK_ERROR, NETWORK_ERROR_INVALID,
                    "operator %s has at least %d %s, not %d", op->name, min, what, count);
    else
        g_set_error(error, NETWORK_ERROR, NETWORK_ERROR_INVALID,
                    "operator %s has at most %d %s, not %d", op->name, max, what, count);
    return false;
}

static bool check_op(const struct op *op, int inputs, int outputs, GError **error)
{
    return check_count(op, "inputs", inputs, op->min_inputs, op->max_inputs, error) &&
           check_count(op, "outputs", outputs, op->min_outputs, op->max_outputs, error);
}

static bool check_usable(const struct graph *graph, struct value *value, GError **error)
{
    const char *reason = value->graph != graph ? "belongs to another graph"
                         : value->removed      ? "is removed"
                                               : NULL;
    if (!reason)
        return true;
    g_set_error(error, NETWORK_ERROR, NETWORK_ERROR_INVALID, "value '%s' %s", value_name(value),
                reason);
    return false;
}

static bool check_input(const struct graph *graph, const struct op *op, int input,
                        struct value *value, GError **error)
{
    if (value)
        return check_usable(graph, value, error);
    if (input >= op->min_inputs)
        return true;
    g_set_error(error, NETWORK_ERROR, NETWORK_ERROR_INVALID, "operator %s needs its input %d",
                op->name, input);
    return false;
}

static bool check_inputs(const struct graph *graph, const struct op *op,
                         struct value *const *inputs, int count, GError **error)
{
    for (int i = 0; i < count; i++) {
        if (!check_input(graph, op, i, inputs[i], error))
            return false;
    }
    return true;
}

static int spec_outputs(const struct node_spec *spec)
{
    return MAX(spec->output_count, 1);
}

static bool check_outputs(const struct graph *graph, const struct node_spec *spec, GError **error)
{
    for (int i = 0; spec->outputs && i < spec_outputs(spec); i++) {
        struct value *value = spec->outputs[i];
        if (!value)
            continue;
        bool is_free = value->kind == VALUE_DECLARED;
        for (int j = 0; j < i && is_free; j++)
            is_free = spec->outputs[j] != value;
        if (!check_usable(graph, value, error))
            return false;
        if (!is_free) {
            g_set_error(error, NETWORK_ERROR, NETWORK_ERROR_INVALID,
                        "value '%s' has a producer already, or is an input or a constant",
                        value_name(value));
            return false;
        }
    }
    return true;
}

/* Where the node can stand: at `before`, or behind the last of its inputs where that is later. */
static struct node *place_for(const struct node_spec *spec)
{
    struct node *before = spec->before;
    for (int i = 0; before && i < spec->input_count; i++) {
        struct node *source = spec->inputs[i] ? spec->inputs[i]->producer : NULL;
        if (source && source->order >= before->order)
            before = source->next;
    }
    return before;
}

static struct value *bind_output(struct node *node, int output, struct value *declared)
{
    struct value *value = declared ? declared : add_value(node->graph, NULL, VALUE_RESULT);
    value->kind = VALUE_RESULT;
    value->producer = node;
    value->output = output;
    return value;
}

/* The first of a value's users, all of which get the mark. */
static struct node *mark_users(const struct value *value, uint64_t mark, const struct node *except,
                               struct node *first)
{
    for (int i = 0; i < value->use_count; i++) {
        struct node *user = value->uses[i].node;
        if (!user || user == except)
            continue;
        user->mark = mark;
        if (!first || user->order < first->order)
            first = user;
    }
    return first;
}

static bool move_before_users(struct node *node, GError **error)
{
    struct node *first = NULL;
    uint64_t mark = ++node->graph->walks;
    for (int i = 0; i < node->output_count; i++)
        first = mark_users(node->outputs[i], mark, NULL, first);
    if (!first || order_before_users(node, first, mark))
        return true;
    g_set_error(error, NETWORK_ERROR, NETWORK_ERROR_CYCLE,
                "node '%s' would depend on itself: one of its inputs is made from its outputs",
                node_name(node));
    return false;
}

void node_remove(struct node *node)
{
    struct graph *graph = node->graph;
    for (int i = 0; i < node->input_count; i++)
        use_change(graph, node, i, NULL);
    for (int i = 0; i < node->output_count; i++)
        node->outputs[i]->removed = true;
    order_remove(node);
    node->removed = true;
    graph->queue_is_loose |= node->pending;
    graph->node_count--;
    graph->no_shape_count -= node->has_no_shape;
    node->has_no_shape = false;
}

/* Takes back a node that was just added; its outputs are declared again. */
static void take_back(struct node *node, const struct node_spec *spec)
{
    for (int i = 0; i < node->output_count; i++) {
        node->outputs[i]->producer = NULL;
        node->outputs[i]->kind = VALUE_DECLARED;
    }
    node_remove(node);
    for (int i = 0; i < node->output_count; i++)
        node->outputs[i]->removed = !spec->outputs || !spec->outputs[i];
}

static struct node *new_node(struct graph *graph, const struct node_spec *spec)
{
    struct node *node = g_new0(struct node, 1);
    node->graph = graph;
    node->id = (int)graph->nodes->len;
    node->name = g_strdup(spec->name);
    node->op = spec->op;
    node->attributes = attributes_ref(spec->attributes);
    node->input_count = spec->input_count;
    node->inputs = g_new0(struct value *, MAX(spec->input_count, 1));
    node->input_uses = g_new0(int, MAX(spec->input_count, 1));
    node->output_count = spec_outputs(spec);
    node->outputs = g_new0(struct value *, MAX(node->output_count, 1));
    g_ptr_array_add(graph->nodes, node);
    return node;
}

static struct node *add_node(struct graph *graph, const struct node_spec *spec, GError **error)
{
    if (!check_op(spec->op, spec->input_count, spec_outputs(spec), error) ||
        !check_inputs(graph, spec->op, spec->inputs, spec->input_count, error) ||
        !check_outputs(graph, spec, error))
        return NULL;
    struct node *node = new_node(graph, spec);
    order_insert(node, place_for(spec));
    graph->node_count++;
    for (int i = 0; i < node->input_count; i++)
        use_change(graph, node, i, spec->inputs[i]);
    for (int i = 0; i < node->output_count; i++)
        node->outputs[i] = bind_output(node, i, spec->outputs ? spec->outputs[i] : NULL);
    if (!move_before_users(node, error)) {
        take_back(node, spec);
        return NULL;
    }
    node_mark_pending(node);
    return node;
}

struct node *graph_add(struct graph *graph, const struct node_spec *spec, GError **error)
{
    graph_unsettle(graph);
    struct node *node = add_node(graph, spec, error);
    if (node)
        graph_edited(graph);
    else
        g_prefix_error(error, "cannot add node '%s': ", spec->name ? spec->name : spec->op->name);
    return node;
}

bool graph_add_many(struct graph *graph, const struct node_spec *specs, int count,
                    struct node **nodes, GError **error)
{
    g_autofree struct node **added = g_new0(struct node *, MAX(count, 1));
    graph_begin_edit(graph);
    int done = 0;
    while (done < count && (added[done] = graph_add(graph, &specs[done], error)))
        done++;
    bool is_whole = done == count;
    while (!is_whole && done-- > 0)
        take_back(added[done], &specs[done]);
    graph_end_edit(graph);
    if (is_whole && nodes)
        memcpy(nodes, added, (gsize)count * sizeof(struct node *));
    return is_whole;
}

struct value *graph_apply(struct graph *graph, const struct op *op, struct attributes *attributes,
                          struct value *const *inputs, int input_count)
{
    const struct node_spec spec = {
        .op = op, .attributes = attributes, .inputs = inputs, .input_count = input_count};
    g_autoptr(GError) error = NULL;
    struct node *node = graph_add(graph, &spec, &error);
    if (!node)
        g_error("%s", error->message);
    return node->outputs[0];
}

static struct value *apply_view(struct value *value, const struct op *op,
                                struct attributes *attributes)
{
    struct value *result = graph_apply(value->graph, op, attributes, &value, 1);
    attributes_unref(attributes);
    return result;
}

static struct value *apply_ints(struct value *value, const struct op *op, const char *name,
                                const int64_t *numbers, int count)
{
    struct attributes *attributes = attributes_new();
    attributes_set_ints(attributes, name, numbers, count);
    return apply_view(value, op, attributes);
}

struct value *graph_transpose(struct value *value, const int *permutation, int rank)
{
    int64_t perm[SHAPE_MAX_RANK];
    g_assert(rank <= SHAPE_MAX_RANK);
    for (int i = 0; i < rank; i++)
        perm[i] = permutation[i];
    return apply_ints(value, &op_transpose, "perm", perm, rank);
}

struct value *graph_cast(struct value *value, enum element_type type)
{
    struct attributes *attributes = attributes_new();
    attributes_set_int(attributes, "to", type);
    return apply_view(value, &op_cast, attributes);
}

struct value *graph_broadcast(struct value *value, int rank, const int64_t *dims)
{
    return apply_ints(value, &op_broadcast, "dims", dims, rank);
}

struct value *graph_reshape(struct value *value, int rank, const int64_t *dims)
{
    return apply_ints(value, &op_reshape, "dims", dims, rank);
}

/* ---- edits ---- */

void graph_begin_edit(struct graph *graph)
{
    graph_unsettle(graph);
    graph->open_edits++;
}

void graph_end_edit(struct graph *graph)
{
    g_assert(graph->open_edits > 0);
    graph->open_edits--;
    graph_edited(graph);
}

void graph_edited(struct graph *graph)
{
    graph->is_settled = false;
    if (graph->is_eager && graph->open_edits == 0)
        graph_propagate(graph);
}

static bool refuse_removed(const struct node *node, GError **error)
{
    if (!node->removed)
        return true;
    g_set_error(error, NETWORK_ERROR, NETWORK_ERROR_INVALID, "node '%s' is removed",
                node_name((struct node *)node));
    return false;
}

/* Moves the value's producer in front of the node, if it is behind it. */
static bool order_for_use(struct node *node, const struct value *value, GError **error)
{
    if (!value || !value->producer || value->producer->order < node->order)
        return true;
    uint64_t mark = ++node->graph->walks;
    node->mark = mark;
    if (order_before_users(value->producer, node, mark))
        return true;
    g_set_error(error, NETWORK_ERROR, NETWORK_ERROR_CYCLE,
                "node '%s' cannot use value '%s', which is made from the node's own output",
                node_name(node), value_name((struct value *)value));
    return false;
}

bool graph_set_input(struct node *node, int input, struct value *value, GError **error)
{
    graph_unsettle(node->graph);
    g_assert(input >= 0 && input < node->input_count);
    if (!refuse_removed(node, error) || !check_input(node->graph, node->op, input, value, error) ||
        !order_for_use(node, value, error))
        return false;
    use_change(node->graph, node, input, value);
    node_mark_pending(node);
    graph_edited(node->graph);
    return true;
}

bool graph_set_inputs(struct node *node, struct value *const *inputs, int count, GError **error)
{
    graph_unsettle(node->graph);
    if (!refuse_removed(node, error) || !check_op(node->op, count, node->output_count, error) ||
        !check_inputs(node->graph, node->op, inputs, count, error))
        return false;
    for (int i = 0; i < count; i++) {
        if (!order_for_use(node, inputs[i], error))
            return false;
    }
    /* The caller may have passed the node's own array. */
    g_autofree struct value **wanted = g_new0(struct value *, MAX(count, 1));
    memcpy(wanted, inputs, (gsize)count * sizeof(struct value *));
    for (int i = 0; i < node->input_count; i++)
        use_change(node->graph, node, i, NULL);
    node->inputs = g_renew(struct value *, node->inputs, MAX(count, 1));
    node->input_uses = g_renew(int, node->input_uses, MAX(count, 1));
    node->input_count = count;
    memset(node->inputs, 0, (gsize)count * sizeof(struct value *));
    for (int i = 0; i < count; i++)
        use_change(node->graph, node, i, wanted[i]);
    node_mark_pending(node);
    graph_edited(node->graph);
    return true;
}

/* Moves the producer in front of the users of all `old`, except itself. */
static bool order_for_replacement(struct node *producer, struct value *const *old, int count)
{
    if (!producer)
        return true;
    struct node *first = NULL;
    uint64_t mark = ++producer->graph->walks;
    for (int i = 0; i < count; i++)
        first = mark_users(old[i], mark, producer, first);
    return !first || order_before_users(producer, first, mark);
}

static void replace_uses(struct value *old, struct value *new_value)
{
    for (int i = old->use_count - 1; i >= 0; i--) {
        const struct use use = old->uses[i];
        if (use.node && use.node == new_value->producer)
            continue;
        use_change(old->graph, use.node, use.input, new_value);
        if (use.node)
            node_mark_pending(use.node);
    }
}

bool graph_replace_value(struct value *old, struct value *new_value, GError **error)
{
    graph_unsettle(old->graph);
    if (!check_usable(old->graph, old, error) || !check_usable(old->graph, new_value, error))
        return false;
    if (old == new_value)
        return true;
    if (!order_for_replacement(new_value->producer, &old, 1)) {
        g_set_error(error, NETWORK_ERROR, NETWORK_ERROR_CYCLE,
                    "value '%s' cannot replace '%s': it is made by a user of it",
                    value_name(new_value), value_name(old));
        return false;
    }
    replace_uses(old, new_value);
    graph_edited(old->graph);
    return true;
}

/* Why a node cannot take another one's place, or NULL. */
static const char *refuse_replacement(const struct node *old, const struct node *new_node)
{
    if (old == new_node)
        return "they are the same";
    if (old->graph != new_node->graph)
        return "they belong to different graphs";
    for (int i = new_node->output_count; i < old->output_count; i++) {
        if (old->outputs[i]->use_count > 0)
            return "it lacks outputs that are in use";
    }
    for (int i = 0; i < new_node->input_count; i++) {
        if (new_node->inputs[i] && new_node->inputs[i]->producer == old)
            return "it uses it";
    }
    return NULL;
}

bool graph_replace_node(struct node *old, struct node *new_node, GError **error)
{
    graph_unsettle(old->graph);
    if (!refuse_removed(old, error) || !refuse_removed(new_node, error))
        return false;
    const char *reason = refuse_replacement(old, new_node);
    bool is_cycle = !reason && !order_for_replacement(new_node, old->outputs, old->output_count);
    if (reason || is_cycle) {
        g_set_error(error, NETWORK_ERROR, is_cycle ? NETWORK_ERROR_CYCLE : NETWORK_ERROR_INVALID,
                    "node '%s' cannot replace '%s': %s", node_name(new_node), node_name(old),
                    is_cycle ? "it depends on a user of it" : reason);
        return false;
    }
    for (int i = 0; i < MIN(old->output_count, new_node->output_count); i++)
        replace_uses(old->outputs[i], new_node->outputs[i]);
    node_remove(old);
    graph_edited(old->graph);
    return true;
}

bool graph_set_op(struct node *node, const struct op *op, struct attributes *attributes,
                  GError **error)
{
    graph_unsettle(node->graph);
    if (!refuse_removed(node, error) ||
        !check_op(op, node->input_count, node->output_count, error) ||
        !check_inputs(node->graph, op, node->inputs, node->input_count, error))
        return false;
    node->op = op;
    g_clear_pointer(&node->label, g_free);
    graph_set_attributes(node, attributes);
    return true;
}

void graph_set_attributes(struct node *node, struct attributes *attributes)
{
    graph_unsettle(node->graph);
    attributes_ref(attributes);
    attributes_unref(node->attributes);
    node->attributes = attributes;
    node_mark_pending(node);
    graph_edited(node->graph);
}

static void mark_all_users(const struct value *value)
{
    for (int i = 0; i < value->use_count; i++) {
        if (value->uses[i].node)
            node_mark_pending(value->uses[i].node);
    }
}

void graph_set_input_shape(struct value *input, const struct shape *shape)
{
    g_assert(input->kind == VALUE_INPUT);
    if (shape_equal(&input->shape, shape))
        return;
    graph_unsettle(input->graph);
    input->shape = *shape;
    mark_all_users(input);
    graph_edited(input->graph);
}

void graph_set_constant(struct value *constant, struct tensor *tensor)
{
    graph_unsettle(constant->graph);
    g_assert(constant->kind == VALUE_CONSTANT);
    tensor_ref(tensor);
    tensor_unref(constant->constant);
    constant->constant = tensor;
    constant->shape = tensor->shape;
    mark_all_users(constant);
    graph_edited(constant->graph);
}

struct storage *node_store(struct node *node, int output)
{
    if (!node->stores)
        node->stores = g_new0(struct storage, node->output_count);
    return &node->stores[output];
}

bool graph_set_store(struct node *node, int output, enum element_type type, const int *order,
                     int rank, GError **error)
{
    graph_unsettle(node->graph);
    g_assert(output >= 0 && output < node->output_count && rank <= SHAPE_MAX_RANK);
    const char *refusal = NULL;
    if (node->op->view)
        refusal = "is a view: it stores nothing";
    else if (type != ELEMENT_NONE && !(node->op->absorbs & OP_WRITES_CAST))
        refusal = "does not convert what it stores";
    else if (order && !(node->op->absorbs & OP_WRITES_ORDER))
        refusal = "does not store in another order of axes";
    if (!refuse_removed(node, error))
        return false;
    if (refusal) {
        g_set_error(error, NETWORK_ERROR, NETWORK_ERROR_INVALID, "node '%s' (%s) %s",
                    node_name(node), node->op->name, refusal);
        return false;
    }
    struct storage *store = node_store(node, output);
    *store = (struct storage){.type = type, .has_order = order, .rank = rank};
    if (order)
        memcpy(store->order, order, (gsize)rank * sizeof(*order));
    node_mark_pending(node);
    graph_edited(node->graph);
    return true;
}

bool graph_remove_node(struct node *node, GError **error)
{
    graph_unsettle(node->graph);
    if (!refuse_removed(node, error))
        return false;
    for (int i = 0; i < node->output_count; i++) {
        struct value *value = node->outputs[i];
        if (value->use_count == 0)
            continue;
        struct node *user = value->uses[0].node;
        g_set_error(error, NETWORK_ERROR, NETWORK_ERROR_INVALID,
                    "node '%s' cannot be removed: value '%s' is used by %s%s", node_name(node),
                    value_name(value), user ? "node " : "the outputs of the graph",
                    user ? node_name(user) : "");
        return false;
    }
    node_remove(node);
    graph_edited(node->graph);
    return true;
}

static bool is_dead(const struct node *node)
{
    for (int i = 0; i < node->output_count; i++) {
        if (node->outputs[i]->use_count > 0)
            return false;
    }
    return true;
}

int graph_remove_dead(struct graph *graph)
{
    graph_unsettle(graph);
    int removed = 0;
    for (struct node *node = graph->last, *previous; node; node = previous) {
        previous = node->previous;
        if (is_dead(node)) {
            node_remove(node);
            removed++;
        }
    }
    for (guint i = 0; i < graph->values->len; i++) {
        struct value *value = g_ptr_array_index(graph->values, i);
        if (value->use_count == 0 &&
            (value->kind == VALUE_CONSTANT || value->kind == VALUE_DECLARED))
            value->removed = true;
    }
    graph_edited(graph);
    return removed;
}

static bool fold_result(struct value *value)
{
    if (!tensor_has_data(value->constant) || value->use_count == 0)
        return false;
    struct value *constant = graph_add_constant(value->graph, NULL, value->constant);
    constant->name = g_steal_pointer(&value->name);
    mark_all_users(value);
    uses_move(value, constant);
    return true;
}

int graph_fold_constants(struct graph *graph)
{
    graph_unsettle(graph);
    int folded = 0;
    graph_propagate(graph);
    for (struct node *node = graph->last, *previous; node; node = previous) {
        previous = node->previous;
        bool is_folded = false;
        for (int i = 0; i < node->output_count; i++)
            is_folded |= fold_result(node->outputs[i]);
        folded += is_folded;
        if (is_folded && is_dead(node))
            node_remove(node);
    }
    graph_edited(graph);
    return folded;
}

void graph_rename_node(struct node *node, const char *name)
{
    char *copy = g_strdup(name);
    g_free(node->name);
    node->name = copy;
}

void graph_rename_value(struct value *value, const char *name)
{
    char *copy = g_strdup(name);
    g_free(value->name);
    value->name = copy;
}

/* ---- reading ---- */

struct node *graph_first(const struct graph *graph)
{
    return graph->first;
}

struct node *node_next(const struct node *node)
{
    struct node *next = node->next;
    while (next && next->removed)
        next = next->next;
    return next;
}

const char *node_name(struct node *node)
{
    if (!node->name && !node->label)
        node->label = g_strdup_printf("%s_%d", node->op->name, node->id);
    return node->name ? node->name : node->label;
}

const char *value_name(struct value *value)
{
    if (!value->name && !value->label)
        value->label = g_strdup_printf("value_%d", value->id);
    return value->name ? value->name : value->label;
}

struct value *node_output(const struct node *node)
{
    return node->outputs[0];
}

struct node *value_only_user(const struct value *value)
{
    return value->use_count == 1 ? value->uses[0].node : NULL;
}

const char *graph_output_name(const struct graph *graph, int index)
{
    return g_ptr_array_index(graph->output_names, (guint)index);
}

bool value_is_graph_output(const struct value *value)
{
    for (int i = 0; i < value->use_count; i++) {
        if (!value->uses[i].node)
            return true;
    }
    return false;
}

struct value *graph_find_value(const struct graph *graph, const char *name)
{
    for (guint i = 0; i < graph->values->len; i++) {
        struct value *value = g_ptr_array_index(graph->values, i);
        if (!value->removed && value->name && strcmp(value->name, name) == 0)
            return value;
    }
    return NULL;
}

struct node *graph_find_node(const struct graph *graph, const char *name)
{
    for (struct node *node = graph->first; node; node = node->next) {
        if (node->name && strcmp(node->name, name) == 0)
            return node;
    }
    return NULL;
}
