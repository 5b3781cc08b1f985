/* `skipjack run FILE`: one campaign, or a night. */
#include "coordinator/campaigns/campaign_verbs.h"
#include "coordinator/cli/cli.h"
#include "coordinator/cli/table.h"
#include "coordinator/commands.h"
#include "coordinator/nights/night_file.h"

struct run_options {
    gboolean schema; /* --schema */
};

static int run(const struct run_options *options, const char *path)
{
    GError *error = NULL;
    if (options->schema) {
        table_show_json(night_file_schema());
        return CLI_DONE;
    }
    if (!night_file_is(path))
        return campaign_run_file(path);
    struct night_file *night = night_file_read(path, &error);
    if (!night)
        return cli_fail("run", error);
    night_file_free(night);
    cli_misuse(&error, "nothing runs a night yet");
    return cli_fail("run", error);
}

static int needs_file(void)
{
    GError *error = NULL;
    cli_misuse(&error, "needs FILE; see skipjack run --help");
    return cli_fail("run", error);
}

int command_run(int argc, char **argv)
{
    struct run_options options = {0};
    const GOptionEntry entries[] = {
        {"schema", 0, 0, G_OPTION_ARG_NONE, &options.schema,
         "print the JSON Schema of a night's description", NULL},
        {0},
    };
    const struct cli cli = {
        .command = "run",
        .arguments = "FILE",
        .summary =
            "Creates the campaign that a JSON file describes, and watches it. Fields: target, "
            "problems (a file or a list), tag, network, batch (a number or a list), dtype (a name "
            "or a list), layout, allow_clamped, solvers (names or families, a text or a list), "
            "all_solvers, workspace_limit (bytes, or a text like \"64MiB\"), dynamic_only, "
            "deterministic, tunable_only, configs, strategy, seed, budget, build_only, name, pool, "
            "stack, priority, share, trust (logins, a text or a list). Workers do the work: start "
            "one with skipjack worker.",
        .example = "echo '{\"target\": \"local\", \"problems\": \"layers.txt\"}' >campaign.json\n"
                   "  skipjack run campaign.json",
        .options = entries,
        .least = 0,
        .most = 1,
    };
    if (!cli_parse(&cli, &argc, &argv))
        return CLI_USAGE;
    if (argc < 2 && !options.schema)
        return needs_file();
    return run(&options, argc > 1 ? argv[1] : NULL);
}
