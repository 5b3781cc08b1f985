#include "coordinator/network/host/host_math.h"

#include <math.h>
#include <string.h>

/* ---- products of matrices ---- */

/* Rows and columns of the tile that stays in registers: 8 of AVX2's 16, enough sums under way to hide the time of an
 * addition. */
#define TILE_ROWS    4
#define TILE_COLUMNS 8

typedef double lanes
    __attribute__((vector_size(TILE_COLUMNS / 2 * sizeof(double)), aligned(sizeof(double))));

/* sums[i][j] for TILE_ROWS rows of a and one panel of b, whose TILE_COLUMNS columns are interleaved by k. Each sum is
 * taken in the order of k, with products that are rounded, so that all CPUs give the same bits. */
static inline __attribute__((always_inline)) void
multiply_tile(int64_t k, const double *const a[TILE_ROWS], const double *panel,
              double sums[TILE_ROWS][TILE_COLUMNS])
{
    const double *a0 = a[0], *a1 = a[1], *a2 = a[2], *a3 = a[3];
    lanes s00 = {0}, s01 = {0}, s10 = {0}, s11 = {0}, s20 = {0}, s21 = {0}, s30 = {0}, s31 = {0};
    for (int64_t i = 0; i < k; i++) {
        lanes left, right;
        memcpy(&left, panel + i * TILE_COLUMNS, sizeof left);
        memcpy(&right, panel + i * TILE_COLUMNS + TILE_COLUMNS / 2, sizeof right);
        s00 += a0[i] * left;
        s01 += a0[i] * right;
        s10 += a1[i] * left;
        s11 += a1[i] * right;
        s20 += a2[i] * left;
        s21 += a2[i] * right;
        s30 += a3[i] * left;
        s31 += a3[i] * right;
    }
    const lanes tile[TILE_ROWS][2] = {{s00, s01}, {s10, s11}, {s20, s21}, {s30, s31}};
    memcpy(sums, tile, sizeof tile);
}

static void multiply_tile_anywhere(int64_t k, const double *const a[TILE_ROWS], const double *panel,
                                   double sums[TILE_ROWS][TILE_COLUMNS])
{
    multiply_tile(k, a, panel, sums);
}

#ifdef __x86_64__
__attribute__((target("avx2"))) static void multiply_tile_avx2(int64_t k,
                                                               const double *const a[TILE_ROWS],
                                                               const double *panel,
                                                               double sums[TILE_ROWS][TILE_COLUMNS])
{
    multiply_tile(k, a, panel, sums);
}
#endif

static void multiply_tile_here(int64_t k, const double *const a[TILE_ROWS], const double *panel,
                               double sums[TILE_ROWS][TILE_COLUMNS])
{
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx2")) {
        multiply_tile_avx2(k, a, panel, sums);
        return;
    }
#endif
    multiply_tile_anywhere(k, a, panel, sums);
}

/* Rows first to last of a times a panel; the results of column j go to c[j]. */
static void multiply_panel(int64_t first, int64_t last, int64_t k, const double *a,
                           const double *panel, int64_t columns, double *const c[TILE_COLUMNS],
                           int64_t row_step)
{
    for (int64_t row = first; row < last; row += TILE_ROWS) {
        const double *rows[TILE_ROWS];
        double sums[TILE_ROWS][TILE_COLUMNS];
        for (int i = 0; i < TILE_ROWS; i++) {
            rows[i] = a + MIN(row + i, last - 1) * k;
        }
        multiply_tile_here(k, rows, panel, sums);
        for (int i = 0; i < TILE_ROWS && row + i < last; i++) {
            for (int64_t j = 0; j < columns; j++) {
                c[j][(row + i) * row_step] = sums[i][j];
            }
        }
    }
}

/* ---- convolutions ---- */

struct convolution {
    struct host_window window;
    const double *x, *w;
    double border;
    double *y;
    int64_t depth;         /* elements of one filter */
    int64_t pixels;        /* of one image's output */
    int64_t panels;        /* of TILE_COLUMNS columns, in one group */
    int64_t chunk;         /* panels of a task */
    int64_t chunks, parts; /* tasks: groups * chunks * parts of the rows */
};

