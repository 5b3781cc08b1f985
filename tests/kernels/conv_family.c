/* Runs one solver of the table through PoCL (or on a GPU) on random problems of every type, layout
 * and direction that the solver claims, and compares with a sum in double precision. The configs
 * are the solver's defaults for this CPU and for GPUs, and draws from its spaces for each of these;
 * a solution is data, so a GPU's solution runs on the CPU, too. Problems are drawn from the seed of
 * the day; half of them are strided where the solver makes a solution for each problem's strides.
 * Claims in FP32 and NCHW are tested every day, all others on one of CLAIM_DAYS days, or on every
 * day in the long suite. The program takes the solver from its own name (a link to it) or from its
 * first argument; --solvers lists the table. */
#include <string.h>

#include "solvers/framework/solver.h"
#include "tests/support/kernels/conv_kinds.h"
#include "tests/support/kernels/conv_shapes.h"
#include "tests/support/kernels/operator_family.h"
#include "tests/support/kernels/pocl_leaks.h"
#include "tests/support/kernels/random_epilogue.h"
#include "tests/support/random_problem.h"
#include "tests/support/test_effort.h"

/* In kernels with barriers PoCL computes one work-item after the other, which is slow: problems are small. */
#define TRIAL_MACS     1.5e6
#define PROBLEMS       3
#define PROBLEMS_LONG  30
#define CLAIM_DAYS     8
#define EPILOGUES      2
#define EPILOGUE_DAYS  18
/* most random problems drawn to find one that the solver serves */
#define PROBLEM_TRIES  400
#define EPILOGUE_TRIES 20

static struct target targets[CONTEXT_COUNT];
static struct context contexts[CONTEXT_COUNT];
static struct solution_runner *runner;
static const struct solver *solver;

/* The configs drawn for all claims with one direction and set of types (or TF32). Kernels seldom depend on
 * layouts, so configs compiled for one layout are used for the other layouts, too. */
struct draws {
    int turn;       /* number of this direction and set of types, which decides the day */
    uint64_t state; /* random state for space_draw() */
    struct perf_config kept[CONTEXT_COUNT];
    bool is_kept[CONTEXT_COUNT];
};

/* A combination of direction, layout and type that the solver serves (claims). */
struct claim {
    struct conv_cell cell;
    unsigned kinds; /* mask of the problem kinds (conv_kinds.h) that are served */
    int home;       /* index of the first context in which the claim is served */
    int number;     /* its index among the solver's claims */
    struct draws *draws;
};

static bool is_plain_fp32(const struct conv_cell *cell)
{
    return cell->type[TENSOR_X] == TYPE_FP32 && cell->type[TENSOR_W] == TYPE_FP32 &&
           (cell->layout[0] == LAYOUT_NCHW || cell->layout[0] == LAYOUT_NCDHW);
}

/* Whether the tensors differ in layout or type. */
static bool is_mixed(const struct conv_cell *cell)
{
    bool same_types =
        cell->type[TENSOR_X] == cell->type[TENSOR_W] &&
        (cell->type[TENSOR_X] == cell->type[TENSOR_Y] || cell->type[TENSOR_X] == TYPE_INT8);

    return !same_types || cell->layout[TENSOR_X] != cell->layout[TENSOR_W] ||
           cell->layout[TENSOR_X] != cell->layout[TENSOR_Y];
}

static bool is_usual_layout(enum layout layout)
{
    return layout == LAYOUT_NCHW || layout == LAYOUT_NHWC || layout == LAYOUT_NCDHW;
}

/* The number of problems for a claim. A dynamic kernel in plain FP32 gets one problem of each kind,
 * since running a compiled kernel is cheap; other claims get fewer, since PoCL compiles a kernel
 * for each. */
