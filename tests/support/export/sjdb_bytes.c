#include "tests/support/export/sjdb_bytes.h"

#include "export/sjdb/reader/layout.h"
#include "export/sjdb/sjdb_write.h"
#include "tests/support/temp_folder.h"

#include <string.h>

static void add_problems(SjdbWriter *writer)
{
    static const char *const keys[] = {
        "64-56-56-3x3-64-56-56-16-1x1-1x1-1x1-0-NCHW-FP32-F",
        "64-56-56-3x3-64-56-56-32-1x1-1x1-1x1-0-NCHW-FP32-F",
        "64-56-56-3x3-64-56-56-16-1x1-1x1-1x1-0-NCHW-FP32-B",
        "64-56-56-3x3-64-56-56-16-1x1-1x1-1x1-0-NCHW-FP16-W",
        "32-14-14-1x1-16-14-14-8-0x0-1x1-1x1-0-NHWC-NHWC-NHWC-FP16-F",
        "32-14-14-1x1-16-14-14-8-0x0-1x1-1x1-0-NCHW-INT8INT8INT32-F_g2",
        "32-14-14-1x1-16-14-14-8-0x0-1x1-1x1-0-NCHW-FP32-F+bias+relu",
        "4-8-8-8-3x3x3-4-8-8-8-2-1x1x1-1x1x1-1x1x1-0-NCDHW-FP32-W",
        "4-8-8-8-3x3x3-4-8-8-9-2-1x1x1-1x1x1-1x1x1-0-NCDHW-FP32-W",
        "3-224-224-7x7-64-112-112-1-3x3-2x2-1x1-0-NCHW-FP32-F_ciFP8",
        /* one form alone: with few texts, every number of a text that has all its bits set is too large */
        "pool(average)-4-9-9-2x2-4-5-5-3-0x0-2x2-1x1-0-NCHW-FP32-F_sx400x81x0x9x1+relu",
        "pool(average)-4-9-9-2x2-4-5-5-4-0x0-2x2-1x1-0-NCHW-FP32-F_sx400x81x0x9x1+relu",
    };
    static const struct sjdb_find_entry entries[] = {
        {"ConvA", "miopenConvolutionFwdAlgoDirect", NULL, 0.05, 0, 0.049, 0.0515},
        {"GemmB", "miopenConvolutionFwdAlgoGEMM", "MIOpenGEMM", 12.25, 4096, 0, 0},
        {"ConvC<2>", "other", NULL, 1.0 / 3, 65536, 0.3333, 0.5},
        {"GemmB", "miopenConvolutionFwdAlgoGEMM", NULL, 100, 8192, 0, 0},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(keys); i++) {
        struct problem problem;
        g_assert_true(problem_key_parse(keys[i], &problem, NULL));
        g_assert_true(sjdb_writer_add_find(writer, &problem, entries + i % 3, 1 + i % 2, NULL));
    }
}

static void add_rows(SjdbWriter *writer)
{
    static const char *const params[] = {"8,16", "8,32", "4"};
    for (gsize i = 0; i < G_N_ELEMENTS(params); i++) {
        struct problem problem;
        struct perf_row row;
        problem_init(&problem);
        problem.c = problem.k = 16 + (int64_t)i / 2;
        perf_row_from_problem(&problem, &row);
        g_assert_true(
            sjdb_writer_add_perf(writer, &row, i % 2 == 0 ? "ConvA" : "ConvD", params[i], NULL));
    }
}

static void add_kernels(SjdbWriter *writer)
{
    static const char *const args[] = {"-DA=1 -mcpu=gfx90a", "-DA=2 -mcpu=gfx90a", ""};
    for (gsize i = 0; i < G_N_ELEMENTS(args); i++) {
        g_autoptr(GBytes) code = g_bytes_new_static("code object 1\nand more of it", 14 + 7 * i);
        g_assert_true(sjdb_writer_add_kernel(writer, "conv.cl.o", args[i], code, NULL));
    }
}

/* Solutions of two launches with an argument of each kind, for two problems; one of these has no
 * find entries. */
