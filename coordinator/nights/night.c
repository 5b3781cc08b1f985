#include "coordinator/nights/night.h"

#include "coordinator/cli/cli.h"
#include "coordinator/cli/table.h"
#include "coordinator/import/import.h"
#include "coordinator/nights/night_lists.h"
#include "coordinator/nights/night_wait.h"
#include "coordinator/nights/steps.h"
#include "coordinator/process/command_line.h"
#include "coordinator/process/process.h"
#include "coordinator/tell/tell.h"
#include "schema/monitor/signals.h"
#include "schema/server/database.h"
#include "schema/server/embedded.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Steps up to reporting lead there when they are given up: whatever happened, somebody is to hear of it. */
const struct night_move night_moves[NIGHT_DONE] = {
    {NIGHT_PLANNING, NIGHT_TUNING, NIGHT_REPORTING, NIGHT_REPORTING, night_step_plan,
     "planning what changed"},
    {NIGHT_TUNING, NIGHT_GATHERING, NIGHT_GATHERING, NIGHT_REPORTING, night_step_tune, "tuning"},
    {NIGHT_GATHERING, NIGHT_JUDGING, NIGHT_JUDGING, NIGHT_REPORTING, night_step_gather,
     "gathering the history"},
    {NIGHT_JUDGING, NIGHT_CONFIRMING, NIGHT_PROPOSING, NIGHT_REPORTING, night_step_judge,
     "judging what got slower or faster"},
    {NIGHT_CONFIRMING, NIGHT_SETTLING, NIGHT_SETTLING, NIGHT_REPORTING, night_step_confirm,
     "measuring suspects again"},
    {NIGHT_SETTLING, NIGHT_PROPOSING, NIGHT_PROPOSING, NIGHT_REPORTING, night_step_settle,
     "judging with the second measurements"},
    {NIGHT_PROPOSING, NIGHT_EXPORTING, NIGHT_EXPORTING, NIGHT_REPORTING, night_step_propose,
     "proposing a golden version"},
    {NIGHT_EXPORTING, NIGHT_REPORTING, NIGHT_REPORTING, NIGHT_REPORTING, night_step_export,
     "exporting"},
    {NIGHT_REPORTING, NIGHT_TELLING, NIGHT_TELLING, NIGHT_TELLING, night_step_report, "reporting"},
    {NIGHT_TELLING, NIGHT_DONE, NIGHT_DONE, NIGHT_DONE, night_step_tell, "telling"},
};

bool night_may_move(enum night_state from, enum night_state to)
{
    if (from == NIGHT_DONE)
        return to < NIGHT_DONE;
    const struct night_move *move = &night_moves[from];
    return to == move->done || to == move->empty || to == move->failed;
}

/* ---- one process works on a night ---- */

/* Pauses, in seconds: between two looks at a night that another process works on, and between two attempts to reach
 * the database. */
#define FOLLOW_SECONDS 1
#define AWAY_SECONDS   2

static bool refresh(struct night_run *run, GError **error)
{
    struct night *night = store_get_night(run->store, run->night->id, error);
    if (!night)
        return false;
    night_free(run->night);
    run->night = night;
    return true;
}

/* "NODE process PID" of this process. Free with g_free(). */
static char *whose(void)
{
    const char *node = g_getenv("SKIPJACK_NODE");
    return g_strdup_printf("%s process %d", node ? node : g_get_host_name(), (int)getpid());
}

static void say_follows(struct night_run *run)
{
    g_autofree char *line = g_strdup_printf(
        "%s works on night %s of %s: %s; this process follows it", run->night->begun_by,
        run->night->name, run->night->date, night_state_name(run->night->state));
    progress_line_show(&run->line, line);
}

/* Takes the night. While another process works on it, follows that process, and takes over when it has ended. Returns
 * false after a signal, or with an error. */
static bool take(struct night_run *run, GError **error)
{
    g_autofree char *by = whose();
    bool taken = false;
    while (run->caught == 0) {
        if (!store_take_night(run->store, run->night->id, by, &taken, error))
            return false;
        if (!refresh(run, error) || taken)
            break;
        say_follows(run);
        int caught = process_wait_signal(FOLLOW_SECONDS * 1000);
        run->caught = signals_is_ending(caught) ? caught : 0;
    }
    progress_line_end(&run->line);
    return taken;
}

/* Waits until the database answers again, and takes the night again: the connection's end freed it. Returns false
 * after a signal. */
static bool take_back(struct night_run *run, const char *message)
{
    fprintf(stderr, "the database went away (%s); waiting for it\n", message);
    while (!night_pause(run, AWAY_SECONDS)) {
        g_autoptr(GError) error = NULL;
        bool embedded = false;
        g_autofree char *url = database_url(&embedded, NULL);
        if (url && embedded && !embedded_start(NULL))
            continue;
        if (take(run, &error)) {
            fputs("the database is back\n", stderr);
            return true;
        }
    }
    return false;
}

/* ---- steps ---- */

