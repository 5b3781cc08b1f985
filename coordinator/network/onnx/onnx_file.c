#include "coordinator/network/onnx/onnx_file.h"

#include "coordinator/network/onnx/onnx_wire.h"
#include "export/formats/export_error.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The decoder may take this much memory: for each byte of the file, and in any case. Nodes of real models take about 4
 * bytes for each of theirs, weights take 1. */
#define MEMORY_TIMES 16
#define MEMORY_FREE  (UINT64_C(16) << 20)

enum { LOCATION_EXTERNAL = 1 }; /* TensorProto.DataLocation */

struct onnx_file {
    char *name, *folder;
    Onnx__ModelProto *model;
};

G_GNUC_PRINTF(4, 5)
static bool fail(const char *name, enum export_error code, GError **error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *why = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    g_set_error(error, EXPORT_ERROR, (gint)code, "cannot read the ONNX model '%s': %s", name, why);
    return false;
}

bool onnx_file_is_model(const void *head, size_t length)
{
    return onnx_wire_is_model(head, length);
}

static bool is_own_domain(const char *domain)
{
    return domain == NULL || domain[0] == '\0' || strcmp(domain, "ai.onnx") == 0;
}

int onnx_file_opset(const OnnxFile *file, const char *domain)
{
    for (size_t i = 0; i < file->model->n_opset_import; i++) {
        const Onnx__OperatorSetIdProto *set = file->model->opset_import[i];
        bool same = is_own_domain(domain) ? is_own_domain(set->domain)
                                          : set->domain != NULL && strcmp(set->domain, domain) == 0;
        if (same && set->has_version && set->version > 0 && set->version <= INT_MAX) {
            return (int)set->version;
        }
    }
    return 0;
}

static bool check_model(const OnnxFile *file, GError **error)
{
    if (file->model->graph == NULL) {
        return fail(file->name, EXPORT_ERROR_DAMAGED, error,
                    "it has no graph (is the file cut off, or no model at all?)");
    }
    int opset = onnx_file_opset(file, "");
    if (opset == 0 && file->model->ir_version < 3) {
        opset = 1; /* the first models had no list of opsets */
    }
    bool uses_own = opset != 0;
    for (size_t i = 0; i < file->model->graph->n_node && !uses_own; i++) {
        uses_own = is_own_domain(file->model->graph->node[i]->domain);
    }
    if (uses_own && (opset < ONNX_OPSET_MIN || opset > ONNX_OPSET_MAX)) {
        return fail(file->name, EXPORT_ERROR_KIND, error,
                    opset == 0
                        ? "it does not say which version of ONNX's operators it uses (opset %d); "
                          "versions %d to %d are read"
                        : "it uses version %d of ONNX's operators (opset), and versions %d to %d "
                          "are read: convert it with onnx.version_converter",
                    opset, ONNX_OPSET_MIN, ONNX_OPSET_MAX);
    }
    return true;
}

OnnxFile *onnx_file_new(const char *name, const char *folder, const void *bytes, size_t length,
                        GError **error)
{
    g_autoptr(OnnxFile) file = g_new0(OnnxFile, 1);
    g_autoptr(GError) wrong = NULL;
    file->name = g_utf8_make_valid(name, -1);
    file->folder = g_strdup(folder);
    if (length == 0) {
        fail(file->name, EXPORT_ERROR_DAMAGED, error, "it is empty");
        return NULL;
    }
    if (length > ONNX_BYTES_MAX) {
        fail(file->name, EXPORT_ERROR_DAMAGED, error,
             "it has %zu bytes, more than a model can have", length);
        return NULL;
    }
    size_t memory = (size_t)MEMORY_FREE + MEMORY_TIMES * length;
    if (!onnx_wire_check(&onnx__model_proto__descriptor, bytes, length, memory, &wrong)) {
        fail(file->name, EXPORT_ERROR_DAMAGED, error, "%s", wrong->message);
        return NULL;
    }
    file->model = onnx__model_proto__unpack(NULL, length, bytes);
    if (file->model == NULL) {
        fail(file->name, EXPORT_ERROR_DAMAGED, error, "its bytes are no message of protobuf");
        return NULL;
    }
    return check_model(file, error) ? g_steal_pointer(&file) : NULL;
}

void onnx_file_free(OnnxFile *file)
{
    if (file == NULL) {
        return;
    }
    if (file->model != NULL) {
        onnx__model_proto__free_unpacked(file->model, NULL);
    }
    g_free(file->name);
    g_free(file->folder);
    g_free(file);
}

const char *onnx_file_name(const OnnxFile *file)
{
    return file->name;
}

const Onnx__ModelProto *onnx_file_model(const OnnxFile *file)
{
    return file->model;
}

/* ---- tensors ---- */

