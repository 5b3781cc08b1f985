/* `skipjack tune`: import, plan, build, evaluate, export and report in one go, on this machine. */
#include "coordinator/campaigns/enter.h"
#include "coordinator/campaigns/origins.h"
#include "coordinator/campaigns/problems_of.h"
#include "coordinator/cli/cli.h"
#include "coordinator/cli/safe_output.h"
#include "coordinator/cli/when.h"
#include "coordinator/commands.h"
#include "coordinator/import/import_store.h"
#include "coordinator/import/problems_import.h"
#include "coordinator/plan/first_rounds.h"
#include "coordinator/process/command_line.h"
#include "coordinator/process/process.h"
#include "coordinator/reports/report.h"
#include "coordinator/tune/supervise.h"
#include "export/release/release_folder.h"
#include "schema/farm/upkeep.h"
#include "schema/monitor/log.h"
#include "schema/results/store_remeasure.h"
#include "schema/server/database.h"
#include "schema/store/store_campaigns.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Default of --budget in seconds: enough for the first rounds of all jobs of a small network. */
#define DEFAULT_BUDGET_SECONDS 600

struct tune {
    struct request request;
    char *folder; /* path of the folder for the results */
    gboolean as_json;
    gboolean allow_drift; /* --allow-drift: export results measured while the device drifted, too */
    /* --replace: the export may remove another release's files from the folder */
    gboolean replace;
    bool named; /* true if the user gave the campaign's name */
    Import *import;
    GArray *problems; /* struct plan_problem: the problems to tune */
    struct machine machine;
    Store *store;
    struct entered entered;
    struct progress before; /* the campaign's progress when this run began */
    struct upkeep_report freed;
};

static void tune_clear(struct tune *tune)
{
    request_clear(&tune->request);
    g_free(tune->folder);
    if (tune->import)
        import_free(tune->import);
    if (tune->problems)
        g_array_unref(tune->problems);
    machine_clear(&tune->machine);
    entered_clear(&tune->entered);
    store_close(tune->store);
}

static void add_option(GPtrArray *words, const char *option, char *value)
{
    g_ptr_array_add(words, g_strdup(option));
    g_ptr_array_add(words, value);
}

/* Returns this command line with a different number of configs and a different budget. Free with
 * g_free(). */
static char *command_with(const struct tune *tune, int configs, double budget_seconds)
{
    const struct request *request = &tune->request;
    g_autoptr(GPtrArray) words = g_ptr_array_new_with_free_func(g_free);
    g_ptr_array_add(words, g_strdup("tune"));
    for (int i = 0; request->files[i]; i++)
        g_ptr_array_add(words, g_strdup(request->files[i]));
    import_words_append(&request->list, words);
    if (configs != REQUEST_DEFAULT_CONFIGS)
        add_option(words, "--configs", g_strdup_printf("%d", configs));
    if (request->close_configs > 0)
        add_option(words, "--close-configs",
                   g_strdup_printf("%d", MAX(request->close_configs, configs)));
    if (strcmp(request->strategy, REQUEST_DEFAULT_STRATEGY) != 0)
        add_option(words, "--strategy", g_strdup(request->strategy));
    if (request->seed != 0)
        add_option(words, "--seed", g_strdup_printf("%" G_GINT64_FORMAT, request->seed));
    if (request->search_seconds > 0)
        add_option(words, "--search-seconds", g_strdup_printf("%.10g", request->search_seconds));
    if (request->min_gain > 0)
        add_option(words, "--min-gain", g_strdup_printf("%.10g", request->min_gain));
    if (request->final_seconds != REQUEST_FINAL_SECONDS)
        add_option(words, "--final-seconds", g_strdup_printf("%.10g", request->final_seconds));
    if (request->solvers)
        add_option(words, "--solvers", g_strdup(request->solvers));
    if (request->all_solvers)
        g_ptr_array_add(words, g_strdup("--all-solvers"));
    request_add_limits(request, words);
    if (tune->named)
        add_option(words, "--name", g_strdup(request->name));
    if (tune->allow_drift)
        g_ptr_array_add(words, g_strdup("--allow-drift"));
    if (tune->replace)
        g_ptr_array_add(words, g_strdup("--replace"));
    add_option(words, "--budget", g_strdup_printf("%.10g", budget_seconds));
    if (request->deadline_unix > g_get_real_time() / G_USEC_PER_SEC)
        add_option(words, "--deadline", when_format(request->deadline_unix));
    add_option(words, "-o", g_strdup(tune->folder));
    g_ptr_array_add(words, NULL);
    return command_line((const char *const *)words->pdata);
}

