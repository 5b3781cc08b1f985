/*
 * Finds what bounds our kernels on AMD's GPUs. It reads compiled code and runs nothing, since we have no such GPU. For
 * each problem and target the solver with the best estimate is compiled with its default config, and so is the one for
 * the target's own matrix instructions where that is another. It prints registers, waves of a SIMD, and how many cycles
 * of a SIMD each unit needs for the hot loop (kernels/objects/hot_loop.h): the arithmetic at the peak's rate, vector
 * instructions, bytes of local memory and of the caches. The unit with the most cycles bounds the loop; "at most" is
 * the share of the peak that the loop then reaches. Waiting, and all outside of the loop, makes a kernel slower than
 * that. "memory" is the card's roofline: the share of the peak at which the problem's multiply-adds last as long as
 * reading and writing each tensor once at the card's bandwidth, at most 100 %.
 *
 * Beside them is what MIOpen's shipped find-db says that the card took for the same key, as a share of the same peak, for
 * each target whose find-db SKIPJACK_DATA/miopen holds (MI210, MI300X). The problems are keys of the MI300X's,
 * evenly spread over their sizes; without it, layers of ResNet-50. solvers/AMD.md explains the columns and the rates.
 *
 * With --type FP8 all tensors of the same problems are FP8, on targets that multiply it; MIOpen's find-dbs have no such
 * keys.
 *
 * usage: bench_amd [--problems COUNT] [--type FP8] [TARGET]...
 */
#include "export/formats/find_db.h"
#include "kernels/objects/hot_loop.h"
#include "kernels/program.h"
#include "solvers/framework/occupancy.h"
#include "solvers/framework/solver.h"
#include "solvers/problem/problem_key.h"
#include "tests/support/export/real_data.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A card's rates and those of a compute unit, from the vendor's peaks: CDNA 2 and CDNA 3 white papers (MI210, MI300X),
 * data sheets of RX 7900 XTX and RX 9070 XT. Bytes of the
 * vector caches are AMD's for CDNA (ROCm Compute Profiler's documentation); 0: left out, no source was found. */
static const struct rates {
    const char *arch, *target;
    int simds;            /* of a unit */
    double vector_cycles; /* of a SIMD for one vector instruction of a wave */
    /* operations a cycle: matrix instructions of FP8 (0: the unit has none) and FP16, the better of FP32's two ways */
    double fp8, fp16, fp32;
    double local, caches; /* bytes a cycle */
    const char *card;
    int units;             /* the target's id counts pairs of them on RDNA 3 */
    double ghz, gigabytes; /* clock; bandwidth of the card's memory, GB/s */
    const char *find_db;   /* MIOpen's for the card, NULL where it ships none */
} rates[] = {
    {"gfx90a", "gfx90a68", 4, 4, 0, 1024, 256, 128, 64, "MI210", 104, 1.7, 1638,
     "gfx90a68.HIP.fdb.txt.bz2"},
    {"gfx942", "gfx942130", 4, 4, 4096, 2048, 256, 128, 64, "MI300X", 304, 2.1, 5300,
     "gfx942130.HIP.fdb.txt.bz2"},
    {"gfx1100", "gfx1100_48", 2, 1, 0, 512, 256, 128, 0, "RX 7900 XTX", 96, 2.5, 960, NULL},
    {"gfx1201", "gfx1201_64", 2, 1, 2048, 1024, 256, 128, 0, "RX 9070 XT", 64, 2.97, 640, NULL},
};
/* The target whose find-db gives the problems. */
#define KEYS_OF (&rates[1])

