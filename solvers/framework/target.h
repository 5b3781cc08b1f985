/*
 * A target is what a result depends on: not a device but all devices that are
 * alike. Its id follows MIOpen's file names (FORMATS.md 6): "gfx90a68" (104
 * compute units, in hexadecimal past 64), "gfx1030_36"; NVIDIA devices are
 * "sm_90_132_80g" (arch, multiprocessors, GiB of memory); CPUs are
 * "cpu-znver4_2" (LLVM's name of the CPU, threads).
 *
 * Features that code is compiled for stand behind the architecture
 * ("gfx90a_xnack68"). A part of a divided card is another target than a whole
 * card, even one with as many units: it shares caches and memory with the
 * other parts. The name of the part ends the id: AMD's compute mode and memory mode
 * ("gfx942_38_cpx_nps4"; SPX and NPS1, the undivided card's, are not written),
 * NVIDIA's MIG instance by its slices ("sm_90_16_10g_mig1g", and
 * "sm_90_16_20g_mig1c2g" for one of several compute instances in it).
 */
#ifndef SOLVERS_FRAMEWORK_TARGET_H
#define SOLVERS_FRAMEWORK_TARGET_H

#include "solvers/problem/problem.h"

enum vendor { VENDOR_AMD, VENDOR_NVIDIA, VENDOR_CPU };

struct target {
    char id[64];
    enum vendor vendor;
    char arch[48];       /* "gfx90a", "sm_90", LLVM's CPU name ("znver4") */
    char features[48];   /* "" or MIOpen's feature suffixes ("_xnack", "_nosramecc") */
    char partition[24];  /* "" for a whole card; "_cpx_nps4", "_mig1g" */
    int compute_units;   /* compute units, multiprocessors, or CPU threads */
    int memory_gib;      /* NVIDIA only, else 0 */
    int64_t local_bytes; /* local memory a workgroup may use */
    int max_workgroup;   /* work-items */
    int wave_size;       /* 64, 32, or 1 for a CPU */
    int vector_bytes;    /* widest vector register of a CPU (16, 32, 64), 0 for a GPU */
    double peak_flops;   /* FP32 operations a second nothing can exceed; 0 when not known (other
                             * types may be faster by their packing and matrix units) */
    double peak_bytes;   /* bytes a second of device memory nothing can exceed; 0 when not known */
};

/* Fills *t from an id alone (limits from the table of known architectures). SOLVERS_ERROR_UNKNOWN
 * with the remedy for ids that follow none of the forms above. */
bool target_parse(const char *id, struct target *t, GError **error);

/* Whether solvers may be asked about it: its id is that of its fields, and its limits are numbers that a
 * device can have. SOLVERS_ERROR_INVALID names the field. */
bool target_validate(const struct target *t, GError **error);

/* Writes t->id from vendor, arch, features, compute_units, memory_gib and partition by the rules above. */
void target_set_id(struct target *t);

/* Sets t->partition from what a driver calls it: AMD's modes ("CPX", "CPX NPS4", in any case), NVIDIA's
 * instance ("MIG 1g.10gb", "MIG 1c.2g.20gb"; "MIG" where its profile is not known); "" and a whole card's
 * "SPX NPS1" are "". False, and "" set, for other words. The id is not changed. */
bool target_set_partition(struct target *t, const char *words);

#define TARGET_FILE_NAME_MAX 64
/* The id by which MIOpen looks for an AMD target's files: it knows of no partitions, and of no sramecc but
 * on gfx906 and gfx908 (InitDbId() of its target_properties.cpp). Other vendors' targets have their id.
 * Returns name. */
const char *target_file_name(const struct target *t, char name[TARGET_FILE_NAME_MAX]);

/* Limits and peaks of an architecture by its name and unit count; a device that was really opened
 * then overwrites what it knows better. A CPU's peaks are deliberately generous upper bounds (they
 * only say what time is impossible): 8 GHz and two fused multiply-adds of its widest vector a cycle
 * and thread. */
void target_set_limits(struct target *t);

/* Operations a second on operands of the type that the target cannot exceed, 0 where its peak is not
 * known: peak_flops, as much faster as the architecture's units take the type. A CPU's and an unknown GPU's
 * narrower types count as faster by their width, the GPU's 8 times more for its matrix units. */
double target_type_peak(const struct target *t, enum data_type type);
/* Milliseconds that so many operations on the type take at the least, 0 where that is not known. What
 * takes less has not been done: the worker, the database and the gate of an export judge by this. */
double target_least_ms(const struct target *t, enum data_type type, double flops);

/* Local memory that a launch may ask for (struct launch's local_bytes): NVIDIA's devices have more of it than a
 * kernel may declare, for launches that say so. Elsewhere what a workgroup may use. */
int64_t target_dynamic_local_bytes(const struct target *t);

/* Vector registers of a unit in bytes, shared by all that runs there (on AMD's from gfx10 on a unit is a pair of
 * compute units, from gfx908 on accumulation registers count); 0 where that is not known. */
int64_t target_register_bytes(const struct target *t);

/* What CUDA calls compute capability, in tenths: 90 for sm_90 and sm_90a; 0 for other vendors' targets. */
int target_compute_capability(const struct target *t);

/* True for architectures of the table ("gfx90a", "sm_90"). Only their ids may hold a hexadecimal
 * count. */
bool target_arch_known(const char *arch);

#endif
