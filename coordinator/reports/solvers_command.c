/* `skipjack solvers`: the solver table, and which solvers serve a problem. Needs no database. */
#include "coordinator/campaigns/request.h"
#include "coordinator/cli/cli.h"
#include "coordinator/cli/progress_line.h"
#include "coordinator/cli/table.h"
#include "coordinator/commands.h"
#include "coordinator/import/problems_import.h"
#include "coordinator/plan/plan.h"
#include "coordinator/plan/progress.h"
#include "coordinator/process/machine.h"
#include "coordinator/reports/coverage.h"
#include "solvers/framework/solver_claims.h"
#include "solvers/problem/problem_key.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define SHOWN_HASH 12

/* Progress of counting spaces is shown once it takes longer than this many seconds. */
#define QUIET_SECONDS 2
#define PROGRESS_STEP 50

#define COUNTED_CONFIGS  G_STRINGIFY(PLAN_COUNTED_MAX)
#define COUNTED_PROBLEMS G_STRINGIFY(COVERAGE_SAMPLE)

struct solvers_options {
    char *problem, *target;
    char **problems; /* paths of lists of problems */
    gboolean coverage, table, json;
    char *workspace_limit;
    gboolean dynamic_only, deterministic, tunable_only;
    struct context_limits limits; /* what workspace_limit and the three flags above state */
    struct import_words list;
};

struct coverage_progress {
    int64_t start_us;
    struct progress_line line;
};

/* Columns for the properties of a solver: flags in JSON, and columns with the given titles in
 * tables. */
#define PROPERTY_COLUMNS(strides, repeatable)                                                      \
    {"form", "form", TABLE_TEXT, 0}, {NULL, "dynamic", TABLE_YES, 0},                              \
        {NULL, "partial", TABLE_YES, 0}, {strides, "any_strides", TABLE_YES, 0},                   \
    {                                                                                              \
        repeatable, "deterministic", TABLE_YES, 0                                                  \
    }

static const struct table_column solver_columns[] = {
    {"solver", "solver", TABLE_TEXT, 0},
    {NULL, "provider", TABLE_TEXT, 0},
    {"revision", "revision", TABLE_INT, 0},
    {"algorithm", "algorithm", TABLE_TEXT, 0},
    PROPERTY_COLUMNS("any strides", "repeatable"),
    {NULL, "tunable", TABLE_YES, 0},
    {"epilogues", "epilogues", TABLE_TEXT, 0},
    {NULL, "hash_prefix", TABLE_TEXT, 0},
    {NULL, "hash", TABLE_TEXT, 0},
    {"params", "params", TABLE_TEXT, 0},
};

/* Returns the names of a space's parameters, "tile_k,tile_w"; NULL for a solver without configs.
 * Free with g_free(). */
static char *param_names(const struct space *space)
{
    if (!space)
        return NULL;
    GString *names = g_string_new(NULL);
    for (int i = 0; i < space->param_count; i++)
        g_string_append_printf(names, "%s%s", i ? "," : "", space->params[i].name);
    return g_string_free(names, FALSE);
}

/* Adds the cells for PROPERTY_COLUMNS. */
static void add_properties(Table *table, const struct solver *solver)
{
    table_text(table, solver_form(solver));
    table_yes(table, solver->dynamic);
    table_yes(table, solver->partial);
    table_yes(table, solver->any_strides);
    table_yes(table, !solver->nondeterministic);
}

static Table *list_table(void)
{
    Table *table = table_new(solver_columns, G_N_ELEMENTS(solver_columns));
    for (int i = 0; i < solver_table_count; i++) {
        const struct solver *solver = solver_table[i];
        g_autofree char *params = param_names(solver->space);
        char epilogues[EPILOGUE_CLASSES_MAX];
        g_autofree char *prefix = g_strndup(solver_hash(solver), SHOWN_HASH);
        table_text(table, solver->name);
        table_text(table, solver->provider);
        table_int(table, solver->revision);
        table_text(table, solver->algorithm);
        add_properties(table, solver);
        table_yes(table, solver->space != NULL);
        table_text(table, epilogue_classes_text(solver->epilogues, epilogues));
        table_text(table, prefix);
        table_text(table, solver_hash(solver));
        table_text(table, params);
    }
    return table;
}

