/*
 * Shapes computed while a graph is changed: lazily (each change marks, one propagation at the end) and eagerly (each
 * change propagates downstream, in topological order, as far as a shape changes, as MIGraphX does). Chains of
 * elementwise nodes, and real networks: those of SKIPJACK_DATA, and DenseNet-121 from its published structure. Both
 * graphs end equal, or the benchmark fails.
 *
 * Eager propagation computes each node once for each change here. MIGraphX's queue holds a node once for each input that
 * changed, and it propagates once for each user of a value that is replaced, so its counts are higher.
 */
#include "coordinator/network/onnx/onnx_ops.h"
#include "coordinator/network/onnx/onnx_read.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- graphs ---- */

static const struct op *op(const char *name)
{
    const struct op *row = onnx_op_find("", name);
    if (!row)
        g_error("there is no operator %s", name);
    return row;
}

static struct value *add_input(struct graph *graph, const int64_t dims[4])
{
    struct shape shape;
    if (!shape_set_packed(&shape, ELEMENT_FLOAT32, 4, dims, NULL))
        g_error("no shape");
    return graph_add_input(graph, "x", &shape);
}

static struct graph *make_chain(int nodes)
{
    struct graph *graph = graph_new("chain");
    struct value *x = add_input(graph, (int64_t[]){2, 64, 28, 28});
    for (int i = 0; i < nodes; i++)
        x = graph_apply(graph, op(i % 2 ? "Sigmoid" : "Relu"), NULL, &x, 1);
    graph_add_output(graph, x);
    return graph;
}

static struct value *add_weights(struct graph *graph, int rank, const int64_t *dims)
{
    struct shape shape;
    if (!shape_set_packed(&shape, ELEMENT_FLOAT32, rank, dims, NULL))
        g_error("no shape");
    g_autoptr(Tensor) tensor = tensor_new(&shape, NULL, NULL);
    return graph_add_constant(graph, NULL, tensor);
}

static int64_t channels_of(struct value *x)
{
    return value_shape(x)->dim[1];
}

static struct value *window(struct value *x, const char *name, int64_t channels, int64_t size,
                            int64_t stride)
{
    int64_t pad = stride == 2 && size == 2 ? 0 : size / 2;
    struct value *inputs[] = {x, NULL};
    g_autoptr(Attributes) attributes = attributes_new();
    attributes_set_ints(attributes, "kernel_shape", (int64_t[]){size, size}, 2);
    attributes_set_ints(attributes, "strides", (int64_t[]){stride, stride}, 2);
    attributes_set_ints(attributes, "pads", (int64_t[]){pad, pad, pad, pad}, 4);
    if (channels > 0)
        inputs[1] = add_weights(x->graph, 4, (int64_t[]){channels, channels_of(x), size, size});
    return graph_apply(x->graph, op(name), attributes, inputs, channels > 0 ? 2 : 1);
}

static struct value *norm_relu(struct value *x)
{
    int64_t channels = channels_of(x);
    struct value *inputs[5] = {x};
    for (int i = 1; i < 5; i++)
        inputs[i] = add_weights(x->graph, 1, &channels);
    struct value *y = graph_apply(x->graph, op("BatchNormalization"), NULL, inputs, 5);
    return graph_apply(x->graph, op("Relu"), NULL, &y, 1);
}

/* DenseNet-121 (Huang et al., Densely Connected Convolutional Networks, 2017, table 1): growth 32, blocks of 6, 12, 24
 * and 16 layers of a 1x1 convolution to 128 channels and a 3x3 one, half the channels and the size between blocks. */
