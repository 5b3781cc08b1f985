/*
 * Upkeep, part by part. Each part repeats one SQL function that looks at
 * BATCH_ROWS rows and returns how far it came, so that no transaction is long
 * and the run can stop between any two.
 *
 * Code objects are the expensive part. Once a run, a scan of kept results and open rounds writes
 * the needed kernels into a temporary table of the session. A kernel that a build asks for after
 * the scan is protected by the time of that question (asked_before), not by the table.
 */
#include "schema/farm/upkeep.h"

#include "schema/blobs/blobs.h"
#include "schema/results/store_history.h"
#include "schema/results/store_usage.h"
#include "schema/store/store_campaigns.h"
#include "schema/store/store_kernels.h"
#include "schema/store/store_private.h"
#include "schema/store/store_winners.h"

#include <stdlib.h>
#include <string.h>

/* Rows of one step: a step then takes some milliseconds. */
#define BATCH_ROWS 500

struct upkeep {
    Store *store;
    const struct upkeep_options *options;
    struct upkeep_report *report;
    char *asked_before; /* time of the scan's begin: kernels that were asked for later are kept */
    bool searched;      /* the session's list of needed kernels is complete */
};

static bool stopped(const struct upkeep *upkeep)
{
    return upkeep->options->stop != NULL && g_atomic_int_get(upkeep->options->stop) != 0;
}

/* Runs a step and returns its row as an object, or NULL. */
#define STEP(upkeep, error, call, ...)                                                             \
    step_row(                                                                                      \
        store_run((upkeep)->store, error, "SELECT to_jsonb(s) FROM " call " AS s", __VA_ARGS__))

static json_t *step_row(PGresult *answer)
{
    g_autoptr(StoreRows) rows = answer;
    return rows == NULL ? NULL : store_row_json(rows, 0);
}

static void add_found(struct upkeep *upkeep, enum upkeep_part part, const json_t *row)
{
    upkeep->report->parts[part].count += json_member_int(row, "freed");
    upkeep->report->parts[part].bytes += json_member_int(row, "bytes");
}

/* ---- tables of dropped campaigns ---- */

static bool count_partitions(struct upkeep *upkeep, int64_t *count, int64_t *bytes, GError **error)
{
    g_autoptr(StoreRows) rows =
        store_read(upkeep->store, error,
                   "SELECT jsonb_build_object('count', count(*), 'bytes',"
                   " coalesce(sum(pg_total_relation_size(c.oid)), 0)) FROM dropped_partitions d"
                   " JOIN pg_class c ON c.relname = d.child"
                   " AND c.relnamespace = 'skipjack'::regnamespace",
                   "");
    if (rows == NULL)
        return false;
    g_autoptr(StoreJson) row = store_row_json(rows, 0);
    *count = json_member_int(row, "count");
    *bytes = json_member_int(row, "bytes");
    return true;
}

static bool drop_partitions(struct upkeep *upkeep, GError **error)
{
    int64_t count, bytes, left = 0, left_bytes = 0;
    if (!count_partitions(upkeep, &count, &bytes, error))
        return false;
    bool done = upkeep->options->dry_run || count == 0 ||
                (store_drop_partitions(upkeep->store, error) &&
                 count_partitions(upkeep, &left, &left_bytes, error));
    if (done) {
        upkeep->report->parts[UPKEEP_PARTITIONS].count = MAX(count - left, 0);
        upkeep->report->parts[UPKEEP_PARTITIONS].bytes = MAX(bytes - left_bytes, 0);
    }
    return done;
}

/* ---- kernels ---- */

/* Lists in the session which kernels are needed, once a run. A kernel asked for meanwhile is too young to
 * be dropped by this run. */
static bool search_needed(struct upkeep *upkeep, GError **error)
{
    if (upkeep->searched)
        return true;
    g_autoptr(StoreRows) begun =
        store_run(upkeep->store, error, "SELECT begin_kernel_search()", "");
    if (begun == NULL)
        return false;
    g_free(upkeep->asked_before);
    upkeep->asked_before = g_strdup(PQgetvalue(begun, 0, 0));
    while (!stopped(upkeep)) {
        g_autoptr(StoreRows) more =
            store_run(upkeep->store, error, "SELECT note_needed_kernels()", "");
        if (more == NULL)
            return false;
        if (PQgetvalue(more, 0, 0)[0] == 'f') {
            upkeep->searched = true;
            return true;
        }
    }
    return true;
}

