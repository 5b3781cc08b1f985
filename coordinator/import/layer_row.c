#include "coordinator/import/layer_row.h"

#include "coordinator/import/layer_cells.h"

#include <inttypes.h>
#include <string.h>

G_GNUC_PRINTF(2, 3)
static void set_invalid(GError **error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    GError *made = g_error_new_valist(EXPORT_ERROR, EXPORT_ERROR_SYNTAX, format, arguments);
    va_end(arguments);
    g_propagate_error(error, made);
}

/* Always false. A macro instead of the function's result, so that compiler and clang-tidy know
 * it. */
#define invalid(...) (set_invalid(__VA_ARGS__), false)

static const char axis_letters[] = "dhw";

/* ---- which fields the cells give ---- */

static bool is_said(const struct layer_row *row, int field)
{
    return row->said_by[field] > 0;
}

static const char *name_of(const struct layer_row *row, int cell)
{
    return row->header->cells[cell].name;
}

/* Always false. */
static bool contradiction(const struct layer_row *row, int a, int b, GError **error)
{
    return invalid(error, "columns '%s' ('%.40s') and '%s' ('%.40s') contradict each other",
                   name_of(row, a), row->cells[a], name_of(row, b), row->cells[b]);
}

/* Sets a field to the value of a cell. Fails if another cell gave the field a different value. */
static bool say(struct layer_row *row, int field, int64_t value, int cell, GError **error)
{
    int other = row->said_by[field] - 1;
    if (other >= 0 && row->values[field] != value) {
        return contradiction(row, other, cell, error);
    }
    if (other < 0) {
        row->values[field] = value;
        row->said_by[field] = cell + 1;
    }
    return true;
}

/* Puts the column in front of an error: "column 'stride' is ...". */
static bool blame(const struct layer_row *row, int cell, GError **error)
{
    g_prefix_error(error, "column '%s' is ", name_of(row, cell));
    return false;
}

static int first_axis(const struct layer_row *row)
{
    return row->one_axis ? AXIS_W : row->spatial_dim == 3 ? AXIS_D : AXIS_H;
}

static int axis_count(const struct layer_row *row)
{
    return AXIS_COUNT - first_axis(row);
}

/* ---- the number of dimensions, on which reading the other cells depends ---- */

static bool say_dimensions(struct layer_row *row, int cell, GError **error)
{
    const struct layer_column *column = row->header->cells[cell].column;
    const char *text = row->cells[cell];
    struct cell_operator op = {0};
    struct cell_sizes sizes = {0};
    enum layout layout = LAYOUT_NCHW;
    int64_t dimensions = 0;
    switch (column->kind) {
    case COLUMN_NUMBER:
        if (column->field == FIELD_DIMENSIONS) {
            if (!cell_number(text, &dimensions, error)) {
                return blame(row, cell, error);
            }
            if (dimensions < 1 || dimensions > 3) {
                return invalid(error, "column '%s' is %" PRId64 ", it must be 1, 2 or 3",
                               name_of(row, cell), dimensions);
            }
        }
        break;
    case COLUMN_OPERATOR:
    case COLUMN_TYPE:
        if (cell_is_operator(text) && cell_operator(text, &op, NULL)) {
            dimensions = op.dimensions;
        }
        break;
    case COLUMN_LAYOUT:
        if (layout_from_word(text, 2, &layout) && strlen(text) <= 5) {
            dimensions = strlen(text) == 3 ? 1 : strlen(text) == 5 ? 3 : 0;
        }
        break;
    case COLUMN_SIZES:
        if (column->field != FIELD_PAD && cell_sizes(text, &sizes, NULL) && sizes.count > 1) {
            dimensions = sizes.count;
        }
        break;
    case COLUMN_SHAPE:
        if (cell_sizes(text, &sizes, NULL) && sizes.count == 5) {
            dimensions = 3;
        }
        break;
    default: break;
    }
    return dimensions == 0 || say(row, FIELD_DIMENSIONS, dimensions, cell, error);
}

/* Returns the value that a column for one axis gives, 0 if the row has no such column. */
static int64_t plain_number(const struct layer_row *row, int field)
{
    for (int i = 0; i < row->header->width; i++) {
        const struct layer_column *column = row->header->cells[i].column;
        int64_t value = 0;
        if (column != NULL && column->kind == COLUMN_NUMBER && column->field == field &&
            cell_number(row->cells[i], &value, NULL)) {
            return value;
        }
    }
    return 0;
}

static bool read_dimensions(struct layer_row *row, GError **error)
{
    for (int i = 0; i < row->header->width; i++) {
        if (row->header->cells[i].column != NULL && !cell_is_empty(row->cells[i]) &&
            !say_dimensions(row, i, error)) {
            return false;
        }
    }
    bool deep =
        plain_number(row, FIELD_IN + AXIS_D) > 1 && plain_number(row, FIELD_FIL + AXIS_D) > 0;
    int64_t dimensions = is_said(row, FIELD_DIMENSIONS) ? row->values[FIELD_DIMENSIONS]
                         : deep                         ? 3
                                                        : 2;
    row->one_axis = dimensions == 1;
    row->spatial_dim = dimensions == 3 ? 3 : 2;
    return true;
}