/* Fills column j of a panel with the elements under the window of one output pixel. */
static void fill_column(const struct convolution *c, int64_t group, int64_t image, int64_t pixel,
                        double *panel, int j)
{
    const struct host_window *w = &c->window;
    int64_t channels = w->c / w->groups, plane = w->in[0] * w->in[1] * w->in[2];
    const double *x = c->x + (image * w->c + group * channels) * plane;
    int64_t at[3] = {pixel / (w->out[1] * w->out[2]), pixel / w->out[2] % w->out[1],
                     pixel % w->out[2]};
    int64_t begin[3];
    for (int a = 0; a < 3; a++) {
        begin[a] = at[a] * w->stride[a] - w->before[a];
    }
    for (int64_t d = 0; d < w->fil[0]; d++) {
        int64_t z = begin[0] + d * w->dilation[0];
        for (int64_t f = 0; f < w->fil[1]; f++) {
            int64_t row = begin[1] + f * w->dilation[1];
            for (int64_t e = 0; e < w->fil[2]; e++) {
                int64_t column = begin[2] + e * w->dilation[2];
                bool is_inside = z >= 0 && z < w->in[0] && row >= 0 && row < w->in[1] &&
                                 column >= 0 && column < w->in[2];
                int64_t place = (z * w->in[1] + row) * w->in[2] + column;
                int64_t tap = (d * w->fil[1] + f) * w->fil[2] + e;
                int64_t taps = w->fil[0] * w->fil[1] * w->fil[2];
                for (int64_t channel = 0; channel < channels; channel++) {
                    panel[(channel * taps + tap) * TILE_COLUMNS + j] =
                        is_inside ? x[channel * plane + place] : c->border;
                }
            }
        }
    }
}

static void convolve_task(void *context, int64_t index)
{
    const struct convolution *c = context;
    const struct host_window *w = &c->window;
    int64_t part = index % c->parts, chunk = index / c->parts % c->chunks;
    int64_t group = index / c->parts / c->chunks;
    int64_t rows = w->k / w->groups;
    int64_t per_part = ((rows + c->parts - 1) / c->parts + TILE_ROWS - 1) / TILE_ROWS * TILE_ROWS;
    int64_t first = MIN(part * per_part, rows), last = MIN(first + per_part, rows);
    g_autofree double *panel = g_new0(double, c->depth *TILE_COLUMNS);
    for (int64_t p = chunk * c->chunk; p < MIN((chunk + 1) * c->chunk, c->panels); p++) {
        double *columns[TILE_COLUMNS];
        int count = 0;
        for (; count < TILE_COLUMNS && p * TILE_COLUMNS + count < w->n * c->pixels; count++) {
            int64_t column = p * TILE_COLUMNS + count;
            int64_t image = column / c->pixels, pixel = column % c->pixels;
            fill_column(c, group, image, pixel, panel, count);
            columns[count] = c->y + (image * w->k + group * rows) * c->pixels + pixel;
        }
        multiply_panel(first, last, c->depth, c->w + group * rows * c->depth, panel, count, columns,
                       c->pixels);
    }
}

void host_convolve(const struct host_window *window, const double *x, const double *w,
                   double border, double *y, int threads)
{
    struct convolution c = {.window = *window, .x = x, .w = w, .border = border, .y = y};
    c.depth = window->c / window->groups * window->fil[0] * window->fil[1] * window->fil[2];
    c.pixels = window->out[0] * window->out[1] * window->out[2];
    c.panels = (window->n * c.pixels + TILE_COLUMNS - 1) / TILE_COLUMNS;
    c.chunk = CLAMP(c.panels / (4 * MAX(threads, 1)), 1, 64);
    c.chunks = (c.panels + c.chunk - 1) / c.chunk;
    c.parts = c.chunks * window->groups >= threads ? 1 : threads;
    host_parallel(window->groups * c.chunks * c.parts, threads, convolve_task, &c);
}

struct transposed {
    const struct host_window *window;
    const double *x, *w;
    double *y;
};

