/*
 * The results of a made-up campaign, and what an export plans of them: solvers that a test puts in place of the program's
 * (ConvTuned, whose config is one number, and ConvA to ConvD without any), nothing stored. A config of 16 needs
 * EXPORT_SCENE_WORKSPACE.
 */
#ifndef TESTS_SUPPORT_EXPORT_SCENE_H
#define TESTS_SUPPORT_EXPORT_SCENE_H

#include "export/release/export_plan.h"
#include "schema/store/store_kernels.h"
#include "tests/support/temp_folder.h"

#define EXPORT_SCENE_WORKSPACE 4096
#define EXPORT_SCENE_FORWARD   "64-56-56-3x3-64-56-56-16-1x1-1x1-1x1-0-NCHW-FP32-F"

/* The test program's solver_table has to hold these. The table is not defined here, because every test that links
 * tests/support would get it. */
#define EXPORT_SCENE_SOLVERS 5
extern const struct solver export_scene_solvers[EXPORT_SCENE_SOLVERS];

/* Adds a launch of one kernel, whose options name the problem and the config. */
struct launch *export_scene_launch(const struct problem *p, const struct perf_config *config,
                                   struct solution *solution);

struct export_scene {
    struct export_source source;
    struct export_wish wish;
    struct gate gate;
    struct export_spool spool;
    struct export_summary summary;
    TempFolder *folder;
    GPtrArray *results; /* struct result * */
    /* what was planned, as texts */
    GPtrArray *lines, *own_lines, *records, *kernels;
};
void export_scene_init(struct export_scene *scene);
void export_scene_clear(struct export_scene *scene);
struct kernel_row *export_scene_add_kernel(struct export_scene *scene, const char *key,
                                           const char *options, const char *code);
/* A job's result of this rank, with a kernel of its own. config: of ConvTuned alone. */
struct result *export_scene_add(struct export_scene *scene, int64_t job, const char *key,
                                const char *solver, const char *config, double time_ms);
/* Plans the export, and keeps as texts what was planned. */
void export_scene_choose(struct export_scene *scene);
/* The reason of refusal number `index`; "" if there are fewer refusals. */
const char *export_scene_reason(const struct export_scene *scene, guint index);

#endif
