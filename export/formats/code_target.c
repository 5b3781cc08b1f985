#include "export/formats/code_target.h"

#include <elf.h>
#include <string.h>

/* The numbers by which ELF flags name AMD's architectures (LLVM's AMDGPUUsage page has the
 * list). */
static const struct {
    unsigned number;
    const char *arch;
} amd_archs[] = {
    {0x20, "gfx600"},  {0x21, "gfx601"},  {0x22, "gfx700"},  {0x23, "gfx701"},  {0x24, "gfx702"},
    {0x25, "gfx703"},  {0x26, "gfx704"},  {0x28, "gfx801"},  {0x29, "gfx802"},  {0x2a, "gfx803"},
    {0x2b, "gfx810"},  {0x2c, "gfx900"},  {0x2d, "gfx902"},  {0x2e, "gfx904"},  {0x2f, "gfx906"},
    {0x30, "gfx908"},  {0x31, "gfx909"},  {0x32, "gfx90c"},  {0x33, "gfx1010"}, {0x34, "gfx1011"},
    {0x35, "gfx1012"}, {0x36, "gfx1030"}, {0x37, "gfx1031"}, {0x38, "gfx1032"}, {0x39, "gfx1033"},
    {0x3a, "gfx602"},  {0x3b, "gfx705"},  {0x3c, "gfx805"},  {0x3d, "gfx1035"}, {0x3e, "gfx1034"},
    {0x3f, "gfx90a"},  {0x40, "gfx940"},  {0x41, "gfx1100"}, {0x42, "gfx1013"}, {0x43, "gfx1150"},
    {0x44, "gfx1103"}, {0x45, "gfx1036"}, {0x46, "gfx1101"}, {0x47, "gfx1102"}, {0x48, "gfx1200"},
    {0x4a, "gfx1151"}, {0x4b, "gfx941"},  {0x4c, "gfx942"},  {0x4e, "gfx1201"}, {0x4f, "gfx950"},
    {0x55, "gfx1152"}, {0x58, "gfx1153"},
};
#define AMD_ARCH_MASK 0xffu

/* The last version of NVIDIA's ABI whose ELF flags hold the architecture in their lowest byte; in
 * later versions it is the second byte. */
#define CUDA_ABI_LOW_ARCH 7

static char *other_amd(const Elf64_Ehdr *header, const struct target *target)
{
    const char *arch = NULL;
    for (size_t i = 0; i < G_N_ELEMENTS(amd_archs); i++) {
        if (amd_archs[i].number == (header->e_flags & AMD_ARCH_MASK)) {
            arch = amd_archs[i].arch;
        }
    }
    if (target->vendor == VENDOR_AMD && (arch == NULL || strcmp(arch, target->arch) == 0)) {
        return NULL;
    }
    return g_strdup(arch != NULL ? arch : "an AMD GPU");
}

/* Returns NULL if the target can run this NVIDIA code, else the device that the code is for.
 * NVIDIA's GPUs also run code that was compiled for an older device with the same major number. */
static char *other_cuda(const Elf64_Ehdr *header, const struct target *target)
{
    int made = header->e_ident[EI_ABIVERSION] <= CUDA_ABI_LOW_ARCH
                   ? (int)(header->e_flags & 0xff)
                   : (int)(header->e_flags >> 8 & 0xff);
    int runs = target_compute_capability(target);
    if (target->vendor == VENDOR_NVIDIA &&
        (runs == 0 || (made / 10 == runs / 10 && made <= runs))) {
        return NULL;
    }
    return g_strdup_printf("sm_%d", made);
}

static char *other_cpu(const struct target *target)
{
    return target->vendor == VENDOR_CPU ? NULL : g_strdup("a CPU");
}

static char *other_elf(const void *code, const struct target *target)
{
    Elf64_Ehdr header;
    memcpy(&header, code, sizeof header);
    if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB) {
        return NULL;
    }
    switch (header.e_machine) {
    case EM_AMDGPU: return other_amd(&header, target);
    case EM_CUDA: return other_cuda(&header, target);
    case EM_X86_64:
    case EM_AARCH64:
    case EM_RISCV:
    case EM_PPC64: return other_cpu(target);
    default: return NULL;
    }
}

/* ---- clang's bundles of several code objects: a magic, their count, then the offset, size and
 * name of each ---- */

static const char bundle_magic[] = "__CLANG_OFFLOAD_BUNDLE__";
#define BUNDLE_MAGIC_BYTES (sizeof bundle_magic - 1)
#define PLACE_BYTES        (2 * sizeof(guint64)) /* offset and size */

static bool take_number(const guint8 *code, size_t length, size_t *at, guint64 *number)
{
    if (length - *at < sizeof *number) {
        return false;
    }
    memcpy(number, code + *at, sizeof *number);
    *number = GUINT64_FROM_LE(*number);
    *at += sizeof *number;
    return true;
}

/* Returns the device in the name of a bundle's entry: "gfx90a" for "hipv4-amdgcn-amd-amdhsa--
 * gfx90a:xnack-"; NULL for the entry that holds the host's code. */
static char *device_of(const char *name, size_t length)
{
    g_autofree char *text = g_strndup(name, length);
    char *arch = strstr(text, "--gfx");
    if (arch == NULL) {
        return NULL;
    }
    arch += strlen("--");
    return g_strndup(arch, strcspn(arch, ":"));
}

static char *other_bundle(const guint8 *code, size_t length, const struct target *target)
{
    size_t at = BUNDLE_MAGIC_BYTES;
    guint64 count = 0, name_bytes = 0;
    g_autofree char *first = NULL;
    if (!take_number(code, length, &at, &count)) {
        return NULL;
    }
    for (guint64 i = 0; i < count; i++) {
        if (length - at < PLACE_BYTES) {
            return NULL;
        }
        at += PLACE_BYTES;
        if (!take_number(code, length, &at, &name_bytes) || name_bytes > length - at) {
            return NULL;
        }
        g_autofree char *arch = device_of((const char *)code + at, name_bytes);
        at += name_bytes;
        if (arch != NULL && strcmp(arch, target->arch) == 0) {
            return NULL;
        }
        if (first == NULL) {
            first = g_steal_pointer(&arch);
        }
    }
    return g_steal_pointer(&first);
}

char *code_other_target(const void *code, size_t length, const struct target *target)
{
    static const char pocl_magic[] = "poclbin"; /* PoCL writes this magic with its NUL */
    if (length >= sizeof(Elf64_Ehdr) && memcmp(code, ELFMAG, SELFMAG) == 0) {
        return other_elf(code, target);
    }
    if (length >= sizeof pocl_magic && memcmp(code, pocl_magic, sizeof pocl_magic) == 0) {
        return other_cpu(target);
    }
    if (length >= BUNDLE_MAGIC_BYTES && memcmp(code, bundle_magic, BUNDLE_MAGIC_BYTES) == 0) {
        return other_bundle(code, length, target);
    }
    return NULL;
}
