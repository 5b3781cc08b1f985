#include "export/release/export_folder.h"

#include "tests/support/temp_folder.h"

struct waiting {
    const char *dir;
    gint begun;
    bool done;
};

static void *wait_for_it(void *data)
{
    struct waiting *waiting = data;
    struct export_folder folder;
    g_autoptr(GError) error = NULL;
    g_atomic_int_set(&waiting->begun, 1);
    waiting->done =
        export_folder_take(&folder, waiting->dir, &error) && export_folder_begin(&folder, &error);
    if (!waiting->done)
        g_test_message("%s", error->message);
    export_folder_leave(&folder);
    return NULL;
}

/* One export makes the folder, has nothing to export and removes it, while a second export waits
 * for it or begins: the second one always gets a folder that exists. The order of the two is
 * chance, so there are 20 turns. */
static void a_waiting_export_gets_an_existing_folder(void)
{
    g_autoptr(TempFolder) temp = temp_folder_new();
    struct waiting waiting = {.dir = temp_folder_path(temp, "out")};
    for (int turn = 0; turn < 20; turn++) {
        struct export_folder folder;
        g_assert_true(export_folder_take(&folder, waiting.dir, NULL));
        g_atomic_int_set(&waiting.begun, 0);
        GThread *thread = g_thread_new("waiting", wait_for_it, &waiting);
        while (g_atomic_int_get(&waiting.begun) == 0)
            g_thread_yield();
        g_usleep(2000);
        export_folder_leave(&folder);
        g_thread_join(thread);
        g_assert_true(waiting.done);
        g_assert_false(g_file_test(waiting.dir, G_FILE_TEST_EXISTS));
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/export_folder/a_waiting_export_gets_an_existing_folder",
                    a_waiting_export_gets_an_existing_folder);
    return g_test_run();
}
