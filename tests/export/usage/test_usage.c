#include "export/sjdb/sjdb_write.h"
#include "export/usage/usage_read.h"

#include "export/commands.h"
#include "export/formats/export_error.h"
#include "schema/results/store_golden.h"
#include "schema/store/store_kernels.h"
#include "solvers/problem/problem_key.h"
#include "tests/support/export/real_data.h"
#include "tests/support/farm/queue_farm.h"
#include "tests/support/temp_folder.h"

#include <jansson.h>
#include <string.h>

#define ONE  "8-14-14-1x1-64-14-14-1-0x0-1x1-1x1-0-NCHW-FP32-F"
#define TWO  "16-14-14-1x1-64-14-14-1-0x0-1x1-1x1-0-NCHW-FP32-F"
#define GEMM "miopenConvolutionFwdAlgoGEMM"

static const struct import_options as_they_are;

static void add_key(Usage *usage, const char *network, const char *key, int64_t multiplicity)
{
    struct problem problem;
    g_assert_true(problem_key_parse(key, &problem, NULL));
    usage_add_problem(usage, network, &problem, multiplicity);
}

static void add_time(Usage *usage, const char *key, const char *solver, double time_ms)
{
    struct problem problem;
    g_assert_true(problem_key_parse(key, &problem, NULL));
    usage_add_time(usage, &problem, solver, time_ms);
}

/* "SOLVER WINS LAYERS TIME NETWORKS; ..." for each solver of the network, in the network's
 * order. */
static char *shares_text(const struct usage_network *network)
{
    GString *text = g_string_new(NULL);
    for (guint i = 0; i < network->solvers->len; i++) {
        const struct usage_share *share = &g_array_index(network->solvers, struct usage_share, i);
        g_string_append_printf(text, "%s%s %d %d %g %g %d", i > 0 ? "; " : "", share->solver,
                               (int)share->wins, (int)share->layers, share->time_ms,
                               share->time_share, share->networks);
    }
    return g_string_free(text, FALSE);
}

static void expect_shares(const struct usage_network *network, const char *expected)
{
    g_autofree char *text = shares_text(network);
    g_assert_cmpstr(text, ==, expected);
}

static void winners_are_weighted_by_multiplicity_and_time(void)
{
    g_autoptr(Usage) usage = usage_new();
    struct usage_summary summary;
    add_key(usage, "small", ONE, 2);
    add_key(usage, "small", ONE, 1);
    add_key(usage, "large", ONE, 1);
    add_key(usage, "large", TWO, 4);
    add_time(usage, ONE, "Fast", 1);
    add_time(usage, TWO, "Fast", 3);
    add_time(usage, TWO, "Other", 1.75);
    usage_sum(usage, &summary);
    g_assert_cmpuint(summary.networks->len, ==, 2);
    const struct usage_network *small = summary.networks->pdata[0],
                               *large = summary.networks->pdata[1];
    g_assert_cmpstr(small->name, ==, "small");
    g_assert_cmpint(small->problems, ==, 1);
    g_assert_cmpint(small->layers, ==, 3);
    expect_shares(small, "Fast 1 3 3 1 1");
    expect_shares(large, "Other 1 4 7 0.875 1; Fast 1 1 1 0.125 1");
    expect_shares(&summary.all, "Other 1 4 7 0.636364 1; Fast 2 4 4 0.363636 2");
    g_assert_cmpint(summary.all.covered, ==, 3);
    g_assert_cmpuint(summary.gaps->len, ==, 0);
    usage_summary_clear(&summary);
}

