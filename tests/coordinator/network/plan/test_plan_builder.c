#include "coordinator/network/plan/plan_builder.h"

#include "coordinator/network/passes/fuse.h"
#include "coordinator/network/passes/lower.h"
#include "solvers/problem/problem_key.h"
#include "tests/support/network/network_text.h"

#include <string.h>

/* Two convolutions into one tensor of two images, from which a slice is taken. */
static const char *const lines[] = {
    "input x 2,4,6,6",
    "weight a 3,4,1,1",
    "weight b 5,4,3,3",
    "ints begin 2",
    "ints end 6",
    "ints axis 1",
    "Conv x a = p",
    "Conv x b = q pads=[1,1,1,1]",
    "Relu q = r",
    "Concat p r = s axis=1",
    "Slice s begin end axis = t",
    "MaxPool t = y kernel_shape=[2,2]",
    "output y",
    NULL,
};

static struct network_plan *plan_of(const struct plan_options *options, GError **error)
{
    g_autoptr(Graph) graph = network_of(lines);
    network_lower(graph, error);
    network_fuse(graph, FUSION_ALL, NULL, error);
    g_assert_no_error(*error);
    return plan_build(graph, options, error);
}

static void check_steps(const struct plan_options *options, const char *const *keys)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(NetworkPlan) plan = plan_of(options, &error);
    char key[PROBLEM_KEY_MAX];
    g_assert_no_error(error);
    for (guint i = 0; i < plan->steps->len; i++) {
        problem_key(&plan_step_at(plan, (int)i)->problem, key);
        g_test_message("%s", key);
        g_assert_true(keys[i] != NULL && g_pattern_match_simple(keys[i], key));
    }
    g_assert_cmpint(plan->steps->len, ==, g_strv_length((char **)keys));
}

static void test_in_place(void)
{
    static const char *const keys[] = {
        "4-6-6-1x1-3-*_sy288x36x0x6x1",
        "4-6-6-3x3-5-*_sy288x36x0x6x1+relu",
        "pool(max)-4-6-6-*_sx288x36x0x6x1",
        NULL,
    };
    check_steps(&(struct plan_options){.in_place = true}, keys);
}

static void test_copies(void)
{
    static const char *const keys[] = {
        "4-6-6-1x1-3-*-F",
        "4-6-6-3x3-5-*-F+relu",
        "pointwise-3-6-6-*_sy*",
        "pointwise-5-6-6-*_sy*",
        "pointwise-4-6-6-*_sx*",
        "pool(max)-4-6-6-*-F",
        NULL,
    };
    check_steps(&(struct plan_options){.in_place = false}, keys);
}

/* TF32 is permitted to convolutions alone, and their problems are valid. */
static void test_tf32(void)
{
    const struct plan_options options = {.in_place = true, .tf32 = true};
    g_autoptr(GError) error = NULL;
    g_autoptr(NetworkPlan) plan = plan_of(&options, &error);
    int permitted = 0;
    g_assert_no_error(error);
    for (guint i = 0; i < plan->steps->len; i++) {
        const struct plan_step *step = plan_step_at(plan, (int)i);
        g_assert_true(problem_validate(&step->problem, &error));
        g_assert_true(problem_is_tf32(&step->problem) == (step->problem.kind == OP_CONV));
        g_assert_true(problem_is_tf32(&step->alone) == (step->problem.kind == OP_CONV));
        permitted += problem_is_tf32(&step->problem);
    }
    g_assert_cmpint(permitted, >, 1);
    g_assert_cmpint(permitted, <, (int)plan->steps->len);
}

static void test_tf32_is_for_fp32(void)
{
    static const struct {
        enum data_type x, y, cast;
        bool is_permitted;
    } rows[] = {
        {TYPE_FP32, TYPE_FP32, TYPE_NONE, true},
        {TYPE_FP16, TYPE_FP16, TYPE_NONE, false},
        {TYPE_FP32, TYPE_FP16, TYPE_NONE, false},
        {TYPE_FP32, TYPE_FP32, TYPE_FP8, false},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        struct problem p;
        problem_init(&p);
        p.type[TENSOR_X] = p.type[TENSOR_W] = rows[i].x;
        p.type[TENSOR_Y] = rows[i].y;
        p.cast[TENSOR_X] = rows[i].cast;
        plan_permit_tf32(&p);
        g_assert_true(problem_is_tf32(&p) == rows[i].is_permitted);
    }
}

/* A transposed tensor in other dimensions has no strides: the graph's own copy of it is written where the join has it. */
static void test_copy_into_join(void)
{
    static const char *const turned[] = {
        "input x 1,4,6,6",
        "ints dims 1,24,6,1",
        "Transpose x = t perm=[0,2,1,3]",
        "Reshape t dims = r",
        "MaxPool x = m kernel_shape=[1,6]",
        "Concat r m = y axis=1",
        "output y",
        NULL,
    };
    static const char *const keys[] = {"pool(max)-4-6-6-*", "pointwise-*"};
    g_autoptr(GError) error = NULL;
    g_autoptr(Graph) graph = network_of(turned);
    g_assert_true(network_lower(graph, &error));
    g_autoptr(NetworkPlan) plan =
        plan_build(graph, &(struct plan_options){.in_place = true}, &error);
    char key[PROBLEM_KEY_MAX];
    g_assert_no_error(error);
    for (guint i = 0; i < plan->steps->len; i++) {
        problem_key(&plan_step_at(plan, (int)i)->problem, key);
        g_test_message("%s", key);
        g_assert_true(i < G_N_ELEMENTS(keys) && g_pattern_match_simple(keys[i], key));
    }
    g_assert_cmpint(plan->steps->len, ==, G_N_ELEMENTS(keys));
}

