/* Reading the points of a night: the newest ones of all entries first, then the past of what was measured tonight. */
#include "coordinator/nights/judge/regression_points.h"

#include "schema/results/store_golden.h"
#include "schema/results/store_history.h"
#include "schema/results/store_nights.h"
#include "schema/results/store_remeasure.h"
#include "schema/store/store_problems.h"
#include "solvers/problem/problem_key.h"

#include <string.h>

struct reader {
    Store *store;
    const struct regression_question *question;
    GPtrArray *problems; /* struct regression_problem * */
    GHashTable *by_id;   /* int64_t * -> struct regression_problem * */
    GHashTable *since;   /* "PROBLEM SOLVER" -> the last night that counts as the pair's past */
};

static void add_problem(struct reader *reader, int64_t id, const struct night_problem *wanted)
{
    char key[PROBLEM_KEY_MAX];
    struct regression_problem *problem =
        regression_problem_new(id, problem_key(&wanted->problem, key));
    for (guint i = 0; i < wanted->uses->len; i++) {
        const struct night_use *use = &g_array_index(wanted->uses, struct night_use, i);
        regression_problem_use(problem, use->network, use->multiplicity, use->runs);
    }
    g_ptr_array_add(reader->problems, problem);
    g_hash_table_insert(reader->by_id, &problem->id, problem);
}

/* The night's problems are in the database already, since its campaigns have jobs for them: this finds their ids. */
static bool add_problems(struct reader *reader, GError **error)
{
    const GArray *wanted = reader->question->sources->problems;
    g_autofree struct problem *problems = g_new(struct problem, MAX(wanted->len, 1));
    g_autofree int64_t *ids = g_new0(int64_t, MAX(wanted->len, 1));
    for (guint i = 0; i < wanted->len; i++)
        problems[i] = g_array_index(wanted, struct night_problem, i).problem;
    if (!store_put_problems(reader->store, problems, (int)wanted->len, NULL, ids, error))
        return false;
    for (guint i = 0; i < wanted->len; i++)
        if (g_hash_table_lookup(reader->by_id, &ids[i]) == NULL)
            add_problem(reader, ids[i], &g_array_index(wanted, struct night_problem, i));
    return true;
}

static struct regression_entry *entry_of(struct reader *reader, int64_t id, const char *solver)
{
    struct regression_problem *problem = g_hash_table_lookup(reader->by_id, &id);
    if (problem == NULL)
        return NULL;
    for (guint i = 0; i < problem->entries->len; i++) {
        struct regression_entry *entry =
            &g_array_index(problem->entries, struct regression_entry, i);
        if (strcmp(entry->solver, solver) == 0)
            return entry;
    }
    return regression_problem_add(problem, solver);
}

static void read_point(const struct history_point *from, struct regression_point *to)
{
    *to = (struct regression_point){
        .night = g_strdup(from->night),
        .campaign = from->campaign,
        .solver = g_strdup(from->solver),
        .config = g_strdup(from->config),
        .revision = from->revision,
        .hash = g_strdup(from->hash),
        .stack = g_strdup(from->stack),
        .node = g_strdup(from->node),
        .failure = from->failure,
        .n = from->n,
        .median_ms = from->median_ms,
        .spread = from->spread,
        .drift = from->drift,
        .sm_mhz = from->sm_mhz_min,
        .throttle = from->throttle,
    };
}

static void add_earlier(struct regression_entry *entry, const struct history_point *point)
{
    struct regression_point earlier;
    if (entry->earlier->len >= REGRESSION_NIGHTS)
        return;
    read_point(point, &earlier);
    g_array_append_val(entry->earlier, earlier);
}

static char *pair_name(int64_t problem, const char *solver)
{
    return g_strdup_printf("%" G_GINT64_FORMAT " %s", (gint64)problem, solver);
}

/* Notes the nights that open findings were compared with. */
static void note_suspects(struct reader *reader, const Regressions *last)
{
    for (guint i = 0; last && i < last->findings->len; i++) {
        const struct regression_finding *finding = g_ptr_array_index(last->findings, i);
        if (regression_is_open(finding) && finding->against == REGRESSION_LAST_NIGHT &&
            finding->then.night)
            g_hash_table_insert(reader->since, pair_name(finding->problem_id, finding->solver),
                                finding->then.night);
    }
}

/* Returns true if the point is of a time that was suspected, and not confirmed since. */
static bool is_suspected(const struct reader *reader, const struct history_point *point)
{
    g_autofree char *pair = pair_name(point->problem, point->solver);
    const char *since = g_hash_table_lookup(reader->since, pair);
    return since && strcmp(point->night, since) > 0;
}

/* A point of the night is tonight's, unless its time is an older one that the job took over: then it only says what
 * counts for the problem, like every newest point. A past has no such copies, since they are no measurements. */
static void add_point(struct reader *reader, const struct history_point *point, bool is_past)
{
    struct regression_entry *entry = entry_of(reader, point->problem, point->solver);
    int order = strcmp(point->night, reader->question->night);
    if (entry == NULL || order > 0 || (is_past && point->older))
        return;
    if (order < 0 || point->older) {
        if (!is_past || !is_suspected(reader, point))
            add_earlier(entry, point);
        return;
    }
    regression_point_clear(&entry->now);
    read_point(point, &entry->now);
    entry->has_now = true;
}

