#include "worker/agent/eval/twins.h"

#include <string.h>

/* Outcomes kept, a few megabytes; when there are more, all are forgotten. */
#define TWINS_MAX 10000

struct twins {
    GHashTable *known; /* twins_name() of a config -> struct twin *: its outcome */
};

struct twin {
    struct outcome outcome;
    char *config; /* text of the config that has the outcome */
    char *detail; /* detail of the outcome, or NULL */
};

static void twin_free(gpointer data)
{
    struct twin *twin = data;
    g_free(twin->config);
    g_free(twin->detail);
    g_free(twin);
}

Twins *twins_new(void)
{
    Twins *twins = g_new(Twins, 1);
    twins->known = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, twin_free);
    return twins;
}

void twins_free(Twins *twins)
{
    if (!twins)
        return;
    g_hash_table_unref(twins->known);
    g_free(twins);
}

/* ---- names ---- */

static bool has_reproducible_code(const struct kernel_row *row)
{
    const struct toolchain *toolchain = row ? toolchain_find(row->toolchain) : NULL;
    return toolchain && toolchain->reproducible && row->code_sha256 && *row->code_sha256;
}

static void add_launch(GString *text, const struct launch *launch, const struct kernel_row *row)
{
    g_string_append_printf(text, "\n%s %s %" G_GINT64_FORMAT, row->code_sha256, launch->entry,
                           launch->local_bytes);
    for (int axis = 0; axis < 3; axis++)
        g_string_append_printf(text, " %" G_GINT64_FORMAT "/%d", launch->grid[axis],
                               launch->block[axis]);
    for (int i = 0; i < launch->arg_count; i++) {
        const struct launch_arg *arg = &launch->args[i];
        g_string_append_printf(text, " %d:%d:%" G_GINT64_FORMAT ":%" G_GINT64_FORMAT ":%a",
                               arg->kind, arg->tensor, arg->value, arg->factor, arg->real);
    }
}

char *twins_name(int64_t job, const struct solution *solution,
                 const struct kernel_row *const rows[SOLUTION_LAUNCHES_MAX])
{
    g_autoptr(GString) text = g_string_new(NULL);
    /* Operations and bytes are part of the name since they decide which times are possible. */
    g_string_append_printf(
        text, "%" G_GINT64_FORMAT " %" G_GUINT64_FORMAT " %d %" G_GUINT64_FORMAT " %a %a %a", job,
        solution->workspace_bytes, solution->pack_count, solution->packed_bytes, solution->flops,
        solution->read_bytes, solution->write_bytes);
    for (int i = 0; i < solution->launch_count; i++) {
        if (!has_reproducible_code(rows[i]))
            return NULL;
        add_launch(text, &solution->launches[i], rows[i]);
    }
    return g_compute_checksum_for_string(G_CHECKSUM_SHA256, text->str, (gssize)text->len);
}

/* ---- outcomes ---- */

static bool is_shared(enum failure failure)
{
    return failure == FAILURE_NONE || failure == FAILURE_SLOW || failure == FAILURE_WRONG_RESULT ||
           failure == FAILURE_OUT_OF_BOUNDS;
}

void twins_record(Twins *twins, const char *name, const struct work *work, int index)
{
    const struct round *round = work->round;
    char text[CONFIG_TEXT_MAX];
    if (!is_shared(round->outcomes[index].failure))
        return;
    if (g_hash_table_size(twins->known) >= TWINS_MAX)
        g_hash_table_remove_all(twins->known);
    struct twin *twin = g_new(struct twin, 1);
    *twin = (struct twin){round->outcomes[index],
                          g_strdup(perf_config_format(&round->configs[index], text)),
                          g_strdup(round->details[index])};
    g_hash_table_replace(twins->known, g_strdup(name), twin);
}

bool twins_was_right(Twins *twins, const char *name)
{
    const struct twin *twin = g_hash_table_lookup(twins->known, name);
    return twin && (twin->outcome.failure == FAILURE_NONE || twin->outcome.failure == FAILURE_SLOW);
}

bool twins_take(Twins *twins, const char *name, struct work *work, int index)
{
    const struct twin *twin = g_hash_table_lookup(twins->known, name);
    struct outcome *outcome = &work->round->outcomes[index];
    double build_seconds = outcome->build_seconds;
    if (!twin)
        return false;
    *outcome = twin->outcome;
    outcome->build_seconds = build_seconds;
    outcome->eval_seconds = 0;
    g_free(work->round->details[index]);
    work->round->details[index] =
        g_strdup_printf("%staken over from config %s, whose code, grid and arguments are equal%s%s",
                        twins_was_right(twins, name) ? "verified here; times " : "", twin->config,
                        twin->detail ? ": " : "", twin->detail ? twin->detail : "");
    return true;
}
