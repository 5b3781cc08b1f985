#include "tests/support/export/import_totals.h"
#include "tests/support/export/real_data.h"

#include <string.h>

static const struct import_options no_options;

#define KEY  "64-56-56-3x3-128-28-28-1-1x1-2x2-1x1-0-NCHW-FP32-F"
#define HEAD "in_channels,out_channels,in_size,kernel_size,stride,padding,count\n"
#define ROW  "64,128,56,3,2,1,5\n"

static Import *read_table(const char *text, const struct import_options *options)
{
    g_autoptr(GError) error = NULL;
    Import *import = import_new(options);
    g_assert_true(import_bytes(import, "t.csv", text, strlen(text), &error));
    g_assert_no_error(error);
    return import;
}

/* Asserts that the table is refused and that none of its rows is imported. Returns the message;
 * free with g_free(). */
static char *refusal(const char *text, const struct import_options *options)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(Import) import = import_new(options);
    g_assert_false(import_bytes(import, "t.csv", text, strlen(text), &error));
    g_assert_error(error, EXPORT_ERROR, EXPORT_ERROR_KIND);
    import_has_totals(import, 0, 0, 0, 0, 0);
    return g_strdup(error->message);
}

/* Each of these tables describes the same layer with the multiplicity 5. */
static void test_ways_to_write(void)
{
    static const struct {
        const char *text;
        int64_t lines;
    } rows[] = {
        {HEAD ROW, 2},
        {"\xef\xbb\xbf" HEAD ROW, 2},
        {"# words\n\n" HEAD "\n" ROW ",,,,,,\n# more\n", 7},
        {"sep=;\nin_channels;out_channels;in_size;kernel_size;stride;padding;count\r\n"
         "64;128;56;3;2;1;5\r\n",
         3},
        {"in_channels\tout_channels\tin_size\tkernel_size\tstride\tpadding\tcount\n"
         "64\t128\t56\t3\t2\t1\t5",
         2},
        {"in_channels\rout_channels\r", 0}, /* replaced below */
        {"\"in_channels\",\"out\nchannels\",\"in size\",\"kernel\n size\",stride,padding,count\n"
         "\"64\",128,\"56x56\",\"(3, 3)\",\"2,2\",1,5\n",
         4},
        {"#in_channels,out_channels,in_size,kernel_size,stride,padding,count\n" ROW, 2},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autofree char *cr = g_strdelimit(g_strdup(HEAD ROW), "\n", '\r');
        g_autoptr(Import) import = read_table(rows[i].lines > 0 ? rows[i].text : cr, &no_options);
        import_has_totals(import, rows[i].lines > 0 ? rows[i].lines : 2, 1, 1, 1, 0);
        import_has_entry(import, 0, 5, KEY);
    }
}

static void test_utf16(void)
{
    static const char *const charsets[] = {"UTF-16LE", "UTF-16BE"};
    for (size_t i = 0; i < G_N_ELEMENTS(charsets); i++) {
        g_autoptr(GError) error = NULL;
        g_autoptr(Import) import = import_new(&no_options);
        gsize length = 0;
        g_autofree char *text =
            g_convert("\xef\xbb\xbf" HEAD ROW, -1, charsets[i], "UTF-8", NULL, &length, &error);
        g_assert_no_error(error);
        g_assert_true(import_bytes(import, "t.csv", text, length, &error));
        g_assert_no_error(error);
        import_has_totals(import, 2, 1, 1, 1, 0);
        import_has_entry(import, 0, 5, KEY);
        g_assert_false(import_bytes(import, "t.csv", text, length - 1, &error));
        g_assert_error(error, EXPORT_ERROR, EXPORT_ERROR_DAMAGED);
        g_assert_nonnull(strstr(error->message, "save it as UTF-8"));
    }
}

/* A misspelled column may be the stride, so a table with an unknown column is refused as a whole,
 * with one message that names all of them. */
