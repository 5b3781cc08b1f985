/*
 * Length-prefixed frames over pipes: 4 bytes JSON length, 4 bytes blob length (both little-endian), the JSON text, the
 * blob. Larger frames than FRAME_MAX are refused. Children read and write with blocking calls; the agent's event loop
 * encodes and decodes in buffers.
 */
#ifndef WORKER_PROTOCOL_FRAMES_H
#define WORKER_PROTOCOL_FRAMES_H

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
    WORKER_ERROR_DOUBT,   /* A device's verifying failed its own proof (verify/judge.h). */
};

struct frame {
    json_t *head; /* owned */
    GBytes *blob; /* the bytes that follow the JSON; owned, NULL for none */
};
void frame_clear(struct frame *frame);

/* Reads a frame; blocks until all of it has come. WORKER_ERROR_CLOSED at the end of the stream. */
bool frame_read(int fd, struct frame *frame, GError **error);
/* Writes a frame; blocks until all of it is written. blob may be NULL. head stays the caller's. */
bool frame_write(int fd, json_t *head, GBytes *blob, GError **error);

/* The bytes of a frame, for a caller that writes asynchronously. NULL if they exceed FRAME_MAX. */
GBytes *frame_encode(json_t *head, GBytes *blob);
/* Takes the first frame out of `buffer`. *complete is false, and nothing is taken, if the frame
 * has not come completely. Returns false with WORKER_ERROR_FRAME if the bytes are not a frame. */
bool frame_take(GByteArray *buffer, struct frame *frame, bool *complete, GError **error);

#endif
