/*
 * Forward convolution as a matrix product, NCHW FP32, for a CPU's vector units: y (k by pixels) = w (k by crs)
 * times the unfolded x (crs by pixels). crs runs over channels and filter positions in w's order, pixels over
 * the output of one image.
 *
 * One work-item computes PANELS panels of TILE_VECTORS * VEC pixels for K_BLOCK output channels. It unfolds
 * CRS_BLOCK rows of x at a time into private memory, then takes its channels TILE_K at a time with a tile of
 * sums in registers. The shape is given by arguments: one binary serves all problems.
 */
#include "epilogue.h"

#define PANEL (TILE_VECTORS * VEC)

struct shape {
    int rs_count, fil_w, in_h, in_w, out_w, pixels;
    int pad_h, pad_w, stride_h, stride_w, dilation_h, dilation_w;
    int plane;      /* elements of one input channel */
    /* 1: neighbouring outputs read neighbouring inputs through each filter position */
    int contiguous;
    /* elements of x that exist, and so may be read, before this image and group, and from its start on */
    int before, after;
};

/* Offsets within a plane that VEC pixels from p on read through filter position (r, s), and 1 or 0 for inside
 * or outside of the input. Offsets outside are 0, so that all can be read. */
DEVICE void find_sources(const struct shape *shape, int p, int rs, int *offset, float *keep)
{
    int dy = rs / shape->fil_w * shape->dilation_h - shape->pad_h;
    int dx = rs % shape->fil_w * shape->dilation_w - shape->pad_w;
    int oh = p / shape->out_w, ow = p % shape->out_w;
    for (int lane = 0; lane < VEC; lane++) {
        int ih = oh * shape->stride_h + dy, iw = ow * shape->stride_w + dx;
        int inside = p + lane < shape->pixels && ih >= 0 && ih < shape->in_h && iw >= 0 &&
                     iw < shape->in_w;
        offset[lane] = inside ? ih * shape->in_w + iw : 0;
        keep[lane] = inside ? 1.0f : 0.0f;
        ow++;
        if (ow == shape->out_w) {
            ow = 0;
            oh++;
        }
    }
}

/* Unfolds VEC pixels from p on for filter position rs of the channels first_c to last_c, into rows of PANEL
 * floats that are rs_count rows apart. */
DEVICE void unfold(const struct shape *shape, GLOBAL const float *x, int p, int rs, int first_c,
                   int last_c, float *rows)
{
    int offset[VEC];
    float keep_lanes[VEC];
    int step = shape->rs_count * PANEL;
    int start = p + (rs / shape->fil_w * shape->dilation_h - shape->pad_h) * shape->in_w +
                rs % shape->fil_w * shape->dilation_w - shape->pad_w;
    find_sources(shape, p, rs, offset, keep_lanes);
    if (shape->contiguous && first_c * shape->plane + start >= -shape->before &&
        last_c * shape->plane + start + VEC <= shape->after) {
        vec keep = vec_load(keep_lanes);
        for (int c = first_c; c <= last_c; c++, rows += step)
            vec_store(rows, vec_keep(vec_load(x + (c * shape->plane + start)), keep));
        return;
    }
    for (int c = first_c; c <= last_c; c++, rows += step) {
        GLOBAL const float *plane = x + c * shape->plane;
        for (int lane = 0; lane < VEC; lane++) {
            float value = plane[offset[lane]];
            rows[lane] = keep_lanes[lane] != 0.0f ? value : 0.0f;
        }
    }
}

/* Unfolds one panel's rows from `first` up to `end` of crs. */
DEVICE void unfold_panel(const struct shape *shape, GLOBAL const float *x, int p, int first,
                         int end, float *panel)
{
    for (int rs = 0; rs < shape->rs_count; rs++) {
        int first_c = (first - rs + shape->rs_count - 1) / shape->rs_count;
        int last_c = (end - 1 - rs + shape->rs_count) / shape->rs_count - 1;
        float *rows = panel + (first_c * shape->rs_count + rs - first) * PANEL;
        if (first_c > last_c)
            continue;
        for (int v = 0; v < TILE_VECTORS; v++)
            unfold(shape, x, p + v * VEC, rs, first_c, last_c, rows + v * VEC);
    }
}

/* Adds `length` rows of crs to TILE_K times PANEL sums, which are kept in y until the last rows are added. Channels past
 * k_left repeat the last channel. These channels, and pixels past pixels_left, are not stored. */
