#include "coordinator/network/onnx/onnx_ops.h"

#include "coordinator/network/onnx/infer.h"

#include <string.h>

/* Elementwise operators read and write any strides and types: their problems do (OP_POINTWISE). */
#define POINTWISE      (OP_READS_ORDER | OP_READS_GAPS | OP_READS_CAST | OP_WRITES_ALL)
#define WITH_BROADCAST (POINTWISE | OP_READS_BROADCAST)

#define ANY OP_ANY_NUMBER

/* name, inputs from and to, outputs from and to, inference, what is computed of small tensors */
#define ROW(operator, least, most, outputs, outputs_most, shapes, contents)                        \
    {                                                                                              \
        .name = operator, .min_inputs = least, .max_inputs = most, .min_outputs = outputs,         \
        .max_outputs = outputs_most, .infer = shapes, .fold = contents                             \
    }
/* Element by element, with one output. */
#define ELEMENTWISE(operator, least, most, reads, shapes, contents)                                \
    {                                                                                              \
        .name = operator, .min_inputs = least, .max_inputs = most, .min_outputs = 1,               \
        .max_outputs = 1, .absorbs = reads, .infer = shapes, .fold = contents                      \
    }
/* Reads and writes channels in front of space, or last. */
#define LAYOUTS(operator, least, most, outputs_most, shapes)                                       \
    {                                                                                              \
        .name = operator, .min_inputs = least, .max_inputs = most, .min_outputs = 1,               \
        .max_outputs = outputs_most, .absorbs = OP_WRITES_ORDER, .infer = shapes,                  \
        .reads = reads_layouts                                                                     \
    }
/* Moves no element. */
#define VIEW(operator, most, outputs_most, shapes, looks)                                          \
    {                                                                                              \
        .name = operator, .min_inputs = 1, .max_inputs = most, .min_outputs = 1,                   \
        .max_outputs = outputs_most, .absorbs = OP_READS_ALL | OP_WRITES_ALL, .infer = shapes,     \
        .view = looks                                                                              \
    }

