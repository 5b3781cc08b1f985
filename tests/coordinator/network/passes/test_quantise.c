#include "coordinator/network/passes/quantise.h"

#include "coordinator/network/passes/fuse.h"
#include "coordinator/network/passes/lower.h"
#include "tests/support/network/network_text.h"

#include <string.h>

/* A residual block between two convolutions, with a pool and a join. */
static const char *const lines[] = {
    "input x 1,4,8,8",
    "weight a 8,4,3,3",
    "weight b 8,8,3,3",
    "weight c 8,8,1,1",
    "weight d 4,16,1,1",
    "weight e 8",
    "Conv x a e = p pads=[1,1,1,1]",
    "Relu p = q",
    "Conv q b e = r pads=[1,1,1,1]",
    "Add r q = s",
    "Relu s = t",
    "MaxPool t = u kernel_shape=[2,2] strides=[2,2]",
    "Conv u c = v",
    "Sigmoid v = v1",
    "Mul v v1 = v2",
    "Concat u v2 = w axis=1",
    "Conv w d = y",
    "output y",
    NULL,
};

static Graph *quantised(const struct quantise_options *options, struct quantise_result *result)
{
    g_autoptr(GError) error = NULL;
    Graph *graph = network_of(lines);
    network_lower(graph, &error);
    g_assert_no_error(error);
    network_match_activations(graph);
    network_fuse(graph, FUSION_ALL, NULL, &error);
    g_assert_no_error(error);
    network_quantise(graph, options, result, &error);
    g_assert_no_error(error);
    graph_validate(graph, &error);
    g_assert_no_error(error);
    return graph;
}

static void test_accuracy(void)
{
    static const struct {
        enum calibration calibration;
        bool per_tensor, first, last;
        int quantised;
        double tolerance;
    } rows[] = {
        {CALIBRATION_MIN_MAX, false, false, false, 4, 0.03},
        {CALIBRATION_MIN_MAX, true, false, false, 4, 0.05},
        {CALIBRATION_PERCENTILE, false, false, false, 4, 0.06},
        {CALIBRATION_LEAST_ERROR, false, false, false, 4, 0.03},
        {CALIBRATION_MIN_MAX, false, true, true, 2, 0.03},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        struct quantise_options options;
        struct quantise_result result;
        struct samples_distance distance;
        quantise_options_init(&options);
        options.calibration = rows[i].calibration;
        options.per_tensor = rows[i].per_tensor;
        options.first_in_fp32 = rows[i].first;
        options.last_in_fp32 = rows[i].last;
        g_autoptr(Graph) graph = quantised(&options, &result);
        g_autoptr(Graph) right = network_of(lines);
        networks_compare(graph, right, &distance);
        g_test_message("%s: %g", calibration_name(rows[i].calibration), distance.max_error);
        g_assert_cmpfloat(distance.max_error, <, rows[i].tolerance);
        g_assert_cmpint(result.quantised, ==, rows[i].quantised);
        g_assert_cmpint(result.kept, ==, 4 - rows[i].quantised);
        g_assert_true(result.samples_are_random);
    }
}

static void test_epilogues(void)
{
    static const char *const wanted[] = {
        "+bias+requant(INT8,channel)+relu",
        "+bias+requant(INT8,channel)+add(FP32,NCHW)+relu",
        "+scale(channel)+silu+affine(*,0)",
        "+scale(channel)",
    };
    struct quantise_options options;
    size_t at = 0;
    quantise_options_init(&options);
    g_autoptr(Graph) graph = quantised(&options, NULL);
    for (struct node *node = graph_first(graph); node != NULL; node = node_next(node)) {
        if (node_is_kernel_of(node, OP_CONV)) {
            const char *text = attributes_string(node->attributes, "epilogue", "");
            g_assert_true(g_pattern_match_simple(wanted[at++], text) ||
                          (g_test_message("%s", text), false));
            g_assert_cmpint(node->inputs[KERNEL_X]->shape.type, ==, ELEMENT_INT8);
            if (node->inputs[KERNEL_RESIDUAL] != NULL) {
                g_assert_cmpint(node->inputs[KERNEL_RESIDUAL]->shape.type, ==, ELEMENT_INT8);
            }
        }
        if (node_is_kernel_of(node, OP_POOL) || node->op == &op_join) {
            g_assert_cmpint(node_output(node)->shape.type, ==, ELEMENT_INT8);
        }
    }
    g_assert_cmpint(at, ==, G_N_ELEMENTS(wanted));
}

/* Given samples are used: larger ones give a larger scale. */
static void test_samples(void)
{
    float samples[512];
    struct quantise_options options;
    struct quantise_result result;
    quantise_options_init(&options);
    for (int i = 0; i < 512; i++) {
        samples[i] = i % 2 == 0 ? 10 : -10;
    }
    options.samples = samples;
    options.sample_count = 2;
    g_autoptr(Graph) graph = quantised(&options, &result);
    g_assert_false(result.samples_are_random);
    const char *text = attributes_string(graph_first(graph)->attributes, "epilogue", "");
    g_assert_true(g_pattern_match_simple("+affine(12.7,0)", text) ||
                  (g_test_message("%s", text), false));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/quantise/int8_is_near_fp32", test_accuracy);
    g_test_add_func("/quantise/epilogues_requantise", test_epilogues);
    g_test_add_func("/quantise/samples_decide_the_scales", test_samples);
    return g_test_run();
}
