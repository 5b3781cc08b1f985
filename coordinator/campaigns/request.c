#include "coordinator/campaigns/request.h"

#include "coordinator/cli/cli.h"
#include "coordinator/cli/when.h"
#include "coordinator/import/problems_import.h"
#include "coordinator/import/shipped.h"
#include "schema/small_file.h"
#include "schema/store/store_rounds.h"
#include "solvers/framework/strategy.h"
#include "solvers/problem/byte_count.h"
#include "solvers/search/searcher.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

#define DESCRIPTION_BYTES_MAX (1 << 20)
#define BUDGET_SECONDS_MAX    1e12 /* largest budget in seconds: the database has the same limit */

void request_init(struct request *request, double budget_seconds)
{
    *request = (struct request){
        .strategy = g_strdup(REQUEST_DEFAULT_STRATEGY),
        .configs = REQUEST_DEFAULT_CONFIGS,
        .budget_seconds = budget_seconds,
        .final_seconds = REQUEST_FINAL_SECONDS,
        .share = 1,
    };
}

void request_clear(struct request *request)
{
    g_free(request->name);
    g_free(request->target);
    g_free(request->tag);
    import_words_clear(&request->list);
    g_free(request->strategy);
    g_free(request->solvers);
    g_free(request->pool);
    g_free(request->trust);
    g_free(request->stack);
    g_free(request->deadline);
    g_free(request->workspace_limit);
    g_strfreev(request->files);
    g_strfreev(request->networks);
    *request = (struct request){0};
}

#define STRATEGY_HELP(id, name, summary) name ": " summary "; "

