#include "coordinator/import/layer_columns.h"

#include <string.h>

/* relative to the top of the source tree */
#define PAGE         "coordinator/import/LAYER_TABLES.md"
#define MARKER_BEGIN "<!-- layer-columns: `make layer-columns` rewrites it -->\n"
#define MARKER_END   "<!-- end of layer-columns -->\n"

/* Parses a header; returns the error's message, or "" for a valid header. Free with g_free(). */
static char *judge(const char *line)
{
    g_autoptr(GError) error = NULL;
    g_auto(GStrv) names = g_strsplit(line, ",", -1);
    struct layer_header header;
    bool understood =
        layer_header_init(&header, (const char *const *)names, (int)g_strv_length(names), &error);
    g_assert_cmpint(understood, ==, error == NULL);
    if (!understood) {
        g_assert_error(error, EXPORT_ERROR, EXPORT_ERROR_KIND);
    }
    layer_header_clear(&header);
    return g_strdup(understood ? "" : error->message);
}

static void test_headers_are_understood(void)
{
    static const char *const headers[] = {
        "net,layer,mult,nd,mode,c,d,h,w,k,z,y,x,pd,p,q,sd,u,v,l,j,g,oh,ow,gmac",
        "N,C,H,W,K,Y,X,P,Q,U,V,L,J,G",
        "n,c,h,w,k,r,s,pad_h,pad_w,stride,dilation,groups",
        "Batch Size,In Channels,OUT-CHANNELS,input.size,Kernel Size,count,dtype,#",
        "op,in_channels,out_channels,length,kernel_size",
        "Unnamed: 0,,c,k,hw,kernel,comment,Param #",
        "CI,CO,IH,IW,KH,KW,PH,PW,SH,SW",
        "c,k,hw,kernel,FLOPs (G),Params(M),time [ms]",
        "Layer name,IFMAP Height,IFMAP Width,Filter Height,Filter Width,Channels,Num Filter,Strides,",
        "w,h,c,n,k,filter_w,filter_h,pad_w,pad_h,wstride,hstride",
        "op_type,in_shape,out_shape,kernel_shape,strides,pads,dilations,group,auto_pad,node_name",
    };
    for (size_t i = 0; i < G_N_ELEMENTS(headers); i++) {
        g_autofree char *message = judge(headers[i]);
        g_assert_cmpstr(message, ==, "");
    }
}

/* One message names every unknown column, and for each the known column that is most like it. */
static void test_headers_are_refused(void)
{
    static const struct {
        const char *header, *parts[5];
    } rows[] = {
        {"c,h,w,k,y,x,Batch_Sise,layuot,modes,stride_q,foo",
         {"'Batch_Sise' (batch_size?)", "'layuot' (layout?)", "'modes' (mode?)",
          "'stride_q' (stride?)", "'foo' (no column is like it)"}},
        {"c,h,w,k,y,x,pad_top,activation,channel,weight_shape",
         {"'pad_top' (both sides", "'activation' (the convolution alone",
          "in_channels or out_channels",
          "'weight_shape' (in_channels, out_channels and kernel_size say it)"}},
        {"c,h,w,k,y,x,P,Q", {"'P' (pad_h or out_h?)", "'Q' (pad_w or out_w?)"}},
        {"n,c,h,w,k,r,s,p,q", {"'p' (pad_h or out_h?)", "'q' (pad_w or out_w?)"}},
        {"n,c,k,X,Y,r,s",
         {"'X' (fil_w or in_w?)", "'Y' (fil_h or in_h?)", "lacks the columns 'h'"}},
        {"in_channels,out_channels,hw,kernel_size,s,p,d",
         {"'s' (stride, or fil_w beside r?)", "'p' (padding or pad_h?)",
          "'d' (dilation, or in_d beside nd?)"}},
        {"c,k,hw,Kernel Size (px)", {"'Kernel Size (px)' (kernel_size?)"}},
        {"channels,h,w,kernel", {"'channels' (in_channels or out_channels?)"}},
        {"c,h,w,k,y,x,stride_h", {"lacks the columns 'v' beside 'u', or 'stride' for all axes"}},
        {"c,h,w,kernel,dilation_w,foo",
         {"'foo'", "; it lacks the columns 'k' (out_channels)", "'l' beside 'j'"}},
        {"id,layout,data_type,direction,spatial_dim,in_channels,in_h,in_w,in_d,fil_h,fil_w,fil_d,"
         "out_channels,batchsize,pad_h,pad_w,pad_d,conv_stride_h,conv_stride_w,conv_stride_d,"
         "dilation_h,dilation_w,dilation_d,bias,group_count",
         {"import the perf-db itself"}},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autofree char *message = judge(rows[i].header);
        for (size_t p = 0; p < G_N_ELEMENTS(rows[i].parts) && rows[i].parts[p] != NULL; p++) {
            if (strstr(message, rows[i].parts[p]) == NULL) {
                g_test_message("'%s' does not say '%s'", message, rows[i].parts[p]);
                g_test_fail();
            }
        }
    }
}

