#include "tests/support/export/import_totals.h"
#include "tests/support/export/real_data.h"

#include <bzlib.h>
#include <glib/gstdio.h>
#include <string.h>
#include <time.h>

#define KEY  "256-14-14-3x3-512-14-14-8-1x1-1x1-1x1-0-NCHW-FP32-F"
#define LINE "./bin/MIOpenDriver conv -n 8 -c 256 -H 14 -W 14 -k 512 -p 1 -q 1 -F 1\n"

static const struct import_options no_options;

static Import *read_text(const char *text, const struct import_options *options)
{
    g_autoptr(GError) error = NULL;
    Import *import = import_new(options);
    g_assert_true(import_bytes(import, "test.txt", text, strlen(text), &error));
    g_assert_no_error(error);
    return import;
}

static void test_dirty_driver_lines(void)
{
    g_autoptr(Import) import =
        read_text("# a list\n\n" LINE "./bin/MIOpenDriver pool -n 1\r\n" LINE "v -n 128 -c 3\n" LINE
                  "conv -n 8 -k\nconv -n 8 -c 256 -H 14 -W 14 -k 512 -p 1 -q 1",
                  &no_options);
    import_has_totals(import, 9, 4, 1, 3, 3);
    import_has_entry(import, 0, 4, KEY);
    const struct import_skip *skip = g_ptr_array_index(import->skipped, 1);
    g_assert_cmpstr(skip->file, ==, "test.txt");
    g_assert_cmpint(skip->line, ==, 6);
    g_assert_nonnull(strstr(skip->reason, "'v'"));
}

static void test_continued_driver_lines(void)
{
    g_autoptr(Import) import =
        read_text("MIOpenDriver conv -n 8 -c 256 -H 14 -W 14 \\\r\n"
                  "  -k 512 -p 1 -q 1 \\\r\n -F 1\r\n"
                  "conv -n 8 -c 256 -H 14 -W 14 -k 512 -p 1 -q 1 -F 1 \\\n" LINE
                  "# a comment \\\n-n 8 -c 256 -H 14 -W 14 -k 512 -p 1 -q 1 -F 1\n"
                  "conv -n 0 \\\n -F 1",
                  &no_options);
    import_has_totals(import, 9, 4, 1, 1, 1);
    import_has_entry(import, 0, 4, KEY);
    const struct import_skip *skip = g_ptr_array_index(import->skipped, 0);
    g_assert_cmpint(skip->line, ==, 8);
}

static void test_kinds_of_text(void)
{
    static const struct {
        const char *text;
        int64_t lines, convolutions, multiplicity;
        guint skipped;
    } rows[] = {
        {LINE, 1, 1, 1, 0},
        {"\xef\xbb\xbf" LINE, 1, 1, 1, 0},
        {KEY "=ConvAsm:0.1,0,miopenConvolutionFwdAlgoDirect\nx=y\n", 2, 1, 1, 1},
        {"2x256x14x14x1x3x3x1x512x8x1x1x0x1x1x0x1x1x0x0x1xNCHWxFP32xF=ConvAsm:1,2\n", 1, 1, 1, 0},
        {KEY "\n", 1, 1, 1, 0},
        {"0" KEY "\n2\t" KEY " \n", 2, 1, 2, 1},
        {"256-14-14-3x3-512-14-14-8-1x1-1x1-1x1-0-NCHW-FP99-F=a\nMIOpen=1\n" KEY "=a\n", 3, 1, 1,
         2},
        {"# list\n7\t" KEY "\r\nx\t" KEY "\n", 3, 1, 7, 1},
        {"c,h,w,k,y,x,p,q,n,mult\n256,14,14,512,3,3,1,1,8,5\n", 2, 1, 5, 0},
        {"# t\n\"x\",y,k,w,h,c,p,q,n,layer,oh\n3,3,512,14,14,256,1,1,8,\"a,\"\"b\",14\n", 3, 1, 1,
         0},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(Import) import = read_text(rows[i].text, &no_options);
        import_has_totals(import, rows[i].lines, rows[i].convolutions, 1, 1, rows[i].skipped);
        import_has_entry(import, 0, rows[i].multiplicity, KEY);
    }
}

