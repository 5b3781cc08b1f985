#include "export/sjdb/reader/layout.h"
#include "tests/support/export/sjdb_bytes.h"
#include "tests/support/export/sjdb_small.h"
#include "tests/support/temp_folder.h"

#include <string.h>

#define PLAIN   SJDB_SMALL_KEY
#define HALVES  "64-56-56-3x3-64-56-56-16-1x1-1x1-1x1-0-NCHW-FP16-F"
#define FUSED   PLAIN "+bias+relu"
#define STRIDED "pool(max)-64-56-56-2x2-64-28-28-16-0x0-2x2-1x1-0-NCHW-FP32-F_sx400000x3136x0x56x1"
#define TF32    PLAIN "_cxTF32"

/* A config as it is added, and as it comes back: "solver params workspace". */
static const struct config {
    const char *key, *solver, *params;
    uint64_t workspace_bytes;
} configs[] = {
    /* the order of trying is neither that of names nor of texts */
    {PLAIN, "ConvB", "2", 100},  {PLAIN, "ConvA", "9", 200},   {PLAIN, "ConvA", "1", 100},
    {PLAIN, "ConvB", "1", 100},  {PLAIN, "ConvC", "", 100},    {HALVES, "ConvA", "1", 100},
    {HALVES, "ConvA", "7", 100}, {STRIDED, "ConvA", "1", 100}, {FUSED, "ConvA", "1", 100},
};

static bool add(SjdbWriter *writer, const struct config *config, GError **error)
{
    struct problem problem;
    struct skipjackdb_problem read;
    struct solution solution;
    sjdb_small_parse(config->key, &problem, &read);
    sjdb_small_solution(&solution);
    solution.workspace_bytes = config->workspace_bytes;
    return sjdb_writer_add_unmeasured(writer, &problem, config->solver, config->params, &solution,
                                      &sjdb_small_kernel, error);
}

static void add_all(SjdbWriter *writer)
{
    sjdb_small_add_kernel(writer);
    sjdb_writer_set_solver(writer, "ConvA", 3, sjdb_known_flags(true, true));
    sjdb_writer_set_solver(writer, "ConvB", 4, sjdb_known_flags(false, true));
    for (gsize i = 0; i < G_N_ELEMENTS(configs); i++) {
        g_assert_true(add(writer, &configs[i], NULL));
    }
}

static skipjackdb *make(TempFolder *folder)
{
    const char *path = temp_folder_path(folder, "a.sjdb");
    g_autoptr(SjdbWriter) writer = sjdb_writer_new(path);
    add_all(writer);
    return sjdb_small_finish(writer, path);
}

/* Adds an entry and a solution of ConvA for the problem, as if they had been measured. */
static void add_measured(SjdbWriter *writer, const char *key)
{
    static const struct sjdb_find_entry entry = {.solver = "ConvA",
                                                 .algorithm = "miopenConvolutionFwdAlgoDirect",
                                                 .time_ms = 2,
                                                 .workspace_bytes = 100};
    struct problem problem;
    struct skipjackdb_problem read;
    struct solution solution;
    sjdb_small_parse(key, &problem, &read);
    sjdb_small_solution(&solution);
    g_assert_true(sjdb_writer_add_find(writer, &problem, &entry, 1, NULL));
    g_assert_true(sjdb_writer_add_solution(writer, &problem, "ConvA", "5", &solution,
                                           &sjdb_small_kernel, NULL));
}

static void parse(const char *key, struct skipjackdb_problem *problem)
{
    problem->size = sizeof *problem;
    g_assert_cmpint(skipjackdb_problem_parse(key, problem), ==, SKIPJACKDB_OK);
}

/* ---- reading ---- */

