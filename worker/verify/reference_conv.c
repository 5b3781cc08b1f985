/*
 * Every direction is one matrix product for each group of channels. In this table C, K and channels are those of
 * one group, taps are the elements of a filter in one channel, and pixels are positions of all spatial axes:
 *
 *   direction   rows   columns           depth (summed over)
 *   F           K      N and y's pixels  C and the filter's taps
 *   B           C      N and x's pixels  K and the filter's taps
 *   W           K      C and taps        N and y's pixels
 *
 * The left matrix is the filter (F, B) or y (W). An element's offset in the tensor is the sum of an offset of its row
 * and one of its depth.
 *
 * The right matrix is x (F, W) or y (B), gathered as im2col does (Chellapilla, Puri, Simard 2006) but block by block.
 * An element's position on each spatial axis is the sum of a position of its column and one of its depth; for B the
 * sum is then divided by the stride. The element is 0 if the position is outside of the tensor, or if the stride does
 * not divide the sum.
 *
 * The product is blocked as in Goto and van de Geijn, Anatomy of High-Performance Matrix Multiplication, 2008: blocks
 * of both matrices are packed into panels that stay in a core's second-level cache, and an inner loop multiplies
 * panels in registers. Beside each sum of products it computes the sum of their absolute values.
 *
 * A partial reference has some columns of the product, with all their rows: reference_columns.h chooses them. They are
 * gathered into blocks wherever they lie, so a partial block costs what a whole one does.
 */
#include "worker/verify/reference_kinds.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "worker/verify/parallel.h"
#include "worker/verify/reference_columns.h"

/* A block of the right matrix and one of the left fit into a core's second-level cache:
 * 256 * (64 + 64) * 8 bytes = 256 KiB. */
#define BLOCK_COLUMNS  64
#define BLOCK_ROWS     64
#define BLOCK_DEPTH    256
/* Threads end at nearly the same time if each has so many tasks. */
#define TASKS_A_THREAD 2

/* ---- the inner loop ---- */

#define PANEL_ROWS    4
#define PANEL_COLUMNS 8

#define LANES 4
typedef double lanes __attribute__((vector_size(LANES * sizeof(double))));
typedef int64_t lane_bits __attribute__((vector_size(LANES * sizeof(int64_t))));

/* Inlined into each caller, so that the compiler uses the vectors of the caller's target. */
#define INLINED static inline __attribute__((always_inline))

INLINED void add_tile(const double *left, const double *right, int depth, int absolute,
                      double *sums)
{
    lanes tile[PANEL_ROWS][2];
    /* INT64_MAX clears the sign bit of each element, -1 keeps it. */
    int64_t keep = absolute ? INT64_MAX : -1;
    lane_bits mask = {keep, keep, keep, keep};

    memcpy(tile, sums, sizeof(tile));
    for (int d = 0; d < depth; d++) {
        lanes b[2];
        memcpy(b, right + d * PANEL_COLUMNS, sizeof(b));
        b[0] = (lanes)((lane_bits)b[0] & mask);
        b[1] = (lanes)((lane_bits)b[1] & mask);
        for (int r = 0; r < PANEL_ROWS; r++) {
            double value = left[d * PANEL_ROWS + r];
            if (absolute)
                value = fabs(value);
            lanes a = {value, value, value, value};
            tile[r][0] += a * b[0];
            tile[r][1] += a * b[1];
        }
    }
    memcpy(sums, tile, sizeof(tile));
}

INLINED void add_both(const double *left, const double *right, int depth, double *sums,
                      double *magnitudes)
{
    add_tile(left, right, depth, 0, sums);
    add_tile(left, right, depth, 1, magnitudes);
}

#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) static void
kernel_avx2(const double *left, const double *right, int depth, double *sums, double *magnitudes)
{
    add_both(left, right, depth, sums, magnitudes);
}
#endif

