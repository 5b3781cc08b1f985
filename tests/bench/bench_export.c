/*
 * Exports of campaigns with ten thousand, a hundred thousand and a million
 * results: rows a second, and the most memory that the process had, which is
 * not to grow with the results. The results are put into a scratch server's
 * tables as workers' rounds lie there, each with its round and outcome; their
 * solvers are those of the table whose kernels know no shape, so that they
 * share some kernels. Each export runs in a process of its own, once into
 * MIOpen's files and once into a .sjdb; then a golden version is proposed of
 * all of them, likewise.
 *
 * usage: bench_export [RESULTS]   the largest campaign, by default 1000000
 */
#include "export/formats/find_db.h"
#include "export/golden/golden.h"
#include "export/release/export.h"
#include "schema/store/store_campaigns.h"
#include "schema/store/store_kernels.h"
#include "schema/store/store_private.h"
#include "schema/store/store_workers.h"
#include "solvers/framework/solver.h"
#include "solvers/problem/problem_key.h"
#include "tests/support/bench/bench_server.h"
#include "tests/support/farm/scratch_db.h"
#include "tests/support/temp_folder.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TARGET       "gfx90a68"
#define MOST         1000000
#define LEAST        10000
#define BATCH        2000 /* problems whose results are stored by one statement */
#define SOLVERS_MOST 16

struct farm {
    Store *store;
    struct target target;
    struct context context;
    const struct solver *solvers[SOLVERS_MOST];
    int64_t ids[SOLVERS_MOST];
    int solver_count;
    int64_t worker;
    GHashTable *kernels; /* set of stored kernels: "FILE OPTIONS" to key */
};

/* ---- a campaign's results ---- */

/* Makes problem `number`; different numbers give different problems. */
static void make_problem(int64_t number, struct problem *p)
{
    problem_init(p);
    p->n = 8;
    p->c = 8 * (1 + number % 64);
    p->k = 8 * (1 + number / 64 % 64);
    p->in[AXIS_H] = p->in[AXIS_W] = 7 + number / 4096;
    p->fil[AXIS_H] = p->fil[AXIS_W] = 3;
    p->pad[AXIS_H] = p->pad[AXIS_W] = 1;
    problem_set_output(p);
}

static const char *put_kernel(struct farm *farm, const struct launch *launch)
{
    g_autoptr(GError) error = NULL;
    char *code = g_strdup_printf("%s %s", launch->file, launch->options);
    const char *known = g_hash_table_lookup(farm->kernels, code);
    if (known != NULL) {
        g_free(code);
        return known;
    }
    char *key = g_compute_checksum_for_string(G_CHECKSUM_SHA256, code, -1);
    struct kernel_row kernel = {.key = key,
                                .file = (char *)launch->file,
                                .entry = (char *)launch->entry,
                                .options = (char *)launch->options,
                                .arch = farm->target.arch,
                                .code = g_bytes_new(code, strlen(code)),
                                .built_by = farm->worker};
    store_put_kernel(farm->store, &kernel, &error);
    g_assert_no_error(error);
    g_bytes_unref(kernel.code);
    g_hash_table_insert(farm->kernels, code, key);
    return key;
}

/* Columns of the rows to insert, each sent as an array. */
enum column { PROBLEM, SOLVER, CONFIG, KEYS, TIME, WORKSPACE, FLOPS, COLUMNS };

static void add(GString *column, const char *value)
{
    g_string_append_printf(column, "%s\"%s\"", column->len > 0 ? "," : "", value);
}

static void add_number(GString *column, double value)
{
    char digits[G_ASCII_DTOSTR_BUF_SIZE];
    add(column, g_ascii_dtostr(digits, sizeof digits, value));
}

static void add_result(struct farm *farm, GString *columns[COLUMNS], const struct problem *problem,
                       int64_t problem_id, int s, struct solution *solution)
{
    char text[CONFIG_TEXT_MAX];
    struct perf_config config;
    g_autoptr(GError) error = NULL;
    g_autoptr(GString) keys = g_string_new(NULL);
    farm->solvers[s]->default_config(problem, &farm->context, &config);
    solution_init(solution);
    solver_solve(farm->solvers[s], problem, &farm->context, &config, solution, &error);
    g_assert_no_error(error);
    for (int i = 0; i < solution->launch_count; i++) {
        const char *key = put_kernel(farm, &solution->launches[i]);
        if (strstr(keys->str, key) == NULL)
            g_string_append_printf(keys, "%s%s", i > 0 ? "," : "", key);
    }
    double least_ms = target_least_ms(&farm->target, problem->type[TENSOR_X], solution->flops);
    add_number(columns[PROBLEM], (double)problem_id);
    add_number(columns[SOLVER], (double)farm->ids[s]);
    add(columns[CONFIG], perf_config_format(&config, text));
    add(columns[KEYS], keys->str);
    add_number(columns[TIME], least_ms * (2 + s) + 0.01);
    add_number(columns[WORKSPACE], (double)solution->workspace_bytes);
    add_number(columns[FLOPS], solution->flops);
}

