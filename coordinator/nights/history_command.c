/*
 * `skipjack history`: a problem's winner, night by night, and what changed from one night to the next. The winner of a
 * night is the solver with the least time among the newest points of all solvers, or the one that a second measurement
 * chose in the same campaign. So a row may show a point from an earlier night: that of a solver that wins since another
 * became slower.
 */
#include "coordinator/cli/cli.h"
#include "coordinator/cli/table.h"
#include "coordinator/commands.h"
#include "coordinator/nights/judge/causes.h"
#include "coordinator/process/machine.h"
#include "schema/results/store_history.h"
#include "schema/results/store_pages.h"
#include "schema/server/database.h"
#include "solvers/driver/driver_line.h"
#include "solvers/problem/problem_key.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct history_options {
    char *target, *solver, *since, *retention;
    int nights; /* the newest rows of each target; 0 for all */
    gboolean size, json;
};

/* ---- rows ---- */

static const struct table_column columns[] = {
    {"night", "night", TABLE_TEXT, 0},      {"target", "target", TABLE_TEXT, 0},
    {"winner", "solver", TABLE_TEXT, 0},    {"config", "config", TABLE_TEXT, 0},
    {"ms", "median_ms", TABLE_NUMBER, -4},  {"from", "low_ms", TABLE_NUMBER, -4},
    {"to", "high_ms", TABLE_NUMBER, -4},    {NULL, "second", TABLE_YES, 0},
    {NULL, "measured", TABLE_TEXT, 0},      {NULL, "older", TABLE_YES, 0},
    {NULL, "failure", TABLE_TEXT, 0},       {NULL, "n", TABLE_INT, 0},
    {NULL, "spread", TABLE_NUMBER, 4},      {NULL, "drift", TABLE_NUMBER, 4},
    {NULL, "revision", TABLE_INT, 0},       {NULL, "hash", TABLE_TEXT, 0},
    {NULL, "stack", TABLE_TEXT, 0},         {"node", "node", TABLE_TEXT, 0},
    {NULL, "sm_mhz_min", TABLE_INT, 0},     {NULL, "sm_mhz_max", TABLE_INT, 0},
    {NULL, "throttle", TABLE_INT, 0},       {NULL, "campaign", TABLE_INT, 0},
    {"nights", "nights", TABLE_INT, 0},     {NULL, "fastest_ms", TABLE_NUMBER, -4},
    {NULL, "slowest_ms", TABLE_NUMBER, -4}, {"changed", "changed", TABLE_TEXT, 0},
};

/* Describes the change since the row before; NULL if nothing changed. Free with g_free(). */
static char *changes(const struct history_point *before, const struct history_point *now)
{
    if (before == NULL || before == now)
        return NULL;
    if (strcmp(before->solver, now->solver) != 0)
        return g_strdup_printf("%s won before", before->solver);
    if (now->failure != FAILURE_NONE || before->failure != FAILURE_NONE)
        return now->failure == before->failure
                   ? NULL
                   : g_strdup_printf("%s -> %s", failure_name(before->failure),
                                     failure_name(now->failure));
    const struct regression_point points[] = {
        {.solver = before->solver,
         .config = before->config,
         .revision = before->revision,
         .hash = before->hash,
         .stack = before->stack,
         .node = before->node,
         .sm_mhz = before->sm_mhz_min,
         .throttle = before->throttle},
        {.solver = now->solver,
         .config = now->config,
         .revision = now->revision,
         .hash = now->hash,
         .stack = now->stack,
         .node = now->node,
         .sm_mhz = now->sm_mhz_min,
         .throttle = now->throttle},
    };
    g_autoptr(GArray) causes = causes_find(&points[0], &points[1], NULL);
    bool is_known = causes->len > 0 &&
                    g_array_index(causes, struct regression_cause_found, 0).cause != CAUSE_UNKNOWN;
    return is_known ? causes_text(causes) : NULL;
}

