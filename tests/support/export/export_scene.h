/* The results of a made-up campaign, in memory, and what an export plans for them. The test
 * program's own solvers replace the product's: ConvTuned, whose config is one number, and ConvA to
 * ConvD, which have no configs. ConvTuned's config 16 needs a workspace of EXPORT_SCENE_WORKSPACE
 * bytes. */
#ifndef TESTS_SUPPORT_EXPORT_EXPORT_SCENE_H
#define TESTS_SUPPORT_EXPORT_EXPORT_SCENE_H

#include "export/release/export_plan.h"
#include "schema/store/store_kernels.h"
#include "tests/support/temp_folder.h"

#define EXPORT_SCENE_WORKSPACE 4096
#define EXPORT_SCENE_FORWARD   "64-56-56-3x3-64-56-56-16-1x1-1x1-1x1-0-NCHW-FP32-F"

/* The test program defines solver_table with these solvers. The table is not defined here, because
 * then every test that links tests/support would get it. */
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
    /* planned rows as texts: find-db lines, the .sjdb's own lines, perf params, kernels */
    GPtrArray *lines, *own_lines, *records, *kernels;
};
void export_scene_init(struct export_scene *scene);
void export_scene_clear(struct export_scene *scene);
struct kernel_row *export_scene_add_kernel(struct export_scene *scene, const char *key,
                                           const char *options, const char *code);
/* Adds a result to a job, with its own kernel. config: for ConvTuned only. */
struct result *export_scene_add(struct export_scene *scene, int64_t job, const char *key,
                                const char *solver, const char *config, double time_ms);
/* Plans the export and stores the planned rows as texts. */
void export_scene_choose(struct export_scene *scene);
/* The reason of refusal number `index`; "" if there are fewer refusals. */
const char *export_scene_reason(const struct export_scene *scene, guint index);

#endif
