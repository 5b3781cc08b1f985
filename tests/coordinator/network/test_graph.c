#include "tests/support/network/small_ops.h"

#include <string.h>
#include <time.h>

static struct value *add_input(struct graph *graph, const char *name)
{
    struct shape shape = small_packed(ELEMENT_FLOAT32, 2, (int64_t[]){4, 4});
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

static void check(const struct graph *graph)
{
    g_autoptr(GError) error = NULL;
    g_assert_true(graph_validate(graph, &error));
    g_assert_no_error(error);
}

/* ---- adding ---- */

static void test_nodes_may_come_in_any_order(void)
{
    g_autoptr(Graph) graph = graph_new(NULL);
    struct value *values[101];
    values[0] = add_input(graph, "x");
    for (int i = 1; i <= 100; i++) {
        g_autofree char *name = g_strdup_printf("v%d", i);
        values[i] = graph_declare_value(graph, name);
    }
    for (int i = 100; i > 0; i--) { /* users first */
        const struct node_spec spec = {
            .op = &small_relu, .inputs = &values[i - 1], .input_count = 1, .outputs = &values[i]};
        g_assert_nonnull(graph_add(graph, &spec, NULL));
    }
    graph_add_output(graph, values[100]);
    check(graph);
    g_assert_true(graph_resolve(graph, NULL));
    g_assert_cmpint(graph->shape_computations, ==, 100);
    g_assert_true(graph_first(graph)->outputs[0] == values[1]);
    g_assert_true(graph_find_value(graph, "v50") == values[50]);
    g_assert_null(graph_find_value(graph, "v101"));
}

static void test_wrong_nodes_are_refused_and_leave_nothing(void)
{
    g_autoptr(Graph) graph = graph_new(NULL), other = graph_new(NULL);
    struct value *x = add_input(graph, "x"), *foreign = add_input(other, "y");
    struct value *two[] = {x, x}, *null[] = {NULL, x}, *removed = unary(&small_relu, x);
    g_assert_true(graph_remove_node(removed->producer, NULL));
    const struct {
        struct node_spec spec;
        const char *says;
    } cases[] = {
        {{.op = &small_relu, .inputs = two, .input_count = 2}, "Relu has 1 inputs, not 2"},
        {{.op = &small_add, .inputs = two, .input_count = 1}, "Add has 2 inputs, not 1"},
        {{.op = &small_add, .inputs = null, .input_count = 2}, "Add needs its input 0"},
        {{.op = &small_relu, .inputs = &foreign, .input_count = 1}, "'y' belongs to another graph"},
        {{.op = &small_relu, .inputs = &removed, .input_count = 1}, "is removed"},
        {{.op = &small_relu, .inputs = two, .input_count = 1, .output_count = 2},
         "Relu has 1 outputs, not 2"},
        {{.op = &small_relu, .inputs = two, .input_count = 1, .outputs = &x},
         "'x' has a producer already"},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GError) error = NULL;
        g_assert_null(graph_add(graph, &cases[i].spec, &error));
        g_assert_error(error, NETWORK_ERROR, NETWORK_ERROR_INVALID);
        g_assert_nonnull(strstr(error->message, cases[i].says));
        g_assert_cmpint(graph->node_count, ==, 0);
        g_assert_cmpint(x->use_count, ==, 0);
        check(graph);
    }
}

static void test_all_nodes_are_added_or_none(void)
{
    g_autoptr(Graph) graph = graph_new(NULL);
    struct value *x = add_input(graph, "x"), *a = graph_declare_value(graph, "a"),
                 *b = graph_declare_value(graph, "b");
    struct node_spec specs[] = {
        {.op = &small_relu, .inputs = &b, .input_count = 1, .outputs = &a},
        {.op = &small_relu, .inputs = &x, .input_count = 1, .outputs = &b},
        {.op = &small_relu, .inputs = &a, .input_count = 7},
    };
    struct node *nodes[3];
    g_autoptr(GError) error = NULL;
    g_assert_false(graph_add_many(graph, specs, 3, nodes, &error));
    g_assert_error(error, NETWORK_ERROR, NETWORK_ERROR_INVALID);
    g_assert_cmpint(graph->node_count, ==, 0);
    g_assert_cmpint(a->kind, ==, VALUE_DECLARED);
    check(graph);
    specs[2].input_count = 1;
    graph_set_eager(graph, true);
    int64_t before = graph->shape_computations;
    g_assert_true(graph_add_many(graph, specs, 3, nodes, NULL));
    g_assert_cmpint(graph->shape_computations - before, ==, 3); /* together, not one by one */
    g_assert_true(node_next(nodes[1]) == nodes[0]);
    check(graph);
}

/* ---- cycles ---- */

