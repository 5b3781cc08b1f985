#include "tests/support/kernels/amd_note.h"

#include <elf.h>
#include <string.h>

static void put_text(GByteArray *bytes, const char *text)
{
    guint8 head[] = {0xd9, (guint8)strlen(text)};
    g_assert(strlen(text) < 256);
    g_byte_array_append(bytes, head, sizeof(head));
    g_byte_array_append(bytes, (const guint8 *)text, (guint)strlen(text));
}

static void put_byte(GByteArray *bytes, guint8 byte)
{
    g_byte_array_append(bytes, &byte, 1);
}

static void put_number(GByteArray *bytes, const char *key, int number)
{
    guint8 value[] = {0xcd, (guint8)(number >> 8), (guint8)number};
    put_text(bytes, key);
    g_byte_array_append(bytes, value, sizeof(value));
}

static void put_metadata(GByteArray *bytes, const char *target, const char *kernel)
{
    g_autofree char *full = g_strconcat("amdgcn-amd-amdhsa--", target, NULL);
    put_byte(bytes, 0x83);
    put_text(bytes, "amdhsa.kernels");
    put_byte(bytes, 0x91);
    put_byte(bytes, 0x89);
    put_text(bytes, ".args");
    put_byte(bytes, 0x90);
    put_text(bytes, ".name");
    put_text(bytes, kernel);
    put_number(bytes, ".vgpr_count", 40);
    put_number(bytes, ".sgpr_count", 20);
    put_number(bytes, ".agpr_count", 16);
    put_number(bytes, ".vgpr_spill_count", 3);
    put_number(bytes, ".sgpr_spill_count", 2);
    put_number(bytes, ".private_segment_fixed_size", 16);
    put_number(bytes, ".group_segment_fixed_size", 1024);
    put_text(bytes, "amdhsa.target");
    put_text(bytes, full);
    put_text(bytes, "amdhsa.version");
    put_byte(bytes, 0x92);
    put_byte(bytes, 1);
    put_byte(bytes, 1);
}

static void put_header(GByteArray *bytes)
{
    Elf64_Ehdr header = {
        .e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT, 64, 2},
        .e_type = ET_DYN,
        .e_machine = EM_AMDGPU,
        .e_version = EV_CURRENT,
        .e_phoff = sizeof(Elf64_Ehdr),
        .e_ehsize = sizeof(Elf64_Ehdr),
        .e_phentsize = sizeof(Elf64_Phdr),
        .e_phnum = 1,
    };
    g_byte_array_append(bytes, (const guint8 *)&header, sizeof(header));
}

GByteArray *amd_note_object(const char *target, const char *kernel)
{
    g_autoptr(GByteArray) metadata = g_byte_array_new();
    GByteArray *bytes = g_byte_array_new();
    put_metadata(metadata, target, kernel);
    Elf64_Nhdr note = {.n_namesz = sizeof("AMDGPU"), .n_descsz = metadata->len, .n_type = 32};
    Elf64_Phdr segment = {
        .p_type = PT_NOTE,
        .p_offset = sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr),
        .p_filesz = sizeof(note) + 8 + metadata->len,
    };
    put_header(bytes);
    g_byte_array_append(bytes, (const guint8 *)&segment, sizeof(segment));
    g_byte_array_append(bytes, (const guint8 *)&note, sizeof(note));
    g_byte_array_append(bytes, (const guint8 *)"AMDGPU\0", 8);
    g_byte_array_append(bytes, metadata->data, metadata->len);
    return bytes;
}
