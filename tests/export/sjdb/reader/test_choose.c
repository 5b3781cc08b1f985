#include "export/sjdb/reader/choose.h"
#include "export/sjdb/sjdb_write.h"
#include "tests/support/export/held_out.h"
#include "tests/support/export/real_data.h"
#include "tests/support/export/sjdb_bytes.h"
#include "tests/support/random_problem.h"
#include "tests/support/test_effort.h"

#include <math.h>
#include <string.h>

#define ASKED   "64-56-56-3x3-64-56-56-16-1x1-1x1-1x1-0-NCHW-FP32-F"
#define N32     "64-56-56-3x3-64-56-56-32-1x1-1x1-1x1-0-NCHW-FP32-F"
#define ENTRIES 4

/* An entry of a database. Rows with the same key are adjacent in the array. */
struct row {
    const char *key, *solver;
    double time_ms;
    uint64_t workspace_bytes;
};

/* Marks solvers named "Dynamic..." as dynamic and "Static..." as not dynamic; nothing is recorded
 * of other names. */
static void set_solver(SjdbWriter *writer, const char *name)
{
    if (g_str_has_prefix(name, "Dynamic") || g_str_has_prefix(name, "Static")) {
        sjdb_writer_set_solver(writer, name, 3, sjdb_known_flags(name[0] == 'D', true));
    }
}

static skipjackdb *make_db(TempFolder *folder, const char *name, const struct row *rows,
                           gsize count)
{
    const char *path = temp_folder_path(folder, name);
    g_autoptr(SjdbWriter) writer = sjdb_writer_new(path);
    skipjackdb *db = NULL;
    for (gsize first = 0, end = 0; first < count && rows[first].key != NULL; first = end) {
        struct sjdb_find_entry entries[ENTRIES];
        struct problem problem;
        gsize made = 0;
        for (; end < count && g_strcmp0(rows[end].key, rows[first].key) == 0; end++) {
            entries[made++] =
                (struct sjdb_find_entry){.solver = rows[end].solver,
                                         .algorithm = "Algo",
                                         .time_ms = rows[end].time_ms,
                                         .workspace_bytes = rows[end].workspace_bytes};
            set_solver(writer, rows[end].solver);
        }
        g_assert_true(problem_key_parse(rows[first].key, &problem, NULL));
        g_assert_true(sjdb_writer_add_find(writer, &problem, entries, made, NULL));
    }
    g_assert_true(sjdb_writer_finish(writer, NULL));
    g_assert_cmpint(skipjackdb_open(path, &db), ==, SKIPJACKDB_OK);
    return db;
}

static struct skipjackdb_problem problem_of(const char *key)
{
    struct skipjackdb_problem problem = {.size = sizeof problem};
    g_assert_cmpint(skipjackdb_problem_parse(key, &problem), ==, SKIPJACKDB_OK);
    return problem;
}

/* Asks for a choice and asserts the returned code; the caller compares the choice's fields. */
static struct skipjackdb_choice choose(skipjackdb *const *dbs, size_t count, const char *key,
                                       const struct skipjackdb_rules *rules, int expected)
{
    struct skipjackdb_choice choice = {.size = sizeof choice};
    struct skipjackdb_problem problem = problem_of(key);
    g_assert_cmpint(skipjackdb_choose(dbs, count, &problem, rules, &choice, NULL), ==, expected);
    g_assert_cmpuint(choice.size, ==, sizeof choice);
    return choice;
}

static struct skipjackdb_rules any_rules(void)
{
    return (struct skipjackdb_rules){.size = sizeof(struct skipjackdb_rules),
                                     .workspace_bytes = UINT64_MAX};
}

/* ---- problems that the database holds ---- */

