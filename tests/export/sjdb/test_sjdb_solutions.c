#include "export/sjdb/sjdb_write.h"

#include "export/formats/kernel_db.h"
#include "export/formats/perf_db.h"
#include "export/sjdb/reader/layout.h"
#include "solvers/framework/solver.h"
#include "tests/support/export/sjdb_bytes.h"
#include "tests/support/export/sjdb_small.h"
#include "tests/support/kernels/conv_kinds.h"
#include "tests/support/temp_folder.h"

#include <string.h>

/* ---- solutions of the real solvers ---- */

struct sample {
    struct problem problem;
    const struct solver *solver;
    char params[256];
    struct solution solution;
    /* arguments of each launch's kernel, whose name is the launch's source file */
    char *args[SOLUTION_LAUNCHES_MAX];
};

static void sample_free(void *data)
{
    struct sample *sample = data;
    for (int i = 0; i < sample->solution.launch_count; i++) {
        g_free(sample->args[i]);
    }
    g_free(sample);
}

static void add_sample_of(GPtrArray *samples, const struct solver *solver, const struct problem *p,
                          const struct context *context)
{
    struct perf_config config = {0};
    struct sample *sample = g_new0(struct sample, 1);
    sample->problem = *p;
    sample->solver = solver;
    solver->default_config(p, context, &config);
    g_assert_true(solver_solve(solver, p, context, &config, &sample->solution, NULL));
    if (samples->len % 3 != 0) {
        g_snprintf(sample->params, sizeof sample->params, "params %u", samples->len % 5);
    }
    for (int i = 0; i < sample->solution.launch_count; i++) {
        sample->args[i] =
            kernel_db_args(sample->solution.launches[i].options, context->target->arch);
    }
    g_ptr_array_add(samples, sample);
}

/* Problems of every kind, each with all solvers that can run it. */
static GPtrArray *make_samples(const char *target_id, int count)
{
    static struct target target;
    struct context context;
    g_autoptr(GRand) random = g_rand_new_with_seed(31);
    g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    GPtrArray *samples = g_ptr_array_new_with_free_func(sample_free);
    g_assert_true(target_parse(target_id, &target, NULL));
    context_init(&context, &target);
    while ((int)g_hash_table_size(seen) < count) {
        struct conv_cell cell;
        struct problem p;
        char key[PROBLEM_KEY_MAX];
        conv_cell_at(g_rand_int_range(random, 0, conv_cell_count()), &cell);
        conv_kind_problem(random, g_rand_int_range(random, 0, conv_kind_count()), SIZES_ANY, &cell,
                          1e8, &p);
        if (!g_hash_table_add(seen, g_strdup(problem_key(&p, key)))) {
            continue;
        }
        for (int s = 0; s < solver_table_count; s++) {
            if (solver_applicable(solver_table[s], &p, &context, NULL)) {
                add_sample_of(samples, solver_table[s], &p, &context);
            }
        }
    }
    return samples;
}

static void add_solution(SjdbWriter *writer, const struct sample *sample)
{
    struct sjdb_kernel_name kernels[SOLUTION_LAUNCHES_MAX];
    g_autoptr(GError) error = NULL;
    for (int i = 0; i < sample->solution.launch_count; i++) {
        kernels[i] = (struct sjdb_kernel_name){sample->solution.launches[i].file, sample->args[i]};
    }
    g_assert_true(sjdb_writer_add_solution(writer, &sample->problem, sample->solver->name,
                                           sample->params, &sample->solution, kernels, &error));
    g_assert_no_error(error);
}

/* Adds the sample's kernels; the code of each is its arguments' text. */
static void add_kernels(SjdbWriter *writer, const struct sample *sample)
{
    for (int i = 0; i < sample->solution.launch_count; i++) {
        const char *name = sample->solution.launches[i].file;
        g_autoptr(GBytes) code = g_bytes_new(sample->args[i], strlen(sample->args[i]));
        g_assert_true(sjdb_writer_add_kernel(writer, name, sample->args[i], code, NULL));
    }
}

static void assert_kernel(const skipjackdb *db, uint64_t number, const char *name, const char *args)
{
    char text[LAUNCH_OPTIONS_MAX + 256];
    g_assert_cmpint(skipjackdb_kernel_read(db, number, text, sizeof text, NULL, 0), ==,
                    SKIPJACKDB_OK);
    g_assert_cmpstr(text, ==, name);
    g_assert_cmpstr(text + strlen(text) + 1, ==, args);
}

