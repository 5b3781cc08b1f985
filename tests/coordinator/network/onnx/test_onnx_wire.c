#include "coordinator/network/onnx/onnx_wire.h"

#include "coordinator/network/onnx/onnx_read.h"
#include "export/formats/export_error.h"
#include "tests/support/export/real_data.h"
#include "tests/support/onnx/onnx_writer.h"

#include <string.h>

#define MEMORY ((size_t)64 << 20)

static GBytes *small_model(void)
{
    static const float numbers[216];
    struct onnx_writer writer;
    onnx_writer_init(&writer, "small");
    onnx_write_input(&writer, "x", 1, "N,3,8,8");
    onnx_write_tensor(&writer, "w", 1, "8,3,3,3", numbers, sizeof numbers);
    onnx_write_ints(&writer, "dims", "0,-1");
    onnx_write_floats(&writer, "six", "6");
    onnx_write_node(&writer, "Conv", "x w", "y", "pads=[1,1,1,1] strides=[2,2] group=1");
    onnx_write_node(&writer, "Clip", "y - six", "z", "");
    onnx_write_node(&writer, "Reshape", "z dims", "u", "");
    onnx_write_output(&writer, "u");
    return onnx_writer_finish(&writer, 13, "pytorch 2.1");
}

static bool check(const void *bytes, size_t length, GError **error)
{
    return onnx_wire_check(&onnx__model_proto__descriptor, bytes, length, MEMORY, error);
}

/* A model that ends too early is refused with the place, or it ended between two fields and is then read as far as that
 * goes. */
static void cut_everywhere(const guint8 *bytes, size_t length, size_t step)
{
    static const struct onnx_options options = {.without_weights = true};
    for (size_t cut = 0; cut < length; cut += step) {
        g_autoptr(GError) error = NULL;
        g_autofree guint8 *part =
            g_memdup2(bytes, MAX(cut, 1)); /* so that sanitizers see its end */
        bool fine = check(part, cut, &error);
        g_assert_true(fine == (error == NULL));
        g_clear_error(&error);
        g_autoptr(OnnxFile) file = onnx_file_new("cut", NULL, part, cut, &error);
        g_autoptr(Graph) graph =
            file != NULL ? onnx_read_graph(file, &options, NULL, &error) : NULL;
        g_assert_true((graph != NULL) == (error == NULL));
        g_assert_true(error == NULL || error->domain == EXPORT_ERROR);
    }
}

static void test_truncations(void)
{
    g_autoptr(GBytes) model = small_model();
    gsize length;
    const guint8 *bytes = g_bytes_get_data(model, &length);
    cut_everywhere(bytes, length, 1);
}

static void test_truncated_files(void)
{
    static const char *const names[] = {"conv_bn_relu_maxpool_test.onnx",
                                        "qlinearconv_pad_1_test.onnx", "light_bvlc_alexnet.onnx"};
    g_autofree char *folder = real_data("onnx");
    for (size_t i = 0; folder != NULL && i < G_N_ELEMENTS(names); i++) {
        g_autofree char *path = g_build_filename(folder, names[i], NULL);
        g_autofree char *bytes = NULL;
        gsize length;
        g_assert_true(g_file_get_contents(path, &bytes, &length, NULL));
        cut_everywhere((const guint8 *)bytes, length, length > 1000 ? 7 : 1);
    }
}

/* Each byte of a model is changed to several others. */
static void test_changes(void)
{
    static const guint8 others[] = {0, 1, 0x7f, 0x80, 0xff};
    static const struct onnx_options options;
    g_autoptr(GBytes) model = small_model();
    gsize length;
    const guint8 *bytes = g_bytes_get_data(model, &length);
    for (size_t at = 0; at < length; at++) {
        for (size_t i = 0; i < G_N_ELEMENTS(others); i++) {
            g_autoptr(GError) error = NULL;
            g_autofree guint8 *changed = g_memdup2(bytes, length);
            changed[at] = others[i];
            g_autoptr(OnnxFile) file = onnx_file_new("changed", NULL, changed, length, &error);
            g_autoptr(Graph) graph =
                file != NULL ? onnx_read_graph(file, &options, NULL, &error) : NULL;
            g_assert_true((graph != NULL) == (error == NULL));
        }
    }
}

