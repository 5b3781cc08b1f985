#include "coordinator/network/onnx/onnx_reader.h"

/* The nodes of a graph as they depend on each other. */
struct order {
    size_t count;
    GHashTable *givers; /* name of an output -> index of its node, + 1 */
    GArray **users;     /* of each node: indexes of the nodes that wait for it */
    int *waits;         /* of each node: how many outputs it waits for */
};

static bool wait_for_inputs(struct reader *reader, const struct order *order, size_t waiting,
                            const Onnx__NodeProto *top, const Onnx__NodeProto *node,
                            const struct scope *scope, GPtrArray *inner, GError **error);

/* The branch's own names are no dependencies. `inner`: GHashTable * of the names of the branches around. */
static bool wait_for_graph(struct reader *reader, const struct order *order, size_t waiting,
                           const Onnx__NodeProto *top, const Onnx__GraphProto *from,
                           const struct scope *scope, GPtrArray *inner, GError **error)
{
    g_autoptr(GHashTable) own = g_hash_table_new(g_str_hash, g_str_equal);
    for (size_t i = 0; i < from->n_initializer; i++) {
        g_hash_table_add(own, (gpointer)onnx_text_or(from->initializer[i]->name, ""));
    }
    for (size_t i = 0; i < from->n_sparse_initializer; i++) {
        const Onnx__TensorProto *values = from->sparse_initializer[i]->values;
        g_hash_table_add(own, (gpointer)onnx_text_or(values != NULL ? values->name : NULL, ""));
    }
    for (size_t i = 0; i < from->n_input; i++) {
        g_hash_table_add(own, (gpointer)onnx_text_or(from->input[i]->name, ""));
    }
    for (size_t i = 0; i < from->n_node; i++) {
        for (size_t o = 0; o < from->node[i]->n_output; o++) {
            g_hash_table_add(own, (gpointer)onnx_text_or(from->node[i]->output[o], ""));
        }
    }
    g_ptr_array_add(inner, own);
    bool fine = true;
    for (size_t i = 0; fine && i < from->n_node; i++) {
        fine = wait_for_inputs(reader, order, waiting, top, from->node[i], scope, inner, error);
    }
    for (size_t i = 0; fine && i < from->n_output; i++) {
        Onnx__NodeProto end = ONNX__NODE_PROTO__INIT;
        char *name = (char *)onnx_text_or(from->output[i]->name, "");
        end.n_input = 1;
        end.input = &name;
        fine = wait_for_inputs(reader, order, waiting, top, &end, scope, inner, error);
    }
    g_ptr_array_set_size(inner, (gint)inner->len - 1);
    return fine;
}

static bool wait_for_inputs(struct reader *reader, const struct order *order, size_t waiting,
                            const Onnx__NodeProto *top, const Onnx__NodeProto *node,
                            const struct scope *scope, GPtrArray *inner, GError **error)
{
    for (size_t i = 0; i < node->n_input; i++) {
        const char *name = onnx_text_or(node->input[i], NULL);
        bool own = name == NULL;
        for (guint g = 0; !own && g < inner->len; g++) {
            own = g_hash_table_contains(inner->pdata[g], name);
        }
        if (own) {
            continue;
        }
        size_t giver = GPOINTER_TO_SIZE(g_hash_table_lookup(order->givers, name));
        if (giver == 0 && onnx_find_value(scope, name) == NULL) {
            g_autofree char *why = g_strdup_printf(
                "its input '%s' is no input of the network, no constant and no node's output",
                name);
            return onnx_fail_node(reader, top, error, why);
        }
        if (giver != 0 && !g_hash_table_contains(scope->values, name)) {
            g_array_append_val(order->users[giver - 1], waiting);
            order->waits[waiting]++;
        }
    }
    for (size_t i = 0; i < node->n_attribute; i++) {
        if (node->attribute[i]->g != NULL &&
            !wait_for_graph(reader, order, waiting, top, node->attribute[i]->g, scope, inner,
                            error)) {
            return false;
        }
    }
    return true;
}

static void order_clear(struct order *order)
{
    for (size_t i = 0; i < order->count; i++) {
        g_array_unref(order->users[i]);
    }
    g_free(order->users);
    g_free(order->waits);
    g_hash_table_unref(order->givers);
}

/* Adds each node once all that it waits for is there: in the file's order, which almost always is one. */
static bool add_in_order(struct reader *reader, const Onnx__GraphProto *from, struct order *order,
                         const struct scope *scope, GError **error)
{
    g_autofree bool *added = g_new0(bool, MAX(from->n_node, 1));
    g_autoptr(GArray) ready = g_array_new(FALSE, FALSE, sizeof(size_t));
    size_t done = 0;
    for (size_t first = 0; first < from->n_node; first++) {
        if (added[first] || order->waits[first] > 0) {
            continue;
        }
        g_array_append_val(ready, first);
        while (ready->len > 0) {
            size_t index = g_array_index(ready, size_t, ready->len - 1);
            g_array_set_size(ready, ready->len - 1);
            if (!onnx_add_node(reader, from->node[index], scope, error)) {
                return false;
            }
            added[index] = true;
            done++;
            for (guint u = 0; u < order->users[index]->len; u++) {
                size_t user = g_array_index(order->users[index], size_t, u);
                /* a user further on in the file waits for its turn there */
                if (--order->waits[user] == 0 && user < first) {
                    g_array_append_val(ready, user);
                }
            }
        }
    }
    for (size_t i = 0; i < from->n_node && done < from->n_node; i++) {
        if (!added[i]) {
            return onnx_fail_node(reader, from->node[i], error, "it depends on its own output");
        }
    }
    return true;
}

bool onnx_read_nodes(struct reader *reader, const Onnx__GraphProto *from, const struct scope *scope,
                     GError **error)
{
    struct order order = {.count = from->n_node,
                          .givers = g_hash_table_new(g_str_hash, g_str_equal),
                          .users = g_new(GArray *, MAX(from->n_node, 1)),
                          .waits = g_new0(int, MAX(from->n_node, 1))};
    g_autoptr(GPtrArray) inner = g_ptr_array_new();
    bool fine = true;
    for (size_t i = 0; i < from->n_node; i++) {
        order.users[i] = g_array_new(FALSE, FALSE, sizeof(size_t));
        for (size_t o = 0; o < from->node[i]->n_output; o++) {
            if (onnx_text_or(from->node[i]->output[o], NULL) != NULL) {
                g_hash_table_insert(order.givers, from->node[i]->output[o],
                                    GSIZE_TO_POINTER(i + 1));
            }
        }
    }
    for (size_t i = 0; fine && i < from->n_node; i++) {
        fine =
            wait_for_inputs(reader, &order, i, from->node[i], from->node[i], scope, inner, error);
    }
    fine = fine && add_in_order(reader, from, &order, scope, error);
    order_clear(&order);
    return fine;
}
