/*
 * Runs the fastest solution that a .sjdb file holds for a problem, from its own code objects: checks the
 * result against a convolution computed here, with strides and epilogue, measures it, and says what the
 * file says it takes.
 *
 * --unchecked measures without computing the convolution here, which takes minutes for large problems.
 *
 * --dry-run says what would be launched, with every argument, and needs no device. --unmeasured takes a solution
 * of a build-only export, which nobody has run: of several, the first in the file, or the one of --solver and
 * --params. --dry-run takes such a solution by itself where the file has no measured one.
 *
 * --graph also records all launches of a run, except those that pack the filter, as one graph, checks what a replay of
 * the graph writes, and measures replays by the same rule. Each copy of the tensors has a graph of its own, which holds one
 * run. So both times are of one run in a row of runs: with all of its launches, or with one launch of a graph. It needs
 * CUDA or HIP.
 *
 *   run_convolution FILE KEY [--dry-run] [--unmeasured] [--json] [--solver NAME [--params TEXT]]
 *                   [--workspace BYTES] [--device N] [--unchecked] [--graph]
 *   sources="run_convolution.c run_check.c run_print.c"
 *   cc $sources run_opencl.c $(pkg-config --cflags --libs skipjackdb) -lOpenCL -lm
 *   cc $sources run_cuda.c $(pkg-config --cflags --libs skipjackdb) -l:libcuda.so.1 -lm
 *   cc $sources run_hip.c $(pkg-config --cflags --libs skipjackdb) -lamdhip64 -lm
 *   cc $sources run_none.c $(pkg-config --cflags --libs skipjackdb) -lm     # --dry-run alone
 *
 * Exit status: 0 when the result, with --graph that of a replay, too, is right or unchecked, or with --dry-run when there
 * is something to launch; 1 when it is not or cannot be had; 2 for wrong usage.
 */
#include "run_device.h"
#include "run_print.h"

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("run_convolution: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(1);
}

void *allocate(size_t count, size_t size)
{
    void *memory = calloc(count > 0 ? count : 1, size);
    if (memory == NULL) {
        fail("out of memory");
    }
    return memory;
}

/* ---- preparing the solution's launches ---- */

struct launch {
    struct skipjackdb_launch is;
    struct skipjackdb_arg *args;
    struct value *values;
    struct kernel *kernel;
};

struct run {
    const struct skipjackdb_problem *problem;
    struct tensor tensors[TENSORS];
    /* copies of each tensor: runs take turns with them, so a run finds none of its data in the
     * caches */
    int copies;
    struct buffer **buffers[TENSORS];
    struct buffer *workspace;
    /* the filter as the solution packs it, in copies as the tensors, or fewer if they would take too much memory; none
     * if the solution does not pack */
    struct buffer **packed;
    uint64_t packed_bytes;
    int packed_copies;
    uint32_t pack_count; /* launches that pack it */
    struct launch launches[SKIPJACKDB_LAUNCHES_MAX];
    uint32_t launch_count;
    struct graph **graphs; /* a run on each copy of the tensors; NULL without --graph */
};

void want(int code, const char *what)
{
    if (code != SKIPJACKDB_OK) {
        fail("%s: %s", what, skipjackdb_error_text(code));
    }
}

static void load_kernel(const skipjackdb *db, struct launch *launch)
{
    struct skipjackdb_kernel kernel = {.size = sizeof kernel};
    want(skipjackdb_kernel_at(db, launch->is.kernel, &kernel), "a kernel");
    void *code = allocate(kernel.code_bytes, 1);
    want(skipjackdb_kernel_read(db, launch->is.kernel, NULL, 0, code, kernel.code_bytes),
         "a code object");
    launch->kernel = kernel_load(code, kernel.code_bytes, launch->is.entry);
    free(code);
}

/* Sets an argument that is the same in all runs: all but tensors, whose copy changes. The strides are
 * right, since this program's tensors lie as the problem says. */
