/*
 * What every row of the solver table promises, whatever the solver. Fingerprints of each solver's
 * spaces and solutions lie in fingerprints.txt: they may change with a raised revision only.
 */
#include <string.h>

#include "solvers/conv_common.h"
#include "solvers/problem_key.h"
#include "solvers/solver.h"
#include "tests/support/conv_reference.h"

#define FINGERPRINTS    "tests/solvers/fingerprints.txt"
#define RANDOM_PROBLEMS 60

/* Forward keys; B and W are made of each. */
static const char *const keys[] = {
    "3-224-224-7x7-64-112-112-1-3x3-2x2-1x1-0-NCHW-FP32-F",
    "64-56-56-1x1-64-56-56-1-0x0-1x1-1x1-0-NCHW-FP32-F",
    "64-56-56-3x3-64-56-56-1-1x1-1x1-1x1-0-NCHW-FP32-F",
    "256-56-56-1x1-512-28-28-1-0x0-2x2-1x1-0-NCHW-FP32-F",
    "256-14-14-3x3-256-14-14-8-1x1-1x1-1x1-0-NCHW-FP32-F",
    "512-7-7-3x3-512-7-7-1-1x1-1x1-1x1-0-NCHW-FP32-F",
    "2048-7-7-1x1-512-7-7-1-0x0-1x1-1x1-0-NCHW-FP32-F",
    "32-20-30-5x3-48-10-10-2-2x1-2x3-1x1-0-NCHW-FP32-F_g4",
    "16-9-9-3x3-16-5-5-1-0x0-1x1-2x2-0-NCHW-FP32-F_g16",
    "1-1-1-1x1-1-1-1-1-0x0-1x1-1x1-0-NCHW-FP32-F",
    "64-28-28-3x3-64-28-28-4-1x1-1x1-1x1-0-NHWC-NHWC-NHWC-FP16-F",
    "64-28-28-3x3-64-28-28-4-1x1-1x1-1x1-0-NCHW-BF16-F",
    "64-28-28-3x3-64-28-28-4-1x1-1x1-1x1-0-NCHW-INT8INT8INT32-F",
    "8-10-10-10-3x3x3-12-10-10-10-2-1x1x1-1x1x1-1x1x1-0-NCDHW-FP32-F",
    "64-28-28-3x3-64-28-28-1-1x1-1x1-1x1-1-NCHW-FP32-F",
    "64-28-28-3x3-64-28-28-1-1x1-1x1-1x1-0-NCHW-FP32-F+bias+relu",
};
/* For the fingerprints of solvers that serve none of these. */
static const char *const rare_keys[] = {
    "32-28-28-3x3-32-28-28-8-1x1-1x1-1x1-0-NHWC-NHWC-NHWC-FP16-F_g32",
    "20-15-15-5x5-20-8-8-3-2x2-2x2-1x1-0-NHWC-NHWC-NHWC-FP32-F_g20",
    "3-32-32-7x7-16-16-16-4-3x3-2x2-1x1-0-NHWC-NHWC-NHWC-FP16-F",
    "64-28-28-1x1-64-28-28-4-0x0-1x1-1x1-0-NCHW-FP16-F",
};
/* Behind those of the fingerprints: parts of a sum that end at no aligned place. */
static const char unaligned_key[] = "63-26-47-3x3-69-26-47-26-1x1-1x1-1x1-0-NCHW-FP16-F";
static const char *const target_ids[] = {"cpu-skylake-avx512_2", "cpu-znver3_16", "gfx90a68",
                                         "sm_90_132_80g"};
/* Beside them for solvers whose kernels have instructions of some GPUs alone. */
static const char *const native_target_ids[] = {"gfx1100_48", "gfx1201_64", "gfx94268"};

static GPtrArray *problems; /* struct problem *: the keys in all directions, then random ones */
static guint key_problem_count, rare_problem_count; /* the rare ones follow */
static struct target targets[G_N_ELEMENTS(target_ids)];

