/*
 * JSON objects described by tables of fields: the same table reads an object into a struct, frees the struct, and
 * prints the JSON Schema of the object.
 */
#ifndef COORDINATOR_FIELDS_FIELDS_H
#define COORDINATOR_FIELDS_FIELDS_H

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>

/* The values that a field takes, and the type of its member in the struct. */
enum field_kind {
    FIELD_SCHEMA, /* a text that is for editors: no member */
    FIELD_TEXT,   /* a text: char * */
    FIELD_PATH, /* a file's or folder's name: char *, relative ones joined to the description's folder */
    FIELD_LIST,    /* a text, or an array of texts without repetition: char *, joined by commas */
    FIELD_BYTES,   /* a number of bytes, or a text with a unit: char * */
    FIELD_YES,     /* true or false: gboolean */
    FIELD_INTEGER, /* gint64 */
    FIELD_NUMBER,  /* double */
    FIELD_WORD,    /* one of .words: int, its place */
    FIELD_SET,     /* an array of .words: int, the bit 1 << place of each */
    FIELD_OBJECT,  /* an object of .object, whose members are in the same struct */
    FIELD_OBJECTS, /* an array of objects of .object: a pointer to structs, and an int at .count_offset */
};

struct field_object;

struct field {
    const char *name;
    enum field_kind kind;
    size_t offset;
    const char *says;     /* what the field is for */
    const char *takes;    /* what it takes, in words, for messages: "a size such as 64MiB" */
    const char *standard; /* the default as JSON; NULL: zero, NULL, or no element */
    const char *pattern;  /* regular expression of texts and of a list's texts; NULL for any text */
    const char *const *
        words; /* NULL-terminated: of FIELD_WORD, FIELD_SET; of FIELD_TEXT and FIELD_LIST the only texts,
                                 or NULL */
    bool numbers;       /* FIELD_LIST: whole numbers in the place of texts */
    int elements_most;  /* FIELD_LIST: most elements; 0 for FIELD_ARRAY_MAX */
    double least, most; /* of numbers */
    bool above;         /* the number must be above `least` */
    const char
        *zero_word; /* FIELD_INTEGER: a word that means 0, which no number says then; or NULL */
    bool required;
    const char *
        only_with; /* names of fields, joined by blanks: the field needs one of them; NULL for none */
    const struct field_object *object;
    size_t count_offset;
};

/* One way to fill an object: with the field `name`, and without the fields `without` (joined by blanks, or NULL). */
struct field_choice {
    const char *name, *without;
};

struct field_object {
    const char *name; /* of its definition in the schema */
    const char *says;
    const struct field *fields;
    int count;
    size_t size; /* of the struct; 0 for a FIELD_OBJECT */
    /* FIELD_OBJECTS: the name of the field that an element which is a text sets, or NULL */
    const char *short_form;
    /* exactly one of these choices must fit; NULL for none */
    const struct field_choice *choices;
    int choice_count;
};

/* Most characters of a text, most elements of an array, and the largest whole number: JSON numbers beyond 2^53 - 1
 * are not exact in every program. */
#define FIELD_TEXT_MAX    1000
#define FIELD_ARRAY_MAX   10000
#define FIELD_INTEGER_MAX 9007199254740991.0

/* Sets the defaults, then reads the JSON object into *data. folder is the base of relative paths. Returns false with
 * COORDINATOR_ERROR_USAGE, whose message begins with the field's path. The caller clears *data in any case. */
bool fields_read(const struct field_object *object, const json_t *json, const char *folder,
                 void *data, GError **error);
/* Frees what fields_read() stored in *data. */
void fields_clear(const struct field_object *object, void *data);

/* Returns the JSON Schema (draft 2020-12) of the object with its definitions, a new reference. id: the schema's own
 * name. */
json_t *fields_schema(const struct field_object *object, const char *id);

#endif
