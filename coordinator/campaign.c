/* `skipjack campaign VERB`: everything about campaigns but running them. */
#include "coordinator/campaign_verbs.h"
#include "coordinator/cli.h"
#include "coordinator/commands.h"
#include "coordinator/enter.h"
#include "coordinator/problems_of.h"
#include "coordinator/table.h"
#include "coordinator/watch.h"
#include "schema/database.h"
#include "schema/store_foreign.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void say_entered(const struct entered *entered)
{
    const struct campaign *campaign = entered->campaign;
    if (entered->existed)
        fprintf(stderr,
                "the same was asked for before: campaign %" G_GINT64_FORMAT " (%s) goes on%s\n",
                campaign->id, campaign->state, entered->extended ? " with more working time" : "");
    else
        fprintf(stderr,
                "campaign %" G_GINT64_FORMAT " on %s: %d jobs, at most %" G_GINT64_FORMAT
                " configs, %d jobs with results of earlier campaigns\n",
                campaign->id, campaign->target, campaign->jobs, entered->configs, entered->reused);
    entered_say_missing(entered);
}

/* Finds or creates the campaign of a request and says on stderr which. *json is an object with
 * its id, a new reference. */
static bool create_campaign(Store *store, const struct request *request, int64_t *id, json_t **json,
                            GError **error)
{
    if (!request->target) {
        g_set_error(error, COORDINATOR_ERROR, COORDINATOR_ERROR_USAGE,
                    "name the target: --target gfx90a68, or local for this machine's device");
        return false;
    }
    g_autoptr(GArray) problems = problems_of_request(store, request, error);
    struct machine machine = {0};
    struct entered entered = {0};
    bool ok = problems && machine_find(store, request->target, &machine, error) &&
              enter_campaign(store, request, &machine, problems, &entered, error);
    if (ok) {
        say_entered(&entered);
        *id = entered.campaign->id;
        *json = json_pack("{s:I, s:b, s:s, s:i, s:i, s:i, s:i}", "id", (json_int_t)*id, "existed",
                          entered.existed, "target", machine.target.id, "jobs",
                          entered.campaign->jobs, "reused", entered.reused, "uncovered",
                          (int)entered.uncovered->len, "left_out", entered.left_out);
    }
    machine_clear(&machine);
    entered_clear(&entered);
    return ok;
}

static int run_create(const struct request *request, gboolean as_json)
{
    GError *error = NULL;
    int64_t id = 0;
    json_t *json = NULL;
    g_autoptr(Store) store = request_check(request, &error) ? database_open(false, &error) : NULL;
    if (!store || !create_campaign(store, request, &id, &json, &error))
        return cli_fail("campaign create", error);
    if (as_json) {
        table_show_json(json);
        return CLI_DONE;
    }
    json_decref(json);
    printf("%" G_GINT64_FORMAT "\n", id);
    return CLI_DONE;
}

static int verb_create(int argc, char **argv)
{
    struct request request;
    gboolean as_json = FALSE;
    request_init(&request, 0);
    g_autofree GOptionEntry *shared = request_options(&request);
    const GOptionEntry options[] = {
        {"problems", 'p', 0, G_OPTION_ARG_FILENAME_ARRAY, &request.files,
         "a file that the importers read; may be repeated", "FILE"},
        {"tag", 0, 0, G_OPTION_ARG_STRING, &request.tag, "the problems imported with that tag",
         "T"},
        {"network", 'n', 0, G_OPTION_ARG_STRING, &request.network, "the layers of that network",
         "N"},
        {"build-only", 0, 0, G_OPTION_ARG_NONE, &request.build_only,
         "measure nothing: of each job build its first --configs, the default one and what the "
         "strategy begins with",
         NULL},
        {"pool", 0, 0, G_OPTION_ARG_STRING, &request.pool,
         "only workers that were started with --label X (any)", "X"},
        {"stack", 0, 0, G_OPTION_ARG_STRING, &request.stack,
         "only workers with this software: \"clang >= 15 < 20; driver >= 535\" (local: this "
         "machine's; else any)",
         "ITEMS"},
        {"priority", 0, 0, G_OPTION_ARG_INT, &request.priority,
         "campaigns with a higher one are worked on first (0)", "N"},
        {"share", 0, 0, G_OPTION_ARG_DOUBLE, &request.share,
         "of the working time, among campaigns of one priority (1)", "X"},
        {"json", 0, 0, G_OPTION_ARG_NONE, &as_json, "print an object", NULL},
        {0},
    };
    const struct cli cli = {
        .command = "campaign create",
        .summary = "Plans problems x solvers for one target and prints the campaign's id. The same "
                   "request again finds the same campaign.",
        .example = "skipjack campaign create --target gfx90a68 --problems layers.txt --configs 64",
        .options = options,
        .shared = shared,
    };
    int status = cli_parse(&cli, &argc, &argv) ? run_create(&request, as_json) : CLI_USAGE;
    request_clear(&request);
    return status;
}

