#include "worker/child/child_words.h"

#include "schema/monitor/log.h"

#define LAST_MAX     4096 /* bytes */
#define LINE_BYTES   1000 /* longer lines are logged as several lines */
#define MINUTE_LINES 40   /* lines of one child that are logged in a minute */

void child_words_init(struct child_words *words)
{
    *words = (struct child_words){.last = g_byte_array_new(), .line = g_string_new(NULL)};
}

void child_words_clear(struct child_words *words)
{
    g_byte_array_unref(words->last);
    g_string_free(words->line, TRUE);
}

static void say(const struct child_speaker *speaker, const char *text)
{
    const struct log_about about = {.device = speaker->device};
    log_write(LEVEL_INFO, "child_said", &about, "%s child: %s", speaker->role, text);
}

static void say_left_out(struct child_words *words, const struct child_speaker *speaker)
{
    if (words->left_out == 0)
        return;
    g_autofree char *text = g_strdup_printf("%u more lines left out", words->left_out);
    words->left_out = 0;
    say(speaker, text);
}

static void end_line(struct child_words *words, const struct child_speaker *speaker)
{
    gint64 now = g_get_monotonic_time();
    g_autofree char *text = g_strstrip(g_strdup(words->line->str));
    g_string_truncate(words->line, 0);
    if (!speaker->logged || *text == '\0')
        return;
    if (words->minute_us == 0 || now - words->minute_us > 60 * G_USEC_PER_SEC) {
        say_left_out(words, speaker);
        words->minute_us = now;
        words->logged = 0;
    }
    if (words->logged++ < MINUTE_LINES)
        say(speaker, text);
    else
        words->left_out++;
}

void child_words_hear(struct child_words *words, const struct child_speaker *speaker,
                      const char *bytes, size_t length)
{
    g_byte_array_append(words->last, (const guint8 *)bytes, (guint)length);
    if (words->last->len > LAST_MAX)
        g_byte_array_remove_range(words->last, 0, words->last->len - LAST_MAX);
    for (size_t i = 0; i < length; i++) {
        if (bytes[i] != '\n')
            g_string_append_c(words->line, bytes[i] ? bytes[i] : ' ');
        if (bytes[i] == '\n' || words->line->len >= LINE_BYTES)
            end_line(words, speaker);
    }
}

void child_words_end(struct child_words *words, const struct child_speaker *speaker)
{
    end_line(words, speaker);
    if (speaker->logged)
        say_left_out(words, speaker);
}

char *child_words_last(const struct child_words *words)
{
    g_autofree char *text =
        g_strndup(words->last->len ? (const char *)words->last->data : "", words->last->len);
    return g_utf8_make_valid(text, -1);
}
