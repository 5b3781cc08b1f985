#include "solvers/problem/epilogue.h"

#include "solvers/problem/text_cursor.h"

#include <math.h>
#include <string.h>

#define ARGUMENTS_MAX 2

enum argument_kind { ARGUMENT_A, ARGUMENT_B, ARGUMENT_TYPE, ARGUMENT_LAYOUT, ARGUMENT_SCOPE };

#define RESIDUAL 2, {ARGUMENT_TYPE, ARGUMENT_LAYOUT}, TENSOR_RESIDUAL
#define ALONE    0, {0}, TENSOR_X

/* The steps of an epilogue, with their arguments. `reads`: the operand that the step reads; TENSOR_X for none. */
static const struct step {
    const char *name;
    int count;
    enum argument_kind arguments[ARGUMENTS_MAX];
    enum tensor_role reads;
} steps[] = {
    [EPILOGUE_BIAS] = {"bias", 0, {0}, TENSOR_BIAS},
    [EPILOGUE_SCALE] = {"scale", 1, {ARGUMENT_SCOPE}, TENSOR_SCALES},
    [EPILOGUE_REQUANT] = {"requant", 2, {ARGUMENT_TYPE, ARGUMENT_SCOPE}, TENSOR_SCALES},
    [EPILOGUE_ADD] = {"add", RESIDUAL},
    [EPILOGUE_SUB] = {"sub", RESIDUAL},
    [EPILOGUE_MUL] = {"mul", RESIDUAL},
    [EPILOGUE_DIV] = {"div", RESIDUAL},
    [EPILOGUE_GREATER] = {"max", RESIDUAL},
    [EPILOGUE_SMALLER] = {"min", RESIDUAL},
    [EPILOGUE_RELU] = {"relu", ALONE},
    [EPILOGUE_CLIP] = {"clip", 2, {ARGUMENT_A, ARGUMENT_B}, TENSOR_X},
    [EPILOGUE_LEAKY] = {"leaky", 1, {ARGUMENT_A}, TENSOR_X},
    [EPILOGUE_PRELU] = {"prelu", 0, {0}, TENSOR_SCALES},
    [EPILOGUE_ELU] = {"elu", 1, {ARGUMENT_A}, TENSOR_X},
    [EPILOGUE_AFFINE] = {"affine", 2, {ARGUMENT_A, ARGUMENT_B}, TENSOR_X},
    [EPILOGUE_HARDSIGMOID] = {"hardsigmoid", 2, {ARGUMENT_A, ARGUMENT_B}, TENSOR_X},
    [EPILOGUE_SIGMOID] = {"sigmoid", ALONE},
    [EPILOGUE_TANH] = {"tanh", ALONE},
    [EPILOGUE_EXP] = {"exp", ALONE},
    [EPILOGUE_SQRT] = {"sqrt", ALONE},
    [EPILOGUE_ABS] = {"abs", ALONE},
    [EPILOGUE_ERF] = {"erf", ALONE},
    [EPILOGUE_SILU] = {"silu", ALONE},
    [EPILOGUE_HARDSWISH] = {"hardswish", ALONE},
    [EPILOGUE_SOFTPLUS] = {"softplus", ALONE},
    [EPILOGUE_MISH] = {"mish", ALONE},
    [EPILOGUE_GELU] = {"gelu", ALONE},
};

/* ---- parsing ---- */

static const char *take_number(const char *word, double *value)
{
    char *end = NULL;
    *value = g_ascii_strtod(word, &end);
    if (strspn(word, "0123456789.eE+-") != strlen(word) || end == word || *end != '\0' ||
        !isfinite(*value)) {
        return "expected a finite number";
    }
    if (*value == 0.0) {
        *value = 0.0; /* no "-0" */
    }
    return NULL;
}

