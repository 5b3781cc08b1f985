#include "coordinator/network/onnx/onnx_reader.h"

#include "coordinator/network/onnx/infer.h"

#include <string.h>

enum {
    TYPE_NUMBER_UNDEFINED,
    TYPE_NUMBER_FLOAT,
    TYPE_NUMBER_INT,
    TYPE_NUMBER_STRING,
    TYPE_NUMBER_TENSOR,
    TYPE_NUMBER_GRAPH,
    TYPE_NUMBER_FLOATS,
    TYPE_NUMBER_INTS,
    TYPE_NUMBER_STRINGS,
};

/* The kind of an attribute; the first versions of the format do not say it. */
static int attribute_type(const Onnx__AttributeProto *attribute)
{
    if (attribute->has_type && attribute->type != TYPE_NUMBER_UNDEFINED) {
        return attribute->type;
    }
    return attribute->n_ints > 0      ? TYPE_NUMBER_INTS
           : attribute->n_floats > 0  ? TYPE_NUMBER_FLOATS
           : attribute->n_strings > 0 ? TYPE_NUMBER_STRINGS
           : attribute->t != NULL     ? TYPE_NUMBER_TENSOR
           : attribute->g != NULL     ? TYPE_NUMBER_GRAPH
           : attribute->has_s         ? TYPE_NUMBER_STRING
           : attribute->has_f         ? TYPE_NUMBER_FLOAT
           : attribute->has_i         ? TYPE_NUMBER_INT
                                      : TYPE_NUMBER_INTS;
}

static char *bytes_text(const ProtobufCBinaryData *bytes)
{
    g_autofree char *text =
        g_strndup(bytes->data != NULL ? (const char *)bytes->data : "", bytes->len);
    return g_utf8_make_valid(text, -1);
}

static bool set_attribute(struct reader *reader, Attributes *attributes,
                          const Onnx__AttributeProto *from, GError **error)
{
    const char *name = from->name;
    switch (attribute_type(from)) {
    case TYPE_NUMBER_FLOAT: attributes_set_float(attributes, name, (double)from->f); return true;
    case TYPE_NUMBER_INT: attributes_set_int(attributes, name, from->i); return true;
    case TYPE_NUMBER_STRING: {
        g_autofree char *text = bytes_text(&from->s);
        attributes_set_string(attributes, name, text);
        return true;
    }
    case TYPE_NUMBER_INTS:
        attributes_set_ints(attributes, name, from->ints, (int)from->n_ints);
        return true;
    case TYPE_NUMBER_FLOATS: {
        g_autofree double *floats = g_new(double, MAX(from->n_floats, 1));
        for (size_t i = 0; i < from->n_floats; i++) {
            floats[i] = (double)from->floats[i];
        }
        attributes_set_floats(attributes, name, floats, (int)from->n_floats);
        return true;
    }
    case TYPE_NUMBER_STRINGS: {
        g_autoptr(GPtrArray) texts = g_ptr_array_new_with_free_func(g_free);
        for (size_t i = 0; i < from->n_strings; i++) {
            g_ptr_array_add(texts, bytes_text(&from->strings[i]));
        }
        attributes_set_strings(attributes, name, (const char *const *)texts->pdata,
                               (int)texts->len);
        return true;
    }
    case TYPE_NUMBER_TENSOR: {
        g_autoptr(GError) wrong = NULL;
        if (from->t == NULL) {
            return infer_invalid(error, "its attribute %s has no tensor", name);
        }
        g_autoptr(Tensor) tensor = onnx_read_tensor(reader, from->t, &wrong);
        if (tensor != NULL) {
            attributes_set_tensor(attributes, name, tensor);
        } else {
            return infer_invalid(error, "its attribute %s: %s", name, wrong->message);
        }
        return true;
    }
    default: return true; /* graphs are read by If; no operator with a row has the others */
    }
}

Attributes *onnx_read_attributes(struct reader *reader, const Onnx__NodeProto *node, GError **error)
{
    g_autoptr(Attributes) attributes = attributes_new();
    for (size_t i = 0; i < node->n_attribute; i++) {
        const Onnx__AttributeProto *attribute = node->attribute[i];
        if (onnx_text_or(attribute->name, NULL) == NULL) {
            return infer_invalid(error, "its attribute %zu has no name", i) ? attributes : NULL;
        }
        if (attributes_find(attributes, attribute->name) != NULL) {
            return infer_invalid(error, "it has the attribute %s twice", attribute->name)
                       ? attributes
                       : NULL;
        }
        if (onnx_text_or(attribute->ref_attr_name, NULL) != NULL) {
            return infer_invalid(error, "its attribute %s is a function's", attribute->name)
                       ? attributes
                       : NULL;
        }
        if (!set_attribute(reader, attributes, attribute, error)) {
            return NULL;
        }
    }
    return g_steal_pointer(&attributes);
}

const Onnx__AttributeProto *onnx_find_attribute(const Onnx__NodeProto *node, const char *name)
{
    for (size_t i = 0; i < node->n_attribute; i++) {
        if (node->attribute[i]->name != NULL && strcmp(node->attribute[i]->name, name) == 0) {
            return node->attribute[i];
        }
    }
    return NULL;
}
