#include "coordinator/import/import.h"

#include "coordinator/import/import_reader.h"
#include "solvers/problem/problem_key.h"

#include <inttypes.h>
#include <limits.h>
#include <string.h>

static void skip_free(gpointer data)
{
    struct import_skip *skip = data;
    g_free(skip->file);
    g_free(skip->reason);
    g_free(skip);
}

static void layer_clear(gpointer data)
{
    g_free(((struct layer *)data)->name);
}

static void network_free(gpointer data)
{
    struct import_network *network = data;
    g_free(network->name);
    g_array_unref(network->layers);
    g_hash_table_unref(network->unnamed);
    network_facts_clear(&network->facts);
    g_free(network->difference);
    g_free(network);
}

Import *import_new(const struct import_options *options)
{
    Import *import = g_new0(Import, 1);
    import->options = *options;
    import->problems = problem_list_new();
    import->skipped = g_ptr_array_new_with_free_func(skip_free);
    import->networks = g_ptr_array_new_with_free_func(network_free);
    import->by_name = g_hash_table_new(g_str_hash, g_str_equal);
    import->notes = g_ptr_array_new_with_free_func(g_free);
    return import;
}

void import_free(Import *import)
{
    if (import == NULL) {
        return;
    }
    problem_list_free(import->problems);
    g_ptr_array_unref(import->skipped);
    g_hash_table_unref(import->by_name);
    g_ptr_array_unref(import->networks);
    g_ptr_array_unref(import->notes);
    g_free(import);
}

int import_parse_directions(const char *text)
{
    int mask = 0;
    for (; *text != '\0'; text++) {
        enum direction direction;
        if (!direction_parse(*text, &direction) || (mask & 1 << direction) != 0) {
            return 0;
        }
        mask |= 1 << direction;
    }
    return mask;
}

void import_skip(Import *import, const struct import_source *source, int64_t line,
                 const char *reason)
{
    struct import_skip *skip = g_new0(struct import_skip, 1);
    skip->file = g_utf8_make_valid(source->name, -1);
    skip->line = line;
    skip->reason = g_utf8_make_valid(reason, -1);
    g_ptr_array_add(import->skipped, skip);
}

/* Finds or adds the network. Its name is stored in the database, so bytes of the file that are not
 * UTF-8 are replaced. */
static struct import_network *find_network(Import *import, const char *given)
{
    g_autofree char *name = g_utf8_make_valid(given, -1);
    struct import_network *network = g_hash_table_lookup(import->by_name, name);
    if (network != NULL) {
        return network;
    }
    network = g_new0(struct import_network, 1);
    network->name = g_steal_pointer(&name);
    network->layers = g_array_new(FALSE, FALSE, sizeof(struct layer));
    g_array_set_clear_func(network->layers, layer_clear);
    network->unnamed = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    if (import->options.facts != NULL) {
        network_facts_add(&network->facts, import->options.facts);
    }
    g_ptr_array_add(import->networks, network);
    g_hash_table_insert(import->by_name, network->name, network);
    return network;
}

static void add_to_network(struct import_network *network, const struct import_layer *layer,
                           const struct problem *p)
{
    char key[PROBLEM_KEY_MAX];
    bool unnamed = layer->name[0] == '\0';
    guint place =
        unnamed ? GPOINTER_TO_UINT(g_hash_table_lookup(network->unnamed, problem_key(p, key))) : 0;
    if (place > 0) {
        struct layer *known = &g_array_index(network->layers, struct layer, place - 1);
        known->multiplicity = (int)MIN(known->multiplicity + layer->multiplicity, INT_MAX);
        return;
    }
    struct layer added = {g_utf8_make_valid(layer->name, -1), (int)layer->multiplicity, *p};
    g_array_append_val(network->layers, added);
    if (unnamed) {
        g_hash_table_insert(network->unnamed, g_strdup(key),
                            GUINT_TO_POINTER(network->layers->len));
    }
}

/* Notes what a line says of its network beside the layer. Later lines change no fact. */
static void describe_network(const struct import *import, struct import_network *network,
                             const struct import_source *source, int64_t line,
                             const struct network_facts *facts)
{
    for (int i = 0; i < FACT_COUNT; i++) {
        bool optional = import->options.facts != NULL && import->options.facts->texts[i] != NULL;
        if (network->difference == NULL && !optional && facts->texts[i] != NULL &&
            network->facts.texts[i] != NULL &&
            strcmp(facts->texts[i], network->facts.texts[i]) != 0) {
            network->difference = g_strdup_printf(
                "%s, line %" PRId64 ": its %s stays '%s', not '%s'", source->name, line,
                network_fact_name((enum network_fact)i), network->facts.texts[i], facts->texts[i]);
        }
    }
    network_facts_add(&network->facts, facts);
}

static void note_batch(struct import_network *network, int64_t batch)
{
    bool other = network->facts.batch > 0 && network->facts.batch != batch;
    network->several_batches = network->several_batches || other;
    network->facts.batch = network->several_batches ? 0 : batch;
}

/* "5x5", "1x3x3" */
static char *sizes_text(const struct problem *p, const int64_t sizes[AXIS_COUNT])
{
    GString *text = g_string_new(NULL);
    for (int a = p->spatial_dim == 3 ? AXIS_D : AXIS_H; a < AXIS_COUNT; a++) {
        g_string_append_printf(text, "%s%" PRId64, text->len > 0 ? "x" : "", sizes[a]);
    }
    return g_string_free(text, FALSE);
}

/* Returns the reason for skipping a layer because a problem of it is clamped, that is, its filter
 * is larger than the padded input. NULL if no problem is clamped. Free with g_free(). */
