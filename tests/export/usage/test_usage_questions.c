/* Each question, asked of small tables of times; answers are compared as they are in JSON. */
#include "export/usage/usage_questions.h"

#include "export/formats/export_error.h"
#include "export/usage/usage_read.h"
#include "solvers/problem/problem_key.h"
#include "tests/support/export/real_data.h"

#include <math.h>
#include <string.h>

/* Problems by one letter: x and y are forward 1x1 with other channels, z is 3x3, b is x backward, s is x with a stride. */
static const char *key_of(char letter)
{
    switch (letter) {
    case 'x': return "8-14-14-1x1-64-14-14-1-0x0-1x1-1x1-0-NCHW-FP32-F";
    case 'y': return "16-14-14-1x1-64-14-14-1-0x0-1x1-1x1-0-NCHW-FP32-F";
    case 'z': return "16-14-14-3x3-64-14-14-1-1x1-1x1-1x1-0-NCHW-FP16-F";
    case 'b': return "8-14-14-1x1-64-14-14-1-0x0-1x1-1x1-0-NCHW-FP32-B";
    default: return "8-14-14-1x1-64-7-7-1-0x0-2x2-1x1-0-NHWC-NHWC-NHWC-FP32-F";
    }
}

/* networks: "n: x2 y1; m: x1"; times: "x A 1, x B 2, x C 3 @gfx90a_110": a target behind @, none is "". */
static Usage *made(const char *networks, const char *times)
{
    Usage *usage = usage_new();
    g_auto(GStrv) lines = g_strsplit(networks, "; ", -1);
    for (char **line = lines; *line != NULL; line++) {
        g_auto(GStrv) words = g_strsplit(*line, " ", -1);
        words[0][strlen(words[0]) - 1] = '\0';
        for (char **word = words + 1; *word != NULL; word++) {
            struct problem problem;
            g_assert_true(problem_key_parse(key_of(**word), &problem, NULL));
            usage_add_problem(usage, words[0], &problem, g_ascii_strtoll(*word + 1, NULL, 10));
        }
    }
    g_auto(GStrv) entries = g_strsplit(times, ", ", -1);
    for (char **entry = entries; *entry != NULL; entry++) {
        g_auto(GStrv) words = g_strsplit(*entry, " ", -1);
        struct problem problem;
        g_assert_true(problem_key_parse(key_of(words[0][0]), &problem, NULL));
        const struct usage_entry time = {
            .solver = words[1],
            .revision = words[1][0] - 'A' + 1,
            .dynamic = words[1][0] == 'D',
            .place = usage_place(usage, words[3] != NULL ? words[3] + 1 : "", ""),
            .origin = -1,
            .time_ms = g_ascii_strtod(words[2], NULL)};
        usage_add_entry(usage, &problem, &time);
    }
    return usage;
}

/* The rows of the answer `key` as text: "A 1 2; B 0.5 -". */
static char *rows_text(const json_t *json, const char *key, const char *columns)
{
    const json_t *rows = json_object_get(json_object_get(json, key), "rows");
    g_auto(GStrv) names = g_strsplit(columns, " ", -1);
    GString *text = g_string_new(NULL);
    for (size_t i = 0; i < json_array_size(rows); i++) {
        g_string_append(text, i > 0 ? "; " : "");
        for (char **name = names; *name != NULL; name++) {
            const json_t *cell = json_object_get(json_array_get(rows, i), *name);
            g_assert_nonnull(cell);
            g_string_append(text, name > names ? " " : "");
            if (json_is_string(cell)) {
                g_string_append(text, json_string_value(cell));
            } else if (json_is_null(cell)) {
                g_string_append_c(text, '-');
            } else {
                g_string_append_printf(text, "%g", json_number_value(cell));
            }
        }
    }
    return g_string_free(text, FALSE);
}

static void expect(Usage *usage, const struct usage_ask *ask, const char *key, const char *columns,
                   const char *expected)
{
    g_autoptr(GError) error = NULL;
    json_t *json = json_object();
    g_assert_true(usage_answer(usage, ask, json, NULL, &error));
    g_assert_no_error(error);
    g_autofree char *text = rows_text(json, key, columns);
    g_assert_cmpstr(text, ==, expected);
    json_decref(json);
}

