/* The exported .sjdb, with the test's own solvers: one can be tuned, takes any epilogue and strides, and packs the
 * filter of a batch of 16. */
#include "export/commands.h"
#include "export/formats/find_db.h"
#include "export/release/export.h"
#include "export/sjdb/reader/skipjackdb.h"
#include "solvers/framework/solver.h"
#include "tests/support/export/export_farm.h"
#include "tests/support/export/export_scene.h"
#include "tests/support/temp_folder.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool applies(const struct problem *p, const struct context *context, const char **reason)
{
    (void)p;
    (void)context;
    (void)reason;
    return true;
}

static bool applies_bare(const struct problem *p, const struct context *context,
                         const char **reason)
{
    (void)context;
    *reason = "needs a convolution without epilogue";
    return p->epilogue[0] == '\0';
}

/* Forward inputs of 55 and 56 share one perf-db row and have different default configs. */
static void usual(const struct problem *p, const struct context *context,
                  struct perf_config *config)
{
    (void)context;
    config->count = 1;
    config->values[0] = p->in[AXIS_H] % 2 == 0 ? 2 : 1;
}

static void none(const struct problem *p, const struct context *context, struct perf_config *config)
{
    (void)p;
    (void)context;
    config->count = 0;
}

static const int32_t values[] = {1, 2};
static const struct space_param params[] = {{"TILE", G_N_ELEMENTS(values), values}};
static const struct space space = {1, params, 0, NULL};
static const char *const sources[] = {NULL};

static bool solve(const struct problem *p, const struct context *context,
                  const struct perf_config *config, struct solution *solution, GError **error)
{
    (void)context;
    (void)error;
    if (config->count > 0 && p->n == 16) {
        struct launch *pack = export_scene_launch(p, config, solution);
        launch_arg_tensor(pack, TENSOR_W);
        launch_arg_tensor(pack, TENSOR_PACKED);
        solution->pack_count = 1;
        solution->packed_bytes = 4096;
    }
    struct launch *launch = export_scene_launch(p, config, solution);
    launch_arg_tensor(launch, TENSOR_X);
    if (problem_has_operand(p, TENSOR_BIAS)) {
        launch_arg_tensor(launch, TENSOR_BIAS);
    }
    launch_arg_stride(launch, TENSOR_Y, 1);
    launch_arg_int32(launch, p->in[AXIS_W]);
    launch_arg_float32(launch, 0.5);
    solution->flops = 1e6;
    return true;
}

#define SOLVER(NAME, APPLIES, SPACE, DEFAULT)                                                      \
    {                                                                                              \
        .provider = "test", .name = NAME, .revision = 3, .algorithm = "Direct",                    \
        .sources = sources, .is_applicable = APPLIES, .default_config = DEFAULT, .space = SPACE,   \
        .solve = solve, .any_strides = true, .epilogues = EPILOGUE_DOES_ALL                        \
    }
static const struct solver solvers[] = {SOLVER("ConvTuned", applies, &space, usual),
                                        SOLVER("ConvBare", applies_bare, NULL, none)};
/* Replaces the program's table of solvers. */
const struct solver *const solver_table[] = {&solvers[0], &solvers[1]};
const int solver_table_count = G_N_ELEMENTS(solver_table);

#define FORWARD "64-56-56-3x3-64-56-56-16-1x1-1x1-1x1-0-NCHW-FP32-F"
#define FUSED   (FORWARD "+bias+relu")
#define ODD     "128-28-28-3x3-64-55-55-4-1x1-2x2-1x1-0-NCHW-FP32-B"
#define EVEN    "128-28-28-3x3-64-56-56-4-1x1-2x2-1x1-0-NCHW-FP32-B"
#define STRIDED "64-8-8-1x1-64-8-8-4-0x0-1x1-1x1-0-NCHW-FP32-F_sx5000x64x0x8x1"
static const char *const keys[] = {ODD, EVEN, FUSED, FORWARD, STRIDED};

static void export_to(const char *const *of, int count, unsigned what, const char *dir,
                      struct export_summary *summary)
{
    struct export_farm farm;
    g_autoptr(GError) error = NULL;
    memset(summary, 0, sizeof *summary);
    export_farm_init_with(&farm, of, count);
    export_farm_work(&farm);
    const struct export_wish wish = {
        .campaign = farm.campaign, .what = what, .top = FIND_ENTRIES_MAX};
    g_assert_true(export_campaign(farm.store, &wish, dir, summary, &error));
    g_assert_no_error(error);
    g_assert_cmpint(summary->refused.count, ==, 0);
    export_farm_clear(&farm);
}

static const char *params_of(const skipjackdb *db, const char *key)
{
    struct skipjackdb_problem problem = {.size = sizeof problem};
    const char *found = "";
    g_assert_cmpint(skipjackdb_problem_parse(key, &problem), ==, SKIPJACKDB_OK);
    g_assert_cmpint(skipjackdb_params(db, &problem, "ConvTuned", &found), ==, SKIPJACKDB_OK);
    return found;
}

static struct skipjackdb_solution solution_of(const skipjackdb *db, const char *key,
                                              const char *solver)
{
    struct skipjackdb_problem problem = {.size = sizeof problem};
    struct skipjackdb_solution solution = {0};
    g_assert_cmpint(skipjackdb_problem_parse(key, &problem), ==, SKIPJACKDB_OK);
    g_assert_cmpint(skipjackdb_solution(db, &problem, solver, &solution, sizeof solution), ==,
                    SKIPJACKDB_OK);
    return solution;
}

