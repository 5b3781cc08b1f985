/* A night's description: every field, its default and its range; messages that name the field; the schema and the
 * example in the tree. */
#include "coordinator/cli/cli.h"
#include "coordinator/fields/fields.h"
#include "coordinator/nights/file/night_file.h"
#include "tests/support/temp_folder.h"

#include <locale.h>
#include <string.h>

#define LEAST "\"name\": \"n\", \"targets\": [\"local\"], \"problems\": [{\"tag\": \"t\"}]"

static struct night_file *parse(const char *text, GError **error)
{
    json_t *json = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    g_assert_nonnull(json);
    struct night_file *night = night_file_from_json("/lists/nightly.json", json, error);
    json_decref(json);
    return night;
}

static struct night_file *parse_well(const char *text)
{
    g_autoptr(GError) error = NULL;
    struct night_file *night = parse(text, &error);
    g_assert_no_error(error);
    return night;
}

static void fields_left_out_have_defaults(void)
{
    struct night_file *night = parse_well("{" LEAST "}");
    g_assert_cmpstr(night->name, ==, "n");
    g_assert_cmpint(night->target_count, ==, 1);
    g_assert_cmpstr(night->targets[0].target, ==, "local");
    g_assert_null(night->targets[0].stack);
    g_assert_cmpint(night->sources[0].kind, ==, NIGHT_SOURCE_TAG);
    g_assert_cmpfloat(night->sources[0].runs, ==, 1);
    g_assert_cmpstr(night->search.strategy, ==, "prior");
    g_assert_cmpint(night->search.configs, ==, REQUEST_DEFAULT_CONFIGS);
    g_assert_cmpint(night->search.close_configs, ==, 0);
    g_assert_null(night->limits.workspace);
    g_assert_cmpfloat(night->budget.node_hours, ==, 0);
    g_assert_null(night->deadline);
    g_assert_cmpfloat(night->share, ==, 1);
    g_assert_cmpint(night->backfill_priority, ==, -10);
    g_assert_cmpfloat(night->again.sample, ==, 0.01);
    g_assert_cmpfloat(night->again.noisy_spread, ==, 0.1);
    g_assert_cmpint(night->again.retries, ==, 3);
    g_assert_cmpint(night->golden.version, ==, NIGHT_GOLDEN_LATEST);
    g_assert_false(night->golden.propose);
    g_assert_cmpfloat(night->regressions.percent, ==, 3);
    g_assert_null(night->export.folder);
    g_assert_cmpint(night->tell_count, ==, 0);
    night_file_free(night);
}

static void all_fields_of_the_example_are_read(void)
{
    g_autoptr(GError) error = NULL;
    struct night_file *night = night_file_read("coordinator/nights/nightly.example.json", &error);
    g_assert_no_error(error);
    g_assert_true(night_file_is("coordinator/nights/nightly.example.json"));
    g_assert_cmpint(night->target_count, ==, 2);
    g_assert_cmpstr(night->targets[1].stack, ==, "driver >= 535");
    g_assert_cmpstr(night->targets[1].pool, ==, "night");
    g_assert_cmpint(night->source_count, ==, 5);
    g_assert_cmpint(night->sources[0].kind, ==, NIGHT_SOURCE_NETWORK);
    g_assert_cmpfloat(night->sources[0].runs, ==, 40);
    g_assert_cmpint(night->sources[3].kind, ==, NIGHT_SOURCE_FILE);
    g_assert_true(g_path_is_absolute(night->sources[3].file));
    g_assert_true(
        g_str_has_suffix(night->sources[3].file, "/coordinator/networks/mobilenet-v2.csv"));
    g_assert_true(g_file_test(night->sources[3].file, G_FILE_TEST_IS_REGULAR));
    g_assert_cmpstr(night->sources[3].words.batch, ==, "1,64");
    g_assert_cmpstr(night->sources[3].words.dtype, ==, "FP32,FP16");
    g_assert_cmpint(night->sources[4].kind, ==, NIGHT_SOURCE_URL);
    g_assert_cmpint(night->sources[4].bytes_most, ==, 1 << 20);
    g_assert_cmpint(night->sources[4].seconds_most, ==, 30);
    g_assert_cmpint(night->search.configs, ==, 64);
    g_assert_cmpstr(night->limits.workspace, ==, "256MiB");
    g_assert_true(night->limits.deterministic);
    g_assert_cmpfloat(night->budget.node_hours, ==, 40);
    g_assert_cmpstr(night->deadline, ==, "07:00");
    g_assert_true(night->golden.propose);
    g_assert_cmpint(night->export.what, ==, NIGHT_EXPORT_GOLDEN);
    g_assert_cmpstr(night->export.kinds, ==, "perf,find,kernels");
    g_assert_cmpstr(night->report.folder, ==, "/srv/skipjack/reports");
    g_assert_cmpint(night->tell_count, ==, 2);
    g_assert_cmpint(night->tells[0].on, ==, NIGHT_TELL_REGRESSION | NIGHT_TELL_FAILURE);
    g_assert_true(g_str_has_suffix(night->tells[0].secret_file, "/nights/webhook.key"));
    g_assert_cmpint(night->tells[1].on, ==, NIGHT_TELL_ALWAYS);
    night_file_free(night);
}

