/*
 * The matrices of Winograd's minimal filtering along one axis, and what they make of rounding errors. A tile of
 * outputs is A((G g) (B d)), where g is a filter, d a piece of the input, and the product of the
 * two brackets is taken element by element. kernels/device/winograd/winograd.h has the same transforms as code.
 */
#ifndef SOLVERS_WINOGRAD_WINOGRAD_GROWTH_H
#define SOLVERS_WINOGRAD_WINOGRAD_GROWTH_H

#include <stdbool.h>

#define WINOGRAD_PLACES_MAX 6

/* Minimal filtering F(outputs, taps) along one axis; places = outputs + taps - 1. */
struct winograd_filtering {
    int outputs, taps, places;
    double input[WINOGRAD_PLACES_MAX][WINOGRAD_PLACES_MAX];  /* B: [place][element of the input] */
    double filter[WINOGRAD_PLACES_MAX][WINOGRAD_PLACES_MAX]; /* G: [place][tap] */
    double output[WINOGRAD_PLACES_MAX][WINOGRAD_PLACES_MAX]; /* A: [output][place] */
};

/* The filtering of a config. weights: whether the problem's direction is W, whose outputs are 3 filter taps; tile: 2 or
 * 4. */
const struct winograd_filtering *winograd_filtering(bool weights, int tile);

/* growth and roundings of struct solution_rounding for the filtering along two axes (worker/verify/tolerance.h derives
 * them). */
double winograd_growth(const struct winograd_filtering *filtering);
double winograd_roundings(const struct winograd_filtering *filtering);

#endif
