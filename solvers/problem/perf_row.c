#include "solvers/problem/problem_key.h"
#include "solvers/problem/problem_sides.h"
#include "solvers/problem/text_cursor.h"

#include <inttypes.h>
#include <string.h>

const char *const perf_row_columns[PERF_ROW_INTS] = {
    "spatial_dim", "in_channels",   "in_h",          "in_w",          "in_d",       "fil_h",
    "fil_w",       "fil_d",         "out_channels",  "batchsize",     "pad_h",      "pad_w",
    "pad_d",       "conv_stride_h", "conv_stride_w", "conv_stride_d", "dilation_h", "dilation_w",
    "dilation_d",  "bias",          "group_count",
};

/* Indices into values[]. IN, FIL, PAD, STRIDE and DILATION are the first of three numbers each, in the order h, w,
 * d. */
enum { SPATIAL_DIM, IN_CHANNELS, IN, FIL = 5, OUT_CHANNELS = 8, BATCH, PAD, STRIDE = 13 };
enum { DILATION = 16, BIAS = 19, GROUPS };

static const enum axis row_axes[AXIS_COUNT] = {AXIS_H, AXIS_W, AXIS_D};

static void put_sizes(struct perf_row *row, int index, const int64_t *sizes)
{
    for (int i = 0; i < AXIS_COUNT; i++) {
        row->values[index + i] = sizes[row_axes[i]];
    }
}

static void get_sizes(const struct perf_row *row, int index, int64_t *sizes)
{
    for (int i = 0; i < AXIS_COUNT; i++) {
        sizes[row_axes[i]] = row->values[index + i];
    }
}

void perf_row_from_problem(const struct problem *p, struct perf_row *row)
{
    struct problem_sides sides;
    struct problem copy = *p;
    problem_sides_init(&sides, p->direction);
    memset(row, 0, sizeof *row);
    row->values[SPATIAL_DIM] = p->spatial_dim;
    row->values[IN_CHANNELS] = *problem_channels(&copy, sides.in);
    row->values[OUT_CHANNELS] = *problem_channels(&copy, sides.out);
    row->values[BATCH] = p->n;
    row->values[BIAS] = p->bias;
    row->values[GROUPS] = p->groups;
    put_sizes(row, IN, problem_spatial(&copy, sides.in));
    put_sizes(row, FIL, p->fil);
    put_sizes(row, PAD, p->pad);
    put_sizes(row, STRIDE, p->stride);
    put_sizes(row, DILATION, p->dilation);
    if (p->spatial_dim == 2) {
        row->values[STRIDE + 2] = row->values[DILATION + 2] = 0;
    }
    g_strlcpy(row->layout, layout_name(p->layout[sides.in]), sizeof row->layout);
    problem_types_name(p, row->data_type);
    row->direction[0] = direction_letter(p->direction);
}

G_GNUC_PRINTF(3, 4)
static bool fail(enum solvers_error code, GError **error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    GError *made = g_error_new_valist(SOLVERS_ERROR, (gint)code, format, arguments);
    va_end(arguments);
    g_propagate_error(error, made);
    return false;
}

static bool texts_to_problem(const struct perf_row *row, struct problem *p, GError **error)
{
    struct text_cursor types = {row->data_type, row->data_type};
    enum layout layout;
    if (row->direction[0] == '\0' || row->direction[1] != '\0' ||
        !direction_parse(row->direction[0], &p->direction)) {
        return fail(SOLVERS_ERROR_SYNTAX, error, "the direction '%s' is none of F, B, W",
                    row->direction);
    }
    if (!layout_parse(row->layout, &layout)) {
        return fail(SOLVERS_ERROR_SYNTAX, error, "the layout '%s' is not known", row->layout);
    }
    p->layout[TENSOR_X] = p->layout[TENSOR_W] = p->layout[TENSOR_Y] = layout;
    const char *wrong = problem_take_types(&types, p);
    if (wrong != NULL || *types.at != '\0') {
        return fail(SOLVERS_ERROR_SYNTAX, error, "the data type '%s' is not known", row->data_type);
    }
    return true;
}

/* Checks that the depth fields of a 2D row have MIOpen's neutral values, and sets the problem's depth fields to our
 * neutral values. */
