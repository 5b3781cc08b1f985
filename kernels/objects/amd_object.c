#include "kernels/objects/amd_object.h"

#include <elf.h>
#include <string.h>

#include "kernels/objects/msgpack.h"
#include "kernels/objects/span.h"

#define ELFOSABI_AMDGPU_HSA 64
#define NT_AMDGPU_METADATA  32
#define TARGET_PREFIX       "amdgcn-amd-amdhsa--"

static bool object_error(GError **error, const char *what)
{
    g_set_error(error, KERNELS_ERROR, KERNELS_ERROR_OBJECT, "the code object %s", what);
    return false;
}

static bool header_read(const struct span *whole, Elf64_Ehdr *header, GError **error)
{
    if (!span_copy(whole, 0, header, sizeof(*header)) ||
        memcmp(header->e_ident, ELFMAG, SELFMAG) != 0)
        return object_error(error, "is no ELF file");
    if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB ||
        header->e_machine != EM_AMDGPU || header->e_ident[EI_OSABI] != ELFOSABI_AMDGPU_HSA)
        return object_error(error, "is made for another machine than an AMD GPU");
    if (header->e_type != ET_DYN)
        return object_error(error, "is not linked: it cannot be loaded");
    if (header->e_phentsize != sizeof(Elf64_Phdr))
        return object_error(error, "is damaged: its program headers have no known size");
    return true;
}

/* The length rounded up to four bytes: an ELF note's name and contents are padded so. */
static uint64_t padded(uint64_t length)
{
    return (length + 3) / 4 * 4;
}

/* Finds AMD's metadata among the notes of an ELF segment. */
static bool notes_find(const struct span *notes, struct span *metadata)
{
    uint64_t at = 0;
    Elf64_Nhdr note;

    while (span_copy(notes, at, &note, sizeof(note))) {
        uint64_t name = at + sizeof(note), contents = name + padded(note.n_namesz);
        struct span owner;
        if (note.n_type == NT_AMDGPU_METADATA && span_part(notes, name, note.n_namesz, &owner) &&
            owner.length == sizeof("AMDGPU") && memcmp(owner.start, "AMDGPU", owner.length) == 0)
            return span_part(notes, contents, note.n_descsz, metadata);
        at = contents + padded(note.n_descsz);
    }
    return false;
}

static bool metadata_find(const struct span *whole, struct span *metadata, GError **error)
{
    Elf64_Ehdr header;
    Elf64_Phdr segment;
    struct span notes;

    if (!header_read(whole, &header, error))
        return false;
    if (header.e_phoff > whole->length)
        return object_error(error, "is damaged: it ends before its program headers");
    for (uint64_t i = 0; i < header.e_phnum; i++) {
        if (!span_copy(whole, header.e_phoff + i * sizeof(segment), &segment, sizeof(segment)))
            return object_error(error, "is damaged: it ends within its program headers");
        if (segment.p_type == PT_LOAD && segment.p_filesz > 0 &&
            !span_part(whole, segment.p_offset, segment.p_filesz, &notes))
            return object_error(error, "is damaged: it ends within its code");
        if (segment.p_type == PT_NOTE && !metadata->start &&
            span_part(whole, segment.p_offset, segment.p_filesz, &notes))
            notes_find(&notes, metadata);
    }
    return metadata->start || object_error(error, "has no metadata of its kernels");
}

/* ---- metadata ---- */

static const struct {
    const char *name;
    size_t offset;
} needs[] = {
    {".vgpr_count", offsetof(struct amd_kernel, vector_registers)},
    {".sgpr_count", offsetof(struct amd_kernel, scalar_registers)},
    {".agpr_count", offsetof(struct amd_kernel, accumulation_registers)},
    {".vgpr_spill_count", offsetof(struct amd_kernel, vector_spills)},
    {".sgpr_spill_count", offsetof(struct amd_kernel, scalar_spills)},
    {".private_segment_fixed_size", offsetof(struct amd_kernel, scratch_bytes)},
    {".group_segment_fixed_size", offsetof(struct amd_kernel, local_bytes)},
};

/* Where to store the value of a metadata key: a field of *kernel, NULL for keys that are not read. */
static int64_t *need_of(struct amd_kernel *kernel, const struct msgpack_text *key)
{
    for (size_t i = 0; i < G_N_ELEMENTS(needs); i++)
        if (msgpack_text_is(key, needs[i].name))
            return (int64_t *)(void *)((char *)kernel + needs[i].offset);
    return NULL;
}

/* Reads one kernel's metadata, a map; *name is empty where the map has no name. */
static bool kernel_take(struct msgpack *cursor, struct amd_kernel *kernel,
                        struct msgpack_text *name)
{
    uint32_t count;
    struct msgpack_text key;

    *kernel = (struct amd_kernel){-1, -1, -1, -1, -1, -1, -1};
    *name = (struct msgpack_text){"", 0};
    if (!msgpack_take_map(cursor, &count))
        return false;
    for (; count > 0; count--) {
        int64_t *need;
        bool taken;
        if (!msgpack_take_text(cursor, &key))
            return false;
        need = need_of(kernel, &key);
        if (need)
            taken = msgpack_take_int(cursor, need) && *need >= 0 && *need <= INT32_MAX;
        else if (msgpack_text_is(&key, ".name"))
            taken = msgpack_take_text(cursor, name);
        else
            taken = msgpack_skip(cursor);
        if (!taken)
            return false;
    }
    return true;
}

