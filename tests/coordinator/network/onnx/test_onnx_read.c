#include "coordinator/network/onnx/onnx_read.h"

#include "coordinator/network/onnx/onnx_layers.h"
#include "export/formats/export_error.h"
#include "solvers/problem/problem_key.h"
#include "tests/support/export/real_data.h"
#include "tests/support/onnx/onnx_writer.h"
#include "tests/support/temp_folder.h"

#include <inttypes.h>
#include <jansson.h>
#include <string.h>
#include <unistd.h>

enum { FLOAT = 1, UINT8 = 2, INT64 = 7, STRING = 8, BOOL = 9 };

static Graph *read_bytes(GBytes *bytes, const char *folder, const struct onnx_options *options,
                         struct onnx_notes *notes, GError **error)
{
    gsize length;
    const void *data = g_bytes_get_data(bytes, &length);
    g_autoptr(OnnxFile) file = onnx_file_new("test", folder, data, length, error);
    return file != NULL ? onnx_read_graph(file, options, notes, error) : NULL;
}

static Graph *finish(struct onnx_writer *writer, int opset, const struct onnx_options *options,
                     struct onnx_notes *notes, GError **error)
{
    static const struct onnx_options none;
    g_autoptr(GBytes) bytes = onnx_writer_finish(writer, opset, NULL);
    return read_bytes(bytes, NULL, options != NULL ? options : &none, notes, error);
}

static char *named_shape(Graph *graph, const char *name)
{
    struct value *value = graph_find_value(graph, name);
    return value != NULL ? shape_text(&value->shape) : NULL;
}

#define SHAPE_IS(graph, name, text)                                                                \
    do {                                                                                           \
        g_autofree char *shape_is = named_shape(graph, name);                                      \
        g_assert_cmpstr(shape_is, ==, text);                                                       \
    } while (0)

static bool notes_match(const struct onnx_notes *notes, const char *pattern)
{
    for (guint i = 0; i < notes->lines->len; i++) {
        if (g_pattern_match_simple(pattern, notes->lines->pdata[i])) {
            return true;
        }
    }
    return false;
}

/* ---- models that contradict themselves ---- */

