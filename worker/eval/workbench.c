/*
 * One verified run, and what each step protects against:
 *   1. Write the inputs of copy 0: an earlier kernel may have written into its inputs.
 *   2. For a solution that packs the filter: poison the packed filter and the workspace, and pack.
 *   3. Poison output and workspace: elements that a kernel does not write are then wrong, and a kernel cannot use
 *      what an earlier one left in the workspace. Run once on copy 0, and wait. A solution that packs does this step
 *      twice: it must leave the packed filter as it is.
 *   4. Look at the guard zones, and repair them. After a stray write all references are computed again.
 *   5. Compare: the judge on the device, and the host if there is no judge or the judge finds an element wrong.
 *
 * The device's memory is shared by tensors, workspace, this problem's judge, and judges kept for other problems. An
 * allocation that fails frees them in the order of their worth: judges kept, then this problem's own. Tensors are
 * never freed for a workspace.
 */
#include "worker/eval/workbench.h"

#include <math.h>
#include <string.h>

#include "worker/protocol/frames.h"
#include "worker/verify/random.h"

#define COPIES_MAX        1024
#define ROTATION_SHARE    8 /* Copies of the tensors may take 1/8 of the device's memory. */
#define ROTATION_BYTES    (1ll << 30) /* and at most this many bytes */
/* Context and code of a process take at most 1/8 of the device's memory. */
#define DRIVER_SHARE      8
/* Most multiply-accumulates for which the host computes the whole reference: about 3 s of two
 * cores. The reference of a larger problem is computed in part. */
#define REFERENCE_MACS    8e9
/* Most threads of the host's reference; also at most half of the processors, since build
 * children use the others. */
#define REFERENCE_THREADS 16

static const char *const role_names[OPERAND_COUNT] = {
    [TENSOR_X] = "x",
    [TENSOR_W] = "w",
    [TENSOR_Y] = "y",
    [TENSOR_RESIDUAL] = "the residual",
    [TENSOR_BIAS] = "the bias",
    [TENSOR_SCALES] = "the scales",
    [TENSOR_PACKED] = "the packed filter",
};

/* Whether the problem has the operand, and the operand is an input. */
static bool is_input(const struct workbench *bench, int role)
{
    return role != (int)bench->out && tensor_exists(&bench->tensors[role]);
}

/* ---- tensors in the host's memory ---- */

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

static bool make_reference(struct workbench *bench, const double *const *dense,
                           struct reference_cache *cache, GError **error)
{
    const struct problem *p = &bench->problem;

    /* All solvers of a problem have the same seed, so their results are compared with one
     * reference, which the cache keeps. */
    if (cache)
        bench->reference = reference_cache_find(cache, p, bench->seed);
    if (bench->reference)
        return true;
    int threads = CLAMP((int)g_get_num_processors() / 2, 2, REFERENCE_THREADS);
    bench->reference = reference_compute(p, dense, threads, REFERENCE_MACS, error);
    if (bench->reference && cache)
        reference_cache_add(cache, p, bench->seed, bench->reference);
    return bench->reference != NULL;
}

/* Makes an input's random values. Keeps their stored form in bench->images, and returns them as
 * dense values; free with g_free(). */
static double *make_input(struct workbench *bench, int role)
{
    double *dense =
        random_dense(&bench->problem, &bench->tensors[role], (enum tensor_role)role, bench->seed);

    bench->images[role] = make_image(&bench->tensors[role], dense);
    return dense;
}

static bool make_host_side(struct workbench *bench, struct reference_cache *cache, GError **error)
{
    double *dense[OPERAND_COUNT] = {NULL};

    for (int t = 0; t < OPERAND_COUNT; t++) {
        if (is_input(bench, t))
            dense[t] = make_input(bench, t);
    }
    bool made = make_reference(bench, (const double *const *)dense, cache, error);
    for (int t = 0; t < OPERAND_COUNT; t++)
        g_free(dense[t]);
    return made;
}

/* ---- the device's judge ---- */