static void set_value(const struct skipjackdb_arg *arg, struct buffer *workspace,
                      struct value *value)
{
    switch (arg->kind) {
    case SKIPJACKDB_ARG_TENSOR: return;
    case SKIPJACKDB_ARG_WORKSPACE:
        if (workspace == NULL) {
            fail("a launch wants a workspace of a solution that has none");
        }
        value->buffer = buffer_part(workspace, (size_t)arg->value);
        return;
    case SKIPJACKDB_ARG_INT32:
        value->bytes = sizeof value->as.int32;
        value->as.int32 = (int32_t)arg->value;
        return;
    case SKIPJACKDB_ARG_FLOAT32:
        value->bytes = sizeof value->as.float32;
        value->as.float32 = arg->real;
        return;
    default: /* kinds SKIPJACKDB_ARG_INT64 and SKIPJACKDB_ARG_STRIDE */
        value->bytes = sizeof value->as.int64;
        value->as.int64 = arg->value;
        return;
    }
}

static void load_launches(const skipjackdb *db, const struct skipjackdb_solution *solution,
                          struct run *run)
{
    run->launch_count = solution->launch_count;
    run->pack_count = solution->pack_count;
    run->packed_bytes = solution->packed_bytes;
    run->workspace = solution->workspace_bytes > 0 ? buffer_new(solution->workspace_bytes) : NULL;
    for (uint32_t i = 0; i < run->launch_count; i++) {
        struct launch *launch = &run->launches[i];
        launch->is.size = sizeof launch->is;
        want(skipjackdb_launch_at(db, solution, i, &launch->is), "a launch");
        launch->args = allocate(launch->is.arg_count, sizeof *launch->args);
        launch->values = allocate(launch->is.arg_count, sizeof *launch->values);
        want(skipjackdb_args(db, &launch->is, run->problem, launch->args, sizeof *launch->args,
                             launch->is.arg_count),
             "a launch's arguments");
        load_kernel(db, launch);
        for (uint32_t a = 0; a < launch->is.arg_count; a++) {
            set_value(&launch->args[a], run->workspace, &launch->values[a]);
        }
    }
}

/* Returns how many copies of the tensors replace the whole cache before a copy is used again; fewer
 * if these would take more than an eighth of the memory. */
static int choose_copies(const struct run *run, const struct device_facts *facts)
{
    uint64_t set = 1, limit = facts->memory_bytes / 8;
    for (int t = 0; t < TENSORS; t++) {
        set += run->tensors[t].bytes;
    }
    uint64_t copies = 2 * facts->cache_bytes / set + 2;
    if (copies > limit / set) {
        copies = limit / set;
    }
    return copies < 1 ? 1 : copies > 1024 ? 1024 : (int)copies;
}

static void make_buffers(struct run *run, const struct device_facts *facts)
{
    run->copies = choose_copies(run, facts);
    for (int t = 0; t < TENSORS; t++) {
        run->buffers[t] = allocate((size_t)run->copies, sizeof *run->buffers[t]);
        if (run->tensors[t].bytes == 0) {
            continue; /* the problem has no such operand */
        }
        for (int i = 0; i < run->copies; i++) {
            run->buffers[t][i] = buffer_new(run->tensors[t].bytes);
            if (t != output_of(run->problem)) {
                buffer_write(run->buffers[t][i], run->tensors[t].stored);
            }
        }
    }
}

static void make_packed(struct run *run, const struct device_facts *facts)
{
    if (run->packed_bytes == 0) {
        return;
    }
    uint64_t most = facts->memory_bytes / 8 / run->packed_bytes;
    run->packed_copies = most < 1 ? 1 : most < (uint64_t)run->copies ? (int)most : run->copies;
    run->packed = allocate((size_t)run->packed_copies, sizeof(struct buffer *));
    for (int i = 0; i < run->packed_copies; i++) {
        run->packed[i] = buffer_new(run->packed_bytes);
    }
}

static struct buffer *operand_of(const struct run *run, int32_t tensor, int64_t number)
{
    struct buffer *buffer = NULL;
    if (tensor != SKIPJACKDB_TENSOR_PACKED) {
        buffer = run->buffers[tensor][number % run->copies];
    } else if (run->packed_copies > 0) {
        buffer = run->packed[number % run->packed_copies];
    }
    if (buffer == NULL) {
        fail("a launch wants an operand that the problem does not have");
    }
    return buffer;
}