/* Multiplies two packed panels: sums[r][c] += sum over d of left[d][r] * right[d][c], and
 * magnitudes[r][c] likewise with absolute values. Uses AVX2 and FMA if the processor has them. */
static void reference_kernel(const double *left, const double *right, int depth, double *sums,
                             double *magnitudes)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        kernel_avx2(left, right, depth, sums, magnitudes);
        return;
    }
#endif
    add_both(left, right, depth, sums, magnitudes);
}

/* ---- positions of elements in their tensors ---- */

/* The share that a column, or a depth, has in the place of an element of the right matrix. The places of a column and
 * of a depth are added up. */
struct place {
    int64_t base; /* offset of the image and channel in the dense tensor */
    int64_t
        at[AXIS_COUNT]; /* position on each spatial axis, for B before the division by the stride */
};

/* The matrix product of a problem. */
struct product {
    const struct problem *p;
    int64_t rows, columns, depth; /* sizes of one group's matrices */
    int64_t pieces; /* the columns of one group are in so many pieces of piece_columns */
    int64_t piece_columns;
    int64_t row_parts; /* and its rows in so many parts of part_rows, a multiple of BLOCK_ROWS */
    int64_t part_rows;
    const double *left, *right;  /* the dense tensors that the two matrices are read from */
    int64_t extent[AXIS_COUNT];  /* size of the right matrix's tensor on each spatial axis */
    int64_t divisor[AXIS_COUNT]; /* the stride for B, else 1 */
    struct reference_columns kept;
    atomic_llong next; /* the next task: (group * pieces + piece) * row_parts + part of the rows */
    struct reference *out;
};

static int64_t volume(const int64_t size[AXIS_COUNT])
{
    return size[0] * size[1] * size[2];
}

static void split(int64_t flat, const int64_t size[AXIS_COUNT], int64_t at[AXIS_COUNT])
{
    for (int a = AXIS_COUNT - 1; a >= 0; a--) {
        at[a] = flat % size[a];
        flat /= size[a];
    }
}

/* Sets the place of an output pixel, a column (F) or depth (W) of the product: the offset of its image, and
 * the position in the input where its window begins. flat: image * output pixels + pixel; image: elements of
 * one image. */
static void place_window(const struct problem *p, int64_t flat, int64_t image, struct place *place)
{
    split(flat % volume(p->out), p->out, place->at);
    place->base = flat / volume(p->out) * image;
    for (int a = 0; a < AXIS_COUNT; a++)
        place->at[a] = place->at[a] * p->stride[a] - p->pad[a];
}

/* Sets the place of a channel and filter tap, a column (W) or depth (F, B) of the product. flat: channel in
 * the group * taps + tap; size: the tensor's spatial sizes. sign: 1, or -1 for B, which finds outputs from
 * inputs. */
static void place_tap(const struct problem *p, int64_t flat, int64_t first_channel,
                      const int64_t size[AXIS_COUNT], int sign, struct place *place)
{
    split(flat % volume(p->fil), p->fil, place->at);
    place->base = (first_channel + flat / volume(p->fil)) * volume(size);
    for (int a = 0; a < AXIS_COUNT; a++)
        place->at[a] *= sign * p->dilation[a];
}

static void place_column(const struct product *m, int64_t group, int64_t column,
                         struct place *place)
{
    const struct problem *p = m->p;

    switch (p->direction) {
    case DIRECTION_F: place_window(p, column, p->c * volume(p->in), place); return;
    case DIRECTION_B:
        split(column % volume(p->in), p->in, place->at);
        place->base = column / volume(p->in) * p->k * volume(p->out);
        for (int a = 0; a < AXIS_COUNT; a++)
            place->at[a] += p->pad[a];
        return;
    case DIRECTION_W: place_tap(p, column, group * (p->c / p->groups), p->in, 1, place); return;
    }
}