static int verb_watch(int argc, char **argv)
{
    const struct cli cli = {
        .command = "campaign watch",
        .arguments = "ID",
        .summary = "Follows a campaign until it is done. Ctrl-C ends the watching only.",
        .example = "skipjack campaign watch 3",
        .least = 1,
        .most = 1,
    };
    if (!cli_parse(&cli, &argc, &argv))
        return CLI_USAGE;
    int64_t id = 0;
    GError *error = NULL;
    g_autoptr(Store) store =
        cli_parse_id(argv[1], &id, &error) ? database_open(false, &error) : NULL;
    return store ? watch_campaign("campaign watch", store, id) : cli_fail("campaign watch", error);
}

/* A foreign campaign has no jobs that could be changed. */
static bool suits_change(const struct campaign *campaign, const char *verb, GError **error)
{
    if (!campaign_is_foreign(campaign) || strcmp(verb, "drop") == 0)
        return true;
    g_set_error(error, STORE_ERROR, STORE_ERROR_STATE,
                "campaign %" G_GINT64_FORMAT
                " is foreign: it has nothing to work on, and can only be dropped",
                campaign->id);
    return false;
}

static int change(const char *verb, const char *text)
{
    g_autofree char *command = g_strdup_printf("campaign %s", verb);
    int64_t id = 0;
    GError *error = NULL;
    g_autoptr(Store) store = cli_parse_id(text, &id, &error) ? database_open(false, &error) : NULL;
    struct campaign *campaign = store ? store_get_campaign(store, id, &error) : NULL;
    if (!campaign)
        return cli_fail(command, error);
    bool changes =
        suits_change(campaign, verb, &error) && store_change_campaign(store, id, verb, &error);
    campaign_free(campaign);
    if (!changes)
        return cli_fail(command, error);
    fprintf(stderr, "campaign %" G_GINT64_FORMAT ": %s done\n", id, verb);
    return CLI_DONE;
}

/* pause, resume, cancel, retry and drop differ by their name and sentence only. */
static const struct {
    const char *verb, *summary;
} changes[] = {
    {"pause",
     "Claims nothing more of a campaign until it is resumed; what is under way is finished."},
    {"resume", "Lets a paused campaign go on."},
    {"cancel", "Ends a campaign for good; what was measured stays."},
    {"retry", "Brings a campaign's failed jobs back to ready."},
    {"drop", "Removes a campaign. What other campaigns use stays."},
};

/* ---- set ---- */

struct share_request {
    int priority;
    double share;
    char *pool;
};

#define NO_PRIORITY G_MININT

static bool share_check(const struct share_request *wanted, GError **error)
{
    bool none = wanted->priority == NO_PRIORITY && isnan(wanted->share) && !wanted->pool;
    if (!none && (isnan(wanted->share) || (wanted->share > 0 && isfinite(wanted->share))))
        return true;
    g_set_error(error, COORDINATOR_ERROR, COORDINATOR_ERROR_USAGE, "%s",
                none ? "say what to set: --priority, --share or --pool"
                     : "--share takes a number above 0");
    return false;
}

static int set_share(const struct share_request *wanted, const char *text)
{
    int64_t id = 0;
    GError *error = NULL;
    g_autoptr(Store) store = share_check(wanted, &error) && cli_parse_id(text, &id, &error)
                                 ? database_open(false, &error)
                                 : NULL;
    if (!store ||
        !store_share_campaign(store, id, wanted->priority == NO_PRIORITY ? NULL : &wanted->priority,
                              isnan(wanted->share) ? NULL : &wanted->share, wanted->pool, &error))
        return cli_fail("campaign set", error);
    struct campaign *campaign = store_get_campaign(store, id, &error);
    if (!campaign)
        return cli_fail("campaign set", error);
    fprintf(stderr, "campaign %" G_GINT64_FORMAT ": priority %d, share %g, pool %s\n", id,
            campaign->priority, campaign->share, campaign->pool[0] ? campaign->pool : "any");
    campaign_free(campaign);
    return CLI_DONE;
}

