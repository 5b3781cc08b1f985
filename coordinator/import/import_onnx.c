/*
 * ONNX models: each convolution is a layer with its name, in the order of the model's nodes.
 */
#include "coordinator/import/import_reader.h"
#include "coordinator/network/onnx/onnx_layers.h"

#include <inttypes.h>
#include <string.h>

/* Counts of one model's convolutions. */
struct count {
    int resolved, unresolved, integers, unsigned_values;
};

static void say(Import *import, const char *name, const char *sentence)
{
    g_autofree char *valid = g_utf8_make_valid(name, -1);
    g_ptr_array_add(import->notes, g_strdup_printf("%s: %s", valid, sentence));
}

G_GNUC_PRINTF(3, 4)
static void say_format(Import *import, const char *name, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *sentence = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    say(import, name, sentence);
}

/* Takes a text over as a fact of the network, unless it is too long or has control characters. */
static void take_fact(struct network_facts *facts, enum network_fact fact, const char *text)
{
    if (text != NULL && network_fact_check(fact, text, NULL)) {
        facts->texts[fact] = g_strdup(text);
    }
}

char *import_onnx_name(const struct onnx_about *about, const char *file)
{
    bool names = about->model != NULL && network_fact_check(FACT_MODEL, about->model, NULL) &&
                 strlen(about->model) <= NETWORK_NAME_MAX;
    return names ? g_strdup(about->model) : import_file_name(file);
}

/* Adds one layer: in each wanted direction, batch size and type. */
static void add_layer(Import *import, const struct import_source *source,
                      const struct onnx_layer *layer, const char *network,
                      const struct network_facts *facts, int64_t batch)
{
    int wanted = import->options.directions != 0 ? import->options.directions : 1 << DIRECTION_F;
    struct problem problems[DIRECTION_COUNT];
    int count = 0;
    for (int d = 0; d < DIRECTION_COUNT; d++) {
        if ((wanted & 1 << d) == 0 || (layer->is_integer && d != DIRECTION_F)) {
            continue;
        }
        problems[count] = layer->problem;
        /* The mirrored convolution computes backward what the transposed one does forward. */
        static const enum direction mirrored[] = {DIRECTION_B, DIRECTION_F, DIRECTION_W};
        problems[count].direction = layer->is_transposed ? mirrored[d] : (enum direction)d;
        count++;
    }
    if (count == 0) {
        import_skip(import, source, layer->position, "INT8 has the forward direction only");
        return;
    }
    if (import->options.batch_count > 0 && layer->problem.n % batch != 0) {
        g_autofree char *reason = g_strdup_printf("node '%s' (%s): its batch of %" PRId64
                                                  " is no multiple of the network's, %" PRId64
                                                  ": --batch cannot change it",
                                                  layer->name, layer->op, layer->problem.n, batch);
        import_skip(import, source, layer->position, reason);
        return;
    }
    const struct import_layer added = {
        .network = network,
        .name = layer->name,
        .multiplicity = 1,
        .problems = problems,
        .count = count,
        .directed = true,
        .facts = facts,
        .per_image = layer->problem.n % batch == 0 ? layer->problem.n / batch : 0,
    };
    import_add_variants(import, source, layer->position, &added);
}

static void say_count(Import *import, const char *name, const struct count *count, int hidden)
{
    int all = count->resolved + count->unresolved + hidden;
    say_format(import, name, "%d of %d convolution%s resolved", count->resolved, all,
               all == 1 ? " is" : "s are");
    if (count->integers > 0) {
        say_format(
            import, name,
            "%d convolution%s of 8-bit integers %s INT8 with INT32 sums%s; what rescales the "
            "sums is not part of them",
            count->integers, count->integers == 1 ? "" : "s", count->integers == 1 ? "is" : "are",
            count->unsigned_values > 0 ? ", unsigned values taken for signed ones" : "");
    }
}

/* The batch that the layers are for: the stated one, which is the first size of the network's input, if the first
 * convolution's batch is a multiple of it. Otherwise the input has no batch (an image may begin with its channels), and
 * the first convolution's batch counts. */