static bool drop_code(struct upkeep *upkeep, GError **error)
{
    if (upkeep->options->code_hours < 0)
        return true;
    if (!search_needed(upkeep, error))
        return false;
    g_autofree char *last = g_strdup("");
    int64_t looked = BATCH_ROWS;
    while (upkeep->searched && looked == BATCH_ROWS && !stopped(upkeep)) {
        g_autoptr(StoreJson) row =
            STEP(upkeep, error,
                 "drop_code($1, least($2::timestamptz, now() - $3 * interval '1 hour'), $4, $5)",
                 "ssdib", last, upkeep->asked_before, upkeep->options->code_hours, BATCH_ROWS,
                 !upkeep->options->dry_run);
        if (row == NULL)
            return false;
        add_found(upkeep, UPKEEP_CODE, row);
        looked = json_member_int(row, "looked");
        upkeep->report->code_count += looked;
        upkeep->report->code_bytes += json_member_int(row, "looked_bytes");
        g_free(last);
        last = json_member_text(row, "last");
    }
    return true;
}

static bool forget_kernels(struct upkeep *upkeep, GError **error)
{
    if (upkeep->options->kernel_days < 0)
        return true;
    if (!search_needed(upkeep, error))
        return false;
    g_autofree char *last = g_strdup("-infinity");
    int64_t looked = BATCH_ROWS;
    while (upkeep->searched && looked == BATCH_ROWS && !stopped(upkeep)) {
        g_autoptr(StoreJson) row = STEP(
            upkeep, error,
            "forget_kernels($1, least($2::timestamptz, now() - $3 * interval '1 day'), $4, $5)",
            "ssdib", last, upkeep->asked_before, upkeep->options->kernel_days, BATCH_ROWS,
            !upkeep->options->dry_run);
        if (row == NULL)
            return false;
        add_found(upkeep, UPKEEP_KERNELS, row);
        looked = json_member_int(row, "looked");
        g_free(last);
        last = json_member_text(row, "last");
    }
    return true;
}

/* ---- objects outside ---- */

static bool sweep_objects(struct upkeep *upkeep, GError **error)
{
    int removed = 0;
    if (!upkeep->options->dry_run) {
        bool done = store_sweep_blobs(upkeep->store, &removed, error);
        upkeep->report->parts[UPKEEP_OBJECTS].count = removed;
        return done;
    }
    g_autoptr(StoreRows) rows = store_read(upkeep->store, error,
                                           "SELECT count(*) FROM blob_loose WHERE NOT is_upload"
                                           " OR since < now() - interval '1 day'",
                                           "");
    if (rows != NULL)
        upkeep->report->parts[UPKEEP_OBJECTS].count = strtoll(PQgetvalue(rows, 0, 0), NULL, 10);
    return rows != NULL;
}

/* ---- event log and workers ---- */

/* Events are in the order of time: after a page without an old event there are no more old ones. */
static bool forget_events(struct upkeep *upkeep, GError **error)
{
    int64_t last = 0, looked = 1;
    while (upkeep->options->event_days >= 0 && looked > 0 && !stopped(upkeep)) {
        g_autoptr(StoreJson) row =
            STEP(upkeep, error, "forget_events($1, now() - $2 * interval '1 day', $3, $4)", "ldib",
                 last, upkeep->options->event_days, BATCH_ROWS, !upkeep->options->dry_run);
        if (row == NULL)
            return false;
        add_found(upkeep, UPKEEP_EVENTS, row);
        looked = json_member_int(row, "looked");
        last = json_member_int(row, "last");
    }
    return true;
}

static bool forget_workers(struct upkeep *upkeep, GError **error)
{
    int64_t found = BATCH_ROWS;
    while (upkeep->options->worker_days >= 0 && found == BATCH_ROWS && !stopped(upkeep)) {
        g_autoptr(StoreJson) row =
            STEP(upkeep, error, "forget_workers(now() - $1 * interval '1 day', $2, $3)", "dib",
                 upkeep->options->worker_days, BATCH_ROWS, !upkeep->options->dry_run);
        if (row == NULL)
            return false;
        add_found(upkeep, UPKEEP_WORKERS, row);
        found = upkeep->options->dry_run ? 0 : json_member_int(row, "freed");
    }
    return true;
}

