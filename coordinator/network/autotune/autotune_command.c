/* `skipjack autotune`: global knobs of a network, tried and measured. */
#include "coordinator/cli/cli.h"
#include "coordinator/cli/table.h"
#include "coordinator/commands.h"
#include "coordinator/network/autotune/autotune.h"
#include "coordinator/network/autotune/trial.h"
#include "coordinator/process/command_line.h"
#include "schema/monitor/log.h"

#include <stdio.h>
#include <string.h>

#define DEFAULT_BUDGET_SECONDS 600
#define DEFAULT_SECONDS        0.5

struct autotune_command {
    struct request request;
    char *knobs[KNOB_COUNT]; /* the values of --dtype, --layout, --fusion */
    char **pins, **inputs, **calibrate, **dims;
    char *output, *model_path, *calibration;
    gint64 batch;
    double seconds;
    gboolean as_json, no_prune, dry_run, schema, per_tensor;
    struct model_wish wish;
    struct model model;
    struct knob_wishes wishes;
    GArray *combinations, *parsed_pins;
};

/* ---- the report ---- */

static void print_combination(const struct tuned_combination *c, bool wins)
{
    static const char *const states[] = {"", "pruned", "failed", "wrong"};
    struct combination values;
    tuned_combination_values(c, &values);
    printf("%s%-6s %-10s %-11s", wins ? "* " : "  ", values.values[KNOB_DTYPE],
           values.values[KNOB_LAYOUT], values.values[KNOB_FUSION]);
    if (c->state != COMBINATION_MEASURED) {
        printf(" %s: %s\n", states[c->state], c->reason);
        return;
    }
    printf(" %12.4f %7.1f %12.4f %6d %10.2f %9.1e %9.6f %6.0f\n", c->pipeline_ms,
           100 * c->pipeline_spread, c->sum_ms, c->step_count, (double)c->arena_bytes / 1e6,
           c->max_error, c->cosine, 100 * c->top1);
}

static void print_final(const struct tuned_combination *c, bool wins)
{
    struct combination values;
    tuned_combination_values(c, &values);
    printf("%s%-6s %-10s %-11s %12.4f", wins ? "* " : "  ", values.values[KNOB_DTYPE],
           values.values[KNOB_LAYOUT], values.values[KNOB_FUSION], c->final_ms);
    if (!wins)
        printf("  %.2f (%.2f to %.2f) of the winner's%s", c->final_ratio, c->final_low,
               c->final_high, c->final_low <= 1 ? ", which is within the noise" : "");
    putchar('\n');
}

static void print_finals(const struct tuned_file *file)
{
    bool any = false;
    for (int i = 0; i < file->count; i++) {
        const struct tuned_combination *c = &file->combinations[i];
        if (c->final_ms <= 0)
            continue;
        if (!any)
            printf("\nthe quickest again, in %" G_GINT64_FORMAT
                   " turns that each of them took part in (median ms, ratio with its 95 %% "
                   "interval):\n",
                   c->final_turns);
        any = true;
        print_final(c, i == file->winner);
    }
}

static void print_text(const struct autotune *tune)
{
    const struct tuned_file *file = &tune->file;
    printf("%s, batch %" G_GINT64_FORMAT ", on %s\n\n", file->network, file->batch, file->target);
    printf("  %-6s %-10s %-11s %12s %7s %12s %6s %10s %9s %9s %6s\n", "dtype", "layout", "fusion",
           "pipeline ms", "IQR %", "sum ms", "steps", "arena MB", "error", "cosine", "top1 %");
    for (int i = 0; i < file->count; i++)
        print_combination(&file->combinations[i], i == file->winner);
    printf(
        "\npipeline: the whole network run in order. sum: its steps, each alone with cold caches.\n"
        "error, cosine, top1: outputs against the network in FP32 on the host.\n");
    print_finals(file);
    if (file->winner < 0)
        return;
    const char *words[] = {"run-network", tune->model->wish->path, "--apply", tune->path, NULL};
    g_autofree char *command = command_line(words);
    printf("\nThe winner is in '%s'. To run it:\n  %s\n", tune->path, command);
}

/* ---- the whole ---- */

static bool parse_knobs(struct autotune_command *c, GError **error)
{
    for (int k = 0; k < KNOB_COUNT; k++) {
        if (!knob_wish(&c->wishes, (enum knob)k, c->knobs[k], model_dtype(&c->model), error))
            return false;
    }
    c->combinations = knob_combinations(&c->wishes);
    return true;
}

