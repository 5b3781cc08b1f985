/*
 * Reading recorded spaces. Each format's reader takes its file's members apart into rows (draft_add()); what follows
 * is the same for all: the parameters' values are those that occur, ascending, and configs are sorted by them. The
 * order in a file may say which configs are fast, and a search must not see that.
 */
#include "coordinator/replay/recorded_space.h"

#include <math.h>
#include <string.h>

#include "export/formats/byte_source.h"

G_DEFINE_QUARK(replay - error - quark, replay_error)

/* The largest file, unpacked. The largest public one has 120 MB. */
#define FILE_BYTES_MAX (UINT64_C(1) << 30)
/* Kernel Tuner's older versions gave failed configs this time. */
#define FAILED_MS      1e20

typedef json_t JsonRoot;
G_DEFINE_AUTOPTR_CLEANUP_FUNC(JsonRoot, json_decref)

/* A space while it is read. */
struct draft {
    RecordedSpace *space;
    /* const json_t *: for each config the value of each parameter; they belong to the file's JSON */
    GPtrArray *values;
    const char *where; /* the row that is read, for messages */
};

G_GNUC_PRINTF(3, 4)
static bool damaged(const struct draft *draft, GError **error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *text = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    g_set_error(error, REPLAY_ERROR, REPLAY_ERROR_FILE, "cannot read '%s': %s%s%s",
                draft->space->path, draft->where ? draft->where : "", draft->where ? ": " : "",
                text);
    return false;
}

/* ---- numbers ---- */

/* Reads a member that is a number from 0 on. A missing or null member is 0. */
static bool number_of(const struct draft *draft, const json_t *object, const char *name,
                      double *number, GError **error)
{
    const json_t *value = json_object_get(object, name);
    *number = 0;
    if (!value || json_is_null(value))
        return true;
    *number = json_number_value(value);
    if (!json_is_number(value) || !(*number >= 0))
        return damaged(draft, error, "'%s' is not a number from 0 on", name);
    return true;
}

/* Adds up the members that `names` lists, in milliseconds, to *seconds. */
static bool add_seconds(const struct draft *draft, const json_t *object, const char *const *names,
                        double *seconds, GError **error)
{
    for (; *names; names++) {
        double ms;
        if (!number_of(draft, object, *names, &ms, error))
            return false;
        *seconds += ms * 1e-3;
    }
    return true;
}

/* Takes the single runs of a config, an array of milliseconds; NULL or null for none. */
static bool take_readings(const struct draft *draft, const json_t *runs,
                          struct recorded_config *config, GError **error)
{
    gsize i;
    const json_t *run;
    config->first_reading = draft->space->readings->len;
    if (!runs || json_is_null(runs))
        return true;
    if (!json_is_array(runs))
        return damaged(draft, error, "the single runs are no array");
    json_array_foreach (runs, i, run) {
        double ms = json_number_value(run);
        if (!json_is_number(run) || !(ms >= 0))
            return damaged(draft, error, "run %zu is not a number from 0 on", i);
        g_array_append_val(draft->space->readings, ms);
        config->readings++;
    }
    return true;
}

/* ---- parameters and rows ---- */

static void recorded_param_clear(gpointer data)
{
    struct recorded_param *param = data;
    g_free(param->name);
    g_clear_pointer(&param->values, g_ptr_array_unref);
}

static bool add_param(const struct draft *draft, const char *name, GError **error)
{
    GArray *params = draft->space->params;
    if (!name || !name[0])
        return damaged(draft, error, "a parameter has no name");
    for (guint i = 0; i < params->len; i++)
        if (strcmp(g_array_index(params, struct recorded_param, i).name, name) == 0)
            return damaged(draft, error, "the parameter '%s' appears twice", name);
    struct recorded_param param = {.name = g_strdup(name), .place = -1};
    g_array_append_val(params, param);
    return true;
}

static bool is_value(const json_t *value)
{
    return json_is_number(value) || json_is_string(value) || json_is_boolean(value);
}

