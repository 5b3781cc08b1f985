/* A campaign filled through the store as workers fill it, exported, read back. */
#include "export/export.h"

#include "export/check.h"
#include "schema/store_private.h"
#include "solvers/problem_key.h"
#include "solvers/solver.h"
#include "tests/support/scratch_db.h"
#include "tests/support/temp_folder.h"

#include <string.h>
#include <unistd.h>

#define TARGET "cpu-znver4_2"

static const char *const keys[] = {
    "64-56-56-3x3-64-56-56-1-1x1-1x1-1x1-0-NCHW-FP32-F",
    "256-14-14-1x1-512-14-14-2-0x0-1x1-1x1-0-NCHW-FP32-F",
    "128-28-28-3x3-64-56-56-4-1x1-2x2-1x1-0-NCHW-FP32-B",
};

struct farm {
    Store *store;
    struct target target;
    struct context context;
    int64_t campaign, worker;
    bool lose_kernels; /* code objects of the first problem never arrive */
};

static GArray *plans_of(const struct farm *farm)
{
    GArray *plans = g_array_new(FALSE, TRUE, sizeof(struct job_plan));
    for (size_t k = 0; k < G_N_ELEMENTS(keys); k++) {
        struct job_plan plan = {.priority = 1, .multiplicity = (int)k + 1};
        g_assert_true(problem_key_parse(keys[k], &plan.problem, NULL));
        for (int s = 0; s < solver_table_count; s++) {
            const struct solver *solver = solver_table[s];
            const char *why = NULL;
            if (!solver_applicable(solver, &plan.problem, &farm->context, &why)) {
                continue;
            }
            plan.solver = solver->name;
            plan.revision = solver->revision;
            plan.hash = solver_hash(solver);
            plan.provider = solver->provider;
            plan.algorithm = solver->algorithm;
            plan.dynamic = solver->dynamic;
            plan.tunable = solver->space != NULL;
            g_array_append_val(plans, plan);
        }
    }
    return plans;
}

static void farm_init(struct farm *farm)
{
    g_autoptr(GError) error = NULL;
    memset(farm, 0, sizeof *farm);
    farm->store = scratch_store();
    g_assert_true(target_parse(TARGET, &farm->target, &error));
    context_init(&farm->context, &farm->target);
    g_assert_true(store_put_target(farm->store, &farm->target, &error));
    char name[] = "test", identity[] = "id", target[] = TARGET, strategy[] = "random";
    struct campaign campaign = {.name = name,
                                .identity = identity,
                                .target = target,
                                .strategy = strategy,
                                .round_configs = 4};
    g_autoptr(GArray) plans = plans_of(farm);
    int reused = 0;
    g_assert_true(store_create_campaign(farm->store, &campaign,
                                        (const struct job_plan *)(void *)plans->data,
                                        (int)plans->len, &reused, &error));
    struct worker_info info = {.node = "n", .process = "p", .target = TARGET, .stack = "test"};
    g_assert_true(store_register_worker(farm->store, &info, &farm->worker, &error));
    g_assert_no_error(error);
    farm->campaign = campaign.id;
}

static void farm_clear(struct farm *farm)
{
    store_close(farm->store);
}

/* One launch's kernel with made-up code; returns its key. */
static char *put_kernel(const struct farm *farm, const struct launch *launch, bool lost)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *code = g_strdup_printf("%s %s", launch->file, launch->options);
    char *key = g_compute_checksum_for_string(G_CHECKSUM_SHA256, code, -1);
    g_autofree char *sha256 = g_compute_checksum_for_string(G_CHECKSUM_SHA256, code, -1);
    struct kernel_row kernel = {.key = key,
                                .file = (char *)launch->file,
                                .entry = (char *)launch->entry,
                                .options = (char *)launch->options,
                                .arch = (char *)farm->target.arch,
                                .code_sha256 = sha256,
                                .built_by = farm->worker};
    kernel.code = g_bytes_new(code, strlen(code));
    if (lost)
        g_clear_pointer(&kernel.code, g_bytes_unref);
    g_assert_true(store_put_kernel(farm->store, &kernel, &error));
    g_clear_pointer(&kernel.code, g_bytes_unref);
    return key;
}

