/* Kernels of NVIDIA's matrix units with an epilogue compile by NVRTC for sm_90, for each form of
 * epilogue, type and layout. With a solver's default config they spill nothing if the same kernel
 * without an epilogue does not, and at most twice as many registers if it does; with drawn configs (long suite) no more than the limit for
 * scratch memory allows. No kernel runs. Messages state the registers of both. */
#include <string.h>

#include "kernels/objects/limits.h"
#include "kernels/program.h"
#include "solvers/framework/solver.h"
#include "tests/support/kernels/conv_shapes.h"
#include "tests/support/test_effort.h"

/* Configs that are drawn from a solver's space in addition to the default, and the days among
 * which forms are shared. */
#define DRAWS_LONG 6
#define FORM_DAYS  40

static const char *const solvers[] = {"ConvMatrix", "ConvWgmma", "ConvTma", "ConvWgmma1x1",
                                      "ConvFewChannelsMatrix"};

/* "%s" becomes the type and layout of the residual. */
static const struct form {
    const char *epilogue;
    enum data_type residual; /* TYPE_NONE: the output's */
} forms[] = {
    {"+bias", TYPE_NONE},
    {"+bias+relu", TYPE_NONE},
    {"+bias+add(%s)+relu", TYPE_NONE},
    {"+bias+add(%s)+relu", TYPE_FP32},
    {"+bias+silu", TYPE_NONE},
    {"+scale(channel)+bias+mul(%s)+gelu", TYPE_NONE},
};
static const struct form whole_forms[] = {
    {"+bias", TYPE_NONE},
    {"+bias+scale(tensor)+relu", TYPE_NONE},
    {"+bias+scale(channel)+add(%s)+relu", TYPE_NONE},
    {"+bias+scale(channel)+hardswish", TYPE_NONE},
};

/* 1x1 and 3x3, large enough for every block, and a network's first layer. */
static const struct conv_shape shapes[] = {{32, 256, 256, 1, 28, 28, 1, 1, 0, 1, 1},
                                           {32, 256, 256, 1, 28, 28, 3, 3, 1, 1, 1},
                                           {32, 3, 64, 1, 224, 224, 7, 7, 3, 2, 1}};

static const struct cell {
    enum direction direction;
    enum layout layout;
    enum data_type type, output;
} cells[] = {
    {DIRECTION_F, LAYOUT_NHWC, TYPE_FP16, TYPE_FP16},
    {DIRECTION_F, LAYOUT_NCHW, TYPE_FP16, TYPE_FP16},
    {DIRECTION_F, LAYOUT_NHWC, TYPE_BF16, TYPE_BF16},
    {DIRECTION_F, LAYOUT_NCHW, TYPE_BF16, TYPE_BF16},
    {DIRECTION_B, LAYOUT_NHWC, TYPE_FP16, TYPE_FP16},
    {DIRECTION_B, LAYOUT_NCHW, TYPE_BF16, TYPE_BF16},
    {DIRECTION_F, LAYOUT_NHWC, TYPE_INT8, TYPE_INT8},
    {DIRECTION_F, LAYOUT_NCHW, TYPE_INT8, TYPE_INT32},
    {DIRECTION_F, LAYOUT_NHWC, TYPE_INT8, TYPE_FP16},
    {DIRECTION_F, LAYOUT_NCHW, TYPE_INT8, TYPE_FP32},
    {DIRECTION_F, LAYOUT_NHWC, TYPE_FP32, TYPE_FP32}, /* FP32: in TF32 */
    {DIRECTION_F, LAYOUT_NCHW, TYPE_FP32, TYPE_FP32},
    {DIRECTION_B, LAYOUT_NHWC, TYPE_FP32, TYPE_FP32},
    {DIRECTION_B, LAYOUT_NCHW, TYPE_FP32, TYPE_FP32},
    {DIRECTION_F, LAYOUT_NHWC, TYPE_FP8, TYPE_FP8},
    {DIRECTION_F, LAYOUT_NCHW, TYPE_BF8, TYPE_FP16},
};

struct trial {
    const struct toolchain *toolchain;
    const struct solver *solver;
    struct target target;
    struct context context;
    struct problem p;
};

static void make_problem(const struct cell *cell, const struct conv_shape *shape, struct problem *p)
{
    conv_shape_problem(shape, cell->direction, cell->layout, p);
    for (int t = 0; t < TENSOR_COUNT; t++)
        p->type[t] = cell->type;
    p->type[TENSOR_Y] = cell->output;
    if (cell->type == TYPE_FP32)
        g_strlcpy(p->mode, OP_MODE_TF32, sizeof p->mode);
}

static void set_epilogue(const struct cell *cell, const struct form *form, struct problem *p)
{
    enum data_type type = form->residual == TYPE_NONE ? cell->output : form->residual;
    g_autofree char *residual =
        g_strdup_printf("%s,%s", data_type_name(type), layout_name(cell->layout));
    g_auto(GStrv) parts = g_strsplit(form->epilogue, "%s", -1);
    g_autofree char *text = g_strjoinv(residual, parts);
    g_autoptr(GError) error = NULL;

    g_assert_true(epilogue_canonical(text, p->epilogue, &error));
    g_assert_no_error(error);
    g_assert_true(problem_validate(p, &error));
    g_assert_no_error(error);
}