static void configs_come_back_in_the_order_of_trying(void)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    skipjackdb *db = make(folder);
    struct skipjackdb_problem problem;
    struct skipjackdb_solution held[8];
    uint64_t number = 0;
    size_t count = 0;
    parse(PLAIN, &problem);
    g_assert_cmpuint(skipjackdb_unmeasured(db, sizeof problem), ==, 4);
    g_assert_cmpuint(skipjackdb_unmeasured(db, sizeof problem - 1), ==, 0);
    g_assert_cmpint(skipjackdb_unmeasured_find(db, &problem, &number), ==, SKIPJACKDB_OK);
    g_assert_cmpint(skipjackdb_unmeasured_solutions(db, number, held, sizeof *held, 8, &count), ==,
                    SKIPJACKDB_OK);
    g_assert_cmpuint(count, ==, 5);
    for (gsize i = 0; i < MIN(count, 5); i++) {
        g_assert_cmpstr(held[i].solver, ==, configs[i].solver);
        g_assert_cmpstr(held[i].params, ==, configs[i].params);
        g_assert_cmpuint(held[i].workspace_bytes, ==, configs[i].workspace_bytes);
    }
    g_assert_cmpuint(held[0].revision, ==, 4);
    g_assert_cmpuint(held[1].flags & SKIPJACKDB_DYNAMIC, ==, SKIPJACKDB_DYNAMIC);
    skipjackdb_close(db);
}

static void launches_and_arguments_come_back(void)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    skipjackdb *db = make(folder);
    for (gsize i = 0; i < G_N_ELEMENTS(configs); i++) {
        struct skipjackdb_problem problem;
        struct skipjackdb_solution solution;
        struct skipjackdb_launch launch = {.size = sizeof launch};
        struct skipjackdb_kernel kernel = {.size = sizeof kernel};
        struct skipjackdb_arg args[6];
        parse(configs[i].key, &problem);
        g_assert_cmpint(skipjackdb_unmeasured_solution(db, &problem, configs[i].solver,
                                                       configs[i].params, &solution,
                                                       sizeof solution),
                        ==, SKIPJACKDB_OK);
        g_assert_cmpint(skipjackdb_launch_at(db, &solution, 0, &launch), ==, SKIPJACKDB_OK);
        g_assert_cmpstr(launch.entry, ==, "main");
        g_assert_cmpint(launch.grid[0], ==, 12);
        g_assert_cmpint(skipjackdb_args(db, &launch, &problem, args, sizeof *args, 6), ==,
                        SKIPJACKDB_OK);
        g_assert_cmpint(args[2].value, ==, -3);
        g_assert_cmpint(skipjackdb_kernel_at(db, launch.kernel, &kernel), ==, SKIPJACKDB_OK);
        g_assert_cmpuint(kernel.code_bytes, ==, 4);
    }
    skipjackdb_close(db);
}

static void a_config_is_found_by_solver_and_params(void)
{
    static const struct {
        const char *key, *solver, *params;
        int code;
        const char *found; /* "solver params" */
    } cases[] = {
        {PLAIN, NULL, NULL, SKIPJACKDB_OK, "ConvB 2"},
        {PLAIN, "ConvA", NULL, SKIPJACKDB_OK, "ConvA 9"},
        {PLAIN, "ConvA", "1", SKIPJACKDB_OK, "ConvA 1"},
        {PLAIN, "ConvC", "", SKIPJACKDB_OK, "ConvC "},
        {PLAIN, "ConvA", "2", SKIPJACKDB_NOT_FOUND, ""},
        {PLAIN, "ConvD", NULL, SKIPJACKDB_NOT_FOUND, ""},
        {PLAIN, NULL, "1", SKIPJACKDB_USAGE, ""},
        {TF32, NULL, NULL, SKIPJACKDB_NOT_FOUND, ""},
        {FUSED, "ConvA", NULL, SKIPJACKDB_OK, "ConvA 1"},
    };
    g_autoptr(TempFolder) folder = temp_folder_new();
    skipjackdb *db = make(folder);
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        struct skipjackdb_problem problem;
        struct skipjackdb_solution solution = {.solver = "", .params = ""};
        parse(cases[i].key, &problem);
        int code = skipjackdb_unmeasured_solution(db, &problem, cases[i].solver, cases[i].params,
                                                  &solution, sizeof solution);
        g_assert_cmpint(code, ==, cases[i].code);
        g_autofree char *found = code == SKIPJACKDB_OK
                                     ? g_strconcat(solution.solver, " ", solution.params, NULL)
                                     : g_strdup("");
        g_assert_cmpstr(found, ==, cases[i].found);
    }
    skipjackdb_close(db);
}

