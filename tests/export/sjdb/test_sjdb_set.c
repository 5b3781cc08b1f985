#include "export/sjdb/sjdb_write.h"

#include "export/sjdb/reader/skipjackdb.h"
#include "tests/support/temp_folder.h"

#include <string.h>

/* Enough problems that sections and spools exceed their buffers in memory. */
#define PROBLEMS 20000
#define SOLVERS  3
static const char *const solvers[SOLVERS] = {"A", "B", "C"};

static void make_problem(int number, struct problem *p)
{
    problem_init(p);
    p->c = 1 + number % 100;
    p->k = 1 + number / 100;
    p->in[AXIS_H] = p->in[AXIS_W] = 7;
    p->direction = (enum direction)(number % 3);
    problem_set_output(p);
}

static void make_entry(int number, int s, struct sjdb_find_entry *entry)
{
    *entry = (struct sjdb_find_entry){.solver = solvers[s],
                                      .algorithm = "direct",
                                      .time_ms = (1 + number * SOLVERS + s) / 1000.0,
                                      .workspace_bytes = (uint64_t)(number % 5) * 1024};
}

static void add_solution(SjdbWriter *writer, const struct problem *p, int number, int s)
{
    static const struct sjdb_kernel_name kernel = {"k", "-O3"};
    static struct solution solution;
    char params[16];
    g_autoptr(GError) error = NULL;
    g_snprintf(params, sizeof params, "%d", s);
    solution = (struct solution){.launch_count = 1};
    solution.launches[0] = (struct launch){.entry = "run", .arg_count = 2};
    for (int i = 0; i < 3; i++) {
        solution.launches[0].block[i] = 1;
        solution.launches[0].grid[i] = 1 + (i == 0 ? number : 0);
    }
    solution.launches[0].args[0] = (struct launch_arg){.kind = ARG_TENSOR, .tensor = TENSOR_X};
    solution.launches[0].args[1] = (struct launch_arg){.kind = ARG_INT32, .value = number - s};
    sjdb_writer_add_solution(writer, p, solvers[s], params, &solution, &kernel, &error);
    g_assert_no_error(error);
}

/* Writes the same problems and entries; with `backwards` in the opposite order. */
static const char *write_file(TempFolder *folder, const char *name, bool backwards)
{
    const char *path = temp_folder_path(folder, name);
    g_autoptr(SjdbWriter) writer = sjdb_writer_new(path);
    g_autoptr(GBytes) code = g_bytes_new_static("code", 4);
    g_autoptr(GError) error = NULL;
    for (int i = 0; i < PROBLEMS; i++) {
        struct sjdb_find_entry entries[SOLVERS];
        struct problem p;
        int number = backwards ? PROBLEMS - 1 - i : i;
        make_problem(number, &p);
        for (int j = 0; j < SOLVERS; j++) {
            int s = backwards ? SOLVERS - 1 - j : j;
            make_entry(number, s, &entries[s]);
            add_solution(writer, &p, number, s);
        }
        g_assert_true(sjdb_writer_add_find(writer, &p, entries, SOLVERS, NULL));
    }
    g_assert_true(sjdb_writer_add_kernel(writer, "k", "-O3", code, NULL));
    sjdb_writer_finish(writer, &error);
    g_assert_no_error(error);
    return path;
}

static void assert_problem(const skipjackdb *db, int number)
{
    struct skipjackdb_problem asked = {.size = sizeof asked};
    struct skipjackdb_entry read[SOLVERS];
    struct problem p;
    char key[PROBLEM_KEY_MAX];
    uint64_t found = 0;
    size_t count = 0;
    make_problem(number, &p);
    problem_key(&p, key);
    g_assert_cmpint(skipjackdb_problem_parse(key, &asked), ==, SKIPJACKDB_OK);
    g_assert_cmpint(skipjackdb_find(db, &asked, &found), ==, SKIPJACKDB_OK);
    g_assert_cmpint(skipjackdb_entries(db, found, read, sizeof read[0], SOLVERS, &count), ==,
                    SKIPJACKDB_OK);
    g_assert_cmpuint(count, ==, SOLVERS);
    for (int s = 0; s < SOLVERS; s++) {
        struct skipjackdb_solution solution;
        struct skipjackdb_launch launch = {.size = sizeof launch};
        struct sjdb_find_entry wrote;
        make_entry(number, s, &wrote);
        g_assert_cmpstr(read[s].solver, ==, wrote.solver);
        g_assert_true(read[s].time_ms == wrote.time_ms);
        g_assert_cmpuint(read[s].workspace_bytes, ==, wrote.workspace_bytes);
        g_assert_cmpint(skipjackdb_solution(db, &asked, solvers[s], &solution, sizeof solution), ==,
                        SKIPJACKDB_OK);
        g_assert_cmpint(skipjackdb_launch_at(db, &solution, 0, &launch), ==, SKIPJACKDB_OK);
        g_assert_cmpint(launch.grid[0], ==, 1 + number);
    }
}

static void long_sections_come_back_in_any_order(void)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    const char *path = write_file(folder, "forwards.sjdb", false);
    g_autoptr(GBytes) forwards = temp_folder_read(path);
    g_autoptr(GBytes) backwards = temp_folder_read(write_file(folder, "backwards.sjdb", true));
    skipjackdb *db = NULL;
    g_assert_true(g_bytes_equal(forwards, backwards));
    g_assert_cmpint(skipjackdb_open(path, &db), ==, SKIPJACKDB_OK);
    g_assert_cmpint(skipjackdb_verify(db), ==, SKIPJACKDB_OK);
    g_assert_cmpuint(skipjackdb_problem_count(db), ==, PROBLEMS);
    g_assert_cmpuint(skipjackdb_solved_count(db), ==, PROBLEMS);
    for (int number = 0; number < PROBLEMS; number += 97) {
        assert_problem(db, number);
    }
    skipjackdb_close(db);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/sjdb_set/long_sections_come_back_in_any_order",
                    long_sections_come_back_in_any_order);
    return g_test_run();
}
