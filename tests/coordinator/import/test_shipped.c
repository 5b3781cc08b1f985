#include "coordinator/import/import.h"
#include "coordinator/import/shipped.h"
#include "solvers/problem/problem_key.h"
#include "tests/support/export/real_data.h"

#include <inttypes.h>
#include <jansson.h>
#include <string.h>

#define TORCHVISION     "torchvision 0.15: num_params and _ops of the weights"
#define CLASSES(inputs) ((inputs)*1000 + 1000) /* a linear layer for ImageNet's 1,000 classes */

/* The published figures of a network, and the parameters that they count beside its convolutions. */
static const struct totals {
    const char *name;
    int64_t parameters; /* published */
    int64_t within;     /* how exact they are: 0 for a count, else half of the last digit */
    int64_t
        others; /* parameters that are neither a convolution's weight nor counted by an output */
    int per_output; /* parameters of each output channel: 2 scale and shift of its norm, 1 bias, 0 none */
    /* Layers with other parameters an output channel: texts, separated by blanks, with which their names begin, or
     * behind a '/' or '-' which their names have. NULL: none */
    const char *other_layers;
    int per_other_output;
    /* Layers whose names begin with one of these, separated by blanks, share other layers' weights. NULL: none */
    const char *shared;
    double gmacs;        /* published; 0 where only another input's or none is */
    double gmacs_within; /* relative */
    double other_gmacs;  /* of layers that are no convolutions */
    const char *source;
} totals[] = {
    {"alexnet", 61100840, 0, 9216 * 4096 + 4096 + 4096 * 4096 + 4096 + CLASSES(4096), 1, NULL, 0,
     NULL, 0.714, 1e-3, 0.0586, TORCHVISION},
    {"convnext-t", 28589128, 0,
     /* pointwise layers, norms, scales of the layers, last norm, classes */
     25911648 + 14784 + 6624 + 1536 + CLASSES(768), 1, NULL, 0, NULL, 4.456, 1e-3, 4.1626,
     TORCHVISION},
    {"densenet121", 7978856, 0, 2 * 41824 + CLASSES(1024), 0, NULL, 0, NULL, 2.834, 1e-3, 0.001,
     TORCHVISION},
    {"densenet201", 20013928, 0, 2 * 114528 + CLASSES(1920), 0, NULL, 0, NULL, 4.291, 1e-3, 0.0019,
     TORCHVISION},
    {"efficientnet-b0", 5288548, 0, CLASSES(1280), 2, "/se-", 1, NULL, 0.386, 2e-3, 0.0013,
     TORCHVISION},
    {"googlenet", 6998552, 0, CLASSES(1024), 1, NULL, 0, NULL, 1.5, 0.06, 0.001,
     "Caffe's bvlc_googlenet; Szegedy et al., 2014: a budget of 1.5 billion multiply-adds"},
    {"inception-v3", 27161264, 0,
     /* classes, and the auxiliary classifier */
     CLASSES(2048) + 768 * 128 + 2 * 128 + 128 * 768 * 25 + 2 * 768 + CLASSES(768), 2, NULL, 0,
     NULL, 5.713, 1e-3, 0.002, TORCHVISION},
    {"inception-v4", 42679816, 0, CLASSES(1536), 2, NULL, 0, NULL, 12.28, 4e-3, 0.0015,
     "timm 0.9: param_count and macs of its benchmark"},
    /* 1,000 proposals to the box head; without detections for the mask head */
    {"maskrcnn-r50-fpn", 44401393, 0,
     256 * 49 * 1024 + 1024 + 1024 * 1024 + 1024 + 1024 * 91 + 91 + 1024 * 364 + 364, 1, "conv", 0,
     "rpn/p3/ rpn/p4/ rpn/p5/ rpn/p6/", 0, 0, 0, TORCHVISION},
    {"mobilenet-v1", 4231976, 0, CLASSES(1024), 2, NULL, 0, NULL, 0.569, 2e-3, 0.001,
     "Keras 1.0_224: trainable parameters; Howard et al., 2017, table 4"},
    {"mobilenet-v2", 3504872, 0, CLASSES(1280), 2, NULL, 0, NULL, 0.301, 2e-3, 0.0013, TORCHVISION},
    {"mobilenet-v3-large", 5483032, 0, 960 * 1280 + 1280 + CLASSES(1280), 2, "/se-", 1, NULL, 0.217,
     3e-3, 0.0025, TORCHVISION},
    {"resnet101-v1.5", 44549160, 0, CLASSES(2048), 2, NULL, 0, NULL, 7.801, 1e-3, 0.002,
     TORCHVISION},
    {"resnet152-v1.5", 60192808, 0, CLASSES(2048), 2, NULL, 0, NULL, 11.514, 1e-3, 0.002,
     TORCHVISION},
    {"resnet18", 11689512, 0, CLASSES(512), 2, NULL, 0, NULL, 1.814, 1e-3, 0.0005, TORCHVISION},
    {"resnet50-v1.5", 25557032, 0, CLASSES(2048), 2, NULL, 0, NULL, 4.089, 1e-3, 0.002,
     TORCHVISION},
    {"resnext101-32x8d", 88791336, 0, CLASSES(2048), 2, NULL, 0, NULL, 16.414, 1e-3, 0.002,
     TORCHVISION},
    {"resnext50-32x4d", 25028904, 0, CLASSES(2048), 2, NULL, 0, NULL, 4.23, 1e-3, 0.002,
     TORCHVISION},
    /* two towers of four layers, 9 anchors of 80 classes and 4 coordinates */
    {"retinanet-heads", 8 * 256 * 256 * 9 + 256 * 720 * 9 + 256 * 36 * 9, 0, 0, 0, NULL, 0,
     "p4/ p5/ p6/ p7/", 0, 0, 0, "Lin et al., 2017, section 4"},
    /* published for 800x800, where the levels above the fifth are larger beside it */
    {"retinanet-r50-fpn", 34014999, 0, 0, 1, "conv", 0, "p4/ p5/ p6/ p7/", 151.54 * 1344 / 800,
     1e-3, 0, TORCHVISION},
    {"shufflenet-v2-x1.0", 2278604, 0, CLASSES(1024), 2, NULL, 0, NULL, 0.145, 2e-3, 0.001,
     TORCHVISION},
    {"squeezenet1.1", 1235496, 0, 0, 1, NULL, 0, NULL, 0.349, 1e-3, 0, TORCHVISION},
    {"ssd-resnet34", 20100000, 150000, 0, 1, "conv", 2, NULL, 433.0 / 2, 1e-3, 0,
     "MLPerf Inference: 433 Gop an input; the model's file of 32-bit weights has 80.4 MB"},
    {"ssd300-vgg16", 35641826, 0, 512 /* scales of a feature map */, 1, NULL, 0, NULL, 34.858, 1e-3,
     0, TORCHVISION},
    /* counted with 3 input channels, and with norms behind the layers of 3x3 */
    {"unet", 31037698, 0, 2 * 64 * 9, 2, "/upconv classes", 1, NULL, 0, 0, 0,
     "Pytorch-UNet (milesial): parameters"},
    {"vgg16", 138357544, 0, 25088 * 4096 + 4096 + 4096 * 4096 + 4096 + CLASSES(4096), 1, NULL, 0,
     NULL, 15.47, 1e-3, 0.1236, TORCHVISION},
    {"yolox-nano", 910000, 5000, 0, 2, "-out", 1, NULL, 1.08 / 2, 0.04, 0,
     "Ge et al., 2021, table 5: 0.91 M parameters, 1.08 GFLOPs"},
    {"yolox-s", 9000000, 50000, 0, 2, "-out", 1, NULL, 26.8 / 2, 5e-3, 0,
     "Ge et al., 2021, table 3: 9.0 M parameters, 26.8 GFLOPs"},
};