static bool neutral_depth(const struct perf_row *row, struct problem *p, GError **error)
{
    if (p->spatial_dim == 3) {
        return true;
    }
    if (row->values[IN + 2] != 1 || row->values[FIL + 2] != 1 || row->values[PAD + 2] != 0 ||
        row->values[STRIDE + 2] != 0 || row->values[DILATION + 2] != 0) {
        return fail(SOLVERS_ERROR_INVALID, error,
                    "a 2D row has in_d and fil_d 1, pad_d, conv_stride_d and dilation_d 0");
    }
    p->in[AXIS_D] = p->out[AXIS_D] = 1;
    p->stride[AXIS_D] = p->dilation[AXIS_D] = 1;
    return true;
}

/* Sets the least forward input that gives this output. B and W rows have only the output's size. */
static void set_least_input(struct problem *p)
{
    for (int a = 0; a < AXIS_COUNT; a++) {
        int64_t size =
            p->stride[a] * (p->out[a] - 1) + p->dilation[a] * (p->fil[a] - 1) + 1 - 2 * p->pad[a];
        p->in[a] = MAX(size, 1);
    }
}

static bool in_range(const struct perf_row *row, GError **error)
{
    for (int i = 0; i < PERF_ROW_INTS; i++) {
        if (row->values[i] < 0 || row->values[i] > INT32_MAX) {
            return fail(SOLVERS_ERROR_INVALID, error, "%s is %" PRId64 ", out of range",
                        perf_row_columns[i], row->values[i]);
        }
    }
    return true;
}

bool perf_row_to_problem(const struct perf_row *row, struct problem *p, GError **error)
{
    struct problem made;
    struct problem_sides sides;
    problem_init(&made);
    if (!in_range(row, error) || !texts_to_problem(row, &made, error)) {
        return false;
    }
    problem_sides_init(&sides, made.direction);
    made.spatial_dim = (int)row->values[SPATIAL_DIM];
    *problem_channels(&made, sides.in) = row->values[IN_CHANNELS];
    *problem_channels(&made, sides.out) = row->values[OUT_CHANNELS];
    made.n = row->values[BATCH];
    made.bias = (int)row->values[BIAS];
    made.groups = row->values[GROUPS];
    get_sizes(row, IN, problem_spatial(&made, sides.in));
    get_sizes(row, FIL, made.fil);
    get_sizes(row, PAD, made.pad);
    get_sizes(row, STRIDE, made.stride);
    get_sizes(row, DILATION, made.dilation);
    if (!neutral_depth(row, &made, error)) {
        return false;
    }
    if (made.direction == DIRECTION_F) {
        problem_set_output(&made);
    } else {
        set_least_input(&made);
    }
    *p = made;
    return problem_validate(&made, error);
}

const char *perf_row_key(const struct perf_row *row, char buffer[PROBLEM_KEY_MAX])
{
    struct text_writer writer;
    text_writer_init(&writer, buffer, PROBLEM_KEY_MAX);
    for (int i = 0; i < PERF_ROW_INTS; i++) {
        text_write(&writer, "%" PRId64 "x", row->values[i]);
    }
    text_write(&writer, "%sx%sx%s", row->layout, row->data_type, row->direction);
    return buffer;
}

bool perf_row_key_parse(const char *key, struct perf_row *row, GError **error)
{
    struct text_cursor cursor = {key, key};
    struct perf_row made;
    memset(&made, 0, sizeof made);
    for (int i = 0; i < PERF_ROW_INTS; i++) {
        if (!text_take_number(&cursor, &made.values[i]) || !text_take_char(&cursor, 'x')) {
            g_autofree char *what =
                g_strdup_printf("expected the number %s and 'x'", perf_row_columns[i]);
            return text_fail(&cursor, what, error);
        }
    }
    if (!text_take_word(&cursor, "x", made.layout, sizeof made.layout) ||
        !text_take_char(&cursor, 'x') ||
        !text_take_word(&cursor, "x", made.data_type, sizeof made.data_type) ||
        !text_take_char(&cursor, 'x') ||
        !text_take_word(&cursor, "x", made.direction, sizeof made.direction) ||
        *cursor.at != '\0') {
        return text_fail(&cursor, "expected layout, data type and direction joined by 'x'", error);
    }
    *row = made;
    return true;
}
