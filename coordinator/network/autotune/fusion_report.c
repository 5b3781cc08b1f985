#include "coordinator/network/autotune/fusion_report.h"

#include "coordinator/cli/cli.h"
#include "coordinator/cli/table.h"
#include "coordinator/network/autotune/trial.h"
#include "coordinator/network/autotune/turns.h"
#include "coordinator/process/machine.h"
#include "solvers/problem/problem_key.h"

#include <stdio.h>
#include <string.h>

enum way {
    WAY_UNFUSED,     /* kernels in sequence, each with its own winner */
    WAY_TUNED_ALONE, /* fused kernels, with the configs that won for their operators alone */
    WAY_TUNED_FUSED, /* fused kernels, with the configs that won for the fused problems */
};
#define WAY_COUNT (WAY_TUNED_FUSED + 1)

/* A pair of combinations that differ in fusion alone. */
struct pair {
    const struct tuned_combination *plain, *fused; /* as tuned */
    struct network_plan *plans[WAY_COUNT];         /* the last two are one */
    struct trial trials[WAY_COUNT];
    struct tuned_combination run[WAY_COUNT]; /* what came of running them now */
    char *no_room;    /* why they were run one by one; NULL: they took turns */
    int *fused_of;    /* for each unfused step: the fused step that does it, -1 for none */
    bool *alone_fits; /* for each fused step: whether the config that won alone can be run fused */
};

struct fusion_report {
    const char *path;
    char *found; /* the path, if a network's name was given; else NULL */
    double seconds;
    struct tuned_file file;
    struct model_wish wish;
    struct model model;
    struct tuned_words words;
    struct machine machine;
    struct pair *current;
};

/* ---- choosing ---- */

static const struct tuned_step *find_problem(const struct tuned_combination *combination,
                                             const struct problem *problem)
{
    char key[PROBLEM_KEY_MAX];
    problem_key(problem, key);
    for (int i = 0; i < combination->step_count; i++) {
        if (strcmp(combination->steps[i].problem, key) == 0)
            return &combination->steps[i];
    }
    return NULL;
}

static struct choice *choose_tuned(const struct fusion_report *report,
                                   const struct tuned_combination *tuned,
                                   const struct plan_step *step, GError **error)
{
    const struct tuned_step *known = find_problem(tuned, &step->problem);
    char key[PROBLEM_KEY_MAX];
    if (known)
        return choice_pinned(&step->problem, &report->machine.target, known->solver, known->config,
                             known->workspace_bytes, error);
    g_set_error(error, COORDINATOR_ERROR, COORDINATOR_ERROR_USAGE,
                "'%s' has no config for %s; tune the network again", report->path,
                problem_key(&step->problem, key));
    return NULL;
}

static struct choice *choose_plain(const struct plan_step *step, int index, void *data,
                                   GError **error)
{
    const struct fusion_report *report = data;
    (void)index;
    return choose_tuned(report, report->current->plain, step, error);
}

static struct choice *choose_fused(const struct plan_step *step, int index, void *data,
                                   GError **error)
{
    const struct fusion_report *report = data;
    (void)index;
    return choose_tuned(report, report->current->fused, step, error);
}

/* Returns what was tuned for the operator of a fused step where the network was not fused. Its problem has no epilogue
 * there or, in INT8, the requantisation alone. NULL if the unfused network does the operator in another way. */
static const struct tuned_step *find_operator(const struct pair *pair, int index)
{
    const struct plan_step *step = plan_step_at(pair->plans[WAY_TUNED_FUSED], index);
    const struct network_plan *plain = pair->plans[WAY_UNFUSED];
    for (guint i = 0; i < plain->steps->len; i++) {
        const struct plan_step *other = plan_step_at(plain, (int)i);
        if (pair->fused_of[i] == index && problem_equal(&other->alone, &step->alone))
            return find_problem(pair->plain, &other->problem);
    }
    return NULL;
}