static void a_night_is_made_again_from_its_json(void)
{
    struct night_file *night = parse_well("{" LEAST ", \"solvers\": [\"ConvGemm1x1\", \"fft\"]}");
    g_autoptr(GError) error = NULL;
    struct night_file *again = night_file_from_json(night->path, night->json, &error);
    g_assert_no_error(error);
    g_assert_cmpstr(again->solvers, ==, "ConvGemm1x1,fft");
    g_assert_true(json_equal(again->json, night->json));
    night_file_free(night);
    night_file_free(again);
}

static void a_request_gets_the_fields_of_its_target(void)
{
    struct request request;
    struct night_file *night = parse_well(
        "{\"name\": \"n\", \"problems\": [{\"tag\": \"t\"}], \"targets\": [{\"target\": \"gfx90a68\","
        " \"stack\": \"driver >= 5\", \"pool\": \"p\", \"trust\": [\"a\", \"b\"]}],"
        " \"solvers\": \"fft\", \"search\": {\"configs\": 7, \"seed\": 3, \"strategy\": \"random\"},"
        " \"limits\": {\"workspace_limit\": 4096, \"dynamic_only\": true},"
        " \"budget\": {\"seconds\": 60}, \"priority\": -2, \"share\": 0.5}");
    request_init(&request, 0);
    night_file_request(night, &night->targets[0], &request);
    g_assert_cmpstr(request.target, ==, "gfx90a68");
    g_assert_cmpstr(request.stack, ==, "driver >= 5");
    g_assert_cmpstr(request.pool, ==, "p");
    g_assert_cmpstr(request.trust, ==, "a,b");
    g_assert_cmpstr(request.solvers, ==, "fft");
    g_assert_cmpint(request.configs, ==, 7);
    g_assert_cmpint(request.seed, ==, 3);
    g_assert_cmpstr(request.strategy, ==, "random");
    g_assert_cmpstr(request.workspace_limit, ==, "4096");
    g_assert_true(request.dynamic_only);
    g_assert_cmpfloat(request.budget_seconds, ==, 60);
    g_assert_cmpint(request.priority, ==, -2);
    g_assert_cmpfloat(request.share, ==, 0.5);
    g_assert_true(request_check(&request, NULL));
    request_clear(&request);
    night_file_free(night);
}

