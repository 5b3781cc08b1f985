/* Problems that MIOpen's keys cannot name (operators, strides, epilogues) and solutions with all
 * operands in a .sjdb: written and read back, asked by programs compiled before they existed, and
 * chosen. */
#include "export/sjdb/reader/layout.h"
#include "export/sjdb/sjdb_write.h"
#include "solvers/problem/epilogue.h"
#include "tests/support/export/sjdb_bytes.h"
#include "tests/support/export/sjdb_small.h"
#include "tests/support/random_problem.h"
#include "tests/support/temp_folder.h"
#include "tests/support/test_effort.h"

#include <string.h>

/* The sizes of structs before 1.2. */
#define OLD_PROBLEM  offsetof(struct skipjackdb_problem, kind)
#define OLD_SOLUTION offsetof(struct skipjackdb_solution, packed_bytes)

#define PLAIN   SJDB_SMALL_KEY
#define FUSED   SJDB_SMALL_KEY "+bias+add(FP32,NCHW)+relu"
#define STRIDED SJDB_SMALL_KEY "_sx300000x3136x0x56x1"
#define POOL    "pool(max)-64-56-56-3x3-64-56-56-16-1x1-1x1-1x1-0-NCHW-FP32-F"

static struct skipjackdb_problem asked_for(const char *key)
{
    struct skipjackdb_problem problem = {.size = sizeof problem};
    g_assert_cmpint(skipjackdb_problem_parse(key, &problem), ==, SKIPJACKDB_OK);
    return problem;
}

static void add_entry(SjdbWriter *writer, const char *key, const char *solver, double time_ms)
{
    const struct sjdb_find_entry entry = {solver, "algorithm", NULL, time_ms, 0, 0, 0};
    struct problem problem;
    g_assert_true(problem_key_parse(key, &problem, NULL));
    g_assert_true(problem_validate(&problem, NULL));
    g_assert_true(sjdb_writer_add_find(writer, &problem, &entry, 1, NULL));
}

/* ---- problems ---- */

static void problems_of_every_form_read_back(void)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    g_autoptr(GRand) random = g_rand_new_with_seed(2);
    g_autoptr(GHashTable) keys = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    const char *path = temp_folder_path(folder, "a.sjdb");
    g_autoptr(SjdbWriter) writer = sjdb_writer_new(path);
    struct random_limits limits;
    random_limits_wide(&limits);
    for (int i = 0; i < test_effort(2000); i++) {
        struct problem problem;
        char key[PROBLEM_KEY_MAX];
        random_problem(random, &limits, &problem);
        if (g_hash_table_add(keys, g_strdup(problem_key(&problem, key)))) {
            add_entry(writer, key, "A", 1 + i);
        }
    }
    skipjackdb *db = sjdb_small_finish(writer, path);
    g_assert_cmpuint(skipjackdb_problem_count(db), ==, g_hash_table_size(keys));
    for (uint64_t i = 0; i < skipjackdb_problem_count(db); i++) {
        struct skipjackdb_problem problem = {.size = sizeof problem};
        char key[SKIPJACKDB_KEY_MAX];
        uint64_t number = 0;
        g_assert_cmpint(skipjackdb_problem_at(db, i, &problem), ==, SKIPJACKDB_OK);
        g_assert_cmpint(skipjackdb_problem_key(&problem, key, sizeof key), ==, SKIPJACKDB_OK);
        g_assert_true(g_hash_table_contains(keys, key));
        g_assert_cmpint(skipjackdb_find_key(db, key, &number), ==, SKIPJACKDB_OK);
        g_assert_cmpuint(number, ==, i);
    }
    skipjackdb_close(db);
}