/* One output channel of one image. */
static void transpose_task(void *context, int64_t index)
{
    const struct transposed *t = context;
    const struct host_window *w = t->window;
    int64_t image = index / w->k, channel = index % w->k;
    int64_t in_group = w->c / w->groups, out_group = w->k / w->groups;
    int64_t group = channel / out_group;
    int64_t plane = w->in[0] * w->in[1] * w->in[2], taps = w->fil[0] * w->fil[1] * w->fil[2];
    int64_t pixels = w->out[0] * w->out[1] * w->out[2];
    double *y = t->y + index * pixels;
    memset(y, 0, sizeof(double) * (gsize)pixels);
    for (int64_t c = 0; c < in_group; c++) {
        const double *x = t->x + (image * w->c + group * in_group + c) * plane;
        const double *filter =
            t->w + ((group * in_group + c) * out_group + channel % out_group) * taps;
        for (int64_t i = 0; i < plane * taps; i++) {
            int64_t pixel = i / taps, tap = i % taps;
            int64_t at[3] = {pixel / (w->in[1] * w->in[2]), pixel / w->in[2] % w->in[1],
                             pixel % w->in[2]};
            int64_t f[3] = {tap / (w->fil[1] * w->fil[2]), tap / w->fil[2] % w->fil[1],
                            tap % w->fil[2]};
            int64_t place = 0;
            bool is_inside = true;
            for (int a = 0; a < 3; a++) {
                int64_t o = at[a] * w->stride[a] - w->before[a] + f[a] * w->dilation[a];
                is_inside = is_inside && o >= 0 && o < w->out[a];
                place = place * w->out[a] + o;
            }
            if (is_inside) {
                y[place] += x[pixel] * filter[tap];
            }
        }
    }
}

void host_convolve_transposed(const struct host_window *window, const double *x, const double *w,
                              double *y, int threads)
{
    struct transposed t = {window, x, w, y};
    host_parallel(window->n * window->k, threads, transpose_task, &t);
}

void host_multiply(int64_t m, int64_t n, int64_t k, const double *a, const double *b, double *c,
                   int threads)
{
    /* Each row of `a` is an image of one pixel with k channels. */
    struct host_window window = {.n = m, .c = k, .k = n, .groups = 1};
    for (int i = 0; i < 3; i++) {
        window.in[i] = window.out[i] = window.fil[i] = window.stride[i] = window.dilation[i] = 1;
    }
    host_convolve(&window, a, b, 0, c, threads);
}

/* ---- pools ---- */

struct pooling {
    const struct host_window *window;
    enum host_pool kind;
    bool clips;
    const double *x;
    double *y;
};

/* The taps of a window along one axis: `inside` of them read the input, from `first` on; `padded` are not behind the
 * padding. */
struct taps {
    int64_t begin, first, inside, padded;
};

static struct taps taps_at(const struct host_window *w, int a, int64_t at)
{
    struct taps t = {.begin = at * w->stride[a] - w->before[a]};
    for (int64_t f = 0; f < w->fil[a]; f++) {
        int64_t o = t.begin + f * w->dilation[a];
        t.first += o < 0;
        t.inside += o >= 0 && o < w->in[a];
        t.padded += o < w->in[a] + w->after[a];
    }
    return t;
}

static double pool_one(const struct pooling *p, const double *x, const struct taps t[3])
{
    const struct host_window *w = p->window;
    double largest = -INFINITY, sum = 0;
    for (int64_t d = t[0].first; d < t[0].first + t[0].inside; d++) {
        int64_t z = t[0].begin + d * w->dilation[0];
        for (int64_t f = t[1].first; f < t[1].first + t[1].inside; f++) {
            const double *row =
                x + (z * w->in[1] + t[1].begin + f * w->dilation[1]) * w->in[2] + t[2].begin;
            for (int64_t e = t[2].first; e < t[2].first + t[2].inside; e++) {
                double v = row[e * w->dilation[2]];
                sum += v;
                largest = v > largest || isnan(v) ? v : largest;
            }
        }
    }
    if (p->kind == HOST_POOL_MAX) {
        return largest;
    }
    int64_t divisor = p->kind == HOST_POOL_AVERAGE ? t[0].inside * t[1].inside * t[2].inside
                      : p->clips                   ? t[0].padded * t[1].padded * t[2].padded
                                                   : w->fil[0] * w->fil[1] * w->fil[2];
    return divisor > 0 ? sum / (double)divisor : 0;
}

