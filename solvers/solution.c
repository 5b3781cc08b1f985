#include "solvers/solution.h"

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