static void operands_are_those_of_the_program(void)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(4);
    struct random_limits limits;
    random_limits_wide(&limits);
    for (int i = 0; i < test_effort(5000); i++) {
        struct problem problem;
        char key[PROBLEM_KEY_MAX];
        random_problem(random, &limits, &problem);
        struct skipjackdb_problem read = asked_for(problem_key(&problem, key));
        for (int role = 0; role < TENSOR_PACKED; role++) {
            struct skipjackdb_operand operand = {.size = sizeof operand};
            int64_t strides[5], sizes[5];
            bool has = problem_has_operand(&problem, (enum tensor_role)role);
            g_assert_cmpint(skipjackdb_operand_at(&read, role, &operand), ==,
                            has ? SKIPJACKDB_OK : SKIPJACKDB_NOT_FOUND);
            if (!has) {
                continue;
            }
            problem_strides(&problem, (enum tensor_role)role, strides);
            problem_operand_sizes(&problem, (enum tensor_role)role, sizes);
            g_assert_cmpint(operand.type, ==,
                            problem_operand_type(&problem, (enum tensor_role)role));
            g_assert_cmpint(operand.layout, ==,
                            problem_operand_layout(&problem, (enum tensor_role)role));
            g_assert_cmpmem(operand.sizes, sizeof sizes, sizes, sizeof sizes);
            g_assert_cmpmem(operand.strides, sizeof strides, strides, sizeof strides);
            g_assert_cmpuint(operand.elements, ==,
                             problem_tensor_span(&problem, (enum tensor_role)role));
        }
    }
}

static void steps_are_those_of_the_program(void)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(6);
    struct random_limits limits;
    random_limits_wide(&limits);
    for (int i = 0; i < test_effort(5000); i++) {
        struct problem problem;
        struct epilogue epilogue;
        char key[PROBLEM_KEY_MAX];
        struct skipjackdb_step step = {.size = sizeof step};
        random_problem(random, &limits, &problem);
        struct skipjackdb_problem read = asked_for(problem_key(&problem, key));
        g_assert_true(epilogue_parse(problem.epilogue, &epilogue, NULL));
        for (int s = 0; s < epilogue.count; s++) {
            const struct epilogue_step *meant = &epilogue.steps[s];
            g_assert_cmpint(skipjackdb_step_at(&read, (uint32_t)s, &step), ==, SKIPJACKDB_OK);
            g_assert_cmpint(step.op, ==, meant->op);
            g_assert_cmpint(step.type, ==, meant->type);
            g_assert_cmpint(step.layout, ==, meant->layout);
            g_assert_cmpint(step.per_channel, ==, meant->per_channel);
            g_assert_cmpfloat_with_epsilon(step.a, meant->a, ABS(meant->a) * 1e-15 + 1e-30);
            g_assert_cmpfloat_with_epsilon(step.b, meant->b, ABS(meant->b) * 1e-15 + 1e-30);
        }
        g_assert_cmpint(skipjackdb_step_at(&read, (uint32_t)epilogue.count, &step), ==,
                        SKIPJACKDB_NOT_FOUND);
    }
}

static void wrong_steps_are_refused(void)
{
    static const char *const texts[] = {"+",           "+bia",           "+clip(0)",
                                        "+clip(0,6",   "+leaky(x)",      "+add(FP99,NCHW)",
                                        "+add(FP16,)", "+scale(row)",    "+leaky(1e)",
                                        "+leaky(.)",   "+leaky(1e9999)", "+relu(1)"};
    for (gsize i = 0; i < G_N_ELEMENTS(texts); i++) {
        struct skipjackdb_problem problem = asked_for(PLAIN);
        struct skipjackdb_step step = {.size = sizeof step};
        g_strlcpy(problem.epilogue, texts[i], sizeof problem.epilogue);
        int code = SKIPJACKDB_OK;
        for (uint32_t s = 0; code == SKIPJACKDB_OK; s++) {
            code = skipjackdb_step_at(&problem, s, &step);
        }
        g_assert_cmpint(code, ==, SKIPJACKDB_SYNTAX);
    }
}

/* ---- programs compiled before these forms existed ---- */

static skipjackdb *mixed_db(TempFolder *folder)
{
    const char *path = temp_folder_path(folder, "mixed.sjdb");
    g_autoptr(SjdbWriter) writer = sjdb_writer_new(path);
    add_entry(writer, PLAIN, "Plain", 1);
    add_entry(writer, FUSED, "Fused", 2);
    add_entry(writer, STRIDED, "Strided", 3);
    add_entry(writer, POOL, "Pool", 4);
    return sjdb_small_finish(writer, path);
}

