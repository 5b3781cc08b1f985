/* Releases replace each other in one step, and unchanged ones change nothing. */
#include "coordinator/nights/release_dir.h"

#include "tests/support/temp_folder.h"

#include <glib/gstdio.h>
#include <string.h>

static const char *folder;

static void put(const char *dir, const char *name, const char *text)
{
    g_autofree char *path = g_build_filename(dir, name, NULL);
    g_assert_true(g_file_set_contents(path, text, -1, NULL));
}

static char *read_latest(const char *name)
{
    g_autofree char *path = g_build_filename(folder, "latest", name, NULL);
    char *text = NULL;
    g_file_get_contents(path, &text, NULL, NULL);
    return text;
}

static bool is_there(const char *name)
{
    g_autofree char *path = g_build_filename(folder, name, NULL);
    return g_file_test(path, G_FILE_TEST_EXISTS);
}

/* Publishes a release of that night with one file. */
static enum release_change publish(const char *date, const char *text, int keep)
{
    struct release_dir dir;
    enum release_change change = RELEASE_EMPTY;
    g_autoptr(GError) error = NULL;
    g_assert_true(release_dir_begin(&dir, folder, date, &error));
    g_assert_no_error(error);
    put(dir.part, "a.db", text);
    g_assert_true(release_dir_publish(&dir, keep, &change, &error));
    g_assert_no_error(error);
    g_assert_false(g_file_test(dir.part, G_FILE_TEST_EXISTS));
    release_dir_clear(&dir);
    return change;
}

static void expect_latest(const char *text)
{
    g_autofree char *found = read_latest("a.db");
    g_assert_cmpstr(found, ==, text);
}

static void latest_names_the_newest_release(void)
{
    g_autoptr(TempFolder) temp = temp_folder_new();
    folder = temp_folder_path(temp, "releases");
    g_assert_cmpint(g_mkdir(folder, 0755), ==, 0);
    g_assert_cmpint(publish("2026-11-20", "one", 0), ==, RELEASE_NEW);
    expect_latest("one");
    g_assert_cmpint(publish("2026-11-21", "two", 0), ==, RELEASE_NEW);
    expect_latest("two");
    g_assert_true(is_there("2026-11-20"));
}

static void the_same_files_change_nothing(void)
{
    g_autoptr(TempFolder) temp = temp_folder_new();
    folder = temp_folder_path(temp, "releases");
    g_assert_cmpint(g_mkdir(folder, 0755), ==, 0);
    publish("2026-11-20", "one", 0);
    g_assert_cmpint(publish("2026-11-21", "one", 0), ==, RELEASE_SAME);
    g_assert_false(is_there("2026-11-21"));
    expect_latest("one");
}

static void a_night_that_exports_again_replaces_its_release(void)
{
    g_autoptr(TempFolder) temp = temp_folder_new();
    folder = temp_folder_path(temp, "releases");
    g_assert_cmpint(g_mkdir(folder, 0755), ==, 0);
    publish("2026-11-20", "one", 0);
    g_assert_cmpint(publish("2026-11-20", "two", 0), ==, RELEASE_NEW);
    expect_latest("two");
}

static void only_the_newest_nights_are_kept(void)
{
    g_autoptr(TempFolder) temp = temp_folder_new();
    folder = temp_folder_path(temp, "releases");
    g_assert_cmpint(g_mkdir(folder, 0755), ==, 0);
    put(folder, "notes.txt", "mine");
    publish("2026-11-20", "one", 2);
    publish("2026-11-21", "two", 2);
    publish("2026-11-22", "three", 2);
    g_assert_false(is_there("2026-11-20"));
    g_assert_true(is_there("2026-11-21"));
    g_assert_true(is_there("notes.txt"));
    expect_latest("three");
}

static void what_a_killed_process_left_is_removed(void)
{
    struct release_dir dir;
    g_autoptr(GError) error = NULL;
    g_autoptr(TempFolder) temp = temp_folder_new();
    folder = temp_folder_path(temp, "releases");
    g_assert_cmpint(g_mkdir(folder, 0755), ==, 0);
    g_assert_true(release_dir_begin(&dir, folder, "2026-11-20", &error));
    put(dir.part, "half.db", "");
    release_dir_clear(&dir);
    publish("2026-11-20", "one", 0);
    g_assert_false(is_there("latest/half.db"));
    expect_latest("one");
}

static void a_folder_that_cannot_be_made_is_named(void)
{
    struct release_dir dir;
    g_autoptr(GError) error = NULL;
    g_autoptr(TempFolder) temp = temp_folder_new();
    folder = temp_folder_path(temp, "releases");
    g_assert_cmpint(g_mkdir(folder, 0755), ==, 0);
    put(folder, "file", "");
    g_autofree char *below = g_build_filename(folder, "file", "releases", NULL);
    g_assert_false(release_dir_begin(&dir, below, "2026-11-20", &error));
    g_assert_nonnull(strstr(error->message, below));
    release_dir_clear(&dir);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/release_dir/latest_names_the_newest_release",
                    latest_names_the_newest_release);
    g_test_add_func("/release_dir/the_same_files_change_nothing", the_same_files_change_nothing);
    g_test_add_func("/release_dir/a_night_that_exports_again_replaces_its_release",
                    a_night_that_exports_again_replaces_its_release);
    g_test_add_func("/release_dir/only_the_newest_nights_are_kept",
                    only_the_newest_nights_are_kept);
    g_test_add_func("/release_dir/what_a_killed_process_left_is_removed",
                    what_a_killed_process_left_is_removed);
    g_test_add_func("/release_dir/a_folder_that_cannot_be_made_is_named",
                    a_folder_that_cannot_be_made_is_named);
    return g_test_run();
}
