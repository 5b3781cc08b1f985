/* The kernels of ConvMfma and ConvWmma compile for all of AMD's architectures that have the
 * instructions, without register spills, and the code has as many matrix instructions as the tiles
 * need, with and without an epilogue. No kernel runs. */
#include <stdlib.h>
#include <string.h>

#include "kernels/objects/instructions.h"
#include "kernels/objects/limits.h"
#include "kernels/program.h"
#include "solvers/common/conv_common.h"
#include "solvers/framework/solver.h"
#include "solvers/matrix_amd/matrix_amd_shape.h"
#include "tests/support/kernels/conv_shapes.h"
#include "tests/support/test_effort.h"

/* configs drawn from a space in addition to the default */
#define DRAWS      1
#define DRAWS_LONG 40
/* Each epilogue is compiled on one of so many days. */
#define FUSED_DAYS 6

/* The instructions' names in a disassembly, for UNIT 16 and 32. */
static const struct {
    const char *target;
    enum data_type type; /* of operand a */
    const char *names[2];
} rows[] = {
    {"gfx90878", TYPE_FP32, {"v_mfma_f32_16x16x4f32", "v_mfma_f32_32x32x2f32"}},
    {"gfx90878", TYPE_FP16, {"v_mfma_f32_16x16x16f16", "v_mfma_f32_32x32x8f16"}},
    {"gfx90878", TYPE_BF16, {"v_mfma_f32_16x16x8bf16", "v_mfma_f32_32x32x4bf16"}},
    {"gfx90878", TYPE_INT8, {"v_mfma_i32_16x16x16i8", "v_mfma_i32_32x32x8i8"}},
    {"gfx90a68", TYPE_FP32, {"v_mfma_f32_16x16x4f32", "v_mfma_f32_32x32x2f32"}},
    {"gfx90a68", TYPE_FP16, {"v_mfma_f32_16x16x16f16", "v_mfma_f32_32x32x8f16"}},
    {"gfx90a68", TYPE_BF16, {"v_mfma_f32_16x16x16bf16_1k", "v_mfma_f32_32x32x8bf16_1k"}},
    {"gfx90a68", TYPE_INT8, {"v_mfma_i32_16x16x16i8", "v_mfma_i32_32x32x8i8"}},
    {"gfx942130", TYPE_FP32, {"v_mfma_f32_16x16x4_f32", "v_mfma_f32_32x32x2_f32"}},
    {"gfx942130", TYPE_FP32, {"v_mfma_f32_16x16x8_xf32", "v_mfma_f32_32x32x4_xf32"}},
    {"gfx942130", TYPE_FP16, {"v_mfma_f32_16x16x16_f16", "v_mfma_f32_32x32x8_f16"}},
    {"gfx942130", TYPE_BF16, {"v_mfma_f32_16x16x16_bf16", "v_mfma_f32_32x32x8_bf16"}},
    {"gfx942130", TYPE_INT8, {"v_mfma_i32_16x16x32_i8", "v_mfma_i32_32x32x16_i8"}},
    {"gfx942130", TYPE_FP8, {"v_mfma_f32_16x16x32_fp8_fp8", "v_mfma_f32_32x32x16_fp8_fp8"}},
    {"gfx942130", TYPE_BF8, {"v_mfma_f32_16x16x32_bf8_bf8", "v_mfma_f32_32x32x16_bf8_bf8"}},
    {"gfx942130", TYPE_FP8, {"v_mfma_f32_16x16x32_fp8_bf8", "v_mfma_f32_32x32x16_fp8_bf8"}},
    {"gfx942130", TYPE_BF8, {"v_mfma_f32_16x16x32_bf8_fp8", "v_mfma_f32_32x32x16_bf8_fp8"}},
    {"gfx1100_48", TYPE_FP16, {"v_wmma_f32_16x16x16_f16", NULL}},
    {"gfx1100_48", TYPE_BF16, {"v_wmma_f32_16x16x16_bf16", NULL}},
    {"gfx1100_48", TYPE_INT8, {"v_wmma_i32_16x16x16_iu8", NULL}},
    {"gfx1201_64", TYPE_FP16, {"v_wmma_f32_16x16x16_f16", NULL}},
    {"gfx1201_64", TYPE_BF16, {"v_wmma_f32_16x16x16_bf16", NULL}},
    {"gfx1201_64", TYPE_INT8, {"v_wmma_i32_16x16x16_iu8", NULL}},
    {"gfx1201_64", TYPE_FP8, {"v_wmma_f32_16x16x16_fp8_fp8", NULL}},
    {"gfx1201_64", TYPE_BF8, {"v_wmma_f32_16x16x16_bf8_bf8", NULL}},
    {"gfx1201_64", TYPE_FP8, {"v_wmma_f32_16x16x16_fp8_bf8", NULL}},
    {"gfx1201_64", TYPE_BF8, {"v_wmma_f32_16x16x16_bf8_fp8", NULL}},
};

