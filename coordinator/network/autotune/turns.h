/*
 * Times that several pipelines took in the same turns, compared turn by turn: a drift of the device hits both times of a
 * turn alike, and leaves their ratio as it is. Pure.
 */
#ifndef COORDINATOR_NETWORK_AUTOTUNE_TURNS_H
#define COORDINATOR_NETWORK_AUTOTUNE_TURNS_H

#include <jansson.h>
#include <stdbool.h>

#define TURNS_RATIO_TEXT 64

/* The time of one pipeline divided by that of another. */
struct turns_ratio {
    int turns;        /* 0: they took no turns, and all is 0 */
    double median;    /* of the ratios of the turns */
    double low, high; /* 95 % interval of that median (worker/measure/statistics.h) */
    bool
        has_interval; /* false for fewer than 6 turns; low and high are the least and the largest ratio then */
};

/* The ratios of[i] / to[i] over `turns` turns. */
void turns_compare(const double *of, const double *to, int turns, struct turns_ratio *ratio);
/* Whether the times may be equal: the interval holds 1, or the turns were too few for one. */
bool turns_within_noise(const struct turns_ratio *ratio);
/* "0.98 (0.95 to 1.02)"; "-" without turns. Returns text. */
const char *turns_ratio_text(const struct turns_ratio *ratio, char text[TURNS_RATIO_TEXT]);
/* {"median", "low", "high", "within_noise"}; null without turns. A new reference. */
json_t *turns_ratio_json(const struct turns_ratio *ratio);

#endif
