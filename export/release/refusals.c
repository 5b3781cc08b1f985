#include "export/release/refusals.h"

#include <string.h>

/* A refusal in the file: this head, then problem, solver and reason, each with its NUL. */
struct head {
    int64_t job;
    guint32 why, bytes;
};

const char *refusal_name(enum refusal why)
{
    static const char *const names[REFUSAL_COUNT] = {
        [REFUSAL_DAMAGED] = "damaged row",
        [REFUSAL_FOREIGN] = "foreign job",
        [REFUSAL_UNVERIFIED] = "no verified outcome",
        [REFUSAL_SOLVER] = "unknown solver",
        [REFUSAL_CONFIG] = "unknown config",
        [REFUSAL_TIME] = "impossible time",
        [REFUSAL_DRIFT] = "drifted round",
        [REFUSAL_THROTTLE] = "throttled round",
        [REFUSAL_KERNEL] = "wrong kernel",
        [REFUSAL_SHARED_ROW] = "shared perf-db row",
    };
    return names[why];
}

static void refusal_free(void *data)
{
    struct export_refusal *refusal = data;
    g_free(refusal->problem);
    g_free(refusal->solver);
    g_free(refusal->reason);
    g_free(refusal);
}

void refusals_init(struct refusals *refusals, const char *beside)
{
    *refusals = (struct refusals){.listed = g_ptr_array_new_with_free_func(refusal_free),
                                  .beside = g_strdup(beside),
                                  .rest = spool_new(beside)};
}

void refusals_clear(struct refusals *refusals)
{
    g_clear_pointer(&refusals->listed, g_ptr_array_unref);
    g_clear_pointer(&refusals->beside, g_free);
    g_clear_pointer(&refusals->rest, spool_free);
}

void refusals_begin_anew(struct refusals *refusals)
{
    g_autofree char *beside = g_strdup(refusals->beside);
    refusals_clear(refusals);
    refusals_init(refusals, beside);
}

static void list(struct refusals *refusals, const struct export_refusal *refusal)
{
    struct export_refusal *copy = g_memdup2(refusal, sizeof *refusal);
    copy->problem = g_strdup(refusal->problem);
    copy->solver = g_strdup(refusal->solver);
    copy->reason = g_strdup(refusal->reason);
    g_ptr_array_add(refusals->listed, copy);
}

static bool put_aside(struct refusals *refusals, const struct export_refusal *refusal,
                      GError **error)
{
    const char *const texts[] = {refusal->problem, refusal->solver, refusal->reason};
    struct head head = {.job = refusal->job, .why = (guint32)refusal->why};
    goffset start = 0;
    g_autoptr(GByteArray) bytes = g_byte_array_new();
    g_byte_array_append(bytes, (const guint8 *)&head, sizeof head);
    for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
        g_byte_array_append(bytes, (const guint8 *)texts[i], (guint)strlen(texts[i]) + 1);
    }
    head.bytes = bytes->len - (guint)sizeof head;
    memcpy(bytes->data, &head, sizeof head);
    if (!spool_append(refusals->rest, bytes->data, bytes->len, &start, error)) {
        return false;
    }
    refusals->rest_bytes += bytes->len;
    return true;
}

bool refusals_add(struct refusals *refusals, const struct export_refusal *refusal, GError **error)
{
    if (refusals->listed->len < REFUSALS_LISTED) {
        list(refusals, refusal);
    } else if (!put_aside(refusals, refusal, error)) {
        return false;
    }
    refusals->count++;
    refusals->by[refusal->why]++;
    return true;
}

/* Reads the refusal at offset *at, and moves *at behind it. Its texts are in `room` until the next
 * call. */
static bool take(const struct refusals *refusals, goffset *at, GByteArray *room,
                 struct export_refusal *refusal, GError **error)
{
    struct head head;
    if (!spool_read(refusals->rest, *at, &head, sizeof head, error)) {
        return false;
    }
    g_byte_array_set_size(room, head.bytes);
    if (!spool_read(refusals->rest, *at + (goffset)sizeof head, room->data, head.bytes, error)) {
        return false;
    }
    *at += (goffset)sizeof head + head.bytes;
    refusal->why = (enum refusal)head.why;
    refusal->job = head.job;
    refusal->problem = (char *)room->data;
    refusal->solver = refusal->problem + strlen(refusal->problem) + 1;
    refusal->reason = refusal->solver + strlen(refusal->solver) + 1;
    return true;
}

bool refusals_each(const struct refusals *refusals,
                   void (*each)(void *data, const struct export_refusal *refusal), void *data,
                   GError **error)
{
    g_autoptr(GByteArray) room = g_byte_array_new();
    for (guint i = 0; i < refusals->listed->len; i++) {
        each(data, refusals->listed->pdata[i]);
    }
    for (goffset at = 0; at < refusals->rest_bytes;) {
        struct export_refusal refusal;
        if (!take(refusals, &at, room, &refusal, error)) {
            return false;
        }
        each(data, &refusal);
    }
    return true;
}
