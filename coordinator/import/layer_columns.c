#include "coordinator/import/layer_columns.h"

#include "solvers/problem/network_facts.h"

#include <string.h>

static const struct layer_column columns[] = {
    {"net", "network network_name model model_name architecture", COLUMN_NETWORK, 0,
     "network that the layer belongs to"},
    {"layer", "name layer_name node node_name module module_name op_name", COLUMN_LAYER, 0,
     "the layer's name"},
    {"framework", "net_framework network_framework library", COLUMN_FACT, FACT_FRAMEWORK,
     "framework that the network comes from"},
    {"net_model", "network_model model_id", COLUMN_FACT, FACT_MODEL,
     "the network's name in that framework"},
    {"net_version", "network_version model_version framework_version", COLUMN_FACT, FACT_VERSION,
     "version of the model or its framework"},
    {"net_source", "network_source citation", COLUMN_FACT, FACT_SOURCE,
     "where the network's layers are published"},
    {"runs", "net_runs network_runs", COLUMN_FACT, FACT_RUNS,
     "how often the network is run, on one scale for all networks"},
    {"op",
     "op_type operator operation kind layer_type layer_kind module_type class class_name layer_class",
     COLUMN_OPERATOR, 0,
     "kind of layer: Conv2d, Conv3D, ConvTranspose2d, DepthwiseConv2D, ...; rows of other layers are "
     "named and left out"},
    {"mode", "conv_mode", COLUMN_OPERATOR, FIELD_TRANSPOSED, "conv or trans (transposed)"},
    {"transposed", "is_transposed transpose deconv", COLUMN_FLAG, FIELD_TRANSPOSED,
     "yes for a transposed convolution"},
    {"nd", "spatial_dim spatial_dims ndim dims dimensions rank", COLUMN_NUMBER, FIELD_DIMENSIONS,
     "spatial dimensions, 1 to 3 (2)"},
    {"direction", "directions dir pass", COLUMN_DIRECTION, 0,
     "F, B, W or several of them, or fwd, bwd_data, wrw, ... (--direction, or F)"},
    {"forw", "", COLUMN_FORW, 0, "MIOpenDriver's: 1 F, 2 B, 4 W, sums of them, 0 all"},
    {"mult",
     "multiplicity count counts repeat repeats repetitions occurrence occurrences num_occurrences "
     "instances frequency freq times",
     COLUMN_NUMBER, FIELD_MULTIPLICITY, "how often the network runs the layer (1)"},
    {"type", "dtype data_type datatype precision elem_type element_type", COLUMN_TYPE, FIELD_TYPE,
     "data type: FP32, TF32, half, torch.bfloat16, int8, ... (--dtype, or FP32)"},
    {"in_cast_type", "", COLUMN_CAST, FIELD_CAST + TENSOR_X, "cast type of the input"},
    {"wei_cast_type", "", COLUMN_CAST, FIELD_CAST + TENSOR_W, "cast type of the weights"},
    {"out_cast_type", "", COLUMN_CAST, FIELD_CAST + TENSOR_Y, "cast type of the output"},
    {"layout", "data_format data_layout tensor_format tensor_layout in_layout input_layout",
     COLUMN_LAYOUT, FIELD_LAYOUT + TENSOR_X,
     "NCHW, NHWC, channels_last, ... (--layout, or NCHW); of all three tensors, unless the next "
     "columns say otherwise"},
    {"fil_layout", "filter_layout weight_layout kernel_layout", COLUMN_LAYOUT,
     FIELD_LAYOUT + TENSOR_W, "layout of the weights, in the input's letters"},
    {"out_layout", "output_layout", COLUMN_LAYOUT, FIELD_LAYOUT + TENSOR_Y, "layout of the output"},
    {"memory_format", "", COLUMN_MEMORY_FORMAT, FIELD_LAYOUT + TENSOR_X,
     "PyTorch's: contiguous_format or channels_last"},
    {"tensor_vect", "", COLUMN_FLAG, FIELD_TENSOR_VECT, "yes for blocked channels"},
    {"vector_length", "", COLUMN_NUMBER, FIELD_VECTOR_LENGTH, "length of the block: 4 or 8"},
    {"bias", "", COLUMN_FLAG, FIELD_BIAS, "yes or no, as MIOpen's keys carry it (no)"},
    {"n", "batch batch_size batchsize bs minibatch mini_batch", COLUMN_NUMBER, FIELD_N,
     "batch size (--batch, or 1)"},
    {"n_per_image",
     "inputs_per_image rois rois_per_image regions regions_per_image proposals proposals_per_image",
     COLUMN_NUMBER, FIELD_PER_IMAGE,
     "inputs of the layer for each image of the batch, as the regions of a detector (1): the "
     "problem's batch size is this times the batch size"},
    {"c",
     "in_channels input_channels channels_in c_in cin ci ic in_c in_ch input_c in_planes inplanes "
     "n_input_plane num_input_channels channels",
     COLUMN_NUMBER, FIELD_C, "input channels"},
    {"k",
     "out_channels output_channels channels_out c_out cout co oc out_c out_ch output_c filters "
     "num_filters num_filter n_filters num_output n_output_plane num_output_channels",
     COLUMN_NUMBER, FIELD_K, "output channels"},
    {"g", "groups group group_count groupsize num_groups n_groups groups_count feature_group_count",
     COLUMN_NUMBER, FIELD_GROUPS, "groups (1)"},
    {"depth_multiplier", "channel_multiplier", COLUMN_NUMBER, FIELD_DEPTH_MULTIPLIER,
     "output channels of each input channel of a depthwise layer (1)"},
    {"in_size",
     "input_size input_shape in_shape input_dims input_resolution in_resolution resolution "
     "image_size img_size spatial_size hw ifm_size feature_map_size",
     COLUMN_SHAPE, FIELD_IN,
     "input size: 56, 56x56, or a whole shape, as (1, 64, 56, 56) or (None, 56, 56, 64)"},
    {"d", "in_d input_d in_depth input_depth d_in din", COLUMN_NUMBER, FIELD_IN + AXIS_D,
     "input depth"},
    {"h", "in_h input_h in_height input_height height h_in hin ih ifm_h ifmap_h ifmap_height",
     COLUMN_NUMBER, FIELD_IN + AXIS_H, "input height"},
    {"w",
     "in_w input_w in_width input_width width w_in win iw ifm_w ifmap_w ifmap_width length in_length "
     "input_length seq_len sequence_length",
     COLUMN_NUMBER, FIELD_IN + AXIS_W, "input width; of a 1D layer, its length"},
    {"kernel_size",
     "kernel filter_size filter kernel_shape ksize k_size filter_dims kernel_dims fil_size",
     COLUMN_SIZES, FIELD_FIL, "filter size: 3, 3x3, (3, 3), ..."},
    {"z", "fil_d filter_d filter_depth kernel_d kernel_depth kernel_size_d kd k_d fd",
     COLUMN_NUMBER, FIELD_FIL + AXIS_D, "filter depth"},
    {"y", "fil_h filter_h filter_height kernel_h kernel_height kernel_size_h kh k_h fh r",
     COLUMN_NUMBER, FIELD_FIL + AXIS_H, "filter height"},
    {"x", "fil_w filter_w filter_width kernel_w kernel_width kernel_size_w kw k_w fw s",
     COLUMN_NUMBER, FIELD_FIL + AXIS_W, "filter width"},
    {"pad", "pads padding paddings", COLUMN_SIZES, FIELD_PAD,
     "padding on each side: 1, 1x1, same, valid (0)"},
    {"pad_mode", "padding_mode padding_type pad_type auto_pad", COLUMN_PAD_MODE, 0,
     "same, valid or default (the padding that is given); of PyTorch's only zeros"},
    {"pd", "pad_d padding_d pad_depth padding_depth", COLUMN_NUMBER, FIELD_PAD + AXIS_D,
     "padding in front and behind"},
    {"p", "pad_h padding_h pad_height padding_height ph pad_y h_pad", COLUMN_NUMBER,
     FIELD_PAD + AXIS_H, "padding above and below"},
    {"q", "pad_w padding_w pad_width padding_width pw pad_x w_pad", COLUMN_NUMBER,
     FIELD_PAD + AXIS_W, "padding left and right"},
    {"stride", "strides conv_stride subsample", COLUMN_SIZES, FIELD_STRIDE, "stride: 2, 2x2 (1)"},
    {"sd", "conv_stride_d stride_d stride_depth strides_d", COLUMN_NUMBER, FIELD_STRIDE + AXIS_D,
     "stride by depth"},
    {"u", "conv_stride_h stride_h stride_height strides_h sh stride_y h_stride", COLUMN_NUMBER,
     FIELD_STRIDE + AXIS_H, "stride by height"},
    {"v", "conv_stride_w stride_w stride_width strides_w sw stride_x w_stride", COLUMN_NUMBER,
     FIELD_STRIDE + AXIS_W, "stride by width"},
    {"dilation", "dilations dilation_rate dilation_factor", COLUMN_SIZES, FIELD_DILATION,
     "dilation: 2, 2x2 (1)"},
    {"dilation_d", "dilation_depth dilations_d", COLUMN_NUMBER, FIELD_DILATION + AXIS_D,
     "dilation by depth"},
    {"l", "dilation_h dilation_height dilations_h dil_h dilation_y h_dilation", COLUMN_NUMBER,
     FIELD_DILATION + AXIS_H, "dilation by height"},
    {"j", "dilation_w dilation_width dilations_w dil_w dilation_x w_dilation", COLUMN_NUMBER,
     FIELD_DILATION + AXIS_W, "dilation by width"},
    {"output_padding", "out_pad output_pad trans_output_pad", COLUMN_SIZES, FIELD_OUTPUT_PAD,
     "output padding of a transposed layer (0, or what the output size says)"},
    {"trans_output_pad_d", "output_padding_d out_pad_d", COLUMN_NUMBER, FIELD_OUTPUT_PAD + AXIS_D,
     "the same by depth"},
    {"trans_output_pad_h", "output_padding_h out_pad_h", COLUMN_NUMBER, FIELD_OUTPUT_PAD + AXIS_H,
     "the same by height"},
    {"trans_output_pad_w", "output_padding_w out_pad_w", COLUMN_NUMBER, FIELD_OUTPUT_PAD + AXIS_W,
     "the same by width"},
    {"out_size", "output_size output_shape out_shape output_dims output_resolution ofm_size",
     COLUMN_SHAPE, FIELD_OUT, "output size, as in_size: a check of what the other columns make it"},
    {"od", "out_d output_d out_depth output_depth d_out dout", COLUMN_NUMBER, FIELD_OUT + AXIS_D,
     "output depth, likewise"},
    {"oh", "out_h output_h out_height output_height h_out hout ho ofm_h ofmap_h ofmap_height",
     COLUMN_NUMBER, FIELD_OUT + AXIS_H, "output height, likewise"},
    {"ow",
     "out_w output_w out_width output_width w_out wout wo ofm_w ofmap_w ofmap_width out_length "
     "output_length",
     COLUMN_NUMBER, FIELD_OUT + AXIS_W, "output width, likewise"},
    {"index",
     "# no nr number id idx row row_id layer_id layer_idx layer_index layer_no layer_number",
     COLUMN_NOTHING, 0, "not read: a row's number"},
    {"comment",
     "comments note notes remark remarks description desc source reference ref paper url link",
     COLUMN_NOTHING, 0, "not read: words"},
    {"gmac",
     "gmacs mac macs mmac mmacs macc maccs kmacs madd madds mult_add mult_adds flop flops gflop gflops "
     "mflop mflops tflops gops ops total_mult_adds",
     COLUMN_NOTHING, 0, "not read: how much is computed"},
    {"params",
     "param param# #params #param num_params n_params param_count parameters "
     "num_parameters num_weights weight_count",
     COLUMN_NOTHING, 0, "not read: how many weights"},
    {"bytes", "memory memory_mb size_mb size_bytes mem in_bytes out_bytes weight_bytes",
     COLUMN_NOTHING, 0, "not read: memory"},
    {"time",
     "time_ms time_us latency latency_ms latency_us runtime runtime_ms duration duration_ms "
     "duration_us percent share",
     COLUMN_NOTHING, 0, "not read: how long it took"},
    {"use_bias", "has_bias with_bias", COLUMN_NOTHING, 0,
     "not read: whether the framework adds a bias, for which it runs another kernel"},
    {"training",
     "trainable requires_grad kernel_initializer bias_initializer kernel_regularizer "
     "bias_regularizer activity_regularizer kernel_constraint bias_constraint",
     COLUMN_NOTHING, 0, "not read: how the layer is trained"},
    {"iter",
     "verify verification_cache wall search printconv dump_output in_data weights in_bias dout_data "
     "solution gpualloc pad_val workspace_size gpu_reference perf_priority perf_config arch num_cu "
     "num_chiplets",
     COLUMN_NOTHING, 0, "not read: MIOpenDriver's flags that say how to run"},
};

