#include "coordinator/plan/problem_text.h"

#include <string.h>

/* Appends sizes as "3x3"; for a 3D problem the depth comes first, "3x3x3". */
static void append_axes(GString *text, const struct problem *p, const int64_t values[AXIS_COUNT])
{
    int first = p->spatial_dim == 3 ? AXIS_D : AXIS_H;
    for (int axis = first; axis < AXIS_COUNT; axis++)
        g_string_append_printf(text, "%s%" G_GINT64_FORMAT, axis == first ? "" : "x", values[axis]);
}

/* Appends a letter and values: " s2", or " s2x1" if the axes differ. Appends nothing if all have
 * the neutral value. */
static void append_step(GString *text, const struct problem *p, char letter,
                        const int64_t values[AXIS_COUNT], int64_t neutral)
{
    int first = p->spatial_dim == 3 ? AXIS_D : AXIS_H;
    bool same = true;
    for (int axis = first; axis < AXIS_COUNT; axis++)
        same = same && values[axis] == values[first];
    if (same && values[first] == neutral)
        return;
    g_string_append_printf(text, " %c", letter);
    if (same)
        g_string_append_printf(text, "%" G_GINT64_FORMAT, values[first]);
    else
        append_axes(text, p, values);
}

static void append_types(GString *text, const struct problem *p)
{
    const char *x = data_type_name(p->type[TENSOR_X]);
    const char *w = data_type_name(p->type[TENSOR_W]);
    const char *y = data_type_name(p->type[TENSOR_Y]);
    if (strcmp(x, w) != 0 || strcmp(x, y) != 0)
        g_string_append_printf(text, " %s/%s/%s", x, w, y);
    else if (problem_is_tf32(p))
        g_string_append(text, " " OP_MODE_TF32);
    else if (p->type[TENSOR_X] != TYPE_FP32)
        g_string_append_printf(text, " %s", x);
}

/* Appends the casts of x, w and y, " cast FP16/-/FP8", if at least one tensor has one. */
static void append_casts(GString *text, const struct problem *p)
{
    bool any = false;
    for (int t = 0; t < TENSOR_COUNT; t++)
        any = any || p->cast[t] != TYPE_NONE;
    for (int t = 0; any && t < TENSOR_COUNT; t++)
        g_string_append_printf(text, "%s%s", t == 0 ? " cast " : "/",
                               p->cast[t] != TYPE_NONE ? data_type_name(p->cast[t]) : "-");
}

static void append_layouts(GString *text, const struct problem *p)
{
    enum layout usual = p->spatial_dim == 3 ? LAYOUT_NCDHW : LAYOUT_NCHW;
    enum layout x = p->layout[TENSOR_X], w = p->layout[TENSOR_W], y = p->layout[TENSOR_Y];
    if (x != w || x != y)
        g_string_append_printf(text, " %s/%s/%s", layout_name(x), layout_name(w), layout_name(y));
    else if (x != usual)
        g_string_append_printf(text, " %s", layout_name(x));
}

/* Appends the direction of a convolution, or the operator: "F ", "pool(max) ". */
static void append_kind(GString *text, const struct problem *p)
{
    if (p->kind == OP_CONV)
        g_string_append_printf(text, "%c ", direction_letter(p->direction));
    else if (p->mode[0])
        g_string_append_printf(text, "%s(%s) ", op_kind_name(p->kind), p->mode);
    else
        g_string_append_printf(text, "%s ", op_kind_name(p->kind));
}

/* Appends the output's size if it is not the one that follows from the other fields: " to 7x7". */
static void append_output(GString *text, const struct problem *p)
{
    struct problem usual = *p;
    problem_set_output(&usual);
    if (memcmp(usual.out, p->out, sizeof p->out) == 0)
        return;
    g_string_append(text, " to ");
    append_axes(text, p, p->out);
}

/* Appends the strides of tensors that are not packed: " strides x 400/65/0/8/1". */
static void append_strides(GString *text, const struct problem *p)
{
    static const char *const names[STRIDED_COUNT] = {"x", "w", "y", "residual"};
    bool any = false;
    for (int t = 0; t < STRIDED_COUNT; t++) {
        const int64_t *s = p->strides[t];
        if ((s[0] | s[1] | s[2] | s[3] | s[4]) == 0)
            continue;
        g_string_append_printf(text,
                               "%s%s %" G_GINT64_FORMAT "/%" G_GINT64_FORMAT "/%" G_GINT64_FORMAT
                               "/%" G_GINT64_FORMAT "/%" G_GINT64_FORMAT,
                               any ? ", " : " strides ", names[t], s[0], s[1], s[2], s[3], s[4]);
        any = true;
    }
}

char *problem_text(const struct problem *p)
{
    GString *text = g_string_new(NULL);
    append_kind(text, p);
    g_string_append_printf(text, "%" G_GINT64_FORMAT "x", p->c);
    append_axes(text, p, p->in);
    if (p->kind == OP_CONV)
        g_string_append_printf(text, " k%" G_GINT64_FORMAT, p->k);
    if (p->kind == OP_CONV || p->kind == OP_POOL) {
        g_string_append_c(text, ' ');
        append_axes(text, p, p->fil);
    }
    append_step(text, p, 's', p->stride, 1);
    append_step(text, p, 'p', p->pad, 0);
    append_step(text, p, 'd', p->dilation, 1);
    append_output(text, p);
    if (p->groups != 1)
        g_string_append_printf(text, " g%" G_GINT64_FORMAT, p->groups);
    g_string_append_printf(text, " n%" G_GINT64_FORMAT, p->n);
    append_types(text, p);
    append_casts(text, p);
    append_layouts(text, p);
    append_strides(text, p);
    if (p->bias)
        g_string_append(text, " bias");
    if (p->epilogue[0])
        g_string_append_printf(text, " %s", p->epilogue);
    return g_string_free(text, FALSE);
}
