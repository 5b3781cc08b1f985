#include "coordinator/cli/terminal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* The question contains names that other people chose, so control characters are replaced. */
static void write_to_terminal(const char *question)
{
    FILE *terminal = fopen("/dev/tty", "we");
    if (terminal == NULL)
        return;
    g_autofree char *valid = g_utf8_make_valid(question, -1);
    for (const char *at = valid; *at != '\0'; at = g_utf8_next_char(at)) {
        if (g_unichar_iscntrl(g_utf8_get_char(at)))
            fputc('?', terminal);
        else
            fwrite(at, 1, (size_t)(g_utf8_next_char(at) - at), terminal);
    }
    fputs(" [y/N] ", terminal);
    fclose(terminal);
}

bool terminal_confirm(const char *question, bool yes)
{
    char answer[16] = "";
    if (yes || !isatty(STDIN_FILENO))
        return true;
    if (isatty(STDERR_FILENO)) {
        fprintf(stderr, "%s [y/N] ", question);
        fflush(stderr);
    } else {
        write_to_terminal(question);
    }
    if (fgets(answer, sizeof answer, stdin) == NULL)
        fputc('\n', stderr);
    g_strstrip(answer);
    return g_ascii_strcasecmp(answer, "y") == 0 || g_ascii_strcasecmp(answer, "yes") == 0;
}

/* Writes to the file descriptor: the filter of standard error would escape the control bytes. */
void terminal_restart_line(void)
{
    static const char codes[] = "\r\033[K";
    fflush(stderr);
    ssize_t wrote = write(STDERR_FILENO, codes, sizeof codes - 1);
    (void)wrote; /* if the write fails, the terminal only looks less tidy */
}

int terminal_columns(void)
{
    gint64 columns = 0;
    struct winsize size = {0};
    const char *named = g_getenv("COLUMNS");
    if (named != NULL && g_ascii_string_to_signed(named, 10, 1, 100000, &columns, NULL))
        return (int)columns;
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

#define WORD_MAX 63

static int distance(const char *a, const char *b)
{
    int row[WORD_MAX + 1];
    int columns = (int)MIN(strlen(b), WORD_MAX);
    for (int j = 0; j <= columns; j++)
        row[j] = j;
    for (int i = 1; i <= WORD_MAX && a[i - 1] != '\0'; i++) {
        int diagonal = row[0];
        row[0] = i;
        for (int j = 1; j <= columns; j++) {
            int change = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            row[j] = MIN(change, MIN(row[j], row[j - 1]) + 1);
        }
    }
    return row[columns];
}

const char *nearest_word(const char *given, const char *const *words)
{
    const char *nearest = NULL;
    /* a word is only suggested if it differs in few letters: at most a third of them and one */
    int least = 1 + (int)strlen(given) / 3;
    for (int i = 0; words[i] != NULL; i++) {
        bool begins = *given != '\0' && g_str_has_prefix(words[i], given);
        int far = begins ? 0 : distance(given, words[i]);
        if (far < least || (far == least && nearest == NULL)) {
            nearest = words[i];
            least = far;
        }
    }
    return nearest;
}
