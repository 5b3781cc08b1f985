/* The operands of a problem, by the steps of its epilogue. */
#include "export/sjdb/reader/forms.h"

#include <float.h>

enum argument { NO_ARGUMENT, NUMBER_A, NUMBER_B, TYPE, LAYOUT, SCOPE };

/* The steps, by enum skipjackdb_step_op: their arguments, and the operand that they read. */
static const struct step_row {
    const char *name;
    enum argument arguments[2];
    int32_t tensor;
} step_rows[] = {
    [SKIPJACKDB_STEP_BIAS] = {"bias", {0}, SKIPJACKDB_TENSOR_BIAS},
    [SKIPJACKDB_STEP_SCALE] = {"scale", {SCOPE}, SKIPJACKDB_TENSOR_SCALES},
    [SKIPJACKDB_STEP_REQUANT] = {"requant", {TYPE, SCOPE}, SKIPJACKDB_TENSOR_SCALES},
    [SKIPJACKDB_STEP_ADD] = {"add", {TYPE, LAYOUT}, SKIPJACKDB_TENSOR_RESIDUAL},
    [SKIPJACKDB_STEP_SUB] = {"sub", {TYPE, LAYOUT}, SKIPJACKDB_TENSOR_RESIDUAL},
    [SKIPJACKDB_STEP_MUL] = {"mul", {TYPE, LAYOUT}, SKIPJACKDB_TENSOR_RESIDUAL},
    [SKIPJACKDB_STEP_DIV] = {"div", {TYPE, LAYOUT}, SKIPJACKDB_TENSOR_RESIDUAL},
    [SKIPJACKDB_STEP_MAX] = {"max", {TYPE, LAYOUT}, SKIPJACKDB_TENSOR_RESIDUAL},
    [SKIPJACKDB_STEP_MIN] = {"min", {TYPE, LAYOUT}, SKIPJACKDB_TENSOR_RESIDUAL},
    [SKIPJACKDB_STEP_RELU] = {"relu", {0}, -1},
    [SKIPJACKDB_STEP_CLIP] = {"clip", {NUMBER_A, NUMBER_B}, -1},
    [SKIPJACKDB_STEP_LEAKY] = {"leaky", {NUMBER_A}, -1},
    [SKIPJACKDB_STEP_PRELU] = {"prelu", {0}, SKIPJACKDB_TENSOR_SCALES},
    [SKIPJACKDB_STEP_ELU] = {"elu", {NUMBER_A}, -1},
    [SKIPJACKDB_STEP_AFFINE] = {"affine", {NUMBER_A, NUMBER_B}, -1},
    [SKIPJACKDB_STEP_HARDSIGMOID] = {"hardsigmoid", {NUMBER_A, NUMBER_B}, -1},
    [SKIPJACKDB_STEP_SIGMOID] = {"sigmoid", {0}, -1},
    [SKIPJACKDB_STEP_TANH] = {"tanh", {0}, -1},
    [SKIPJACKDB_STEP_EXP] = {"exp", {0}, -1},
    [SKIPJACKDB_STEP_SQRT] = {"sqrt", {0}, -1},
    [SKIPJACKDB_STEP_ABS] = {"abs", {0}, -1},
    [SKIPJACKDB_STEP_ERF] = {"erf", {0}, -1},
    [SKIPJACKDB_STEP_SILU] = {"silu", {0}, -1},
    [SKIPJACKDB_STEP_HARDSWISH] = {"hardswish", {0}, -1},
    [SKIPJACKDB_STEP_SOFTPLUS] = {"softplus", {0}, -1},
    [SKIPJACKDB_STEP_MISH] = {"mish", {0}, -1},
    [SKIPJACKDB_STEP_GELU] = {"gelu", {0}, -1},
};
#define STEPS ((int32_t)(sizeof step_rows / sizeof step_rows[0]))

/* ---- parsing, in any locale ---- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Multiplies by a power of ten; exact where result and power are. */
static double scaled(double value, int power)
{
    for (; power > 0 && value != 0; power--) {
        value *= 10;
    }
    double divisor = 1;
    for (; power < 0 && divisor < 1e300; power++) {
        divisor *= 10;
    }
    return value / divisor;
}

