/*
 * A tuned network beside oneDNN on this machine's CPU: `skipjack tune` gives
 * the winners (a finished campaign costs nothing; without one it tunes), then
 * each forward layer is run by its winner through PoCL and by oneDNN with as
 * many threads, in turns, since a machine's speed changes for seconds at a
 * time. The comparison favours oneDNN: its weights and tensors are in the format
 * that it prefers before the clock starts, ours are plain, and a solution's own
 * reordering is part of its time.
 *
 * usage: bench_onednn [WORD...]   what follows `skipjack tune`, by default
 *        coordinator/networks/resnet50-v1.5.csv with $DEMO_ARGS, as `make demo`
 *
 * Layers that are not compared (no winner, or no FP32 forward convolution in NCHW) are named, counted and in
 * neither sum.
 *
 * Exit status 1 where the network takes more than GOAL times oneDNN's time,
 * or the two disagree about a result.
 */
#include "solvers/framework/solver.h"
#include "solvers/problem/problem_key.h"
#include "tests/support/kernels/solution_run.h"
#include "tests/support/temp_folder.h"

#include <dnnl.h>
#include <jansson.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define GOAL         4.0
#define TURNS        7  /* of each side */
#define TURN_RUNS    15 /* timed in a turn */
#define WARM_RUNS    3  /* before them */
#define TURN_SECONDS 0.3
/* ms to wait before a side is measured: the other side's OpenMP threads spin for a while when
 * idle */
#define REST_MS      20

/* From the OpenMP runtime that Debian's oneDNN is built with; declared here because it has no header of its own. */
void omp_set_num_threads(int count);

static void must(dnnl_status_t status, const char *what)
{
    if (status != dnnl_success)
        g_error("oneDNN cannot %s: status %d", what, (int)status);
}

/* ---- a layer, with its tensors in host memory, as the problem's key states them ---- */

struct layer {
    struct problem p;
    struct solution solution;
    int multiplicity;
    const char *solver, *config;
    struct run_tensor tensors[OPERAND_COUNT];
};

static void layer_fill(struct layer *layer)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(1);
    for (int t = 0; t < TENSOR_COUNT; t++) {
        struct run_tensor *tensor = &layer->tensors[t];
        tensor->bytes = (gsize)problem_tensor_bytes(&layer->p, (enum tensor_role)t);
        float *values = g_malloc(tensor->bytes);
        problem_packed_strides(&layer->p, (enum tensor_role)t, tensor->strides);
        for (gsize i = 0; i < tensor->bytes / sizeof(float); i++)
            values[i] = (float)g_rand_double_range(random, -1, 1);
        tensor->data = values;
    }
}

static void layer_clear(struct layer *layer)
{
    for (int t = 0; t < TENSOR_COUNT; t++)
        g_free(layer->tensors[t].data);
}

/* ---- oneDNN ---- */

struct onednn {
    dnnl_engine_t engine;
    dnnl_stream_t stream;
};

/* A forward convolution of oneDNN with tensors in the formats that it prefers. */
struct convolution {
    dnnl_primitive_desc_t desc;
    dnnl_primitive_t primitive;
    dnnl_memory_t tensors[TENSOR_COUNT];
};

/* On a shared machine OpenMP's threads can end up on one CPU, where they wait for each other; so
 * each is bound to a CPU. OpenMP's runtime reads the setting when it is loaded. */
static void bind_openmp_threads(char **argv)
{
    if (g_getenv("OMP_PROC_BIND"))
        return;
    g_setenv("OMP_PROC_BIND", "true", TRUE);
    execv("/proc/self/exe", argv);
}

/* OpenMP's runtime also binds this thread to one CPU, which PoCL's threads would inherit: the
 * binding is removed before PoCL is opened. */
