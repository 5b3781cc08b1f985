#include "coordinator/network/passes/fuse.h"

#include "coordinator/network/passes/lower.h"
#include "coordinator/network/passes/passes.h"
#include "tests/support/network/network_text.h"

#include <string.h>

#define LINES_MAX 16

/* The epilogues of a graph's kernels in their order, each behind its kind: "conv+bias+relu pool". */
static char *epilogues(struct graph *graph)
{
    GString *text = g_string_new(NULL);
    for (struct node *node = graph_first(graph); node != NULL; node = node_next(node)) {
        if (node_is_kernel(node)) {
            g_string_append_printf(text, "%s%s%s", text->len > 0 ? " " : "", node->op->name,
                                   attributes_string(node->attributes, "epilogue", ""));
        }
    }
    return g_string_free(text, FALSE);
}

static const struct {
    const char *name, *lines[LINES_MAX];
    const char *none, *activation, *all;
} rows[] = {
    {"activation",
     {"input x 1,2,4,4", "weight w 3,2,1,1", "weight b 3", "Conv x w b = p", "Relu p = y",
      "output y"},
     "conv pointwise+bias pointwise+relu",
     "conv+bias+relu",
     "conv+bias+relu"},
    {"residual_of_the_last_convolution",
     {"input x 1,2,4,4", "weight w 2,2,1,1", "weight v 2,2,1,1", "Conv x w = p", "Conv p v = q",
      "Add q p = y", "output y"},
     "conv conv pointwise+add(FP32,NCHW)",
     "conv conv pointwise+add(FP32,NCHW)",
     "conv conv+add(FP32,NCHW)"},
    {"residual_on_either_side",
     {"input x 1,2,4,4", "weight w 2,2,1,1", "weight v 2,2,1,1", "Conv x w = p", "Conv p v = q",
      "Add p q = y", "output y"},
     "conv conv pointwise+add(FP32,NCHW)",
     "conv conv pointwise+add(FP32,NCHW)",
     "conv conv+add(FP32,NCHW)"},
    {"used_twice",
     {"input x 1,2,4,4", "weight w 2,2,1,1", "Conv x w = p", "Relu p = q", "Add q p = y",
      "output y"},
     "conv pointwise+relu pointwise+add(FP32,NCHW)",
     "conv pointwise+relu pointwise+add(FP32,NCHW)",
     "conv pointwise+relu+add(FP32,NCHW)"},
    {"chain_of_pointwise",
     {"input x 1,2,4,4", "number n 2", "Mul x n = a", "Relu a = b", "Tanh b = y", "output y"},
     "pointwise+affine(2,0) pointwise+relu pointwise+tanh",
     "pointwise+affine(2,0) pointwise+relu pointwise+tanh",
     "pointwise+affine(2,0)+relu+tanh"},
    {"silu",
     {"input x 1,2,4,4", "weight w 2,2,1,1", "Conv x w = p", "Sigmoid p = s", "Mul p s = y",
      "output y"},
     "conv pointwise+silu",
     "conv+silu",
     "conv+silu"},
    {"hard_swish_in_pieces",
     {"input x 1,2,4,4", "number three 3", "number zero 0", "number six 6", "Add x three = a",
      "Clip a zero six = b", "Mul x b = c", "Div c six = y", "output y"},
     "pointwise+hardswish+affine(6,0) pointwise+affine(0.166666667,0)",
     "pointwise+hardswish+affine(6,0) pointwise+affine(0.166666667,0)",
     "pointwise+hardswish"},
    {"gelu_in_pieces",
     {"input x 1,2,4", "number root 1.41421356", "number one 1", "number half 0.5",
      "Div x root = a", "Erf a = b", "Add b one = c", "Mul x c = d", "Mul d half = y", "output y"},
     "pointwise+gelu+affine(2,0) pointwise+affine(0.5,0)",
     "pointwise+gelu+affine(2,0) pointwise+affine(0.5,0)",
     "pointwise+gelu"},
    {"behind_a_reshape",
     {"input x 3,5", "weight w 5,7", "weight c 7", "Gemm x w c = p", "Relu p = y", "output y"},
     "conv pointwise+bias pointwise+relu",
     "conv+bias+relu",
     "conv+bias+relu"},
};