/* How often a failing step is tried in one run, and the pauses before the second and third time, in seconds. */
#define STEP_TRIES 3
static const double try_pauses[STEP_TRIES - 1] = {5, 30};

/* Whether the step may succeed when it is tried again at once: not after a mistake in the night's file or in a list that
 * it names, nor if a network, file or folder is missing, full or closed to this user. */
static bool is_worth_a_try(const GError *error)
{
    return !g_error_matches(error, COORDINATOR_ERROR, COORDINATOR_ERROR_USAGE) &&
           !g_error_matches(error, COORDINATOR_ERROR, COORDINATOR_ERROR_EMPTY) &&
           !g_error_matches(error, STORE_ERROR, STORE_ERROR_NOT_FOUND) &&
           error->domain != EXPORT_ERROR && error->domain != G_FILE_ERROR;
}

/* Whether the connection was lost, and with it the night. */
static bool lost_night(const GError *error)
{
    return g_error_matches(error, STORE_ERROR, STORE_ERROR_CONNECTION);
}

/* Counts the findings once more: reporting and telling may have been given up after they were counted. */
static bool keep_findings(struct night_run *run, GError **error)
{
    return night_count_findings(run, error) &&
           store_set_night_summary(run->store, run->night->id, run->night->summary,
                                   run->night->findings, run->night->empty, error);
}

/* Notes the step's end, and moves the night, both or nothing. */
static bool end_step(struct night_run *run, enum night_state to, bool failed, const char *detail,
                     GError **error)
{
    enum night_state from = run->night->state;
    if (!store_begin(run->store, error))
        return false;
    bool ended = store_end_night_step(run->store, run->night->id, from, failed, detail, error) &&
                 (to != NIGHT_DONE || keep_findings(run, error)) &&
                 store_move_night(run->store, run->night->id, from, to, error);
    g_autoptr(GError) unkept = NULL;
    if (!store_end(run->store, ended, &unkept) && ended) {
        g_propagate_error(error, g_steal_pointer(&unkept));
        return false;
    }
    return ended && refresh(run, error);
}

/* Does the step of the night's state once. */
static enum night_outcome try_step(struct night_run *run, GString *detail, GError **error)
{
    const struct night_move *move = &night_moves[run->night->state];
    if (!store_begin_night_step(run->store, run->night->id, move->at, NULL, error))
        return NIGHT_STEP_FAILED;
    cli_note("%s\n", move->says);
    enum night_outcome outcome = move->work(run, detail, error);
    progress_line_end(&run->line);
    if (outcome == NIGHT_STEP_FAILED && run->caught != 0)
        return NIGHT_STEP_STOPPED;
    if (outcome == NIGHT_STEP_EMPTY && move->at == NIGHT_PLANNING) {
        run->night->empty = true;
        if (!store_set_night_summary(run->store, run->night->id, run->night->summary,
                                     run->night->findings, true, error))
            return NIGHT_STEP_FAILED;
    }
    return outcome;
}

static bool finish_step(struct night_run *run, enum night_outcome outcome, const char *detail,
                        GError **error)
{
    const struct night_move *move = &night_moves[run->night->state];
    bool failed = outcome == NIGHT_STEP_FAILED;
    enum night_state to = failed                        ? move->failed
                          : outcome == NIGHT_STEP_EMPTY ? move->empty
                                                        : move->done;
    if (failed)
        fprintf(stderr, "%s failed: %s\n", night_state_name(move->at), detail);
    else
        cli_note("  %s\n", detail);
    return end_step(run, to, failed, detail, error);
}

/* Does the step of the night's state, and moves the night on. A step that fails is tried again; when it is given up,
 * the night goes on to report that. Returns false after a signal, or with an error that no later step can get over. */
static bool do_step(struct night_run *run, GError **error)
{
    for (int tries = 1;; tries++) {
        g_autoptr(GString) detail = g_string_new(NULL);
        g_autoptr(GError) failure = NULL;
        enum night_outcome outcome = try_step(run, detail, &failure);
        if (outcome == NIGHT_STEP_STOPPED)
            return false;
        if (outcome == NIGHT_STEP_FAILED && failure && lost_night(failure)) {
            g_propagate_error(error, g_steal_pointer(&failure));
            return false;
        }
        bool gives_up = tries >= STEP_TRIES || !failure || !is_worth_a_try(failure);
        if (outcome != NIGHT_STEP_FAILED || gives_up)
            return finish_step(run, outcome, failure ? failure->message : detail->str, error);
        fprintf(stderr, "%s failed: %s; trying again in %g s\n",
                night_state_name(run->night->state), failure->message, try_pauses[tries - 1]);
        /* A call may have opened a lost connection again: then the night has to be taken anew. */
        if (night_pause(run, try_pauses[tries - 1]) || !take(run, error))
            return false;
    }
}

/* Begins the failed steps of an ended night again: the night goes back to the first of them. Does nothing if no step
 * failed. */
