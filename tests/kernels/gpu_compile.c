/* The kernels of every solver compile for AMD's and NVIDIA's architectures with the default configs
 * of many shapes, without spilled registers and scratch memory. All rows of the solver table are
 * compiled, new solvers included, with and without an epilogue. Each kin (a set of similar architectures) compiles the
 * first shape that a solver serves on one of KIN_DAYS days, and two kin, one of them AMD's, do so each day; solvers for
 * one kin alone are compiled every day. With an epilogue a first shape is compiled on one of EPILOGUE_DAYS days. Each
 * other shape is compiled for one architecture, on one of SHAPE_DAYS days; a kernel that one architecture of the kin has compiled is not compiled again. The
 * long suite takes all layouts and types, makes no difference between kin, and compiles the layouts
 * and types of is_quick() in every shape. A program compiles for one kin: gpu_compile rdna, or a
 * link named rdna; --kin lists them. */
#include <string.h>

#include "kernels/kernel_source.h"
#include "kernels/objects/amd_object.h"
#include "kernels/objects/limits.h"
#include "kernels/toolchains/toolchain.h"
#include "solvers/framework/solver.h"
#include "solvers/problem/problem_key.h"
#include "tests/support/kernels/conv_kinds.h"
#include "tests/support/table_problems.h"
#include "tests/support/test_effort.h"

/* These kernels are compiled on one of so many days, not every day: a solver's first shape by each kin, with an
 * epilogue, and its other shapes. */
#define KIN_DAYS      2
#define EPILOGUE_DAYS 6
#define SHAPE_DAYS    16

/* The compiler (a clang by name, HIPRTC or NVRTC) and the target with its number of compute
 * units. */
static const struct machine {
    const char *compiler, *target;
    /* name of a set of architectures whose code for plain kernels is nearly equal */
    const char *kin;
    bool follows; /* another architecture of the kin compiles each solver's first shape */
} machines[] = {
    {"clang-15", "gfx900_64", "gfx9", false},    {"clang-15", "gfx906_60", "gfx9", true},
    {"clang-15", "gfx90878", "gfx9", true},      {"clang-15", "gfx90a68", "gfx90a", false},
    {"clang-15", "gfx1030_36", "rdna", true},    {"clang-19", "gfx942130", "gfx90a", true},
    {"clang-19", "gfx1100_48", "rdna", true},    {"clang-19", "gfx1201_64", "rdna", false},
    {"nvrtc", "sm_90_132_80g", "nvidia", false}, {"hiprtc", "gfx90a68", "gfx90a", true},
};

/* The default tile is a large one for the first, large shapes, and another tile for each of the
 * other shapes. */
static const struct shape {
    int64_t n, c, k, groups, size, filter, stride;
    /* scalar registers may spill to lanes of vector registers, but nothing to memory */
    bool many_scalars;
} shapes[] = {
    {32, 256, 256, 1, 28, 3, 1, false},   {32, 256, 256, 1, 28, 1, 1, false},
    {32, 256, 256, 256, 28, 3, 1, false}, {32, 128, 128, 1, 28, 5, 1, false},
    {16, 3, 64, 1, 112, 11, 1, false},    {32, 128, 128, 4, 28, 3, 1, false},
    {32, 256, 256, 1, 28, 3, 2, false},   {2, 16, 16, 1, 14, 3, 1, false},
    {32, 256, 256, 256, 28, 7, 1, true}, /* depthwise, with a large filter */
    {8, 64, 64, 64, 56, 31, 1, true},    /* depthwise, with more filter positions than registers */
    {32, 64, 16, 1, 56, 3, 1, false},    /* a matrix product of few rows */
    {32, 16, 64, 1, 56, 3, 1, false},    /* a matrix product of few rows in backward data */
    {32, 512, 512, 1, 7, 3, 1, false},   /* a small image */
    {16, 3, 64, 1, 224, 11, 4, false},    {32, 256, 512, 1, 28, 1, 2, false},
    {4, 16, 16, 1, 56, 31, 1, false},   /* the longest Fourier transforms */
    {1, 2048, 1000, 1, 1, 1, 1, false}, /* a fully connected layer */
    {2, 2, 2, 1, 60, 60, 1, false},     /* a filter so large that only the smallest tiles fit */
};

/* A kernel to compile, and the result of compiling it. */
struct task {
    const struct launch *launch; /* the kernel's options and source file */
    const struct target *target;
    bool many_scalars;
    char *name;    /* the solver */
    char *finding; /* what is wrong with the compiled kernel; NULL: nothing */
    int registers;
    double seconds;
};