/* ---- cells ---- */

static bool say_pads(struct layer_row *row, const struct cell_sizes *sizes, int cell,
                     GError **error)
{
    int axes = axis_count(row);
    bool equal = true, paired = true;
    for (int i = 0; i < sizes->count; i++) {
        equal = equal && sizes->values[i] == sizes->values[0];
        paired = paired && sizes->values[i] == sizes->values[i % axes];
    }
    /* ONNX lists the padding at the start of all axes, then at their ends, and only ONNX calls
     * the column pads. */
    if (!equal && !(paired && g_ascii_strcasecmp(name_of(row, cell), "pads") == 0)) {
        return invalid(
            error,
            "column '%s' is '%.40s', a padding for each side: it must be the same on both, "
            "one number an axis",
            name_of(row, cell), row->cells[cell]);
    }
    for (int a = 0; a < axes; a++) {
        if (!say(row, FIELD_PAD + first_axis(row) + a, sizes->values[a], cell, error)) {
            return false;
        }
    }
    return true;
}

static bool say_pad_mode(struct layer_row *row, int cell, bool *is_mode, GError **error)
{
    static const struct {
        const char *word;
        int mode; /* -1: other columns state the padding */
    } words[] = {
        {"same", PAD_MODE_SAME},
        {"same_upper", PAD_MODE_SAME},
        {"same_lower", PAD_MODE_SAME},
        {"valid", PAD_MODE_VALID},
        {"default", -1},
        {"zeros", -1},
        {"constant", -1},
        {"notset", -1},
        {"explicit", -1},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(words); i++) {
        if (g_ascii_strcasecmp(row->cells[cell], words[i].word) == 0) {
            *is_mode = true;
            return words[i].mode < 0 || say(row, FIELD_PAD_MODE, words[i].mode, cell, error);
        }
    }
    *is_mode = false;
    return true;
}

static bool read_sizes(struct layer_row *row, int cell, int field, GError **error)
{
    struct cell_sizes sizes;
    int axes = axis_count(row);
    bool is_mode = false;
    if (field == FIELD_PAD && !say_pad_mode(row, cell, &is_mode, error)) {
        return false;
    }
    if (is_mode) {
        return true;
    }
    if (!cell_sizes(row->cells[cell], &sizes, error)) {
        return blame(row, cell, error);
    }
    for (int i = 0; i < sizes.count; i++) {
        if (sizes.values[i] < 0) {
            return invalid(error, "column '%s' is '%.40s', a size is not known in it",
                           name_of(row, cell), row->cells[cell]);
        }
    }
    if (field == FIELD_PAD && sizes.count == 2 * axes) {
        return say_pads(row, &sizes, cell, error);
    }
    if (sizes.count != 1 && sizes.count != axes) {
        return invalid(error, "column '%s' is '%.40s', but a %dD layer has %s", name_of(row, cell),
                       row->cells[cell], axes,
                       axes == 1 ? "one number" : "one number for all axes, or one an axis");
    }
    for (int a = 0; a < axes; a++) {
        if (!say(row, field + first_axis(row) + a, sizes.values[sizes.count == 1 ? 0 : a], cell,
                 error)) {
            return false;
        }
    }
    return true;
}

static bool say_operator(struct layer_row *row, int cell, GError **error)
{
    struct cell_operator op;
    if (!cell_operator(row->cells[cell], &op, error)) {
        return blame(row, cell, error);
    }
    /* A column for the kind of layer ("Conv2d") leaves it open whether the layer is transposed
     * or depthwise, so other columns may say so. A column for the mode ("conv", "trans") decides
     * it. */
    bool is_mode = row->header->cells[cell].column->field == FIELD_TRANSPOSED;
    return ((!op.transposed && !is_mode) ||
            say(row, FIELD_TRANSPOSED, op.transposed, cell, error)) &&
           (!op.depthwise || say(row, FIELD_DEPTHWISE, 1, cell, error)) &&
           (!op.grouped || say(row, FIELD_GROUPED, 1, cell, error)) &&
           (!op.pointwise || say(row, FIELD_POINTWISE, 1, cell, error)) &&
           (op.directions == 0 || say(row, FIELD_DIRECTIONS, op.directions, cell, error));
}

/* The value of FIELD_TYPE for convolutions of FP32 that may be computed in TF32; the others are those of
 * enum data_type. */
#define VALUE_TF32 DATA_TYPE_COUNT