static void wrong_fields_are_named_with_what_they_take(void)
{
    static const struct {
        const char *text, *message;
    } rows[] = {
        {"[]", "takes an object, not []"},
        {"{\"targets\": [\"local\"], \"problems\": [{\"tag\": \"t\"}]}",
         "the field 'name' is missing"},
        {"{\"name\": \"n\", \"problems\": [{\"tag\": \"t\"}]}", "the field 'targets' is missing"},
        {"{\"name\": \"n\", \"targets\": [], \"problems\": [{\"tag\": \"t\"}]}",
         "targets: takes a list of targets, one at the least, not []"},
        {"{\"name\": \"n\", \"targets\": [\"a\", {\"target\": \"a\"}], \"problems\": [{\"tag\": "
         "\"t\"}]}",
         "targets[1]: targets[0] is 'a', too; name a target once"},
        {"{\"name\": \"../x\", \"targets\": [\"a\"], \"problems\": [{\"tag\": \"t\"}]}",
         "name: takes up to 100 letters"},
        {"{" LEAST ", \"prioritty\": 1}",
         "prioritty: there is no such field; did you mean 'priority'?"},
        {"{" LEAST ", \"search\": {\"config\": 1}}",
         "search.config: there is no such field; did you mean 'configs'?"},
        {"{" LEAST ", \"search\": {\"configs\": 1.5}}",
         "search.configs: takes a whole number from 0 to 1000000, not 1.5"},
        {"{" LEAST ", \"search\": {\"strategy\": \"best\"}}",
         "search.strategy: takes a strategy of prior, model, local, annealing, genetic, random, exhaustive, not \"best\""},
        {"{" LEAST ", \"search\": 3}", "search: takes an object, not 3"},
        {"{" LEAST ", \"limits\": {\"workspace_limit\": \"64 apples\"}}",
         "limits.workspace_limit: takes a number of bytes, or a text such as \"64MiB\", not"},
        {"{" LEAST ", \"share\": 0}", "share: takes a number above 0 and up to 1000000, not 0"},
        {"{" LEAST ", \"deadline\": \"seven\"}",
         "deadline: takes a time such as 07:00, or a duration such as 9h30m, not \"seven\""},
        {"{" LEAST ", \"again\": {\"sample\": 2}}",
         "again.sample: takes a number from 0 to 1, not 2"},
        {"{" LEAST ", \"golden\": {\"version\": 0}}",
         "golden.version: takes a version's number from 1 to 2147483647, or \"latest\", not 0"},
        {"{" LEAST ", \"golden\": {\"approve\": true}}", "golden: 'approve' belongs to 'propose'"},
        {"{" LEAST ", \"export\": {\"keep\": 3}}", "export: the field 'folder' is missing"},
        {"{" LEAST ", \"export\": {\"folder\": \"x\", \"kinds\": [\"find\", \"find\"]}}",
         "export.kinds: takes a kind of database, or a list of them without repetition"},
        {"{" LEAST ", \"tell\": [{\"webhook\": \"https://user:key@host/\"}]}",
         "tell[0].webhook: takes an http or https address without a user's name"},
        {"{" LEAST ", \"tell\": [{\"webhook\": \"http://h/\", \"on\": [\"never\"]}]}",
         "tell[0].on: takes a list without repetition of regression, gain, failure, always, not "
         "[\"never\"]"},
        {"{" LEAST ", \"solvers\": [\"ConvNothing\"]}", "solvers: there is no solver"},
        {"{\"name\": \"n\", \"targets\": [\"a\"], \"problems\": [{\"tag\": \"t\"}, {\"tag\": \"t\", "
         "\"file\": \"f\"}]}",
         "problems[1]: takes exactly one of 'network', 'tag', 'file', 'url'"},
        {"{\"name\": \"n\", \"targets\": [\"a\"], \"problems\": [{\"tag\": \"r\", \"batch\": 1}]}",
         "problems[0]: 'batch' belongs to 'file' or 'url' or 'network'"},
        {"{\"name\": \"n\", \"targets\": [\"a\"], \"problems\": [{\"file\": \"f\", \"batch\": [1, "
         "1]}]}",
         "problems[0].batch: takes a batch size, or a list of them without repetition from 1 to"},
        {"{\"name\": \"n\", \"targets\": [\"a\"], \"problems\": [{\"file\": \"f\", \"max_bytes\": "
         "1}]}",
         "problems[0]: 'max_bytes' belongs to 'url'"},
        {"{\"name\": \"n\", \"targets\": [\"a\"], \"problems\": [{\"url\": \"ftp://h/x\"}]}",
         "problems[0].url: takes an http or https address"},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(GError) error = NULL;
        g_assert_null(parse(rows[i].text, &error));
        g_assert_error(error, COORDINATOR_ERROR, COORDINATOR_ERROR_USAGE);
        g_test_message("%s", error->message);
        g_assert_true(
            g_str_has_prefix(error->message, "cannot read the night '/lists/nightly.json': "));
        g_assert_nonnull(strstr(error->message, rows[i].message));
    }
}

static void errors_of_syntax_have_a_line(void)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    g_autoptr(GError) error = NULL;
    const char *path =
        temp_folder_write(folder, "n.json", "{\n\"name\": \"a\",\n\"name\": \"b\"}", -1);
    g_assert_null(night_file_read(path, &error));
    g_assert_nonnull(strstr(error->message, "line 3: duplicate object key"));
    g_assert_false(night_file_is(path));
}

