#include "coordinator/network/onnx/onnx_reader.h"

#include "export/formats/export_error.h"

#include <string.h>

/* Weights that were taken out of a file: values that no node gives, with a shape that the file states. */
static void add_stated_constants(struct reader *reader, const Onnx__GraphProto *from,
                                 const struct scope *scope)
{
    g_autoptr(GHashTable) given = g_hash_table_new(g_str_hash, g_str_equal);
    for (size_t i = 0; i < from->n_node; i++) {
        for (size_t o = 0; o < from->node[i]->n_output; o++) {
            g_hash_table_add(given, from->node[i]->output[o]);
        }
    }
    for (size_t i = 0; i < from->n_value_info; i++) {
        const char *name = onnx_text_or(from->value_info[i]->name, "");
        struct shape shape;
        if (onnx_find_value(scope, name) == NULL && !g_hash_table_contains(given, name) &&
            onnx_read_shape(reader, from->value_info[i], false, &shape, NULL)) {
            g_autoptr(Tensor) tensor = tensor_new(&shape, NULL, NULL);
            onnx_name_value(scope, name, graph_add_constant(reader->graph, name, tensor));
        }
    }
}

static bool add_outputs(struct reader *reader, const Onnx__GraphProto *from,
                        const struct scope *scope, GError **error)
{
    for (size_t i = 0; i < from->n_output; i++) {
        const char *name = onnx_text_or(from->output[i]->name, "");
        struct value *value = onnx_find_value(scope, name);
        if (value == NULL) {
            return onnx_fail(reader, error, "nothing gives its output '%s'", name);
        }
        graph_add_output(reader->graph, value);
    }
    return true;
}

static bool read_model(struct reader *reader, GError **error)
{
    const Onnx__GraphProto *from = onnx_file_model(reader->file)->graph;
    g_autoptr(GHashTable) names = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    const struct scope scope = {NULL, names};
    if (!onnx_add_initializers(reader, from, &scope, error) ||
        !onnx_add_inputs(reader, from, &scope, error)) {
        return false;
    }
    add_stated_constants(reader, from, &scope);
    if (!onnx_read_nodes(reader, from, &scope, error) ||
        !add_outputs(reader, from, &scope, error)) {
        return false;
    }
    if (reader->unread > 1) {
        onnx_note(reader,
                  "the contents of %d tensors are unknown, since their files cannot be read",
                  reader->unread);
    }
    graph_propagate(reader->graph);
    int padded = onnx_settle_padding(reader->graph);
    if (padded > 0) {
        onnx_note(
            reader,
            "%d convolution%s padded unevenly: each is a problem over the padded input, with a Pad "
            "step before it",
            padded, padded == 1 ? " is" : "s are");
    }
    return true;
}

Graph *onnx_read_graph(const OnnxFile *file, const struct onnx_options *options,
                       struct onnx_notes *notes, GError **error)
{
    g_autofree char *name = NULL;
    const char *given = onnx_file_model(file)->graph->name;
    if (given != NULL) {
        name = g_utf8_make_valid(given, -1);
    }
    g_autoptr(Graph) graph = graph_new(name);
    g_autoptr(GHashTable) batch_names =
        g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    struct reader reader = {.file = file,
                            .options = options,
                            .notes = notes,
                            .graph = graph,
                            .opset = onnx_file_opset(file, ""),
                            .batch_names = batch_names};
    return read_model(&reader, error) ? g_steal_pointer(&graph) : NULL;
}

bool onnx_dim_parse(char *word, struct onnx_options *options, GError **error)
{
    char *equals = strrchr(word, '=');
    int64_t size = 0;
    if (options->dim_count == ONNX_DIMS_MAX) {
        g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_USAGE, "--dim can be given %d times",
                    ONNX_DIMS_MAX);
        return false;
    }
    if (equals == NULL || equals == word ||
        (strcmp(equals + 1, "batch") != 0 &&
         !g_ascii_string_to_signed(equals + 1, 10, 1, INT32_MAX, &size, NULL))) {
        g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_USAGE,
                    "--dim takes NAME=SIZE or NAME=batch, such as --dim height=224, not '%s'",
                    word);
        return false;
    }
    *equals = '\0';
    for (int i = 0; i < options->dim_count; i++) {
        if (strcmp(options->dims[i].name, word) == 0) {
            g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_USAGE, "--dim names '%s' twice", word);
            *equals = '=';
            return false;
        }
    }
    options->dims[options->dim_count++] = (struct onnx_dim){word, size};
    return true;
}