/* Reads the metadata of all kernels and keeps that of the kernel named `entry`. *found says whether there is such a
 * kernel. */
static bool kernels_take(struct msgpack *cursor, const char *entry, struct amd_object *object,
                         bool *found)
{
    uint32_t count;

    if (!msgpack_take_array(cursor, &count))
        return false;
    for (; count > 0; count--) {
        struct amd_kernel kernel;
        struct msgpack_text name;
        if (!kernel_take(cursor, &kernel, &name))
            return false;
        if (!msgpack_text_is(&name, entry))
            continue;
        object->kernel = kernel;
        *found = true;
    }
    return true;
}

static bool target_take(struct msgpack *cursor, struct amd_object *object)
{
    struct msgpack_text text;

    if (!msgpack_take_text(cursor, &text) || text.length <= strlen(TARGET_PREFIX) ||
        memcmp(text.start, TARGET_PREFIX, strlen(TARGET_PREFIX)) != 0)
        return false;
    text.start += strlen(TARGET_PREFIX);
    text.length -= strlen(TARGET_PREFIX);
    if (text.length >= sizeof(object->target) || memchr(text.start, '\0', text.length))
        return false;
    memcpy(object->target, text.start, text.length);
    object->target[text.length] = '\0';
    return true;
}

static bool metadata_take(struct msgpack *cursor, const char *entry, struct amd_object *object,
                          bool *found)
{
    uint32_t count;
    struct msgpack_text key;

    if (!msgpack_take_map(cursor, &count))
        return false;
    for (; count > 0; count--) {
        bool taken;
        if (!msgpack_take_text(cursor, &key))
            return false;
        if (msgpack_text_is(&key, "amdhsa.kernels"))
            taken = kernels_take(cursor, entry, object, found);
        else if (msgpack_text_is(&key, "amdhsa.target"))
            taken = target_take(cursor, object);
        else
            taken = msgpack_skip(cursor);
        if (!taken)
            return false;
    }
    return true;
}

bool amd_object_read(GBytes *code, const char *entry, struct amd_object *object, GError **error)
{
    gsize length;
    const uint8_t *start = g_bytes_get_data(code, &length);
    const struct span whole = {start, length};
    struct span metadata = {NULL, 0};
    bool found = false;

    memset(object, 0, sizeof(*object));
    if (!metadata_find(&whole, &metadata, error))
        return false;
    struct msgpack cursor = {metadata.start, metadata.start + metadata.length};
    if (!metadata_take(&cursor, entry, object, &found))
        return object_error(error, "is damaged: its metadata cannot be read");
    if (!object->target[0])
        return object_error(error, "does not state its target: it is older than version 4");
    if (!found) {
        g_set_error(error, KERNELS_ERROR, KERNELS_ERROR_OBJECT,
                    "the code object has no kernel '%s'", entry);
        return false;
    }
    return true;
}

void amd_kernel_facts(const struct amd_kernel *kernel, struct code_object *object)
{
    bool told = kernel->vector_spills >= 0 || kernel->scalar_spills >= 0;

    object->registers = (int)kernel->vector_registers;
    object->accumulation_registers = (int)kernel->accumulation_registers;
    object->scalar_registers = (int)kernel->scalar_registers;
    object->spills =
        told ? (int)(MAX(kernel->vector_spills, 0) + MAX(kernel->scalar_spills, 0)) : -1;
    object->scratch_bytes = kernel->scratch_bytes;
    object->local_bytes = MAX(kernel->local_bytes, 0);
}

/* ---- targets ---- */

bool amd_object_suits(const char *object_target, const struct target *target)
{
    static const struct {
        /* a feature as the object's target spells it, and the opposite as our target spells it */
        const char *feature, *opposite;
    } clashes[] = {
        {":sramecc-", "_sramecc"},
        {":sramecc+", "_nosramecc"},
        {":xnack-", "_xnack"},
        {":xnack+", "_noxnack"},
    };
    gsize length = strcspn(object_target, ":");

    if (strlen(target->arch) != length || strncmp(object_target, target->arch, length) != 0)
        return false;
    for (size_t i = 0; i < G_N_ELEMENTS(clashes); i++)
        if (strstr(object_target, clashes[i].feature) &&
            strstr(target->features, clashes[i].opposite))
            return false;
    return true;
}

void amd_target_name(const struct target *target, char name[AMD_TARGET_MAX])
{
    /* In the order in which AMD's tools write features: alphabetical. */
    static const struct {
        const char *suffix, *feature;
    } features[] = {
        {"_nosramecc", ":sramecc-"},
        {"_sramecc", ":sramecc+"},
        {"_noxnack", ":xnack-"},
        {"_xnack", ":xnack+"},
    };

    g_strlcpy(name, target->arch, AMD_TARGET_MAX);
    for (size_t i = 0; i < G_N_ELEMENTS(features); i++)
        if (strstr(target->features, features[i].suffix))
            g_strlcat(name, features[i].feature, AMD_TARGET_MAX);
}
