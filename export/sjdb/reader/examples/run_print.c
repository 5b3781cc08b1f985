#include "run_print.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A launch with all that its lines show. */
struct shown {
    struct skipjackdb_launch is;
    struct skipjackdb_arg *args;
    /* name of the kernel's file, its compile options, and what of these names the architecture */
    char *text;
    const char *options, *target;
    uint64_t code_bytes;
    int packs; /* 1 for a launch that packs the filter */
};

static void show(const skipjackdb *db, const struct skipjackdb_problem *problem,
                 const struct skipjackdb_solution *solution, uint32_t index, struct shown *shown)
{
    struct skipjackdb_kernel kernel = {.size = sizeof kernel};
    *shown = (struct shown){.is.size = sizeof shown->is, .packs = index < solution->pack_count};
    want(skipjackdb_launch_at(db, solution, index, &shown->is), "a launch");
    shown->args = allocate(shown->is.arg_count, sizeof *shown->args);
    want(skipjackdb_args(db, &shown->is, problem, shown->args, sizeof *shown->args,
                         shown->is.arg_count),
         "a launch's arguments");
    want(skipjackdb_kernel_at(db, shown->is.kernel, &kernel), "a kernel");
    shown->text = allocate(kernel.text_bytes, 1);
    /* The code is read, too, though nothing shows it: so its checksum is compared. */
    void *code = allocate(kernel.code_bytes, 1);
    want(skipjackdb_kernel_read(db, shown->is.kernel, shown->text, kernel.text_bytes, code,
                                kernel.code_bytes),
         "a code object");
    free(code);
    shown->code_bytes = kernel.code_bytes;
    shown->options = shown->text + strlen(shown->text) + 1;
    const char *last = strrchr(shown->options, ' ');
    shown->target = last != NULL && strncmp(last, " -mcpu=", 7) == 0 ? last + 7 : "";
}

static void shown_clear(struct shown *shown)
{
    free(shown->args);
    free(shown->text);
}

static const char *const tensor_names[] = {"x", "w", "y", "residual", "bias", "scales", "packed"};
static const char *const axis_names[] = {"n", "c", "d", "h", "w"};

/* Returns the bytes that a pointer to the operand must point to; 0 if the problem has no such operand. */
static uint64_t bytes_of(const struct skipjackdb_problem *problem,
                         const struct skipjackdb_solution *solution, int32_t tensor)
{
    struct skipjackdb_operand operand = {.size = sizeof operand};
    if (tensor == SKIPJACKDB_TENSOR_PACKED) {
        return solution->packed_bytes;
    }
    return skipjackdb_operand_at(problem, tensor, &operand) == SKIPJACKDB_OK ? operand.bytes : 0;
}

/* ---- as text ---- */

static void print_arg(const struct skipjackdb_problem *problem,
                      const struct skipjackdb_solution *solution, const struct skipjackdb_arg *arg)
{
    switch (arg->kind) {
    case SKIPJACKDB_ARG_TENSOR:
        printf("pointer to %s, %" PRIu64 " bytes", tensor_names[arg->tensor],
               bytes_of(problem, solution, arg->tensor));
        return;
    case SKIPJACKDB_ARG_WORKSPACE:
        printf("pointer to byte %" PRId64 " of the workspace", arg->value);
        return;
    case SKIPJACKDB_ARG_INT32: printf("int32 %" PRId64, arg->value); return;
    case SKIPJACKDB_ARG_FLOAT32: printf("float32 %.9g", (double)arg->real); return;
    case SKIPJACKDB_ARG_STRIDE:
        printf("int64 %" PRId64 ", the stride of %s on axis %s times %" PRId64, arg->value,
               tensor_names[arg->tensor], axis_names[arg->axis], arg->factor);
        return;
    default: printf("int64 %" PRId64, arg->value); return;
    }
}

