#include "coordinator/network/onnx/onnx_reader.h"

#include <string.h>

/* How exporters call themselves, and the framework that they export from. */
static const struct {
    const char *producer, *framework;
} producers[] = {
    {"pytorch", "PyTorch"},
    {"onnx-caffe2", "Caffe2"},
    {"caffe2", "Caffe2"},
    {"tf2onnx", "TensorFlow"},
    {"keras2onnx", "Keras"},
    {"CNTK", "CNTK"},
    {"mxnet", "MXNet"},
    {"onnx-mxnet", "MXNet"},
    {"PaddlePaddle", "PaddlePaddle"},
    {"paddle2onnx", "PaddlePaddle"},
    {"Chainer", "Chainer"},
    {"onnx-chainer", "Chainer"},
    {"OnnxMLTools", "OnnxMLTools"},
    {"jax2onnx", "JAX"},
};

/* Names that exporters give every graph. */
static const char *const empty_names[] = {
    "torch_jit", "torch-jit-export", "main_graph", "main", "graph",
    "tf2onnx",   "onnx_graph",       "model",      "",     "Model",
    "CNTKGraph", "main-graph",       "network",    "g",
};

void onnx_about_read(const OnnxFile *file, struct onnx_about *about)
{
    const Onnx__ModelProto *model = onnx_file_model(file);
    const char *producer = onnx_text_or(model->producer_name, NULL), *graph = model->graph->name;
    *about = (struct onnx_about){0};
    for (size_t i = 0; producer != NULL && i < G_N_ELEMENTS(producers); i++) {
        if (g_ascii_strcasecmp(producer, producers[i].producer) == 0) {
            producer = producers[i].framework;
        }
    }
    about->framework = producer != NULL ? g_utf8_make_valid(producer, -1) : NULL;
    bool says = graph != NULL;
    for (size_t i = 0; says && i < G_N_ELEMENTS(empty_names); i++) {
        says = strcmp(graph, empty_names[i]) != 0;
    }
    about->model = says ? g_utf8_make_valid(graph, -1) : NULL;
    const char *version = onnx_text_or(model->producer_version, NULL);
    about->version = version != NULL ? g_utf8_make_valid(version, -1) : NULL;
}

void onnx_about_clear(struct onnx_about *about)
{
    g_free(about->framework);
    g_free(about->model);
    g_free(about->version);
    *about = (struct onnx_about){0};
}