static void only_times_over_zero_win(void)
{
    static const struct {
        const char *first;
        double first_ms;
        const char *second;
        double second_ms;
        const char *winner; /* NULL: none */
        bool untimed;
    } cases[] = {
        {"A", 2, "B", 1, "B", false},     {"A", 1, "B", 2, "A", false},
        {"A", 0, "B", 9, "B", false},     {"A", 9, "B", 0.0, "A", false},
        {"A", -1, "B", 0, NULL, true},    {"B", 1, "A", 1, "A", false},
        {"A", 1, "B", 1, "A", false},     {"A", 1e-9, "B", 0, "A", false},
        {"A", 0, "B", 1e300, "B", false},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(Usage) usage = usage_new();
        struct usage_summary summary;
        add_key(usage, "n", ONE, 1);
        add_time(usage, ONE, cases[i].first, cases[i].first_ms);
        add_time(usage, ONE, cases[i].second, cases[i].second_ms);
        add_time(usage, TWO, "C", 1); /* of no network */
        usage_sum(usage, &summary);
        g_assert_cmpuint(summary.all.solvers->len, ==, cases[i].winner != NULL);
        g_assert_cmpuint(summary.gaps->len, ==, cases[i].winner == NULL);
        if (cases[i].winner != NULL) {
            g_assert_cmpstr(g_array_index(summary.all.solvers, struct usage_share, 0).solver, ==,
                            cases[i].winner);
        } else {
            g_assert_true(g_array_index(summary.gaps, struct usage_gap, 0).untimed ==
                          cases[i].untimed);
        }
        usage_summary_clear(&summary);
    }
}

/* ---- files ---- */

static void both_grammars_answer_lists_of_every_kind(void)
{
    static const struct {
        const char *name, *text;
        const char *shares;
    } lists[] = {
        {"net.v1.txt", "conv -n 1 -c 8 -H 14 -W 14 -k 64 -y 1 -x 1 -F 1\n",
         "net.v1: New 1 1 0.5 1 1"},
        {"keys.txt", "3\t" ONE "\n" TWO "\n", "keys: Old 1 1 2 0.571429 1; New 1 3 1.5 0.428571 1"},
        {"table.csv", "net,layer,mult,c,h,w,k,y,x\nn1,a,2,8,14,14,64,1,1\nn2,b,1,16,14,14,64,1,1\n",
         "n1: New 1 2 1 1 1|n2: Old 1 1 2 1 1"},
    };
    static const char newer_text[] = ONE "=Zero:0.0,0," GEMM ";New:0.5,0," GEMM "\n" TWO "=Late\n";
    g_autoptr(TempFolder) folder = temp_folder_new();
    const char *newer =
        temp_folder_write_bzip2(folder, "a.fdb.txt.bz2", newer_text, sizeof newer_text - 1);
    const char *older = temp_folder_write(
        folder, "b.fdb.txt", "broken\n" TWO "=" GEMM ":Old,2,64," GEMM ",<unused>\n", -1);
    for (size_t i = 0; i < G_N_ELEMENTS(lists); i++) {
        g_autoptr(Usage) usage = usage_new();
        g_autoptr(GError) error = NULL;
        g_autoptr(GString) text = g_string_new(NULL);
        struct usage_summary summary;
        const char *list = temp_folder_write(folder, lists[i].name, lists[i].text, -1);
        g_assert_true(usage_read_list(usage, list, &as_they_are, &error));
        g_assert_true(usage_read_db(usage, newer, false, &error));
        g_assert_true(usage_read_db(usage, older, false, &error));
        g_assert_no_error(error);
        usage_sum(usage, &summary);
        for (guint n = 0; n < summary.networks->len; n++) {
            const struct usage_network *network = summary.networks->pdata[n];
            g_autofree char *shares = shares_text(network);
            g_string_append_printf(text, "%s%s: %s", n > 0 ? "|" : "", network->name, shares);
        }
        g_assert_cmpstr(text->str, ==, lists[i].shares);
        usage_summary_clear(&summary);
    }
}

