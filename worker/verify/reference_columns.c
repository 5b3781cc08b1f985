#include "worker/verify/reference_columns.h"

#include <glib.h>

static int64_t common_divisor(int64_t a, int64_t b)
{
    return b == 0 ? a : common_divisor(b, a % b);
}

/* The number next to that share of one_of that has no common divisor with it. */
static int64_t step_of(int64_t one_of, double share)
{
    int64_t near = (int64_t)(share * (double)one_of + 0.5);

    for (int64_t away = 0; away < one_of; away++) {
        if (near - away > 0 && common_divisor(near - away, one_of) == 1)
            return near - away;
        if (common_divisor(near + away, one_of) == 1)
            return near + away;
    }
    return 1;
}

void reference_columns_init(struct reference_columns *columns, const struct problem *p,
                            int64_t one_of)
{
    const int64_t *size = p->direction == DIRECTION_B ? p->in : p->out;

    *columns = (struct reference_columns){.one_of = one_of,
                                          .step = step_of(one_of, 0.618),
                                          .channel_step = step_of(one_of, 0.732),
                                          .images = p->n};
    for (int a = 0; a < AXIS_COUNT; a++)
        columns->size[a] = size[a];
    if (p->direction == DIRECTION_W) {
        columns->taps = true;
        columns->images = 1;
        columns->size[0] = 1;
        columns->size[1] = p->c / p->groups;
        columns->size[2] = p->fil[0] * p->fil[1] * p->fil[2];
    }
}

/* A number that looks random, of an image of a group. */
static uint64_t drawn(int64_t group, int64_t image)
{
    uint64_t hash = ((uint64_t)group << 32 ^ (uint64_t)image) + 0x9e3779b97f4a7c15u;

    hash = (hash ^ hash >> 30) * 0xbf58476d1ce4e5b9u;
    hash = (hash ^ hash >> 27) * 0x94d049bb133111ebu;
    return hash ^ hash >> 31;
}

static int64_t positions_of(const struct reference_columns *columns)
{
    return columns->size[0] * columns->size[1] * columns->size[2];
}

/* Whether a position is a corner, an edge of the first or the last image, or on the lattice that begins at `offset`. */
static bool is_kept(const struct reference_columns *columns, int64_t image, int64_t position,
                    uint64_t offset)
{
    const int64_t *size = columns->size;
    int64_t at[AXIS_COUNT];
    bool at_edge = false, at_corner = true;
    bool outer_image = image == 0 || image == columns->images - 1;

    for (int a = AXIS_COUNT - 1; a >= 0; a--) {
        at[a] = position % size[a];
        position /= size[a];
        if (size[a] == 1)
            continue;
        bool ends = at[a] == 0 || at[a] == size[a] - 1;
        at_corner = at_corner && ends;
        at_edge = at_edge || (ends && !(columns->taps && a == AXIS_COUNT - 1));
    }
    if (positions_of(columns) == 1)
        at_corner = outer_image;
    if (at_corner || (at_edge && outer_image))
        return true;
    int64_t place = at[2] + columns->step * (at[1] + columns->step * at[0]);
    return ((uint64_t)place + offset) % (uint64_t)columns->one_of == 0;
}

bool reference_column_is_kept(const struct reference_columns *columns, int64_t group,
                              int64_t column)
{
    int64_t positions = positions_of(columns), image = column / positions;
    uint64_t offset =
        positions > 1 ? drawn(group, image) : drawn(group, 0) % (1u << 31) + (uint64_t)image;

    return columns->one_of == 1 || is_kept(columns, image, column % positions, offset);
}

bool reference_position_is_kept(const struct reference_columns *columns, int64_t image,
                                int64_t channel, int64_t position)
{
    bool single = positions_of(columns) == 1;
    /* The images of a single position are moved on by `step`, as the lines of larger images are. */
    uint64_t offset = single ? (uint64_t)(image * columns->step) : drawn(0, image) % (1u << 31);

    offset += (uint64_t)(channel * columns->channel_step);
    return columns->one_of == 1 || is_kept(columns, image, position, offset);
}
