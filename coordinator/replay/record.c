#include "coordinator/replay/record.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <zlib.h>

#include "coordinator/replay/recorded_space.h"
#include "schema/results/store_results.h"
#include "schema/store/store_campaigns.h"
#include "solvers/framework/solver.h"
#include "solvers/problem/problem_key.h"

/* Digits of times in files: two thousand times finer than the mark of 1 %. */
#define TIME_DIGITS 5

/* A job while its file is made. */
struct job {
    const struct campaign *campaign;
    const struct config_outcome *first; /* says problem, solver and revision */
    const struct space *space;
    struct target target;
    struct context context;
    /* const struct config_outcome *: each config once, with its lowest time, in the order of the first try */
    GPtrArray *configs;
};

static bool fail(const struct job *job, GError **error, const char *what)
{
    char key[PROBLEM_KEY_MAX];
    g_set_error(error, REPLAY_ERROR, REPLAY_ERROR_SPACE, "cannot record %s of %s: %s",
                job->first->solver, problem_key(&job->first->problem, key), what);
    return false;
}

static bool find_space(struct job *job, GError **error)
{
    const struct solver *solver = solver_find(job->first->solver);
    if (!solver || solver->revision != job->first->revision)
        return fail(job, error,
                    "this program has another revision of the solver, so its space is not known");
    if (!target_parse(job->campaign->target, &job->target, error))
        return false;
    context_init(&job->context, &job->target);
    context_set_limits(&job->context, &job->campaign->limits);
    job->space = solver_space(solver, &job->first->problem, &job->context);
    return true;
}

static bool is_timed(const struct config_outcome *outcome)
{
    return outcome->failure == FAILURE_NONE || outcome->failure == FAILURE_SLOW;
}

/* Adds an outcome; one of a config that was measured before replaces it if it is faster. */
static void add_outcome(struct job *job, const struct config_outcome *outcome)
{
    if (!space_contains(job->space, &job->first->problem, &job->context, &outcome->config, NULL))
        return;
    for (guint i = 0; i < job->configs->len; i++) {
        const struct config_outcome *known = job->configs->pdata[i];
        if (!perf_config_equal(&known->config, &outcome->config))
            continue;
        if (is_timed(outcome) && (!is_timed(known) || outcome->median_ms < known->median_ms))
            job->configs->pdata[i] = (gpointer)outcome;
        return;
    }
    g_ptr_array_add(job->configs, (gpointer)outcome);
}

/* ---- the file ---- */

static json_t *rounded(double value, int digits)
{
    char text[G_ASCII_DTOSTR_BUF_SIZE];
    char format[] = "%.0g";
    format[2] = (char)('0' + digits);
    return json_real(g_ascii_strtod(g_ascii_formatd(text, sizeof text, format, value), NULL));
}

static json_t *config_values(const struct perf_config *config)
{
    json_t *values = json_array();
    for (int i = 0; i < config->count; i++)
        json_array_append_new(values, json_integer(config->values[i]));
    return values;
}

static json_t *param_names(const struct space *space)
{
    json_t *names = json_array();
    for (int i = 0; i < space->param_count; i++)
        json_array_append_new(names, json_string(space->params[i].name));
    return names;
}

/* Adds the job's configs, column by column. */
static void add_columns(json_t *root, const struct job *job)
{
    json_t *configs = json_array(), *times = json_array(), *spreads = json_array();
    json_t *runs = json_array(), *build = json_array(), *eval = json_array();
    json_t *failed = json_object(), *standard = json_null();
    for (guint i = 0; i < job->configs->len; i++) {
        const struct config_outcome *outcome = job->configs->pdata[i];
        const char *failure = failure_name(outcome->failure);
        bool timed = is_timed(outcome);
        json_array_append_new(configs, config_values(&outcome->config));
        json_array_append_new(times,
                              timed ? rounded(outcome->median_ms, TIME_DIGITS) : json_null());
        json_array_append_new(spreads, timed ? rounded(outcome->spread, 2) : json_null());
        json_array_append_new(runs, timed ? json_integer(outcome->n) : json_null());
        json_array_append_new(build, rounded(outcome->build_seconds, 3));
        json_array_append_new(eval, rounded(outcome->eval_seconds, 3));
        if (outcome->is_default)
            standard = json_integer(i);
        if (timed)
            continue;
        if (!json_object_get(failed, failure))
            json_object_set_new(failed, failure, json_array());
        json_array_append_new(json_object_get(failed, failure), json_integer(i));
    }
    json_object_set_new(root, "default", standard);
    json_object_set_new(root, "configs", configs);
    json_object_set_new(root, "failed", failed);
    json_object_set_new(root, "time_ms", times);
    json_object_set_new(root, "spread", spreads);
    json_object_set_new(root, "runs", runs);
    json_object_set_new(root, "build_seconds", build);
    json_object_set_new(root, "eval_seconds", eval);
}

