#include "tests/support/farm/scratch_db.h"
#include "schema/server/embedded.h"
#include "schema/store/store_campaigns.h"

#include <fcntl.h>
#include <ftw.h>
#include <glib/gstdio.h>
#include <libpq-fe.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char *home;
static char *url;
static pid_t owner;
static bool durable;

/* Takes a pointer to the error, since arguments are evaluated before the checked call has set
 * it. */
static void require(bool done, GError *const *error)
{
    if (!done)
        g_error("scratch database: %s", (*error)->message);
}

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *place)
{
    (void)status;
    (void)type;
    (void)place;
    return remove(path);
}

static void clean_up(void)
{
    if (getpid() != owner)
        return;
    if (g_strcmp0(g_getenv("SKIPJACK_HOME"), home) != 0)
        g_setenv("SKIPJACK_HOME", home, TRUE);
    if (!embedded_stop(NULL))
        fprintf(stderr, "# the scratch database under %s does not stop\n", home);
    nftw(home, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/* A killed test runs no exit handler, so a watching process holds the read end of a pipe whose
 * write end only the test has: at end of file it stops the server. */
static void watch_for_death(void)
{
    int ends[2];
    g_assert_true(pipe(ends) == 0);
    fflush(NULL);
    pid_t watcher = fork();
    if (watcher == 0) {
        char byte;
        setsid();
        close(ends[1]);
        close(STDOUT_FILENO);
        while (read(ends[0], &byte, 1) > 0)
            continue;
        owner = getpid();
        if (g_file_test(home, G_FILE_TEST_EXISTS))
            clean_up();
        _exit(0);
    }
    close(ends[0]);
    g_assert_true(fcntl(ends[1], F_SETFD, FD_CLOEXEC) == 0);
}

const char *scratch_home(void)
{
    if (home != NULL)
        return home;
    g_autoptr(GError) error = NULL;
    home = g_dir_make_tmp("skipjack-test-XXXXXX", &error);
    require(home != NULL, &error);
    g_assert_true(g_chmod(home, 0755) == 0);
    g_setenv("SKIPJACK_HOME", home, TRUE);
    g_unsetenv("SKIPJACK_DB");
    owner = getpid();
    atexit(clean_up);
    watch_for_death();
    return home;
}

static void execute(const char *at, const char *sql)
{
    PGconn *connection = PQconnectdb(at);
    PGresult *rows = PQexec(connection, sql);
    if (PQresultStatus(rows) != PGRES_COMMAND_OK && PQresultStatus(rows) != PGRES_TUPLES_OK)
        g_error("scratch database: %s: %s", sql, PQerrorMessage(connection));
    PQclear(rows);
    PQfinish(connection);
}

void scratch_durable(void)
{
    durable = true;
}

/* A migrated cluster of `make test`, whose copy is there sooner than a new one. A program that runs by itself makes a new
 * one, and so does a user who may not read that one. */
static void copy_cluster(void)
{
    const char *made = g_getenv("SKIPJACK_TEST_CLUSTER");
    g_autofree char *version =
        g_build_filename(made != NULL ? made : "", "data", "PG_VERSION", NULL);
    g_autofree char *place = g_build_filename(home, "postgres", NULL);
    if (made == NULL || durable || g_access(version, R_OK) != 0 || g_access(place, F_OK) == 0)
        return;
    const char *argv[] = {"cp", "-a", made, place, NULL};
    g_autoptr(GError) error = NULL;
    int status = 0;
    require(g_spawn_sync(NULL, (char **)(void *)argv, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL,
                         NULL, &status, &error) &&
                g_spawn_check_wait_status(status, &error),
            &error);
}

const char *scratch_db_url(void)
{
    if (url != NULL)
        return url;
    g_autoptr(GError) error = NULL;
    bool embedded;
    scratch_home();
    copy_cluster();
    require(embedded_start(&error), &error);
    url = database_url(&embedded, &error);
    require(url != NULL, &error);
    if (!durable) {
        execute(url, "ALTER SYSTEM SET fsync = off");
        execute(url, "SELECT pg_reload_conf()");
    }
    return url;
}

char *scratch_db_new(void)
{
    static int number;
    g_autoptr(GError) error = NULL;
    struct migrated done;
    g_autofree char *name = g_strdup_printf("/scratch%d?", ++number);
    g_autofree char *create = g_strdup_printf("CREATE DATABASE scratch%d", number);
    g_auto(GStrv) parts = g_strsplit(scratch_db_url(), "/skipjack?", 2);
    char *fresh = g_strconcat(parts[0], name, parts[1], NULL);
    execute(scratch_db_url(), create);
    require(database_migrate(fresh, &done, &error), &error);
    return fresh;
}

Store *scratch_store(void)
{
    g_autoptr(GError) error = NULL;
    /* Faster than TRUNCATE, which writes new files for each table. */
    execute(
        scratch_db_url(),
        "SET search_path = skipjack; DELETE FROM bundles; DELETE FROM campaigns; DELETE FROM nights; DELETE FROM outbox;"
        " DELETE FROM workers; UPDATE lease_watch SET looked_at = '-infinity';"
        " DELETE FROM golden_rows; DELETE FROM golden_proposed; DELETE FROM golden_versions;"
        " DELETE FROM golden_policies; DELETE FROM events; DELETE FROM kernels; DELETE FROM quarantine; DELETE FROM networks;"
        " DELETE FROM winners; DELETE FROM contenders; DELETE FROM attempts; DELETE FROM winner_marks; DELETE FROM winner_versions; DELETE FROM last_winners;"
        " DELETE FROM history; DELETE FROM history_series; DELETE FROM history_versions; DELETE FROM history_marks; DELETE FROM history_nights;"
        " UPDATE history_retention SET (dense_days, weekly_days, weeks_done, months_done) = (90, 730, '-infinity', '-infinity');"
        " DELETE FROM problem_tags; DELETE FROM problems; DELETE FROM solvers;"
        " DELETE FROM targets; DELETE FROM blob_loose; DELETE FROM blob_places WHERE id > 0;"
        " UPDATE blob_places SET is_current = true");
    Store *store = store_open(scratch_db_url(), &error);
    require(store != NULL, &error);
    require(store_drop_partitions(store, &error), &error);
    return store;
}