/* Names that are often met and not read, each with what the user can do. */
static const struct {
    const char *names, *remedy;
} hints[] = {
    {"pad_top pad_bottom pad_left pad_right pad_t pad_b pad_l pad_r padding_top padding_bottom "
     "padding_left padding_right pad_begin pad_end",
     "both sides have one padding here: pad_h, pad_w"},
    {"activation act activation_fn nonlinearity relu batch_norm batchnorm bn norm fused epilogue",
     "the convolution alone is tuned: remove the column"},
    {"channel ch features planes feature_maps", "in_channels or out_channels?"},
    {"b", "batch_size or bias?"},
    {"f", "filters or kernel_size?"},
    {"m", "out_channels or mode?"},
    {"size shape dim spatial", "in_size, kernel_size or out_size?"},
    {"depth", "in_d of a 3D layer, or channels?"},
    {"weight weight_shape weights_shape weight_size weight_dims filter_shape",
     "in_channels, out_channels and kernel_size say it"},
    {"input input_tensor", "in_size?"},
    {"output output_tensor", "out_size?"},
    {"rate", "dilation?"},
    {"target device gpu", "the target is no part of a layer: remove the column"},
};

/* ---- names ---- */

/* Returns the name in small letters, without blanks, '-', '_', '.' and byte order marks. Free with g_free(). */
static char *bare_name(const char *name)
{
    GString *bare = g_string_new(NULL);
    for (; *name != '\0'; name++) {
        if (strncmp(name, "\xc2\xa0", 2) == 0) { /* a no-break space */
            name++;
        } else if (strncmp(name, "\xef\xbb\xbf", 3) ==
                   0) { /* the byte order mark of a file that was joined to another */
            name += 2;
        } else if (strchr("_- .\t", *name) == NULL) {
            g_string_append_c(bare, g_ascii_tolower(*name));
        }
    }
    return g_string_free(bare, FALSE);
}

