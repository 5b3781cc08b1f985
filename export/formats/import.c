#include "export/formats/import.h"

#include "export/formats/import_reader.h"
#include "solvers/problem_key.h"

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

/* Names are stored, so they are UTF-8, whatever a file holds. */
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

/* The options' batch size may be too large for the problem's tensors. */
static bool apply_batch(const Import *import, const struct import_layer *layer,
                        struct problem problems[DIRECTION_COUNT], GError **error)
{
    g_assert(layer->count >= 1 && layer->count <= DIRECTION_COUNT);
    for (int i = 0; i < layer->count; i++) {
        problems[i] = layer->problems[i];
        if (import->options.batch > 0) {
            problems[i].n = import->options.batch;
        }
        if (!problem_validate(&problems[i], error)) {
            return false;
        }
    }
    return true;
}

void import_add(Import *import, const struct import_source *source, int64_t line,
                const struct import_layer *layer)
{
    g_autoptr(GError) error = NULL;
    struct problem problems[DIRECTION_COUNT];
    int directions = import->options.directions != 0 ? import->options.directions : DIRECTIONS_ALL;
    const char *name = layer->network != NULL ? layer->network : import->options.network;
    if (!apply_batch(import, layer, problems, &error)) {
        import_skip(import, source, line, error->message);
        return;
    }
    import->convolutions++;
    for (int i = 0; i < layer->count; i++) {
        if ((directions & 1 << problems[i].direction) == 0) {
            continue;
        }
        problem_list_add(import->problems, &problems[i], layer->multiplicity);
        if (name != NULL) {
            add_to_network(find_network(import, name), layer, &problems[i]);
        }
    }
}
