#include "solvers/common/conv_epilogue.h"

#include <float.h>
#include <string.h>

/* The problem's epilogue; one without steps for a problem without epilogue. */
static struct epilogue epilogue_of(const struct problem *p)
{
    struct epilogue epilogue = {0};

    if (p->epilogue[0] != '\0' && !epilogue_parse(p->epilogue, &epilogue, NULL))
        g_assert_not_reached();
    return epilogue;
}

static enum data_type residual_type(const struct epilogue *epilogue)
{
    const struct epilogue_step *step = epilogue_residual(epilogue);

    return step ? step->type : TYPE_NONE;
}

bool conv_epilogue_is_served(const struct problem *p, bool float8, const char **reason)
{
    struct epilogue epilogue = epilogue_of(p);
    enum data_type residual = residual_type(&epilogue);

    if (epilogue.count == 0)
        return true;
    if (residual == TYPE_FP64) {
        *reason = "needs a second tensor of the epilogue in other types than FP64";
        return false;
    }
    if (!float8 && (residual == TYPE_FP8 || residual == TYPE_BF8)) {
        *reason = "needs a second tensor of the epilogue in FP32, FP16, BF16, INT8 or INT32";
        return false;
    }
    for (int t = 0; t < TENSOR_COUNT; t++) {
        if (p->type[t] == TYPE_FP64) {
            *reason = "needs tensors of other types than FP64 for an epilogue";
            return false;
        }
    }
    return true;
}

/* Adds a number as a literal of type float; kernels take 0 where there is no option. */
static void add_number(struct launch *launch, int step, char letter, double number)
{
    char name[16], text[G_ASCII_DTOSTR_BUF_SIZE];

    if (number == 0)
        return;
    g_snprintf(name, sizeof(name), "EP%d_%c", step, letter);
    g_ascii_formatd(text, sizeof(text) - 3, "%.9g", CLAMP(number, -FLT_MAX, FLT_MAX));
    strcat(text, strpbrk(text, ".e") ? "f" : ".0f");
    launch_option_text(launch, name, text);
}

static bool is_integer(enum data_type type)
{
    return type == TYPE_INT8 || type == TYPE_INT32;
}

/* Whether the residual is multiplied by the last of the scales. */
static bool scales_residual(const struct problem *p)
{
    return problem_has_operand(p, TENSOR_RESIDUAL) && problem_has_operand(p, TENSOR_SCALES) &&
           is_integer(problem_operand_type(p, TENSOR_RESIDUAL));
}

/* The number of scales for values: 1, or one each channel; the residual's scale is behind them. */
static int64_t scale_count(const struct problem *p)
{
    int64_t sizes[5];

    problem_operand_sizes(p, TENSOR_SCALES, sizes);
    return sizes[1] - 1;
}

static bool scales_are_per_channel(const struct epilogue *epilogue)
{
    for (int i = 0; i < epilogue->count; i++) {
        if (epilogue->steps[i].per_channel)
            return true;
    }
    return false;
}

static void add_operand_options(const struct problem *p, const struct epilogue *epilogue,
                                struct launch *launch)
{
    if (problem_value_is_integer(p))
        launch_option_int(launch, "EP_INT", 1);
    if (problem_has_operand(p, TENSOR_BIAS))
        launch_option_text(launch, "EP_BIAS", data_type_name(problem_operand_type(p, TENSOR_BIAS)));
    if (problem_has_operand(p, TENSOR_RESIDUAL))
        launch_option_text(launch, "EP_RESIDUAL", data_type_name(residual_type(epilogue)));
    if (problem_has_operand(p, TENSOR_SCALES))
        launch_option_int(launch, "EP_SCALES", scales_are_per_channel(epilogue) ? 2 : 1);
    if (scales_residual(p))
        launch_option_int(launch, "EP_RESIDUAL_SCALE", 1);
}

void conv_add_epilogue_options(const struct problem *p, struct launch *launch)
{
    struct epilogue epilogue = epilogue_of(p);

    if (epilogue.count == 0)
        return;
    launch_option_int(launch, "EPILOGUE", epilogue.count);
    for (int i = 0; i < epilogue.count; i++) {
        char name[16];
        g_snprintf(name, sizeof(name), "EP%d", i);
        launch_option_int(launch, name, epilogue.steps[i].op);
        add_number(launch, i, 'A', epilogue.steps[i].a);
        add_number(launch, i, 'B', epilogue.steps[i].b);
    }
    add_operand_options(p, &epilogue, launch);
}

void conv_add_epilogue_args(const struct problem *p, struct launch *launch)
{
    struct epilogue epilogue = epilogue_of(p);
    static const enum tensor_role roles[] = {TENSOR_BIAS, TENSOR_RESIDUAL, TENSOR_SCALES};

    for (gsize i = 0; i < G_N_ELEMENTS(roles); i++) {
        if (problem_has_operand(p, roles[i]))
            launch_arg_tensor(launch, roles[i]);
    }
    if (scales_residual(p) && scales_are_per_channel(&epilogue))
        launch_arg_int32(launch, scale_count(p));
}

double conv_epilogue_bytes(const struct problem *p)
{
    return (double)problem_tensor_bytes(p, TENSOR_RESIDUAL) +
           (double)problem_tensor_bytes(p, TENSOR_BIAS) +
           (double)problem_tensor_bytes(p, TENSOR_SCALES);
}
