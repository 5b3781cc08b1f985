#include "coordinator/network/onnx/onnx_type.h"

static const struct {
    const char *name;
    int bits;
} types[ONNX_TYPE_COUNT] = {
    [ONNX_UNDEFINED] = {"undefined", 0},
    [ONNX_FLOAT] = {"float", 32},
    [ONNX_UINT8] = {"uint8", 8},
    [ONNX_INT8] = {"int8", 8},
    [ONNX_UINT16] = {"uint16", 16},
    [ONNX_INT16] = {"int16", 16},
    [ONNX_INT32] = {"int32", 32},
    [ONNX_INT64] = {"int64", 64},
    [ONNX_STRING] = {"string", 0},
    [ONNX_BOOL] = {"bool", 8},
    [ONNX_FLOAT16] = {"float16", 16},
    [ONNX_DOUBLE] = {"double", 64},
    [ONNX_UINT32] = {"uint32", 32},
    [ONNX_UINT64] = {"uint64", 64},
    [ONNX_COMPLEX64] = {"complex64", 64},
    [ONNX_COMPLEX128] = {"complex128", 128},
    [ONNX_BFLOAT16] = {"bfloat16", 16},
    [ONNX_FLOAT8E4M3FN] = {"float8e4m3fn", 8},
    [ONNX_FLOAT8E4M3FNUZ] = {"float8e4m3fnuz", 8},
    [ONNX_FLOAT8E5M2] = {"float8e5m2", 8},
    [ONNX_FLOAT8E5M2FNUZ] = {"float8e5m2fnuz", 8},
    [ONNX_UINT4] = {"uint4", 4},
    [ONNX_INT4] = {"int4", 4},
};

const char *onnx_type_name(int type)
{
    return types[type > 0 && type < ONNX_TYPE_COUNT ? type : 0].name;
}

int onnx_type_bits(int type)
{
    return types[type > 0 && type < ONNX_TYPE_COUNT ? type : 0].bits;
}