static void test_long_comment_in_front(void)
{
    g_autoptr(GString) text = g_string_new(NULL);
    for (int i = 0; i < 70; i++) {
        g_string_append(text, "# a word on what follows\n\n");
    }
    g_string_append(text, KEY "\n");
    g_autoptr(Import) import = read_text(text->str, &no_options);
    import_has_totals(import, 141, 1, 1, 1, 0);
}

static void test_keys_need_a_valid_problem(void)
{
    g_autoptr(Import) import =
        read_text("256-14-14-3x3-512-15-14-8-1x1-1x1-1x1-0-NCHW-FP32-F=a:1,0,b\n", &no_options);
    import_has_totals(import, 1, 0, 0, 0, 1);
}

/* A 5x5 filter on a 2x2 input is refused in users' lists as a mistake, and accepted in MIOpen's
 * shipped databases, which have such keys. */
static void test_clamped_layers(void)
{
#define CLAMPED "8-2-2-5x5-8-1-1-1-0x0-1x1-1x1-0-NCHW-FP32-F"
    static const struct {
        const char *text;
        bool shipped;
    } rows[] = {
        {"conv -n 1 -c 8 -H 2 -W 2 -k 8 -y 5 -x 5 -F 1\n", false},
        {"c,h,w,k,y,x\n8,2,2,8,5,5\n", false},
        {CLAMPED "\n", false},
        {CLAMPED "=ConvAsm:0.1,0,miopenConvolutionFwdAlgoDirect\n", true},
        {"2x8x2x2x1x5x5x1x8x1x0x0x0x1x1x0x1x1x0x0x1xNCHWxFP32xF=ConvAsm:1,2\n", true},
    };
    const struct import_options allowed = {.allow_clamped = true};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(Import) import = read_text(rows[i].text, &no_options);
        g_assert_cmpint(import->convolutions, ==, rows[i].shipped);
        g_assert_cmpint(import->skipped->len, ==, !rows[i].shipped);
        if (!rows[i].shipped) {
            const struct import_skip *skip = g_ptr_array_index(import->skipped, 0);
            g_assert_nonnull(strstr(skip->reason, "its filter is 5x5"));
            g_assert_nonnull(strstr(skip->reason, "padded input, 2x2"));
            g_assert_nonnull(strstr(skip->reason, "--allow-clamped"));
        }
        g_autoptr(Import) taken = read_text(rows[i].text, &allowed);
        g_assert_cmpint(taken->skipped->len, ==, 0);
        import_has_entry(taken, 0, 1, CLAMPED);
    }
    g_autoptr(Import) dilated =
        read_text("conv -n 1 -c 8 -H 4 -W 9 -k 8 -y 3 -x 3 -l 2 -j 2 -F 1\n", &no_options);
    const struct import_skip *skip = g_ptr_array_index(dilated->skipped, 0);
    g_assert_nonnull(strstr(skip->reason, "with its dilation is 5x5"));
}

/* Each line gives a problem for each batch size and type of the options. Lines that state another
 * batch or type themselves are counted as overridden. */
