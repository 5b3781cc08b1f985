/*
 * One look, and what each step protects against:
 *   1. Write the inputs of the copy: its set's, whatever the copy held.
 *   2. For a solution that packs the filter: poison the packed filter and the workspace, and pack.
 *   3. Poison output and workspace: elements that a kernel does not write are then wrong, and a kernel cannot use
 *      what an earlier one left in the workspace. Run once, and wait. A solution that packs does this step
 *      twice: it must leave the packed filter as it is.
 *   4. Look at the guard zones, and repair them. After a stray write all references are computed again.
 *   5. Look whether the inputs are what was written, by their fingerprints. If not, write them again.
 *   6. Compare: the judge on the device, and the host if there is no judge or the judge finds an element wrong.
 *   7. An output that is wrong: run some times more. If the bytes differ, it is a race.
 *
 * The device's memory is shared by tensors, workspace, this problem's judges, and judges kept for other problems. An
 * allocation that fails frees them in the order of their worth: judges kept, then the second set, then the first
 * set's judge. Tensors are never freed for a workspace.
 */
#include "worker/eval/workbench.h"

#include <math.h>
#include <string.h>

#include "worker/protocol/frames.h"
#include "worker/verify/judge_cache.h"
#include "worker/verify/random.h"

#define COPIES_MAX           1024
#define ROTATION_SHARE       8 /* Copies of the tensors may take 1/8 of the device's memory. */
#define ROTATION_BYTES       (1ll << 30) /* and at most this many bytes */
/* Context and code of a process take at most 1/8 of the device's memory. */
#define DRIVER_SHARE         8
/* Most multiply-accumulates for which the host computes the whole reference of the first set: about 3 s of two
 * cores. The reference of a larger problem is computed in part. */
#define REFERENCE_MACS       8e9
/* The same for the second set, whose look is one more. */
#define REFERENCE_MACS_AGAIN 1e9
/* Runs after a wrong one that tell a race from a fault that every run has. */
#define RACE_RUNS            4
/* All copies but one fill the last-level cache twice. A look after a slice goes over them in parts of an eighth. */
#define SLICE_PARTS          8

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

void workbench_parts(const struct workbench *bench, int64_t run,
                     struct device_memory *memory[OPERAND_COUNT])
{
    int copy = (int)(run % bench->copies);

    for (int t = 0; t < OPERAND_COUNT; t++) {
        const struct guarded *guarded = &bench->memory[t];
        memory[t] = guarded->whole ? guarded->parts[copy % guarded->copies] : NULL;
    }
}

bool workbench_judges(const struct workbench *bench)
{
    return bench->sets[0].judge != NULL;
}

/* ---- the sets ---- */

/* The number of sets that are in copies at the same time. */
static int sets_in_copies(const struct workbench *bench)
{
    return bench->copies > 1 ? bench->set_count : 1;
}

/* The set whose inputs a copy holds between looks. */
static int set_of(const struct workbench *bench, int copy)
{
    return copy % sets_in_copies(bench);
}

static bool write_set(struct workbench *bench, struct input_set *set, int copy, GError **error)
{
    struct device_memory *memory[OPERAND_COUNT];

    workbench_parts(bench, copy, memory);
    return input_set_write(set, &bench->means, memory, error);
}

bool workbench_restore(struct workbench *bench, int copy, GError **error)
{
    return write_set(bench, &bench->sets[set_of(bench, copy)], copy, error);
}

/* Writes the inputs of all copies: each set's first copy, and from it on the device the others, which is faster than
 * sending them from the host. */
static bool restore_all(struct workbench *bench, GError **error)
{
    const struct device_row *row = bench->device->row;
    int sets = sets_in_copies(bench);

    for (int copy = 0; copy < sets; copy++) {
        if (!workbench_restore(bench, copy, error))
            return false;
    }
    for (int t = 0; t < OPERAND_COUNT; t++) {
        struct guarded *memory = &bench->memory[t];
        for (int copy = sets; is_input(bench, t) && copy < bench->copies; copy++) {
            if (!row->copy(memory->parts[copy % sets], memory->parts[copy], memory->bytes, error))
                return false;
        }
    }
    bench->unchecked = false;
    return true;
}