static Import *import_shipped(const char *name, const char *network)
{
    g_autoptr(GError) error = NULL;
    const struct import_options options = {.network = network};
    g_autoptr(Import) import = import_new(&options);
    g_assert_true(import_file(import, name, &error));
    g_assert_no_error(error);
    g_assert_cmpuint(import->skipped->len, ==, 0);
    return g_steal_pointer(&import);
}

static bool begins_with_one(const char *name, const char *words)
{
    g_auto(GStrv) list = g_strsplit(words != NULL ? words : "", " ", -1);
    for (int i = 0; list[i] != NULL; i++) {
        if (list[i][0] != '\0' && g_str_has_prefix(name, list[i])) {
            return true;
        }
    }
    return false;
}

static bool is_other(const struct totals *t, const char *name)
{
    g_auto(GStrv) parts = g_strsplit(t->other_layers != NULL ? t->other_layers : "", " ", -1);
    for (int i = 0; parts[i] != NULL; i++) {
        bool inside = parts[i][0] == '/' || parts[i][0] == '-';
        if (inside ? strstr(name, parts[i]) != NULL : g_str_has_prefix(name, parts[i])) {
            return true;
        }
    }
    return false;
}

static void check_totals(const struct totals *t)
{
    g_autoptr(Import) import = import_shipped(t->name, NULL);
    const struct import_network *network = g_ptr_array_index(import->networks, 0);
    int64_t parameters = t->others;
    double macs = t->other_gmacs * 1e9;
    for (guint i = 0; i < network->layers->len; i++) {
        const struct layer *layer = &g_array_index(network->layers, struct layer, i);
        const struct problem *p = &layer->problem;
        /* A transposed layer is stored as the backward pass of the layer that it transposes. */
        int64_t outputs = p->direction == DIRECTION_B ? p->c : p->k;
        int64_t weights = p->c * p->k / p->groups * p->fil[AXIS_H] * p->fil[AXIS_W];
        bool other = is_other(t, layer->name);
        macs += problem_macs(p) * layer->multiplicity;
        if (!begins_with_one(layer->name, t->shared)) {
            parameters += layer->multiplicity *
                          (weights + outputs * (other ? t->per_other_output : t->per_output));
        }
    }
    g_test_message("%s: %" PRId64 " parameters (%s: %" PRId64 "), %.4f GMAC (%.4f)", t->name,
                   parameters, t->source, t->parameters, macs * 1e-9, t->gmacs);
    g_assert_cmpint(ABS(parameters - t->parameters), <=, t->within);
    if (t->gmacs > 0) {
        g_assert_cmpfloat_with_epsilon(macs * 1e-9, t->gmacs, t->gmacs * t->gmacs_within);
    }
}