static void winners_are_counted_by_any_dimensions(void)
{
    static const struct {
        const char *by, *columns, *expected;
    } cases[] = {
        {"direction", "direction solver wins layers time_ms", "B B 1 1 1; F A 2 3 4; F B 1 4 2"},
        {"type", "type solver wins", "FP16 B 1; FP32 A 2; FP32 B 1"},
        {"direction,type", "direction type solver time_percent",
         "B FP32 B 14.2857; F FP16 B 28.5714; F FP32 A 57.1429"},
        {"filter", "filter solver wins", "1x1 A 2; 1x1 B 1; 3x3 B 1"},
        {"layout,stride", "layout stride solver layers",
         "NCHW 1x1 B 5; NCHW 1x1 A 2; NHWC 2x2 A 1"},
        {"revision", "revision solver networks", "1 A 2; 2 B 2"},
        {"network", "network solver time_ms", "m A 2; m B 1; n A 2; n B 2"},
        {"target", "target solver wins", "g1 A 2; g1 B 2"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(Usage) usage = made("n: x2 z4; m: b1 s1", "x A 1 @g1, x B 2 @g1, z B 0.5 @g1, "
                                                            "b B 1 @g1, s A 2 @g1, s B 3 @g1");
        g_auto(GStrv) by = g_strsplit(cases[i].by, ",", -1);
        struct usage_ask ask;
        usage_ask_init(&ask);
        ask.by = by;
        expect(usage, &ask, "by", cases[i].columns, cases[i].expected);
    }
}

static void losses_are_of_problems_that_keep_a_solver(void)
{
    static const struct {
        const char *without, *expected; /* network, loss_ms, moved, left, left_ms */
    } cases[] = {
        {"A", "n 3 1 1 9; m 1 1 0 0"},
        {"B", "n 0 0 0 0; m 0 0 0 0"},
        {"A,B", "n 6 1 1 9; m 2 1 0 0"},
        {"*", "n 0 0 2 12; m 0 0 1 1"},
        {"ConvDirectNaive", "n 0 0 0 0; m 0 0 0 0"}, /* registered, but without an entry */
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(Usage) usage = made("n: x3 y1; m: x1", "x A 1, x B 2, x C 3, y A 9");
        g_auto(GStrv) without = g_strsplit(cases[i].without, ",", -1);
        struct usage_ask ask;
        usage_ask_init(&ask);
        ask.without = without;
        expect(usage, &ask, "without", "network loss_ms moved left left_ms", cases[i].expected);
    }
}

static void each_solver_alone_is_left_out(void)
{
    g_autoptr(Usage) usage = made("n: x3 y1; m: x1", "x A 1, x B 2, x C 3, y A 9, y C 9.5");
    char *each[] = {(char *)"each", NULL};
    struct usage_ask ask;
    usage_ask_init(&ask);
    ask.without = each;
    expect(usage, &ask, "without_each", "solver time_ms without_ms loss_ms moved left networks",
           "A 13 17.5 4.5 3 0 2");
}

static void runs_weigh_networks(void)
{
    g_autoptr(Usage) usage = made("n: x3 y1; m: x1", "x A 1, x B 2, y B 4");
    char *without[] = {(char *)"A", NULL};
    struct usage_ask ask;
    struct usage_summary summary;
    usage_ask_init(&ask);
    ask.without = without;
    g_assert_true(usage_set_runs(usage, "m", 10));
    g_assert_false(usage_set_runs(usage, "missing", 10));
    expect(usage, &ask, "without", "network time_ms without_ms", "n 7 10; m 10 20");
    usage_sum(usage, &summary);
    g_assert_cmpfloat(summary.all.time_ms, ==, 17);
    g_assert_cmpint(summary.all.layers, ==, 5);
    usage_summary_clear(&summary);
}

static void targets_do_not_compete(void)
{
    g_autoptr(Usage) usage = made("n: x1 y1", "x A 1 @g1, x B 2 @g1, x B 0.1 @g2, y A 3 @g1");
    struct usage_summary summary;
    usage_sum(usage, &summary);
    g_assert_cmpuint(summary.networks->len, ==, 2);
    const struct usage_network *first = summary.networks->pdata[0],
                               *second = summary.networks->pdata[1];
    g_assert_cmpstr(first->target, ==, "g1");
    g_assert_cmpfloat(first->time_ms, ==, 4);
    g_assert_cmpstr(second->target, ==, "g2");
    g_assert_cmpfloat(second->time_ms, ==, 0.1);
    g_assert_cmpint(second->covered, ==, 1);
    g_assert_cmpuint(summary.gaps->len, ==, 1);
    /* one network, although on two targets */
    g_assert_cmpint(g_array_index(summary.all.solvers, struct usage_share, 0).networks, ==, 1);
    usage_summary_clear(&summary);
}

static void never_used_solvers_are_named_with_their_distance(void)
{
    g_autoptr(Usage) usage = made("n: x1 y1", "x A 1, x B 1.5, y A 2, y B 2.2, y C 0");
    struct usage_ask ask;
    usage_ask_init(&ask);
    ask.unused = true;
    g_autoptr(GError) error = NULL;
    json_t *json = json_object();
    g_assert_true(usage_answer(usage, &ask, json, NULL, &error));
    g_autofree char *text = rows_text(json, "unused", "solver problems nearest_percent");
    g_assert_true(g_str_has_prefix(text, "B 2 10; C 1 -; "));
    /* then the solvers of this program, which have no entry */
    g_assert_nonnull(strstr(text, "ConvDirectNaive 0 -"));
    json_decref(json);
}

static void the_naive_solver_is_found_by_its_name(void)
{
    g_autoptr(Usage) usage =
        made("n: x1 y2 z1", "x ConvDirectNaiveConvFwd 1, x ConvDirectNaive 1.5, x A 3, y A 1, "
                            "y ConvDirectNaive 2, z ConvDirectNaive 4");
    struct usage_ask ask;
    usage_ask_init(&ask);
    ask.naive = true;
    expect(usage, &ask, "naive", "network multiplicity time_ms next_solver next_ms",
           "n 1 1 A 3; n 1 4 - -");
}

static void only_the_largest_classes_are_named(void)
{
    static const struct {
        double within;
        int least;
        const char *expected; /* solver, direction, type, layout, filter, stride, problems */
    } cases[] = {
        /* B is near the best for x alone (F FP32 NCHW 1x1), C nowhere, A everywhere */
        {0.05, 1, "B B * * * * 1; B F FP16 * * * 1; B F FP32 NHWC * * 1; C * * * * * 3"},
        {0.05, 2, "C * * * * * 3"},
        {0.60, 1, "C * * * * * 3"}, /* B is then near for all */
        {9.00, 1, ""},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(Usage) usage =
            made("n: x1 z1 b1 s1; m: x9", "x A 1, x B 1.04, x C 3, z A 1, z B 1.5, z C 2, b A 1, "
                                          "b B 1.5, s A 1, s B 1.5, s C 4");
        struct usage_ask ask;
        usage_ask_init(&ask);
        ask.narrow = true;
        ask.within = cases[i].within;
        ask.least = cases[i].least;
        expect(usage, &ask, "narrow", "solver direction type layout filter stride problems",
               cases[i].expected);
    }
}

static void rare_solvers_get_advice(void)
{
    static const struct {
        double rare, gain;
        const char *expected; /* solver, wins, alone, gain, advice */
    } cases[] = {
        {0.25, 1.5,
         "B 1 0 4 convert to assembly; ConvAsm1x1 1 0 2 keep: assembly; D 1 1 - keep: dynamic"},
        {0.25, 3, "B 1 0 4 convert to assembly; D 1 1 - keep: dynamic"},
        {0.10, 1.5, ""},
        {0.50, 1.1,
         "A 2 0 1.22474 convert to assembly; B 1 0 4 convert to assembly; "
         "ConvAsm1x1 1 0 2 keep: assembly; D 1 1 - keep: dynamic"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(Usage) usage =
            made("n: x1 y1 z1 b1 s1; m: x5", "x A 1, x B 1.5, y A 2, y B 2, z B 1, z A 4, "
                                             "b ConvAsm1x1 3, b A 6, s D 1");
        struct usage_ask ask;
        usage_ask_init(&ask);
        ask.convert = true;
        ask.rare = cases[i].rare;
        ask.gain = cases[i].gain;
        expect(usage, &ask, "convert", "solver wins alone gain advice", cases[i].expected);
    }
}

static void the_smallest_set_keeps_every_network(void)
{
    static const struct {
        double within;
        const char *solvers;
    } cases[] = {{0, "A B C"}, {0.1, "A B"}, {1, "A"}};
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(Usage) usage = made("n: x10 y1; m: z1", "x A 1, x B 2, y C 1, y A 1.5, z B 1, "
                                                          "z A 1.9");
        g_autoptr(GString) text = g_string_new(NULL);
        struct usage_ask ask;
        json_t *json = json_object();
        usage_ask_init(&ask);
        ask.smallest = cases[i].within;
        g_assert_true(usage_answer(usage, &ask, json, NULL, NULL));
        const json_t *answer = json_object_get(json, "smallest");
        const json_t *solvers = json_object_get(answer, "solvers");
        for (size_t s = 0; s < json_array_size(solvers); s++) {
            g_string_append_printf(text, "%s%s", s > 0 ? " " : "",
                                   json_string_value(json_array_get(solvers, s)));
        }
        g_assert_cmpstr(text->str, ==, cases[i].solvers);
        g_assert_true(json_is_true(json_object_get(answer, "optimal")));
        json_decref(json);
    }
}

/* Asks for the smallest set, then for the losses without all other solvers: both must agree. */
static void expect_set_is_enough(Usage *usage, double within)
{
    struct usage_ask ask;
    usage_ask_init(&ask);
    ask.smallest = within;
    json_t *json = json_object();
    g_assert_true(usage_answer(usage, &ask, json, NULL, NULL));
    const json_t *answer = json_object_get(json, "smallest");
    g_assert_true(json_is_true(json_object_get(answer, "optimal")));
    g_autoptr(GHashTable) kept = g_hash_table_new(g_str_hash, g_str_equal);
    const json_t *solvers = json_object_get(answer, "solvers");
    for (size_t i = 0; i < json_array_size(solvers); i++) {
        g_hash_table_add(kept, (gpointer)json_string_value(json_array_get(solvers, i)));
    }
    struct usage_summary summary;
    usage_sum(usage, &summary);
    g_autoptr(GPtrArray) others = g_ptr_array_new();
    for (guint i = 0; i < summary.all.solvers->len; i++) {
        const char *solver = g_array_index(summary.all.solvers, struct usage_share, i).solver;
        if (!g_hash_table_contains(kept, solver)) {
            g_ptr_array_add(others, (gpointer)solver);
        }
    }
    g_ptr_array_add(others, NULL);
    usage_ask_init(&ask);
    ask.without = (char **)others->pdata;
    json_t *losses = json_object();
    g_assert_true(usage_answer(usage, &ask, losses, NULL, NULL));
    const json_t *rows = json_object_get(json_object_get(losses, "without"), "rows");
    g_assert_cmpuint(json_array_size(rows), ==, summary.networks->len);
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        g_assert_cmpfloat(json_number_value(json_object_get(row, "loss_percent")), <=,
                          within * 100 + 1e-6);
        g_assert_cmpint(json_integer_value(json_object_get(row, "left")), ==, 0);
    }
    usage_summary_clear(&summary);
    json_decref(losses);
    json_decref(json);
}

