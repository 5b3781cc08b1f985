#include "worker/commands.h"

#include <stdio.h>
#include <string.h>

#include "kernels/toolchains/opencl.h"
#include "worker/build/build_child.h"
#include "worker/child/child_enter.h"
#include "worker/device/device_list.h"
#include "worker/device/gpu_clocks.h"
#include "worker/eval/eval_child.h"

static int run_build(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    const char *scratch = g_getenv("SKIPJACK_SCRATCH");
    g_autoptr(GError) error = NULL;
    if (!opencl_environment(scratch, &error)) {
        fprintf(stderr, "child: %s\n", error->message);
        return 1;
    }
    /* A build child launches no kernels, so PoCL needs only one thread. With 512 cores the
     * stacks of its threads would take 4 GiB, the whole limit of the child's memory. */
    g_setenv("POCL_MAX_PTHREAD_COUNT", "1", TRUE);
    /* Temporary files go into the scratch folder, which the agent empties, even if a compiler is
     * killed with this child. */
    g_setenv("TMPDIR", scratch, TRUE);
    return build_child_main();
}

static int run_eval(int argc, char **argv)
{
    return eval_child_main(argc > 0 ? argv[0] : "");
}

static int run_probe(int argc, char **argv)
{
    return eval_child_hello(argc > 0 ? argv[0] : "");
}

static int run_gpus(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    return device_list_child();
}

static const struct role {
    const char *name;
    int (*run)(int argc, char **argv); /* gets the arguments behind those of child_enter() */
    /* The role sends no frames and does not call child_enter(). */
    bool is_bare;
} roles[] = {
    {"build", run_build, false},
    {"eval", run_eval, false},
    {"probe", run_probe, false},
    {"gpus", run_gpus, true},
    {GPU_CLOCKS_ROLE, gpu_clocks_guard, true},
};

static int run_role(const struct role *role, int argc, char **argv)
{
    g_autoptr(GError) error = NULL;
    const char *scratch = g_getenv("SKIPJACK_SCRATCH");
    if (role->is_bare)
        return role->run(argc, argv);
    if (!scratch || *scratch == '\0' || !child_enter(argc, argv, &error)) {
        fprintf(stderr, "child: %s\n", error ? error->message : "SKIPJACK_SCRATCH is not set");
        return 1;
    }
    return role->run(argc - CHILD_ARGUMENTS, argv + CHILD_ARGUMENTS);
}

int command_child(int argc, char **argv)
{
    for (size_t i = 0; argc > 1 && i < G_N_ELEMENTS(roles); i++)
        if (strcmp(argv[1], roles[i].name) == 0)
            return run_role(&roles[i], argc - 2, argv + 2);
    fprintf(stderr, "child: only skipjack worker starts this command\n");
    return 2;
}
