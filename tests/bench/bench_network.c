/*
 * Whole networks beside oneDNN on this machine's CPU: SqueezeNet and ResNet-50, FP32, batch 1. `skipjack autotune` tunes
 * (a finished file costs nothing) and `run-network` runs our pipeline; oneDNN's primitives do the steps of the same plan
 * in sequence. The two take turns, since a machine's speed changes for seconds at a time.
 *
 * oneDNN has as many threads as we and its best case: the formats that it prefers, weights reordered before the clock
 * starts, bias, residual and ReLU as parts of the convolution, memory reused as soon as it is free. Reorders between
 * layers that prefer different formats, and concatenations, are part of its time.
 *
 * BENCH_NETWORK has the words for autotune ("--budget 60 --configs 4" with make); empty: nothing is tuned, and our steps
 * are those with the best estimates. usage: bench_network [MODEL.onnx...], by default both networks of $SKIPJACK_DATA/onnx.
 *
 * Exit status 1 where the outputs differ, or a side fails.
 */
#include "coordinator/network/autotune/model.h"
#include "solvers/problem/problem_key.h"
#include "tests/support/kernels/solution_run.h"
#include "tests/support/temp_folder.h"

#include <dnnl.h>
#include <jansson.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TURNS        3
#define TURN_SECONDS 1.0
#define TURN_RUNS    200
#define WARM_RUNS    3
#define TOLERANCE    1e-4 /* of outputs, as a part of the largest one */
#define ARGUMENTS    8

void omp_set_num_threads(int count);

static void must(dnnl_status_t status, const char *step, const char *what)
{
    if (status != dnnl_success)
        g_error("step '%s': oneDNN cannot %s: status %d", step, what, (int)status);
}

/* ---- memory ---- */

struct piece {
    void *data;
    gsize bytes;
    int last_step; /* the piece is free after it */
};

/* A tensor that oneDNN holds: a part of one of the plan's buffers, in a format of oneDNN's. */
struct blob {
    int home; /* the plan's buffer that has the memory */
    int64_t offset, bytes;
    dnnl_dims_t sizes;
    dnnl_memory_desc_t desc;
    dnnl_memory_t memory;
    gsize piece; /* index */
};

struct call {
    dnnl_primitive_t primitive;
    dnnl_exec_arg_t arguments[ARGUMENTS];
    int count;
};

struct sequence {
    const struct network_plan *plan;
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    GArray *pieces;  /* of struct piece */
    GArray *tensors; /* of struct blob */
    GArray *calls;   /* of struct call */
    GPtrArray *weights;
    struct blob input;
    const struct plan_step *step; /* the one that is being made */
    int index;
};

static gsize take_piece(struct sequence *s, gsize bytes, int last_step)
{
    for (guint i = 0; i < s->pieces->len; i++) {
        struct piece *piece = &g_array_index(s->pieces, struct piece, i);
        if (piece->last_step < s->index && piece->bytes >= bytes && piece->bytes <= 4 * bytes) {
            piece->last_step = last_step;
            return i;
        }
    }
    struct piece made = {g_aligned_alloc0(1, bytes, 64), bytes, last_step};
    g_array_append_val(s->pieces, made);
    return s->pieces->len - 1;
}

static void make_memory(struct sequence *s, struct blob *tensor, int last_step)
{
    tensor->piece = take_piece(s, dnnl_memory_desc_get_size(&tensor->desc), last_step);
    must(dnnl_memory_create(&tensor->memory, &tensor->desc, s->engine,
                            g_array_index(s->pieces, struct piece, tensor->piece).data),
         s->step->name, "make a tensor");
}

static dnnl_memory_desc_t describe(const struct sequence *s, int count, const dnnl_dims_t sizes,
                                   dnnl_format_tag_t tag)
{
    dnnl_memory_desc_t desc;
    must(dnnl_memory_desc_init_by_tag(&desc, count, sizes, dnnl_f32, tag), s->step->name,
         "describe a tensor");
    return desc;
}

/* ---- calls ---- */