static char *put_kernels(const struct farm *farm, const struct job *job,
                         const struct perf_config *config, struct solution *solution)
{
    g_autoptr(GError) error = NULL;
    char key[PROBLEM_KEY_MAX];
    GString *joined = g_string_new(NULL);
    solution_init(solution);
    g_assert_true(solver_solve(solver_find(job->solver), &job->problem, &farm->context, config,
                               solution, &error));
    g_assert_no_error(error);
    bool lost = farm->lose_kernels && strcmp(problem_key(&job->problem, key), keys[0]) == 0;
    for (int i = 0; i < solution->launch_count; i++) {
        g_autofree char *kernel = put_kernel(farm, &solution->launches[i], lost);
        g_string_append_printf(joined, "%s%s", i > 0 ? "," : "", kernel);
    }
    return g_string_free(joined, FALSE);
}

/* A time that depends on problem and solver alone. */
static double time_of(const struct job *job)
{
    return 50 + problem_hash(&job->problem) % 97 + 0.123456789 * (double)strlen(job->solver);
}

static struct round *round_of(const struct farm *farm, const struct job *job, struct kept *kept)
{
    struct solution *solution = g_new(struct solution, 1);
    const struct solver *solver = solver_find(job->solver);
    struct round *round = round_new(1);
    char text[CONFIG_TEXT_MAX];
    solver->default_config(&job->problem, &farm->context, &round->configs[0]);
    round->stack = g_strdup("test");
    round->kernel_keys[0] = put_kernels(farm, job, &round->configs[0], solution);
    round->outcomes[0] = (struct outcome){
        .failure = FAILURE_NONE, .n = 9, .min_ms = time_of(job), .median_ms = time_of(job)};
    *kept = (struct kept){.config = round->configs[0],
                          .config_text = g_strdup(perf_config_format(&round->configs[0], text)),
                          .kernel_keys = g_strdup(round->kernel_keys[0]),
                          .outcome = round->outcomes[0],
                          .workspace_bytes = solution->workspace_bytes,
                          .flops = solution->flops,
                          .is_default = true};
    g_free(solution);
    return round;
}

static GPtrArray *claim(const struct farm *farm, enum pool pool)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GPtrArray) carried = g_ptr_array_new_with_free_func(g_free);
    for (int s = 0; s < solver_table_count; s++) {
        g_ptr_array_add(carried,
                        g_strdup_printf("%s:%d:%s", solver_table[s]->name,
                                        solver_table[s]->revision, solver_hash(solver_table[s])));
    }
    g_ptr_array_add(carried, NULL);
    struct claim wanted = {.worker = farm->worker,
                           .pool = pool,
                           .target = TARGET,
                           .solvers = (const char *const *)(void *)carried->pdata,
                           .batch = 100,
                           .lease_seconds = 60};
    GPtrArray *jobs = store_claim(farm->store, &wanted, &error);
    g_assert_no_error(error);
    return jobs;
}

/* Takes all jobs through one round. */
static void work(const struct farm *farm)
{
    for (int pool = POOL_BUILD; pool <= POOL_EVAL; pool++) {
        g_autoptr(GPtrArray) jobs = claim(farm, (enum pool)pool);
        g_assert_cmpuint(jobs->len, >, 0);
        for (guint i = 0; i < jobs->len; i++) {
            g_autoptr(GError) error = NULL;
            struct kept kept;
            struct round *round = round_of(farm, jobs->pdata[i], &kept);
            if (pool == POOL_BUILD) {
                for (int c = 0; c < round->config_count; c++)
                    round->outcomes[c] = (struct outcome){.failure = FAILURE_PENDING};
                store_built(farm->store, jobs->pdata[i], round, &error);
            } else {
                store_round(farm->store, jobs->pdata[i], round, &kept, 1, false, 1, &error);
            }
            g_assert_no_error(error);
            g_free(kept.config_text);
            g_free(kept.kernel_keys);
            round_free(round);
        }
    }
}

