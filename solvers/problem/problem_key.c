#include "solvers/problem/problem_key.h"

#include "solvers/problem/epilogue.h"
#include "solvers/problem/problem_sides.h"
#include "solvers/problem/text_cursor.h"

#include <inttypes.h>
#include <string.h>

static enum axis first_axis(const struct problem *p)
{
    return p->spatial_dim == 3 ? AXIS_D : AXIS_H;
}

static void write_sizes(struct text_writer *writer, const struct problem *p, const int64_t *sizes,
                        char separator)
{
    for (int a = first_axis(p); a < AXIS_COUNT; a++) {
        text_write(writer, "%" PRId64 "%c", sizes[a], a == AXIS_W ? '-' : separator);
    }
}

static bool all_default_layout(const struct problem *p)
{
    enum layout common = p->spatial_dim == 3 ? LAYOUT_NCDHW : LAYOUT_NCHW;
    return p->layout[TENSOR_X] == common && p->layout[TENSOR_W] == common &&
           p->layout[TENSOR_Y] == common;
}

static void write_layouts(struct text_writer *writer, const struct problem *p,
                          const struct problem_sides *sides)
{
    text_write(writer, "%s", layout_name(p->layout[sides->in]));
    if (!all_default_layout(p)) {
        text_write(writer, "-%s-%s", layout_name(p->layout[TENSOR_W]),
                   layout_name(p->layout[sides->out]));
    }
}

static void write_options(struct text_writer *writer, const struct problem *p,
                          const struct problem_sides *sides)
{
    const struct {
        char letter;
        enum data_type type;
    } casts[] = {{'i', p->cast[sides->in]}, {'w', p->cast[TENSOR_W]}, {'o', p->cast[sides->out]}};
    if (p->groups != 1) {
        text_write(writer, "_g%" PRId64, p->groups);
    }
    for (size_t i = 0; i < G_N_ELEMENTS(casts); i++) {
        if (casts[i].type != TYPE_NONE) {
            text_write(writer, "_c%c%s", casts[i].letter, data_type_name(casts[i].type));
        }
    }
    if (p->kind == OP_CONV && p->mode[0] != '\0') {
        text_write(writer, "_cx%s", p->mode);
    }
}

/* The letters of the tensors in the options for strides. */
static const char stride_letters[STRIDED_COUNT] = {
    [TENSOR_X] = 'x', [TENSOR_W] = 'w', [TENSOR_Y] = 'y', [TENSOR_RESIDUAL] = 'r'};

static void write_strides(struct text_writer *writer, const struct problem *p)
{
    for (int t = 0; t < STRIDED_COUNT; t++) {
        const int64_t *s = p->strides[t];
        if ((s[0] | s[1] | s[2] | s[3] | s[4]) == 0) {
            continue;
        }
        text_write(writer, "_s%c", stride_letters[t]);
        for (int i = 0; i < 5; i++) {
            text_write(writer, "%s%" PRId64, i > 0 ? "x" : "", s[i]);
        }
    }
}

/* Writes the part that names the kind: nothing for a convolution. */
static void write_kind(struct text_writer *writer, const struct problem *p)
{
    if (p->kind == OP_CONV) {
        return;
    }
    text_write(writer, "%s", op_kind_name(p->kind));
    if (p->mode[0] != '\0') {
        text_write(writer, "(%s)", p->mode);
    }
    text_write(writer, "-");
}

/* Writes the problem's key; `ending` is the direction's part: "-F", or "" in a shape's key. */
static void write_key(const struct problem *p, const char *ending, char buffer[PROBLEM_KEY_MAX])
{
    struct problem_sides sides;
    struct text_writer writer;
    char types[32];
    problem_sides_init(&sides, p->direction);
    text_writer_init(&writer, buffer, PROBLEM_KEY_MAX);
    write_kind(&writer, p);
    text_write(&writer, "%" PRId64 "-", *problem_channels((struct problem *)p, sides.in));
    write_sizes(&writer, p, problem_spatial((struct problem *)p, sides.in), '-');
    write_sizes(&writer, p, p->fil, 'x');
    text_write(&writer, "%" PRId64 "-", *problem_channels((struct problem *)p, sides.out));
    write_sizes(&writer, p, problem_spatial((struct problem *)p, sides.out), '-');
    text_write(&writer, "%" PRId64 "-", p->n);
    write_sizes(&writer, p, p->pad, 'x');
    write_sizes(&writer, p, p->stride, 'x');
    write_sizes(&writer, p, p->dilation, 'x');
    text_write(&writer, "%d-", p->bias);
    write_layouts(&writer, p, &sides);
    text_write(&writer, "-%s%s", problem_types_name(p, types), ending);
    write_options(&writer, p, &sides);
    write_strides(&writer, p);
    text_write(&writer, "%s", p->epilogue);
}