static void test_damage(void)
{
    static const struct {
        const char *bytes;
        size_t length;
        const char *reason;
    } rows[] = {
        {"\x0f", 1, "at byte 0, in ir_version: a value of the form 7 cannot be one of this field"},
        {"\x0a\x01z", 3,
         "at byte 0, in ir_version: a value of the form 2 cannot be one of this field"},
        {"\x12\x05"
         "abc",
         5, "at byte 1, in producer_name: it should have 5 bytes and 3 are left*"},
        {"\x12\x03"
         "a\0c",
         5, "at byte 2, in producer_name: a text has a zero byte"},
        {"\x08", 1, "at byte 1, in ir_version: a number does not end"},
        {"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 12,
         "*in ir_version: a number does not end"},
        {"\x3a\x00\x3a\x00", 4, "at byte 2, in graph: it comes twice*"},
        {"\x3a\x04\x0a\x02\x0a\x05", 6,
         "at byte 5, in graph.node[[]0[]].input*it should have 5 bytes*"},
        {"\x00\x01", 2, "at byte 0: a field has the number 0"},
        {"\x3a\x07\x2a\x05\x22\x03"
         "abc",
         9, "*float_data*3 bytes are no whole number of values of 4"},
        {"\x3a\x05\x2a\x03\x3a\x01\x80", 7, "*int64_data*a number of the list does not end"},
        {"\xf5\x06\x01", 3, "at byte 2: a value should have 4 bytes and 1 are left"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(GError) error = NULL;
        g_assert_false(check(rows[i].bytes, rows[i].length, &error));
        g_assert_error(error, EXPORT_ERROR, EXPORT_ERROR_DAMAGED);
        g_autofree char *plain = g_strdelimit(g_strdup(error->message), "[]", '*');
        g_autofree char *pattern = g_strdelimit(g_strdup(rows[i].reason), "[]", '*');
        if (!g_pattern_match_simple(pattern, plain)) {
            g_assert_cmpstr(error->message, ==, rows[i].reason);
        }
    }
}

/* A field of a message that holds the same kind of message, again and again. */
static void test_depth(void)
{
    GByteArray *inner = g_byte_array_new();
    for (int i = 0; i < 40; i++) { /* graph in attribute in node, each time */
        static const guint8 tags[] = {6 << 3 | 2, 5 << 3 | 2, 1 << 3 | 2};
        for (size_t t = 0; t < G_N_ELEMENTS(tags); t++) {
            GByteArray *outer = g_byte_array_new();
            guint8 head[] = {tags[t], (guint8)(inner->len & 0x7f) | 0x80,
                             (guint8)(inner->len >> 7)};
            g_byte_array_append(outer, head, sizeof head);
            g_byte_array_append(outer, inner->data, inner->len);
            g_byte_array_unref(inner);
            inner = outer;
        }
    }
    guint8 head[] = {7 << 3 | 2, (guint8)(inner->len & 0x7f) | 0x80, (guint8)(inner->len >> 7)};
    g_byte_array_prepend(inner, head, sizeof head);
    g_autoptr(GError) error = NULL;
    g_assert_false(check(inner->data, inner->len, &error));
    g_assert_nonnull(strstr(error->message, "more than 100 messages are nested"));
    g_byte_array_unref(inner);
}

/* Two bytes make an empty node of more than a hundred bytes in memory. */
static void test_memory(void)
{
    const size_t count = (size_t)1 << 20;
    g_autofree guint8 *bytes = g_malloc(5 + 2 * count);
    const guint8 head[] = {7 << 3 | 2, 0x80, 0x80, 0x80, 1};
    memcpy(bytes, head, sizeof head);
    for (size_t i = 0; i < count; i++) {
        bytes[5 + 2 * i] = 1 << 3 | 2;
        bytes[6 + 2 * i] = 0;
    }
    g_autoptr(GError) error = NULL;
    g_assert_null(onnx_file_new("bomb", NULL, bytes, 5 + 2 * count, &error));
    g_assert_error(error, EXPORT_ERROR, EXPORT_ERROR_DAMAGED);
    g_assert_nonnull(strstr(error->message, "MiB of memory"));
}

static void test_recognised(void)
{
    g_autoptr(GBytes) model = small_model();
    gsize length;
    const guint8 *bytes = g_bytes_get_data(model, &length);
    static const char *const texts[] = {"",
                                        "./bin/MIOpenDriver conv -n 1",
                                        "n,c,h,w\n1,2,3,4\n",
                                        "\x08",
                                        "BZh9",
                                        "PK\3\4",
                                        "\x08\x09\x0a\x01"};
    g_assert_true(onnx_wire_is_model(bytes, length));
    g_assert_true(onnx_wire_is_model(bytes, 20));
    for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
        g_assert_false(onnx_wire_is_model((const guint8 *)texts[i], strlen(texts[i])));
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/onnx_wire/every_truncation_is_survived", test_truncations);
    g_test_add_func("/onnx_wire/truncated_files_are_survived", test_truncated_files);
    g_test_add_func("/onnx_wire/every_changed_byte_is_survived", test_changes);
    g_test_add_func("/onnx_wire/damage_is_named_with_its_place", test_damage);
    g_test_add_func("/onnx_wire/nesting_is_bounded", test_depth);
    g_test_add_func("/onnx_wire/memory_is_bounded", test_memory);
    g_test_add_func("/onnx_wire/models_are_recognised", test_recognised);
    return g_test_run();
}