/* Takes a number as "%.9g" writes it. */
static bool take_real(const char **at, double *value)
{
    const char *c = *at;
    int power = 0, exponent = 0, digits = 0;
    double number = 0;
    bool negative = *c == '-', behind = false;
    c += negative;
    for (; is_digit(*c) || (*c == '.' && !behind); c++) {
        if (*c == '.') {
            behind = true;
            continue;
        }
        if (++digits > 15) {
            return false;
        }
        number = number * 10 + (*c - '0');
        power -= behind;
    }
    if (digits > 0 && *c == 'e') {
        bool down = c[1] == '-';
        c += 1 + (c[1] == '-' || c[1] == '+');
        if (!is_digit(*c)) {
            return false;
        }
        for (; is_digit(*c) && exponent < 1000; c++) {
            exponent = exponent * 10 + (*c - '0');
        }
        power += down ? -exponent : exponent;
    }
    number = scaled(number, power);
    *value = negative ? -number : number;
    *at = c;
    return digits > 0 && number <= DBL_MAX;
}

/* Copies a word up to the next of ",()+"; at most 15 characters. */
static bool take_word(const char **at, char word[16])
{
    size_t length = strcspn(*at, ",()+");
    if (length == 0 || length > 15) {
        return false;
    }
    memcpy(word, *at, length);
    word[length] = '\0';
    *at += length;
    return true;
}

static bool take_argument(const char **at, enum argument argument, struct skipjackdb_step *step)
{
    char word[16];
    if (argument == NUMBER_A || argument == NUMBER_B) {
        return take_real(at, argument == NUMBER_A ? &step->a : &step->b);
    }
    if (!take_word(at, word)) {
        return false;
    }
    if (argument == SCOPE) {
        step->per_channel = strcmp(word, "channel") == 0;
        return step->per_channel || strcmp(word, "tensor") == 0;
    }
    return argument == TYPE ? sjdb_type_named(word, &step->type)
                            : sjdb_layout_named(word, &step->layout);
}

/* Takes a step from the text of an epilogue. */
static bool take_step(const char **at, struct skipjackdb_step *step)
{
    char word[16];
    memset(step, 0, sizeof *step);
    if (*(*at)++ != '+' || !take_word(at, word)) {
        return false;
    }
    for (int32_t op = 1; op < STEPS && step->op == 0; op++) {
        step->op = strcmp(word, step_rows[op].name) == 0 ? op : 0;
    }
    if (step->op == 0) {
        return false;
    }
    const struct step_row *row = &step_rows[step->op];
    step->tensor = row->tensor;
    step->per_channel = step->op == SKIPJACKDB_STEP_PRELU;
    for (int i = 0; i < 2 && row->arguments[i] != NO_ARGUMENT; i++) {
        if (*(*at)++ != (i == 0 ? '(' : ',') || !take_argument(at, row->arguments[i], step)) {
            return false;
        }
    }
    return row->arguments[0] == NO_ARGUMENT || *(*at)++ == ')';
}

static int step_at(const struct skipjackdb_problem *p, uint32_t index, struct skipjackdb_step *step)
{
    const char *at = p->epilogue;
    for (uint32_t i = 0; *at != '\0'; i++) {
        if (!take_step(&at, step)) {
            return SKIPJACKDB_SYNTAX;
        }
        if (i == index) {
            return SKIPJACKDB_OK;
        }
    }
    return SKIPJACKDB_NOT_FOUND;
}

int skipjackdb_step_at(const struct skipjackdb_problem *problem, uint32_t index,
                       struct skipjackdb_step *step)
{
    struct skipjackdb_problem own;
    struct skipjackdb_step made;
    if (!sjdb_problem_sized(problem) || !SJDB_SIZED(step) || !sjdb_problem_take(problem, &own)) {
        return SKIPJACKDB_USAGE;
    }
    int code = step_at(&own, index, &made);
    if (code == SKIPJACKDB_OK) {
        size_t size = step->size;
        sjdb_hand_out(&made, sizeof made, step, size);
        step->size = size;
    }
    return code;
}

/* Finds the step that reads the operand. */
static int step_that_reads(const struct skipjackdb_problem *p, int32_t tensor,
                           struct skipjackdb_step *step)
{
    int code = SKIPJACKDB_OK;
    for (uint32_t i = 0; (code = step_at(p, i, step)) == SKIPJACKDB_OK; i++) {
        if (step->tensor == tensor) {
            return SKIPJACKDB_OK;
        }
    }
    return code;
}

/* ---- operands ---- */

