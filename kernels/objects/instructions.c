#include "kernels/objects/instructions.h"

#include <dlfcn.h>
#include <elf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/objects/instructions_cuda.h"
#include "kernels/objects/span.h"

#define LLVM_NAMES                                                                                 \
    "libLLVM.so.21.1,libLLVM.so.20.1,libLLVM.so.19.1,libLLVM.so.18.1,libLLVM-17.so.1,"             \
    "libLLVM-16.so.1,libLLVM-15.so.1"
#define LLVM_TRIPLE "amdgcn-amd-amdhsa"
#define TEXT_MAX    256 /* the longest text of an instruction, in bytes */
#define TABLES_MAX  4   /* the most symbol tables that are searched in a file */

/* A string argument of LLVM's C++ functions (StringRef). C may pass it as a struct, because a class with a trivial
 * copy constructor is passed like one. */
struct llvm_text {
    const char *start;
    size_t length;
};

/* The functions used of LLVM's library, declared as in llvm-c/Disassembler.h (symbols are not resolved). ParseArch is
 * C++'s llvm::AMDGPU::parseArchAMDGCN(). It returns 0 for an unknown name, where the disassembler would abort. */
struct llvm {
    unsigned (*ParseArch)(struct llvm_text cpu);
    void (*TargetInfo)(void);
    void (*TargetMC)(void);
    void (*Disassembler)(void);
    void *(*Create)(const char *triple, const char *cpu, const char *features, void *data, int kind,
                    void *info, void *lookup);
    void (*Dispose)(void *context);
    size_t (*Instruction)(void *context, uint8_t *bytes, uint64_t size, uint64_t address,
                          char *text, size_t text_size);
};

static const struct {
    const char *name;
    size_t offset;
} functions[] = {
    {"_ZN4llvm6AMDGPU15parseArchAMDGCNENS_9StringRefE", offsetof(struct llvm, ParseArch)},
    {"LLVMInitializeAMDGPUTargetInfo", offsetof(struct llvm, TargetInfo)},
    {"LLVMInitializeAMDGPUTargetMC", offsetof(struct llvm, TargetMC)},
    {"LLVMInitializeAMDGPUDisassembler", offsetof(struct llvm, Disassembler)},
    {"LLVMCreateDisasmCPUFeatures", offsetof(struct llvm, Create)},
    {"LLVMDisasmDispose", offsetof(struct llvm, Dispose)},
    {"LLVMDisasmInstruction", offsetof(struct llvm, Instruction)},
};

/* Counted AMD instructions, by the beginning of their names; other instructions count only in the total. */
static const char *const amd_prefixes[] = {
    "v_mfma_",  "v_smfmac_", "v_wmma_",     "v_swmmac_",    "v_dot",       "v_pk_fma",     "v_fma_",
    "v_fmac_",  "v_mac_",    "global_load", "global_store", "buffer_load", "buffer_store", "flat_",
    "scratch_", "ds_",       "s_load_",     "s_buffer_",    "image_",
};

static GMutex lock; /* guards the library and its disassemblers */

/* ---- LLVM's library ---- */

static bool functions_find(void *handle, struct llvm *llvm)
{
    for (size_t i = 0; i < G_N_ELEMENTS(functions); i++) {
        void *symbol = dlsym(handle, functions[i].name);
        if (!symbol)
            return false;
        memcpy((char *)llvm + functions[i].offset, &symbol, sizeof(symbol));
    }
    return true;
}

/* Under the lock. Opens the first library that has all functions, and keeps it until the process ends. */
static const struct llvm *llvm_open(void)
{
    static struct llvm llvm;
    static bool is_open;
    const char *wish = g_getenv("SKIPJACK_LLVM");
    g_auto(GStrv) names = g_strsplit(wish && *wish ? wish : LLVM_NAMES, ",", -1);

    for (char **name = names; *name && !is_open; name++) {
        void *handle = dlopen(g_strstrip(*name), RTLD_NOW | RTLD_LOCAL);
        if (!handle)
            continue;
        is_open = functions_find(handle, &llvm);
        if (!is_open) {
            dlclose(handle);
            continue;
        }
        llvm.TargetInfo();
        llvm.TargetMC();
        llvm.Disassembler();
    }
    return is_open ? &llvm : NULL;
}

/* ---- a kernel's code in its object ---- */