/* Sets the step's field from one argument. Returns NULL, or the words for what was expected instead. */
static const char *take_argument(enum argument_kind kind, const char *word,
                                 struct epilogue_step *step)
{
    switch (kind) {
    case ARGUMENT_A: return take_number(word, &step->a);
    case ARGUMENT_B: return take_number(word, &step->b);
    case ARGUMENT_TYPE: return data_type_parse(word, &step->type) ? NULL : "expected a data type";
    case ARGUMENT_LAYOUT: return layout_parse(word, &step->layout) ? NULL : "expected a layout";
    case ARGUMENT_SCOPE:
        step->per_channel = strcmp(word, "channel") == 0;
        return step->per_channel || strcmp(word, "tensor") == 0 ? NULL
                                                                : "expected 'channel' or 'tensor'";
    }
    g_assert_not_reached();
}

static enum epilogue_op find_step(const char *name)
{
    for (size_t i = EPILOGUE_NONE + 1; i < G_N_ELEMENTS(steps); i++) {
        if (strcmp(name, steps[i].name) == 0) {
            return (enum epilogue_op)i;
        }
    }
    return EPILOGUE_NONE;
}

static const char *take_arguments(struct text_cursor *cursor, struct epilogue_step *step)
{
    const struct step *row = &steps[step->op];
    for (int i = 0; i < row->count; i++) {
        char word[32];
        if (!text_take_char(cursor, i == 0 ? '(' : ',') ||
            !text_take_word(cursor, ",()", word, sizeof word)) {
            return "the step needs more arguments";
        }
        const char *wrong = take_argument(row->arguments[i], word, step);
        if (wrong != NULL) {
            return wrong;
        }
    }
    if (row->count > 0 && !text_take_char(cursor, ')')) {
        return "expected ')'";
    }
    if (step->op == EPILOGUE_CLIP && step->a > step->b) {
        return "the lower bound of clip is over the upper";
    }
    if (step->op == EPILOGUE_PRELU) {
        step->per_channel = true;
    }
    return NULL;
}

static const char *take_step(struct text_cursor *cursor, struct epilogue *epilogue)
{
    char name[16];
    struct epilogue_step *step = &epilogue->steps[epilogue->count];
    if (!text_take_char(cursor, '+')) {
        return "a step of an epilogue begins with '+'";
    }
    if (text_take_word(cursor, "+(,)", name, sizeof name)) {
        step->op = find_step(name);
    }
    if (step->op == EPILOGUE_NONE) {
        return "no step of an epilogue has this name (solvers/FORMATS.md lists them: bias, relu, "
               "clip, add, ...)";
    }
    if (steps[step->op].reads != TENSOR_X && epilogue_reads(epilogue, steps[step->op].reads)) {
        return "an epilogue has at most one bias, one second tensor and one step with scales";
    }
    epilogue->count++;
    return take_arguments(cursor, step);
}

bool epilogue_parse(const char *text, struct epilogue *epilogue, GError **error)
{
    struct text_cursor cursor = {text, text};
    memset(epilogue, 0, sizeof *epilogue);
    while (*cursor.at != '\0') {
        const char *wrong = epilogue->count == EPILOGUE_STEPS_MAX
                                ? "an epilogue has at most 8 steps"
                                : take_step(&cursor, epilogue);
        if (wrong != NULL) {
            return text_fail(&cursor, wrong, error);
        }
    }
    return true;
}

/* ---- printing ---- */

static void print_argument(struct text_writer *writer, enum argument_kind kind,
                           const struct epilogue_step *step)
{
    char number[G_ASCII_DTOSTR_BUF_SIZE];
    switch (kind) {
    case ARGUMENT_A:
    case ARGUMENT_B:
        text_write(
            writer, "%s",
            g_ascii_formatd(number, sizeof number, "%.9g", kind == ARGUMENT_A ? step->a : step->b));
        break;
    case ARGUMENT_TYPE: text_write(writer, "%s", data_type_name(step->type)); break;
    case ARGUMENT_LAYOUT: text_write(writer, "%s", layout_name(step->layout)); break;
    case ARGUMENT_SCOPE: text_write(writer, "%s", step->per_channel ? "channel" : "tensor"); break;
    }
}