/* The config that won for the operator alone, if its solver can do the epilogue with it; else the fused one's. */
static struct choice *choose_alone(const struct plan_step *step, int index, void *data,
                                   GError **error)
{
    const struct fusion_report *report = data;
    const struct tuned_step *alone = find_operator(report->current, index);
    struct choice *choice =
        alone ? choice_pinned(&step->problem, &report->machine.target, alone->solver, alone->config,
                              alone->workspace_bytes, NULL)
              : NULL;
    report->current->alone_fits[index] = choice != NULL;
    return choice ? choice : choose_fused(step, index, data, error);
}

/* ---- running ---- */

static const char *const way_names[WAY_COUNT] = {"unfused", "fused, tuned alone",
                                                 "fused, tuned fused"};

static bool choose_ways(struct fusion_report *report, GError **error)
{
    static const trial_chooser choosers[WAY_COUNT] = {
        [WAY_UNFUSED] = choose_plain,
        [WAY_TUNED_ALONE] = choose_alone,
        [WAY_TUNED_FUSED] = choose_fused,
    };
    struct pair *pair = report->current;
    for (int way = 0; way < WAY_COUNT; way++) {
        if (!trial_init(&pair->trials[way], &report->model, &report->machine.target,
                        pair->plans[way], choosers[way], report, error))
            return false;
        pair->trials[way].sample_seconds = report->seconds;
    }
    return true;
}

/* Runs the three pipelines, in turns. */
static bool run_ways(struct fusion_report *report, int *caught, GError **error)
{
    struct pair *pair = report->current;
    struct tuned_combination *runs[WAY_COUNT];
    for (int way = 0; way < WAY_COUNT; way++)
        runs[way] = &pair->run[way];
    cli_note("running unfused, tuned alone and tuned fused in turns\n");
    if (!choose_ways(report, error) ||
        !trials_run(pair->trials, WAY_COUNT, runs, &pair->no_room, caught, error))
        return false;
    for (int way = 0; way < WAY_COUNT; way++) {
        if (runs[way]->state == COMBINATION_MEASURED)
            continue;
        g_set_error(error, COORDINATOR_ERROR, COORDINATOR_ERROR_PROCESS, "%s: %s", way_names[way],
                    runs[way]->reason);
        return false;
    }
    if (pair->no_room)
        cli_note("the device has no room for the three pipelines at once (%s); they were run one "
                 "by one, so a drift of the device between them is in their times\n",
                 pair->no_room);
    return true;
}

static bool reads_buffer(const struct plan_step *step, int buffer)
{
    for (int role = 0; role < OPERAND_COUNT; role++) {
        if (role != (int)problem_output_role(&step->problem) &&
            step->operands[role].buffer == buffer)
            return true;
    }
    return false;
}

static int output_buffer(const struct plan_step *step)
{
    return step->operands[problem_output_role(&step->problem)].buffer;
}

/* The step beside a step that quantises or dequantises, with which it becomes one when all is fused: a kernel stores INT8
 * itself, so that which quantises goes with the step that makes its input; and a kernel reads INT8, so that which
 * dequantises goes with the step that reads its output. -1 for none. */
static int neighbour(const struct network_plan *plan, int index)
{
    const struct plan_step *step = plan_step_at(plan, index);
    int input = step->operands[TENSOR_X].buffer;
    if (step->problem.type[TENSOR_Y] == TYPE_INT8) {
        for (int i = index - 1; i >= 0; i--) {
            if (output_buffer(plan_step_at(plan, i)) == input)
                return i;
        }
        return -1;
    }
    for (int i = index + 1; i < (int)plan->steps->len; i++) {
        if (reads_buffer(plan_step_at(plan, i), output_buffer(step)))
            return i;
    }
    return -1;
}

/* Returns for each unfused step the index of the fused step that does its work, or -1. The fused step is the one that
 * does the same first node of the model. A step without nodes (it quantises or dequantises) is matched by its name, or
 * else goes with its neighbour. */