static int problems_of(const struct claim *claim)
{
    bool is_slow = context_is_cpu(&contexts[CONTEXT_HOST]);
    enum layout layout = claim->cell.layout[TENSOR_X];
    bool is_rare = is_slow && layout != LAYOUT_NCHW && layout != LAYOUT_NHWC;
    bool is_fp32 = claim->cell.type[TENSOR_X] == TYPE_FP32;

    if (test_is_long())
        return PROBLEMS_LONG;
    if (is_mixed(&claim->cell) || is_rare || (is_slow && !is_fp32))
        return 1;
    return is_plain_fp32(&claim->cell) && solver->dynamic ? conv_kind_count() : PROBLEMS;
}

/* The n-th kind of the mask; n counts on from the first after the last. */
static int nth_kind(unsigned kinds, int n)
{
    int count = __builtin_popcount(kinds), kind = 0;

    for (n %= count;; kind++) {
        if ((kinds >> kind & 1) != 0 && n-- == 0)
            return kind;
    }
}

/* The index of the context whose config is drawn for problem i of a claim. PoCL compiles GPUs'
 * configs two or three times as long, so they come every second time, and only in the most common
 * layouts. */
static int drawn_context(const struct claim *claim, int i)
{
    static const int turns[] = {CONTEXT_HOST, CONTEXT_AMD, CONTEXT_HOST, CONTEXT_NVIDIA};

    if (!is_usual_layout(claim->cell.layout[TENSOR_X]) && !test_is_long())
        return CONTEXT_HOST;
    return turns[(gsize)(claim->draws->turn + i / PROBLEMS) % G_N_ELEMENTS(turns)];
}

/* False if a config is already compiled that is not valid for this problem: another problem may
 * allow using it. */
static bool suits_what_is_kept(const struct claim *claim, int i, const struct problem *p)
{
    int which = drawn_context(claim, i);
    const struct draws *draws = claim->draws;

    if (i % PROBLEMS != 1 || !solver->dynamic || !draws->is_kept[which])
        return true;
    return solver_applicable(solver, p, &contexts[which], NULL) &&
           solver_config_valid(solver, p, &contexts[which], &draws->kept[which], NULL);
}

/* Finds a problem that the solver serves in the claim's own context. Kinds and sizes alternate
 * between claims and between problems; if no problem of a kind is served, the next kind is
 * tried. */
static bool find_problem(const struct claim *claim, int i, GRand *random, struct problem *p)
{
    for (int try = 0; try < PROBLEM_TRIES; try++) {
        int turn = PROBLEMS * claim->number + i + try / 8;
        enum conv_sizes sizes = (enum conv_sizes)((i + try / 8) % CONV_SIZES_COUNT);
        conv_kind_problem(random, nth_kind(claim->kinds, turn), sizes, &claim->cell, TRIAL_MACS, p);
        if (solver->own_strides && g_rand_boolean(random))
            random_conv_strides(random, p);
        if (problem_validate(p, NULL) &&
            solver_applicable(solver, p, &contexts[claim->home], NULL) &&
            (suits_what_is_kept(claim, i, p) || try >= PROBLEM_TRIES / 2))
            return true;
    }
    return false;
}

/* Draws a config of the problem's space, preferring one that is already compiled and valid for this
 * problem. Returns false if the solver does not serve the problem in that context, or the space is
 * empty. */
static bool draw_config(struct draws *draws, const struct problem *p, int which,
                        struct perf_config *config)
{
    const struct context *context = &contexts[which];
    const struct space *space;

    if (!solver_applicable(solver, p, context, NULL))
        return false;
    space = solver_space(solver, p, context);
    if (draws->is_kept[which] && solver->dynamic &&
        solver_config_valid(solver, p, context, &draws->kept[which], NULL)) {
        *config = draws->kept[which];
        return true;
    }
    if (!space || !space_draw(space, p, context, &draws->state, config))
        return false;
    draws->kept[which] = *config;
    draws->is_kept[which] = true;
    return true;
}

static void check_default(struct conv_trial *trial, int which)
{
    struct perf_config config;

    if (!solver_applicable(solver, &trial->p, &contexts[which], NULL))
        return;
    solver->default_config(&trial->p, &contexts[which], &config);
    conv_trial_check(trial, runner, solver, &contexts[which], &config);
}

