#include "coordinator/network/autotune/autotune.h"

#include "coordinator/cli/cli.h"
#include "coordinator/network/autotune/finals.h"
#include "coordinator/network/autotune/trial.h"
#include "coordinator/plan/plan.h"
#include "schema/monitor/version.h"
#include "solvers/framework/solver.h"
#include "solvers/problem/problem_key.h"

#include <math.h>
#include <string.h>

/* ---- the file ---- */

static char *now_text(void)
{
    g_autoptr(GDateTime) now = g_date_time_new_now_utc();
    return g_date_time_format(now, "%Y-%m-%dT%H:%M:%SZ");
}

static void set_text(char **text, const char *value)
{
    g_free(*text);
    *text = g_strdup(value);
}

static void set_joined(char **text, char *const *files)
{
    g_free(*text);
    *text = files ? g_strjoinv(",", (char **)(uintptr_t)files) : NULL;
}

static void describe(struct autotune *tune)
{
    struct tuned_file *file = &tune->file;
    const struct model *model = tune->model;
    file->version = TUNED_VERSION;
    file->winner = -1;
    file->batch = model->batch;
    file->seed = (gint64)model->wish->seed;
    set_text(&file->network, model->name);
    set_text(&file->model, model->wish->path);
    set_text(&file->model_sha256, model->sha256);
    set_text(&file->target, tune->tuning.machine.target.id);
    set_text(&file->device, tune->tuning.machine.device);
    set_text(&file->stack, tune->tuning.machine.stack);
    set_text(&file->program, SKIPJACK_VERSION);
    g_free(file->calibration);
    file->calibration = model_calibration(model);
    set_joined(&file->samples, model->wish->calibrate);
    set_joined(&file->inputs, model->wish->inputs);
    set_joined(&file->dims, model->wish->dims);
}

/* Why the file's results cannot be taken over; NULL if they can. */
static const char *why_not(const struct autotune *tune, const struct tuned_file *old)
{
    if (g_strcmp0(old->model_sha256, tune->file.model_sha256) != 0)
        return "it is of another model";
    if (g_strcmp0(old->target, tune->file.target) != 0)
        return "it is of another target";
    if (g_strcmp0(old->stack, tune->file.stack) != 0)
        return "it was made by other software";
    if (old->batch != tune->file.batch)
        return "it has another batch";
    if (g_strcmp0(old->dims, tune->file.dims) != 0)
        return "it was made with another --dim";
    if (old->seed != tune->file.seed || g_strcmp0(old->calibration, tune->file.calibration) != 0 ||
        g_strcmp0(old->samples, tune->file.samples) != 0 ||
        g_strcmp0(old->inputs, tune->file.inputs) != 0)
        return "it was made with other samples";
    return NULL;
}

static bool solvers_are_current(const struct tuned_combination *combination)
{
    for (int i = 0; i < combination->step_count; i++) {
        const struct tuned_step *step = &combination->steps[i];
        const struct solver *solver = solver_find(step->solver);
        if (!solver || solver->revision != step->revision || step->pinned || step->estimated)
            return false;
    }
    return true;
}

/* Keeps the combinations that need no new work. */
static void take_over(struct autotune *tune, struct tuned_file *old)
{
    int taken = 0;
    for (int i = 0; i < old->count; i++) {
        struct tuned_combination *from = &old->combinations[i];
        struct combination values;
        if (from->state != COMBINATION_MEASURED || tune->pins->len > 0 ||
            !solvers_are_current(from))
            continue;
        tuned_combination_values(from, &values);
        *tuned_file_add(&tune->file, &values) = *from;
        memset(from, 0, sizeof *from); /* its texts belong to the new file */
        taken++;
    }
    if (taken > 0)
        cli_note("%d of the combinations are in '%s' already\n", taken, tune->path);
}

/* A file there that autotune did not write is not overwritten. */
static bool read_old(struct autotune *tune, GError **error)
{
    struct tuned_file old;
    if (!g_file_test(tune->path, G_FILE_TEST_EXISTS))
        return true;
    bool read = tuned_file_read(&old, tune->path, error);
    if (!read)
        g_prefix_error(error,
                       "'%s' is in the way, name another file with -o or remove it: ", tune->path);
    else if (why_not(tune, &old))
        cli_note("'%s' is written anew: %s\n", tune->path, why_not(tune, &old));
    else
        take_over(tune, &old);
    tuned_file_clear(&old);
    return read;
}

