/*
 * What a child says on standard error: the end of it is kept, to be told with
 * its death, and whole lines become lines of the agent's log, so that what
 * compilers and drivers print never stands between its own. A child that
 * talks without end is cut short.
 */
#ifndef WORKER_CHILD_WORDS_H
#define WORKER_CHILD_WORDS_H

#include <glib.h>
#include <stdbool.h>

struct child_words {
    GByteArray *last; /* the end of all that was said */
    GString *line;    /* what has come of the next line */
    gint64 minute_us; /* when the minute began in which so many lines were logged */
    unsigned logged, left_out;
};

/* role: "eval"; device: of an eval child, or NULL. Both outlive the calls. */
struct child_speaker {
    const char *role, *device;
    bool logged; /* its lines go to the log */
};

void child_words_init(struct child_words *words);
void child_words_clear(struct child_words *words);
void child_words_hear(struct child_words *words, const struct child_speaker *speaker,
                      const char *bytes, size_t length);
/* The last line may have no end. */
void child_words_end(struct child_words *words, const struct child_speaker *speaker);
/* The end of what was said, as valid UTF-8. Free with g_free(). */
char *child_words_last(const struct child_words *words);

#endif
