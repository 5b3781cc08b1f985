#include "tests/support/network/network_text.h"

#include "coordinator/network/host/host_eval.h"
#include "coordinator/network/onnx/onnx_read.h"
#include "tests/support/export/real_data.h"
#include "tests/support/onnx/onnx_writer.h"

#include <stdlib.h>
#include <string.h>

static Graph *read_model(const char *name, const void *data, gsize length)
{
    static const struct onnx_options options = {.batch = 1};
    g_autoptr(GError) error = NULL;
    g_autoptr(OnnxFile) file = onnx_file_new(name, NULL, data, length, &error);
    g_assert_no_error(error);
    Graph *graph = onnx_read_graph(file, &options, NULL, &error);
    g_assert_no_error(error);
    return graph;
}

static int64_t elements_of(const char *dims)
{
    g_auto(GStrv) words = g_strsplit(dims, ",", -1);
    int64_t count = 1;
    for (int i = 0; words[i] != NULL; i++) {
        count *= strtoll(words[i], NULL, 10);
    }
    return count;
}

/* Lists of floats and of bytes, by their numbers. */
static void write_list(struct onnx_writer *writer, const char *kind, const char *name,
                       const char *text)
{
    g_auto(GStrv) words = g_strsplit(text, ",", -1);
    guint count = g_strv_length(words);
    g_autofree float *floats = g_new(float, count);
    g_autofree gint8 *bytes = g_new(gint8, count);
    g_autofree char *dims = strcmp(kind, "number") == 0 || strcmp(kind, "int8") == 0
                                ? g_strdup("")
                                : g_strdup_printf("%u", count);
    for (guint i = 0; i < count; i++) {
        floats[i] = (float)g_ascii_strtod(words[i], NULL);
        bytes[i] = (gint8)floats[i];
    }
    if (strcmp(kind, "int8") == 0) {
        onnx_write_tensor(writer, name, 3, dims, bytes, count);
    } else {
        onnx_write_tensor(writer, name, 1, dims, floats, count * sizeof floats[0]);
    }
}

static void write_weight(struct onnx_writer *writer, const char *name, const char *dims,
                         bool is_scale)
{
    int64_t count = elements_of(dims);
    g_autofree float *values = samples_random(g_str_hash(name), count);
    for (int64_t i = 0; i < count && is_scale; i++) {
        values[i] = 1 + values[i] / 2;
    }
    onnx_write_tensor(writer, name, 1, dims, values, (gsize)count * sizeof values[0]);
}

static void write_node(struct onnx_writer *writer, const char *line)
{
    g_auto(GStrv) sides = g_strsplit(line, " = ", 2);
    g_auto(GStrv) left = g_strsplit(sides[0], " ", 2);
    g_assert_nonnull(sides[1]);
    /* Names of outputs come before the first attribute. */
    const char *attribute = strchr(sides[1], '=');
    const char *end = attribute;
    while (end != NULL && end > sides[1] && *end != ' ') {
        end--;
    }
    g_autofree char *outputs =
        end != NULL ? g_strndup(sides[1], (gsize)(end - sides[1])) : g_strdup(sides[1]);
    onnx_write_node(writer, left[0], left[1], outputs, end != NULL ? end + 1 : "");
}

Graph *network_of(const char *const *lines)
{
    struct onnx_writer writer;
    onnx_writer_init(&writer, "small");
    for (; *lines != NULL; lines++) {
        g_auto(GStrv) words = g_strsplit(*lines, " ", 3);
        if (strcmp(words[0], "input") == 0) {
            onnx_write_input(&writer, words[1], 1, words[2]);
        } else if (strcmp(words[0], "output") == 0) {
            onnx_write_output(&writer, words[1]);
        } else if (strcmp(words[0], "weight") == 0 || strcmp(words[0], "scale") == 0) {
            write_weight(&writer, words[1], words[2], words[0][0] == 's');
        } else if (strcmp(words[0], "ints") == 0) {
            onnx_write_ints(&writer, words[1], words[2]);
        } else if (g_ascii_islower(words[0][0]) && strchr(words[0], '.') == NULL) {
            write_list(&writer, words[0], words[1], words[2]);
        } else {
            write_node(&writer, *lines);
        }
    }
    g_autoptr(GBytes) bytes = onnx_writer_finish(&writer, 17, NULL);
    gsize length;
    const void *data = g_bytes_get_data(bytes, &length);
    return read_model("small", data, length);
}

Graph *network_of_model(const char *file)
{
    g_autofree char *folder = real_data("onnx");
    g_autofree char *bytes = NULL;
    g_autoptr(GError) error = NULL;
    gsize length;
    if (folder == NULL) {
        return NULL;
    }
    g_autofree char *path = g_build_filename(folder, file, NULL);
    g_file_get_contents(path, &bytes, &length, &error);
    g_assert_no_error(error);
    return read_model(file, bytes, length);
}

void networks_compare(struct graph *got, struct graph *right, struct samples_distance *distance)
{
    g_autoptr(GError) error = NULL;
    g_autofree float *a = NULL, *b = NULL;
    int64_t inputs = 0, a_count, b_count;
    for (guint i = 0; i < right->inputs->len; i++) {
        inputs += shape_elements(&((struct value *)right->inputs->pdata[i])->shape);
    }
    g_autofree float *samples = samples_random(5, inputs);
    host_evaluate_samples(right, samples, inputs, NULL, &b, &b_count, &error);
    g_assert_no_error(error);
    host_evaluate_samples(got, samples, inputs, NULL, &a, &a_count, &error);
    g_assert_no_error(error);
    g_assert_cmpint(a_count, ==, b_count);
    samples_compare(a, b, a_count, 1, distance);
    g_assert_true(distance->is_finite);
}