static void shipped_files_have_a_smallest_set_that_is_enough(void)
{
    static const char *const files[] = {"gfx942130.HIP.fdb.txt.bz2", "gfx1030_36.HIP.fdb.txt.bz2"};
    g_autofree char *networks = real_data("networks");
    g_autofree char *databases = networks != NULL ? real_data("miopen") : NULL;
    if (databases == NULL) {
        return;
    }
    const struct import_options options = {.batches = {64}, .batch_count = 1};
    g_autofree char *list = g_build_filename(networks, "layer_tables.csv", NULL);
    g_autoptr(Usage) usage = usage_new();
    g_autoptr(GError) error = NULL;
    g_assert_true(usage_read_list(usage, list, &options, &error));
    for (size_t i = 0; i < G_N_ELEMENTS(files); i++) {
        g_autofree char *file = g_build_filename(databases, files[i], NULL);
        g_assert_true(usage_read_db(usage, file, false, &error));
        g_assert_no_error(error);
        /* first one target, then two, which do not compete */
        expect_set_is_enough(usage, 0);
        expect_set_is_enough(usage, 0.05);
    }
}

static void wrong_words_are_refused_by_name(void)
{
    static const struct {
        bool by;
        const char *word, *message;
    } cases[] = {{true, "colour", "'colour'"}, {false, "Missing", "'Missing'"}};
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(Usage) usage = made("n: x1", "x A 1");
        g_autoptr(GError) error = NULL;
        char *words[] = {(char *)cases[i].word, NULL};
        json_t *json = json_object();
        struct usage_ask ask;
        usage_ask_init(&ask);
        *(cases[i].by ? &ask.by : &ask.without) = words;
        g_assert_false(usage_answer(usage, &ask, json, NULL, &error));
        g_assert_error(error, EXPORT_ERROR, EXPORT_ERROR_USAGE);
        g_assert_nonnull(strstr(error->message, cases[i].message));
        json_decref(json);
    }
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*test)(void);
    } tests[] = {
        {"winners_are_counted_by_any_dimensions", winners_are_counted_by_any_dimensions},
        {"losses_are_of_problems_that_keep_a_solver", losses_are_of_problems_that_keep_a_solver},
        {"each_solver_alone_is_left_out", each_solver_alone_is_left_out},
        {"runs_weigh_networks", runs_weigh_networks},
        {"targets_do_not_compete", targets_do_not_compete},
        {"never_used_solvers_are_named_with_their_distance",
         never_used_solvers_are_named_with_their_distance},
        {"the_naive_solver_is_found_by_its_name", the_naive_solver_is_found_by_its_name},
        {"only_the_largest_classes_are_named", only_the_largest_classes_are_named},
        {"rare_solvers_get_advice", rare_solvers_get_advice},
        {"the_smallest_set_keeps_every_network", the_smallest_set_keeps_every_network},
        {"shipped_files_have_a_smallest_set_that_is_enough",
         shipped_files_have_a_smallest_set_that_is_enough},
        {"wrong_words_are_refused_by_name", wrong_words_are_refused_by_name},
    };
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    for (size_t i = 0; i < G_N_ELEMENTS(tests); i++) {
        g_autofree char *path = g_strconcat("/usage_questions/", tests[i].name, NULL);
        g_test_add_func(path, tests[i].test);
    }
    return g_test_run();
}
