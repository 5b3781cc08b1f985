#include "coordinator/tune/supervise.h"

#include "coordinator/cli/cli.h"
#include "coordinator/cli/progress_line.h"
#include "coordinator/process/process.h"
#include "schema/monitor/signals.h"
#include "schema/store/store_campaigns.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

/* A worker ends normally when it can claim nothing. If the campaign is not done then, other workers
 * hold its jobs, or a dead worker's leases have not run out. The worker is therefore started again
 * after this many seconds, until no job has ended during IDLE_STARTS_MAX starts: ten minutes, which
 * many leases do not last. */
#define IDLE_SECONDS    5
#define IDLE_STARTS_MAX 120

struct supervisor {
    struct watch *watch;
    const char *log_path;
    pid_t worker;        /* process id of the worker; 0 while none runs */
    int64_t start_at_us; /* when the next worker is started, by the monotonic clock */
    int restarts, interrupts;
    bool is_told; /* true once the worker got SIGTERM because the deadline passed */
    /* since a job last ended: how often the worker was started, and how many jobs had ended */
    int idle_starts, idle_jobs;
};

static bool start_worker(struct supervisor *supervisor, GError **error)
{
    g_autofree char *id = g_strdup_printf("%" G_GINT64_FORMAT, supervisor->watch->campaign);
    /* The worker writes its log as text, unless SKIPJACK_LOG asks for another form. */
    const char *form = g_getenv("SKIPJACK_LOG") ? NULL : "--log";
    const char *const args[] = {"worker", "--until-empty", "--campaign", id, "--embedded",
                                form,     "text",          NULL};
    supervisor->is_told = false;
    supervisor->worker = process_start(args, supervisor->log_path, -1, error);
    return supervisor->worker > 0;
}

static void forward(struct supervisor *supervisor, int signal_number)
{
    /* A terminal that closes sends SIGHUP twice: once from the kernel, once from the shell. */
    if (signal_number == SIGHUP && supervisor->interrupts > 0)
        return;
    supervisor->interrupts++;
    progress_line_end(&supervisor->watch->line);
    if (supervisor->interrupts == 1) {
        fputs("stopping: what is being measured is finished first; once more ends it at once\n",
              stderr);
        if (supervisor->worker > 0)
            kill(supervisor->worker, signal_number);
        return;
    }
    fputs("stopping at once\n", stderr);
    if (supervisor->worker > 0)
        kill(-supervisor->worker, SIGKILL);
}

/* Returns the last line of the log, which a worker wrote before it died; "nothing" if the log cannot be read. Free with
 * g_free(). */
static char *last_line(const char *path)
{
    g_autofree char *text = NULL;
    if (!g_file_get_contents(path, &text, NULL, NULL))
        return g_strdup("nothing");
    g_strchomp(text);
    const char *line = strrchr(text, '\n');
    return g_strdup(line ? line + 1 : text);
}

static bool restart_dead(struct supervisor *supervisor, int status, GError **error)
{
    g_autofree char *how = process_status_text(status);
    g_autofree char *words = last_line(supervisor->log_path);
    progress_line_end(&supervisor->watch->line);
    if (supervisor->restarts >= SUPERVISE_RESTARTS) {
        g_set_error(
            error, COORDINATOR_ERROR, COORDINATOR_ERROR_PROCESS,
            "the worker %s and was started again %d times already; its last words in '%s': %s", how,
            supervisor->restarts, supervisor->log_path, words);
        return false;
    }
    supervisor->restarts++;
    fprintf(stderr, "the worker %s, its last words: %s; starting it again (%d of %d)\n", how, words,
            supervisor->restarts, SUPERVISE_RESTARTS);
    supervisor->start_at_us = g_get_monotonic_time() + G_USEC_PER_SEC;
    return true;
}

