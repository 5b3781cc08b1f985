/* Reading recorded spaces: each format gives the same space, and every damage is named with its place. */
#include <math.h>
#include <string.h>

#include "coordinator/replay/recorded_space.h"
#include "tests/support/export/real_data.h"

#define CACHE_HEAD                                                                                 \
    "{\"device_name\": \"A100\", \"kernel_name\": \"gemm\", \"problem_size\": [64, 64],"           \
    " \"tune_params_keys\": [\"TILE\", \"MODE\", \"FIXED\"], \"cache\": {"
#define CACHE_ROW(tile, mode, rest)                                                                \
    "\"" #tile "," mode ",1\": {\"TILE\": " #tile ", \"MODE\": \"" mode "\", \"FIXED\": 1, " rest  \
    "}"
#define COSTS "\"compile_time\": 100, \"verification_time\": 0, \"benchmark_time\": 50"

static const char cache[] = CACHE_HEAD
    CACHE_ROW(32, "b", "\"time\": 2.0, \"times\": [1.0, 2.0, 3.0], " COSTS) "," CACHE_ROW(
        8, "a",
        "\"time\": 1.0, \"times\": [1.0], " COSTS) "," CACHE_ROW(8, "b",
                                                                 "\"time\": \"CompilationFailedConfig\", " COSTS) "}}";

#define T4_RESULT(tile, mode, rest)                                                                \
    "{\"configuration\": {\"TILE\": " #tile ", \"MODE\": \"" mode "\", \"FIXED\": 1.0}, "          \
    "\"correctness\": 1, \"times\": {\"compilation_time\": 100, \"benchmark\": 50" rest "}"

static const char t4[] = "{\"schema_version\": \"1.0.0\", \"results\": [" T4_RESULT(
    8, "a",
    ", \"runtimes\": [1.0]}, \"invalidity\": \"correct\", \"measurements\":"
    " [{\"name\": \"time\", \"value\": 0.001, \"unit\": \"s\"}]") "," T4_RESULT(32, "b",
                                                                                ", \"runtimes\": [1.0, 2.0, 3.0]}, \"invalidity\": \"correct\"") "," T4_RESULT(8,
                                                                                                                                                               "b",
                                                                                                                                                               "}, \"invalidity\": \"compile\"") "]}";

#define OWN_HEAD                                                                                   \
    "{\"format\": \"skipjack space\", \"version\": 1, \"problem\": \"p\", \"solver\": \"S\","      \
    " \"revision\": 1, \"target\": \"t\", \"recorded\": \"2026-11-23\", \"space_configs\": 4,"     \
    " \"params\": [\"TILE\", \"MODE\", \"FIXED\"],"
static const char own[] =
    OWN_HEAD " \"default\": 1, \"configs\": [[8, \"a\", 1], [32, \"b\", 1], [8, \"b\", 1]],"
             " \"failed\": {\"compile error\": [2]}, \"time_ms\": [1.0, 2.0, null],"
             " \"spread\": [0.01, 0.02, null], \"runs\": [9, 9, null],"
             " \"build_seconds\": [0.1, 0.1, 0.1], \"eval_seconds\": [0.05, 0.05, 0.05]}";

static RecordedSpace *parse(const char *text)
{
    g_autoptr(GError) error = NULL;
    RecordedSpace *space = recorded_space_parse("s.json", text, strlen(text), &error);
    g_assert_no_error(error);
    return space;
}

/* The space of the three texts: sorted by TILE and MODE, FIXED not searched, MODE numbered. */
static void expect_space(const RecordedSpace *space)
{
    const struct recorded_config *configs = (const void *)space->configs->data;
    g_assert_cmpuint(space->configs->len, ==, 3);
    g_assert_cmpint(space->space.param_count, ==, 2);
    g_assert_cmpstr(space->space.params[0].name, ==, "TILE");
    g_assert_cmpint(space->space.params[0].values[1], ==, 32);
    g_assert_cmpint(space->space.params[1].values[1], ==, 1);
    g_assert_cmpint(space->best, ==, 0);
    g_assert_cmpint(space->failed, ==, 1);
    g_assert_cmpfloat_with_epsilon(configs[0].time_ms, 1.0, 1e-12);
    g_assert_nonnull(configs[1].failure);
    g_assert_true(isinf(configs[1].time_ms));
    g_assert_cmpfloat(configs[2].time_ms, ==, 2.0);
    g_assert_cmpfloat_with_epsilon(configs[2].seconds, 0.15, 1e-12);
    json_t *object = recorded_config_json(space, 2);
    json_t *expected = json_pack("{s:i, s:s, s:i}", "TILE", 32, "MODE", "b", "FIXED", 1);
    g_assert_cmpfloat(json_number_value(json_object_get(object, "FIXED")), ==, 1);
    json_object_set(expected, "FIXED", json_object_get(object, "FIXED"));
    g_assert_true(json_equal(object, expected));
    json_decref(object);
    json_decref(expected);
}