/* Makes the launches from `first` to `end`. */
static void make_launches(struct run *run, uint32_t first, uint32_t end, int64_t number)
{
    for (uint32_t i = first; i < end; i++) {
        struct launch *launch = &run->launches[i];
        for (uint32_t a = 0; a < launch->is.arg_count; a++) {
            if (launch->args[a].kind == SKIPJACKDB_ARG_TENSOR) {
                launch->values[a].buffer = operand_of(run, launch->args[a].tensor, number);
            }
        }
        kernel_launch(launch->kernel, launch->is.grid, launch->is.block, launch->is.local_bytes,
                      launch->values, launch->is.arg_count);
    }
}

/* Packs the filter into every copy. */
static void pack(struct run *run)
{
    for (int i = 0; i < run->packed_copies; i++) {
        make_launches(run, 0, run->pack_count, i);
    }
}

static void run_once(struct run *run, int64_t number)
{
    make_launches(run, run->pack_count, run->launch_count, number);
}

/* ---- as graphs ---- */

static void replay_once(struct run *run, int64_t number)
{
    graph_launch(run->graphs[number % run->copies]);
}

/* Records a run on each copy of the tensors. A graph keeps the addresses that it was recorded with, so each copy needs
 * its own. Each graph is launched once, since its first launch takes longer than the others. */
static void record_graphs(struct run *run)
{
    run->graphs = allocate((size_t)run->copies, sizeof(struct graph *));
    for (int i = 0; i < run->copies; i++) {
        graph_begin();
        run_once(run, i);
        run->graphs[i] = graph_end();
    }
    for (int i = 0; i < run->copies; i++) {
        replay_once(run, i);
    }
}

static void run_free(struct run *run)
{
    for (int i = 0; run->graphs != NULL && i < run->copies; i++) {
        graph_free(run->graphs[i]);
    }
    free(run->graphs);
    for (uint32_t i = 0; i < run->launch_count; i++) {
        struct launch *launch = &run->launches[i];
        for (uint32_t a = 0; a < launch->is.arg_count; a++) {
            if (launch->args[a].kind == SKIPJACKDB_ARG_WORKSPACE) {
                buffer_free(launch->values[a].buffer);
            }
        }
        kernel_free(launch->kernel);
        free(launch->args);
        free(launch->values);
    }
    for (int t = 0; t < TENSORS; t++) {
        for (int i = 0; i < run->copies; i++) {
            buffer_free(run->buffers[t][i]);
        }
        free(run->buffers[t]);
        tensor_clear(&run->tensors[t]);
    }
    buffer_free(run->workspace);
    for (int i = 0; i < run->packed_copies; i++) {
        buffer_free(run->packed[i]);
    }
    free(run->packed);
}

/* ---- checking the result ---- */

/* One run on the copy of the tensors that has this number: run_once() or replay_once(). */
typedef void run_function(struct run *run, int64_t number);

/* Runs once on a copy and returns the error of what the run wrote, as reference_error() does. Output and workspace are
 * filled with NaN, or -1, before: what no launch of this run writes shows up as wrong, even if an earlier run left the
 * right numbers there. */
static double run_error(struct run *run, int number, run_function *one_run,
                        const struct reference *reference, const char *algorithm)
{
    int32_t out = output_of(run->problem);
    buffer_fill(run->buffers[out][number], 0xff);
    if (run->workspace != NULL) {
        buffer_fill(run->workspace, 0xff);
    }
    one_run(run, number);
    buffer_read(run->buffers[out][number], run->tensors[out].stored);
    return reference_error(reference, algorithm);
}

/* ---- measuring the time ---- */

#define READINGS_MAX   200
#define SAMPLE_MS      1000.0
/* A reading lasts at least this many times as long as reading the clock, and at least so many milliseconds: its first run
 * finds an idle device. */
#define FLOOR_SHARE    20
#define READING_MS     1.25
#define BATCH_MAX      1000
#define TELLING_FLOORS 5
#define TRIAL_FACTOR   8

/* Returns the milliseconds that `batch` runs take. *next is the number of the first run, and is
 * advanced. */
