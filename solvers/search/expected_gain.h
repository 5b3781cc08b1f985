/*
 * The gain that is expected from more tries of a search.
 *
 * Let r be the number of tries since the best one. Suppose that each further try beats the best with the same unknown
 * chance p, and that nothing was known of p before (all values equally likely). After r failures in a row, p has the
 * density (r + 1)(1 - p)^r. So the chance that one of the next m tries is a new best is
 *
 *     1 - integral of (1 - p)^m (r + 1)(1 - p)^r dp  =  m / (r + m + 1)
 *
 * (Laplace's rule of succession). In truth p falls while the best gets better, so the rule errs on the side of
 * searching longer.
 *
 * How much a new best gains: times close above the optimum are few and get fewer towards it. Where the logarithm of
 * the times has an exponential lower tail of mean h, a try that beats the best does so by h on average, whatever the
 * best is (the exponential has no memory). From the k + 1 shortest times the likeliest h is their mean distance to
 * the (k + 1)th (Hill, A simple general approach to inference about the tail of a distribution, 1975):
 *
 *     h = 1/k sum over i = 1..k of (ln t(k+1) - ln t(i))
 *
 * k is half of the tries that succeeded. The few shortest times alone would deceive: a strategy that has found a good
 * config tries others like it, whose times are close together, while a better group of configs may be elsewhere.
 *
 * The part of the best time that the next m tries are expected to save is therefore
 *
 *     m / (r + m + 1)  x  (1 - exp(-h))
 */
#ifndef SOLVERS_SEARCH_EXPECTED_GAIN_H
#define SOLVERS_SEARCH_EXPECTED_GAIN_H

/* How many further tries a search asks about before it ends for a small gain. */
#define SEARCH_GAIN_TRIES 16

/* times: of all tries in their order, INFINITY for failed ones. The expected part of the best time that the next
 * `more` tries save, from 0 to 1; 1 while fewer than EXPECTED_GAIN_TIMES tries succeeded: too little is known. */
#define EXPECTED_GAIN_TIMES 8
double expected_gain(const double *times, int count, int more);

#endif
