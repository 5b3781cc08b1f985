#include "worker/pipeline/pipeline_memory.h"

#include <string.h>

#include "worker/verify/tensor.h"

static bool in_arena(const struct pipeline_buffer *buffer)
{
    return buffer->alias_of < 0 &&
           (buffer->kind == BUFFER_OUTPUT || buffer->kind == BUFFER_ACTIVATION);
}

static int64_t align(int64_t bytes)
{
    return (bytes + PIPELINE_ALIGNMENT - 1) / PIPELINE_ALIGNMENT * PIPELINE_ALIGNMENT;
}

/* ---- places ---- */

/* Gives arena buffers their places. An output lives until the end of the run. */
static void place_activations(struct pipeline_memory *memory)
{
    const struct pipeline_plan *plan = memory->plan;
    int count = 0, last = (int)plan->steps->len - 1;
    g_autofree struct arena_block *blocks = g_new0(struct arena_block, plan->buffers->len + 1);
    g_autofree int *owners = g_new0(int, plan->buffers->len + 1);

    for (guint i = 0; i < plan->buffers->len; i++) {
        const struct pipeline_buffer *buffer = pipeline_buffer_at(plan, (int)i);
        if (!in_arena(buffer))
            continue;
        blocks[count] = (struct arena_block){
            .bytes = buffer->bytes,
            .first = MAX(buffer->first, 0),
            .last = buffer->kind == BUFFER_OUTPUT ? last : MAX(buffer->last, 0)};
        owners[count++] = (int)i;
    }
    arena_plan(blocks, count, PIPELINE_ALIGNMENT, &memory->arena);
    for (int i = 0; i < count; i++)
        memory->offsets[owners[i]] = blocks[i].offset;
}

static void place_inputs(struct pipeline_memory *memory)
{
    const struct pipeline_plan *plan = memory->plan;

    for (guint i = 0; i < plan->buffers->len; i++) {
        const struct pipeline_buffer *buffer = pipeline_buffer_at(plan, (int)i);
        if (buffer->kind == BUFFER_WEIGHT)
            memory->offsets[i] = buffer->offset;
        if (buffer->kind != BUFFER_INPUT || buffer->alias_of >= 0)
            continue;
        memory->offsets[i] = memory->input_bytes;
        memory->input_bytes += align(buffer->bytes);
    }
}

/* ---- opening ---- */

static bool write_weights(struct pipeline_memory *memory, GError **error)
{
    const struct device_row *row = memory->device->row;
    GMappedFile *file = memory->plan->weights;

    memory->weight_bytes = file ? (int64_t)g_mapped_file_get_length(file) : 0;
    if (memory->weight_bytes == 0)
        return true;
    memory->weights = row->alloc(memory->device, memory->weight_bytes, error);
    return memory->weights && row->write(memory->weights, 0, g_mapped_file_get_contents(file),
                                         memory->weight_bytes, error);
}

static bool alloc_inputs(struct pipeline_memory *memory, GError **error)
{
    const struct device_row *row = memory->device->row;

    if (memory->input_bytes == 0)
        return true;
    memory->inputs = row->alloc(memory->device, memory->input_bytes, error);
    return memory->inputs && row->fill(memory->inputs, 0, memory->input_bytes, 0, error);
}

bool pipeline_memory_open(struct pipeline_memory *memory, struct device *device,
                          const struct pipeline_plan *plan, int64_t workspace_bytes, GError **error)
{
    *memory = (struct pipeline_memory){
        .device = device,
        .plan = plan,
        .offsets = g_new0(int64_t, plan->buffers->len),
        .slices = g_ptr_array_new(),
    };
    place_activations(memory);
    place_inputs(memory);
    if (write_weights(memory, error) && alloc_inputs(memory, error) &&
        guarded_alloc(&memory->activations, device, MAX(memory->arena.bytes, 1), 1,
                      guarded_poison_of(TYPE_FP32), error) &&
        (workspace_bytes == 0 || guarded_alloc(&memory->workspace, device, workspace_bytes, 1,
                                               guarded_poison_of(TYPE_FP32), error)))
        return true;
    pipeline_memory_close(memory);
    return false;
}

void pipeline_memory_close(struct pipeline_memory *memory)
{
    const struct device_row *row = memory->device->row;

    for (guint i = 0; memory->slices && i < memory->slices->len; i++)
        row->memory_free(memory->slices->pdata[i]);
    g_clear_pointer(&memory->slices, g_ptr_array_unref);
    guarded_free(&memory->workspace);
    guarded_free(&memory->activations);
    if (memory->inputs)
        row->memory_free(memory->inputs);
    if (memory->weights)
        row->memory_free(memory->weights);
    memory->inputs = memory->weights = NULL;
    g_clear_pointer(&memory->offsets, g_free);
}

/* ---- operands ---- */

/* The allocation of a buffer that is no alias, and the buffer's place in it. */
static struct device_memory *home_of(const struct pipeline_memory *memory, int home,
                                     int64_t *offset)
{
    *offset += memory->offsets[home];
    switch (pipeline_buffer_at(memory->plan, home)->kind) {
    case BUFFER_INPUT: return memory->inputs;
    case BUFFER_WEIGHT: return memory->weights;
    case BUFFER_OUTPUT:
    case BUFFER_ACTIVATION: break;
    }
    return memory->activations.parts[0];
}

