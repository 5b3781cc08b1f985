#include "worker/eval/input_set.h"

#include <string.h>

#include "worker/protocol/frames.h"
#include "worker/verify/fingerprint.h"
#include "worker/verify/judge_cache.h"
#include "worker/verify/random.h"

/* Most threads of the host's reference; also at most half of the processors, since build
 * children use the others. */
#define REFERENCE_THREADS 16

static bool is_input(const struct input_means *means, int role)
{
    return role != (int)problem_output_role(means->problem) && tensor_exists(&means->tensors[role]);
}

/* ---- the host's side ---- */

/* A tensor's bytes as the device stores them. Gaps between elements hold the poison, padding of
 * blocked layouts is zero. */
static void *make_image(const struct tensor *tensor, const double *dense)
{
    gsize bytes = (gsize)tensor_bytes(tensor);
    void *image = g_malloc(bytes);

    memset(image, tensor->block > 1 ? 0 : guarded_poison_of(tensor->type), bytes);
    tensor_from_dense(tensor, dense, image);
    return image;
}

/* Makes an input's values as dense values; free with g_free(). Keeps their stored form in the set. */
static double *make_input(struct input_set *set, const struct input_means *means, int role)
{
    double *dense =
        random_dense(means->problem, &means->tensors[role], (enum tensor_role)role, set->seed);

    g_free(set->images[role]);
    set->images[role] = make_image(&means->tensors[role], dense);
    return dense;
}

/* All solvers of a problem have the same seed, so their results are compared with one reference, which the cache
 * keeps. */
static bool make_reference(struct input_set *set, const struct input_means *means,
                           const double *const *dense, double work_limit, GError **error)
{
    int threads = CLAMP((int)g_get_num_processors() / 2, 2, REFERENCE_THREADS);

    if (means->cache)
        set->reference = reference_cache_find(means->cache, means->problem, set->seed);
    if (set->reference)
        return true;
    set->reference = reference_compute(means->problem, dense, threads, work_limit, error);
    if (set->reference && means->cache)
        reference_cache_add(means->cache, means->problem, set->seed, set->reference);
    return set->reference != NULL;
}

bool input_set_by_host(struct input_set *set, const struct input_means *means, uint64_t seed,
                       double work_limit, struct device_memory *const memory[OPERAND_COUNT],
                       GError **error)
{
    double *dense[OPERAND_COUNT] = {NULL};

    *set = (struct input_set){.seed = seed};
    for (int t = 0; t < OPERAND_COUNT; t++) {
        if (!is_input(means, t))
            continue;
        dense[t] = make_input(set, means, t);
        set->prints[t] = fingerprint(set->images[t], tensor_bytes(&means->tensors[t]));
    }
    bool made = make_reference(set, means, (const double *const *)dense, work_limit, error) &&
                input_set_write(set, means, memory, error);
    for (int t = 0; t < OPERAND_COUNT; t++)
        g_free(dense[t]);
    if (!made)
        input_set_clear(set, means);
    return made;
}

/* ---- the device's judge ---- */

/* Makes the doubt of a judge that proved itself before a device fault: the device broke since
 * then, and the config is not to blame. */
static void blame_device(GError *why, GError **error)
{
    if (g_error_matches(why, WORKER_ERROR, WORKER_ERROR_DOUBT)) {
        why->domain = DEVICE_ERROR;
        why->code = DEVICE_ERROR_FAULT;
    }
    g_propagate_error(error, why);
}

bool input_set_refresh(struct input_set *set, struct device_memory *const memory[OPERAND_COUNT],
                       GError **error)
{
    g_autoptr(GError) why = NULL;

    if (!set->judge || judge_refresh(set->judge, memory, &why))
        return true;
    blame_device(g_steal_pointer(&why), error);
    return false;
}

static bool fetch_reference(struct input_set *set,
                            struct device_memory *const memory[OPERAND_COUNT], GError **error)
{
    if (!set->reference && input_set_refresh(set, memory, error))
        set->reference = judge_fetch(set->judge, error);
    return set->reference != NULL;
}

/* The fingerprints of the inputs that the judge wrote. */
static bool print_inputs(struct input_set *set, const struct input_means *means,
                         struct device_memory *const memory[OPERAND_COUNT], GError **error)
{
    for (int t = 0; t < OPERAND_COUNT; t++) {
        int64_t bytes = tensor_bytes(&means->tensors[t]);
        const struct judge_pieces all = {memory[t], 0, bytes, bytes, 1};
        if (is_input(means, t) && !judge_fingerprints(set->judge, &all, &set->prints[t], error))
            return false;
    }
    return true;
}

