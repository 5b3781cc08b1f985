/* Answers to the API's questions, on threads. */
#include "coordinator/serve/api_work.h"

#include "coordinator/process/process.h"
#include "schema/monitor/log.h"
#include "schema/results/conditions.h"
#include "schema/results/store_golden.h"
#include "schema/results/store_history.h"
#include "schema/results/store_pages.h"
#include "schema/store/store_campaigns.h"
#include "schema/store/store_events.h"
#include "schema/store/store_problems.h"
#include "schema/store/store_tokens.h"
#include "schema/store/store_workers.h"
#include "solvers/driver/driver_line.h"
#include "solvers/problem/problem_key.h"

#include <string.h>

#define USAGE_SECONDS 120 /* 10^7 results take less than two */

void api_query_free(gpointer data)
{
    struct api_query *query = data;
    json_decref(query->asked);
    json_decref(query->forecasts);
    g_free(query->bearer);
    g_free(query->address);
    g_free(query);
}

/* ---- members ---- */

static int64_t asked_int(const struct api_query *query, const char *name)
{
    return json_integer_value(json_object_get(query->asked, name));
}

/* NULL if it was not asked. */
static const char *asked_text(const struct api_query *query, const char *name)
{
    return json_string_value(json_object_get(query->asked, name));
}

static json_t *text_json(const char *text)
{
    g_autofree char *valid = g_utf8_make_valid(text ? text : "", -1);
    return json_string(valid);
}

static json_t *text_or_null(const char *text)
{
    return text && *text ? text_json(text) : json_null();
}

/* 0 is unknown. */
static json_t *number_or_null(double number)
{
    return number != 0 ? json_real(number) : json_null();
}

static json_t *int_or_null(int64_t number)
{
    return number != 0 ? json_integer((json_int_t)number) : json_null();
}

/* Takes the list and next. */
static void reply_list(struct reply *reply, json_t *list, char *next)
{
    reply_json(reply, json_pack("{so so}", "items", list, "next", text_or_null(next)));
    g_free(next);
}

/* A part of a whole list by "after", the number of items before it. Takes the list. */
static void reply_part(const struct api_query *query, struct reply *reply, json_t *list)
{
    guint64 begin = 0;
    const char *after = asked_text(query, "after");
    size_t limit = (size_t)asked_int(query, "limit"), count = json_array_size(list);
    if (after && !g_ascii_string_to_unsigned(after, 10, 0, G_MAXUINT32, &begin, NULL)) {
        json_decref(list);
        reply_problem(reply, 400, "there is no page behind '%s'", after);
        return;
    }
    json_t *part = json_array();
    size_t end = MIN(count, (size_t)begin + limit);
    for (size_t i = (size_t)begin; i < end; i++)
        json_array_append(part, json_array_get(list, i));
    json_decref(list);
    reply_list(reply, part, end < count ? g_strdup_printf("%zu", end) : NULL);
}

/* ---- pages ---- */

static void add_forecast(const struct api_query *query, json_t *item)
{
    char id[24];
    g_snprintf(id, sizeof id, "%" JSON_INTEGER_FORMAT,
               json_integer_value(json_object_get(item, "id")));
    json_t *forecast = json_object_get(query->forecasts, id);
    if (forecast)
        json_object_update(item, forecast);
}

static void answer_page(Store *store, const struct api_query *query, struct reply *reply)
{
    GError *error = NULL;
    char *next = NULL;
    size_t i;
    json_t *item;
    json_t *list = store_page(store, (enum page)query->row->what, query->asked, &next, &error);
    if (!list) {
        reply_error(reply, error);
        return;
    }
    if (query->row->what == PAGE_CAMPAIGNS)
        json_array_foreach (list, i, item)
            add_forecast(query, item);
    reply_list(reply, list, next);
}

/* The only item of a page; 404 without one. */
static json_t *read_item(Store *store, enum page page, const json_t *asked, const char *what,
                         struct reply *reply)
{
    GError *error = NULL;
    json_t *list = store_page(store, page, asked, NULL, &error);
    json_t *item = json_incref(json_array_get(list, 0));
    if (!list)
        reply_error(reply, error);
    else if (!item)
        reply_problem(reply, 404, "there is no such %s", what);
    json_decref(list);
    return item;
}