/* The first shape is large enough for every block size, the second too small for most. */
static const struct conv_shape shapes[] = {{32, 256, 256, 1, 28, 28, 3, 3, 1, 1, 1},
                                           {2, 32, 64, 1, 9, 7, 3, 3, 1, 2, 1}};

struct trial {
    gsize row;
    const struct solver *solver;
    struct target target;
    struct context context;
    struct problem p;
};

/* The type of operand b, which ends the names of instructions of FP8 and BF8. */
static enum data_type second_type(gsize row)
{
    const char *name = rows[row].names[0];

    return g_str_has_suffix(name, "_fp8")   ? TYPE_FP8
           : g_str_has_suffix(name, "_bf8") ? TYPE_BF8
                                            : rows[row].type;
}

/* Operands of two types have a result in FP32. */
static void trial_init(struct trial *trial, gsize row, enum direction direction,
                       const struct conv_shape *shape)
{
    g_autoptr(GError) error = NULL;

    trial->row = row;
    trial->solver = solver_find(rows[row].names[1] ? "ConvMfma" : "ConvWmma");
    g_assert_true(target_parse(rows[row].target, &trial->target, &error));
    context_init(&trial->context, &trial->target);
    conv_shape_problem(shape, direction, LAYOUT_NHWC, &trial->p);
    for (int t = 0; t < TENSOR_COUNT; t++)
        trial->p.type[t] = rows[row].type;
    if (rows[row].type == TYPE_INT8)
        trial->p.type[TENSOR_Y] = TYPE_INT32;
    if (second_type(row) != rows[row].type) {
        trial->p.type[conv_second_input(&trial->p)] = second_type(row);
        trial->p.type[problem_output_role(&trial->p)] = TYPE_FP32;
    }
    if (strstr(rows[row].names[0], "xf32"))
        g_strlcpy(trial->p.mode, OP_MODE_TF32, sizeof trial->p.mode);
}

/* The count that the text of instructions_count() states for the instruction `name`. */
static int count_of(const char *counts, const char *name)
{
    g_auto(GStrv) words = g_strsplit(counts, ", ", -1);
    gsize length = strlen(name);

    for (char **word = words; *word; word++) {
        if (strncmp(*word, name, length) == 0 && (*word)[length] == ' ')
            return atoi(*word + length);
    }
    return 0;
}

static void check_code(const struct trial *trial, const struct perf_config *config,
                       const struct code_object *object)
{
    const int unit = config->values[MATRIX_AMD_UNIT];
    const char *name = rows[trial->row].names[unit == 16 ? 0 : 1];
    g_autofree char *excess =
        limits_excess(&trial->target, object->scratch_bytes, object->local_bytes);
    g_autofree char *counts = instructions_count(object->code, "conv_matrix_amd", &trial->target);
    struct matrix_amd_shape shape;

    g_assert_cmpint(object->spills, ==, 0);
    g_assert_null(excess);
    g_assert_true(matrix_amd_find_shape(&trial->p, &trial->target, config->values, &shape));
    g_assert_cmpint(object->local_bytes, ==, matrix_amd_local_bytes(&shape, config->values));
    if (!counts)
        g_test_message(
            "no disassembler for %s is on this machine: its instructions are not counted",
            trial->target.id);
    else
        g_assert_cmpint(count_of(counts, name), ==,
                        matrix_amd_instructions(&trial->p, &trial->target, config->values));
}

static void check_config(const struct trial *trial, const struct perf_config *config)
{
    g_autoptr(GError) error = NULL;
    const struct toolchain *toolchain = toolchain_for_target(&trial->target, NULL, &error);
    struct code_object object = {0};
    struct solution solution;
    struct program program;
    char text[CONFIG_TEXT_MAX];

    g_assert_true(toolchain != NULL);
    g_assert_true(
        solver_solve(trial->solver, &trial->p, &trial->context, config, &solution, &error));
    g_assert_no_error(error);
    program = (struct program){solution.launches[0].file, solution.launches[0].options,
                               solution.launches[0].entry, NULL};
    if (program_build(toolchain, &program, &trial->target, &object, &error))
        check_code(trial, config, &object);
    g_assert_no_error(error);
    if (g_test_failed())
        g_test_message("%s '%s': %d registers, %d spilled, %s", trial->solver->name,
                       perf_config_format(config, text), object.registers, object.spills,
                       object.log ? object.log : "");
    code_object_clear(&object);
}

