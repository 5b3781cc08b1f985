#include "solvers/framework/solver_claims.h"

/* The most configs of a space that are counted. */
#define CONFIGS_MAX 100000

#define BATCH        2
#define SIZE         28
#define CHANNELS     128
#define GROUPS       4
/* Channels and image size for solvers that serve few channels, as a network's first layer has them. */
#define FEW_CHANNELS 2
#define FEW_SIZE     32

const int claim_filters[CLAIM_FILTER_COUNT] = {1, 2, 3, 5, 7, 31};

static const char *const target_ids[] = {"gfx90a68", "sm_90_132_80g", "cpu-skylake-avx512_2"};
/* Other targets for solvers with instructions of one vendor: such a solver may serve only one of the vendor's kinds
 * of matrix unit, and TF32, FP8 and BF8 on its newest alone. */
static const char *const native_target_ids[] = {"gfx1201_64", "gfx942130"};

/* One problem that each solver is asked about, and what a solver that serves it may claim. */
struct probe {
    enum solver_feature feature;
    int filter; /* index of the filter size in claim_filters */
    /* the problem's form, whatever the feature: depthwise, or several groups */
    bool depthwise, grouped;
    bool few;
    bool whole; /* the filter is the whole image, without padding */
    struct problem problem;
};

static void set_types(struct problem *p, enum data_type type)
{
    for (int t = 0; t < TENSOR_COUNT; t++)
        p->type[t] = type;
    if (type == TYPE_INT8 && p->kind == OP_CONV)
        p->type[problem_output_role(p)] = TYPE_INT32;
}

/* Gives an operator other than a convolution a mode, and the fields that it has. False where the probe asks for what the
 * operator has not. */
static bool fit_kind(struct problem *p, const struct probe *probe)
{
    static const char *const modes[OP_KIND_COUNT] = {[OP_CONV] = "",
                                                     [OP_POOL] = "max",
                                                     [OP_POINTWISE] = "",
                                                     [OP_SOFTMAX] = "",
                                                     [OP_RESIZE] = "nearest,asymmetric,floor",
                                                     [OP_LRN] = "5,0.0001,0.75,1"};
    bool has_window = p->kind == OP_CONV || p->kind == OP_POOL;

    g_strlcpy(p->mode, modes[p->kind], sizeof(p->mode));
    if (p->kind == OP_CONV)
        return true;
    p->k = p->c;
    p->type[TENSOR_W] = p->type[TENSOR_X];
    p->layout[TENSOR_W] = p->layout[TENSOR_X];
    return p->groups == 1 &&
           (has_window || (claim_filters[probe->filter] == 1 && probe->feature != FEATURE_STRIDE &&
                           probe->feature != FEATURE_DILATION));
}

static void set_axes(struct problem *p, const struct probe *probe)
{
    int64_t filter = claim_filters[probe->filter];

    for (int a = p->spatial_dim == 3 ? AXIS_D : AXIS_H; a < AXIS_COUNT; a++) {
        p->in[a] = probe->whole ? filter : probe->few ? FEW_SIZE : SIZE;
        p->fil[a] = filter;
        p->pad[a] = probe->whole ? 0 : filter / 2;
        p->stride[a] = probe->feature == FEATURE_STRIDE ? 2 : 1;
        p->dilation[a] = probe->feature == FEATURE_DILATION ? 2 : 1;
    }
}

static int64_t group_count(const struct probe *probe)
{
    if (probe->feature == FEATURE_DEPTHWISE || probe->depthwise)
        return CHANNELS;
    return probe->feature == FEATURE_GROUPS || probe->grouped ? GROUPS : 1;
}

/* Makes a problem's output tensor differ in layout or type. The output is chosen because a solver need not convert
 * what it only writes. */
static void mix(struct problem *p, enum solver_feature feature)
{
    enum tensor_role output = problem_output_role(p);

    if (feature == FEATURE_MIXED_LAYOUTS && p->spatial_dim == 2)
        p->layout[output] = p->layout[output] == LAYOUT_NCHW ? LAYOUT_NHWC : LAYOUT_NCHW;
    else if (feature == FEATURE_MIXED_LAYOUTS)
        p->layout[output] = p->layout[output] == LAYOUT_NCDHW ? LAYOUT_NDHWC : LAYOUT_NCDHW;
    else if (feature == FEATURE_MIXED_TYPES)
        p->type[output] = p->type[output] == TYPE_FP32 ? TYPE_FP16 : TYPE_FP32;
}