static struct solution_runner *open_pocl(const char *cache)
{
    cpu_set_t bound, all;
    sched_getaffinity(0, sizeof bound, &bound);
    CPU_ZERO(&all);
    for (int i = 0; i < CPU_SETSIZE; i++)
        CPU_SET(i, &all);
    sched_setaffinity(0, sizeof all, &all);
    struct solution_runner *runner = solution_runner_new(cache);
    sched_setaffinity(0, sizeof bound, &bound);
    return runner;
}

static void onednn_open(struct onednn *onednn, int threads)
{
    omp_set_num_threads(threads);
    must(dnnl_engine_create(&onednn->engine, dnnl_cpu, 0), "open the CPU");
    must(dnnl_stream_create(&onednn->stream, onednn->engine, dnnl_stream_default_flags),
         "make a stream");
}

static dnnl_memory_desc_t describe(const struct problem *p, enum tensor_role role, bool plain)
{
    const dnnl_dims_t sizes[TENSOR_COUNT] = {
        {p->n, p->c, p->in[AXIS_H], p->in[AXIS_W]},
        {p->groups, p->k / p->groups, p->c / p->groups, p->fil[AXIS_H], p->fil[AXIS_W]},
        {p->n, p->k, p->out[AXIS_H], p->out[AXIS_W]},
    };
    bool is_filter = role == TENSOR_W;
    dnnl_format_tag_t tag = !plain ? dnnl_format_tag_any : is_filter ? dnnl_goihw : dnnl_nchw;
    dnnl_memory_desc_t desc;
    must(dnnl_memory_desc_init_by_tag(&desc, is_filter ? 5 : 4, sizes[role], dnnl_f32, tag),
         "describe a tensor");
    return desc;
}

static void copy_tensor(const struct onednn *onednn, dnnl_memory_t from, dnnl_memory_t to)
{
    const dnnl_memory_desc_t *from_desc, *to_desc;
    dnnl_primitive_desc_t desc;
    dnnl_primitive_t reorder;
    must(dnnl_memory_get_memory_desc(from, &from_desc), "describe a tensor");
    must(dnnl_memory_get_memory_desc(to, &to_desc), "describe a tensor");
    must(dnnl_reorder_primitive_desc_create(&desc, from_desc, onednn->engine, to_desc,
                                            onednn->engine, NULL),
         "reorder a tensor");
    must(dnnl_primitive_create(&reorder, desc), "reorder a tensor");
    const dnnl_exec_arg_t arguments[] = {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}};
    must(dnnl_primitive_execute(reorder, onednn->stream, 2, arguments), "reorder a tensor");
    must(dnnl_stream_wait(onednn->stream), "reorder a tensor");
    dnnl_primitive_destroy(reorder);
    dnnl_primitive_desc_destroy(desc);
}

/* Copies between plain host memory and a tensor of the convolution, converting the format. */
static void move_tensor(const struct onednn *onednn, const struct convolution *convolution,
                        const struct problem *p, enum tensor_role role, void *plain, bool in)
{
    dnnl_memory_desc_t desc = describe(p, role, true);
    dnnl_memory_t memory;
    must(dnnl_memory_create(&memory, &desc, onednn->engine, plain), "see a tensor");
    copy_tensor(onednn, in ? memory : convolution->tensors[role],
                in ? convolution->tensors[role] : memory);
    dnnl_memory_destroy(memory);
}

static void create_primitive(const struct onednn *onednn, const struct problem *p,
                             struct convolution *convolution)
{
    dnnl_memory_desc_t x = describe(p, TENSOR_X, false), w = describe(p, TENSOR_W, false);
    dnnl_memory_desc_t y = describe(p, TENSOR_Y, false);
    dnnl_dims_t stride, gap, before, behind;
    for (int i = 0; i < 2; i++) {
        int axis = AXIS_H + i;
        stride[i] = p->stride[axis];
        gap[i] = p->dilation[axis] - 1;
        before[i] = p->pad[axis];
        behind[i] = (p->out[axis] - 1) * p->stride[axis] + (p->fil[axis] - 1) * p->dilation[axis] +
                    1 - p->in[axis] - p->pad[axis];
    }
    dnnl_convolution_desc_t desc;
    must(dnnl_dilated_convolution_forward_desc_init(&desc, dnnl_forward_inference,
                                                    dnnl_convolution_auto, &x, &w, NULL, &y, stride,
                                                    gap, before, behind),
         "describe the convolution");
    must(dnnl_primitive_desc_create(&convolution->desc, &desc, NULL, onednn->engine, NULL),
         "do the convolution");
    must(dnnl_primitive_create(&convolution->primitive, convolution->desc), "do the convolution");
}