static bool read_type(struct layer_row *row, int cell, int field, GError **error)
{
    enum data_type type = TYPE_NONE;
    const char *text = row->cells[cell];
    if (field >= FIELD_CAST && field < FIELD_CAST + TENSOR_COUNT && strcmp(text, "-1") == 0) {
        return true; /* MIOpenDriver writes -1 for "no cast type" */
    }
    if (field == FIELD_TYPE && word_is_tf32(text)) {
        return say(row, field, VALUE_TF32, cell, error);
    }
    if (!data_type_from_word(text, &type)) {
        return invalid(error,
                       "column '%s' is '%.40s', no data type that is computed here (FP32, TF32, "
                       "FP16, BF16, INT8, FP64, FP8, BF8)%s",
                       name_of(row, cell), text, field == FIELD_TYPE ? " and no convolution" : "");
    }
    return say(row, field, type, cell, error);
}

static bool read_layout(struct layer_row *row, int cell, const struct layer_column *column,
                        GError **error)
{
    enum layout layout = LAYOUT_NCHW;
    const char *text = row->cells[cell];
    if (column->kind == COLUMN_MEMORY_FORMAT) {
        const char *dot = strrchr(text, '.');
        if (g_ascii_strcasecmp(dot != NULL ? dot + 1 : text, "contiguous_format") == 0) {
            return say(row, column->field, LAYOUT_NCHW, cell, error);
        }
    }
    if (!layout_from_word(text, 2, &layout)) {
        return invalid(error,
                       "column '%s' is '%.40s', no layout that is known: NCHW, NHWC, CHWN, ...",
                       name_of(row, cell), text);
    }
    return say(row, column->field, layout, cell, error);
}

static bool read_direction(struct layer_row *row, int cell, enum column_kind kind, GError **error)
{
    int64_t mask = 0;
    if (kind == COLUMN_DIRECTION) {
        mask = cell_directions(row->cells[cell]);
        return mask != 0 ? say(row, FIELD_DIRECTIONS, mask, cell, error)
                         : invalid(error,
                                   "column '%s' is '%.40s', it must hold F, B or W, or words as "
                                   "fwd, bwd_data, wrw",
                                   name_of(row, cell), row->cells[cell]);
    }
    if (!cell_number(row->cells[cell], &mask, error)) {
        return blame(row, cell, error);
    }
    return mask <= DIRECTIONS_ALL
               ? say(row, FIELD_DIRECTIONS, mask == 0 ? DIRECTIONS_ALL : mask, cell, error)
               : invalid(error, "column '%s' is %" PRId64 ", it must be 0 to 7", name_of(row, cell),
                         mask);
}

static bool read_cell(struct layer_row *row, int cell, GError **error)
{
    const struct layer_column *column = row->header->cells[cell].column;
    const char *text = row->cells[cell];
    int64_t value = 0;
    bool is_mode = false;
    switch (column->kind) {
    case COLUMN_NUMBER:
        if (!cell_number(text, &value, error)) {
            return blame(row, cell, error);
        }
        return column->field == FIELD_DIMENSIONS || say(row, column->field, value, cell, error);
    case COLUMN_FLAG:
        return cell_flag(text, &value)
                   ? say(row, column->field, value, cell, error)
                   : invalid(error, "column '%s' is '%.40s', it must be yes or no, or 1 or 0",
                             name_of(row, cell), text);
    case COLUMN_SIZES: return read_sizes(row, cell, column->field, error);
    case COLUMN_TYPE:
        if (cell_is_operator(text)) {
            return say_operator(row, cell, error);
        }
        return read_type(row, cell, column->field, error);
    case COLUMN_CAST: return read_type(row, cell, column->field, error);
    case COLUMN_LAYOUT:
    case COLUMN_MEMORY_FORMAT: return read_layout(row, cell, column, error);
    case COLUMN_OPERATOR: return say_operator(row, cell, error);
    case COLUMN_PAD_MODE:
        if (!say_pad_mode(row, cell, &is_mode, error)) {
            return false;
        }
        return is_mode ||
               invalid(error,
                       "column '%s' is '%.40s', it must be same, valid, default or zeros: "
                       "padding with other values is not computed here",
                       name_of(row, cell), text);
    case COLUMN_DIRECTION:
    case COLUMN_FORW: return read_direction(row, cell, column->kind, error);
    case COLUMN_NETWORK:
        if (strlen(text) > NETWORK_NAME_MAX) {
            return invalid(error, "column '%s' has %zu bytes, the name of a network at most %d",
                           name_of(row, cell), strlen(text), NETWORK_NAME_MAX);
        }
        return strcmp(row->network, text) == 0 ||
               contradiction(row, row->network_cell, cell, error);
    case COLUMN_FACT:
        row->facts[column->field] = text;
        return network_fact_check((enum network_fact)column->field, text, error);
    case COLUMN_LAYER: row->name = row->name[0] != '\0' ? row->name : text; return true;
    case COLUMN_SHAPE: /* read last, by read_shapes() */
    case COLUMN_NOTHING: return true;
    }
    return true;
}

/* ---- cells that hold a tensor's whole shape ---- */

enum shape_order { ORDER_UNKNOWN, ORDER_CHANNELS_FIRST, ORDER_CHANNELS_LAST };

/* Returns whether shapes have channels first or last, as a layout says: a column's, or that of
 * --layout. PyTorch's memory format does not change the order. */
