/*
 * The parts of a problem that MIOpen's keys cannot name. A problem's form is their text: operator,
 * strides and epilogue in the words of the canonical key (sjdb_form_write() in layout.h). Internal to
 * the library.
 */
#ifndef EXPORT_SJDB_READER_FORMS_H
#define EXPORT_SJDB_READER_FORMS_H

#include "export/sjdb/reader/view.h"

bool sjdb_tensor_is_strided(const struct skipjackdb_problem *p, int tensor);
/* Returns true if a tensor of the problem is not packed. */
bool sjdb_is_strided(const struct skipjackdb_problem *p);
/* The mode of a convolution that may be computed in TF32. */
#define SJDB_TF32 "TF32"
bool sjdb_is_tf32(const struct skipjackdb_problem *p);
/* Returns true if the operator is known and the text of its mode ends; a convolution has no mode but TF32. */
bool sjdb_kind_known(const struct skipjackdb_problem *p);

/* Write the operator ("pool(max)") and the strides ("_sx300x64x0x8x1"); return the length as
 * snprintf() does. The operator must be known. */
int sjdb_kind_write(const struct skipjackdb_problem *p, char *text, size_t size);
int sjdb_strides_write(const struct skipjackdb_problem *p, char *text, size_t size);
/* Take the same from a text and move *at behind it; p's fields must be zero before. Return false for
 * a text that is not exactly what was written. */
bool sjdb_kind_read(const char **at, struct skipjackdb_problem *p);
bool sjdb_strides_read(const char **at, struct skipjackdb_problem *p);
/* Copies the rest of a text as the epilogue. */
bool sjdb_epilogue_read(const char *at, struct skipjackdb_problem *p);

/* The parts of a form's text; the epilogue goes to its end. */
struct sjdb_form_parts {
    const char *kind, *strides, *epilogue;
    size_t kind_length, strides_length;
};
void sjdb_form_split(const char *form, struct sjdb_form_parts *parts);

/* Set *type or *layout to the one with this name; return false for an unknown name. */
bool sjdb_type_named(const char *name, int32_t *type);
bool sjdb_layout_named(const char *name, int32_t *layout);

/* Sets the sizes of the axes N C D H W (K C D H W) of x, w or y. */
void sjdb_tensor_sizes(const struct skipjackdb_problem *p, int32_t tensor, int64_t sizes[5]);
uint64_t sjdb_channel_block(int32_t layout);
/* Sets the strides of a packed tensor; returns its number of elements. */
uint64_t sjdb_packed_strides(int32_t layout, const int64_t sizes[5], int64_t strides[5]);

/* The bits of enum skipjackdb_flags that a solver needs for the problem: its strides and the steps of
 * its epilogue. */
uint32_t sjdb_needed_flags(const struct skipjackdb_problem *p);

#endif
