/* A farm whose code objects are stored outside PostgreSQL, through the program itself: a campaign
 * is tuned while `db blobs --move` moves the objects to and fro and is killed, and exported from
 * both places. */
#include "schema/blobs/blobs.h"
#include "schema/results/store_results.h"
#include "schema/store/store_campaigns.h"
#include "tests/support/doubles/dav_server.h"
#include "tests/support/doubles/object_server.h"
#include "tests/support/farm/live_farm.h"
#include "tests/support/farm/scratch_db.h"
#include "tests/support/patience.h"
#include "tests/support/temp_folder.h"

#include <jansson.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

static const char problems[] = "8-9-9-3x3-16-9-9-2-1x1-1x1-1x1-0-NCHW-FP32-F\n"
                               "16-8-8-1x1-8-8-8-1-0x0-1x1-1x1-0-NCHW-FP32-F\n";
static const char *const quick[] = {"--sample-seconds", "0.02", "--build", "2", NULL};

static const char *program(void)
{
    const char *path = g_getenv("SKIPJACK");
    return path != NULL ? path : "build/skipjack";
}

/* Runs the program with up to five arguments; returns its exit status. *out and *errors get its
 * output; either may be NULL. */
static int run(char **out, char **errors, const char *a, const char *b, const char *c,
               const char *d, const char *e)
{
    const char *words[] = {program(), a, b, c, d, e, NULL};
    g_autoptr(GError) error = NULL;
    int status = -1;
    if (!g_spawn_sync(NULL, (char **)(guintptr)words, NULL, G_SPAWN_DEFAULT, NULL, NULL, out,
                      errors, &status, &error))
        g_error("%s: %s", program(), error->message);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void move_to(const char *url)
{
    g_autofree char *out = NULL;
    g_autofree char *errors = NULL;
    if (run(&out, &errors, "db", "blobs", "--move", url, NULL) != 0)
        g_error("db blobs --move %s: %s", url, errors);
}

/* The number of kernels' code objects that `db blobs --json` reports for the store `url`; -1 if it
 * does not list that store. */
static int told(const char *url, bool current)
{
    g_autofree char *out = NULL;
    int count = -1;
    size_t i;
    json_t *place;
    g_assert_cmpint(run(&out, NULL, "db", "blobs", "--json", NULL, NULL), ==, 0);
    json_t *list = json_loads(out, 0, NULL);
    json_array_foreach (list, i, place) {
        if (strcmp(json_string_value(json_object_get(place, "url")), url) != 0)
            continue;
        g_assert_cmpint(json_boolean_value(json_object_get(place, "current")), ==, current);
        count = (int)json_integer_value(json_object_get(place, "objects"));
    }
    json_decref(list);
    return count;
}

static void kill_a_move(const char *url, int milliseconds)
{
    const char *words[] = {program(), "db", "blobs", "--move", url, NULL};
    GPid pid;
    g_assert_true(g_spawn_async(NULL, (char **)(guintptr)words, NULL,
                                G_SPAWN_DO_NOT_REAP_CHILD | G_SPAWN_STDOUT_TO_DEV_NULL |
                                    G_SPAWN_STDERR_TO_DEV_NULL,
                                NULL, NULL, &pid, NULL));
    g_usleep((gulong)milliseconds * 1000);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static void export_to(int64_t campaign, const char *folder)
{
    g_autofree char *id = g_strdup_printf("--campaign=%" G_GINT64_FORMAT, (gint64)campaign);
    g_autofree char *out = g_strconcat("--output=", folder, NULL);
    g_autofree char *errors = NULL;
    if (run(NULL, &errors, "export", id, "--kernels", "--allow-drift", out) != 0)
        g_error("export: %s", errors);
}

/* The content of the folder's only kernel-db. */
static GBytes *cache_of(const char *folder)
{
    g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
    for (const char *name = g_dir_read_name(dir); name != NULL; name = g_dir_read_name(dir)) {
        g_autofree char *path = g_build_filename(folder, name, NULL);
        if (g_str_has_suffix(name, ".kdb"))
            return temp_folder_read(path);
    }
    g_error("'%s' has no kernel cache", folder);
}

static void expect_equal_export(int64_t campaign, TempFolder *folder, const char *name,
                                GBytes *expected)
{
    export_to(campaign, temp_folder_path(folder, name));
    g_autoptr(GBytes) got = cache_of(temp_folder_path(folder, name));
    g_assert_true(g_bytes_equal(got, expected));
}

static void test_campaign_goes_on_while_code_moves(void)
{
    static const char *const request[] = {"--solvers", "ConvCpuGemm,ConvDirectNaive", "--configs",
                                          "3", NULL};
    g_autoptr(Store) store = scratch_store();
    g_autoptr(TempFolder) folder = temp_folder_new();
    g_autoptr(ObjectServer) server = object_server_new();
    g_autofree char *s3 = object_server_url(server, "farm");
    int status = -1, kills = 0;
    g_setenv("TMPDIR", temp_folder_path(folder, NULL), TRUE);
    move_to(s3);
    int64_t id = live_campaign(program(), problems, request);
    pid_t worker = live_worker(program(), quick);
    gint64 limit = patience_end();
    while (waitpid(worker, &status, WNOHANG) == 0) {
        g_assert_cmpint(g_get_monotonic_time(), <, limit);
        kills++;
        kill_a_move(kills % 2 == 0 ? s3 : BLOBS_IN_DATABASE, 20 + kills * 37 % 200);
        if (kills % 4 == 0)
            move_to(s3);
        object_server_fail(server, kills % 2 == 0 ? "PUT" : "GET", FAULT_CUT, 1);
        g_usleep(G_USEC_PER_SEC / 3); /* leaves the worker time to run on a busy machine */
    }
    g_assert_cmpint(status, ==, 0);
    g_test_message("%d moves were killed while the campaign ran", kills);
    struct progress progress;
    g_assert_true(store_progress(store, id, &progress, NULL));
    g_assert_cmpint(live_assert_done(store, id, progress.jobs), >, 0);
    g_autofree char *outcomes = live_outcomes(store, id);
    g_assert_null(strstr(outcomes, "load error"));

    move_to(s3);
    int objects = told(s3, true);
    g_assert_cmpint(objects, >, 0);
    g_assert_cmpint(told(BLOBS_IN_DATABASE, false), ==, 0);
    export_to(id, temp_folder_path(folder, "s3"));
    g_autoptr(GBytes) expected = cache_of(temp_folder_path(folder, "s3"));

    const char *missing = NULL;
    g_autoptr(DavServer) dav = dav_server_new(false, &missing);
    if (dav != NULL) {
        g_setenv("SKIPJACK_WEBDAV_USER", DAV_USER, TRUE);
        g_setenv("SKIPJACK_WEBDAV_PASSWORD", DAV_PASSWORD, TRUE);
        move_to(dav_server_url(dav));
        g_assert_cmpint(told(dav_server_url(dav), true), ==, objects);
        g_assert_cmpint(dav_server_files(dav), ==, objects);
        expect_equal_export(id, folder, "dav", expected);
    } else {
        g_test_message("without WebDAV: %s", missing);
    }
    move_to(BLOBS_IN_DATABASE);
    g_assert_cmpint(told(BLOBS_IN_DATABASE, true), ==, objects);
    expect_equal_export(id, folder, "database", expected);
}

static void test_mistakes_are_told_and_change_nothing(void)
{
    static const struct {
        const char *words[3];
        int status;
        const char *says;
    } cases[] = {
        {{"--move", NULL, NULL}, 2, "Missing argument"},
        {{"--odd", NULL, NULL}, 2, "Unknown option"},
        {{"--drop-damaged", NULL, NULL}, 2, "needs --check or --move"},
        {{"--move", "ftp://host/folder", NULL}, 1, "s3"},
        {{"--move", "s3://key:hidden@bucket", NULL}, 1, "must not hold"},
        {{"--move", "s3://bucket-x?endpoint=http://127.0.0.1:9", NULL}, 1, "connect"},
    };
    G_GNUC_UNUSED g_autoptr(Store) store = scratch_store();
    g_setenv("AWS_ACCESS_KEY_ID", "a", TRUE);
    g_setenv("AWS_SECRET_ACCESS_KEY", "hidden", TRUE);
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *errors = NULL;
        const char *const *words = cases[i].words;
        g_assert_cmpint(run(NULL, &errors, "db", "blobs", words[0], words[1], words[2]), ==,
                        cases[i].status);
        g_assert_nonnull(strstr(errors, cases[i].says));
        g_assert_null(strstr(errors, "hidden"));
    }
    g_assert_cmpint(told(BLOBS_IN_DATABASE, true), ==, 0);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/db_blobs/move/campaign_goes_on_while_code_moves",
                    test_campaign_goes_on_while_code_moves);
    g_test_add_func("/db_blobs/mistakes_are_told_and_change_nothing",
                    test_mistakes_are_told_and_change_nothing);
    return g_test_run();
}