static void test_options_replace_what_lines_say(void)
{
    const struct import_options several = {
        .batches = {1, 8},
        .batch_count = 2,
        .types = {TYPE_FP32, TYPE_INT8},
        .type_count = 2,
        .has_layout = true,
        .layout = LAYOUT_NHWC,
    };
    const struct import_options same = {.batches = {8}, .batch_count = 1};
    const struct import_options integers = {.types = {TYPE_INT8}, .type_count = 1};
    const struct import_options both = {
        .types = {TYPE_FP32, TYPE_FP32}, .tf32 = {true}, .type_count = 2};
    g_autoptr(Import) import = read_text(LINE LINE, &several);
    import_has_totals(import, 2, 2, 4, 4, 0);
    g_assert_cmpint(import->replaced, ==, 2);
    import_has_entry(import, 0, 2, "256-14-14-3x3-512-14-14-1-1x1-1x1-1x1-0-NHWC-NHWC-NHWC-FP32-F");
    import_has_entry(import, 3, 2,
                     "256-14-14-3x3-512-14-14-8-1x1-1x1-1x1-0-NHWC-NHWC-NHWC-INT8INT8INT32-F");
    g_autoptr(Import) precise = read_text(LINE, &both);
    import_has_totals(precise, 1, 1, 2, 2, 0);
    import_has_entry(precise, 0, 1, "256-14-14-3x3-512-14-14-8-1x1-1x1-1x1-0-NCHW-FP32-F_cxTF32");
    import_has_entry(precise, 1, 1, "256-14-14-3x3-512-14-14-8-1x1-1x1-1x1-0-NCHW-FP32-F");
    g_autoptr(Import) equal = read_text(LINE, &same);
    g_assert_cmpint(equal->replaced, ==, 0);
    g_autoptr(Import) backward = read_text("conv -F 2\nconv -F 3\n", &integers);
    import_has_totals(backward, 2, 1, 1, 1, 1);
}