static void test_all_formats_give_the_same_space(void)
{
    static const char *const texts[] = {cache, t4, own};
    static const char *const formats[] = {"Kernel Tuner cache", "T4", RECORDED_FORMAT};
    for (gsize i = 0; i < G_N_ELEMENTS(texts); i++) {
        g_autoptr(RecordedSpace) space = parse(texts[i]);
        g_assert_cmpstr(space->format, ==, formats[i]);
        expect_space(space);
        g_assert_cmpint(space->whole, ==, i == 2 ? 4 : 3);
        g_assert_cmpint(space->default_config, ==, i == 2 ? 2 : -1);
    }
}

static void test_walk_meets_each_config_once_in_order_of_values(void)
{
    g_autoptr(RecordedSpace) space = parse(cache);
    g_autoptr(GArray) found = g_array_new(FALSE, FALSE, sizeof(struct perf_config));
    search_space_neighbours(&space->space, &(struct perf_config){2, {8, 0}}, found);
    g_assert_cmpuint(found->len, ==, 1);
    g_assert_cmpint(recorded_space_find(space, &g_array_index(found, struct perf_config, 0)), ==,
                    1);
    g_assert_cmpint(recorded_space_find(space, &(struct perf_config){2, {32, 0}}), ==, -1);
}

/* ---- damage ---- */

static const struct {
    const char *text, *says;
} damages[] = {
    {"", "line 1, column 0"},
    {"[1, 2]", "it is no recorded space"},
    {"{\"a\": 1}", "it is no recorded space"},
    {CACHE_HEAD CACHE_ROW(8, "a", "\"time\": 1.0") ",", "near end of file"},
    {CACHE_HEAD CACHE_ROW(8, "a", "\"time\": 1.0") "," CACHE_ROW(8, "a", "\"time\": 2.0") "}}",
     "duplicate object key"},
    {CACHE_HEAD "}}", "it has no configs"},
    {"{\"cache\": {}}", "'tune_params_keys' is no array"},
    {"{\"tune_params_keys\": [\"A\", \"A\"], \"cache\": {}}", "'A' appears twice"},
    {"{\"tune_params_keys\": [7], \"cache\": {}}", "a parameter has no name"},
    {"{\"tune_params_keys\": [\"A\"], \"cache\": []}", "'cache' is no object"},
    {CACHE_HEAD CACHE_ROW(8, "a", "\"time\": null") "}}", "cache[\"8,a,1\"]: 'time' is neither"},
    {CACHE_HEAD CACHE_ROW(8, "a", "\"time\": -1") "}}", "the time is not above 0"},
    {CACHE_HEAD CACHE_ROW(8, "a", "\"time\": 1, \"times\": 3") "}}", "runs are no array"},
    {CACHE_HEAD CACHE_ROW(8, "a", "\"time\": 1, \"times\": [1, \"x\"]") "}}", "run 1 is not a"},
    {CACHE_HEAD CACHE_ROW(8, "a", "\"time\": 1, \"compile_time\": -3") "}}", "'compile_time'"},
    {CACHE_HEAD "\"x\": {\"TILE\": 8, \"time\": 1}}}", "no value of the parameter 'MODE'"},
    {CACHE_HEAD "\"x\": {\"TILE\": [], \"MODE\": 1, \"FIXED\": 1, \"time\": 1}}}", "'TILE' is no"},
    {CACHE_HEAD "\"x\": 3}}", "cache[\"x\"]: it is no object"},
    {CACHE_HEAD CACHE_ROW(8, "a", "\"time\": 1") "}}", "there is nothing to search"},
    {CACHE_HEAD CACHE_ROW(8, "a", "\"time\": \"E\"") "," CACHE_ROW(9, "a", "\"time\": \"E\"") "}}",
     "no config was measured"},
    {"{\"tune_params_keys\": [\"A\"], \"cache\": {\"1\": {\"A\": 1, \"time\": 1}, "
     "\"2\": {\"A\": 2, \"time\": 1}, \"1.0\": {\"A\": 1.0, \"time\": 1}}}",
     "the config {\"A\":1} was recorded twice"},
    {"{\"results\": 1}", "'results' is no array"},
    {"{\"results\": [{\"configuration\": {\"A\": 1}}]}", "results[0]: 'times' is no object"},
    {"{\"results\": [{\"times\": {}}]}", "results[0]: 'configuration' is no object"},
    {"{\"results\": [{\"configuration\": {\"A\": 1}, \"times\": {}}]}", "'invalidity' is no text"},
    {"{\"results\": [{\"configuration\": {\"A\": 1}, \"times\": {}, \"invalidity\": \"correct\"}]}",
     "neither a measurement 'time' nor 'runtimes'"},
    {"{\"results\": [{\"configuration\": {\"A\": 1}, \"times\": {}, \"invalidity\": \"correct\", "
     "\"measurements\": [{\"name\": \"time\", \"value\": 1, \"unit\": \"weeks\"}]}]}",
     "unknown unit 'weeks'"},
    {"{\"results\": [{\"configuration\": {\"A\": 1}, \"times\": {}, \"invalidity\": \"compile\"}, "
     "{\"configuration\": {\"A\": 1, \"B\": 2}, \"times\": {}, \"invalidity\": \"compile\"}]}",
     "results[1]: it has 2 parameters, and the first result 1"},
    {"{\"format\": \"other\"}", "'format' is not"},
    {"{\"format\": \"skipjack space\", \"version\": 2}", "a newer program wrote the file"},
    {OWN_HEAD "\"configs\": 1}", "'configs' is no array"},
    {OWN_HEAD "\"configs\": [[1]], \"time_ms\": []}", "'time_ms' has 0 elements, and 'configs' 1"},
};

