#include "worker/verify/judge_cache.h"

#include "worker/verify/judge_state.h"

#define KEPT_SHARE 4 /* the cache may use 1/4 of the device's memory */

struct kept {
    struct judge *judge;
    int64_t used_us; /* monotonic */
};

struct judge_cache {
    GQueue kept; /* struct kept *, most recently used first */
    int64_t bytes, bytes_limit;
};

struct judge_cache *judge_cache_new(const struct device *device)
{
    struct judge_cache *cache = g_new0(struct judge_cache, 1);

    g_queue_init(&cache->kept);
    cache->bytes_limit = device->row->info(device)->memory_bytes / KEPT_SHARE;
    return cache;
}

/* Takes an entry out of the cache; the caller owns its judge. */
static struct judge *take_out(struct judge_cache *cache, GList *link)
{
    struct kept *kept = link->data;
    struct judge *judge = kept->judge;

    g_queue_delete_link(&cache->kept, link);
    g_free(kept);
    cache->bytes -= judge_bytes(judge);
    return judge;
}

static void drop_last(struct judge_cache *cache)
{
    judge_free(take_out(cache, cache->kept.tail));
}

bool judge_cache_clear(struct judge_cache *cache)
{
    bool any = !g_queue_is_empty(&cache->kept);

    while (!g_queue_is_empty(&cache->kept))
        drop_last(cache);
    return any;
}

void judge_cache_drop_unused(struct judge_cache *cache, int64_t seconds)
{
    int64_t since = g_get_monotonic_time() - seconds * G_USEC_PER_SEC;

    for (struct kept *last; (last = g_queue_peek_tail(&cache->kept)) && last->used_us <= since;)
        drop_last(cache);
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
    for (GList *link = cache->kept.head; link; link = link->next) {
        struct kept *kept = link->data;
        if (judge_is_for(kept->judge, program, p, tensors, seed))
            return take_out(cache, link);
    }
    return NULL;
}

void judge_cache_give(struct judge_cache *cache, struct judge *judge)
{
    struct kept *kept = g_new(struct kept, 1);

    *kept = (struct kept){judge, g_get_monotonic_time()};
    g_queue_push_head(&cache->kept, kept);
    cache->bytes += judge_bytes(judge);
    while (cache->bytes > cache->bytes_limit && !g_queue_is_empty(&cache->kept))
        drop_last(cache);
}
