#include "solvers/framework/solution.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void solution_init(struct solution *solution)
{
    memset(solution, 0, sizeof(*solution));
}

uint64_t workspace_align(uint64_t bytes)
{
    return (bytes + WORKSPACE_ALIGNMENT - 1) / WORKSPACE_ALIGNMENT * WORKSPACE_ALIGNMENT;
}

enum program_kind program_kind_of(const char *file)
{
    if (g_str_has_suffix(file, ".s"))
        return PROGRAM_ASSEMBLY;
    return g_str_has_suffix(file, ".co") ? PROGRAM_OBJECT : PROGRAM_SOURCE;
}

struct launch *solution_add_launch(struct solution *solution, const char *file, const char *entry)
{
    struct launch *launch;

    g_assert(solution->launch_count < SOLUTION_LAUNCHES_MAX);
    launch = &solution->launches[solution->launch_count++];
    launch->program_kind = program_kind_of(file);
    launch->file = file;
    launch->entry = entry;
    for (int i = 0; i < 3; i++) {
        launch->grid[i] = 1;
        launch->block[i] = 1;
    }
    return launch;
}

void launch_option_int(struct launch *launch, const char *name, int64_t value)
{
    char text[24];

    g_snprintf(text, sizeof(text), "%" G_GINT64_FORMAT, value);
    launch_option_text(launch, name, text);
}

void launch_option_text(struct launch *launch, const char *name, const char *value)
{
    gsize used = strlen(launch->options);
    gsize room = sizeof(launch->options) - used;

    gsize wanted =
        (gsize)g_snprintf(launch->options + used, room, "%s-D%s=%s", used ? " " : "", name, value);
    g_assert(wanted < room);
}

