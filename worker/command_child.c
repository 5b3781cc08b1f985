#include "worker/commands.h"

#include <stdio.h>
#include <string.h>

#include "kernels/opencl.h"
#include "worker/agent/child.h"
#include "worker/build_child.h"
#include "worker/eval/eval_child.h"

static int run_build(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    const char *scratch = g_getenv("SKIPJACK_SCRATCH");
    opencl_environment(scratch);
    /* A compiler that is killed with this child leaves its files where the agent removes them. */
    g_setenv("TMPDIR", scratch, TRUE);
    return build_child_main();
}

static int run_eval(int argc, char **argv)
{
    return eval_child_main(argc > 0 ? argv[0] : "0");
}

static const struct {
    const char *name;
    int (*run)(int argc, char **argv); /* the arguments after child_enter()'s */
} roles[] = {
    {"build", run_build},
    {"eval", run_eval},
};

int command_child(int argc, char **argv)
{
    g_autoptr(GError) error = NULL;
    const char *role = argc > 1 ? argv[1] : "";
    const char *scratch = g_getenv("SKIPJACK_SCRATCH");
    for (size_t i = 0; i < G_N_ELEMENTS(roles); i++) {
        if (strcmp(role, roles[i].name) != 0)
            continue;
        if (!scratch || !child_enter(argc - 2, argv + 2, &error)) {
            fprintf(stderr, "child: %s\n", error ? error->message : "SKIPJACK_SCRATCH is not set");
            return 1;
        }
        return roles[i].run(argc - 2 - CHILD_ARGUMENTS, argv + 2 + CHILD_ARGUMENTS);
    }
    fprintf(stderr, "child: this command is started by skipjack worker alone\n");
    return 2;
}