static void answer_item(Store *store, const struct api_query *query, struct reply *reply)
{
    json_t *item = read_item(store, (enum page)query->row->what, query->asked,
                             query->row->what == PAGE_JOB ? "job" : "night", reply);
    if (item)
        reply_json(reply, item);
}

static void answer_problem(Store *store, const struct api_query *query, struct reply *reply)
{
    struct problem problem;
    json_t *item = read_item(store, PAGE_PROBLEM, query->asked,
                             "problem; only imported ones have a page", reply);
    if (!item)
        return;
    if (problem_key_parse(json_string_value(json_object_get(item, "key")), &problem, NULL)) {
        g_autofree char *line = driver_line_format(&problem);
        json_object_set_new(item, "driver", text_json(line));
        json_object_set_new(item, "gmacs", json_real(problem_macs(&problem) / 1e9));
    }
    reply_json(reply, item);
}

/* ---- a campaign ---- */

static json_t *progress_json(const struct progress *p)
{
    return json_pack("{si si si si sI sI sI sI sf sf}", "ready", p->ready, "building", p->building,
                     "built", p->built, "evaluating", p->evaluating, "configs_done",
                     (json_int_t)p->configs_done, "configs_open", (json_int_t)p->configs_open,
                     "configs_taken", (json_int_t)p->configs_taken, "kernels_built",
                     (json_int_t)p->kernels_built, "compile_seconds", p->compile_seconds,
                     "eval_seconds", p->eval_seconds);
}

static bool add_failures(Store *store, int64_t id, json_t *item, GError **error)
{
    int64_t outcomes[FAILURE_COUNT] = {0};
    json_t *failures = json_array(), *configs = json_array();
    g_autoptr(GPtrArray) rows = store_list_job_failures(store, id, error);
    bool read = rows && store_count_outcomes(store, id, outcomes, error);
    for (guint i = 0; read && i < rows->len; i++) {
        const struct job_failures *row = g_ptr_array_index(rows, i);
        json_array_append_new(failures,
                              json_pack("{ss si so}", "reason", failure_name(row->failure), "jobs",
                                        row->jobs, "detail", text_or_null(row->detail)));
    }
    for (int f = 0; f < FAILURE_COUNT; f++)
        if (outcomes[f] > 0)
            json_array_append_new(configs,
                                  json_pack("{ss sI}", "reason", failure_name((enum failure)f),
                                            "configs", (json_int_t)outcomes[f]));
    json_object_set_new(item, "failures", failures);
    json_object_set_new(item, "outcomes", configs);
    return read;
}

static bool add_origins(Store *store, int64_t id, json_t *item, GError **error)
{
    struct job_origins origins;
    bool known = false;
    json_t *list = json_array();
    bool read = store_count_origins(store, id, &origins, &known, error);
    for (int r = 0; read && known && r < JOB_REASON_COUNT; r++)
        if (origins.jobs[r] > 0)
            json_array_append_new(list, json_pack("{ss si}", "reason",
                                                  job_reason_name((enum job_reason)r), "jobs",
                                                  origins.jobs[r]));
    json_object_set_new(item, "origins", list);
    return read;
}

static void append_end(json_t *list, const char *name, const char *words, int jobs)
{
    if (jobs > 0)
        json_array_append_new(list,
                              json_pack("{ss ss si}", "name", name, "reason", words, "jobs", jobs));
}

/* Jobs by what ended their search. */
static json_t *search_ends_json(const struct progress *progress)
{
    json_t *list = json_array();
    for (int end = SEARCH_GOES_ON + 1; end < SEARCH_END_COUNT; end++)
        append_end(list, search_end_name((enum search_end)end),
                   search_end_text((enum search_end)end), progress->search_ends[end]);
    append_end(list, "budget", "the campaign's budget was spent",
               progress->ended_by_budget - progress->untried_by_budget);
    append_end(list, "budget_untried", "the campaign's budget was spent before they tried a config",
               progress->untried_by_budget);
    return list;
}

static json_t *texts_json(char *const *texts)
{
    json_t *list = json_array();
    for (char *const *text = texts; text && *text; text++)
        json_array_append_new(list, text_json(*text));
    return list;
}

