#include "solvers/driver/driver_flags.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

G_GNUC_PRINTF(2, 3)
static bool invalid(GError **error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    GError *made = g_error_new_valist(SOLVERS_ERROR, SOLVERS_ERROR_INVALID, format, arguments);
    va_end(arguments);
    g_propagate_error(error, made);
    return false;
}

static void copy_sizes(const struct driver_values *values, enum driver_number first,
                       const struct problem *p, int64_t *sizes)
{
    for (int a = p->spatial_dim == 2 ? AXIS_H : AXIS_D; a < AXIS_COUNT; a++) {
        sizes[a] = values->numbers[(int)first + a];
    }
}

/* Sets the problem's sizes, strides, dilation and padding. A 2D line's depth flags are ignored. */
static bool set_numbers(const struct driver_values *values, struct problem *p, GError **error)
{
    const int64_t *numbers = values->numbers;
    if (numbers[NUMBER_SPATIAL_DIM] != 2 && numbers[NUMBER_SPATIAL_DIM] != 3) {
        return invalid(error, "spatial_dim is %" PRId64 ", it must be 2 or 3",
                       numbers[NUMBER_SPATIAL_DIM]);
    }
    p->spatial_dim = (int)numbers[NUMBER_SPATIAL_DIM];
    p->n = numbers[NUMBER_BATCH];
    p->c = numbers[NUMBER_IN_CHANNELS];
    p->k = numbers[NUMBER_OUT_CHANNELS];
    /* the driver takes 0 groups as 1 */
    p->groups = numbers[NUMBER_GROUPS] == 0 ? 1 : numbers[NUMBER_GROUPS];
    p->bias = numbers[NUMBER_BIAS] != 0;
    copy_sizes(values, NUMBER_IN_D, p, p->in);
    copy_sizes(values, NUMBER_FIL_D, p, p->fil);
    copy_sizes(values, NUMBER_PAD_D, p, p->pad);
    copy_sizes(values, NUMBER_STRIDE_D, p, p->stride);
    copy_sizes(values, NUMBER_DILATION_D, p, p->dilation);
    return true;
}

static bool known_word(const char *word, const char *const *words)
{
    return word[0] == '\0' || g_strv_contains(words, word);
}

static bool check_modes(const struct driver_values *values, GError **error)
{
    static const char *const modes[] = {"conv", "trans", NULL};
    static const char *const pad_modes[] = {"default", "same", "valid", NULL};
    if (!known_word(values->texts[TEXT_MODE], modes)) {
        return invalid(error, "mode is '%s', it must be conv or trans", values->texts[TEXT_MODE]);
    }
    if (!known_word(values->texts[TEXT_PAD_MODE], pad_modes)) {
        return invalid(error, "pad_mode is '%s', it must be default, same or valid",
                       values->texts[TEXT_PAD_MODE]);
    }
    return true;
}

/* As in MIOpenDriver, pad_mode applies only to convolutions that are not transposed, and among dilated ones only to
 * 1x1 filters. */
static void apply_pad_mode(const struct driver_values *values, struct problem *p)
{
    bool same = strcmp(values->texts[TEXT_PAD_MODE], "same") == 0;
    bool dilated = false, pointwise = true;
    for (int a = 0; a < AXIS_COUNT; a++) {
        dilated = dilated || p->dilation[a] != 1;
        pointwise = pointwise && p->fil[a] == 1;
    }
    if ((!same && strcmp(values->texts[TEXT_PAD_MODE], "valid") != 0) || (dilated && !pointwise)) {
        return;
    }
    for (int a = 0; a < AXIS_COUNT; a++) {
        p->pad[a] = 0;
        if (same && p->stride[a] > 0) {
            int64_t rest = p->in[a] % p->stride[a];
            p->pad[a] = MAX(p->fil[a] - (rest == 0 ? p->stride[a] : rest), 0) / 2;
        }
    }
}

/* Sets the layouts. A layout that the line does not name is taken from the ones that it names: a list that names one
 * layout means all three tensors. */
static bool set_layouts(const struct driver_values *values, struct problem *p, GError **error)
{
    static const enum driver_text order[] = {TEXT_IN_LAYOUT, TEXT_OUT_LAYOUT, TEXT_FIL_LAYOUT};
    int64_t length = values->numbers[NUMBER_VECTOR_LENGTH];
    int64_t vect = values->numbers[NUMBER_TENSOR_VECT];
    const char *common = p->spatial_dim == 3 ? "NCDHW" : "NCHW";
    if (!(vect == 0 && length == 1) && !(vect == 1 && (length == 4 || length == 8))) {
        return invalid(error,
                       "tensor_vect is %" PRId64 " and vector_length %" PRId64
                       ", they must be 0 and 1, or 1 and 4 or 8",
                       vect, length);
    }
    for (int i = G_N_ELEMENTS(order) - 1; i >= 0; i--) {
        const char *given = values->texts[order[i]];
        common = given[0] != '\0' ? given : common;
    }
    for (int t = 0; t < TENSOR_COUNT; t++) {
        const char *given = values->texts[TEXT_IN_LAYOUT + t];
        if (!driver_layout_parse(given[0] != '\0' ? given : common, (enum tensor_role)t,
                                 p->spatial_dim, p->groups, (int)length, &p->layout[t], error)) {
            return false;
        }
    }
    return true;
}

