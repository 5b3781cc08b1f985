/*
 * The two 16-bit floating types as they are stored: IEEE half ("FP16") and
 * bfloat16 ("BF16"). Conversions round to nearest, ties to even; infinities
 * and NaNs stay what they are.
 */
#ifndef WORKER_HALF_H
#define WORKER_HALF_H

#include <stdint.h>

uint16_t half_from_float(float value); /* 65520 and more become infinite */
float half_to_float(uint16_t stored);
uint16_t bfloat16_from_float(float value);
float bfloat16_to_float(uint16_t stored);

#endif