/* night: of the row; the point may be from before. */
static void add_row(Table *table, const char *night, const struct history_point *point,
                    const struct history_point *before)
{
    bool timed = point->failure == FAILURE_NONE;
    g_autofree char *changed = changes(before, point);
    table_text(table, night);
    table_text(table, point->target);
    table_text(table, point->solver);
    table_text(table, timed ? point->config : failure_name(point->failure));
    table_number(table, timed ? point->median_ms : NAN);
    table_number(table, timed ? point->low_ms : NAN);
    table_number(table, timed ? point->high_ms : NAN);
    table_yes(table, point->second);
    table_text(table, point->night);
    table_yes(table, point->older);
    table_text(table, timed ? NULL : failure_name(point->failure));
    table_int(table, point->n);
    table_number(table, timed ? point->spread : NAN);
    table_number(table, point->drift > 0 ? point->drift : NAN);
    table_int(table, point->revision);
    table_text(table, point->hash);
    table_text(table, point->stack);
    table_text(table, point->node);
    table_int(table, point->sm_mhz_min);
    table_int(table, point->sm_mhz_max);
    table_int(table, point->throttle);
    table_int(table, point->campaign);
    table_int(table, point->nights);
    table_number(table, timed ? point->fastest_ms : NAN);
    table_number(table, timed ? point->slowest_ms : NAN);
    table_text(table, changed);
}

static int compare_speed(const struct history_point *a, const struct history_point *b)
{
    if ((a->failure == FAILURE_NONE) != (b->failure == FAILURE_NONE))
        return a->failure == FAILURE_NONE ? -1 : 1;
    if (a->median_ms != b->median_ms)
        return a->median_ms < b->median_ms ? -1 : 1;
    return strcmp(a->solver, b->solver);
}

/* The winner among the newest points, by solver name. */
static struct history_point *best_of(GHashTable *newest)
{
    struct history_point *best = NULL, *point;
    GHashTableIter iter;
    g_hash_table_iter_init(&iter, newest);
    while (g_hash_table_iter_next(&iter, NULL, (gpointer *)&point)) {
        if (best == NULL || compare_speed(point, best) < 0)
            best = point;
    }
    g_hash_table_iter_init(&iter, newest);
    while (best != NULL && g_hash_table_iter_next(&iter, NULL, (gpointer *)&point)) {
        if (point->chosen && point->failure == FAILURE_NONE && point->campaign == best->campaign)
            return point;
    }
    return best;
}

struct night_row {
    const char *night;
    const struct history_point *winner, *before;
};

/* Returns struct night_row of points of one target, which are in time order; borrows from them. */
static GArray *nights_of(const GPtrArray *points, guint from, guint to)
{
    GArray *rows = g_array_new(FALSE, FALSE, sizeof(struct night_row));
    g_autoptr(GHashTable) newest = g_hash_table_new(g_str_hash, g_str_equal);
    const struct history_point *before = NULL;
    for (guint i = from; i < to;) {
        const char *night = ((struct history_point *)points->pdata[i])->night;
        for (; i < to && strcmp(((struct history_point *)points->pdata[i])->night, night) == 0;
             i++) {
            struct history_point *point = points->pdata[i];
            g_hash_table_replace(newest, point->solver, point);
        }
        const struct night_row row = {night, best_of(newest), before};
        before = row.winner;
        g_array_append_val(rows, row);
    }
    return rows;
}

static bool same_target(const GPtrArray *points, guint a, guint b)
{
    return b < points->len && strcmp(((struct history_point *)points->pdata[a])->target,
                                     ((struct history_point *)points->pdata[b])->target) == 0;
}

/* Rows from the night `since` on; earlier points count for who wins and for what changed. */
static void add_points(Table *table, const GPtrArray *points, const struct history_options *options)
{
    for (guint from = 0, to; from < points->len; from = to) {
        for (to = from + 1; same_target(points, from, to); to++)
            continue;
        g_autoptr(GArray) rows = nights_of(points, from, to);
        guint first = options->nights > 0 && rows->len > (guint)options->nights
                          ? rows->len - (guint)options->nights
                          : 0;
        for (guint i = first; i < rows->len; i++) {
            const struct night_row *row = &g_array_index(rows, struct night_row, i);
            if (options->since == NULL || strcmp(row->night, options->since) >= 0)
                add_row(table, row->night, row->winner, row->before);
        }
    }
}

/* ---- the problem ---- */

/* Makes keys of a key or of a driver line, which names a problem for each direction of its -F. Free with
 * g_strfreev(). */