static void add_call(struct sequence *s, dnnl_primitive_desc_t desc, struct call call)
{
    must(dnnl_primitive_create(&call.primitive, desc), s->step->name, "make a primitive");
    dnnl_primitive_desc_destroy(desc);
    g_array_append_val(s->calls, call);
}

static void run_calls(const struct sequence *s, guint from)
{
    for (guint i = from; i < s->calls->len; i++) {
        const struct call *call = &g_array_index(s->calls, struct call, i);
        must(dnnl_primitive_execute(call->primitive, s->stream, call->count, call->arguments),
             "of all", "run a primitive");
    }
    must(dnnl_stream_wait(s->stream), "of all", "wait");
}

static void add_reorder(struct sequence *s, const dnnl_memory_desc_t *from_desc, dnnl_memory_t from,
                        const dnnl_memory_desc_t *to_desc, dnnl_memory_t to)
{
    dnnl_primitive_desc_t desc;
    must(dnnl_reorder_primitive_desc_create(&desc, from_desc, s->engine, to_desc, s->engine, NULL),
         s->step->name, "reorder a tensor");
    add_call(s, desc, (struct call){NULL, {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}}, 2});
}

/* Reorders at once: the calls that it took are not part of the sequence. */
static void reorder_now(struct sequence *s, const dnnl_memory_desc_t *from_desc, void *from,
                        const dnnl_memory_desc_t *to_desc, void *to)
{
    dnnl_memory_t source, target;
    guint before = s->calls->len;
    must(dnnl_memory_create(&source, from_desc, s->engine, from), s->step->name, "see a tensor");
    must(dnnl_memory_create(&target, to_desc, s->engine, to), s->step->name, "see a tensor");
    add_reorder(s, from_desc, source, to_desc, target);
    run_calls(s, before);
    dnnl_primitive_destroy(g_array_index(s->calls, struct call, before).primitive);
    g_array_set_size(s->calls, before);
    dnnl_memory_destroy(source);
    dnnl_memory_destroy(target);
}

static struct blob reordered(struct sequence *s, const struct blob *tensor,
                             const dnnl_memory_desc_t *wanted)
{
    struct blob made = *tensor;
    if (dnnl_memory_desc_equal(&tensor->desc, wanted))
        return made;
    made.desc = *wanted;
    make_memory(s, &made, s->index);
    add_reorder(s, &tensor->desc, tensor->memory, &made.desc, made.memory);
    return made;
}

/* ---- where a step's operands are ---- */

static struct blob place_of(const struct sequence *s, enum tensor_role role)
{
    const struct plan_operand *operand = &s->step->operands[role];
    const struct plan_buffer *buffer = plan_buffer_at(s->plan, operand->buffer);
    struct blob place = {.home = operand->buffer, .offset = operand->offset_bytes};
    int64_t sizes[5];
    if (buffer->alias_of >= 0) {
        place.home = buffer->alias_of;
        place.offset += buffer->alias_offset;
    }
    problem_operand_sizes(&s->step->problem, role, sizes);
    place.sizes[0] = sizes[0], place.sizes[1] = sizes[1];
    place.sizes[2] = sizes[3], place.sizes[3] = sizes[4];
    place.bytes = sizes[0] * sizes[1] * sizes[3] * sizes[4] * (int64_t)sizeof(float);
    return place;
}