/* A code object of either vendor, which is a 64-bit ELF file. */
struct elf {
    struct span whole;
    Elf64_Ehdr header;
};

static bool elf_open(struct elf *elf, GBytes *code)
{
    gsize length;

    elf->whole.start = g_bytes_get_data(code, &length);
    elf->whole.length = length;
    return span_copy(&elf->whole, 0, &elf->header, sizeof(elf->header)) &&
           memcmp(elf->header.e_ident, ELFMAG, SELFMAG) == 0 &&
           elf->header.e_ident[EI_CLASS] == ELFCLASS64 &&
           elf->header.e_shentsize == sizeof(Elf64_Shdr) &&
           elf->header.e_shoff <= elf->whole.length;
}

static bool section_at(const struct elf *elf, uint64_t index, Elf64_Shdr *section)
{
    return index < elf->header.e_shnum &&
           span_copy(&elf->whole, elf->header.e_shoff + index * sizeof(*section), section,
                     sizeof(*section));
}

static bool section_bytes(const struct elf *elf, uint64_t index, struct span *bytes)
{
    Elf64_Shdr section;

    return section_at(elf, index, &section) && section.sh_type != SHT_NOBITS &&
           span_part(&elf->whole, section.sh_offset, section.sh_size, bytes);
}

/* Sets *code to the bytes of a symbol's function. */
static bool symbol_bytes(const struct elf *elf, const Elf64_Sym *symbol, struct span *code)
{
    Elf64_Shdr section;
    struct span bytes;

    return section_at(elf, symbol->st_shndx, &section) &&
           section_bytes(elf, symbol->st_shndx, &bytes) && symbol->st_value >= section.sh_addr &&
           span_part(&bytes, symbol->st_value - section.sh_addr, symbol->st_size, code);
}

/* Finds a function's code by its name in one symbol table. */
static bool function_in(const struct elf *elf, uint64_t index, const Elf64_Shdr *table,
                        const char *name, struct span *code)
{
    Elf64_Sym symbol;
    struct span symbols, names;

    if (!section_bytes(elf, index, &symbols) || !section_bytes(elf, table->sh_link, &names))
        return false;
    for (uint64_t at = 0; span_copy(&symbols, at, &symbol, sizeof(symbol)); at += sizeof(symbol)) {
        const char *own = span_text(&names, symbol.st_name);
        if (ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && symbol.st_size > 0 &&
            g_strcmp0(own, name) == 0)
            return symbol_bytes(elf, &symbol, code);
    }
    return false;
}

/* Finds a function's code by its name. Objects have one symbol table for linkers and one for loaders. At most
 * TABLES_MAX tables are searched: a damaged file with many could take long. */
static bool function_find(GBytes *object, const char *name, struct span *code)
{
    struct elf elf;
    Elf64_Shdr table;
    int tables = 0;

    if (!elf_open(&elf, object))
        return false;
    for (uint64_t i = 0; tables < TABLES_MAX && section_at(&elf, i, &table); i++) {
        if (table.sh_type != SHT_SYMTAB && table.sh_type != SHT_DYNSYM)
            continue;
        tables++;
        if (function_in(&elf, i, &table, name, code))
            return true;
    }
    return false;
}

/* ---- counting ---- */

static void count_one(GHashTable *counts, const char *name, size_t length)
{
    g_autofree char *key = g_strndup(name, length);
    int count = GPOINTER_TO_INT(g_hash_table_lookup(counts, key));

    g_hash_table_replace(counts, g_steal_pointer(&key), GINT_TO_POINTER(count + 1));
}

/* Counts one AMD instruction by its text, which begins with a tab: " v_fma_f32 v0, v1, v2, v3". The encoding that may
 * follow the name ("_e32") is dropped. */
static void count_amd_text(GHashTable *counts, const char *text)
{
    static const char *const encodings[] = {"_e32", "_e64", "_sdwa", "_dpp"};
    size_t length;

    text += strspn(text, " \t");
    length = strcspn(text, " \t\n");
    for (size_t i = 0; i < G_N_ELEMENTS(encodings); i++) {
        size_t end = strlen(encodings[i]);
        if (length > end && memcmp(text + length - end, encodings[i], end) == 0)
            length -= end;
    }
    for (size_t i = 0; i < G_N_ELEMENTS(amd_prefixes); i++)
        if (g_str_has_prefix(text, amd_prefixes[i])) {
            count_one(counts, text, length);
            return;
        }
}

