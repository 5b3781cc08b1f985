#include "coordinator/network/view.h"

#include <string.h>

/* Atoms of all axes before they are distributed: a split may need one more than a view can hold. */
struct atoms {
    struct view_atom items[2 * SHAPE_MAX_RANK];
    int count;
};

static bool can_merge(const struct view_atom *outer, const struct view_atom *inner)
{
    if (outer->step == 0 || inner->step == 0)
        return outer->step == inner->step;
    return outer->step == inner->step * inner->size;
}

/* Appends an atom to a canonical list whose current axis began at `start`. Returns false if there is no room. */
static bool append_atom(struct atoms *atoms, int start, struct view_atom atom)
{
    if (atom.size == 1)
        return true;
    if (atoms->count > start && can_merge(&atoms->items[atoms->count - 1], &atom)) {
        struct view_atom *last = &atoms->items[atoms->count - 1];
        last->size *= atom.size;
        last->step = atom.step;
        return true;
    }
    if (atoms->count == SHAPE_MAX_RANK)
        return false;
    atoms->items[atoms->count++] = atom;
    return true;
}

static void set_axes(struct view *view, int rank, const int64_t *dims, const int *axis_atoms,
                     const struct atoms *atoms)
{
    view->rank = rank;
    view->atom_count = atoms->count;
    memset(view->dim, 0, sizeof(view->dim));
    memset(view->axis_atoms, 0, sizeof(view->axis_atoms));
    memset(view->atoms, 0, sizeof(view->atoms));
    memcpy(view->dim, dims, (size_t)rank * sizeof(*dims));
    memcpy(view->axis_atoms, axis_atoms, (size_t)rank * sizeof(*axis_atoms));
    memcpy(view->atoms, atoms->items, (size_t)atoms->count * sizeof(atoms->items[0]));
}

/* A tensor without elements has no places: each axis is one atom of its size, so that views with equal dimensions are
 * equal. */
static void set_empty(struct view *view, int rank, const int64_t *dims)
{
    struct atoms atoms = {.count = 0};
    int axis_atoms[SHAPE_MAX_RANK] = {0};
    set_axes(view, rank, dims, axis_atoms, &atoms);
}

static int64_t elements_of(int rank, const int64_t *dims)
{
    int64_t elements = 1;
    for (int i = 0; i < rank; i++)
        elements *= dims[i];
    return elements;
}

static bool is_empty(int rank, const int64_t *dims)
{
    return elements_of(rank, dims) == 0;
}

void view_identity(struct view *view, const struct shape *base)
{
    struct atoms atoms = {.count = 0};
    int axis_atoms[SHAPE_MAX_RANK] = {0};
    memset(view, 0, sizeof(*view));
    view->type = view->base_type = base->type;
    if (is_empty(base->rank, base->dim)) {
        set_empty(view, base->rank, base->dim);
        return;
    }
    int64_t step = elements_of(base->rank, base->dim);
    for (int i = 0; i < base->rank; i++) {
        step /= base->dim[i];
        int start = atoms.count;
        append_atom(&atoms, start, (struct view_atom){base->dim[i], step});
        axis_atoms[i] = atoms.count - start;
    }
    set_axes(view, base->rank, base->dim, axis_atoms, &atoms);
}

bool view_equal(const struct view *a, const struct view *b)
{
    return a->type == b->type && a->base_type == b->base_type && a->rank == b->rank &&
           a->atom_count == b->atom_count && memcmp(a->dim, b->dim, sizeof(a->dim)) == 0 &&
           memcmp(a->axis_atoms, b->axis_atoms, sizeof(a->axis_atoms)) == 0 &&
           memcmp(a->atoms, b->atoms, sizeof(a->atoms)) == 0;
}

bool view_is_identity(const struct view *view, const struct shape *base)
{
    struct view identity;
    view_identity(&identity, base);
    return view_equal(view, &identity);
}

static int axis_start(const struct view *view, int axis)
{
    int start = 0;
    for (int i = 0; i < axis; i++)
        start += view->axis_atoms[i];
    return start;
}