static void every_problem_comes_back_by_its_number(void)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    skipjackdb *db = make(folder);
    uint64_t count = skipjackdb_unmeasured(db, sizeof(struct skipjackdb_problem));
    for (uint64_t number = 0; number < count; number++) {
        struct skipjackdb_problem problem = {.size = sizeof problem};
        uint64_t found = UINT64_MAX;
        g_assert_cmpint(skipjackdb_unmeasured_at(db, number, &problem), ==, SKIPJACKDB_OK);
        g_assert_cmpint(skipjackdb_unmeasured_find(db, &problem, &found), ==, SKIPJACKDB_OK);
        g_assert_cmpuint(found, ==, number);
    }
    skipjackdb_close(db);
}

/* ---- nobody gets them unasked ---- */

static void functions_of_measured_solutions_do_not_find_them(void)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    skipjackdb *db = make(folder);
    struct skipjackdb_problem problem;
    struct skipjackdb_solution solution;
    const char *params = NULL;
    uint64_t number = 0;
    parse(PLAIN, &problem);
    g_assert_cmpuint(skipjackdb_problem_count(db), ==, 0);
    g_assert_cmpuint(skipjackdb_solved_count(db), ==, 0);
    g_assert_cmpint(skipjackdb_find(db, &problem, &number), ==, SKIPJACKDB_NOT_FOUND);
    g_assert_cmpint(skipjackdb_solved_find(db, &problem, &number), ==, SKIPJACKDB_NOT_FOUND);
    g_assert_cmpint(skipjackdb_params(db, &problem, "ConvA", &params), ==, SKIPJACKDB_NOT_FOUND);
    g_assert_cmpint(skipjackdb_solution(db, &problem, "ConvA", &solution, sizeof solution), ==,
                    SKIPJACKDB_NOT_FOUND);
    skipjackdb_close(db);
}

/* A reader from before 1.5 leaves sections alone whose kinds it does not know: the file is whole for it, and holds no
 * such problem. */
static void an_older_reader_sees_a_file_without_them(void)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    skipjackdb_close(make(folder));
    g_autoptr(GByteArray) bytes =
        g_bytes_unref_to_array(temp_folder_read(temp_folder_path(folder, "a.sjdb")));
    skipjackdb *db = NULL;
    for (guint i = 0; i < sjdb_bytes_sections(bytes->data); i++) {
        struct sjdb_place place;
        sjdb_bytes_section(bytes->data, i, &place);
        if (place.kind / SJDB_SET_KINDS == SJDB_UNMEASURED / SJDB_SET_KINDS) {
            place.row[3] = 0x7f; /* a kind that no version knows */
        }
    }
    sjdb_bytes_seal(bytes->data, bytes->len);
    g_assert_cmpint(skipjackdb_open_bytes(bytes->data, bytes->len, &db), ==, SKIPJACKDB_OK);
    g_assert_cmpint(skipjackdb_verify(db), ==, SKIPJACKDB_OK);
    g_assert_cmpuint(skipjackdb_unmeasured(db, sizeof(struct skipjackdb_problem)), ==, 0);
    skipjackdb_close(db);
}

/* ---- choosing ---- */

static int refuse_convb(void *user, const struct skipjackdb_problem *problem,
                        struct skipjackdb_candidate *candidate)
{
    (void)user;
    (void)problem;
    return strcmp(candidate->solver, "ConvB") == 0 ? SKIPJACKDB_NO : SKIPJACKDB_UNSURE;
}

static double one(void *user, const struct skipjackdb_problem *problem, const char *solver)
{
    (void)user;
    (void)problem;
    return strcmp(solver, "Mine") == 0 ? 1 : 0;
}