static void assert_arg(const struct problem *problem, const struct launch_arg *meant,
                       const struct skipjackdb_arg *arg)
{
    int64_t strides[5];
    g_assert_cmpint(arg->kind, ==, meant->kind);
    switch (meant->kind) {
    case ARG_TENSOR: g_assert_cmpint(arg->tensor, ==, meant->tensor); return;
    case ARG_WORKSPACE:
    case ARG_INT32:
    case ARG_INT64: g_assert_cmpint(arg->value, ==, meant->value); return;
    case ARG_FLOAT32: g_assert_true(arg->real == (float)meant->real); return;
    case ARG_STRIDE:
        problem_packed_strides(problem, meant->tensor, strides);
        g_assert_cmpint(arg->tensor, ==, meant->tensor);
        g_assert_cmpint(arg->axis, ==, meant->value);
        g_assert_cmpint(arg->factor, ==, meant->factor);
        g_assert_cmpint(arg->value, ==, strides[meant->value] * meant->factor);
        return;
    }
}

static void assert_launch(const skipjackdb *db, const struct skipjackdb_solution *solution,
                          const struct skipjackdb_problem *read, const struct sample *sample, int i)
{
    const struct launch *meant = &sample->solution.launches[i];
    struct skipjackdb_launch launch = {.size = sizeof launch};
    struct skipjackdb_arg args[LAUNCH_ARGS_MAX];
    g_assert_cmpint(skipjackdb_launch_at(db, solution, (uint32_t)i, &launch), ==, SKIPJACKDB_OK);
    g_assert_cmpstr(launch.entry, ==, meant->entry);
    g_assert_cmpuint(launch.local_bytes, ==, meant->local_bytes);
    g_assert_cmpint(launch.arg_count, ==, meant->arg_count);
    for (int axis = 0; axis < 3; axis++) {
        g_assert_cmpint(launch.grid[axis], ==, meant->grid[axis]);
        g_assert_cmpint(launch.block[axis], ==, meant->block[axis]);
    }
    assert_kernel(db, launch.kernel, meant->file, sample->args[i]);
    g_assert_cmpint(skipjackdb_args(db, &launch, read, args, sizeof *args, G_N_ELEMENTS(args)), ==,
                    SKIPJACKDB_OK);
    for (int a = 0; a < meant->arg_count; a++) {
        assert_arg(&sample->problem, &meant->args[a], &args[a]);
    }
}

static void assert_sample(const skipjackdb *db, const struct sample *sample)
{
    char key[PROBLEM_KEY_MAX];
    struct problem problem;
    struct skipjackdb_problem read;
    struct skipjackdb_solution solution;
    const char *params = "";
    sjdb_small_parse(problem_key(&sample->problem, key), &problem, &read);
    g_assert_cmpint(
        skipjackdb_solution(db, &read, sample->solver->name, &solution, sizeof solution), ==,
        SKIPJACKDB_OK);
    g_assert_cmpstr(solution.solver, ==, sample->solver->name);
    g_assert_cmpstr(solution.params, ==, sample->params);
    g_assert_cmpuint(solution.workspace_bytes, ==, sample->solution.workspace_bytes);
    g_assert_cmpint(solution.launch_count, ==, sample->solution.launch_count);
    g_assert_cmpint(skipjackdb_params(db, &read, sample->solver->name, &params), ==,
                    sample->params[0] != '\0' ? SKIPJACKDB_OK : SKIPJACKDB_NOT_FOUND);
    g_assert_cmpstr(params, ==, sample->params);
    for (int i = 0; i < sample->solution.launch_count; i++) {
        assert_launch(db, &solution, &read, sample, i);
    }
}

/* The size in bytes of the file's sections that hold solutions. */
static uint64_t solution_bytes(const skipjackdb *db)
{
    struct skipjackdb_section section = {.size = sizeof section};
    uint64_t bytes = 0;
    for (size_t i = 0; skipjackdb_section_at(db, i, &section) == SKIPJACKDB_OK; i++) {
        bool of_recipes = section.kind >= SJDB_RECIPE_STARTS && section.kind <= SJDB_FORMS;
        bytes += of_recipes || section.kind >= SJDB_SOLVED ? section.bytes : 0;
    }
    return bytes;
}

