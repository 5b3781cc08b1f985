/* The spaces of the solvers that share the tile parameters: they depend on the sizes of the matrix
 * product and on the workspace limit. */
#include "solvers/common/tile_space.h"
#include "solvers/framework/solver.h"
#include "solvers/problem/problem_key.h"

static struct target gpu;
static struct context context;

static void parse(const char *forward_key, enum direction direction, struct problem *p)
{
    g_autoptr(GError) error = NULL;

    g_assert_true(problem_key_parse(forward_key, p, &error));
    g_assert_no_error(error);
    p->direction = direction;
}

/* The largest workspace in bytes of any config in the space; fails if it exceeds the limit. */
static uint64_t most_workspace(const struct solver *solver, const struct problem *p,
                               const struct context *limited)
{
    struct perf_config config;
    struct space_walk walk;
    uint64_t most = 0;

    space_walk_init(&walk, solver->space, p, limited);
    while (space_walk_next(&walk, &config)) {
        struct solution solution;
        g_assert_true(solver_solve(solver, p, limited, &config, &solution, NULL));
        g_assert_cmpuint(solution.workspace_bytes, <=, limited->workspace_limit);
        most = MAX(most, solution.workspace_bytes);
    }
    return most;
}

static const struct {
    const char *solver, *key;
    enum direction direction;
    uint64_t whole_bytes; /* workspace in bytes when sums are not split */
    uint64_t most_bytes;  /* workspace in bytes without a limit; 0: not checked */
} limit_rows[] = {
    /* 4 split-K parts of 2048 x 512 weights: with 16 parts, each would have less than two rounds of
     * 8 of the 196 terms. */
    {"ConvGemm1x1", "512-14-14-1x1-2048-14-14-1-0x0-1x1-1x1-0-NCHW-FP32-F", DIRECTION_W, 0,
     UINT64_C(4) * 2048 * 512 * 4},
    {"ConvImplicitGemm", "512-14-14-1x1-2048-14-14-1-0x0-1x1-1x1-0-NCHW-FP32-F", DIRECTION_W, 0, 0},
    {"ConvImplicitGemm", "64-28-28-3x3-64-28-28-32-1x1-1x1-1x1-0-NCHW-FP32-F", DIRECTION_W, 0, 0},
    {"ConvImplicitGemmStatic", "64-28-28-3x3-64-28-28-32-1x1-1x1-1x1-0-NCHW-FP32-F", DIRECTION_W, 0,
     0},
    {"ConvIm2ColGemm", "64-28-28-3x3-64-28-28-2-1x1-1x1-1x1-0-NCHW-FP32-F", DIRECTION_W,
     UINT64_C(64) * 9 * 2 * 28 * 28 * 4, 0},
};

/* A workspace limit removes the configs that do not fit it; a limit below that of any split leaves
 * the configs that do not split sums. */
static void limits_choose_the_parts_that_may_be_tuned(void)
{
    for (gsize i = 0; i < G_N_ELEMENTS(limit_rows); i++) {
        const struct solver *solver = solver_find(limit_rows[i].solver);
        struct context limited = context;
        struct problem p;
        uint64_t most;
        int64_t last = G_MAXINT64;
        parse(limit_rows[i].key, limit_rows[i].direction, &p);
        do {
            struct perf_config config;
            struct solution solution;
            int64_t count = space_count(solver->space, &p, &limited);
            g_assert_cmpint(count, >, 0);
            g_assert_cmpint(count, <=, last);
            last = count;
            g_assert_true(solver_applicable(solver, &p, &limited, NULL));
            most = solver_workspace_bytes(solver, &p, &limited);
            g_assert_cmpuint(most, <=, limited.workspace_limit);
            g_assert_cmpuint(most_workspace(solver, &p, &limited), <=, most);
            if (limit_rows[i].most_bytes && limited.workspace_limit == UINT64_MAX)
                g_assert_cmpuint(most, ==, limit_rows[i].most_bytes);
            solver->default_config(&p, &limited, &config);
            g_assert_true(solver_solve(solver, &p, &limited, &config, &solution, NULL));
            g_assert_cmpuint(solution.workspace_bytes, <=, most);
            limited.workspace_limit = most - 1;
        } while (most > limit_rows[i].whole_bytes);
        g_assert_cmpuint(most, ==, limit_rows[i].whole_bytes);
    }
}

