#include "coordinator/network/view.h"
#include "tests/support/test_effort.h"

#include <string.h>

static struct shape packed(int rank, const int64_t *dims)
{
    struct shape shape;
    g_assert_true(shape_set_packed(&shape, ELEMENT_FLOAT32, rank, dims, NULL));
    return shape;
}

#define PACKED(...)                                                                                \
    packed((int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (int64_t[]){__VA_ARGS__})
#define RESHAPE(view, ...)                                                                         \
    view_reshape(view, (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)),                  \
                 (int64_t[]){__VA_ARGS__})

static void test_a_transposition_and_its_inverse_cancel(void)
{
    struct shape base = PACKED(2, 3, 5, 7);
    struct view view;
    view_identity(&view, &base);
    g_assert_true(view_transpose(&view, (int[]){0, 2, 3, 1}));
    g_assert_false(view_is_identity(&view, &base));
    g_assert_true(view_transpose(&view, (int[]){0, 3, 1, 2}));
    g_assert_true(view_is_identity(&view, &base));
}

static void test_a_reshape_and_the_way_back_cancel(void)
{
    struct shape base = PACKED(4, 6);
    struct view view;
    view_identity(&view, &base);
    g_assert_true(RESHAPE(&view, 3, 8));
    g_assert_true(RESHAPE(&view, 2, 2, 1, 6));
    g_assert_true(RESHAPE(&view, 4, 6));
    g_assert_true(view_is_identity(&view, &base));
}

static void test_shuffled_channels_go_back(void)
{
    struct shape base = PACKED(2, 6, 4);
    struct view view;
    view_identity(&view, &base);
    g_assert_true(RESHAPE(&view, 2, 2, 3, 4));
    g_assert_true(view_transpose(&view, (int[]){0, 2, 1, 3}));
    g_assert_true(RESHAPE(&view, 2, 6, 4)); /* the channel axis has two atoms now */
    struct shape seen, refined;
    g_assert_false(view_shape(&view, &base, &seen));
    g_assert_true(view_refined_shape(&view, &base, &refined));
    g_assert_cmpint(refined.rank, ==, 4);
    g_assert_true(RESHAPE(&view, 2, 3, 2, 4));
    g_assert_true(view_transpose(&view, (int[]){0, 2, 1, 3}));
    g_assert_true(RESHAPE(&view, 2, 6, 4));
    g_assert_true(view_is_identity(&view, &base));
}

static void test_what_has_no_common_grid_does_not_compose(void)
{
    struct shape base = PACKED(2, 3);
    struct view view, before;
    view_identity(&view, &base);
    g_assert_true(view_transpose(&view, (int[]){1, 0}));
    before = view;
    g_assert_true(RESHAPE(&view, 6));
    g_assert_false(RESHAPE(&view, 2, 3)); /* 3x2 transposed, cut into rows of 3 */
    g_assert_true(RESHAPE(&view, 3, 2));
    g_assert_true(view_equal(&view, &before));
}

static void test_casts_compose_where_nothing_is_rounded(void)
{
    struct shape base = PACKED(4);
    struct view view;
    base.type = ELEMENT_FLOAT16;
    view_identity(&view, &base);
    g_assert_true(view_cast(&view, ELEMENT_FLOAT32));
    g_assert_true(view_cast(&view, ELEMENT_FLOAT16));
    g_assert_true(view_is_identity(&view, &base));
    base.type = ELEMENT_FLOAT32;
    view_identity(&view, &base);
    g_assert_true(view_cast(&view, ELEMENT_FLOAT16));
    g_assert_false(view_cast(&view, ELEMENT_FLOAT32));
    g_assert_true(view_cast(&view, ELEMENT_FLOAT16));
    g_assert_cmpint(view.type, ==, ELEMENT_FLOAT16);
}

static void test_a_broadcast_axis_has_no_stride(void)
{
    struct shape base = PACKED(3, 1), seen;
    struct view view;
    view_identity(&view, &base);
    g_assert_true(view_broadcast(&view, 3, (int64_t[]){2, 3, 4}));
    g_assert_true(view_shape(&view, &base, &seen));
    g_assert_cmpint(seen.stride[0], ==, 0);
    g_assert_cmpint(seen.stride[1], ==, 1);
    g_assert_cmpint(seen.stride[2], ==, 0);
    g_assert_false(view_is_bijective(&view, &base));
    int order[SHAPE_MAX_RANK];
    g_assert_false(view_packing_order(&view, &base, order));
}

static void test_strides_follow_the_memory_of_the_base(void)
{
    struct shape base, seen;
    struct view view;
    g_assert_true(shape_set_ordered(&base, ELEMENT_FLOAT32, 4, (int64_t[]){2, 3, 5, 7},
                                    (int[]){0, 2, 3, 1}, NULL));
    view_identity(&view, &base);
    g_assert_true(view_transpose(&view, (int[]){0, 2, 3, 1}));
    g_assert_true(view_shape(&view, &base, &seen));
    g_assert_true(shape_is_packed(&seen)); /* NHWC memory seen as NHWC */
    view_identity(&view, &base);
    g_assert_true(RESHAPE(&view, 2, 3, 35)); /* H and W are one run of memory */
    g_assert_true(view_shape(&view, &base, &seen));
    g_assert_cmpint(seen.stride[2], ==, 3);
    view_identity(&view, &base);
    g_assert_true(RESHAPE(&view, 2, 105)); /* C, H and W are not */
    g_assert_false(view_shape(&view, &base, &seen));
}

