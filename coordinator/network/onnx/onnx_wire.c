#include "coordinator/network/onnx/onnx_wire.h"

#include "export/formats/export_error.h"
#include "onnx.pb-c.h"

#include <inttypes.h>
#include <string.h>

#define ALLOCATION_BYTES 16   /* what malloc() adds to each piece of memory */
#define IR_VERSION_MAX   1000 /* far above the versions of the format that exist; they count by 1 */

/* The numbers that protobuf gives to the forms in which a field's value is written. */
enum wire {
    WIRE_VARINT = 0,
    WIRE_64BIT = 1,
    WIRE_BYTES = 2,
    WIRE_32BIT = 5,
};

/* A message that is being checked, within the message `outer`. */
struct frame {
    const struct frame *outer; /* NULL for the model */
    const ProtobufCMessageDescriptor *message;
    const ProtobufCFieldDescriptor *field; /* the field of this message that is being checked */
    guint index;                           /* how many such fields came before it */
    int depth;
};

struct check {
    const guint8 *begin;
    const guint8 *at, *end; /* `end`: of the message that is being checked */
    size_t memory, memory_max;
};

/* "graph.node[3].attribute[0]" */
static void write_place(const struct frame *frame, GString *text)
{
    if (frame->outer != NULL) {
        write_place(frame->outer, text);
    }
    if (frame->field != NULL) {
        g_string_append_printf(text, "%s%s", text->len > 0 ? "." : "", frame->field->name);
        if (frame->field->label == PROTOBUF_C_LABEL_REPEATED) {
            g_string_append_printf(text, "[%u]", frame->index);
        }
    }
}

G_GNUC_PRINTF(4, 5)
static bool damaged(const struct check *check, const struct frame *frame, GError **error,
                    const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *why = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    g_autoptr(GString) place = g_string_new(NULL);
    write_place(frame, place);
    g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_DAMAGED, "at byte %zu%s%s: %s",
                (size_t)(check->at - check->begin), place->len > 0 ? ", in " : "", place->str, why);
    return false;
}

/* Reads a number of 1 to 10 bytes. */
static bool read_varint(struct check *check, uint64_t *value)
{
    *value = 0;
    for (int shift = 0; shift < 70; shift += 7) {
        if (check->at == check->end) {
            return false;
        }
        guint8 byte = *check->at++;
        *value |= (uint64_t)(byte & 0x7f) << shift;
        if ((byte & 0x80) == 0) {
            return true;
        }
    }
    return false;
}

static size_t element_bytes(ProtobufCType type)
{
    switch (type) {
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_DOUBLE: return 8;
    case PROTOBUF_C_TYPE_BYTES: return sizeof(ProtobufCBinaryData);
    case PROTOBUF_C_TYPE_STRING:
    case PROTOBUF_C_TYPE_MESSAGE: return sizeof(void *);
    default: return 4;
    }
}

/* The form of a value of this type. */
static enum wire wire_of(ProtobufCType type)
{
    switch (type) {
    case PROTOBUF_C_TYPE_FLOAT: return WIRE_32BIT;
    case PROTOBUF_C_TYPE_DOUBLE: return WIRE_64BIT;
    case PROTOBUF_C_TYPE_STRING:
    case PROTOBUF_C_TYPE_BYTES:
    case PROTOBUF_C_TYPE_MESSAGE: return WIRE_BYTES;
    default: return WIRE_VARINT;
    }
}

static bool take_memory(struct check *check, const struct frame *frame, size_t bytes,
                        GError **error)
{
    if (bytes > check->memory_max - check->memory) {
        return damaged(
            check, frame, error,
            "reading it takes more than %zu MiB of memory, far more than a model of this "
            "size needs",
            check->memory_max >> 20);
    }
    check->memory += bytes;
    return true;
}