static void an_older_program_goes_on(void)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    skipjackdb *db = mixed_db(folder);
    struct {
        struct skipjackdb_problem problem;
        guint8 behind;
    } old;
    struct skipjackdb_choice choice = {.size = sizeof choice};
    uint64_t number = 0;
    memset(&old, 0xa5, sizeof old);
    old.problem.size = OLD_PROBLEM;
    g_assert_cmpuint((skipjackdb_problem_count)(db), ==, 1);
    g_assert_cmpuint(skipjackdb_problems(db, OLD_PROBLEM), ==, 1);
    g_assert_cmpuint(skipjackdb_problem_count(db), ==, 4);
    g_assert_cmpint(skipjackdb_problem_at(db, 0, &old.problem), ==, SKIPJACKDB_OK);
    g_assert_cmpint(skipjackdb_find(db, &old.problem, &number), ==, SKIPJACKDB_OK);
    g_assert_cmpuint(number, ==, 0);
    g_assert_cmpint(skipjackdb_choose(&db, 1, &old.problem, NULL, &choice, NULL), ==,
                    SKIPJACKDB_OK);
    g_assert_cmpstr(choice.solver, ==, "Plain");
    /* It knows epilogues, and neither strides nor operators. */
    g_assert_cmpint(skipjackdb_problem_parse(FUSED, &old.problem), ==, SKIPJACKDB_OK);
    g_assert_cmpint(skipjackdb_find(db, &old.problem, &number), ==, SKIPJACKDB_OK);
    g_assert_cmpint(skipjackdb_problem_parse(STRIDED, &old.problem), ==, SKIPJACKDB_SYNTAX);
    g_assert_cmpint(skipjackdb_problem_parse(POOL, &old.problem), ==, SKIPJACKDB_SYNTAX);
    int spaces = 0;
    for (uint64_t i = 0; i < 4; i++) {
        int code = skipjackdb_problem_at(db, i, &old.problem);
        g_assert_true(code == SKIPJACKDB_OK || code == SKIPJACKDB_SPACE);
        spaces += code == SKIPJACKDB_SPACE;
    }
    g_assert_cmpint(spaces, ==, 2);
    /* The reader writes nothing behind the struct that the program knows. */
    for (gsize i = OLD_PROBLEM; i < sizeof old.problem; i++) {
        g_assert_cmphex(((guint8 *)&old.problem)[i], ==, 0xa5);
    }
    old.problem.size = OLD_PROBLEM - 1;
    g_assert_cmpint(skipjackdb_find(db, &old.problem, &number), ==, SKIPJACKDB_USAGE);
    skipjackdb_close(db);
}

static void a_file_without_such_problems_has_no_section_of_them(void)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    const char *path = temp_folder_path(folder, "a.sjdb");
    g_autoptr(SjdbWriter) writer = sjdb_writer_new(path);
    struct skipjackdb_section section = {.size = sizeof section};
    struct solution solution;
    struct problem problem;
    struct skipjackdb_problem read;
    add_entry(writer, PLAIN, "Plain", 1);
    sjdb_small_parse(PLAIN, &problem, &read);
    sjdb_small_solution(&solution);
    sjdb_small_add_kernel(writer);
    g_assert_true(sjdb_writer_add_solution(writer, &problem, "Plain", "", &solution,
                                           &sjdb_small_kernel, NULL));
    skipjackdb *db = sjdb_small_finish(writer, path);
    for (size_t i = 0; skipjackdb_section_at(db, i, &section) == SKIPJACKDB_OK; i++) {
        g_assert_true(section.kind <= SJDB_FORMS ||
                      (section.kind >= SJDB_FIND && section.kind < SJDB_OTHER_FIND));
    }
    skipjackdb_close(db);
}

/* Files of 1.1 have problems with epilogues among the others. */
static void epilogues_of_an_older_file_are_found(void)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    const char *path = temp_folder_path(folder, "a.sjdb");
    g_autoptr(SjdbWriter) writer = sjdb_writer_new(path);
    add_entry(writer, FUSED, "Fused", 2);
    skipjackdb_close(sjdb_small_finish(writer, path));
    g_autoptr(GByteArray) bytes = g_bytes_unref_to_array(temp_folder_read(path));
    for (guint i = 0; i < sjdb_bytes_sections(bytes->data); i++) {
        struct sjdb_place place;
        sjdb_bytes_section(bytes->data, i, &place);
        if (place.kind >= SJDB_OTHER_FIND) {
            guint32 kind = GUINT32_TO_LE(place.kind - SJDB_OTHER_FIND + SJDB_FIND);
            memcpy(place.row, &kind, sizeof kind);
        }
    }
    sjdb_bytes_seal(bytes->data, bytes->len);
    skipjackdb *db = NULL;
    uint64_t number = 1;
    g_assert_cmpint(skipjackdb_open_bytes(bytes->data, bytes->len, &db), ==, SKIPJACKDB_OK);
    g_assert_cmpint(skipjackdb_verify(db), ==, SKIPJACKDB_OK);
    g_assert_cmpint(skipjackdb_find_key(db, FUSED, &number), ==, SKIPJACKDB_OK);
    g_assert_cmpuint(number, ==, 0);
    g_assert_cmpint(skipjackdb_find_key(db, PLAIN, &number), ==, SKIPJACKDB_NOT_FOUND);
    skipjackdb_close(db);
}