static void test_unknown_columns_refuse_the_table(void)
{
    static const struct {
        const char *text, *message;
    } rows[] = {
        {"# t\nc,h,w,k,y,x,conv_strid_h,conv_strid_w,foo\n8,9,9,8,3,3,2,2,1\n",
         "cannot read problems from 't.csv', line 2: its header has columns that are not understood: "
         "'conv_strid_h' (conv_stride_h?), 'conv_strid_w' (conv_stride_w?), 'foo' (no column is like "
         "it): rename columns, or remove what says nothing of the layer; skipjack import --help lists "
         "all columns"},
        {"a,b,c,d,e\n1,2,3,4,5\n", "'a' (no column is like it)"},
        {"8,9,9,8,3,3\n1,2,3,4,5,6\n",
         "line 1: it has 6 cells, and no header stands above it: a layer table begins with one"},
        {"c;h;w;k;y;\"x\n8;9;9;8;3;3\n",
         "no line is a layer table's header that can be read: is a quote"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autofree char *message = refusal(rows[i].text, &no_options);
        if (strstr(message, rows[i].message) == NULL) {
            g_test_message("'%s' does not say '%s'", message, rows[i].message);
            g_test_fail();
        }
    }
}

static void test_bad_rows_are_named(void)
{
    static const struct {
        int64_t line;
        const char *reason;
    } skips[] = {
        {1, "above the table's header"}, {4, "cells, the header has 7"},
        {5, "column 'stride'"},          {7, "a quote"},
        {8, "no convolution"},
    };
    g_autoptr(Import) import = read_table("ResNet\n" HEAD ROW "1,2\n"
                                          "64,128,56,3,two,1,5\n" ROW "\"64,128,56,3,2,1,5\n"
                                          "64,128,56,3,2,1,5,6\n" ROW,
                                          &no_options);
    g_assert_cmpint(import->convolutions, ==, 3);
    g_assert_cmpint(import->lines, ==, 9);
    g_assert_cmpint(import->skipped->len, ==, G_N_ELEMENTS(skips));
    for (guint i = 0; i < MIN(import->skipped->len, G_N_ELEMENTS(skips) - 1); i++) {
        const struct import_skip *skip = g_ptr_array_index(import->skipped, i);
        g_assert_cmpint(skip->line, ==, skips[i].line);
        g_assert_nonnull(strstr(skip->reason, skips[i].reason));
    }
}

/* Tables joined by `cat`: each header applies to the rows below it. */
static void test_joined_tables(void)
{
    static const char turned[] = "out_channels,in_channels,in_size,kernel_size,padding,stride\n"
                                 "128,64,56,3,1,2\n";
    static const struct {
        const char *first, *second;
        int64_t lines, multiplicity;
    } rows[] = {
        {HEAD ROW, HEAD ROW, 4, 10},
        {HEAD ROW, "\xef\xbb\xbf" HEAD ROW, 4, 10},
        {HEAD ROW, turned, 4, 6},
        {"# " HEAD ROW,
         "# words\n# out_channels,in_channels,in_size,kernel_size,padding,stride\n"
         "128,64,56,3,1,2\n",
         5, 6},
    };
    const struct import_options batch = {.batches = {1}, .batch_count = 1};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autofree char *text = g_strconcat(rows[i].first, rows[i].second, NULL);
        g_autoptr(Import) import = read_table(text, i % 2 == 0 ? &no_options : &batch);
        import_has_totals(import, rows[i].lines, 2, 1, 1, 0);
        import_has_entry(import, 0, rows[i].multiplicity, KEY);
    }
    g_autofree char *message = refusal(HEAD ROW "c,h,w,k,y,x,strid\n8,9,9,8,3,3,2\n", &no_options);
    g_assert_nonnull(
        strstr(message, "line 3: its header has columns that are not understood: 'strid'"));
}

