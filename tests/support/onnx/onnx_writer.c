#include "tests/support/onnx/onnx_writer.h"

#include <stdbool.h>
#include <string.h>

enum { FLOAT = 1, INT64 = 7 }; /* types of elements */

static void put_varint(GByteArray *bytes, uint64_t value)
{
    do {
        guint8 byte = (guint8)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
        g_byte_array_append(bytes, &byte, 1);
        value >>= 7;
    } while (value > 0);
}

static void put_number(GByteArray *bytes, unsigned field, int64_t value)
{
    put_varint(bytes, field << 3);
    put_varint(bytes, (uint64_t)value);
}

static void put_float(GByteArray *bytes, unsigned field, float value)
{
    put_varint(bytes, field << 3 | 5);
    g_byte_array_append(bytes, (const guint8 *)&value, sizeof value);
}

static void put_bytes(GByteArray *bytes, unsigned field, const void *data, size_t length)
{
    put_varint(bytes, field << 3 | 2);
    put_varint(bytes, length);
    g_byte_array_append(bytes, data, (guint)length);
}

static void put_text(GByteArray *bytes, unsigned field, const char *text)
{
    put_bytes(bytes, field, text, strlen(text));
}

/* Puts a message and frees it. */
static void put_message(GByteArray *bytes, unsigned field, GByteArray *message)
{
    put_bytes(bytes, field, message->data, message->len);
    g_byte_array_unref(message);
}

void onnx_writer_init(struct onnx_writer *writer, const char *name)
{
    writer->graph = g_byte_array_new();
    put_text(writer->graph, 2, name);
}

static GByteArray *value_info(const char *name, int type, const char *dims)
{
    GByteArray *info = g_byte_array_new(), *tensor = g_byte_array_new();
    GByteArray *outer = g_byte_array_new();
    put_text(info, 1, name);
    put_number(tensor, 1, type);
    if (dims != NULL) {
        GByteArray *shape = g_byte_array_new();
        g_auto(GStrv) words = g_strsplit(dims, ",", -1);
        for (int i = 0; words[i] != NULL; i++) {
            GByteArray *dim = g_byte_array_new();
            if (g_ascii_isdigit(words[i][0]) || words[i][0] == '-') {
                put_number(dim, 1, g_ascii_strtoll(words[i], NULL, 10));
            } else if (strcmp(words[i], "?") != 0) {
                put_text(dim, 2, words[i]);
            }
            put_message(shape, 1, dim);
        }
        put_message(tensor, 2, shape);
    }
    put_message(outer, 1, tensor);
    put_message(info, 2, outer);
    return info;
}

void onnx_write_input(struct onnx_writer *writer, const char *name, int type, const char *dims)
{
    put_message(writer->graph, 11, value_info(name, type, dims));
}

void onnx_write_output(struct onnx_writer *writer, const char *name)
{
    put_message(writer->graph, 12, value_info(name, FLOAT, NULL));
}

void onnx_write_stated(struct onnx_writer *writer, const char *name, int type, const char *dims)
{
    put_message(writer->graph, 13, value_info(name, type, dims));
}

static GByteArray *tensor_begin(const char *name, int type, const char *dims)
{
    GByteArray *tensor = g_byte_array_new();
    g_auto(GStrv) words = g_strsplit(dims, ",", -1);
    for (int i = 0; dims[0] != '\0' && words[i] != NULL; i++) {
        put_number(tensor, 1, g_ascii_strtoll(words[i], NULL, 10));
    }
    put_number(tensor, 2, type);
    put_text(tensor, 8, name);
    return tensor;
}

void onnx_write_tensor(struct onnx_writer *writer, const char *name, int type, const char *dims,
                       const void *data, size_t length)
{
    GByteArray *tensor = tensor_begin(name, type, dims);
    if (data != NULL) {
        put_bytes(tensor, 9, data, length);
    }
    put_message(writer->graph, 5, tensor);
}

void onnx_write_ints(struct onnx_writer *writer, const char *name, const char *numbers)
{
    g_auto(GStrv) words = g_strsplit(numbers, ",", -1);
    g_autofree char *count = g_strdup_printf("%u", numbers[0] != '\0' ? g_strv_length(words) : 0);
    GByteArray *tensor = tensor_begin(name, INT64, count), *packed = g_byte_array_new();
    for (int i = 0; numbers[0] != '\0' && words[i] != NULL; i++) {
        put_varint(packed, (uint64_t)g_ascii_strtoll(words[i], NULL, 10));
    }
    put_message(tensor, 7, packed);
    put_message(writer->graph, 5, tensor);
}

void onnx_write_floats(struct onnx_writer *writer, const char *name, const char *numbers)
{
    g_auto(GStrv) words = g_strsplit(numbers, ",", -1);
    g_autofree char *count = g_strdup_printf("%u", g_strv_length(words));
    GByteArray *tensor = tensor_begin(name, FLOAT, count), *packed = g_byte_array_new();
    for (int i = 0; words[i] != NULL; i++) {
        float value = (float)g_ascii_strtod(words[i], NULL);
        g_byte_array_append(packed, (const guint8 *)&value, sizeof value);
    }
    put_message(tensor, 4, packed);
    put_message(writer->graph, 5, tensor);
}

