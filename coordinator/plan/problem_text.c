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

char *problem_text(const struct problem *p)
{
    GString *text = g_string_new(NULL);
    g_string_append_printf(text, "%c %" G_GINT64_FORMAT "x", direction_letter(p->direction), p->c);
    append_axes(text, p, p->in);
    g_string_append_printf(text, " k%" G_GINT64_FORMAT " ", p->k);
    append_axes(text, p, p->fil);
    append_step(text, p, 's', p->stride, 1);
    append_step(text, p, 'p', p->pad, 0);
    append_step(text, p, 'd', p->dilation, 1);
    if (p->groups != 1)
        g_string_append_printf(text, " g%" G_GINT64_FORMAT, p->groups);
    g_string_append_printf(text, " n%" G_GINT64_FORMAT, p->n);
    append_types(text, p);
    append_casts(text, p);
    append_layouts(text, p);
    if (p->bias)
        g_string_append(text, " bias");
    if (p->epilogue[0])
        g_string_append_printf(text, " %s", p->epilogue);
    return g_string_free(text, FALSE);
}