/* ---- solutions ---- */

/* The operands of the launch behind the one that packs. */
static const enum tensor_role run_roles[] = {TENSOR_X,        TENSOR_PACKED, TENSOR_Y,
                                             TENSOR_RESIDUAL, TENSOR_BIAS,   TENSOR_SCALES};

/* A launch that packs the filter, and one with all other operands. */
static void packing_solution(struct solution *solution)
{
    solution_init(solution);
    solution->pack_count = 1;
    solution->packed_bytes = 12345;
    struct launch *pack = solution_add_launch(solution, "conv.cl", "pack");
    launch_set_grid(pack, (const int64_t[]){64, 1, 1}, (const int[]){64, 1, 1});
    launch_arg_tensor(pack, TENSOR_W);
    launch_arg_tensor(pack, TENSOR_PACKED);
    struct launch *run = solution_add_launch(solution, "conv.cl", "run");
    launch_set_grid(run, (const int64_t[]){640, 1, 1}, (const int[]){64, 1, 1});
    for (gsize i = 0; i < G_N_ELEMENTS(run_roles); i++) {
        launch_arg_tensor(run, run_roles[i]);
    }
    launch_arg_stride(run, TENSOR_RESIDUAL, 1);
    launch_arg_stride(run, TENSOR_X, 0);
}

static void add_packing(SjdbWriter *writer, const char *key, const char *solver)
{
    const struct sjdb_kernel_name kernels[] = {sjdb_small_kernel, sjdb_small_kernel};
    g_autoptr(GError) error = NULL;
    struct solution solution;
    struct problem problem;
    struct skipjackdb_problem read;
    sjdb_small_parse(key, &problem, &read);
    packing_solution(&solution);
    g_assert_true(
        sjdb_writer_add_solution(writer, &problem, solver, "7", &solution, kernels, &error));
    g_assert_no_error(error);
}

static void add_simple(SjdbWriter *writer, const char *key, const char *solver)
{
    struct solution solution;
    struct problem problem;
    struct skipjackdb_problem read;
    sjdb_small_parse(key, &problem, &read);
    sjdb_small_solution(&solution);
    g_assert_true(sjdb_writer_add_solution(writer, &problem, solver, "", &solution,
                                           &sjdb_small_kernel, NULL));
}

static skipjackdb *solved_db(TempFolder *folder)
{
    const char *path = temp_folder_path(folder, "solved.sjdb");
    g_autoptr(SjdbWriter) writer = sjdb_writer_new(path);
    sjdb_small_add_kernel(writer);
    add_packing(writer, FUSED, "Packs");
    add_packing(writer, PLAIN, "Packs");
    add_simple(writer, PLAIN, "Simple");
    add_simple(writer, STRIDED, "Simple");
    return sjdb_small_finish(writer, path);
}

static void packing_and_operands_read_back(void)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    skipjackdb *db = solved_db(folder);
    struct skipjackdb_problem fused = asked_for(FUSED);
    struct skipjackdb_solution solution;
    struct skipjackdb_launch launch = {.size = sizeof launch};
    struct skipjackdb_arg args[9];
    g_assert_cmpint(skipjackdb_solution(db, &fused, "Packs", &solution, sizeof solution), ==,
                    SKIPJACKDB_OK);
    g_assert_cmpuint(solution.pack_count, ==, 1);
    g_assert_cmpuint(solution.packed_bytes, ==, 12345);
    g_assert_cmpuint(solution.launch_count, ==, 2);
    g_assert_cmpstr(solution.params, ==, "7");
    g_assert_cmpint(skipjackdb_launch_at(db, &solution, 0, &launch), ==, SKIPJACKDB_OK);
    g_assert_cmpstr(launch.entry, ==, "pack");
    g_assert_cmpint(skipjackdb_launch_at(db, &solution, 1, &launch), ==, SKIPJACKDB_OK);
    g_assert_cmpstr(launch.entry, ==, "run");
    g_assert_cmpint(skipjackdb_args(db, &launch, &fused, args, sizeof args[0], 9), ==,
                    SKIPJACKDB_OK);
    for (gsize i = 0; i < G_N_ELEMENTS(run_roles); i++) {
        g_assert_cmpint(args[i].tensor, ==, run_roles[i]);
    }
    g_assert_cmpint(args[6].value, ==, 56 * 56);
    g_assert_cmpint(args[7].value, ==, 64 * 56 * 56);
    skipjackdb_close(db);
}

