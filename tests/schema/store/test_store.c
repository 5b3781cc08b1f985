/* The store against a real PostgreSQL: values are read back as they were stored. */
#include "schema/results/store_usage.h"
#include "schema/server/embedded.h"
#include "schema/store/store_events.h"
#include "schema/store/store_kernels.h"
#include "schema/store/store_private.h"
#include "schema/store/store_problems.h"
#include "solvers/problem/problem_key.h"
#include "tests/support/farm/scratch_db.h"
#include "tests/support/random_problem.h"

#include <locale.h>
#include <string.h>

static void make_problem(struct problem *p, int64_t channels)
{
    problem_init(p);
    p->n = 2;
    p->c = channels;
    p->k = 64;
    p->in[AXIS_H] = p->in[AXIS_W] = 28;
    p->fil[AXIS_H] = p->fil[AXIS_W] = 3;
    p->pad[AXIS_H] = p->pad[AXIS_W] = 1;
    problem_set_output(p);
}

/* A full disk is temporary: a worker keeps its results and retries, as when the server is
 * unreachable. */
static void test_server_without_room_is_asked_again(void)
{
    g_autoptr(Store) store = scratch_store();
    g_autoptr(GError) error = NULL;
    g_assert_false(store_do(store, &error,
                            "DO $$ BEGIN RAISE EXCEPTION 'could not extend file'"
                            " USING ERRCODE = 'disk_full'; END $$",
                            ""));
    g_assert_error(error, STORE_ERROR, STORE_ERROR_CONNECTION);
}