static void files_without_targets_are_campaigns(void)
{
    static const struct {
        const char *text;
        bool is_night;
    } rows[] = {{"{\"target\": \"local\", \"problems\": \"x\"}", false},
                {"{\"targets\": 3}", true},
                {"[1]", false},
                {"not JSON", false}};
    g_autoptr(TempFolder) folder = temp_folder_new();
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        const char *path = temp_folder_write(folder, "n.json", rows[i].text, -1);
        g_assert_cmpint(night_file_is(path), ==, rows[i].is_night);
    }
    g_assert_false(night_file_is("/no/such/file"));
}

/* `make nightly-schema` brings the file up to date after a change of the table. */
static void the_schema_in_the_tree_is_the_one_of_the_table(void)
{
    json_t *stored = json_load_file("coordinator/nights/nightly.schema.json", 0, NULL);
    json_t *made = night_file_schema();
    g_assert_nonnull(stored);
    g_assert_true(json_equal(stored, made));
    json_decref(stored);
    json_decref(made);
}

/* The importers read all words that the schema admits. */
static void words_of_lists_are_those_of_the_importers(void)
{
    static const char *const types = "FP32,FP16,BF16,INT8,FP64,FP8,BF8";
    static const char *const layouts[] = {"NCHW", "NHWC", "CHWN", "NCHWc4", "NCHWc8"};
    json_t *schema = night_file_schema();
    json_t *fields = json_object_get(json_object_get(json_object_get(schema, "$defs"), "problems"),
                                     "properties");
    json_t *dtype = json_object_get(
        json_array_get(json_object_get(json_object_get(fields, "dtype"), "anyOf"), 0), "enum");
    json_t *layout = json_object_get(json_object_get(fields, "layout"), "enum");
    g_auto(GStrv) all = g_strsplit(types, ",", -1);
    g_assert_cmpuint(json_array_size(dtype), ==, g_strv_length(all));
    g_assert_cmpuint(json_array_size(layout), ==, G_N_ELEMENTS(layouts));
    for (gsize i = 0; i < json_array_size(dtype); i++)
        for (gsize j = 0; j < json_array_size(layout); j++) {
            const struct import_words words = {
                .dtype = (char *)json_string_value(json_array_get(dtype, i)),
                .layout = (char *)json_string_value(json_array_get(layout, j)),
            };
            struct import_options options;
            g_assert_true(import_words_parse(&words, &options, NULL));
        }
    json_decref(schema);
}

static void sizes_of_the_schema_are_read_as_sizes(void)
{
    static const char *const sizes[] = {"0",          "4096", "64MiB",     "1.5 GB",
                                        "999999 TiB", "12k",  "0.000001T", "999999999999999",
                                        "7b",         "3kb"};
    for (gsize i = 0; i < G_N_ELEMENTS(sizes); i++) {
        struct request request;
        struct context_limits limits;
        g_autofree char *text =
            g_strdup_printf("{" LEAST ", \"limits\": {\"workspace_limit\": \"%s\"}}", sizes[i]);
        struct night_file *night = parse_well(text);
        request_init(&request, 0);
        night_file_request(night, &night->targets[0], &request);
        g_assert_true(request_limits(&request, &limits, NULL));
        request_clear(&request);
        night_file_free(night);
    }
}

int main(int argc, char **argv)
{
    setlocale(LC_ALL, "C.UTF-8");
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/night_file/fields_left_out_have_defaults", fields_left_out_have_defaults);
    g_test_add_func("/night_file/all_fields_of_the_example_are_read",
                    all_fields_of_the_example_are_read);
    g_test_add_func("/night_file/a_night_is_made_again_from_its_json",
                    a_night_is_made_again_from_its_json);
    g_test_add_func("/night_file/a_request_gets_the_fields_of_its_target",
                    a_request_gets_the_fields_of_its_target);
    g_test_add_func("/night_file/wrong_fields_are_named_with_what_they_take",
                    wrong_fields_are_named_with_what_they_take);
    g_test_add_func("/night_file/errors_of_syntax_have_a_line", errors_of_syntax_have_a_line);
    g_test_add_func("/night_file/files_without_targets_are_campaigns",
                    files_without_targets_are_campaigns);
    g_test_add_func("/night_file/the_schema_in_the_tree_is_the_one_of_the_table",
                    the_schema_in_the_tree_is_the_one_of_the_table);
    g_test_add_func("/night_file/words_of_lists_are_those_of_the_importers",
                    words_of_lists_are_those_of_the_importers);
    g_test_add_func("/night_file/sizes_of_the_schema_are_read_as_sizes",
                    sizes_of_the_schema_are_read_as_sizes);
    return g_test_run();
}
