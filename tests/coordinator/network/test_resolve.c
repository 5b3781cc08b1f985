#include "tests/support/network/small_ops.h"

#include <string.h>

static const int swap[] = {1, 0};

static struct value *add_input(struct graph *graph, const char *name, int64_t rows, int64_t columns)
{
    struct shape shape = small_packed(ELEMENT_FLOAT32, 2, (int64_t[]){rows, columns});
    return graph_add_input(graph, name, &shape);
}

static struct value *unary(const struct op *op, struct value *x)
{
    return graph_apply(x->graph, op, NULL, &x, 1);
}

static struct value *binary(const struct op *op, struct value *a, struct value *b)
{
    return graph_apply(a->graph, op, NULL, (struct value *[]){a, b}, 2);
}

static int copies(const struct graph *graph)
{
    int count = 0;
    for (const struct node *node = graph_first(graph); node; node = node_next(node))
        count += node->op == &op_copy;
    return count;
}

/* Resolves, and checks that what runs in memory computes what the graph means. */
static void resolve(struct graph *graph)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(Graph) meant = graph_copy(graph, NULL, NULL);
    g_assert_cmpint(graph_propagate(meant), ==, 0);
    g_assert_true(graph_resolve(graph, &error));
    g_assert_no_error(error);
    g_assert_true(graph_validate(graph, &error));
    g_assert_no_error(error);
    g_assert_true(graph_require_resolved(graph, NULL));
    g_autoptr(GPtrArray) wanted = small_outputs_by_value(meant);
    g_autoptr(GPtrArray) got = small_outputs_in_memory(graph);
    for (guint i = 0; i < wanted->len; i++) {
        const struct value *output = g_ptr_array_index(graph->outputs, i);
        gsize bytes = (gsize)shape_elements(&output->shape) * sizeof(double);
        g_assert_cmpmem(wanted->pdata[i], bytes, got->pdata[i], bytes);
    }
}

/* ---- transpositions ---- */

static void test_a_gemm_absorbs_a_transposition_for_one_of_two_users(void)
{
    g_autoptr(Graph) graph = graph_new(NULL);
    struct value *a = add_input(graph, "a", 4, 2), *b = add_input(graph, "b", 2, 3);
    struct value *gemm = binary(&small_matmul, a, b);
    struct value *turned = graph_transpose(gemm, swap, 2);
    graph_add_output(graph, unary(&small_strict, turned)); /* wants packed rows of gemm^T */
    graph_add_output(graph, unary(&small_relu, gemm));     /* reads any strides */
    resolve(graph);
    /* The gemm writes its columns one after the other; the transposition is free, the other user reads strides. */
    g_assert_cmpint(gemm->shape.stride[0], ==, 1);
    g_assert_cmpint(gemm->shape.stride[1], ==, 4);
    g_assert_true(shape_is_packed(&turned->shape));
    g_assert_true(turned->base == gemm);
    g_assert_true(node_is_view(turned->producer));
    /* Relu follows the gemm's order, and the graph's output must be packed: it stores its own order. */
    g_assert_cmpint(copies(graph), ==, 0);
}

static void test_of_two_strict_users_one_gets_a_copy(void)
{
    g_autoptr(Graph) graph = graph_new(NULL);
    struct value *a = add_input(graph, "a", 4, 2), *b = add_input(graph, "b", 2, 3);
    struct value *gemm = binary(&small_matmul, a, b);
    struct value *turned = graph_transpose(gemm, swap, 2);
    graph_add_output(graph, unary(&small_strict, turned));
    graph_add_output(graph, unary(&small_strict, turned));
    graph_add_output(graph, unary(&small_strict, gemm));
    resolve(graph);
    g_assert_cmpint(copies(graph), ==, 1);
}

static void test_transpositions_cancel_through_many_views(void)
{
    g_autoptr(Graph) graph = graph_new(NULL);
    struct value *x = add_input(graph, "x", 4, 6);
    struct value *seen = graph_transpose(x, swap, 2);
    seen = graph_reshape(seen, 3, (int64_t[]){6, 1, 4});
    seen = graph_transpose(seen, (int[]){2, 1, 0}, 3);
    seen = graph_reshape(seen, 2, (int64_t[]){4, 6});
    struct value *y = unary(&small_strict, seen);
    graph_add_output(graph, y);
    resolve(graph);
    g_assert_cmpint(copies(graph), ==, 0);
    struct view view;
    g_assert_true(value_base(seen, &view) == x);
    g_assert_true(view_is_identity(&view, &x->shape));
    g_assert_cmpint(graph_fold_views(graph), ==, 4);
    g_assert_true(y->producer->inputs[0] == x);
    g_assert_true(graph_is_resolved(graph));
    g_assert_true(graph_validate(graph, NULL));
}

