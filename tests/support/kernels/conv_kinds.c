#include "tests/support/kernels/conv_kinds.h"

#include <string.h>

/* ---- cells ---- */

/* clang-format off */
static const enum layout layouts[][TENSOR_COUNT] = {
    {LAYOUT_NCHW, LAYOUT_NCHW, LAYOUT_NCHW},
    {LAYOUT_NHWC, LAYOUT_NHWC, LAYOUT_NHWC},
    {LAYOUT_CHWN, LAYOUT_CHWN, LAYOUT_CHWN},
    {LAYOUT_NCHWC4, LAYOUT_NCHWC4, LAYOUT_NCHWC4},
    {LAYOUT_NCHWC8, LAYOUT_NCHWC8, LAYOUT_NCHWC8},
    {LAYOUT_NCDHW, LAYOUT_NCDHW, LAYOUT_NCDHW},
    {LAYOUT_NDHWC, LAYOUT_NDHWC, LAYOUT_NDHWC},
};
static const enum layout mixed_layouts[][TENSOR_COUNT] = {
    {LAYOUT_NHWC, LAYOUT_NCHW, LAYOUT_CHWN},
    {LAYOUT_NCHWC4, LAYOUT_CHWNC4, LAYOUT_NCHWC4},
    {LAYOUT_NCHWC8, LAYOUT_CHWNC8, LAYOUT_NCHWC8},
    {LAYOUT_NCHWC8, LAYOUT_NCHW, LAYOUT_NCHWC8},
};
static const enum data_type types[][TENSOR_COUNT] = {
    {TYPE_FP32, TYPE_FP32, TYPE_FP32},
    {TYPE_FP16, TYPE_FP16, TYPE_FP16},
    {TYPE_BF16, TYPE_BF16, TYPE_BF16},
    {TYPE_INT8, TYPE_INT8, TYPE_INT32},
    {TYPE_FP64, TYPE_FP64, TYPE_FP64},
    {TYPE_FP8, TYPE_FP8, TYPE_FP8},
    {TYPE_BF8, TYPE_BF8, TYPE_BF8},
};
/* The types of x, w and y, and their casts. */
static const enum data_type mixed_types[][2][TENSOR_COUNT] = {
    {{TYPE_FP16, TYPE_FP16, TYPE_FP32}, {TYPE_NONE, TYPE_NONE, TYPE_NONE}},
    {{TYPE_FP32, TYPE_BF16, TYPE_FP16}, {TYPE_NONE, TYPE_NONE, TYPE_NONE}},
    {{TYPE_FP8, TYPE_FP8, TYPE_FP32}, {TYPE_NONE, TYPE_NONE, TYPE_NONE}},
    {{TYPE_BF8, TYPE_FP8, TYPE_BF16}, {TYPE_NONE, TYPE_NONE, TYPE_NONE}},
    {{TYPE_FP8, TYPE_BF8, TYPE_FP16}, {TYPE_NONE, TYPE_NONE, TYPE_NONE}},
    {{TYPE_INT8, TYPE_INT8, TYPE_INT8}, {TYPE_NONE, TYPE_NONE, TYPE_NONE}},
    {{TYPE_INT8, TYPE_FP16, TYPE_INT32}, {TYPE_NONE, TYPE_NONE, TYPE_NONE}},
    {{TYPE_INT32, TYPE_INT32, TYPE_INT32}, {TYPE_NONE, TYPE_NONE, TYPE_NONE}},
    {{TYPE_INT8, TYPE_INT8, TYPE_FP32}, {TYPE_NONE, TYPE_NONE, TYPE_NONE}},
    {{TYPE_FP16, TYPE_FP16, TYPE_FP16}, {TYPE_FP8, TYPE_FP8, TYPE_BF8}},
    {{TYPE_FP32, TYPE_FP16, TYPE_FP8}, {TYPE_BF8, TYPE_NONE, TYPE_FP16}},
};
/* clang-format on */

#define PLAIN_CELLS (G_N_ELEMENTS(layouts) * G_N_ELEMENTS(types))
#define FLOAT_CELLS (PLAIN_CELLS + G_N_ELEMENTS(mixed_layouts) + G_N_ELEMENTS(mixed_types))
#define CELLS       (FLOAT_CELLS + G_N_ELEMENTS(layouts)) /* the last ones in TF32 */

int conv_cell_count(void)
{
    return (int)CELLS * DIRECTION_COUNT;
}

