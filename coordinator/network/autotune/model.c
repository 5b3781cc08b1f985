#include "coordinator/network/autotune/model.h"

#include "coordinator/cli/cli.h"
#include "coordinator/import/import_reader.h"
#include "coordinator/network/autotune/execute.h"
#include "coordinator/network/host/host_eval.h"
#include "coordinator/network/passes/passes.h"
#include "coordinator/network/plan/network_prepare.h"
#include "coordinator/network/samples.h"

#include <string.h>

/* ---- opening ---- */

static bool read_file(struct model *model, GError **error)
{
    g_autofree char *bytes = NULL;
    g_autofree char *folder = g_path_get_dirname(model->wish->path);
    gsize length = 0;
    if (!g_file_get_contents(model->wish->path, &bytes, &length, error))
        return false;
    if (!onnx_file_is_model(bytes, length)) {
        g_set_error(error, COORDINATOR_ERROR, COORDINATOR_ERROR_USAGE,
                    "'%s' is no ONNX model; a network is tuned as a whole from its model's file, "
                    "which must not be packed",
                    model->wish->path);
        return false;
    }
    model->sha256 = g_compute_checksum_for_data(G_CHECKSUM_SHA256, (const guchar *)bytes, length);
    model->file = onnx_file_new(model->wish->path, folder, bytes, length, error);
    return model->file != NULL;
}

static bool read_dims(struct model *model, GError **error)
{
    model->dim_words = g_strdupv((char **)(uintptr_t)model->wish->dims);
    for (int i = 0; model->dim_words && model->dim_words[i]; i++) {
        if (!onnx_dim_parse(model->dim_words[i], &model->options, error))
            return false;
    }
    model->options.batch = model->wish->batch;
    return true;
}

static char *model_name(const struct model *model)
{
    struct onnx_about about;
    onnx_about_read(model->file, &about);
    char *name = import_onnx_name(&about, model->wish->path);
    onnx_about_clear(&about);
    return name;
}

static void say_notes(const struct onnx_notes *notes)
{
    for (guint i = 0; notes->lines && i < notes->lines->len; i++)
        cli_note("%s\n", (const char *)g_ptr_array_index(notes->lines, i));
}

static Graph *read_graph(struct model *model, GError **error)
{
    struct onnx_notes notes;
    onnx_notes_init(&notes);
    Graph *graph = onnx_read_graph(model->file, &model->options, &notes, error);
    if (graph) {
        model->batch = notes.batch;
        say_notes(&notes);
    }
    onnx_notes_clear(&notes);
    return graph;
}

/* Gives the network the batch that was asked for, also where the model fixes another. */
static bool set_batch(struct model *model, GError **error)
{
    if (model->wish->batch == 0 || model->wish->batch == model->batch)
        return true;
    if (!network_set_batch(model->graph, model->wish->batch, error))
        return false;
    model->batch = model->wish->batch;
    return true;
}

/* The samples of all inputs: the user's files, or random numbers. */
static bool read_inputs(struct model *model, const Graph *graph, GError **error)
{
    g_autofree struct shape *shapes = g_new0(struct shape, graph->inputs->len + 1);
    int64_t count = 0;
    for (guint i = 0; i < graph->inputs->len; i++) {
        const struct value *input = g_ptr_array_index(graph->inputs, i);
        shapes[i] = input->shape;
        count += shape_elements(&shapes[i]);
    }
    model->input_count = count;
    model->inputs = model->wish->inputs
                        ? samples_join(model->wish->inputs, shapes, (int)graph->inputs->len,
                                       &model->input_count, error)
                        : samples_random(model->wish->seed, count);
    return model->inputs != NULL;
}

/* The samples that INT8 is calibrated with: the user's files, each of which has one run or several; else the inputs. */
static bool read_samples(struct model *model, GError **error)
{
    GArray *all = g_array_new(FALSE, FALSE, sizeof(float));
    char *const *files = model->wish->calibrate;
    bool read = true;
    for (int i = 0; read && files && files[i]; i++) {
        struct samples samples;
        read = samples_read(&samples, files[i], error);
        if (read && (model->input_count == 0 || samples.count == 0 ||
                     samples.count % model->input_count != 0)) {
            g_set_error(error, NETWORK_ERROR, NETWORK_ERROR_INVALID,
                        "'%s' has %" G_GINT64_FORMAT " elements; a run reads %" G_GINT64_FORMAT
                        ", and a file has one run or several",
                        files[i], samples.count, model->input_count);
            read = false;
        } else if (read)
            g_array_append_vals(all, samples.values, (guint)samples.count);
        samples_clear(&samples);
    }
    if (!files) {
        g_autofree float *random = samples_random(model->wish->seed, model->input_count);
        g_array_append_vals(all, model->wish->calibrates_randomly ? random : model->inputs,
                            (guint)model->input_count);
    }
    model->sample_count = model->input_count > 0 ? (int)(all->len / (guint)model->input_count) : 0;
    model->samples = (float *)(void *)g_array_free(all, FALSE);
    return read;
}

