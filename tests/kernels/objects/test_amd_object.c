/* Code objects made by hand: undamaged ones are read, and the error names each kind of damage. */
#include "kernels/objects/amd_object.h"

#include <elf.h>
#include <string.h>

#include "tests/support/kernels/amd_note.h"

#define NOTE_AT     (sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr))
#define METADATA_AT (NOTE_AT + sizeof(Elf64_Nhdr) + 8)

static bool read_bytes(const GByteArray *bytes, const char *entry, struct amd_object *object,
                       GError **error)
{
    g_autoptr(GBytes) code = g_bytes_new(bytes->data, bytes->len);
    return amd_object_read(code, entry, object, error);
}

static void test_a_kernels_needs_are_read(void)
{
    g_autoptr(GByteArray) bytes = amd_note_object("gfx90a:xnack+", "conv");
    g_autoptr(GError) error = NULL;
    struct amd_object object;
    g_assert_true(read_bytes(bytes, "conv", &object, &error));
    g_assert_no_error(error);
    g_assert_cmpstr(object.target, ==, "gfx90a:xnack+");
    g_assert_cmpint(object.kernel.vector_registers, ==, 40);
    g_assert_cmpint(object.kernel.scalar_registers, ==, 20);
    g_assert_cmpint(object.kernel.accumulation_registers, ==, 16);
    g_assert_cmpint(object.kernel.vector_spills, ==, 3);
    g_assert_cmpint(object.kernel.scalar_spills, ==, 2);
    g_assert_cmpint(object.kernel.scratch_bytes, ==, 16);
    g_assert_cmpint(object.kernel.local_bytes, ==, 1024);
}

static void test_an_entry_that_is_not_there_is_named(void)
{
    g_autoptr(GByteArray) bytes = amd_note_object("gfx90a", "conv");
    g_autoptr(GError) error = NULL;
    struct amd_object object;
    g_assert_false(read_bytes(bytes, "con", &object, &error));
    g_assert_error(error, KERNELS_ERROR, KERNELS_ERROR_OBJECT);
    g_assert_nonnull(strstr(error->message, "'con'"));
}

