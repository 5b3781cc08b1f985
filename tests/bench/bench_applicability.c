/*
 * How long a solver takes to say whether it serves a problem. Half of the random problems have small numbers, half
 * have numbers of several digits; half are plain, half use all fields of a key; half have any shape, half have
 * small filters without stride.
 *
 * A question is repeated until the clock's own time no longer matters (the benchmark prints that time and does not
 * subtract it), so the solver's data and branches are warm. The row "in passing" asks the whole table once a problem,
 * with cold data. A solver that serves a problem checks all its rules, one that refuses may stop at the first: the
 * median of served problems is printed beside the median of all.
 */
#include "solvers/framework/solver.h"
#include "tests/support/random_problem.h"

#include <math.h>
#include <stdio.h>
#include <time.h>

#define PROBLEMS    10000
#define REPETITIONS 100
#define SEED        20

#define GOAL_SOLVER_NS 1000.0
#define GOAL_TABLE_NS  10000.0

static const char *const target_ids[] = {"gfx90a68", "sm_90_132_80g", "cpu-skylake-avx512_2"};

static struct target targets[G_N_ELEMENTS(target_ids)];
static struct problem problems[PROBLEMS];
static double times_ns[PROBLEMS];  /* by problem */
static double served_ns[PROBLEMS]; /* times in ns of the problems that the solver serves */

static double now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static void be_plain(struct random_limits *limits)
{
    limits->types = 1u << TYPE_FP32 | 1u << TYPE_FP16 | 1u << TYPE_BF16 | 1u << TYPE_INT8;
    limits->layouts = 1u << LAYOUT_NCHW | 1u << LAYOUT_NHWC | 1u << LAYOUT_NCDHW;
    limits->mixed_layouts = limits->mixed_types = limits->casts = false;
    random_limits_nameable(limits);
}

/* Small numbers in all fields that a key has. */
static void be_small(struct random_limits *limits)
{
    struct random_limits small;
    random_limits_small(&small);
    limits->max_batch = small.max_batch;
    limits->max_channels = small.max_channels;
    limits->max_size = small.max_size;
    limits->max_filter = small.max_filter;
    limits->max_groups = small.max_groups;
    limits->max_pad = small.max_pad;
    limits->max_stride = small.max_stride;
    limits->max_dilation = small.max_dilation;
}

/* Shapes as in most layers of networks. */
static void be_usual(struct random_limits *limits)
{
    limits->max_filter = 3;
    limits->max_stride = limits->max_dilation = 1;
    limits->outside = false;
}

static void make_problems(void)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(SEED);
    for (int i = 0; i < PROBLEMS; i++) {
        struct random_limits limits;
        random_limits_wide(&limits);
        if (i & 1)
            be_plain(&limits);
        if (i & 2)
            be_small(&limits);
        if (i & 4)
            be_usual(&limits);
        random_problem(random, &limits, &problems[i]);
    }
}

static gint compare_times(gconstpointer a, gconstpointer b, gpointer unused)
{
    double one = *(const double *)a, other = *(const double *)b;
    (void)unused;
    return (one > other) - (one < other);
}

/* The value below which the fraction `part` of the times is; sorts the times. */
static double quantile(double *times, int count, double part)
{
    if (count == 0)
        return NAN;
    g_qsort_with_data(times, count, sizeof times[0], compare_times, NULL);
    return times[MIN((int)(count * part), count - 1)];
}

/* Prints a row; returns whether its median is within the goal. */
static bool print_row(const char *name, int served, double goal_ns)
{
    double median = quantile(times_ns, PROBLEMS, 0.5);
    printf("%-24s  %9.3f  %9.3f  %9.3f  %5.1f %%  %12.3f  %5.1f %s\n", name, median / 1000,
           quantile(times_ns, PROBLEMS, 0.99) / 1000, quantile(times_ns, PROBLEMS, 1) / 1000,
           100.0 * served / PROBLEMS, quantile(served_ns, served, 0.5) / 1000, goal_ns / 1000,
           median <= goal_ns ? "met" : "missed");
    return median <= goal_ns;
}

/* Measures how long asking solvers first .. end-1 takes, for each problem; returns how many
 * problems one of them serves. */
static int measure(int first, int end, int repetitions)
{
    int served = 0;
    for (int i = 0; i < PROBLEMS; i++) {
        struct context context;
        int serving = 0;
        context_init(&context, &targets[(gsize)i / 8 % G_N_ELEMENTS(targets)]);
        double start = now_ns();
        for (int r = 0; r < repetitions; r++) {
            for (int s = first; s < end; s++)
                serving += solver_applicable(solver_table[s], &problems[i], &context, NULL);
        }
        times_ns[i] = (now_ns() - start) / repetitions;
        if (serving > 0)
            served_ns[served++] = times_ns[i];
    }
    return served;
}

static double clock_ns(void)
{
    double start = now_ns(), last = start;
    for (int i = 0; i < PROBLEMS; i++)
        last = now_ns();
    return (last - start) / PROBLEMS;
}

int main(void)
{
    for (gsize i = 0; i < G_N_ELEMENTS(targets); i++) {
        bool known = target_parse(target_ids[i], &targets[i], NULL);
        g_assert_true(known);
    }
    make_problems();
    printf("solver_applicable over %d random problems on %d targets, %d times each; the clock "
           "takes %.0f ns a look\n",
           PROBLEMS, (int)G_N_ELEMENTS(targets), REPETITIONS, clock_ns());
    printf("%-24s  median us       99 %%        max   serves  median of it   goal\n", "");
    bool met = true;
    for (int s = 0; s < solver_table_count; s++)
        met &= print_row(solver_table[s]->name, measure(s, s + 1, REPETITIONS), GOAL_SOLVER_NS);
    met &= print_row("whole table", measure(0, solver_table_count, REPETITIONS), GOAL_TABLE_NS);
    met &= print_row("whole table, in passing", measure(0, solver_table_count, 1), GOAL_TABLE_NS);
    return met ? 0 : 1;
}