static double reading(struct run *run, run_function *one_run, int64_t *next, int batch)
{
    struct moment *from = moment_new();
    for (int i = 0; i < batch; i++) {
        one_run(run, (*next)++);
    }
    return moments_apart(from, moment_new());
}

static int by_size(const void *a, const void *b)
{
    double one = *(const double *)a, other = *(const double *)b;
    return (one > other) - (one < other);
}

static double median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, by_size);
    return count % 2 == 1 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

/* Returns the milliseconds that reading the clock takes without any runs. */
static double clock_floor(struct run *run)
{
    double values[16];
    int64_t next = 0;
    /* not counted: the first reading of a clock takes many times longer */
    reading(run, run_once, &next, 0);
    for (int i = 0; i < 16; i++) {
        values[i] = reading(run, run_once, &next, 0);
    }
    return median(values, 16);
}

/* Returns how many runs make a reading that is long enough. A single run may be as short as the clock's own reading, and
 * says nothing of its own time then: readings of 8, 64 and 512 runs follow until one is longer. */
static int choose_batch(struct run *run, run_function *one_run, int64_t *next, double floor_ms)
{
    double ms = fmin(reading(run, one_run, next, 1), reading(run, one_run, next, 1));
    int runs = 1;
    while (ms < TELLING_FLOORS * floor_ms && runs * TRIAL_FACTOR <= BATCH_MAX) {
        runs *= TRIAL_FACTOR;
        ms = reading(run, one_run, next, runs);
    }
    double run_ms = fmax((ms - floor_ms) / runs, floor_ms / BATCH_MAX);
    double reading_ms = fmax(FLOOR_SHARE * floor_ms, READING_MS);
    double wanted = run_ms > 0 ? ceil(reading_ms / run_ms) : 1;
    return wanted < 1 ? 1 : wanted > BATCH_MAX ? BATCH_MAX : (int)wanted;
}

/* Returns the median of one second of readings, which begin after a fifth of a second of runs to
 * warm up. */
static double measure(struct run *run, run_function *one_run)
{
    double values[READINGS_MAX], spent = 0, floor_ms = clock_floor(run);
    int64_t next = 0;
    int count = 0, batch = choose_batch(run, one_run, &next, floor_ms);
    for (int i = 0; i < 10 && spent < SAMPLE_MS / 5; i++) {
        spent += reading(run, one_run, &next, batch);
    }
    for (spent = 0; count < READINGS_MAX && (count < 3 || spent < SAMPLE_MS); count++) {
        double ms = reading(run, one_run, &next, batch);
        spent += ms;
        values[count] = ms / batch;
    }
    return median(values, count);
}

/* ---- the command ---- */

struct wish {
    const char *file, *key, *solver, *params;
    uint64_t workspace_bytes;
    int device;
    bool json, dry_run, unmeasured, unchecked, graph;
};

static void usage(void)
{
    fputs(
        "usage: run_convolution FILE KEY [--dry-run] [--unmeasured] [--json]"
        " [--solver NAME [--params TEXT]] [--workspace BYTES] [--device N] [--unchecked] [--graph]\n"
        "--graph (CUDA, HIP; not with --dry-run) checks and measures a run twice: launch by launch, and as"
        " one launch of a graph that was recorded before\n",
        stderr);
    exit(2);
}

/* Parses a text of digits as a number up to `most`; exits with wrong usage for any other text. */
static uint64_t read_number(const char *text, uint64_t most)
{
    char *end = NULL;
    uint64_t number = strtoull(text, &end, 10);
    if (strspn(text, "0123456789") != strlen(text) || end == text || number > most) {
        usage();
    }
    return number;
}

