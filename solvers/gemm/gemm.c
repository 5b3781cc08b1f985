#include "solvers/gemm/gemm.h"

#include <string.h>

#include "solvers/common/conv_common.h"
#include "solvers/common/conv_epilogue.h"

void gemm_init(struct gemm *gemm, const struct problem *p)
{
    const struct gemm_step none = {GEMM_ELEMENTS, 0};
    const struct gemm_axis one = {1, {none, none}};

    memset(gemm, 0, sizeof(*gemm));
    gemm->problem = p;
    for (int i = 0; i < GEMM_AXES; i++)
        gemm->m[i] = gemm->n[i] = gemm->k[i] = one;
    for (int i = 0; i < 2; i++) {
        gemm->batch[i].count = 1;
        gemm->batch[i].a = gemm->batch[i].b = gemm->batch[i].c = none;
    }
    gemm->splits = 1;
}

void gemm_tensor(const struct gemm *gemm, struct gemm_operand *operand, enum tensor_role role)
{
    *operand = (struct gemm_operand){.tensor = role, .type = gemm->problem->type[role]};
}

void gemm_workspace(struct gemm_operand *operand, uint64_t offset_bytes, enum data_type type)
{
    *operand = (struct gemm_operand){.in_workspace = true, .offset = offset_bytes, .type = type};
}

void gemm_set_axis(struct gemm_axis *axis, int64_t count, struct gemm_step first,
                   struct gemm_step second)
{
    *axis = (struct gemm_axis){count, {first, second}};
}

static int64_t count_of(const struct gemm_axis axes[GEMM_AXES])
{
    int64_t count = 1;

    for (int i = 0; i < GEMM_AXES; i++)
        count *= axes[i].count;
    return count;
}

/* The step in elements, for a tensor as if packed. Options that arrange loads follow from it, so that one binary
 * serves all strides. */
static int64_t packed_step(const struct gemm *gemm, const struct gemm_operand *operand,
                           struct gemm_step step)
{
    int64_t strides[5];

    if (step.axis == GEMM_ELEMENTS)
        return step.times;
    problem_packed_strides(gemm->problem, operand->tensor, strides);
    return strides[step.axis] * step.times;
}

/* The operand's step along the fastest of the axes that have more than one element. */
static int64_t fastest_step(const struct gemm *gemm, const struct gemm_operand *operand,
                            const struct gemm_axis axes[GEMM_AXES], int which)
{
    for (int i = GEMM_AXES - 1; i >= 0; i--) {
        if (axes[i].count > 1)
            return packed_step(gemm, operand, axes[i].steps[which]);
    }
    return INT64_MAX;
}

static void add_options(const struct gemm *gemm, const struct context *context,
                        const int32_t *values, struct launch *launch)
{
    int64_t a_by_m = fastest_step(gemm, &gemm->a, gemm->m, 0);
    int64_t a_by_k = fastest_step(gemm, &gemm->a, gemm->k, 0);
    int64_t b_by_n = fastest_step(gemm, &gemm->b, gemm->n, 0);
    int64_t b_by_k = fastest_step(gemm, &gemm->b, gemm->k, 1);
    int64_t c_by_n = fastest_step(gemm, &gemm->c, gemm->n, 1);
    bool is_cpu = context_is_cpu(context);

    tile_add_options(values, launch);
    launch_option_text(launch, "TYPE_A", data_type_name(gemm->a.type));
    launch_option_text(launch, "TYPE_B", data_type_name(gemm->b.type));
    launch_option_text(launch, "TYPE_C", data_type_name(gemm->c.type));
    launch_option_int(launch, "A_BY_K", a_by_k < a_by_m);
    launch_option_int(launch, "B_BY_K", b_by_k < b_by_n);
    launch_option_int(launch, "B_RUNS", is_cpu && gemm->b.type == TYPE_FP32 && b_by_n == 1);
    launch_option_int(launch, "C_RUNS", is_cpu && gemm->c.type == TYPE_FP32 && c_by_n == 1);
    launch_option_text(launch, "LANE", conv_sum_type(gemm->problem));
    if (gemm->finishes)
        conv_add_epilogue_options(gemm->problem, launch);
    launch_sort_options(launch);
}