/* The flags of MIOpenDriver (solvers/FORMATS.md) are accepted as columns under their long names. */
static void test_driver_flags_are_columns(void)
{
    static const char *const flags[] = {
        "batchsize",
        "in_channels",
        "out_channels",
        "in_d",
        "in_h",
        "in_w",
        "fil_d",
        "fil_h",
        "fil_w",
        "pad_d",
        "pad_h",
        "pad_w",
        "conv_stride_d",
        "conv_stride_h",
        "conv_stride_w",
        "dilation_d",
        "dilation_h",
        "dilation_w",
        "group_count",
        "mode",
        "pad_mode",
        "forw",
        "spatial_dim",
        "in_layout",
        "out_layout",
        "fil_layout",
        "bias",
        "tensor_vect",
        "vector_length",
        "trans_output_pad_d",
        "trans_output_pad_h",
        "trans_output_pad_w",
        "in_cast_type",
        "wei_cast_type",
        "out_cast_type",
        "iter",
        "verify",
        "time",
        "search",
        "printconv",
        "dump_output",
        "solution",
        "gpualloc",
        "wall",
    };
    g_autofree char *header = NULL;
    const char *words[G_N_ELEMENTS(flags) + 1] = {NULL};
    memcpy(words, flags, sizeof flags);
    header = g_strjoinv(",", (char **)words);
    g_autofree char *message = judge(header);
    g_assert_cmpstr(message, ==, "");
}

/* Returns the page's text between its two markers, NULL if it lacks them. Free with g_free(). */
static char *columns_of_page(void)
{
    g_autofree char *text = NULL;
    if (!g_file_get_contents(PAGE, &text, NULL, NULL)) {
        return NULL;
    }
    char *begin = strstr(text, MARKER_BEGIN);
    char *end = begin != NULL ? strstr(begin, MARKER_END) : NULL;
    if (end == NULL) {
        return NULL;
    }
    begin += strlen(MARKER_BEGIN);
    return g_strndup(begin, (gsize)(end - begin));
}

static void test_page_has_all_columns(void)
{
    g_autofree char *kept = columns_of_page(), *now = layer_columns_markdown();
    if (g_strcmp0(kept, now) != 0) {
        g_test_message("the columns in " PAGE " are not those that are read: `make layer-columns` "
                       "rewrites them");
        g_test_fail();
    }
}

static void test_help_has_all_columns(void)
{
    g_autofree char *help = layer_columns_help(), *page = layer_columns_markdown();
    g_auto(GStrv) words = g_strsplit(page, "`", -1);
    g_auto(GStrv) lines = g_strsplit(help, "\n", -1);
    for (int i = 1; words[i] != NULL && words[i + 1] != NULL; i += 2) {
        g_assert_nonnull(strstr(help, words[i]));
    }
    for (int i = 0; lines[i] != NULL; i++) {
        g_assert_cmpint(strlen(lines[i]), <=, 80);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/layer_columns/usual_headers_are_understood", test_headers_are_understood);
    g_test_add_func("/layer_columns/all_that_is_not_understood_is_named_at_once",
                    test_headers_are_refused);
    g_test_add_func("/layer_columns/driver_flags_are_columns", test_driver_flags_are_columns);
    g_test_add_func("/layer_columns/page_has_all_columns", test_page_has_all_columns);
    g_test_add_func("/layer_columns/help_has_all_columns", test_help_has_all_columns);
    return g_test_run();
}