/* Winograd has two tile sizes: if the workspace of one exceeds the limit, the other is used. */
static void winograd_takes_the_tiles_that_fit(void)
{
    const struct solver *solver = solver_find("ConvWinograd");
    struct context plain, limited;
    struct perf_config config;
    struct target cpu;
    struct problem p;
    uint64_t all;

    g_assert_true(target_parse("cpu-skylake-avx512_2", &cpu, NULL));
    context_init(&plain, &cpu);
    limited = plain;
    parse("64-56-56-3x3-64-56-56-16-1x1-1x1-1x1-0-NCHW-FP32-F", DIRECTION_F, &p);
    all = solver_workspace_bytes(solver, &p, &plain);
    solver->default_config(&p, &plain, &config);
    g_assert_cmpint(config.values[TILE_SPLITS + 1], ==, 2);
    limited.workspace_limit = all - 1;
    g_assert_true(solver_applicable(solver, &p, &limited, NULL));
    solver->default_config(&p, &limited, &config);
    g_assert_cmpint(config.values[TILE_SPLITS + 1], ==, 4);
    g_assert_cmpuint(most_workspace(solver, &p, &limited), ==,
                     solver_workspace_bytes(solver, &p, &limited));
}

static int tallest_block(const char *name, const struct problem *p)
{
    const struct solver *solver = solver_find(name);
    struct perf_config config;
    struct space_walk walk;
    int tallest = 0;

    space_walk_init(&walk, solver->space, p, &context);
    while (space_walk_next(&walk, &config))
        tallest = MAX(tallest, tile_block_m(config.values));
    return tallest;
}

/* x has three channels, but the product has 147 rows, one for each channel and filter position:
 * tall blocks are in the space. */
static void blocks_are_as_tall_as_the_product_is(void)
{
    struct problem p;

    parse("3-224-224-7x7-64-112-112-1-3x3-2x2-1x1-0-NCHW-FP32-F", DIRECTION_B, &p);
    g_assert_cmpint(tallest_block("ConvImplicitGemm", &p), ==, 32);
    g_assert_cmpint(tallest_block("ConvIm2ColGemm", &p), >=, 128);
}

static bool splits(const char *name, const struct problem *p)
{
    const struct solver *solver = solver_find(name);
    struct perf_config config;
    struct space_walk walk;

    space_walk_init(&walk, solver->space, p, &context);
    while (space_walk_next(&walk, &config)) {
        if (config.values[TILE_SPLITS] > 1)
            return true;
    }
    return false;
}

/* A 9 x 9 filter has 81 terms in a plain product, but Winograd sums 25 patches of 2 x 2: the
 * patches limit the blocks. */
static void winograds_terms_are_patches(void)
{
    struct problem p;

    parse("16-9-9-3x3-16-9-9-1-1x1-1x1-1x1-0-NCHW-FP32-F", DIRECTION_W, &p);
    g_assert_true(splits("ConvIm2ColGemm", &p));
    g_assert_false(splits("ConvWinograd", &p));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_assert_true(target_parse("gfx90a68", &gpu, NULL));
    context_init(&context, &gpu);
    g_test_add_func("/tile_space/limits_choose_the_parts_that_may_be_tuned",
                    limits_choose_the_parts_that_may_be_tuned);
    g_test_add_func("/tile_space/winograd_takes_the_tiles_that_fit",
                    winograd_takes_the_tiles_that_fit);
    g_test_add_func("/tile_space/blocks_are_as_tall_as_the_product_is",
                    blocks_are_as_tall_as_the_product_is);
    g_test_add_func("/tile_space/winograds_terms_are_patches", winograds_terms_are_patches);
    return g_test_run();
}