/* Makes the probe's problem. False where a problem of this kind cannot exist. */
static bool make_problem(struct probe *probe, const struct problem *base)
{
    struct problem *p = &probe->problem;
    enum layout layout = base->layout[TENSOR_X];

    problem_init(p);
    p->kind = base->kind;
    p->direction = base->direction;
    p->spatial_dim = layout == LAYOUT_NCDHW || layout == LAYOUT_NDHWC ? 3 : 2;
    p->n = BATCH;
    p->c = probe->few ? FEW_CHANNELS : CHANNELS;
    p->k = CHANNELS;
    p->groups = group_count(probe);
    for (int t = 0; t < TENSOR_COUNT; t++)
        p->layout[t] = layout;
    set_types(p, base->type[TENSOR_X]);
    set_axes(p, probe);
    mix(p, probe->feature);
    if (!fit_kind(p, probe))
        return false;
    problem_set_output(p);
    return problem_validate(p, NULL);
}

/* ---- what a solver answers ---- */

static void note_solution(const struct solver *solver, const struct problem *p,
                          const struct context *context, const struct perf_config *config,
                          struct solver_claims *claims)
{
    struct solution solution;

    if (!solver_solve(solver, p, context, config, &solution, NULL))
        return;
    if (claims->least_launches == 0 || solution.launch_count < claims->least_launches)
        claims->least_launches = solution.launch_count;
    claims->most_launches = MAX(claims->most_launches, solution.launch_count);
    if (solution.workspace_bytes > 0)
        claims->with_workspace = true;
    else
        claims->without_workspace = true;
}

/* Notes the default's solution and those of the space's 1st, 2nd, 4th, 8th config and so on, which reach all
 * parts of the space in one walk. */
static void note_configs(const struct solver *solver, const struct problem *p,
                         const struct context *context, struct solver_claims *claims)
{
    const struct space *space = solver_space(solver, p, context);
    struct perf_config config;
    struct space_walk walk;
    int64_t count = 0;

    solver->default_config(p, context, &config);
    note_solution(solver, p, context, &config, claims);
    if (!space)
        return;
    space_walk_init(&walk, space, p, context);
    while (count < CONFIGS_MAX && space_walk_next(&walk, &config)) {
        count++;
        if ((count & (count - 1)) == 0)
            note_solution(solver, p, context, &config, claims);
    }
    claims->most_configs = MAX(claims->most_configs, count);
}

/* Whether to walk the solver's space for this problem; walking takes most of the time. FP32 problems of NCHW and
 * NHWC suffice where a solver serves them. For problems of other types spaces are walked only in a direction and
 * layout without such a problem, for other layouts only where no space was walked before; for mixed layouts and
 * types never. */
static bool configs_matter(const struct probe *probe, const struct solver_claims *claims)
{
    const struct problem *p = &probe->problem;
    enum layout layout = p->layout[TENSOR_X];
    bool is_usual = layout == LAYOUT_NCHW || layout == LAYOUT_NHWC;

    if (probe->feature >= FEATURE_MIXED_LAYOUTS)
        return false;
    return claims->most_launches == 0 ||
           (is_usual && (p->type[TENSOR_X] == TYPE_FP32 ||
                         (claims->looked_at[layout] & 1u << p->direction) == 0));
}

static void note_served(const struct solver *solver, const struct probe *probe,
                        const struct context *context, struct solver_claims *claims)
{
    const struct problem *p = &probe->problem;
    unsigned direction = 1u << p->direction;

    claims->directions |= direction;
    claims->vendors |= 1u << context->target->vendor;
    claims->features[probe->feature] |= direction;
    claims->many_channels = claims->many_channels || !probe->few;
    claims->filters |= 1u << probe->filter;
    enum tensor_role input = problem_output_role(p) == TENSOR_X ? TENSOR_Y : TENSOR_X;
    if (probe->feature < FEATURE_MIXED_LAYOUTS)
        claims->served[p->layout[TENSOR_X]][p->type[input]] |= direction;
    if (configs_matter(probe, claims)) {
        claims->looked_at[p->layout[TENSOR_X]] |= direction;
        note_configs(solver, p, context, claims);
    }
}