void conv_cell_at(int index, struct conv_cell *cell)
{
    gsize i = (gsize)index % CELLS;
    const enum layout *layout = layouts[0];
    const enum data_type *type = types[0], *cast = mixed_types[0][1];

    g_assert(index >= 0 && index < conv_cell_count());
    cell->tf32 = i >= FLOAT_CELLS;
    if (cell->tf32) {
        layout = layouts[i - FLOAT_CELLS];
    } else if (i < PLAIN_CELLS) {
        layout = layouts[i % G_N_ELEMENTS(layouts)];
        type = types[i / G_N_ELEMENTS(layouts)];
    } else if (i < PLAIN_CELLS + G_N_ELEMENTS(mixed_layouts)) {
        layout = mixed_layouts[i - PLAIN_CELLS];
    } else {
        type = mixed_types[i - PLAIN_CELLS - G_N_ELEMENTS(mixed_layouts)][0];
        cast = mixed_types[i - PLAIN_CELLS - G_N_ELEMENTS(mixed_layouts)][1];
    }
    cell->direction = (enum direction)((gsize)index / CELLS);
    memcpy(cell->layout, layout, sizeof(cell->layout));
    memcpy(cell->type, type, sizeof(cell->type));
    if (type[TENSOR_X] == TYPE_INT8 && type[TENSOR_Y] == TYPE_INT32) { /* the output is INT32 */
        int output = cell->direction == DIRECTION_F   ? TENSOR_Y
                     : cell->direction == DIRECTION_B ? TENSOR_X
                                                      : TENSOR_W;
        cell->type[TENSOR_Y] = type[output];
        cell->type[output] = TYPE_INT32;
    }
    memcpy(cell->cast, cast, sizeof(cell->cast));
}

bool conv_cell_is_3d(const struct conv_cell *cell)
{
    return cell->layout[0] == LAYOUT_NCDHW || cell->layout[0] == LAYOUT_NDHWC;
}

/* Writes one name if all tensors' names are equal, else three. */
static void write_names(GString *text, const char *const names[TENSOR_COUNT])
{
    g_string_append_printf(text, " %s", names[0]);
    if (strcmp(names[0], names[1]) != 0 || strcmp(names[0], names[2]) != 0)
        g_string_append_printf(text, "-%s-%s", names[1], names[2]);
}

/* "INT8" alone is the usual problem of INT8, whose output is INT32; three tensors of INT8 are written out. */
static void write_types(GString *text, const struct conv_cell *cell,
                        const char *const names[TENSOR_COUNT])
{
    bool has_int8 = cell->type[TENSOR_X] == TYPE_INT8 && cell->type[TENSOR_W] == TYPE_INT8;

    if (has_int8 && cell->type[TENSOR_Y] == TYPE_INT32)
        g_string_append(text, " INT8");
    else if (has_int8 && cell->type[TENSOR_Y] == TYPE_INT8)
        g_string_append(text, " INT8-INT8-INT8");
    else
        write_names(text, names);
}

const char *conv_cell_name(const struct conv_cell *cell, char buffer[CONV_CELL_NAME_MAX])
{
    g_autoptr(GString) text = g_string_new(NULL);
    const char *layout[TENSOR_COUNT], *type[TENSOR_COUNT];

    for (int t = 0; t < TENSOR_COUNT; t++) {
        layout[t] = layout_name(cell->layout[t]);
        type[t] = data_type_name(cell->type[t]);
    }
    g_string_append_c(text, direction_letter(cell->direction));
    write_names(text, layout);
    if (cell->tf32)
        g_string_append(text, " " OP_MODE_TF32);
    else
        write_types(text, cell, type);
    for (int t = 0; t < TENSOR_COUNT; t++) {
        if (cell->cast[t] != TYPE_NONE)
            g_string_append_printf(text, " cast %c %s", "xwy"[t], data_type_name(cell->cast[t]));
    }
    g_strlcpy(buffer, text->str, CONV_CELL_NAME_MAX);
    return buffer;
}

/* ---- kinds ---- */

enum grouping { UNGROUPED, GROUPED, DEPTHWISE, ANY_GROUPS };

/* On how many axes the filter reaches past the padded input. */
enum past { PAST_NONE, PAST_ONE, PAST_ALL };

