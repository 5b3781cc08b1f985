#include "coordinator/network/passes/lowering.h"

#include "coordinator/network/passes/pass.h"

#include <string.h>

/* A quantised input's scale and zero point as INT8 has it: 128 less where the tensor is UINT8. */
struct quantum {
    double scale;
    double zero;
};

static bool read_quantum(struct lowering *l, int scale, int zero, struct quantum *quantum)
{
    double shift = 0;
    struct value *point = zero >= 0 ? lower_input(l, zero) : NULL;
    *quantum = (struct quantum){1, 0};
    if (scale >= 0 && !value_is_number(lower_input(l, scale), &quantum->scale)) {
        lower_fail(l, "the scale of a tensor must be one constant");
        return false;
    }
    if (point != NULL && !value_is_number(point, &quantum->zero)) {
        lower_fail(
            l, "the zero point of a tensor must be one constant; take the model in floats: --dtype "
               "INT8 quantises it");
        return false;
    }
    if (point == NULL || point->shape.type == ELEMENT_UINT8) {
        shift = 128;
    }
    quantum->zero -= shift;
    return true;
}

/* The filter less its zero points as a constant of INT8, the sum of each output channel's elements in sums. */
static struct value *quantised_filter(struct lowering *l, int w, int zero, double **sums)
{
    struct value *value = lower_input(l, w);
    const struct shape *shape = &value->shape;
    int64_t count, zeros = 0, channels = shape->dim[0];
    g_autofree double *numbers = value_numbers(value, &count);
    g_autofree double *points = zero >= 0 && lower_input(l, zero) != NULL
                                    ? value_numbers(lower_input(l, zero), &zeros)
                                    : NULL;
    *sums = g_new0(double, channels);
    if (numbers == NULL || (zeros > 1 && zeros != channels)) {
        return lower_fail(l, "its filter and the filter's zero points must be constants");
    }
    struct shape packed;
    shape_set_packed(&packed, ELEMENT_INT8, shape->rank, shape->dim, NULL);
    g_autofree gint8 *data = g_new(gint8, MAX(count, 1));
    for (int64_t i = 0; i < count; i++) {
        int64_t k = i / (count / channels);
        double element = numbers[i] - (zeros > 1 ? points[k] : zeros == 1 ? points[0] : 0);
        if (element < -128 || element > 127) {
            return lower_fail(l, "its filter less the zero point does not fit INT8");
        }
        data[i] = (gint8)element;
        (*sums)[k] += element;
    }
    g_autoptr(Tensor) tensor = tensor_take(&packed, g_steal_pointer(&data));
    return graph_add_constant(l->graph, NULL, tensor);
}

/* The INT32 bias of an INT8 convolution: the model's, less what the zero point of x adds to each channel. NULL for
 * none. */
static struct value *quantised_bias(struct lowering *l, int bias, const double *sums,
                                    int64_t channels, double zero)
{
    int64_t count = 0;
    g_autofree double *numbers = bias >= 0 && lower_input(l, bias) != NULL
                                     ? value_numbers(lower_input(l, bias), &count)
                                     : NULL;
    if (numbers == NULL && zero == 0) {
        return NULL;
    }
    g_autofree double *total = g_new0(double, channels);
    for (int64_t i = 0; i < channels; i++) {
        total[i] = (numbers != NULL ? numbers[i] : 0) - zero * sums[i];
    }
    g_autofree char *name = g_strconcat(node_name(l->node), ".bias", NULL);
    return add_int32s(l->graph, name, total, channels);
}

static struct value *lower_conv_integer(struct lowering *l)
{
    struct quantum x;
    g_autofree double *sums = NULL;
    struct epilogue epilogue = {0};
    /* Without a zero point the input's own type says what is subtracted. */
    if (!read_quantum(l, -1, 2, &x)) {
        return NULL;
    }
    if (lower_input(l, 2) == NULL && l->x->type == ELEMENT_INT8) {
        x.zero = 0;
    }
    struct value *w = quantised_filter(l, 1, 3, &sums);
    struct value *y =
        w != NULL ? lower_convolve(l, lower_input(l, 0), w, x.zero, ELEMENT_INT32) : NULL;
    struct value *bias = y != NULL ? quantised_bias(l, -1, sums, l->y->dim[1], x.zero) : NULL;
    if (bias != NULL) {
        /* In integers: part of the convolution from the beginning. */
        struct kernel kernel;
        kernel_read(y->producer, &kernel);
        epilogue_add(&epilogue, EPILOGUE_BIAS, 0, 0, false);
        epilogue_append(&kernel.epilogue, &epilogue);
        kernel_write(y->producer, &kernel, NULL);
        graph_set_input(y->producer, KERNEL_BIAS, bias, NULL);
    }
    return y != NULL ? lower_to_output(l, y, MAX(l->y->rank, 4)) : NULL;
}

