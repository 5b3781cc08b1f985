#include "kernels/program.h"

#include <string.h>

#include "kernels/kernel_source.h"
#include "kernels/objects/amd_object.h"
#include "kernels/objects/cuda_object.h"
#include "kernels/objects/instructions.h"

/* Reads a ready code object's file. Free the bytes with g_bytes_unref(). */
static GBytes *object_read(const char *file, const struct target *target, GError **error)
{
    const char *folder = g_getenv("SKIPJACK_OBJECTS");
    g_autoptr(GError) why = NULL;
    g_autofree char *path = NULL;
    char *bytes;
    gsize size;

    if (!folder || !*folder) {
        g_set_error(error, KERNELS_ERROR, KERNELS_ERROR_SOURCE,
                    "'%s' is a ready code object: name the folder that has %s/%s in "
                    "SKIPJACK_OBJECTS",
                    file, target->arch, file);
        return NULL;
    }
    path = g_build_filename(folder, target->arch, file, NULL);
    if (g_file_get_contents(path, &bytes, &size, &why))
        return g_bytes_new_take(bytes, size);
    g_set_error(error, KERNELS_ERROR, KERNELS_ERROR_SOURCE,
                "cannot read a ready code object: %s (SKIPJACK_OBJECTS names its folder)",
                why->message);
    return NULL;
}

static void hash_bytes(GBytes *bytes, char hash[PROGRAM_HASH_LENGTH + 1])
{
    g_autofree char *sum = g_compute_checksum_for_bytes(G_CHECKSUM_SHA256, bytes);

    g_strlcpy(hash, sum, PROGRAM_HASH_LENGTH + 1);
}

bool program_hash(const char *file, const struct target *target, char hash[PROGRAM_HASH_LENGTH + 1],
                  GError **error)
{
    const struct kernel_source *source;
    g_autoptr(GBytes) bytes = NULL;

    if (program_kind_of(file) != PROGRAM_OBJECT) {
        source = kernel_source_find(file, error);
        if (source)
            g_strlcpy(hash, source->sha256, PROGRAM_HASH_LENGTH + 1);
        return source != NULL;
    }
    bytes = object_read(file, target, error);
    if (bytes)
        hash_bytes(bytes, hash);
    return bytes != NULL;
}

static bool other_target(const char *made_for, const struct target *target, GError **error)
{
    g_set_error(error, KERNELS_ERROR, KERNELS_ERROR_OBJECT,
                "it is a code object for %s, and the target is %s", made_for, target->id);
    return false;
}

static bool take_amd_facts(GBytes *bytes, const char *entry, const struct target *target,
                           struct code_object *object, GError **error)
{
    struct amd_object read;

    if (!amd_object_read(bytes, entry, &read, error))
        return false;
    if (!amd_object_suits(read.target, target))
        return other_target(read.target, target, error);
    amd_kernel_facts(&read.kernel, object);
    return true;
}

static bool take_cuda_facts(GBytes *bytes, const char *entry, const struct target *target,
                            struct code_object *object, GError **error)
{
    struct cuda_object read;

    if (!cuda_object_read(bytes, entry, &read, error))
        return false;
    if (!cuda_object_suits(&read, target)) {
        g_autofree char *made_for = g_strdup_printf("sm_%d", read.arch);
        return other_target(made_for, target, error);
    }
    object->registers = (int)read.registers;
    object->scratch_bytes = read.stack_bytes;
    return true;
}

/* Checks a ready object and sets registers, spills and memory from it (nothing for CPUs). False where the object is
 * damaged or made for another target. */
static bool take_facts(GBytes *bytes, const char *entry, const struct target *target,
                       struct code_object *object, GError **error)
{
    object->registers = object->spills = -1;
    object->accumulation_registers = object->scalar_registers = -1;
    object->scratch_bytes = -1;
    switch (target->vendor) {
    case VENDOR_AMD: return take_amd_facts(bytes, entry, target, object, error);
    case VENDOR_NVIDIA: return take_cuda_facts(bytes, entry, target, object, error);
    case VENDOR_CPU: return true;
    }
    g_assert_not_reached();
}

/* Refuses an object whose file was replaced since the kernel was asked for: its code must not be stored under the old
 * object's key. */
static bool check_asked_for(GBytes *bytes, const struct program *program, GError **error)
{
    char hash[PROGRAM_HASH_LENGTH + 1];

    if (g_bytes_get_size(bytes) == 0) {
        g_set_error(error, KERNELS_ERROR, KERNELS_ERROR_OBJECT, "%s is empty", program->file);
        return false;
    }
    if (!program->hash)
        return true;
    hash_bytes(bytes, hash);
    if (strcmp(hash, program->hash) == 0)
        return true;
    g_set_error(error, KERNELS_ERROR, KERNELS_ERROR_SOURCE,
                "%s is not the object that was asked for: SHA-256 %s, asked for %s", program->file,
                hash, program->hash);
    return false;
}

static bool take_ready_object(const struct program *program, const struct target *target,
                              struct code_object *object, GError **error)
{
    gint64 start = g_get_monotonic_time();
    g_autoptr(GBytes) bytes = object_read(program->file, target, error);

    if (!bytes || !check_asked_for(bytes, program, error))
        return false;
    if (!take_facts(bytes, program->entry, target, object, error)) {
        g_prefix_error(error, "%s: ", program->file);
        return false;
    }
    object->code = g_steal_pointer(&bytes);
    object->log = g_strdup("");
    object->seconds = (double)(g_get_monotonic_time() - start) / G_USEC_PER_SEC;
    return true;
}

static bool build(const struct toolchain *toolchain, const struct program *program,
                  const struct target *target, struct code_object *object, GError **error)
{
    enum program_kind kind = program_kind_of(program->file);
    const struct kernel_source *source;

    memset(object, 0, sizeof(*object));
    if (kind == PROGRAM_OBJECT)
        return take_ready_object(program, target, object, error);
    source = kernel_source_find(program->file, error);
    if (!source)
        return false;
    if (kind == PROGRAM_SOURCE)
        return toolchain->compile(source->text, program->options, program->entry, target, object,
                                  error);
    if (toolchain->assemble)
        return toolchain->assemble(source->text, program->options, program->entry, target, object,
                                   error);
    g_set_error(error, KERNELS_ERROR, KERNELS_ERROR_COMPILE,
                "%s is assembly, and the %s toolchain assembles nothing", program->file,
                toolchain->name);
    return false;
}

bool program_build(const struct toolchain *toolchain, const struct program *program,
                   const struct target *target, struct code_object *object, GError **error)
{
    if (!build(toolchain, program, target, object, error))
        return false;
    object->instructions = instructions_count(object->code, program->entry, target);
    return true;
}