/* Under way. */
static const struct machine *machine;
static const struct toolchain *toolchain;

static void task_free(gpointer data)
{
    struct task *task = data;
    g_free((void *)task->launch);
    g_free(task->name);
    g_free(task->finding);
    g_free(task);
}

/* ---- listing the kernels ---- */

static void make_problem(const struct conv_cell *cell, const struct shape *shape, struct problem *p)
{
    problem_init(p);
    p->direction = cell->direction;
    memcpy(p->layout, cell->layout, sizeof(p->layout));
    memcpy(p->type, cell->type, sizeof(p->type));
    if (cell->tf32)
        g_strlcpy(p->mode, OP_MODE_TF32, sizeof(p->mode));
    p->spatial_dim = conv_cell_is_3d(cell) ? 3 : 2;
    p->n = shape->n;
    p->c = shape->c;
    p->k = shape->k;
    p->groups = shape->groups;
    for (int a = p->spatial_dim == 3 ? AXIS_D : AXIS_H; a < AXIS_COUNT; a++) {
        p->in[a] = shape->size;
        p->fil[a] = shape->filter;
        p->pad[a] = shape->filter / 2;
        p->stride[a] = shape->stride;
    }
    problem_set_output(p);
}

/* Whether a machine of the same kin has compiled the kernel; if not, notes that this machine
 * does. */
static bool kin_have(const struct solver *solver, const char *identity)
{
    static GHashTable *compiled;

    if (solver->native || test_is_long())
        return false;
    if (!compiled)
        compiled = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    return !g_hash_table_add(compiled, g_strdup(identity));
}

static void add_launches(GHashTable *tasks, const struct solver *solver, const struct problem *p,
                         const struct target *target, const struct solution *solution,
                         bool many_scalars)
{
    char key[PROBLEM_KEY_MAX];
    for (int i = 0; i < solution->launch_count; i++) {
        const struct launch *launch = &solution->launches[i];
        g_autofree char *identity =
            g_strjoin(" ", launch->file, launch->entry, launch->options, NULL);
        if (g_hash_table_contains(tasks, identity) ||
            (program_kind_of(launch->file) == PROGRAM_ASSEMBLY && !toolchain->assemble) ||
            kin_have(solver, identity))
            continue;
        struct task *task = g_new0(struct task, 1);
        task->launch = g_memdup2(launch, sizeof(*launch));
        task->target = target;
        task->many_scalars = many_scalars;
        task->name = g_strdup_printf("%s: %s %s %s for %s", solver->name, launch->file,
                                     launch->entry, launch->options, problem_key(p, key));
        g_hash_table_insert(tasks, g_steal_pointer(&identity), task);
    }
}

/* Whether this machine has the turn today to compile shape number `shape` in the cell (direction, layouts,
 * types): one machine does, on one of SHAPE_DAYS days. The first shape that a solver serves is compiled without
 * asking for turns. */
static bool is_due(int shape, int cell)
{
    const int machine_count = (int)G_N_ELEMENTS(machines);
    int turn = shape + cell;
    return turn % machine_count == machine - machines &&
           test_is_turn(turn / machine_count, SHAPE_DAYS);
}

/* Whether this machine's kin has the turn today to compile what all kin do. */
static bool is_kins_turn(int number)
{
    return test_is_turn(number + (int)(machine - machines), KIN_DAYS);
}

/* Adds the default kernels of the problem with an epilogue of all classes that the solver does. */
static void add_epilogue(GHashTable *tasks, const struct solver *solver, struct problem p,
                         const struct context *context, bool many_scalars)
{
    enum tensor_role output = problem_output_role(&p);
    struct perf_config config = {0};
    struct solution solution;

    g_snprintf(p.epilogue, sizeof(p.epilogue), "+bias");
    if (solver->epilogues & EPILOGUE_DOES_SCALES)
        g_strlcat(p.epilogue, "+scale(channel)", sizeof(p.epilogue));
    if (solver->epilogues & EPILOGUE_DOES_RESIDUAL) {
        if (p.type[TENSOR_X] == TYPE_INT8)
            p.type[TENSOR_Y] = TYPE_INT8;
        gsize length = strlen(p.epilogue);
        g_snprintf(p.epilogue + length, sizeof(p.epilogue) - length, "+add(%s,%s)",
                   data_type_name(p.type[output]), layout_name(p.layout[output]));
    }
    if (solver->epilogues & EPILOGUE_DOES_ACTIVATION)
        g_strlcat(p.epilogue, "+silu", sizeof(p.epilogue));
    if (!problem_validate(&p, NULL) || !solver_applicable(solver, &p, context, NULL))
        return;
    solver->default_config(&p, context, &config);
    g_assert_true(solver_solve(solver, &p, context, &config, &solution, NULL));
    add_launches(tasks, solver, &p, context->target, &solution, many_scalars);
}

