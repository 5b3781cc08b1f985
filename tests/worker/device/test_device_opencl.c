/* PoCL's device. */
#include "worker/device/device.h"

#include "kernels/toolchains/opencl.h"
#include "tests/support/temp_folder.h"

static struct device *open_device(void)
{
    g_autoptr(GError) error = NULL;
    struct device *device = device_open(0, &error);
    if (!device)
        g_test_skip(error->message);
    return device;
}

/* A workspace between guard zones is a slice, and a solution takes slices of it. */
static void test_slices_have_slices(void)
{
    struct device *device = open_device();
    g_autoptr(GError) error = NULL;
    if (!device)
        return;
    const struct device_row *row = device->row;
    int64_t step = MAX(row->info(device)->slice_alignment, 256);
    struct device_memory *whole = row->alloc(device, 8 * step, &error);
    g_assert_no_error(error);
    struct device_memory *outer = row->slice(whole, 2 * step, 4 * step, &error);
    g_assert_no_error(error);
    struct device_memory *inner = row->slice(outer, step, step, &error);
    g_assert_no_error(error);
    g_autofree uint8_t *bytes = g_malloc0((gsize)(8 * step));
    g_assert_true(row->fill(whole, 0, 8 * step, 1, NULL));
    g_assert_true(row->fill(inner, 0, step, 2, NULL));
    g_assert_true(row->sync(device, NULL));
    g_assert_true(row->read(whole, 0, bytes, 8 * step, NULL));
    for (int64_t i = 0; i < 8 * step; i += step / 2)
        g_assert_cmpint(bytes[i], ==, i / step == 3 ? 2 : 1);
    row->memory_free(inner);
    row->memory_free(outer);
    row->memory_free(whole);
    device_close(device);
}

/* The host looks at a CPU's memory where it lies, and sees what was enqueued before. */
static void test_view(void)
{
    struct device *device = open_device();
    g_autoptr(GError) error = NULL;
    if (!device)
        return;
    const struct device_row *row = device->row;
    if (row != &device_opencl) {
        g_test_skip("the first device is a GPU");
        device_close(device);
        return;
    }
    int64_t step = MAX(row->info(device)->slice_alignment, 256);
    struct device_memory *whole = row->alloc(device, 4 * step, &error);
    struct device_memory *part = row->slice(whole, step, step, &error);
    g_assert_no_error(error);
    g_assert_true(row->fill(whole, 0, 4 * step, 1, NULL));
    g_assert_true(row->fill(part, 0, step, 2, NULL));
    const uint8_t *seen = row->view(whole, &error);
    g_assert_no_error(error);
    g_assert_nonnull(seen);
    for (int64_t i = 0; i < 4 * step; i++)
        g_assert_cmpint(seen[i], ==, i / step == 1 ? 2 : 1);
    g_assert_cmpint(*(const uint8_t *)row->view(part, NULL), ==, 2);
    g_assert_true(row->fill(whole, 0, 4 * step, 3, NULL));
    g_assert_cmpint(*(const uint8_t *)row->view(part, NULL), ==, 3);
    row->memory_free(part);
    row->memory_free(whole);
    device_close(device);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_autoptr(TempFolder) folder = temp_folder_new();
    opencl_environment(temp_folder_path(folder, "pocl"), NULL);
    g_test_add_func("/device_opencl/slice_of_a_slice_works", test_slices_have_slices);
    g_test_add_func("/device_opencl/host_views_memory", test_view);
    return g_test_run();
}
