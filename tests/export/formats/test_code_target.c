#include "export/formats/code_target.h"

#include <elf.h>
#include <string.h>

static GByteArray *elf(int machine, unsigned flags, int abi)
{
    Elf64_Ehdr header = {.e_machine = (Elf64_Half)machine, .e_flags = flags};
    memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_ident[EI_ABIVERSION] = (unsigned char)abi;
    return g_byte_array_append(g_byte_array_new(), (const guint8 *)&header, sizeof header);
}

static void assert_made_for(const GByteArray *code, const char *target_id, const char *other)
{
    struct target target;
    g_assert_true(target_parse(target_id, &target, NULL));
    g_autofree char *said = code_other_target(code->data, code->len, &target);
    g_test_message("%s", target_id);
    g_assert_cmpstr(said, ==, other);
}

static void elf_headers_tell_their_device(void)
{
    static const struct {
        int machine, abi;
        unsigned flags;
        const char *target, *other;
    } cases[] = {
        {EM_AMDGPU, 2, 0x53f, "gfx90a68", NULL},
        {EM_AMDGPU, 2, 0x53f, "gfx942130", "gfx90a"},
        {EM_AMDGPU, 2, 0x54c, "gfx942130", NULL},
        {EM_AMDGPU, 2, 0x54c, "sm_90_132_80g", "gfx942"},
        {EM_AMDGPU, 2, 0x36, "gfx1030_36", NULL},
        {EM_AMDGPU, 2, 0xff, "gfx90a68", NULL},
        {EM_AMDGPU, 2, 0xff, "cpu-znver4_2", "an AMD GPU"},
        {EM_CUDA, 7, 0x5a055a, "sm_90_132_80g", NULL},
        {EM_CUDA, 8, 0x6005a04, "sm_90_132_80g", NULL},
        {EM_CUDA, 7, 0x50, "sm_90_132_80g", "sm_80"},
        {EM_CUDA, 7, 0x50, "sm_86_84_24g", NULL},
        {EM_CUDA, 7, 0x59, "sm_86_84_24g", "sm_89"},
        {EM_CUDA, 7, 0x5a, "gfx90a68", "sm_90"},
        {EM_X86_64, 0, 0, "cpu-znver4_2", NULL},
        {EM_X86_64, 0, 0, "gfx90a68", "a CPU"},
        {EM_SPARC, 0, 0, "gfx90a68", NULL},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        GByteArray *code = elf(cases[i].machine, cases[i].flags, cases[i].abi);
        assert_made_for(code, cases[i].target, cases[i].other);
        g_byte_array_unref(code);
    }
}

static void put_number(GByteArray *code, guint64 number)
{
    number = GUINT64_TO_LE(number);
    g_byte_array_append(code, (const guint8 *)&number, sizeof number);
}

static GByteArray *bundle(const char *const *names, int count)
{
    GByteArray *code = g_byte_array_new();
    g_byte_array_append(code, (const guint8 *)"__CLANG_OFFLOAD_BUNDLE__", 24);
    put_number(code, (guint64)count);
    for (int i = 0; i < count; i++) {
        put_number(code, 4096);
        put_number(code, 0);
        put_number(code, strlen(names[i]));
        g_byte_array_append(code, (const guint8 *)names[i], (guint)strlen(names[i]));
    }
    return code;
}

static void a_bundle_is_for_each_device_that_it_names(void)
{
    static const char *const names[] = {"host-x86_64-unknown-linux--",
                                        "hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-",
                                        "hipv4-amdgcn-amd-amdhsa--gfx908"};
    GByteArray *code = bundle(names, G_N_ELEMENTS(names));
    assert_made_for(code, "gfx90a68", NULL);
    assert_made_for(code, "gfx90878", NULL);
    assert_made_for(code, "gfx942130", "gfx90a");
    /* Each truncation of the code is a copy of exactly its length: AddressSanitizer sees a read
     * behind its end. */
    for (guint length = 0; length < code->len; length++) {
        struct target target;
        g_autofree void *cut = g_memdup2(code->data, length);
        g_assert_true(target_parse("gfx90a68", &target, NULL));
        g_autofree char *said = code_other_target(cut, length, &target);
        g_assert_null(said);
    }
    g_byte_array_unref(code);
}

static void other_bytes_tell_nothing(void)
{
    static const struct {
        const char *bytes;
        size_t length;
        const char *other; /* on a GPU */
    } cases[] = {
        {"", 0, NULL},
        {"code", 4, NULL},
        {"\x7f"
         "ELF",
         4, NULL},
        {".version 8.0\n.target sm_80\n", 26, NULL},
        {"poclbin\0\x09\0", 10, "a CPU"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        GByteArray *code = g_byte_array_append(g_byte_array_new(), (const guint8 *)cases[i].bytes,
                                               (guint)cases[i].length);
        assert_made_for(code, "gfx90a68", cases[i].other);
        assert_made_for(code, "cpu-znver4_2", NULL);
        g_byte_array_unref(code);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/code_target/elf_headers_tell_their_device", elf_headers_tell_their_device);
    g_test_add_func("/code_target/a_bundle_is_for_each_device_that_it_names",
                    a_bundle_is_for_each_device_that_it_names);
    g_test_add_func("/code_target/other_bytes_tell_nothing", other_bytes_tell_nothing);
    return g_test_run();
}