static int compare_options(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

void launch_sort_options(struct launch *launch)
{
    g_auto(GStrv) options = g_strsplit(launch->options, " ", -1);
    g_autofree char *joined = NULL;

    qsort(options, g_strv_length(options), sizeof(options[0]), compare_options);
    joined = g_strjoinv(" ", options);
    g_strlcpy(launch->options, joined, sizeof(launch->options));
}

static struct launch_arg *add_arg(struct launch *launch, enum launch_arg_kind kind, int64_t value)
{
    struct launch_arg *arg;

    g_assert(launch->arg_count < LAUNCH_ARGS_MAX);
    arg = &launch->args[launch->arg_count++];
    arg->kind = kind;
    arg->value = value;
    return arg;
}

void launch_arg_tensor(struct launch *launch, enum tensor_role role)
{
    add_arg(launch, ARG_TENSOR, 0)->tensor = role;
}

void launch_arg_workspace(struct launch *launch, uint64_t offset_bytes)
{
    add_arg(launch, ARG_WORKSPACE, (int64_t)offset_bytes);
}

void launch_arg_int32(struct launch *launch, int64_t value)
{
    g_assert(value >= INT32_MIN && value <= INT32_MAX);
    add_arg(launch, ARG_INT32, value);
}

void launch_arg_int64(struct launch *launch, int64_t value)
{
    add_arg(launch, ARG_INT64, value);
}

void launch_arg_float32(struct launch *launch, double value)
{
    add_arg(launch, ARG_FLOAT32, 0)->real = value;
}

void launch_arg_stride(struct launch *launch, enum tensor_role role, int logical_axis)
{
    launch_arg_scaled_stride(launch, role, logical_axis, 1);
}

void launch_arg_scaled_stride(struct launch *launch, enum tensor_role role, int logical_axis,
                              int64_t factor)
{
    struct launch_arg *arg = add_arg(launch, ARG_STRIDE, logical_axis);

    g_assert(logical_axis >= 0 && logical_axis < 5);
    arg->tensor = role;
    arg->factor = factor;
}

void launch_set_grid(struct launch *launch, const int64_t items[3], const int block[3])
{
    for (int i = 0; i < 3; i++) {
        g_assert(items[i] > 0 && block[i] > 0);
        launch->block[i] = block[i];
        launch->grid[i] = (items[i] + block[i] - 1) / block[i] * block[i];
    }
}

void launch_set_line(struct launch *launch, int64_t items, int block)
{
    launch_set_grid(launch, (const int64_t[]){items, 1, 1}, (const int[]){block, 1, 1});
}

/* ---- checking ---- */

G_GNUC_PRINTF(2, 3)
static bool invalid(GError **error, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    g_autofree char *words = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    g_set_error(error, SOLVERS_ERROR, SOLVERS_ERROR_INVALID, "a launch cannot be run: %s", words);
    return false;
}

static bool option_valid(const char *option)
{
    gsize name;

    if (!g_str_has_prefix(option, "-D"))
        return false;
    option += 2;
    name = strspn(option, G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "_");
    if (name == 0 || g_ascii_isdigit(*option))
        return false;
    option += name;
    return *option == '\0' ||
           (*option == '=' && strspn(option + 1, G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "_.+-") ==
                                  strlen(option + 1));
}

bool launch_options_valid(const char *options)
{
    g_auto(GStrv) words = g_strsplit(options, " ", -1);

    for (char **word = words; *word; word++)
        if (!option_valid(*word))
            return false;
    return true;
}

static bool grid_valid(const struct launch *launch, const struct target *target, GError **error)
{
    int64_t items = 1, group = 1;

    for (int i = 0; i < 3; i++) {
        if (launch->block[i] < 1 || launch->grid[i] < 1 || launch->grid[i] % launch->block[i] != 0)
            return invalid(error,
                           "%s has %" G_GINT64_FORMAT " items on axis %d in workgroups of %d",
                           launch->entry, launch->grid[i], i, launch->block[i]);
        if (__builtin_mul_overflow(items, launch->grid[i], &items) ||
            __builtin_mul_overflow(group, launch->block[i], &group))
            return invalid(error, "%s has 2^63 items or more", launch->entry);
    }
    if (target->max_workgroup > 0 && group > target->max_workgroup)
        return invalid(error, "%s has workgroups of %" G_GINT64_FORMAT " items, %s takes %d",
                       launch->entry, group, target->id, target->max_workgroup);
    if (launch->local_bytes < 0 ||
        (target->local_bytes > 0 && launch->local_bytes > target_dynamic_local_bytes(target)))
        return invalid(
            error, "%s wants %" G_GINT64_FORMAT " bytes of local memory, %s has %" G_GINT64_FORMAT,
            launch->entry, launch->local_bytes, target->id, target_dynamic_local_bytes(target));
    return true;
}

static bool arg_valid(const struct launch_arg *arg, uint64_t packed_bytes, uint64_t workspace_bytes)
{
    switch (arg->kind) {
    case ARG_TENSOR:
        return arg->tensor < OPERAND_COUNT && (arg->tensor != TENSOR_PACKED || packed_bytes > 0);
    case ARG_WORKSPACE: return arg->value >= 0 && (uint64_t)arg->value < workspace_bytes;
    case ARG_STRIDE: return arg->tensor < STRIDED_COUNT && arg->value >= 0 && arg->value < 5;
    case ARG_INT32: return arg->value >= INT32_MIN && arg->value <= INT32_MAX;
    case ARG_INT64:
    case ARG_FLOAT32: return true;
    }
    return false;
}

/* Whether a solution that packs its filter keeps to it: a packing launch touches no operand but w and the packed
 * filter, and no other launch reads w, which may be gone by then. */
static bool packing_valid(const struct solution *solution, int index, GError **error)
{
    const struct launch *launch = &solution->launches[index];
    bool packs = index < solution->pack_count;

    for (int i = 0; solution->pack_count > 0 && i < launch->arg_count; i++) {
        const struct launch_arg *arg = &launch->args[i];
        if (arg->kind != ARG_TENSOR)
            continue;
        if (packs && arg->tensor != TENSOR_W && arg->tensor != TENSOR_PACKED)
            return invalid(error, "%s packs the filter and takes another operand", launch->entry);
        if (!packs && arg->tensor == TENSOR_W)
            return invalid(error, "%s reads the filter that was packed before", launch->entry);
    }
    return true;
}

static bool launch_valid(const struct launch *launch, const struct solution *solution,
                         const struct target *target, GError **error)
{
    if (!memchr(launch->options, '\0', sizeof(launch->options)) ||
        !launch_options_valid(launch->options))
        return invalid(error, "the options of %s are none: '%.*s'", launch->entry, 200,
                       launch->options);
    if (launch->arg_count < 0 || launch->arg_count > LAUNCH_ARGS_MAX)
        return invalid(error, "%s has %d arguments", launch->entry, launch->arg_count);
    for (int i = 0; i < launch->arg_count; i++)
        if (!arg_valid(&launch->args[i], solution->packed_bytes, solution->workspace_bytes))
            return invalid(error, "argument %d of %s is out of its range", i, launch->entry);
    return grid_valid(launch, target, error);
}

bool solution_validate(const struct solution *solution, const struct target *target, GError **error)
{
    const double amounts[] = {solution->flops, solution->read_bytes, solution->write_bytes};

    if (solution->launch_count < 1 || solution->launch_count > SOLUTION_LAUNCHES_MAX)
        return invalid(error, "there are %d launches", solution->launch_count);
    if (solution->workspace_bytes > INT64_MAX || solution->packed_bytes > INT64_MAX)
        return invalid(error, "the workspace or the packed filter has 2^63 bytes or more");
    if (solution->pack_count < 0 || solution->pack_count >= solution->launch_count ||
        (solution->pack_count > 0) != (solution->packed_bytes > 0))
        return invalid(error,
                       "%d of its %d launches pack a filter into %" G_GUINT64_FORMAT " bytes",
                       solution->pack_count, solution->launch_count, solution->packed_bytes);
    for (size_t i = 0; i < G_N_ELEMENTS(amounts); i++)
        if (!isfinite(amounts[i]) || amounts[i] < 0)
            return invalid(error, "its operations or bytes cannot be counted");
    for (int i = 0; i < solution->launch_count; i++)
        if (!launch_valid(&solution->launches[i], solution, target, error) ||
            !packing_valid(solution, i, error))
            return false;
    return true;
}
