/*
 * A round runs in this order: the default config, all others, the default config
 * again. If the default's two times show drift, all others are measured again,
 * then the default once more. A failed config is not measured again. At last the fastest config is proved (proof.h).
 * A config's failure is its own outcome, and the round goes on; only a device fault ends the round, since every
 * later result would be suspect.
 *
 * The outcome of a config that is faster than the problem's best so far is held back until then: what was never
 * reported is measured again if the process ends before the proof. Where the fastest one is found wrong, the configs
 * that were dropped by its time are measured again, and the next fastest is proved. Held outcomes are reported when
 * the first proof succeeds.
 */
#include "worker/eval/eval_round.h"

#include <math.h>
#include <string.h>

#include "schema/store/drift.h"
#include "worker/measure/together.h"
#include "worker/protocol/frames.h"
#include "worker/protocol/protocol.h"

/* The least possible time of a launch. No device starts a kernel in less than a microsecond, so
 * a tenth of that shows a wrong clock, also for problems with too few operations to bound the
 * time. */
#define LAUNCH_LEAST_MS 1e-4

/* A device with this share of its memory free (1/8) can evaluate most problems. */
#define USEFUL_SHARE 8

/* A config during its round, beside its outcome. */
struct standing {
    bool held; /* its outcome is not reported yet: the config may win */
    int against; /* place of the config that was the fastest when it was measured; -1: none of this round */
    uint64_t results[WORKBENCH_SETS]; /* fingerprints of right outputs, where configs take turns */
};

struct state {
    struct eval_round *round;
    struct workbench bench;
    struct context context;
    struct evaluation *outcomes; /* the outcome of each config, by its place in the request */
    struct standing *standings;  /* by the same place */
    double best_ms;
    int leader;      /* place of the config that takes best_ms; -1: none of this round */
    double limit_ms; /* only a config that is faster can win the problem; 0: any */
    bool broken;     /* the device faulted: end the round */
};

static const struct eval_config *config_at(const struct state *s, int place)
{
    return &g_array_index(s->round->request->configs, struct eval_config, place);
}

static void outcome_fail(struct evaluation *outcome, enum failure failure, const char *detail)
{
    outcome->failure = failure;
    g_strlcpy(outcome->detail, detail, sizeof(outcome->detail));
}

/* Makes the error of a call that the device refused the config's failure. */
static void outcome_refused(struct state *s, struct evaluation *outcome, const GError *error)
{
    enum failure failure = FAILURE_LAUNCH_ERROR;

    if (error->domain == SOLVERS_ERROR)
        failure = FAILURE_NOT_APPLICABLE;
    else if (g_error_matches(error, DEVICE_ERROR, DEVICE_ERROR_LOAD))
        failure = FAILURE_LOAD_ERROR;
    else if (g_error_matches(error, DEVICE_ERROR, DEVICE_ERROR_FAULT))
        failure = FAILURE_DEVICE_FAULT;
    s->broken = s->broken || failure == FAILURE_DEVICE_FAULT;
    outcome_fail(outcome, failure, error->message);
}

static bool load_programs(struct state *s, const struct eval_config *config,
                          const struct solution *solution, struct device_program **programs,
                          GError **error)
{
    if (config->kernel_count != solution->launch_count) {
        g_set_error(error, DEVICE_ERROR, DEVICE_ERROR_LOAD,
                    "received %d kernels for a solution of %d launches", config->kernel_count,
                    solution->launch_count);
        return false;
    }
    for (int i = 0; i < config->kernel_count; i++) {
        programs[i] = eval_kernels_program(s->round->kernels, config->kernels[i], error);
        if (!programs[i])
            return false;
    }
    return true;
}

static const struct solver *solver_of(const struct state *s, const struct eval_config *config)
{
    return config->solver ? config->solver : s->round->request->solver;
}