/* Concatenates the tensors that lie one behind the other in the place: with batch 1 they are its channels. */
static struct blob concatenated(struct sequence *s, struct blob place)
{
    dnnl_memory_desc_t descs[ARGUMENTS - 1];
    struct call call = {0};
    int64_t reached = place.offset;
    int count = 0;
    for (guint i = 0; i < s->tensors->len && count < ARGUMENTS - 1; i++) {
        const struct blob *part = &g_array_index(s->tensors, struct blob, i);
        if (part->home != place.home || part->offset != reached)
            continue;
        descs[count] = part->desc;
        call.arguments[count] = (dnnl_exec_arg_t){DNNL_ARG_MULTIPLE_SRC + count, part->memory};
        count++;
        reached += part->bytes;
        i = (guint)-1;
    }
    if (reached != place.offset + place.bytes || place.sizes[0] != 1)
        g_error("step '%s': its input is not what steps before it wrote", s->step->name);
    dnnl_primitive_desc_t desc;
    must(dnnl_concat_primitive_desc_create(&desc, NULL, count, 1, descs, NULL, s->engine),
         s->step->name, "concatenate");
    place.desc = *dnnl_primitive_desc_query_md(desc, dnnl_query_dst_md, 0);
    make_memory(s, &place, plan_buffer_at(s->plan, place.home)->last_step);
    call.arguments[count] = (dnnl_exec_arg_t){DNNL_ARG_DST, place.memory};
    call.count = count + 1;
    add_call(s, desc, call);
    g_array_append_val(s->tensors, place);
    return place;
}

static struct blob operand_of(struct sequence *s, enum tensor_role role)
{
    struct blob place = place_of(s, role);
    for (guint i = 0; i < s->tensors->len; i++) {
        const struct blob *tensor = &g_array_index(s->tensors, struct blob, i);
        if (tensor->home == place.home && tensor->offset == place.offset &&
            memcmp(tensor->sizes, place.sizes, 4 * sizeof *place.sizes) == 0)
            return *tensor;
    }
    return concatenated(s, place);
}

/* A constant in the format that the primitive wants. */
static dnnl_memory_t constant_of(struct sequence *s, enum tensor_role role,
                                 const dnnl_memory_desc_t *plain, const dnnl_memory_desc_t *wanted)
{
    const struct plan_operand *operand = &s->step->operands[role];
    GBytes *data = plan_buffer_at(s->plan, operand->buffer)->data;
    void *room = g_aligned_alloc0(1, dnnl_memory_desc_get_size(wanted), 64);
    dnnl_memory_t memory;
    char *bytes = (char *)(uintptr_t)g_bytes_get_data(data, NULL);
    reorder_now(s, plain, bytes + operand->offset_bytes, wanted, room);
    g_ptr_array_add(s->weights, room);
    must(dnnl_memory_create(&memory, wanted, s->engine, room), s->step->name, "make weights");
    return memory;
}

/* ---- steps ---- */

static void window_of(const struct problem *p, dnnl_dims_t stride, dnnl_dims_t gap,
                      dnnl_dims_t size, dnnl_dims_t before, dnnl_dims_t behind)
{
    for (int i = 0; i < 2; i++) {
        int axis = AXIS_H + i;
        stride[i] = p->stride[axis];
        gap[i] = p->dilation[axis] - 1;
        size[i] = p->fil[axis];
        before[i] = p->pad[axis];
        behind[i] = (p->out[axis] - 1) * p->stride[axis] + (p->fil[axis] - 1) * p->dilation[axis] +
                    1 - p->in[axis] - p->pad[axis];
    }
}

static dnnl_primitive_attr_t attributes_of(const struct sequence *s)
{
    const char *steps = s->step->problem.epilogue;
    dnnl_primitive_attr_t attributes;
    dnnl_post_ops_t after;
    must(dnnl_primitive_attr_create(&attributes), s->step->name, "make attributes");
    must(dnnl_post_ops_create(&after), s->step->name, "make attributes");
    steps += g_str_has_prefix(steps, "+bias") ? strlen("+bias") : 0;
    if (g_str_has_prefix(steps, "+add(FP32,NCHW)")) {
        dnnl_post_ops_append_sum(after, 1);
        steps += strlen("+add(FP32,NCHW)");
    }
    if (g_str_has_prefix(steps, "+relu")) {
        dnnl_post_ops_append_eltwise(after, 1, dnnl_eltwise_relu, 0, 0);
        steps += strlen("+relu");
    }
    if (*steps)
        g_error("step '%s': '%s' is not compared", s->step->name, s->step->problem.epilogue);
    must(dnnl_primitive_attr_set_post_ops(attributes, after), s->step->name, "fuse");
    dnnl_post_ops_destroy(after);
    return attributes;
}