/* Checks a drawn config in context `which`. Where the solver does not serve the problem there, the
 * claim's own context is used; where no config can be drawn, its default. */
static void check_draw(const struct claim *claim, struct conv_trial *trial, int which)
{
    struct perf_config config;

    if (!draw_config(claim->draws, &trial->p, which, &config)) {
        which = claim->home;
        if (!draw_config(claim->draws, &trial->p, which, &config)) {
            check_default(trial, which);
            return;
        }
    }
    g_assert_true(solver_config_valid(solver, &trial->p, &contexts[which], &config, NULL));
    conv_trial_check(trial, runner, solver, &contexts[which], &config);
}

/* Compiling takes most of the time, so problems share configs: a dynamic kernel is compiled once
 * for a config, other kernels once for a problem. FP32 gets additional runs: a GPU's default, a
 * second draw, and the first default compiled with a worker's options. */
static void check_problem(const struct claim *claim, struct conv_trial *trial, int i)
{
    int place = i % PROBLEMS, which = drawn_context(claim, i);

    solution_runner_hurry(runner, i > 0 || !is_plain_fp32(&claim->cell));
    if (place != 1 || solver->dynamic)
        check_default(trial, claim->home);
    solution_runner_hurry(runner, true);
    if (i >= PROBLEMS && !test_is_long())
        return;
    if (place == 1)
        check_draw(claim, trial, which);
    if (!is_plain_fp32(&claim->cell))
        return;
    if (place == 0)
        check_default(trial, CONTEXT_AMD);
    if (place == 1)
        check_draw(claim, trial, which == CONTEXT_HOST ? CONTEXT_NVIDIA : CONTEXT_HOST);
    if (place == 2)
        check_default(trial, CONTEXT_NVIDIA);
}

static void claim_is_right(gconstpointer data)
{
    const struct claim *claim = data;
    g_autoptr(GRand) random = g_rand_new_with_seed(test_seed() * 1000 + (guint32)claim->number);

    for (int i = 0; i < problems_of(claim); i++) {
        enum trial_strides strides = (enum trial_strides)((i + claim->number) % (TRIAL_SPREAD + 1));
        struct problem p;
        struct conv_trial trial;
        if (!find_problem(claim, i, random, &p)) {
            g_test_message("no problem that %s serves was found again", solver->name);
            g_test_fail();
            break;
        }
        conv_trial_init(&trial, &p, solver->any_strides ? strides : TRIAL_PACKED, random);
        check_problem(claim, &trial, i);
        conv_trial_clear(&trial);
    }
}

/* ---- epilogues ---- */

/* The number of epilogues tried for a claim; PoCL compiles a kernel for each. */
static int epilogues_of(const struct claim *claim)
{
    if (test_is_long())
        return PROBLEMS_LONG;
    return is_plain_fp32(&claim->cell) ? EPILOGUES : 1;
}

/* Finds a problem with an epilogue that the solver serves in the claim's own context. */
static bool find_epilogue(const struct claim *claim, int i, GRand *random, struct problem *p)
{
    for (int try = 0; try < EPILOGUE_TRIES; try++) {
        g_autoptr(GError) error = NULL;
        if (!find_problem(claim, i, random, p) || !random_epilogue(random, solver->epilogues, p))
            continue;
        random_residual_follows(p);
        problem_validate(p, &error);
        g_assert_no_error(error);
        if (solver_applicable(solver, p, &contexts[claim->home], NULL))
            return true;
    }
    return false;
}

/* The default config and one of the space, each with epilogues of the classes that the solver says it does. */
static void epilogues_are_right(gconstpointer data)
{
    const struct claim *claim = data;
    g_autoptr(GRand) random =
        g_rand_new_with_seed(test_seed() * 1000 + (guint32)claim->number + 500);

    solution_runner_hurry(runner, true);
    for (int i = 0; i < epilogues_of(claim); i++) {
        enum trial_strides strides = (enum trial_strides)((i + claim->number) % (TRIAL_SPREAD + 1));
        struct problem p;
        struct conv_trial trial;
        if (!find_epilogue(claim, i, random, &p)) {
            g_test_message("no problem with an epilogue that %s serves was found", solver->name);
            g_test_fail();
            break;
        }
        conv_trial_init(&trial, &p, solver->any_strides ? strides : TRIAL_PACKED, random);
        if (i % 2 == 0)
            check_default(&trial, claim->home);
        else
            check_draw(claim, &trial, drawn_context(claim, i));
        conv_trial_clear(&trial);
    }
}

