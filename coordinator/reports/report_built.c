#include "coordinator/reports/report_built.h"

#include "coordinator/plan/progress.h"
#include "coordinator/reports/report_kernels.h"

#include "coordinator/cli/when.h"
#include "schema/results/store_results.h"
#include "schema/store/store_kernels.h"

#include <string.h>

#define PART_JOBS 1000 /* read at a time */

static const struct table_column columns[] = {
    {"solver", "solver", TABLE_TEXT, 0},
    {"problems", "problems", TABLE_INT, 0},
    {"configs built", "configs", TABLE_INT, 0},
    {"refused", "refused", TABLE_INT, 0},
};

/* Sums over all jobs of one solver. */
struct sum {
    GHashTable *jobs;
    int64_t built, refused;
};

static void sum_free(gpointer data)
{
    struct sum *sum = data;
    g_hash_table_unref(sum->jobs);
    g_free(sum);
}

static struct sum *sum_of(GHashTable *sums, const char *solver)
{
    struct sum *sum = g_hash_table_lookup(sums, solver);
    if (!sum) {
        sum = g_new0(struct sum, 1);
        sum->jobs = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
        g_hash_table_insert(sums, g_strdup(solver), sum);
    }
    return sum;
}

static bool add_built(Store *store, int64_t campaign, GHashTable *sums, GError **error)
{
    struct result_part part = RESULT_PART_BEGIN;
    while (part.last != INT64_MAX) {
        if (!store_next_built(store, campaign, PART_JOBS, &part, error))
            return false;
        g_autoptr(GPtrArray) results = store_list_built(store, campaign, NULL, NULL, &part, error);
        if (!results)
            return false;
        for (guint i = 0; i < results->len; i++) {
            const struct result *result = g_ptr_array_index(results, i);
            struct sum *sum = sum_of(sums, result->solver);
            int64_t *job = g_memdup2(&result->job, sizeof result->job);
            sum->built++;
            g_hash_table_add(sum->jobs, job);
        }
    }
    return true;
}

static bool add_refused(Store *store, int64_t campaign, GHashTable *sums, GError **error)
{
    struct problem_part part = PROBLEM_PART_BEGIN;
    while (part.last != INT64_MAX) {
        if (!store_next_problems(store, campaign, PART_JOBS, &part, error))
            return false;
        g_autoptr(GPtrArray) refused = store_list_part_rejections(store, campaign, &part, error);
        if (!refused)
            return false;
        for (guint i = 0; i < refused->len; i++) {
            const struct config_outcome *outcome = g_ptr_array_index(refused, i);
            sum_of(sums, outcome->solver)->refused++;
        }
    }
    return true;
}

static void fill_solvers(struct report_built *built, GHashTable *sums)
{
    g_autoptr(GList) names = g_list_sort(g_hash_table_get_keys(sums), (GCompareFunc)strcmp);
    built->solvers = table_new(columns, G_N_ELEMENTS(columns));
    for (const GList *at = names; at; at = at->next) {
        const struct sum *sum = g_hash_table_lookup(sums, at->data);
        table_text(built->solvers, at->data);
        table_int(built->solvers, g_hash_table_size(sum->jobs));
        table_int(built->solvers, sum->built);
        table_int(built->solvers, sum->refused);
        built->configs += sum->built;
        built->refused += sum->refused;
    }
}

static bool fill_kernels(struct report_built *built, Store *store, int64_t campaign, GError **error)
{
    g_autoptr(GPtrArray) kernels = store_list_kernels(store, campaign, error);
    if (!kernels)
        return false;
    built->matrix = report_matrix_instructions(kernels);
    built->kernels = (int)kernels->len;
    for (guint i = 0; i < kernels->len; i++) {
        const struct kernel_row *kernel = g_ptr_array_index(kernels, i);
        built->code_bytes += kernel->code_bytes;
        built->compile_seconds += kernel->seconds;
    }
    return true;
}

struct report_built *report_built_new(Store *store, int64_t campaign, GError **error)
{
    g_autoptr(GHashTable) sums = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, sum_free);
    struct report_built *built = g_new0(struct report_built, 1);
    if (add_built(store, campaign, sums, error) && add_refused(store, campaign, sums, error) &&
        fill_kernels(built, store, campaign, error)) {
        fill_solvers(built, sums);
        return built;
    }
    report_built_free(built);
    return NULL;
}

void report_built_free(struct report_built *built)
{
    if (!built)
        return;
    table_free(built->solvers);
    table_free(built->matrix);
    g_free(built);
}

void report_built_print(const struct report_built *built, FILE *out)
{
    g_autofree char *seconds = when_duration(built->compile_seconds);
    table_print(built->solvers, out);
    fprintf(out,
            "\nBuilt, not measured: %" G_GINT64_FORMAT " configs, and %" G_GINT64_FORMAT
            " that building refused; %d kernels of %" G_GINT64_FORMAT
            " bytes, which took compilers %s.\n\n",
            built->configs, built->refused, built->kernels, built->code_bytes, seconds);
    if (table_rows(built->matrix) > 0)
        table_print(built->matrix, out);
    else
        fputs("No kernel is known to have instructions of matrix units.\n", out);
}

json_t *report_built_json(const struct report_built *built)
{
    return json_pack("{s:I, s:I, s:i, s:I, s:f, s:o, s:o}", "configs", (json_int_t)built->configs,
                     "refused", (json_int_t)built->refused, "kernels", built->kernels, "code_bytes",
                     (json_int_t)built->code_bytes, "compile_seconds", built->compile_seconds,
                     "solvers", table_json(built->solvers), "matrix_instructions",
                     table_json(built->matrix));
}