static void test_what_nobody_absorbs_is_copied_once(void)
{
    g_autoptr(Graph) graph = graph_new(NULL);
    struct value *x = add_input(graph, "x", 4, 6);
    struct value *turned = graph_transpose(x, swap, 2);
    struct value *first = unary(&small_strict, turned), *second = unary(&small_strict, turned);
    graph_add_output(graph, first);
    graph_add_output(graph, second);
    graph_add_output(graph, binary(&small_add, turned, turned)); /* reads it in place */
    resolve(graph);
    g_assert_cmpint(copies(graph), ==, 1);
    g_assert_true(first->producer->inputs[0] == second->producer->inputs[0]);
    g_assert_true(first->producer->inputs[0]->producer->is_automatic);
    /* Matchers look through the copy too. */
    g_assert_true(value_base(first->producer->inputs[0], NULL) == x);
}

static void test_a_view_that_is_an_output_is_copied_under_its_name(void)
{
    g_autoptr(Graph) graph = graph_new(NULL);
    struct value *x = add_input(graph, "x", 4, 6);
    struct value *turned = graph_transpose(x, swap, 2);
    graph_rename_value(turned, "y");
    graph_add_output(graph, turned);
    resolve(graph);
    g_assert_cmpint(copies(graph), ==, 1);
    struct value *output = g_ptr_array_index(graph->outputs, 0);
    g_assert_true(output != turned);
    g_assert_cmpstr(graph_output_name(graph, 0), ==, "y");
    graph_set_attributes(turned->producer, turned->producer->attributes); /* any edit */
    resolve(graph);
    g_assert_cmpstr(graph_output_name(graph, 0), ==, "y");
    g_assert_cmpint(copies(graph), ==, 1);
}

static void test_views_without_a_common_grid_are_copied_between(void)
{
    g_autoptr(Graph) graph = graph_new(NULL);
    struct value *x = add_input(graph, "x", 2, 3);
    struct value *turned = graph_transpose(x, swap, 2);               /* 3x2 */
    struct value *flat = graph_reshape(turned, 2, (int64_t[]){2, 3}); /* rows of 3 */
    graph_add_output(graph, unary(&small_relu, flat));
    resolve(graph);
    g_assert_cmpint(copies(graph), ==, 1);
    g_assert_true(flat->base->producer->op == &op_copy);
}

static void test_shuffled_channels_take_one_copy(void)
{
    g_autoptr(Graph) graph = graph_new(NULL);
    struct shape shape = small_packed(ELEMENT_FLOAT32, 3, (int64_t[]){2, 6, 4});
    struct value *x = graph_add_input(graph, "x", &shape);
    struct value *y = graph_reshape(x, 4, (int64_t[]){2, 2, 3, 4});
    y = graph_transpose(y, (int[]){0, 2, 1, 3}, 4);
    y = graph_reshape(y, 3, (int64_t[]){2, 6, 4});
    graph_add_output(graph, unary(&small_relu, y)); /* reads strides, but the view has none */
    resolve(graph);
    g_assert_cmpint(copies(graph), ==, 1);
}

/* ---- types ---- */

static void test_a_dead_cast_folds_after_a_change_of_type(void)
{
    g_autoptr(Graph) graph = graph_new(NULL);
    struct value *x = add_input(graph, "x", 4, 6);
    struct value *y = unary(&small_strict, x);
    struct value *z = unary(&small_strict, y);
    graph_add_output(graph, z);
    resolve(graph);
    /* Bottom-up: each node computes in half precision, between casts that keep what its users see. */
    struct shape half = small_packed(ELEMENT_FLOAT16, 2, (int64_t[]){4, 6});
    graph_set_input_shape(x, &half);
    struct value *wide = graph_cast(y, ELEMENT_FLOAT32);
    g_assert_true(graph_replace_value(y, wide, NULL));
    struct value *narrow = graph_cast(wide, ELEMENT_FLOAT16);
    g_assert_true(graph_set_input(z->producer, 0, narrow, NULL));
    resolve(graph);
    g_assert_cmpint(copies(graph), ==, 0);
    g_assert_cmpint(graph_fold_views(graph), ==, 2);
    g_assert_true(z->producer->inputs[0] == y);
    g_assert_cmpint(z->shape.type, ==, ELEMENT_FLOAT16);
}