/* Calls is() with each word of a list separated by spaces. Returns true if one of the calls
 * does. */
static bool any_word(const char *words, bool (*is)(const char *word, const char *bare),
                     const char *bare)
{
    g_auto(GStrv) list = g_strsplit(words, " ", -1);
    for (int i = 0; list[i] != NULL; i++) {
        if (is(list[i], bare)) {
            return true;
        }
    }
    return false;
}

static bool is_same(const char *word, const char *bare)
{
    g_autofree char *other = bare_name(word);
    return strcmp(other, bare) == 0;
}

/* Returns all names of a column: its own and its aliases. Free with g_strfreev(). */
static char **names_of(const struct layer_column *column)
{
    bool others = column->aliases[0] != '\0';
    g_autofree char *all = g_strconcat(column->name, others ? " " : "", column->aliases, NULL);
    return g_strsplit(all, " ", -1);
}

/* Returns a table from bare name to struct layer_column *, made at the first call. No two columns
 * may share a name. */
static GHashTable *column_names(void)
{
    static gsize made;
    static GHashTable *names;
    if (g_once_init_enter(&made)) {
        names = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        for (size_t i = 0; i < G_N_ELEMENTS(columns); i++) {
            g_auto(GStrv) words = names_of(&columns[i]);
            for (int w = 0; words[w] != NULL; w++) {
                char *bare = bare_name(words[w]);
                gpointer other = g_hash_table_lookup(names, bare);
                g_assert(other == NULL || other == &columns[i]);
                g_hash_table_replace(names, bare, (gpointer)&columns[i]);
            }
        }
        g_once_init_leave(&made, 1);
    }
    return names;
}

