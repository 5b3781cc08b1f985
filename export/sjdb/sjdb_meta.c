#include "export/sjdb/sjdb_meta.h"

#include <jansson.h>
#include <stdlib.h>

void sjdb_meta_read(const skipjackdb *db, struct sjdb_meta *meta)
{
    const char *text = skipjackdb_meta(db);
    json_t *json = json_loads(text, 0, NULL);
    const char *target = json_string_value(json_object_get(json, "target"));
    json_int_t version = json_integer_value(json_object_get(json, "golden_version"));
    *meta = (struct sjdb_meta){
        .campaign = g_strdup(json_string_value(json_object_get(json, "campaign"))),
        .build_only = json_is_true(json_object_get(json, "build_only")),
        .golden_version = version > 0 && version <= G_MAXINT ? (int)version : 0,
    };
    if (target != NULL) {
        meta->target = file_id_target(target);
    }
    json_decref(json);
}

void sjdb_meta_clear(struct sjdb_meta *meta)
{
    g_clear_pointer(&meta->campaign, g_free);
}

char *sjdb_meta_of_target(const char *id, bool build_only)
{
    json_t *json = json_pack("{s:s}", "target", id);
    if (build_only) {
        json_object_set_new(json, "build_only", json_true());
    }
    char *dumped = json_dumps(json, JSON_COMPACT);
    char *text = g_strdup(dumped);
    free(dumped);
    json_decref(json);
    return text;
}