static bool set_types(const struct driver_values *values, enum data_type type, struct problem *p,
                      GError **error)
{
    const char *time = values->texts[TEXT_TIME];
    if (g_ascii_isalpha(time[0]) && !data_type_from_word(time, &type)) {
        return invalid(error, "-t is '%s', neither a number nor a data type", time);
    }
    for (int t = 0; t < TENSOR_COUNT; t++) {
        const char *cast = values->texts[TEXT_IN_CAST + t];
        p->type[t] = type == TYPE_INT8 && t == TENSOR_Y ? TYPE_INT32 : type;
        if (cast[0] != '\0' && strcmp(cast, "-1") != 0 && !data_type_from_word(cast, &p->cast[t])) {
            return invalid(error, "'%s' is no cast type (fp32, fp16, bfp16, int8, fp8, bfp8)",
                           cast);
        }
    }
    return true;
}

/* Sets the directions from rocMLIR's operation ("conv_bwd_data"); a line without one leaves them. False for an
 * unknown operation. */
static bool read_operation(const struct driver_values *values, int *directions, GError **error)
{
    static const char *const words[DIRECTION_COUNT] = {"conv", "conv_bwd_data", "conv_bwd_weight"};
    const char *given = values->texts[TEXT_OPERATION];
    for (int d = 0; d < DIRECTION_COUNT; d++) {
        if (strcmp(given, words[d]) == 0) {
            *directions = 1 << d;
            return true;
        }
    }
    return given[0] == '\0' ||
           invalid(error, "operation is '%s', it must be conv, conv_bwd_data or conv_bwd_weight",
                   given);
}

/* Sets the directions as bits: 1 F, 2 B, 4 W. INT8 has forward kernels only. */
static bool choose_directions(const struct driver_values *values, const struct problem *p,
                              int *directions, GError **error)
{
    if (!read_operation(values, directions, error)) {
        return false;
    }
    int64_t mask = values->has_forw ? values->numbers[NUMBER_FORW] : *directions;
    if (mask < 0 || mask > 7) {
        return invalid(error, "forw is %" PRId64 ", it must be 0 to 7", mask);
    }
    *directions = mask == 0 ? 7 : (int)mask;
    if (p->type[TENSOR_X] == TYPE_INT8) {
        *directions &= 1;
        if (*directions == 0) {
            return invalid(error, "forw is %" PRId64 ", but INT8 has the forward direction only",
                           mask);
        }
    }
    return true;
}

/* Makes a valid problem: `fields` are those of a plain convolution, or of a transposed one, which is replaced by the
 * equal plain one. */
static bool finish(const struct driver_values *values, const struct problem *fields,
                   enum direction direction, struct problem *p, GError **error)
{
    struct problem given = *fields;
    given.direction = direction;
    if (strcmp(values->texts[TEXT_MODE], "trans") == 0) {
        return problem_from_transposed(&given, &values->numbers[NUMBER_OUTPUT_PAD_D], p, error);
    }
    apply_pad_mode(values, &given);
    problem_set_output(&given);
    *p = given;
    return problem_validate(p, error);
}

static int order_by_direction(gconstpointer a, gconstpointer b)
{
    return (int)((const struct problem *)a)->direction -
           (int)((const struct problem *)b)->direction;
}

int driver_values_problems(const struct driver_values *values, enum data_type type, int directions,
                           struct problem problems[DIRECTION_COUNT], GError **error)
{
    struct problem fields;
    int count = 0;
    problem_init(&fields);
    if (!set_numbers(values, &fields, error) || !check_modes(values, error) ||
        !set_layouts(values, &fields, error) || !set_types(values, type, &fields, error) ||
        !choose_directions(values, &fields, &directions, error)) {
        return 0;
    }
    for (int d = 0; d < DIRECTION_COUNT; d++) {
        if ((directions & 1 << d) == 0) {
            continue;
        }
        if (!finish(values, &fields, (enum direction)d, &problems[count], error)) {
            return 0;
        }
        count++;
    }
    qsort(problems, (size_t)count, sizeof problems[0], order_by_direction);
    return count;
}