static void held_problem_is_answered_by_the_fastest_within_the_rules(void)
{
    static const struct row rows[] = {
        {ASKED, "DynamicSlow", 4, 0},
        {ASKED, "StaticFast", 1, 1000},
        {ASKED, "Unknown", 2, 10},
        {ASKED, "Never", 0, 0},
    };
    static const struct {
        uint64_t workspace_bytes;
        int32_t mode;
        const char *solver, *later;
    } cases[] = {
        {UINT64_MAX, SKIPJACKDB_NORMAL, "StaticFast", NULL},
        {1000, SKIPJACKDB_NORMAL, "StaticFast", NULL},
        {999, SKIPJACKDB_NORMAL, "Unknown", NULL},
        {9, SKIPJACKDB_NORMAL, "DynamicSlow", NULL},
        {UINT64_MAX, SKIPJACKDB_FAST, "DynamicSlow", NULL},
        {UINT64_MAX, SKIPJACKDB_HYBRID, "DynamicSlow", "StaticFast"},
        {999, SKIPJACKDB_HYBRID, "DynamicSlow", "Unknown"},
        {0, SKIPJACKDB_HYBRID, "DynamicSlow", NULL},
    };
    g_autoptr(TempFolder) folder = temp_folder_new();
    skipjackdb *db = make_db(folder, "a.sjdb", rows, G_N_ELEMENTS(rows));
    struct skipjackdb_problem problem = problem_of(ASKED);
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        struct skipjackdb_rules rules = any_rules();
        struct skipjackdb_choice choice = {.size = sizeof choice}, later = {.size = sizeof later};
        rules.workspace_bytes = cases[i].workspace_bytes;
        rules.mode = cases[i].mode;
        g_assert_cmpint(skipjackdb_choose(&db, 1, &problem, &rules, &choice, &later), ==,
                        SKIPJACKDB_OK);
        g_assert_cmpstr(choice.solver, ==, cases[i].solver);
        g_assert_cmpint(choice.how, ==, SKIPJACKDB_EXACT);
        g_assert_cmpuint(choice.marks, ==, 0);
        g_assert_cmpstr(later.solver, ==, cases[i].later);
        g_assert_cmpint(later.how, ==,
                        cases[i].later != NULL ? SKIPJACKDB_EXACT : SKIPJACKDB_NOWHERE);
    }
    skipjackdb_close(db);
}

static void hybrid_without_a_dynamic_solver_compiles_the_fastest(void)
{
    static const struct row rows[] = {{ASKED, "StaticFast", 1, 0}};
    g_autoptr(TempFolder) folder = temp_folder_new();
    skipjackdb *db = make_db(folder, "a.sjdb", rows, G_N_ELEMENTS(rows));
    struct skipjackdb_rules rules = any_rules();
    rules.mode = SKIPJACKDB_HYBRID;
    g_assert_cmpstr(choose(&db, 1, ASKED, &rules, SKIPJACKDB_OK).solver, ==, "StaticFast");
    rules.mode = SKIPJACKDB_FAST;
    choose(&db, 1, ASKED, &rules, SKIPJACKDB_NOT_FOUND);
    skipjackdb_close(db);
}

/* ---- other targets ---- */

static void same_architecture_counts_more_and_another_less_than_the_nearest_problem(void)
{
    static const struct row own[] = {{N32, "Near", 1, 0}, {N32, "Exact", 3, 0}};
    static const struct row other[] = {{ASKED, "Exact", 2, 7}};
    static const struct {
        uint32_t near;
        int how;
        const char *solver;
        uint64_t db;
        uint32_t marks;
    } cases[] = {
        {0, SKIPJACKDB_NEAREST, "Near", 0,
         SKIPJACKDB_UNCHECKED | SKIPJACKDB_TIME_SCALED | SKIPJACKDB_WORKSPACE_SCALED},
        {1, SKIPJACKDB_NEAREST, "Near", 0,
         SKIPJACKDB_UNCHECKED | SKIPJACKDB_TIME_SCALED | SKIPJACKDB_WORKSPACE_SCALED},
        {2, SKIPJACKDB_OTHER_TARGET, "Exact", 1, SKIPJACKDB_UNCHECKED | SKIPJACKDB_TIME_FOREIGN},
        {9, SKIPJACKDB_OTHER_TARGET, "Exact", 1, SKIPJACKDB_UNCHECKED | SKIPJACKDB_TIME_FOREIGN},
    };
    g_autoptr(TempFolder) folder = temp_folder_new();
    skipjackdb *dbs[] = {make_db(folder, "a.sjdb", own, G_N_ELEMENTS(own)),
                         make_db(folder, "b.sjdb", other, G_N_ELEMENTS(other))};
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        struct skipjackdb_rules rules = any_rules();
        rules.near = cases[i].near;
        struct skipjackdb_choice choice = choose(dbs, 2, ASKED, &rules, SKIPJACKDB_OK);
        g_assert_cmpint(choice.how, ==, cases[i].how);
        g_assert_cmpstr(choice.solver, ==, cases[i].solver);
        g_assert_cmpuint(choice.db, ==, cases[i].db);
        g_assert_cmpuint(choice.marks, ==, cases[i].marks);
    }
    skipjackdb_close(dbs[0]);
    skipjackdb_close(dbs[1]);
}