static void test_a_rounding_cast_does_not_fold(void)
{
    g_autoptr(Graph) graph = graph_new(NULL);
    struct value *x = add_input(graph, "x", 4, 6);
    struct value *narrow = graph_cast(x, ELEMENT_INT32);
    struct value *back = graph_cast(narrow, ELEMENT_FLOAT32);
    graph_add_output(graph, unary(&small_relu, back));
    resolve(graph);
    g_assert_cmpint(copies(graph), ==, 1); /* the integers */
    g_assert_cmpint(back->base->shape.type, ==, ELEMENT_INT32);
}

static void test_a_cast_of_all_users_is_stored(void)
{
    g_autoptr(Graph) graph = graph_new(NULL);
    struct value *a = add_input(graph, "a", 4, 2), *b = add_input(graph, "b", 2, 3);
    struct value *gemm = binary(&small_matmul, a, b);
    struct value *half = graph_cast(gemm, ELEMENT_FLOAT16);
    graph_add_output(graph, unary(&small_strict, half));
    graph_add_output(graph, unary(&small_strict, graph_cast(gemm, ELEMENT_FLOAT16)));
    resolve(graph);
    g_assert_cmpint(gemm->shape.type, ==, ELEMENT_FLOAT16);
    g_assert_cmpint(copies(graph), ==, 0);
    g_assert_cmpint(graph_fold_views(graph), ==, 0); /* the choice hangs on the views */
    /* Another user wants what is not rounded. */
    graph_add_output(graph, unary(&small_strict, gemm));
    resolve(graph);
    g_assert_cmpint(gemm->shape.type, ==, ELEMENT_FLOAT32);
    g_assert_cmpint(copies(graph), ==, 2);
}

static void test_a_broadcast_is_read_or_copied(void)
{
    g_autoptr(Graph) graph = graph_new(NULL);
    struct value *x = add_input(graph, "x", 1, 6);
    struct value *wide = graph_broadcast(x, 2, (int64_t[]){4, 6});
    graph_add_output(graph, unary(&small_relu, wide));
    resolve(graph);
    g_assert_cmpint(copies(graph), ==, 0);
    graph_add_output(graph, unary(&small_strict, wide));
    resolve(graph);
    g_assert_cmpint(copies(graph), ==, 1);
}

/* ---- orders that a pass asks for ---- */

static void test_an_order_flows_through_elementwise_nodes(void)
{
    g_autoptr(Graph) graph = graph_new(NULL);
    struct value *a = add_input(graph, "a", 4, 2), *b = add_input(graph, "b", 2, 3);
    struct value *gemm = binary(&small_matmul, a, b);
    struct value *relu = unary(&small_relu, gemm);
    struct value *again = unary(&small_relu, relu);
    graph_add_output(graph, binary(&small_matmul, again, add_input(graph, "c", 3, 3)));
    g_assert_true(graph_set_store(gemm->producer, 0, ELEMENT_FLOAT16, swap, 2, NULL));
    g_autoptr(GError) error = NULL;
    g_assert_false(graph_resolve(graph, &error)); /* halves times floats */
    g_assert_nonnull(strstr(error->message, "matrices do not fit"));
    g_assert_true(graph_set_store(gemm->producer, 0, ELEMENT_NONE, swap, 2, NULL));
    resolve(graph);
    g_assert_cmpint(again->shape.stride[0], ==, 1);
    g_assert_cmpint(again->shape.stride[1], ==, 4);
    g_assert_cmpint(copies(graph), ==, 0);
}

static void test_a_store_that_the_operator_lacks_is_refused(void)
{
    g_autoptr(Graph) graph = graph_new(NULL);
    struct value *x = add_input(graph, "x", 4, 2);
    struct value *strict = unary(&small_strict, x), *add = binary(&small_add, x, x);
    struct value *view = graph_transpose(x, swap, 2);
    static const enum element_type half = ELEMENT_FLOAT16;
    g_autoptr(GError) error = NULL;
    g_assert_false(graph_set_store(strict->producer, 0, ELEMENT_NONE, swap, 2, &error));
    g_assert_nonnull(strstr(error->message, "another order"));
    g_assert_false(graph_set_store(add->producer, 0, half, NULL, 0, NULL));
    g_assert_false(graph_set_store(view->producer, 0, half, NULL, 0, NULL));
    g_assert_true(graph_set_store(add->producer, 0, ELEMENT_NONE, (int[]){2, 1, 0}, 3, NULL));
    graph_add_output(graph, add);
    g_assert_false(graph_resolve(graph, NULL)); /* an order of three axes for two */
}

