#include "tests/support/kernels/cuda_note.h"

#include <elf.h>
#include <string.h>

#define NAMES "\0.shstrtab\0.strtab\0.symtab\0.nv.info\0.note.nv.tkinfo"
#define TOOL  "ptxas\0Cuda compilation tools, release 13.0, V13.0.88\0"

static Elf64_Shdr put_section(GByteArray *bytes, const char *name, guint32 type,
                              const void *content, gsize length, guint32 link)
{
    Elf64_Shdr section = {.sh_type = type, .sh_link = link, .sh_size = length};
    const char *names = memmem(NAMES, sizeof(NAMES), name, strlen(name) + 1);
    section.sh_name = (guint32)(names - NAMES);
    section.sh_offset = bytes->len;
    g_byte_array_append(bytes, content, (guint)length);
    return section;
}

static Elf64_Ehdr make_header(guint64 sections, guint16 count, gboolean old)
{
    Elf64_Ehdr header = {
        .e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT, 0x41},
        .e_type = ET_EXEC,
        .e_machine = EM_CUDA,
        .e_version = EV_CURRENT,
        .e_shoff = sections,
        .e_flags = old ? 0x5a055au : 0x6005a04u,
        .e_ehsize = sizeof(Elf64_Ehdr),
        .e_phentsize = sizeof(Elf64_Phdr),
        .e_shentsize = sizeof(Elf64_Shdr),
        .e_shnum = count,
        .e_shstrndx = 1,
    };
    header.e_ident[EI_ABIVERSION] = old ? 7 : 8;
    return header;
}

GByteArray *cuda_note_object(const char *kernel, gboolean old)
{
    /* A flag that concerns all kernels, then attributes of symbol 1 (this kernel), then of another
     * symbol. */
    static const guint8 info[] = {0x03, 0x50, 0, 0,                            //
                                  0x04, 0x2f, 8, 0, 1, 0, 0, 0, 40,   0, 0, 0, //
                                  0x04, 0x12, 8, 0, 1, 0, 0, 0, 16,   0, 0, 0, //
                                  0x04, 0x2f, 8, 0, 2, 0, 0, 0, 0xff, 0, 0, 0};
    const Elf64_Sym symbols[] = {
        {0}, {.st_name = 1, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), .st_shndx = 4}};
    g_autofree char *texts = g_strconcat("_", kernel, NULL);
    GByteArray *bytes = g_byte_array_new();
    Elf64_Ehdr header = {0};
    Elf64_Shdr sections[6] = {{0}};
    g_byte_array_append(bytes, (const guint8 *)&header, sizeof(header));
    sections[1] = put_section(bytes, ".shstrtab", SHT_STRTAB, NAMES, sizeof(NAMES), 0);
    sections[2] = put_section(bytes, ".strtab", SHT_STRTAB, texts, strlen(texts) + 1, 0);
    sections[3] = put_section(bytes, ".symtab", SHT_SYMTAB, symbols, sizeof(symbols), 2);
    sections[4] = put_section(bytes, ".nv.info", SHT_LOPROC, info, sizeof(info), 3);
    sections[5] = put_section(bytes, ".note.nv.tkinfo", SHT_NOTE, TOOL, sizeof(TOOL), 0);
    header = make_header(bytes->len, G_N_ELEMENTS(sections), old);
    memcpy(bytes->data, &header, sizeof(header));
    g_byte_array_append(bytes, (const guint8 *)sections, sizeof(sections));
    return bytes;
}