/* Inserts a job that ended with one round of one config. */
#define INSERT                                                                                     \
    "WITH s AS MATERIALIZED (SELECT u.*, nextval('job_ids') AS job,"                               \
    "  string_to_array(u.text, ',')::integer[] AS config"                                          \
    "  FROM unnest($2::float[], $3::float[], $4::text[], $5::text[], $6::float[], $7::float[],"    \
    "              $8::float[]) AS u(problem, solver, text, keys, ms, workspace, flops)),"         \
    " j AS (INSERT INTO jobs SELECT $1, job, problem, solver, job, 1, 1 FROM s),"                  \
    " e AS (INSERT INTO job_ends (campaign_id, job_id, state, rounds, failure, fence)"             \
    "       SELECT $1, job, 'done', 1, 0, 1 FROM s),"                                              \
    " b AS (INSERT INTO rounds SELECT $1, job, 0, 1, 'clang 15.0.6',"                              \
    "       ARRAY[cardinality(config)]::smallint[], config, ARRAY[keys], '{15}', '{NULL}',"        \
    "       '{0.5}', 1, 0, 1, 0.5 FROM s),"                                                        \
    " o AS (INSERT INTO outcomes SELECT $1, job, 0, false, 1, 'clang 15.0.6', 0, '{0}', '{NULL}'," \
    "       '{10}', ARRAY[ms * 0.99], ARRAY[ms], '{0.01}', '{0.3}', '{1.5}', 1, 0, 1.5 FROM s)"    \
    " INSERT INTO results SELECT $1, job, 0, config, text, keys, 'clang 15.0.6', 10, ms * 0.99,"   \
    "        ms, 0.01, 0.3, 0.5, 1.5, workspace, flops, true FROM s"

static void insert(const struct farm *farm, int64_t campaign, GString *columns[COLUMNS])
{
    g_autoptr(GError) error = NULL;
    for (int c = 0; c < COLUMNS; c++) {
        g_string_prepend_c(columns[c], '{');
        g_string_append_c(columns[c], '}');
    }
    store_do(farm->store, &error, INSERT, "lsssssss", campaign, columns[PROBLEM]->str,
             columns[SOLVER]->str, columns[CONFIG]->str, columns[KEYS]->str, columns[TIME]->str,
             columns[WORKSPACE]->str, columns[FLOPS]->str);
    g_assert_no_error(error);
}

/* Stores results of the problems from `first` on, at most `most`; returns how many. */
static int put_batch(struct farm *farm, int64_t campaign, int64_t first, int most)
{
    g_autofree struct problem *problems = g_new(struct problem, BATCH);
    g_autofree int64_t *ids = g_new(int64_t, BATCH);
    g_autofree struct solution *solution = g_new(struct solution, 1);
    g_autoptr(GError) error = NULL;
    GString *columns[COLUMNS];
    int count = 0;
    for (int c = 0; c < COLUMNS; c++)
        columns[c] = g_string_new(NULL);
    for (int i = 0; i < BATCH; i++)
        make_problem(first + i, &problems[i]);
    store_put_problems(farm->store, problems, BATCH, NULL, ids, &error);
    g_assert_no_error(error);
    for (int i = 0; i < BATCH; i++) {
        for (int s = 0; s < farm->solver_count && count < most; s++) {
            const char *why = NULL;
            if (solver_applicable(farm->solvers[s], &problems[i], &farm->context, &why)) {
                add_result(farm, columns, &problems[i], ids[i], s, solution);
                count++;
            }
        }
    }
    insert(farm, campaign, columns);
    for (int c = 0; c < COLUMNS; c++)
        g_string_free(columns[c], TRUE);
    return count;
}

/* Creates a campaign with one unclaimed job of each solver, so that its tables exist and the
 * solvers have ids. */
