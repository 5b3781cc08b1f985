#include "coordinator/import/import.h"
#include "solvers/problem/problem_key.h"

#include <string.h>

/* A table of one row, with the expected keys or a part of the reason why the row is refused. */
struct row {
    const char *table;
    const char *keys;   /* joined by spaces; NULL: the row is refused */
    const char *reason; /* part of it */
};

static void check_row(const struct row *row, const struct import_options *options)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(Import) import = import_new(options);
    g_autoptr(GString) keys = g_string_new(NULL);
    import_bytes(import, "t.csv", row->table, strlen(row->table), &error);
    g_assert_no_error(error);
    for (int i = 0; i < problem_list_count(import->problems); i++) {
        char key[PROBLEM_KEY_MAX];
        g_string_append_printf(keys, "%s%s", keys->len > 0 ? " " : "",
                               problem_key(&problem_list_get(import->problems, i)->problem, key));
    }
    g_assert_cmpstr(keys->str, ==, row->keys != NULL ? row->keys : "");
    g_assert_cmpint(import->skipped->len, ==, row->keys == NULL);
    if (import->skipped->len > 0 && row->keys == NULL) {
        const struct import_skip *skip = g_ptr_array_index(import->skipped, 0);
        if (strstr(skip->reason, row->reason) == NULL) {
            g_test_message("'%s' does not say '%s'", skip->reason, row->reason);
            g_test_fail();
        }
        g_assert_cmpint(skip->line, ==, 2);
    }
    if (g_test_failed()) {
        g_test_message("%s", row->table);
    }
}

static void check_rows(const struct row *rows, size_t count)
{
    static const struct import_options none;
    for (size_t i = 0; i < count; i++) {
        check_row(&rows[i], &none);
    }
}

#define KEY "64-56-56-3x3-128-28-28-32-1x1-2x2-1x1-0-NCHW-FP16-F"

/* The same layer in the column names of several programs. */
static void test_usual_words(void)
{
    static const struct row rows[] = {
        {"n,c,h,w,k,y,x,p,q,u,v,l,j,g,type\n32,64,56,56,128,3,3,1,1,2,2,1,1,1,FP16\n", KEY, NULL},
        {"N,C,H,W,K,Y,X,P,Q,U,V,TYPE\n32,64,56,56,128,3,3,1,1,2,2,half\n", KEY, NULL},
        {"batchsize,spatial_dim,in_channels,out_channels,in_d,in_h,in_w,fil_d,fil_h,fil_w,pad_d,pad_h,"
         "pad_w,conv_stride_d,conv_stride_h,conv_stride_w,dilation_d,dilation_h,dilation_w,group_count,"
         "mode,pad_mode,forw,in_layout,fil_layout,out_layout,bias,tensor_vect,vector_length,"
         "trans_output_pad_d,trans_output_pad_h,trans_output_pad_w,in_cast_type,wei_cast_type,"
         "out_cast_type,iter,verify,time,search,wall,printconv,dump_output,gpualloc,solution,pad_val,"
         "dtype\n"
         "32,2,64,128,1,56,56,1,3,3,0,1,1,0,2,2,0,1,1,1,conv,default,1,NCHW,NCHW,NCHW,0,0,1,0,0,0,-1,"
         "-1,-1,10,0,1,0,0,1,0,0,-1,0,fp16\n",
         KEY, NULL},
        {"name,type,in_channels,out_channels,kernel_size,stride,padding,dilation,groups,padding_mode,"
         "input_shape,output_shape,dtype\n"
         "conv1,Conv2d,64,128,\"(3, 3)\",\"(2, 2)\",\"(1, 1)\",\"(1, 1)\",1,zeros,"
         "\"torch.Size([32, 64, 56, 56])\",\"torch.Size([32, 128, 28, 28])\",torch.float16\n",
         KEY, NULL},
        {"batch_size;in_channels;out_channels;input_size;kernel_size;stride;pad;precision\n"
         "32;64;128;56x56;3x3;2;1;float16\n",
         KEY, NULL},
        {"Batch Size\tIn-Channels\tOut Channels\tHeight\tWidth\tKernel Size\tStride_H\tstride w\tPad "
         "H\tPAD_W\tD-Type\n32\t64\t128\t56\t56\t3\t2\t2\t1\t1\tFP16\n",
         KEY, NULL},
        {"n,c,h,w,k,r,s,pad_h,pad_w,stride_h,stride_w,dtype\n32,64,56,56,128,3,3,1,1,2,2,FP16\n",
         KEY, NULL},
        {"batch,in_channels,out_channels,hw,ksize,strides,pads,dtype\n"
         "32.0,64.0,128,56,3.0,\"[2, 2]\",\"[1, 1, 1, 1]\",f16\n",
         KEY, NULL},
        {"op,bs,filters,input_shape,kernel_size,strides,padding,output_shape,data_format,dtype\n"
         "Conv2D,32,128,\"(None, 56, 56, 64)\",3,2,1,\"(None, 28, 28, 128)\",channels_last,float16\n",
         "64-56-56-3x3-128-28-28-32-1x1-2x2-1x1-0-NHWC-NHWC-NHWC-FP16-F", NULL},
    };
    check_rows(rows, G_N_ELEMENTS(rows));
}

