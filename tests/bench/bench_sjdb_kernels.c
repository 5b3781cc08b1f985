/*
 * The kernel cache: code objects of our solvers at random configs of usual layers, for gfx90a and for
 * sm_90, in a kernel-db as MIOpen has them (bzip2 each) and in a .sjdb; and how long one takes to come
 * out of it. SKIPJACK_BENCH_KERNELS=250 compiles so many for each instead (all: ten minutes of a core).
 */
#include "export/formats/kernel_db.h"
#include "export/sjdb/reader/skipjackdb.h"
#include "export/sjdb/sjdb_write.h"
#include "kernels/program.h"
#include "solvers/framework/solver.h"
#include "tests/support/temp_folder.h"

#include <glib/gstdio.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SEED      6
#define GOAL_SIZE 0.3
#define GOAL_MS   1.0

struct kernel {
    struct launch *launch;
    GBytes *code; /* NULL: the kernel did not compile */
};

static const struct cache {
    const char *target, *toolchain;
    guint kernels;
} caches[] = {
    {"gfx90a68", "clang", 2000},
    {"sm_90_132_80g", "nvrtc", 500},
};

static struct target target;
static const struct toolchain *toolchain;

static double now_ms(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

/* Draws a layer's problem with sizes that networks have. */
static void draw_problem(GRand *random, struct problem *p)
{
    static const int64_t channels[] = {32, 64, 128, 256, 512}, sizes[] = {7, 14, 28, 56};
    problem_init(p);
    p->n = 16 << g_rand_int_range(random, 0, 3);
    p->c = channels[g_rand_int_range(random, 0, G_N_ELEMENTS(channels))];
    p->k = channels[g_rand_int_range(random, 0, G_N_ELEMENTS(channels))];
    p->direction = (enum direction)g_rand_int_range(random, 0, DIRECTION_COUNT);
    int64_t size = sizes[g_rand_int_range(random, 0, G_N_ELEMENTS(sizes))];
    int64_t filter = g_rand_boolean(random) ? 3 : 1;
    enum data_type type = g_rand_boolean(random) ? TYPE_FP32 : TYPE_FP16;
    for (int t = 0; t < TENSOR_COUNT; t++) {
        p->type[t] = type;
    }
    for (int a = AXIS_H; a < AXIS_COUNT; a++) {
        p->in[a] = size;
        p->fil[a] = filter;
        p->pad[a] = filter / 2;
    }
    problem_set_output(p);
}

static void add_solution(const struct solution *solution, GHashTable *seen, GPtrArray *kernels)
{
    for (int i = 0; i < solution->launch_count; i++) {
        const struct launch *launch = &solution->launches[i];
        char *identity = g_strjoin(" ", launch->file, launch->options, NULL);
        if (launch->program_kind == PROGRAM_SOURCE && g_hash_table_add(seen, identity)) {
            struct kernel *kernel = g_new0(struct kernel, 1);
            kernel->launch = g_memdup2(launch, sizeof *launch);
            g_ptr_array_add(kernels, kernel);
        }
    }
}

/* Draws `count` kernels whose identities (the columns by which a kernel-db finds them) all
 * differ. */
static GPtrArray *draw_kernels(guint count)
{
    GPtrArray *kernels = g_ptr_array_new();
    g_autoptr(GRand) random = g_rand_new_with_seed(SEED);
    g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    struct context context;
    uint64_t state = SEED;
    context_init(&context, &target);
    while (kernels->len < count) {
        const struct solver *solver = solver_table[g_rand_int_range(random, 0, solver_table_count)];
        struct problem problem;
        struct perf_config config;
        struct solution solution;
        draw_problem(random, &problem);
        if (!solver_applicable(solver, &problem, &context, NULL)) {
            continue;
        }
        const struct space *space = solver_space(solver, &problem, &context);
        if (space == NULL || !space_draw(space, &problem, &context, &state, &config)) {
            solver->default_config(&problem, &context, &config);
        }
        if (solver_solve(solver, &problem, &context, &config, &solution, NULL)) {
            add_solution(&solution, seen, kernels);
        }
    }
    return kernels;
}

static void compile(gpointer data, gpointer unused)
{
    struct kernel *kernel = data;
    struct code_object object = {0};
    const struct program program = {kernel->launch->file, kernel->launch->options,
                                    kernel->launch->entry, NULL};
    (void)unused;
    if (program_build(toolchain, &program, &target, &object, NULL)) {
        kernel->code = g_bytes_ref(object.code);
    }
    code_object_clear(&object);
}

static void compile_all(const GPtrArray *kernels)
{
    GThreadPool *pool = g_thread_pool_new(compile, NULL, (gint)g_get_num_processors(), TRUE, NULL);
    for (guint i = 0; i < kernels->len; i++) {
        g_thread_pool_push(pool, kernels->pdata[i], NULL);
    }
    g_thread_pool_free(pool, FALSE, TRUE);
}

/* Writes the compiled kernels to both files; returns how many there are. */
static guint write_files(const GPtrArray *kernels, const char *kdb, const char *sjdb,
                         double *code_bytes)
{
    guint count = 0;
    g_autoptr(KernelDbWriter) old = kernel_db_create(kdb, NULL);
    g_autoptr(SjdbWriter) new = sjdb_writer_new(sjdb);
    for (guint i = 0; i < kernels->len; i++) {
        const struct kernel *kernel = kernels->pdata[i];
        if (kernel->code == NULL) {
            continue;
        }
        g_autofree char *name = kernel_db_name(kernel->launch->file);
        g_autofree char *args = kernel_db_args(kernel->launch->options, target.arch);
        bool added = kernel_db_add(old, name, args, kernel->code, NULL) &&
                     sjdb_writer_add_kernel(new, name, args, kernel->code, NULL);
        g_assert(added);
        *code_bytes += (double)g_bytes_get_size(kernel->code);
        count++;
    }
    bool written = kernel_db_finish(old, NULL) && sjdb_writer_finish(new, NULL);
    g_assert(written);
    return count;
}

static gint compare_times(gconstpointer a, gconstpointer b)
{
    double one = *(const double *)a, other = *(const double *)b;
    return (one > other) - (one < other);
}

/* Processor time in ms of getting each kernel by its identity, in ascending order. */
static GArray *time_kernels(const GPtrArray *kernels, const skipjackdb *db)
{
    GArray *times = g_array_new(FALSE, FALSE, sizeof(double));
    g_autoptr(GByteArray) room = g_byte_array_new();
    for (guint i = 0; i < kernels->len; i++) {
        const struct kernel *kernel = kernels->pdata[i];
        size_t bytes = 0;
        if (kernel->code == NULL) {
            continue;
        }
        g_autofree char *name = kernel_db_name(kernel->launch->file);
        g_autofree char *args = kernel_db_args(kernel->launch->options, target.arch);
        g_byte_array_set_size(room, (guint)g_bytes_get_size(kernel->code));
        double start = now_ms();
        int code = skipjackdb_kernel(db, name, args, room->data, room->len, &bytes);
        double time = now_ms() - start;
        g_assert(code == SKIPJACKDB_OK &&
                 memcmp(room->data, g_bytes_get_data(kernel->code, NULL), bytes) == 0);
        g_array_append_val(times, time);
    }
    g_array_sort(times, compare_times);
    return times;
}

static double file_bytes(const char *path)
{
    GStatBuf status;
    return g_stat(path, &status) == 0 ? (double)status.st_size : 0;
}

static void free_kernels(GPtrArray *kernels)
{
    for (guint i = 0; i < kernels->len; i++) {
        struct kernel *kernel = kernels->pdata[i];
        g_clear_pointer(&kernel->code, g_bytes_unref);
        g_free(kernel->launch);
        g_free(kernel);
    }
    g_ptr_array_unref(kernels);
}

static bool report(const char *kdb, const char *sjdb, guint count, double code_bytes,
                   const GArray *times)
{
    double ratio = file_bytes(sjdb) / file_bytes(kdb);
    double median = g_array_index(times, double, times->len / 2);
    double longest = g_array_index(times, double, times->len - 1);
    printf("%u code objects for %s, %.0f bytes\n", count, target.id, code_bytes);
    printf("  kernel-db, bzip2   %10.0f bytes\n", file_bytes(kdb));
    printf("  .sjdb, zstd groups %10.0f bytes, %.2f times, goal %.1f: %s\n", file_bytes(sjdb),
           ratio, GOAL_SIZE, ratio <= GOAL_SIZE ? "met" : "missed");
    printf("  one kernel out     %10.3f ms median, %.3f ms longest, goal %.0f ms: %s\n", median,
           longest, GOAL_MS, longest <= GOAL_MS ? "met" : "missed");
    return ratio <= GOAL_SIZE && longest <= GOAL_MS;
}

static bool measure(const struct cache *cache, guint count)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    g_autoptr(GError) error = NULL;
    double code_bytes = 0;
    skipjackdb *db = NULL;
    bool known = target_parse(cache->target, &target, NULL);
    g_assert(known);
    toolchain = toolchain_find(cache->toolchain);
    g_assert(toolchain != NULL);
    if (!toolchain->can_compile(&target, &error)) {
        printf("%s: nothing to measure with: %s\n", cache->target, error->message);
        return true;
    }
    GPtrArray *kernels = draw_kernels(count);
    compile_all(kernels);
    const char *kdb = temp_folder_path(folder, "a.kdb");
    const char *sjdb = temp_folder_path(folder, "a.sjdb");
    guint compiled = write_files(kernels, kdb, sjdb, &code_bytes);
    int code = skipjackdb_open(sjdb, &db);
    bool met = compiled > 0 && code == SKIPJACKDB_OK;
    if (met) {
        g_autoptr(GArray) times = time_kernels(kernels, db);
        met = report(kdb, sjdb, compiled, code_bytes, times);
        skipjackdb_close(db);
    } else {
        printf("%s: %u of %u kernels compiled; the .sjdb: %s\n", cache->target, compiled,
               kernels->len, skipjackdb_error_text(code));
    }
    free_kernels(kernels);
    return met;
}

int main(void)
{
    const char *wanted = g_getenv("SKIPJACK_BENCH_KERNELS");
    bool met = true;
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (size_t i = 0; i < G_N_ELEMENTS(caches); i++) {
        guint count = wanted != NULL ? (guint)MAX(atoi(wanted), 1) : caches[i].kernels;
        met = measure(&caches[i], count) && met;
    }
    return met ? 0 : 1;
}
