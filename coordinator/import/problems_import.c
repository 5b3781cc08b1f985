#include "coordinator/import/problems_import.h"

#include "coordinator/cli/cli.h"

#include <stdio.h>

/* Most unusable lines that are named; further ones are only counted, since a log may be full of
 * them. */
#define NAMED_SKIPS 10

static void say_skipped(const Import *import)
{
    for (guint i = 0; i < import->skipped->len; i++) {
        const struct import_skip *skip = g_ptr_array_index(import->skipped, i);
        if (i < NAMED_SKIPS)
            fprintf(stderr, "%s:%" G_GINT64_FORMAT ": not used: %s\n", skip->file, skip->line,
                    skip->reason);
    }
    if (import->skipped->len > NAMED_SKIPS)
        fprintf(stderr,
                "%u more lines could not be used; skipjack import --dry-run names them all\n",
                import->skipped->len - NAMED_SKIPS);
}

bool list_options(const struct import_words *words, struct import_options *options, GError **error)
{
    g_autoptr(GError) wrong = NULL;
    if (import_words_parse(words, options, &wrong))
        return true;
    g_set_error_literal(error, COORDINATOR_ERROR, COORDINATOR_ERROR_USAGE, wrong->message);
    return false;
}

static void say_replaced(const Import *import)
{
    if (import->replaced > 0)
        fprintf(stderr,
                "in %" G_GINT64_FORMAT
                " lines --batch, --dtype or --layout replaced what the line says itself\n",
                import->replaced);
}

static void say_joined(const Import *import)
{
    for (guint i = 0; i < import->networks->len; i++) {
        const struct import_network *network = g_ptr_array_index(import->networks, i);
        if (network->files > 1)
            fprintf(stderr, "network '%s' has the layers of %d files\n", network->name,
                    network->files);
        if (network->difference)
            fprintf(stderr, "network '%s' has one set of facts: %s\n", network->name,
                    network->difference);
    }
}

static void say_biased(const Import *import)
{
    int biased = 0;
    for (int i = 0; i < problem_list_count(import->problems); i++)
        biased += problem_list_get(import->problems, i)->problem.bias != 0;
    if (biased > 0)
        fprintf(
            stderr,
            "bias is 1 in the keys of %d problems; MIOpen looks up bias 0 where another kernel adds "
            "the bias, as in PyTorch: for such layers make it 0, or remove the column\n",
            biased);
}

void problems_say_notes(const Import *import)
{
    for (guint i = 0; i < import->notes->len; i++)
        fprintf(stderr, "%s\n", (const char *)import->notes->pdata[i]);
    say_replaced(import);
    say_joined(import);
    say_biased(import);
}

static void say_all(const Import *import)
{
    say_skipped(import);
    problems_say_notes(import);
}

Import *problems_import(char *const *files, const struct import_words *words, GError **error)
{
    struct import_options options;
    if (!list_options(words, &options, error))
        return NULL;
    g_autoptr(Import) import = import_new(&options);
    for (int i = 0; files[i]; i++) {
        if (!import_file(import, files[i], error))
            return NULL;
    }
    say_all(import);
    return g_steal_pointer(&import);
}

Import *problems_import_bytes(const char *name, GBytes *bytes, const struct import_words *words,
                              GError **error)
{
    struct import_options options;
    if (!list_options(words, &options, error))
        return NULL;
    gsize length = 0;
    const char *data = g_bytes_get_data(bytes, &length);
    g_autoptr(Import) import = import_new(&options);
    if (!import_bytes(import, name, data ? data : "", length, error))
        return NULL;
    say_all(import);
    return g_steal_pointer(&import);
}
