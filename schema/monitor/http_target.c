/* Targets of requests, ranges and entity tags. */
#include "schema/monitor/http_target.h"

#include <string.h>

/* ---- targets ---- */

/* Decodes `length` bytes with %XX, and + as a space where is_query. NULL if they are not well-formed. */
static char *decode(const char *text, size_t length, bool is_query)
{
    g_autoptr(GString) out = g_string_sized_new(length);
    for (size_t i = 0; i < length; i++) {
        unsigned char byte = (unsigned char)text[i];
        if (byte == '%') {
            if (i + 2 >= length || !g_ascii_isxdigit(text[i + 1]) || !g_ascii_isxdigit(text[i + 2]))
                return NULL;
            byte = (unsigned char)(g_ascii_xdigit_value(text[i + 1]) * 16 +
                                   g_ascii_xdigit_value(text[i + 2]));
            i += 2;
        } else if (byte == '+' && is_query) {
            byte = ' ';
        }
        if (byte < 0x20 || byte == 0x7f)
            return NULL;
        g_string_append_c(out, (char)byte);
    }
    if (!g_utf8_validate(out->str, (gssize)out->len, NULL))
        return NULL;
    return g_string_free(g_steal_pointer(&out), FALSE);
}

static const char *parse_path(const char *text, size_t length, struct http_target *target)
{
    size_t at = 1; /* behind the first slash */
    if (length == 0 || text[0] != '/')
        return "the target does not begin with a slash";
    while (at < length || (length > 1 && at == length && text[length - 1] == '/')) {
        const char *slash = at < length ? memchr(text + at, '/', length - at) : NULL;
        size_t end = slash ? (size_t)(slash - text) : length;
        if (target->segment_count == HTTP_SEGMENTS_MOST)
            return "the path has too many parts";
        char *segment = decode(text + at, end - at, false);
        if (!segment)
            return "the path is not well-formed UTF-8 in %XX form";
        target->segments[target->segment_count++] = segment;
        if (strcmp(segment, ".") == 0 || strcmp(segment, "..") == 0)
            return "the path goes to another folder";
        at = end + 1;
        if (!slash)
            break;
    }
    return NULL;
}

static const char *parse_parameter(const char *text, size_t length, struct http_target *target)
{
    const char *equals = memchr(text, '=', length);
    size_t name_length = equals ? (size_t)(equals - text) : length;
    if (length == 0)
        return NULL;
    if (target->parameter_count == HTTP_PARAMETERS_MOST)
        return "the query has too many parameters";
    char *name = decode(text, name_length, true);
    char *value = equals ? decode(equals + 1, length - name_length - 1, true) : g_strdup("");
    if (!name || !value || http_target_value(target, name)) {
        bool twice = name && value;
        g_free(name);
        g_free(value);
        return twice ? "the query names a parameter twice"
                     : "the query is not well-formed UTF-8 in %XX form";
    }
    target->parameters[target->parameter_count++] = (struct http_parameter){name, value};
    return NULL;
}

const char *http_target_parse(const char *text, struct http_target *target)
{
    size_t length = strlen(text);
    const char *query = strchr(text, '?');
    size_t path_length = query ? (size_t)(query - text) : length;
    *target = (struct http_target){0};
    if (length > HTTP_TARGET_BYTES)
        return "the target is too long";
    const char *wrong = parse_path(text, path_length, target);
    for (const char *at = query ? query + 1 : NULL; at && !wrong;) {
        size_t part = strcspn(at, "&");
        wrong = parse_parameter(at, part, target);
        at = at[part] == '&' ? at + part + 1 : NULL;
    }
    if (wrong)
        http_target_clear(target);
    return wrong;
}

void http_target_clear(struct http_target *target)
{
    for (int i = 0; i < target->segment_count; i++)
        g_free(target->segments[i]);
    for (int i = 0; i < target->parameter_count; i++) {
        g_free(target->parameters[i].name);
        g_free(target->parameters[i].value);
    }
    *target = (struct http_target){0};
}

const char *http_target_value(const struct http_target *target, const char *name)
{
    for (int i = 0; i < target->parameter_count; i++)
        if (strcmp(target->parameters[i].name, name) == 0)
            return target->parameters[i].value;
    return NULL;
}

/* ---- patterns ---- */

