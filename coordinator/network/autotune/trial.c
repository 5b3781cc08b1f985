#include "coordinator/network/autotune/trial.h"

#include "coordinator/cli/cli.h"
#include "coordinator/network/samples.h"
#include "solvers/problem/problem_key.h"

#include <string.h>

void tuned_words_clear(struct tuned_words *words)
{
    g_clear_pointer(&words->samples, g_strfreev);
    g_clear_pointer(&words->dims, g_strfreev);
}

bool tuned_file_wish(const struct tuned_file *file, struct model_wish *wish,
                     struct tuned_words *words, GError **error)
{
    const char *files = file->samples ? file->samples : file->inputs;
    words->samples = files ? g_strsplit(files, ",", -1) : NULL;
    words->dims = file->dims ? g_strsplit(file->dims, ",", -1) : NULL;
    wish->calibrate = words->samples;
    wish->calibrates_randomly = files == NULL;
    if (!wish->dims)
        wish->dims = words->dims;
    if (!file->calibration || model_calibration_parse(file->calibration, wish))
        return true;
    g_set_error(error, COORDINATOR_ERROR, COORDINATOR_ERROR_USAGE,
                "calibration is '%s'; it takes " CALIBRATION_NAMES ", then channel or tensor",
                file->calibration);
    return false;
}

bool trial_init(struct trial *trial, struct model *model, const struct target *target,
                const struct network_plan *plan, trial_chooser choose, void *data, GError **error)
{
    *trial = (struct trial){.model = model, .target = target, .plan = plan};
    trial->choices = g_new0(struct choice *, plan->steps->len + 1);
    for (guint i = 0; i < plan->steps->len; i++) {
        const struct plan_step *step = plan_step_at(plan, (int)i);
        trial->choices[i] = choose(step, (int)i, data, error);
        if (!trial->choices[i]) {
            g_prefix_error(error, "step '%s': ", step->name);
            return false;
        }
    }
    return true;
}

void trial_clear(struct trial *trial)
{
    for (guint i = 0; trial->choices && i < trial->plan->steps->len; i++)
        choice_free(trial->choices[i]);
    g_clear_pointer(&trial->choices, g_free);
    g_clear_pointer(&trial->turns_ms, g_free);
    g_clear_pointer(&trial->step_turns_ms, g_free);
}

/* ---- what the worker said ---- */

static double number_of(const json_t *object, const char *name)
{
    return json_number_value(json_object_get(object, name));
}

static gint64 count_of(const json_t *object, const char *name)
{
    return json_integer_value(json_object_get(object, name));
}

/* The quickest form of the pipeline: one graph launch, or launch by launch. */
static const json_t *quickest_form(const json_t *answer)
{
    const json_t *launches = json_object_get(answer, "launches");
    const json_t *graph = json_object_get(answer, "graph");
    bool by_graph =
        json_is_object(graph) && number_of(graph, "median_ms") < number_of(launches, "median_ms");
    return by_graph ? graph : launches;
}

static void take_times(struct tuned_combination *combination, const json_t *answer)
{
    const json_t *launches = json_object_get(answer, "launches");
    const json_t *arena = json_object_get(answer, "arena");
    const json_t *best = quickest_form(answer);
    combination->graph = best != launches;
    combination->pipeline_ms = number_of(best, "median_ms");
    combination->pipeline_min_ms = number_of(best, "min_ms");
    combination->pipeline_spread = number_of(best, "spread");
    combination->readings = count_of(best, "n");
    combination->launches_ms = number_of(launches, "median_ms");
    combination->host_ms = number_of(answer, "host_ms");
    combination->arena_bytes = count_of(arena, "bytes");
    combination->arena_bound_bytes = count_of(arena, "bound_bytes");
    combination->weight_bytes = count_of(answer, "weight_bytes");
    combination->packed_bytes = count_of(answer, "packed_bytes");
}

static void take_steps(const struct trial *trial, struct tuned_combination *combination,
                       const json_t *answer)
{
    const json_t *steps = json_object_get(answer, "steps");
    combination->step_count = (int)trial->plan->steps->len;
    combination->steps = g_new0(struct tuned_step, (gsize)combination->step_count + 1);
    combination->sum_ms = 0;
    for (int i = 0; i < combination->step_count; i++) {
        const struct choice *choice = trial->choices[i];
        struct tuned_step *step = &combination->steps[i];
        char key[PROBLEM_KEY_MAX];
        step->name = g_strdup(plan_step_at(trial->plan, i)->name);
        step->problem = g_strdup(problem_key(&choice->problem, key));
        step->solver = g_strdup(choice->solver);
        step->config = g_strdup(choice->config);
        step->revision = choice->revision;
        step->workspace_bytes = choice->workspace_bytes;
        step->alone_ms = choice->median_ms;
        step->spread = choice->spread;
        step->pipeline_ms = number_of(json_array_get(steps, (size_t)i), "median_ms");
        step->estimated = choice->is_estimated;
        step->pinned = choice->median_ms <= 0 && !choice->is_estimated && !choice->is_exchanged;
        step->exchanged = choice->is_exchanged;
        combination->sum_ms += choice->median_ms > 0 ? step->alone_ms : step->pipeline_ms;
    }
}