static bool prepare(struct state *s, const struct eval_config *config, struct solution *solution,
                    struct invocation *invocation, GError **error)
{
    const struct eval_request *request = s->round->request;
    struct device_program *programs[SOLUTION_LAUNCHES_MAX];
    struct device_memory *workspace;

    solution_init(solution);
    return solver_solve(solver_of(s, config), &request->problem, &s->context, &config->config,
                        solution, error) &&
           load_programs(s, config, solution, programs, error) &&
           workbench_workspace(&s->bench, solution->workspace_bytes, &workspace, error) &&
           workbench_packed(&s->bench, solution->packed_bytes, error) &&
           invocation_prepare(invocation, s->round->device, solution, programs, s->bench.tensors,
                              workspace, error);
}

static void judge_times(const struct state *s, const struct solution *solution,
                        struct evaluation *outcome)
{
    double possible_ms = measure_possible_ms(solution, &s->round->request->target,
                                             problem_peak_type(&s->bench.problem), outcome->cold);
    const struct measurement *times = &outcome->times;

    possible_ms =
        fmax(possible_ms, (solution->launch_count - solution->pack_count) * LAUNCH_LEAST_MS);
    /* The minimum is compared, not the median: a single impossible reading shows that the clock
     * is wrong. */
    if (!(times->min_ms > 0) || times->min_ms < possible_ms) {
        outcome->failure = FAILURE_TIME_IMPOSSIBLE;
        g_snprintf(outcome->detail, sizeof(outcome->detail),
                   "measured %.6g ms, but the target needs at least %.6g ms", times->min_ms,
                   possible_ms);
    } else if (times->slow) {
        outcome->failure = FAILURE_SLOW;
        g_snprintf(outcome->detail, sizeof(outcome->detail),
                   "%.6g ms at first, the best so far takes %.6g ms", times->min_ms, s->best_ms);
    } else if (times->unstable) {
        outcome->failure = FAILURE_UNSTABLE;
        g_snprintf(outcome->detail, sizeof(outcome->detail),
                   "the middle half of %d times is %.0f %% of their median wide", times->n,
                   times->spread * 100);
    }
}

/* Measures the packing of the filter, which is done once for each filter and so is no part of a run's time. */
static bool time_packing(struct state *s, struct workbench_run *run, struct evaluation *outcome,
                         GError **error)
{
    struct measurement times;
    struct measure_job job = {
        .device = s->round->device,
        .run = workbench_pack,
        .data = run,
        .floor_ms = s->round->floor_ms,
        .sample_seconds = s->round->request->sample_seconds / MEASURE_PACK_SHARE,
        .keep = true,
    };

    if (run->invocation->pack_count == 0)
        return true;
    if (!measure(&job, &times, error))
        return false;
    outcome->pack_ms = times.median_ms;
    return true;
}

static bool time_config(struct state *s, struct invocation *invocation, bool keep,
                        struct evaluation *outcome, GError **error)
{
    struct workbench_run run = {&s->bench, invocation};
    struct measure_job job = {
        .device = s->round->device,
        .run = workbench_run,
        .data = &run,
        .floor_ms = s->round->floor_ms,
        .sample_seconds = s->round->request->sample_seconds,
        .best_ms = s->best_ms,
        .keep = keep,
        .alone = s->round->request->configs->len == 1,
    };

    outcome->cold = workbench_is_cold(&s->bench);
    return time_packing(s, &run, outcome, error) && workbench_pack_all(&run, error) &&
           workbench_before_timing(&s->bench, error) && measure(&job, &outcome->times, error);
}

static bool has_time(const struct evaluation *outcome)
{
    return outcome->failure == FAILURE_NONE && outcome->times.n > 0;
}

/* Whether the config has a time below another one; 0: there is none. */
static bool is_faster(const struct evaluation *outcome, double than_ms)
{
    return has_time(outcome) && (than_ms <= 0 || outcome->times.median_ms < than_ms);
}