static bool add_request(Store *store, int64_t id, json_t *item, GError **error)
{
    struct campaign *campaign = store_get_campaign(store, id, error);
    g_auto(GStrv) networks = campaign ? store_campaign_networks(store, id, error) : NULL;
    if (networks) {
        json_object_set_new(item, "networks", texts_json(networks));
        json_object_set_new(item, "stack", text_json(campaign->stack));
        json_object_set_new(item, "seed", json_integer((json_int_t)campaign->seed));
        json_object_set_new(item, "configs_limit", json_integer(campaign->configs_limit));
        json_object_set_new(item, "close_configs", json_integer(campaign->close_configs));
        json_object_set_new(item, "search_seconds", json_real(campaign->search_seconds));
        json_object_set_new(item, "min_gain", json_real(campaign->min_gain));
        json_object_set_new(item, "round_configs", json_integer(campaign->round_configs));
        json_object_set_new(item, "solvers", text_json(campaign->solvers));
        json_object_set_new(item, "trusted", texts_json(campaign->trusted));
        json_object_set_new(item, "identity", text_json(campaign->identity));
    }
    if (campaign)
        campaign_free(campaign);
    return networks != NULL;
}

static void add_commands(int64_t id, json_t *item)
{
    static const char *const commands[] = {
        "skipjack campaign show %" G_GINT64_FORMAT, "skipjack report --campaign %" G_GINT64_FORMAT,
        "skipjack report --campaign %" G_GINT64_FORMAT " --rejected"};
    json_t *list = json_array();
    for (size_t i = 0; i < G_N_ELEMENTS(commands); i++) {
        const char *number = strchr(commands[i], '%');
        g_autofree char *text =
            g_strdup_printf("%.*s%" G_GINT64_FORMAT "%s", (int)(number - commands[i]), commands[i],
                            (gint64)id, number + strlen("%" G_GINT64_FORMAT));
        json_array_append_new(list, json_string(text));
    }
    json_object_set_new(item, "commands", list);
}

static void answer_campaign(Store *store, const struct api_query *query, struct reply *reply)
{
    GError *error = NULL;
    struct progress progress;
    int64_t id = asked_int(query, "id");
    json_t *item = read_item(store, PAGE_CAMPAIGNS, query->asked, "campaign", reply);
    if (!item)
        return;
    if (!add_request(store, id, item, &error) || !add_failures(store, id, item, &error) ||
        !add_origins(store, id, item, &error) || !store_progress(store, id, &progress, &error)) {
        json_decref(item);
        reply_error(reply, error);
        return;
    }
    json_object_set_new(item, "progress", progress_json(&progress));
    json_object_set_new(item, "search_ends", search_ends_json(&progress));
    add_commands(id, item);
    add_forecast(query, item);
    reply_json(reply, item);
}

/* ---- sorted lists: golden ---- */

struct order {
    const char *member;
    bool descending;
};

/* Texts by their bytes; missing values come last. */
static int compare_items(gconstpointer a, gconstpointer b, gpointer data)
{
    const struct order *order = data;
    const json_t *one = json_object_get(*(json_t *const *)a, order->member);
    const json_t *other = json_object_get(*(json_t *const *)b, order->member);
    if (json_is_null(one) || json_is_null(other))
        return json_is_null(one) - json_is_null(other);
    int sign = order->descending ? -1 : 1;
    if (json_is_string(one)) {
        int texts = strcmp(json_string_value(one), json_string_value(other));
        return sign * texts;
    }
    double x = json_number_value(one), y = json_number_value(other);
    return sign * ((x > y) - (x < y));
}

/* The part of the sorted list that is asked for, into `object` with the list's length. Takes the list. */
static void add_sorted(const struct api_query *query, json_t *object, json_t *list)
{
    size_t i;
    json_t *item;
    struct order order = {asked_text(query, "sort"),
                          strcmp(asked_text(query, "order"), "descending") == 0};
    size_t offset = (size_t)asked_int(query, "offset"), limit = (size_t)asked_int(query, "limit");
    g_autoptr(GPtrArray) sorted = g_ptr_array_new();
    json_t *part = json_array();
    json_array_foreach (list, i, item)
        g_ptr_array_add(sorted, item);
    g_ptr_array_sort_with_data(sorted, compare_items, &order);
    for (i = offset; i < sorted->len && i - offset < limit; i++)
        json_array_append(part, g_ptr_array_index(sorted, i));
    json_object_set_new(object, "items", part);
    json_object_set_new(object, "total", json_integer((json_int_t)sorted->len));
    json_object_set_new(object, "offset", json_integer((json_int_t)offset));
    json_decref(list);
}