/* The operands' memory for a run. */
static void parts_of(const struct workbench *bench, int64_t run,
                     struct device_memory *memory[OPERAND_COUNT])
{
    for (int t = 0; t < OPERAND_COUNT; t++) {
        const struct guarded *guarded = &bench->memory[t];
        memory[t] = guarded->whole ? guarded->parts[run % guarded->copies] : NULL;
    }
}

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

/* Computes the device's inputs and reference again, since a kernel may have written into them. */
static bool refresh_judge(struct workbench *bench, GError **error)
{
    struct device_memory *memory[OPERAND_COUNT];
    g_autoptr(GError) why = NULL;

    parts_of(bench, 0, memory);
    if (judge_refresh(bench->judge, memory, &why))
        return true;
    blame_device(g_steal_pointer(&why), error);
    return false;
}

static bool fetch_reference(struct workbench *bench, GError **error)
{
    if (!bench->reference && refresh_judge(bench, error))
        bench->reference = judge_fetch(bench->judge, error);
    return bench->reference != NULL;
}

/* Frees the judge to get its memory. From now on the host verifies, with the reference that the
 * judge computed. */
static bool give_judge_up(struct workbench *bench, GError **error)
{
    if (!fetch_reference(bench, error))
        return false;
    /* The host writes the inputs from now on, and needs them as the device stores them. */
    for (int t = 0; t < OPERAND_COUNT; t++) {
        if (is_input(bench, t))
            g_free(make_input(bench, t));
    }
    g_clear_pointer(&bench->judge, judge_free);
    g_set_error_literal(&bench->refusal, DEVICE_ERROR, DEVICE_ERROR_MEMORY,
                        "the device's reference was freed for a workspace");
    return true;
}

/* ---- tensors in the device's memory ---- */

/* The most bytes for all copies of the tensors, and for all copies of the packed filter. */
static int64_t rotation_limit(const struct device_info *info)
{
    return MIN(info->memory_bytes / ROTATION_SHARE, ROTATION_BYTES);
}

/* Chooses the number of copies of the tensors. The other copies together must fill the
 * last-level cache twice, so that a copy is no longer cached when its turn comes again. Runs do not
 * touch the guard zones, so zones fill memory but no cache. Memory limits the number. If it is too
 * small, cold_caches is false, and the least possible time is computed without memory traffic. */
static void choose_copies(struct workbench *bench)
{
    const struct device_info *info = bench->device->row->info(bench->device);
    int64_t set = 0, largest = 1, data = 0;

    for (int t = 0; t < OPERAND_COUNT; t++) {
        int64_t bytes = tensor_bytes(&bench->tensors[t]);
        if (!tensor_exists(&bench->tensors[t]))
            continue;
        data += bytes;
        set += bytes + 2 * GUARD_BYTES;
        largest = MAX(largest, bytes + 2 * GUARD_BYTES);
    }
    int64_t wanted = 2 * info->cache_bytes / MAX(data, 1) + 2;
    int64_t allowed = MIN(rotation_limit(info) / MAX(set, 1), info->largest_bytes / largest - 1);
    bench->copies = (int)CLAMP(wanted, 1, CLAMP(allowed, 1, COPIES_MAX));
    bench->cold_caches =
        info->cache_bytes > 0 && (bench->copies - 1) * data >= 2 * info->cache_bytes;
}

/* Sets the bytes of one copy of all tensors with their guard zones, and of the largest tensor;
 * INT64_MAX on overflow. */
static int64_t needed_bytes(const struct workbench *bench, int64_t *largest)
{
    int64_t all = 0;

    *largest = 0;
    for (int t = 0; t < OPERAND_COUNT; t++) {
        int64_t bytes = tensor_bytes(&bench->tensors[t]);
        if (!tensor_exists(&bench->tensors[t]))
            continue;
        bytes = MIN(bytes, INT64_MAX - 2 * GUARD_BYTES) + 2 * GUARD_BYTES;
        *largest = MAX(*largest, bytes);
        if (__builtin_add_overflow(all, bytes, &all))
            all = INT64_MAX;
    }
    return all;
}

