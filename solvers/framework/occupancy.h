/*
 * Occupancy: how many waves (NVIDIA: warps) a SIMD (NVIDIA: a quarter of a multiprocessor) holds at a time.
 * While one wave waits for memory the others compute. This is the bound by registers alone; local memory and
 * the size of workgroups may lower it.
 *
 * A SIMD's register file is shared out in whole blocks of registers for each wave, and a SIMD takes a fixed
 * number of waves at most. Block sizes and limits are LLVM's (AMDGPUBaseInfo.cpp,
 * getNumWavesPerEUWithNumVGPRs()) and those of NVIDIA's CUDA Programming Guide, "Compute Capabilities".
 */
#ifndef SOLVERS_FRAMEWORK_OCCUPANCY_H
#define SOLVERS_FRAMEWORK_OCCUPANCY_H

/* Returns the waves that a SIMD holds, by the registers of a work-item as the compiler reports them (-1 if it does
 * not). `vector` includes accumulation registers where both kinds share a file. Returns 0 for an unknown architecture,
 * without `vector`, or where one wave already exceeds the file. */
int occupancy_waves(const char *arch, int vector, int accumulation, int scalar);

#endif
