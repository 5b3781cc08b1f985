#include "coordinator/nights/file/night_sources.h"

#include "coordinator/campaigns/problems_of.h"
#include "coordinator/cli/cli.h"
#include "coordinator/import/problems_import.h"
#include "coordinator/import/shipped.h"
#include "coordinator/nights/file/night_fetch.h"

#include <string.h>

/* A server that does not answer is asked again after 1 and 2 seconds. */
#define FETCH_ATTEMPTS 3
#define FETCH_PAUSE_MS 1000

static void state_clear(gpointer data)
{
    struct night_source_state *state = data;
    g_free(state->name);
    g_free(state->network);
    g_free(state->detail);
}

static void problem_clear(gpointer data)
{
    struct night_problem *problem = data;
    g_array_unref(problem->uses);
}

static struct night_sources *sources_new(void)
{
    struct night_sources *sources = g_new0(struct night_sources, 1);
    sources->problems = g_array_new(FALSE, FALSE, sizeof(struct night_problem));
    sources->states = g_array_new(FALSE, FALSE, sizeof(struct night_source_state));
    sources->networks = g_ptr_array_new_with_free_func(g_free);
    g_array_set_clear_func(sources->problems, problem_clear);
    g_array_set_clear_func(sources->states, state_clear);
    return sources;
}

void night_sources_free(struct night_sources *sources)
{
    if (!sources)
        return;
    g_array_unref(sources->problems);
    g_array_unref(sources->states);
    g_ptr_array_unref(sources->networks);
    g_free(sources);
}

/* ---- one source ---- */

static const struct import_words *words_of(const struct night_source *source)
{
    return &source->words;
}

static GArray *read_stored(Store *store, const struct night_source *source,
                           struct night_source_state *state, struct night_sources *sources,
                           GError **error)
{
    struct request request;
    request_init(&request, 0);
    request.tag = g_strdup(source->tag);
    request.list.network = g_strdup(source->tag ? NULL : source->words.network);
    GArray *problems = problems_of_request(store, &request, error);
    if (problems && !source->tag) {
        state->network = g_strdup(request.networks[0]);
        state->name = g_strdup_printf("network %s", state->network);
        g_ptr_array_add(sources->networks, g_strdup(state->network));
    } else if (problems) {
        state->network = g_strdup_printf("tag %s", source->tag);
        state->name = g_strdup(state->network);
    }
    request_clear(&request);
    return problems;
}

/* Whether the source names a network that comes with the program and was not imported. */
static bool is_shipped(Store *store, const struct night_source *source)
{
    if (source->kind != NIGHT_SOURCE_NETWORK || !shipped_find(source->words.network))
        return false;
    g_autoptr(GError) none = NULL;
    g_autofree char *version = store_network_version(store, source->words.network, &none);
    return version == NULL && g_error_matches(none, STORE_ERROR, STORE_ERROR_NOT_FOUND);
}

/* Names the list: by the description, by a network of the list, or by its file. */
static char *list_name(const struct night_source *source, const Import *import, const char *path)
{
    if (source->words.network)
        return g_strdup(source->words.network);
    if (import->networks->len == 1)
        return g_strdup(((struct import_network *)import->networks->pdata[0])->name);
    return import_file_name(path);
}

static GArray *take_import(const struct night_source *source, const Import *import,
                           const char *path, struct night_source_state *state, GError **error)
{
    state->network = list_name(source, import, path);
    GArray *problems = problems_of_import(import);
    if (problems->len > 0)
        return problems;
    g_array_unref(problems);
    g_set_error(error, COORDINATOR_ERROR, COORDINATOR_ERROR_EMPTY, "there is no problem in '%s'",
                path);
    return NULL;
}

/* Reads the layer table that comes with the program. */
static GArray *read_shipped(const struct night_source *source, struct night_source_state *state,
                            GError **error)
{
    const struct shipped_table *table = shipped_find(source->words.network);
    g_autoptr(GBytes) bytes = g_bytes_new_static(table->text, strlen(table->text));
    g_autofree char *path = g_strconcat(table->name, ".csv", NULL);
    g_autoptr(Import) import = problems_import_bytes(path, bytes, words_of(source), error);
    state->name = g_strdup_printf("network %s", table->name);
    state->detail = g_strdup("the table that comes with the program");
    return import ? take_import(source, import, path, state, error) : NULL;
}

static bool check_file(const struct night_source *source, GBytes **bytes, GError **error)
{
    char *text = NULL;
    gsize length = 0;
    if (!g_file_get_contents(source->file, &text, &length, error))
        return false;
    *bytes = g_bytes_new_take(text, length);
    g_autofree char *found = g_compute_checksum_for_bytes(G_CHECKSUM_SHA256, *bytes);
    if (g_ascii_strcasecmp(found, source->sha256) == 0)
        return true;
    g_clear_pointer(bytes, g_bytes_unref);
    g_set_error(error, COORDINATOR_ERROR, COORDINATOR_ERROR_USAGE,
                "'%s' has the SHA-256 %s, not the one asked for; if the new content is wanted, "
                "change sha256",
                source->file, found);
    return false;
}

static GArray *read_file(const struct night_source *source, struct night_source_state *state,
                         GError **error)
{
    char *files[] = {source->file, NULL};
    g_autoptr(GBytes) bytes = NULL;
    state->name = g_strdup(source->file);
    if (!g_file_test(source->file, G_FILE_TEST_EXISTS)) {
        g_set_error(error, COORDINATOR_ERROR, COORDINATOR_ERROR_USAGE,
                    "there is no file '%s'; a network that comes with the program is named by "
                    "\"network\", not by \"file\"",
                    source->file);
        return NULL;
    }
    if (source->sha256 && !check_file(source, &bytes, error))
        return NULL;
    g_autoptr(Import) import =
        bytes ? problems_import_bytes(source->file, bytes, words_of(source), error)
              : problems_import(files, words_of(source), error);
    return import ? take_import(source, import, source->file, state, error) : NULL;
}