bool view_transpose(struct view *view, const int *permutation)
{
    struct atoms atoms = {.count = 0};
    int64_t dims[SHAPE_MAX_RANK];
    int axis_atoms[SHAPE_MAX_RANK];
    unsigned seen = 0;
    for (int i = 0; i < view->rank; i++) {
        int from = permutation[i];
        g_assert(from >= 0 && from < view->rank && !(seen & 1U << from));
        seen |= 1U << from;
        int start = axis_start(view, from);
        dims[i] = view->dim[from];
        axis_atoms[i] = view->axis_atoms[from];
        for (int j = 0; j < axis_atoms[i]; j++)
            atoms.items[atoms.count++] = view->atoms[start + j];
    }
    set_axes(view, view->rank, dims, axis_atoms, &atoms);
    return true;
}

/* Takes `size` places from the front of the list at *next, splitting an atom if need be. Returns false if atoms and
 * size have no common grid. */
static bool take_places(struct atoms *from, int *next, int64_t size, struct atoms *to)
{
    int start = to->count;
    while (size > 1) {
        g_assert(*next < from->count);
        struct view_atom *atom = &from->items[*next];
        struct view_atom taken = *atom;
        if (size % atom->size == 0) {
            ++*next;
        } else if (atom->size % size == 0) {
            taken.size = size;
            taken.step = atom->step * (atom->size / size);
            atom->size /= size;
        } else {
            return false;
        }
        size /= taken.size;
        if (!append_atom(to, start, taken))
            return false;
    }
    return true;
}

bool view_reshape(struct view *view, int rank, const int64_t *dims)
{
    g_assert(elements_of(rank, dims) == elements_of(view->rank, view->dim));
    if (is_empty(rank, dims)) {
        set_empty(view, rank, dims);
        return true;
    }
    struct atoms from = {.count = 0}, to = {.count = 0};
    int axis_atoms[SHAPE_MAX_RANK] = {0};
    for (int i = 0; i < view->atom_count; i++)
        append_atom(&from, 0, view->atoms[i]);
    int next = 0;
    for (int i = 0; i < rank; i++) {
        int start = to.count;
        if (!take_places(&from, &next, dims[i], &to))
            return false;
        axis_atoms[i] = to.count - start;
    }
    set_axes(view, rank, dims, axis_atoms, &to);
    return true;
}

bool view_broadcast(struct view *view, int rank, const int64_t *dims)
{
    g_assert(rank >= view->rank && rank <= SHAPE_MAX_RANK);
    if (is_empty(rank, dims)) {
        set_empty(view, rank, dims);
        return true;
    }
    struct atoms atoms = {.count = 0};
    int axis_atoms[SHAPE_MAX_RANK];
    int added = rank - view->rank;
    for (int i = 0; i < rank; i++) {
        int start = atoms.count;
        if (i >= added && view->dim[i - added] == dims[i]) {
            int first = axis_start(view, i - added);
            for (int j = 0; j < view->axis_atoms[i - added]; j++) {
                if (!append_atom(&atoms, start, view->atoms[first + j]))
                    return false;
            }
        } else {
            g_assert(i < added || view->dim[i - added] == 1);
            if (!append_atom(&atoms, start, (struct view_atom){dims[i], 0}))
                return false;
        }
        axis_atoms[i] = atoms.count - start;
    }
    set_axes(view, rank, dims, axis_atoms, &atoms);
    return true;
}

bool view_cast(struct view *view, enum element_type type)
{
    if (type != view->type && !element_type_holds(view->type, view->base_type))
        return false;
    view->type = type;
    return true;
}

bool view_is_bijective(const struct view *view, const struct shape *base)
{
    if (elements_of(view->rank, view->dim) != shape_elements(base))
        return false;
    for (int i = 0; i < view->atom_count; i++) {
        if (view->atoms[i].step == 0)
            return false;
    }
    return true;
}

/* ---- in the memory of a base ---- */

/* Appends the atom's parts in the base's memory, outermost first, each within one axis of the base. Returns false if
 * the atom cuts across axes, or if there are too many parts. */