/* ---- preparing the work ---- */

/* Returns the name for the campaign and its folder: the network's if the files have exactly one
 * network, else the first file's. */
static char *work_name(const struct tune *tune)
{
    if (tune->import->networks->len == 1)
        return g_strdup(
            ((struct import_network *)g_ptr_array_index(tune->import->networks, 0))->name);
    return tune->import->networks->len == 0 ? import_file_name(tune->request.files[0])
                                            : g_path_get_basename(tune->request.files[0]);
}

static bool read_problems(struct tune *tune, GError **error)
{
    tune->import = problems_import(tune->request.files, &tune->request.list, error);
    if (!tune->import)
        return false;
    tune->problems = problems_of_import(tune->import);
    if (tune->problems->len == 0) {
        g_autofree char *names = g_strjoinv("', '", tune->request.files);
        g_set_error(error, COORDINATOR_ERROR, COORDINATOR_ERROR_EMPTY,
                    "there is no problem in '%s'; skipjack import --dry-run says what is in it",
                    names);
        return false;
    }
    if (!tune->request.name)
        tune->request.name = work_name(tune);
    if (!tune->folder)
        tune->folder = g_build_filename("skipjack-out", tune->request.name, NULL);
    int64_t layers = 0;
    for (guint i = 0; i < tune->problems->len; i++)
        layers += g_array_index(tune->problems, struct plan_problem, i).multiplicity;
    cli_note("%u problems in %" G_GINT64_FORMAT " layers, called %s\n", tune->problems->len, layers,
             tune->request.name);
    return true;
}

/* Stores the network. The campaign belongs to the version that this makes, whatever is imported
 * under the name later. */
static bool put_network(struct tune *tune, const char *name, const struct layer *layers, int count,
                        const struct network_facts *facts, GError **error)
{
    struct network_change change;
    bool replaced;
    if (!store_put_network(tune->store, name, layers, count, &change, error) ||
        !store_describe_network(tune->store, name, change.number, facts, &replaced, error))
        return false;
    network_say_change(name, &change);
    guint known = tune->request.networks ? g_strv_length(tune->request.networks) : 0;
    tune->request.networks = g_renew(char *, tune->request.networks, known + 2);
    tune->request.networks[known] = g_strdup_printf("%s@%d", name, change.number);
    tune->request.networks[known + 1] = NULL;
    return true;
}

/* Makes a network, with the name of the work, of the problems in files that name none, as driver
 * lines. */
static bool store_plain_network(struct tune *tune, GError **error)
{
    g_autofree struct layer *layers = g_new0(struct layer, tune->problems->len);
    char no_name[] = "";
    for (guint i = 0; i < tune->problems->len; i++) {
        const struct plan_problem *problem = &g_array_index(tune->problems, struct plan_problem, i);
        layers[i] = (struct layer){no_name, problem->multiplicity, problem->problem};
    }
    const struct network_facts none = {0};
    return put_network(tune, tune->request.name, layers, (int)tune->problems->len, &none, error);
}

static bool store_networks(struct tune *tune, GError **error)
{
    GPtrArray *networks = tune->import->networks;
    if (!import_take_turn(tune->store, error))
        return false;
    bool stored = networks->len > 0 || store_plain_network(tune, error);
    for (guint i = 0; stored && i < networks->len; i++) {
        const struct import_network *network = g_ptr_array_index(networks, i);
        stored = put_network(tune, network->name,
                             (const struct layer *)(const void *)network->layers->data,
                             (int)network->layers->len, &network->facts, error);
    }
    store_leave_import(tune->store);
    return stored;
}

static bool probe_machine(struct tune *tune, GError **error)
{
    if (!machine_probe(&tune->machine, error) ||
        !machine_check_target(&tune->machine, tune->request.target, "tune", error))
        return false;
    cli_note("tuning on %s (%s, %s)\n", tune->machine.device, tune->machine.target.id,
             tune->machine.stack);
    return true;
}