/* The path of an address, whose ending may tell the format: "/lists/resnet50.csv.gz". */
static char *url_path(const char *url)
{
    const char *rest = strstr(url, "://") + strlen("://");
    const char *slash = strchr(rest, '/');
    return slash ? g_strndup(slash, strcspn(slash, "?#")) : g_strdup("/");
}

static GArray *read_url(const struct night_source *source, struct night_source_state *state,
                        GError **error)
{
    const struct fetch_wish wish = {.url = source->url,
                                    .sha256 = source->sha256,
                                    .bytes_most = source->bytes_most,
                                    .seconds_most = source->seconds_most,
                                    .attempts = FETCH_ATTEMPTS,
                                    .pause_ms = FETCH_PAUSE_MS};
    struct fetched fetched;
    GArray *problems = NULL;
    g_autofree char *folder = night_fetch_folder(NULL);
    g_autofree char *path = url_path(source->url);
    state->name = g_strdup(source->url);
    if (night_fetch(folder, &wish, &fetched, error)) {
        g_autoptr(Import) import =
            problems_import_bytes(path, fetched.bytes, words_of(source), error);
        problems = import ? take_import(source, import, path, state, error) : NULL;
        state->stale = fetched.stale;
        state->detail = g_strdup(fetched.detail);
    }
    fetched_clear(&fetched);
    return problems;
}

/* Refuses batch, dtype and the like for an imported network, whose layers have their own. */
static bool check_stored(const struct night_source *source, GError **error)
{
    struct import_words others = source->words;
    others.network = NULL;
    if (!import_words_any(&others))
        return true;
    g_set_error(error, COORDINATOR_ERROR, COORDINATOR_ERROR_USAGE,
                "the network '%s' was imported with batch, data type and layout of its own: import "
                "it with the wanted ones under another name, or name its table by \"file\"",
                source->words.network);
    return false;
}

static GArray *read_source(Store *store, const struct night_source *source,
                           struct night_source_state *state, struct night_sources *sources,
                           GError **error)
{
    switch (source->kind) {
    case NIGHT_SOURCE_NETWORK:
        if (is_shipped(store, source))
            return read_shipped(source, state, error);
        if (!check_stored(source, error))
            return NULL;
        return read_stored(store, source, state, sources, error);
    case NIGHT_SOURCE_TAG: return read_stored(store, source, state, sources, error);
    case NIGHT_SOURCE_FILE: return read_file(source, state, error);
    case NIGHT_SOURCE_URL: return read_url(source, state, error);
    }
    g_assert_not_reached();
}

/* ---- all sources ---- */

/* Adds a source's problems. places: each problem's index in sources->problems, plus 1; keys owns its keys. */
static void add_problems(struct night_sources *sources, const GArray *problems,
                         const struct night_source *source, const char *network, GHashTable *places,
                         GPtrArray *keys)
{
    for (guint i = 0; i < problems->len; i++) {
        const struct plan_problem *each = &g_array_index(problems, struct plan_problem, i);
        guint place = GPOINTER_TO_UINT(g_hash_table_lookup(places, &each->problem));
        if (place == 0) {
            const struct night_problem fresh = {
                .problem = each->problem,
                .uses = g_array_new(FALSE, FALSE, sizeof(struct night_use))};
            g_array_append_val(sources->problems, fresh);
            place = sources->problems->len;
            struct problem *key = g_memdup2(&each->problem, sizeof each->problem);
            g_ptr_array_add(keys, key);
            g_hash_table_insert(places, key, GUINT_TO_POINTER(place));
        }
        struct night_problem *problem =
            &g_array_index(sources->problems, struct night_problem, place - 1);
        const struct night_use use = {network, each->multiplicity, source->runs};
        problem->multiplicity =
            (int)MIN((gint64)problem->multiplicity + each->multiplicity, G_MAXINT);
        problem->weight += each->multiplicity * source->runs;
        g_array_append_val(problem->uses, use);
    }
}

struct night_sources *night_sources_read(Store *store, const struct night_file *night,
                                         GError **error)
{
    struct night_sources *sources = sources_new();
    g_autoptr(GPtrArray) keys = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GHashTable) places = problem_table_new(NULL);
    for (int i = 0; i < night->source_count; i++) {
        struct night_source_state state = {.source = &night->sources[i]};
        g_autoptr(GArray) problems = read_source(store, &night->sources[i], &state, sources, error);
        if (!problems) {
            state_clear(&state);
            night_sources_free(sources);
            g_prefix_error(error, "cannot read problems[%d] of the night '%s': ", i, night->path);
            return NULL;
        }
        state.problems = (int)problems->len;
        g_array_append_val(sources->states, state);
        add_problems(sources, problems, state.source, state.network, places, keys);
    }
    return sources;
}

bool night_sources_keep_only(struct night_sources *sources, const struct problem *problem)
{
    bool found = false;
    for (guint i = sources->problems->len; i > 0; i--) {
        const struct night_problem *each =
            &g_array_index(sources->problems, struct night_problem, i - 1);
        if (problem_compare(&each->problem, problem) == 0)
            found = true;
        else
            g_array_remove_index(sources->problems, i - 1);
    }
    if (found)
        return true;
    const struct night_problem added = {
        .problem = *problem,
        .multiplicity = 1,
        .weight = 1,
        .uses = g_array_new(FALSE, FALSE, sizeof(struct night_use)),
    };
    g_array_append_val(sources->problems, added);
    return false;
}