static void test_contradictions(void)
{
    static const struct {
        int opset;
        const char *first, *second; /* a node each: "Op|inputs|outputs|attributes" */
        const char *reason;
    } rows[] = {
        {9, "Relu|x|y|", "Relu|z|u|",
         "*node 'n_u' (Relu): its input 'z' is no input of the network*"},
        {9, "Relu|x|y|", "Relu|x|y|",
         "*node 'n_y' (Relu): its output 'y' is given by another node*"},
        {9, "Relu|u|y|", "Relu|y|u|", "*node 'n_y' (Relu): it depends on its own output*"},
        {9, "Relu|x x|y|", "Relu|y|u|", "*node 'n_y' (Relu): *inputs*"},
        {9, "Conv|x -|y|", "Relu|y|u|", "*node 'n_y' (Conv): *inputs*"},
        {9, "Add|- x|y|", "Relu|y|u|", "*node 'n_y' (Add): its input 0 is missing*"},
        {9, "Relu|x|y|", "|y|u|", "*node 'n_u' (*): it has no operator*"},
        {9, "Upsample|x|y|", "Relu|y|u|", "*node 'n_y' (Upsample): it has no scales*"},
        {9, "MaxPool|x|y|kernel_shape=3", "Relu|y|u|",
         "*kernel_shape is an integer, it must be a list*"},
        {9, "Softmax|x|y|axis=1 axis=2", "Relu|y|u|", "*it has the attribute axis twice*"},
        {6, "Relu|x|y|", "Relu|y|u|", "*version 6 of ONNX's operators*versions 7 to 21 are read*"},
        {22, "Relu|x|y|", "Relu|y|u|", "*version 22 of ONNX's operators*"},
        {0, "Relu|x|y|", "Relu|y|u|", "*does not say which version*"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        struct onnx_writer writer;
        g_autoptr(GError) error = NULL;
        onnx_writer_init(&writer, "test");
        onnx_write_input(&writer, "x", FLOAT, "1,3,8,8");
        const char *nodes[] = {rows[i].first, rows[i].second};
        for (int n = 0; n < 2; n++) {
            g_auto(GStrv) parts = g_strsplit(nodes[n], "|", -1);
            onnx_write_node(&writer, parts[0], parts[1], parts[2], parts[3]);
        }
        onnx_write_output(&writer, "u");
        g_autoptr(Graph) graph = finish(&writer, rows[i].opset, NULL, NULL, &error);
        g_assert_null(graph);
        g_assert_nonnull(error);
        if (error != NULL && !g_pattern_match_simple(rows[i].reason, error->message)) {
            g_assert_cmpstr(error->message, ==, rows[i].reason);
        }
    }
}

/* ---- the order of nodes ---- */

static void test_any_order(void)
{
    struct onnx_writer writer;
    g_autoptr(GError) error = NULL;
    onnx_writer_init(&writer, "test");
    onnx_write_input(&writer, "x", FLOAT, "1,3,8,8");
    onnx_write_node(&writer, "Relu", "c", "d", "");
    onnx_write_node(&writer, "Add", "a b", "c", "");
    onnx_write_node(&writer, "Relu", "a", "b", "");
    onnx_write_node(&writer, "Relu", "x", "a", "");
    onnx_write_output(&writer, "d");
    g_autoptr(Graph) graph = finish(&writer, 13, NULL, NULL, &error);
    g_assert_no_error(error);
    SHAPE_IS(graph, "d", "float32[1,3,8,8]");
    g_assert_true(graph_validate(graph, NULL));
}

/* ---- open dimensions ---- */

static GBytes *open_model(void)
{
    struct onnx_writer writer;
    onnx_writer_init(&writer, "test");
    onnx_write_input(&writer, "x", FLOAT, "N,3,height,?");
    onnx_write_tensor(&writer, "w", FLOAT, "8,3,3,3", NULL, 0);
    onnx_write_node(&writer, "Relu", "x", "r", "");
    onnx_write_node(&writer, "Conv", "r w", "y", "pads=[1,1,1,1]");
    onnx_write_output(&writer, "y");
    return onnx_writer_finish(&writer, 13, NULL);
}

static void test_dims(void)
{
    g_autoptr(GBytes) bytes = open_model();
    const struct {
        const char *dims; /* joined by blanks */
        int64_t batch;
        const char *shape, *note, *error;
    } rows[] = {
        {"height=32 x:3=48", 0, "float32[1,8,32,48]",
         "*'N' of input 'x' is open*the batch (--batch*", NULL},
        {"height=32 x:3=48", 4, "float32[4,8,32,48]", "*the batch (--batch*", NULL},
        {"height=32 x:3=48 N=2", 4, "float32[2,8,32,48]", NULL, NULL},
        {"height=32 x:3=48 N=batch", 4, "float32[4,8,32,48]", NULL, NULL},
        {"", 0, "?", "*'height' of input 'x' is open: give its size with --dim height=SIZE*", NULL},
        {"height=32", 0, "?", "*'x:3' of input 'x' is open: give its size with --dim x:3=SIZE*",
         NULL},
        {"depth=3", 0, NULL, NULL, "--dim depth: the model 'test' has no open dimension*"},
        {"height", 0, NULL, NULL, "--dim takes NAME=SIZE*not 'height'"},
        {"height=0", 0, NULL, NULL, "--dim takes NAME=SIZE*"},
        {"=3", 0, NULL, NULL, "--dim takes NAME=SIZE*"},
        {"height=3 height=4", 0, NULL, NULL, "--dim names 'height' twice"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        struct onnx_options options = {.batch = rows[i].batch};
        struct onnx_notes notes;
        g_autoptr(GError) error = NULL;
        g_auto(GStrv) words = g_strsplit(rows[i].dims, " ", -1);
        bool parsed = true;
        for (int w = 0; parsed && rows[i].dims[0] != '\0' && words[w] != NULL; w++) {
            parsed = onnx_dim_parse(words[w], &options, &error);
        }
        onnx_notes_init(&notes);
        g_autoptr(Graph) graph = parsed ? read_bytes(bytes, NULL, &options, &notes, &error) : NULL;
        if (rows[i].error != NULL) {
            g_assert_error(error, EXPORT_ERROR, EXPORT_ERROR_USAGE);
            g_assert_true(g_pattern_match_simple(rows[i].error, error->message));
        } else {
            g_assert_no_error(error);
            SHAPE_IS(graph, "y", rows[i].shape);
            g_assert_true(rows[i].note == NULL || notes_match(&notes, rows[i].note));
        }
        onnx_notes_clear(&notes);
    }
}

/* Sizes that no tensor has are errors, not open dimensions. */
static void test_impossible_dims(void)
{
    static const struct {
        const char *dims, *error;
    } rows[] = {
        {"1,3,-224,224", "*dimension 2 of 'x' is -224*"},
        {"4000000000,4000000000,8,8", "*'x': a tensor of 4000000000x4000000000x8x8*too large*"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        struct onnx_writer writer;
        struct onnx_options options = {0};
        g_autoptr(GError) error = NULL;
        onnx_writer_init(&writer, "test");
        onnx_write_input(&writer, "x", FLOAT, rows[i].dims);
        onnx_write_node(&writer, "Relu", "x", "y", "");
        onnx_write_output(&writer, "y");
        g_autoptr(GBytes) bytes = onnx_writer_finish(&writer, 13, NULL);
        g_assert_null(read_bytes(bytes, NULL, &options, NULL, &error));
        g_assert_nonnull(error);
        g_test_message("%s", error->message);
        g_assert_true(g_pattern_match_simple(rows[i].error, error->message));
    }
}

/* ---- branches ---- */

static void write_branch(struct onnx_writer *branch, const char *op, const char *attributes)
{
    onnx_writer_init(branch, "branch");
    onnx_write_node(branch, op, "x", "inner", attributes);
    onnx_write_output(branch, "inner");
}

/* As PyTorch writes squeeze: the condition is computed from a shape. */
static void test_branches(void)
{
    for (int taken = 0; taken < 2; taken++) {
        struct onnx_writer writer, yes, no;
        g_autoptr(GError) error = NULL;
        onnx_writer_init(&writer, "test");
        onnx_write_input(&writer, "x", FLOAT, taken ? "1,3" : "2,3");
        onnx_write_ints(&writer, "zero", "0");
        onnx_write_ints(&writer, "one", "1");
        write_branch(&yes, "Squeeze", "axes=[0]");
        write_branch(&no, "Identity", "");
        onnx_write_if(&writer, "equal", "y", &yes, &no);
        onnx_write_node(&writer, "Shape", "x", "shape", "");
        onnx_write_node(&writer, "Gather", "shape zero", "first", "");
        onnx_write_node(&writer, "Equal", "first one", "equal", "");
        onnx_write_node(&writer, "Relu", "y", "z", "");
        onnx_write_output(&writer, "z");
        g_autoptr(Graph) graph = finish(&writer, 11, NULL, NULL, &error);
        g_assert_no_error(error);
        SHAPE_IS(graph, "z", taken ? "float32[3]" : "float32[2,3]");
    }
}

/* Appends a field of bytes. */
static void put(GByteArray *to, int field, const void *bytes, gsize length)
{
    guint8 tag[] = {(guint8)((field << 3 | 2) & 127), (guint8)(field >> 4), (guint8)length};
    g_assert_cmpint(length, <, 128);
    if (field > 15) {
        tag[0] |= 128;
        g_byte_array_append(to, tag, 3);
    } else {
        g_byte_array_append(to, tag, 1);
        g_byte_array_append(to, tag + 2, 1);
    }
    g_byte_array_append(to, bytes, (guint)length);
}

static void put_word(GByteArray *to, int field, const char *word)
{
    put(to, field, word, strlen(word));
}

/* loc:Block(a, w, b) = Relu(Conv(a, w, b)) with the padding that a call names "around", or `calls` itself. */
static GByteArray *block_function(const char *calls)
{
    g_autoptr(GByteArray) pads = g_byte_array_new(), conv = g_byte_array_new();
    g_autoptr(GByteArray) relu = g_byte_array_new(), function = g_byte_array_new();
    static const guint8 ints[] = {0xa0, 0x01, 7}; /* type: INTS */
    put_word(pads, 1, "pads");
    g_byte_array_append(pads, ints, sizeof ints);
    put_word(pads, 21, "around");
    for (const char *const *input = (const char *const[]){"a", "w", "b", NULL}; *input; input++) {
        put_word(conv, 1, *input);
        put_word(function, 4, *input);
    }
    put_word(conv, 2, "c");
    put_word(conv, 4, calls != NULL ? calls : "Conv");
    put(conv, 5, pads->data, pads->len);
    if (calls != NULL) {
        put_word(conv, 7, "loc");
    }
    put_word(relu, 1, "c");
    put_word(relu, 2, "r");
    put_word(relu, 4, "Relu");
    put_word(function, 1, "Block");
    put_word(function, 5, "r");
    put(function, 7, relu->data, relu->len); /* in the wrong order, which does not matter */
    put(function, 7, conv->data, conv->len);
    put_word(function, 10, "loc");
    GByteArray *model = g_byte_array_new();
    put(model, 25, function->data, function->len);
    return model;
}

static Graph *read_with_function(struct onnx_writer *writer, const char *calls, GError **error)
{
    static const struct onnx_options options = {.batch = 1};
    g_autoptr(GBytes) bytes = onnx_writer_finish(writer, 17, NULL);
    g_autoptr(GByteArray) function = block_function(calls), model = g_byte_array_new();
    g_byte_array_append(model, g_bytes_get_data(bytes, NULL), (guint)g_bytes_get_size(bytes));
    g_byte_array_append(model, function->data, function->len);
    g_autoptr(OnnxFile) file = onnx_file_new("test", NULL, model->data, model->len, error);
    return file != NULL ? onnx_read_graph(file, &options, NULL, error) : NULL;
}

static void write_calls(struct onnx_writer *writer, const char *inputs)
{
    onnx_writer_init(writer, "test");
    onnx_write_input(writer, "x", FLOAT, "1,3,8,8");
    onnx_write_tensor(writer, "v", FLOAT, "3,3,3,3", NULL, 0);
    onnx_write_node(writer, "loc:Block", inputs, "y", "around=[1,1,1,1]");
    onnx_write_node(writer, "loc:Block", "y v", "z", "");
    onnx_write_output(writer, "z");
}

/* Two calls of a function: with another attribute each, and both without the optional input. */
static void test_functions(void)
{
    struct onnx_writer writer;
    g_autoptr(GError) error = NULL;
    write_calls(&writer, "x v");
    g_autoptr(Graph) graph = read_with_function(&writer, NULL, &error);
    g_assert_no_error(error);
    SHAPE_IS(graph, "y", "float32[1,3,8,8]");
    SHAPE_IS(graph, "z", "float32[1,3,6,6]");
    g_assert_nonnull(graph_find_node(graph, "n_y/c"));
    g_assert_nonnull(graph_find_node(graph, "n_z/c"));
    g_autoptr(GArray) layers = onnx_layers(graph);
    g_assert_cmpint(layers->len, ==, 2);
}

static void test_wrong_calls(void)
{
    static const struct {
        const char *inputs, *calls, *error;
    } rows[] = {
        {"x v v v", NULL, "*node 'n_y'*more inputs or outputs than the function that it calls"},
        {"x v", "Block", "*node 'n_y/c/c/*too deep in functions that call functions"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        struct onnx_writer writer;
        g_autoptr(GError) error = NULL;
        write_calls(&writer, rows[i].inputs);
        g_assert_null(read_with_function(&writer, rows[i].calls, &error));
        g_assert_nonnull(error);
        g_test_message("%s", error->message);
        g_assert_true(g_pattern_match_simple(rows[i].error, error->message));
    }
}

static void test_open_branches(void)
{
    struct onnx_writer writer, yes, no;
    struct onnx_notes notes;
    g_autoptr(GError) error = NULL;
    onnx_writer_init(&writer, "test");
    onnx_write_input(&writer, "x", FLOAT, "1,3,8,8");
    onnx_write_input(&writer, "c", BOOL, "1");
    onnx_write_tensor(&writer, "w", FLOAT, "8,3,3,3", NULL, 0);
    onnx_writer_init(&yes, "yes");
    onnx_write_node(&yes, "Conv", "x w", "inner", "");
    onnx_write_output(&yes, "inner");
    onnx_writer_init(&no, "no");
    onnx_write_node(&no, "Conv", "x w", "inner", "");
    onnx_write_output(&no, "inner");
    onnx_write_if(&writer, "c", "y", &yes, &no);
    onnx_write_node(&writer, "Conv", "y w", "z", "");
    onnx_write_node(&writer, "Conv", "x w", "u", "");
    onnx_write_output(&writer, "z");
    onnx_notes_init(&notes);
    g_autoptr(Graph) graph = finish(&writer, 11, NULL, &notes, &error);
    g_assert_no_error(error);
    g_assert_cmpint(notes.hidden, ==, 2);
    SHAPE_IS(graph, "z", "?");
    SHAPE_IS(graph, "u", "float32[1,8,6,6]");
    g_autoptr(GArray) layers = onnx_layers(graph);
    g_assert_cmpint(layers->len, ==, 2);
    g_assert_cmpstr(
        g_array_index(layers, struct onnx_layer, 0).reason, ==,
        "node 'n_y' (If): operator If is not known: its condition is computed while the "
        "network runs");
    g_assert_null(g_array_index(layers, struct onnx_layer, 1).reason);
    onnx_notes_clear(&notes);
}

/* ---- constants ---- */

static void test_weights_left_out(void)
{
    struct onnx_writer writer;
    g_autoptr(GError) error = NULL;
    onnx_writer_init(&writer, "test");
    onnx_write_input(&writer, "x", FLOAT, "1,3,8,8");
    onnx_write_stated(&writer, "w1", FLOAT, "8,3,3,3");
    onnx_write_ints(&writer, "dims", "4,8,1,1");
    onnx_write_node(&writer, "ConstantOfShape", "dims", "w2", "");
    onnx_write_tensor(&writer, "names", STRING, "2", NULL, 0);
    onnx_write_node(&writer, "Conv", "x w1", "y", "");
    onnx_write_node(&writer, "Conv", "y w2", "z", "");
    onnx_write_node(&writer, "ai.onnx.ml:ZipMap", "z names", "labels", "");
    onnx_write_output(&writer, "labels");
    g_autoptr(Graph) graph = finish(&writer, 11, NULL, NULL, &error);
    g_assert_no_error(error);
    SHAPE_IS(graph, "z", "float32[1,4,6,6]");
    g_assert_cmpint(graph_find_value(graph, "w2")->kind, ==, VALUE_CONSTANT);
    g_assert_true(tensor_has_data(graph_find_value(graph, "w2")->constant));
    g_assert_false(tensor_has_data(graph_find_value(graph, "w1")->constant));
}

static void test_other_files(void)
{
    g_autoptr(TempFolder) temporary = temp_folder_new();
    const char *folder = temp_folder_path(temporary, NULL);
    const float numbers[] = {0, 1, 2, 3, 4};
    temp_folder_write(temporary, "weights.bin", numbers, sizeof numbers);
    g_assert_cmpint(symlink("/etc/passwd", temp_folder_path(temporary, "link.bin")), ==, 0);
    const struct {
        const char *location, *offset, *length, *error, *note;
    } rows[] = {
        {"weights.bin", "4", "16", NULL, NULL},
        {"./weights.bin", "4", NULL, NULL, NULL},
        {"weights.bin", "8", "16", "*needs 16 bytes from byte 8 on*ends before*", NULL},
        {"weights.bin", "4", "12", "*has 16 bytes, and 12 in the file*", NULL},
        {"weights.bin", "x", "12", "*with the offset 'x', which is no number*", NULL},
        {"weights.bin", "-4", "16", "*which is no number*", NULL},
        {"missing.bin", "4", "16", NULL, "*missing.bin', which cannot be read*unknown"},
        {"../weights.bin", "4", "16", "*outside the model's folder*", NULL},
        {"/etc/passwd", "0", "16", "*outside the model's folder*", NULL},
        {"link.bin", "0", "16", "*outside the model's folder*", NULL},
        {"a/../../weights.bin", "0", "16", "*outside the model's folder*", NULL},
        {".", "0", "16", "*outside the model's folder*", NULL},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        struct onnx_writer writer;
        struct onnx_notes notes;
        g_autoptr(GError) error = NULL;
        static const struct onnx_options options;
        onnx_writer_init(&writer, "test");
        onnx_write_external(&writer, "w", "4", rows[i].location, rows[i].offset, rows[i].length);
        onnx_write_node(&writer, "Relu", "w", "y", "");
        onnx_write_output(&writer, "y");
        onnx_notes_init(&notes);
        g_autoptr(GBytes) bytes = onnx_writer_finish(&writer, 13, NULL);
        g_autoptr(Graph) graph = read_bytes(bytes, folder, &options, &notes, &error);
        if (rows[i].error != NULL) {
            g_assert_error(error, EXPORT_ERROR, EXPORT_ERROR_DAMAGED);
            if (!g_pattern_match_simple(rows[i].error, error->message)) {
                g_assert_cmpstr(error->message, ==, rows[i].error);
            }
        } else {
            g_assert_no_error(error);
            struct value *w = graph_find_value(graph, "w");
            g_assert_true(tensor_has_data(w->constant) == (rows[i].note == NULL));
            g_assert_true(rows[i].note != NULL || tensor_int64(w->constant, 3) == 4);
            g_assert_true(rows[i].note == NULL || notes_match(&notes, rows[i].note));
        }
        onnx_notes_clear(&notes);
    }
}

/* ---- padding ---- */

static const struct {
    const char *op, *x, *w, *attributes;
    const char *key;   /* of the problem */
    const char *shape; /* of the result */
    const char *step;  /* the operator of the step that is added, NULL for none */
} paddings[] = {
    {"Conv", "1,3,224,224", "8,3,3,3", "strides=[2,2] pads=[0,0,1,1]",
     "3-225-225-3x3-8-112-112-1-0x0-2x2-1x1-0-NCHW-FP32-F", "float32[1,8,112,112]", "Pad"},
    {"Conv", "1,3,224,224", "8,3,3,3", "strides=[2,2] auto_pad=SAME_UPPER",
     "3-225-225-3x3-8-112-112-1-0x0-2x2-1x1-0-NCHW-FP32-F", "float32[1,8,112,112]", "Pad"},
    {"Conv", "1,3,225,225", "8,3,3,3", "strides=[2,2] auto_pad=SAME_LOWER",
     "3-225-225-3x3-8-113-113-1-1x1-2x2-1x1-0-NCHW-FP32-F", "float32[1,8,113,113]", NULL},
    {"Conv", "1,3,9", "8,3,2", "pads=[1,0]", "3-1-10-1x2-8-1-9-1-0x0-1x1-1x1-0-NCHW-FP32-F",
     "float32[1,8,9]", "Pad"},
    {"Conv", "2,4,9", "6,4,3", "", "4-1-9-1x3-6-1-7-2-0x0-1x1-1x1-0-NCHW-FP32-F", "float32[2,6,7]",
     NULL},
    {"Conv", "1,4,5,6,7", "6,2,3,3,3", "group=2",
     "4-5-6-7-3x3x3-6-3-4-5-1-0x0x0-1x1x1-1x1x1-0-NCDHW-FP32-F_g2", "float32[1,6,3,4,5]", NULL},
    {"ConvTranspose", "1,8,7,7", "8,3,3,3", "strides=[2,2] pads=[1,1,1,1] output_padding=[1,1]",
     "8-7-7-3x3-3-14-14-1-1x1-2x2-1x1-0-NCHW-FP32-B", "float32[1,3,14,14]", NULL},
    {"ConvTranspose", "1,8,7,7", "8,3,3,3", "strides=[2,2] auto_pad=SAME_UPPER",
     "8-7-7-3x3-3-15-15-1-0x0-2x2-1x1-0-NCHW-FP32-B", "float32[1,3,14,14]", "Slice"},
    {"ConvTranspose", "1,8,7,7", "8,3,3,3", "strides=[2,2] output_shape=[14,14]",
     "8-7-7-3x3-3-14-14-1-1x1-2x2-1x1-0-NCHW-FP32-B", "float32[1,3,14,14]", NULL},
    {"ConvTranspose", "1,8,7", "8,3,2", "strides=[2]",
     "8-1-7-1x2-3-1-14-1-0x0-1x2-1x1-0-NCHW-FP32-B", "float32[1,3,14]", NULL},
};

static void test_padding(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(paddings); i++) {
        struct onnx_writer writer;
        g_autoptr(GError) error = NULL;
        onnx_writer_init(&writer, "test");
        onnx_write_input(&writer, "x", FLOAT, paddings[i].x);
        onnx_write_tensor(&writer, "w", FLOAT, paddings[i].w, NULL, 0);
        onnx_write_node(&writer, paddings[i].op, "x w", "y", paddings[i].attributes);
        onnx_write_node(&writer, "Relu", "y", "z", "");
        onnx_write_output(&writer, "z");
        g_autoptr(Graph) graph = finish(&writer, 11, NULL, NULL, &error);
        g_assert_no_error(error);
        SHAPE_IS(graph, "z", paddings[i].shape);
        g_autoptr(GArray) layers = onnx_layers(graph);
        const struct onnx_layer *layer = &g_array_index(layers, struct onnx_layer, 0);
        char key[PROBLEM_KEY_MAX];
        g_assert_cmpstr(layer->reason, ==, NULL);
        g_assert_cmpstr(problem_key(&layer->problem, key), ==, paddings[i].key);
        bool found = false;
        for (struct node *node = graph->first; node != NULL; node = node_next(node)) {
            found = found || g_strcmp0(node->op->name, paddings[i].step) == 0;
        }
        g_assert_true(found == (paddings[i].step != NULL));
        g_assert_true(graph_validate(graph, NULL));
    }
}

/* ---- real models ---- */

static int64_t number_at(const json_t *conv, const char *name, size_t index)
{
    const json_t *value = json_object_get(conv, name);
    return json_integer_value(json_is_array(value) ? json_array_get(value, index) : value);
}

/* The sizes of a convolution in one order: n c k g, then for each axis in space size, filter, padding, stride, dilation
 * and output. */
static char *expected_text(const json_t *conv)
{
    size_t axes = json_array_size(json_object_get(conv, "sp"));
    const char *op = json_string_value(json_object_get(conv, "op"));
    const char *type = json_string_value(json_object_get(conv, "dtype"));
    bool transposed = strcmp(op, "ConvTranspose") == 0;
    GString *text = g_string_new(transposed ? "transposed " : "");
    g_string_append(text, strcmp(type, "UINT8") == 0 ? "INT8" : type);
    g_string_append_printf(text, " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64,
                           number_at(conv, "n", 0), number_at(conv, "c", 0),
                           number_at(conv, "k", 0), number_at(conv, "g", 0));
    for (size_t i = 0; i < axes; i++) {
        int64_t in = number_at(conv, "sp", i), pad = number_at(conv, "pads", i);
        int64_t after = number_at(conv, "pads", i + axes);
        bool uneven = false;
        for (size_t a = 0; a < axes; a++) {
            uneven = uneven || number_at(conv, "pads", a) != number_at(conv, "pads", a + axes);
        }
        in += uneven && !transposed ? pad + after : 0;
        pad = uneven && !transposed ? 0 : pad;
        g_string_append_printf(
            text, " [%" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 "]", in,
            number_at(conv, "f", i), pad, number_at(conv, "strides", i), number_at(conv, "dil", i),
            number_at(conv, "out", i + 2));
    }
    return g_string_free(text, FALSE);
}

static char *layer_text(const struct onnx_layer *layer, size_t axes)
{
    const struct problem *p = &layer->problem;
    bool back = layer->is_transposed;
    GString *text = g_string_new(back ? "transposed " : "");
    const int64_t *in = back ? p->out : p->in, *out = back ? p->in : p->out;
    g_string_append_printf(text, "%s %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64,
                           data_type_name(p->type[TENSOR_X]), p->n, back ? p->k : p->c,
                           back ? p->c : p->k, p->groups);
    for (size_t a = AXIS_COUNT - axes; a < AXIS_COUNT; a++) {
        g_string_append_printf(
            text, " [%" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 "]",
            in[a], p->fil[a], p->pad[a], p->stride[a], p->dilation[a], out[a]);
    }
    return g_string_free(text, FALSE);
}

static void count_text(GHashTable *counts, char *text, int more)
{
    int count = GPOINTER_TO_INT(g_hash_table_lookup(counts, text)) + more;
    g_hash_table_insert(counts, text, GINT_TO_POINTER(count));
}

static void compare_model(const char *folder, const json_t *model)
{
    static const struct onnx_options options = {.without_weights = true};
    const char *name = json_string_value(json_object_get(model, "file"));
    const json_t *convs = json_object_get(model, "convs"), *conv;
    g_autofree char *path = g_build_filename(folder, name, NULL);
    g_autofree char *bytes = NULL;
    g_autoptr(GError) error = NULL;
    gsize length, index;
    g_test_message("%s", name);
    g_assert_true(g_file_get_contents(path, &bytes, &length, NULL));
    g_assert_true(onnx_file_is_model(bytes, MIN(length, 65536)));
    g_autoptr(OnnxFile) file = onnx_file_new(name, folder, bytes, length, &error);
    g_autoptr(Graph) graph = file != NULL ? onnx_read_graph(file, &options, NULL, &error) : NULL;
    g_assert_no_error(error);
    g_assert_true(graph_validate(graph, NULL));
    g_autoptr(GArray) layers = onnx_layers(graph);
    g_autoptr(GHashTable) counts = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    g_assert_cmpint(layers->len, ==, json_array_size(convs));
    json_array_foreach (convs, index, conv) {
        count_text(counts, expected_text(conv), 1);
    }
    size_t axes = json_array_size(json_object_get(json_array_get(convs, 0), "sp"));
    for (guint i = 0; i < layers->len; i++) {
        count_text(counts, layer_text(&g_array_index(layers, struct onnx_layer, i), axes), -1);
    }
    GHashTableIter iter;
    gpointer text, count;
    g_hash_table_iter_init(&iter, counts);
    while (g_hash_table_iter_next(&iter, &text, &count)) {
        if (GPOINTER_TO_INT(count) != 0) {
            g_test_message("%d too few of %s", GPOINTER_TO_INT(count), (const char *)text);
        }
        g_assert_cmpint(GPOINTER_TO_INT(count), ==, 0);
    }
}

static void test_real_models(void)
{
    g_autofree char *folder = real_data("onnx");
    if (folder == NULL) {
        return;
    }
    g_autofree char *path = g_build_filename(folder, "expected.json", NULL);
    json_t *models = json_load_file(path, 0, NULL), *model;
    size_t index;
    int compared = 0;
    json_array_foreach (models, index, model) {
        if (json_is_true(json_object_get(model, "trusted"))) {
            compare_model(folder, model);
            compared++;
        }
    }
    g_assert_cmpint(compared, >, 0);
    json_decref(models);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/onnx_read/contradictions_name_the_node", test_contradictions);
    g_test_add_func("/onnx_read/nodes_may_come_in_any_order", test_any_order);
    g_test_add_func("/onnx_read/open_dimensions_get_the_users_sizes", test_dims);
    g_test_add_func("/onnx_read/impossible_dimensions_are_named", test_impossible_dims);
    g_test_add_func("/onnx_read/branches_with_known_conditions_are_taken", test_branches);
    g_test_add_func("/onnx_read/calls_become_the_functions_nodes", test_functions);
    g_test_add_func("/onnx_read/calls_that_cannot_be_read_are_named", test_wrong_calls);
    g_test_add_func("/onnx_read/convolutions_in_open_branches_are_counted", test_open_branches);
    g_test_add_func("/onnx_read/weights_may_be_left_out", test_weights_left_out);
    g_test_add_func("/onnx_read/tensors_in_other_files_stay_in_the_folder", test_other_files);
    g_test_add_func("/onnx_read/uneven_padding_becomes_a_step", test_padding);
    g_test_add_func("/onnx_read/real_models_have_the_expected_convolutions", test_real_models);
    return g_test_run();
}