/* Counts the items by "change", and takes those out that were not asked for. Takes the list. */
static json_t *count_changes(const struct api_query *query, json_t *list, json_t *counts)
{
    static const char *const changes[] = {"faster", "slower", "equal", "gained", "lost"};
    size_t i;
    json_t *item;
    json_int_t numbers[G_N_ELEMENTS(changes)] = {0};
    const char *wanted = asked_text(query, "change");
    json_t *kept = json_array();
    json_array_foreach (list, i, item) {
        const char *change = json_string_value(json_object_get(item, "change"));
        for (size_t c = 0; c < G_N_ELEMENTS(changes); c++)
            numbers[c] += strcmp(change, changes[c]) == 0;
        if (!wanted || strcmp(change, wanted) == 0)
            json_array_append(kept, item);
    }
    for (size_t c = 0; c < G_N_ELEMENTS(changes); c++)
        json_object_set_new(counts, changes[c], json_integer(numbers[c]));
    json_decref(list);
    return kept;
}

/* The campaign's target and the version to compare with, as the page takes them. */
static json_t *golden_question(Store *store, const struct api_query *query, GError **error)
{
    int version = (int)asked_int(query, "version");
    json_t *question = NULL;
    struct campaign *campaign = store_get_campaign(store, asked_int(query, "id"), error);
    if (campaign && (version > 0 || store_newest_golden(store, campaign->target, &version, error)))
        question = json_pack("{sI ss si}", "id", (json_int_t)campaign->id, "target",
                             campaign->target, "version", version);
    if (campaign)
        campaign_free(campaign);
    return question;
}

static void answer_campaign_golden(Store *store, const struct api_query *query, struct reply *reply)
{
    GError *error = NULL;
    json_t *question = golden_question(store, query, &error);
    json_t *list =
        question ? store_page(store, PAGE_CAMPAIGN_GOLDEN, question, NULL, &error) : NULL;
    if (list) {
        json_t *counts = json_object(), *object = json_object();
        list = count_changes(query, list, counts);
        json_object_set(object, "target", json_object_get(question, "target"));
        json_object_set(object, "version", json_object_get(question, "version"));
        json_object_set_new(object, "counts", counts);
        add_sorted(query, object, list);
        reply_json(reply, object);
    } else {
        reply_error(reply, error);
    }
    json_decref(question);
}

static void answer_golden_diff(Store *store, const struct api_query *query, struct reply *reply)
{
    GError *error = NULL;
    json_t *list = store_page(store, PAGE_GOLDEN_DIFF, query->asked, NULL, &error);
    if (!list) {
        reply_error(reply, error);
        return;
    }
    json_t *object = json_object();
    add_sorted(query, object, list);
    reply_json(reply, object);
}

static json_t *golden_json(const struct golden_version *v)
{
    json_t *counts = json_loads(v->counts ? v->counts : "{}", 0, NULL);
    return json_pack("{so si so so si si sI so so so sI so so so}", "target", text_json(v->target),
                     "version", v->version, "kind", text_json(v->kind), "state",
                     text_json(v->state), "base", v->base, "restores", v->restores, "campaign",
                     (json_int_t)v->campaign, "campaign_name", text_json(v->campaign_name), "note",
                     text_json(v->note), "proposed_by", text_json(v->proposed_by), "proposed_unix",
                     (json_int_t)v->proposed_unix, "approved_by", text_json(v->approved_by),
                     "approved_unix", int_or_null(v->approved_unix), "counts",
                     counts ? counts : json_object());
}

static void answer_golden(Store *store, const struct api_query *query, struct reply *reply)
{
    GError *error = NULL;
    g_autoptr(GPtrArray) rows = store_list_golden(store, asked_text(query, "target"), &error);
    if (!rows) {
        reply_error(reply, error);
        return;
    }
    json_t *list = json_array();
    for (guint i = rows->len; i > 0; i--)
        json_array_append_new(list, golden_json(g_ptr_array_index(rows, i - 1)));
    reply_part(query, reply, list);
}

/* ---- problems, networks, history ---- */