/* The output's memory. oneDNN adds to what is there: the residual itself where nothing reads it later, else a copy. */
static struct blob output_of(struct sequence *s, const dnnl_memory_desc_t *desc)
{
    struct blob y = place_of(s, TENSOR_Y);
    int last = plan_buffer_at(s->plan, y.home)->last_step;
    y.desc = *desc;
    if (problem_has_operand(&s->step->problem, TENSOR_RESIDUAL)) {
        struct blob residual = operand_of(s, TENSOR_RESIDUAL);
        const struct plan_buffer *buffer = plan_buffer_at(s->plan, residual.home);
        if (buffer->kind == PLAN_ACTIVATION && buffer->last_step == s->index &&
            dnnl_memory_desc_equal(&residual.desc, desc)) {
            y.memory = residual.memory;
            y.piece = residual.piece;
            g_array_index(s->pieces, struct piece, y.piece).last_step = last;
            return y;
        }
        make_memory(s, &y, last);
        add_reorder(s, &residual.desc, residual.memory, &y.desc, y.memory);
        return y;
    }
    make_memory(s, &y, last);
    return y;
}

static dnnl_primitive_desc_t convolution_desc(struct sequence *s, const struct blob *x,
                                              const dnnl_memory_desc_t *w,
                                              const dnnl_memory_desc_t *bias,
                                              const dnnl_memory_desc_t *y)
{
    const struct problem *p = &s->step->problem;
    dnnl_dims_t stride, gap, size, before, behind;
    dnnl_convolution_desc_t desc;
    dnnl_primitive_attr_t attributes = attributes_of(s);
    dnnl_primitive_desc_t made;
    dnnl_memory_desc_t any = describe(s, 4, x->sizes, dnnl_format_tag_any);
    window_of(p, stride, gap, size, before, behind);
    must(dnnl_dilated_convolution_forward_desc_init(&desc, dnnl_forward_inference,
                                                    dnnl_convolution_auto, &any, w, bias, y, stride,
                                                    gap, before, behind),
         s->step->name, "describe the convolution");
    must(dnnl_primitive_desc_create(&made, &desc, attributes, s->engine, NULL), s->step->name,
         "do the convolution");
    dnnl_primitive_attr_destroy(attributes);
    return made;
}

static dnnl_primitive_desc_t product_desc(struct sequence *s, const struct blob *x,
                                          const dnnl_memory_desc_t *w,
                                          const dnnl_memory_desc_t *bias,
                                          const dnnl_memory_desc_t *y)
{
    dnnl_inner_product_desc_t desc;
    dnnl_primitive_attr_t attributes = attributes_of(s);
    dnnl_primitive_desc_t made;
    dnnl_memory_desc_t any = describe(s, 4, x->sizes, dnnl_format_tag_any);
    must(dnnl_inner_product_forward_desc_init(&desc, dnnl_forward_inference, &any, w, bias, y),
         s->step->name, "describe the product");
    must(dnnl_primitive_desc_create(&made, &desc, attributes, s->engine, NULL), s->step->name,
         "do the product");
    dnnl_primitive_attr_destroy(attributes);
    return made;
}

