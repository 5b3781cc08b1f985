/*
 * Merging two find-dbs of about 100,000 keys each: MIOpen's own for gfx1030 and a second made of it
 * with every time changed by a seed and a fiftieth of the keys gone. Beside `skipjack merge`, which
 * parses, judges, chooses the fastest, writes and reads back, three peers run:
 *
 *   merge_plain_dicts.py  MITuna's own way: plain dictionaries, where a later file replaces an earlier
 *                         one and nothing is judged. The strongest peer that somebody really uses.
 *   merge_find_dbs.py     Python that does all of our work; its bytes must be ours.
 *   sort -m               the floor: it compares and writes lines and understands none.
 *
 * They take turns (A B C D A B C D ...); shown are medians. Processor time counts: a machine that others
 * use changes it little.
 */
#include "export/formats/byte_source.h"
#include "export/formats/find_db.h"
#include "tests/support/temp_folder.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define TURNS 5
#define SEED  20260101

#define GOAL_BYTES_PER_SECOND 200e6
#define GOAL_DICTIONARIES     3.0
#define GOAL_PYTHON           30.0
#define GOAL_SORT             3.0

extern char **environ;

enum side { OURS, OURS_OLDER, DICTIONARIES, PYTHON, SORT, SIDES };

struct bench {
    const char *first, *second, *newer, *older, *dictionaries, *python, *sorted;
    double cpu[SIDES][TURNS], wall[SIDES][TURNS];
};

static const char *const side_names[SIDES] = {
    [OURS] = "skipjack merge",
    [OURS_OLDER] = "skipjack merge --form older",
    [DICTIONARIES] = "merge_plain_dicts.py",
    [PYTHON] = "merge_find_dbs.py",
    [SORT] = "sort -m",
};

static void unpack(const char *path, const char *to)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(ByteSource) source = byte_source_open(path, &error);
    g_assert_no_error(error);
    int fd = g_open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    byte_source_copy(source, fd, UINT64_C(1) << 30, &error);
    g_assert_no_error(error);
    close(fd);
}

static int compare_entries(const void *a, const void *b)
{
    double left = ((const struct find_entry *)a)->time_ms;
    double right = ((const struct find_entry *)b)->time_ms;
    return (left > right) - (left < right);
}

static void alter_line(struct find_line *line, GRand *random, FILE *out)
{
    char texts[64][FIND_TIME_MAX];
    g_autoptr(GString) written = g_string_new(NULL);
    for (guint i = 0; i < MIN(line->entries->len, G_N_ELEMENTS(texts)); i++) {
        struct find_entry *entry = &g_array_index(line->entries, struct find_entry, i);
        entry->time_ms *= g_rand_double_range(random, 0.8, 1.2);
        entry->time_text = find_time_text(entry->time_ms, texts[i]);
    }
    g_array_sort(line->entries, compare_entries);
    find_line_format(line, written);
    fprintf(out, "%s\n", written->str);
}

static void alter(const char *path, const char *to)
{
    struct find_line line;
    struct line at;
    g_autoptr(GError) error = NULL;
    g_autoptr(GRand) random = g_rand_new_with_seed(SEED);
    g_autoptr(FindDb) db = find_db_open(path, &error);
    FILE *out = fopen(to, "we");
    g_assert_no_error(error);
    find_line_init(&line);
    while (find_db_next(db, &line, &at, &error) == READ_ROW) {
        if (g_rand_int_range(random, 0, 50) > 0) {
            alter_line(&line, random, out);
        }
    }
    g_assert_no_error(error);
    find_line_clear(&line);
    fclose(out);
}

/* Runs the program with its output discarded; returns false if it is missing or fails. merge's exit
 * status 1 is accepted: it reports that gfx1030's times of 0 were left out. */
