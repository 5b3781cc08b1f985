/* Jobs as a damaged database would have them: each is refused with a reason, and none ends the agent. */
#include "worker/agent/work_check.h"

#include "worker/protocol/frames.h"

#include <math.h>
#include <string.h>

#define SOLVER "ConvCpuGemm"
#define TARGET "cpu-znver4_2"

static void clear_round(gpointer round)
{
    round_free(round);
}

/* An eval claim with a round that was evaluated and one that is open. */
static struct job *make_job(void)
{
    struct job *job = g_new0(struct job, 1);
    job->rounds = g_ptr_array_new_with_free_func(clear_round);
    job->quarantined = g_array_new(FALSE, TRUE, sizeof(struct perf_config));
    job->solver = g_strdup(SOLVER);
    job->revision = solver_find(SOLVER)->revision;
    job->target = g_strdup(TARGET);
    job->strategy = g_strdup("random");
    job->round_configs = 8;
    problem_init(&job->problem);
    for (int i = 0; i < 2; i++) {
        struct round *round = round_new(1);
        round->number = i;
        round->kernel_keys[0] = g_strdup("");
        g_ptr_array_add(job->rounds, round);
    }
    ((struct round *)job->rounds->pdata[0])->outcomes[0] =
        (struct outcome){.failure = FAILURE_NONE, .n = 5, .min_ms = 1, .median_ms = 1.5};
    return job;
}

static struct outcome *first_outcome(struct job *job)
{
    return &((struct round *)job->rounds->pdata[0])->outcomes[0];
}

static void spoil_damage(struct job *job)
{
    job->damage = g_strdup("a row is damaged");
}
static void spoil_solver(struct job *job)
{
    job->solver[0] = 'X';
}
static void spoil_revision(struct job *job)
{
    job->revision++;
}
static void spoil_old_revision(struct job *job)
{
    job->revision--;
}
static void spoil_strategy(struct job *job)
{
    job->strategy[0] = 'R';
}
static void spoil_size(struct job *job)
{
    job->round_configs = INT32_MAX;
}
static void spoil_limit(struct job *job)
{
    job->configs_limit = -1;
}
static void spoil_best(struct job *job)
{
    job->best_ms = NAN;
}
static void spoil_number(struct job *job)
{
    ((struct round *)job->rounds->pdata[1])->number = 7;
}
static void spoil_runs(struct job *job)
{
    first_outcome(job)->n = 0;
}
static void spoil_median(struct job *job)
{
    first_outcome(job)->median_ms = 0.5;
}
static void spoil_min(struct job *job)
{
    first_outcome(job)->min_ms = -1;
}
static void spoil_time(struct job *job)
{
    first_outcome(job)->median_ms = INFINITY;
}
static void spoil_rounds(struct job *job)
{
    g_ptr_array_set_size(job->rounds, 0);
}
static void spoil_nothing(struct job *job)
{
    (void)job;
}

static const struct {
    void (*spoil)(struct job *job);
    const char *words; /* part of the reason of the refusal; NULL: the job is accepted */
} cases[] = {
    {spoil_nothing, NULL},
    {spoil_damage, "a row is damaged"},
    {spoil_solver, "*no solver 'XonvCpuGemm'*"},
    {spoil_revision, "*revision*"},
    {spoil_old_revision, "*revision*"},
    {spoil_strategy, "*strategy 'Random'*"},
    {spoil_size, "*rounds of 2147483647 configs*"},
    {spoil_limit, "*-1 in all*"},
    {spoil_best, "*best time*nan ms*"},
    {spoil_number, "*round 1 has the number 7*"},
    {spoil_runs, "*config 0 of its round 0*"},
    {spoil_median, "*config 0 of its round 0*"},
    {spoil_min, "*config 0 of its round 0*"},
    {spoil_time, "*config 0 of its round 0*"},
    {spoil_rounds, "*no round*"},
};

static void jobs_that_cannot_be_are_refused(void)
{
    g_autoptr(GPtrArray) quarantine = g_ptr_array_new();
    struct target target;
    g_assert_true(target_parse(TARGET, &target, NULL));
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        struct job *job = make_job();
        struct work work;
        cases[i].spoil(job);
        work_init(&work, job, &target, POOL_EVAL, quarantine);
        g_test_message("%s", work.refusal ? work.refusal : "may be worked on");
        g_assert_true(cases[i].words == NULL
                          ? work.refusal == NULL
                          : work.refusal && g_pattern_match_simple(cases[i].words, work.refusal));
        work_clear(&work);
    }
}

static void a_target_that_is_not_known_is_refused(void)
{
    g_autoptr(GPtrArray) quarantine = g_ptr_array_new();
    struct work work;
    work_init(&work, make_job(), NULL, POOL_EVAL, quarantine);
    g_assert_nonnull(strstr(work.refusal, "target '" TARGET "' is not known"));
    work_clear(&work);
}

static void a_kernel_of_another_recipe_is_refused(void)
{
    struct target target;
    struct solution solution;
    char texts[4][32] = {"a.cl", "conv", "-DN=1", "znver4"};
    static const char *const words[] = {"file", "entry", "options", "architecture"};
    struct kernel_row row = {.key = g_strdup("k"),
                             .file = texts[0],
                             .entry = texts[1],
                             .options = texts[2],
                             .arch = texts[3]};
    g_assert_true(target_parse(TARGET, &target, NULL));
    solution_init(&solution);
    struct launch *launch = solution_add_launch(&solution, "a.cl", "conv");
    launch_option_int(launch, "N", 1);
    g_assert_true(work_check_kernel(launch, &target, &row, NULL));
    for (gsize i = 0; i < G_N_ELEMENTS(texts); i++) {
        g_autoptr(GError) error = NULL;
        texts[i][0] ^= 1;
        g_assert_false(work_check_kernel(launch, &target, &row, &error));
        g_assert_error(error, WORKER_ERROR, WORKER_ERROR_INVALID);
        g_assert_nonnull(strstr(error->message, words[i]));
        texts[i][0] ^= 1;
    }
    g_free(row.key);
}

static void times_that_cannot_be_are_none(void)
{
    static const struct {
        struct outcome outcome;
        bool can_be;
    } times[] = {
        {{.failure = FAILURE_NONE, .n = 5, .min_ms = 1, .median_ms = 1.5}, true},
        {{.failure = FAILURE_SLOW, .n = 1, .min_ms = 1, .median_ms = 1}, true},
        {{.failure = FAILURE_WRONG_RESULT}, true},
        {{.failure = FAILURE_NONE, .n = 0, .min_ms = 1, .median_ms = 1}, false},
        {{.failure = FAILURE_NONE, .n = 5, .min_ms = 0, .median_ms = 1}, false},
        {{.failure = FAILURE_NONE, .n = 5, .min_ms = 2, .median_ms = 1}, false},
        {{.failure = FAILURE_NONE, .n = 5, .min_ms = 1, .median_ms = INFINITY}, false},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(times); i++)
        g_assert_cmpint(work_check_time(&times[i].outcome), ==, times[i].can_be);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/work_check/jobs_that_cannot_be_are_refused", jobs_that_cannot_be_are_refused);
    g_test_add_func("/work_check/a_target_that_is_not_known_is_refused",
                    a_target_that_is_not_known_is_refused);
    g_test_add_func("/work_check/a_kernel_of_another_recipe_is_refused",
                    a_kernel_of_another_recipe_is_refused);
    g_test_add_func("/work_check/times_that_cannot_be_are_none", times_that_cannot_be_are_none);
    return g_test_run();
}
