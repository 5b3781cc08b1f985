#include "worker/agent/eval/device_proof.h"

#include <string.h>

#include "solvers/framework/solver.h"
#include "solvers/problem/problem_key.h"
#include "worker/agent/agent_room.h"
#include "worker/agent/build/own_code.h"
#include "worker/agent/eval/device_service.h"
#include "worker/agent/eval/eval_answers.h"
#include "worker/agent/eval/eval_request.h"
#include "worker/protocol/target_json.h"

/* The convolution has more workgroups than any GPU has compute units, and its tensors fit on a
 * GPU whose memory is almost full. */
#define PROBLEM "4-7-7-3x3-48-7-7-4-1x1-1x1-1x1-0-NCHW-FP32-F"
#define SOLVER  "ConvDirectNaive"
#define SEED    1
#define SAMPLE  0.001 /* seconds of device time for the readings, few since the time is not used */
#define INDEX   0     /* index of the proof's only config */

static bool solve(const struct target *target, struct perf_config *config,
                  struct solution *solution, GError **error)
{
    const struct solver *solver = solver_find(SOLVER);
    struct problem problem;
    struct context context;

    if (!problem_key_parse(PROBLEM, &problem, error))
        return false;
    context_init(&context, target);
    solver->default_config(&problem, &context, config);
    solution_init(solution);
    return solver_solve(solver, &problem, &context, config, solution, error);
}

bool proof_solve(const struct target *target, struct solution *solution, GError **error)
{
    struct perf_config config;

    return solve(target, &config, solution, error);
}

static void ask(struct evaluator *evaluator, const char *key, GBytes *code)
{
    evaluator_send_kernel(evaluator, key, code);
    json_t *head = json_pack(
        "{s:s, s:I, s:s, s:s, s:o, s:i, s:[{s:i, s:[], s:[s]}], s:i, s:f, s:f}", "op", "evaluate",
        "id", ++evaluator->request, "problem", PROBLEM, "solver", SOLVER, "target",
        target_to_json(&evaluator->target), "seed", SEED, "configs", "index", INDEX, "values",
        "kernels", key, "default", INDEX, "best_ms", 0.0, "sample_seconds", SAMPLE);
    child_send(evaluator->child, head, NULL);
    json_decref(head);
    evaluator_move(evaluator, EVALUATOR_ASK_PROOF, NULL);
    evaluator->in_flight = -1;
    g_free(evaluator->proof_failure);
    evaluator->proof_failure = g_strdup("its child reported no outcome");
    child_set_deadline(evaluator->child, evaluator->agent->options->run_timeout_seconds);
}

void proof_pump(struct evaluator *evaluator)
{
    struct agent *agent = evaluator->agent;
    const char *key = NULL;

    if (evaluator->state != EVALUATOR_PROOF_WANTED ||
        own_code_comes(agent, &evaluator->target, OWN_PROOF))
        return;
    GBytes *code = own_code_bytes(agent, &evaluator->target, OWN_PROOF, &key);
    if (!code) {
        device_not_provable(evaluator);
        evaluator_next(evaluator);
    } else if (!agent_has_room(agent)) {
        return;
    } else if (evaluator_has_child(evaluator)) {
        ask(evaluator, key, code);
    } else if (child_is_down(evaluator->child)) {
        evaluator_start(evaluator);
    }
}

/* ---- the end of the proof ---- */

static void request_over(struct evaluator *evaluator)
{
    child_set_deadline(evaluator->child, 0);
    evaluator_move(evaluator, EVALUATOR_OVER, NULL);
}

/* Notes why the proof failed. An error while the disk is full proves nothing about the device,
 * so the proof is then repeated. */
static void proof_failed(struct evaluator *evaluator, const char *why)
{
    if (evaluator_has_room(evaluator))
        device_proved(evaluator, why);
    else
        child_end(evaluator->child, 0);
}

static bool is_right(const char *name)
{
    enum failure failure;

    return name && failure_parse(name, &failure) && eval_is_verified(failure);
}

/* Notes the outcome of the proof's config. The verdict follows when the request ends: after a
 * device fault the child still has to die. */
static void note_outcome(struct evaluator *evaluator, json_t *head)
{
    const char *name = json_string_value(json_object_get(head, "failure"));
    const char *detail = json_string_value(json_object_get(head, "detail"));

    g_clear_pointer(&evaluator->proof_failure, g_free);
    if (!is_right(name))
        evaluator->proof_failure =
            g_strdup_printf("%s: %s", name ? name : "no outcome", detail ? detail : "");
}

void proof_answered(struct evaluator *evaluator, const char *op, json_t *head)
{
    if (json_integer_value(json_object_get(head, "id")) != evaluator->request)
        return;
    if (strcmp(op, "outcome") == 0) {
        note_outcome(evaluator, head);
    } else if (strcmp(op, "failed") == 0) {
        note_outcome(evaluator, head);
        request_over(evaluator);
        proof_failed(evaluator, evaluator->proof_failure);
        evaluator_next(evaluator);
    } else if (strcmp(op, "evaluated") == 0) {
        request_over(evaluator);
        if (!json_is_true(json_object_get(head, "stopped")) && !evaluator->proof_failure)
            device_proved(evaluator, NULL);
        else if (!json_is_true(json_object_get(head, "stopped")))
            proof_failed(evaluator, evaluator->proof_failure);
        evaluator_next(evaluator);
    }
}

void proof_died(struct evaluator *evaluator, const struct child_death *death)
{
    g_autofree char *why =
        g_strdup_printf("%s%s%s", death->text, *death->words ? ": " : "", death->words);

    request_over(evaluator);
    proof_failed(evaluator, why);
}
