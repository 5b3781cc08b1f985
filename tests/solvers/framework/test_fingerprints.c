/* fingerprints.txt has a hash of each solver's spaces and solutions. A changed hash is allowed only
 * if the solver's revision was raised. */
#include <string.h>

#include "solvers/framework/solver.h"
#include "solvers/problem/problem_key.h"
#include "tests/support/table_problems.h"
#include "tests/support/test_effort.h"

#define FINGERPRINTS "tests/solvers/framework/fingerprints.txt"

/* Further targets for solvers whose kernels have instructions of some GPUs only. */
static const char *const native_target_ids[] = {"gfx1100_48", "gfx1201_64", "gfx94268"};

static GPtrArray *common, *rare, *operators; /* struct problem * */
static struct target targets[TABLE_TARGETS];

static void hash_solution(GChecksum *sum, const struct solution *solution)
{
    g_autoptr(GString) text = g_string_new(NULL);

    g_string_append_printf(text, "%d %" G_GUINT64_FORMAT " %a %a %a\n", solution->launch_count,
                           solution->workspace_bytes, solution->flops, solution->read_bytes,
                           solution->write_bytes);
    if (solution->pack_count > 0)
        g_string_append_printf(text, "%d %" G_GUINT64_FORMAT " packed\n", solution->pack_count,
                               solution->packed_bytes);
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

/* Most configs of a space that are hashed; of every HASHED_SOLUTIONS-th config the solution is
 * hashed, too. */
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

/* Adds the native targets that the solver serves to the hash; a target that it does not serve
 * leaves the hash unchanged. */
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
    for (gsize t = 0; t < TABLE_TARGETS; t++) {
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

static bool serves_some(const struct solver *solver, const GPtrArray *problems)
{
    for (guint i = 0; i < problems->len; i++) {
        if (serves_problem(solver, problems->pdata[i]))
            return true;
    }
    return false;
}

/* A solver that serves none of the keys would have a constant fingerprint. */
static void cover_problems_of_each_solver(void)
{
    for (int i = 0; i < solver_table_count; i++) {
        if (!serves_some(solver_table[i], common) && !serves_some(solver_table[i], rare) &&
            !serves_some(solver_table[i], operators)) {
            g_test_message("%s serves none of the keys", solver_table[i]->name);
            g_test_fail();
        }
    }
}

static void hash_problems(GChecksum *sum, const struct solver *solver, const GPtrArray *problems)
{
    for (guint i = 0; i < problems->len; i++) {
        for (gsize t = 0; t < TABLE_TARGETS; t++) {
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
}

/* Returns the solver's line of fingerprints.txt: name, revision, SHA-256 of spaces and solutions
 * over all keys. */
static char *fingerprint(const struct solver *solver)
{
    g_autoptr(GChecksum) sum = g_checksum_new(G_CHECKSUM_SHA256);

    if (solver->kind == OP_CONV) {
        hash_problems(sum, solver, common);
        if (!serves_some(solver, common))
            hash_problems(sum, solver, rare);
    } else {
        hash_problems(sum, solver, operators);
    }
    return g_strdup_printf("%s %d %s", solver->name, solver->revision, g_checksum_get_string(sum));
}

/* Checks all solvers or, under a sanitizer, some of them, others each day. */
static void change_only_with_a_raised_revision(void)
{
    g_autofree char *kept = NULL;
    g_autoptr(GString) now = g_string_new(NULL);
    bool is_kept = g_file_get_contents(FINGERPRINTS, &kept, NULL, NULL);

    for (int i = 0; i < solver_table_count; i++) {
        if (!test_is_case(i))
            continue;
        g_autofree char *line = fingerprint(solver_table[i]);
        is_kept = is_kept && strstr(kept, line);
        g_string_append_printf(now, "%s\n", line);
    }
    if (!is_kept || (!test_is_sanitized() && strcmp(kept, now->str) != 0)) {
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
    table_targets(targets);
    common = table_problems_common();
    rare = table_problems_rare();
    operators = table_problems_operators();
    g_test_add_func("/fingerprints/cover_problems_of_each_solver", cover_problems_of_each_solver);
    g_test_add_func("/fingerprints/change_only_with_a_raised_revision",
                    change_only_with_a_raised_revision);
    return g_test_run();
}
