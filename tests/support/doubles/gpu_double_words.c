#include "tests/support/doubles/gpu_double.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define WORDS_MAX 256

int double_device;

/* The file's words; they are read again when the file was replaced. */
static const char *file_words(const char *path)
{
    static char words[WORDS_MAX];
    static struct stat last;
    struct stat now;

    if (stat(path, &now) != 0)
        return "";
    if (now.st_ino == last.st_ino && now.st_mtim.tv_sec == last.st_mtim.tv_sec &&
        now.st_mtim.tv_nsec == last.st_mtim.tv_nsec)
        return words;
    FILE *file = fopen(path, "r");
    size_t length = file ? fread(words, 1, sizeof(words) - 1, file) : 0;
    words[length] = '\0';
    if (file)
        fclose(file);
    last = now;
    return words;
}

static bool among(const char *words, const char *word)
{
    size_t length = strlen(word);

    for (const char *at = words; (at = strstr(at, word)); at++) {
        bool begins = at == words || at[-1] == ',';
        if (begins && (at[length] == '\0' || at[length] == ','))
            return true;
    }
    return false;
}

bool double_said(const char *word)
{
    const char *said = getenv("GPU_DOUBLE"), *path = getenv("GPU_DOUBLE_FILE");

    return (said && among(said, word)) || (path && among(file_words(path), word));
}

bool double_said_of(const char *word, int variant)
{
    char text[64];

    snprintf(text, sizeof(text), "%s@%d", word, variant);
    if (double_said(word) || double_said(text))
        return true;
    snprintf(text, sizeof(text), "%s#%d", word, double_device);
    return double_said(text);
}

static bool mark_path(const char *name, char *path, size_t length)
{
    const char *file = getenv("GPU_DOUBLE_FILE");

    return file && snprintf(path, length, "%s.%s", file, name) < (int)length;
}

bool double_is_first(const char *name)
{
    char path[4096];

    if (!mark_path(name, path, sizeof(path)))
        return false;
    int file = open(path, O_CREAT | O_EXCL | O_WRONLY, 0600);
    if (file >= 0)
        close(file);
    return file >= 0;
}

void double_mark(const char *name)
{
    double_is_first(name);
}

bool double_marked(const char *name)
{
    char path[4096];

    return mark_path(name, path, sizeof(path)) && access(path, F_OK) == 0;
}