static int verb_set(int argc, char **argv)
{
    struct share_request wanted = {.priority = NO_PRIORITY, .share = NAN};
    const GOptionEntry options[] = {
        {"priority", 0, 0, G_OPTION_ARG_INT, &wanted.priority, "higher ones are worked on first",
         "N"},
        {"share", 0, 0, G_OPTION_ARG_DOUBLE, &wanted.share,
         "of the working time, among campaigns of one priority", "X"},
        {"pool", 0, 0, G_OPTION_ARG_STRING, &wanted.pool,
         "only workers with that label, \"\" for any", "X"},
        {0},
    };
    const struct cli cli = {
        .command = "campaign set",
        .arguments = "ID",
        .summary = "Sets who works on a campaign and when, from the next claim on.",
        .example = "skipjack campaign set 3 --priority 10 --share 2",
        .options = options,
        .least = 1,
        .most = 1,
    };
    int status = cli_parse(&cli, &argc, &argv) ? set_share(&wanted, argv[1]) : CLI_USAGE;
    g_free(wanted.pool);
    return status;
}

static int verb_change(int argc, char **argv)
{
    g_autofree char *command = g_strdup_printf("campaign %s", argv[0]);
    g_autofree char *example = g_strdup_printf("skipjack campaign %s 3", argv[0]);
    struct cli cli = {
        .command = command,
        .arguments = "ID",
        .example = example,
        .least = 1,
        .most = 1,
    };
    for (gsize i = 0; i < G_N_ELEMENTS(changes); i++) {
        if (strcmp(changes[i].verb, argv[0]) == 0)
            cli.summary = changes[i].summary;
    }
    g_autofree char *verb = g_strdup(argv[0]);
    return cli_parse(&cli, &argc, &argv) ? change(verb, argv[1]) : CLI_USAGE;
}

static const struct cli_verb verbs[] = {
    {"create", "plan problems x solvers for one target", verb_create},
    {"list", "all campaigns", campaign_verb_list},
    {"show", "one campaign: jobs by state, failures, latest events", campaign_verb_show},
    {"watch", "follow one until it is done", verb_watch},
    {"set", "its priority, share or pool", verb_set},
    {"pause", "claim nothing more for now", verb_change},
    {"resume", "let a paused one go on", verb_change},
    {"cancel", "end one for good", verb_change},
    {"retry", "bring failed jobs back", verb_change},
    {"drop", "remove one", verb_change},
};

int command_campaign(int argc, char **argv)
{
    return cli_run_verb("campaign", verbs, G_N_ELEMENTS(verbs),
                        "skipjack campaign create --target local --network resnet50-v1.5", argc,
                        argv);
}

int command_run(int argc, char **argv)
{
    const struct cli cli = {
        .command = "run",
        .arguments = "FILE",
        .summary =
            "Creates the campaign that a JSON file describes, and watches it. Fields: target, "
            "problems (a file or a list), tag, network, solvers, all_solvers, configs, strategy, "
            "seed, budget, build_only, name, pool, stack, priority, share. Workers do the work: start one with skipjack worker.",
        .example = "echo '{\"target\": \"local\", \"problems\": \"layers.txt\"}' >campaign.json\n"
                   "  skipjack run campaign.json",
        .least = 1,
        .most = 1,
    };
    if (!cli_parse(&cli, &argc, &argv))
        return CLI_USAGE;
    struct request request;
    GError *error = NULL;
    int64_t id = 0;
    json_t *json = NULL;
    request_init(&request, 0);
    bool ok = request_from_file(argv[1], &request, &error) && request_check(&request, &error);
    g_autoptr(Store) store = ok ? database_open(false, &error) : NULL;
    ok = store && create_campaign(store, &request, &id, &json, &error);
    request_clear(&request);
    json_decref(json);
    return ok ? watch_campaign("run", store, id) : cli_fail("run", error);
}
