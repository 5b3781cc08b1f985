#include "coordinator/network/onnx/onnx_ops.h"

#include "coordinator/network/onnx/onnx_read.h"
#include "tests/support/onnx/onnx_writer.h"

#include <string.h>

/* A node over inputs of the network and constants, and what its outputs are. */
struct row {
    int opset;
    const char *op, *attributes;
    /* for each input a blank-separated word: "f[1,3,4]" an input of floats, "b[2]" of truth values, "u[2]" of uint8,
     * "l[2]" of int64, "i1,2" constant int64 numbers, "x0.5,2.0" constant floats, "-" an omitted one */
    const char *inputs;
    const char *outputs; /* the shapes joined by blanks, or "?" and a pattern of the reason */
};

static const struct row rows[] = {
    /* convolutions */
    {9, "Conv", "pads=[1,1,1,1] strides=[2,2]", "f[1,3,224,224] f[8,3,3,3]",
     "float32[1,8,112,112]"},
    {9, "Conv", "auto_pad=SAME_UPPER strides=[2,2]", "f[1,3,225,7] f[8,3,3,3]",
     "float32[1,8,113,4]"},
    {9, "Conv", "auto_pad=VALID pads=[9,9,9,9]", "f[1,3,5,5] f[8,3,3,3]", "float32[1,8,3,3]"},
    {9, "Conv", "dilations=[2]", "f[2,4,9] f[6,4,3]", "float32[2,6,5]"},
    {9, "Conv", "group=2 kernel_shape=[1,1,1]", "f[1,4,2,3,4] f[6,2,1,1,1] f[6]",
     "float32[1,6,2,3,4]"},
    {9, "Conv", "group=2", "f[1,3,5,5] f[8,3,3,3]", "? group is 2, and it must divide the 3*"},
    {9, "Conv", "", "f[1,3,5,5] f[8,4,3,3]", "? its weights are for 4 channels*"},
    {9, "Conv", "", "f[1,3,2,2] f[8,3,3,3]", "? its window reaches over 3 elements*"},
    {9, "Conv", "kernel_shape=[5,5]", "f[1,3,9,9] f[8,3,3,3]", "? kernel_shape is 5*"},
    {9, "Conv", "strides=[0,1]", "f[1,3,9,9] f[8,3,3,3]", "? strides has the number 0*"},
    {9, "Conv", "strides=2", "f[1,3,9,9] f[8,3,3,3]", "!*strides is an integer*"},
    {9, "Conv", "", "f[1,3,9,9] f[8,3,3,3] f[7]", "? its bias is*and should have 8 values"},
    {9, "Conv", "", "f[3,9] f[8,3]", "? its input*must both have 3, 4 or 5 axes"},
    {9, "ConvTranspose", "strides=[2,2] pads=[1,1,1,1] output_padding=[1,1]",
     "f[1,8,7,7] f[8,3,3,3]", "float32[1,3,14,14]"},
    {9, "ConvTranspose", "strides=[2,2] output_shape=[14,15] group=2", "f[1,8,7,7] f[8,3,3,3]",
     "float32[1,6,14,15]"},
    {11, "ConvTranspose", "strides=[2,2] auto_pad=SAME_UPPER", "f[1,8,7,7] f[8,3,3,3]",
     "float32[1,3,14,14]"},
    {10, "ConvInteger", "", "u[1,3,5,5] u[8,3,3,3] u[]", "int32[1,8,3,3]"},
    {10, "QLinearConv", "", "u[1,3,5,5] f[] u[] u[8,3,3,3] f[] u[] f[] u[]", "uint8[1,8,3,3]"},
    {19, "DeformConv", "", "f[1,3,5,5] f[8,3,3,3] f[1,18,3,3]", "float32[1,8,3,3]"},
    {9, "com.microsoft:FusedConv", "activation=Relu", "f[1,3,5,5] f[8,3,3,3]", "float32[1,8,3,3]"},
    {9, "com.microsoft:QLinearConv", "channels_last=1",
     "u[1,5,6,3] f[] u[] u[8,3,3,3] f[] u[] f[] u[]", "uint8[1,3,4,8]"},
    /* pools */
    {9, "MaxPool", "kernel_shape=[3,3] strides=[2,2]", "f[1,2,112,112]", "float32[1,2,55,55]"},
    {10, "MaxPool", "kernel_shape=[3,3] strides=[2,2] ceil_mode=1", "f[1,2,112,112]",
     "float32[1,2,56,56]"},
    {10, "MaxPool", "kernel_shape=[2,2] strides=[3,3] ceil_mode=1", "f[1,2,6,7]",
     "float32[1,2,2,3]"},
    {10, "MaxPool", "kernel_shape=[3] dilations=[2]", "f[1,2,9]", "float32[1,2,5]"},
    {10, "AveragePool", "kernel_shape=[2,2] auto_pad=SAME_LOWER strides=[2,2]", "f[1,2,5,5]",
     "float32[1,2,3,3]"},
    {10, "MaxPool", "kernel_shape=[2,2] pads=[2,2,2,2]", "f[1,2,5,5]", "? its padding on axis 0*"},
    {10, "MaxPool", "", "f[1,2,5,5]", "? it has no kernel_shape"},
    {9, "GlobalAveragePool", "", "f[2,7,5,5]", "float32[2,7,1,1]"},
    {9, "GlobalMaxPool", "", "f[2,7,5]", "float32[2,7,1]"},
    {9, "LpPool", "kernel_shape=[2,2]", "f[1,2,5,5]", "float32[1,2,4,4]"},
    {9, "MaxUnpool", "kernel_shape=[2,2] strides=[2,2]", "f[1,2,5,6] l[1,2,5,6]",
     "float32[1,2,10,12]"},
    {9, "MaxUnpool", "kernel_shape=[2,2]", "f[1,2,5,6] l[1,2,5,6] i1,2,11,13",
     "float32[1,2,11,13]"},
    {9, "MaxRoiPool", "pooled_shape=[7,6]", "f[1,256,50,50] f[1000,5]", "float32[1000,256,7,6]"},
    {16, "RoiAlign", "output_height=7 output_width=7", "f[1,256,50,50] f[100,4] l[100]",
     "float32[100,256,7,7]"},
    /* element by element */
    {9, "BatchNormalization", "epsilon=0.1", "f[1,3,5,5] f[3] f[3] f[3] f[3]", "float32[1,3,5,5]"},
    {9, "BatchNormalization", "", "f[1,3,5,5] f[4] f[3] f[3] f[3]", "? its input 1 has 4 values*"},
    {9, "InstanceNormalization", "", "f[1,3,5,5] f[3] f[3]", "float32[1,3,5,5]"},
    {17, "LayerNormalization", "axis=-1", "f[2,5,8] f[8] f[8]", "float32[2,5,8]"},
    {18, "GroupNormalization", "num_groups=2", "f[1,4,5,5] f[2] f[2]", "float32[1,4,5,5]"},
    {9, "LRN", "size=5", "f[1,3,5,5]", "float32[1,3,5,5]"},
    {9, "Relu", "", "f[2]", "float32[2]"},
    {9, "Clip", "min=0.0 max=6.0", "f[2]", "float32[2]"},
    {11, "Clip", "", "f[2] x0.0 x6.0", "float32[2]"},
    {11, "Clip", "", "f[2] - f[]", "float32[2]"},
    {11, "Clip", "", "f[2] f[2]", "? its bound is 2 numbers*"},
    {9, "PRelu", "", "f[1,3,5,5] f[3,1,1]", "float32[1,3,5,5]"},
    {9, "PRelu", "", "f[1,3,5,5] f[3]", "float32[1,3,5,5]"},
    {9, "PRelu", "", "f[3,1] f[3,2]", "? its slope*"},
    {9, "Add", "", "f[2,1,4] f[3,1]", "float32[2,3,4]"},
    {9, "Add", "", "f[2,3] f[2,4]", "? *"},
    {9, "Add", "", "f[2] l[2]", "? its inputs have the types float32 and int64"},
    {9, "Pow", "", "f[2] l[2]", "float32[2]"},
    {9, "Sum", "", "f[2] f[2]", "float32[2]"},
    {9, "Max", "", "f[2] f[3,2] f[]", "float32[3,2]"},
    {9, "Less", "", "f[2] f[3,2]", "bool[3,2]"},
    {9, "Where", "", "b[2] f[3,2] f[1]", "float32[3,2]"},
    {9, "Dropout", "ratio=0.5", "f[2,3]", "float32[2,3]"},
    {12, "Softmax", "", "f[2,3,4]", "float32[2,3,4]"},
    {9, "Cast", "to=10", "f[2]", "float16[2]"},
    {9, "Identity", "", "f[2]", "float32[2]"},
    /* matrices */
    {9, "Gemm", "transB=1", "f[2,8] f[10,8] f[10]", "float32[2,10]"},
    {9, "Gemm", "", "f[2,8] f[10,8]", "? its matrices*do not fit together"},
    {9, "MatMul", "", "f[5,1,2,8] f[3,8,4]", "float32[5,3,2,4]"},
    {9, "MatMul", "", "f[8] f[3,8,4]", "float32[3,4]"},
    {9, "MatMul", "", "f[8] f[8]", "float32[]"},
    {10, "MatMulInteger", "", "u[2,8] u[8,3]", "int32[2,3]"},
    {10, "QLinearMatMul", "", "u[2,8] f[] u[] u[8,3] f[] u[] f[] u[]", "uint8[2,3]"},
    {9, "com.microsoft:QGemm", "transB=1", "u[2,8] f[] u[] u[3,8] f[] u[] - f[] u[]", "uint8[2,3]"},
    {12, "Einsum", "equation=bij,bjk->bik", "f[2,3,4] f[2,4,5]", "float32[2,3,5]"},
    {12, "Einsum", "equation=ij,jk", "f[3,4] f[4,5]", "float32[3,5]"},
    {12, "Einsum", "equation=ij,jk", "f[3,4] f[5,5]", "? *does not fit its equation"},
    {9, "LSTM", "hidden_size=16", "f[9,2,8] f[2,64,8] f[2,64,16]", "float32[9,2,2,16]"},
    /* joined, cut, reshaped */
    {9, "Concat", "axis=1", "f[1,3,5] f[1,4,5]", "float32[1,7,5]"},
    {9, "Concat", "axis=1", "f[1,3,5] f[2,4,5]", "? it joins*"},
    {9, "Concat", "", "f[1,3,5]", "? it has no axis"},
    {9, "Split", "axis=1", "f[2,6]", "float32[2,6]"},
    {11, "Split", "axis=1 split=[2,4]", "f[2,6]", "float32[2,2] float32[2,4]"},
    {13, "Split", "axis=-1", "f[2,6] i2,4", "float32[2,2] float32[2,4]"},
    {18, "Split", "axis=1 num_outputs=2", "f[2,7]", "float32[2,4] float32[2,3]"},
    {13, "Split", "axis=1", "f[2,6] i2,5", "? split*"},
    {9, "Slice", "starts=[1,0] ends=[-1,9999] axes=[2,1]", "f[1,3,5]", "float32[1,3,3]"},
    {10, "Slice", "", "f[1,3,5] i0 i9223372036854775807 i2 i2", "float32[1,3,3]"},
    {10, "Slice", "", "f[1,3,5] i-1 i-9223372036854775807 i2 i-2", "float32[1,3,3]"},
    {10, "Slice", "", "f[1,3,5] i0 i2 i2 i0", "? a step is 0"},
    {10, "Slice", "", "f[1,3,5] l[1] i2",
     "? its input 1 (starts) is computed while the network runs*"},
    {9, "Reshape", "", "f[2,3,4] i0,-1", "float32[2,12]"},
    {9, "Reshape", "", "f[2,3,4] i4,-1,2", "float32[4,3,2]"},
    {14, "Reshape", "allowzero=1", "f[0,3] i3,0", "float32[3,0]"},
    {9, "Reshape", "", "f[2,3,4] i5,-1", "? its input*cannot be divided into rows of 5*"},
    {9, "Reshape", "", "f[2,3] i-1,-1", "? shape has the number -1 twice"},
    {9, "Reshape", "", "f[2,3] i7", "? its input*has not as many elements as*"},
    {9, "Flatten", "", "f[2,3,4]", "float32[2,12]"},
    {9, "Flatten", "axis=-1", "f[2,3,4]", "float32[6,4]"},
    {9, "Transpose", "perm=[0,2,3,1]", "f[1,3,5,6]", "float32[1,5,6,3]{90,6,1,30}"},
    {9, "Squeeze", "axes=[0,-1]", "f[1,3,1]", "float32[3]"},
    {13, "Squeeze", "", "f[1,3,1] i2", "float32[1,3]"},
    {13, "Squeeze", "", "f[1,3,1]", "float32[3]"},
    {13, "Squeeze", "", "f[1,3,1] i1", "? axis 1 has the size 3, not 1"},
    {9, "Unsqueeze", "axes=[0,3]", "f[3,2]", "float32[1,3,2,1]"},
    {13, "Unsqueeze", "", "f[3,2] i-1", "float32[3,2,1]"},
    {13, "Unsqueeze", "", "f[3,2] i0,0", "? axes names axis 0 twice"},
    {9, "Expand", "", "f[3,1] i2,1,6", "float32[2,3,6]{0,1,0}"},
    {9, "Tile", "", "f[3,1] i2,4", "float32[6,4]"},
    {9, "Pad", "pads=[0,0,1,2,0,0,3,4]", "f[1,3,5,5]", "float32[1,3,9,11]"},
    {11, "Pad", "", "f[1,3,5,5] i0,0,1,1,0,0,1,1 x0.0", "float32[1,3,7,7]"},
    {18, "Pad", "", "f[1,3,5,5] i1,2 - i3", "float32[1,3,5,8]"},
    {7, "Upsample", "scales={1,1,2,2} mode=nearest", "f[1,3,5,5]", "float32[1,3,10,10]"},
    {9, "Upsample", "mode=linear", "f[1,3,5,5] x1,1,1.5,2", "float32[1,3,7,10]"},
    {10, "Resize", "", "f[1,3,5,5] x1,1,2,2", "float32[1,3,10,10]"},
    {11, "Resize", "mode=nearest", "f[1,3,5,5] f[0] x1,1,2,3", "float32[1,3,10,15]"},
    {13, "Resize", "mode=cubic", "f[1,3,5,5] - - i1,3,9,8", "float32[1,3,9,8]"},
    {18, "Resize", "axes=[2,3] keep_aspect_ratio_policy=not_larger", "f[1,3,10,20] - - i20,20",
     "float32[1,3,10,20]"},
    {13, "Resize", "", "f[1,3,5,5]", "? it has neither scales nor sizes"},
    {9, "DepthToSpace", "blocksize=2", "f[1,12,5,6]", "float32[1,3,10,12]"},
    {9, "SpaceToDepth", "blocksize=2", "f[1,3,10,12]", "float32[1,12,5,6]"},
    {16, "GridSample", "", "f[1,3,10,12] f[1,5,6,2]", "float32[1,3,5,6]"},
    /* reduced, chosen */
    {9, "ReduceMean", "axes=[2,3] keepdims=0", "f[1,3,5,5]", "float32[1,3]"},
    {18, "ReduceMean", "", "f[1,3,5,5] i-1", "float32[1,3,5,1]"},
    {13, "ReduceSum", "noop_with_empty_axes=1", "f[1,3]", "float32[1,3]"},
    {9, "ReduceMax", "", "f[1,3]", "float32[1,1]"},
    {9, "ArgMax", "axis=1", "f[1,3,5]", "int64[1,1,5]"},
    {9, "Gather", "axis=1", "f[2,3,4] l[5,6]", "float32[2,5,6,4]"},
    {11, "GatherElements", "", "f[2,3] l[1,3]", "float32[1,3]"},
    {11, "GatherND", "", "f[2,3,4] l[5,2]", "float32[5,4]"},
    {11, "ScatterND", "", "f[2,3,4] l[5,2] f[5,4]", "float32[2,3,4]"},
    {9, "TopK", "k=4", "f[2,9]", "float32[2,4] int64[2,4]"},
    {11, "TopK", "axis=0", "f[9,2] i4", "float32[4,2] int64[4,2]"},
    {11, "TopK", "", "f[2,9] i10", "? k is not 0 to 9"},
    {9, "Compress", "axis=0", "f[4,2] b[4]", "float32[4,2]"},
    {9, "Compress", "", "f[4,2] b[8]", "float32[8]"},
    {9, "RandomNormalLike", "", "f[4,2]", "float32[4,2]"},
    {9, "NonZero", "", "f[2,9]", "int64[2,18]"},
    {11, "NonMaxSuppression", "", "f[1,100,4] f[1,3,100] i20", "int64[60,3]"},
    {9, "OneHot", "", "l[5] i10 f[2]", "float32[5,10]"},
    {9, "CumSum", "", "f[2,3] i1", "float32[2,3]"},
    {9, "EyeLike", "dtype=11", "f[3,4]", "float64[3,4]"},
    /* shapes as numbers */
    {9, "Shape", "", "f[2,3,4]", "int64[3]"},
    {15, "Shape", "start=1 end=-1", "f[2,3,4]", "int64[1]"},
    {9, "Size", "", "f[2,3,4]", "int64[]"},
    {9, "ConstantOfShape", "", "i2,3", "float32[2,3]"},
    {11, "Range", "", "x0.0 x5.0 x2.0", "float32[3]"},
    /* quantised */
    {13, "QuantizeLinear", "", "f[1,3,5,5] f[] u[]", "uint8[1,3,5,5]"},
    {13, "DequantizeLinear", "", "u[1,3,5,5] f[] u[]", "float32[1,3,5,5]"},
    {11, "DynamicQuantizeLinear", "", "f[1,3]", "uint8[1,3] float32[] uint8[]"},
    {9, "com.microsoft:QLinearAdd", "", "u[1,3,5] f[] u[] u[5] f[] u[] f[] u[]", "uint8[1,3,5]"},
    {9, "com.microsoft:QLinearConcat", "axis=1", "f[] u[] u[1,2] f[] u[] u[1,3] f[] u[]",
     "uint8[1,5]"},
    {9, "com.microsoft:QLinearGlobalAveragePool", "channels_last=0", "u[1,3,5,5] f[] u[] f[] u[]",
     "uint8[1,3,1,1]"},
    /* unknown */
    {9, "Loop", "", "i1", "? operator Loop is not known: what it repeats*"},
    {9, "Fancy", "", "f[1]", "? operator Fancy is not known: no operator of opsets 7 to 21*"},
    {9, "ai.onnx.ml:ZipMap", "", "f[1]", "? operator ai.onnx.ml.ZipMap is not known: classical*"},
    {9, "org.pytorch.aten:ATen", "", "f[1]", "? operator org.pytorch.aten.ATen is not known: no *"},
    {9, "Cast", "to=8", "f[1]", "? operator Cast is not known: a type that*"},
};