static const char *const resnet[] = {
    "64-56-56-1x1-64-56-56-64-0x0-1x1-1x1-0-NCHW-FP16-F",
    "64-56-56-3x3-64-56-56-64-1x1-1x1-1x1-0-NCHW-FP16-F",
    "256-56-56-1x1-128-28-28-64-0x0-2x2-1x1-0-NCHW-FP16-F",
    "128-28-28-3x3-128-28-28-64-1x1-1x1-1x1-0-NCHW-FP16-F",
    "256-14-14-3x3-256-14-14-64-1x1-1x1-1x1-0-NCHW-FP16-F",
    "256-14-14-3x3-256-14-14-64-1x1-1x1-1x1-0-NCHW-FP16-W",
    "512-7-7-3x3-512-7-7-64-1x1-1x1-1x1-0-NCHW-FP16-B",
    "256-14-14-3x3-256-14-14-64-1x1-1x1-1x1-0-NCHW-FP32-F",
};

/* A problem, and what a find-db has of it. */
struct row {
    struct problem problem;
    double macs;
    double miopen_ms; /* 0: unknown */
    char miopen_solver[64];
};

/* ---- the problems ---- */

static gint by_work(gconstpointer a, gconstpointer b)
{
    double left = ((const struct row *)a)->macs, right = ((const struct row *)b)->macs;
    return (left > right) - (left < right);
}

/* The line's problem and fastest entry, if it is a convolution that the table shows. */
static bool read_line(const struct find_line *line, struct row *row)
{
    *row = (struct row){.miopen_ms = INFINITY};
    if (!problem_key_parse(line->key, &row->problem, NULL))
        return false;
    const struct problem *p = &row->problem;
    enum data_type type = p->type[TENSOR_X];
    for (guint i = 0; i < line->entries->len; i++) {
        const struct find_entry *entry = &g_array_index(line->entries, struct find_entry, i);
        if (entry->time_ms > 0 && entry->time_ms < row->miopen_ms) {
            row->miopen_ms = entry->time_ms;
            g_strlcpy(row->miopen_solver, entry->solver, sizeof(row->miopen_solver));
        }
    }
    row->macs = problem_macs(p);
    return p->spatial_dim == 2 && p->groups == 1 && (type == TYPE_FP16 || type == TYPE_FP32) &&
           row->macs >= 1e9 && isfinite(row->miopen_ms);
}

static GArray *rows_of_find_db(const char *path)
{
    GArray *rows = g_array_new(FALSE, FALSE, sizeof(struct row));
    g_autoptr(GError) error = NULL;
    g_autoptr(FindDb) db = find_db_open(path, &error);
    struct find_line line;
    struct line at;
    enum read_step step;
    if (!db)
        g_error("%s", error->message);
    find_line_init(&line);
    while ((step = find_db_next(db, &line, &at, NULL)) != READ_END && step != READ_FAILED) {
        struct row row;
        if (step == READ_ROW && read_line(&line, &row))
            g_array_append_val(rows, row);
    }
    find_line_clear(&line);
    return rows;
}

/* Returns the rows of the card's find-db; NULL if MIOpen's data is not here, or lacks it. */
static GArray *rows_of_card(const struct rates *r)
{
    g_autofree char *folder = r->find_db ? real_data("miopen") : NULL;
    g_autofree char *path = folder ? g_build_filename(folder, r->find_db, NULL) : NULL;
    return path && g_file_test(path, G_FILE_TEST_EXISTS) ? rows_of_find_db(path) : NULL;
}

/* `count` rows of the find-db, evenly spread over its convolutions in the order of their work. */
static GArray *choose_rows(int count)
{
    g_autoptr(GArray) all = rows_of_card(KEYS_OF);
    GArray *chosen = g_array_new(FALSE, FALSE, sizeof(struct row));
    if (!all) {
        for (gsize i = 0; i < G_N_ELEMENTS(resnet); i++) {
            struct row row = {0};
            bool known = problem_key_parse(resnet[i], &row.problem, NULL);
            g_assert_true(known);
            row.macs = problem_macs(&row.problem);
            g_array_append_val(chosen, row);
        }
        return chosen;
    }
    g_array_sort(all, by_work);
    for (int i = 0; i < count && all->len > 0; i++) {
        guint place = (guint)(((double)i + 0.5) * all->len / count);
        g_array_append_val(chosen, g_array_index(all, struct row, place));
    }
    return chosen;
}

