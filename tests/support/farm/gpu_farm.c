#include "tests/support/farm/gpu_farm.h"
#include "tests/support/patience.h"

#include <glib/gstdio.h>
#include <string.h>

#include "kernels/toolchains/toolchain.h"
#include "schema/farm/farm.h"
#include "schema/results/store_results.h"
#include "schema/store/store_campaigns.h"
#include "schema/store/store_events.h"
#include "tests/support/temp_folder.h"

#define PAUSE_US 10000

const struct gpu_maker gpu_cuda = {"SKIPJACK_CUDA", "SKIPJACK_HIP", "nvrtc", "sm_90_132_80g"};
const struct gpu_maker gpu_hip = {"SKIPJACK_HIP", "SKIPJACK_CUDA", "clang", "gfx90a_xnack84"};

static TempFolder *folder;

void gpu_farm_open(void)
{
    folder = temp_folder_new();
    g_setenv("GPU_DOUBLE_FILE", temp_folder_path(folder, "double"), TRUE);
}

void gpu_farm_close(void)
{
    temp_folder_free(folder);
}

bool gpu_farm_use(const struct gpu_maker *maker)
{
    const char *library = g_getenv("SKIPJACK_GPU_DOUBLE");
    g_autoptr(GError) error = NULL;
    struct target target;
    g_assert_true(target_parse(maker->target, &target, NULL));
    if (!toolchain_find(maker->toolchain)->version(&target, &error)) {
        g_test_skip(error->message);
        return false;
    }
    g_setenv(maker->other, "libnowhere.so", TRUE);
    g_setenv(maker->setting, library ? library : "build/tests/gpu_double.so", TRUE);
    g_setenv("SKIPJACK_TOOLCHAIN", maker->toolchain, TRUE);
    return true;
}

const char *gpu_farm_program(void)
{
    const char *path = g_getenv("SKIPJACK_FAULTS");
    return path ? path : "build/skipjack-faults";
}

void gpu_farm_say(const char *words)
{
    static const char *const marks[] = {"double.glitched", "double.gone", "double.off0",
                                        "double.off1"};
    /* The file is empty while the marks are removed. A device opens again once its mark is gone: it must not find the
     * old words then. A device that finds the new words makes a mark, which must stay. */
    temp_folder_write(folder, "double", "", -1);
    for (gsize i = 0; i < G_N_ELEMENTS(marks); i++)
        g_remove(temp_folder_path(folder, marks[i]));
    temp_folder_write(folder, "double", words, -1);
}

/* Counts the events of this kind; *detail gets the text of the last one listed. */
static guint find_events(Store *store, const char *kind, char **detail)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GPtrArray) rows = store_list_events(store, 0, 1000, &error);
    guint count = 0;
    g_assert_no_error(error);
    for (guint i = 0; i < rows->len; i++) {
        const struct event_row *row = rows->pdata[i];
        if (strcmp(row->kind, kind) != 0)
            continue;
        count++;
        g_free(*detail);
        *detail = g_strdup(row->detail);
    }
    return count;
}

guint gpu_farm_events(Store *store, const char *kind)
{
    g_autofree char *detail = NULL;
    return find_events(store, kind, &detail);
}

char *gpu_farm_await_event(Store *store, const char *kind)
{
    gint64 limit = patience_end();
    char *detail = NULL;
    while (find_events(store, kind, &detail) == 0) {
        if (g_get_monotonic_time() > limit)
            g_error("there was no event '%s'", kind);
        g_usleep(PAUSE_US);
    }
    return detail;
}

bool gpu_farm_is_out(Store *store, const char *words)
{
    g_autoptr(GError) error = NULL;
    struct farm_state *farm = farm_read(store, &error);
    g_assert_no_error(error);
    bool out = false;
    for (guint i = 0; i < farm->devices_out->len; i++) {
        const struct farm_trouble *row = farm->devices_out->pdata[i];
        g_test_message("%s: %s", row->name, row->detail);
        out |= strstr(row->name, "Double 0") && strstr(row->detail, words);
    }
    farm_free(farm);
    return out;
}

void gpu_farm_await_release(Store *store, int64_t campaign)
{
    gint64 limit = patience_end();
    struct progress progress = {0};
    do {
        if (g_get_monotonic_time() > limit)
            g_error("jobs are still held");
        g_usleep(PAUSE_US);
        g_assert_true(store_progress(store, campaign, &progress, NULL));
    } while (progress.building + progress.evaluating > 0);
}

void gpu_farm_await_end(Store *store, int64_t campaign, int jobs)
{
    gint64 limit = patience_end();
    struct progress progress = {0};
    do {
        if (g_get_monotonic_time() > limit)
            g_error("the campaign does not end");
        g_usleep(PAUSE_US);
        g_assert_true(store_progress(store, campaign, &progress, NULL));
    } while (progress.done + progress.failed < jobs);
}