static const struct table_column applicable_columns[] = {
    {"solver", "solver", TABLE_TEXT, 0},
    {"applies", "applicable", TABLE_YES, 0},
    {"estimate", "estimate", TABLE_NUMBER, 2},
    {"configs", "configs", TABLE_INT, 0},
    {"workspace", "workspace_bytes", TABLE_INT, 0},
    PROPERTY_COLUMNS(NULL, NULL),
    {"why not", "reason", TABLE_TEXT, 0},
};

static Table *list_applicable(const struct problem *problem, const struct target *target,
                              const struct context_limits *limits)
{
    struct context context;
    context_init(&context, target);
    context_set_limits(&context, limits);
    Table *table = table_new(applicable_columns, G_N_ELEMENTS(applicable_columns));
    for (int i = 0; i < solver_table_count; i++) {
        const struct solver *solver = solver_table[i];
        const char *reason = NULL;
        bool applies = solver_applicable(solver, problem, &context, &reason);
        table_text(table, solver->name);
        table_yes(table, applies);
        table_number(table, applies ? solver->estimate(problem, &context) : NAN);
        table_int(table, applies ? plan_job_configs(solver, problem, &context, 0) : 0);
        table_int(table, applies ? (int64_t)solver_workspace_bytes(solver, problem, &context) : 0);
        add_properties(table, solver);
        table_text(table, applies ? NULL : reason);
    }
    return table;
}

/* Finds the target with this name; this machine's for "local" or without a name. */
static bool find_target(const char *name, struct target *target, GError **error)
{
    if (name && strcmp(name, "local") != 0)
        return machine_parse_target(name, target, error);
    struct machine machine = {0};
    bool ok = machine_probe(&machine, error);
    *target = machine.target;
    machine_clear(&machine);
    return ok;
}

static Table *list_for_problem(const char *key, const char *target_name,
                               const struct context_limits *limits, GError **error)
{
    struct problem problem;
    struct target target;
    if (!problem_key_parse(key, &problem, error) || !problem_validate(&problem, error) ||
        !find_target(target_name, &target, error))
        return NULL;
    return list_applicable(&problem, &target, limits);
}

static void print_claims(void)
{
    g_autofree char *table = solver_claims_table(solver_table, solver_table_count);
    fputs(table, stdout);
}

static void show_progress(int done, int total, void *data)
{
    struct coverage_progress *progress = data;
    if (g_get_monotonic_time() - progress->start_us < QUIET_SECONDS * G_USEC_PER_SEC)
        return;
    g_autofree char *text = g_strdup_printf("counting configs: %d of %d spaces", done, total);
    if (progress->line.terminal && done % PROGRESS_STEP != 0)
        return;
    progress_line_show(&progress->line, text);
}

static int cover(const struct solvers_options *options, char *const *files)
{
    GError *error = NULL;
    struct target target;
    if (!find_target(options->target, &target, &error))
        return cli_fail("solvers", error);
    g_autoptr(Import) import = problems_import(files, &options->list, &error);
    if (!import)
        return cli_fail("solvers", error);
    if (problem_list_count(import->problems) == 0) {
        g_autofree char *names = g_strjoinv("', '", (char **)files);
        fprintf(stderr, "skipjack solvers: there is no problem in '%s' to ask solvers about\n",
                names);
        return CLI_FAILED;
    }
    struct coverage_progress progress = {.start_us = g_get_monotonic_time()};
    progress_line_init(&progress.line);
    const struct coverage_request request = {
        .target = &target,
        .problems = import->problems,
        .limits = options->limits,
        .solvers = solver_table,
        .solver_count = solver_table_count,
        .progress = show_progress,
        .data = &progress,
    };
    struct coverage *coverage = coverage_new(&request);
    progress_line_end(&progress.line);
    if (options->json)
        table_show_json(coverage_json(coverage));
    else
        coverage_print(coverage);
    coverage_free(coverage);
    return CLI_DONE;
}