/* ---- what is refused, and what is known ---- */

static void test_an_unresolved_graph_is_refused_by_name(void)
{
    g_autoptr(Graph) graph = graph_new("net");
    struct value *x = add_input(graph, "x", 4, 2);
    struct value *y = unary(&small_strict, x);
    graph_rename_node(y->producer, "neg1");
    graph_add_output(graph, y);
    g_autoptr(GError) error = NULL;
    g_assert_false(graph_require_resolved(graph, &error));
    g_assert_error(error, NETWORK_ERROR, NETWORK_ERROR_PENDING);
    g_assert_nonnull(strstr(error->message, "neg1"));
    g_assert_nonnull(strstr(error->message, "graph_resolve"));
    resolve(graph);
    g_assert_true(graph_require_resolved(graph, NULL));
    graph_set_attributes(y->producer, NULL);
    g_assert_false(graph_require_resolved(graph, NULL));
}

static void test_nodes_that_do_not_depend_on_an_unknown_one_have_shapes(void)
{
    g_autoptr(Graph) graph = graph_new(NULL);
    struct value *x = add_input(graph, "x", 4, 2);
    g_autoptr(Attributes) attributes = attributes_new();
    attributes_set_string(attributes, "op", "Frobnicate");
    struct value *unknown = graph_apply(graph, &op_unknown, attributes, &x, 1);
    graph_rename_node(unknown->producer, "frob1");
    struct value *behind = unary(&small_strict, unknown), *beside = unary(&small_strict, x);
    graph_add_output(graph, behind);
    graph_add_output(graph, beside);
    g_assert_cmpint(graph_propagate(graph), ==, 2);
    g_assert_true(shape_is_known(&beside->shape));
    g_assert_false(shape_is_known(&behind->shape));
    g_autoptr(GError) error = NULL;
    g_assert_false(graph_resolve(graph, &error));
    g_assert_error(error, NETWORK_ERROR, NETWORK_ERROR_UNSUPPORTED);
    g_assert_cmpstr(error->message, ==,
                    "node 'frob1' (unknown): operator Frobnicate is not known (1 more nodes have "
                    "no shape)");
    g_assert_true(graph_set_op(unknown->producer, &small_relu, NULL, NULL));
    resolve(graph);
}

static void test_missing_shapes_and_producers_are_named(void)
{
    g_autoptr(Graph) graph = graph_new(NULL);
    struct value *x = graph_add_input(graph, "x", NULL);
    struct value *y = unary(&small_relu, x);
    graph_add_output(graph, y);
    g_autoptr(GError) error = NULL;
    g_assert_false(graph_resolve(graph, &error));
    g_assert_nonnull(strstr(error->message, "'x', whose shape is not known"));
    struct value *declared = graph_declare_value(graph, "later");
    g_assert_true(graph_set_input(y->producer, 0, declared, NULL));
    g_clear_error(&error);
    g_assert_false(graph_resolve(graph, &error));
    g_assert_nonnull(strstr(error->message, "'later', which no node makes"));
    struct shape shape = small_packed(ELEMENT_FLOAT32, 1, (int64_t[]){3});
    graph_set_input_shape(x, &shape);
    g_assert_true(graph_set_input(y->producer, 0, x, NULL));
    graph_add_output(graph, declared);
    g_clear_error(&error);
    g_assert_false(graph_resolve(graph, &error));
    g_assert_nonnull(strstr(error->message, "output 1"));
    graph_set_output(graph, 1, x);
    resolve(graph);
}

static void test_known_contents_flow_through_views(void)
{
    g_autoptr(Graph) graph = graph_new(NULL);
    struct value *x = add_input(graph, "x", 4, 6), *shaped = add_input(graph, "s", 3, 8);
    struct value *dims = unary(&small_shape, shaped);
    dims = graph_cast(graph_cast(dims, ELEMENT_FLOAT64), ELEMENT_INT64);
    dims = graph_reshape(graph_reshape(dims, 2, (int64_t[]){1, 2}), 1, (int64_t[]){2});
    struct value *y = binary(&small_reshape_to, x, dims);
    graph_add_output(graph, unary(&small_strict, y));
    resolve(graph);
    g_assert_cmpint(y->shape.dim[0], ==, 3);
    g_assert_cmpint(y->shape.dim[1], ==, 8);
    struct shape shape = small_packed(ELEMENT_FLOAT32, 2, (int64_t[]){2, 12});
    graph_set_input_shape(shaped, &shape);
    resolve(graph);
    g_assert_cmpint(y->shape.dim[1], ==, 12);
}

