#include "worker/verify/epilogue_bound.h"

#include <float.h>
#include <math.h>

#include "worker/verify/tensor.h"

/* Sums whose size is below this share of their magnitude may have either sign after rounding, by any algorithm's
 * tolerance. */
#define SIGN_SHARE  0x1p-8
/* The share of its magnitude by which a sum may be off, by any algorithm's tolerance. */
#define ERROR_SHARE 0x1p-12
/* 2^-126, below which a device may take numbers as zero, twice over and in units of u = 2^-24. */
#define TINY        0x1p-101

void epilogue_bound_init(struct epilogue_bound *bound, const struct problem *p)
{
    enum tensor_role out = problem_output_role(p);
    int64_t sizes[TENSOR_AXES];

    *bound = (struct epilogue_bound){.output = problem_operand_type(p, out)};
    epilogue_parse(p->epilogue, &bound->epilogue, NULL);
    bound->output_is_integer = p->type[out] == TYPE_INT8 || p->type[out] == TYPE_INT32;
    bound->unit = p->type[TENSOR_X] == TYPE_FP64 ? 0x1p-53 : 0x1p-24;
    bound->integers = problem_value_is_integer(p);
    problem_operand_sizes(p, out, sizes);
    bound->channels = sizes[1];
    bound->inner = sizes[2] * sizes[3] * sizes[4];
    bound->scales = epilogue_scales(&bound->epilogue, bound->channels);
    const struct epilogue_step *residual = epilogue_residual(&bound->epilogue);
    bound->residual_is_scaled = residual && bound->scales > 0 &&
                                (residual->type == TYPE_INT8 || residual->type == TYPE_INT32);
}

int64_t epilogue_bound_channel(const struct epilogue_bound *bound, int64_t index)
{
    return index / bound->inner % bound->channels;
}

/* One step on the element: v, and the growth of its error. */
struct growth {
    double steepness; /* |f'| */
    double own;       /* r in units of u */
};

static struct growth scaled_by(double factor, double result)
{
    return (struct growth){fabs(factor), 4 * fabs(result)};
}

static struct growth lined_by(double factor, double v, double offset)
{
    return (struct growth){fabs(factor), 4 * (fabs(factor * v) + fabs(offset))};
}

/* The steepness of a function that is flat far below zero, from its bound for t below -1. */
static double tail_or(double t, double steepness, double bound)
{
    return t < -1 ? fmin(bound, steepness) : steepness;
}

/* The functions that fall to zero for negative v. reach: how far the step's input may be off. */
static struct growth falling(enum epilogue_op op, double v, double result, double reach)
{
    double t = v + reach, own = (16 + 4 * fmax(-v, 0)) * fabs(result), size = fabs(v);

    switch (op) {
    case EPILOGUE_SIGMOID: return (struct growth){tail_or(t, 0.25, exp(t)), own + TINY};
    case EPILOGUE_SOFTPLUS: return (struct growth){tail_or(t, 1, exp(t)), own + TINY};
    case EPILOGUE_SILU:
        return (struct growth){tail_or(t, 1.13, (1 - t) * exp(t)), own + size * TINY};
    case EPILOGUE_MISH:
        return (struct growth){tail_or(t, 1.1, (1 - t) * exp(t)), own + size * TINY};
    default: /* gelu */
        return (struct growth){tail_or(t, 1.13, (0.5 - 0.4 * t) * exp(-t * t / 2)),
                               own + size * TINY};
    }
}

