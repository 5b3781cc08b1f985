#include "solvers/problem/text_cursor.h"

#include "solvers/problem/problem.h"

#include <stdio.h>
#include <string.h>

bool text_take_number(struct text_cursor *cursor, int64_t *value)
{
    const char *at = cursor->at;
    int64_t number = 0;
    if (!g_ascii_isdigit(*at) || (at[0] == '0' && g_ascii_isdigit(at[1]))) {
        return false;
    }
    for (; g_ascii_isdigit(*at); at++) {
        if (__builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, *at - '0', &number)) {
            return false;
        }
    }
    cursor->at = at;
    *value = number;
    return true;
}

bool text_take_char(struct text_cursor *cursor, char c)
{
    if (c == '\0' || *cursor->at != c) {
        return false;
    }
    cursor->at++;
    return true;
}

bool text_take_literal(struct text_cursor *cursor, const char *literal)
{
    size_t length = strlen(literal);
    if (strncmp(cursor->at, literal, length) != 0) {
        return false;
    }
    cursor->at += length;
    return true;
}

bool text_take_word(struct text_cursor *cursor, const char *stops, char *word, size_t size)
{
    size_t length = strcspn(cursor->at, stops);
    if (length == 0 || length >= size) {
        return false;
    }
    memcpy(word, cursor->at, length);
    word[length] = '\0';
    cursor->at += length;
    return true;
}

bool text_fail(const struct text_cursor *cursor, const char *what, GError **error)
{
    g_autofree char *text = g_utf8_make_valid(cursor->text, (gssize)strnlen(cursor->text, 200));
    g_autofree char *rest = g_utf8_make_valid(cursor->at, (gssize)strnlen(cursor->at, 40));
    g_set_error(error, SOLVERS_ERROR, SOLVERS_ERROR_SYNTAX, "cannot read '%s' at '%s': %s", text,
                rest, what);
    return false;
}

void text_writer_init(struct text_writer *writer, char *buffer, size_t size)
{
    *writer = (struct text_writer){.buffer = buffer, .size = size};
    buffer[0] = '\0';
}

void text_write(struct text_writer *writer, const char *format, ...)
{
    va_list arguments;
    size_t room = writer->size - writer->length;
    va_start(arguments, format);
    int length = vsnprintf(writer->buffer + writer->length, room, format, arguments);
    va_end(arguments);
    g_assert(length >= 0);
    writer->length += MIN((size_t)length, room - 1);
}