static int say(void *user, const struct skipjackdb_problem *problem,
               struct skipjackdb_candidate *candidate)
{
    (void)problem;
    (void)candidate;
    return *(const int *)user;
}

static void solver_that_the_target_does_not_know_needs_the_callers_word(void)
{
    static const struct row own[] = {{"8-8-8-1x1-8-8-8-1-0x0-1x1-1x1-0-NCHW-FP16-W", "Own", 1, 0}};
    static const struct row other[] = {{ASKED, "Foreign", 1, 0}, {ASKED, "Own", 3, 0}};
    static const struct {
        int answer;
        const char *solver;
    } cases[] = {{SKIPJACKDB_UNSURE, "Own"}, {SKIPJACKDB_YES, "Foreign"}, {SKIPJACKDB_NO, NULL}};
    g_autoptr(TempFolder) folder = temp_folder_new();
    skipjackdb *dbs[] = {make_db(folder, "a.sjdb", own, G_N_ELEMENTS(own)),
                         make_db(folder, "b.sjdb", other, G_N_ELEMENTS(other))};
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        struct skipjackdb_rules rules = any_rules();
        int answer = cases[i].answer;
        rules.applicable = say;
        rules.user = &answer;
        struct skipjackdb_choice choice = choose(
            dbs, 2, ASKED, &rules, cases[i].solver != NULL ? SKIPJACKDB_OK : SKIPJACKDB_NOT_FOUND);
        g_assert_cmpstr(choice.solver, ==, cases[i].solver);
        g_assert_cmpint(choice.how, ==,
                        cases[i].solver != NULL ? SKIPJACKDB_OTHER_TARGET : SKIPJACKDB_NOWHERE);
    }
    /* Where no database of the target is given, the other target's entries are not held to be
     * foreign. */
    skipjackdb *without[] = {NULL, dbs[1]};
    g_assert_cmpstr(choose(without, 2, ASKED, NULL, SKIPJACKDB_OK).solver, ==, "Foreign");
    skipjackdb_close(dbs[0]);
    skipjackdb_close(dbs[1]);
}

/* ---- the nearest problem ---- */

/* Each problem has its own solver, so the chosen solver shows which problem counted as the
 * nearest. */