/* Alternates by the day between defaults of large problems and drawn configs of small ones; the
 * long suite runs both. */
static int draws_of(gsize row, gsize shape)
{
    if (test_is_long())
        return DRAWS_LONG;
    return shape == 1 && row % 2 == 1 ? DRAWS : 0;
}

/* Gives the problem an epilogue; in INT8 also another output. */
static void set_epilogue(struct problem *p, int number)
{
    static const char *const texts[] = {"+bias+relu", "+bias+add(%s,NHWC)+relu",
                                        "+scale(channel)+bias+silu"};
    static const char *const whole[] = {"+bias+requant(INT8,channel)+relu",
                                        "+bias+scale(channel)+add(%s,NHWC)+relu", "+bias"};
    static const enum data_type outputs[] = {TYPE_INT8, TYPE_FP16, TYPE_INT32};
    bool is_whole = p->type[TENSOR_X] == TYPE_INT8;
    enum tensor_role output = problem_output_role(p);
    g_auto(GStrv) parts = g_strsplit(is_whole ? whole[number] : texts[number], "%s", -1);
    g_autofree char *text = NULL;

    if (is_whole)
        p->type[TENSOR_Y] = outputs[number];
    text = g_strjoinv(data_type_name(p->type[output]), parts);
    g_strlcpy(p->epilogue, text, sizeof(p->epilogue));
    g_assert_true(problem_validate(p, NULL));
}

/* The default with each epilogue; the long suite also compiles it for small problems. */
static void check_fused(gsize row, enum direction direction)
{
    for (gsize i = 0; i < (test_is_long() ? G_N_ELEMENTS(shapes) : 1); i++) {
        for (int number = 0; number < 3; number++) {
            struct perf_config config;
            struct trial trial;
            if (!test_is_turn((int)row + number, FUSED_DAYS))
                continue;
            trial_init(&trial, row, direction, &shapes[i]);
            set_epilogue(&trial.p, number);
            g_assert_true(solver_applicable(trial.solver, &trial.p, &trial.context, NULL));
            trial.solver->default_config(&trial.p, &trial.context, &config);
            check_config(&trial, &config);
        }
    }
}

static void check_direction(gsize row, enum direction direction)
{
    uint64_t state = row * 3 + direction;

    if (direction != DIRECTION_W)
        check_fused(row, direction);

    for (gsize i = 0; i < G_N_ELEMENTS(shapes); i++) {
        struct perf_config config;
        struct trial trial;
        trial_init(&trial, row, direction, &shapes[i]);
        trial.solver->default_config(&trial.p, &trial.context, &config);
        if (test_is_long() || (i == 0 && row % 2 == 0))
            check_config(&trial, &config);
        for (int d = 0; d < draws_of(row, i); d++) {
            g_assert_true(
                space_draw(trial.solver->space, &trial.p, &trial.context, &state, &config));
            check_config(&trial, &config);
        }
    }
}

/* Directions alternate by the day; the long suite runs all. */
static void compiles_without_spills_to_its_instructions(gconstpointer data)
{
    gsize row = (gsize)GPOINTER_TO_SIZE(data);
    g_autoptr(GError) error = NULL;
    struct target target;
    const struct toolchain *toolchain;

    g_assert_true(target_parse(rows[row].target, &target, &error));
    toolchain = toolchain_for_target(&target, NULL, &error);
    if (!toolchain) {
        g_test_skip(error->message);
        return;
    }
    for (int d = 0; d < DIRECTION_COUNT; d++) {
        bool is_int8 = rows[row].type == TYPE_INT8; /* served in F alone */
        bool is_served = !is_int8 || d == DIRECTION_F;
        bool is_turn = test_is_long() || is_int8 || test_is_turn((int)row + d, DIRECTION_COUNT);
        if (is_served && is_turn)
            check_direction(row, (enum direction)d);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    for (gsize row = 0; row < G_N_ELEMENTS(rows); row++) {
        g_autofree char *path =
            g_strdup_printf("/matrix_amd_compile/compiles_without_spills_to_its_instructions/%s_%s",
                            rows[row].target, rows[row].names[0]);
        g_test_add_data_func(path, GSIZE_TO_POINTER(row),
                             compiles_without_spills_to_its_instructions);
    }
    return g_test_run();
}
