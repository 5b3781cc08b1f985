#include "coordinator/import/import.h"
#include "solvers/problem/problem_key.h"
#include "tests/support/onnx/onnx_writer.h"
#include "tests/support/temp_folder.h"

#include <string.h>

enum { FLOAT = 1, UINT8 = 2, FLOAT16 = 10 };

/* Two convolutions over images, and one over the regions of each. */
static GBytes *detector(const char *name, int type)
{
    struct onnx_writer writer;
    onnx_writer_init(&writer, name);
    onnx_write_input(&writer, "image", type, "N,3,32,height");
    onnx_write_tensor(&writer, "w1", type, "8,3,3,3", NULL, 0);
    onnx_write_tensor(&writer, "w2", type, "8,8,1,1", NULL, 0);
    onnx_write_tensor(&writer, "regions", FLOAT, "10,4", NULL, 0);
    onnx_write_ints(&writer, "images", "0,0,0,0,0,0,0,0,0,0");
    onnx_write_node(&writer, "Conv", "image w1", "a", "pads=[1,1,1,1]");
    onnx_write_node(&writer, "Conv", "a w2", "b", "");
    onnx_write_node(&writer, "RoiAlign", "b regions images", "c", "output_height=7 output_width=7");
    onnx_write_node(&writer, "Conv", "c w2", "d", "");
    onnx_write_node(&writer, "Fancy", "d", "e", "");
    onnx_write_node(&writer, "Conv", "e w2", "f", "");
    onnx_write_output(&writer, "f");
    return onnx_writer_finish(&writer, 16, "pytorch 2.1");
}

static Import *import_bytes_with(const struct import_options *options, const char *name,
                                 GBytes *bytes, GError **error)
{
    gsize length;
    const char *data = g_bytes_get_data(bytes, &length);
    g_autoptr(Import) import = import_new(options);
    return import_bytes(import, name, data, length, error) ? g_steal_pointer(&import) : NULL;
}

/* The layers of the only network: "name key" joined by line ends. */
static char *layers_text(const Import *import)
{
    GString *text = g_string_new(NULL);
    g_assert_cmpint(import->networks->len, ==, 1);
    const struct import_network *network = import->networks->pdata[0];
    for (guint i = 0; i < network->layers->len; i++) {
        const struct layer *layer = &g_array_index(network->layers, struct layer, i);
        char key[PROBLEM_KEY_MAX];
        g_string_append_printf(text, "%s%s %s", i > 0 ? "\n" : "", layer->name,
                               problem_key(&layer->problem, key));
    }
    return g_string_free(text, FALSE);
}

static bool has_note(const Import *import, const char *pattern)
{
    for (guint i = 0; i < import->notes->len; i++) {
        if (g_pattern_match_simple(pattern, import->notes->pdata[i])) {
            return true;
        }
    }
    return false;
}

static void test_layers(void)
{
    const struct import_options options = {.dim = "height=32"};
    g_autoptr(GBytes) bytes = detector("detector", FLOAT);
    g_autoptr(GError) error = NULL;
    g_autoptr(Import) import = import_bytes_with(&options, "x.onnx", bytes, &error);
    g_assert_no_error(error);
    g_autofree char *text = layers_text(import);
    g_assert_cmpstr(text, ==,
                    "n_a 3-32-32-3x3-8-32-32-1-1x1-1x1-1x1-0-NCHW-FP32-F\n"
                    "n_b 8-32-32-1x1-8-32-32-1-0x0-1x1-1x1-0-NCHW-FP32-F\n"
                    "n_d 8-7-7-1x1-8-7-7-10-0x0-1x1-1x1-0-NCHW-FP32-F");
    const struct import_network *network = import->networks->pdata[0];
    g_assert_cmpstr(network->name, ==, "detector");
    g_assert_cmpstr(network->facts.texts[FACT_FRAMEWORK], ==, "PyTorch");
    g_assert_cmpstr(network->facts.texts[FACT_MODEL], ==, "detector");
    g_assert_cmpstr(network->facts.texts[FACT_VERSION], ==, "2.1");
    g_assert_cmpint(network->facts.batch, ==, 1);
    g_assert_cmpint(import->convolutions, ==, 3);
    g_assert_cmpint(import->replaced, ==, 0);
    g_assert_cmpint(import->skipped->len, ==, 1);
    const struct import_skip *skip = import->skipped->pdata[0];
    g_assert_cmpint(skip->line, ==, 6);
    g_assert_cmpstr(skip->reason, ==,
                    "node 'n_f' (Conv) depends on what is not known: node 'n_e' (Fancy): operator "
                    "Fancy is not known: no operator of opsets 7 to 21 that is read");
    g_assert_true(has_note(import, "x.onnx: 3 of 4 convolutions are resolved"));
    g_assert_true(
        has_note(import, "x.onnx: dimension 'N' of input 'image' is open*the batch (--batch*"));
}