static void make_fp8(GArray *rows)
{
    for (guint i = 0; i < rows->len; i++) {
        struct problem *p = &g_array_index(rows, struct row, i).problem;
        for (int t = 0; t < TENSOR_COUNT; t++)
            p->type[t] = TYPE_FP8;
    }
}

/* ---- a kernel ---- */

struct built {
    const struct solver *solver;
    struct launch launch;
    struct code_object object;
    struct hot_loop loop;
};

/* The solver of the best estimate, without those that are no competitors (the naive one). */
static const struct solver *best_solver(const struct problem *p, const struct context *context)
{
    const struct solver *best = NULL;
    double most = 1;
    for (int i = 0; i < solver_table_count; i++) {
        const struct solver *solver = solver_table[i];
        if (!solver_applicable(solver, p, context, NULL))
            continue;
        double estimate = solver->estimate(p, context);
        if (estimate > most) {
            most = estimate;
            best = solver;
        }
    }
    return best;
}

/* Compiles the launch with the most arithmetic of the solver's default. */
static bool build(const struct problem *p, const struct context *context, struct built *built,
                  GError **error)
{
    struct perf_config config = {0};
    struct solution solution;
    const struct toolchain *toolchain = toolchain_for_target(context->target, NULL, error);
    double most = -1;
    if (!toolchain)
        return false;
    built->solver->default_config(p, context, &config);
    if (!solver_solve(built->solver, p, context, &config, &solution, error))
        return false;
    for (int i = 0; i < solution.launch_count; i++) {
        const struct launch *launch = &solution.launches[i];
        struct code_object object = {0};
        struct hot_loop loop;
        if (!program_build(toolchain,
                           &(struct program){launch->file, launch->options, launch->entry, NULL},
                           context->target, &object, error)) {
            code_object_clear(&object);
            return false;
        }
        if (hot_loop_of(object.code, launch->entry, context->target, &loop) &&
            loop.matrix_flops + loop.vector_flops > most) {
            most = loop.matrix_flops + loop.vector_flops;
            code_object_clear(&built->object);
            built->launch = *launch;
            built->object = object;
            built->loop = loop;
        } else {
            code_object_clear(&object);
        }
    }
    if (most < 0)
        g_set_error(error, KERNELS_ERROR, KERNELS_ERROR_UNAVAILABLE,
                    "no library here reads its instructions");
    return most >= 0;
}

/* ---- what bounds it ---- */

/* Waves of a SIMD, by registers and by local memory. */
static int waves_of(const struct built *built, const struct target *target, const struct rates *r)
{
    const struct code_object *object = &built->object;
    int waves = occupancy_waves(target->arch, object->registers, object->accumulation_registers,
                                object->scalar_registers);
    int64_t local = object->local_bytes + built->launch.local_bytes, items = 1;
    for (int i = 0; i < 3; i++)
        items *= built->launch.block[i];
    if (local > 0) {
        int64_t groups = target->local_bytes / local;
        int64_t held = groups * ((items + target->wave_size - 1) / target->wave_size) / r->simds;
        waves = (int)MIN((int64_t)waves, MAX(held, 1));
    }
    return waves;
}

/* The share of the peak that the loop may reach, and the unit that bounds it. */
static double share_of(const struct hot_loop *loop, const struct target *target,
                       const struct rates *r, double peak, const char **unit)
{
    double arithmetic =
        (loop->matrix_flops + loop->vector_flops * target->wave_size) / (peak / r->simds);
    const struct {
        const char *unit;
        double cycles;
    } needs[] = {
        {"arithmetic", arithmetic},
        {"vector instructions", loop->vector * r->vector_cycles},
        {"local memory", loop->local_bytes * target->wave_size / (r->local / r->simds)},
        {"caches",
         r->caches > 0 ? loop->global_bytes * target->wave_size / (r->caches / r->simds) : 0},
    };
    double most = 0;
    for (gsize i = 0; i < G_N_ELEMENTS(needs); i++)
        if (needs[i].cycles > most) {
            most = needs[i].cycles;
            *unit = needs[i].unit;
        }
    return most > 0 ? arithmetic / most : 0;
}