/* Each row asks a file with never-measured configs, and for HALVES's neighbour measured ones if `measured`. */
static void choose_takes_them_only_if_asked_for_and_last(void)
{
    static const char *const mine[] = {"Mine"};
    static const struct {
        const char *key;
        bool measured, refuse, estimates;
        int32_t unmeasured;
        uint64_t workspace_bytes;
        uint32_t mode;
        const char *found; /* solver, params and `how` */
    } cases[] = {
        {PLAIN, false, false, false, 0, UINT64_MAX, SKIPJACKDB_NORMAL, "none"},
        {PLAIN, false, false, false, 1, UINT64_MAX, SKIPJACKDB_NORMAL, "ConvB 2 6"},
        {PLAIN, false, false, false, 1, 100, SKIPJACKDB_NORMAL, "ConvB 2 6"},
        {PLAIN, false, true, false, 1, UINT64_MAX, SKIPJACKDB_NORMAL, "ConvA 9 6"},
        {PLAIN, false, true, false, 1, 150, SKIPJACKDB_NORMAL, "ConvA 1 6"},
        {PLAIN, false, false, false, 1, 99, SKIPJACKDB_NORMAL, "none"},
        {PLAIN, false, false, false, 1, UINT64_MAX, SKIPJACKDB_FAST, "ConvA 9 6"},
        {PLAIN, false, false, false, 1, UINT64_MAX, SKIPJACKDB_HYBRID, "ConvB 2 6"},
        /* a solution in full precision is right for TF32, too */
        {TF32, false, false, false, 1, UINT64_MAX, SKIPJACKDB_NORMAL, "ConvB 2 6"},
        {PLAIN, false, false, true, 1, UINT64_MAX, SKIPJACKDB_NORMAL, "ConvB 2 6"},
        {PLAIN, false, false, true, 0, UINT64_MAX, SKIPJACKDB_NORMAL, "Mine  4"},
        {PLAIN, true, false, false, 1, UINT64_MAX, SKIPJACKDB_NORMAL, "ConvA 5 1"},
        {HALVES, false, false, false, 1, UINT64_MAX, SKIPJACKDB_NORMAL, "ConvA 1 6"},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(TempFolder) folder = temp_folder_new();
        const char *path = temp_folder_path(folder, "a.sjdb");
        g_autoptr(SjdbWriter) writer = sjdb_writer_new(path);
        struct skipjackdb_problem problem;
        struct skipjackdb_choice choice = {.size = sizeof choice};
        const struct skipjackdb_rules rules = {.size = sizeof rules,
                                               .workspace_bytes = cases[i].workspace_bytes,
                                               .mode = (int32_t)cases[i].mode,
                                               .applicable = cases[i].refuse ? refuse_convb : NULL,
                                               .estimate = cases[i].estimates ? one : NULL,
                                               .solvers = mine,
                                               .solver_count = 1,
                                               .unmeasured = cases[i].unmeasured};
        add_all(writer);
        if (cases[i].measured) {
            add_measured(writer, cases[i].key);
        }
        skipjackdb *db = sjdb_small_finish(writer, path);
        parse(cases[i].key, &problem);
        int code = skipjackdb_choose(&db, 1, &problem, &rules, &choice, NULL);
        g_autofree char *found =
            code != SKIPJACKDB_OK
                ? g_strdup("none")
                : g_strdup_printf("%s %s %d", choice.solver,
                                  choice.params != NULL ? choice.params : "", choice.how);
        g_assert_cmpstr(found, ==, cases[i].found);
        if (code == SKIPJACKDB_OK && choice.how == SKIPJACKDB_UNMEASURED) {
            g_assert_cmpfloat(choice.time_ms, ==, 0);
            g_assert_cmpuint(choice.marks & (SKIPJACKDB_READY | SKIPJACKDB_UNCHECKED), ==,
                             SKIPJACKDB_READY | SKIPJACKDB_UNCHECKED);
            g_assert_cmpuint(choice.problem, ==, SKIPJACKDB_UNKNOWN);
        }
        skipjackdb_close(db);
    }
}

