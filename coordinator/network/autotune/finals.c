#include "coordinator/network/autotune/finals.h"

#include "coordinator/cli/cli.h"
#include "coordinator/network/autotune/trial.h"
#include "coordinator/network/autotune/turns.h"

#include <string.h>

#define RIVALS_MAX 2 /* configs of other combinations that are tried for a step */

/* A combination that was measured. */
struct entrant {
    int index; /* in the file */
    struct network_plan *plan;
    struct choice **choices; /* for each step: what is to do it */
    bool has_exchanged;      /* a choice came from another combination just now */
};

struct finals {
    struct autotune *tune;
    GArray *entrants; /* struct entrant: all that were measured, the quickest first */
    int finalists;    /* the first so many of them */
};

static struct tuned_combination *combination_of(const struct finals *finals,
                                                const struct entrant *entrant)
{
    return &finals->tune->file.combinations[entrant->index];
}

static struct entrant *entrant_at(const struct finals *finals, int place)
{
    return &g_array_index(finals->entrants, struct entrant, (guint)place);
}

void finals_forget(struct tuned_file *file)
{
    for (int i = 0; i < file->count; i++) {
        struct tuned_combination *c = &file->combinations[i];
        c->final_ms = c->final_ratio = c->final_low = c->final_high = 0;
        c->final_turns = 0;
    }
}

/* ---- who takes part ---- */

static int quickest_first(gconstpointer a, gconstpointer b, gpointer data)
{
    const struct tuned_file *file = data;
    double left = file->combinations[((const struct entrant *)a)->index].pipeline_ms;
    double right = file->combinations[((const struct entrant *)b)->index].pipeline_ms;
    return left < right ? -1 : left > right;
}

static void find_entrants(struct finals *finals)
{
    struct tuned_file *file = &finals->tune->file;
    for (int i = 0; i < file->count; i++) {
        const struct entrant entrant = {.index = i};
        if (file->combinations[i].state == COMBINATION_MEASURED)
            g_array_append_val(finals->entrants, entrant);
    }
    g_array_sort_with_data(finals->entrants, quickest_first, file);
    for (int i = 0; i < (int)finals->entrants->len && i < FINALISTS_MAX; i++) {
        double best_ms = combination_of(finals, entrant_at(finals, 0))->pipeline_ms;
        if (combination_of(finals, entrant_at(finals, i))->pipeline_ms <= FINALIST_SLOWER * best_ms)
            finals->finalists++;
    }
}

/* Whether the file has it already. New combinations make the file forget (finals_forget()), so any place will do. */
static bool is_done(const struct tuned_file *file)
{
    for (int i = 0; i < file->count; i++) {
        if (file->combinations[i].final_ms > 0)
            return true;
    }
    return false;
}

static bool plan_entrant(struct finals *finals, struct entrant *entrant, GError **error)
{
    const struct tuned_combination *combination = combination_of(finals, entrant);
    struct combination values;
    tuned_combination_values(combination, &values);
    entrant->plan =
        model_plan(finals->tune->model, &values, &finals->tune->tuning.machine.target, error);
    if (!entrant->plan)
        return false;
    if ((int)entrant->plan->steps->len != combination->step_count) {
        g_set_error(error, COORDINATOR_ERROR, COORDINATOR_ERROR_USAGE,
                    "'%s' has %d steps for a plan of %u: remove it and tune again",
                    finals->tune->path, combination->step_count, entrant->plan->steps->len);
        return false;
    }
    entrant->choices = g_new0(struct choice *, (gsize)combination->step_count + 1);
    for (int i = 0; i < combination->step_count; i++) {
        entrant->choices[i] =
            trial_choice(&combination->steps[i], &plan_step_at(entrant->plan, i)->problem,
                         &finals->tune->tuning.machine.target, error);
        if (!entrant->choices[i])
            return false;
    }
    return true;
}

static void entrant_clear(struct entrant *entrant)
{
    for (guint i = 0; entrant->choices && i < entrant->plan->steps->len; i++)
        choice_free(entrant->choices[i]);
    g_free(entrant->choices);
    network_plan_free(entrant->plan);
}

/* ---- exchanging configs ---- */

/* A combination and the configs that are tried in it. */
struct exchange {
    const struct finals *finals;
    struct entrant *entrant;
    struct choice *(*rivals)[RIVALS_MAX]; /* for each step; owned */
    int rank;                             /* the rivals that the trial takes; -1: its own configs */
    int ranks;                            /* most rivals of a step */
};