/* Adds a row whose parameters are the members of `object`. */
static bool draft_add(struct draft *draft, const json_t *object,
                      const struct recorded_config *config, GError **error)
{
    const GArray *params = draft->space->params;
    for (guint i = 0; i < params->len; i++) {
        const char *name = g_array_index(params, struct recorded_param, i).name;
        json_t *value = json_object_get(object, name);
        if (!value)
            return damaged(draft, error, "no value of the parameter '%s'", name);
        if (!is_value(value))
            return damaged(draft, error, "the value of '%s' is no number, text, true or false",
                           name);
        g_ptr_array_add(draft->values, value);
    }
    g_array_append_vals(draft->space->configs, config, 1);
    return true;
}

/* The failure's text as long as the space lives. */
static const char *failure_text(const struct draft *draft, const char *text)
{
    char *known = g_hash_table_lookup(draft->space->failures, text);
    if (known)
        return known;
    known = g_strdup(text);
    g_hash_table_add(draft->space->failures, known);
    return known;
}

/* Sets the time of a measured config. */
static bool take_time(const struct draft *draft, double ms, struct recorded_config *config,
                      GError **error)
{
    if (!(ms > 0) || !isfinite(ms))
        return damaged(draft, error, "the time is not above 0");
    config->time_ms = ms;
    if (ms >= FAILED_MS) {
        config->time_ms = INFINITY;
        config->failure = failure_text(draft, "failed");
    }
    return true;
}

/* ---- Kernel Tuner's cache files ---- */

static char *text_of(const json_t *value)
{
    if (!value || json_is_null(value))
        return g_strdup("");
    if (json_is_string(value))
        return g_strdup(json_string_value(value));
    char *dumped = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
    char *text = g_strdup(dumped ? dumped : "");
    free(dumped);
    return text;
}

/* "time" is a number, or the name of the failure. */
static bool read_cache_row(struct draft *draft, const json_t *row, GError **error)
{
    static const char *const costs[] = {"compile_time", "verification_time", "benchmark_time",
                                        NULL};
    struct recorded_config config = {.time_ms = INFINITY};
    const json_t *time = json_object_get(row, "time");
    if (!json_is_object(row))
        return damaged(draft, error, "it is no object");
    if (json_is_string(time))
        config.failure = failure_text(draft, json_string_value(time));
    else if (!json_is_number(time))
        return damaged(draft, error, "'time' is neither a number nor the name of a failure");
    else if (!take_time(draft, json_number_value(time), &config, error))
        return false;
    return take_readings(draft, json_object_get(row, "times"), &config, error) &&
           add_seconds(draft, row, costs, &config.seconds, error) &&
           draft_add(draft, row, &config, error);
}

static bool read_kernel_tuner(struct draft *draft, json_t *root, GError **error)
{
    const json_t *names = json_object_get(root, "tune_params_keys"), *name;
    json_t *cache = json_object_get(root, "cache"), *row;
    const char *key;
    gsize i;
    if (!json_is_array(names))
        return damaged(draft, error, "'tune_params_keys' is no array");
    json_array_foreach (names, i, name)
        if (!add_param(draft, json_string_value(name), error))
            return false;
    if (!json_is_object(cache))
        return damaged(draft, error, "'cache' is no object");
    struct recorded_about *about = &draft->space->about;
    about->kernel = text_of(json_object_get(root, "kernel_name"));
    about->problem = text_of(json_object_get(root, "problem_size"));
    about->device = text_of(json_object_get(root, "device_name"));
    json_object_foreach (cache, key, row) {
        g_autofree char *where = g_strdup_printf("cache[\"%s\"]", key);
        draft->where = where;
        if (!read_cache_row(draft, row, error))
            return false;
        draft->where = NULL;
    }
    return true;
}

/* ---- T4 result files ---- */

/* Milliseconds in a measurement's unit; 0 for an unknown one. No unit means milliseconds. */
static double ms_in(const char *unit)
{
    static const struct {
        const char *name;
        double ms;
    } units[] = {{"", 1},
                 {"ms", 1},
                 {"milliseconds", 1},
                 {"s", 1e3},
                 {"seconds", 1e3},
                 {"us", 1e-3},
                 {"microseconds", 1e-3},
                 {"ns", 1e-6},
                 {"nanoseconds", 1e-6}};
    for (gsize i = 0; i < G_N_ELEMENTS(units); i++)
        if (g_strcmp0(unit ? unit : "", units[i].name) == 0)
            return units[i].ms;
    return 0;
}

