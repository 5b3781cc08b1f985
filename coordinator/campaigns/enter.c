#include "coordinator/campaigns/enter.h"
#include "coordinator/plan/unserved.h"

#include "coordinator/cli/cli.h"
#include "schema/farm/completeness.h"
#include "schema/results/store_nights.h"
#include "schema/results/store_results.h"
#include "schema/store/store_campaigns.h"
#include "schema/store/store_events.h"
#include "schema/store/store_winners.h"
#include "solvers/framework/strategy.h"
#include "solvers/problem/problem_key.h"

#include <stdio.h>
#include <string.h>

/* The kind of the event that records how many jobs were left out. */
#define LEFT_OUT_EVENT "left out"

void entered_clear(struct entered *entered)
{
    if (entered->campaign)
        campaign_free(entered->campaign);
    if (entered->uncovered)
        g_array_unref(entered->uncovered);
    *entered = (struct entered){0};
}

char *enter_left_out_text(int left_out)
{
    return g_strdup_printf("%d jobs of solvers estimated below 1/%g of the best one; --all-solvers "
                           "plans them",
                           left_out, 1 / PLAN_PROMISING_SHARE);
}

void entered_say_missing(const struct entered *entered)
{
    g_autofree char *left_out = enter_left_out_text(entered->left_out);
    if (entered->left_out > 0)
        cli_note("not planned: %s\n", left_out);
    g_autoptr(Unserved) unserved = unserved_new();
    struct target target;
    bool known = entered->campaign && target_parse(entered->campaign->target, &target, NULL);
    for (guint i = 0; i < entered->uncovered->len; i++)
        unserved_ask(unserved, &g_array_index(entered->uncovered, struct plan_problem, i).problem,
                     known ? &target : NULL);
    unserved_say(unserved);
    int of_others = (int)entered->uncovered->len - unserved_count(unserved);
    g_autofree char *limits =
        entered->campaign ? context_limits_text(&entered->campaign->limits) : NULL;
    if (of_others > 0)
        fprintf(
            stderr,
            "none of the campaign's solvers serves %d more problems%s%s%s; the report names them\n",
            of_others, limits ? " within its limits (" : "", limits ? limits : "",
            limits ? ")" : "");
}

static char *wanted_stack(const struct request *request, const struct machine *machine)
{
    return request->stack ? request->stack : machine->stack;
}

static struct plan_request make_plan_request(const struct request *request,
                                             const struct machine *machine, const GArray *problems,
                                             const GPtrArray *solvers,
                                             const struct context_limits *limits)
{
    return (struct plan_request){
        .target = &machine->target,
        .stack = wanted_stack(request, machine),
        .strategy = request->strategy,
        .seed = request->seed,
        .configs_limit = request->configs,
        .close_configs = request_close_configs(request),
        .search_seconds = request->search_seconds,
        .min_gain = request->min_gain,
        .round_configs = request_round_configs(request),
        .build_only = request->build_only,
        .limits = *limits,
        .problems = problems,
        .solvers = (const struct solver *const *)solvers->pdata,
        .solver_count = (int)solvers->len,
        .unpromising_too = request_takes_unpromising(request),
    };
}

static void note_free(gpointer data)
{
    struct campaign_note *note = data;
    g_free(note->detail);
    g_free(note);
}

/* Adds a note of this kind. Takes `detail` over. */
static void add_note(GPtrArray *notes, const char *kind, char *detail)
{
    struct campaign_note *note = g_new0(struct campaign_note, 1);
    *note = (struct campaign_note){kind, detail};
    g_ptr_array_add(notes, note);
}

/* Makes the notes for the event log. A note on left-out jobs begins with their number, which
 * enter_read_notes() parses. */
static GPtrArray *make_notes(const struct entered *entered)
{
    GPtrArray *notes = g_ptr_array_new_with_free_func(note_free);
    for (guint i = 0; i < entered->uncovered->len; i++) {
        const struct plan_problem *problem =
            &g_array_index(entered->uncovered, struct plan_problem, i);
        char key[PROBLEM_KEY_MAX];
        add_note(notes, EVENT_NO_SOLVER, g_strdup(problem_key(&problem->problem, key)));
    }
    if (entered->left_out > 0)
        add_note(notes, LEFT_OUT_EVENT, enter_left_out_text(entered->left_out));
    return notes;
}