static bool forget_messages(struct upkeep *upkeep, GError **error)
{
    int64_t found = BATCH_ROWS;
    while (upkeep->options->message_days >= 0 && found == BATCH_ROWS && !stopped(upkeep)) {
        g_autoptr(StoreJson) row =
            STEP(upkeep, error, "forget_messages(now() - $1 * interval '1 day', $2, $3)", "dib",
                 upkeep->options->message_days, BATCH_ROWS, !upkeep->options->dry_run);
        if (row == NULL)
            return false;
        add_found(upkeep, UPKEEP_MESSAGES, row);
        found = upkeep->options->dry_run ? 0 : json_member_int(row, "freed");
    }
    return true;
}

/* ---- all of it ---- */

/* The parts, in this order. An unreachable store of code objects stops only the last one. */
static const struct {
    const char *name;
    bool (*run)(struct upkeep *upkeep, GError **error);
} parts[UPKEEP_COUNT] = {
    [UPKEEP_PARTITIONS] = {"tables of dropped campaigns", drop_partitions},
    [UPKEEP_CODE] = {"code objects", drop_code},
    [UPKEEP_KERNELS] = {"kernels without code", forget_kernels},
    [UPKEEP_EVENTS] = {"lines of the event log", forget_events},
    [UPKEEP_WORKERS] = {"ended workers", forget_workers},
    [UPKEEP_MESSAGES] = {"ended messages", forget_messages},
    [UPKEEP_OBJECTS] = {"objects without a kernel", sweep_objects},
};

const char *upkeep_part_name(enum upkeep_part part)
{
    g_assert(part < UPKEEP_COUNT);
    return parts[part].name;
}

/* Runs a part. False if the other parts cannot run either. The first error is kept. */
static bool run_part(struct upkeep *upkeep, int part, GError **first)
{
    g_autoptr(GError) error = NULL;
    if (stopped(upkeep) || parts[part].run(upkeep, &error))
        return true;
    bool lost = g_error_matches(error, STORE_ERROR, STORE_ERROR_CONNECTION);
    if (*first == NULL)
        *first = g_steal_pointer(&error);
    return !lost;
}

/* Gathers winners and history. The first error is kept. */
static void gather(struct upkeep *upkeep, GError **first)
{
    const volatile gint *stop = upkeep->options->stop;
    store_gather_winners(upkeep->store, 0, stop, *first == NULL ? first : NULL);
    store_gather_history(upkeep->store, 0, stop, *first == NULL ? first : NULL);
    store_thin_history(upkeep->store, NULL, stop, &upkeep->report->thinned,
                       *first == NULL ? first : NULL);
}

bool upkeep_run(Store *store, const struct upkeep_options *options, struct upkeep_report *report,
                GError **error)
{
    struct upkeep upkeep = {.store = store, .options = options, .report = report};
    GError *first = NULL;
    gint64 start = g_get_monotonic_time();
    memset(report, 0, sizeof *report);
    for (int part = 0; part < UPKEEP_COUNT && run_part(&upkeep, part, &first); part++)
        continue;
    if (!options->dry_run)
        gather(&upkeep, &first);
    if (!options->dry_run)
        store_sum_usage(store, options->stop, first == NULL ? &first : NULL);
    report->seconds = (double)(g_get_monotonic_time() - start) / G_USEC_PER_SEC;
    g_free(upkeep.asked_before);
    if (first != NULL)
        g_propagate_error(error, first);
    return first == NULL;
}

bool store_collect_kernels(Store *store, int *dropped, GError **error)
{
    struct upkeep_report report = {0};
    const struct upkeep_options options = {0};
    struct upkeep upkeep = {.store = store, .options = &options, .report = &report};
    bool done = drop_code(&upkeep, error) && sweep_objects(&upkeep, error);
    g_free(upkeep.asked_before);
    if (dropped != NULL)
        *dropped = (int)report.parts[UPKEEP_CODE].count;
    return done;
}
