/*
 * Length-prefixed frames over pipes: 4 bytes JSON length, 4 bytes blob length
 * (both little-endian), the JSON text, the blob. A frame over FRAME_MAX is
 * refused. Blocking calls serve the children; the buffer serves the agent's loop.
 */
#ifndef WORKER_FRAMES_H
#define WORKER_FRAMES_H

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>

#define FRAME_MAX (256u << 20)

#define WORKER_ERROR (worker_error_quark())
GQuark worker_error_quark(void);

enum worker_error {
    WORKER_ERROR_FRAME,   /* A peer broke the protocol. */
    WORKER_ERROR_CLOSED,  /* The peer closed the pipe at a frame's end. */
    WORKER_ERROR_DEVICE,  /* A device call failed. */
    WORKER_ERROR_CHILD,   /* A child could not be started. */
    WORKER_ERROR_INVALID, /* A request cannot be served. */
    WORKER_ERROR_DOUBT,   /* What a device says of itself is not true. */
};

struct frame {
    json_t *head; /* owned */
    GBytes *blob; /* owned, NULL when empty */
};
void frame_clear(struct frame *frame);

/* Blocks until a whole frame is there. WORKER_ERROR_CLOSED at the end of the stream. */
bool frame_read(int fd, struct frame *frame, GError **error);
/* Blocks until all is written; blob may be NULL. head is not consumed. */
bool frame_write(int fd, json_t *head, GBytes *blob, GError **error);

/* The bytes of a frame, for an asynchronous writer. NULL when it is over FRAME_MAX. */
GBytes *frame_encode(json_t *head, GBytes *blob);
/* Takes the first whole frame out of buffer. *complete tells whether there was one; false and
 * WORKER_ERROR_FRAME when the bytes are no frame. */
bool frame_take(GByteArray *buffer, struct frame *frame, bool *complete, GError **error);

#endif