/* Usage reads winners from a .sjdb as from a find-db; an entry with the time 0 does not win. */
static void a_sjdb_answers_too(void)
{
    const struct sjdb_find_entry entries[] = {{"Zero", GEMM, NULL, 0.0, 0, 0, 0},
                                              {"Slow", GEMM, NULL, 0.75, 64, 0, 0},
                                              {"Fast", GEMM, NULL, 0.5, 0, 0, 0}};
    g_autoptr(TempFolder) folder = temp_folder_new();
    const char *path = temp_folder_path(folder, "a.sjdb");
    g_autoptr(Usage) usage = usage_new();
    g_autoptr(GError) error = NULL;
    struct usage_summary summary;
    struct problem problem;
    g_autoptr(SjdbWriter) writer = sjdb_writer_new(path);
    g_assert_true(problem_key_parse(ONE, &problem, NULL));
    g_assert_true(sjdb_writer_add_find(writer, &problem, entries, G_N_ELEMENTS(entries), &error));
    g_assert_true(sjdb_writer_finish(writer, &error));
    add_key(usage, "net", ONE, 3);
    add_key(usage, "net", TWO, 1);
    g_assert_true(usage_read_db(usage, path, false, &error));
    g_assert_no_error(error);
    usage_sum(usage, &summary);
    expect_shares(&summary.all, "Fast 1 3 1.5 1 1");
    g_assert_cmpuint(summary.gaps->len, ==, 1);
    usage_summary_clear(&summary);
}

static void a_damaged_sjdb_is_refused_by_name(void)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    const char *path = temp_folder_path(folder, "a.sjdb");
    g_autoptr(Usage) usage = usage_new();
    g_autoptr(GError) error = NULL;
    g_autofree char *bytes = NULL;
    gsize length = 0;
    g_autoptr(SjdbWriter) writer = sjdb_writer_new(path);
    g_assert_true(sjdb_writer_finish(writer, &error));
    g_assert_true(g_file_get_contents(path, &bytes, &length, NULL));
    temp_folder_write(folder, "a.sjdb", bytes, (gssize)length - 1);
    g_assert_false(usage_read_db(usage, path, false, &error));
    g_assert_nonnull(strstr(error->message, "a.sjdb"));
}

static void files_without_use_are_refused_by_name(void)
{
    static const struct {
        bool list;
        const char *name, *text; /* NULL: not there */
        const char *words;
    } cases[] = {
        {false, "missing.fdb.txt", NULL, "missing.fdb.txt"},
        {false, "empty.fdb.txt", "", "no line of"},
        {false, "x.db", "SQLite format 3", "no line of"},
        {false, "keys.txt", ONE "\n", "no line of"},
        {false, "a.db.txt", "2x8x8x8x1x3x3x1x8x1x1x1x0x1x1x0x1x1x0x0x1xNCHWxFP32xF=A:1\n",
         "is a perf-db text and has no times"},
        {true, "missing.txt", NULL, "missing.txt"},
        {true, "nothing.txt", "# nothing\nv -n 1\n", "there is no problem in"},
    };
    g_autoptr(TempFolder) folder = temp_folder_new();
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(Usage) usage = usage_new();
        g_autoptr(GError) error = NULL;
        const char *path = cases[i].text == NULL
                               ? temp_folder_path(folder, cases[i].name)
                               : temp_folder_write(folder, cases[i].name, cases[i].text, -1);
        g_assert_false(cases[i].list ? usage_read_list(usage, path, &as_they_are, &error)
                                     : usage_read_db(usage, path, false, &error));
        g_assert_nonnull(error);
        g_assert_nonnull(strstr(error->message, cases[i].words));
        g_assert_nonnull(strstr(error->message, cases[i].name));
    }
}

static json_t *printed(Usage *usage)
{
    struct usage_summary summary;
    usage_sum(usage, &summary);
    json_t *json = usage_json(&summary);
    usage_summary_clear(&summary);
    return json;
}