static bool begin_failed(struct night_run *run, GError **error)
{
    g_autoptr(GPtrArray) steps = store_list_night_steps(run->store, run->night->id, error);
    if (!steps)
        return false;
    for (guint i = 0; i < steps->len; i++) {
        const struct night_step *step = steps->pdata[i];
        if (!step->failed)
            continue;
        fprintf(stderr, "night %s of %s ended with %s failed: it begins again there\n",
                run->night->name, run->night->date, night_state_name(step->step));
        json_t *again = json_object_get(run->night->summary, "again");
        json_object_set_new(run->night->summary, "again",
                            json_integer(json_integer_value(again) + 1));
        return store_set_night_summary(run->store, run->night->id, run->night->summary,
                                       run->night->findings, run->night->empty, error) &&
               store_move_night(run->store, run->night->id, NIGHT_DONE, step->step, error) &&
               refresh(run, error);
    }
    return true;
}

/* Works until the night is done. A lost connection is waited for. Returns false after a signal, or with an error. */
static bool work(struct night_run *run, GError **error)
{
    bool taken = take(run, error) && (run->night->state != NIGHT_DONE || begin_failed(run, error));
    while (taken && run->night->state != NIGHT_DONE) {
        g_autoptr(GError) failure = NULL;
        int caught = process_wait_signal(0);
        run->caught = signals_is_ending(caught) ? caught : run->caught;
        taken = run->caught == 0 && take(run, &failure) &&
                (run->night->state == NIGHT_DONE || do_step(run, &failure));
        if (failure && lost_night(failure))
            taken = take_back(run, failure->message);
        else if (failure)
            g_propagate_error(error, g_steal_pointer(&failure));
    }
    store_leave_night(run->store, run->night->id);
    return taken;
}

/* ---- a whole run ---- */

static void say_how_to_go_on(const struct night_run *run)
{
    const char *const words[] = {"run", run->file->path, "--night", run->night->date, NULL};
    g_autofree char *command = command_line(words);
    fprintf(stderr,
            "night %s of %s is %s; campaigns go on as long as workers run. To go on with it:\n"
            "  %s\n",
            run->night->name, run->night->date, night_state_name(run->night->state), command);
}

/* Prints what the night brought. Returns the exit status. */
static int show(struct night_run *run, bool as_json, GError **error)
{
    json_t *json = as_json ? night_details_json(run->store, run->night, error) : NULL;
    if (json)
        table_show_json(json);
    else if (as_json || !night_details_print(run->store, run->night, error))
        return CLI_FAILED;
    return run->night->findings > 0 ? CLI_FAILED : CLI_DONE;
}

/* The description as the database keeps it, for everybody who may read: webhooks without what may be secret. A new
 * reference. */
static json_t *public_description(const struct night_file *file)
{
    json_t *json = json_deep_copy(file->json);
    size_t i;
    json_t *tell;
    json_array_foreach (json_object_get(json, "tell"), i, tell) {
        const char *webhook = json_string_value(json_object_get(tell, "webhook"));
        g_autofree char *shown = webhook ? tell_public_url(webhook) : NULL;
        if (shown)
            json_object_set_new(tell, "webhook", json_string(shown));
    }
    return json;
}

/* A night goes on by the file of today: what is planned stays, all that comes after it follows the new text. */
static void say_changed(const struct night_run *run, const json_t *description, bool is_new)
{
    if (!is_new && run->night->state != NIGHT_DONE &&
        !json_equal(run->night->description, description))
        fprintf(
            stderr,
            "the night began with another '%s': the jobs that it has planned stay, and its other "
            "steps follow the file as it is now\n",
            run->file->path);
}

static bool begin(struct night_run *run, const char *date, GError **error)
{
    bool is_new = false;
    int64_t deadline_unix = 0;
    if (!request_read_deadline(run->file->deadline, &deadline_unix, error))
        return false;
    json_t *description = public_description(run->file);
    run->night = store_begin_night(run->store, run->file->name, date, description, deadline_unix,
                                   &is_new, error);
    if (run->night)
        say_changed(run, description, is_new);
    json_decref(description);
    return run->night != NULL;
}

int night_fail(GError *error)
{
    int status = cli_fail("run", error);
    return status == CLI_FAILED ? CLI_UNFINISHED : status;
}

int night_run(Store *store, const struct night_file *file, const struct night_wish *wish)
{
    struct night_run run = {.store = store, .file = file};
    GError *error = NULL;
    progress_line_init(&run.line);
    if (!begin(&run, wish->date, &error))
        return night_fail(error);
    cli_note("night %s of %s\n", run.night->name, run.night->date);
    process_block_signals();
    bool done = work(&run, &error);
    if (run.caught == 0)
        process_unblock_signals();
    int status = CLI_INTERRUPTED;
    if (done)
        status = show(&run, wish->as_json, &error);
    if (error)
        status = night_fail(error);
    if (!done)
        say_how_to_go_on(&run);
    night_free(run.night);
    return status;
}
