/*
 * The problems of a night: networks, tags, files and URLs of its description, read and merged.
 *
 * A URL's last answer is kept in a cache with its ETag, under SKIPJACK_HOME/nights/sources. The server is asked
 * whether that copy still holds; a night that reaches no server uses it and says so.
 */
#ifndef COORDINATOR_NIGHTS_FILE_NIGHT_SOURCES_H
#define COORDINATOR_NIGHTS_FILE_NIGHT_SOURCES_H

#include "coordinator/nights/file/night_file.h"
#include "coordinator/plan/plan.h"
#include "schema/store/store.h"

/* A source that has the problem. */
struct night_use {
    const char *network; /* "resnet50-v1.5@2", or the name of the list; of the source's state */
    int multiplicity;    /* layers of the source with the problem */
    double runs;         /* of the source */
};

/* A problem of the night. */
struct night_problem {
    struct problem problem;
    int multiplicity; /* layers, summed over all sources */
    double weight;    /* layers x runs of their source, summed over all sources */
    GArray *uses;     /* struct night_use, one for each source that has it */
};

/* The outcome of reading one source. */
struct night_source_state {
    const struct night_source *source;
    char *name;    /* "network resnet50-v1.5@2", "https://..." */
    char *network; /* name of what it holds, for lists: "resnet50-v1.5@2", or the list's own name */
    int problems;  /* distinct problems of this source */
    bool stale;    /* the server did not answer: the last copy was used */
    char *detail;  /* why the copy is stale, or NULL */
};

struct night_sources {
    GArray *problems;    /* struct night_problem, in the order they were first seen */
    GArray *states;      /* struct night_source_state, one for each source */
    GPtrArray *networks; /* char *: "NAME@NUMBER" of networks that were read, for the campaign */
};

/* Reads all sources. A relative network name means its newest version. Returns NULL where a source cannot be read:
 * the message names its field ("problems[2]"). Free with night_sources_free(). */
struct night_sources *night_sources_read(Store *store, const struct night_file *night,
                                         GError **error);
void night_sources_free(struct night_sources *sources);

/* Leaves this problem alone, and returns true, if the night has it. Else adds it as a single layer and returns false:
 * questions about any problem can be asked. */
bool night_sources_keep_only(struct night_sources *sources, const struct problem *problem);

#endif
