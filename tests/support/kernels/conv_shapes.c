#include "tests/support/kernels/conv_shapes.h"

void conv_shape_problem(const struct conv_shape *shape, enum direction direction,
                        enum layout layout, struct problem *p)
{
    problem_init(p);
    p->direction = direction;
    p->n = shape->n;
    p->c = shape->c;
    p->k = shape->k;
    p->groups = shape->groups;
    p->in[AXIS_H] = shape->in_h;
    p->in[AXIS_W] = shape->in_w;
    p->fil[AXIS_H] = shape->fil_h;
    p->fil[AXIS_W] = shape->fil_w;
    for (int a = AXIS_H; a <= AXIS_W; a++) {
        p->pad[a] = shape->pad;
        p->stride[a] = shape->stride;
        p->dilation[a] = shape->dilation;
    }
    for (int t = 0; t < TENSOR_COUNT; t++)
        p->layout[t] = layout;
    problem_set_output(p);
}

struct solution_runner *conv_contexts_init(TempFolder *folder, struct target targets[CONTEXT_COUNT],
                                           struct context contexts[CONTEXT_COUNT])
{
    struct solution_runner *runner = solution_runner_new(temp_folder_path(folder, "pocl"));

    if (!runner)
        return NULL;
    solution_runner_hurry(runner, true);
    targets[CONTEXT_HOST] = *solution_runner_target(runner);
    g_assert_true(target_parse("gfx90a68", &targets[CONTEXT_AMD], NULL));
    g_assert_true(target_parse("sm_90_132_80g", &targets[CONTEXT_NVIDIA], NULL));
    for (int i = 0; i < CONTEXT_COUNT; i++)
        context_init(&contexts[i], &targets[i]);
    return runner;
}

int conv_contexts_main(int argc, char **argv,
                       void (*add_tests)(struct solution_runner *runner,
                                         const struct context *contexts))
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    struct target targets[CONTEXT_COUNT];
    struct context contexts[CONTEXT_COUNT];
    struct solution_runner *runner;
    double seconds;
    int status, kernels;

    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    runner = conv_contexts_init(folder, targets, contexts);
    if (!runner) {
        g_print("1..0 # SKIP there is no such device on this machine\n");
        return 0;
    }
    add_tests(runner, contexts);
    status = g_test_run();
    seconds = solution_runner_compile_seconds(runner, &kernels);
    g_print("# %d kernels compiled in %.0f s\n", kernels, seconds);
    solution_runner_free(runner);
    return status;
}