/* Returns true for the name "" or "Unnamed: 0", which pandas writes above an index without a
 * name. */
static bool is_unnamed(const char *bare)
{
    return bare[0] == '\0' || g_str_has_prefix(bare, "unnamed:");
}

/* Finds the column for a name with words in brackets ("FLOPs (G)", "time [ms]"). Such words are
 * ignored for columns that are not read anyway. */
static const struct layer_column *find_bracketed(const char *name)
{
    g_autofree char *front = g_strndup(name, strcspn(name, "(["));
    g_autofree char *bare = bare_name(front);
    const struct layer_column *column = g_hash_table_lookup(column_names(), bare);
    return column != NULL && column->kind == COLUMN_NOTHING ? column : NULL;
}

static const struct layer_column *find_column(const char *name)
{
    g_autofree char *bare = bare_name(name);
    const struct layer_column *column = g_hash_table_lookup(column_names(), bare);
    return column != NULL ? column : find_bracketed(name);
}

int layer_names_known(const char *const *names, int count)
{
    int known = 0;
    for (int i = 0; i < count; i++) {
        const struct layer_column *column = find_column(names[i]);
        known += column != NULL && column->kind != COLUMN_NOTHING &&
                 column->kind != COLUMN_NETWORK && column->kind != COLUMN_LAYER &&
                 column->kind != COLUMN_FACT;
    }
    return known;
}

