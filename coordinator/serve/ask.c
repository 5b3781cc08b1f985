/* Questions to the database on threads, each asked once however many wait for it. */
#include "coordinator/serve/ask.h"

#include "schema/monitor/log.h"
#include "schema/server/database.h"

#include <string.h>
#include <unistd.h>

/* An answer that took long is shared for longer: a question that is asked all the time takes a twentieth of the time at
 * most, but its answer is never older than SHARED_MOST seconds for that. */
#define SHARED_PART      20
#define SHARED_MOST      60.0
/* The longest wait for one statement: whoever asked is gone by then. */
#define PATIENCE_SECONDS 30

struct waiter {
    ask_done *done;
    void *data;
};

struct task {
    Ask *asking;
    uv_work_t work;
    char *key; /* or NULL */
    double fresh_seconds;
    bool needs_store, is_slow;
    ask_work *run;
    void *data;
    GDestroyNotify free_data;
    Store *store;
    GError *no_store;
    struct reply reply;
    GArray *waiters; /* struct waiter */
    gint64 taken_us; /* how long the work took */
    gint64 until_us; /* the answer is fresh until then; 0: it is not there yet */
    GList link;      /* in asking->kept */
};

struct ask {
    uv_loop_t *loop;
    GQueue waiting;    /* struct task * */
    GHashTable *tasks; /* key -> struct task *: those that wait or run, and kept answers */
    GQueue kept;       /* struct task *: kept answers, the oldest first */
    gsize kept_bytes;
    GPtrArray *stores; /* Store *: those that nobody uses */
    bool ended;
    bool slow_runs;   /* a slow question is under way */
    int slow_waiting; /* slow questions that wait */
    struct ask_counts counts;
};

/* ---- replies ---- */

static void reply_clear(struct reply *reply)
{
    g_free(reply->detail);
    g_free(reply->etag);
    g_clear_pointer(&reply->body, g_bytes_unref);
    json_decref(reply->data);
    if (reply->fd >= 0)
        close(reply->fd);
}

static void free_text(gpointer text)
{
    free(text); /* jansson's */
}

void reply_json(struct reply *reply, json_t *value)
{
    char *text = json_dumps(value, JSON_COMPACT | JSON_REAL_PRECISION(12));
    json_decref(value);
    g_assert(text);
    g_autofree char *sum = g_compute_checksum_for_string(G_CHECKSUM_SHA256, text, -1);
    reply->status = 200;
    reply->etag = g_strdup_printf("\"%.32s\"", sum);
    reply->body = g_bytes_new_with_free_func(text, strlen(text), free_text, text);
}

void reply_problem(struct reply *reply, unsigned status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    reply->status = status;
    reply->detail = g_strdup_vprintf(format, arguments);
    va_end(arguments);
}

void reply_error(struct reply *reply, GError *error)
{
    static const unsigned statuses[] = {
        [STORE_ERROR_NOT_FOUND] = 404, [STORE_ERROR_REFUSED] = 400,    [STORE_ERROR_STATE] = 409,
        [STORE_ERROR_ACCESS] = 403,    [STORE_ERROR_CONNECTION] = 503, [STORE_ERROR_LOCKED] = 503,
        [STORE_ERROR_SCHEMA] = 503,
    };
    unsigned status = error->domain == STORE_ERROR && error->code >= 0 &&
                              (size_t)error->code < G_N_ELEMENTS(statuses)
                          ? statuses[error->code]
                          : 0;
    if (status == 503) {
        reply_problem(reply, status, "the database does not answer now; try again");
    } else if (status != 0 && (error->code != STORE_ERROR_CONNECTION || status != 0)) {
        reply_problem(reply, status, "%s", error->message);
    } else {
        log_write(LEVEL_WARNING, "question_failed", NULL, "a question failed: %s", error->message);
        reply_problem(reply, 500, "the question failed; serve's log says why");
    }
    g_error_free(error);
}

/* ---- tasks ---- */

