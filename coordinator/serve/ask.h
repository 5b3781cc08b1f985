/*
 * Questions to the database, asked on threads for the loop: each thread uses a
 * store of a pool. A question that many ask at the same time is asked once, and
 * its answer is kept for as long as it is fresh, at most ASK_CACHE_BYTES of all
 * answers. So many questions may wait at once; further ones are refused with 503.
 *
 * All calls are made on the loop's thread, except what runs as the work.
 */
#ifndef COORDINATOR_SERVE_ASK_H
#define COORDINATOR_SERVE_ASK_H

#include "schema/store/store.h"

#include <jansson.h>
#include <uv.h>

#define ASK_THREADS      3
#define ASK_WAITING      64
#define ASK_SLOW_WAITING 8 /* of these, slow ones */
#define ASK_CACHE_BYTES  (32 * 1024 * 1024)

typedef struct ask Ask;

/* The answer to a question. The work fills it; whoever waits borrows it. */
struct reply {
    unsigned status; /* an HTTP status; from 400 on, detail says why in words */
    char *detail;
    GBytes *body; /* JSON */
    char *etag;   /* of the body */
    json_t *data; /* for the program itself, or NULL */
    int fd;       /* a file to send, -1 for none; whoever waits takes it and sets -1 */
    uint64_t length;
};
/* For the work. Each takes its arguments over. */
void reply_json(struct reply *reply, json_t *value);
G_GNUC_PRINTF(3, 4)
void reply_problem(struct reply *reply, unsigned status, const char *format, ...);
/* The status that fits an error of the store. */
void reply_error(struct reply *reply, GError *error);

/* Runs on a thread. */
typedef void ask_work(Store *store, void *data, struct reply *reply);
/* Runs on the loop's thread, once for each caller. */
typedef void ask_done(void *waiter, struct reply *reply);

struct question {
    /* Names the question: callers with the same key share one answer. NULL: it is nobody else's. */
    const char *key;
    double
        fresh_seconds; /* how long its answer may be shared; 0: only while it is being computed */
    bool needs_store;
    bool
        is_slow; /* it may take many seconds: one such question runs at once, so that others do not wait for it */
    ask_work *work;
    void *data; /* freed by free_data, also if the work is not done */
    GDestroyNotify free_data;
};

Ask *ask_new(uv_loop_t *loop);
/* Calls done at once, or later. */
void ask(Ask *asking, const struct question *question, ask_done *done, void *waiter);
/* Something has changed: kept answers are dropped, and nobody else joins the questions under way. */
void ask_forget(Ask *asking);
/* Refuses what waits, and all that comes. The loop runs until the work under way is done. */
void ask_end(Ask *asking);
/* After the loop has ended. */
void ask_free(Ask *asking);

struct ask_counts {
    uint64_t asked, shared, refused;
    int waiting, running;
};
void ask_counts(const Ask *asking, struct ask_counts *counts);

#endif
