#include "coordinator/nights/file/night_file.h"

#include "coordinator/cli/cli.h"
#include "coordinator/fields/fields.h"
#include "schema/small_file.h"
#include "solvers/search/searcher.h"

#include <string.h>

/* Names become names of folders and campaigns, with a date behind. */
#define NAME_PATTERN   "^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$"
#define TARGET_PATTERN "^[A-Za-z0-9][A-Za-z0-9_-]{0,62}$"
#define WORD_PATTERN   "^[A-Za-z][A-Za-z0-9_]*$"
#define LOGIN_PATTERN  "^[^,]+$"
/* An address without credentials, which messages and reports would show. */
#define URL_PATTERN    "^https?://[^/?#@\\s]+([/?#]\\S*)?$"
#define SHA256_PATTERN "^[0-9a-fA-F]{64}$"
/* The first two of WHEN_FORMS: a night's deadline is no date. */
#define DEADLINE_PATTERN                                                                           \
    "^(([01]?[0-9]|2[0-3])(:[0-5][0-9]){1,2}|([1-9][0-9]{0,3}(\\.[0-9]{1,3})?[dhms])+)$"

static const char *const strategy_names[] = {
#define NAME(id, name, summary) name,
    STRATEGIES(NAME)
#undef NAME
        NULL};
static const char *const type_names[] = {"FP32", "FP16", "BF16", "INT8",
                                         "FP64", "FP8",  "BF8",  NULL};
static const char *const layout_names[] = {"NCHW", "NHWC", "CHWN", "NCHWc4", "NCHWc8", NULL};
static const char *const export_what_names[] = {
    [NIGHT_EXPORT_GOLDEN] = "golden", [NIGHT_EXPORT_CAMPAIGN] = "campaign", NULL};
/* options of `export` */
static const char *const kind_names[] = {"perf", "find", "kernels", "compact", NULL};
const char *const night_tell_names[] = {"regression", "gain", "failure", "always", NULL};

/* ---- the fields, from the innermost objects outwards ---- */

#define TARGET(member) offsetof(struct night_file_target, member)
static const struct field target_fields[] = {
    {.name = "target",
     .kind = FIELD_TEXT,
     .offset = TARGET(target),
     .pattern = TARGET_PATTERN,
     .takes = "a target's id such as gfx90a68, or local",
     .says = "the target's id, such as gfx90a68 or sm_90_132_80g; local is this machine's device",
     .required = true},
    {.name = "stack",
     .kind = FIELD_TEXT,
     .offset = TARGET(stack),
     .says = "only workers with this software: \"clang >= 15 < 20; driver >= 535\""},
    {.name = "pool",
     .kind = FIELD_TEXT,
     .offset = TARGET(pool),
     .says = "only workers that were started with this --label"},
    {.name = "trust",
     .kind = FIELD_LIST,
     .offset = TARGET(trust),
     .pattern = LOGIN_PATTERN,
     .says = "logins whose code CPU workers of other logins run"},
};
static const struct field_object target_object = {
    .name = "target",
    .says = "A target, and which workers tune for it. A text is the target's id alone.",
    .fields = target_fields,
    .count = G_N_ELEMENTS(target_fields),
    .size = sizeof(struct night_file_target),
    .short_form = "target",
};