static void task_free(struct task *task)
{
    if (task->free_data)
        task->free_data(task->data);
    g_clear_error(&task->no_store);
    reply_clear(&task->reply);
    g_array_free(task->waiters, TRUE);
    g_free(task->key);
    g_free(task);
}

static struct task *task_new(Ask *asking, const struct question *question)
{
    struct task *task = g_new0(struct task, 1);
    task->asking = asking;
    task->work.data = task;
    task->key = g_strdup(question->key);
    task->fresh_seconds = question->fresh_seconds;
    task->needs_store = question->needs_store;
    task->is_slow = question->is_slow;
    task->run = question->work;
    task->data = question->data;
    task->free_data = question->free_data;
    task->reply.fd = -1;
    task->waiters = g_array_new(FALSE, FALSE, sizeof(struct waiter));
    task->link.data = task;
    return task;
}

static void answer_waiters(struct task *task)
{
    for (guint i = 0; i < task->waiters->len; i++) {
        const struct waiter *waiter = &g_array_index(task->waiters, struct waiter, i);
        waiter->done(waiter->data, &task->reply);
    }
    g_array_set_size(task->waiters, 0);
}

static gsize kept_size(const struct task *task)
{
    return 512 + (task->reply.body ? g_bytes_get_size(task->reply.body) : 0);
}

static void drop_kept(Ask *asking, struct task *task)
{
    g_queue_unlink(&asking->kept, &task->link);
    asking->kept_bytes -= kept_size(task);
    g_hash_table_remove(asking->tasks, task->key);
    task_free(task);
}

static void drop_old(Ask *asking)
{
    gint64 now = g_get_monotonic_time();
    for (GList *at = asking->kept.head; at;) {
        struct task *task = at->data;
        at = at->next;
        if (task->until_us <= now || asking->kept_bytes > ASK_CACHE_BYTES)
            drop_kept(asking, task);
    }
}

static gint64 fresh_us(const struct task *task)
{
    double least = MIN((double)task->taken_us * SHARED_PART / G_USEC_PER_SEC, SHARED_MOST);
    return (gint64)(MAX(task->fresh_seconds, least) * G_USEC_PER_SEC);
}

void ask_forget(Ask *asking)
{
    GHashTableIter all;
    gpointer value;
    while (asking->kept.head)
        drop_kept(asking, asking->kept.head->data);
    g_hash_table_iter_init(&all, asking->tasks);
    while (g_hash_table_iter_next(&all, NULL, &value)) {
        struct task *task = value;
        g_hash_table_iter_remove(&all);
        g_clear_pointer(&task->key, g_free);
    }
}

/* Keeps the answer while it is fresh, or frees the task. */
static void keep_or_free(Ask *asking, struct task *task)
{
    if (task->key && task->fresh_seconds > 0 && task->reply.status < 500 && !asking->ended) {
        task->until_us = g_get_monotonic_time() + fresh_us(task);
        if (task->free_data)
            task->free_data(task->data);
        task->free_data = NULL;
        asking->kept_bytes += kept_size(task);
        g_queue_push_tail_link(&asking->kept, &task->link);
        drop_old(asking);
        return;
    }
    if (task->key)
        g_hash_table_remove(asking->tasks, task->key);
    task_free(task);
}

/* ---- on a thread ---- */

static void run_task(uv_work_t *work)
{
    struct task *task = work->data;
    gint64 begun_us = g_get_monotonic_time();
    if (task->needs_store && !task->store) {
        task->store = database_open(true, &task->no_store);
        if (!task->store) {
            reply_error(&task->reply, g_steal_pointer(&task->no_store));
            return;
        }
        store_set_patience(task->store, PATIENCE_SECONDS);
    }
    task->run(task->store, task->data, &task->reply);
    task->taken_us = g_get_monotonic_time() - begun_us;
}

/* ---- on the loop ---- */

static void start_tasks(Ask *asking);