static bool restart_idle(struct supervisor *supervisor, GError **error)
{
    const struct progress *progress = &supervisor->watch->progress;
    int ended = progress->done + progress->failed;
    supervisor->idle_starts = ended == supervisor->idle_jobs ? supervisor->idle_starts + 1 : 0;
    supervisor->idle_jobs = ended;
    if (supervisor->idle_starts > IDLE_STARTS_MAX) {
        g_set_error(error, COORDINATOR_ERROR, COORDINATOR_ERROR_PROCESS,
                    "nothing can be claimed and nothing ends: other workers hold what is left "
                    "(skipjack status shows them)");
        return false;
    }
    supervisor->start_at_us = g_get_monotonic_time() + IDLE_SECONDS * G_USEC_PER_SEC;
    return true;
}

/* Handles the end of the worker. Returns true if no worker is to be started again: *end then says why, and for
 * SUPERVISE_FAILED *error. */
static bool handle_end(struct supervisor *supervisor, int status, enum supervise_end *end,
                       GError **error)
{
    struct watch *watch = supervisor->watch;
    *end = SUPERVISE_FAILED;
    if (!watch_tick(watch, error))
        return true;
    if (strcmp(watch->state, "done") == 0) {
        *end = SUPERVISE_DONE;
        return true;
    }
    if (supervisor->interrupts > 0) {
        *end = SUPERVISE_INTERRUPTED;
        return true;
    }
    if (strcmp(watch->state, CAMPAIGN_OVERDUE) == 0) {
        *end = SUPERVISE_OVERDUE;
        return true;
    }
    if (strcmp(watch->state, "active") != 0) {
        g_set_error(error, COORDINATOR_ERROR, COORDINATOR_ERROR_PROCESS,
                    "campaign %" G_GINT64_FORMAT
                    " is %s by now; skipjack campaign resume %" G_GINT64_FORMAT " lets it go on",
                    watch->campaign, watch->state, watch->campaign);
        return true;
    }
    bool idle = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    return !(idle ? restart_idle(supervisor, error) : restart_dead(supervisor, status, error));
}

/* Starts the next worker once it is due. Returns true if the user interrupted or the worker cannot
 * be started; *end says which of the two. */
static bool start_due(struct supervisor *supervisor, enum supervise_end *end, GError **error)
{
    *end = supervisor->interrupts > 0 ? SUPERVISE_INTERRUPTED : SUPERVISE_FAILED;
    if (supervisor->interrupts > 0)
        return true;
    return g_get_monotonic_time() >= supervisor->start_at_us && !start_worker(supervisor, error);
}

static void stop_at_deadline(struct supervisor *supervisor)
{
    if (supervisor->is_told || strcmp(supervisor->watch->state, CAMPAIGN_OVERDUE) != 0)
        return;
    supervisor->is_told = true;
    progress_line_end(&supervisor->watch->line);
    fputs("the deadline has passed: what is being measured is finished, nothing more is begun\n",
          stderr);
    kill(supervisor->worker, SIGTERM);
}

static bool tick(struct supervisor *supervisor, int caught, enum supervise_end *end, GError **error)
{
    int status = 0;
    if (supervisor->worker == 0)
        return start_due(supervisor, end, error);
    if (process_ended(supervisor->worker, &status)) {
        supervisor->worker = 0;
        return handle_end(supervisor, status, end, error);
    }
    if (caught != 0)
        return false;
    if (watch_tick(supervisor->watch, error)) {
        stop_at_deadline(supervisor);
        return false;
    }
    kill(supervisor->worker, SIGTERM);
    waitpid(supervisor->worker, &status, 0);
    return true;
}

enum supervise_end supervise_worker(struct watch *watch, const char *log_path, GError **error)
{
    struct supervisor supervisor = {.watch = watch, .log_path = log_path};
    enum supervise_end end = SUPERVISE_FAILED;
    bool over = false;
    while (!over) {
        int pause_ms = supervisor.worker > 0
                           ? progress_pause_ms(&watch->progress, watch->reading_seconds)
                           : 50;
        int caught = process_wait_signal(pause_ms);
        if (signals_is_ending(caught))
            forward(&supervisor, caught);
        over = tick(&supervisor, caught, &end, error);
    }
    progress_line_end(&watch->line);
    return end;
}