bool autotune_open(struct autotune *tune, const struct request *request, const char *log,
                   GError **error)
{
    if (!tuning_open(&tune->tuning, request, log, error))
        return false;
    describe(tune);
    if (!read_old(tune, error))
        return false;
    cli_note("tuning on %s (%s, %s)\n", tune->file.device, tune->file.target, tune->file.stack);
    return true;
}

void autotune_clear(struct autotune *tune)
{
    tuning_clear(&tune->tuning);
    tuned_file_clear(&tune->file);
}

/* A file without combinations says nothing, and its reader refuses it. */
static bool write_file(struct autotune *tune, GError **error)
{
    if (tune->file.count == 0)
        return true;
    g_free(tune->file.created);
    tune->file.created = now_text();
    tuned_file_choose(&tune->file);
    return tuned_file_write(&tune->file, tune->path, error);
}

/* ---- bounds ---- */

double plan_bound_ms(const struct network_plan *plan, const struct target *target)
{
    double ms = 0;
    for (guint i = 0; i < plan->steps->len; i++) {
        const struct problem *p = &plan_step_at(plan, (int)i)->problem;
        double products = p->kind == OP_CONV ? problem_macs(p) : 0;
        /* Every algorithm needs a product for each output element and input channel. */
        for (int a = 0; a < AXIS_COUNT; a++)
            products /= (double)p->fil[a];
        ms += target_least_ms(target, problem_peak_type(p), 2 * products);
    }
    return ms;
}

static const struct tuned_combination *best_of(const struct tuned_file *file)
{
    const struct tuned_combination *best = NULL;
    for (int i = 0; i < file->count; i++) {
        const struct tuned_combination *c = &file->combinations[i];
        if (c->state == COMBINATION_MEASURED && (!best || c->pipeline_ms < best->pipeline_ms))
            best = c;
    }
    return best;
}

/* ---- one combination ---- */

static bool pin_fits(const struct pin *pin, const struct plan_step *step,
                     const struct target *target)
{
    if (pin->step && strcmp(pin->step, step->name) != 0)
        return false;
    struct choice *choice =
        choice_pinned(&step->problem, target, pin->solver, pin->config, INT64_MAX, NULL);
    choice_free(choice);
    return choice != NULL;
}

static const struct pin *pin_of(const struct autotune *tune, const struct plan_step *step)
{
    for (guint i = 0; i < tune->pins->len; i++) {
        const struct pin *pin = &g_array_index(tune->pins, struct pin, i);
        if (pin_fits(pin, step, &tune->tuning.machine.target))
            return pin;
    }
    return NULL;
}

static bool pin_fits_any(const struct pin *pin, const GPtrArray *plans, const struct target *target)
{
    for (guint p = 0; p < plans->len; p++) {
        const struct network_plan *plan = g_ptr_array_index(plans, p);
        for (guint i = 0; i < plan->steps->len; i++) {
            if (pin_fits(pin, plan_step_at(plan, (int)i), target))
                return true;
        }
    }
    return false;
}

bool pins_check(const GArray *pins, const GPtrArray *plans, const struct target *target,
                GError **error)
{
    for (guint i = 0; i < pins->len; i++) {
        const struct pin *pin = &g_array_index(pins, struct pin, i);
        if (pin_fits_any(pin, plans, target))
            continue;
        g_set_error(error, COORDINATOR_ERROR, COORDINATOR_ERROR_USAGE,
                    "--knob: %s with the config '%s' can do no step%s%s%s; skipjack run-network "
                    "--layers lists the steps",
                    pin->solver, pin->config, pin->step ? " '" : "", pin->step ? pin->step : "",
                    pin->step ? "'" : " of the network");
        return false;
    }
    return true;
}

static GArray *problems_of_plan(const struct autotune *tune, const struct network_plan *plan)
{
    GArray *problems = g_array_new(FALSE, TRUE, sizeof(struct plan_problem));
    for (guint i = 0; i < plan->steps->len; i++) {
        const struct plan_step *step = plan_step_at(plan, (int)i);
        if (!pin_of(tune, step))
            plan_add_problem(problems, &step->problem, 1);
    }
    plan_merge_problems(problems);
    return problems;
}

/* For a step of which no config was measured: none was right, none of the solvers asked for serves it, or a deadline
 * passed. The pipeline verifies it where it runs, as it does all steps. */