/* Has the device's conditions noted, right after timed runs. */
static void note_conditions(const struct state *s, struct evaluation *outcome)
{
    if (s->round->timed && outcome->times.n > 0)
        s->round->timed(s->round->data, outcome);
}

/* Proves a config that was verified just now. */
static bool prove(struct state *s, struct invocation *invocation, struct evaluation *outcome,
                  GError **error)
{
    const struct eval_request *request = s->round->request;
    const struct proof_limits limits = {
        request->proof_runs > 0 ? request->proof_runs : PROOF_RUNS,
        request->sample_seconds * (request->proof_runs > 0 ? PROOF_ASKED_SHARE : PROOF_SHARE)};
    struct verdict verdict;
    struct proof proof;

    if (!proof_run(&s->bench, invocation, &limits, &proof, &verdict, error))
        return false;
    outcome->proof_runs = proof.runs;
    outcome->proof_kinds = proof_kinds(&proof);
    if (verdict.failure != FAILURE_NONE) {
        outcome_fail(outcome, verdict.failure, verdict.detail);
        return true;
    }
    g_autofree char *text = proof_text(&proof);
    g_strlcpy(outcome->detail, text, sizeof(outcome->detail));
    return true;
}

/* Times a config that was verified, looks at what the timed runs left, and proves it if the request wants each config
 * proved. */
static bool time_and_prove(struct state *s, const struct solution *solution,
                           struct invocation *invocation, bool keep, struct evaluation *outcome,
                           GError **error)
{
    struct verdict verdict;

    if (!time_config(s, invocation, keep, outcome, error) ||
        !workbench_after_timing(&s->bench, invocation, &verdict, error))
        return false;
    if (verdict.failure != FAILURE_NONE) {
        outcome_fail(outcome, verdict.failure, verdict.detail);
        return true;
    }
    note_conditions(s, outcome);
    judge_times(s, solution, outcome);
    return s->round->request->proof_runs == 0 || outcome->failure != FAILURE_NONE ||
           outcome->proof_runs > 0 || prove(s, invocation, outcome, error);
}

/* Prepares, verifies and measures a config. Returns false for an error, which the caller makes the config's failure. */
static bool evaluate(struct state *s, const struct eval_config *config, bool keep,
                     struct evaluation *outcome, GError **error)
{
    struct invocation invocation = {0};
    struct verdict verdict = {0};
    struct solution solution;

    if (!prepare(s, config, &solution, &invocation, error))
        return false;
    bool done = workbench_verify(&s->bench, &invocation, &verdict, error);
    outcome->error = verdict.error;
    outcome->verified_share = done ? workbench_verified_share(&s->bench) : 0;
    if (done && verdict.failure != FAILURE_NONE)
        outcome_fail(outcome, verdict.failure, verdict.detail);
    else if (done && !config->only_verify)
        done = time_and_prove(s, &solution, &invocation, keep, outcome, error);
    invocation_clear(&invocation);
    return done;
}

static bool report(struct state *s, int place, GError **error)
{
    s->standings[place].held = false;
    return s->round->outcome(s->round->data, config_at(s, place), &s->outcomes[place], error);
}

/* Whether the config may win and has no proof yet. */
static bool needs_proof(const struct state *s, const struct evaluation *outcome)
{
    return outcome->proof_runs == 0 && is_faster(outcome, s->limit_ms);
}

/* Evaluates the config at a place of the request's list, and reports its outcome, or holds it back. again: the
 * config was evaluated before. */