#define SOURCE(member) offsetof(struct night_source, member)
static const struct field source_fields[] = {
    {.name = "network",
     .kind = FIELD_TEXT,
     .offset = SOURCE(words.network),
     .says = "an imported network: NAME, its newest version, or NAME@2; beside file or url the "
             "name of that list's network, or the one to take of several"},
    {.name = "tag",
     .kind = FIELD_TEXT,
     .offset = SOURCE(tag),
     .says = "the problems that were imported with this tag"},
    {.name = "file",
     .kind = FIELD_PATH,
     .offset = SOURCE(file),
     .says = "a file that the importers read: driver lines, a layer table, a find-db, keys"},
    {.name = "url",
     .kind = FIELD_TEXT,
     .offset = SOURCE(url),
     .pattern = URL_PATTERN,
     .takes = "an http or https address without a user's name",
     .says = "such a file behind http or https, kept in a cache"},
    {.name = "batch",
     .kind = FIELD_LIST,
     .offset = SOURCE(words.batch),
     .numbers = true,
     .elements_most = IMPORT_CHOICES_MAX,
     .least = 1,
     .most = G_MAXINT32,
     .takes = "a batch size, or a list of them without repetition",
     .only_with = "file url network",
     .says = "batch sizes that a layer table leaves out; other lists' batch size is replaced. An "
             "imported network has its own"},
    {.name = "dtype",
     .kind = FIELD_LIST,
     .offset = SOURCE(words.dtype),
     .words = type_names,
     .elements_most = IMPORT_CHOICES_MAX,
     .takes = "a data type, or a list of them without repetition,",
     .only_with = "file url network",
     .says = "likewise data types"},
    {.name = "layout",
     .kind = FIELD_TEXT,
     .offset = SOURCE(words.layout),
     .words = layout_names,
     .takes = "a layout",
     .only_with = "file url network",
     .says = "likewise the layout"},
    {.name = "dim",
     .kind = FIELD_TEXT,
     .offset = SOURCE(words.dim),
     .takes = "NAME=SIZE, or several of them joined by commas",
     .only_with = "file url",
     .says = "sizes of dimensions that an ONNX model leaves open"},
    {.name = "allow_clamped",
     .kind = FIELD_YES,
     .offset = SOURCE(words.allow_clamped),
     .only_with = "file url network",
     .says = "take layers whose filter is larger than the padded input, too"},
    {.name = "runs",
     .kind = FIELD_NUMBER,
     .offset = SOURCE(runs),
     .above = true,
     .most = 1e9,
     .standard = "1",
     .says = "how often the network is run, beside the other sources: jobs of problems with more "
             "runs come first"},
    {.name = "sha256",
     .kind = FIELD_TEXT,
     .offset = SOURCE(sha256),
     .pattern = SHA256_PATTERN,
     .takes = "a SHA-256 of 64 hexadecimal digits",
     .only_with = "file url",
     .says = "the SHA-256 of the content, in hex: other content is refused"},
    {.name = "max_bytes",
     .kind = FIELD_INTEGER,
     .offset = SOURCE(bytes_most),
     .least = 1,
     .most = 1 << 30,
     .standard = "67108864",
     .only_with = "url",
     .says = "a longer answer is refused"},
    {.name = "max_seconds",
     .kind = FIELD_INTEGER,
     .offset = SOURCE(seconds_most),
     .least = 1,
     .most = 3600,
     .standard = "60",
     .only_with = "url",
     .says = "seconds for the whole answer"},
};
static const struct field_choice source_choices[] = {
    {"network", "tag file url"},
    {"tag", "network"},
    {"file", NULL},
    {"url", NULL},
};
static const struct field_object source_object = {
    .name = "problems",
    .says = "A source of problems: a network, a tag, a file or a URL.",
    .fields = source_fields,
    .count = G_N_ELEMENTS(source_fields),
    .size = sizeof(struct night_source),
    .choices = source_choices,
    .choice_count = G_N_ELEMENTS(source_choices),
};

#define TELL(member) offsetof(struct night_tell, member)
static const struct field tell_fields[] = {
    {.name = "webhook",
     .kind = FIELD_TEXT,
     .offset = TELL(webhook),
     .pattern = URL_PATTERN,
     .takes = "an http or https address without a user's name",
     .required = true,
     .says = "an address that takes Slack-compatible JSON by POST"},
    {.name = "secret_file",
     .kind = FIELD_PATH,
     .offset = TELL(secret_file),
     .says = "a file with the key that signs messages (HMAC-SHA-256)"},
    {.name = "on",
     .kind = FIELD_SET,
     .offset = TELL(on),
     .words = night_tell_names,
     .standard = "[\"regression\", \"failure\"]",
     .takes = "a list without repetition",
     .says = "what it is told: regressions, gains that golden took, nights that failed, or always"},
};
static const struct field_object tell_object = {
    .name = "receiver",
    .says = "Somebody who is told about a night.",
    .fields = tell_fields,
    .count = G_N_ELEMENTS(tell_fields),
    .size = sizeof(struct night_tell),
};

