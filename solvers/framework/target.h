/*
 * A target is a kind of device: all devices with one target give the same results. Its id follows MIOpen's file
 * names (FORMATS.md, "Target ids"): "gfx90a68" (104 compute units, hexadecimal past 64) and "gfx1030_36";
 * NVIDIA devices are "sm_90_132_80g" (architecture, multiprocessors, GiB of memory); CPUs are "cpu-znver4_2"
 * (LLVM's name, threads).
 *
 * Features that code is compiled for follow the architecture ("gfx90a_xnack68"). A partition of a card is a
 * target of its own, different from a whole card with as many units, because it shares caches and memory with
 * the other partitions. The partition's name ends the id: AMD's compute mode and memory mode
 * ("gfx942_38_cpx_nps4"; an undivided card's SPX and NPS1 are left out), NVIDIA's MIG instance by its slices
 * ("sm_90_16_10g_mig1g", and "sm_90_16_20g_mig1c2g" for one of several compute instances in it).
 */
#ifndef SOLVERS_FRAMEWORK_TARGET_H
#define SOLVERS_FRAMEWORK_TARGET_H

#include "solvers/problem/problem.h"

enum vendor { VENDOR_AMD, VENDOR_NVIDIA, VENDOR_CPU };

struct target {
    char id[64];
    enum vendor vendor;
    char arch[48]; /* architecture: "gfx90a", "sm_90", or LLVM's name of a CPU ("znver4") */
    /* MIOpen's suffixes of compiled-in features ("_xnack", "_nosramecc"), "" for none */
    char features[48];
    /* suffix of the card's partition ("_cpx_nps4", "_mig1g"), "" for a whole card */
    char partition[24];
    int compute_units;   /* compute units, multiprocessors, or CPU threads */
    int memory_gib;      /* device memory in GiB for NVIDIA, else 0 */
    int64_t local_bytes; /* bytes of local memory that a workgroup may use */
    int max_workgroup;   /* work-items */
    int wave_size;       /* work-items of a wave: 64 or 32, 1 for a CPU */
    int vector_bytes;    /* bytes of a CPU's widest vector register (16, 32, 64), 0 for a GPU */
    /* upper bound of FP32 operations a second, 0 when unknown; packing and matrix units make other types faster */
    double peak_flops;
    double peak_bytes; /* upper bound of bytes of device memory a second, 0 when unknown */
};

/* Fills *t from an id, with the limits of its architecture. SOLVERS_ERROR_UNKNOWN, with the remedy, for ids of
 * no form above. */
bool target_parse(const char *id, struct target *t, GError **error);

/* Whether the target is consistent: the id follows from the fields, and the limits are possible.
 * SOLVERS_ERROR_INVALID names the field. */
bool target_validate(const struct target *t, GError **error);

/* Writes t->id from vendor, arch, features, compute_units, memory_gib and partition. */
void target_set_id(struct target *t);

/* Sets t->partition from a driver's words: AMD's modes ("CPX", "CPX NPS4", in any case), NVIDIA's instance
 * ("MIG 1g.10gb", "MIG 1c.2g.20gb"; "MIG" where its profile is unknown). "" and a whole card's "SPX NPS1" set
 * "". False for other words, and "" is set. Leaves the id unchanged. */
bool target_set_partition(struct target *t, const char *words);

#define TARGET_FILE_NAME_MAX 64
/* The name under which MIOpen looks for the target's files. MIOpen ignores partitions, and sramecc except on
 * gfx906 and gfx908 (InitDbId() of its target_properties.cpp). Targets of other vendors give their id. Returns
 * name. */
const char *target_file_name(const struct target *t, char name[TARGET_FILE_NAME_MAX]);

/* Sets limits and peaks from the architecture's name and the unit count. A device that is opened later
 * overwrites them with what it reports. A CPU's peaks are upper bounds that no CPU reaches, since they only
 * decide which times are impossible: 8 GHz, and two fused multiply-adds of the widest vector in each cycle and
 * thread. */
void target_set_limits(struct target *t);

/* Upper bound of operations a second on operands of this type, 0 where the peak is unknown: peak_flops times
 * the type's advantage on the architecture's units. For a CPU or an unknown GPU narrower types count as faster
 * by their width, and on the GPU by another 8 for matrix units. */
double target_type_peak(const struct target *t, enum data_type type);
/* The least milliseconds in which the target can do so many operations on this type, 0 where unknown. A shorter
 * time is impossible: the worker, the database and an export's check refuse it. */
double target_least_ms(const struct target *t, enum data_type type, double flops);

/* The most local memory that a launch may request dynamically (struct launch's local_bytes). NVIDIA's devices
 * allow more than a kernel may declare; elsewhere this is local_bytes. */
int64_t target_dynamic_local_bytes(const struct target *t);

/* Bytes of vector registers of a unit, shared by all waves on it; 0 where unknown. From gfx10 on a unit is a
 * pair of compute units; from gfx908 on accumulation registers count. */
int64_t target_register_bytes(const struct target *t);

/* Sets in which form the problem's FP8 and BF8 are on the target: FNUZ on gfx940 to gfx942, OCP's elsewhere. Call it
 * before such numbers are made or read, with the target on which the kernels run. */
void target_set_forms(const struct target *t, struct problem *p);

/* CUDA's compute capability times ten: 90 for sm_90 and sm_90a; 0 for other vendors. */
int target_compute_capability(const struct target *t);

/* Whether the architecture is in the table of known ones ("gfx90a", "sm_90"). Only ids of known architectures
 * may hold a hexadecimal count. */
bool target_arch_known(const char *arch);

#endif