static void strides_of_the_problem_reach_the_arguments(void)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    skipjackdb *db = solved_db(folder);
    struct skipjackdb_problem problem = asked_for(PLAIN "_sx400000x3136x0x56x1");
    struct skipjackdb_problem held = asked_for(PLAIN);
    struct skipjackdb_solution solution;
    struct skipjackdb_launch launch = {.size = sizeof launch};
    struct skipjackdb_arg args[9];
    g_assert_cmpint(skipjackdb_solution(db, &held, "Packs", &solution, sizeof solution), ==,
                    SKIPJACKDB_OK);
    g_assert_cmpint(skipjackdb_launch_at(db, &solution, 1, &launch), ==, SKIPJACKDB_OK);
    g_assert_cmpint(skipjackdb_args(db, &launch, &problem, args, sizeof args[0], 9), ==,
                    SKIPJACKDB_OK);
    g_assert_cmpint(args[7].value, ==, 400000);
    skipjackdb_close(db);
}

static void solutions_that_pack_have_a_number_of_their_own(void)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    skipjackdb *db = solved_db(folder);
    struct skipjackdb_problem plain = asked_for(PLAIN), strided = asked_for(STRIDED);
    struct skipjackdb_solution solutions[2];
    uint64_t first = 9, other = 9;
    size_t count = 0;
    g_assert_cmpuint(skipjackdb_solved_count(db), ==, 4);
    g_assert_cmpuint((skipjackdb_solved_count)(db), ==, 1);
    g_assert_cmpint(skipjackdb_solved_find(db, &plain, &first), ==, SKIPJACKDB_OK);
    g_assert_cmpint(skipjackdb_solved_other(db, &plain, &other), ==, SKIPJACKDB_OK);
    g_assert_cmpuint(first, <, other);
    g_assert_cmpint(skipjackdb_solutions(db, first, solutions, sizeof solutions[0], 2, &count), ==,
                    SKIPJACKDB_OK);
    g_assert_cmpuint(count, ==, 1);
    g_assert_cmpstr(solutions[0].solver, ==, "Simple");
    g_assert_cmpint(skipjackdb_solutions(db, other, solutions, sizeof solutions[0], 2, &count), ==,
                    SKIPJACKDB_OK);
    g_assert_cmpuint(count, ==, 1);
    g_assert_cmpstr(solutions[0].solver, ==, "Packs");
    g_assert_cmpint(skipjackdb_solved_other(db, &strided, &other), ==, SKIPJACKDB_NOT_FOUND);
    skipjackdb_close(db);
}

static void an_older_program_gets_no_solution_that_it_cannot_run(void)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    skipjackdb *db = solved_db(folder);
    struct skipjackdb_problem plain = asked_for(PLAIN), fused = asked_for(FUSED);
    struct skipjackdb_solution solution;
    uint64_t number = 0;
    size_t count = 9;
    memset(&solution, 0xa5, sizeof solution);
    g_assert_cmpint(skipjackdb_solution(db, &plain, "Simple", &solution, OLD_SOLUTION), ==,
                    SKIPJACKDB_OK);
    g_assert_cmpuint(solution.pack_count, ==, 0xa5a5a5a5u);
    g_assert_cmpint(skipjackdb_solution(db, &plain, "Packs", &solution, OLD_SOLUTION), ==,
                    SKIPJACKDB_NOT_FOUND);
    g_assert_cmpint(skipjackdb_solution(db, &fused, "Packs", &solution, OLD_SOLUTION), ==,
                    SKIPJACKDB_NOT_FOUND);
    g_assert_cmpint(skipjackdb_solved_find(db, &fused, &number), ==, SKIPJACKDB_OK);
    g_assert_cmpint(skipjackdb_solutions(db, number, &solution, OLD_SOLUTION, 1, &count), ==,
                    SKIPJACKDB_OK);
    g_assert_cmpuint(count, ==, 0);
    skipjackdb_close(db);
}

