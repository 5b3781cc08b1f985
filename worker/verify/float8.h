/*
 * The floating types of 8 bits in their two forms, on the host. Kernels have the same numbers by other code
 * (kernels/device/common/float8.h, which has the sources).
 *
 *   type           exponent, fraction bits   bias   least, largest number       special codes
 *   TYPE_FP8       4, 3                      7      2^-9, 448                   0x7f, 0xff: NaN
 *   TYPE_BF8       5, 2                      15     2^-16, 57344                0x7c, 0xfc: infinity; above them NaN
 *   TYPE_FP8_FNUZ  4, 3                      8      2^-10, 240                  0x80: NaN
 *   TYPE_BF8_FNUZ  5, 2                      16     2^-17, 57344                0x80: NaN
 *
 * All functions take one of these four types.
 */
#ifndef WORKER_VERIFY_FLOAT8_H
#define WORKER_VERIFY_FLOAT8_H

#include "solvers/problem/problem.h"

bool float8_is_type(enum data_type type);

/* The code of a value: rounded to nearest, ties to even. Numbers beyond the largest, and infinities, become the
 * largest with their sign. A NaN becomes 0x7f in OCP's forms, 0x80 in FNUZ. The FNUZ forms have no -0, which becomes 0. */
uint8_t float8_from_float(enum data_type type, float value);
float float8_to_float(enum data_type type, uint8_t code);

double float8_largest(enum data_type type); /* finite number */
double float8_least(enum data_type type);   /* above zero: the step between the smallest numbers */
double float8_unit(enum data_type type);    /* roundoff: half of the step behind 1 */

#endif
