#include "export/check/check_formats.h"

#include "export/formats/code_target.h"
#include "export/formats/kernel_db.h"

#include <string.h>

static void check_kernel(struct check_report *report, GHashTable *keys, GString **last,
                         const struct kernel_entry *entry)
{
    char md5[33];
    g_autoptr(GByteArray) head = g_byte_array_new();
    g_autofree char *key = g_strconcat(entry->name, "\n", entry->args, NULL);
    GError *error = NULL;
    if (!kernel_entry_digest_head(entry, md5, NULL, head, &error)) {
        check_unreadable(report, error, "kern_db %" G_GINT64_FORMAT, entry->id);
        return;
    }
    report->keys++;
    report->entries++;
    if (g_ascii_strcasecmp(md5, entry->hash) != 0) {
        check_found(report, FINDING_MD5_MISMATCH, "kern_db %" G_GINT64_FORMAT, entry->id);
    }
    if (check_twice(report, keys, last, key)) {
        check_found(report, FINDING_DUPLICATE_KEY, "kern_db %" G_GINT64_FORMAT, entry->id);
    }
    check_kernel_name(report, entry->name, entry->args, "kern_db", entry->id);
    check_kernel_target(report, entry->args, head->data, head->len, "kern_db", entry->id);
}

static void check_kernels(struct check_report *report, KernelDb *db)
{
    GHashTable *keys = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    GString *last = NULL;
    struct kernel_entry entry = {0};
    enum read_step step = READ_ROW;
    while (step != READ_END && step != READ_FAILED && !report->out_of_order) {
        GError *error = NULL;
        step = kernel_db_next(db, &entry, &error);
        if (step == READ_ROW) {
            check_kernel(report, keys, &last, &entry);
        } else if (step != READ_END) {
            check_unreadable(report, error, "kern_db %s%" G_GINT64_FORMAT,
                             step == READ_BAD ? "" : "after ", entry.id);
        }
    }
    g_hash_table_unref(keys);
    if (last != NULL) {
        g_string_free(last, TRUE);
    }
}

void check_kernel_db(const char *path, struct check_report *report)
{
    GError *error = NULL;
    g_autoptr(KernelDb) db = kernel_db_open(path, &error);
    if (db == NULL) {
        check_unreadable(report, error, "file");
        return;
    }
    check_kernels(report, db);
    g_autofree char *damage = kernel_db_damage(db);
    if (damage != NULL) {
        check_unreadable(report,
                         g_error_new(EXPORT_ERROR, EXPORT_ERROR_DAMAGED,
                                     "SQLite's integrity check says: %s", damage),
                         "file");
    }
    if (!kernel_db_has_index(db)) {
        check_found(report, FINDING_INDEX_MISSING, "file");
    }
}
