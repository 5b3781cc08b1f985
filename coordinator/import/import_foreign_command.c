/* `skipjack import --foreign`. */
#include "coordinator/import/import_foreign_command.h"

#include "coordinator/cli/cli.h"
#include "coordinator/cli/table.h"
#include "coordinator/cli/terminal.h"
#include "coordinator/import/import_foreign.h"
#include "coordinator/import/import_store.h"
#include "schema/server/database.h"

#include <stdio.h>
#include <unistd.h>

#define SKIPS_SHOWN 20 /* JSON has more */

static bool said_progress;

/* Shows progress as one line that is overwritten. */
static void say_progress(const char *path, int64_t entries)
{
    said_progress = true;
    terminal_restart_line();
    fprintf(stderr, "%s: %" G_GINT64_FORMAT " entries", path, entries);
    fflush(stderr);
}

static void end_progress(void)
{
    if (said_progress) {
        fputc('\n', stderr);
    }
    said_progress = false;
}

static void show_skips(const struct foreign_import *import)
{
    guint shown = MIN(import->skips->len, SKIPS_SHOWN);
    for (guint i = 0; i < shown; i++) {
        const struct foreign_skip *skip = import->skips->pdata[i];
        fprintf(stderr, "%s:%" G_GINT64_FORMAT ": left out: %s\n", skip->file, skip->line,
                skip->reason);
    }
    if (import->left_out > shown) {
        fprintf(stderr,
                "%" G_GINT64_FORMAT " more rows were left out (--json names the first %d)\n",
                import->left_out - shown, FOREIGN_SKIPS_KEPT);
    }
}

static void show_text(const struct foreign_import *import, bool dry_run)
{
    for (guint i = 0; i < import->files->len; i++) {
        const struct foreign_file *file = &g_array_index(import->files, struct foreign_file, i);
        printf("%s: %s, %" G_GINT64_FORMAT " problems, %" G_GINT64_FORMAT
               " entries, %" G_GINT64_FORMAT " repeated, %" G_GINT64_FORMAT " left out\n",
               file->path, file->format, file->problems, file->entries, file->repeated,
               file->left_out);
    }
    if (dry_run) {
        printf("of %s; nothing was stored\n", import->target.id);
    } else if (import->is_new) {
        printf("foreign campaign %" G_GINT64_FORMAT
               " on %s; skipjack report --campaign %" G_GINT64_FORMAT " shows it\n",
               import->campaign, import->target.id, import->campaign);
    } else {
        printf("imported before, as foreign campaign %" G_GINT64_FORMAT " on %s: nothing changed\n",
               import->campaign, import->target.id);
    }
}

static json_t *files_json(const struct foreign_import *import)
{
    json_t *list = json_array();
    for (guint i = 0; i < import->files->len; i++) {
        const struct foreign_file *file = &g_array_index(import->files, struct foreign_file, i);
        g_autofree char *path = g_utf8_make_valid(file->path, -1);
        json_array_append_new(
            list, json_pack("{s:s, s:s, s:I, s:I, s:I, s:I}", "file", path, "format", file->format,
                            "problems", (json_int_t)file->problems, "entries",
                            (json_int_t)file->entries, "repeated", (json_int_t)file->repeated,
                            "left_out", (json_int_t)file->left_out));
    }
    return list;
}

static json_t *skips_json(const struct foreign_import *import)
{
    json_t *list = json_array();
    for (guint i = 0; i < import->skips->len; i++) {
        const struct foreign_skip *skip = import->skips->pdata[i];
        g_autofree char *file = g_utf8_make_valid(skip->file, -1);
        json_array_append_new(list, json_pack("{s:s, s:I, s:s}", "file", file, "line",
                                              (json_int_t)skip->line, "reason", skip->reason));
    }
    return list;
}

static void show_json(const struct foreign_import *import)
{
    table_show_json(json_pack("{s:o, s:s, s:b, s:o, s:I, s:o}", "campaign",
                              import->campaign > 0 ? json_integer(import->campaign) : json_null(),
                              "target", import->target.id, "new", import->is_new, "files",
                              files_json(import), "left_out", (json_int_t)import->left_out,
                              "skipped", skips_json(import)));
}

int import_foreign_command(char **paths, const struct import_foreign_options *options)
{
    const struct foreign_request request = {
        .paths = paths,
        .target = options->target,
        .name = options->name,
        .progress = isatty(STDERR_FILENO) ? say_progress : NULL,
    };
    struct foreign_import import;
    GError *error = NULL;
    g_autoptr(Store) store = options->dry_run ? NULL : database_open(options->json, &error);
    if (error != NULL || (store != NULL && !import_take_turn(store, &error))) {
        return cli_fail("import", error);
    }
    bool done = import_foreign(store, &request, &import, &error);
    bool strict = options->strict && import.left_out > 0;
    end_progress();
    show_skips(&import);
    if (done && options->json) {
        show_json(&import);
    } else if (done) {
        show_text(&import, options->dry_run);
    }
    foreign_import_clear(&import);
    return !done ? cli_fail("import", error) : strict ? CLI_FAILED : CLI_DONE;
}
