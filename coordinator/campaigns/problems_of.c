#include "coordinator/campaigns/problems_of.h"
#include "coordinator/cli/cli.h"
#include "coordinator/import/problems_import.h"

#include <stdio.h>

static GArray *problem_array(void)
{
    return g_array_new(FALSE, FALSE, sizeof(struct plan_problem));
}

GArray *problems_of_import(const Import *import)
{
    GArray *problems = problem_array();
    for (int i = 0; i < problem_list_count(import->problems); i++) {
        const struct problem_entry *entry = problem_list_get(import->problems, i);
        plan_add_problem(problems, &entry->problem, (int)MIN(entry->multiplicity, G_MAXINT));
    }
    return problems;
}

static GArray *from_files(const struct request *request, GError **error)
{
    g_autoptr(Import) import = problems_import(request->files, &request->list, error);
    return import ? problems_of_import(import) : NULL;
}

static GArray *from_tag(Store *store, const char *tag, GError **error)
{
    const struct problem_filter filter = {.tag = tag};
    g_autoptr(GArray) stored = store_list_problems(store, &filter, error);
    if (!stored)
        return NULL;
    GArray *problems = problem_array();
    for (guint i = 0; i < stored->len; i++)
        plan_add_problem(problems, &g_array_index(stored, struct stored_problem, i).problem, 1);
    return problems;
}

GArray *problems_of_network(Store *store, const char *network, GError **error)
{
    g_autoptr(GPtrArray) layers = store_list_layers(store, network, error);
    if (!layers)
        return NULL;
    GArray *problems = problem_array();
    for (guint i = 0; i < layers->len; i++) {
        const struct layer *layer = g_ptr_array_index(layers, i);
        plan_add_problem(problems, &layer->problem, layer->multiplicity);
    }
    plan_merge_problems(problems);
    return problems;
}

/* The network's version is found first, and then read by its own name "NAME@NUMBER": an import
 * meanwhile may give the network another newest version. */
static GArray *from_network(Store *store, struct request *request, GError **error)
{
    g_autofree char *version = store_network_version(store, request->list.network, error);
    if (!version)
        return NULL;
    g_strfreev(request->networks);
    request->networks = g_new0(char *, 2);
    request->networks[0] = g_strdup(version);
    return problems_of_network(store, version, error);
}

GArray *problems_of_request(Store *store, struct request *request, GError **error)
{
    const char *network = request->list.network;
    bool files = request->files && request->files[0];
    if (files + (request->tag != NULL) + (network != NULL && !files) != 1) {
        g_set_error(error, COORDINATOR_ERROR, COORDINATOR_ERROR_USAGE,
                    "name one source of problems: --problems FILE, --tag T or --network N");
        return NULL;
    }
    GArray *problems = files          ? from_files(request, error)
                       : request->tag ? from_tag(store, request->tag, error)
                                      : from_network(store, request, error);
    if (problems && problems->len == 0) {
        g_set_error(error, COORDINATOR_ERROR, COORDINATOR_ERROR_EMPTY,
                    "there is no problem in %s '%s'",
                    files          ? "file"
                    : request->tag ? "tag"
                                   : "network",
                    files          ? request->files[0]
                    : request->tag ? request->tag
                                   : network);
        g_array_unref(problems);
        return NULL;
    }
    return problems;
}