#define NIGHT(member) offsetof(struct night_file, member)
static const struct field search_fields[] = {
    {.name = "strategy",
     .kind = FIELD_TEXT,
     .offset = NIGHT(search.strategy),
     .words = strategy_names,
     .takes = "a strategy",
     .standard = "\"" REQUEST_DEFAULT_STRATEGY "\"",
     .says = "how a job chooses the configs that it measures"},
    {.name = "configs",
     .kind = FIELD_INTEGER,
     .offset = NIGHT(search.configs),
     .most = 1e6,
     .standard = G_STRINGIFY(REQUEST_DEFAULT_CONFIGS),
     .says = "configs that a job evaluates at most, 0 for all"},
    {.name = "close_configs",
     .kind = FIELD_INTEGER,
     .offset = NIGHT(search.close_configs),
     .most = 1e6,
     .standard = "0",
     .says = "the same for a job whose best time is within " G_STRINGIFY(SEARCH_CLOSE_PERCENT) " % of its problem's; 0 for " G_STRINGIFY(
         REQUEST_DEFAULT_CLOSE) ", or as many as a `configs` that "
                                "differs from its default; as many as `configs`: all jobs try the same"},
    {.name = "search_seconds",
     .kind = FIELD_NUMBER,
     .offset = NIGHT(search.search_seconds),
     .most = REQUEST_SEARCH_MOST,
     .standard = "0",
     .says = "a job's search ends when its configs took so much device time; 0 for no limit"},
    {.name = "min_gain",
     .kind = FIELD_NUMBER,
     .offset = NIGHT(search.min_gain),
     .most = 100,
     .standard = "0",
     .says =
         "a job's search ends when its next 16 configs are expected to make its best time shorter by less than so "
         "many per cent; 0 for no limit"},
    {.name = "seed",
     .kind = FIELD_INTEGER,
     .offset = NIGHT(search.seed),
     .most = FIELD_INTEGER_MAX,
     .standard = "0",
     .says = "seed of the search"},
    {.name = "final_seconds",
     .kind = FIELD_NUMBER,
     .offset = NIGHT(search.final_seconds),
     .most = REQUEST_FINAL_MOST,
     .standard = G_STRINGIFY(REQUEST_FINAL_SECONDS),
     .says =
         "device time for measuring each problem's best configs once more, in turns, to ship that result; 0 for none"},
};
static const struct field_object search_object = {
    .name = "search",
    .says = "The search of each job.",
    .fields = search_fields,
    .count = G_N_ELEMENTS(search_fields),
};

static const struct field limit_fields[] = {
    {.name = "workspace_limit",
     .kind = FIELD_BYTES,
     .offset = NIGHT(limits.workspace),
     .says = "no solver or config that needs more workspace"},
    {.name = "dynamic_only",
     .kind = FIELD_YES,
     .offset = NIGHT(limits.dynamic_only),
     .standard = "false",
     .says = "only solvers whose binaries each serve all sizes"},
    {.name = "deterministic",
     .kind = FIELD_YES,
     .offset = NIGHT(limits.deterministic),
     .standard = "false",
     .says = "only solvers whose results are equal from run to run"},
    {.name = "tunable_only",
     .kind = FIELD_YES,
     .offset = NIGHT(limits.tunable_only),
     .standard = "false",
     .says = "only solvers with perf configs to choose among"},
};
static const struct field_object limits_object = {
    .name = "limits",
    .says = "Limits on solutions, as those of `campaign create`.",
    .fields = limit_fields,
    .count = G_N_ELEMENTS(limit_fields),
};

static const struct field budget_fields[] = {
    {.name = "node_hours",
     .kind = FIELD_NUMBER,
     .offset = NIGHT(budget.node_hours),
     .most = 1e6,
     .standard = "0",
     .says = "working time of the whole night, summed over nodes and targets; 0 for no limit"},
    {.name = "seconds",
     .kind = FIELD_NUMBER,
     .offset = NIGHT(budget.seconds),
     .most = 1e12,
     .standard = "0",
     .says =
         "working time of each target's campaign, after which each problem without a winner gets one config, and all "
         "other jobs end; 0 for no limit"},
};
static const struct field_object budget_object = {
    .name = "budget",
    .says = "Caps on the night's working time.",
    .fields = budget_fields,
    .count = G_N_ELEMENTS(budget_fields),
};