/* A judge that finds no memory gets that of the judges kept for other problems. */
static struct judge *make_judge(const struct input_means *means, uint64_t seed,
                                struct device_memory *const memory[OPERAND_COUNT], GError **error)
{
    g_autoptr(GError) why = NULL;
    struct judge *judge =
        judge_new(means->device, means->judge, means->problem, means->tensors, seed, memory, &why);

    if (g_error_matches(why, DEVICE_ERROR, DEVICE_ERROR_MEMORY) && means->judges &&
        judge_cache_clear(means->judges))
        return judge_new(means->device, means->judge, means->problem, means->tensors, seed, memory,
                         error);
    if (why)
        g_propagate_error(error, g_steal_pointer(&why));
    return judge;
}

bool input_set_by_device(struct input_set *set, const struct input_means *means, uint64_t seed,
                         struct device_memory *const memory[OPERAND_COUNT], GError **error)
{
    bool made;

    *set = (struct input_set){.seed = seed};
    if (means->judges)
        set->judge =
            judge_cache_take(means->judges, means->judge, means->problem, means->tensors, seed);
    made = set->judge && judge_resume(set->judge, memory, error);
    if (!set->judge) {
        set->judge = make_judge(means, seed, memory, error);
        made = set->judge != NULL;
    }
    if (made && print_inputs(set, means, memory, error))
        return true;
    /* A judge that failed a proof is not kept. */
    g_clear_pointer(&set->judge, judge_free);
    return false;
}

bool input_set_leave_device(struct input_set *set, const struct input_means *means,
                            struct device_memory *const memory[OPERAND_COUNT], GError **error)
{
    if (!fetch_reference(set, memory, error))
        return false;
    for (int t = 0; t < OPERAND_COUNT; t++) {
        if (is_input(means, t))
            g_free(make_input(set, means, t));
    }
    g_clear_pointer(&set->judge, judge_free);
    return true;
}

void input_set_clear(struct input_set *set, const struct input_means *means)
{
    for (int t = 0; t < OPERAND_COUNT; t++)
        g_clear_pointer(&set->images[t], g_free);
    if (set->judge && means->judges)
        judge_cache_give(means->judges, g_steal_pointer(&set->judge));
    g_clear_pointer(&set->judge, judge_free);
    g_clear_pointer(&set->reference, reference_unref);
}

/* ---- inputs ---- */

bool input_set_write(struct input_set *set, const struct input_means *means,
                     struct device_memory *const memory[OPERAND_COUNT], GError **error)
{
    for (int t = 0; t < OPERAND_COUNT; t++) {
        bool written = true;
        if (!is_input(means, t))
            continue;
        if (set->judge)
            written = judge_write_input(set->judge, (enum tensor_role)t, memory[t], error);
        else
            written = means->device->row->write(memory[t], 0, set->images[t],
                                                tensor_bytes(&means->tensors[t]), error);
        if (!written)
            return false;
    }
    return true;
}

/* The fingerprints of copies, by the host. */
static bool print_by_host(const struct guarded *guarded, int first, int count, int step,
                          uint64_t *prints, GError **error)
{
    struct guarded_view view;
    bool done = guarded_view_open(&view, guarded, guarded->bytes, error);

    for (int i = 0; i < count && done; i++) {
        const void *copy = guarded_view_at(&view, guarded_offset(guarded, first + i * step), error);
        done = copy != NULL;
        prints[i] = done ? fingerprint(copy, guarded->bytes) : 0;
    }
    guarded_view_close(&view);
    return done;
}

static bool print_pieces(struct input_set *set, const struct judge_pieces *pieces, uint64_t *prints,
                         GError **error)
{
    g_autoptr(GError) why = NULL;

    if (judge_fingerprints(set->judge, pieces, prints, &why))
        return true;
    blame_device(g_steal_pointer(&why), error);
    return false;
}