static bool is_same_config(const struct choice *a, const struct choice *b)
{
    return strcmp(a->solver, b->solver) == 0 && strcmp(a->config, b->config) == 0;
}

static void add_rival(struct exchange *exchange, int step, const struct tuned_step *tuned)
{
    struct choice **rivals = exchange->rivals[step];
    const struct entrant *entrant = exchange->entrant;
    int count = 0;
    while (count < RIVALS_MAX && rivals[count])
        count++;
    if (count == RIVALS_MAX)
        return;
    struct choice *rival = trial_choice(tuned, &plan_step_at(entrant->plan, step)->problem,
                                        &exchange->finals->tune->tuning.machine.target, NULL);
    bool is_new = rival && !is_same_config(rival, entrant->choices[step]);
    for (int i = 0; i < count; i++)
        is_new = is_new && !is_same_config(rival, rivals[i]);
    if (!is_new) {
        choice_free(rival);
        return;
    }
    /* Its time alone was measured with the other epilogue. */
    rival->median_ms = rival->spread = 0;
    rival->is_exchanged = true;
    rivals[count] = rival;
    exchange->ranks = MAX(exchange->ranks, count + 1);
}

/* Steps of other combinations that are the same operator. A step that the user pinned stays as it is. */
static void find_rivals(struct exchange *exchange, int step)
{
    const struct finals *finals = exchange->finals;
    const struct plan_step *own = plan_step_at(exchange->entrant->plan, step);
    if (combination_of(finals, exchange->entrant)->steps[step].pinned)
        return;
    for (int e = 0; e < (int)finals->entrants->len; e++) {
        const struct entrant *other = entrant_at(finals, e);
        for (int i = 0; other != exchange->entrant && i < (int)other->plan->steps->len; i++) {
            const struct tuned_step *tuned = &combination_of(finals, other)->steps[i];
            if (!tuned->estimated &&
                problem_equal(&plan_step_at(other->plan, i)->alone, &own->alone))
                add_rival(exchange, step, tuned);
        }
    }
}

static struct choice *choose_rival(const struct plan_step *step, int index, void *data,
                                   GError **error)
{
    const struct exchange *exchange = data;
    const struct choice *own = exchange->entrant->choices[index];
    const struct choice *rival =
        exchange->rank < 0 ? NULL : exchange->rivals[index][exchange->rank];
    (void)step;
    (void)error;
    return choice_copy(rival ? rival : own);
}

/* The times of all steps with the problem of step `first`, in each turn. */
static double *turns_of_problem(const struct trial *trial, int first)
{
    const struct problem *problem = &plan_step_at(trial->plan, first)->problem;
    double *sums = g_new0(double, (gsize)trial->turns + 1);
    for (int i = first; i < (int)trial->plan->steps->len; i++) {
        if (!problem_equal(&plan_step_at(trial->plan, i)->problem, problem))
            continue;
        for (int t = 0; t < trial->turns; t++)
            sums[t] += trial->step_turns_ms[(gsize)i * (gsize)trial->turns + (gsize)t];
    }
    return sums;
}

/* The rank of the rival that is clearly the quickest for the problem of step `first`; -1: none is quicker. */
static int best_rank(const struct exchange *exchange, const struct trial *trials, int first)
{
    g_autofree double *own = turns_of_problem(&trials[0], first);
    double best = 1;
    int found = -1;
    for (int rank = 0; rank < exchange->ranks; rank++) {
        const struct trial *trial = &trials[1 + rank];
        struct turns_ratio ratio;
        if (!exchange->rivals[first][rank] || trial->turns != trials[0].turns)
            continue;
        g_autofree double *times = turns_of_problem(trial, first);
        turns_compare(times, own, trial->turns, &ratio);
        if (!turns_within_noise(&ratio) && ratio.median < best) {
            best = ratio.median;
            found = rank;
        }
    }
    return found;
}

static bool is_first_of_problem(const struct network_plan *plan, int step)
{
    for (int i = 0; i < step; i++) {
        if (problem_equal(&plan_step_at(plan, i)->problem, &plan_step_at(plan, step)->problem))
            return false;
    }
    return true;
}

