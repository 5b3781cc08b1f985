#include "tests/support/doubles/fake_device.h"

#include <string.h>

struct device_memory {
    struct fake_device *owner;
    uint8_t *bytes;
    bool is_slice;
};

struct device_event {
    double ms;
};

void fake_device_init(struct fake_device *fake)
{
    *fake = (struct fake_device){.device.row = &fake_device_row};
    fake->info.memory_bytes = 1ll << 30;
    fake->info.largest_bytes = 1ll << 30;
    fake->info.cache_bytes = 1 << 16;
    fake->info.slice_alignment = 128;
}

void *fake_device_bytes(struct device_memory *memory)
{
    return memory->bytes;
}

static void fake_close(struct device *device)
{
    (void)device;
}

static const struct device_info *fake_info(const struct device *device)
{
    return &((const struct fake_device *)device)->info;
}

static struct device_memory *memory_new(struct fake_device *fake, uint8_t *bytes, bool is_slice)
{
    struct device_memory *memory = g_new(struct device_memory, 1);
    *memory = (struct device_memory){fake, bytes, is_slice};
    return memory;
}

static struct device_memory *fake_alloc(struct device *device, int64_t bytes, GError **error)
{
    struct fake_device *fake = (struct fake_device *)device;
    if (bytes > fake->info.largest_bytes) {
        g_set_error_literal(error, DEVICE_ERROR, DEVICE_ERROR_MEMORY, "the fake device is full");
        return NULL;
    }
    return memory_new(fake, g_malloc((gsize)bytes), false);
}

static struct device_memory *fake_slice(struct device_memory *memory, int64_t offset, int64_t bytes,
                                        GError **error)
{
    (void)bytes;
    (void)error;
    return memory_new(memory->owner, memory->bytes + offset, true);
}

static void fake_memory_free(struct device_memory *memory)
{
    if (memory && !memory->is_slice)
        g_free(memory->bytes);
    g_free(memory);
}

static bool fake_write(struct device_memory *to, int64_t offset, const void *from, int64_t bytes,
                       GError **error)
{
    (void)error;
    memcpy(to->bytes + offset, from, (size_t)bytes);
    return true;
}

static bool fake_read(struct device_memory *from, int64_t offset, void *to, int64_t bytes,
                      GError **error)
{
    (void)error;
    memcpy(to, from->bytes + offset, (size_t)bytes);
    return true;
}

static bool fake_copy(struct device_memory *from, struct device_memory *to, int64_t bytes,
                      GError **error)
{
    (void)error;
    memcpy(to->bytes, from->bytes, (size_t)bytes);
    return true;
}

static bool fake_fill(struct device_memory *memory, int64_t offset, int64_t bytes, uint8_t value,
                      GError **error)
{
    (void)error;
    memset(memory->bytes + offset, value, (size_t)bytes);
    return true;
}

/* The device has a single kernel, so programs and kernels are represented by the device itself. */
static struct device_program *fake_load(struct device *device, GBytes *code, GError **error)
{
    (void)code;
    (void)error;
    return (struct device_program *)device;
}

static void fake_program_free(struct device_program *program)
{
    (void)program;
}

static struct device_kernel *fake_kernel(struct device_program *program, const char *entry,
                                         GError **error)
{
    (void)entry;
    (void)error;
    return (struct device_kernel *)program;
}

static void fake_kernel_free(struct device_kernel *kernel)
{
    (void)kernel;
}

static bool fake_launch(struct device *device, const struct device_launch *launch, GError **error)
{
    struct fake_device *fake = (struct fake_device *)device;
    void *memory[64];
    if (fake->refuse_launch) {
        g_set_error_literal(error, DEVICE_ERROR, DEVICE_ERROR_LAUNCH, "refused");
        return false;
    }
    for (int i = 0; i < launch->arg_count; i++)
        memory[i] = launch->args[i].memory ? launch->args[i].memory->bytes : NULL;
    fake->run(fake, launch, memory);
    return true;
}

static struct device_event *fake_record(struct device *device, GError **error)
{
    struct fake_device *fake = (struct fake_device *)device;
    struct device_event *event = g_new(struct device_event, 1);
    (void)error;
    fake->clock_ms += fake->event_ms;
    event->ms = fake->clock_ms;
    return event;
}

static void fake_event_free(struct device_event *event)
{
    g_free(event);
}

static bool fake_elapsed(struct device_event *from, struct device_event *to, double *ms,
                         GError **error)
{
    (void)error;
    *ms = to->ms - from->ms;
    return true;
}

static bool fake_sync(struct device *device, GError **error)
{
    (void)device;
    (void)error;
    return true;
}

const struct device_row fake_device_row = {
    .name = "fake",
    .close = fake_close,
    .info = fake_info,
    .alloc = fake_alloc,
    .slice = fake_slice,
    .memory_free = fake_memory_free,
    .write = fake_write,
    .read = fake_read,
    .copy = fake_copy,
    .fill = fake_fill,
    .load = fake_load,
    .program_free = fake_program_free,
    .kernel = fake_kernel,
    .kernel_free = fake_kernel_free,
    .launch = fake_launch,
    .record = fake_record,
    .event_free = fake_event_free,
    .elapsed = fake_elapsed,
    .sync = fake_sync,
};
