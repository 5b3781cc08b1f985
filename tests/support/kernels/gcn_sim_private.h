/* Shared by the interpreter's files gcn_sim.c and gcn_ops.c only: a wave's state, and decoded
 * instructions. */
#ifndef TESTS_SUPPORT_KERNELS_GCN_SIM_PRIVATE_H
#define TESTS_SUPPORT_KERNELS_GCN_SIM_PRIVATE_H

#include "tests/support/kernels/gcn_sim.h"

#define LANES        64
#define SCALARS      128 /* scalar registers; 106 and 107 are vcc, 126 and 127 are exec */
#define VCC          106
#define EXEC         126
#define VECTORS      256
#define OPERANDS_MAX 5
#define LOADS_MAX    64
#define STEPS_MAX    2000000 /* most instructions that a wave may run: an endless loop is a fault */
/* scalar register that a launch sets to the workgroup's number, behind the arguments' address */
#define GROUP_X      2

enum operand_kind { OPERAND_NUMBER, OPERAND_SCALAR, OPERAND_VECTOR };

struct operand {
    enum operand_kind kind;
    uint32_t number; /* the number itself, or the first register's index */
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

/* A vector load or store in flight and the registers that it fills; count 0: a store. */
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
    /* registers that a load in flight has not filled yet */
    bool s_pending[SCALARS], v_pending[VECTORS];
    struct pending loads[LOADS_MAX]; /* loads and stores in flight, the oldest first */
    int load_count;
    GArray *local_loads; /* vector registers that loads from local memory will fill */
    char *fault;
};

struct row {
    const char *name;
    void (*run)(struct wave *wave, const struct op *op);
    int count; /* dwords (4 bytes) that a load or store moves */
    uint32_t (*two)(uint32_t a, uint32_t b);
};

/* The table's row of an instruction; NULL for an unknown name. */
const struct row *gcn_row(const char *name);

/* Ends the run with this fault, unless the wave had a fault before. */
G_GNUC_PRINTF(2, 3)
void gcn_fault(struct wave *wave, const char *format, ...);

#endif
