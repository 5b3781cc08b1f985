/* Targets, as devices or their ids described them. */
#include "schema/store/store_private.h"

#include <string.h>

static const char *const vendor_names[] = {
    [VENDOR_AMD] = "amd", [VENDOR_NVIDIA] = "nvidia", [VENDOR_CPU] = "cpu"};

const char *vendor_name(enum vendor vendor)
{
    g_assert((unsigned)vendor < G_N_ELEMENTS(vendor_names));
    return vendor_names[vendor];
}

/* What the database's check of times goes by; null where no peak is known. */
static json_t *type_peaks(const struct target *t)
{
    if (t->peak_flops <= 0)
        return json_null();
    json_t *peaks = json_object();
    for (enum data_type type = TYPE_FP32; type < DATA_TYPE_COUNT; type++)
        json_object_set_new(peaks, data_type_name(type),
                            json_from_double(target_type_peak(t, type)));
    return peaks;
}

static json_t *target_to_row(const struct target *t)
{
    json_t *object = json_pack(
        "{ss ss ss ss ss si si sI si si si so so so}", "id", t->id, "vendor",
        vendor_name(t->vendor), "arch", t->arch, "features", t->features, "partition", t->partition,
        "compute_units", t->compute_units, "memory_gib", t->memory_gib, "local_bytes",
        (json_int_t)t->local_bytes, "max_workgroup", t->max_workgroup, "wave_size", t->wave_size,
        "vector_bytes", t->vector_bytes, "peak_flops", json_from_double(t->peak_flops),
        "peak_bytes", json_from_double(t->peak_bytes), "type_peaks", type_peaks(t));
    g_assert(object != NULL);
    return object;
}

static bool copy_member(const json_t *object, const char *name, char *buffer, gsize size)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text != NULL && g_strlcpy(buffer, text, size) < size;
}

/* Older programs leave a member out: it reads as "". */
static bool copy_or_empty(const json_t *object, const char *name, char *buffer, gsize size)
{
    const json_t *value = json_object_get(object, name);
    return value == NULL || json_is_null(value) || copy_member(object, name, buffer, size);
}

static bool read_vendor(const json_t *object, enum vendor *vendor)
{
    const char *name = json_string_value(json_object_get(object, "vendor"));
    for (gsize i = 0; i < G_N_ELEMENTS(vendor_names); i++) {
        *vendor = (enum vendor)i;
        if (g_strcmp0(name, vendor_names[i]) == 0)
            return true;
    }
    return false;
}

bool target_from_row(const json_t *object, struct target *t, GError **error)
{
    g_autoptr(GError) invalid = NULL;
    memset(t, 0, sizeof *t);
    if (!copy_member(object, "id", t->id, sizeof t->id) ||
        !copy_member(object, "arch", t->arch, sizeof t->arch) ||
        !copy_member(object, "features", t->features, sizeof t->features) ||
        !copy_or_empty(object, "partition", t->partition, sizeof t->partition) ||
        !read_vendor(object, &t->vendor))
        return store_damaged(error, "target '%s' has a name or a vendor that is none", t->id);
    t->compute_units = (int)json_member_int(object, "compute_units");
    t->memory_gib = (int)json_member_int(object, "memory_gib");
    t->local_bytes = json_member_int(object, "local_bytes");
    t->max_workgroup = (int)json_member_int(object, "max_workgroup");
    t->wave_size = (int)json_member_int(object, "wave_size");
    t->vector_bytes = (int)json_member_int(object, "vector_bytes");
    t->peak_flops = json_member_double(object, "peak_flops");
    t->peak_bytes = json_member_double(object, "peak_bytes");
    return target_validate(t, &invalid) || store_damaged(error, "%s", invalid->message);
}

bool store_put_target(Store *store, const struct target *target, GError **error)
{
    g_autoptr(StoreJson) row = target_to_row(target);
    return store_do(store, error, "SELECT put_target($1)", "j", row);
}

bool store_get_target(Store *store, const char *id, struct target *target, GError **error)
{
    g_autoptr(StoreRows) rows =
        store_read(store, error, "SELECT skipjack_work.target($1)", "s", id);
    if (rows == NULL)
        return false;
    if (PQntuples(rows) == 0) {
        g_set_error(error, STORE_ERROR, STORE_ERROR_NOT_FOUND,
                    "the database knows no target '%s'; to see those it knows: skipjack targets",
                    id);
        return false;
    }
    g_autoptr(StoreJson) object = store_row_json(rows, 0);
    return target_from_row(object, target, error);
}

static gpointer read_target(const json_t *object, GError **error)
{
    struct target *target = g_new0(struct target, 1);
    if (target_from_row(object, target, error))
        return target;
    g_free(target);
    return NULL;
}

GPtrArray *store_list_targets(Store *store, GError **error)
{
    g_autoptr(StoreRows) rows =
        store_read(store, error, "SELECT to_jsonb(t) FROM targets t ORDER BY id", "");
    return rows == NULL ? NULL : store_list_checked(rows, read_target, g_free, error);
}