#define SMALL  "c,h,w,k,y,x,"
#define VALUES "8,9,9,16,3,3,"

static void test_contradictions(void)
{
    static const struct row rows[] = {
        {SMALL "stride,stride_h,stride_w\n" VALUES "2,1,2\n", NULL,
         "columns 'stride' ('2') and 'stride_h' ('1') contradict each other"},
        {SMALL "in_channels\n" VALUES "4\n", NULL, "columns 'c' ('8') and 'in_channels' ('4')"},
        {SMALL "in_channels\n" VALUES "8\n", "8-9-9-3x3-16-7-7-1-0x0-1x1-1x1-0-NCHW-FP32-F", NULL},
        {SMALL "dtype,precision\n" VALUES "fp16,bf16\n", NULL, "'dtype' ('fp16') and 'precision'"},
        {SMALL "dtype,precision\n" VALUES "fp16,half\n",
         "8-9-9-3x3-16-7-7-1-0x0-1x1-1x1-0-NCHW-FP16-F", NULL},
        {SMALL "mode,transposed\n" VALUES "conv,yes\n", NULL, "'mode' ('conv') and 'transposed'"},
        {SMALL "nd,kernel_size\n" VALUES "2,3x3x3\n", NULL,
         "'nd' ('2') and 'kernel_size' ('3x3x3')"},
        {SMALL "padding,pad_h,pad_w\n" VALUES "valid,1,1\n", NULL,
         "column 'pad_h' is '1', but padding 'valid' is 0"},
        {SMALL "input_shape\n" VALUES "\"(1, 7, 9, 9)\"\n", NULL, "'c' ('8') and 'input_shape'"},
        {SMALL "direction,forw\n" VALUES "F,2\n", NULL, "'direction' ('F') and 'forw' ('2')"},
        {SMALL "u,v\n" VALUES "2,\n", NULL,
         "column 'u' is '2', but the row does not say the same of "
         "its axis w"},
        {SMALL "d,nd\n" VALUES "4,2\n", NULL, "column 'd' is '4', but the layer is 2D"},
    };
    check_rows(rows, G_N_ELEMENTS(rows));
}

/* If the table states the output's size, a wrong stride or padding is found by comparing it. */
static void test_output_is_checked(void)
{
    static const struct row rows[] = {
        {SMALL "oh,ow\n" VALUES "7,7\n", "8-9-9-3x3-16-7-7-1-0x0-1x1-1x1-0-NCHW-FP32-F", NULL},
        {SMALL "stride,oh,ow\n" VALUES "1,4,4\n", NULL,
         "column 'oh' makes the output 4x4, the other columns make it 7x7 (stride 1x1, padding 0x0, "
         "dilation 1x1)"},
        {SMALL "stride,output_size\n" VALUES "2,7\n", NULL, "the other columns make it 4x4"},
        {SMALL "output_shape\n" VALUES "\"(1, 16, 7, 7)\"\n",
         "8-9-9-3x3-16-7-7-1-0x0-1x1-1x1-0-NCHW-FP32-F", NULL},
        {SMALL "output_shape\n" VALUES "\"(1, 8, 7, 7)\"\n", NULL, "'k' ('16') and 'output_shape'"},
        {SMALL "mode,stride,oh,ow\n" VALUES "trans,2,20,20\n",
         "8-9-9-3x3-16-20-20-1-0x0-2x2-1x1-0-NCHW-FP32-B", NULL},
        {SMALL "mode,stride,oh,ow\n" VALUES "trans,2,21,21\n", NULL,
         "the other columns make it 19x19"},
        {SMALL "mode,stride,output_padding,oh,ow\n" VALUES "trans,2,1,19,19\n", NULL,
         "the other columns make it 20x20"},
        {SMALL "mode,stride,output_padding\n" VALUES "trans,2,1\n",
         "8-9-9-3x3-16-20-20-1-0x0-2x2-1x1-0-NCHW-FP32-B", NULL},
        {SMALL "mode,oh\n" VALUES "trans,99\n", NULL, "makes the output 99x?"},
    };
    check_rows(rows, G_N_ELEMENTS(rows));
}

