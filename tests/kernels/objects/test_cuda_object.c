/* Code objects made by hand: undamaged ones are read, and the error names each kind of damage. */
#include "kernels/objects/cuda_object.h"

#include <elf.h>
#include <string.h>

#include "tests/support/kernels/cuda_note.h"

static bool read_bytes(const GByteArray *bytes, const char *entry, struct cuda_object *object,
                       GError **error)
{
    g_autoptr(GBytes) code = g_bytes_new(bytes->data, bytes->len);
    return cuda_object_read(code, entry, object, error);
}

static void test_a_kernels_needs_are_read(gconstpointer old)
{
    g_autoptr(GByteArray) bytes = cuda_note_object("conv", GPOINTER_TO_INT(old));
    g_autoptr(GError) error = NULL;
    struct cuda_object object;
    g_assert_true(read_bytes(bytes, "conv", &object, &error));
    g_assert_no_error(error);
    g_assert_cmpint(object.arch, ==, 90);
    g_assert_cmpint(object.registers, ==, 40);
    g_assert_cmpint(object.stack_bytes, ==, 16);
    g_assert_cmpstr(object.compiler, ==, "V13.0.88");
}

static void test_an_entry_that_is_not_there_is_named(void)
{
    g_autoptr(GByteArray) bytes = cuda_note_object("conv", FALSE);
    g_autoptr(GError) error = NULL;
    struct cuda_object object;
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
        {offsetof(Elf64_Ehdr, e_machine), EM_X86_64, "another machine"},
        {offsetof(Elf64_Ehdr, e_type), ET_REL, "not linked"},
        {offsetof(Elf64_Ehdr, e_shentsize), 1, "sections' names"},
        {offsetof(Elf64_Ehdr, e_shstrndx), 200, "sections' names"},
        {offsetof(Elf64_Ehdr, e_shoff) + 7, 0x80, "sections' names"},
        {offsetof(Elf64_Ehdr, e_shnum), 200, "within its sections"},
        {offsetof(Elf64_Ehdr, e_phoff) + 7, 0x80, "within its sections"},
        {offsetof(Elf64_Ehdr, e_shnum), 3, "no kernel"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(damages); i++) {
        g_autoptr(GByteArray) bytes = cuda_note_object("conv", FALSE);
        g_autoptr(GError) error = NULL;
        struct cuda_object object;
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
    g_autoptr(GByteArray) whole = cuda_note_object("conv", FALSE);
    for (guint length = 0; length < whole->len; length++) {
        g_autoptr(GByteArray) bytes = g_byte_array_new();
        struct cuda_object object;
        g_byte_array_append(bytes, whole->data, length);
        g_assert_false(read_bytes(bytes, "conv", &object, NULL));
    }
}

/* With any one byte changed, the object is read or refused, and no byte behind its end is read. */
static void test_a_changed_byte_is_never_read_past_the_end(void)
{
    static const guint8 values[] = {0, 1, 0x7f, 0x80, 0xdf, 0xff};
    g_autoptr(GByteArray) bytes = cuda_note_object("conv", FALSE);
    for (guint i = 0; i < bytes->len; i++) {
        guint8 kept = bytes->data[i];
        for (size_t v = 0; v < sizeof(values); v++) {
            g_autoptr(GError) error = NULL;
            struct cuda_object object;
            bytes->data[i] = values[v];
            g_assert_true(read_bytes(bytes, "conv", &object, &error) == !error);
        }
        bytes->data[i] = kept;
    }
}

static void test_an_object_suits_its_architecture(void)
{
    static const struct {
        const char *id;
        bool suits;
    } cases[] = {{"sm_90_132_80g", true}, {"sm_90a_132_80g", true}, {"sm_80_108_40g", false}};
    const struct cuda_object object = {.arch = 90};
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        struct target target;
        g_assert_true(target_parse(cases[i].id, &target, NULL));
        g_assert_cmpint(cuda_object_suits(&object, &target), ==, cases[i].suits);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_data_func("/cuda_object/a_kernels_needs_are_read", GINT_TO_POINTER(FALSE),
                         test_a_kernels_needs_are_read);
    g_test_add_data_func("/cuda_object/an_older_header_is_read", GINT_TO_POINTER(TRUE),
                         test_a_kernels_needs_are_read);
    g_test_add_func("/cuda_object/an_entry_that_is_not_there_is_named",
                    test_an_entry_that_is_not_there_is_named);
    g_test_add_func("/cuda_object/each_damage_is_named", test_each_damage_is_named);
    g_test_add_func("/cuda_object/every_shorter_object_is_refused",
                    test_every_shorter_object_is_refused);
    g_test_add_func("/cuda_object/a_changed_byte_is_never_read_past_the_end",
                    test_a_changed_byte_is_never_read_past_the_end);
    g_test_add_func("/cuda_object/it_suits_its_architecture",
                    test_an_object_suits_its_architecture);
    return g_test_run();
}