static void add_solutions(SjdbWriter *writer)
{
    static const char *const keys[] = {
        "64-56-56-3x3-64-56-56-16-1x1-1x1-1x1-0-NCHW-FP32-F",
        "3-56-56-3x3-64-56-56-16-1x1-1x1-1x1-0-NCHW-FP32-F+bias+relu"};
    static const struct sjdb_kernel_name kernels[] = {
        {"conv.cl.o", "-DA=1 -mcpu=gfx90a"}, {"conv.cl.o", ""}, {"conv.cl.o", ""}};
    for (gsize i = 0; i < G_N_ELEMENTS(keys); i++) {
        struct problem problem;
        struct solution solution;
        g_assert_true(problem_key_parse(keys[i], &problem, NULL));
        solution_init(&solution);
        solution.workspace_bytes = 65536;
        if (problem.epilogue[0] != '\0') {
            struct launch *pack = solution_add_launch(&solution, "conv.cl", "other");
            launch_set_grid(pack, (const int64_t[]){64, 1, 1}, (const int[]){64, 1, 1});
            launch_arg_tensor(pack, TENSOR_W);
            launch_arg_tensor(pack, TENSOR_PACKED);
            solution.pack_count = 1;
            solution.packed_bytes = 1024;
        }
        for (gsize k = 0; k < 2; k++) {
            struct launch *launch = solution_add_launch(&solution, "conv.cl", "other");
            launch_set_grid(launch, (const int64_t[]){problem.c * 3000, 2, 1},
                            (const int[]){64, 1, 1});
            launch_arg_tensor(launch, TENSOR_Y);
            launch_arg_workspace(launch, 512 * k);
            launch_arg_int32(launch, problem.c);
            launch_arg_int64(launch, -problem.k);
            launch_arg_float32(launch, 0.5);
            launch_arg_stride(launch, TENSOR_X, 1);
            if (problem.epilogue[0] != '\0') {
                launch_arg_tensor(launch, TENSOR_PACKED);
                launch_arg_tensor(launch, TENSOR_BIAS);
            }
        }
        g_assert_true(sjdb_writer_add_solution(writer, &problem, "ConvA", i == 0 ? "8,16" : "",
                                               &solution, kernels, NULL));
    }
}

/* Adds the configs of three solutions that were never measured: two of one solver for a plain problem, one for a
 * problem with an epilogue. */
static void add_unmeasured(SjdbWriter *writer)
{
    static const struct {
        const char *key, *solver, *params;
    } cases[] = {
        {"5-56-56-3x3-64-56-56-16-1x1-1x1-1x1-0-NCHW-FP32-F", "ConvE", ""},
        {"5-56-56-3x3-64-56-56-16-1x1-1x1-1x1-0-NCHW-FP32-F", "ConvA", "8,16"},
        {"5-56-56-3x3-64-56-56-16-1x1-1x1-1x1-0-NCHW-FP32-F", "ConvA", "8,32"},
        {"5-56-56-3x3-64-56-56-16-1x1-1x1-1x1-0-NCHW-FP32-F+bias+relu", "ConvA", "4"},
    };
    static const struct sjdb_kernel_name kernel = {"conv.cl.o", "-DA=2 -mcpu=gfx90a"};
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        struct problem problem;
        struct solution solution;
        g_assert_true(problem_key_parse(cases[i].key, &problem, NULL));
        solution_init(&solution);
        solution.workspace_bytes = 512 * i;
        struct launch *launch = solution_add_launch(&solution, "conv.cl", "other");
        launch_set_grid(launch, (const int64_t[]){256, 1, 1}, (const int[]){64, 1, 1});
        launch_arg_tensor(launch, TENSOR_Y);
        launch_arg_int32(launch, (int)i);
        g_assert_true(sjdb_writer_add_unmeasured(writer, &problem, cases[i].solver, cases[i].params,
                                                 &solution, &kernel, NULL));
    }
}

