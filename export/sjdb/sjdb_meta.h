/*
 * The text in a .sjdb that says where its data comes from: JSON that its writer made.
 */
#ifndef EXPORT_SJDB_META_H
#define EXPORT_SJDB_META_H

#include "export/formats/file_name.h"
#include "export/sjdb/reader/skipjackdb.h"

struct sjdb_meta {
    struct file_target target; /* TARGET_UNKNOWN if the text has none */
    char *campaign;            /* name of the exported campaign, or NULL */
    int golden_version;        /* the exported version, or 0 */
};
/* Reads the text. Members that are missing or damaged are left out. Clear with sjdb_meta_clear().
 * */
void sjdb_meta_read(const skipjackdb *db, struct sjdb_meta *meta);
void sjdb_meta_clear(struct sjdb_meta *meta);
/* Returns a text that states only the target. Free with g_free(). */
char *sjdb_meta_of_target(const char *id);

#endif
