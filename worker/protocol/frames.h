/*
 * Length-prefixed frames over pipes: 4 bytes JSON length, 4 bytes blob length (both little-endian), the JSON text, the
 * blob. Larger frames than FRAME_MAX are refused. Children read and write with blocking calls; the agent's event loop
 * encodes and decodes in buffers.
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
    WORKER_ERROR_DOUBT,   /* A device's own verifying failed its proof. */
};

struct frame {
    json_t *head; /* owned */
    GBytes *blob; /* owned, NULL when empty */
};
void frame_clear(struct frame *frame);

/* Blocks until a whole frame has come. WORKER_ERROR_CLOSED at the end of the stream. */
bool frame_read(int fd, struct frame *frame, GError **error);
/* Blocks until all is written; blob may be NULL. head is not consumed. */
bool frame_write(int fd, json_t *head, GBytes *blob, GError **error);

/* The bytes of a frame, for an asynchronous writer. NULL if they exceed FRAME_MAX. */
GBytes *frame_encode(json_t *head, GBytes *blob);
/* Takes the first frame out of buffer; *complete is false if it has not come completely. False with
 * WORKER_ERROR_FRAME if the bytes are not a frame. */
bool frame_take(GByteArray *buffer, struct frame *frame, bool *complete, GError **error);

#endif