static void test_each_damage_is_named(void)
{
    static const struct {
        size_t at;
        guint8 byte;
        const char *word;
    } damages[] = {
        {0, 'x', "no ELF file"},
        {EI_CLASS, ELFCLASS32, "another machine"},
        {EI_DATA, ELFDATA2MSB, "another machine"},
        {EI_OSABI, 0, "another machine"},
        {offsetof(Elf64_Ehdr, e_machine), EM_X86_64, "another machine"},
        {offsetof(Elf64_Ehdr, e_type), ET_REL, "not linked"},
        {offsetof(Elf64_Ehdr, e_phentsize), 1, "program headers"},
        {offsetof(Elf64_Ehdr, e_phoff) + 7, 0x80, "before its program headers"},
        {offsetof(Elf64_Ehdr, e_phnum), 200, "within its program headers"},
        {offsetof(Elf64_Ehdr, e_phnum), 0, "no metadata"},
        {sizeof(Elf64_Ehdr) + offsetof(Elf64_Phdr, p_type), PT_LOAD, "no metadata"},
        {sizeof(Elf64_Ehdr) + offsetof(Elf64_Phdr, p_offset) + 7, 0xff, "no metadata"},
        {sizeof(Elf64_Ehdr) + offsetof(Elf64_Phdr, p_filesz) + 7, 0xff, "no metadata"},
        {NOTE_AT + offsetof(Elf64_Nhdr, n_type), 33, "no metadata"},
        {NOTE_AT + offsetof(Elf64_Nhdr, n_namesz) + 3, 0xff, "no metadata"},
        {NOTE_AT + offsetof(Elf64_Nhdr, n_descsz) + 3, 0xff, "no metadata"},
        {NOTE_AT + sizeof(Elf64_Nhdr), 'B', "no metadata"},
        {METADATA_AT, 0x93, "cannot be read"},
        {METADATA_AT, 0x84, "cannot be read"},
        {METADATA_AT, 0x81, "older than version 4"},
        {METADATA_AT + 17, 0x92, "cannot be read"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(damages); i++) {
        g_autoptr(GByteArray) bytes = amd_note_object("gfx90a", "conv");
        g_autoptr(GError) error = NULL;
        struct amd_object object;
        bytes->data[damages[i].at] = damages[i].byte;
        g_assert_false(read_bytes(bytes, "conv", &object, &error));
        g_assert_error(error, KERNELS_ERROR, KERNELS_ERROR_OBJECT);
        if (!strstr(error->message, damages[i].word))
            g_test_message("damage %zu: %s", i, error->message);
        g_assert_nonnull(strstr(error->message, damages[i].word));
    }
}

static void test_every_shorter_object_is_refused(void)
{
    g_autoptr(GByteArray) whole = amd_note_object("gfx90a", "conv");
    for (guint length = 0; length < whole->len; length++) {
        g_autoptr(GByteArray) bytes = g_byte_array_new();
        struct amd_object object;
        g_byte_array_append(bytes, whole->data, length);
        g_assert_false(read_bytes(bytes, "conv", &object, NULL));
    }
}

/* With any one byte changed, the object is read or refused, and no byte behind its end is read. */
static void test_a_changed_byte_is_never_read_past_the_end(void)
{
    static const guint8 values[] = {0, 1, 0x7f, 0x80, 0xdf, 0xff};
    g_autoptr(GByteArray) bytes = amd_note_object("gfx90a", "conv");
    for (guint i = 0; i < bytes->len; i++) {
        guint8 kept = bytes->data[i];
        for (size_t v = 0; v < sizeof(values); v++) {
            g_autoptr(GError) error = NULL;
            struct amd_object object;
            bytes->data[i] = values[v];
            g_assert_true(read_bytes(bytes, "conv", &object, &error) == !error);
        }
        bytes->data[i] = kept;
    }
}

static void test_targets_are_named_as_amds_tools_do(void)
{
    static const struct {
        const char *id, *name;
    } cases[] = {
        {"gfx90a68", "gfx90a"},
        {"gfx1030_36", "gfx1030"},
        {"gfx906_nosramecc_60", "gfx906:sramecc-"},
        {"gfx90a_xnack68", "gfx90a:xnack+"},
        {"gfx90a_sramecc_noxnack68", "gfx90a:sramecc+:xnack-"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        struct target target;
        char name[AMD_TARGET_MAX];
        g_assert_true(target_parse(cases[i].id, &target, NULL));
        amd_target_name(&target, name);
        g_assert_cmpstr(name, ==, cases[i].name);
    }
}

static void test_an_object_suits_targets_that_do_not_contradict_it(void)
{
    static const struct {
        const char *object, *id;
        bool suits;
    } cases[] = {
        {"gfx90a", "gfx90a68", true},
        {"gfx90a", "gfx90a_xnack68", true},
        {"gfx90a:xnack+", "gfx90a68", true},
        {"gfx90a:sramecc+:xnack+", "gfx90a_sramecc_xnack68", true},
        {"gfx90a:xnack-", "gfx90a_xnack68", false},
        {"gfx90a:sramecc+:xnack+", "gfx90a_sramecc_noxnack68", false},
        {"gfx90a:sramecc-", "gfx90a_sramecc68", false},
        {"gfx90a:sramecc+", "gfx90a_nosramecc68", false},
        {"gfx908", "gfx90a68", false},
        {"gfx90", "gfx90a68", false},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        struct target target;
        g_assert_true(target_parse(cases[i].id, &target, NULL));
        g_assert_true(amd_object_suits(cases[i].object, &target) == cases[i].suits);
    }
}

static void test_facts_count_spills_of_either_kind(void)
{
    static const struct amd_kernel kernel = {40, 20, 16, 3, 2, 16, 1024};
    static const struct amd_kernel silent = {-1, -1, -1, -1, -1, -1, -1};
    struct code_object object = {0};
    amd_kernel_facts(&kernel, &object);
    g_assert_cmpint(object.registers, ==, 40);
    g_assert_cmpint(object.accumulation_registers, ==, 16);
    g_assert_cmpint(object.scalar_registers, ==, 20);
    g_assert_cmpint(object.spills, ==, 5);
    g_assert_cmpint(object.scratch_bytes, ==, 16);
    g_assert_cmpint(object.local_bytes, ==, 1024);
    amd_kernel_facts(&silent, &object);
    g_assert_cmpint(object.spills, ==, -1);
    g_assert_cmpint(object.scratch_bytes, ==, -1);
    g_assert_cmpint(object.local_bytes, ==, 0);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/amd_object/a_kernels_needs_are_read", test_a_kernels_needs_are_read);
    g_test_add_func("/amd_object/an_entry_that_is_not_there_is_named",
                    test_an_entry_that_is_not_there_is_named);
    g_test_add_func("/amd_object/each_damage_is_named", test_each_damage_is_named);
    g_test_add_func("/amd_object/every_shorter_object_is_refused",
                    test_every_shorter_object_is_refused);
    g_test_add_func("/amd_object/a_changed_byte_is_never_read_past_the_end",
                    test_a_changed_byte_is_never_read_past_the_end);
    g_test_add_func("/amd_object/targets_are_named_as_amds_tools_do",
                    test_targets_are_named_as_amds_tools_do);
    g_test_add_func("/amd_object/an_object_suits_targets_that_do_not_contradict_it",
                    test_an_object_suits_targets_that_do_not_contradict_it);
    g_test_add_func("/amd_object/facts_count_spills_of_either_kind",
                    test_facts_count_spills_of_either_kind);
    return g_test_run();
}