static double peak_of(const struct rates *r, const struct problem *p)
{
    switch (p->type[TENSOR_X]) {
    case TYPE_FP8: return r->fp8;
    case TYPE_FP16: return r->fp16;
    default: return r->fp32;
    }
}

/* The share of the card's peak at which the problem's operations last as long as moving each tensor once. */
static double memory_share(const struct rates *r, const struct problem *p)
{
    double bytes = 0, flops = 2 * problem_macs(p);
    for (int t = 0; t < TENSOR_COUNT; t++)
        bytes += (double)problem_tensor_bytes(p, (enum tensor_role)t);
    double least = bytes / (r->gigabytes * 1e9);
    double busy = flops / (peak_of(r, p) * r->ghz * 1e9 * r->units);
    return MIN(1, busy / least);
}

/* ---- the table ---- */

struct sums {
    double logs, memory_logs, waves, miopen_logs,
        mix[3]; /* mix: of matrix, vector, scalar instructions, in shares */
    int count, mixed, miopen_count;
};

static void add_mix(struct sums *sums, const struct hot_loop *loop)
{
    const double counts[] = {loop->matrix, loop->vector, loop->scalar};
    double all = counts[0] + counts[1] + counts[2];
    for (int i = 0; all > 0 && i < 3; i++)
        sums->mix[i] += counts[i] / all;
    sums->mixed += all > 0;
}

/* Sets what MIOpen's best took on this card for the problem; 0 if its find-db does not say. held: its rows, NULL for
 * no find-db. */
static void find_miopen(struct row *row, const GArray *held)
{
    row->miopen_ms = 0;
    for (guint i = 0; held && i < held->len; i++) {
        const struct row *other = &g_array_index(held, struct row, i);
        if (problem_equal(&other->problem, &row->problem)) {
            row->miopen_ms = other->miopen_ms;
            g_strlcpy(row->miopen_solver, other->miopen_solver, sizeof row->miopen_solver);
            return;
        }
    }
}

/* sums: NULL for a second solver of the problem, which does not count. */
static void print_row(const struct row *row, const struct solver *solver, const struct rates *r,
                      const struct context *context, struct sums *sums)
{
    struct built built = {.solver = solver};
    g_autoptr(GError) error = NULL;
    char key[PROBLEM_KEY_MAX];
    const char *unit = "-";
    double peak = peak_of(r, &row->problem), memory = memory_share(r, &row->problem);
    printf("%-56s  ", sums ? problem_key(&row->problem, key) : "");
    if (!built.solver || !build(&row->problem, context, &built, &error)) {
        printf("%s\n", error ? error->message : "no solver but the naive one");
        code_object_clear(&built.object);
        return;
    }
    const struct hot_loop *loop = &built.loop;
    double share = share_of(loop, context->target, r, peak, &unit);
    int waves = waves_of(&built, context->target, r);
    printf("%-24s %4d %5d %6.1f  %4d %5d %5d  %5.1f %%  %-19s  %5.1f %%", built.solver->name,
           built.object.registers, waves,
           (double)(built.object.local_bytes + built.launch.local_bytes) / 1024, loop->matrix,
           loop->vector, loop->scalar, 100 * share, unit, 100 * memory);
    if (sums) {
        sums->logs += log(MAX(share, 1e-9));
        sums->memory_logs += log(MAX(memory, 1e-9));
        sums->waves += waves;
        sums->count++;
        add_mix(sums, loop);
    }
    if (sums && row->miopen_ms > 0) {
        double seconds = row->miopen_ms / 1e3;
        double reached = 2 * row->macs / seconds / (peak * r->ghz * 1e9 * r->units);
        printf("  %5.1f %%  %s", 100 * reached, row->miopen_solver);
        sums->miopen_logs += log(reached);
        sums->miopen_count++;
    }
    printf("\n");
    fflush(stdout);
    code_object_clear(&built.object);
}

