/*
 * Reading and writing the short text forms of this room (keys, epilogues) in
 * buffers of the caller: a cursor that takes one canonical piece after
 * another, and a writer that never passes its end. Internal to the room.
 */
#ifndef SOLVERS_PROBLEM_TEXT_CURSOR_H
#define SOLVERS_PROBLEM_TEXT_CURSOR_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct text_cursor {
    const char *text; /* the whole form, for messages */
    const char *at;   /* what is not read yet */
};

/* A canonical decimal number: digits, no sign, no leading zero, at most INT64_MAX. False leaves the
 * cursor where it was. */
bool text_take_number(struct text_cursor *cursor, int64_t *value);
/* The character c, if it is next. */
bool text_take_char(struct text_cursor *cursor, char c);
/* The literal, if it is next. */
bool text_take_literal(struct text_cursor *cursor, const char *literal);
/* The longest run without any of `stops`, NUL-terminated into word. False when it is empty or does
 * not fit; the cursor then stays. */
bool text_take_word(struct text_cursor *cursor, const char *stops, char *word, size_t size);
/* Sets SOLVERS_ERROR_SYNTAX: "cannot read '<text>' at '<rest>': <what>". Returns false. */
bool text_fail(const struct text_cursor *cursor, const char *what, GError **error);

struct text_writer {
    char *buffer;
    size_t size, length; /* length < size; what does not fit is cut off */
};

void text_writer_init(struct text_writer *writer, char *buffer, size_t size);
G_GNUC_PRINTF(2, 3)
void text_write(struct text_writer *writer, const char *format, ...);

#endif
