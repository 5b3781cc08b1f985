/* Any bytes as a file to import, most of them as a layer table: no crash, and every line is counted. */
#include "export/formats/import.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void import_with(const struct import_options *options, const char *text, size_t size)
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
        g_assert_true(problem_validate(&problem_list_get(import->problems, i)->problem, NULL));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char header[] = "net,layer,mult,nd,mode,c,d,h,w,k,z,y,x,pd,p,q,sd,u,v,l,j,g,oh,ow,"
                                 "n,type,layout,direction\n";
    const struct import_options plain = {NULL, 0, 0}, changed = {"net", 3, DIRECTIONS_ALL};
    g_autoptr(GString) table = g_string_new(header);
    g_string_append_len(table, (const char *)data, (gssize)size);
    import_with(&plain, table->str, table->len);
    import_with(&changed, table->str + sizeof header - 1, size);
    return 0;
}