bool epilogue_print(const struct epilogue *epilogue, char out[EPILOGUE_MAX])
{
    char whole[4 * EPILOGUE_MAX];
    struct text_writer writer;
    text_writer_init(&writer, whole, sizeof whole);
    for (int i = 0; i < epilogue->count; i++) {
        const struct step *row = &steps[epilogue->steps[i].op];
        text_write(&writer, "+%s", row->name);
        for (int j = 0; j < row->count; j++) {
            text_write(&writer, "%c", j == 0 ? '(' : ',');
            print_argument(&writer, row->arguments[j], &epilogue->steps[i]);
        }
        text_write(&writer, "%s", row->count > 0 ? ")" : "");
    }
    if (writer.length >= EPILOGUE_MAX) {
        out[0] = '\0';
        return false;
    }
    memcpy(out, whole, writer.length + 1);
    return true;
}

bool epilogue_canonical(const char *text, char out[EPILOGUE_MAX], GError **error)
{
    struct epilogue epilogue;
    struct text_cursor cursor = {text, text};
    if (!epilogue_parse(text, &epilogue, error)) {
        return false;
    }
    return epilogue_print(&epilogue, out) ||
           text_fail(&cursor, "the epilogue is too long (95 bytes at most)", error);
}

/* ---- questions ---- */

bool epilogue_reads(const struct epilogue *epilogue, enum tensor_role role)
{
    for (int i = 0; i < epilogue->count; i++) {
        if (steps[epilogue->steps[i].op].reads == role) {
            return true;
        }
    }
    return false;
}

const struct epilogue_step *epilogue_residual(const struct epilogue *epilogue)
{
    for (int i = 0; i < epilogue->count; i++) {
        if (steps[epilogue->steps[i].op].reads == TENSOR_RESIDUAL) {
            return &epilogue->steps[i];
        }
    }
    return NULL;
}

int64_t epilogue_scales(const struct epilogue *epilogue, int64_t channels)
{
    for (int i = 0; i < epilogue->count; i++) {
        if (steps[epilogue->steps[i].op].reads == TENSOR_SCALES) {
            return (epilogue->steps[i].per_channel ? channels : 1) + 1;
        }
    }
    return 0;
}

/* Whether the residual lies as the output does: the same layout and strides. */
static bool residual_follows(const struct problem *p, const struct epilogue_step *residual)
{
    int64_t own[5], output[5], sizes[5];
    enum tensor_role out = problem_output_role(p);
    if (residual->layout != p->layout[out]) {
        return false;
    }
    problem_strides(p, TENSOR_RESIDUAL, own);
    problem_strides(p, out, output);
    problem_operand_sizes(p, out, sizes);
    for (int i = 0; i < 5; i++) {
        if (sizes[i] > 1 && own[i] != output[i]) {
            return false;
        }
    }
    return true;
}

unsigned problem_epilogue_classes(const struct problem *p)
{
    struct epilogue epilogue;
    unsigned classes = 0;
    if (p->epilogue[0] == '\0' || !epilogue_parse(p->epilogue, &epilogue, NULL)) {
        return 0;
    }
    for (int i = 0; i < epilogue.count; i++) {
        switch (steps[epilogue.steps[i].op].reads) {
        case TENSOR_BIAS: classes |= EPILOGUE_DOES_BIAS; break;
        case TENSOR_SCALES: classes |= EPILOGUE_DOES_SCALES; break;
        case TENSOR_RESIDUAL:
            classes |= EPILOGUE_DOES_RESIDUAL;
            if (!residual_follows(p, &epilogue.steps[i])) {
                classes |= EPILOGUE_DOES_ANY_RESIDUAL;
            }
            break;
        default: classes |= EPILOGUE_DOES_ACTIVATION; break;
        }
    }
    return classes;
}