/* --dry-run: what would be tuned, without a database. */
static int dry_run(struct autotune_command *c, GError **error)
{
    struct machine machine;
    g_autoptr(GHashTable) problems = problem_table_new(NULL);
    g_autoptr(GPtrArray) plans = g_ptr_array_new_with_free_func((GDestroyNotify)network_plan_free);
    if (!machine_probe(&machine, error) ||
        !machine_check_target(&machine, c->request.target, "autotune", error)) {
        machine_clear(&machine);
        return CLI_FAILED;
    }
    for (guint i = 0; i < c->combinations->len; i++) {
        const struct combination *values = &g_array_index(c->combinations, struct combination, i);
        g_autofree char *knobs = combination_text(values);
        g_autoptr(GError) why = NULL;
        struct network_plan *plan = model_plan(&c->model, values, &machine.target, &why);
        guint before = g_hash_table_size(problems);
        if (!plan) {
            printf("%s: cannot be planned: %s\n", knobs, why->message);
            continue;
        }
        g_ptr_array_add(plans, plan);
        for (guint s = 0; s < plan->steps->len; s++)
            g_hash_table_add(problems, &plan_step_at(plan, (int)s)->problem);
        printf("%s: %u steps, %u problems that no combination above has, at least %.4f ms\n", knobs,
               plan->steps->len, g_hash_table_size(problems) - before,
               plan_bound_ms(plan, &machine.target));
    }
    g_autofree char *more = request_close_text(request_close_configs(&c->request));
    printf("%u problems in all, at most %d configs of each solver%s\n", g_hash_table_size(problems),
           c->request.configs, more);
    bool fits = plans->len == 0 || pins_check(c->parsed_pins, plans, &machine.target, error);
    machine_clear(&machine);
    return plans->len > 0 && fits ? CLI_DONE : CLI_FAILED;
}

static void say_how_to_go_on(const struct autotune_command *c, const struct autotune *tune)
{
    fprintf(stderr, "everything measured is kept; the same command goes on where it was\n");
    if (tune->file.count > 0)
        fprintf(stderr, "'%s' has the combinations that are done\n", c->output);
    else
        fprintf(stderr, "no combination is done, so '%s' is not written yet\n", c->output);
}

static int finish(struct autotune_command *c, struct autotune *tune, enum autotune_end end,
                  GError **error)
{
    if (end == AUTOTUNE_FAILED)
        return CLI_FAILED;
    if (c->as_json)
        table_show_json(tuned_file_json(&tune->file));
    else if (tune->file.count > 0)
        print_text(tune);
    if (end != AUTOTUNE_DONE)
        say_how_to_go_on(c, tune);
    if (end == AUTOTUNE_INTERRUPTED)
        return CLI_INTERRUPTED;
    if (tune->file.winner >= 0)
        return CLI_DONE;
    g_set_error(error, COORDINATOR_ERROR, COORDINATOR_ERROR_EMPTY,
                "no combination could be measured; '%s' says why", tune->path);
    return CLI_FAILED;
}

static int autotune(struct autotune_command *c, GError **error)
{
    if (!request_check(&c->request, error) || !model_open(&c->model, &c->wish, error) ||
        !parse_knobs(c, error))
        return CLI_FAILED;
    c->parsed_pins = pins_parse(c->pins, error);
    if (!c->parsed_pins)
        return CLI_FAILED;
    if (c->dry_run)
        return dry_run(c, error);
    g_autofree char *log = g_strconcat(c->output, ".log", NULL);
    struct autotune tune = {.model = &c->model,
                            .path = c->output,
                            .combinations = c->combinations,
                            .pins = c->parsed_pins,
                            .sample_seconds = c->seconds,
                            .prunes = !c->no_prune};
    int status = CLI_FAILED;
    if (autotune_open(&tune, &c->request, log, error))
        status = finish(c, &tune, autotune_run(&tune, error), error);
    autotune_clear(&tune);
    return status;
}

static bool check_options(struct autotune_command *c, GError **error)
{
    if (c->batch < 0)
        return cli_misuse(error, "--batch takes a number from 1");
    if (!(c->seconds > 0 && c->seconds <= 60))
        return cli_misuse(error, "--seconds takes more than 0 and at most 60 seconds");
    if (c->calibration && !calibration_parse(c->calibration, &c->wish.calibration))
        return cli_misuse(error, "--calibration takes " CALIBRATION_NAMES ", not '%s'",
                          c->calibration);
    if (!c->output)
        c->output = g_strdup("tuned.json");
    return true;
}

static void clear(struct autotune_command *c)
{
    model_clear(&c->model);
    request_clear(&c->request);
    for (int k = 0; k < KNOB_COUNT; k++)
        g_free(c->knobs[k]);
    g_strfreev(c->pins);
    g_strfreev(c->inputs);
    g_strfreev(c->calibrate);
    g_strfreev(c->dims);
    g_free(c->output);
    g_free(c->calibration);
    g_free(c->model_path);
    if (c->combinations)
        g_array_unref(c->combinations);
    if (c->parsed_pins)
        g_array_unref(c->parsed_pins);
}