static struct wish read_wish(int argc, char **argv)
{
    struct wish wish = {.workspace_bytes = UINT64_MAX};
    const char **words[] = {&wish.file, &wish.key};
    size_t taken = 0;
    for (int i = 1; i < argc; i++) {
        bool has_value = i + 1 < argc;
        if (strcmp(argv[i], "--json") == 0) {
            wish.json = true;
        } else if (strcmp(argv[i], "--unchecked") == 0) {
            wish.unchecked = true;
        } else if (strcmp(argv[i], "--graph") == 0) {
            wish.graph = true;
        } else if (strcmp(argv[i], "--dry-run") == 0) {
            wish.dry_run = true;
        } else if (strcmp(argv[i], "--unmeasured") == 0) {
            wish.unmeasured = true;
        } else if (strcmp(argv[i], "--params") == 0 && has_value) {
            wish.params = argv[++i];
        } else if (strcmp(argv[i], "--solver") == 0 && has_value) {
            wish.solver = argv[++i];
        } else if (strcmp(argv[i], "--workspace") == 0 && has_value) {
            wish.workspace_bytes = read_number(argv[++i], UINT64_MAX);
        } else if (strcmp(argv[i], "--device") == 0 && has_value) {
            wish.device = (int)read_number(argv[++i], INT32_MAX);
        } else if (argv[i][0] != '-' && taken < 2) {
            *words[taken++] = argv[i];
        } else {
            usage();
        }
    }
    if (taken < 2 || (wish.params != NULL && wish.solver == NULL) || (wish.graph && wish.dry_run)) {
        usage();
    }
    return wish;
}

/* Returns the entry that is run: the fastest, or the one of the solver that the user named. */
static struct skipjackdb_entry find_entry(const skipjackdb *db, const struct wish *wish,
                                          const struct skipjackdb_problem *problem)
{
    struct skipjackdb_limits limits = {sizeof limits, wish->workspace_bytes, 0};
    struct skipjackdb_entry entries[1024], best;
    uint64_t number = 0;
    size_t count = 0;
    want(skipjackdb_find(db, problem, &number), wish->key);
    if (wish->solver == NULL) {
        want(skipjackdb_best(db, number, &limits, &best, sizeof best), wish->key);
        return best;
    }
    want(skipjackdb_entries(db, number, entries, sizeof *entries, 1024, &count), wish->key);
    for (size_t i = 0; i < count && i < 1024; i++) {
        if (strcmp(entries[i].solver, wish->solver) == 0 &&
            entries[i].workspace_bytes <= wish->workspace_bytes) {
            return entries[i];
        }
    }
    fail("%s: the file has no entry of %s within the workspace", wish->key, wish->solver);
}

struct report {
    bool measured; /* false for a solution that was never measured: the file has no time of it */
    /* of a solution that was never measured only solver, algorithm (the solver's name) and workspace are set */
    struct skipjackdb_entry entry;
    struct skipjackdb_solution solution;
    bool unchecked;
    double error; /* the largest, as a part of what is allowed; 0 if unchecked */
    double measured_ms;
    bool graph;                   /* whether the run was replayed as a graph, too */
    double graph_error, graph_ms; /* of replays, as error and measured_ms */
    const char *device;
};

static void find_measured(const skipjackdb *db, const struct wish *wish,
                          const struct skipjackdb_problem *problem, struct report *report)
{
    report->measured = true;
    report->entry = find_entry(db, wish, problem);
    want(skipjackdb_solution(db, problem, report->entry.solver, &report->solution,
                             sizeof report->solution),
         "how to run it");
    if (wish->params != NULL && strcmp(wish->params, report->solution.params) != 0) {
        fail("%s: %s was measured with the params %s", wish->key, report->entry.solver,
             report->solution.params);
    }
}

/* Takes the first never-measured solution of the wished solver and params within the workspace. */
static void find_unmeasured(const skipjackdb *db, const struct wish *wish,
                            const struct skipjackdb_problem *problem, struct report *report)
{
    struct skipjackdb_solution list[1024];
    uint64_t number = 0;
    size_t count = 0;
    want(skipjackdb_unmeasured_find(db, problem, &number), wish->key);
    want(skipjackdb_unmeasured_solutions(db, number, list, sizeof *list, 1024, &count), wish->key);
    for (size_t i = 0; i < count && i < 1024; i++) {
        if ((wish->solver == NULL || strcmp(list[i].solver, wish->solver) == 0) &&
            (wish->params == NULL || strcmp(list[i].params, wish->params) == 0) &&
            list[i].workspace_bytes <= wish->workspace_bytes) {
            report->measured = false;
            report->solution = list[i];
            report->entry = (struct skipjackdb_entry){.solver = list[i].solver,
                                                      .algorithm = list[i].solver,
                                                      .workspace_bytes = list[i].workspace_bytes};
            return;
        }
    }
    fail("%s: the file has no such never-measured solution within the workspace", wish->key);
}