/* Refuses a problem that can never fit into the device, before any memory is allocated. */
static bool fits_device(const struct workbench *bench, GError **error)
{
    const struct device_info *info = bench->device->row->info(bench->device);
    int64_t largest, all = needed_bytes(bench, &largest);

    if (all <= info->memory_bytes && largest <= info->largest_bytes)
        return true;
    g_set_error(error, DEVICE_ERROR, DEVICE_ERROR_SIZE,
                "the tensors with their guard zones take %" G_GINT64_FORMAT
                " bytes, the largest %" G_GINT64_FORMAT "; the device has %" G_GINT64_FORMAT
                ", %" G_GINT64_FORMAT " for one",
                all, largest, info->memory_bytes, info->largest_bytes);
    return false;
}

/* Whether so many bytes would not fit even beside the tensors alone, so that freeing references
 * is useless. */
static bool is_hopeless(const struct workbench *bench, int64_t bytes)
{
    const struct device_info *info = bench->device->row->info(bench->device);
    int64_t left = info->memory_bytes;

    for (int t = 0; t < OPERAND_COUNT; t++)
        left -= bench->memory[t].all;
    return bytes > MIN(left, info->largest_bytes);
}

/* Frees device memory after an allocation of `bytes` failed with *why: first the references of
 * other problems, then this problem's own. Returns false if nothing is left to free, or if
 * freeing failed, which replaces *why. */
static bool make_way(struct workbench *bench, int64_t bytes, GError **why)
{
    g_autoptr(GError) refusal = NULL;

    if (!g_error_matches(*why, DEVICE_ERROR, DEVICE_ERROR_MEMORY) || is_hopeless(bench, bytes))
        return false;
    if (bench->judges && judge_cache_clear(bench->judges))
        return true;
    if (!bench->judge)
        return false;
    if (give_judge_up(bench, &refusal))
        return true;
    g_clear_error(why);
    *why = g_steal_pointer(&refusal);
    return false;
}

static bool alloc_guarded(struct workbench *bench, struct guarded *guarded, int64_t bytes,
                          int copies, enum data_type type, GError **error)
{
    g_autoptr(GError) why = NULL;

    while (!guarded_alloc(guarded, bench->device, bytes, copies, guarded_poison_of(type), &why)) {
        if (!make_way(bench, bytes * copies, &why)) {
            g_propagate_error(error, g_steal_pointer(&why));
            return false;
        }
        g_clear_error(&why);
    }
    return true;
}

static bool alloc_tensors(struct workbench *bench, GError **error)
{
    choose_copies(bench);
    for (int t = 0; t < OPERAND_COUNT; t++) {
        const struct tensor *tensor = &bench->tensors[t];
        if (!tensor_exists(tensor))
            continue;
        if (!alloc_guarded(bench, &bench->memory[t], tensor_bytes(tensor), bench->copies,
                           tensor->type, error))
            return false;
    }
    return true;
}

/* Allocates the tensors. Tensors that need more than the driver leaves to any process are too
 * large for the device (DEVICE_ERROR_SIZE); after DEVICE_ERROR_MEMORY a new process may succeed. */
static bool find_room(struct workbench *bench, GError **error)
{
    int64_t memory = bench->device->row->info(bench->device)->memory_bytes, largest;
    g_autoptr(GError) why = NULL;

    if (alloc_tensors(bench, &why))
        return true;
    if (g_error_matches(why, DEVICE_ERROR, DEVICE_ERROR_MEMORY) &&
        needed_bytes(bench, &largest) > memory - memory / DRIVER_SHARE) {
        why->code = DEVICE_ERROR_SIZE;
        g_prefix_error(&why,
                       "the tensors need %" G_GINT64_FORMAT " of the device's %" G_GINT64_FORMAT
                       " bytes: ",
                       needed_bytes(bench, &largest), memory);
    }
    g_propagate_error(error, g_steal_pointer(&why));
    return false;
}

static bool write_input(struct workbench *bench, int role, GError **error)
{
    struct guarded *memory = &bench->memory[role];

    if (bench->judge)
        return judge_write_input(bench->judge, (enum tensor_role)role, memory->parts[0], error);
    return bench->device->row->write(memory->parts[0], 0, bench->images[role], memory->bytes,
                                     error);
}

