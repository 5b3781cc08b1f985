/* `skipjack run-network`: runs a network with the solvers and configs that autotune found, or untuned. */
#include "coordinator/cli/cli.h"
#include "coordinator/cli/table.h"
#include "coordinator/commands.h"
#include "coordinator/network/autotune/trial.h"
#include "coordinator/process/machine.h"
#include "solvers/framework/solver.h"
#include "solvers/problem/problem_key.h"

#include <stdio.h>
#include <string.h>

#define DEFAULT_SECONDS 0.5

struct run_network {
    char *apply, *output, *model_path;
    char **inputs, **dims;
    struct tuned_words words;
    gint64 batch, seed;
    double seconds;
    gboolean layers, as_json;
    struct model_wish wish;
    struct model model;
    struct machine machine;
    struct tuned_file file;
    struct combination combination;
    const struct tuned_combination *applied; /* NULL without --apply */
};

/* ---- what --apply asks for ---- */

static bool refuse(const struct run_network *run, GError **error, const char *what,
                   const char *file_has, const char *here)
{
    g_set_error(error, COORDINATOR_ERROR, COORDINATOR_ERROR_USAGE,
                "'%s' does not fit: it is for %s %s, this is %s; tune again: skipjack autotune %s "
                "-o %s",
                run->apply, what, file_has, here, run->model_path, run->apply);
    return false;
}

static bool check_fit(const struct run_network *run, GError **error)
{
    const struct tuned_file *file = &run->file;
    if (strcmp(file->model_sha256, run->model.sha256) != 0)
        return refuse(run, error, "a model with the SHA-256", file->model_sha256,
                      run->model.sha256);
    if (strcmp(file->target, run->machine.target.id) != 0)
        return refuse(run, error, "the target", file->target, run->machine.target.id);
    if (file->batch != run->model.batch) {
        g_autofree char *theirs = g_strdup_printf("%" G_GINT64_FORMAT, file->batch);
        g_autofree char *ours = g_strdup_printf("%" G_GINT64_FORMAT, run->model.batch);
        return refuse(run, error, "the batch", theirs, ours);
    }
    g_autofree char *dims = run->dims ? g_strjoinv(",", run->dims) : NULL;
    if (dims && g_strcmp0(file->dims, dims) != 0)
        return refuse(run, error, "the --dim", file->dims ? file->dims : "of nobody", dims);
    if (file->winner >= 0)
        return true;
    g_set_error(error, COORDINATOR_ERROR, COORDINATOR_ERROR_USAGE,
                "'%s' has no winner: no combination was measured", run->apply);
    return false;
}

static bool read_tuned(struct run_network *run, GError **error)
{
    if (!run->apply)
        return true;
    if (!tuned_file_read(&run->file, run->apply, error))
        return false;
    if (run->batch == 0)
        run->wish.batch = run->file.batch;
    if (run->seed == 0)
        run->wish.seed = (uint64_t)run->file.seed;
    return tuned_file_wish(&run->file, &run->wish, &run->words, error);
}

static bool choose_knobs(struct run_network *run, GError **error)
{
    struct knob_wishes wishes = {0};
    if (run->apply) {
        if (!check_fit(run, error))
            return false;
        run->applied = &run->file.combinations[run->file.winner];
        tuned_combination_values(run->applied, &run->combination);
        return true;
    }
    for (int k = 0; k < KNOB_COUNT; k++) {
        if (!knob_wish(&wishes, (enum knob)k, NULL, model_dtype(&run->model), error))
            return false;
        run->combination.values[k] = wishes.values[k][0];
    }
    return true;
}

/* ---- choosing solvers ---- */

static struct choice *choose_applied(const struct run_network *run, const struct plan_step *step,
                                     int index, GError **error)
{
    const struct tuned_step *tuned = &run->applied->steps[index];
    char key[PROBLEM_KEY_MAX];
    const struct solver *solver = solver_find(tuned->solver);
    if (strcmp(tuned->problem, problem_key(&step->problem, key)) != 0) {
        g_set_error(error, COORDINATOR_ERROR, COORDINATOR_ERROR_USAGE,
                    "'%s' does not fit: there the step is %s, here it is %s; tune again",
                    run->apply, tuned->problem, key);
        return NULL;
    }
    if (solver && solver->revision != tuned->revision) {
        g_set_error(error, COORDINATOR_ERROR, COORDINATOR_ERROR_USAGE,
                    "'%s' does not fit: it is for revision %" G_GINT64_FORMAT
                    " of %s, this program has revision %d; tune again",
                    run->apply, tuned->revision, tuned->solver, solver->revision);
        return NULL;
    }
    return trial_choice(tuned, &step->problem, &run->machine.target, error);
}