static int run(struct autotune_command *c, int argc, char **argv)
{
    GError *error = NULL;
    if (c->schema) {
        table_show_json(tuned_file_schema());
        return CLI_DONE;
    }
    if (argc != 2) {
        cli_misuse(&error, "it takes one model");
        return cli_fail("autotune", error);
    }
    c->model_path = g_strdup(argv[1]);
    if (!check_options(c, &error))
        return cli_fail("autotune", error);
    c->wish = (struct model_wish){.path = c->model_path,
                                  .batch = c->batch,
                                  .dims = c->dims,
                                  .inputs = c->inputs,
                                  .calibrate = c->calibrate,
                                  .calibration = c->wish.calibration,
                                  .per_tensor = c->per_tensor,
                                  .seed = (uint64_t)c->request.seed};
    int status = autotune(c, &error);
    return error ? cli_fail("autotune", error) : status;
}

int command_autotune(int argc, char **argv)
{
    struct autotune_command c = {.seconds = DEFAULT_SECONDS};
    request_init(&c.request, DEFAULT_BUDGET_SECONDS);
    g_autofree GOptionEntry *shared = request_options(&c.request);
    const GOptionEntry options[] = {
        {"dtype", 0, 0, G_OPTION_ARG_STRING, &c.knobs[KNOB_DTYPE],
         "FP32, TF32, FP16, BF16, INT8, or pick_global: measure them (the model's own)", "TYPE"},
        {"layout", 0, 0, G_OPTION_ARG_STRING, &c.knobs[KNOB_LAYOUT],
         "NCHW, NHWC, per_layer, or pick_global (NCHW)", "LAYOUT"},
        {"fusion", 0, 0, G_OPTION_ARG_STRING, &c.knobs[KNOB_FUSION],
         "none, activation, all, or pick_global (all)", "LEVEL"},
        {"knob", 0, 0, G_OPTION_ARG_STRING_ARRAY, &c.pins,
         "pin a config: SOLVER=CONFIG wherever it fits, or step:NAME=SOLVER:CONFIG", "PIN"},
        {"output", 'o', 0, G_OPTION_ARG_FILENAME, &c.output,
         "the file for what is found; one that is there is continued (tuned.json)", "FILE"},
        {"batch", 0, 0, G_OPTION_ARG_INT64, &c.batch, "images in one run (the model's, or 1)", "N"},
        {"dim", 0, 0, G_OPTION_ARG_STRING_ARRAY, &c.dims,
         "size of a dimension that the model leaves open: NAME=N, or NAME=batch", "NAME=SIZE"},
        {"input", 'i', 0, G_OPTION_ARG_FILENAME_ARRAY, &c.inputs,
         "an input, as .npy or raw FP32; once for each input of the model (random numbers)",
         "FILE"},
        {"calibrate", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &c.calibrate,
         "samples to calibrate INT8 with, as --input takes them; may be repeated (the inputs)",
         "FILE"},
        {"calibration", 0, 0, G_OPTION_ARG_STRING, &c.calibration,
         "how INT8's scales follow from the samples: " CALIBRATION_NAMES " (min_max)", "HOW"},
        {"per-tensor", 0, 0, G_OPTION_ARG_NONE, &c.per_tensor,
         "INT8: one scale for a whole filter, not one for each of its channels", NULL},
        {"seconds", 0, 0, G_OPTION_ARG_DOUBLE, &c.seconds,
         "device time for the readings of a pipeline (0.5)", "S"},
        {"no-prune", 0, 0, G_OPTION_ARG_NONE, &c.no_prune,
         "measure also combinations that cannot win", NULL},
        {"dry-run", 0, 0, G_OPTION_ARG_NONE, &c.dry_run, "only say what would be tuned", NULL},
        {"schema", 0, 0, G_OPTION_ARG_NONE, &c.schema, "print the JSON Schema of the file", NULL},
        CLI_JSON_OPTION(&c.as_json),
        {0},
    };
    const struct cli cli = {
        .command = "autotune",
        .arguments = "MODEL.onnx",
        .summary =
            "Tunes a whole network for each combination of its global knobs, on this machine: data type, layout "
            "and fusion. Each combination's problems are tuned as 'skipjack tune' does, what they share once; "
            "then the whole pipeline is run, verified and timed. The budget holds for each combination. It may be "
            "stopped at any time; the same command goes on where it was.",
        .example =
            "skipjack autotune resnet50.onnx --dtype pick_global --fusion pick_global -o tuned.json",
        .options = options,
        .shared = shared,
        .least = 0,
        .most = 1,
    };
    int status = CLI_USAGE;
    if (cli_parse(&cli, &argc, &argv))
        status = run(&c, argc, argv);
    clear(&c);
    return status;
}
