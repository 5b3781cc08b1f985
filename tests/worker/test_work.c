/* A claimed job as the agent works on it. */
#include "worker/agent/work.h"

#include <string.h>

#define SOLVER "ConvCpuGemm"
#define TARGET "cpu-znver4_2"

static void clear_round(gpointer round)
{
    round_free(round);
}

/* An eval claim whose open round holds one config, the default one, not evaluated yet. */
static struct job *make_job(const struct target *target)
{
    const struct solver *solver = solver_find(SOLVER);
    struct job *job = g_new0(struct job, 1);
    struct round *round = round_new(1);
    struct context context;

    problem_init(&job->problem);
    job->problem.c = job->problem.k = 64;
    context_init(&context, target);
    solver->default_config(&job->problem, &context, &round->configs[0]);
    job->solver = g_strdup(SOLVER);
    job->revision = solver->revision;
    job->target = g_strdup(TARGET);
    job->strategy = g_strdup("random");
    job->rounds = g_ptr_array_new_with_free_func(clear_round);
    job->quarantined = g_array_new(FALSE, TRUE, sizeof(struct perf_config));
    g_ptr_array_add(job->rounds, round);
    return job;
}

struct spoil {
    const char *solver, *target, *hash; /* NULL: the job's own */
    int older;                          /* by how many revisions */
    int64_t batch;                      /* the problem's */
    const char *config;
    enum failure expected;
};

static enum failure outcome_beside(const struct spoil *spoil)
{
    const struct solver *solver = solver_find(SOLVER);
    struct target target;
    struct work work;
    enum failure failure;
    char text[CONFIG_TEXT_MAX];
    struct job *job;
    g_autoptr(GPtrArray) quarantine = g_ptr_array_new();
    struct quarantine_row row = {.failure = FAILURE_DEVICE_FAULT};

    g_assert_true(target_parse(TARGET, &target, NULL));
    job = make_job(&target);
    row.problem = job->problem;
    row.problem.n = spoil->batch;
    row.solver = g_strdup(spoil->solver ? spoil->solver : SOLVER);
    row.target = g_strdup(spoil->target ? spoil->target : TARGET);
    row.hash = g_strdup(spoil->hash ? spoil->hash : solver_hash(solver));
    row.revision = solver->revision - spoil->older;
    row.config_text = g_strdup(
        spoil->config
            ? spoil->config
            : perf_config_format(&((struct round *)job->rounds->pdata[0])->configs[0], text));
    row.detail = g_strdup("boom");
    g_ptr_array_add(quarantine, &row);
    work_init(&work, job, &target, POOL_EVAL, quarantine);
    failure = work.round->outcomes[0].failure;
    work_clear(&work);
    g_free(row.solver);
    g_free(row.target);
    g_free(row.hash);
    g_free(row.config_text);
    g_free(row.detail);
    return failure;
}

static void quarantine_concerns_the_same_solver_as_it_was_then(void)
{
    static const struct spoil cases[] = {
        {.batch = 1, .expected = FAILURE_DEVICE_FAULT},
        {.batch = 2, .expected = FAILURE_PENDING},
        {.batch = 1, .solver = "ConvCpuDirect", .expected = FAILURE_PENDING},
        {.batch = 1, .target = "cpu-znver4_4", .expected = FAILURE_PENDING},
        /* Today the text reads as this round's config; what crashed was another kernel. */
        {.batch = 1, .older = 1, .expected = FAILURE_PENDING},
        {.batch = 1, .hash = "0123", .expected = FAILURE_PENDING},
        /* A config that today's space does not hold, and one that is no config. */
        {.batch = 1, .config = "8,1", .expected = FAILURE_PENDING},
        {.batch = 1, .config = "x", .expected = FAILURE_PENDING},
    };

    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
        g_assert_cmpstr(failure_name(outcome_beside(&cases[i])), ==,
                        failure_name(cases[i].expected));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/job_work/quarantine/concerns_the_same_solver_as_it_was_then",
                    quarantine_concerns_the_same_solver_as_it_was_then);
    return g_test_run();
}
