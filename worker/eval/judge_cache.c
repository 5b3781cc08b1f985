#include "worker/eval/judge.h"

#define KEPT_SHARE 16 /* of the device's memory: one part in this many */

struct judge_cache {
    GQueue judges; /* struct judge *, most recently used first */
    int64_t bytes, bytes_limit;
};

struct judge_cache *judge_cache_new(const struct device *device)
{
    struct judge_cache *cache = g_new0(struct judge_cache, 1);

    g_queue_init(&cache->judges);
    cache->bytes_limit = device->row->info(device)->memory_bytes / KEPT_SHARE;
    return cache;
}

bool judge_cache_clear(struct judge_cache *cache)
{
    bool any = !g_queue_is_empty(&cache->judges);

    while (!g_queue_is_empty(&cache->judges))
        judge_free(g_queue_pop_head(&cache->judges));
    cache->bytes = 0;
    return any;
}

void judge_cache_free(struct judge_cache *cache)
{
    if (cache)
        judge_cache_clear(cache);
    g_free(cache);
}

struct judge *judge_cache_take(struct judge_cache *cache, const struct device_program *program,
                               const struct problem *p, const struct tensor *tensors, uint64_t seed)
{
    for (GList *link = cache->judges.head; link; link = link->next) {
        struct judge *judge = link->data;
        if (!judge_is_for(judge, program, p, tensors, seed))
            continue;
        g_queue_delete_link(&cache->judges, link);
        cache->bytes -= judge_bytes(judge);
        return judge;
    }
    return NULL;
}

void judge_cache_give(struct judge_cache *cache, struct judge *judge)
{
    g_queue_push_head(&cache->judges, judge);
    cache->bytes += judge_bytes(judge);
    while (cache->bytes > cache->bytes_limit && !g_queue_is_empty(&cache->judges)) {
        struct judge *last = g_queue_pop_tail(&cache->judges);
        cache->bytes -= judge_bytes(last);
        judge_free(last);
    }
}