/* ---- strides ---- */

/* A solution that is compiled once gives right results for packed, padded and spread tensors. */
static void one_binary_serves_all_strides(gconstpointer data)
{
    const struct claim *claim = data;
    const struct context *context = &contexts[claim->home];
    g_autoptr(GRand) random = g_rand_new_with_seed(3);
    struct perf_config config;
    struct solution solution;
    struct problem p;
    int compiled = 0, after;

    g_assert_true(find_problem(claim, 1, random, &p));
    solver->default_config(&p, context, &config);
    g_assert_true(solver_solve(solver, &p, context, &config, &solution, NULL));
    for (int strides = TRIAL_PACKED; strides <= TRIAL_SPREAD; strides++) {
        struct conv_trial trial;
        conv_trial_init(&trial, &p, (enum trial_strides)strides, random);
        conv_trial_run(&trial, runner, &solution);
        g_assert_cmpint(conv_trial_wrong(&trial, &solution.rounding, NULL), ==, 0);
        g_assert_cmpint(conv_trial_stray(&trial), ==, 0);
        conv_trial_clear(&trial);
        solution_runner_compile_seconds(runner, &after);
        if (strides != TRIAL_PACKED)
            g_assert_cmpint(after, ==, compiled);
        compiled = after;
    }
}

/* ---- the program ---- */

/* Finds the draws for the cell's direction and types; makes them at the first use. */
static struct draws *find_draws(GHashTable *all, const struct conv_cell *cell)
{
    int key = 2 * (int)cell->direction + cell->tf32;
    struct draws *draws;

    for (int t = 0; t < TENSOR_COUNT; t++)
        key = key * DATA_TYPE_COUNT + (int)cell->type[t];
    draws = g_hash_table_lookup(all, GINT_TO_POINTER(key));
    if (!draws) {
        draws = g_new0(struct draws, 1);
        draws->turn = (int)g_hash_table_size(all);
        draws->state = (uint64_t)test_seed() * 1000 + (uint64_t)draws->turn;
        g_hash_table_insert(all, GINT_TO_POINTER(key), draws);
    }
    return draws;
}

/* Whether the claim is tested today. Claims are ordered by direction, type and layout; the day
 * shifts by one after each CLAIM_DAYS claims, so that each day gets some of each. On a GPU, which
 * compiles fast, all claims are tested. */
static bool is_due(const struct claim *claim)
{
    bool is_daily = is_plain_fp32(&claim->cell) && claim->cell.layout[0] == LAYOUT_NCHW;

    return is_daily || !context_is_cpu(&contexts[CONTEXT_HOST]) ||
           test_is_turn(claim->number + claim->number / CLAIM_DAYS, CLAIM_DAYS);
}

/* Whether the claim's epilogues are tested today: PoCL takes seconds for each kernel with one, so on a CPU those of the
 * first claim are tested every day, and of all others on one of EPILOGUE_DAYS days. */
static bool epilogue_is_due(const struct claim *claim)
{
    return claim->number == 0 || !context_is_cpu(&contexts[CONTEXT_HOST]) ||
           test_is_turn(claim->number + claim->number / EPILOGUE_DAYS, EPILOGUE_DAYS);
}

/* Returns the solver's claims; they point into `draws`. */
static GArray *find_claims(GHashTable *draws)
{
    GArray *claims = g_array_new(FALSE, TRUE, sizeof(struct claim));

    for (int i = 0; i < conv_cell_count(); i++) {
        struct claim claim = {.number = (int)claims->len};
        conv_cell_at(i, &claim.cell);
        for (int home = 0; home < CONTEXT_COUNT && claim.kinds == 0; home++) {
            claim.home = home;
            claim.kinds = conv_kinds_served(solver, &claim.cell, &contexts[home], 1);
        }
        if (claim.kinds == 0)
            continue;
        claim.draws = find_draws(draws, &claim.cell);
        g_array_append_val(claims, claim);
    }
    return claims;
}

