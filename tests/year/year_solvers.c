#include "tests/year/year_solvers.h"

#include "solvers/common/conv_common.h"
#include "solvers/framework/solver_rows.h"

#include <stdlib.h>
#include <string.h>

#define BLOCK_ITEMS 64 /* as in conv_direct_naive.cl */

static const char *const sources[] = {"conv_direct_naive.cl", NULL};
static const int32_t tiles[] = {1, 2, 4, 8};
static const struct space_param params[] = {{"tile", G_N_ELEMENTS(tiles), tiles}};
static const struct space space = {.param_count = 1, .params = params};

static struct solver solvers[YEAR_SOLVERS];

static bool serves(const struct problem *p, const char **reason)
{
    *reason = "needs a forward FP32 NCHW convolution";
    return p->direction == DIRECTION_F && p->type[TENSOR_X] == TYPE_FP32 &&
           p->layout[TENSOR_X] == LAYOUT_NCHW && conv_is_plain(p, reason);
}

static bool year_is_applicable(const struct problem *p, const struct context *context,
                               const char **reason)
{
    (void)context;
    return serves(p, reason);
}

/* A solver that is not there yet. */
static bool year_is_missing(const struct problem *p, const struct context *context,
                            const char **reason)
{
    (void)p;
    (void)context;
    *reason = "is not there yet";
    return false;
}

static double year_estimate(const struct problem *p, const struct context *context)
{
    (void)p;
    (void)context;
    return 50.0; /* so that the naive solver is left out */
}

static void year_default_config(const struct problem *p, const struct context *context,
                                struct perf_config *config)
{
    (void)p;
    (void)context;
    *config = (struct perf_config){.count = 1, .values = {1}};
}

/* The solvers' launches differ, so that each has kernels of its own. */
static bool solve(int solver, const struct problem *p, const struct perf_config *config,
                  struct solution *solution)
{
    struct launch *launch = solution_add_launch(solution, "conv_direct_naive.cl", "conv_naive_f");
    conv_add_type_options(p, launch);
    launch_option_int(launch, "YEAR_SOLVER", solver);
    launch_option_int(launch, "YEAR_REVISION", solvers[solver].revision);
    launch_option_int(launch, "YEAR_TILE", config->values[0]);
    launch_option_int(launch, "YEAR_CHANNELS", p->c);
    launch_sort_options(launch);
    conv_add_tensor_args(launch);
    conv_add_stride_args(launch);
    conv_add_shape_args(p, launch);
    launch_set_line(launch, p->n * p->k * p->out[AXIS_H] * p->out[AXIS_W], BLOCK_ITEMS);
    conv_set_exact_work(p, solution);
    return true;
}

#define SOLVE(number)                                                                              \
    static bool year_solve_##number(const struct problem *p, const struct context *context,        \
                                    const struct perf_config *config, struct solution *solution,   \
                                    GError **error)                                                \
    {                                                                                              \
        (void)context;                                                                             \
        (void)error;                                                                               \
        return solve(number, p, config, solution);                                                 \
    }
SOLVE(0)
SOLVE(1)
SOLVE(2)
SOLVE(3)

#define ROW(number, its_name)                                                                      \
    [number] = {.provider = "test",                                                                \
                .name = its_name,                                                                  \
                .revision = 1,                                                                     \
                .algorithm = "Direct",                                                             \
                .sources = sources,                                                                \
                .is_applicable = year_is_applicable,                                               \
                .estimate = year_estimate,                                                         \
                .default_config = year_default_config,                                             \
                .space = &space,                                                                   \
                .solve = year_solve_##number}
static struct solver solvers[YEAR_SOLVERS] = {ROW(0, "ConvSteady"), ROW(1, "ConvRising"),
                                              ROW(2, "ConvFalling"), ROW(3, "ConvLate")};

/* The product's naive solver serves what no other one does, so commands expect it. */
const struct solver *const solver_table[] = {&solvers[0], &solvers[1], &solvers[2], &solvers[3],
                                             &solver_conv_direct_naive};
const int solver_table_count = (int)G_N_ELEMENTS(solver_table);

/* Sets the revisions before main(). */
__attribute__((constructor)) static void read_environment(void)
{
    g_auto(GStrv) words =
        g_strsplit(getenv("SKIPJACK_YEAR") ? getenv("SKIPJACK_YEAR") : "", " ", -1);
    for (char **word = words; *word != NULL; word++) {
        char *end = strchr(*word, '=');
        for (int i = 0; end != NULL && i < YEAR_SOLVERS; i++) {
            if (strncmp(*word, solvers[i].name, (size_t)(end - *word)) != 0)
                continue;
            int revision = atoi(end + 1);
            solvers[i].revision = MAX(revision, 1);
            solvers[i].is_applicable = revision > 0 ? year_is_applicable : year_is_missing;
        }
    }
}
