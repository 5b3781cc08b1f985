#include "kernels/objects/cuda_object.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/objects/span.h"

/* up to this ABI version the ELF header's flags hold the architecture in their lowest byte */
#define ABI_LOW_ARCH 7

/* type of the sections ".nv.info" (all kernels) and ".nv.info.NAME" (one kernel) */
#define SECTION_INFO  (SHT_LOPROC + 0u)
/* an attribute of this format is followed by its value; a count of bytes precedes the value */
#define FORMAT_VALUE  4
#define NEEDS_A_STACK 0x12
#define NEEDS_REGS    0x2f
#define NOTE_TOOL     ".note.nv.tkinfo"
#define TOOL_RELEASE  ", V"

struct cubin {
    struct span whole, names; /* bytes of the whole file, and of the table of section names */
    Elf64_Ehdr header;
};

static bool object_error(GError **error, const char *what)
{
    g_set_error(error, KERNELS_ERROR, KERNELS_ERROR_OBJECT, "the code object %s", what);
    return false;
}

static bool section_at(const struct cubin *cubin, uint64_t index, Elf64_Shdr *section)
{
    uint64_t from = cubin->header.e_shoff;

    return index < cubin->header.e_shnum && from <= cubin->whole.length &&
           span_copy(&cubin->whole, from + index * sizeof(*section), section, sizeof(*section));
}

/* Sets *bytes to a section's bytes; empty for a section that has none in the file. False where they pass the file's
 * end. */
static bool section_bytes(const struct cubin *cubin, const Elf64_Shdr *section, struct span *bytes)
{
    *bytes = (struct span){NULL, 0};
    return section->sh_type == SHT_NOBITS ||
           span_part(&cubin->whole, section->sh_offset, section->sh_size, bytes);
}

static const char *section_name(const struct cubin *cubin, const Elf64_Shdr *section)
{
    const char *name = span_text(&cubin->names, section->sh_name);

    return name ? name : "";
}

static bool cubin_open(GBytes *code, struct cubin *cubin, GError **error)
{
    Elf64_Ehdr *header = &cubin->header;
    Elf64_Shdr names;
    gsize length;

    cubin->whole.start = g_bytes_get_data(code, &length);
    cubin->whole.length = length;
    if (!span_copy(&cubin->whole, 0, header, sizeof(*header)) ||
        memcmp(header->e_ident, ELFMAG, SELFMAG) != 0)
        return object_error(error, "is no ELF file");
    if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB ||
        header->e_machine != EM_CUDA)
        return object_error(error, "is made for another machine than an NVIDIA GPU");
    if (header->e_type != ET_EXEC)
        return object_error(error, "is not linked: it cannot be loaded");
    if (header->e_shentsize != sizeof(Elf64_Shdr) ||
        !section_at(cubin, header->e_shstrndx, &names) ||
        !section_bytes(cubin, &names, &cubin->names))
        return object_error(error, "is damaged: it ends before its sections' names");
    return true;
}

/* Whether the file holds every section and the table of segments; otherwise it was cut short. */
static bool is_whole(const struct cubin *cubin)
{
    struct span segments;

    if (!span_part(&cubin->whole, cubin->header.e_phoff,
                   (uint64_t)cubin->header.e_phnum * sizeof(Elf64_Phdr), &segments))
        return false;
    for (uint64_t i = 0; i < cubin->header.e_shnum; i++) {
        Elf64_Shdr section;
        struct span bytes;
        if (!section_at(cubin, i, &section) || !section_bytes(cubin, &section, &bytes))
            return false;
    }
    return true;
}

/* ---- the kernel ---- */

/* Finds the kernel's number in a table of symbols; attributes refer to kernels by this number. */
static bool symbol_find(const struct span *table, const struct span *texts, const char *entry,
                        uint32_t *number)
{
    Elf64_Sym symbol;

    for (uint32_t i = 0; span_copy(table, i * sizeof(symbol), &symbol, sizeof(symbol)); i++) {
        const char *name = span_text(texts, symbol.st_name);
        if (ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && symbol.st_shndx != SHN_UNDEF && name &&
            strcmp(name, entry) == 0) {
            *number = i;
            return true;
        }
    }
    return false;
}

