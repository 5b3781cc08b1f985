#include "coordinator/network/onnx/onnx_reader.h"

#include "export/formats/export_error.h"

void onnx_notes_init(struct onnx_notes *notes)
{
    *notes = (struct onnx_notes){.lines = g_ptr_array_new_with_free_func(g_free), .batch = 1};
}

void onnx_notes_clear(struct onnx_notes *notes)
{
    g_clear_pointer(&notes->lines, g_ptr_array_unref);
}

void onnx_note(struct reader *reader, const char *format, ...)
{
    if (reader->notes == NULL) {
        return;
    }
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *text = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    g_ptr_array_add(reader->notes->lines, g_utf8_make_valid(text, -1));
}

bool onnx_fail(const struct reader *reader, GError **error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *text = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    g_autofree char *why = g_utf8_make_valid(text, -1);
    g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_DAMAGED, "cannot read the ONNX model '%s': %s",
                onnx_file_name(reader->file), why);
    return false;
}

const char *onnx_text_or(const char *text, const char *other)
{
    return text != NULL && text[0] != '\0' ? text : other;
}

const char *onnx_draft_name(const Onnx__NodeProto *node)
{
    const char *name = onnx_text_or(node->name, NULL);
    for (size_t i = 0; name == NULL && i < node->n_output; i++) {
        name = onnx_text_or(node->output[i], NULL);
    }
    return name != NULL ? name : "without a name";
}

bool onnx_fail_node(const struct reader *reader, const Onnx__NodeProto *node, GError **error,
                    const char *why)
{
    return onnx_fail(reader, error, "node '%s' (%s): %s", onnx_draft_name(node),
                     onnx_text_or(node->op_type, "?"), why);
}

struct value *onnx_find_value(const struct scope *scope, const char *name)
{
    for (; scope != NULL; scope = scope->outer) {
        struct value *value = g_hash_table_lookup(scope->values, name);
        if (value != NULL) {
            return value;
        }
    }
    return NULL;
}

void onnx_name_value(const struct scope *scope, const char *name, struct value *value)
{
    g_hash_table_insert(scope->values, g_strdup(name), value);
}

struct value *onnx_add_unknown(struct reader *reader, const char *name, const char *op,
                               const char *reason)
{
    g_autoptr(Attributes) attributes = attributes_new();
    attributes_set_string(attributes, "op", op);
    attributes_set_string(attributes, "reason", reason);
    struct node_spec spec = {
        .op = &op_unknown, .name = name, .attributes = attributes, .output_count = 1};
    struct node *node = graph_add(reader->graph, &spec, NULL);
    g_assert(node != NULL);
    return node->outputs[0];
}
