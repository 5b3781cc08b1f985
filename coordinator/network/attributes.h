/*
 * Attributes of a node: named values. A set is mutable until it is given to a node, and shared (by reference) from
 * then on; to change a node's attributes, copy the set, change the copy, and call graph_set_attributes().
 * Every reading function accepts a NULL set and then finds nothing.
 */
#ifndef COORDINATOR_NETWORK_ATTRIBUTES_H
#define COORDINATOR_NETWORK_ATTRIBUTES_H

#include "coordinator/network/tensor.h"

enum attribute_kind {
    ATTRIBUTE_INT,
    ATTRIBUTE_INTS,
    ATTRIBUTE_FLOAT,
    ATTRIBUTE_FLOATS,
    ATTRIBUTE_STRING,
    ATTRIBUTE_STRINGS,
    ATTRIBUTE_TENSOR,
};

struct attribute {
    char *name; /* a copy: names of files are not kept beyond the graph */
    enum attribute_kind kind;
    int count;      /* of ints, floats or strings; 1 for single values */
    int64_t *ints;  /* INT, INTS */
    double *floats; /* FLOAT, FLOATS; ONNX's float32 values, exactly */
    char **strings; /* STRING, STRINGS; ends with NULL */
    struct tensor *tensor;
};

struct attributes {
    int references;
    int count;
    struct attribute *items; /* in the order in which they were first set */
};

struct attributes *attributes_new(void);
struct attributes *attributes_copy(const struct attributes *attributes); /* of NULL: an empty set */
struct attributes *attributes_ref(struct attributes *attributes);
void attributes_unref(struct attributes *attributes); /* NULL is allowed */
typedef struct attributes Attributes;                 /* for g_autoptr(Attributes) */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Attributes, attributes_unref)

/* Sets or replaces an attribute. Arrays and texts are copied; a reference of the tensor is taken. The set must have one
 * reference. */
void attributes_set_int(struct attributes *attributes, const char *name, int64_t value);
void attributes_set_ints(struct attributes *attributes, const char *name, const int64_t *values,
                         int count);
void attributes_set_float(struct attributes *attributes, const char *name, double value);
void attributes_set_floats(struct attributes *attributes, const char *name, const double *values,
                           int count);
void attributes_set_string(struct attributes *attributes, const char *name, const char *value);
void attributes_set_strings(struct attributes *attributes, const char *name,
                            const char *const *values, int count);
void attributes_set_tensor(struct attributes *attributes, const char *name, struct tensor *tensor);
void attributes_remove(struct attributes *attributes, const char *name);

const struct attribute *attributes_find(const struct attributes *attributes,
                                        const char *name); /* or NULL */
bool attributes_equal(const struct attributes *a, const struct attributes *b);
/* The value of this name and kind, otherwise `missing`. */
int64_t attributes_int(const struct attributes *attributes, const char *name, int64_t missing);
double attributes_float(const struct attributes *attributes, const char *name, double missing);
const char *attributes_string(const struct attributes *attributes, const char *name,
                              const char *missing);
/* The array and its length; NULL and 0 if there is no attribute of this name and kind. An empty array is not NULL. */
const int64_t *attributes_ints(const struct attributes *attributes, const char *name, int *count);
const double *attributes_floats(const struct attributes *attributes, const char *name, int *count);
struct tensor *attributes_tensor(const struct attributes *attributes,
                                 const char *name); /* or NULL; not a reference */

#endif