static char *fused(const char *const *lines, enum fusion_level level)
{
    g_autoptr(Graph) graph = network_of(lines), right = network_of(lines);
    g_autoptr(GError) error = NULL;
    struct samples_distance distance;
    network_lower(graph, &error);
    g_assert_no_error(error);
    network_match_activations(graph);
    network_fuse(graph, level, NULL, &error);
    g_assert_no_error(error);
    networks_compare(graph, right, &distance);
    g_assert_cmpfloat(distance.max_error, <, 1e-5);
    return epilogues(graph);
}

static void test_levels(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        const char *wanted[] = {rows[i].none, rows[i].activation, rows[i].all};
        for (int level = 0; level < FUSION_LEVEL_COUNT; level++) {
            g_autofree char *text = fused(rows[i].lines, (enum fusion_level)level);
            g_test_message("%s, %s", rows[i].name, fusion_level_name((enum fusion_level)level));
            g_assert_cmpstr(text, ==, wanted[level]);
        }
    }
}

static void test_names(void)
{
    for (int i = 0; i < FUSION_LEVEL_COUNT; i++) {
        enum fusion_level level;
        g_assert_true(fusion_level_parse(fusion_level_name((enum fusion_level)i), &level));
        g_assert_cmpint(level, ==, i);
    }
    enum fusion_level level;
    g_assert_false(fusion_level_parse("most", &level));
}

/* Scales and numbers behind a convolution are in its filter, whatever is fused. */
static void test_scales(void)
{
    static const char *const lines[] = {
        "input x 1,2,4,4",
        "weight w 4,1,3,3",
        "weight b 4",
        "scale s 4",
        "weight o 4",
        "weight m 4",
        "scale v 4",
        "number n 3",
        "Conv x w b = p group=2",
        "BatchNormalization p s o m v = q",
        "Mul q n = r",
        "Relu r = y",
        "output y",
        NULL,
    };
    g_autoptr(Graph) graph = network_of(lines), right = network_of(lines);
    g_autoptr(GError) error = NULL;
    struct samples_distance distance;
    network_lower(graph, &error);
    g_assert_no_error(error);
    g_assert_cmpint(network_fold_scales(graph), ==, 2);
    g_autofree char *text = epilogues(graph);
    g_assert_cmpstr(text, ==, "conv pointwise+bias pointwise+relu");
    networks_compare(graph, right, &distance);
    g_assert_cmpfloat(distance.max_error, <, 1e-5);
}

static void test_borders(void)
{
    static const struct {
        const char *lines[LINES_MAX];
        int gone;
    } cases[] = {
        {{"input x 1,2,4,4", "weight w 2,2,3,3", "ints p 0,0,1,1,0,0,1,1", "Pad x p = a",
          "Conv a w = y", "output y"},
         1},
        {{"input x 1,2,4,4", "weight w 2,2,3,3", "ints p 0,0,0,1,0,0,1,1", "Pad x p = a",
          "Conv a w = y", "output y"},
         0},
        {{"input x 1,2,4,4", "ints p 0,0,1,1,0,0,1,1", "Pad x p = a",
          "AveragePool a = y kernel_shape=[3,3]", "output y"},
         1},
        {{"input x 1,2,4,4", "ints p 0,0,1,1,0,0,1,1", "Pad x p = a",
          "MaxPool a = y kernel_shape=[3,3]", "output y"},
         0},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(Graph) graph = network_of(cases[i].lines), right = network_of(cases[i].lines);
        g_autoptr(GError) error = NULL;
        struct samples_distance distance;
        network_lower(graph, &error);
        g_assert_no_error(error);
        g_assert_cmpint(network_fold_borders(graph), ==, cases[i].gone);
        networks_compare(graph, right, &distance);
        g_assert_cmpfloat(distance.max_error, <, 1e-5);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/fuse/each_level_fuses_what_it_says", test_levels);
    g_test_add_func("/fuse/levels_have_names", test_names);
    g_test_add_func("/simplify/scales_go_into_filters", test_scales);
    g_test_add_func("/simplify/borders_become_padding_where_they_can", test_borders);
    return g_test_run();
}
