#include "schema/small_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static char *fail(const char *path, GFileError code, const char *why, GError **error)
{
    g_set_error(error, G_FILE_ERROR, (int)code, "cannot read '%s': %s", path, why);
    return NULL;
}

/* Reads one byte more than the limit, to notice a file that is too large. */
static char *read_open(FILE *file, const char *path, gsize limit, gsize *length, GError **error)
{
    g_autoptr(GByteArray) bytes = g_byte_array_new();
    guint8 piece[65536];
    size_t got = 0;
    do {
        got = fread(piece, 1, MIN(sizeof piece, limit + 1 - bytes->len), file);
        g_byte_array_append(bytes, piece, (guint)got);
    } while (got > 0 && bytes->len <= limit);
    if (ferror(file))
        return fail(path, g_file_error_from_errno(errno), g_strerror(errno), error);
    if (bytes->len > limit) {
        g_autofree char *why =
            g_strdup_printf("it holds more than %" G_GSIZE_FORMAT " bytes", limit);
        return fail(path, G_FILE_ERROR_FAILED, why, error);
    }
    if (memchr(bytes->data ? bytes->data : piece, '\0', bytes->len) != NULL)
        return fail(path, G_FILE_ERROR_INVAL, "it contains a NUL byte, so it is not a text", error);
    *length = bytes->len;
    g_byte_array_append(bytes, (const guint8 *)"", 1);
    return (char *)g_byte_array_free(g_steal_pointer(&bytes), FALSE);
}

char *small_file_read(const char *path, gsize limit, gsize *length, GError **error)
{
    gsize unused;
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return fail(path, g_file_error_from_errno(errno), g_strerror(errno), error);
    char *text = read_open(file, path, limit, length != NULL ? length : &unused, error);
    fclose(file);
    return text;
}

#define SECRET_FILE_BYTES_MAX 65536

char *small_file_secret(const char *path, GError **error)
{
    struct stat status;
    if (stat(path, &status) != 0)
        return fail(path, g_file_error_from_errno(errno), g_strerror(errno), error);
    if (S_ISREG(status.st_mode) && (status.st_mode & (S_IRWXG | S_IRWXO)) != 0)
        return fail(path, G_FILE_ERROR_PERM, "others may read it; chmod 600 it first", error);
    g_autofree char *text = small_file_read(path, SECRET_FILE_BYTES_MAX, NULL, error);
    if (text == NULL)
        return NULL;
    text[strcspn(text, "\r\n")] = '\0';
    return *text != '\0' ? g_steal_pointer(&text)
                         : fail(path, G_FILE_ERROR_INVAL, "its first line is empty", error);
}