static void add_problem(const struct problem *forward, int direction)
{
    struct problem *p = g_memdup2(forward, sizeof(*forward));

    p->direction = (enum direction)direction;
    g_ptr_array_add(problems, p);
}

static void add_key(const char *key)
{
    g_autoptr(GError) error = NULL;
    struct problem p;

    if (!problem_key_parse(key, &p, &error))
        g_error("%s: %s", key, error->message);
    if (!problem_validate(&p, &error))
        g_error("%s: %s", key, error->message);
    for (int direction = 0; direction < DIRECTION_COUNT; direction++)
        add_problem(&p, direction);
}

static void make_problems(void)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(5);
    struct problem unaligned;

    problems = g_ptr_array_new_with_free_func(g_free);
    for (gsize i = 0; i < G_N_ELEMENTS(keys); i++)
        add_key(keys[i]);
    key_problem_count = problems->len;
    for (gsize i = 0; i < G_N_ELEMENTS(rare_keys); i++)
        add_key(rare_keys[i]);
    rare_problem_count = problems->len - key_problem_count;
    g_assert_true(problem_key_parse(unaligned_key, &unaligned, NULL));
    add_problem(&unaligned, DIRECTION_F);
    for (int i = 0; i < RANDOM_PROBLEMS; i++) {
        struct problem p;
        conv_random_problem(random, &p);
        add_problem(&p, i % 4 == 3 ? DIRECTION_B : DIRECTION_F);
    }
}

/* Calls `look` for every solver, problem and target where the solver is applicable. */
static void for_all_applicable(void (*look)(const struct solver *solver, const struct problem *p,
                                            const struct context *context))
{
    for (int s = 0; s < solver_table_count; s++) {
        for (guint i = 0; i < problems->len; i++) {
            for (gsize t = 0; t < G_N_ELEMENTS(targets); t++) {
                struct context context;
                const char *reason = NULL;
                context_init(&context, &targets[t]);
                if (solver_applicable(solver_table[s], problems->pdata[i], &context, &reason))
                    look(solver_table[s], problems->pdata[i], &context);
                else
                    g_assert_nonnull(reason);
            }
        }
    }
}

static void names_are_unique_and_found(void)
{
    for (int i = 0; i < solver_table_count; i++) {
        const struct solver *solver = solver_table[i];
        g_assert_true(solver_find(solver->name) == solver);
        g_assert_cmpint(solver_index(solver->name), ==, i);
        g_assert_cmpint(solver->revision, >=, 1);
        g_assert_null(strpbrk(solver->name, ",;:= "));
    }
    g_assert_null(solver_find("ConvNone"));
    g_assert_cmpint(solver_index(""), ==, -1);
}

static void hashes_differ_and_are_kept(void)
{
    for (int i = 0; i < solver_table_count; i++) {
        const char *hash = solver_hash(solver_table[i]);
        g_assert_cmpuint(strlen(hash), ==, 64);
        g_assert_true(hash == solver_hash(solver_table[i]));
        for (int j = 0; j < i; j++)
            g_assert_cmpstr(hash, !=, solver_hash(solver_table[j]));
    }
}

static void algorithms_are_spelled_as_find_dbs_spell_them(void)
{
    char buffer[64];
    const struct solver *solver = solver_find("ConvCpuGemm");

    g_assert_cmpstr(solver_algorithm(solver, DIRECTION_F, buffer), ==,
                    "miopenConvolutionFwdAlgoImplicitGEMM");
    g_assert_cmpstr(solver_algorithm(solver, DIRECTION_B, buffer), ==,
                    "miopenConvolutionBwdDataAlgoImplicitGEMM");
    g_assert_cmpstr(solver_algorithm(solver, DIRECTION_W, buffer), ==,
                    "miopenConvolutionBwdWeightsAlgoImplicitGEMM");
}

