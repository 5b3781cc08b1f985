/* The state of regressions.h as JSON. Tables of members do both directions, so that none can be forgotten. */
#include "coordinator/nights/judge/regressions.h"

#include "coordinator/cli/cli.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#define FORM_VERSION 1

enum member_kind {
    MEMBER_TEXT,
    MEMBER_INT,
    MEMBER_INT64,
    MEMBER_UNSIGNED,
    MEMBER_DOUBLE,
    MEMBER_BOOL
};
struct member {
    const char *name;
    size_t offset;
    enum member_kind kind;
};
#define TEXT(type, field)                                                                          \
    {                                                                                              \
#field, offsetof(struct type, field), MEMBER_TEXT                                          \
    }
#define INT(type, field)                                                                           \
    {                                                                                              \
#field, offsetof(struct type, field), MEMBER_INT                                           \
    }
#define INT64(type, field)                                                                         \
    {                                                                                              \
#field, offsetof(struct type, field), MEMBER_INT64                                         \
    }
#define UNSIGNED(type, field)                                                                      \
    {                                                                                              \
#field, offsetof(struct type, field), MEMBER_UNSIGNED                                      \
    }
#define DOUBLE(type, field)                                                                        \
    {                                                                                              \
#field, offsetof(struct type, field), MEMBER_DOUBLE                                        \
    }
#define BOOL(type, field)                                                                          \
    {                                                                                              \
#field, offsetof(struct type, field), MEMBER_BOOL                                          \
    }

/* "failure" is a name in JSON, and stands apart. */
static const struct member point_members[] = {
    TEXT(regression_point, night),        INT64(regression_point, campaign),
    TEXT(regression_point, solver),       TEXT(regression_point, config),
    INT(regression_point, revision),      TEXT(regression_point, hash),
    TEXT(regression_point, stack),        TEXT(regression_point, node),
    TEXT(regression_point, detail),       INT(regression_point, n),
    DOUBLE(regression_point, median_ms),  DOUBLE(regression_point, spread),
    DOUBLE(regression_point, drift),      INT(regression_point, sm_mhz),
    INT(regression_point, temperature_c), UNSIGNED(regression_point, throttle),
};
static const struct member finding_members[] = {
    INT64(regression_finding, problem_id),  TEXT(regression_finding, key),
    TEXT(regression_finding, solver),       DOUBLE(regression_finding, percent),
    DOUBLE(regression_finding, low),        DOUBLE(regression_finding, high),
    DOUBLE(regression_finding, p),          DOUBLE(regression_finding, q),
    DOUBLE(regression_finding, then_ms),    INT(regression_finding, then_nights),
    DOUBLE(regression_finding, then_error), DOUBLE(regression_finding, now_error),
    DOUBLE(regression_finding, weight),
};
static const struct member effect_members[] = {
    TEXT(regression_network_effect, network), DOUBLE(regression_network_effect, runs),
    DOUBLE(regression_network_effect, ms),    DOUBLE(regression_network_effect, percent),
    BOOL(regression_network_effect, lost),
};
static const struct member node_members[] = {
    TEXT(regression_node, node),
    DOUBLE(regression_node, percent),
    INT(regression_node, results),
    BOOL(regression_node, is_slow),
};
static const struct member noise_members[] = {
    DOUBLE(regression_noise, night_error), INT(regression_noise, pairs),
    INT(regression_noise, farm_nights),    DOUBLE(regression_noise, scale),
    DOUBLE(regression_noise, freedom),
};
static const struct member limit_members[] = {
    DOUBLE(regression_limits, percent),
    DOUBLE(regression_limits, alpha),
    INT(regression_limits, most),
    INT(regression_limits, nodes),
};

/* ---- writing ---- */

static json_t *text_json(const char *text)
{
    if (text == NULL || *text == '\0')
        return json_null();
    g_autofree char *valid = g_utf8_make_valid(text, -1);
    return json_string(valid);
}

static json_t *member_json(const struct member *member, const void *object)
{
    const void *place = (const char *)object + member->offset;
    switch (member->kind) {
    case MEMBER_TEXT: return text_json(*(char *const *)place);
    case MEMBER_INT: return json_integer(*(const int *)place);
    case MEMBER_INT64: return json_integer(*(const int64_t *)place);
    case MEMBER_UNSIGNED: return json_integer(*(const unsigned *)place);
    case MEMBER_DOUBLE:
        return isfinite(*(const double *)place) ? json_real(*(const double *)place) : json_null();
    case MEMBER_BOOL: return json_boolean(*(const bool *)place);
    }
    g_assert_not_reached();
}

