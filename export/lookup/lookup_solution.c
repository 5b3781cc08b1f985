#include "export/lookup/lookup_solution.h"

#include <glib.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const char *const tensor_names[] = {"x", "w", "y", "residual", "bias", "scales", "packed"};
/* of the tensors that may be strided: x, w, y, residual */
static const char *const axis_names[][5] = {{"N", "C", "D", "H", "W"},
                                            {"K", "C", "D", "H", "W"},
                                            {"N", "K", "D", "H", "W"},
                                            {"N", "K", "D", "H", "W"}};
static const char *const kind_names[] = {
    [SKIPJACKDB_ARG_TENSOR] = "tensor", [SKIPJACKDB_ARG_WORKSPACE] = "workspace",
    [SKIPJACKDB_ARG_INT32] = "int32",   [SKIPJACKDB_ARG_INT64] = "int64",
    [SKIPJACKDB_ARG_FLOAT32] = "float", [SKIPJACKDB_ARG_STRIDE] = "stride",
};

static json_t *arg_object(const struct skipjackdb_arg *arg)
{
    json_t *object = json_pack("{s:s}", "kind", kind_names[arg->kind]);
    if (arg->kind == SKIPJACKDB_ARG_TENSOR || arg->kind == SKIPJACKDB_ARG_STRIDE) {
        json_object_set_new(object, "tensor", json_string(tensor_names[arg->tensor]));
    }
    if (arg->kind == SKIPJACKDB_ARG_STRIDE) {
        json_object_set_new(object, "axis", json_string(axis_names[arg->tensor][arg->axis]));
        json_object_set_new(object, "factor", json_integer(arg->factor));
    }
    if (arg->kind == SKIPJACKDB_ARG_FLOAT32) {
        json_object_set_new(object, "value", json_real((double)arg->real));
    } else if (arg->kind != SKIPJACKDB_ARG_TENSOR) {
        json_object_set_new(object, "value", json_integer(arg->value));
    }
    return object;
}

static int list_args(const skipjackdb *db, const struct skipjackdb_problem *problem,
                     const struct skipjackdb_launch *launch, json_t *list)
{
    struct skipjackdb_arg args[SKIPJACKDB_ARGS_MAX];
    int code = skipjackdb_args(db, launch, problem, args, sizeof *args, SKIPJACKDB_ARGS_MAX);
    for (uint32_t i = 0; code == SKIPJACKDB_OK && i < launch->arg_count; i++) {
        json_array_append_new(list, arg_object(&args[i]));
    }
    return code;
}

/* Sets *text (g_free()) to the kernel's name and, behind its NUL, its options. */
static int read_identity(const skipjackdb *db, uint64_t number, char **text)
{
    struct skipjackdb_kernel kernel = {.size = sizeof kernel};
    int code = skipjackdb_kernel_at(db, number, &kernel);
    if (code != SKIPJACKDB_OK) {
        return code;
    }
    *text = g_malloc0(kernel.text_bytes + 2);
    return skipjackdb_kernel_read(db, number, *text, kernel.text_bytes, NULL, 0);
}

static int list_launch(const skipjackdb *db, const struct skipjackdb_problem *problem,
                       const struct skipjackdb_solution *solution, uint32_t index, json_t *list)
{
    struct skipjackdb_launch launch = {.size = sizeof launch};
    g_autofree char *text = NULL;
    json_t *args = json_array();
    int code = skipjackdb_launch_at(db, solution, index, &launch);
    if (code == SKIPJACKDB_OK) {
        code = list_args(db, problem, &launch, args);
    }
    if (code == SKIPJACKDB_OK) {
        code = read_identity(db, launch.kernel, &text);
    }
    if (code == SKIPJACKDB_OK) {
        json_array_append_new(
            list, json_pack("{s:s, s:s, s:s, s:[III], s:[iii], s:I, s:b, s:O}", "kernel", text,
                            "options", text + strlen(text) + 1, "entry", launch.entry, "grid",
                            (json_int_t)launch.grid[0], (json_int_t)launch.grid[1],
                            (json_int_t)launch.grid[2], "block", launch.block[0], launch.block[1],
                            launch.block[2], "local_bytes", (json_int_t)launch.local_bytes, "packs",
                            index < solution->pack_count, "args", args));
    }
    json_decref(args);
    return code;
}