static const struct kind {
    const char *name;
    int fil_min, fil_max;
    int pad_max;
    int stride_min, stride_max;
    int dilation_min, dilation_max;
    enum grouping grouping;
    bool flat; /* the filter has one row */
    enum past past;
    bool few;   /* few channels, as in images; tried only for cells where no other kind is served */
    bool whole; /* the filter is the whole image, of more than a few channels */
} kinds[] = {
    {"general", 1, 5, 3, 1, 3, 1, 3, ANY_GROUPS, false, PAST_NONE, false, false},
    {"3x3", 3, 3, 2, 1, 1, 1, 1, UNGROUPED, false, PAST_NONE, false, false},
    {"1x1", 1, 1, 0, 1, 1, 1, 1, UNGROUPED, false, PAST_NONE, false, false},
    {"strided 1x1", 1, 1, 0, 2, 3, 1, 1, UNGROUPED, false, PAST_NONE, false, false},
    {"depthwise 3x3", 3, 3, 2, 1, 2, 1, 1, DEPTHWISE, false, PAST_NONE, false, false},
    {"large filter", 7, 13, 6, 1, 1, 1, 1, UNGROUPED, false, PAST_NONE, false, false},
    {"grouped 3x3", 3, 3, 1, 1, 1, 1, 1, GROUPED, false, PAST_NONE, false, false},
    {"strided", 2, 7, 3, 2, 4, 1, 1, UNGROUPED, false, PAST_NONE, false, false},
    {"dilated", 2, 4, 4, 1, 1, 2, 4, UNGROUPED, false, PAST_NONE, false, false},
    {"dilated and strided", 2, 4, 3, 2, 4, 2, 4, ANY_GROUPS, false, PAST_NONE, false, false},
    {"depthwise", 1, 7, 4, 1, 3, 1, 3, DEPTHWISE, false, PAST_NONE, false, false},
    {"wide filter", 1, 9, 4, 1, 1, 1, 1, ANY_GROUPS, true, PAST_NONE, false, false},
    {"past the input", 2, 5, 1, 1, 2, 1, 2, ANY_GROUPS, false, PAST_ALL, false, false},
    {"grouped 1x1", 1, 1, 0, 1, 1, 1, 1, GROUPED, false, PAST_NONE, false, false},
    {"past the input on one axis", 2, 5, 0, 1, 1, 1, 2, ANY_GROUPS, false, PAST_ONE, false, false},
    {"whole image", 1, 5, 0, 1, 2, 1, 1, UNGROUPED, false, PAST_NONE, false, true},
    {"few channels", 1, 7, 3, 1, 2, 1, 1, UNGROUPED, false, PAST_NONE, true, false},
};

int conv_kind_count(void)
{
    return (int)G_N_ELEMENTS(kinds);
}

const char *conv_kind_name(int kind)
{
    return kinds[kind].name;
}

static int between(GRand *random, int least, int most)
{
    return g_rand_int_range(random, least, most + 1);
}

/* The dimension that is larger than a solver's tile. */
enum much { MUCH_OF_NOTHING, MANY_CHANNELS, MANY_FILTERS, MANY_POSITIONS };

#define WHOLE_CHANNELS  16
#define WHOLE_POSITIONS 8

static int64_t fit(int64_t number, enum conv_sizes sizes, int64_t whole)
{
    switch (sizes) {
    case SIZES_ODD: return number | 1;
    case SIZES_WHOLE: return (number + whole - 1) / whole * whole;
    default: return number;
    }
}

static void choose_channels(GRand *random, const struct kind *kind, enum conv_sizes sizes,
                            enum much much, struct problem *p)
{
    enum grouping grouping = kind->grouping;
    int64_t c = much == MANY_CHANNELS ? between(random, 65, 180) : between(random, 1, 20);
    int64_t k = much == MANY_FILTERS ? between(random, 65, 180) : between(random, 1, 30);

    if (grouping == ANY_GROUPS)
        grouping = (enum grouping)between(random, UNGROUPED, GROUPED);
    if (grouping == DEPTHWISE) {
        p->groups = fit(much == MANY_CHANNELS ? c : c / 2 + 2, sizes, WHOLE_CHANNELS);
        p->c = p->groups;
        p->k = p->groups * (much == MANY_FILTERS ? 2 : 1);
        return;
    }
    p->groups = grouping == GROUPED ? between(random, 2, 4) : 1;
    if (kind->whole)
        c += 8;
    p->c = kind->few ? between(random, 1, 4) : p->groups * fit(c, sizes, WHOLE_CHANNELS);
    p->k = p->groups * fit(k, sizes, WHOLE_CHANNELS);
}

/* The smallest input that the filter fits into, padding included. */
static int64_t least_input(const struct problem *p, int a)
{
    return MAX(p->dilation[a] * (p->fil[a] - 1) + 1 - 2 * p->pad[a], 1);
}

static void choose_axis(GRand *random, const struct kind *kind, enum conv_sizes sizes,
                        enum much much, bool is_past, struct problem *p, int a)
{
    bool is_3d = p->spatial_dim == 3;
    int fil_most = is_3d ? MIN(kind->fil_max, MAX(kind->fil_min, 4)) : kind->fil_max;
    int more = much == MANY_POSITIONS ? between(random, 12, is_3d ? 14 : 40)
                                      : between(random, 0, is_3d ? 5 : 14);

    p->fil[a] = kind->flat && a != AXIS_W ? 1 : between(random, kind->fil_min, fil_most);
    p->pad[a] = between(random, 0, kind->pad_max);
    p->stride[a] = between(random, kind->stride_min, kind->stride_max);
    p->dilation[a] = between(random, kind->dilation_min, kind->dilation_max);
    if (kind->whole)
        p->in[a] = p->fil[a];
    else if (is_past)
        p->in[a] = MAX(least_input(p, a) - 1 - more / 4, 1);
    else
        p->in[a] = fit(least_input(p, a) + more, sizes, WHOLE_POSITIONS);
}