static void convolution_init(struct convolution *convolution, const struct onednn *onednn,
                             const struct layer *layer)
{
    static const dnnl_query_t queries[TENSOR_COUNT] = {dnnl_query_src_md, dnnl_query_weights_md,
                                                       dnnl_query_dst_md};
    create_primitive(onednn, &layer->p, convolution);
    for (int t = 0; t < TENSOR_COUNT; t++) {
        const dnnl_memory_desc_t *desc =
            dnnl_primitive_desc_query_md(convolution->desc, queries[t], 0);
        must(dnnl_memory_create(&convolution->tensors[t], desc, onednn->engine,
                                DNNL_MEMORY_ALLOCATE),
             "make a tensor");
        if (t != TENSOR_Y)
            move_tensor(onednn, convolution, &layer->p, (enum tensor_role)t, layer->tensors[t].data,
                        true);
    }
}

static void convolution_clear(struct convolution *convolution)
{
    for (int t = 0; t < TENSOR_COUNT; t++)
        dnnl_memory_destroy(convolution->tensors[t]);
    dnnl_primitive_destroy(convolution->primitive);
    dnnl_primitive_desc_destroy(convolution->desc);
}

/* The name of oneDNN's implementation, as in "jit:avx512_core". */
static const char *convolution_name(const struct convolution *convolution)
{
    const char *name = NULL;
    must(dnnl_primitive_desc_query(convolution->desc, dnnl_query_impl_info_str, 0, (void *)&name),
         "name its kernel");
    return name;
}

static void convolution_run(const struct convolution *convolution, const struct onednn *onednn,
                            int repeats, double *seconds)
{
    const dnnl_exec_arg_t arguments[] = {
        {DNNL_ARG_SRC, convolution->tensors[TENSOR_X]},
        {DNNL_ARG_WEIGHTS, convolution->tensors[TENSOR_W]},
        {DNNL_ARG_DST, convolution->tensors[TENSOR_Y]},
    };
    for (int i = 0; i < repeats; i++) {
        gint64 start = g_get_monotonic_time();
        must(dnnl_primitive_execute(convolution->primitive, onednn->stream, 3, arguments),
             "run the convolution");
        must(dnnl_stream_wait(onednn->stream), "run the convolution");
        seconds[i] = (double)(g_get_monotonic_time() - start) / G_USEC_PER_SEC;
    }
}

/* ---- both sides, alternating ---- */

struct pair {
    double ours_ms, onednn_ms;
};

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, compare_doubles);
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

/* Measures both sides once, several runs each; returns the medians. */
static struct pair take_turn(struct solution_runner *runner, const struct onednn *onednn,
                             const struct layer *layer, const struct convolution *convolution,
                             int runs)
{
    double seconds[WARM_RUNS + TURN_RUNS];
    struct pair pair;
    g_usleep(REST_MS * 1000);
    solution_run_times(runner, &layer->solution, layer->tensors, WARM_RUNS + runs, seconds);
    pair.ours_ms = median(seconds + WARM_RUNS, runs) * 1000;
    convolution_run(convolution, onednn, WARM_RUNS + runs, seconds);
    pair.onednn_ms = median(seconds + WARM_RUNS, runs) * 1000;
    return pair;
}

/* The largest difference between both results, divided by the difference that sums of that length
 * may have. */
