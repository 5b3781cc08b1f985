/*
 * One convolution with random data in memory, run by a solver's solution and
 * compared with a sum in double precision. A kernel may write only the
 * output's own elements: every buffer has a guard zone before and behind its
 * tensor, tensors that are not packed have holes, and all of it, as the output
 * before the run, is filled with NaN.
 */
#ifndef TESTS_SUPPORT_CONV_TRIAL_H
#define TESTS_SUPPORT_CONV_TRIAL_H

#include "solvers/framework/solver.h"
#include "tests/support/solution_run.h"

/* How tensors lie in memory. Blocked layouts are always packed. */
enum trial_strides {
    TRIAL_PACKED,
    TRIAL_PADDED, /* a few elements behind each row, plane and so on, in the layout's order */
    TRIAL_SPREAD, /* also between neighbours of the innermost axis */
};

/* Sets a tensor's strides (N C D H W, elements) and returns the elements from its first to its last. */
int64_t trial_lay_out(const struct problem *p, enum tensor_role role, enum trial_strides strides,
                      int64_t result[5]);

struct conv_trial {
    struct problem p;
    struct run_tensor tensors[TENSOR_COUNT];
    double *plain[TENSOR_COUNT]; /* conv_reference.h; of the output the right result */
    double *magnitude;           /* of each output the sum of its products' absolute values */
    double largest;              /* of the magnitudes */
    int64_t longest;             /* products in the longest sum */
    void *before[TENSOR_COUNT];  /* the buffers' bytes before a run */
};

/* Makes random data and computes the right result. Floats are of either sign and sizes even over
 * [1/4, 1], so that no product hides in the error that is allowed; integers are up to 8. */
void conv_trial_init(struct conv_trial *trial, const struct problem *p, enum trial_strides strides,
                     GRand *random);
void conv_trial_clear(struct conv_trial *trial);

/* Restores the buffers and runs the solution on them. */
void conv_trial_run(struct conv_trial *trial, struct solution_runner *runner,
                    const struct solution *solution);

/* Elements of the output that are further from the right result than a solver of that algorithm's
 * family may be (integers: not equal). NaN is wrong. *first (may be NULL) is the first one's index
 * in the plain array. */
int64_t conv_trial_wrong(const struct conv_trial *trial, const char *algorithm, int64_t *first);

/* Bytes of tensors' buffers that a run changed and may not: inputs, guard zones, holes. Padding of
 * blocked layouts may be written. */
int64_t conv_trial_stray(const struct conv_trial *trial);

/* Asks the solver for a solution (without asking whether the config is valid: small problems leave
 * out configs that do the same as others, and those must be right all the same), runs it twice, and fails
 * the test under way with a message where anything is wrong: also where both runs of a solver that does not
 * say so (nondeterministic) differ. Returns whether all is right. */
bool conv_trial_check(struct conv_trial *trial, struct solution_runner *runner,
                      const struct solver *solver, const struct context *context,
                      const struct perf_config *config);
/* The same for a problem that must be valid, in padded tensors with data of their own. */
bool conv_trial_check_one(const struct problem *p, struct solution_runner *runner,
                          const struct solver *solver, const struct context *context,
                          const struct perf_config *config);
/* The same by the problem's key and the config's text, in packed tensors; both must be the solver's. */
bool conv_trial_check_key(const char *key, struct solution_runner *runner,
                          const struct solver *solver, const struct context *context,
                          const char *config_text);

/* The output's largest error in units of 2^-24 times the largest sum of magnitudes. */
double conv_trial_largest_error(const struct conv_trial *trial);

#endif