static void answer_networks(Store *store, const struct api_query *query, struct reply *reply)
{
    GError *error = NULL;
    g_autoptr(GPtrArray) rows =
        store_list_networks(store, json_is_true(json_object_get(query->asked, "all")), &error);
    if (!rows) {
        reply_error(reply, error);
        return;
    }
    json_t *list = json_array();
    for (guint i = 0; i < rows->len; i++) {
        const struct network_row *row = g_ptr_array_index(rows, i);
        json_array_append_new(
            list, json_pack("{so si sb si si si sI sf}", "name", text_json(row->name), "version",
                            row->version, "current", row->current, "layers", row->layers,
                            "problems", row->problems, "campaigns", row->campaigns, "created_unix",
                            (json_int_t)row->created, "gmacs", row->gmacs));
    }
    reply_json(reply, json_pack("{so}", "items", list));
}

static void answer_network(Store *store, const struct api_query *query, struct reply *reply)
{
    GError *error = NULL;
    char key[PROBLEM_KEY_MAX];
    const char *name = asked_text(query, "name");
    g_autofree char *version = store_network_version(store, name, &error);
    g_autoptr(GPtrArray) layers = version ? store_list_layers(store, version, &error) : NULL;
    if (!layers) {
        reply_error(reply, error);
        return;
    }
    json_t *list = json_array();
    for (guint i = 0; i < layers->len; i++) {
        const struct layer *layer = g_ptr_array_index(layers, i);
        json_array_append_new(list, json_pack("{so si ss}", "name", text_json(layer->name),
                                              "multiplicity", layer->multiplicity, "problem",
                                              problem_key(&layer->problem, key)));
    }
    reply_json(reply, json_pack("{so so}", "name", text_json(version), "layers", list));
}

static json_t *throttle_json(unsigned bits)
{
    json_t *list = json_array();
    g_autofree char *text = conditions_throttle_text(bits);
    g_auto(GStrv) names = g_strsplit(text, ", ", -1);
    for (char **name = names; *name; name++)
        json_array_append_new(list, json_string(*name));
    return list;
}

static json_t *point_json(const struct history_point *p)
{
    json_t *object = json_pack(
        "{ss so so so so so so so si si so so so so so sf}", "night", p->night, "target",
        text_json(p->target), "solver", text_json(p->solver), "config", text_or_null(p->config),
        "median_ms", number_or_null(p->median_ms), "low_ms", number_or_null(p->low_ms), "high_ms",
        number_or_null(p->high_ms), "spread", p->median_ms > 0 ? json_real(p->spread) : json_null(),
        "n", p->n, "revision", p->revision, "stack", text_json(p->stack), "node",
        text_json(p->node), "sm_mhz_min", int_or_null(p->sm_mhz_min), "sm_mhz_max",
        int_or_null(p->sm_mhz_max), "throttle", throttle_json(p->throttle), "drift", p->drift);
    json_object_set_new(object, "failure",
                        p->failure == FAILURE_NONE ? json_null()
                                                   : json_string(failure_name(p->failure)));
    json_object_set_new(object, "campaign", int_or_null(p->campaign));
    json_object_set_new(object, "is_winner", json_boolean(p->wins));
    json_object_set_new(object, "is_second", json_boolean(p->second));
    json_object_set_new(object, "is_older", json_boolean(p->older));
    json_object_set_new(object, "nights", json_integer(p->nights));
    json_object_set_new(object, "fastest_ms", number_or_null(p->fastest_ms));
    json_object_set_new(object, "slowest_ms", number_or_null(p->slowest_ms));
    return object;
}

static int newest_first(gconstpointer a, gconstpointer b)
{
    const struct history_point *const *one = a, *const *other = b;
    int order = strcmp((*other)->night, (*one)->night);
    if (order == 0)
        order = strcmp((*one)->target, (*other)->target);
    return order != 0 ? order : strcmp((*one)->solver, (*other)->solver);
}

static void answer_history(Store *store, const struct api_query *query, struct reply *reply)
{
    GError *error = NULL;
    int64_t problem;
    g_autoptr(GPtrArray) points =
        store_find_problem(store, asked_text(query, "key"), &problem, &error)
            ? store_list_history(store, problem, asked_text(query, "target"),
                                 asked_text(query, "solver"), NULL, &error)
            : NULL;
    if (!points) {
        reply_error(reply, error);
        return;
    }
    g_ptr_array_sort(points, newest_first);
    json_t *list = json_array();
    for (guint i = 0; i < points->len; i++)
        json_array_append_new(list, point_json(g_ptr_array_index(points, i)));
    reply_part(query, reply, list);
}