static void pool_task(void *context, int64_t index)
{
    const struct pooling *p = context;
    const struct host_window *w = p->window;
    int64_t pixels = w->out[0] * w->out[1] * w->out[2];
    const double *x = p->x + index * w->in[0] * w->in[1] * w->in[2];
    double *y = p->y + index * pixels;
    struct taps taps[3];
    for (int64_t d = 0; d < w->out[0]; d++) {
        taps[0] = taps_at(w, 0, d);
        for (int64_t row = 0; row < w->out[1]; row++) {
            taps[1] = taps_at(w, 1, row);
            for (int64_t column = 0; column < w->out[2]; column++) {
                taps[2] = taps_at(w, 2, column);
                *y++ = pool_one(p, x, taps);
            }
        }
    }
}

void host_pool(const struct host_window *window, enum host_pool kind, bool clips, const double *x,
               double *y, int threads)
{
    struct pooling p = {window, kind, clips, x, y};
    host_parallel(window->n * window->c, threads, pool_task, &p);
}

/* ---- softmax, LRN ---- */

struct softmax {
    int64_t axis, inner;
    bool is_log;
    const double *x;
    double *y;
};

static void softmax_rows(void *context, int64_t first, int64_t last)
{
    const struct softmax *s = context;
    for (int64_t i = first; i < last; i++) {
        int64_t base = i / s->inner * s->axis * s->inner + i % s->inner;
        const double *x = s->x + base;
        double *y = s->y + base;
        double largest = -INFINITY, sum = 0;
        for (int64_t j = 0; j < s->axis; j++) {
            largest = MAX(largest, x[j * s->inner]);
        }
        for (int64_t j = 0; j < s->axis; j++) {
            sum += exp(x[j * s->inner] - largest);
        }
        for (int64_t j = 0; j < s->axis; j++) {
            double v = x[j * s->inner] - largest;
            y[j * s->inner] = s->is_log ? v - log(sum) : exp(v) / sum;
        }
    }
}

void host_softmax(int64_t outer, int64_t axis, int64_t inner, bool is_log, const double *x,
                  double *y, int threads)
{
    struct softmax softmax = {axis, inner, is_log, x, y};
    host_parallel_rows(outer * inner, axis, threads, softmax_rows, &softmax);
}

struct lrn {
    int64_t c, space, size;
    double alpha, beta, bias;
    const double *x;
    double *y;
};

static void lrn_piece(void *context, int64_t first, int64_t last)
{
    const struct lrn *l = context;
    for (int64_t i = first; i < last; i++) {
        int64_t channel = i / l->space % l->c;
        int64_t low = MAX(0, channel - (l->size - 1) / 2);
        int64_t high = MIN(l->c - 1, channel + l->size / 2);
        double sum = 0;
        for (int64_t j = low; j <= high; j++) {
            double v = l->x[i + (j - channel) * l->space];
            sum += v * v;
        }
        l->y[i] = l->x[i] / pow(l->bias + l->alpha / (double)l->size * sum, l->beta);
    }
}

void host_lrn(int64_t n, int64_t c, int64_t space, int64_t size, double alpha, double beta,
              double bias, const double *x, double *y, int threads)
{
    struct lrn lrn = {c, space, size, alpha, beta, bias, x, y};
    host_parallel_pieces(n * c * space, threads, lrn_piece, &lrn);
}

/* ---- resize ---- */

/* The place in the input that an output element is taken from, by ONNX's rules. */
static double coordinate(const char *rule, int64_t at, double scale, int64_t in, int64_t out)
{
    double x = (double)at;
    if (strcmp(rule, "asymmetric") == 0) {
        return x / scale;
    }
    if (strcmp(rule, "align_corners") == 0) {
        return out > 1 ? x * (double)(in - 1) / (double)(out - 1) : 0;
    }
    if (strcmp(rule, "pytorch_half_pixel") == 0 && out <= 1) {
        return 0;
    }
    if (strcmp(rule, "half_pixel_symmetric") == 0) {
        double adjustment = (double)out / (scale * (double)in), centre = (double)in / 2;
        return centre * (1 - adjustment) + (x + 0.5) / scale - 0.5;
    }
    return (x + 0.5) / scale - 0.5;
}

