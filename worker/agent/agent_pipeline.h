/*
 * Runs a whole network (`--pipeline`): a fresh build child compiles its kernels, a fresh eval child runs it
 * (pipeline/pipeline_run.h). Needs no database and stores nothing.
 */
#ifndef WORKER_AGENT_AGENT_PIPELINE_H
#define WORKER_AGENT_AGENT_PIPELINE_H

struct pipeline_options {
    /*
     * A JSON file: {"plan": PATH, "steps": [{"solver": NAME, "config": "64,8", "workspace_bytes": B}, ...],
     * "input": PATH, "output": PATH, "seed": N, "sample_seconds": S,
     * "verify": true}. The plan is that of
     * coordinator/network/plan/PLAN.md, steps has one element for each of its steps. All but plan and steps may be
     * left out, and workspace_bytes, too: the limit under which the config was tuned. Relative paths are relative to
     * the working directory.
     *
     * Several networks are timed in turns: {"pipelines": [{"plan", "steps", "input", "output", "seed"}, ...],
     * "sample_seconds": S, "verify": true}.
     */
    const char *path;
    const char *device;             /* device of the eval child, as --eval names it */
    double compile_timeout_seconds; /* a kernel */
    double run_timeout_seconds; /* the whole, in addition to the time that its operations take */
};

/* Prints the answer of the eval child ("pipeline" or "pipelines" in protocol.h), together with "kernels", "bytes", "compile_seconds"
 * and "target", on stdout. Returns the exit status as direct_run() does. */
int agent_pipeline(const struct pipeline_options *options);

#endif
