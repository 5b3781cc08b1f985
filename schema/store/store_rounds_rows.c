/* Rounds and kept configs as rows of their tables, see store_rows.h. */
#include "schema/store/store_private.h"
#include "schema/store/store_rows.h"

#include <stddef.h>
#include <string.h>

static double outcome_number(const struct round *round, int config, size_t offset)
{
    return *(const double *)(const void *)((const char *)&round->outcomes[config] + offset);
}

static void add_numbers(GByteArray *out, const struct round *round, size_t offset)
{
    guint field = rows_field_array(out, ROW_DOUBLES, ROW_DOUBLE, round->config_count);
    for (int i = 0; i < round->config_count; i++)
        rows_double(out, outcome_number(round, i, offset));
    rows_end(out, field);
}

static double total(const struct round *round, size_t offset)
{
    double seconds = 0;
    for (int i = 0; i < round->config_count; i++)
        seconds += outcome_number(round, i, offset);
    return seconds;
}

static void add_failures(GByteArray *out, const struct round *round)
{
    guint field = rows_field_array(out, ROW_INT2S, ROW_INT2, round->config_count);
    for (int i = 0; i < round->config_count; i++)
        rows_int2(out, (int)round->outcomes[i].failure);
    rows_end(out, field);
}

static void add_texts(GByteArray *out, char *const *texts, int count, const char *absent)
{
    guint field = rows_field_array(out, ROW_TEXTS, ROW_TEXT, count);
    for (int i = 0; i < count; i++)
        rows_text(out, texts[i] != NULL ? texts[i] : absent);
    rows_end(out, field);
}

static void add_values(GByteArray *out, const struct perf_config *configs, int count)
{
    int values = 0;
    for (int i = 0; i < count; i++)
        values += configs[i].count;
    guint field = rows_field_array(out, ROW_INT4S, ROW_INT4, values);
    for (int i = 0; i < count; i++)
        for (int v = 0; v < configs[i].count; v++)
            rows_int4(out, configs[i].values[v]);
    rows_end(out, field);
}

static void add_configs(GByteArray *out, const struct round *round)
{
    guint field = rows_field_array(out, ROW_INT2S, ROW_INT2, round->config_count);
    for (int i = 0; i < round->config_count; i++)
        rows_int2(out, round->configs[i].count);
    rows_end(out, field);
    add_values(out, round->configs, round->config_count);
    add_texts(out, round->kernel_keys, round->config_count, "");
}

/* How many different kernels the round's configs have. */
static int count_kernels(const struct round *round)
{
    g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    for (int i = 0; i < round->config_count; i++) {
        const char *key = round->kernel_keys[i];
        while (key != NULL && *key != '\0') {
            gsize length = strcspn(key, ",");
            g_hash_table_add(seen, g_strndup(key, length));
            key += length + (key[length] == ',');
        }
    }
    return (int)g_hash_table_size(seen);
}

static int count_pending(const struct round *round)
{
    int pending = 0;
    for (int i = 0; i < round->config_count; i++)
        pending += round->outcomes[i].failure == FAILURE_PENDING;
    return pending;
}

static void add_counts(GByteArray *out, const struct round *round)
{
    int pending = count_pending(round);
    rows_field_int4(out, round->config_count - pending);
    rows_field_int4(out, pending);
}

static const char *stack_of(const struct round *round)
{
    return round->stack != NULL ? round->stack : "";
}

void built_to_row(GByteArray *out, const struct job *job, const struct round *round)
{
    guint row = rows_begin(out, 15);
    rows_field_int8(out, job->campaign);
    rows_field_int8(out, job->id);
    rows_field_int4(out, round->number);
    rows_field_int8(out, job->fence);
    rows_field_text(out, stack_of(round));
    add_configs(out, round);
    add_failures(out, round);
    add_texts(out, round->details, round->config_count, NULL);
    add_numbers(out, round, offsetof(struct outcome, build_seconds));
    rows_field_int4(out, count_kernels(round));
    add_counts(out, round);
    rows_field_double(out, total(round, offsetof(struct outcome, build_seconds)));
    rows_end(out, row);
}

static void add_runs(GByteArray *out, const struct round *round)
{
    guint field = rows_field_array(out, ROW_INT4S, ROW_INT4, round->config_count);
    for (int i = 0; i < round->config_count; i++)
        rows_int4(out, round->outcomes[i].n);
    rows_end(out, field);
}

void outcomes_to_row(GByteArray *out, const struct job *job, const struct round *round, bool open)
{
    guint row = rows_begin(out, 18);
    rows_field_int8(out, job->campaign);
    rows_field_int8(out, job->id);
    rows_field_int4(out, round->number);
    rows_field_bool(out, open);
    rows_field_int8(out, job->fence);
    rows_field_text(out, stack_of(round));
    rows_field_double(out, round->drift);
    add_failures(out, round);
    add_texts(out, round->details, round->config_count, NULL);
    add_runs(out, round);
    add_numbers(out, round, offsetof(struct outcome, min_ms));
    add_numbers(out, round, offsetof(struct outcome, median_ms));
    add_numbers(out, round, offsetof(struct outcome, spread));
    add_numbers(out, round, offsetof(struct outcome, error));
    add_numbers(out, round, offsetof(struct outcome, eval_seconds));
    add_counts(out, round);
    rows_field_double(out, total(round, offsetof(struct outcome, eval_seconds)));
    rows_end(out, row);
}

void kept_to_row(GByteArray *out, const struct job *job, const struct round *round,
                 const struct kept *kept, int rank)
{
    const struct outcome *o = &kept->outcome;
    guint row = rows_begin(out, 17);
    rows_field_int8(out, job->campaign);
    rows_field_int8(out, job->id);
    rows_field_int4(out, rank);
    add_values(out, &kept->config, 1);
    rows_field_text(out, kept->config_text != NULL ? kept->config_text : "");
    rows_field_text(out, kept->kernel_keys != NULL ? kept->kernel_keys : "");
    rows_field_text(out, stack_of(round));
    rows_field_int4(out, o->n);
    rows_field_double(out, o->min_ms);
    rows_field_double(out, o->median_ms);
    rows_field_double(out, o->spread);
    rows_field_double(out, o->error);
    rows_field_double(out, o->build_seconds);
    rows_field_double(out, o->eval_seconds);
    rows_field_int8(out, (int64_t)kept->workspace_bytes);
    rows_field_double(out, kept->flops);
    rows_field_bool(out, kept->is_default);
    rows_end(out, row);
}
