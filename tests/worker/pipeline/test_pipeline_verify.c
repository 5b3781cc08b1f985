/* Steps of a network on a fake device, whose kernel doubles each element as a 1x1 filter of one channel does, and is wrong
 * where a test says so. */
#include "worker/pipeline/pipeline_verify.h"

#include <string.h>

#include "solvers/problem/problem_key.h"
#include "tests/support/doubles/fake_device.h"

#define SMALL "1-16-16-1x1-1-16-16-8-0x0-1x1-1x1-0-NCHW-FP32-F"
#define LARGE "1-256-256-1x1-1-256-256-64-0x0-1x1-1x1-0-NCHW-FP32-F"

#define ROWS "1-1-1-1x1-1-1-1-3000000-0x0-1x1-1x1-0-NCHW-FP32-F"

struct scene {
    struct fake_device fake;
    struct problem problem;
    struct tensor tensors[OPERAND_COUNT];
    struct device_memory *memory[OPERAND_COUNT];
    struct solution_rounding rounding;
    int64_t wrong_image;   /* -1: none */
    int64_t missing_image; /* not written; -1: none */
    int64_t missing_place; /* an element that is not written; -1: none */
};

static int64_t image_elements(const struct scene *scene)
{
    return tensor_count(&scene->tensors[TENSOR_Y]) / scene->problem.n;
}

static bool launch(void *data, GError **error)
{
    struct scene *scene = data;
    const float *x = fake_device_bytes(scene->memory[TENSOR_X]);
    float *y = fake_device_bytes(scene->memory[TENSOR_Y]);
    int64_t each = image_elements(scene);
    (void)error;
    for (int64_t i = 0; i < each * scene->problem.n; i++) {
        if (i / each != scene->missing_image && i != scene->missing_place)
            y[i] = 2 * x[i];
    }
    if (scene->wrong_image >= 0)
        y[scene->wrong_image * each + each / 2] += 1;
    return true;
}

static void scene_init(struct scene *scene, const char *key)
{
    g_autoptr(GError) error = NULL;
    *scene = (struct scene){.wrong_image = -1, .missing_image = -1, .missing_place = -1};
    fake_device_init(&scene->fake);
    g_assert_true(problem_key_parse(key, &scene->problem, &error));
    for (int role = 0; role < OPERAND_COUNT; role++) {
        tensor_init(&scene->tensors[role], &scene->problem, (enum tensor_role)role);
        if (!tensor_exists(&scene->tensors[role]))
            continue;
        int64_t bytes = tensor_bytes(&scene->tensors[role]);
        scene->memory[role] = fake_device_row.alloc(&scene->fake.device, bytes, &error);
        g_assert_no_error(error);
        float *element = fake_device_bytes(scene->memory[role]);
        for (int64_t i = 0; i < bytes / 4; i++)
            element[i] = role == TENSOR_W ? 2 : (float)(i % 1000);
    }
}

static void scene_clear(struct scene *scene)
{
    for (int role = 0; role < OPERAND_COUNT; role++) {
        if (scene->memory[role])
            fake_device_row.memory_free(scene->memory[role]);
    }
}

static struct verdict verdict_of(struct scene *scene)
{
    g_autoptr(GError) error = NULL;
    struct verdict verdict;
    const struct verifiable step = {.device = &scene->fake.device,
                                    .problem = &scene->problem,
                                    .rounding = &scene->rounding,
                                    .tensors = scene->tensors,
                                    .memory = scene->memory,
                                    .launch = launch,
                                    .data = scene};
    g_assert_true(pipeline_verify_step(&step, &verdict, &error));
    g_assert_no_error(error);
    return verdict;
}

static void test_faults(gconstpointer key)
{
    struct scene scene;
    struct verdict verdict;
    scene_init(&scene, key);
    verdict = verdict_of(&scene);
    g_assert_cmpint(verdict.failure, ==, FAILURE_NONE);
    /* The first image, the last, and two between. */
    const int64_t images[] = {0, (scene.problem.n - 1) / 3, 2 * (scene.problem.n - 1) / 3,
                              scene.problem.n - 1};
    for (gsize i = 0; i < G_N_ELEMENTS(images); i++) {
        scene.wrong_image = images[i];
        verdict = verdict_of(&scene);
        g_assert_cmpint(verdict.failure, ==, FAILURE_WRONG_RESULT);
        scene.wrong_image = -1;
        scene.missing_image = images[i];
        verdict = verdict_of(&scene);
        g_assert_cmpint(verdict.failure, ==, FAILURE_WRONG_RESULT);
        scene.missing_image = -1;
    }
    scene_clear(&scene);
}

/* An image that is not compared must be written. */
static void test_all_images_are_written(void)
{
    struct scene scene;
    scene_init(&scene, LARGE);
    scene.missing_image = 30;
    struct verdict verdict = verdict_of(&scene);
    g_assert_cmpint(verdict.failure, ==, FAILURE_WRONG_RESULT);
    g_assert_nonnull(strstr(verdict.detail, "was not written"));
    scene_clear(&scene);
}

/* One element, at both places that it can have in a word of eight bytes, and at the ends of what a thread searches. */
static void test_unwritten_element_is_named(void)
{
    static const int64_t places[] = {3000000, 3000001, 0x2c0000 - 1, 0x2c0000};
    struct scene scene;
    scene_init(&scene, LARGE);
    for (gsize i = 0; i < G_N_ELEMENTS(places); i++) {
        scene.missing_place = places[i];
        struct verdict verdict = verdict_of(&scene);
        g_autofree char *expected =
            g_strdup_printf("the element at place %" G_GINT64_FORMAT " was not written", places[i]);
        g_assert_cmpstr(verdict.detail, ==, expected);
    }
    /* Where several are missing, the first one is named. */
    scene.missing_image = 40;
    g_assert_nonnull(strstr(verdict_of(&scene).detail, "place 2621440 "));
    scene_clear(&scene);
}

/* The rows of a matrix product: any of them may be wrong. */
static void test_rows_are_compared_in_full(void)
{
    struct scene scene;
    scene_init(&scene, ROWS);
    scene.wrong_image = 1234567;
    g_assert_cmpint(verdict_of(&scene).failure, ==, FAILURE_WRONG_RESULT);
    scene_clear(&scene);
}

static void test_image_is_named(void)
{
    struct scene scene;
    scene_init(&scene, LARGE);
    scene.wrong_image = 63;
    struct verdict verdict = verdict_of(&scene);
    g_assert_true(g_str_has_prefix(verdict.detail, "image 63: "));
    scene_clear(&scene);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/pipeline_verify/an_unwritten_element_is_named",
                    test_unwritten_element_is_named);
    g_test_add_data_func("/pipeline_verify/a_small_step_is_compared_in_full", SMALL, test_faults);
    g_test_add_data_func(
        "/pipeline_verify/a_large_step_is_compared_from_its_first_to_its_last_image", LARGE,
        test_faults);
    g_test_add_func("/pipeline_verify/images_that_are_not_compared_must_be_written",
                    test_all_images_are_written);
    g_test_add_func("/pipeline_verify/rows_of_a_matrix_product_are_compared_in_full",
                    test_rows_are_compared_in_full);
    g_test_add_func("/pipeline_verify/a_wrong_image_is_named", test_image_is_named);
    return g_test_run();
}
