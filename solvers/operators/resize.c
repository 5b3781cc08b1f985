/* Resizes along D, H and W: the nearest element or linear between neighbours (resize.cl). */
#include <string.h>

#include "solvers/framework/solver_rows.h"
#include "solvers/operators/operator_common.h"

static const char *const sources[] = {"resize.cl", NULL};

/* The numbers of resize.cl's options, by the words of a problem's mode. With a scale of out / in half_pixel_symmetric is
 * half_pixel. */
static const struct {
    const char *word, *option;
    int number;
} words[] = {
    {"linear", "LINEAR", 1},
    {"nearest", "LINEAR", 0},
    {"half_pixel", "COORDINATES", 0},
    {"half_pixel_symmetric", "COORDINATES", 0},
    {"pytorch_half_pixel", "COORDINATES", 1},
    {"asymmetric", "COORDINATES", 2},
    {"align_corners", "COORDINATES", 3},
    {"floor", "ROUNDING", 0},
    {"ceil", "ROUNDING", 1},
    {"round_prefer_floor", "ROUNDING", 2},
    {"round_prefer_ceil", "ROUNDING", 3},
};

/* The largest number of a fraction of positions: four times in * out, and a little. */
static double largest_fraction(const struct problem *p)
{
    double largest = 0;

    for (int a = 0; a < AXIS_COUNT; a++)
        largest = MAX(largest, 4 * ((double)p->in[a] + 1) * ((double)p->out[a] + 1));
    return largest;
}

static bool naive_is_applicable(const struct problem *p, const struct context *context,
                                const char **reason)
{
    (void)context;
    if (largest_fraction(p) > 0x1p62) {
        *reason = "needs positions of fewer than 2^60 fractions";
        return false;
    }
    return operator_types_are_served(p, reason) && operator_count_is_served(p, reason);
}

static bool pieces_is_applicable(const struct problem *p, const struct context *context,
                                 const char **reason)
{
    return naive_is_applicable(p, context, reason) && operator_layouts_are_plain(p, reason);
}

static double pieces_estimate(const struct problem *p, const struct context *context)
{
    (void)p;
    (void)context;
    return 3.0;
}

static void add_mode_options(const struct problem *p, struct launch *launch)
{
    g_auto(GStrv) mode = g_strsplit(p->mode, ",", -1);

    for (int i = 0; mode[i]; i++) {
        for (gsize w = 0; w < G_N_ELEMENTS(words); w++) {
            if (strcmp(mode[i], words[w].word) == 0)
                launch_option_int(launch, words[w].option, words[w].number);
        }
    }
}

static bool is_linear(const struct problem *p)
{
    return g_str_has_prefix(p->mode, "linear");
}

static bool add_launch(const struct problem *p, const int32_t *values, struct solution *solution)
{
    struct operator_axes axes;
    struct operator_launch making;
    bool is_short = values && largest_fraction(p) < INT32_MAX;

    operator_axes_init(p, &axes);
    operator_begin(&making, solution, "resize.cl", "resize", p, &axes, values);
    add_mode_options(p, making.launch);
    launch_option_text(making.launch, "FRACTION", is_short ? "int" : "i64");
    launch_option_int(making.launch, "LANES_ARE_W", operator_lanes_are_w(&axes));
    operator_add_logical_strides(&making, TENSOR_X);
    operator_add_sizes(&making, p->in);
    operator_add_sizes(&making, p->out);
    operator_end(&making);
    operator_set_work(p, is_linear(p) ? 3 * (1 << p->spatial_dim) : 1, solution);
    return true;
}

static bool naive_solve(const struct problem *p, const struct context *context,
                        const struct perf_config *config, struct solution *solution, GError **error)
{
    (void)context;
    (void)config;
    (void)error;
    return add_launch(p, NULL, solution);
}

static bool pieces_solve(const struct problem *p, const struct context *context,
                         const struct perf_config *config, struct solution *solution,
                         GError **error)
{
    (void)context;
    (void)error;
    return add_launch(p, config->values, solution);
}

const struct solver solver_resize_naive = {
    .provider = "skipjack",
    .name = "ResizeNaive",
    .kind = OP_RESIZE,
    .revision = 1,
    .algorithm = "Direct",
    .dynamic = true,
    .any_strides = true,
    .epilogues = EPILOGUE_DOES_ALL | EPILOGUE_DOES_ANY_RESIDUAL,
    .sources = sources,
    .is_applicable = naive_is_applicable,
    .estimate = operator_naive_estimate,
    .default_config = operator_naive_config,
    .solve = naive_solve,
};

const struct solver solver_resize_pieces = {
    .provider = "skipjack",
    .name = "ResizePieces",
    .kind = OP_RESIZE,
    .revision = 1,
    .algorithm = "Direct",
    .own_strides = true,
    .epilogues = EPILOGUE_DOES_ALL | EPILOGUE_DOES_ANY_RESIDUAL,
    .sources = sources,
    .is_applicable = pieces_is_applicable,
    .estimate = pieces_estimate,
    .default_config = operator_default_config,
    .space = &operator_space,
    .solve = pieces_solve,
};
