#include "solvers/common/split_sum.h"

#include "solvers/common/conv_common.h"
#include "solvers/common/conv_epilogue.h"

#define SUM_ITEMS  256       /* work-items of a workgroup of conv_sum_splits.cl */
#define SUM_LANES  32        /* the most work-items that share one element's split-K parts */
#define SUM_ENOUGH (1 << 18) /* work-items enough to keep the memory of any GPU busy */

/* The number of elements of w. */
static int64_t weight_count(const struct problem *p)
{
    int64_t count = p->k * (p->c / p->groups);

    for (int a = 0; a < AXIS_COUNT; a++)
        count *= p->fil[a];
    return count;
}

uint64_t split_sum_part_bytes(const struct problem *p)
{
    return (uint64_t)weight_count(p) * sizeof(float);
}

uint64_t split_sum_bytes(const struct problem *p, int splits)
{
    return splits > 1 ? (uint64_t)splits * split_sum_part_bytes(p) : 0;
}

/* Work-items that share the parts of one element. Where elements are few, several work-items share one to keep memory
 * busy; each of them adds up at least two parts. */
static int sum_lanes(int64_t count, int splits)
{
    int lanes = 1;

    while (lanes < SUM_LANES && count * lanes < SUM_ENOUGH && 4 * lanes <= splits)
        lanes *= 2;
    return lanes;
}

/* Adds the launch's options, grid and arguments up to the counts of w. Returns the distance in elements between the
 * elements of one work-item. */
static int64_t begin_sum(const struct problem *p, enum tensor_role role, uint64_t offset_bytes,
                         int64_t count, int splits, struct launch *launch)
{
    int lanes = sum_lanes(count, splits), width = SUM_ITEMS / lanes;
    int64_t step = conv_loop_items(count, width);

    launch_option_text(launch, "TYPE_W", data_type_name(p->type[role]));
    conv_add_epilogue_options(p, launch);
    launch_sort_options(launch);
    launch_arg_workspace(launch, offset_bytes);
    launch_arg_tensor(launch, role);
    launch_arg_int64(launch, count);
    launch_arg_int32(launch, splits);
    launch_arg_int32(launch, lanes);
    launch_set_line(launch, step * lanes, SUM_ITEMS);
    return step;
}

void split_sum_add(const struct problem *p, uint64_t offset_bytes, int splits,
                   struct solution *solution)
{
    struct launch *launch = solution_add_launch(solution, "conv_sum_splits.cl", "conv_sum_splits");
    int64_t step = begin_sum(p, TENSOR_W, offset_bytes, weight_count(p), splits, launch);

    launch_arg_int32(launch, p->c / p->groups);
    for (int a = 0; a < AXIS_COUNT; a++)
        launch_arg_int32(launch, p->fil[a]);
    for (int axis = 0; axis < 5; axis++)
        launch_arg_stride(launch, TENSOR_W, axis);
    launch_arg_int64(launch, step);
}

/* Adds sizes and strides of the output as those of a w. A packed tensor is one with filters of one element each, and the
 * kernel divides no offset. For another the five axes are passed in the order of the parts. */
static void add_output_axes(const struct problem *p, enum tensor_role role, struct launch *launch)
{
    static const int orders[2][5] = {{0, 1, 2, 3, 4}, {0, 2, 3, 4, 1}};
    const int *order = orders[conv_is_channels_last(p->layout[role])];
    int64_t sizes[5], strides[5];

    problem_operand_sizes(p, role, sizes);
    problem_strides(p, role, strides);
    for (int axis = 0; axis < 5 && !problem_operand_is_strided(p, role); axis++)
        sizes[axis] = strides[axis] = 1;
    for (int i = 1; i < 5; i++)
        launch_arg_int32(launch, sizes[order[i]]);
    for (int i = 0; i < 5; i++)
        launch_arg_int64(launch, strides[order[i]]);
}

void split_sum_add_output(const struct problem *p, uint64_t offset_bytes, int splits,
                          struct solution *solution)
{
    struct launch *launch = solution_add_launch(solution, "conv_sum_splits.cl", "conv_sum_splits");
    enum tensor_role role = problem_output_role(p);
    int64_t step =
        begin_sum(p, role, offset_bytes, problem_tensor_elements(p, role), splits, launch);

    add_output_axes(p, role, launch);
    launch_arg_int64(launch, step);
    if (p->epilogue[0] != '\0') {
        int64_t strides[5];
        problem_packed_strides(p, role, strides);
        launch_arg_int64(launch, strides[1]);
        launch_arg_int32(launch, role == TENSOR_X ? p->c : p->k);
    }
    conv_add_epilogue_args(p, launch);
}