static void test_padding_words(void)
{
    static const struct row rows[] = {
        {SMALL "padding\n" VALUES "same\n", "8-9-9-3x3-16-9-9-1-1x1-1x1-1x1-0-NCHW-FP32-F", NULL},
        {SMALL "padding,dilation\n" VALUES "same,2\n",
         "8-9-9-3x3-16-9-9-1-2x2-1x1-2x2-0-NCHW-FP32-F", NULL},
        {SMALL "padding,stride\n" VALUES "SAME,2\n", "8-9-9-3x3-16-5-5-1-1x1-2x2-1x1-0-NCHW-FP32-F",
         NULL},
        {"c,h,w,k,y,x,padding,stride\n8,10,10,16,3,3,same,2\n", NULL,
         "not the same on both sides of axis h (1 in all)"},
        {SMALL "auto_pad,pads\n" VALUES "NOTSET,\"[1, 2, 1, 2]\"\n",
         "8-9-9-3x3-16-9-11-1-1x2-1x1-1x1-0-NCHW-FP32-F", NULL},
        {SMALL "pads\n" VALUES "\"[1, 2, 2, 2]\"\n", NULL, "a padding for each side"},
        {SMALL "padding\n" VALUES "\"(1, 2, 1, 2)\"\n", NULL, "a padding for each side"},
        {SMALL "padding\n" VALUES "valid\n", "8-9-9-3x3-16-7-7-1-0x0-1x1-1x1-0-NCHW-FP32-F", NULL},
        {SMALL "padding_mode\n" VALUES "reflect\n", NULL, "padding with other values"},
        {"op,c,h,w,k,kernel_size,padding,stride\nConv2DTranspose,8,9,9,16,4,same,2\n",
         "8-9-9-4x4-16-18-18-1-1x1-2x2-1x1-0-NCHW-FP32-B", NULL},
    };
    check_rows(rows, G_N_ELEMENTS(rows));
}

static void test_dimensions(void)
{
    static const struct row rows[] = {
        {"op,in_channels,out_channels,length,kernel_size,stride,padding\nConv1d,8,16,100,5,2,2\n",
         "8-1-100-1x5-16-1-50-1-0x2-1x2-1x1-0-NCHW-FP32-F", NULL},
        {"nd,in_channels,out_channels,input_shape,kernel_size\n1,8,16,\"(4, 8, 100)\",\"(5,)\"\n",
         "8-1-100-1x5-16-1-96-4-0x0-1x1-1x1-0-NCHW-FP32-F", NULL},
        {"nd,c,h,w,k,y,x\n1,8,9,9,16,1,3\n", NULL, "column 'h' is '9', but the layer is 1D"},
        {"type,in_channels,out_channels,input_shape,kernel_size,stride,padding,dtype\n"
         "Conv3d,3,64,\"(1, 3, 16, 112, 112)\",\"(3, 7, 7)\",\"(1, 2, 2)\",\"(1, 3, 3)\",fp16\n",
         "3-16-112-112-3x7x7-64-16-56-56-1-1x3x3-1x2x2-1x1x1-0-NCDHW-FP16-F", NULL},
        {"c,d,h,w,k,z,y,x,pd,p,q,layout\n8,4,9,9,16,3,3,3,1,1,1,NHWC\n",
         "8-4-9-9-3x3x3-16-4-9-9-1-1x1x1-1x1x1-1x1x1-0-NDHWC-NDHWC-NDHWC-FP32-F", NULL},
        {"c,d,h,w,k,z,y,x,p,q\n8,4,9,9,16,3,3,3,1,1\n", NULL,
         "does not say the same of its axis d"},
        {"nd,c,d,h,w,k,z,y,x\n2,8,1,9,9,16,1,3,3\n", "8-9-9-3x3-16-7-7-1-0x0-1x1-1x1-0-NCHW-FP32-F",
         NULL},
        {"nd,c,h,w,k,y,x\n4,8,9,9,16,3,3\n", NULL, "it must be 1, 2 or 3"},
        {"op,c,h,w,k,y,x\nConv3d,8,9,9,16,3,3\n", NULL, "the input's size on axis d is empty"},
    };
    check_rows(rows, G_N_ELEMENTS(rows));
}