/* Finds what is run: a measured solution, or one that was never measured if the user wants that. */
static void find_solution(const skipjackdb *db, const struct wish *wish,
                          const struct skipjackdb_problem *problem, struct report *report)
{
    uint64_t number = 0;
    bool measured = skipjackdb_find(db, problem, &number) == SKIPJACKDB_OK;
    bool built = skipjackdb_unmeasured_find(db, problem, &number) == SKIPJACKDB_OK;
    if (wish->unmeasured || (wish->dry_run && built && !measured)) {
        find_unmeasured(db, wish, problem, report);
    } else if (built && !measured) {
        fail("%s: the file holds it as built and never measured: --unmeasured runs it, --dry-run "
             "says what that would launch",
             wish->key);
    } else {
        find_measured(db, wish, problem, report);
    }
}

static const char *correct_json(const struct report *report, double error)
{
    return report->unchecked ? "null" : error <= 1 ? "true" : "false";
}

static void print_json(const struct wish *wish, const struct report *report)
{
    const struct {
        const char *name, *text;
    } texts[] = {{"key", wish->key},
                 {"device", report->device},
                 {"solver", report->entry.solver},
                 {"params", report->solution.params}};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        printf("%s\"%s\":", i == 0 ? "{" : ",", texts[i].name);
        print_text(texts[i].text);
    }
    printf(",\"launches\":%u,\"workspace_bytes\":%llu,\"correct\":%s,\"measured_ms\":%.9g,",
           (unsigned)report->solution.launch_count,
           (unsigned long long)report->solution.workspace_bytes,
           correct_json(report, report->error), report->measured_ms);
    if (report->graph) {
        printf("\"graph\":{\"correct\":%s,\"measured_ms\":%.9g},",
               correct_json(report, report->graph_error), report->graph_ms);
    } else {
        printf("\"graph\":null,");
    }
    if (report->measured) {
        printf("\"recorded_ms\":%.9g,\"ratio\":%.6g}\n", report->entry.time_ms,
               report->measured_ms / report->entry.time_ms);
    } else {
        printf("\"recorded_ms\":null,\"ratio\":null}\n");
    }
}

static void print_error(double error, const char *how)
{
    printf("%s%s: the largest error is %.3g times what is allowed\n",
           error <= 1 ? "right" : "WRONG", how, error);
}

static void print_words(const struct report *report)
{
    printf("%s [%s], %u launches, %llu bytes of workspace, on %s\n", report->entry.solver,
           report->solution.params, (unsigned)report->solution.launch_count,
           (unsigned long long)report->solution.workspace_bytes, report->device);
    if (!report->unchecked) {
        print_error(report->error, "");
    }
    if (report->measured) {
        printf("recorded %.6g ms, measured %.6g ms, ratio %.3f\n", report->entry.time_ms,
               report->measured_ms, report->measured_ms / report->entry.time_ms);
    } else {
        printf("never measured before, measured %.6g ms\n", report->measured_ms);
    }
    if (report->graph) {
        if (!report->unchecked) {
            print_error(report->graph_error, " as a graph");
        }
        printf("as a graph %.6g ms, %.3f times as long as launch by launch\n", report->graph_ms,
               report->graph_ms / report->measured_ms);
    }
}

/* ---- what would be launched ---- */

static void print_plan_json(const skipjackdb *db, const struct wish *wish,
                            const struct skipjackdb_problem *problem, const struct report *report)
{
    const struct skipjackdb_solution *solution = &report->solution;
    const struct {
        const char *name, *text;
    } texts[] = {{"key", wish->key}, {"solver", solution->solver}, {"params", solution->params}};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        printf("%s\"%s\":", i == 0 ? "{" : ",", texts[i].name);
        print_text(texts[i].text);
    }
    printf(",\"measured\":%s,\"recorded_ms\":", report->measured ? "true" : "false");
    if (report->measured) {
        printf("%.9g", report->entry.time_ms);
    } else {
        printf("null");
    }
    printf(",\"workspace_bytes\":%llu,\"packed_bytes\":%llu,\"launches\":",
           (unsigned long long)solution->workspace_bytes,
           (unsigned long long)solution->packed_bytes);
    print_launches_json(db, problem, solution);
    printf("}\n");
}