json_t *lookup_solution_launches(const skipjackdb *db, const struct skipjackdb_problem *problem,
                                 const struct skipjackdb_solution *solution, int *code)
{
    json_t *list = json_array();
    *code = SKIPJACKDB_OK;
    for (uint32_t i = 0; *code == SKIPJACKDB_OK && i < solution->launch_count; i++) {
        *code = list_launch(db, problem, solution, i, list);
    }
    if (*code != SKIPJACKDB_OK) {
        json_decref(list);
        return NULL;
    }
    return list;
}

json_t *lookup_launches(const skipjackdb *db, const struct skipjackdb_problem *problem,
                        const struct skipjackdb_problem *held, const char *solver, int *code)
{
    struct skipjackdb_solution solution;
    *code = skipjackdb_solution(db, held, solver, &solution, sizeof solution);
    if (*code == SKIPJACKDB_NOT_FOUND) {
        *code = SKIPJACKDB_OK;
        return json_null();
    }
    return *code == SKIPJACKDB_OK ? lookup_solution_launches(db, problem, &solution, code) : NULL;
}

static void print_arg(const json_t *arg)
{
    const json_t *value = json_object_get(arg, "value");
    const char *kind = json_string_value(json_object_get(arg, "kind"));
    const char *tensor = json_string_value(json_object_get(arg, "tensor"));
    if (strcmp(kind, "stride") == 0) {
        printf("stride %s.%s = ", tensor, json_string_value(json_object_get(arg, "axis")));
    } else if (strcmp(kind, "workspace") == 0) {
        printf("workspace + ");
    }
    if (value == NULL) {
        printf("%s", tensor);
    } else if (json_is_real(value)) {
        printf("%g", json_real_value(value));
    } else {
        printf("%" JSON_INTEGER_FORMAT, json_integer_value(value));
    }
}

static void print_triple(const json_t *numbers)
{
    for (size_t i = 0; i < 3; i++) {
        printf("%s%" JSON_INTEGER_FORMAT, i == 0 ? "" : "x",
               json_integer_value(json_array_get(numbers, i)));
    }
}

void lookup_launches_print(const json_t *launches)
{
    size_t i, a;
    const json_t *launch, *arg;
    json_array_foreach (launches, i, launch) {
        printf("    %s%s %s, ",
               json_is_true(json_object_get(launch, "packs")) ? "once for each filter: " : "",
               json_string_value(json_object_get(launch, "kernel")),
               json_string_value(json_object_get(launch, "entry")));
        print_triple(json_object_get(launch, "grid"));
        printf(" in ");
        print_triple(json_object_get(launch, "block"));
        printf(" (");
        json_array_foreach (json_object_get(launch, "args"), a, arg) {
            printf("%s", a == 0 ? "" : ", ");
            print_arg(arg);
        }
        printf(")\n");
    }
}

void lookup_interval_add(json_t *answer, double low_ms, double high_ms)
{
    bool known = low_ms > 0;
    json_object_set_new(answer, "low_ms", known ? json_real(low_ms) : json_null());
    json_object_set_new(answer, "high_ms", known ? json_real(high_ms) : json_null());
}

void lookup_interval_print(const json_t *answer, const char *label)
{
    const json_t *low = json_object_get(answer, "low_ms");
    if (json_is_real(low)) {
        printf("%s%g to %g ms\n", label, json_real_value(low),
               json_real_value(json_object_get(answer, "high_ms")));
    }
}