static struct choice *stand_in(const struct autotune *tune, const struct plan_step *step,
                               GError **error)
{
    char key[PROBLEM_KEY_MAX];
    struct choice *choice = choice_by_estimate(&step->problem, &tune->tuning.machine.target);
    if (choice)
        cli_note("  step '%s' is untuned: no config of any solver was measured for it; %s%s%s does "
                 "it, by its estimate\n",
                 step->name, choice->solver, choice->config[0] ? " " : "", choice->config);
    else
        g_set_error(error, COORDINATOR_ERROR, COORDINATOR_ERROR_EMPTY,
                    "no config of any solver was measured for %s, and none serves it by default",
                    problem_key(&step->problem, key));
    return choice;
}

static struct choice *choose(const struct plan_step *step, int index, void *data, GError **error)
{
    const struct autotune *tune = data;
    const struct pin *pin = pin_of(tune, step);
    (void)index;
    if (pin)
        return choice_pinned(&step->problem, &tune->tuning.machine.target, pin->solver, pin->config,
                             INT64_MAX, error);
    const struct choice *tuned = tuning_choice(&tune->tuning, &step->problem);
    if (!tuned)
        return stand_in(tune, step, error);
    struct choice *choice =
        choice_pinned(&step->problem, &tune->tuning.machine.target, tuned->solver, tuned->config,
                      tuned->workspace_bytes, error);
    if (choice) {
        choice->median_ms = tuned->median_ms;
        choice->spread = tuned->spread;
    }
    return choice;
}

static void fail(struct tuned_combination *combination, GError *error)
{
    combination->state = COMBINATION_FAILED;
    set_text(&combination->reason, error->message);
    cli_note("  it failed: %s\n", error->message);
    g_error_free(error);
}

static enum autotune_end run_pipeline(struct autotune *tune, const struct network_plan *plan,
                                      struct tuned_combination *combination)
{
    struct trial trial;
    GError *why = NULL;
    int caught = 0;
    double bound_ms = combination->bound_ms;
    bool ran =
        trial_init(&trial, tune->model, &tune->tuning.machine.target, plan, choose, tune, &why);
    trial.sample_seconds = tune->sample_seconds;
    ran = ran && trial_run(&trial, combination, NULL, NULL, &caught, &why);
    trial_clear(&trial);
    combination->bound_ms = bound_ms;
    if (caught) {
        g_clear_error(&why);
        return AUTOTUNE_INTERRUPTED;
    }
    if (!ran)
        fail(combination, why);
    else if (combination->state == COMBINATION_WRONG)
        cli_note("  it is wrong: %s\n", combination->reason);
    else
        cli_note("  pipeline %.4f ms, sum of its %d steps %.4f ms\n", combination->pipeline_ms,
                 combination->step_count, combination->sum_ms);
    return AUTOTUNE_DONE;
}

static bool is_pruned(const struct autotune *tune, struct tuned_combination *combination)
{
    const struct tuned_combination *best = best_of(&tune->file);
    if (!tune->prunes || !best || combination->bound_ms < best->pipeline_ms)
        return false;
    struct combination values;
    tuned_combination_values(best, &values);
    g_autofree char *knobs = combination_text(&values);
    combination->state = COMBINATION_PRUNED;
    g_free(combination->reason);
    combination->reason =
        g_strdup_printf("its products alone take %.4f ms at the target's peak; %s takes %.4f ms",
                        combination->bound_ms, knobs, best->pipeline_ms);
    cli_note("  it cannot win: %s\n", combination->reason);
    return true;
}

static enum autotune_end end_of(enum supervise_end end)
{
    switch (end) {
    case SUPERVISE_DONE: return AUTOTUNE_DONE;
    case SUPERVISE_OVERDUE: return AUTOTUNE_OVERDUE;
    case SUPERVISE_INTERRUPTED: return AUTOTUNE_INTERRUPTED;
    case SUPERVISE_FAILED: break;
    }
    return AUTOTUNE_FAILED;
}