static int64_t batch_of(const GArray *layers, int64_t stated)
{
    for (guint i = 0; i < layers->len; i++) {
        const struct onnx_layer *layer = &g_array_index(layers, struct onnx_layer, i);
        if (layer->reason == NULL) {
            return layer->problem.n % stated == 0 ? stated : layer->problem.n;
        }
    }
    return stated;
}

/* Adds all layers. Returns false with EXPORT_ERROR_DAMAGED if the model is invalid and no convolution of it can be
 * used. */
static bool add_layers(Import *import, const struct import_source *source, Graph *graph,
                       const char *network, const struct network_facts *facts,
                       const struct onnx_notes *notes, GError **error)
{
    g_autoptr(GArray) layers = onnx_layers(graph);
    struct count count = {0};
    const struct onnx_layer *invalid = NULL;
    for (guint i = 0; i < layers->len; i++) {
        const struct onnx_layer *layer = &g_array_index(layers, struct onnx_layer, i);
        count.resolved += layer->reason == NULL;
        count.unresolved += layer->reason != NULL;
        count.integers += layer->reason == NULL && layer->is_integer;
        count.unsigned_values += layer->reason == NULL && layer->is_unsigned;
        invalid = layer->invalid && invalid == NULL ? layer : invalid;
    }
    if (count.resolved == 0 && invalid != NULL) {
        g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_DAMAGED, "cannot read problems from '%s': %s",
                    source->name, invalid->reason);
        return false;
    }
    for (guint i = 0; i < layers->len; i++) {
        const struct onnx_layer *layer = &g_array_index(layers, struct onnx_layer, i);
        if (layer->reason == NULL) {
            add_layer(import, source, layer, network, facts, batch_of(layers, notes->batch));
        } else {
            g_autofree char *own = g_strdup_printf("node '%s' (%s)", layer->name, layer->op);
            g_autofree char *reason =
                g_str_has_prefix(layer->reason, own)
                    ? g_strdup(layer->reason)
                    : g_strdup_printf("%s depends on what is not known: %s", own, layer->reason);
            import_skip(import, source, layer->position, reason);
        }
    }
    say_count(import, source->name, &count, notes->hidden);
    return true;
}

static bool import_model(Import *import, const OnnxFile *file, const char *name,
                         const struct onnx_options *options, struct onnx_notes *notes,
                         GError **error)
{
    const struct import_source source = {.name = name};
    g_autoptr(Graph) graph = onnx_read_graph(file, options, notes, error);
    if (graph == NULL) {
        return false;
    }
    if (import->options.goes_on != NULL && !import->options.goes_on(name, graph->node_count)) {
        g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_STOPPED, "reading '%s' was stopped", name);
        return false;
    }
    struct onnx_about about;
    struct network_facts facts = {0};
    onnx_about_read(file, &about);
    g_autofree char *network = import->options.network != NULL ? g_strdup(import->options.network)
                                                               : import_onnx_name(&about, name);
    take_fact(&facts, FACT_FRAMEWORK, about.framework);
    take_fact(&facts, FACT_MODEL, about.model);
    take_fact(&facts, FACT_VERSION, about.version);
    onnx_about_clear(&about);
    import->lines += graph->node_count;
    for (guint i = 0; i < notes->lines->len; i++) {
        say(import, name, notes->lines->pdata[i]);
    }
    bool added = add_layers(import, &source, graph, network, &facts, notes, error);
    network_facts_clear(&facts);
    return added;
}

bool import_onnx(Import *import, const char *name, const char *path, const void *bytes,
                 size_t length, GError **error)
{
    struct onnx_options options = {.without_weights = true};
    g_auto(GStrv) words = NULL;
    g_autofree char *folder = path != NULL ? g_path_get_dirname(path) : NULL;
    if (!import_dim_parse(import->options.dim, &options, &words, error)) {
        return false;
    }
    g_autoptr(OnnxFile) file = onnx_file_new(name, folder, bytes, length, error);
    if (file == NULL) {
        return false;
    }
    struct onnx_notes notes;
    onnx_notes_init(&notes);
    bool read = import_model(import, file, name, &options, &notes, error);
    onnx_notes_clear(&notes);
    return read;
}
