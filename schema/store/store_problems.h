/*
 * Problems, networks and targets.
 *
 * A network has versions, numbered from 1. Importing other layers under the
 * name of a network makes a new version; importing the layers of an older
 * version makes that version the current one again. Every function that takes
 * a network's name takes NAME, the current version, or NAME@NUMBER.
 */
#ifndef SCHEMA_STORE_STORE_PROBLEMS_H
#define SCHEMA_STORE_STORE_PROBLEMS_H

#include "schema/store/store.h"
#include "solvers/framework/target.h"
#include "solvers/problem/layer.h"
#include "solvers/problem/network_facts.h"
#include "solvers/problem/problem.h"

#include <jansson.h>

/* ---- problems ---- */

/* Inserts the problems that are new. ids[i] is the row of problems[i]. All of them get the tag; NULL for none. */
bool store_put_problems(Store *store, const struct problem *problems, int count, const char *tag,
                        int64_t *ids, GError **error);

/* Finds the rows of problems and stores nothing. ids[i] becomes the row of problems[i], 0 if it has no row. */
bool store_find_problems(Store *store, const struct problem *problems, int count, int64_t *ids,
                         GError **error);

struct stored_problem {
    int64_t id;
    struct problem problem;
};
/* Restricts a list of problems. A member that is NULL or 0 restricts nothing. */
struct problem_filter {
    const char *tag, *network;
    int64_t campaign;
};
/* GArray of struct stored_problem, in the order of problem_compare(). */
GArray *store_list_problems(Store *store, const struct problem_filter *filter, GError **error);

/* ---- networks ---- */

/* The effect of storing a network. */
struct network_change {
    int number;   /* number of the version that is current now */
    int previous; /* number of the version that was current before, 0 for a new network */
    bool is_new;  /* no earlier version had these layers */
};
/* Takes the turn of importing: two imports that store the same problems in different orders would deadlock.
 * *taken is false while another session has the turn: try again later. The turn ends with store_leave_import() or
 * with the connection. A transaction may also import without the turn. */
bool store_take_import(Store *store, bool *taken, GError **error);
void store_leave_import(Store *store);

/* Stores the layers as the network's current version. change may be NULL. STORE_ERROR_STATE for a name
 * that ends in @ and digits. */
bool store_put_network(Store *store, const char *name, const struct layer *layers, int count,
                       struct network_change *change, GError **error);

/* store_put_network() in pieces, for networks of any size. The three calls belong into one transaction
 * (store_begin(), store_end()). Layers are added in their order; first_position counts from 0. */
struct stored_layer {
    const char *name;
    int multiplicity;
    int64_t problem; /* the problem's id from store_put_problems() */
};
bool store_begin_network(Store *store, const char *name, int64_t *version, GError **error);
bool store_add_layers(Store *store, int64_t version, int first_position,
                      const struct stored_layer *layers, int count, GError **error);
bool store_end_network(Store *store, int64_t version, struct network_change *change,
                       GError **error);

/* Describes the version of the network. Facts that are unknown leave those that are stored. *replaced becomes true if
 * a stored fact was another. */
bool store_describe_network(Store *store, const char *name, int version,
                            const struct network_facts *facts, bool *replaced, GError **error);

struct network_row {
    char *name;
    struct network_facts facts;
    int version;
    bool current;
    /* Layers: sum of the layers' multiplicities; problems: number of distinct problems. */
    int layers, problems;
    int campaigns;   /* how many campaigns were made for this version */
    int64_t created; /* when the version was first imported, Unix seconds */
    double gmacs;    /* of one run */
};
/* The current versions, or with `all` every version, by name and number. struct network_row * */
GPtrArray *store_list_networks(Store *store, bool all, GError **error);
/* struct layer *. STORE_ERROR_NOT_FOUND for an unknown name. */
GPtrArray *store_list_layers(Store *store, const char *network, GError **error);
/* "NAME@NUMBER" of the version that the name means. Free with g_free(). STORE_ERROR_NOT_FOUND. */
char *store_network_version(Store *store, const char *network, GError **error);
/* The versions that the campaign was made for, a NULL-terminated array of "NAME@NUMBER". Free with
 * g_strfreev(). */
char **store_campaign_networks(Store *store, int64_t campaign, GError **error);
/* Removes one version, or a network with all its versions; the problems stay. *versions counts the removed ones.
 * STORE_ERROR_NOT_FOUND; STORE_ERROR_STATE if campaigns were made for a version. */
bool store_remove_network(Store *store, const char *network, int *versions, GError **error);

/* ---- targets ---- */

/* Inserts the target, or updates its limits and peaks by those that a device reported. */
bool store_put_target(Store *store, const struct target *target, GError **error);
bool store_get_target(Store *store, const char *id, struct target *target, GError **error);
GPtrArray *store_list_targets(Store *store, GError **error); /* struct target * (g_free) */
/* Stores the target if it is unknown. A target that no device has described yet is made from its
 * id. */
bool store_ensure_target(Store *store, const char *id, GError **error);
/* Makes a row of the targets' table, a new reference. */
json_t *target_to_row(const struct target *t);
/* Reads a row of the targets' table. STORE_ERROR_DAMAGED unless target_validate() accepts it. */
bool target_from_row(const json_t *object, struct target *target, GError **error);

#endif