struct choice *trial_choice(const struct tuned_step *tuned, const struct problem *problem,
                            const struct target *target, GError **error)
{
    struct choice *choice =
        choice_pinned(problem, target, tuned->solver, tuned->config, tuned->workspace_bytes, error);
    if (choice) {
        choice->median_ms = tuned->alone_ms;
        choice->spread = tuned->spread;
        choice->is_estimated = tuned->estimated;
        choice->is_exchanged = tuned->exchanged;
    }
    return choice;
}

/* The first step whose result is wrong, in words; NULL if all are right. */
static char *what_is_wrong(const json_t *answer)
{
    const char *stray = json_string_value(json_object_get(answer, "stray"));
    size_t i;
    json_t *step;
    if (stray)
        return g_strdup(stray);
    json_array_foreach (json_object_get(answer, "steps"), i, step) {
        const char *verdict = json_string_value(json_object_get(step, "verdict"));
        const char *detail = json_string_value(json_object_get(step, "detail"));
        if (verdict && strcmp(verdict, "ok") != 0)
            return g_strdup_printf("step '%s': %s: %s",
                                   json_string_value(json_object_get(step, "name")), verdict,
                                   detail ? detail : "");
    }
    return NULL;
}

static void take_accuracy(const struct trial *trial, struct tuned_combination *combination,
                          const struct executed *executed)
{
    struct samples_distance distance;
    int64_t count = MIN(executed->output_count, trial->model->reference_count);
    samples_compare(executed->outputs, trial->model->reference, count, trial->model->batch,
                    &distance);
    combination->max_error = distance.max_error;
    combination->mean_error = distance.mean_error;
    combination->cosine = distance.cosine;
    combination->top1 = distance.top1;
    if (!distance.is_finite && !combination->reason)
        combination->reason =
            g_strdup("an output is a NaN or infinite where it is a number in FP32");
}

static void copy_turns(const json_t *list, int turns, double *ms)
{
    for (int i = 0; i < turns; i++)
        ms[i] = json_number_value(json_array_get(list, (size_t)i));
}

static void take_turns(struct trial *trial, const json_t *answer)
{
    const json_t *turns = json_object_get(quickest_form(answer), "turns_ms");
    const json_t *steps = json_object_get(answer, "steps");
    trial->turns = (int)json_array_size(turns);
    trial->turns_ms = g_new(double, (gsize)trial->turns + 1);
    trial->step_turns_ms = g_new(double, (gsize)trial->turns *json_array_size(steps) + 1);
    copy_turns(turns, trial->turns, trial->turns_ms);
    for (size_t i = 0; i < json_array_size(steps); i++)
        copy_turns(json_object_get(json_array_get(steps, i), "turns_ms"), trial->turns,
                   trial->step_turns_ms + i * (size_t)trial->turns);
}

static void take_all(struct trial *trial, struct tuned_combination *combination,
                     const struct executed *executed)
{
    tuned_combination_clear(combination);
    combination->reason = what_is_wrong(executed->answer);
    take_times(combination, executed->answer);
    take_steps(trial, combination, executed->answer);
    take_accuracy(trial, combination, executed);
    take_turns(trial, executed->answer);
    combination->state = combination->reason ? COMBINATION_WRONG : COMBINATION_MEASURED;
}

static struct execution execution_of(const struct trial *trial)
{
    return (struct execution){
        .plan = trial->plan,
        .choices = (const struct choice *const *)trial->choices,
        .inputs = trial->model->inputs,
        .input_count = trial->model->input_count,
        .sample_seconds = trial->sample_seconds,
    };
}

bool trial_run(struct trial *trial, struct tuned_combination *combination, float **outputs,
               int64_t *output_count, int *caught, GError **error)
{
    struct executed executed;
    const struct execution execution = execution_of(trial);
    if (!model_reference(trial->model, error))
        return false;
    bool done = execute_plan(&execution, &executed, caught, error);
    if (done) {
        take_all(trial, combination, &executed);
        if (outputs) {
            *outputs = g_steal_pointer(&executed.outputs);
            *output_count = executed.output_count;
        }
    }
    executed_clear(&executed);
    return done;
}

bool trials_run(struct trial *trials, int count, struct tuned_combination *const *combinations,
                char **no_room, int *caught, GError **error)
{
    *no_room = NULL;
    if (!model_reference(trials[0].model, error))
        return false;
    struct execution *executions = g_new(struct execution, (gsize)count);
    struct executed *executed = g_new0(struct executed, (gsize)count);
    for (int i = 0; i < count; i++)
        executions[i] = execution_of(&trials[i]);
    bool done = execute_plans(executions, count, trials[0].sample_seconds, executed, no_room,
                              caught, error);
    for (int i = 0; i < count; i++) {
        if (done)
            take_all(&trials[i], combinations[i], &executed[i]);
        executed_clear(&executed[i]);
    }
    g_free(executions);
    g_free(executed);
    return done;
}
