#include "export/check/check_formats.h"

#include "export/formats/manifest.h"

#include <string.h>

static void check_listed(struct check_report *report, const char *folder,
                         const struct manifest_file *file)
{
    int64_t bytes = 0;
    g_autofree char *sha256 = NULL;
    g_autofree char *path = manifest_find_file(folder, file->name);
    GError *error = NULL;
    report->keys++;
    if (path == NULL) {
        check_found(report, FINDING_FILE_MISSING, "%s", file->name);
    } else if (!manifest_sum(path, &bytes, &sha256, &error)) {
        check_unreadable(report, error, "%s", file->name);
    } else if (bytes != file->bytes) {
        check_found(report, FINDING_FILE_DIFFERS,
                    "%s (%" G_GINT64_FORMAT " bytes, not %" G_GINT64_FORMAT ")", file->name, bytes,
                    file->bytes);
    } else if (g_ascii_strcasecmp(sha256, file->sha256) != 0) {
        check_found(report, FINDING_FILE_DIFFERS, "%s (its SHA-256 begins with %.12s, not %.12s)",
                    file->name, sha256, file->sha256);
    } else {
        report->entries++;
    }
}

static bool lists(const struct manifest *manifest, const char *name)
{
    for (guint i = 0; i < manifest->files->len; i++) {
        const struct manifest_file *file = manifest->files->pdata[i];
        if (strcmp(file->name, name) == 0) {
            return true;
        }
    }
    return false;
}

/* Finds files beside the manifest that have the release's names although the manifest does not list
 * them. */
static void check_unlisted(struct check_report *report, const char *folder,
                           const struct manifest *manifest)
{
    for (int kind = 0; kind < FILE_KIND_COUNT; kind++) {
        g_autofree char *name = file_name_of(manifest->target, (enum file_kind)kind);
        g_autofree char *path = manifest_find_file(folder, name);
        if (path != NULL && !lists(manifest, name)) {
            check_found(report, FINDING_FILE_UNLISTED, "%s", name);
        }
    }
}

void check_manifest(const char *path, struct check_report *report)
{
    GError *error = NULL;
    g_autoptr(Manifest) manifest = manifest_read(path, &error);
    if (manifest == NULL) {
        check_unreadable(report, error, "file");
        return;
    }
    g_autofree char *folder = g_path_get_dirname(path);
    const struct file_target target = file_id_target(manifest->target);
    check_content_target(report, &target);
    if (!file_targets_fit(&report->named, &target)) {
        check_found(report, FINDING_OTHER_TARGET, "file (it says that it is of %s, not %s)",
                    manifest->target, file_target_text(&report->named));
    }
    for (guint i = 0; i < manifest->files->len; i++) {
        check_listed(report, folder, manifest->files->pdata[i]);
    }
    check_unlisted(report, folder, manifest);
    if (manifest->jobs >= 0 &&
        (manifest->jobs_ended < manifest->jobs || manifest->without_winner > 0)) {
        check_found(report, FINDING_INCOMPLETE,
                    "%d of %d jobs had ended, %d problems had no winner", manifest->jobs_ended,
                    manifest->jobs, manifest->without_winner);
    }
}
