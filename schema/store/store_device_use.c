#include "schema/store/device_use.h"

#include "schema/store/store_private.h"

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