static void options_are_sorted(const struct launch *launch)
{
    g_auto(GStrv) options = g_strsplit(launch->options, " ", -1);

    for (guint i = 0; options[0] && options[0][0] && options[i]; i++) {
        g_assert_true(g_str_has_prefix(options[i], "-D"));
        if (i > 0)
            g_assert_cmpstr(options[i - 1], <, options[i]);
    }
}

static void launch_is_sound(const struct solver *solver, const struct launch *launch,
                            const struct context *context, uint64_t workspace_bytes)
{
    int64_t items = 1;
    bool is_listed = false;

    for (const char *const *source = solver->sources; *source; source++)
        is_listed = is_listed || strcmp(*source, launch->file) == 0;
    g_assert_true(is_listed);
    options_are_sorted(launch);
    for (int i = 0; i < 3; i++) {
        g_assert_cmpint(launch->block[i], >, 0);
        g_assert_cmpint(launch->grid[i], >, 0);
        g_assert_cmpint(launch->grid[i] % launch->block[i], ==, 0);
        items *= launch->block[i];
    }
    if (context->target->max_workgroup > 0)
        g_assert_cmpint(items, <=, context->target->max_workgroup);
    for (int i = 0; i < launch->arg_count; i++) {
        if (launch->args[i].kind == ARG_WORKSPACE)
            g_assert_cmpuint((uint64_t)launch->args[i].value, <, workspace_bytes);
    }
}

static void solution_is_sound(const struct solver *solver, const struct problem *p,
                              const struct context *context, const struct perf_config *config)
{
    g_autoptr(GError) error = NULL;
    struct solution solution;
    char text[CONFIG_TEXT_MAX];
    struct perf_config parsed;

    g_assert_true(
        solver_config_parse(solver, p, context, perf_config_format(config, text), &parsed, &error));
    g_assert_no_error(error);
    g_assert_true(solver_solve(solver, p, context, &parsed, &solution, &error));
    g_assert_no_error(error);
    g_assert_cmpint(solution.launch_count, >, 0);
    g_assert_cmpuint(solution.workspace_bytes, <=, solver_workspace_bytes(solver, p, context));
    g_assert_true(solution.flops > 0 || conv_exact_macs(p) == 0);
    g_assert_cmpfloat(solution.read_bytes, >=, 0);
    g_assert_cmpfloat(solution.write_bytes, >, 0);
    for (int i = 0; i < solution.launch_count; i++)
        launch_is_sound(solver, &solution.launches[i], context, solution.workspace_bytes);
}

/* The first configs of a space differ in its last parameters; others are drawn where kernels are run. */
#define LOOKED_AT_MOST 40

static void look_at_configs(const struct solver *solver, const struct problem *p,
                            const struct context *context)
{
    const struct space *space = solver_space(solver, p, context);
    struct perf_config config;
    struct space_walk walk;

    solver->default_config(p, context, &config);
    g_assert_true(solver_config_valid(solver, p, context, &config, NULL));
    solution_is_sound(solver, p, context, &config);
    g_assert_cmpfloat(solver->estimate(p, context), >, 0);
    if (!space)
        return;
    space_walk_init(&walk, space, p, context);
    for (int i = 0; i < LOOKED_AT_MOST && space_walk_next(&walk, &config); i++)
        solution_is_sound(solver, p, context, &config);
}

static void every_valid_config_makes_a_sound_solution(void)
{
    for_all_applicable(look_at_configs);
}

/* What is served with some bytes less than these is served with these: parts are aligned. */
static void refuses_no_more_under_a_higher_limit(const struct solver *solver,
                                                 const struct problem *p,
                                                 const struct context *context)
{
    struct context lower = *context;

    lower.workspace_limit -= MIN(lower.workspace_limit, 2 * WORKSPACE_ALIGNMENT);
    if (solver_applicable(solver, p, &lower, NULL))
        g_assert_true(solver_applicable(solver, p, context, NULL));
}

