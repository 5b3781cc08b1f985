#include "coordinator/network/passes/min_cut.h"

#include <glib.h>

#define NODES 8
#define EDGES 14

/* The cheapest labelling of all, by trying each. */
static double try_all(const double costs[NODES][2], const int edges[EDGES][2], const double *prices,
                      int nodes)
{
    double best = 1e300;
    for (int labels = 0; labels < 1 << nodes; labels++) {
        double cost = 0;
        for (int i = 0; i < nodes; i++) {
            cost += costs[i][labels >> i & 1];
        }
        for (int e = 0; e < EDGES; e++) {
            cost += (labels >> edges[e][0] & 1) == 0 && (labels >> edges[e][1] & 1) == 1 ? prices[e]
                                                                                         : 0;
        }
        best = MIN(best, cost);
    }
    return best;
}

static void test_random(void)
{
    for (int round = 0; round < 500; round++) {
        double costs[NODES][2], prices[EDGES], cost = 0;
        int edges[EDGES][2], nodes = g_test_rand_int_range(1, NODES + 1);
        struct min_cut *cut = min_cut_new(nodes);
        for (int i = 0; i < nodes; i++) {
            costs[i][0] = g_test_rand_int_range(0, 10);
            costs[i][1] = g_test_rand_int_range(0, 10);
            min_cut_labels(cut, i, costs[i][0], costs[i][1]);
        }
        for (int e = 0; e < EDGES; e++) {
            edges[e][0] = g_test_rand_int_range(0, nodes);
            edges[e][1] = g_test_rand_int_range(0, nodes);
            prices[e] = g_test_rand_int_range(0, 6);
            min_cut_edge(cut, edges[e][0], edges[e][1], prices[e]);
        }
        min_cut_solve(cut);
        for (int i = 0; i < nodes; i++) {
            cost += costs[i][min_cut_label(cut, i)];
        }
        for (int e = 0; e < EDGES; e++) {
            cost +=
                !min_cut_label(cut, edges[e][0]) && min_cut_label(cut, edges[e][1]) ? prices[e] : 0;
        }
        g_assert_cmpfloat_with_epsilon(cost, try_all(costs, edges, prices, nodes), 1e-9);
        min_cut_free(cut);
    }
}

static void test_never(void)
{
    struct min_cut *cut = min_cut_new(1);
    int other = min_cut_add_node(cut);
    min_cut_labels(cut, 0, MIN_CUT_NEVER, 3);
    min_cut_labels(cut, other, 0, 5);
    min_cut_edge(cut, other, 0, 4);
    min_cut_solve(cut);
    g_assert_true(min_cut_label(cut, 0));
    g_assert_false(min_cut_label(cut, other));
    min_cut_free(cut);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/min_cut/no_labelling_is_cheaper", test_random);
    g_test_add_func("/min_cut/a_label_that_nobody_can_pay_is_not_given", test_never);
    return g_test_run();
}
