/*
 * How good an answer of skipjackdb_choose() is for a problem that the database does not hold, and what it
 * costs. A tenth of a find-db of MIOpen's is held out, the rest is asked: how often the answer is the
 * solver that was measured as the fastest, how often one of the (at most four) that were measured, and the
 * time of these over the fastest's. Peers: the solver that wins most problems of the rest, that which wins
 * most of the same direction, types and filter, and any solver by chance. Last, how good an answer the file
 * of another architecture has for the very problem: why it is asked later. Files are MIOpen's own, of
 * SKIPJACK_DATA.
 */
#include "tests/support/export/held_out.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define SEED       5
/* the choice must name the fastest solver this many times as often as the best single solver
 * would */
#define GOAL_TIMES 2.0
#define GOAL_US    1000 /* a choice */
#define GOAL_EXACT 1000 /* the most ns of an answer where the database has the problem */

static bool all_met = true;

static const char *judge(bool met)
{
    all_met = all_met && met;
    return met ? "met" : "missed";
}

static double thread_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

/* How often each solver wins among all problems, and among problems of equal direction, types and
 * filter. */
struct winners {
    /* class (direction, types and filter) to a table that maps solvers to counts */
    GHashTable *classes;
    GPtrArray *solvers;
    GRand *random;
};

static char *class_of(const struct skipjackdb_problem *p, bool all)
{
    return all ? g_strdup("")
               : g_strdup_printf("%d %d %d %d %dx%dx%d", p->direction, p->type[0], p->type[2],
                                 p->layout[0], (int)p->fil[0], (int)p->fil[1], (int)p->fil[2]);
}

static void count_win(struct winners *winners, char *name, const char *solver)
{
    GHashTable *table = g_hash_table_lookup(winners->classes, name);
    if (table == NULL) {
        table = g_hash_table_new(g_str_hash, g_str_equal);
        g_hash_table_insert(winners->classes, g_strdup(name), table);
    }
    gpointer count = g_hash_table_lookup(table, solver);
    g_hash_table_insert(table, (char *)solver, GINT_TO_POINTER(GPOINTER_TO_INT(count) + 1));
    g_free(name);
}

static void winners_init(struct winners *winners, const skipjackdb *db)
{
    winners->classes = g_hash_table_new(g_str_hash, g_str_equal);
    winners->solvers = g_ptr_array_new();
    winners->random = g_rand_new_with_seed(SEED);
    for (uint64_t i = 0; i < skipjackdb_problem_count(db); i++) {
        struct skipjackdb_problem problem = {.size = sizeof problem};
        struct skipjackdb_entry best;
        if (skipjackdb_problem_at(db, i, &problem) == SKIPJACKDB_OK &&
            skipjackdb_best(db, i, NULL, &best, sizeof best) == SKIPJACKDB_OK) {
            count_win(winners, class_of(&problem, true), best.solver);
            count_win(winners, class_of(&problem, false), best.solver);
            if (!g_ptr_array_find(winners->solvers, best.solver, NULL)) {
                g_ptr_array_add(winners->solvers, (char *)best.solver);
            }
        }
    }
}

static const char *most_frequent(const struct winners *winners,
                                 const struct skipjackdb_problem *problem, bool all)
{
    GHashTableIter iter;
    gpointer solver, count;
    const char *best = NULL;
    int most = 0;
    g_autofree char *name = class_of(problem, all);
    GHashTable *table = g_hash_table_lookup(winners->classes, name);
    if (table == NULL) {
        return NULL;
    }
    g_hash_table_iter_init(&iter, table);
    while (g_hash_table_iter_next(&iter, &solver, &count)) {
        if (GPOINTER_TO_INT(count) > most) {
            most = GPOINTER_TO_INT(count);
            best = solver;
        }
    }
    return best;
}

enum peer { OURS, CLASS, ALL, CHANCE };
static const char *const peer_names[] = {"skipjackdb_choose", "most frequent of its kind",
                                         "most frequent of all", "by chance"};