/* The name that messages give a tensor. */
static const char *name_of(const Onnx__TensorProto *tensor)
{
    return tensor->name != NULL && tensor->name[0] != '\0' ? tensor->name : "of a node";
}

G_GNUC_PRINTF(4, 5)
static bool tensor_error(const Onnx__TensorProto *tensor, enum export_error code, GError **error,
                         const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *why = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    g_autofree char *name = g_utf8_make_valid(name_of(tensor), -1);
    g_set_error(error, EXPORT_ERROR, (gint)code, "tensor '%s' %s", name, why);
    return false;
}

bool onnx_tensor_elements(const Onnx__TensorProto *tensor, int64_t *elements, GError **error)
{
    *elements = 1;
    if (tensor->n_dims > ONNX_RANK_MAX) {
        return tensor_error(tensor, EXPORT_ERROR_DAMAGED, error,
                            "has %zu axes, more than %d are not read", tensor->n_dims,
                            ONNX_RANK_MAX);
    }
    for (size_t i = 0; i < tensor->n_dims; i++) {
        int64_t size = tensor->dims[i];
        if (size < 0) {
            return tensor_error(tensor, EXPORT_ERROR_DAMAGED, error,
                                "has the size %" PRId64 " on axis %zu", size, i);
        }
        if (size > 0 && *elements > ONNX_ELEMENTS_MAX / size) {
            return tensor_error(tensor, EXPORT_ERROR_DAMAGED, error, "has more than 2^40 elements");
        }
        *elements *= size;
    }
    return true;
}

bool onnx_tensor_has_data(const Onnx__TensorProto *tensor)
{
    return tensor->raw_data.len > 0 || tensor->n_float_data > 0 || tensor->n_int32_data > 0 ||
           tensor->n_int64_data > 0 || tensor->n_double_data > 0 || tensor->n_uint64_data > 0 ||
           tensor->data_location == LOCATION_EXTERNAL;
}

/* Where the data of a tensor are in another file. */
struct place {
    const char *location;
    int64_t offset;
    int64_t length; /* -1: down to the file's end */
};

static bool read_place(const Onnx__TensorProto *tensor, struct place *place, GError **error)
{
    *place = (struct place){.length = -1};
    for (size_t i = 0; i < tensor->n_external_data; i++) {
        const char *key = tensor->external_data[i]->key, *value = tensor->external_data[i]->value;
        int64_t *number = NULL;
        if (key == NULL || value == NULL) {
            continue;
        }
        if (strcmp(key, "location") == 0) {
            place->location = value;
        } else if (strcmp(key, "offset") == 0) {
            number = &place->offset;
        } else if (strcmp(key, "length") == 0) {
            number = &place->length;
        }
        if (number != NULL && !g_ascii_string_to_signed(value, 10, 0, INT64_MAX, number, NULL)) {
            return tensor_error(tensor, EXPORT_ERROR_DAMAGED, error,
                                "is in another file with the %s '%.40s', which is no number", key,
                                value);
        }
    }
    return place->location != NULL || tensor_error(tensor, EXPORT_ERROR_DAMAGED, error,
                                                   "is in another file and does not say in which");
}

/* Opens the file that a tensor names. The file must be in the model's folder, also after links are followed. */
static int open_place(const OnnxFile *file, const Onnx__TensorProto *tensor,
                      const struct place *place, GError **error)
{
    if (file->folder == NULL) {
        tensor_error(
            tensor, EXPORT_ERROR_IO, error,
            "is in the file '%s' beside the model: name the model's file instead of a pipe",
            place->location);
        return -1;
    }
    g_autofree char *path = g_build_filename(file->folder, place->location, NULL);
    /* A file that is outside is refused whether it exists or not. */
    g_autofree char *plain = g_canonicalize_filename(place->location, "/folder");
    bool outside = g_path_is_absolute(place->location) || !g_str_has_prefix(plain, "/folder/");
    char *real = realpath(path, NULL), *folder = realpath(file->folder, NULL);
    if (!outside && (real == NULL || folder == NULL)) {
        tensor_error(tensor, EXPORT_ERROR_IO, error,
                     "is in the file '%s', which cannot be read: %s", path, g_strerror(errno));
        free(real);
        free(folder);
        return -1;
    }
    if (!outside) {
        size_t length = strlen(folder);
        outside = strncmp(real, folder, length) != 0 || (length > 1 && real[length] != '/');
    }
    int fd = outside ? -1 : open(real, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    free(real);
    free(folder);
    if (outside) {
        tensor_error(
            tensor, EXPORT_ERROR_DAMAGED, error,
            "is in the file '%s', which is outside the model's folder: only files in it are "
            "read",
            place->location);
        return -1;
    }
    struct stat status;
    if (fd < 0 || fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
        tensor_error(tensor, EXPORT_ERROR_IO, error,
                     "is in '%s', which is no file that can be read", path);
        if (fd >= 0) {
            close(fd);
        }
        return -1;
    }
    return fd;
}

static bool read_whole(int fd, guint8 *data, size_t length, int64_t offset)
{
    for (size_t done = 0; done < length;) {
        ssize_t got = pread(fd, data + done, length - done, offset + (int64_t)done);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return false;
        }
        done += (size_t)got;
    }
    return true;
}