static void test_cycles_are_refused(void)
{
    g_autoptr(Graph) graph = graph_new(NULL);
    struct value *x = add_input(graph, "x"), *late = graph_declare_value(graph, "late");
    struct value *a = unary(&small_relu, x), *b = binary(&small_add, a, late),
                 *c = unary(&small_relu, b);
    g_autoptr(GError) error = NULL;
    g_assert_false(graph_set_input(a->producer, 0, c, &error));
    g_assert_error(error, NETWORK_ERROR, NETWORK_ERROR_CYCLE);
    g_assert_false(graph_set_input(a->producer, 0, a, NULL));
    g_assert_false(graph_replace_value(x, c, NULL));
    g_assert_false(graph_replace_node(a->producer, c->producer, NULL));
    g_clear_error(&error);
    const struct node_spec closing = {
        .op = &small_relu, .name = "closing", .inputs = &c, .input_count = 1, .outputs = &late};
    g_assert_null(graph_add(graph, &closing, &error));
    g_assert_error(error, NETWORK_ERROR, NETWORK_ERROR_CYCLE);
    g_assert_nonnull(strstr(error->message, "closing"));
    const struct node_spec self = {
        .op = &small_relu, .inputs = &late, .input_count = 1, .outputs = &late};
    g_assert_null(graph_add(graph, &self, NULL));
    check(graph);
    g_assert_cmpint(graph->node_count, ==, 3);
    /* This makes no cycle: the source only comes after its new user in the order. */
    struct value *d = unary(&small_strict, x);
    g_assert_true(graph_set_input(a->producer, 0, d, NULL));
    check(graph);
}

/* ---- replacing and removing ---- */

static void test_a_value_is_replaced_by_what_is_made_from_it(void)
{
    g_autoptr(Graph) graph = graph_new(NULL);
    struct value *x = add_input(graph, "x"), *a = unary(&small_relu, x);
    struct value *b = unary(&small_relu, a), *c = binary(&small_add, a, a);
    graph_rename_value(a, "a");
    graph_add_output(graph, a);
    struct value *between = unary(&small_strict, a);
    g_assert_true(graph_replace_value(a, between, NULL));
    g_assert_true(b->producer->inputs[0] == between);
    g_assert_true(c->producer->inputs[1] == between);
    g_assert_true(between->producer->inputs[0] == a);
    g_assert_true(graph->outputs->pdata[0] == between);
    g_assert_cmpstr(graph_output_name(graph, 0), ==, "a");
    g_assert_true(value_is_graph_output(between));
    g_assert_true(value_only_user(a) == between->producer);
    check(graph);
}

static void test_nodes_are_replaced_and_removed(void)
{
    g_autoptr(Graph) graph = graph_new(NULL);
    struct value *x = add_input(graph, "x");
    struct node *split = graph_apply(graph, &small_relu, NULL, &x, 1)->producer;
    const struct node_spec spec = {
        .op = &small_split, .inputs = &x, .input_count = 1, .output_count = 2};
    struct node *halves = graph_add(graph, &spec, NULL);
    struct value *second = unary(&small_relu, halves->outputs[1]);
    graph_add_output(graph, second);
    g_autoptr(GError) error = NULL;
    g_assert_false(graph_replace_node(halves, split, &error)); /* has one output, two are needed */
    g_assert_nonnull(strstr(error->message, "lacks outputs"));
    g_clear_error(&error);
    g_assert_false(graph_remove_node(halves, &error));
    g_assert_nonnull(strstr(error->message, "is used by node"));
    g_clear_error(&error);
    g_assert_false(graph_remove_node(second->producer, &error));
    g_assert_nonnull(strstr(error->message, "outputs of the graph"));
    struct node *again = graph_add(graph, &spec, NULL);
    g_assert_true(graph_replace_node(halves, again, NULL));
    g_assert_true(halves->removed && halves->outputs[1]->removed);
    g_assert_true(second->producer->inputs[0] == again->outputs[1]);
    g_assert_false(graph_set_input(halves, 0, x, NULL));
    check(graph);
}

static void test_dead_nodes_and_constants_go(void)
{
    g_autoptr(Graph) graph = graph_new(NULL);
    struct value *x = add_input(graph, "x"), *y = unary(&small_relu, x);
    g_autoptr(Tensor) tensor = tensor_new_int64(1);
    struct value *constant = graph_add_constant(graph, "c", tensor);
    struct value *dead = binary(&small_add, unary(&small_relu, y), constant);
    unary(&small_relu, dead);
    graph_add_output(graph, y);
    g_assert_cmpint(graph_remove_dead(graph), ==, 3);
    g_assert_true(constant->removed && dead->removed && !y->removed && !x->removed);
    g_assert_cmpint(graph_remove_dead(graph), ==, 0);
    check(graph);
}