static struct graph *make_densenet(void)
{
    static const int layers[] = {6, 12, 24, 16};
    struct graph *graph = graph_new("DenseNet-121");
    struct value *x = add_input(graph, (int64_t[]){1, 3, 224, 224});
    x = window(norm_relu(window(x, "Conv", 64, 7, 2)), "MaxPool", 0, 3, 2);
    g_autoptr(Attributes) axis = attributes_new();
    attributes_set_int(axis, "axis", 1);
    for (gsize block = 0; block < G_N_ELEMENTS(layers); block++) {
        for (int i = 0; i < layers[block]; i++) {
            struct value *y = window(norm_relu(x), "Conv", 128, 1, 1);
            y = window(norm_relu(y), "Conv", 32, 3, 1);
            x = graph_apply(graph, op("Concat"), axis, (struct value *[]){x, y}, 2);
        }
        if (block + 1 == G_N_ELEMENTS(layers))
            break;
        x = window(norm_relu(x), "Conv", channels_of(x) / 2, 1, 1);
        x = window(x, "AveragePool", 0, 2, 2);
    }
    x = norm_relu(x);
    graph_add_output(graph, graph_apply(graph, op("GlobalAveragePool"), NULL, &x, 1));
    return graph;
}

/* NULL where SKIPJACK_DATA lacks the model. */
static struct graph *read_model(const char *name)
{
    const char *data = g_getenv("SKIPJACK_DATA");
    g_autofree char *path = g_build_filename(data ? data : "", "onnx", name, NULL);
    g_autofree char *bytes = NULL;
    gsize length;
    if (!data || !g_file_get_contents(path, &bytes, &length, NULL))
        return NULL;
    g_autoptr(GError) error = NULL;
    g_autofree char *folder = g_path_get_dirname(path);
    g_autoptr(OnnxFile) file = onnx_file_new(name, folder, bytes, length, &error);
    const struct onnx_options options = {.without_weights = true};
    struct graph *graph = file ? onnx_read_graph(file, &options, NULL, &error) : NULL;
    if (!graph)
        g_error("%s: %s", name, error->message);
    g_free(graph->name);
    graph->name = g_strdup(name);
    return graph;
}

/* ---- changes ---- */

/* The nodes that a series of changes draws from: those that the graph had before the first change, with outputs of rank
 * 4. */
struct series {
    struct graph *graph;
    GPtrArray *nodes; /* struct node * */
    GRand *rand;
    int number; /* of the change */
};

static struct node *draw(const struct series *series, unsigned absorbs)
{
    for (;;) {
        int index = g_rand_int_range(series->rand, 0, (int)series->nodes->len);
        struct node *node = g_ptr_array_index(series->nodes, (guint)index);
        if ((node->op->absorbs & absorbs) == absorbs)
            return node;
    }
}

/* A node stores its result in another order of axes, or no longer does, as when it absorbs a transposition. */
static void change_order(const struct series *series)
{
    static const int nhwc[] = {0, 2, 3, 1};
    struct node *node = draw(series, OP_WRITES_ORDER);
    bool is_set = node->stores && node->stores[0].has_order;
    if (!graph_set_store(node, 0, ELEMENT_NONE, is_set ? NULL : nhwc, 4, NULL))
        g_error("a store is refused");
}

static void insert_behind(struct node *node, const struct op *row, struct attributes *attributes)
{
    struct graph *graph = node->graph;
    struct value *x = node->outputs[0];
    const struct node_spec spec = {.op = row,
                                   .attributes = attributes,
                                   .inputs = &x,
                                   .input_count = 1,
                                   .before = node_next(node)};
    graph_begin_edit(graph);
    struct node *added = graph_add(graph, &spec, NULL);
    if (!graph_replace_value(x, added->outputs[0], NULL))
        g_error("a node cannot be inserted");
    graph_end_edit(graph);
}

/* An elementwise node is put behind a value. No other shape changes. */
static void insert_node(const struct series *series)
{
    insert_behind(draw(series, 0), op("Relu"), NULL);
}

/* A transposition is put behind a value. All shapes behind it change. */
static void insert_transposition(const struct series *series)
{
    g_autoptr(Attributes) attributes = attributes_new();
    attributes_set_ints(attributes, "perm", (int64_t[]){0, 2, 3, 1}, 4);
    insert_behind(draw(series, 0), &op_transpose, attributes);
}