static int64_t make_campaign(struct farm *farm, int results)
{
    struct job_plan plans[SOLVERS_MOST] = {0};
    g_autoptr(GError) error = NULL;
    g_autofree char *name = g_strdup_printf("bench of %d", results);
    char target[] = TARGET, strategy[] = "random";
    struct campaign campaign = {
        .name = name, .identity = name, .target = target, .strategy = strategy, .round_configs = 1};
    for (int s = 0; s < farm->solver_count; s++) {
        const struct solver *solver = farm->solvers[s];
        plans[s] = (struct job_plan){.solver = solver->name,
                                     .revision = solver->revision,
                                     .hash = solver_hash(solver),
                                     .provider = solver->provider,
                                     .algorithm = solver->algorithm,
                                     .dynamic = solver->dynamic,
                                     .tunable = solver->space != NULL,
                                     .priority = 1,
                                     .multiplicity = 1};
        make_problem(100000000, &plans[s].problem);
    }
    store_create_campaign(farm->store, &campaign, plans, farm->solver_count, NULL, NULL, &error);
    g_assert_no_error(error);
    return campaign.id;
}

static int64_t ask(Store *store, const char *sql, const char *word)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(StoreRows) rows = store_read(store, &error, sql, "s", word);
    g_assert_no_error(error);
    return strtoll(PQgetvalue(rows, 0, 0), NULL, 10);
}

static int64_t fill(struct farm *farm, int results)
{
    int64_t campaign = make_campaign(farm, results);
    g_autoptr(GError) error = NULL;
    for (int s = 0; s < farm->solver_count; s++)
        farm->ids[s] =
            ask(farm->store, "SELECT max(id) FROM solvers WHERE name = $1", farm->solvers[s]->name);
    int64_t problem = 0;
    for (int count = 0; count < results; problem += BATCH)
        count += put_batch(farm, campaign, problem, results - count);
    /* autovacuum would do this a minute later */
    store_do(farm->store, &error, "ANALYZE", "");
    g_assert_no_error(error);
    return campaign;
}

static void farm_open(struct farm *farm)
{
    g_autoptr(GError) error = NULL;
    struct worker_info info = {.node = "bench", .process = "p", .target = TARGET, .stack = "test"};
    memset(farm, 0, sizeof *farm);
    farm->store = scratch_store();
    farm->kernels = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    target_parse(TARGET, &farm->target, &error);
    g_assert_no_error(error);
    context_init(&farm->context, &farm->target);
    for (int s = 0; s < solver_table_count && farm->solver_count < SOLVERS_MOST; s++)
        if (solver_table[s]->dynamic)
            farm->solvers[farm->solver_count++] = solver_table[s];
    store_put_target(farm->store, &farm->target, &error);
    g_assert_no_error(error);
    store_register_worker(farm->store, &info, &farm->worker, &error);
    g_assert_no_error(error);
}

/* ---- an export, in a process of its own ---- */

static int64_t peak_kib(void)
{
    g_autofree char *status = NULL;
    g_file_get_contents("/proc/self/status", &status, NULL, NULL);
    const char *line = status != NULL ? strstr(status, "VmHWM:") : NULL;
    return line != NULL ? g_ascii_strtoll(line + strlen("VmHWM:"), NULL, 10) : 0;
}

static int run_export(char **words)
{
    struct export_summary summary = {0};
    g_autoptr(GError) error = NULL;
    Store *store = store_open(words[0], &error);
    g_assert_no_error(error);
    const struct export_wish wish = {.campaign = g_ascii_strtoll(words[1], NULL, 10),
                                     .what = (unsigned)g_ascii_strtoull(words[2], NULL, 10),
                                     .top = FIND_ENTRIES_MAX};
    gint64 start = g_get_monotonic_time();
    export_campaign(store, &wish, words[3], &summary, &error);
    g_assert_no_error(error);
    printf("%g %" G_GINT64_FORMAT " %d %d %d %d\n",
           (double)(g_get_monotonic_time() - start) / G_USEC_PER_SEC, peak_kib(), summary.find_keys,
           summary.perf_records, summary.kernels, (int)summary.refused.count);
    export_summary_clear(&summary);
    store_close(store);
    return 0;
}