static struct choice *choose(const struct plan_step *step, int index, void *data, GError **error)
{
    const struct run_network *run = data;
    char key[PROBLEM_KEY_MAX];
    if (run->applied)
        return choose_applied(run, step, index, error);
    struct choice *choice = choice_by_estimate(&step->problem, &run->machine.target);
    if (!choice)
        g_set_error(error, COORDINATOR_ERROR, COORDINATOR_ERROR_EMPTY, "no solver serves %s on %s",
                    problem_key(&step->problem, key), run->machine.target.id);
    return choice;
}

static bool check_step_count(const struct run_network *run, const struct network_plan *plan,
                             GError **error)
{
    if (!run->applied || run->applied->step_count == (int)plan->steps->len)
        return true;
    g_set_error(error, COORDINATOR_ERROR, COORDINATOR_ERROR_USAGE,
                "'%s' does not fit: it has %d steps, the network has %u here; tune again",
                run->apply, run->applied->step_count, plan->steps->len);
    return false;
}

/* ---- the report ---- */

static void print_layers(const struct tuned_combination *c)
{
    printf("\n%-28s %10s %10s  %-24s %s\n", "step", "alone ms", "here ms", "solver", "config");
    for (int i = 0; i < c->step_count; i++) {
        const struct tuned_step *step = &c->steps[i];
        char alone[24] = "-";
        if (step->alone_ms > 0)
            g_snprintf(alone, sizeof alone, "%.4f", step->alone_ms);
        printf("%-28.28s %10s %10.4f  %-24s %s\n", step->name, alone, step->pipeline_ms,
               step->solver, step->config);
    }
}

static void print_text(const struct run_network *run, const struct tuned_combination *c)
{
    g_autofree char *knobs = combination_text(&run->combination);
    double steps = 0;
    int alone = 0;
    for (int i = 0; i < c->step_count; i++) {
        steps += c->steps[i].pipeline_ms;
        alone += c->steps[i].alone_ms > 0;
    }
    printf("%s, batch %" G_GINT64_FORMAT ", %s, on %s\n", run->model.name, run->model.batch, knobs,
           run->machine.target.id);
    if (c->state == COMBINATION_WRONG) {
        printf("wrong: %s\n", c->reason);
        return;
    }
    printf("pipeline      %.4f ms (%s; %" G_GINT64_FORMAT " readings, spread %.1f %%)\n",
           c->pipeline_ms, c->graph ? "one graph launch" : "launch by launch", c->readings,
           100 * c->pipeline_spread);
    printf("sum of steps  %.4f ms each in its place", steps);
    if (alone == c->step_count) /* untuned and pinned steps were never measured alone */
        printf(", %.4f ms each alone with cold caches", c->sum_ms);
    printf("\n");
    printf("memory        arena %.2f MB (bound %.2f), weights %.2f MB, packed %.2f MB\n",
           (double)c->arena_bytes / 1e6, (double)c->arena_bound_bytes / 1e6,
           (double)c->weight_bytes / 1e6, (double)c->packed_bytes / 1e6);
    printf("outputs       each of %d steps verified; against FP32 on the host: largest error "
           "%.2g, mean %.2g, cosine %.6f, top class equal in %.0f %%\n",
           c->step_count, c->max_error, c->mean_error, c->cosine, 100 * c->top1);
    if (run->layers)
        print_layers(c);
}

static void print_json(const struct run_network *run, struct tuned_combination *c)
{
    /* The same form as a tuned file with one combination. */
    struct tuned_file file = {
        .version = TUNED_VERSION,
        .network = run->model.name,
        .model = run->model_path,
        .model_sha256 = run->model.sha256,
        .batch = run->model.batch,
        .seed = (gint64)run->wish.seed,
        .target = (char *)(uintptr_t)run->machine.target.id,
        .device = run->machine.device,
        .stack = run->machine.stack,
        .combinations = c,
        .count = 1,
        .winner = c->state == COMBINATION_MEASURED ? 0 : -1,
    };
    table_show_json(tuned_file_json(&file));
}

/* ---- the whole ---- */

static bool write_outputs(const struct run_network *run, const float *outputs, int64_t count,
                          GError **error)
{
    return !run->output || g_file_set_contents(run->output, (const char *)outputs,
                                               (gssize)((gsize)count * sizeof *outputs), error);
}