/* The measurement "time"; without one the mean of the single runs. */
static bool take_t4_time(const struct draft *draft, const json_t *result,
                         struct recorded_config *config, GError **error)
{
    gsize i;
    const json_t *measured, *all = json_object_get(result, "measurements");
    json_array_foreach (all, i, measured) {
        if (g_strcmp0(json_string_value(json_object_get(measured, "name")), "time") != 0)
            continue;
        const json_t *value = json_object_get(measured, "value");
        const char *unit = json_string_value(json_object_get(measured, "unit"));
        if (!json_is_number(value))
            return damaged(draft, error, "the measured 'time' is no number");
        if (ms_in(unit) == 0)
            return damaged(draft, error, "the measured 'time' has the unknown unit '%s'", unit);
        return take_time(draft, json_number_value(value) * ms_in(unit), config, error);
    }
    double sum = 0;
    for (int run = 0; run < config->readings; run++)
        sum += g_array_index(draft->space->readings, double, config->first_reading + (guint)run);
    if (config->readings == 0)
        return damaged(draft, error, "it has neither a measurement 'time' nor 'runtimes'");
    return take_time(draft, sum / config->readings, config, error);
}

/* Kernel Tuner names the time of the compiler "compilation", the schema "compilation_time". Without "benchmark" the
 * runs themselves are what measuring took. */
static bool read_t4_result(struct draft *draft, const json_t *result, GError **error)
{
    static const char *const costs[] = {"compilation", "compilation_time", "validation",
                                        "benchmark", NULL};
    struct recorded_config config = {.time_ms = INFINITY};
    const json_t *times = json_object_get(result, "times");
    const char *invalidity = json_string_value(json_object_get(result, "invalidity"));
    const json_t *correctness = json_object_get(result, "correctness");
    if (!json_is_object(json_object_get(result, "configuration")))
        return damaged(draft, error, "'configuration' is no object");
    if (!json_is_object(times))
        return damaged(draft, error, "'times' is no object");
    if (!invalidity)
        return damaged(draft, error, "'invalidity' is no text");
    if (!take_readings(draft, json_object_get(times, "runtimes"), &config, error) ||
        !add_seconds(draft, times, costs, &config.seconds, error))
        return false;
    for (int run = 0; run < config.readings && !json_object_get(times, "benchmark"); run++)
        config.seconds +=
            g_array_index(draft->space->readings, double, config.first_reading + (guint)run) * 1e-3;
    if (strcmp(invalidity, "correct") != 0)
        config.failure = failure_text(draft, invalidity);
    else if (json_is_number(correctness) && json_number_value(correctness) == 0)
        config.failure = failure_text(draft, "correctness");
    else if (!take_t4_time(draft, result, &config, error))
        return false;
    json_t *values = json_object_get(result, "configuration");
    if (json_object_size(values) != draft->space->params->len)
        return damaged(draft, error, "it has %zu parameters, and the first result %u",
                       json_object_size(values), draft->space->params->len);
    return draft_add(draft, values, &config, error);
}

static bool read_t4(struct draft *draft, json_t *root, GError **error)
{
    const json_t *results = json_object_get(root, "results"), *result;
    json_t *first = json_object_get(json_array_get(results, 0), "configuration"), *value;
    const char *name;
    gsize i;
    if (!json_is_array(results))
        return damaged(draft, error, "'results' is no array");
    json_object_foreach (first, name, value)
        if (!add_param(draft, name, error))
            return false;
    json_array_foreach (results, i, result) {
        g_autofree char *where = g_strdup_printf("results[%zu]", i);
        draft->where = where;
        if (!read_t4_result(draft, result, error))
            return false;
        draft->where = NULL;
    }
    return true;
}

/* ---- our own format ---- */

/* The columns of our format, one element a config. */
struct columns {
    const json_t *configs, *times, *spreads, *runs, *build_seconds, *eval_seconds;
};

static bool column_of(const struct draft *draft, const json_t *root, const char *name, gsize rows,
                      const json_t **column, GError **error)
{
    *column = json_object_get(root, name);
    if (!json_is_array(*column))
        return damaged(draft, error, "'%s' is no array", name);
    if (json_array_size(*column) != rows)
        return damaged(draft, error, "'%s' has %zu elements, and 'configs' %zu", name,
                       json_array_size(*column), rows);
    return true;
}