/* Adds what a word of a row's inputs means. Returns the input's name. */
static char *add_input(struct onnx_writer *writer, const char *word, int index)
{
    static const struct {
        char letter;
        int type;
    } types[] = {{'f', 1}, {'u', 2}, {'l', 7}, {'b', 9}};
    g_autofree char *name = g_strdup_printf("in%d", index);
    if (word[0] == '-') {
        return g_strdup("-");
    }
    if (word[0] == 'i') {
        onnx_write_ints(writer, name, word + 1);
    } else if (word[0] == 'x') {
        onnx_write_floats(writer, name, word + 1);
    }
    for (size_t i = 0; i < G_N_ELEMENTS(types); i++) {
        if (word[0] == types[i].letter) {
            g_autofree char *dims = g_strndup(word + 2, strlen(word) - 3);
            if (dims[0] == '\0') {
                static const char zeros[8];
                size_t bytes = word[0] == 'f' ? 4 : word[0] == 'l' ? 8 : 1;
                onnx_write_tensor(writer, name, types[i].type, "", zeros, bytes);
            } else if (dims[0] == '0') {
                onnx_write_tensor(writer, name, types[i].type, dims, "", 0);
            } else {
                onnx_write_input(writer, name, types[i].type, dims);
            }
        }
    }
    return g_steal_pointer(&name);
}