/* A layer that runs ten regions of each image keeps ten for each. */
static void test_variants(void)
{
    const struct import_options options = {.dim = "height=32,N=2",
                                           .batches = {1, 64},
                                           .batch_count = 2,
                                           .types = {TYPE_BF16},
                                           .type_count = 1,
                                           .has_layout = true,
                                           .layout = LAYOUT_NHWC};
    g_autoptr(GBytes) bytes = detector("detector", FLOAT);
    g_autoptr(GError) error = NULL;
    g_autoptr(Import) import = import_bytes_with(&options, "x.onnx", bytes, &error);
    g_assert_no_error(error);
    g_autofree char *text = layers_text(import);
    g_assert_cmpstr(text, ==,
                    "n_a 3-32-32-3x3-8-32-32-1-1x1-1x1-1x1-0-NHWC-NHWC-NHWC-BF16-F\n"
                    "n_a 3-32-32-3x3-8-32-32-64-1x1-1x1-1x1-0-NHWC-NHWC-NHWC-BF16-F\n"
                    "n_b 8-32-32-1x1-8-32-32-1-0x0-1x1-1x1-0-NHWC-NHWC-NHWC-BF16-F\n"
                    "n_b 8-32-32-1x1-8-32-32-64-0x0-1x1-1x1-0-NHWC-NHWC-NHWC-BF16-F\n"
                    "n_d 8-7-7-1x1-8-7-7-5-0x0-1x1-1x1-0-NHWC-NHWC-NHWC-BF16-F\n"
                    "n_d 8-7-7-1x1-8-7-7-320-0x0-1x1-1x1-0-NHWC-NHWC-NHWC-BF16-F");
}

/* The first size of an image without a batch is its channels. */
static void test_no_batch(void)
{
    const struct import_options options = {.batches = {64}, .batch_count = 1};
    struct onnx_writer writer;
    onnx_writer_init(&writer, "single");
    onnx_write_input(&writer, "x", FLOAT, "3,8,8");
    onnx_write_tensor(&writer, "w", FLOAT, "8,3,3,3", NULL, 0);
    onnx_write_node(&writer, "Unsqueeze", "x", "u", "axes=[0]");
    onnx_write_node(&writer, "Conv", "u w", "y", "");
    onnx_write_output(&writer, "y");
    g_autoptr(GBytes) bytes = onnx_writer_finish(&writer, 11, NULL);
    g_autoptr(Import) import = import_bytes_with(&options, "x.onnx", bytes, NULL);
    g_autofree char *text = layers_text(import);
    g_assert_cmpstr(text, ==, "n_y 3-8-8-3x3-8-6-6-64-0x0-1x1-1x1-0-NCHW-FP32-F");
}

