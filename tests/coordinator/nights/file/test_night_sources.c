/* Sources of a night's problems; night_run.t reads some behind HTTP. */
#include "coordinator/nights/file/night_sources.h"

#include "solvers/problem/problem_key.h"
#include "tests/support/farm/scratch_db.h"
#include "tests/support/temp_folder.h"

#include <locale.h>
#include <string.h>

#define KEY_A "8-8-8-3x3-8-8-8-1-1x1-1x1-1x1-0-NCHW-FP32-F"
#define KEY_B "16-8-8-1x1-8-8-8-1-0x0-1x1-1x1-0-NCHW-FP32-F"

static struct night_sources *read_sources(Store *store, const char *problems, GError **error)
{
    g_autofree char *text = g_strdup_printf(
        "{\"name\": \"n\", \"targets\": [\"local\"], \"problems\": [%s]}", problems);
    json_t *json = json_loads(text, 0, NULL);
    g_autoptr(GError) wrong = NULL;
    struct night_file *night = night_file_from_json("night.json", json, &wrong);
    g_assert_no_error(wrong);
    struct night_sources *sources = night_sources_read(store, night, error);
    if (sources) /* what the rest reads of the description */
        for (guint i = 0; i < sources->states->len; i++)
            g_array_index(sources->states, struct night_source_state, i).source = NULL;
    json_decref(json);
    night_file_free(night);
    return sources;
}

static void all_kinds_of_sources_become_one_list(void)
{
    g_autoptr(GError) error = NULL;
    struct layer layers[2] = {{.multiplicity = 2}, {.multiplicity = 1}};
    struct problem tagged;
    Store *store = scratch_store();
    g_autoptr(TempFolder) folder = temp_folder_new();
    g_assert_true(problem_key_parse(KEY_A, &layers[0].problem, NULL));
    g_assert_true(problem_key_parse(KEY_B, &layers[1].problem, NULL));
    tagged = layers[1].problem;
    layers[0].name = g_strdup("a");
    layers[1].name = g_strdup("b");
    g_assert_true(store_put_network(store, "net", layers, 2, NULL, NULL));
    int64_t id;
    g_assert_true(store_put_problems(store, &tagged, 1, "tag", &id, NULL));
    const char *file = temp_folder_write(folder, "list.txt", KEY_A "\n" KEY_A "\n", -1);
    g_autofree char *problems = g_strdup_printf(
        "{\"network\": \"net\", \"runs\": 10}, {\"tag\": \"tag\", \"runs\": 0.5}, {\"file\": "
        "\"%s\"}",
        file);
    struct night_sources *sources = read_sources(store, problems, &error);
    g_assert_no_error(error);
    g_assert_cmpint(sources->problems->len, ==, 2);
    const struct night_problem *a = &g_array_index(sources->problems, struct night_problem, 0);
    const struct night_problem *b = &g_array_index(sources->problems, struct night_problem, 1);
    g_assert_cmpint(a->multiplicity, ==, 4); /* 2 of the network, 2 of the file */
    g_assert_cmpfloat(a->weight, ==, 22);
    g_assert_cmpint(a->uses->len, ==, 2);
    g_assert_cmpfloat(b->weight, ==, 10.5);
    g_assert_cmpint(b->uses->len, ==, 2);
    g_assert_cmpstr(g_array_index(a->uses, struct night_use, 0).network, ==, "net@1");
    g_assert_cmpstr(g_array_index(a->uses, struct night_use, 1).network, ==, "list");
    g_assert_cmpint(sources->networks->len, ==, 1);
    g_assert_cmpstr(sources->networks->pdata[0], ==, "net@1");
    struct problem other = layers[0].problem;
    other.n = 77;
    g_assert_true(night_sources_keep_only(sources, &layers[1].problem));
    g_assert_cmpint(sources->problems->len, ==, 1);
    g_assert_false(night_sources_keep_only(sources, &other));
    g_assert_cmpint(sources->problems->len, ==, 1);
    night_sources_free(sources);
    g_free(layers[0].name);
    g_free(layers[1].name);
    store_close(store);
}

static void a_network_that_was_not_imported_comes_with_the_program(void)
{
    g_autoptr(GError) error = NULL;
    Store *store = scratch_store();
    struct night_sources *sources = read_sources(store, "{\"network\": \"resnet18\"}", &error);
    g_assert_no_error(error);
    g_assert_cmpint(sources->problems->len, ==, 11);
    const struct night_source_state *state =
        &g_array_index(sources->states, struct night_source_state, 0);
    g_assert_cmpstr(state->network, ==, "resnet18");
    g_assert_cmpstr(state->detail, ==, "the table that comes with the program");
    night_sources_free(sources);
    sources = read_sources(store, "{\"network\": \"resnet18\", \"batch\": [4, 8]}", &error);
    g_assert_no_error(error);
    g_assert_cmpint(sources->problems->len, ==, 22);
    night_sources_free(sources);
    struct layer layer = {.name = g_strdup("mine"), .multiplicity = 1};
    g_assert_true(problem_key_parse(KEY_A, &layer.problem, NULL));
    g_assert_true(store_put_network(store, "resnet18", &layer, 1, NULL, NULL));
    sources = read_sources(store, "{\"network\": \"resnet18\"}", &error);
    g_assert_no_error(error);
    g_assert_cmpint(sources->problems->len, ==,
                    1); /* an imported network of the name comes first */
    night_sources_free(sources);
    g_assert_null(read_sources(store, "{\"network\": \"resnet18\", \"batch\": 4}", &error));
    g_assert_nonnull(strstr(error->message, "was imported with batch, data type and layout"));
    g_free(layer.name);
    store_close(store);
}

static void a_source_that_cannot_be_read_is_named(void)
{
    static const struct {
        const char *problems, *words;
    } rows[] = {
        {"{\"network\": \"nowhere\"}", "problems[0]"},
        {"{\"tag\": \"nobody\"}", "there is no problem in tag 'nobody'"},
        {"{\"file\": \"/no/such/list\"}", "/no/such/list"},
        {"{\"file\": \"/dev/null\", \"sha256\": "
         "\"0000000000000000000000000000000000000000000000000000000000000000\"}",
         "change sha256"},
        {"{\"file\": \"resnet18\"}", "named by \"network\""},
        {"{\"network\": \"resnet18@3\"}", "skipjack import NAME"},
    };
    Store *store = scratch_store();
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(GError) error = NULL;
        g_assert_null(read_sources(store, rows[i].problems, &error));
        g_test_message("%s", error->message);
        g_assert_true(g_str_has_prefix(error->message,
                                       "cannot read problems[0] of the night 'night.json': "));
        g_assert_nonnull(strstr(error->message, rows[i].words));
    }
    store_close(store);
}

int main(int argc, char **argv)
{
    setlocale(LC_ALL, "C.UTF-8");
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/night_sources/all_kinds_of_sources_become_one_list",
                    all_kinds_of_sources_become_one_list);
    g_test_add_func("/night_sources/a_network_that_was_not_imported_comes_with_the_program",
                    a_network_that_was_not_imported_comes_with_the_program);
    g_test_add_func("/night_sources/a_source_that_cannot_be_read_is_named",
                    a_source_that_cannot_be_read_is_named);
    return g_test_run();
}