static Graph *read_row(const struct row *row, int outputs, GError **error)
{
    struct onnx_writer writer;
    g_autoptr(GString) inputs = g_string_new(NULL);
    g_autoptr(GString) names = g_string_new(NULL);
    g_auto(GStrv) words = g_strsplit(row->inputs, " ", -1);
    onnx_writer_init(&writer, "test");
    for (int i = 0; words[i] != NULL; i++) {
        g_autofree char *name = add_input(&writer, words[i], i);
        g_string_append_printf(inputs, "%s%s", i > 0 ? " " : "", name);
    }
    for (int i = 0; i < outputs; i++) {
        g_string_append_printf(names, "%sout%d", i > 0 ? " " : "", i);
    }
    onnx_write_node(&writer, row->op, inputs->str, names->str, row->attributes);
    onnx_write_output(&writer, "out0");
    g_autoptr(GBytes) bytes = onnx_writer_finish(&writer, row->opset, NULL);
    gsize length;
    const void *data = g_bytes_get_data(bytes, &length);
    static const struct onnx_options options;
    g_autoptr(OnnxFile) file = onnx_file_new("test", NULL, data, length, error);
    return file != NULL ? onnx_read_graph(file, &options, NULL, error) : NULL;
}

static void check_row(const struct row *row)
{
    g_auto(GStrv) wanted = g_strsplit(row->outputs, " ", -1);
    bool fails = row->outputs[0] == '?', refused = row->outputs[0] == '!';
    g_autoptr(GError) error = NULL;
    g_autoptr(Graph) graph = read_row(
        row, fails || refused ? 2 - (strcmp(row->op, "Split") != 0) : (int)g_strv_length(wanted),
        &error);
    g_test_message("%s %s %s", row->op, row->attributes, row->inputs);
    if (refused) {
        g_assert_null(graph);
        g_assert_true(g_pattern_match_simple(row->outputs + 1, error->message));
        return;
    }
    g_assert_no_error(error);
    if (graph == NULL) {
        return;
    }
    g_assert_true(graph_validate(graph, NULL));
    if (fails) {
        struct node *node = graph->last;
        g_assert_nonnull(node->error);
        if (node->error != NULL &&
            !g_pattern_match_simple(row->outputs + 2, node->error->message)) {
            g_assert_cmpstr(node->error->message, ==, row->outputs + 2);
        }
        return;
    }
    for (int i = 0; wanted[i] != NULL; i++) {
        g_autofree char *name = g_strdup_printf("out%d", i);
        struct value *value = graph_find_value(graph, name);
        g_autofree char *text = value != NULL ? shape_text(&value->shape) : NULL;
        g_assert_cmpstr(text, ==, wanted[i]);
        if (g_strcmp0(text, wanted[i]) != 0 && graph->last->error != NULL) {
            g_test_message("%s", graph->last->error->message);
        }
    }
}

