#include "worker/protocol/frames.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#define HEADER_BYTES 8
/* Memory for a frame grows by this many bytes as they arrive: a wrong length must not allocate
 * 256 MiB at once. */
#define READ_STEP    (1u << 20)

G_DEFINE_QUARK(skipjack - worker - error - quark, worker_error)

void frame_clear(struct frame *frame)
{
    g_clear_pointer(&frame->head, json_decref);
    g_clear_pointer(&frame->blob, g_bytes_unref);
}

static uint32_t load32(const guint8 *bytes)
{
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
           (uint32_t)bytes[3] << 24;
}

static void store32(guint8 *bytes, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        bytes[i] = (guint8)(value >> (8 * i));
}

static bool read_lengths(const guint8 *header, uint32_t *head_bytes, uint32_t *blob_bytes,
                         GError **error)
{
    *head_bytes = load32(header);
    *blob_bytes = load32(header + 4);
    if ((uint64_t)*head_bytes + *blob_bytes <= FRAME_MAX)
        return true;
    g_set_error(error, WORKER_ERROR, WORKER_ERROR_FRAME,
                "cannot read a frame of %u + %u bytes: the limit is %u", *head_bytes, *blob_bytes,
                FRAME_MAX);
    return false;
}

/* Parses the JSON text. Duplicate members are refused: two readers might take different ones. */
static bool parse_body(const guint8 *body, uint32_t head_bytes, uint32_t blob_bytes,
                       struct frame *frame, GError **error)
{
    json_error_t wrong;
    json_t *head = json_loadb((const char *)body, head_bytes, JSON_REJECT_DUPLICATES, &wrong);
    if (!head || !json_is_object(head)) {
        g_set_error(error, WORKER_ERROR, WORKER_ERROR_FRAME, "cannot read a frame's head: %s",
                    head ? "it is not a JSON object" : wrong.text);
        json_decref(head);
        return false;
    }
    frame->head = head;
    frame->blob = blob_bytes ? g_bytes_new(body + head_bytes, blob_bytes) : NULL;
    return true;
}

/* Appends `wanted` bytes from the descriptor. *got is smaller if the stream ends before. */
static bool read_bytes(int fd, GByteArray *into, uint32_t wanted, uint32_t *got, GError **error)
{
    *got = 0;
    while (*got < wanted) {
        guint at = into->len;
        guint step = MIN(wanted - *got, READ_STEP);
        /* The array is enlarged before read() writes into it, and then cut to the bytes that
         * came. */
        g_byte_array_set_size(into, at + step);
        ssize_t count = read(fd, into->data + at, step);
        int reason = errno;
        g_byte_array_set_size(into, at + (guint)MAX(count, 0));
        if (count == 0)
            return true;
        if (count < 0 && reason != EINTR) {
            g_set_error(error, WORKER_ERROR, WORKER_ERROR_CLOSED, "cannot read a frame: %s",
                        g_strerror(reason));
            return false;
        }
        *got += (uint32_t)MAX(count, 0);
    }
    return true;
}

static bool fail_short(uint32_t got, GError **error)
{
    g_set_error(error, WORKER_ERROR, WORKER_ERROR_FRAME,
                "the stream ended %u bytes into a frame's header or body", got);
    return false;
}

bool frame_read(int fd, struct frame *frame, GError **error)
{
    g_autoptr(GByteArray) bytes = g_byte_array_new();
    uint32_t got, head_bytes, blob_bytes;

    *frame = (struct frame){0};
    if (!read_bytes(fd, bytes, HEADER_BYTES, &got, error))
        return false;
    if (got == 0) {
        g_set_error_literal(error, WORKER_ERROR, WORKER_ERROR_CLOSED, "the peer closed the pipe");
        return false;
    }
    if (got < HEADER_BYTES)
        return fail_short(got, error);
    if (!read_lengths(bytes->data, &head_bytes, &blob_bytes, error))
        return false;
    g_byte_array_set_size(bytes, 0);
    if (!read_bytes(fd, bytes, head_bytes + blob_bytes, &got, error))
        return false;
    if (got < head_bytes + blob_bytes)
        return fail_short(got, error);
    return parse_body(bytes->data, head_bytes, blob_bytes, frame, error);
}

GBytes *frame_encode(json_t *head, GBytes *blob)
{
    g_autofree char *text = json_dumps(head, JSON_COMPACT);
    gsize blob_bytes = blob ? g_bytes_get_size(blob) : 0;
    gsize head_bytes = text ? strlen(text) : 0;

    if (!text || head_bytes + blob_bytes > FRAME_MAX)
        return NULL;
    guint8 *bytes = g_malloc(HEADER_BYTES + head_bytes + blob_bytes);
    store32(bytes, (uint32_t)head_bytes);
    store32(bytes + 4, (uint32_t)blob_bytes);
    memcpy(bytes + HEADER_BYTES, text, head_bytes);
    if (blob_bytes)
        memcpy(bytes + HEADER_BYTES + head_bytes, g_bytes_get_data(blob, NULL), blob_bytes);
    return g_bytes_new_take(bytes, HEADER_BYTES + head_bytes + blob_bytes);
}

bool frame_write(int fd, json_t *head, GBytes *blob, GError **error)
{
    g_autoptr(GBytes) bytes = frame_encode(head, blob);
    if (!bytes) {
        g_set_error(error, WORKER_ERROR, WORKER_ERROR_FRAME,
                    "cannot write a frame: it is over %u bytes or not text", FRAME_MAX);
        return false;
    }
    gsize left;
    const guint8 *at = g_bytes_get_data(bytes, &left);
    while (left > 0) {
        ssize_t count = write(fd, at, left);
        if (count < 0 && errno != EINTR) {
            g_set_error(error, WORKER_ERROR, WORKER_ERROR_CLOSED, "cannot write a frame: %s",
                        g_strerror(errno));
            return false;
        }
        at += MAX(count, 0);
        left -= (gsize)MAX(count, 0);
    }
    return true;
}

bool frame_take(GByteArray *buffer, struct frame *frame, bool *complete, GError **error)
{
    uint32_t head_bytes, blob_bytes;

    *frame = (struct frame){0};
    *complete = false;
    if (buffer->len < HEADER_BYTES)
        return true;
    if (!read_lengths(buffer->data, &head_bytes, &blob_bytes, error))
        return false;
    guint whole = HEADER_BYTES + head_bytes + blob_bytes;
    if (buffer->len < whole)
        return true;
    if (!parse_body(buffer->data + HEADER_BYTES, head_bytes, blob_bytes, frame, error))
        return false;
    g_byte_array_remove_range(buffer, 0, whole);
    *complete = true;
    return true;
}