static int *match_steps(const struct network_plan *plain, const struct network_plan *fused)
{
    g_autoptr(GHashTable) place = g_hash_table_new(g_str_hash, g_str_equal);
    int *fused_of = g_new(int, plain->steps->len + 1);
    for (int i = (int)fused->steps->len - 1; i >= 0; i--) {
        const struct plan_step *step = plan_step_at(fused, i);
        for (int n = 0; step->nodes[n]; n++)
            g_hash_table_insert(place, step->nodes[n], GINT_TO_POINTER(i + 1));
        if (!step->nodes[0])
            g_hash_table_insert(place, step->name, GINT_TO_POINTER(i + 1));
    }
    for (int i = 0; i < (int)plain->steps->len; i++) {
        const struct plan_step *step = plan_step_at(plain, i);
        const char *name = step->nodes[0] ? step->nodes[0] : step->name;
        fused_of[i] = GPOINTER_TO_INT(g_hash_table_lookup(place, name)) - 1;
    }
    for (int i = 0; i < (int)plain->steps->len; i++) {
        const struct plan_step *step = plan_step_at(plain, i);
        int beside = fused_of[i] < 0 && !step->nodes[0] ? neighbour(plain, i) : -1;
        if (beside >= 0)
            fused_of[i] = fused_of[beside];
    }
    return fused_of;
}

static bool plan_pair(struct fusion_report *report, struct pair *pair, GError **error)
{
    struct combination plain, fused;
    tuned_combination_values(pair->plain, &plain);
    tuned_combination_values(pair->fused, &fused);
    pair->plans[WAY_UNFUSED] = model_plan(&report->model, &plain, &report->machine.target, error);
    if (pair->plans[WAY_UNFUSED])
        pair->plans[WAY_TUNED_FUSED] =
            model_plan(&report->model, &fused, &report->machine.target, error);
    pair->plans[WAY_TUNED_ALONE] = pair->plans[WAY_TUNED_FUSED];
    if (!pair->plans[WAY_UNFUSED] || !pair->plans[WAY_TUNED_FUSED])
        return false;
    pair->fused_of = match_steps(pair->plans[WAY_UNFUSED], pair->plans[WAY_TUNED_FUSED]);
    pair->alone_fits = g_new0(bool, pair->plans[WAY_TUNED_FUSED]->steps->len + 1);
    return true;
}

static void pair_clear(struct pair *pair)
{
    for (int way = 0; way < WAY_COUNT; way++) {
        trial_clear(&pair->trials[way]); /* before its plan */
        tuned_combination_clear(&pair->run[way]);
    }
    network_plan_free(pair->plans[WAY_UNFUSED]);
    network_plan_free(pair->plans[WAY_TUNED_FUSED]);
    g_free(pair->no_room);
    g_free(pair->fused_of);
    g_free(pair->alone_fits);
}

/* ---- the report ---- */

struct subgraph {
    const char *name;
    const struct tuned_step *alone, *fused; /* in the two fused pipelines */
    double unfused_ms;                      /* of all its kernels */
    int kernels;
    bool alone_fits, differs;
    /* Times in the same turns: fused as tuned over unfused, and over tuned alone. */
    struct turns_ratio to_unfused, to_alone;
};

/* A step's times by turn. */
static const double *step_turns(const struct pair *pair, enum way way, int step)
{
    const struct trial *trial = &pair->trials[way];
    return trial->step_turns_ms + (gsize)step * (gsize)trial->turns;
}

