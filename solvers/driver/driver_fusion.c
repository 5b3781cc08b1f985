/*
 * MIOpenDriver's command CBAInfer: a convolution with a bias, a batch norm and an activation behind it.
 */
#include "solvers/driver/driver_flags.h"
#include "solvers/problem/epilogue.h"

#include <inttypes.h>

enum norm_mode { NORM_PER_ACTIVATION, NORM_SPATIAL };

/* The operators that are fused, by the numbers of --fusion_mode. */
static const struct {
    bool convolution, bias, norm, activation;
} fusions[] = {
    {true, true, true, true},   /* 0: cbna */
    {true, false, true, true},  /* 1: cna */
    {false, false, true, true}, /* 2: na */
    {true, false, true, false}, /* 3: cn */
    {true, true, false, true},  /* 4: cba */
    {true, false, false, true}, /* 5: ca */
    {true, true, false, false}, /* 6: cb */
};

/* MIOpen's activations by their numbers, and the steps that say the same. A step's numbers are taken from the line. */
enum activation {
    ACTIVATION_PASSTHRU,
    ACTIVATION_LOGISTIC,
    ACTIVATION_TANH, /* beta * tanh(alpha * v) */
    ACTIVATION_RELU,
    ACTIVATION_SOFTRELU,
    ACTIVATION_ABS,
    ACTIVATION_POWER,       /* (alpha + beta * v) ^ gamma */
    ACTIVATION_CLIPPEDRELU, /* at least 0, at most alpha */
    ACTIVATION_LEAKYRELU,
    ACTIVATION_ELU,
    ACTIVATION_CLAMP, /* at least alpha, at most beta */
};

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

static void add_step(struct epilogue *epilogue, enum epilogue_op op, double a, double b)
{
    epilogue->steps[epilogue->count++] = (struct epilogue_step){.op = op, .a = a, .b = b};
}

static bool add_activation(const struct driver_values *values, struct epilogue *epilogue,
                           GError **error)
{
    const double alpha = values->reals[REAL_ALPHA], beta = values->reals[REAL_BETA];
    switch (values->numbers[NUMBER_ACTIVATION_MODE]) {
    case ACTIVATION_PASSTHRU: return true;
    case ACTIVATION_LOGISTIC: add_step(epilogue, EPILOGUE_SIGMOID, 0, 0); return true;
    case ACTIVATION_TANH:
        if (alpha != 1) {
            add_step(epilogue, EPILOGUE_AFFINE, alpha, 0);
        }
        add_step(epilogue, EPILOGUE_TANH, 0, 0);
        if (beta != 1) {
            add_step(epilogue, EPILOGUE_AFFINE, beta, 0);
        }
        return true;
    case ACTIVATION_RELU: add_step(epilogue, EPILOGUE_RELU, 0, 0); return true;
    case ACTIVATION_SOFTRELU: add_step(epilogue, EPILOGUE_SOFTPLUS, 0, 0); return true;
    case ACTIVATION_ABS: add_step(epilogue, EPILOGUE_ABS, 0, 0); return true;
    case ACTIVATION_POWER:
        if (values->reals[REAL_GAMMA] != 1) {
            return invalid(error,
                           "activMode 6 is a power with gamma %g: only gamma 1 is computed here",
                           values->reals[REAL_GAMMA]);
        }
        add_step(epilogue, EPILOGUE_AFFINE, beta, alpha);
        return true;
    case ACTIVATION_CLIPPEDRELU: add_step(epilogue, EPILOGUE_CLIP, 0, alpha); return true;
    case ACTIVATION_LEAKYRELU: add_step(epilogue, EPILOGUE_LEAKY, alpha, 0); return true;
    case ACTIVATION_ELU: add_step(epilogue, EPILOGUE_ELU, alpha, 0); return true;
    case ACTIVATION_CLAMP: add_step(epilogue, EPILOGUE_CLIP, alpha, beta); return true;
    default:
        return invalid(error, "activMode is %" PRId64 ", it must be 0 to 10",
                       values->numbers[NUMBER_ACTIVATION_MODE]);
    }
}

bool driver_values_epilogue(const struct driver_values *values, char epilogue[EPILOGUE_MAX],
                            bool *only_norm, GError **error)
{
    struct epilogue steps = {0};
    int64_t mode = values->numbers[NUMBER_FUSION_MODE], norm = values->numbers[NUMBER_NORM_MODE];
    if (mode < 0 || mode >= (int64_t)G_N_ELEMENTS(fusions)) {
        return invalid(error, "fusion_mode is %" PRId64 ", it must be 0 to 6", mode);
    }
    *only_norm = !fusions[mode].convolution;
    if (*only_norm) {
        return true;
    }
    if (fusions[mode].norm && norm != NORM_SPATIAL) {
        return invalid(error,
                       "bnMode is %" PRId64 "%s: a batch norm for each activation is no epilogue; "
                       "that for each channel is --bnMode 1",
                       norm, norm == NORM_PER_ACTIVATION ? " (the driver's default)" : "");
    }
    if (fusions[mode].norm) {
        /* (v + bias - mean) * factor + offset is v * factor + one value a channel */
        steps.steps[steps.count++] =
            (struct epilogue_step){.op = EPILOGUE_SCALE, .per_channel = true};
    }
    if (fusions[mode].norm || fusions[mode].bias) {
        add_step(&steps, EPILOGUE_BIAS, 0, 0);
    }
    if (fusions[mode].activation && !add_activation(values, &steps, error)) {
        return false;
    }
    char text[EPILOGUE_MAX];
    return epilogue_print(&steps, text) ? epilogue_canonical(text, epilogue, error)
                                        : invalid(error, "its epilogue is too long");
}