const char *problem_key(const struct problem *p, char buffer[PROBLEM_KEY_MAX])
{
    const char ending[] = {'-', direction_letter(p->direction), '\0'};
    write_key(p, ending, buffer);
    return buffer;
}

bool problem_find_key(const struct problem *p, char buffer[PROBLEM_KEY_MAX])
{
    if (!problem_has_find_key(p)) {
        return false;
    }
    problem_key(p, buffer);
    return true;
}

const char *problem_shape_key(const struct problem *p, char buffer[PROBLEM_KEY_MAX])
{
    struct problem forward = *p;
    forward.direction = DIRECTION_F;
    write_key(&forward, "", buffer);
    return buffer;
}

/* The number of spatial dimensions of a key, by the filter's part: it has the key's first 'x', and a second one in
 * 3D. */
static int dimensions(const char *key)
{
    const char *at = strchr(key, 'x');
    if (at == NULL) {
        return 2;
    }
    at += 1 + strspn(at + 1, "0123456789");
    return *at == 'x' ? 3 : 2;
}

static bool take_sizes(struct text_cursor *cursor, const struct problem *p, char separator,
                       int64_t *sizes)
{
    for (int a = first_axis(p); a < AXIS_COUNT; a++) {
        if (!text_take_number(cursor, &sizes[a]) ||
            !text_take_char(cursor, a == AXIS_W ? '-' : separator)) {
            return false;
        }
    }
    return true;
}

static bool take_count(struct text_cursor *cursor, int64_t *value)
{
    return text_take_number(cursor, value) && text_take_char(cursor, '-');
}

/* Reads the numbers of a key, the part before the bias flag. The key's sides "in" and "out" are x and y, or y and x
 * for B and W. */
static const char *take_numbers(struct text_cursor *cursor, struct problem *p,
                                const struct problem_sides *sides)
{
    int64_t bias = 0;
    if (!take_count(cursor, problem_channels(p, sides->in)) ||
        !take_sizes(cursor, p, '-', problem_spatial(p, sides->in))) {
        return "expected the channels and the size in front of the filter (C-H-W- or C-D-H-W-)";
    }
    if (!take_sizes(cursor, p, 'x', p->fil)) {
        return "expected the filter's size (3x3-)";
    }
    if (!take_count(cursor, problem_channels(p, sides->out)) ||
        !take_sizes(cursor, p, '-', problem_spatial(p, sides->out))) {
        return "expected the channels and the size behind the filter (K-oH-oW- or K-oD-oH-oW-)";
    }
    if (!take_count(cursor, &p->n)) {
        return "expected the batch size";
    }
    if (!take_sizes(cursor, p, 'x', p->pad)) {
        return "expected the padding, one number an axis (1x1-)";
    }
    if (!take_sizes(cursor, p, 'x', p->stride)) {
        return "expected the strides, one number an axis (1x1-)";
    }
    if (!take_sizes(cursor, p, 'x', p->dilation)) {
        return "expected the dilations, one number an axis (1x1-)";
    }
    if (!take_count(cursor, &bias) || bias > 1) {
        return "expected the bias (0 or 1)";
    }
    p->bias = (int)bias;
    return NULL;
}

static bool take_layout(struct text_cursor *cursor, enum layout *layout)
{
    struct text_cursor start = *cursor;
    char word[16];
    if (text_take_word(cursor, "-", word, sizeof word) && layout_parse(word, layout) &&
        text_take_char(cursor, '-')) {
        return true;
    }
    *cursor = start;
    return false;
}

static const char *take_layouts(struct text_cursor *cursor, struct problem *p,
                                const struct problem_sides *sides)
{
    enum layout in, filter, out;
    if (!take_layout(cursor, &in)) {
        return "expected a layout";
    }
    bool three = take_layout(cursor, &filter);
    if (three && !take_layout(cursor, &out)) {
        return "expected the third layout (in-weights-out)";
    }
    p->layout[sides->in] = in;
    p->layout[TENSOR_W] = three ? filter : in;
    p->layout[sides->out] = three ? out : in;
    if (three == all_default_layout(p)) {
        return "the layouts are one when all three are NCHW (3D: NCDHW), else three";
    }
    return NULL;
}

static const char *take_direction(struct text_cursor *cursor, enum direction *direction)
{
    if (!text_take_char(cursor, '-') || !direction_parse(*cursor->at, direction)) {
        return "expected the direction (F, B or W)";
    }
    cursor->at++;
    return NULL;
}

static bool take_cast(struct text_cursor *cursor, char letter, enum data_type *cast)
{
    const char mark[] = {'_', 'c', letter, '\0'};
    char word[8];
    return !text_take_literal(cursor, mark) ||
           (text_take_word(cursor, "_+", word, sizeof word) && data_type_parse(word, cast));
}

