#include "worker/verify/parallel.h"

#include <glib.h>
#include <stdatomic.h>

#define THREADS_MAX 16

struct parts {
    void (*part)(void *data, int64_t part);
    void *data;
    int64_t count;
    atomic_llong next; /* part that no thread has begun */
};

int parallel_threads(void)
{
    return CLAMP((int)g_get_num_processors() / 2, 1, THREADS_MAX);
}

static void *do_parts(void *data)
{
    struct parts *parts = data;

    for (;;) {
        int64_t i = atomic_fetch_add(&parts->next, 1);
        if (i >= parts->count)
            return NULL;
        parts->part(parts->data, i);
    }
}

void parallel_parts(int threads, int64_t parts, void (*part)(void *data, int64_t part), void *data)
{
    struct parts all = {.part = part, .data = data, .count = parts};
    int others = (int)MIN(MAX(threads, 1), parts) - 1, started = 0;
    g_autofree GThread **thread = g_new0(GThread *, (gsize)MAX(others, 0) + 1);

    while (started < others &&
           (thread[started] = g_thread_try_new("verify", do_parts, &all, NULL)) != NULL)
        started++;
    do_parts(&all);
    for (int i = 0; i < started; i++)
        g_thread_join(thread[i]);
}