/* ---- usage: what `skipjack usage` says ---- */

/* The command's words; NULL with an answer if the question is not whole. */
static GPtrArray *usage_words(const struct api_query *query, struct reply *reply)
{
    const char *target = asked_text(query, "target"), *without = asked_text(query, "without");
    int64_t version = asked_int(query, "version"), campaign = asked_int(query, "campaign");
    const json_t *smallest = json_object_get(query->asked, "smallest");
    if ((target != NULL) == (campaign != 0)) {
        reply_problem(reply, 400, "name a target, for its golden version, or a campaign");
        return NULL;
    }
    GPtrArray *words = g_ptr_array_new_with_free_func(g_free);
    g_ptr_array_add(words, g_strdup("usage"));
    if (campaign)
        g_ptr_array_add(words, g_strdup_printf("--campaign=%" G_GINT64_FORMAT, (gint64)campaign));
    else if (version)
        g_ptr_array_add(words,
                        g_strdup_printf("--golden=%s:%" G_GINT64_FORMAT, target, (gint64)version));
    else
        g_ptr_array_add(words, g_strconcat("--golden=", target, NULL));
    if (json_is_true(json_object_get(query->asked, "all_networks")))
        g_ptr_array_add(words, g_strdup("--all-networks"));
    if (without)
        g_ptr_array_add(words, g_strconcat("--without=", without, NULL));
    if (smallest)
        g_ptr_array_add(words, g_strdup_printf("--smallest=%" JSON_INTEGER_FORMAT,
                                               json_integer_value(smallest)));
    g_ptr_array_add(words, g_strdup("--json"));
    g_ptr_array_add(words, NULL);
    return words;
}

/* The question in the words of `skipjack usage`. Free with g_free(). */
static char *usage_source(const GPtrArray *words)
{
    GString *text = g_string_new(NULL);
    for (guint i = 1; i + 2 < words->len; i++)
        g_string_append_printf(text, "%s%s", i > 1 ? " " : "",
                               (const char *)g_ptr_array_index(words, i) + 2);
    return g_string_free(text, FALSE);
}

/* Moves the member from the object; `otherwise` if it is not there. */
static json_t *take_member(json_t *object, const char *name, json_t *otherwise)
{
    json_t *member = json_incref(json_object_get(object, name));
    json_object_del(object, name);
    if (member)
        json_decref(otherwise);
    return member ? member : otherwise;
}

static void answer_usage(Store *store, const struct api_query *query, struct reply *reply)
{
    GError *error = NULL;
    g_autofree char *text = NULL;
    (void)store;
    g_autoptr(GPtrArray) words = usage_words(query, reply);
    if (!words)
        return;
    g_autofree char *source = usage_source(words);
    if (!process_run_within((const char *const *)words->pdata, USAGE_SECONDS, &text, &error)) {
        bool was_ended = strstr(error->message, "took longer") != NULL;
        if (was_ended)
            reply_problem(reply, 503, "%s: ask it in a terminal", error->message);
        else
            reply_problem(
                reply, 404,
                "there is no usage of it: has it results? 'skipjack usage --%s' says more", source);
        g_error_free(error);
        return;
    }
    json_t *usage = json_loads(text, 0, NULL);
    json_t *solvers = take_member(usage, "solvers", json_array());
    json_t *networks = take_member(usage, "networks", json_array());
    json_t *without = take_member(usage, "without", NULL);
    json_t *each = take_member(usage, "without_each", json_null());
    json_t *smallest = take_member(usage, "smallest", json_null());
    if (without)
        json_decref(each);
    reply_json(reply, json_pack("{so sI so so so so so}", "source", text_json(source), "made_unix",
                                (json_int_t)(g_get_real_time() / G_USEC_PER_SEC), "solvers",
                                solvers, "networks", networks, "without", without ? without : each,
                                "smallest", smallest, "total", usage ? usage : json_null()));
}

/* ---- exports ---- */