static void solutions_of_all_solvers_read_back(void)
{
    static const char *const targets[] = {"gfx90a68", "cpu-skylake-avx512_2", "sm_90_132_80g"};
    g_autoptr(TempFolder) folder = temp_folder_new();
    const char *path = temp_folder_path(folder, "a.sjdb");
    for (gsize t = 0; t < G_N_ELEMENTS(targets); t++) {
        g_autoptr(GPtrArray) samples = make_samples(targets[t], 150);
        g_autoptr(SjdbWriter) writer = sjdb_writer_new(path);
        for (guint i = 0; i < samples->len; i++) {
            add_solution(writer, samples->pdata[i]);
            add_kernels(writer, samples->pdata[i]);
        }
        skipjackdb *db = sjdb_small_finish(writer, path);
        g_test_message("%s: %u solutions, %.0f bytes each", targets[t], samples->len,
                       (double)solution_bytes(db) / samples->len);
        g_assert_cmpuint(solution_bytes(db), <, 128 * (guint64)samples->len);
        g_assert_cmpuint(samples->len, >, 150);
        for (guint i = 0; i < samples->len; i++) {
            assert_sample(db, samples->pdata[i]);
        }
        skipjackdb_close(db);
    }
}

static void order_of_adding_does_not_change_the_bytes(void)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    g_autoptr(GPtrArray) samples = make_samples("gfx90a68", 50);
    GBytes *written[2] = {NULL, NULL};
    for (int w = 0; w < 2; w++) {
        const char *path = temp_folder_path(folder, w == 0 ? "a.sjdb" : "b.sjdb");
        g_autoptr(SjdbWriter) writer = sjdb_writer_new(path);
        for (guint i = 0; i < samples->len; i++) {
            const struct sample *sample = samples->pdata[w == 0 ? i : samples->len - 1 - i];
            add_kernels(writer, samples->pdata[i]);
            add_solution(writer, sample);
        }
        skipjackdb_close(sjdb_small_finish(writer, path));
        written[w] = temp_folder_read(path);
    }
    g_assert_true(g_bytes_equal(written[0], written[1]));
    g_bytes_unref(written[0]);
    g_bytes_unref(written[1]);
}

/* ---- what the writer takes ---- */

static void problem_has_its_own_params_before_its_row(void)
{
    static const struct {
        /* params of the problem's own solution; NULL: no solution; "": a solution without params */
        const char *key, *own;
    } cases[] = {{SJDB_SMALL_KEY, "1"},
                 {SJDB_SMALL_KEY "+relu", "2"},
                 {SJDB_SMALL_KEY "_ciFP16", NULL},
                 {SJDB_SMALL_KEY "+bias", ""}};
    g_autoptr(TempFolder) folder = temp_folder_new();
    const char *path = temp_folder_path(folder, "a.sjdb");
    g_autoptr(SjdbWriter) writer = sjdb_writer_new(path);
    struct solution solution;
    struct problem problem;
    struct skipjackdb_problem read;
    struct perf_row row;
    sjdb_small_solution(&solution);
    sjdb_small_add_kernel(writer);
    sjdb_small_parse(SJDB_SMALL_KEY, &problem, &read);
    perf_row_from_problem(&problem, &row);
    g_assert_true(sjdb_writer_add_perf(writer, &row, "A", "row's", NULL));
    g_assert_true(sjdb_writer_add_perf(writer, &row, "B", "row's", NULL));
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        sjdb_small_parse(cases[i].key, &problem, &read);
        g_assert_true(cases[i].own == NULL ||
                      sjdb_writer_add_solution(writer, &problem, "A", cases[i].own, &solution,
                                               &sjdb_small_kernel, NULL));
    }
    skipjackdb *db = sjdb_small_finish(writer, path);
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        const char *params = "", *expected = cases[i].own != NULL ? cases[i].own : "row's";
        sjdb_small_parse(cases[i].key, &problem, &read);
        g_assert_cmpint(skipjackdb_params(db, &read, "A", &params), ==,
                        expected[0] != '\0' ? SKIPJACKDB_OK : SKIPJACKDB_NOT_FOUND);
        g_assert_cmpstr(params, ==, expected);
        g_assert_cmpint(skipjackdb_params(db, &read, "B", &params), ==, SKIPJACKDB_OK);
        g_assert_cmpstr(params, ==, "row's");
    }
    g_assert_cmpuint(db != NULL ? skipjackdb_solved_count(db) : 0, ==, 3);
    skipjackdb_close(db);
}

