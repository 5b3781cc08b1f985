#include "coordinator/network/attributes.h"

#include <string.h>

struct attributes *attributes_new(void)
{
    struct attributes *attributes = g_new0(struct attributes, 1);
    attributes->references = 1;
    return attributes;
}

static void clear_value(struct attribute *attribute)
{
    g_clear_pointer(&attribute->ints, g_free);
    g_clear_pointer(&attribute->floats, g_free);
    g_clear_pointer(&attribute->strings, g_strfreev);
    g_clear_pointer(&attribute->tensor, tensor_unref);
}

struct attributes *attributes_ref(struct attributes *attributes)
{
    if (attributes)
        attributes->references++;
    return attributes;
}

void attributes_unref(struct attributes *attributes)
{
    if (!attributes || --attributes->references > 0)
        return;
    for (int i = 0; i < attributes->count; i++) {
        clear_value(&attributes->items[i]);
        g_free(attributes->items[i].name);
    }
    g_free(attributes->items);
    g_free(attributes);
}

/* The attribute of this name, its old value gone. */
static struct attribute *renew(struct attributes *attributes, const char *name,
                               enum attribute_kind kind, int count)
{
    g_assert(attributes->references == 1);
    struct attribute *attribute = NULL;
    char *kept = NULL;
    for (int i = 0; i < attributes->count && !attribute; i++) {
        if (strcmp(attributes->items[i].name, name) == 0)
            attribute = &attributes->items[i];
    }
    if (attribute) {
        clear_value(attribute);
        kept = attribute->name;
    } else {
        kept = g_strdup(name);
        attributes->items = g_renew(struct attribute, attributes->items, attributes->count + 1);
        attribute = &attributes->items[attributes->count++];
    }
    *attribute = (struct attribute){.name = kept, .kind = kind, .count = count};
    return attribute;
}

/* A copy that is never NULL, so that an empty array can be told from none. */
static void *copy_array(const void *values, int count, gsize size)
{
    void *copy = g_malloc0(MAX((gsize)count, 1) * size);
    if (count > 0)
        memcpy(copy, values, (gsize)count * size);
    return copy;
}

void attributes_set_int(struct attributes *attributes, const char *name, int64_t value)
{
    renew(attributes, name, ATTRIBUTE_INT, 1)->ints = copy_array(&value, 1, sizeof(value));
}

void attributes_set_ints(struct attributes *attributes, const char *name, const int64_t *values,
                         int count)
{
    int64_t *copy = copy_array(values, count, sizeof(*values));
    renew(attributes, name, ATTRIBUTE_INTS, count)->ints = copy;
}

void attributes_set_float(struct attributes *attributes, const char *name, double value)
{
    renew(attributes, name, ATTRIBUTE_FLOAT, 1)->floats = copy_array(&value, 1, sizeof(value));
}

void attributes_set_floats(struct attributes *attributes, const char *name, const double *values,
                           int count)
{
    double *copy = copy_array(values, count, sizeof(*values));
    renew(attributes, name, ATTRIBUTE_FLOATS, count)->floats = copy;
}

static char **copy_strings(const char *const *values, int count)
{
    char **copy = g_new0(char *, count + 1);
    for (int i = 0; i < count; i++)
        copy[i] = g_strdup(values[i]);
    return copy;
}

void attributes_set_string(struct attributes *attributes, const char *name, const char *value)
{
    char **copy = copy_strings(&value, 1);
    renew(attributes, name, ATTRIBUTE_STRING, 1)->strings = copy;
}

void attributes_set_strings(struct attributes *attributes, const char *name,
                            const char *const *values, int count)
{
    char **copy = copy_strings(values, count);
    renew(attributes, name, ATTRIBUTE_STRINGS, count)->strings = copy;
}

void attributes_set_tensor(struct attributes *attributes, const char *name, struct tensor *tensor)
{
    tensor_ref(tensor);
    renew(attributes, name, ATTRIBUTE_TENSOR, 1)->tensor = tensor;
}

