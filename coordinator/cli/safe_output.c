#include "coordinator/cli/safe_output.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define CHARACTER_BYTES 4 /* most bytes that UTF-8 uses for a character */

/* A file descriptor that is written to, and the first bytes of a character whose other bytes come
 * with the next write. */
struct outlet {
    int fd;
    char begun[CHARACTER_BYTES];
    size_t begun_length;
};

static struct outlet outlets[] = {{.fd = STDOUT_FILENO}, {.fd = STDERR_FILENO}};

static bool write_all(int fd, const char *bytes, size_t length)
{
    while (length > 0) {
        ssize_t wrote = write(fd, bytes, length);
        if (wrote < 0 && errno != EINTR)
            return false;
        if (wrote > 0) {
            bytes += wrote;
            length -= (size_t)wrote;
        }
    }
    return true;
}

/* Returns true if a control character is escaped as \u00NN rather than \xNN: DEL and those above
 * it. They may be inside of a JSON string, where \xNN is not allowed. JSON output has already
 * escaped those below DEL itself. */
static bool may_stand_in_json(const char *bytes, size_t length)
{
    return g_utf8_validate(bytes, (gssize)length, NULL) && g_utf8_get_char(bytes) >= 0x7f;
}

static void append_escaped(GString *shown, const char *bytes, size_t length)
{
    if (may_stand_in_json(bytes, length)) {
        g_string_append_printf(shown, "\\u%04x", g_utf8_get_char(bytes));
        return;
    }
    for (size_t i = 0; i < length; i++)
        g_string_append_printf(shown, "\\x%02x", (unsigned char)bytes[i]);
}

/* Returns the length of the character at `at` in bytes: 0 if the text ends within the character; 1
 * with *valid false for a byte that begins none. *valid is false also for control characters other than line end and
 * tab. */
static size_t character_length(const char *at, size_t left, bool *valid)
{
    gunichar character = g_utf8_get_char_validated(at, (gssize)MIN(left, CHARACTER_BYTES));
    *valid = character != (gunichar)-1 && character != (gunichar)-2;
    if (character == (gunichar)-2)
        return left < CHARACTER_BYTES ? 0 : 1;
    if (!*valid)
        return 1;
    *valid = !g_unichar_iscntrl(character) || character == '\n' || character == '\t';
    return (size_t)g_unichar_to_utf8(character, NULL);
}

/* Appends the bytes to `shown`, with control characters escaped. The beginning of a character that
 * is cut at the end waits for the next bytes. */
static void filter(struct outlet *outlet, GString *shown, const char *bytes, size_t length)
{
    size_t at = 0;
    while (at < length) {
        bool valid = true;
        size_t taken =
            *(bytes + at) == '\0' ? 1 : character_length(bytes + at, length - at, &valid);
        if (taken == 0)
            break;
        if (valid && bytes[at] != '\0')
            g_string_append_len(shown, bytes + at, (gssize)taken);
        else
            append_escaped(shown, bytes + at, taken);
        at += taken;
    }
    outlet->begun_length = length - at;
    memcpy(outlet->begun, bytes + at, outlet->begun_length);
}

static ssize_t write_filtered(void *cookie, const char *bytes, size_t length)
{
    struct outlet *outlet = cookie;
    g_autoptr(GString) text = g_string_new_len(outlet->begun, (gssize)outlet->begun_length);
    g_autoptr(GString) shown = g_string_new(NULL);
    g_string_append_len(text, bytes, (gssize)length);
    filter(outlet, shown, text->str, text->len);
    return write_all(outlet->fd, shown->str, shown->len) ? (ssize_t)length : 0;
}

static int close_file(void *cookie)
{
    struct outlet *outlet = cookie;
    int status = close(outlet->fd);
    g_free(outlet);
    return status;
}

FILE *safe_output_open(const char *path)
{
    const cookie_io_functions_t functions = {.write = write_filtered, .close = close_file};
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0)
        return NULL;
    struct outlet *outlet = g_new0(struct outlet, 1);
    outlet->fd = fd;
    FILE *file = fopencookie(outlet, "w", functions);
    if (file == NULL)
        close_file(outlet);
    return file;
}

static FILE *open_outlet(struct outlet *outlet, FILE *plain)
{
    const cookie_io_functions_t functions = {.write = write_filtered};
    FILE *filtered = fopencookie(outlet, "w", functions);
    return filtered != NULL ? filtered : plain;
}

void safe_output_begin(void)
{
    FILE *out = open_outlet(&outlets[0], stdout), *errors = open_outlet(&outlets[1], stderr);
    setvbuf(out, NULL, isatty(STDOUT_FILENO) ? _IOLBF : _IOFBF, BUFSIZ);
    /* A line is written at once, so the lines of two processes do not mix. */
    setvbuf(errors, NULL, _IOLBF, BUFSIZ);
    stdout = out;
    stderr = errors;
}
