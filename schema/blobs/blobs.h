/*
 * Where code objects are: in the database, or in a store outside it. The place
 * for new ones is a setting in the database, so all nodes agree; each kernel's
 * row says where its own are, so both places are read while they are moved.
 *
 * A place is a URL: "database", or one of those that README.md lists. Objects
 * have names that are given out once. An upload is announced in the database
 * before it begins and ends with its kernel's row; what is never finished, and
 * what no kernel names any more, is removed by a sweep.
 */
#ifndef SCHEMA_BLOBS_BLOBS_H
#define SCHEMA_BLOBS_BLOBS_H

#include "schema/store/store.h"

#define BLOBS_IN_DATABASE "database"

struct blob_place {
    char *url;
    bool current;           /* new code objects go there */
    int64_t objects, bytes; /* of kernels */
    int64_t loose; /* objects without a kernel: uploads under way, and what a sweep removes */
};
/* GPtrArray of struct blob_place *: the database, and each place that ever was current. */
GPtrArray *store_list_blob_places(Store *store, GError **error);

/* New code objects go there from now on, whoever stores them. Tries first whether this node may use it;
 * then nothing changes where it may not. */
bool store_use_blob_place(Store *store, const char *url, GError **error);

/* One of several that move, each with a store and a share of its own. */
struct blob_move {
    int share, shares; /* 0 to shares - 1 */
    bool check;        /* only reads and verifies, all code objects that are outside the database */
    bool drop_damaged; /* code that cannot be read is forgotten: its kernel is as if collected */
    const volatile gint *stop;        /* ends between two objects when it is not 0 */
    volatile gint *moved, *kilobytes; /* counted up; may be read meanwhile */
    GPtrArray
        *damaged; /* gets a message for each kernel whose code cannot be read (char *, g_free) */
};
/* Moves the code objects of its share that are elsewhere to the current place: read and verified, put,
 * read back, and only then is the kernel's row changed. May be ended at any point and called again. */
bool store_move_blobs(Store *store, const struct blob_move *move, GError **error);
/* Rounds that wait for their evaluation and whose code was forgotten are built again. *jobs counts. */
bool store_rebuild_rounds(Store *store, int *jobs, GError **error);

/* Removes objects without a kernel, those of uploads after a day alone. *removed counts; on failure it
 * may be called again. */
bool store_sweep_blobs(Store *store, int *removed, GError **error);

/* ---- for the store's own files ---- */

/* Where a code object is. */
struct blob_ref {
    char *url;  /* NULL: nowhere */
    char *name; /* NULL: in its kernel's row */
    int place;
    int64_t bytes;
    char *sha256;
};
void blob_ref_clear(struct blob_ref *ref);
typedef struct blob_ref BlobRef;
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(BlobRef, blob_ref_clear)

/* Announces an object with these bytes and puts it to the current place; where that is the database ref
 * says so and nothing is put. */
bool blob_upload(Store *store, GBytes *code, struct blob_ref *ref, GError **error);
/* A kernel's code from where `ref` says. NOT_FOUND where it is not there (any more), DAMAGED where its
 * bytes are others. */
GBytes *blob_download(Store *store, const char *key, const struct blob_ref *ref, GError **error);

#endif