static void json_names_solvers_and_gaps(void)
{
    g_autoptr(Usage) usage = usage_new();
    const char *network, *name, *solver, *problem, *reason;
    int problems, covered, wins, networks, multiplicity;
    double share;
    add_key(usage, "net\xff", ONE, 1);
    add_key(usage, "net\xff", TWO, 3);
    add_time(usage, ONE, "Direct<1>", 0.25);
    add_time(usage, TWO, "Direct<1>", 0);
    json_t *json = printed(usage);
    g_assert_cmpint(json_unpack(json, "{s:[{s:s, s:i, s:i}], s:[{s:s, s:i, s:f, s:i}]}", "networks",
                                "network", &network, "problems", &problems, "covered", &covered,
                                "solvers", "solver", &solver, "wins", &wins, "time_share", &share,
                                "networks", &networks),
                    ==, 0);
    g_assert_cmpstr(solver, ==, "Direct<1>");
    g_assert_true(problems == 2 && covered == 1 && wins == 1 && networks == 1 && share == 1);
    g_assert_cmpint(json_unpack(json, "{s:[{s:s, s:s, s:i, s:s}]}", "uncovered", "network", &name,
                                "problem", &problem, "multiplicity", &multiplicity, "reason",
                                &reason),
                    ==, 0);
    g_assert_cmpstr(name, ==, network);
    g_assert_cmpstr(problem, ==, TWO);
    g_assert_cmpint(multiplicity, ==, 3);
    g_assert_cmpstr(reason, ==, "no time over 0");
    json_decref(json);
}

static int run_words(const char *words)
{
    g_auto(GStrv) argv = g_strsplit(words, " ", -1);
    return command_usage((int)g_strv_length(argv), argv);
}

static void exit_status_says_how_it_went(void)
{
    static const struct {
        const char *words; /* D: the folder */
        int status;
    } cases[] = {
        {"usage", 2},
        {"usage --problems D/l.txt", 2},
        {"usage --db D/a.fdb.txt", 0},
        {"usage --campaign -1 --problems D/l.txt", 2},
        {"usage --campaign 1,x --problems D/l.txt", 2},
        {"usage --golden gfx90a68:x", 2},
        {"usage --db D/a.fdb.txt --batch 4", 2},
        {"usage --db D/a.fdb.txt --problems D/l.txt --network a --network b", 2},
        {"usage --db D/a.fdb.txt --by colour", 2},
        {"usage --db D/a.fdb.txt --by type,source --json", 0},
        {"usage --db D/a.fdb.txt --without Missing", 2},
        {"usage --db D/a.fdb.txt --without A,ConvDirect*", 0},
        {"usage --db D/a.fdb.txt --without each", 0},
        {"usage --db D/a.fdb.txt --smallest -3", 2},
        {"usage --db D/a.fdb.txt --smallest 3 --effort 0", 2},
        {"usage --db D/a.fdb.txt --smallest 3", 0},
        {"usage --db D/a.fdb.txt --unused --naive --narrow --convert --json", 0},
        {"usage --db D/a.fdb.txt --narrow --within -1", 2},
        {"usage --db D/a.fdb.txt --convert --gain 0.5", 2},
        {"usage --db D/a.fdb.txt --cache D/a.fdb.txt", 2},
        {"usage --db D/a.fdb.txt --cold", 1},
        {"usage --db D/a.fdb.txt --runs D/runs.csv", 0},
        {"usage --db D/a.fdb.txt --runs D/none", 1},
        {"usage D/a.fdb.txt", 2},
        {"usage --json D/a.fdb.txt --db D/a.fdb.txt --problems D/l.txt", 2},
        {"usage --db D/a.fdb.txt D/a.fdb.txt --problems D/l.txt D/l.txt --json", 0},
        {"usage --problems=D/l.txt --db D/a.fdb.txt --db D/a.fdb.txt", 0},
        {"usage --db D/a.fdb.txt D/none --problems D/l.txt", 1},
        {"usage --db D/a.fdb.txt --problems D/none D/l.txt", 1},
    };
    g_autoptr(TempFolder) folder = temp_folder_new();
    g_autofree char *dir = g_path_get_dirname(temp_folder_path(folder, "x"));
    temp_folder_write(folder, "a.fdb.txt", ONE "=A:1,0," GEMM "\n", -1);
    temp_folder_write(folder, "l.txt", ONE "\n", -1);
    temp_folder_write(folder, "runs.csv", "network,runs\na,3\n", -1);
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_auto(GStrv) parts = g_strsplit(cases[i].words, "D/", -1);
        g_autofree char *with = g_strconcat(dir, "/", NULL);
        g_autofree char *words = g_strjoinv(with, parts);
        g_test_message("%s", words);
        g_assert_cmpint(run_words(words), ==, cases[i].status);
    }
}