static void test_kinds_of_layers(void)
{
    static const struct row rows[] = {
        {"op,c,h,w,k,y,x\ntorch.nn.Linear,8,9,9,16,3,3\n", NULL,
         "is 'torch.nn.Linear', no convolution"},
        {"type,c,h,w,k,y,x\nBatchNorm2d,8,9,9,16,3,3\n", NULL, "and no convolution"},
        {"dtype,c,h,w,k,y,x\nuint8,8,9,9,16,3,3\n", NULL, "no data type that is computed here"},
        {"op,c,h,w,k,y,x\nSeparableConv2D,8,9,9,16,3,3\n", NULL, "two convolutions"},
        {"op,c,h,w,k,y,x,depth_multiplier\nDepthwiseConv2D,8,9,9,,3,3,2\n",
         "8-9-9-3x3-16-7-7-1-0x0-1x1-1x1-0-NCHW-FP32-F_g8", NULL},
        {"op,c,h,w,k,y,x,groups\nDepthwiseConv2D,8,9,9,8,3,3,2\n", NULL,
         "has 2 groups of 8 channels"},
        {"op,c,h,w,k,y,x,depth_multiplier\nConv2D,8,9,9,16,3,3,2\n", NULL, "calls it depthwise"},
        {"op,c,h,w,k,y,x\nGroupConv2d,8,9,9,16,3,3\n", NULL, "its number of groups is empty"},
        {"op,c,h,w,k,y,x,groups\nGroupConv2d,8,9,9,16,3,3,4\n",
         "8-9-9-3x3-16-7-7-1-0x0-1x1-1x1-0-NCHW-FP32-F_g4", NULL},
        {"op,c,h,w,k,y,x\nPointwiseConv2D,8,9,9,16,3,1\n", NULL, "its filter is 3 on axis h"},
        {"op,c,h,w,k,y,x\nPointwiseConv2D,8,9,9,16,1,1\n",
         "8-9-9-1x1-16-9-9-1-0x0-1x1-1x1-0-NCHW-FP32-F", NULL},
        {"op,c,h,w,k,y,x\naten::convolution,8,9,9,16,3,3\n",
         "8-9-9-3x3-16-7-7-1-0x0-1x1-1x1-0-NCHW-FP32-F", NULL},
        {"operation,c,h,w,k,y,x\nconv_bwd_weight,8,9,9,16,3,3\n",
         "16-7-7-3x3-8-9-9-1-0x0-1x1-1x1-0-NCHW-FP32-W", NULL},
        {SMALL "direction\n" VALUES "fwd+wrw\n",
         "8-9-9-3x3-16-7-7-1-0x0-1x1-1x1-0-NCHW-FP32-F "
         "16-7-7-3x3-8-9-9-1-0x0-1x1-1x1-0-NCHW-FP32-W",
         NULL},
        {SMALL "forw\n" VALUES "3\n",
         "8-9-9-3x3-16-7-7-1-0x0-1x1-1x1-0-NCHW-FP32-F "
         "16-7-7-3x3-8-9-9-1-0x0-1x1-1x1-0-NCHW-FP32-B",
         NULL},
        {SMALL "direction\n" VALUES "backward\n", NULL, "it must hold F, B or W"},
        {SMALL "type,direction\n" VALUES "INT8,B\n", NULL, "INT8 has no other"},
        {SMALL "type,direction,bias\n" VALUES "int8,FB,true\n",
         "8-9-9-3x3-16-7-7-1-0x0-1x1-1x1-1-NCHW-INT8INT8INT32-F", NULL},
        {SMALL "dtype,use_bias\n" VALUES "mixed_float16,True\n",
         "8-9-9-3x3-16-7-7-1-0x0-1x1-1x1-0-NCHW-FP16-F", NULL},
        {SMALL "dtype\n" VALUES "mixed_bfloat16\n", "8-9-9-3x3-16-7-7-1-0x0-1x1-1x1-0-NCHW-BF16-F",
         NULL},
        {SMALL "layout,fil_layout\n" VALUES "nhwc,NCHW\n",
         "8-9-9-3x3-16-7-7-1-0x0-1x1-1x1-0-NHWC-NCHW-NHWC-FP32-F", NULL},
        {SMALL "memory_format\n" VALUES "torch.channels_last\n",
         "8-9-9-3x3-16-7-7-1-0x0-1x1-1x1-0-NHWC-NHWC-NHWC-FP32-F", NULL},
        {SMALL "tensor_vect,vector_length\n" VALUES "1,4\n",
         "8-9-9-3x3-16-7-7-1-0x0-1x1-1x1-0-NCHWc4-NCHWc4-NCHWc4-FP32-F", NULL},
        {SMALL "layout\n" VALUES "NWHC\n", NULL, "no layout that is known"},
    };
    check_rows(rows, G_N_ELEMENTS(rows));
}