static void test_words_of_options(void)
{
    static const struct {
        const char *batch, *dtype, *layout, *network;
        const char *wrong; /* a part of the message; NULL: the options are valid */
    } rows[] = {
        {.batch = "1, 64", .dtype = "fp16,torch.float32", .layout = "nhwc", .wrong = NULL},
        {.batch = "0", .wrong = "--batch takes numbers from 1"},
        {.batch = "1,,2", .wrong = "not ''"},
        {.batch = "1,1", .wrong = "1 twice"},
        {.dtype = "FP16,half", .wrong = "FP16 twice"},
        {.dtype = "TF32,FP32,xf32", .wrong = "TF32 twice"},
        {.dtype = "uint8", .wrong = "not 'uint8'"},
        {.layout = "NWHC", .wrong = "not 'NWHC'"},
        {.network = "", .wrong = "--network needs a name"},
        {.batch = "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,"
                  "30,31,32,33",
         .wrong = "up to 32"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(GError) error = NULL;
        struct import_options options;
        const struct import_words words = {.batch = (char *)rows[i].batch,
                                           .dtype = (char *)rows[i].dtype,
                                           .layout = (char *)rows[i].layout,
                                           .network = (char *)rows[i].network};
        g_assert_cmpint(import_words_parse(&words, &options, &error), ==, rows[i].wrong == NULL);
        if (rows[i].wrong != NULL) {
            g_assert_error(error, EXPORT_ERROR, EXPORT_ERROR_USAGE);
            g_assert_nonnull(strstr(error->message, rows[i].wrong));
            continue;
        }
        g_assert_cmpint(options.batch_count, ==, 2);
        g_assert_cmpint(options.batches[1], ==, 64);
        g_assert_cmpint(options.types[0], ==, TYPE_FP16);
        g_assert_cmpint(options.types[1], ==, TYPE_FP32);
        g_assert_true(options.has_layout && options.layout == LAYOUT_NHWC);
    }
}

static void test_options_change_problems(void)
{
    const struct import_options batch = {.batches = {8}, .batch_count = 1};
    const struct import_options forward = {.directions = 1}, all = {.directions = DIRECTIONS_ALL};
    static const char table[] = "c,h,w,k,y,x,p,q\n256,14,14,512,3,3,1,1\n";
    static const char line[] = "conv -n 8 -c 256 -H 14 -W 14 -k 512 -p 1 -q 1\n";
    g_autoptr(Import) batched = read_text(table, &batch);
    import_has_entry(batched, 0, 1, KEY);
    g_autoptr(Import) three = read_text(table, &all);
    import_has_totals(three, 2, 1, 1, 3, 0);
    g_autoptr(Import) one = read_text(line, &forward);
    import_has_totals(one, 1, 1, 1, 1, 0);
    import_has_entry(one, 0, 1, KEY);
    g_assert_cmpint(import_parse_directions("FBW"), ==, DIRECTIONS_ALL);
    g_assert_cmpint(import_parse_directions("W"), ==, 4);
    g_assert_cmpint(import_parse_directions("FF"), ==, 0);
    g_assert_cmpint(import_parse_directions("x"), ==, 0);
}

/* A network of 40,000 lines, as from a whole find-db: the time of adding a layer must not grow with
 * the layers before it. */
static void test_network_of_many_layers(void)
{
    const struct import_options named = {.network = "net"};
    g_autoptr(GString) text = g_string_new(NULL);
    for (int i = 0; i < 40000; i++) {
        g_string_append_printf(text, "conv -n %d -F 1\n", i % 20000 + 1);
    }
    clock_t start = clock();
    g_autoptr(Import) import = read_text(text->str, &named);
    const struct import_network *network = g_ptr_array_index(import->networks, 0);
    g_assert_cmpint(network->layers->len, ==, 20000);
    g_assert_cmpint(g_array_index(network->layers, struct layer, 19999).multiplicity, ==, 2);
    /* A tenth of a second is usual; comparing each layer with all others would take half a
     * minute. */
    g_assert_cmpfloat((double)(clock() - start) / CLOCKS_PER_SEC, <, 10);
}

static void test_names_are_utf8(void)
{
    g_autoptr(Import) import = read_text("net,layer,c,h,w,k,y,x\nr\xe9seau,\xe9\xff,8,9,9,8,3,3\n"
                                         "r\xe9seau,b,8,9,9,8,3,3\n",
                                         &no_options);
    g_assert_cmpint(import->networks->len, ==, 1);
    const struct import_network *network = g_ptr_array_index(import->networks, 0);
    g_assert_true(g_utf8_validate(network->name, -1, NULL));
    g_assert_cmpint(network->layers->len, ==, 2);
    g_assert_true(g_utf8_validate(g_array_index(network->layers, struct layer, 0).name, -1, NULL));
}

/* The network's name keeps dots of the file's name, since they may separate versions. */
static void test_tables_are_named_after_their_files(void)
{
    static const char table[] = "layer,c,h,w,k,y,x\na,8,9,9,8,3,3\n";
    static const struct {
        const char *path, *name;
    } rows[] = {{"lists/net-v1.0.csv", "net-v1.0"},
                {"net-v1.5.csv", "net-v1.5"},
                {"net", "net"},
                {".net", ".net"},
                {"n\xfft.csv.bz2", "n\xef\xbf\xbdt"}};
    g_autoptr(Import) import = import_new(&no_options);
    for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_assert_true(import_bytes(import, rows[i].path, table, strlen(table), NULL));
        g_assert_cmpint(import->networks->len, ==, i + 1);
        const struct import_network *network = g_ptr_array_index(import->networks, i);
        g_assert_cmpstr(network->name, ==, rows[i].name);
    }
}

static void test_network_of_a_list(void)
{
    const struct import_options named = {.network = "net"};
    g_autoptr(Import) import = read_text(LINE LINE "conv -F 1\n", &named);
    const struct import_network *network = g_ptr_array_index(import->networks, 0);
    g_assert_cmpstr(network->name, ==, "net");
    g_assert_cmpint(network->layers->len, ==, 2);
    g_assert_cmpint(g_array_index(network->layers, struct layer, 0).multiplicity, ==, 2);
}

static GBytes *compress(const char *text)
{
    unsigned length = (unsigned)strlen(text) + 1000;
    char *out = g_malloc(length);
    int status =
        BZ2_bzBuffToBuffCompress(out, &length, (char *)text, (unsigned)strlen(text), 9, 0, 0);
    g_assert_cmpint(status, ==, BZ_OK);
    return g_bytes_new_take(out, length);
}

