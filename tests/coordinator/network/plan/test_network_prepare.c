#include "coordinator/network/plan/network_prepare.h"

#include "solvers/problem/problem_key.h"
#include "tests/support/network/network_text.h"
#include "tests/support/network/random_network.h"
#include "tests/support/test_effort.h"

#include <math.h>
#include <string.h>

/* How a network is prepared, and how far its outputs may be from those of the model: of their largest. */
struct way {
    const char *name;
    enum data_type type;
    enum layout_choice layout;
    enum fusion_level fusion;
    int64_t batch;
    double tolerance;
};

static const struct way ways[] = {
    {"fp32", TYPE_FP32, LAYOUT_CHOICE_NCHW, FUSION_ALL, 0, 5e-3},
    {"fp32_unfused_nhwc", TYPE_FP32, LAYOUT_CHOICE_NHWC, FUSION_NONE, 0, 5e-3},
    {"fp32_activation_per_layer", TYPE_FP32, LAYOUT_CHOICE_LAYER, FUSION_ACTIVATION, 2, 5e-3},
    {"fp16_nhwc", TYPE_FP16, LAYOUT_CHOICE_NHWC, FUSION_ALL, 0, 1e-2},
    {"bf16", TYPE_BF16, LAYOUT_CHOICE_NCHW, FUSION_ALL, 0, 5e-2},
    {"int8_nhwc", TYPE_INT8, LAYOUT_CHOICE_NHWC, FUSION_ALL, 0, 0.15},
    {"int8_unfused", TYPE_INT8, LAYOUT_CHOICE_NCHW, FUSION_NONE, 0, 0.15},
};

static void prepare(struct graph *graph, const struct way *way, struct prepare_options *options,
                    struct prepared_network *prepared)
{
    g_autoptr(GError) error = NULL;
    prepare_options_init(options);
    options->type = way->type;
    options->layout = way->layout;
    options->fusion = way->fusion;
    options->batch = way->batch;
    options->quantise.sample_count = 2;
    network_prepare(graph, options, prepared, &error);
    g_assert_no_error(error);
    graph_validate(prepared->graph, &error);
    g_assert_no_error(error);
    network_plan_validate(prepared->plan, &error);
    g_assert_no_error(error);
}

static void check_network(struct graph *graph, const struct way *way)
{
    struct prepare_options options;
    struct prepared_network prepared;
    struct samples_distance distance;
    g_autoptr(GError) error = NULL;
    g_test_message("%s", way->name);
    prepare(graph, way, &options, &prepared);
    g_autoptr(Graph) right = network_reference(graph, &options, &error);
    g_assert_no_error(error);
    networks_compare(prepared.graph, right, &distance);
    g_assert_cmpfloat(distance.max_error, <, way->tolerance);
    /* Random filters have no clear winner, which INT8 would keep. */
    if (way->type == TYPE_INT8) {
        g_assert_cmpfloat(distance.cosine, >, 0.98);
    } else {
        g_assert_cmpfloat(distance.top1, ==, 1);
    }
    if (way->batch > 0) {
        g_assert_cmpint(prepared.plan->batch, ==, way->batch);
    }
    g_assert_cmpstr(network_plan_knob(prepared.plan, "dtype"), ==, data_type_name(way->type));
    prepared_network_clear(&prepared);
}

/* A block of ResNet with its shortcut, and what exporters put around it. */
static const char *const block[] = {
    "input x 1,8,10,10",  "weight w1 8,8,1,1",
    "scale s1 8",         "weight b1 8",
    "weight m1 8",        "scale v1 8",
    "weight w2 8,8,3,3",  "weight c2 8",
    "weight w3 12,8,1,1", "weight c3 12",
    "weight w4 12,8,1,1", "weight c4 12",
    "Conv x w1 = a1",     "BatchNormalization a1 s1 b1 m1 v1 = a2",
    "Relu a2 = a3",       "Conv a3 w2 c2 = b1_ pads=[1,1,1,1]",
    "Relu b1_ = b2_",     "Conv b2_ w3 c3 = d1",
    "Conv x w4 c4 = d2",  "Add d1 d2 = e1",
    "Relu e1 = e2",       "GlobalAveragePool e2 = f1",
    "Flatten f1 = f2",    "weight w5 5,12",
    "weight c5 5",        "Gemm f2 w5 c5 = y transB=1",
    "output y",           NULL,
};