static void answer_exports(Store *store, const struct api_query *query, struct reply *reply)
{
    bool more = false;
    (void)store;
    json_t *list = query->exports ? exports_list(query->exports, asked_text(query, "after"),
                                                 (int)asked_int(query, "limit"), &more)
                                  : json_array();
    const json_t *last = json_array_get(list, json_array_size(list) - 1);
    const char *path = more ? json_string_value(json_object_get(last, "path")) : NULL;
    reply_list(reply, list, g_strdup(path));
}

static void answer_export_file(Store *store, const struct api_query *query, struct reply *reply)
{
    (void)store;
    if (query->exports)
        reply->fd =
            exports_file(query->exports, asked_text(query, "path"), &reply->length, &reply->etag);
    if (reply->fd < 0)
        reply_problem(reply, 404, "there is no such file among the exports");
    else
        reply->status = 200;
}

/* ---- changes ---- */

static void done(struct reply *reply, const char *words)
{
    reply_json(reply, json_pack("{so}", "done", text_json(words)));
}

static const char *const verbs[] = {"pause", "resume", "cancel", "retry"};

static void change_campaign(Store *store, const struct api_query *query, struct reply *reply)
{
    GError *error = NULL;
    const char *verb = verbs[query->row->what];
    int64_t id = asked_int(query, "id");
    g_autofree char *words = g_strdup_printf("campaign %" G_GINT64_FORMAT ": %s", (gint64)id, verb);
    if (store_change_campaign(store, id, verb, &error))
        done(reply, words);
    else
        reply_error(reply, error);
}

static void set_campaign(Store *store, const struct api_query *query, struct reply *reply)
{
    GError *error = NULL;
    const json_t *priority = json_object_get(query->asked, "priority");
    const json_t *share = json_object_get(query->asked, "share");
    const json_t *budget = json_object_get(query->asked, "budget_seconds");
    const json_t *deadline = json_object_get(query->asked, "deadline_unix");
    int new_priority = (int)json_integer_value(priority);
    double new_share = json_number_value(share), new_budget = json_number_value(budget);
    int64_t new_deadline = json_integer_value(deadline), id = asked_int(query, "id");
    const struct campaign_changes changes = {.name = asked_text(query, "name"),
                                             .pool = asked_text(query, "pool"),
                                             .priority = priority ? &new_priority : NULL,
                                             .share = share ? &new_share : NULL,
                                             .budget_seconds = budget ? &new_budget : NULL,
                                             .deadline_unix = deadline ? &new_deadline : NULL};
    g_autofree char *words = g_strdup_printf("campaign %" G_GINT64_FORMAT ": set", (gint64)id);
    if (store_set_campaign(store, id, &changes, &error))
        done(reply, words);
    else
        reply_error(reply, error);
}

static void drain_node(Store *store, const struct api_query *query, struct reply *reply)
{
    GError *error = NULL;
    int asked = 0;
    const char *node = asked_text(query, "node");
    if (!store_drain_node(store, node, &asked, &error)) {
        reply_error(reply, error);
        return;
    }
    if (asked == 0) {
        reply_problem(reply, 404, "node '%s' has no running worker", node);
        return;
    }
    g_autofree char *words = g_strdup_printf("node %s: %d workers asked to end", node, asked);
    done(reply, words);
}

static void clear_quarantine(Store *store, const struct api_query *query, struct reply *reply)
{
    GError *error = NULL;
    int cleared = 0;
    if (!store_clear_quarantine(store, asked_text(query, "target"), asked_text(query, "login"),
                                &cleared, &error)) {
        reply_error(reply, error);
        return;
    }
    g_autofree char *words = g_strdup_printf("quarantine: %d configs cleared", cleared);
    done(reply, words);
}

/* ---- tokens ---- */

/* Logs a token that does not fit, and answers. */
static bool refuse_token(const struct api_query *query, const struct token *token,
                         struct reply *reply)
{
    bool known = token->role != TOKEN_NONE;
    log_write(LEVEL_WARNING, "token_refused", NULL, "%s from %s: %s",
              known ? token->name : "a wrong token", query->address, query->row->id);
    if (known)
        reply_problem(reply, 403, "the token %s is a reader's: this needs a coordinator's",
                      token->name);
    else
        reply_problem(reply, 401, "the token is wrong, was removed, or has expired");
    return false;
}

static bool may_change(Store *store, const struct api_query *query, struct token *token,
                       struct reply *reply)
{
    GError *error = NULL;
    if (!store_check_token(store, query->bearer, token, &error)) {
        reply_error(reply, error);
        return false;
    }
    return token->role == TOKEN_COORDINATOR || refuse_token(query, token, reply);
}

