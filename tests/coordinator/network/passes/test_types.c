#include "coordinator/network/passes/fuse.h"
#include "coordinator/network/passes/lower.h"
#include "coordinator/network/passes/passes.h"
#include "tests/support/network/network_text.h"

#include <string.h>

static const char *const lines[] = {
    "input x 1,4,6,6",
    "weight w 4,4,3,3",
    "weight v 4,4,1,1",
    "weight b 4",
    "weight f 3,288",
    "ints shape 1,-1",
    "Conv x w b = p pads=[1,1,1,1]",
    "Relu p = q",
    "Conv q v = r",
    "Concat q r = s axis=1",
    "Reshape s shape = t",
    "Gemm t f = y transB=1",
    "output y",
    NULL,
};

/* Casts between kernels cancel: nothing is copied. Lists stay in FP32. */
static void test_casts(void)
{
    static const enum element_type types[] = {ELEMENT_FLOAT16, ELEMENT_BFLOAT16, ELEMENT_FLOAT64};
    for (size_t i = 0; i < G_N_ELEMENTS(types); i++) {
        g_autoptr(Graph) graph = network_of(lines), right = network_of(lines);
        g_autoptr(GError) error = NULL;
        struct samples_distance distance;
        network_lower(graph, &error);
        g_assert_no_error(error);
        network_fuse(graph, FUSION_ALL, NULL, &error);
        g_assert_no_error(error);
        network_set_type(graph, types[i], &error);
        g_assert_no_error(error);
        for (struct node *node = graph_first(graph); node != NULL; node = node_next(node)) {
            g_assert_true(node->op != &op_copy);
            if (!node_is_view(node)) {
                g_assert_cmpint(node_output(node)->shape.type, ==, types[i]);
            }
            if (node_is_kernel(node) && node->inputs[KERNEL_BIAS] != NULL) {
                g_assert_cmpint(node->inputs[KERNEL_BIAS]->shape.type, ==, ELEMENT_FLOAT32);
            }
        }
        networks_compare(graph, right, &distance);
        g_assert_cmpfloat(distance.max_error, <, types[i] == ELEMENT_BFLOAT16 ? 0.02 : 2e-3);
    }
}

/* A constant shape that begins with the batch follows it. */
static void test_batch(void)
{
    g_autoptr(Graph) graph = network_of(lines);
    g_autoptr(GError) error = NULL;
    network_set_batch(graph, 5, &error);
    g_assert_no_error(error);
    const struct value *y = graph->outputs->pdata[0];
    g_assert_cmpint(y->shape.dim[0], ==, 5);
    g_assert_cmpint(y->shape.dim[1], ==, 3);
}

static void test_batch_refused(void)
{
    static const char *const fixed[] = {"input x 1,4", "ints s 4", "Reshape x s = y", "output y",
                                        NULL};
    g_autoptr(Graph) graph = network_of(fixed);
    g_autoptr(GError) error = NULL;
    g_assert_false(network_set_batch(graph, 2, &error));
    g_assert_true(g_str_has_prefix(error->message, "node 'n_y' (Reshape): with batch 2: "));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/types/casts_between_kernels_cancel", test_casts);
    g_test_add_func("/batch/constant_shapes_follow", test_batch);
    g_test_add_func("/batch/a_node_that_cannot_follow_is_named", test_batch_refused);
    return g_test_run();
}