static bool run_timed(char *const *argv, double *wall, double *cpu)
{
    struct rusage usage;
    pid_t child = 0;
    int status = 0;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    gint64 start = g_get_monotonic_time();
    int failed = posix_spawnp(&child, argv[0], &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (failed != 0 || wait4(child, &status, 0, &usage) != child) {
        return false;
    }
    *wall = (double)(g_get_monotonic_time() - start) / G_USEC_PER_SEC;
    *cpu = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / G_USEC_PER_SEC;
    return WIFEXITED(status) && WEXITSTATUS(status) <= 1;
}

static void run_side(struct bench *bench, enum side side, int turn)
{
    const char *program = g_getenv("SKIPJACK");
    const char *skipjack = program != NULL ? program : "build/skipjack";
    const char *const commands[SIDES][9] = {
        [OURS] = {skipjack, "merge", "--prefer=fastest", bench->first, bench->second, "-o",
                  bench->newer},
        [OURS_OLDER] = {skipjack, "merge", "--prefer=fastest", "--form=older", bench->first,
                        bench->second, "-o", bench->older},
        [DICTIONARIES] = {"python3", "tests/bench/merge_plain_dicts.py", bench->first,
                          bench->second, bench->dictionaries},
        [PYTHON] = {"python3", "tests/bench/merge_find_dbs.py", bench->first, bench->second,
                    bench->python},
        [SORT] = {"sort", "-m", bench->first, bench->second, "-o", bench->sorted},
    };
    if (!run_timed((char *const *)commands[side], &bench->wall[side][turn],
                   &bench->cpu[side][turn])) {
        g_printerr("bench_merge: %s does not run here\n", side_names[side]);
        exit(1);
    }
}

static int compare_seconds(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

static double median(double *seconds)
{
    qsort(seconds, TURNS, sizeof seconds[0], compare_seconds);
    return seconds[TURNS / 2];
}

static double size_of(const char *path)
{
    struct stat status;
    g_assert_cmpint(stat(path, &status), ==, 0);
    return (double)status.st_size;
}

static bool same_bytes(const char *a, const char *b)
{
    g_autoptr(GBytes) left = temp_folder_read(a);
    g_autoptr(GBytes) right = temp_folder_read(b);
    return g_bytes_equal(left, right);
}

static bool goal(const char *what, double figure, double limit, bool least, const char *unit)
{
    bool met = least ? figure >= limit : figure <= limit;
    printf("%-44s %8.1f %s  (aim: %s %.0f, %s)\n", what, figure, unit,
           least ? "at least" : "at most", limit, met ? "met" : "missed");
    return met;
}

static bool print(struct bench *bench)
{
    double bytes = size_of(bench->first) + size_of(bench->second), cpu[SIDES];
    printf("%-28s %10s %10s %16s\n", "", "CPU s", "wall s", "MB/s of input");
    for (int side = 0; side < SIDES; side++) {
        cpu[side] = median(bench->cpu[side]);
        printf("%-28s %10.3f %10.3f %16.0f\n", side_names[side], cpu[side],
               median(bench->wall[side]), bytes / cpu[side] / 1e6);
    }
    bool same = same_bytes(bench->newer, bench->python);
    bool met = goal("merged a second of one core", bytes / cpu[OURS] / 1e6,
                    GOAL_BYTES_PER_SECOND / 1e6, true, "MB");
    met &= goal("plain dictionaries' (MITuna's way) over ours", cpu[DICTIONARIES] / cpu[OURS],
                GOAL_DICTIONARIES, true, "times");
    met &= goal("that of Python which does our work, over ours", cpu[PYTHON] / cpu[OURS],
                GOAL_PYTHON, true, "times");
    met &= goal("our time over sort -m's", cpu[OURS] / cpu[SORT], GOAL_SORT, false, "times");
    met &= goal("... in the older form, copied", cpu[OURS_OLDER] / cpu[SORT], GOAL_SORT, false,
                "times");
    printf("the bytes of skipjack and of Python are %s\n", same ? "the same" : "NOT the same");
    return met && same;
}

int main(void)
{
    const char *data = g_getenv("SKIPJACK_DATA");
    g_autofree char *packed =
        g_build_filename(data != NULL ? data : "", "miopen", "gfx1030_36.HIP.fdb.txt.bz2", NULL);
    g_autoptr(TempFolder) folder = temp_folder_new();
    if (data == NULL || !g_file_test(packed, G_FILE_TEST_EXISTS)) {
        puts("skipped: SKIPJACK_DATA names no folder with MIOpen's gfx1030 find-db");
        return 0;
    }
    struct bench bench = {.first = temp_folder_path(folder, "a.fdb.txt"),
                          .second = temp_folder_path(folder, "b.fdb.txt"),
                          .newer = temp_folder_path(folder, "newer.fdb.txt"),
                          .older = temp_folder_path(folder, "older.fdb.txt"),
                          .dictionaries = temp_folder_path(folder, "dictionaries.fdb.txt"),
                          .python = temp_folder_path(folder, "python.fdb.txt"),
                          .sorted = temp_folder_path(folder, "sorted.txt")};
    /* The locale C: sort must order lines by their bytes, as merge does. */
    g_setenv("LC_ALL", "C", TRUE);
    unpack(packed, bench.first);
    alter(bench.first, bench.second);
    printf("two find-dbs of %.1f and %.1f MB, %d turns of each\n", size_of(bench.first) / 1e6,
           size_of(bench.second) / 1e6, TURNS);
    for (int turn = 0; turn < TURNS; turn++) {
        for (int side = 0; side < SIDES; side++) {
            run_side(&bench, (enum side)side, turn);
        }
    }
    return print(&bench) ? 0 : 1;
}
