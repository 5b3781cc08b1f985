#include "coordinator/network/host/host_eval.h"

#include "coordinator/network/host/host_ops.h"
#include "coordinator/network/passes/pass.h"

#include <inttypes.h>
#include <string.h>

struct evaluation {
    struct graph *graph;
    const struct host_options *options;
    int threads;
    struct host_array **arrays; /* by value id */
    int *left;                  /* uses of each value that are still to come */
};

static bool fail(struct node *node, GError **error, const char *why)
{
    return node_unsupported(node, error, "%s", why);
}

bool host_knows(const struct node *node)
{
    return node_is_view(node) || host_find(node->op->name) != NULL;
}

/* The node's view as a step on its input alone. */
static bool view_of_node(const struct pass_call *call, struct node *node, struct view *view)
{
    view_identity(view, call->shapes[0]);
    return node->op->view(&call->call, &node->outputs[0]->shape, view);
}

/* Computes a node. outputs are new arrays, NULL for those of unknown shape. */
static bool compute(struct node *node, struct host_array *const *inputs,
                    struct host_array **outputs, int threads, GError **error)
{
    struct pass_call call;
    struct view view;
    bool done = false;
    for (int i = 0; i < node->input_count; i++) {
        if (node->inputs[i] != NULL && inputs[i] == NULL) {
            g_autofree char *why =
                g_strdup_printf("there is no data for its input '%s'", value_name(node->inputs[i]));
            return fail(node, error, why);
        }
    }
    pass_call_init(&call, node);
    if (node->op->view != NULL) {
        done = view_of_node(&call, node, &view) ||
               fail(node, error, "the host cannot compute this view");
        outputs[0] = done ? host_array_through(inputs[0], &view, threads) : NULL;
    } else {
        const struct host_row *row = host_find(node->op->name);
        GError *inner = NULL;
        struct host_call h = {row, &call.call, inputs, outputs, threads};
        for (int i = 0; i < node->output_count; i++) {
            if (shape_is_known(&node->outputs[i]->shape)) {
                outputs[i] = host_array_new(&node->outputs[i]->shape);
            }
            if (i > 0 && outputs[i] != NULL) {
                memset(outputs[i]->data, 0, sizeof(double) * (gsize)outputs[i]->count);
            }
        }
        if (row == NULL) {
            fail(node, error, "the host does not compute this operator");
        } else if (!row->function(&h, &inner)) {
            fail(node, error, inner->message);
            g_error_free(inner);
        } else {
            done = true;
        }
        for (int i = 0; i < node->output_count && done; i++) {
            if (outputs[i] != NULL) {
                host_array_round(outputs[i], threads);
            }
        }
    }
    pass_call_clear(&call);
    for (int i = 0; i < node->output_count && !done; i++) {
        g_clear_pointer(&outputs[i], host_array_unref);
    }
    return done;
}

static void show(struct evaluation *e, struct value *value)
{
    if (e->options != NULL && e->options->observe != NULL && e->arrays[value->id] != NULL) {
        e->options->observe(e->options->context, value, e->arrays[value->id]);
    }
}

/* A use of the value is done; its array is freed with the last. */
static void release(struct evaluation *e, struct value *value)
{
    if (value != NULL && --e->left[value->id] == 0) {
        g_clear_pointer(&e->arrays[value->id], host_array_unref);
    }
}

static bool evaluate_node(struct evaluation *e, struct node *node, GError **error)
{
    g_autofree struct host_array **inputs = g_new0(struct host_array *, node->input_count + 1);
    g_autofree struct host_array **outputs = g_new0(struct host_array *, node->output_count + 1);
    for (int i = 0; i < node->input_count; i++) {
        struct value *value = node->inputs[i];
        if (value == NULL) {
            continue;
        }
        if (e->arrays[value->id] == NULL && value->constant != NULL &&
            tensor_has_data(value->constant)) {
            e->arrays[value->id] = host_array_of(value->constant);
        }
        inputs[i] = e->arrays[value->id];
    }
    if (!compute(node, inputs, outputs, e->threads, error)) {
        return false;
    }
    for (int i = 0; i < node->output_count; i++) {
        struct value *value = node->outputs[i];
        e->arrays[value->id] = outputs[i];
        show(e, value);
        if (e->left[value->id] == 0) {
            g_clear_pointer(&e->arrays[value->id], host_array_unref);
        }
    }
    for (int i = 0; i < node->input_count; i++) {
        release(e, node->inputs[i]);
    }
    return true;
}

static bool set_inputs(struct evaluation *e, struct tensor *const *inputs, GError **error)
{
    for (guint i = 0; i < e->graph->inputs->len; i++) {
        struct value *value = e->graph->inputs->pdata[i];
        if (!shape_same_dims(&inputs[i]->shape, &value->shape) || !tensor_has_data(inputs[i])) {
            g_autofree char *given = shape_text(&inputs[i]->shape);
            g_autofree char *wanted = shape_text(&value->shape);
            g_set_error(error, NETWORK_ERROR, NETWORK_ERROR_INVALID,
                        "input '%s' is %s, the data given are %s", value_name(value), wanted,
                        given);
            return false;
        }
        e->arrays[value->id] = host_array_of(inputs[i]);
        e->arrays[value->id]->shape.type = value->shape.type;
        host_array_round(e->arrays[value->id], e->threads);
        show(e, value);
    }
    return true;
}