static char **keys_of(const char *text, GError **error)
{
    char buffer[PROBLEM_KEY_MAX];
    struct problem problem;
    g_autoptr(GError) no_key = NULL;
    if (problem_key_parse(text, &problem, &no_key)) {
        GStrvBuilder *one = g_strv_builder_new();
        g_strv_builder_add(one, problem_key(&problem, buffer));
        char **keys = g_strv_builder_end(one);
        g_strv_builder_unref(one);
        return keys;
    }
    struct driver_line line;
    driver_line_parse(text, &line);
    if (line.kind != DRIVER_LINE_CONV) {
        g_set_error(error, COORDINATOR_ERROR, COORDINATOR_ERROR_USAGE,
                    "'%s' is neither a problem's key (%s) nor a driver line: skipjack problems "
                    "lists the keys",
                    text, no_key->message);
        return NULL;
    }
    GStrvBuilder *builder = g_strv_builder_new();
    for (int i = 0; i < line.problem_count; i++)
        g_strv_builder_add(builder, problem_key(&line.problems[i], buffer));
    char **keys = g_strv_builder_end(builder);
    g_strv_builder_unref(builder);
    return keys;
}

static bool add_key(Store *store, Table *table, const char *key,
                    const struct history_options *options, GError **error)
{
    int64_t id;
    if (!store_find_problem(store, key, &id, error))
        return false;
    g_autoptr(GPtrArray) points =
        store_list_history(store, id, options->target, options->solver, NULL, error);
    if (points == NULL)
        return false;
    if (points->len == 0)
        cli_note(
            "no night has measured '%s'%s%s%s%s yet\n", key, options->target != NULL ? " on " : "",
            options->target != NULL ? options->target : "", options->solver != NULL ? " with " : "",
            options->solver != NULL ? options->solver : "");
    add_points(table, points, options);
    return true;
}

/* Replaces --target by the target's id, which history has. */
static bool find_target(Store *store, struct history_options *options, GError **error)
{
    char *id = options->target != NULL ? machine_target_id(store, options->target, error) : NULL;
    if (options->target != NULL && id == NULL)
        return false;
    g_free(options->target);
    options->target = id;
    return true;
}

static Table *list(const char *text, struct history_options *options, GError **error)
{
    g_auto(GStrv) keys = keys_of(text, error);
    g_autoptr(Store) store = keys != NULL ? database_open(false, error) : NULL;
    if (store == NULL || !find_target(store, options, error))
        return NULL;
    Table *table = table_new(columns, G_N_ELEMENTS(columns));
    for (char **key = keys; *key != NULL; key++) {
        if (!add_key(store, table, *key, options, error)) {
            table_free(table);
            return NULL;
        }
    }
    return table;
}

/* ---- size and retention ---- */

static int show_size(gboolean as_json)
{
    GError *error = NULL;
    struct history_size size;
    struct history_retention retention;
    g_autoptr(Store) store = database_open(false, &error);
    if (store == NULL || !store_history_size(store, &size, &error) ||
        !store_history_retention(store, &retention, &error))
        return cli_fail("history", error);
    if (as_json) {
        table_show_json(
            json_pack("{sI sI sI sI sI ss* ss* sI si si}", "points", (json_int_t)size.points,
                      "series", (json_int_t)size.series, "problems", (json_int_t)size.problems,
                      "targets", (json_int_t)size.targets, "nights", (json_int_t)size.nights,
                      "first", size.points > 0 ? size.first : NULL, "last",
                      size.points > 0 ? size.last : NULL, "bytes", (json_int_t)size.bytes,
                      "dense_days", retention.dense_days, "weekly_days", retention.weekly_days));
        return CLI_DONE;
    }
    g_autofree char *bytes = g_format_size((guint64)size.bytes);
    printf("%" G_GINT64_FORMAT " points, which stand for %" G_GINT64_FORMAT
           " nights of a solver, %s\n",
           size.points, size.nights, bytes);
    printf("%" G_GINT64_FORMAT " problems on %" G_GINT64_FORMAT " targets, %" G_GINT64_FORMAT
           " with solvers\n",
           size.problems, size.targets, size.series);
    if (size.points > 0)
        printf("from %s to %s\n", size.first, size.last);
    printf("every night stays for %d days, then the first of each week until %d days, then the "
           "first of each month; nights of changes stay\n",
           retention.dense_days, retention.weekly_days);
    return CLI_DONE;
}

