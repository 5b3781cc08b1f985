#include "tests/support/network/random_network.h"

#include <stdarg.h>
#include <stdbool.h>

/* A value of four axes; its batch is the network's. */
struct picture {
    char name[16];
    int c, h, w;
};

struct writer {
    GRand *rand;
    GPtrArray *lines;
    GArray *pictures; /* struct picture */
    int batch, names;
};

static int below(struct writer *writer, int bound)
{
    return g_rand_int_range(writer->rand, 0, bound);
}

static void line(struct writer *writer, const char *format, ...) G_GNUC_PRINTF(2, 3);

static void line(struct writer *writer, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_ptr_array_add(writer->lines, g_strdup_vprintf(format, arguments));
    va_end(arguments);
}

/* Prefers what was made last, so that networks are deep. */
static struct picture pick(struct writer *writer)
{
    int count = (int)writer->pictures->len;
    int back = below(writer, 3) == 0 ? below(writer, count) : 0;
    return g_array_index(writer->pictures, struct picture, count - 1 - back);
}

static struct picture fresh(struct writer *writer, int c, int h, int w)
{
    struct picture picture = {.c = c, .h = h, .w = w};
    g_snprintf(picture.name, sizeof picture.name, "v%d", writer->names++);
    return picture;
}

static void keep(struct writer *writer, struct picture picture)
{
    g_array_append_val(writer->pictures, picture);
}

/* ---- operators: each reads what pick() gives and keeps its result ---- */

static void write_conv(struct writer *writer)
{
    static const int sizes[] = {1, 1, 3, 3, 2};
    struct picture x = pick(writer);
    int k = sizes[below(writer, G_N_ELEMENTS(sizes))], stride = 1 + (below(writer, 4) == 0);
    int dilation = k > 1 && below(writer, 5) == 0 ? 2 : 1, groups = 1;
    int reach = (k - 1) * dilation, before = below(writer, k), after = below(writer, k);
    switch (below(writer, 4)) {
    case 0: groups = x.c; break;
    case 1: groups = x.c % 2 == 0 ? 2 : 1; break;
    default: break;
    }
    int per_group = groups == x.c ? 1 : 1 + below(writer, 5);
    if (x.h + before + after <= reach || x.w + before + after <= reach) {
        return;
    }
    struct picture y =
        fresh(writer, groups * per_group, (x.h + before + after - reach - 1) / stride + 1,
              (x.w + before + after - reach - 1) / stride + 1);
    line(writer, "weight %s.w %d,%d,%d,%d", y.name, y.c, x.c / groups, k, k);
    bool has_bias = below(writer, 2) == 0;
    if (has_bias) {
        line(writer, "weight %s.b %d", y.name, y.c);
    }
    line(writer,
         "Conv %s %s.w%s%s%s = %s kernel_shape=[%d,%d] pads=[%d,%d,%d,%d] strides=[%d,%d] "
         "dilations=[%d,%d] group=%d",
         x.name, y.name, has_bias ? " " : "", has_bias ? y.name : "", has_bias ? ".b" : "", y.name,
         k, k, before, before, after, after, stride, stride, dilation, dilation, groups);
    keep(writer, y);
}

static void write_transposed(struct writer *writer)
{
    struct picture x = pick(writer);
    if (x.h > 16) {
        return;
    }
    struct picture y = fresh(writer, 1 + below(writer, 4), 2 * x.h, 2 * x.w);
    line(writer, "weight %s.w %d,%d,2,2", y.name, x.c, y.c);
    line(writer, "ConvTranspose %s %s.w = %s strides=[2,2]", x.name, y.name, y.name);
    keep(writer, y);
}

static void write_normalisation(struct writer *writer)
{
    struct picture x = pick(writer), y = fresh(writer, x.c, x.h, x.w);
    line(writer, "scale %s.s %d", y.name, x.c);
    line(writer, "weight %s.b %d", y.name, x.c);
    line(writer, "weight %s.m %d", y.name, x.c);
    line(writer, "scale %s.v %d", y.name, x.c);
    line(writer, "BatchNormalization %s %s.s %s.b %s.m %s.v = %s", x.name, y.name, y.name, y.name,
         y.name, y.name);
    keep(writer, y);
}

static void write_activation(struct writer *writer)
{
    static const char *const ops[] = {"Relu", "LeakyRelu",   "Sigmoid", "HardSwish", "Tanh",
                                      "Elu",  "HardSigmoid", "Abs",     "Neg",       "Identity"};
    struct picture x = pick(writer), y = fresh(writer, x.c, x.h, x.w);
    int which = below(writer, G_N_ELEMENTS(ops) + 2);
    if (which == G_N_ELEMENTS(ops)) {
        line(writer, "number %s.l 0", y.name);
        line(writer, "number %s.h 6", y.name);
        line(writer, "Clip %s %s.l %s.h = %s", x.name, y.name, y.name, y.name);
    } else if (which > (int)G_N_ELEMENTS(ops)) {
        line(writer, "Sigmoid %s = %s.s", x.name, y.name);
        line(writer, "Mul %s %s.s = %s", x.name, y.name, y.name);
    } else {
        line(writer, "%s %s = %s", ops[which], x.name, y.name);
    }
    keep(writer, y);
}