static void task_done(uv_work_t *work, int status)
{
    struct task *task = work->data;
    Ask *asking = task->asking;
    (void)status; /* never UV_ECANCELED: nothing cancels the work */
    asking->counts.running--;
    asking->slow_runs = asking->slow_runs && !task->is_slow;
    if (task->store)
        g_ptr_array_add(asking->stores, g_steal_pointer(&task->store));
    answer_waiters(task);
    keep_or_free(asking, task);
    start_tasks(asking);
}

/* The first task that may begin now, out of the queue; NULL for none. */
static struct task *next_task(Ask *asking)
{
    for (GList *at = asking->waiting.head; at; at = at->next) {
        struct task *task = at->data;
        if (task->is_slow && asking->slow_runs)
            continue;
        g_queue_delete_link(&asking->waiting, at);
        asking->slow_waiting -= task->is_slow;
        return task;
    }
    return NULL;
}

static void start_tasks(Ask *asking)
{
    struct task *task;
    while (asking->counts.running < ASK_THREADS && (task = next_task(asking))) {
        if (task->needs_store && asking->stores->len > 0)
            task->store = g_ptr_array_steal_index(asking->stores, asking->stores->len - 1);
        asking->slow_runs = asking->slow_runs || task->is_slow;
        asking->counts.running++;
        uv_queue_work(asking->loop, &task->work, run_task, task_done);
    }
    asking->counts.waiting = (int)g_queue_get_length(&asking->waiting);
}

static void refuse(Ask *asking, const struct question *question, ask_done *done, void *waiter)
{
    struct reply reply = {.fd = -1};
    asking->counts.refused++;
    reply_problem(&reply, 503, "too many questions wait for the database; try again");
    done(waiter, &reply);
    reply_clear(&reply);
    if (question->free_data)
        question->free_data(question->data);
}

void ask(Ask *asking, const struct question *question, ask_done *done, void *waiter)
{
    const struct waiter own = {done, waiter};
    drop_old(asking);
    struct task *task = question->key ? g_hash_table_lookup(asking->tasks, question->key) : NULL;
    asking->counts.asked++;
    if (task) {
        asking->counts.shared++;
        if (question->free_data)
            question->free_data(question->data);
        if (task->until_us != 0)
            done(waiter, &task->reply);
        else
            g_array_append_val(task->waiters, own);
        return;
    }
    if (asking->ended || g_queue_get_length(&asking->waiting) >= ASK_WAITING ||
        (question->is_slow && asking->slow_waiting >= ASK_SLOW_WAITING)) {
        refuse(asking, question, done, waiter);
        return;
    }
    task = task_new(asking, question);
    g_array_append_val(task->waiters, own);
    if (task->key)
        g_hash_table_insert(asking->tasks, task->key, task);
    g_queue_push_tail(&asking->waiting, task);
    asking->slow_waiting += task->is_slow;
    start_tasks(asking);
}

Ask *ask_new(uv_loop_t *loop)
{
    Ask *asking = g_new0(struct ask, 1);
    asking->loop = loop;
    asking->tasks = g_hash_table_new(g_str_hash, g_str_equal);
    asking->stores = g_ptr_array_new_with_free_func((GDestroyNotify)store_close);
    return asking;
}

void ask_end(Ask *asking)
{
    struct task *task;
    asking->ended = true;
    while ((task = g_queue_pop_head(&asking->waiting))) {
        reply_problem(&task->reply, 503, "the server stops");
        answer_waiters(task);
        keep_or_free(asking, task);
    }
}

void ask_free(Ask *asking)
{
    if (!asking)
        return;
    while (!g_queue_is_empty(&asking->kept))
        drop_kept(asking, asking->kept.head->data);
    g_hash_table_destroy(asking->tasks);
    g_ptr_array_free(asking->stores, TRUE);
    g_free(asking);
}

void ask_counts(const Ask *asking, struct ask_counts *counts)
{
    *counts = asking->counts;
}
