/*
 * Lines of the log, formatted into one buffer and written by one write() of at
 * most PIPE_BUF bytes, which POSIX keeps whole among writers of one pipe.
 */
#include "schema/monitor/log.h"

#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

/* Bytes. A line of JSON has room for four names of this length, with every character escaped. */
#define MESSAGE_MAX    2000
#define NAME_MAX_BYTES 256
#define REPEAT_US      (60 * G_USEC_PER_SEC)

static const char *const level_names[] = {"debug", "info", "warning", "error"};
static const char *const format_names[] = {"text", "json"};

static struct {
    char who[32];
    bool json, quiet;
    enum log_level least;
    char *node;
    int64_t worker;
} log_settings = {.who = "skipjack", .least = LEVEL_INFO};

struct log_line {
    enum log_level level;
    const char *event;
    const struct log_about *about;
    char *message; /* valid UTF-8 */
};

/* ---- settings ---- */

/* The index of a word among names; -1 with an error for an unknown word. */
static int find_word(const char *what, const char *word, const char *const *names, int count,
                     GError **error)
{
    for (int i = 0; i < count; i++)
        if (strcmp(word, names[i]) == 0)
            return i;
    g_autofree char *list = NULL;
    for (int i = 0; i < count; i++) {
        char *longer = g_strconcat(list ? list : "", list ? ", " : "", names[i], NULL);
        g_free(list);
        list = longer;
    }
    g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE, "%s takes one of %s, not '%s'",
                what, list, word);
    return -1;
}

/* Chooses a setting: the option's word, else the environment variable's, else the default. */
static int choose(const char *option, const char *word, const char *variable, const char *standard,
                  const char *const *names, int count, GError **error)
{
    const char *setting = g_getenv(variable);
    if (word)
        return find_word(option, word, names, count, error);
    if (setting && *setting)
        return find_word(variable, setting, names, count, error);
    return find_word(option, standard, names, count, error);
}

static GLogWriterOutput write_glib(GLogLevelFlags level, const GLogField *fields, gsize count,
                                   gpointer data)
{
    const char *message = "";
    (void)data;
    for (gsize i = 0; i < count; i++)
        if (strcmp(fields[i].key, "MESSAGE") == 0)
            message = fields[i].value;
    enum log_level ours = level & (G_LOG_LEVEL_ERROR | G_LOG_LEVEL_CRITICAL) ? LEVEL_ERROR
                          : level & G_LOG_LEVEL_WARNING                      ? LEVEL_WARNING
                          : level & G_LOG_LEVEL_MESSAGE                      ? LEVEL_INFO
                                                                             : LEVEL_DEBUG;
    log_write(ours, "library", NULL, "%s", message);
    return G_LOG_WRITER_HANDLED;
}

static void write_words(const char *words)
{
    log_write(LEVEL_ERROR, "library", NULL, "%s", words);
}

bool log_open(const char *who, const char *format, const char *level, GError **error)
{
    static gsize once;
    int chosen = choose("--log", format, "SKIPJACK_LOG", isatty(STDERR_FILENO) ? "text" : "json",
                        format_names, G_N_ELEMENTS(format_names), error);
    int least = chosen < 0 ? -1
                           : choose("--log-level", level, "SKIPJACK_LOG_LEVEL", "info", level_names,
                                    G_N_ELEMENTS(level_names), error);
    if (least < 0)
        return false;
    g_strlcpy(log_settings.who, who, sizeof log_settings.who);
    log_settings.json = chosen == 1;
    log_settings.least = (enum log_level)least;
    if (g_once_init_enter(&once)) {
        g_log_set_writer_func(write_glib, NULL, NULL);
        g_set_printerr_handler(write_words);
        g_once_init_leave(&once, 1);
    }
    return true;
}

void log_set_quiet(void)
{
    log_settings.quiet = true;
    log_settings.least = LEVEL_WARNING;
}

bool log_is_quiet(void)
{
    return log_settings.quiet;
}

void log_name_node(const char *node)
{
    g_free(log_settings.node);
    log_settings.node = g_strdup(node);
}

void log_name_worker(int64_t worker)
{
    log_settings.worker = worker;
}

/* ---- lines ---- */

/* Cuts the text to at most `most` bytes, at a character's border. */
static void cut(char *text, size_t bytes)
{
    if (strlen(text) <= bytes)
        return;
    if (bytes < 4) {
        *text = '\0';
        return;
    }
    char *end = g_utf8_find_prev_char(text, text + bytes - 2);
    strcpy(end ? end : text, "...");
}