static void clear_sets(struct workbench *bench)
{
    for (int i = 0; i < bench->set_count; i++)
        input_set_clear(&bench->sets[i], &bench->means);
    bench->set_count = 0;
}

static uint64_t set_seed(const struct workbench *bench, int set)
{
    return random_seed(bench->seed + (uint64_t)set, INPUT_RANDOM);
}

/* Has the judge make the sets on the device. Returns false if the host has to make them: bench->refusal then says why
 * the judge refused. The second set is left out if the device lacks memory for it. */
static bool make_by_device(struct workbench *bench)
{
    struct device_memory *memory[OPERAND_COUNT];

    for (int i = 0; bench->means.judge && i < WORKBENCH_SETS; i++) {
        g_autoptr(GError) why = NULL;
        workbench_parts(bench, i, memory);
        if (input_set_by_device(&bench->sets[i], &bench->means, set_seed(bench, i), memory, &why)) {
            bench->set_count++;
            continue;
        }
        if (i > 0 && g_error_matches(why, DEVICE_ERROR, DEVICE_ERROR_MEMORY))
            return true;
        clear_sets(bench);
        bench->refusal = g_steal_pointer(&why);
        return false;
    }
    return bench->set_count > 0;
}

/* Makes the sets on the host, unless the judge's refusal was a device fault. */
static bool make_by_host(struct workbench *bench, GError **error)
{
    static const double work_limits[WORKBENCH_SETS] = {REFERENCE_MACS, REFERENCE_MACS_AGAIN};
    struct device_memory *memory[OPERAND_COUNT];

    if (g_error_matches(bench->refusal, DEVICE_ERROR, DEVICE_ERROR_FAULT)) {
        g_propagate_error(error, g_steal_pointer(&bench->refusal));
        return false;
    }
    for (int i = 0; i < WORKBENCH_SETS; i++) {
        workbench_parts(bench, i, memory);
        if (!input_set_by_host(&bench->sets[i], &bench->means, set_seed(bench, i), work_limits[i],
                               memory, error))
            return false;
        bench->set_count++;
    }
    return true;
}

/* Computes the device's references again, since a kernel may have written into them. */
static bool refresh_sets(struct workbench *bench, GError **error)
{
    struct device_memory *memory[OPERAND_COUNT];

    for (int i = 0; i < bench->set_count; i++) {
        workbench_parts(bench, i, memory);
        if (!input_set_refresh(&bench->sets[i], memory, error))
            return false;
    }
    return restore_all(bench, error);
}

/* Frees the second set to get its memory; all copies then hold the first one. */
static bool give_second_up(struct workbench *bench, GError **error)
{
    struct input_means keeps_none = bench->means;

    keeps_none.judges = NULL;
    input_set_clear(&bench->sets[1], &keeps_none);
    bench->set_count = 1;
    return restore_all(bench, error);
}

/* Frees the judge to get its memory. From now on the host verifies, with the reference that the
 * judge computed. */
