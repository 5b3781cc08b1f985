/*
 * References of the operators that are not convolutions. Each is computed in parts: a plane (the positions of one image's
 * channel), for softmax an image. A limit leaves positions out of each part (reference_columns.h).
 *
 * An element's magnitude is what its rounding errors grow with: the sum of the absolute elements of a mean, the largest
 * element that a resize is made of, and for powers the result times its exponent, by which a power's relative error grows.
 */
#include <math.h>
#include <string.h>

#include "worker/verify/parallel.h"
#include "worker/verify/reference_columns.h"
#include "worker/verify/reference_kinds.h"

/* A problem under way on several threads. */
struct work {
    const struct problem *p;
    const double *x;
    struct reference *out;
    void (*part)(const struct work *work, int64_t part);
    struct reference_columns kept;
};

static int64_t volume(const int64_t size[AXIS_COUNT])
{
    return size[AXIS_D] * size[AXIS_H] * size[AXIS_W];
}

/* Steps a position to the next one, the innermost axis first. */
static void step_position(const int64_t size[AXIS_COUNT], int64_t at[AXIS_COUNT])
{
    for (int a = AXIS_COUNT - 1; a >= 0 && ++at[a] == size[a]; a--)
        at[a] = 0;
}

static void store(const struct work *work, int64_t index, double value, double magnitude)
{
    work->out->value[index] = value;
    work->out->magnitude[index] = (float)magnitude;
}

/* Whether a position of a plane is computed. */
static bool is_kept(const struct work *work, int64_t plane, int64_t position)
{
    return reference_position_is_kept(&work->kept, plane / work->p->c, plane % work->p->c,
                                      position);
}

/* ---- computing ---- */

static void compute_part(void *data, int64_t part)
{
    struct work *work = data;

    work->part(work, part);
}

void reference_range(const struct problem *p, double *least, double *most)
{
    enum data_type type = p->epilogue[0] == '\0' ? p->type[TENSOR_Y] : TYPE_NONE;

    *least = type == TYPE_INT8 ? INT8_MIN : type == TYPE_INT32 ? INT32_MIN : -INFINITY;
    *most = type == TYPE_INT8 ? INT8_MAX : type == TYPE_INT32 ? INT32_MAX : INFINITY;
}

static void limit_to_type(const struct problem *p, struct reference *out)
{
    double least, most;

    reference_range(p, &least, &most);
    for (int64_t i = 0; isfinite(most) && i < out->count; i++) {
        if (!isnan(out->value[i]))
            out->value[i] = fmin(fmax(out->value[i], least), most);
    }
}

static void compute(const struct problem *p, const double *x, int threads, double work_limit,
                    int64_t parts, double terms, void (*part)(const struct work *, int64_t),
                    struct reference *out)
{
    struct work work = {.p = p, .x = x, .out = out, .part = part};
    bool in_part = work_limit > 0 && terms > work_limit;

    reference_columns_init(&work.kept, p, in_part ? (int64_t)ceil(terms / work_limit) : 1);
    parallel_parts(threads, parts, compute_part, &work);
    limit_to_type(p, out);
}

/* ---- pool ---- */

/* The filter positions of a window on one axis that lie inside: first, first + 1, ... below end. */
struct inside {
    int64_t begin, first, end;
};

static struct inside inside_of(const struct problem *p, int axis, int64_t position)
{
    int64_t begin = position * p->stride[axis] - p->pad[axis], dilation = p->dilation[axis];
    struct inside inside = {begin, begin < 0 ? (-begin + dilation - 1) / dilation : 0, 0};

    inside.end = MIN((p->in[axis] - begin + dilation - 1) / dilation, p->fil[axis]);
    return inside;
}

struct pooled {
    double sum, magnitude, largest;
    int64_t count;
};

static struct pooled pool_window(const struct problem *p, const double *plane,
                                 const int64_t at[AXIS_COUNT])
{
    struct pooled pooled = {0, 0, -INFINITY, 0};
    struct inside d = inside_of(p, AXIS_D, at[AXIS_D]), h = inside_of(p, AXIS_H, at[AXIS_H]);
    struct inside w = inside_of(p, AXIS_W, at[AXIS_W]);

    for (int64_t i = d.first; i < d.end; i++) {
        for (int64_t j = h.first; j < h.end; j++) {
            int64_t row = ((d.begin + i * p->dilation[AXIS_D]) * p->in[AXIS_H] + h.begin +
                           j * p->dilation[AXIS_H]) *
                          p->in[AXIS_W];
            for (int64_t k = w.first; k < w.end; k++) {
                double element = plane[row + w.begin + k * p->dilation[AXIS_W]];
                pooled.sum += element;
                pooled.magnitude += fabs(element);
                pooled.largest = fmax(pooled.largest, element);
                pooled.count++;
            }
        }
    }
    return pooled;
}

