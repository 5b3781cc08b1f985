/*
 * How many waves (of NVIDIA: warps) a SIMD (a quarter of a multiprocessor) keeps at a time, as far as its
 * registers allow: what hides the time that memory takes. Local memory and workgroups may leave room for
 * fewer.
 */
#ifndef SOLVERS_FRAMEWORK_OCCUPANCY_H
#define SOLVERS_FRAMEWORK_OCCUPANCY_H

/* By what the compiler says that a work-item of the kernel takes, -1 for what it does not say: vector
 * counts accumulation in where both share a file, as code objects say it. 0 where the architecture or
 * vector is not known, or they exceed the file. */
int occupancy_waves(const char *arch, int vector, int accumulation, int scalar);

#endif