static enum shape_order order_of_layout(const struct layer_row *row,
                                        const struct import_options *options)
{
    int cell = row->said_by[FIELD_LAYOUT + TENSOR_X] - 1;
    enum layout layout = (enum layout)row->values[FIELD_LAYOUT + TENSOR_X];
    if (cell < 0 && !options->has_layout) {
        return ORDER_UNKNOWN;
    }
    if (cell < 0) {
        layout = options->layout;
    } else if (row->header->cells[cell].column->kind == COLUMN_MEMORY_FORMAT) {
        return ORDER_CHANNELS_FIRST;
    }
    return layout == LAYOUT_NHWC ? ORDER_CHANNELS_LAST : ORDER_CHANNELS_FIRST;
}

static bool is_shape(const struct layer_row *row, int cell)
{
    const struct layer_column *column = row->header->cells[cell].column;
    return column != NULL && column->kind == COLUMN_SHAPE && !cell_is_empty(row->cells[cell]);
}

/* Finds the order from another column that gives the channels: they occur at one position of the
 * shape only. *order stays if they occur at both ends. Returns false if they occur at neither. */
static bool order_of_channels(const struct layer_row *row, int cell, enum shape_order *order,
                              GError **error)
{
    struct cell_sizes sizes;
    int axes = axis_count(row);
    int field = row->header->cells[cell].column->field == FIELD_IN ? FIELD_C : FIELD_K;
    if (!is_said(row, field) || !cell_sizes(row->cells[cell], &sizes, NULL) ||
        sizes.count <= axes || sizes.count > axes + 2) {
        return true;
    }
    bool first = row->values[field] == sizes.values[sizes.count - axes - 1];
    bool last = row->values[field] == sizes.values[sizes.count - 1];
    if (!first && !last) {
        int other = row->said_by[field] - 1;
        return contradiction(row, other, cell, error);
    }
    if (first != last) {
        *order = first ? ORDER_CHANNELS_FIRST : ORDER_CHANNELS_LAST;
    }
    return true;
}

static bool all_equal(const int64_t *values, int count)
{
    for (int i = 1; i < count; i++) {
        if (values[i] != values[0]) {
            return false;
        }
    }
    return true;
}

static bool say_known(struct layer_row *row, int field, int64_t value, int cell, GError **error)
{
    return value < 0 || say(row, field, value, cell, error);
}

static bool read_shape(struct layer_row *row, int cell, enum shape_order order, GError **error)
{
    struct cell_sizes sizes;
    int field = row->header->cells[cell].column->field, axes = axis_count(row);
    if (!cell_sizes(row->cells[cell], &sizes, error)) {
        return blame(row, cell, error);
    }
    if (sizes.count != 1 && (sizes.count < axes || sizes.count > axes + 2)) {
        return invalid(
            error,
            "column '%s' is '%.40s', but a shape of a %dD layer has %d numbers, with the "
            "channels %d, with the batch size %d",
            name_of(row, cell), row->cells[cell], axes, axes, axes + 1, axes + 2);
    }
    int64_t *spatial = sizes.values;
    if (sizes.count > axes) {
        int channels = field == FIELD_IN ? FIELD_C : FIELD_K;
        if (order == ORDER_UNKNOWN && !all_equal(sizes.values + sizes.count - axes - 1, axes + 1)) {
            return invalid(error,
                           "column '%s' is '%.40s', of which the channels may stand first or last: "
                           "name them in a column (in_channels, out_channels), or the layout (a "
                           "column, or --layout)",
                           name_of(row, cell), row->cells[cell]);
        }
        bool last = order == ORDER_CHANNELS_LAST;
        spatial = sizes.values + sizes.count - axes - last;
        if (!say_known(row, channels, last ? spatial[axes] : spatial[-1], cell, error) ||
            (sizes.count == axes + 2 && !say_known(row, FIELD_N, sizes.values[0], cell, error))) {
            return false;
        }
    }
    for (int a = 0; a < axes; a++) {
        if (!say_known(row, field + first_axis(row) + a, spatial[sizes.count == 1 ? 0 : a], cell,
                       error)) {
            return false;
        }
    }
    return true;
}

/* Reads the shapes after all other columns, which tell how to read them. All shapes of a row have
 * one order. Channels that are last mean the layout NHWC if neither column nor option states one, as in TensorFlow. */
static bool read_shapes(struct layer_row *row, const struct import_options *options, GError **error)
{
    enum shape_order order = ORDER_UNKNOWN;
    int shape = -1;
    for (int i = 0; i < row->header->width; i++) {
        if (is_shape(row, i)) {
            shape = i;
            if (!order_of_channels(row, i, &order, error)) {
                return false;
            }
        }
    }
    bool implied = order == ORDER_CHANNELS_LAST && !is_said(row, FIELD_LAYOUT + TENSOR_X) &&
                   !options->has_layout;
    order = order != ORDER_UNKNOWN ? order : order_of_layout(row, options);
    for (int i = 0; i < row->header->width; i++) {
        if (is_shape(row, i) && !read_shape(row, i, order, error)) {
            return false;
        }
    }
    return !implied || say(row, FIELD_LAYOUT + TENSOR_X, LAYOUT_NHWC, shape, error);
}