/* Writes the inputs of copy 0. */
static bool write_inputs(struct workbench *bench, GError **error)
{
    for (int t = 0; t < OPERAND_COUNT; t++) {
        if (is_input(bench, t) && !write_input(bench, t, error))
            return false;
    }
    return true;
}

/* Copies the inputs of copy 0 to all other copies on the device, which is faster than sending
 * them from the host. */
static bool spread_inputs(struct workbench *bench, GError **error)
{
    for (int t = 0; t < OPERAND_COUNT; t++) {
        struct guarded *memory = &bench->memory[t];
        for (int copy = 1; is_input(bench, t) && copy < bench->copies; copy++) {
            if (!bench->device->row->copy(memory->parts[0], memory->parts[copy], memory->bytes,
                                          error))
                return false;
        }
    }
    return true;
}

/* Has the judge make the inputs and the reference on the device. Returns false if the host has
 * to make them: bench->refusal then says why the judge refused. */
static bool make_by_device(struct workbench *bench, const struct workbench_means *means)
{
    struct device_memory *memory[OPERAND_COUNT];

    if (!means->judge)
        return false;
    parts_of(bench, 0, memory);
    if (means->judges)
        bench->judge = judge_cache_take(means->judges, means->judge, &bench->problem,
                                        bench->tensors, bench->seed);
    if (!bench->judge)
        bench->judge = judge_new(bench->device, means->judge, &bench->problem, bench->tensors,
                                 bench->seed, memory, &bench->refusal);
    else if (!judge_resume(bench->judge, memory, &bench->refusal))
        g_clear_pointer(&bench->judge, judge_free);
    return bench->judge != NULL;
}

/* Makes the inputs and the reference on the host, unless the judge's refusal was a device fault. */
static bool make_by_host(struct workbench *bench, struct reference_cache *cache, GError **error)
{
    if (g_error_matches(bench->refusal, DEVICE_ERROR, DEVICE_ERROR_FAULT)) {
        g_propagate_error(error, g_steal_pointer(&bench->refusal));
        return false;
    }
    return make_host_side(bench, cache, error) && write_inputs(bench, error);
}

bool workbench_open(struct workbench *bench, struct device *device, const struct problem *p,
                    uint64_t seed, const struct workbench_means *means, GError **error)
{
    static const struct workbench_means none = {NULL, NULL, NULL};

    means = means ? means : &none;
    *bench = (struct workbench){
        .device = device, .problem = *p, .out = problem_output_role(p), .seed = seed};
    bench->judges = means->judges;
    for (int t = 0; t < OPERAND_COUNT; t++)
        tensor_init(&bench->tensors[t], p, (enum tensor_role)t);
    if (reference_supports(p, error) && fits_device(bench, error) && find_room(bench, error) &&
        (make_by_device(bench, means) || make_by_host(bench, means->references, error)) &&
        spread_inputs(bench, error))
        return true;
    workbench_close(bench);
    return false;
}

void workbench_close(struct workbench *bench)
{
    for (int t = 0; t < OPERAND_COUNT; t++) {
        guarded_free(&bench->memory[t]);
        g_clear_pointer(&bench->images[t], g_free);
    }
    guarded_free(&bench->workspace);
    if (bench->judge && bench->judges)
        judge_cache_give(bench->judges, g_steal_pointer(&bench->judge));
    g_clear_pointer(&bench->judge, judge_free);
    g_clear_error(&bench->refusal);
    g_clear_pointer(&bench->reference, reference_unref);
}

static bool fit_workspace(struct workbench *bench, int64_t bytes, GError **error)
{
    struct guarded *workspace = &bench->workspace;

    if (guarded_fits(workspace, bytes))
        return workspace->bytes == bytes || guarded_resize(workspace, bytes, error);
    guarded_free(workspace);
    return alloc_guarded(bench, workspace, bytes, 1, TYPE_FP32, error);
}