static void put_entry(GByteArray *bytes, unsigned field, const char *key, const char *value)
{
    GByteArray *entry = g_byte_array_new();
    put_text(entry, 1, key);
    put_text(entry, 2, value);
    put_message(bytes, field, entry);
}

void onnx_write_external(struct onnx_writer *writer, const char *name, const char *dims,
                         const char *location, const char *offset, const char *length)
{
    GByteArray *tensor = tensor_begin(name, FLOAT, dims);
    put_entry(tensor, 13, "location", location);
    if (offset != NULL) {
        put_entry(tensor, 13, "offset", offset);
    }
    if (length != NULL) {
        put_entry(tensor, 13, "length", length);
    }
    put_number(tensor, 14, 1);
    put_message(writer->graph, 5, tensor);
}

/* ---- nodes ---- */

static void put_names(GByteArray *node, unsigned field, const char *names)
{
    g_auto(GStrv) words = g_strsplit(names, " ", -1);
    for (int i = 0; names[0] != '\0' && words[i] != NULL; i++) {
        put_text(node, field, strcmp(words[i], "-") == 0 ? "" : words[i]);
    }
}

static GByteArray *attribute(const char *word)
{
    GByteArray *bytes = g_byte_array_new();
    g_auto(GStrv) parts = g_strsplit(word, "=", 2);
    const char *value = parts[1];
    bool list = value[0] == '[' || value[0] == '{', floats = value[0] == '{';
    put_text(bytes, 1, parts[0]);
    if (list) {
        g_autofree char *inside = g_strndup(value + 1, strlen(value) - 2);
        g_auto(GStrv) words = g_strsplit(inside, ",", -1);
        for (int i = 0; inside[0] != '\0' && words[i] != NULL; i++) {
            if (floats) {
                put_float(bytes, 7, (float)g_ascii_strtod(words[i], NULL));
            } else {
                put_number(bytes, 8, g_ascii_strtoll(words[i], NULL, 10));
            }
        }
        put_number(bytes, 20, floats ? 6 : 7);
    } else if (!g_ascii_isdigit(value[0]) && value[0] != '-') {
        put_text(bytes, 4, value);
        put_number(bytes, 20, 3);
    } else if (strchr(value, '.') != NULL) {
        put_float(bytes, 2, (float)g_ascii_strtod(value, NULL));
        put_number(bytes, 20, 1);
    } else {
        put_number(bytes, 3, g_ascii_strtoll(value, NULL, 10));
        put_number(bytes, 20, 2);
    }
    return bytes;
}

static GByteArray *node_begin(const char *op, const char *inputs, const char *outputs)
{
    GByteArray *node = g_byte_array_new();
    const char *colon = strchr(op, ':');
    g_autofree char *first = g_strndup(outputs, strcspn(outputs, " "));
    g_autofree char *name = g_strconcat("n_", first, NULL);
    put_names(node, 1, inputs);
    put_names(node, 2, outputs);
    put_text(node, 3, name);
    put_text(node, 4, colon != NULL ? colon + 1 : op);
    if (colon != NULL) {
        put_bytes(node, 7, op, (size_t)(colon - op));
    }
    return node;
}

void onnx_write_node(struct onnx_writer *writer, const char *op, const char *inputs,
                     const char *outputs, const char *attributes)
{
    GByteArray *node = node_begin(op, inputs, outputs);
    g_auto(GStrv) words = g_strsplit(attributes, " ", -1);
    for (int i = 0; attributes[0] != '\0' && words[i] != NULL; i++) {
        put_message(node, 5, attribute(words[i]));
    }
    put_message(writer->graph, 1, node);
}

static GByteArray *branch(const char *name, struct onnx_writer *writer)
{
    GByteArray *bytes = g_byte_array_new();
    put_text(bytes, 1, name);
    put_number(bytes, 20, 5);
    put_message(bytes, 6, writer->graph);
    writer->graph = NULL;
    return bytes;
}

void onnx_write_if(struct onnx_writer *writer, const char *condition, const char *outputs,
                   struct onnx_writer *then_branch, struct onnx_writer *else_branch)
{
    GByteArray *node = node_begin("If", condition, outputs);
    put_message(node, 5, branch("then_branch", then_branch));
    put_message(node, 5, branch("else_branch", else_branch));
    put_message(writer->graph, 1, node);
}

GBytes *onnx_writer_finish(struct onnx_writer *writer, int opset, const char *producer)
{
    GByteArray *model = g_byte_array_new();
    put_number(model, 1, 8);
    if (producer != NULL) {
        g_auto(GStrv) words = g_strsplit(producer, " ", 2);
        put_text(model, 2, words[0]);
        if (words[1] != NULL) {
            put_text(model, 3, words[1]);
        }
    }
    put_message(model, 7, writer->graph);
    writer->graph = NULL;
    if (opset > 0) {
        GByteArray *set = g_byte_array_new();
        put_text(set, 1, "");
        put_number(set, 2, opset);
        put_message(model, 8, set);
    }
    return g_byte_array_free_to_bytes(model);
}
