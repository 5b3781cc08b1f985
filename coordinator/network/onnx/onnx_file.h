/*
 * An ONNX model as a file holds it: checked, decoded, and with the data of its tensors, which may be in other files
 * beside the model. This reader does not know what operators mean.
 */
#ifndef COORDINATOR_NETWORK_ONNX_ONNX_FILE_H
#define COORDINATOR_NETWORK_ONNX_ONNX_FILE_H

#include "coordinator/network/onnx/onnx_type.h"
#include "onnx.pb-c.h"

/* The opsets that are read: versions of ONNX's own operators. */
#define ONNX_OPSET_MIN 7
#define ONNX_OPSET_MAX 21

/* The most bytes of a model's file: protobuf writes no larger ones. */
#define ONNX_BYTES_MAX    (INT64_C(2) << 30)
/* The most elements of a tensor in the file, and the most axes */
#define ONNX_ELEMENTS_MAX (INT64_C(1) << 40)
#define ONNX_RANK_MAX     16

typedef struct onnx_file OnnxFile;

/* Returns true if `head`, the first bytes of a file, reads as the beginning of an ONNX model. */
bool onnx_file_is_model(const void *head, size_t length);

/* Decodes a model. `name` is the file's, for messages; `folder` is the only one in which data of tensors may be (NULL:
 * nowhere, as for a model from a pipe). The bytes are not used after the call. NULL with EXPORT_ERROR_DAMAGED for bytes
 * that are no model or hold contradictions, and EXPORT_ERROR_KIND for an opset that is not read. */
OnnxFile *onnx_file_new(const char *name, const char *folder, const void *bytes, size_t length,
                        GError **error);
void onnx_file_free(OnnxFile *file);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OnnxFile, onnx_file_free)

const char *onnx_file_name(const OnnxFile *file);
/* The model; it has a graph. Valid as long as the file. */
const Onnx__ModelProto *onnx_file_model(const OnnxFile *file);
/* The version of a domain's operators that the model uses; "" is ONNX's own domain. 0 if the model does not name the
 * domain. */
int onnx_file_opset(const OnnxFile *file, const char *domain);

/* Sets *elements to a tensor's number of elements. Returns false with EXPORT_ERROR_DAMAGED for dimensions that are
 * negative, too many or too large. */
bool onnx_tensor_elements(const Onnx__TensorProto *tensor, int64_t *elements, GError **error);
/* Returns true if the tensor's data are in the model or in a file that it names. Models for tests of speed come
 * without. */
bool onnx_tensor_has_data(const Onnx__TensorProto *tensor);
/* The tensor's elements, packed, each in its type's own bytes with the lowest first. NULL with EXPORT_ERROR_IO if its
 * file cannot be read, EXPORT_ERROR_DAMAGED if the tensor has no data or data of another size, or a file outside the
 * model's folder, and EXPORT_ERROR_KIND for types that are not read. Free with g_bytes_unref(). */
GBytes *onnx_file_tensor_data(const OnnxFile *file, const Onnx__TensorProto *tensor,
                              GError **error);

#endif