/* ---- suggestions for unknown names ---- */

/* Returns how alike two names are that differ by one typing mistake: a letter that is missing, too
 * many or wrong, or two letters that changed places. 0 for other names. */
static size_t mistyped(const char *a, const char *b)
{
    while (*a != '\0' && *a == *b) {
        a++;
        b++;
    }
    if (*a == '\0' || *b == '\0') {
        return strlen(a) + strlen(b) <= 1 ? 3 : 0;
    }
    if (strcmp(a + 1, b) == 0 || strcmp(a, b + 1) == 0) {
        return 3;
    }
    if (a[0] == b[1] && a[1] == b[0] && strcmp(a + 2, b + 2) == 0) {
        return 2;
    }
    return strcmp(a + 1, b + 1) == 0 ? 1 : 0;
}

#define ALIKE_LETTERS 4 /* a shorter name resembles too many others to suggest one */

/* makes a mistyped name more alike than any name that contains the other one */
#define MISTYPED 1000

/* Returns how alike an unknown name is to a column's name; 0 if not at all. */
static size_t likeness(const char *bare, const char *word)
{
    g_autofree char *known = bare_name(word);
    size_t length = strlen(known);
    if (length < ALIKE_LETTERS) {
        return 0;
    }
    size_t letters = mistyped(bare, known);
    if (letters > 0) {
        return MISTYPED + letters;
    }
    if (strstr(bare, known) != NULL) {
        return length;
    }
    return strlen(bare) >= ALIKE_LETTERS && strstr(known, bare) != NULL ? 1 : 0;
}

/* Suggests the column that an unknown name probably means. Free with g_free(). */
static char *meant(const char *name)
{
    g_autofree char *bare = bare_name(name);
    g_autofree char *best = NULL;
    size_t best_likeness = 0;
    for (size_t i = 0; i < G_N_ELEMENTS(hints); i++) {
        if (any_word(hints[i].names, is_same, bare)) {
            return g_strdup(hints[i].remedy);
        }
    }
    for (size_t i = 0; i < G_N_ELEMENTS(columns); i++) {
        g_auto(GStrv) words = names_of(&columns[i]);
        for (int w = 0; columns[i].kind != COLUMN_NOTHING && words[w] != NULL; w++) {
            size_t found = likeness(bare, words[w]);
            if (found > best_likeness) {
                best_likeness = found;
                g_free(best);
                best = g_strdup(words[w]);
            }
        }
    }
    return best != NULL ? g_strdup_printf("%s?", best) : g_strdup("no column is like it");
}