static void find_subgraph(const struct pair *pair, int index, struct subgraph *subgraph)
{
    const struct network_plan *plain = pair->plans[WAY_UNFUSED];
    const struct plan_step *step = plan_step_at(pair->plans[WAY_TUNED_FUSED], index);
    int turns = pair->trials[WAY_UNFUSED].turns;
    g_autofree double *unfused = g_new0(double, (gsize)turns + 1);
    *subgraph = (struct subgraph){.name = step->name,
                                  .alone = &pair->run[WAY_TUNED_ALONE].steps[index],
                                  .fused = &pair->run[WAY_TUNED_FUSED].steps[index],
                                  .alone_fits = pair->alone_fits[index]};
    for (int i = 0; i < (int)plain->steps->len; i++) {
        if (pair->fused_of[i] != index)
            continue;
        subgraph->unfused_ms += pair->run[WAY_UNFUSED].steps[i].pipeline_ms;
        subgraph->kernels++;
        for (int t = 0; t < turns; t++)
            unfused[t] += step_turns(pair, WAY_UNFUSED, i)[t];
    }
    subgraph->differs =
        subgraph->alone_fits && (strcmp(subgraph->alone->solver, subgraph->fused->solver) != 0 ||
                                 strcmp(subgraph->alone->config, subgraph->fused->config) != 0);
    turns_compare(step_turns(pair, WAY_TUNED_FUSED, index), unfused, turns, &subgraph->to_unfused);
    if (subgraph->alone_fits)
        turns_compare(step_turns(pair, WAY_TUNED_FUSED, index),
                      step_turns(pair, WAY_TUNED_ALONE, index), turns, &subgraph->to_alone);
}

struct totals {
    int subgraphs, differ, unfit;
    int faster,
        slower; /* subgraphs whose other winner is so beyond the noise, against that of the operator alone */
};

static void count_subgraph(const struct subgraph *subgraph, struct totals *totals)
{
    bool is_clear = subgraph->differs && !turns_within_noise(&subgraph->to_alone);
    totals->subgraphs++;
    totals->differ += subgraph->differs;
    totals->unfit += !subgraph->alone_fits;
    totals->faster += is_clear && subgraph->to_alone.median < 1;
    totals->slower += is_clear && subgraph->to_alone.median > 1;
}

static json_t *subgraph_json(const struct subgraph *s)
{
    return json_pack(
        "{s:s, s:s, s:i, s:f, s:o, s:f, s:s, s:s, s:s, s:s, s:b, s:o, s:o}", "name", s->name,
        "problem", s->fused->problem, "kernels", s->kernels, "unfused_ms", s->unfused_ms,
        "tuned_alone_ms", s->alone_fits ? json_real(s->alone->pipeline_ms) : json_null(),
        "tuned_fused_ms", s->fused->pipeline_ms, "alone_solver", s->alone->solver, "alone_config",
        s->alone->config, "fused_solver", s->fused->solver, "fused_config", s->fused->config,
        "differs", s->differs, "fused_over_unfused", turns_ratio_json(&s->to_unfused),
        "fused_over_alone", turns_ratio_json(&s->to_alone));
}

static void print_subgraph(const struct subgraph *s)
{
    char alone[24] = "-", ratio[TURNS_RATIO_TEXT];
    if (s->alone_fits)
        g_snprintf(alone, sizeof alone, "%.4f", s->alone->pipeline_ms);
    printf("%-24.24s %7d %11.4f %11s %11.4f  %-20s%s  %s %s", s->name, s->kernels, s->unfused_ms,
           alone, s->fused->pipeline_ms, turns_ratio_text(&s->to_alone, ratio),
           s->differs && turns_within_noise(&s->to_alone) && s->to_alone.turns > 0 ? " ~" : "  ",
           s->fused->solver, s->fused->config);
    if (s->differs)
        printf("  (alone: %s %s)", s->alone->solver, s->alone->config);
    putchar('\n');
}

static void print_head(const struct fusion_report *report)
{
    struct combination values;
    tuned_combination_values(report->current->fused, &values);
    printf("\n%s, batch %" G_GINT64_FORMAT
           ", dtype=%s layout=%s, on %s; times in ms, each step in its "
           "place\n",
           report->model.name, report->model.batch, values.values[KNOB_DTYPE],
           values.values[KNOB_LAYOUT], report->machine.target.id);
    printf("%-24s %7s %11s %11s %11s  %-22s  %s\n", "subgraph", "kernels", "unfused", "tuned alone",
           "tuned fused", "fused over alone", "winner of the fused problem");
}