GOptionEntry *request_options(struct request *request)
{
    const GOptionEntry entries[] = {
        {"target", 't', 0, G_OPTION_ARG_STRING, &request->target,
         "what to tune for: gfx90a68, sm_90_132_80g, cpu-znver4_2, or local", "T"},
        {"configs", 'c', 0, G_OPTION_ARG_INT, &request->configs,
         "configs a job evaluates at most, 0 for all (32)", "N"},
        {"close-configs", 0, 0, G_OPTION_ARG_INT, &request->close_configs,
         "the same for a job whose best time is within " G_STRINGIFY(SEARCH_CLOSE_PERCENT) " % of its problem's (" G_STRINGIFY(
             REQUEST_DEFAULT_CLOSE) ", or as many as a --configs that differs "
                                    "from its default; as many as --configs: all jobs try the same)",
         "N"},
        {"search-seconds", 0, 0, G_OPTION_ARG_DOUBLE, &request->search_seconds,
         "a job's search ends when its configs took so much device time, 0 for no limit (0)",
         "SECONDS"},
        {"min-gain", 0, 0, G_OPTION_ARG_DOUBLE, &request->min_gain,
         "a job's search ends when its next 16 configs are expected to make its best time shorter by less than so many per "
         "cent, 0 for no limit (0)",
         "PERCENT"},
        {"strategy", 0, 0, G_OPTION_ARG_STRING, &request->strategy,
         STRATEGIES(STRATEGY_HELP) "default: " REQUEST_DEFAULT_STRATEGY, "S"},
        {"seed", 0, 0, G_OPTION_ARG_INT64, &request->seed, "seed of the search (0)", "S"},
        {"budget", 'b', 0, G_OPTION_ARG_DOUBLE, &request->budget_seconds,
         "working time in seconds, 0 for no limit; once it is spent, each problem without a winner gets one config, and "
         "all other jobs end",
         "SECONDS"},
        {"final-seconds", 0, 0, G_OPTION_ARG_DOUBLE, &request->final_seconds,
         "device time for measuring each problem's best configs once more, in turns, to ship that result; 0: ship what "
         "the search measured (" G_STRINGIFY(REQUEST_FINAL_SECONDS) ")",
         "SECONDS"},
        {"deadline", 0, 0, G_OPTION_ARG_STRING, &request->deadline,
         "begin nothing after this time, not even a first round: " WHEN_FORMS, "TIME"},
        {"solvers", 0, 0, G_OPTION_ARG_STRING, &request->solvers,
         "only these solvers, also with low estimates: names or families, joined by commas "
         "(direct, gemm, implicitgemm, winograd, fft)",
         "A,B"},
        {"all-solvers", 0, 0, G_OPTION_ARG_NONE, &request->all_solvers,
         "also solvers that are estimated far below the best one of a problem", NULL},
        REQUEST_LIMIT_OPTIONS(&request->workspace_limit, request),
        {"name", 0, 0, G_OPTION_ARG_STRING, &request->name, "name of the campaign in lists", "X"},
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

/* Refuses --batch, --dtype and the like without files: they supply what a list leaves out, and a
 * network leaves nothing out. */
static bool check_list(const struct request *request, GError **error)
{
    struct import_options options;
    struct import_words others = request->list;
    others.network = NULL;
    if (import_words_any(&others) && !(request->files && request->files[0])) {
        g_set_error_literal(
            error, COORDINATOR_ERROR, COORDINATOR_ERROR_USAGE,
            "--batch, --dtype, --layout, --dim and --allow-clamped say what a list leaves "
            "out: they belong to --problems FILE");
        return false;
    }
    return list_options(&request->list, &options, error);
}

char **request_logins(const char *trust)
{
    g_auto(GStrv) words = g_strsplit(trust ? trust : "", ",", -1);
    GPtrArray *logins = g_ptr_array_new();
    for (char **word = words; *word; word++)
        if (*g_strstrip(*word))
            g_ptr_array_add(logins, g_strdup(*word));
    g_ptr_array_add(logins, NULL);
    return (char **)g_ptr_array_free(logins, FALSE);
}

bool request_check_text(const char *option, const char *text, GError **error)
{
    glong length = text ? g_utf8_strlen(text, -1) : 0;
    if (length <= REQUEST_TEXT_MAX)
        return true;
    g_set_error(error, COORDINATOR_ERROR, COORDINATOR_ERROR_USAGE,
                "%s takes at most %d characters, not %ld", option, REQUEST_TEXT_MAX, length);
    return false;
}

bool request_check_name(const char *name, GError **error)
{
    if (!name[0])
        return refuse(error, "--name needs a name, not", name);
    return request_check_text("--name", name, error);
}

bool request_check_budget(double budget_seconds, GError **error)
{
    if (budget_seconds >= 0 && budget_seconds <= BUDGET_SECONDS_MAX)
        return true;
    g_set_error(error, COORDINATOR_ERROR, COORDINATOR_ERROR_USAGE,
                "--budget cannot be negative, nor above %g seconds; 0 is no limit",
                BUDGET_SECONDS_MAX);
    return false;
}

bool request_check_final(double seconds, GError **error)
{
    if (seconds >= 0 && seconds <= REQUEST_FINAL_MOST)
        return true;
    g_set_error(error, COORDINATOR_ERROR, COORDINATOR_ERROR_USAGE,
                "--final-seconds takes 0 to %g seconds; 0 is no second measurement",
                REQUEST_FINAL_MOST);
    return false;
}

bool request_check_close(const char *word, int64_t configs, int64_t close_configs, GError **error)
{
    if (close_configs == 0 || (configs > 0 && close_configs >= configs))
        return true;
    if (configs == 0)
        g_set_error(error, COORDINATOR_ERROR, COORDINATOR_ERROR_USAGE,
                    "%s needs a limit of configs that it can exceed; there is none", word);
    else
        g_set_error(error, COORDINATOR_ERROR, COORDINATOR_ERROR_USAGE,
                    "%s %" G_GINT64_FORMAT " is fewer than any job may try, %" G_GINT64_FORMAT
                    "; as many let all jobs try the same, 0 is the default",
                    word, close_configs, configs);
    return false;
}

static bool check_search(const struct request *request, GError **error)
{
    if (!request_check_close("--close-configs", request->configs, request->close_configs, error))
        return false;
    if (!(request->search_seconds >= 0 && request->search_seconds <= REQUEST_SEARCH_MOST)) {
        g_set_error(error, COORDINATOR_ERROR, COORDINATOR_ERROR_USAGE,
                    "--search-seconds takes 0 to %g seconds of a job's device; 0 is no limit",
                    REQUEST_SEARCH_MOST);
        return false;
    }
    if (!(request->min_gain >= 0 && request->min_gain <= 100)) {
        g_set_error(error, COORDINATOR_ERROR, COORDINATOR_ERROR_USAGE,
                    "--min-gain takes per cent, from 0 to 100; 0 is no limit");
        return false;
    }
    return true;
}

bool request_check_share(double share, GError **error)
{
    if (share > 0 && isfinite(share))
        return true;
    g_set_error(error, COORDINATOR_ERROR, COORDINATOR_ERROR_USAGE,
                "--share takes a number above 0");
    return false;
}

bool request_read_deadline(const char *deadline, int64_t *deadline_unix, GError **error)
{
    *deadline_unix = 0;
    if (!deadline || when_parse(deadline, deadline_unix))
        return true;
    return refuse(error, "--deadline takes " WHEN_FORMS ", always in the future, not", deadline);
}

static bool refuse_strategy(const char *strategy, GError **error)
{
    g_autoptr(GString) names = g_string_new(strategy_table[0].name);

    for (int i = 1; i < STRATEGY_COUNT; i++)
        g_string_append_printf(names, "%s%s", i < STRATEGY_COUNT - 1 ? ", " : " or ",
                               strategy_table[i].name);
    g_autofree char *format = g_strdup_printf("--strategy is %s, not", names->str);
    return refuse(error, format, strategy);
}

bool request_check(struct request *request, GError **error)
{
    if (strategy_find(request->strategy) < 0)
        return refuse_strategy(request->strategy, error);
    if (request->configs < 0 || request->close_configs < 0 || request->seed < 0) {
        g_set_error(error, COORDINATOR_ERROR, COORDINATOR_ERROR_USAGE,
                    "--configs, --close-configs and --seed cannot be negative");
        return false;
    }
    if ((request->name && !request_check_name(request->name, error)) ||
        !request_check_budget(request->budget_seconds, error) ||
        !request_check_final(request->final_seconds, error) || !check_search(request, error) ||
        !request_check_share(request->share, error) ||
        !request_read_deadline(request->deadline, &request->deadline_unix, error))
        return false;
    if (request->solvers && !request->solvers[0])
        return refuse(error, "--solvers needs names, not", "");
    struct context_limits limits;
    if (!request_limits(request, &limits, error))
        return false;
    if (request->pool && !request->pool[0])
        return refuse(error, "--pool needs a label, not", "");
    g_autoptr(GPtrArray) solvers = request_solvers(request, error);
    return solvers && request_check_text("--stack", request->stack, error) &&
           request_check_text("--pool", request->pool, error) && check_list(request, error);
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

int request_close_of(int configs, int close_configs)
{
    if (close_configs == 0 && configs == REQUEST_DEFAULT_CONFIGS)
        close_configs = REQUEST_DEFAULT_CLOSE;
    return configs > 0 && close_configs > configs ? close_configs : 0;
}

int request_close_configs(const struct request *request)
{
    return request->build_only ? 0 : request_close_of(request->configs, request->close_configs);
}

bool request_read_limits(const char *workspace, struct context_limits *limits, GError **error)
{
    limits->limits_workspace = workspace != NULL;
    if (!workspace || byte_count_parse(workspace, &limits->workspace_bytes, error))
        return true;
    if (error && *error) {
        (*error)->domain = COORDINATOR_ERROR;
        (*error)->code = COORDINATOR_ERROR_USAGE;
    }
    g_prefix_error(error, "--workspace-limit: ");
    return false;
}

bool request_limits(const struct request *request, struct context_limits *limits, GError **error)
{
    *limits = (struct context_limits){.dynamic_only = request->dynamic_only,
                                      .deterministic = request->deterministic,
                                      .tunable_only = request->tunable_only};
    return request_read_limits(request->workspace_limit, limits, error);
}

json_t *request_limits_json(const struct campaign *campaign)
{
    const struct context_limits *limits = &campaign->limits;
    return json_pack("{s:s, s:i, s:i, s:f, s:f, s:o, s:b, s:b, s:b}", "solvers", campaign->solvers,
                     "configs_limit", campaign->configs_limit, "close_configs",
                     campaign->close_configs, "search_seconds", campaign->search_seconds,
                     "min_gain", campaign->min_gain, "workspace_limit",
                     limits->limits_workspace ? json_integer((json_int_t)limits->workspace_bytes)
                                              : json_null(),
                     "dynamic_only", limits->dynamic_only, "deterministic", limits->deterministic,
                     "tunable_only", limits->tunable_only);
}

char *request_close_text(int close_configs)
{
    return close_configs > 0 ? g_strdup_printf(", or %d within %d %% of the problem's best",
                                               close_configs, SEARCH_CLOSE_PERCENT)
                             : g_strdup("");
}

char *request_search_ends_text(const struct campaign *campaign)
{
    g_autofree char *close = request_close_text(campaign->close_configs);
    GString *text = g_string_new(close);
    if (campaign->search_seconds > 0)
        g_string_append_printf(text, ", %g s of its device", campaign->search_seconds);
    if (campaign->min_gain > 0)
        g_string_append_printf(text, ", a gain below %g %%", campaign->min_gain);
    return g_string_free(text, FALSE);
}

void request_add_limits(const struct request *request, GPtrArray *words)
{
    const struct {
        bool said;
        const char *word;
    } flags[] = {{request->dynamic_only, "--dynamic-only"},
                 {request->deterministic, "--deterministic"},
                 {request->tunable_only, "--tunable-only"}};
    if (request->workspace_limit) {
        g_ptr_array_add(words, g_strdup("--workspace-limit"));
        g_ptr_array_add(words, g_strdup(request->workspace_limit));
    }
    for (gsize i = 0; i < G_N_ELEMENTS(flags); i++)
        if (flags[i].said)
            g_ptr_array_add(words, g_strdup(flags[i].word));
}

/* Algorithm families' names in find-dbs begin with this. */
#define FAMILY_PREFIX "miopenConvolutionAlgo"

static bool is_of(const struct solver *solver, const char *name)
{
    const char *family = g_ascii_strncasecmp(name, FAMILY_PREFIX, strlen(FAMILY_PREFIX)) == 0
                             ? name + strlen(FAMILY_PREFIX)
                             : name;
    return strcmp(solver->name, name) == 0 || g_ascii_strcasecmp(solver->algorithm, family) == 0;
}

static bool is_of_any(const struct solver *solver, char *const *names)
{
    for (; *names; names++)
        if (is_of(solver, *names))
            return true;
    return false;
}

GPtrArray *request_solvers(const struct request *request, GError **error)
{
    g_auto(GStrv) names = g_strsplit(request->solvers ? request->solvers : "", ",", -1);
    g_autoptr(GPtrArray) found = g_ptr_array_new();
    for (int i = 0; names[i]; i++) {
        bool known = false;
        for (int s = 0; s < solver_table_count && !known; s++)
            known = is_of(solver_table[s], names[i]);
        if (!known) {
            refuse(error, "there is no solver and no family of them (see skipjack solvers)",
                   names[i]);
            return NULL;
        }
    }
    for (int i = 0; i < solver_table_count; i++)
        if (!names[0] || is_of_any(solver_table[i], names))
            g_ptr_array_add(found, (gpointer)solver_table[i]);
    return g_steal_pointer(&found);
}

/* ---- reading a description from JSON ---- */

static bool take_text(const json_t *value, char **field)
{
    if (!json_is_string(value))
        return false;
    g_free(*field);
    *field = g_strdup(json_string_value(value));
    return true;
}

/* Returns a string, a whole number, or an array of these as a NULL-terminated array of texts; NULL
 * for any other value. */
static char **take_list(const json_t *value)
{
    g_autoptr(GPtrArray) texts = g_ptr_array_new_with_free_func(g_free);
    size_t count = json_is_array(value) ? json_array_size(value) : 1;
    for (size_t i = 0; i < count; i++) {
        const json_t *item = json_is_array(value) ? json_array_get(value, i) : value;
        if (json_is_integer(item))
            g_ptr_array_add(texts,
                            g_strdup_printf("%" G_GINT64_FORMAT, (gint64)json_integer_value(item)));
        else if (json_is_string(item))
            g_ptr_array_add(texts, g_strdup(json_string_value(item)));
        else
            return NULL;
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
        g_autofree char *path = g_path_is_absolute(files[i])
                                    ? g_strdup(files[i])
                                    : g_build_filename(folder, files[i], NULL);
        if (!g_file_test(path, G_FILE_TEST_EXISTS) && shipped_find(files[i]))
            continue;
        g_free(files[i]);
        files[i] = g_steal_pointer(&path);
    }
    g_strfreev(request->files);
    request->files = g_steal_pointer(&files);
    return true;
}

/* Sets *field to a value, or to several joined by commas, as the command line's option takes
 * them. */
static bool take_joined(const json_t *value, char **field)
{
    g_auto(GStrv) words = take_list(value);
    g_free(*field);
    *field = words ? g_strjoinv(",", words) : NULL;
    return words != NULL;
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

/* Sets *field to a size in bytes: a JSON number, or a text with a unit. */
static bool take_bytes(const json_t *value, char **field)
{
    if (json_is_string(value))
        return take_text(value, field);
    g_free(*field);
    *field = g_strdup_printf("%" JSON_INTEGER_FORMAT, json_integer_value(value));
    return json_is_integer(value) && json_integer_value(value) >= 0;
}

static bool take_flag(const char *key, const json_t *value, struct request *request, bool *taken)
{
    const struct {
        const char *key;
        gboolean *field;
    } flags[] = {
        {"build_only", &request->build_only},     {"all_solvers", &request->all_solvers},
        {"dynamic_only", &request->dynamic_only}, {"deterministic", &request->deterministic},
        {"tunable_only", &request->tunable_only}, {"allow_clamped", &request->list.allow_clamped},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(flags); i++) {
        if (strcmp(key, flags[i].key) == 0) {
            *taken = take_yes(value, flags[i].field);
            return true;
        }
    }
    return false;
}

static bool take_number(const char *key, const json_t *value, struct request *request, bool *taken)
{
    const struct {
        const char *key;
        double *field;
    } numbers[] = {
        {"budget", &request->budget_seconds},
        {"final_seconds", &request->final_seconds},
        {"search_seconds", &request->search_seconds},
        {"min_gain", &request->min_gain},
        {"share", &request->share},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(numbers); i++) {
        if (strcmp(key, numbers[i].key) == 0) {
            *numbers[i].field = json_number_value(value);
            *taken = json_is_number(value);
            return true;
        }
    }
    return false;
}

static bool take_other(const char *key, const json_t *value, struct request *request)
{
    gint64 number = 0;
    bool taken;
    if (take_flag(key, value, request, &taken) || take_number(key, value, request, &taken))
        return taken;
    if (strcmp(key, "workspace_limit") == 0)
        return take_bytes(value, &request->workspace_limit);
    if (strcmp(key, "seed") == 0)
        return take_integer(value, G_MAXINT64, &request->seed);
    if (strcmp(key, "priority") == 0) {
        request->priority = (int)json_integer_value(value);
        return json_is_integer(value) && json_integer_value(value) == request->priority;
    }
    int *field = strcmp(key, "configs") == 0         ? &request->configs
                 : strcmp(key, "close_configs") == 0 ? &request->close_configs
                                                     : NULL;
    if (!field || !take_integer(value, G_MAXINT, &number))
        return false;
    *field = (int)number;
    return true;
}

static bool take_field(const char *key, const json_t *value, const char *folder,
                       struct request *request)
{
    const struct {
        const char *key;
        char **field;
    } texts[] = {
        {"name", &request->name},
        {"target", &request->target},
        {"tag", &request->tag},
        {"network", &request->list.network},
        {"strategy", &request->strategy},
        {"pool", &request->pool},
        {"stack", &request->stack},
        {"deadline", &request->deadline},
        {"layout", &request->list.layout},
        {"dim", &request->list.dim},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(texts); i++) {
        if (strcmp(key, texts[i].key) == 0)
            return take_text(value, texts[i].field);
    }
    if (strcmp(key, "problems") == 0)
        return take_files(value, folder, request);
    if (strcmp(key, "solvers") == 0)
        return take_joined(value, &request->solvers);
    if (strcmp(key, "trust") == 0)
        return take_joined(value, &request->trust);
    if (strcmp(key, "batch") == 0)
        return take_joined(value, &request->list.batch);
    if (strcmp(key, "dtype") == 0)
        return take_joined(value, &request->list.dtype);
    return take_other(key, value, request);
}

bool request_from_file(const char *path, struct request *request, GError **error)
{
    g_autofree char *folder = g_path_get_dirname(path);
    g_autofree char *text = small_file_read(path, DESCRIPTION_BYTES_MAX, NULL, error);
    if (!text)
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
            g_set_error(
                error, COORDINATOR_ERROR, COORDINATOR_ERROR_USAGE,
                "cannot read the campaign '%s': '%s' is no field of it, or not of its type; "
                "skipjack run --help lists the fields, and a night has \"targets\"",
                path, key);
        }
    }
    json_decref(root);
    return ok;
}
