/* Several networks on a fake device, whose clock only kernels move: they take turns, and run one by one where its memory does
 * not hold all. */
#include "worker/pipeline/pipeline_run.h"

#include <string.h>

#include "solvers/framework/solver.h"
#include "tests/support/doubles/fake_device.h"
#include "tests/support/temp_folder.h"
#include "worker/protocol/target_json.h"

#define NETWORKS 3

/* A fake device with a limit on what is allocated at once. */
struct small_device {
    struct fake_device fake; /* first */
    struct device_row row;
    GHashTable *live; /* struct device_memory * -> bytes */
    int64_t used, most, limit;
    GPtrArray *places; /* the output's address of each run, in the order of time */
    double drift;      /* each run takes longer than the one before by this share */
};

static struct small_device *the_device;

static struct device_memory *limited_alloc(struct device *device, int64_t bytes, GError **error)
{
    struct small_device *d = the_device;
    if (d->used + bytes > d->limit) {
        g_set_error_literal(error, DEVICE_ERROR, DEVICE_ERROR_MEMORY, "the small device is full");
        return NULL;
    }
    struct device_memory *memory = fake_device_row.alloc(device, bytes, error);
    d->used += bytes;
    d->most = MAX(d->most, d->used);
    g_hash_table_insert(d->live, memory, GSIZE_TO_POINTER(bytes));
    return memory;
}

static void counted_free(struct device_memory *memory)
{
    struct small_device *d = the_device;
    d->used -= (int64_t)GPOINTER_TO_SIZE(g_hash_table_lookup(d->live, memory));
    g_hash_table_remove(d->live, memory);
    fake_device_row.memory_free(memory);
}

static void run_kernel(struct fake_device *fake, const struct device_launch *launch,
                       void *const *memory)
{
    struct small_device *d = (struct small_device *)fake;
    void *last = NULL;
    for (int i = 0; i < launch->arg_count; i++)
        last = memory[i] ? memory[i] : last;
    g_ptr_array_add(d->places, last);
    fake->clock_ms += 4 * (1 + d->drift * d->places->len);
}

static void device_init(struct small_device *d, int64_t limit)
{
    *d = (struct small_device){.row = fake_device_row, .limit = limit, .drift = 0.01};
    fake_device_init(&d->fake);
    d->fake.run = run_kernel;
    d->row.alloc = limited_alloc;
    d->row.memory_free = counted_free;
    d->fake.device.row = &d->row;
    d->live = g_hash_table_new(NULL, NULL);
    d->places = g_ptr_array_new();
    the_device = d;
}

static void device_clear(struct small_device *d)
{
    g_hash_table_unref(d->live);
    g_ptr_array_unref(d->places);
}

static json_t *buffer(const char *name, const char *kind, int bytes)
{
    return json_pack("{s:s, s:s, s:i, s:s, s:[i,i,i,i], s:[i,i,i,i], s:i, s:i}", "name", name,
                     "kind", kind, "bytes", bytes, "type", "FP32", "dims", 1, 1, 1, 1, "strides", 1,
                     1, 1, 1, "first", 0, "last", 0);
}

static json_t *operand(int number)
{
    return json_pack("{s:i, s:i}", "buffer", number, "offset", 0);
}

/* One convolution of one pixel, whose output has a buffer of 4096 bytes. */
static const char *write_plan(TempFolder *folder)
{
    static const char key[] = "1-1-1-1x1-1-1-1-1-0x0-1x1-1x1-0-NCHW-FP32-F";
    const char *path = temp_folder_path(folder, "net.json");
    json_t *plan = json_pack(
        "{s:i, s:s, s:i, s:{}, s:n, s:[o,o,o], s:[i,i], s:[i], s:[{s:s, s:[s], s:s, s:s, s:i, s:{s:o, s:o, s:o}}]}",
        "skipjack_plan", 1, "network", "tiny", "batch", 1, "knobs", "weights", "buffers",
        buffer("x", "input", 4), buffer("w", "input", 4), buffer("y", "output", 4096), "inputs", 0,
        1, "outputs", 2, "steps", "name", "one", "nodes", "one", "problem", key, "alone", key,
        "group", 0, "operands", "x", operand(0), "w", operand(1), "y", operand(2));
    g_assert_cmpint(json_dump_file(plan, path, 0), ==, 0);
    json_decref(plan);
    return path;
}

