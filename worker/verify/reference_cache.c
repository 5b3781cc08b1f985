#include <string.h>

#include "worker/verify/reference.h"

struct entry {
    struct problem problem;
    uint64_t seed;
    struct reference *reference;
};

struct reference_cache {
    GQueue entries; /* struct entry, most recently used first */
    int64_t bytes, bytes_limit;
};

struct reference_cache *reference_cache_new(int64_t bytes_limit)
{
    struct reference_cache *cache = g_new0(struct reference_cache, 1);

    g_queue_init(&cache->entries);
    cache->bytes_limit = bytes_limit;
    return cache;
}

static void drop_last(struct reference_cache *cache)
{
    struct entry *entry = g_queue_pop_tail(&cache->entries);

    cache->bytes -= reference_bytes(entry->reference);
    reference_unref(entry->reference);
    g_free(entry);
}

void reference_cache_free(struct reference_cache *cache)
{
    while (cache && !g_queue_is_empty(&cache->entries))
        drop_last(cache);
    g_free(cache);
}

struct reference *reference_cache_find(struct reference_cache *cache, const struct problem *p,
                                       uint64_t seed)
{
    for (GList *link = cache->entries.head; link; link = link->next) {
        struct entry *entry = link->data;
        if (entry->seed == seed && problem_equal(&entry->problem, p)) {
            g_queue_unlink(&cache->entries, link);
            g_queue_push_head_link(&cache->entries, link);
            return reference_ref(entry->reference);
        }
    }
    return NULL;
}

void reference_cache_add(struct reference_cache *cache, const struct problem *p, uint64_t seed,
                         struct reference *reference)
{
    struct entry *entry = g_new(struct entry, 1);

    *entry = (struct entry){*p, seed, reference_ref(reference)};
    g_queue_push_head(&cache->entries, entry);
    cache->bytes += reference_bytes(reference);
    while (cache->bytes > cache->bytes_limit && cache->entries.length > 1)
        drop_last(cache);
}