static bool cell(const struct draft *draft, const json_t *column, gsize row, const char *name,
                 double *number, GError **error)
{
    const json_t *value = json_array_get(column, row);
    *number = json_number_value(value);
    if (!json_is_number(value) || !(*number >= 0))
        return damaged(draft, error, "%s[%zu] is not a number from 0 on", name, row);
    return true;
}

/* `failed` has the indexes of failed configs by reason. Returns the reasons by row, or NULL. */
static const char **failures_by_row(const struct draft *draft, json_t *failed, gsize rows,
                                    GError **error)
{
    g_autofree const char **reasons = g_new0(const char *, rows + 1);
    const char *reason;
    const json_t *index;
    json_t *list;
    gsize i;
    json_object_foreach (failed, reason, list) {
        json_array_foreach (list, i, index) {
            json_int_t row = json_integer_value(index);
            if (!json_is_integer(index) || row < 0 || (gsize)row >= rows || reasons[row]) {
                damaged(draft, error, "failed[\"%s\"][%zu] names no config, or one twice", reason,
                        i);
                return NULL;
            }
            reasons[row] = failure_text(draft, reason);
        }
    }
    return g_steal_pointer(&reasons);
}

static bool read_own_row(struct draft *draft, const struct columns *columns, gsize row,
                         const char *failure, GError **error)
{
    struct recorded_config config = {.time_ms = INFINITY, .failure = failure};
    const json_t *values = json_array_get(columns->configs, row);
    double build_seconds, eval_seconds, runs, ms;
    if (!json_is_array(values) || json_array_size(values) != draft->space->params->len)
        return damaged(draft, error, "configs[%zu] is not one value for each of 'params'", row);
    if (!cell(draft, columns->build_seconds, row, "build_seconds", &build_seconds, error) ||
        !cell(draft, columns->eval_seconds, row, "eval_seconds", &eval_seconds, error))
        return false;
    config.seconds = build_seconds + eval_seconds;
    if (!failure) {
        if (!cell(draft, columns->times, row, "time_ms", &ms, error) ||
            !cell(draft, columns->spreads, row, "spread", &config.spread, error) ||
            !cell(draft, columns->runs, row, "runs", &runs, error) ||
            !take_time(draft, ms, &config, error))
            return false;
        config.runs = runs < G_MAXINT ? (int)runs : G_MAXINT;
    }
    for (gsize i = 0; i < json_array_size(values); i++) {
        json_t *value = json_array_get(values, i);
        if (!is_value(value))
            return damaged(draft, error, "configs[%zu][%zu] is no value of a parameter", row, i);
        g_ptr_array_add(draft->values, value);
    }
    g_array_append_val(draft->space->configs, config);
    return true;
}

static bool read_own_rows(struct draft *draft, json_t *root, GError **error)
{
    struct columns columns = {.configs = json_object_get(root, "configs")};
    gsize rows = json_array_size(columns.configs);
    if (!json_is_array(columns.configs))
        return damaged(draft, error, "'configs' is no array");
    if (!column_of(draft, root, "time_ms", rows, &columns.times, error) ||
        !column_of(draft, root, "spread", rows, &columns.spreads, error) ||
        !column_of(draft, root, "runs", rows, &columns.runs, error) ||
        !column_of(draft, root, "build_seconds", rows, &columns.build_seconds, error) ||
        !column_of(draft, root, "eval_seconds", rows, &columns.eval_seconds, error))
        return false;
    g_autofree const char **failures =
        failures_by_row(draft, json_object_get(root, "failed"), rows, error);
    bool good = failures != NULL;
    for (gsize row = 0; good && row < rows; row++)
        good = read_own_row(draft, &columns, row, failures[row], error);
    return good;
}