GByteArray *sjdb_bytes_make(void)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    const char *path = temp_folder_path(folder, "a.sjdb");
    g_autoptr(SjdbWriter) writer = sjdb_writer_new(path);
    sjdb_writer_set_meta(writer, "{}");
    sjdb_writer_set_solver(writer, "ConvA", 2, sjdb_known_flags(true, true));
    sjdb_writer_set_solver(writer, "ConvE", 1, sjdb_known_flags(false, false));
    add_problems(writer);
    add_rows(writer);
    add_kernels(writer);
    add_solutions(writer);
    add_unmeasured(writer);
    g_assert_true(sjdb_writer_finish(writer, NULL));
    return g_bytes_unref_to_array(temp_folder_read(path));
}

static uint64_t get_number(const guint8 *at, gsize size)
{
    uint64_t little = 0;
    memcpy(&little, at, size);
    return GUINT64_FROM_LE(little);
}

guint sjdb_bytes_sections(const guint8 *bytes)
{
    return (guint)get_number(bytes + 12, 4);
}

void sjdb_bytes_section(guint8 *bytes, guint index, struct sjdb_place *place)
{
    place->row = bytes + SJDB_HEADER_BYTES + (gsize)index * SJDB_SECTION_BYTES;
    place->kind = (uint32_t)get_number(place->row, 4);
    place->width = (uint32_t)get_number(place->row + 4, 4);
    place->offset = get_number(place->row + 8, 8);
    place->count = get_number(place->row + 16, 8);
    place->length = get_number(place->row + 24, 8);
}

void sjdb_bytes_find(GByteArray *bytes, uint32_t kind, struct sjdb_place *place)
{
    for (guint i = 0; i < sjdb_bytes_sections(bytes->data); i++) {
        sjdb_bytes_section(bytes->data, i, place);
        if (place->kind == kind) {
            return;
        }
    }
    g_assert_not_reached();
}

static void put_number(guint8 *at, uint64_t value)
{
    uint64_t little = GUINT64_TO_LE(value);
    memcpy(at, &little, sizeof little);
}

void sjdb_bytes_seal(guint8 *bytes, gsize length)
{
    if (length < SJDB_HEADER_BYTES) {
        return;
    }
    gsize sections =
        MIN(sjdb_bytes_sections(bytes), (length - SJDB_HEADER_BYTES) / SJDB_SECTION_BYTES);
    for (guint i = 0; i < sections; i++) {
        struct sjdb_place place;
        sjdb_bytes_section(bytes, i, &place);
        if (place.offset <= length && place.length <= length - place.offset) {
            put_number(place.row + 32,
                       sjdb_checksum(bytes + place.offset, place.length, SJDB_CHECK_SEED));
        }
    }
    put_number(bytes + 16, length);
    uint64_t checksum = sjdb_checksum(bytes, 24, SJDB_CHECK_SEED);
    put_number(bytes + 24,
               sjdb_checksum(bytes + SJDB_HEADER_BYTES, sections * SJDB_SECTION_BYTES, checksum));
}

static void ask_operands(const struct skipjackdb_problem *problem)
{
    struct skipjackdb_operand operand = {.size = sizeof operand};
    struct skipjackdb_problem twin = {.size = sizeof twin};
    struct skipjackdb_step step = {.size = sizeof step};
    for (int32_t tensor = 0; tensor < SKIPJACKDB_TENSOR_PACKED; tensor++) {
        skipjackdb_operand_at(problem, tensor, &operand);
    }
    for (uint32_t i = 0; skipjackdb_step_at(problem, i, &step) == SKIPJACKDB_OK; i++) {
        g_assert_cmpint(step.op, >, 0);
    }
    skipjackdb_packed_twin(problem, &twin);
}

static void ask_problem(const skipjackdb *db, uint64_t number)
{
    struct skipjackdb_problem problem = {.size = sizeof problem};
    struct skipjackdb_entry entries[4];
    char key[SKIPJACKDB_KEY_MAX];
    size_t count = 0;
    uint64_t found = 0;
    if (skipjackdb_problem_at(db, number, &problem) == SKIPJACKDB_OK) {
        skipjackdb_find(db, &problem, &found);
        skipjackdb_problem_key(&problem, key, sizeof key);
        ask_operands(&problem);
    }
    skipjackdb_best(db, number, NULL, entries, sizeof entries[0]);
    if (skipjackdb_entries(db, number, entries, sizeof entries[0], G_N_ELEMENTS(entries), &count) ==
        SKIPJACKDB_OK) {
        for (gsize i = 0; i < MIN(count, G_N_ELEMENTS(entries)); i++) {
            g_assert_cmpuint(strlen(entries[i].solver) + strlen(entries[i].library), <, 1 << 20);
        }
    }
}

