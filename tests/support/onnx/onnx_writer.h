/*
 * Writes small ONNX models for tests: protobuf by hand, so that models may also be wrong.
 */
#ifndef TESTS_SUPPORT_ONNX_ONNX_WRITER_H
#define TESTS_SUPPORT_ONNX_ONNX_WRITER_H

#include <glib.h>
#include <stdint.h>

/* The parts of a graph that is being written. Texts of names are separated by blanks, "-" is an omitted one. */
struct onnx_writer {
    GByteArray *graph;
};

void onnx_writer_init(struct onnx_writer *writer, const char *name);

/* An input or output. dims: "1,3,N,?": numbers, names, and open ones without a name; NULL: no shape. type: the number in
 * ONNX's list. */
void onnx_write_input(struct onnx_writer *writer, const char *name, int type, const char *dims);
void onnx_write_output(struct onnx_writer *writer, const char *name);
/* A shape that the file states of a value within. */
void onnx_write_stated(struct onnx_writer *writer, const char *name, int type, const char *dims);
/* A constant of these dimensions ("" for one number) with raw data of `length` bytes; none if data is NULL. */
void onnx_write_tensor(struct onnx_writer *writer, const char *name, int type, const char *dims,
                       const void *data, size_t length);
/* A constant list of int64 numbers: "1,-1,64". */
void onnx_write_ints(struct onnx_writer *writer, const char *name, const char *numbers);
void onnx_write_floats(struct onnx_writer *writer, const char *name, const char *numbers);
/* A constant that is in another file. */
void onnx_write_external(struct onnx_writer *writer, const char *name, const char *dims,
                         const char *location, const char *offset, const char *length);

/* A node. attributes: "group=2 strides=[2,1] alpha=0.5 scales={1,2} auto_pad=VALID": an integer, integers, a number with
 * a point, numbers, a text. An operator of another domain is "domain:Op". The node's name is its first output's with "n_"
 * before it. */
void onnx_write_node(struct onnx_writer *writer, const char *op, const char *inputs,
                     const char *outputs, const char *attributes);
/* An If node with two branches, which are cleared. */
void onnx_write_if(struct onnx_writer *writer, const char *condition, const char *outputs,
                   struct onnx_writer *then_branch, struct onnx_writer *else_branch);

/* The model's bytes; clears the writer. opset 0: the model says none. producer: "name version" or NULL. Free with
 * g_bytes_unref(). */
GBytes *onnx_writer_finish(struct onnx_writer *writer, int opset, const char *producer);

#endif