static void test_shapes(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        check_row(&rows[i]);
    }
}

/* Every row is found by its name, once, and can be inferred. */
static void test_rows(void)
{
    g_autoptr(GHashTable) names = g_hash_table_new(g_str_hash, g_str_equal);
    for (int i = 0; onnx_op_at(i) != NULL; i++) {
        const struct op *op = onnx_op_at(i);
        const char *point = strrchr(op->name, '.');
        g_autofree char *domain =
            point != NULL ? g_strndup(op->name, (gsize)(point - op->name)) : g_strdup("");
        g_assert_true(g_hash_table_add(names, (gpointer)op->name));
        g_assert_true(onnx_op_find(domain, point != NULL ? point + 1 : op->name) == op);
        g_assert_nonnull(op->infer);
        g_assert_cmpint(op->min_inputs, <=, op->max_inputs);
    }
    g_assert_true(onnx_op_find("ai.onnx", "Conv") == onnx_op_find("", "Conv"));
    g_assert_null(onnx_op_find("com.microsoft", "Conv"));
}

/* Computations with shapes, as exporters write them. The last node gives the numbers. */
static const struct {
    const char *op, *attributes, *inputs, *numbers;
} folds[] = {
    {"Shape", "", "f[2,3,4]", "2,3,4"},
    {"Size", "", "f[2,3,4]", "24"},
    {"Gather", "", "i5,6,7 i-1,0", "7,5"},
    {"Concat", "axis=0", "i1,2 i3", "1,2,3"},
    {"Slice", "", "i1,2,3,4 i1 i4 i0 i2", "2,4"},
    {"Slice", "", "i1,2,3,4 i-1 i-9 i0 i-1", "4,3,2,1"},
    {"Unsqueeze", "", "i1,2 i0", "1,2"},
    {"Add", "", "i1,2 i10", "11,12"},
    {"Sub", "", "i1,2 i10", "-9,-8"},
    {"Mul", "", "i3,4 i2,5", "6,20"},
    {"Div", "", "i7,-7 i2", "3,-3"},
    {"Mod", "", "i7,-7 i4", "3,1"},
    {"Pow", "", "i2,3 i3", "8,27"},
    {"Min", "", "i2,9 i5", "2,5"},
    {"Max", "", "i2,9 i5", "5,9"},
    {"Neg", "", "i2,-9", "-2,9"},
    {"Abs", "", "i2,-9", "2,9"},
    {"Floor", "", "x1.5,-1.5", "1,-2"},
    {"Ceil", "", "x1.5,-1.5", "2,-1"},
    {"Round", "", "x1.5,2.5", "2,2"},
    {"Sqrt", "", "x9,16", "3,4"},
    {"Cast", "to=7", "x1.9,-1.9", "1,-1"},
    {"Equal", "", "i1,2 i2", "0,1"},
    {"Greater", "", "i1,2,3 i2", "0,0,1"},
    {"Clip", "", "i1,20 i2 i9", "2,9"},
    {"ReduceProd", "keepdims=0", "i2,3,4", "24"},
    {"ReduceSum", "keepdims=0", "i2,3,4", "9"},
    {"ReduceMax", "keepdims=0", "i2,3,4", "4"},
    {"ReduceMean", "keepdims=0", "i2,3,4", "3"},
    {"ConstantOfShape", "", "i3", "0,0,0"},
    {"Expand", "", "i7 i3", "7,7,7"},
    {"Tile", "", "i7,8 i2", "7,8,7,8"},
    {"Identity", "", "i7,8", "7,8"},
    {"Transpose", "", "i7,8", "7,8"},
    {"Split", "", "i7,8 i1,1", "7"},
};