/* Planes of 100 bytes: the second convolution's place in the joined tensor, from byte 300 on, and the slice's from byte
 * 200 on are no multiples of 16. */
static void test_alignment(void)
{
    static const char *const odd[] = {
        "input x 1,4,5,5",
        "weight a 3,4,1,1",
        "weight b 5,4,3,3",
        "weight c 2,4,1,1",
        "ints begin 2",
        "ints end 6",
        "ints axis 1",
        "Conv x a = p",
        "Conv x b = q pads=[1,1,1,1]",
        "Concat p q = s axis=1",
        "Slice s begin end axis = t",
        "Conv t c = y",
        "output y",
        NULL,
    };
    static const char *const keys[] = {
        "4-5-5-1x1-3-*",     "4-5-5-3x3-5-*-F", "pointwise-5-5-5-*",
        "pointwise-4-5-5-*", "4-5-5-1x1-2-*-F",
    };
    g_autoptr(GError) error = NULL;
    g_autoptr(Graph) graph = network_of(odd);
    g_assert_true(network_lower(graph, &error));
    g_autoptr(NetworkPlan) plan =
        plan_build(graph, &(struct plan_options){.in_place = true}, &error);
    char key[PROBLEM_KEY_MAX];
    g_assert_no_error(error);
    g_assert_true(network_plan_validate(plan, &error));
    for (guint i = 0; i < plan->steps->len; i++) {
        problem_key(&plan_step_at(plan, (int)i)->problem, key);
        g_test_message("%s", key);
        g_assert_true(i < G_N_ELEMENTS(keys) && g_pattern_match_simple(keys[i], key));
    }
    g_assert_cmpint(plan->steps->len, ==, G_N_ELEMENTS(keys));
}

/* A device without strides in convolutions and pools, and without activations. */
static bool serves_plain(const struct problem *problem, void *context)
{
    (void)context;
    return problem->kind == OP_POINTWISE ||
           (!problem_is_strided(problem) && problem->epilogue[0] == '\0');
}

static void test_repairs(void)
{
    static const char *const keys[] = {
        "4-6-6-1x1-3-*-F",       "4-6-6-3x3-5-*-F",
        "pointwise-5-*+relu",    "pointwise-3-6-6-*_sy*",
        "pointwise-5-6-6-*_sy*", "pointwise-4-6-6-*_sx*",
        "pool(max)-4-6-6-*-F",   NULL,
    };
    check_steps(&(struct plan_options){.in_place = true, .serves = serves_plain}, keys);
}

static bool serves_no_pool(const struct problem *problem, void *context)
{
    (void)context;
    return problem->kind != OP_POOL;
}

static void test_unserved(void)
{
    g_autoptr(GError) error = NULL;
    const struct plan_options options = {.in_place = true, .serves = serves_no_pool};
    g_autoptr(NetworkPlan) plan = plan_of(&options, &error);
    g_assert_null(plan);
    g_assert_error(error, NETWORK_ERROR, NETWORK_ERROR_UNSUPPORTED);
    g_assert_true(g_pattern_match_simple(
        "node 'n_y' (pool): no solver serves its problem on the target: pool(max)-4-*",
        error->message));
}

static void test_unresolved(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(Graph) graph = network_of(lines);
    const struct plan_options options = {.in_place = true};
    graph_apply(graph, &op_copy, NULL, (struct value *[]){graph->inputs->pdata[0]}, 1);
    g_assert_null(plan_build(graph, &options, &error));
    g_assert_error(error, NETWORK_ERROR, NETWORK_ERROR_PENDING);
}

static void test_target(void)
{
    struct target target;
    struct problem problem;
    g_assert_true(target_parse("cpu-znver4_2", &target, NULL));
    problem_key_parse("4-6-6-1x1-3-6-6-2-0x0-1x1-1x1-0-NCHW-FP32-F", &problem, NULL);
    g_assert_true(plan_target_serves(&problem, &target));
    problem_key_parse("4-6-6-1x1-3-6-6-2-0x0-1x1-1x1-0-NCHW-FP64-F+relu", &problem, NULL);
    g_assert_false(plan_target_serves(&problem, &target));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/plan_builder/joined_tensors_and_parts_are_places", test_in_place);
    g_test_add_func("/plan_builder/tf32_is_permitted_to_convolutions", test_tf32);
    g_test_add_func("/plan_builder/tf32_is_for_tensors_of_fp32", test_tf32_is_for_fp32);
    g_test_add_func("/plan_builder/or_copies", test_copies);
    g_test_add_func("/plan_builder/a_copy_is_written_where_a_join_has_it", test_copy_into_join);
    g_test_add_func("/plan_builder/convolutions_begin_where_kernels_may_load", test_alignment);
    g_test_add_func("/plan_builder/what_a_device_cannot_do_is_done_in_more_steps", test_repairs);
    g_test_add_func("/plan_builder/a_node_that_no_solver_serves_is_named", test_unserved);
    g_test_add_func("/plan_builder/an_unresolved_graph_is_refused", test_unresolved);
    g_test_add_func("/plan_builder/the_solver_table_says_what_a_target_serves", test_target);
    return g_test_run();
}