static bool evaluate(struct evaluation *e, struct tensor *const *inputs, struct tensor **outputs,
                     GError **error)
{
    for (guint i = 0; i < e->graph->values->len; i++) {
        const struct value *value = e->graph->values->pdata[i];
        e->left[i] = value->use_count;
    }
    if (!set_inputs(e, inputs, error)) {
        return false;
    }
    for (struct node *node = graph_first(e->graph); node != NULL; node = node_next(node)) {
        if (!evaluate_node(e, node, error)) {
            return false;
        }
    }
    for (guint i = 0; i < e->graph->outputs->len; i++) {
        struct value *value = e->graph->outputs->pdata[i];
        struct host_array *array = e->arrays[value->id];
        if (array == NULL && !tensor_has_data(value->constant)) {
            g_set_error(error, NETWORK_ERROR, NETWORK_ERROR_UNSUPPORTED,
                        "output '%s' is not computed", value_name(value));
            for (guint j = 0; j < i; j++) {
                g_clear_pointer(&outputs[j], tensor_unref);
            }
            return false;
        }
        outputs[i] = array != NULL ? host_array_tensor(array) : tensor_ref(value->constant);
    }
    return true;
}

bool host_evaluate(struct graph *graph, struct tensor *const *inputs,
                   const struct host_options *options, struct tensor **outputs, GError **error)
{
    int unknown = graph_propagate(graph);
    if (unknown > 0) {
        for (struct node *node = graph_first(graph); node != NULL; node = node_next(node)) {
            if (!shape_is_known(&node->outputs[0]->shape)) {
                return node_unsupported(node, error, "%s",
                                        node->error != NULL ? node->error->message
                                                            : "its shape is not known");
            }
        }
    }
    struct evaluation e = {.graph = graph, .options = options};
    e.threads =
        options != NULL && options->threads > 0 ? options->threads : (int)g_get_num_processors();
    e.arrays = g_new0(struct host_array *, graph->values->len + 1);
    e.left = g_new0(int, graph->values->len + 1);
    bool done = evaluate(&e, inputs, outputs, error);
    for (guint i = 0; i < graph->values->len; i++) {
        host_array_unref(e.arrays[i]);
    }
    g_free(e.arrays);
    g_free(e.left);
    return done;
}

bool host_evaluate_samples(struct graph *graph, const float *inputs, int64_t input_count,
                           const struct host_options *options, float **outputs,
                           int64_t *output_count, GError **error)
{
    guint in = graph->inputs->len, out = graph->outputs->len;
    g_autofree struct tensor **tensors = g_new0(struct tensor *, in + 1);
    g_autofree struct tensor **results = g_new0(struct tensor *, out + 1);
    int64_t at = 0;
    graph_propagate(graph);
    for (guint i = 0; i < in; i++) {
        struct value *value = graph->inputs->pdata[i];
        at += shape_elements(&value->shape);
    }
    if (at != input_count) {
        g_set_error(error, NETWORK_ERROR, NETWORK_ERROR_INVALID,
                    "the samples have %" PRId64 " elements, the network's inputs have %" PRId64,
                    input_count, at);
        return false;
    }
    at = 0;
    for (guint i = 0; i < in; i++) {
        struct value *value = graph->inputs->pdata[i];
        struct shape shape;
        int64_t count = shape_elements(&value->shape);
        shape_set_packed(&shape, ELEMENT_FLOAT32, value->shape.rank, value->shape.dim, NULL);
        tensors[i] = tensor_take(&shape, g_memdup2(inputs + at, (gsize)(MAX(count, 1) * 4)));
        at += count;
    }
    bool done = host_evaluate(graph, tensors, options, results, error);
    *output_count = 0;
    for (guint i = 0; i < out && done; i++) {
        *output_count += shape_elements(&results[i]->shape);
    }
    *outputs = done ? g_new(float, MAX(*output_count, 1)) : NULL;
    at = 0;
    for (guint i = 0; i < out && done; i++) {
        for (int64_t j = 0; j < shape_elements(&results[i]->shape); j++) {
            (*outputs)[at++] = (float)tensor_double(results[i], j);
        }
    }
    for (guint i = 0; i < MAX(in, out); i++) {
        tensor_unref(i < in ? tensors[i] : NULL);
        tensor_unref(i < out ? results[i] : NULL);
    }
    return done;
}

bool host_evaluate_node(struct node *node, struct tensor **outputs, GError **error)
{
    g_autofree struct host_array **inputs = g_new0(struct host_array *, node->input_count + 1);
    g_autofree struct host_array **results = g_new0(struct host_array *, node->output_count + 1);
    for (int i = 0; i < node->input_count; i++) {
        g_autoptr(Tensor) tensor = node->inputs[i] != NULL ? value_contents(node->inputs[i]) : NULL;
        inputs[i] = tensor != NULL ? host_array_of(tensor) : NULL;
    }
    bool done = compute(node, inputs, results, (int)g_get_num_processors(), error);
    for (int i = 0; i < node->output_count && done; i++) {
        outputs[i] = results[i] != NULL ? host_array_tensor(results[i]) : NULL;
        host_array_unref(results[i]);
    }
    for (int i = 0; i < node->input_count; i++) {
        host_array_unref(inputs[i]);
    }
    return done;
}
