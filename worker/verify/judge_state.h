/*
 * The judge as its own files see it: its state, and how an entry of judge.cl is launched. One file for each thing that
 * a judge does:
 *   judge_launch.c     arguments and launches
 *   judge_inputs.c     writes the inputs
 *   judge_reference.c  computes the reference
 *   judge_sample.c     proves the reference by the host's sample
 *   judge_compare.c    compares outputs, gaps and fingerprints
 *   judge.c            makes and frees a judge, and proves its comparison
 *   judge_cache.c      keeps judges for their next use
 * Internal to these files.
 *
 * The entries of judge.cl, and the order in which they run:
 *   judge_random     writes an input from the seed; once for each input
 *   judge_reference  for convolutions: sums value and magnitude of each output element, in `parts` parts
 *   judge_operator   for all other operators: computes value and magnitude of each output element
 *   judge_join       adds the parts up, and finds each workgroup's largest magnitude
 *   judge_epilogue   does the epilogue on the joined elements, and finds each one's gain and slack (epilogue_bound.h);
 *                    for problems with an epilogue
 *   judge_sample     gathers the elements that the host computes, too
 *   judge_compare    for each workgroup: the largest error, the elements looked at, the wrong elements
 *   judge_written    for each workgroup: the elements looked at, those that do not hold the poison
 *   judge_fingerprint  for each workgroup: its part of a fingerprint, the bytes looked at
 * The host reads back only the workgroups' results, a few KiB.
 */
#ifndef WORKER_VERIFY_JUDGE_STATE_H
#define WORKER_VERIFY_JUDGE_STATE_H

#include "worker/verify/epilogue_bound.h"
#include "worker/verify/judge.h"
#include "worker/verify/random.h"

#define JUDGE_ITEMS          256 /* work-items in a workgroup, the same number as in judge.cl */
/* Workgroups of the entries that loop over all elements: enough to occupy any device. */
#define JUDGE_GROUPS_MAX     1024
#define JUDGE_ARGS_MAX       72
#define JUDGE_FOUND_BYTES    (3ll * 8 * JUDGE_GROUPS_MAX)
/* The host proves the reference by a sample of so many runs of consecutive elements. */
#define JUDGE_SAMPLE_RUNS    256
#define JUDGE_SAMPLE_RUN     8
/* Numbers of an element of the sample in judge.cl: value, magnitude, gain, slack. */
#define JUDGE_SAMPLE_NUMBERS 4
#define JUDGE_SAMPLE_BYTES   (8ll * JUDGE_SAMPLE_RUNS * JUDGE_SAMPLE_RUN * JUDGE_SAMPLE_NUMBERS)
/* Numbers of a step in judge.cl: operation, a, b, whether scales are one a channel. */
#define JUDGE_STEP_NUMBERS   4

enum judge_entry {
    JUDGE_ENTRY_RANDOM,
    JUDGE_ENTRY_REFERENCE,
    JUDGE_ENTRY_JOIN,
    JUDGE_ENTRY_COMPARE,
    JUDGE_ENTRY_EPILOGUE,
    JUDGE_ENTRY_FINGERPRINT,
    JUDGE_ENTRY_OPERATOR,
    JUDGE_ENTRY_WRITTEN,
    JUDGE_ENTRY_SAMPLE,
    JUDGE_ENTRY_COUNT,
};

struct judge {
    struct device *device;
    const struct device_program *program;
    struct problem problem;
    struct tensor tensors[OPERAND_COUNT];
    enum tensor_role out;
    uint64_t seed;
    struct random_source sources[OPERAND_COUNT]; /* of the operands that the problem has */
    struct epilogue_bound bound;
    struct device_kernel *kernels[JUDGE_ENTRY_COUNT];
    int64_t count; /* elements of the output */
    /* For a convolution's reference: the work-items of one part, and the blocks of channels in a group of the
     * output. */
    int64_t items, rows;
    int parts;
    /* Doubles and floats, [parts][count]: each part is a partial sum of every element.
     * judge_join adds all parts up into the first one, which is the reference. */
    struct device_memory *value, *magnitude;
    /* For problems with an epilogue, else NULL: floats [count], and the steps' numbers. */
    struct device_memory *gain, *slack, *steps;
    struct device_memory *found; /* the results of each workgroup, three 8-byte numbers */
    struct device_memory *found_parts[3];
    struct device_memory
        *sample;    /* doubles [JUDGE_SAMPLE_RUNS][JUDGE_SAMPLE_RUN][JUDGE_SAMPLE_NUMBERS] */
    double largest; /* magnitude */
};

/* The name of an entry in judge.cl. Static. */
const char *judge_entry_name(enum judge_entry entry);

/* ---- launches (judge_launch.c) ---- */

struct judge_args {
    int count;
    struct device_arg list[JUDGE_ARGS_MAX];
};

void judge_add_memory(struct judge_args *arguments, struct device_memory *memory);
void judge_add_int32(struct judge_args *arguments, int64_t value);
void judge_add_int64(struct judge_args *arguments, int64_t value);
void judge_add_float64(struct judge_args *arguments, double value);
/* Adds a number for each axis, depth first, as int32. */
void judge_add_axes(struct judge_args *arguments, const int64_t values[AXIS_COUNT]);
/* Adds a tensor's type, block, extents (but the first one) and strides. */
void judge_add_tensor(struct judge_args *arguments, const struct tensor *tensor);
/* The number by which judge.cl knows a type; -1 for TYPE_NONE. */
int judge_type_number(enum data_type type);

/* Starts an entry with so many workgroups of JUDGE_ITEMS work-items. */
bool judge_launch(struct judge *judge, enum judge_entry entry, int64_t groups,
                  const struct judge_args *arguments, GError **error);
/* The number of workgroups that have so many work-items. */
int64_t judge_groups_for(int64_t items);
/* The number of workgroups of an entry that loops over all elements of the output. */
int64_t judge_groups(const struct judge *judge);
/* Overwrites the results of earlier launches with numbers that are refused: a launch that the
 * driver drops must not look like one that found every element right. */
bool judge_forget_found(struct judge *judge, GError **error);

/* ---- what a judge does ---- */

/* Writes all inputs, judge_write_input() for each. */
bool judge_write_inputs(struct judge *judge, struct device_memory *const memory[OPERAND_COUNT],
                        GError **error);

bool judge_has_epilogue(const struct judge *judge);
/* Whether the operator computes functions (exp, log, a power), which are less exact than sums. */
bool judge_has_functions(const struct problem *p);
/* Starts to compute the reference from the inputs in this memory. */
bool judge_run_reference(struct judge *judge, struct device_memory *const memory[OPERAND_COUNT],
                         GError **error);
/* Reads the reference's largest magnitude. WORKER_ERROR_DOUBT if the device reports none. */
bool judge_read_largest(struct judge *judge, GError **error);

/* Compares the reference with the host's sample of it. WORKER_ERROR_DOUBT if an element differs. */
bool judge_check_sample(struct judge *judge, GError **error);

/* ---- for the cache ---- */

/* Bytes of the reference on the device. */
int64_t judge_bytes(const struct judge *judge);
/* Whether the judge is that of these: the same program, problem, tensors and seed. */
bool judge_is_for(const struct judge *judge, const struct device_program *program,
                  const struct problem *p, const struct tensor *tensors, uint64_t seed);

#endif
