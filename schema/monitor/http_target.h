/*
 * The target of a request: its path and query (RFC 3986, RFC 9112
 * section 3.2.1), and the Range header (RFC 9110 section 14.1.2). Bytes come from
 * anybody: everything that is not plainly well-formed is refused.
 */
#ifndef SCHEMA_MONITOR_HTTP_TARGET_H
#define SCHEMA_MONITOR_HTTP_TARGET_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#define HTTP_TARGET_BYTES    4096 /* longest target */
#define HTTP_SEGMENTS_MOST   16
#define HTTP_PARAMETERS_MOST 32

struct http_parameter {
    char *name, *value;
};

/* A target in parts, all decoded: UTF-8 without control characters. */
struct http_target {
    char *segments[HTTP_SEGMENTS_MOST]; /* "/a/b": "a", "b"; "/": none. A last "" for "/a/" */
    int segment_count;
    struct http_parameter parameters[HTTP_PARAMETERS_MOST]; /* in their order; no name twice */
    int parameter_count;
};

/* Parses "/a/b?x=1&y=%20". Returns NULL and fills the target, or returns why the target is refused (static); the
 * target is then empty. */
const char *http_target_parse(const char *text, struct http_target *target);
void http_target_clear(struct http_target *target);
/* The value of a query parameter, NULL if it is not there. */
const char *http_target_value(const struct http_target *target, const char *name);

/* Whether the path is one of the pattern: "/jobs/{id}/log" has three segments, and {id} matches any
 * segment that is not empty. */
bool http_target_matches(const struct http_target *target, const char *pattern);
/* The path's segment in the place of {name} in the pattern, which matches. NULL if the pattern has no such name. */
const char *http_target_named(const struct http_target *target, const char *pattern,
                              const char *name);

/* The part of a body of `length` bytes that a Range header asks for. */
enum http_range {
    HTTP_RANGE_ALL,  /* no header, or one that is to be ignored: another unit, or several ranges */
    HTTP_RANGE_PART, /* *first to *last, both included */
    HTTP_RANGE_NONE, /* none of the body's bytes: status 416 */
};
enum http_range http_range_parse(const char *header, uint64_t length, uint64_t *first,
                                 uint64_t *last);

/* Whether a Host header is an IP address, localhost or a name below it, or one of the names (NULL-terminated), each with
 * any port. A page of another site whose DNS name an attacker has pointed at this server (DNS rebinding) sends that name:
 * a browser would let the page read the answers, since the name is the page's own. An address cannot be pointed. */
bool http_host_fits(const char *header, const char *const *names);

/* Whether an If-None-Match header names the entity tag, given with its quotes. */
bool http_etag_matches(const char *header, const char *etag);

#endif
