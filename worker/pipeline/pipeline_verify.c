#include "worker/pipeline/pipeline_verify.h"

#include <stdatomic.h>
#include <string.h>

#include "worker/verify/guarded.h"
#include "worker/verify/parallel.h"

/* Multiply-accumulates of a step that are computed on the host, in all views. */
#define WORK_LIMIT 5e7

/* A step is compared for some of its images if their elements are more than this. */
#define WHOLE_ELEMENTS 4e6
#define IMAGES_MAX     4

/* Bytes that one thread searches at a time, a multiple of every element's size. */
#define SEARCH_PIECE (1 << 20)

/* The part of a step that one comparison looks at: the whole step, or one image of its batch as a step of its own. */
struct view {
    struct problem problem;
    int64_t image;                /* its first image */
    double *dense[OPERAND_COUNT]; /* those that have no images belong to the first view */
};

static bool has_images(enum tensor_role role)
{
    return role == TENSOR_X || role == TENSOR_Y || role == TENSOR_RESIDUAL;
}

/* The operand as the view has it, and the byte at which it begins. */
static struct tensor tensor_of(const struct verifiable *step, const struct view *view,
                               enum tensor_role role, int64_t *offset)
{
    struct tensor tensor = step->tensors[role];
    *offset = 0;
    if (has_images(role) && view->problem.n < step->problem->n) {
        *offset = view->image * tensor.stride[0] * data_type_bytes(tensor.type);
        tensor.extent[0] = 1;
    }
    return tensor;
}

static void clear_views(struct view *views, int count)
{
    for (int i = 0; i < count; i++) {
        for (int role = 0; role < OPERAND_COUNT; role++) {
            if (i == 0 || has_images((enum tensor_role)role))
                g_free(views[i].dense[role]);
        }
    }
}

static void take_image(const struct problem *whole, int64_t image, struct view *view)
{
    *view = (struct view){.problem = *whole, .image = image};
    view->problem.n = 1;
    for (int role = 0; role < STRIDED_COUNT; role++) {
        int64_t strides[TENSOR_AXES];
        if (!has_images((enum tensor_role)role) ||
            !problem_has_operand(whole, (enum tensor_role)role))
            continue;
        problem_strides(whole, (enum tensor_role)role, strides);
        strides[0] = 0;
        problem_set_strides(&view->problem, (enum tensor_role)role, strides);
    }
}

/* Images of a batch are computed alike. A step is wrong in its place because it met another step's memory, which shows in
 * the first image, the last or in between. The rows of a matrix product, which are images of one pixel, are compared in
 * full. Returns the number of views. */
static int choose_views(const struct verifiable *step, enum tensor_role out,
                        struct view views[IMAGES_MAX])
{
    const struct problem *p = step->problem;
    const int64_t *extent = step->tensors[out].extent;
    double elements = 0;

    for (int role = 0; role < OPERAND_COUNT; role++) {
        if (has_images((enum tensor_role)role) && problem_has_operand(p, (enum tensor_role)role))
            elements += (double)tensor_count(&step->tensors[role]);
    }
    if (elements <= WHOLE_ELEMENTS || p->direction != DIRECTION_F || p->n <= IMAGES_MAX ||
        extent[2] * extent[3] * extent[4] == 1) {
        views[0] = (struct view){.problem = *p};
        return 1;
    }
    for (int i = 0; i < IMAGES_MAX; i++)
        take_image(p, i * (p->n - 1) / (IMAGES_MAX - 1), &views[i]);
    return IMAGES_MAX;
}

static bool read_operands(const struct verifiable *step, enum tensor_role out,
                          const struct view *first, struct view *view, GError **error)
{
    for (int role = 0; role < OPERAND_COUNT; role++) {
        if (role == (int)out || !problem_has_operand(step->problem, (enum tensor_role)role))
            continue;
        if (view != first && !has_images((enum tensor_role)role)) {
            view->dense[role] = first->dense[role];
            continue;
        }
        int64_t offset;
        struct tensor tensor = tensor_of(step, view, (enum tensor_role)role, &offset);
        int64_t bytes = tensor_bytes(&tensor);
        g_autofree char *image = g_malloc((gsize)bytes);
        if (!step->device->row->read(step->memory[role], offset, image, bytes, error))
            return false;
        view->dense[role] = g_new(double, (gsize)tensor_count(&tensor));
        tensor_to_dense(&tensor, image, view->dense[role]);
    }
    return true;
}

