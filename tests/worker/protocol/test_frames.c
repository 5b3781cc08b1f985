#include "worker/protocol/frames.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "worker/protocol/target_json.h"

static GByteArray *bytes_of(const char *bytes, gsize count)
{
    GByteArray *array = g_byte_array_new();
    g_byte_array_append(array, (const guint8 *)bytes, (guint)count);
    return array;
}

static void test_round_trip(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GBytes) blob = g_bytes_new_static("\0code\xff", 6);
    json_t *head = json_pack("{s:s,s:i}", "op", "kernel", "id", 7);
    int fds[2];
    struct frame frame;
    g_assert_true(pipe(fds) == 0);
    g_assert_true(frame_write(fds[1], head, blob, &error));
    g_assert_true(frame_write(fds[1], head, NULL, &error));
    close(fds[1]);
    g_assert_true(frame_read(fds[0], &frame, &error));
    g_assert_true(json_equal(frame.head, head));
    g_assert_true(g_bytes_equal(frame.blob, blob));
    frame_clear(&frame);
    g_assert_true(frame_read(fds[0], &frame, &error));
    g_assert_null(frame.blob);
    frame_clear(&frame);
    g_assert_false(frame_read(fds[0], &frame, &error));
    g_assert_error(error, WORKER_ERROR, WORKER_ERROR_CLOSED);
    close(fds[0]);
    json_decref(head);
}

/* Damaged frames, and the error of reading them from a pipe. */
static const struct damage {
    const char *bytes;
    gsize count;
    int code;
    const char *message;
} damages[] = {
    {"\x02\0\0", 3, WORKER_ERROR_FRAME, "ended 3 bytes"},
    {"\x02\0\0\0\0\0\0\0{", 9, WORKER_ERROR_FRAME, "ended 1 bytes"},
    {"\x02\0\0\0\x05\0\0\0{}ab", 12, WORKER_ERROR_FRAME, "ended 4 bytes"},
    {"\x01\0\0\x10\0\0\0\0", 8, WORKER_ERROR_FRAME, "the limit is"},
    {"\xff\xff\xff\xff\xff\xff\xff\xff", 8, WORKER_ERROR_FRAME, "the limit is"},
    {"\x02\0\0\0\0\0\0\0[]", 10, WORKER_ERROR_FRAME, "not a JSON object"},
    {"\x02\0\0\0\0\0\0\0{x", 10, WORKER_ERROR_FRAME, "cannot read a frame's head"},
    {"\0\0\0\0\0\0\0\0", 8, WORKER_ERROR_FRAME, "cannot read a frame's head"},
    {"", 0, WORKER_ERROR_CLOSED, "closed"},
};

static void test_damage(gconstpointer data)
{
    const struct damage *damage = data;
    g_autoptr(GError) error = NULL;
    struct frame frame;
    int fds[2];
    g_assert_true(pipe(fds) == 0);
    g_assert_cmpint(write(fds[1], damage->bytes, damage->count), ==, damage->count);
    close(fds[1]);
    g_assert_false(frame_read(fds[0], &frame, &error));
    g_assert_error(error, WORKER_ERROR, damage->code);
    g_assert_nonnull(strstr(error->message, damage->message));
    close(fds[0]);
}

static void test_take_byte_by_byte(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GByteArray) buffer = g_byte_array_new();
    g_autoptr(GBytes) blob = g_bytes_new_static("xyz", 3);
    json_t *head = json_pack("{s:s}", "op", "stop");
    g_autoptr(GBytes) bytes = frame_encode(head, blob);
    gsize size;
    const guint8 *data = g_bytes_get_data(bytes, &size);
    int complete_at = -1;
    for (gsize i = 0; i < size; i++) {
        struct frame frame;
        bool complete;
        g_byte_array_append(buffer, data + i, 1);
        g_assert_true(frame_take(buffer, &frame, &complete, &error));
        if (complete) {
            complete_at = (int)i;
            g_assert_true(json_equal(frame.head, head));
            g_assert_true(g_bytes_equal(frame.blob, blob));
        }
        frame_clear(&frame);
    }
    g_assert_cmpint(complete_at, ==, (int)size - 1);
    g_assert_cmpint(buffer->len, ==, 0);
    json_decref(head);
}

static void test_take_refuses(void)
{
    for (gsize i = 3; i <= 7; i++) { /* damages that are noticed before the stream ends */
        g_autoptr(GError) error = NULL;
        g_autoptr(GByteArray) buffer = bytes_of(damages[i].bytes, damages[i].count);
        struct frame frame;
        bool complete;
        g_assert_false(frame_take(buffer, &frame, &complete, &error));
        g_assert_error(error, WORKER_ERROR, WORKER_ERROR_FRAME);
        g_assert_null(frame.head);
    }
}

static void test_target(void)
{
    g_autoptr(GError) error = NULL;
    struct target target = {.id = "cpu-znver4_2", .vendor = VENDOR_CPU, .arch = "znver4"}, back;
    target.local_bytes = 1ll << 40;
    target.peak_flops = 1.5e12;
    target.compute_units = 2;
    target.max_workgroup = 4096;
    target.wave_size = 1;
    json_t *object = target_to_json(&target);
    g_assert_true(target_from_json(object, &back, &error));
    g_assert_cmpmem(&target, sizeof(target), &back, sizeof(back));
    json_decref(object);
}

static void test_target_refuses(void)
{
    static const struct {
        const char *field;
        const char *value;
    } rows[] = {
        {"vendor", "\"intel\""},
        {"id", "7"},
        {"compute_units", "-1"},
        {"compute_units", "3000000000"},
        {"local_bytes", "1.5"},
        {"peak_flops", "\"fast\""},
        {"arch", "\"0123456789012345678901234567890123456789012345678\""},
    };
    struct target target = {.id = "x", .vendor = VENDOR_CPU};
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(GError) error = NULL;
        struct target back;
        json_t *object = target_to_json(&target);
        json_object_set_new(object, rows[i].field,
                            json_loads(rows[i].value, JSON_DECODE_ANY, NULL));
        g_assert_false(target_from_json(object, &back, &error));
        g_assert_error(error, WORKER_ERROR, WORKER_ERROR_FRAME);
        g_assert_nonnull(strstr(error->message, rows[i].field));
        json_decref(object);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/frames/are_read_as_they_were_written", test_round_trip);
    for (gsize i = 0; i < G_N_ELEMENTS(damages); i++) {
        g_autofree char *name = g_strdup_printf("/frames/damage_%d_is_named", (int)i);
        g_test_add_data_func(name, &damages[i], test_damage);
    }
    g_test_add_func("/frames/are_taken_once_they_are_whole", test_take_byte_by_byte);
    g_test_add_func("/frames/damage_in_a_buffer_is_refused", test_take_refuses);
    g_test_add_func("/frames/target_is_read_as_it_was_written", test_target);
    g_test_add_func("/frames/damaged_target_names_the_field", test_target_refuses);
    return g_test_run();
}