static void test_damage_is_named_with_its_place(void)
{
    for (gsize i = 0; i < G_N_ELEMENTS(damages); i++) {
        g_autoptr(GError) error = NULL;
        g_assert_null(
            recorded_space_parse("s.json", damages[i].text, strlen(damages[i].text), &error));
        g_assert_error(error, REPLAY_ERROR, REPLAY_ERROR_FILE);
        if (!strstr(error->message, damages[i].says) || !strstr(error->message, "'s.json'"))
            g_error("%zu: '%s' does not say '%s'", i, error->message, damages[i].says);
    }
}

/* Own files with one member replaced. */
static void test_damaged_columns_are_named(void)
{
    static const struct {
        const char *member, *value, *says;
    } changes[] = {
        {"default", "3", "'default' is no index"},
        {"space_configs", "2", "'space_configs' is less"},
        {"failed", "{\"x\": [7]}", "failed[\"x\"][0] names no config"},
        {"failed", "{\"x\": [2], \"y\": [2]}", "names no config, or one twice"},
        {"failed", "{}", "time_ms[2] is not a number"},
        {"runs", "[9, -1, null]", "runs[1] is not a number"},
        {"configs", "[[8], [32], [9]]", "configs[0] is not one value for each"},
        {"configs", "[[8, null, 1], [32, 0, 1], [9, 0, 1]]", "configs[0][1] is no value"},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(changes); i++) {
        g_autoptr(GError) error = NULL;
        json_t *root = json_loads(own, 0, NULL);
        json_object_set_new(root, changes[i].member,
                            json_loads(changes[i].value, JSON_DECODE_ANY, NULL));
        char *text = json_dumps(root, 0);
        g_assert_null(recorded_space_parse("s.json", text, strlen(text), &error));
        if (!error || !strstr(error->message, changes[i].says))
            g_error("%zu: '%s'", i, error ? error->message : "no error");
        free(text);
        json_decref(root);
    }
}

static void test_cut_packed_file_is_refused(void)
{
    static const char bytes[] = "\x1f\x8b\x08\0\0\0\0\0\2\3\xab";
    g_autoptr(GError) error = NULL;
    g_assert_null(recorded_space_parse("s.json.gz", bytes, sizeof bytes - 1, &error));
    g_assert_nonnull(strstr(error->message, "s.json.gz"));
}

static void test_missing_file_is_named(void)
{
    g_autoptr(GError) error = NULL;
    g_assert_null(recorded_space_read("/no/such/space.json", &error));
    g_assert_nonnull(strstr(error->message, "/no/such/space.json"));
}

static void test_real_spaces_are_read(void)
{
    g_autofree char *folder = real_data("spaces");
    g_autoptr(GError) error = NULL;
    if (!folder)
        return;
    g_autofree char *path = g_build_filename(folder, "convolution_milo_A4000.json.gz", NULL);
    g_autoptr(RecordedSpace) space = recorded_space_read(path, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(space->configs->len, ==, 4362);
    g_assert_cmpint(space->failed, ==, 161);
    g_assert_cmpstr(space->about.device, ==, "NVIDIA RTX A4000");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/recorded_read/all_formats_give_the_same_space",
                    test_all_formats_give_the_same_space);
    g_test_add_func("/recorded_read/walk_meets_each_config_once_in_order_of_values",
                    test_walk_meets_each_config_once_in_order_of_values);
    g_test_add_func("/recorded_read/damage_is_named_with_its_place",
                    test_damage_is_named_with_its_place);
    g_test_add_func("/recorded_read/damaged_columns_are_named", test_damaged_columns_are_named);
    g_test_add_func("/recorded_read/cut_packed_file_is_refused", test_cut_packed_file_is_refused);
    g_test_add_func("/recorded_read/missing_file_is_named", test_missing_file_is_named);
    g_test_add_func("/recorded_read/real_spaces_are_read", test_real_spaces_are_read);
    return g_test_run();
}