/* The solver with the best estimate, and the one of the target's own instructions where it is another. */
static void print_solvers(const struct row *row, const struct rates *r,
                          const struct context *context, struct sums *sums)
{
    const struct solver *best = best_solver(&row->problem, context);
    print_row(row, best, r, context, sums);
    for (int i = 0; i < solver_table_count; i++)
        if (solver_table[i] != best && solver_table[i]->native && solver_table[i]->space &&
            solver_applicable(solver_table[i], &row->problem, context, NULL))
            print_row(row, solver_table[i], r, context, NULL);
}

static void print_target(const struct rates *r, const GArray *rows)
{
    struct target target;
    struct context context;
    struct sums sums = {0};
    bool known = target_parse(r->target, &target, NULL);
    g_assert_true(known);
    context_init(&context, &target);
    g_autoptr(GArray) held = rows_of_card(r);
    printf("\n%s: compiled, never run; shares are of the %s's peak\n"
           "%-56s  %-24s %4s %5s %6s  %4s %5s %5s  %7s  %-19s  %7s%s\n",
           r->target, r->card, "problem", "solver, default config", "regs", "waves", "local", "mat",
           "vec", "scal", "at most", "bound by", "memory", held ? "  MIOpen's best" : "");
    for (guint i = 0; i < rows->len; i++) {
        struct row row = g_array_index(rows, struct row, i);
        find_miopen(&row, held);
        print_solvers(&row, r, &context, &sums);
    }
    if (sums.count > 0)
        printf("geometric means of %d: the loops at most %.1f %% of the peak, the memory %.1f %%",
               sums.count, 100 * exp(sums.logs / sums.count),
               100 * exp(sums.memory_logs / sums.count));
    if (sums.miopen_count > 0)
        printf("; MIOpen measured %.1f %% for %d of them on an %s",
               100 * exp(sums.miopen_logs / sums.miopen_count), sums.miopen_count, r->card);
    if (sums.mixed > 0)
        printf(
            "\nmeans: %.1f waves of a SIMD; of a hot loop's instructions %.0f %% are matrix, %.0f %% "
            "vector, %.0f %% scalar",
            sums.waves / sums.count, 100 * sums.mix[0] / sums.mixed, 100 * sums.mix[1] / sums.mixed,
            100 * sums.mix[2] / sums.mixed);
    printf("\n");
}

int main(int argc, char **argv)
{
    int count = 12, first = 1;
    bool is_fp8 = false;
    if (first + 1 < argc && strcmp(argv[first], "--problems") == 0) {
        count = atoi(argv[first + 1]);
        first += 2;
    }
    if (first + 1 < argc && strcmp(argv[first], "--type") == 0) {
        is_fp8 = strcmp(argv[first + 1], "FP8") == 0;
        count = is_fp8 ? count : 0;
        first += 2;
    }
    if (count < 1 || (first < argc && argv[first][0] == '-')) {
        fprintf(stderr, "usage: bench_amd [--problems COUNT] [--type FP8] [TARGET]...\n");
        return 2;
    }
    g_autoptr(GArray) rows = choose_rows(count);
    if (is_fp8)
        make_fp8(rows);
    printf("what bounds the hot loops of AMD's kernels, by their code alone\n");
    for (gsize i = 0; i < G_N_ELEMENTS(rates); i++) {
        bool wanted = first >= argc;
        for (int a = first; a < argc; a++)
            wanted = wanted || strcmp(argv[a], rates[i].target) == 0;
        if (wanted && (!is_fp8 || rates[i].fp8 > 0))
            print_target(&rates[i], rows);
    }
    return 0;
}