static bool give_judge_up(struct workbench *bench, GError **error)
{
    struct device_memory *memory[OPERAND_COUNT];

    workbench_parts(bench, 0, memory);
    if (!input_set_leave_device(&bench->sets[0], &bench->means, memory, error))
        return false;
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
 * other problems, then this problem's own, the second set's first. Returns false if nothing is left to free, or if
 * freeing failed, which replaces *why. */
static bool make_way(struct workbench *bench, int64_t bytes, GError **why)
{
    g_autoptr(GError) refusal = NULL;

    if (!g_error_matches(*why, DEVICE_ERROR, DEVICE_ERROR_MEMORY) || is_hopeless(bench, bytes))
        return false;
    if (bench->means.judges && judge_cache_clear(bench->means.judges))
        return true;
    if (bench->set_count == 0 || !workbench_judges(bench))
        return false;
    if (bench->set_count > 1 ? give_second_up(bench, &refusal) : give_judge_up(bench, &refusal))
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

bool workbench_open(struct workbench *bench, struct device *device, const struct problem *p,
                    uint64_t seed, const struct workbench_means *means, GError **error)
{
    static const struct workbench_means none = {NULL, NULL, NULL};

    means = means ? means : &none;
    *bench = (struct workbench){
        .device = device, .problem = *p, .out = problem_output_role(p), .seed = seed};
    target_set_forms(&device->row->info(device)->target, &bench->problem);
    p = &bench->problem;
    bench->means = (struct input_means){device,       &bench->problem, bench->tensors,
                                        means->judge, means->judges,   means->references};
    for (int t = 0; t < OPERAND_COUNT; t++)
        tensor_init(&bench->tensors[t], p, (enum tensor_role)t);
    if (reference_supports(p, error) && fits_device(bench, error) && find_room(bench, error) &&
        (make_by_device(bench) || make_by_host(bench, error)) && restore_all(bench, error))
        return true;
    workbench_close(bench);
    return false;
}

void workbench_close(struct workbench *bench)
{
    clear_sets(bench);
    for (int t = 0; t < OPERAND_COUNT; t++)
        guarded_free(&bench->memory[t]);
    guarded_free(&bench->workspace);
    g_clear_pointer(&bench->packed, g_free);
    g_clear_error(&bench->refusal);
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
    g_clear_pointer(&bench->packed, g_free);
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
    int copies = (int)CLAMP(allowed, 1, bench->copies);
    /* A copy serves runs of one set: an even number of copies, or all, or one, which holds the first set's filter. */
    if (copies > 1 && copies < bench->copies)
        copies -= copies % WORKBENCH_SETS;
    return alloc_guarded(bench, packed, (int64_t)bytes, copies, bench->problem.type[TENSOR_W],
                         error);
}

bool workbench_is_cold(const struct workbench *bench)
{
    const struct guarded *packed = &bench->memory[TENSOR_PACKED];

    return bench->cold_caches && (!packed->whole || packed->copies == bench->copies);
}

/* ---- what runs must not change ---- */

/* Checks the guard zones of a tensor's copy. It is called for every tensor, even after damage
 * was found: guarded_check() repairs the zones, and unrepaired damage would be blamed on the
 * next config. */
static bool check_zones(struct guarded *guarded, int copy, const char *name,
                        struct verdict *verdict, GError **error)
{
    bool damaged = false;
    int64_t offset = 0;

    if (!guarded->whole)
        return true;
    if (!guarded_check(guarded, copy % guarded->copies, &damaged, &offset, error))
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

/* Computes all references again after a kernel wrote outside of a tensor: references have no
 * guard zones, so the write may have hit them. */
static bool renew_references(struct workbench *bench, GError **error)
{
    if (bench->means.judges)
        judge_cache_clear(bench->means.judges);
    return !workbench_judges(bench) || refresh_sets(bench, error);
}

/* Makes damage to guard zones the verdict, unless there is one, and repairs what it may have hit. */
static bool blame_stray(struct workbench *bench, const struct verdict *found,
                        struct verdict *verdict, GError **error)
{
    if (found->failure == FAILURE_NONE)
        return true;
    if (verdict->failure == FAILURE_NONE)
        *verdict = *found;
    return renew_references(bench, error);
}

/* Looks at the guard zones of a copy and of the workspace. */
static bool check_zones_of_copy(struct workbench *bench, int copy, struct verdict *verdict,
                                GError **error)
{
    struct verdict found = {0};

    for (int t = 0; t < OPERAND_COUNT; t++) {
        if (!check_zones(&bench->memory[t], copy, role_names[t], &found, error))
            return false;
    }
    return check_zones(&bench->workspace, 0, "the workspace", &found, error) &&
           blame_stray(bench, &found, verdict, error);
}

/* Neighbouring copies: `count` from `first` on. */
struct part {
    int first, count;
};

/* Looks at the zones of a tensor's copies. The zone before the part's first copy is the one behind the copy before
 * it. */
static bool check_zones_of_tensor(struct workbench *bench, int role, struct part part,
                                  struct verdict *found, GError **error)
{
    struct guarded *guarded = &bench->memory[role];

    if (!guarded->whole)
        return true;
    int first = MAX(part.first - 1, 0), end = MIN(part.first + part.count, guarded->copies);
    g_autofree bool *damaged = g_new(bool, MAX(end - first, 1));
    if (first < end &&
        !input_set_find_damaged(&bench->sets[0], guarded, first, end - first, damaged, error))
        return false;
    for (int copy = first; copy < end; copy++) {
        /* The zone before the first copy of all is behind no copy. */
        if ((copy == 0 || damaged[copy - first]) &&
            !check_zones(guarded, copy, role_names[role], found, error))
            return false;
    }
    return true;
}

/* Looks at the guard zones of the tensors' copies; not at those of the packed filter. */
static bool check_zones_of_part(struct workbench *bench, struct part part, struct verdict *found,
                                GError **error)
{
    for (int t = 0; t < OPERAND_COUNT; t++) {
        if (t != TENSOR_PACKED && !check_zones_of_tensor(bench, t, part, found, error))
            return false;
    }
    return true;
}

/* Looks at the guard zones of what all copies of the tensors share or what is written for all of them before timed
 * runs. */
static bool check_other_zones(struct workbench *bench, struct verdict *found, GError **error)
{
    const struct part all = {0, bench->memory[TENSOR_PACKED].copies};

    return check_zones_of_tensor(bench, TENSOR_PACKED, all, found, error) &&
           check_zones(&bench->workspace, 0, "the workspace", found, error);
}

static bool blame_change(struct workbench *bench, struct input_set *set, int role, int copy,
                         struct verdict *verdict, GError **error)
{
    struct guarded *memory = &bench->memory[role];
    int64_t offset;

    if (verdict->failure != FAILURE_NONE)
        return true;
    if (!input_set_find_change(set, &bench->means, role, memory, copy, &offset, error))
        return false;
    verdict->failure = FAILURE_OUT_OF_BOUNDS;
    verdict->error = INFINITY;
    g_snprintf(verdict->detail, sizeof(verdict->detail),
               "changed its input %s, at byte %" G_GINT64_FORMAT " of its %" G_GINT64_FORMAT,
               role_names[role], offset, memory->bytes);
    return true;
}

/* Looks at the inputs of `count` copies from `first` on, `step` apart, which all hold the set. *changed becomes true
 * if one of them is not as it was written. */
static bool check_inputs(struct workbench *bench, struct input_set *set, int first, int count,
                         int step, struct verdict *verdict, bool *changed, GError **error)
{
    g_autofree uint64_t *prints = g_new(uint64_t, MAX(count, 1));

    for (int t = 0; t < OPERAND_COUNT && count > 0; t++) {
        if (!is_input(bench, t))
            continue;
        if (!input_set_fingerprints(set, &bench->memory[t], first, count, step, prints, error))
            return false;
        for (int i = 0; i < count; i++) {
            if (prints[i] == set->prints[t])
                continue;
            *changed = true;
            if (!blame_change(bench, set, t, first + i * step, verdict, error))
                return false;
        }
    }
    return true;
}

bool workbench_unharmed(struct workbench *bench, const struct look *look, struct verdict *verdict,
                        GError **error)
{
    bool changed = false;

    /* Inputs first: damage in the guard zones has references computed again, which writes the inputs. */
    *verdict = (struct verdict){0};
    if (!check_inputs(bench, look->set, look->copy, 1, 1, verdict, &changed, error))
        return false;
    bench->unchecked = changed;
    return check_zones_of_copy(bench, look->copy, verdict, error) &&
           (!changed || write_set(bench, look->set, look->copy, error));
}

/* ---- looks ---- */

void verdict_name_race(struct verdict *verdict)
{
    char found[VERDICT_DETAIL_MAX];

    g_strlcpy(found, verdict->detail, sizeof(found));
    verdict->failure = FAILURE_WRONG_RESULT;
    if (verdict->error <= 1)
        verdict->error = INFINITY;
    g_snprintf(verdict->detail, sizeof(verdict->detail),
               "results differ from run to run (a race)%s%.190s", *found ? ": " : "", found);
}

static bool fill_workspace(struct workbench *bench, uint8_t fill, GError **error)
{
    const struct guarded *workspace = &bench->workspace;

    return !workspace->whole ||
           bench->device->row->fill(workspace->parts[0], 0, workspace->bytes, fill, error);
}

/* Packs the copy's filter into memory full of `fill`. */
static bool pack_poisoned(struct workbench *bench, const struct look *look,
                          struct invocation *invocation, GError **error)
{
    struct workbench_run run = {bench, invocation};
    struct guarded *packed = &bench->memory[TENSOR_PACKED];

    if (invocation->pack_count == 0)
        return true;
    uint8_t fill = look->fill == LOOK_POISON ? packed->poison : look->fill;
    return bench->device->row->fill(packed->parts[look->copy % packed->copies], 0, packed->bytes,
                                    fill, error) &&
           fill_workspace(bench, look->fill, error) && workbench_pack(&run, look->copy, error);
}

static bool print_output(struct workbench *bench, struct look *look, GError **error)
{
    return input_set_fingerprints(look->set, &bench->memory[bench->out], look->copy, 1, 1,
                                  &look->result, error);
}

static bool run_poisoned(struct workbench *bench, const struct look *look,
                         struct invocation *invocation, GError **error)
{
    struct workbench_run run = {bench, invocation};

    return guarded_poison(&bench->memory[bench->out], look->copy, error) &&
           fill_workspace(bench, look->fill, error) && workbench_run(&run, look->copy, error);
}

bool workbench_look_again(struct workbench *bench, struct look *look, struct invocation *invocation,
                          GError **error)
{
    return run_poisoned(bench, look, invocation, error) && print_output(bench, look, error);
}

/* Writes the inputs first, and the packed filter. */
static bool run_first(struct workbench *bench, const struct look *look,
                      struct invocation *invocation, GError **error)
{
    int runs = invocation->pack_count > 0 ? 2 : 1;

    if (!write_set(bench, look->set, look->copy, error) ||
        !pack_poisoned(bench, look, invocation, error))
        return false;
    for (int i = 0; i < runs; i++) {
        if (!run_poisoned(bench, look, invocation, error))
            return false;
    }
    return bench->device->row->sync(bench->device, error);
}

static bool judge_copy(struct workbench *bench, struct input_set *set, int copy,
                       const struct solution_rounding *rounding, struct verdict *verdict,
                       GError **error)
{
    struct device_memory *memory[OPERAND_COUNT];

    workbench_parts(bench, copy, memory);
    return input_set_judge(set, &bench->means, memory, rounding, verdict, error);
}

double workbench_verified_share(const struct workbench *bench)
{
    const struct reference *reference = bench->sets[0].reference;

    return workbench_judges(bench) || !reference ? 1 : reference->share;
}

/* Tells a race from a fault that every run has: runs the wrong config some times more. */
static bool look_for_race(struct workbench *bench, const struct look *look,
                          struct invocation *invocation, struct verdict *verdict, GError **error)
{
    struct look again = *look;
    struct verdict other;
    bool differs = false;

    for (int i = 0; i < RACE_RUNS && !bench->varies && !differs; i++) {
        if (!workbench_look_again(bench, &again, invocation, error))
            return false;
        differs = again.result != look->result;
    }
    if (differs)
        verdict_name_race(verdict);
    return workbench_unharmed(bench, look, &other, error);
}

bool workbench_look(struct workbench *bench, struct look *look, struct invocation *invocation,
                    struct verdict *verdict, GError **error)
{
    *verdict = (struct verdict){0};
    if (!run_first(bench, look, invocation, error) || !print_output(bench, look, error) ||
        !workbench_unharmed(bench, look, verdict, error))
        return false;
    if (verdict->failure != FAILURE_NONE)
        return true;
    if (!judge_copy(bench, look->set, look->copy, &invocation->rounding, verdict, error))
        return false;
    return verdict->failure == FAILURE_NONE ||
           look_for_race(bench, look, invocation, verdict, error);
}

bool workbench_verify(struct workbench *bench, struct invocation *invocation,
                      struct verdict *verdict, GError **error)
{
    double worst = 0;

    *verdict = (struct verdict){0};
    if (bench->unchecked && !restore_all(bench, error))
        return false;
    for (int i = 0; i < WORKBENCH_SETS && verdict->failure == FAILURE_NONE; i++) {
        int set = MIN(i, bench->set_count - 1);
        struct look look = {.set = &bench->sets[set],
                            .copy = MIN(i, bench->copies - 1),
                            .fill = i == 0 ? LOOK_POISON : LOOK_NUMBERS};
        if (!workbench_look(bench, &look, invocation, verdict, error))
            return false;
        bench->results[set] = look.result;
        worst = fmax(worst, verdict->error);
    }
    verdict->error = worst;
    return bench->copies > 1 || bench->set_count == 1 || workbench_restore(bench, 0, error);
}

/* ---- timed runs ---- */

static bool print_packed(struct workbench *bench, uint64_t *prints, GError **error)
{
    const struct guarded *packed = &bench->memory[TENSOR_PACKED];

    return input_set_fingerprints(&bench->sets[0], packed, 0, packed->copies, 1, prints, error);
}

/* Notes the packed filter's bytes before timed runs. */
static bool note_packed(struct workbench *bench, GError **error)
{
    const struct guarded *packed = &bench->memory[TENSOR_PACKED];

    if (!packed->whole)
        return true;
    g_free(bench->packed);
    bench->packed = g_new(uint64_t, packed->copies);
    return print_packed(bench, bench->packed, error);
}

bool workbench_before_timing(struct workbench *bench, GError **error)
{
    struct guarded *out = &bench->memory[bench->out];

    bench->used = 0;
    return bench->device->row->fill(out->whole, 0, out->all, out->poison, error) &&
           note_packed(bench, error);
}

static bool check_packed(struct workbench *bench, struct verdict *verdict, GError **error)
{
    const struct guarded *packed = &bench->memory[TENSOR_PACKED];
    bool changed = false;

    if (!packed->whole || !bench->packed)
        return true;
    g_autofree uint64_t *prints = g_new(uint64_t, packed->copies);
    if (!print_packed(bench, prints, error))
        return false;
    for (int i = 0; i < packed->copies; i++)
        changed = changed || prints[i] != bench->packed[i];
    if (changed && verdict->failure == FAILURE_NONE) {
        verdict->failure = FAILURE_OUT_OF_BOUNDS;
        verdict->error = INFINITY;
        g_strlcpy(verdict->detail, "changed the packed filter in a timed run",
                  sizeof(verdict->detail));
    }
    return true;
}

/* The copies of a part that hold a set: every so many (sets_in_copies()) from `first` on. */
static struct part of_set(const struct workbench *bench, struct part part, int set)
{
    int sets = sets_in_copies(bench);
    int first = part.first + (set - part.first % sets + sets) % sets;
    int left = MAX(part.first + part.count - first, 0);

    return (struct part){first, (left + sets - 1) / sets};
}

/* Looks at the inputs of copies. */
static bool check_inputs_of_part(struct workbench *bench, struct part part, struct verdict *verdict,
                                 bool *changed, GError **error)
{
    int sets = sets_in_copies(bench);

    for (int i = 0; i < sets; i++) {
        struct part own = of_set(bench, part, i);
        if (!check_inputs(bench, &bench->sets[i], own.first, own.count, sets, verdict, changed,
                          error))
            return false;
    }
    return true;
}

/* Looks at the inputs of all copies, and repairs them. */
static bool check_all_inputs(struct workbench *bench, struct verdict *verdict, GError **error)
{
    bool changed = false;

    if (!check_inputs_of_part(bench, (struct part){0, bench->copies}, verdict, &changed, error))
        return false;
    bench->unchecked = changed;
    return !changed || restore_all(bench, error);
}

/* The next copies to look at, of which at most `most`; `done` of those that runs used were looked at. The copy that
 * waited longest is first. */
static struct part next_part(const struct workbench *bench, int done, int most)
{
    int begin = bench->used == bench->copies ? bench->last_copy + 1 : bench->first_copy;
    int first = (begin + done) % bench->copies;

    return (struct part){first, MIN(MIN(most, bench->used - done), bench->copies - first)};
}

/* Looks at the guard zones of all copies that timed runs used, of the packed filter and of the workspace. */
static bool check_zones_of_timed(struct workbench *bench, struct verdict *verdict, GError **error)
{
    struct verdict found = {0};
    struct part part = {0, 0};

    for (int done = 0; done < bench->used; done += part.count) {
        part = next_part(bench, done, bench->copies);
        if (!check_zones_of_part(bench, part, &found, error))
            return false;
    }
    return check_other_zones(bench, &found, error) && blame_stray(bench, &found, verdict, error);
}

/* Whether timed runs on a copy computed with the copy's own set: one packed filter for all copies is the first
 * set's. */
static bool is_own_result(const struct workbench *bench, int copy)
{
    const struct guarded *packed = &bench->memory[TENSOR_PACKED];

    return !packed->whole || packed->copies > 1 || set_of(bench, copy) == 0;
}

/* Compares the outputs of timed runs with the bytes that were found right. */
static bool check_bytes_of_part(struct workbench *bench, struct part part,
                                const struct invocation *invocation,
                                const uint64_t results[WORKBENCH_SETS], struct verdict *verdict,
                                GError **error)
{
    int sets = sets_in_copies(bench);

    for (int set = 0; set < sets; set++) {
        struct part own = of_set(bench, part, set);
        g_autofree uint64_t *prints = g_new(uint64_t, MAX(own.count, 1));
        if (own.count == 0 || !is_own_result(bench, own.first))
            continue;
        if (!input_set_fingerprints(&bench->sets[set], &bench->memory[bench->out], own.first,
                                    own.count, sets, prints, error))
            return false;
        for (int i = 0; i < own.count; i++) {
            if (prints[i] == results[set])
                continue;
            if (!judge_copy(bench, &bench->sets[set], own.first + i * sets, &invocation->rounding,
                            verdict, error))
                return false;
            verdict_name_race(verdict);
            return true;
        }
    }
    return true;
}

/* Compares the output of the last run in full. */
static bool check_last(struct workbench *bench, const struct invocation *invocation,
                       struct verdict *verdict, GError **error)
{
    int last = bench->last_copy;

    if (!is_own_result(bench, last)) /* the run before was on a copy of the other set */
        last = bench->used > 1 ? last - 1 : -1;
    if (last < 0)
        return true;
    if (!judge_copy(bench, &bench->sets[set_of(bench, last)], last, &invocation->rounding, verdict,
                    error))
        return false;
    if (verdict->failure != FAILURE_NONE && !bench->varies)
        verdict_name_race(verdict);
    return true;
}

/* Compares the output of the last timed run in full, and those of other copies by their bytes. */
static bool check_results(struct workbench *bench, const struct invocation *invocation,
                          struct verdict *verdict, GError **error)
{
    struct part part = {0, 0};

    if (!check_last(bench, invocation, verdict, error))
        return false;
    for (int done = 0; done < bench->used && verdict->failure == FAILURE_NONE && !bench->varies;
         done += part.count) {
        part = next_part(bench, done, bench->copies);
        if (!check_bytes_of_part(bench, part, invocation, bench->results, verdict, error))
            return false;
    }
    return true;
}

bool workbench_after_timing(struct workbench *bench, const struct invocation *invocation,
                            struct verdict *verdict, GError **error)
{
    *verdict = (struct verdict){0};
    if (!check_all_inputs(bench, verdict, error) || !check_packed(bench, verdict, error) ||
        !check_zones_of_timed(bench, verdict, error))
        return false;
    if (verdict->failure != FAILURE_NONE || bench->used == 0)
        return true;
    return check_results(bench, invocation, verdict, error);
}

/* ---- slices ---- */

/* The findings of a look after a slice. */
struct slice_look {
    const struct invocation *invocation; /* NULL: outputs are not compared */
    const uint64_t *results;
    struct verdict verdict; /* inputs and outputs */
    struct verdict stray;   /* guard zones */
    bool changed;           /* an input */
};

/* Looks at copies, and gives their outputs poison. */
static bool look_at_part(struct workbench *bench, struct part part, struct slice_look *look,
                         GError **error)
{
    const struct guarded *out = &bench->memory[bench->out];
    int64_t begin = guarded_offset(out, part.first);
    int64_t end = guarded_tail_offset(out, part.first + part.count - 1);
    bool compares = look->invocation && !bench->varies;

    return check_inputs_of_part(bench, part, &look->verdict, &look->changed, error) &&
           check_zones_of_part(bench, part, &look->stray, error) &&
           (!compares || look->verdict.failure != FAILURE_NONE ||
            check_bytes_of_part(bench, part, look->invocation, look->results, &look->verdict,
                                error)) &&
           bench->device->row->fill(out->whole, begin, end - begin, out->poison, error);
}

/* Looks at all copies that were used. Parts are small beside what fills the cache, and each is left in the cache no
 * sooner than the one before, so the next runs find their copies out of the cache as without the look. */
static bool look_at_used(struct workbench *bench, struct slice_look *look, GError **error)
{
    int most = MAX(bench->copies / SLICE_PARTS, WORKBENCH_SETS);
    struct part part = {0, 0};

    if (look->invocation && bench->varies && bench->used > 0 &&
        !check_last(bench, look->invocation, &look->verdict, error))
        return false;
    for (int done = 0; done < bench->used; done += part.count) {
        part = next_part(bench, done, most);
        if (!look_at_part(bench, part, look, error))
            return false;
    }
    return check_other_zones(bench, &look->stray, error) &&
           check_packed(bench, &look->verdict, error);
}

/* Repairs what a look found damaged. */
static bool end_look(struct workbench *bench, struct slice_look *look, GError **error)
{
    if (!blame_stray(bench, &look->stray, &look->verdict, error) ||
        (look->changed && !restore_all(bench, error)))
        return false;
    bench->used = 0;
    bench->unchecked = bench->untidy = false;
    return true;
}

/* Finds all copies as slices leave them: outputs are full of poison, inputs and guard zones unchanged. */
static bool tidy_up(struct workbench *bench, GError **error)
{
    struct slice_look look = {0};

    bench->used = bench->copies;
    g_clear_pointer(&bench->packed, g_free);
    return look_at_used(bench, &look, error) && end_look(bench, &look, error);
}

bool workbench_before_slice(struct workbench *bench, GError **error)
{
    return (!bench->untidy || tidy_up(bench, error)) && note_packed(bench, error);
}

bool workbench_after_slice(struct workbench *bench, const struct invocation *invocation,
                           const uint64_t results[WORKBENCH_SETS], struct verdict *verdict,
                           GError **error)
{
    struct slice_look look = {.invocation = invocation, .results = results};

    if (!look_at_used(bench, &look, error) || !end_look(bench, &look, error))
        return false;
    *verdict = look.verdict;
    return true;
}

/* ---- runs ---- */

static void note_run(struct workbench *bench, int copy)
{
    if (bench->used == 0)
        bench->first_copy = copy;
    int place = (copy - bench->first_copy + bench->copies) % bench->copies;
    bench->used = MAX(bench->used, place + 1);
    bench->last_copy = copy;
    bench->unchecked = bench->untidy = true;
}

bool workbench_run(void *data, int64_t run, GError **error)
{
    struct workbench_run *r = data;
    struct device_memory *memory[OPERAND_COUNT];

    workbench_parts(r->bench, run, memory);
    note_run(r->bench, (int)(run % r->bench->copies));
    return invocation_launch(r->invocation, memory, error);
}

bool workbench_pack(void *data, int64_t run, GError **error)
{
    struct workbench_run *r = data;
    struct device_memory *memory[OPERAND_COUNT];

    workbench_parts(r->bench, run, memory);
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