/* ---- checking the whole row ---- */

/* For each field of an axis the value that means "no such axis". Sizes, stride and dilation may also be 0, as in
 * MIOpen's lists. */
static const struct {
    int field;
    int64_t neutral;
    bool or_zero;
    /* true if the row must give it for all axes or none; for sizes of input and filter check_needed() finds out */
    bool whole;
} axis_fields[] = {
    {FIELD_IN, 1, true, false},      {FIELD_FIL, 1, true, false},
    {FIELD_PAD, 0, false, true},     {FIELD_STRIDE, 1, true, true},
    {FIELD_DILATION, 1, true, true}, {FIELD_OUTPUT_PAD, 0, false, true},
    {FIELD_OUT, 1, true, false},
};

/* Fails if a row has values for axes that the layer does not have, or if it gives a padding, stride, dilation or output
 * padding for some of the layer's axes only. */
static bool check_axes(const struct layer_row *row, GError **error)
{
    for (size_t i = 0; i < G_N_ELEMENTS(axis_fields); i++) {
        int said = -1, left_out = -1;
        for (int a = 0; a < AXIS_COUNT; a++) {
            int field = axis_fields[i].field + a;
            bool neutral = row->values[field] == axis_fields[i].neutral ||
                           (axis_fields[i].or_zero && row->values[field] == 0);
            if (is_said(row, field) && a < first_axis(row) && !neutral) {
                return invalid(error, "column '%s' is '%.40s', but the layer is %dD",
                               name_of(row, row->said_by[field] - 1),
                               row->cells[row->said_by[field] - 1], axis_count(row));
            }
            if (a >= first_axis(row)) {
                said = is_said(row, field) && !neutral ? row->said_by[field] - 1 : said;
                left_out = is_said(row, field) ? left_out : a;
            }
        }
        if (said >= 0 && left_out >= 0 && axis_fields[i].whole) {
            return invalid(
                error, "column '%s' is '%.40s', but the row does not say the same of its axis %c",
                name_of(row, said), row->cells[said], axis_letters[left_out]);
        }
    }
    return true;
}

/* Fails if the row lacks a field that has no default. The number of output channels may follow from
 * the input's. */
static bool check_needed(const struct layer_row *row, GError **error)
{
    static const struct {
        int field;
        const char *name;
    } sizes[] = {{FIELD_IN, "input"}, {FIELD_FIL, "filter"}};
    if (!is_said(row, FIELD_C)) {
        return invalid(error, "the number of input channels is empty");
    }
    if (!is_said(row, FIELD_K) && !is_said(row, FIELD_DEPTHWISE)) {
        return invalid(error, "the number of output channels is empty");
    }
    for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++) {
        for (int a = first_axis(row); a < AXIS_COUNT; a++) {
            if (!is_said(row, sizes[i].field + a)) {
                return invalid(error, "the %s's size on axis %c is empty", sizes[i].name,
                               axis_letters[a]);
            }
        }
    }
    return true;
}

bool layer_row_read(const struct layer_header *header, const char *const *cells,
                    const struct import_options *options, struct layer_row *row, GError **error)
{
    g_autoptr(GError) wrong = NULL;
    *row = (struct layer_row){.header = header, .cells = cells, .network = "", .name = ""};
    /* Even a row that cannot be used names its network, so that its network is known. */
    for (int i = 0; i < header->width; i++) {
        const struct layer_column *column = header->cells[i].column;
        if (column != NULL && column->kind == COLUMN_NETWORK && row->network[0] == '\0' &&
            !cell_is_empty(cells[i])) {
            row->network = cells[i];
            row->network_cell = i;
        }
    }
    bool good = read_dimensions(row, &wrong);
    for (int i = 0; good && i < header->width; i++) {
        if (cell_is_empty(cells[i])) {
            continue;
        }
        if (header->cells[i].column != NULL) {
            good = read_cell(row, i, &wrong);
        } else if (i > 0) {
            set_invalid(&wrong, "cell %d is '%.40s', and the header has no name for it", i + 1,
                        cells[i]);
            good = false;
        }
    }
    if (good && read_shapes(row, options, &wrong) && check_axes(row, &wrong) &&
        check_needed(row, &wrong)) {
        return true;
    }
    g_propagate_error(error, g_steal_pointer(&wrong));
    return false;
}

int64_t layer_row_multiplicity(const struct layer_row *row)
{
    return is_said(row, FIELD_MULTIPLICITY) ? row->values[FIELD_MULTIPLICITY] : 1;
}

int64_t layer_row_per_image(const struct layer_row *row)
{
    return is_said(row, FIELD_PER_IMAGE) ? row->values[FIELD_PER_IMAGE] : 1;
}

/* ---- comparing with the options ---- */

