#include "export/check/target_doubt.h"

#include <math.h>
#include <string.h>

/* ---- times ---- */

/* Most taps of a filter's axis that are counted one by one. Damaged keys may state any number, so
 * larger filters get no lower bound. */
#define TAPS_MAX 4096

/* Returns how many pairs of an output position and a filter tap on one axis read an input that is
 * not padding. */
static double taps_inside(const struct problem *p, int axis)
{
    double count = 0;
    for (int64_t tap = 0; tap < p->fil[axis]; tap++) {
        int64_t start = tap * p->dilation[axis] - p->pad[axis];
        int64_t last = p->in[axis] - 1 - start;
        int64_t first_out = start < 0 ? (-start + p->stride[axis] - 1) / p->stride[axis] : 0;
        int64_t last_out = last < 0 ? -1 : MIN(last / p->stride[axis], p->out[axis] - 1);
        count += (double)MAX(last_out - first_out + 1, 0);
    }
    return count;
}

static bool can_be_counted(const struct problem *p)
{
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        if (p->fil[axis] > TAPS_MAX || p->stride[axis] <= 0) {
            return false;
        }
    }
    for (int tensor = 0; tensor < TENSOR_COUNT; tensor++) {
        if (p->cast[tensor] != TYPE_NONE) {
            /* the types of a problem with a cast do not say in which type it is computed */
            return false;
        }
    }
    return p->kind == OP_CONV && p->groups > 0; /* other operators do next to nothing */
}

static double least_operations(const struct problem *p)
{
    double operations = 2.0 * (double)p->n * (double)p->k * (double)p->c / (double)p->groups;
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        operations *= taps_inside(p, axis);
    }
    return operations;
}

/* How much faster than its peak a device may be before a time counts as impossible. GPUs may be
 * clocked higher than the peak assumes; a CPU's name does not state its vector width. */
#define FASTER_GPU       1.25
#define WIDEST_CPU_BYTES 64.0

static double slack(const struct target *target)
{
    return target->vendor == VENDOR_CPU ? MAX(1, WIDEST_CPU_BYTES / MAX(target->vector_bytes, 1))
                                        : FASTER_GPU;
}

/* Returns true for AMD's architectures that are known to lack matrix units: gfx803, some of gfx9,
 * and all of gfx10. Some devices of later generations have matrix units. */
static bool has_no_matrix_units(const struct target *target)
{
    static const char *const archs[] = {"gfx803", "gfx900", "gfx902", "gfx904",
                                        "gfx906", "gfx909", "gfx90c"};
    if (target->vendor != VENDOR_AMD) {
        return false;
    }
    for (size_t i = 0; i < G_N_ELEMENTS(archs); i++) {
        if (strcmp(target->arch, archs[i]) == 0) {
            return true;
        }
    }
    return g_str_has_prefix(target->arch, "gfx10");
}

void target_bounds_init(struct target_bounds *bounds, const struct target *target)
{
    const double many = 1e12;
    *bounds = (struct target_bounds){.target = target};
    if (target == NULL) {
        return;
    }
    bounds->has_no_matrix_units = has_no_matrix_units(target);
    for (int type = 0; type < DATA_TYPE_COUNT; type++) {
        double least = target_least_ms(target, (enum data_type)type, many);
        bounds->operations_a_ms[type] = least > 0 ? many / least * slack(target) : 0;
    }
    /* FP32 may be computed as TF32 or XF32, which are at most as fast as BF16. */
    if (target->vendor != VENDOR_CPU) {
        bounds->operations_a_ms[TYPE_FP32] =
            MAX(bounds->operations_a_ms[TYPE_FP32], bounds->operations_a_ms[TYPE_BF16]);
    }
}

/* Uses the fastest of the three tensors' types and of the type that it is computed in. */
double target_least_problem_ms(const struct target_bounds *bounds, const struct problem *problem)
{
    if (bounds->target == NULL || !can_be_counted(problem)) {
        return 0;
    }
    double fastest = bounds->operations_a_ms[problem_peak_type(problem)];
    for (int tensor = 0; tensor < TENSOR_COUNT; tensor++) {
        fastest = MAX(fastest, bounds->operations_a_ms[problem->type[tensor]]);
    }
    return fastest > 0 ? least_operations(problem) / fastest : 0;
}

