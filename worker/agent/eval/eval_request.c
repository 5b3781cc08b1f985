#include "worker/agent/eval/eval_request.h"

#include <string.h>

#include "solvers/problem/problem_key.h"
#include "worker/agent/build/own_code.h"
#include "worker/agent/work_check.h"
#include "worker/measure/measure.h"
#include "worker/protocol/protocol.h"
#include "worker/protocol/target_json.h"

/* Runs of a config that its deadline allows for: warm-up, repeats, verification, proof. */
#define RUNS_AT_LEAST 20

int eval_job_suspect(const struct eval_job *job)
{
    /* Configs of a final are compared with each other, so all are asked for again. */
    if (job->work.job->final)
        return -1;
    for (int i = 0; i < job->work.round->config_count; i++)
        if (eval_job_is_pending(job, i) && job->deaths[i] > 0)
            return i;
    return -1;
}

/* The keys of the kernels of all launches. NULL if a kernel cannot be used: the config then
 * fails with the reason. */
static json_t *launch_keys(struct eval_job *job, int index, const struct solution *solution)
{
    int kernel_of[SOLUTION_LAUNCHES_MAX], count;
    g_autoptr(GError) error = NULL;
    g_auto(GStrv) keys = g_strsplit(job->work.round->kernel_keys[index], ",", -1);
    work_launch_kernels(solution, kernel_of, &count);
    if ((int)g_strv_length(keys) != count) {
        work_fail_config(&job->work, index, FAILURE_LOAD_ERROR,
                         "it was built by another recipe than this program's");
        return NULL;
    }
    json_t *list = json_array();
    for (int i = 0; i < solution->launch_count; i++) {
        const char *key = keys[kernel_of[i]];
        if (!work_check_kernel(&solution->launches[i], &job->work.target,
                               g_hash_table_lookup(job->kernels, key), &error)) {
            work_fail_config(&job->work, index, FAILURE_REFUSED_BY_CHECK, error->message);
            json_decref(list);
            return NULL;
        }
        json_array_append_new(list, json_string(key));
    }
    return list;
}

static void send_code(struct evaluator *evaluator, const char *key, GBytes *code)
{
    json_t *head = json_pack("{s:s, s:s}", "op", "kernel", "key", key);
    child_send(evaluator->child, head, code);
    json_decref(head);
}

void evaluator_send_kernel(struct evaluator *evaluator, const char *key, GBytes *code)
{
    if (g_hash_table_add(evaluator->sent, g_strdup(key)))
        send_code(evaluator, key, code);
}

static void send_kernels(struct eval_job *job, json_t *keys)
{
    size_t i;
    json_t *key;
    json_array_foreach (keys, i, key) {
        const char *text = json_string_value(key);
        const struct kernel_row *row = g_hash_table_lookup(job->kernels, text);
        evaluator_send_kernel(job->evaluator, text, row->code);
    }
}

static double config_deadline(const struct eval_job *job, const struct solution *solution)
{
    const struct agent_options *options = job->evaluator->agent->options;
    double seconds = options->sample_seconds;
    if (solution->pack_count > 0)
        seconds += options->sample_seconds / MEASURE_PACK_SHARE;
    return options->run_timeout_seconds + measure_most_seconds(seconds) +
           PROOF_ASKED_SHARE * options->sample_seconds +
           RUNS_AT_LEAST * solution->flops / WORK_SLOWEST_FLOPS;
}

/* Whether a config can be left out of the request: it took over the failure of its twin (a
 * config with the same code and launches), or its twin is in the request. A config whose twin was right is asked for
 * to be verified alone (evaluator->asked_twins). The default config is
 * always measured, since it shows whether the device drifts; so is each config of a round that
 * measures configs again. */
static bool has_twin(struct eval_job *job, int index, const struct solution *solution,
                     const json_t *keys)
{
    struct evaluator *evaluator = job->evaluator;
    const struct kernel_row *rows[SOLUTION_LAUNCHES_MAX] = {NULL};
    char text[CONFIG_TEXT_MAX];
    if (job->work.round->remeasures)
        return false;
    for (int i = 0; i < solution->launch_count; i++)
        rows[i] =
            g_hash_table_lookup(job->kernels, json_string_value(json_array_get(keys, (size_t)i)));
    g_autofree char *name = twins_name(job->work.job->id, solution, rows);
    bool is_default = index == work_default_index(&job->work);
    if (!name || (!is_default && g_hash_table_contains(evaluator->asked_names, name)))
        return name != NULL;
    if (!is_default && twins_was_right(evaluator->twins, name)) {
        g_hash_table_insert(evaluator->asked_twins, GINT_TO_POINTER(index), g_steal_pointer(&name));
        return false;
    }
    if (is_default || !twins_take(evaluator->twins, name, &job->work, index)) {
        g_hash_table_insert(evaluator->asked_names, g_steal_pointer(&name), GINT_TO_POINTER(index));
        return false;
    }
    struct log_about about = work_about(&job->work);
    log_write(LEVEL_DEBUG, "twin", &about, "config %s: %s",
              perf_config_format(&job->work.round->configs[index], text),
              job->work.round->details[index]);
    job->dirty = true;
    return true;
}

/* The config as the child reads it. Its kernels are sent to the child. NULL if the config cannot
 * be evaluated, or need not be. */
