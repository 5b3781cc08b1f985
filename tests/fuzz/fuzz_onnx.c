/* Any bytes as an ONNX model, and a small model with some of its bytes changed: no crash, errors are set exactly where
 * reading fails, and problems of a graph are valid. */
#include "coordinator/network/onnx/onnx_layers.h"
#include "coordinator/network/onnx/onnx_read.h"
#include "export/formats/export_error.h"
#include "tests/support/onnx/onnx_writer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_model(const void *data, size_t size)
{
    static const struct onnx_options options = {.batch = 2, .without_weights = true};
    g_autoptr(GError) error = NULL;
    g_autoptr(OnnxFile) file = onnx_file_new("fuzz", NULL, data, size, &error);
    g_autoptr(Graph) graph = file != NULL ? onnx_read_graph(file, &options, NULL, &error) : NULL;
    g_assert_true((graph != NULL) == (error == NULL));
    g_assert_true(error == NULL || error->domain == EXPORT_ERROR);
    if (graph == NULL) {
        return;
    }
    g_assert_true(graph_validate(graph, NULL));
    g_autoptr(GArray) layers = onnx_layers(graph);
    for (guint i = 0; i < layers->len; i++) {
        const struct onnx_layer *layer = &g_array_index(layers, struct onnx_layer, i);
        g_assert_true(layer->reason != NULL || problem_validate(&layer->problem, NULL));
    }
}

/* A model with operators of many kinds. */
static GBytes *make_model(void)
{
    struct onnx_writer writer, yes, no;
    onnx_writer_init(&writer, "fuzz");
    onnx_write_input(&writer, "x", 1, "N,4,9,8");
    onnx_write_tensor(&writer, "w", 1, "8,2,3,3", NULL, 0);
    onnx_write_ints(&writer, "i", "0,2,-1,1");
    onnx_write_floats(&writer, "s", "1,1,2,2");
    onnx_write_node(&writer, "Conv", "x w", "a", "group=2 auto_pad=SAME_UPPER strides=[2,1]");
    onnx_write_node(&writer, "MaxPool", "a", "b", "kernel_shape=[2,2] ceil_mode=1 strides=[2,2]");
    onnx_write_node(&writer, "Resize", "b - s", "c", "mode=nearest");
    onnx_write_node(&writer, "Shape", "c", "d", "");
    onnx_write_node(&writer, "Gather", "d i", "e", "axis=0");
    onnx_write_node(&writer, "Slice", "c i e", "f", "");
    onnx_write_node(&writer, "Reshape", "f i", "g", "");
    onnx_write_node(&writer, "Split", "g", "h j", "axis=1");
    onnx_write_node(&writer, "Pad", "x i", "k", "");
    onnx_write_node(&writer, "ConvTranspose", "a w", "l", "output_shape=[20,20] strides=[3,3]");
    onnx_writer_init(&yes, "yes");
    onnx_write_node(&yes, "Einsum", "g g", "m", "equation=ij,ij->i");
    onnx_write_output(&yes, "m");
    onnx_writer_init(&no, "no");
    onnx_write_node(&no, "ReduceSum", "l i", "m", "");
    onnx_write_output(&no, "m");
    onnx_write_if(&writer, "i", "o", &yes, &no);
    onnx_write_output(&writer, "o");
    return onnx_writer_finish(&writer, 13, "fuzz 1");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autoptr(GBytes) model = make_model();
    gsize length;
    const guint8 *bytes = g_bytes_get_data(model, &length);
    g_autofree guint8 *changed = g_memdup2(bytes, length);
    for (size_t i = 0; i + 2 < size; i += 3) { /* a place and its new byte */
        changed[(data[i] | (size_t)data[i + 1] << 8) % length] = data[i + 2];
    }
    read_model(changed, length);
    read_model(data, size);
    return 0;
}