static void look_at_limits(const struct solver *solver, const struct problem *p,
                           const struct context *context)
{
    struct context limited = *context;
    struct perf_config wrong = {CONFIG_MAX, {0}};
    struct solution solution;
    g_autoptr(GError) error = NULL;
    const char *reason = NULL;
    uint64_t workspace_bytes = solver_workspace_bytes(solver, p, context);

    limited.dynamic_only = true;
    g_assert_true(solver_applicable(solver, p, &limited, &reason) == solver->dynamic);
    limited.dynamic_only = false;
    limited.workspace_limit = workspace_bytes;
    g_assert_true(solver_applicable(solver, p, &limited, &reason));
    /* With less it takes less, or refuses. */
    if (workspace_bytes > 0) {
        limited.workspace_limit = workspace_bytes - 1;
        g_assert_true(solver_applicable(solver, p, &limited, &reason) ==
                      (solver_workspace_bytes(solver, p, &limited) < workspace_bytes));
        refuses_no_more_under_a_higher_limit(solver, p, &limited);
    }
    g_assert_false(solver_solve(solver, p, context, &wrong, &solution, &error));
    g_assert_error(error, SOLVERS_ERROR, SOLVERS_ERROR_CONFIG);
}

static void limits_and_wrong_configs_are_refused(void)
{
    for_all_applicable(look_at_limits);
}

static void the_naive_solver_serves_what_others_refuse(void)
{
    const struct solver *naive = solver_find("ConvDirectNaive");
    struct context context;

    context_init(&context, &targets[0]);
    for (guint i = 0; i < problems->len; i++) {
        const struct problem *p = problems->pdata[i];
        bool is_int8 = p->type[TENSOR_X] == TYPE_INT8;
        bool is_served = !p->epilogue[0] && (!is_int8 || p->direction == DIRECTION_F);
        g_assert_true(solver_applicable(naive, p, &context, NULL) == is_served);
    }
}

static void look_at_bias(const struct solver *solver, const struct problem *p,
                         const struct context *context)
{
    struct problem with_bias = *p;
    struct perf_config config;
    struct solution plain, other;

    with_bias.bias = 1;
    g_assert_true(solver_applicable(solver, &with_bias, context, NULL));
    solver->default_config(p, context, &config);
    g_assert_true(solver_solve(solver, p, context, &config, &plain, NULL));
    g_assert_true(solver_solve(solver, &with_bias, context, &config, &other, NULL));
    g_assert_cmpmem(&plain, sizeof(plain), &other, sizeof(other));
}

/* The bias is in the key alone: a kernel of its own adds it. */
static void a_bias_changes_no_solution(void)
{
    for_all_applicable(look_at_bias);
}

/* Kernels compute positions in 32 bits. */
static void filters_that_reach_too_far_are_refused(void)
{
    static const struct {
        int64_t in, fil, pad, dilation;
        bool is_served;
    } rows[] = {
        {4, 3, 0, 1 << 10, true},
        {4, 5, 0, 1 << 30, false}, /* the last filter position is at 2^32: 0 again in 32 bits */
        {4, 3, 1 << 30, 1, false},
        {4, 2, 0, INT32_MAX, false},
    };
    struct context context;

    context_init(&context, &targets[0]);
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        struct problem p;
        problem_init(&p);
        p.in[AXIS_H] = p.in[AXIS_W] = rows[i].in;
        p.fil[AXIS_H] = rows[i].fil;
        p.pad[AXIS_H] = rows[i].pad;
        p.stride[AXIS_H] = 1 << 10;
        p.dilation[AXIS_H] = rows[i].dilation;
        problem_set_output(&p);
        g_assert_true(problem_validate(&p, NULL));
        g_assert_true(solver_applicable(solver_find("ConvDirectNaive"), &p, &context, NULL) ==
                      rows[i].is_served);
        for (int s = 0; s < solver_table_count && !rows[i].is_served; s++)
            g_assert_false(solver_applicable(solver_table[s], &p, &context, NULL));
    }
}

