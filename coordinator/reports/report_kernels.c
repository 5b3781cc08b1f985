#include "coordinator/reports/report_kernels.h"

#include "schema/store/store_kernels.h"
#include "solvers/framework/occupancy.h"

#include <stdlib.h>
#include <string.h>

/* Columns of the table of kernels. JSON has both instructions and options; people see the one of
 * the two whose column gets a title. */
#define FACTS                                                                                      \
    {"target", "arch", TABLE_TEXT, 0}, {NULL, "file", TABLE_TEXT, 0},                              \
        {"kernel", "entry", TABLE_TEXT, 0}, {"VGPR", "registers", TABLE_INT, 0},                   \
        {"AGPR", "accumulation_registers", TABLE_INT, 0},                                          \
        {"SGPR", "scalar_registers", TABLE_INT, 0}, {"waves", "waves", TABLE_INT, 0},              \
        {"spilled", "spills", TABLE_INT, 0}, {"scratch B", "scratch_bytes", TABLE_INT, 0},         \
        {"local B", "local_bytes", TABLE_INT, 0}, {"code B", "code_bytes", TABLE_INT, 0},          \
        {"build s", "build_seconds", TABLE_NUMBER, 2}, {NULL, "toolchain", TABLE_TEXT, 0},         \
        {NULL, "toolchain_version", TABLE_TEXT, 0},                                                \
    {                                                                                              \
        NULL, "code_sha256", TABLE_TEXT, 0                                                         \
    }
static const struct table_column with_options[] = {
    FACTS, {NULL, "instructions", TABLE_TEXT, 0}, {"options", "options", TABLE_TEXT, 0}};
static const struct table_column with_instructions[] = {
    FACTS, {"instructions", "instructions", TABLE_TEXT, 0}, {NULL, "options", TABLE_TEXT, 0}};
static const struct table_column matrix_columns[] = {
    {"matrix instruction", "instruction", TABLE_TEXT, 0},
    {"kernels", "kernels", TABLE_INT, 0},
    {"in all", "count", TABLE_INT, 0},
};

/* Calls take() for each "NAME COUNT" of the text. */
static void each_count(const char *counts, void (*take)(gpointer data, const char *name, int count),
                       gpointer data)
{
    g_auto(GStrv) items = g_strsplit(counts ? counts : "", ", ", -1);
    for (char **item = items; *item; item++) {
        char *number = strchr(*item, ' ');
        if (!number)
            continue;
        *number++ = '\0';
        take(data, *item, atoi(number));
    }
}

static void take_member(gpointer data, const char *name, int count)
{
    json_object_set_new(data, name, json_integer(count));
}

/* Adds a cell with the counts of instructions, "v_mfma_f32_16x16x16f16 2, ...": null if they were
 * not counted. */
static void add_instructions(Table *table, const char *counts)
{
    json_t *object = counts ? json_object() : json_null();
    each_count(counts, take_member, object);
    table_text_as(table, counts ? counts : "-", object);
}

static void add_kernel(Table *table, const struct kernel_row *kernel)
{
    int waves = occupancy_waves(kernel->arch, kernel->registers, kernel->accumulation_registers,
                                kernel->scalar_registers);
    table_text(table, kernel->arch);
    table_text(table, kernel->file);
    table_text(table, kernel->entry);
    table_count(table, kernel->registers);
    table_count(table, kernel->accumulation_registers);
    table_count(table, kernel->scalar_registers);
    table_count(table, waves > 0 ? waves : -1);
    table_count(table, kernel->spills);
    table_count(table, kernel->scratch_bytes);
    table_count(table, kernel->local_bytes);
    table_count(table, kernel->code_bytes > 0 ? kernel->code_bytes : -1);
    table_number(table, kernel->seconds);
    table_text(table, kernel->toolchain);
    table_text(table, kernel->toolchain_version);
    table_text(table, kernel->code_sha256);
    add_instructions(table, kernel->instructions);
    table_text(table, kernel->options);
}

Table *report_kernels(Store *store, int64_t campaign, bool instructions, GError **error)
{
    g_autoptr(GPtrArray) kernels = store_list_kernels(store, campaign, error);
    if (!kernels)
        return NULL;
    G_STATIC_ASSERT(G_N_ELEMENTS(with_options) == G_N_ELEMENTS(with_instructions));
    Table *table =
        table_new(instructions ? with_instructions : with_options, G_N_ELEMENTS(with_options));
    for (guint i = 0; i < kernels->len; i++)
        add_kernel(table, g_ptr_array_index(kernels, i));
    return table;
}

/* ---- matrix units ---- */

struct sum {
    int kernels;
    int64_t count;
};

static bool is_matrix(const char *name)
{
    static const char *const prefixes[] = {"v_mfma_", "v_smfmac_", "v_wmma_", "v_swmmac_", "HMMA",
                                           "IMMA",    "DMMA",      "HGMMA",   "IGMMA",     "QGMMA"};
    for (gsize i = 0; i < G_N_ELEMENTS(prefixes); i++) {
        if (g_str_has_prefix(name, prefixes[i]))
            return true;
    }
    return false;
}

static void take_sum(gpointer data, const char *name, int count)
{
    GHashTable *sums = data;
    if (!is_matrix(name))
        return;
    struct sum *sum = g_hash_table_lookup(sums, name);
    if (!sum) {
        sum = g_new0(struct sum, 1);
        g_hash_table_insert(sums, g_strdup(name), sum);
    }
    sum->kernels++;
    sum->count += count;
}

Table *report_matrix_instructions(const GPtrArray *kernels)
{
    g_autoptr(GHashTable) sums = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    for (guint i = 0; i < kernels->len; i++) {
        const struct kernel_row *kernel = g_ptr_array_index(kernels, i);
        each_count(kernel->instructions, take_sum, sums);
    }
    g_autoptr(GList) names = g_list_sort(g_hash_table_get_keys(sums), (GCompareFunc)strcmp);
    Table *table = table_new(matrix_columns, G_N_ELEMENTS(matrix_columns));
    for (const GList *at = names; at; at = at->next) {
        const struct sum *sum = g_hash_table_lookup(sums, at->data);
        table_text(table, at->data);
        table_int(table, sum->kernels);
        table_int(table, sum->count);
    }
    return table;
}