static double disagreement(const struct onednn *onednn, const struct layer *layer,
                           const struct convolution *convolution)
{
    const struct problem *p = &layer->p;
    const float *ours = layer->tensors[TENSOR_Y].data;
    gsize count = layer->tensors[TENSOR_Y].bytes / sizeof(float);
    g_autofree float *theirs = g_new0(float, count);
    double terms = (double)(p->c / p->groups * p->fil[AXIS_H] * p->fil[AXIS_W]), most = 0;
    move_tensor(onednn, convolution, p, TENSOR_Y, theirs, false);
    for (gsize i = 0; i < count; i++) {
        double difference = fabs((double)ours[i] - (double)theirs[i]);
        most = isfinite(difference) ? MAX(most, difference) : INFINITY;
    }
    return most / (1e-5 * sqrt(terms) + 1e-6 * terms);
}

/* Measures a layer; returns false if the two results disagree. */
static bool measure_layer(struct solution_runner *runner, const struct onednn *onednn,
                          struct layer *layer, struct pair *pair)
{
    double ours[TURNS], theirs[TURNS];
    struct convolution convolution = {0};
    layer_fill(layer);
    convolution_init(&convolution, onednn, layer);
    *pair = take_turn(runner, onednn, layer, &convolution, 1);
    double wrong = disagreement(onednn, layer, &convolution);
    int runs = (int)CLAMP(TURN_SECONDS * 1000 / pair->ours_ms, 3, TURN_RUNS);
    for (int i = 0; i < TURNS; i++) {
        struct pair turn = take_turn(runner, onednn, layer, &convolution, runs);
        ours[i] = turn.ours_ms;
        theirs[i] = turn.onednn_ms;
    }
    *pair = (struct pair){median(ours, TURNS), median(theirs, TURNS)};
    char key[PROBLEM_KEY_MAX];
    printf("%2d  %-56s %8.3f  %8.3f  %5.2f  %-22s %s %s\n", layer->multiplicity,
           problem_key(&layer->p, key), pair->ours_ms, pair->onednn_ms,
           pair->ours_ms / pair->onednn_ms, convolution_name(&convolution), layer->solver,
           layer->config);
    fflush(stdout);
    convolution_clear(&convolution);
    layer_clear(layer);
    if (wrong > 1)
        printf("    the results differ by %.1f times what rounding may make\n", wrong);
    return wrong <= 1;
}

/* ---- the winners ---- */

/* Returns the JSON that `skipjack tune ... --json` prints; its progress goes to standard error. */
static json_t *tune(int count, char **words)
{
    const char *demo = g_getenv("DEMO_ARGS");
    g_auto(GStrv) demo_words = g_strsplit(demo ? demo : "--budget 420", " ", -1);
    g_autoptr(GPtrArray) arguments = g_ptr_array_new();
    g_autoptr(GError) error = NULL;
    g_autofree char *output = NULL;
    const char *program = g_getenv("SKIPJACK");
    g_ptr_array_add(arguments, (gpointer)(program ? program : "build/skipjack"));
    g_ptr_array_add(arguments, (gpointer) "tune");
    if (count == 0) {
        static const char *const demo_head[] = {"coordinator/networks/resnet50-v1.5.csv", "-o",
                                                "build/demo"};
        for (gsize i = 0; i < G_N_ELEMENTS(demo_head); i++)
            g_ptr_array_add(arguments, (gpointer)demo_head[i]);
        words = demo_words;
        count = (int)g_strv_length(demo_words);
    }
    for (int i = 0; i < count; i++)
        g_ptr_array_add(arguments, words[i]);
    g_ptr_array_add(arguments, (gpointer) "--json");
    g_ptr_array_add(arguments, NULL);
    if (!g_spawn_sync(NULL, (char **)arguments->pdata, NULL, G_SPAWN_DEFAULT, NULL, NULL, &output,
                      NULL, NULL, &error))
        g_error("cannot run skipjack tune: %s", error->message);
    return json_loads(output, 0, NULL);
}