static bool export_to(const struct farm *farm, const char *dir, unsigned what,
                      struct export_summary *summary, GError **error)
{
    memset(summary, 0, sizeof *summary);
    return export_campaign(farm->store, farm->campaign, what, dir, summary, error);
}

static const char *const names[] = {TARGET ".kdb", TARGET ".db", TARGET ".db.txt",
                                    TARGET ".HIP.fdb.txt"};

static void campaign_is_exported_and_passes_check(void)
{
    struct farm farm;
    struct export_summary summary;
    g_autoptr(TempFolder) folder = temp_folder_new();
    g_autoptr(GError) error = NULL;
    farm_init(&farm);
    work(&farm);
    const char *dir = temp_folder_path(folder, "out");
    g_assert_true(export_to(&farm, dir, EXPORT_ALL, &summary, &error));
    g_assert_no_error(error);
    g_assert_cmpint(summary.find_keys, ==, 3);
    g_assert_cmpint(summary.perf_records, >, 0);
    g_assert_cmpuint(summary.refused->len, ==, 0);
    g_assert_cmpuint(summary.files->len, ==, 4);
    for (guint i = 0; i < summary.files->len; i++) {
        g_autoptr(CheckReport) report = check_file(summary.files->pdata[i]);
        g_assert_true(check_report_clean(report));
        g_assert_cmpint(report->findings[FINDING_UNKNOWN_SOLVER], ==, 0);
        g_assert_cmpint(report->findings[FINDING_UNSORTED_ENTRIES], ==, 0);
        const int64_t entries[] = {summary.kernels, summary.perf_records, summary.perf_records,
                                   summary.find_entries};
        g_assert_cmpint(report->entries, ==, entries[i]);
    }
    GDir *left = g_dir_open(dir, 0, NULL);
    int count = 0;
    while (g_dir_read_name(left) != NULL) {
        count++;
    }
    g_dir_close(left);
    g_assert_cmpint(count, ==, 4);
    export_summary_clear(&summary);
    farm_clear(&farm);
}

static void same_results_give_the_same_bytes(void)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    GBytes *first[G_N_ELEMENTS(names)] = {NULL};
    for (int pass = 0; pass < 3; pass++) {
        /* A database filled anew each time. */
        struct farm farm;
        struct export_summary summary;
        farm_init(&farm);
        work(&farm);
        g_autofree char *sub = g_strdup_printf("out%d", pass % 2);
        const char *dir = temp_folder_path(folder, sub);
        g_assert_true(export_to(&farm, dir, EXPORT_ALL, &summary, NULL));
        for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
            g_autofree char *path = g_build_filename(dir, names[i], NULL);
            g_autoptr(GBytes) bytes = temp_folder_read(path);
            if (pass == 0) {
                first[i] = g_bytes_ref(bytes);
            }
            g_assert_true(g_bytes_equal(bytes, first[i]));
        }
        export_summary_clear(&summary);
        farm_clear(&farm);
    }
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        g_bytes_unref(first[i]);
    }
}

static void only_what_is_asked_for_is_written(void)
{
    static const struct {
        unsigned what;
        bool written[G_N_ELEMENTS(names)];
    } cases[] = {
        {EXPORT_KERNELS, {true, false, false, false}},
        {EXPORT_PERF, {false, true, true, false}},
        {EXPORT_FIND, {false, false, false, true}},
    };
    struct farm farm;
    farm_init(&farm);
    work(&farm);
    for (size_t c = 0; c < G_N_ELEMENTS(cases); c++) {
        struct export_summary summary;
        g_autoptr(TempFolder) folder = temp_folder_new();
        g_assert_true(
            export_to(&farm, temp_folder_path(folder, ""), cases[c].what, &summary, NULL));
        for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
            bool there = g_file_test(temp_folder_path(folder, names[i]), G_FILE_TEST_EXISTS);
            g_assert_cmpint(there, ==, cases[c].written[i]);
        }
        export_summary_clear(&summary);
    }
    farm_clear(&farm);
}