bool enter_read_notes(Store *store, int64_t campaign, struct enter_notes *notes, GError **error)
{
    *notes = (struct enter_notes){.uncovered = g_ptr_array_new_with_free_func(g_free)};
    g_autoptr(GPtrArray) uncovered = store_list_events_of(store, campaign, EVENT_NO_SOLVER, error);
    g_autoptr(GPtrArray) left_out =
        uncovered ? store_list_events_of(store, campaign, LEFT_OUT_EVENT, error) : NULL;
    if (!left_out)
        return false;
    for (guint i = 0; i < uncovered->len; i++)
        g_ptr_array_add(notes->uncovered,
                        g_strdup(((const struct event_row *)uncovered->pdata[i])->detail));
    for (guint i = 0; i < left_out->len; i++)
        notes->left_out =
            (int)g_ascii_strtoll(((const struct event_row *)left_out->pdata[i])->detail, NULL, 10);
    return true;
}

void enter_notes_clear(struct enter_notes *notes)
{
    if (notes->uncovered)
        g_ptr_array_unref(notes->uncovered);
    *notes = (struct enter_notes){0};
}

/* Returns the campaign's name: the user's, else that of its network, its tag or its first file of problems; "" without
 * any. */
static char *campaign_name(const struct request *request)
{
    const char *source = request->name           ? request->name
                         : request->list.network ? request->list.network
                                                 : request->tag;
    if (source)
        return g_strdup(source);
    return request->files && request->files[0] ? g_path_get_basename(request->files[0])
                                               : g_strdup("");
}

static bool create(Store *store, const struct request *request, const struct machine *machine,
                   const struct enter_order *order, struct entered *entered, GError **error)
{
    g_auto(GStrv) trusted = request_logins(request->trust);
    struct context_limits limits;
    if (!request_limits(request, &limits, error) ||
        (request->admits && !request->admits(request->admits_data, order->name, error)))
        return false;
    struct campaign campaign = {
        .name = (char *)order->name,
        .identity = (char *)order->identity,
        .night = order->night,
        .backfill = order->backfill,
        .target = (char *)machine->target.id,
        .stack = wanted_stack(request, machine),
        .networks = request->networks,
        .trusted = trusted,
        .pool = request->pool,
        .priority = request->priority,
        .share = request->share,
        .state = (char *)"active",
        .strategy = request->strategy,
        .seed = request->seed,
        .configs_limit = request->configs,
        .close_configs = request_close_configs(request),
        .round_configs = request_round_configs(request),
        .budget_seconds = request->budget_seconds,
        .final_seconds = request->final_seconds,
        .search_seconds = request->search_seconds,
        .min_gain = request->min_gain,
        .deadline_unix = request->deadline_unix,
        .build_only = request->build_only,
        .limits = limits,
        .solvers = request->solvers,
    };
    /* With the strategy `prior`, jobs begin with winners of earlier campaigns. The winners known
     * now are stored with the new campaign. */
    if (strcmp(request->strategy, STRATEGY_PRIOR) == 0 &&
        !store_gather_winners(store, GATHER_SOON, NULL, error))
        return false;
    g_autoptr(GPtrArray) notes = make_notes(entered);
    if (!store_put_target(store, &machine->target, error))
        return false;
    bool made = order->night != 0
                    ? store_create_night_campaign(store, &campaign, order->jobs, order->count,
                                                  notes, &entered->existed, &entered->reused, error)
                    : store_create_campaign(store, &campaign, order->jobs, order->count, notes,
                                            &entered->reused, error);
    if (!made)
        return false;
    entered->campaign = store_get_campaign(store, campaign.id, error);
    bool known;
    return entered->campaign &&
           store_count_origins(store, campaign.id, &entered->origins, &known, error);
}

/* Returns true if the request's budget replaces that of the existing campaign: if it is larger, or
 * 0 for none. A smaller budget changes nothing. */
static bool asks_for_more_time(const struct request *request, const struct campaign *campaign)
{
    double wanted = request->budget_seconds;
    return campaign->budget_seconds > 0 && (wanted <= 0 || wanted > campaign->budget_seconds);
}

/* Returns true if the request's deadline replaces that of the existing campaign. A request without
 * a deadline removes one that has passed, and keeps one that is still to come. */
static bool asks_for_another_deadline(const struct request *request,
                                      const struct campaign *campaign)
{
    if (request->deadline_unix != 0)
        return request->deadline_unix != campaign->deadline_unix;
    return strcmp(campaign->state, CAMPAIGN_OVERDUE) == 0;
}