/* The times of one way's pipeline over those of another. */
static struct turns_ratio compare_ways(const struct pair *pair, enum way of, enum way to)
{
    struct turns_ratio ratio;
    turns_compare(pair->trials[of].turns_ms, pair->trials[to].turns_ms, pair->trials[of].turns,
                  &ratio);
    return ratio;
}

static void print_gain(const struct pair *pair, enum way of, enum way to, const char *what)
{
    struct turns_ratio ratio = compare_ways(pair, of, to);
    char text[TURNS_RATIO_TEXT];
    if (ratio.turns == 0)
        printf("%s: %.2f of the time\n", what,
               pair->run[of].pipeline_ms / pair->run[to].pipeline_ms);
    else
        printf("%s: %s of the time%s\n", what, turns_ratio_text(&ratio, text),
               turns_within_noise(&ratio) ? ", which is within the noise" : "");
}

static void print_totals(const struct pair *pair, const struct totals *totals)
{
    int turns = pair->trials[WAY_UNFUSED].turns;
    printf(
        "%d subgraphs; %d winners differ from those of the operator alone, %d of which cannot be run "
        "fused\n",
        totals->subgraphs, totals->differ + totals->unfit, totals->unfit);
    if (turns > 0)
        printf(
            "of those that differ %d are faster and %d slower than the config tuned alone; %d lie "
            "within the noise (~)\n",
            totals->faster, totals->slower, totals->differ - totals->faster - totals->slower);
    printf(
        "pipeline: unfused %.4f ms, fused with configs tuned alone %.4f ms, tuned fused %.4f ms\n",
        pair->run[WAY_UNFUSED].pipeline_ms, pair->run[WAY_TUNED_ALONE].pipeline_ms,
        pair->run[WAY_TUNED_FUSED].pipeline_ms);
    print_gain(pair, WAY_TUNED_ALONE, WAY_UNFUSED, "  tuned alone against unfused");
    print_gain(pair, WAY_TUNED_FUSED, WAY_UNFUSED, "  tuned fused against unfused");
    print_gain(pair, WAY_TUNED_FUSED, WAY_TUNED_ALONE, "  tuned fused against tuned alone");
    if (turns > 0)
        printf(
            "Times are medians of %d turns, in each of which all three ran; ratios are medians of "
            "the turns' ratios,\nin brackets their 95 %% intervals. A difference is within the "
            "noise if its interval holds 1.\n",
            turns);
    else
        printf("The pipelines were run one by one: a drift of the device between them is in their "
               "times.\n");
}

static json_t *ways_json(const struct pair *pair, enum way of, enum way to)
{
    struct turns_ratio ratio = compare_ways(pair, of, to);
    return turns_ratio_json(&ratio);
}

static json_t *pair_json(const struct pair *pair, json_t *subgraphs, const struct totals *totals)
{
    struct combination values;
    tuned_combination_values(pair->fused, &values);
    return json_pack(
        "{s:s, s:s, s:o, s:i, s:i, s:i, s:i, s:i, s:f, s:f, s:f, s:i, s:s?, s:o, s:o, s:o}",
        "dtype", values.values[KNOB_DTYPE], "layout", values.values[KNOB_LAYOUT], "subgraphs",
        subgraphs, "count", totals->subgraphs, "differ", totals->differ + totals->unfit,
        "cannot_be_run_fused", totals->unfit, "faster", totals->faster, "slower", totals->slower,
        "unfused_ms", pair->run[WAY_UNFUSED].pipeline_ms, "tuned_alone_ms",
        pair->run[WAY_TUNED_ALONE].pipeline_ms, "tuned_fused_ms",
        pair->run[WAY_TUNED_FUSED].pipeline_ms, "turns", pair->trials[WAY_UNFUSED].turns, "no_room",
        pair->no_room, "alone_over_unfused", ways_json(pair, WAY_TUNED_ALONE, WAY_UNFUSED),
        "fused_over_unfused", ways_json(pair, WAY_TUNED_FUSED, WAY_UNFUSED), "fused_over_alone",
        ways_json(pair, WAY_TUNED_FUSED, WAY_TUNED_ALONE));
}