/* A table with shapes must say whether the channels come first or last: a wrong guess would import
 * another network. */
static void test_shapes(void)
{
    static const struct row rows[] = {
        {"in_shape,k,kernel_size\n\"(1, 3, 224, 224)\",64,7\n", NULL,
         "of which the channels may stand first or last"},
        {"in_shape,layout,k,kernel_size\n\"(1, 3, 224, 224)\",NCHW,64,7\n",
         "3-224-224-7x7-64-218-218-1-0x0-1x1-1x1-0-NCHW-FP32-F", NULL},
        {"in_shape,c,k,kernel_size\n\"(2, 3, 224, 224)\",3,64,7\n",
         "3-224-224-7x7-64-218-218-2-0x0-1x1-1x1-0-NCHW-FP32-F", NULL},
        {"in_shape,c,k,kernel_size\n\"(None, 224, 224, 3)\",3,64,7\n",
         "3-224-224-7x7-64-218-218-1-0x0-1x1-1x1-0-NHWC-NHWC-NHWC-FP32-F", NULL},
        {"in_shape,out_shape,filters,kernel_size\n\"(None, 9, 9, 3)\",\"(None, 7, 7, 64)\",64,3\n",
         "3-9-9-3x3-64-7-7-1-0x0-1x1-1x1-0-NHWC-NHWC-NHWC-FP32-F", NULL},
        {"in_shape,c,k,kernel_size,memory_format\n3x9x9,3,8,3,channels_last\n",
         "3-9-9-3x3-8-7-7-1-0x0-1x1-1x1-0-NHWC-NHWC-NHWC-FP32-F", NULL},
        {"in_shape,c,k,kernel_size\n\"(1, 64, 64, 64)\",64,8,3\n",
         "64-64-64-3x3-8-62-62-1-0x0-1x1-1x1-0-NCHW-FP32-F", NULL},
        {"in_shape,c,k,kernel_size\n\"(1, 9, 8, 9)\",9,8,3\n", NULL, "may stand first or last"},
        {"in_shape,c,k,kernel_size\n\"(1, 2, 3, 4, 5, 6)\",9,8,3\n", NULL,
         "a shape of a 2D layer has 2 numbers"},
        {"in_shape,c,k,kernel_size\n\"(1, 9, None, None)\",9,8,3\n", NULL,
         "the input's size on axis h is empty"},
    };
    check_rows(rows, G_N_ELEMENTS(rows));
}

static void test_cells(void)
{
    static const struct row rows[] = {
        {SMALL "count\n" VALUES "\"1,0\"\n", NULL, "a number with a comma"},
        {SMALL "count\n" VALUES "0\n", NULL, "column 'count' is 0, it must be at least 1"},
        {SMALL "count\n" VALUES "1.5\n", NULL, "a whole number"},
        {SMALL "count\n" VALUES "-3\n", NULL, "a whole number"},
        {"c,h,w,k,y,x\n\"1,024\",9,9,16,3,3\n", NULL,
         "column 'c' is '1,024', a number with a comma"},
        {SMALL "stride\n" VALUES "\"1,024\"\n", NULL, "column 'stride' is '1,024'"},
        {SMALL "stride\n" VALUES "3\xc3\x97"
               "3\n",
         "8-9-9-3x3-16-3-3-1-0x0-3x3-1x1-0-NCHW-FP32-F", NULL},
        {SMALL "stride\n" VALUES "2x\n", NULL, "column 'stride' is '2x'"},
        {SMALL "stride,nd\n" VALUES "1x2x3,2\n", NULL, "'stride' ('1x2x3') and 'nd' ('2')"},
        {SMALL "network,model\n" VALUES "a,b\n", NULL,
         "'network' ('a') and 'model' ('b') contradict"},
        {SMALL "stride,count,dtype\n" VALUES "NaN,None,-\n",
         "8-9-9-3x3-16-7-7-1-0x0-1x1-1x1-0-NCHW-FP32-F", NULL},
        {SMALL "stride\n8,9,,16,3,3,1\n", NULL, "the input's size on axis w is empty"},
        {SMALL "stride\n,9,9,16,3,3,1\n", NULL, "the number of input channels is empty"},
        {SMALL "stride\n8,9,9,16,3\n", NULL, "it has 5 cells, the header has 7"},
        {SMALL "bias\n" VALUES "maybe\n", NULL, "it must be yes or no"},
        {SMALL "groups\n" VALUES "3\n", NULL, "group_count is 3"},
        {SMALL ",\n" VALUES ",note\n", NULL, "the header has no name for it"},
        {"," SMALL "\n0," VALUES "\n", "8-9-9-3x3-16-7-7-1-0x0-1x1-1x1-0-NCHW-FP32-F", NULL},
    };
    check_rows(rows, G_N_ELEMENTS(rows));
}

