#include "coordinator/network/plan/network_prepare.h"

#include "coordinator/network/passes/lower.h"
#include "coordinator/network/passes/passes.h"

#include <inttypes.h>
#include <string.h>

static const char *const choice_names[LAYOUT_CHOICE_COUNT] = {"NCHW", "NHWC", "per_layer"};

const char *layout_choice_name(enum layout_choice choice)
{
    return choice_names[choice];
}

bool layout_choice_parse(const char *name, enum layout_choice *choice)
{
    for (int i = 0; i < LAYOUT_CHOICE_COUNT; i++) {
        if (strcmp(choice_names[i], name) == 0) {
            *choice = (enum layout_choice)i;
            return true;
        }
    }
    return false;
}

void prepare_options_init(struct prepare_options *options)
{
    *options = (struct prepare_options){
        .type = TYPE_FP32,
        .layout = LAYOUT_CHOICE_NCHW,
        .fusion = FUSION_ALL,
        .in_place = true,
        .seed = 1,
    };
    quantise_options_init(&options->quantise);
}

void prepared_network_clear(struct prepared_network *prepared)
{
    graph_free(prepared->graph);
    network_plan_free(prepared->plan);
    *prepared = (struct prepared_network){0};
}

/* The passes that both the reference and the plan have: batch and weights. */
static struct graph *begin(struct graph *graph, const struct prepare_options *options,
                           bool *generated, GError **error)
{
    graph_propagate(graph);
    g_autoptr(Graph) copy = graph_copy(graph, NULL, NULL);
    if (options->batch > 0 && !network_set_batch(copy, options->batch, error)) {
        return NULL;
    }
    *generated = network_fill_weights(copy, options->seed) > 0;
    return g_steal_pointer(&copy);
}

struct graph *network_reference(struct graph *graph, const struct prepare_options *options,
                                GError **error)
{
    bool generated;
    return begin(graph, options, &generated, error);
}

/* INT8 networks have bias and activation fused at least. */
static enum fusion_level fusion_of(const struct prepare_options *options)
{
    return options->type == TYPE_INT8 ? MAX(options->fusion, FUSION_ACTIVATION) : options->fusion;
}

static bool set_type(struct graph *graph, const struct prepare_options *options,
                     struct quantise_result *quantised, GError **error)
{
    if (options->type == TYPE_INT8) {
        /* Kernels that quantising leaves in FP32 are fused again: one that dequantises with the one that reads its result. */
        return network_set_type(graph, ELEMENT_FLOAT32, error) &&
               network_quantise(graph, &options->quantise, quantised, error) &&
               network_fuse(graph, fusion_of(options), NULL, error);
    }
    enum element_type type = element_type_of_data_type(options->type);
    if (!element_type_is_float(type) || options->type == TYPE_FP8 || options->type == TYPE_BF8) {
        g_set_error(error, NETWORK_ERROR, NETWORK_ERROR_UNSUPPORTED,
                    "a network cannot be brought into %s", data_type_name(options->type));
        return false;
    }
    /* First what a model in another type has no rounding for. */
    return network_set_type(graph, ELEMENT_FLOAT32, error) && network_set_type(graph, type, error);
}

/* The passes up to the layout. */
static bool change(struct graph *graph, const struct prepare_options *options,
                   struct quantise_result *quantised, GError **error)
{
    network_match_quantised(graph);
    network_fold_constants(graph);
    if (!network_lower(graph, error)) {
        return false;
    }
    network_fold_borders(graph);
    network_fold_scales(graph);
    network_match_activations(graph);
    return network_fuse(graph, fusion_of(options), NULL, error) &&
           set_type(graph, options, quantised, error);
}

static bool set_layout(struct graph *graph, const struct prepare_options *options, GError **error)
{
    static const enum layout_wish wishes[LAYOUT_CHOICE_COUNT] = {
        LAYOUT_WISH_FIRST, LAYOUT_WISH_LAST, LAYOUT_WISH_CHEAPEST};
    return network_set_layout(graph, wishes[options->layout], &options->costs, NULL, error);
}

