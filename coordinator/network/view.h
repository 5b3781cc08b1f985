/*
 * A view is a way to look at a tensor (the base) without moving its elements: transposed, reshaped, broadcast, read
 * as another type, in any combination. Views compose: each step is applied to the view that is there, and what
 * cancels is gone (a transposition and its inverse leave the identity).
 *
 * Each axis of a view is a list of atoms, outermost first. An atom runs over `size` places in the base's row-major
 * numbering of elements, `step` apart; step 0 repeats one place. The form is canonical: no atom has size 1, and
 * neighbours in an axis that can be one atom are one. Two views of a base are the same if and only if they
 * are equal field by field. The base's strides do not matter to a view; view_shape() maps it to them.
 */
#ifndef COORDINATOR_NETWORK_VIEW_H
#define COORDINATOR_NETWORK_VIEW_H

#include "coordinator/network/shape.h"

struct view_atom {
    int64_t size, step;
};

struct view {
    enum element_type base_type; /* of the base's elements */
    enum element_type type;      /* as which they are read */
    int rank;
    int64_t dim[SHAPE_MAX_RANK];
    int atom_count;                         /* of all axes */
    int axis_atoms[SHAPE_MAX_RANK];         /* atoms of each axis */
    struct view_atom atoms[SHAPE_MAX_RANK]; /* axis after axis */
};

/* Sets the view that shows a base of this known shape as it is. */
void view_identity(struct view *view, const struct shape *base);
bool view_is_identity(const struct view *view, const struct shape *base);
bool view_equal(const struct view *a, const struct view *b);

/* The steps. Each returns false, and leaves *view as it is, if view and step together are no view of this kind (a
 * transposed tensor reshaped across the transposed axes, in some cases; a cast that would restore what an earlier
 * cast has rounded away). Elements must then be moved between the two. A step on the identity always succeeds. The
 * steps' own validity (a permutation; dimensions that can be broadcast; as many elements) is the caller's duty:
 * g_assert() checks it. */
bool view_transpose(struct view *view,
                    const int *permutation); /* axis i becomes what was axis permutation[i] */
bool view_reshape(struct view *view, int rank, const int64_t *dims);
/* Dimensions are aligned at the last axis; those that were 1 are repeated. */
bool view_broadcast(struct view *view, int rank, const int64_t *dims);
/* Casts from A to B to C are one cast from A to C if B holds all values of A (element_type_holds()). */
bool view_cast(struct view *view, enum element_type type);

/* The view's shape in the memory of a base with these strides. Its type is the view's type. Returns false if
 * an axis of the view has no single stride there: elements must be moved for whoever needs one. */
bool view_shape(const struct view *view, const struct shape *base, struct shape *shape);
/* The same with axes split until each has one stride: what a copy instruction reads, its elements in the order of the
 * view. Returns false if that takes more than SHAPE_MAX_RANK axes, or cuts across the base's axes: the base must
 * then be made packed first. A packed base never fails. */
bool view_refined_shape(const struct view *view, const struct shape *base, struct shape *shape);
/* True if the view repeats no element and leaves none out: it can be undone. */
bool view_is_bijective(const struct view *view, const struct shape *base);
/* Sets *order to the base's memory order (shape_set_ordered()) that makes this view packed. Returns false if
 * no order does. */
bool view_packing_order(const struct view *view, const struct shape *base,
                        int order[SHAPE_MAX_RANK]);

#endif