static void add_operand(const struct gemm_operand *operand, struct launch *launch)
{
    if (operand->in_workspace)
        launch_arg_workspace(launch, operand->offset);
    else
        launch_arg_tensor(launch, operand->tensor);
}

static void add_step(const struct gemm_operand *operand, struct gemm_step step,
                     struct launch *launch)
{
    if (step.axis == GEMM_ELEMENTS)
        launch_arg_int64(launch, step.times);
    else
        launch_arg_scaled_stride(launch, operand->tensor, step.axis, step.times);
}

static void add_steps(const struct gemm_operand *operand, const struct gemm_axis axes[GEMM_AXES],
                      int which, struct launch *launch)
{
    for (int i = 0; i < GEMM_AXES; i++)
        add_step(operand, axes[i].steps[which], launch);
}

/* Adds the counts of all axes but the first, because the kernel splits indices without the first axis' count. */
static void add_counts(const struct gemm_axis axes[GEMM_AXES], struct launch *launch)
{
    for (int i = 1; i < GEMM_AXES; i++)
        launch_arg_int32(launch, axes[i].count);
}

static void add_arguments(const struct gemm *gemm, struct launch *launch)
{
    int64_t k = count_of(gemm->k);

    add_operand(&gemm->a, launch);
    add_operand(&gemm->b, launch);
    add_operand(&gemm->c, launch);
    launch_arg_int32(launch, count_of(gemm->m));
    launch_arg_int32(launch, count_of(gemm->n));
    launch_arg_int32(launch, k);
    launch_arg_int32(launch, gemm->splits > 1 ? gemm->part : k);
    launch_arg_int32(launch, gemm->batch[0].count);
    launch_arg_int32(launch, gemm->batch[1].count);
    add_counts(gemm->m, launch);
    add_counts(gemm->n, launch);
    add_counts(gemm->k, launch);
    add_steps(&gemm->a, gemm->m, 0, launch);
    add_steps(&gemm->c, gemm->m, 1, launch);
    add_steps(&gemm->b, gemm->n, 0, launch);
    add_steps(&gemm->c, gemm->n, 1, launch);
    add_steps(&gemm->a, gemm->k, 0, launch);
    add_steps(&gemm->b, gemm->k, 1, launch);
    for (int i = 0; i < 2; i++)
        add_step(&gemm->a, gemm->batch[i].a, launch);
    for (int i = 0; i < 2; i++)
        add_step(&gemm->b, gemm->batch[i].b, launch);
    for (int i = 0; i < 2; i++)
        add_step(&gemm->c, gemm->batch[i].c, launch);
    launch_arg_int64(launch, gemm->split_step);
    if (gemm->finishes)
        conv_add_epilogue_args(gemm->problem, launch);
}

void gemm_add_launch(const struct gemm *gemm, const struct context *context, const int32_t *values,
                     struct solution *solution)
{
    struct launch *launch = solution_add_launch(solution, "gemm.cl", "gemm");

    add_options(gemm, context, values, launch);
    add_arguments(gemm, launch);
    tile_set_grid(values, count_of(gemm->m), count_of(gemm->n),
                  gemm->batch[0].count * gemm->batch[1].count * gemm->splits, launch);
}

#define GRID_MOST    65535
/* Rows of the wide block that tile_default_config() chooses where the grid of its usual block would be too large. */
#define WIDE_BLOCK_M 32

bool gemm_grid_fits(const struct problem *p, double m, double layers, const char **reason)
{
    double weights = (double)p->k * (double)(p->c / p->groups);

    for (int a = 0; a < AXIS_COUNT; a++)
        weights *= (double)p->fil[a];
    *reason = "needs fewer groups or channels: a grid's second and third axis hold 65535 blocks";
    return m <= GRID_MOST * WIDE_BLOCK_M && layers <= GRID_MOST && weights <= 0x1p50;
}
