#include "export/usage/cover.h"

#include <math.h>
#include <string.h>

#define SOLVERS_MOST 9
#define CASES_MOST   14

/* A small problem of covering, with its memory. */
struct small {
    struct cover cover;
    struct cover_case cases[CASES_MOST];
    int solvers[CASES_MOST][SOLVERS_MOST];
    double times[CASES_MOST][SOLVERS_MOST];
};

static void make_random(struct small *small, GRand *random)
{
    small->cover = (struct cover){.solvers = g_rand_int_range(random, 1, SOLVERS_MOST + 1),
                                  .groups = g_rand_int_range(random, 1, 4),
                                  .cases = g_rand_int_range(random, 1, CASES_MOST + 1),
                                  .list = small->cases,
                                  .within = g_rand_int_range(random, 0, 4) * 0.07,
                                  .effort = 100 * 1000 * 1000};
    for (int i = 0; i < small->cover.cases; i++) {
        int count = 0;
        for (int s = 0; s < small->cover.solvers; s++) {
            if (g_rand_int_range(random, 0, 3) > 0 ||
                (s + 1 == small->cover.solvers && count == 0)) {
                small->solvers[i][count] = s;
                small->times[i][count++] = 1 + g_rand_int_range(random, 0, 12) * 0.1;
            }
        }
        small->cases[i] =
            (struct cover_case){.group = g_rand_int_range(random, 0, small->cover.groups),
                                .weight = g_rand_int_range(random, 1, 6),
                                .count = count,
                                .solvers = small->solvers[i],
                                .times = small->times[i]};
    }
}

/* The size of the smallest cover, by trying every set. */
static int smallest_by_force(const struct cover *cover)
{
    int smallest = cover->solvers;
    for (int set = 0; set < 1 << cover->solvers; set++) {
        bool in[SOLVERS_MOST] = {false};
        int size = 0;
        for (int s = 0; s < cover->solvers; s++) {
            in[s] = (set >> s & 1) != 0;
            size += in[s];
        }
        if (size < smallest && cover_holds(cover, in, NULL)) {
            smallest = size;
        }
    }
    return smallest;
}

static bool holds(const struct cover *cover, const GArray *set)
{
    bool in[SOLVERS_MOST] = {false};
    for (guint i = 0; i < set->len; i++) {
        in[g_array_index(set, int, i)] = true;
    }
    return cover_holds(cover, in, NULL);
}

static void the_smallest_set_is_that_of_trying_all(void)
{
    GRand *random = g_rand_new_with_seed((guint32)g_test_rand_int());
    int better_than_greedy = 0;
    for (int round = 0; round < 2000; round++) {
        struct small small;
        struct cover_found found;
        make_random(&small, random);
        int smallest = smallest_by_force(&small.cover);
        cover_solve(&small.cover, &found);
        g_assert_true(found.optimal);
        g_assert_cmpint(found.set->len, ==, smallest);
        g_assert_cmpint(found.lower_bound, ==, smallest);
        g_assert_true(holds(&small.cover, found.set));
        g_assert_cmpfloat(found.greedy, <=, found.greedy_most * smallest + 1e-9);
        better_than_greedy += smallest < found.greedy;
        g_array_unref(found.set);
    }
    /* Otherwise the exact search was never needed. */
    g_assert_cmpint(better_than_greedy, >, 0);
    g_rand_free(random);
}

static void without_effort_the_bounds_still_hold(void)
{
    GRand *random = g_rand_new_with_seed((guint32)g_test_rand_int());
    for (int round = 0; round < 1000; round++) {
        struct small small;
        struct cover_found found;
        make_random(&small, random);
        small.cover.effort = 1;
        int smallest = smallest_by_force(&small.cover);
        cover_solve(&small.cover, &found);
        g_assert_true(holds(&small.cover, found.set));
        g_assert_cmpint(found.lower_bound, <=, smallest);
        g_assert_cmpint(found.set->len, >=, smallest);
        g_assert_true(!found.optimal || (int)found.set->len == smallest);
        g_array_unref(found.set);
    }
    g_rand_free(random);
}

/* Greedy takes the solver that serves most cases, and then needs three; two others serve all. */
static void the_exact_search_beats_greedy_on_its_bad_case(void)
{
    static const int serves[][6] = {{0, 1, 2, -1}, {3, 4, 5, -1}, {1, 2, 3, 4, -1}};
    struct small small = {.cover = {.solvers = 3, .groups = 6, .cases = 6, .effort = 1000000}};
    struct cover_found found;
    small.cover.list = small.cases;
    for (int i = 0; i < 6; i++) {
        int count = 0;
        for (int s = 0; s < 3; s++) {
            for (int at = 0; serves[s][at] >= 0; at++) {
                if (serves[s][at] == i) {
                    small.solvers[i][count] = s;
                    small.times[i][count++] = 1;
                }
            }
        }
        small.cases[i] = (struct cover_case){i, 1, count, small.solvers[i], small.times[i]};
    }
    cover_solve(&small.cover, &found);
    g_assert_true(found.optimal);
    g_assert_cmpuint(found.set->len, ==, 2);
    g_assert_cmpint(g_array_index(found.set, int, 0), ==, 0);
    g_assert_cmpint(g_array_index(found.set, int, 1), ==, 1);
    g_array_unref(found.set);
}

static void nothing_to_cover_needs_no_solver(void)
{
    const struct cover cover = {.solvers = 2, .effort = 1};
    struct cover_found found;
    cover_solve(&cover, &found);
    g_assert_true(found.optimal);
    g_assert_cmpuint(found.set->len, ==, 0);
    g_array_unref(found.set);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/cover/the_smallest_set_is_that_of_trying_all",
                    the_smallest_set_is_that_of_trying_all);
    g_test_add_func("/cover/without_effort_the_bounds_still_hold",
                    without_effort_the_bounds_still_hold);
    g_test_add_func("/cover/the_exact_search_beats_greedy_on_its_bad_case",
                    the_exact_search_beats_greedy_on_its_bad_case);
    g_test_add_func("/cover/nothing_to_cover_needs_no_solver", nothing_to_cover_needs_no_solver);
    return g_test_run();
}