static void test_block(void)
{
    g_autoptr(Graph) graph = network_of(block);
    for (size_t i = 0; i < G_N_ELEMENTS(ways); i++) {
        check_network(graph, &ways[i]);
    }
}

static void check_keys(const struct way *way, const char *const *keys)
{
    g_autoptr(Graph) graph = network_of(block);
    struct prepare_options options;
    struct prepared_network prepared;
    char key[PROBLEM_KEY_MAX];
    prepare(graph, way, &options, &prepared);
    for (guint i = 0; i < prepared.plan->steps->len && keys[i] != NULL; i++) {
        problem_key(&plan_step_at(prepared.plan, (int)i)->problem, key);
        g_assert_true(g_pattern_match_simple(keys[i], key) || (g_test_message("%s", key), false));
    }
    g_assert_cmpint(prepared.plan->steps->len, ==, g_strv_length((char **)keys));
    prepared_network_clear(&prepared);
}

/* The addition is in the convolution that is computed last; batch normalisation is in the filter. */
static void test_fused(void)
{
    static const char *const keys[] = {
        "8-10-10-1x1-8-*-NCHW-FP32-F+bias+relu",
        "8-10-10-3x3-8-*-NCHW-FP32-F+bias+relu",
        "8-10-10-1x1-12-*-NCHW-FP32-F+bias",
        "8-10-10-1x1-12-*-NCHW-FP32-F+bias+add(FP32,NCHW)+relu",
        "pool(average)-12-10-10-10x10-*",
        "12-1-1-1x1-5-*-NCHW-FP32-F+bias",
        NULL,
    };
    check_keys(&ways[0], keys);
}

/* INT8 goes from convolution to convolution; the residual is INT8, too. */
static void test_quantised(void)
{
    static const char *const keys[] = {
        "pointwise-*-FP32FP32INT8-F+affine(*",
        "8-10-10-1x1-8-*-INT8-F+bias+requant(INT8,channel)+relu",
        "8-10-10-3x3-8-*-INT8-F+bias+requant(INT8,channel)+relu",
        "8-10-10-1x1-12-*-INT8INT8FP32-F+bias+scale(channel)",
        "8-10-10-1x1-12-*-INT8INT8FP32-F+bias+scale(channel)+add(FP32,NHWC)+relu",
        "pool(average)-12-10-10-10x10-*FP32FP32INT8-F+affine(*",
        "12-1-1-1x1-5-*-INT8INT8FP32-F+bias+scale(channel)",
        NULL,
    };
    check_keys(&ways[5], keys);
}

/* Prepares a network in INT8, calibrated with random samples of the seed. */
static void prepare_int8(struct graph *graph, enum layout_choice layout, enum fusion_level fusion,
                         guint64 seed, struct calibrated_networks *calibrated,
                         struct prepared_network *prepared)
{
    struct prepare_options options;
    g_autoptr(GError) error = NULL;
    prepare_options_init(&options);
    options.type = TYPE_INT8;
    options.layout = layout;
    options.fusion = fusion;
    options.quantise.sample_count = 2;
    options.quantise.seed = seed;
    options.calibrated = calibrated;
    network_prepare(graph, &options, prepared, &error);
    g_assert_no_error(error);
}

/* The samples of another seed give other scales: by them it shows whether a network was calibrated again. */
static void test_calibrated_once(void)
{
    g_autoptr(Graph) graph = network_of(block);
    struct calibrated_networks calibrated = {0};
    struct prepared_network first, again, alone, other;
    struct samples_distance same, different;
    prepare_int8(graph, LAYOUT_CHOICE_NCHW, FUSION_ALL, 1, &calibrated, &first);
    prepare_int8(graph, LAYOUT_CHOICE_NHWC, FUSION_ALL, 2, &calibrated, &again);
    prepare_int8(graph, LAYOUT_CHOICE_NHWC, FUSION_ALL, 1, NULL, &alone);
    prepare_int8(graph, LAYOUT_CHOICE_NHWC, FUSION_ALL, 2, NULL, &other);
    networks_compare(again.graph, alone.graph, &same);
    networks_compare(again.graph, other.graph, &different);
    g_assert_cmpfloat(same.max_error, ==, 0);
    g_assert_cmpfloat(different.max_error, >, 0);
    g_assert_cmpint(again.quantised.quantised, ==, alone.quantised.quantised);
    g_assert_cmpint(again.plan->steps->len, ==, alone.plan->steps->len);
    g_assert_cmpint(first.plan->steps->len, >, 0);
    prepared_network_clear(&first);
    prepared_network_clear(&again);
    prepared_network_clear(&alone);
    prepared_network_clear(&other);
    calibrated_networks_clear(&calibrated);
}