static bool parse_retention(const char *text, struct history_retention *retention, GError **error)
{
    int end = 0;
    if (sscanf(text, "%d,%d%n", &retention->dense_days, &retention->weekly_days, &end) == 2 &&
        text[end] == '\0' && retention->dense_days >= 7 &&
        retention->dense_days <= retention->weekly_days && retention->weekly_days <= 36500)
        return true;
    return cli_misuse(error,
                      "--retention '%s' is not DAYS,DAYS as 90,730: 7 days or more of every night, "
                      "then as many or more, up to 36500, until which a night a week stays",
                      text);
}

static int set_retention(const char *text)
{
    GError *error = NULL;
    struct history_retention retention;
    if (!parse_retention(text, &retention, &error))
        return cli_fail("history", error);
    g_autoptr(Store) store = database_open(false, &error);
    if (store == NULL || !store_set_history_retention(store, &retention, &error))
        return cli_fail("history", error);
    cli_note("every night stays for %d days, one a week until %d days: from the next upkeep on\n",
             retention.dense_days, retention.weekly_days);
    return CLI_DONE;
}

/* ---- the command ---- */

static bool is_date(const char *text)
{
    GDate date;
    int year, month, day, end = 0;
    if (sscanf(text, "%4d-%2d-%2d%n", &year, &month, &day, &end) != 3 || end != 10 ||
        text[end] != '\0' || year < 1)
        return false;
    g_date_clear(&date, 1);
    return g_date_valid_dmy((GDateDay)day, (GDateMonth)month, (GDateYear)year);
}

static bool check(const struct history_options *options, int keys, GError **error)
{
    bool apart = options->size || options->retention != NULL;
    if (keys != (apart ? 0 : 1) || (options->size && options->retention != NULL))
        return cli_misuse(error, "name one problem's KEY or driver line, or say --size, or "
                                 "--retention DAYS,DAYS");
    if (options->since != NULL && !is_date(options->since))
        return cli_misuse(error, "--since '%s' is not a date as 2027-03-05", options->since);
    if (options->nights < 0)
        return cli_misuse(error, "--nights %d is less than one night", options->nights);
    return true;
}

int command_history(int argc, char **argv)
{
    struct history_options options = {0};
    const GOptionEntry entries[] = {
        {"target", 't', 0, G_OPTION_ARG_STRING, &options.target,
         "only this target; local is this machine's", "TARGET"},
        {"solver", 's', 0, G_OPTION_ARG_STRING, &options.solver,
         "this solver's points instead of the winner's", "SOLVER"},
        {"since", 0, 0, G_OPTION_ARG_STRING, &options.since, "nights from this one on",
         "YYYY-MM-DD"},
        {"nights", 'n', 0, G_OPTION_ARG_INT, &options.nights, "the newest N nights of each target",
         "N"},
        {"size", 0, 0, G_OPTION_ARG_NONE, &options.size,
         "how much history there is, and for how long it is kept", NULL},
        {"retention", 0, 0, G_OPTION_ARG_STRING, &options.retention,
         "keep every night for DAYS, then the first of each week until DAYS, then the first of "
         "each month for ever (90,730)",
         "DAYS,DAYS"},
        CLI_JSON_OPTION(&options.json),
        {0}};
    const struct cli cli = {
        .command = "history",
        .arguments = "[KEY]",
        .summary =
            "Shows a problem's winner by night: config, median time with its interval, node, and "
            "what changed from the night before. KEY is a problem's key or a driver line. A row "
            "stands for several nights where old ones were thinned; nights in which the config, "
            "revision, stack, failure or winner changed are always kept. Dropping a campaign "
            "loses nothing of it.",
        .example =
            "skipjack history 64-56-56-3x3-64-56-56-8-1x1-1x1-1x1-0-NCHW-FP32-F --nights 30\n"
            "  skipjack history --size",
        .options = entries,
        .least = 0,
        .most = 1};
    GError *error = NULL;
    if (!cli_parse(&cli, &argc, &argv))
        return CLI_USAGE;
    if (!check(&options, argc - 1, &error))
        return cli_fail("history", error);
    if (options.retention != NULL)
        return set_retention(options.retention);
    if (options.size)
        return show_size(options.json);
    Table *table = list(argv[1], &options, &error);
    return table_finish("history", table, options.json, error);
}