static void add_claim(const struct claim *claim, GTestDataFunc test, const char *what)
{
    char name[CONV_CELL_NAME_MAX];
    g_autofree char *path = NULL;

    conv_cell_name(&claim->cell, name);
    path =
        g_strdup_printf("/conv_family/%s/%s_%s", solver->name, what, g_strdelimit(name, " ", '_'));
    g_test_add_data_func(path, claim, test);
}

static void add_tests(const GArray *claims)
{
    unsigned directions = 0;

    for (guint i = 0; i < claims->len; i++) {
        const struct claim *claim = &g_array_index(claims, struct claim, i);
        unsigned direction = 1u << claim->cell.direction;
        if (epilogue_is_due(claim) && solver->epilogues != 0 &&
            claim->cell.direction <= (solver->epilogues_forward ? DIRECTION_F : DIRECTION_B) &&
            claim->cell.type[TENSOR_X] != TYPE_FP64)
            add_claim(claim, epilogues_are_right, "does_epilogues_of");
        if (!is_due(claim))
            continue;
        add_claim(claim, claim_is_right, "is_right_for");
        if (solver->any_strides && (directions & direction) == 0)
            add_claim(claim, one_binary_serves_all_strides, "one_binary_serves_all_strides_of");
        directions |= direction;
    }
}

/* Returns why the solver cannot run here, NULL if it can. */
static const char *no_device_for_it(const GArray *claims)
{
    bool at_home = false;

    for (guint i = 0; i < claims->len; i++)
        at_home = at_home || g_array_index(claims, struct claim, i).home == CONTEXT_HOST;
    if (solver->native && !at_home)
        return "its kernels have another device's instructions: make gpu-test runs it there";
    if (claims->len == 0 && contexts[CONTEXT_HOST].target->vendor != VENDOR_CPU)
        return "it serves CPUs alone";
    return NULL;
}

static int run_family(void)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    g_autoptr(GHashTable) draws = g_hash_table_new_full(NULL, NULL, NULL, g_free);
    g_autoptr(GArray) claims = NULL;
    double seconds;
    int status, kernels;

    runner = conv_contexts_init(folder, targets, contexts);
    if (!runner) {
        g_print("1..0 # SKIP there is no such device on this machine\n");
        return 0;
    }
    if (solver->kind != OP_CONV) {
        operator_family_add(solver, runner, contexts);
        status = g_test_run();
        solution_runner_free(runner);
        return status;
    }
    claims = find_claims(draws);
    if (no_device_for_it(claims)) {
        g_print("1..0 # SKIP %s: %s\n", solver->name, no_device_for_it(claims));
        return 0;
    }
    if (claims->len == 0)
        g_error("%s serves none of the problems that it was asked about", solver->name);
    add_tests(claims);
    status = g_test_run();
    seconds = solution_runner_compile_seconds(runner, &kernels);
    g_print("# %s: %u claims, %d kernels compiled in %.0f s\n", solver->name, claims->len, kernels,
            seconds);
    solution_runner_free(runner);
    return status;
}

static int list_solvers(void)
{
    for (int i = 0; i < solver_table_count; i++)
        g_print("%s\n", solver_table[i]->name);
    return 0;
}

int main(int argc, char **argv)
{
    g_autofree char *name = g_path_get_basename(argv[0]);
    const char *wanted = name;

    if (argc == 2 && strcmp(argv[1], "--solvers") == 0)
        return list_solvers();
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    if (argc == 2)
        wanted = argv[1];
    solver = solver_find(wanted);
    if (!solver) {
        g_printerr("the solver table has no '%s': say one of --solvers\n", wanted);
        return 2;
    }
    return run_family();
}
