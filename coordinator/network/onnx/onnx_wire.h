/*
 * Checks bytes against protobuf's encoding and the messages of onnx.proto before the decoder sees them. The decoder
 * says only that bytes are damaged; this check says where and how. It also bounds the decoder's memory and the depth
 * of its recursion, which the bytes alone decide.
 */
#ifndef COORDINATOR_NETWORK_ONNX_ONNX_WIRE_H
#define COORDINATOR_NETWORK_ONNX_ONNX_WIRE_H

#include <glib.h>
#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>

/* Messages within messages. A graph in a node's attribute is three messages deep, so about 30 graphs can be nested. */
#define ONNX_MESSAGE_DEPTH_MAX 100

/* Returns true if the decoder can read the bytes as this message within `memory_max` bytes. Otherwise false with a
 * reason that names the place: "at byte 17, in graph.node[3].attribute[0]: ...". EXPORT_ERROR_DAMAGED. */
bool onnx_wire_check(const ProtobufCMessageDescriptor *message, const guint8 *bytes, size_t length,
                     size_t memory_max, GError **error);

/* Returns true if `head`, the first bytes of a file, reads as the beginning of an ONNX model: its fields are those of a
 * model, and the first is the version of the format. */
bool onnx_wire_is_model(const guint8 *head, size_t length);

#endif
