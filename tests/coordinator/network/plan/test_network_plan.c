#include "coordinator/network/plan/network_plan.h"

#include "solvers/problem/problem_key.h"

#include <string.h>

/* A plan of one 1x1 convolution with bias: x and y are 1 x 4 x 2 x 3. */
static struct network_plan *small_plan(void)
{
    static const int64_t dims[] = {1, 4, 2, 3}, w_count = 16, bias_count = 4;
    struct network_plan *plan = network_plan_new("small", 1);
    struct shape image, w, bias;
    struct problem problem;
    shape_set_packed(&image, ELEMENT_FLOAT32, 4, dims, NULL);
    shape_set_packed(&w, ELEMENT_FLOAT32, 1, &w_count, NULL);
    shape_set_packed(&bias, ELEMENT_FLOAT32, 1, &bias_count, NULL);
    problem_key_parse("4-2-3-1x1-4-2-3-1-0x0-1x1-1x1-0-NCHW-FP32-F+bias", &problem, NULL);
    g_autoptr(GBytes) filter = g_bytes_new_take(g_malloc0(64), 64);
    g_autoptr(GBytes) list = g_bytes_new_take(g_malloc0(16), 16);
    int x = network_plan_add_buffer(plan, "x", PLAN_INPUT, &image);
    int y = network_plan_add_buffer(plan, "y", PLAN_OUTPUT, &image);
    int w_buffer = network_plan_add_weight(plan, "w", &w, filter, false);
    int bias_buffer = network_plan_add_weight(plan, "bias", &bias, list, true);
    const char *nodes[] = {"conv", "bias", NULL};
    int step = network_plan_add_step(plan, "conv", nodes, &problem);
    struct plan_operand *operands = plan_step_at(plan, step)->operands;
    operands[TENSOR_X].buffer = x;
    operands[TENSOR_W].buffer = w_buffer;
    operands[TENSOR_Y].buffer = y;
    operands[TENSOR_BIAS].buffer = bias_buffer;
    g_array_append_val(plan->inputs, x);
    g_array_append_val(plan->outputs, y);
    plan->seed = 7;
    network_plan_finish(plan);
    return plan;
}

static void test_valid(void)
{
    g_autoptr(NetworkPlan) plan = small_plan();
    g_autoptr(GError) error = NULL;
    network_plan_validate(plan, &error);
    g_assert_no_error(error);
    char alone[PROBLEM_KEY_MAX];
    g_assert_cmpstr(problem_key(&plan_step_at(plan, 0)->alone, alone), ==,
                    "4-2-3-1x1-4-2-3-1-0x0-1x1-1x1-0-NCHW-FP32-F");
    g_assert_cmpint(plan_buffer_at(plan, 1)->last_step, ==, 0);
    g_assert_cmpint(plan_buffer_at(plan, 3)->file_offset, ==, PLAN_ALIGNMENT);
}

static void test_names(void)
{
    static const char *const names[] = {"x", "x", "x.2", "x", "x.2"};
    static const char *const given[] = {"x", "x.2", "x.2.2", "x.3", "x.2.3"};
    static const int64_t count = 4, other_count = 2;
    g_autoptr(NetworkPlan) plan = network_plan_new("names", 1);
    g_autoptr(GBytes) zeros = g_bytes_new_take(g_malloc0(16), 16);
    g_autoptr(GBytes) same = g_bytes_new_take(g_malloc0(16), 16);
    struct shape list, twin;
    shape_set_packed(&list, ELEMENT_FLOAT32, 1, &count, NULL);
    shape_set_packed(&twin, ELEMENT_FLOAT64, 1, &other_count, NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        int index = network_plan_add_buffer(plan, names[i], PLAN_ACTIVATION, &list);
        g_assert_cmpstr(plan_buffer_at(plan, index)->name, ==, given[i]);
    }
    int first = network_plan_add_weight(plan, "w", &list, zeros, false);
    g_assert_cmpint(network_plan_add_weight(plan, "v", &list, same, false), ==, first);
    g_assert_cmpint(network_plan_add_weight(plan, "v", &twin, same, false), !=, first);
}