static void test_known_results_become_constants(void)
{
    g_autoptr(Graph) graph = graph_new(NULL);
    struct value *x = add_input(graph, "x"), *dims = unary(&small_shape, x);
    graph_rename_value(dims, "dims");
    struct value *y = binary(&small_reshape_to, x, dims);
    graph_add_output(graph, y);
    g_assert_cmpint(graph_fold_constants(graph), ==, 1);
    const struct value *folded = y->producer->inputs[1];
    g_assert_cmpint(folded->kind, ==, VALUE_CONSTANT);
    g_assert_cmpstr(folded->name, ==, "dims");
    g_assert_cmpint(tensor_int64(folded->constant, 1), ==, 4);
    g_assert_cmpint(graph->node_count, ==, 1);
    g_assert_true(graph_resolve(graph, NULL));
    check(graph);
}

static void test_inputs_and_operators_change_in_place(void)
{
    g_autoptr(Graph) graph = graph_new(NULL);
    struct value *x = add_input(graph, "x"), *y = unary(&small_relu, x);
    graph_add_output(graph, y);
    g_assert_false(graph_set_op(y->producer, &small_add, NULL, NULL)); /* too few inputs */
    g_assert_false(graph_set_inputs(y->producer, (struct value *[]){x, x}, 2, NULL));
    g_assert_false(graph_set_input(y->producer, 0, NULL, NULL));
    g_assert_true(graph_set_op(y->producer, &small_strict, NULL, NULL));
    g_assert_true(graph_set_inputs(y->producer, y->producer->inputs, 1, NULL));
    g_assert_cmpstr(node_name(y->producer), ==, "Neg_0");
    check(graph);
}

/* ---- order ---- */

static void test_a_loop_survives_edits_in_its_body(void)
{
    g_autoptr(Graph) graph = graph_new(NULL);
    struct value *x = add_input(graph, "x");
    for (int i = 0; i < 50; i++)
        x = unary(&small_relu, x);
    graph_add_output(graph, x);
    int visited = 0;
    for (struct node *node = graph_first(graph); node; node = node_next(node)) {
        if (node->op != &small_relu) {
            visited++;
            continue;
        }
        /* Each Relu becomes two others behind it, and goes. */
        const struct node_spec first = {.op = &small_strict,
                                        .inputs = node->inputs,
                                        .input_count = 1,
                                        .before = node_next(node)};
        struct value *middle = graph_add(graph, &first, NULL)->outputs[0];
        const struct node_spec second = {
            .op = &small_strict, .inputs = &middle, .input_count = 1, .before = node_next(node)};
        struct node *last = graph_add(graph, &second, NULL);
        g_assert_true(graph_replace_node(node, last, NULL));
    }
    g_assert_cmpint(visited, ==, 100);
    g_assert_cmpint(graph->node_count, ==, 100);
    check(graph);
}

static void test_a_place_that_fills_up_makes_room(void)
{
    g_autoptr(Graph) graph = graph_new(NULL);
    struct value *x = add_input(graph, "x"), *first = unary(&small_relu, x);
    struct value *last = unary(&small_relu, x);
    for (int i = 0; i < 20000; i++) {
        const struct node_spec spec = {.op = &small_relu,
                                       .inputs = i % 2 ? &first : &x,
                                       .input_count = 1,
                                       .before = i % 3 ? last->producer : first->producer};
        g_assert_nonnull(graph_add(graph, &spec, NULL));
    }
    check(graph);
}

/* ---- copies ---- */

static void test_a_copy_is_equal_and_independent(void)
{
    g_autoptr(Graph) graph = graph_new("net");
    struct value *x = add_input(graph, "x");
    struct value *turned = graph_transpose(x, (int[]){1, 0}, 2);
    struct value *y = unary(&small_strict, turned), *z = binary(&small_matmul, y, x);
    graph_rename_value(z, "z");
    graph_add_output(graph, graph_transpose(z, (int[]){1, 0}, 2));
    graph_remove_node(unary(&small_relu, x)->producer, NULL); /* ids have a gap */
    g_assert_true(graph_resolve(graph, NULL));
    g_autoptr(GPtrArray) nodes = NULL, values = NULL;
    g_autoptr(Graph) copy = graph_copy(graph, &nodes, &values);
    check(copy);
    g_assert_true(graph_is_resolved(copy));
    g_assert_true(((struct value *)values->pdata[y->id])->producer ==
                  nodes->pdata[y->producer->id]);
    g_autoptr(GPtrArray) wanted = small_outputs_in_memory(graph);
    g_autoptr(GPtrArray) got = small_outputs_in_memory(copy);
    g_assert_cmpmem(wanted->pdata[0], 16 * sizeof(double), got->pdata[0], 16 * sizeof(double));
    /* Resolved again after an edit, it equals the original. */
    struct node *copied = nodes->pdata[y->producer->id];
    graph_set_attributes(copied, NULL);
    g_assert_false(graph_is_resolved(copy));
    g_assert_true(graph_is_resolved(graph));
    g_assert_true(graph_resolve(copy, NULL));
    check(copy);
    check(graph);
    g_assert_cmpint(copy->node_count, ==, graph->node_count);
}