/* The input has another batch. All shapes change. */
static void change_batch(const struct series *series)
{
    struct value *input = g_ptr_array_index(series->graph->inputs, 0);
    int64_t dims[SHAPE_MAX_RANK];
    struct shape shape;
    memcpy(dims, input->shape.dim, sizeof(dims));
    dims[0] = 3 + series->number % 7;
    if (!shape_set_packed(&shape, input->shape.type, input->shape.rank, dims, NULL))
        g_error("no shape");
    graph_set_input_shape(input, &shape);
}

static const struct kind {
    const char *name;
    void (*change)(const struct series *series);
    bool chains_alone; /* convolutions need their channels where they are */
} kinds[] = {
    {"node inserted", insert_node, false},
    {"order of axes", change_order, false},
    {"transposition inserted", insert_transposition, true},
    {"batch", change_batch, false},
};

/* ---- measuring ---- */

struct result {
    int64_t computations;
    double ms;
    bool is_whole; /* all nodes have shapes after the changes */
};

static struct result measure(struct graph *graph, const struct kind *kind, int changes,
                             bool is_eager)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(7);
    g_autoptr(GPtrArray) nodes = g_ptr_array_new();
    struct series series = {.graph = graph, .nodes = nodes, .rand = rand};
    for (struct node *node = graph_first(graph); node; node = node_next(node)) {
        if (node->outputs[0]->shape.rank == 4)
            g_ptr_array_add(nodes, node);
    }
    graph_set_eager(graph, is_eager);
    graph_propagate(graph);
    int64_t before = graph->shape_computations, start = g_get_monotonic_time();
    for (; series.number < changes; series.number++)
        kind->change(&series);
    struct result result = {.is_whole = graph_propagate(graph) == 0};
    result.ms = (double)(g_get_monotonic_time() - start) / 1000;
    result.computations = graph->shape_computations - before;
    return result;
}

static void compare(const struct graph *original, const struct kind *kind, int changes)
{
    g_autoptr(Graph) lazy = graph_copy(original, NULL, NULL);
    g_autoptr(Graph) eager = graph_copy(original, NULL, NULL);
    struct result lazily = measure(lazy, kind, changes, false);
    struct result eagerly = measure(eager, kind, changes, true);
    g_autofree char *lazy_text = graph_text(lazy);
    g_autofree char *eager_text = graph_text(eager);
    if (strcmp(lazy_text, eager_text) != 0)
        g_error("%s: lazy and eager shapes differ", original->name);
    if (!lazily.is_whole) {
        printf("| %s | %d | %s | %d | shapes fixed in the file | | | | | |\n", original->name,
               original->node_count, kind->name, changes);
        return;
    }
    printf("| %s | %d | %s | %d | %" G_GINT64_FORMAT " | %" G_GINT64_FORMAT
           " | %.1f | %.2f | %.2f | %.1f |\n",
           original->name, original->node_count, kind->name, changes, eagerly.computations,
           lazily.computations, (double)eagerly.computations / (double)lazily.computations,
           eagerly.ms, lazily.ms, eagerly.ms / lazily.ms);
    fflush(stdout);
}

static void compare_all(struct graph *graph, bool is_chain)
{
    graph_propagate(graph);
    for (gsize i = 0; i < G_N_ELEMENTS(kinds); i++) {
        for (int changes = 10; changes <= 1000 && (is_chain || !kinds[i].chains_alone);
             changes *= 10)
            compare(graph, &kinds[i], changes);
    }
    graph_free(graph);
}

int main(void)
{
    static const char *const models[] = {"light_resnet50.onnx", "yolox_nano.onnx"};
    printf(
        "| graph | nodes | change | changes | computed eagerly | lazily | times fewer | ms eagerly "
        "| ms lazily | times faster |\n|---|---|---|---|---|---|---|---|---|---|\n");
    for (int nodes = 100; nodes <= 100000; nodes *= 10)
        compare_all(make_chain(nodes), true);
    compare_all(make_densenet(), false);
    for (gsize i = 0; i < G_N_ELEMENTS(models); i++) {
        struct graph *graph = read_model(models[i]);
        if (graph)
            compare_all(graph, false);
        else
            printf("%s is not in SKIPJACK_DATA: left out\n", models[i]);
    }
    return 0;
}