static const char *ask_peer(enum peer peer, const struct held_out *held,
                            const struct winners *winners, const struct skipjackdb_problem *problem,
                            double *time_ms)
{
    if (peer == OURS) {
        struct skipjackdb_choice choice = {.size = sizeof choice};
        skipjackdb *dbs[] = {held->rest};
        int code = skipjackdb_choose(dbs, 1, problem, NULL, &choice, NULL);
        *time_ms = choice.time_ms;
        return code == SKIPJACKDB_OK ? choice.solver : NULL;
    }
    if (peer == CHANCE) {
        gint32 index = g_rand_int_range(winners->random, 0, (gint32)winners->solvers->len);
        return winners->solvers->pdata[index];
    }
    return most_frequent(winners, problem, peer == ALL);
}

static void bench_answers(const struct held_out *held, const char *what)
{
    struct winners winners;
    double ours = 0;
    winners_init(&winners, held->rest);
    printf("\n%u keys held out %s\n  %-28s %10s %12s %18s\n", held->problems->len, what, "",
           "the winner", "one measured", "its time over best");
    for (enum peer peer = OURS; peer <= CHANCE; peer++) {
        struct held_tally tally;
        held_tally_init(&tally);
        for (guint i = 0; i < held->problems->len; i++) {
            double time_ms = 0;
            const char *solver =
                ask_peer(peer, held, &winners,
                         &g_array_index(held->problems, struct skipjackdb_problem, i), &time_ms);
            held_tally_add(&tally, held, i, solver, time_ms);
        }
        double wins = 100.0 * tally.wins / tally.asked;
        ours = peer == OURS ? wins : ours;
        printf("  %-28s %8.1f %% %10.1f %% %18.3f", peer_names[peer], wins,
               100.0 * tally.listed / tally.asked, held_tally_cost(&tally));
        if (peer == OURS) {
            printf("  expected time off by %.2f times", held_tally_error(&tally));
        } else if (peer == ALL) {
            printf("  goal %.0f times its wins: %s", GOAL_TIMES, judge(ours >= GOAL_TIMES * wins));
        }
        printf("\n");
        held_tally_clear(&tally);
    }
}

static double choice_ns(const struct held_out *held, bool exact)
{
    double start = thread_ns();
    for (guint i = 0; i < held->problems->len; i++) {
        struct skipjackdb_choice choice = {.size = sizeof choice};
        struct skipjackdb_problem problem =
            g_array_index(held->problems, struct skipjackdb_problem, i);
        skipjackdb *dbs[] = {held->rest};
        if (exact) {
            skipjackdb_problem_at(held->rest, i, &problem);
        }
        skipjackdb_choose(dbs, 1, &problem, NULL, &choice, NULL);
    }
    return (thread_ns() - start) / held->problems->len;
}

static void bench_file(const char *folder_path, const char *name)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    g_autofree char *path = g_build_filename(folder_path, name, NULL);
    for (int by_shape = 0; by_shape < 2; by_shape++) {
        struct held_out held;
        held_out_init(&held, folder, path, by_shape);
        if (by_shape == 0) {
            double near = choice_ns(&held, false), exact = choice_ns(&held, true);
            printf("\n%s: %" G_GUINT64_FORMAT " problems\n", name,
                   skipjackdb_problem_count(held.rest));
            printf(
                "  a choice for one that is not held takes %.0f us, goal %d: %s; for one that is "
                "%.0f ns, goal %d: %s\n",
                near / 1000, GOAL_US, judge(near <= GOAL_US * 1e3), exact, GOAL_EXACT,
                judge(exact <= GOAL_EXACT));
        }
        bench_answers(&held, by_shape ? "with all of their shape" : "by chance");
        held_out_clear(&held);
    }
}

/* ---- answers from another architecture's file ---- */

static skipjackdb *open_whole(TempFolder *folder, const char *folder_path, const char *name)
{
    g_autofree char *path = g_build_filename(folder_path, name, NULL);
    struct held_out held;
    skipjackdb *db = NULL;
    held_out_init(&held, folder, path, false);
    int code = skipjackdb_open(temp_folder_path(folder, "whole.sjdb"), &db);
    g_assert_cmpint(code, ==, SKIPJACKDB_OK);
    held_out_clear(&held);
    return db;
}