static const char *take_options(struct text_cursor *cursor, struct problem *p,
                                const struct problem_sides *sides)
{
    if (text_take_literal(cursor, "_g") &&
        (!text_take_number(cursor, &p->groups) || p->groups == 1)) {
        return "expected a group count other than 1 after '_g'";
    }
    if (!take_cast(cursor, 'i', &p->cast[sides->in]) ||
        !take_cast(cursor, 'w', &p->cast[TENSOR_W]) ||
        !take_cast(cursor, 'o', &p->cast[sides->out])) {
        return "expected a data type after '_ci', '_cw' or '_co'";
    }
    if (text_take_literal(cursor, "_cx")) {
        if (p->kind != OP_CONV || !text_take_word(cursor, "_+", p->mode, sizeof p->mode) ||
            !problem_is_tf32(p)) {
            return "expected TF32 after '_cx', in the key of a convolution";
        }
    }
    return NULL;
}

static const char *take_strides(struct text_cursor *cursor, struct problem *p)
{
    for (int t = 0; t < STRIDED_COUNT; t++) {
        const char mark[] = {'_', 's', stride_letters[t], '\0'};
        int64_t any = 0;
        if (!text_take_literal(cursor, mark)) {
            continue;
        }
        for (int i = 0; i < 5; i++) {
            if ((i > 0 && !text_take_char(cursor, 'x')) ||
                !text_take_number(cursor, &p->strides[t][i])) {
                return "expected five strides (_sx64x1x0x512x8), one for each axis N C D H W";
            }
            any |= p->strides[t][i];
        }
        if (any == 0) {
            return "the strides of a packed tensor are left out";
        }
    }
    return NULL;
}

static const char *take_kind(struct text_cursor *cursor, struct problem *p)
{
    char name[16];
    if (!g_ascii_isalpha(*cursor->at)) {
        return NULL;
    }
    if (!text_take_word(cursor, "(-", name, sizeof name) || !op_kind_parse(name, &p->kind) ||
        p->kind == OP_CONV) {
        return "no operator has this name (pool, pointwise, softmax, resize, lrn)";
    }
    if (text_take_char(cursor, '(') &&
        (!text_take_word(cursor, "()", p->mode, sizeof p->mode) || !text_take_char(cursor, ')'))) {
        return "expected the operator's mode in parentheses";
    }
    return text_take_char(cursor, '-') ? NULL : "expected '-' behind the operator's name";
}

static bool take_epilogue(struct text_cursor *cursor, struct problem *p, GError **error)
{
    if (*cursor->at == '\0') {
        return true;
    }
    if (*cursor->at != '+') {
        return text_fail(
            cursor,
            "expected the end, an option (_g2, _ciFP8, _cxTF32, _sx...) or an epilogue (+relu)",
            error);
    }
    if (!epilogue_canonical(cursor->at, p->epilogue, error)) {
        return false;
    }
    if (strcmp(p->epilogue, cursor->at) != 0) {
        return text_fail(cursor, "the epilogue is not in its canonical form", error);
    }
    return true;
}

/* Finds the direction of a key, the last letter before the options. It must be known first, because it decides which
 * tensor the key's earlier parts mean. */
static bool peek_direction(const char *key, enum direction *direction)
{
    const char *end = key + strcspn(key, "_+");
    return end > key && direction_parse(end[-1], direction);
}

bool problem_key_parse(const char *key, struct problem *p, GError **error)
{
    struct text_cursor cursor = {key, key};
    struct problem_sides sides;
    struct problem made;
    problem_init(&made);
    const char *wrong = take_kind(&cursor, &made);
    if (wrong != NULL) {
        return text_fail(&cursor, wrong, error);
    }
    made.spatial_dim = dimensions(cursor.at);
    if (!peek_direction(cursor.at, &made.direction)) {
        return text_fail(&cursor, "it does not end in a direction (-F, -B or -W)", error);
    }
    problem_sides_init(&sides, made.direction);
    wrong = take_numbers(&cursor, &made, &sides);
    if (wrong == NULL) {
        wrong = take_layouts(&cursor, &made, &sides);
    }
    if (wrong == NULL) {
        wrong = problem_take_types(&cursor, &made);
    }
    if (wrong == NULL) {
        wrong = take_direction(&cursor, &made.direction);
    }
    if (wrong == NULL) {
        wrong = take_options(&cursor, &made, &sides);
    }
    if (wrong == NULL) {
        wrong = take_strides(&cursor, &made);
    }
    if (wrong != NULL) {
        return text_fail(&cursor, wrong, error);
    }
    if (!take_epilogue(&cursor, &made, error)) {
        return false;
    }
    *p = made;
    return true;
}