/* Another target's file, and one behind the first, are not asked: their launches are not for this device. */
/* A hundred configs of one solver, which ranks first, hide no other solver that the rules ask for. */
static void choose_looks_behind_many_configs_of_a_solver(void)
{
    static const struct {
        uint64_t workspace_bytes;
        uint32_t mode;
        const char *solver;
    } cases[] = {{UINT64_MAX, SKIPJACKDB_NORMAL, "ConvB"},
                 {100, SKIPJACKDB_NORMAL, "ConvA"},
                 {UINT64_MAX, SKIPJACKDB_FAST, "ConvA"}};
    g_autoptr(TempFolder) folder = temp_folder_new();
    const char *path = temp_folder_path(folder, "a.sjdb");
    g_autoptr(SjdbWriter) writer = sjdb_writer_new(path);
    struct skipjackdb_problem problem;
    sjdb_small_add_kernel(writer);
    sjdb_writer_set_solver(writer, "ConvA", 3, sjdb_known_flags(true, true));
    sjdb_writer_set_solver(writer, "ConvB", 4, sjdb_known_flags(false, true));
    for (int i = 0; i <= 100; i++) {
        g_autofree char *params = g_strdup_printf("%d", i);
        const struct config config = {PLAIN, i < 100 ? "ConvB" : "ConvA", params,
                                      i < 100 ? 200 : 100};
        g_assert_true(add(writer, &config, NULL));
    }
    skipjackdb *db = sjdb_small_finish(writer, path);
    parse(PLAIN, &problem);
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        struct skipjackdb_choice choice = {.size = sizeof choice};
        const struct skipjackdb_rules rules = {.size = sizeof rules,
                                               .workspace_bytes = cases[i].workspace_bytes,
                                               .mode = (int32_t)cases[i].mode,
                                               .unmeasured = 1};
        g_assert_cmpint(skipjackdb_choose(&db, 1, &problem, &rules, &choice, NULL), ==,
                        SKIPJACKDB_OK);
        g_assert_cmpstr(choice.solver, ==, cases[i].solver);
    }
    skipjackdb_close(db);
}

static void choose_asks_the_targets_own_file_alone(void)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    skipjackdb *db = make(folder), *dbs[] = {NULL, db};
    struct skipjackdb_problem problem;
    struct skipjackdb_choice choice = {.size = sizeof choice};
    const struct skipjackdb_rules rules = {
        .size = sizeof rules, .workspace_bytes = UINT64_MAX, .near = 2, .unmeasured = 1};
    parse(PLAIN, &problem);
    g_assert_cmpint(skipjackdb_choose(dbs, 2, &problem, &rules, &choice, NULL), ==,
                    SKIPJACKDB_NOT_FOUND);
    g_assert_cmpint(skipjackdb_choose(dbs, 0, &problem, &rules, &choice, NULL), ==,
                    SKIPJACKDB_NOT_FOUND);
    skipjackdb_close(db);
}

/* A program from before 1.5 passes rules that end before `unmeasured`: the library reads no further. */
static void rules_of_older_programs_never_ask_for_them(void)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    skipjackdb *db = make(folder);
    struct skipjackdb_problem problem;
    struct skipjackdb_choice choice = {.size = sizeof choice};
    struct skipjackdb_rules rules = {.size = offsetof(struct skipjackdb_rules, unmeasured),
                                     .workspace_bytes = UINT64_MAX,
                                     .unmeasured = 1};
    parse(PLAIN, &problem);
    g_assert_cmpint(skipjackdb_choose(&db, 1, &problem, &rules, &choice, NULL), ==,
                    SKIPJACKDB_NOT_FOUND);
    rules.size -= 1;
    g_assert_cmpint(skipjackdb_choose(&db, 1, &problem, &rules, &choice, NULL), ==,
                    SKIPJACKDB_USAGE);
    skipjackdb_close(db);
}

/* ---- writing ---- */

static void a_config_twice_is_refused(void)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    g_autoptr(SjdbWriter) writer = sjdb_writer_new(temp_folder_path(folder, "a.sjdb"));
    g_autoptr(GError) error = NULL;
    g_assert_true(add(writer, &configs[0], NULL));
    g_assert_false(add(writer, &configs[0], &error));
    g_assert_error(error, EXPORT_ERROR, EXPORT_ERROR_SYNTAX);
    g_assert_nonnull(strstr(error->message, "the config '2' of 'ConvB' already"));
}

static void configs_of_a_problem_must_follow_each_other(void)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    g_autoptr(SjdbWriter) writer = sjdb_writer_new(temp_folder_path(folder, "a.sjdb"));
    g_autoptr(GError) error = NULL;
    sjdb_small_add_kernel(writer);
    g_assert_true(add(writer, &configs[0], NULL));
    g_assert_true(add(writer, &configs[5], NULL));
    g_assert_true(add(writer, &configs[1], NULL));
    g_assert_false(sjdb_writer_finish(writer, &error));
    g_assert_error(error, EXPORT_ERROR, EXPORT_ERROR_SYNTAX);
    g_assert_nonnull(strstr(error->message, "comes twice"));
}