bool workbench_workspace(struct workbench *bench, uint64_t bytes, struct device_memory **memory,
                         GError **error)
{
    *memory = NULL;
    if (bytes == 0)
        return true;
    /* The workspace gets exactly the size that the config asked for: the guard zone begins right
     * behind it. */
    if (!fit_workspace(bench, (int64_t)bytes, error))
        return false;
    *memory = bench->workspace.parts[0];
    return true;
}

bool workbench_packed(struct workbench *bench, uint64_t bytes, GError **error)
{
    const struct device_info *info = bench->device->row->info(bench->device);
    struct guarded *packed = &bench->memory[TENSOR_PACKED];

    if (packed->whole && packed->bytes == (int64_t)bytes)
        return true;
    guarded_free(packed);
    if (bytes == 0)
        return true;
    if (bytes > (uint64_t)info->memory_bytes) {
        g_set_error(error, DEVICE_ERROR, DEVICE_ERROR_MEMORY,
                    "the packed filter has %" G_GUINT64_FORMAT
                    " bytes, the device %" G_GINT64_FORMAT,
                    bytes, info->memory_bytes);
        return false;
    }
    int64_t step = (int64_t)bytes + 2 * GUARD_BYTES;
    int64_t allowed = MIN(rotation_limit(info) / step, info->largest_bytes / step - 1);
    return alloc_guarded(bench, packed, (int64_t)bytes, (int)CLAMP(allowed, 1, bench->copies),
                         bench->problem.type[TENSOR_W], error);
}

bool workbench_is_cold(const struct workbench *bench)
{
    const struct guarded *packed = &bench->memory[TENSOR_PACKED];

    return bench->cold_caches && (!packed->whole || packed->copies == bench->copies);
}

/* ---- one verified run ---- */

/* Checks the guard zones of a tensor's copy 0. It is called for every tensor, even after damage
 * was found: guarded_check() repairs the zones, and unrepaired damage would be blamed on the
 * next config. */
static bool check_zones(struct guarded *guarded, const char *name, struct verdict *verdict,
                        GError **error)
{
    bool damaged = false;
    int64_t offset = 0;

    if (!guarded->whole)
        return true;
    if (!guarded_check(guarded, 0, &damaged, &offset, error))
        return false;
    if (!damaged || verdict->failure != FAILURE_NONE)
        return true;
    verdict->failure = FAILURE_OUT_OF_BOUNDS;
    verdict->error = INFINITY;
    g_snprintf(verdict->detail, sizeof(verdict->detail),
               "wrote outside of %s, at byte %" G_GINT64_FORMAT " of its %" G_GINT64_FORMAT, name,
               offset, guarded->bytes);
    return true;
}

/* Compares on the device. *settled becomes true if the device found every element right;
 * otherwise the host compares. The host also compares outputs with gaps, since it checks the
 * gaps, too. */
static bool judge_by_device(struct workbench *bench, const struct tolerance *tolerance,
                            struct verdict *verdict, bool *settled, GError **error)
{
    const struct tensor *tensor = &bench->tensors[bench->out];
    g_autoptr(GError) why = NULL;
    struct judged judged;

    *settled = false;
    if (!bench->judge || !tensor_is_packed(tensor))
        return true;
    if (!judge_compare(bench->judge, bench->memory[bench->out].parts[0], tolerance, &judged,
                       &why)) {
        blame_device(g_steal_pointer(&why), error);
        return false;
    }
    *settled = judged.wrong == 0;
    *verdict = (struct verdict){.error = judged.error};
    return true;
}

static bool judge_by_host(struct workbench *bench, const struct tolerance *tolerance,
                          struct verdict *verdict, GError **error)
{
    const struct tensor *tensor = &bench->tensors[bench->out];
    struct guarded *memory = &bench->memory[bench->out];
    g_autofree void *data = g_malloc((gsize)memory->bytes);

    if (!fetch_reference(bench, error) ||
        !bench->device->row->read(memory->parts[0], 0, data, memory->bytes, error))
        return false;
    verify_holes(tensor, data, memory->poison, verdict);
    if (verdict->failure == FAILURE_NONE)
        verify_output(tensor, data, memory->poison, bench->reference, tolerance, verdict);
    /* The device found the output wrong, and the host found it right: so the device's reference
     * is damaged, and is computed again. */
    return !bench->judge || verdict->failure != FAILURE_NONE || refresh_judge(bench, error);
}