static bool refuse(const struct layer_row *row, int field, const char *what, const char *option,
                   GError **error)
{
    int cell = row->said_by[field] - 1;
    bool shape = row->header->cells[cell].column->kind == COLUMN_SHAPE;
    g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_KIND,
                "it says the %s itself (column '%s' is '%.40s'), and %s says another: leave the "
                "option out, or %s",
                what, name_of(row, cell), row->cells[cell], option,
                shape ? "write the column's shapes without it" : "remove the column");
    return false;
}

/* The value of FIELD_TYPE that the options choose. */
static int64_t chosen_type(const struct import_options *options, int index)
{
    return options->type_count == 0 ? TYPE_FP32
           : options->tf32[index]   ? VALUE_TF32
                                    : (int64_t)options->types[index];
}

bool layer_row_suits(const struct layer_row *row, const struct import_options *options,
                     GError **error)
{
    bool batch = !is_said(row, FIELD_N) || options->batch_count == 0 ||
                 (options->batch_count == 1 && options->batches[0] == row->values[FIELD_N]);
    bool type = !is_said(row, FIELD_TYPE) || options->type_count == 0 ||
                (options->type_count == 1 && chosen_type(options, 0) == row->values[FIELD_TYPE]);
    if (!batch) {
        return refuse(row, FIELD_N, "batch size", "--batch", error);
    }
    if (!type) {
        return refuse(row, FIELD_TYPE, "data type", "--dtype", error);
    }
    for (int t = 0; t < TENSOR_COUNT; t++) {
        enum layout wanted = LAYOUT_NCHW;
        bool has_form = layout_in_dims(options->layout, 2, &wanted);
        if (options->has_layout && is_said(row, FIELD_LAYOUT + t) &&
            (!has_form || wanted != (enum layout)row->values[FIELD_LAYOUT + t])) {
            return refuse(row, FIELD_LAYOUT + t, "layout", "--layout", error);
        }
    }
    return true;
}

/* ---- making problems ---- */

static int64_t value_of(const struct layer_row *row, int field, int64_t otherwise)
{
    return is_said(row, field) ? row->values[field] : otherwise;
}

static bool set_channels(const struct layer_row *row, struct problem *p, GError **error)
{
    bool depthwise = is_said(row, FIELD_DEPTHWISE);
    int64_t multiplier = value_of(row, FIELD_DEPTH_MULTIPLIER, 1);
    p->c = row->values[FIELD_C];
    p->groups = value_of(row, FIELD_GROUPS, depthwise ? p->c : 1);
    p->k = value_of(row, FIELD_K, p->c * multiplier);
    if (depthwise && p->groups != p->c) {
        return invalid(error,
                       "the layer is depthwise, but has %" PRId64 " groups of %" PRId64 " channels",
                       p->groups, p->c);
    }
    if (is_said(row, FIELD_GROUPED) && !is_said(row, FIELD_GROUPS)) {
        return invalid(error,
                       "the layer is a grouped convolution, and its number of groups is empty");
    }
    if (is_said(row, FIELD_DEPTH_MULTIPLIER) &&
        (depthwise ? p->k != p->c * multiplier : multiplier != 1)) {
        return invalid(error,
                       "column '%s' is %" PRId64 ", but the layer has %" PRId64
                       " input and %" PRId64 " output channels%s",
                       name_of(row, row->said_by[FIELD_DEPTH_MULTIPLIER] - 1), multiplier, p->c,
                       p->k, depthwise ? "" : " and no column calls it depthwise");
    }
    return true;
}

static bool set_block(const struct layer_row *row, int64_t length, enum layout *layout,
                      GError **error)
{
    static const struct {
        enum layout plain, by4, by8;
    } blocks[] = {{LAYOUT_NCHW, LAYOUT_NCHWC4, LAYOUT_NCHWC8},
                  {LAYOUT_CHWN, LAYOUT_CHWNC4, LAYOUT_CHWNC8}};
    for (size_t i = 0; i < G_N_ELEMENTS(blocks); i++) {
        if (row->spatial_dim == 2 && *layout == blocks[i].plain && (length == 4 || length == 8)) {
            *layout = length == 4 ? blocks[i].by4 : blocks[i].by8;
            return true;
        }
    }
    return problem_layout_block(*layout) == length ||
           invalid(error, "no layout %s has channels in blocks of %" PRId64, layout_name(*layout),
                   length);
}

/* Sets the layouts. Those that are missing are copied from the given ones, the input's first;
 * without any, the options decide, or NCHW. */