static void a_problem_has_so_many_and_no_more(void)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    const char *path = temp_folder_path(folder, "a.sjdb");
    g_autoptr(SjdbWriter) writer = sjdb_writer_new(path);
    g_autoptr(GError) error = NULL;
    g_autofree struct skipjackdb_solution *held =
        g_new(struct skipjackdb_solution, SJDB_UNMEASURED_MAX);
    char params[16];
    size_t count = 0;
    sjdb_small_add_kernel(writer);
    for (int i = 0; i <= SJDB_UNMEASURED_MAX; i++) {
        g_snprintf(params, sizeof params, "%d", i);
        const struct config config = {PLAIN, "ConvA", params, 100};
        g_assert_true(add(writer, &config, i < SJDB_UNMEASURED_MAX ? NULL : &error) ==
                      (i < SJDB_UNMEASURED_MAX));
    }
    g_assert_error(error, EXPORT_ERROR, EXPORT_ERROR_SYNTAX);
    skipjackdb *db = sjdb_small_finish(writer, path);
    g_assert_cmpint(
        skipjackdb_unmeasured_solutions(db, 0, held, sizeof *held, SJDB_UNMEASURED_MAX, &count), ==,
        SKIPJACKDB_OK);
    g_assert_cmpuint(count, ==, SJDB_UNMEASURED_MAX);
    g_assert_cmpstr(held[SJDB_UNMEASURED_MAX - 1].params, ==, "1023");
    skipjackdb_close(db);
}

static void measured_ones_of_the_same_problem_stay_apart(void)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    const char *path = temp_folder_path(folder, "a.sjdb");
    g_autoptr(SjdbWriter) writer = sjdb_writer_new(path);
    struct skipjackdb_problem problem;
    struct skipjackdb_solution solution;
    add_all(writer);
    add_measured(writer, PLAIN);
    add_measured(writer, FUSED);
    skipjackdb *db = sjdb_small_finish(writer, path);
    for (gsize i = 0; i < 2; i++) {
        parse(i == 0 ? PLAIN : FUSED, &problem);
        g_assert_cmpint(skipjackdb_solution(db, &problem, "ConvA", &solution, sizeof solution), ==,
                        SKIPJACKDB_OK);
        g_assert_cmpstr(solution.params, ==, "5");
        g_assert_cmpint(
            skipjackdb_unmeasured_solution(db, &problem, "ConvA", NULL, &solution, sizeof solution),
            ==, SKIPJACKDB_OK);
        g_assert_cmpstr(solution.params, ==, i == 0 ? "9" : "1");
    }
    skipjackdb_close(db);
}

/* ---- damage ---- */

/* Each row fills a section of the set with one bits: verify finds it. */
static void indexes_out_of_range_are_found(void)
{
    static const struct {
        const char *what;
        uint32_t kind;
    } cases[] = {
        {"a shape's bucket", SJDB_UNMEASURED + SJDB_BUCKETS},
        {"a choice that is not there", SJDB_UNMEASURED + SJDB_LIST_ITEMS},
        {"a list that is not there", SJDB_UNMEASURED + SJDB_PROBLEM_LISTS},
        {"a solver that is not there", SJDB_UNMEASURED + SJDB_CHOICE_SOLVERS},
        {"a recipe that is not there", SJDB_UNMEASURED + SJDB_PAYLOAD},
        {"a variant that is not there", SJDB_UNMEASURED + SJDB_SET_ITEMS},
        {"a launch that is not there", SJDB_OTHER_RECIPES},
    };
    g_autoptr(TempFolder) folder = temp_folder_new();
    skipjackdb_close(make(folder));
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GByteArray) bytes =
            g_bytes_unref_to_array(temp_folder_read(temp_folder_path(folder, "a.sjdb")));
        struct sjdb_place place;
        int opened = 0, verified = 0;
        sjdb_bytes_find(bytes, cases[i].kind, &place);
        memset(bytes->data + place.offset, 0xff, place.length - SJDB_PAD_BYTES);
        sjdb_bytes_seal(bytes->data, bytes->len);
        bool open = sjdb_bytes_ask(bytes->data, bytes->len, &opened, &verified);
        if ((open ? verified : opened) != SKIPJACKDB_DAMAGED) {
            g_test_message("%s", cases[i].what);
            g_test_fail();
        }
    }
}

