#include "solvers/common/matrix_sum.h"

#include "solvers/common/conv_common.h"
#include "solvers/common/matrix_epilogue.h"

/* work-items of a workgroup, as conv_matrix_sum.cl declares it */
#define SUM_ITEMS    128
#define SUMS_AN_ITEM 4
/* The most work-items that share the split-K parts of an element. */
#define SUM_SHARES   8
#define SUM_BYTES    4

bool matrix_parts_are_short(double terms, int splits)
{
    return terms <= (double)splits * MATRIX_TERMS_MOST;
}

int matrix_least_splits(double terms)
{
    int splits = 1;

    while (splits < MATRIX_SPLITS_MOST && !matrix_parts_are_short(terms, splits))
        splits *= 2;
    return splits;
}

/* Work-items that share the parts of an element. */
static int shares_of(int splits)
{
    return splits >= SUM_SHARES ? SUM_SHARES : 1;
}

int matrix_sum_depth(int splits)
{
    int shares = shares_of(splits);

    return (int)conv_divide_up(splits, shares) + shares - 1;
}

void matrix_add_sum(const struct problem *p, int64_t count, int splits, struct solution *solution)
{
    matrix_add_pitched_sum(p, count, splits, 0, solution);
}

void matrix_add_pitched_sum(const struct problem *p, int64_t count, int splits, int64_t pitch,
                            struct solution *solution)
{
    enum tensor_role role = problem_output_role(p);
    struct launch *launch = solution_add_launch(solution, "conv_matrix_sum.cl", "conv_matrix_sum");
    int shares = shares_of(splits);
    const int64_t items[] = {conv_divide_up(count, SUMS_AN_ITEM) * shares, 1, 1};

    launch_option_text(launch, "LANE", conv_sum_type(p));
    if (pitch > 0)
        launch_option_int(launch, "PITCHED", 1);
    launch_option_int(launch, "SHARES", shares);
    launch_option_text(launch, "TYPE", data_type_name(p->type[role]));
    matrix_add_epilogue_options(p, launch);
    launch_sort_options(launch);
    launch_arg_workspace(launch, 0);
    launch_arg_tensor(launch, role);
    launch_arg_int64(launch, count);
    launch_arg_int32(launch, splits);
    if (pitch > 0)
        launch_arg_int32(launch, pitch);
    if (pitch > 0 || p->epilogue[0] != '\0') {
        launch_arg_int32(launch, p->groups);
        launch_arg_int32(launch, count / matrix_output_positions(p) / p->groups);
    }
    matrix_add_epilogue_args(p, launch);
    launch_set_grid(launch, items, (const int[]){SUM_ITEMS, 1, 1});
    solution->workspace_bytes = (uint64_t)count * (uint64_t)splits * SUM_BYTES;
}