/* The transposed convolution stays in FP32, and what quantises its result is a step that fusing can move. */
static const char *const transposed_first[] = {
    "input x 1,8,6,6",
    "weight w1 8,8,2,2",
    "weight w2 8,8,3,3",
    "ConvTranspose x w1 = a strides=[2,2]",
    "Conv a w2 = b pads=[1,1,1,1]",
    "Relu b = y",
    "output y",
    NULL,
};

/* The steps do not depend on which level of fusion was prepared before, with the same calibration. */
static void test_calibration_keeps_steps(void)
{
    g_autoptr(Graph) graph = network_of(transposed_first);
    for (int first = FUSION_NONE; first <= FUSION_ACTIVATION; first++) {
        struct calibrated_networks calibrated = {0};
        for (int i = 0; i < 2; i++) {
            enum fusion_level level = i == 0                 ? (enum fusion_level)first
                                      : first == FUSION_NONE ? FUSION_ACTIVATION
                                                             : FUSION_NONE;
            struct prepared_network shared, alone;
            prepare_int8(graph, LAYOUT_CHOICE_NCHW, level, 1, &calibrated, &shared);
            prepare_int8(graph, LAYOUT_CHOICE_NCHW, level, 1, NULL, &alone);
            g_assert_cmpint(shared.plan->steps->len, ==, alone.plan->steps->len);
            prepared_network_clear(&shared);
            prepared_network_clear(&alone);
        }
        calibrated_networks_clear(&calibrated);
    }
}

/* In an unfused plan the steps whose work one fused step would do have one group. */
static void test_groups(void)
{
    g_autoptr(Graph) graph = network_of(block);
    struct prepare_options options;
    struct prepared_network prepared;
    prepare(graph, &ways[1], &options, &prepared);
    int last = -1, count = 0;
    for (guint i = 0; i < prepared.plan->steps->len; i++) {
        const struct plan_step *step = plan_step_at(prepared.plan, (int)i);
        count += step->group > last;
        last = MAX(last, step->group);
    }
    g_assert_cmpint(count, ==, 6);
    prepared_network_clear(&prepared);
}

/* The ways of the large network take turns by the day; a sanitizer looks at the small one alone. */
#define WAY_DAYS 3

/* Real networks in all ways. Random weights where a model has none. */
static void test_models(void)
{
    static const char *const files[] = {"mnist.onnx", "SqueezeNet_fp16.onnx"};
    size_t count = test_is_sanitized() ? 1 : G_N_ELEMENTS(files);
    for (size_t f = 0; f < count; f++) {
        g_autoptr(Graph) graph = network_of_model(files[f]);
        for (size_t i = 0; graph != NULL && i < G_N_ELEMENTS(ways); i++) {
            if (f == 0 || test_is_turn((int)i, WAY_DAYS)) {
                check_network(graph, &ways[i]);
            }
        }
    }
}

/* The number of steps of real networks, fused and not: of ResNet-50 one for each convolution, pool and matrix. */
static void test_step_counts(void)
{
    static const struct {
        const char *file;
        guint fused, unfused;
    } rows[] = {
        {"light_resnet50.onnx", 57, 175},
        {"light_squeezenet.onnx", 31, 83},
        {"yolox_nano.onnx", 125, 355},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        if (test_is_sanitized() && i != 1) {
            continue; /* the smallest alone */
        }
        g_autoptr(Graph) graph = network_of_model(rows[i].file);
        for (int fuses = 0; fuses < 2 && graph != NULL; fuses++) {
            struct way way = {.type = TYPE_FP32, .fusion = fuses == 1 ? FUSION_ALL : FUSION_NONE};
            struct prepare_options options;
            struct prepared_network prepared;
            prepare(graph, &way, &options, &prepared);
            g_test_message("%s: %u steps", rows[i].file, prepared.plan->steps->len);
            guint wanted = fuses == 1 ? rows[i].fused : rows[i].unfused;
            g_assert_cmpint(ABS((int)prepared.plan->steps->len - (int)wanted), <=, 1);
            prepared_network_clear(&prepared);
        }
    }
}

/* Each of these was wrong once: one element read for all of a picture, a shuffle of a stored sum, a border behind which a
 * pool's last window begins, an output that shows an input. */
