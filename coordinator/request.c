#include "coordinator/request.h"

#include "coordinator/cli.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

static const char *const strategies[] = {"random", "local", STRATEGY_PRIOR, "exhaustive"};

void request_init(struct request *request, double budget_seconds)
{
    *request = (struct request){
        .strategy = g_strdup(REQUEST_DEFAULT_STRATEGY),
        .configs = REQUEST_DEFAULT_CONFIGS,
        .budget_seconds = budget_seconds,
        .share = 1,
    };
}

void request_clear(struct request *request)
{
    g_free(request->name);
    g_free(request->target);
    g_free(request->tag);
    g_free(request->network);
    g_free(request->strategy);
    g_free(request->solvers);
    g_free(request->pool);
    g_free(request->stack);
    g_strfreev(request->files);
    *request = (struct request){0};
}

GOptionEntry *request_options(struct request *request)
{
    const GOptionEntry entries[] = {
        {"target", 't', 0, G_OPTION_ARG_STRING, &request->target,
         "what to tune for: gfx90a68, sm_90_132_80g, cpu-znver4_2, or local", "T"},
        {"configs", 'c', 0, G_OPTION_ARG_INT, &request->configs,
         "configs a job evaluates at most, 0 for all (32)", "N"},
        {"strategy", 0, 0, G_OPTION_ARG_STRING, &request->strategy,
         "prior (what won nearby, then local), local, random or exhaustive (" REQUEST_DEFAULT_STRATEGY
         ")",
         "S"},
        {"seed", 0, 0, G_OPTION_ARG_INT64, &request->seed, "what the search draws from (0)", "S"},
        {"budget", 'b', 0, G_OPTION_ARG_DOUBLE, &request->budget_seconds,
         "working time in seconds, 0 for no limit", "SECONDS"},
        {"solvers", 0, 0, G_OPTION_ARG_STRING, &request->solvers,
         "only these solvers, joined by commas, whatever their estimates", "A,B"},
        {"all-solvers", 0, 0, G_OPTION_ARG_NONE, &request->all_solvers,
         "also those estimated far below the best for a problem", NULL},
        {"name", 0, 0, G_OPTION_ARG_STRING, &request->name, "what lists call the campaign", "X"},
        {0},
    };
    return g_memdup2(entries, sizeof entries);
}

static bool refuse(GError **error, const char *format, const char *what)
{
    g_autofree char *message = g_strdup_printf("%s '%s'", format, what);
    g_set_error_literal(error, COORDINATOR_ERROR, COORDINATOR_ERROR_USAGE, message);
    return false;
}

bool request_check(const struct request *request, GError **error)
{
    bool known = false;
    for (gsize i = 0; i < G_N_ELEMENTS(strategies); i++)
        known = known || strcmp(request->strategy, strategies[i]) == 0;
    if (!known)
        return refuse(error, "--strategy is prior, local, random or exhaustive, not",
                      request->strategy);
    if (request->name && !request->name[0])
        return refuse(error, "--name needs a name, not", "");
    if (request->solvers && !request->solvers[0])
        return refuse(error, "--solvers needs names, not", "");
    if (request->configs < 0 || request->seed < 0 || !(request->budget_seconds >= 0) ||
        !isfinite(request->budget_seconds)) {
        g_set_error(error, COORDINATOR_ERROR, COORDINATOR_ERROR_USAGE,
                    "--configs, --seed and --budget cannot be negative");
        return false;
    }
    if (request->pool && !request->pool[0])
        return refuse(error, "--pool needs a label, not", "");
    if (!(request->share > 0) || !isfinite(request->share)) {
        g_set_error(error, COORDINATOR_ERROR, COORDINATOR_ERROR_USAGE,
                    "--share takes a number above 0");
        return false;
    }
    g_autoptr(GPtrArray) solvers = request_solvers(request, error);
    return solvers != NULL;
}

bool request_takes_unpromising(const struct request *request)
{
    return request->all_solvers || request->solvers;
}

int request_round_configs(const struct request *request)
{
    if (!request->build_only)
        return REQUEST_ROUND_CONFIGS;
    return request->configs > 0 ? MIN(request->configs, ROUND_CONFIGS_MAX) : ROUND_CONFIGS_MAX;
}

GPtrArray *request_solvers(const struct request *request, GError **error)
{
    g_auto(GStrv) names = g_strsplit(request->solvers ? request->solvers : "", ",", -1);
    for (int i = 0; names[i]; i++) {
        if (!solver_find(names[i])) {
            refuse(error, "there is no solver (see skipjack solvers)", names[i]);
            return NULL;
        }
    }
    GPtrArray *found = g_ptr_array_new();
    for (int i = 0; i < solver_table_count; i++) {
        const struct solver *solver = solver_table[i];
        if (!names[0] || g_strv_contains((const char *const *)names, solver->name))
            g_ptr_array_add(found, (gpointer)solver);
    }
    return found;
}

