/*
 * Prints a driver line in the forms that it has in memory, for tests/coordinator/life_of_a_job.t:
 * life_of_a_job_forms LINE TARGET. A form begins with a line "== NAME".
 */
#include "coordinator/import/problem_list.h"
#include "coordinator/plan/plan.h"
#include "solvers/driver/driver_line.h"
#include "solvers/problem/problem_key.h"

#include <stdio.h>

static void print_axes(const char *name, const int64_t axes[AXIS_COUNT])
{
    printf(".%s = {%" G_GINT64_FORMAT ", %" G_GINT64_FORMAT ", %" G_GINT64_FORMAT "}, ", name,
           axes[AXIS_D], axes[AXIS_H], axes[AXIS_W]);
}

static void print_problem(const struct problem *p)
{
    printf("== struct problem\n.kind = OP_CONV, .direction = DIRECTION_%c, .spatial_dim = %d, .n = "
           "%" G_GINT64_FORMAT ", .c = %" G_GINT64_FORMAT ", .k = %" G_GINT64_FORMAT
           ", .groups = %" G_GINT64_FORMAT ", ",
           direction_letter(p->direction), p->spatial_dim, p->n, p->c, p->k, p->groups);
    print_axes("in", p->in);
    print_axes("fil", p->fil);
    print_axes("out", p->out);
    print_axes("pad", p->pad);
    print_axes("stride", p->stride);
    print_axes("dilation", p->dilation);
    printf(".type = {TYPE_%s, TYPE_%s, TYPE_%s}, .layout = {LAYOUT_%s, LAYOUT_%s, LAYOUT_%s}, "
           ".bias = %d, .epilogue = \"%s\"\n",
           data_type_name(p->type[TENSOR_X]), data_type_name(p->type[TENSOR_W]),
           data_type_name(p->type[TENSOR_Y]), layout_name(p->layout[TENSOR_X]),
           layout_name(p->layout[TENSOR_W]), layout_name(p->layout[TENSOR_Y]), p->bias,
           p->epilogue);
}

static void print_plan(const struct problem *p, const struct target *target)
{
    const struct solver *const solvers[] = {solver_find("ConvCpuDirect"),
                                            solver_find(PLAN_NAIVE_SOLVER)};
    g_autoptr(GArray) problems = g_array_new(FALSE, FALSE, sizeof(struct plan_problem));
    plan_add_problem(problems, p, 1);
    const struct plan_request request = {.target = target,
                                         .stack = "",
                                         .strategy = "prior",
                                         .configs_limit = 1,
                                         .round_configs = 4,
                                         .problems = problems,
                                         .solvers = solvers,
                                         .solver_count = G_N_ELEMENTS(solvers),
                                         .unpromising_too = true};
    struct plan *plan = plan_new(&request);
    printf("== struct job_plan\n");
    for (int i = 0; i < plan->count; i++) {
        const struct job_plan *job = &plan->jobs[i];
        printf(
            ".problem = {..}, .solver = \"%s\", .revision = %d, .hash = \"%.12s..\", .provider = "
            "\"%s\", .algorithm = \"%s\", .dynamic = %s, .tunable = %s, .priority = %g, "
            ".multiplicity = %d\n",
            job->solver, job->revision, job->hash, job->provider, job->algorithm,
            job->dynamic ? "true" : "false", job->tunable ? "true" : "false", job->priority,
            job->multiplicity);
    }
    plan_free(plan);
}

int main(int argc, char **argv)
{
    struct driver_line line;
    struct target target;
    char key[PROBLEM_KEY_MAX];
    if (argc != 3 || !target_parse(argv[2], &target, NULL))
        return 2;
    driver_line_parse(argv[1], &line);
    if (line.problem_count != 1)
        return 1;
    const struct problem *p = &line.problems[0];
    print_problem(p);
    printf("== key\n%s\n", problem_key(p, key));
    print_plan(p, &target);
    return 0;
}