static bool read_own(struct draft *draft, json_t *root, GError **error)
{
    const json_t *names = json_object_get(root, "params"), *name;
    const json_t *standard = json_object_get(root, "default");
    gsize i;
    if (g_strcmp0(json_string_value(json_object_get(root, "format")), RECORDED_FORMAT) != 0)
        return damaged(draft, error, "'format' is not \"" RECORDED_FORMAT "\"");
    if (json_integer_value(json_object_get(root, "version")) != 1)
        return damaged(draft, error, "'version' is not 1: a newer program wrote the file");
    if (!json_is_array(names))
        return damaged(draft, error, "'params' is no array");
    json_array_foreach (names, i, name)
        if (!add_param(draft, json_string_value(name), error))
            return false;
    struct recorded_about *about = &draft->space->about;
    about->kernel = text_of(json_object_get(root, "solver"));
    about->problem = text_of(json_object_get(root, "problem"));
    about->device = text_of(json_object_get(root, "target"));
    about->how = text_of(json_object_get(root, "recorded"));
    if (!read_own_rows(draft, root, error))
        return false;
    guint rows = draft->space->configs->len;
    draft->space->whole = json_integer_value(json_object_get(root, "space_configs"));
    if (draft->space->whole < (int64_t)rows)
        return damaged(draft, error, "'space_configs' is less than the number of configs");
    if (standard && !json_is_null(standard)) {
        json_int_t index = json_integer_value(standard);
        if (!json_is_integer(standard) || index < 0 || index >= (json_int_t)rows)
            return damaged(draft, error, "'default' is no index of 'configs'");
        draft->space->default_config = (int)index;
    }
    return true;
}

/* ---- what is the same for all formats ---- */

/* A value as a text that is equal for equal values: 16 and 16.0 are. Numbers begin with '#'. */
static char *value_text(const json_t *value)
{
    if (json_is_string(value))
        return g_strconcat("\"", json_string_value(value), NULL);
    if (json_is_boolean(value))
        return g_strdup(json_is_true(value) ? "true" : "false");
    double number = json_number_value(value);
    if (json_is_integer(value) || (fabs(number) < 9e15 && number == floor(number)))
        return g_strdup_printf("#%" G_GINT64_FORMAT, json_is_integer(value)
                                                         ? (gint64)json_integer_value(value)
                                                         : (gint64)number);
    return g_strdup_printf("#%.17g", number);
}

static int compare_values(gconstpointer a, gconstpointer b)
{
    const json_t *left = *(json_t *const *)a, *right = *(json_t *const *)b;
    int left_kind = json_is_number(left) ? 0 : json_is_string(left) ? 1 : 2;
    int right_kind = json_is_number(right) ? 0 : json_is_string(right) ? 1 : 2;
    if (left_kind != right_kind)
        return left_kind - right_kind;
    if (left_kind == 0)
        return (json_number_value(left) > json_number_value(right)) -
               (json_number_value(left) < json_number_value(right));
    if (left_kind == 1)
        return strcmp(json_string_value(left), json_string_value(right));
    return json_is_true(left) - json_is_true(right);
}

static bool is_int32(const json_t *value)
{
    double number = json_number_value(value);
    return json_is_number(value) && number >= G_MININT32 && number <= G_MAXINT32 &&
           number == floor(number);
}

/* Collects the values of parameter i, and sets for each config its value's place among them. */
static void collect_values(const struct draft *draft, guint i, guint *places)
{
    guint count = draft->space->params->len;
    struct recorded_param *param = &g_array_index(draft->space->params, struct recorded_param, i);
    g_autoptr(GHashTable) known = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    param->values = g_ptr_array_new_with_free_func((GDestroyNotify)json_decref);
    for (guint row = 0; row < draft->space->configs->len; row++) {
        json_t *value = g_ptr_array_index(draft->values, row * count + i);
        char *text = value_text(value);
        if (!g_hash_table_contains(known, text)) {
            g_ptr_array_add(param->values, json_incref(value));
            g_hash_table_insert(known, text, NULL);
        } else
            g_free(text);
    }
    g_ptr_array_sort(param->values, compare_values);
    for (guint v = 0; v < param->values->len; v++) {
        param->numbered = param->numbered || !is_int32(g_ptr_array_index(param->values, v));
        g_hash_table_insert(known, value_text(g_ptr_array_index(param->values, v)),
                            GUINT_TO_POINTER(v));
    }
    for (guint row = 0; row < draft->space->configs->len; row++) {
        g_autofree char *text = value_text(g_ptr_array_index(draft->values, row * count + i));
        places[row] = GPOINTER_TO_UINT(g_hash_table_lookup(known, text));
    }
}

/* The integer that a search gets for a value: the value itself or, if the parameter's values are
 * numbered, its place. */
static int32_t searched_value(const struct recorded_param *param, guint place)
{
    return param->numbered ? (int32_t)place
                           : (int32_t)json_number_value(g_ptr_array_index(param->values, place));
}