/* ---- campaigns ---- */

static void campaign_is_its_own_network_or_answers_lists(void)
{
    const struct order order = {.jobs = 2};
    struct farm farm;
    farm_init(&farm, &order);
    farm_work(&farm, 0, false, 1); /* measures the first job (8 channels) alone: 2 ms */
    for (int own = 0; own < 2; own++) {
        g_autoptr(Usage) usage = usage_new();
        g_autoptr(GError) error = NULL;
        struct usage_summary summary;
        if (own == 0) {
            add_key(usage, "list", ONE, 5);
        }
        struct usage_database database = {.store = farm.store, .partial = own == 0};
        g_assert_true(own == 0 || usage_own_campaign(usage, &database, farm.campaign, &error));
        g_assert_true(usage_read_campaign(usage, &database, farm.campaign, &error));
        usage_database_clear(&database);
        g_assert_no_error(error);
        usage_sum(usage, &summary);
        expect_shares(&summary.all, own == 1 ? "ConvTest 1 1 2 1 1" : "ConvTest 1 5 10 1 1");
        g_assert_cmpint(summary.all.layers, ==, own == 1 ? 3 : 5);
        g_assert_cmpuint(summary.gaps->len, ==, own == 1);
        usage_summary_clear(&summary);
    }
    g_autoptr(Usage) usage = usage_new();
    g_autoptr(GError) error = NULL;
    struct usage_database database = {.store = farm.store};
    g_assert_false(usage_read_campaign(usage, &database, 999, &error));
    g_assert_error(error, STORE_ERROR, STORE_ERROR_NOT_FOUND);
    farm_clear(&farm);
}

/* ---- golden versions ---- */

/* A golden version must have its kernels' code: stores the one kernel of the test. */
static void put_kernel(struct farm *farm)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *key = g_strdup_printf("%064d", 0);
    char none[] = "";
    struct kernel_row row = {.key = key, .log = none, .code = g_bytes_new_static("code", 4)};
    row.built_by = farm->workers[0];
    g_assert_true(store_put_kernel(farm->store, &row, &error));
    g_assert_no_error(error);
    g_bytes_unref(row.code);
}

static void make_golden(struct farm *farm)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GPtrArray) results =
        store_list_judged_results(farm->store, farm->campaign, NULL, NULL, NULL, &error);
    int version = 0;
    bool is_new;
    const struct result *first = results->pdata[0];
    const struct golden_take take = {first->job, first->rank, first->rank,
                                     first->kept.outcome.median_ms, "new problem"};
    int64_t asked = 0;
    g_assert_true(store_ask_golden(farm->store, &take, 1, &asked, &error));
    const struct golden_proposal proposal = {.target = "gfx90a68",
                                             .campaign = farm->campaign,
                                             .by = "Ann",
                                             .note = "",
                                             .asked = asked,
                                             .take_count = 1,
                                             .counts = "{}"};
    g_assert_true(store_propose_golden(farm->store, &proposal, &version, &is_new, &error));
    g_assert_true(store_approve_golden(farm->store, "gfx90a68", version, "Bob", &error));
    g_assert_no_error(error);
}