/* Checks the folder before the work: otherwise the export would refuse it hours later. */
static bool admit_folder(void *data, const char *campaign, GError **error)
{
    const struct tune *tune = data;
    const struct release_name release = {.target = tune->machine.target.id, .campaign = campaign};
    struct release_folder folder;
    bool admitted = release_folder_read(&folder, tune->folder, &release, tune->replace, error);
    release_folder_clear(&folder);
    return admitted;
}

static bool prepare(struct tune *tune, GError **error)
{
    if (!read_problems(tune, error) || !probe_machine(tune, error))
        return false;
    if (g_mkdir_with_parents(tune->folder, 0755) != 0) {
        g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(errno),
                    "cannot make the folder '%s': %s; name another one with -o", tune->folder,
                    g_strerror(errno));
        return false;
    }
    tune->request.admits = admit_folder;
    tune->request.admits_data = tune;
    tune->store = database_open(false, error);
    return tune->store && store_networks(tune, error) &&
           enter_campaign(tune->store, &tune->request, &tune->machine, tune->problems,
                          &tune->entered, error) &&
           store_progress(tune->store, tune->entered.campaign->id, &tune->before, error);
}

/* ---- building and measuring ---- */

static void say_done(const struct campaign *campaign)
{
    if (campaign->budget_seconds <= 0 || campaign->spent_seconds < campaign->budget_seconds) {
        cli_note("campaign %" G_GINT64_FORMAT " is done already\n", campaign->id);
        return;
    }
    g_autofree char *spent = when_duration(campaign->spent_seconds);
    g_autofree char *budget = when_duration(campaign->budget_seconds);
    cli_note("campaign %" G_GINT64_FORMAT
             " is done already: it has worked %s, and its budget is %s; it goes on with a longer "
             "--budget\n",
             campaign->id, spent, budget);
}

static void say_campaign(const struct tune *tune)
{
    const struct entered *entered = &tune->entered;
    const struct campaign *campaign = entered->campaign;
    if (!entered->existed) {
        cli_note("campaign %" G_GINT64_FORMAT ": %d jobs, %d of them with results of earlier "
                 "campaigns\n",
                 campaign->id, campaign->jobs, entered->reused);
        origins_say(&entered->origins);
    } else if (strcmp(campaign->state, "done") == 0)
        say_done(campaign);
    else if (entered->extended || entered->moved) {
        g_autofree char *budget = when_duration(campaign->budget_seconds);
        g_autofree char *deadline = when_format(campaign->deadline_unix);
        cli_note("campaign %" G_GINT64_FORMAT " goes on with %s%s%s\n", campaign->id,
                 campaign->budget_seconds > 0 ? budget : "no limit of time",
                 campaign->deadline_unix ? ", until " : "",
                 campaign->deadline_unix ? deadline : "");
    } else
        cli_note("campaign %" G_GINT64_FORMAT " goes on: %d of %d jobs are done\n", campaign->id,
                 campaign->jobs_done + campaign->jobs_failed, campaign->jobs);
    entered_say_missing(entered);
}

static void say_estimate(const struct watch *watch, const struct campaign *campaign)
{
    const struct progress *progress = &watch->progress;
    const struct progress_rates *rates = &watch->rates;
    double seconds = watch_time_left(watch);
    g_autofree char *duration = when_duration(MAX(seconds, 1));
    cli_note("%s %" G_GINT64_FORMAT " configs to try; this takes about %s (a config: %.2f s to "
             "compile, %.2f s to measure, %s)\n",
             campaign->close_configs > 0 ? "about" : "at most",
             MAX(watch->goal.configs - progress->configs_done, 0), duration, rates->compile_seconds,
             rates->eval_seconds, rates->measured ? "as measured here before" : "a guess");
    if (campaign->min_gain > 0)
        cli_note("less where a job's search ends sooner, at an expected gain below %g %%\n",
                 campaign->min_gain);
}

static bool wake_campaign(struct tune *tune, GError **error)
{
    int64_t id = tune->entered.campaign->id;
    if (strcmp(tune->entered.campaign->state, "paused") != 0)
        return true;
    cli_note("campaign %" G_GINT64_FORMAT " was paused and is resumed\n", id);
    return store_change_campaign(tune->store, id, "resume", error);
}