/* A convolution; an inner product where there is no space. */
static void add_convolution(struct sequence *s)
{
    const struct problem *p = &s->step->problem;
    bool is_product = p->groups == 1 && p->in[AXIS_H] * p->in[AXIS_W] == 1 &&
                      p->fil[AXIS_H] * p->fil[AXIS_W] == 1;
    bool has_bias = problem_has_operand(p, TENSOR_BIAS);
    struct blob x = operand_of(s, TENSOR_X), place = place_of(s, TENSOR_Y);
    dnnl_dims_t grouped = {p->groups, p->k / p->groups, p->c / p->groups, p->fil[AXIS_H],
                           p->fil[AXIS_W]};
    dnnl_dims_t bias_size = {p->k};
    const int64_t *filter = is_product || p->groups == 1 ? grouped + 1 : grouped;
    int axes = p->groups == 1 ? 4 : 5;
    dnnl_memory_desc_t w = describe(s, axes, filter, dnnl_format_tag_any);
    dnnl_memory_desc_t plain = describe(s, axes, filter, axes == 4 ? dnnl_oihw : dnnl_goihw);
    dnnl_memory_desc_t bias = describe(s, 1, bias_size, dnnl_a);
    dnnl_memory_desc_t y = is_product ? describe(s, 2, place.sizes, dnnl_ab)
                                      : describe(s, 4, place.sizes, dnnl_format_tag_any);
    dnnl_primitive_desc_t desc =
        (is_product ? product_desc : convolution_desc)(s, &x, &w, has_bias ? &bias : NULL, &y);
    dnnl_memory_t filter_memory = constant_of(
        s, TENSOR_W, &plain, dnnl_primitive_desc_query_md(desc, dnnl_query_weights_md, 0));
    y = *dnnl_primitive_desc_query_md(desc, dnnl_query_dst_md, 0);
    x = reordered(s, &x, dnnl_primitive_desc_query_md(desc, dnnl_query_src_md, 0));
    struct blob out = output_of(s, &y);
    struct call call = {
        NULL,
        {{DNNL_ARG_SRC, x.memory}, {DNNL_ARG_WEIGHTS, filter_memory}, {DNNL_ARG_DST, out.memory}},
        3};
    if (has_bias)
        call.arguments[call.count++] =
            (dnnl_exec_arg_t){DNNL_ARG_BIAS, constant_of(s, TENSOR_BIAS, &bias, &bias)};
    add_call(s, desc, call);
    if (is_product)
        out.desc = describe(s, 4, out.sizes, dnnl_nchw);
    g_array_append_val(s->tensors, out);
}

static void add_simple(struct sequence *s, const void *described, const struct blob *x)
{
    dnnl_primitive_desc_t desc;
    must(dnnl_primitive_desc_create(&desc, described, NULL, s->engine, NULL), s->step->name,
         "do the step");
    struct blob out = output_of(s, dnnl_primitive_desc_query_md(desc, dnnl_query_dst_md, 0));
    add_call(s, desc,
             (struct call){NULL, {{DNNL_ARG_SRC, x->memory}, {DNNL_ARG_DST, out.memory}}, 2});
    g_array_append_val(s->tensors, out);
}

static void add_pool(struct sequence *s)
{
    const struct problem *p = &s->step->problem;
    struct blob x = operand_of(s, TENSOR_X), place = place_of(s, TENSOR_Y);
    dnnl_dims_t stride, gap, size, before, behind;
    dnnl_pooling_desc_t desc;
    dnnl_alg_kind_t kind = g_str_equal(p->mode, "max")       ? dnnl_pooling_max
                           : g_str_equal(p->mode, "average") ? dnnl_pooling_avg_exclude_padding
                                                             : dnnl_pooling_avg_include_padding;
    dnnl_memory_desc_t y = describe(s, 4, place.sizes, dnnl_format_tag_any);
    window_of(p, stride, gap, size, before, behind);
    for (int i = 0; i < 2; i++)
        behind[i] = MAX(behind[i], 0);
    must(dnnl_pooling_forward_desc_init(&desc, dnnl_forward_inference, kind, &x.desc, &y, stride,
                                        size, before, behind),
         s->step->name, "describe the pool");
    add_simple(s, &desc, &x);
}

static void add_softmax(struct sequence *s)
{
    struct blob x = operand_of(s, TENSOR_X);
    dnnl_softmax_desc_t desc;
    must(dnnl_softmax_forward_desc_init(&desc, dnnl_forward_inference, &x.desc, 1), s->step->name,
         "describe the softmax");
    add_simple(s, &desc, &x);
}