static void test_bzip2(void)
{
    g_autoptr(GBytes) bytes = compress(LINE);
    g_autoptr(GByteArray) twice = g_byte_array_new();
    g_autoptr(GError) error = NULL;
    gsize size;
    const guint8 *data = g_bytes_get_data(bytes, &size);
    g_byte_array_append(twice, data, (guint)size);
    g_byte_array_append(twice, data, (guint)size); /* two bzip2 streams, one after the other */
    g_autoptr(Import) import = import_new(&no_options);
    g_assert_true(import_bytes(import, "x.bz2", (char *)twice->data, twice->len, &error));
    g_assert_no_error(error);
    import_has_totals(import, 2, 2, 1, 1, 0);
    g_assert_false(import_bytes(import, "x.bz2", (char *)twice->data, twice->len - 9, &error));
    g_assert_error(error, EXPORT_ERROR, EXPORT_ERROR_DAMAGED);
    g_assert_nonnull(strstr(error->message, "cut off"));
    g_clear_error(&error);
    memset(twice->data + 20, 0x55, 8);
    g_assert_false(import_bytes(import, "x.bz2", (char *)twice->data, twice->len, &error));
    g_assert_error(error, EXPORT_ERROR, EXPORT_ERROR_DAMAGED);
    g_assert_nonnull(strstr(error->message, "damaged"));
}

static void test_unreadable_files(void)
{
    g_autofree char *folder = g_dir_make_tmp("skipjack-import-XXXXXX", NULL);
    g_autofree char *missing = g_build_filename(folder, "missing.txt", NULL);
    const struct {
        const char *path, *bytes;
        int code;
        const char *message;
    } rows[] = {
        {missing, NULL, EXPORT_ERROR_IO, "missing.txt"},
        {folder, NULL, EXPORT_ERROR_IO, "it is a folder"},
        {"model.onnx", "\b\6\x12", EXPORT_ERROR_DAMAGED,
         "at byte 3, in producer_name: its length does not end"},
        {"model.pb", "\x7\6\x12\0", EXPORT_ERROR_KIND,
         "no list of problems that this version reads"},
        {"a.out",
         "\x7f"
         "ELF\0\0\0",
         EXPORT_ERROR_KIND, "driver command lines"},
        {"x.db", "SQLite format 3\0damaged", EXPORT_ERROR_DAMAGED, "x.db"},
    };
    static const size_t lengths[] = {0, 0, 3, 4, 7, 23};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(GError) error = NULL;
        g_autoptr(Import) import = import_new(&no_options);
        bool read = rows[i].bytes == NULL
                        ? import_file(import, rows[i].path, &error)
                        : import_bytes(import, rows[i].path, rows[i].bytes, lengths[i], &error);
        g_assert_false(read);
        g_assert_error(error, EXPORT_ERROR, rows[i].code);
        g_assert_nonnull(strstr(error->message, rows[i].message));
        import_has_totals(import, 0, 0, 0, 0, 0);
    }
    g_rmdir(folder);
}

/* Totals of published lists; the expected figures were counted by other programs. */
static void test_real_lists(void)
{
    static const struct {
        const char *name;
        int64_t lines, convolutions;
        int shapes, problems;
        guint skipped;
    } rows[] = {
        {"resnet50.txt", 60, 59, 20, 59, 1},
        {"Resnet50_v1.5_FP32_BS128.txt", 59, 59, 20, 59, 0},
        {"Resnet50_v1.5_FP16_BS256.txt", 150, 150, 53, 131, 0},
        {"deepbench_training_set.txt", 94, 94, 90, 270, 0},
        {"rocmlir-resnet50-configs.txt", 23, 22, 22, 66, 0},
        {"resnet50_pytorch.txt", 61, 60, 60, 60, 0},
        {"miopen_gtest_driver_lines.txt", 9, 9, 9, 25, 0},
        {"msra.txt", 2, 2, 2, 2, 0},
    };
    g_autofree char *folder = real_data("problems");
    if (folder == NULL) {
        return;
    }
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autofree char *path = g_build_filename(folder, rows[i].name, NULL);
        g_autoptr(GError) error = NULL;
        g_autoptr(Import) import = import_new(&no_options);
        g_assert_true(import_file(import, path, &error));
        g_assert_no_error(error);
        import_has_totals(import, rows[i].lines, rows[i].convolutions, rows[i].shapes,
                          rows[i].problems, rows[i].skipped);
    }
}