/* ---- asking ---- */

static bool is_served(const struct solver *solver, struct probe *probe,
                      const struct context *context, const struct problem *base)
{
    return make_problem(probe, base) && solver_applicable(solver, &probe->problem, context, NULL);
}

/* Whether the solver serves the plainest problem, or else one of its variants: a solver of few channels may serve
 * only groups, only images of few channels, or only filters that are the whole image. */
static bool is_served_somehow(const struct solver *solver, struct probe *probe,
                              const struct context *context, const struct problem *base)
{
    bool groups_are_said = probe->feature == FEATURE_PLAIN || probe->feature == FEATURE_GROUPS ||
                           probe->feature == FEATURE_DEPTHWISE;

    if (probe->depthwise && groups_are_said)
        return false;
    if (is_served(solver, probe, context, base))
        return true;
    probe->grouped = !groups_are_said;
    if (probe->grouped && is_served(solver, probe, context, base))
        return true;
    probe->grouped = false;
    probe->few = group_count(probe) == 1;
    if (probe->few && is_served(solver, probe, context, base))
        return true;
    probe->few = false;
    probe->whole = true;
    return is_served(solver, probe, context, base);
}

static void ask_shapes(const struct solver *solver, const struct context *context,
                       const struct problem *base, struct solver_claims *claims)
{
    for (int i = 0; i < FEATURE_COUNT * CLAIM_FILTER_COUNT * 2; i++) {
        struct probe probe = {.feature = (enum solver_feature)(i / 2 % FEATURE_COUNT),
                              .filter = i / 2 / FEATURE_COUNT,
                              .depthwise = i % 2 == 1};
        if (is_served_somehow(solver, &probe, context, base))
            note_served(solver, &probe, context, claims);
    }
}

/* Asks for a plain convolution that permits TF32: whether the solution rounds its inputs. */
static void ask_tf32(const struct solver *solver, const struct context *context,
                     const struct problem *base, struct solver_claims *claims)
{
    struct probe probe = {.feature = FEATURE_PLAIN};
    struct problem *p = &probe.problem;
    struct solution solution;
    struct perf_config config;

    if (base->kind != OP_CONV || base->type[TENSOR_X] != TYPE_FP32 || !make_problem(&probe, base))
        return;
    g_strlcpy(p->mode, OP_MODE_TF32, sizeof p->mode);
    if (!solver_applicable(solver, p, context, NULL))
        return;
    solver->default_config(p, context, &config);
    if (solver_solve(solver, p, context, &config, &solution, NULL) && solution.rounding.inputs > 0)
        claims->tf32 |= 1u << p->direction;
}

static void ask_target(const struct solver *solver, const struct target *target,
                       struct solver_claims *claims)
{
    struct context context;
    struct problem base;

    context_init(&context, target);
    problem_init(&base);
    base.kind = solver->kind;
    for (int d = 0; d < DIRECTION_COUNT; d++) {
        for (int l = 0; l < LAYOUT_COUNT; l++) {
            for (int t = TYPE_NONE + 1; t < DATA_TYPE_COUNT; t++) {
                base.direction = (enum direction)d;
                base.layout[TENSOR_X] = (enum layout)l;
                base.type[TENSOR_X] = (enum data_type)t;
                ask_shapes(solver, &context, &base, claims);
                ask_tf32(solver, &context, &base, claims);
            }
        }
    }
}

static void ask_targets(const struct solver *solver, const char *const *ids, gsize count,
                        struct solver_claims *claims)
{
    for (gsize i = 0; i < count; i++) {
        struct target target;
        bool is_known = target_parse(ids[i], &target, NULL);
        g_assert(is_known);
        ask_target(solver, &target, claims);
    }
}

void solver_claims_find(const struct solver *solver, struct solver_claims *claims)
{
    *claims = (struct solver_claims){0};
    ask_targets(solver, target_ids, G_N_ELEMENTS(target_ids), claims);
    if (solver->native)
        ask_targets(solver, native_target_ids, G_N_ELEMENTS(native_target_ids), claims);
}