static void add_step(struct sequence *s)
{
    const struct problem *p = &s->step->problem;
    char key[PROBLEM_KEY_MAX];
    if (p->spatial_dim != 2 || p->direction != DIRECTION_F || problem_is_strided(p) ||
        (p->kind != OP_CONV && p->epilogue[0]))
        g_error("step '%s': %s is not compared", s->step->name, problem_key(p, key));
    if (p->kind == OP_CONV)
        add_convolution(s);
    else if (p->kind == OP_POOL)
        add_pool(s);
    else if (p->kind == OP_SOFTMAX)
        add_softmax(s);
    else
        g_error("step '%s': %s is not compared", s->step->name, problem_key(p, key));
}

static void sequence_init(struct sequence *s, const struct network_plan *plan, int threads,
                          const float *inputs)
{
    *s = (struct sequence){.plan = plan, .step = plan_step_at(plan, 0)};
    s->pieces = g_array_new(FALSE, FALSE, sizeof(struct piece));
    s->tensors = g_array_new(FALSE, FALSE, sizeof(struct blob));
    s->calls = g_array_new(FALSE, FALSE, sizeof(struct call));
    s->weights = g_ptr_array_new_with_free_func(g_aligned_free);
    omp_set_num_threads(threads);
    must(dnnl_engine_create(&s->engine, dnnl_cpu, 0), "first", "open the CPU");
    must(dnnl_stream_create(&s->stream, s->engine, dnnl_stream_default_flags), "first", "start");
    s->input = place_of(s, TENSOR_X);
    s->input.desc = describe(s, 4, s->input.sizes, dnnl_nchw);
    make_memory(s, &s->input, G_MAXINT);
    g_array_append_val(s->tensors, s->input);
    memcpy(g_array_index(s->pieces, struct piece, s->input.piece).data, inputs,
           (gsize)s->input.bytes);
    for (s->index = 0; s->index < (int)plan->steps->len; s->index++) {
        s->step = plan_step_at(plan, s->index);
        add_step(s);
    }
}

/* The last step's output in plain order. Free with g_free(). */
static float *sequence_output(struct sequence *s, gsize *count)
{
    const struct blob *y = &g_array_index(s->tensors, struct blob, s->tensors->len - 1);
    dnnl_memory_desc_t plain = describe(s, 4, y->sizes, dnnl_nchw);
    float *output = g_malloc((gsize)y->bytes);
    *count = (gsize)y->bytes / sizeof *output;
    reorder_now(s, &y->desc, g_array_index(s->pieces, struct piece, y->piece).data, &plain, output);
    return output;
}

/* The end of the process frees memory objects and primitives. */
static void sequence_clear(struct sequence *s)
{
    for (guint i = 0; i < s->calls->len; i++)
        dnnl_primitive_destroy(g_array_index(s->calls, struct call, i).primitive);
    for (guint i = 0; i < s->pieces->len; i++)
        g_aligned_free(g_array_index(s->pieces, struct piece, i).data);
    g_array_unref(s->calls);
    g_array_unref(s->tensors);
    g_array_unref(s->pieces);
    g_ptr_array_unref(s->weights);
    dnnl_stream_destroy(s->stream);
    dnnl_engine_destroy(s->engine);
}

/* ---- turns ---- */

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, compare_doubles);
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

static double their_turn(const struct sequence *s)
{
    double ms[TURN_RUNS];
    int count = 0;
    for (int i = 0; i < WARM_RUNS; i++)
        run_calls(s, 0);
    gint64 begun = g_get_monotonic_time(), now = begun;
    while (count < TURN_RUNS && now - begun < TURN_SECONDS * G_USEC_PER_SEC) {
        gint64 start = now;
        run_calls(s, 0);
        now = g_get_monotonic_time();
        ms[count++] = (double)(now - start) / 1000;
    }
    return median(ms, count);
}

/* OpenMP's runtime binds this thread to one CPU, which the program's threads would inherit. */
static void unbind(gpointer unused)
{
    cpu_set_t all;
    (void)unused;
    CPU_ZERO(&all);
    for (int i = 0; i < CPU_SETSIZE; i++)
        CPU_SET(i, &all);
    sched_setaffinity(0, sizeof all, &all);
}