/* Makes a layer of a row of the report. If the row has nothing to compare, says why and returns
 * false. */
static bool layer_read(struct layer *layer, const json_t *row, const struct context *context)
{
    const char *key = json_string_value(json_object_get(row, "key"));
    const struct solver *solver = NULL;
    struct perf_config config;
    const char *reason = "no config of any solver won";
    g_autoptr(GError) error = NULL;
    *layer = (struct layer){
        .multiplicity = (int)json_integer_value(json_object_get(row, "multiplicity")),
        .solver = json_string_value(json_object_get(row, "solver")),
        .config = json_string_value(json_object_get(row, "config")),
    };
    g_assert_true(key && problem_key_parse(key, &layer->p, NULL));
    const struct problem *p = &layer->p;
    if (layer->solver)
        solver = solver_find(layer->solver);
    bool comparable = p->direction == DIRECTION_F && p->spatial_dim == 2 &&
                      p->type[TENSOR_X] == TYPE_FP32 && p->layout[TENSOR_X] == LAYOUT_NCHW;
    if (!comparable)
        reason = "only FP32 forward layers in NCHW are compared";
    else if (solver &&
             solver_config_parse(solver, p, context, layer->config ? layer->config : "", &config,
                                 &error) &&
             solver_solve(solver, p, context, &config, &layer->solution, &error))
        return true;
    printf("    %s: %s\n", key, error ? error->message : reason);
    return false;
}

static bool print_total(const struct pair *total, int layers, int left_out)
{
    double ratio = total->ours_ms / total->onednn_ms;
    if (left_out > 0)
        printf("\n%d of %d layers were left out, as said above: they are in neither sum\n",
               left_out, layers + left_out);
    if (layers == 0) {
        printf("nothing was compared\n");
        return false;
    }
    printf("\n%d layers: ours %.2f ms, oneDNN %.2f ms: %.2f times oneDNN's time (the goal: at "
           "most %.0f)\n",
           layers, total->ours_ms, total->onednn_ms, ratio, GOAL);
    return ratio <= GOAL;
}

int main(int argc, char **argv)
{
    bind_openmp_threads(argv);
    g_autoptr(TempFolder) folder = temp_folder_new();
    json_t *report = tune(argc - 1, argv + 1);
    const json_t *rows = json_object_get(report, "problems"), *row;
    struct solution_runner *runner = open_pocl(temp_folder_path(folder, "pocl"));
    if (!rows || !runner)
        g_error("there is %s", rows ? "no PoCL here" : "no report of skipjack tune");
    const struct target *target = solution_runner_target(runner);
    const dnnl_version_t *version = dnnl_version();
    struct context context;
    struct onednn onednn;
    struct pair total = {0};
    bool agree = true;
    int layers = 0, left_out = 0;
    size_t i;
    context_init(&context, target);
    onednn_open(&onednn, target->compute_units);
    printf(
        "%s, %d threads on either side, oneDNN %d.%d.%d; medians of %d turns each, warm caches\n",
        target->id, target->compute_units, version->major, version->minor, version->patch, TURNS);
    printf(" x  %-56s %8s  %8s  %5s  %-22s %s\n", "problem", "ours ms", "oneDNN ms", "ratio",
           "oneDNN's kernel", "our solver and config");
    json_array_foreach (rows, i, row) {
        struct layer layer;
        struct pair pair;
        if (!layer_read(&layer, row, &context)) {
            left_out += layer.multiplicity;
            continue;
        }
        agree = measure_layer(runner, &onednn, &layer, &pair) && agree;
        layers += layer.multiplicity;
        total.ours_ms += layer.multiplicity * pair.ours_ms;
        total.onednn_ms += layer.multiplicity * pair.onednn_ms;
    }
    bool reached = print_total(&total, layers, left_out);
    dnnl_stream_destroy(onednn.stream);
    dnnl_engine_destroy(onednn.engine);
    solution_runner_free(runner);
    json_decref(report);
    return reached && agree ? 0 : 1;
}