static GArray *ids_of(const struct reader *reader, bool tonight)
{
    GArray *ids = g_array_new(FALSE, FALSE, sizeof(int64_t));
    for (guint p = 0; p < reader->problems->len; p++) {
        const struct regression_problem *problem = g_ptr_array_index(reader->problems, p);
        bool wanted = !tonight;
        for (guint e = 0; e < problem->entries->len && !wanted; e++)
            wanted = g_array_index(problem->entries, struct regression_entry, e).has_now;
        if (wanted)
            g_array_append_val(ids, problem->id);
    }
    return ids;
}

static bool add_history(struct reader *reader, bool tonight, int nights, GError **error)
{
    g_autoptr(GArray) ids = ids_of(reader, tonight);
    g_autoptr(GPtrArray) points = NULL;
    if (ids->len == 0)
        return true;
    points = store_newest_history(reader->store, reader->question->target, ids,
                                  tonight ? reader->question->night : NULL, nights, error);
    if (points == NULL)
        return false;
    if (tonight) /* the first reading took the newest points of these problems as their past */
        for (guint i = 0; i < ids->len; i++) {
            struct regression_problem *problem =
                g_hash_table_lookup(reader->by_id, &g_array_index(ids, int64_t, i));
            for (guint e = 0; e < problem->entries->len; e++)
                g_array_set_size(
                    g_array_index(problem->entries, struct regression_entry, e).earlier, 0);
        }
    for (guint i = 0; i < points->len; i++)
        add_point(reader, g_ptr_array_index(points, i), tonight);
    return true;
}

/* The best config of each entry: rows of an entry come in the order of their times. */
static void add_golden(struct reader *reader, const struct golden_row *row)
{
    const struct result *result = &row->result;
    struct regression_entry *entry =
        result->damage == NULL ? entry_of(reader, result->problem_id, result->solver) : NULL;
    if (entry == NULL ||
        (entry->has_golden && entry->golden.median_ms <= result->kept.outcome.median_ms))
        return;
    regression_point_clear(&entry->golden);
    entry->golden = (struct regression_point){
        .night = g_strdup_printf("golden %d", reader->question->golden),
        .campaign = row->campaign,
        .solver = g_strdup(result->solver),
        .config = g_strdup(result->kept.config_text),
        .revision = result->revision,
        .stack = g_strdup(result->stack),
        .n = result->kept.outcome.n,
        .median_ms = result->kept.outcome.median_ms,
        .spread = result->kept.outcome.spread,
        .drift = result->drift,
    };
    entry->has_golden = true;
}

static bool add_golden_rows(struct reader *reader, GError **error)
{
    const struct golden_query query = {
        .target = reader->question->target, .version = reader->question->golden, .stack = ""};
    if (query.version == 0)
        return true;
    g_autoptr(GPtrArray) rows = store_list_golden_rows(reader->store, &query, error);
    for (guint i = 0; rows != NULL && i < rows->len; i++)
        add_golden(reader, g_ptr_array_index(rows, i));
    return rows != NULL;
}

GPtrArray *regression_points_read(Store *store, const struct regression_question *question,
                                  GError **error)
{
    g_autoptr(GPtrArray) problems =
        g_ptr_array_new_with_free_func((GDestroyNotify)regression_problem_free);
    g_autoptr(GHashTable) by_id = g_hash_table_new(g_int64_hash, g_int64_equal);
    g_autoptr(GHashTable) since = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    struct reader reader = {store, question, problems, by_id, since};
    note_suspects(&reader, question->last);
    if (!add_problems(&reader, error) || !add_history(&reader, false, 1, error) ||
        !add_history(&reader, true, REGRESSION_NIGHTS, error) || !add_golden_rows(&reader, error))
        return NULL;
    return g_steal_pointer(&problems);
}

bool regressions_read_last(Store *store, const char *name, const char *date, const char *target,
                           Regressions **last, GError **error)
{
    json_t *judged = NULL;
    *last = NULL;
    if (!store_find_judged(store, name, date, target, &judged, error))
        return false;
    if (judged)
        *last = regressions_from_json(judged, error);
    bool ok = !judged || *last;
    json_decref(judged);
    return ok;
}

/* ---- second measurements ---- */

bool regression_points_again(Store *store, Regressions *r, int64_t campaign, int *count,
                             GError **error)
{
    g_autoptr(GPtrArray) measured = store_list_remeasured(store, campaign, error);
    if (measured == NULL)
        return false;
    int found = 0;
    for (guint i = 0; i < measured->len; i++) {
        const struct remeasured *from = g_ptr_array_index(measured, i);
        if (!from->wished)
            continue;
        const struct regression_point point = {
            /* The round's number and job tell two equal measurements apart. */
            .night = g_strdup_printf("job %" G_GINT64_FORMAT " round %d", (gint64)from->job,
                                     from->number),
            .campaign = campaign,
            .solver = from->solver,
            .config = from->config,
            .revision = from->revision,
            .hash = from->hash,
            .stack = from->stack,
            .node = from->node,
            .failure = from->failure,
            .detail = from->detail,
            .n = from->n,
            .median_ms = from->median_ms,
            .spread = from->spread,
            .drift = from->drift,
            .sm_mhz = from->sm_mhz,
            .temperature_c = from->temperature_c,
            .throttle = from->throttle,
        };
        found += regressions_add_again(r, from->problem_id, from->solver, &point) > 0;
        g_free(point.night);
    }
    if (count != NULL)
        *count = found;
    return true;
}