bool problem_value_is_integer(const struct problem *p)
{
    if (p->type[TENSOR_X] != TYPE_INT8) {
        return false;
    }
    switch (p->kind) {
    case OP_CONV: return problem_sums_int8(p);
    case OP_POINTWISE: return true;
    case OP_POOL: return strcmp(p->mode, "max") == 0;
    case OP_RESIZE: return g_str_has_prefix(p->mode, "nearest,");
    case OP_SOFTMAX:
    case OP_LRN: break;
    }
    return false;
}

const char *epilogue_classes_text(unsigned classes, char out[EPILOGUE_CLASSES_MAX])
{
    static const char *const names[] = {"bias", "activation", "residual", "scales", "any-residual"};
    out[0] = '\0';
    for (gsize i = 0; i < G_N_ELEMENTS(names); i++) {
        if ((classes & 1u << i) != 0) {
            g_strlcat(out, out[0] != '\0' ? " " : "", EPILOGUE_CLASSES_MAX);
            g_strlcat(out, names[i], EPILOGUE_CLASSES_MAX);
        }
    }
    return out;
}

/* ---- computing ---- */

static double clamp(double v, double low, double high)
{
    return v < low ? low : v > high ? high : v;
}

static double softplus(double v)
{
    return v > 0 ? v + log1p(exp(-v)) : log1p(exp(v));
}

static double sigmoid(double v)
{
    return 1 / (1 + exp(-v));
}

static double apply_step(const struct epilogue_step *step, double v, double bias, double residual,
                         double scale)
{
    switch (step->op) {
    case EPILOGUE_NONE: return v;
    case EPILOGUE_BIAS: return v + bias;
    case EPILOGUE_SCALE:
    case EPILOGUE_REQUANT: return v * scale;
    case EPILOGUE_ADD: return v + residual;
    case EPILOGUE_SUB: return v - residual;
    case EPILOGUE_MUL: return v * residual;
    case EPILOGUE_DIV: return v / residual;
    case EPILOGUE_GREATER: return v > residual ? v : residual;
    case EPILOGUE_SMALLER: return v < residual ? v : residual;
    case EPILOGUE_RELU: return v < 0 ? 0 : v;
    case EPILOGUE_CLIP: return clamp(v, step->a, step->b);
    case EPILOGUE_LEAKY: return v < 0 ? step->a * v : v;
    case EPILOGUE_PRELU: return v < 0 ? scale * v : v;
    case EPILOGUE_ELU: return v < 0 ? step->a * expm1(v) : v;
    case EPILOGUE_AFFINE: return step->a * v + step->b;
    case EPILOGUE_HARDSIGMOID: return clamp(step->a * v + step->b, 0, 1);
    case EPILOGUE_SIGMOID: return sigmoid(v);
    case EPILOGUE_TANH: return tanh(v);
    case EPILOGUE_EXP: return exp(v);
    case EPILOGUE_SQRT: return sqrt(v);
    case EPILOGUE_ABS: return fabs(v);
    case EPILOGUE_ERF: return erf(v);
    case EPILOGUE_SILU: return v * sigmoid(v);
    case EPILOGUE_HARDSWISH: return v * clamp(v + 3, 0, 6) / 6;
    case EPILOGUE_SOFTPLUS: return softplus(v);
    case EPILOGUE_MISH: return v * tanh(softplus(v));
    case EPILOGUE_GELU: return v / 2 * erfc(-v * M_SQRT1_2);
    }
    g_assert_not_reached();
}

double epilogue_apply(const struct epilogue *epilogue, double v, double bias, double residual,
                      double scale)
{
    for (int i = 0; i < epilogue->count; i++) {
        v = apply_step(&epilogue->steps[i], v, bias, residual, scale);
    }
    return v;
}
