/*
 * Unfolds x for a matrix product (im2col): for every output position, channel and filter position (a term), col
 * holds the input that the filter position meets there, or 0 outside of x. As in x, either the columns of an
 * image are neighbours (BY_TERM 0: [c][fil][n][out]) or the channels (BY_TERM 1: [n][out][fil][c]). A workgroup
 * unfolds one line, ITEMS_H by ITEMS_W elements at a time, and then every groups-th line after it. A line is the
 * elements of col that share the first coordinates (see each entry).
 *
 * Options: TYPE_X, BY_TERM, ITEMS_H, ITEMS_W.
 */
#include "coordinates.h"


#define SIZES                                                                                      \
    int in_d, int in_h, int in_w, int fil_d, int fil_h, int fil_w, int out_d, int out_h,           \
        int out_w, int pad_d, int pad_h, int pad_w, int stride_d, int stride_h, int stride_w,      \
        int dilation_d, int dilation_h, int dilation_w

#if BY_TERM

/* BY_TERM 1: a line of col is an output position's; its rows are filter positions, its columns channels. */
KERNEL(ITEMS_H *ITEMS_W, 1, 1)
conv_im2col(GLOBAL const STORAGE(TYPE_X) *RESTRICT x, GLOBAL STORAGE(TYPE_X) *RESTRICT col, i64 x_n,
            i64 x_c, i64 x_d, i64 x_h, i64 x_w, int c_count, int n_count, SIZES,
            int lines, int groups)
{
    int filter = fil_d * fil_h * fil_w;
    for (int line = (int)GROUP_ID(0); line < lines; line += groups) {
        GLOBAL STORAGE(TYPE_X) *to = col + (i64)line * filter * c_count;
        int rest = line;
        int first_w = take(&rest, out_w) * stride_w - pad_w;
        int first_h = take(&rest, out_h) * stride_h - pad_h;
        int first_d = take(&rest, out_d) * stride_d - pad_d;
        for (int f = (int)LOCAL_ID(0) / ITEMS_W; f < filter; f += ITEMS_H) {
            int w = first_w + f % fil_w * dilation_w;
            int h = first_h + f / fil_w % fil_h * dilation_h;
            int d = first_d + f / fil_w / fil_h * dilation_d;
            int inside = w >= 0 && w < in_w && h >= 0 && h < in_h && d >= 0 && d < in_d;
            i64 from = rest * x_n + d * x_d + h * x_h + w * x_w;
            for (int c = (int)LOCAL_ID(0) % ITEMS_W; c < c_count; c += ITEMS_W)
                to[(i64)f * c_count + c] = inside ? x[from + c * x_c] : (STORAGE(TYPE_X))0;
        }
    }
}

#else

/* BY_TERM 0: a line of col is a term's for one image; its rows and columns are the output's. */
KERNEL(ITEMS_H *ITEMS_W, 1, 1)
conv_im2col(GLOBAL const STORAGE(TYPE_X) *RESTRICT x, GLOBAL STORAGE(TYPE_X) *RESTRICT col, i64 x_n,
            i64 x_c, i64 x_d, i64 x_h, i64 x_w, int c_count, int n_count, SIZES,
            int lines, int groups)
{
    for (int line = (int)GROUP_ID(0); line < lines; line += groups) {
        GLOBAL STORAGE(TYPE_X) *to = col + (i64)line * out_d * out_h * out_w;
        int rest = line;
        int n = take(&rest, n_count);
        int first_w = take(&rest, fil_w) * dilation_w - pad_w;
        int first_h = take(&rest, fil_h) * dilation_h - pad_h;
        int first_d = take(&rest, fil_d) * dilation_d - pad_d;
        for (int row = (int)LOCAL_ID(0) / ITEMS_W; row < out_d * out_h; row += ITEMS_H) {
            int h = first_h + row % out_h * stride_h;
            int d = first_d + row / out_h * stride_d;
            int inside = h >= 0 && h < in_h && d >= 0 && d < in_d;
            i64 from = n * x_n + rest * x_c + d * x_d + h * x_h;
            for (int ow = (int)LOCAL_ID(0) % ITEMS_W; ow < out_w; ow += ITEMS_W) {
                int w = first_w + ow * stride_w;
                to[(i64)row * out_w + ow] =
                    inside && w >= 0 && w < in_w ? x[from + w * x_w] : (STORAGE(TYPE_X))0;
            }
        }
    }
}

#endif
