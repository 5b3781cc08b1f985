/*
 * Lists of problems behind http and https, with a cache of the last answers.
 *
 * A copy is one file, replaced as a whole: a line of JSON (url, etag, modified, sha256, fetched) and the bytes behind
 * it. A damaged copy is ignored. The server is asked whether the copy still holds (If-None-Match, If-Modified-Since); a
 * description that names the content's checksum needs no server once the copy has it.
 */
#ifndef COORDINATOR_NIGHTS_FILE_NIGHT_FETCH_H
#define COORDINATOR_NIGHTS_FILE_NIGHT_FETCH_H

#include <glib.h>
#include <stdbool.h>

struct fetch_wish {
    const char *url;
    const char *sha256; /* the content's checksum in hex, any case; NULL for any content */
    gint64 bytes_most, seconds_most;
    int attempts; /* how often a failure that may pass is tried; pauses double from pause_ms */
    int pause_ms;
};

struct fetched {
    GBytes *bytes;
    bool from_cache;     /* the copy was used: the server said that it holds, or was not asked */
    bool stale;          /* the copy was used since the server gave nothing usable */
    char *detail;        /* stale: why, and how old the copy is */
    gint64 fetched_unix; /* when the server sent the bytes */
};
void fetched_clear(struct fetched *fetched);

/* Fetches the URL, or takes the copy in the folder where the server gives nothing usable. The folder is made when
 * missing; NULL, or a folder that cannot be written, means no cache. Returns false where there is neither an answer
 * nor a copy (COORDINATOR_ERROR_PROCESS), and where the content has another checksum than the wish
 * (COORDINATOR_ERROR_USAGE). */
bool night_fetch(const char *folder, const struct fetch_wish *wish, struct fetched *fetched,
                 GError **error);

/* The cache's folder: nights/sources in the home (embedded.h). Free with g_free(). */
char *night_fetch_folder(GError **error);

#endif
