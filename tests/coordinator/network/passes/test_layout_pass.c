#include "coordinator/network/passes/layout_pass.h"

#include "coordinator/network/passes/fuse.h"
#include "coordinator/network/passes/lower.h"
#include "solvers/problem/problem_key.h"
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

/* The times of convolutions with channels last, and of a copy. With channels first a convolution
 * takes 10. */
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

/* A price that follows from the problem and the seed alone. */
static double random_price(const struct problem *problem, void *seed)
{
    char key[PROBLEM_KEY_MAX];
    g_autoptr(GRand) rand =
        g_rand_new_with_seed(g_str_hash(problem_key(problem, key)) ^ GPOINTER_TO_UINT(seed));
    double price = g_rand_double(rand);
    bool is_copy = problem->kind == OP_POINTWISE && problem->epilogue[0] == '\0';
    return is_copy ? price / 4 : price;
}

static double copy_price(const struct shape *from, const struct shape *to, void *seed)
{
    struct kernel kernel;
    struct problem problem;
    const struct shape *shapes[STRIDED_COUNT] = {[TENSOR_X] = from, [TENSOR_Y] = to};
    g_autoptr(GError) error = NULL;
    kernel_init(&kernel, OP_POINTWISE);
    g_assert_true(kernel_problem(&kernel, shapes, &problem, &error));
    return random_price(&problem, seed);
}

/* Returns the price of all kernels of the graph, copies too, and of a copy of the input to the model's order if it has
 * another. */
static double price_of(struct graph *graph, void *seed)
{
    static const int inputs[] = {
        [TENSOR_X] = KERNEL_X, [TENSOR_W] = KERNEL_W, [TENSOR_RESIDUAL] = KERNEL_RESIDUAL};
    const struct shape *x = &((struct value *)graph->inputs->pdata[0])->shape;
    struct shape first, last;
    int order[SHAPE_MAX_RANK];
    double sum = 0;
    shape_set_packed(&first, x->type, x->rank, x->dim, NULL);
    layout_order(LAYOUT_NHWC, 4, order);
    shape_set_ordered(&last, x->type, x->rank, x->dim, order, NULL);
    if (!shape_equal(x, &first)) {
        sum += copy_price(&first, &last, seed);
    }
    for (struct node *node = graph_first(graph); node != NULL; node = node_next(node)) {
        const struct shape *given[STRIDED_COUNT] = {NULL};
        struct shape weight;
        struct kernel kernel;
        struct problem problem;
        if (!node_is_kernel(node)) {
            continue;
        }
        kernel_read(node, &kernel);
        for (int t = 0; t < STRIDED_COUNT; t++) {
            const struct value *value = t == TENSOR_Y ? node_output(node) : node->inputs[inputs[t]];
            given[t] = value != NULL ? &value->shape : NULL;
        }
        if (given[TENSOR_W] != NULL) {
            layout_order(kernel.layout, 4, order);
            shape_set_ordered(&weight, given[TENSOR_W]->type, 4, given[TENSOR_W]->dim, order, NULL);
            given[TENSOR_W] = &weight;
        }
        g_assert_true(kernel_problem(&kernel, given, &problem, NULL));
        sum += random_price(&problem, seed);
    }
    return sum;
}

/* By its own costs a layout for each layer is never dearer than one for all. */
static void test_never_dearer(void)
{
    for (guint seed = 1; seed <= 200; seed++) {
        double prices[LAYOUT_WISH_CHEAPEST + 1];
        for (int wish = LAYOUT_WISH_FIRST; wish <= LAYOUT_WISH_CHEAPEST; wish++) {
            g_autoptr(Graph) graph = lowered();
            g_autoptr(GError) error = NULL;
            struct layout_costs costs = {random_price, GUINT_TO_POINTER(seed)};
            network_set_layout(graph, (enum layout_wish)wish, &costs, NULL, &error);
            g_assert_no_error(error);
            prices[wish] = price_of(graph, costs.context);
        }
        g_test_message("seed %u: %g first, %g last, %g by layer", seed, prices[LAYOUT_WISH_FIRST],
                       prices[LAYOUT_WISH_LAST], prices[LAYOUT_WISH_CHEAPEST]);
        g_assert_cmpfloat(prices[LAYOUT_WISH_CHEAPEST], <=, prices[LAYOUT_WISH_FIRST] + 1e-6);
        g_assert_cmpfloat(prices[LAYOUT_WISH_CHEAPEST], <=, prices[LAYOUT_WISH_LAST] + 1e-6);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/layout_pass/one_layout_for_all_needs_no_copy", test_global);
    g_test_add_func("/layout_pass/each_layer_has_the_layout_that_makes_the_sum_least",
                    test_per_layer);
    g_test_add_func("/layout_pass/each_layer_by_itself_is_never_dearer_than_one_layout",
                    test_never_dearer);
    return g_test_run();
}
