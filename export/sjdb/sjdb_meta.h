/*
 * The JSON text in a .sjdb that says where its data comes from, as its writer made it.
 */
#ifndef EXPORT_SJDB_SJDB_META_H
#define EXPORT_SJDB_SJDB_META_H

#include "export/formats/file_name.h"
#include "export/sjdb/reader/skipjackdb.h"

struct sjdb_meta {
    /* the target that the text states; TARGET_UNKNOWN if it states none */
    struct file_target target;
    /* name of the campaign that was exported, NULL if the text has none */
    char *campaign;
    /* number of the golden version that was exported, 0 if the text has none */
    int golden_version;
    /* true if the text says that the file is a build-only campaign's: nothing in it was measured */
    bool build_only;
};
/* Reads the file's text. A member that is missing or damaged is treated as absent. Clear *meta with
 * sjdb_meta_clear(). */
void sjdb_meta_read(const skipjackdb *db, struct sjdb_meta *meta);
void sjdb_meta_clear(struct sjdb_meta *meta);
/* Returns a JSON text that states the target, `build_only` if it is true, and nothing else. Free with g_free(). */
char *sjdb_meta_of_target(const char *id, bool build_only);

#endif