static void test_a_base_can_be_stored_so_that_a_view_is_packed(void)
{
    struct shape base = PACKED(2, 3, 5, 7), stored, seen;
    struct view view;
    int order[SHAPE_MAX_RANK];
    view_identity(&view, &base);
    g_assert_true(view_transpose(&view, (int[]){0, 2, 3, 1}));
    g_assert_true(RESHAPE(&view, 2, 35, 3));
    g_assert_true(view_packing_order(&view, &base, order));
    g_assert_cmpint(memcmp(order, (int[]){0, 2, 3, 1}, 4 * sizeof(int)), ==, 0);
    shape_set_ordered(&stored, base.type, 4, base.dim, order, NULL);
    g_assert_true(view_shape(&view, &stored, &seen));
    g_assert_true(shape_is_packed(&seen));
    /* Channels in blocks are no order of axes. */
    base = PACKED(2, 8, 5);
    view_identity(&view, &base);
    g_assert_true(RESHAPE(&view, 2, 2, 4, 5));
    g_assert_true(view_transpose(&view, (int[]){0, 1, 3, 2}));
    g_assert_false(view_packing_order(&view, &base, order));
}

static void test_empty_tensors_have_views(void)
{
    struct shape base = PACKED(0, 4), seen;
    struct view view;
    view_identity(&view, &base);
    g_assert_true(view_transpose(&view, (int[]){1, 0}));
    g_assert_false(view_is_identity(&view, &base));
    g_assert_true(RESHAPE(&view, 0, 7, 3));
    g_assert_true(view_shape(&view, &base, &seen));
    g_assert_cmpint(shape_elements(&seen), ==, 0);
    g_assert_true(RESHAPE(&view, 0, 4));
    g_assert_true(view_is_identity(&view, &base));
}

/* ---- any sequence of steps, against lists of places ---- */

#define PLACES 4096

struct model {
    int rank;
    int64_t dims[SHAPE_MAX_RANK];
    int64_t count;
    int64_t place[PLACES]; /* in the base, for each element of the view */
};

static void split_index(int64_t index, int rank, const int64_t *dims, int64_t *at)
{
    for (int axis = rank - 1; axis >= 0; axis--) {
        at[axis] = index % dims[axis];
        index /= dims[axis];
    }
}

static void model_transpose(struct model *model, const int *permutation)
{
    struct model old = *model;
    for (int i = 0; i < old.rank; i++)
        model->dims[i] = old.dims[permutation[i]];
    for (int64_t i = 0; i < old.count; i++) {
        int64_t at[SHAPE_MAX_RANK], from[SHAPE_MAX_RANK], index = 0;
        split_index(i, model->rank, model->dims, at);
        for (int axis = 0; axis < model->rank; axis++)
            from[permutation[axis]] = at[axis];
        for (int axis = 0; axis < model->rank; axis++)
            index = index * old.dims[axis] + from[axis];
        model->place[i] = old.place[index];
    }
}

static void model_broadcast(struct model *model, int rank, const int64_t *dims)
{
    struct model old = *model;
    model->rank = rank;
    model->count = 1;
    for (int i = 0; i < rank; i++)
        model->count *= model->dims[i] = dims[i];
    for (int64_t i = 0; i < model->count; i++) {
        int64_t at[SHAPE_MAX_RANK], index = 0;
        split_index(i, rank, dims, at);
        for (int axis = 0; axis < old.rank; axis++)
            index = index * old.dims[axis] + (old.dims[axis] == 1 ? 0 : at[axis + rank - old.rank]);
        model->place[i] = old.place[index];
    }
}

/* Random dimensions with this product. */
static int random_dims(GRand *rand, int64_t product, int64_t *dims)
{
    int rank = 0;
    while (product > 1 && rank < SHAPE_MAX_RANK - 1) {
        int64_t factor = g_rand_int_range(rand, 1, 7);
        if (product % factor)
            factor = g_rand_boolean(rand) ? 1 : product;
        dims[rank++] = factor;
        product /= factor;
    }
    dims[rank++] = product;
    return rank;
}

static void random_permutation(GRand *rand, int rank, int *permutation)
{
    for (int i = 0; i < rank; i++) {
        int at = g_rand_int_range(rand, 0, i + 1);
        permutation[i] = permutation[at];
        permutation[at] = i;
    }
}

