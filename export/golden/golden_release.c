#include "export/golden/golden_release.h"

#include "export/golden/golden_manifest.h"

#include <string.h>

char *golden_find_target(Store *store, const char *target, GError **error)
{
    if (target != NULL) {
        return g_strdup(target);
    }
    g_autoptr(GPtrArray) versions = store_list_golden(store, NULL, error);
    if (versions == NULL) {
        return NULL;
    }
    const struct golden_version *first = versions->len > 0 ? versions->pdata[0] : NULL;
    const struct golden_version *last = first != NULL ? versions->pdata[versions->len - 1] : NULL;
    if (first != NULL && strcmp(first->target, last->target) == 0) {
        return g_strdup(first->target);
    }
    if (first == NULL) {
        g_set_error(error, STORE_ERROR, STORE_ERROR_NOT_FOUND,
                    "no target has golden versions yet: skipjack golden propose");
    } else {
        g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_FAILED,
                    "several targets have golden versions: name one, --target T");
    }
    return NULL;
}

bool golden_find_version(Store *store, const char *target, const char *word, int *version,
                         GError **error)
{
    gint64 number = 0;
    if (strcmp(word, "latest") == 0) {
        if (!store_newest_golden(store, target, version, error)) {
            return false;
        }
        if (*version == 0) {
            g_set_error(error, STORE_ERROR, STORE_ERROR_NOT_FOUND,
                        "no golden version of '%s' is approved: skipjack golden list", target);
        }
        return *version != 0;
    }
    if (!g_ascii_string_to_signed(word, 10, 0, G_MAXINT, &number, NULL)) {
        g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_FAILED,
                    "'%s' is no version: they are numbered 1, 2, ..., and the newest approved one "
                    "is 'latest'",
                    word);
        return false;
    }
    *version = (int)number;
    return true;
}

static bool check_approved(const GPtrArray *versions, const char *target, int number,
                           GError **error)
{
    const char *state = NULL;
    for (guint i = 0; i < versions->len; i++) {
        const struct golden_version *version = versions->pdata[i];
        state = version->version == number ? version->state : state;
    }
    if (state == NULL) {
        g_set_error(error, STORE_ERROR, STORE_ERROR_NOT_FOUND,
                    "'%s' has no golden version %d: skipjack golden list", target, number);
    } else if (strcmp(state, "pruned") == 0) {
        g_set_error(error, STORE_ERROR, STORE_ERROR_STATE,
                    "golden version %d of %s was pruned: its content is not kept", number, target);
    } else if (strcmp(state, "approved") != 0) {
        g_set_error(error, STORE_ERROR, STORE_ERROR_STATE,
                    "golden version %d of %s is %s: what ships is approved first, skipjack golden "
                    "approve",
                    number, target, state);
    }
    return g_strcmp0(state, "approved") == 0;
}

struct description {
    Store *store;
    const GPtrArray *versions;
};

static bool write_manifest(void *data, const struct export_wish *wish, const struct target *target,
                           json_t *files, const char *path, GError **error)
{
    const struct description *description = data;
    return golden_manifest_write(description->store, description->versions, wish, target, files,
                                 path, error);
}

bool golden_release(Store *store, const char *word, const char *target,
                    const struct export_wish *wish, const char *dir, struct export_summary *summary,
                    GError **error)
{
    struct export_wish golden = *wish;
    g_autofree char *found = golden_find_target(store, target, error);
    if (found == NULL || !golden_find_version(store, found, word, &golden.golden_version, error)) {
        return false;
    }
    golden.golden_target = found;
    g_autoptr(GPtrArray) versions = store_list_golden(store, found, error);
    if (versions == NULL || !check_approved(versions, found, golden.golden_version, error)) {
        return false;
    }
    struct description description = {store, versions};
    const struct export_manifest manifest = {write_manifest, &description};
    return export_with_manifest(store, &golden, &manifest, dir, summary, error);
}
