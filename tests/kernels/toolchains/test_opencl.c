/* The properties that OpenCL reports for this machine's CPU. */
#include "kernels/toolchains/opencl.h"
#include "tests/support/temp_folder.h"

#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

static bool host_target(struct target *target)
{
    g_autoptr(GError) error = NULL;
    cl_device_id device;

    if (opencl_host_device(&device, target, &error))
        return true;
    g_test_skip(error->message);
    return false;
}

/* Fails if PoCL's device is not the CPU and number of threads that `make test TEST_CPU=haswell
 * TEST_THREADS=64` asks for, which ends the run early. */
static void device_is_the_one_asked_for(void)
{
    const char *cpu = g_getenv("SKIPJACK_TEST_CPU"), *threads = g_getenv("POCL_MAX_PTHREAD_COUNT");
    struct target target;

    if (!host_target(&target))
        return;
    g_test_message("PoCL's device: target %s, %d lanes of FP32, %d threads, %d KiB of local memory",
                   target.id, target.vector_bytes / (int)sizeof(float), target.compute_units,
                   (int)(target.local_bytes / 1024));
    if (cpu)
        g_assert_cmpstr(target.arch, ==, cpu);
    if (threads)
        g_assert_cmpint(target.compute_units, ==, atoi(threads));
}

/* A machine that plans for another target knows only the target's name, which must give the width
 * of vectors. */
static void name_says_how_wide_vectors_are(void)
{
    struct target target, named;

    if (!host_target(&target))
        return;
    g_assert_true(target_parse(target.id, &named, NULL));
    g_assert_cmpint(named.vector_bytes, ==, target.vector_bytes);
}

/* Another user who could write to PoCL's folder could make this process run his code: such a folder
 * is refused. */
static void folder_that_others_may_write_is_refused(void)
{
    static const struct {
        const char *name, *why;
        int mode;
        uid_t owner; /* as root */
        bool is_link;
    } folders[] = {
        {"open", "others may write to it", 0777, 0, false},
        {"group", "others may write to it", 0770, 0, false},
        {"foreign", "it belongs to another user", 0700, 65534, false},
        {"link", "it is no folder", 0700, 0, true},
    };
    g_autoptr(TempFolder) folder = temp_folder_new();

    for (gsize i = 0; i < G_N_ELEMENTS(folders); i++) {
        g_autoptr(GError) error = NULL;
        const char *path = temp_folder_path(folder, folders[i].name);

        if (folders[i].owner != 0 && geteuid() != 0) {
            g_test_message("only root can give a folder to another user");
            continue;
        }
        if (folders[i].is_link)
            g_assert_cmpint(symlink(temp_folder_path(folder, ""), path), ==, 0);
        else
            g_assert_true(g_mkdir(path, 0700) == 0 && g_chmod(path, folders[i].mode) == 0);
        if (folders[i].owner != 0)
            g_assert_cmpint(chown(path, folders[i].owner, (gid_t)-1), ==, 0);
        g_assert_false(opencl_environment(path, &error));
        g_assert_nonnull(error);
        g_assert_nonnull(strstr(error->message, path));
        g_assert_nonnull(strstr(error->message, folders[i].why));
        g_assert_cmpstr(g_getenv("POCL_CACHE_DIR"), !=, path);
    }
}

int main(int argc, char **argv)
{
    g_autoptr(TempFolder) folder = temp_folder_new();

    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    opencl_environment(temp_folder_path(folder, "pocl"), NULL);
    g_test_add_func("/opencl/device_is_the_one_asked_for", device_is_the_one_asked_for);
    g_test_add_func("/opencl/name_says_how_wide_vectors_are", name_says_how_wide_vectors_are);
    g_test_add_func("/opencl/folder_that_others_may_write_is_refused",
                    folder_that_others_may_write_is_refused);
    return g_test_run();
}