static bool run_config(struct state *s, int place, bool again, bool keep, GError **error)
{
    const struct eval_config *config = config_at(s, place);
    struct evaluation outcome = {0};
    gint64 start = g_get_monotonic_time();
    g_autoptr(GError) refused = NULL;

    if (again) { /* it is not proved once more */
        outcome.proof_runs = s->outcomes[place].proof_runs;
        outcome.proof_kinds = s->outcomes[place].proof_kinds;
    }
    if (!s->round->begin(s->round->data, config, error))
        return false;
    if (!evaluate(s, config, keep, &outcome, &refused))
        outcome_refused(s, &outcome, refused);
    if (outcome.proof_runs > 0 && outcome.failure == FAILURE_NONE && !outcome.detail[0])
        g_strlcpy(outcome.detail, s->outcomes[place].detail, sizeof(outcome.detail));
    outcome.eval_seconds = (double)(g_get_monotonic_time() - start) / G_USEC_PER_SEC;
    s->outcomes[place] = outcome;
    s->standings[place] = (struct standing){.held = needs_proof(s, &outcome), .against = s->leader};
    if (is_faster(&outcome, s->best_ms)) {
        s->best_ms = outcome.times.median_ms;
        s->leader = place;
    }
    if (!s->standings[place].held && !report(s, place, error))
        return false;
    if (s->broken)
        g_propagate_error(error, g_steal_pointer(&refused));
    return !s->broken;
}

/* Evaluates all configs except the one at place `except` of the request's list. again: evaluates
 * only configs that have a time. */
static bool run_configs(struct state *s, int except, bool again, struct eval_end *end,
                        GError **error)
{
    for (int i = 0; i < (int)s->round->request->configs->len; i++) {
        if (i == except || (again && !has_time(&s->outcomes[i])))
            continue;
        end->stopped = end->stopped || s->round->stopped(s->round->data);
        if (end->stopped)
            return true;
        if (!run_config(s, i, again, s->round->request->keep, error))
            return false;
    }
    return true;
}

/* The place, in the request's list, of the config that shows drift: the default config if it has
 * a time, else the first config with a time; -1 if none has. */
static int find_baseline(const struct state *s)
{
    int baseline = s->round->request->baseline;

    if (baseline >= 0 && has_time(&s->outcomes[baseline]))
        return baseline;
    for (int i = 0; i < (int)s->round->request->configs->len; i++) {
        if (has_time(&s->outcomes[i]))
            return i;
    }
    return -1;
}

/* Measures the baseline again. end->drift is 0 if it failed this time. */
static bool measure_drift(struct state *s, int baseline, struct eval_end *end, GError **error)
{
    double before_ms = s->outcomes[baseline].times.median_ms;

    end->drift = 0;
    end->stopped = end->stopped || s->round->stopped(s->round->data);
    if (end->stopped)
        return true;
    if (!run_config(s, baseline, true, true, error))
        return false;
    if (s->outcomes[baseline].failure == FAILURE_NONE)
        end->drift = s->outcomes[baseline].times.median_ms / before_ms;
    return true;
}

/* Times that drifted are measured again, not corrected by a factor: configs slow down by different factors. A round
 * that drifts twice is reported with its drift, since a third pass would rarely help. */
static bool check_drift(struct state *s, struct eval_end *end, GError **error)
{
    int baseline = find_baseline(s);

    if (baseline < 0 || end->stopped || s->round->request->configs->len < 2)
        return true;
    if (!measure_drift(s, baseline, end, error))
        return false;
    if (!drift_is_large(end->drift))
        return true;
    end->repeated = true;
    /* After drift the best time so far is no longer comparable: from now on configs are dropped
     * as slow by the baseline's new time. */
    s->best_ms = s->outcomes[baseline].times.median_ms;
    s->leader = baseline;
    s->limit_ms = 0;
    return run_configs(s, baseline, true, end, error) && measure_drift(s, baseline, end, error);
}

static bool measure_all(struct state *s, struct eval_end *end, GError **error)
{
    int first = s->round->request->baseline;

    end->stopped = s->round->stopped(s->round->data);
    if (end->stopped)
        return true;
    if (first >= 0 && !run_config(s, first, false, true, error))
        return false;
    return run_configs(s, first, false, end, error) && check_drift(s, end, error);
}

