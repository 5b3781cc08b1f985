/* Pages of lists for people. */
#include "schema/results/store_pages.h"

#include "schema/results/conditions.h"
#include "schema/store/store_private.h"
#include "solvers/problem/problem_key.h"

#include <math.h>
#include <string.h>

#define LIMIT_DEFAULT 100
#define SEARCH_ROWS   2000  /* rows that a search reads at once */
#define SEARCH_MOST   50000 /* and in all, for one page */
#define PLACE_DIGITS  18    /* of a number in a cursor: it fits a bigint */

static const struct {
    const char *sql;
    const char *key; /* the member that a search looks into, NULL for none */
    bool whole;      /* all of it is read: it has no pages */
    int numbers;     /* of a cursor */
} pages[PAGE_COUNT] = {
    [PAGE_LOG] = {"SELECT item, place FROM page_log($1)", NULL, false, 1},
    [PAGE_CAMPAIGNS] = {"SELECT item, place FROM page_campaigns($1)", NULL, false, 1},
    [PAGE_OPEN_CAMPAIGNS] = {"SELECT item, place FROM page_open_campaigns($1)", NULL, true, 1},
    [PAGE_JOBS] = {"SELECT item, place FROM page_jobs($1)", "problem", false, 1},
    [PAGE_JOB] = {"SELECT item, place FROM page_job($1)", NULL, true, 1},
    [PAGE_REJECTIONS] = {"SELECT item, place FROM page_rejections($1)", NULL, false, 3},
    [PAGE_CONDITIONS] = {"SELECT item, place FROM page_conditions($1)", NULL, true, 1},
    [PAGE_QUARANTINE] = {"SELECT item, place FROM page_quarantine($1)", NULL, false, 1},
    [PAGE_PROBLEMS] = {"SELECT item, place FROM page_problems($1)", "key", false, 1},
    [PAGE_PROBLEM] = {"SELECT item, place FROM page_problem($1)", NULL, true, 1},
    [PAGE_PROBLEM_CONFIGS] = {"SELECT item, place FROM page_problem_configs($1)", NULL, false, 3},
    [PAGE_TARGETS] = {"SELECT item, place FROM page_targets($1)", NULL, true, 1},
    [PAGE_CAMPAIGN_GOLDEN] = {"SELECT item, place FROM page_campaign_golden($1)", NULL, true, 1},
    [PAGE_GOLDEN_DIFF] = {"SELECT item, place FROM page_golden_diff($1)", NULL, true, 1},
    [PAGE_NIGHTS] = {"SELECT item, place FROM page_nights($1)", NULL, false, 1},
    [PAGE_NIGHT] = {"SELECT item, place FROM page_night($1)", NULL, true, 1},
    [PAGE_NIGHT_JOBS] = {"SELECT item, place FROM page_night_jobs($1)", "problem", false, 1},
    [PAGE_NIGHT_FINDINGS] = {"SELECT item, place FROM page_night_findings($1)", NULL, false, 1},
    [PAGE_NEWEST_NIGHTS] = {"SELECT item, place FROM page_newest_nights($1)", NULL, true, 1},
    [PAGE_PAST_RATES] = {"SELECT item, place FROM page_past_rates($1)", NULL, true, 1},
    [PAGE_OUTBOX] = {"SELECT item, place FROM page_outbox($1)", NULL, true, 1},
};

/* ---- members that the program writes as text ---- */

static json_t *key_of(const json_t *columns, GError **error)
{
    struct problem problem;
    char key[PROBLEM_KEY_MAX];
    return problem_from_json(columns, &problem, error) ? json_string(problem_key(&problem, key))
                                                       : NULL;
}

static json_t *config_of(const json_t *values, GError **error)
{
    struct perf_config config;
    char text[CONFIG_TEXT_MAX];
    return config_from_json(values, &config, error)
               ? json_from_text(perf_config_format(&config, text))
               : NULL;
}

static json_t *failure_of(const json_t *number, GError **error)
{
    json_int_t failure = json_integer_value(number);
    if (json_is_null(number))
        return json_null();
    if (failure < 0 || failure >= FAILURE_COUNT) {
        store_damaged(error, "there is no failure %" JSON_INTEGER_FORMAT, failure);
        return NULL;
    }
    return json_string(failure_name((enum failure)failure));
}

static const struct {
    int number;
    const char *name;
} night_reasons[] = {
#define X(name, number, text) {number, text},
    NIGHT_REASON_NUMBERS(X)
#undef X
};

static json_t *reason_of(const json_t *number, GError **error)
{
    for (size_t i = 0; i < G_N_ELEMENTS(night_reasons); i++)
        if (night_reasons[i].number == json_integer_value(number))
            return json_string(night_reasons[i].name);
    store_damaged(error, "there is no reason %" JSON_INTEGER_FORMAT, json_integer_value(number));
    return NULL;
}