#define POOLED "pool(max)-64-56-56-3x3-64-56-56-16-1x1-1x1-1x1-0-NCHW-FP32-F"
static void nearest_problem_follows_the_rules(void)
{
    static const struct {
        const char *asked, *held;
        double distance; /* -1: it is none */
    } cases[] = {
        {ASKED, "64-56-56-3x3-64-56-56-32-1x1-1x1-1x1-0-NCHW-FP32-F", 1},
        {ASKED, "64-56-56-3x3-256-56-56-32-1x1-1x1-1x1-0-NCHW-FP32-F", 3},
        {ASKED, "64-28-56-3x3-64-28-56-16-1x1-1x1-1x1-0-NCHW-FP32-F", 1},
        {ASKED, "96-56-56-3x3-64-56-56-16-1x1-1x1-1x1-0-NCHW-FP32-F", 0.5},
        {ASKED, "64-56-56-3x3-64-54-56-16-0x1-1x1-1x1-0-NCHW-FP32-F", 1},
        {ASKED, "64-56-56-3x3-64-56-56-16-1x1-1x1-1x1-1-NCHW-FP32-F", 1},
        {ASKED, "64-56-56-5x5-64-56-56-16-2x2-1x1-1x1-0-NCHW-FP32-F", 18},
        {ASKED, "64-56-56-3x3-64-28-28-16-1x1-2x2-1x1-0-NCHW-FP32-F", 16},
        {ASKED, "64-56-56-3x3-64-56-56-16-2x2-1x1-2x2-0-NCHW-FP32-F", 18},
        {ASKED, "64-56-56-3x3-64-56-56-16-1x1-1x1-1x1-0-NCHW-FP32-F_g2", 9},
        {ASKED, "64-56-56-3x3-64-56-56-16-1x1-1x1-1x1-0-NCHW-FP32-F+bias+relu", 2},
        {ASKED "+bias+relu", ASKED, 2},
        {ASKED "+bias+relu", "64-56-56-3x3-64-56-56-32-1x1-1x1-1x1-0-NCHW-FP32-F+bias+relu", 1},
        {ASKED "+bias+relu", "64-56-56-3x3-64-56-56-32-1x1-1x1-1x1-0-NCHW-FP32-F+tanh", 3},
        {POOLED, "pool(max)-64-56-56-3x3-64-56-56-32-1x1-1x1-1x1-0-NCHW-FP32-F", 1},
        {POOLED, POOLED "+relu", 2},
        {POOLED, POOLED "_sx300000x3136x0x56x1", 1},
        {POOLED "_sx300001x3136x0x56x1+relu", POOLED "_sx300000x3136x0x56x1", 3},
        {POOLED, "pool(average)-64-56-56-3x3-64-56-56-16-1x1-1x1-1x1-0-NCHW-FP32-F", -1},
        {POOLED, ASKED, -1},
        {ASKED, POOLED, -1},
        {ASKED, "64-56-56-3x3-64-56-56-16-1x1-1x1-1x1-0-NCHW-FP32-B", -1},
        {ASKED, "64-56-56-3x3-64-56-56-16-1x1-1x1-1x1-0-NCHW-FP16-F", -1},
        {ASKED, "64-56-56-3x3-64-56-56-16-1x1-1x1-1x1-0-NHWC-NHWC-NHWC-FP32-F", -1},
        {ASKED, "64-56-56-3x3-64-56-56-16-1x1-1x1-1x1-0-NCHW-FP32-F_ciFP8", -1},
        {ASKED, "64-1-56-56-1x3x3-64-1-56-56-16-0x1x1-1x1x1-1x1x1-0-NCDHW-FP32-F", -1},
    };
    g_autoptr(TempFolder) folder = temp_folder_new();
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        const struct row row = {cases[i].held, "A", 1, 0};
        skipjackdb *db = make_db(folder, "a.sjdb", &row, 1);
        struct skipjackdb_choice choice =
            choose(&db, 1, cases[i].asked, NULL,
                   cases[i].distance >= 0 ? SKIPJACKDB_OK : SKIPJACKDB_NOT_FOUND);
        if (cases[i].distance >= 0) {
            g_assert_cmpfloat(choice.distance, ==, cases[i].distance);
            g_assert_cmpint(choice.how, ==, SKIPJACKDB_NEAREST);
        }
        skipjackdb_close(db);
    }
}

static void votes_weigh_distance_and_time(void)
{
    /* The nearest problem's winner is outvoted neither by a problem further away nor by its own
     * runner-up. */
    static const struct row rows[] = {
        {"64-56-56-3x3-64-56-56-32-1x1-1x1-1x1-0-NCHW-FP32-F", "Near", 1, 0},
        {"64-56-56-3x3-64-56-56-32-1x1-1x1-1x1-0-NCHW-FP32-F", "Second", 2, 0},
        {"64-56-56-3x3-64-56-56-256-1x1-1x1-1x1-0-NCHW-FP32-F", "Far", 1, 0},
        /* Two problems together outvote it: 0.5/1.5 (Second is half as fast there) + 1/2.5 >
         * 1/1.5. */
        {"64-56-56-3x3-64-56-56-64-1x1-1x1-1x1-0-NCHW-FP32-F", "Second", 1, 0},
    };
    g_autoptr(TempFolder) folder = temp_folder_new();
    skipjackdb *few = make_db(folder, "a.sjdb", rows, 3);
    skipjackdb *more = make_db(folder, "b.sjdb", rows, 4);
    g_assert_cmpstr(choose(&few, 1, ASKED, NULL, SKIPJACKDB_OK).solver, ==, "Near");
    g_assert_cmpstr(choose(&more, 1, ASKED, NULL, SKIPJACKDB_OK).solver, ==, "Second");
    skipjackdb_close(few);
    skipjackdb_close(more);
}