/* ---- a config's turns ---- */

/* The measure job of a slice, with all that the slice needs besides its config's solution. */
static struct measure_job together_job(const struct state *s, struct workbench_run *run)
{
    return (struct measure_job){.device = s->round->device,
                                .run = workbench_run,
                                .data = run,
                                .floor_ms = s->round->floor_ms};
}

enum turn {
    TURN_FIRST, /* verifies the config, warms it up, and looks at what that left */
    TURN_SLICE, /* readings, and a look at what they left */
    TURN_PROOF, /* proves a config that may win */
};

static bool first_turn(struct state *s, Together *together, int place, struct workbench_run *run,
                       struct evaluation *outcome, struct verdict *verdict, GError **error)
{
    struct measure_job job = together_job(s, run);

    if (!workbench_verify(&s->bench, run->invocation, verdict, error))
        return false;
    outcome->error = verdict->error;
    outcome->verified_share = workbench_verified_share(&s->bench);
    if (verdict->failure != FAILURE_NONE)
        return true;
    memcpy(s->standings[place].results, s->bench.results, sizeof(s->bench.results));
    outcome->cold = workbench_is_cold(&s->bench);
    return time_packing(s, run, outcome, error) && workbench_pack_all(run, error) &&
           workbench_before_timing(&s->bench, error) &&
           together_warm_up(together, place, &job, error) &&
           workbench_after_timing(&s->bench, run->invocation, verdict, error);
}

static bool slice_turn(struct state *s, Together *together, int place, struct workbench_run *run,
                       struct verdict *verdict, GError **error)
{
    struct measure_job job = together_job(s, run);

    return workbench_pack_all(run, error) && workbench_before_slice(&s->bench, error) &&
           together_slice(together, place, &job, error) &&
           workbench_after_slice(&s->bench, run->invocation, s->standings[place].results, verdict,
                                 error);
}

static bool proof_turn(struct state *s, struct workbench_run *run, struct evaluation *outcome,
                       struct verdict *verdict, GError **error)
{
    return workbench_verify(&s->bench, run->invocation, verdict, error) &&
           (verdict->failure != FAILURE_NONE || prove(s, run->invocation, outcome, error));
}

/* A config's turn. together: NULL for a proof. */
static bool take_turn(struct state *s, Together *together, int place, enum turn turn,
                      struct evaluation *outcome, GError **error)
{
    struct invocation invocation = {0};
    struct verdict verdict = {0};
    struct solution solution;

    if (!prepare(s, config_at(s, place), &solution, &invocation, error))
        return false;
    struct workbench_run run = {&s->bench, &invocation};
    bool done = turn == TURN_FIRST ? first_turn(s, together, place, &run, outcome, &verdict, error)
                : turn == TURN_SLICE ? slice_turn(s, together, place, &run, &verdict, error)
                                     : proof_turn(s, &run, outcome, &verdict, error);
    if (done && verdict.failure != FAILURE_NONE)
        outcome_fail(outcome, verdict.failure, verdict.detail);
    invocation_clear(&invocation);
    return done;
}

/* Takes the config out if it fails. False only if the round has to end. */
static bool run_turn(struct state *s, Together *together, int place, enum turn turn, GError **error)
{
    struct evaluation *outcome = &s->outcomes[place];
    gint64 start = g_get_monotonic_time();
    g_autoptr(GError) refused = NULL;

    if (!s->round->begin(s->round->data, config_at(s, place), error))
        return false;
    if (turn == TURN_FIRST)
        *outcome = (struct evaluation){0};
    if (!take_turn(s, together, place, turn, outcome, &refused))
        outcome_refused(s, outcome, refused);
    outcome->eval_seconds += (double)(g_get_monotonic_time() - start) / G_USEC_PER_SEC;
    if (outcome->failure == FAILURE_NONE)
        return true;
    if (together)
        together_drop(together, place);
    if (s->broken) {
        s->round->outcome(s->round->data, config_at(s, place), outcome, NULL);
        g_propagate_error(error, g_steal_pointer(&refused));
    }
    return !s->broken;
}