static int refuse_most(void *user, const struct skipjackdb_problem *problem,
                       struct skipjackdb_candidate *candidate)
{
    int *calls = user;
    (void)problem;
    return strlen(candidate->solver) < 1 << 20 && ++*calls % 4 == 0 ? SKIPJACKDB_UNSURE
                                                                    : SKIPJACKDB_NO;
}

static double estimate(void *user, const struct skipjackdb_problem *problem, const char *solver)
{
    (void)user;
    (void)problem;
    return (double)strlen(solver);
}

/* Asks for a choice, for a problem near the one with this number (or near whatever a damaged file
 * gives for it). */
static void ask_choice(skipjackdb *db, uint64_t number)
{
    struct skipjackdb_problem problem = {.size = sizeof problem};
    struct skipjackdb_choice choice = {.size = sizeof choice}, later = {.size = sizeof later};
    skipjackdb *dbs[] = {db, db};
    int calls = 0;
    struct skipjackdb_rules rules = {.size = sizeof rules,
                                     .workspace_bytes = UINT64_MAX >> number % 64,
                                     .mode = (int32_t)(number % 3),
                                     .applicable = refuse_most,
                                     .estimate = estimate,
                                     .user = &calls,
                                     .unmeasured = (int32_t)(number % 2)};
    if (skipjackdb_problem_at(db, number, &problem) == SKIPJACKDB_OK) {
        problem.n += (int64_t)(number % 2);
        int code = skipjackdb_choose(dbs, 2, &problem, &rules, &choice, &later);
        g_assert_true(code == SKIPJACKDB_OK || code == SKIPJACKDB_NOT_FOUND ||
                      code == SKIPJACKDB_DAMAGED);
        g_assert_true((code == SKIPJACKDB_OK) == (choice.solver != NULL));
    }
}

static void ask_row(const skipjackdb *db, uint64_t number)
{
    struct skipjackdb_problem problem = {.size = sizeof problem};
    struct skipjackdb_perf_entry entries[4];
    const char *params = NULL;
    size_t count = 0;
    if (skipjackdb_perf_at(db, number, &problem) == SKIPJACKDB_OK) {
        skipjackdb_params(db, &problem, "ConvA", &params);
    }
    skipjackdb_perf_entries(db, number, entries, sizeof entries[0], G_N_ELEMENTS(entries), &count);
}

static void ask_launch(const skipjackdb *db, const struct skipjackdb_problem *problem,
                       const struct skipjackdb_solution *solution, uint32_t index)
{
    struct skipjackdb_launch launch = {.size = sizeof launch};
    struct skipjackdb_arg args[10];
    if (skipjackdb_launch_at(db, solution, index, &launch) == SKIPJACKDB_OK) {
        g_assert_cmpint(launch.grid[0] % launch.block[0], ==, 0);
        g_assert_cmpuint(launch.kernel, <, skipjackdb_kernel_count(db));
        g_assert_cmpuint(strlen(launch.entry), <, 1 << 20);
        skipjackdb_args(db, &launch, problem, args, sizeof args[0], G_N_ELEMENTS(args));
    }
}

static void ask_solution(const skipjackdb *db, uint64_t number)
{
    struct skipjackdb_problem problem = {.size = sizeof problem};
    struct skipjackdb_solution solutions[4];
    size_t count = 0;
    uint64_t found = 0;
    if (skipjackdb_solved_at(db, number, &problem) == SKIPJACKDB_OK) {
        skipjackdb_solved_find(db, &problem, &found);
        skipjackdb_solved_other(db, &problem, &found);
        skipjackdb_solution(db, &problem, "ConvA", solutions, sizeof solutions[0]);
    }
    if (skipjackdb_solutions(db, number, solutions, sizeof solutions[0], G_N_ELEMENTS(solutions),
                             &count) == SKIPJACKDB_OK) {
        for (gsize i = 0; i < MIN(count, G_N_ELEMENTS(solutions)); i++) {
            g_assert_cmpuint(strlen(solutions[i].solver) + strlen(solutions[i].params), <, 1 << 20);
            for (uint32_t l = 0; l < solutions[i].launch_count; l++) {
                ask_launch(db, &problem, &solutions[i], l);
            }
        }
    }
}

