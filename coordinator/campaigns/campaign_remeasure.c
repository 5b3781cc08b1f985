/* `skipjack campaign remeasure`. */
#include "coordinator/campaigns/campaign_verbs.h"
#include "coordinator/campaigns/lists.h"
#include "coordinator/cli/cli.h"
#include "schema/results/store_remeasure.h"
#include "schema/server/database.h"
#include "schema/store/store_campaigns.h"
#include "solvers/framework/solver.h"

#include <stdio.h>
#include <string.h>

struct remeasure_arguments {
    char *what;
    gboolean dry_run, as_json;
};

static const struct {
    const char *name;
    unsigned what;
} kinds[] = {
    {"winners", REMEASURE_WINNERS},
    {"defaults", REMEASURE_DEFAULTS},
    {"unstable", REMEASURE_UNSTABLE},
};

static bool add_kind(const char *name, unsigned *what, GError **error)
{
    for (gsize i = 0; i < G_N_ELEMENTS(kinds); i++) {
        if (strcmp(name, kinds[i].name) == 0) {
            *what |= kinds[i].what;
            return true;
        }
    }
    g_set_error(error, COORDINATOR_ERROR, COORDINATOR_ERROR_USAGE,
                "--what takes winners, defaults and unstable, joined by commas, not '%s'", name);
    return false;
}

static bool parse_what(const char *text, unsigned *what, GError **error)
{
    *what = text ? 0 : REMEASURE_ALL;
    g_auto(GStrv) names = g_strsplit(text ? text : "", ",", -1);
    for (char **name = names; text && *name; name++) {
        if (!add_kind(*name, what, error))
            return false;
    }
    return *what != 0 || add_kind("", what, error);
}

/* Sets *id to the campaign that the user named, or to the newest one. */
static bool find_campaign(Store *store, const char *text, int64_t *id, GError **error)
{
    if (text)
        return cli_parse_id(text, id, error);
    g_autoptr(GPtrArray) campaigns = list_own_campaigns(store, error);
    if (campaigns)
        *id = ((const struct campaign *)g_ptr_array_index(campaigns, 0))->id;
    return campaigns != NULL;
}

static void print_json(int64_t id, const struct remeasure_counts *counts, bool dry_run)
{
    table_show_json(json_pack(
        "{s:I, s:b, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "campaign", (json_int_t)id, "asked",
        !dry_run && counts->under_way == 0 && counts->jobs > 0, "jobs", (json_int_t)counts->jobs,
        "rounds", (json_int_t)counts->rounds, "winners", (json_int_t)counts->winners, "defaults",
        (json_int_t)counts->defaults, "unstable", (json_int_t)counts->unstable, "under_way",
        (json_int_t)counts->under_way, "at_work", (json_int_t)counts->at_work, "other_revisions",
        (json_int_t)counts->other_revisions));
}

static void print_left(const struct remeasure_counts *counts)
{
    if (counts->at_work > 0)
        printf("left alone: %" G_GINT64_FORMAT " jobs that are not done yet\n", counts->at_work);
    if (counts->other_revisions > 0)
        printf("left alone: %" G_GINT64_FORMAT
               " jobs of solvers at another revision than this program's: tune them again\n",
               counts->other_revisions);
}

static void print_text(int64_t id, const struct remeasure_counts *counts, bool dry_run)
{
    if (counts->under_way > 0 && (!dry_run || counts->jobs == 0)) {
        printf("campaign %" G_GINT64_FORMAT " measures %" G_GINT64_FORMAT
               " jobs again already: nothing more is asked for until that is done\n",
               id, counts->under_way);
        return;
    }
    if (counts->jobs == 0) {
        printf("campaign %" G_GINT64_FORMAT " has nothing of that kind to measure again\n", id);
    } else {
        printf("campaign %" G_GINT64_FORMAT " %s %" G_GINT64_FORMAT " jobs again: %" G_GINT64_FORMAT
               " configs of winners and runners-up, %" G_GINT64_FORMAT
               " defaults, %" G_GINT64_FORMAT " unstable ones\n",
               id, dry_run ? "would measure" : "measures", counts->jobs, counts->winners,
               counts->defaults, counts->unstable);
    }
    print_left(counts);
    if (counts->jobs > 0 && !dry_run)
        printf("workers do it; to follow them: skipjack campaign watch %" G_GINT64_FORMAT "\n", id);
}

static int remeasure(const struct remeasure_arguments *arguments, const char *text)
{
    GError *error = NULL;
    int64_t id = 0;
    /* revisions of this program's solvers: the export gate refuses results of others */
    g_auto(GStrv) solvers = solver_pins();
    struct remeasure_counts counts;
    struct remeasure_wish wish = {.solvers = (const char *const *)solvers,
                                  .dry_run = arguments->dry_run};
    g_autoptr(Store) store =
        parse_what(arguments->what, &wish.what, &error) ? database_open(false, &error) : NULL;
    if (!store || !find_campaign(store, text, &id, &error) ||
        !store_remeasure(store, id, &wish, &counts, &error))
        return cli_fail("campaign remeasure", error);
    if (arguments->as_json)
        print_json(id, &counts, arguments->dry_run);
    else
        print_text(id, &counts, arguments->dry_run);
    return CLI_DONE;
}

int campaign_verb_remeasure(int argc, char **argv)
{
    struct remeasure_arguments arguments = {0};
    const GOptionEntry options[] = {
        {"what", 0, 0, G_OPTION_ARG_STRING, &arguments.what,
         "which configs: winners (and their runners-up), defaults, unstable (also those of rounds "
         "whose device drifted or was throttled); all three unless named",
         "LIST"},
        {"dry-run", 0, 0, G_OPTION_ARG_NONE, &arguments.dry_run, "only say how many", NULL},
        {"json", 0, 0, G_OPTION_ARG_NONE, &arguments.as_json, "print an object", NULL},
        {0},
    };
    const struct cli cli = {
        .command = "campaign remeasure",
        .arguments = "[ID]",
        .summary =
            "Has a campaign's ended jobs measure configs again, no new ones. The new times, "
            "better or worse, take the place of the old ones in what report, export and "
            "golden read; the old ones stay in the database. A budget that is spent does not "
            "stop it. Without an ID the newest campaign's.",
        .example = "skipjack campaign remeasure 3 --what unstable",
        .options = options,
        .least = 0,
        .most = 1,
    };
    int status = cli_parse(&cli, &argc, &argv) ? remeasure(&arguments, argc > 1 ? argv[1] : NULL)
                                               : CLI_USAGE;
    g_free(arguments.what);
    return status;
}