static bool set_layouts(const struct layer_row *row, const struct import_options *options,
                        struct problem *p, GError **error)
{
    static const int order[] = {TENSOR_W, TENSOR_Y, TENSOR_X};
    enum layout common = options->has_layout ? options->layout : LAYOUT_NCHW;
    bool blocked = value_of(row, FIELD_TENSOR_VECT, 0) == 1;
    int64_t length = value_of(row, FIELD_VECTOR_LENGTH, 1);
    if (blocked != (length > 1)) {
        return invalid(error,
                       "tensor_vect is %d and vector_length %" PRId64
                       ", they must be 0 and 1, or 1 and 4 or 8",
                       blocked, length);
    }
    for (size_t i = 0; i < G_N_ELEMENTS(order); i++) {
        common = (enum layout)value_of(row, FIELD_LAYOUT + order[i], common);
    }
    for (int t = 0; t < TENSOR_COUNT; t++) {
        enum layout given = (enum layout)value_of(row, FIELD_LAYOUT + t, common);
        if (!layout_in_dims(given, row->spatial_dim, &p->layout[t])) {
            return invalid(error, "layout %s has no form with %d dimensions", layout_name(given),
                           row->spatial_dim);
        }
        if (blocked && !set_block(row, length, &p->layout[t], error)) {
            return false;
        }
    }
    return true;
}

static int64_t reach_of(const struct problem *p, int a)
{
    return p->dilation[a] * (p->fil[a] - 1) + 1;
}

/* Returns the padding "same", of both sides together, as TensorFlow defines it and PyTorch and ONNX agree: the output
 * size is the input size divided by the stride, rounded up; of a transposed layer, the input size times the stride. */
static int64_t same_padding(const struct problem *p, int a, bool transposed)
{
    if (transposed) {
        return reach_of(p, a) - p->stride[a];
    }
    int64_t out = (p->in[a] + p->stride[a] - 1) / p->stride[a];
    return MAX((out - 1) * p->stride[a] + reach_of(p, a) - p->in[a], 0);
}

static bool set_padding(const struct layer_row *row, struct problem *p, GError **error)
{
    if (!is_said(row, FIELD_PAD_MODE)) {
        return true;
    }
    bool transposed = value_of(row, FIELD_TRANSPOSED, 0) == 1;
    for (int a = first_axis(row); a < AXIS_COUNT; a++) {
        bool valid = row->values[FIELD_PAD_MODE] == PAD_MODE_VALID;
        int64_t both = valid || p->stride[a] < 1 ? 0 : same_padding(p, a, transposed);
        if (both < 0 || both % 2 != 0) {
            return invalid(
                error,
                "padding 'same' is not the same on both sides of axis %c (%" PRId64
                " in all): give the input with its padding as the size, and padding 'valid'",
                axis_letters[a], both);
        }
        if (is_said(row, FIELD_PAD + a) && p->pad[a] != both / 2) {
            int cell = row->said_by[FIELD_PAD + a] - 1;
            return invalid(error, "column '%s' is '%.40s', but padding '%s' is %" PRId64,
                           name_of(row, cell), row->cells[cell], valid ? "valid" : "same",
                           both / 2);
        }
        p->pad[a] = both / 2;
    }
    return true;
}

/* Sets all fields of the layer but its direction, batch size, data types and output. */
static bool set_fields(const struct layer_row *row, const struct import_options *options,
                       struct problem *p, GError **error)
{
    problem_init(p);
    p->spatial_dim = row->spatial_dim;
    p->bias = (int)value_of(row, FIELD_BIAS, 0);
    for (int a = first_axis(row); a < AXIS_COUNT; a++) {
        p->in[a] = row->values[FIELD_IN + a];
        p->fil[a] = row->values[FIELD_FIL + a];
        p->pad[a] = value_of(row, FIELD_PAD + a, 0);
        p->stride[a] = value_of(row, FIELD_STRIDE + a, 1);
        p->dilation[a] = value_of(row, FIELD_DILATION + a, 1);
    }
    for (int a = 0; a < AXIS_COUNT; a++) {
        if (is_said(row, FIELD_POINTWISE) && p->fil[a] != 1) {
            return invalid(error,
                           "the layer is pointwise, but its filter is %" PRId64 " on axis %c",
                           p->fil[a], axis_letters[a]);
        }
    }
    for (int t = 0; t < TENSOR_COUNT; t++) {
        p->cast[t] = (enum data_type)value_of(row, FIELD_CAST + t, TYPE_NONE);
    }
    if (layer_row_multiplicity(row) < 1) {
        return invalid(error, "column '%s' is 0, it must be at least 1",
                       name_of(row, row->said_by[FIELD_MULTIPLICITY] - 1));
    }
    return set_channels(row, p, error) && set_layouts(row, options, p, error) &&
           set_padding(row, p, error);
}

/* Returns the sizes as text, "112x112", with '?' for axes that no column gives. Free with
 * g_free(). */
static char *sizes_text(const struct layer_row *row, const int64_t *sizes, const int *said)
{
    GString *text = g_string_new(NULL);
    for (int a = first_axis(row); a < AXIS_COUNT; a++) {
        g_string_append(text, text->len > 0 ? "x" : "");
        if (said == NULL || said[a] > 0) {
            g_string_append_printf(text, "%" PRId64, sizes[a]);
        } else {
            g_string_append_c(text, '?');
        }
    }
    return g_string_free(text, FALSE);
}

