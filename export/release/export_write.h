/* Writes the files that an export has planned, and reads them back. Internal to the folder. */
#ifndef EXPORT_RELEASE_EXPORT_WRITE_H
#define EXPORT_RELEASE_EXPORT_WRITE_H

#include "export/release/export.h"
#include "export/release/export_spool.h"

struct export_files {
    struct export_spool *spool;
    Store *store;
    const struct target *target;
    const struct export_wish *wish;
    const char *name; /* the campaign's name; NULL for a golden version */
    bool built_only;  /* true: what was chosen was built and not measured */
    unsigned what;    /* bits EXPORT_FIND, EXPORT_PERF, ...: which files to write */
};

/* Reads a chosen kernel's code object from the store. NULL with EXPORT_ERROR_CHECK if it was
 * dropped or built anew since it was chosen; with the store's errors, such as STORE_ERROR_DAMAGED,
 * if it cannot be read. */
GBytes *export_get_code(Store *store, const struct planned_kernel *kernel, GError **error);
/* Writes the files of files->what into the folder and reads them back: EXPORT_ERROR_CHECK if a file
 * differs from the plan or `skipjack check` finds it unfit. Appends the files' names to `names`
 * (g_free). */
bool export_files_write(const struct export_files *files, const char *folder, GPtrArray *names,
                        GError **error);

#endif