/* ---- fingerprints ---- */

static void hash_solution(GChecksum *sum, const struct solution *solution)
{
    g_autoptr(GString) text = g_string_new(NULL);

    g_string_append_printf(text, "%d %" G_GUINT64_FORMAT " %a %a %a\n", solution->launch_count,
                           solution->workspace_bytes, solution->flops, solution->read_bytes,
                           solution->write_bytes);
    for (int i = 0; i < solution->launch_count; i++) {
        const struct launch *launch = &solution->launches[i];
        g_string_append_printf(text, "%s %s %s %" G_GINT64_FORMAT "\n", launch->file, launch->entry,
                               launch->options, launch->local_bytes);
        for (int j = 0; j < 3; j++)
            g_string_append_printf(text, "%" G_GINT64_FORMAT "/%d ", launch->grid[j],
                                   launch->block[j]);
        for (int j = 0; j < launch->arg_count; j++)
            g_string_append_printf(text, "%d %d %" G_GINT64_FORMAT " %" G_GINT64_FORMAT " %a,",
                                   launch->args[j].kind, launch->args[j].tensor,
                                   launch->args[j].value, launch->args[j].factor,
                                   launch->args[j].real);
    }
    g_checksum_update(sum, (const guchar *)text->str, (gssize)text->len);
}

/* Of large spaces so many configs are hashed, and the solution of every so many-th of them. */
#define HASHED_MOST      2000
#define HASHED_SOLUTIONS 23

static void hash_config(GChecksum *sum, const struct solver *solver, const struct problem *p,
                        const struct context *context, const struct perf_config *config,
                        bool with_solution)
{
    char text[CONFIG_TEXT_MAX];
    struct solution solution;

    perf_config_format(config, text);
    g_checksum_update(sum, (const guchar *)text, (gssize)strlen(text) + 1);
    if (with_solution && solver_solve(solver, p, context, config, &solution, NULL))
        hash_solution(sum, &solution);
}

static void hash_problem(GChecksum *sum, const struct solver *solver, const struct problem *p,
                         const struct context *context)
{
    const struct space *space = solver_space(solver, p, context);
    struct perf_config config;
    struct space_walk walk;

    solver->default_config(p, context, &config);
    hash_config(sum, solver, p, context, &config, true);
    if (!space)
        return;
    space_walk_init(&walk, space, p, context);
    for (int i = 0; i < HASHED_MOST && space_walk_next(&walk, &config); i++)
        hash_config(sum, solver, p, context, &config, i % HASHED_SOLUTIONS == 0);
}

/* Those that serve the problem; what others do is of no matter to the hash. */
static void hash_native(GChecksum *sum, const struct solver *solver, const struct problem *p)
{
    for (gsize t = 0; t < G_N_ELEMENTS(native_target_ids); t++) {
        struct target target;
        struct context context;
        g_assert_true(target_parse(native_target_ids[t], &target, NULL));
        context_init(&context, &target);
        if (solver_applicable(solver, p, &context, NULL))
            hash_problem(sum, solver, p, &context);
    }
}

static bool serves_on(const struct solver *solver, const struct problem *p,
                      const struct target *target)
{
    struct context context;

    context_init(&context, target);
    return solver_applicable(solver, p, &context, NULL);
}

static bool serves_problem(const struct solver *solver, const struct problem *p)
{
    for (gsize t = 0; t < G_N_ELEMENTS(targets); t++) {
        if (serves_on(solver, p, &targets[t]))
            return true;
    }
    for (gsize t = 0; solver->native && t < G_N_ELEMENTS(native_target_ids); t++) {
        struct target target;
        g_assert_true(target_parse(native_target_ids[t], &target, NULL));
        if (serves_on(solver, p, &target))
            return true;
    }
    return false;
}