static void test_totals(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(totals); i++) {
        check_totals(&totals[i]);
    }
}

static void test_all_are_in_the_table(void)
{
    g_assert_cmpuint(shipped_tables_count, ==, G_N_ELEMENTS(totals));
    for (size_t i = 0; i < MIN(shipped_tables_count, G_N_ELEMENTS(totals)); i++) {
        g_assert_cmpstr(shipped_tables[i].name, ==, totals[i].name);
    }
    g_assert_null(shipped_find("resnet"));
    g_assert_null(shipped_find("resnet18.csv"));
}

/* The layers outside of the mask head for 800x800, and the box head for 1,000 proposals. */
static void test_mask_r_cnn_has_the_published_multiply_adds(void)
{
    g_autoptr(Import) import = import_shipped("maskrcnn-r50-fpn", NULL);
    const struct import_network *network = g_ptr_array_index(import->networks, 0);
    const double box_head = 1000 * (256 * 49 * 1024.0 + 1024 * 1024 + 1024 * (91 + 364));
    double macs = 0;
    for (guint i = 0; i < network->layers->len; i++) {
        const struct layer *layer = &g_array_index(network->layers, struct layer, i);
        if (!g_str_has_prefix(layer->name, "mask/")) {
            macs += problem_macs(&layer->problem) * layer->multiplicity;
        } else {
            g_assert_cmpint(layer->problem.n, ==, 100);
        }
    }
    g_assert_cmpint(network->facts.batch, ==, 1);
    g_assert_cmpfloat_with_epsilon((macs * 800 / 1344 + box_head) * 1e-9, 134.38, 0.01);
}

static void test_facts_are_read(void)
{
    for (size_t i = 0; i < shipped_tables_count; i++) {
        g_autoptr(Import) import = import_shipped(shipped_tables[i].name, NULL);
        const struct import_network *network = g_ptr_array_index(import->networks, 0);
        g_assert_cmpuint(import->networks->len, ==, 1);
        g_assert_cmpstr(network->name, ==, shipped_tables[i].name);
        g_assert_nonnull(network->facts.texts[FACT_MODEL]);
        g_assert_nonnull(network->facts.texts[FACT_SOURCE]);
        g_assert_null(network->facts.texts[FACT_RUNS]);
        g_assert_cmpint(network->facts.batch, ==, 1);
        g_assert_null(network->difference);
    }
}

/* ---- against tables and models made elsewhere ---- */

static void compare(const Import *ours, const Import *theirs, const char *name)
{
    g_test_message("%s", name);
    g_assert_cmpint(problem_list_count(ours->problems), ==, problem_list_count(theirs->problems));
    for (int i = 0; i < problem_list_count(theirs->problems); i++) {
        const struct problem_entry *entry = problem_list_get(theirs->problems, i);
        int index = problem_list_find(ours->problems, &entry->problem);
        char key[PROBLEM_KEY_MAX];
        if (index < 0) {
            g_test_message("%s lacks %s", name, problem_key(&entry->problem, key));
            g_test_fail();
        } else {
            g_assert_cmpint(problem_list_get(ours->problems, index)->multiplicity, ==,
                            entry->multiplicity);
        }
    }
}

