#include "coordinator/network/host/host_eval.h"

#include "tests/support/network/network_text.h"

#include <string.h>

#define IMAGES         5
#define IMAGE_ELEMENTS (4 * 120 * 120)

/* Operators whose work threads share in pieces. An image fits one piece, which has 65,536 elements; pieces of a batch
 * begin within rows. */
static const char *const lines[] = {
    "scale s 4",
    "weight b 4",
    "scale v 4",
    "weight w 4,4,1,1",
    "weight channel 4,1,1",
    "weight row 120,1",
    "weight column 120",
    "scale steps 4",
    "number low -0.5",
    "number high 0.5",
    "BatchNormalization x s b b v = norm",
    "LeakyRelu norm = leaky alpha=0.3",
    "Add leaky channel = plus",
    "Mul plus row = times",
    "Sum x times column = sum",
    "Mean x column times = mean",
    "Conv x w b = conv",
    "Clip conv low high = clip",
    "PRelu x channel = prelu",
    "Less x row = less",
    "Where less conv column = where",
    "LRN conv = lrn size=3",
    "Softmax conv = softmax axis=1",
    "InstanceNormalization conv s b = instance",
    "LayerNormalization conv column column = layer",
    "com.microsoft.BiasGelu conv column = gelu",
    "QuantizeLinear x steps = quantized axis=1",
    "DequantizeLinear quantized steps = dequantized axis=1",
    "Transpose x = turned perm=[0,1,3,2]",
    "GlobalAveragePool conv = pool",
    "Add pool turned = added",
    "Concat norm leaky plus times sum mean clip prelu = simple axis=1",
    "Concat where lrn softmax instance layer gelu dequantized added = others axis=1",
    "Concat simple others = y axis=1",
    "output y",
    NULL,
};

/* The network's outputs for `images` images. Free with g_free(). */
static float *outputs_of(int images, const float *inputs, int threads, int64_t *count)
{
    g_autofree char *input = g_strdup_printf("input x %d,4,120,120", images);
    const char *all[G_N_ELEMENTS(lines) + 1] = {input};
    memcpy(all + 1, lines, sizeof lines);
    g_autoptr(Graph) graph = network_of(all);
    g_autoptr(GError) error = NULL;
    struct host_options options = {.threads = threads};
    float *outputs = NULL;
    host_evaluate_samples(graph, inputs, images * IMAGE_ELEMENTS, &options, &outputs, count,
                          &error);
    g_assert_no_error(error);
    return outputs;
}

static void test_pieces(void)
{
    g_autofree float *inputs = samples_random(3, IMAGES * IMAGE_ELEMENTS);
    int64_t count, alone_count;
    g_autofree float *batch = outputs_of(IMAGES, inputs, 3, &count);
    for (int i = 0; i < IMAGES; i++) {
        g_autofree float *alone = outputs_of(1, inputs + i * IMAGE_ELEMENTS, 1, &alone_count);
        g_assert_cmpint(alone_count * IMAGES, ==, count);
        g_assert_cmpmem(alone, (gsize)alone_count * sizeof(float), batch + i * alone_count,
                        (gsize)alone_count * sizeof(float));
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/host_eval/images_of_a_batch_are_computed_as_alone", test_pieces);
    return g_test_run();
}
