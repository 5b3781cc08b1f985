#include "solvers/implicit_gemm/simt_common.h"

#include "solvers/common/conv_common.h"

/* Bytes of local memory that a kernel may declare on every GPU. */
#define LOCAL_MOST   (48 * 1024)
/* Extra floats at the end of each line of a block in local memory, against bank conflicts. */
#define PAD          4
/* Bytes of the kernel's tables in local memory: 64 entries for terms and 33 for their coordinates, of 16 bytes each;
 * for each row two offsets; for each column an offset and 16 bytes of offset and coordinates in b. */
#define TABLE_BYTES  ((64 + 33) * 16)
#define ROW_BYTES    8
#define COLUMN_BYTES 20
/* With depth a second table of the terms has an offset of each. */
#define DEPTH_BYTES  (64 * 4)
/* The most loads of a work-item for a block of terms: one bit of a word marks each load. */
#define LOADS_MOST   32

int simt_items(const struct simt_block *block)
{
    return block->block_m / block->tile_m * (block->block_n / block->tile_n);
}

bool simt_items_suit(const struct simt_block *block, int most)
{
    int items = simt_items(block);

    return block->block_m / block->tile_m % 4 == 0 && block->block_n / block->tile_n % 8 == 0 &&
           items >= 64 && items <= MIN(256, most);
}

/* Whether work-items divide evenly over an operand's loads. The division must be the kernel's (ACROSS() in
 * conv_simt.cl). */
static bool items_share(bool by_term, int32_t load, int32_t lines, int32_t terms, int items)
{
    int across = by_term ? MAX(8 / load, items / lines) : MIN(lines / load, items);
    int beside = items / across;

    if (lines * terms < load * items || lines * terms > load * items * LOADS_MOST)
        return false;
    return by_term ? across * load <= terms && lines % beside == 0
                   : terms % beside == 0 && lines % (across * load) == 0;
}

bool simt_items_share_a(const struct simt_block *block)
{
    return items_share(block->a_by_term, block->load_a, block->block_m, block->block_k,
                       simt_items(block));
}

bool simt_items_share_b(const struct simt_block *block)
{
    return items_share(block->b_by_term, block->load_b, block->block_n, block->block_k,
                       simt_items(block));
}

bool simt_fits_local_memory(const struct simt_block *block, int64_t local_bytes)
{
    int64_t lines = block->block_m + block->block_n, terms = block->block_k;
    int64_t bytes = (lines + 2 * PAD) * terms * block->stages * (int64_t)sizeof(float) +
                    TABLE_BYTES + block->block_m * ROW_BYTES + block->block_n * COLUMN_BYTES +
                    (block->has_depth ? DEPTH_BYTES : 0);

    return bytes <= MIN(local_bytes, LOCAL_MOST);
}

void simt_add_options(const struct simt_block *block, struct launch *launch)
{
    launch_option_int(launch, "BLOCK_M", block->block_m);
    launch_option_int(launch, "BLOCK_N", block->block_n);
    launch_option_int(launch, "TILE_M", block->tile_m);
    launch_option_int(launch, "TILE_N", block->tile_n);
    launch_option_int(launch, "BLOCK_K", block->block_k);
    launch_option_int(launch, "LOAD_A", block->load_a);
    launch_option_int(launch, "LOAD_B", block->load_b);
    launch_option_int(launch, "STAGES", block->stages);
    launch_option_int(launch, "ASYNC", block->async);
    launch_option_int(launch, "A_BY_TERM", block->a_by_term);
    launch_option_int(launch, "B_BY_TERM", block->b_by_term);
    launch_option_int(launch, "C_BY_ROW", block->c_by_row);
    launch_option_int(launch, "SPATIAL", block->has_depth ? 3 : 2);
    launch_option_int(launch, "INNER_BATCH", 0);
}

/* The kernel computes convolutions, so the product is passed as a forward 1x1 convolution of one image of one row:
 * columns are positions, terms channels. Adds strides n c h w of x, w and y. */
static void add_strides(const struct simt_product *product, struct launch *launch)
{
    const int64_t strides[] = {
        0, product->b.other, 0, product->b.line, product->a.line, product->a.other, 0, 0,
        0, product->c.line,  0, product->c.other};

    for (gsize i = 0; i < G_N_ELEMENTS(strides); i++)
        launch_arg_int32(launch, strides[i]);
}

static void add_shape(const struct simt_product *product, struct launch *launch)
{
    struct problem p;

    problem_init(&p);
    p.n = 1;
    p.groups = product->groups;
    p.c = product->terms * product->groups;
    p.k = product->rows * product->groups;
    for (int a = 0; a < AXIS_COUNT; a++) {
        p.in[a] = p.out[a] = p.fil[a] = p.stride[a] = p.dilation[a] = 1;
        p.pad[a] = 0;
    }
    p.in[AXIS_W] = p.out[AXIS_W] = product->columns;
    conv_add_shape_args(&p, launch);
}

static void add_arguments(const struct simt_product *product, const struct simt_block *block,
                          struct launch *launch)
{
    const struct simt_operand *operands[] = {&product->a, &product->b, &product->c};

    for (int i = 0; i < 3; i++) {
        if (operands[i]->is_packed)
            launch_arg_tensor(launch, TENSOR_PACKED);
        else
            launch_arg_workspace(launch, operands[i]->offset);
    }
    add_strides(product, launch);
    add_shape(product, launch);
    for (int i = 0; i < 3; i++)
        launch_arg_int64(launch, operands[i]->group);
    for (int i = 0; i < 3; i++)
        launch_arg_int64(launch, operands[i]->place);
    launch_arg_int32(launch, product->places);
    launch_arg_int32(launch, conv_divide_up(product->rows, block->block_m));
    launch_arg_int32(launch, product->splits > 1 ? product->part : product->terms);
    launch_arg_int64(launch, product->split_step);
    launch_arg_int32(launch, 1);
}

void simt_add_product(const struct simt_product *product, const struct simt_block *block,
                      struct solution *solution)
{
    struct launch *launch = solution_add_launch(solution, "conv_simt.cl", "conv_simt");
    const int items = simt_items(block);
    const int64_t blocks = conv_divide_up(product->rows, block->block_m) *
                           conv_divide_up(product->columns, block->block_n);

    simt_add_options(block, launch);
    launch_option_int(launch, "DIRECTION_F", 1);
    launch_option_int(launch, "INNER_CHANNEL", 0);
    launch_sort_options(launch);
    add_arguments(product, block, launch);
    launch_set_grid(
        launch,
        (const int64_t[3]){blocks * items, 1, product->groups * product->places * product->splits},
        (const int[3]){items, 1, 1});
}