static void solutions_that_cannot_run_are_refused(void)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    g_autoptr(SjdbWriter) writer = sjdb_writer_new(temp_folder_path(folder, "a.sjdb"));
    struct problem problem;
    struct skipjackdb_problem read;
    sjdb_small_parse(SJDB_SMALL_KEY, &problem, &read);
    for (int i = 0; i < 9; i++) {
        g_autoptr(GError) error = NULL;
        struct solution solution;
        sjdb_small_solution(&solution);
        switch (i) {
        case 0: solution.launch_count = 0; break;
        case 1: solution.launches[0].grid[0] = 0; break;
        case 2: solution.launches[0].grid[0] = 11; break;
        case 3: solution.launches[0].block[1] = 0; break;
        case 4: solution.launches[0].local_bytes = -1; break;
        case 5: solution.launches[0].entry = ""; break;
        case 6: solution.launches[0].args[5].value = 5; break;
        case 7: solution.launches[0].args[1].value = -1; break;
        case 8: solution.workspace_bytes = 64; break;
        }
        g_assert_false(sjdb_writer_add_solution(writer, &problem, "A", "", &solution,
                                                &sjdb_small_kernel, &error));
        g_assert_nonnull(error);
    }
}

static void second_solution_of_a_solver_is_refused(void)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    g_autoptr(SjdbWriter) writer = sjdb_writer_new(temp_folder_path(folder, "a.sjdb"));
    g_autoptr(GError) error = NULL;
    struct problem problem;
    struct skipjackdb_problem read;
    struct solution solution;
    sjdb_small_parse(SJDB_SMALL_KEY, &problem, &read);
    sjdb_small_solution(&solution);
    g_assert_true(
        sjdb_writer_add_solution(writer, &problem, "A", "1", &solution, &sjdb_small_kernel, NULL));
    g_assert_false(sjdb_writer_add_solution(writer, &problem, "A", "1", &solution,
                                            &sjdb_small_kernel, &error));
    g_assert_error(error, EXPORT_ERROR, EXPORT_ERROR_SYNTAX);
    g_assert_nonnull(strstr(error->message, SJDB_SMALL_KEY));
}

static void missing_kernel_is_named(void)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    const char *path = temp_folder_path(folder, "a.sjdb");
    g_autoptr(SjdbWriter) writer = sjdb_writer_new(path);
    g_autoptr(GError) error = NULL;
    struct problem problem;
    struct skipjackdb_problem read;
    struct solution solution;
    sjdb_small_parse(SJDB_SMALL_KEY, &problem, &read);
    sjdb_small_solution(&solution);
    g_assert_true(
        sjdb_writer_add_solution(writer, &problem, "A", "1", &solution, &sjdb_small_kernel, NULL));
    g_assert_false(sjdb_writer_finish(writer, &error));
    g_assert_error(error, EXPORT_ERROR, EXPORT_ERROR_SYNTAX);
    g_assert_nonnull(strstr(error->message, "'conv.cl.o' with '-DA=1'"));
    g_assert_false(g_file_test(path, G_FILE_TEST_EXISTS));
}

static void packed_strides_are_the_programs(void)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(32);
    for (int i = 0; i < conv_cell_count(); i++) {
        struct conv_cell cell;
        struct problem p, again;
        struct skipjackdb_problem read;
        char key[PROBLEM_KEY_MAX];
        conv_cell_at(i, &cell);
        conv_kind_problem(random, i % conv_kind_count(), SIZES_ODD, &cell, 1e8, &p);
        sjdb_small_parse(problem_key(&p, key), &again, &read);
        for (int t = 0; t < TENSOR_COUNT; t++) {
            int64_t ours[5], strides[5], elements = 0;
            problem_packed_strides(&p, (enum tensor_role)t, ours);
            g_assert_cmpint(skipjackdb_strides(&read, t, strides, &elements), ==, SKIPJACKDB_OK);
            g_assert_cmpmem(strides, sizeof strides, ours, sizeof ours);
            g_assert_cmpint(elements, ==, problem_tensor_elements(&p, (enum tensor_role)t));
        }
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/sjdb_solutions/solutions_of_all_solvers_read_back",
                    solutions_of_all_solvers_read_back);
    g_test_add_func("/sjdb_solutions/order_of_adding_does_not_change_the_bytes",
                    order_of_adding_does_not_change_the_bytes);
    g_test_add_func("/sjdb_solutions/problem_has_its_own_params_before_its_row",
                    problem_has_its_own_params_before_its_row);
    g_test_add_func("/sjdb_solutions/solutions_that_cannot_run_are_refused",
                    solutions_that_cannot_run_are_refused);
    g_test_add_func("/sjdb_solutions/second_solution_of_a_solver_is_refused",
                    second_solution_of_a_solver_is_refused);
    g_test_add_func("/sjdb_solutions/missing_kernel_is_named", missing_kernel_is_named);
    g_test_add_func("/sjdb_solutions/packed_strides_are_the_programs",
                    packed_strides_are_the_programs);
    return g_test_run();
}