/* Changes an existing campaign as the request asks: budget, deadline, second measurements, priority, share and pool. */
static bool change_existing(Store *store, const struct request *request, struct entered *entered,
                            GError **error)
{
    struct campaign *campaign = entered->campaign;
    int64_t id = campaign->id;
    entered->extended = asks_for_more_time(request, campaign);
    entered->moved = asks_for_another_deadline(request, campaign);
    const struct campaign_changes changes = {
        .pool = request->pool,
        .priority = request->priority != 0 ? &request->priority : NULL,
        .share = request->share != 1 ? &request->share : NULL,
        .budget_seconds = entered->extended ? &request->budget_seconds : NULL,
        .deadline_unix = entered->moved ? &request->deadline_unix : NULL,
        .final_seconds =
            request->final_seconds != campaign->final_seconds ? &request->final_seconds : NULL,
    };
    if (!entered->extended && !entered->moved && !changes.pool && !changes.priority &&
        !changes.share && !changes.final_seconds)
        return true;
    if (!store_set_campaign(store, id, &changes, error))
        return false;
    campaign_free(campaign);
    entered->campaign = store_get_campaign(store, id, error);
    return entered->campaign != NULL;
}

/* Continues an existing campaign. Its plan stays as it was made, so the notice counts the jobs that
 * this plan left out. */
static bool go_on(Store *store, const struct request *request, struct entered *entered,
                  GError **error)
{
    struct enter_notes notes;
    if (request->admits && !request->admits(request->admits_data, entered->campaign->name, error))
        return false;
    bool ok = enter_read_notes(store, entered->campaign->id, &notes, error);
    entered->left_out = notes.left_out;
    enter_notes_clear(&notes);
    return ok && change_existing(store, request, entered, error);
}

static bool find_or_create(Store *store, const struct request *request,
                           const struct machine *machine, const struct plan *plan,
                           const char *identity, struct entered *entered, GError **error)
{
    g_autoptr(GError) lookup = NULL;
    entered->campaign = store_find_campaign(store, identity, &lookup);
    if (lookup) {
        g_propagate_error(error, g_steal_pointer(&lookup));
        return false;
    }
    entered->existed = entered->campaign != NULL;
    if (entered->existed)
        return go_on(store, request, entered, error);
    g_autofree char *name = campaign_name(request);
    const struct enter_order order = {
        .name = name, .identity = identity, .jobs = plan->jobs, .count = plan->count};
    return create(store, request, machine, &order, entered, error);
}

bool enter_night(Store *store, const struct request *request, const struct machine *machine,
                 const struct enter_order *order, struct entered *entered, GError **error)
{
    *entered =
        (struct entered){.uncovered = g_array_ref(order->uncovered), .left_out = order->left_out};
    return create(store, request, machine, order, entered, error);
}

/* Sets the error for a request without any job: no solver serves any of its problems. Its
 * message suggests a command that gives the reasons under the same limits. */
static void say_nothing_to_do(const struct request *request, const struct machine *machine,
                              guint problems, GError **error)
{
    g_autoptr(GPtrArray) words = g_ptr_array_new_with_free_func(g_free);
    request_add_limits(request, words);
    g_ptr_array_add(words, NULL);
    g_autofree char *limits = g_strjoinv(" ", (char **)words->pdata);
    g_set_error(error, COORDINATOR_ERROR, COORDINATOR_ERROR_EMPTY,
                "no solver%s serves any of the %u problems on %s; skipjack solvers --problem KEY "
                "--target %s%s%s says why",
                request->solvers ? " that is asked for" : "", problems, machine->target.id,
                machine->target.id, *limits ? " " : "", limits);
}

bool enter_campaign(Store *store, const struct request *request, const struct machine *machine,
                    const GArray *problems, struct entered *entered, GError **error)
{
    *entered = (struct entered){0};
    g_autoptr(GPtrArray) solvers = request_solvers(request, error);
    struct context_limits limits;
    if (!solvers || !request_limits(request, &limits, error))
        return false;
    struct plan_request wanted = make_plan_request(request, machine, problems, solvers, &limits);
    struct plan *plan = plan_new(&wanted);
    g_autofree char *identity = plan_identity(&wanted, plan);
    entered->configs = plan->configs;
    entered->left_out = plan->left_out;
    entered->uncovered = g_array_ref(plan->uncovered);
    bool ok = false;
    if (plan->count == 0)
        say_nothing_to_do(request, machine, problems->len, error);
    else if (store_hold_identity(store, identity, error)) {
        ok = find_or_create(store, request, machine, plan, identity, entered, error);
        store_leave_identity(store, identity);
    }
    plan_free(plan);
    return ok;
}