/* Makes what a search sees of parameter i, which has several values. */
static void add_searched(RecordedSpace *space, struct recorded_param *param, const guint *places)
{
    int32_t *values = g_new(int32_t, param->values->len);
    for (guint v = 0; v < param->values->len; v++)
        values[v] = searched_value(param, v);
    param->place = space->space.param_count++;
    space->searched[param->place] = (struct space_param){
        .name = param->name, .count = (int)param->values->len, .values = values};
    for (guint row = 0; row < space->configs->len; row++) {
        struct perf_config *config =
            &g_array_index(space->configs, struct recorded_config, row).config;
        config->values[config->count++] = values[places[row]];
    }
}

static bool draft_params(const struct draft *draft, GError **error)
{
    RecordedSpace *space = draft->space;
    g_autofree guint *places = g_new(guint, space->configs->len);
    space->searched = g_new0(struct space_param, CONFIG_MAX);
    for (guint i = 0; i < space->params->len; i++) {
        struct recorded_param *param = &g_array_index(space->params, struct recorded_param, i);
        collect_values(draft, i, places);
        if (param->values->len < 2)
            continue;
        if (space->space.param_count == CONFIG_MAX)
            return damaged(draft, error, "more than %d parameters have several values", CONFIG_MAX);
        add_searched(space, param, places);
    }
    if (space->space.param_count == 0)
        return damaged(draft, error, "no parameter has several values: there is nothing to search");
    return true;
}

static int compare_configs(gconstpointer a, gconstpointer b)
{
    const struct recorded_config *left = a, *right = b;
    for (int i = 0; i < left->config.count; i++)
        if (left->config.values[i] != right->config.values[i])
            return left->config.values[i] < right->config.values[i] ? -1 : 1;
    return 0;
}

static void sort_configs(RecordedSpace *space)
{
    struct perf_config standard = {0};
    if (space->default_config >= 0)
        standard =
            g_array_index(space->configs, struct recorded_config, space->default_config).config;
    g_array_sort(space->configs, compare_configs);
    for (guint i = 0; i < space->configs->len && standard.count > 0; i++)
        if (perf_config_equal(&g_array_index(space->configs, struct recorded_config, i).config,
                              &standard))
            space->default_config = (int)i;
}

static bool index_configs(const struct draft *draft, GError **error)
{
    RecordedSpace *space = draft->space;
    double best_ms = INFINITY;
    for (guint i = 0; i < space->configs->len; i++) {
        struct recorded_config *config = &g_array_index(space->configs, struct recorded_config, i);
        if (g_hash_table_contains(space->places, &config->config)) {
            JsonRoot *values = recorded_config_json(space, (int)i);
            g_autofree char *text = text_of(values);
            json_decref(values);
            return damaged(draft, error, "the config %s was recorded twice", text);
        }
        g_hash_table_insert(space->places, &config->config, GUINT_TO_POINTER(i));
        space->failed += config->failure ? 1 : 0;
        if (config->time_ms < best_ms) {
            best_ms = config->time_ms;
            space->best = (int)i;
        }
    }
    if (!isfinite(best_ms))
        return damaged(draft, error, "no config was measured");
    return true;
}

static bool contains(const struct search_space *space, const struct perf_config *config)
{
    const RecordedSpace *recorded = space->of;
    return g_hash_table_contains(recorded->places, config);
}

static void walk(const struct search_space *space, search_visit_fn *visit, gpointer data)
{
    const RecordedSpace *recorded = space->of;
    for (guint i = 0; i < recorded->configs->len; i++)
        if (!visit(&g_array_index(recorded->configs, struct recorded_config, i).config, data))
            return;
}

static void fill_about(struct recorded_about *about)
{
    char **const texts[] = {&about->kernel, &about->problem, &about->device, &about->how};
    for (gsize i = 0; i < G_N_ELEMENTS(texts); i++)
        if (!*texts[i])
            *texts[i] = g_strdup("");
}

static bool draft_finish(const struct draft *draft, GError **error)
{
    RecordedSpace *space = draft->space;
    if (space->configs->len == 0)
        return damaged(draft, error, "it has no configs");
    fill_about(&space->about);
    space->whole = MAX(space->whole, (int64_t)space->configs->len);
    if (!draft_params(draft, error))
        return false;
    sort_configs(space);
    space->space.params = space->searched;
    space->space.of = space;
    space->space.contains = contains;
    space->space.walk = walk;
    return index_configs(draft, error);
}