/* Takes the rival for all steps of the problem. */
static void take_rival(struct exchange *exchange, int first, int rank)
{
    struct entrant *entrant = exchange->entrant;
    const struct problem *problem = &plan_step_at(entrant->plan, first)->problem;
    for (int i = first; i < (int)entrant->plan->steps->len; i++) {
        if (!exchange->rivals[i][rank] ||
            !problem_equal(&plan_step_at(entrant->plan, i)->problem, problem))
            continue;
        choice_free(entrant->choices[i]);
        entrant->choices[i] = g_steal_pointer(&exchange->rivals[i][rank]);
        entrant->has_exchanged = true;
    }
}

static void take_better(struct exchange *exchange, const struct trial *trials)
{
    const struct network_plan *plan = exchange->entrant->plan;
    int tried = 0, taken = 0;
    for (int i = 0; i < (int)plan->steps->len; i++) {
        if (!exchange->rivals[i][0] || !is_first_of_problem(plan, i))
            continue;
        int rank = best_rank(exchange, trials, i);
        tried++;
        if (rank < 0)
            continue;
        take_rival(exchange, i, rank);
        taken++;
    }
    cli_note("  %d of %d problems take the config of another combination, which is quicker there\n",
             taken, tried);
}

/* Runs the combination with its own configs and with its rivals in turns. A failure is said, and the combination keeps its own
 * configs. */
static void try_rivals(struct exchange *exchange, int *caught)
{
    struct autotune *tune = exchange->finals->tune;
    struct trial trials[1 + RIVALS_MAX] = {0};
    struct tuned_combination runs[1 + RIVALS_MAX] = {0}, *pointers[1 + RIVALS_MAX];
    g_autoptr(GError) why = NULL;
    g_autofree char *no_room = NULL;
    bool ready = true;
    for (int i = 0; i <= exchange->ranks; i++) {
        exchange->rank = i - 1;
        pointers[i] = &runs[i];
        ready = ready && trial_init(&trials[i], tune->model, &tune->tuning.machine.target,
                                    exchange->entrant->plan, choose_rival, exchange, &why);
        trials[i].sample_seconds = tune->sample_seconds;
    }
    bool ran = ready && trials_run(trials, 1 + exchange->ranks, pointers, &no_room, caught, &why);
    if (ran && trials[0].turns > 0)
        take_better(exchange, trials);
    else if (!*caught)
        cli_note("  configs of other combinations were not tried: %s\n", why ? why->message
                                                                         : no_room
                                                                             ? no_room
                                                                             : runs[0].reason);
    for (int i = 0; i <= exchange->ranks; i++) {
        trial_clear(&trials[i]);
        tuned_combination_clear(&runs[i]);
    }
}

static void exchange_configs(const struct finals *finals, struct entrant *entrant, int *caught)
{
    int steps = (int)entrant->plan->steps->len;
    struct exchange exchange = {.finals = finals, .entrant = entrant};
    exchange.rivals = g_malloc0_n((gsize)steps + 1, sizeof *exchange.rivals);
    for (int i = 0; i < steps; i++)
        find_rivals(&exchange, i);
    if (exchange.ranks > 0) {
        struct combination values;
        tuned_combination_values(combination_of(finals, entrant), &values);
        g_autofree char *knobs = combination_text(&values);
        cli_note("%s: trying configs that won in other combinations\n", knobs);
        try_rivals(&exchange, caught);
    }
    for (int i = 0; i < steps; i++) {
        for (int r = 0; r < RIVALS_MAX; r++)
            choice_free(exchange.rivals[i][r]);
    }
    g_free(exchange.rivals);
}

/* ---- measuring again ---- */

/* The finalist's combination is what was run now, with its exchanged configs. */
static void keep_run(const struct finals *finals, const struct entrant *entrant,
                     struct tuned_combination *run)
{
    struct tuned_combination *combination = combination_of(finals, entrant);
    double bound_ms = combination->bound_ms;
    tuned_combination_clear(combination);
    memcpy(run->values, combination->values, sizeof run->values);
    *combination = *run;
    combination->bound_ms = bound_ms;
    memset(run, 0, sizeof *run);
}