static json_t *request_of(const char *plan)
{
    struct target target;
    g_assert_true(target_parse("cpu-skylake_2", &target, NULL));
    json_t *list = json_array();
    for (int i = 0; i < NETWORKS; i++)
        json_array_append_new(list,
                              json_pack("{s:s, s:[{s:i, s:s, s:[], s:[s], s:i}]}", "plan", plan,
                                        "steps", "index", 0, "solver", "ConvDirectNaive", "values",
                                        "kernels", "k", "workspace_bytes", 0));
    return json_pack("{s:s, s:o, s:f, s:o}", "op", "pipelines", "target", target_to_json(&target),
                     "sample_seconds", 0.1, "pipelines", list);
}

static json_t *run_networks(struct small_device *d)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(TempFolder) folder = temp_folder_new();
    const char *plan = write_plan(folder);
    struct eval_kernels *kernels = eval_kernels_new(&d->fake.device);
    g_autoptr(GBytes) code = g_bytes_new_static("k", 1);
    eval_kernels_add(kernels, "k", code);
    json_t *request = request_of(plan);
    json_t *answer = pipelines_run(&d->fake.device, kernels, 0.01, request, &error);
    g_assert_no_error(error);
    g_assert_nonnull(answer);
    g_assert_cmpint(d->used, ==, 0);
    json_decref(request);
    eval_kernels_free(kernels);
    return answer;
}

static const json_t *turns_of(const json_t *answer, size_t network)
{
    const json_t *one = json_array_get(json_object_get(answer, "pipelines"), network);
    return json_object_get(json_object_get(one, "launches"), "turns_ms");
}

/* Counts how often another network ran than just before. */
static int changes(const struct small_device *d)
{
    int count = 0;
    for (guint i = 1; i < d->places->len; i++)
        count += d->places->pdata[i] != d->places->pdata[i - 1];
    return count;
}

static void networks_take_turns(void)
{
    struct small_device d;
    device_init(&d, 1 << 20);
    json_t *answer = run_networks(&d);
    const json_t *order = json_object_get(answer, "order");
    size_t turns = json_array_size(turns_of(answer, 0));
    g_assert_true(json_is_null(json_object_get(answer, "no_room")));
    g_assert_cmpint(turns, >=, 15);
    g_assert_cmpint(json_array_size(order), ==, turns * NETWORKS);
    for (size_t t = 0; t < turns; t++) {
        for (size_t k = 0; k < NETWORKS; k++)
            g_assert_cmpint(json_integer_value(json_array_get(order, t * NETWORKS + k)), ==,
                            (t + k) % NETWORKS);
    }
    /* Within a turn and from turn to turn it is always another one that comes next. */
    g_assert_cmpint(changes(&d), >=, (int)turns * NETWORKS - 1);
    /* They are the same network: whatever the drift, times of a turn differ little. */
    for (size_t t = 0; t < turns; t++) {
        double ratio = json_number_value(json_array_get(turns_of(answer, 1), t)) /
                       json_number_value(json_array_get(turns_of(answer, 0), t));
        g_assert_cmpfloat(ratio, >, 0.8);
        g_assert_cmpfloat(ratio, <, 1.25);
    }
    json_decref(answer);
    device_clear(&d);
}

static void without_room_networks_run_one_by_one(void)
{
    struct small_device d;
    device_init(&d, 1 << 20);
    json_decref(run_networks(&d));
    int64_t one_bytes = d.most / NETWORKS;
    device_clear(&d);
    device_init(&d, one_bytes * 3 / 2);
    json_t *answer = run_networks(&d);
    g_assert_cmpstr(json_string_value(json_object_get(answer, "no_room")), ==,
                    "the small device is full");
    g_assert_cmpint(json_array_size(json_object_get(answer, "order")), ==, 0);
    g_assert_cmpint(json_array_size(json_object_get(answer, "pipelines")), ==, NETWORKS);
    for (size_t i = 0; i < NETWORKS; i++) {
        const json_t *one = json_array_get(json_object_get(answer, "pipelines"), i);
        g_assert_null(turns_of(answer, i));
        g_assert_cmpfloat(
            json_number_value(json_object_get(json_object_get(one, "launches"), "median_ms")), >,
            0);
    }
    json_decref(answer);
    device_clear(&d);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/pipeline_run/networks_take_turns", networks_take_turns);
    g_test_add_func("/pipeline_run/without_room_networks_run_one_by_one",
                    without_room_networks_run_one_by_one);
    return g_test_run();
}