/* ---- headers ---- */

static bool has_kind_of(const struct layer_header *header, enum column_kind kind)
{
    for (int i = 0; i < header->width; i++) {
        if (header->cells[i].column != NULL && header->cells[i].column->kind == kind) {
            return true;
        }
    }
    return false;
}

static bool has_column(const struct layer_header *header, enum column_kind kind, int field)
{
    for (int i = 0; i < header->width; i++) {
        const struct layer_column *column = header->cells[i].column;
        if (column != NULL && column->kind == kind && column->field == field) {
            return true;
        }
    }
    return false;
}

/* Returns true if one of the columns gives the field. */
static bool says(const struct layer_header *header, int field)
{
    int first = field >= FIELD_IN && field < FIELD_PAD_MODE
                    ? field - (field - FIELD_IN) % AXIS_COUNT
                    : field;
    return has_column(header, COLUMN_NUMBER, field) || has_column(header, COLUMN_FLAG, field) ||
           has_column(header, COLUMN_SIZES, first) || has_column(header, COLUMN_SHAPE, first);
}

static bool has_letter(const struct layer_header *header, char letter)
{
    for (int i = 0; i < header->width; i++) {
        if (header->cells[i].name[0] == letter && header->cells[i].name[1] == '\0') {
            return true;
        }
    }
    return false;
}

static bool has_letters(const struct layer_header *header, char a, char b)
{
    return has_letter(header, a) && has_letter(header, b);
}

/* Some letters have several meanings: x and y are the filter to MIOpenDriver, the input to others;
 * p and q padding to MIOpenDriver, output to cuDNN; r and s the filter to cuDNN; d and s dilation
 * and stride to others. Returns the possible meanings of such a letter if the other columns do not
 * decide it, else NULL. */
static const char *ambiguity(const struct layer_header *header, const char *name)
{
    bool cudnn = has_letter(header, 'r') || has_letter(header, 'R');
    bool miopen = has_letters(header, 'y', 'x') || has_letters(header, 'Y', 'X');
    bool says_dimensions = has_column(header, COLUMN_NUMBER, FIELD_DIMENSIONS) ||
                           has_column(header, COLUMN_NUMBER, FIELD_FIL + AXIS_D);
    g_autofree char *bare = bare_name(name);
    if (strcmp(bare, "channels") == 0 && !has_column(header, COLUMN_NUMBER, FIELD_K)) {
        return "in_channels or out_channels?";
    }
    if (name[0] == '\0' || name[1] != '\0') {
        return NULL;
    }
    switch (name[0]) {
    case 'P':
    case 'Q':
        if (has_letters(header, 'Y', 'X') && !cudnn) {
            return NULL;
        }
        return name[0] == 'P' ? "pad_h or out_h?" : "pad_w or out_w?";
    case 'p':
        return cudnn                                                    ? "pad_h or out_h?"
               : !has_column(header, COLUMN_NUMBER, FIELD_PAD + AXIS_W) ? "padding or pad_h?"
                                                                        : NULL;
    case 'q': return cudnn ? "pad_w or out_w?" : NULL;
    case 'X':
    case 'Y':
        if (!has_letters(header, 'y', 'x') && !has_column(header, COLUMN_SIZES, FIELD_FIL) &&
            !cudnn && says(header, FIELD_IN + AXIS_W)) {
            return NULL;
        }
        return name[0] == 'X' ? "fil_w or in_w?" : "fil_h or in_h?";
    case 's':
    case 'S': return cudnn && !miopen ? NULL : "stride, or fil_w beside r?";
    case 'd':
    case 'D': return says_dimensions ? NULL : "dilation, or in_d beside nd?";
    default: return NULL;
    }
}