/* Writes the change to the log and to the farm's event log. */
static void note_change(Store *store, const struct api_query *query, const struct token *token,
                        const struct reply *reply)
{
    gsize length;
    const char *text = reply->body ? g_bytes_get_data(reply->body, &length) : NULL;
    if (!text)
        return;
    json_t *object = json_loadb(text, length, 0, NULL);
    const char *words = json_string_value(json_object_get(object, "done"));
    g_autofree char *line =
        g_strdup_printf("%s (token %s, from %s)", words, token->name, query->address);
    log_write(LEVEL_INFO, "api_change", NULL, "%s", line);
    g_autoptr(GError) error = NULL;
    if (!store_event(store, "changed by API", asked_int(query, "id"), 0, 0, line, &error))
        log_write(LEVEL_WARNING, "event_lost", NULL, "the event log lacks '%s': %s", line,
                  error->message);
    json_decref(object);
}

void api_work(Store *store, void *data, struct reply *reply)
{
    const struct api_query *query = data;
    struct token token = {0};
    if (!query->bearer) {
        query->row->answer(store, query, reply);
    } else if (may_change(store, query, &token, reply)) {
        query->row->answer(store, query, reply);
        if (reply->status == 200)
            note_change(store, query, &token, reply);
    }
}

void api_check_token(Store *store, void *data, struct reply *reply)
{
    GError *error = NULL;
    struct token token;
    if (!store_check_token(store, data, &token, &error)) {
        reply_error(reply, error);
        return;
    }
    reply->status = 200;
    reply->data = json_pack("{si ss sI}", "role", (int)token.role, "name", token.name,
                            "expires_unix", (json_int_t)token.expires_unix);
}

/* ---- the rows ---- */

static const struct api_row rows[] = {
    {"log", answer_page, PAGE_LOG, 2, true, false},
    {"campaigns", answer_page, PAGE_CAMPAIGNS, 2, true, false},
    {"campaign", answer_campaign, 0, 2, true, false},
    {"jobs", answer_page, PAGE_JOBS, 2, true, false},
    {"job", answer_item, PAGE_JOB, 2, true, false},
    {"rejections", answer_page, PAGE_REJECTIONS, 5, true, false},
    {"campaign_golden", answer_campaign_golden, 0, 10, true, false},
    {"quarantine", answer_page, PAGE_QUARANTINE, 2, true, false},
    {"problems", answer_page, PAGE_PROBLEMS, 5, true, false},
    {"problem", answer_problem, 0, 2, true, false},
    {"problem_configs", answer_page, PAGE_PROBLEM_CONFIGS, 5, true, false},
    {"problem_history", answer_history, 0, 5, true, false},
    {"networks", answer_networks, 0, 5, true, false},
    {"network", answer_network, 0, 5, true, false},
    {"targets", answer_page, PAGE_TARGETS, 5, true, false},
    {"golden", answer_golden, 0, 2, true, false},
    {"golden_diff", answer_golden_diff, 0, 10, true, false},
    {"nights", answer_page, PAGE_NIGHTS, 2, true, false},
    {"night", answer_item, PAGE_NIGHT, 2, true, false},
    {"night_jobs", answer_page, PAGE_NIGHT_JOBS, 2, true, false},
    {"night_findings", answer_page, PAGE_NIGHT_FINDINGS, 2, true, false},
    {"usage", answer_usage, 0, 60, false, true},
    {"exports", answer_exports, 0, 2, false, false},
    {"export_file", answer_export_file, 0, -1, false, false},
    {"campaign_pause", change_campaign, 0, -1, true, false},
    {"campaign_resume", change_campaign, 1, -1, true, false},
    {"campaign_cancel", change_campaign, 2, -1, true, false},
    {"campaign_retry", change_campaign, 3, -1, true, false},
    {"campaign_set", set_campaign, 0, -1, true, false},
    {"node_drain", drain_node, 0, -1, true, false},
    {"quarantine_clear", clear_quarantine, 0, -1, true, false},
};

const struct api_row *api_row_find(const char *id)
{
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++)
        if (strcmp(rows[i].id, id) == 0)
            return &rows[i];
    return NULL;
}