/* Fails if a column gives an output size other than `made`, which the other columns lead to. */
static bool check_output(const struct layer_row *row, const struct problem *layer,
                         const int64_t made[AXIS_COUNT], GError **error)
{
    for (int a = 0; a < AXIS_COUNT; a++) {
        if (a < first_axis(row) || !is_said(row, FIELD_OUT + a) ||
            row->values[FIELD_OUT + a] == made[a]) {
            continue;
        }
        g_autofree char *given = sizes_text(row, row->values + FIELD_OUT, row->said_by + FIELD_OUT);
        g_autofree char *computed = sizes_text(row, made, NULL);
        g_autofree char *pad = sizes_text(row, layer->pad, NULL);
        g_autofree char *stride = sizes_text(row, layer->stride, NULL);
        g_autofree char *dilation = sizes_text(row, layer->dilation, NULL);
        return invalid(error,
                       "column '%s' makes the output %s, the other columns make it %s (stride %s, "
                       "padding %s, dilation %s): one of them is wrong",
                       name_of(row, row->said_by[FIELD_OUT + a] - 1), given, computed, stride, pad,
                       dilation);
    }
    return true;
}

/* Makes the problem of a transposed layer. If no column gives the output padding, it follows from
 * the output size. */
static bool transpose(const struct layer_row *row, const struct problem *layer, struct problem *p,
                      GError **error)
{
    int64_t padding[AXIS_COUNT] = {0}, made[AXIS_COUNT] = {1, 1, 1};
    for (int a = first_axis(row); a < AXIS_COUNT; a++) {
        int64_t base =
            layer->stride[a] * (layer->in[a] - 1) + reach_of(layer, a) - 2 * layer->pad[a];
        int64_t rest = row->values[FIELD_OUT + a] - base;
        bool follows = !is_said(row, FIELD_OUTPUT_PAD + a) && is_said(row, FIELD_OUT + a) &&
                       rest >= 0 && rest < layer->stride[a];
        padding[a] = follows ? rest : value_of(row, FIELD_OUTPUT_PAD + a, 0);
        made[a] = base + padding[a];
    }
    return check_output(row, layer, made, error) &&
           problem_from_transposed(layer, padding, p, error);
}

static bool make_problem(const struct layer_row *row, const struct problem *layer,
                         struct problem *p, GError **error)
{
    if (value_of(row, FIELD_TRANSPOSED, 0) == 1) {
        return transpose(row, layer, p, error);
    }
    *p = *layer;
    problem_set_output(p);
    return problem_validate(p, error) && check_output(row, layer, p->out, error);
}

/* Sets the type, and returns the directions that it has kernels for: INT8 has forward kernels only,
 * which compute INT32 sums. */
static int set_type(int64_t value, int directions, struct problem *p)
{
    enum data_type type = value == VALUE_TF32 ? TYPE_FP32 : (enum data_type)value;
    g_strlcpy(p->mode, value == VALUE_TF32 ? OP_MODE_TF32 : "", sizeof p->mode);
    for (int t = 0; t < TENSOR_COUNT; t++) {
        p->type[t] = type == TYPE_INT8 && t == TENSOR_Y ? TYPE_INT32 : type;
    }
    return type == TYPE_INT8 ? directions & 1 << DIRECTION_F : directions;
}

static bool add_problems(const struct layer_row *row, const struct problem *layer, int directions,
                         GArray *problems, GError **error)
{
    for (int d = 0; d < DIRECTION_COUNT; d++) {
        struct problem given = *layer, p;
        given.direction = (enum direction)d;
        if ((directions & 1 << d) == 0) {
            continue;
        }
        if (!make_problem(row, &given, &p, error)) {
            return false;
        }
        g_array_append_val(problems, p);
    }
    return true;
}

GArray *layer_row_problems(const struct layer_row *row, const struct import_options *options,
                           GError **error)
{
    g_autoptr(GArray) problems = g_array_new(FALSE, FALSE, sizeof(struct problem));
    int batches = is_said(row, FIELD_N) ? 1 : MAX(options->batch_count, 1);
    int types = is_said(row, FIELD_TYPE) ? 1 : MAX(options->type_count, 1);
    int wanted = options->directions != 0 ? options->directions : DIRECTIONS_ALL;
    int usual = options->directions != 0 ? options->directions : 1 << DIRECTION_F;
    int directions = (int)value_of(row, FIELD_DIRECTIONS, usual) & wanted;
    struct problem layer;
    if (!set_fields(row, options, &layer, error)) {
        return NULL;
    }
    for (int i = 0; i < batches * types; i++) {
        int64_t batch = options->batch_count > 0 ? options->batches[i / types] : 1;
        int64_t type = value_of(row, FIELD_TYPE, chosen_type(options, i % types));
        layer.n = value_of(row, FIELD_N, batch) * layer_row_per_image(row);
        if (!add_problems(row, &layer, set_type(type, directions, &layer), problems, error)) {
            return NULL;
        }
    }
    if (problems->len == 0 && directions != 0) {
        set_invalid(error, "its direction is not F, and INT8 has no other");
        return NULL;
    }
    return g_steal_pointer(&problems);
}