DEVICE void add_tile(GLOBAL const float *w, int w_row, const float *panel, int length,
                     GLOBAL float *y, int y_row, int k_left, int pixels_left, int is_first,
                     int is_last EPILOGUE_PARAMETERS)
{
    vec sum[TILE_K][TILE_VECTORS];
    GLOBAL const float *row[TILE_K];
    float lanes[PANEL];
    int count = pixels_left < PANEL ? pixels_left : PANEL;
#pragma unroll
    for (int k = 0; k < TILE_K; k++) {
        row[k] = w + (k < k_left ? k : k_left - 1) * w_row;
#pragma unroll
        for (int v = 0; v < TILE_VECTORS; v++)
            sum[k][v] = vec_splat(0.0f);
    }
    for (int i = 0; i < length; i++) {
        vec pixels[TILE_VECTORS];
#pragma unroll
        for (int v = 0; v < TILE_VECTORS; v++)
            pixels[v] = vec_load(panel + (i * TILE_VECTORS + v) * VEC);
#pragma unroll
        for (int k = 0; k < TILE_K; k++) {
            vec weight = vec_splat(row[k][i]);
#pragma unroll
            for (int v = 0; v < TILE_VECTORS; v++)
                sum[k][v] = vec_madd(sum[k][v], weight, pixels[v]);
        }
    }
#pragma unroll
    for (int k = 0; k < TILE_K; k++) {
        GLOBAL float *out = y + k * y_row;
        if (k >= k_left)
            break;
        if (count == PANEL) {
#pragma unroll
            for (int v = 0; v < TILE_VECTORS; v++) {
                if (!is_first)
                    sum[k][v] = vec_madd(sum[k][v], vec_splat(1.0f), vec_load(out + v * VEC));
                vec_store(out + v * VEC, sum[k][v]);
            }
            continue;
        }
#pragma unroll
        for (int v = 0; v < TILE_VECTORS; v++)
            vec_store(lanes + v * VEC, sum[k][v]);
        for (int lane = 0; lane < count; lane++)
            out[lane] = lanes[lane] + (is_first ? 0.0f : out[lane]);
    }
#ifdef EPILOGUE
    for (int k = 0; is_last && k < TILE_K && k < k_left; k++) {
        for (int lane = 0; lane < count; lane++)
            EPILOGUE_STORE(FP32, y, k * y_row + lane, y[k * y_row + lane], k);
    }
#endif
}

/* Grid: pixel blocks, channel blocks of a group, images times groups. x_total is x's length. */
KERNEL(1, 1, 1) conv_cpu_gemm(GLOBAL const float *RESTRICT x, GLOBAL const float *RESTRICT w,
                                   GLOBAL float *RESTRICT y, int x_total, int groups, int c_count,
                                   int k_count, int in_h, int in_w, int fil_h, int fil_w,
                                   int out_h, int out_w, int pad_h, int pad_w, int stride_h,
                                   int stride_w, int dilation_h, int dilation_w EPILOGUE_PARAMETERS)
{
    float panels[PANELS * CRS_BLOCK * PANEL];
    struct shape shape;
    int image_group = (int)GROUP_ID(2);
    int group = image_group % groups;
    int first_p = (int)GROUP_ID(0) * (PANELS * PANEL);
    int first_k = (int)GROUP_ID(1) * K_BLOCK;
    int end_k = first_k + K_BLOCK < k_count ? first_k + K_BLOCK : k_count;
    int crs_count = c_count * fil_h * fil_w;
    shape.rs_count = fil_h * fil_w;
    shape.fil_w = fil_w;
    shape.in_h = in_h;
    shape.in_w = in_w;
    shape.out_w = out_w;
    shape.pixels = out_h * out_w;
    shape.pad_h = pad_h;
    shape.pad_w = pad_w;
    shape.stride_h = stride_h;
    shape.stride_w = stride_w;
    shape.dilation_h = dilation_h;
    shape.dilation_w = dilation_w;
    shape.plane = in_h * in_w;
    shape.contiguous = stride_h == 1 && stride_w == 1 && in_w == out_w;
    shape.before = image_group * c_count * shape.plane;
    shape.after = x_total - shape.before;
    x += shape.before;
    w += group * k_count * crs_count;
    y += image_group * k_count * shape.pixels;
    EPILOGUE_ADVANCE(image_group * k_count * shape.pixels, group * k_count);
    for (int first = 0; first < crs_count; first += CRS_BLOCK) {
        int end = first + CRS_BLOCK < crs_count ? first + CRS_BLOCK : crs_count;
        for (int n = 0; n < PANELS && first_p + n * PANEL < shape.pixels; n++)
            unfold_panel(&shape, x, first_p + n * PANEL, first, end,
                         panels + n * CRS_BLOCK * PANEL);
        for (int k = first_k; k < end_k; k += TILE_K) {
            for (int n = 0; n < PANELS && first_p + n * PANEL < shape.pixels; n++) {
                int p = first_p + n * PANEL;
                add_tile(w + k * crs_count + first, crs_count, panels + n * CRS_BLOCK * PANEL,
                         end - first, y + k * shape.pixels + p, shape.pixels, end_k - k,
                         shape.pixels - p, first == 0,
                         end == crs_count EPILOGUE_ARGUMENTS_AT(k * shape.pixels + p, k));
            }
        }
    }
}
