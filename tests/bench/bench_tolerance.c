/*
 * How much of its tolerance (worker/verify/tolerance.h) each solver uses: for each solver, data type and direction the
 * largest error of any element, divided by that element's tolerance, over problems with short and with long sums and a
 * few configs of each. It prints the table of worker/TOLERANCES.md. Inputs, reference and comparison are the
 * worker's own.
 *
 * It runs on this machine's CPU (PoCL), with solvers for GPUs emulated as far as their kernels compile there, or with
 * SKIPJACK_TEST_DEVICE=gpu on the first GPU. Arguments: names of solvers, or none for all. Status 1 if a result is
 * wrong.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "solvers/framework/solver.h"
#include "solvers/problem/problem_key.h"
#include "tests/support/kernels/conv_shapes.h"
#include "tests/support/kernels/operator_family.h"
#include "worker/verify/random.h"
#include "worker/verify/verify.h"

#define DRAWS            40 /* configs drawn to find one whose errors grow otherwise than the default's */
#define GROWTHS_MAX      4
#define OPERATOR_TRIES   3000
#define OPERATOR_TRIALS  6
#define POISON           0xff
#define TOO_LOOSE        0.01
#define SHORT_AND_LONG   2
#define LAYERS_OF_LENGTH 8

/* Layers with short sums and with long ones, of each kind that some solver is for. W's sums are over images and
 * positions, so these layers have many of them. */
static const struct conv_shape layers[SHORT_AND_LONG][LAYERS_OF_LENGTH] = {
    {{2, 16, 16, 1, 14, 14, 3, 3, 1, 1, 1},
     {2, 16, 32, 1, 14, 14, 1, 1, 0, 1, 1},
     {2, 1, 8, 1, 20, 20, 3, 3, 1, 1, 1},
     {2, 32, 32, 32, 14, 14, 3, 3, 1, 1, 1},
     {2, 32, 32, 4, 14, 14, 3, 3, 1, 1, 1},
     {1, 2, 8, 1, 40, 40, 5, 5, 2, 1, 1},
     {2, 3, 16, 1, 32, 32, 3, 3, 1, 2, 1},
     {2, 64, 64, 1, 1, 1, 1, 1, 0, 1, 1}},
    {{4, 256, 64, 1, 28, 28, 3, 3, 1, 1, 1},
     {4, 1024, 64, 1, 28, 28, 1, 1, 0, 1, 1},
     {8, 64, 32, 1, 28, 28, 3, 3, 1, 1, 1},
     {8, 32, 32, 32, 56, 56, 7, 7, 3, 1, 1},
     {4, 256, 256, 4, 28, 28, 3, 3, 1, 1, 1},
     {2, 32, 16, 1, 40, 40, 9, 9, 4, 1, 1},
     {8, 3, 64, 1, 64, 64, 7, 7, 3, 2, 1},
     {2, 4096, 256, 1, 1, 1, 1, 1, 0, 1, 1}},
};

static const enum data_type types[] = {TYPE_FP32, TYPE_FP16, TYPE_BF16,
                                       TYPE_FP64, TYPE_FP8,  TYPE_BF8};

/* One row of the table. */
struct row {
    double growth;                  /* of transformed tiles, 0 for plain sums */
    double worst[DIRECTION_COUNT];  /* NAN for a direction without a run */
    double factor[DIRECTION_COUNT]; /* the smallest per_magnitude, in units of the sums' roundoff */
    bool is_exact;                  /* no problem allows a rounding */
    int problems;
};

struct table {
    struct solution_runner *runner;
    struct context contexts[CONTEXT_COUNT];
    int context_count;
    const struct solver *solver;
    enum data_type type;
    struct row rows[GROWTHS_MAX];
    int row_count;
    int wrong, loose;
};

/* ---- a run ---- */

static void make_inputs(const struct problem *p, struct run_tensor run[OPERAND_COUNT],
                        double *dense[OPERAND_COUNT])
{
    for (int t = 0; t < OPERAND_COUNT; t++) {
        enum tensor_role role = (enum tensor_role)t;
        struct tensor tensor;
        tensor_init(&tensor, p, role);
        if (!tensor_exists(&tensor))
            continue;
        run[t].bytes = (gsize)tensor_bytes(&tensor);
        run[t].data = g_malloc0(run[t].bytes);
        problem_packed_strides(p, role, run[t].strides);
        if (role == problem_output_role(p)) {
            memset(run[t].data, POISON, run[t].bytes);
            continue;
        }
        dense[t] = random_dense(p, &tensor, role, 1);
        tensor_from_dense(&tensor, dense[t], run[t].data);
    }
}