static bool ends_in(const char *text, size_t length, const char *ending)
{
    size_t ending_length = strlen(ending);
    return length >= ending_length &&
           memcmp(text + length - ending_length, ending, ending_length) == 0;
}

bool algorithm_does_all(const char *algorithm, size_t length)
{
    return ends_in(algorithm, length, "Direct") || ends_in(algorithm, length, "GEMM");
}

/* ---- solvers that cannot run on the target ---- */

/* Sample targets: one device of each kind that solvers are written for. A solver that refuses a
 * problem on the file's target and takes it on one of these is a solver of another target. */
static const char *const others[] = {
    "cpu-znver4_64", "gfx803_64",  "gfx90a68",      "gfx942130",     "gfx950100",      "gfx1030_36",
    "gfx1100_48",    "gfx1201_32", "sm_80_108_80g", "sm_90_132_80g", "sm_120_170_32g",
};

static bool applies_to(const struct solver *solver, const struct problem *problem,
                       const struct target *target, const char **reason)
{
    struct context context;
    context_init(&context, target);
    return solver_applicable(solver, problem, &context, reason);
}

static char *ours_of_another(const struct target *target, const struct problem *problem,
                             const struct solver *solver)
{
    const char *reason = NULL, *ignored = NULL;
    if (applies_to(solver, problem, target, &reason)) {
        return NULL;
    }
    for (size_t i = 0; i < G_N_ELEMENTS(others); i++) {
        struct target other;
        bool parsed = target_parse(others[i], &other, NULL);
        /* A CPU's name does not state its limits, so a refusal of another CPU means nothing. */
        bool differs = other.vendor != target->vendor ||
                       (other.vendor != VENDOR_CPU && target_arch_known(target->arch) &&
                        strcmp(other.arch, target->arch) != 0);
        if (parsed && differs && applies_to(solver, problem, &other, &ignored)) {
            return g_strdup_printf("%s %s", solver->name, reason);
        }
    }
    return NULL;
}

/* Returns our solver of this name, or NULL; looks the name up once and then remembers it. *name
 * becomes the name, NUL-terminated. */
static const struct solver *find_ours(struct target_bounds *bounds, const char *text, size_t length,
                                      const char **name)
{
    size_t slot =
        (length * 5 + (unsigned char)text[length / 2] * 3 + (unsigned char)text[length - 1]) %
        TARGET_NAMES_SEEN;
    if (bounds->seen[slot].length != length || memcmp(bounds->seen[slot].name, text, length) != 0) {
        memcpy(bounds->seen[slot].name, text, length);
        bounds->seen[slot].name[length] = '\0';
        bounds->seen[slot].length = length;
        bounds->seen[slot].ours = solver_find(bounds->seen[slot].name);
    }
    *name = bounds->seen[slot].name;
    return bounds->seen[slot].ours;
}

/* Returns true for MIOpen's solvers that run on AMD's GPUs alone, by their names: written in GCN
 * assembly, HIP, OpenCL or MLIR, with composable kernels, or for matrix units ("Xdlops"). */
static bool is_of_amd(const char *solver)
{
    static const char *const begins[] = {"ConvAsm", "ConvHip",         "ConvCk",
                                         "ConvOcl", "ConvBinWinograd", "ConvMlir"};
    for (size_t i = 0; i < G_N_ELEMENTS(begins); i++) {
        if (g_str_has_prefix(solver, begins[i])) {
            return true;
        }
    }
    return strstr(solver, "Xdlops") != NULL;
}

char *target_other_solver(struct target_bounds *bounds, const struct problem *problem,
                          const char *solver, size_t solver_length)
{
    const char *name = NULL;
    if (bounds->target == NULL || solver_length == 0 || solver_length >= TARGET_NAME_MAX) {
        return NULL;
    }
    const struct solver *ours = find_ours(bounds, solver, solver_length, &name);
    if (ours != NULL) {
        return ours_of_another(bounds->target, problem, ours);
    }
    if (bounds->has_no_matrix_units && strstr(name, "Xdlops") != NULL) {
        return g_strdup_printf("%s needs matrix units, which %s has not", name,
                               bounds->target->arch);
    }
    if (bounds->target->vendor != VENDOR_AMD && is_of_amd(name)) {
        return g_strdup_printf("%s runs on GPUs of AMD alone, not on %s", name,
                               bounds->target->arch);
    }
    return NULL;
}