static void ask_unmeasured(skipjackdb *db, uint64_t number)
{
    struct skipjackdb_problem problem = {.size = sizeof problem};
    struct skipjackdb_solution solutions[4];
    struct skipjackdb_choice choice = {.size = sizeof choice};
    struct skipjackdb_rules rules = {
        .size = sizeof rules, .workspace_bytes = UINT64_MAX, .unmeasured = 1};
    size_t count = 0;
    uint64_t found = 0;
    if (skipjackdb_unmeasured_at(db, number, &problem) == SKIPJACKDB_OK) {
        skipjackdb_unmeasured_find(db, &problem, &found);
        skipjackdb_unmeasured_solution(db, &problem, "ConvA", "8,32", solutions,
                                       sizeof solutions[0]);
        int code = skipjackdb_choose(&db, 1, &problem, &rules, &choice, NULL);
        g_assert_true((code == SKIPJACKDB_OK) == (choice.solver != NULL));
    }
    if (skipjackdb_unmeasured_solutions(db, number, solutions, sizeof solutions[0],
                                        G_N_ELEMENTS(solutions), &count) == SKIPJACKDB_OK) {
        for (gsize i = 0; i < MIN(count, G_N_ELEMENTS(solutions)); i++) {
            g_assert_cmpuint(strlen(solutions[i].solver) + strlen(solutions[i].params), <, 1 << 20);
            for (uint32_t l = 0; l < solutions[i].launch_count; l++) {
                ask_launch(db, &problem, &solutions[i], l);
            }
        }
    }
}

static void ask_kernel(const skipjackdb *db, uint64_t number)
{
    struct skipjackdb_kernel kernel = {.size = sizeof kernel};
    char text[64], code[64], again[64];
    size_t bytes = 0;
    if (skipjackdb_kernel_at(db, number, &kernel) == SKIPJACKDB_OK &&
        skipjackdb_kernel_read(db, number, text, sizeof text, code, sizeof code) == SKIPJACKDB_OK) {
        skipjackdb_kernel(db, text, text + strlen(text) + 1, again, sizeof again, &bytes);
    }
}

bool sjdb_bytes_ask(const guint8 *bytes, gsize length, int *opened, int *verified)
{
    skipjackdb *db = NULL;
    struct skipjackdb_section section = {.size = sizeof section};
    *opened = skipjackdb_open_bytes(bytes, length, &db);
    if (*opened != SKIPJACKDB_OK) {
        g_assert_null(db);
        return false;
    }
    *verified = skipjackdb_verify(db);
    for (uint64_t i = 0; i < MIN(skipjackdb_problem_count(db), 64); i++) {
        ask_problem(db, i);
        ask_choice(db, i);
    }
    for (uint64_t i = 0; i < MIN(skipjackdb_perf_count(db), 64); i++) {
        ask_row(db, i);
    }
    for (uint64_t i = 0; i < MIN(skipjackdb_solved_count(db), 64); i++) {
        ask_solution(db, i);
    }
    uint64_t unmeasured = skipjackdb_unmeasured(db, sizeof(struct skipjackdb_problem));
    for (uint64_t i = 0; i < MIN(unmeasured, 64); i++) {
        ask_unmeasured(db, i);
    }
    for (uint64_t i = 0; i < MIN(skipjackdb_kernel_count(db), 64); i++) {
        ask_kernel(db, i);
    }
    for (gsize i = 0; skipjackdb_section_at(db, i, &section) == SKIPJACKDB_OK; i++) {
        g_assert_nonnull(section.name);
    }
    g_assert_cmpuint(strlen(skipjackdb_meta(db)), <=, length);
    skipjackdb_close(db);
    return true;
}
