#include "solvers/winograd/winograd_growth.h"

#include <glib.h>
#include <math.h>

/* The inputs' transforms for the interpolation points 0, 1, -1, infinity and 0, 1, -1, 2, -2, infinity. */
#define INPUT_4                                                                                    \
    {                                                                                              \
        {1, 0, -1}, {0, 1, 1}, {0, -1, 1},                                                         \
        {                                                                                          \
            0, 1, 0, -1                                                                            \
        }                                                                                          \
    }
#define INPUT_6                                                                                    \
    {                                                                                              \
        {4, 0, -5, 0, 1}, {0, -4, -4, 1, 1}, {0, 4, -4, -1, 1}, {0, -2, -1, 2, 1},                 \
            {0, 2, -1, -2, 1}, {0, 4, 0, -5, 0, 1},                                                \
    }

#define SIXTH        (1.0 / 6)
#define TWENTYFOURTH (1.0 / 24)

static const struct winograd_filtering data_2 = {
    .outputs = 2,
    .taps = 3,
    .places = 4,
    .input = INPUT_4,
    .filter = {{1}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}},
    .output = {{1, 1, 1}, {0, 1, -1, -1}},
};

static const struct winograd_filtering data_4 = {
    .outputs = 4,
    .taps = 3,
    .places = 6,
    .input = INPUT_6,
    .filter = {{0.25},
               {-SIXTH, -SIXTH, -SIXTH},
               {-SIXTH, SIXTH, -SIXTH},
               {TWENTYFOURTH, 2 * TWENTYFOURTH, 4 * TWENTYFOURTH},
               {TWENTYFOURTH, -2 * TWENTYFOURTH, 4 * TWENTYFOURTH},
               {0, 0, 1}},
    .output = {{1, 1, 1, 1, 1}, {0, 1, -1, 2, -2}, {0, 1, 1, 4, 4}, {0, 1, -1, 8, -8, 1}},
};

static const struct winograd_filtering weights_2 = {
    .outputs = 3,
    .taps = 2,
    .places = 4,
    .input = INPUT_4,
    .filter = {{1}, {0.5, 0.5}, {0.5, -0.5}, {0, 1}},
    .output = {{1, 1, 1}, {0, 1, -1}, {0, 1, 1, -1}},
};

static const struct winograd_filtering weights_4 = {
    .outputs = 3,
    .taps = 4,
    .places = 6,
    .input = INPUT_6,
    .filter = {{0.25},
               {-SIXTH, -SIXTH, -SIXTH, -SIXTH},
               {-SIXTH, SIXTH, -SIXTH, SIXTH},
               {TWENTYFOURTH, 2 * TWENTYFOURTH, 4 * TWENTYFOURTH, 8 * TWENTYFOURTH},
               {TWENTYFOURTH, -2 * TWENTYFOURTH, 4 * TWENTYFOURTH, -8 * TWENTYFOURTH},
               {0, 0, 0, 1}},
    .output = {{1, 1, 1, 1, 1}, {0, 1, -1, 2, -2}, {0, 1, 1, 4, 4, 1}},
};

const struct winograd_filtering *winograd_filtering(bool weights, int tile)
{
    if (weights)
        return tile == 2 ? &weights_2 : &weights_4;
    return tile == 2 ? &data_2 : &data_4;
}

static double square_norm(const double *row)
{
    double sum = 0;

    for (int i = 0; i < WINOGRAD_PLACES_MAX; i++)
        sum += row[i] * row[i];
    return sum;
}

double winograd_growth(const struct winograd_filtering *filtering)
{
    double most = 0;

    for (int o = 0; o < filtering->outputs; o++) {
        double square = 0;
        for (int i = 0; i < filtering->places; i++) {
            double factor = filtering->output[o][i];
            square += factor * factor * square_norm(filtering->filter[i]) *
                      square_norm(filtering->input[i]);
        }
        most = fmax(most, square);
    }
    /* The root of most * most, the squares of both axes, over the products of taps by taps places of the filter. */
    return most / (filtering->taps * filtering->taps);
}

/* The most entries of a row: a transform rounds once for each. */
static int most_entries(const double rows[][WINOGRAD_PLACES_MAX], int count)
{
    int most = 0;

    for (int r = 0; r < count; r++) {
        int entries = 0;
        for (int i = 0; i < WINOGRAD_PLACES_MAX; i++)
            entries += rows[r][i] != 0;
        most = MAX(most, entries);
    }
    return most;
}

double winograd_roundings(const struct winograd_filtering *filtering)
{
    return 2.0 * (most_entries(filtering->input, filtering->places) +
                  most_entries(filtering->filter, filtering->places) +
                  most_entries(filtering->output, filtering->outputs));
}
