#include "tests/support/kernels/random_epilogue.h"

#include <string.h>

static bool coin(GRand *random)
{
    return g_rand_boolean(random);
}

static const char *one_of(GRand *random, const char *const texts[], int count)
{
    return texts[g_rand_int_range(random, 0, count)];
}

/* Steps whose results are of the size of their inputs. */
static const char *activation(GRand *random)
{
    static const char *const texts[] = {
        "+relu",
        "+clip(0,6)",
        "+leaky(0.01)",
        "+elu(1)",
        "+sigmoid",
        "+tanh",
        "+hardsigmoid(0.2,0.5)",
        "+silu",
        "+hardswish",
        "+softplus",
        "+mish",
        "+gelu",
        "+abs+sqrt",
        "+erf",
        "+clip(-2,3)+exp",
        "+affine(0.5,-0.25)",
        "+relu",
        "+clip(-0.5,2)",
        "+leaky(0.2)",
        "+abs",
    };

    return one_of(random, texts, (int)G_N_ELEMENTS(texts));
}

static void add_residual(GRand *random, const struct problem *p, GString *text)
{
    static const char *const ops[] = {"add", "add", "add", "sub", "mul", "div", "max", "min"};
    enum tensor_role output = problem_output_role(p);
    enum data_type type = coin(random) ? TYPE_FP32 : p->type[output];

    g_string_append_printf(text, "+%s(%s,%s)", one_of(random, ops, (int)G_N_ELEMENTS(ops)),
                           data_type_name(type), layout_name(p->layout[output]));
}

/* An INT8 problem's sums are scaled to the size of floats before anything else is done. */
static bool set_int8(GRand *random, unsigned classes, struct problem *p, GString *text)
{
    static const enum data_type types[] = {TYPE_INT8, TYPE_INT8, TYPE_FP32, TYPE_FP16, TYPE_INT32};
    enum data_type type = types[g_rand_int_range(random, 0, (int)G_N_ELEMENTS(types))];
    const char *scope = coin(random) ? "channel" : "tensor";

    if (classes & EPILOGUE_DOES_BIAS && coin(random))
        g_string_append(text, "+bias");
    if ((classes & EPILOGUE_DOES_SCALES) == 0)
        return text->len > 0;
    p->type[problem_output_role(p)] = type;
    if (coin(random) && (type == TYPE_INT8 || type == TYPE_INT32))
        g_string_append_printf(text, "+requant(%s,%s)", data_type_name(type), scope);
    else
        g_string_append_printf(text, "+scale(%s)", scope);
    return true;
}

static void set_float(GRand *random, unsigned classes, GString *text)
{
    static const char *const scales[] = {"+scale(channel)", "+scale(tensor)", "+prelu"};

    if (classes & EPILOGUE_DOES_SCALES && g_rand_int_range(random, 0, 3) == 0)
        g_string_append(text, one_of(random, scales, (int)G_N_ELEMENTS(scales)));
    if (classes & EPILOGUE_DOES_BIAS && g_rand_int_range(random, 0, 4) > 0)
        g_string_append(text, "+bias");
}

bool random_epilogue(GRand *random, unsigned classes, struct problem *p)
{
    g_autoptr(GString) text = g_string_new(NULL);

    if (p->type[TENSOR_X] != TYPE_INT8 && !problem_sums_int8(p))
        set_float(random, classes, text);
    else if (!set_int8(random, classes, p, text))
        return false;
    if (classes & EPILOGUE_DOES_ACTIVATION && coin(random))
        g_string_append(text, activation(random));
    if (classes & EPILOGUE_DOES_RESIDUAL && coin(random))
        add_residual(random, p, text);
    if (classes & EPILOGUE_DOES_ACTIVATION && (text->len == 0 || coin(random)))
        g_string_append(text, activation(random));
    g_strlcpy(p->epilogue, text->str, sizeof(p->epilogue));
    return text->len > 0;
}