static void result_without_its_kernel_is_left_out_and_named(void)
{
    struct farm farm;
    struct export_summary summary;
    g_autoptr(TempFolder) folder = temp_folder_new();
    farm_init(&farm);
    farm.lose_kernels = true;
    work(&farm);
    g_assert_true(export_to(&farm, temp_folder_path(folder, ""), EXPORT_ALL, &summary, NULL));
    g_assert_cmpuint(summary.refused->len, >, 0);
    for (guint i = 0; i < summary.refused->len; i++) {
        const struct export_refusal *refusal = summary.refused->pdata[i];
        g_assert_cmpstr(refusal->problem, ==, keys[0]);
        g_assert_nonnull(strstr(refusal->reason, "is not in the database"));
    }
    export_summary_clear(&summary);
    farm_clear(&farm);
}

/* ---- what was written past the farm's own calls ---- */

#define JOB   "(SELECT min(job_id) FROM results)"
#define FIRST " WHERE job_id = " JOB
/* What a worker could have handed in whole: the round says it too. */
#define BOTH(RESULT, OUTCOME)                                                                      \
    "WITH o AS (UPDATE outcomes SET " OUTCOME FIRST ") UPDATE results SET " RESULT FIRST
#define CONFIG(VALUES, TEXT)                                                                       \
    "WITH b AS (UPDATE rounds SET config_values = '{" VALUES "}', config_counts = ARRAY["          \
    "cardinality('{" VALUES "}'::integer[])]" FIRST ") UPDATE results SET config = '{" VALUES      \
    "}', config_text = '" TEXT "'" FIRST
#define KERNELS(KEYS)                                                                              \
    "WITH k AS (SELECT " KEYS " AS keys), b AS (UPDATE rounds SET kernel_keys = ARRAY[k.keys]"     \
    " FROM k" FIRST ") UPDATE results SET kernel_keys = k.keys FROM k" FIRST