static const struct field again_fields[] = {
    {.name = "older_than_days",
     .kind = FIELD_NUMBER,
     .offset = NIGHT(again.older_than_days),
     .most = 36500,
     .standard = "0",
     .says = "measure again what is older than this; 0 for no limit of age"},
    {.name = "sample",
     .kind = FIELD_NUMBER,
     .offset = NIGHT(again.sample),
     .most = 1,
     .standard = "0.01",
     .says =
         "share of the unchanged jobs that is measured again to see drift, drawn by the night's "
         "date"},
    {.name = "noisy_spread",
     .kind = FIELD_NUMBER,
     .offset = NIGHT(again.noisy_spread),
     .above = true,
     .most = 100,
     .standard = "0.1",
     .says = "a time is noisy, and measured again, from this interquartile range over the median "
             "on"},
    {.name = "retries",
     .kind = FIELD_INTEGER,
     .offset = NIGHT(again.retries),
     .most = 1000,
     .standard = "3",
     .says =
         "nights in a row on which a job is tried again that failed for a reason that may pass"},
};
static const struct field_object again_object = {
    .name = "again",
    .says = "What is worked on again although nothing changed.",
    .fields = again_fields,
    .count = G_N_ELEMENTS(again_fields),
};

static const struct field golden_fields[] = {
    {.name = "version",
     .kind = FIELD_INTEGER,
     .offset = NIGHT(golden.version),
     .least = 1,
     .most = G_MAXINT32,
     .zero_word = "latest",
     .standard = "\"latest\"",
     .takes = "a version's number",
     .says = "the golden version that the night is compared with"},
    {.name = "propose",
     .kind = FIELD_YES,
     .offset = NIGHT(golden.propose),
     .standard = "false",
     .says = "propose a version of what became better"},
    {.name = "approve",
     .kind = FIELD_YES,
     .offset = NIGHT(golden.approve),
     .standard = "false",
     .only_with = "propose",
     .says = "approve that version, where the target's policy lets the same person do so"},
    {.name = "noise",
     .kind = FIELD_NUMBER,
     .offset = NIGHT(golden.noise),
     .most = 100,
     .standard = "1",
     .says = "better is: the medians are further apart than this times the mean interquartile "
             "range"},
    {.name = "gain",
     .kind = FIELD_NUMBER,
     .offset = NIGHT(golden.gain),
     .most = 100,
     .standard = "1",
     .says = "and by this much of the old time at the least, in percent"},
};
static const struct field_object golden_object = {
    .name = "golden",
    .says = "The golden version to compare with, and whether the night makes the next one.",
    .fields = golden_fields,
    .count = G_N_ELEMENTS(golden_fields),
};

static const struct field regression_fields[] = {
    {.name = "percent",
     .kind = FIELD_NUMBER,
     .offset = NIGHT(regressions.percent),
     .most = 1000,
     .standard = "3",
     .says = "slow-downs below this are not reported"},
    {.name = "alpha",
     .kind = FIELD_NUMBER,
     .offset = NIGHT(regressions.alpha),
     .above = true,
     .most = 0.5,
     .standard = "0.05",
     .says = "share of false alarms among the regressions that are reported"},
    {.name = "nodes",
     .kind = FIELD_INTEGER,
     .offset = NIGHT(regressions.nodes),
     .least = 1,
     .most = 16,
     .standard = "2",
     .says =
         "nodes on which a suspect is measured again before anybody is told, where there are so "
         "many"},
};
static const struct field_object regressions_object = {
    .name = "regressions",
    .says = "What counts as a regression.",
    .fields = regression_fields,
    .count = G_N_ELEMENTS(regression_fields),
};

static const struct field export_fields[] = {
    {.name = "folder",
     .kind = FIELD_PATH,
     .offset = NIGHT(export.folder),
     .required = true,
     .says = "each night gets a folder in it"},
    {.name = "what",
     .kind = FIELD_WORD,
     .offset = NIGHT(export.what),
     .words = export_what_names,
     .standard = "\"golden\"",
     .says = "the newest golden version, or only what the night measured"},
    {.name = "kinds",
     .kind = FIELD_LIST,
     .offset = NIGHT(export.kinds),
     .words = kind_names,
     .takes = "a kind of database, or a list of them without repetition,",
     .says = "which databases; all of them unless named"},
    {.name = "keep",
     .kind = FIELD_INTEGER,
     .offset = NIGHT(export.keep),
     .most = 100000,
     .standard = "30",
     .says = "folders of nights that stay, 0 for all"},
};
static const struct field_object export_object = {
    .name = "export",
    .says = "What a night writes for libraries.",
    .fields = export_fields,
    .count = G_N_ELEMENTS(export_fields),
};

static const struct field report_fields[] = {
    {.name = "folder",
     .kind = FIELD_PATH,
     .offset = NIGHT(report.folder),
     .required = true,
     .says = "each night writes its report into it, as text, JSON and HTML"},
};
static const struct field_object report_object = {
    .name = "report",
    .says = "Where reports go.",
    .fields = report_fields,
    .count = G_N_ELEMENTS(report_fields),
};