/* ---- choosing ---- */

static skipjackdb *flagged_db(TempFolder *folder)
{
    const char *path = temp_folder_path(folder, "flags.sjdb");
    const uint32_t known = sjdb_known_flags(true, false) | SKIPJACKDB_FORMS_KNOWN;
    g_autoptr(SjdbWriter) writer = sjdb_writer_new(path);
    const struct sjdb_find_entry entries[] = {{"Packed", "a", NULL, 1, 0, 0, 0},
                                              {"Unknown", "a", NULL, 2, 0, 0, 0},
                                              {"Strides", "a", NULL, 3, 0, 0, 0},
                                              {"Fuses", "a", NULL, 4, 0, 0, 0}};
    struct problem problem;
    sjdb_writer_set_solver(writer, "Packed", 1, known);
    sjdb_writer_set_solver(writer, "Strides", 1, known | SKIPJACKDB_ANY_STRIDES);
    sjdb_writer_set_solver(writer, "Fuses", 1,
                           known | SKIPJACKDB_DOES_BIAS | SKIPJACKDB_DOES_ACTIVATION);
    g_assert_true(problem_key_parse(PLAIN, &problem, NULL));
    g_assert_true(sjdb_writer_add_find(writer, &problem, entries, G_N_ELEMENTS(entries), NULL));
    add_entry(writer, FUSED, "Packed", 9);
    sjdb_small_add_kernel(writer);
    add_simple(writer, PLAIN, "Strides");
    return sjdb_small_finish(writer, path);
}

static struct skipjackdb_choice chosen(skipjackdb *db, const char *key)
{
    struct skipjackdb_problem problem = asked_for(key);
    struct skipjackdb_choice choice = {.size = sizeof choice};
    g_assert_cmpint(skipjackdb_choose(&db, 1, &problem, NULL, &choice, NULL), ==, SKIPJACKDB_OK);
    return choice;
}

static void strided_problems_get_a_solver_of_any_strides(void)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    skipjackdb *db = flagged_db(folder);
    struct skipjackdb_choice choice = chosen(db, STRIDED);
    struct skipjackdb_problem strided = asked_for(STRIDED), twin = {.size = sizeof twin};
    struct skipjackdb_solution solution;
    g_assert_cmpstr(choice.solver, ==, "Strides");
    g_assert_cmpint(choice.how, ==, SKIPJACKDB_OTHER_STRIDES);
    g_assert_cmpuint(choice.marks, ==, SKIPJACKDB_READY);
    g_assert_cmpfloat(choice.time_ms, ==, 3);
    g_assert_cmpint(skipjackdb_packed_twin(&strided, &twin), ==, SKIPJACKDB_OK);
    g_assert_cmpint(skipjackdb_solution(db, &twin, choice.solver, &solution, sizeof solution), ==,
                    SKIPJACKDB_OK);
    skipjackdb_close(db);
}

/* A solver of which the file says nothing is as good a guess as one that does the steps. */
/* A solver with launches for each problem's own strides answers for a near strided problem, and its launches of the
 * packed twin do not. */
static void launches_for_own_strides_serve_no_others(void)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    const char *path = temp_folder_path(folder, "own.sjdb");
    g_autoptr(SjdbWriter) writer = sjdb_writer_new(path);
    sjdb_writer_set_solver(writer, "Own", 1,
                           sjdb_known_flags(true, false) | SKIPJACKDB_FORMS_KNOWN |
                               SKIPJACKDB_OWN_STRIDES);
    add_entry(writer, PLAIN, "Own", 1);
    add_entry(writer, STRIDED, "Own", 2);
    skipjackdb *db = sjdb_small_finish(writer, path);
    struct skipjackdb_choice choice = chosen(db, PLAIN "_sx400000x3136x0x56x1");
    g_assert_cmpint(choice.how, ==, SKIPJACKDB_NEAREST);
    g_assert_cmpfloat(choice.time_ms, ==, 2);
    skipjackdb_close(db);
}