static struct device_memory *slice(struct pipeline_memory *memory, int buffer, int64_t offset,
                                   int64_t bytes, GError **error)
{
    int home = pipeline_buffer_home(memory->plan, buffer, &offset);
    struct device_memory *whole = home_of(memory, home, &offset);
    struct device_memory *part = memory->device->row->slice(whole, offset, bytes, error);

    if (part)
        g_ptr_array_add(memory->slices, part);
    return part;
}

struct device_memory *pipeline_memory_operand(struct pipeline_memory *memory,
                                              const struct pipeline_step *step,
                                              enum tensor_role role, GError **error)
{
    const struct pipeline_operand *operand = &step->operands[role];
    int64_t bytes = problem_tensor_span(&step->problem, role) *
                    data_type_bytes(problem_operand_type(&step->problem, role));

    return slice(memory, operand->buffer, operand->offset_bytes, bytes, error);
}

bool pipeline_memory_poison(struct pipeline_memory *memory, GError **error)
{
    return guarded_poison(&memory->activations, 0, error) &&
           (!memory->workspace.device || guarded_poison(&memory->workspace, 0, error));
}

/* ---- samples ---- */

gsize pipeline_samples_count(const struct pipeline_plan *plan, const GArray *buffers)
{
    gsize count = 0;

    for (guint i = 0; i < buffers->len; i++)
        count += (gsize)pipeline_buffer_elements(
            pipeline_buffer_at(plan, g_array_index(buffers, int, i)));
    return count;
}

/* Visits the elements of a buffer in row-major order: next_place() returns each one's place in memory, in elements. */
struct places {
    const struct pipeline_buffer *buffer;
    int64_t at[PIPELINE_RANK_MAX];
    int64_t place;
};

static int64_t next_place(struct places *places)
{
    const struct pipeline_buffer *buffer = places->buffer;
    int64_t place = places->place;

    for (int i = buffer->rank - 1; i >= 0; i--) {
        places->place += buffer->strides[i];
        if (++places->at[i] < buffer->dims[i])
            break;
        places->place -= buffer->dims[i] * buffer->strides[i];
        places->at[i] = 0;
    }
    return place;
}

bool pipeline_memory_write_inputs(struct pipeline_memory *memory, const float *samples,
                                  uint64_t seed, GError **error)
{
    GRand *random = g_rand_new_with_seed((guint32)(seed ^ seed >> 32));
    bool written = true;

    for (guint i = 0; written && i < memory->plan->inputs->len; i++) {
        int index = g_array_index(memory->plan->inputs, int, i);
        const struct pipeline_buffer *buffer = pipeline_buffer_at(memory->plan, index);
        struct places places = {.buffer = buffer};
        int64_t offset = 0, count = pipeline_buffer_elements(buffer);
        g_autofree char *image = g_malloc0((gsize)buffer->bytes);
        for (int64_t e = 0; e < count; e++)
            tensor_store(buffer->type, image, next_place(&places),
                         samples ? (double)*samples++ : g_rand_double_range(random, -1, 1));
        struct device_memory *whole =
            home_of(memory, pipeline_buffer_home(memory->plan, index, &offset), &offset);
        written = memory->device->row->write(whole, offset, image, buffer->bytes, error);
    }
    g_rand_free(random);
    return written;
}

bool pipeline_memory_read_outputs(struct pipeline_memory *memory, float *samples, GError **error)
{
    for (guint i = 0; i < memory->plan->outputs->len; i++) {
        int index = g_array_index(memory->plan->outputs, int, i);
        const struct pipeline_buffer *buffer = pipeline_buffer_at(memory->plan, index);
        struct places places = {.buffer = buffer};
        int64_t offset = 0, count = pipeline_buffer_elements(buffer);
        g_autofree char *image = g_malloc0((gsize)buffer->bytes);
        struct device_memory *whole =
            home_of(memory, pipeline_buffer_home(memory->plan, index, &offset), &offset);
        if (!memory->device->row->read(whole, offset, image, buffer->bytes, error))
            return false;
        for (int64_t e = 0; e < count; e++)
            *samples++ = (float)tensor_load(buffer->type, image, next_place(&places));
    }
    return true;
}

/* ---- checking ---- */

static bool check_guards(struct guarded *guarded, const char *name, char **where, GError **error)
{
    bool damaged = false;
    int64_t offset = 0;

    if (*where || !guarded->device)
        return true;
    if (!guarded_check(guarded, 0, &damaged, &offset, error))
        return false;
    if (damaged)
        *where = g_strdup_printf("a step wrote outside of the %s: at byte %" G_GINT64_FORMAT
                                 " of its %" G_GINT64_FORMAT,
                                 name, offset, guarded->bytes);
    return true;
}

static bool check_weights(struct pipeline_memory *memory, char **where, GError **error)
{
    if (*where || memory->weight_bytes == 0)
        return true;
    g_autofree char *image = g_malloc((gsize)memory->weight_bytes);
    if (!memory->device->row->read(memory->weights, 0, image, memory->weight_bytes, error))
        return false;
    if (memcmp(image, g_mapped_file_get_contents(memory->plan->weights),
               (size_t)memory->weight_bytes) != 0)
        *where = g_strdup("a step wrote into the network's weights");
    return true;
}

bool pipeline_memory_check(struct pipeline_memory *memory, char **where, GError **error)
{
    *where = NULL;
    return check_guards(&memory->activations, "arena", where, error) &&
           check_guards(&memory->workspace, "workspace", where, error) &&
           check_weights(memory, where, error);
}