static void write_binary(struct writer *writer)
{
    static const char *const ops[] = {"Add", "Add", "Mul", "Sub", "Max"};
    const char *op = ops[below(writer, G_N_ELEMENTS(ops))];
    struct picture x = pick(writer), y = fresh(writer, x.c, x.h, x.w);
    for (guint i = 0; i < writer->pictures->len; i++) {
        struct picture *other = &g_array_index(writer->pictures, struct picture, i);
        bool fits = (other->c == x.c || other->c == 1) && (other->h == x.h || other->h == 1) &&
                    (other->w == x.w || other->w == 1);
        if (fits && below(writer, 2) == 0) {
            bool turns = below(writer, 2) == 0;
            line(writer, "%s %s %s = %s", op, turns ? other->name : x.name,
                 turns ? x.name : other->name, y.name);
            keep(writer, y);
            return;
        }
    }
    int form = below(writer, 3);
    g_autofree char *dims = form == 0   ? g_strdup_printf("%d,1,1", x.c)
                            : form == 1 ? g_strdup_printf("1,%d,1,1", x.c)
                                        : g_strdup_printf("%d,%d", x.h, x.w);
    line(writer, "weight %s.k %s", y.name, dims);
    if (below(writer, 2) == 0) {
        line(writer, "%s %s %s.k = %s", op, x.name, y.name, y.name);
    } else {
        line(writer, "%s %s.k %s = %s", op, y.name, x.name, y.name);
    }
    keep(writer, y);
}

static void write_join(struct writer *writer)
{
    struct picture x = pick(writer);
    for (guint i = 0; i < writer->pictures->len; i++) {
        struct picture *other = &g_array_index(writer->pictures, struct picture, i);
        if (other->h == x.h && other->w == x.w && other->c + x.c <= 24) {
            struct picture y = fresh(writer, x.c + other->c, x.h, x.w);
            line(writer, "Concat %s %s = %s axis=1", other->name, x.name, y.name);
            keep(writer, y);
            return;
        }
    }
}

static void write_split(struct writer *writer)
{
    struct picture x = pick(writer);
    if (x.c < 2) {
        return;
    }
    struct picture y = fresh(writer, 1 + below(writer, x.c - 1), x.h, x.w);
    struct picture z = fresh(writer, x.c - y.c, x.h, x.w);
    if (below(writer, 2) == 0) {
        line(writer, "ints %s.n %d,%d", y.name, y.c, z.c);
        line(writer, "Split %s %s.n = %s %s axis=1", x.name, y.name, y.name, z.name);
        keep(writer, y);
    } else {
        line(writer, "ints %s.f %d", z.name, y.c);
        line(writer, "ints %s.t %d", z.name, x.c);
        line(writer, "ints %s.a 1", z.name);
        line(writer, "Slice %s %s.f %s.t %s.a = %s", x.name, z.name, z.name, z.name, z.name);
    }
    keep(writer, z);
}

static void write_pool(struct writer *writer)
{
    struct picture x = pick(writer);
    int k = 2 + below(writer, 2), stride = 1 + below(writer, 2), pad = below(writer, 2);
    if (x.h + 2 * pad < k || x.w + 2 * pad < k) {
        return;
    }
    struct picture y =
        fresh(writer, x.c, (x.h + 2 * pad - k) / stride + 1, (x.w + 2 * pad - k) / stride + 1);
    bool is_average = below(writer, 2) == 0;
    line(writer, "%s %s = %s kernel_shape=[%d,%d] pads=[%d,%d,%d,%d] strides=[%d,%d]%s",
         is_average ? "AveragePool" : "MaxPool", x.name, y.name, k, k, pad, pad, pad, pad, stride,
         stride, is_average && below(writer, 2) == 0 ? " count_include_pad=1" : "");
    keep(writer, y);
}

static void write_mean(struct writer *writer)
{
    struct picture x = pick(writer), y = fresh(writer, x.c, 1, 1);
    line(writer,
         below(writer, 2) == 0 ? "GlobalAveragePool %s = %s"
                               : "ReduceMean %s = %s axes=[2,3] keepdims=1",
         x.name, y.name);
    keep(writer, y);
}

/* Squeeze and excite. */
static void write_excite(struct writer *writer)
{
    struct picture x = pick(writer), y = fresh(writer, x.c, x.h, x.w);
    line(writer, "GlobalAveragePool %s = %s.p", x.name, y.name);
    line(writer, "weight %s.w %d,%d,1,1", y.name, x.c, x.c);
    line(writer, "Conv %s.p %s.w = %s.c", y.name, y.name, y.name);
    line(writer, "%s %s.c = %s.g", below(writer, 2) == 0 ? "Sigmoid" : "HardSigmoid", y.name,
         y.name);
    line(writer, "Mul %s %s.g = %s", x.name, y.name, y.name);
    keep(writer, y);
}