/* Options give the values that a table leaves out; an option with several values makes a problem
 * for each. */
static void test_options(void)
{
    const struct import_options options = {.batches = {1, 64},
                                           .batch_count = 2,
                                           .types = {TYPE_FP16, TYPE_INT8},
                                           .type_count = 2,
                                           .has_layout = true,
                                           .layout = LAYOUT_NHWC,
                                           .directions = 3};
    static const struct row plain = {
        "c,h,w,k,y,x\n8,9,9,16,3,3\n",
        "8-9-9-3x3-16-7-7-1-0x0-1x1-1x1-0-NHWC-NHWC-NHWC-FP16-F "
        "16-7-7-3x3-8-9-9-1-0x0-1x1-1x1-0-NHWC-NHWC-NHWC-FP16-B "
        "8-9-9-3x3-16-7-7-1-0x0-1x1-1x1-0-NHWC-NHWC-NHWC-INT8INT8INT32-F "
        "8-9-9-3x3-16-7-7-64-0x0-1x1-1x1-0-NHWC-NHWC-NHWC-FP16-F "
        "16-7-7-3x3-8-9-9-64-0x0-1x1-1x1-0-NHWC-NHWC-NHWC-FP16-B "
        "8-9-9-3x3-16-7-7-64-0x0-1x1-1x1-0-NHWC-NHWC-NHWC-INT8INT8INT32-F",
        NULL};
    static const struct import_options rounded = {
        .types = {TYPE_FP32}, .tf32 = {true}, .type_count = 1};
    static const struct row tf32 = {"c,h,w,k,y,x\n8,9,9,16,3,3\n",
                                    "8-9-9-3x3-16-7-7-1-0x0-1x1-1x1-0-NCHW-FP32-F_cxTF32", NULL};
    static const struct row said = {"c,h,w,k,y,x,dtype\n8,9,9,16,3,3,tf32\n",
                                    "8-9-9-3x3-16-7-7-1-0x0-1x1-1x1-0-NCHW-FP32-F_cxTF32", NULL};
    static const struct import_options forward = {.directions = 1};
    static const struct row transposed = {"c,h,w,k,y,x,mode\n8,9,9,16,3,3,trans\n",
                                          "8-9-9-3x3-16-11-11-1-0x0-1x1-1x1-0-NCHW-FP32-B", NULL};
    check_row(&plain, &options);
    check_row(&transposed, &forward);
    check_row(&tf32, &rounded);
    check_row(&said, &forward);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/layer_row/one_layer_in_the_words_of_several_programs", test_usual_words);
    g_test_add_func("/layer_row/columns_that_contradict_each_other_are_named", test_contradictions);
    g_test_add_func("/layer_row/output_size_is_checked", test_output_is_checked);
    g_test_add_func("/layer_row/padding_may_be_a_word", test_padding_words);
    g_test_add_func("/layer_row/layers_have_one_to_three_dimensions", test_dimensions);
    g_test_add_func("/layer_row/kinds_of_layers_directions_and_layouts", test_kinds_of_layers);
    g_test_add_func("/layer_row/place_of_the_channels_in_a_shape_is_not_guessed", test_shapes);
    g_test_add_func("/layer_row/cells_that_cannot_be_read_are_named", test_cells);
    g_test_add_func("/layer_row/options_give_what_is_left_out", test_options);
    return g_test_run();
}