/* For each layout its axes (0 N, 1 C, 2 D, 3 H, 4 W), the outermost first. */
static const uint8_t axis_orders[][5] = {
    [SKIPJACKDB_NCHW] = {0, 1, 2, 3, 4},   [SKIPJACKDB_NHWC] = {0, 2, 3, 4, 1},
    [SKIPJACKDB_CHWN] = {1, 2, 3, 4, 0},   [SKIPJACKDB_NCHWC4] = {0, 1, 2, 3, 4},
    [SKIPJACKDB_NCHWC8] = {0, 1, 2, 3, 4}, [SKIPJACKDB_CHWNC4] = {1, 2, 3, 4, 0},
    [SKIPJACKDB_CHWNC8] = {1, 2, 3, 4, 0}, [SKIPJACKDB_NCDHW] = {0, 1, 2, 3, 4},
    [SKIPJACKDB_NDHWC] = {0, 2, 3, 4, 1},
};
static const uint8_t channel_blocks[] = {
    [SKIPJACKDB_NCHW] = 1,   [SKIPJACKDB_NHWC] = 1,   [SKIPJACKDB_CHWN] = 1,
    [SKIPJACKDB_NCHWC4] = 4, [SKIPJACKDB_NCHWC8] = 8, [SKIPJACKDB_CHWNC4] = 4,
    [SKIPJACKDB_CHWNC8] = 8, [SKIPJACKDB_NCDHW] = 1,  [SKIPJACKDB_NDHWC] = 1,
};

void sjdb_tensor_sizes(const struct skipjackdb_problem *p, int32_t tensor, int64_t sizes[5])
{
    const int64_t *const spatial[] = {p->in, p->fil, p->out};
    sizes[0] = tensor == SKIPJACKDB_TENSOR_W ? p->k : p->n;
    sizes[1] = tensor == SKIPJACKDB_TENSOR_Y ? p->k : p->c;
    if (tensor == SKIPJACKDB_TENSOR_W && p->groups > 0) {
        sizes[1] = p->c / p->groups;
    }
    memcpy(sizes + 2, spatial[tensor], 3 * sizeof sizes[0]);
}

uint64_t sjdb_channel_block(int32_t layout)
{
    return channel_blocks[layout];
}

/* Products wrap at 2^64: the sizes come from the caller and may be any numbers. */
uint64_t sjdb_packed_strides(int32_t layout, const int64_t sizes[5], int64_t strides[5])
{
    uint64_t block = channel_blocks[layout], stride = block;
    for (int i = 4; i >= 0; i--) {
        int axis = axis_orders[layout][i];
        uint64_t size = (uint64_t)sizes[axis];
        strides[axis] = (int64_t)stride;
        stride *= axis == 1 ? size / block + (size % block > 0) : size;
    }
    return stride;
}

int skipjackdb_strides(const struct skipjackdb_problem *problem, int32_t tensor, int64_t strides[5],
                       int64_t *elements)
{
    int64_t sizes[5];
    if (!sjdb_problem_sized(problem) || tensor < 0 || tensor > SKIPJACKDB_TENSOR_Y ||
        strides == NULL || problem->layout[tensor] < 0 ||
        problem->layout[tensor] > SKIPJACKDB_NDHWC) {
        return SKIPJACKDB_USAGE;
    }
    sjdb_tensor_sizes(problem, tensor, sizes);
    uint64_t count = sjdb_packed_strides(problem->layout[tensor], sizes, strides);
    if (elements != NULL) {
        *elements = (int64_t)count;
    }
    return SKIPJACKDB_OK;
}

static int32_t output_of(const struct skipjackdb_problem *p)
{
    return p->direction == SKIPJACKDB_F   ? SKIPJACKDB_TENSOR_Y
           : p->direction == SKIPJACKDB_B ? SKIPJACKDB_TENSOR_X
                                          : SKIPJACKDB_TENSOR_W;
}

static int32_t bias_type(int32_t type)
{
    return type == SKIPJACKDB_INT8   ? SKIPJACKDB_INT32
           : type == SKIPJACKDB_FP64 ? SKIPJACKDB_FP64
                                     : SKIPJACKDB_FP32;
}

