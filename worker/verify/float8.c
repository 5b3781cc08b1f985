#include "worker/verify/float8.h"

#include <math.h>

struct form {
    int fraction, bias;
    uint8_t largest; /* code */
    bool fnuz;
    bool infinite; /* has infinities */
};

static const struct form *form_of(enum data_type type)
{
    static const struct form fp8 = {3, 7, 0x7e, false, false}, bf8 = {2, 15, 0x7b, false, true},
                             fp8_fnuz = {3, 8, 0x7f, true, false},
                             bf8_fnuz = {2, 16, 0x7f, true, false};

    switch (type) {
    case TYPE_FP8: return &fp8;
    case TYPE_BF8: return &bf8;
    case TYPE_FP8_FNUZ: return &fp8_fnuz;
    case TYPE_BF8_FNUZ: return &bf8_fnuz;
    default: return NULL;
    }
}

bool float8_is_type(enum data_type type)
{
    return form_of(type) != NULL;
}

/* The number of a code without its sign. */
static double number_of(const struct form *form, unsigned code)
{
    unsigned exponent = code >> form->fraction, fraction = code & ((1u << form->fraction) - 1);

    if (exponent == 0)
        return ldexp(fraction, 1 - form->bias - form->fraction);
    return ldexp(fraction + (1u << form->fraction), (int)exponent - form->bias - form->fraction);
}

float float8_to_float(enum data_type type, uint8_t code)
{
    const struct form *form = form_of(type);
    unsigned size = code & 0x7fu;
    float sign = code & 0x80 ? -1 : 1;

    if (form->fnuz && code == 0x80)
        return NAN;
    if (size <= form->largest)
        return sign * (float)number_of(form, size);
    return form->infinite && size == form->largest + 1u ? sign * INFINITY : NAN;
}

uint8_t float8_from_float(enum data_type type, float value)
{
    const struct form *form = form_of(type);
    double size = fabs((double)value), largest = number_of(form, form->largest);
    uint8_t sign = signbit(value) ? 0x80 : 0;
    int exponent;

    if (isnan(value))
        return form->fnuz ? 0x80 : 0x7f;
    if (size >= largest)
        return sign | form->largest;
    frexp(size, &exponent); /* size is below 2^exponent */
    exponent = size > 0 ? MAX(exponent - 1, 1 - form->bias) : 1 - form->bias;
    /* In steps of the number's last place. Rounding up to the next power of two carries into the exponent, and so does
     * the leading bit of a normal number. */
    unsigned steps = (unsigned)nearbyint(ldexp(size, form->fraction - exponent));
    unsigned code = ((unsigned)(exponent + form->bias - 1) << form->fraction) + steps;
    return form->fnuz && code == 0 ? 0 : (uint8_t)(sign | code);
}

double float8_largest(enum data_type type)
{
    const struct form *form = form_of(type);

    return number_of(form, form->largest);
}

double float8_least(enum data_type type)
{
    return number_of(form_of(type), 1);
}

double float8_unit(enum data_type type)
{
    return ldexp(1, -form_of(type)->fraction - 1);
}
