#include "solvers/winograd/winograd_growth.h"

#include <glib.h>
#include <math.h>

static double row_sum(const double *row, const double *values, int count)
{
    double sum = 0;

    for (int i = 0; i < count; i++)
        sum += row[i] * values[i];
    return sum;
}

/* The filtering's result at one output, for a filter and an input that are 1 at one element each. */
static double filtered(const struct winograd_filtering *f, int output, int tap, int element)
{
    double sum = 0;

    for (int place = 0; place < f->places; place++)
        sum += f->output[output][place] * f->filter[place][tap] * f->input[place][element];
    return sum;
}

/* Output o is the sum of filter element t times input element o + t: no other pair counts. */
static void test_filters(void)
{
    for (int i = 0; i < 4; i++) {
        const struct winograd_filtering *f = winograd_filtering(i % 2, i < 2 ? 2 : 4);
        g_assert_cmpint(f->places, ==, f->outputs + f->taps - 1);
        for (int o = 0; o < f->outputs; o++) {
            for (int t = 0; t < f->taps; t++) {
                for (int e = 0; e < f->places; e++)
                    g_assert_cmpfloat_with_epsilon(filtered(f, o, t, e), e == o + t, 1e-12);
            }
        }
    }
}

/* A filtering whose sums of random products are computed with random errors of the products' size: the errors of its
 * outputs are as large as the growth says. */
static void test_growth(void)
{
    static const double known[2][2] = {{5.0 / 9, 10.48}, {1, 6.06}};
    g_autoptr(GRand) random = g_rand_new_with_seed(5);
    for (int weights = 0; weights < 2; weights++) {
        for (int large = 0; large < 2; large++) {
            const struct winograd_filtering *f = winograd_filtering(weights, large ? 4 : 2);
            double worst = 0;
            g_assert_cmpfloat_with_epsilon(winograd_growth(f), known[weights][large], 0.02);
            for (int o = 0; o < f->outputs; o++) {
                double square = 0;
                const int trials = 20000;
                for (int n = 0; n < trials; n++) {
                    double input[WINOGRAD_PLACES_MAX], taps[WINOGRAD_PLACES_MAX], error = 0;
                    for (int e = 0; e < WINOGRAD_PLACES_MAX; e++) {
                        input[e] = g_rand_boolean(random) ? 1 : -1;
                        taps[e] = g_rand_boolean(random) ? 1 : -1;
                    }
                    for (int i = 0; i < f->places; i++)
                        error += f->output[o][i] * row_sum(f->filter[i], taps, f->taps) *
                                 row_sum(f->input[i], input, f->places) *
                                 (g_rand_boolean(random) ? 1 : -1);
                    square += error * error / trials;
                }
                worst = fmax(worst, square);
            }
            double taps = f->taps * f->taps;
            g_assert_cmpfloat_with_epsilon(worst / taps / winograd_growth(f), 1, 0.1);
        }
    }
}

static void test_roundings(void)
{
    g_assert_cmpfloat(winograd_roundings(winograd_filtering(false, 2)), ==, 2 * (2 + 3 + 3));
    g_assert_cmpfloat(winograd_roundings(winograd_filtering(false, 4)), ==, 2 * (4 + 3 + 5));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/winograd_growth/matrices_filter", test_filters);
    g_test_add_func("/winograd_growth/errors_grow_as_it_says", test_growth);
    g_test_add_func("/winograd_growth/each_entry_rounds_once", test_roundings);
    return g_test_run();
}
