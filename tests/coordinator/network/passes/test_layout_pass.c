#include "coordinator/network/passes/layout_pass.h"

#include "coordinator/network/passes/fuse.h"
#include "coordinator/network/passes/lower.h"
#include "tests/support/network/network_text.h"

#include <math.h>
#include <string.h>

/* Three convolutions, of which the one in the middle is depthwise, with a shortcut around it. */
static const char *const lines[] = {
    "input x 1,8,12,12", "weight a 16,8,1,1", "weight b 16,1,3,3",
    "weight c 8,16,1,1", "Conv x a = p",      "Conv p b = q group=16 pads=[1,1,1,1]",
    "Add p q = r",       "Conv r c = s",      "GlobalAveragePool s = t",
    "Flatten t = y",     "output y",          NULL,
};

static Graph *lowered(void)
{
    g_autoptr(GError) error = NULL;
    Graph *graph = network_of(lines);
    network_lower(graph, &error);
    g_assert_no_error(error);
    network_fuse(graph, FUSION_ALL, NULL, &error);
    g_assert_no_error(error);
    return graph;
}

static void check_same(struct graph *graph)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(Graph) right = network_of(lines);
    struct samples_distance distance;
    graph_validate(graph, &error);
    g_assert_no_error(error);
    networks_compare(graph, right, &distance);
    g_assert_cmpfloat(distance.max_error, <, 2e-6);
}

static void test_global(void)
{
    for (int wish = LAYOUT_WISH_FIRST; wish <= LAYOUT_WISH_LAST; wish++) {
        g_autoptr(Graph) graph = lowered();
        g_autoptr(GError) error = NULL;
        struct layout_result result;
        network_set_layout(graph, (enum layout_wish)wish, NULL, &result, &error);
        g_assert_no_error(error);
        g_assert_cmpint(result.copies, ==, 0);
        g_assert_cmpint(wish == LAYOUT_WISH_LAST ? result.first : result.last, ==, 0);
        check_same(graph);
    }
}

/* What a layer takes with channels last; with channels first it takes 10. */
struct prices {
    double plain, depthwise, copy;
};

static double price(const struct problem *problem, void *context)
{
    const struct prices *prices = context;
    bool last = problem->layout[TENSOR_Y] == LAYOUT_NHWC;
    if (problem->kind != OP_CONV) {
        return problem->layout[TENSOR_X] != problem->layout[TENSOR_Y] ? prices->copy : 0;
    }
    return !last ? 10 : problem->groups > 1 ? prices->depthwise : prices->plain;
}

static void test_per_layer(void)
{
    static const struct {
        struct prices prices;
        int last, copies;
    } rows[] = {
        {{10, 10, 1}, 0, 0},        /* no reason to leave the input's layout */
        {{1, INFINITY, 100}, 0, 0}, /* copies are too dear */
        {{1, 1, 1}, 4, 1},          /* all channels last: one copy of the input */
        {{1, 1000, 1}, 3, 3},       /* the depthwise one alone stays: p and q are copied */
        {{5, 40, 1}, 3, 3},         {{9, 40, 2}, 0, 0},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(Graph) graph = lowered();
        g_autoptr(GError) error = NULL;
        struct prices prices = rows[i].prices;
        struct layout_costs costs = {price, &prices};
        struct layout_result result;
        network_set_layout(graph, LAYOUT_WISH_CHEAPEST, &costs, &result, &error);
        g_assert_no_error(error);
        g_test_message("row %zu: %d last, %d copies", i, result.last, result.copies);
        g_assert_cmpint(result.last, ==, rows[i].last);
        g_assert_cmpint(result.copies, ==, rows[i].copies);
        check_same(graph);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/layout_pass/one_layout_for_all_needs_no_copy", test_global);
    g_test_add_func("/layout_pass/each_layer_has_the_layout_that_makes_the_sum_least",
                    test_per_layer);
    return g_test_run();
}