static bool serves_some(const struct solver *solver, guint first, guint count)
{
    for (guint i = first; i < first + count; i++) {
        if (serves_problem(solver, problems->pdata[i]))
            return true;
    }
    return false;
}

/* Else its fingerprint would stay the same whatever it does. */
static void is_of_what_each_solver_serves(void)
{
    for (int i = 0; i < solver_table_count; i++) {
        if (!serves_some(solver_table[i], 0, key_problem_count + rare_problem_count)) {
            g_test_message("%s serves none of the keys", solver_table[i]->name);
            g_test_fail();
        }
    }
}

/* A line of fingerprints.txt: name, revision, SHA-256 of the spaces and solutions over the keys. */
static char *fingerprint(const struct solver *solver)
{
    g_autoptr(GChecksum) sum = g_checksum_new(G_CHECKSUM_SHA256);
    guint count =
        key_problem_count + (serves_some(solver, 0, key_problem_count) ? 0 : rare_problem_count);

    for (guint i = 0; i < count; i++) {
        for (gsize t = 0; t < G_N_ELEMENTS(targets); t++) {
            const struct problem *p = problems->pdata[i];
            struct context context;
            char key[PROBLEM_KEY_MAX];
            context_init(&context, &targets[t]);
            problem_key(p, key);
            g_checksum_update(sum, (const guchar *)key, (gssize)strlen(key) + 1);
            if (solver_applicable(solver, p, &context, NULL))
                hash_problem(sum, solver, p, &context);
        }
        if (solver->native)
            hash_native(sum, solver, problems->pdata[i]);
    }
    return g_strdup_printf("%s %d %s", solver->name, solver->revision, g_checksum_get_string(sum));
}

static void changes_only_with_a_raised_revision(void)
{
    g_autofree char *kept = NULL;
    g_autoptr(GString) now = g_string_new(NULL);

    for (int i = 0; i < solver_table_count; i++) {
        g_autofree char *line = fingerprint(solver_table[i]);
        g_string_append_printf(now, "%s\n", line);
    }
    if (!g_file_get_contents(FINGERPRINTS, &kept, NULL, NULL) || strcmp(kept, now->str) != 0) {
        g_test_message("spaces or solutions differ from " FINGERPRINTS ". Where results may "
                       "change, raise the solver's revision; then make the file be:\n%s",
                       now->str);
        g_test_fail();
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    for (gsize i = 0; i < G_N_ELEMENTS(targets); i++) {
        g_autoptr(GError) error = NULL;
        if (!target_parse(target_ids[i], &targets[i], &error))
            g_error("%s", error->message);
    }
    make_problems();
    g_test_add_func("/solver_table/names_are_unique_and_found", names_are_unique_and_found);
    g_test_add_func("/solver_table/hashes_differ_and_are_kept", hashes_differ_and_are_kept);
    g_test_add_func("/solver_table/algorithms_are_spelled_as_find_dbs_spell_them",
                    algorithms_are_spelled_as_find_dbs_spell_them);
    g_test_add_func("/solver_table/every_valid_config_makes_a_sound_solution",
                    every_valid_config_makes_a_sound_solution);
    g_test_add_func("/solver_table/limits_and_wrong_configs_are_refused",
                    limits_and_wrong_configs_are_refused);
    g_test_add_func("/solver_table/the_naive_solver_serves_what_others_refuse",
                    the_naive_solver_serves_what_others_refuse);
    g_test_add_func("/solver_table/a_bias_changes_no_solution", a_bias_changes_no_solution);
    g_test_add_func("/solver_table/filters_that_reach_too_far_are_refused",
                    filters_that_reach_too_far_are_refused);
    g_test_add_func("/solver_table/fingerprint/is_of_what_each_solver_serves",
                    is_of_what_each_solver_serves);
    g_test_add_func("/solver_table/fingerprint/changes_only_with_a_raised_revision",
                    changes_only_with_a_raised_revision);
    return g_test_run();
}