static const struct {
    const char *sql;
    enum refusal why;
} faults[] = {
    {"UPDATE results SET median_ms = 40, min_ms = 40" FIRST, REFUSAL_UNVERIFIED},
    {"UPDATE results SET n = n + 1" FIRST, REFUSAL_UNVERIFIED},
    {"UPDATE results SET config = '{77}', config_text = '77'" FIRST, REFUSAL_UNVERIFIED},
    {"UPDATE results SET kernel_keys = repeat('7', 64)" FIRST, REFUSAL_UNVERIFIED},
    {"UPDATE outcomes SET failures = '{7}'" FIRST, REFUSAL_UNVERIFIED},
    {"UPDATE outcomes SET is_open = true" FIRST, REFUSAL_UNVERIFIED},
    {"DELETE FROM rounds" FIRST, REFUSAL_UNVERIFIED},
    {"UPDATE outcomes SET job_id = 777777" FIRST, REFUSAL_UNVERIFIED},
    {"UPDATE results SET job_id = 777777" FIRST, REFUSAL_FOREIGN},
    {"DELETE FROM jobs WHERE id = " JOB, REFUSAL_FOREIGN},
    {"UPDATE results SET workspace_bytes = -1" FIRST, REFUSAL_DAMAGED},
    {"UPDATE solvers SET revision = 777", REFUSAL_SOLVER},
    {"UPDATE solvers SET name = 'ConvOf' || name", REFUSAL_SOLVER},
    {CONFIG("7,7,7", "7,7,7"), REFUSAL_CONFIG},
    {"UPDATE results SET config_text = '77'" FIRST, REFUSAL_CONFIG},
    {BOTH("median_ms = 0, min_ms = 0", "median_ms = '{0}', min_ms = '{0}'"), REFUSAL_TIME},
    {BOTH("median_ms = -1, min_ms = -1", "median_ms = '{-1}', min_ms = '{-1}'"), REFUSAL_TIME},
    {BOTH("median_ms = 'NaN'", "median_ms = '{NaN}'"), REFUSAL_TIME},
    {BOTH("median_ms = 'Infinity'", "median_ms = '{Infinity}'"), REFUSAL_TIME},
    {BOTH("min_ms = 1e6", "min_ms = '{1e6}'"), REFUSAL_TIME},
    {BOTH("n = 0", "n = '{0}'"), REFUSAL_TIME},
    {"WITH t AS (UPDATE targets SET peak_flops = 1e3) UPDATE results SET flops = 0", REFUSAL_TIME},
    {KERNELS("repeat('7', 64)"), REFUSAL_KERNEL},
    {KERNELS("''"), REFUSAL_KERNEL},
    {KERNELS("(SELECT max(kernel_keys) FROM results WHERE kernel_keys NOT IN"
             " (SELECT kernel_keys FROM results" FIRST "))"),
     REFUSAL_KERNEL},
    {"UPDATE kernels SET code_sha256 = repeat('7', 64)", REFUSAL_KERNEL},
    {"UPDATE kernels SET code = ''", REFUSAL_KERNEL},
    {"UPDATE kernels SET options = '-DOTHER=1'", REFUSAL_KERNEL},
};

static void run(const struct farm *farm, const char *sql)
{
    g_autoptr(GError) error = NULL;
    store_do(farm->store, &error, sql, "");
    g_assert_no_error(error);
}

static void what_is_wrong_is_refused_by_name_and_the_rest_exported(void)
{
    struct farm farm;
    struct export_summary summary;
    farm_init(&farm);
    work(&farm);
    for (size_t i = 0; i < G_N_ELEMENTS(faults); i++) {
        g_autoptr(TempFolder) folder = temp_folder_new();
        g_autoptr(GError) error = NULL;
        run(&farm, "BEGIN");
        run(&farm, faults[i].sql);
        g_assert_true(export_to(&farm, temp_folder_path(folder, ""), EXPORT_FIND | EXPORT_KERNELS,
                                &summary, &error));
        g_assert_no_error(error);
        /* A fault that is not of the first job alone is of all that are like it. */
        bool of_one = strstr(faults[i].sql, FIRST) != NULL || strstr(faults[i].sql, JOB) != NULL;
        g_test_message("%s: %u refused", faults[i].sql, summary.refused->len);
        g_assert_cmpint(summary.refused_by[faults[i].why], ==, (int)summary.refused->len);
        g_assert_cmpuint(summary.refused->len, >, 0);
        g_assert_true(!of_one || (summary.refused->len == 1 && summary.files->len == 2));
        run(&farm, "ROLLBACK");
        export_summary_clear(&summary);
    }
    farm_clear(&farm);
}

static void nothing_measured_is_an_error_and_writes_nothing(void)
{
    struct farm farm;
    struct export_summary summary;
    g_autoptr(TempFolder) folder = temp_folder_new();
    g_autoptr(GError) error = NULL;
    farm_init(&farm);
    const char *dir = temp_folder_path(folder, "out");
    g_assert_false(export_to(&farm, dir, EXPORT_ALL, &summary, &error));
    g_assert_error(error, EXPORT_ERROR, EXPORT_ERROR_EMPTY);
    g_assert_false(g_file_test(dir, G_FILE_TEST_EXISTS));
    export_summary_clear(&summary);
    farm_clear(&farm);
}