/* Appends each column that is not understood, with what it may mean: "'stride_q' (stride_w?)", "'P'
 * (pad_h or out_h?)", ... */
static void name_unknown(const struct layer_header *header, GString *text)
{
    for (int i = 0; i < header->width; i++) {
        const struct header_cell *cell = &header->cells[i];
        g_autofree char *bare = bare_name(cell->name);
        const char *several = cell->column != NULL ? ambiguity(header, cell->name) : NULL;
        if (several == NULL && (cell->column != NULL || is_unnamed(bare))) {
            continue;
        }
        g_autofree char *guess = several != NULL ? g_strdup(several) : meant(cell->name);
        g_string_append_printf(text, "%s'%.40s' (%s)", text->len > 0 ? ", " : "", cell->name,
                               guess);
    }
}

/* Columns that each give one axis, and the column that gives all axes at once. */
static const struct {
    int field;
    bool needed;
    const char *h, *w, *all;
} groups[] = {
    {FIELD_IN, true, "h", "w", "in_size"},
    {FIELD_FIL, true, "y", "x", "kernel_size"},
    {FIELD_PAD, false, "p", "q", "pad"},
    {FIELD_STRIDE, false, "u", "v", "stride"},
    {FIELD_DILATION, false, "l", "j", "dilation"},
    {FIELD_OUTPUT_PAD, false, "trans_output_pad_h", "trans_output_pad_w", "output_padding"},
};

static void lack(GString *text, const char *format, ...) G_GNUC_PRINTF(2, 3);
static void lack(GString *text, const char *format, ...)
{
    va_list arguments;
    g_string_append(text, text->len > 0 ? ", " : "");
    va_start(arguments, format);
    g_string_append_vprintf(text, format, arguments);
    va_end(arguments);
}

/* Returns true if a letter in the header may stand for a column of this group. */
static bool is_ambiguous(const struct layer_header *header, int field)
{
    for (int i = 0; i < header->width; i++) {
        const struct layer_column *column = header->cells[i].column;
        if (column != NULL && column->kind == COLUMN_NUMBER && column->field >= field &&
            column->field < field + AXIS_COUNT &&
            ambiguity(header, header->cells[i].name) != NULL) {
            return true;
        }
    }
    return false;
}

/* Appends the columns that are missing and without which no row can be read. A 1D layer only needs
 * a width, but then a column must say that it is 1D. */
static void name_missing(const struct layer_header *header, GString *text)
{
    bool has_kind = has_column(header, COLUMN_OPERATOR, 0) || has_kind_of(header, COLUMN_TYPE);
    bool one_axis = has_column(header, COLUMN_NUMBER, FIELD_DIMENSIONS) || has_kind ||
                    has_kind_of(header, COLUMN_LAYOUT);
    if (!says(header, FIELD_C) && !has_column(header, COLUMN_SHAPE, FIELD_IN)) {
        lack(text, "'c' (in_channels)");
    }
    if (!says(header, FIELD_K) && !has_column(header, COLUMN_SHAPE, FIELD_OUT) && !has_kind) {
        lack(text, "'k' (out_channels)");
    }
    for (size_t i = 0; i < G_N_ELEMENTS(groups); i++) {
        if (is_ambiguous(header, groups[i].field)) {
            continue; /* it was named before, as a letter with several meanings */
        }
        bool has_h = says(header, groups[i].field + AXIS_H);
        bool has_w = says(header, groups[i].field + AXIS_W);
        if (has_h == has_w && (has_h || !groups[i].needed)) {
            continue;
        }
        if (!has_h && !has_w) {
            lack(text, "'%s' and '%s', or '%s'", groups[i].h, groups[i].w, groups[i].all);
        } else if (has_h || !one_axis) {
            lack(text, "'%s' beside '%s', or '%s' for all axes", has_h ? groups[i].w : groups[i].h,
                 has_h ? groups[i].h : groups[i].w, groups[i].all);
        }
    }
}