/* Runs the program with the words, which end with NULL; returns what it printed, or NULL after saying so. */
static char *run_skipjack(GPtrArray *words)
{
    g_autoptr(GError) error = NULL;
    char *output = NULL;
    int status = 0;
    g_ptr_array_add(words, NULL);
    if (g_spawn_sync(NULL, (char **)words->pdata, NULL, G_SPAWN_DEFAULT, unbind, NULL, &output,
                     NULL, &status, &error) &&
        g_spawn_check_wait_status(status, &error))
        return output;
    printf("skipjack %s failed: %s\n", (const char *)words->pdata[1], error->message);
    g_free(output);
    return NULL;
}

static GPtrArray *words_of(const char *command, const char *model)
{
    const char *program = g_getenv("SKIPJACK");
    GPtrArray *words = g_ptr_array_new_with_free_func(g_free);
    g_ptr_array_add(words, g_strdup(program ? program : "build/skipjack"));
    g_ptr_array_add(words, g_strdup(command));
    g_ptr_array_add(words, g_strdup(model));
    return words;
}

static void add_words(GPtrArray *words, const char *text)
{
    g_auto(GStrv) parts = g_strsplit(text, " ", -1);
    for (int i = 0; parts[i]; i++)
        if (*parts[i])
            g_ptr_array_add(words, g_strdup(parts[i]));
}

static void add_word(GPtrArray *words, const char *option, const char *value)
{
    g_ptr_array_add(words, g_strdup(option));
    g_ptr_array_add(words, g_strdup(value));
}

struct ours {
    const char *model, *input, *output;
    char *tuned; /* NULL: untuned */
};

static bool tune(struct ours *ours, const char *name)
{
    const char *wish = g_getenv("BENCH_NETWORK");
    g_autoptr(GPtrArray) words = words_of("autotune", ours->model);
    if (!wish || !*wish)
        return true;
    ours->tuned = g_strdup_printf("build/bench-network/%s.json", name);
    g_mkdir_with_parents("build/bench-network", 0777);
    add_word(words, "--dtype", "FP32");
    add_word(words, "--batch", "1");
    add_word(words, "-o", ours->tuned);
    add_words(words, wish);
    g_autofree char *printed = run_skipjack(words);
    return printed != NULL;
}

/* Our pipeline's time in ms; 0 if it failed. */
static double our_turn(const struct ours *ours)
{
    g_autoptr(GPtrArray) words = words_of("run-network", ours->model);
    add_word(words, "--input", ours->input);
    add_word(words, "--output", ours->output);
    add_words(words, "--seconds 1 --json");
    if (ours->tuned)
        add_word(words, "--apply", ours->tuned);
    else
        add_word(words, "--batch", "1");
    g_autofree char *printed = run_skipjack(words);
    json_t *report = printed ? json_loads(printed, 0, NULL) : NULL;
    const json_t *combination = json_array_get(json_object_get(report, "combinations"), 0);
    double ms = json_number_value(json_object_get(combination, "pipeline_ms"));
    json_decref(report);
    return ms;
}

static double difference_of(const float *ours, const float *theirs, gsize count)
{
    double most = 0, largest = 0;
    for (gsize i = 0; i < count; i++) {
        double difference = fabs((double)ours[i] - (double)theirs[i]);
        most = isfinite(difference) ? MAX(most, difference) : INFINITY;
        largest = MAX(largest, fabs((double)theirs[i]));
    }
    return most / largest;
}

static bool outputs_agree(struct sequence *s, const char *path)
{
    g_autofree char *bytes = NULL;
    gsize length = 0, count = 0;
    run_calls(s, 0);
    g_autofree float *theirs = sequence_output(s, &count);
    if (!g_file_get_contents(path, &bytes, &length, NULL) || length != count * sizeof(float)) {
        printf("the outputs have different sizes\n");
        return false;
    }
    double difference = difference_of((const float *)(void *)bytes, theirs, count);
    printf("  largest difference of the outputs: %.2g of the largest\n", difference);
    return difference <= TOLERANCE;
}