static void say_overdue(const struct progress *progress)
{
    fprintf(stderr,
            "the deadline has passed and %d of %d jobs are not done: what is there is exported\n",
            progress->jobs - progress->done - progress->failed, progress->jobs);
}

static enum supervise_end run_worker(struct tune *tune, bool estimates, GError **error)
{
    struct watch watch;
    if (!watch_init(&watch, tune->store, tune->entered.campaign->id, error))
        return SUPERVISE_FAILED;
    if (estimates) {
        say_estimate(&watch, tune->entered.campaign);
        first_rounds_say(tune->store, tune->entered.campaign);
    }
    g_autofree char *log = g_build_filename(tune->folder, "tune.log", NULL);
    process_block_signals();
    enum supervise_end end = supervise_worker(&watch, log, error);
    if (end != SUPERVISE_INTERRUPTED)
        process_unblock_signals();
    if (end == SUPERVISE_OVERDUE)
        say_overdue(&watch.progress);
    return end;
}

/* Measures unstable times, and those of rounds whose device drifted, once more, since an export
 * would leave them out. */
static enum supervise_end work_again(struct tune *tune, GError **error)
{
    struct remeasure_counts counts;
    g_auto(GStrv) solvers = solver_pins();
    const struct remeasure_wish wish = {.what = REMEASURE_UNSTABLE,
                                        .solvers = (const char *const *)solvers};
    if (tune->allow_drift)
        return SUPERVISE_DONE;
    if (!store_remeasure(tune->store, tune->entered.campaign->id, &wish, &counts, error))
        return SUPERVISE_FAILED;
    if (counts.jobs == 0)
        return SUPERVISE_DONE;
    fprintf(
        stderr,
        "%" G_GINT64_FORMAT " configs in %" G_GINT64_FORMAT
        " jobs are measured once more: their times were unstable, or the device drifted or was throttled\n",
        counts.unstable, counts.jobs);
    return run_worker(tune, false, error);
}

/* Runs the worker until the campaign is done. A campaign that is done already needs none. */
static enum supervise_end work(struct tune *tune, GError **error)
{
    if (strcmp(tune->entered.campaign->state, "done") == 0)
        return SUPERVISE_DONE;
    if (!wake_campaign(tune, error))
        return SUPERVISE_FAILED;
    enum supervise_end end = run_worker(tune, true, error);
    return end == SUPERVISE_DONE ? work_again(tune, error) : end;
}

/* ---- exporting and reporting ---- */

/* Exports the results. An export that refuses some of them still writes the others, and the report
 * follows in any case. */
static bool export_results(const struct tune *tune)
{
    g_autofree char *id = g_strdup_printf("%" G_GINT64_FORMAT, tune->entered.campaign->id);
    const char *args[8] = {"export", "--campaign", id, "-o", tune->folder};
    int count = 5;
    if (tune->allow_drift)
        args[count++] = "--allow-drift";
    if (tune->replace)
        args[count++] = "--replace";
    g_autofree char *output = NULL;
    g_autoptr(GError) error = NULL;
    bool ok = process_run(args, NULL, &output, &error);
    if (output && !log_is_quiet())
        fputs(output, stderr);
    if (!ok)
        fprintf(stderr, "skipjack tune: not all was exported: %s\n", error->message);
    return ok;
}

/* Deletes the code objects of configs that lost from an embedded database, where they would fill a laptop's disk;
 * `serve` does this for a farm. A failure is only reported, since tune's results do not depend on it. */
static void collect(struct tune *tune)
{
    struct upkeep_options options = UPKEEP_DEFAULTS;
    g_autoptr(GError) error = NULL;
    bool embedded;
    g_autofree char *url = database_url(&embedded, &error);
    options.code_hours = 0;
    if (url && embedded && !upkeep_run(tune->store, &options, &tune->freed, &error))
        fprintf(stderr, "skipjack tune: cannot drop all data that is no longer needed: %s\n",
                error->message);
}

static void print_freed(const struct upkeep_report *freed, FILE *out)
{
    int64_t count = freed->parts[UPKEEP_CODE].count;
    if (count > 0)
        fprintf(out,
                "Dropped %" G_GINT64_FORMAT " code objects (%.1f MB) that no kept result needs.\n",
                count, (double)freed->parts[UPKEEP_CODE].bytes / 1e6);
}