static enum autotune_end do_combination(struct autotune *tune, const struct combination *values,
                                        const struct network_plan *plan, double bound_ms,
                                        GError **error)
{
    g_autofree char *knobs = combination_text(values);
    const char *wanted = tune->tuning.base->name;
    g_autofree char *name = g_strdup_printf("%s %s", wanted ? wanted : tune->model->name, knobs);
    struct tuned_combination *combination = tuned_file_add(&tune->file, values);
    combination->bound_ms = bound_ms;
    combination->state =
        COMBINATION_FAILED; /* until it is known, and no earlier than all else is */
    if (is_pruned(tune, combination))
        return AUTOTUNE_DONE;
    g_autoptr(GArray) problems = problems_of_plan(tune, plan);
    enum autotune_end end = end_of(tuning_run(&tune->tuning, name, problems, error));
    if (end == AUTOTUNE_FAILED || end == AUTOTUNE_INTERRUPTED)
        return end;
    enum autotune_end ran = run_pipeline(tune, plan, combination);
    return ran == AUTOTUNE_DONE ? end : ran;
}

/* ---- all of them ---- */

struct planned {
    const struct combination *values;
    struct network_plan *plan;
    double bound_ms;
};

static int lower_bound_first(gconstpointer a, gconstpointer b)
{
    const struct planned *left = a, *right = b;
    return left->bound_ms < right->bound_ms ? -1 : left->bound_ms > right->bound_ms;
}

static void planned_clear(gpointer data)
{
    network_plan_free(((struct planned *)data)->plan);
}

static void plan_combination(struct autotune *tune, const struct combination *values,
                             GArray *planned)
{
    GError *why = NULL;
    g_autofree char *knobs = combination_text(values);
    struct planned next = {values, NULL, 0};
    const struct tuned_combination *known = tuned_file_find(&tune->file, values);
    if (known)
        return;
    next.plan = model_plan(tune->model, values, &tune->tuning.machine.target, &why);
    if (!next.plan) {
        cli_note("%s:\n", knobs);
        fail(tuned_file_add(&tune->file, values), why);
        return;
    }
    next.bound_ms = plan_bound_ms(next.plan, &tune->tuning.machine.target);
    g_array_append_val(planned, next);
}

/* Plans those that are to be done. Those with the lowest bounds are done first: what they take prunes others. */
static GArray *plan_all(struct autotune *tune)
{
    GArray *planned = g_array_new(FALSE, TRUE, sizeof(struct planned));
    g_array_set_clear_func(planned, planned_clear);
    for (guint i = 0; i < tune->combinations->len; i++)
        plan_combination(tune, &g_array_index(tune->combinations, struct combination, i), planned);
    g_array_sort(planned, lower_bound_first);
    return planned;
}

static bool check_pins(const struct autotune *tune, const GArray *planned, GError **error)
{
    g_autoptr(GPtrArray) plans = g_ptr_array_new();
    for (guint i = 0; i < planned->len; i++)
        g_ptr_array_add(plans, g_array_index(planned, struct planned, i).plan);
    return plans->len == 0 || pins_check(tune->pins, plans, &tune->tuning.machine.target, error);
}

static enum autotune_end run_finals(struct autotune *tune, GError **error)
{
    int caught = 0;
    if (!finals_run(tune, &caught, error))
        return AUTOTUNE_FAILED;
    return caught ? AUTOTUNE_INTERRUPTED : AUTOTUNE_DONE;
}

enum autotune_end autotune_run(struct autotune *tune, GError **error)
{
    enum autotune_end end = AUTOTUNE_DONE;
    g_autoptr(GArray) planned = plan_all(tune);
    if (!check_pins(tune, planned, error))
        return AUTOTUNE_FAILED;
    if (planned->len > 0)
        finals_forget(&tune->file);
    for (guint i = 0; i < planned->len && end == AUTOTUNE_DONE; i++) {
        const struct planned *next = &g_array_index(planned, struct planned, i);
        g_autofree char *knobs = combination_text(next->values);
        cli_note("%u of %u: %s (%u steps)\n", i + 1, planned->len, knobs, next->plan->steps->len);
        int before = tune->file.count;
        end = do_combination(tune, next->values, next->plan, next->bound_ms, error);
        if (end == AUTOTUNE_INTERRUPTED || end == AUTOTUNE_FAILED) {
            /* what is not done is not in the file, so that the same command goes on with it */
            while (tune->file.count > before)
                tuned_combination_clear(&tune->file.combinations[--tune->file.count]);
        }
        if (end != AUTOTUNE_FAILED && !write_file(tune, error))
            return AUTOTUNE_FAILED;
    }
    if (end == AUTOTUNE_DONE)
        end = run_finals(tune, error);
    if (end != AUTOTUNE_FAILED && !write_file(tune, error))
        return AUTOTUNE_FAILED;
    return end;
}