static bool judge_output(struct workbench *bench, const struct solution_rounding *rounding,
                         struct verdict *verdict, GError **error)
{
    struct tolerance tolerance;
    bool settled;

    tolerance_init(&tolerance, &bench->problem, rounding,
                   bench->judge ? judge_length(bench->judge) : bench->reference->length);
    if (!judge_by_device(bench, &tolerance, verdict, &settled, error))
        return false;
    return settled || judge_by_host(bench, &tolerance, verdict, error);
}

static bool poison_workspace(struct workbench *bench, GError **error)
{
    return !bench->workspace.whole || guarded_poison(&bench->workspace, 0, error);
}

/* Packs copy 0's filter into poisoned memory. */
static bool pack_poisoned(struct workbench *bench, struct invocation *invocation, GError **error)
{
    struct workbench_run run = {bench, invocation};

    if (invocation->pack_count == 0)
        return true;
    return guarded_poison(&bench->memory[TENSOR_PACKED], 0, error) &&
           poison_workspace(bench, error) && workbench_pack(&run, 0, error);
}

/* Writes the inputs first: an earlier run, verified or timed, may have changed them. */
static bool run_poisoned(struct workbench *bench, struct invocation *invocation, GError **error)
{
    struct workbench_run run = {bench, invocation};
    int runs = invocation->pack_count > 0 ? 2 : 1;

    if (!write_inputs(bench, error) || !pack_poisoned(bench, invocation, error))
        return false;
    for (int i = 0; i < runs; i++) {
        if (!guarded_poison(&bench->memory[bench->out], 0, error) ||
            !poison_workspace(bench, error) || !workbench_run(&run, 0, error))
            return false;
    }
    return bench->device->row->sync(bench->device, error);
}

/* Computes all references again after a kernel wrote outside of a tensor: references have no
 * guard zones, so the write may have hit them. */
static bool renew_references(struct workbench *bench, GError **error)
{
    if (bench->judges)
        judge_cache_clear(bench->judges);
    return !bench->judge || refresh_judge(bench, error);
}

bool workbench_strayed(struct workbench *bench, struct verdict *verdict, GError **error)
{
    *verdict = (struct verdict){0};
    for (int t = 0; t < OPERAND_COUNT; t++) {
        if (!check_zones(&bench->memory[t], role_names[t], verdict, error))
            return false;
    }
    return check_zones(&bench->workspace, "the workspace", verdict, error) &&
           (verdict->failure == FAILURE_NONE || renew_references(bench, error));
}

bool workbench_verify(struct workbench *bench, struct invocation *invocation,
                      struct verdict *verdict, GError **error)
{
    *verdict = (struct verdict){0};
    if (!run_poisoned(bench, invocation, error) || !workbench_strayed(bench, verdict, error) ||
        (verdict->failure == FAILURE_NONE &&
         !judge_output(bench, &invocation->rounding, verdict, error)))
        return false;
    /* The config that was found wrong may have changed the inputs. They are written again, since
     * the next run may be timed without being verified. */
    return verdict->failure == FAILURE_NONE || write_inputs(bench, error);
}

bool workbench_run(void *data, int64_t run, GError **error)
{
    struct workbench_run *r = data;
    struct device_memory *memory[OPERAND_COUNT];

    parts_of(r->bench, run, memory);
    return invocation_launch(r->invocation, memory, error);
}

bool workbench_pack(void *data, int64_t run, GError **error)
{
    struct workbench_run *r = data;
    struct device_memory *memory[OPERAND_COUNT];

    parts_of(r->bench, run, memory);
    return invocation_pack(r->invocation, memory, error);
}

bool workbench_pack_all(struct workbench_run *run, GError **error)
{
    int copies = run->invocation->pack_count > 0 ? run->bench->memory[TENSOR_PACKED].copies : 0;

    for (int i = 0; i < copies; i++) {
        if (!workbench_pack(run, i, error))
            return false;
    }
    return true;
}