/* Moves *at behind the next segment of the pattern; false behind the last one. */
static bool next_segment(const char **at, const char **segment, size_t *length)
{
    if (**at != '/' || strcmp(*at, "/") == 0)
        return false;
    *segment = *at + 1;
    *length = strcspn(*segment, "/");
    *at = *segment + *length;
    return true;
}

static bool is_name(const char *segment, size_t length)
{
    return length > 2 && segment[0] == '{' && segment[length - 1] == '}';
}

bool http_target_matches(const struct http_target *target, const char *pattern)
{
    const char *segment;
    size_t length;
    int i = 0;
    for (; next_segment(&pattern, &segment, &length); i++) {
        if (i == target->segment_count)
            return false;
        const char *own = target->segments[i];
        if (is_name(segment, length) ? *own == '\0'
                                     : strlen(own) != length || memcmp(own, segment, length) != 0)
            return false;
    }
    return i == target->segment_count;
}

const char *http_target_named(const struct http_target *target, const char *pattern,
                              const char *name)
{
    const char *segment;
    size_t length;
    for (int i = 0; next_segment(&pattern, &segment, &length) && i < target->segment_count; i++)
        if (is_name(segment, length) && strlen(name) == length - 2 &&
            memcmp(segment + 1, name, length - 2) == 0)
            return target->segments[i];
    return NULL;
}

/* ---- headers ---- */

/* Reads digits, at most 18 of them; false without any. */
static bool take_number(const char **at, uint64_t *number)
{
    const char *begin = *at;
    *number = 0;
    for (; g_ascii_isdigit(**at) && *at - begin < 18; (*at)++)
        *number = *number * 10 + (uint64_t)(**at - '0');
    return *at > begin && !g_ascii_isdigit(**at);
}

enum http_range http_range_parse(const char *header, uint64_t length, uint64_t *first,
                                 uint64_t *last)
{
    if (!header || !g_str_has_prefix(header, "bytes=") || strchr(header, ','))
        return HTTP_RANGE_ALL;
    const char *at = header + strlen("bytes=");
    uint64_t from = 0, to = 0;
    bool has_from = take_number(&at, &from);
    if ((!has_from && *at != '-') || *at++ != '-')
        return HTTP_RANGE_ALL;
    bool has_to = take_number(&at, &to);
    if (*at != '\0' || (!has_from && !has_to) || (has_from && has_to && to < from))
        return HTTP_RANGE_ALL;
    if (length == 0 || (has_from ? from >= length : to == 0))
        return HTTP_RANGE_NONE;
    if (!has_from) { /* the last `to` bytes */
        *first = to >= length ? 0 : length - to;
        *last = length - 1;
    } else {
        *first = from;
        *last = has_to && to < length ? to : length - 1;
    }
    return HTTP_RANGE_PART;
}

/* The host of "name:80", "10.0.0.1" or "[::1]:80" in small letters, without brackets and a last dot. NULL if the header
 * is not well-formed. */
static char *host_of(const char *header)
{
    bool six = *header == '[';
    const char *begin = header + six;
    size_t length = strcspn(begin, six ? "]" : ":");
    const char *rest = begin + length;
    if (length == 0 || (six && *rest++ != ']'))
        return NULL;
    if (*rest == ':')
        rest += 1 + strspn(rest + 1, "0123456789");
    if (*rest != '\0')
        return NULL;
    char *host = g_ascii_strdown(begin, (gssize)length);
    if (!six && length > 1 && host[length - 1] == '.')
        host[length - 1] = '\0';
    return host;
}

bool http_host_fits(const char *header, const char *const *names)
{
    g_autofree char *host = host_of(header);
    if (!host)
        return false;
    if (g_hostname_is_ip_address(host) || strcmp(host, "localhost") == 0 ||
        g_str_has_suffix(host, ".localhost"))
        return true;
    for (; *names; names++)
        if (g_ascii_strcasecmp(host, *names) == 0)
            return true;
    return false;
}

bool http_etag_matches(const char *header, const char *etag)
{
    size_t length = strlen(etag);
    if (!header)
        return false;
    for (const char *at = header; *at != '\0';) {
        at += strspn(at, " \t,");
        if (*at == '*')
            return true;
        if (g_str_has_prefix(at, "W/"))
            at += 2;
        if (strncmp(at, etag, length) == 0 && strchr(" \t,", at[length]))
            return true;
        at += strcspn(at, ",");
    }
    return false;
}