/* Compiles the launches whose options have the word `needed`, all of them for NULL; not those that
 * copy tensors. Returns the most registers, and sets *spills to the sum of spills. */
static int compile(const struct trial *trial, const struct problem *p,
                   const struct perf_config *config, const char *needed, int *spills)
{
    g_autoptr(GError) error = NULL;
    struct solution solution;
    int registers = -1;

    *spills = 0;
    solution_init(&solution);
    g_assert_true(trial->solver->solve(p, &trial->context, config, &solution, &error));
    g_assert_true(solution_validate(&solution, &trial->target, &error));
    for (int i = 0; i < solution.launch_count; i++) {
        const struct launch *launch = &solution.launches[i];
        const struct program program = {launch->file, launch->options, launch->entry, NULL};
        struct code_object object = {0};
        if (g_str_has_prefix(launch->file, "conv_transpose") ||
            (needed && !strstr(launch->options, needed)))
            continue;
        if (!program_build(trial->toolchain, &program, &trial->target, &object, &error)) {
            g_test_message("%s\n%s", error->message, object.log ? object.log : "");
            g_test_fail();
            return -1;
        }
        if (object.log && object.log[0]) {
            g_test_message("the compiler warns: %s", object.log);
            g_test_fail();
        }
        g_assert_null(limits_excess(&trial->target, object.scratch_bytes,
                                    object.local_bytes + launch->local_bytes));
        *spills += MAX(object.spills, 0);
        registers = MAX(registers, object.registers);
        code_object_clear(&object);
    }
    g_assert_cmpint(registers, >, 0);
    return registers;
}

static void check_config(const struct trial *trial, const struct cell *cell,
                         const struct form *listed, int count, const struct perf_config *config,
                         bool is_default)
{
    static int turn;
    bool has_plain = cell->type != TYPE_INT8 || cell->output == TYPE_INT32, is_compiled = false;
    int plain_spills = 0, plain = 0;
    char text[CONFIG_TEXT_MAX];

    for (int i = 0; i < count; i++) {
        struct problem fused = trial->p;
        int spills, registers;
        if (!test_is_long() && !test_is_turn(turn++, FORM_DAYS))
            continue;
        set_epilogue(cell, &listed[i], &fused);
        if (!solver_applicable(trial->solver, &fused, &trial->context, NULL))
            continue;
        if (has_plain && !is_compiled)
            plain = compile(trial, &trial->p, config, NULL, &plain_spills);
        is_compiled = true;
        registers = compile(trial, &fused, config, "EPILOGUE", &spills);
        g_test_message("%s '%s' %s: %d registers, %d spilled; %d registers, %d spilled without",
                       trial->solver->name, perf_config_format(config, text), fused.epilogue,
                       registers, spills, plain, plain_spills);
        if (is_default)
            g_assert_cmpint(spills, <=, plain > 0 ? 2 * plain_spills : 0);
    }
}

static void last_steps_do_not_spill(gconstpointer data)
{
    const struct cell *cell = data;
    g_autoptr(GError) error = NULL;
    struct trial trial = {0};
    bool whole = cell->type == TYPE_INT8;

    g_assert_true(target_parse("sm_90_132_80g", &trial.target, &error));
    context_init(&trial.context, &trial.target);
    trial.toolchain = toolchain_find("nvrtc");
    if (!trial.toolchain->can_compile(&trial.target, &error)) {
        g_test_skip(error->message);
        return;
    }
    for (gsize i = 0; i < G_N_ELEMENTS(solvers) * G_N_ELEMENTS(shapes); i++) {
        struct perf_config config;
        uint64_t state = i;
        trial.solver = solver_find(solvers[i / G_N_ELEMENTS(shapes)]);
        make_problem(cell, &shapes[i % G_N_ELEMENTS(shapes)], &trial.p);
        set_epilogue(cell, whole ? &whole_forms[1] : &forms[0], &trial.p);
        if (!solver_applicable(trial.solver, &trial.p, &trial.context, NULL))
            continue;
        trial.solver->default_config(&trial.p, &trial.context, &config);
        trial.p.epilogue[0] = '\0';
        for (int d = 0; d <= (test_is_long() ? DRAWS_LONG : 0); d++) {
            if (d > 0 &&
                !space_draw(trial.solver->space, &trial.p, &trial.context, &state, &config))
                break;
            check_config(&trial, cell, whole ? whole_forms : forms,
                         whole ? (int)G_N_ELEMENTS(whole_forms) : (int)G_N_ELEMENTS(forms), &config,
                         d == 0);
        }
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    for (gsize i = 0; i < G_N_ELEMENTS(cells); i++) {
        g_autofree char *path =
            g_strdup_printf("/matrix_fused_compile/last_steps_do_not_spill/%c_%s_%s_to_%s",
                            direction_letter(cells[i].direction), layout_name(cells[i].layout),
                            data_type_name(cells[i].type), data_type_name(cells[i].output));
        g_test_add_data_func(path, &cells[i], last_steps_do_not_spill);
    }
    return g_test_run();
}