static void add_cell(GHashTable *tasks, const struct solver *solver, int number,
                     const struct context *context, bool every_shape)
{
    struct conv_cell cell;
    bool is_daily = solver->native || test_is_long();
    bool served = !is_daily && (machine->follows || !is_kins_turn(solver_index(solver->name)));
    conv_cell_at(number, &cell);
    for (int i = 0; i < (int)G_N_ELEMENTS(shapes); i++) {
        struct perf_config config = {0};
        struct solution solution;
        struct problem p;
        if (served && !every_shape && !is_due(i, number))
            continue;
        make_problem(&cell, &shapes[i], &p);
        if (!problem_validate(&p, NULL) || !solver_applicable(solver, &p, context, NULL))
            continue;
        solver->default_config(&p, context, &config);
        g_assert_true(solver_solve(solver, &p, context, &config, &solution, NULL));
        add_launches(tasks, solver, &p, context->target, &solution, shapes[i].many_scalars);
        if (!served && test_is_turn(number + solver_index(solver->name), EPILOGUE_DAYS))
            add_epilogue(tasks, solver, p, context, shapes[i].many_scalars);
        served = true;
    }
}

/* Types, and channels first or last, give different kernels. Every machine compiles the first of
 * these combinations, and one machine each of the others; number -1: all. Cells in TF32 go with those in FP32: most
 * solvers have the same kernels for both. */
static bool is_quick(const struct conv_cell *cell, int number)
{
    static const struct {
        enum layout layout;
        enum data_type type;
        int machine; /* -1: all of them */
    } quick[] = {
        {LAYOUT_NCHW, TYPE_FP32, -1}, {LAYOUT_NHWC, TYPE_FP16, 1},  {LAYOUT_NCHW, TYPE_INT8, 3},
        {LAYOUT_NHWC, TYPE_BF16, 5},  {LAYOUT_NCDHW, TYPE_FP32, 7}, {LAYOUT_NDHWC, TYPE_FP16, 6},
        {LAYOUT_NHWC, TYPE_FP16, 8},  {LAYOUT_NHWC, TYPE_FP8, 5},   {LAYOUT_NHWC, TYPE_BF8, 7},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(quick); i++)
        if ((number < 0 || quick[i].machine < 0 || quick[i].machine == number) &&
            cell->layout[TENSOR_X] == quick[i].layout &&
            cell->layout[TENSOR_W] == quick[i].layout &&
            cell->layout[TENSOR_Y] == quick[i].layout && cell->type[TENSOR_X] == quick[i].type &&
            cell->type[TENSOR_W] == quick[i].type)
            return true;
    return false;
}

/* Adds what a solver of another operator than a convolution compiles: its defaults for the table's problems. */
static void add_operators(GHashTable *tasks, const struct solver *solver,
                          const struct context *context)
{
    g_autoptr(GPtrArray) problems = table_problems_operators();
    for (guint i = 0; i < problems->len; i++) {
        const struct problem *p = problems->pdata[i];
        struct perf_config config = {0};
        struct solution solution;
        if (!is_kins_turn((int)i) || !solver_applicable(solver, p, context, NULL))
            continue;
        solver->default_config(p, context, &config);
        g_assert_true(solver_solve(solver, p, context, &config, &solution, NULL));
        add_launches(tasks, solver, p, context->target, &solution, false);
    }
}

static GHashTable *all_kernels(const struct target *target)
{
    GHashTable *tasks = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, task_free);
    struct context context;
    context_init(&context, target);
    for (int s = 0; s < solver_table_count; s++) {
        if (solver_table[s]->kind != OP_CONV)
            add_operators(tasks, solver_table[s], &context);
        for (int c = 0; solver_table[s]->kind == OP_CONV && c < conv_cell_count(); c++) {
            struct conv_cell cell;
            conv_cell_at(c, &cell);
            if (test_is_long())
                add_cell(tasks, solver_table[s], c, &context, is_quick(&cell, -1));
            else if (is_quick(&cell, (int)(machine - machines)))
                add_cell(tasks, solver_table[s], c, &context, false);
        }
    }
    return tasks;
}

/* ---- compiling the kernels ---- */

/* Number of spilled registers; for shapes with many_scalars only vector registers count. */
static int spills_of(const struct code_object *object, const struct task *task)
{
    struct amd_object read;
    if (!task->many_scalars)
        return object->spills;
    g_assert_true(amd_object_read(object->code, task->launch->entry, &read, NULL));
    return (int)read.kernel.vector_spills;
}

