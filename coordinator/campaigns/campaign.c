/* `skipjack campaign VERB`: all verbs except list and show (campaign_show.c) and remeasure
 * (campaign_remeasure.c). */
#include "coordinator/campaigns/campaign_verbs.h"
#include "coordinator/campaigns/enter.h"
#include "coordinator/campaigns/origins.h"
#include "coordinator/campaigns/problems_of.h"
#include "coordinator/campaigns/watch.h"
#include "coordinator/cli/cli.h"
#include "coordinator/cli/table.h"
#include "coordinator/cli/when.h"
#include "coordinator/commands.h"
#include "coordinator/plan/first_rounds.h"
#include "schema/results/store_foreign.h"
#include "schema/results/store_history.h"
#include "schema/server/database.h"
#include "schema/store/store_campaigns.h"

#include <stdio.h>
#include <string.h>

static void say_entered(const struct entered *entered)
{
    const struct campaign *campaign = entered->campaign;
    if (entered->existed)
        fprintf(stderr,
                "the same was asked for before: campaign %" G_GINT64_FORMAT " (%s) is used%s\n",
                campaign->id, campaign->state,
                entered->extended ? " with more working time"
                : entered->moved  ? " with another deadline"
                                  : "");
    else
        cli_note("campaign %" G_GINT64_FORMAT " on %s: %d jobs, %s %" G_GINT64_FORMAT
                 " configs, %d jobs with results of earlier campaigns\n",
                 campaign->id, campaign->target, campaign->jobs,
                 campaign->close_configs > 0 ? "about" : "at most", entered->configs,
                 entered->reused);
    if (!entered->existed && !campaign->build_only)
        origins_say(&entered->origins);
    entered_say_missing(entered);
}

/* Returns the object that `create --json` prints about the campaign. NULL if its jobs cannot be
 * read. */
static json_t *entered_json(Store *store, const struct entered *entered, GError **error)
{
    const struct campaign *campaign = entered->campaign;
    Table *jobs = origins_list_jobs(store, campaign->id, error);
    if (!jobs)
        return NULL;
    json_t *json = json_pack(
        "{s:I, s:b, s:s, s:i, s:i, s:i, s:i, s:I, s:o, s:o}", "id", (json_int_t)campaign->id,
        "existed", entered->existed, "target", campaign->target, "jobs", campaign->jobs, "reused",
        entered->reused, "uncovered", (int)entered->uncovered->len, "left_out", entered->left_out,
        "configs_taken", (json_int_t)entered->origins.configs, "reasons",
        origins_json(&entered->origins), "job_list", table_json(jobs));
    table_free(jobs);
    return json;
}

/* Finds or creates the campaign of a request, and says on stderr which of the two. If `json` is not
 * NULL, *json becomes an object about the campaign, a new reference. */
static bool create_campaign(Store *store, struct request *request, int64_t *id, json_t **json,
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
        first_rounds_say(store, entered.campaign);
        *id = entered.campaign->id;
        ok = !json || (*json = entered_json(store, &entered, error)) != NULL;
    }
    machine_clear(&machine);
    entered_clear(&entered);
    return ok;
}

static int run_create(struct request *request, gboolean as_json)
{
    GError *error = NULL;
    int64_t id = 0;
    json_t *json = NULL;
    g_autoptr(Store) store = request_check(request, &error) ? database_open(false, &error) : NULL;
    if (!store || !create_campaign(store, request, &id, as_json ? &json : NULL, &error))
        return cli_fail("campaign create", error);
    if (as_json) {
        table_show_json(json);
        return CLI_DONE;
    }
    json_decref(json);
    printf("%" G_GINT64_FORMAT "\n", id);
    return CLI_DONE;
}

#define TRUST_HELP                                                                                 \
    "logins whose code CPU workers run as if it were their own login's; they build code of other " \
    "logins again"