static struct row *row_of(struct table *table, const struct solution *solution)
{
    double growth = solution->rounding.growth;

    for (int i = 0; i < table->row_count; i++) {
        if (fabs(table->rows[i].growth - growth) <= 1e-9)
            return &table->rows[i];
    }
    /* The growth of a Fourier transform has as many values as there are sizes of filters: they share a row. */
    if (table->row_count == GROWTHS_MAX || (table->row_count > 0 && growth < 0.5))
        return &table->rows[table->row_count - 1];
    struct row *row = &table->rows[table->row_count++];
    *row = (struct row){.growth = growth, .worst = {NAN, NAN, NAN}, .is_exact = true};
    return row;
}

static void note(struct table *table, const struct problem *p, const struct solution *solution,
                 const struct tolerance *tolerance, const struct verdict *verdict)
{
    struct row *row = row_of(table, solution);
    double unit = table->type == TYPE_FP64 ? 0x1p-53 : 0x1p-24;
    double factor = tolerance->per_magnitude / unit;

    row->factor[p->direction] =
        isnan(row->worst[p->direction]) ? factor : fmin(row->factor[p->direction], factor);
    row->worst[p->direction] = fmax(row->worst[p->direction], verdict->error);
    row->is_exact = row->is_exact && tolerance->per_magnitude <= 0 && tolerance->per_value <= 0;
    row->problems++;
    if (verdict->failure != FAILURE_NONE) {
        char key[PROBLEM_KEY_MAX];
        fprintf(stderr, "%s, %s: %s\n", table->solver->name, problem_key(p, key), verdict->detail);
        table->wrong++;
    }
}

static void run_solution(struct table *table, const struct problem *p,
                         const struct solution *solution)
{
    struct run_tensor run[OPERAND_COUNT] = {0};
    double *dense[OPERAND_COUNT] = {NULL};
    enum tensor_role out = problem_output_role(p);
    g_autoptr(GError) error = NULL;
    struct tolerance tolerance;
    struct verdict verdict;
    struct tensor tensor;

    make_inputs(p, run, dense);
    struct reference *reference =
        reference_compute(p, (const double *const *)dense, (int)g_get_num_processors(), 0, &error);
    if (!reference)
        g_error("%s", error->message);
    solution_run(table->runner, solution, run, 1);
    tensor_init(&tensor, p, out);
    tolerance_init(&tolerance, p, &solution->rounding, reference->length);
    verify_output(&tensor, run[out].data, POISON, reference, &tolerance, &verdict);
    note(table, p, solution, &tolerance, &verdict);
    reference_unref(reference);
    for (int t = 0; t < OPERAND_COUNT; t++) {
        g_free(run[t].data);
        g_free(dense[t]);
    }
}

/* ---- the problems and configs of a solver ---- */

static bool solve(const struct table *table, const struct problem *p, const struct context *context,
                  const struct perf_config *config, struct solution *solution)
{
    return solver_solve(table->solver, p, context, config, solution, NULL);
}

/* A number that differs between solutions whose transforms differ. */
static double kind_of(const struct solution *solution)
{
    return solution->rounding.growth + 1000 * solution->rounding.roundings;
}

/* Runs the default config, and for transformed tiles one config of each other transform that some draws find. */
static void run_problem(struct table *table, const struct problem *p, const struct context *context)
{
    const struct space *space = solver_space(table->solver, p, context);
    double seen[GROWTHS_MAX] = {0};
    struct perf_config config;
    struct solution solution;
    uint64_t state = 1;
    int count = 1;

    table->solver->default_config(p, context, &config);
    if (!solve(table, p, context, &config, &solution))
        return;
    run_solution(table, p, &solution);
    seen[0] = kind_of(&solution);
    for (int i = 0; solution.rounding.transforms && space && i < DRAWS && count < GROWTHS_MAX;
         i++) {
        bool is_new = space_draw(space, p, context, &state, &config) &&
                      solve(table, p, context, &config, &solution);
        for (int k = 0; k < count; k++)
            is_new = is_new && fabs(seen[k] - kind_of(&solution)) > 1e-9;
        if (!is_new)
            continue;
        seen[count++] = kind_of(&solution);
        run_solution(table, p, &solution);
    }
}

/* The first context in which the solver serves the problem; kernels with a target's own instructions run on this
 * device alone. */
static const struct context *context_for(const struct table *table, const struct problem *p)
{
    int count = table->solver->native ? 1 : table->context_count;

    for (int i = 0; i < count; i++) {
        if (solver_applicable(table->solver, p, &table->contexts[i], NULL))
            return &table->contexts[i];
    }
    return NULL;
}