static const struct op rows[] = {
    /* convolutions and pools */
    LAYOUTS("Conv", 2, 3, 1, infer_conv),
    LAYOUTS("ConvTranspose", 2, 3, 1, infer_conv),
    LAYOUTS("ConvInteger", 2, 4, 1, infer_conv),
    LAYOUTS("QLinearConv", 8, 9, 1, infer_conv),
    ROW("DeformConv", 3, 5, 1, 1, infer_conv, NULL),
    LAYOUTS("MaxPool", 1, 1, 2, infer_pool),
    LAYOUTS("AveragePool", 1, 1, 1, infer_pool),
    ROW("LpPool", 1, 1, 1, 1, infer_pool, NULL),
    LAYOUTS("GlobalAveragePool", 1, 1, 1, infer_global_pool),
    LAYOUTS("GlobalMaxPool", 1, 1, 1, infer_global_pool),
    ROW("GlobalLpPool", 1, 1, 1, 1, infer_global_pool, NULL),
    ROW("MaxUnpool", 2, 3, 1, 1, infer_max_unpool, NULL),
    ROW("MaxRoiPool", 2, 2, 1, 1, infer_max_roi_pool, NULL),
    ROW("RoiAlign", 3, 3, 1, 1, infer_roi_align, NULL),
    /* matrices */
    ROW("Gemm", 2, 3, 1, 1, infer_gemm, NULL),
    ROW("MatMul", 2, 2, 1, 1, infer_matmul, NULL),
    ROW("MatMulInteger", 2, 4, 1, 1, infer_matmul, NULL),
    ROW("QLinearMatMul", 8, 8, 1, 1, infer_matmul, NULL),
    ROW("Einsum", 1, ANY, 1, 1, infer_einsum, NULL),
    ROW("LSTM", 3, 8, 0, 3, infer_recurrent, NULL),
    ROW("GRU", 3, 6, 0, 2, infer_recurrent, NULL),
    ROW("RNN", 3, 6, 0, 2, infer_recurrent, NULL),
    /* normalisations */
    {.name = "BatchNormalization",
     .min_inputs = 5,
     .max_inputs = 5,
     .min_outputs = 1,
     .max_outputs = 5,
     .absorbs = OP_READS_ORDER | OP_READS_GAPS | OP_WRITES_ALL,
     .infer = infer_normalization},
    ROW("InstanceNormalization", 3, 3, 1, 1, infer_normalization, NULL),
    ROW("GroupNormalization", 3, 3, 1, 1, infer_normalization, NULL),
    ROW("LayerNormalization", 2, 3, 1, 3, infer_layer_norm, NULL),
    ROW("MeanVarianceNormalization", 1, 1, 1, 1, infer_same, NULL),
    ROW("LpNormalization", 1, 1, 1, 1, infer_same, NULL),
    LAYOUTS("LRN", 1, 1, 1, infer_same),
    LAYOUTS("Softmax", 1, 1, 1, infer_same),
    LAYOUTS("LogSoftmax", 1, 1, 1, infer_same),
    ROW("Hardmax", 1, 1, 1, 1, infer_same, NULL),
    /* activations and other functions of one element */
    ELEMENTWISE("Relu", 1, 1, POINTWISE, infer_same, fold_unary),
    ELEMENTWISE("LeakyRelu", 1, 1, POINTWISE, infer_same, NULL),
    ELEMENTWISE("PRelu", 2, 2, WITH_BROADCAST, infer_prelu, NULL),
    ELEMENTWISE("ThresholdedRelu", 1, 1, POINTWISE, infer_same, NULL),
    ELEMENTWISE("Clip", 1, 3, POINTWISE, infer_clip, fold_clip),
    ELEMENTWISE("Sigmoid", 1, 1, POINTWISE, infer_same, NULL),
    ELEMENTWISE("HardSigmoid", 1, 1, POINTWISE, infer_same, NULL),
    ELEMENTWISE("HardSwish", 1, 1, POINTWISE, infer_same, NULL),
    ELEMENTWISE("Elu", 1, 1, POINTWISE, infer_same, NULL),
    ELEMENTWISE("Celu", 1, 1, POINTWISE, infer_same, NULL),
    ELEMENTWISE("Selu", 1, 1, POINTWISE, infer_same, NULL),
    ELEMENTWISE("Softplus", 1, 1, POINTWISE, infer_same, NULL),
    ELEMENTWISE("Softsign", 1, 1, POINTWISE, infer_same, NULL),
    ELEMENTWISE("Mish", 1, 1, POINTWISE, infer_same, NULL),
    ELEMENTWISE("Gelu", 1, 1, POINTWISE, infer_same, NULL),
    ELEMENTWISE("Erf", 1, 1, POINTWISE, infer_same, NULL),
    ELEMENTWISE("Shrink", 1, 1, POINTWISE, infer_same, NULL),
    ELEMENTWISE("Abs", 1, 1, POINTWISE, infer_same, fold_unary),
    ELEMENTWISE("Neg", 1, 1, POINTWISE, infer_same, fold_unary),
    ELEMENTWISE("Floor", 1, 1, POINTWISE, infer_same, fold_unary),
    ELEMENTWISE("Ceil", 1, 1, POINTWISE, infer_same, fold_unary),
    ELEMENTWISE("Round", 1, 1, POINTWISE, infer_same, fold_unary),
    ELEMENTWISE("Sign", 1, 1, POINTWISE, infer_same, fold_unary),
    ELEMENTWISE("Sqrt", 1, 1, POINTWISE, infer_same, fold_unary),
    ELEMENTWISE("Reciprocal", 1, 1, POINTWISE, infer_same, fold_unary),
    ELEMENTWISE("Exp", 1, 1, POINTWISE, infer_same, fold_unary),
    ELEMENTWISE("Log", 1, 1, POINTWISE, infer_same, fold_unary),
    ELEMENTWISE("Sin", 1, 1, POINTWISE, infer_same, NULL),
    ELEMENTWISE("Cos", 1, 1, POINTWISE, infer_same, NULL),
    ELEMENTWISE("Tan", 1, 1, POINTWISE, infer_same, NULL),
    ELEMENTWISE("Asin", 1, 1, POINTWISE, infer_same, NULL),
    ELEMENTWISE("Acos", 1, 1, POINTWISE, infer_same, NULL),
    ELEMENTWISE("Atan", 1, 1, POINTWISE, infer_same, NULL),
    ELEMENTWISE("Sinh", 1, 1, POINTWISE, infer_same, NULL),
    ELEMENTWISE("Cosh", 1, 1, POINTWISE, infer_same, NULL),
    ELEMENTWISE("Tanh", 1, 1, POINTWISE, infer_same, NULL),
    ELEMENTWISE("Asinh", 1, 1, POINTWISE, infer_same, NULL),
    ELEMENTWISE("Acosh", 1, 1, POINTWISE, infer_same, NULL),
    ELEMENTWISE("Atanh", 1, 1, POINTWISE, infer_same, NULL),
    ELEMENTWISE("Not", 1, 1, POINTWISE, infer_same, fold_unary),
    ELEMENTWISE("BitwiseNot", 1, 1, POINTWISE, infer_same, NULL),
    ELEMENTWISE("IsNaN", 1, 1, POINTWISE, infer_test, NULL),
    ELEMENTWISE("IsInf", 1, 1, POINTWISE, infer_test, NULL),
    /* arithmetic of several tensors */
    ELEMENTWISE("Add", 2, 2, WITH_BROADCAST, infer_broadcast, fold_binary),
    ELEMENTWISE("Sub", 2, 2, WITH_BROADCAST, infer_broadcast, fold_binary),
    ELEMENTWISE("Mul", 2, 2, WITH_BROADCAST, infer_broadcast, fold_binary),
    ELEMENTWISE("Div", 2, 2, WITH_BROADCAST, infer_broadcast, fold_binary),
    ELEMENTWISE("Mod", 2, 2, WITH_BROADCAST, infer_broadcast, fold_binary),
    ELEMENTWISE("Pow", 2, 2, WITH_BROADCAST, infer_broadcast, fold_binary),
    ELEMENTWISE("Min", 1, ANY, WITH_BROADCAST, infer_broadcast, fold_binary),
    ELEMENTWISE("Max", 1, ANY, WITH_BROADCAST, infer_broadcast, fold_binary),
    ELEMENTWISE("Sum", 1, ANY, WITH_BROADCAST, infer_broadcast, NULL),
    ELEMENTWISE("Mean", 1, ANY, WITH_BROADCAST, infer_broadcast, NULL),
    ELEMENTWISE("BitShift", 2, 2, WITH_BROADCAST, infer_broadcast, NULL),
    ELEMENTWISE("BitwiseAnd", 2, 2, WITH_BROADCAST, infer_broadcast, NULL),
    ELEMENTWISE("BitwiseOr", 2, 2, WITH_BROADCAST, infer_broadcast, NULL),
    ELEMENTWISE("BitwiseXor", 2, 2, WITH_BROADCAST, infer_broadcast, NULL),
    ELEMENTWISE("Equal", 2, 2, WITH_BROADCAST, infer_comparison, fold_binary),
    ELEMENTWISE("Less", 2, 2, WITH_BROADCAST, infer_comparison, fold_binary),
    ELEMENTWISE("Greater", 2, 2, WITH_BROADCAST, infer_comparison, fold_binary),
    ELEMENTWISE("LessOrEqual", 2, 2, WITH_BROADCAST, infer_comparison, fold_binary),
    ELEMENTWISE("GreaterOrEqual", 2, 2, WITH_BROADCAST, infer_comparison, fold_binary),
    ELEMENTWISE("And", 2, 2, WITH_BROADCAST, infer_comparison, fold_binary),
    ELEMENTWISE("Or", 2, 2, WITH_BROADCAST, infer_comparison, fold_binary),
    ELEMENTWISE("Xor", 2, 2, WITH_BROADCAST, infer_comparison, fold_binary),
    ELEMENTWISE("Where", 3, 3, WITH_BROADCAST, infer_where, fold_where),
    /* the same elements in another shape */
    VIEW("Identity", 1, 1, infer_same, op_view_identity),
    VIEW("Dropout", 3, 2, infer_dropout, op_view_identity),
    VIEW("Reshape", 2, 1, infer_reshape, op_view_reshape),
    VIEW("Flatten", 1, 1, infer_flatten, op_view_reshape),
    VIEW("Squeeze", 2, 1, infer_squeeze, op_view_reshape),
    VIEW("Unsqueeze", 2, 1, infer_unsqueeze, op_view_reshape),
    VIEW("Expand", 2, 1, infer_expand, op_view_broadcast),
    /* joined, cut, repeated, padded */
    ROW("Concat", 1, ANY, 1, 1, infer_concat, fold_concat),
    ROW("Split", 1, 2, 1, ANY, infer_split, fold_split),
    ROW("Slice", 3, 5, 1, 1, infer_slice, fold_slice),
    ROW("Tile", 2, 2, 1, 1, infer_tile, fold_tile),
    ROW("Pad", 2, 4, 1, 1, infer_pad, NULL),
    ROW("Resize", 1, 4, 1, 1, infer_resize, NULL),
    ROW("DepthToSpace", 1, 1, 1, 1, infer_depth_to_space, NULL),
    ROW("SpaceToDepth", 1, 1, 1, 1, infer_space_to_depth, NULL),
    ROW("GridSample", 2, 2, 1, 1, infer_grid_sample, NULL),
    ROW("ReverseSequence", 2, 2, 1, 1, infer_same, NULL),
    ROW("Trilu", 1, 2, 1, 1, infer_same, NULL),
    ROW("CumSum", 2, 2, 1, 1, infer_same, NULL),
    /* reduced */
    ROW("ReduceSum", 1, 2, 1, 1, infer_reduce, fold_reduce),
    ROW("ReduceMean", 1, 2, 1, 1, infer_reduce, fold_reduce),
    ROW("ReduceProd", 1, 2, 1, 1, infer_reduce, fold_reduce),
    ROW("ReduceMin", 1, 2, 1, 1, infer_reduce, fold_reduce),
    ROW("ReduceMax", 1, 2, 1, 1, infer_reduce, fold_reduce),
    ROW("ReduceL1", 1, 2, 1, 1, infer_reduce, NULL),
    ROW("ReduceL2", 1, 2, 1, 1, infer_reduce, NULL),
    ROW("ReduceLogSum", 1, 2, 1, 1, infer_reduce, NULL),
    ROW("ReduceLogSumExp", 1, 2, 1, 1, infer_reduce, NULL),
    ROW("ReduceSumSquare", 1, 2, 1, 1, infer_reduce, NULL),
    ROW("ArgMax", 1, 1, 1, 1, infer_arg, NULL),
    ROW("ArgMin", 1, 1, 1, 1, infer_arg, NULL),
    /* chosen by index or by value */
    ROW("Gather", 2, 2, 1, 1, infer_gather, fold_gather),
    ROW("GatherElements", 2, 2, 1, 1, infer_gather_elements, NULL),
    ROW("GatherND", 2, 2, 1, 1, infer_gather_nd, NULL),
    ROW("Scatter", 3, 3, 1, 1, infer_same, NULL),
    ROW("ScatterElements", 3, 3, 1, 1, infer_same, NULL),
    ROW("ScatterND", 3, 3, 1, 1, infer_same, NULL),
    ROW("TopK", 2, 2, 1, 2, infer_top_k, NULL),
    ROW("Compress", 2, 2, 1, 1, infer_compress, NULL),
    ROW("NonZero", 1, 1, 1, 1, infer_non_zero, NULL),
    ROW("NonMaxSuppression", 2, 5, 1, 1, infer_non_max_suppression, NULL),
    ROW("OneHot", 3, 3, 1, 1, infer_one_hot, NULL),
    /* shapes as numbers, and constants */
    ROW("Shape", 1, 1, 1, 1, infer_shape_of, fold_shape_of),
    ROW("Size", 1, 1, 1, 1, infer_size_of, fold_size_of),
    ROW("ConstantOfShape", 1, 1, 1, 1, infer_constant_of_shape, fold_constant_of_shape),
    ROW("Range", 3, 3, 1, 1, infer_range, fold_range),
    ROW("RandomNormalLike", 1, 1, 1, 1, infer_eye_like, NULL),
    ROW("RandomUniformLike", 1, 1, 1, 1, infer_eye_like, NULL),
    ROW("EyeLike", 1, 1, 1, 1, infer_eye_like, NULL),
    /* quantised */
    ELEMENTWISE("QuantizeLinear", 2, 3, OP_READS_ORDER | OP_READS_GAPS | OP_WRITES_ORDER,
                infer_quantize, NULL),
    ELEMENTWISE("DequantizeLinear", 2, 3, OP_READS_ORDER | OP_READS_GAPS | OP_WRITES_ORDER,
                infer_dequantize, NULL),
    ROW("DynamicQuantizeLinear", 1, 1, 1, 3, infer_dynamic_quantize, NULL),
    /* what ONNX Runtime's optimiser and quantiser write */
    LAYOUTS("com.microsoft.FusedConv", 2, 4, 1, infer_conv),
    ROW("com.microsoft.QLinearConv", 8, 9, 1, 1, infer_conv, NULL),
    ROW("com.microsoft.FusedGemm", 2, 3, 1, 1, infer_gemm, NULL),
    ROW("com.microsoft.FusedMatMul", 2, 2, 1, 1, infer_matmul, NULL),
    ROW("com.microsoft.QGemm", 6, 9, 1, 1, infer_gemm, NULL),
    ROW("com.microsoft.MatMulIntegerToFloat", 4, 7, 1, 1, infer_matmul, NULL),
    ROW("com.microsoft.DynamicQuantizeMatMul", 3, 5, 1, 1, infer_matmul, NULL),
    ROW("com.microsoft.NhwcMaxPool", 1, 1, 1, 1, infer_pool, NULL),
    ROW("com.microsoft.QLinearAveragePool", 4, 5, 1, 1, infer_pool, NULL),
    ROW("com.microsoft.QLinearGlobalAveragePool", 5, 5, 1, 1, infer_global_pool, NULL),
    ROW("com.microsoft.QLinearAdd", 7, 8, 1, 1, infer_qlinear_binary, NULL),
    ROW("com.microsoft.QLinearMul", 7, 8, 1, 1, infer_qlinear_binary, NULL),
    ROW("com.microsoft.QLinearSigmoid", 4, 5, 1, 1, infer_same, NULL),
    ROW("com.microsoft.QLinearLeakyRelu", 4, 5, 1, 1, infer_same, NULL),
    ROW("com.microsoft.QLinearSoftmax", 5, 5, 1, 1, infer_same, NULL),
    ROW("com.microsoft.QLinearConcat", 3, ANY, 1, 1, infer_qlinear_concat, NULL),
    ROW("com.microsoft.QuantizeLinear", 2, 3, 1, 1, infer_quantize, NULL),
    ROW("com.microsoft.DequantizeLinear", 2, 3, 1, 1, infer_dequantize, NULL),
    ELEMENTWISE("com.microsoft.Gelu", 1, 1, POINTWISE, infer_same, NULL),
    ELEMENTWISE("com.microsoft.FastGelu", 1, 2, POINTWISE, infer_same, NULL),
    ELEMENTWISE("com.microsoft.BiasGelu", 2, 2, POINTWISE, infer_same, NULL),
    ROW("com.microsoft.SkipLayerNormalization", 3, 5, 1, 1, infer_same, NULL),
};