static void place_depth(const struct product *m, int64_t group, int64_t depth, struct place *place)
{
    const struct problem *p = m->p;

    switch (p->direction) {
    case DIRECTION_F: place_tap(p, depth, group * (p->c / p->groups), p->in, 1, place); return;
    case DIRECTION_B: place_tap(p, depth, group * (p->k / p->groups), p->out, -1, place); return;
    case DIRECTION_W: place_window(p, depth, p->c * volume(p->in), place); return;
    }
}

static double gather(const struct product *m, const struct place *column, const struct place *depth)
{
    int64_t offset = 0;

    for (int a = 0; a < AXIS_COUNT; a++) {
        int64_t at = column->at[a] + depth->at[a];
        if (m->divisor[a] != 1) {
            if (at % m->divisor[a] != 0)
                return 0;
            at /= m->divisor[a];
        }
        if (at < 0 || at >= m->extent[a])
            return 0;
        offset = offset * m->extent[a] + at;
    }
    return m->right[column->base + depth->base + offset];
}

/* The share that a row has in the offset of a left element, which is left[row_offset() + depth_offset()]. */
static int64_t row_offset(const struct product *m, int64_t group, int64_t row)
{
    const struct problem *p = m->p;

    switch (p->direction) {
    case DIRECTION_F: return (group * m->rows + row) * m->depth;
    case DIRECTION_B:
        return group * (p->k / p->groups) * m->rows * volume(p->fil) + row * volume(p->fil);
    case DIRECTION_W: return (group * m->rows + row) * volume(p->out);
    }
    g_assert_not_reached();
}

static int64_t depth_offset(const struct product *m, int64_t depth)
{
    const struct problem *p = m->p;
    int64_t window = volume(p->direction == DIRECTION_W ? p->out : p->fil);

    switch (p->direction) {
    case DIRECTION_F: return depth;
    case DIRECTION_B: return depth / window * m->rows * window + depth % window;
    case DIRECTION_W: return depth / window * p->k * window + depth % window;
    }
    g_assert_not_reached();
}

/* The offset in the dense output of the product's element at this row and column of the group. */
static int64_t output_offset(const struct product *m, int64_t group, int64_t row, int64_t column)
{
    const struct problem *p = m->p;
    int64_t channel = group * m->rows + row;
    int64_t image = m->columns / p->n; /* columns that belong to one image, for F and B */

    if (p->direction == DIRECTION_W)
        return channel * m->columns + column;
    return (column / image * m->rows * p->groups + channel) * image + column % image;
}

/* Working memory of one thread. */
struct bench {
    /* Packed panels of PANEL_COLUMNS columns: [panel][depth][column]. */
    double right[BLOCK_DEPTH * BLOCK_COLUMNS];
    /* Packed panels of PANEL_ROWS rows: [panel][depth][row]. */
    double left[BLOCK_DEPTH * BLOCK_ROWS];
    int64_t first_row, end_row; /* of the task */
    int count;                  /* columns of the block */
    int64_t columns[BLOCK_COLUMNS];
    struct place column[BLOCK_COLUMNS];
    int64_t depth_offset[BLOCK_DEPTH];
    double *sums,
        *magnitudes; /* of the task's rows: [panel of rows][panel of columns][PANEL_ROWS][PANEL_COLUMNS] */
};

static void pack_right(const struct product *m, int64_t group, int64_t first_depth, int depths,
                       int columns, struct bench *bench)
{
    for (int d = 0; d < depths; d++) {
        struct place depth;
        place_depth(m, group, first_depth + d, &depth);
        for (int c = 0; c < BLOCK_COLUMNS; c++) {
            int at = (c / PANEL_COLUMNS * depths + d) * PANEL_COLUMNS + c % PANEL_COLUMNS;
            bench->right[at] = c < columns ? gather(m, &bench->column[c], &depth) : 0;
        }
        bench->depth_offset[d] = depth_offset(m, first_depth + d);
    }
}

static void pack_left(const struct product *m, int64_t group, int64_t first_row, int depths,
                      struct bench *bench)
{
    int64_t rows = MIN(BLOCK_ROWS, m->rows - first_row);