static json_t *members_json(const struct member *members, size_t count, const void *object)
{
    json_t *json = json_object();
    for (size_t i = 0; i < count; i++)
        json_object_set_new(json, members[i].name, member_json(&members[i], object));
    return json;
}
#define OBJECT_JSON(members, object) members_json(members, G_N_ELEMENTS(members), object)

static json_t *point_json(const struct regression_point *point)
{
    json_t *json = OBJECT_JSON(point_members, point);
    json_object_set_new(json, "failure",
                        point->failure != FAILURE_NONE ? json_string(failure_name(point->failure))
                                                       : json_null());
    return json;
}

static json_t *finding_json(const struct regression_finding *finding)
{
    json_t *json = OBJECT_JSON(finding_members, finding);
    json_t *again = json_array(), *networks = json_array(), *causes = json_array();
    json_object_set_new(json, "against", json_string(regression_against_name(finding->against)));
    json_object_set_new(json, "scope",
                        json_string(finding->scope == REGRESSION_ENTRY ? "entry" : "winner"));
    json_object_set_new(json, "kind", json_string(regression_kind_name(finding->kind)));
    json_object_set_new(json, "state", json_string(regression_state_name(finding->state)));
    json_object_set_new(json, "now", point_json(&finding->now));
    json_object_set_new(json, "then", point_json(&finding->then));
    for (guint i = 0; i < finding->again->len; i++)
        json_array_append_new(
            again, point_json(&g_array_index(finding->again, struct regression_point, i)));
    for (guint i = 0; i < finding->networks->len; i++)
        json_array_append_new(
            networks,
            OBJECT_JSON(effect_members,
                        &g_array_index(finding->networks, struct regression_network_effect, i)));
    for (guint i = 0; i < finding->causes->len; i++) {
        const struct regression_cause_found *found =
            &g_array_index(finding->causes, struct regression_cause_found, i);
        json_array_append_new(causes,
                              json_pack("{ss so}", "cause", regression_cause_name(found->cause),
                                        "evidence", text_json(found->evidence)));
    }
    json_object_set_new(json, "again", again);
    json_object_set_new(json, "networks", networks);
    json_object_set_new(json, "causes", causes);
    return json;
}

json_t *regressions_to_json(const Regressions *r)
{
    json_t *findings = json_array(), *nodes = json_array();
    for (guint i = 0; i < r->findings->len; i++)
        json_array_append_new(findings, finding_json(g_ptr_array_index(r->findings, i)));
    for (guint i = 0; i < r->nodes->len; i++)
        json_array_append_new(nodes, OBJECT_JSON(node_members, g_ptr_array_index(r->nodes, i)));
    return json_pack(
        "{si so si so so si si sb so so}", "version", FORM_VERSION, "target", text_json(r->target),
        "golden", r->golden, "limits", OBJECT_JSON(limit_members, &r->limits), "noise",
        OBJECT_JSON(noise_members, &r->noise), "tests", r->tests, "entries", r->entries,
        "judged_again", r->judged_again, "nodes", nodes, "findings", findings);
}

/* ---- reading ---- */

static void read_member(const struct member *member, const json_t *json, void *object)
{
    void *place = (char *)object + member->offset;
    const json_t *value = json_object_get(json, member->name);
    switch (member->kind) {
    case MEMBER_TEXT:
        *(char **)place = g_strdup(json_is_string(value) ? json_string_value(value) : "");
        return;
    case MEMBER_INT:
        *(int *)place = (int)CLAMP(json_integer_value(value), G_MININT, G_MAXINT);
        return;
    case MEMBER_INT64: *(int64_t *)place = json_integer_value(value); return;
    case MEMBER_UNSIGNED:
        *(unsigned *)place = (unsigned)CLAMP(json_integer_value(value), 0, G_MAXINT);
        return;
    case MEMBER_DOUBLE: *(double *)place = json_number_value(value); return;
    case MEMBER_BOOL: *(bool *)place = json_is_true(value); return;
    }
}

static void read_members(const struct member *members, size_t count, const json_t *json,
                         void *object)
{
    for (size_t i = 0; i < count; i++)
        read_member(&members[i], json, object);
}
#define READ_OBJECT(members, json, object)                                                         \
    read_members(members, G_N_ELEMENTS(members), json, object)