static void print_this_run(const struct tune *tune, const struct progress *after, FILE *out)
{
    int64_t kernels = after->kernels_built - tune->before.kernels_built;
    int64_t configs = after->configs_done - tune->before.configs_done;
    int done = tune->before.done + tune->before.failed;
    if (kernels <= 0 && configs <= 0)
        fprintf(
            out,
            "This run: nothing was compiled or measured again; the results of %d jobs were there "
            "already.\n",
            done);
    else
        fprintf(out,
                "This run: compiled %" G_GINT64_FORMAT " kernels, measured %" G_GINT64_FORMAT
                " configs; the results of %d jobs were there already.\n",
                MAX(kernels, 0), MAX(configs, 0), done);
    print_freed(&tune->freed, out);
}

/* Returns the command line that continues the search: without a deadline that has passed; with a
 * larger budget if the budget ended the search, else with more configs. NULL if all configs were
 * tried. Free with g_free(). */
static char *search_further(const struct tune *tune, const struct report *report)
{
    const struct campaign *campaign = tune->entered.campaign;
    int configs = tune->request.configs;
    if (strcmp(report->campaign->state, CAMPAIGN_OVERDUE) == 0) {
        g_autofree char *again = command_with(tune, configs, tune->request.budget_seconds);
        return g_strdup_printf("%s   # go on where the deadline ended it", again);
    }
    bool tried_all =
        campaign->budget_seconds <= 0 || report->progress.spent_seconds < campaign->budget_seconds;
    if (tried_all && configs == 0)
        return NULL;
    double budget = 4 * MAX(campaign->budget_seconds, DEFAULT_BUDGET_SECONDS);
    configs = tried_all ? MIN(configs, G_MAXINT / 4) * 4 : configs;
    g_autofree char *command =
        command_with(tune, configs, campaign->budget_seconds > 0 ? budget : 0);
    return g_strdup_printf("%s   # search %s", command, tried_all ? "more configs" : "longer");
}

static void print_next(const struct tune *tune, const struct report *report, FILE *out)
{
    g_autofree char *id = g_strdup_printf("%" G_GINT64_FORMAT, tune->entered.campaign->id);
    const char *const rejected_words[] = {"report", "--campaign", id, "--rejected", NULL};
    const char *const check_words[] = {"check", tune->folder, NULL};
    const char *const networks_words[] = {"networks", NULL};
    g_autofree char *rejected = command_line(rejected_words);
    g_autofree char *check = command_line(check_words);
    g_autofree char *networks = command_line(networks_words);
    g_autofree char *further = search_further(tune, report);
    fprintf(out, "\nResults are in %s. What may come next:\n", tune->folder);
    fprintf(out, "  %s   # why configs were refused\n", rejected);
    fprintf(out, "  %s   # verify what was written\n", check);
    if (further)
        fprintf(out, "  %s\n", further);
    else
        fprintf(out, "  %s   # all configs were tried: what else may be tuned\n", networks);
}

static bool write_report(const struct tune *tune, const struct report *report, GError **error)
{
    g_autofree char *path = g_build_filename(tune->folder, "report.txt", NULL);
    FILE *out = safe_output_open(path);
    if (out) {
        report_print(report, out);
        print_this_run(tune, &report->progress, out);
    }
    bool written = out && fflush(out) == 0 && !ferror(out);
    if (!written)
        g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(errno), "cannot write '%s': %s",
                    path, g_strerror(errno));
    if (out)
        fclose(out);
    return written;
}

static json_t *tune_json(const struct tune *tune, const struct report *report)
{
    json_t *json = report_json(report);
    const struct progress *after = &report->progress;
    g_autofree char *folder = g_utf8_make_valid(tune->folder, -1);
    json_object_set_new(json, "folder", json_string(folder));
    json_object_set_new(
        json, "this_run",
        json_pack("{s:b, s:I, s:I, s:I}", "existed", tune->entered.existed, "kernels_built",
                  (json_int_t)(after->kernels_built - tune->before.kernels_built), "configs_done",
                  (json_int_t)(after->configs_done - tune->before.configs_done), "freed_bytes",
                  (json_int_t)tune->freed.parts[UPKEEP_CODE].bytes));
    json_t *this_run = json_object_get(json, "this_run");
    json_object_set_new(this_run, "configs_taken", json_integer(tune->entered.origins.configs));
    json_object_set_new(this_run, "reasons", origins_json(&tune->entered.origins));
    return json;
}

