/*
 * Shared by the interpreter's files: a wave's state, and decoded instructions. Internal to
 * gcn_sim.c and gcn_ops.c.
 */
#ifndef TESTS_GCN_SIM_PRIVATE_H
#define TESTS_GCN_SIM_PRIVATE_H

#include "tests/support/gcn_sim.h"

#define LANES        64
#define SCALARS      128 /* 106 and 107 are vcc, 126 and 127 exec */
#define VCC          106
#define EXEC         126
#define VECTORS      256
#define OPERANDS_MAX 5
#define LOADS_MAX    64
#define STEPS_MAX    2000000 /* of a wave: a loop that does not end is a fault */
#define GROUP_X      2       /* where the launch leaves a workgroup's place, behind its arguments */

enum operand_kind { OPERAND_NUMBER, OPERAND_SCALAR, OPERAND_VECTOR };

struct operand {
    enum operand_kind kind;
    uint32_t number; /* or the first register */
};

struct row;

struct op {
    const struct row *row;
    uint64_t at;
    int operand_count;
    struct operand operands[OPERANDS_MAX];
    int offset; /* "offset:N" */
    int vmcnt, lgkmcnt;
    char *text;
};

/* A vector load or store that is on its way; count 0 for stores. */
struct pending {
    int first, count;
};

struct wave {
    const struct gcn_launch *launch;
    const GArray *ops;
    uint8_t *local;
    guint pc;
    bool scc, at_barrier, ended;
    uint32_t s[SCALARS], v[VECTORS][LANES];
    bool s_pending[SCALARS], v_pending[VECTORS]; /* what a load has not brought yet */
    struct pending loads[LOADS_MAX];             /* vector memory, the oldest first */
    int load_count;
    GArray *local_loads; /* vector registers that local memory still fills */
    char *fault;
};

struct row {
    const char *name;
    void (*run)(struct wave *wave, const struct op *op);
    int count; /* dwords of loads and stores */
    uint32_t (*two)(uint32_t a, uint32_t b);
};

/* The row of an instruction; NULL for an unknown name. */
const struct row *gcn_row(const char *name);

/* Ends the run; the first one counts. */
G_GNUC_PRINTF(2, 3)
void gcn_fault(struct wave *wave, const char *format, ...);

#endif