static struct growth growth_of(const struct epilogue_step *step, double v, double result,
                               double residual, double scale, bool residual_is_scaled, double reach)
{
    double second = residual_is_scaled ? 2 * fabs(residual) : 0;

    switch (step->op) {
    case EPILOGUE_NONE:
    case EPILOGUE_RELU:
    case EPILOGUE_ABS: return (struct growth){1, 0};
    case EPILOGUE_CLIP: return (struct growth){1, 2 * fabs(result)};
    case EPILOGUE_GREATER:
    case EPILOGUE_SMALLER: return (struct growth){1, second};
    case EPILOGUE_BIAS: return (struct growth){1, 2 * fabs(result)};
    case EPILOGUE_ADD:
    case EPILOGUE_SUB: return (struct growth){1, 2 * fabs(result) + second};
    case EPILOGUE_SCALE:
    case EPILOGUE_REQUANT: return scaled_by(scale, result);
    case EPILOGUE_MUL: return scaled_by(residual, result);
    case EPILOGUE_DIV: return scaled_by(1 / residual, result);
    case EPILOGUE_LEAKY: return lined_by(fmax(1, fabs(step->a)), v, 0);
    case EPILOGUE_PRELU: return lined_by(fmax(1, fabs(scale)), v, 0);
    case EPILOGUE_AFFINE:
    case EPILOGUE_HARDSIGMOID: return lined_by(step->a, v, step->b);
    case EPILOGUE_ELU: return (struct growth){fmax(1, fabs(step->a)), 16 * fabs(result)};
    case EPILOGUE_TANH: return (struct growth){1, 16 * fabs(result)};
    case EPILOGUE_ERF: return (struct growth){1.13, 16 * fabs(result)};
    case EPILOGUE_SIGMOID:
    case EPILOGUE_SOFTPLUS:
    case EPILOGUE_SILU:
    case EPILOGUE_MISH:
    case EPILOGUE_GELU: return falling(step->op, v, result, reach);
    case EPILOGUE_EXP:
        result = fmin(result, (double)FLT_MAX); /* larger results are infinite in kernels, too */
        return (struct growth){1.25 * result, (16 + 4 * fabs(v)) * result};
    case EPILOGUE_SQRT: return (struct growth){1 / result, 4 * fabs(result)};
    case EPILOGUE_HARDSWISH: return (struct growth){1.5, 16 * fabs(result)};
    }
    g_assert_not_reached();
}

static double wrapped_sum(double a, double b)
{
    return (double)(int32_t)(uint32_t)((uint64_t)(int64_t)a + (uint64_t)(int64_t)b);
}

static double do_step(const struct epilogue_step *step, double v,
                      const struct epilogue_inputs *inputs, double residual)
{
    const struct epilogue one = {.count = 1, .steps = {*step}};

    return epilogue_apply(&one, v, inputs->bias, residual, inputs->scale);
}

/* Whether a root's argument may have either sign after rounding. */
static bool sign_is_open(const struct epilogue_step *step, double v, double magnitude, double gain)
{
    return step->op == EPILOGUE_SQRT && fabs(v) < SIGN_SHARE * magnitude * gain;
}

void epilogue_bound_at(const struct epilogue_bound *bound, double sum, double magnitude,
                       const struct epilogue_inputs *inputs, struct bounded *result)
{
    double residual = inputs->residual * (bound->residual_is_scaled ? inputs->residual_scale : 1);
    double v = sum, gain = 1, slack = bound->integers ? bound->unit * fabs(sum) : 0;

    for (int i = 0; i < bound->epilogue.count; i++) {
        const struct epilogue_step *step = &bound->epilogue.steps[i];
        if (bound->integers && step->op == EPILOGUE_BIAS) {
            v = wrapped_sum(v, inputs->bias);
            slack = bound->unit * fabs(v);
            continue;
        }
        double after = do_step(step, v, inputs, residual);
        struct growth growth =
            growth_of(step, v, after, residual, inputs->scale, bound->residual_is_scaled,
                      ERROR_SHARE * magnitude * gain + slack);
        if (sign_is_open(step, v, magnitude, gain))
            growth = (struct growth){0, INFINITY};
        gain *= growth.steepness;
        slack = slack * growth.steepness + growth.own * bound->unit;
        v = after;
    }
    if (isnan(v) && bound->output_is_integer)
        v = 0;
    *result = (struct bounded){tensor_clamp(bound->output, v), fmin(gain, (double)FLT_MAX),
                               isinf(slack) ? slack : fmin(slack, (double)FLT_MAX)};
}