static bool compare(const struct verifiable *step, enum tensor_role out, const struct view *view,
                    uint8_t poison, double work_limit, struct verdict *verdict, GError **error)
{
    int64_t offset;
    struct tensor tensor = tensor_of(step, view, out, &offset);
    struct tolerance tolerance;
    struct verdict found = {0};
    int64_t bytes = tensor_bytes(&tensor);
    g_autofree char *image = g_malloc((gsize)bytes);
    if (!step->device->row->read(step->memory[out], offset, image, bytes, error))
        return false;
    struct reference *reference =
        reference_compute(&view->problem, (const double *const *)view->dense,
                          (int)g_get_num_processors(), work_limit, error);
    if (!reference)
        return false;
    tolerance_init(&tolerance, &view->problem, step->rounding, reference->length);
    tolerance_for_real(&tolerance, reference->length);
    verify_output(&tensor, image, poison, reference, &tolerance, &found);
    reference_unref(reference);
    if (view->problem.n < step->problem->n && found.failure) {
        g_autofree char *detail =
            g_strdup_printf("image %" G_GINT64_FORMAT ": %s", view->image, found.detail);
        g_strlcpy(found.detail, detail, sizeof(found.detail));
    }
    if ((found.failure && !verdict->failure) || (!verdict->failure && found.error > verdict->error))
        *verdict = found;
    return true;
}

/* A search for the first element of which all bits are set. */
struct search {
    const uint8_t *data;
    int64_t bytes, size; /* of all elements, of one */
    uint64_t low, high;  /* the lowest and the highest bit of each element in a word */
    atomic_llong first;  /* the least byte so far at which one begins */
};

static void search_piece(void *data, int64_t piece)
{
    struct search *s = data;
    int64_t at = piece * SEARCH_PIECE, end = MIN(at + SEARCH_PIECE, s->bytes);
    static const uint8_t unwritten[8] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

    /* Whole words without such an element: an element of the inverted word that is 0 borrows from its highest bit. */
    for (; at + 8 <= end; at += 8) {
        uint64_t word;
        memcpy(&word, s->data + at, sizeof(word));
        if (((~word - s->low) & word & s->high) != 0)
            break;
    }
    while (at < end && memcmp(s->data + at, unwritten, (size_t)s->size) != 0)
        at += s->size;
    long long first = atomic_load(&s->first);
    while (at < end && at < first && !atomic_compare_exchange_weak(&s->first, &first, at)) {
    }
}

/* The first element of which all bits are set; -1: there is none. size: bytes of an element, a power of two. */
static int64_t find_all_set(const uint8_t *data, int64_t bytes, int64_t size)
{
    uint64_t low = size == 8 ? 1 : UINT64_MAX / ((UINT64_C(1) << (8 * size)) - 1);
    struct search search = {data, bytes, size, low, low << (8 * size - 1), INT64_MAX};

    parallel_parts(parallel_threads(), (bytes + SEARCH_PIECE - 1) / SEARCH_PIECE, search_piece,
                   &search);
    return search.first == INT64_MAX ? -1 : search.first / size;
}

/* Looks for elements that still hold the poison, of which all bits are set, in all images. As a floating type of two bytes
 * or more it is no number, which no right result is. */
static bool find_unwritten(const struct verifiable *step, enum tensor_role out,
                           struct verdict *verdict, GError **error)
{
    const struct tensor *tensor = &step->tensors[out];
    int64_t bytes = tensor_bytes(tensor);
    g_autofree uint8_t *data = g_malloc((gsize)bytes);

    if (!step->device->row->read(step->memory[out], 0, data, bytes, error))
        return false;
    int64_t first = find_all_set(data, bytes, data_type_bytes(tensor->type));
    if (first >= 0) {
        verdict->failure = FAILURE_WRONG_RESULT;
        g_snprintf(verdict->detail, sizeof(verdict->detail),
                   "the element at place %" G_GINT64_FORMAT " was not written", first);
    }
    return true;
}

bool pipeline_verify_step(const struct verifiable *step, struct verdict *verdict, GError **error)
{
    enum tensor_role out = problem_output_role(step->problem);
    const struct device_row *row = step->device->row;
    uint8_t poison = guarded_poison_of(step->problem->type[out]);
    bool poisons = !step->is_in_place && tensor_is_packed(&step->tensors[out]);
    struct view views[IMAGES_MAX];
    int count = choose_views(step, out, views);
    bool done = true;

    *verdict = (struct verdict){0};
    for (int i = 0; i < count && done; i++)
        done = read_operands(step, out, &views[0], &views[i], error);
    done = done &&
           (!poisons ||
            row->fill(step->memory[out], 0, tensor_bytes(&step->tensors[out]), poison, error)) &&
           step->launch(step->data, error) && row->sync(step->device, error);
    for (int i = 0; i < count && done; i++)
        done = compare(step, out, &views[i], poison, WORK_LIMIT / count, verdict, error);
    if (done && count > 1 && poisons && poison == 0xff && step->tensors[out].block == 1 &&
        data_type_bytes(step->tensors[out].type) > 1 && !verdict->failure)
        done = find_unwritten(step, out, verdict, error);
    clear_views(views, count);
    return done;
}
