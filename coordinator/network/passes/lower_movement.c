#include "coordinator/network/passes/lowering.h"

#include "coordinator/network/passes/pass.h"

#include <string.h>

static struct value *movement(struct lowering *l, const struct op *op, const char *part,
                              struct attributes *attributes, struct value *const *inputs, int count)
{
    const char *own = node_name(l->node);
    g_autofree char *name = part != NULL ? g_strconcat(own, ".", part, NULL) : g_strdup(own);
    attributes_set_strings(attributes, "nodes", l->nodes, 1);
    struct node *node = graph_add(l->graph,
                                  &(struct node_spec){.op = op,
                                                      .name = name,
                                                      .attributes = attributes,
                                                      .inputs = inputs,
                                                      .input_count = count,
                                                      .output_count = 1,
                                                      .before = l->node},
                                  l->error);
    return node != NULL ? node_output(node) : NULL;
}

static struct value *lower_concat(struct lowering *l)
{
    g_autoptr(Attributes) attributes = attributes_new();
    int64_t axis = lower_int(l, "axis", 0);
    attributes_set_int(attributes, "axis", axis < 0 ? axis + l->y->rank : axis);
    return l->node->input_count == 1
               ? lower_input(l, 0)
               : movement(l, &op_join, NULL, attributes, l->node->inputs, l->node->input_count);
}

static struct value *part_of(struct lowering *l, const char *part, const int64_t *begin,
                             const int64_t *step, const struct shape *out)
{
    g_autoptr(Attributes) attributes = attributes_new();
    struct value *x = lower_input(l, 0);
    attributes_set_ints(attributes, "begin", begin, out->rank);
    attributes_set_ints(attributes, "step", step, out->rank);
    attributes_set_ints(attributes, "dims", out->dim, out->rank);
    return movement(l, &op_part, part, attributes, &x, 1);
}

static struct value *lower_slice(struct lowering *l)
{
    int64_t begin[SHAPE_MAX_RANK], step[SHAPE_MAX_RANK], dims[SHAPE_MAX_RANK];
    if (!infer_slice_steps(l->call, begin, step, dims, l->error)) {
        return NULL;
    }
    for (int i = 0; i < l->x->rank; i++) {
        if (step[i] < 0) {
            return lower_fail(l, "it goes backwards along axis %d", i);
        }
    }
    return part_of(l, NULL, begin, step, l->y);
}

/* Split has several outputs; those behind the first are replaced here. */
static struct value *lower_split(struct lowering *l)
{
    int64_t axis = lower_int(l, "axis", 0);
    int64_t begin[SHAPE_MAX_RANK] = {0}, step[SHAPE_MAX_RANK];
    struct value *first = NULL;
    axis += axis < 0 ? l->x->rank : 0;
    for (int i = 0; i < SHAPE_MAX_RANK; i++) {
        step[i] = 1;
    }
    for (int i = 0; i < l->node->output_count; i++) {
        struct value *old = l->node->outputs[i];
        g_autofree char *name = g_strdup_printf("%d", i);
        struct value *part = part_of(l, name, begin, step, &old->shape);
        begin[axis] += old->shape.dim[axis];
        if (i == 0) {
            first = part;
        } else if (part == NULL || !graph_replace_value(old, part, l->error)) {
            return NULL;
        }
    }
    return first;
}

static struct value *lower_pad(struct lowering *l)
{
    int64_t count = 0, axis_count = 0;
    double number = 0;
    const char *mode = lower_string(l, "mode", "constant");
    g_autofree double *pads = value_numbers(lower_input(l, 1), &count);
    g_autofree double *axes =
        lower_input(l, 3) != NULL ? value_numbers(lower_input(l, 3), &axis_count) : NULL;
    int64_t before[SHAPE_MAX_RANK] = {0}, after[SHAPE_MAX_RANK] = {0};
    bool has_padding = false;
    if (strcmp(mode, "constant") != 0) {
        return lower_fail(l, "its mode is '%s', kernels pad with a constant", mode);
    }
    if (pads == NULL ||
        (lower_input(l, 2) != NULL && !value_is_number(lower_input(l, 2), &number))) {
        return lower_fail(l, "its padding is computed, it must be constant");
    }
    for (int64_t i = 0; i < count / 2; i++) {
        int64_t axis = axes != NULL ? (int64_t)axes[i] : i;
        axis += axis < 0 ? l->x->rank : 0;
        before[axis] = (int64_t)pads[i];
        after[axis] = (int64_t)pads[i + count / 2];
        has_padding |= before[axis] != 0 || after[axis] != 0;
        if (before[axis] < 0 || after[axis] < 0) {
            return lower_fail(l, "it cuts off elements, which Slice does");
        }
    }
    return has_padding ? lower_add_border(l, lower_input(l, 0), l->x->rank, before, after, number)
                       : lower_input(l, 0);
}

/* Blocks of channels become blocks in space, or the other way: views, and a copy where nobody absorbs them. */
static struct value *lower_blocks(struct lowering *l)
{
    int64_t b = lower_int(l, "blocksize", 1), n = l->x->dim[0], c = l->x->dim[1], h = l->x->dim[2],
            w = l->x->dim[3];
    struct value *x = lower_input(l, 0);
    if (strcmp(l->node->op->name, "SpaceToDepth") == 0) {
        x = graph_reshape(x, 6, (int64_t[]){n, c, h / b, b, w / b, b});
        x = graph_transpose(x, (int[]){0, 3, 5, 1, 2, 4}, 6);
    } else if (strcmp(lower_string(l, "mode", "DCR"), "DCR") == 0) {
        x = graph_reshape(x, 6, (int64_t[]){n, b, b, c / (b * b), h, w});
        x = graph_transpose(x, (int[]){0, 3, 4, 1, 5, 2}, 6);
    } else {
        x = graph_reshape(x, 6, (int64_t[]){n, c / (b * b), b, b, h, w});
        x = graph_transpose(x, (int[]){0, 1, 4, 2, 5, 3}, 6);
    }
    return graph_reshape(x, l->y->rank, l->y->dim);
}

const struct lower_row lower_movement_rows[] = {
    {"Concat", lower_concat},
    {"Slice", lower_slice},
    {"Split", lower_split},
    {"Pad", lower_pad},
    {"DepthToSpace", lower_blocks},
    {"SpaceToDepth", lower_blocks},
    {NULL, NULL},
};
