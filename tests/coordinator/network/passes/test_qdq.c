#include "coordinator/network/passes/fuse.h"
#include "coordinator/network/passes/lower.h"
#include "coordinator/network/passes/passes.h"
#include "tests/support/network/network_text.h"

#include <string.h>

/* Two quantised convolutions as a quantiser writes them. The filters are quantised on the host. */
static const char *const lines[] = {
    "input x 1,4,6,6",
    "weight w 4,4,3,3",
    "weight v 4,4,1,1",
    "weight b 4",
    "number sx 0.02",
    "number sw 0.01",
    "number sy 0.05",
    "number sz 0.04",
    "int8 z 0",
    "int8 low -128",
    "QuantizeLinear x sx z = xq",
    "DequantizeLinear xq sx z = xd",
    "QuantizeLinear w sw z = wq",
    "DequantizeLinear wq sw z = wd",
    "Conv xd wd b = c1 pads=[1,1,1,1]",
    "Relu c1 = r1",
    "QuantizeLinear r1 sy low = q1",
    "DequantizeLinear q1 sy low = d1",
    "QuantizeLinear v sw z = vq",
    "DequantizeLinear vq sw z = vd",
    "Conv d1 vd = c2",
    "QuantizeLinear c2 sz z = q2",
    "DequantizeLinear q2 sz z = y",
    "output y",
    NULL,
};

static void test_match(void)
{
    g_autoptr(Graph) graph = network_of(lines), right = network_of(lines);
    g_autoptr(GError) error = NULL;
    struct samples_distance distance;
    int convs = 0;
    g_assert_cmpint(network_match_quantised(graph), ==, 2);
    network_fold_constants(graph);
    networks_compare(graph, right, &distance);
    /* A bias that is rounded to the sum's unit may move a result by one step of its scale. */
    g_assert_cmpfloat(distance.max_error, <, 0.02);
    network_lower(graph, &error);
    g_assert_no_error(error);
    network_fuse(graph, FUSION_ALL, NULL, &error);
    g_assert_no_error(error);
    networks_compare(graph, right, &distance);
    g_assert_cmpfloat(distance.max_error, <, 0.02);
    for (struct node *node = graph_first(graph); node != NULL; node = node_next(node)) {
        if (node_is_kernel_of(node, OP_CONV)) {
            convs++;
            g_assert_cmpint(node->inputs[KERNEL_X]->shape.type, ==, ELEMENT_INT8);
            g_assert_cmpint(node_output(node)->shape.type, ==, ELEMENT_INT8);
        }
    }
    g_assert_cmpint(convs, ==, 2);
}

/* The relu stays where saturation would not do it, and the convolution with it. */
static void test_relu(void)
{
    const char *other[G_N_ELEMENTS(lines)];
    memcpy(other, lines, sizeof lines);
    for (size_t i = 0; other[i] != NULL; i++) {
        if (strcmp(other[i], "int8 low -128") == 0) {
            other[i] = "int8 low 0";
        }
    }
    g_autoptr(Graph) graph = network_of(other);
    g_assert_cmpint(network_match_quantised(graph), ==, 1);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/qdq/convolutions_between_quantised_tensors_are_of_integers", test_match);
    g_test_add_func("/qdq/a_relu_that_saturation_does_not_do_stays", test_relu);
    return g_test_run();
}
