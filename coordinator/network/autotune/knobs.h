/*
 * Global knobs: choices that hold for a whole network. The user gives a knob a value, leaves it to its heuristic, or asks
 * for all its values to be measured ("pick_global"). A combination has one value for each knob.
 */
#ifndef COORDINATOR_NETWORK_AUTOTUNE_KNOBS_H
#define COORDINATOR_NETWORK_AUTOTUNE_KNOBS_H

#include <glib.h>
#include <stdbool.h>

enum knob {
    KNOB_DTYPE,  /* the type that convolutions compute in */
    KNOB_LAYOUT, /* the order of activations in memory */
    KNOB_FUSION, /* what is done in the kernel of the operator before it */
};
#define KNOB_COUNT      (KNOB_FUSION + 1)
#define KNOB_VALUES_MAX 8
#define KNOB_PICK       "pick_global"

struct knob_row {
    const char *name;                    /* "dtype", also the option's name */
    const char *values[KNOB_VALUES_MAX]; /* ends with NULL */
    const char *picked[KNOB_VALUES_MAX]; /* those that pick_global measures; ends with NULL */
    const char *heuristic; /* the value where the user says nothing; NULL: the model's own */
};
extern const struct knob_row knob_table[KNOB_COUNT];

/* The values to measure for each knob, as the user asked: NULL-terminated lists. */
struct knob_wishes {
    const char *const *values[KNOB_COUNT];
    const char *single[KNOB_COUNT][2]; /* the lists of those that have one value */
};

/* Sets a wish from the text of its option: a value, "pick_global", or NULL for the heuristic (own: the model's own value,
 * for knobs that have no heuristic). COORDINATOR_ERROR_USAGE lists the values. */
bool knob_wish(struct knob_wishes *wishes, enum knob knob, const char *text, const char *own,
               GError **error);

struct combination {
    const char *values[KNOB_COUNT]; /* static texts */
};

/* All combinations of the wishes, in the tables' order. GArray of struct combination. */
GArray *knob_combinations(const struct knob_wishes *wishes);
/* "dtype=FP16 layout=NHWC fusion=all". Free with g_free(). */
char *combination_text(const struct combination *combination);
bool combination_equal(const struct combination *a, const struct combination *b);

/*
 * Launch parameters that the user pins: "ConvCpuBlocked=8,4,2" has each step that the solver can do with this config done
 * so, "step:NAME=ConvCpuBlocked:8,4,2" that step alone. The first pin that fits counts. Pinned steps are not
 * tuned.
 */
struct pin {
    char *step;   /* NULL for all steps */
    char *solver; /* a name of the solver table */
    char *config; /* as text */
};
/* Parses --knob values (NULL-terminated, may be NULL). GArray of struct pin, or NULL with COORDINATOR_ERROR_USAGE. */
GArray *pins_parse(char *const *texts, GError **error);

#endif