/* The fastest of the problem's solvers that are also in `known`; NULL if none is. */
static const char *best_known(const skipjackdb *db, uint64_t number, GHashTable *known)
{
    struct skipjackdb_entry entries[4];
    size_t count = 0;
    const struct skipjackdb_entry *best = NULL;
    skipjackdb_entries(db, number, entries, sizeof entries[0], G_N_ELEMENTS(entries), &count);
    for (size_t i = 0; i < MIN(count, G_N_ELEMENTS(entries)); i++) {
        if (entries[i].time_ms > 0 && g_hash_table_contains(known, entries[i].solver) &&
            (best == NULL || entries[i].time_ms < best->time_ms)) {
            best = &entries[i];
        }
    }
    return best != NULL ? best->solver : NULL;
}

static void compare_targets(const skipjackdb *own, const skipjackdb *other, const char *what)
{
    g_autoptr(GHashTable) known = g_hash_table_new(g_str_hash, g_str_equal);
    guint both = 0, wins = 0, known_wins = 0;
    struct winners winners;
    winners_init(&winners, own);
    for (guint i = 0; i < winners.solvers->len; i++) {
        g_hash_table_add(known, winners.solvers->pdata[i]);
    }
    for (uint64_t i = 0; i < skipjackdb_problem_count(own); i++) {
        struct skipjackdb_problem problem = {.size = sizeof problem};
        struct skipjackdb_entry ours, theirs;
        uint64_t number = 0;
        skipjackdb_problem_at(own, i, &problem);
        if (skipjackdb_best(own, i, NULL, &ours, sizeof ours) == SKIPJACKDB_OK &&
            skipjackdb_find(other, &problem, &number) == SKIPJACKDB_OK &&
            skipjackdb_best(other, number, NULL, &theirs, sizeof theirs) == SKIPJACKDB_OK) {
            both++;
            wins += strcmp(ours.solver, theirs.solver) == 0;
            known_wins += g_strcmp0(ours.solver, best_known(other, number, known)) == 0;
        }
    }
    printf("  %-24s %6u keys  %5.1f %%  of its own solvers %5.1f %%\n", what, both,
           100.0 * wins / MAX(both, 1), 100.0 * known_wins / MAX(both, 1));
}

static void bench_targets(const char *folder_path)
{
    static const char *const names[] = {"gfx1030_36.HIP.fdb.txt.bz2", "gfx942130.HIP.fdb.txt.bz2",
                                        "gfx900_56.OpenCL.fdb.txt.bz2"};
    TempFolder *folders[G_N_ELEMENTS(names)];
    skipjackdb *dbs[G_N_ELEMENTS(names)];
    printf(
        "\nkeys that another architecture's file holds too: how often its winner is the winner\n");
    for (gsize i = 0; i < G_N_ELEMENTS(names); i++) {
        folders[i] = temp_folder_new();
        dbs[i] = open_whole(folders[i], folder_path, names[i]);
    }
    for (gsize i = 0; i < G_N_ELEMENTS(names); i++) {
        for (gsize j = 0; j < G_N_ELEMENTS(names); j++) {
            g_autofree char *what =
                g_strdup_printf("%.*s by %.*s", (int)strcspn(names[i], "."), names[i],
                                (int)strcspn(names[j], "."), names[j]);
            if (i != j) {
                compare_targets(dbs[i], dbs[j], what);
            }
        }
    }
    for (gsize i = 0; i < G_N_ELEMENTS(names); i++) {
        skipjackdb_close(dbs[i]);
        temp_folder_free(folders[i]);
    }
}

int main(void)
{
    const char *data = g_getenv("SKIPJACK_DATA");
    g_autofree char *folder = g_build_filename(data != NULL ? data : "", "miopen", NULL);
    if (!g_file_test(folder, G_FILE_TEST_IS_DIR)) {
        printf("SKIPJACK_DATA names no folder with MIOpen's files: nothing to measure with\n");
        return 0;
    }
    bench_file(folder, "gfx1030_36.HIP.fdb.txt.bz2");
    bench_file(folder, "gfx942130.HIP.fdb.txt.bz2");
    bench_file(folder, "gfx900_56.OpenCL.fdb.txt.bz2");
    bench_targets(folder);
    return all_met ? 0 : 1;
}
