#include "export/release/export_source.h"

#include "schema/results/store_golden.h"
#include "schema/store/store_campaigns.h"

/* configs that a job of a build-only campaign is taken to have built when the size of a part is
 * chosen; --configs may allow more */
#define BUILT_CONFIGS 8

static bool advance_built(const struct export_source *source, struct result_part *part,
                          GError **error)
{
    return store_next_built(source->store, source->wish->campaign,
                            MAX(source->part_results / BUILT_CONFIGS, 1), part, error);
}

static GPtrArray *list_built(const struct export_source *source, const struct result_part *part,
                             GError **error)
{
    const struct export_wish *wish = source->wish;
    GPtrArray *results =
        store_list_built(source->store, wish->campaign, wish->network, wish->tag, part, error);
    if (results != NULL && !gate_learn_kernels(source->gate, source->store, results, error)) {
        g_clear_pointer(&results, g_ptr_array_unref);
    }
    return results;
}

static bool advance(const struct export_source *source, struct result_part *part, GError **error)
{
    const struct export_wish *wish = source->wish;
    return wish->golden_target != NULL ? store_next_golden_rows(source->store, wish->golden_target,
                                                                source->part_results, part, error)
                                       : store_next_results(source->store, wish->campaign,
                                                            source->part_results, part, error);
}

static GPtrArray *list(const struct export_source *source, const struct result_part *part,
                       GError **error)
{
    const struct export_wish *wish = source->wish;
    const struct golden_query query = {
        wish->golden_target, wish->golden_version, source->stack, wish->network, wish->tag, part};
    GPtrArray *results = wish->golden_target != NULL
                             ? store_list_golden_rows(source->store, &query, error)
                             : store_list_judged_results(source->store, wish->campaign,
                                                         wish->network, wish->tag, part, error);
    if (results != NULL && !gate_learn_kernels(source->gate, source->store, results, error)) {
        g_clear_pointer(&results, g_ptr_array_unref);
    }
    return results;
}

/* Returns false with an error if the campaign no longer exists. A golden version always counts as
 * existing: reading one that was pruned meanwhile fails by itself. */
static bool still_there(const struct export_source *source, GError **error)
{
    const struct export_wish *wish = source->wish;
    if (wish->golden_target != NULL) {
        return true;
    }
    g_autoptr(GError) gone = NULL;
    struct campaign *campaign = store_get_campaign(source->store, wish->campaign, &gone);
    if (campaign != NULL) {
        campaign_free(campaign);
        return true;
    }
    if (g_error_matches(gone, STORE_ERROR, STORE_ERROR_NOT_FOUND)) {
        g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_CHECK,
                    "campaign %" G_GINT64_FORMAT " was dropped while its results were read",
                    (gint64)wish->campaign);
    } else {
        g_propagate_error(error, g_steal_pointer(&gone));
    }
    return false;
}

void export_source_init(struct export_source *source, Store *store, const struct export_wish *wish,
                        struct gate *gate)
{
    *source = (struct export_source){
        .advance = gate->built_only ? advance_built : advance,
        .list = gate->built_only ? list_built : list,
        .still_there = still_there,
        .store = store,
        .wish = wish,
        .stack = "",
        .gate = gate,
        .part_results = wish->part_results > 0 ? wish->part_results : EXPORT_PART_RESULTS,
    };
}
