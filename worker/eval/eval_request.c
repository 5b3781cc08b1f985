#include "worker/eval/eval_request.h"

#include <math.h>
#include <string.h>

#include "solvers/problem/problem_key.h"
#include "worker/protocol/frames.h"
#include "worker/protocol/target_json.h"

static bool fail_frame(const char *what, GError **error)
{
    g_set_error(error, WORKER_ERROR, WORKER_ERROR_FRAME, "cannot read an evaluate request: %s",
                what);
    return false;
}

/* Reads a config's values. They only have to fit the struct; the solver checks later whether
 * they are a valid config. */
static bool read_values(const json_t *values, struct perf_config *config)
{
    size_t count = json_array_size(values);

    if (!json_is_array(values) || count > CONFIG_MAX)
        return false;
    config->count = (int)count;
    for (size_t i = 0; i < count; i++) {
        const json_t *value = json_array_get(values, i);
        json_int_t number = json_integer_value(value);
        if (!json_is_integer(value) || number < INT32_MIN || number > INT32_MAX)
            return false;
        config->values[i] = (int32_t)number;
    }
    return true;
}

static bool read_kernels(const json_t *kernels, struct eval_config *config)
{
    size_t count = json_array_size(kernels);

    if (!json_is_array(kernels) || count > SOLUTION_LAUNCHES_MAX)
        return false;
    config->kernel_count = (int)count;
    for (size_t i = 0; i < count; i++) {
        const char *key = json_string_value(json_array_get(kernels, i));
        if (!key || strlen(key) > KERNEL_KEY_LENGTH)
            return false;
        g_strlcpy(config->kernels[i], key, sizeof(config->kernels[i]));
    }
    return true;
}

bool eval_config_read(const json_t *object, struct eval_config *config)
{
    const json_t *index = json_object_get(object, "index");

    *config = (struct eval_config){.index = (int)json_integer_value(index)};
    config->only_verify = json_is_false(json_object_get(object, "timed"));
    return json_is_integer(index) && json_integer_value(index) >= 0 &&
           json_integer_value(index) <= INT32_MAX &&
           read_values(json_object_get(object, "values"), &config->config) &&
           read_kernels(json_object_get(object, "kernels"), config);
}

/* Reads the solver that a config names; one that names none has the request's. */
static bool read_solver(const json_t *object, struct eval_config *config, GError **error)
{
    const char *name = json_string_value(json_object_get(object, "solver"));

    config->solver = name ? solver_find(name) : NULL;
    if (!name || config->solver)
        return true;
    g_set_error(error, WORKER_ERROR, WORKER_ERROR_INVALID, "this program has no solver '%s'", name);
    return false;
}

static bool read_solvers(const json_t *configs, struct eval_request *request, GError **error)
{
    for (guint i = 0; i < request->configs->len; i++) {
        if (!read_solver(json_array_get(configs, i),
                         &g_array_index(request->configs, struct eval_config, i), error))
            return false;
    }
    return true;
}

static bool read_configs(const json_t *configs, json_int_t baseline, struct eval_request *request)
{
    request->configs = g_array_new(FALSE, FALSE, sizeof(struct eval_config));
    request->baseline = -1;
    for (size_t i = 0; i < json_array_size(configs); i++) {
        struct eval_config config;
        if (!eval_config_read(json_array_get(configs, i), &config))
            return false;
        /* The agent names the default config by its index, which need not be its place in the list. */
        if (config.index == baseline)
            request->baseline = (int)i;
        g_array_append_val(request->configs, config);
    }
    return json_is_array(configs);
}

bool eval_work_find(const char *key, const char *name, struct problem *p,
                    const struct solver **solver, GError **error)
{
    g_autoptr(GError) reason = NULL;

    *solver = solver_find(name);
    if (!*solver)
        g_set_error(error, WORKER_ERROR, WORKER_ERROR_INVALID, "this program has no solver '%s'",
                    name);
    else if (!problem_key_parse(key, p, &reason) || !problem_validate(p, &reason))
        g_set_error(error, WORKER_ERROR, WORKER_ERROR_INVALID, "cannot evaluate: %s",
                    reason->message);
    else
        return true;
    return false;
}

bool eval_request_read(const json_t *head, struct eval_request *request, GError **error)
{
    const char *problem, *solver, *judge = "";
    const json_t *target, *configs, *limits = NULL;
    json_int_t seed, baseline;
    json_error_t why;
    int keep = 0;

    *request = (struct eval_request){0};
    if (json_unpack_ex((json_t *)(uintptr_t)head, &why, 0,
                       "{s:I,s:s,s:s,s:o,s:I,s:o,s:I,s:F,s:F,s?F,s?b,s?s,s?o,s?i}", "id",
                       &request->id, "problem", &problem, "solver", &solver, "target", &target,
                       "seed", &seed, "configs", &configs, "default", &baseline, "best_ms",
                       &request->best_ms, "sample_seconds", &request->sample_seconds,
                       "together_seconds", &request->together_seconds, "keep", &keep, "judge",
                       &judge, "limits", &limits, "proof_runs", &request->proof_runs) != 0)
        return fail_frame(why.text, error);
    if (strlen(judge) > KERNEL_KEY_LENGTH)
        return fail_frame("its judge's key is too long", error);
    g_strlcpy(request->judge, judge, sizeof(request->judge));
    request->seed = (uint64_t)seed;
    request->keep = keep != 0;
    if (!isfinite(request->best_ms) || request->best_ms < 0 || !isfinite(request->sample_seconds) ||
        request->sample_seconds < 0 || !isfinite(request->together_seconds) ||
        request->together_seconds < 0)
        return fail_frame("best_ms and seconds must be finite and at least 0", error);
    if (request->proof_runs < 0)
        return fail_frame("proof_runs must be at least 0", error);
    if (!read_configs(configs, baseline, request))
        return fail_frame("a config's index, values or kernels are missing or wrong", error);
    return target_from_json(target, &request->target, error) &&
           limits_from_json(limits, &request->limits, error) &&
           eval_work_find(problem, solver, &request->problem, &request->solver, error) &&
           read_solvers(configs, request, error);
}

void eval_request_clear(struct eval_request *request)
{
    g_clear_pointer(&request->configs, g_array_unref);
}
