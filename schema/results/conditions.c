/*
 * Conditions of devices, and device use: stored by workers, summed up by job for
 * reports.
 */
#include "schema/results/conditions.h"

#include "schema/store/store_private.h"

#include <string.h>

/* is_throttled() of functions/remeasure.sql has this number. */
G_STATIC_ASSERT(THROTTLE_MARKED == 14);

static int lower(int a, int b)
{
    return a == 0 || b == 0 ? MAX(a, b) : MIN(a, b);
}

void conditions_add(struct conditions *all, const struct conditions *more)
{
    if (more->samples == 0)
        return;
    all->locked_mhz =
        all->samples == 0 || all->locked_mhz == more->locked_mhz ? more->locked_mhz : 0;
    g_strlcpy(all->device, more->device, sizeof(all->device));
    all->samples += more->samples;
    all->sm_mhz_min = lower(all->sm_mhz_min, more->sm_mhz_min);
    all->sm_mhz_max = MAX(all->sm_mhz_max, more->sm_mhz_max);
    all->memory_mhz_min = lower(all->memory_mhz_min, more->memory_mhz_min);
    all->memory_mhz_max = MAX(all->memory_mhz_max, more->memory_mhz_max);
    all->temperature_c = MAX(all->temperature_c, more->temperature_c);
    all->power_w = MAX(all->power_w, more->power_w);
    all->throttle |= more->throttle;
}

char *conditions_throttle_text(unsigned throttle)
{
    static const struct {
        unsigned bit;
        const char *name;
    } names[] = {
        {THROTTLE_HEAT, "heat"},
        {THROTTLE_POWER_BRAKE, "power brake"},
        {THROTTLE_SLOWDOWN, "hardware slowdown"},
        {THROTTLE_POWER_CAP, "power cap"},
    };
    GString *text = g_string_new(NULL);
    for (gsize i = 0; i < G_N_ELEMENTS(names); i++)
        if (throttle & names[i].bit)
            g_string_append_printf(text, "%s%s", text->len ? ", " : "", names[i].name);
    return g_string_free(text, FALSE);
}

static const struct {
    const char *name;
    size_t offset;
} numbers[] = {
    {"sm_mhz_min", offsetof(struct conditions, sm_mhz_min)},
    {"sm_mhz_max", offsetof(struct conditions, sm_mhz_max)},
    {"memory_mhz_min", offsetof(struct conditions, memory_mhz_min)},
    {"memory_mhz_max", offsetof(struct conditions, memory_mhz_max)},
    {"temperature_c", offsetof(struct conditions, temperature_c)},
    {"locked_mhz", offsetof(struct conditions, locked_mhz)},
};

json_t *conditions_to_json(const struct conditions *conditions)
{
    json_t *object =
        json_pack("{ss si si so}", "device", conditions->device, "samples", conditions->samples,
                  "throttle", (int)conditions->throttle, "power_w",
                  conditions->power_w > 0 ? json_real(conditions->power_w) : json_null());
    for (gsize i = 0; i < G_N_ELEMENTS(numbers); i++) {
        int number = *(const int *)(const void *)((const char *)conditions + numbers[i].offset);
        json_object_set_new(object, numbers[i].name,
                            number > 0 ? json_integer(number) : json_null());
    }
    return object;
}

static int number_of(const json_t *object, const char *name)
{
    return (int)CLAMP(json_integer_value(json_object_get(object, name)), 0, G_MAXINT32);
}

void conditions_from_json(const json_t *object, struct conditions *conditions)
{
    const char *device = json_string_value(json_object_get(object, "device"));
    double power = json_number_value(json_object_get(object, "power_w"));
    *conditions = (struct conditions){
        .samples = number_of(object, "samples"),
        .throttle = (unsigned)number_of(object, "throttle"),
        .power_w = power > 0 && power < 1e6 ? power : 0,
    };
    g_strlcpy(conditions->device, device ? device : "", sizeof(conditions->device));
    for (gsize i = 0; i < G_N_ELEMENTS(numbers); i++)
        *(int *)(void *)((char *)conditions + numbers[i].offset) =
            number_of(object, numbers[i].name);
}

bool store_conditions(Store *store, const struct job *job, int round,
                      const struct conditions *conditions, GError **error)
{
    g_autoptr(StoreJson) seen = conditions_to_json(conditions);
    return store_do(store, error, "SELECT skipjack_work.put_conditions($1, $2, $3, $4, $5)",
                    "lllij", job->campaign, job->id, job->fence, round, seen);
}

static gpointer read_conditions(const json_t *object)
{
    struct job_conditions *row = g_new0(struct job_conditions, 1);
    row->job = json_member_int(object, "job_id");
    conditions_from_json(object, &row->seen);
    return row;
}

GPtrArray *conditions_merge(GPtrArray *rows)
{
    GPtrArray *jobs = g_ptr_array_new_with_free_func(g_free);
    struct job_conditions *last = NULL;
    for (guint i = 0; i < rows->len; i++) {
        struct job_conditions *row = g_ptr_array_index(rows, i);
        if (last != NULL && row->job == last->job) {
            conditions_add(&last->seen, &row->seen);
            g_free(row);
        } else {
            g_ptr_array_add(jobs, row);
            last = row;
        }
    }
    g_ptr_array_set_free_func(rows, NULL);
    g_ptr_array_unref(rows);
    return jobs;
}

GPtrArray *store_list_part_conditions(Store *store, int64_t campaign,
                                      const struct problem_part *part, GError **error)
{
    g_autoptr(StoreRows) rows =
        store_read(store, error,
                   "SELECT to_jsonb(c) FROM round_conditions c WHERE c.campaign_id = $1"
                   " AND c.job_id IN (SELECT j.id FROM jobs j WHERE j.campaign_id = $1"
                   "                  AND j.problem_id > $2 AND j.problem_id <= $3)"
                   " ORDER BY job_id, number",
                   "lll", campaign, part->after, part->last);
    return rows == NULL ? NULL : conditions_merge(store_list(rows, read_conditions, g_free));
}

/* ---- device use ---- */

bool store_device_use(Store *store, const struct job *job, const struct device_use *use,
                      GError **error)
{
    return store_do(store, error, "SELECT skipjack_work.put_device_use($1, $2, $3, $4, $5)",
                    "llldd", job->campaign, job->id, job->fence, use->seconds, use->busy_seconds);
}

static gpointer read_use(const json_t *object)
{
    struct job_device_use *row = g_new0(struct job_device_use, 1);
    row->job = json_member_int(object, "job_id");
    row->use = (struct device_use){
        .seconds = json_member_double(object, "seconds"),
        .busy_seconds = json_member_double(object, "busy_seconds"),
    };
    return row;
}

GPtrArray *store_list_part_device_use(Store *store, int64_t campaign,
                                      const struct problem_part *part, GError **error)
{
    g_autoptr(StoreRows) rows =
        store_read(store, error,
                   "SELECT to_jsonb(u) FROM (SELECT job_id, sum(seconds) AS seconds,"
                   " sum(busy_seconds) AS busy_seconds FROM device_use WHERE campaign_id = $1"
                   " AND job_id IN (SELECT j.id FROM jobs j WHERE j.campaign_id = $1"
                   "                AND j.problem_id > $2 AND j.problem_id <= $3)"
                   " GROUP BY job_id ORDER BY job_id) AS u",
                   "lll", campaign, part->after, part->last);
    return rows == NULL ? NULL : store_list(rows, read_use, g_free);
}