/* A driver line is parsed as a driver line, even between lines with commas. */
static void test_what_is_no_table(void)
{
    static const char *const texts[] = {
        "conv -n 1 -c 8, -H 9, -W 9, -k 8\n",
        "a,b,c,d\nconv -n 1 -F 1\n",
        "in_channels, some words\nconv -n 1 -F 1\n",
    };
    for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
        g_autoptr(Import) import = read_table(texts[i], &no_options);
        g_assert_cmpint(import->lines, ==, i == 0 ? 1 : 2);
        g_assert_cmpint(import->convolutions + import->skipped->len, ==, import->lines);
    }
}

static const char two_networks[] = "model,name,c,h,w,k,y,x\n"
                                   "small,a,8,9,9,8,3,3\n"
                                   "small,b,8,9,9,8,3,3\n"
                                   "large,a,16,9,9,8,3,3\n";

static void test_networks(void)
{
    const struct import_options one = {.network = "large"}, other = {.network = "other"};
    g_autoptr(Import) all = read_table(two_networks, &no_options);
    import_has_totals(all, 4, 3, 2, 2, 0);
    g_assert_cmpint(all->networks->len, ==, 2);
    const struct import_network *small = g_ptr_array_index(all->networks, 0);
    g_assert_cmpstr(small->name, ==, "small");
    g_assert_cmpint(small->layers->len, ==, 2);
    g_assert_cmpstr(g_array_index(small->layers, struct layer, 1).name, ==, "b");
    g_autoptr(Import) chosen = read_table(two_networks, &one);
    import_has_totals(chosen, 4, 1, 1, 1, 0);
    g_autofree char *message = refusal(two_networks, &other);
    g_assert_nonnull(strstr(message, "the networks small, large, and --network asks for 'other'"));
    g_autofree char *single = refusal("net,c,h,w,k,y,x\nsmall,8,9,9,8,3,3\n", &other);
    g_assert_nonnull(strstr(single, "the networks small, and"));
    g_autoptr(Import) nameless =
        read_table("net,c,h,w,k,y,x\nNaN,8,9,9,8,3,3\n-,8,9,9,8,3,3\n", &no_options);
    g_assert_cmpint(nameless->networks->len, ==, 1);
    g_assert_cmpstr(((const struct import_network *)nameless->networks->pdata[0])->name, ==, "t");
    g_autoptr(Import) named = read_table(HEAD ROW, &other);
    g_assert_cmpstr(((const struct import_network *)named->networks->pdata[0])->name, ==, "other");
    g_autoptr(Import) unnamed = read_table(HEAD ROW, &no_options);
    g_assert_cmpstr(((const struct import_network *)unnamed->networks->pdata[0])->name, ==, "t");
}

static const struct network_facts *facts_of(const Import *import, guint index)
{
    return &((const struct import_network *)g_ptr_array_index(import->networks, index))->facts;
}

/* Lines above the rows state facts of the networks below, a row's own columns take their place, and options the place
 * of both. Tables that `cat` joined keep their own facts. */
static void test_facts_of_networks(void)
{
#define FACTS "#@ framework: PyTorch\n#@ Source: A. Author: \"A, b\"\n"
    static const char text[] = FACTS "net,runs,c,h,w,k,y,x\n"
                                     "a,,8,9,9,8,3,3\n"
                                     "b,2.5,8,9,9,8,3,3\n"
                                     "b,9,8,9,9,8,3,3\n"
                                     "net,runs,c,h,w,k,y,x\n"
                                     "c,,8,9,9,8,3,3\n"
                                     "#@ model: d_net\n"
                                     "d,,8,9,9,8,3,3\n";
    char framework[] = "other";
    const struct network_facts given = {.texts = {[FACT_FRAMEWORK] = framework}};
    const struct import_options options = {.facts = &given};
    g_autoptr(Import) import = read_table(text, &no_options);
    g_assert_cmpint(import->networks->len, ==, 4);
    g_assert_cmpstr(facts_of(import, 0)->texts[FACT_FRAMEWORK], ==, "PyTorch");
    g_assert_cmpstr(facts_of(import, 0)->texts[FACT_SOURCE], ==, "A. Author: \"A, b\"");
    g_assert_null(facts_of(import, 0)->texts[FACT_RUNS]);
    g_assert_cmpfloat(network_facts_runs(facts_of(import, 1)), ==, 2.5);
    const struct import_network *b = g_ptr_array_index(import->networks, 1);
    g_assert_nonnull(strstr(b->difference, "line 6: its runs stays '2.5', not '9'"));
    g_assert_cmpint(b->layers->len, ==, 1);
    g_assert_null(facts_of(import, 2)->texts[FACT_FRAMEWORK]);
    g_assert_cmpstr(facts_of(import, 3)->texts[FACT_MODEL], ==, "d_net");
    g_assert_null(facts_of(import, 3)->texts[FACT_FRAMEWORK]);
    g_autoptr(Import) replaced = read_table(text, &options);
    g_assert_cmpstr(facts_of(replaced, 0)->texts[FACT_FRAMEWORK], ==, "other");
    g_assert_null(((const struct import_network *)replaced->networks->pdata[0])->difference);
}