static void pool_part(const struct work *work, int64_t part)
{
    const struct problem *p = work->p;
    const double *plane = work->x + part * volume(p->in);
    bool is_max = strcmp(p->mode, "max") == 0, is_all = strcmp(p->mode, "average_all") == 0;
    int64_t at[AXIS_COUNT] = {0}, first = part * volume(p->out);

    for (int64_t i = 0; i < volume(p->out); i++, step_position(p->out, at)) {
        if (!is_kept(work, part, i))
            continue;
        struct pooled pooled = pool_window(p, plane, at);
        double divisor = (double)(is_all ? volume(p->fil) : pooled.count);
        if (is_max)
            store(work, first + i, pooled.largest, fabs(pooled.largest));
        else
            store(work, first + i, pooled.sum / divisor, pooled.magnitude / divisor);
    }
}

static double pool_length(const struct problem *p)
{
    return strcmp(p->mode, "max") == 0 ? 1 : (double)volume(p->fil);
}

static void pool_compute(const struct problem *p, const double *const dense[OPERAND_COUNT],
                         int threads, double work_limit, struct reference *out)
{
    compute(p, dense[TENSOR_X], threads, work_limit, p->n * p->c, problem_macs(p), pool_part, out);
}

const struct reference_kind reference_pool = {.length = pool_length, .compute = pool_compute};

/* ---- pointwise ---- */

static void pointwise_part(const struct work *work, int64_t part)
{
    int64_t plane = volume(work->p->out);

    for (int64_t i = part * plane; i < (part + 1) * plane; i++)
        store(work, i, work->x[i], fabs(work->x[i]));
}

static double pointwise_length(const struct problem *p)
{
    (void)p;
    return 1;
}

static void pointwise_compute(const struct problem *p, const double *const dense[OPERAND_COUNT],
                              int threads, double work_limit, struct reference *out)
{
    (void)work_limit;
    compute(p, dense[TENSOR_X], threads, 0, p->n * p->c, 0, pointwise_part, out);
}

const struct reference_kind reference_pointwise = {.length = pointwise_length,
                                                   .compute = pointwise_compute};

/* ---- softmax ---- */

static void softmax_row(const struct work *work, int64_t first, int64_t step)
{
    const struct problem *p = work->p;
    bool is_log = strcmp(p->mode, "log") == 0;
    double largest = -INFINITY, sum = 0;

    for (int64_t c = 0; c < p->c; c++)
        largest = fmax(largest, work->x[first + c * step]);
    for (int64_t c = 0; c < p->c; c++)
        sum += exp(work->x[first + c * step] - largest);
    for (int64_t c = 0; c < p->c; c++) {
        double power = work->x[first + c * step] - largest, value = exp(power) / sum;
        if (is_log)
            store(work, first + c * step, power - log(sum), fabs(power) + log(sum) + 1);
        else
            store(work, first + c * step, value, value * (4 + fabs(power)));
    }
}

static void softmax_part(const struct work *work, int64_t part)
{
    int64_t positions = volume(work->p->out);

    for (int64_t i = 0; i < positions; i++) {
        if (reference_column_is_kept(&work->kept, 0, part * positions + i))
            softmax_row(work, part * work->p->c * positions + i, positions);
    }
}

static double softmax_length(const struct problem *p)
{
    return (double)p->c;
}

static void softmax_compute(const struct problem *p, const double *const dense[OPERAND_COUNT],
                            int threads, double work_limit, struct reference *out)
{
    compute(p, dense[TENSOR_X], threads, work_limit, p->n, 3 * problem_macs(p), softmax_part, out);
}

const struct reference_kind reference_softmax = {.length = softmax_length,
                                                 .compute = softmax_compute};

/* ---- resize ---- */

/* The positions of x that an output position of an axis is made of: near, and far with the share `share`. */
struct source {
    int64_t near, far;
    double share;
};

static int64_t divide_down(int64_t a, int64_t by)
{
    return a / by - (a % by < 0);
}

static int64_t round_fraction(const char *rounding, int64_t above, int64_t below)
{
    if (strcmp(rounding, "floor") == 0)
        return divide_down(above, below);
    if (strcmp(rounding, "ceil") == 0)
        return -divide_down(-above, below);
    if (strcmp(rounding, "round_prefer_floor") == 0)
        return -divide_down(below - 2 * above, 2 * below);
    return divide_down(2 * above + below, 2 * below);
}

/* The position in x is above / below, by the formulas of ONNX's Resize with a scale of out / in. */
static struct source source_of(char *const *mode, int64_t position, int64_t in, int64_t out)
{
    int64_t above = (2 * position + 1) * in - out, below = 2 * out;
    struct source source = {0};