static json_t *config_request(struct eval_job *job, int index)
{
    struct solution solution;
    if (!work_solve(&job->work, index, &solution))
        return NULL;
    json_t *keys = launch_keys(job, index, &solution);
    if (!keys)
        return NULL;
    if (has_twin(job, index, &solution, keys)) {
        json_decref(keys);
        return NULL;
    }
    send_kernels(job, keys);
    job->slowest_seconds = MAX(job->slowest_seconds, config_deadline(job, &solution));
    const struct perf_config *config = &job->work.round->configs[index];
    json_t *values = json_array();
    for (int i = 0; i < config->count; i++)
        json_array_append_new(values, json_integer(config->values[i]));
    bool timed = !g_hash_table_contains(job->evaluator->asked_twins, GINT_TO_POINTER(index));
    return json_pack("{s:i, s:o, s:o, s:b, s:s*}", "index", index, "values", values, "kernels",
                     keys, "timed", timed, "solver",
                     job->work.job->final ? work_solver(&job->work, index)->name : NULL);
}

/* The configs of the next request. A config during which a child died is asked for alone: if
 * that child dies, too, this config is to blame. */
static json_t *request_configs(struct eval_job *job, int *default_index)
{
    json_t *configs = json_array();
    int alone = eval_job_suspect(job), usual = work_default_index(&job->work);
    *default_index = -1;
    /* The default config comes first. Otherwise an equal config (its twin) would be measured in
     * its place. */
    for (int place = -1; place < job->work.round->config_count; place++) {
        int i = place < 0 ? usual : place;
        if (i < 0 || (place == usual && usual >= 0) || !eval_job_is_pending(job, i) ||
            (alone >= 0 && i != alone))
            continue;
        json_t *config = config_request(job, i);
        if (!config)
            continue;
        json_array_append_new(configs, config);
        g_hash_table_add(job->evaluator->asked_configs, GINT_TO_POINTER(i));
        if (i == usual)
            *default_index = i;
    }
    return configs;
}

/* The deadline until the first config begins: before that the child computes the references of two sets of inputs, on
 * a slow core in plain loops. */
static double reference_deadline(const struct eval_job *job)
{
    return job->slowest_seconds + 4 * problem_macs(&job->work.job->problem) / WORK_SLOWEST_FLOPS;
}

/* Adds the judge's kernel key to the request, so that the child verifies on its device, if the
 * agent has that kernel. */
static void add_judge(struct evaluator *evaluator, json_t *request)
{
    const char *key = NULL;
    GBytes *code = own_code_bytes(evaluator->agent, &evaluator->target, OWN_JUDGE, &key);
    if (!code)
        return;
    if (!evaluator->judge_sent)
        send_code(evaluator, key, code);
    evaluator->judge_sent = true;
    json_object_set_new(request, "judge", json_string(key));
}

void eval_job_ask(struct eval_job *job)
{
    struct evaluator *evaluator = job->evaluator;
    char key[PROBLEM_KEY_MAX];
    int default_index;
    g_hash_table_remove_all(evaluator->asked_configs);
    g_hash_table_remove_all(evaluator->asked_names);
    g_hash_table_remove_all(evaluator->asked_twins);
    json_t *configs = request_configs(job, &default_index);
    if (json_array_size(configs) == 0) {
        json_decref(configs);
        eval_job_finish(job);
        return;
    }
    bool remeasures = job->work.round->remeasures;
    if (remeasures)
        agent_forget_best(evaluator->agent, &job->work);
    json_t *head = json_pack(
        "{s:s, s:I, s:s, s:s, s:o, s:I, s:o, s:i, s:f, s:f, s:b}", "op", "evaluate", "id",
        ++evaluator->request, "problem", problem_key(&job->work.job->problem, key), "solver",
        job->work.job->solver, "target", target_to_json(&job->work.target), "seed",
        (json_int_t)job->work.job->seed, "configs", configs, "default", default_index, "best_ms",
        remeasures ? 0.0 : agent_best_ms(evaluator->agent, &job->work), "sample_seconds",
        evaluator->agent->options->sample_seconds, "keep", remeasures);
    json_object_set_new(head, "limits", limits_to_json(&job->work.job->limits));
    /* Times of a round that measures again may ship, so each of its configs is proved. */
    json_object_set_new(head, "proof_runs", json_integer(remeasures ? PROOF_RUNS : 0));
    if (job->work.job->final)
        json_object_set_new(head, "together_seconds", json_real(job->work.job->final->seconds));
    add_judge(evaluator, head);
    child_send(evaluator->child, head, NULL);
    json_decref(head);
    evaluator->in_flight = -1;
    if (job->work.job->final)
        evaluator->finals_served++;
    else
        evaluator->has_searched = true;
    evaluator_move(evaluator, EVALUATOR_ASK, NULL);
    child_set_deadline(evaluator->child, reference_deadline(job));
}

void evaluator_send_stop(Evaluator *evaluator)
{
    if (!child_is_up(evaluator->child))
        return;
    json_t *head = json_pack("{s:s}", "op", "stop");
    child_send(evaluator->child, head, NULL);
    json_decref(head);
}

void evaluator_forget_kernels(struct evaluator *evaluator)
{
    GHashTableIter iter;
    gpointer key;
    g_hash_table_iter_init(&iter, evaluator->sent);
    while (child_is_up(evaluator->child) && g_hash_table_iter_next(&iter, &key, NULL)) {
        json_t *head = json_pack("{s:s, s:s}", "op", "forget", "key", key);
        child_send(evaluator->child, head, NULL);
        json_decref(head);
    }
    g_hash_table_remove_all(evaluator->sent);
}