static void print_plan(const skipjackdb *db, const struct skipjackdb_problem *problem,
                       const struct report *report)
{
    const struct skipjackdb_solution *solution = &report->solution;
    printf("%s [%s], %u launches, %llu bytes of workspace, %llu bytes of packed filter\n",
           solution->solver, solution->params, (unsigned)solution->launch_count,
           (unsigned long long)solution->workspace_bytes,
           (unsigned long long)solution->packed_bytes);
    if (report->measured) {
        printf("recorded %.6g ms\n", report->entry.time_ms);
    } else {
        printf("built and never measured: its time is not known, nor whether it is right\n");
    }
    print_launches(db, problem, solution);
}

static void prepare(const skipjackdb *db, const struct wish *wish, struct run *run,
                    struct report *report, struct device_facts *facts)
{
    find_solution(db, wish, run->problem, report);
    for (int32_t t = 0; t < TENSORS; t++) {
        tensor_init(&run->tensors[t], run->problem, t);
        tensor_fill(&run->tensors[t], (uint64_t)t + 1, is_divisor(run->problem, t));
    }
    device_open(wish->device, facts);
    load_launches(db, &report->solution, run);
    make_buffers(run, facts);
    make_packed(run, facts);
    report->device = facts->name;
}

/* Runs the solution, prints the result and returns whether it is right. */
static bool run_and_report(const skipjackdb *db, const struct wish *wish,
                           const struct skipjackdb_problem *problem)
{
    struct run *run = allocate(1, sizeof *run);
    struct device_facts facts;
    struct report report = {.unchecked = wish->unchecked, .graph = wish->graph};
    struct reference *reference = NULL;
    run->problem = problem;
    prepare(db, wish, run, &report, &facts);
    pack(run);
    if (!wish->unchecked) {
        reference = reference_new(problem, run->tensors);
        report.error = run_error(run, 0, run_once, reference, report.entry.algorithm);
    }
    report.measured_ms = measure(run, run_once);
    if (wish->graph) {
        record_graphs(run);
        if (!wish->unchecked) {
            /* the last copy: a graph that was recorded for another one does not write it */
            report.graph_error =
                run_error(run, run->copies - 1, replay_once, reference, report.entry.algorithm);
        }
        report.graph_ms = measure(run, replay_once);
    }
    if (wish->json) {
        print_json(wish, &report);
    } else {
        print_words(&report);
    }
    reference_free(reference);
    run_free(run);
    free(run);
    device_close();
    return report.error <= 1 && report.graph_error <= 1;
}

/* Prints what running the solution would launch. */
static void say_what_would_run(const skipjackdb *db, const struct wish *wish,
                               const struct skipjackdb_problem *problem)
{
    struct report report;
    find_solution(db, wish, problem, &report);
    if (wish->json) {
        print_plan_json(db, wish, problem, &report);
    } else {
        print_plan(db, problem, &report);
    }
}

int main(int argc, char **argv)
{
    struct wish wish = read_wish(argc, argv);
    struct skipjackdb_problem problem = {.size = sizeof problem};
    skipjackdb *db = NULL;
    if (wish.graph && graphs_missing() != NULL) {
        fail("--graph: %s", graphs_missing());
    }
    want(skipjackdb_open(wish.file, &db), wish.file);
    want(skipjackdb_problem_parse(wish.key, &problem), wish.key);
    if (problem.kind != SKIPJACKDB_CONV && !wish.dry_run) {
        fail("%s: this example computes convolutions alone", wish.key);
    }
    bool right = true;
    if (wish.dry_run) {
        say_what_would_run(db, &wish, &problem);
    } else {
        right = run_and_report(db, &wish, &problem);
    }
    skipjackdb_close(db);
    return right ? 0 : 1;
}
