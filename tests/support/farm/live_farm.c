#include "tests/support/farm/live_farm.h"
#include "tests/support/patience.h"

#include <glib/gstdio.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "schema/results/store_results.h"
#include "schema/store/store_campaigns.h"
#include "solvers/problem/problem_key.h"
#include "tests/support/farm/processes.h"
#include "tests/support/farm/scratch_db.h"

#define POLL_US 5000

static char **command_line(const char *const *first, const char *const *more)
{
    GPtrArray *words = g_ptr_array_new();
    for (; *first; first++)
        g_ptr_array_add(words, g_strdup(*first));
    for (; more && *more; more++)
        g_ptr_array_add(words, g_strdup(*more));
    g_ptr_array_add(words, NULL);
    return (char **)g_ptr_array_free(words, FALSE);
}

/* Takes a pointer to the error, since arguments are evaluated before the checked call has set
 * it. */
static void check(bool done, GError *const *error)
{
    if (!done)
        g_error("live farm: %s", (*error)->message);
}

int64_t live_campaign(const char *program, const char *problems, const char *const *arguments)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *path = NULL, *out = NULL;
    int status;
    int file = g_file_open_tmp("farm-XXXXXX.txt", &path, &error);
    check(file >= 0 && close(file) == 0, &error);
    check(g_file_set_contents(path, problems, -1, &error), &error);
    const char *const first[] = {program,  "campaign",        "create", "--problems",
                                 path,     "--target",        "local",  "--strategy",
                                 "random", "--final-seconds", "0",      NULL};
    g_auto(GStrv) words = command_line(first, arguments);
    check(g_spawn_sync(NULL, words, NULL, G_SPAWN_DEFAULT, NULL, NULL, &out, NULL, &status, &error),
          &error);
    check(g_spawn_check_wait_status(status, &error), &error);
    g_remove(path);
    return g_ascii_strtoll(out, NULL, 10);
}

static pid_t start(const char *const *first, const char *const *arguments)
{
    g_autoptr(GError) error = NULL;
    GPid pid;
    g_auto(GStrv) words = command_line(first, arguments);
    /* Locks are kept in the scratch home, since the double's GPUs are not shared with other
     * tests. */
    g_setenv("SKIPJACK_LOCKS", scratch_home(), FALSE);
    check(g_spawn_async(NULL, words, NULL, G_SPAWN_DO_NOT_REAP_CHILD, NULL, NULL, &pid, &error),
          &error);
    return pid;
}

pid_t live_worker(const char *program, const char *const *arguments)
{
    return start((const char *const[]){program, "worker", "--embedded", "--until-empty", NULL},
                 arguments);
}

pid_t live_agent(const char *program, const char *const *arguments)
{
    return start((const char *const[]){program, "worker", "--embedded", NULL}, arguments);
}

pid_t live_tune(const char *program, const char *problems, const char *folder,
                const char *const *arguments)
{
    g_autoptr(GError) error = NULL;
    GPid pid;
    g_autofree char *path = g_build_filename(folder, "problems.txt", NULL);
    check(g_file_set_contents(path, problems, -1, &error), &error);
    const char *const first[] = {program, "tune",          path,     "-o",
                                 folder,  "--strategy",    "random", "--final-seconds",
                                 "0",     "--allow-drift", NULL};
    g_auto(GStrv) words = command_line(first, arguments);
    check(g_spawn_async(NULL, words, NULL, G_SPAWN_DO_NOT_REAP_CHILD | G_SPAWN_STDOUT_TO_DEV_NULL,
                        NULL, NULL, &pid, &error),
          &error);
    return pid;
}

int live_wait(pid_t worker)
{
    gint64 limit = patience_end();
    int status;
    while (g_get_monotonic_time() < limit) {
        if (waitpid(worker, &status, WNOHANG) == worker)
            return status;
        g_usleep(POLL_US);
    }
    kill(worker, SIGTERM);
    g_error("live farm: the worker did not end within %d seconds", PATIENCE_SECONDS);
}

/* Returns a child whose command line has the words, or 0. */
static pid_t find_child(pid_t parent, const char *words)
{
    g_autoptr(GArray) children = process_children(parent, words);
    return children->len > 0 ? g_array_index(children, pid_t, 0) : 0;
}

pid_t live_child(pid_t parent, const char *words)
{
    gint64 limit = patience_end();
    while (g_get_monotonic_time() < limit) {
        pid_t child = find_child(parent, words);
        if (child > 0)
            return child;
        g_usleep(POLL_US);
    }
    g_error("live farm: no child '%s' within %d seconds", words, PATIENCE_SECONDS);
}

void live_child_ends(pid_t parent, const char *words)
{
    gint64 limit = patience_end();
    while (find_child(parent, words) > 0) {
        if (g_get_monotonic_time() > limit)
            g_error("live farm: a child '%s' is there after %d seconds", words, PATIENCE_SECONDS);
        g_usleep(POLL_US);
    }
}

/* The best config, a slow one and an unstable one differ by the machine's noise only. */
static bool is_noise(enum failure failure)
{
    return failure == FAILURE_NONE || failure == FAILURE_SLOW || failure == FAILURE_UNSTABLE ||
           failure == FAILURE_TIME_IMPOSSIBLE;
}

static gint compare_lines(gconstpointer a, gconstpointer b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

char *live_outcomes(Store *store, int64_t campaign)
{
    g_autoptr(GError) error = NULL;
    char key[PROBLEM_KEY_MAX];
    g_autoptr(GPtrArray) lines = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GPtrArray) outcomes = store_list_outcomes(store, campaign, &error);
    check(outcomes != NULL, &error);
    for (guint i = 0; i < outcomes->len; i++) {
        const struct config_outcome *row = g_ptr_array_index(outcomes, i);
        g_ptr_array_add(
            lines,
            g_strdup_printf("%s %s %s: %s", problem_key(&row->problem, key), row->solver,
                            row->config_text,
                            is_noise(row->failure) ? "verified" : failure_name(row->failure)));
    }
    g_ptr_array_sort(lines, compare_lines);
    g_ptr_array_add(lines, NULL);
    return g_strjoinv("\n", (char **)lines->pdata);
}

int live_assert_done(Store *store, int64_t campaign, int jobs)
{
    g_autoptr(GError) error = NULL;
    int done = 0;
    struct campaign *row = store_get_campaign(store, campaign, &error);
    check(row != NULL, &error);
    g_assert_cmpstr(row->state, ==, "done");
    g_assert_cmpint(row->jobs, ==, jobs);
    campaign_free(row);
    g_autoptr(GPtrArray) list = store_list_jobs(store, campaign, &error);
    check(list != NULL, &error);
    for (guint i = 0; i < list->len; i++) {
        const struct job_row *job = g_ptr_array_index(list, i);
        bool is_done = g_str_equal(job->state, "done");
        done += is_done;
        if (!is_done)
            g_assert_cmpint(job->failure, ==, FAILURE_UNSTABLE);
    }
    return done;
}