static void test_problems_are_stored_once(void)
{
    g_autoptr(Store) store = scratch_store();
    g_autoptr(GError) error = NULL;
    struct problem problems[4];
    int64_t ids[4], again[4];
    for (int i = 0; i < 4; i++)
        make_problem(&problems[i], i == 3 ? 32 : 32 << i);
    problems[1].direction = DIRECTION_W;
    problems[1].cast[TENSOR_X] = TYPE_FP8;
    g_strlcpy(problems[2].epilogue, "+bias+clip(0,6)", EPILOGUE_MAX);
    problems[2].layout[TENSOR_Y] = LAYOUT_NHWC;
    g_assert_true(store_put_problems(store, problems, 4, "some", ids, &error));
    g_assert_no_error(error);
    g_assert_cmpint(ids[0], ==, ids[3]);
    g_assert_cmpint(ids[0], !=, ids[1]);
    g_assert_true(store_put_problems(store, problems, 4, NULL, again, &error));
    g_assert_cmpmem(ids, sizeof ids, again, sizeof again);

    g_autoptr(GArray) list =
        store_list_problems(store, &(struct problem_filter){.tag = "some"}, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(list->len, ==, 3);
    for (guint i = 0; i < list->len; i++) {
        const struct stored_problem *stored = &g_array_index(list, struct stored_problem, i);
        int at = stored->id == ids[0] ? 0 : stored->id == ids[1] ? 1 : 2;
        g_assert_cmpint(stored->id, ==, ids[at]);
        g_assert_true(problem_equal(&stored->problem, &problems[at]));
        if (i > 0)
            g_assert_cmpint(problem_compare(&stored[-1].problem, &stored->problem), <, 0);
    }
    g_autoptr(GArray) none =
        store_list_problems(store, &(struct problem_filter){.tag = "other"}, &error);
    g_assert_cmpuint(none->len, ==, 0);
}

/* Problems of every operator, with strides and epilogues, come back as they were, also in the form that usage reads. */
static void test_problems_of_every_form_come_back(void)
{
    g_autoptr(Store) store = scratch_store();
    g_autoptr(GRand) random = g_rand_new_with_seed(3);
    g_autoptr(GError) error = NULL;
    struct random_limits limits;
    struct problem problems[500];
    int64_t ids[500], found[500];
    random_limits_wide(&limits);
    for (int i = 0; i < 500; i++)
        random_problem(random, &limits, &problems[i]);
    g_assert_true(store_put_problems(store, problems, 500, "some", ids, &error));
    g_assert_no_error(error);
    g_assert_true(store_find_problems(store, problems, 500, found, &error));
    g_assert_cmpmem(ids, sizeof ids, found, sizeof found);
    g_autoptr(GArray) list =
        store_list_problems(store, &(struct problem_filter){.tag = "some"}, &error);
    g_autoptr(GArray) used =
        store_list_used_problems(store, &(struct usage_source){.tag = "some"}, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(list->len, ==, 500);
    g_assert_cmpuint(used->len, ==, 500);
    for (guint i = 0; i < list->len; i++) {
        const struct stored_problem *stored = &g_array_index(list, struct stored_problem, i);
        const struct used_problem *one = &g_array_index(used, struct used_problem, i);
        for (int at = 0; at < 500; at++) {
            g_assert_true((stored->id != ids[at]) ||
                          problem_equal(&stored->problem, &problems[at]));
            g_assert_true((one->id != ids[at]) || problem_equal(&one->problem, &problems[at]));
        }
    }
}

/* Problems that differ in mode or strides alone are two. */
static void test_mode_and_strides_tell_problems_apart(void)
{
    static const char *const keys[] = {
        "pool(max)-4-8-8-2x2-4-4-4-2-0x0-2x2-1x1-0-NCHW-FP32-F",
        "pool(average)-4-8-8-2x2-4-4-4-2-0x0-2x2-1x1-0-NCHW-FP32-F",
        "pool(max)-4-8-8-2x2-4-4-4-2-0x0-2x2-1x1-0-NCHW-FP32-F_sx300x64x0x8x1",
        "pool(max)-4-8-8-2x2-4-4-4-2-0x0-2x2-1x1-0-NCHW-FP32-F_sx301x64x0x8x1",
    };
    g_autoptr(Store) store = scratch_store();
    struct problem problems[G_N_ELEMENTS(keys)];
    int64_t ids[G_N_ELEMENTS(keys)];
    for (gsize i = 0; i < G_N_ELEMENTS(keys); i++)
        g_assert_true(problem_key_parse(keys[i], &problems[i], NULL));
    g_assert_true(store_put_problems(store, problems, G_N_ELEMENTS(keys), NULL, ids, NULL));
    for (gsize i = 0; i < G_N_ELEMENTS(keys); i++)
        for (gsize j = 0; j < i; j++)
            g_assert_cmpint(ids[i], !=, ids[j]);
}

static void test_network_keeps_its_order(void)
{
    g_autoptr(Store) store = scratch_store();
    g_autoptr(GError) error = NULL;
    char first[] = "conv \"1\", {odd}", second[] = "";
    struct layer layers[3] = {{.name = first, .multiplicity = 2},
                              {.name = second, .multiplicity = 1},
                              {.name = NULL, .multiplicity = 4}};
    make_problem(&layers[0].problem, 64);
    make_problem(&layers[1].problem, 32);
    make_problem(&layers[2].problem, 64);
    g_assert_true(store_put_network(store, "net", layers, 3, NULL, &error));
    g_assert_true(store_put_network(store, "net", layers, 3, NULL, &error));
    g_assert_no_error(error);
    g_autoptr(GPtrArray) networks = store_list_networks(store, false, &error);
    g_assert_cmpuint(networks->len, ==, 1);
    const struct network_row *row = networks->pdata[0];
    g_assert_cmpstr(row->name, ==, "net");
    g_assert_cmpint(row->layers, ==, 7);
    g_assert_cmpint(row->problems, ==, 2);
    g_autoptr(GPtrArray) read = store_list_layers(store, "net", &error);
    g_assert_cmpuint(read->len, ==, 3);
    for (guint i = 0; i < 3; i++) {
        const struct layer *layer = read->pdata[i];
        g_assert_cmpstr(layer->name, ==, layers[i].name ? layers[i].name : "");
        g_assert_cmpint(layer->multiplicity, ==, layers[i].multiplicity);
        g_assert_true(problem_equal(&layer->problem, &layers[i].problem));
    }
    g_assert_null(store_list_layers(store, "no such", &error));
    g_assert_error(error, STORE_ERROR, STORE_ERROR_NOT_FOUND);
}

static void describe(Store *store, int version, const struct network_facts *facts, bool expected)
{
    g_autoptr(GError) error = NULL;
    bool replaced = !expected;
    g_assert_true(store_describe_network(store, "net", version, facts, &replaced, &error));
    g_assert_no_error(error);
    g_assert_cmpint(replaced, ==, expected);
}

/* Facts belong to a version. One that is not stated again stays. */
static void test_network_has_facts(void)
{
    g_autoptr(Store) store = scratch_store();
    g_autoptr(GError) error = NULL;
    char framework[] = "PyTorch", other[] = "TensorFlow", runs[] = "0.25";
    const struct network_facts first = {.texts = {[FACT_FRAMEWORK] = framework}, .batch = 64};
    const struct network_facts more = {.texts = {[FACT_RUNS] = runs}, .batch = 64};
    const struct network_facts second = {.texts = {[FACT_FRAMEWORK] = other}}, none = {0};
    struct layer layers[2] = {{.name = NULL, .multiplicity = 1}, {.name = NULL, .multiplicity = 1}};
    struct network_change change;
    make_problem(&layers[0].problem, 64);
    make_problem(&layers[1].problem, 32);
    g_assert_true(store_put_network(store, "net", layers, 1, &change, &error));
    describe(store, change.number, &first, false);
    g_assert_true(store_put_network(store, "net", layers, 2, &change, &error));
    describe(store, change.number, &none, false);
    describe(store, 1, &more, false);
    g_autoptr(GPtrArray) before = store_list_networks(store, true, &error);
    const struct network_facts *facts = &((const struct network_row *)before->pdata[0])->facts;
    g_assert_cmpstr(facts->texts[FACT_FRAMEWORK], ==, "PyTorch");
    g_assert_cmpfloat(network_facts_runs(facts), ==, 0.25);
    g_assert_cmpint(facts->batch, ==, 64);
    g_assert_null(facts->texts[FACT_MODEL]);
    g_assert_true(network_facts_empty(&((const struct network_row *)before->pdata[1])->facts));
    describe(store, 1, &second, true);
    describe(store, 1, &second, false);
    describe(store, 9, &second, false); /* no such version */
    g_autoptr(GPtrArray) after = store_list_networks(store, true, &error);
    facts = &((const struct network_row *)after->pdata[0])->facts;
    g_assert_cmpstr(facts->texts[FACT_FRAMEWORK], ==, "TensorFlow");
    g_assert_cmpint(facts->batch, ==, 64);
    g_assert_cmpuint(after->len, ==, 2);
}

/* A partition of a GPU is a target of its own; its words distinguish it from the whole GPU. */
static void test_targets_keep_features_and_partitions(void)
{
    static const char *const ids[] = {"gfx942_38_cpx_nps4", "gfx942_38", "gfx90a_xnack68",
                                      "sm_90_16_10g_mig1c2g"};
    g_autoptr(GError) error = NULL;
    g_autoptr(Store) store = scratch_store();
    for (gsize i = 0; i < G_N_ELEMENTS(ids); i++) {
        struct target target, read;
        g_assert_true(target_parse(ids[i], &target, &error));
        g_assert_true(store_put_target(store, &target, &error));
        g_assert_true(store_get_target(store, ids[i], &read, &error));
        g_assert_no_error(error);
        g_assert_cmpstr(read.id, ==, ids[i]);
        g_assert_cmpstr(read.features, ==, target.features);
        g_assert_cmpstr(read.partition, ==, target.partition);
    }
    g_autoptr(GPtrArray) all = store_list_targets(store, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(all->len, ==, G_N_ELEMENTS(ids));
    /* A whole GPU as an older program stored it, without the fields of partitions. */
    struct target read;
    g_assert_true(
        store_do(store, &error, "UPDATE targets SET partition = NULL WHERE id = 'gfx942_38'", ""));
    g_assert_true(store_get_target(store, "gfx942_38", &read, &error));
    g_assert_cmpstr(read.partition, ==, "");
}

static void test_target_learns_from_its_device(void)
{
    g_autoptr(Store) store = scratch_store();
    g_autoptr(GError) error = NULL;
    struct target target = {.vendor = VENDOR_NVIDIA,
                            .compute_units = 132,
                            .memory_gib = 80,
                            .local_bytes = 49152,
                            .max_workgroup = 1024,
                            .wave_size = 32};
    struct target read;
    g_strlcpy(target.id, "sm_90_132_80g", sizeof target.id);
    g_strlcpy(target.arch, "sm_90", sizeof target.arch);
    g_assert_true(store_put_target(store, &target, &error));
    target.local_bytes = 232448;
    target.peak_flops = 66.9e12;
    g_assert_true(store_put_target(store, &target, &error));
    g_assert_true(store_get_target(store, target.id, &read, &error));
    g_assert_no_error(error);
    g_assert_cmpstr(read.id, ==, target.id);
    g_assert_cmpstr(read.arch, ==, "sm_90");
    g_assert_cmpint(read.vendor, ==, VENDOR_NVIDIA);
    g_assert_cmpint(read.local_bytes, ==, 232448);
    g_assert_cmpfloat(read.peak_flops, ==, 66.9e12);
    g_autoptr(GPtrArray) all = store_list_targets(store, &error);
    g_assert_cmpuint(all->len, ==, 1);
    g_assert_false(store_get_target(store, "gfx1", &read, &error));
    g_assert_error(error, STORE_ERROR, STORE_ERROR_NOT_FOUND);
}

static struct kernel_row make_kernel(char *key, enum failure failure, const char *code)
{
    static char text[] = "text";
    struct kernel_row row = {.key = key,
                             .file = text,
                             .entry = text,
                             .options = text,
                             .arch = text,
                             .toolchain = text,
                             .toolchain_version = text,
                             .failure = failure,
                             .log = text,
                             .seconds = 0.5,
                             .code_sha256 = text};
    row.code = code == NULL ? NULL : g_bytes_new(code, strlen(code) + 1);
    return row;
}

static void put_kernel(Store *store, char *key, enum failure failure, const char *code)
{
    g_autoptr(GError) error = NULL;
    struct kernel_row row = make_kernel(key, failure, code);
    g_assert_true(store_put_kernel(store, &row, &error));
    g_assert_no_error(error);
    g_clear_pointer(&row.code, g_bytes_unref);
}

static void test_what_a_compiler_says_is_kept(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(Store) store = scratch_store();
    char said[] = "11111111111111111111111111111111111111111111111111111111111111aa";
    char silent[] = "11111111111111111111111111111111111111111111111111111111111111bb";
    struct kernel_row first = make_kernel(said, FAILURE_NONE, "code");
    struct kernel_row second = make_kernel(silent, FAILURE_NONE, "code");
    first.registers = 128;
    first.spills = 3;
    first.scratch_bytes = 12;
    first.local_bytes = 1ll << 33;
    first.accumulation_registers = 64;
    first.scalar_registers = 40;
    first.instructions = (char[]){"ds_read_b128 8, total 412"};
    second.registers = second.spills = -1;
    second.scratch_bytes = second.local_bytes = -1;
    second.accumulation_registers = second.scalar_registers = -1;
    g_assert_true(store_put_kernel(store, &first, &error));
    g_assert_true(store_put_kernel(store, &second, &error));
    first.spills = 0; /* the first report of a kernel is kept */
    g_assert_true(store_put_kernel(store, &first, &error));
    g_autoptr(GHashTable) known =
        store_known_kernels(store, (const char *const[]){said, silent}, 2, &error);
    g_assert_no_error(error);
    const struct kernel_row *row = g_hash_table_lookup(known, said);
    g_assert_cmpint(row->registers, ==, 128);
    g_assert_cmpint(row->spills, ==, 3);
    g_assert_cmpint(row->scratch_bytes, ==, 12);
    g_assert_cmpint(row->local_bytes, ==, 1ll << 33);
    g_assert_cmpint(row->accumulation_registers, ==, 64);
    g_assert_cmpint(row->scalar_registers, ==, 40);
    g_assert_cmpstr(row->instructions, ==, "ds_read_b128 8, total 412");
    row = g_hash_table_lookup(known, silent);
    g_assert_cmpint(row->registers, ==, -1);
    g_assert_cmpint(row->spills, ==, -1);
    g_assert_cmpint(row->scratch_bytes, ==, -1);
    g_assert_cmpint(row->local_bytes, ==, -1);
    g_assert_cmpint(row->accumulation_registers, ==, -1);
    g_assert_cmpint(row->scalar_registers, ==, -1);
    g_assert_null(row->instructions);
    first.key = silent;
    first.spills = -2;
    g_assert_false(store_put_kernel(store, &first, &error));
    g_assert_nonnull(strstr(error->message, "less than nothing"));
    g_clear_error(&error);
    first.spills = 0;
    first.instructions = (char[]){"ds_read_b128 8,412"};
    g_assert_false(store_put_kernel(store, &first, &error));
    g_assert_nonnull(strstr(error->message, "not names with counts"));
    g_clear_pointer(&first.code, g_bytes_unref);
    g_clear_pointer(&second.code, g_bytes_unref);
}

static void expect_kernel(Store *store, const char *key, enum failure failure, const char *code)
{
    g_autoptr(GError) error = NULL;
    struct kernel_row *row = store_get_kernel(store, key, &error);
    g_assert_no_error(error);
    g_assert_cmpint(row->failure, ==, failure);
    g_assert_true((row->code == NULL) == (code == NULL));
    if (code != NULL && row->code != NULL)
        g_assert_cmpmem(g_bytes_get_data(row->code, NULL), g_bytes_get_size(row->code), code,
                        strlen(code) + 1);
    kernel_row_free(row);
}

static void test_first_writer_of_a_kernel_wins(void)
{
    g_autoptr(Store) store = scratch_store();
    g_autoptr(GError) error = NULL;
    char a[65], b[65], c[65];
    memset(a, 'a', 64);
    memset(b, 'b', 64);
    memset(c, 'c', 64);
    a[64] = b[64] = c[64] = '\0';
    put_kernel(store, a, FAILURE_NONE, "first");
    put_kernel(store, a, FAILURE_NONE, "second");
    put_kernel(store, a, FAILURE_COMPILER_CRASH, NULL);
    expect_kernel(store, a, FAILURE_NONE, "first");
    put_kernel(store, b, FAILURE_COMPILER_CRASH, NULL);
    expect_kernel(store, b, FAILURE_COMPILER_CRASH, NULL);
    put_kernel(store, c, FAILURE_COMPILE_ERROR, NULL);
    const char *keys[] = {a, b, c};
    g_autoptr(GHashTable) known = store_known_kernels(store, keys, 3, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(g_hash_table_size(known), ==, 2);
    g_assert_null(g_hash_table_lookup(known, b));
    put_kernel(store, b, FAILURE_NONE, "better");
    expect_kernel(store, b, FAILURE_NONE, "better");

    g_autoptr(GHashTable) costs = store_kernel_costs(store, keys, 3, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(g_hash_table_size(costs), ==, 3);
    const struct kernel_cost *cost = g_hash_table_lookup(costs, b);
    g_assert_cmpint(cost->bytes, ==, sizeof "better");
    g_assert_cmpfloat(cost->seconds, ==, 0.5);
    cost = g_hash_table_lookup(costs, c);
    g_assert_cmpint(cost->bytes, ==, 0);

    int dropped = 0;
    g_assert_true(store_collect_kernels(store, &dropped, &error));
    g_assert_cmpint(dropped, ==, 2);
    expect_kernel(store, a, FAILURE_NONE, NULL);
    put_kernel(store, a, FAILURE_NONE, "again");
    expect_kernel(store, a, FAILURE_NONE, "again");
    g_assert_null(store_get_kernel(store, "none", &error));
    g_assert_error(error, STORE_ERROR, STORE_ERROR_NOT_FOUND);
}

static void test_diary_is_newest_first(void)
{
    g_autoptr(Store) store = scratch_store();
    g_autoptr(GError) error = NULL;
    g_assert_true(store_event(store, "eval child died", 3, 0, 7, "bad bytes \xff here", &error));
    g_assert_true(store_event(store, "device gone", 0, 0, 7, NULL, &error));
    g_assert_no_error(error);
    g_autoptr(GPtrArray) all = store_list_events(store, 0, 10, &error);
    g_assert_cmpuint(all->len, ==, 2);
    const struct event_row *newest = all->pdata[0];
    g_assert_cmpstr(newest->kind, ==, "device gone");
    g_assert_cmpint(newest->campaign, ==, 0);
    g_autoptr(GPtrArray) of_campaign = store_list_events(store, 3, 10, &error);
    g_assert_cmpuint(of_campaign->len, ==, 1);
    const struct event_row *died = of_campaign->pdata[0];
    g_assert_cmpstr(died->detail, ==, "bad bytes \xef\xbf\xbd here");
    g_assert_cmpint(died->worker, ==, 7);
}

static void test_all_lines_of_a_kind_are_found_behind_others(void)
{
    g_autoptr(Store) store = scratch_store();
    g_autoptr(GError) error = NULL;
    g_assert_true(store_event(store, "no solver", 3, 0, 0, "first", &error));
    g_assert_true(store_event(store, "no solver", 4, 0, 0, "of another", &error));
    for (int i = 0; i < 20; i++)
        g_assert_true(store_event(store, "eval child died", 3, 0, 7, "", &error));
    g_assert_true(store_event(store, "no solver", 3, 0, 0, "last", &error));
    g_autoptr(GPtrArray) found = store_list_events_of(store, 3, "no solver", &error);
    g_assert_no_error(error);
    g_assert_cmpuint(found->len, ==, 2);
    g_assert_cmpstr(((const struct event_row *)found->pdata[0])->detail, ==, "first");
    g_assert_cmpstr(((const struct event_row *)found->pdata[1])->detail, ==, "last");
}

static void test_failure_names_are_each_others_inverse(void)
{
    for (int i = 0; i < FAILURE_COUNT; i++) {
        enum failure parsed;
        g_assert_true(failure_parse(failure_name((enum failure)i), &parsed));
        g_assert_cmpint(parsed, ==, i);
    }
    g_assert_false(failure_parse("fine", &(enum failure){0}));
}

static void test_reconnects_after_the_server_was_restarted(void)
{
    g_autoptr(Store) store = scratch_store();
    g_autoptr(GError) error = NULL;
    struct problem problem;
    int64_t id;
    make_problem(&problem, 16);
    g_assert_true(store_put_problems(store, &problem, 1, NULL, &id, &error));
    g_assert_true(embedded_stop(&error));
    g_assert_null(store_list_targets(store, &error));
    g_assert_error(error, STORE_ERROR, STORE_ERROR_CONNECTION);
    g_clear_error(&error);
    g_assert_false(store_put_problems(store, &problem, 1, NULL, &id, &error));
    g_assert_error(error, STORE_ERROR, STORE_ERROR_CONNECTION);
    g_clear_error(&error);
    g_assert_true(embedded_start(&error));
    g_autoptr(GArray) list = store_list_problems(store, NULL, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(list->len, ==, 1);
    g_assert_true(embedded_stop(&error));
    g_assert_true(embedded_start(&error));
    g_autoptr(GPtrArray) read_by_itself = store_list_targets(store, &error);
    g_assert_no_error(error);
    g_assert_nonnull(read_by_itself);
}

int main(int argc, char **argv)
{
    setlocale(LC_ALL, "C");
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/store/server_without_room_is_asked_again",
                    test_server_without_room_is_asked_again);
    g_test_add_func("/store/put_problems/problems_are_stored_once", test_problems_are_stored_once);
    g_test_add_func("/store/put_problems/problems_of_every_form_come_back",
                    test_problems_of_every_form_come_back);
    g_test_add_func("/store/put_problems/mode_and_strides_tell_problems_apart",
                    test_mode_and_strides_tell_problems_apart);
    g_test_add_func("/store/put_network/network_keeps_its_order", test_network_keeps_its_order);
    g_test_add_func("/store/network_has_facts_by_version", test_network_has_facts);
    g_test_add_func("/store/put_target/targets_keep_features_and_partitions",
                    test_targets_keep_features_and_partitions);
    g_test_add_func("/store/put_target/target_learns_from_its_device",
                    test_target_learns_from_its_device);
    g_test_add_func("/store/put_kernel/compiler_facts_are_stored",
                    test_what_a_compiler_says_is_kept);
    g_test_add_func("/store/put_kernel/first_writer_of_a_kernel_wins",
                    test_first_writer_of_a_kernel_wins);
    g_test_add_func("/store/list_events/diary_is_newest_first", test_diary_is_newest_first);
    g_test_add_func("/store/list_events/all_lines_of_a_kind_are_found_behind_others",
                    test_all_lines_of_a_kind_are_found_behind_others);
    g_test_add_func("/failure/names_are_each_others_inverse",
                    test_failure_names_are_each_others_inverse);
    g_test_add_func("/store/reconnects_after_the_server_was_restarted",
                    test_reconnects_after_the_server_was_restarted);
    return g_test_run();
}
