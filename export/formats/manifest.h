/*
 * A manifest is stored beside the files of a release and describes them: TARGET.export.json for a
 * campaign's results, TARGET.golden.json for a golden version. Both are JSON objects that name the
 * target, the part that was asked for, and the files with their SHA-256; export/README.md lists all
 * members.
 */
#ifndef EXPORT_FORMATS_MANIFEST_H
#define EXPORT_FORMATS_MANIFEST_H

#include "export/formats/export_error.h"
#include "solvers/framework/target.h"

#include <jansson.h>

/* Names one release of a target: either a campaign's, by the campaign's name, or a golden
 * version. */
struct release_name {
    const char *target, *campaign; /* campaign: NULL if the release is a golden version */
    int golden_version;
    /* JSON object of the export's options: they say which part of the results was asked for */
    json_t *part;
    /* Checksum over the release's results, NULL if unknown. A campaign's results change while it
     * runs or is measured again; a golden version's never change. */
    const char *results;
};

struct manifest_file {
    char *name; /* name of the file in the manifest's folder, without a path */
    int64_t bytes;
    char *sha256;
};

struct manifest {
    char *target, *campaign; /* campaign: NULL if the release is a golden version */
    int golden_version;
    json_t *part;     /* JSON object as in struct release_name; NULL if the manifest has none */
    char *results;    /* checksum as in struct release_name; NULL if the manifest has none */
    GPtrArray *files; /* struct manifest_file * */
    /* Counts when the campaign was exported: all its jobs, those that had ended, and the problems
     * without a winner. jobs is -1 if the manifest has no counts. */
    int jobs, jobs_ended, without_winner;
    /* Limits of the device (as in struct target) that its id does not imply and that a solver's
     * kernels depend on. local_bytes is 0 if the manifest has no limits. */
    int64_t local_bytes;
    int max_workgroup, wave_size, vector_bytes;
};

/* Returns the manifest's file name: "gfx90a68.export.json" or "gfx90a68.golden.json". Free with
 * g_free(). */
char *manifest_name(const char *target, bool golden);
/* Returns true if a file of that name is a manifest. */
bool manifest_is_name(const char *name);

/* NULL with EXPORT_ERROR_SYNTAX if the file is no manifest, or lists a file outside its own folder;
 * with EXPORT_ERROR_IO if it is missing. */
struct manifest *manifest_read(const char *path, GError **error);
void manifest_free(struct manifest *manifest);
typedef struct manifest Manifest;
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Manifest, manifest_free)

/* Returns true if the manifest belongs to the same campaign or golden version, whichever part of it
 * was exported. */
bool manifest_is_of(const struct manifest *manifest, const struct release_name *name);
/* Returns true if every option that both the manifest and `part` name has the same value in
 * both. */
bool manifest_is_of_part(const struct manifest *manifest, const json_t *part);
/* "golden version 3", "the campaign 'resnet50'". Free with g_free(). */
char *manifest_whose(const struct manifest *manifest);

/* Returns the path of the named file in the folder, or of the same file with ".bz2", as releases
 * are shipped; NULL if the folder has neither. Free with g_free(). */
char *manifest_find_file(const char *folder, const char *name);
/* Returns the manifest's member "limits" for this target, a new reference. */
json_t *manifest_limits_json(const struct target *target);
/* Sets the target's limits to those of the manifest. Returns false and changes nothing if the
 * manifest has no limits, or limits that no device can have. */
bool manifest_take_limits(const struct manifest *manifest, struct target *target);
/* Computes the size and SHA-256 of a file's bytes; of a packed file (byte_source.h), of the
 * unpacked bytes. Free *sha256 with g_free(). */
bool manifest_sum(const char *path, int64_t *bytes, char **sha256, GError **error);
/* Returns the manifest's member "files", a new reference: the named files of a folder, and behind
 * them the files of an earlier manifest that stay (struct manifest_file *). NULL on failure. */
json_t *manifest_files_json(const char *folder, const GPtrArray *names, const GPtrArray *kept,
                            GError **error);

#endif
