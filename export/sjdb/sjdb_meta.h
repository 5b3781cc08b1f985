/*
 * The text of a .sjdb file on where its data comes from: JSON that its writer made.
 */
#ifndef EXPORT_SJDB_META_H
#define EXPORT_SJDB_META_H

#include "export/formats/file_name.h"
#include "export/sjdb/reader/skipjackdb.h"

struct sjdb_meta {
    struct file_target target; /* unknown where it is not said */
    char *campaign;            /* the name of the campaign that was exported, NULL for none */
    int golden_version;        /* that was exported, 0 for none */
};
/* Reads what the file says; members that are not there, or are damaged, are left out. Clear it with
 * sjdb_meta_clear(). */
void sjdb_meta_read(const skipjackdb *db, struct sjdb_meta *meta);
void sjdb_meta_clear(struct sjdb_meta *meta);
/* JSON that says the target alone. Free with g_free(). */
char *sjdb_meta_of_target(const char *id);

#endif