/* Sets type, layout and sizes of the operand. */
static int describe(const struct skipjackdb_problem *p, int32_t tensor,
                    struct skipjackdb_operand *operand)
{
    struct skipjackdb_step step;
    if (tensor <= SKIPJACKDB_TENSOR_Y) {
        if (tensor == SKIPJACKDB_TENSOR_W && p->kind != SKIPJACKDB_CONV) {
            return SKIPJACKDB_NOT_FOUND;
        }
        operand->type = p->type[tensor];
        operand->layout = p->layout[tensor];
        sjdb_tensor_sizes(p, tensor, operand->sizes);
        return SKIPJACKDB_OK;
    }
    int code = step_that_reads(p, tensor, &step);
    sjdb_tensor_sizes(p, output_of(p), operand->sizes);
    operand->type = step.type;
    operand->layout = step.layout;
    if (code == SKIPJACKDB_OK && tensor != SKIPJACKDB_TENSOR_RESIDUAL) {
        int64_t channels = operand->sizes[1];
        bool bias = tensor == SKIPJACKDB_TENSOR_BIAS;
        operand->type = bias ? bias_type(p->type[0]) : SKIPJACKDB_FP32;
        operand->layout = SKIPJACKDB_NCHW;
        for (int i = 0; i < 5; i++) {
            operand->sizes[i] = 1;
        }
        operand->sizes[1] = bias ? channels : (step.per_channel ? channels : 1) + 1;
    }
    return code;
}

int skipjackdb_operand_at(const struct skipjackdb_problem *problem, int32_t tensor,
                          struct skipjackdb_operand *operand)
{
    static const uint8_t bytes[] = {0, 4, 2, 2, 1, 4, 8, 1, 1};
    struct skipjackdb_problem own;
    struct skipjackdb_operand made = {0};
    if (!sjdb_problem_sized(problem) || !SJDB_SIZED(operand) || tensor < 0 ||
        tensor >= SKIPJACKDB_TENSOR_PACKED || !sjdb_problem_take(problem, &own)) {
        return SKIPJACKDB_USAGE;
    }
    int code = describe(&own, tensor, &made);
    if (code != SKIPJACKDB_OK) {
        return code;
    }
    if (made.type < 1 || made.type > SKIPJACKDB_BF8 || made.layout < 0 ||
        made.layout > SKIPJACKDB_NDHWC) {
        return SKIPJACKDB_USAGE;
    }
    made.elements = sjdb_packed_strides(made.layout, made.sizes, made.strides);
    if (tensor <= SKIPJACKDB_TENSOR_RESIDUAL && sjdb_tensor_is_strided(&own, tensor)) {
        uint64_t block = sjdb_channel_block(made.layout);
        memcpy(made.strides, own.strides[tensor], sizeof made.strides);
        made.elements = block;
        for (int i = 0; i < 5; i++) {
            uint64_t steps = (uint64_t)made.sizes[i];
            steps = i == 1 ? (steps + block - 1) / block : steps;
            made.elements += (steps - 1) * (uint64_t)made.strides[i];
        }
    }
    made.bytes = made.elements * bytes[made.type];
    size_t size = operand->size;
    sjdb_hand_out(&made, sizeof made, operand, size);
    operand->size = size;
    return SKIPJACKDB_OK;
}

/* ---- what a solver must do ---- */

/* Whether the residual lies as the output does. */
static bool residual_follows(const struct skipjackdb_problem *p)
{
    struct skipjackdb_operand residual = {.size = sizeof residual}, output = residual;
    if (skipjackdb_operand_at(p, SKIPJACKDB_TENSOR_RESIDUAL, &residual) != SKIPJACKDB_OK ||
        skipjackdb_operand_at(p, output_of(p), &output) != SKIPJACKDB_OK ||
        residual.layout != output.layout) {
        return false;
    }
    bool same = true;
    for (int i = 0; i < 5; i++) {
        same = same && (output.sizes[i] <= 1 || residual.strides[i] == output.strides[i]);
    }
    return same;
}

uint32_t sjdb_needed_flags(const struct skipjackdb_problem *p)
{
    struct skipjackdb_step step;
    uint32_t needed = sjdb_is_strided(p) ? SKIPJACKDB_ANY_STRIDES : 0;
    for (uint32_t i = 0; step_at(p, i, &step) == SKIPJACKDB_OK; i++) {
        switch (step.tensor) {
        case SKIPJACKDB_TENSOR_BIAS: needed |= SKIPJACKDB_DOES_BIAS; break;
        case SKIPJACKDB_TENSOR_SCALES: needed |= SKIPJACKDB_DOES_SCALES; break;
        case SKIPJACKDB_TENSOR_RESIDUAL:
            needed |= SKIPJACKDB_DOES_RESIDUAL;
            needed |= residual_follows(p) ? 0 : SKIPJACKDB_DOES_ANY_RESIDUAL;
            break;
        default: needed |= SKIPJACKDB_DOES_ACTIVATION; break;
        }
    }
    return needed;
}