    if (strcmp(mode[1], "asymmetric") == 0) {
        above = position * in;
        below = out;
    } else if (strcmp(mode[1], "align_corners") == 0) {
        above = out > 1 ? position * (in - 1) : 0;
        below = out > 1 ? out - 1 : 1;
    } else if (strcmp(mode[1], "pytorch_half_pixel") == 0 && out == 1) {
        above = 0;
    }
    if (strcmp(mode[0], "linear") == 0) {
        source.near = divide_down(above, below);
        source.share = (double)(above - source.near * below) / (double)below;
        source.far = CLAMP(source.near + 1, 0, in - 1);
    } else {
        source.near = round_fraction(mode[2], above, below);
    }
    source.near = CLAMP(source.near, 0, in - 1);
    return source;
}

static void resize_element(const struct work *work, const struct source source[AXIS_COUNT],
                           const double *plane, int64_t index)
{
    const int64_t *in = work->p->in;
    double value = 0, magnitude = 0;

    for (int corner = 0; corner < 1 << AXIS_COUNT; corner++) {
        double weight = 1;
        int64_t offset = 0;
        for (int a = 0; a < AXIS_COUNT; a++) {
            bool far = (corner >> a & 1) != 0;
            weight *= far ? source[a].share : 1 - source[a].share;
            offset = offset * in[a] + (far ? source[a].far : source[a].near);
        }
        if (weight == 0)
            continue;
        value += weight * plane[offset];
        magnitude = fmax(magnitude, fabs(plane[offset]));
    }
    store(work, index, value, magnitude);
}

static void resize_part(const struct work *work, int64_t part)
{
    const struct problem *p = work->p;
    const double *plane = work->x + part * volume(p->in);
    g_auto(GStrv) mode = g_strsplit(p->mode, ",", -1);
    struct source *along[AXIS_COUNT];
    int64_t at[AXIS_COUNT] = {0};

    for (int a = 0; a < AXIS_COUNT; a++) {
        along[a] = g_new(struct source, p->out[a]);
        for (int64_t i = 0; i < p->out[a]; i++)
            along[a][i] = source_of(mode, i, p->in[a], p->out[a]);
    }
    for (int64_t i = 0; i < volume(p->out); i++, step_position(p->out, at)) {
        struct source source[AXIS_COUNT];
        if (!is_kept(work, part, i))
            continue;
        for (int a = 0; a < AXIS_COUNT; a++)
            source[a] = along[a][at[a]];
        resize_element(work, source, plane, part * volume(p->out) + i);
    }
    for (int a = 0; a < AXIS_COUNT; a++)
        g_free(along[a]);
}

static double resize_length(const struct problem *p)
{
    return g_str_has_prefix(p->mode, "linear") ? 1 << AXIS_COUNT : 1;
}

static void resize_compute(const struct problem *p, const double *const dense[OPERAND_COUNT],
                           int threads, double work_limit, struct reference *out)
{
    compute(p, dense[TENSOR_X], threads, work_limit, p->n * p->c,
            resize_length(p) * problem_macs(p), resize_part, out);
}

const struct reference_kind reference_resize = {.length = resize_length, .compute = resize_compute};

/* ---- local response normalisation ---- */

struct lrn_mode lrn_mode_of(const struct problem *p)
{
    g_auto(GStrv) words = g_strsplit(p->mode, ",", 4);

    return (struct lrn_mode){g_ascii_strtod(words[0], NULL), g_ascii_strtod(words[1], NULL),
                             g_ascii_strtod(words[2], NULL), g_ascii_strtod(words[3], NULL)};
}

static void lrn_part(const struct work *work, int64_t part)
{
    const struct problem *p = work->p;
    const struct lrn_mode lrn = lrn_mode_of(p);
    int64_t plane = volume(p->out), channel = part % p->c;
    const double *image = work->x + (part - channel) * plane;
    double first = (double)channel - floor((lrn.size - 1) / 2);
    double last = fmin(first + lrn.size - 1, (double)p->c - 1);

    for (int64_t i = 0; i < plane; i++) {
        double sum = 0, x = image[channel * plane + i], value, base;
        if (!is_kept(work, part, i))
            continue;
        for (int64_t c = (int64_t)fmax(first, 0); c <= (int64_t)last; c++)
            sum += image[c * plane + i] * image[c * plane + i];
        base = lrn.bias + lrn.alpha / lrn.size * sum;
        value = x / pow(base, lrn.beta);
        store(work, part * plane + i, value,
              fabs(value) * (4 + fabs(lrn.beta) * (4 + fabs(log(base)))));
    }
}

static double lrn_length(const struct problem *p)
{
    return fmin(lrn_mode_of(p).size, (double)p->c);
}

static void lrn_compute(const struct problem *p, const double *const dense[OPERAND_COUNT],
                        int threads, double work_limit, struct reference *out)
{
    compute(p, dense[TENSOR_X], threads, work_limit, p->n * p->c, lrn_length(p) * problem_macs(p),
            lrn_part, out);
}

const struct reference_kind reference_lrn = {.length = lrn_length, .compute = lrn_compute};