static void test_corners(void)
{
    static const char *const networks[][12] = {
        {"input x 2,3,5,5", "ReduceMean x = m axes=[0,1,2,3] keepdims=1", "Mul x m = y",
         "output y"},
        {"input x 1,1,5,5", "GlobalAveragePool x = p", "Sigmoid p = g", "Mul x g = y", "output y"},
        {"input x 1,8,6,8", "Add x x = s", "ints a 1,2,4,6,8", "ints b 1,8,6,8", "Reshape s a = r",
         "Transpose r = t perm=[0,2,1,3,4]", "Reshape t b = u", "GlobalAveragePool u = y",
         "output y", "output u"},
        {"input x 1,2,2,2", "ints p 0,0,1,0,0,0,0,2", "Pad x p = q",
         "AveragePool q = y kernel_shape=[2,2] strides=[2,2] count_include_pad=1", "output y"},
        {"input x 1,2,4,5", "Transpose x = t perm=[0,1,3,2]", "Relu x = y", "output t", "output y"},
    };
    for (size_t n = 0; n < G_N_ELEMENTS(networks); n++) {
        g_autoptr(Graph) graph = network_of(networks[n]);
        for (size_t i = 0; i < 3; i++) {
            struct way way = ways[i];
            way.batch = 0;
            g_test_message("network %zu", n);
            check_network(graph, &way);
        }
    }
}

/* Random networks in FP32 by every layout and fusion. If a network fails, its lines and the seed are printed. */
static void check_random(guint32 seed, bool *failed)
{
    g_auto(GStrv) lines = random_network(seed, 10);
    g_autoptr(Graph) graph = network_of((const char *const *)lines);
    for (int i = 0; i < LAYOUT_CHOICE_COUNT * FUSION_LEVEL_COUNT && !*failed; i++) {
        struct prepare_options options;
        struct prepared_network prepared;
        struct samples_distance distance = {.max_error = INFINITY};
        g_autoptr(GError) error = NULL;
        prepare_options_init(&options);
        options.layout = (enum layout_choice)(i / FUSION_LEVEL_COUNT);
        options.fusion = (enum fusion_level)(i % FUSION_LEVEL_COUNT);
        if (network_prepare(graph, &options, &prepared, &error) &&
            graph_validate(prepared.graph, &error) &&
            network_plan_validate(prepared.plan, &error)) {
            g_autoptr(Graph) right = network_reference(graph, &options, NULL);
            networks_compare(prepared.graph, right, &distance);
            *failed = distance.max_error > 1e-4;
        } else {
            *failed = true;
        }
        if (*failed) {
            g_autofree char *text = g_strjoinv("\n", lines);
            g_test_message("seed %u, %s, %s: %s (apart by %g)\n%s", seed,
                           layout_choice_name(options.layout), fusion_level_name(options.fusion),
                           error != NULL ? error->message : "other outputs", distance.max_error,
                           text);
        }
        prepared_network_clear(&prepared);
    }
}

static void test_random(void)
{
    int count = test_effort(60), failures = 0;
    guint32 first = test_seed() * 1000;
    g_test_message("%d networks from seed %u on", count, first);
    for (int i = 0; i < count; i++) {
        bool failed = false;
        check_random(first + (guint32)i, &failed);
        failures += failed;
    }
    g_assert_cmpint(failures, ==, 0);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/prepare/a_block_of_resnet_computes_the_same_in_every_way", test_block);
    g_test_add_func("/prepare/a_block_of_resnet_is_fused_into_its_convolutions", test_fused);
    g_test_add_func("/prepare/int8_stays_between_convolutions", test_quantised);
    g_test_add_func("/prepare/networks_that_differ_in_layout_are_calibrated_once",
                    test_calibrated_once);
    g_test_add_func("/prepare/steps_do_not_depend_on_what_was_calibrated_before",
                    test_calibration_keeps_steps);
    g_test_add_func("/prepare/groups_are_the_fused_steps", test_groups);
    g_test_add_func("/prepare/real_networks_compute_the_same_in_every_way", test_models);
    g_test_add_func("/prepare/real_networks_have_so_many_steps", test_step_counts);
    g_test_add_func("/prepare/corners_compute_the_same", test_corners);
    g_test_add_func("/prepare/random_networks_compute_the_same_by_every_layout_and_fusion",
                    test_random);
    return g_test_run();
}