/* Passes over the numbers of a packed field, which end at `end`. */
static bool check_packed(struct check *check, const struct frame *frame, const guint8 *end,
                         GError **error)
{
    enum wire wire = wire_of(frame->field->type);
    size_t size = wire == WIRE_64BIT ? 8 : 4, length = (size_t)(end - check->at), count = 0;
    if (wire != WIRE_VARINT) {
        if (length % size != 0) {
            return damaged(check, frame, error, "%zu bytes are no whole number of values of %zu",
                           length, size);
        }
        check->at = end;
        return take_memory(check, frame, length, error);
    }
    const guint8 *outer_end = check->end;
    check->end = end;
    while (check->at < end) {
        uint64_t value;
        if (!read_varint(check, &value)) {
            return damaged(check, frame, error, "a number of the list does not end");
        }
        count++;
    }
    check->end = outer_end;
    return take_memory(check, frame, count * element_bytes(frame->field->type), error);
}

static bool check_message(struct check *check, const struct frame *outer,
                          const ProtobufCMessageDescriptor *message, const guint8 *end,
                          GError **error);

/* Checks a value that is written as a length and as many bytes. */
static bool check_bytes(struct check *check, const struct frame *frame, GError **error)
{
    const ProtobufCFieldDescriptor *field = frame->field;
    uint64_t length;
    const guint8 *begin = check->at;
    if (!read_varint(check, &length)) {
        check->at = begin;
        return damaged(check, frame, error, "its length does not end");
    }
    if (length > (uint64_t)(check->end - check->at)) {
        uint64_t left = (uint64_t)(check->end - check->at);
        check->at = begin;
        return damaged(check, frame, error,
                       "it should have %" PRIu64 " bytes and %" PRIu64
                       " are left (is the file cut off?)",
                       length, left);
    }
    const guint8 *end = check->at + length;
    if (field != NULL && field->type == PROTOBUF_C_TYPE_MESSAGE) {
        return check_message(check, frame, field->descriptor, end, error);
    }
    if (field != NULL && wire_of(field->type) != WIRE_BYTES) {
        return check_packed(check, frame, end, error);
    }
    if (field != NULL && field->type == PROTOBUF_C_TYPE_STRING &&
        memchr(check->at, '\0', length) != NULL) {
        return damaged(check, frame, error, "a text has a zero byte");
    }
    check->at = end;
    return take_memory(check, frame, length + 1 + ALLOCATION_BYTES, error);
}

/* Checks a field's value, written in the form `wire`. frame->field is NULL for a field that onnx.proto leaves out. */
static bool check_value(struct check *check, const struct frame *frame, unsigned wire,
                        GError **error)
{
    uint64_t value;
    size_t left = (size_t)(check->end - check->at);
    switch (wire) {
    case WIRE_VARINT:
        return read_varint(check, &value) || damaged(check, frame, error, "a number does not end");
    case WIRE_64BIT:
    case WIRE_32BIT: {
        size_t size = wire == WIRE_64BIT ? 8 : 4;
        if (left < size) {
            return damaged(check, frame, error, "a value should have %zu bytes and %zu are left",
                           size, left);
        }
        check->at += size;
        return true;
    }
    case WIRE_BYTES: return check_bytes(check, frame, error);
    default: return damaged(check, frame, error, "the form %u of a value is not known", wire);
    }
}

/* Returns true if a value of this form can belong to the field. */
static bool form_fits(const ProtobufCFieldDescriptor *field, unsigned wire)
{
    unsigned expected = wire_of(field->type);
    return wire == expected || (field->label == PROTOBUF_C_LABEL_REPEATED && wire == WIRE_BYTES);
}

