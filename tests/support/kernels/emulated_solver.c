#include "tests/support/kernels/emulated_solver.h"

static const struct solver *original;

static bool solve(const struct problem *p, const struct context *context,
                  const struct perf_config *config, struct solution *solution, GError **error)
{
    if (!original->solve(p, context, config, solution, error))
        return false;
    for (int i = 0; i < solution->launch_count; i++) {
        struct launch *launch = &solution->launches[i];
        const int *block = launch->block;
        launch_option_int(launch, "MATRIX_EMULATED", 1);
        if (launch->local_bytes > 0)
            launch->local_bytes += (int64_t)block[0] * block[1] * block[2] * EMULATED_LOCAL_BYTES;
    }
    return true;
}

const struct solver *emulated_solver(const char *name)
{
    static struct solver emulated;

    original = solver_find(name);
    g_assert(original);
    emulated = *original;
    emulated.solve = solve;
    return &emulated;
}