void attributes_remove(struct attributes *attributes, const char *name)
{
    const struct attribute *found = attributes_find(attributes, name);
    if (!found)
        return;
    g_assert(attributes->references == 1);
    int at = (int)(found - attributes->items);
    clear_value(&attributes->items[at]);
    g_free(attributes->items[at].name);
    attributes->count--;
    memmove(&attributes->items[at], &attributes->items[at + 1],
            (gsize)(attributes->count - at) * sizeof(attributes->items[0]));
}

struct attributes *attributes_copy(const struct attributes *attributes)
{
    struct attributes *copy = attributes_new();
    copy->count = attributes ? attributes->count : 0;
    copy->items = g_new0(struct attribute, MAX(copy->count, 1));
    for (int i = 0; i < copy->count; i++) {
        const struct attribute *from = &attributes->items[i];
        struct attribute *to = &copy->items[i];
        *to = (struct attribute){
            .name = g_strdup(from->name), .kind = from->kind, .count = from->count};
        to->ints = from->ints ? copy_array(from->ints, from->count, sizeof(*to->ints)) : NULL;
        to->floats =
            from->floats ? copy_array(from->floats, from->count, sizeof(*to->floats)) : NULL;
        to->strings = g_strdupv(from->strings);
        to->tensor = tensor_ref(from->tensor);
    }
    return copy;
}

const struct attribute *attributes_find(const struct attributes *attributes, const char *name)
{
    for (int i = 0; attributes && i < attributes->count; i++) {
        if (strcmp(attributes->items[i].name, name) == 0)
            return &attributes->items[i];
    }
    return NULL;
}

static const struct attribute *find_kind(const struct attributes *attributes, const char *name,
                                         enum attribute_kind kind)
{
    const struct attribute *attribute = attributes_find(attributes, name);
    return attribute && attribute->kind == kind ? attribute : NULL;
}

static bool attribute_equal(const struct attribute *a, const struct attribute *b)
{
    if (a->kind != b->kind || a->count != b->count)
        return false;
    gsize count = (gsize)a->count;
    if (a->ints && memcmp(a->ints, b->ints, count * sizeof(*a->ints)) != 0)
        return false;
    if (a->floats && memcmp(a->floats, b->floats, count * sizeof(*a->floats)) != 0)
        return false;
    if (a->strings &&
        !g_strv_equal((const char *const *)a->strings, (const char *const *)b->strings))
        return false;
    return tensor_equal(a->tensor, b->tensor);
}

bool attributes_equal(const struct attributes *a, const struct attributes *b)
{
    int count = a ? a->count : 0;
    if (count != (b ? b->count : 0))
        return false;
    for (int i = 0; i < count; i++) {
        const struct attribute *other = attributes_find(b, a->items[i].name);
        if (!other || !attribute_equal(&a->items[i], other))
            return false;
    }
    return true;
}

int64_t attributes_int(const struct attributes *attributes, const char *name, int64_t missing)
{
    const struct attribute *attribute = find_kind(attributes, name, ATTRIBUTE_INT);
    return attribute ? attribute->ints[0] : missing;
}

double attributes_float(const struct attributes *attributes, const char *name, double missing)
{
    const struct attribute *attribute = find_kind(attributes, name, ATTRIBUTE_FLOAT);
    return attribute ? attribute->floats[0] : missing;
}

const char *attributes_string(const struct attributes *attributes, const char *name,
                              const char *missing)
{
    const struct attribute *attribute = find_kind(attributes, name, ATTRIBUTE_STRING);
    return attribute ? attribute->strings[0] : missing;
}

const int64_t *attributes_ints(const struct attributes *attributes, const char *name, int *count)
{
    const struct attribute *attribute = find_kind(attributes, name, ATTRIBUTE_INTS);
    *count = attribute ? attribute->count : 0;
    return attribute ? attribute->ints : NULL;
}

const double *attributes_floats(const struct attributes *attributes, const char *name, int *count)
{
    const struct attribute *attribute = find_kind(attributes, name, ATTRIBUTE_FLOATS);
    *count = attribute ? attribute->count : 0;
    return attribute ? attribute->floats : NULL;
}

struct tensor *attributes_tensor(const struct attributes *attributes, const char *name)
{
    const struct attribute *attribute = find_kind(attributes, name, ATTRIBUTE_TENSOR);
    return attribute ? attribute->tensor : NULL;
}