static bool bad(GError **error, const char *what)
{
    g_set_error(error, COORDINATOR_ERROR, COORDINATOR_ERROR_EMPTY,
                "the stored regressions of the night cannot be read: %s", what);
    return false;
}

/* Reads a word that `name` writes; the number of the first unknown one is `count`. */
static int word_of(const json_t *json, const char *member, const char *(*name)(int), int count)
{
    const char *word = json_string_value(json_object_get(json, member));
    int number = 0;
    while (number < count && g_strcmp0(name(number), word) != 0)
        number++;
    return number;
}

static const char *against_word(int number)
{
    return regression_against_name((enum regression_against)number);
}
static const char *scope_word(int number)
{
    return number == REGRESSION_ENTRY ? "entry" : "winner";
}
static const char *kind_word(int number)
{
    return regression_kind_name((enum regression_kind)number);
}
static const char *state_word(int number)
{
    return regression_state_name((enum regression_state)number);
}

static bool read_point(const json_t *json, struct regression_point *point, GError **error)
{
    const json_t *failure = json_object_get(json, "failure");
    READ_OBJECT(point_members, json, point);
    if (json_is_string(failure) && !failure_parse(json_string_value(failure), &point->failure))
        return bad(error, "a point has an unknown failure");
    return true;
}

static bool read_lists(const json_t *json, struct regression_finding *finding, GError **error)
{
    size_t i;
    json_t *item;
    json_array_foreach (json_object_get(json, "again"), i, item) {
        struct regression_point point = {0};
        bool sound = read_point(item, &point, error);
        g_array_append_val(finding->again, point);
        if (!sound)
            return false;
    }
    json_array_foreach (json_object_get(json, "networks"), i, item) {
        struct regression_network_effect effect = {0};
        READ_OBJECT(effect_members, item, &effect);
        g_array_append_val(finding->networks, effect);
    }
    json_array_foreach (json_object_get(json, "causes"), i, item) {
        struct regression_cause_found found = {0};
        if (!regression_cause_parse(json_string_value(json_object_get(item, "cause")),
                                    &found.cause))
            return bad(error, "a cause has an unknown name");
        found.evidence = g_strdup(json_string_value(json_object_get(item, "evidence")));
        g_array_append_val(finding->causes, found);
    }
    return true;
}

static bool read_finding(const json_t *json, Regressions *r, GError **error)
{
    struct regression_finding *finding = regressions_add_finding(r);
    int against = word_of(json, "against", against_word, REGRESSION_AGAINST_COUNT);
    int scope = word_of(json, "scope", scope_word, 2), kind = word_of(json, "kind", kind_word, 3);
    int state = word_of(json, "state", state_word, REGRESSION_STATE_COUNT);
    READ_OBJECT(finding_members, json, finding);
    if (against == REGRESSION_AGAINST_COUNT || scope == 2 || kind == 3 ||
        state == REGRESSION_STATE_COUNT)
        return bad(error, "a finding has an unknown word");
    finding->against = (enum regression_against)against;
    finding->scope = (enum regression_scope)scope;
    finding->kind = (enum regression_kind)kind;
    finding->state = (enum regression_state)state;
    return read_point(json_object_get(json, "now"), &finding->now, error) &&
           read_point(json_object_get(json, "then"), &finding->then, error) &&
           read_lists(json, finding, error);
}

Regressions *regressions_from_json(const json_t *json, GError **error)
{
    size_t i;
    json_t *item;
    if (json_integer_value(json_object_get(json, "version")) != FORM_VERSION) {
        bad(error, "they are of another version of this program; begin the night anew");
        return NULL;
    }
    g_autoptr(Regressions) r = regressions_new(json_string_value(json_object_get(json, "target")));
    r->golden = (int)json_integer_value(json_object_get(json, "golden"));
    r->tests = (int)json_integer_value(json_object_get(json, "tests"));
    r->entries = (int)json_integer_value(json_object_get(json, "entries"));
    r->judged_again = json_is_true(json_object_get(json, "judged_again"));
    READ_OBJECT(limit_members, json_object_get(json, "limits"), &r->limits);
    READ_OBJECT(noise_members, json_object_get(json, "noise"), &r->noise);
    json_array_foreach (json_object_get(json, "nodes"), i, item) {
        struct regression_node *node = g_new0(struct regression_node, 1);
        READ_OBJECT(node_members, item, node);
        g_ptr_array_add(r->nodes, node);
    }
    json_array_foreach (json_object_get(json, "findings"), i, item)
        if (!read_finding(item, r, error))
            return NULL;
    return g_steal_pointer(&r);
}