static void test_tables_agree_with_those_made_elsewhere(void)
{
    static const struct {
        const char *ours, *theirs;
    } rows[] = {
        {"resnet50-v1.5", "resnet50_v1.5"},
        {"resnext101-32x8d", "resnext101_32x8d"},
        {"vgg16", "vgg16"},
        {"mobilenet-v2", "mobilenet_v2"},
        {"efficientnet-b0", "efficientnet_b0"},
        {"inception-v3", "inception_v3"},
        {"unet", "unet_original_572"},
    };
    g_autofree char *folder = real_data("networks");
    if (folder == NULL) {
        return;
    }
    g_autofree char *tables = g_build_filename(folder, "layer_tables.csv", NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(Import) ours = import_shipped(rows[i].ours, NULL);
        g_autoptr(Import) theirs = import_shipped(tables, rows[i].theirs);
        compare(ours, theirs, rows[i].ours);
    }
}

static int64_t number_at(const json_t *object, const char *name, size_t index)
{
    const json_t *value = json_object_get(object, name);
    return json_integer_value(json_is_array(value) ? json_array_get(value, index) : value);
}

/* The problems of a model in ONNX's reference data, as a table. Free with g_free(). */
static char *model_table(const json_t *model)
{
    static const struct {
        const char *column, *name;
        size_t index;
    } columns[] = {{"n", "n", 0},    {"c", "c", 0},       {"h", "sp", 0},      {"w", "sp", 1},
                   {"k", "k", 0},    {"y", "f", 0},       {"x", "f", 1},       {"p", "pads", 0},
                   {"q", "pads", 1}, {"u", "strides", 0}, {"v", "strides", 1}, {"g", "g", 0}};
    GString *text = g_string_new(NULL);
    size_t index;
    const json_t *conv;
    for (size_t i = 0; i < G_N_ELEMENTS(columns); i++) {
        g_string_append_printf(text, "%s%s", i > 0 ? "," : "", columns[i].column);
    }
    json_array_foreach (json_object_get(model, "convs"), index, conv) {
        for (size_t i = 0; i < G_N_ELEMENTS(columns); i++) {
            g_string_append_printf(text, "%s%" PRId64, i > 0 ? "," : "\n",
                                   number_at(conv, columns[i].name, columns[i].index));
        }
    }
    return g_string_free(text, FALSE);
}

static void test_tables_agree_with_models(void)
{
    static const struct {
        const char *ours, *file;
    } rows[] = {{"yolox-nano", "yolox_nano.onnx"}, {"squeezenet1.1", "SqueezeNet_fp16.onnx"}};
    g_autofree char *folder = real_data("onnx");
    if (folder == NULL) {
        return;
    }
    g_autofree char *path = g_build_filename(folder, "expected.json", NULL);
    json_t *models = json_load_file(path, 0, NULL), *model;
    size_t index;
    int found = 0;
    json_array_foreach (models, index, model) {
        for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
            if (g_strcmp0(json_string_value(json_object_get(model, "file")), rows[i].file) == 0) {
                const struct import_options options = {0};
                g_autofree char *table = model_table(model);
                g_autoptr(Import) ours = import_shipped(rows[i].ours, NULL);
                g_autoptr(Import) theirs = import_new(&options);
                g_assert_true(import_bytes(theirs, "model.csv", table, strlen(table), NULL));
                compare(ours, theirs, rows[i].ours);
                found++;
            }
        }
    }
    g_assert_cmpint(found, ==, G_N_ELEMENTS(rows));
    json_decref(models);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/shipped/every_network_has_published_totals", test_all_are_in_the_table);
    g_test_add_func("/shipped/weights_and_multiply_adds_are_the_published_ones", test_totals);
    g_test_add_func("/shipped/mask_r_cnn_has_the_published_multiply_adds",
                    test_mask_r_cnn_has_the_published_multiply_adds);
    g_test_add_func("/shipped/networks_know_their_model_and_source", test_facts_are_read);
    g_test_add_func("/shipped/tables_agree_with_those_made_elsewhere",
                    test_tables_agree_with_those_made_elsewhere);
    g_test_add_func("/shipped/tables_agree_with_models", test_tables_agree_with_models);
    return g_test_run();
}
