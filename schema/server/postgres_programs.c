/* Where PostgreSQL's programs are. */
#include "schema/server/embedded.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OLDEST_MAJOR 15

static bool has_programs(const char *folder)
{
    static const char *const needed[] = {"postgres", "initdb"};
    for (gsize i = 0; i < G_N_ELEMENTS(needed); i++) {
        g_autofree char *path = g_build_filename(folder, needed[i], NULL);
        if (!g_file_test(path, G_FILE_TEST_IS_EXECUTABLE))
            return false;
    }
    return true;
}

/* What a program prints, its first line; NULL when it does not run. */
static char *first_line(const char *program, const char *option)
{
    const char *argv[] = {program, option, NULL};
    g_autofree char *output = NULL;
    int status = 0;
    if (!g_spawn_sync(NULL, (char **)(void *)argv, NULL,
                      G_SPAWN_SEARCH_PATH | G_SPAWN_STDERR_TO_DEV_NULL, NULL, NULL, &output, NULL,
                      &status, NULL) ||
        !g_spawn_check_wait_status(status, NULL))
        return NULL;
    output[strcspn(output, "\n")] = '\0';
    return g_steal_pointer(&output);
}

/* The major version of a folder's postgres, 0 when it has none. */
static int major_of(const char *folder)
{
    if (!has_programs(folder))
        return 0;
    g_autofree char *program = g_build_filename(folder, "postgres", NULL);
    g_autofree char *line = first_line(program, "--version");
    const char *number = line == NULL ? NULL : strpbrk(line, "0123456789");
    return number == NULL ? 0 : atoi(number);
}

struct choice {
    char *folder;
    int major;
};

/* Takes the folder when it is the wanted version, or newer than what was found before. */
static void consider(struct choice *best, const char *folder, int wanted)
{
    int major = major_of(folder);
    if (major < OLDEST_MAJOR || major <= best->major || (wanted != 0 && major != wanted))
        return;
    g_free(best->folder);
    best->folder = g_strdup(folder);
    best->major = major;
}

/* Debian keeps a folder a version, /usr/lib/postgresql/15/bin; PostgreSQL's own packages for other
 * systems /usr/pgsql-15/bin. */
static void consider_packages(struct choice *best, int wanted)
{
    static const struct {
        const char *parent, *prefix;
    } places[] = {{"/usr/lib/postgresql", ""}, {"/usr", "pgsql-"}, {"/usr/local", "pgsql"}};
    for (gsize i = 0; i < G_N_ELEMENTS(places); i++) {
        GDir *dir = g_dir_open(places[i].parent, 0, NULL);
        const char *name;
        while (dir != NULL && (name = g_dir_read_name(dir)) != NULL) {
            if (!g_str_has_prefix(name, places[i].prefix))
                continue;
            g_autofree char *folder = g_build_filename(places[i].parent, name, "bin", NULL);
            consider(best, folder, wanted);
        }
        g_clear_pointer(&dir, g_dir_close);
    }
}

static void consider_path(struct choice *best, int wanted)
{
    g_autofree char *configured = first_line("pg_config", "--bindir");
    g_autofree char *program = g_find_program_in_path("postgres");
    if (configured != NULL)
        consider(best, configured, wanted);
    if (program != NULL) {
        /* It may be a link alone in its folder. */
        char *real = realpath(program, NULL);
        g_autofree char *folder = g_path_get_dirname(real != NULL ? real : program);
        free(real);
        consider(best, folder, wanted);
    }
}

static char *named_programs(const char *folder, int wanted, GError **error)
{
    int major = major_of(folder);
    if (major >= OLDEST_MAJOR && (wanted == 0 || wanted == major))
        return g_strdup(folder);
    if (wanted != 0 && major >= OLDEST_MAJOR)
        g_set_error(error, STORE_ERROR, STORE_ERROR_CONNECTION,
                    "SKIPJACK_PG_BIN names PostgreSQL %d, but the cluster was made by %d", major,
                    wanted);
    else
        g_set_error(
            error, STORE_ERROR, STORE_ERROR_CONNECTION,
            "SKIPJACK_PG_BIN names '%s', which has no postgres and initdb of version %d or later",
            folder, OLDEST_MAJOR);
    return NULL;
}

char *postgres_find_programs(int major, GError **error)
{
    struct choice best = {0};
    const char *named = g_getenv("SKIPJACK_PG_BIN");
    if (named != NULL && *named != '\0')
        return named_programs(named, major, error);
    consider_packages(&best, major);
    consider_path(&best, major);
    if (best.folder == NULL && major != 0)
        g_set_error(
            error, STORE_ERROR, STORE_ERROR_CONNECTION,
            "the embedded database was made by PostgreSQL %d, which is not installed: install "
            "postgresql-%d, or name its programs' folder in SKIPJACK_PG_BIN",
            major, major);
    else if (best.folder == NULL)
        g_set_error(
            error, STORE_ERROR, STORE_ERROR_CONNECTION,
            "PostgreSQL %d or later is not installed: run 'deploy/install-deps run', name its "
            "programs' folder in SKIPJACK_PG_BIN, or a server elsewhere in SKIPJACK_DB",
            OLDEST_MAJOR);
    return best.folder;
}