bool model_open(struct model *model, const struct model_wish *wish, GError **error)
{
    *model = (struct model){.wish = wish};
    if (!read_file(model, error) || !read_dims(model, error))
        return false;
    model->name = model_name(model);
    model->graph = read_graph(model, error);
    return model->graph && set_batch(model, error) && read_inputs(model, model->graph, error) &&
           read_samples(model, error);
}

void model_clear(struct model *model)
{
    calibrated_networks_clear(&model->calibrated);
    g_clear_pointer(&model->graph, graph_free);
    g_clear_pointer(&model->file, onnx_file_free);
    g_clear_pointer(&model->name, g_free);
    g_clear_pointer(&model->sha256, g_free);
    g_clear_pointer(&model->dim_words, g_strfreev);
    g_clear_pointer(&model->inputs, g_free);
    g_clear_pointer(&model->samples, g_free);
    g_clear_pointer(&model->reference, g_free);
}

char *model_calibration(const struct model *model)
{
    return g_strdup_printf("%s, %s", calibration_name(model->wish->calibration),
                           model->wish->per_tensor ? "tensor" : "channel");
}

bool model_calibration_parse(const char *text, struct model_wish *wish)
{
    g_auto(GStrv) words = g_strsplit(text, ", ", 2);
    if (g_strv_length(words) != 2 || !calibration_parse(words[0], &wish->calibration))
        return false;
    wish->per_tensor = strcmp(words[1], "tensor") == 0;
    return true;
}

/* The type of the first input of floats. */
const char *model_dtype(const struct model *model)
{
    for (guint i = 0; i < model->graph->inputs->len; i++) {
        const struct value *input = g_ptr_array_index(model->graph->inputs, i);
        enum data_type type;
        if (element_type_is_float(input->shape.type) &&
            element_type_to_data_type(input->shape.type, &type))
            return data_type_name(type);
    }
    return data_type_name(TYPE_FP32);
}

/* ---- planning ---- */

static void prepare_common(const struct model *model, struct prepare_options *options)
{
    prepare_options_init(options);
    options->network = model->name;
    options->seed = model->wish->seed;
}

static void set_knobs(struct network_plan *plan, const struct combination *combination)
{
    for (int k = 0; k < KNOB_COUNT; k++)
        network_plan_set_knob(plan, knob_table[k].name, combination->values[k]);
}

static double layout_cost(const struct problem *problem, void *target)
{
    return estimated_ms(problem, target);
}

static double layout_cost_in_tf32(const struct problem *problem, void *target)
{
    struct problem permitted = *problem;
    plan_permit_tf32(&permitted);
    return estimated_ms(&permitted, target);
}

/* Reads the knob's value: a type, or TF32, which is FP32 tensors whose convolutions may be computed so. */
static bool parse_dtype(const char *name, struct prepare_options *options)
{
    options->tf32 = strcmp(name, OP_MODE_TF32) == 0;
    options->type = TYPE_FP32;
    return options->tf32 || data_type_parse(name, &options->type);
}

struct network_plan *model_plan(struct model *model, const struct combination *combination,
                                const struct target *target, GError **error)
{
    struct prepare_options options;
    struct prepared_network prepared;
    prepare_common(model, &options);
    options.serves = plan_target_serves;
    options.context = (void *)(uintptr_t)target;
    if (!parse_dtype(combination->values[KNOB_DTYPE], &options) ||
        !layout_choice_parse(combination->values[KNOB_LAYOUT], &options.layout) ||
        !fusion_level_parse(combination->values[KNOB_FUSION], &options.fusion))
        g_assert_not_reached();
    options.costs = (struct layout_costs){options.tf32 ? layout_cost_in_tf32 : layout_cost,
                                          (void *)(uintptr_t)target};
    options.quantise.samples = model->samples;
    options.quantise.sample_count = model->sample_count;
    options.quantise.seed = model->wish->seed;
    options.quantise.calibration = model->wish->calibration;
    options.quantise.per_tensor = model->wish->per_tensor;
    options.calibrated = &model->calibrated;
    if (!network_prepare(model->graph, &options, &prepared, error))
        return NULL;
    struct network_plan *plan = g_steal_pointer(&prepared.plan);
    prepared_network_clear(&prepared);
    set_knobs(plan, combination);
    return plan;
}

bool model_reference(struct model *model, GError **error)
{
    struct prepare_options options;
    if (model->reference)
        return true;
    prepare_common(model, &options);
    g_autoptr(Graph) graph = network_reference(model->graph, &options, error);
    return graph && host_evaluate_samples(graph, model->inputs, model->input_count, NULL,
                                          &model->reference, &model->reference_count, error);
}