static void each_problem_has_its_own_params_and_launches(void)
{
    struct export_summary summary;
    skipjackdb *db = NULL;
    g_autoptr(TempFolder) folder = temp_folder_new();
    export_to(keys, G_N_ELEMENTS(keys), EXPORT_COMPACT, temp_folder_path(folder, "out"), &summary);
    g_assert_cmpint(summary.perf_records, ==, 2);
    g_assert_cmpint(summary.merged, ==, 1);
    g_assert_cmpint(summary.find_keys, ==, 3);
    g_assert_cmpint(summary.inexpressible, ==, 2);
    g_assert_cmpint(summary.lacks[LACK_EPILOGUE], ==, 1);
    g_assert_cmpint(summary.lacks[LACK_STRIDES], ==, 1);
    g_assert_cmpint(summary.lacks[LACK_OPERATOR], ==, 0);
    g_assert_cmpuint(summary.files->len, ==, 2);
    g_assert_cmpint(skipjackdb_open(summary.files->pdata[0], &db), ==, SKIPJACKDB_OK);
    g_assert_cmpint((int)skipjackdb_problem_count(db), ==, 5);
    /* the plain forward problem has one solution that packs, and one that does not */
    g_assert_cmpint((int)skipjackdb_solved_count(db), ==, 6);
    g_assert_cmpuint(solution_of(db, FORWARD, "ConvTuned").pack_count, ==, 1);
    g_assert_cmpuint(solution_of(db, FORWARD, "ConvTuned").packed_bytes, ==, 4096);
    g_assert_cmpuint(solution_of(db, FORWARD, "ConvBare").pack_count, ==, 0);
    g_assert_cmpuint(solution_of(db, FUSED, "ConvTuned").launch_count, ==, 2);
    g_assert_cmpuint(solution_of(db, STRIDED, "ConvTuned").launch_count, ==, 1);
    g_assert_cmpstr(params_of(db, ODD), ==, "1");
    g_assert_cmpstr(params_of(db, EVEN), ==, "2");
    g_assert_cmpstr(params_of(db, FUSED), ==, "2");
    g_assert_nonnull(strstr(skipjackdb_meta(db), "\"target\":\"" EXPORT_FARM_TARGET "\""));
    g_assert_nonnull(strstr(skipjackdb_meta(db), "\"solutions\":9"));
    skipjackdb_close(db);
    export_summary_clear(&summary);
}

/* Returns what `skipjack lookup DB KEY` prints; *status: its exit status. */
static char *look_up(const char *db, const char *key, TempFolder *folder, int *status)
{
    char *argv[] = {(char *)"lookup", (char *)db, (char *)key, NULL};
    const char *path = temp_folder_path(folder, "printed");
    char *text = NULL;
    fflush(stdout);
    int before = dup(STDOUT_FILENO);
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    g_assert_cmpint(dup2(file, STDOUT_FILENO), ==, STDOUT_FILENO);
    *status = command_lookup(3, argv);
    fflush(stdout);
    g_assert_cmpint(dup2(before, STDOUT_FILENO), ==, STDOUT_FILENO);
    close(before);
    close(file);
    g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
    return text;
}

static void problem_with_an_epilogue_is_in_it_alone_and_is_found(void)
{
    struct export_summary summary;
    int status = -1;
    g_autoptr(TempFolder) folder = temp_folder_new();
    export_to(keys, G_N_ELEMENTS(keys), EXPORT_ALL, temp_folder_path(folder, "out"), &summary);
    g_assert_cmpuint(summary.files->len, ==, 6);
    for (guint i = 0; i < summary.files->len - 1; i++) {
        g_autoptr(GBytes) bytes = temp_folder_read(summary.files->pdata[i]);
        gsize size = 0;
        const char *text = g_bytes_get_data(bytes, &size);
        bool is_text = g_str_has_suffix(summary.files->pdata[i], ".txt");
        g_assert_true(!is_text || g_strstr_len(text, (gssize)size, "relu") == NULL);
        if (g_str_has_suffix(summary.files->pdata[i], ".sjdb")) {
            g_autofree char *found = look_up(summary.files->pdata[i], FUSED, folder, &status);
            g_assert_cmpint(status, ==, 0);
            g_assert_nonnull(strstr(found, "ConvTuned"));
            g_assert_null(strstr(found, "ConvBare"));
        }
    }
    g_assert_cmpint(status, ==, 0);
    export_summary_clear(&summary);
}

/* A campaign of fused problems alone exports only a .sjdb: MIOpen's files would be empty and are
 * not written. */
static void nothing_but_epilogues_is_one_file(void)
{
    static const char *const fused[] = {FUSED};
    struct export_summary summary;
    g_autoptr(TempFolder) folder = temp_folder_new();
    export_to(fused, 1, EXPORT_ALL, temp_folder_path(folder, "out"), &summary);
    g_assert_cmpint(summary.find_keys, ==, 0);
    g_assert_cmpuint(summary.files->len, ==, 2);
    g_assert_true(g_str_has_suffix(summary.files->pdata[0], ".sjdb"));
    export_summary_clear(&summary);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/export_compact/each_problem_has_its_own_params_and_launches",
                    each_problem_has_its_own_params_and_launches);
    g_test_add_func("/export_compact/problem_with_an_epilogue_is_in_it_alone_and_is_found",
                    problem_with_an_epilogue_is_in_it_alone_and_is_found);
    g_test_add_func("/export_compact/nothing_but_epilogues_is_one_file",
                    nothing_but_epilogues_is_one_file);
    return g_test_run();
}
