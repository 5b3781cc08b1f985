/*
 * A child's standard error. Its end is kept for the report of the child's death. Whole lines become lines of the
 * agent's log, so that output of compilers and drivers is never mixed into the log's own lines. A child that prints
 * without end is limited to some lines a minute.
 */
#ifndef WORKER_CHILD_CHILD_WORDS_H
#define WORKER_CHILD_CHILD_WORDS_H

#include <glib.h>
#include <stdbool.h>

struct child_words {
    GByteArray *last;          /* the last bytes of the whole output */
    GString *line;             /* the beginning of a line whose end has not come yet */
    gint64 minute_us;          /* monotonic time when the current minute began */
    unsigned logged, left_out; /* lines of the current minute: logged ones, and left out ones */
};

/* role: "eval"; device: an eval child's, else NULL. Both must outlive the calls. */
struct child_speaker {
    const char *role, *device;
    bool logged; /* the child's lines become lines of the log */
};

void child_words_init(struct child_words *words);
void child_words_clear(struct child_words *words);
void child_words_hear(struct child_words *words, const struct child_speaker *speaker,
                      const char *bytes, size_t length);
/* Ends the output: an incomplete last line is logged, too. */
void child_words_end(struct child_words *words, const struct child_speaker *speaker);
/* The end of the output as valid UTF-8. Free with g_free(). */
char *child_words_last(const struct child_words *words);

#endif