static void fused_problems_get_no_solver_that_cannot_do_their_steps(void)
{
    static const char *const keys[] = {PLAIN "+bias+tanh", PLAIN "+relu", PLAIN "+prelu"};
    g_autoptr(TempFolder) folder = temp_folder_new();
    skipjackdb *db = flagged_db(folder);
    g_assert_cmpint(chosen(db, FUSED).how, ==, SKIPJACKDB_EXACT);
    g_assert_cmpstr(chosen(db, FUSED).solver, ==, "Packed");
    for (gsize i = 0; i < G_N_ELEMENTS(keys); i++) {
        struct skipjackdb_choice choice = chosen(db, keys[i]);
        g_assert_cmpint(choice.how, ==, SKIPJACKDB_NEAREST);
        g_assert_cmpstr(choice.solver, !=, "Packed");
        g_assert_cmpstr(choice.solver, !=, "Strides");
    }
    skipjackdb_close(db);
}

/* A choice in TF32 falls back to full precision; one in full precision never takes what was measured in TF32, however
 * near it is. */
static void tf32_is_never_given_for_fp32(void)
{
    static const char tf32[] = PLAIN "_cxTF32";
    g_autoptr(TempFolder) folder = temp_folder_new();
    const char *path = temp_folder_path(folder, "tf32.sjdb");
    g_autoptr(SjdbWriter) writer = sjdb_writer_new(path);
    struct skipjackdb_choice choice = {.size = sizeof choice};
    struct skipjackdb_problem plain = asked_for(PLAIN), strided = asked_for(STRIDED);
    uint64_t number = 0;
    add_entry(writer, tf32, "Rounded", 1);
    add_entry(writer, PLAIN "_cxTF32+relu", "Rounded", 1);
    skipjackdb *db = sjdb_small_finish(writer, path);
    g_assert_cmpint(skipjackdb_find(db, &plain, &number), ==, SKIPJACKDB_NOT_FOUND);
    g_assert_cmpint(skipjackdb_choose(&db, 1, &plain, NULL, &choice, NULL), ==,
                    SKIPJACKDB_NOT_FOUND);
    g_assert_cmpint(skipjackdb_choose(&db, 1, &strided, NULL, &choice, NULL), ==,
                    SKIPJACKDB_NOT_FOUND);
    g_assert_cmpstr(chosen(db, tf32).solver, ==, "Rounded");
    g_assert_cmpint(chosen(db, PLAIN "_cxTF32+tanh").how, ==, SKIPJACKDB_NEAREST);
    skipjackdb_close(db);
}

static void tf32_takes_full_precision_for_want_of_better(void)
{
    static const char tf32[] = PLAIN "_cxTF32";
    g_autoptr(TempFolder) folder = temp_folder_new();
    const char *path = temp_folder_path(folder, "full.sjdb");
    g_autoptr(SjdbWriter) writer = sjdb_writer_new(path);
    struct skipjackdb_problem asked = asked_for(tf32);
    struct skipjackdb_solution solution;
    sjdb_small_add_kernel(writer);
    add_entry(writer, PLAIN, "Full", 3);
    add_simple(writer, PLAIN, "Full");
    skipjackdb *db = sjdb_small_finish(writer, path);
    struct skipjackdb_choice choice = chosen(db, tf32);
    g_assert_cmpstr(choice.solver, ==, "Full");
    g_assert_cmpint(choice.how, ==, SKIPJACKDB_EXACT);
    g_assert_cmpuint(choice.marks, ==, SKIPJACKDB_READY | SKIPJACKDB_FULL_PRECISION);
    g_assert_cmpint(skipjackdb_solution(db, &asked, "Full", &solution, sizeof solution), ==,
                    SKIPJACKDB_NOT_FOUND);
    memset(asked.mode, 0, sizeof asked.mode);
    g_assert_cmpint(skipjackdb_solution(db, &asked, "Full", &solution, sizeof solution), ==,
                    SKIPJACKDB_OK);
    g_assert_cmpuint(chosen(db, PLAIN).marks, ==, SKIPJACKDB_READY);
    skipjackdb_close(db);
}

/* The struct of 1.1 has no place for TF32: a program with it gets an error, and never FP32 instead. */
static void programs_from_before_tf32_are_not_given_it(void)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    const char *path = temp_folder_path(folder, "old.sjdb");
    g_autoptr(SjdbWriter) writer = sjdb_writer_new(path);
    struct skipjackdb_problem old = {.size = offsetof(struct skipjackdb_problem, kind)};
    add_entry(writer, PLAIN, "Full", 3);
    add_entry(writer, PLAIN "_cxTF32", "Rounded", 1);
    skipjackdb *db = sjdb_small_finish(writer, path);
    g_assert_cmpint(skipjackdb_problem_parse(PLAIN "_cxTF32", &old), ==, SKIPJACKDB_SYNTAX);
    g_assert_cmpuint(skipjackdb_problems(db, old.size), ==, 1);
    g_assert_cmpint(skipjackdb_problem_at(db, 1, &old), ==, SKIPJACKDB_SPACE);
    skipjackdb_close(db);
}

