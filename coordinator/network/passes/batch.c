#include "coordinator/network/passes/pass.h"
#include "coordinator/network/passes/passes.h"

#include <string.h>

/* The input that holds the sizes of the output, -1 for none. */
static int sizes_input(const struct node *node)
{
    static const struct {
        const char *op;
        int input;
    } rows[] = {{"Reshape", 1}, {"Expand", 1}, {"Resize", 3}};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        if (strcmp(rows[i].op, node->op->name) == 0 && rows[i].input < node->input_count &&
            node->inputs[rows[i].input] != NULL) {
            return rows[i].input;
        }
    }
    return -1;
}

/* A constant list of sizes that begins with the old batch gets the new one. */
static void follow(struct node *node, int64_t old, int64_t batch)
{
    int64_t count = 0;
    int input = sizes_input(node);
    const struct shape *x = &node->inputs[0]->shape;
    if (input < 0 || node->inputs[input]->kind != VALUE_CONSTANT || x->rank == 0 ||
        x->dim[0] != old) {
        return;
    }
    g_autofree double *sizes = value_numbers(node->inputs[input], &count);
    if (sizes == NULL || count == 0 || (int64_t)sizes[0] != old) {
        return;
    }
    g_autofree int64_t *changed = g_new(int64_t, count);
    for (int64_t i = 0; i < count; i++) {
        changed[i] = i == 0 ? batch : (int64_t)sizes[i];
    }
    g_autoptr(Tensor) tensor = tensor_new_int64s(changed, (int)count);
    struct value *list = graph_add_constant(node->graph, NULL, tensor);
    bool is_set = graph_set_input(node, input, list, NULL);
    g_assert(is_set);
}

bool network_set_batch(struct graph *graph, int64_t batch, GError **error)
{
    const struct value *first = graph->inputs->len > 0 ? graph->inputs->pdata[0] : NULL;
    graph_propagate(graph);
    if (first == NULL || first->shape.rank == 0) {
        g_set_error(error, NETWORK_ERROR, NETWORK_ERROR_INVALID,
                    "the network has no input with a batch");
        return false;
    }
    int64_t old = first->shape.dim[0];
    if (old == batch) {
        return true;
    }
    for (struct node *node = graph_first(graph); node != NULL; node = node_next(node)) {
        if (node->input_count > 0 && node->inputs[0] != NULL) {
            follow(node, old, batch);
        }
    }
    for (guint i = 0; i < graph->inputs->len; i++) {
        struct value *value = graph->inputs->pdata[i];
        struct shape shape = value->shape;
        if (shape.rank > 0 && shape.dim[0] == old && (i == 0 || shape.rank > 1)) {
            int64_t dims[SHAPE_MAX_RANK];
            memcpy(dims, shape.dim, sizeof dims);
            dims[0] = batch;
            if (!shape_set_packed(&shape, shape.type, shape.rank, dims, error)) {
                return false;
            }
            graph_set_input_shape(value, &shape);
        }
    }
    graph_propagate(graph);
    for (struct node *node = graph_first(graph); node != NULL; node = node_next(node)) {
        if (node->error != NULL) {
            return node_unsupported(node, error, "with batch %d: %s", (int)batch,
                                    node->error->message);
        }
    }
    return true;
}