static bool kernel_find(const struct cubin *cubin, const char *entry, uint32_t *number)
{
    for (uint64_t i = 0; i < cubin->header.e_shnum; i++) {
        Elf64_Shdr section, texts;
        struct span table, names;
        if (section_at(cubin, i, &section) && section.sh_type == SHT_SYMTAB &&
            section_at(cubin, section.sh_link, &texts) && section_bytes(cubin, &section, &table) &&
            section_bytes(cubin, &texts, &names) && symbol_find(&table, &names, entry, number))
            return true;
    }
    return false;
}

/* An attribute is a byte of format, a byte of number, and 16 bits: a value, or for FORMAT_VALUE the count of
 * bytes that follow. Attributes of a kernel begin with the kernel's number. */
static void info_take(const struct span *info, uint32_t kernel, struct cuda_object *object)
{
    uint8_t head[2];
    uint16_t length;
    uint32_t values[2];

    for (uint64_t at = 0; span_copy(info, at, head, sizeof(head)) &&
                          span_copy(info, at + sizeof(head), &length, sizeof(length));) {
        at += sizeof(head) + sizeof(length);
        if (head[0] != FORMAT_VALUE)
            continue;
        if (length == sizeof(values) && span_copy(info, at, values, sizeof(values)) &&
            values[0] == kernel && values[1] <= INT32_MAX) {
            object->registers = head[1] == NEEDS_REGS ? values[1] : object->registers;
            object->stack_bytes = head[1] == NEEDS_A_STACK ? values[1] : object->stack_bytes;
        }
        at += length;
    }
}

/* Takes the compiler's version from a note with the text "Cuda compilation tools, release 13.0, V13.0.88". */
static void compiler_take(const struct span *note, struct cuda_object *object)
{
    const char *found = memmem(note->start, note->length, TOOL_RELEASE, strlen(TOOL_RELEASE));
    size_t room;

    if (!found)
        return;
    found += strlen(", ");
    room = (size_t)((const char *)note->start + note->length - found);
    for (size_t i = 0; i < MIN(room, sizeof(object->compiler) - 1); i++) {
        if (!g_ascii_isalnum(found[i]) && found[i] != '.')
            break;
        object->compiler[i] = found[i];
    }
}

static void sections_take(const struct cubin *cubin, uint32_t kernel, struct cuda_object *object)
{
    for (uint64_t i = 0; i < cubin->header.e_shnum; i++) {
        Elf64_Shdr section;
        struct span bytes;
        if (!section_at(cubin, i, &section) || !section_bytes(cubin, &section, &bytes))
            continue;
        if (section.sh_type == SECTION_INFO && bytes.start)
            info_take(&bytes, kernel, object);
        else if (strcmp(section_name(cubin, &section), NOTE_TOOL) == 0 && bytes.start)
            compiler_take(&bytes, object);
    }
}

bool cuda_object_read(GBytes *code, const char *entry, struct cuda_object *object, GError **error)
{
    struct cubin cubin;
    uint32_t kernel;

    memset(object, 0, sizeof(*object));
    object->registers = object->stack_bytes = -1;
    if (!cubin_open(code, &cubin, error))
        return false;
    if (!is_whole(&cubin))
        return object_error(error, "is damaged: it ends within its sections");
    if (!kernel_find(&cubin, entry, &kernel)) {
        g_set_error(error, KERNELS_ERROR, KERNELS_ERROR_OBJECT,
                    "the code object has no kernel '%s'", entry);
        return false;
    }
    object->arch = cubin.header.e_ident[EI_ABIVERSION] <= ABI_LOW_ARCH
                       ? (int)(cubin.header.e_flags & 0xff)
                       : (int)(cubin.header.e_flags >> 8 & 0xff);
    sections_take(&cubin, kernel, object);
    return true;
}

bool cuda_object_suits(const struct cuda_object *object, const struct target *target)
{
    return g_str_has_prefix(target->arch, "sm_") &&
           atoi(target->arch + strlen("sm_")) == object->arch;
}