/* Proposes a golden version; words: a database's URL and a campaign's id. */
static int run_propose(char **words)
{
    struct golden_summary summary;
    g_autoptr(GError) error = NULL;
    Store *store = store_open(words[0], &error);
    g_assert_no_error(error);
    const struct golden_wish wish = {.campaign = g_ascii_strtoll(words[1], NULL, 10),
                                     .base = -1,
                                     .by = "bench",
                                     .noise = GOLDEN_NOISE_FACTOR,
                                     .gain = GOLDEN_GAIN_PERCENT / 100,
                                     .allow_unconfirmed = true};
    gint64 start = g_get_monotonic_time();
    golden_propose(store, &wish, &summary, &error);
    g_assert_no_error(error);
    printf("%g %" G_GINT64_FORMAT " %d\n",
           (double)(g_get_monotonic_time() - start) / G_USEC_PER_SEC, peak_kib(),
           summary.counts[GOLDEN_NEW_PROBLEM]);
    golden_summary_clear(&summary);
    store_close(store);
    return 0;
}

static void time_propose(const char *program, int64_t campaign, int results)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *id = g_strdup_printf("%" G_GINT64_FORMAT, (gint64)campaign);
    g_autofree char *said = NULL;
    int status = 0, entries;
    double seconds;
    long kib;
    const char *argv[] = {program, "--propose", scratch_db_url(), id, NULL};
    g_spawn_sync(NULL, (char **)(gpointer)argv, NULL, G_SPAWN_DEFAULT, NULL, NULL, &said, NULL,
                 &status, &error);
    g_assert_no_error(error);
    if (!g_spawn_check_wait_status(status, &error) ||
        sscanf(said, "%lf %ld %d", &seconds, &kib, &entries) != 3)
        g_error("the proposal of %d results failed: %s", results, said);
    printf("%9d  %-14s %8.1f s  %7.0f results/s  %6.1f MiB  %7d entries\n", results, "proposal",
           seconds, results / seconds, (double)kib / 1024, entries);
}

static void time_export(const char *program, int64_t campaign, int results, unsigned what,
                        const char *name)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    g_autoptr(GError) error = NULL;
    g_autofree char *id = g_strdup_printf("%" G_GINT64_FORMAT, (gint64)campaign);
    g_autofree char *files = g_strdup_printf("%u", what);
    g_autofree char *said = NULL;
    int status = 0, keys, records, kernels, refused;
    double seconds;
    long kib;
    const char *argv[] = {
        program, "--export", scratch_db_url(), id, files, temp_folder_path(folder, "out"), NULL};
    g_spawn_sync(NULL, (char **)(gpointer)argv, NULL, G_SPAWN_DEFAULT, NULL, NULL, &said, NULL,
                 &status, &error);
    g_assert_no_error(error);
    if (!g_spawn_check_wait_status(status, &error) ||
        sscanf(said, "%lf %ld %d %d %d %d", &seconds, &kib, &keys, &records, &kernels, &refused) !=
            6)
        g_error("the export of %d results failed: %s", results, said);
    printf("%9d  %-14s %8.1f s  %7.0f results/s  %6.1f MiB  %7d keys  %7d records  %4d kernels  %d "
           "refused\n",
           results, name, seconds, results / seconds, (double)kib / 1024, keys, records, kernels,
           refused);
}

int main(int argc, char **argv)
{
    setlocale(LC_NUMERIC, "C");
    if (argc == 6 && strcmp(argv[1], "--export") == 0)
        return run_export(argv + 2);
    if (argc == 4 && strcmp(argv[1], "--propose") == 0)
        return run_propose(argv + 2);
    int most = argc > 1 ? atoi(argv[1]) : MOST;
    if (most < LEAST) {
        fprintf(stderr, "usage: bench_export [RESULTS]   %d or more\n", LEAST);
        return 2;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    struct farm farm;
    bench_server_prepare(20);
    farm_open(&farm);
    printf("  results  files                time             rate    memory\n");
    for (int results = LEAST; results <= most; results *= 10) {
        gint64 start = g_get_monotonic_time();
        int64_t campaign = fill(&farm, results);
        fprintf(stderr, "# %d results put in %.0f s\n", results,
                (double)(g_get_monotonic_time() - start) / G_USEC_PER_SEC);
        time_export(argv[0], campaign, results, EXPORT_FIND | EXPORT_PERF | EXPORT_KERNELS,
                    "MIOpen's");
        time_export(argv[0], campaign, results, EXPORT_COMPACT, ".sjdb");
        time_propose(argv[0], campaign, results);
    }
    g_hash_table_unref(farm.kernels);
    store_close(farm.store);
    return 0;
}
