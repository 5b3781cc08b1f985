/*
 * A manifest is stored beside the files of a release and describes them: TARGET.export.json for a
 * campaign's results, TARGET.golden.json for a golden version. Both are JSON objects that name the
 * target, the part that was asked for, and the files with their SHA-256; export/README.md lists all
 * members.
 */
#ifndef EXPORT_MANIFEST_H
#define EXPORT_MANIFEST_H

#include "export/formats/export_error.h"
#include "solvers/framework/target.h"

#include <jansson.h>

/* Identifies a release of a target: of a campaign, by the campaign's name, or of a golden version.
 * */
struct release_name {
    const char *target, *campaign; /* campaign NULL for a golden version */
    int golden_version;
    json_t *part; /* JSON object: which part of the results was asked for */
    /* Checksum of the results in the release, NULL if unknown. A campaign's results change while it
     * runs or is measured again; a golden version's never do. */
    const char *results;
};

struct manifest_file {
    char *name; /* a file in the manifest's folder, without a path */
    int64_t bytes;
    char *sha256;
};

struct manifest {
    char *target, *campaign; /* campaign NULL for a golden version */
    int golden_version;
    json_t *part;     /* NULL if the manifest lacks it */
    char *results;    /* NULL if the manifest lacks it; see struct release_name */
    GPtrArray *files; /* struct manifest_file * */
    /* Progress of the campaign when it was exported; jobs is -1 if the manifest lacks it. */
    int jobs, jobs_ended, without_winner;
    /* Limits of the device (struct target) that the target id does not imply, and on which kernels
     * of solvers depend. local_bytes is 0 if the manifest lacks them. */
    int64_t local_bytes;
    int max_workgroup, wave_size, vector_bytes;
};

/* Returns the manifest's file name: "gfx90a68.export.json" or "gfx90a68.golden.json". Free with
 * g_free(). */
char *manifest_name(const char *target, bool golden);
/* Returns true if a file of that name is a manifest. */
bool manifest_is_name(const char *name);

/* NULL with EXPORT_ERROR_SYNTAX if the file is no manifest, or lists a file outside its own folder.
 * */
struct manifest *manifest_read(const char *path, GError **error);
void manifest_free(struct manifest *manifest);
typedef struct manifest Manifest;
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Manifest, manifest_free)

/* Returns true if the manifest is of this release, whichever part of it. */
bool manifest_is_of(const struct manifest *manifest, const struct release_name *name);
/* Returns true if the manifest and `part` agree on every option that both name. */
bool manifest_is_of_part(const struct manifest *manifest, const json_t *part);
/* "golden version 3", "the campaign 'resnet50'". Free with g_free(). */
char *manifest_whose(const struct manifest *manifest);

/* The path of a file that a manifest in the folder lists, or of the same with ".bz2", as releases are shipped;
 * NULL where neither is there. Free with g_free(). */
char *manifest_find_file(const char *folder, const char *name);
/* The member "limits" of a target. */
json_t *manifest_limits_json(const struct target *target);
/* Gives the target the limits of the manifest. False, and the target as it was, where it says none, or none
 * that a device can have. */
bool manifest_take_limits(const struct manifest *manifest, struct target *target);
/* Size and SHA-256 of a file's bytes, those of a .bz2 file unpacked. Free *sha256 with g_free(). */
bool manifest_sum(const char *path, int64_t *bytes, char **sha256, GError **error);
/* The member "files": the named files of a folder, then what is kept of an earlier manifest (struct
 * manifest_file *). NULL on failure. */
json_t *manifest_files_json(const char *folder, const GPtrArray *names, const GPtrArray *kept,
                            GError **error);

#endif