/* The shuffle of channels of two groups. */
static void write_shuffle(struct writer *writer)
{
    struct picture x = pick(writer), y = fresh(writer, x.c, x.h, x.w);
    if (x.c % 2 != 0) {
        return;
    }
    line(writer, "ints %s.a %d,2,%d,%d,%d", y.name, writer->batch, x.c / 2, x.h, x.w);
    line(writer, "ints %s.b %d,%d,%d,%d", y.name, writer->batch, x.c, x.h, x.w);
    line(writer, "Reshape %s %s.a = %s.r", x.name, y.name, y.name);
    line(writer, "Transpose %s.r = %s.t perm=[0,2,1,3,4]", y.name, y.name);
    line(writer, "Reshape %s.t %s.b = %s", y.name, y.name, y.name);
    keep(writer, y);
}

static void write_turn(struct writer *writer)
{
    struct picture x = pick(writer), y = fresh(writer, x.c, x.w, x.h);
    line(writer, "Transpose %s = %s perm=[0,1,3,2]", x.name, y.name);
    keep(writer, y);
}

static void write_border(struct writer *writer)
{
    struct picture x = pick(writer), y = fresh(writer, x.c, x.h + 1, x.w + 2);
    line(writer, "ints %s.p 0,0,1,0,0,0,0,2", y.name);
    line(writer, "Pad %s %s.p = %s", x.name, y.name, y.name);
    keep(writer, y);
}

static void write_resize(struct writer *writer)
{
    struct picture x = pick(writer), y = fresh(writer, x.c, 2 * x.h, 2 * x.w);
    if (x.h > 16) {
        return;
    }
    line(writer, "floats %s.s 1,1,2,2", y.name);
    line(writer,
         "Resize %s - %s.s = %s mode=nearest coordinate_transformation_mode=asymmetric "
         "nearest_mode=floor",
         x.name, y.name, y.name);
    keep(writer, y);
}

static void write_softmax(struct writer *writer)
{
    struct picture x = pick(writer), y = fresh(writer, x.c, x.h, x.w);
    line(writer, "Softmax %s = %s axis=%d", x.name, y.name, 1 + below(writer, 3));
    keep(writer, y);
}

typedef void (*write_op)(struct writer *writer);
static const write_op ops[] = {
    write_conv,    write_conv,          write_conv,       write_conv,   write_conv,
    write_conv,    write_normalisation, write_activation, write_binary, write_normalisation,
    write_join,    write_activation,    write_activation, write_binary, write_binary,
    write_split,   write_pool,          write_mean,       write_excite, write_shuffle,
    write_turn,    write_border,        write_resize,     write_pool,   write_transposed,
    write_softmax,
};

/* ---- the network ---- */

/* A classifier, or the last picture; and now and then a value from within. */
static void write_end(struct writer *writer)
{
    struct picture x = g_array_index(writer->pictures, struct picture, writer->pictures->len - 1);
    if (below(writer, 2) == 0) {
        line(writer, "GlobalAveragePool %s = end.p", x.name);
        line(writer, "Flatten end.p = end.f");
        line(writer, "weight end.w 5,%d", x.c);
        line(writer, "weight end.b 5");
        line(writer, "Gemm end.f end.w end.b = end transB=1");
        line(writer, "output end");
    } else {
        line(writer, "output %s", x.name);
    }
    if (below(writer, 3) == 0 && writer->pictures->len > 2) {
        guint index = (guint)(1 + below(writer, (int)writer->pictures->len - 2));
        line(writer, "output %s", g_array_index(writer->pictures, struct picture, index).name);
    }
}

char **random_network(guint32 seed, int nodes)
{
    struct writer writer = {
        .rand = g_rand_new_with_seed(seed),
        .lines = g_ptr_array_new(),
        .pictures = g_array_new(FALSE, TRUE, sizeof(struct picture)),
    };
    writer.batch = 1 + below(&writer, 2);
    int c = 1 + below(&writer, 8), h = 4 + below(&writer, 7), w = 4 + below(&writer, 7);
    struct picture x = fresh(&writer, c, h, w);
    line(&writer, "input %s %d,%d,%d,%d", x.name, writer.batch, x.c, x.h, x.w);
    keep(&writer, x);
    write_conv(&writer);
    for (int i = 0; i < nodes; i++) {
        ops[below(&writer, G_N_ELEMENTS(ops))](&writer);
    }
    if (writer.pictures->len == 1) {
        write_activation(&writer);
    }
    write_end(&writer);
    g_ptr_array_add(writer.lines, NULL);
    g_array_unref(writer.pictures);
    g_rand_free(writer.rand);
    return (char **)g_ptr_array_free(writer.lines, FALSE);
}