/* ---- files ---- */

static const struct format {
    const char *name;
    const char *member; /* the member that only this format has */
    bool (*read)(struct draft *draft, json_t *root, GError **error);
} formats[] = {
    {RECORDED_FORMAT, "format", read_own},
    {"Kernel Tuner cache", "cache", read_kernel_tuner},
    {"T4", "results", read_t4},
};

static const struct format *format_of(const json_t *root)
{
    for (gsize i = 0; i < G_N_ELEMENTS(formats); i++)
        if (json_object_get(root, formats[i].member))
            return &formats[i];
    return NULL;
}

static RecordedSpace *space_new(const char *path)
{
    RecordedSpace *space = g_new0(RecordedSpace, 1);
    space->path = g_strdup(path);
    space->default_config = -1;
    space->params = g_array_new(FALSE, FALSE, sizeof(struct recorded_param));
    g_array_set_clear_func(space->params, recorded_param_clear);
    space->configs = g_array_new(FALSE, FALSE, sizeof(struct recorded_config));
    space->readings = g_array_new(FALSE, FALSE, sizeof(double));
    space->places = g_hash_table_new(config_hash, config_equal);
    space->failures = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    return space;
}

static bool read_root(RecordedSpace *space, const GByteArray *text, GError **error)
{
    struct draft draft = {.space = space};
    json_error_t wrong;
    g_autoptr(JsonRoot) root =
        json_loadb((const char *)text->data, text->len, JSON_REJECT_DUPLICATES, &wrong);
    if (!root)
        return damaged(&draft, error, "line %d, column %d: %s", wrong.line, wrong.column,
                       wrong.text);
    const struct format *format = format_of(root);
    if (!format)
        return damaged(&draft, error,
                       "it is no recorded space: a cache file of Kernel Tuner has the member "
                       "'cache', a T4 file 'results', our own 'format'");
    space->format = format->name;
    draft.values = g_ptr_array_new();
    bool good = format->read(&draft, root, error) && draft_finish(&draft, error);
    g_ptr_array_unref(draft.values);
    return good;
}

static GByteArray *read_bytes(const char *name, ByteSource *source, GError **error)
{
    g_autoptr(GByteArray) text = g_byte_array_new();
    static const gsize piece = 1 << 16;
    for (;;) {
        gsize had = text->len, length = 0;
        if (had + piece > FILE_BYTES_MAX) {
            g_set_error(error, REPLAY_ERROR, REPLAY_ERROR_FILE,
                        "cannot read '%s': it is larger than 1 GiB", name);
            return NULL;
        }
        g_byte_array_set_size(text, (guint)(had + piece));
        if (!byte_source_read(source, text->data + had, piece, &length, error))
            return NULL;
        g_byte_array_set_size(text, (guint)(had + length));
        if (length == 0)
            return g_steal_pointer(&text);
    }
}

static RecordedSpace *space_from(const char *name, ByteSource *source, GError **error)
{
    g_autoptr(GByteArray) text = read_bytes(name, source, error);
    g_autoptr(RecordedSpace) space = text ? space_new(name) : NULL;
    return space && read_root(space, text, error) ? g_steal_pointer(&space) : NULL;
}

RecordedSpace *recorded_space_read(const char *path, GError **error)
{
    g_autoptr(ByteSource) source = byte_source_open(path, error);
    return source ? space_from(path, source, error) : NULL;
}

RecordedSpace *recorded_space_parse(const char *name, const void *bytes, gsize length,
                                    GError **error)
{
    g_autoptr(ByteSource) source = byte_source_open_memory(name, bytes, length, error);
    return source ? space_from(name, source, error) : NULL;
}

void recorded_space_free(RecordedSpace *space)
{
    if (!space)
        return;
    for (int i = 0; i < space->space.param_count; i++)
        g_free((gpointer)space->searched[i].values);
    g_free(space->searched);
    g_free(space->about.kernel);
    g_free(space->about.problem);
    g_free(space->about.device);
    g_free(space->about.how);
    g_hash_table_unref(space->places);
    g_hash_table_unref(space->failures);
    g_array_unref(space->params);
    g_array_unref(space->configs);
    g_array_unref(space->readings);
    g_free(space->path);
    g_free(space);
}