static GBytes *read_external(const OnnxFile *file, const Onnx__TensorProto *tensor, size_t bytes,
                             GError **error)
{
    struct place place;
    struct stat status;
    if (!read_place(tensor, &place, error)) {
        return NULL;
    }
    if (place.length >= 0 && (uint64_t)place.length != bytes) {
        tensor_error(tensor, EXPORT_ERROR_DAMAGED, error,
                     "has %zu bytes, and %" PRId64 " in the file '%s'", bytes, place.length,
                     place.location);
        return NULL;
    }
    int fd = open_place(file, tensor, &place, error);
    if (fd < 0) {
        return NULL;
    }
    guint8 *data = NULL;
    bool inside = fstat(fd, &status) == 0 && place.offset <= status.st_size &&
                  bytes <= (uint64_t)(status.st_size - place.offset);
    if (inside && (data = g_try_malloc(MAX(bytes, 1))) != NULL &&
        read_whole(fd, data, bytes, place.offset)) {
        close(fd);
        return g_bytes_new_take(data, bytes);
    }
    g_free(data);
    close(fd);
    tensor_error(tensor, EXPORT_ERROR_DAMAGED, error,
                 "needs %zu bytes from byte %" PRId64 " on of the file '%s', which ends before%s",
                 bytes, place.offset, place.location, inside ? " or cannot be read" : "");
    return NULL;
}

/* The list of numbers that holds the elements of a type. */
struct list {
    const void *numbers;
    size_t count;
    size_t bytes; /* of a number in the list */
};

static struct list list_of(const Onnx__TensorProto *tensor)
{
    switch (tensor->data_type) {
    case ONNX_FLOAT: return (struct list){tensor->float_data, tensor->n_float_data, 4};
    case ONNX_DOUBLE: return (struct list){tensor->double_data, tensor->n_double_data, 8};
    case ONNX_INT64: return (struct list){tensor->int64_data, tensor->n_int64_data, 8};
    case ONNX_UINT32:
    case ONNX_UINT64: return (struct list){tensor->uint64_data, tensor->n_uint64_data, 8};
    default: return (struct list){tensor->int32_data, tensor->n_int32_data, 4};
    }
}

/* Copies the lowest `bytes` bytes of each number. Numbers are in this machine's order, which is that of ONNX, lowest
 * byte first, on all machines that Skipjack runs on. */
static GBytes *pack_list(const struct list *list, size_t bytes)
{
    G_STATIC_ASSERT(G_BYTE_ORDER == G_LITTLE_ENDIAN);
    guint8 *data = g_malloc(MAX(list->count * bytes, 1));
    const guint8 *numbers = list->numbers;
    for (size_t i = 0; i < list->count; i++) {
        memcpy(data + i * bytes, numbers + i * list->bytes, bytes);
    }
    return g_bytes_new_take(data, list->count * bytes);
}

GBytes *onnx_file_tensor_data(const OnnxFile *file, const Onnx__TensorProto *tensor, GError **error)
{
    int64_t elements;
    int bits = onnx_type_bits(tensor->data_type);
    if (!onnx_tensor_elements(tensor, &elements, error)) {
        return NULL;
    }
    if (bits < 8 || bits > 64) {
        tensor_error(tensor, EXPORT_ERROR_KIND, error,
                     "has elements of the type %s, which is not read",
                     onnx_type_name(tensor->data_type));
        return NULL;
    }
    size_t size = (size_t)bits / 8, bytes = (size_t)elements * size;
    if (tensor->data_location == LOCATION_EXTERNAL) {
        return read_external(file, tensor, bytes, error);
    }
    if (tensor->raw_data.len > 0) {
        if (tensor->raw_data.len != bytes) {
            tensor_error(tensor, EXPORT_ERROR_DAMAGED, error,
                         "should have %zu bytes for %" PRId64 " elements of type %s and has %zu",
                         bytes, elements, onnx_type_name(tensor->data_type), tensor->raw_data.len);
            return NULL;
        }
        return g_bytes_new(tensor->raw_data.data, bytes);
    }
    struct list list = list_of(tensor);
    if (list.count != (size_t)elements) {
        tensor_error(tensor, EXPORT_ERROR_DAMAGED, error,
                     "should have %" PRId64 " elements of type %s and has %zu", elements,
                     onnx_type_name(tensor->data_type), list.count);
        return NULL;
    }
    return pack_list(&list, size);
}