/* Returns what is wrong with a compiled kernel, NULL if nothing is. The limits are checked because
 * a default config is always accepted, so it must stay below them. */
static char *fault_of(const struct code_object *object, const struct task *task)
{
    int64_t local_bytes = object->local_bytes + task->launch->local_bytes;
    if (object->log[0])
        return g_strdup_printf("the compiler warns: %s", object->log);
    if (task->target->vendor == VENDOR_AMD && spills_of(object, task) != 0)
        return g_strdup_printf("%d registers spilled of %d", object->spills, object->registers);
    return limits_excess(task->target, object->scratch_bytes, local_bytes);
}

static void compile(gpointer data, gpointer unused)
{
    struct task *task = data;
    g_autoptr(GError) error = NULL;
    struct code_object object = {0};
    const struct kernel_source *source = kernel_source_find(task->launch->file, &error);
    bool assembly = program_kind_of(task->launch->file) == PROGRAM_ASSEMBLY;
    (void)unused;
    if (!source || !(assembly ? toolchain->assemble : toolchain->compile)(
                       source->text, task->launch->options, task->launch->entry, task->target,
                       &object, &error))
        task->finding = g_strdup_printf("%s\n%s", error->message, object.log ? object.log : "");
    else
        task->finding = fault_of(&object, task);
    task->registers = object.registers;
    task->seconds = object.seconds;
    code_object_clear(&object);
}

static void compile_all(GHashTable *tasks)
{
    GThreadPool *pool = g_thread_pool_new(compile, NULL, (int)g_get_num_processors(), FALSE, NULL);
    GHashTableIter iter;
    gpointer task;
    g_hash_table_iter_init(&iter, tasks);
    while (g_hash_table_iter_next(&iter, NULL, &task))
        g_thread_pool_push(pool, task, NULL);
    g_thread_pool_free(pool, FALSE, TRUE);
}

static void report(GHashTable *tasks)
{
    const struct task *worst = NULL;
    double seconds = 0;
    GHashTableIter iter;
    gpointer value;
    g_hash_table_iter_init(&iter, tasks);
    while (g_hash_table_iter_next(&iter, NULL, &value)) {
        const struct task *task = value;
        seconds += task->seconds;
        if (!worst || task->registers > worst->registers)
            worst = task;
        if (task->finding) {
            g_test_message("%s: %s", task->name, task->finding);
            g_test_fail();
        }
    }
    if (!worst) {
        g_test_message("no kernel of this architecture has its turn today");
        return;
    }
    g_test_message("%u kernels, %.1f s of compiling, at most %d registers: %s",
                   g_hash_table_size(tasks), seconds, worst->registers, worst->name);
}

static void test_default_kernels_compile_without_spills(gconstpointer data)
{
    g_autoptr(GError) error = NULL;
    struct target target;
    machine = data;
    g_assert_true(target_parse(machine->target, &target, &error));
    g_assert_no_error(error);
    g_setenv("SKIPJACK_CLANG", machine->compiler, TRUE);
    toolchain = toolchain_find(machine->compiler);
    if (!toolchain)
        toolchain = toolchain_find("clang");
    if (!toolchain->can_compile(&target, &error)) {
        g_test_skip(error->message);
        return;
    }
    g_autoptr(GHashTable) tasks = all_kernels(&target);
    compile_all(tasks);
    report(tasks);
}

static int list_kin(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(machines); i++) {
        size_t first = 0;
        while (strcmp(machines[first].kin, machines[i].kin) != 0)
            first++;
        if (first == i)
            g_print("%s\n", machines[i].kin);
    }
    return 0;
}

int main(int argc, char **argv)
{
    g_autofree char *name = g_path_get_basename(argv[0]);
    const char *wanted = name;
    int count = 0;

    if (argc == 2 && strcmp(argv[1], "--kin") == 0)
        return list_kin();
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    if (argc == 2)
        wanted = argv[1];
    for (size_t i = 0; i < G_N_ELEMENTS(machines); i++) {
        if (strcmp(machines[i].kin, wanted) != 0)
            continue;
        g_autofree char *path = g_strdup_printf("/gpu_compile/defaults_do_not_spill_%s_%s",
                                                machines[i].compiler, machines[i].target);
        g_test_add_data_func(path, &machines[i], test_default_kernels_compile_without_spills);
        count++;
    }
    if (count == 0) {
        g_printerr("no machine is of the kin '%s': say one of --kin\n", wanted);
        return 2;
    }
    return g_test_run();
}