static bool check_field(struct check *check, struct frame *frame, guint *counts, GError **error)
{
    uint64_t tag;
    const guint8 *begin = check->at;
    frame->field = NULL;
    if (!read_varint(check, &tag)) {
        check->at = begin;
        return damaged(check, frame, error, "a field's number does not end");
    }
    if (tag >> 3 == 0 || tag > UINT32_MAX) {
        check->at = begin;
        return damaged(check, frame, error, "a field has the number %" PRIu64, tag >> 3);
    }
    frame->field = protobuf_c_message_descriptor_get_field(frame->message, (unsigned)(tag >> 3));
    if (frame->field == NULL) {
        return take_memory(check, frame,
                           sizeof(ProtobufCMessageUnknownField) + ALLOCATION_BYTES + 16, error) &&
               check_value(check, frame, tag & 7, error);
    }
    if (!form_fits(frame->field, tag & 7)) {
        check->at = begin;
        return damaged(check, frame, error, "a value of the form %u cannot be one of this field",
                       (unsigned)(tag & 7));
    }
    frame->index = counts[frame->field - frame->message->fields]++;
    if (frame->field->label != PROTOBUF_C_LABEL_REPEATED &&
        frame->field->type == PROTOBUF_C_TYPE_MESSAGE && frame->index > 0) {
        check->at = begin;
        return damaged(check, frame, error, "it comes twice (are these two files joined?)");
    }
    return take_memory(check, frame, 2 * element_bytes(frame->field->type), error) &&
           check_value(check, frame, tag & 7, error);
}

#define FIELDS_MAX 32 /* more than any message of onnx.proto has */

static bool check_message(struct check *check, const struct frame *outer,
                          const ProtobufCMessageDescriptor *message, const guint8 *end,
                          GError **error)
{
    struct frame frame = {
        .outer = outer, .message = message, .depth = outer != NULL ? outer->depth + 1 : 0};
    guint counts[FIELDS_MAX] = {0};
    const guint8 *outer_end = check->end;
    g_assert(message->n_fields <= FIELDS_MAX);
    if (frame.depth > ONNX_MESSAGE_DEPTH_MAX) {
        return damaged(check, outer, error, "more than %d messages are nested",
                       ONNX_MESSAGE_DEPTH_MAX);
    }
    if (!take_memory(check, &frame, message->sizeof_message + ALLOCATION_BYTES, error)) {
        return false;
    }
    check->end = end;
    while (check->at < end) {
        if (!check_field(check, &frame, counts, error)) {
            return false;
        }
    }
    check->end = outer_end;
    return true;
}

bool onnx_wire_check(const ProtobufCMessageDescriptor *message, const guint8 *bytes, size_t length,
                     size_t memory_max, GError **error)
{
    struct check check = {
        .begin = bytes, .at = bytes, .end = bytes + length, .memory_max = memory_max};
    return check_message(&check, NULL, message, bytes + length, error);
}

bool onnx_wire_is_model(const guint8 *head, size_t length)
{
    struct check check = {.begin = head, .at = head, .end = head + length};
    const ProtobufCMessageDescriptor *model = &onnx__model_proto__descriptor;
    /* Every writer puts a message's fields in the order of their numbers. 6 and 20 are a model's fields that
     * onnx.proto leaves out. */
    uint64_t tag, value;
    if (!read_varint(&check, &tag) || tag != (1 << 3 | WIRE_VARINT) ||
        !read_varint(&check, &value) || value == 0 || value > IR_VERSION_MAX) {
        return false;
    }
    while (check.at < check.end) {
        if (!read_varint(&check, &tag) || tag > UINT32_MAX) {
            return check.at == check.end;
        }
        unsigned number = (unsigned)(tag >> 3);
        const ProtobufCFieldDescriptor *field =
            protobuf_c_message_descriptor_get_field(model, number);
        bool known = field != NULL || number == 6 || number == 20;
        unsigned wire = field != NULL ? wire_of(field->type) : WIRE_BYTES;
        if (!known || (tag & 7) != wire) {
            return false;
        }
        if (!read_varint(&check, &value)) {
            return check.at == check.end;
        }
        if (wire == WIRE_BYTES) {
            check.at += MIN(value, (uint64_t)(check.end - check.at));
        }
    }
    return true;
}