static void add_text(json_t *object, const char *name, const char *text)
{
    if (!text)
        return;
    g_autofree char *valid = g_utf8_make_valid(text, -1);
    cut(valid, NAME_MAX_BYTES);
    g_strdelimit(valid, "\n\t\r", ' ');
    json_object_set_new(object, name, json_string(valid));
}

static void add_number(json_t *object, const char *name, int64_t number, bool present)
{
    if (present)
        json_object_set_new(object, name, json_integer(number));
}

/* "2026-11-21T09:30:00.125Z" */
static char *time_text(void)
{
    gint64 now = g_get_real_time();
    g_autoptr(GDateTime) time = g_date_time_new_from_unix_utc(now / G_USEC_PER_SEC);
    g_autofree char *seconds = g_date_time_format(time, "%Y-%m-%dT%H:%M:%S");
    return g_strdup_printf("%s.%03dZ", seconds, (int)(now % G_USEC_PER_SEC / 1000));
}

static json_t *line_object(const struct log_line *line)
{
    static const struct log_about nothing = {0};
    const struct log_about *about = line->about ? line->about : &nothing;
    json_t *object = json_object();
    g_autofree char *time = time_text();
    add_text(object, "time", time);
    add_text(object, "level", level_names[line->level]);
    add_text(object, "from", log_settings.who);
    add_text(object, "event", line->event);
    add_text(object, "node", log_settings.node);
    add_number(object, "worker", log_settings.worker, log_settings.worker != 0);
    add_number(object, "campaign", about->campaign, about->campaign != 0);
    add_number(object, "job", about->job, about->job != 0);
    add_number(object, "attempt", about->attempt, about->attempt != 0);
    add_number(object, "round", about->round, about->in_round);
    add_text(object, "problem", about->problem);
    add_text(object, "solver", about->solver);
    add_text(object, "device", about->device);
    json_object_set_new(object, "message", json_string(line->message));
    return object;
}

/* Quotes and control characters grow when written as JSON: the message is cut until the line fits. */
static char *json_line(const struct log_line *line)
{
    char *text = NULL;
    json_t *object = line_object(line);
    while ((text = json_dumps(object, JSON_COMPACT)) && strlen(text) + 1 > PIPE_BUF &&
           *line->message) {
        free(text);
        cut(line->message, strlen(line->message) / 2);
        json_object_set_new(object, "message", json_string(line->message));
    }
    json_decref(object);
    char *whole = g_strconcat(text ? text : "{}", "\n", NULL);
    free(text);
    return whole;
}

/* Replaces control characters: they would control the terminal. */
static char *text_line(const struct log_line *line)
{
    const struct log_about *about = line->about;
    bool named = about && about->problem;
    char *text = g_strconcat(
        log_settings.who, ": ", named ? about->problem : "", named && about->solver ? " " : "",
        named && about->solver ? about->solver : "", named ? ": " : "", line->message, "\n", NULL);
    for (char *at = text; *at; at++) {
        bool eight_bits =
            (unsigned char)at[0] == 0xc2 && (unsigned char)at[1] < 0xa0; /* U+0080 to U+009F */
        if (eight_bits)
            at[1] = '?';
        if (eight_bits || *at == 0x7f || ((unsigned char)*at < ' ' && *at != '\n' && *at != '\t'))
            *at = '?';
    }
    return text;
}

static void write_whole(const char *text)
{
    size_t left = strlen(text);
    while (left > 0) {
        ssize_t wrote = write(STDERR_FILENO, text, left);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote <= 0)
            return; /* the log's reader is gone; the work goes on */
        text += wrote;
        left -= (size_t)wrote;
    }
}

void log_write(enum log_level level, const char *event, const struct log_about *about,
               const char *format, ...)
{
    va_list arguments;
    if (level < log_settings.least)
        return;
    va_start(arguments, format);
    g_autofree char *words = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    struct log_line line = {level, event, about, g_utf8_make_valid(words, -1)};
    g_strchomp(line.message);
    cut(line.message, MESSAGE_MAX);
    g_autofree char *text = log_settings.json ? json_line(&line) : text_line(&line);
    write_whole(text);
    g_free(line.message);
}

bool log_due(struct log_limit *limit, unsigned *left_out)
{
    gint64 now = g_get_monotonic_time();
    if (limit->next_us != 0 && now < limit->next_us) {
        limit->left_out++;
        return false;
    }
    *left_out = limit->left_out;
    *limit = (struct log_limit){.next_us = now + REPEAT_US};
    return true;
}