    for (int r = 0; r < BLOCK_ROWS; r++) {
        double *panel = bench->left + r / PANEL_ROWS * depths * PANEL_ROWS + r % PANEL_ROWS;
        if (r >= rows) {
            for (int d = 0; d < depths; d++)
                panel[d * PANEL_ROWS] = 0;
            continue;
        }
        const double *row = m->left + row_offset(m, group, first_row + r);
        for (int d = 0; d < depths; d++)
            panel[d * PANEL_ROWS] = row[bench->depth_offset[d]];
    }
}

/* Multiplies the packed blocks and adds the product to the sums of the BLOCK_ROWS rows from
 * `row` on. */
static void multiply_blocks(int64_t row, int depths, int columns, struct bench *bench)
{
    int64_t rows = MIN(BLOCK_ROWS, bench->end_row - row);
    int64_t first_panel = (row - bench->first_row) / PANEL_ROWS;
    int column_panels = (columns + PANEL_COLUMNS - 1) / PANEL_COLUMNS;

    for (int64_t r = 0; r * PANEL_ROWS < rows; r++) {
        for (int c = 0; c < column_panels; c++) {
            int64_t tile = ((first_panel + r) * (BLOCK_COLUMNS / PANEL_COLUMNS) + c) * PANEL_ROWS *
                           PANEL_COLUMNS;
            reference_kernel(bench->left + r * depths * PANEL_ROWS,
                             bench->right + c * depths * PANEL_COLUMNS, depths, bench->sums + tile,
                             bench->magnitudes + tile);
        }
    }
}

static void store_block(const struct product *m, int64_t group, const struct bench *bench)
{
    for (int64_t r = 0; r < bench->end_row - bench->first_row; r++) {
        for (int c = 0; c < bench->count; c++) {
            int64_t tile = r / PANEL_ROWS * (BLOCK_COLUMNS / PANEL_COLUMNS) + c / PANEL_COLUMNS;
            int64_t from = (tile * PANEL_ROWS + r % PANEL_ROWS) * PANEL_COLUMNS + c % PANEL_COLUMNS;
            int64_t to = output_offset(m, group, bench->first_row + r, bench->columns[c]);
            m->out->value[to] = bench->sums[from];
            m->out->magnitude[to] = (float)bench->magnitudes[from];
        }
    }
}

/* Computes the task's rows of the bench's columns, and empties it. */
static void compute_block(const struct product *m, int64_t group, struct bench *bench)
{
    int columns = bench->count;
    size_t bytes = (size_t)(m->part_rows * BLOCK_COLUMNS) * sizeof(double);

    memset(bench->sums, 0, bytes);
    memset(bench->magnitudes, 0, bytes);
    for (int c = 0; c < columns; c++)
        place_column(m, group, bench->columns[c], &bench->column[c]);
    for (int64_t first = 0; first < m->depth; first += BLOCK_DEPTH) {
        int depths = (int)MIN(BLOCK_DEPTH, m->depth - first);
        pack_right(m, group, first, depths, columns, bench);
        for (int64_t row = bench->first_row; row < bench->end_row; row += BLOCK_ROWS) {
            pack_left(m, group, row, depths, bench);
            multiply_blocks(row, depths, columns, bench);
        }
    }
    store_block(m, group, bench);
    bench->count = 0;
}

static void compute_piece(const struct product *m, int64_t group, int64_t piece,
                          struct bench *bench)
{
    int64_t first = piece * m->piece_columns, end = MIN(first + m->piece_columns, m->columns);

    for (int64_t column = first; column < end; column++) {
        if (!reference_column_is_kept(&m->kept, group, column))
            continue;
        bench->columns[bench->count++] = column;
        if (bench->count == BLOCK_COLUMNS)
            compute_block(m, group, bench);
    }
    if (bench->count > 0)
        compute_block(m, group, bench);
}