/* ---- descriptions ---- */

static bool take_text(const json_t *value, char **field)
{
    if (!json_is_string(value))
        return false;
    g_free(*field);
    *field = g_strdup(json_string_value(value));
    return true;
}

/* A string, or an array of strings, as a NULL-terminated array; NULL when it is neither. */
static char **take_list(const json_t *value)
{
    g_autoptr(GPtrArray) texts = g_ptr_array_new_with_free_func(g_free);
    size_t count = json_is_array(value) ? json_array_size(value) : 1;
    for (size_t i = 0; i < count; i++) {
        const json_t *item = json_is_array(value) ? json_array_get(value, i) : value;
        if (!json_is_string(item))
            return NULL;
        g_ptr_array_add(texts, g_strdup(json_string_value(item)));
    }
    g_ptr_array_add(texts, NULL);
    return (char **)g_ptr_array_steal(texts, NULL);
}

static bool take_files(const json_t *value, const char *folder, struct request *request)
{
    g_auto(GStrv) files = take_list(value);
    if (!files)
        return false;
    for (int i = 0; files[i]; i++) {
        char *path = g_path_is_absolute(files[i]) ? g_strdup(files[i])
                                                  : g_build_filename(folder, files[i], NULL);
        g_free(files[i]);
        files[i] = path;
    }
    g_strfreev(request->files);
    request->files = g_steal_pointer(&files);
    return true;
}

static bool take_solvers(const json_t *value, struct request *request)
{
    g_auto(GStrv) names = take_list(value);
    g_free(request->solvers);
    request->solvers = names ? g_strjoinv(",", names) : NULL;
    return names != NULL;
}

static bool take_integer(const json_t *value, gint64 most, gint64 *field)
{
    *field = json_integer_value(value);
    return json_is_integer(value) && *field >= 0 && *field <= most;
}

static bool take_yes(const json_t *value, gboolean *field)
{
    *field = json_is_true(value);
    return json_is_boolean(value);
}

static bool take_other(const char *key, const json_t *value, struct request *request)
{
    gint64 number = 0;
    if (strcmp(key, "seed") == 0)
        return take_integer(value, G_MAXINT64, &request->seed);
    if (strcmp(key, "budget") == 0) {
        request->budget_seconds = json_number_value(value);
        return json_is_number(value);
    }
    if (strcmp(key, "share") == 0) {
        request->share = json_number_value(value);
        return json_is_number(value);
    }
    if (strcmp(key, "priority") == 0) {
        request->priority = (int)json_integer_value(value);
        return json_is_integer(value) && json_integer_value(value) == request->priority;
    }
    if (strcmp(key, "build_only") == 0)
        return take_yes(value, &request->build_only);
    if (strcmp(key, "all_solvers") == 0)
        return take_yes(value, &request->all_solvers);
    if (strcmp(key, "configs") != 0 || !take_integer(value, G_MAXINT, &number))
        return false;
    request->configs = (int)number;
    return true;
}

static bool take_field(const char *key, const json_t *value, const char *folder,
                       struct request *request)
{
    const struct {
        const char *key;
        char **field;
    } texts[] = {
        {"name", &request->name},       {"target", &request->target},     {"tag", &request->tag},
        {"network", &request->network}, {"strategy", &request->strategy}, {"pool", &request->pool},
        {"stack", &request->stack},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(texts); i++) {
        if (strcmp(key, texts[i].key) == 0)
            return take_text(value, texts[i].field);
    }
    if (strcmp(key, "problems") == 0)
        return take_files(value, folder, request);
    if (strcmp(key, "solvers") == 0)
        return take_solvers(value, request);
    return take_other(key, value, request);
}

bool request_from_file(const char *path, struct request *request, GError **error)
{
    g_autofree char *folder = g_path_get_dirname(path);
    g_autofree char *text = NULL;
    if (!g_file_get_contents(path, &text, NULL, error))
        return false;
    json_error_t where;
    json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, &where);
    bool ok = json_is_object(root);
    if (!ok)
        g_set_error(error, COORDINATOR_ERROR, COORDINATOR_ERROR_USAGE,
                    "cannot read the campaign '%s', line %d: %s", path, root ? 1 : where.line,
                    root ? "an object is expected" : where.text);
    const char *key = NULL;
    json_t *value = NULL;
    json_object_foreach (root, key, value) {
        if (ok && !take_field(key, value, folder, request)) {
            ok = false;
            g_set_error(error, COORDINATOR_ERROR, COORDINATOR_ERROR_USAGE,
                        "cannot read the campaign '%s': '%s' is no field of it, or not of its type",
                        path, key);
        }
    }
    json_decref(root);
    return ok;
}