/* ---- the round's winner ---- */

/* The place of the fastest config that waits for a proof; -1 if none does. */
static int fastest_held(const struct state *s)
{
    int fastest = -1;

    for (int i = 0; i < (int)s->round->request->configs->len; i++) {
        if (s->standings[i].held &&
            (fastest < 0 || is_faster(&s->outcomes[i], s->outcomes[fastest].times.median_ms)))
            fastest = i;
    }
    return fastest;
}

/* Measures again the configs that were dropped by the time of one that was found wrong. They are compared with the
 * fastest of the others. */
static bool measure_dropped(struct state *s, int wrong, struct eval_end *end, GError **error)
{
    int count = (int)s->round->request->configs->len;

    s->leader = fastest_held(s);
    s->best_ms = s->leader >= 0 ? s->outcomes[s->leader].times.median_ms : s->limit_ms;
    for (int i = 0; i < count; i++) {
        const struct evaluation *outcome = &s->outcomes[i];
        bool dropped =
            outcome->failure == FAILURE_SLOW || (has_time(outcome) && outcome->times.lost);
        if (!dropped || s->standings[i].against != wrong)
            continue;
        end->stopped = end->stopped || s->round->stopped(s->round->data);
        if (end->stopped)
            return true;
        if (!run_config(s, i, true, s->round->request->keep, error))
            return false;
    }
    return true;
}

/* Proves the fastest config, and the next fastest one if that is wrong; then reports all outcomes that were held back. A
 * round that was stopped is proved, too, since its outcomes are kept. */
static bool prove_winner(struct state *s, struct eval_end *end, GError **error)
{
    int place;

    while ((place = fastest_held(s)) >= 0) {
        if (!run_turn(s, NULL, place, TURN_PROOF, error) || !report(s, place, error))
            return false;
        if (s->outcomes[place].failure == FAILURE_NONE)
            break;
        if (!measure_dropped(s, place, end, error))
            return false;
    }
    for (int i = 0; i < (int)s->round->request->configs->len; i++) {
        if (s->standings[i].held && !report(s, i, error))
            return false;
    }
    return true;
}

static bool run_all(struct state *s, struct eval_end *end, GError **error)
{
    return measure_all(s, end, error) && prove_winner(s, end, error);
}

/* ---- measured together ---- */

/* Reports the outcome of each config, the failed ones, too. */
static bool report_together(struct state *s, const Together *together, GError **error)
{
    for (int i = 0; i < (int)s->round->request->configs->len; i++) {
        struct evaluation *outcome = &s->outcomes[i];
        struct solution solution;
        if (outcome->failure == FAILURE_NONE) {
            together_sum_up(together, i, &outcome->times, &outcome->low_ms, &outcome->high_ms);
            solution_init(&solution);
            if (solver_solve(solver_of(s, config_at(s, i)), &s->round->request->problem,
                             &s->context, &config_at(s, i)->config, &solution, error))
                judge_times(s, &solution, outcome);
            else
                return false;
        }
        note_conditions(s, outcome);
        if (!s->round->outcome(s->round->data, config_at(s, i), outcome, error))
            return false;
    }
    return true;
}

static bool run_turns(struct state *s, Together *together, struct eval_end *end, GError **error)
{
    int count = (int)s->round->request->configs->len;

    for (int turn = -1; turn < 0 || together_goes_on(together); turn++) {
        end->stopped = end->stopped || s->round->stopped(s->round->data);
        if (end->stopped)
            return true;
        for (int i = 0; i < count; i++) {
            int place = (i + MAX(turn, 0)) % count;
            if (turn >= 0 && !together_takes_part(together, place))
                continue;
            if (!run_turn(s, together, place, turn < 0 ? TURN_FIRST : TURN_SLICE, error))
                return false;
        }
    }
    for (int i = 0; i < count; i++) {
        if (together_may_win(together, i) && !run_turn(s, together, i, TURN_PROOF, error))
            return false;
    }
    end->drift = together_drift(together);
    return report_together(s, together, error);
}

