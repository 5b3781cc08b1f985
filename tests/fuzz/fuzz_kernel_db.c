/* Any bytes as a kernel-db: no crash, and a code object that is read has the size that its row
 * states. */
#include "export/formats/kernel_db.h"

#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void digest(const struct kernel_entry *entry)
{
    char md5[33], sha256[65];
    g_autoptr(GError) error = NULL;
    bool whole = kernel_entry_digest(entry, md5, sha256, &error);
    g_assert_true(whole == (error == NULL));
}

static void read_rows(KernelDb *db)
{
    struct kernel_entry entry;
    enum read_step step;
    do {
        g_autoptr(GError) error = NULL;
        step = kernel_db_next(db, &entry, &error);
        g_assert_true((step == READ_BAD || step == READ_FAILED) == (error != NULL));
        if (step == READ_ROW) {
            digest(&entry);
        }
    } while (step == READ_ROW || step == READ_BAD);
    kernel_db_has_index(db);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int fd = -1;
    fd = fd >= 0 ? fd : memfd_create("kernel.kdb", 0);
    g_assert_true(ftruncate(fd, 0) == 0 && pwrite(fd, data, size, 0) == (ssize_t)size);
    g_autofree char *path = g_strdup_printf("/proc/self/fd/%d", fd);
    g_autoptr(GError) error = NULL;
    g_autoptr(KernelDb) db = kernel_db_open(path, &error);
    g_assert_true((db == NULL) == (error != NULL));
    if (db != NULL) {
        read_rows(db);
    }
    return 0;
}