void calibrated_networks_clear(struct calibrated_networks *calibrated)
{
    for (int i = 0; i < FUSION_LEVEL_COUNT; i++) {
        graph_free(calibrated->levels[i].graph);
    }
    *calibrated = (struct calibrated_networks){0};
}

/* The network in its type, without a layout: a copy of one that was calibrated before, where there is one. */
static bool make_typed(struct graph *graph, const struct prepare_options *options,
                       struct prepared_network *prepared, GError **error)
{
    struct calibrated_network *kept = options->type == TYPE_INT8 && options->calibrated != NULL
                                          ? &options->calibrated->levels[fusion_of(options)]
                                          : NULL;
    if (kept == NULL || kept->graph == NULL) {
        prepared->graph = begin(graph, options, &prepared->weights_are_generated, error);
        if (prepared->graph == NULL ||
            !change(prepared->graph, options, &prepared->quantised, error)) {
            return false;
        }
        if (kept != NULL) {
            *kept =
                (struct calibrated_network){graph_copy(prepared->graph, NULL, NULL),
                                            prepared->quantised, prepared->weights_are_generated};
        }
        return true;
    }
    prepared->graph = graph_copy(kept->graph, NULL, NULL);
    prepared->quantised = kept->quantised;
    prepared->weights_are_generated = kept->weights_are_generated;
    return true;
}

static void set_knobs(struct network_plan *plan, const struct prepare_options *options)
{
    network_plan_set_knob(plan, "dtype",
                          options->tf32 ? OP_MODE_TF32 : data_type_name(options->type));
    network_plan_set_knob(plan, "layout", layout_choice_name(options->layout));
    network_plan_set_knob(plan, "fusion", fusion_level_name(options->fusion));
    network_plan_set_knob(plan, "in_place", options->in_place ? "yes" : "no");
}

static bool prepare(struct graph *graph, const struct prepare_options *options,
                    struct prepared_network *prepared, GError **error)
{
    if (!make_typed(graph, options, prepared, error) ||
        !set_layout(prepared->graph, options, error)) {
        return false;
    }
    const struct plan_options plan = {
        .network = options->network,
        .serves = options->serves,
        .context = options->context,
        .in_place = options->in_place,
        .tf32 = options->tf32,
        .weights_are_generated = prepared->weights_are_generated,
        .seed = options->seed,
    };
    prepared->plan = plan_build(prepared->graph, &plan, error);
    if (prepared->plan != NULL) {
        set_knobs(prepared->plan, options);
    }
    return prepared->plan != NULL;
}

/* The steps of the network with everything fused, by their names alone: all that grouping needs. */
static struct network_plan *fused_steps(struct graph *graph, const struct prepare_options *options,
                                        GError **error)
{
    struct prepare_options all = *options;
    struct quantise_result unused;
    struct problem neutral;
    bool generated;
    all.fusion = FUSION_ALL;
    all.type = TYPE_FP32;
    g_autoptr(Graph) fused = begin(graph, &all, &generated, error);
    if (fused == NULL || !change(fused, &all, &unused, error) || !set_layout(fused, &all, error)) {
        return NULL;
    }
    struct network_plan *plan = network_plan_new("", 1);
    problem_init(&neutral);
    for (struct node *node = graph_first(fused); node != NULL; node = node_next(node)) {
        if (node_is_kernel(node)) {
            network_plan_add_step(plan, node_name(node), kernel_nodes(node), &neutral);
        }
    }
    return plan;
}

bool network_prepare(struct graph *graph, const struct prepare_options *options,
                     struct prepared_network *prepared, GError **error)
{
    *prepared = (struct prepared_network){0};
    bool done = prepare(graph, options, prepared, error);
    if (done && options->fusion != FUSION_ALL) {
        g_autoptr(NetworkPlan) fused = fused_steps(graph, options, error);
        done = fused != NULL;
        if (done) {
            network_plan_set_groups(prepared->plan, fused);
        }
    }
    if (!done) {
        prepared_network_clear(prepared);
    }
    return done;
}
