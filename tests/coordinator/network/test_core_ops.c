#include "tests/support/network/small_ops.h"
#include "tests/support/test_effort.h"

#include <string.h>

static struct attributes *with_ints(const char *name, const int64_t *numbers, int count)
{
    struct attributes *attributes = attributes_new();
    attributes_set_ints(attributes, name, numbers, count);
    return attributes;
}

static bool infer(const struct op *op, const struct shape *input,
                  const struct attributes *attributes, struct shape *output, GError **error)
{
    const struct shape *inputs[] = {input};
    const struct tensor *constants[] = {NULL};
    const struct op_call call = {.op = op,
                                 .attributes = attributes,
                                 .input_count = 1,
                                 .inputs = inputs,
                                 .constants = constants,
                                 .output_count = 1};
    shape_set_unknown(output);
    return op->infer(&call, output, error);
}

static void test_attributes_decide_shapes(void)
{
    static const struct {
        const struct op *op;
        const char *name;
        int64_t numbers[4];
        int count;
        const char *shape, *says;
    } cases[] = {
        {&op_transpose, "perm", {2, 0, 1}, 3, "float32[4,2,3]", NULL},
        {&op_transpose, "other", {0}, 1, "float32[4,3,2]", NULL},
        {&op_transpose, "perm", {0, 1}, 2, NULL, "perm has 2 entries"},
        {&op_transpose, "perm", {0, 1, 1}, 3, NULL, "each of the axes 0 to 2 once"},
        {&op_transpose, "perm", {0, 1, -1}, 3, NULL, "each of the axes"},
        {&op_reshape, "dims", {6, -1}, 2, "float32[6,4]", NULL},
        {&op_reshape, "dims", {24}, 1, "float32[24]", NULL},
        {&op_reshape, "dims", {-1, -1}, 2, NULL, "one may be"},
        {&op_reshape, "dims", {5, -1}, 2, NULL, "cannot be reshaped"},
        {&op_reshape, "dims", {0, -1}, 2, NULL, "cannot be reshaped"},
        {&op_reshape, "dims", {-2, -12}, 2, NULL, "not negative"},
        {&op_reshape, "dims", {INT64_MAX, 4}, 2, NULL, "cannot be reshaped"},
        {&op_reshape, "other", {24}, 1, NULL, "needs dims"},
        {&op_broadcast, "dims", {5, 2, 3, 4}, 4, "float32[5,2,3,4]", NULL},
        {&op_broadcast, "dims", {2, 3, 5}, 3, NULL, "do not broadcast"},
        {&op_broadcast, "dims", {3, 4}, 2, NULL, "larger dimensions"},
        {&op_broadcast, "dims", {2, 1, 4}, 3, NULL, "larger dimensions"},
        {&op_cast, "to", {ELEMENT_INT8}, 1, NULL, "needs the type"}, /* ints, not int */
        {&op_copy, "other", {0}, 1, "float32[2,3,4]", NULL},
        {&op_unknown, "other", {0}, 1, NULL, "is not known"},
    };
    struct shape input = small_packed(ELEMENT_FLOAT32, 3, (int64_t[]){2, 3, 4});
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GError) error = NULL;
        g_autoptr(Attributes) attributes =
            with_ints(cases[i].name, cases[i].numbers, cases[i].count);
        struct shape output;
        bool ok = infer(cases[i].op, &input, attributes, &output, &error);
        g_assert_cmpint(ok, ==, cases[i].shape != NULL);
        g_autofree char *text = shape_text(&output);
        if (ok)
            g_assert_cmpstr(text, ==, cases[i].shape);
        else
            g_assert_nonnull(strstr(error->message, cases[i].says));
    }
}

static int64_t junk(GRand *rand)
{
    static const int64_t edges[] = {INT64_MIN, INT64_MAX, INT64_MAX / 2, -1, 0, 1, 1LL << 32, 64};
    return g_rand_boolean(rand) ? edges[g_rand_int_range(rand, 0, G_N_ELEMENTS(edges))]
                                : g_rand_int_range(rand, -2, 9);
}

static void test_junk_in_attributes_is_refused_or_resolved(void)
{
    static const struct op *const ops[] = {&op_transpose, &op_reshape, &op_broadcast, &op_cast,
                                           &op_copy};
    static const char *const names[] = {"perm", "dims", "to"};
    g_autoptr(GRand) rand = g_rand_new_with_seed(test_seed());
    g_test_message("seed %u", test_seed());
    for (int round = 0; round < test_effort(20000); round++) {
        g_autoptr(Graph) graph = graph_new(NULL);
        struct shape shape = small_packed(ELEMENT_FLOAT32, 3, (int64_t[]){2, 1, 4});
        struct value *x = graph_add_input(graph, "x", &shape);
        for (int i = 0; i < 3; i++) {
            int64_t numbers[SHAPE_MAX_RANK + 2];
            int count = g_rand_int_range(rand, 0, G_N_ELEMENTS(numbers));
            for (int j = 0; j < count; j++)
                numbers[j] = junk(rand);
            g_autoptr(Attributes) attributes =
                with_ints(names[g_rand_int_range(rand, 0, 2)], numbers, count);
            attributes_set_int(attributes, "to", junk(rand));
            x = graph_apply(graph, ops[g_rand_int_range(rand, 0, G_N_ELEMENTS(ops))], attributes,
                            &x, 1);
        }
        graph_add_output(graph, x);
        bool is_whole = graph_propagate(graph) == 0;
        g_autoptr(GError) error = NULL;
        g_assert_cmpint(graph_resolve(graph, &error), ==, is_whole);
        g_assert_cmpint(error == NULL, ==, is_whole);
        g_assert_true(graph_validate(graph, NULL));
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/core_ops/attributes_decide_shapes", test_attributes_decide_shapes);
    g_test_add_func("/core_ops/junk_in_attributes_is_refused_or_resolved",
                    test_junk_in_attributes_is_refused_or_resolved);
    return g_test_run();
}