/* Returns false if the view does not compose with the step. */
static bool random_step(GRand *rand, struct view *view, struct model *model)
{
    int64_t dims[SHAPE_MAX_RANK + 1];
    int permutation[SHAPE_MAX_RANK];
    switch (g_rand_int_range(rand, 0, 5)) {
    case 0:
    case 1:
        random_permutation(rand, model->rank, permutation);
        model_transpose(model, permutation);
        return view_transpose(view, permutation);
    case 2: {
        int rank = MIN(model->rank + g_rand_int_range(rand, 0, 2), SHAPE_MAX_RANK);
        for (int i = 0, added = rank - model->rank; i < rank; i++) {
            dims[i] = i < added ? 1 : model->dims[i - added];
            if (dims[i] == 1 && model->count < PLACES / 9)
                dims[i] = g_rand_int_range(rand, 1, 3);
        }
        if (!view_broadcast(view, rank, dims))
            return false;
        model_broadcast(model, rank, dims);
        return true;
    }
    default: {
        int rank = random_dims(rand, model->count, dims);
        if (!view_reshape(view, rank, dims))
            return false;
        model->rank = rank;
        memcpy(model->dims, dims, (gsize)rank * sizeof(*dims));
        return true;
    }
    }
}

/* The place in the base's memory of element `index` of a shape. */
static int64_t place_of(const struct shape *shape, int64_t index)
{
    int64_t at[SHAPE_MAX_RANK], place = 0;
    split_index(index, shape->rank, shape->dim, at);
    for (int axis = 0; axis < shape->rank; axis++)
        place += at[axis] * shape->stride[axis];
    return place;
}

static void check_places(const struct view *view, const struct shape *base,
                         const struct model *model)
{
    struct shape logical = packed(base->rank, base->dim), seen, refined;
    bool has_strides = view_shape(view, base, &seen);
    bool is_refined = view_refined_shape(view, base, &refined);
    g_assert_true(is_refined || !has_strides);
    g_assert_true(is_refined || !shape_is_packed(base));
    for (int64_t i = 0; i < model->count; i++) {
        int64_t at[SHAPE_MAX_RANK];
        split_index(model->place[i], base->rank, base->dim, at);
        int64_t wanted = 0;
        for (int axis = 0; axis < base->rank; axis++)
            wanted += at[axis] * base->stride[axis];
        if (has_strides)
            g_assert_cmpint(place_of(&seen, i), ==, wanted);
        if (is_refined)
            g_assert_cmpint(place_of(&refined, i), ==, wanted);
    }
    int order[SHAPE_MAX_RANK];
    struct shape stored;
    if (view_packing_order(view, &logical, order)) {
        g_assert_true(shape_set_ordered(&stored, base->type, base->rank, base->dim, order, NULL));
        g_assert_true(view_shape(view, &stored, &seen));
        g_assert_true(shape_is_packed(&seen));
    }
}

static void test_any_steps_show_the_right_places(void)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(test_seed());
    g_test_message("seed %u", test_seed());
    struct model *model = g_new(struct model, 1);
    int composed = 0;
    for (int round = 0; round < test_effort(5000); round++) {
        struct view view;
        struct shape base;
        int64_t dims[SHAPE_MAX_RANK];
        int order[SHAPE_MAX_RANK];
        int64_t sizes[] = {24, 36, 60, 30, 16, 1, 7};
        int rank = random_dims(rand, sizes[g_rand_int_range(rand, 0, 7)], dims);
        random_permutation(rand, rank, order);
        g_assert_true(shape_set_ordered(&base, ELEMENT_FLOAT32, rank, dims, order, NULL));
        view_identity(&view, &base);
        *model = (struct model){.rank = rank, .count = shape_elements(&base)};
        memcpy(model->dims, dims, (gsize)rank * sizeof(*dims));
        for (int64_t i = 0; i < model->count; i++)
            model->place[i] = i;
        for (int step = 0; step < 6 && random_step(rand, &view, model); step++, composed++)
            check_places(&view, &base, model);
    }
    g_assert_cmpint(composed, >, test_effort(10000));
    g_free(model);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/view/a_transposition_and_its_inverse_cancel",
                    test_a_transposition_and_its_inverse_cancel);
    g_test_add_func("/view/a_reshape_and_the_way_back_cancel",
                    test_a_reshape_and_the_way_back_cancel);
    g_test_add_func("/view/shuffled_channels_go_back", test_shuffled_channels_go_back);
    g_test_add_func("/view/what_has_no_common_grid_does_not_compose",
                    test_what_has_no_common_grid_does_not_compose);
    g_test_add_func("/view/casts_compose_where_nothing_is_rounded",
                    test_casts_compose_where_nothing_is_rounded);
    g_test_add_func("/view/a_broadcast_axis_has_no_stride", test_a_broadcast_axis_has_no_stride);
    g_test_add_func("/view/strides_follow_the_memory_of_the_base",
                    test_strides_follow_the_memory_of_the_base);
    g_test_add_func("/view/a_base_can_be_stored_so_that_a_view_is_packed",
                    test_a_base_can_be_stored_so_that_a_view_is_packed);
    g_test_add_func("/view/empty_tensors_have_views", test_empty_tensors_have_views);
    g_test_add_func("/view/any_steps_show_the_right_places", test_any_steps_show_the_right_places);
    return g_test_run();
}