static json_t *throttle_of(const json_t *bits, GError **error)
{
    json_t *list = json_array();
    g_autofree char *text = conditions_throttle_text((unsigned)json_integer_value(bits));
    g_auto(GStrv) names = g_strsplit(text, ", ", -1);
    (void)error;
    for (char **name = names; *name; name++)
        json_array_append_new(list, json_string(*name));
    return list;
}

/* The command that compiles, loads and runs one config, from empty caches. */
static json_t *replay_of(const json_t *about, GError **error)
{
    g_autoptr(StoreJson) key = key_of(json_object_get(about, "problem"), error);
    g_autoptr(StoreJson) config = key ? config_of(json_object_get(about, "config"), error) : NULL;
    if (!config)
        return NULL;
    g_autoptr(StoreJson) layer =
        json_pack("{s[{sO sO sO si}]}", "layers", "problem", key, "solver",
                  json_object_get(about, "solver"), "config", config, "runs", 1);
    char *text = json_dumps(layer, JSON_COMPACT);
    /* People paste it into a shell, and any login that submits may name a solver. */
    g_autofree char *word = g_shell_quote(text);
    g_autofree char *command =
        g_strdup_printf("echo %s | skipjack worker --eval local --cold /dev/stdin", word);
    free(text);
    return json_from_text(command);
}

/* Why a config did not win. */
static json_t *why_of(const json_t *about, GError **error)
{
    double ratio = json_number_value(json_object_get(about, "ratio"));
    json_int_t failure = json_integer_value(json_object_get(about, "failure"));
    (void)error;
    if (failure != FAILURE_NONE && failure != FAILURE_SLOW)
        return failure_of(json_object_get(about, "failure"), error);
    if (ratio <= 1)
        return json_string(ratio > 0 || failure != FAILURE_SLOW ? ""
                                                                : "dropped early: clearly slower");
    g_autofree char *text =
        g_strdup_printf("%.*f %% slower than the fastest%s", ratio < 1.1 ? 1 : 0, (ratio - 1) * 100,
                        failure == FAILURE_SLOW ? "; dropped early" : "");
    return json_string(text);
}

static const struct {
    const char *from, *to;
    json_t *(*write)(const json_t *value, GError **error);
} texts[] = {
    {"$problem", "problem", key_of},  {"$key", "key", key_of},
    {"$config", "config", config_of}, {"$failure", "failure", failure_of},
    {"$reason", "reason", reason_of}, {"$throttle", "throttle", throttle_of},
    {"$replay", "replay", replay_of}, {"$why", "why", why_of},
};

static bool write_texts(json_t *value, GError **error)
{
    const char *name;
    json_t *member;
    size_t i;
    json_array_foreach (value, i, member)
        if (!write_texts(member, error))
            return false;
    for (i = 0; i < G_N_ELEMENTS(texts); i++) {
        if (!(member = json_object_get(value, texts[i].from)))
            continue;
        json_t *text = texts[i].write(member, error);
        if (!text)
            return false;
        json_object_set_new(value, texts[i].to, text);
        json_object_del(value, texts[i].from);
    }
    json_object_foreach (value, name, member)
        if (!write_texts(member, error))
            return false;
    return true;
}

/* ---- questions ---- */

static bool refuse(GError **error, const char *what, const char *text)
{
    g_set_error(error, STORE_ERROR, STORE_ERROR_REFUSED, "there is no %s '%s'", what, text);
    return false;
}

/* Whether the text can be a cursor of the page: so many numbers, with dots between. */
static bool is_place(enum page page, const char *text)
{
    int numbers = 0;
    g_auto(GStrv) words = g_strsplit(text, ".", -1);
    for (char **word = words; *word; word++, numbers++)
        if (strlen(*word) > PLACE_DIGITS || **word == '\0' ||
            strspn(*word, "0123456789") != strlen(*word))
            return false;
    return numbers == pages[page].numbers;
}

static bool translate_failure(json_t *words, const char *name, GError **error)
{
    enum failure failure;
    if (!failure_parse(name, &failure))
        return refuse(error, "failure named", name);
    json_object_set_new(words, "failure", json_integer((json_int_t)failure));
    return true;
}

static bool translate_reason(json_t *words, const char *name, GError **error)
{
    for (size_t i = 0; i < G_N_ELEMENTS(night_reasons); i++) {
        if (strcmp(night_reasons[i].name, name) == 0) {
            json_object_set_new(words, "reason", json_integer(night_reasons[i].number));
            return true;
        }
    }
    return refuse(error, "reason named", name);
}

static bool parse_key(const char *key, struct problem *problem, GError **error)
{
    g_autoptr(GError) wrong = NULL;
    if (problem_key_parse(key, problem, &wrong))
        return true;
    g_set_error(error, STORE_ERROR, STORE_ERROR_REFUSED, "'%s' is no problem's key: %s", key,
                wrong->message);
    return false;
}

static bool translate_key(json_t *words, const char *key, GError **error)
{
    struct problem problem;
    if (!parse_key(key, &problem, error))
        return false;
    json_object_set_new(words, "problem", problem_to_json(&problem));
    return true;
}