static bool run_together(struct state *s, struct eval_end *end, GError **error)
{
    Together *together =
        together_new((int)s->round->request->configs->len, s->round->request->together_seconds);
    bool done = run_turns(s, together, end, error);

    together_free(together);
    return done;
}

static bool check_target(const struct eval_round *round, GError **error)
{
    const struct target *mine = &round->device->row->info(round->device)->target;

    if (g_str_equal(mine->id, round->request->target.id))
        return true;
    g_set_error(error, WORKER_ERROR, WORKER_ERROR_INVALID,
                "the request is for target %s and this device is %s", round->request->target.id,
                mine->id);
    return false;
}

/* The program of the device's judge. NULL if the request names none, or if it does not load: the
 * host then verifies. */
static struct device_program *find_judge(const struct eval_round *round, struct eval_end *end)
{
    g_autoptr(GError) refusal = NULL;
    struct device_program *judge = NULL;

    if (!round->request->judge[0])
        return NULL;
    judge = eval_kernels_program(round->kernels, round->request->judge, &refusal);
    if (refusal)
        g_strlcpy(end->refusal, refusal->message, sizeof(end->refusal));
    return judge;
}

static bool open_bench(struct eval_round *round, struct workbench *bench, struct eval_end *end,
                       GError **error)
{
    const struct eval_request *request = round->request;
    const struct workbench_means means = {find_judge(round, end), round->judges, round->references};

    return workbench_open(bench, round->device, &request->problem, request->seed, &means, error);
}

/* Fills in who verified. Call it at the end of the round: the workbench may have given up its
 * judge during the round. */
static void tell_verifying(const struct workbench *bench, struct eval_end *end)
{
    end->by_device = workbench_judges(bench);
    end->doubted = g_error_matches(bench->refusal, WORKER_ERROR, WORKER_ERROR_DOUBT);
    if (bench->refusal)
        g_strlcpy(end->refusal, bench->refusal->message, sizeof(end->refusal));
}

bool eval_round_run(struct eval_round *round, struct eval_end *end, GError **error)
{
    const struct eval_request *request = round->request;
    struct state s = {
        .round = round, .best_ms = request->best_ms, .leader = -1, .limit_ms = request->best_ms};

    *end = (struct eval_end){0};
    if (!check_target(round, error) || !open_bench(round, &s.bench, end, error))
        return false;
    s.bench.varies = request->solver->nondeterministic;
    context_init(&s.context, &request->target);
    context_set_limits(&s.context, &request->limits);
    s.outcomes = g_new0(struct evaluation, request->configs->len + 1);
    s.standings = g_new0(struct standing, request->configs->len + 1);
    for (guint i = 0; i < request->configs->len; i++)
        s.outcomes[i].failure = FAILURE_PENDING;
    /* The sync waits for work that the last config left on the device, which belongs to this
     * round's busy seconds. */
    bool done =
        (request->together_seconds > 0 ? run_together(&s, end, error) : run_all(&s, end, error)) &&
        round->device->row->sync(round->device, error);
    g_free(s.outcomes);
    g_free(s.standings);
    tell_verifying(&s.bench, end);
    workbench_close(&s.bench);
    return done;
}

bool eval_round_finds_memory(struct device *device)
{
    const struct device_info *info = device->row->info(device);
    int64_t bytes = MIN(info->memory_bytes / USEFUL_SHARE, info->largest_bytes);
    struct device_memory *memory = device->row->alloc(device, bytes, NULL);

    if (memory)
        device->row->memory_free(memory);
    return memory != NULL;
}