static void count_amd_one(gpointer counts, uint64_t at, const char *text)
{
    (void)at;
    count_one(counts, "total", strlen("total"));
    count_amd_text(counts, text);
}

/* Disassembles the code and calls `seen` for each instruction. Returns whether all of it could be read. */
static bool each_with(const struct llvm *llvm, void *context, const struct span *code,
                      instruction_seen seen, gpointer data)
{
    /* LLVM takes the bytes as writable but does not write them. */
    uint8_t *bytes = (uint8_t *)(uintptr_t)code->start;
    char text[TEXT_MAX];
    size_t size;

    for (size_t at = 0; at < code->length; at += size) {
        size = llvm->Instruction(context, bytes + at, code->length - at, at, text, sizeof(text));
        if (size == 0)
            return false;
        seen(data, at, text);
    }
    return true;
}

/* Whether LLVM can disassemble for this AMD CPU. CPUs older than gfx8 are left out: LLVM knows their names, but its
 * disassembler aborts. */
static bool llvm_knows(const struct llvm *llvm, const char *cpu)
{
    return !g_str_has_prefix(cpu, "gfx6") && !g_str_has_prefix(cpu, "gfx7") &&
           llvm->ParseArch((struct llvm_text){cpu, strlen(cpu)}) != 0;
}

/* The CPU's name for this library, NULL where it cannot disassemble. gfx940, gfx941 and gfx942 have the same
 * instructions; newer releases of LLVM know only gfx942, older ones only gfx940. */
static const char *llvm_cpu(const struct llvm *llvm, const char *arch)
{
    if ((strcmp(arch, "gfx940") == 0 || strcmp(arch, "gfx941") == 0) && llvm_knows(llvm, "gfx942"))
        return "gfx942";
    return llvm_knows(llvm, arch) ? arch : NULL;
}

static bool each_amd(const struct span *code, const struct target *target, instruction_seen seen,
                     gpointer data)
{
    const struct llvm *llvm;
    const char *cpu;
    void *context = NULL;
    bool read = false;

    g_mutex_lock(&lock);
    llvm = llvm_open();
    cpu = llvm ? llvm_cpu(llvm, target->arch) : NULL;
    if (cpu)
        context = llvm->Create(LLVM_TRIPLE, cpu, "", NULL, 0, NULL, NULL);
    if (context) {
        read = each_with(llvm, context, code, seen, data);
        llvm->Dispose(context);
    }
    g_mutex_unlock(&lock);
    return read;
}

bool instructions_each(GBytes *code, const char *entry, const struct target *target,
                       instruction_seen seen, gpointer data)
{
    struct span bytes;

    return target->vendor == VENDOR_AMD && function_find(code, entry, &bytes) &&
           each_amd(&bytes, target, seen, data);
}

static bool count_cuda(const struct span *code, const struct target *target, GHashTable *counts)
{
    if (atoi(target->arch + strlen("sm_")) < CUDA_ARCH_LEAST ||
        code->length % CUDA_INSTRUCTION_BYTES != 0)
        return false;
    for (size_t at = 0; at < code->length; at += CUDA_INSTRUCTION_BYTES) {
        const char *name = cuda_instruction_name(code->start + at);
        count_one(counts, "total", strlen("total"));
        if (name)
            count_one(counts, name, strlen(name));
    }
    return true;
}

static char *counts_text(GHashTable *counts)
{
    GString *text = g_string_new(NULL);
    g_autoptr(GList) names = g_list_sort(g_hash_table_get_keys(counts), (GCompareFunc)strcmp);

    for (const GList *at = names; at; at = at->next)
        g_string_append_printf(text, "%s%s %d", text->len ? ", " : "", (const char *)at->data,
                               GPOINTER_TO_INT(g_hash_table_lookup(counts, at->data)));
    return g_string_free(text, FALSE);
}

char *instructions_count(GBytes *code, const char *entry, const struct target *target)
{
    g_autoptr(GHashTable) counts = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    struct span bytes;
    bool counted;

    if (target->vendor == VENDOR_CPU || !function_find(code, entry, &bytes))
        return NULL;
    counted = target->vendor == VENDOR_AMD ? each_amd(&bytes, target, count_amd_one, counts)
                                           : count_cuda(&bytes, target, counts);
    return counted ? counts_text(counts) : NULL;
}