static void test_names(void)
{
    static const struct {
        const char *graph, *file, *option, *name;
    } rows[] = {
        {"resnet50", "x.onnx", NULL, "resnet50"},
        {"torch_jit", "lists/yolo.v3.onnx", NULL, "yolo.v3"},
        {"main_graph", "yolo.onnx.gz", NULL, "yolo"},
        {"", "yolo.onnx", NULL, "yolo"},
        {"resnet50", "x.onnx", "mine", "mine"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        const struct import_options options = {.dim = "height=32", .network = rows[i].option};
        g_autoptr(GBytes) bytes = detector(rows[i].graph, FLOAT16);
        g_autoptr(Import) import = import_bytes_with(&options, rows[i].file, bytes, NULL);
        const struct import_network *network = import->networks->pdata[0];
        g_assert_cmpstr(network->name, ==, rows[i].name);
        g_assert_cmpint(problem_list_get(import->problems, 0)->problem.type[TENSOR_X], ==,
                        TYPE_FP16);
    }
}

static void test_directions(void)
{
    const struct import_options options = {.directions = DIRECTIONS_ALL};
    struct onnx_writer writer;
    onnx_writer_init(&writer, "up");
    onnx_write_input(&writer, "x", FLOAT, "1,8,7,7");
    onnx_write_tensor(&writer, "w", FLOAT, "8,3,2,2", NULL, 0);
    onnx_write_node(&writer, "ConvTranspose", "x w", "y", "strides=[2,2]");
    onnx_write_output(&writer, "y");
    g_autoptr(GBytes) bytes = onnx_writer_finish(&writer, 11, NULL);
    g_autoptr(Import) import = import_bytes_with(&options, "x.onnx", bytes, NULL);
    g_autofree char *text = layers_text(import);
    /* what the layer runs is the mirrored convolution's backward data */
    g_assert_cmpstr(text, ==,
                    "n_y 8-7-7-2x2-3-14-14-1-0x0-2x2-1x1-0-NCHW-FP32-B\n"
                    "n_y 3-14-14-2x2-8-7-7-1-0x0-2x2-1x1-0-NCHW-FP32-F\n"
                    "n_y 8-7-7-2x2-3-14-14-1-0x0-2x2-1x1-0-NCHW-FP32-W");
}

static void test_integers(void)
{
    static const guint8 zeros[8];
    const struct import_options options = {0}, backward = {.directions = 1 << DIRECTION_B};
    struct onnx_writer writer;
    onnx_writer_init(&writer, "quantised");
    onnx_write_input(&writer, "x", UINT8, "1,3,8,8");
    onnx_write_tensor(&writer, "w", UINT8, "8,3,3,3", NULL, 0);
    onnx_write_tensor(&writer, "s", FLOAT, "", zeros, 4);
    onnx_write_tensor(&writer, "z", UINT8, "", zeros, 1);
    onnx_write_node(&writer, "QLinearConv", "x s z w s z s z", "y", "");
    onnx_write_output(&writer, "y");
    g_autoptr(GBytes) bytes = onnx_writer_finish(&writer, 13, NULL);
    g_autoptr(Import) import = import_bytes_with(&options, "x.onnx", bytes, NULL);
    g_autofree char *text = layers_text(import);
    g_assert_cmpstr(text, ==, "n_y 3-8-8-3x3-8-6-6-1-0x0-1x1-1x1-0-NCHW-INT8INT8INT32-F");
    g_assert_true(
        has_note(import, "*1 convolution of 8-bit integers is INT8 with INT32 sums, unsigned*"));
    g_autoptr(Import) none = import_bytes_with(&backward, "x.onnx", bytes, NULL);
    g_assert_cmpint(none->skipped->len, ==, 1);
}

static void test_files(void)
{
    const struct import_options options = {.dim = "height=32"};
    g_autoptr(TempFolder) folder = temp_folder_new();
    g_autoptr(GBytes) bytes = detector("detector", FLOAT);
    gsize length;
    const void *data = g_bytes_get_data(bytes, &length);
    const char *paths[] = {
        temp_folder_write(folder, "model.onnx", data, (gssize)length),
        temp_folder_write(folder, "model", data, (gssize)length),
        temp_folder_write_bzip2(folder, "packed.onnx.bz2", data, length),
    };
    for (size_t i = 0; i < G_N_ELEMENTS(paths); i++) {
        g_autoptr(GError) error = NULL;
        g_autoptr(Import) import = import_new(&options);
        g_assert_true(import_file(import, paths[i], &error));
        g_assert_no_error(error);
        g_assert_cmpint(import->convolutions, ==, 3);
    }
}

static void test_errors(void)
{
    static const struct {
        const char *dim, *reason;
        int code;
    } rows[] = {
        {"width=32", "--dim width: the model 'x.onnx' has no open dimension of this name",
         EXPORT_ERROR_USAGE},
        {"height", "--dim takes NAME=SIZE*", EXPORT_ERROR_USAGE},
        {"", "--dim needs a value*", EXPORT_ERROR_USAGE},
    };
    g_autoptr(GBytes) bytes = detector("detector", FLOAT);
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        const struct import_options options = {.dim = rows[i].dim};
        g_autoptr(GError) error = NULL;
        g_assert_null(import_bytes_with(&options, "x.onnx", bytes, &error));
        g_assert_error(error, EXPORT_ERROR, rows[i].code);
        g_assert_true(g_pattern_match_simple(rows[i].reason, error->message));
    }
    struct onnx_writer writer;
    const struct import_options options = {0};
    g_autoptr(GError) error = NULL;
    onnx_writer_init(&writer, "wrong");
    onnx_write_input(&writer, "x", FLOAT, "1,3,8,8");
    onnx_write_tensor(&writer, "w", FLOAT, "8,3,3,3", NULL, 0);
    onnx_write_node(&writer, "Conv", "x w", "y", "pads=[1,1,1,1,1]");
    onnx_write_output(&writer, "y");
    g_autoptr(GBytes) wrong = onnx_writer_finish(&writer, 11, NULL);
    g_assert_null(import_bytes_with(&options, "x.onnx", wrong, &error));
    g_assert_error(error, EXPORT_ERROR, EXPORT_ERROR_DAMAGED);
    g_assert_cmpstr(error->message, ==,
                    "cannot read problems from 'x.onnx': node 'n_y' (Conv): pads has 5 numbers and "
                    "should have 4");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/import_onnx/layers_come_in_the_models_order", test_layers);
    g_test_add_func("/import_onnx/batch_type_and_layout_make_variants", test_variants);
    g_test_add_func("/import_onnx/images_without_a_batch_get_one", test_no_batch);
    g_test_add_func("/import_onnx/networks_are_named_by_what_the_file_says", test_names);
    g_test_add_func("/import_onnx/transposed_layers_turn_directions_around", test_directions);
    g_test_add_func("/import_onnx/integers_are_int8", test_integers);
    g_test_add_func("/import_onnx/any_file_that_holds_a_model_is_read", test_files);
    g_test_add_func("/import_onnx/errors_name_option_or_node", test_errors);
    return g_test_run();
}