/* ---- damage ---- */

static void test_damage_is_found(void)
{
    for (int damage = 0; damage < 11; damage++) {
        g_autoptr(Graph) graph = graph_new(NULL);
        struct value *x = add_input(graph, "x"), *a = unary(&small_relu, x);
        struct value *b = binary(&small_add, a, x), *c = graph_transpose(b, (int[]){1, 0}, 2);
        graph_add_output(graph, c);
        g_assert_true(graph_resolve(graph, NULL));
        check(graph);
        struct node *node = b->producer;
        int held = node->input_uses[0];
        switch (damage) {
        case 0: node->inputs[0] = x; break;
        case 1: node->input_uses[0] = 9; break;
        case 2: a->use_count = 0; break;
        case 3: a->removed = true; break;
        case 4: node->order = 0; break;
        case 5: a->producer = NULL; break;
        case 6: a->shape.dim[0] = -1; break;
        case 7: a->shape.rank = 9; break;
        case 8: node->pending = true; break;
        case 9: c->base = NULL; break;
        case 10: graph_rename_value(a, "x"); break;
        }
        g_autoptr(GError) error = NULL;
        g_assert_false(graph_validate(graph, &error));
        g_assert_error(error, NETWORK_ERROR, NETWORK_ERROR_INVALID);
        g_assert_nonnull(strstr(error->message, "damaged"));
        node->input_uses[0] = held;
    }
}

/* ---- size ---- */

static void test_a_hundred_thousand_nodes_take_no_quadratic_step(void)
{
    enum { NODES = 100000 };
    g_autoptr(Graph) graph = graph_new(NULL);
    struct value *x = add_input(graph, "x"), *y = x, *first = NULL;
    clock_t start = clock();
    for (int i = 0; i < NODES; i++) {
        y = i % 3 ? unary(i % 2 ? &small_relu : &small_strict, y)
                  : graph_transpose(y, (int[]){1, 0}, 2);
        first = first ? first : y;
    }
    graph_add_output(graph, y);
    g_assert_true(graph_resolve(graph, NULL));
    /* Each node gets one more in front of it. */
    for (struct node *node = graph_first(graph); node; node = node_next(node)) {
        if (node->id >= NODES || node->is_automatic)
            continue;
        const struct node_spec spec = {
            .op = &small_relu, .inputs = node->inputs, .input_count = 1, .before = node};
        struct node *added = graph_add(graph, &spec, NULL);
        g_assert_true(graph_set_input(node, 0, added->outputs[0], NULL));
    }
    g_assert_true(graph_resolve(graph, NULL));
    check(graph);
    double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    g_test_message("%.2f s", seconds);
    /* It takes 2 s; a quadratic step takes minutes. */
    g_assert_cmpfloat(seconds, <, 60);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/graph/nodes_may_come_in_any_order", test_nodes_may_come_in_any_order);
    g_test_add_func("/graph/wrong_nodes_are_refused_and_leave_nothing",
                    test_wrong_nodes_are_refused_and_leave_nothing);
    g_test_add_func("/graph/all_nodes_are_added_or_none", test_all_nodes_are_added_or_none);
    g_test_add_func("/graph/cycles_are_refused", test_cycles_are_refused);
    g_test_add_func("/graph/a_value_is_replaced_by_what_is_made_from_it",
                    test_a_value_is_replaced_by_what_is_made_from_it);
    g_test_add_func("/graph/nodes_are_replaced_and_removed", test_nodes_are_replaced_and_removed);
    g_test_add_func("/graph/dead_nodes_and_constants_go", test_dead_nodes_and_constants_go);
    g_test_add_func("/graph/known_results_become_constants", test_known_results_become_constants);
    g_test_add_func("/graph/inputs_and_operators_change_in_place",
                    test_inputs_and_operators_change_in_place);
    g_test_add_func("/graph/a_loop_survives_edits_in_its_body",
                    test_a_loop_survives_edits_in_its_body);
    g_test_add_func("/graph/a_place_that_fills_up_makes_room",
                    test_a_place_that_fills_up_makes_room);
    g_test_add_func("/graph/a_copy_is_equal_and_independent", test_a_copy_is_equal_and_independent);
    g_test_add_func("/graph/damage_is_found", test_damage_is_found);
    g_test_add_func("/graph/a_hundred_thousand_nodes_take_no_quadratic_step",
                    test_a_hundred_thousand_nodes_take_no_quadratic_step);
    return g_test_run();
}