static bool take_turns(struct sequence *s, const struct ours *ours, const char *name)
{
    double our_ms[TURNS], their_ms[TURNS];
    for (int i = 0; i < TURNS; i++) {
        their_ms[i] = their_turn(s);
        our_ms[i] = our_turn(ours);
        if (our_ms[i] <= 0)
            return false;
    }
    double a = median(our_ms, TURNS), b = median(their_ms, TURNS);
    printf("%-24s %8.3f  %9.3f  %6.2f  %s\n", name, a, b, a / b, ours->tuned ? "tuned" : "untuned");
    return outputs_agree(s, ours->output);
}

static bool compare(const char *path, const struct target *target, const char *folder)
{
    const struct model_wish wish = {.path = path, .batch = 1};
    const struct combination combination = {{"FP32", "NCHW", "all"}};
    g_autofree char *input = g_build_filename(folder, "input", NULL);
    g_autofree char *output = g_build_filename(folder, "output", NULL);
    g_autofree char *base = g_path_get_basename(path);
    g_autoptr(GError) error = NULL;
    struct ours ours = {path, input, output, NULL};
    struct model model = {0};
    struct sequence sequence;
    if (!model_open(&model, &wish, &error))
        g_error("%s: %s", path, error->message);
    g_autoptr(NetworkPlan) plan = model_plan(&model, &combination, target, &error);
    if (!plan || !g_file_set_contents(input, (const char *)model.inputs,
                                      (gssize)((gsize)model.input_count * sizeof(float)), &error))
        g_error("%s: %s", path, error->message);
    sequence_init(&sequence, plan, target->compute_units, model.inputs);
    bool done = tune(&ours, base) && take_turns(&sequence, &ours, base);
    fflush(stdout);
    sequence_clear(&sequence);
    model_clear(&model);
    g_free(ours.tuned);
    return done;
}

/* ---- the whole ---- */

/* As in bench_onednn.c: OpenMP's threads are each bound to a CPU; the programs that we start must not inherit that. */
static void bind_openmp_threads(char **argv)
{
    if (g_getenv("OMP_PROC_BIND"))
        return;
    g_setenv("OMP_PROC_BIND", "true", TRUE);
    execv("/proc/self/exe", argv);
}

static const struct target *find_target(const char *folder)
{
    unbind(NULL);
    g_autofree char *cache = g_build_filename(folder, "pocl", NULL);
    struct solution_runner *runner = solution_runner_new(cache);
    if (!runner)
        g_error("there is no PoCL here");
    return solution_runner_target(runner);
}

int main(int argc, char **argv)
{
    static const char *const defaults[] = {"light_squeezenet.onnx", "light_resnet50.onnx"};
    bind_openmp_threads(argv);
    g_autoptr(TempFolder) folder = temp_folder_new();
    const char *data = g_getenv("SKIPJACK_DATA");
    g_autoptr(GPtrArray) models = g_ptr_array_new_with_free_func(g_free);
    for (int i = 1; i < argc; i++)
        g_ptr_array_add(models, g_strdup(argv[i]));
    for (gsize i = 0; argc == 1 && i < G_N_ELEMENTS(defaults); i++)
        g_ptr_array_add(models,
                        g_build_filename(data ? data : "shared/data", "onnx", defaults[i], NULL));
    const struct target *target = find_target(temp_folder_path(folder, "."));
    const dnnl_version_t *version = dnnl_version();
    bool good = true;
    printf(
        "%s, FP32, batch 1, %d threads on either side, oneDNN %d.%d.%d; medians of %d turns each, "
        "warm caches\n%-24s %8s  %9s  %6s\n",
        target->id, target->compute_units, version->major, version->minor, version->patch, TURNS,
        "network", "ours ms", "oneDNN ms", "ratio");
    fflush(stdout);
    for (guint i = 0; i < models->len; i++) {
        const char *path = models->pdata[i];
        if (g_file_test(path, G_FILE_TEST_EXISTS))
            good = compare(path, target, temp_folder_path(folder, ".")) && good;
        else
            printf("%s: there is no such file: skipped\n", path);
    }
    return good ? 0 : 1;
}