/* Most lines of every published list are read; each other line is listed with its reason. */
static void test_all_real_lists(void)
{
    g_autofree char *folder = real_data("problems");
    g_autoptr(GDir) dir = folder != NULL ? g_dir_open(folder, 0, NULL) : NULL;
    if (dir == NULL) {
        return;
    }
    for (const char *name; (name = g_dir_read_name(dir)) != NULL;) {
        g_autofree char *path = g_build_filename(folder, name, NULL);
        g_autoptr(Import) import = import_new(&no_options);
        g_assert_true(import_file(import, path, NULL));
        g_assert_cmpint(import->convolutions, >, import->skipped->len);
        for (guint i = 0; i < import->skipped->len; i++) {
            const struct import_skip *skip = g_ptr_array_index(import->skipped, i);
            g_assert_cmpstr(skip->reason, !=, "");
            g_assert_cmpint(skip->line, <=, import->lines);
        }
    }
}

static void test_resnet50(void)
{
    /* relative to the top of the source tree */
    static const char path[] = "coordinator/networks/resnet50-v1.5.csv";
    g_autoptr(GError) error = NULL;
    g_autoptr(Import) import = import_new(&no_options);
    double macs = 0;
    g_assert_true(import_file(import, path, &error));
    g_assert_no_error(error);
    import_has_totals(import, 61, 53, 23, 23, 0);
    const struct import_network *network = g_ptr_array_index(import->networks, 0);
    g_assert_cmpstr(network->name, ==, "resnet50-v1.5");
    g_assert_cmpint(network->layers->len, ==, 53);
    for (guint i = 0; i < network->layers->len; i++) {
        macs += problem_macs(&g_array_index(network->layers, struct layer, i).problem);
    }
    g_assert_cmpfloat_with_epsilon(macs, 4.09e9, 0.01e9);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/import/dirty_driver_lines_are_counted", test_dirty_driver_lines);
    g_test_add_func("/import/driver_lines_that_a_backslash_continues_are_one",
                    test_continued_driver_lines);
    g_test_add_func("/import/kinds_of_text_are_told_apart", test_kinds_of_text);
    g_test_add_func("/import/long_comment_in_front_hides_no_format", test_long_comment_in_front);
    g_test_add_func("/import/keys_need_a_valid_problem", test_keys_need_a_valid_problem);
    g_test_add_func("/import/options_change_problems", test_options_change_problems);
    g_test_add_func("/import/filter_over_the_padded_input_is_unusable_in_lists_alone",
                    test_clamped_layers);
    g_test_add_func("/import/options_replace_what_lines_say_and_count_it",
                    test_options_replace_what_lines_say);
    g_test_add_func("/import/words_of_options_are_checked", test_words_of_options);
    g_test_add_func("/import/list_becomes_a_network_by_name", test_network_of_a_list);
    g_test_add_func("/import/network_of_many_layers_is_quick", test_network_of_many_layers);
    g_test_add_func("/import/names_of_layers_and_networks_are_utf8", test_names_are_utf8);
    g_test_add_func("/import/tables_are_named_after_their_files",
                    test_tables_are_named_after_their_files);
    g_test_add_func("/import/bzip2_is_read_and_damage_named", test_bzip2);
    g_test_add_func("/import/unreadable_files_are_errors", test_unreadable_files);
    g_test_add_func("/import/totals_of_real_lists", test_real_lists);
    g_test_add_func("/import/every_real_list_is_read", test_all_real_lists);
    g_test_add_func("/import/resnet50_is_the_published_network", test_resnet50);
    return g_test_run();
}