static void wrong_arguments_are_refused(void)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    skipjackdb *db = make(folder);
    struct skipjackdb_problem problem, unsized = {.size = 0};
    struct skipjackdb_solution solution;
    uint64_t number = 0;
    size_t count = 0;
    parse(PLAIN, &problem);
    g_assert_cmpuint(skipjackdb_unmeasured(NULL, sizeof problem), ==, 0);
    g_assert_cmpint(skipjackdb_unmeasured_at(db, 0, &unsized), ==, SKIPJACKDB_USAGE);
    g_assert_cmpint(skipjackdb_unmeasured_at(db, 4, &problem), ==, SKIPJACKDB_NOT_FOUND);
    g_assert_cmpint(skipjackdb_unmeasured_find(NULL, &problem, &number), ==, SKIPJACKDB_USAGE);
    g_assert_cmpint(skipjackdb_unmeasured_solutions(db, 0, &solution, 8, 1, &count), ==,
                    SKIPJACKDB_USAGE);
    g_assert_cmpint(skipjackdb_unmeasured_solutions(db, 4, &solution, sizeof solution, 1, &count),
                    ==, SKIPJACKDB_NOT_FOUND);
    g_assert_cmpint(skipjackdb_unmeasured_solution(db, &problem, NULL, NULL, &solution, 8), ==,
                    SKIPJACKDB_USAGE);
    skipjackdb_close(db);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/sjdb_unmeasured/read/configs_come_back_in_the_order_of_trying",
                    configs_come_back_in_the_order_of_trying);
    g_test_add_func("/sjdb_unmeasured/read/launches_and_arguments_come_back",
                    launches_and_arguments_come_back);
    g_test_add_func("/sjdb_unmeasured/read/a_config_is_found_by_solver_and_params",
                    a_config_is_found_by_solver_and_params);
    g_test_add_func("/sjdb_unmeasured/read/every_problem_comes_back_by_its_number",
                    every_problem_comes_back_by_its_number);
    g_test_add_func("/sjdb_unmeasured/unasked/functions_of_measured_solutions_do_not_find_them",
                    functions_of_measured_solutions_do_not_find_them);
    g_test_add_func("/sjdb_unmeasured/unasked/an_older_reader_sees_a_file_without_them",
                    an_older_reader_sees_a_file_without_them);
    g_test_add_func("/sjdb_unmeasured/choose/takes_them_only_if_asked_for_and_last",
                    choose_takes_them_only_if_asked_for_and_last);
    g_test_add_func("/sjdb_unmeasured/choose/looks_behind_many_configs_of_a_solver",
                    choose_looks_behind_many_configs_of_a_solver);
    g_test_add_func("/sjdb_unmeasured/choose/asks_the_targets_own_file_alone",
                    choose_asks_the_targets_own_file_alone);
    g_test_add_func("/sjdb_unmeasured/choose/rules_of_older_programs_never_ask_for_them",
                    rules_of_older_programs_never_ask_for_them);
    g_test_add_func("/sjdb_unmeasured/write/a_config_twice_is_refused", a_config_twice_is_refused);
    g_test_add_func("/sjdb_unmeasured/write/configs_of_a_problem_must_follow_each_other",
                    configs_of_a_problem_must_follow_each_other);
    g_test_add_func("/sjdb_unmeasured/write/a_problem_has_so_many_and_no_more",
                    a_problem_has_so_many_and_no_more);
    g_test_add_func("/sjdb_unmeasured/write/measured_ones_of_the_same_problem_stay_apart",
                    measured_ones_of_the_same_problem_stay_apart);
    g_test_add_func("/sjdb_unmeasured/damage/indexes_out_of_range_are_found",
                    indexes_out_of_range_are_found);
    g_test_add_func("/sjdb_unmeasured/damage/wrong_arguments_are_refused",
                    wrong_arguments_are_refused);
    return g_test_run();
}