/* An export that was killed leaves its temporary folder; what else lies there is not ours. */
static void leftovers_of_a_killed_export_are_removed(void)
{
    struct farm farm;
    struct export_summary summary;
    g_autoptr(TempFolder) folder = temp_folder_new();
    g_autoptr(GError) error = NULL;
    farm_init(&farm);
    work(&farm);
    const char *dir = temp_folder_path(folder, "out");
    const char *stale = temp_folder_path(folder, "out/.export-a1B2c3");
    const char *other = temp_folder_path(folder, "out/.export-of-mine");
    const char *link = temp_folder_path(folder, "out/.export-LINK00");
    g_assert_cmpint(g_mkdir_with_parents(stale, 0700), ==, 0);
    g_assert_cmpint(g_mkdir_with_parents(other, 0700), ==, 0);
    g_assert_cmpint(symlink(other, link), ==, 0);
    temp_folder_write(folder, "out/.export-a1B2c3/x.kdb", "half", -1);
    temp_folder_write(folder, "out/.export-of-mine/kept", "whole", -1);
    g_assert_true(export_to(&farm, dir, EXPORT_ALL, &summary, &error));
    g_assert_no_error(error);
    g_assert_false(g_file_test(stale, G_FILE_TEST_EXISTS));
    g_autofree char *kept = g_build_filename(other, "kept", NULL);
    g_assert_true(g_file_test(kept, G_FILE_TEST_EXISTS));
    g_autofree char *last = g_path_get_basename(summary.files->pdata[summary.files->len - 1]);
    g_assert_cmpstr(last, ==, TARGET ".HIP.fdb.txt");
    g_assert_cmpint(unlink(link), ==, 0);
    export_summary_clear(&summary);
    farm_clear(&farm);
}

static void unknown_campaign_is_an_error(void)
{
    struct farm farm;
    struct export_summary summary;
    g_autoptr(GError) error = NULL;
    farm_init(&farm);
    farm.campaign += 1000;
    g_assert_false(export_to(&farm, "/nonexistent", EXPORT_ALL, &summary, &error));
    g_assert_error(error, STORE_ERROR, STORE_ERROR_NOT_FOUND);
    export_summary_clear(&summary);
    farm_clear(&farm);
}

static void folder_that_cannot_be_made_is_an_error(void)
{
    struct farm farm;
    struct export_summary summary;
    g_autoptr(TempFolder) folder = temp_folder_new();
    g_autoptr(GError) error = NULL;
    farm_init(&farm);
    work(&farm);
    temp_folder_write(folder, "file", "", 0);
    g_assert_false(
        export_to(&farm, temp_folder_path(folder, "file/out"), EXPORT_ALL, &summary, &error));
    g_assert_error(error, EXPORT_ERROR, EXPORT_ERROR_IO);
    export_summary_clear(&summary);
    farm_clear(&farm);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/export/campaign_is_exported_and_passes_check",
                    campaign_is_exported_and_passes_check);
    g_test_add_func("/export/same_results_give_the_same_bytes", same_results_give_the_same_bytes);
    g_test_add_func("/export/only_what_is_asked_for_is_written", only_what_is_asked_for_is_written);
    g_test_add_func("/export/result_without_its_kernel_is_left_out_and_named",
                    result_without_its_kernel_is_left_out_and_named);
    g_test_add_func("/export/what_is_wrong_is_refused_by_name_and_the_rest_exported",
                    what_is_wrong_is_refused_by_name_and_the_rest_exported);
    g_test_add_func("/export/nothing_measured_is_an_error_and_writes_nothing",
                    nothing_measured_is_an_error_and_writes_nothing);
    g_test_add_func("/export/leftovers_of_a_killed_one_are_removed",
                    leftovers_of_a_killed_export_are_removed);
    g_test_add_func("/export/unknown_campaign_is_an_error", unknown_campaign_is_an_error);
    g_test_add_func("/export/folder_that_cannot_be_made_is_an_error",
                    folder_that_cannot_be_made_is_an_error);
    return g_test_run();
}