static void golden_version_is_its_own_network_or_answers_lists(void)
{
    const struct order order = {.jobs = 2};
    g_autoptr(GError) error = NULL;
    struct farm farm;
    farm_init(&farm, &order);
    put_kernel(&farm);
    farm_work(&farm, 0, false, 1);
    g_autoptr(Usage) none = usage_new();
    struct usage_database database = {.store = farm.store};
    g_assert_false(usage_own_golden(none, &database, "gfx90a68", 0, &error));
    g_assert_error(error, EXPORT_ERROR, EXPORT_ERROR_EMPTY);
    g_clear_error(&error);
    make_golden(&farm);
    for (int own = 0; own < 2; own++) {
        g_autoptr(Usage) usage = usage_new();
        struct usage_summary summary;
        if (own == 0) {
            add_key(usage, "list", ONE, 5);
        }
        /* once the newest version, once version 1 */
        g_assert_true(own == 0 || usage_own_golden(usage, &database, "gfx90a68", own, &error));
        database.partial = own == 0;
        g_assert_true(usage_read_golden(usage, &database, "gfx90a68", own, &error));
        g_assert_no_error(error);
        usage_sum(usage, &summary);
        expect_shares(&summary.all, own == 1 ? "ConvTest 1 1 2 1 1" : "ConvTest 1 5 10 1 1");
        usage_summary_clear(&summary);
        usage_database_clear(&database);
    }
    farm_clear(&farm);
}

/* ---- what MIOpen ships ---- */

static void shipped_files_cover_the_counts_known(void)
{
    static const struct {
        const char *list, *file;
        int problems, covered;
    } cases[] = {
        {"resnet152.txt", "gfx942130.HIP.fdb.txt.bz2", 59, 48},
        {"resnet152.txt", "gfx1030_36.HIP.fdb.txt.bz2", 59, 59},
        {"Resnet50_v1.5_FP16_BS256.txt", "gfx942130.HIP.fdb.txt.bz2", 131, 68},
        {"Resnet50_v1.5_FP16_BS256.txt", "gfx1030_36.HIP.fdb.txt.bz2", 131, 130},
    };
    g_autofree char *lists = real_data("problems");
    g_autofree char *databases = lists != NULL ? real_data("miopen") : NULL;
    if (databases == NULL) {
        return;
    }
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(Usage) usage = usage_new();
        g_autoptr(GError) error = NULL;
        struct usage_summary summary;
        g_autofree char *list = g_build_filename(lists, cases[i].list, NULL);
        g_autofree char *file = g_build_filename(databases, cases[i].file, NULL);
        g_assert_true(usage_read_list(usage, list, &as_they_are, &error));
        g_assert_true(usage_read_db(usage, file, false, &error));
        g_assert_no_error(error);
        usage_sum(usage, &summary);
        g_assert_cmpint(summary.all.problems, ==, cases[i].problems);
        g_assert_cmpint(summary.all.covered, ==, cases[i].covered);
        usage_summary_clear(&summary);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/usage/winners_are_weighted_by_multiplicity_and_time",
                    winners_are_weighted_by_multiplicity_and_time);
    g_test_add_func("/usage/only_times_over_zero_win", only_times_over_zero_win);
    g_test_add_func("/usage/both_grammars_answer_lists_of_every_kind",
                    both_grammars_answer_lists_of_every_kind);
    g_test_add_func("/usage/a_sjdb_answers_too", a_sjdb_answers_too);
    g_test_add_func("/usage/a_damaged_sjdb_is_refused_by_name", a_damaged_sjdb_is_refused_by_name);
    g_test_add_func("/usage/files_without_use_are_refused_by_name",
                    files_without_use_are_refused_by_name);
    g_test_add_func("/usage/json_names_solvers_and_gaps", json_names_solvers_and_gaps);
    g_test_add_func("/usage/exit_status_says_how_it_went", exit_status_says_how_it_went);
    g_test_add_func("/usage/campaign_is_its_own_network_or_answers_lists",
                    campaign_is_its_own_network_or_answers_lists);
    g_test_add_func("/usage/golden_version_is_its_own_network_or_answers_lists",
                    golden_version_is_its_own_network_or_answers_lists);
    g_test_add_func("/usage/shipped_files_cover_the_counts_known",
                    shipped_files_cover_the_counts_known);
    return g_test_run();
}