static int run_plan(struct run_network *run, const struct network_plan *plan, GError **error)
{
    struct trial trial;
    struct tuned_file made = {0};
    struct tuned_combination *c = tuned_file_add(&made, &run->combination);
    g_autofree float *outputs = NULL;
    int64_t count = 0;
    int caught = 0, status = CLI_FAILED;
    bool ran = trial_init(&trial, &run->model, &run->machine.target, plan, choose, run, error);
    trial.sample_seconds = run->seconds;
    if (ran && trial_run(&trial, c, &outputs, &count, &caught, error) &&
        write_outputs(run, outputs, count, error)) {
        if (run->as_json)
            print_json(run, c);
        else
            print_text(run, c);
        status = c->state == COMBINATION_MEASURED ? CLI_DONE : CLI_FAILED;
    }
    trial_clear(&trial);
    tuned_file_clear(&made);
    return caught ? CLI_INTERRUPTED : status;
}

static int run_network(struct run_network *run, GError **error)
{
    if (!read_tuned(run, error) || !model_open(&run->model, &run->wish, error) ||
        !machine_probe(&run->machine, error) || !choose_knobs(run, error))
        return CLI_FAILED;
    g_autoptr(NetworkPlan) plan =
        model_plan(&run->model, &run->combination, &run->machine.target, error);
    if (!plan || !check_step_count(run, plan, error))
        return CLI_FAILED;
    return run_plan(run, plan, error);
}

static bool check_options(const struct run_network *run, GError **error)
{
    if (run->batch < 0)
        return cli_misuse(error, "--batch takes a number from 1");
    if (!(run->seconds > 0 && run->seconds <= 60))
        return cli_misuse(error, "--seconds takes more than 0 and at most 60 seconds");
    return true;
}

static void clear(struct run_network *run)
{
    model_clear(&run->model);
    machine_clear(&run->machine);
    tuned_file_clear(&run->file);
    g_free(run->apply);
    g_free(run->output);
    g_free(run->model_path);
    g_strfreev(run->inputs);
    g_strfreev(run->dims);
    tuned_words_clear(&run->words);
}

int command_run_network(int argc, char **argv)
{
    struct run_network run = {.seconds = DEFAULT_SECONDS};
    const GOptionEntry options[] = {
        {"apply", 0, 0, G_OPTION_ARG_FILENAME, &run.apply,
         "use the winner of this file, which autotune wrote", "FILE"},
        {"input", 'i', 0, G_OPTION_ARG_FILENAME_ARRAY, &run.inputs,
         "an input, as .npy or raw FP32; once for each input of the model (random numbers)",
         "FILE"},
        {"output", 'o', 0, G_OPTION_ARG_FILENAME, &run.output,
         "write the outputs there, as raw FP32", "FILE"},
        {"batch", 0, 0, G_OPTION_ARG_INT64, &run.batch, "images in one run (the file's, or 1)",
         "N"},
        {"dim", 0, 0, G_OPTION_ARG_STRING_ARRAY, &run.dims,
         "size of a dimension that the model leaves open: NAME=N, or NAME=batch", "NAME=SIZE"},
        {"seed", 0, 0, G_OPTION_ARG_INT64, &run.seed,
         "of random inputs, and of weights that the model lacks (0)", "N"},
        {"seconds", 0, 0, G_OPTION_ARG_DOUBLE, &run.seconds,
         "device time for the readings of the pipeline (0.5)", "S"},
        {"layers", 'l', 0, G_OPTION_ARG_NONE, &run.layers, "print each step with its times", NULL},
        CLI_JSON_OPTION(&run.as_json),
        {0},
    };
    const struct cli cli = {
        .command = "run-network",
        .arguments = "MODEL.onnx",
        .summary =
            "Runs a whole network on this machine's device, verifies each step and the "
            "outputs, and times it. With --apply it uses what autotune found, without tuning, and "
            "refuses a file for another model, target or revision of a solver. Without, each "
            "step is done by the solver with the best estimate, untuned.",
        .example = "skipjack run-network resnet50.onnx --apply tuned.json --layers",
        .options = options,
        .least = 1,
        .most = 1,
    };
    GError *error = NULL;
    int status = CLI_USAGE;
    if (cli_parse(&cli, &argc, &argv)) {
        run.model_path = g_strdup(argv[1]);
        run.wish = (struct model_wish){.path = run.model_path,
                                       .batch = run.batch,
                                       .dims = run.dims,
                                       .inputs = run.inputs,
                                       .seed = (uint64_t)run.seed};
        status = check_options(&run, &error) ? run_network(&run, &error) : CLI_USAGE;
        if (error)
            status = status == CLI_INTERRUPTED ? status : cli_fail("run-network", error);
    }
    clear(&run);
    return status;
}