/* Puts what came of a finalist's run into the file. */
static void take_final(const struct finals *finals, int place, const struct trial *trials,
                       struct tuned_combination *run, int winner)
{
    const struct entrant *entrant = entrant_at(finals, place);
    struct tuned_combination *combination = combination_of(finals, entrant);
    const struct trial *trial = &trials[place];
    struct combination values;
    tuned_combination_values(combination, &values);
    g_autofree char *knobs = combination_text(&values);
    if (run->state != COMBINATION_MEASURED) {
        cli_note("%s: measured again it is wrong: %s\n", knobs, run->reason);
        if (!entrant->has_exchanged) {
            combination->state = COMBINATION_WRONG;
            g_free(combination->reason);
            combination->reason = g_strdup(run->reason);
        }
        return;
    }
    double final_ms = run->pipeline_ms;
    if (entrant->has_exchanged)
        keep_run(finals, entrant, run);
    if (trial->turns == 0)
        return;
    struct turns_ratio ratio;
    turns_compare(trial->turns_ms, trials[winner].turns_ms, trial->turns, &ratio);
    combination->final_ms = final_ms;
    combination->final_turns = trial->turns;
    combination->final_ratio = ratio.median;
    combination->final_low = ratio.low;
    combination->final_high = ratio.high;
}

static int quickest_run(const struct finals *finals, const struct tuned_combination *runs)
{
    int best = 0;
    for (int i = 1; i < finals->finalists; i++) {
        if (runs[i].state == COMBINATION_MEASURED && (runs[best].state != COMBINATION_MEASURED ||
                                                      runs[i].pipeline_ms < runs[best].pipeline_ms))
            best = i;
    }
    return best;
}

/* Runs the finalists in turns. */
static void measure_again(const struct finals *finals, int *caught)
{
    struct autotune *tune = finals->tune;
    struct trial trials[FINALISTS_MAX] = {0};
    struct tuned_combination runs[FINALISTS_MAX] = {0}, *pointers[FINALISTS_MAX];
    struct exchange entries[FINALISTS_MAX]; /* whose own configs the choosers take */
    g_autoptr(GError) why = NULL;
    g_autofree char *no_room = NULL;
    bool ready = true;
    cli_note("measuring the quickest %d in turns\n", finals->finalists);
    for (int i = 0; i < finals->finalists; i++) {
        entries[i] =
            (struct exchange){.finals = finals, .entrant = entrant_at(finals, i), .rank = -1};
        pointers[i] = &runs[i];
        ready = ready && trial_init(&trials[i], tune->model, &tune->tuning.machine.target,
                                    entries[i].entrant->plan, choose_rival, &entries[i], &why);
        trials[i].sample_seconds = tune->sample_seconds;
    }
    if (ready && trials_run(trials, finals->finalists, pointers, &no_room, caught, &why)) {
        int winner = quickest_run(finals, runs);
        for (int i = 0; i < finals->finalists; i++)
            take_final(finals, i, trials, &runs[i], winner);
        if (no_room)
            cli_note("  the device has no room for them at once (%s); their first times count\n",
                     no_room);
    } else if (!*caught) {
        cli_note("  they could not be measured again, and their first times count: %s\n",
                 why->message);
    }
    for (int i = 0; i < finals->finalists; i++) {
        trial_clear(&trials[i]);
        tuned_combination_clear(&runs[i]);
    }
}

/* ---- the whole ---- */

static bool run(struct finals *finals, int *caught, GError **error)
{
    bool any_exchanged = false;
    for (int i = 0; i < (int)finals->entrants->len; i++) {
        if (!plan_entrant(finals, entrant_at(finals, i), error))
            return false;
    }
    for (int i = 0; i < finals->finalists && !*caught; i++) {
        exchange_configs(finals, entrant_at(finals, i), caught);
        any_exchanged = any_exchanged || entrant_at(finals, i)->has_exchanged;
    }
    if (!*caught && (finals->finalists > 1 || any_exchanged))
        measure_again(finals, caught);
    return true;
}

bool finals_run(struct autotune *tune, int *caught, GError **error)
{
    struct finals finals = {.tune = tune,
                            .entrants = g_array_new(FALSE, TRUE, sizeof(struct entrant))};
    bool done = true;
    *caught = 0;
    find_entrants(&finals);
    /* One combination has nothing to be compared with, nor configs to take. */
    if (finals.entrants->len > 1 && !is_done(&tune->file))
        done = run(&finals, caught, error);
    for (int i = 0; i < (int)finals.entrants->len; i++)
        entrant_clear(entrant_at(&finals, i));
    g_array_unref(finals.entrants);
    return done;
}
