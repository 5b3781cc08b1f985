/* Any bytes as a file to import, most of them as a layer table behind one of two headers: no crash, every line
 * is counted, and what is read is valid. */
#include "coordinator/import/import.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void import_with(const struct import_options *options, const char *text, size_t size,
                        bool table)
{
    g_autoptr(Import) import = import_new(options);
    g_autoptr(GError) error = NULL;
    if (!import_bytes(import, "fuzz", text, size, &error)) {
        g_assert_true(error != NULL && error->domain == EXPORT_ERROR);
    }
    g_assert_cmpint(import->convolutions + import->skipped->len, <=, import->lines);
    g_assert_cmpint(problem_list_shapes(import->problems), <=,
                    problem_list_count(import->problems));
    for (int i = 0; i < problem_list_count(import->problems); i++) {
        const struct problem *p = &problem_list_get(import->problems, i)->problem;
        g_assert_true(problem_validate(p, NULL));
        g_assert_false(table && problem_is_clamped(p));
    }
}

static void import_table(const struct import_options *options, const char *header,
                         const uint8_t *data, size_t size)
{
    g_autoptr(GString) table = g_string_new(header);
    g_string_append_len(table, (const char *)data, (gssize)size);
    import_with(options, table->str, table->len, true);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char letters[] =
        "net,layer,mult,nd,mode,c,d,h,w,k,z,y,x,pd,p,q,sd,u,v,l,j,g,oh,ow,"
        "n,type,layout,direction\n";
    static const char words[] =
        "op;in_channels;filters;in_shape;out_shape;kernel_size;strides;padding;"
        "dilation;groups;dtype;data_format;count;forw;pad_h;stride_w;bias\n";
    static const struct import_options plain;
    static const struct import_options changed = {
        .network = "net", .batches = {3, 4}, .batch_count = 2, .directions = DIRECTIONS_ALL};
    import_table(&plain, letters, data, size);
    import_table(&plain, words, data, size);
    import_table(&changed, words, data, size);
    import_with(&changed, (const char *)data, size, false);
    return 0;
}
