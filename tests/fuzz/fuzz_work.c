/* Any JSON as a claimed job that the agent works on: refused with a reason; otherwise every config
 * of its history is solved or refused, and the next proposals are valid configs of the solver. */
#include "schema/store/store_private.h"
#include "worker/agent/work.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void free_round(gpointer data)
{
    round_free(data);
}

static bool read_rounds(const json_t *rounds, struct job *job)
{
    for (size_t i = 0; i < json_array_size(rounds); i++) {
        struct round *round = round_from_json(json_array_get(rounds, i), NULL);
        if (round == NULL) {
            return false;
        }
        g_ptr_array_add(job->rounds, round);
    }
    return true;
}

static struct job *read_job(const json_t *object)
{
    struct job *job = g_new0(struct job, 1);
    job->rounds = g_ptr_array_new_with_free_func(free_round);
    job->quarantined = g_array_new(FALSE, FALSE, sizeof(struct perf_config));
    job->solver = json_member_text(object, "solver");
    job->revision = (int)json_member_int(object, "revision");
    job->target = json_member_text(object, "target");
    job->strategy = json_member_text(object, "strategy");
    job->prior = texts_from_json(json_object_get(object, "prior"));
    job->configs_limit = (int)json_member_int(object, "configs_limit");
    job->close_configs = (int)json_member_int(object, "close_configs");
    job->search_seconds = json_member_double(object, "search_seconds");
    job->min_gain = json_member_double(object, "min_gain");
    job->round_configs = (int)json_member_int(object, "round_configs");
    job->best_ms = json_member_double(object, "best_ms");
    if (!problem_from_json(json_object_get(object, "problem"), &job->problem, NULL) ||
        !problem_validate(&job->problem, NULL) ||
        !read_rounds(json_object_get(object, "rounds"), job)) {
        g_clear_pointer(&job, job_free);
    }
    return job;
}

static void solve_all(struct work *work)
{
    struct solution solution;
    g_assert_cmpint(work_default_index(work), <, work->round->config_count);
    for (int i = 0; i < work->round->config_count; i++) {
        bool solved = work_solve(work, i, &solution);
        g_assert_true(solved || work->round->outcomes[i].failure != FAILURE_NONE);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autoptr(StoreJson) object = json_loadb((const char *)data, size, 0, NULL);
    struct job *job = object != NULL ? read_job(object) : NULL;
    g_autoptr(GPtrArray) quarantine = g_ptr_array_new();
    struct target target;
    struct work work;
    if (job == NULL) {
        return 0;
    }
    bool known = target_parse(job->target, &target, NULL);
    work_init(&work, job, known ? &target : NULL, size % 2 == 0 ? POOL_EVAL : POOL_BUILD,
              quarantine);
    if (work.refusal == NULL && (work.round != NULL || work_propose(&work))) {
        solve_all(&work);
    }
    work_clear(&work);
    return 0;
}