static struct value *lower_qlinear_conv(struct lowering *l)
{
    struct quantum x, y;
    int64_t scale_count = 0, channels = lower_input(l, 3)->shape.dim[0];
    g_autofree double *sums = NULL;
    g_autofree double *w_scales = value_numbers(lower_input(l, 4), &scale_count);
    struct kernel kernel;
    if (!read_quantum(l, 1, 2, &x) || !read_quantum(l, 6, 7, &y)) {
        return NULL;
    }
    if (w_scales == NULL || (scale_count != 1 && scale_count != channels)) {
        return lower_fail(
            l, "the scales of its filter must be constants, one or one for each channel");
    }
    struct value *w = quantised_filter(l, 3, 5, &sums);
    struct value *conv =
        w != NULL ? lower_convolve(l, lower_input(l, 0), w, x.zero, ELEMENT_INT8) : NULL;
    if (conv == NULL) {
        return NULL;
    }
    struct value *bias = quantised_bias(l, 8, sums, channels, x.zero);
    for (int64_t i = 0; i < scale_count; i++) {
        w_scales[i] *= x.scale / y.scale;
    }
    g_autofree double *scales = g_new0(double, scale_count + 1);
    memcpy(scales, w_scales, sizeof scales[0] * (gsize)scale_count);
    kernel_read(conv->producer, &kernel);
    if (bias != NULL) {
        epilogue_add(&kernel.epilogue, EPILOGUE_BIAS, 0, 0, false);
        graph_set_input(conv->producer, KERNEL_BIAS, bias, NULL);
    }
    epilogue_add(&kernel.epilogue, EPILOGUE_REQUANT, 0, 0, scale_count > 1);
    if (y.zero != 0) {
        epilogue_add(&kernel.epilogue, EPILOGUE_AFFINE, 1, y.zero, false);
    }
    kernel_write(conv->producer, &kernel, NULL);
    graph_set_input(conv->producer, KERNEL_SCALES,
                    lower_floats(l, "scales", scales, scale_count + 1), NULL);
    return lower_to_output(l, conv, MAX(l->y->rank, 4));
}

static struct value *lower_quantize(struct lowering *l)
{
    struct quantum y;
    struct epilogue epilogue = {0};
    if (!read_quantum(l, 1, 2, &y)) {
        return NULL;
    }
    if (l->y->type != ELEMENT_UINT8 && l->y->type != ELEMENT_INT8) {
        return lower_fail(l, "its output is %s, kernels quantise to 8 bits",
                          element_type_name(l->y->type));
    }
    epilogue_add(&epilogue, EPILOGUE_AFFINE, 1 / y.scale, y.zero, false);
    return lower_to_steps(l, NULL, lower_input(l, 0), &epilogue, NULL, NULL, NULL, ELEMENT_INT8);
}

static struct value *lower_dequantize(struct lowering *l)
{
    int64_t count = 0, zeros = 0, channels = l->x->rank > 1 ? l->x->dim[1] : 1;
    g_autofree double *scales = value_numbers(lower_input(l, 1), &count);
    g_autofree double *points =
        lower_input(l, 2) != NULL ? value_numbers(lower_input(l, 2), &zeros) : NULL;
    struct epilogue epilogue = {0};
    bool is_unsigned = lower_input(l, 2) == NULL ? l->x->type == ELEMENT_UINT8
                                                 : lower_input(l, 2)->shape.type == ELEMENT_UINT8;
    if (scales == NULL || (lower_input(l, 2) != NULL && points == NULL)) {
        return lower_fail(l, "its scale and zero point must be constants");
    }
    if (count == 1) {
        double zero = (zeros > 0 ? points[0] : 0) - (is_unsigned ? 128 : 0);
        epilogue_add(&epilogue, EPILOGUE_AFFINE, scales[0], -zero * scales[0], false);
        return lower_to_steps(l, NULL, lower_input(l, 0), &epilogue, NULL, NULL, NULL, l->y->type);
    }
    int64_t axis = lower_int(l, "axis", 1);
    if (count != channels || (axis != 1 && axis != 1 - l->x->rank)) {
        return lower_fail(l, "its scales must be one, or one for each channel");
    }
    g_autofree double *bias = g_new0(double, channels);
    for (int64_t i = 0; i < channels; i++) {
        bias[i] = -scales[i] * ((zeros > 0 ? points[i] : 0) - (is_unsigned ? 128 : 0));
    }
    epilogue_add(&epilogue, EPILOGUE_AFFINE, 1, 0, false);
    epilogue.count = 0;
    epilogue_add(&epilogue, EPILOGUE_SCALE, 0, 0, true);
    struct value *scaled = lower_to_steps(l, "scale", lower_input(l, 0), &epilogue, NULL, NULL,
                                          lower_floats(l, "scales", scales, channels), l->y->type);
    return lower_add_bias(l, scaled, lower_floats(l, "zeros", bias, channels));
}

const struct lower_row lower_quantised_rows[] = {
    {"ConvInteger", lower_conv_integer},
    {"QLinearConv", lower_qlinear_conv},
    {"QuantizeLinear", lower_quantize},
    {"com.microsoft.QuantizeLinear", lower_quantize},
    {"DequantizeLinear", lower_dequantize},
    {"com.microsoft.DequantizeLinear", lower_dequantize},
    {NULL, NULL},
};
