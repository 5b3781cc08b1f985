/*
 * The inner loop of the reference: a small tile of a matrix product and of the
 * product of the absolute values, in double. Internal to reference.c.
 */
#ifndef WORKER_REFERENCE_KERNEL_H
#define WORKER_REFERENCE_KERNEL_H

#define PANEL_ROWS    4
#define PANEL_COLUMNS 8

/* sums[r][c] += sum over d of left[d][r] * right[d][c], and magnitudes likewise with absolute
 * values. Picks the widest vectors that the processor has. */
void reference_kernel(const double *left, const double *right, int depth, double *sums,
                      double *magnitudes);

#endif