/* Returns the reason why the options do not fit together, or NULL when they do. */
static const char *misuse(const struct solvers_options *options, int files)
{
    if ((options->problem != NULL) + options->coverage + options->table > 1)
        return "--problem, --coverage and --table ask for different things: name one of them";
    if (options->coverage && files == 0)
        return "--coverage needs files with problems: skipjack solvers --problems LIST --target "
               "T";
    if (!options->coverage && import_words_any(&options->list))
        return "--network, --batch, --dtype, --layout and --allow-clamped say what the files of "
               "--coverage leave out: add it, or leave them out";
    if (!options->coverage && files > 0)
        return "files with problems are read by --coverage alone: add it, or leave them out";
    if (options->target && !options->problem && !options->coverage)
        return "--target says which solvers serve a problem: name it with --problem KEY, or many "
               "with --coverage FILE...";
    if (options->table && options->json)
        return "--table prints Markdown; without it --json prints the solvers";
    if (!options->problem && !options->coverage &&
        !context_limits_equal(&options->limits, &(struct context_limits){0}))
        return "limits say which solvers serve a problem: name it with --problem KEY, or many with "
               "--coverage FILE...";
    return NULL;
}

static int list(const struct solvers_options *options)
{
    GError *error = NULL;
    Table *table = options->problem ? list_for_problem(options->problem, options->target,
                                                       &options->limits, &error)
                                    : list_table();
    if (error && error->domain == SOLVERS_ERROR) {
        error->domain = COORDINATOR_ERROR;
        error->code = COORDINATOR_ERROR_USAGE;
    }
    return table_finish("solvers", table, options->json, error);
}

static int run(const struct solvers_options *options, int files, char *const *names)
{
    const char *wrong = misuse(options, files);
    if (wrong) {
        fprintf(stderr, "skipjack solvers: %s\n", wrong);
        return CLI_USAGE;
    }
    if (options->coverage)
        return cover(options, names);
    if (!options->table)
        return list(options);
    print_claims();
    return CLI_DONE;
}

int command_solvers(int argc, char **argv)
{
    struct solvers_options options = {0};
    const GOptionEntry entries[] = {
        {"problem", 'p', 0, G_OPTION_ARG_STRING, &options.problem, "which apply to this problem",
         "KEY"},
        {"problems", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &options.problems,
         "how many solvers serve each problem of this list and of FILE..., and how much each can be "
         "tuned",
         "LIST"},
        {"coverage", 'c', 0, G_OPTION_ARG_NONE, &options.coverage, "the same of FILE... alone",
         NULL},
        {"target", 't', 0, G_OPTION_ARG_STRING, &options.target, "on this target (local)", "T"},
        REQUEST_LIMIT_OPTIONS(&options.workspace_limit, &options),
        {"table", 0, 0, G_OPTION_ARG_NONE, &options.table,
         "what each solver claims to serve, as Markdown", NULL},
        CLI_JSON_OPTION(&options.json),
        {0},
    };
    g_autofree GOptionEntry *lists = import_words_entries(&options.list, 0, 0);
    const struct cli cli = {
        .command = "solvers",
        .arguments = "[FILE...]",
        .summary = "The solver table; with --problem, which of them apply, and for the others why "
                   "not; with --problems, how many serve each problem of the lists (all that "
                   "import reads), and which problems are poorest. There a space is counted up "
                   "to " COUNTED_CONFIGS " configs, and spaces of at most " COUNTED_PROBLEMS
                   " problems a solver.",
        .example = "skipjack solvers --target gfx90a68 \\\n"
                   "      --problem 64-56-56-3x3-64-56-56-1-1x1-1x1-1x1-0-NCHW-FP32-F\n"
                   "  skipjack solvers --problems list.txt --target sm_90_132_80g --json",
        .options = entries,
        .lists = lists,
        .most = -1,
    };
    GError *error = NULL;
    bool parsed = cli_parse(&cli, &argc, &argv);
    g_autoptr(GPtrArray) files = g_ptr_array_new();
    for (char **list = options.problems; list && *list; list++)
        g_ptr_array_add(files, *list);
    for (int i = 1; i < argc; i++)
        g_ptr_array_add(files, argv[i]);
    g_ptr_array_add(files, NULL);
    options.coverage = options.coverage || options.problems;
    options.limits = (struct context_limits){.dynamic_only = options.dynamic_only,
                                             .deterministic = options.deterministic,
                                             .tunable_only = options.tunable_only};
    int status = !parsed ? CLI_USAGE
                 : !request_read_limits(options.workspace_limit, &options.limits, &error)
                     ? cli_fail("solvers", error)
                     : run(&options, (int)files->len - 1, (char *const *)files->pdata);
    g_free(options.problem);
    g_free(options.workspace_limit);
    g_free(options.target);
    g_strfreev(options.problems);
    import_words_clear(&options.list);
    return status;
}