/* Whether a step does what several do in the unfused network. */
static bool fuses_anything(const struct pair *pair)
{
    g_autofree int *kernels = g_new0(int, pair->plans[WAY_TUNED_FUSED]->steps->len + 1);
    for (guint i = 0; i < pair->plans[WAY_UNFUSED]->steps->len; i++) {
        int fused = pair->fused_of[i];
        if (fused >= 0 && ++kernels[fused] > 1)
            return true;
    }
    return false;
}

/* Both networks are the same: there is nothing to run. */
static void show_nothing_fused(const struct fusion_report *report, json_t *list)
{
    struct combination values;
    tuned_combination_values(report->current->fused, &values);
    const char *type = values.values[KNOB_DTYPE], *layout = values.values[KNOB_LAYOUT];
    if (list) {
        json_array_append_new(list, json_pack("{s:s, s:s, s:[], s:i}", "dtype", type, "layout",
                                              layout, "subgraphs", "count", 0));
        return;
    }
    printf(
        "\n%s, dtype=%s layout=%s: fusion 'all' and 'none' make the same steps of this network, so "
        "there is nothing to compare.%s\n",
        report->model.name, type, layout,
        strcmp(type, "INT8") == 0
            ? " In INT8 the kernels do bias, activation and requantisation with any fusion; only "
              "residuals and chains of elementwise operators are fused beyond that."
            : "");
}

static void show_pair(struct fusion_report *report, json_t *list)
{
    struct pair *pair = report->current;
    struct totals totals = {0};
    json_t *subgraphs = json_array();
    if (!list)
        print_head(report);
    for (int i = 0; i < (int)pair->plans[WAY_TUNED_FUSED]->steps->len; i++) {
        struct subgraph subgraph;
        find_subgraph(pair, i, &subgraph);
        if (subgraph.kernels < 2)
            continue; /* nothing was fused */
        count_subgraph(&subgraph, &totals);
        if (list)
            json_array_append_new(subgraphs, subgraph_json(&subgraph));
        else
            print_subgraph(&subgraph);
    }
    if (list)
        json_array_append_new(list, pair_json(pair, json_incref(subgraphs), &totals));
    else
        print_totals(pair, &totals);
    json_decref(subgraphs);
}

/* ---- the whole ---- */

static int by_name(gconstpointer a, gconstpointer b)
{
    const char *const *left = a, *const *right = b;
    return strcmp(*left, *right);
}

/* The files of autotune for this network in the current folder, in the order of their names. */
static GPtrArray *files_of(const char *network)
{
    GPtrArray *found = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GDir) folder = g_dir_open(".", 0, NULL);
    const char *name;
    while (folder && (name = g_dir_read_name(folder))) {
        struct tuned_file file;
        if (!g_str_has_suffix(name, ".json") || !g_file_test(name, G_FILE_TEST_IS_REGULAR))
            continue;
        if (tuned_file_read(&file, name, NULL) && strcmp(file.network, network) == 0)
            g_ptr_array_add(found, g_strdup(name));
        tuned_file_clear(&file);
    }
    g_ptr_array_sort(found, by_name);
    return found;
}

/* A network's name in the place of a file: its one file in the current folder. The database has no model, so only a file
 * of autotune says what to run. */
static bool find_file(struct fusion_report *report, GError **error)
{
    if (g_file_test(report->path, G_FILE_TEST_EXISTS) || strchr(report->path, G_DIR_SEPARATOR))
        return true;
    g_autoptr(GPtrArray) found = files_of(report->path);
    if (found->len == 1) {
        report->found = g_strdup(g_ptr_array_index(found, 0));
        cli_note("the network '%s' is in '%s'\n", report->path, report->found);
        report->path = report->found;
        return true;
    }
    if (found->len == 0)
        g_set_error(error, COORDINATOR_ERROR, COORDINATOR_ERROR_USAGE,
                    "there is no file '%s', and no file of autotune in this folder is of a network "
                    "of this name; make one: skipjack autotune MODEL.onnx --fusion pick_global "
                    "--no-prune -o tuned.json",
                    report->path);
    else
        g_set_error(error, COORDINATOR_ERROR, COORDINATOR_ERROR_USAGE,
                    "%u files of autotune in this folder are of the network '%s', such as '%s' and "
                    "'%s': name one of them",
                    found->len, report->path, (char *)g_ptr_array_index(found, 0),
                    (char *)g_ptr_array_index(found, 1));
    return false;
}