static void a_solver_s_flags_say_what_it_does(void)
{
    struct solver solver = {.dynamic = true,
                            .any_strides = true,
                            .epilogues = EPILOGUE_DOES_ALL | EPILOGUE_DOES_ANY_RESIDUAL};
    g_assert_cmpuint(sjdb_solver_flags(&solver), ==,
                     SKIPJACKDB_DYNAMIC | SKIPJACKDB_FLAGS_KNOWN | SKIPJACKDB_FORMS_KNOWN |
                         SKIPJACKDB_ANY_STRIDES | SKIPJACKDB_DOES_BIAS |
                         SKIPJACKDB_DOES_ACTIVATION | SKIPJACKDB_DOES_RESIDUAL |
                         SKIPJACKDB_DOES_SCALES | SKIPJACKDB_DOES_ANY_RESIDUAL);
    solver.epilogues = 0;
    solver.any_strides = false;
    solver.own_strides = true;
    g_assert_cmpuint(sjdb_solver_flags(&solver), ==,
                     SKIPJACKDB_DYNAMIC | SKIPJACKDB_FLAGS_KNOWN | SKIPJACKDB_FORMS_KNOWN |
                         SKIPJACKDB_OWN_STRIDES);
    solver.own_strides = false;
    g_assert_cmpuint(sjdb_solver_flags(&solver), ==,
                     SKIPJACKDB_DYNAMIC | SKIPJACKDB_FLAGS_KNOWN | SKIPJACKDB_FORMS_KNOWN);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/sjdb_forms/problems_of_every_form_read_back",
                    problems_of_every_form_read_back);
    g_test_add_func("/sjdb_forms/operands_are_those_of_the_program",
                    operands_are_those_of_the_program);
    g_test_add_func("/sjdb_forms/steps_are_those_of_the_program", steps_are_those_of_the_program);
    g_test_add_func("/sjdb_forms/wrong_steps_are_refused", wrong_steps_are_refused);
    g_test_add_func("/sjdb_forms/an_older_program_goes_on", an_older_program_goes_on);
    g_test_add_func("/sjdb_forms/a_file_without_such_problems_has_no_section_of_them",
                    a_file_without_such_problems_has_no_section_of_them);
    g_test_add_func("/sjdb_forms/epilogues_of_an_older_file_are_found",
                    epilogues_of_an_older_file_are_found);
    g_test_add_func("/sjdb_forms/packing_and_operands_read_back", packing_and_operands_read_back);
    g_test_add_func("/sjdb_forms/strides_of_the_problem_reach_the_arguments",
                    strides_of_the_problem_reach_the_arguments);
    g_test_add_func("/sjdb_forms/solutions_that_pack_have_a_number_of_their_own",
                    solutions_that_pack_have_a_number_of_their_own);
    g_test_add_func("/sjdb_forms/an_older_program_gets_no_solution_that_it_cannot_run",
                    an_older_program_gets_no_solution_that_it_cannot_run);
    g_test_add_func("/sjdb_forms/strided_problems_get_a_solver_of_any_strides",
                    strided_problems_get_a_solver_of_any_strides);
    g_test_add_func("/sjdb_forms/launches_for_own_strides_serve_no_others",
                    launches_for_own_strides_serve_no_others);
    g_test_add_func("/sjdb_forms/fused_problems_get_no_solver_that_cannot_do_their_steps",
                    fused_problems_get_no_solver_that_cannot_do_their_steps);
    g_test_add_func("/sjdb_forms/tf32_is_never_given_for_fp32", tf32_is_never_given_for_fp32);
    g_test_add_func("/sjdb_forms/tf32_takes_full_precision_for_want_of_better",
                    tf32_takes_full_precision_for_want_of_better);
    g_test_add_func("/sjdb_forms/programs_from_before_tf32_are_not_given_it",
                    programs_from_before_tf32_are_not_given_it);
    g_test_add_func("/sjdb_forms/a_solvers_flags_say_what_it_does",
                    a_solver_s_flags_say_what_it_does);
    return g_test_run();
}