bool input_set_find_damaged(struct input_set *set, const struct guarded *guarded, int first,
                            int count, bool *damaged, GError **error)
{
    int64_t bytes = guarded_tail_bytes(guarded);
    const struct judge_pieces zones = {guarded->whole, guarded_tail_offset(guarded, first),
                                       guarded->step, bytes, count};

    if (!set->judge)
        return guarded_find_damaged(guarded, first, count, damaged, error);
    g_autofree uint64_t *prints = g_new(uint64_t, count);
    g_autofree uint8_t *poison = g_malloc((gsize)bytes);
    memset(poison, guarded->poison, (size_t)bytes);
    uint64_t right = fingerprint(poison, bytes);
    if (!print_pieces(set, &zones, prints, error))
        return false;
    for (int i = 0; i < count; i++)
        damaged[i] = prints[i] != right;
    return true;
}

bool input_set_fingerprints(struct input_set *set, const struct guarded *guarded, int first,
                            int count, int step, uint64_t *prints, GError **error)
{
    const struct judge_pieces pieces = {guarded->whole, guarded_offset(guarded, first),
                                        step * guarded->step, guarded->bytes, count};

    if (set->judge)
        return print_pieces(set, &pieces, prints, error);
    return print_by_host(guarded, first, count, step, prints, error);
}

bool input_set_find_change(struct input_set *set, const struct input_means *means, int role,
                           const struct guarded *guarded, int copy, int64_t *offset, GError **error)
{
    g_autofree uint8_t *now = g_malloc((gsize)guarded->bytes);
    g_autofree double *dense =
        random_dense(means->problem, &means->tensors[role], (enum tensor_role)role, set->seed);
    g_autofree uint8_t *right = make_image(&means->tensors[role], dense);

    *offset = -1;
    if (!means->device->row->read(guarded->parts[copy], 0, now, guarded->bytes, error))
        return false;
    for (int64_t i = 0; i < guarded->bytes && *offset < 0; i++) {
        if (now[i] != right[i])
            *offset = i;
    }
    return true;
}

/* ---- outputs ---- */

/* Compares on the device. *settled becomes true if the device found every element right and the gaps between them
 * untouched; otherwise the host compares. */
static bool judge_by_device(struct input_set *set, const struct input_means *means,
                            struct device_memory *output, const struct tolerance *tolerance,
                            struct verdict *verdict, bool *settled, GError **error)
{
    const struct tensor *tensor = &means->tensors[problem_output_role(means->problem)];
    g_autoptr(GError) why = NULL;
    struct judged judged;

    *settled = false;
    if (!set->judge)
        return true;
    if (!judge_compare(set->judge, output, tolerance, &judged, &why) ||
        !judge_finds_gaps_whole(set->judge, output, guarded_poison_of(tensor->type), settled,
                                &why)) {
        blame_device(g_steal_pointer(&why), error);
        return false;
    }
    *settled = *settled && judged.wrong == 0;
    *verdict = (struct verdict){.error = judged.error};
    return true;
}

static bool judge_by_host(struct input_set *set, const struct input_means *means,
                          struct device_memory *const memory[OPERAND_COUNT],
                          const struct tolerance *tolerance, struct verdict *verdict,
                          GError **error)
{
    enum tensor_role out = problem_output_role(means->problem);
    const struct tensor *tensor = &means->tensors[out];
    int64_t bytes = tensor_bytes(tensor);
    uint8_t poison = guarded_poison_of(tensor->type);
    g_autofree void *data = g_malloc((gsize)bytes);

    if (!fetch_reference(set, memory, error) ||
        !means->device->row->read(memory[out], 0, data, bytes, error))
        return false;
    verify_holes(tensor, data, poison, verdict);
    if (verdict->failure == FAILURE_NONE)
        verify_output(tensor, data, poison, set->reference, tolerance, verdict);
    /* The device found the output wrong, and the host found it right: so the device's reference
     * is damaged, and is computed again. */
    return !set->judge || verdict->failure != FAILURE_NONE || input_set_refresh(set, memory, error);
}

bool input_set_judge(struct input_set *set, const struct input_means *means,
                     struct device_memory *const memory[OPERAND_COUNT],
                     const struct solution_rounding *rounding, struct verdict *verdict,
                     GError **error)
{
    struct tolerance tolerance;
    bool settled;

    tolerance_init(&tolerance, means->problem, rounding,
                   set->judge ? judge_length(set->judge) : set->reference->length);
    if (random_kind(set->seed) == INPUT_WHOLE && random_whole_is_exact(means->problem))
        tolerance_for_whole(&tolerance);
    if (!judge_by_device(set, means, memory[problem_output_role(means->problem)], &tolerance,
                         verdict, &settled, error))
        return false;
    return settled || judge_by_host(set, means, memory, &tolerance, verdict, error);
}