static const struct field night_fields[] = {
    {.name = "$schema", .kind = FIELD_SCHEMA, .says = "for editors: the name of this schema"},
    {.name = "name",
     .kind = FIELD_TEXT,
     .offset = NIGHT(name),
     .pattern = NAME_PATTERN,
     .takes = "up to 100 letters, digits, dots, dashes and underscores",
     .required = true,
     .says = "the name of these nights: their history belongs to it"},
    {.name = "targets",
     .kind = FIELD_OBJECTS,
     .offset = NIGHT(targets),
     .count_offset = NIGHT(target_count),
     .object = &target_object,
     .required = true,
     .takes = "a list of targets, one at the least",
     .says = "what is tuned for"},
    {.name = "problems",
     .kind = FIELD_OBJECTS,
     .offset = NIGHT(sources),
     .count_offset = NIGHT(source_count),
     .object = &source_object,
     .required = true,
     .takes = "a list of sources, one at the least",
     .says = "what is tuned: all sources together"},
    {.name = "solvers",
     .kind = FIELD_LIST,
     .offset = NIGHT(solvers),
     .pattern = WORD_PATTERN,
     .takes = "a solver or family, or a list of them without repetition",
     .says = "only these solvers, also with low estimates: names or families"},
    {.name = "all_solvers",
     .kind = FIELD_YES,
     .offset = NIGHT(all_solvers),
     .standard = "false",
     .says = "also solvers that are estimated far below the best one of a problem"},
    {.name = "search", .kind = FIELD_OBJECT, .object = &search_object, .says = "the search"},
    {.name = "limits",
     .kind = FIELD_OBJECT,
     .object = &limits_object,
     .says = "limits on solutions"},
    {.name = "budget",
     .kind = FIELD_OBJECT,
     .object = &budget_object,
     .says = "caps on working time"},
    {.name = "deadline",
     .kind = FIELD_TEXT,
     .offset = NIGHT(deadline),
     .pattern = DEADLINE_PATTERN,
     .takes = "a time such as 07:00, or a duration such as 9h30m",
     .says = "nothing begins after this time: what is there then is judged and exported"},
    {.name = "priority",
     .kind = FIELD_INTEGER,
     .offset = NIGHT(priority),
     .least = -1000000,
     .most = 1000000,
     .standard = "0",
     .says = "campaigns of higher priority are worked on first"},
    {.name = "share",
     .kind = FIELD_NUMBER,
     .offset = NIGHT(share),
     .above = true,
     .most = 1e6,
     .standard = "1",
     .says = "of the working time, among campaigns of one priority"},
    {.name = "backfill_priority",
     .kind = FIELD_INTEGER,
     .offset = NIGHT(backfill_priority),
     .least = -1000000,
     .most = 1000000,
     .standard = "-10",
     .says = "the priority of jobs that fill in what a new solver or a new target lacks"},
    {.name = "again",
     .kind = FIELD_OBJECT,
     .object = &again_object,
     .says = "what is worked on again"},
    {.name = "golden", .kind = FIELD_OBJECT, .object = &golden_object, .says = "golden versions"},
    {.name = "regressions",
     .kind = FIELD_OBJECT,
     .object = &regressions_object,
     .says = "what counts as a regression"},
    {.name = "export", .kind = FIELD_OBJECT, .object = &export_object, .says = "what is exported"},
    {.name = "report", .kind = FIELD_OBJECT, .object = &report_object, .says = "where reports go"},
    {.name = "tell",
     .kind = FIELD_OBJECTS,
     .offset = NIGHT(tells),
     .count_offset = NIGHT(tell_count),
     .object = &tell_object,
     .takes = "a list of receivers",
     .says = "who is told"},
};
static const struct field_object night_object = {
    .name = "night",
    .says = "What `skipjack run` does every night.",
    .fields = night_fields,
    .count = G_N_ELEMENTS(night_fields),
    .size = sizeof(struct night_file),
};

json_t *night_file_schema(void)
{
    return fields_schema(&night_object, "nightly.schema.json");
}

/* ---- reading ---- */

/* Reads the file's JSON, a new reference; NULL with the line that is no JSON. */
static json_t *load(const char *path, GError **error)
{
    json_error_t where;
    g_autofree char *text = small_file_read(path, NIGHT_FILE_BYTES_MAX, NULL, error);
    json_t *json = text ? json_loads(text, JSON_REJECT_DUPLICATES, &where) : NULL;
    if (text && !json)
        g_set_error(error, COORDINATOR_ERROR, COORDINATOR_ERROR_USAGE,
                    "cannot read the night '%s', line %d: %s", path, where.line, where.text);
    return json;
}

