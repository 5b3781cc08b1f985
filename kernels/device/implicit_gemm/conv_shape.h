/*
 * Strides and shape as arguments of convolution kernels. STRIDE_PARAMETERS and SHAPE_PARAMETERS are the
 * arguments that the solvers' conv_add_stride_args() and conv_add_shape_args() add; CONV_SHAPE gathers the arguments of
 * the shape into a struct.
 *
 * Options: FIX_<NAME>=value compiles a value in, and the kernel ignores the argument: FIX_N, FIX_GROUPS, FIX_C and
 * FIX_K (of a group), and for each axis D, H and W FIX_IN_D, FIX_FIL_D, FIX_OUT_D, FIX_PAD_D, FIX_STRIDE_D and
 * FIX_DILATION_D. SPATIAL is 2 or 3; the depth of a 2D problem is known. Include dialect.h before.
 */
#define STRIDE_PARAMETERS                                                                          \
    i64 x_n, i64 x_c, i64 x_d, i64 x_h, i64 x_w, i64 w_k, i64 w_c, i64 w_d, i64 w_h, i64 w_w,      \
        i64 y_n, i64 y_k, i64 y_d, i64 y_h, i64 y_w

#define SHAPE_PARAMETERS                                                                           \
    int shape_n, int shape_groups, int shape_c, int shape_k, int in_d, int in_h, int in_w,         \
        int fil_d, int fil_h, int fil_w, int out_d, int out_h, int out_w, int pad_d, int pad_h,    \
        int pad_w, int stride_d, int stride_h, int stride_w, int dilation_d, int dilation_h,       \
        int dilation_w

#if SPATIAL == 2
#define FIX_IN_D 1
#define FIX_FIL_D 1
#define FIX_OUT_D 1
#define FIX_PAD_D 0
#define FIX_STRIDE_D 1
#define FIX_DILATION_D 1
#endif

/* FIX_<NAME> is the argument itself unless a value is compiled in. */
#ifndef FIX_N
#define FIX_N shape_n
#endif
#ifndef FIX_GROUPS
#define FIX_GROUPS shape_groups
#endif
#ifndef FIX_C
#define FIX_C shape_c
#endif
#ifndef FIX_K
#define FIX_K shape_k
#endif
#ifndef FIX_IN_D
#define FIX_IN_D in_d
#endif
#ifndef FIX_IN_H
#define FIX_IN_H in_h
#endif
#ifndef FIX_IN_W
#define FIX_IN_W in_w
#endif
#ifndef FIX_FIL_D
#define FIX_FIL_D fil_d
#endif
#ifndef FIX_FIL_H
#define FIX_FIL_H fil_h
#endif
#ifndef FIX_FIL_W
#define FIX_FIL_W fil_w
#endif
#ifndef FIX_OUT_D
#define FIX_OUT_D out_d
#endif
#ifndef FIX_OUT_H
#define FIX_OUT_H out_h
#endif
#ifndef FIX_OUT_W
#define FIX_OUT_W out_w
#endif
#ifndef FIX_PAD_D
#define FIX_PAD_D pad_d
#endif
#ifndef FIX_PAD_H
#define FIX_PAD_H pad_h
#endif
#ifndef FIX_PAD_W
#define FIX_PAD_W pad_w
#endif
#ifndef FIX_STRIDE_D
#define FIX_STRIDE_D stride_d
#endif
#ifndef FIX_STRIDE_H
#define FIX_STRIDE_H stride_h
#endif
#ifndef FIX_STRIDE_W
#define FIX_STRIDE_W stride_w
#endif
#ifndef FIX_DILATION_D
#define FIX_DILATION_D dilation_d
#endif
#ifndef FIX_DILATION_H
#define FIX_DILATION_H dilation_h
#endif
#ifndef FIX_DILATION_W
#define FIX_DILATION_W dilation_w
#endif

struct conv_axis {
    int in, fil, out, pad, stride, dilation;
};

struct conv_shape {
    int n, groups, c, k; /* channels of a group */
    struct conv_axis d, h, w;
};

#define CONV_AXIS(A)                                                                               \
    {                                                                                              \
        FIX_IN_##A, FIX_FIL_##A, FIX_OUT_##A, FIX_PAD_##A, FIX_STRIDE_##A, FIX_DILATION_##A        \
    }
#define CONV_SHAPE                                                                                 \
    {                                                                                              \
        FIX_N, FIX_GROUPS, FIX_C, FIX_K, CONV_AXIS(D), CONV_AXIS(H), CONV_AXIS(W)                  \
    }