static bool open_report(struct fusion_report *report, GError **error)
{
    if (!find_file(report, error) || !tuned_file_read(&report->file, report->path, error))
        return false;
    report->wish = (struct model_wish){.path = report->file.model,
                                       .batch = report->file.batch,
                                       .seed = (uint64_t)report->file.seed};
    if (!tuned_file_wish(&report->file, &report->wish, &report->words, error) ||
        !model_open(&report->model, &report->wish, error) ||
        !machine_probe(&report->machine, error))
        return false;
    if (strcmp(report->model.sha256, report->file.model_sha256) == 0 &&
        strcmp(report->machine.target.id, report->file.target) == 0)
        return true;
    g_set_error(
        error, COORDINATOR_ERROR, COORDINATOR_ERROR_USAGE,
        "'%s' does not fit: it is for another '%s', or for another target than %s; tune again",
        report->path, report->file.model, report->machine.target.id);
    return false;
}

/* The same combination with another fusion; NULL if it was not measured. */
static const struct tuned_combination *
sibling(const struct tuned_file *file, const struct tuned_combination *of, const char *fusion)
{
    struct combination values;
    tuned_combination_values(of, &values);
    values.values[KNOB_FUSION] = fusion;
    const struct tuned_combination *found = tuned_file_find(file, &values);
    return found && found->state == COMBINATION_MEASURED ? found : NULL;
}

static bool report_pair(struct fusion_report *report, const struct tuned_combination *plain,
                        const struct tuned_combination *fused, json_t *list, int *caught,
                        GError **error)
{
    struct pair pair = {.plain = plain, .fused = fused};
    report->current = &pair;
    bool done = plan_pair(report, &pair, error);
    if (done && !fuses_anything(&pair)) {
        show_nothing_fused(report, list);
    } else if (done) {
        done = run_ways(report, caught, error);
        if (done)
            show_pair(report, list);
    }
    report->current = NULL;
    pair_clear(&pair);
    return done;
}

static bool report_all(struct fusion_report *report, json_t *list, int *caught, GError **error)
{
    int pairs = 0;
    for (int i = 0; i < report->file.count; i++) {
        const struct tuned_combination *plain = &report->file.combinations[i];
        const struct tuned_combination *fused = sibling(&report->file, plain, "all");
        if (sibling(&report->file, plain, "none") != plain || !fused)
            continue;
        pairs++;
        if (!report_pair(report, plain, fused, list, caught, error))
            return false;
    }
    if (pairs > 0)
        return true;
    g_set_error(error, COORDINATOR_ERROR, COORDINATOR_ERROR_EMPTY,
                "'%s' has no pair to compare; tune both: skipjack autotune %s --fusion pick_global "
                "--no-prune -o %s",
                report->path, report->file.model, report->path);
    return false;
}

int fusion_report_run(const char *path, double seconds, bool as_json)
{
    struct fusion_report report = {.path = path, .seconds = seconds};
    GError *error = NULL;
    int caught = 0;
    json_t *list = as_json ? json_array() : NULL;
    bool done = open_report(&report, &error) && report_all(&report, list, &caught, &error);
    if (done && as_json)
        table_show_json(json_incref(list));
    json_decref(list);
    model_clear(&report.model);
    tuned_words_clear(&report.words);
    g_free(report.found);
    machine_clear(&report.machine);
    tuned_file_clear(&report.file);
    if (caught) {
        g_clear_error(&error);
        return CLI_INTERRUPTED;
    }
    return done ? CLI_DONE : cli_fail("report", error);
}
