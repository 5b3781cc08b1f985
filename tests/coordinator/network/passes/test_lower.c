#include "coordinator/network/passes/lower.h"

#include "coordinator/network/passes/fuse.h"
#include "coordinator/network/passes/kernel_op.h"
#include "coordinator/network/passes/passes.h"
#include "tests/support/network/network_text.h"

#define LINES_MAX 14

/* Networks of one operator or a few: lowered, and lowered and fused, they compute what they computed before. */
static const struct {
    const char *name, *lines[LINES_MAX];
} networks[] = {
    {"conv",
     {"input x 2,3,9,8", "weight w 4,3,3,2", "weight b 4",
      "Conv x w b = y pads=[1,0,1,0] strides=[2,1]", "output y"}},
    {"conv_uneven",
     {"input x 1,3,9,8", "weight w 4,3,3,3", "Conv x w = y pads=[0,1,2,1] strides=[1,2]",
      "output y"}},
    {"conv_1d",
     {"input x 2,4,11", "weight w 6,2,3", "Conv x w = y group=2 dilations=[2]", "output y"}},
    {"conv_3d",
     {"input x 1,2,5,6,7", "weight w 3,2,2,3,3", "Conv x w = y pads=[0,1,1,0,1,1]", "output y"}},
    {"transposed",
     {"input x 2,4,5,6", "weight w 4,3,3,3", "weight b 6",
      "ConvTranspose x w b = y group=2 strides=[2,2] pads=[1,1,1,1] output_padding=[1,0]",
      "output y"}},
    {"gemm",
     {"input x 3,5", "weight w 5,7", "weight c 7", "Gemm x w c = y alpha=0.5 beta=2.0",
      "output y"}},
    {"gemm_turned", {"input x 5,3", "weight w 7,5", "Gemm x w = y transA=1 transB=1", "output y"}},
    {"gemm_matrix", {"input x 3,5", "weight w 5,7", "weight c 3,1", "Gemm x w c = y", "output y"}},
    {"matmul",
     {"input x 2,3,5", "weight w 5,7", "weight b 7", "MatMul x w = m", "Add m b = y", "output y"}},
    {"max_pool",
     {"input x 1,3,9,8",
      "MaxPool x = y kernel_shape=[3,3] strides=[2,2] pads=[1,1,1,1] ceil_mode=1", "output y"}},
    {"average_pool",
     {"input x 1,3,9,8", "AveragePool x = y kernel_shape=[3,2] pads=[1,1,1,0]", "output y"}},
    {"average_counting",
     {"input x 1,3,9,8", "AveragePool x = y kernel_shape=[3,3] pads=[1,1,1,1] count_include_pad=1",
      "output y"}},
    {"global_pools",
     {"input x 2,3,5,4", "GlobalAveragePool x = a", "GlobalMaxPool x = b", "Add a b = y",
      "output y"}},
    {"reductions",
     {"input x 2,3,5,4", "ReduceMean x = a axes=[2,3]", "ReduceMax x = b axes=[1] keepdims=0",
      "Mul x a = c", "output b", "output c"}},
    {"batch_norm",
     {"input x 2,3,5,4", "scale s 3", "weight b 3", "weight m 3", "scale v 3",
      "BatchNormalization x s b m v = y", "output y"}},
    {"lrn", {"input x 1,7,3,4", "LRN x = y size=5 alpha=0.1 beta=0.5 bias=2.0", "output y"}},
    {"softmax", {"input x 2,5,3", "Softmax x = a axis=1", "LogSoftmax a = y axis=-1", "output y"}},
    {"resize", {"input x 1,2,4,5", "floats s 1,1,2,3", "Resize x - s = y mode=linear", "output y"}},
    {"resize_nearest",
     {"input x 1,2,4,5", "floats s 1,1,2,2",
      "Resize x - s = y mode=nearest coordinate_transformation_mode=asymmetric nearest_mode=floor",
      "output y"}},
    {"functions",
     {"input x 2,3,4", "Relu x = a", "LeakyRelu a = b alpha=0.2", "Sigmoid b = c", "Tanh c = d",
      "Elu d = e", "HardSigmoid e = f", "Softplus f = g", "Erf g = h", "Neg h = i", "Exp i = y",
      "output y"}},
    {"more_functions",
     {"input x 2,3,4", "HardSwish x = a", "Mish a = b", "Selu b = c", "Abs c = d", "Sqrt d = e",
      "number two 2", "Pow e two = f", "Reciprocal f = y", "output y"}},
    {"clip_prelu",
     {"input x 2,3,4,4", "number low -0.5", "number high 0.25", "weight s 3,1,1",
      "Clip x low high = a", "PRelu a s = y", "output y"}},
    {"arithmetic",
     {"input x 2,3,4,4", "input z 1,3,1,1", "weight c 3,1,1", "number n 3", "Mul x z = a",
      "Sub c a = b", "Div b n = d", "Max d x = e", "Min e c = f", "Sub n f = y", "output y"}},
    {"broadcast_both", {"input x 2,3,1", "input z 3,4", "Add x z = a", "Div x a = y", "output y"}},
    {"means",
     {"input x 2,3", "input z 2,3", "input u 3", "Sum x z u = a", "Mean a x = y", "output y"}},
    {"concat_split",
     {"input x 1,6,4,4", "ints i 2,4", "Split x i = a b axis=1", "Relu a = c",
      "Concat c b a = y axis=1", "output y"}},
    {"slices",
     {"input x 1,4,6,6", "ints b 0,1", "ints e 4,6", "ints a 1,2", "ints s 2,2",
      "Slice x b e a s = y", "output y"}},
    {"pad",
     {"input x 1,2,3,4", "ints p 0,1,1,0,0,0,2,1", "number v 1.5", "Pad x p v = y", "output y"}},
    {"blocks",
     {"input x 1,8,4,6", "DepthToSpace x = a blocksize=2", "SpaceToDepth a = b blocksize=2",
      "DepthToSpace b = y blocksize=2 mode=CRD", "output y"}},
    {"shuffle",
     {"input x 1,6,3,4", "ints i 1,2,3,3,4", "ints k 1,6,3,4", "Reshape x i = a",
      "Transpose a = b perm=[0,2,1,3,4]", "Reshape b k = c", "weight w 6,1,3,3",
      "Conv c w = y group=6 pads=[1,1,1,1]", "output y"}},
    {"channels_last",
     {"input x 1,5,6,3", "Transpose x = a perm=[0,3,1,2]", "weight w 4,3,3,3", "Conv a w = b",
      "Relu b = c", "Transpose c = y perm=[0,2,3,1]", "output y"}},
};