bool night_file_is_object(const char *path, GError **error)
{
    json_t *json = load(path, error);
    bool is = json_is_object(json);
    if (json && !is)
        g_set_error(error, COORDINATOR_ERROR, COORDINATOR_ERROR_USAGE,
                    "cannot read the night '%s': an object is expected, as in "
                    "coordinator/nights/NIGHTS.md",
                    path);
    json_decref(json);
    return is;
}

bool night_file_is(const char *path)
{
    json_t *root = load(path, NULL);
    bool is = json_object_get(root, "targets") != NULL;
    json_decref(root);
    return is;
}

static void set_kinds(struct night_file *night)
{
    for (int i = 0; i < night->source_count; i++) {
        struct night_source *source = &night->sources[i];
        source->kind = source->tag    ? NIGHT_SOURCE_TAG
                       : source->file ? NIGHT_SOURCE_FILE
                       : source->url  ? NIGHT_SOURCE_URL
                                      : NIGHT_SOURCE_NETWORK;
    }
}

/* Checks three rules that the table cannot say: each target once, close jobs try no fewer configs, and known solvers. */
static bool check_whole(const struct night_file *night, GError **error)
{
    for (int i = 0; i < night->target_count; i++)
        for (int j = 0; j < i; j++)
            if (strcmp(night->targets[i].target, night->targets[j].target) == 0) {
                g_set_error(error, COORDINATOR_ERROR, COORDINATOR_ERROR_USAGE,
                            "targets[%d]: targets[%d] is '%s', too; name a target once", i, j,
                            night->targets[i].target);
                return false;
            }
    if (!request_check_close("search.close_configs", night->search.configs,
                             night->search.close_configs, error))
        return false;
    const struct request request = {.solvers = night->solvers};
    g_autoptr(GPtrArray) solvers = request_solvers(&request, error);
    if (!solvers)
        g_prefix_error(error, "solvers: ");
    return solvers != NULL;
}

struct night_file *night_file_from_json(const char *path, json_t *json, GError **error)
{
    g_autofree char *relative = g_path_get_dirname(path);
    g_autofree char *folder = g_canonicalize_filename(relative, NULL);
    struct night_file *night = g_new0(struct night_file, 1);
    if (!fields_read(&night_object, json, folder, night, error) || !check_whole(night, error)) {
        g_prefix_error(error, "cannot read the night '%s': ", path);
        night_file_free(night);
        return NULL;
    }
    set_kinds(night);
    night->path = g_strdup(path);
    night->json = json_incref(json);
    return night;
}

struct night_file *night_file_read(const char *path, GError **error)
{
    json_t *json = load(path, error);
    struct night_file *night = json ? night_file_from_json(path, json, error) : NULL;
    json_decref(json);
    return night;
}

void night_file_free(struct night_file *night)
{
    if (!night)
        return;
    fields_clear(&night_object, night);
    g_free(night->path);
    json_decref(night->json);
    g_free(night);
}

static void set_text(char **field, const char *text)
{
    g_free(*field);
    *field = g_strdup(text);
}

void night_file_request(const struct night_file *night, const struct night_file_target *target,
                        struct request *request)
{
    set_text(&request->name, night->name);
    set_text(&request->target, target->target);
    set_text(&request->stack, target->stack);
    set_text(&request->pool, target->pool);
    set_text(&request->trust, target->trust);
    set_text(&request->solvers, night->solvers);
    set_text(&request->strategy, night->search.strategy);
    set_text(&request->workspace_limit, night->limits.workspace);
    set_text(&request->deadline, night->deadline);
    request->all_solvers = night->all_solvers;
    request->configs = (int)night->search.configs;
    request->close_configs = (int)night->search.close_configs;
    request->seed = night->search.seed;
    request->dynamic_only = night->limits.dynamic_only;
    request->deterministic = night->limits.deterministic;
    request->tunable_only = night->limits.tunable_only;
    request->budget_seconds = night->budget.seconds;
    request->final_seconds = night->search.final_seconds;
    request->search_seconds = night->search.search_seconds;
    request->min_gain = night->search.min_gain;
    request->priority = (int)night->priority;
    request->share = night->share;
}