/* The question as SQL gets it: names are numbers there, and a key is a problem's columns. */
static json_t *translate(enum page page, const json_t *asked, GError **error)
{
    static const struct {
        const char *name;
        bool (*translate)(json_t *words, const char *text, GError **error);
    } members[] = {
        {"failure", translate_failure}, {"reason", translate_reason}, {"key", translate_key}};
    const char *after = json_string_value(json_object_get(asked, "after"));
    g_autoptr(StoreJson) words = json_deep_copy(asked);
    if (after && !is_place(page, after)) {
        refuse(error, "page behind", after);
        return NULL;
    }
    for (size_t i = 0; i < G_N_ELEMENTS(members); i++) {
        const char *text = json_string_value(json_object_get(asked, members[i].name));
        if (text && !members[i].translate(words, text, error))
            return NULL;
    }
    return g_steal_pointer(&words);
}

bool store_find_problem(Store *store, const char *key, int64_t *id, GError **error)
{
    struct problem problem;
    if (!parse_key(key, &problem, error))
        return false;
    g_autoptr(StoreJson) columns = problem_to_json(&problem);
    g_autoptr(StoreRows) rows = store_read(store, error, "SELECT problem_id_of($1)", "j", columns);
    if (!rows)
        return false;
    if (PQgetisnull(rows, 0, 0)) {
        g_set_error(error, STORE_ERROR, STORE_ERROR_NOT_FOUND, "problem '%s' was never imported",
                    key);
        return false;
    }
    *id = g_ascii_strtoll(PQgetvalue(rows, 0, 0), NULL, 10);
    return true;
}

/* ---- pages ---- */

static bool has_text(const json_t *item, const char *member, const char *wanted)
{
    const char *text = json_string_value(json_object_get(item, member));
    return !wanted || (text && strstr(text, wanted));
}

/* Adds the rows that match to the list, up to the limit. *place is that of the last row that was looked at. Returns
 * the number of rows looked at, -1 with an error. */
static int add_rows(const StoreRows *rows, const char *member, const char *wanted, size_t limit,
                    json_t *list, char **place, GError **error)
{
    int i = 0;
    for (; i < PQntuples(rows) && json_array_size(list) < limit; i++) {
        g_autoptr(StoreJson) item = store_row_json(rows, i);
        if (!write_texts(item, error))
            return -1;
        g_free(*place);
        *place = g_strdup(PQgetvalue(rows, i, 1));
        if (has_text(item, member, wanted))
            json_array_append(list, item);
    }
    return i;
}

/* Makes {"PLACE": item, ...} of the rows. */
static json_t *by_place(const StoreRows *rows, GError **error)
{
    g_autoptr(StoreJson) object = json_object();
    for (int i = 0; i < PQntuples(rows); i++) {
        g_autoptr(StoreJson) item = store_row_json(rows, i);
        if (!write_texts(item, error))
            return NULL;
        json_object_set(object, PQgetvalue(rows, i, 1), item);
    }
    return g_steal_pointer(&object);
}

static json_t *read_whole(Store *store, enum page page, json_t *words, GError **error)
{
    g_autofree char *place = NULL;
    g_autoptr(StoreJson) list = json_array();
    g_autoptr(StoreRows) rows = store_read(store, error, pages[page].sql, "j", words);
    if (!rows)
        return NULL;
    if (page == PAGE_CONDITIONS || page == PAGE_OPEN_CAMPAIGNS)
        return by_place(rows, error);
    if (add_rows(rows, NULL, NULL, SIZE_MAX, list, &place, error) < 0)
        return NULL;
    return g_steal_pointer(&list);
}

json_t *store_page(Store *store, enum page page, const json_t *asked, char **next, GError **error)
{
    g_autoptr(StoreJson) words = translate(page, asked, error);
    g_autoptr(StoreJson) list = json_array();
    g_autofree char *place = NULL;
    json_int_t limit = json_integer_value(json_object_get(asked, "limit"));
    const char *wanted =
        pages[page].key ? json_string_value(json_object_get(asked, "search")) : NULL;
    bool more = true;
    if (next)
        *next = NULL;
    if (!words)
        return NULL;
    if (pages[page].whole)
        return read_whole(store, page, words, error);
    if (limit <= 0)
        limit = LIMIT_DEFAULT;
    /* One row more tells whether there is another page. */
    json_int_t at_once = wanted ? SEARCH_ROWS : limit + 1;
    json_object_set_new(words, "limit", json_integer(at_once));
    for (int looked = 0;
         more && looked < SEARCH_MOST && (json_int_t)json_array_size(list) < limit;) {
        if (place)
            json_object_set_new(words, "after", json_string(place));
        g_autoptr(StoreRows) rows = store_read(store, error, pages[page].sql, "j", words);
        int seen =
            rows ? add_rows(rows, pages[page].key, wanted, (size_t)limit, list, &place, error) : -1;
        if (seen < 0)
            return NULL;
        looked += seen;
        more = seen < PQntuples(rows) || PQntuples(rows) == at_once;
    }
    if (next && more)
        *next = g_steal_pointer(&place);
    return g_steal_pointer(&list);
}