static bool map_atom(struct view_atom atom, const struct shape *base, int start,
                     struct atoms *mapped)
{
    struct view_atom parts[SHAPE_MAX_RANK + 1];
    int count = 0;
    int64_t inner = 1; /* places from one index of the axis to the next, in the base's numbering */
    for (int axis = base->rank - 1; axis >= 0 && atom.size > 1 && atom.step > 0; axis--) {
        int64_t dim = base->dim[axis];
        if (atom.step >= inner * dim) {
            inner *= dim;
            continue;
        }
        if (atom.step % inner || dim % (atom.step / inner))
            return false;
        int64_t every = atom.step / inner;
        int64_t here = MIN(atom.size, dim / every);
        if (atom.size % here)
            return false;
        if (here > 1)
            parts[count++] = (struct view_atom){here, base->stride[axis] * every};
        atom.size /= here;
        inner *= dim;
        atom.step = inner;
    }
    if (atom.size > 1)
        parts[count++] = (struct view_atom){atom.size, 0};
    while (count > 0) {
        if (!append_atom(mapped, start, parts[--count]))
            return false;
    }
    return true;
}

static bool map_axis(const struct view *view, const struct shape *base, int axis,
                     struct atoms *mapped)
{
    int first = axis_start(view, axis), start = mapped->count;
    for (int i = 0; i < view->axis_atoms[axis]; i++) {
        struct view_atom atom = view->atoms[first + i];
        if (shape_is_packed(base) ? !append_atom(mapped, start, atom)
                                  : !map_atom(atom, base, start, mapped))
            return false;
    }
    return true;
}

static void set_shape(struct shape *shape, enum element_type type, int rank, const int64_t *dims)
{
    bool fits = shape_set_packed(shape, type, rank, dims, NULL);
    g_assert(fits);
}

bool view_shape(const struct view *view, const struct shape *base, struct shape *shape)
{
    set_shape(shape, view->type, view->rank, view->dim);
    for (int i = 0; i < view->rank; i++) {
        struct atoms mapped = {.count = 0};
        if (!map_axis(view, base, i, &mapped) || mapped.count > 1) {
            set_shape(shape, view->type, view->rank, view->dim);
            return false;
        }
        if (mapped.count == 1)
            shape->stride[i] = mapped.items[0].step;
    }
    return true;
}

bool view_refined_shape(const struct view *view, const struct shape *base, struct shape *shape)
{
    struct atoms mapped = {.count = 0};
    struct shape refined = {.type = view->type};
    if (is_empty(view->rank, view->dim)) {
        set_shape(shape, view->type, view->rank, view->dim);
        return true;
    }
    for (int i = 0; i < view->rank; i++) {
        if (!map_axis(view, base, i, &mapped))
            return false;
    }
    refined.rank = mapped.count;
    for (int i = 0; i < mapped.count; i++) {
        refined.dim[i] = mapped.items[i].size;
        refined.stride[i] = mapped.items[i].step;
    }
    *shape = refined;
    return true;
}

/* The axis within which places of a packed tensor are `step` apart. */
static int axis_of_step(const struct shape *packed, int64_t step)
{
    int axis = packed->rank - 1;
    while (axis > 0 && (packed->dim[axis] == 1 || step >= packed->stride[axis] * packed->dim[axis]))
        axis--;
    return axis;
}

bool view_packing_order(const struct view *view, const struct shape *base,
                        int order[SHAPE_MAX_RANK])
{
    if (is_empty(base->rank, base->dim) || !view_is_bijective(view, base))
        return false;
    /* Pieces of the base's axes in the order in which the view runs over them. No two are merged across axes: a piece
     * never begins a new atom behind SHAPE_MAX_RANK others. */
    struct shape packed;
    struct atoms pieces = {.count = 0};
    set_shape(&packed, base->type, base->rank, base->dim);
    for (int i = 0; i < view->atom_count; i++) {
        if (!map_atom(view->atoms[i], &packed, SHAPE_MAX_RANK, &pieces))
            return false;
    }
    /* Pieces of one axis must follow each other, from its outermost to its innermost, and make the whole axis. */
    unsigned seen = 0;
    int count = 0;
    for (int i = 0; i < pieces.count; count++) {
        struct view_atom whole = pieces.items[i];
        int axis = axis_of_step(&packed, whole.step);
        while (++i < pieces.count && axis_of_step(&packed, pieces.items[i].step) == axis &&
               can_merge(&whole, &pieces.items[i])) {
            whole.size *= pieces.items[i].size;
            whole.step = pieces.items[i].step;
        }
        if (seen & 1U << axis || whole.size != base->dim[axis])
            return false;
        seen |= 1U << axis;
        order[count] = axis;
    }
    for (int axis = 0; axis < base->rank; axis++) {
        if (!(seen & 1U << axis))
            order[count++] = axis;
    }
    return true;
}
