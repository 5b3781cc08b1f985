/*
 * Reads and writes short text forms (keys, epilogues) in buffers of the caller: a cursor that takes one
 * canonical piece after another, and a writer that never passes its buffer's end. Internal to solvers.
 */
#ifndef SOLVERS_PROBLEM_TEXT_CURSOR_H
#define SOLVERS_PROBLEM_TEXT_CURSOR_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct text_cursor {
    const char *text; /* the whole text, which error messages show */
    const char *at;   /* the first character not yet read */
};

/* Takes a canonical decimal number: digits without sign or leading zero, at most INT64_MAX. On false the cursor
 * stays. */
bool text_take_number(struct text_cursor *cursor, int64_t *value);
/* Takes the character c if it is next. */
bool text_take_char(struct text_cursor *cursor, char c);
/* Takes the text `literal` if it is next. */
bool text_take_literal(struct text_cursor *cursor, const char *literal);
/* Takes the longest run without any of `stops` into word, NUL-terminated. False, without moving the cursor, where the
 * run is empty or too long for `word`. */
bool text_take_word(struct text_cursor *cursor, const char *stops, char *word, size_t size);
/* Sets SOLVERS_ERROR_SYNTAX: "cannot read '<text>' at '<rest>': <what>". Returns false. */
bool text_fail(const struct text_cursor *cursor, const char *what, GError **error);

struct text_writer {
    char *buffer;
    /* bytes in the buffer; bytes written, always below size, since longer text is cut off */
    size_t size, length;
};

void text_writer_init(struct text_writer *writer, char *buffer, size_t size);
G_GNUC_PRINTF(2, 3)
void text_write(struct text_writer *writer, const char *format, ...);

#endif