static void lose_bias(struct network_plan *plan)
{
    plan_step_at(plan, 0)->operands[TENSOR_BIAS].buffer = -1;
}
static void add_residual(struct network_plan *plan)
{
    plan_step_at(plan, 0)->operands[TENSOR_RESIDUAL].buffer = 0;
}
static void write_input(struct network_plan *plan)
{
    plan_step_at(plan, 0)->operands[TENSOR_Y].buffer = 0;
}
static void read_early(struct network_plan *plan)
{
    plan_step_at(plan, 0)->operands[TENSOR_X].buffer = 1;
}
static void move_behind(struct network_plan *plan)
{
    plan_step_at(plan, 0)->operands[TENSOR_X].offset_bytes = 4;
}
static void spoil_problem(struct network_plan *plan)
{
    plan_step_at(plan, 0)->problem.out[AXIS_H] = 9;
}
static void leave_buffer(struct network_plan *plan)
{
    plan_buffer_at(plan, 1)->alias_of = 0;
    plan_buffer_at(plan, 1)->alias_offset = 4;
}

static void test_invalid(void)
{
    static const struct {
        void (*spoil)(struct network_plan *plan);
        const char *message;
    } rows[] = {
        {lose_bias, "step 'conv' lacks operand bias"},
        {add_residual, "step 'conv' has no operand residual"},
        {write_input, "step 'conv' writes input 'x'"},
        {read_early, "step 'conv' reads buffer 'y' before a step has written it"},
        {move_behind,
         "step 'conv': its operand x, 96 bytes from 4, does not lie in buffer 'x' of 96 "
         "bytes"},
        {spoil_problem, "step 'conv': out_h is 9*"},
        {leave_buffer, "buffer 'y' is not inside buffer 'x'"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(NetworkPlan) plan = small_plan();
        g_autoptr(GError) error = NULL;
        rows[i].spoil(plan);
        g_assert_false(network_plan_validate(plan, &error));
        g_test_message("%s", error->message);
        g_assert_true(g_pattern_match_simple(rows[i].message, error->message));
    }
}

/* The JSON names the weights' file, its size and sum; the file has the constants at their places. */
static void test_files(void)
{
    g_autofree char *folder = g_dir_make_tmp("plan-XXXXXX", NULL);
    g_autofree char *path = g_build_filename(folder, "net.json", NULL);
    g_autofree char *weights_path = g_build_filename(folder, "net.weights", NULL);
    g_autofree char *bytes = NULL;
    g_autoptr(NetworkPlan) plan = small_plan();
    g_autoptr(GError) error = NULL;
    gsize length;
    network_plan_write(plan, path, &error);
    g_assert_no_error(error);
    json_t *json = json_load_file(path, 0, NULL);
    json_t *weights = json_object_get(json, "weights");
    g_file_get_contents(weights_path, &bytes, &length, &error);
    g_assert_no_error(error);
    g_autofree char *sum =
        g_compute_checksum_for_data(G_CHECKSUM_SHA256, (const guchar *)bytes, length);
    g_assert_cmpint(json_integer_value(json_object_get(json, "skipjack_plan")), ==, 1);
    g_assert_cmpstr(json_string_value(json_object_get(weights, "file")), ==, "net.weights");
    g_assert_cmpint(json_integer_value(json_object_get(weights, "bytes")), ==, (json_int_t)length);
    g_assert_cmpstr(json_string_value(json_object_get(weights, "sha256")), ==, sum);
    g_assert_cmpint(json_integer_value(json_object_get(weights, "seed")), ==, 7);
    g_assert_cmpint(length, ==, PLAN_ALIGNMENT + 16);
    json_t *step = json_array_get(json_object_get(json, "steps"), 0);
    g_assert_cmpstr(json_string_value(json_object_get(step, "problem")), ==,
                    "4-2-3-1x1-4-2-3-1-0x0-1x1-1x1-0-NCHW-FP32-F+bias");
    g_assert_cmpint(json_object_size(json_object_get(step, "operands")), ==, 4);
    json_decref(json);
    remove(path);
    remove(weights_path);
    remove(folder);
}

static void test_unwritable(void)
{
    g_autoptr(NetworkPlan) plan = small_plan();
    g_autoptr(GError) error = NULL;
    g_assert_false(network_plan_write(plan, "/nonexistent/net.json", &error));
    g_assert_error(error, G_FILE_ERROR, G_FILE_ERROR_NOENT);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/network_plan/names_are_unique_and_weights_are_shared", test_names);
    g_test_add_func("/network_plan/a_plan_keeps_its_rules", test_valid);
    g_test_add_func("/network_plan/what_breaks_a_rule_is_named", test_invalid);
    g_test_add_func("/network_plan/files_are_as_the_page_says", test_files);
    g_test_add_func("/network_plan/a_folder_that_is_not_there_is_named", test_unwritable);
    return g_test_run();
}
