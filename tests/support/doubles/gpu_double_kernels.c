/* Kernels that the double computes on the host. It cannot run a code object: it only looks whether
 * the object contains the kernel's name, and computes from the launch's arguments alone. Tensors
 * are FP32 and not blocked. */
#include "tests/support/doubles/gpu_double.h"

#include <stdint.h>
#include <string.h>

enum { X, W, Y, TENSORS };
enum { DEPTH, HEIGHT, WIDTH, AXES };

/* The arguments of conv_naive_*, in the order of solvers/direct/conv_direct_naive.c. */
struct conv {
    float *data[TENSORS];
    /* strides of images (for w: output channels), channels, and the axes */
    int64_t stride[TENSORS][2 + AXES];
    int32_t n, groups, c, k; /* c and k count a group's channels */
    int32_t in[AXES], fil[AXES], out[AXES], pad[AXES], step[AXES], dilation[AXES];
};

#define CONV_ARGUMENTS (TENSORS + TENSORS * (2 + AXES) + 4 + 6 * AXES)

static void conv_read(struct conv *conv, void **arguments)
{
    int32_t *const ints[] = {&conv->n, &conv->groups, &conv->c, &conv->k};
    int32_t *const axes[] = {conv->in, conv->fil, conv->out, conv->pad, conv->step, conv->dilation};

    for (int t = 0; t < TENSORS; t++)
        conv->data[t] = *(float **)*arguments++;
    for (int t = 0; t < TENSORS; t++)
        for (int i = 0; i < 2 + AXES; i++)
            conv->stride[t][i] = *(int64_t *)*arguments++;
    for (size_t i = 0; i < sizeof(ints) / sizeof(*ints); i++)
        *ints[i] = *(int32_t *)*arguments++;
    for (size_t i = 0; i < sizeof(axes) / sizeof(*axes); i++)
        for (int a = 0; a < AXES; a++)
            axes[i][a] = *(int32_t *)*arguments++;
}

static float *element(const struct conv *conv, int tensor, int64_t first, int64_t channel,
                      const int32_t *at)
{
    const int64_t *stride = conv->stride[tensor];

    return conv->data[tensor] + first * stride[0] + channel * stride[1] + at[DEPTH] * stride[2] +
           at[HEIGHT] * stride[3] + at[WIDTH] * stride[4];
}

/* Steps `at` through a box, the last axis fastest; returns false behind the last position. */
static bool next_place(int32_t *at, const int32_t *box)
{
    for (int a = AXES - 1; a >= 0; a--) {
        if (++at[a] < box[a])
            return true;
        at[a] = 0;
    }
    return false;
}

/* Adds the products of all output and filter positions for one image, one output channel and one
 * input channel. */
static void add_products(const struct conv *conv, int sum, int64_t n, int64_t k, int64_t c)
{
    int64_t of_group = k / conv->k * conv->c + c;
    int32_t out[AXES] = {0}, fil[AXES] = {0}, in[AXES];

    do {
        do {
            bool inside = true;
            for (int a = 0; a < AXES; a++) {
                in[a] = out[a] * conv->step[a] - conv->pad[a] + fil[a] * conv->dilation[a];
                inside = inside && in[a] >= 0 && in[a] < conv->in[a];
            }
            if (!inside)
                continue;
            float *of[TENSORS] = {element(conv, X, n, of_group, in), element(conv, W, k, c, fil),
                                  element(conv, Y, n, k, out)};
            *of[sum] += sum == X ? *of[Y] * *of[W] : sum == W ? *of[X] * *of[Y] : *of[X] * *of[W];
        } while (next_place(fil, conv->fil));
    } while (next_place(out, conv->out));
}

static void clear_output(const struct conv *conv, int tensor)
{
    int64_t first = tensor == W ? (int64_t)conv->k * conv->groups : conv->n;
    int64_t channels = tensor == W ? conv->c : (tensor == X ? conv->c : conv->k) * conv->groups;
    const int32_t *box = tensor == X ? conv->in : tensor == W ? conv->fil : conv->out;

    for (int64_t i = 0; i < first; i++)
        for (int64_t c = 0; c < channels; c++) {
            int32_t at[AXES] = {0};
            do
                *element(conv, tensor, i, c, at) = 0;
            while (next_place(at, box));
        }
}

static void convolve(void **arguments, int sum)
{
    struct conv conv;

    conv_read(&conv, arguments);
    clear_output(&conv, sum);
    for (int64_t n = 0; n < conv.n; n++)
        for (int64_t k = 0; k < (int64_t)conv.k * conv.groups; k++)
            for (int64_t c = 0; c < conv.c; c++)
                add_products(&conv, sum, n, k, c);
}

static void run_naive_f(void **arguments)
{
    convolve(arguments, Y);
}

static void run_naive_b(void **arguments)
{
    convolve(arguments, X);
}

static void run_naive_w(void **arguments)
{
    convolve(arguments, W);
}

/* The kernel of tests/faults/ways.cl: a pointwise convolution of one image. */
static void run_ways(void **arguments)
{
    const float *x = *(float **)arguments[0], *w = *(float **)arguments[1];
    float *y = *(float **)arguments[2];
    int32_t c_count = *(int32_t *)arguments[3], k_count = *(int32_t *)arguments[4];
    int32_t pixels = *(int32_t *)arguments[5];

    for (int32_t k = 0; k < k_count; k++)
        for (int32_t pixel = 0; pixel < pixels; pixel++) {
            float sum = 0;
            for (int32_t c = 0; c < c_count; c++)
                sum += x[c * pixels + pixel] * w[k * c_count + c];
            y[k * pixels + pixel] = sum;
        }
}

static void run_copy(void **arguments)
{
    memcpy(*(void **)arguments[1], *(void **)arguments[0], (size_t) * (int64_t *)arguments[2]);
}

static void run_nothing(void **arguments)
{
    (void)arguments;
}

static const struct double_kernel kernels[] = {
    {"copy", 1, run_copy, NO_VARIANT, 1, 3},
    {"fault", 1, run_nothing, NO_VARIANT, 0, 0},
    {"hang", 1, run_nothing, NO_VARIANT, 0, 0},
    {"conv_naive_f", 0.3, run_naive_f, NO_VARIANT, Y, CONV_ARGUMENTS},
    {"conv_naive_b", 0.3, run_naive_b, NO_VARIANT, X, CONV_ARGUMENTS},
    {"conv_naive_w", 0.3, run_naive_w, NO_VARIANT, W, CONV_ARGUMENTS},
    {"conv_ways", 0.2, run_ways, 6, Y, 7},
};

const struct double_kernel *double_kernel_find(const char *image, size_t bytes, const char *name)
{
    for (size_t i = 0; i < sizeof(kernels) / sizeof(*kernels); i++)
        if (strcmp(kernels[i].name, name) == 0)
            return memmem(image, bytes, name, strlen(name)) ? &kernels[i] : NULL;
    return NULL;
}

int double_kernel_variant(const struct double_kernel *kernel, void **arguments)
{
    return kernel->variant_at == NO_VARIANT ? NO_VARIANT
                                            : *(int32_t *)arguments[kernel->variant_at];
}

/* Variants differ in their time: each is a tenth faster than the one before. */
double double_kernel_ms(const struct double_kernel *kernel, int variant)
{
    double ms = kernel->ms;

    for (int i = 0; i < variant; i++)
        ms *= 0.9;
    return ms;
}