static char *how_recorded(const struct campaign *campaign, const char *note)
{
    g_autoptr(GDateTime) day = g_date_time_new_from_unix_utc(campaign->created_unix);
    g_autofree char *date = g_date_time_format(day, "%Y-%m-%d");
    return g_strconcat(date, note ? "; " : "", note ? note : "", NULL);
}

static json_t *job_json(const struct job *job, int64_t whole, const char *note)
{
    char key[PROBLEM_KEY_MAX];
    g_autofree char *how = how_recorded(job->campaign, note);
    json_t *root = json_pack(
        "{s:s, s:i, s:s, s:s, s:i, s:s, s:s, s:I, s:o}", "format", RECORDED_FORMAT, "version", 1,
        "problem", problem_key(&job->first->problem, key), "solver", job->first->solver, "revision",
        job->first->revision, "target", job->campaign->target, "recorded", how, "space_configs",
        (json_int_t)whole, "params", param_names(job->space));
    add_columns(root, job);
    return root;
}

/* Compresses the text as a gzip file without a date, so that equal texts give equal bytes. */
static GByteArray *packed(const char *text)
{
    enum { GZIP_WINDOW = 15 + 16, MOST_MEMORY = 9 };
    z_stream stream = {0};
    int status = deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, MOST_MEMORY,
                              Z_DEFAULT_STRATEGY);
    g_assert(status == Z_OK);
    GByteArray *bytes = g_byte_array_new();
    gsize length = strlen(text);
    g_byte_array_set_size(bytes, (guint)deflateBound(&stream, length));
    stream.next_in = (Bytef *)text;
    stream.avail_in = (uInt)length;
    stream.next_out = bytes->data;
    stream.avail_out = bytes->len;
    status = deflate(&stream, Z_FINISH);
    g_assert(status == Z_STREAM_END);
    g_byte_array_set_size(bytes, (guint)stream.total_out);
    deflateEnd(&stream);
    return bytes;
}

static bool write_job(const struct job *job, int64_t whole, const struct record_options *options,
                      GError **error)
{
    char key[PROBLEM_KEY_MAX];
    json_t *root = job_json(job, whole, options->note);
    g_autofree char *name = g_strdup_printf("%s-%s.json.gz", job->first->solver,
                                            problem_key(&job->first->problem, key));
    g_autofree char *path = g_build_filename(options->folder, name, NULL);
    char *text = json_dumps(root, JSON_COMPACT | JSON_REAL_PRECISION(TIME_DIGITS + 1));
    json_decref(root);
    g_autoptr(GByteArray) bytes = packed(text);
    free(text);
    g_autoptr(GError) wrong = NULL;
    if (g_file_set_contents(path, (const char *)bytes->data, bytes->len, &wrong))
        return true;
    g_set_error(error, REPLAY_ERROR, REPLAY_ERROR_FILE, "cannot write '%s': %s", path,
                wrong->message);
    return false;
}

/* Writes the file of the job whose outcomes are outcomes[from] to outcomes[to - 1]. */
static bool record_job(const struct campaign *campaign, const GPtrArray *outcomes, guint from,
                       guint to, const struct record_options *options, int *files, GError **error)
{
    struct job job = {.campaign = campaign, .first = outcomes->pdata[from]};
    if (!find_space(&job, error))
        return false;
    int64_t whole = job.space ? space_count(job.space, &job.first->problem, &job.context) : 0;
    if (whole < 2)
        return true;
    g_autoptr(GPtrArray) configs = g_ptr_array_new();
    job.configs = configs;
    for (guint i = from; i < to; i++)
        add_outcome(&job, outcomes->pdata[i]);
    if ((int64_t)configs->len < whole && !options->partial) {
        g_autofree char *what =
            g_strdup_printf("%u of its %" G_GINT64_FORMAT " configs were tried: let the campaign "
                            "finish, with --strategy exhaustive --configs 0; or take --partial",
                            configs->len, whole);
        return fail(&job, error, what);
    }
    ++*files;
    return write_job(&job, whole, options, error);
}

bool record_campaign(Store *store, const struct record_options *options, int *files, GError **error)
{
    *files = 0;
    struct campaign *campaign = store_get_campaign(store, options->campaign, error);
    g_autoptr(GPtrArray) outcomes =
        campaign ? store_list_outcomes(store, options->campaign, error) : NULL;
    bool good = outcomes != NULL;
    if (good && g_mkdir_with_parents(options->folder, 0777) != 0) {
        g_set_error(error, REPLAY_ERROR, REPLAY_ERROR_FILE, "cannot make the folder '%s': %s",
                    options->folder, g_strerror(errno));
        good = false;
    }
    for (guint from = 0, to; good && from < outcomes->len; from = to) {
        const struct config_outcome *first = outcomes->pdata[from];
        for (to = from; to < outcomes->len; to++)
            if (((const struct config_outcome *)outcomes->pdata[to])->job != first->job)
                break;
        good = record_job(campaign, outcomes, from, to, options, files, error);
    }
    if (campaign)
        campaign_free(campaign);
    return good;
}