static int64_t nearest(const char *rule, double x, int64_t in)
{
    double rounded = strcmp(rule, "floor") == 0               ? floor(x)
                     : strcmp(rule, "ceil") == 0              ? ceil(x)
                     : strcmp(rule, "round_prefer_ceil") == 0 ? floor(x + 0.5)
                                                              : ceil(x - 0.5);
    return (int64_t)CLAMP(rounded, 0, (double)(in - 1));
}

/* One axis of [outer, in, inner] becomes [outer, out, inner]. */
static void resize_axis(int64_t outer, int64_t in, int64_t out, int64_t inner, double scale,
                        bool linear, const char *coordinates, const char *rounding, const double *x,
                        double *y)
{
    for (int64_t i = 0; i < out; i++) {
        double at = coordinate(coordinates, i, scale, in, out), part = 0;
        int64_t low, high;
        if (linear) {
            at = CLAMP(at, 0, (double)(in - 1));
            low = (int64_t)floor(at);
            high = MIN(low + 1, in - 1);
            part = at - (double)low;
        } else {
            low = high = nearest(rounding, at, in);
        }
        for (int64_t o = 0; o < outer; o++) {
            for (int64_t j = 0; j < inner; j++) {
                double a = x[(o * in + low) * inner + j], b = x[(o * in + high) * inner + j];
                y[(o * out + i) * inner + j] = part == 0 ? a : a * (1 - part) + b * part;
            }
        }
    }
}

void host_resize(const struct shape *in, const struct shape *out, const double *scale, bool linear,
                 const char *coordinates, const char *rounding, const double *x, double *y)
{
    struct shape now = *in;
    g_autofree double *current = g_memdup2(x, sizeof(double) * (gsize)shape_elements(in));
    for (int axis = 0; axis < in->rank; axis++) {
        int64_t outer = 1, inner = 1;
        if (in->dim[axis] == out->dim[axis] && scale[axis] == 1) {
            continue;
        }
        for (int i = 0; i < now.rank; i++) {
            outer *= i < axis ? now.dim[i] : 1;
            inner *= i > axis ? now.dim[i] : 1;
        }
        double *next = g_new(double, MAX(outer * out->dim[axis] * inner, 1));
        resize_axis(outer, now.dim[axis], out->dim[axis], inner, scale[axis], linear, coordinates,
                    rounding, current, next);
        g_free(current);
        current = next;
        now.dim[axis] = out->dim[axis];
    }
    memcpy(y, current, sizeof(double) * (gsize)shape_elements(out));
}

/* ---- epilogues ---- */

struct finishing {
    const struct epilogue *epilogue;
    int64_t k, space;
    const double *bias, *residual, *scales;
    bool residual_is_integer;
    int64_t scale_count;
    double *y;
};

/* One channel of one image, step by step. */
static void finish_task(void *context, int64_t index)
{
    const struct finishing *f = context;
    int64_t channel = index % f->k;
    double *y = f->y + index * f->space;
    double bias = f->bias != NULL ? f->bias[channel] : 0;
    double unit = f->residual_is_integer && f->scales != NULL ? f->scales[f->scale_count - 1] : 1;
    for (int s = 0; s < f->epilogue->count; s++) {
        struct epilogue one = {.count = 1, .steps = {f->epilogue->steps[s]}};
        double scale = f->scales != NULL ? f->scales[one.steps[0].per_channel ? channel : 0] : 1;
        for (int64_t i = 0; i < f->space; i++) {
            double residual = f->residual != NULL ? f->residual[index * f->space + i] * unit : 0;
            y[i] = epilogue_apply(&one, y[i], bias, residual, scale);
        }
    }
}

void host_epilogue(const struct epilogue *epilogue, int64_t n, int64_t k, int64_t space,
                   const double *bias, const double *residual, bool residual_is_integer,
                   const double *scales, int64_t scale_count, double *y, int threads)
{
    struct finishing f = {epilogue,    k, space, bias, residual, scales, residual_is_integer,
                          scale_count, y};
    host_parallel(epilogue->count > 0 ? n * k : 0, threads, finish_task, &f);
}
