#include "export/release/export_source.h"

#include "schema/store_golden.h"

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

void export_source_init(struct export_source *source, Store *store, const struct export_wish *wish,
                        struct gate *gate)
{
    *source = (struct export_source){
        .advance = advance,
        .list = list,
        .store = store,
        .wish = wish,
        .stack = "",
        .gate = gate,
        .part_results = wish->part_results > 0 ? wish->part_results : EXPORT_PART_RESULTS,
    };
}