static void check_same(struct graph *graph, const char *const *lines)
{
    struct samples_distance distance;
    g_autoptr(GError) error = NULL;
    g_autoptr(Graph) right = network_of(lines);
    graph_validate(graph, &error);
    g_assert_no_error(error);
    networks_compare(graph, right, &distance);
    g_assert_cmpfloat(distance.max_error, <, 2e-6);
}

static void test_same_results(gconstpointer data)
{
    const char *const *lines = data;
    g_autoptr(GError) error = NULL;
    g_autoptr(Graph) graph = network_of(lines);
    network_lower(graph, &error);
    g_assert_no_error(error);
    check_same(graph, lines);
    network_fold_borders(graph);
    network_fold_scales(graph);
    network_match_activations(graph);
    check_same(graph, lines);
    network_fuse(graph, FUSION_ALL, NULL, &error);
    g_assert_no_error(error);
    check_same(graph, lines);
    for (struct node *node = graph_first(graph); node != NULL; node = node_next(node)) {
        g_assert_true(node_is_view(node) || node_is_kernel(node) || node->op == &op_copy ||
                      node->op == &op_join || node->op == &op_part || node->op == &op_border);
    }
}

/* The node is named with the reason. */
static void test_refusals(void)
{
    static const struct {
        const char *lines[LINES_MAX], *message;
    } rows[] = {
        {{"input x 2,3", "Sin x = y", "output y"},
         "node 'n_y' (Sin): no kernel does this operator"},
        {{"input x 2,3", "number n 3", "Pow x n = y", "output y"},
         "node 'n_y' (Pow): its exponent is 3, kernels do 0.5, 1 and 2"},
        {{"input x 2,3", "Sin x = a", "Cos a = y", "output y"},
         "1 more nodes have no kernel; the first: node 'n_a' (Sin): no kernel does this operator"},
        {{"input x 1,1,4,4", "ints p 0,0,1,1,0,0,1,1", "Pad x p = y mode=reflect", "output y"},
         "node 'n_y' (Pad): its mode is 'reflect', kernels pad with a constant"},
        {{"input x 2,3,4", "input z 2,4,5", "MatMul x z = y", "output y"},
         "node 'n_y' (MatMul): its second operand is a batch of matrices, no kernel multiplies these"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(GError) error = NULL;
        g_autoptr(Graph) graph = network_of(rows[i].lines);
        g_assert_false(network_lower(graph, &error));
        g_assert_error(error, NETWORK_ERROR, NETWORK_ERROR_UNSUPPORTED);
        g_assert_cmpstr(error->message, ==, rows[i].message);
    }
}

static void test_uint8_input(void)
{
    static const int64_t dims[] = {1, 3, 4, 4};
    struct shape shape;
    g_autoptr(GError) error = NULL;
    g_autoptr(Graph) graph = graph_new("test");
    shape_set_packed(&shape, ELEMENT_UINT8, 4, dims, NULL);
    graph_add_output(graph, graph_add_input(graph, "x", &shape));
    g_assert_false(network_lower(graph, &error));
    g_assert_error(error, NETWORK_ERROR, NETWORK_ERROR_UNSUPPORTED);
    g_assert_true(g_pattern_match_simple("input 'x' is uint8*inputs of floats*", error->message));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(networks); i++) {
        g_autofree char *path = g_strdup_printf("/lower/%s_computes_the_same", networks[i].name);
        g_test_add_data_func(path, networks[i].lines, test_same_results);
    }
    g_test_add_func("/lower/what_no_kernel_does_is_named", test_refusals);
    g_test_add_func("/lower/a_uint8_input_is_refused_with_the_remedy", test_uint8_input);
    return g_test_run();
}
