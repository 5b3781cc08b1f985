/*
 * Where code objects are stored: in the database, or in a store outside. The
 * place for new ones is a setting in the database, so all nodes agree. Each
 * kernel's row names the place of its own code: while objects are moved, both
 * places are read.
 *
 * A place is a URL: "database", or one of blob_store.h. Each upload gets a new
 * name, announces it in the database first, and ends by writing the kernel's
 * row. A sweep removes uploads that never ended, and objects that no kernel
 * names any more.
 */
#ifndef SCHEMA_BLOBS_BLOBS_H
#define SCHEMA_BLOBS_BLOBS_H

#include "schema/store/store.h"

#define BLOBS_IN_DATABASE "database"

struct blob_place {
    char *url;
    bool current;           /* whether this is the place of new code objects */
    int64_t objects, bytes; /* how many code objects of kernels are there, and their bytes */
    /* Objects that no kernel names: uploads under way, and objects that the next sweep removes. */
    int64_t loose;
};
/* GPtrArray of struct blob_place *: the database, and each place that was ever current. */
GPtrArray *store_list_blob_places(Store *store, GError **error);

/* Makes the URL the place of new code objects, for all nodes. First tries whether this node may use it; if
 * not, nothing changes. */
bool store_use_blob_place(Store *store, const char *url, GError **error);

/* The settings of a move. Several movers may work at once, each with its own store and its own
 * share of the objects. */
struct blob_move {
    int share, shares; /* 0 to shares - 1 */
    bool check;        /* move nothing: read and verify all code objects outside the database */
    /* Treat code that cannot be read as dropped, as if upkeep had collected it. */
    bool drop_damaged;
    const volatile gint *stop;        /* a value other than 0 ends the move between two objects */
    volatile gint *moved, *kilobytes; /* counters, which other threads may read */
    /* gets a message (char *, g_free) for each kernel whose code cannot be read */
    GPtrArray *damaged;
};
/* Moves the share's code objects to the current place. Each is read, verified, put, and read back before
 * its kernel's row is changed. May be ended at any point and called again. */
bool store_move_blobs(Store *store, const struct blob_move *move, GError **error);
/* Returns jobs to building whose built round has lost its code. *jobs counts them. */
bool store_rebuild_rounds(Store *store, int *jobs, GError **error);

/* Removes objects that no kernel names; those of an upload only when it is a day old. *removed
 * counts them. After a failure it may be called again. */
bool store_sweep_blobs(Store *store, int *removed, GError **error);

/* ---- for the store's own files ---- */

/* The place of a code object. */
struct blob_ref {
    char *url;  /* NULL: no code */
    char *name; /* name of the object in its store; NULL: the code is in the kernel's row */
    int place;
    int64_t bytes;
    char *sha256;
};
void blob_ref_clear(struct blob_ref *ref);
typedef struct blob_ref BlobRef;
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(BlobRef, blob_ref_clear)

/* Announces an object with these bytes, and puts it to the current place. If that is the database, puts
 * nothing: the caller stores the bytes in the kernel's row. */
bool blob_upload(Store *store, GBytes *code, struct blob_ref *ref, GError **error);
/* Reads a kernel's code from its place. STORE_ERROR_NOT_FOUND if it is not there (any more),
 * STORE_ERROR_DAMAGED if its bytes differ. */
GBytes *blob_download(Store *store, const char *key, const struct blob_ref *ref, GError **error);

#endif
