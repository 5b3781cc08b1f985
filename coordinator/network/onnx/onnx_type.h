/*
 * The element types of ONNX's tensors.
 */
#ifndef COORDINATOR_NETWORK_ONNX_ONNX_TYPE_H
#define COORDINATOR_NETWORK_ONNX_ONNX_TYPE_H

#include "solvers/problem/problem.h"

/* The numbers are those of ONNX's TensorProto.DataType. */
enum onnx_type {
    ONNX_UNDEFINED,
    ONNX_FLOAT,
    ONNX_UINT8,
    ONNX_INT8,
    ONNX_UINT16,
    ONNX_INT16,
    ONNX_INT32,
    ONNX_INT64,
    ONNX_STRING,
    ONNX_BOOL,
    ONNX_FLOAT16,
    ONNX_DOUBLE,
    ONNX_UINT32,
    ONNX_UINT64,
    ONNX_COMPLEX64,
    ONNX_COMPLEX128,
    ONNX_BFLOAT16,
    ONNX_FLOAT8E4M3FN,
    ONNX_FLOAT8E4M3FNUZ,
    ONNX_FLOAT8E5M2,
    ONNX_FLOAT8E5M2FNUZ,
    ONNX_UINT4,
    ONNX_INT4,
};
#define ONNX_TYPE_COUNT (ONNX_INT4 + 1)

/* ONNX's word: "float", "uint8". "undefined" for numbers that are no type. */
const char *onnx_type_name(int type);
/* Bits of an element; 0 for texts and for numbers that are no type. */
int onnx_type_bits(int type);

#endif