/* Returns true if the columns are those of a perf-db's table config. Such a table is refused, since
 * its rows of directions B and W hold the output size as "in". */
static bool is_perf_db(const struct layer_header *header)
{
    static const char *const names[] = {"data_type", "direction",   "spatial_dim", "in_d",
                                        "pad_d",     "group_count", "batchsize",   "layout"};
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        bool found = false;
        for (int j = 0; j < header->width && !found; j++) {
            found = strcmp(header->cells[j].name, names[i]) == 0;
        }
        if (!found) {
            return false;
        }
    }
    return true;
}

bool layer_header_init(struct layer_header *header, const char *const *names, int count,
                       GError **error)
{
    g_autoptr(GString) unknown = g_string_new(NULL), missing = g_string_new(NULL);
    header->width = count;
    header->cells = g_new0(struct header_cell, (gsize)MAX(count, 1));
    for (int i = 0; i < count; i++) {
        header->cells[i].name = g_utf8_make_valid(names[i], -1);
        header->cells[i].column = find_column(names[i]);
    }
    if (is_perf_db(header)) {
        g_set_error_literal(
            error, EXPORT_ERROR, EXPORT_ERROR_KIND,
            "its columns are those of a perf-db's table config, whose rows of B and "
            "W hold the output's size as the input's: import the perf-db itself");
        return false;
    }
    name_unknown(header, unknown);
    name_missing(header, missing);
    if (unknown->len == 0 && missing->len == 0) {
        return true;
    }
    g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_KIND,
                "%s%s%s%s%s: rename %scolumns, or remove what says nothing of the layer; skipjack "
                "import --help lists all columns",
                unknown->len > 0 ? "its header has columns that are not understood: " : "",
                unknown->str, unknown->len > 0 && missing->len > 0 ? "; " : "",
                missing->len > 0 ? "it lacks the columns " : "", missing->str,
                missing->len > 0 ? "or add " : "");
    return false;
}

void layer_header_clear(struct layer_header *header)
{
    for (int i = 0; i < header->width; i++) {
        g_free(header->cells[i].name);
    }
    g_free(header->cells);
    *header = (struct layer_header){0};
}

/* ---- the help on columns ---- */

#define HELP_COLUMNS 78
#define HELP_INDENT  6

/* Appends a text word by word, with each line indented. */
static void append_wrapped(GString *out, const char *text, int indent)
{
    g_auto(GStrv) words = g_strsplit(text, " ", -1);
    int column = 0;
    for (int i = 0; words[i] != NULL; i++) {
        int length = (int)strlen(words[i]);
        if (column > 0 && column + 1 + length <= HELP_COLUMNS) {
            g_string_append_printf(out, " %s", words[i]);
            column += 1 + length;
        } else {
            g_string_append_printf(out, "%s%*s%s", column > 0 ? "\n" : "", indent, "", words[i]);
            column = indent + length;
        }
    }
    g_string_append_c(out, '\n');
}

char *layer_columns_help(void)
{
    GString *help = g_string_new(NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(columns); i++) {
        g_string_append_printf(help, "  %s\n", columns[i].name);
        append_wrapped(help, columns[i].meaning, HELP_INDENT);
        if (columns[i].aliases[0] != '\0') {
            g_autofree char *aliases = g_strconcat("also ", columns[i].aliases, NULL);
            append_wrapped(help, aliases, HELP_INDENT);
        }
    }
    return g_string_free(help, FALSE);
}

char *layer_columns_markdown(void)
{
    GString *table = g_string_new("| column | also called | says |\n|---|---|---|\n");
    for (size_t i = 0; i < G_N_ELEMENTS(columns); i++) {
        g_auto(GStrv) words = g_strsplit(columns[i].aliases, " ", -1);
        g_autofree char *aliases = g_strjoinv("` `", words);
        bool any = columns[i].aliases[0] != '\0';
        g_string_append_printf(table, "| `%s` | %s%s%s | %s |\n", columns[i].name, any ? "`" : "",
                               aliases, any ? "`" : "", columns[i].meaning);
    }
    return g_string_free(table, FALSE);
}