/* The work of a thread: it computes tasks until all are begun. */
static void compute_tasks(void *data, int64_t thread)
{
    struct product *m = data;
    int64_t tasks = m->p->groups * m->pieces * m->row_parts;
    size_t bytes = (size_t)(m->part_rows * BLOCK_COLUMNS) * sizeof(double);
    struct bench *bench = g_new(struct bench, 1);

    (void)thread;
    bench->count = 0;
    bench->sums = g_malloc(bytes);
    bench->magnitudes = g_malloc(bytes);
    for (;;) {
        int64_t task = atomic_fetch_add(&m->next, 1);
        if (task >= tasks)
            break;
        int64_t piece = task / m->row_parts;
        bench->first_row = task % m->row_parts * m->part_rows;
        bench->end_row = MIN(bench->first_row + m->part_rows, m->rows);
        compute_piece(m, piece / m->pieces, piece % m->pieces, bench);
    }
    g_free(bench->sums);
    g_free(bench->magnitudes);
    g_free(bench);
}

static void product_init(struct product *m, const struct problem *p,
                         const double *const dense[OPERAND_COUNT])
{
    int64_t filter = volume(p->fil), k = p->k / p->groups, c = p->c / p->groups;
    enum direction direction = p->direction;

    *m = (struct product){.p = p};
    m->rows = direction == DIRECTION_B ? c : k;
    m->columns = direction == DIRECTION_F   ? p->n * volume(p->out)
                 : direction == DIRECTION_B ? p->n * volume(p->in)
                                            : c * filter;
    m->depth = direction == DIRECTION_F   ? c * filter
               : direction == DIRECTION_B ? k * filter
                                          : p->n * volume(p->out);
    m->left = dense[direction == DIRECTION_W ? TENSOR_Y : TENSOR_W];
    m->right = dense[direction == DIRECTION_B ? TENSOR_Y : TENSOR_X];
    for (int a = 0; a < AXIS_COUNT; a++) {
        m->extent[a] = direction == DIRECTION_B ? p->out[a] : p->in[a];
        m->divisor[a] = direction == DIRECTION_B ? p->stride[a] : 1;
    }
}

/* Divides the rows where there are too few pieces for the threads, as in a layer of small images: each part gathers its
 * columns again, which costs little beside the product with 64 rows or more. */
static void divide_rows(struct product *m, int threads)
{
    int64_t blocks = (m->rows + BLOCK_ROWS - 1) / BLOCK_ROWS, pieces = m->pieces * m->p->groups;
    int64_t wanted = threads > 1 ? (TASKS_A_THREAD * threads + pieces - 1) / pieces : 1;
    int64_t part_blocks = (blocks + MIN(wanted, blocks) - 1) / MIN(wanted, blocks);

    m->part_rows = part_blocks * BLOCK_ROWS;
    m->row_parts = (blocks + part_blocks - 1) / part_blocks;
}

static double conv_length(const struct problem *p)
{
    const double *const none[OPERAND_COUNT] = {NULL};
    struct product m;

    product_init(&m, p, none);
    return (double)m.depth;
}

static void conv_compute(const struct problem *p, const double *const dense[OPERAND_COUNT],
                         int threads, double work_limit, struct reference *out)
{
    struct product m;

    product_init(&m, p, dense);
    double macs = (double)m.rows * (double)m.columns * (double)m.depth * (double)p->groups;
    reference_columns_init(
        &m.kept, p, work_limit > 0 && macs > work_limit ? (int64_t)ceil(macs / work_limit) : 1);
    /* A piece has about one block of kept columns. */
    m.piece_columns = MIN(m.kept.one_of, m.columns) * BLOCK_COLUMNS;
    m.pieces = (m.columns + m.piece_columns - 1) / m.piece_columns;
    m.out = out;
    divide_rows(&m, threads);
    parallel_parts(threads, threads, compute_tasks, &m);
}

const struct reference_kind reference_conv = {.length = conv_length, .compute = conv_compute};
