/* One convolution with random data in memory, run by a solver's solution and compared with a sum in
 * double precision. A kernel may write only the output's own elements. To notice other writes,
 * every buffer has guard zones before and behind its tensor, tensors that are not packed have gaps,
 * and guard zones, gaps and the output are filled with NaN before the run. */
#ifndef TESTS_SUPPORT_KERNELS_CONV_TRIAL_H
#define TESTS_SUPPORT_KERNELS_CONV_TRIAL_H

#include "solvers/framework/solver.h"
#include "tests/support/kernels/solution_run.h"

/* The strides of the tensors in memory. Blocked layouts are always packed. */
enum trial_strides {
    TRIAL_PACKED,
    /* gaps of a few elements behind each row, plane and so on, in the layout's order */
    TRIAL_PADDED,
    TRIAL_SPREAD, /* as TRIAL_PADDED, with gaps also between neighbours of the innermost axis */
};

/* Sets a tensor's strides (N C D H W, in elements). Returns the number of elements from its first
 * to its last one, gaps included. */
int64_t trial_lay_out(const struct problem *p, enum tensor_role role, enum trial_strides strides,
                      int64_t result[5]);

struct conv_trial {
    struct problem p;
    struct run_tensor tensors[OPERAND_COUNT];
    /* plain arrays (conv_reference.h); for the output the right result, not rounded */
    double *plain[OPERAND_COUNT];
    double *sums;      /* the output before the epilogue */
    double *magnitude; /* for each output element the sum of its products' absolute values */
    double largest;    /* the largest of the magnitudes */
    int64_t longest;   /* number of products in the longest sum */
    void *before[OPERAND_COUNT]; /* the buffers' content before a run */
};

/* Makes random inputs and computes the right result. Floats have random signs and absolute values
 * even over [1/4, 1], so that one missing product exceeds the allowed error; integers are at most
 * 8. Scales of an INT8 problem are a hundredth of that. */
void conv_trial_init(struct conv_trial *trial, const struct problem *p, enum trial_strides strides,
                     GRand *random);
void conv_trial_clear(struct conv_trial *trial);

/* Returns the epilogue's result for the output's element before the problem's own epilogue, in the output's range and
 * not rounded; the operands are those of the trial's problem. */
double conv_trial_epilogue(const struct conv_trial *trial, const struct epilogue *epilogue,
                           int64_t index);

/* Restores the buffers and runs the solution on them. */
void conv_trial_run(struct conv_trial *trial, struct solution_runner *runner,
                    const struct solution *solution);

/* Returns the number of output elements whose error exceeds what the worker allows a solution of that rounding, NULL for
 * plain sums (integers without an epilogue: which are not equal). A NaN is wrong. *first (may be NULL) gets the plain
 * array's index of the first wrong element. */
int64_t conv_trial_wrong(const struct conv_trial *trial, const struct solution_rounding *rounding,
                         int64_t *first);

/* Returns the number of bytes in inputs, guard zones and gaps that a run changed. The padding of
 * blocked layouts may be written. */
int64_t conv_trial_stray(const struct conv_trial *trial);

/* Asks the solver for a solution, runs it twice, and fails the running test with a message if
 * anything is wrong, or if the two runs differ although the solver is not marked nondeterministic.
 * The config need not be in the problem's space: small problems' spaces leave out configs that
 * equal others, and these must be right, too. Returns whether all is right. */
bool conv_trial_check(struct conv_trial *trial, struct solution_runner *runner,
                      const struct solver *solver, const struct context *context,
                      const struct perf_config *config);
/* conv_trial_check() for a problem, which must be valid, in padded tensors with random data. */
bool conv_trial_check_one(const struct problem *p, struct solution_runner *runner,
                          const struct solver *solver, const struct context *context,
                          const struct perf_config *config);
/* conv_trial_check() for a problem's key and a config's text, in packed tensors; the solver must
 * serve the problem and have the config in its space. */
bool conv_trial_check_key(const char *key, struct solution_runner *runner,
                          const struct solver *solver, const struct context *context,
                          const char *config_text);

/* The output's largest error in units of 2^-24 times the largest sum of magnitudes. */
double conv_trial_largest_error(const struct conv_trial *trial);

#endif