static void set_types(struct problem *p, enum data_type type)
{
    for (int t = 0; t < TENSOR_COUNT; t++)
        p->type[t] = type;
}

/* Runs the first two layers of this length that the solver serves in any layout. */
static void run_layers(struct table *table, enum direction direction, int length)
{
    int found = 0;

    for (int i = 0; i < LAYERS_OF_LENGTH && found < 2; i++) {
        for (int layout = 0; layout < LAYOUT_COUNT; layout++) {
            const struct context *context;
            struct problem p;
            conv_shape_problem(&layers[length][i], direction, (enum layout)layout, &p);
            set_types(&p, table->type);
            context = problem_validate(&p, NULL) ? context_for(table, &p) : NULL;
            if (!context)
                continue;
            run_problem(table, &p, context);
            found++;
            break;
        }
    }
}

/* Runs random problems of an operator other than a convolution. */
static void run_operators(struct table *table)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(1);
    int found = 0;

    for (int i = 0; i < OPERATOR_TRIES && found < OPERATOR_TRIALS; i++) {
        const struct context *context;
        struct problem p;
        operator_random_problem(random, table->solver->kind, false, &p);
        set_types(&p, table->type);
        if (problem_is_strided(&p) || !problem_validate(&p, NULL))
            continue;
        context = context_for(table, &p);
        if (!context)
            continue;
        run_problem(table, &p, context);
        found++;
    }
}

/* ---- the table ---- */

static void print_share(double share, bool is_exact, bool *loose)
{
    *loose = *loose || (share < TOO_LOOSE && !is_exact);
    if (isnan(share))
        printf(" |");
    else if (is_exact && share <= 0)
        printf(" exact |");
    else
        printf(" %.3f |", share);
}

static void print_row(struct table *table, const struct row *row)
{
    double factor = INFINITY;
    bool loose = false;

    for (int d = 0; d < DIRECTION_COUNT; d++) {
        if (!isnan(row->worst[d]))
            factor = fmin(factor, row->factor[d]);
    }
    printf("| %s | %s |", table->solver->name, data_type_name(table->type));
    printf(row->growth > 0 ? " %.2f |" : " |", row->growth);
    printf(" %.3g |", factor);
    for (int d = 0; d < DIRECTION_COUNT; d++)
        print_share(row->worst[d], row->is_exact, &loose);
    printf(" %d | %s |\n", row->problems, loose ? "less than a hundredth" : "");
    fflush(stdout);
    table->loose += loose;
}

static void tabulate(struct table *table, const struct solver *solver, enum data_type type)
{
    table->solver = solver;
    table->type = type;
    table->row_count = 0;
    if (solver->kind != OP_CONV)
        run_operators(table);
    for (int d = 0; d < DIRECTION_COUNT && solver->kind == OP_CONV; d++) {
        for (int length = 0; length < SHORT_AND_LONG; length++)
            run_layers(table, (enum direction)d, length);
    }
    for (int i = 0; i < table->row_count; i++)
        print_row(table, &table->rows[i]);
}

static bool is_wanted(const struct solver *solver, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], solver->name) == 0)
            return true;
    }
    return argc == 1;
}

int main(int argc, char **argv)
{
    bool on_gpu = g_strcmp0(g_getenv("SKIPJACK_TEST_DEVICE"), "gpu") == 0;
    g_autoptr(TempFolder) folder = temp_folder_new();
    struct table table = {.context_count = on_gpu ? 1 : CONTEXT_COUNT};
    struct target targets[CONTEXT_COUNT];

    table.runner = conv_contexts_init(folder, targets, table.contexts);
    if (!table.runner) {
        fprintf(stderr, "bench_tolerance: there is no %s on this machine\n",
                on_gpu ? "GPU" : "PoCL");
        return 1;
    }
    printf("On %s:\n\n", targets[CONTEXT_HOST].id);
    printf("| solver | type | growth | least factor | F | B | W | runs | |\n");
    printf("|---|---|---|---|---|---|---|---|---|\n");
    for (int s = 0; s < solver_table_count; s++) {
        for (gsize t = 0; t < G_N_ELEMENTS(types) && is_wanted(solver_table[s], argc, argv); t++)
            tabulate(&table, solver_table[s], types[t]);
    }
    printf("\n%d wrong results, %d rows use less than a hundredth of a tolerance\n", table.wrong,
           table.loose);
    solution_runner_free(table.runner);
    return table.wrong > 0;
}