static int verb_create(int argc, char **argv)
{
    struct request request;
    gboolean as_json = FALSE;
    request_init(&request, 0);
    g_autofree GOptionEntry *shared = request_options(&request);
    g_autofree GOptionEntry *lists = import_words_entries(&request.list, 'n', 0);
    const GOptionEntry options[] = {
        {"problems", 'p', 0, G_OPTION_ARG_FILENAME_ARRAY, &request.files,
         "a file that the importers read; may be repeated", "FILE"},
        {"tag", 0, 0, G_OPTION_ARG_STRING, &request.tag, "the problems imported with that tag",
         "T"},
        {"build-only", 0, 0, G_OPTION_ARG_NONE, &request.build_only,
         "measure nothing: build each job's first --configs, the default config and those that the "
         "strategy begins with",
         NULL},
        {"pool", 0, 0, G_OPTION_ARG_STRING, &request.pool,
         "only workers that were started with --label X (any)", "X"},
        {"stack", 0, 0, G_OPTION_ARG_STRING, &request.stack,
         "only workers with this software: \"clang >= 15 < 20; driver >= 535\" (this machine's where "
         "--target is local, else any). Compilers (clang, hiprtc, nvrtc, opencl) bind workers that "
         "build, runtime (cuda, hip, opencl) and driver bind devices that measure",
         "ITEMS"},
        {"priority", 0, 0, G_OPTION_ARG_INT, &request.priority,
         "campaigns with a higher one are worked on first (0)", "N"},
        {"share", 0, 0, G_OPTION_ARG_DOUBLE, &request.share,
         "of the working time, among campaigns of one priority (1)", "X"},
        {"trust", 0, 0, G_OPTION_ARG_STRING, &request.trust, TRUST_HELP, "LOGIN[,LOGIN]"},
        {"json", 0, 0, G_OPTION_ARG_NONE, &as_json, "print an object", NULL},
        {0},
    };
    const struct cli cli = {
        .command = "campaign create",
        .summary = "Plans problems x solvers for one target and prints the campaign's id. The "
                   "problems are those of files (--problems), of a tag (--tag), or the layers of a "
                   "network that was imported (--network without --problems). The same request "
                   "again finds the same campaign.",
        .example = "skipjack campaign create --target gfx90a68 --problems layers.txt --configs 64",
        .options = options,
        .shared = shared,
        .lists = lists,
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

/* Refuses every change but `drop` for a foreign campaign: its results were imported, so it has no
 * jobs. */
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

/* Warns if the campaign's deadline has passed. The change itself succeeded, so a failure to read
 * the campaign for this warning is ignored. */
static void say_if_overdue(Store *store, int64_t id)
{
    struct campaign *campaign = store_get_campaign(store, id, NULL);
    if (campaign && strcmp(campaign->state, CAMPAIGN_OVERDUE) == 0)
        fprintf(stderr,
                "its deadline has passed, so nothing of it is begun until it has a later one: "
                "skipjack campaign set %" G_GINT64_FORMAT " --deadline TIME\n",
                id);
    campaign_free(campaign);
}

/* Asks for confirmation if the verb deletes something. Returns false with the exit status in
 * *status if nothing may be deleted. */
static bool may_change(const struct campaign *campaign, const char *verb,
                       const struct cli_loss *loss, int *status)
{
    if (strcmp(verb, "drop") == 0)
        return cli_may_lose(loss, status,
                            "campaign %" G_GINT64_FORMAT
                            " '%s' on %s with its %d jobs, rounds and results",
                            campaign->id, campaign->name, campaign->target, campaign->jobs);
    if (strcmp(verb, "cancel") == 0)
        return cli_may_lose(loss, status,
                            "%d jobs of campaign %" G_GINT64_FORMAT " '%s' that are not done",
                            campaign->jobs_open, campaign->id, campaign->name);
    return true;
}

static int change(const char *verb, const char *text, const struct cli_loss *loss)
{
    g_autofree char *command = g_strdup_printf("campaign %s", verb);
    int64_t id = 0;
    GError *error = NULL;
    g_autoptr(Store) store = cli_parse_id(text, &id, &error) ? database_open(false, &error) : NULL;
    struct campaign *campaign = store ? store_get_campaign(store, id, &error) : NULL;
    if (!campaign)
        return cli_fail(command, error);
    int status = CLI_DONE;
    bool suits = suits_change(campaign, verb, &error);
    if (suits && !may_change(campaign, verb, loss, &status)) {
        campaign_free(campaign);
        return status;
    }
    /* The verb would gather the history itself, in one long transaction. */
    bool gathered =
        suits && (strcmp(verb, "drop") != 0 || store_gather_history(store, id, NULL, &error));
    bool changes = gathered && store_change_campaign(store, id, verb, &error);
    campaign_free(campaign);
    if (!changes)
        return cli_fail(command, error);
    cli_note("campaign %" G_GINT64_FORMAT ": %s done\n", id, verb);
    if (strcmp(verb, "resume") == 0)
        say_if_overdue(store, id);
    return CLI_DONE;
}

/* The verbs pause, resume, cancel, retry and drop differ only in name and help text. */
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

/* Values of the options of `campaign set`. An option that was not given keeps its value from
 * set_nothing. */
struct set_request {
    int priority;
    double share, budget_seconds, final_seconds;
    char *pool, *name, *deadline, *trust;
};

#define NO_PRIORITY G_MININT
#define NO_NUMBER   (-G_MAXDOUBLE)
static const struct set_request set_nothing = {.priority = NO_PRIORITY,
                                               .share = NO_NUMBER,
                                               .budget_seconds = NO_NUMBER,
                                               .final_seconds = NO_NUMBER};

/* Checks the options and converts them to *wish. The wish points to *deadline_unix; "none" removes
 * the deadline. */
static bool set_check(const struct set_request *wanted, struct campaign_changes *wish,
                      int64_t *deadline_unix, GError **error)
{
    const char *deadline = g_strcmp0(wanted->deadline, "none") == 0 ? NULL : wanted->deadline;
    *wish = (struct campaign_changes){
        .name = wanted->name,
        .pool = wanted->pool,
        .priority = wanted->priority == NO_PRIORITY ? NULL : &wanted->priority,
        .share = wanted->share == NO_NUMBER ? NULL : &wanted->share,
        .budget_seconds = wanted->budget_seconds == NO_NUMBER ? NULL : &wanted->budget_seconds,
        .deadline_unix = wanted->deadline ? deadline_unix : NULL,
        .final_seconds = wanted->final_seconds == NO_NUMBER ? NULL : &wanted->final_seconds,
    };
    if (!wish->name && !wish->pool && !wish->priority && !wish->share && !wish->budget_seconds &&
        !wish->deadline_unix && !wish->final_seconds && !wanted->trust) {
        g_set_error(error, COORDINATOR_ERROR, COORDINATOR_ERROR_USAGE,
                    "say what to set: --name, --budget, --final-seconds, --deadline, --priority, "
                    "--share, --pool or --trust");
        return false;
    }
    return (!wish->name || request_check_name(wish->name, error)) &&
           request_check_text("--pool", wish->pool, error) &&
           (!wish->share || request_check_share(*wish->share, error)) &&
           (!wish->budget_seconds || request_check_budget(*wish->budget_seconds, error)) &&
           (!wish->final_seconds || request_check_final(*wish->final_seconds, error)) &&
           request_read_deadline(deadline, deadline_unix, error);
}

static void say_set(const struct campaign *campaign)
{
    g_autofree char *budget = when_duration(campaign->budget_seconds);
    g_autofree char *deadline =
        campaign->deadline_unix ? when_format(campaign->deadline_unix) : g_strdup("none");
    cli_note("campaign %" G_GINT64_FORMAT " %s, %s: priority %d, share %g, pool %s, budget %s, "
             "deadline %s\n",
             campaign->id, campaign->name, campaign->state, campaign->priority, campaign->share,
             campaign->pool[0] ? campaign->pool : "any",
             campaign->budget_seconds > 0 ? budget : "none", deadline);
}

static int set(const struct set_request *wanted, const char *text)
{
    int64_t id = 0, deadline_unix = 0;
    struct campaign_changes wish;
    g_auto(GStrv) trusted = request_logins(wanted->trust);
    GError *error = NULL;
    g_autoptr(Store) store =
        set_check(wanted, &wish, &deadline_unix, &error) && cli_parse_id(text, &id, &error)
            ? database_open(false, &error)
            : NULL;
    wish.trusted = wanted->trust ? trusted : NULL;
    struct campaign *campaign = store && store_set_campaign(store, id, &wish, &error)
                                    ? store_get_campaign(store, id, &error)
                                    : NULL;
    if (!campaign)
        return cli_fail("campaign set", error);
    say_set(campaign);
    campaign_free(campaign);
    return CLI_DONE;
}

static int verb_set(int argc, char **argv)
{
    struct set_request wanted = set_nothing;
    const GOptionEntry options[] = {
        {"name", 0, 0, G_OPTION_ARG_STRING, &wanted.name, "its name in lists", "X"},
        {"budget", 'b', 0, G_OPTION_ARG_DOUBLE, &wanted.budget_seconds,
         "its whole working time in seconds, 0 for no limit; jobs that a smaller budget ended go on",
         "SECONDS"},
        {"final-seconds", 0, 0, G_OPTION_ARG_DOUBLE, &wanted.final_seconds,
         "device time for each problem's second measurement, 0 for none; a campaign that is done makes those that it lacks",
         "SECONDS"},
        {"deadline", 0, 0, G_OPTION_ARG_STRING, &wanted.deadline,
         "begin nothing after this time: " WHEN_FORMS "; none for no deadline", "TIME"},
        {"priority", 0, 0, G_OPTION_ARG_INT, &wanted.priority, "higher ones are worked on first",
         "N"},
        {"share", 0, 0, G_OPTION_ARG_DOUBLE, &wanted.share,
         "of the working time, among campaigns of one priority", "X"},
        {"pool", 0, 0, G_OPTION_ARG_STRING, &wanted.pool,
         "only workers with that label, \"\" for any", "X"},
        {"trust", 0, 0, G_OPTION_ARG_STRING, &wanted.trust, TRUST_HELP ", \"\" for none",
         "LOGIN[,LOGIN]"},
        {0},
    };
    const struct cli cli = {
        .command = "campaign set",
        .arguments = "ID",
        .summary = "Sets a campaign's name, its limits of time, and who works on it and when, from "
                   "the next claim on. A later deadline lets an overdue campaign go on.",
        .example = "skipjack campaign set 3 --budget 7200 --deadline 07:00\n"
                   "  skipjack campaign set 3 --priority 10 --share 2",
        .options = options,
        .least = 1,
        .most = 1,
    };
    int status = cli_parse(&cli, &argc, &argv) ? set(&wanted, argv[1]) : CLI_USAGE;
    g_free(wanted.pool);
    g_free(wanted.name);
    g_free(wanted.deadline);
    g_free(wanted.trust);
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
    struct cli_loss loss = {0};
    const GOptionEntry options[] = {CLI_LOSS_OPTIONS(&loss), {0}};
    g_autofree char *verb = g_strdup(argv[0]);
    if (strcmp(verb, "drop") == 0 || strcmp(verb, "cancel") == 0)
        cli.options = options;
    return cli_parse(&cli, &argc, &argv) ? change(verb, argv[1], &loss) : CLI_USAGE;
}

static const struct cli_verb verbs[] = {
    {"create", "plan problems x solvers for one target", verb_create},
    {"list", "all campaigns", campaign_verb_list},
    {"show", "one campaign: jobs by state, failures, latest events", campaign_verb_show},
    {"watch", "follow one until it is done", verb_watch},
    {"set", "its name, budget, deadline, priority, share, pool or trusted logins", verb_set},
    {"pause", "claim nothing more for now", verb_change},
    {"resume", "let a paused one go on", verb_change},
    {"cancel", "end one for good", verb_change},
    {"retry", "bring failed jobs back", verb_change},
    {"remeasure", "measure winners, defaults and unstable configs again", campaign_verb_remeasure},
    {"drop", "remove one", verb_change},
};

int command_campaign(int argc, char **argv)
{
    static const struct cli_verbs list = {
        .command = "campaign",
        .example = "skipjack campaign create --target local --network resnet50-v1.5",
        .verbs = verbs,
        .count = G_N_ELEMENTS(verbs)};
    return cli_run_verb(&list, argc, argv);
}

int campaign_run_file(const char *path)
{
    struct request request;
    GError *error = NULL;
    int64_t id = 0;
    request_init(&request, 0);
    bool ok = request_from_file(path, &request, &error) && request_check(&request, &error);
    g_autoptr(Store) store = ok ? database_open(false, &error) : NULL;
    ok = store && create_campaign(store, &request, &id, NULL, &error);
    request_clear(&request);
    return ok ? watch_campaign("run", store, id) : cli_fail("run", error);
}