static void test_contents(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(folds); i++) {
        const struct row row = {13, folds[i].op, folds[i].attributes, folds[i].inputs, NULL};
        g_autoptr(GError) error = NULL;
        g_autoptr(Graph) graph = read_row(&row, strcmp(row.op, "Split") == 0 ? 2 : 1, &error);
        g_test_message("%s", row.op);
        g_assert_no_error(error);
        struct value *value = graph_find_value(graph, "out0");
        g_assert_true(tensor_has_data(value->constant));
        if (!tensor_has_data(value->constant)) {
            continue;
        }
        g_autoptr(GString) text = g_string_new(NULL);
        for (int64_t e = 0; e < shape_elements(&value->shape); e++) {
            g_string_append_printf(text, "%s%d", e > 0 ? "," : "",
                                   (int)tensor_int64(value->constant, e));
        }
        g_assert_cmpstr(text->str, ==, folds[i].numbers);
    }
}

/* relative to the top of the source tree */
#define PAGE         "coordinator/network/onnx/ONNX.md"
#define MARKER_BEGIN "<!-- onnx-operators: `make onnx-operators` rewrites it -->\n"
#define MARKER_END   "<!-- end of onnx-operators -->\n"

static void test_page(void)
{
    g_autofree char *text = NULL, *now = onnx_ops_markdown();
    g_assert_true(g_file_get_contents(PAGE, &text, NULL, NULL));
    char *begin = text != NULL ? strstr(text, MARKER_BEGIN) : NULL;
    char *end = begin != NULL ? strstr(begin, MARKER_END) : NULL;
    g_assert_nonnull(end);
    if (end != NULL) {
        begin += strlen(MARKER_BEGIN);
        g_autofree char *kept = g_strndup(begin, (gsize)(end - begin));
        g_assert_cmpstr(kept, ==, now);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/onnx_ops/shapes_follow_onnx_in_every_opset", test_shapes);
    g_test_add_func("/onnx_ops/small_contents_are_computed", test_contents);
    g_test_add_func("/onnx_ops/every_row_is_found_once", test_rows);
    g_test_add_func("/onnx_ops/page_has_all_operators", test_page);
    return g_test_run();
}
