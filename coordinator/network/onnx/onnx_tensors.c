#include "coordinator/network/onnx/onnx_reader.h"

#include "coordinator/network/onnx/infer.h"
#include "export/formats/export_error.h"

/* The shape of a tensor of the file. Returns false with NETWORK_ERROR_UNSUPPORTED for tensors that graphs do not have. */
static bool tensor_shape(const Onnx__TensorProto *tensor, struct shape *shape, GError **error)
{
    enum element_type type = onnx_element_type(tensor->data_type);
    if (type == ELEMENT_NONE) {
        return infer_unsupported(error, "a tensor of the type %s",
                                 onnx_type_name(tensor->data_type));
    }
    if (tensor->n_dims > SHAPE_MAX_RANK) {
        return infer_unsupported(error, "a tensor with %zu axes", tensor->n_dims);
    }
    return shape_set_packed(shape, type, (int)tensor->n_dims, tensor->dims, error);
}

struct tensor *onnx_read_tensor(struct reader *reader, const Onnx__TensorProto *tensor,
                                GError **error)
{
    struct shape shape;
    int64_t elements;
    g_autoptr(GError) wrong = NULL;
    if (!onnx_tensor_elements(tensor, &elements, error) || !tensor_shape(tensor, &shape, error)) {
        return NULL;
    }
    bool wanted = !reader->options->without_weights || elements <= FOLD_ELEMENTS_MAX;
    bool left_out = elements > 0 && !onnx_tensor_has_data(tensor);
    g_autoptr(GBytes) data =
        wanted && !left_out ? onnx_file_tensor_data(reader->file, tensor, &wrong) : NULL;
    if (wrong != NULL && !g_error_matches(wrong, EXPORT_ERROR, EXPORT_ERROR_IO)) {
        g_propagate_error(error, g_steal_pointer(&wrong));
        return NULL;
    }
    if (wrong != NULL && reader->unread++ == 0) {
        onnx_note(reader, "%s: its contents are taken as unknown", wrong->message);
    }
    return tensor_new(&shape, data, error);
}

struct value *onnx_add_tensor(struct reader *reader, const char *name,
                              const Onnx__TensorProto *tensor, GError **error)
{
    g_autoptr(GError) wrong = NULL;
    g_autoptr(Tensor) read = onnx_read_tensor(reader, tensor, &wrong);
    if (read != NULL) {
        return graph_add_constant(reader->graph, name, read);
    }
    if (g_error_matches(wrong, NETWORK_ERROR, NETWORK_ERROR_UNSUPPORTED)) {
        return onnx_add_unknown(reader, name, "tensor", wrong->message);
    }
    if (g_error_matches(wrong, EXPORT_ERROR, EXPORT_ERROR_KIND)) {
        return onnx_add_unknown(reader, name, "tensor", wrong->message);
    }
    onnx_fail(reader, error, "%s", wrong->message);
    return NULL;
}

bool onnx_add_initializers(struct reader *reader, const Onnx__GraphProto *from,
                           const struct scope *scope, GError **error)
{
    for (size_t i = 0; i < from->n_initializer; i++) {
        const Onnx__TensorProto *tensor = from->initializer[i];
        const char *name = onnx_text_or(tensor->name, NULL);
        if (name == NULL || g_hash_table_contains(scope->values, name)) {
            return onnx_fail(reader, error, "tensor %zu %s%s", i,
                             name == NULL ? "has no name" : "has the name of another one, ",
                             name == NULL ? "" : name);
        }
        struct value *value = onnx_add_tensor(reader, name, tensor, error);
        if (value == NULL) {
            return false;
        }
        onnx_name_value(scope, name, value);
    }
    for (size_t i = 0; i < from->n_sparse_initializer; i++) {
        const Onnx__SparseTensorProto *sparse = from->sparse_initializer[i];
        const char *name = sparse->values != NULL ? onnx_text_or(sparse->values->name, NULL) : NULL;
        struct shape shape;
        g_autoptr(GError) wrong = NULL;
        if (name == NULL || g_hash_table_contains(scope->values, name)) {
            return onnx_fail(reader, error, "sparse tensor %zu has no name, or that of another one",
                             i);
        }
        if (sparse->n_dims > SHAPE_MAX_RANK ||
            onnx_element_type(sparse->values->data_type) == ELEMENT_NONE ||
            !shape_set_packed(&shape, onnx_element_type(sparse->values->data_type),
                              (int)sparse->n_dims, sparse->dims, &wrong)) {
            return onnx_fail(reader, error, "sparse tensor '%s' has no shape that is read", name);
        }
        g_autoptr(Tensor) tensor = tensor_new(&shape, NULL, NULL);
        onnx_name_value(scope, name, graph_add_constant(reader->graph, name, tensor));
        onnx_note(reader, "the contents of the sparse tensor '%s' are not read", name);
    }
    return true;
}
