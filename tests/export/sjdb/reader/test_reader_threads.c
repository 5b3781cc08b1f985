/* Several threads use one handle of the reader at once. Also run under ThreadSanitizer and
 * valgrind. */
#include <glib.h>

#include "export/sjdb/reader/skipjackdb.h"

#define SMALL_DB "tests/fuzz/corpus/sjdb/small"
#define KEY      "64-56-56-3x3-64-56-56-32-1x1-1x1-1x1-0-NCHW-FP32-F"
#define THREADS  4
#define ROUNDS   200

/* Runs in each thread. Returns the number of wrong answers. */
static gpointer ask(gpointer data)
{
    skipjackdb *db = data;
    gsize wrong = 0;
    for (int i = 0; i < ROUNDS; i++) {
        struct skipjackdb_problem problem = {.size = sizeof problem};
        struct skipjackdb_rules rules = {.size = sizeof rules, .workspace_bytes = UINT64_MAX};
        struct skipjackdb_choice choice = {.size = sizeof choice};
        if (skipjackdb_problem_parse(KEY, &problem) != SKIPJACKDB_OK ||
            skipjackdb_choose(&db, 1, &problem, &rules, &choice, NULL) != SKIPJACKDB_OK)
            wrong++;
        else
            wrong += g_strcmp0(choice.solver, "ConvC<2>") != 0;
    }
    return GSIZE_TO_POINTER(wrong);
}

static void threads_share_a_handle(void)
{
    GThread *threads[THREADS];
    skipjackdb *db = NULL;
    g_assert_cmpint(skipjackdb_open(SMALL_DB, &db), ==, SKIPJACKDB_OK);
    for (int i = 0; i < THREADS; i++)
        threads[i] = g_thread_new("asks", ask, db);
    for (int i = 0; i < THREADS; i++)
        g_assert_cmpuint(GPOINTER_TO_SIZE(g_thread_join(threads[i])), ==, 0);
    skipjackdb_close(db);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/reader/threads_share_a_handle", threads_share_a_handle);
    return g_test_run();
}