static void show_report(const struct tune *tune, const struct report *report)
{
    if (tune->as_json) {
        table_show_json(tune_json(tune, report));
        return;
    }
    putchar('\n');
    report_print(report, stdout);
    print_this_run(tune, &report->progress, stdout);
    print_next(tune, report, stdout);
}

/* Says that the results are in the database, whatever happened to the folder. */
static void say_where_results_are(const struct tune *tune)
{
    g_autofree char *command =
        command_with(tune, tune->request.configs, tune->request.budget_seconds);
    fprintf(stderr,
            "all results are kept in the database; with room in '%s', or another folder, this "
            "writes them again:\n  %s\n",
            tune->folder, command);
}

static int finish(struct tune *tune)
{
    GError *error = NULL;
    bool exported = export_results(tune);
    collect(tune);
    struct report *report = report_new(tune->store, tune->entered.campaign->id, &error);
    if (!report)
        return cli_fail("tune", error);
    show_report(tune, report);
    bool written = write_report(tune, report, &error);
    bool complete = report->totals.without_winner == 0 && report->notes.uncovered->len == 0;
    report_free(report);
    if (!written)
        cli_fail("tune", error);
    if (!exported || !written)
        say_where_results_are(tune);
    return exported && written && complete ? CLI_DONE : CLI_FAILED;
}

static void say_how_to_go_on(const struct tune *tune)
{
    g_autofree char *command =
        command_with(tune, tune->request.configs, tune->request.budget_seconds);
    fprintf(stderr, "everything measured is kept. To go on:\n  %s\n", command);
}

static int tune_run(struct tune *tune)
{
    GError *error = NULL;
    if (!request_check(&tune->request, &error) || !prepare(tune, &error))
        return cli_fail("tune", error);
    say_campaign(tune);
    switch (work(tune, &error)) {
    case SUPERVISE_DONE: return finish(tune);
    case SUPERVISE_OVERDUE: {
        int status = finish(tune);
        say_how_to_go_on(tune);
        return status;
    }
    case SUPERVISE_INTERRUPTED: say_how_to_go_on(tune); return CLI_INTERRUPTED;
    case SUPERVISE_FAILED: break;
    }
    int status = cli_fail("tune", error);
    say_how_to_go_on(tune);
    return status;
}

int command_tune(int argc, char **argv)
{
    struct tune tune = {0};
    request_init(&tune.request, DEFAULT_BUDGET_SECONDS);
    g_autofree GOptionEntry *shared = request_options(&tune.request);
    g_autofree GOptionEntry *lists = import_words_entries(&tune.request.list, 0, 0);
    const GOptionEntry options[] = {
        {"output", 'o', 0, G_OPTION_ARG_FILENAME, &tune.folder,
         "where the results go (skipjack-out/NAME)", "DIR"},
        {"allow-drift", 0, 0, G_OPTION_ARG_NONE, &tune.allow_drift,
         "export also what was measured while the device drifted or was throttled, and measure it once",
         NULL},
        {"replace", 0, 0, G_OPTION_ARG_NONE, &tune.replace,
         "remove another campaign's or golden version's files from that folder", NULL},
        {"json", 0, 0, G_OPTION_ARG_NONE, &tune.as_json, "print the report as an object", NULL},
        {0},
    };
    const struct cli cli = {
        .command = "tune",
        .arguments = "FILE...",
        .summary =
            "Imports the files' problems, tunes them on this machine, exports the results and "
            "reports the gain. It may be stopped at any time; the same command goes on where it was. "
            "The budget is 600 s unless one is given. Once it is spent, each problem without a winner gets one "
            "config of its most promising solver, and all other jobs end; a larger budget lets them go on. "
            "At a deadline it ends and exports the results so far.",
        .example = "skipjack tune resnet50-v1.5 --budget 900 -o tuned",
        .options = options,
        .shared = shared,
        .lists = lists,
        .least = 1,
        .most = -1,
    };
    int status = CLI_USAGE;
    if (cli_parse(&cli, &argc, &argv)) {
        tune.request.files = g_strdupv(argv + 1);
        tune.named = tune.request.name != NULL;
        status = tune_run(&tune);
    }
    tune_clear(&tune);
    return status;
}