const struct op *onnx_op_at(int index)
{
    return index >= 0 && index < (int)G_N_ELEMENTS(rows) ? &rows[index] : NULL;
}

const struct op *onnx_op_find(const char *domain, const char *name)
{
    bool own = domain[0] == '\0' || strcmp(domain, "ai.onnx") == 0;
    if (own && strcmp(name, "Cast") == 0) {
        return &op_cast;
    }
    if (own && strcmp(name, "Transpose") == 0) {
        return &op_transpose;
    }
    g_autofree char *full = own ? g_strdup(name) : g_strdup_printf("%s.%s", domain, name);
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        if (strcmp(rows[i].name, full) == 0) {
            return &rows[i];
        }
    }
    return NULL;
}

/* How the number of inputs or outputs reads in a table. */
static char *number_text(int least, int most)
{
    return least == most ? g_strdup_printf("%d", least)
           : most == ANY ? g_strdup_printf("%d or more", least)
                         : g_strdup_printf("%d to %d", least, most);
}

char *onnx_ops_markdown(void)
{
    GString *text = g_string_new("| operator | inputs | outputs | small contents are computed |\n"
                                 "|---|---|---|---|\n"
                                 "| Cast | 1 | 1 | yes |\n"
                                 "| Transpose | 1 | 1 | yes |\n");
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autofree char *inputs = number_text(rows[i].min_inputs, rows[i].max_inputs);
        g_autofree char *outputs = number_text(rows[i].min_outputs, rows[i].max_outputs);
        g_string_append_printf(text, "| %s | %s | %s | %s |\n", rows[i].name, inputs, outputs,
                               rows[i].fold != NULL || rows[i].view != NULL ? "yes" : "");
    }
    return g_string_free(text, FALSE);
}