static void test_facts_that_are_refused(void)
{
    static const struct {
        const char *line, *message;
    } rows[] = {
        {"#@ nonsense: 1\n", "line 1: 'nonsense' is no fact"},
        {"#@ batch: 1\n", "the batch size is the column n or --batch"},
        {"#@ framework\n", "as #@ framework: PyTorch, not 'framework'"},
        {"#@ framework:\n", "it is empty"},
        {"#@ runs: -1\n", "a number above 0"},
        {"#@ runs: inf\n", "a number above 0"},
        {"#@ model: a\tb\n", "control characters"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autofree char *before = g_strconcat(rows[i].line, HEAD, ROW, NULL);
        g_autofree char *behind = g_strconcat(HEAD, ROW, rows[i].line, NULL);
        g_autofree char *first = refusal(before, &no_options);
        g_autofree char *last = refusal(behind, &no_options);
        g_test_message("%s", first);
        g_assert_nonnull(strstr(first, rows[i].message));
        g_assert_nonnull(last);
    }
    g_autoptr(Import) import = read_table("net,runs,c,h,w,k,y,x\na,-3,8,9,9,8,3,3\n", &no_options);
    g_assert_cmpint(import->skipped->len, ==, 1);
}

/* The batch size of a network is that of its images; a layer that runs on many regions of an image has more. */
static void test_batch_of_networks(void)
{
    static const char text[] = "layer,n_per_image,c,h,w,k,y,x\na,,8,9,9,8,3,3\nb,100,8,9,9,8,3,3\n";
    const struct import_options four = {.batches = {4}, .batch_count = 1};
    const struct import_options two = {.batches = {1, 2}, .batch_count = 2};
    g_autoptr(Import) import = read_table(text, &four);
    g_assert_cmpint(facts_of(import, 0)->batch, ==, 4);
    g_assert_cmpint(problem_list_get(import->problems, 0)->problem.n, ==, 4);
    g_assert_cmpint(problem_list_get(import->problems, 1)->problem.n, ==, 400);
    g_autoptr(Import) several = read_table(text, &two);
    g_assert_cmpint(facts_of(several, 0)->batch, ==, 0);
    g_autoptr(Import) none = read_table("c,h,w,k,y,x,n_per_image\n8,9,9,8,3,3,0\n", &no_options);
    g_assert_cmpint(none->skipped->len, ==, 1);
}

/* Options give the values that a row leaves out. A table with a row that contradicts the options is
 * refused. */
static void test_options_contradict_no_row(void)
{
    static const char table[] = "c,h,w,k,y,x,n,dtype,layout\n"
                                "8,9,9,8,3,3,,,\n"
                                "8,9,9,8,3,3,64,FP16,NHWC\n";
    static const struct {
        struct import_options options;
        const char *message; /* NULL: it suits */
    } rows[] = {
        {{.batches = {64}, .batch_count = 1}, NULL},
        {{.batches = {64, 1}, .batch_count = 2},
         "line 3: it says the batch size itself (column 'n' is '64'), and --batch says another"},
        {{.types = {TYPE_FP16}, .type_count = 1}, NULL},
        {{.types = {TYPE_FP32}, .type_count = 1},
         "the data type itself (column 'dtype' is 'FP16')"},
        {{.has_layout = true, .layout = LAYOUT_NHWC}, NULL},
        {{.has_layout = true, .layout = LAYOUT_NCHW},
         "the layout itself (column 'layout' is 'NHWC')"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        if (rows[i].message == NULL) {
            g_autoptr(Import) import = read_table(table, &rows[i].options);
            import_has_totals(import, 3, 2, 2, 2, 0);
            g_assert_cmpint(import->replaced, ==, 0);
            continue;
        }
        g_autofree char *message = refusal(table, &rows[i].options);
        g_assert_nonnull(strstr(message, rows[i].message));
    }
    g_autofree char *shape =
        refusal("in_shape,c,k,kernel_size\n\"(1, 8, 9, 9)\",8,8,3\n", &rows[0].options);
    g_assert_nonnull(strstr(shape, "or write the column's shapes without it"));
}

/* The published networks, and their totals. */
static void test_real_tables(void)
{
    static const struct {
        const char *network;
        int layers;
        double macs;
    } rows[] = {{"resnet50_v1.5", 53, 4.09e9}, {"vgg16", 13, 15.35e9}};
    g_autofree char *folder = real_data("networks");
    if (folder == NULL) {
        return;
    }
    g_autofree char *path = g_build_filename(folder, "layer_tables.csv", NULL);
    g_autoptr(GError) error = NULL;
    g_autoptr(Import) import = import_new(&no_options);
    g_assert_true(import_file(import, path, &error));
    g_assert_no_error(error);
    import_has_totals(import, 700, 699, 256, 256, 0);
    g_assert_cmpint(import->networks->len, ==, 11);
    for (size_t r = 0; r < G_N_ELEMENTS(rows); r++) {
        for (guint i = 0; i < import->networks->len; i++) {
            const struct import_network *network = g_ptr_array_index(import->networks, i);
            double macs = 0;
            int layers = 0;
            if (strcmp(network->name, rows[r].network) != 0) {
                continue;
            }
            for (guint l = 0; l < network->layers->len; l++) {
                const struct layer *layer = &g_array_index(network->layers, struct layer, l);
                macs += problem_macs(&layer->problem) * layer->multiplicity;
                layers += layer->multiplicity;
            }
            g_assert_cmpint(layers, ==, rows[r].layers);
            g_assert_cmpfloat_with_epsilon(macs, rows[r].macs, 0.01 * rows[r].macs);
        }
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/import_table/spreadsheets_and_programs_write_tables_in_many_ways",
                    test_ways_to_write);
    g_test_add_func("/import_table/utf16_is_read", test_utf16);
    g_test_add_func("/import_table/unknown_columns_refuse_the_table",
                    test_unknown_columns_refuse_the_table);
    g_test_add_func("/import_table/bad_rows_are_named", test_bad_rows_are_named);
    g_test_add_func("/import_table/each_of_joined_tables_has_its_own_header", test_joined_tables);
    g_test_add_func("/import_table/driver_lines_are_no_table", test_what_is_no_table);
    g_test_add_func("/import_table/networks_are_kept_apart_and_picked", test_networks);
    g_test_add_func("/import_table/networks_have_facts", test_facts_of_networks);
    g_test_add_func("/import_table/unknown_and_wrong_facts_are_refused",
                    test_facts_that_are_refused);
    g_test_add_func("/import_table/batch_of_a_network_counts_images", test_batch_of_networks);
    g_test_add_func("/import_table/options_contradict_no_row", test_options_contradict_no_row);
    g_test_add_func("/import_table/published_networks_have_their_totals", test_real_tables);
    return g_test_run();
}