void print_launches(const skipjackdb *db, const struct skipjackdb_problem *problem,
                    const struct skipjackdb_solution *solution)
{
    for (uint32_t i = 0; i < solution->launch_count; i++) {
        struct shown shown;
        show(db, problem, solution, i, &shown);
        const struct skipjackdb_launch *launch = &shown.is;
        printf("launch %u%s: %s of %s\n", i + 1, shown.packs ? ", once for each filter" : "",
               launch->entry, shown.text);
        printf("  code         %" PRIu64 " bytes for %s, %s\n", shown.code_bytes, shown.target,
               shown.options);
        printf("  grid         %" PRId64 " x %" PRId64 " x %" PRId64 " work-items, %" PRId64
               " x %" PRId64 " x %" PRId64 " workgroups\n",
               launch->grid[0], launch->grid[1], launch->grid[2],
               launch->grid[0] / launch->block[0], launch->grid[1] / launch->block[1],
               launch->grid[2] / launch->block[2]);
        printf("  block        %d x %d x %d work-items\n", (int)launch->block[0],
               (int)launch->block[1], (int)launch->block[2]);
        printf("  local memory %" PRIu64 " bytes beside the kernel's own\n", launch->local_bytes);
        for (uint32_t a = 0; a < launch->arg_count; a++) {
            printf("  argument %-3u ", a);
            print_arg(problem, solution, &shown.args[a]);
            putchar('\n');
        }
        shown_clear(&shown);
    }
}

/* ---- as JSON ---- */

void print_text(const char *text)
{
    putchar('"');
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\') {
            putchar('\\');
        }
        putchar(*text);
    }
    putchar('"');
}

static void print_arg_json(const struct skipjackdb_problem *problem,
                           const struct skipjackdb_solution *solution,
                           const struct skipjackdb_arg *arg)
{
    static const char *const kinds[] = {
        [SKIPJACKDB_ARG_TENSOR] = "tensor", [SKIPJACKDB_ARG_WORKSPACE] = "workspace",
        [SKIPJACKDB_ARG_INT32] = "int32",   [SKIPJACKDB_ARG_INT64] = "int64",
        [SKIPJACKDB_ARG_FLOAT32] = "float", [SKIPJACKDB_ARG_STRIDE] = "stride",
    };
    printf("{\"kind\":\"%s\"", kinds[arg->kind]);
    if (arg->kind == SKIPJACKDB_ARG_TENSOR || arg->kind == SKIPJACKDB_ARG_STRIDE) {
        printf(",\"tensor\":\"%s\"", tensor_names[arg->tensor]);
    }
    if (arg->kind == SKIPJACKDB_ARG_TENSOR) {
        printf(",\"bytes\":%" PRIu64, bytes_of(problem, solution, arg->tensor));
    } else if (arg->kind == SKIPJACKDB_ARG_FLOAT32) {
        printf(",\"value\":%.9g", (double)arg->real);
    } else {
        printf(",\"value\":%" PRId64, arg->value);
    }
    if (arg->kind == SKIPJACKDB_ARG_STRIDE) {
        printf(",\"axis\":\"%s\",\"factor\":%" PRId64, axis_names[arg->axis], arg->factor);
    }
    putchar('}');
}

static void print_shown_json(const struct skipjackdb_problem *problem,
                             const struct skipjackdb_solution *solution, const struct shown *shown)
{
    const struct skipjackdb_launch *launch = &shown->is;
    const struct {
        const char *name, *text;
    } texts[] = {{"kernel", shown->text},
                 {"options", shown->options},
                 {"target", shown->target},
                 {"entry", launch->entry}};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        printf("%s\"%s\":", i == 0 ? "{" : ",", texts[i].name);
        print_text(texts[i].text);
    }
    printf(",\"code_bytes\":%" PRIu64 ",\"grid\":[%" PRId64 ",%" PRId64 ",%" PRId64
           "],\"block\":[%d,%d,%d],\"local_bytes\":%" PRIu64 ",\"packs\":%s,\"args\":[",
           shown->code_bytes, launch->grid[0], launch->grid[1], launch->grid[2],
           (int)launch->block[0], (int)launch->block[1], (int)launch->block[2], launch->local_bytes,
           shown->packs ? "true" : "false");
    for (uint32_t a = 0; a < launch->arg_count; a++) {
        fputs(a == 0 ? "" : ",", stdout);
        print_arg_json(problem, solution, &shown->args[a]);
    }
    fputs("]}", stdout);
}

void print_launches_json(const skipjackdb *db, const struct skipjackdb_problem *problem,
                         const struct skipjackdb_solution *solution)
{
    putchar('[');
    for (uint32_t i = 0; i < solution->launch_count; i++) {
        struct shown shown;
        show(db, problem, solution, i, &shown);
        fputs(i == 0 ? "" : ",", stdout);
        print_shown_json(problem, solution, &shown);
        shown_clear(&shown);
    }
    putchar(']');
}