static void time_is_scaled_by_operations_and_workspace_by_tensors(void)
{
    static const struct {
        const char *held;
        double time_ms;
        uint64_t workspace_bytes;
    } cases[] = {
        {"64-56-56-3x3-64-56-56-8-1x1-1x1-1x1-0-NCHW-FP32-F", 2, 200},
        {"64-56-56-3x3-64-56-56-32-1x1-1x1-1x1-0-NCHW-FP32-F", 0.5, 100},
        {"32-56-56-3x3-64-56-56-16-1x1-1x1-1x1-0-NCHW-FP32-F", 2, 200},
        {"32-56-56-3x3-32-56-56-16-1x1-1x1-1x1-0-NCHW-FP32-F", 4, 400},
    };
    g_autoptr(TempFolder) folder = temp_folder_new();
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        const struct row row = {cases[i].held, "A", 1, 100};
        skipjackdb *db = make_db(folder, "a.sjdb", &row, 1);
        struct skipjackdb_rules rules = any_rules();
        rules.workspace_bytes = cases[i].workspace_bytes;
        struct skipjackdb_choice choice = choose(&db, 1, ASKED, &rules, SKIPJACKDB_OK);
        g_assert_cmpfloat_with_epsilon(choice.time_ms, cases[i].time_ms, 1e-9);
        g_assert_cmpuint(choice.workspace_bytes, ==, cases[i].workspace_bytes);
        rules.workspace_bytes--;
        choose(&db, 1, ASKED, &rules, SKIPJACKDB_NOT_FOUND);
        skipjackdb_close(db);
    }
}

/* An independent implementation of the rules of distance. */
static double size_distance(int64_t one, int64_t other)
{
    int a = 0, b = 0;
    double x = 2 * frexp((double)MAX(one, 1), &a), y = 2 * frexp((double)MAX(other, 1), &b);
    return fabs(floor((x - 1) * 65536) / 65536 + a - (floor((y - 1) * 65536) / 65536 + b));
}

static double plain_distance(const struct skipjackdb_problem *p, const struct skipjackdb_problem *q)
{
    if (p->direction != q->direction || p->spatial_dim != q->spatial_dim ||
        memcmp(p->type, q->type, sizeof p->type) != 0 ||
        memcmp(p->layout, q->layout, sizeof p->layout) != 0 ||
        memcmp(p->cast, q->cast, sizeof p->cast) != 0) {
        return INFINITY;
    }
    double distance = size_distance(p->n, q->n) + size_distance(p->c, q->c) +
                      size_distance(p->k, q->k) + size_distance(p->groups, q->groups);
    for (int a = 0; a < 3; a++) {
        distance += size_distance(p->in[a], q->in[a]) + 8 * (p->fil[a] != q->fil[a]) +
                    8 * (p->stride[a] != q->stride[a]) + 8 * (p->dilation[a] != q->dilation[a]) +
                    (p->pad[a] != q->pad[a]);
    }
    int one = p->groups == 1 ? 0 : p->groups == p->c ? 1 : 2;
    int other = q->groups == 1 ? 0 : q->groups == q->c ? 1 : 2;
    return distance + 8 * (one != other) + (p->bias != q->bias) +
           2 * (strcmp(p->epilogue, q->epilogue) != 0);
}

static int compare_doubles(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static void assert_nearest(const skipjackdb *db, const struct skipjackdb_problem *asked)
{
    struct sjdb_neighbours found;
    guint count = (guint)skipjackdb_problem_count(db), near = 0;
    g_autofree double *distances = g_new(double, count);
    for (guint i = 0; i < count; i++) {
        struct skipjackdb_problem problem = {.size = sizeof problem};
        g_assert_cmpint(skipjackdb_problem_at(db, i, &problem), ==, SKIPJACKDB_OK);
        distances[near] = plain_distance(asked, &problem);
        near += distances[near] < INFINITY;
    }
    qsort(distances, near, sizeof distances[0], compare_doubles);
    g_assert_cmpint(sjdb_nearest(db, asked, false, &found), ==, SKIPJACKDB_OK);
    g_assert_cmpuint(found.count, ==, MIN(near, SJDB_NEIGHBOURS));
    for (guint i = 0; i < found.count; i++) {
        struct skipjackdb_problem problem = {.size = sizeof problem};
        skipjackdb_problem_at(db, found.list[i].number, &problem);
        double distance = (double)found.list[i].distance / SJDB_DISTANCE_UNIT;
        g_assert_cmpfloat(distance, ==, distances[i]);
        g_assert_cmpfloat(distance, ==, plain_distance(asked, &problem));
    }
}

static struct skipjackdb_problem random_asked(GRand *random, char key[PROBLEM_KEY_MAX])
{
    struct random_limits limits;
    struct problem problem;
    random_limits_small(&limits);
    limits.types = 1U << TYPE_FP32 | 1U << TYPE_FP16;
    limits.bias = true;
    random_problem(random, &limits, &problem);
    return problem_of(problem_key(&problem, key));
}

static void nearest_problems_equal_an_exhaustive_search(void)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    g_autoptr(GRand) random = g_rand_new_with_seed(3);
    g_autoptr(GHashTable) keys = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    g_autoptr(GArray) rows = g_array_new(FALSE, FALSE, sizeof(struct row));
    char key[PROBLEM_KEY_MAX];
    for (int i = 0; i < 2000; i++) {
        random_asked(random, key);
        struct row row = {g_strdup(key), "A", 1, 0};
        if (g_hash_table_add(keys, (char *)row.key)) {
            g_array_append_val(rows, row);
        }
    }
    skipjackdb *db = make_db(folder, "a.sjdb", (const struct row *)rows->data, rows->len);
    for (int i = 0; i < test_effort(50); i++) {
        struct skipjackdb_problem asked = random_asked(random, key);
        assert_nearest(db, &asked);
    }
    skipjackdb_close(db);
}