/* ---- cost ---- */

static void test_a_change_costs_what_depends_on_it(void)
{
    g_autoptr(Graph) graph = graph_new(NULL);
    struct value *x = add_input(graph, "x", 4, 6), *y = x;
    for (int i = 0; i < 100; i++)
        y = unary(&small_relu, y);
    struct value *middle = y;
    for (int i = 0; i < 100; i++)
        y = unary(&small_relu, y);
    graph_add_output(graph, y);
    resolve(graph);
    int64_t before = graph->shape_computations;
    g_assert_cmpint(before, ==, 200);
    graph_set_attributes(middle->producer, NULL);
    resolve(graph);
    g_assert_cmpint(graph->shape_computations - before, ==, 1); /* the shape stays equal */
    before = graph->shape_computations;
    for (int64_t rows = 1; rows < 50; rows++) {
        struct shape shape = small_packed(ELEMENT_FLOAT32, 2, (int64_t[]){rows, 6});
        graph_set_input_shape(x, &shape);
    }
    resolve(graph);
    g_assert_cmpint(graph->shape_computations - before, ==, 200); /* once, not 49 times */
    before = graph->shape_computations;
    struct shape shape = small_packed(ELEMENT_FLOAT32, 2, (int64_t[]){7, 7});
    graph_set_input_shape(x, &shape);
    g_assert_cmpint(value_shape(middle)->dim[1], ==, 7);
    g_assert_cmpint(graph->shape_computations - before, ==, 100); /* nothing behind it */
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/resolve/a_gemm_absorbs_a_transposition_for_one_of_two_users",
                    test_a_gemm_absorbs_a_transposition_for_one_of_two_users);
    g_test_add_func("/resolve/of_two_strict_users_one_gets_a_copy",
                    test_of_two_strict_users_one_gets_a_copy);
    g_test_add_func("/resolve/transpositions_cancel_through_many_views",
                    test_transpositions_cancel_through_many_views);
    g_test_add_func("/resolve/what_nobody_absorbs_is_copied_once",
                    test_what_nobody_absorbs_is_copied_once);
    g_test_add_func("/resolve/a_view_that_is_an_output_is_copied_under_its_name",
                    test_a_view_that_is_an_output_is_copied_under_its_name);
    g_test_add_func("/resolve/views_without_a_common_grid_are_copied_between",
                    test_views_without_a_common_grid_are_copied_between);
    g_test_add_func("/resolve/shuffled_channels_take_one_copy",
                    test_shuffled_channels_take_one_copy);
    g_test_add_func("/resolve/a_dead_cast_folds_after_a_change_of_type",
                    test_a_dead_cast_folds_after_a_change_of_type);
    g_test_add_func("/resolve/a_rounding_cast_does_not_fold", test_a_rounding_cast_does_not_fold);
    g_test_add_func("/resolve/a_cast_of_all_users_is_stored", test_a_cast_of_all_users_is_stored);
    g_test_add_func("/resolve/a_broadcast_is_read_or_copied", test_a_broadcast_is_read_or_copied);
    g_test_add_func("/resolve/an_order_flows_through_elementwise_nodes",
                    test_an_order_flows_through_elementwise_nodes);
    g_test_add_func("/resolve/a_store_that_the_operator_lacks_is_refused",
                    test_a_store_that_the_operator_lacks_is_refused);
    g_test_add_func("/resolve/an_unresolved_graph_is_refused_by_name",
                    test_an_unresolved_graph_is_refused_by_name);
    g_test_add_func("/resolve/nodes_that_do_not_depend_on_an_unknown_one_have_shapes",
                    test_nodes_that_do_not_depend_on_an_unknown_one_have_shapes);
    g_test_add_func("/resolve/missing_shapes_and_producers_are_named",
                    test_missing_shapes_and_producers_are_named);
    g_test_add_func("/resolve/known_contents_flow_through_views",
                    test_known_contents_flow_through_views);
    g_test_add_func("/resolve/a_change_costs_what_depends_on_it",
                    test_a_change_costs_what_depends_on_it);
    return g_test_run();
}
