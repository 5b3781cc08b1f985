/* `skipjack run FILE`: one campaign, or a night. */
#include "coordinator/campaigns/campaign_verbs.h"
#include "coordinator/cli/cli.h"
#include "coordinator/cli/table.h"
#include "coordinator/commands.h"
#include "coordinator/nights/night.h"
#include "coordinator/nights/plan/night_show.h"
#include "schema/server/database.h"
#include "solvers/problem/problem_key.h"

#include <string.h>

struct run_options {
    gboolean dry_run, json, schema;
    char *why, *night;
};

/* Reads the problem that --why names. */
static bool read_problem(const char *key, struct problem *problem, GError **error)
{
    if (problem_key_parse(key, problem, error) && problem_validate(problem, error))
        return true;
    if (error && *error) {
        (*error)->domain = COORDINATOR_ERROR;
        (*error)->code = COORDINATOR_ERROR_USAGE;
    }
    g_prefix_error(error, "--why: ");
    return false;
}

/* Plans and shows in a transaction that refuses changes: all that is shown is of one moment. */
static bool show_plan(Store *store, const struct run_options *options,
                      const struct night_file *file, const char *night, GError **error)
{
    struct problem problem;
    bool in_night = false, ok = true;
    if (options->why && !read_problem(options->why, &problem, error))
        return false;
    struct night_sources *sources = night_sources_read(store, file, error);
    if (!sources)
        return false;
    if (options->why)
        in_night = night_sources_keep_only(sources, &problem);
    struct night_plan *plan = store_begin_reading(store, error)
                                  ? night_plan_new(store, file, sources, night, error)
                                  : NULL;
    ok = plan && store_end(store, false, error);
    if (ok && options->why)
        ok = night_why_show(file, plan, &problem, in_night, options->json, error);
    else if (ok && options->json)
        table_show_json(night_plan_json(file, sources, plan));
    else if (ok)
        night_plan_print(file, sources, plan);
    night_plan_free(plan);
    night_sources_free(sources);
    return ok;
}

static int run_night(const struct run_options *options, const char *path)
{
    GError *error = NULL;
    g_autofree char *today = night_date();
    g_autofree char *night = g_strdup(options->night ? options->night : today);
    struct night_file *file = NULL;
    bool ok = night_date_is_valid(night) ||
              cli_misuse(&error, "--night takes a date as 2026-11-23, not '%s'", night);
    file = ok ? night_file_read(path, &error) : NULL;
    if (file && strcmp(night, today) > 0)
        cli_note("the night %s is after %s, the present one: nights before it do not count what it "
                 "measures\n",
                 night, today);
    g_autoptr(Store) store = file ? database_open(false, &error) : NULL;
    if (store && (options->dry_run || options->why))
        ok = show_plan(store, options, file, night, &error);
    bool shows = options->dry_run || options->why;
    int status = CLI_DONE;
    if (store && !shows) {
        const struct night_wish wish = {.date = night, .as_json = options->json};
        status = night_run(store, file, &wish);
    }
    night_file_free(file);
    if (store && ok)
        return status;
    return shows ? cli_fail("run", error) : night_fail(error);
}

/* Refuses options that belong to nights. */
static bool suits_campaign(const struct run_options *options, const char *path, GError **error)
{
    const char *option = options->dry_run ? "--dry-run"
                         : options->why   ? "--why"
                         : options->night ? "--night"
                         : options->json  ? "--json"
                                          : NULL;
    if (!option)
        return true;
    return night_file_is_object(path, error) &&
           cli_misuse(error,
                      "%s belongs to nights: '%s' has no \"targets\", so that it "
                      "describes one campaign",
                      option, path);
}

static int run(const struct run_options *options, const char *path)
{
    GError *error = NULL;
    if (options->schema) {
        table_show_json(night_file_schema());
        return CLI_DONE;
    }
    if (!path) {
        cli_misuse(&error, "needs FILE; see skipjack run --help");
        return cli_fail("run", error);
    }
    if (night_file_is(path))
        return run_night(options, path);
    return suits_campaign(options, path, &error) ? campaign_run_file(path) : cli_fail("run", error);
}

int command_run(int argc, char **argv)
{
    struct run_options options = {0};
    const GOptionEntry entries[] = {
        {"dry-run", 0, 0, G_OPTION_ARG_NONE, &options.dry_run,
         "of a night: only show which jobs have which reason, and what they would take", NULL},
        {"why", 0, 0, G_OPTION_ARG_STRING, &options.why,
         "of a night: only say of a problem why each solver works on it or does not", "KEY"},
        {"night", 0, 0, G_OPTION_ARG_STRING, &options.night,
         "the night of this date (the local date of 12 hours ago)", "YYYY-MM-DD"},
        {"schema", 0, 0, G_OPTION_ARG_NONE, &options.schema,
         "print the JSON Schema of a night's description", NULL},
        CLI_JSON_OPTION(&options.json),
        {0},
    };
    const struct cli cli = {
        .command = "run",
        .arguments = "FILE",
        .summary =
            "Does what a JSON file describes. A file with targets describes a night, which is "
            "planned from what changed since the last one; run it every night. Its fields: see "
            "--schema, and coordinator/nights/NIGHTS.md. Any other file describes one campaign, "
            "which is created and watched. Its fields: target, "
            "problems (a file or a list), tag, network, batch (a number or a list), dtype (a name "
            "or a list), layout, allow_clamped, solvers (names or families, a text or a list), "
            "all_solvers, workspace_limit (bytes, or a text like \"64MiB\"), dynamic_only, "
            "deterministic, tunable_only, configs, close_configs, search_seconds, min_gain, strategy, seed, "
            "budget, final_seconds, deadline, build_only, name, pool, stack, priority, share, trust (logins, a text or a list). Workers do the work: start "
            "one with skipjack worker (--embedded without SKIPJACK_DB).",
        .example = "echo '{\"target\": \"local\", \"problems\": \"layers.txt\"}' >campaign.json\n"
                   "  skipjack run campaign.json\n"
                   "  skipjack run nightly.json --dry-run",
        .options = entries,
        .least = 0,
        .most = 1,
    };
    int status =
        cli_parse(&cli, &argc, &argv) ? run(&options, argc > 1 ? argv[1] : NULL) : CLI_USAGE;
    g_free(options.why);
    g_free(options.night);
    return status;
}