static char *clamped_reason(const struct import_layer *layer)
{
    for (int i = 0; i < layer->count; i++) {
        const struct problem *p = &layer->problems[i];
        int64_t padded[AXIS_COUNT], reach[AXIS_COUNT];
        if (!problem_is_clamped(p)) {
            continue;
        }
        for (int a = 0; a < AXIS_COUNT; a++) {
            padded[a] = p->in[a] + 2 * p->pad[a];
            reach[a] = p->dilation[a] * (p->fil[a] - 1) + 1;
        }
        g_autofree char *filter = sizes_text(p, reach), *input = sizes_text(p, padded);
        return g_strdup_printf(
            "its filter%s is %s, larger than its padded input, %s: mend the sizes, "
            "or take such lines with --allow-clamped",
            memcmp(reach, p->fil, sizeof reach) != 0 ? " with its dilation" : "", filter, input);
    }
    return NULL;
}

void import_add(Import *import, const struct import_source *source, int64_t line,
                const struct import_layer *layer)
{
    int directions = import->options.directions != 0 ? import->options.directions : DIRECTIONS_ALL;
    const char *name = layer->network != NULL ? layer->network : import->options.network;
    g_autofree char *clamped =
        layer->shipped || import->options.allow_clamped ? NULL : clamped_reason(layer);
    if (clamped != NULL) {
        import_skip(import, source, line, clamped);
        return;
    }
    import->convolutions++;
    for (int i = 0; i < layer->count; i++) {
        if (!layer->directed && (directions & 1 << layer->problems[i].direction) == 0) {
            continue;
        }
        problem_list_add(import->problems, &layer->problems[i], layer->multiplicity);
        if (name != NULL) {
            struct import_network *network = find_network(import, name);
            network->files += network->last_file != import->files;
            network->last_file = import->files;
            add_to_network(network, layer, &layer->problems[i]);
            note_batch(network, layer->problems[i].n / MAX(layer->per_image, 1));
            if (layer->facts != NULL) {
                describe_network(import, network, source, line, layer->facts);
            }
        }
    }
}

static bool set_layout(const struct import_options *options, struct problem *p, GError **error)
{
    enum layout layout = LAYOUT_NCHW;
    if (!options->has_layout) {
        return true;
    }
    if (!layout_in_dims(options->layout, p->spatial_dim, &layout)) {
        g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_SYNTAX,
                    "--layout %s has no form with %d dimensions", layout_name(options->layout),
                    p->spatial_dim);
        return false;
    }
    for (int t = 0; t < TENSOR_COUNT; t++) {
        p->layout[t] = layout;
    }
    return true;
}

/* Sets the type that the options choose. INT8 has forward kernels only, and these compute INT32
 * sums. Returns false if the direction has no kernels in the type. */
static bool set_type(const struct import_options *options, int index, struct problem *p)
{
    if (options->type_count == 0) {
        return true;
    }
    for (int t = 0; t < TENSOR_COUNT; t++) {
        p->type[t] = options->types[index];
        p->cast[t] = TYPE_NONE;
    }
    if (p->kind == OP_CONV) {
        g_strlcpy(p->mode, options->tf32[index] ? OP_MODE_TF32 : "", sizeof p->mode);
    }
    if (p->type[TENSOR_X] != TYPE_INT8) {
        return true;
    }
    p->type[TENSOR_Y] = TYPE_INT32;
    return p->direction == DIRECTION_F;
}

/* Returns the layer's problems for each batch size and data type in the options. NULL with the
 * reason if one of the problems is invalid. */
static GArray *replaced_problems(const struct import_options *options,
                                 const struct import_layer *layer, GError **error)
{
    g_autoptr(GArray) problems = g_array_new(FALSE, FALSE, sizeof(struct problem));
    int batches = MAX(options->batch_count, 1), types = MAX(options->type_count, 1);
    for (int i = 0; i < layer->count * batches * types; i++) {
        struct problem p = layer->problems[i % layer->count];
        bool has_kernels = set_type(options, i / layer->count % types, &p);
        if (options->batch_count > 0) {
            p.n = options->batches[i / layer->count / types] * MAX(layer->per_image, 1);
        }
        if (!set_layout(options, &p, error) || !problem_validate(&p, error)) {
            return NULL;
        }
        if (has_kernels) {
            g_array_append_val(problems, p);
        }
    }
    if (problems->len == 0) {
        g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_SYNTAX,
                    "--dtype INT8 has the forward direction only, this is %s",
                    layer->problems[0].direction == DIRECTION_B ? "backward data"
                                                                : "backward weights");
        return NULL;
    }
    return g_steal_pointer(&problems);
}

bool import_add_variants(Import *import, const struct import_source *source, int64_t line,
                         const struct import_layer *layer)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GArray) problems = replaced_problems(&import->options, layer, &error);
    struct import_layer replaced = *layer;
    if (problems == NULL) {
        import_skip(import, source, line, error->message);
        return false;
    }
    replaced.problems = (const struct problem *)(const void *)problems->data;
    replaced.count = (int)problems->len;
    import_add(import, source, line, &replaced);
    bool differs = replaced.count != layer->count;
    for (int i = 0; i < layer->count && !differs; i++) {
        differs = !problem_equal(&layer->problems[i], &replaced.problems[i]);
    }
    return differs;
}

void import_add_replaced(Import *import, const struct import_source *source, int64_t line,
                         const struct import_layer *layer)
{
    int64_t before = import->convolutions;
    if (import_add_variants(import, source, line, layer)) {
        import->replaced += import->convolutions - before;
    }
}