/* ---- keys withheld from a shipped find-db ---- */

static void held_out_keys_get_the_fastest_solver_mostly(void)
{
    g_autofree char *data = real_data("miopen");
    if (data == NULL) {
        return;
    }
    g_autoptr(TempFolder) folder = temp_folder_new();
    g_autofree char *path = g_build_filename(data, "gfx942130.HIP.fdb.txt.bz2", NULL);
    struct held_out held;
    struct held_tally tally;
    held_out_init(&held, folder, path, true);
    held_tally_init(&tally);
    for (guint i = 0; i < held.problems->len; i++) {
        struct skipjackdb_choice choice = {.size = sizeof choice};
        int code = skipjackdb_choose(&held.rest, 1,
                                     &g_array_index(held.problems, struct skipjackdb_problem, i),
                                     NULL, &choice, NULL);
        g_assert_cmpint(choice.how, ==,
                        code == SKIPJACKDB_OK ? SKIPJACKDB_NEAREST : SKIPJACKDB_NOWHERE);
        held_tally_add(&tally, &held, i, choice.solver, choice.time_ms);
    }
    g_test_message("of %u keys the answer is the fastest for %u, measured for %u, there %.3f times "
                   "the fastest's time; the expected time is off by %.2f times",
                   tally.asked, tally.wins, tally.listed, held_tally_cost(&tally),
                   held_tally_error(&tally));
    g_assert_cmpuint(tally.asked, >, 500);
    g_assert_cmpuint(4 * tally.wins, >=, 3 * tally.asked);
    g_assert_cmpfloat(held_tally_cost(&tally), <=, 1.1);
    held_tally_clear(&tally);
    held_out_clear(&held);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/choose/held_problem_is_answered_by_the_fastest_within_the_rules",
                    held_problem_is_answered_by_the_fastest_within_the_rules);
    g_test_add_func("/choose/hybrid_without_a_dynamic_solver_compiles_the_fastest",
                    hybrid_without_a_dynamic_solver_compiles_the_fastest);
    g_test_add_func(
        "/choose/same_architecture_counts_more_and_another_less_than_the_nearest_problem",
        same_architecture_counts_more_and_another_less_than_the_nearest_problem);
    g_test_add_func("/choose/solver_that_the_target_does_not_know_needs_the_callers_word",
                    solver_that_the_target_does_not_know_needs_the_callers_word);
    g_test_add_func("/choose/nearest_problem_follows_the_rules", nearest_problem_follows_the_rules);
    g_test_add_func("/choose/votes_weigh_distance_and_time", votes_weigh_distance_and_time);
    g_test_add_func("/choose/time_is_scaled_by_operations_and_workspace_by_tensors",
                    time_is_scaled_by_operations_and_workspace_by_tensors);
    g_test_add_func("/choose/nearest_problems_equal_an_exhaustive_search",
                    nearest_problems_equal_an_exhaustive_search);
    g_test_add_func("/choose/held_out_keys_get_the_fastest_solver_mostly",
                    held_out_keys_get_the_fastest_solver_mostly);
    return g_test_run();
}