/* Reduces the larger count of channels; multiples of 16 stay multiples, odd counts stay odd. False
 * if it is small already. */
static bool shrink_channels(struct problem *p, int64_t few)
{
    int64_t *larger = p->c > p->k ? &p->c : &p->k;
    int64_t of_group = *larger / p->groups;
    bool whole = of_group % WHOLE_CHANNELS == 0;

    if (of_group <= (whole ? WHOLE_CHANNELS : few))
        return false;
    of_group = whole ? of_group - WHOLE_CHANNELS : of_group / 2 | (of_group & 1);
    *larger = p->groups * of_group;
    return true;
}

static bool shrink_positions(struct problem *p)
{
    int longest = AXIS_W;

    for (int a = 0; a < AXIS_COUNT; a++) {
        if (p->in[a] > p->in[longest])
            longest = a;
    }
    if (p->in[longest] - WHOLE_POSITIONS < least_input(p, longest))
        return false;
    p->in[longest] -= WHOLE_POSITIONS;
    problem_set_output(p);
    return true;
}

/* Reduces batch, channels and positions in turn until the problem has at most `most_macs`
 * multiply-accumulates, without changing its kind. */
static void shrink(struct problem *p, double most_macs)
{
    while (problem_macs(p) > most_macs) {
        if (p->n > 1)
            p->n = 1;
        else if (!shrink_channels(p, WHOLE_CHANNELS) && !shrink_positions(p) &&
                 !shrink_channels(p, 3))
            return;
    }
}

void conv_kind_problem(GRand *random, int kind, enum conv_sizes sizes, const struct conv_cell *cell,
                       double most_macs, struct problem *p)
{
    enum much much = (enum much)between(random, MUCH_OF_NOTHING, MANY_POSITIONS);
    enum past past = kinds[kind].past;
    int past_axis = past == PAST_ONE ? between(random, AXIS_H, AXIS_W) : AXIS_COUNT;

    problem_init(p);
    p->direction = cell->direction;
    memcpy(p->layout, cell->layout, sizeof(p->layout));
    memcpy(p->type, cell->type, sizeof(p->type));
    memcpy(p->cast, cell->cast, sizeof(p->cast));
    if (cell->tf32)
        g_strlcpy(p->mode, OP_MODE_TF32, sizeof(p->mode));
    p->spatial_dim = conv_cell_is_3d(cell) ? 3 : 2;
    p->n = fit(between(random, 1, 3), sizes == SIZES_WHOLE ? SIZES_ANY : sizes, 1);
    choose_channels(random, &kinds[kind], sizes, much, p);
    for (int a = p->spatial_dim == 3 ? AXIS_D : AXIS_H; a < AXIS_COUNT; a++)
        choose_axis(random, &kinds[kind], sizes, much, past == PAST_ALL || a == past_axis, p, a);
    problem_set_output(p);
    shrink(p, most_macs);
}

/* ---- claims ---- */

#define TRIES_A_KIND 12
#define TRIES_OF_FEW 240 /* more tries, since the problem's sizes must fit each other */
#define PROBED_MACS  1e6

static bool is_served(const struct solver *solver, const struct conv_cell *cell,
                      const struct problem *p, const struct context *context)
{
    struct perf_config config;
    struct solution solution;

    if (!solver_applicable(solver, p, context, NULL))
        return false;
    if (!cell->tf32)
        return true;
    solver->default_config(p, context, &config);
    return solver_solve(solver, p, context, &config, &solution, NULL) &&
           solution.rounding.inputs > 0;
}

static bool kind_is_served(const struct solver *solver, const struct conv_cell *cell,
                           const struct context *contexts, int context_count, int kind,
                           GRand *random)
{
    int tries = kinds[kind].few ? TRIES_OF_FEW : TRIES_A_KIND;
    bool served = false;

    for (int i = 0; i < tries * context_count; i++) {
        struct problem p;
        conv_kind_problem(random, kind, (enum conv_sizes)(i % CONV_SIZES_COUNT), cell, PROBED_MACS,
                          &p);
        served = served || is_served(solver, cell, &p, &contexts[i / tries]);
    }
    return served;
}

unsigned conv_kinds_served(const struct solver *solver, const struct conv_cell *cell,
                           const struct context *contexts, int context_count)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(11);
    unsigned served = 0;

    for (int kind = 0; kind < conv_kind_count(); kind++) {
        if ((!kinds[kind].few || served == 0) &&
            kind_is_served(solver, cell, contexts, context_count, kind, random))
            served |= 1u << kind;
    }
    return served;
}
