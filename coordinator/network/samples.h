/*
 * Arrays of numbers in files: what a network reads, and what it gave. A file that begins as NumPy's .npy does is one
 * (versions 1 to 3 of the form, numpy.lib.format; real numbers, little-endian, in C order); any other is raw FP32,
 * little-endian.
 */
#ifndef COORDINATOR_NETWORK_SAMPLES_H
#define COORDINATOR_NETWORK_SAMPLES_H

#include "coordinator/network/shape.h"

struct samples {
    float *values;
    int64_t count;
    int rank; /* -1 for a raw file, which says no dimensions */
    int64_t dims[SHAPE_MAX_RANK];
};

/* Reads a file. NETWORK_ERROR_INVALID names it and what is wrong: a header that cannot be parsed, a type that is no real
 * number, another order, a size that does not fit the header, an element that is no finite number. *samples is empty
 * then. */
bool samples_read(struct samples *samples, const char *path, GError **error);
void samples_clear(struct samples *samples);

/*
 * Puts the arrays of several files, one for each input, one behind the other, as network_plan's samples are. inputs: the
 * shapes of the network's inputs, input_count of them. A file has as
 * many elements as its input; if it has several axes longer than 1, they are the input's in the input's order.
 * NETWORK_ERROR_INVALID names the file and both. Free the result with g_free().
 */
float *samples_join(char *const *paths, const struct shape *inputs, int input_count, int64_t *count,
                    GError **error);
/* Numbers from -1 to 1 that follow from the seed alone. Free with g_free(). */
float *samples_random(uint64_t seed, int64_t count);

/* How far two arrays are apart. */
struct samples_distance {
    double max_error,
        mean_error; /* of a difference, divided by the largest absolute value of `right` */
    double cosine;  /* 1 for arrays of zeros */
    double top1;    /* the share of rows whose largest element has the same index in both arrays */
    bool is_finite; /* no element of `got` is a NaN or infinite where `right` is finite */
};
/* rows: both arrays have so many equal parts, each of one image. */
void samples_compare(const float *got, const float *right, int64_t count, int64_t rows,
                     struct samples_distance *distance);

#endif
