#include "coordinator/import/import.h"

#include <string.h>

void import_words_clear(struct import_words *words)
{
    g_free(words->network);
    g_free(words->batch);
    g_free(words->dtype);
    g_free(words->layout);
    g_free(words->dim);
    *words = (struct import_words){0};
}

bool import_words_any(const struct import_words *words)
{
    return words->network != NULL || words->batch != NULL || words->dtype != NULL ||
           words->layout != NULL || words->dim != NULL || words->allow_clamped;
}

GOptionEntry *import_words_entries(struct import_words *words, char network_letter,
                                   char batch_letter)
{
    const GOptionEntry entries[] = {
        {"network", network_letter, 0, G_OPTION_ARG_STRING, &words->network,
         "The network that a list is, where it names none; of a layer table with several networks, "
         "this one",
         "NAME"},
        {"batch", batch_letter, 0, G_OPTION_ARG_STRING, &words->batch,
         "Batch sizes that a layer table leaves out (1), each for every layer; of other lists and of "
         "models they replace the batch size",
         "N[,N...]"},
        {"dtype", 0, 0, G_OPTION_ARG_STRING, &words->dtype,
         "Likewise data types (FP32): FP32, FP16, BF16, INT8, ...", "T[,T...]"},
        {"layout", 0, 0, G_OPTION_ARG_STRING, &words->layout,
         "Likewise the layout (NCHW): NCHW, NHWC, ...", "L"},
        {"dim", 0, 0, G_OPTION_ARG_STRING, &words->dim,
         "Sizes of dimensions that an ONNX model leaves open: NAME=SIZE, NAME=batch for the batch "
         "size, INPUT:AXIS=SIZE for one without a name",
         "NAME=SIZE[,...]"},
        {"allow-clamped", 0, 0, G_OPTION_ARG_NONE, &words->allow_clamped,
         "Take layers whose filter is larger than its padded input, too", NULL},
        {0},
    };
    return g_memdup2(entries, sizeof entries);
}

void import_words_append(const struct import_words *words, GPtrArray *line)
{
    const struct {
        const char *option, *given;
    } texts[] = {{"--network", words->network},
                 {"--batch", words->batch},
                 {"--dtype", words->dtype},
                 {"--layout", words->layout},
                 {"--dim", words->dim}};
    for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
        if (texts[i].given != NULL) {
            g_ptr_array_add(line, g_strdup(texts[i].option));
            g_ptr_array_add(line, g_strdup(texts[i].given));
        }
    }
    if (words->allow_clamped) {
        g_ptr_array_add(line, g_strdup("--allow-clamped"));
    }
}

G_GNUC_PRINTF(2, 3)
static bool wrong(GError **error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    GError *made = g_error_new_valist(EXPORT_ERROR, EXPORT_ERROR_USAGE, format, arguments);
    va_end(arguments);
    g_propagate_error(error, made);
    return false;
}

static bool read_batch(const char *word, struct import_options *options, GError **error)
{
    int64_t batch = 0;
    if (!g_ascii_string_to_signed(word, 10, 1, INT32_MAX, &batch, NULL)) {
        return wrong(error, "--batch takes numbers from 1 to %d joined by commas, not '%s'",
                     INT32_MAX, word);
    }
    for (int i = 0; i < options->batch_count; i++) {
        if (options->batches[i] == batch) {
            return wrong(error, "--batch names %s twice", word);
        }
    }
    options->batches[options->batch_count++] = batch;
    return true;
}

static bool read_type(const char *word, struct import_options *options, GError **error)
{
    enum data_type type = TYPE_FP32;
    bool tf32 = word_is_tf32(word);
    if (!tf32 && !data_type_from_word(word, &type)) {
        return wrong(
            error,
            "--dtype takes FP32, TF32, FP16, BF16, INT8, FP64, FP8 or BF8, several joined by "
            "commas, not '%s'",
            word);
    }
    for (int i = 0; i < options->type_count; i++) {
        if (options->types[i] == type && options->tf32[i] == tf32) {
            return wrong(error, "--dtype names %s twice",
                         tf32 ? OP_MODE_TF32 : data_type_name(type));
        }
    }
    options->tf32[options->type_count] = tf32;
    options->types[options->type_count++] = type;
    return true;
}

/* Calls the parser for each word of a list. Returns false if a word is wrong, or if the list is too
 * long. */
static bool read_list(const char *option, const char *list, struct import_options *options,
                      bool (*read)(const char *word, struct import_options *options,
                                   GError **error),
                      GError **error)
{
    g_auto(GStrv) words = g_strsplit(list != NULL ? list : "", ",", -1);
    if (list != NULL && list[0] == '\0') {
        return wrong(error, "%s needs a value, not ''", option);
    }
    if (g_strv_length(words) > IMPORT_CHOICES_MAX) {
        return wrong(error, "%s takes up to %d values", option, IMPORT_CHOICES_MAX);
    }
    for (int i = 0; words[i] != NULL; i++) {
        if (!read(g_strstrip(words[i]), options, error)) {
            return false;
        }
    }
    return true;
}

bool import_dim_parse(const char *dim, struct onnx_options *options, char ***words, GError **error)
{
    *words = g_strsplit(dim != NULL ? dim : "", ",", -1);
    if (dim != NULL && dim[0] == '\0') {
        return wrong(error, "--dim needs a value, not ''");
    }
    for (int i = 0; (*words)[i] != NULL; i++) {
        if (!onnx_dim_parse((*words)[i], options, error)) {
            return false;
        }
    }
    return true;
}

static bool check_dim(const char *dim, GError **error)
{
    g_auto(GStrv) words = NULL;
    struct onnx_options options = {0};
    return import_dim_parse(dim, &options, &words, error);
}

bool import_words_parse(const struct import_words *words, struct import_options *options,
                        GError **error)
{
    *options = (struct import_options){
        .network = words->network, .dim = words->dim, .allow_clamped = words->allow_clamped};
    if (words->network != NULL && words->network[0] == '\0') {
        return wrong(error, "--network needs a name, not ''");
    }
    if (words->network != NULL && strlen(words->network) > NETWORK_NAME_MAX) {
        return wrong(error, "--network has %zu bytes, the name of a network at most %d",
                     strlen(words->network), NETWORK_NAME_MAX);
    }
    options->has_layout = words->layout != NULL;
    if (options->has_layout && !layout_from_word(words->layout, 2, &options->layout)) {
        return wrong(error, "--layout takes NCHW, NHWC, CHWN, NCHWc4 or NCHWc8, not '%s'",
                     words->layout);
    }
    return check_dim(words->dim, error) &&
           read_list("--batch", words->batch, options, read_batch, error) &&
           read_list("--dtype", words->dtype, options, read_type, error);
}
