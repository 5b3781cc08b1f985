#include "coordinator/network/onnx/onnx_reader.h"

#include "export/formats/export_error.h"

#include <inttypes.h>
#include <string.h>

typedef Onnx__TensorShapeProto__Dimension Dimension;

static bool is_open(const Dimension *dim)
{
    return !dim->has_dim_value || dim->dim_value <= 0;
}

/* "N", or "data:0" for a dimension without a name */
static char *dim_name(const Dimension *dim, const char *input, size_t axis)
{
    const char *name = onnx_text_or(dim->dim_param, NULL);
    return name != NULL ? g_strdup(name) : g_strdup_printf("%s:%zu", input, axis);
}

static int64_t batch_size(const struct reader *reader)
{
    return MAX(reader->options->batch, 1);
}

/* The size that the options give an open dimension; 0: none. */
static int64_t given_size(struct reader *reader, const char *input, size_t axis, const char *name)
{
    g_autofree char *place = g_strdup_printf("%s:%zu", input, axis);
    for (int i = 0; i < reader->options->dim_count; i++) {
        const struct onnx_dim *given = &reader->options->dims[i];
        if (strcmp(given->name, name) == 0 || strcmp(given->name, place) == 0) {
            reader->dims_used[i] = true;
            return given->size > 0 ? given->size : batch_size(reader);
        }
    }
    return 0;
}

static const Onnx__TensorShapeProto *shape_of(const Onnx__ValueInfoProto *info)
{
    return info->type != NULL && info->type->tensor_type != NULL ? info->type->tensor_type->shape
                                                                 : NULL;
}

static void note_batch_name(struct reader *reader, const Onnx__ValueInfoProto *info)
{
    const Onnx__TensorShapeProto *shape = shape_of(info);
    if (shape != NULL && shape->n_dim > 0 && is_open(shape->dim[0])) {
        g_hash_table_add(reader->batch_names,
                         dim_name(shape->dim[0], onnx_text_or(info->name, ""), 0));
    }
}

bool onnx_read_shape(struct reader *reader, const Onnx__ValueInfoProto *info, bool says,
                     struct shape *shape, GError **error)
{
    const Onnx__TensorShapeProto *given = shape_of(info);
    const char *input = onnx_text_or(info->name, "");
    int64_t dims[SHAPE_MAX_RANK];
    if (given == NULL || given->n_dim > SHAPE_MAX_RANK) {
        return false;
    }
    bool known = true;
    for (size_t i = 0; i < given->n_dim; i++) {
        if (!is_open(given->dim[i])) {
            dims[i] = given->dim[i]->dim_value;
            continue;
        }
        if (given->dim[i]->has_dim_value && given->dim[i]->dim_value < -1) {
            return onnx_fail(reader, error, "dimension %zu of '%s' is %" PRId64, i, input,
                             given->dim[i]->dim_value);
        }
        g_autofree char *name = dim_name(given->dim[i], input, i);
        bool batch = g_hash_table_contains(reader->batch_names, name);
        dims[i] = given_size(reader, input, i, name);
        if (dims[i] == 0 && batch) {
            dims[i] = batch_size(reader);
            if (says && i == 0) {
                onnx_note(
                    reader,
                    "dimension '%s' of input '%s' is open: it is taken as the batch (--batch, else 1)",
                    name, input);
            }
        } else if (dims[i] == 0) {
            known = false;
            if (says) {
                onnx_note(reader,
                          "dimension '%s' of input '%s' is open: give its size with --dim %s=SIZE",
                          name, input, name);
            }
        }
    }
    if (!known) {
        return false;
    }
    g_autoptr(GError) wrong = NULL;
    if (!shape_set_packed(shape, onnx_element_type(info->type->tensor_type->elem_type),
                          (int)given->n_dim, dims, &wrong)) {
        return onnx_fail(reader, error, "'%s': %s", input, wrong->message);
    }
    return shape_is_known(shape);
}

/* The batch is the first size of the first input that looks like images, or of the first input if no input does. */
static void note_batch(struct reader *reader)
{
    const struct shape *found = NULL;
    for (guint i = 0; i < reader->graph->inputs->len; i++) {
        const struct value *input = reader->graph->inputs->pdata[i];
        if (!shape_is_known(&input->shape) || input->shape.rank == 0) {
            continue;
        }
        if (found == NULL || (found->rank < 3 && input->shape.rank >= 3)) {
            found = &input->shape;
        }
    }
    if (reader->notes != NULL) {
        reader->notes->batch = found != NULL ? MAX(found->dim[0], 1) : 1;
    }
}

bool onnx_add_inputs(struct reader *reader, const Onnx__GraphProto *from, const struct scope *scope,
                     GError **error)
{
    for (size_t i = 0; i < from->n_input; i++) {
        const char *name = onnx_text_or(from->input[i]->name, "");
        if (!g_hash_table_contains(scope->values, name)) {
            note_batch_name(reader, from->input[i]);
        }
    }
    for (size_t i = 0; i < from->n_input; i++) {
        const Onnx__ValueInfoProto *info = from->input[i];
        const char *name = onnx_text_or(info->name, NULL);
        struct shape shape;
        if (name == NULL) {
            return onnx_fail(reader, error, "input %zu has no name", i);
        }
        struct value *known = g_hash_table_lookup(scope->values, name);
        if (known != NULL && known->kind == VALUE_INPUT) {
            return onnx_fail(reader, error, "two inputs have the name '%s'", name);
        }
        if (known != NULL) {
            continue; /* a constant, which older files list among the inputs */
        }
        GError *wrong = NULL;
        bool read = onnx_read_shape(reader, info, true, &shape, &wrong);
        if (wrong != NULL) {
            g_propagate_error(error, wrong);
            return false;
        }
        if (!read && shape_of(info) == NULL) {
            onnx_note(reader, "input '%s' has no shape in the model", name);
        }
        onnx_name_value(scope, name, graph_add_input(reader->graph, name, read ? &shape : NULL));
    }
    for (int i = 0; i < reader->options->dim_count; i++) {
        if (!reader->dims_used[i]) {
            g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_USAGE,
                        "--dim %s: the model '%s' has no open dimension of this name",
                        reader->options->dims[i].name, onnx_file_name(reader->file));
            return false;
        }
    }
    note_batch(reader);
    return true;
}
